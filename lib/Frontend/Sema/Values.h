//===- Values.h - Names of values, and what a model is given ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binds names to values, and declares the parameters, states and inputs. A model that is trained is elaborated twice;
// the second time these are found again by their whole names.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_VALUES_H
#define GNNC_LIB_FRONTEND_SEMA_VALUES_H

#include "Sema/InitialValues.h"

namespace gnnc::frontend {

/// A parameter, state or input that exists, by its whole name.
struct Given {
  Operand operand;
  std::vector<Loc> unnamed; ///< see Frame
  Loc loc;
};

class Values : ElaborationPart {
public:
  Values(Context &context, Types &types, InitialValues &initialValues)
      : ElaborationPart(context), types(types), initialValues(initialValues) {}

  /// Names a value in this frame; `what` says what it is. Integers are sizes too.
  void bind(const ast::Name &name, MaybeOperand operand, llvm::StringRef what);
  /// A name that is not taken. An automatic one, and one inside `repeat`, gets a number from the second use on.
  std::string fresh(llvm::StringMap<Loc> &taken, const ast::Name &name, llvm::StringRef what, bool automatic);
  void declare(const ast::ValueDecl &decl);
  const std::vector<ast::Name> &inputs() const { return inputNames; }

  /// `step` or `seed`, which exist from their first use on.
  MaybeId runState(llvm::StringRef name, llvm::ArrayRef<Axis> axes, Loc loc);
  /// The state of that name, if any text has used it.
  MaybeId findRunState(llvm::StringRef name) const;
  /// Random numbers with a value's residency and axes.
  MaybeId randomLike(Id x, Loc loc);
  /// A value with the residency and axes of another; one with fewer is repeated. `what` begins the message.
  MaybeId shapedAs(Id value, Id target, Loc loc, const llvm::Twine &what);

private:
  MaybeOperand declareValue(const ast::ValueDecl &decl, llvm::StringRef what);
  MaybeOperand again(const Given &known, const std::string &name, const ast::ValueDecl &decl, Id residency,
                     const std::vector<Axis> &axes);
  MaybeOperand declareInput(const ast::ValueDecl &decl, Id residency, const std::vector<Axis> &axes);

  Types &types;
  InitialValues &initialValues;
  std::vector<ast::Name> inputNames;
  llvm::StringMap<Given> given;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_VALUES_H
