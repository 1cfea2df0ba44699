//===- Graph.cpp - A prepared graph ---------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "Preparation.h"

namespace gnnc::runtime {

using namespace table;

/// What is large, or there already, is prepared on the device; the results are the same.
static bool belongsOnDevice(const gnnc_graph_desc &desc) {
  constexpr int64_t kMany = 1 << 15;
  int64_t total = 0;
  for (int32_t i = 0; desc.indices && i < desc.num_indices; ++i) {
    if (desc.indices[i].format & GNNC_INDEX_ON_DEVICE)
      return true;
    total += desc.indices[i].length;
  }
  return total >= kMany;
}

static gnnc_status prepareOnDevice(gnnc_graph &graph, const gnnc_graph_desc &desc, const PrepareFor &with,
                                   cuda::Handle stream, const gnnc_graph *before, gnnc_error *error) {
  Memory lists(graph.memory.getAllocator());
  cuda::GraphBuilder builder(*with.device, stream, lists, error);
  gnnc_status status = builder.start();
  return Preparation(graph, with.device, stream, &builder, before, error).run(desc, with, status);
}

// Once for a graph: made for size.
[[gnu::cold]] static gnnc_status prepareAs(const Model &model, const gnnc_allocator &allocator,
                                           const gnnc_graph_desc &desc, gnnc_graph *&graph, const gnnc_graph *before,
                                           gnnc_error *error, const PrepareFor &with) {
  cuda::Device *device = with.device;
  gnnc_graph *result = create<gnnc_graph>(allocator, model, allocator);
  if (!result)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a graph");
  bool isOurs = device && !device->isPlanned() && desc.struct_size == sizeof desc;
  cuda::Handle stream = nullptr;
  gnnc_status status = isOurs ? device->streamFor(desc.stream, stream, error) : GNNC_OK;
  // What has failed so far is told to the other ranks.
  status = !status && isOurs && belongsOnDevice(desc)
               ? prepareOnDevice(*result, desc, with, stream, before, error)
               : Preparation(*result, device, stream, nullptr, before, error).run(desc, with, status);
  if (status) {
    destroy(result, allocator);
    return status;
  }
  graph = result;
  return GNNC_OK;
}

gnnc_status prepareGraph(const Model &model, const gnnc_allocator &allocator, const gnnc_graph_desc &desc,
                         gnnc_graph *&graph, gnnc_error *error, const PrepareFor &with) {
  return prepareAs(model, allocator, desc, graph, nullptr, error, with);
}

template <typename T> static void exchange(T &a, T &b) {
  T other = a;
  a = b;
  b = other;
}

gnnc_status updateGraph(gnnc_graph &graph, const gnnc_graph_desc &desc, gnnc_error *error, cuda::Device *device) {
  if (graph.ranks.size > 1)
    return fail(error, GNNC_UNSUPPORTED, "update: expected a graph of one rank, found one of %d", graph.ranks.size);
  // Without root spaces there is nothing that a caller could name a capacity of, and nothing that changes.
  const Model &model = graph.model;
  bool isFixed = true;
  for (int64_t i = 0; i < model.header().numSpaces; ++i)
    isFixed = isFixed && model.space(i).kind != SpaceKind::Root;
  if (!graph.capacities && !isFixed)
    return fail(error, GNNC_INVALID_ARGUMENT, "update: the graph was prepared without capacities");
  if (desc.struct_size == sizeof desc && desc.num_capacities != 0)
    return fail(error, GNNC_INVALID_ARGUMENT, "update: expected no capacities beside those of prepare, found %d",
                desc.num_capacities);
  gnnc_graph *fresh;
  const gnnc_allocator &allocator = graph.memory.getAllocator();
  PrepareFor with{device};
  if (gnnc_status status = prepareAs(graph.model, allocator, desc, fresh, isFixed ? nullptr : &graph, error, with))
    return status;
  if (isFixed) {
    destroy(fresh, gnnc_allocator(allocator));
    return GNNC_OK;
  }
  graph.memory.exchange(fresh->memory);
  exchange(graph.extents, fresh->extents);
  exchange(graph.capacities, fresh->capacities);
  exchange(graph.equalIndices, fresh->equalIndices);
  exchange(graph.buffers, fresh->buffers);
  exchange(graph.steps, fresh->steps);
  exchange(graph.functions, fresh->functions);
  exchange(graph.device, fresh->device);
  ++graph.version;
  destroy(fresh, gnnc_allocator(allocator));
  return GNNC_OK;
}

} // namespace gnnc::runtime

gnnc_graph::~gnnc_graph() {
  if (ranks.exchanges)
    gnnc::runtime::destroy(ranks.exchanges, gnnc_allocator(memory.getAllocator()));
  if (device)
    gnnc::runtime::destroy(device, gnnc_allocator(memory.getAllocator()));
}
