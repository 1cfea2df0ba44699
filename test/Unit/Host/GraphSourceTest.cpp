//===- GraphSourceTest.cpp - What a graph's data are computed from --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphSource.h"
#include "gtest/gtest.h"

using namespace gnnc;

namespace {

/// x: [5, 3] of no integers; e: [2, 4]; t: [4]; s: a number.
std::optional<SourceTensor> find(llvm::StringRef name) {
  auto integers = [](std::vector<int64_t> shape, std::vector<int64_t> all) {
    return SourceTensor{std::move(shape), [all] { return llvm::Expected<std::vector<int64_t>>(all); }};
  };
  if (name == "x")
    return SourceTensor{{5, 3}, [] { return llvm::createStringError("no integers"); }};
  if (name == "e")
    return integers({2, 4}, {0, 1, 2, 2, 1, 1, 0, 2});
  if (name == "t")
    return integers({4}, {2, 0, 1, 0});
  if (name == "s")
    return integers({}, {7});
  return std::nullopt;
}

/// The numbers in brackets, a number without, or the error.
std::string evaluate(llvm::StringRef source) {
  GraphSources sources(find);
  auto result = sources.evaluate(source);
  if (!result)
    return llvm::toString(result.takeError());
  std::string text;
  for (int64_t number : (*result)->numbers)
    text += (text.empty() ? "" : " ") + std::to_string(number);
  return (*result)->isList ? "[" + text + "]" : text;
}

TEST(GraphSourceTest, ReadsTensorsAndSizes) {
  EXPECT_EQ(evaluate("size(x, 0)"), "5");
  EXPECT_EQ(evaluate("e[1]"), "[1 1 0 2]");
  EXPECT_EQ(evaluate("e[1][2]"), "0");
  EXPECT_EQ(evaluate("column(e, 1)"), "[1 1]");
  EXPECT_EQ(evaluate("column(e, 4)"), "tensor 'e': expected more than 4 columns, found 4");
  EXPECT_EQ(evaluate("column(t, 0)"), "tensor 't': expected 2 axes, found 1");
  EXPECT_EQ(evaluate("length(flat(e, -1, 4))"), "8");
  EXPECT_EQ(evaluate("slice(flat(e, 2, 4), 4, 8, 1)"), evaluate("e[1]"));
  EXPECT_EQ(evaluate("flat(e, -1, 3)"), "tensor 'e': expected axis 1 to have size 3, found 4");
  EXPECT_EQ(evaluate("flat(t, -1, 3)"), "tensor 't': expected 2 axes, found 1");
  EXPECT_EQ(evaluate("flat(none)"), "there is no tensor 'none'");
  EXPECT_EQ(evaluate("t"), "[2 0 1 0]");
  EXPECT_EQ(evaluate("s"), "7");
  EXPECT_EQ(evaluate("[3, -1]"), "[3 -1]");
}

TEST(GraphSourceTest, ComputesElementwise) {
  EXPECT_EQ(evaluate("add(t, 1)"), "[3 1 2 1]");
  EXPECT_EQ(evaluate("sub(10, t)"), "[8 10 9 10]");
  EXPECT_EQ(evaluate("mul(t, t)"), "[4 0 1 0]");
  EXPECT_EQ(evaluate("div(-3, 2)"), "-2");
  EXPECT_EQ(evaluate("mod(-3, 2)"), "1");
  EXPECT_EQ(evaluate("div(1, 0)"), "0");
  EXPECT_EQ(evaluate("eq(e[0], e[1])"), "[0 1 0 1]");
  EXPECT_EQ(evaluate("both(ge(t, 1), lt(t, 2))"), "[0 0 1 0]");
  EXPECT_EQ(evaluate("either(eq(t, 2), eq(t, 1))"), "[1 0 1 0]");
  EXPECT_EQ(evaluate("not(t)"), "[0 1 0 1]");
  EXPECT_EQ(evaluate("where(t, t, -1)"), "[2 -1 1 -1]");
  EXPECT_EQ(evaluate("minimum(maximum(t, 1), 1)"), "[1 1 1 1]");
  EXPECT_EQ(evaluate("at_most(at_least(size(t, 0), 4), 4)"), "4");
}

TEST(GraphSourceTest, MakesAndCutsLists) {
  EXPECT_EQ(evaluate("arange(0, 3, 1)"), "[0 1 2]");
  EXPECT_EQ(evaluate("arange(5, 0, -2)"), "[5 3 1]");
  EXPECT_EQ(evaluate("arange(3, 0, 1)"), "[]");
  EXPECT_EQ(evaluate("full(2, 9)"), "[9 9]");
  EXPECT_EQ(evaluate("cat(t, full(1, 8), [6])"), "[2 0 1 0 8 6]");
  EXPECT_EQ(evaluate("take(t, [3, 0])"), "[0 2]");
  EXPECT_EQ(evaluate("take(t, 0)"), "2");
  EXPECT_EQ(evaluate("nonzero(t)"), "[0 2]");
  EXPECT_EQ(evaluate("slice(t, 1, 100, 2)"), "[0 0]");
  EXPECT_EQ(evaluate("slice(t, -2, 4, 1)"), "[1 0]");
  EXPECT_EQ(evaluate("flip(t)"), "[0 1 0 2]");
  EXPECT_EQ(evaluate("interleave([4, 5], [2, 1])"), "[4 4 5]");
}

TEST(GraphSourceTest, SumsSortsAndWrites) {
  EXPECT_EQ(evaluate("max(t)"), "2");
  EXPECT_EQ(evaluate("min(t)"), "0");
  EXPECT_EQ(evaluate("sum(t)"), "3");
  EXPECT_EQ(evaluate("any(t)"), "1");
  EXPECT_EQ(evaluate("any(full(2, 0))"), "0");
  EXPECT_EQ(evaluate("any(arange(0, 0, 1))"), "0");
  EXPECT_EQ(evaluate("all(t)"), "0");
  EXPECT_EQ(evaluate("all(arange(0, 0, 1))"), "1");
  EXPECT_EQ(evaluate("length(t)"), "4");
  EXPECT_EQ(evaluate("cumsum(t)"), "[2 2 3 3]");
  EXPECT_EQ(evaluate("diff(t)"), "[-2 1 -1]");
  EXPECT_EQ(evaluate("argsort(t)"), "[1 3 2 0]");
  EXPECT_EQ(evaluate("unique(t)"), "[0 1 2]");
  EXPECT_EQ(evaluate("inverse(t)"), "[2 0 1 0]");
  EXPECT_EQ(evaluate("scatter_sum(t, 1, 4)"), "[2 1 1 0]");
  EXPECT_EQ(evaluate("put(full(3, -1), t, arange(0, 4, 1))"), "[3 2 0]"); // the last of two stays
}

TEST(GraphSourceTest, SaysWhatIsWrong) {
  EXPECT_EQ(evaluate("y"), "there is no tensor 'y'");
  EXPECT_EQ(evaluate("size(t, 1)"), "tensor 't': expected at least 2 axes, found 1");
  EXPECT_EQ(evaluate("e"), "tensor 'e': expected 0 or 1 axes, found 2");
  EXPECT_EQ(evaluate("e[2]"), "tensor 'e': expected more than 2 rows, found 2");
  EXPECT_EQ(evaluate("add(t, [1, 2])"), "add: expected lists of one length, found 4 and 2");
  EXPECT_EQ(evaluate("take(t, [4])"), "take: expected a position from 0 to 3, found 4");
  EXPECT_EQ(evaluate("scatter_sum(t, 1, 2)"), "scatter_sum: expected a position from 0 to 1, found 2");
  EXPECT_EQ(evaluate("at_most(at_least(size(t, 0), 2), 3)"),
            "size(t, 0): expected 3 or less, as the program was exported for, found 4");
  EXPECT_EQ(evaluate("at_least( size(t, 0) , 5)"),
            "size(t, 0): expected 5 or more, as the program was exported for, found 4");
  EXPECT_EQ(evaluate("at_least(t, 5)"), "t: expected a number, found a list");
  EXPECT_EQ(evaluate("full(-1, 0)"), "full: expected a length of 0 to 2^31, found -1");
  EXPECT_EQ(evaluate("full(9000000000, 0)"), "full: expected a length of 0 to 2^31, found 9000000000");
  EXPECT_EQ(evaluate("max(full(0, 1))"), "max: expected a list that is not empty");
  EXPECT_EQ(evaluate("neg(t, t)"), "neg: expected 1 arguments, found 2");
  EXPECT_EQ(evaluate("length(1)"), "length: expected a list, found a number");
  EXPECT_EQ(evaluate("sqrt(t)"), "there is no function 'sqrt' of integers");
  EXPECT_EQ(evaluate("t t"), "expected the end of the source, found 't'");
  EXPECT_EQ(evaluate("add(t"), "expected ',', found ''");
  EXPECT_EQ(evaluate(std::string(1000, '(')).substr(0, 15), "expected a name");
  std::string deep = "t";
  for (int i = 0; i < 300; ++i)
    deep = "neg(" + deep + ")";
  EXPECT_EQ(evaluate(deep), "expected a source of at most 200 levels");
}

} // namespace
