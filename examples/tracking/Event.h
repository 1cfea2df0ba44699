//===- Event.h - Hits and candidate edges of an event -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TRACKING_EVENT_H
#define TRACKING_EVENT_H

#include <cstdint>
#include <string>
#include <vector>

namespace tracking {

/// What an edge classifier is given: features, and an edge index in two rows.
struct Event {
  static constexpr int64_t kFeatures = 3;
  std::vector<float> hits;       ///< [count, kFeatures]: angle, layer, height
  std::vector<int32_t> src, dst; ///< one of each for every candidate edge
  int64_t count() const { return int64_t(hits.size()) / kFeatures; }
};

/// Curved tracks through ten layers of a detector, and an edge for every pair of close hits on neighbouring layers. Of
/// one seed always the same, and of another one another size: 500 to 2 490 hits.
Event makeEvent(unsigned seed);

/// A parameter of the model, by name.
struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// Stand-ins for what training would give.
std::vector<Parameter> makeParameters();

} // namespace tracking

#endif // TRACKING_EVENT_H
