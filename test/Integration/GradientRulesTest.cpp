//===- GradientRulesTest.cpp - What slopes do not say of gradients --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules for places without a slope, values that take no part, and programs that the language cannot write.
//
//===----------------------------------------------------------------------===//

#include "Gradient.h"

#include "dialects/mpdfg/IR/MPDFG.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// Two nodes get edges, the third none.
Graph tinyGraph() {
  Graph graph;
  graph.extents = {{"node", 3}, {"edge", 5}};
  graph.maps = {{"src", {0, 1, 2, 1, 0}}, {"dst", {1, 0, 1, 1, 0}}};
  return graph;
}

/// Gradients as everyone computes them must be `expected`.
void expectGradients(const std::string &statements, const Graph &graph, const Tensors &tensors,
                     const Tensors &expected) {
  std::optional<frontend::ModelSpec> model = loadText("import std\nmodel M(a: int = 2) {\n" + statements + "\n}");
  ASSERT_TRUE(model);
  for (bool doublePrecision : {false, true}) {
    model->doublePrecision = doublePrecision;
    for (const std::unique_ptr<Runner> &runner : allRunners(*model, /*gradient=*/true)) {
      llvm::Expected<Tensors> results = runner->run(graph, tensors);
      ASSERT_TRUE(bool(results)) << runner->name() << ": " << llvm::toString(results.takeError());
      for (const auto &[name, tensor] : expected)
        EXPECT_LE(relativeError(results->at(name), tensor), 1e-6)
            << runner->name() << ", " << name << ": " << testing::PrintToString(results->at(name).data);
    }
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// Places without a slope
//===----------------------------------------------------------------------===//

TEST(GradientRules, TheFirstWinnerGetsAll) {
  // Edges 0, 2, 3 lead to node 1, edges 1, 4 to node 0.
  Tensors tensors = {{"e", {{5, 2}, {1, 4, 7, 2, 3, 4, 3, 4, 7, 1}}}, {"grad.y", {{3, 2}, {1, 2, 3, 4, 5, 6}}}};
  expectGradients("input e: edge[a]\noutput y = max(e)", tinyGraph(), tensors,
                  {{"grad.e", {{5, 2}, {0, 4, 1, 2, 3, 0, 0, 0, 0, 0}}}});
  expectGradients("input e: edge[a]\noutput y = min(e)", tinyGraph(), tensors,
                  {{"grad.e", {{5, 2}, {3, 4, 1, 0, 0, 0, 0, 0, 0, 2}}}});
}

TEST(GradientRules, TheFirstWinnerOfAllGetsAll) {
  Tensors tensors = {{"e", {{5, 2}, {1, 4, 7, 2, 3, 4, 3, 1, 7, 1}}}, {"grad.y", {{2}, {1, 2}}}};
  expectGradients("input e: edge[a]\noutput y = max(e, along: all)", tinyGraph(), tensors,
                  {{"grad.e", {{5, 2}, {0, 2, 1, 0, 0, 0, 0, 0, 0, 0}}}});
  expectGradients("input e: edge[a]\noutput y = min(e, along: all)", tinyGraph(), tensors,
                  {{"grad.e", {{5, 2}, {1, 0, 0, 0, 0, 0, 0, 2, 0, 0}}}});
}

TEST(GradientRules, WinnersReadThroughAMapGetTheirShares) {
  // All messages are equal, so the first edge into each node wins: 0 into node 1 (from 0), 1 into node 0 (from 1).
  Tensors tensors = {{"x", {{3, 2}, {2, 2, 2, 2, 2, 2}}}, {"grad.y", {{3, 2}, {1, 2, 3, 4, 5, 6}}}};
  expectGradients("input x: node[a]\noutput y = max(x.src)", tinyGraph(), tensors,
                  {{"grad.x", {{3, 2}, {3, 4, 1, 2, 0, 0}}}});
}

TEST(GradientRules, EqualFeaturesShare) {
  Tensors tensors = {{"x", {{3, 2}, {1, 1, 4, 7, 2, 2}}}, {"grad.y", {{3}, {1, 2, 3}}}};
  expectGradients("input x: node[a]\noutput y = max(x, over: a)", tinyGraph(), tensors,
                  {{"grad.x", {{3, 2}, {0.5, 0.5, 0, 2, 1.5, 1.5}}}});
}

TEST(GradientRules, KinksTakeTheBranchOfTheFunction) {
  Tensors tensors = {{"x", {{3, 2}, {0, 1, 0, -1, 0, 0}}}, {"z", {{3, 2}, {0, 0, 0, 0, 0, 1}}}};
  auto expect = [&](const std::string &expression, std::vector<double> gradient) {
    tensors["grad.y"] = {{3, 2}, {1, 1, 1, 1, 1, 1}};
    expectGradients("input x: node[a], z: node[a]\noutput y = " + expression + "\noutput zero = z * 0", tinyGraph(),
                    tensors, {{"grad.x", {{3, 2}, std::move(gradient)}}});
  };
  tensors["grad.zero"] = tensors["z"];
  expect("relu(x)", {0, 1, 0, 0, 0, 0});
  expect("leaky_relu(x, slope: 0.25)", {0.25, 1, 0.25, 0.25, 0.25, 0.25});
  expect("elu(x, alpha: 0.5)", {0.5, 1, 0.5, 0.5 * std::exp(-1.0), 0.5, 0.5});
  expect("abs(x) + sign(x)", {0, 1, 0, -1, 0, 0});
  expect("maximum(x, z)", {0, 1, 0, 0, 0, 0});
  expect("maximum(z, x)", {1, 1, 1, 0, 1, 0});
  expect("minimum(x, z)", {0, 0, 0, 1, 0, 1});
}

TEST(GradientRules, PowersOfZero) {
  // As PyTorch has it: no NaN where the limit is known.
  Tensors tensors = {{"x", {{3, 2}, {0, 0, 0, 2, -2, 3}}},
                     {"z", {{3, 2}, {0, 1, 2, 0, 2, 2}}},
                     {"grad.y", {{3, 2}, {1, 1, 1, 1, 1, 1}}}};
  expectGradients("input x: node[a], z: node[a]\noutput y = pow(x, z)", tinyGraph(), tensors,
                  {{"grad.x", {{3, 2}, {0, 1, 0, 0, -4, 6}}}});
  tensors["x"].data[4] = 2;
  expectGradients("input x: node[a], z: node[a]\noutput y = pow(x, z)", tinyGraph(), tensors,
                  {{"grad.z", {{3, 2}, {0, 0, 0, std::log(2.0), 4 * std::log(2.0), 9 * std::log(3.0)}}}});
}

//===----------------------------------------------------------------------===//
// Values that take no part
//===----------------------------------------------------------------------===//

TEST(GradientRules, NothingGoesThroughDetach) {
  Tensors tensors = {{"x", {{3, 2}, {1, 2, 3, 4, 5, 6}}}, {"grad.y", {{3, 2}, {1, 1, 1, 2, 2, 2}}}};
  expectGradients("input x: node[a]\noutput y = detach(x) * x", tinyGraph(), tensors,
                  {{"grad.x", {{3, 2}, {1, 2, 3, 8, 10, 12}}}});
  expectGradients("input x: node[a]\noutput y = detach(exp(x))", tinyGraph(), tensors,
                  {{"grad.x", {{3, 2}, {0, 0, 0, 0, 0, 0}}}});
}

TEST(GradientRules, DropoutIsTheIdentityInInference) {
  Tensors tensors = {{"x", {{3, 2}, {1, 2, 3, 4, 5, 6}}}, {"grad.y", {{3, 2}, {1, 1, 1, 2, 2, 2}}}};
  expectGradients("input x: node[a]\noutput y = dropout(square(dropout(x, 0.5)), 0.25)", tinyGraph(), tensors,
                  {{"grad.x", {{3, 2}, {2, 4, 6, 16, 20, 24}}}});
}

TEST(GradientRules, UndefinedMembersOfALogSumExpGetNothing) {
  // exp of what nobody counts may be beyond all numbers.
  const char *text = R"(
    space loop = filter(edge, src == dst)
    map last_loop = last(loop, dst)
    input x: node[a]
    output y = logsumexp(x, along: last_loop))";
  // Node 0 has the loop edge 4, node 1 edge 3.
  Tensors tensors = {{"x", {{3, 2}, {1, 2, 3, 4, 800, 900}}}, {"grad.y", {{2, 2}, {1, 2, 3, 4}}}};
  expectGradients(text, tinyGraph(), tensors, {{"grad.x", {{3, 2}, {3, 4, 1, 2, 0, 0}}}});
}

TEST(GradientRules, SumsOfNoMembersAreZeroWhereEachWouldBeInfinite) {
  // Node 2 has no members: its log-sum-exp is -inf, and what a member would get of it is infinite.
  Tensors tensors = {{"x", {{3, 2}, {1, 2, 3, 4, 5, 6}}}, {"grad.y", {{3, 2}, {1, 2, 3, 4, 5, 6}}}};
  expectGradients("input x: node[a]\noutput y = logsumexp(x.dst)", tinyGraph(), tensors,
                  {{"grad.x", {{3, 2}, {1, 2, 3, 4, 0, 0}}}});
  expectGradients("input x: node[a]\noutput y = sum(softmax(x.dst) * logsumexp(x.src).dst)", tinyGraph(), tensors,
                  {{"y",
                    {{3, 2},
                     {std::log(std::exp(3) + std::exp(1)), std::log(std::exp(4) + std::exp(2)),
                      std::log(std::exp(1) + std::exp(5) + std::exp(3)),
                      std::log(std::exp(2) + std::exp(6) + std::exp(4)), 0, 0}}}});
}

TEST(GradientRules, WhatNoMemberReadsMayBeInfinite) {
  // No edge leaves node 2: rsqrt of its number of edges is infinite, and so is 1 / u; made on nodes, both would meet
  // its row of x, and the gradients that are 0.
  Graph graph;
  graph.extents = {{"node", 3}, {"edge", 3}};
  graph.maps = {{"src", {0, 1, 1}}, {"dst", {1, 0, 2}}};
  Tensors tensors = {{"x", {{3, 2}, {1, 2, 3, 4, 5, 6}}},
                     {"u", {{3}, {0.5, 0.25, 0}}},
                     {"W", {{2, 2}, {1, 2, 3, 4}}},
                     {"grad.y", {{3, 2}, {1, 2, 3, 4, 5, 6}}}};
  const char *inputs = "input x: node[a]\nparam W[a, b = 2]\n";
  // Edge 0 reads x[0] and g[1], edges 1 and 2 read x[1] and g[0] + g[2] = (6, 8).
  Tensors expected = {
      {"grad.W",
       {{2, 2}, {1 * 3 * 2 + 3 * 6 * 4, 1 * 4 * 2 + 3 * 8 * 4, 2 * 3 * 2 + 4 * 6 * 4, 2 * 4 * 2 + 4 * 8 * 4}}},
      {"grad.x", {{3, 2}, {11 * 2, 25 * 2, 22 * 4, 50 * 4, 0, 0}}}};
  expectGradients(std::string(inputs) + "input u: node[]\noutput y = sum((x.src * recip(detach(u)).src) @ W)", graph,
                  tensors, expected);
  tensors.erase("u");
  double half = std::sqrt(0.5);
  expected = {{"grad.W", {{2, 2}, {3 + 18 * half, 4 + 24 * half, 6 + 24 * half, 8 + 32 * half}}},
              {"grad.x", {{3, 2}, {11, 25, 22 * half, 50 * half, 0, 0}}}};
  for (const char *y : {"sum((x.src * rsqrt(degree(src)).src) @ W)", "sum((x @ W).src * rsqrt(degree(src)).src)"})
    expectGradients(std::string(inputs) + "output y = " + y, graph, tensors, expected);
}

TEST(GradientRules, InfiniteWeightsOfOwnersWithoutMembersDoNotCount) {
  // Node 2 has no members, and 1 / 0 for a weight: sums over its members are 0 all the same.
  Tensors tensors = {{"e", {{5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}}, {"u", {{3, 2}, {1, 0.5, 2, 0.25, 0, 0}}}};
  const char *inputs = "input e: edge[a], u: node[a]\nlet g = recip(u)\n";
  tensors["grad.y"] = {{3}, {0, 0, 0}};
  // Edges 1 and 4 lead to node 0, edges 0, 2, 3 to node 1.
  expectGradients(std::string(inputs) + "output y = sum(sum(e * g.dst, over: a))", tinyGraph(), tensors,
                  {{"y", {{3}, {12 * 1 + 14 * 2, 13 * 0.5 + 16 * 4, 0}}}});
  tensors["p"] = {{5}, {1, 2, 3, 4, 5}};
  tensors["grad.O"] = {{3, 2}, {0, 0, 0, 0, 0, 0}};
  expectGradients(std::string(inputs) +
                      "input p: edge[]\noutput O = sum(p * e)\noutput y = sum(p * sum(g.dst * e, over: a))",
                  tinyGraph(), tensors, {{"y", {{3}, {51 * 1 + 58 * 2, 44 * 0.5 + 52 * 4, 0}}}});
}

TEST(GradientRules, WhatNoMemberReadsMayOverflow) {
  // No edge goes to node 2, so nobody asks for the exponential of its number.
  Graph graph = tinyGraph();
  Tensor x = {{3, 2}, {0.1, -0.2, 0.3, 0.4, 1000, 2000}}, y = Tensor::zeros({3, 2}), grad = y;
  for (int e = 0; e < 5; ++e)
    for (int i = 0; i < 2; ++i) {
      int from = 2 * graph.maps["src"][e] + i, to = 2 * graph.maps["dst"][e] + i;
      y.data[from] += std::exp(x.data[to]) * x.data[from];
      grad.data[from] += std::exp(x.data[to]);
      grad.data[to] += std::exp(x.data[to]) * x.data[from];
    }
  expectGradients("input x: node[a]\noutput y = sum(exp(x.dst) * x.src, along: src)", graph,
                  {{"x", x}, {"grad.y", {{3, 2}, {1, 1, 1, 1, 1, 1}}}}, {{"y", y}, {"grad.x", grad}});
}

TEST(GradientRules, WhatNoOutputNeedsHasGradientZero) {
  Tensors tensors = {{"x", {{3, 2}, {1, 2, 3, 4, 5, 6}}},
                     {"w", {{2}, {1, 2}}},
                     {"v", {{2}, {1, 2}}},
                     {"grad.y", {{3, 2}, {1, 1, 1, 2, 2, 2}}},
                     {"grad.z", {{2}, {1, 1}}}};
  expectGradients("input x: node[a]\nparam w[a], v[a]\noutput y = sign(x) + detach(w)\noutput z = v * sign(w)",
                  tinyGraph(), tensors,
                  {{"grad.x", {{3, 2}, {0, 0, 0, 0, 0, 0}}}, {"grad.w", {{2}, {0, 0}}}, {"grad.v", {{2}, {1, 1}}}});
}

static int64_t operations(const Program &program) {
  return std::distance(program.body().getBody().front().begin(), program.body().getBody().front().end());
}

TEST(GradientRules, NothingIsComputedForWhatIsNotWanted) {
  auto added = [](const std::string &statements, bool inputs) {
    std::optional<frontend::ModelSpec> model =
        loadText("import std\nmodel M(a: int = 2, node_type: int = 2) {\n" + statements + "\n}");
    Program program(*model), differentiated(*model);
    EXPECT_TRUE(differentiated.differentiate(inputs));
    return operations(differentiated) - operations(program);
  };
  // Only inputs: not even a zero.
  EXPECT_EQ(added("input x: node[a]\noutput y = sum(exp(x.src) * softmax(x.dst))", false), 0);
  EXPECT_EQ(added("input x: node[a]\nstate s[a]\noutput y = max(x.src + s) * s", false), 0);
  // The weight's gradient alone: times x, summed over all rows; also over the axis that it was repeated along, and
  // reshaped.
  EXPECT_EQ(added("input x: node[a]\nparam w[a]\noutput y = exp(x) * w", false), 2);
  EXPECT_EQ(added("input x: node[a]\nparam w[]\noutput y = x.src * w", false), 4);
  EXPECT_EQ(added("input x: node[a]\nparam w[a, b = 3]\noutput y = sum(x.src) @ w", false), 2);
  // No rule where no output depends on the value; a gradient of zero has a number and its rows.
  EXPECT_EQ(added("input x: node[a]\nparam w[a]\noutput y = x + degree(dst)\noutput z = detach(w)", false), 1);
  EXPECT_EQ(added("input x: node[a]\noutput y = detach(softmax(x.src))", true), 2);
}

//===----------------------------------------------------------------------===//
// Derivatives by values that are not arguments
//===----------------------------------------------------------------------===//

TEST(GradientRules, AValueIsNotAnotherThatEqualsIt) {
  Tensor x = {{3, 2}, {0.1, -0.2, 0.3, 0.4, -0.5, 0.6}}, ones = {{3, 2}, {1, 1, 1, 1, 1, 1}}, tanh = x, twice = x;
  for (double &number : tanh.data)
    number = std::tanh(number);
  for (double &number : twice.data)
    number *= 2;
  Tensors tensors = {{"x", x}, {"grad.g", ones}, {"grad.h", ones}, {"grad.k", ones}};
  // A sum with 0, another name for the axis, another tanh of the same.
  expectGradients("input x: node[a]\nlet y = x + 0\nlet z = rename(x, a: b)\nlet u = tanh(x)\nlet v = tanh(x)\n"
                  "output g = gradient(sum(sum(x * y, over: a), along: all), y)\n"
                  "output h = gradient(sum(sum(x * rename(z, b: a), over: a), along: all), z)\n"
                  "output k = gradient(sum(sum(u * v, over: a), along: all), u)",
                  tinyGraph(), tensors, {{"g", x}, {"h", x}, {"k", tanh}});
  expectGradients("input x: node[a]\noutput g = gradient(sum(sum(x * (x + 0), over: a), along: all), x)", tinyGraph(),
                  {{"x", x}, {"grad.g", ones}}, {{"g", twice}, {"grad.x", {{3, 2}, {2, 2, 2, 2, 2, 2}}}});
}

/// Rewrites see a softmax, a mean and products on pairs of nodes and types here, in which the value does not occur.
TEST(GradientRules, ByPartsOfPatterns) {
  Graph graph = tinyGraph();
  graph.extents["edge_type"] = 2;
  graph.maps["etype"] = {0, 1, 1, 0, 1};
  Tensor s = {{5}, {0.1, 0.5, -0.3, 0.2, -0.7}}, c = {{5}, {1, 2, -1, 0.5, 3}}, zeros = {{5}, {0, 0, 0, 0, 0}};
  Tensor softmax = zeros, mean = {{3}, {0, 0, 0}}, weights = Tensor::zeros({5, 2, 1});
  Tensor x = {{3, 2}, {0.1, -0.2, 0.3, 0.4, -0.5, 0.6}};
  for (int e = 0; e < 5; ++e) {
    int owner = graph.maps["dst"][e];
    double total = 0, weighted = 0, members = 0;
    for (int other = 0; other < 5; ++other)
      if (graph.maps["dst"][other] == owner) {
        total += std::exp(s.data[other]);
        weighted += std::exp(s.data[other]) * c.data[other];
        members += 1;
      }
    softmax.data[e] = (c.data[e] - weighted / total) / total;
    mean.data[owner] = 1 / members;
    for (int i = 0; i < 2; ++i)
      weights.data[2 * e + i] = x.data[2 * graph.maps["src"][e] + i];
  }
  mean.data[2] = 1; // no members, so divided by 1
  expectGradients("input s: edge[], c: edge[]\nlet p = exp(s)\nlet total = sum(s)\n"
                  "output g = gradient(sum(c * p / sum(p).dst, along: all), p)\n"
                  "output h = gradient(sum(total / maximum(degree(dst), 1), along: all), total)",
                  graph, {{"s", s}, {"c", c}, {"grad.g", zeros}, {"grad.h", {{3}, {0, 0, 0}}}},
                  {{"g", softmax}, {"h", mean}});
  std::optional<frontend::ModelSpec> model =
      loadText("model M(a: int = 2, edge_type: int = 2) {\ninput x: node[a]\nparam W: edge_type[a, b = 1]\n"
               "let w = W.etype\nlet y = sum(x.src @ w)\n"
               "output g = gradient(sum(sum(y, over: b), along: all), w)\n}");
  ASSERT_TRUE(model);
  for (const std::unique_ptr<Runner> &runner : allRunners(*model, /*gradient=*/true)) {
    llvm::Expected<Tensors> results =
        runner->run(graph, {{"x", x}, {"W", {{2, 2, 1}, {1, 2, 3, 4}}}, {"grad.g", Tensor::zeros({5, 2, 1})}});
    ASSERT_TRUE(bool(results)) << runner->name() << ": " << llvm::toString(results.takeError());
    EXPECT_LE(relativeError(results->at("g"), weights), 1e-6) << runner->name();
  }
}

//===----------------------------------------------------------------------===//
// What the language cannot say
//===----------------------------------------------------------------------===//

namespace {

constexpr const char *kHead = R"(
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.space @type static {extent = 3 : i64}
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
  mpdfg.map @etype root from @edge to @type
  mpdfg.map @up root from @edge to @node {partial}
)";

struct Text {
  const char *name, *body;
};

void PrintTo(const Text &text, std::ostream *stream) { *stream << text.name; }

class GradientOfText : public testing::TestWithParam<Text> {};

/// Numbers for every argument of a program.
Tensors tensorsFor(const Program &program, const Graph &graph, unsigned seed) {
  Tensors tensors;
  mlir::func::FuncOp function = program.body();
  std::mt19937 random(seed);
  for (mlir::BlockArgument argument : function.getArguments()) {
    Tensor tensor;
    if (mlir::FlatSymbolRefAttr space = mpdfg::getResidency(argument.getType()))
      tensor.shape.push_back(graph.extent(space.getValue().str()));
    llvm::append_range(tensor.shape, mpdfg::getFeatureShape(argument.getType()));
    tensor = Tensor::zeros(tensor.shape);
    for (double &x : tensor.data)
      x = (random() % 2 ? 1 : -1) * (0.1 + double(random() % 1000003) / 1000003);
    tensors[function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), kNameAttr).str()] = tensor;
  }
  return tensors;
}

} // namespace

