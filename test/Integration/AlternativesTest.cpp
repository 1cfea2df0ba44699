//===- AlternativesTest.cpp - Functions that are chosen for each graph ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models whose best form depends on the graph, each on two graphs that choose differently: both forms equal the
// interpreter, forward and backward, and the runtime takes the one that the formulas of the description name.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "dialects/mpk/IR/MPK.h"
#include "lib/Pipelines/Alternatives.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// A few nodes at one end of all edges and many at the other.
Graph starGraph(int64_t few, int64_t many, bool fewSend) {
  Graph graph;
  graph.extents = {{"node", few + many}, {"edge", 4 * many}};
  for (int64_t i = 0; i < 4 * many; ++i) {
    int32_t one = int32_t(i % few), other = int32_t(few + i % many);
    graph.maps["src"].push_back(fewSend ? one : other);
    graph.maps["dst"].push_back(fewSend ? other : one);
    graph.maps["etype"].push_back(int32_t(i / 7 % 4));
  }
  return graph;
}

/// Each user follows one item.
Graph followsGraph(int64_t users, int64_t items) {
  Graph graph;
  graph.extents = {{"user", users}, {"item", items}, {"follows", users}};
  for (int64_t i = 0; i < users; ++i) {
    graph.maps["follows.src"].push_back(int32_t(i));
    graph.maps["follows.dst"].push_back(int32_t(i % items));
  }
  return graph;
}

/// `nodes` in `graphs` graphs, the last ones of which may be empty.
Graph batchedGraph(int64_t nodes, int64_t graphs) {
  Graph graph;
  graph.extents = {{"node", nodes}, {"graph", graphs}};
  for (int64_t i = 0; i < nodes; ++i)
    graph.maps["batch"].push_back(int32_t(i * std::min(graphs, nodes) / nodes));
  return graph;
}

gnnc_graph_desc describe(const Graph &graph, std::vector<gnnc_extent> &extents, std::vector<gnnc_index> &indices) {
  for (const auto &[name, extent] : graph.extents)
    extents.push_back({name.c_str(), extent});
  for (const auto &[name, targets] : graph.maps)
    indices.push_back({name.c_str(), targets.data(), int64_t(targets.size()), 32, GNNC_INDEX_EACH});
  return {sizeof(gnnc_graph_desc),
          int32_t(extents.size()),
          extents.data(),
          int32_t(indices.size()),
          indices.data(),
          0,
          nullptr,
          nullptr,
          nullptr};
}

/// The bytes that a function's intermediate values have at least: those alive in its fullest step.
double liveBytes(const ModelInfo &info, const std::string &function,
                 llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> extent) {
  double most = 0;
  for (int64_t step = 0; step < 100; ++step) {
    double live = 0;
    for (const BufferInfo &buffer : info.buffers)
      if (buffer.function == function && buffer.first && *buffer.first <= step && step <= *buffer.last)
        live += double(buffer.rowElements) * 4 * double(buffer.space ? *extent(*buffer.space) : 1);
    most = std::max(most, live);
  }
  return most;
}

/// The function that a graph chooses, by the description; checks that the workspace is that function's.
std::string chosenOn(const CompiledModel &model, const Graph &graph) {
  std::vector<gnnc_extent> extents;
  std::vector<gnnc_index> indices;
  llvm::Expected<Session> session = Session::create(model.file(), describe(graph, extents, indices), 1);
  if (!session) {
    ADD_FAILURE() << llvm::toString(session.takeError());
    return "";
  }
  const ModelInfo &info = model.file().info();
  auto extent = [&](llvm::StringRef space) {
    int64_t found = session->extent(space.str());
    return found < 0 ? std::nullopt : std::optional<int64_t>(found);
  };
  std::string chosen = info.chooseFunction("forward", extent);
  llvm::Expected<size_t> bytes = session->workspaceBytes("forward");
  if (!bytes) {
    ADD_FAILURE() << llvm::toString(bytes.takeError());
    return "";
  }
  // Tables of addresses, partial results and alignment come on top.
  double least = liveBytes(info, chosen, extent);
  EXPECT_GE(double(*bytes), least) << chosen;
  EXPECT_LE(double(*bytes), least + 4096) << chosen;
  return chosen;
}

struct Choice {
  const char *name;
  const char *text;
  Graph one, other;
  const char *oneChosen, *otherChosen;
};

void PrintTo(const Choice &choice, std::ostream *stream) { *stream << choice.name; }

class Alternatives : public testing::TestWithParam<Choice> {};

} // namespace

