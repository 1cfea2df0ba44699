//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "Processor.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

constexpr int kMaxThreads = 1024;

static Model compiledModel() { return {gnnc_model_table, gnnc_model_names, gnnc_model_constants, gnnc_model_variants}; }

gnnc_status openModel(const Model &model, const gnnc_options *options, gnnc_context **context, gnnc_error *error) {
  if (!context)
    return fail(error, GNNC_INVALID_ARGUMENT, "open: context is null");
  *context = nullptr;
  if (model.header().magic != kMagic || model.header().version != kTableVersion)
    return fail(error, GNNC_VERSION_MISMATCH, "model table: expected version %lld, found %lld",
                static_cast<long long>(kTableVersion), static_cast<long long>(model.header().version));
  gnnc_allocator allocator = defaultAllocator();
  int threads = 0;
  if (options) {
    if (options->struct_size != sizeof(gnnc_options))
      return fail(error, GNNC_VERSION_MISMATCH, "options: expected struct_size %zu, found %u", sizeof(gnnc_options),
                  options->struct_size);
    threads = options->threads;
    if (options->allocator) {
      allocator = *options->allocator;
      if (!allocator.allocate || !allocator.release)
        return fail(error, GNNC_INVALID_ARGUMENT, "options: the allocator's function '%s' is null",
                    allocator.allocate ? "release" : "allocate");
    }
  }
  if (threads < 0 || threads > kMaxThreads)
    return fail(error, GNNC_INVALID_ARGUMENT, "options: expected 0 to %d threads, found %d", kMaxThreads, threads);
  if (threads == 0)
    threads = processorCount() < kMaxThreads ? processorCount() : kMaxThreads;

  const Variant *variant;
  if (gnnc_status status = chooseVariant(model, variant, error))
    return status;
  gnnc_context *result = create<gnnc_context>(allocator, model, allocator);
  if (!result)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a context");
  result->variant = variant;
  if (gnnc_status status = result->pool.start(threads, error)) {
    destroy(result, allocator);
    return status;
  }
  *context = result;
  return GNNC_OK;
}

namespace {

const char *describe(size_t *length) {
  if (length)
    *length = static_cast<size_t>(gnnc_model_json_size);
  return gnnc_model_json;
}

gnnc_status open(const gnnc_options *options, gnnc_context **context, gnnc_error *error) {
  return openModel(compiledModel(), options, context, error);
}

void close(gnnc_context *context) {
  if (context)
    destroy(context, gnnc_allocator(context->allocator));
}

gnnc_status prepare(gnnc_context *context, const gnnc_graph_desc *desc, gnnc_graph **graph, gnnc_error *error) {
  if (graph)
    *graph = nullptr;
  if (!context || !desc || !graph)
    return fail(error, GNNC_INVALID_ARGUMENT, "prepare: %s is null",
                !context ? "context"
                : !desc  ? "the graph description"
                         : "graph");
  return prepareGraph(context->model, context->allocator, *desc, *graph, error);
}

void freeGraph(gnnc_graph *graph) {
  if (graph)
    destroy(graph, gnnc_allocator(graph->memory.getAllocator()));
}

int64_t extent(const gnnc_graph *graph, const char *space) {
  if (!graph || !space)
    return -1;
  for (int64_t i = 0; i < graph->model.header().numSpaces; ++i)
    if (strcmp(graph->model.name(graph->model.space(i).name), space) == 0)
      return graph->extents[i];
  return -1;
}

size_t graphBytes(const gnnc_graph *graph) { return graph ? sizeof(gnnc_graph) + graph->memory.bytes() : 0; }

/// Finds a program (null: the first) that this graph has all data for.
gnnc_status findProgram(const gnnc_graph &graph, const char *name, const ProgramRec *&program, gnnc_error *error) {
  const Model &model = graph.model;
  int64_t count = model.header().numPrograms;
  program = name ? nullptr : &model.program(0);
  for (int64_t i = 0; i < count && !program; ++i)
    if (strcmp(model.name(model.program(i).name), name) == 0)
      program = &model.program(i);
  if (!program) {
    Text names;
    for (int64_t i = 0; i < count; ++i)
      names.add("%s%s", i ? ", " : "", model.name(model.program(i).name));
    return fail(error, GNNC_INVALID_ARGUMENT, "unknown program '%.80s': expected one of %s", name, names.c_str());
  }
  int64_t missing = graph.functions[program->function].missing;
  if (missing < 0)
    return GNNC_OK;
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

gnnc_status run(gnnc_context *context, const gnnc_graph *graph, const char *name, const gnnc_binding *inputs,
                int32_t numInputs, const gnnc_binding *outputs, int32_t numOutputs, void *workspace,
                size_t workspaceBytes, void *, gnnc_error *error) {
  if (!context || !graph)
    return fail(error, GNNC_INVALID_ARGUMENT, "run: %s is null", context ? "graph" : "context");
  if (graph->model.table != context->model.table)
    return fail(error, GNNC_INVALID_ARGUMENT, "run: the graph was prepared by another model");
  const ProgramRec *program;
  if (gnnc_status status = findProgram(*graph, name, program, error))
    return status;
  Memory own(context->allocator);
  size_t needed = static_cast<size_t>(graph->functions[program->function].workspaceBytes);
  if (!workspace) {
    workspace = own.allocate(static_cast<int64_t>(needed), 1);
    if (!workspace)
      return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a workspace of %zu bytes", needed);
  } else if (workspaceBytes < needed) {
    return fail(error, GNNC_INVALID_ARGUMENT, "workspace: expected %zu bytes or more, found %zu", needed,
                workspaceBytes);
  } else if (reinterpret_cast<uintptr_t>(workspace) % kAlignment != 0) {
    return fail(error, GNNC_INVALID_ARGUMENT, "workspace: expected an address that %d divides, found %p",
                static_cast<int>(kAlignment), workspace);
  }
  Call call{*graph, *program, inputs, numInputs, outputs, numOutputs, static_cast<char *>(workspace), error};
  if (gnnc_status status = bindBuffers(call))
    return status;
  execute(*context, call);
  return GNNC_OK;
}

constexpr gnnc_api api = {GNNC_ABI_VERSION, sizeof(gnnc_api), describe,   open,          close, prepare,
                          freeGraph,        extent,           graphBytes, workspaceSize, run};

} // namespace

} // namespace gnnc::runtime

extern "C" __attribute__((visibility("default"))) const gnnc_api *gnnc_model() { return &gnnc::runtime::api; }
