//===- SizeExprTest.cpp - Sizes as sympy writes them ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/SizeExpr.h"

#include "gtest/gtest.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

static const std::string kS = "Symbol('s77', positive=True, integer=True)", kU = "Symbol('u0', integer=True)";

static Size read(const std::string &text) {
  llvm::Expected<Size> size = readSizeExpr(text);
  if (!size) {
    ADD_FAILURE() << text << ": " << llvm::toString(size.takeError());
    return Size();
  }
  return *size;
}

static std::string errorOf(const std::string &text) {
  llvm::Expected<Size> size = readSizeExpr(text);
  return size ? "none: " + size->text : llvm::toString(size.takeError());
}

TEST(SizeExpr, ReadsLinearOnes) {
  Size sum = read("Add(" + kU + ", Mul(Integer(2), " + kS + "), Integer(-1))");
  ASSERT_TRUE(sum.linear);
  EXPECT_EQ(sum.linear->getNumber(), -1);
  EXPECT_EQ(sum.linear->getFactors(), (std::map<std::string, int64_t>{{"s77", 2}, {"u0", 1}}));
  EXPECT_EQ(sum.text, "2*s77 + u0 - 1");
  EXPECT_EQ(read("Integer(7)").literal(), 7);
  EXPECT_EQ(read("Integer(-7)").literal(), -7);
  EXPECT_EQ(read(kS).literal(), std::nullopt);
  EXPECT_EQ(read("Add(" + kS + ", Mul(Integer(-1), " + kS + "))").literal(), 0);
  EXPECT_EQ(read("Mul(Integer(3), Add(" + kS + ", Integer(2)), Integer(2))").text, "6*s77 + 12");
  EXPECT_EQ(read("Mul(Integer(-1), " + kS + ")").text, "-s77");
  EXPECT_EQ(read("Integer(9223372036854775807)").literal(), INT64_MAX);
  EXPECT_EQ(read("Integer(-9223372036854775808)").text, "-9223372036854775808");
  EXPECT_EQ(literalSize(3).text, "3");
}

TEST(SizeExpr, AddsUpWhatIsNoSum) {
  auto text = [](const std::string &source) {
    Size size = read(source);
    EXPECT_TRUE(size.linear) << source;
    return size.text;
  };
  EXPECT_EQ(text("Max(Integer(1), Add(" + kU + ", Integer(1)))"), "Max(1, u0 + 1)");
  EXPECT_EQ(text("Mod(" + kS + ", Integer(4))"), "Mod(s77, 4)");
  EXPECT_EQ(text("FloorDiv(" + kS + ", Integer(2))"), "FloorDiv(s77, 2)");
  EXPECT_EQ(text("Mul(" + kS + ", " + kU + ")"), "s77*u0");
  EXPECT_EQ(text("Mul(" + kS + ", Add(" + kU + ", Integer(1)))"), "s77*(u0 + 1)");
  EXPECT_EQ(text("Mul(Integer(2), Max(Integer(1), " + kU + "))"), "2*Max(1, u0)");
  EXPECT_EQ(text("Add(Mod(" + kS + ", Integer(4)), Integer(1))"), "Mod(s77, 4) + 1");
  EXPECT_EQ(text("Mul(Integer(3), " + kS + ", " + kU + ")"), "3*s77*u0");
  Size size = read("Add(Integer(5), Mul(Integer(2), FloorDiv(" + kS + ", Integer(2))), Mul(Integer(-1), " + kU + "))");
  SymbolicExpr sum(5);
  sum += SymbolicExpr::of("FloorDiv(s77, 2)", 2);
  sum += SymbolicExpr::of("u0", -1);
  EXPECT_TRUE(size.linear && *size.linear == sum) << size.text;
}

