/* Gradient descent with a model's own gradients, from C: docs/Tutorial.md explains it.
 *
 *   gnnc compile karate.gnn -m Loss --gradient -o loss.so
 *   cc -I<gnnc>/include train.c -ldl -o train && ./train ./loss.so ../data/karate.safetensors trained.safetensors
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "gnnc-c/gnnc.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 34, EDGES = 156, IN = 34, HIDDEN = 8, CLASSES = 2, PARAMETERS = 10, STEPS = 200 };

/* Shapes as `gnnc inspect` prints them. */
static struct {
  const char *name, *gradientName;
  int32_t ndim;
  int64_t shape[2];
  float *data, *gradient;
} parameters[PARAMETERS] = {
    {"net.first.V", "grad.net.first.V", 2, {IN, HIDDEN}, NULL, NULL},
    {"net.first.A", "grad.net.first.A", 2, {IN, HIDDEN}, NULL, NULL},
    {"net.first.B", "grad.net.first.B", 2, {IN, HIDDEN}, NULL, NULL},
    {"net.first.c", "grad.net.first.c", 1, {HIDDEN, 1}, NULL, NULL},
    {"net.first.b", "grad.net.first.b", 1, {HIDDEN, 1}, NULL, NULL},
    {"net.second.V", "grad.net.second.V", 2, {HIDDEN, CLASSES}, NULL, NULL},
    {"net.second.A", "grad.net.second.A", 2, {HIDDEN, CLASSES}, NULL, NULL},
    {"net.second.B", "grad.net.second.B", 2, {HIDDEN, CLASSES}, NULL, NULL},
    {"net.second.c", "grad.net.second.c", 1, {CLASSES, 1}, NULL, NULL},
    {"net.second.b", "grad.net.second.b", 1, {CLASSES, 1}, NULL, NULL},
};

static void fail(const char *what, const char *why) {
  fprintf(stderr, "train: %s: %s\n", what, why);
  exit(1);
}

static gnnc_binding tensor(const char *name, float *data, int32_t ndim, const int64_t *shape) {
  gnnc_binding binding = {name, {data, 1, 0, ndim, 2, 32, 1, shape, NULL, 0}};
  return binding;
}

/* One tensor of a safetensors file that is known to be good: a program of its own would use a JSON reader. */
static void readTensor(const char *path, const char *name, void *data, size_t bytes) {
  FILE *file = fopen(path, "rb");
  uint64_t header = 0;
  char text[4096] = "", key[64];
  if (!file || fread(&header, 8, 1, file) != 1 || header >= sizeof text || fread(text, header, 1, file) != 1)
    fail(path, "cannot read it");
  snprintf(key, sizeof key, "\"%s\":", name);
  const char *offsets = strstr(text, key);
  offsets = offsets ? strstr(offsets, "\"data_offsets\":[") : NULL;
  if (!offsets || fseek(file, 8 + (long)header + atol(offsets + 16), SEEK_SET) || fread(data, bytes, 1, file) != 1)
    fail(name, "not in the graph file");
  fclose(file);
}

static void writeParameters(const char *path) {
  char text[4096] = "{";
  size_t used = 1, begin = 0;
  for (int p = 0; p < PARAMETERS; ++p) {
    size_t end = begin + 4 * (size_t)(parameters[p].shape[0] * parameters[p].shape[1]);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%d", p ? "," : "",
                             parameters[p].name, (int)parameters[p].shape[0]);
    if (parameters[p].ndim == 2)
      used += (size_t)snprintf(text + used, sizeof text - used, ",%d", (int)parameters[p].shape[1]);
    used += (size_t)snprintf(text + used, sizeof text - used, "],\"data_offsets\":[%zu,%zu]}", begin, end);
    begin = end;
  }
  used += (size_t)snprintf(text + used, sizeof text - used, "}");
  while (used % 8)
    text[used++] = ' ';
  uint64_t header = used;
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(&header, 8, 1, file) != 1 || fwrite(text, used, 1, file) != 1)
    fail(path, "cannot write it");
  for (int p = 0; p < PARAMETERS; ++p)
    if (fwrite(parameters[p].data, 4 * (size_t)(parameters[p].shape[0] * parameters[p].shape[1]), 1, file) != 1)
      fail(path, "cannot write it");
  if (fclose(file))
    fail(path, "cannot write it");
}

