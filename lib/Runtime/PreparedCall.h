//===- PreparedCall.h - A program bound to a graph --------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program bound to a graph, except for buffer addresses: what `run` finds out about its bindings each time, found out
// once; and which steps are needed for what is wanted.
//
// A step is needed if it writes what is wanted, or what a needed step after it uses. What a step uses is all that it
// names, read or written: so all that add to one buffer are needed together. An output that is not wanted, but written
// and used by needed steps, has a place behind the workspace, which is the same in all calls of its function: halves of
// a program pass on what they leave there.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_PREPAREDCALL_H
#define GNNC_RUNTIME_PREPAREDCALL_H

#include "CUDA/Repeats.h"
#include "Context.h"

namespace gnnc::runtime {

/// Where the address of a buffer comes from.
enum class PlaceKind : int64_t { Given, Arena, Constant, Fill, Values, Behind };
struct BufferPlace {
  int64_t buffer; ///< of the table
  PlaceKind kind;
  int64_t number; ///< Given: of the caller's list. Behind: bytes behind the workspace
};

} // namespace gnnc::runtime

struct gnnc_call {
  gnnc_call(const gnnc_graph &graph, const gnnc::table::ProgramRec &program, const gnnc_allocator &allocator)
      : graph(graph), program(program), memory(allocator) {}

  const gnnc_graph &graph;
  const gnnc::table::ProgramRec &program;
  gnnc::runtime::Memory memory;
  gnnc::runtime::BufferPlace *places = nullptr; ///< of the buffers that needed steps use
  int64_t numPlaces = 0;
  /// Numbers of places that are given and written, and of all that are given: they must not overlap.
  int64_t *written = nullptr, *given = nullptr;
  int64_t numWritten = 0, numGiven = 0;
  int64_t numData = 0;        ///< of the caller's list
  uint64_t *needed = nullptr; ///< a bit for each step of the program; null: all are needed
  int64_t workspaceBytes = 0;
  gnnc::runtime::cuda::Repeats *repeats = nullptr; ///< on a device
};

namespace gnnc::runtime {

/// The API's `make_call`, for a program that this graph has all data for.
gnnc_status makeCall(const gnnc_graph &graph, const table::ProgramRec &program, const gnnc_call_desc &desc,
                     gnnc_call *&call, gnnc_error *error);

/// Checks the caller's addresses and fills the call's table of addresses.
gnnc_status placeBuffers(const gnnc_call &prepared, const Call &call, void *const *data);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_PREPAREDCALL_H
