//===- Api.h - The functions that a model exports ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What gnnc_api's members point to. They check what a caller may get wrong, and hand the rest to the functions of
// Context.h, Graph.h and CUDA/Device.h. include/gnnc-c/gnnc.h says what each of them does.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_API_API_H
#define GNNC_RUNTIME_API_API_H

#include "../Context.h"

namespace gnnc::runtime::api {

constexpr int32_t kCPU = 1, kCUDA = 2; // DLPack's device types

/// For what only a context can do that has more than plans.
gnnc_status refuse(const gnnc_context *context, const char *call, gnnc_error *error);
/// A graph is of one model and one device; contexts of the CPU may share theirs.
gnnc_status checkOwner(const gnnc_context *context, const gnnc_graph *graph, const char *call, gnnc_error *error);

// Contexts.cpp
const char *describe(size_t *length);
gnnc_status embedded(const char *name, gnnc_tensor *tensor, gnnc_error *error);
gnnc_status open(const gnnc_options *options, gnnc_context **context, gnnc_error *error);
void close(gnnc_context *context);

// Graphs.cpp
gnnc_status prepare(gnnc_context *context, const gnnc_graph_desc *desc, gnnc_graph **graph, gnnc_error *error);
gnnc_status preparePart(gnnc_context *context, const gnnc_graph_desc *desc, const gnnc_part_desc *part,
                        gnnc_graph **graph, gnnc_error *error);
gnnc_status update(gnnc_context *context, gnnc_graph *graph, const gnnc_graph_desc *desc, gnnc_error *error);
gnnc_status describeGraph(const gnnc_graph *graph, char *text, size_t capacity, size_t *length, gnnc_error *error);
void freeGraph(gnnc_graph *graph);
int64_t extent(const gnnc_graph *graph, const char *space);
size_t graphBytes(const gnnc_graph *graph);

// Runs.cpp
gnnc_status workspaceSize(const gnnc_graph *graph, const char *name, size_t *bytes, gnnc_error *error);
gnnc_status run(gnnc_context *context, const gnnc_graph *graph, const char *name, const gnnc_binding *inputs,
                int32_t numInputs, const gnnc_binding *outputs, int32_t numOutputs, void *workspace,
                size_t workspaceBytes, void *stream, gnnc_error *error);
gnnc_status makeCallOf(const gnnc_graph *graph, const gnnc_call_desc *desc, gnnc_call **call, size_t *workspaceBytes,
                       gnnc_error *error);
gnnc_status runCall(gnnc_context *context, const gnnc_call *made, void *const *data, void *workspace,
                    size_t workspaceBytes, void *stream, gnnc_error *error);
void freeCall(gnnc_call *call);

// Memory.cpp
gnnc_status allocateMemory(gnnc_context *context, size_t bytes, void **memory, gnnc_error *error);
void releaseMemory(gnnc_context *context, void *memory);
gnnc_status copyMemory(gnnc_context *context, void *to, int32_t toType, const void *from, int32_t fromType,
                       size_t bytes, void *stream, gnnc_error *error);
gnnc_status synchronize(gnnc_context *context, void *stream, gnnc_error *error);
gnnc_status createStream(gnnc_context *context, void **stream, gnnc_error *error);
void destroyStream(gnnc_context *context, void *stream);

// Recordings.cpp
gnnc_status beginRecording(gnnc_context *context, void *stream, gnnc_error *error);
gnnc_status endRecording(gnnc_context *context, void *stream, gnnc_recording **recording, gnnc_error *error);
gnnc_status replay(gnnc_context *context, gnnc_recording *recording, void *stream, gnnc_error *error);
void freeRecording(gnnc_context *context, gnnc_recording *recording);

} // namespace gnnc::runtime::api

#endif // GNNC_RUNTIME_API_API_H
