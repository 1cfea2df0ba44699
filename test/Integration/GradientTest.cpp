//===- GradientTest.cpp - Gradients of every operation --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation in every role it can have: the interpreter's gradients are the slopes of the program, and compiled
// code computes the interpreter's gradients, whatever the level and the number of threads.
//
//===----------------------------------------------------------------------===//

#include "Gradient.h"

#include "mlir/IR/Verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace gnnc;
using namespace gnnc::test;

namespace {

struct Case {
  std::string name, text;
};
void PrintTo(const Case &each, std::ostream *stream) { *stream << each.name; }

/// Numbers that float32 holds, away from 0; those whose names begin with `pos` are positive.
Tensors tensorsAwayFromZero(const frontend::ModelSpec &model, const Graph &graph, unsigned seed) {
  Tensors tensors = randomTensors(model, graph, seed);
  for (auto &[name, tensor] : tensors)
    for (double &x : tensor.data) {
      x = float(std::copysign(0.1 + std::abs(x), x));
      if (llvm::StringRef(name).starts_with("pos"))
        x = std::abs(x);
    }
  return tensors;
}

std::vector<Graph> smallGraphs() {
  return {randomGraph(6, 14, 1), randomGraph(3, 0, 2), randomGraph(1, 2, 3), randomGraph(0, 0, 4)};
}

std::string withTypes(const std::string &statements) {
  return "import std\nmodel M(node_type: int = 3, edge_type: int = 4, a: int = 3, b: int = 2) {\n" + statements + "\n}";
}

/// Numbers that are not finite must be equal; what should be 0 may be noise.
std::string differences(Tensor actual, Tensor expected, double tolerance) {
  if (actual.shape != expected.shape)
    return "another shape";
  for (size_t i = 0; i < expected.data.size(); ++i)
    if (std::isinf(expected.data[i]) && actual.data[i] == expected.data[i])
      actual.data[i] = expected.data[i] = 0;
  double worst = 0, magnitude = 1;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    double error = std::abs(actual.data[i] - expected.data[i]);
    worst = error <= worst ? worst : error; // a NaN too
    magnitude = std::max(magnitude, std::abs(expected.data[i]));
  }
  return worst <= tolerance * magnitude ? "" : "difference of " + std::to_string(worst);
}

/// Entries of sparse matrices, no two of them at one place.
void addSparseInputs(const frontend::ModelSpec &model, Graph &graph) {
  for (const frontend::SparseInput &sparse : model.sparseInputs) {
    const frontend::Map &row = model.maps[size_t(sparse.row)], &column = model.maps[size_t(sparse.column)];
    auto &rows = graph.maps[row.name], &columns = graph.maps[column.name];
    int64_t width = model.spaces[size_t(column.to)].extent;
    graph.extents[model.spaces[size_t(column.to)].name] = width;
    for (int64_t v = 0; v < graph.extent("node"); ++v)
      for (int64_t c = v % 3; c < width; c += 2) {
        rows.push_back(int32_t(v));
        columns.push_back(int32_t(c));
      }
    graph.extents[model.spaces[size_t(row.from)].name] = int64_t(rows.size());
  }
}

