//===- Runner.cpp - Runs a model on graphs --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <stdexcept>

using namespace gnnc::triton;

/// What tensors in one piece of memory are aligned to: more than any device asks for.
static constexpr size_t kAlignment = 256;

static size_t align(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// A graph and a call on it, freed with this.
struct Runner::Prepared {
  const gnnc_api &api;
  gnnc_graph *graph = nullptr;
  gnnc_call *call = nullptr;

  explicit Prepared(const gnnc_api &api) : api(api) {}
  ~Prepared() {
    api.free_call(call);
    if (graph)
      api.free_graph(graph);
  }
};

const std::vector<Runner::Result> &Runner::run(const Graph &graph, const std::vector<bool> &wanted) {
  Prepared prepared(context.api());
  try {
    start(graph, wanted, prepared);
  } catch (...) {
    // What was launched may still be using the graph.
    gnnc_error ignored;
    if (context.isDevice())
      context.api().synchronize(context.get(), context.stream(), &ignored);
    throw;
  }
  context.synchronize();
  return results;
}

void Runner::start(const Graph &graph, const std::vector<bool> &wanted, Prepared &prepared) {
  const gnnc_api &api = context.api();
  gnnc_error error;

  std::vector<gnnc_extent> extents;
  for (size_t i = 0; i < graph.extents.size(); ++i)
    extents.push_back({signature.spaces()[i].name.c_str(), graph.extents[i]});
  std::vector<gnnc_index> indices;
  static const int32_t none = 0; // A list without elements has no address.
  for (size_t i = 0; i < graph.maps.size(); ++i) {
    const std::vector<int32_t> &targets = graph.maps[i];
    indices.push_back({signature.maps()[i].name.c_str(), targets.empty() ? &none : targets.data(),
                       static_cast<int64_t>(targets.size()), 32, GNNC_INDEX_EACH});
  }
  gnnc_graph_desc desc = {};
  desc.struct_size = sizeof desc;
  desc.num_extents = static_cast<int32_t>(extents.size());
  desc.extents = extents.data();
  desc.num_indices = static_cast<int32_t>(indices.size());
  desc.indices = indices.data();
  desc.stream = context.stream();
  check(api.prepare(context.get(), &desc, &prepared.graph, &error), error);

  std::vector<const char *> inputNames, outputNames;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].isGiven)
      inputNames.push_back(signature.inputs()[i].name.c_str());
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i])
      outputNames.push_back(signature.outputs()[i].name.c_str());
  gnnc_call_desc callDesc = {};
  callDesc.struct_size = sizeof callDesc;
  callDesc.num_inputs = static_cast<int32_t>(inputNames.size());
  callDesc.inputs = inputNames.data();
  callDesc.num_outputs = static_cast<int32_t>(outputNames.size());
  callDesc.outputs = outputNames.data();
  size_t workspaceBytes = 0;
  check(api.make_call(prepared.graph, &callDesc, &prepared.call, &workspaceBytes, &error), error);

  // Inputs: on a CPU where they are.
  std::vector<void *> addresses;
  size_t inputBytes = kAlignment;
  for (const Graph::Values &values : graph.inputs)
    inputBytes += align(values.bytes);
  char *to = context.isDevice() ? static_cast<char *>(deviceInputs.reserve(inputBytes)) : nullptr;
  for (const Graph::Values &values : graph.inputs) {
    if (!values.isGiven)
      continue;
    if (context.isDevice()) {
      context.copy(to, true, values.data, false, values.bytes);
      addresses.push_back(to);
      to += align(values.bytes);
    } else {
      const void *from = values.bytes ? static_cast<const void *>(values.data) : &none;
      addresses.push_back(const_cast<void *>(from));
    }
  }

  size_t outputBytes = kAlignment;
  results.assign(wanted.size(), {});
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i])
      continue;
    const Value &output = signature.outputs()[i];
    if (!output.place.isWhole())
      results[i].rows = api.extent(prepared.graph, output.place.name.c_str());
    results[i].bytes = output.rowBytes() * static_cast<size_t>(results[i].rows);
    outputBytes += align(results[i].bytes);
  }
  char *memory = static_cast<char *>(outputs.reserve(outputBytes)), *from = memory;
  if (context.isDevice() && hostOutputs.size() < outputBytes)
    hostOutputs.resize(outputBytes);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) {
      addresses.push_back(from);
      results[i].data = context.isDevice() ? hostOutputs.data() + (from - memory) : from;
      from += align(results[i].bytes);
    }

  void *work = workspace.reserve(workspaceBytes + kAlignment);
  check(api.run_call(context.get(), prepared.call, addresses.data(), work, workspace.capacity(), context.stream(),
                     &error),
        error);
  if (context.isDevice())
    context.copy(hostOutputs.data(), false, memory, true, static_cast<size_t>(from - memory));
}
