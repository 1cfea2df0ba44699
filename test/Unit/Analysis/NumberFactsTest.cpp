//===- NumberFactsTest.cpp - What is known of a value's numbers -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each class of operations what is proven, and, as a wrong proof is a wrong result, what must not be.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Analysis/NumberFacts.h"
#include "ParsedSweep.h"

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// The value of the last operation of a text, which may use
///   %x, %y (inputs), %square (of x, never negative), %safe (1 + square, positive)   rows of 4 of nodes
///   %e, %safeEdge                                                                   the same of edges
///   %d, %m (degrees along @dst and @src)                                            one number for each node
///   %0, %1, %neg (-1), %tiny (a denormal number), %inf                              constants
class Value {
public:
  explicit Value(const std::string &text) {
    module = parse(context, R"(
      mpdfg.space @node root
      mpdfg.space @edge root
      mpdfg.map @src root from @edge to @node
      mpdfg.map @dst root from @edge to @node
      mpdfg.map @up root from @node to @node {partial}
      !n = tensor<?x4xf32, #mpdfg.on<@node>>
      !e = tensor<?x4xf32, #mpdfg.on<@edge>>
      !d = tensor<?x1xf32, #mpdfg.on<@node>>
      !k = tensor<1xf32>
      func.func @forward(%x: !n, %y: !n, %e: !e, %w: tensor<4x4xf32>) {
        %degree = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
        %d = mpdfg.reshape %degree : tensor<?xf32, #mpdfg.on<@node>> -> !d
        %other = mpdfg.degree along @src : tensor<?xf32, #mpdfg.on<@node>>
        %m = mpdfg.reshape %other : tensor<?xf32, #mpdfg.on<@node>> -> !d
        %0 = mpdfg.constant 0.0 : !k
        %1 = mpdfg.constant 1.0 : !k
        %neg = mpdfg.constant -1.0 : !k
        %tiny = mpdfg.constant 1.0e-40 : !k
        %inf = mpdfg.constant 0x7FF0000000000000 : !k
        %square = mpdfg.unary square %x : !n -> !n
        %safe = mpdfg.binary add %square, %1 : !n, !k -> !n
        %squareEdge = mpdfg.unary square %e : !e -> !e
        %safeEdge = mpdfg.binary add %squareEdge, %1 : !e, !k -> !e
)" + text + "\nreturn\n}");
    if (module)
      value = (*module->getOps<mlir::func::FuncOp>().begin())
                  .getBody()
                  .front()
                  .getTerminator()
                  ->getPrevNode()
                  ->getResult(0);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Value value;
};

/// All facts of a value, as words.
std::string factsOf(const std::string &text) {
  Value of(text);
  if (!of.value)
    return "does not parse";
  std::string facts;
  auto add = [&](bool holds, const char *name) {
    if (holds)
      facts += (facts.empty() ? "" : " ") + std::string(name);
  };
  add(isFinite(of.value), "finite");
  add(isPositive(of.value), "positive");
  add(!isPositive(of.value) && isNeverNegative(of.value), "at-least-0");
  add(!isPositive(of.value) && isNonZero(of.value), "non-zero");
  add(isHarmless(of.value.getDefiningOp()), "harmless");
  return facts;
}

/// What is known of owners without members along @dst.
std::string factsWithoutMembers(const std::string &text) {
  Value of(text);
  if (!of.value)
    return "does not parse";
  auto map = mlir::FlatSymbolRefAttr::get(&of.context, "dst");
  return std::string(isFiniteWithoutMembers(of.value, map) ? "finite" : "") +
         (isNonZeroWithoutMembers(of.value, map) ? " non-zero" : "");
}

std::string unary(const std::string &kind, const std::string &x) {
  return "%r = mpdfg.unary " + kind + " " + x + " : !n -> !n";
}
std::string binary(const std::string &kind, const std::string &x, const std::string &y) {
  auto type = [](llvm::StringRef value) {
    return llvm::is_contained({"%0", "%1", "%neg", "%tiny", "%inf"}, value) ? "!k" : value == "%d" ? "!d" : "!n";
  };
  return "%r = mpdfg.binary " + kind + " " + x + ", " + y + " : " + type(x) + ", " + type(y) + " -> !n";
}

} // namespace

TEST(NumberFacts, Constants) {
  EXPECT_EQ(factsOf("%r = mpdfg.constant 2.0 : !k"), "finite positive harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.constant 0.0 : !k"), "finite at-least-0 harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.constant -2.0 : !k"), "finite non-zero harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.constant 0x7FF0000000000000 : !k"), "positive harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.constant 0x7FF8000000000000 : !k"), "harmless"); // NaN
  // What rounds to infinity is infinite, and what is too small to be normal is 0 to a processor.
  EXPECT_EQ(factsOf("%r = mpdfg.constant 1.0e39 : !k"), "positive harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.constant 1.0e-40 : !k"), "finite at-least-0 harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.constant 1.0e-40 : tensor<1xf64>"), "finite positive harmless");
}

