//===- Graph.h - A prepared graph -------------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Everything about a graph that `run` needs: extents, index arrays, blocks of every step, sizes of buffers, and the
// plan of the workspace. Never written after prepare, so any number of threads may read it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_GRAPH_H
#define GNNC_RUNTIME_GRAPH_H

#include "MemoryPlan.h"
#include "Partition.h"
#include "Ranks.h"

namespace gnnc::runtime {

struct PreparedBuffer {
  int64_t rows = 0; ///< extent of its space; 1 if shared
  int64_t bytes = 0;
  int64_t room = 0;           ///< bytes that are kept for it: for the graph's capacities, if it has them
  int64_t offset = 0;         ///< Arena: from the start of the arena
  const void *fill = nullptr; ///< optional inputs: what stands in for an absent one
};

struct PreparedStep {
  Partition partition;
  const int32_t *const *indices = nullptr;
  const int64_t *partials = nullptr; ///< for each merge, offset of its partial results from the start of the arena
  int64_t blockMemory = 0;           ///< offset of its blocks' memory likewise
};

struct PreparedFunction {
  int64_t missing = -1; ///< a root space (2 s) or map (2 m + 1) it needs and was not given; -1: none, it can be run
  int64_t chosen = -1;  ///< the function that runs in its place on this graph, mostly itself
  bool isRun = true;    ///< false: another one was chosen
  bool isTuned = false; ///< a tuning chose
  double cost = 0;      ///< of the chosen one, while there is a choice
  // The workspace: pointers of all its buffers, of one step's buffers, of one step's partial results; then the arena.
  int64_t stepBuffersAt = 0;
  int64_t stepPartialsAt = 0;
  int64_t stepIndicesAt = 0; ///< addresses of one step's index arrays, where some are in the arena
  int64_t stepExtentsAt = 0; ///< extents of all spaces, where steps choose some
  int64_t arenaAt = 0;
  int64_t workspaceBytes = 0;
};

} // namespace gnnc::runtime

namespace gnnc::runtime::cuda {
class Device;
struct DeviceGraph;
} // namespace gnnc::runtime::cuda

struct gnnc_graph {
  gnnc_graph(const gnnc::runtime::Model &model, const gnnc_allocator &allocator) : model(model), memory(allocator) {}
  ~gnnc_graph();

  gnnc::runtime::Model model;
  gnnc::runtime::Memory memory;
  const gnnc::table::Variant *variant = nullptr; ///< the context's code for CPUs; null: a device's, or none
  int64_t *extents = nullptr;
  const int64_t *capacities = nullptr; ///< for each space; null: it never changes
  int64_t version = 0;                 ///< counts updates
  gnnc::runtime::Ranks ranks;
  int64_t *equalIndices = nullptr; ///< for each index of the table, the first whose array is its own; -1: not used
  gnnc::runtime::PreparedBuffer *buffers = nullptr;
  gnnc::runtime::PreparedStep *steps = nullptr;
  gnnc::runtime::PreparedFunction *functions = nullptr;
  gnnc::runtime::cuda::DeviceGraph *device = nullptr; ///< null: for the CPU
};

namespace gnnc::runtime {

/// What a graph is prepared for besides its description.
struct PrepareFor {
  cuda::Device *device = nullptr;       ///< null: the CPU
  const gnnc_part_desc *part = nullptr; ///< null: one rank alone
  bool isPlanned = false;               ///< nothing will be run
  PlanOrders *orders = nullptr;         ///< null: what other graphs have learnt is not asked for
};

/// Validates and indexes a graph. On failure nothing stays allocated.
gnnc_status prepareGraph(const Model &model, const gnnc_allocator &allocator, const gnnc_graph_desc &desc,
                         gnnc_graph *&graph, gnnc_error *error, const PrepareFor &with = {});

/// Brings a graph with capacities to another description. On failure it stays as it was.
gnnc_status updateGraph(gnnc_graph &graph, const gnnc_graph_desc &desc, gnnc_error *error, cuda::Device *device);

/// A sum of the table's terms on a graph with these extents.
double evaluate(const Model &model, int64_t at, int64_t numTerms, const int64_t *extents);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_GRAPH_H
