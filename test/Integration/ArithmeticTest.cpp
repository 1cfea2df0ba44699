//===- ArithmeticTest.cpp - Arithmetic is done as it is written -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas that floating-point algebra would change: each compiled form must give what float32 gives in the order that
// is written. What the rewrites of -O2 may reassociate (docs/Optimizations.md) spans several residencies; nothing here
// does. No formula adds to a product, which may be contracted to a fused one.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>

using namespace gnnc;
using namespace gnnc::test;

namespace {

struct Formula {
  const char *name, *text; ///< of x and z
  std::function<float(float, float)> meaning;
  double tolerance = 0; ///< of exponentials, which are polynomials
};

void PrintTo(const Formula &formula, std::ostream *out) { *out << formula.name; }

/// What a register holds: denormal numbers are 0 at run time (docs/rationale). Keeps this file's compiler from
/// simplifying, too.
float kept(float x) {
  volatile float same = std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
  return same;
}

const Formula kFormulas[] = {
    {"Rounds", "(x + 12582912) - 12582912", [](float x, float) { return kept(kept(x + 12582912) - 12582912); }},
    {"Remainder", "x - ((x + 1e8) - 1e8)", [](float x, float) { return kept(x - kept(kept(x + 1e8f) - 1e8f)); }},
    {"Compensates", "((x + z) - x) - z", [](float x, float z) { return kept(kept(kept(x + z) - x) - z); }},
    {"Difference", "(x + z) - x", [](float x, float z) { return kept(kept(x + z) - x); }},
    {"Self", "x - x", [](float x, float) { return kept(x - kept(x)); }},
    {"Zero", "x * 0", [](float x, float) { return kept(x * kept(0)); }},
    {"Grows", "(x * 1e30) * 1e-30", [](float x, float) { return kept(kept(x * 1e30f) * 1e-30f); }},
    {"Shrinks", "(x * 1e-30) * 1e30", [](float x, float) { return kept(kept(x * 1e-30f) * 1e30f); }},
    {"Product", "(x * z) * x", [](float x, float z) { return kept(kept(x * z) * x); }},
    {"NegativeZero", "maximum(-1, minimum(1, recip(0 - x)))",
     [](float x, float) { return kept(std::isnan(x) ? NAN : std::fmax(-1, std::fmin(1, 1 / kept(0 - x)))); }},
    {"AddsZero", "maximum(-1, minimum(1, recip(x + 0)))",
     [](float x, float) { return kept(std::isnan(x) ? NAN : std::fmax(-1, std::fmin(1, 1 / kept(x + 0)))); }},
    {"LeakyRelu", "leaky_relu(x, 0.2)", [](float x, float) { return x > 0 ? x : kept(x * 0.2f); }},
    {"LeakyReluOfZero", "leaky_relu(x, 0)", [](float x, float) { return x > 0 ? x : kept(x * kept(0)); }},
    {"ExpCancels", "(exp(x) - 1) - exp(x)",
     [](float x, float) { return kept(kept(kept(std::exp(x)) - 1) - kept(std::exp(x))); }, 1e-6},
    {"ExpOfBoth", "exp(x) * exp(-x)", [](float x, float) { return kept(std::exp(x)) * kept(std::exp(-x)); }, 2e-6},
};

class Arithmetic : public testing::TestWithParam<Formula> {};

/// Numbers that show it, with those after them as second operands.
const std::vector<float> kNumbers = {1,     2.5f,  0.3f,  -0.7f, 1e8f, 3.25f,  12345.678f, -0.0f,     0,
                                     1e30f, 1e-9f, 50,    -50,   80,   -80,    1000,       -1000,     INFINITY,
                                     1e38f, -3e8f, 1e-3f, 7,     17,   2e-38f, -1e10f,     -INFINITY, NAN};

bool agrees(float found, float expected, double tolerance) {
  if (std::isnan(expected))
    return std::isnan(found);
  if (found == expected)
    return std::signbit(found) == std::signbit(expected);
  return tolerance > 0 && std::abs(double(found) - expected) <= tolerance * std::max(1.0, std::abs(double(expected)));
}

/// `formula` with its operands called so.
std::string withOperands(llvm::StringRef formula, llvm::StringRef x, llvm::StringRef z) {
  std::string text;
  for (size_t i = 0; i < formula.size(); ++i) {
    auto isLetter = [&](size_t at) { return at < formula.size() && std::isalpha(formula[at]); };
    bool alone = !(i > 0 && isLetter(i - 1)) && !isLetter(i + 1);
    text += alone && formula[i] == 'x' ? x.str() : alone && formula[i] == 'z' ? z.str() : std::string(1, formula[i]);
  }
  return text;
}

} // namespace

