//===- Context.h - A model ready to run -------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CONTEXT_H
#define GNNC_RUNTIME_CONTEXT_H

#include "CUDA/Device.h"
#include "Graph.h"
#include "ThreadPool.h"

struct gnnc_context {
  gnnc_context(const gnnc::runtime::Model &model, const gnnc_allocator &allocator)
      : model(model), allocator(allocator), pool(allocator), orders(allocator) {}
  ~gnnc_context();

  gnnc::runtime::Model model;
  gnnc_allocator allocator;
  const gnnc::table::Variant *variant = nullptr;
  gnnc::runtime::ThreadPool pool;
  gnnc::runtime::cuda::Device *device = nullptr; ///< null: the CPU
  gnnc::runtime::PlanOrders orders;
  bool planOnly = false;
};

/// What was launched on a stream, made ready to be launched again.
struct gnnc_recording {
  explicit gnnc_recording(const gnnc::runtime::cuda::Device *device) : device(device) {}
  ~gnnc_recording();
  const gnnc::runtime::cuda::Device *device;
  gnnc::runtime::cuda::Handle executable = nullptr;
  // Where there are runs on graphs with capacities, what it was made of and its launches on these.
  gnnc::runtime::cuda::Handle graph = nullptr;
  gnnc::runtime::cuda::Recorder *recorder = nullptr;
};

namespace gnnc::runtime {

/// The API's `open`, for any model.
gnnc_status openModel(const Model &model, const gnnc_options *options, gnnc_context **context, gnnc_error *error);
/// The API's `embedded`, for any model.
gnnc_status findValues(const Model &model, const char *name, gnnc_tensor *tensor, gnnc_error *error);

/// What one call of `run` is given.
struct Call {
  const gnnc_graph &graph;
  const table::ProgramRec &program;
  const gnnc_binding *inputs;
  int32_t numInputs;
  const gnnc_binding *outputs;
  int32_t numOutputs;
  char *workspace; ///< function().workspaceBytes, aligned, on the graph's device
  void **pointers; ///< one for each of the function's buffers
  gnnc_error *error;
  cuda::Recorder *recorder = nullptr; ///< where launches are noted that follow a graph with capacities
  const uint64_t *needed = nullptr;   ///< a bit for each step of the program; null: all are needed

  const table::FunctionRec &record() const { return graph.model.function(program.function); }
  const PreparedFunction &function() const { return graph.functions[program.function]; }
  /// The address of one of the function's buffers.
  void *&pointer(int64_t buffer) const { return pointers[buffer - record().firstBuffer]; }
  /// Whether a step of the program is to be run.
  bool needs(int64_t step) const { return !needed || (needed[step / 64] >> (step % 64) & 1); }
};

/// What a caller binds; what replaces a parameter or state goes where that is bound.
inline bool isInput(const table::BufferRec &record) { return record.kind <= table::BufferKind::State; }
inline bool isOutput(const table::BufferRec &record) {
  return record.kind == table::BufferKind::Output && record.replaces < 0;
}
inline bool overlap(const void *a, int64_t aBytes, const void *b, int64_t bBytes) {
  uintptr_t aBegin = reinterpret_cast<uintptr_t>(a), bBegin = reinterpret_cast<uintptr_t>(b);
  return aBytes > 0 && bBytes > 0 && aBegin < bBegin + bBytes && bBegin < aBegin + aBytes;
}

/// The error for a buffer that nobody has bound.
gnnc_status reportMissing(const gnnc_graph &graph, int64_t buffer, gnnc_error *error);
/// Checks everything the caller bound and fills the call's table of addresses (Bindings.cpp).
gnnc_status bindBuffers(const Call &call);
/// Where the object's own values of a parameter or state are, on the graph's device.
void *valuesOf(const gnnc_graph &graph, const table::BufferRec &record);

/// Combines what so many blocks of a step (or ranks) have of its merged results.
void mergeStep(gnnc_context &context, const Call &call, const table::StepRec &step, int64_t blocks,
               void *const *partials);
/// Runs all steps (Execute.cpp). Only what is between ranks can fail.
gnnc_status execute(gnnc_context &context, const Call &call);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_CONTEXT_H
