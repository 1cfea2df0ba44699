//===- Expressions.h - The values of expressions ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_EXPRESSIONS_H
#define GNNC_LIB_FRONTEND_SEMA_EXPRESSIONS_H

#include "Sema/Moves.h"
#include "Sema/Operators.h"
#include "Sema/Types.h"

#include <set>

namespace gnnc::frontend {

class Builtins;
class Layers;
class Values;

class Expressions : ElaborationPart {
public:
  Expressions(Context &context, Scopes &scopes, Paths &paths, Types &types, Operators &operators, Moves &moves,
              Values &values, Builtins &builtins, Layers &layers)
      : ElaborationPart(context), scopes(scopes), paths(paths), types(types), operators(operators), moves(moves),
        values(values), builtins(builtins), layers(layers) {}

  MaybeOperand eval(const ast::Expr &expr);
  /// Whether an input of the model was read.
  bool usesInput(const std::string &name) const { return usedInputs.count(name); }

private:
  MaybeOperand evalKind(const ast::Expr &expr);
  MaybeOperand evalName(const ast::Expr &expr);
  MaybeOperand evalMember(const ast::Expr &expr);
  MaybeOperand evalBinary(const ast::Expr &expr);
  MaybeOperand evalChoice(const ast::Expr &expr);
  MaybeOperand evalSlice(const ast::Expr &expr);
  MaybeOperand evalIndex(const ast::Expr &expr, const MaybeOperand &x);
  MaybeOperand transpose(const Operand &x, Loc loc);
  bool isMap(const ast::Expr &expr);
  MaybeOperand compareMaps(const ast::Expr &expr);

  Scopes &scopes;
  Paths &paths;
  Types &types;
  Operators &operators;
  Moves &moves;
  Values &values;
  Builtins &builtins;
  Layers &layers;
  std::set<std::string> usedInputs;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_EXPRESSIONS_H
