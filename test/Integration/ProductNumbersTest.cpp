//===- ProductNumbersTest.cpp - Products of numbers that are special ------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor cores take a float32 in parts (Kernels/MatrixUnits.cuh), which must not make a number of what is none. GPUs
// make their NaNs with all bits set, the host its own with one. Infinities, and what is rounded to them, are not tried:
// on tensor cores they become NaNs (docs/rationale/gpu.md).
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace gnnc;
using namespace gnnc::test;

namespace {

struct Product {
  const char *name, *text; ///< of x, with or without z
  int64_t nodes, edges;
};
void PrintTo(const Product &product, std::ostream *out) { *out << product.name; }

class ProductNumbers : public testing::TestWithParam<Product> {};

double fromBits(uint64_t bits) {
  double number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

} // namespace

TEST_P(ProductNumbers, StayWhatTheyAre) {
  const Product &product = GetParam();
  std::optional<frontend::ModelSpec> model = loadText(product.text);
  ASSERT_TRUE(model);
  // In float32 these are 0x7fffffff and 0xffffffff.
  const double special[] = {fromBits(0x7fffffffffffffff), fromBits(0xffffffffffffffff), NAN, 3.4e38, -3.4e38};
  Graph graph = randomGraph(product.nodes, product.edges, 1);
  Tensors tensors = randomTensors(*model, graph, 2);
  for (double &w : tensors["W"].data)
    w /= 4096; // so that sums are finite
  tensors["W"](3, 5) = special[0];
  Tensor &x = tensors["x"];
  for (size_t i = 0; i < std::size(special); ++i)
    x(int64_t(3 * i + 1), int64_t(i)) = special[i];

  std::vector<std::unique_ptr<Runner>> runners = allRunners(*model, /*gradient=*/false);
  llvm::Expected<Tensors> expected = runners.front()->run(graph, tensors);
  ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
  const Tensor &wanted = (*expected)["y"];
  for (const std::unique_ptr<Runner> &runner : runners) {
    llvm::Expected<Tensors> found = runner->run(graph, tensors);
    ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
    const Tensor &y = (*found)["y"];
    for (size_t i = 0; i < wanted.data.size(); ++i) {
      bool agrees = std::isnan(wanted.data[i]) ? std::isnan(y.data[i]) : std::isfinite(y.data[i]);
      ASSERT_TRUE(agrees) << runner->name() << ": " << y.data[i] << ", not " << wanted.data[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, ProductNumbers,
    testing::Values(
        Product{"Rows", "model M { input x: node[in = 20]\n param W[in, out = 24]\n output y = x @ W }", 300, 9},
        // As many rows as warpgroups want (Kernels/Warpgroups.cuh).
        Product{"ManyRows", "model M { input x: node[in = 64]\n param W[in, out = 64]\n output y = x @ W }", 8300, 9},
        Product{"Tiles",
                "model M { input x: node[in = 20], z: node[in]\n param W[in, out = 24]\n"
                "output y = sum(abs(abs(x.src - z.dst) @ W)) }",
                45, 260}),
    [](const auto &info) { return info.param.name; });
