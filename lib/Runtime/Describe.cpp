//===- Describe.cpp - What was chosen for a graph -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Describe.h"
#include "CUDA/Device.h"
#include "Processor.h"
#include "Tuning.h"
#include <stdarg.h>
#include <stdio.h>

namespace gnnc::runtime {

using namespace table;

namespace {

class Description {
public:
  Description(const gnnc_graph &graph, char *text, size_t capacity)
      : graph(graph), model(graph.model), header(graph.model.header()), text(text), capacity(capacity) {}

  size_t write();

private:
  void add(const char *format, ...) __attribute__((format(printf, 2, 3)));
  /// A name as a string of JSON.
  void name(int64_t offset);
  void field(const char *key, int64_t value) { add(", \"%s\": %lld", key, static_cast<long long>(value)); }
  template <typename Each> void list(const char *key, int64_t count, Each each);
  bool hasAlternatives(int64_t function) const;
  void function(int64_t number);
  int64_t sharedIndices(int64_t a, int64_t b, table::IndexKind kind) const;
  void worklist(int64_t map);
  void sweep(int64_t function, int64_t step);

  const gnnc_graph &graph;
  const Model &model;
  const Header &header;
  char *text;
  size_t capacity, length = 0;
};

} // namespace

void Description::add(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  bool fits = length < capacity;
  int more = vsnprintf(fits ? text + length : nullptr, fits ? capacity - length : 0, format, arguments);
  va_end(arguments);
  length += more > 0 ? static_cast<size_t>(more) : 0;
}

void Description::name(int64_t offset) {
  add("\"");
  for (const char *c = model.name(offset); *c; ++c)
    add(*c == '"' || *c == '\\' ? "\\%c" : static_cast<unsigned char>(*c) < ' ' ? "\\u%04x" : "%c", *c);
  add("\"");
}

/// Those of `count` for which `each` gives true; it is called once to ask and once to write.
template <typename Each> void Description::list(const char *key, int64_t count, Each each) {
  add(", \"%s\": [", key);
  bool any = false;
  for (int64_t i = 0; i < count; ++i)
    if (each(i, false)) {
      add(any ? ", {" : "{");
      each(i, true);
      add("}");
      any = true;
    }
  add("]");
}

bool Description::hasAlternatives(int64_t function) const {
  for (int64_t i = 0; i < header.numAlternatives; ++i)
    if (model.alternative(i).insteadOf == function)
      return true;
  return false;
}

void Description::function(int64_t number) {
  const PreparedFunction &prepared = graph.functions[number];
  const int64_t *extents = graph.capacities ? graph.capacities : graph.extents;
  add("\"function\": ");
  name(model.function(number).name);
  add(", \"chosen\": ");
  name(model.function(prepared.chosen).name);
  add(", \"by\": \"%s\"", prepared.isTuned ? "tuning" : graph.capacities ? "capacity" : "cost");
  list("costs", header.numAlternatives + 1, [&](int64_t i, bool writes) {
    // The function itself comes first.
    const AlternativeRec *own = nullptr;
    for (int64_t k = 0; k < header.numAlternatives && !own; ++k)
      own = model.alternative(k).insteadOf == number ? &model.alternative(k) : nullptr;
    const AlternativeRec &record = i == 0 ? *own : model.alternative(i - 1);
    if (record.insteadOf != number || !writes)
      return record.insteadOf == number;
    add("\"function\": ");
    name(model.function(i == 0 ? number : record.function).name);
    double cost = i == 0 ? evaluate(model, record.insteadCostAt, record.numInsteadTerms, extents)
                         : evaluate(model, record.costAt, record.numTerms, extents);
    add(", \"cost\": %.0f", cost);
    if (i > 0)
      field("percent", record.percent);
    return true;
  });
}

/// How many arrays of a kind are one for two maps, as on graphs that have each edge in both directions. What is sorted
/// is what maps lead to besides the owners.
int64_t Description::sharedIndices(int64_t a, int64_t b, IndexKind kind) const {
  auto isOf = [&](int64_t i, int64_t map) {
    return model.index(i).map == map && model.index(i).kind == kind && model.index(i).other != map &&
           graph.equalIndices[i] >= 0;
  };
  int64_t count = 0;
  for (int64_t i = 0; i < header.numIndices; ++i)
    for (int64_t k = 0; isOf(i, a) && k < header.numIndices; ++k)
      count += isOf(k, b) && graph.equalIndices[i] == graph.equalIndices[k];
  return count;
}

void Description::worklist(int64_t map) {
  const cuda::DeviceWorklist &of = graph.device->worklists[map];
  add("\"map\": ");
  name(model.map(map).name);
  field("owners", graph.extents[model.map(map).to]);
  field("members", graph.extents[model.map(map).from]);
  field("chunk", of.chunk);
  field("items", of.numItems);
  field("heavy_owners", of.numHeavy);
  field("heavy_items", of.numSlots);
  add(", \"by_size\": %s, \"at_least\": [", of.bySize ? "true" : "false");
  for (int k = 0; of.bySize && k < cuda::kNumSizes; ++k)
    add(k ? ", %lld" : "%lld", static_cast<long long>(of.largest[k]));
  add("]");
}

void Description::sweep(int64_t function, int64_t step) {
  const cuda::DeviceGraph &device = *graph.device;
  Schedules schedules = schedulesOf(model, step);
  const LaunchRec &first = model.launch(schedules.first);
  add("\"kernel\": ");
  name(model.step(step).name);
  add(", \"function\": ");
  name(model.function(function).name);
  add(", \"map\": ");
  name(model.map(first.symbol).name);
  add(", \"by\": \"%s\"", device.sizes[schedules.first].isTuned   ? "tuning"
                          : device.worklists[first.symbol].bySize ? "size"
                                                                  : "average");
  list("launches", schedules.count, [&](int64_t i, bool writes) {
    if (!writes)
      return true;
    int64_t launch = schedules.first + i;
    add("\"kernel\": ");
    name(model.step(step).name);
    field("least", device.sizes[launch].least);
    field("below", device.sizes[launch].below);
    field("items", device.items[launch].count);
    field("blocks", device.blocks[launch]);
    return true;
  });
}

size_t Description::write() {
  if (capacity > 0)
    text[0] = 0;
  add("{\"digest\": \"%016llx\", \"device\": \"%s\"", static_cast<unsigned long long>(header.digest),
      graph.device ? "cuda" : "cpu");
  if (graph.device) {
    const cuda::Device &device = graph.device->device;
    field("architecture", device.isPlanned() ? 0 : device.tunedAs());
    field("processors", device.processors());
    if (!device.isPlanned())
      add(device.loadedCode() ? ", \"code\": \"sm_%lld\"" : ", \"code\": \"PTX\"",
          static_cast<long long>(device.loadedCode()));
  } else if (graph.variant) {
    add(", \"code\": \"%s\"", nameOfLevel(graph.variant->level));
  }
  list("extents", header.numSpaces, [&](int64_t i, bool writes) {
    if (!writes)
      return true;
    add("\"space\": ");
    name(model.space(i).name);
    field("extent", graph.extents[i]);
    if (graph.capacities)
      field("capacity", graph.capacities[i]);
    return true;
  });
  list("functions", header.numFunctions, [&](int64_t i, bool writes) {
    bool wanted = graph.functions[i].missing < 0 && hasAlternatives(i);
    if (wanted && writes)
      function(i);
    return wanted;
  });
  list("shared_indices", header.numMaps * header.numMaps, [&](int64_t i, bool writes) {
    int64_t a = i / header.numMaps, b = i % header.numMaps;
    int64_t pointers = a < b ? sharedIndices(a, b, IndexKind::Pointers) : 0;
    int64_t neighbours = a < b ? sharedIndices(a, b, IndexKind::Sorted) : 0;
    if (writes) {
      add("\"maps\": [");
      name(model.map(a).name);
      add(", ");
      name(model.map(b).name);
      add("]");
      field("pointers", pointers);
      field("neighbours", neighbours);
    }
    return pointers + neighbours > 0;
  });
  if (graph.device) {
    list("worklists", header.numMaps, [&](int64_t i, bool writes) {
      bool wanted = graph.device->worklists[i].chunk > 0;
      if (wanted && writes)
        worklist(i);
      return wanted;
    });
    list("sweeps", header.numSteps, [&](int64_t i, bool writes) {
      int64_t of = -1;
      for (int64_t f = 0; f < header.numFunctions; ++f)
        if (const FunctionRec &record = model.function(f);
            i >= record.firstStep && i < record.firstStep + record.numSteps)
          of = f;
      bool wanted =
          of >= 0 && graph.functions[of].missing < 0 && graph.functions[of].isRun && schedulesOf(model, i).count > 0;
      if (wanted && writes)
        sweep(of, i);
      return wanted;
    });
  }
  add("}");
  return length;
}

size_t describeChoices(const gnnc_graph &graph, char *text, size_t capacity) {
  return Description(graph, text, capacity).write();
}

} // namespace gnnc::runtime
