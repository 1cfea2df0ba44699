//===- Branches.h - Steps of a recording side by side -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small kernels take longer to begin and end than to work. Where a stream is being captured, a step need not wait for
// the one before, only for those that write what it reads or writes, or read what it writes: steps that have nothing to
// do with each other become branches of the graph.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CUDA_BRANCHES_H
#define GNNC_RUNTIME_CUDA_BRANCHES_H

#include "../Context.h"
#include "Device.h"

namespace gnnc::runtime::cuda {

/// Most steps of a program that branches are looked for in.
constexpr int64_t kMostBranchedSteps = 1024;

/// Which steps of a call must wait for which.
class StepOrder {
public:
  /// `words`: room for `wordsFor(call)` zeros.
  StepOrder(const Call &call, uint64_t *words);
  static int64_t wordsFor(const Call &call);

  /// Steps are counted from the program's first. Calls with rising `step`; a step that launches nothing is left out.
  /// Fills `before` with the steps it must wait for, but for those that these wait for already.
  int64_t find(int64_t step, int64_t *before);

private:
  struct Place {
    int64_t space; ///< -1: the workspace; else a buffer number
    int64_t begin, end;
    bool written;
  };
  int64_t numPlaces(int64_t step) const;
  Place place(int64_t step, int64_t number) const;
  bool conflict(int64_t a, int64_t b) const;
  bool isWriter(int64_t step, int64_t buffer) const;

  const Call &call;
  const Model &model;
  int64_t numSteps, rowWords;
  uint64_t *reached; ///< for each step a bit for each earlier one
};

} // namespace gnnc::runtime::cuda

#endif // GNNC_RUNTIME_CUDA_BRANCHES_H
