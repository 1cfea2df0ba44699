/*===- FakeModel.c - A compiled model by hand ---------------------*- C -*-===*\
|*
|* Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
|* See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

/* y = sum over the edges into each node of w * (x.src @ W), with x: node[3], w: edge[] = 1, W: [3, 2]. */

#include "gnnc-c/gnnc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE_ABI_VERSION
#define FAKE_ABI_VERSION GNNC_ABI_VERSION
#endif

struct gnnc_context {
  int threads;
};
struct gnnc_graph {
  int64_t nodes, edges;
  int64_t *src, *dst;
};

static const char text[] =
    "{\"name\": \"fake\", \"abi\": 1, \"dtype\": \"f32\","
    " \"spaces\": [{\"name\": \"node\", \"kind\": \"root\"}, {\"name\": \"edge\", \"kind\": \"root\"}],"
    " \"maps\": [{\"name\": \"src\", \"from\": \"edge\", \"to\": \"node\", \"kind\": \"root\"},"
    "            {\"name\": \"dst\", \"from\": \"edge\", \"to\": \"node\", \"kind\": \"root\"}],"
    " \"inputs\": [{\"name\": \"x\", \"space\": \"node\", \"dims\": [3], \"axes\": [\"in\"], \"optional\": false},"
    "              {\"name\": \"w\", \"space\": \"edge\", \"dims\": [], \"axes\": [], \"optional\": true, \"fill\": "
    "1.0}],"
    " \"params\": [{\"name\": \"W\", \"space\": null, \"dims\": [3, 2], \"axes\": [\"in\", \"out\"]}],"
    " \"states\": [],"
    " \"outputs\": [{\"name\": \"y\", \"space\": \"node\", \"dims\": [2], \"axes\": [\"out\"]}],"
    " \"kernels\": [{\"name\": \"sweep_y\", \"kind\": \"sweep\", \"map\": \"dst\"}],"
    " \"buffers\": [{\"name\": \"x\", \"kind\": \"input\", \"space\": \"node\", \"row_elements\": 3},"
    "               {\"name\": \"t\", \"kind\": \"arena\", \"space\": \"node\", \"row_elements\": 2, \"first\": 0,"
    "                \"last\": 0}]}";

static gnnc_status fail(gnnc_error *error, gnnc_status status, const char *format, const char *name) {
  if (error) {
    error->status = status;
    snprintf(error->message, sizeof(error->message), format, name);
  }
  return status;
}

static const char *describe(size_t *length) {
  *length = sizeof(text) - 1;
  return text;
}

static gnnc_status open_context(const gnnc_options *options, gnnc_context **context, gnnc_error *error) {
  *context = calloc(1, sizeof(gnnc_context));
  (*context)->threads = options ? options->threads : 0;
  if ((*context)->threads < 0) {
    free(*context);
    return fail(error, GNNC_INVALID_ARGUMENT, "expected a number of %s, found a negative one", "threads");
  }
  return GNNC_OK;
}

static gnnc_status embedded(const char *name, gnnc_tensor *tensor, gnnc_error *error) {
  memset(tensor, 0, sizeof *tensor);
  return strcmp(name, "W") ? fail(error, GNNC_INVALID_ARGUMENT, "unknown parameter %s", name) : GNNC_OK;
}

static void close_context(gnnc_context *context) { free(context); }

static void free_graph(gnnc_graph *graph) {
  if (graph) {
    free(graph->src);
    free(graph->dst);
    free(graph);
  }
}

static int64_t *copy_map(const gnnc_graph_desc *desc, const char *name, gnnc_graph *graph) {
  for (int32_t i = 0; i < desc->num_indices; ++i) {
    const gnnc_index *index = &desc->indices[i];
    if (strcmp(index->map, name) || index->length != graph->edges)
      continue;
    int64_t *copy = calloc((size_t)graph->edges + 1, sizeof(int64_t));
    for (int64_t e = 0; e < graph->edges; ++e) {
      copy[e] = index->bits == 32 ? ((const int32_t *)index->data)[e] : ((const int64_t *)index->data)[e];
      if (copy[e] < 0 || copy[e] >= graph->nodes) {
        free(copy);
        return NULL;
      }
    }
    return copy;
  }
  return NULL;
}

static gnnc_status prepare(gnnc_context *context, const gnnc_graph_desc *desc, gnnc_graph **result, gnnc_error *error) {
  (void)context;
  gnnc_graph *graph = calloc(1, sizeof(gnnc_graph));
  for (int32_t i = 0; i < desc->num_extents; ++i) {
    if (!strcmp(desc->extents[i].space, "node"))
      graph->nodes = desc->extents[i].extent;
    if (!strcmp(desc->extents[i].space, "edge"))
      graph->edges = desc->extents[i].extent;
  }
  graph->src = copy_map(desc, "src", graph);
  graph->dst = copy_map(desc, "dst", graph);
  if (!graph->src || !graph->dst) {
    const char *name = graph->src ? "dst" : "src";
    free_graph(graph);
    return fail(error, GNNC_INVALID_GRAPH, "map '%s' is missing or out of range", name);
  }
  *result = graph;
  return GNNC_OK;
}

