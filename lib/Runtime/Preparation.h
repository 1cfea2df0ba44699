//===- Preparation.h - How a graph is prepared ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In order: spaces and maps; which functions are run; index arrays; sizes of buffers; blocks of steps; default inputs;
// the plan of the workspace. Spaces and maps live in scratch memory, of which only the index arrays are kept.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_PREPARATION_H
#define GNNC_RUNTIME_PREPARATION_H

#include "CUDA/Prepare.h"
#include "Graph.h"
#include "Tuning.h"

namespace gnnc::runtime {

class Preparation {
public:
  /// `before`: what the graph was before an update.
  Preparation(gnnc_graph &graph, cuda::Device *device, cuda::Handle stream, cuda::GraphBuilder *builder,
              const gnnc_graph *before, gnnc_error *error)
      : graph(graph), device(device), stream(stream), builder(builder), before(before), model(graph.model),
        header(graph.model.header()), error(error), memory(graph.memory), scratch(graph.memory.getAllocator()),
        topology(graph.model, scratch, error, builder), indices(topology),
        agreement(graph, graph.model, scratch, error) {}

  /// `earlier`: how making ready for it went.
  gnnc_status run(const gnnc_graph_desc &desc, const PrepareFor &with, gnnc_status earlier = GNNC_OK);

private:
  gnnc_status describe(const gnnc_graph_desc &desc, const gnnc_part_desc *part);
  gnnc_status makeAll();
  gnnc_status findCapacities(const gnnc_graph_desc &desc);
  gnnc_status makeIndices();
  gnnc_status noteEqualIndices();
  gnnc_status fillDevice();

  // PrepareFunctions.cpp: which functions are run.
  gnnc_status findFunctions(const gnnc_graph_desc &desc);
  void chooseFunctions();
  void take(int64_t other, int64_t own);
  bool isRun(int64_t function) const {
    return graph.functions[function].missing < 0 && graph.functions[function].isRun;
  }
  bool isUsed(int64_t step) const;

  // PrepareSteps.cpp: the blocks that steps are cut into, on a CPU.
  gnnc_status cutSteps();
  gnnc_status cutStep(int64_t step, Partition &result);

  // PrepareBuffers.cpp: where numbers are.
  gnnc_status sizeBuffers();
  gnnc_status fillDefaults();
  gnnc_status planWorkspace(int64_t number, PreparedFunction &result);

  gnnc_status outOfMemory(const char *what) { return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for %s", what); }

  gnnc_graph &graph;
  cuda::Device *device;        ///< null: the CPU
  cuda::Handle stream;         ///< of the device
  cuda::GraphBuilder *builder; ///< null: arrays are made on the host
  const gnnc_graph *before;    ///< null: it is prepared for the first time
  const Model &model;
  const table::Header &header;
  gnnc_error *error;
  Memory &memory;
  Memory scratch;
  Topology topology;
  Indices indices;
  Agreement agreement;
  Tuning tuning;
  PlanOrders *orders = nullptr; ///< null: none
  const int32_t **arrays = nullptr;
  /// Steps on a CPU of which no two are cut alike.
  int64_t *cut = nullptr;
  int64_t numCut = 0;
  int64_t *lengths = nullptr;
};

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_PREPARATION_H
