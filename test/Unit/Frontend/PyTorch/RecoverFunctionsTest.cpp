//===- RecoverFunctionsTest.cpp - Functions that are made of others -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Their forms keep digits and have PyTorch's derivatives where others are 0 or NaN.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "gtest/gtest.h"

using namespace gnnc::frontend::pytorch;
using namespace gnnc::frontend::pytorch::test;

namespace {

/// The text of a function of x, [N, 4], and of w where it has a name.
std::string functionText(const std::string &op, const std::string &other = "", ProgramBuilder::Arguments more = {}) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).input("w", {"N", "4"});
  more.insert(more.begin(), arg("self", "x"));
  if (!other.empty())
    more.push_back(arg(other, "w"));
  return b.node("y", op, more, {"N", "4"}).output("y").text();
}

void expectPart(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(RecoverFunctionsTest, AnglesHaveADerivativeOnTheAxes) {
  std::vector<std::string> texts = {functionText("atan.default"), functionText("asin.default"),
                                    functionText("acos.default"), functionText("atan2.default", "other")};
  for (const std::string &text : texts)
    for (const char *kinked : {"abs(", "maximum(", "minimum(", "refused"})
      EXPECT_EQ(text.find(kinked), std::string::npos) << text;
}

TEST(RecoverFunctionsTest, SmallNumbersKeepTheirDigits) {
  expectPart(functionText("log1p.default"), "  let h = x + 1\n"
                                            "  output y = log(h) + detach(where(abs(x) < 0.5, x - (h - 1), 0))\n");
  expectPart(functionText("expm1.default"), "where(x > 0, -(h * elu(-x)), elu(x))");
  expectPart(functionText("sinh.default"), "elu(x)");
  expectPart(functionText("asinh.default"), "  let h5 = square(h4)\n"
                                            "  let h6 = h4 + h5 / (sqrt(h5 + 1) + 1)\n");
  expectPart(functionText("atanh.default"), "  let h6 = h5 * 2 / (1 - h5)\n");
}

TEST(RecoverFunctionsTest, TheRestOfTheErrorFunctionHasItsOwnNumbers) {
  std::string text = functionText("erfc.default");
  expectPart(text, "  let h = 1 - erf(x)\n"
                   "  let h2 = x > 0.5\n"
                   "  let h3 = where(h2, x, 1)\n"
                   "  let h4 = recip(h3 * 0.5 + 1)\n");
  expectPart(text, "  let h7 = where(h2, h4 * exp(h6 - square(h3)), h)\n"
                   "  output y = h + detach(where(h7 == h, 0, h7 - h))\n");
}

TEST(RecoverFunctionsTest, RoundedNumbersAndQuotients) {
  for (const char *op : {"floor", "ceil", "round"})
    expectPart(functionText(std::string(op) + ".default"), "  output y = " + std::string(op) + "(x)\n");
  expectPart(functionText("round.decimals", "", {arg("decimals", 2)}), "  output y = round(x * 100) / 100\n");
  expectPart(functionText("round.decimals", "", {arg("decimals", -1)}), "  output y = round(x / 10) * 10\n");
  expectPart(functionText("trunc.default"), "  output y = sign(x) * floor(abs(x))\n");
  expectPart(functionText("frac.default"), "  output y = x - sign(x) * floor(abs(x))\n");
  expectPart(functionText("floor_divide.default", "", {arg("other", 3)}), "  output y = floor(x / 3)\n");
  expectPart(functionText("div.Tensor_mode", "", {arg("other", 0.25), text("rounding_mode", "floor")}),
             "  output y = floor(x / 0.25)\n");
  expectPart(functionText("div.Tensor_mode", "", {arg("other", 3), text("rounding_mode", "trunc")}),
             "  let h = x / 3\n  output y = sign(h) * floor(abs(h))\n");
  // What is left has the sign of the divisor, or of what is divided.
  expectPart(functionText("remainder.Scalar", "", {arg("other", 3)}), "  output y = x - floor(x / 3) * 3\n");
  expectPart(functionText("fmod.Scalar", "", {arg("other", 3)}),
             "  let h = x / 3\n  output y = x - sign(h) * floor(abs(h)) * 3\n");
}

TEST(RecoverFunctionsTest, ExactQuotientsNeedAConstantDivisor) {
  for (const std::string &text :
       {functionText("floor_divide.default", "", {arg("other", 0)}), functionText("fmod.Tensor", "other")})
    expectPart(text,
               "refused: it rounds an exact quotient; gnnc can only where the divisor is a constant other than 0; "
               "a - b * floor(a / b) is allowed");
}

TEST(RecoverFunctionsTest, LongDivisorsAreSubtractedInParts) {
  // 1 / 0.1f is 10 in single precision, and a little less exactly.
  std::string text = functionText("remainder.Scalar", "", {arg("other", 0.1)});
  expectPart(text, " * 0.0999755859375");
  expectPart(text, " * 2.44155526161");
}

TEST(RecoverFunctionsTest, UnitsWithAScaleInsideHaveOneKink) {
  expectPart(functionText("celu.default", "", {arg("alpha", 2.0)}), "  output y = where(x > 0, x, elu(x * 0.5) * 2)\n");
  expectPart(functionText("elu.default", "", {arg("alpha", 2.0), arg("scale", 3.0), arg("input_scale", 0.5)}),
             "  output y = where(x > 0, x, elu(x * 0.5) * 2) * 3\n");
}

TEST(RecoverFunctionsTest, NothingTimesALogarithmHasADerivative) {
  expectPart(functionText("xlogy.Tensor", "other"), "  let h = (x == 0) * maximum(w <= 0, w > 3.4028234663852886e+38)\n"
                                                    "  output y = where(h, 0, x * log(where(h, 1, w)))\n");
}

TEST(RecoverFunctionsTest, TheCrossEntropyOfSaturatedProbabilitiesHasAFiniteDerivative) {
  expectPart(functionText("binary_cross_entropy.default", "target", {arg("reduction", 0)}),
             "  let h = 1 - x\n"
             "  let h2 = x * h\n"
             "  let h3 = detach(x)\n"
             "  let h4 = where(h2 < 1e-12, h3 + (x - h3) * detach(h2 / 1e-12), x)\n"
             "  let is = x == 0\n"
             "  let is2 = h == 0\n"
             "  let h5 = w * where(is, x / 1e-12 - 100, maximum(log(where(is, 1, h4)), (-100))) +\n"
             "      (1 - w) * where(is2, h / 1e-12 - 100, maximum(log(where(is2, 1, 1 - h4)), (-100)))\n"
             "  output y = -h5\n");
}

TEST(RecoverFunctionsTest, OperatorsOfTwoNamesAreOne) {
  for (auto [name, known] : {std::pair("absolute.default", "abs.default"),
                             {"negative.default", "neg.default"},
                             {"arcsinh.default", "asinh.default"},
                             {"special_expit.default", "sigmoid.default"}})
    EXPECT_EQ(functionText(name), functionText(known));
  for (auto [name, known] :
       {std::pair("multiply.Tensor", "mul.Tensor"), {"divide.Tensor", "div.Tensor"}, {"greater.Tensor", "gt.Tensor"}})
    EXPECT_EQ(functionText(name, "other"), functionText(known, "other"));
  expectPart(functionText("clip.default", "", {arg("min", 0)}), "  output y = maximum(x, 0)\n");
}

TEST(RecoverFunctionsTest, NumbersThatAreNone) {
  expectPart(functionText("isnan.default"), "  output y = x != x\n");
  expectPart(functionText("isfinite.default"), "  output y = abs(x) <= 3.4028234663852886e+38\n");
  expectPart(functionText("nan_to_num.default", "", {arg("nan", 1), arg("posinf", 2), arg("neginf", 3)}),
             "where(x != x, 1, where(x < (-3.4028234663852886e+38), 3, where(x > 3.4028234663852886e+38, 2, x)))");
}

TEST(RecoverFunctionsTest, WhatNeighboursGive) {
  expectPart(functionText("cummax.default", "", {arg("dim", 1)}), "maximum(");
  expectPart(functionText("logcumsumexp.default", "", {arg("dim", 1)}), "softplus(");
  expectPart(functionText("cummax.default", "", {arg("dim", 0)}),
             "refused: 'cummax': expected an axis of fixed size, found one of N elements");
}

TEST(RecoverFunctionsTest, ReasonsAgainstOperators) {
  expectPart(functionText("bernoulli.default"), "draws random numbers; give them to the model as an input");
  expectPart(functionText("masked_scatter.default"), "fills rows in an order that computed numbers decide");
  expectPart(functionText("quantile.scalar", "", {arg("q", 2.0), arg("dim", 1)}),
             "refused: argument 'q': expected one constant number from 0 to 1, found 2.0");
}

} // namespace
