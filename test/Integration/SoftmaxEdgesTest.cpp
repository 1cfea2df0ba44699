//===- SoftmaxEdgesTest.cpp - Softmax and log-sum-exp at the edges --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores of 1e4, masks on all members, infinities, NaNs and no members, in each form that a softmax takes: in one walk
// or two, made again in another kernel and in the backward half, over axes, over everything, of rows in registers and
// in memory. Each owner of the graph is a case, so that all of them meet in every kernel; nothing of one owner reaches
// another.
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

constexpr double kInfinity = INFINITY;

struct Case {
  const char *name;
  std::vector<double> scores;
  bool meaningless = false; ///< NaNs of a gradient stand where rewrites leave them
};

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"ordinary", {0.5, -1, 2, 0.25, 3, 0, -2}},
      {"no members", {}},
      {"large", {10000, 10000.5, 9999, 9990, 10000.25}},
      {"large and negative", {-10000, -10000.5, -9999}},
      {"masked", {-1e9, -1e9, -1e9}},
      {"masked but one", {-1e9, 1, -1e9, -1e9, -1e9, -1e9}},
      {"lowest", {-3e38, -3e38, -3e38, -3e38, -3e38}},
      {"lowest and highest", {-1.5e38, 1.5e38, 1.5e38}},
      {"all minus infinity", {-kInfinity, -kInfinity}},
      {"one minus infinity", {-kInfinity}},
      {"minus infinity first", {-kInfinity, 1, 2}},
      {"minus infinity last", {1, 2, 0.5, 1, 2, -kInfinity}},
      {"minus infinity but one", {-kInfinity, -kInfinity, -kInfinity, -kInfinity, -1000}},
      {"infinity", {kInfinity}, true},
      {"infinity last", {1, 2, 0.5, 1, kInfinity}, true},
      {"infinity first", {kInfinity, 1, 1e4}, true},
      {"both infinities", {-kInfinity, kInfinity, 1}, true},
      {"NaN", {NAN, 1, 2}, true},
      {"NaN last", {1, 2, 0.5, 1, NAN}, true},
      {"NaN and minus infinity", {-kInfinity, NAN}, true},
      {"NaN and infinity", {kInfinity, 3, NAN}, true},
  };
  return all;
}

/// Members of owner k come from two nodes of its own.
Graph graphOfCases() {
  Graph graph;
  int64_t owners = cases().size(), edges = 0;
  for (int64_t k = 0; k < owners; ++k)
    for (size_t i = 0; i < cases()[k].scores.size(); ++i, ++edges) {
      graph.maps["dst"].push_back(int32_t(k));
      graph.maps["src"].push_back(int32_t(owners + 2 * k + int64_t(i % 2)));
    }
  graph.extents = {{"node", 3 * owners}, {"edge", edges}};
  return graph;
}

/// The case that a row of a tensor belongs to.
const Case &caseOf(const Graph &graph, int64_t rows, int64_t row) {
  int64_t owners = cases().size();
  int64_t k = rows == graph.extent("edge") ? graph.map("dst")[row] : row < owners ? row : (row - owners) / 2;
  return cases()[k];
}

/// Scores of each edge: the case's for an even number of the row, and ordinary ones for an odd one.
Tensor scoresOf(const Graph &graph, int64_t width) {
  Tensor scores = Tensor::zeros({graph.extent("edge"), width});
  double *next = scores.data.data();
  for (const Case &each : cases())
    for (size_t i = 0; i < each.scores.size(); ++i)
      for (int64_t k = 0; k < width; ++k)
        *next++ = float(k % 2 ? double((i * 5 + k) % 7) / 4 : each.scores[i]);
  return scores;
}

