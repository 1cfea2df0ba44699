//===- Trial.cpp - Whether graphs can be one call -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A description shows which spaces a kernel reads and writes, and not that a value is divided by the number of all
// nodes, that an element's own number is used, that random numbers are drawn, or that a space is derived from maps to
// static spaces alone. All of these differ between a graph and the same graph behind others.
//
// Functions that end in a constant, such as relu and clamp, hide such a difference where they saturate, and so does
// NaN. Hence numbers of both signs in one trial, and no joining if an output had one and the same value all the time:
// that may be all that the model computes, but nothing has been seen then.
//
//===----------------------------------------------------------------------===//

#include "Trial.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>

using namespace gnnc::triton;

namespace {

constexpr int kTrials = 3, kGraphs = 3;
constexpr unsigned kTrialOfBothSigns = 1; // The others' numbers are positive.

class Maker {
public:
  Maker(const Signature &signature, unsigned seed)
      : signature(signature), bothSigns(seed == kTrialOfBothSigns), numbers(seed), shared(seed) {}

  Graph make() {
    Graph graph;
    for (size_t i = 0; i < signature.spaces().size(); ++i)
      graph.extents.push_back(2 + upTo(numbers, 7));
    for (const Map &map : signature.maps()) {
      std::vector<int32_t> targets(static_cast<size_t>(graph.extents[*map.from.root]));
      int64_t extent = map.to.root ? graph.extents[*map.to.root] : map.to.extent;
      for (int32_t &target : targets)
        target = map.partial && upTo(numbers, 4) == 0 ? -1 : static_cast<int32_t>(upTo(numbers, extent));
      graph.maps.push_back(std::move(targets));
    }
    shared.seed(1); // The same for all graphs.
    for (const Value &input : signature.inputs()) {
      Graph::Values values;
      values.isGiven = true;
      const Place &place = input.place;
      int64_t rows = place.root ? graph.extents[*place.root] : place.isStatic() ? place.extent : 1;
      values.own.resize(input.rowBytes() * static_cast<size_t>(rows));
      fill(values.own, input, place.root ? numbers : shared);
      values.data = values.own.data();
      values.bytes = values.own.size();
      graph.inputs.push_back(std::move(values));
    }
    return graph;
  }

private:
  static int64_t upTo(std::mt19937 &from, int64_t bound) { return static_cast<int64_t>(from() % uint64_t(bound)); }

  /// From 1/2 to 1, or those and -1/2 to -1; 0 or 1 where they are made of integers.
  void fill(std::vector<char> &to, const Value &input, std::mt19937 &from) const {
    auto put = [&](auto draw) {
      for (size_t at = 0; at < to.size(); at += sizeof(draw())) {
        auto number = draw();
        std::memcpy(&to[at], &number, sizeof number);
      }
    };
    bool isChoice = !input.source.empty();
    auto isNegative = [&] { return bothSigns && from() % 2 == 1; };
    auto number = [&] {
      double size = isChoice ? double(from() % 2) : 0.5 + 0.5 * double(from() % 4096) / 4096;
      return !isChoice && isNegative() ? -size : size;
    };
    auto half = [&](unsigned exponent, unsigned mask) {
      unsigned size = exponent | (from() & mask);
      return static_cast<uint16_t>(isNegative() ? size | 0x8000 : size);
    };
    if (input.dtype == "f64")
      put([&] { return number(); });
    else if (input.dtype == "f32")
      put([&] { return static_cast<float>(number()); });
    else if (input.dtype == "bf16")
      put([&] { return half(0x3f00, 0x7f); });
    else
      put([&] { return half(0x3800, 0x3ff); });
  }

  const Signature &signature;
  const bool bothSigns;
  std::mt19937 numbers, shared;
};

double numberAt(const char *data, const std::string &dtype, size_t i) {
  if (dtype == "f64") {
    double number = 0;
    std::memcpy(&number, data + i * 8, 8);
    return number;
  }
  if (dtype == "f32") {
    float number = 0;
    std::memcpy(&number, data + i * 4, 4);
    return number;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, data + i * 2, 2);
  if (dtype == "bf16") {
    uint32_t wide = uint32_t(bits) << 16;
    float number = 0;
    std::memcpy(&number, &wide, 4);
    return number;
  }
  int exponent = bits >> 10 & 31;
  double fraction = bits & 0x3ff;
  double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                               : std::ldexp(exponent ? fraction + 1024 : fraction, (exponent ? exponent : 1) - 25);
  return bits & 0x8000 ? -size : size;
}

size_t widthOf(const std::string &dtype) { return dtype == "f64" ? 8 : dtype == "f32" ? 4 : 2; }

/// Whether an output has two different numbers in one trial, not counting NaN.
bool varies(const std::vector<std::vector<std::vector<char>>> &graphs, size_t output, const std::string &dtype) {
  std::optional<double> first;
  for (const auto &outputs : graphs)
    for (size_t i = 0; i < outputs[output].size() / widthOf(dtype); ++i) {
      double number = numberAt(outputs[output].data(), dtype, i);
      if (std::isnan(number))
        continue;
      if (first && *first != number)
        return true;
      first = number;
    }
  return false;
}

bool areClose(const char *a, const char *b, size_t bytes, const std::string &dtype) {
  size_t width = widthOf(dtype);
  double tolerance = dtype == "f64" ? 1e-9 : dtype == "f32" ? 1e-4 : 3e-2;
  for (size_t i = 0; i < bytes / width; ++i) {
    double left = numberAt(a, dtype, i), right = numberAt(b, dtype, i);
    bool same = left == right || (std::isnan(left) && std::isnan(right));
    if (!same && !(std::fabs(left - right) <= tolerance * (1 + std::fabs(left))))
      return false;
  }
  return true;
}

} // namespace

std::string gnnc::triton::tryJoining(const Signature &signature, Runner &runner) {
  std::vector<bool> wanted(signature.outputs().size(), true), hasVaried(wanted.size(), false);
  for (unsigned trial = 0; trial < kTrials; ++trial) {
    Maker maker(signature, trial);
    std::vector<Graph> graphs;
    std::vector<const Graph *> all;
    for (int i = 0; i < kGraphs; ++i)
      graphs.push_back(maker.make());
    for (const Graph &graph : graphs)
      all.push_back(&graph);
    try {
      std::vector<std::vector<std::vector<char>>> alone;
      for (const Graph &graph : graphs) {
        alone.emplace_back();
        for (const Runner::Result &result : runner.run(graph, wanted))
          alone.back().emplace_back(result.data, result.data + result.bytes);
      }
      const std::vector<Runner::Result> &joined = runner.run(join(signature, all), wanted);
      for (size_t i = 0; i < joined.size(); ++i) {
        const Value &output = signature.outputs()[i];
        hasVaried[i] = hasVaried[i] || varies(alone, i, output.dtype);
        size_t at = 0;
        for (const auto &results : alone) {
          const std::vector<char> &part = results[i];
          if (at + part.size() > joined[i].bytes ||
              !areClose(part.data(), joined[i].data + at, part.size(), output.dtype))
            return "output '" + output.name + "' of a graph depends on the graphs beside it";
          at += part.size();
        }
      }
    } catch (const std::runtime_error &error) {
      return std::string("random graphs cannot be tried: ") + error.what();
    }
  }
  for (size_t i = 0; i < hasVaried.size(); ++i)
    if (!hasVaried[i])
      return "output '" + signature.outputs()[i].name +
             "' has one value, or NaN, on all random graphs, which does not " + "show what it depends on";
  return "";
}
