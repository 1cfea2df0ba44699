//===- InitialValues.h - What parameters and states start as ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_INITIALVALUES_H
#define GNNC_LIB_FRONTEND_SEMA_INITIALVALUES_H

#include "Sema/Types.h"

namespace gnnc::frontend {

class Values;

/// What a parameter or state is before the first step.
struct InitialValue {
  enum class Kind {
    Constant, ///< `number`
    Uniform,  ///< in -number .. number
    Normal,   ///< of standard deviation `number`
    Glorot,   ///< uniform, the bound being sqrt(6 / (fan-in + fan-out))
  };
  Kind kind = Kind::Constant;
  double number = 0; ///< of Glorot: the sum of the fans that are numbers
  int extents = 0;   ///< of Glorot: how many fans are the extent of the parameter's space
};

class InitialValues : ElaborationPart {
public:
  InitialValues(Context &context, Scopes &scopes, Types &types, Values &values)
      : ElaborationPart(context), scopes(scopes), types(types), values(values) {}

  /// What a declaration says, or what is taken where it says nothing.
  std::optional<InitialValue> initialOf(const ast::ValueDecl &decl, Id residency, const std::vector<Axis> &axes);
  void set(Id target, const InitialValue &initial) { known[target] = initial; }
  /// The value that a parameter or state starts as.
  MaybeId initialValue(Id target);

private:
  std::optional<InitialValue> glorot(const ast::Expr &expr, Id residency, const std::vector<Axis> &axes);
  MaybeId uniformBound(Id target, const InitialValue &initial);

  Scopes &scopes;
  Types &types;
  Values &values;
  std::map<Id, InitialValue> known;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_INITIALVALUES_H
