//===- CapacityTest.cpp - Mini-batches in one workspace -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph with capacities that is updated to others gives the bits of graphs that were prepared alone, in one workspace
// beyond whose size nothing is written; and may be planned for a GPU without one.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include "gnnc/Host/GraphInfo.h"
#include "gnnc/Target/CUDA/NVRTC.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// What the C interface wants of a graph.
struct Description {
  std::vector<gnnc_extent> extents, capacities;
  std::vector<gnnc_index> indices;
  gnnc_graph_desc desc;

  explicit Description(const Graph &graph, const Graph *capacity = nullptr) {
    for (const auto &[name, extent] : graph.extents)
      extents.push_back({name.c_str(), extent});
    for (const auto &[name, targets] : graph.maps)
      indices.push_back({name.c_str(), targets.data(), int64_t(targets.size()), 32, GNNC_INDEX_EACH});
    if (capacity)
      for (const auto &[name, extent] : capacity->extents)
        capacities.push_back({name.c_str(), extent});
    desc = {sizeof desc,    int32_t(extents.size()),    extents.data(),    int32_t(indices.size()),
            indices.data(), int32_t(capacities.size()), capacities.data(), nullptr,
            nullptr};
  }
};

class CapacityRun {
public:
  CapacityRun(const CompiledModel &model, int threads) : model(model), api(model.file().api()) {
    gnnc_options options = {sizeof options, threads, nullptr, 1, 0, 0, 0, nullptr, nullptr};
    check(api.open(&options, &context, &error));
  }
  ~CapacityRun() { api.close(context); }

  /// The bytes of all outputs of `program`.
  std::vector<std::string> run(gnnc_graph *graph, const std::string &program, const Tensors &tensors, void *workspace,
                               size_t bytes) {
    std::vector<HostTensor> inputs, outputs;
    auto add = [&](std::vector<HostTensor> &list, const std::string &name, const std::vector<int64_t> &shape) {
      llvm::Expected<HostTensor> made = HostTensor::create(name, ElementType::F32, shape);
      EXPECT_TRUE(bool(made));
      list.push_back(std::move(*made));
    };
    for (const auto &[name, tensor] : tensors) {
      add(inputs, name, tensor.shape);
      for (size_t i = 0; i < tensor.data.size(); ++i)
        inputs.back().set(int64_t(i), tensor.data[i]);
    }
    for (const TensorInfo &output : model.file().info().findProgram(program)->outputs) {
      std::vector<int64_t> shape = output.dims;
      if (output.space)
        shape.insert(shape.begin(), api.extent(graph, output.space->c_str()));
      add(outputs, output.name, shape);
    }
    std::vector<gnnc_binding> from, to;
    for (const HostTensor &tensor : inputs)
      from.push_back(tensor.binding());
    for (const HostTensor &tensor : outputs)
      to.push_back(tensor.binding());
    check(api.run(context, graph, program.c_str(), from.data(), int32_t(from.size()), to.data(), int32_t(to.size()),
                  workspace, bytes, nullptr, &error));
    std::vector<std::string> result;
    for (const HostTensor &tensor : outputs)
      result.emplace_back(static_cast<const char *>(tensor.data()), tensor.bytes());
    return result;
  }

  void check(gnnc_status status) { ASSERT_EQ(status, GNNC_OK) << error.message; }

  const CompiledModel &model;
  const gnnc_api &api;
  gnnc_context *context = nullptr;
  gnnc_error error = {};
};

