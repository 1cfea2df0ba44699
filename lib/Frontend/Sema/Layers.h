//===- Layers.h - Calls of layers -------------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_LAYERS_H
#define GNNC_LIB_FRONTEND_SEMA_LAYERS_H

#include "Sema/Relations.h"
#include "Sema/Values.h"

#include <set>

namespace gnnc::frontend {

class Statements;

class Layers : ElaborationPart {
public:
  Layers(Context &context, Scopes &scopes, SpacesAndMaps &spacesAndMaps, Relations &relations, Types &types,
         Expressions &expressions, Values &values, Statements &statements)
      : ElaborationPart(context), scopes(scopes), spacesAndMaps(spacesAndMaps), relations(relations), types(types),
        expressions(expressions), values(values), statements(statements) {}

  /// Inlines a call; `instance` is the declared one that it names, if any.
  MaybeOperand callLayer(const ast::Expr &expr, Found<ast::LayerDecl> found, const Instance *instance = nullptr);
  void declareInstance(const ast::InstanceStmt &statement);
  /// Says that no layer or function is called so, once for each name.
  std::nullopt_t unknownCallee(const ast::Expr &call, llvm::StringRef what);
  /// The layers that were called.
  const std::set<const ast::LayerDecl *> &called() const { return calledLayers; }

private:
  struct Call; ///< what binding arguments to formals keeps track of
  bool bindArguments(Call &call);
  bool bindValue(Call &call, const ast::Formal &formal, const Operand &argument, Loc loc);
  bool bindDefaults(Call &call);
  bool bindAxes(Call &call, const ast::Formal &formal, const std::vector<Axis> &axes, std::vector<std::string> &names,
                Loc loc);
  bool finishAxes(Call &call);
  std::string takenForValue(const Call &call, const ast::Formal &missing);
  bool bindResultAxes(const ast::LayerDecl &layer);
  MaybeOperand checkResult(Call &call, MaybeOperand result);
  MaybeOperand renameBack(Call &call, const Operand &result);

  Scopes &scopes;
  SpacesAndMaps &spacesAndMaps;
  Relations &relations;
  Types &types;
  Expressions &expressions;
  Values &values;
  Statements &statements;
  std::vector<const ast::LayerDecl *> active; ///< being inlined
  std::set<const ast::LayerDecl *> calledLayers;
  std::set<std::string> unknown; ///< callees that an error has named
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_LAYERS_H
