//===- DividedRows.h - Tensors whose rows ranks have parts of ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files have tensors of the whole graph, in its order, whatever number of ranks writes or reads them.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_DIVIDEDROWS_H
#define GNNC_HOST_DIVIDEDROWS_H

#include "gnnc/Host/GraphPart.h"
#include "gnnc/Host/HostTensor.h"
#include "gnnc/Host/Parameters.h"
#include "gnnc/Host/RunRanks.h"

namespace gnnc {

class DividedRows {
public:
  /// Both must outlive this.
  DividedRows(const ModelInfo &model, const GraphPart &part, const RunRanks &ranks)
      : model(&model), part(&part), ranks(&ranks) {}

  bool isFirst() const { return ranks->rank() == 0; }
  const RunRanks &all() const { return *ranks; }
  /// Whether each rank has rows of its own of what resides there.
  bool isDivided(const std::optional<std::string> &space) const;
  /// Extents of the whole graph; `own` has those of what is not divided.
  ExtentLookup wholeExtents(ExtentLookup own) const;

  /// On rank 0 all rows of all ranks, elsewhere the rank's own tensor; what is not divided is the same everywhere.
  llvm::Expected<HostTensor> collect(const HostTensor &own, const std::optional<std::string> &space) const;
  /// Fills `own` with the rank's rows of a tensor of the whole graph, which is at `whole`.
  llvm::Error take(const void *whole, const HostTensor &own, const std::optional<std::string> &space) const;
  /// The shape that a tensor of this rank has in the whole graph.
  llvm::Expected<std::vector<int64_t>> wholeShape(const HostTensor &own, const std::optional<std::string> &space) const;
  /// The own rows of parameters and states of the whole graph.
  llvm::Error take(Parameters &whole) const;

private:
  llvm::Error checkSpace(llvm::StringRef space, llvm::StringRef tensor) const;

  const ModelInfo *model;
  const GraphPart *part;
  const RunRanks *ranks;
};

} // namespace gnnc

#endif // GNNC_HOST_DIVIDEDROWS_H