const char *const models[] = {R"(import std
  model Attention(in: int = 6) {
    input x: node[in]
    output y = GAT(x, heads: 2, out: 5)
    output m = GlobalMaxPool(x)
  })",
                              R"(import std
  layer Typed(x: node[in], out: int) -> node[out] {
    param W: edge_type[in, out]
    sum(x.src @ W.edge)
  }
  model TypedSum(in: int = 6, node_type: int = 3, edge_type: int = 4) {
    input x: node[in]
    output y = GCN(relu(Typed(x, out: 16)), out: 3)
  })",
                              // Pairs that are walked, and pairs that are listed.
                              R"(model Paired(in: int = 6, node_type: int = 3) {
    input x: node[in]
    space pair = pairs(ntype)
    space path = pairs(src, dst)
    output y = sum(softmax(dot(x.pair.dst, x.pair.src, over: in), along: pair.dst) * x.pair.src, along: pair.dst)
    output z = max(tanh(x.src.path.src - x.dst.path.dst), along: path.dst)
  })",
                              // Spaces whose extent values decide, within what the capacities leave room for.
                              R"(import std
  model Chosen(in: int = 6, node_type: int = 3) {
    input x: node[in]
    space near = radius(x, r: 3.0, max: 5, along: ntype)
    space kept = filter(edge, sum(x.src * x.dst, over: in) > 0)
    space best = topk(sum(x, over: in), ratio: 0.5, along: ntype)
    output y = sum(tanh(x.near.src - x.near.dst), along: near.dst) + sum(x.src.kept, along: kept.dst)
    output z = sum(x.best.src, along: all) + mean(x.near.src, along: all)
  })"};

class Capacity : public testing::TestWithParam<int> {};

} // namespace

TEST_P(Capacity, UpdatedGraphsGiveTheBitsOfNewOnes) {
  std::optional<frontend::ModelSpec> model = loadText(models[GetParam()]);
  ASSERT_TRUE(model);
  // With alternatives the capacities choose, and a graph alone may have another form with other last bits.
  CompileOptions options;
  options.gradient = true;
  options.cpuLevels = {bestProcessorLevel()};
  options.without = {"alternatives"};
  auto compiled = CompiledModel::create(*model, options);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  CapacityRun runner(**compiled, 2);
  Graph capacity = randomGraph(400, 3000, 1);
  const Graph batches[] = {randomGraph(50, 200, 2), capacity, randomGraph(400, 0, 3), randomGraph(1, 5, 4),
                           randomGraph(399, 2999, 5)};
  gnnc_graph *updated = nullptr;
  Description first(batches[0], &capacity);
  runner.check(runner.api.prepare(runner.context, &first.desc, &updated, &runner.error));
  for (const char *program : {"forward", "gradient"}) {
    size_t bytes = 0;
    runner.check(runner.api.workspace_size(updated, program, &bytes, &runner.error));
    constexpr size_t kGuard = 4096;
    auto *workspace = static_cast<unsigned char *>(std::aligned_alloc(64, (bytes + kGuard + 63) / 64 * 64));
    for (const Graph &batch : batches) {
      Description description(batch);
      runner.check(runner.api.update(runner.context, updated, &description.desc, &runner.error));
      gnnc_graph *alone = nullptr;
      runner.check(runner.api.prepare(runner.context, &description.desc, &alone, &runner.error));
      Tensors tensors = randomTensors(*model, batch, 7);
      if (std::strcmp(program, "gradient") == 0)
        for (const TensorInfo &output : (*compiled)->file().info().outputs) {
          Tensor seed;
          seed.shape = output.dims;
          if (output.space)
            seed.shape.insert(seed.shape.begin(), runner.api.extent(alone, output.space->c_str()));
          seed = Tensor::zeros(seed.shape);
          for (size_t i = 0; i < seed.data.size(); ++i)
            seed.data[i] = double(int(i * 37 % 64) - 32) / 32;
          tensors["grad." + output.name] = seed;
        }
      std::memset(workspace, 0xff, bytes + kGuard);
      std::vector<std::string> found = runner.run(updated, program, tensors, workspace, bytes);
      EXPECT_EQ(found, runner.run(alone, program, tensors, nullptr, 0)) << program << ", " << batch.extent("edge");
      for (size_t i = 0; i < kGuard; ++i)
        ASSERT_EQ(workspace[bytes + i], 0xff);
      runner.api.free_graph(alone);
    }
    std::free(workspace);
  }
  runner.api.free_graph(updated);
}

INSTANTIATE_TEST_SUITE_P(Models, Capacity, testing::Values(0, 1, 2, 3));

