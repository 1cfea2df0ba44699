//===- Runs.cpp - Programs that a caller runs -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PreparedCall.h"
#include "Api.h"
#include <string.h>

namespace gnnc::runtime::api {

using namespace table;

static bool isAlternative(const Model &model, const ProgramRec &program) {
  for (int64_t i = 0; i < model.header().numAlternatives; ++i)
    if (model.alternative(i).function == program.function)
      return true;
  return false;
}

/// Finds a program (null: the first) that this graph has all data for.
static gnnc_status findProgram(const gnnc_graph &graph, const char *name, const ProgramRec *&program,
                               gnnc_error *error) {
  const Model &model = graph.model;
  int64_t count = model.header().numPrograms;
  program = name ? nullptr : &model.program(0);
  for (int64_t i = 0; i < count && !program; ++i)
    if (strcmp(model.name(model.program(i).name), name) == 0)
      program = &model.program(i);
  if (!program) {
    Text names;
    for (int64_t i = 0; i < count && !isAlternative(model, model.program(i)); ++i)
      names.add("%s%s", i ? ", " : "", model.name(model.program(i).name));
    return fail(error, GNNC_INVALID_ARGUMENT, "unknown program '%.80s': expected one of %s", name, names.c_str());
  }
  int64_t missing = graph.functions[program->function].missing;
  if (missing < 0) {
    // The chosen alternative's program of that name.
    int64_t chosen = graph.functions[program->function].chosen;
    for (int64_t i = 0, name = program->name; i < count && program->function != chosen; ++i)
      if (model.program(i).function == chosen && model.program(i).name == name)
        program = &model.program(i);
    return GNNC_OK;
  }
  bool isMap = missing % 2;
  return fail(error, GNNC_INVALID_ARGUMENT, "program '%s' needs %s '%s', which was not given with the graph",
              model.name(program->name), isMap ? "map" : "space",
              model.name(isMap ? model.map(missing / 2).name : model.space(missing / 2).name));
}

gnnc_status workspaceSize(const gnnc_graph *graph, const char *name, size_t *bytes, gnnc_error *error) {
  if (!graph || !bytes)
    return fail(error, GNNC_INVALID_ARGUMENT, "workspace_size: %s is null", graph ? "bytes" : "graph");
  *bytes = 0;
  const ProgramRec *program;
  if (gnnc_status status = findProgram(*graph, name, program, error))
    return status;
  *bytes = static_cast<size_t>(graph->functions[program->function].workspaceBytes);
  return GNNC_OK;
}

/// Runs what `bind` gives addresses to, on a device by `launch`. `needed`: bytes of its workspace, of which the caller
/// has `workspaceBytes`.
template <typename Bind, typename Launch>
static gnnc_status runWith(gnnc_context &context, Call &call, int64_t needed, size_t workspaceBytes, void *stream,
                           const Bind &bind, const Launch &launch) {
  Memory own(context.allocator);
  gnnc_error *error = call.error;
  size_t wanted = static_cast<size_t>(needed);
  if (!call.workspace && context.device && wanted > 0)
    return fail(error, GNNC_INVALID_ARGUMENT, "workspace: expected %zu bytes of the device's memory, found none",
                wanted);
  if (!call.workspace && call.program.firstStep > 0)
    return fail(error, GNNC_INVALID_ARGUMENT,
                "program '%s' goes on from what another left in its workspace: expected that workspace, found none",
                call.graph.model.name(call.program.name));
  int64_t alignment = context.device ? cuda::kDeviceAlignment : kAlignment;
  if (!call.workspace && !context.device) {
    call.workspace = static_cast<char *>(own.allocate(needed, 1));
    if (!call.workspace)
      return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a workspace of %zu bytes", wanted);
  } else if (workspaceBytes < wanted) {
    return fail(error, GNNC_INVALID_ARGUMENT, "workspace: expected %zu bytes or more, found %zu", wanted,
                workspaceBytes);
  } else if (reinterpret_cast<uintptr_t>(call.workspace) % static_cast<uintptr_t>(alignment) != 0) {
    return fail(error, GNNC_INVALID_ARGUMENT, "workspace: expected an address that %d divides, found %p",
                static_cast<int>(alignment), static_cast<void *>(call.workspace));
  }
  if (context.device) {
    int64_t count = call.record().numBuffers;
    call.pointers = static_cast<void **>(__builtin_alloca(static_cast<size_t>(count) * sizeof(void *)));
    if (call.graph.capacities && stream)
      call.recorder = context.device->recorderOf(stream);
    gnnc_status status = bind();
    return status ? status : launch(*context.device);
  }
  // The table of addresses is at the start of the workspace.
  call.pointers = reinterpret_cast<void **>(call.workspace);
  if (gnnc_status status = bind())
    return status;
  return execute(context, call);
}

gnnc_status run(gnnc_context *context, const gnnc_graph *graph, const char *name, const gnnc_binding *inputs,
                int32_t numInputs, const gnnc_binding *outputs, int32_t numOutputs, void *workspace,
                size_t workspaceBytes, void *stream, gnnc_error *error) {
  if (!context || !graph)
    return fail(error, GNNC_INVALID_ARGUMENT, "run: %s is null", context ? "graph" : "context");
  if (gnnc_status status = checkOwner(context, graph, "run", error))
    return status;
  if (gnnc_status status = refuse(context, "run", error))
    return status;
  const ProgramRec *program;
  if (gnnc_status status = findProgram(*graph, name, program, error))
    return status;
  Call call{*graph, *program, inputs, numInputs, outputs, numOutputs, static_cast<char *>(workspace), nullptr, error};
  return runWith(
      *context, call, graph->functions[program->function].workspaceBytes, workspaceBytes, stream,
      [&] { return bindBuffers(call); }, [&](const cuda::Device &device) { return device.run(call, stream); });
}

gnnc_status makeCallOf(const gnnc_graph *graph, const gnnc_call_desc *desc, gnnc_call **call, size_t *workspaceBytes,
                       gnnc_error *error) {
  if (call)
    *call = nullptr;
  if (!graph || !desc || !call || !workspaceBytes)
    return fail(error, GNNC_INVALID_ARGUMENT, "make_call: %s is null",
                !graph  ? "graph"
                : !desc ? "the description"
                : !call ? "call"
                        : "workspace_bytes");
  *workspaceBytes = 0;
  if (desc->struct_size != sizeof(gnnc_call_desc))
    return fail(error, GNNC_VERSION_MISMATCH, "make_call: expected struct_size %zu, found %u", sizeof(gnnc_call_desc),
                desc->struct_size);
  const ProgramRec *program;
  gnnc_status status = findProgram(*graph, desc->program, program, error);
  if (!status)
    status = makeCall(*graph, *program, *desc, *call, error);
  if (!status)
    *workspaceBytes = static_cast<size_t>((*call)->workspaceBytes);
  return status;
}

gnnc_status runCall(gnnc_context *context, const gnnc_call *made, void *const *data, void *workspace,
                    size_t workspaceBytes, void *stream, gnnc_error *error) {
  if (!context || !made || (!data && made->numData > 0))
    return fail(error, GNNC_INVALID_ARGUMENT, "run_call: %s is null", !context ? "context" : !made ? "call" : "data");
  if (gnnc_status status = checkOwner(context, &made->graph, "run_call", error))
    return status;
  if (gnnc_status status = refuse(context, "run_call", error))
    return status;
  Call call{made->graph, made->program, nullptr, 0,           nullptr, 0, static_cast<char *>(workspace),
            nullptr,     error,         nullptr, made->needed};
  return runWith(
      *context, call, made->workspaceBytes, workspaceBytes, stream, [&] { return placeBuffers(*made, call, data); },
      [&](const cuda::Device &device) {
        return made->repeats ? device.runAgain(call, *made, data, stream) : device.run(call, stream);
      });
}

void freeCall(gnnc_call *call) {
  if (!call)
    return;
  gnnc_allocator allocator(call->memory.getAllocator());
  if (call->repeats)
    destroy(call->repeats, allocator);
  destroy(call, allocator);
}

} // namespace gnnc::runtime::api