TEST(NumberFacts, ConstantsInAnotherShape) {
  Value of("%c = mpdfg.constant 0.1 : !k\n %r = mpdfg.reshape %c : !k -> tensor<1x1xf32>");
  std::optional<llvm::APFloat> number = constantOf(of.value);
  ASSERT_TRUE(number);
  EXPECT_EQ(number->convertToFloat(), 0.1f);
  EXPECT_FALSE(constantOf(Value(unary("abs", "%x")).value));
}

TEST(NumberFacts, OneOperand) {
  for (const char *kind : {"neg", "tanh", "sin", "cos", "erf", "sign", "leaky_relu", "elu", "gelu", "silu"})
    EXPECT_EQ(factsOf(unary(kind, "%x")), "finite harmless") << kind;
  // Sigmoid and softplus underflow; that they are never negative is not used.
  for (const char *kind : {"sigmoid", "softplus"})
    EXPECT_EQ(factsOf(unary(kind, "%x")), "finite harmless") << kind;
  for (const char *kind : {"abs", "square", "relu"})
    EXPECT_EQ(factsOf(unary(kind, "%x")), "finite at-least-0 harmless") << kind;
}

TEST(NumberFacts, Poles) {
  for (const char *kind : {"log", "rsqrt", "recip"}) {
    EXPECT_EQ(factsOf(unary(kind, "%x")), "") << kind;
    EXPECT_EQ(factsOf(unary(kind, "%square")), "") << kind;
  }
  EXPECT_EQ(factsOf(unary("log", "%safe")), "finite harmless");
  EXPECT_EQ(factsOf(unary("rsqrt", "%safe")), "finite positive harmless");
  EXPECT_EQ(factsOf(unary("recip", "%safe")), "finite harmless"); // 0 for numbers near the largest
  // A root has no pole, but its derivative has.
  EXPECT_EQ(factsOf(unary("sqrt", "%x")), "at-least-0");
  EXPECT_EQ(factsOf(unary("sqrt", "%square")), "finite at-least-0");
  EXPECT_EQ(factsOf(unary("sqrt", "%safe")), "finite positive harmless");
}

TEST(NumberFacts, Exponentials) {
  EXPECT_EQ(factsOf(unary("exp", "%x")), "");
  EXPECT_EQ(factsOf("%a = mpdfg.unary neg %x : !n -> !n\n" + unary("exp", "%a")), "");
  EXPECT_EQ(factsOf("%a = mpdfg.unary neg %square : !n -> !n\n" + unary("exp", "%a")), "finite harmless");
  EXPECT_EQ(factsOf("%a = mpdfg.unary tanh %x : !n -> !n\n" + unary("exp", "%a")), "finite harmless");
  // A square times a factor that is not positive, as in Gaussians, in whatever order.
  EXPECT_EQ(factsOf("%a = mpdfg.binary mul %square, %neg : !n, !k -> !n\n" + unary("exp", "%a")), "finite harmless");
  EXPECT_EQ(factsOf("%a = mpdfg.binary mul %neg, %square : !k, !n -> !n\n" + unary("exp", "%a")), "finite harmless");
  EXPECT_EQ(factsOf("%a = mpdfg.binary mul %square, %1 : !n, !k -> !n\n" + unary("exp", "%a")), "");
  EXPECT_EQ(factsOf("%a = mpdfg.binary minimum %x, %1 : !n, !k -> !n\n" + unary("exp", "%a")), "finite harmless");
  EXPECT_EQ(factsOf("%a = mpdfg.binary maximum %x, %1 : !n, !k -> !n\n" + unary("exp", "%a")), "");
}

TEST(NumberFacts, TwoOperands) {
  for (const char *kind : {"add", "sub", "mul", "maximum", "minimum", "lt", "eq"})
    EXPECT_EQ(factsOf(binary(kind, "%x", "%y")), "finite harmless") << kind;
  EXPECT_EQ(factsOf(binary("mul", "%x", "%inf")), "harmless");
  EXPECT_EQ(factsOf(binary("add", "%square", "%square")), "finite at-least-0 harmless");
  EXPECT_EQ(factsOf(binary("add", "%square", "%safe")), "finite positive harmless");
  EXPECT_EQ(factsOf(binary("add", "%x", "%safe")), "finite harmless");
  EXPECT_EQ(factsOf(binary("sub", "%safe", "%square")), "finite harmless");
  // The product of two small numbers is 0.
  EXPECT_EQ(factsOf(binary("mul", "%safe", "%safe")), "finite at-least-0 harmless");
  EXPECT_EQ(factsOf(binary("maximum", "%x", "%1")), "finite positive harmless");
  EXPECT_EQ(factsOf(binary("maximum", "%x", "%tiny")), "finite harmless");
  EXPECT_EQ(factsOf(binary("minimum", "%safe", "%1")), "finite positive harmless");
  EXPECT_EQ(factsOf(binary("minimum", "%x", "%1")), "finite harmless");
}

