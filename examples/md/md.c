/* Molecular dynamics with a compiled force field: 256 atoms of argon in a periodic box, and what becomes of their
 * energy.
 *
 *   gnnc compile examples/md/argon.gnn --dtype f64 -o argon.so
 *   cc -O2 -Iinclude examples/md/md.c -ldl -lm -o md && ./md ./argon.so 2000
 *
 * A list of pairs holds for as long as no atom has moved by half of the skin; then it is made again, and the prepared
 * graph updated within its capacities. Units: Å, eV, and Dalton, so that time is in 10.18 fs.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "gnnc-c/gnnc.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 4, ATOMS = 4 * CELLS * CELLS * CELLS, PAIRS = ATOMS * 160 };
static const double kCell = 5.3, kCutoff = 8.5, kSkin = 0.6, kMass = 39.95, kStep = 0.2 /* 2 fs */, kWarmth = 0.00345;

static double positions[ATOMS][3], velocities[ATOMS][3], forces[ATOMS][3], listed[ATOMS][3], shifts[PAIRS][3], energy;
static int64_t src[PAIRS], dst[PAIRS], pairs;

static const gnnc_api *api;
static gnnc_context *context;
static gnnc_graph *graph;
static gnnc_error error;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "md: %s: %s\n", what, why);
  exit(1);
}

/* Atoms in the places of a crystal, with random velocities that add up to none. */
static void begin(void) {
  static const double kPlaces[4][3] = {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
  double sum[3] = {0, 0, 0};
  uint32_t random = 1;
  for (int atom = 0; atom < ATOMS; ++atom) {
    int cell = atom / 4, at[3] = {cell % CELLS, cell / CELLS % CELLS, cell / CELLS / CELLS};
    for (int d = 0; d < 3; ++d) {
      positions[atom][d] = (at[d] + kPlaces[atom % 4][d]) * kCell;
      for (int throws = 0; throws < 12; ++throws) { /* twelve of them are about normal */
        random = random * 1664525u + 1013904223u;
        velocities[atom][d] += (random / 4294967296.0 - 0.5) * sqrt(kWarmth / kMass);
      }
      sum[d] += velocities[atom][d] / ATOMS;
    }
  }
  for (int atom = 0; atom < ATOMS; ++atom)
    for (int d = 0; d < 3; ++d)
      velocities[atom][d] -= sum[d];
}

/* All pairs of an atom and the nearest image of another, as far as cutoff and skin: the box is wide enough for that. */
static void listPairs(void) {
  const double box = CELLS * kCell, reach = kCutoff + kSkin;
  pairs = 0;
  for (int i = 0; i < ATOMS; ++i)
    for (int j = 0; j < ATOMS; ++j) {
      double shift[3], square = 0;
      for (int d = 0; d < 3; ++d) {
        double distance = positions[j][d] - positions[i][d];
        shift[d] = -box * floor(distance / box + 0.5);
        square += (distance + shift[d]) * (distance + shift[d]);
      }
      if (i == j || square > reach * reach)
        continue;
      if (pairs == PAIRS)
        fail("pairs", "more than there is room for: has the box collapsed?");
      src[pairs] = j;
      dst[pairs] = i;
      memcpy(shifts[pairs++], shift, sizeof shift);
    }
  memcpy(listed, positions, sizeof positions);
}

static int hasMoved(void) {
  for (int atom = 0; atom < ATOMS; ++atom) {
    double square = 0;
    for (int d = 0; d < 3; ++d)
      square += pow(positions[atom][d] - listed[atom][d], 2);
    if (!(square <= kSkin * kSkin / 4)) /* also where it is no number */
      return 1;
  }
  return 0;
}

/* The graph of the list, prepared the first time and then updated. */
static void prepare(void) {
  const gnnc_extent extents[] = {{"node", ATOMS}, {"edge", pairs}}, room[] = {{"node", ATOMS}, {"edge", PAIRS}};
  const gnnc_index maps[] = {{"src", src, pairs, 64, GNNC_INDEX_EACH}, {"dst", dst, pairs, 64, GNNC_INDEX_EACH}};
  gnnc_graph_desc desc = {sizeof desc, 2, extents, 2, maps, graph ? 0 : 2, graph ? NULL : room, NULL, NULL};
  if (graph ? api->update(context, graph, &desc, &error) : api->prepare(context, &desc, &graph, &error))
    fail("prepare", error.message);
}

static gnnc_binding tensor(const char *name, void *data, int32_t ndim, const int64_t *shape) {
  gnnc_binding binding = {name, {data, 1, 0, ndim, 2, 64, 1, shape, NULL, 0}};
  return binding;
}

static void evaluate(void) {
  if (!graph || hasMoved()) {
    listPairs();
    prepare();
  }
  const int64_t ofAtoms[] = {ATOMS, 3}, ofPairs[] = {pairs, 3};
  const gnnc_binding in[] = {tensor("positions", positions, 2, ofAtoms), tensor("shifts", shifts, 2, ofPairs)};
  const gnnc_binding out[] = {tensor("energy", &energy, 0, NULL), tensor("forces", forces, 2, ofAtoms)};
  if (api->run(context, graph, "forward", in, 2, out, 2, NULL, 0, NULL, &error))
    fail("run", error.message);
}

static double kinetic(void) {
  double sum = 0;
  for (int atom = 0; atom < ATOMS; ++atom)
    for (int d = 0; d < 3; ++d)
      sum += 0.5 * kMass * velocities[atom][d] * velocities[atom][d];
  return sum;
}

static void push(double time) {
  for (int atom = 0; atom < ATOMS; ++atom)
    for (int d = 0; d < 3; ++d)
      velocities[atom][d] += time * forces[atom][d] / kMass;
}

int main(int argc, char **argv) {
  void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library)
    fail("usage: md MODEL.so STEPS", argc == 3 ? dlerror() : "two arguments expected");
  const gnnc_api *(*model)(void);
  *(void **)&model = dlsym(library, "gnnc_model");
  if (!model || model()->abi_version != GNNC_ABI_VERSION)
    fail(argv[1], "not a model of this version of gnnc");
  api = model();
  if (api->open(NULL, &context, &error))
    fail("open", error.message);
  begin();
  evaluate();
  const double first = energy + kinetic();
  double most = 0;
  for (int step = 1, steps = atoi(argv[2]); step <= steps; ++step) {
    push(kStep / 2);
    for (int atom = 0; atom < ATOMS; ++atom)
      for (int d = 0; d < 3; ++d)
        positions[atom][d] += kStep * velocities[atom][d];
    evaluate();
    push(kStep / 2);
    const double drift = fabs(energy + kinetic() - first) / ATOMS;
    if (!isfinite(drift))
      fail("energy", "it is no number any more");
    most = drift > most ? drift : most;
    if (step % (steps < 5 ? 1 : steps / 5) == 0)
      printf("step %d: %.0f K, potential %.6f eV, total %.6f eV\n", step, kinetic() / (1.5 * ATOMS * 8.617e-5), energy,
             energy + kinetic());
  }
  printf("the total energy was never off by more than %.1e eV per atom\n", most);
  api->free_graph(graph);
  api->close(context);
  return 0;
}
