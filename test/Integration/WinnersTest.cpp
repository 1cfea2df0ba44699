//===- WinnersTest.cpp - Equal numbers come out equal ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which of several members has the largest value, and whether one has it, depends on the last bit. Members with equal
// operands must have equal values, whichever loop computes them, and a value that is computed twice must be the same.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include <gtest/gtest.h>

#include <random>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// Values of members, from the rows u and v of edges and x and z of nodes.
const char *const kFormulas[] = {
    "u * x.src + v * z.src",
    "u * x.src - v * z.src + u * v",
    "sum(u * x.src, over: c) * v",
    "u + mean(tanh(v), over: c) * x.src",
    "logsumexp(u * x.src, over: c) + v",
    "exp(u * x.src) * v + z.src",
    "sum(x.dst * z.dst, over: c) * u + v",
    "mean(u + x.dst, over: c) + 0 * v",
};

/// All of them for narrow rows, which take little to compile.
llvm::ArrayRef<const char *> formulasFor(int64_t width) {
  return width < 100 ? llvm::ArrayRef(kFormulas) : llvm::ArrayRef(kFormulas).slice(2, 3);
}

/// Owners with 0 to 12 members, all from the same node, one owner after the other.
Graph severalMembers() {
  Graph graph{{{"node", 13}, {"edge", 78}}, {{"src", {}}, {"dst", {}}}};
  for (int32_t owner = 0; owner < 13; ++owner)
    for (int32_t member = 0; member < owner; ++member) {
      graph.maps["src"].push_back(owner / 2);
      graph.maps["dst"].push_back(owner);
    }
  return graph;
}

bool isFirst(const Graph &graph, size_t edge) {
  return edge == 0 || graph.map("dst")[edge] != graph.map("dst")[edge - 1];
}

/// Random numbers with all bits of float32, the same for all members of an owner.
Tensors equalMembers(const Graph &graph, int64_t width) {
  std::mt19937 random(7);
  auto number = [&] { return double(float(random() % 2000001) / 1e6f - 1); };
  Tensors tensors;
  for (const char *name : {"x", "z"}) {
    Tensor &tensor = tensors[name] = Tensor::zeros({graph.extent("node"), width});
    for (double &x : tensor.data)
      x = number();
  }
  for (const char *name : {"u", "v"}) {
    Tensor &tensor = tensors[name] = Tensor::zeros({graph.extent("edge"), width});
    for (size_t edge = 0; edge < graph.map("dst").size(); ++edge)
      for (int64_t c = 0; c < width; ++c)
        tensor(edge, c) = isFirst(graph, edge) ? number() : tensor(edge - 1, c);
  }
  return tensors;
}

/// One of the formulas, m, and what is made of it. All inputs are used, whatever the formula.
std::optional<frontend::ModelSpec> modelOf(const std::string &formula, int64_t width, const std::string &outputs) {
  return loadText("model M { input x: node[c = " + std::to_string(width) + "], z: node[c], u: edge[c], v: edge[c]\n" +
                  "output unused = x + z\n let m = " + formula + "\n" + outputs + " }");
}

/// At every level, and with nothing kept for the backward half.
std::vector<std::unique_ptr<CompiledModel>> compileAll(const frontend::ModelSpec &model, bool gradient) {
  std::vector<std::unique_ptr<CompiledModel>> all;
  for (unsigned optLevel : {0, 1, 2})
    for (SaveKind save : {SaveKind::Auto, SaveKind::None}) {
      if (save == SaveKind::None && (!gradient || optLevel == 0))
        continue;
      CompileOptions options;
      options.optLevel = optLevel;
      options.gradient = gradient;
      options.save = save;
      options.cpuLevels = {3};
      options.optimiseCode = optLevel == 2; // It takes most of the time.
      auto compiled = CompiledModel::create(model, options);
      if (compiled)
        all.push_back(std::move(*compiled));
      else
        ADD_FAILURE() << llvm::toString(compiled.takeError());
    }
  return all;
}

class Winners : public testing::TestWithParam<int64_t> {};

} // namespace