bool isNear(double found, double expected, double tolerance = 2e-6) {
  if (!std::isfinite(expected))
    return std::isnan(expected) ? std::isnan(found) : found == expected;
  return std::abs(found - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

/// The interpreter, and the model compiled in every way.
std::vector<std::unique_ptr<Runner>> runnersOf(const frontend::ModelSpec &model, bool gradient) {
  std::vector<std::unique_ptr<Runner>> runners = allRunners(model, gradient);
  if (gradient && !isRecordingForDevice())
    for (std::unique_ptr<Runner> &runner : savingRunners(model))
      runners.push_back(std::move(runner));
  return runners;
}

struct Form {
  const char *name;
  std::string text; ///< of s: edge[h], a: node[h] and x: node[h, c], as far as it needs them
  bool gradient = false;
  int64_t heads = 2, width = 3;
  double tolerance = 2e-6;
};

void PrintTo(const Form &form, std::ostream *out) { *out << form.text; }

class SoftmaxEdges : public testing::TestWithParam<Form> {};

} // namespace

TEST_P(SoftmaxEdges, AreTheInterpretersAtEveryLevel) {
  const Form &form = GetParam();
  auto input = [&](const char *use, const std::string &declaration) {
    return form.text.find(use) == std::string::npos ? "" : ", " + declaration;
  };
  std::optional<frontend::ModelSpec> model =
      loadText("model M {\n input s: edge[h = " + std::to_string(form.heads) + "]" + input("a.", "a: node[h]") +
               input("x.", "x: node[h, c = " + std::to_string(form.width) + "]") + "\n" + form.text + "\n}");
  ASSERT_TRUE(model);
  Graph graph = graphOfCases();
  Tensors inputs = randomTensors(*model, graph, 1);
  inputs["s"] = scoresOf(graph, form.heads);
  // Added to a score, it is exact.
  for (auto [i, number] : llvm::enumerate(inputs["a"].data)) {
    const Case &where = caseOf(graph, graph.extent("node"), int64_t(i) / form.heads);
    bool large = llvm::any_of(where.scores, [](double x) { return std::isfinite(x) && std::abs(x) > 1e5; });
    number = large ? 0 : std::round(number * 2) / 2;
  }
  if (inputs["a"].data.empty())
    inputs.erase("a");
  if (form.gradient)
    for (const frontend::Output &output : model->outputs) {
      Tensor seed = Tensor::zeros({});
      const frontend::Value &value = model->values[output.value];
      if (value.residency != frontend::kNone)
        seed.shape.push_back(graph.extent(model->spaces[value.residency].name));
      for (const frontend::Axis &axis : value.axes)
        seed.shape.push_back(axis.size);
      int64_t numbers = 1;
      for (int64_t size : seed.shape)
        numbers *= size;
      seed.data.clear();
      for (int64_t i = 0; i < numbers; ++i)
        seed.data.push_back(double((i * 7) % 11) / 8 - 0.5);
      inputs["grad." + output.name] = seed;
    }
  Tensors expected;
  for (const std::unique_ptr<Runner> &runner : runnersOf(*model, form.gradient)) {
    llvm::Expected<Tensors> found = runner->run(graph, inputs);
    ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
    if (expected.empty()) {
      expected = *found;
      continue;
    }
    for (const auto &[name, tensor] : expected) {
      const Tensor &own = found->at(name);
      ASSERT_EQ(own.shape, tensor.shape) << runner->name() << ", " << name;
      int64_t rows = tensor.shape.empty() ? 1 : tensor.shape.front();
      int64_t numbers = tensor.data.size() / std::max<int64_t>(rows, 1);
      for (int64_t row = 0, failures = 0; row < rows && failures < 3; ++row)
        for (int64_t i = 0; i < numbers && failures < 3; ++i) {
          const Case &where = caseOf(graph, rows, row);
          double a = own.data[row * numbers + i], b = tensor.data[row * numbers + i];
          bool near = isNear(a, b, form.tolerance) ||
                      (where.meaningless && form.gradient && !std::isfinite(a) && !std::isfinite(b));
          if (!near)
            ++failures;
          EXPECT_TRUE(near) << runner->name() << ", " << name << " of '" << where.name << "', row " << row
                            << ", number " << i << ": " << a << ", expected " << b;
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, SoftmaxEdges,
    testing::Values(
        Form{"TwoWalks", "output w = softmax(s)"}, //
        Form{"Online", "output y = sum(softmax(s) * x.src)"},
        Form{"OnlineAndStatistic", "output y = sum(softmax(s) * x.src)\n output l = logsumexp(s)"},
        Form{"AnotherKernel", "output y = sum(softmax(s + a.src), along: src)"},
        Form{"OnlineAndAnotherKernel",
             "let w = softmax(s + a.src)\n output y = sum(w * x.src)\n output z = sum(w * x.dst, along: src)"},
        Form{"LogSumExp", "output l = logsumexp(s)"}, Form{"LogSoftmax", "output m = log_softmax(s)"},
        Form{"OfTheOwner", "let t = max(s)\n output w = softmax(t.dst)\n output y = sum(softmax(t.dst) * x.src)\n"
                           " output l = logsumexp(t.dst)"},
        Form{"OfAnInfiniteOwner",
             "let t = degree(src)\n output r = logsumexp((1 / t).dst)\n output w = softmax((1 / t).dst + s * 0.5)"},
        Form{"OverAnAxis", "output w = softmax(s, over: h)\n output l = logsumexp(s, over: h)\n"
                           " output m = log_softmax(s, over: h)"},
        Form{"Wide", "output w = softmax(s)\n output l = logsumexp(s)\n output y = sum(softmax(s) * s)", false, 300},
        Form{"WideMessages", "output y = sum(softmax(s) * x.src)\n output z = sum(softmax(s), along: src)", false, 2,
             400},
        Form{"Attention", "let w = softmax(s + a.src)\n output y = sum(w * x.src)", true},
        Form{"WeightsAndSums", "let w = softmax(s + a.src)\n output w2 = w * w\n output y = sum(w * x.src)", true},
        Form{"GradientOfLogSumExp", "output l = logsumexp(s + a.src)", true},
        Form{"GradientOverAnAxis", "output w = softmax(s, over: h)\n output l = logsumexp(s, over: h)", true},
        Form{"WideAttention", "let w = softmax(s + a.src)\n output y = sum(w * x.src)", true, 2, 400, 2e-5}),
    [](const testing::TestParamInfo<Form> &info) { return std::string(info.param.name); });

/// The rules in words, without the interpreter.
TEST(SoftmaxRules, Weights) {
  std::optional<frontend::ModelSpec> model = loadText("model M { input s: edge[h = 1]\n output w = softmax(s)\n"
                                                      " output l = logsumexp(s)\n"
                                                      " output z = sum(softmax(s), along: src) }");
  ASSERT_TRUE(model);
  Graph graph = graphOfCases();
  Tensors inputs{{"s", scoresOf(graph, 1)}};
  for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
    llvm::Expected<Tensors> found = runner->run(graph, inputs);
    ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
    int64_t edge = 0, owners = cases().size();
    for (int64_t k = 0; k < owners; ++k) {
      std::vector<double> scores;
      for (size_t i = 0; i < cases()[k].scores.size(); ++i)
        scores.push_back(inputs["s"].data[edge + i]);
      bool isNone = false, isInfinite = false;
      double largest = -kInfinity, sum = 0, parts[2] = {0, 0};
      for (double x : scores) {
        isNone |= std::isnan(x);
        isInfinite |= x == kInfinity;
        largest = std::fmax(largest, x);
      }
      for (double x : scores)
        sum += largest == -kInfinity ? 0 : std::exp(x - largest);
      std::string where = runner->name() + ", " + cases()[k].name;
      for (size_t i = 0; i < scores.size(); ++i, ++edge) {
        double expected = isNone || isInfinite      ? NAN
                          : scores[i] == -kInfinity ? 0
                                                    : std::exp(scores[i] - largest) / sum;
        parts[i % 2] += expected;
        EXPECT_TRUE(isNear((*found)["w"].data[edge], expected))
            << where << ", member " << i << ": " << (*found)["w"].data[edge] << ", expected " << expected;
      }
      double l = isNone ? NAN : isInfinite ? kInfinity : sum == 0 ? -kInfinity : largest + std::log(sum);
      EXPECT_TRUE(isNear((*found)["l"].data[k], l)) << where << ": " << (*found)["l"].data[k] << ", expected " << l;
      for (int64_t i : {0, 1})
        EXPECT_TRUE(isNear((*found)["z"].data[owners + 2 * k + i], parts[i]))
            << where << ", source " << i << ": " << (*found)["z"].data[owners + 2 * k + i] << ", expected " << parts[i];
    }
  }
}

/// Over everything: the numbers of one case on all elements.
TEST(SoftmaxRules, OverEverything) {
  std::optional<frontend::ModelSpec> model = loadText("model M { input v: node[h = 1]\n"
                                                      " output w = softmax(v, along: all)\n"
                                                      " output l = logsumexp(v, along: all) }");
  ASSERT_TRUE(model);
  for (const std::unique_ptr<Runner> &runner : allRunners(*model))
    for (const Case &each : cases()) {
      int64_t count = each.scores.size();
      Graph graph{{{"node", count}, {"edge", 0}}, {{"src", {}}, {"dst", {}}}};
      Tensor scores{{count, 1}, {}};
      for (double x : each.scores)
        scores.data.push_back(float(x));
      llvm::Expected<Tensors> found = runner->run(graph, {{"v", scores}});
      ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
      double largest = -kInfinity, sum = 0;
      bool isNone = false;
      for (double x : scores.data) {
        largest = std::fmax(largest, x);
        isNone |= std::isnan(x);
      }
      for (double x : scores.data)
        sum += largest == -kInfinity ? 0 : std::exp(x - largest);
      bool isInfinite = largest == kInfinity && !isNone;
      double l = isNone ? NAN : isInfinite ? kInfinity : sum == 0 ? -kInfinity : largest + std::log(sum);
      EXPECT_TRUE(isNear((*found)["l"].data[0], l))
          << runner->name() << ", " << each.name << ": " << (*found)["l"].data[0] << ", expected " << l;
      for (int64_t i = 0; i < count; ++i) {
        double x = scores.data[i];
        double expected = isNone || isInfinite ? NAN : x == -kInfinity ? 0 : std::exp(x - largest) / sum;
        EXPECT_TRUE(isNear((*found)["w"].data[i], expected)) << runner->name() << ", " << each.name << ", " << i << ": "
                                                             << (*found)["w"].data[i] << ", expected " << expected;
      }
    }
}
