//===- Graphs.cpp - Graphs that a caller prepares -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Describe.h"
#include "Api.h"
#include <string.h>

namespace gnnc::runtime::api {

/// For descriptions of the graph, if there is one; by reference, because `status` is what makes it.
static gnnc_status noteCode(const gnnc_context &context, gnnc_graph *&graph, gnnc_status status) {
  if (graph)
    graph->variant = context.variant;
  return status;
}

gnnc_status prepare(gnnc_context *context, const gnnc_graph_desc *desc, gnnc_graph **graph, gnnc_error *error) {
  if (graph)
    *graph = nullptr;
  if (!context || !desc || !graph)
    return fail(error, GNNC_INVALID_ARGUMENT, "prepare: %s is null",
                !context ? "context"
                : !desc  ? "the graph description"
                         : "graph");
  return noteCode(*context, *graph,
                  prepareGraph(context->model, context->allocator, *desc, *graph, error,
                               {context->device, nullptr, false, &context->orders}));
}

gnnc_status preparePart(gnnc_context *context, const gnnc_graph_desc *desc, const gnnc_part_desc *part,
                        gnnc_graph **graph, gnnc_error *error) {
  if (graph)
    *graph = nullptr;
  if (!context || !desc || !part || !graph)
    return fail(error, GNNC_INVALID_ARGUMENT, "prepare_part: %s is null",
                !context ? "context"
                : !desc  ? "the graph description"
                : !part  ? "the part description"
                         : "graph");
  return noteCode(*context, *graph,
                  prepareGraph(context->model, context->allocator, *desc, *graph, error,
                               {context->device, part, context->planOnly, &context->orders}));
}

gnnc_status update(gnnc_context *context, gnnc_graph *graph, const gnnc_graph_desc *desc, gnnc_error *error) {
  if (!context || !graph || !desc)
    return fail(error, GNNC_INVALID_ARGUMENT, "update: %s is null",
                !context ? "context"
                : !desc  ? "the graph description"
                         : "graph");
  if (gnnc_status status = checkOwner(context, graph, "update", error))
    return status;
  return noteCode(*context, graph, updateGraph(*graph, *desc, error, context->device));
}

gnnc_status describeGraph(const gnnc_graph *graph, char *text, size_t capacity, size_t *length, gnnc_error *error) {
  if (!graph || !length || (!text && capacity > 0))
    return fail(error, GNNC_INVALID_ARGUMENT, "describe_graph: %s is null",
                !graph    ? "graph"
                : !length ? "length"
                          : "text");
  *length = describeChoices(*graph, text, capacity);
  return GNNC_OK;
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

size_t graphBytes(const gnnc_graph *graph) {
  if (!graph)
    return 0;
  size_t onDevice = graph->device ? static_cast<size_t>(graph->device->bytes) : 0;
  return sizeof(gnnc_graph) + graph->memory.bytes() + onDevice;
}

} // namespace gnnc::runtime::api
