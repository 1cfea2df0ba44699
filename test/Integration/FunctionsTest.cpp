//===- FunctionsTest.cpp - How exact functions of one number are ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In float32 exp and what is made of it are polynomials. Each number is compared by itself: near 0, where exp(x) - 1
// cancels, and far out.
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// The largest relative error of `f` in all compiled forms, over numbers of all magnitudes in [low, high].
double worst(const std::string &formula, double low, double high, std::function<double(double)> f,
             bool doublePrecision = false) {
  std::optional<frontend::ModelSpec> model = loadText("model M { input x: node[c = 1]\n output y = " + formula + " }");
  if (!model)
    return INFINITY;
  model->doublePrecision = doublePrecision;
  Tensor x{{0, 1}, {}};
  for (double magnitude = 1e-6; magnitude < 100; magnitude *= 1.0137)
    for (double number : {-magnitude, magnitude})
      if (number >= low && number <= high)
        x.data.push_back(float(number));
  x.shape[0] = x.data.size();
  Graph graph{{{"node", x.shape[0]}, {"edge", 0}}, {{"src", {}}, {"dst", {}}}};
  double most = 0;
  for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
    llvm::Expected<Tensors> found = runner->run(graph, {{"x", x}});
    if (!found) {
      ADD_FAILURE() << runner->name() << ": " << llvm::toString(found.takeError());
      return INFINITY;
    }
    for (size_t i = 0; i < x.data.size(); ++i) {
      double expected = f(x.data[i]);
      most = std::max(most, std::abs((*found)["y"].data[i] - expected) / std::abs(expected));
    }
  }
  return most;
}

} // namespace

TEST(Functions, ExpIsExact) {
  EXPECT_LT(worst("exp(x)", -87, 88, [](double x) { return std::exp(x); }), 5e-7);
}

TEST(Functions, EluDoesNotCancelNearZero) {
  auto elu = [](double x) { return x > 0 ? x : std::expm1(x); };
  EXPECT_LT(worst("elu(x)", -100, 100, elu), 1e-6);
  EXPECT_LT(worst("elu(x)", -100, 100, elu, /*doublePrecision=*/true), 1e-15);
}

TEST(Functions, SignPassesOnWhatIsNoNumber) {
  std::optional<frontend::ModelSpec> model = loadText("model M { input x: node[c = 3]\n output y = sign(x) }");
  ASSERT_TRUE(model);
  Tensor x{{2, 3}, {NAN, -2, 0, INFINITY, -INFINITY, 1e-30}};
  Graph graph{{{"node", 2}, {"edge", 0}}, {{"src", {}}, {"dst", {}}}};
  for (bool doublePrecision : {false, true}) {
    model->doublePrecision = doublePrecision;
    for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
      llvm::Expected<Tensors> results = runner->run(graph, {{"x", x}});
      ASSERT_TRUE(bool(results)) << runner->name() << ": " << llvm::toString(results.takeError());
      const std::vector<double> &y = (*results)["y"].data;
      EXPECT_TRUE(std::isnan(y[0])) << runner->name() << ": " << y[0];
      EXPECT_EQ(std::vector<double>(y.begin() + 1, y.end()), (std::vector<double>{-1, 0, 1, -1, 1})) << runner->name();
    }
  }
}

TEST(Functions, WholeNumbers) {
  std::optional<frontend::ModelSpec> model = loadText(
      "model M { input x: node[c = 17]\n output down = floor(x)\n output up = ceil(x)\n output near = round(x) }");
  ASSERT_TRUE(model);
  // As many as fill vectors and leave some over; 2^23 + 1 and larger numbers are whole.
  Tensor x{{1, 17},
           {-2.5, -1.5, -0.5, -0.3, 0, 0.5, 1.5, 2.5, 0.49999997, 1e9, -1073741824, 8388607.5, 8388609, 3, -7, INFINITY,
            -INFINITY}};
  Graph graph{{{"node", 1}, {"edge", 0}}, {{"src", {}}, {"dst", {}}}};
  for (bool doublePrecision : {false, true}) {
    model->doublePrecision = doublePrecision;
    for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
      llvm::Expected<Tensors> results = runner->run(graph, {{"x", x}});
      ASSERT_TRUE(bool(results)) << runner->name() << ": " << llvm::toString(results.takeError());
      for (size_t i = 0; i < x.data.size(); ++i) {
        double number = doublePrecision ? x.data[i] : float(x.data[i]);
        EXPECT_EQ((*results)["down"].data[i], std::floor(number)) << runner->name() << ": " << number;
        EXPECT_EQ((*results)["up"].data[i], std::ceil(number)) << runner->name() << ": " << number;
        EXPECT_EQ((*results)["near"].data[i], std::nearbyint(number)) << runner->name() << ": " << number;
      }
    }
  }
}