/// The interpreter alone knows these programs: as they stand, and as kernels of every level.
TEST_P(GradientOfText, IsTheSlope) {
  std::string text = std::string(kHead) + GetParam().body;
  Program program(text);
  ASSERT_TRUE(program.ok());
  std::vector<std::pair<std::string, Program>> ways;
  ways.emplace_back("as it stands", Program(text));
  ASSERT_TRUE(ways.back().second.differentiate());
  for (unsigned optLevel : {0u, 1u, 2u}) {
    ways.emplace_back("O" + std::to_string(optLevel), Program(text));
    ASSERT_TRUE(ways.back().second.lower(optLevel));
  }
  for (auto [nodes, edges] : {std::pair(5, 11), std::pair(2, 0), std::pair(0, 0)}) {
    Graph graph = randomGraph(nodes, edges, 3, 3, 3);
    graph.extents["type"] = 3;
    graph.maps["up"] = graph.maps["src"];
    for (size_t e = 0; e < graph.maps["up"].size(); e += 2)
      graph.maps["up"][e] = -1;
    Tensors tensors = tensorsFor(program, graph, 5);
    llvm::Expected<Tensors> outputs = program.run(graph, tensors);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    addOutputGradients(tensors, *outputs, 6);
    for (const auto &[name, way] : ways) {
      llvm::Expected<Tensors> results = way.run(graph, tensors);
      ASSERT_TRUE(bool(results)) << name << ": " << llvm::toString(results.takeError());
      EXPECT_EQ(compareWithDifferences(program, graph, tensors, *results, 1e-6), "")
          << name << ", " << nodes << " nodes";
    }
  }
}

