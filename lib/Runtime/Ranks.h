//===- Ranks.h - Graphs divided among ranks ---------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks run the same steps, each on its part of a graph. Whatever decides which steps these are, and how many rows go
// from where to where, is agreed when the parts are prepared.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_RANKS_H
#define GNNC_RUNTIME_RANKS_H

#include "Error.h"
#include "Exchanges.h"
#include "Memory.h"
#include "Model.h"
#include "Parts.h"

struct gnnc_graph;

namespace gnnc::runtime {

struct Call;

struct Ranks {
  gnnc_collectives with = {}; ///< the functions are null where there is nobody to reach
  int32_t rank = 0, size = 1;
  const int64_t *const *counts = nullptr; ///< for each space, elements for (of) each rank; null: it is not transferred

  Exchanges *exchanges = nullptr; ///< null: no transfer goes on meanwhile, or on a stream

  bool areReached() const { return size > 1 && with.exchange; }
};

inline bool isCollective(const table::StepRec &step) { return step.kind >= table::StepKind::Transfer; }
inline bool isTransfer(const table::StepRec &step) {
  return step.kind == table::StepKind::Transfer || step.kind == table::StepKind::Start;
}

/// What ranks tell each other while each of them prepares its part. Only for models that have Model::ranks.
class Agreement {
public:
  Agreement(gnnc_graph &graph, const Model &model, Memory &scratch, gnnc_error *error)
      : graph(graph), model(model), scratch(scratch), error(error) {}

  /// Who the ranks are. After a failure the others cannot be told.
  GNNC_OF_PART gnnc_status read(const gnnc_part_desc &part, bool isPlanned, bool isOnDevice);
  /// Ranks have no capacities and no tuning.
  GNNC_OF_PART gnnc_status checkDesc(const gnnc_graph_desc &desc);
  /// After the graph's extents and functions are known. Without a part, the rank is alone.
  GNNC_OF_PART gnnc_status findCounts(const gnnc_part_desc *part);
  /// `status` is this rank's; the result is everybody's. Afterwards a function is missing if a rank misses something of
  /// it, and all ranks have the same `extents`.
  GNNC_OF_PART gnnc_status begin(gnnc_status status);
  /// The extents of a rank's part on average, which choices are made by.
  const int64_t *extents() const { return means; }
  gnnc_status end(gnnc_status status) { return share(status, "prepare"); }

private:
  gnnc_status readCounts(const gnnc_part_desc &part);
  gnnc_status checkTransfer(const table::StepRec &step);
  GNNC_OF_PART gnnc_status share(gnnc_status status, const char *when);
  gnnc_status compare();
  gnnc_status compareCounts(const int64_t *all);
  gnnc_status makeExchanges();
  bool isTransferred(int64_t space) const;

  gnnc_graph &graph;
  const Model &model;
  Memory &scratch;
  gnnc_error *error;
  char *saved = nullptr;  ///< for what all ranks say of how they fare
  int64_t *own = nullptr; ///< what this one says of its part,
  int64_t *all = nullptr; ///< and what all do
  int64_t numWords = 0;
  int64_t *means = nullptr;
};

/// What a step moves, for messages: "transfer node.send -> node.halo".
Text nameOf(const Model &model, const table::StepRec &step);
/// Says what a collective step of a call found: "<program>: <what the step moves>: <what>".
GNNC_OF_PART gnnc_status collectiveFailed(const Call &call, const table::StepRec &step, const gnnc_error &found);

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_RANKS_H