TEST(Functions, SigmoidIsExact) {
  EXPECT_LT(worst("sigmoid(x)", -80, 100, [](double x) { return 1 / (1 + std::exp(-x)); }), 1e-6);
}

TEST(Functions, SoftplusIsExact) {
  auto softplus = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
  EXPECT_LT(worst("softplus(x)", -86, 100, softplus), 1e-6);
  EXPECT_LT(worst("softplus(x)", -86, 100, softplus, /*doublePrecision=*/true), 1e-14);
}

TEST(Functions, ErfIsExact) {
  auto erf = [](double x) { return std::erf(x); };
  EXPECT_LT(worst("erf(x)", -100, 100, erf), 1e-6);
  EXPECT_LT(worst("erf(x)", -100, 100, erf, /*doublePrecision=*/true), 1e-14);
}

TEST(Functions, SoftplusAndErfAtTheEnds) {
  std::optional<frontend::ModelSpec> model =
      loadText("model M { input x: node[c = 5]\n output s = softplus(x)\n output e = erf(x) }");
  ASSERT_TRUE(model);
  Tensor x{{1, 5}, {NAN, INFINITY, -INFINITY, 1e30, -1e30}};
  Graph graph{{{"node", 1}, {"edge", 0}}, {{"src", {}}, {"dst", {}}}};
  for (bool doublePrecision : {false, true}) {
    model->doublePrecision = doublePrecision;
    for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
      llvm::Expected<Tensors> results = runner->run(graph, {{"x", x}});
      ASSERT_TRUE(bool(results)) << runner->name() << ": " << llvm::toString(results.takeError());
      const std::vector<double> &s = (*results)["s"].data, &e = (*results)["e"].data;
      EXPECT_TRUE(std::isnan(s[0]) && std::isnan(e[0])) << runner->name() << ": " << s[0] << ", " << e[0];
      EXPECT_EQ(std::vector<float>(s.begin() + 1, s.end()), (std::vector<float>{INFINITY, 0, 1e30f, 0}))
          << runner->name();
      EXPECT_EQ(std::vector<double>(e.begin() + 1, e.end()), (std::vector<double>{1, -1, 1, -1})) << runner->name();
    }
  }
}

/// Encodings of time take cosines of seconds. What counts is the error, not its ratio to a number that is near 0.
TEST(Functions, SinesOfLargeNumbers) {
  std::optional<frontend::ModelSpec> model =
      loadText("model M { input x: node[c = 3]\n output s = sin(x)\n output t = cos(x) }");
  ASSERT_TRUE(model);
  Tensor x{{0, 3}, {}};
  for (double magnitude = 1e-6; magnitude < 1e14; magnitude *= 1.0137)
    for (double number : {-magnitude, magnitude, std::round(magnitude / 1.5707963267948966) * 1.5707963267948966})
      x.data.push_back(float(number));
  x.shape[0] = int64_t(x.data.size()) / 3;
  Graph graph{{{"node", x.shape[0]}, {"edge", 0}}, {{"src", {}}, {"dst", {}}}};
  for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
    llvm::Expected<Tensors> results = runner->run(graph, {{"x", x}});
    ASSERT_TRUE(bool(results)) << runner->name() << ": " << llvm::toString(results.takeError());
    double most = 0, largest = 0;
    for (size_t i = 0; i < x.data.size(); ++i)
      for (auto [found, expected] : {std::pair((*results)["s"].data[i], std::sin(x.data[i])),
                                     std::pair((*results)["t"].data[i], std::cos(x.data[i]))}) {
        most = std::max(most, std::abs(found - expected));
        largest = std::max(largest, std::abs(found));
      }
    EXPECT_LT(most, 3e-7) << runner->name();
    EXPECT_LE(largest, 1 + 1e-6) << runner->name();
  }
}

