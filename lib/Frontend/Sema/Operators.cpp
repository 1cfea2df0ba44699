//===- Operators.cpp - Operators on evaluated operands --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Operators.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace gnnc::frontend;
using llvm::StringRef;

MaybeOperand Operators::unary(StringRef op, const Operand &x, Loc loc) {
  if (auto *number = std::get_if<Number>(&x)) {
    llvm::Expected<Number> result = foldUnary(op, *number);
    if (!result)
      return error(loc, llvm::toString(result.takeError()));
    return *result;
  }
  if (op == "not")
    return binary("==", x, Number::ofInt(0), loc);
  if (auto *sparse = std::get_if<Sparse>(&x))
    return sparseInputs.unary("neg", *sparse, 0, loc);
  return wrap(builder.unary("neg", std::get<Dense>(x).id, 0, loc));
}

MaybeOperand Operators::binary(StringRef op, const Operand &a, const Operand &b, Loc loc) {
  auto *x = std::get_if<Number>(&a), *y = std::get_if<Number>(&b);
  if (op == "@")
    return matmul(a, b, loc);
  if (x && y) {
    bool isFunction = op == "maximum" || op == "minimum";
    llvm::Expected<Number> result = isFunction ? foldFunction(op, {*x, *y}) : foldBinary(op, *x, *y);
    if (!result)
      return error(loc, llvm::toString(result.takeError()));
    return *result;
  }
  if (op == "^")
    return power(a, b, loc);
  if (op == "%")
    return error(loc, "'%' works on numbers known at compile time only");
  if (op == "and" || op == "or") {
    // Both sides as 0 or 1, then their product or maximum.
    MaybeOperand left = binary("!=", a, Number::ofInt(0), loc), right = binary("!=", b, Number::ofInt(0), loc);
    if (!left || !right)
      return std::nullopt;
    MaybeId leftId = dense(*left, loc, "'" + op.str() + "'"), rightId = dense(*right, loc, "'" + op.str() + "'");
    if (!leftId || !rightId)
      return std::nullopt;
    return wrap(builder.binary(op == "and" ? "mul" : "maximum", *leftId, *rightId, loc));
  }
  auto *left = std::get_if<Sparse>(&a), *right = std::get_if<Sparse>(&b);
  if (op == "*" && left && !right)
    return sparseInputs.scale("mul", *left, b, loc);
  if (op == "*" && right && !left)
    return sparseInputs.scale("mul", *right, a, loc);
  if (op == "/" && left && !right)
    return sparseInputs.scale("div", *left, b, loc);
  std::string doing = "'" + op.str() + "'";
  MaybeId leftId = dense(a, loc, doing), rightId = leftId ? dense(b, loc, doing) : std::nullopt;
  if (!leftId || !rightId)
    return std::nullopt;
  StringRef function = llvm::StringSwitch<StringRef>(op)
                           .Case("+", "add")
                           .Case("-", "sub")
                           .Case("*", "mul")
                           .Case("/", "div")
                           .Case("<", "lt")
                           .Case("<=", "le")
                           .Case(">", "gt")
                           .Case(">=", "ge")
                           .Case("==", "eq")
                           .Case("!=", "ne")
                           .Default(op); // maximum and minimum by name
  MaybeId result = builder.binary(function, *leftId, *rightId, loc);
  checkPairs(op, {*leftId, *rightId}, result, loc);
  return wrap(result);
}

void Operators::checkPairs(StringRef op, llvm::ArrayRef<Id> operands, MaybeId result, Loc loc) {
  if (!result || frame->pairsMeant)
    return;
  std::string shapes;
  for (Id operand : operands) {
    if (builder.value(operand).axes.size() == builder.value(*result).axes.size())
      return;
    if (!builder.value(operand).axes.empty())
      shapes += (shapes.empty() ? "" : " and ") + builder.describe(operand);
  }
  diagnostics.warning(loc, "'" + op + "' of " + shapes + " gives all pairs, " + builder.describe(*result) +
                               ", as each has an axis that the other lacks; align them with 'rename(x, old: new)', or "
                               "write 'outer(...)' if all pairs are meant");
}

MaybeOperand Operators::power(const Operand &a, const Operand &b, Loc loc) {
  if (auto *exponent = std::get_if<Number>(&b)) {
    if (exponent->asDouble() == 1)
      return a;
    if (exponent->asDouble() == 2) {
      if (auto *sparse = std::get_if<Sparse>(&a))
        return sparseInputs.unary("square", *sparse, 0, loc);
      return wrap(builder.unary("square", std::get<Dense>(a).id, 0, loc));
    }
  }
  MaybeId base = dense(a, loc, "'^'"), exponent = base ? dense(b, loc, "'^'") : std::nullopt;
  if (!base || !exponent)
    return std::nullopt;
  MaybeId result = builder.binary("pow", *base, *exponent, loc);
  checkPairs("^", {*base, *exponent}, result, loc);
  return wrap(result);
}

/// a @ b: over the left operand's last axis.
MaybeOperand Operators::matmul(const Operand &a, const Operand &b, Loc loc) {
  if (auto *sparse = std::get_if<Sparse>(&a))
    return sparseInputs.matmul(*sparse, b, loc);
  if (std::holds_alternative<Number>(a) || std::holds_alternative<Number>(b))
    return error(loc, "'@' takes two values with axes, found " + describe(std::holds_alternative<Number>(a) ? a : b) +
                          "; numbers multiply with '*'");
  if (auto *sparse = std::get_if<Sparse>(&b))
    return sparseUnsupported(*sparse, "on the right of '@'", loc);
  Id left = std::get<Dense>(a).id, right = std::get<Dense>(b).id;
  const std::vector<Axis> &axes = builder.value(left).axes;
  if (axes.empty())
    return error(loc, "'@' contracts the last axis of its left operand, but " + builder.describe(left) + " has none");
  std::string last = axes.back().name;
  if (!llvm::any_of(builder.value(right).axes, [&](const Axis &axis) { return axis.name == last; }))
    return error(loc, "'@' contracts axis '" + last + "', the last of " + builder.describe(left) +
                          ", which the right operand " + builder.describe(right) + " does not have");
  return wrap(builder.contract(left, right, last, loc));
}
