//===- Instance.cpp - One instance of a model, on one device --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "Request.h"

#include <chrono>
#include <deque>

using namespace gnnc::triton;

static uint64_t now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

Instance::Instance(Model &model, TRITONBACKEND_ModelInstance *instance) : model(model), instance(instance) {
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  int32_t device = 0;
  check(TRITONBACKEND_ModelInstanceKind(instance, &kind));
  check(TRITONBACKEND_ModelInstanceDeviceId(instance, &device));
  bool isDevice = kind == TRITONSERVER_INSTANCEGROUPKIND_GPU;
  if (isDevice && !model.signature().hasDeviceCode())
    throw std::runtime_error("model '" + model.name() +
                             "' has no code for GPUs: compile it with --target cpu,cuda, or " +
                             "write instance_group [ { kind: KIND_CPU } ]");
  context = std::make_unique<Context>(model.library(), isDevice ? device : -1, model.threads());
  runner = std::make_unique<Runner>(model.signature(), *context);
  joins = model.joins(*runner);
}

/// Graphs of several requests, as calls of the model.
struct Instance::Batch {
  struct Item {
    Request *request;
    const Graph *graph;
    size_t number; ///< of the graph within the request
  };
  Instance &instance;
  uint64_t executeStart, computeStart = 0, computeEnd = 0;

  /// Runs graphs in one call, and gives each request what is its own. False after a failure, which is in `why`.
  bool run(const std::vector<Item> &items, std::string &why);
  void runAll(std::vector<Item> items);
};

bool Instance::Batch::run(const std::vector<Item> &items, std::string &why) {
  const Signature &signature = instance.model.signature();
  uint64_t start = now();
  try {
    std::vector<bool> wanted(signature.outputs().size());
    std::vector<const Graph *> graphs;
    for (const Item &item : items) {
      graphs.push_back(item.graph);
      for (size_t i = 0; i < wanted.size(); ++i)
        wanted[i] = wanted[i] || item.request->wanted()[i];
    }
    Graph joined;
    if (graphs.size() > 1)
      joined = join(signature, graphs);
    const std::vector<Runner::Result> &results = instance.runner->run(graphs.size() > 1 ? joined : *graphs[0], wanted);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Value &output = signature.outputs()[i];
      const char *at = results[i].data;
      for (const Item &item : items) {
        int64_t rows = graphs.size() > 1 ? item.graph->extents[*output.place.root] : results[i].rows;
        size_t bytes = output.rowBytes() * static_cast<size_t>(rows);
        if (item.request->wanted()[i])
          item.request->add(i, item.number, rows, at, bytes);
        at += bytes;
      }
    }
  } catch (const std::exception &error) {
    why = error.what();
    return false;
  }
  uint64_t end = now();
  logFailure(
      TRITONBACKEND_ModelInstanceReportBatchStatistics(instance.instance, items.size(), executeStart, start, end, end));
  return true;
}

void Instance::Batch::runAll(std::vector<Item> items) {
  while (!items.empty()) {
    std::vector<Item> together = {items[0]}, others;
    for (size_t i = 1; i < items.size(); ++i) {
      bool fits = instance.joins && agree(instance.model.signature(), *items[0].graph, *items[i].graph);
      (fits ? together : others).push_back(items[i]);
    }
    std::string why;
    if (!run(together, why)) {
      // Each on its own: it may be one of them, or too little memory for all.
      for (const Item &item : together)
        if (together.size() == 1 || !run({item}, why))
          item.request->fail(TRITONSERVER_ERROR_INTERNAL, why);
    }
    items = std::move(others);
  }
}

void Instance::execute(TRITONBACKEND_Request **requests, uint32_t count) {
  Batch batch{*this, now()};
  // Whatever fails here, such as too little memory, leaves all requests to the server: none has been answered.
  std::deque<Request> all;
  for (uint32_t i = 0; i < count; ++i)
    all.emplace_back(requests[i], model.signature(), *context);
  // From here on each is answered once and given back once.
  try {
    std::vector<Batch::Item> items;
    for (Request &request : all) {
      request.read(model.reader(), model.isBatched());
      for (size_t i = 0; i < request.graphs().size(); ++i)
        items.push_back({&request, &request.graphs()[i], i});
    }
    batch.computeStart = now();
    batch.runAll(std::move(items));
  } catch (const std::exception &error) {
    for (Request &request : all)
      request.fail(error);
  }
  batch.computeEnd = now();
  if (!batch.computeStart)
    batch.computeStart = batch.computeEnd;
  for (Request &request : all)
    request.respond();
  uint64_t end = now();
  for (Request &request : all) {
    logFailure(TRITONBACKEND_ModelInstanceReportStatistics(
        instance, request.get(), !request.hasFailed(), batch.executeStart, batch.computeStart, batch.computeEnd, end));
    request.release();
  }
}