TEST_P(Winners, TheFirstOfEqualMembersGetsTheGradient) {
  Graph graph = severalMembers();
  for (const char *formula : formulasFor(GetParam())) {
    std::optional<frontend::ModelSpec> model =
        modelOf(formula, GetParam(), "output most = max(m)\n output least = min(m)");
    ASSERT_TRUE(model);
    for (const std::unique_ptr<CompiledModel> &compiled : compileAll(*model, /*gradient=*/true))
      for (const char *output : {"most", "least"}) {
        Tensors inputs = equalMembers(graph, GetParam());
        for (const char *seed : {"grad.unused", "grad.most", "grad.least"}) {
          Tensor &tensor = inputs[seed] = Tensor::zeros({graph.extent("node"), GetParam()});
          std::fill(tensor.data.begin(), tensor.data.end(), std::string(seed).substr(5) == output);
        }
        llvm::Expected<Tensors> found = compiled->run(graph, inputs);
        ASSERT_TRUE(bool(found)) << compiled->name() << ": " << llvm::toString(found.takeError());
        const Tensor &gradient = (*found)["grad.u"];
        for (size_t edge = 0; edge < graph.map("dst").size(); ++edge)
          for (int64_t c = 0; c < GetParam(); ++c)
            ASSERT_EQ(gradient(edge, c) != 0, isFirst(graph, edge))
                << compiled->name() << ", " << output << " of " << formula << ", edge " << edge << " into "
                << graph.map("dst")[edge] << ", number " << c;
      }
  }
}

// Compared in a sweep along another map than the maximum's: other members are side by side there.
TEST_P(Winners, SomeMemberHasTheLargestValue) {
  Graph graph = severalMembers();
  Tensors inputs = equalMembers(graph, GetParam());
  for (const char *formula : formulasFor(GetParam())) {
    std::optional<frontend::ModelSpec> model =
        modelOf(formula, GetParam(), "output count = sum(where(m == max(m).dst, 1, 0), along: src)");
    ASSERT_TRUE(model);
    for (const std::unique_ptr<CompiledModel> &compiled : compileAll(*model, /*gradient=*/false)) {
      llvm::Expected<Tensors> found = compiled->run(graph, inputs);
      ASSERT_TRUE(bool(found)) << compiled->name() << ": " << llvm::toString(found.takeError());
      const Tensor &count = (*found)["count"];
      for (int64_t c = 0; c < GetParam(); ++c) {
        double all = 0;
        for (int64_t node = 0; node < graph.extent("node"); ++node)
          all += count(node, c);
        ASSERT_EQ(all, 78) << compiled->name() << ", " << formula << ", number " << c; // All are equal.
      }
    }
  }
}

// The largest number of a row is found in a kernel that holds rows in registers, and looked for again in one whose
// other rows are too wide for that.
TEST(WinnersOfRows, AreFoundInEveryKernel) {
  Graph graph = severalMembers();
  for (const char *row : {"mean(b, over: p)", "sum(b * d, over: p)", "sum(b, over: p)", "logsumexp(b, over: p)"}) {
    std::optional<frontend::ModelSpec> model =
        loadText("model M { input a: edge[w = 700], b: node[p = 7, q = 11], d: node[p, q], t: node[q]\n" +
                 std::string("output unused = b + d\n output y = a - max(") + row + " + t, over: q).src }");
    ASSERT_TRUE(model);
    std::mt19937 random(3);
    Tensors inputs{{"a", Tensor::zeros({graph.extent("edge"), 700})},
                   {"b", Tensor::zeros({graph.extent("node"), 7, 11})},
                   {"d", Tensor::zeros({graph.extent("node"), 7, 11})},
                   {"t", Tensor::zeros({graph.extent("node"), 11})},
                   {"grad.unused", Tensor::zeros({graph.extent("node"), 7, 11})},
                   {"grad.y", Tensor::zeros({graph.extent("edge"), 700})}};
    for (auto &[name, tensor] : inputs)
      for (double &x : tensor.data)
        x = name == "grad.y" ? 1 : double(float(random() % 2000001) / 1e6f - 1);
    std::vector<double> wanted(graph.extent("node"));
    for (int32_t node : graph.map("src"))
      wanted[node] -= 700;
    for (const std::unique_ptr<CompiledModel> &compiled : compileAll(*model, /*gradient=*/true)) {
      llvm::Expected<Tensors> found = compiled->run(graph, inputs);
      ASSERT_TRUE(bool(found)) << compiled->name() << ": " << llvm::toString(found.takeError());
      for (int64_t node = 0; node < graph.extent("node"); ++node) {
        double all = 0;
        for (int64_t q = 0; q < 11; ++q)
          all += (*found)["grad.t"](node, q);
        ASSERT_EQ(all, wanted[node]) << compiled->name() << ", " << row << ", node " << node;
      }
    }
  }
}

// Narrow rows side by side in a register, several registers, and rows in memory.
INSTANTIATE_TEST_SUITE_P(Widths, Winners, testing::Values(3, 17, 700));
