//===- Elaborator.h - From syntax to a ModelSpec ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a model's statements in order. Names are looked up, layers are inlined, compile-time numbers are computed, and
// what is not an operation of ModelSpec (sparse products, join, softmax over an axis, ...) is said in terms of those
// that are. Every value goes through a ModelBuilder, which checks it.
//
// The work is divided among parts of one idea each, which share a Context; each says in its constructor what other
// parts it uses. From the names up: Scopes, Paths, SpacesAndMaps, Relations; Types; SparseInputs, Moves, Operators,
// Reductions, Builtins and Expressions; Values and InitialValues; Layers; Programs and Optimisers; Statements.
//
// A model that is trained is elaborated twice, for its outputs and metrics and for its training step. The second time
// parameters, states and inputs are found again by their names, and derived spaces and maps by what they are.
//
// After an error the statement it is in is given up; the name it would have defined is known but poisoned, so that its
// uses say nothing more.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_ELABORATOR_H
#define GNNC_LIB_FRONTEND_SEMA_ELABORATOR_H

#include "Sema/Builtins.h"
#include "Sema/Layers.h"
#include "Sema/Statements.h"

namespace gnnc::frontend {

class Elaborator : ElaborationPart {
public:
  /// With an `assumedSize` numbers without a value are no errors, but taken to be that.
  explicit Elaborator(Context &context, int64_t assumedSize = 0);

  std::optional<ModelSpec> run(const Module &module, const ast::ModelDecl &model);

  /// Elaborates a layer that nobody calls, with arguments made up for it (UncalledLayers.cpp).
  /// A value that may reside anywhere resides on `anywhere`.
  void checkUncalled(const Module &module, const ast::LayerDecl &layer, llvm::StringRef anywhere = "node");

  /// Whether the assumed size stood for any number.
  bool hasAssumed() const { return assumed; }
  const std::set<const ast::LayerDecl *> &called() const { return layers.called(); }

private:
  bool elaborate(const Module &module, const ast::ModelDecl &model);
  void enterModel(Frame &top, const Module &module);
  void bindModelNumbers(const ast::ModelDecl &model);
  Number assume(ast::Formal::Kind kind);
  void checkDefines(const ast::ModelDecl &model);

  Scopes scopes;
  Paths paths;
  SpacesAndMaps spacesAndMaps;
  Relations relations;
  Types types;
  SparseInputs sparseInputs;
  Moves moves;
  Operators operators;
  Reductions reductions;
  Builtins builtins;
  Expressions expressions;
  Values values;
  InitialValues initialValues;
  Layers layers;
  Programs programs;
  Optimisers optimisers;
  Selections selections;
  Statements statements;

  int64_t assumedSize;
  bool assumed = false;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_ELABORATOR_H
