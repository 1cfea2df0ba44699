//===- Programs.h - Outputs, updates and the programs they make -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_PROGRAMS_H
#define GNNC_LIB_FRONTEND_SEMA_PROGRAMS_H

#include "Sema/Expressions.h"
#include "Sema/Values.h"

namespace gnnc::frontend {

class Programs : ElaborationPart {
public:
  Programs(Context &context, Expressions &expressions, Values &values, InitialValues &initialValues)
      : ElaborationPart(context), expressions(expressions), values(values), initialValues(initialValues) {}

  void run(const ast::OutputStmt &output);
  void run(const ast::UpdateStmt &update);
  void finish(const ast::ModelDecl &model);

  MaybeId trainingLoss() const { return loss; }
  bool isTrained(Id param) const;
  void trainParam(Id param, Id value) { paramUpdates.push_back({param, value}); }

private:
  Expressions &expressions;
  Values &values;
  InitialValues &initialValues;
  std::vector<Output> metrics;
  MaybeId loss; ///< of the training step
  std::vector<Update> paramUpdates, stateUpdates;
  bool keepsUpdates = true; ///< not inside a metric
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_PROGRAMS_H