TEST(NumberFacts, QuotientsAndPowers) {
  EXPECT_EQ(factsOf(binary("div", "%x", "%y")), "");
  EXPECT_EQ(factsOf(binary("div", "%x", "%safe")), "finite harmless");
  EXPECT_EQ(factsOf(binary("div", "%x", "%neg")), "finite harmless");
  EXPECT_EQ(factsOf(binary("div", "%x", "%tiny")), "");
  EXPECT_EQ(factsOf(binary("div", "%inf", "%safe")), "harmless");
  EXPECT_EQ(factsOf(binary("pow", "%x", "%1")), "");
  EXPECT_EQ(factsOf(binary("pow", "%safe", "%safe")), "");
}

TEST(NumberFacts, Selections) {
  auto select = [](const std::string &condition, const std::string &yes, const std::string &no) {
    auto type = [](llvm::StringRef value) {
      return llvm::is_contained({"%0", "%1", "%neg", "%inf"}, value) ? "!k" : "!n";
    };
    return "%r = mpdfg.select " + condition + ", " + yes + ", " + no + " : " + type(condition) + ", " + type(yes) +
           ", " + type(no) + " -> !n";
  };
  EXPECT_EQ(factsOf(select("%x", "%safe", "%1")), "finite positive harmless");
  EXPECT_EQ(factsOf(select("%x", "%safe", "%neg")), "finite non-zero harmless");
  EXPECT_EQ(factsOf(select("%x", "%safe", "%0")), "finite harmless");
  EXPECT_EQ(factsOf(select("%x", "%safe", "%inf")), "positive harmless");
  // What the condition says of what is selected.
  EXPECT_EQ(factsOf(select("%x", "%x", "%1")), "finite non-zero harmless");
  EXPECT_EQ(factsOf(select("%x", "%y", "%1")), "finite harmless");
  EXPECT_EQ(factsOf("%c = mpdfg.binary eq %x, %0 : !n, !k -> !n\n" + select("%c", "%1", "%x")),
            "finite non-zero harmless");
  EXPECT_EQ(factsOf("%c = mpdfg.binary eq %x, %1 : !n, !k -> !n\n" + select("%c", "%1", "%x")), "finite harmless");
  EXPECT_EQ(factsOf("%c = mpdfg.binary gt %x, %0 : !n, !k -> !n\n" + select("%c", "%x", "%1")),
            "finite positive harmless");
  EXPECT_EQ(factsOf("%c = mpdfg.binary gt %x, %neg : !n, !k -> !n\n" + select("%c", "%x", "%1")), "finite harmless");
  // A degree is 0 without members, and then only.
  EXPECT_EQ(factsOf("%q = mpdfg.unary recip %d : !d -> !d\n"
                    "%r = mpdfg.select %d, %q, %0 : !d, !d, !k -> !d"),
            "finite harmless");
  EXPECT_EQ(factsOf("%q = mpdfg.unary recip %d : !d -> !d\n"
                    "%r = mpdfg.select %d, %q, %1 : !d, !d, !k -> !d"),
            "finite positive harmless");
  EXPECT_EQ(factsOf("%q = mpdfg.unary recip %m : !d -> !d\n"
                    "%r = mpdfg.select %d, %q, %1 : !d, !d, !k -> !d"),
            "harmless");
}

TEST(NumberFacts, OfRows) {
  EXPECT_EQ(factsOf("%r = mpdfg.fold sum %x [0] : !n -> !d"), "finite harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.fold sum %square [0] : !n -> !d"), "finite at-least-0 harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.fold max %square [0] : !n -> !d"), "finite at-least-0 harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.fold logsumexp %square [0] : !n -> !d"), "finite harmless");
  EXPECT_EQ(factsOf("%a = mpdfg.unary log %x : !n -> !n\n %r = mpdfg.fold logsumexp %a [0] : !n -> !d"), "");
  EXPECT_EQ(factsOf("%r = mpdfg.contract %x [0], %w [0, 1] -> [1] : !n, tensor<4x4xf32> -> !n"), "finite harmless");
  EXPECT_EQ(factsOf("%a = mpdfg.unary log %x : !n -> !n\n"
                    "%r = mpdfg.contract %a [0], %w [0, 1] -> [1] : !n, tensor<4x4xf32> -> !n"),
            "harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.slice %safe axis 0 from 1 : !n -> tensor<?x2xf32, #mpdfg.on<@node>>"),
            "finite positive harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.concat %safe, %safe axis 0 : (!n, !n) -> tensor<?x8xf32, #mpdfg.on<@node>>"),
            "finite harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.reshape %safe : !n -> tensor<?x2x2xf32, #mpdfg.on<@node>>"),
            "finite positive harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.detach %safe : !n -> !n"), "finite positive harmless");
}

