//===- Event.cpp - Made-up events and parameters --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Event.h"

#include <cmath>
#include <random>

namespace tracking {

Event makeEvent(unsigned seed) {
  constexpr int kLayers = 10;
  constexpr float kClose = 0.06f; // of angles
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> angle(0, 6.28f), bend(-0.05f, 0.05f), slope(-0.3f, 0.3f);
  int tracks = 50 + int(random() % 200);
  Event event;
  for (int track = 0; track < tracks; ++track) {
    float start = angle(random), turn = bend(random), rise = slope(random);
    for (int layer = 0; layer < kLayers; ++layer)
      event.hits.insert(event.hits.end(), {start + turn * float(layer), float(layer) / 10, rise * float(layer) / 10});
  }
  auto hit = [](int track, int layer) { return track * kLayers + layer; };
  auto at = [&](int number) { return event.hits[size_t(number) * Event::kFeatures]; };
  for (int layer = 0; layer + 1 < kLayers; ++layer)
    for (int from = 0; from < tracks; ++from)
      for (int to = 0; to < tracks; ++to)
        if (std::abs(at(hit(from, layer)) - at(hit(to, layer + 1))) < kClose) {
          event.src.push_back(hit(from, layer));
          event.dst.push_back(hit(to, layer + 1));
        }
  return event;
}

std::vector<Parameter> makeParameters() {
  std::vector<Parameter> parameters = {
      {"embed", {3, 16}, {}}, {"first", {16, 16}, {}}, {"second", {16, 16}, {}}, {"last", {16}, {}}};
  for (std::string round : {"round1.", "round2."}) {
    for (const char *matrix : {"message", "update", "keep"})
      parameters.push_back({round + matrix, {16, 16}, {}});
    parameters.push_back({round + "bias", {16}, {}});
  }
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 0.3f);
  for (Parameter &parameter : parameters) {
    size_t size = 1;
    for (int64_t extent : parameter.shape)
      size *= size_t(extent);
    for (size_t i = 0; i < size; ++i)
      parameter.values.push_back(normal(random));
  }
  return parameters;
}

} // namespace tracking
