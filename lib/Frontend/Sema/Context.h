//===- Context.h - What all of an elaboration shares ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state that every part of an elaboration works on: the values made so far, the frame that names are looked up in,
// and where to report. Whatever only one part needs is that part's own.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_CONTEXT_H
#define GNNC_LIB_FRONTEND_SEMA_CONTEXT_H

#include "Sema/Frame.h"
#include "Sema/Observer.h"

namespace gnnc::frontend {

/// How much has been elaborated, so that no text takes for ever or overflows the stack.
struct Budget {
  unsigned depth = 0; ///< of expressions, over all inlined layers
  uint64_t steps = 0; ///< expressions and statements so far
  bool exhausted = false;
};

struct Context {
  Context(Modules &modules, const Sources &sources, DiagnosticEngine &diagnostics, const CompileInputs &inputs);

  Modules &modules;
  const Sources &sources;
  DiagnosticEngine &diagnostics;
  const CompileInputs &inputs;
  ModelBuilder builder;
  Frame *frame = nullptr; ///< of the body being elaborated
  Budget budget;
  bool isIncomplete = false; ///< the parser has refused statements, so what seems absent may be one of these
  bool training = false;     ///< what `training` is
  ElaborationObserver *observer = nullptr;

  std::string describe(const Operand &operand) const;
  const SparseInput &inputOf(const Sparse &x) const { return builder.spec().sparseInputs[x.input]; }
  /// Where a value resides; kNone for a number. A sparse one resides on the space of its rows.
  Id residencyOf(const Operand &operand) const;
};

/// A part of an elaboration. Parts name those they use in their constructors.
class ElaborationPart {
protected:
  explicit ElaborationPart(Context &context)
      : context(context), builder(context.builder), diagnostics(context.diagnostics), frame(context.frame) {}
  ElaborationPart(const ElaborationPart &) = delete;

  std::nullopt_t error(Loc loc, const llvm::Twine &message);
  std::nullopt_t sparseUnsupported(const Sparse &x, llvm::StringRef doing, Loc loc);
  /// A value of ModelSpec; a number becomes a constant. `doing` says what a sparse one cannot do.
  MaybeId dense(const Operand &operand, Loc loc, llvm::StringRef doing);
  std::string describe(const Operand &operand) const { return context.describe(operand); }
  const SparseInput &inputOf(const Sparse &x) const { return context.inputOf(x); }
  /// Tells the observer what a name means.
  void record(Loc loc, const std::string &text, std::optional<Loc> definition = std::nullopt);
  bool isPlaceholder(llvm::StringRef name) const { return context.observer && context.observer->isPlaceholder(name); }

  Context &context;
  ModelBuilder &builder;
  DiagnosticEngine &diagnostics;
  Frame *&frame;
};

/// `; did you mean 'x'?` where a known name is close.
std::string suggestion(llvm::StringRef name, const std::vector<std::string> &known);

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_CONTEXT_H
