//===- Statements.h - The statements of models and layers -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_STATEMENTS_H
#define GNNC_LIB_FRONTEND_SEMA_STATEMENTS_H

#include "Sema/Optimisers.h"
#include "Sema/Selections.h"

namespace gnnc::frontend {

class Statements : ElaborationPart {
public:
  Statements(Context &context, SpacesAndMaps &spacesAndMaps, Selections &selections, Types &types,
             Expressions &expressions, Layers &layers, Values &values, Programs &programs, Optimisers &optimisers)
      : ElaborationPart(context), spacesAndMaps(spacesAndMaps), selections(selections), types(types),
        expressions(expressions), layers(layers), values(values), programs(programs), optimisers(optimisers) {}

  /// The body of a layer: statements, then the expression that is its result.
  MaybeOperand runBody(const std::vector<ast::Statement> &body, Loc end);
  /// Runs statements; the value is that of the last one, if it is an expression.
  MaybeOperand runBlock(const std::vector<ast::Statement> &body);

private:
  void run(const ast::LetStmt &let);
  void run(const ast::RepeatStmt &repeat);

  SpacesAndMaps &spacesAndMaps;
  Selections &selections;
  Types &types;
  Expressions &expressions;
  Layers &layers;
  Values &values;
  Programs &programs;
  Optimisers &optimisers;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_STATEMENTS_H
