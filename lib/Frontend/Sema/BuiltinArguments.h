//===- BuiltinArguments.h - The arguments of a built-in call ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A built-in function takes its arguments one by one, as values, numbers or names of axes; what it has not taken in the
// end is one too many.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_BUILTINARGUMENTS_H
#define GNNC_LIB_FRONTEND_SEMA_BUILTINARGUMENTS_H

#include "Sema/Builtins.h"

namespace gnnc::frontend {

class BuiltinArguments {
public:
  BuiltinArguments(Builtins &builtins, const ast::Expr &call, llvm::StringRef usage,
                   std::vector<MaybeOperand> evaluated);

  /// The expressions, null where there is none.
  const ast::Expr *positional(size_t number);
  const ast::Expr *named(llvm::StringRef name);
  size_t positionalCount() const;
  /// All named ones that are not taken yet.
  std::vector<std::pair<ast::Name, const ast::Expr *>> restNamed();

  /// Their values; nothing after an error.
  MaybeOperand value(size_t number);
  MaybeId dense(size_t number);
  std::optional<Number> number(size_t position, llvm::StringRef name, std::optional<double> absent);
  std::optional<std::vector<std::string>> axes(const ast::Expr *expr);
  std::optional<std::string> axis(const ast::Expr *expr);

  std::nullopt_t missing();
  /// Checks that all arguments were taken.
  MaybeOperand finish(MaybeOperand result);

  const ast::Expr &call;
  const std::string usage;

private:
  /// Tells the observer what axes the values of this call have.
  void showAxes();

  Builtins &builtins;
  std::vector<MaybeOperand> evaluated;
  std::vector<bool> used;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_BUILTINARGUMENTS_H
