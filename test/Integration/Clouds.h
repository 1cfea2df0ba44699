//===- Clouds.h - Elements in several groups, for tests ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clouds of several sizes, empty ones and single points among them, and models on them in every form against the
// interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_CLOUDS_H
#define GNNC_TEST_INTEGRATION_CLOUDS_H

#include "TestModel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace gnnc::test {

/// Points in several clouds, in any order, some in none; and further points that look for neighbours there.
inline Graph clouds(std::vector<int64_t> sizes, unsigned seed) {
  Graph graph{{{"node", 0}, {"graph", int64_t(sizes.size())}, {"query", 0}}, {}};
  std::mt19937 engine(seed);
  for (const char *name : {"batch", "qbatch"}) {
    std::vector<int32_t> &batch = graph.maps[name];
    for (size_t i = 0; i < sizes.size(); ++i)
      batch.insert(batch.end(), size_t(sizes[i]), int32_t(i));
    std::shuffle(batch.begin(), batch.end(), engine);
  }
  std::vector<int32_t> &queries = graph.maps["qbatch"];
  queries.resize((queries.size() + 1) / 2);
  for (const char *space : {"node", "query"})
    graph.extents[space] = int64_t(graph.maps[space == std::string("node") ? "batch" : "qbatch"].size());
  return graph;
}

/// `most`: points of the largest.
inline std::vector<Graph> allClouds(int64_t most) {
  return {clouds({40, 0, 1, 7, 2, most}, 1), clouds({3}, 2), clouds({}, 3)};
}

inline constexpr const char *kSpaces = "import std\nspace graph\nspace query\nmap batch: node -> graph\n"
                                       "map qbatch: query -> graph\n";

inline void compareOn(const std::vector<Graph> &graphs, const std::string &text, bool gradient = false,
                      bool equalPoints = false) {
  std::optional<frontend::ModelSpec> model = loadText(kSpaces + text);
  ASSERT_TRUE(model);
  std::vector<std::unique_ptr<Runner>> runners = allRunners(*model, gradient);
  for (const Graph &graph : graphs) {
    Tensors inputs = randomTensors(*model, graph, 3), expected;
    if (gradient)
      for (const frontend::Output &output : model->outputs) {
        const frontend::Value &value = model->values[size_t(output.value)];
        std::vector<int64_t> shape;
        if (value.residency >= 0)
          shape.push_back(graph.extent(model->spaces[size_t(value.residency)].name));
        for (const frontend::Axis &axis : value.axes)
          shape.push_back(axis.size);
        Tensor seed = Tensor::zeros(shape);
        for (size_t i = 0; i < seed.data.size(); ++i)
          seed.data[i] = double(int64_t(i * 37 % 64) - 32) / 32;
        inputs["grad." + output.name] = std::move(seed);
      }
    if (equalPoints)
      for (double &number : inputs["pos"].data)
        number = std::round(number * 2) / 2;
    for (const std::unique_ptr<Runner> &runner : runners) {
      llvm::Expected<Tensors> found = runner->run(graph, inputs);
      ASSERT_TRUE(bool(found)) << runner->name() << ": " << llvm::toString(found.takeError());
      if (expected.empty()) // the interpreter's
        expected = *found;
      for (const auto &[name, tensor] : expected)
        EXPECT_LT(relativeError((*found)[name], tensor), 1e-5)
            << runner->name() << ", " << name << ", " << graph.extent("node") << " nodes";
      auto compiled = dynamic_cast<CompiledModel *>(runner.get());
      if (!compiled)
        continue;
      compiled->setThreads(5);
      llvm::Expected<Tensors> again = runner->run(graph, inputs);
      compiled->setThreads(2);
      ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
      for (const auto &[name, tensor] : *found)
        EXPECT_TRUE(haveSameBits((*again)[name], tensor)) << runner->name() << ", " << name;
    }
  }
}

inline void compareAll(const std::string &text, bool gradient = false, bool equalPoints = false, int64_t most = 300) {
  compareOn(allClouds(most), text, gradient, equalPoints);
}

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_CLOUDS_H