#define ARGUMENT(role, name) " {mpdfg.role = #mpdfg.role<" role ">, mpdfg.name = \"" name "\"}"

INSTANTIATE_TEST_SUITE_P(
    Operations, GradientOfText,
    testing::Values(
        Text{"labels_of_one_operand", "func.func @forward(%x: tensor<?x2x3x4xf32, #mpdfg.on<@node>>" ARGUMENT(
                                          "input", "x") ", %w: tensor<3x5x2xf32>" ARGUMENT("param", "w") R"() ->
            (tensor<?x5xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}, tensor<?x3xf32, #mpdfg.on<@node>> {mpdfg.name = "z"}) {
          %0 = mpdfg.contract %x [0, 1, 2], %w [1, 3, 4] -> [3] : tensor<?x2x3x4xf32, #mpdfg.on<@node>>, tensor<3x5x2xf32>
            -> tensor<?x5xf32, #mpdfg.on<@node>>
          %1 = mpdfg.contract %w [1, 3, 0], %x [0, 1, 2] -> [1] : tensor<3x5x2xf32>, tensor<?x2x3x4xf32, #mpdfg.on<@node>>
            -> tensor<?x3xf32, #mpdfg.on<@node>>
          return %0, %1 : tensor<?x5xf32, #mpdfg.on<@node>>, tensor<?x3xf32, #mpdfg.on<@node>>
        })"},
        Text{"outer_product",
             "func.func @forward(%x: tensor<?x2x3xf32, #mpdfg.on<@edge>>" ARGUMENT(
                 "input", "x") ", %z: tensor<?x4x2xf32, #mpdfg.on<@edge>>" ARGUMENT("input", "z") R"() ->
            (tensor<?x3x2x4xf32, #mpdfg.on<@edge>> {mpdfg.name = "y"}, tensor<2x4x3xf32> {mpdfg.name = "s"},
             tensor<3x4x2xf32, #mpdfg.on<@type>> {mpdfg.name = "t"}) {
          %0 = mpdfg.contract %x [0, 1], %z [2, 0] -> [1, 0, 2] : tensor<?x2x3xf32, #mpdfg.on<@edge>>,
            tensor<?x4x2xf32, #mpdfg.on<@edge>> -> tensor<?x3x2x4xf32, #mpdfg.on<@edge>>
          %1 = mpdfg.contract %x [0, 1], %z [2, 0] -> [0, 2, 1] : tensor<?x2x3xf32, #mpdfg.on<@edge>>,
            tensor<?x4x2xf32, #mpdfg.on<@edge>> -> tensor<?x2x4x3xf32, #mpdfg.on<@edge>>
          %2 = mpdfg.reduce sum %1 along @all : tensor<?x2x4x3xf32, #mpdfg.on<@edge>> -> tensor<2x4x3xf32>
          %3 = mpdfg.contract %x [0, 1], %z [2, 0] -> [2, 1] : tensor<?x2x3xf32, #mpdfg.on<@edge>>,
            tensor<?x4x2xf32, #mpdfg.on<@edge>> -> tensor<?x4x3xf32, #mpdfg.on<@edge>>
          %4 = mpdfg.slice %3 axis 1 from 1 : tensor<?x4x3xf32, #mpdfg.on<@edge>> -> tensor<?x4x2xf32, #mpdfg.on<@edge>>
          %5 = mpdfg.reduce sum %4 along @etype : tensor<?x4x2xf32, #mpdfg.on<@edge>> -> tensor<3x4x2xf32, #mpdfg.on<@type>>
          return %0, %2, %5 : tensor<?x3x2x4xf32, #mpdfg.on<@edge>>, tensor<2x4x3xf32>,
            tensor<3x4x2xf32, #mpdfg.on<@type>>
        })"},
        Text{"everywhere", "func.func @forward(%w: tensor<2xf32>" ARGUMENT(
                               "param", "w") ", %t: tensor<3x2xf32, #mpdfg.on<@type>>" ARGUMENT("param", "t") R"() ->
            (tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}, tensor<3x2xf32> {mpdfg.name = "c"}) {
          %0 = mpdfg.broadcast %w along @all : tensor<2xf32> -> tensor<?x2xf32, #mpdfg.on<@node>>
          %1 = mpdfg.binary mul %0, %0 : tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>
            -> tensor<?x2xf32, #mpdfg.on<@node>>
          %2 = mpdfg.binary mul %t, %w : tensor<3x2xf32, #mpdfg.on<@type>>, tensor<2xf32> -> tensor<3x2xf32, #mpdfg.on<@type>>
          %3 = mpdfg.collect %2 : tensor<3x2xf32, #mpdfg.on<@type>> -> tensor<3x2xf32>
          %4 = mpdfg.unary sin %3 : tensor<3x2xf32> -> tensor<3x2xf32>
          return %1, %4 : tensor<?x2xf32, #mpdfg.on<@node>>, tensor<3x2xf32>
        })"},
        Text{"partial", "func.func @forward(%x: tensor<?x2xf32, #mpdfg.on<@node>>" ARGUMENT(
                            "input", "x") ", %e: tensor<?x2xf32, #mpdfg.on<@edge>>" ARGUMENT("input", "e") R"() ->
            (tensor<?x2xf32, #mpdfg.on<@edge>> {mpdfg.name = "y"}, tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "z"},
             tensor<?x2xf32, #mpdfg.on<@edge>> {mpdfg.name = "n"}, tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "m"}) {
          %0 = mpdfg.broadcast %x along @up {fill = 2.0} : tensor<?x2xf32, #mpdfg.on<@node>> 
            -> tensor<?x2xf32, #mpdfg.on<@edge>>
          %1 = mpdfg.binary mul %0, %e : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>>
            -> tensor<?x2xf32, #mpdfg.on<@edge>>
          %2 = mpdfg.reduce max %1 along @up : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
          %3 = mpdfg.norm %1 along @up : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
          %4 = mpdfg.reduce mean %3 along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
          return %1, %2, %3, %4 : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@node>>,
            tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@node>>
        })"},
        // exp of what a softmax leaves out may be beyond all numbers.
        Text{"left_out", "func.func @forward(%e: tensor<?x2xf32, #mpdfg.on<@edge>>" ARGUMENT("input", "e") R"() ->
            (tensor<?x2xf32, #mpdfg.on<@edge>> {mpdfg.name = "y"}) {
          %0 = mpdfg.constant 0.0 : tensor<2xf32>
          %1 = mpdfg.broadcast %0 along @all : tensor<2xf32> -> tensor<?x2xf32, #mpdfg.on<@node>>
          %2 = mpdfg.broadcast %1 along @up {fill = 2000.0} : tensor<?x2xf32, #mpdfg.on<@node>>
            -> tensor<?x2xf32, #mpdfg.on<@edge>>
          %3 = mpdfg.binary add %e, %2 : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>>
            -> tensor<?x2xf32, #mpdfg.on<@edge>>
          %4 = mpdfg.norm %3 along @up : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
          return %4 : tensor<?x2xf32, #mpdfg.on<@edge>>
        })"}),
    [](const auto &info) { return std::string(info.param.name); });
