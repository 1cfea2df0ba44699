//===- MemoryTest.cpp - What training keeps, and how tightly it is placed -===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asked of the memory plans in compiled objects: a layer's gradients keep nothing of edges, and the arena is not much
// larger than what is alive at one time.
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"
#include "TestModel.h"

#include "gnnc/Host/HostTensor.h"
#include "gnnc/Host/PlanInfo.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

namespace {

std::unique_ptr<CompiledModel> compileModel(const std::string &body, SaveKind save, bool gradient = true) {
  std::optional<frontend::ModelSpec> model =
      loadText("import std\nmodel M(class: int = 7, edge_type: int = 7) {\n" + body + "\n}");
  if (!model)
    return nullptr;
  CompileOptions options;
  options.gradient = gradient;
  options.save = save;
  options.cpuLevels = {3};
  auto compiled = CompiledModel::create(*model, options);
  EXPECT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  return compiled ? std::move(*compiled) : nullptr;
}

/// Intermediate values of the gradients that have a row for each edge.
int64_t countOfEdges(const ModelInfo &info) {
  int64_t count = 0;
  for (const BufferInfo &buffer : info.buffers)
    count += buffer.function == "gradient" &&
             (buffer.space == "edge" || llvm::StringRef(buffer.space.value_or("")).contains("ring"));
  return count;
}

PhaseInfo gradientOf(const ModelInfo &info) {
  for (const PhaseInfo &phase : phasesOf(info))
    if (phase.program == "gradient" && phase.half.empty())
      return phase;
  ADD_FAILURE() << "there are no gradients";
  return {};
}

bool isOfEdges(const SymbolicExpr &bytes) { return bytes.getFactors().count("edge") > 0; }

struct Layer {
  const char *name, *body;
  bool keepsEdgesAtMost; ///< with --save=all
};
void PrintTo(const Layer &layer, std::ostream *stream) { *stream << layer.name; }

class LayerMemory : public testing::TestWithParam<Layer> {};

} // namespace

// The largest sum of live bytes has no term of edges, let alone of edges times heads times features; gradients of edge
// features are outputs and the caller's.
TEST_P(LayerMemory, TrainingKeepsNothingOfEdges) {
  for (SaveKind save : {SaveKind::Auto, SaveKind::None}) {
    SCOPED_TRACE(nameOf(save));
    std::unique_ptr<CompiledModel> compiled = compileModel(GetParam().body, save);
    ASSERT_TRUE(compiled);
    const ModelInfo &info = compiled->file().info();
    EXPECT_EQ(countOfEdges(info), 0);
    PhaseInfo gradient = gradientOf(info);
    EXPECT_FALSE(isOfEdges(gradient.saved)) << gradient.saved.str();
    for (const SymbolicExpr &bytes : gradient.peak.list())
      EXPECT_FALSE(isOfEdges(bytes)) << gradient.peak.str();
    EXPECT_GT(gradient.peak.list().size(), 0u);
    if (save == SaveKind::None)
      EXPECT_EQ(gradient.saved.str(), "0");
    else
      EXPECT_GT(gradient.saved.getFactors().count("node"), 0u) << "the test would not see what is saved";
  }
}

// Otherwise the test above could not fail.
TEST_P(LayerMemory, StoringEverythingWouldKeepEdges) {
  std::unique_ptr<CompiledModel> compiled = compileModel(GetParam().body, SaveKind::All);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(countOfEdges(compiled->file().info()) > 0, GetParam().keepsEdgesAtMost);
}

