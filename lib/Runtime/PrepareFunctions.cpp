//===- PrepareFunctions.cpp - Which functions a graph runs ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Preparation.h"

namespace gnnc::runtime {

using namespace table;

/// Which functions can be run. The first one is the model's outputs: without it a graph is of no use.
gnnc_status Preparation::findFunctions(const gnnc_graph_desc &desc) {
  graph.functions = memory.array<PreparedFunction>(header.numFunctions);
  if (!graph.functions)
    return outOfMemory("the list of functions");
  for (int64_t i = 0; i < header.numFunctions; ++i) {
    const FunctionRec &record = model.function(i);
    PreparedFunction function;
    for (int64_t k = 0; k < record.numNeeds && function.missing < 0; ++k)
      if (int64_t need = model.list(record.needsAt)[k]; topology.isMissing(need))
        function.missing = topology.causeOf(need);
    if (i == 0 && function.missing >= 0)
      return topology.reportMissing(function.missing);
    function.chosen = i;
    graph.functions[i] = function;
  }
  if (desc.tuning) {
    int64_t architecture = device ? device->tunedAs() : kOnCPU;
    if (gnnc_status status = readTuning(model, desc.tuning, architecture,
                                        graph.capacities ? graph.capacities : graph.extents, scratch, tuning, error))
      return status;
  }
  return GNNC_OK;
}

double evaluate(const Model &model, int64_t at, int64_t numTerms, const int64_t *extents) {
  double sum = 0;
  for (const int64_t *term = model.list(at); numTerms > 0; --numTerms, term += 2)
    sum += static_cast<double>(term[1]) * (term[0] < 0 ? 1 : static_cast<double>(extents[term[0]]));
  return sum;
}

/// Runs function `other` in place of `own`.
void Preparation::take(int64_t other, int64_t own) {
  graph.functions[graph.functions[own].chosen].isRun = false;
  graph.functions[other].isRun = true;
  graph.functions[own].chosen = other;
}

/// Of a function and its alternatives the one that costs least on this graph, or at its capacities; or what a tuning or
/// the graph before its update has.
void Preparation::chooseFunctions() {
  const int64_t *extents = graph.capacities ? graph.capacities : model.ranks ? agreement.extents() : graph.extents;
  auto costOf = [&](int64_t at, int64_t count) { return evaluate(model, at, count, extents); };
  for (int64_t i = 0; i < header.numAlternatives; ++i) {
    const AlternativeRec &record = model.alternative(i);
    PreparedFunction &own = graph.functions[record.insteadOf], &other = graph.functions[record.function];
    other.isRun = false;
    if (own.missing >= 0 || other.missing >= 0)
      continue;
    if (own.chosen == record.insteadOf)
      own.cost = costOf(record.insteadCostAt, record.numInsteadTerms) * static_cast<double>(record.percent) / 100;
    double cost = costOf(record.costAt, record.numTerms);
    if (cost < own.cost) {
      take(record.function, record.insteadOf);
      own.cost = cost;
    }
  }
  for (int64_t i = 0; i < header.numFunctions; ++i) {
    PreparedFunction &own = graph.functions[i];
    int64_t wanted = before ? before->functions[i].chosen : tuning.functions ? tuning.functions[i] : -1;
    if (wanted < 0 || own.missing >= 0 || graph.functions[wanted].missing >= 0 ||
        graph.functions[own.chosen].missing >= 0)
      continue;
    if (own.chosen != i || wanted != i)
      take(wanted, i);
    own.isTuned = before ? before->functions[i].isTuned : true;
  }
}

bool Preparation::isUsed(int64_t step) const {
  for (int64_t i = 0; i < header.numFunctions; ++i) {
    const FunctionRec &record = model.function(i);
    if (step >= record.firstStep && step < record.firstStep + record.numSteps)
      return isRun(i);
  }
  return false;
}

} // namespace gnnc::runtime
