//===- Scorer.cpp - From a request to its scores --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scorer.h"

#include <nlohmann/json.hpp>

#include <new>

namespace service {

Scorer::Scorer(const std::string &path, unsigned workers, size_t capacity) : model(path), capacity(capacity) {
  describe();
  for (unsigned i = 0; i < workers; ++i)
    runners.emplace_back(model);
  try {
    for (Runner &runner : runners)
      threads.emplace_back([this, &runner] { work(runner); });
  } catch (const std::exception &error) {
    size_t started = threads.size();
    stop(); // no destructor runs
    throw std::runtime_error("cannot start worker " + std::to_string(started + 1) + " of " + std::to_string(workers) +
                             ": " + error.what());
  }
}

Scorer::~Scorer() { stop(); }

void Scorer::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  filled.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void Scorer::describe() {
  size_t length = 0;
  const char *text = model.api().describe(&length);
  nlohmann::json description = nlohmann::json::parse(text, text + length);
  const nlohmann::json &inputs = description.at("inputs"), &outputs = description.at("outputs");
  name = description.at("name");
  auto on = [](const nlohmann::json &list, const char *tensor, size_t dims) {
    return list.size() == 1 && list[0].at("name") == tensor && list[0].at("space") == "node" &&
           list[0].at("dims").size() == dims;
  };
  if (description.at("dtype") != "f32" || !on(inputs, "x", 1) || !on(outputs, "score", 0))
    throw std::runtime_error("model " + name +
                             ": expected one input x: node[features] and one output score: node[], in f32");
  features = inputs[0].at("dims")[0];
  for (const nlohmann::json &param : description.at("params"))
    if (!param.value("embedded", false))
      throw std::runtime_error("model " + name + ": parameter '" + std::string(param.at("name")) +
                               "' has no values in the object; gnnc compile --params FILE --embed puts them there");
}

size_t Scorer::queued() const {
  std::lock_guard<std::mutex> lock(mutex);
  return queue.size();
}

void Scorer::submit(Request request, Reply reply) {
  Job job = {std::move(request), std::move(reply), failure(500, "out of memory")};
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (queue.size() < capacity) {
      queue.push_back(std::move(job));
      return filled.notify_one();
    }
  }
  job.reply(refusal("queue", "all workers are busy, and " + std::to_string(capacity) + " requests wait already"));
}

void Scorer::work(Runner &runner) {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex);
    filled.wait(lock, [&] { return stopping || !queue.empty(); });
    if (queue.empty())
      return;
    Job job = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    Response response = std::move(job.lastResort);
    try {
      response = answer(runner, job.request);
    } catch (...) { // no memory even for an error's text
    }
    send(job.reply, std::move(response));
  }
}

void Scorer::send(const Reply &reply, Response response) {
  for (;;)
    try {
      return reply(std::move(response));
    } catch (...) { // no memory to hand it over; giving up would end the session here, in another thread than its own
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

Response Scorer::answer(Runner &runner, const Request &request) const {
  try {
    Format format = request.type.compare(0, 16, "application/json") ? Format::Safetensors : Format::Json;
    Graph graph = readGraph(request.body, format, features);
    std::vector<float> scores(size_t(graph.nodes));
    std::vector<int64_t> xShape = {graph.nodes, features}, scoreShape = {graph.nodes};
    runner.prepare(graph.nodes, graph.src, graph.dst);
    runner.run({binding("x", graph.x.data(), xShape)}, binding("score", scores.data(), scoreShape));
    return {200, format == Format::Json ? "application/json" : "application/octet-stream", writeScores(scores, format),
            /*scored=*/true};
  } catch (const BadRequest &error) {
    return failure(400, error.what());
  } catch (const std::bad_alloc &) {
    return failure(500, "out of memory for this graph");
  } catch (const std::exception &error) { // such as: the model's own "out of memory for ..."
    return failure(500, error.what());
  }
}

} // namespace service
