//===- Main.cpp - A stream of events through one model --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   cmake -S . -B build -DGNNC_INCLUDE=<gnnc>/include -DGNNC=<gnnc>/build/bin/gnnc && cmake --build build
//   build/tracking [--threads N] [--events N] [MODEL.so]
//
// An edge classifier as particle trackers plug it in: features and an edge index go in, and a score for each edge comes
// out. Every event is a graph of its own size. All threads share the loaded object; each has its own context, graph and
// workspace, takes the next event of the stream, prepares it and runs it. The program measures 1, 2 and N threads, and
// fails if any score of any event has other bits than alone.
//
//===----------------------------------------------------------------------===//

#include "Event.h"
#include "Model.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <set>
#include <thread>

using namespace tracking;
using Clock = std::chrono::steady_clock;

namespace {

using Scores = std::vector<float>;

/// From an event to its scores: all that a tracker would call.
class Classifier {
public:
  Classifier(const Model &model, const std::vector<Parameter> &parameters) : runner(model) {
    for (const Parameter &parameter : parameters)
      inputs.push_back(binding(parameter.name.c_str(), parameter.values.data(), parameter.shape));
    inputs.push_back({}); // the hits of the event at hand
  }

  void score(const Event &event, Scores &scores) {
    scores.resize(event.src.size());
    hitShape = {event.count(), Event::kFeatures};
    scoreShape = {int64_t(scores.size())};
    inputs.back() = binding("hit", event.hits.data(), hitShape);
    runner.prepare(event.count(), event.src, event.dst);
    runner.run(inputs, binding("score", scores.data(), scoreShape));
  }

private:
  Runner runner;
  std::vector<gnnc_binding> inputs;
  std::vector<int64_t> hitShape, scoreShape;
};

bool sameBits(const Scores &a, const Scores &b) {
  return a.size() == b.size() && (a.empty() || !std::memcmp(a.data(), b.data(), a.size() * sizeof(float)));
}

struct Measurement {
  double seconds = 0;
  std::vector<double> microseconds; ///< of each event
  std::vector<Scores> scores;       ///< of each event
};

/// All events through these classifiers, one for each thread.
Measurement measure(std::vector<Classifier> &classifiers, const std::vector<Event> &events) {
  Measurement result;
  result.microseconds.resize(events.size());
  result.scores.resize(events.size());
  std::atomic<size_t> next = 0;
  auto work = [&](Classifier &classifier) {
    for (size_t number = next++; number < events.size(); number = next++) {
      auto start = Clock::now();
      classifier.score(events[number], result.scores[number]);
      result.microseconds[number] = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    }
  };
  auto start = Clock::now();
  std::vector<std::future<void>> workers;
  for (Classifier &classifier : classifiers)
    workers.push_back(std::async(std::launch::async, work, std::ref(classifier)));
  for (std::future<void> &worker : workers)
    worker.get();
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

int run(const std::string &path, unsigned threads, unsigned count) {
  Model model(path);
  std::vector<Parameter> parameters = makeParameters();
  std::vector<Event> events;
  for (unsigned seed = 0; seed < count; ++seed)
    events.push_back(makeEvent(seed));

  std::vector<Scores> expected(events.size());
  Classifier alone(model, parameters);
  for (unsigned number = 0; number < count; ++number) {
    alone.score(events[number], expected[number]);
    double sum = 0;
    for (float score : expected[number])
      sum += score;
    if (number < 8)
      std::printf("event %u: %lld hits, %zu edges, mean score %.6f\n", number, (long long)events[number].count(),
                  expected[number].size(), sum / double(expected[number].size()));
  }
  for (unsigned n : std::set<unsigned>{1, 2, threads}) {
    std::vector<Classifier> classifiers;
    for (unsigned i = 0; i < n; ++i) {
      classifiers.emplace_back(model, parameters);
      Scores scores;
      classifiers.back().score(events[0], scores); // warms up, and compares every thread's context on one event
      if (!sameBits(scores, expected[0]))
        throw std::runtime_error("event 0 has other bits in the context of thread " + std::to_string(i));
    }
    Measurement found = measure(classifiers, events);
    for (unsigned number = 0; number < count; ++number)
      if (!sameBits(found.scores[number], expected[number]))
        throw std::runtime_error("event " + std::to_string(number) + " has other bits with " + std::to_string(n) +
                                 " threads than alone");
    std::sort(found.microseconds.begin(), found.microseconds.end());
    auto quantile = [&](size_t percent) { return found.microseconds[(count - 1) * percent / 100]; };
    std::printf("threads %u: %.0f events/s, p50 %.0f us, p99 %.0f us, same bits\n", n, double(count) / found.seconds,
                quantile(50), quantile(99));
  }
  return 0;
}

/// A count from 1 to 100000.
unsigned number(const std::string &option, const char *text) {
  char *end = nullptr;
  long value = text ? std::strtol(text, &end, 10) : 0;
  if (!text || *end || value < 1 || value > 100000)
    throw std::runtime_error(option + ": expected a number from 1 to 100000, found '" + (text ? text : "") + "'");
  return unsigned(value);
}

} // namespace

int main(int argc, char **argv) {
  try {
    std::string path = TRACKING_MODEL;
    unsigned threads = std::max(1u, std::thread::hardware_concurrency()), events = 500;
    for (int i = 1; i < argc; ++i) {
      std::string argument = argv[i];
      const char *value = i + 1 < argc ? argv[i + 1] : nullptr;
      if (argument == "--threads")
        threads = number(argument, value), ++i;
      else if (argument == "--events")
        events = number(argument, value), ++i;
      else if (argument.compare(0, 2, "--") == 0)
        throw std::runtime_error("unknown option '" + argument + "'; there are --threads N and --events N");
      else
        path = argument;
    }
    return run(path, threads, events);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "tracking: %s\n", error.what());
    return 1;
  }
}
