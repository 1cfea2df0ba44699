//===- TrainingLayersTest.cpp - Optimisers and losses against plain loops -===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Optimisers, schedules, losses and metrics are layers, so they can be called like any other: with a parameter, a
// gradient and a step that are given.
//
//===----------------------------------------------------------------------===//

#include "NaiveLayers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// Some steps, and second moments that are at least 0.
std::function<void(Tensors &)> atStep(double step) {
  return [step](Tensors &t) {
    if (t.count("t"))
      t["t"].data = {step};
    for (const char *name : {"c.v", "c.adam.v"})
      if (t.count(name))
        for (double &number : t[name].data)
          number = std::abs(number);
  };
}

/// The element that an optimiser makes of w and g and its states.
using Element = std::function<double(double w, double g, double m, double v)>;

void checkOptimiser(const std::string &call, const std::string &m, const std::string &v, double step,
                    const Element &element) {
  SCOPED_TRACE(call + " at step " + std::to_string(step));
  checkLayer(
      "import std\nmodel M { input w: node[6], g: node[6], t: []\n output y = " + call + " as c }",
      [&](const Graph &, const Tensors &t) {
        Tensor y = t.at("w");
        for (size_t i = 0; i < y.data.size(); ++i)
          y.data[i] =
              element(y.data[i], t.at("g").data[i], m.empty() ? 0 : t.at(m).data[i], v.empty() ? 0 : t.at(v).data[i]);
        return y;
      },
      testGraphs(), atStep(step));
}

Tensor number(double value) { return {{}, {value}}; }

double logSoftmax(const Tensor &x, int64_t row, int64_t column) {
  double sum = 0;
  for (int64_t c = 0; c < x.shape[1]; ++c)
    sum += std::exp(x(row, c));
  return x(row, column) - std::log(sum);
}

double mean(const Tensor &x, const std::function<double(int64_t row)> &of) {
  double sum = 0;
  for (int64_t row = 0; row < x.shape[0]; ++row)
    sum += of(row);
  return x.shape[0] == 0 ? 0 : sum / x.shape[0];
}

/// Makes every row of `t` the one-hot row of some class, and the first a row without a label.
void labels(Tensors &tensors) {
  Tensor &t = tensors["t"];
  for (int64_t row = 0; row < t.shape[0]; ++row)
    for (int64_t c = 0; c < t.shape[1]; ++c)
      t(row, c) = row != 0 && (row * 7 + 1) % t.shape[1] == c;
}

} // namespace

TEST(Optimisers, SGD) {
  checkOptimiser("SGD(w, g, lr: 0.1, weight_decay: 0.02)", "", "", 0,
                 [](double w, double g, double, double) { return w - 0.1 * (g + 0.02 * w); });
  checkOptimiser("SGD(w, g, lr: 0.1, momentum: 0.9)", "c.momentum.velocity", "", 0,
                 [](double w, double g, double m, double) { return w - 0.1 * (0.9 * m + g); });
  checkOptimiser("SGD(w, g, lr: 0.1, momentum: 0.9, nesterov: true)", "c.momentum.velocity", "", 0,
                 [](double w, double g, double m, double) { return w - 0.1 * (g + 0.9 * (0.9 * m + g)); });
}

/// One step of Adam by its definition, in double precision.
static double adam(double w, double g, double m, double v, double step, double lr) {
  double first = (0.9 * m + 0.1 * g) / (1 - std::pow(0.9, step + 1));
  double second = (0.999 * v + 0.001 * g * g) / (1 - std::pow(0.999, step + 1));
  return w - lr * first / (std::sqrt(second) + 1e-8);
}

TEST(Optimisers, Adam) {
  for (double step : {0.0, 50.0}) {
    checkOptimiser("Adam(w, g, t, lr: 0.01)", "c.m", "c.v", step,
                   [&](double w, double g, double m, double v) { return adam(w, g, m, v, step, 0.01); });
    checkOptimiser("Adam(w, g, t, lr: 0.01, weight_decay: 0.05)", "c.m", "c.v", step,
                   [&](double w, double g, double m, double v) { return adam(w, g + 0.05 * w, m, v, step, 0.01); });
    checkOptimiser(
        "AdamW(w, g, t, lr: 0.01, weight_decay: 0.05)", "c.adam.m", "c.adam.v", step,
        [&](double w, double g, double m, double v) { return adam(w * (1 - 0.01 * 0.05), g, m, v, step, 0.01); });
  }
}