/// As on a GPU, but for running: the workspace stays as large, and what is chosen is said.
TEST(PlanOnly, NeedsNoDevice) {
  if (llvm::Error missing = cuda::findCompiler())
    GTEST_SKIP() << llvm::toString(std::move(missing));
  std::optional<frontend::ModelSpec> model = loadText(models[0]);
  ASSERT_TRUE(model);
  CompileOptions options;
  options.targets = {"cuda"};
  options.architectures = {90};
  auto compiled = CompiledModel::create(*model, options);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  const gnnc_api &api = (*compiled)->file().api();
  gnnc_error error = {};
  gnnc_context *context = nullptr;
  gnnc_options open = {sizeof open, 1, nullptr, 2, 0, 1, 0, nullptr, nullptr};
  ASSERT_EQ(api.open(&open, &context, &error), GNNC_OK) << error.message;
  Graph capacity = randomGraph(3000, 40000, 1), small = randomGraph(20, 90, 2), hub = randomGraph(3000, 39000, 3);
  std::fill_n(hub.maps["dst"].begin(), 20000, 7);
  gnnc_graph *graph = nullptr;
  Description first(small, &capacity);
  ASSERT_EQ(api.prepare(context, &first.desc, &graph, &error), GNNC_OK) << error.message;
  size_t bytes = 0, own = 0;
  ASSERT_EQ(api.workspace_size(graph, nullptr, &bytes, &error), GNNC_OK);
  auto describe = [&] {
    size_t length = 0;
    EXPECT_EQ(api.describe_graph(graph, nullptr, 0, &length, &error), GNNC_OK);
    std::string text(length + 1, '?');
    EXPECT_EQ(api.describe_graph(graph, text.data(), text.size(), &length, &error), GNNC_OK);
    EXPECT_EQ(text.find('\0'), length);
    llvm::Expected<GraphInfo> info = GraphInfo::parse(text.c_str());
    EXPECT_TRUE(bool(info)) << llvm::toString(info.takeError());
    return *info;
  };
  for (const Graph *batch : {&capacity, &hub, &small}) {
    Description description(*batch);
    ASSERT_EQ(api.update(context, graph, &description.desc, &error), GNNC_OK) << error.message;
    ASSERT_EQ(api.workspace_size(graph, nullptr, &own, &error), GNNC_OK);
    EXPECT_EQ(own, bytes);
    gnnc_graph *alone = nullptr;
    ASSERT_EQ(api.prepare(context, &description.desc, &alone, &error), GNNC_OK) << error.message;
    ASSERT_EQ(api.workspace_size(alone, nullptr, &own, &error), GNNC_OK);
    EXPECT_LE(own, bytes);
    api.free_graph(alone);
    GraphInfo info = describe();
    EXPECT_EQ(info.device, "cuda");
    EXPECT_EQ(info.processors, 132);
    ASSERT_FALSE(info.sweeps.empty());
    for (const SweepChoice &sweep : info.sweeps) {
      int64_t items = 0;
      for (const LaunchChoice &launch : sweep.launches)
        items += launch.items;
      ASSERT_NE(info.findWorklist(sweep.map), nullptr);
      EXPECT_EQ(items, info.findWorklist(sweep.map)->items);
      EXPECT_EQ(sweep.by, info.findWorklist(sweep.map)->bySize ? "size" : "average");
      if (batch == &small) {
        EXPECT_EQ(info.findWorklist(sweep.map)->heavyOwners, 0) << sweep.map;
      }
      if (batch == &hub && sweep.map != "batch") {
        EXPECT_EQ(sweep.by, "size") << sweep.map;
      }
    }
  }
  gnnc_binding none = {};
  EXPECT_EQ(api.run(context, graph, nullptr, &none, 0, &none, 0, nullptr, 0, nullptr, &error), GNNC_UNSUPPORTED);
  EXPECT_STREQ(error.message, "run: the context was opened with plan_only");
  void *memory = nullptr;
  EXPECT_EQ(api.allocate(context, 8, &memory, &error), GNNC_UNSUPPORTED);
  // A graph may go after its context.
  api.close(context);
  api.free_graph(graph);
}
