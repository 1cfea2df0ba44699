//===- RecoverSpecial.cpp - Functions of infinite, missing and rare numbers -===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include <cmath>
#include <limits>

namespace gnnc::frontend::pytorch {

double Recover::largestOf(const NormalNode &node) const {
  for (const char *name : {"self", "other"}) // either may be a number
    if (const Argument *given = find(node, name); given && std::holds_alternative<ValueName>(*given))
      return typeOf(std::get<ValueName>(*given).name) == ScalarType::Float64 ? largestDouble : largestFloat;
  return largestFloat;
}

/// What is no number differs from itself.
Tensor Recover::isMissing(const Tensor &x) { return binary("!=", x, x); }

/// Whether numbers are infinite, or are none.
void Recover::opIsSpecial(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  if (node.op == "isnan")
    return define(node, isMissing(x));
  if (node.op == "isfinite")
    return define(node, binary("<=", unary("abs", x), largestOf(node)));
  if (node.op == "signbit")
    return define(node, binary("<", x, 0));
  bool above = node.op == "isposinf";
  define(node, binary(above ? ">" : "<", x, above ? largestOf(node) : -largestOf(node)));
}

/// Numbers for those that are infinite or none, which then have no gradient.
void Recover::opNanToNum(const NormalNode &node) {
  Tensor x = tensor(node, "self"), y = x;
  const double largest = largestOf(node);
  y = replaced(binary(">", x, largest), scalar(number(node, "posinf", largest)), y);
  y = replaced(binary("<", x, -largest), scalar(number(node, "neginf", -largest)), y);
  define(node, where(isMissing(x), scalar(number(node, "nan", 0)), y));
}

/// Sums and means of the non-NaN values.
void Recover::opFoldPresent(const NormalNode &node) {
  Tensor x = tensor(node, "self"), isAbsent = isMissing(x);
  std::vector<size_t> dims = foldedDims(integers(node, "dim"), x.dims.size());
  bool keep = flag(node, "keepdim", false);
  Tensor sum = fold("sum", where(isAbsent, scalar(0), x), dims, keep);
  if (node.op == "nanmean")
    sum = binary("/", sum, fold("sum", binary("==", isAbsent, 0), dims, keep));
  define(node, sum);
}

Tensor Recover::logOfSum(const Tensor &a, const Tensor &b) {
  return binary("+", a, unary("softplus", binary("-", b, a)));
}

/// The larger of two, or the one that is a number.
Tensor Recover::present(const std::string &function, const Tensor &a, const Tensor &b) {
  return where(isMissing(a), b, where(isMissing(b), a, binary(function, a, b)));
}

/// Functions of two numbers that few models have.
void Recover::opRarePair(const NormalNode &node) {
  const std::string &op = node.op;
  if (op == "heaviside") {
    Tensor x = tensor(node, "self"), positive = binary(">", x, 0);
    return define(node, where(binary("==", x, 0), tensor(node, "values"), positive));
  }
  Tensor a = tensor(node, "self"), b = tensor(node, "other");
  if (op == "fmax" || op == "fmin")
    return define(node, present(op == "fmax" ? "maximum" : "minimum", a, b));
  if (op == "copysign")
    return define(node, binary("*", binary("*", a, side(a)), side(b)));
  if (op == "ldexp")
    return define(node, binary("*", a, binary("^", scalar(2), b)));
  if (op == "isclose") {
    double relative = number(node, "rtol", 1e-5), absolute = number(node, "atol", 1e-8);
    Tensor bound = binary("+", binary("*", unary("abs", b), relative), absolute);
    Tensor isNear = binary("<=", unary("abs", binary("-", a, b)), bound);
    return define(node, binary("maximum", isNear, binary("==", a, b)));
  }
  // logaddexp2
  double two = std::log(2.0);
  define(node, binary("/", logOfSum(binary("*", a, two), binary("*", b, two)), two));
}

/// Functions of one number that few models have.
void Recover::opRare(const NormalNode &node) {
  const double pi = 3.14159265358979323846, infinity = std::numeric_limits<double>::infinity();
  Tensor x = tensor(node, "self");
  if (node.op == "special_ndtr")
    return define(node, binary("*", erfc(binary("*", x, -std::sqrt(0.5))), 0.5));
  Tensor isZero = binary("==", x, 0);
  if (node.op == "special_entr") {
    Tensor inner = binary("*", binary("-", scalar(0), x), unary("log", where(binary(">", x, 0), x, scalar(1))));
    return define(node, where(binary("<", x, 0), scalar(-infinity), inner));
  }
  // sinc
  Tensor angle = binary("*", where(isZero, scalar(1), x), pi);
  define(node, where(isZero, scalar(1), binary("/", unary("sin", angle), angle)));
}

} // namespace gnnc::frontend::pytorch