static int64_t extent(const gnnc_graph *graph, const char *space) {
  return !strcmp(space, "node") ? graph->nodes : !strcmp(space, "edge") ? graph->edges : -1;
}

static size_t graph_bytes(const gnnc_graph *graph) { return (size_t)graph->edges * 2 * sizeof(int64_t); }

static size_t output_bytes(const gnnc_graph *graph) { return (size_t)graph->nodes * 2 * sizeof(float); }

static gnnc_status workspace_size(const gnnc_graph *graph, const char *program, size_t *bytes, gnnc_error *error) {
  if (strcmp(program, "forward"))
    return fail(error, GNNC_INVALID_ARGUMENT, "unknown program '%s'", program);
  *bytes = output_bytes(graph);
  return GNNC_OK;
}

static const gnnc_tensor *find(const gnnc_binding *bindings, int32_t count, const char *name) {
  for (int32_t i = 0; i < count; ++i)
    if (!strcmp(bindings[i].name, name))
      return &bindings[i].tensor;
  return NULL;
}

static gnnc_status run(gnnc_context *context, const gnnc_graph *graph, const char *program, const gnnc_binding *inputs,
                       int32_t num_inputs, const gnnc_binding *outputs, int32_t num_outputs, void *workspace,
                       size_t workspace_bytes, void *stream, gnnc_error *error) {
  (void)context, (void)program, (void)stream;
  const gnnc_tensor *x = find(inputs, num_inputs, "x"), *w = find(inputs, num_inputs, "w"),
                    *W = find(inputs, num_inputs, "W"), *y = find(outputs, num_outputs, "y");
  if (!x || x->ndim != 2 || x->shape[0] != graph->nodes || x->shape[1] != 3)
    return fail(error, GNNC_INVALID_ARGUMENT, "input '%s': expected shape [nodes, 3]", "x");
  if (!W || !y || !workspace || workspace_bytes < output_bytes(graph))
    return fail(error, GNNC_INVALID_ARGUMENT, "'%s' is missing", !W ? "W" : !y ? "y" : "workspace");
  float *sums = workspace;
  memset(sums, 0, output_bytes(graph));
  for (int64_t e = 0; e < graph->edges; ++e)
    for (int64_t k = 0; k < 3; ++k)
      for (int64_t j = 0; j < 2; ++j)
        sums[graph->dst[e] * 2 + j] += (w ? ((const float *)w->data)[e] : 1.0f) *
                                       ((const float *)x->data)[graph->src[e] * 3 + k] *
                                       ((const float *)W->data)[k * 2 + j];
  memcpy(y->data, sums, output_bytes(graph));
  return GNNC_OK;
}

static gnnc_status allocate(gnnc_context *context, size_t bytes, void **memory, gnnc_error *error) {
  (void)context, (void)error;
  *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  return *memory ? GNNC_OK : GNNC_OUT_OF_MEMORY;
}

static void release(gnnc_context *context, void *memory) {
  (void)context;
  free(memory);
}

static gnnc_status copy(gnnc_context *context, void *to, int32_t to_type, const void *from, int32_t from_type,
                        size_t bytes, void *stream, gnnc_error *error) {
  (void)context, (void)to_type, (void)from_type, (void)stream, (void)error;
  memmove(to, from, bytes);
  return GNNC_OK;
}

static gnnc_status synchronize(gnnc_context *context, void *stream, gnnc_error *error) {
  (void)context, (void)stream, (void)error;
  return GNNC_OK;
}

static gnnc_status create_stream(gnnc_context *context, void **stream, gnnc_error *error) {
  (void)context, (void)error;
  *stream = NULL;
  return GNNC_OK;
}

static void destroy_stream(gnnc_context *context, void *stream) { (void)context, (void)stream; }

static const gnnc_api api = {
    FAKE_ABI_VERSION,
    sizeof(gnnc_api),
    describe,
    open_context,
    close_context,
    prepare,
    free_graph,
    extent,
    graph_bytes,
    workspace_size,
    run,
    allocate,
    release,
    copy,
    synchronize,
    create_stream,
    destroy_stream,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    embedded,
    NULL,
    NULL,
    NULL,
    NULL,
};

__attribute__((visibility("default"))) const gnnc_api *gnnc_model(void);
const gnnc_api *gnnc_model(void) { return &api; }