void checkCompiled(frontend::ModelSpec model, bool doublePrecision, const std::vector<Graph> &graphs,
                   const std::vector<Tensors> &given, const std::vector<Tensors> &expected) {
  model.doublePrecision = doublePrecision;
  for (unsigned optLevel : {0u, 1u, 2u}) {
    // Old and new processors in turn: each has code of its own.
    const int levels[] = {0, 3, bestProcessorLevel()};
    int cpuLevel = levels[doublePrecision ? 2 - optLevel : optLevel];
    // LLVM's optimiser takes most of the time: as most models are compiled alone.
    bool optimise = optLevel == 2 && (!doublePrecision || testsEverything());
    auto compiled = CompiledModel::create(model, optLevel, cpuLevel, /*gradient=*/true, optimise);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    double tolerance = doublePrecision ? 1e-11 : 2e-5;
    std::string way = std::string(doublePrecision ? "f64 " : "f32 ") + (*compiled)->name();
    for (size_t i = 0; i < graphs.size(); ++i) {
      Tensors first;
      for (int threads : {1, 2}) {
        (*compiled)->setThreads(threads);
        llvm::Expected<Tensors> results = (*compiled)->run(graphs[i], given[i]);
        ASSERT_TRUE(bool(results)) << way << ": " << llvm::toString(results.takeError());
        ASSERT_EQ(results->size(), expected[i].size());
        for (const auto &[name, tensor] : expected[i]) {
          const Tensor &actual = results->at(name);
          EXPECT_EQ(differences(actual, tensor, tolerance), "") << way << ", graph " << i << ", " << name;
          if (threads == 1)
            first[name] = actual;
          else
            EXPECT_TRUE(haveSameBits(first[name], actual))
                << way << ", graph " << i << ", " << name << ": the bits depend on the number of threads";
        }
      }
    }
  }
}

/// `slopes`: compare with differences too, which takes a run for each number. `seed`: of the numbers that are given.
void checkModel(const std::string &text, bool slopes = true, uint64_t seed = 7) {
  std::optional<frontend::ModelSpec> model = loadText(text);
  ASSERT_TRUE(model);
  Program program(*model), differentiated(*model);
  ASSERT_TRUE(differentiated.differentiate());
  ASSERT_TRUE(mlir::succeeded(mlir::verify(differentiated.body()->getParentOp())));
  std::vector<Graph> graphs = smallGraphs();
  std::vector<Tensors> given, expected;
  graphs.push_back(slopes ? randomGraph(150, 900, 5)
                          : randomGraph(40, 150, 5)); // several blocks: only for compiled code
  for (size_t i = 0; i < graphs.size(); ++i) {
    addSparseInputs(*model, graphs[i]);
    Tensors tensors = tensorsAwayFromZero(*model, graphs[i], seed);
    llvm::Expected<Tensors> outputs = program.run(graphs[i], tensors);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    addOutputGradients(tensors, *outputs, 11);
    llvm::Expected<Tensors> results = differentiated.run(graphs[i], tensors);
    ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
    for (const auto &[name, output] : *outputs)
      EXPECT_EQ(results->at(name).data, output.data) << name;
    if (slopes && i + 1 < graphs.size())
      EXPECT_EQ(compareWithDifferences(program, graphs[i], tensors, *results, 1e-6), "") << "graph " << i;
    given.push_back(std::move(tensors));
    expected.push_back(std::move(*results));
  }
  checkCompiled(*model, /*doublePrecision=*/false, graphs, given, expected);
  checkCompiled(*model, /*doublePrecision=*/true, graphs, given, expected);
}

class Gradient : public testing::TestWithParam<Case> {};

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

std::string unaryFunctions() {
  std::string text;
  int number = 0;
  auto each = [&](const std::string &x, const std::string &function) {
    std::string name = x + std::to_string(number), y = "y" + std::to_string(number++);
    text += "input " + name + ": node[a]\noutput " + y + " = ";
    size_t at = function.find('$');
    text += function.substr(0, at) + name + function.substr(at + 1) + "\n";
  };
  for (const char *function : {"-$",
                               "exp($)",
                               "recip($)",
                               "abs($)",
                               "sign($)",
                               "floor($)",
                               "ceil($)",
                               "round($)",
                               "square($)",
                               "sin($)",
                               "cos($)",
                               "tanh($)",
                               "erf($)",
                               "relu($)",
                               "leaky_relu($)",
                               "leaky_relu($, slope: 0.3)",
                               "elu($)",
                               "elu($, alpha: 0.5)",
                               "gelu($)",
                               "silu($)",
                               "sigmoid($)",
                               "softplus($)"})
    each("x", function);
  for (const char *function : {"log($)", "sqrt($)", "rsqrt($)"})
    each("pos", function);
  return text;
}