/// A matrix of all pairs has as many places as rows times columns.
TEST(SizeExpr, DividesProductsByTheirFactors) {
  EXPECT_EQ(read("FloorDiv(Pow(" + kS + ", Integer(2)), " + kS + ")").text, "s77");
  EXPECT_EQ(read("FloorDiv(Mul(" + kS + ", " + kU + "), " + kU + ")").text, "s77");
  EXPECT_EQ(read("FloorDiv(Mul(Integer(4), " + kS + ", " + kU + "), " + kS + ")").text, "4*u0");
  EXPECT_EQ(read("FloorDiv(Pow(" + kS + ", Integer(3)), " + kS + ")").text, "s77*s77");
  EXPECT_EQ(read("FloorDiv(Pow(" + kS + ", Integer(2)), " + kU + ")").text, "FloorDiv(Pow(s77, 2), u0)");
  EXPECT_EQ(read("FloorDiv(Mul(Add(" + kS + ", Integer(1)), " + kU + "), " + kU + ")").text,
            "FloorDiv((s77 + 1)*u0, u0)");
}

TEST(SizeExpr, KeepsTheTextOfOthers) {
  auto text = [](const std::string &source) {
    Size size = read(source);
    EXPECT_FALSE(size.linear) << source;
    return size.text;
  };
  EXPECT_EQ(text("Mul(Rational(1, 2), " + kS + ")"), "Rational(1, 2)*s77");
  EXPECT_EQ(text("Mul(Integer(2), Rational(1, 2), Float('0.5'))"), "2*Rational(1, 2)*Float('0.5')");
  EXPECT_EQ(text("FloorDiv(Float('0.5'), Integer(2))"), "FloorDiv(Float('0.5'), 2)");
  EXPECT_EQ(text("Float('0.5', precision=53)"), "Float('0.5')");
  EXPECT_EQ(text("oo"), "oo");
}

TEST(SizeExpr, RefusesOthers) {
  EXPECT_EQ(errorOf(""), "expected a function of sympy at byte 0, found the end");
  EXPECT_EQ(errorOf("Add(" + kU), "expected ',' or ')' at byte 30, found the end");
  EXPECT_EQ(errorOf("Integer(1) x"), "expected the end at byte 11, found 'x'");
  EXPECT_EQ(errorOf("Integer(x)"), "expected a number at byte 8, found 'x)'");
  EXPECT_EQ(errorOf("Integer(99999999999999999999)"),
            "expected a number of 64 bits at byte 8, found '99999999999999999999'");
  EXPECT_EQ(errorOf("Symbol(s0)"), "expected a name in quotes at byte 7, found 's0)'");
  EXPECT_EQ(errorOf("Symbol('" + std::string(129, 's') + "')"),
            "expected a name of at most 128 letters, digits and underscores at byte 7, found ''sssssssssssssssssss'");
  EXPECT_EQ(errorOf("Symbol('s')('t')"), "expected the end at byte 11, found '('t')'");
  EXPECT_EQ(errorOf("Symbol('a b')").substr(0, 20), "expected a name of a");
  EXPECT_EQ(errorOf("__import__('os')"), "none: __import__('os')");
  EXPECT_EQ(errorOf("-" + std::string(100, '1')).substr(0, 17), "expected a number");
}

TEST(SizeExpr, IsBounded) {
  auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i)
      text += "Max(Integer(1), ";
    return text + kS + std::string(size_t(depth), ')');
  };
  EXPECT_TRUE(read(nested(64)).linear);
  EXPECT_EQ(errorOf(nested(65)), "expected at most 64 nested functions, found more");
  std::string wide = "Add(Integer(1)";
  while (wide.size() < 65536)
    wide += ", Integer(1)";
  EXPECT_EQ(errorOf(wide + ")"),
            "expected an expression of at most 65536 bytes, found " + std::to_string(wide.size() + 1));
  std::string most = std::to_string(INT64_MAX);
  EXPECT_EQ(errorOf("Add(Integer(" + most + "), Integer(1))"), "a sum does not fit in 64 bits");
  EXPECT_EQ(errorOf("Mul(Integer(" + most + "), Integer(2))"), "a product does not fit in 64 bits");
  EXPECT_EQ(errorOf("Mul(Integer(2), Mul(Integer(" + most + "), " + kS + "))"), "a product does not fit in 64 bits");
  EXPECT_EQ(errorOf("Add(" + kS + ", Mul(Integer(" + most + "), " + kS + "))"), "a sum does not fit in 64 bits");
}