TEST_P(Alternatives, AreChosenByTheGraphAndEqualTheInterpreter) {
  std::optional<frontend::ModelSpec> model = loadText(GetParam().text);
  ASSERT_TRUE(model);
  auto compiled = CompiledModel::create(*model, 2);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  EXPECT_EQ(chosenOn(**compiled, GetParam().one), GetParam().oneChosen);
  EXPECT_EQ(chosenOn(**compiled, GetParam().other), GetParam().otherChosen);

  for (bool gradient : {false, true}) {
    auto runners = allRunners(*model, gradient);
    for (const Graph *graph : {&GetParam().one, &GetParam().other}) {
      Tensors tensors = randomTensors(*model, *graph, 1);
      if (gradient) {
        auto outputs = allRunners(*model)[0]->run(*graph, tensors);
        ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
        for (auto &[name, output] : *outputs) {
          Tensor seed = output;
          for (size_t i = 0; i < seed.data.size(); ++i)
            seed.data[i] = double(int(i * 37 % 64) - 32) / 32;
          tensors["grad." + name] = seed;
        }
      }
      auto expected = runners[0]->run(*graph, tensors);
      ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
      for (auto &runner : llvm::drop_begin(runners)) {
        auto actual = runner->run(*graph, tensors);
        ASSERT_TRUE(bool(actual)) << runner->name() << ": " << llvm::toString(actual.takeError());
        for (const auto &[name, tensor] : *expected)
          EXPECT_LE(relativeError(actual->at(name), tensor), 2e-5) << runner->name() << ", " << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Alternatives,
    testing::Values(
        // Products on pairs of receiver and type, or of sender and type.
        Choice{"TypedSum", R"(import std
          layer Typed(x: node[in], out: int) -> node[out] {
            param W: edge_type[in, out]
            sum(x.src @ W.edge)
          }
          model TypedSum(in: int = 16, node_type: int = 2, edge_type: int = 4) {
            input x: node[in]
            output y = Typed(x, out: 16)
          })",
               starGraph(2, 1500, false), starGraph(2, 1500, true), "forward", "forward.few_sources"},
        // A product of members after their sum, or before it where graphs outnumber nodes.
        Choice{"Readout", R"(import std
          model Readout(in: int = 64) {
            input x: node[in]
            output y = GlobalSumPool(Linear(x, out: 48, bias: false))
          })",
               batchedGraph(3000, 4), batchedGraph(40, 3000), "forward", "forward.few_sources"},
        // A product that makes rows narrower where they come from, or where they go if there are few.
        Choice{"Users", R"(import std
          space user
          space item
          relation follows: user -> item
          layer Heard(x: source[in], out: int) -> target[out] {
            param W[in, out]
            sum((x @ W).src)
          }
          model Users(in: int = 64) {
            input x: user[in]
            output y = Heard(x, out: 48) on follows
          })",
               followsGraph(20, 3000), followsGraph(3000, 4), "forward", "forward.few_owners"}),
    [](const testing::TestParamInfo<Choice> &info) { return std::string(info.param.name); });

/// What keeps an alternative out is said.
TEST(Alternatives, AreLeftOutWithAReason) {
  mlir::MLIRContext context;
  context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, mlir::func::FuncDialect>();
  std::string said;
  context.getDiagEngine().registerHandler([&](mlir::Diagnostic &diagnostic) { said += diagnostic.str() + "\n"; });
  mlir::remark::RemarkCategories everything{".*", ".*", ".*", ".*", ".*"};
  ASSERT_TRUE(mlir::succeeded(mlir::remark::enableOptimizationRemarks(
      context, nullptr, std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), everything,
      /*printAsEmitRemarks=*/true)));
  // One sum of narrow rows, or none of wide ones: cheaper, over a map that goes elsewhere.
  auto parse = [&](const char *to, const char *size) {
    std::string of = std::string("tensor<?x") + size + "xf32, #mpdfg.on<@",
                element = std::string("tensor<") + size + "xf32>";
    std::string member = of + "edge>>", owner = of + to + ">>";
    return mlir::parseSourceString<mlir::ModuleOp>(
        std::string("mpdfg.space @node root\nmpdfg.space @item root\nmpdfg.space @edge root\n"
                    "mpdfg.map @dst root from @edge to @") +
            to + "\nfunc.func @forward(%x: " + member + ") -> " + owner + " {\n%y = mpk.sweep over @" + to +
            " along @dst (%x) access [#mpk.access<member>] yields [#mpk.access<owner>] {\n^bb0(%a: " + element +
            "):\n%s = mpk.accumulate sum %a : " + element + "\nmpk.yield %s : " + element + "\n} : (" + member +
            ") -> " + owner + "\nreturn %y : " + owner + "\n}",
        &context);
  };
  mlir::OwningOpRef<mlir::ModuleOp> module = parse("node", "64");
  ASSERT_TRUE(module);
  addAlternatives(*module, [&](Extents) { return parse("item", "8"); });
  EXPECT_NE(said.find("few_sources is left out: a space or map of its means something else in this form"),
            std::string::npos)
      << said;
  said.clear();
  addAlternatives(*module, [&](Extents) { return mlir::OwningOpRef<mlir::ModuleOp>(); });
  EXPECT_NE(said.find("few_sources is left out: the model is not compiled for it"), std::string::npos) << said;
  EXPECT_EQ(std::distance(module->getOps<mlir::func::FuncOp>().begin(), module->getOps<mlir::func::FuncOp>().end()), 1);
}
