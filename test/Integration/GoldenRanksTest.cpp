//===- GoldenRanksTest.cpp - PyTorch Geometric's numbers on ranks ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layers of GoldenTest.cpp on graphs that are cut by lot, each part run by a thread.
//
//===----------------------------------------------------------------------===//

#include "DistributedModel.h"
#include "GoldenCases.h"
#include "Ranks.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// A compiled model, and the same with exchanges that bring nothing, which must be another result.
class OnRanks : public Runner {
public:
  OnRanks(std::shared_ptr<DistributedModel> model, std::shared_ptr<CompiledModel> compiled, int count)
      : model(std::move(model)), compiled(std::move(compiled)), count(count) {}
  std::string name() const override { return std::to_string(count) + " ranks"; }

  llvm::Expected<Tensors> run(const Graph &graph, const Tensors &tensors) override {
    Ranks ranks(*model->imported, graph, count, PartitionKind::Random);
    llvm::Expected<Tensors> found = ranks.run(compiled->file(), kGradient, tensors);
    if (!found)
      return found;
    EXPECT_GT(ranks.bytesExchanged(), 0) << name();
    llvm::Expected<Tensors> without = ranks.run(compiled->file(), kGradient, tensors, /*exchanges=*/false);
    if (!without)
      return without;
    EXPECT_TRUE(isFar(*without, *found)) << name() << ": what is exchanged makes no difference";
    return found;
  }

private:
  std::shared_ptr<DistributedModel> model;
  std::shared_ptr<CompiledModel> compiled;
  int count;
};

class GoldenOnRanks : public testing::TestWithParam<const char *> {};

TEST_P(GoldenOnRanks, MatchPyG) {
  compareWithPyG(GetParam(), /*gradient=*/true, [](const frontend::ModelSpec &spec) {
    std::vector<std::unique_ptr<Runner>> runners;
    auto model = std::make_shared<DistributedModel>(spec);
    auto compiled = model->compile(/*optLevel=*/2, /*isDouble=*/false);
    if (!compiled) {
      ADD_FAILURE() << llvm::toString(compiled.takeError());
      return runners;
    }
    std::shared_ptr<CompiledModel> shared = std::move(*compiled);
    for (int count : {2, 3, 4, 8})
      runners.push_back(std::make_unique<OnRanks>(model, shared, count));
    return runners;
  });
}

INSTANTIATE_TEST_SUITE_P(PyG, GoldenOnRanks, testing::ValuesIn(kGoldenLayers),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