/// Of larger numbers nothing is known but the bounds. Infinities have no sine.
TEST(Functions, SinesOfHugeNumbers) {
  if (test::isRecordingForDevice())
    GTEST_SKIP() << "there are no numbers to be compared with";
  std::optional<frontend::ModelSpec> model =
      loadText("model M { input x: node[c = 3]\n output s = sin(x)\n output t = cos(x) }");
  ASSERT_TRUE(model);
  Tensor huge{{2, 3}, {1e20, -3e38, 1e16, INFINITY, -INFINITY, NAN}};
  Graph graph{{{"node", 2}, {"edge", 0}}, {{"src", {}}, {"dst", {}}}};
  for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
    llvm::Expected<Tensors> results = runner->run(graph, {{"x", huge}});
    ASSERT_TRUE(bool(results)) << runner->name() << ": " << llvm::toString(results.takeError());
    for (const char *name : {"s", "t"})
      for (size_t i = 0; i < 6; ++i) {
        double found = (*results)[name].data[i];
        EXPECT_TRUE(i < 3 ? std::abs(found) <= 1 + 1e-6 : std::isnan(found))
            << runner->name() << ", " << name << " " << i << ": " << found;
      }
  }
}

/// Masks are often the lowest number there is; where all members are masked, they share evenly. (In an online softmax:
/// the log-sum-exp of such numbers, which a second walk subtracts, has no digits left for their count.)
TEST(Functions, SoftmaxOfVeryLowScores) {
  Graph graph{{{"node", 3}, {"edge", 5}}, {{"src", {0, 1, 2, 1, 0}}, {"dst", {0, 0, 1, 1, 1}}}};
  // Rows in registers, and ones that are walked in memory.
  for (auto [doublePrecision, width] : {std::pair(false, 7), {false, 700}, {true, 7}}) {
    double low = doublePrecision ? -1e308 : -3e38;
    std::optional<frontend::ModelSpec> model =
        loadText("model M { input s: edge[], x: edge[c = " + std::to_string(width) +
                 "]\n output y = sum(softmax(s) * x)\n output l = logsumexp(s)\n }");
    ASSERT_TRUE(model);
    model->doublePrecision = doublePrecision;
    Tensor x = Tensor::zeros({5, width}), y = Tensor::zeros({3, width});
    for (int i = 0; i < width; ++i) {
      for (int e = 0; e < 5; ++e)
        x.data[e * width + i] = e + 1;
      y.data[i] = 1.5;
      y.data[width + i] = 4;
    }
    Tensors inputs{{"s", {{5}, {low, low, low, 1, low}}}, {"x", x}};
    for (const std::unique_ptr<Runner> &runner : compiledRunners(*model)) {
      llvm::Expected<Tensors> found = runner->run(graph, inputs);
      ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
      if (llvm::StringRef(runner->name()).starts_with("O1") || llvm::StringRef(runner->name()).starts_with("O2"))
        EXPECT_LE(relativeError((*found)["y"], y), 1e-6) << runner->name() << ", " << width;
      EXPECT_NEAR((*found)["l"].data[0] / low, 1, 1e-6) << runner->name();
      EXPECT_NEAR((*found)["l"].data[1], 1, 1e-6) << runner->name();
      EXPECT_EQ((*found)["l"].data[2], -INFINITY) << runner->name();
    }
    // For another machine's GPU: what these should be, not what two walks make of them.
    auto cases = DeviceRecorder::create(*model, /*gradient=*/false, /*unfused=*/false);
    ASSERT_TRUE(bool(cases)) << llvm::toString(cases.takeError());
    if (*cases) {
      Tensors outputs{{"y", y}, {"l", {{3}, {low, 1, -INFINITY}}}};
      llvm::Error error = (*cases)->add("forward", graph, inputs, outputs);
      ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    }
  }
}

/// Where exp is larger than all numbers it is infinite, and where it is smaller it is 0.
TEST(Functions, ExpAtBothEnds) {
  std::optional<frontend::ModelSpec> model =
      loadText("model M { input x: node[c = 1]\n output e = exp(x)\n output s = sigmoid(x)\n output n = elu(x) }");
  ASSERT_TRUE(model);
  Tensor x{{13, 1}, {-INFINITY, -1e30, -1000, -104, -88, -87, 88.3, 88.5, 88.7, 88.8, 1000, INFINITY, NAN}};
  for (double &number : x.data)
    number = float(number);
  Graph graph{{{"node", 13}, {"edge", 0}}, {{"src", {}}, {"dst", {}}}};
  for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
    llvm::Expected<Tensors> results = runner->run(graph, {{"x", x}});
    ASSERT_TRUE(bool(results)) << runner->name() << ": " << llvm::toString(results.takeError());
    for (size_t i = 0; i < x.data.size(); ++i) {
      double number = x.data[i];
      auto expect = [&](const char *name, double wanted) {
        float found = float((*results)[name].data[i]), nearest = float(wanted);
        EXPECT_TRUE(std::isfinite(nearest) ? std::abs(found - nearest) <= 1e-6 * std::abs(nearest) + 2e-38
                    : std::isnan(nearest)  ? std::isnan(found)
                                           : found == nearest)
            << runner->name() << ", " << name << " of " << number << ": " << found << ", not " << nearest;
      };
      expect("e", std::exp(number));
      expect("s", 1 / (1 + std::exp(-number)));
      expect("n", number > 0 ? number : std::expm1(number));
    }
  }
}

