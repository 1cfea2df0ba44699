//===- Timings.cpp - What a compilation spends its time on ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/Timings.h"

#include <time.h>

using namespace gnnc;

static double secondsOf(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

TimeMeter::TimeMeter(Of of) : of(of), start(now()) {}

TimeSpent TimeMeter::now() const {
  return {secondsOf(CLOCK_MONOTONIC), secondsOf(of == Of::Thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID)};
}

TimeSpent TimeMeter::spent() const {
  TimeSpent end = now();
  return {end.wall - start.wall, end.processor - start.processor};
}
