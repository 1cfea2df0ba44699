//===- Timings.h - What a compilation spends its time on --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_TIMINGS_H
#define GNNC_SUPPORT_TIMINGS_H

#include <cstdint>
#include <string>
#include <vector>

namespace gnnc {

/// Seconds on the wall, and of processors.
struct TimeSpent {
  double wall = 0, processor = 0;

  TimeSpent &operator+=(const TimeSpent &other) {
    wall += other.wall, processor += other.processor;
    return *this;
  }
};

/// Measures from when it is made.
class TimeMeter {
public:
  /// Whose processor time: that of the thread which makes it and asks it, or that of all threads of the process.
  enum class Of { Thread, Process };
  explicit TimeMeter(Of of = Of::Thread);
  TimeSpent spent() const;

private:
  TimeSpent now() const;
  Of of;
  TimeSpent start;
};

/// A phase, or one of the parts of a phase, which several threads may have worked on at once.
struct TimedStep {
  std::string name;        ///< of a phase or kernel
  std::string target = {}; ///< "x86-64-v4", "sm_90"; empty: none in particular
  unsigned depth = 0;      ///< 0: a phase; 1: a part of the phase before it
  TimeSpent time = {};     ///< all of it
  TimeSpent compiler = {}; ///< of that, in LLVM's or NVIDIA's compiler; parts of phases only
  int64_t statements = 0;  ///< that the compiler was given; 0: not counted
  bool isCached = false;   ///< was compiled before, and read from the cache
};

/// In the order in which phases began.
using Timings = std::vector<TimedStep>;

} // namespace gnnc

#endif // GNNC_SUPPORT_TIMINGS_H
