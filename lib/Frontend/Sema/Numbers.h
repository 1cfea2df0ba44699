//===- Numbers.h - Compile-time numbers -------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes, slopes and flags are computed while a model is elaborated. Integers are 64 bits and never wrap; a quotient of
// integers that is not whole is a floating-point number.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_NUMBERS_H
#define GNNC_LIB_FRONTEND_SEMA_NUMBERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace gnnc::frontend {

struct Number {
  enum class Kind { Int, Float, Bool };
  Kind kind = Kind::Int;
  int64_t integer = 0; ///< of Int and Bool
  double real = 0;     ///< of Float

  static Number ofInt(int64_t value) { return {Kind::Int, value, 0}; }
  static Number ofFloat(double value) { return {Kind::Float, 0, value}; }
  static Number ofBool(bool value) { return {Kind::Bool, value, 0}; }

  double asDouble() const { return kind == Kind::Float ? real : double(integer); }
  bool isTrue() const { return asDouble() != 0; }
  bool isInt() const { return kind == Kind::Int; }
  std::string str() const;
};

/// `op` is an operator of the language.
llvm::Expected<Number> foldUnary(llvm::StringRef op, Number x);
llvm::Expected<Number> foldBinary(llvm::StringRef op, Number a, Number b);

/// Whether `name` is a function that takes `count` numbers at compile time: sqrt exp log floor ceil round abs min max
/// ...
bool isNumberFunction(llvm::StringRef name, size_t count);
llvm::Expected<Number> foldFunction(llvm::StringRef name, llvm::ArrayRef<Number> arguments);

/// Reads a number as `-D name=value` gives it.
llvm::Expected<Number> parseNumber(llvm::StringRef text);

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_NUMBERS_H
