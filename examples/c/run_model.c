/* Loads a compiled model and runs it on a path of four nodes, 0 - 1 - 2 - 3.
 *
 *   gnnc compile model.gnn -o model.so
 *   cc -I<gnnc>/include run_model.c -ldl -o run_model && ./run_model ./model.so
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "gnnc-c/gnnc.h"
#include <dlfcn.h>
#include <stdio.h>

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

static int failed(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

/* A dense float32 tensor on the CPU, under its name in the model. */
static gnnc_binding tensor(const char *name, float *data, int32_t ndim, const int64_t *shape) {
  gnnc_binding binding = {name, {data, 1, 0, ndim, 2, 32, 1, shape, NULL, 0}};
  return binding;
}

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library)
    return failed("usage: run_model MODEL.so", argc == 2 ? dlerror() : "one argument expected");
  const gnnc_api *(*model)(void);
  *(void **)&model = dlsym(library, "gnnc_model");
  if (!model || model()->abi_version != GNNC_ABI_VERSION)
    return failed(argv[1], "not a model of this version of gnnc");
  const gnnc_api *api = model();
  gnnc_error error;
  gnnc_context *context;
  if (api->open(NULL, &context, &error)) /* all processors, malloc and free */
    return failed("open", error.message);

  /* The graph: every edge in both directions. Self loops are the model's business. */
  const int64_t src[] = {0, 1, 1, 2, 2, 3}, dst[] = {1, 0, 2, 1, 3, 2};
  const gnnc_extent extents[] = {{"node", 4}, {"edge", 6}};
  const gnnc_index maps[] = {{"src", src, 6, 64, GNNC_INDEX_EACH}, {"dst", dst, 6, 64, GNNC_INDEX_EACH}};
  const gnnc_graph_desc desc = {sizeof desc, COUNT(extents), extents, COUNT(maps), maps, 0, NULL, NULL, NULL};
  gnnc_graph *graph;
  if (api->prepare(context, &desc, &graph, &error))
    return failed("prepare", error.message);

  float x[4][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}}, W[3][2] = {{1, 0}, {0, 1}, {1, 1}}, b[2] = {0, 0.5f};
  float logits[4][2];
  const int64_t xDims[] = {4, 3}, WDims[] = {3, 2}, bDims[] = {2}, yDims[] = {4, 2};
  const gnnc_binding in[] = {tensor("x", x[0], 2, xDims), tensor("c1.W", W[0], 2, WDims), tensor("c1.b", b, 1, bDims)};
  const gnnc_binding out[] = {tensor("logits", logits[0], 2, yDims)};
  if (api->run(context, graph, "forward", in, COUNT(in), out, COUNT(out), NULL, 0, NULL, &error))
    return failed("run", error.message);
  for (int node = 0; node < 4; ++node) /* 0.5000 0.9082, 0.7416 1.1667, 1.1498 1.9832, 1.4082 1.9082 */
    printf("node %d: %.4f %.4f\n", node, logits[node][0], logits[node][1]);
  api->free_graph(graph);
  api->close(context);
  return 0;
}
