//===- Inspector.h - Descriptions of compiled models ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_INSPECTOR_H
#define GNNC_TOOLS_GNNC_INSPECTOR_H

#include "Commands.h"
#include "gnnc/Graphs/GraphEdges.h"
#include "gnnc/Host/GraphInfo.h"
#include "gnnc/Host/ModelFile.h"
#include "gnnc/Host/PlanInfo.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace gnnc {

/// A model prepared for a graph, without anything that could be run: for CPUs, and for GPUs if it has code for them.
struct Plans {
  std::string graphPath;
  std::optional<GraphEdges> edges; ///< if the file has them, and the model reads them as `src` and `dst`
  std::vector<Session> sessions;
  std::vector<GraphInfo> infos; ///< parallel

  /// Extents and alternatives are the same for all.
  const Session &session() const { return sessions.front(); }
};

/// Prints one model's description; with plans also what it takes on their graph.
class Inspector {
public:
  Inspector(const ModelFile &model, const Plans *plans, const InspectArguments &arguments, llvm::raw_ostream &out)
      : model(model), plans(plans), arguments(arguments), out(out) {}
  void printText();
  void printJSON();
  void printCost();
  // InspectTriton.cpp
  llvm::Error printTriton();

private:
  void printTensors(llvm::StringRef title, llvm::ArrayRef<TensorInfo> tensors);
  void printStates();
  void printPrograms();
  void printSpaces();
  void printKernels();
  // InspectChoices.cpp
  void printAlternatives();
  void printTriedPlans();
  void printSchedules();
  void printChosen(const GraphInfo &graph);
  void printShared();
  void printLocality();
  void printPlan();
  std::optional<int64_t> extentOf(const std::optional<std::string> &space) const;
  std::string costOf(const SymbolicExpr &expression) const;
  std::string costOf(const SymbolicMax &expression) const;
  std::string typeOf(const TensorInfo &tensor) const;
  /// Nothing where the graph lacks what the program needs.
  std::optional<size_t> workspaceOf(const ProgramInfo &program) const;
  std::string bytesOf(const std::optional<std::string> &space, int64_t rowElements, ElementType type) const;

  const ModelFile &model;
  const Plans *plans;
  const InspectArguments &arguments;
  llvm::raw_ostream &out;
};

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_INSPECTOR_H
