//===- Main.cpp - A stream of events through one model --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   cmake -S . -B build -DGNNC_INCLUDE=<gnnc>/include -DGNNC=<gnnc>/build/bin/gnnc && cmake --build build
//   build/service
//
// Every event is a graph of its own size. Two threads share the opened model; each has its own workspace, prepares an
// event's graph and runs it. Nothing of gnnc but the C header and the compiled model is needed.
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <future>
#include <map>
#include <mutex>
#include <random>

using namespace service;

namespace {

/// Hits of curved tracks on ten layers of a detector, and an edge for every pair of close hits on neighbouring layers.
struct Event {
  std::vector<float> hits; ///< angle, layer, height
  std::vector<int32_t> src, dst;
  int64_t count = 0;
};

Event makeEvent(unsigned number) {
  std::mt19937 random(number);
  std::uniform_real_distribution<float> angle(0, 6.28f), bend(-0.05f, 0.05f), slope(-0.3f, 0.3f);
  Event event;
  int tracks = 50 + int(random() % 200);
  for (int track = 0; track < tracks; ++track) {
    float start = angle(random), turn = bend(random), rise = slope(random);
    for (int layer = 0; layer < 10; ++layer)
      event.hits.insert(event.hits.end(), {start + turn * float(layer), float(layer) / 10, rise * float(layer) / 10});
  }
  event.count = tracks * 10;
  for (int64_t i = 0; i < event.count; ++i)
    for (int64_t j = 0; j < event.count; ++j)
      if (j % 10 == i % 10 + 1 && std::abs(event.hits[3 * i] - event.hits[3 * j]) < 0.06f) {
        event.src.push_back(int32_t(i));
        event.dst.push_back(int32_t(j));
      }
  return event;
}

/// Stand-ins for what training would give.
class Parameters {
public:
  Parameters() {
    for (const auto &[name, shape] : std::map<std::string, std::vector<int64_t>>{{"embed", {3, 16}},
                                                                                 {"first", {16, 16}},
                                                                                 {"second", {16, 16}},
                                                                                 {"last", {16}},
                                                                                 {"round1.message", {16, 16}},
                                                                                 {"round1.update", {16, 16}},
                                                                                 {"round1.keep", {16, 16}},
                                                                                 {"round1.bias", {16}},
                                                                                 {"round2.message", {16, 16}},
                                                                                 {"round2.update", {16, 16}},
                                                                                 {"round2.keep", {16, 16}},
                                                                                 {"round2.bias", {16}}})
      add(name, shape);
  }
  std::vector<gnnc_binding> bindings() const {
    std::vector<gnnc_binding> all;
    for (const auto &[name, tensor] : tensors)
      all.push_back(bind(name.c_str(), tensor.numbers.data(), tensor.shape));
    return all;
  }

private:
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> numbers;
  };
  void add(const std::string &name, const std::vector<int64_t> &shape) {
    std::normal_distribution<float> normal(0, 0.3f);
    Tensor tensor{shape, std::vector<float>(size_t(shape.size() == 2 ? shape[0] * shape[1] : shape[0]))};
    for (float &number : tensor.numbers)
      number = normal(random);
    tensors[name] = std::move(tensor);
  }
  std::mt19937 random{7};
  std::map<std::string, Tensor> tensors;
};

double microseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - since).count();
}

/// Takes events off the counter until there are none left.
void work(const Model &model, const Parameters &parameters, std::atomic<unsigned> &next, unsigned events,
          std::mutex &printing) {
  Workspace workspace;
  for (unsigned number = next++; number < events; number = next++) {
    Event event = makeEvent(number);
    auto start = std::chrono::steady_clock::now();
    Graph graph = model.prepare(event.count, event.src, event.dst);
    double prepared = microseconds(start);

    std::vector<float> scores(event.src.size());
    std::vector<int64_t> hitShape = {event.count, 3}, scoreShape = {int64_t(scores.size())};
    std::vector<gnnc_binding> inputs = parameters.bindings();
    inputs.push_back(bind("hit", event.hits.data(), hitShape));
    size_t bytes = model.workspaceBytes(graph);
    void *memory = workspace.reserve(bytes);
    start = std::chrono::steady_clock::now();
    model.run(graph, inputs, {bind("score", scores.data(), scoreShape)}, memory, bytes);
    double ran = microseconds(start);

    double sum = 0;
    for (float score : scores)
      sum += score;
    std::lock_guard<std::mutex> lock(printing);
    std::printf("event %u: %lld hits, %zu edges, prepare %.0f us, run %.0f us, mean score %.6f\n", number,
                (long long)event.count, scores.size(), prepared, ran, sum / double(scores.size()));
  }
}

} // namespace

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : SERVICE_MODEL;
  try {
    Model model(path, /*threads=*/1); // events run side by side, so each one keeps to its own thread
    Parameters parameters;
    std::atomic<unsigned> next = 0;
    std::mutex printing;
    auto takeEvents = [&] { work(model, parameters, next, 8, printing); };
    std::future<void> other = std::async(std::launch::async, takeEvents);
    takeEvents();
    other.get();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "service: %s\n", error.what());
    return 1;
  }
  return 0;
}