TEST(NumberFacts, Movements) {
  EXPECT_EQ(factsOf("%r = mpdfg.broadcast %safe along @dst : !n -> !e"), "finite positive harmless");
  // Where a partial map is undefined rows hold its fill.
  EXPECT_EQ(factsOf("%r = mpdfg.broadcast %safe along @up : !n -> !n"), "finite at-least-0 harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.broadcast %safe along @up {fill = 1.0 : f64} : !n -> !n"), "finite positive harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.broadcast %safe along @up {fill = -1.0 : f64} : !n -> !n"), "finite non-zero harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.broadcast %1 along @all : !k -> !d"), "finite positive harmless");
}

TEST(NumberFacts, Reductions) {
  for (const char *kind : {"sum", "mean", "max", "min"}) {
    // 0 without members, whatever the members are.
    EXPECT_EQ(factsOf("%r = mpdfg.reduce " + std::string(kind) + " %safeEdge along @dst : !e -> !n"),
              "finite at-least-0 harmless")
        << kind;
    EXPECT_EQ(factsOf("%r = mpdfg.reduce " + std::string(kind) + " %e along @dst : !e -> !n"), "finite harmless")
        << kind;
  }
  // Minus infinity without members; winners are no numbers at all.
  EXPECT_EQ(factsOf("%r = mpdfg.reduce logsumexp %e along @dst : !e -> !n"), "harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.reduce argmax %e along @dst : !e -> !n"), "harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.norm %e along @dst : !e -> !e"), "finite at-least-0 harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>"), "finite at-least-0 harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.extent @node : tensor<f32>"), "finite at-least-0 harmless");
}

TEST(NumberFacts, OfTheGraphAlone) {
  EXPECT_TRUE(isOfGraphAlone(Value("%r = mpdfg.unary rsqrt %d : !d -> !d").value));
  EXPECT_FALSE(isOfGraphAlone(Value(binary("mul", "%d", "%x")).value));
  // Infinite without members, but nobody asks for its gradient.
  EXPECT_EQ(factsOf("%r = mpdfg.unary rsqrt %d : !d -> !d"), "harmless");
  EXPECT_EQ(factsOf("%r = mpdfg.unary log %d : !d -> !d"), "harmless");
}

TEST(NumberFacts, WithoutMembers) {
  EXPECT_EQ(factsWithoutMembers("%r = mpdfg.unary rsqrt %d : !d -> !d"), "");
  EXPECT_EQ(factsWithoutMembers("%r = mpdfg.unary exp %x : !n -> !n"), "");
  // The sum over no members is 0 even if each member would be infinite.
  EXPECT_EQ(factsWithoutMembers("%a = mpdfg.unary exp %e : !e -> !e\n %r = mpdfg.reduce sum %a along @dst : !e -> !n"),
            "finite");
  EXPECT_EQ(factsWithoutMembers("%a = mpdfg.unary exp %e : !e -> !e\n %r = mpdfg.reduce sum %a along @src : !e -> !n"),
            "");
  EXPECT_EQ(factsWithoutMembers("%q = mpdfg.unary rsqrt %d : !d -> !d\n"
                                "%r = mpdfg.select %d, %q, %1 : !d, !d, !k -> !d"),
            "finite non-zero");
  // Only what is selected there counts.
  EXPECT_EQ(factsWithoutMembers("%q = mpdfg.unary log %x : !n -> !n\n"
                                "%r = mpdfg.select %d, %q, %1 : !d, !n, !k -> !n"),
            "finite non-zero");
  EXPECT_EQ(factsWithoutMembers("%q = mpdfg.unary log %x : !n -> !n\n"
                                "%r = mpdfg.select %m, %q, %1 : !d, !n, !k -> !n"),
            "");
  EXPECT_EQ(factsWithoutMembers("%c = mpdfg.binary eq %d, %0 : !d, !k -> !d\n %q = mpdfg.unary log %x : !n -> !n\n"
                                "%r = mpdfg.select %c, %1, %q : !d, !k, !n -> !n"),
            "finite non-zero");
}
