//===- Main.cpp - A model behind HTTP -------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   cmake -S . -B build -DGNNC_INCLUDE=<gnnc>/include -DGNNC=<gnnc>/build/bin/gnnc && cmake --build build
//   build/service [--port 8080] [--workers N] [--queue N] [MODEL.so]
//
// README.md says what it takes and answers.
//
//===----------------------------------------------------------------------===//

#include "Http.h"
#include "Scorer.h"

#include <boost/asio/signal_set.hpp>

#include <algorithm>
#include <cstdio>
#include <thread>

using namespace service;

namespace {

struct Options {
  std::string model = SERVICE_MODEL, host = "127.0.0.1";
  long port = 8080, workers = long(std::max(1u, std::thread::hardware_concurrency())), queue = 64, connections = 256,
       body = 16 << 20, seconds = 10;
};

Options parse(int argc, char **argv) {
  Options options;
  struct {
    const char *name;
    long *value, least, most;
  } numbers[] = {{"--port", &options.port, 0, 65535},           {"--workers", &options.workers, 1, 1024},
                 {"--queue", &options.queue, 1, 1000000},       {"--connections", &options.connections, 1, 1000000},
                 {"--max-body", &options.body, 1024, 1L << 31}, {"--seconds", &options.seconds, 1, 3600}};
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    auto number =
        std::find_if(std::begin(numbers), std::end(numbers), [&](auto &each) { return argument == each.name; });
    if (number != std::end(numbers)) {
      char *end = nullptr;
      *number->value = std::strtol(value.c_str(), &end, 10);
      if (value.empty() || *end || *number->value < number->least || *number->value > number->most)
        throw std::runtime_error(argument + ": expected a number from " + std::to_string(number->least) + " to " +
                                 std::to_string(number->most) + ", found '" + value + "'");
      ++i;
    } else if (argument == "--host" && i + 1 < argc) {
      options.host = argv[++i];
    } else if (argument.compare(0, 2, "--") == 0) {
      throw std::runtime_error("unknown option '" + argument +
                               "'; there are --host, --port, --workers, --queue, "
                               "--connections, --max-body (bytes) and --seconds");
    } else {
      options.model = argument;
    }
  }
  return options;
}

int run(const Options &options) {
  boost::asio::io_context io(1);
  Metrics metrics;
  Scorer scorer(options.model, unsigned(options.workers), size_t(options.queue));
  auto handle = [&](Request request, Reply reply) {
    bool score = request.path == "/score", health = request.path == "/health", text = request.path == "/metrics";
    if (!score && !health && !text)
      return reply(failure(404, "there are /score, /health and /metrics"));
    if (request.method != (score ? "POST" : "GET"))
      return reply(failure(405, request.path + ": expected " + (score ? "POST" : "GET") + ", found " + request.method));
    if (score)
      return scorer.submit(std::move(request), std::move(reply));
    if (text)
      return reply({200, "text/plain; version=0.0.4", metrics.text(scorer.queued())});
    reply({200, "application/json",
           "{\"status\": \"ok\", \"model\": \"" + scorer.name + "\", \"features\": " + std::to_string(scorer.features) +
               "}\n"});
  };
  Limits limits = {size_t(options.body), size_t(options.connections), std::chrono::seconds(options.seconds)};
  Server server(io, options.host, uint16_t(options.port), limits, metrics, handle);

  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](boost::system::error_code, int) { server.stop(); });
  std::printf("model %s on %s:%u, %ld workers, a queue of %ld\n", scorer.name.c_str(), options.host.c_str(),
              server.port(), options.workers, options.queue);
  std::fflush(stdout);
  for (bool done = false; !done;)
    try {
      io.run(); // until the server has stopped and answered all requests
      done = true;
    } catch (const std::exception &error) { // such as: no memory for a body; the session has ended
      std::fprintf(stderr, "service: %s\n", error.what());
    }
  std::printf("stopped\n");
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "service: %s\n", error.what());
    return 1;
  }
}
