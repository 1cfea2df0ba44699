//===- Recording.h - Recordings that follow their graphs --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch on a graph with capacities is noted when it is recorded. Once the graph was updated, `replay` gives its node
// the grid and the arguments of what the graph is now; one with nothing to do is disabled. Which nodes there are and
// which waits for which depends on capacities alone.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CUDA_RECORDING_H
#define GNNC_RUNTIME_CUDA_RECORDING_H

#include "../Context.h"
#include "Device.h"

namespace gnnc::runtime::cuda {

struct RecordedLaunch {
  Handle node;
  const gnnc_graph *graph;
  int64_t function, step, launch; ///< numbers of the table
  int64_t version;                ///< of the graph that the node is for; -1: none yet
  int64_t *words;                 ///< arguments
  bool *isFill;                   ///< which of them stand in for an absent input
  bool isEnabled;
  RecordedLaunch *next;
};

/// What is recorded on a stream.
class Recorder {
public:
  Recorder(const gnnc_allocator &allocator, Handle stream) : stream(stream), memory(allocator) {}

  /// The launch that was captured last, with its arguments.
  gnnc_status note(const Driver &driver, const Call &call, int64_t step, int64_t launch, const int64_t *words);

  const Handle stream;
  Memory memory;
  RecordedLaunch *first = nullptr, **end = &first;
  Recorder *next = nullptr;
};

/// An argument that depends on the graph alone: all but addresses of buffers and scratch memory.
int64_t graphWord(const gnnc_graph &graph, int64_t step, const table::WordRec &word);

/// Blocks along x of a launch that is not joined to another: its own, and those of launches that are joined to it.
int64_t gridBlocks(const gnnc_graph &graph, int64_t step, int64_t launch);

} // namespace gnnc::runtime::cuda

#endif // GNNC_RUNTIME_CUDA_RECORDING_H
