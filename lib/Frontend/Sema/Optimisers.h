//===- Optimisers.h - Statements that train parameters ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_OPTIMISERS_H
#define GNNC_LIB_FRONTEND_SEMA_OPTIMISERS_H

#include "Sema/Layers.h"
#include "Sema/Programs.h"

namespace gnnc::frontend {

class Optimisers : ElaborationPart {
public:
  Optimisers(Context &context, Expressions &expressions, Layers &layers, Values &values, Programs &programs)
      : ElaborationPart(context), expressions(expressions), layers(layers), values(values), programs(programs) {}

  void run(const ast::TrainStmt &train);

private:
  struct Open; ///< a train statement whose arguments have been evaluated
  bool open(Open &statement);
  std::vector<Id> paramsOf(const ast::TrainStmt &train);
  MaybeId clipFactor(const std::vector<Id> &gradients, Id bound, Loc loc);
  MaybeId flat(Id value, Loc loc);
  MaybeId optimise(const Open &statement, Id param, Id gradient);

  Expressions &expressions;
  Layers &layers;
  Values &values;
  Programs &programs;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_OPTIMISERS_H