INSTANTIATE_TEST_SUITE_P(
    Layers, LayerMemory,
    testing::Values(
        Layer{"GAT", "input x: node[8]\n output y = GATPlain(x, heads: 4, out: 16)", true},
        Layer{"GATWithLoops", "input x: node[8]\n output y = GAT(x, heads: 4, out: 16)", true},
        Layer{"GATDropout", "input x: node[8]\n output y = GATPlain(x, heads: 4, out: 16, drop: 0.5)", true},
        Layer{"GATv2", "input x: node[8]\n output y = GATv2Plain(x, heads: 2, out: 64)", true},
        Layer{"GraphTransformer", "input x: node[8]\n output y = GraphTransformer(x, heads: 4, out: 16)", true},
        Layer{"MoNet", "input x: node[8], p: edge[2]\n output y = GMM(x, p, kernels: 2, out: 16)", true},
        Layer{"SAGEMax", "input x: node[8]\n output y = SAGEMax(x, out: 16)", false},
        Layer{"EdgeConv", "input x: node[8]\n output y = EdgeConv(x, out: 16)", true}),
    [](const auto &info) { return std::string(info.param.name); });

//===----------------------------------------------------------------------===//
// Results' memory
//===----------------------------------------------------------------------===//

namespace {

int64_t rounded(int64_t bytes) { return (bytes + runtime::kAlignment - 1) / runtime::kAlignment * runtime::kAlignment; }

/// Bytes of the workspace of `forward` on a graph of so many nodes, each with one edge.
int64_t workspaceOn(const ModelFile &file, int64_t nodes) {
  std::vector<int32_t> targets(static_cast<size_t>(nodes), 0);
  gnnc_extent extents[] = {{"node", nodes}, {"edge", nodes}};
  gnnc_index indices[] = {{"src", targets.data(), nodes, 32, GNNC_INDEX_EACH},
                          {"dst", targets.data(), nodes, 32, GNNC_INDEX_EACH}};
  llvm::Expected<Session> session =
      Session::create(file, {sizeof(gnnc_graph_desc), 2, extents, 2, indices, 0, nullptr, nullptr, nullptr}, 1);
  if (!session) {
    ADD_FAILURE() << llvm::toString(session.takeError());
    return 0;
  }
  llvm::Expected<size_t> bytes = session->workspaceBytes("forward");
  EXPECT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  return bytes ? int64_t(*bytes) : 0;
}

} // namespace

// Keys, values and queries have a row for each node in the workspace; the root's row, which is added to the sum, lies
// where the result goes.
TEST(ResultMemory, HoldsTheRootOfATransformer) {
  constexpr int64_t kHeads = 4, kOut = 16, kRow = 4 * kHeads * kOut;
  std::unique_ptr<CompiledModel> compiled =
      compileModel("input x: node[8]\n output y = GraphTransformer(x, heads: 4, out: 16)", SaveKind::Auto, false);
  ASSERT_TRUE(compiled);
  std::vector<PhaseInfo> phases = phasesOf(compiled->file().info());
  ASSERT_FALSE(phases.empty());
  EXPECT_EQ(phases.front().program, "forward");
  EXPECT_EQ(phases.front().peak.str(), SymbolicExpr::of("node", 3 * kRow).str());
  // Beside these there is what does not depend on the graph.
  int64_t fixed = workspaceOn(compiled->file(), 0);
  for (int64_t nodes : {1, 7, 1000})
    EXPECT_EQ(workspaceOn(compiled->file(), nodes) - fixed, 3 * rounded(nodes * kRow)) << nodes << " nodes";
}

//===----------------------------------------------------------------------===//
// The arena
//===----------------------------------------------------------------------===//

namespace {

class Arena : public testing::TestWithParam<Layer> {};

} // namespace