/// A score that is not a number leaves no weight that is one.
TEST(Functions, SoftmaxOfNotANumber) {
  std::optional<frontend::ModelSpec> model =
      loadText("model M { input x: node[c = 5], z: node[c]\n output y = sum(softmax(x.src) * z.src) }");
  ASSERT_TRUE(model);
  // Node 0 hears of 1, 2, 3, of which 2 has the NaN; node 1 hears of 3 and 0, which have none.
  Graph graph{{{"node", 4}, {"edge", 5}}, {{"src", {1, 2, 3, 3, 0}}, {"dst", {0, 0, 0, 1, 1}}}};
  Tensor x = Tensor::zeros({4, 5}), z = x;
  for (int i = 0; i < 20; ++i)
    x.data[i] = (i * 7) % 11 - 5, z.data[i] = i + 1;
  for (int c : {0, 3})
    x.data[2 * 5 + c] = NAN;
  for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
    llvm::Expected<Tensors> found = runner->run(graph, {{"x", x}, {"z", z}});
    ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(std::isnan((*found)["y"].data[i]), i == 0 || i == 3) << runner->name() << ", " << i;
  }
}

/// A model that has diverged must not look healthy: what is not a number wins in maxima and minima, of members,
/// features and pairs of numbers, passes relu, and is the winner whose gradient counts.
TEST(Functions, NotANumberIsKept) {
  // Rows in registers, and ones that are walked in memory. (Compiling 700 numbers a lane for a GPU takes minutes.)
  for (int64_t width : {5, 700}) {
    if (width == 700 && test::isRecordingForDevice())
      continue;
    std::optional<frontend::ModelSpec> model =
        loadText("model M { input x: node[c = " + std::to_string(width) + "], z: node[c]\n" +
                 "output most = max(x.src)\n output least = min(x.src)\n output r = relu(x)\n"
                 "output p = maximum(x, z)\n output q = minimum(z, x)\n"
                 "output a = max(x, over: c)\n output b = min(x, over: c) }");
    ASSERT_TRUE(model);
    // Node 0 hears nodes 1, 2 and 3, and node 1 hears 1 and 3.
    Graph graph{{{"node", 4}, {"edge", 5}}, {{"src", {1, 2, 3, 1, 3}}, {"dst", {0, 0, 0, 1, 1}}}};
    Tensor x = Tensor::zeros({4, width}), z = Tensor::zeros({4, width});
    for (int64_t i = 0; i < width; ++i) {
      for (int64_t n = 0; n < 4; ++n)
        x.data[n * width + i] = n % 2 ? n : -n;
      x.data[2 * width + i] = NAN;
      z.data[i] = NAN;
    }
    for (const std::unique_ptr<Runner> &runner : allRunners(*model)) {
      llvm::Expected<Tensors> found = runner->run(graph, {{"x", x}, {"z", z}});
      ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
      auto at = [&](const char *name, int64_t row) { return (*found)[name].data[row * width + width - 1]; };
      EXPECT_TRUE(std::isnan(at("most", 0)) && std::isnan(at("least", 0))) << runner->name();
      EXPECT_EQ(at("most", 1), 3) << runner->name();
      EXPECT_EQ(at("least", 1), 1) << runner->name();
      EXPECT_EQ(at("most", 2), 0) << runner->name();
      EXPECT_TRUE(std::isnan(at("r", 2))) << runner->name();
      EXPECT_EQ(at("r", 3), 3) << runner->name();
      for (const char *name : {"p", "q"}) {
        EXPECT_TRUE(std::isnan(at(name, 0)) && std::isnan(at(name, 2))) << runner->name() << ", " << name;
        EXPECT_EQ(at(name, 3), name[0] == 'p' ? 3 : 0) << runner->name();
      }
      for (const char *name : {"a", "b"}) {
        EXPECT_TRUE(std::isnan((*found)[name].data[2])) << runner->name() << ", " << name;
        EXPECT_EQ((*found)[name].data[3], 3) << runner->name();
      }
    }
  }
}