int main(int argc, char **argv) {
  if (argc != 4)
    fail("usage", "train LOSS.so GRAPH.safetensors PARAMETERS.safetensors");
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  const gnnc_api *(*model)(void);
  *(void **)&model = library ? dlsym(library, "gnnc_model") : NULL;
  if (!library || !model || model()->abi_version != GNNC_ABI_VERSION)
    fail(argv[1], "not a model of this version of gnnc");
  const gnnc_api *api = model();
  gnnc_error error;
  gnnc_context *context;
  if (api->open(NULL, &context, &error))
    fail("open", error.message);

  /* The graph, once. */
  static int32_t ends[2][EDGES], side[NODES];
  static float x[NODES][IN], contexts[EDGES], target[NODES][CLASSES];
  readTensor(argv[2], "edge_index", ends, sizeof ends);
  readTensor(argv[2], "contexts", contexts, sizeof contexts);
  readTensor(argv[2], "y", side, sizeof side);
  for (int node = 0; node < NODES; ++node)
    x[node][node] = 1;                                         /* a member's features are its number */
  target[0][side[0]] = target[NODES - 1][side[NODES - 1]] = 1; /* all that training knows: the two leaders */
  const gnnc_extent extents[] = {{"node", NODES}, {"edge", EDGES}};
  const gnnc_index maps[] = {{"src", ends[0], EDGES, 32, GNNC_INDEX_EACH},
                             {"dst", ends[1], EDGES, 32, GNNC_INDEX_EACH}};
  const gnnc_graph_desc desc = {sizeof desc, 2, extents, 2, maps, 0, NULL, NULL, NULL};
  gnnc_graph *graph;
  if (api->prepare(context, &desc, &graph, &error))
    fail("prepare", error.message);

  /* What a run reads and writes: d loss / d loss is 1. */
  static float loss, one = 1, xGradient[NODES][IN], contextsGradient[EDGES], targetGradient[NODES][CLASSES];
  const int64_t xShape[] = {NODES, IN}, edgeShape[] = {EDGES}, targetShape[] = {NODES, CLASSES};
  gnnc_binding in[4 + PARAMETERS] = {tensor("x", x[0], 2, xShape), tensor("contexts", contexts, 1, edgeShape),
                                     tensor("target", target[0], 2, targetShape), tensor("grad.loss", &one, 0, NULL)};
  gnnc_binding out[4 + PARAMETERS] = {tensor("loss", &loss, 0, NULL), tensor("grad.x", xGradient[0], 2, xShape),
                                      tensor("grad.contexts", contextsGradient, 1, edgeShape),
                                      tensor("grad.target", targetGradient[0], 2, targetShape)};
  uint32_t random = 1;
  for (int p = 0; p < PARAMETERS; ++p) {
    size_t count = (size_t)(parameters[p].shape[0] * parameters[p].shape[1]);
    parameters[p].data = malloc(4 * count);
    parameters[p].gradient = malloc(4 * count);
    if (!parameters[p].data || !parameters[p].gradient)
      fail("malloc", "out of memory");
    for (size_t i = 0; i < count; ++i) {
      random = random * 1664525u + 1013904223u;
      parameters[p].data[i] = ((float)(random >> 8) / (1 << 24) - 0.5f) * 0.6f;
    }
    in[4 + p] = tensor(parameters[p].name, parameters[p].data, parameters[p].ndim, parameters[p].shape);
    out[4 + p] = tensor(parameters[p].gradientName, parameters[p].gradient, parameters[p].ndim, parameters[p].shape);
  }
  size_t bytes = 0;
  if (api->workspace_size(graph, "gradient", &bytes, &error))
    fail("workspace_size", error.message);
  bytes = (bytes + 63) / 64 * 64;
  void *workspace = aligned_alloc(64, bytes ? bytes : 64);
  if (!workspace)
    fail("aligned_alloc", "out of memory");

  for (int step = 0; step <= STEPS; ++step) {
    if (api->run(context, graph, "gradient", in, 4 + PARAMETERS, out, 4 + PARAMETERS, workspace, bytes, NULL, &error))
      fail("run", error.message);
    if (step % 50 == 0)
      printf("step %d: loss %.4f\n", step, loss);
    for (int p = 0; p < PARAMETERS; ++p)
      for (int64_t i = 0; i < parameters[p].shape[0] * parameters[p].shape[1]; ++i)
        parameters[p].data[i] -= 0.05f * parameters[p].gradient[i];
  }
  writeParameters(argv[3]);
  free(workspace);
  for (int p = 0; p < PARAMETERS; ++p) {
    free(parameters[p].data);
    free(parameters[p].gradient);
  }
  api->free_graph(graph);
  api->close(context);
  return 0;
}
