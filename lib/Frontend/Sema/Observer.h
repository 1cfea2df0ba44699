//===- Observer.h - Watching an elaboration ---------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An editor watches: it is told what names mean, and what may stand at a name that it has put there itself. Elaboration
// knows no more of it than this.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_OBSERVER_H
#define GNNC_LIB_FRONTEND_SEMA_OBSERVER_H

#include "Sema/Operand.h"
#include "Syntax/AST.h"

#include "llvm/ADT/StringRef.h"

namespace gnnc::frontend {

class Modules;
class Paths;
class Scopes;
struct Context;

/// What may be asked about the place that elaboration is at.
struct ElaborationView {
  const Context &context;
  Scopes &scopes;
  Paths &paths;
};

class ElaborationObserver {
public:
  virtual ~ElaborationObserver() = default;

  /// What the name at `loc` means, and where it is declared. A model that is trained tells the same twice.
  virtual void onMeaning(Loc loc, const std::string &text, std::optional<Loc> definition) {}

  /// Whether this name stands for one that is yet to be written. It is not looked up; one of the following says where
  /// it was met.
  virtual bool isPlaceholder(llvm::StringRef name) const { return false; }

  virtual void onValue(const ElaborationView &view) {}
  /// After the dot of `x.`.
  virtual void onMove(const ElaborationView &view, const Operand &x) {}
  /// In a path that has come to the space `at`; kUndefined where it begins anywhere.
  virtual void onPath(const ElaborationView &view, Id at) {}
  /// After the dot of a root relation's name.
  virtual void onRelationMap(const ElaborationView &view, llvm::StringRef relation) {}
  virtual void onSpace(const ElaborationView &view) {}
  virtual void onRelation(const ElaborationView &view) {}
  virtual void onSize(const ElaborationView &view) {}
  /// Where one of the axes of `x` is named.
  virtual void onAxis(const ElaborationView &view, const Operand &x) {}

  /// A call, before its arguments are evaluated; `layer` is null where it is of a built-in function.
  virtual void onCall(const ast::Expr &call, const ast::LayerDecl *layer) {}
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_OBSERVER_H