/// Operands with other axes, without rows, with neither.
std::string binaryFunctions(const std::vector<std::string> &functions) {
  std::string text = "input x: node[a, b], y: node[b], z: node[], posx: node[a, b]\nparam s[a], t[], u[b, a]\n";
  int number = 0;
  for (const std::string &function : functions)
    for (auto [left, right] : {std::pair("x", "x"), std::pair("x", "y"), std::pair("s", "y"), std::pair("z", "u"),
                               std::pair("x", "t"), std::pair("s", "u"), std::pair("y", "z")}) {
      std::string expression = function;
      for (auto [from, to] : {std::pair('$', left), std::pair('%', right)})
        for (size_t at; (at = expression.find(from)) != std::string::npos;)
          expression.replace(at, 1, to);
      text += "output y" + std::to_string(number++) + " = " + expression + "\n";
    }
  return text;
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

std::vector<Case> cases() {
  std::vector<Case> list;
  auto add = [&](const char *name, const std::string &statements) { list.push_back({name, withTypes(statements)}); };

  add("unary", unaryFunctions());
  add("binary_linear", binaryFunctions({"$ + %", "$ - %", "$ * %", "$ * % + $"}));
  add("binary_ratio", binaryFunctions({"$ / %", "maximum($, %)", "minimum($, %)"}));
  add("pow", R"(
    input pos: node[a, b], y: node[b]
    param posw[a], s[], u[b, a]
    output y0 = pow(pos, y)
    output y1 = pow(posw, y)
    output y2 = pow(pos, s)
    output y3 = pow(posw, u)
    output y4 = y ^ 2 + y ^ 3)");
  add("compare", R"(
    input x: node[a], y: node[a]
    output y0 = (x < y) * x + (x >= y) * square(y)
    output y1 = (x == y) + (x != 0) * (x <= y) * (x > y))");
  add("select", R"(
    input x: node[a, b], y: node[b], c: node[], d: node[a, b]
    param s[a], t[b]
    output y0 = where(c > 0, x, y)
    output y1 = where(d, x, s)
    output y2 = where(s, y, x)
    output y3 = where(d < x, s, t)
    output y4 = where(t, s, t))");
  add("contract", R"(
    input x: node[a, b], y: node[b, c = 2], z: node[a, b]
    param W[b, o = 3], V[a, b, o], u[b], U[b, c, o]
    output product = x @ W
    output batched = dot(x, V, over: b)
    output all = dot(x, V, over: (a, b))
    output vector = x @ u
    output both = dot(x, y, over: b)
    output elementwise = dot(x, z, over: (a, b))
    output batches = dot(x, z, over: a)
    output outer = dot(x, y @ rename(U, o: a) , over: b)
    output shared = dot(W, u, over: b)
    output reversed = permute(W, (o, b)) @ x)");
  add("edge_product", R"(
    input x: node[a], e: edge[b]
    param W[a, o = 5], V[b, o], K: edge_type[a, o], A: node_type[a, o]
    output y0 = sum(relu(x.src @ W + e @ V))
    output y1 = sum(x.src @ K.etype)
    output y2 = x @ A.ntype
    output y3 = sum(x.src @ A.src * sum(e, over: b), along: src))");
  add("fold", R"(
    input x: node[a, b]
    param w[a, b]
    output y0 = sum(x, over: a) * mean(x, over: (a, b))
    output y1 = max(x, over: a)
    output y2 = min(x, over: (a, b))
    output y3 = logsumexp(x, over: b)
    output y4 = softmax(x, over: a)
    output y5 = log_softmax(x, over: b)
    output y6 = max(w, over: b) * mean(w, over: a)
    output y7 = max(x * w, over: a)
    output y8 = logsumexp(x * w, over: (a, b)))");
  add("shapes", R"(
    input x: node[a, b], y: node[b], e: edge[]
    param w[a, b], v[c = 4]
    output y0 = merge(x, (a, b), as: c) * merge(w, (a, b), as: c)
    output y1 = permute(x, (b, a)) / (2 + square(permute(w, (b, a))))
    output y2 = split(v, c, first: 2, second: 2) * e
    output y3 = square(x[a: 1..2]) + exp(x[a: 0..1])
    output y4 = concat(x, w, x, axis: c2)
    output y5 = sin(concat(y, v, axis: c3))[c3: 1..5]
    output y6 = concat(v, v * e, axis: c4)
    output y7 = w[b: 0..1] * 2)");

  // Movements.
  add("moves", R"(
    input x: node[a], p: graph[a]
    param t: node_type[a], w[a]
    output y0 = x.src * x.dst
    output y1 = sin(t.src) + exp(p.batch.dst)
    output y2 = move(w, src) * 2
    output y3 = square(p.batch))");
  for (const char *function : {"sum", "mean", "max", "min", "logsumexp", "softmax"}) {
    std::string f(function), text = "input x: node[a], e: edge[a], v: edge[]\nparam w[a]\n";
    for (const char *along : {"dst", "src", "etype", "dst.ntype", "all"})
      text += "output y" + std::to_string(text.size()) + " = " + f + "(sin(x.src + 3 * e), along: " + along + ")\n";
    text += "output n = " + f + "(sin(x), along: batch)\noutput m = " + f + "(v)\noutput all = " + f +
            "(x * x, along: all)\n";
    // Read back by the members, along this map and the other one.
    if (f != "softmax" && f != "logsumexp")
      text += "output b = sum(sin(" + f + "(e).dst * e))\noutput c = sum(" + f + "(e).src * e)\n" + //
              "output d = x - " + f + "(x, along: all)\n";
    else if (f == "softmax")
      text += "output b = sum(softmax(e) * x.src)\noutput c = sum(softmax(e) * e, along: src)\n"
              "output d = max(softmax(e + x.dst) * x.src)\n";
    // Equal for all members.
    text += "output o = " + f + "(sin(x.dst))\n";
    if (f != "logsumexp" && f != "softmax")
      text += "output p = " + f + "(move(sin(w), src))\n";
    list.push_back({f, withTypes(text)});
  }
  const char *spaces = R"(
    space real = filter(edge, src != dst)
    space loop = filter(edge, src == dst)
    map last_loop = last(loop, dst)
    space ring = union(real, node)
    map ring_src: ring -> node = src | node
    map ring_dst: ring -> node = dst | node
    map ring_old: ring -> edge = edge | last_loop
    map only: ring -> node = none | node
    map real_dst: real -> node = dst
    map real_src: real -> node = src
    space pair = distinct(dst, etype)
    input x: node[a], e: edge[a], v: edge[]
    )";
  for (auto [name, functions] :
       {std::pair("derived_sums", std::pair("sum", "mean")), std::pair("derived_winners", std::pair("max", "min"))}) {
    std::string text = spaces, f = functions.first, g = functions.second;
    text += "let r = x.ring_src * sin(move(e, ring_old, fill: 1.5))\n"
            "output y0 = " +
            f +
            "(r, along: ring_dst)\n" //
            "output y1 = " +
            g +
            "(r, along: ring_src)\n" //
            "output y2 = " +
            f +
            "(r, along: ring_old)\n" //
            "output y3 = " +
            g +
            "(r, along: only)\n" //
            "output y4 = " +
            f +
            "(e.last_loop, along: all)\n" //
            "output y5 = sum(square(" +
            f +
            "(e, along: pair)), along: pair.dst)\n" //
            "output y6 = " +
            g +
            "(e.real * x.real_src, along: real_dst)\n" //
            "output y7 = move(v, last_loop, fill: 0.5) * x\n";
    list.push_back({name, withTypes(text)});
  }
  list.push_back({"derived_softmax", withTypes(std::string(spaces) + R"(
    let r = x.ring_src + sin(move(e, ring_old, fill: 1.5))
    output y0 = sum(softmax(r, along: ring_dst) * r, along: ring_dst)
    output y1 = logsumexp(r, along: ring_old)
    output y2 = logsumexp(r, along: only)
    output y3 = sum(softmax(e, along: pair) * e, along: pair)
    output y4 = log_softmax(r, along: ring_dst)
    output y5 = log_softmax(e, along: all))")});

  // Values with no rows, no gradient, or several.
  add("sparse", R"(
    input x: node[in = 4] sparse, h: node[]
    param W[in, o = 3], w[in]
    output y0 = x @ W
    output y1 = relu(x * h) @ W + dot(x, w, over: in)
    output y2 = sum(x, over: in))");
  add("used_again", R"(
    input x: node[a]
    param w[a]
    let z = sin(x * w)
    let m = sum(z.src)
    output y0 = z
    output y1 = z + z * m
    output y2 = z
    output y3 = x
    output y4 = w
    output y5 = x
    output y6 = m + sum((m * z).src))");
  add("no_gradient", R"(
    input x: node[a]
    param w[a]
    output y0 = degree(dst) * 2
    output y1 = move(1, src)
    output y2 = x * w * degree(src))");
  add("shared_only", R"(
    param w[a], v[a, b]
    input s[b]
    output y0 = exp(w) @ v * s
    output y1 = dot(w, w, over: a))");
  add("several_phases", R"(
    input x: node[a], e: edge[]
    param W[a, a2 = 3], g[a]
    let m = mean(x.src * e)
    let d = square(x.src - m.dst)
    let s = sqrt(sum(d) + 0.5)
    output y = sum((x.src - m.dst) / s.dst) * g
    output z = sum(tanh(s.src @ W)))");
  add("norms", R"(
    input x: node[a]
    param g[a]
    let mu = mean(x, along: all)
    let sigma = mean(square(x - mu), along: all)
    output y = (x - mu) * rsqrt(sigma + 0.1) * g
    let c = x - mean(x, along: batch).batch
    output z = c / sqrt(mean(square(c), along: batch) + 0.1).batch)");
  return list;
}

} // namespace

TEST_P(Gradient, IsTheSlope) { checkModel(GetParam().text); }

// Rows that are no flat vector: folds of a wide axis mix its numbers. Winners are compared, so the numbers are some of
// which no two are as close as float32 rounds (with the others' seed, two of 24 040 are within 1.4e-7).
TEST(WideGradient, IsTheInterpreters) {
  checkModel(withTypes(R"(
    input x: node[c = 601], e: edge[]
    param w[c]
    let p = softmax(x * w, over: c)
    output all = max(p, along: all)
    output owner = min(p.dst)
    output member = max(p.src * e))"),
             /*slopes=*/false, /*seed=*/8);
}

INSTANTIATE_TEST_SUITE_P(Operations, Gradient, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name; });

/// What the random tests ask of a model with too many numbers for a run each: a gradient that is wrong in one number is
/// found, where it is smooth and where there are maxima.
TEST(GradientLines, ShowWhatIsWrong) {
  std::optional<frontend::ModelSpec> model = loadText("model M { input x: node[f = 40]\n param w[f]\n"
                                                      "output y = max(tanh(x.src * w))\n output z = exp(x * w) }");
  ASSERT_TRUE(model);
  Program program(*model), differentiated(*model);
  ASSERT_TRUE(differentiated.differentiate());
  Graph graph = randomGraph(30, 90, 5);
  Tensors tensors = tensorsAwayFromZero(*model, graph, 7);
  llvm::Expected<Tensors> outputs = program.run(graph, tensors);
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  addOutputGradients(tensors, *outputs, 11);
  llvm::Expected<Tensors> results = differentiated.run(graph, tensors);
  ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
  EXPECT_EQ(compareAlongLines(program, graph, tensors, *results), "");
  for (const char *name : {"grad.x", "grad.w"}) {
    Tensors wrong = *results;
    wrong[name].data[3] += 0.01;
    EXPECT_THAT(compareAlongLines(program, graph, tensors, wrong), testing::HasSubstr(name));
  }
}
