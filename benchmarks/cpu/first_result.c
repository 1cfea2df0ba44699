/* How long a C program takes to the first result of a model, and how much memory it then holds.
 *
 *   first_result MODEL.so BUNDLE THREADS BEGIN
 *
 * BUNDLE has the graph, the inputs and the shapes of the outputs, as cold_start.py writes it. BEGIN is what the
 * caller's monotonic clock said when it started this program, in nanoseconds. Prints one line of JSON.
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "gnnc-c/gnnc.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { EXTENT = 0, EACH = 1, ROWS = 2, INPUT = 3, OUTPUT = 4, MOST = 64 };

typedef struct record {
  char name[56];
  int32_t kind, bits;
  int64_t ndim, shape[3], offset;
} record;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

static int failed(const char *what, const char *why) {
  fprintf(stderr, "first_result: %s: %s\n", what, why);
  return 1;
}

/* A line of /proc/self/status, in KiB. */
static long status(const char *key) {
  char line[256];
  long value = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, key, strlen(key)) == 0)
      value = strtol(line + strlen(key) + 1, NULL, 10);
  if (file)
    fclose(file);
  return value;
}

static gnnc_binding bind(const record *r, void *data) {
  gnnc_binding binding = {r->name, {data, 1, 0, (int32_t)r->ndim, 2, (uint8_t)r->bits, 1, r->shape, NULL, 0}};
  return binding;
}

int main(int argc, char **argv) {
  double entered = now();
  if (argc != 5)
    return failed("usage", "first_result MODEL.so BUNDLE THREADS BEGIN");
  int file = open(argv[2], O_RDONLY);
  struct stat about;
  if (file < 0 || fstat(file, &about) != 0)
    return failed(argv[2], "cannot be read");
  char *bytes = mmap(NULL, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED)
    return failed(argv[2], "cannot be mapped");
  int64_t count = *(const int64_t *)bytes;
  const record *records = (const record *)(bytes + 8);

  gnnc_extent extents[MOST];
  gnnc_index indices[MOST];
  gnnc_binding inputs[MOST], outputs[MOST];
  int32_t numExtents = 0, numIndices = 0, numInputs = 0, numOutputs = 0;
  for (int64_t i = 0; i < count && i < MOST; ++i) {
    const record *r = &records[i];
    void *data = bytes + r->offset;
    if (r->kind == EXTENT)
      extents[numExtents++] = (gnnc_extent){r->name, r->shape[0]};
    else if (r->kind == EACH || r->kind == ROWS)
      indices[numIndices++] = (gnnc_index){r->name, data, r->shape[0], r->bits, r->kind == ROWS};
    else if (r->kind == INPUT)
      inputs[numInputs++] = bind(r, data);
    else {
      int64_t size = r->bits / 8;
      for (int64_t axis = 0; axis < r->ndim; ++axis)
        size *= r->shape[axis];
      outputs[numOutputs++] = bind(r, malloc(size));
    }
  }

  double began = now();
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return failed(argv[1], dlerror());
  const gnnc_api *(*model)(void);
  *(void **)&model = dlsym(library, "gnnc_model");
  if (!model || model()->abi_version != GNNC_ABI_VERSION)
    return failed(argv[1], "not a model of this version of gnnc");
  const gnnc_api *api = model();
  double loaded = now();
  gnnc_error error;
  gnnc_context *context;
  gnnc_options options = {sizeof options, atoi(argv[3]), NULL, 0, 0, 0, 0, NULL, NULL};
  if (api->open(&options, &context, &error))
    return failed("open", error.message);
  double opened = now();
  gnnc_graph_desc desc = {sizeof desc, numExtents, extents, numIndices, indices, 0, NULL, NULL, NULL};
  gnnc_graph *graph;
  if (api->prepare(context, &desc, &graph, &error))
    return failed("prepare", error.message);
  double prepared = now();
  if (api->run(context, graph, "forward", inputs, numInputs, outputs, numOutputs, NULL, 0, NULL, &error))
    return failed("run", error.message);
  double ran = now();
  printf("{\"load_ms\": %.4f, \"open_ms\": %.4f, \"prepare_ms\": %.4f, \"first_run_ms\": %.4f, \"in_main_ms\": %.4f, "
         "\"since_start_ms\": %.4f, \"resident_kib\": %ld, \"peak_kib\": %ld, \"first_number\": %.6f}\n",
         loaded - began, opened - loaded, prepared - opened, ran - prepared, ran - entered,
         ran - strtod(argv[4], NULL) * 1e-6, status("VmRSS:"), status("VmHWM:"),
         (double)*(const float *)outputs[0].tensor.data);
  api->free_graph(graph);
  api->close(context);
  return 0;
}