/// On nodes, on edges, in a sum, as a term beside others that move, and of operands that members meet; in registers of
/// all widths, and in memory.
TEST_P(Arithmetic, IsDoneAsItIsWritten) {
  const Formula &formula = GetParam();
  for (int64_t width : {40, 700}) {
    std::string rows = withOperands(formula.text, "x", "z"), edges = withOperands(formula.text, "x.src", "z.src"),
                own = withOperands(formula.text, "u", "v"), met = withOperands(formula.text, "x.dst", "z.dst");
    bool binary = rows.find('z') != std::string::npos;
    std::optional<frontend::ModelSpec> model =
        loadText("model M { input x: node[c = " + std::to_string(width) + "], zero: node[c], u: edge[c]" +
                 (binary ? ", z: node[c], v: edge[c]" : "") + "\n output rows = " + rows +
                 "\n output edges = " + edges + "\n output sums = sum(" + edges + ")\n output terms = max((" + own +
                 ") + zero.src + zero.dst)\n output met = sum(" + met + ") }");
    ASSERT_TRUE(model);
    int64_t count = kNumbers.size();
    // Each node hears of one other.
    Graph graph{{{"node", count}, {"edge", count}}, {{"src", {}}, {"dst", {}}}};
    for (int64_t i = 0; i < count; ++i) {
      graph.maps["src"].push_back((i * 5 + 2) % count);
      graph.maps["dst"].push_back(i);
    }
    Tensor x = Tensor::zeros({count, width}), z = x, zero = x, u = x, v = x;
    for (int64_t i = 0; i < count * width; ++i) {
      int64_t at = i / width + i % width;
      x.data[i] = kNumbers[at % count];
      z.data[i] = kNumbers[(at * 3 + i % width / count + 1) % count];
    }
    for (int64_t edge = 0; edge < count; ++edge)
      for (int64_t c = 0; c < width; ++c) {
        u(edge, c) = x(graph.maps["src"][edge], c);
        v(edge, c) = z(graph.maps["src"][edge], c);
      }
    Tensors inputs{{"x", x}, {"zero", zero}, {"u", u}};
    if (binary)
      inputs.insert({{"z", z}, {"v", v}});
    for (const std::unique_ptr<Runner> &runner : compiledRunners(*model)) {
      llvm::Expected<Tensors> found = runner->run(graph, inputs);
      ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
      auto compare = [&](const char *output, int64_t row, int64_t c, int64_t from, bool signedZeros, float wanted) {
        float value = float((*found)[output](row, c)), a = float(x(from, c)), b = float(z(from, c));
        // A sum begins with 0, of either sign.
        EXPECT_TRUE(agrees(signedZeros ? value : value + 0, signedZeros ? wanted : wanted + 0, formula.tolerance))
            << runner->name() << ", " << output << " of x = " << a << ", z = " << b << " at width " << width << ": "
            << value << ", not " << wanted;
      };
      for (int64_t row = 0; row < count && !testing::Test::HasFailure(); ++row)
        for (int64_t c = 0; c < width; ++c) {
          int64_t src = graph.maps["src"][row];
          float own = formula.meaning(x(row, c), z(row, c)), far = formula.meaning(x(src, c), z(src, c));
          compare("rows", row, c, row, true, own);
          compare("edges", row, c, src, true, far);
          compare("sums", row, c, src, false, far);
          compare("terms", row, c, src, false, far);
          compare("met", row, c, row, false, own);
        }
    }
    if (HasFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Formulas, Arithmetic, testing::ValuesIn(kFormulas),
                         [](const auto &info) { return info.param.name; });

/// A divisor that all members of an owner share, or all rows, is divided by, not its reciprocal multiplied with: that
/// is 0 for 3e38, and rounds twice for others.
TEST(ArithmeticDivision, ByAValueThatMembersShare) {
  for (int64_t width : {1, 4, 40, 700}) {
    std::optional<frontend::ModelSpec> model =
        loadText("model M { input x: node[c = " + std::to_string(width) +
                 "], z: node[]\n param w[]\n output a = sum(x.src / z.dst)\n output b = x / z\n output c = x / w }");
    ASSERT_TRUE(model);
    const int64_t count = 11;
    Graph graph{{{"node", count}, {"edge", count}}, {{"src", {}}, {"dst", {}}}};
    for (int64_t i = 0; i < count; ++i) {
      graph.maps["src"].push_back((i + 4) % count);
      graph.maps["dst"].push_back(i);
    }
    Tensor x = Tensor::zeros({count, width}), z = Tensor::zeros({count});
    const float divisors[] = {2e-38f, 3, 7, 1e38f, 49, 0.1f, 1e-30f, 11, 13, 3e38f, 41};
    for (int64_t i = 0; i < count; ++i)
      z.data[i] = divisors[i];
    for (int64_t i = 0; i < count * width; ++i)
      x.data[i] = i % 7 == 0 ? 0 : float(i) * 0.37f;
    for (float shared : {2e-38f, 49.0f, 2.9e38f})
      for (const std::unique_ptr<Runner> &runner : compiledRunners(*model)) {
        // On GPUs quotients may be two units of the last place off (docs/Optimizations.md).
        if (llvm::StringRef(runner->name()).contains("GPU"))
          continue;
        llvm::Expected<Tensors> found = runner->run(graph, {{"x", x}, {"z", z}, {"w", {{}, {shared}}}});
        ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
        for (int64_t row = 0; row < count; ++row)
          for (int64_t c = 0; c < width; ++c) {
            int64_t src = graph.maps["src"][row];
            ASSERT_EQ(float((*found)["a"](row, c)), kept(float(x(src, c)) / divisors[row])) << runner->name();
            ASSERT_EQ(float((*found)["b"](row, c)), kept(float(x(row, c)) / divisors[row])) << runner->name();
            ASSERT_EQ(float((*found)["c"](row, c)), kept(float(x(row, c)) / shared)) << runner->name();
          }
      }
  }
}