TEST(Schedules, StepAndCosine) {
  for (double step : {4.0, 10.0, 57.0, 1000.0}) {
    SCOPED_TRACE(step);
    auto check = [&](const std::string &call, double expected) {
      checkLayer(
          "import std\nmodel M { input t: []\n output y = " + call + " }",
          [&](const Graph &, const Tensors &) { return number(expected); }, {randomGraph(2, 2, 1)}, atStep(step));
    };
    check("StepDecay(t, lr: 0.1, every: 10, factor: 0.5, times: 6)",
          0.1 * std::pow(0.5, std::min(6.0, std::floor(step / 10))));
    double share = std::min(1.0, step / 100);
    check("CosineDecay(t, lr: 0.1, steps: 100, final: 0.01)", 0.01 + 0.5 * 0.09 * (1 + std::cos(M_PI * share)));
    double late = std::min(1.0, std::max(0.0, step - 10) / 90);
    check("CosineDecay(t, lr: 0.1, steps: 100, final: 0.01, warmup: 10)",
          step < 10 ? 0.1 * (step + 1) / 10 : 0.01 + 0.5 * 0.09 * (1 + std::cos(M_PI * late)));
  }
}

TEST(Losses, CrossEntropyAndAccuracy) {
  const std::string inputs = "import std\nmodel M { input x: node[k = 5], t: node[k]\n output y = ";
  checkLayer(
      inputs + "CrossEntropy(x, t) }",
      [](const Graph &, const Tensors &t) {
        return number(-mean(t.at("x"), [&](int64_t row) {
          double sum = 0;
          for (int64_t c = 0; c < 5; ++c)
            sum += t.at("t")(row, c) * logSoftmax(t.at("x"), row, c);
          return sum;
        }));
      },
      testGraphs(), labels);
  checkLayer(
      inputs + "Accuracy(x, t) }",
      [](const Graph &, const Tensors &t) {
        return number(mean(t.at("x"), [&](int64_t row) {
          auto begin = t.at("x").data.begin() + row * 5;
          return t.at("t")(row, std::max_element(begin, begin + 5) - begin);
        }));
      },
      testGraphs(), labels);
  // Two that are largest share the hit.
  checkLayer(
      inputs + "Accuracy(x * 0, t) }",
      [](const Graph &, const Tensors &t) {
        return number(mean(t.at("x"), [](int64_t row) { return row == 0 ? 0 : 0.2; }));
      },
      testGraphs(), labels);
}

TEST(Losses, OfNumbers) {
  auto binary = [](double x, double t) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0) - x * t; };
  checkLayer("import std\nmodel M { input x: edge[], t: edge[]\n output y = BCEWithLogits(30 * x, t) }",
             [&](const Graph &, const Tensors &t) {
               return number(mean(t.at("x"), [&](int64_t e) { return binary(30 * t.at("x")(e), t.at("t")(e)); }));
             });
  checkLayer("import std\nmodel M { input x: node[k = 3], t: node[k]\n output y = MultiLabelBCE(x, t) }",
             [&](const Graph &, const Tensors &t) {
               return number(mean(t.at("x"), [&](int64_t v) {
                 double sum = 0;
                 for (int64_t c = 0; c < 3; ++c)
                   sum += binary(t.at("x")(v, c), t.at("t")(v, c)) / 3;
                 return sum;
               }));
             });
  checkLayer("import std\nmodel M { input x: node[k = 3], t: node[k]\n output y = MSE(x, t) }",
             [&](const Graph &, const Tensors &t) {
               return number(mean(t.at("x"), [&](int64_t v) {
                 double sum = 0;
                 for (int64_t c = 0; c < 3; ++c)
                   sum += std::pow(t.at("x")(v, c) - t.at("t")(v, c), 2) / 3;
                 return sum;
               }));
             });
}
