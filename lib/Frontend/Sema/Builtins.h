//===- Builtins.h - Built-in functions --------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function takes its arguments one by one (BuiltinArguments.h) and says its result in terms of ModelSpec's
// operations. The table is in Builtins.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_BUILTINS_H
#define GNNC_LIB_FRONTEND_SEMA_BUILTINS_H

#include "Sema/Expressions.h"
#include "Sema/Reductions.h"
#include "Sema/Values.h"

namespace gnnc::frontend {

bool isBuiltin(llvm::StringRef name);
std::vector<std::string> builtinNames();
/// `sum(x, along: map, over: axes)`; empty where there is none of that name.
std::string builtinUsage(llvm::StringRef name);

class BuiltinArguments;
class Layers;

class Builtins : ElaborationPart {
public:
  Builtins(Context &context, Scopes &scopes, Paths &paths, Types &types, Expressions &expressions, Operators &operators,
           Reductions &reductions, Moves &moves, SparseInputs &sparseInputs, Values &values, Layers &layers)
      : ElaborationPart(context), scopes(scopes), paths(paths), types(types), expressions(expressions),
        operators(operators), reductions(reductions), moves(moves), sparseInputs(sparseInputs), values(values),
        layers(layers) {}

  MaybeOperand callBuiltin(const ast::Expr &call);

private:
  friend class BuiltinArguments;
  friend struct BuiltinTable;

  // Elementwise (Builtins.cpp).
  MaybeOperand unaryFunction(BuiltinArguments &arguments);
  MaybeOperand binaryFunction(BuiltinArguments &arguments);
  MaybeOperand whereFunction(BuiltinArguments &arguments);
  MaybeOperand clampFunction(BuiltinArguments &arguments);
  MaybeOperand outerFunction(BuiltinArguments &arguments);
  MaybeOperand dropoutFunction(BuiltinArguments &arguments);
  MaybeOperand detachFunction(BuiltinArguments &arguments);
  MaybeOperand gradientFunction(BuiltinArguments &arguments);

  // Along maps and over axes (BuiltinMoves.cpp).
  MaybeOperand reduction(BuiltinArguments &arguments);
  MaybeOperand variance(BuiltinArguments &arguments);
  MaybeOperand normalization(BuiltinArguments &arguments);
  MaybeOperand degreeFunction(BuiltinArguments &arguments);
  MaybeOperand moveFunction(BuiltinArguments &arguments);
  MaybeOperand joinFunction(BuiltinArguments &arguments);
  MaybeOperand onehotFunction(BuiltinArguments &arguments);
  MaybeOperand spreadFunction(BuiltinArguments &arguments);
  std::optional<Id> alongMap(BuiltinArguments &arguments, const Operand &x);
  std::optional<Route> mapArgument(BuiltinArguments &arguments, llvm::StringRef expectation);

  // Shapes (BuiltinShapes.cpp).
  MaybeOperand concatFunction(BuiltinArguments &arguments);
  MaybeOperand renameFunction(BuiltinArguments &arguments);
  MaybeOperand flattenFunction(BuiltinArguments &arguments);
  MaybeOperand mergeFunction(BuiltinArguments &arguments);
  MaybeOperand splitFunction(BuiltinArguments &arguments);
  MaybeOperand permuteFunction(BuiltinArguments &arguments);
  MaybeOperand dotFunction(BuiltinArguments &arguments);
  MaybeOperand renameAxes(const Operand &x, const std::vector<std::pair<std::string, std::string>> &pairs, Loc loc);

  Scopes &scopes;
  Paths &paths;
  Types &types;
  Expressions &expressions;
  Operators &operators;
  Reductions &reductions;
  Moves &moves;
  SparseInputs &sparseInputs;
  Values &values;
  Layers &layers;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_BUILTINS_H