// Placed by the runtime's own planner, for graphs of all shapes. Spaces that are derived have sizes of their own, so
// any order of sizes among the values of a model is met.
TEST_P(Arena, IsWithinATenthOfTheLargestSumOfLiveBytes) {
  bool trains = llvm::StringRef(GetParam().body).contains("train ");
  double worst = 0;
  for (SaveKind save : {SaveKind::Auto, SaveKind::None, SaveKind::All}) {
    std::unique_ptr<CompiledModel> compiled = compileModel(GetParam().body, save, !trains);
    ASSERT_TRUE(compiled);
    const ModelInfo &info = compiled->file().info();
    for (int64_t nodes : {1000, 30000})
      for (int64_t degree : {1, 4, 20, 80, 500}) {
        auto extentOf = [&](const SpaceInfo &space) -> int64_t {
          if (space.extent)
            return *space.extent;
          llvm::StringRef name = space.name;
          return name == "node"               ? nodes
                 : name == "graph"            ? std::max<int64_t>(1, nodes / 50)
                 : name == "train"            ? nodes / 10
                 : name.ends_with("_type")    ? 7
                 : name.contains("owner")     ? nodes * std::min<int64_t>(degree, 3)
                 : name.contains("ring")      ? nodes * (degree + 1)
                 : name.contains("edge_pair") ? nodes * degree * 3
                                              : nodes * degree;
        };
        for (const ProgramInfo &program : info.programs) {
          std::vector<runtime::Lifetime> items;
          for (const BufferInfo &buffer : info.buffers)
            if (buffer.function == program.name) {
              const SpaceInfo *space = buffer.space ? info.findSpace(*buffer.space) : nullptr;
              items.push_back({buffer.rowElements * elementBytes(info.type) * (space ? extentOf(*space) : 1),
                               *buffer.first, *buffer.last, 0});
            }
          if (items.empty())
            continue;
          int64_t peak = 0, total = 0;
          for (const runtime::Lifetime &at : items) {
            int64_t live = 0;
            for (const runtime::Lifetime &item : items)
              live += item.first <= at.first && at.first <= item.last ? rounded(item.bytes) : 0;
            peak = std::max(peak, live);
          }
          std::vector<int64_t> scratch(runtime::kPlanWords * items.size());
          runtime::planMemory(items.data(), int64_t(items.size()), scratch.data(), total);
          EXPECT_GE(total, peak);
          EXPECT_LE(double(total), 1.1 * double(peak))
              << program.name << " --save=" << nameOf(save) << ", " << nodes << " nodes of degree " << degree;
          worst = std::max(worst, double(total) / double(peak));
        }
      }
  }
  std::printf("%s: at worst %.3f times the live bytes\n", GetParam().name, worst);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Arena,
    testing::Values(
        Layer{"GAT", "input x: node[64]\n output y = GAT(elu(GAT(x, heads: 4, out: 16) as a), heads: 2, out: 5) as b",
              true},
        Layer{"GATv2", "input x: node[64]\n output y = GATv2Plain(x, heads: 2, out: 64)", true},
        Layer{"GraphTransformers",
              "input x: node[64]\n"
              "let h = relu(GraphTransformer(x, heads: 4, out: 16) as a)\n"
              "let h = relu(GraphTransformer(h, heads: 2, out: 16) as b)\n"
              "output y = GraphTransformer(h, heads: 1, out: 3) as c",
              true},
        Layer{"MoNet",
              "input x: node[64], p: edge[2]\n output y = GMM(relu(GMM(x, p, kernels: 3, out: 32) as a), p, "
              "kernels: 2, out: 16) as b",
              true},
        Layer{"EdgeConvs",
              "input x: node[3]\n let a = EdgeConv(x, out: 64) as a\n let b = EdgeConv(a, out: 64) as b\n"
              "let c = EdgeConvMLP(b, hidden: 32, out: 128) as c\n output y = Linear(concat(a, b, c, axis: out), "
              "out: 10)",
              true},
        Layer{"RGCN",
              "input x: node[64]\n"
              "output y = RGCN(relu(RGCN(x, out: 32) as a), out: 8) as b",
              true},
        Layer{"GCNTraining",
              "input x: node[100]\n"
              "output logits = GCN(dropout(relu(GCN(x, out: 16) as a), 0.5), out: 7) as b\n"
              "loss = CrossEntropy(logits.train, onehot(label).train)\n train Adam(lr: 0.01)",
              true}),
    [](const auto &info) { return std::string(info.param.name); });
