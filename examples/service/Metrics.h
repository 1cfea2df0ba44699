//===- Metrics.h - Counters for Prometheus ----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SERVICE_METRICS_H
#define SERVICE_METRICS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace service {

/// Only the thread that reads and writes requests touches these, so nothing is locked.
class Metrics {
public:
  void count(unsigned status, const char *refusal) {
    ++responses[status];
    if (refusal)
      ++refusals[refusal];
  }
  /// Seconds from the last byte of a graph to its scores, queue included.
  void observe(double seconds);
  /// In Prometheus's text format.
  std::string text(size_t queued) const;

  size_t connections = 0; ///< open now

private:
  static constexpr std::array<double, 13> kBounds = {1e-4,   2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2,
                                                     2.5e-2, 5e-2,   0.1,  0.25, 0.5,    1};
  std::map<unsigned, uint64_t> responses;
  std::map<std::string, uint64_t> refusals = {{"connections", 0}, {"queue", 0}};
  std::array<uint64_t, kBounds.size()> buckets{}; ///< cumulative
  uint64_t observations = 0;
  double sum = 0;
};

} // namespace service

#endif // SERVICE_METRICS_H
