//===- GraphFileTest.cpp - What a model takes from a graph file -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphFile.h"
#include "TestFiles.h"

#include "gtest/gtest.h"

using namespace gnnc;
using namespace gnnc::test;

namespace {

const std::string nodeAndEdge = R"("spaces":[{"name":"node","kind":"root"},{"name":"edge","kind":"root"},)"
                                R"({"name":"edge_type","kind":"static","extent":4}],)"
                                R"("maps":[{"name":"src","from":"edge","to":"node","kind":"root"},)"
                                R"({"name":"dst","from":"edge","to":"node","kind":"root"}])";
const std::string denseX = R"("inputs":[{"name":"x","space":"node","dims":[3],"axes":["in"]}])";
const std::string sparseX =
    R"("spaces":[{"name":"node","kind":"root"},{"name":"x.entry","kind":"root"},)"
    R"({"name":"x.in","kind":"static","extent":3}],)"
    R"("maps":[{"name":"x.row","from":"x.entry","to":"node","kind":"root"},)"
    R"({"name":"x.column","from":"x.entry","to":"x.in","kind":"root"}],)"
    R"("inputs":[{"name":"x","space":"x.entry","dims":[],"axes":[],"optional":true,"fill":1.0}],)"
    R"("sparse_inputs":[{"name":"x","entries":"x.entry","row":"x.row","column":"x.column","value":"x"}])";

FileBuilder twoNodes() { return FileBuilder().metadata("num_nodes", "2"); }
FileBuilder twoNodesAndEdges() { return twoNodes().add<int32_t>("edge_index", {2, 3}, {0, 1, 0, 1, 1, 0}); }

std::vector<int64_t> valuesOf(const gnnc_index &index) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < index.length; ++i)
    values.push_back(index.bits == 32 ? static_cast<const int32_t *>(index.data)[i]
                                      : static_cast<const int64_t *>(index.data)[i]);
  return values;
}

/// The data of a map, with its format before it.
std::vector<int64_t> mapOf(const BoundGraph &graph, const std::string &name) {
  gnnc_graph_desc desc = graph.description();
  for (int32_t i = 0; i < desc.num_indices; ++i)
    if (desc.indices[i].map == name) {
      std::vector<int64_t> values = valuesOf(desc.indices[i]);
      values.insert(values.begin(), desc.indices[i].format);
      return values;
    }
  return {};
}

std::vector<float> inputOf(const BoundGraph &graph, const std::string &name) {
  for (const gnnc_binding &input : graph.inputs())
    if (input.name == name) {
      int64_t count = 1;
      for (int32_t i = 0; i < input.tensor.ndim; ++i)
        count *= input.tensor.shape[i];
      const auto *data = static_cast<const float *>(input.tensor.data);
      return std::vector<float>(data, data + count);
    }
  return {};
}

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

TEST(BoundGraph, TakesTheExtentOfNodesFromTheirLabels) {
  ModelInfo model = modelWith(R"("spaces":[{"name":"node","kind":"root"},{"name":"class","kind":"static","extent":2}],)"
                              R"("maps":[{"name":"label","from":"node","to":"class","kind":"root"}])");
  SafetensorsFile file = FileBuilder().add<int32_t>("y", {3}, {1, 0, 1}).build();
  llvm::Expected<BoundGraph> graph = BoundGraph::create(file, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(graph->extent("node"), 3);
  EXPECT_EQ(mapOf(*graph, "label"), (Ints{GNNC_INDEX_EACH, 1, 0, 1}));
}

TEST(BoundGraph, TakesExtentsAndEdges) {
  ModelInfo model = modelWith(nodeAndEdge);
  SafetensorsFile file = twoNodesAndEdges().build();
  llvm::Expected<BoundGraph> graph = BoundGraph::create(file, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(graph->extent("node"), 2);
  EXPECT_EQ(graph->extent("edge"), 3);
  EXPECT_EQ(graph->extent("edge_type"), 4);
  EXPECT_EQ(graph->extent("graph"), std::nullopt);
  EXPECT_EQ(mapOf(*graph, "src"), (Ints{GNNC_INDEX_EACH, 0, 1, 0}));
  EXPECT_EQ(mapOf(*graph, "dst"), (Ints{GNNC_INDEX_EACH, 1, 1, 0}));
}

TEST(BoundGraph, NeverGuessesTheNumberOfNodes) {
  ModelInfo model = modelWith(nodeAndEdge);
  auto error = [&](FileBuilder builder) {
    SafetensorsFile file = builder.build();
    return errorOf(BoundGraph::create(file, model));
  };
  EXPECT_EQ(error(FileBuilder().add<int32_t>("edge_index", {2, 1}, {0, 0})),
            "graph 'f' has no 'num_nodes' in its metadata, needed by space 'node'");
  EXPECT_EQ(error(FileBuilder().metadata("num_nodes", "-3")),
            "graph 'f': metadata 'num_nodes': expected a number of elements, found '-3'");
  EXPECT_EQ(error(twoNodes()), "graph 'f' has no tensor 'edge_index', needed by space 'edge'");
  EXPECT_EQ(error(twoNodes().add<int32_t>("edge_index", {2}, {0, 1})),
            "graph 'f': tensor 'edge_index': expected shape [2, E], found [2]");
  EXPECT_EQ(error(twoNodes().add<float>("edge_index", {2, 1}, {0, 1})),
            "graph 'f': tensor 'edge_index': expected dtype I32 or I64, found F32");
}

TEST(BoundGraph, TakesTypesAndBatches) {
  std::string spaces = R"("spaces":[{"name":"node","kind":"root"},{"name":"edge","kind":"root"},)"
                       R"({"name":"graph","kind":"root"}],"maps":[)"
                       R"({"name":"etype","from":"edge","to":"edge_type","kind":"root"},)"
                       R"({"name":"ntype","from":"node","to":"node_type","kind":"root"},)"
                       R"({"name":"batch","from":"node","to":"graph","kind":"root"},)"
                       R"({"name":"batch_of_edge","from":"edge","to":"graph","kind":"compose"}])";
  ModelInfo model = modelWith(spaces);
  SafetensorsFile untyped = twoNodesAndEdges().add<int32_t>("graph_ptr", {2}, {0, 2}).build();
  EXPECT_EQ(errorOf(BoundGraph::create(untyped, model)), "graph 'f' has no tensor 'edge_type', needed by map 'etype'");

  FileBuilder typed = twoNodesAndEdges();
  typed.add<int64_t>("edge_type", {3}, {3, 2, 1}).add<int32_t>("node_type", {2}, {1, 0});
  SafetensorsFile file = typed.build();
  EXPECT_EQ(errorOf(BoundGraph::create(file, model)),
            "graph 'f' has no 'num_graphs' in its metadata, needed by space 'graph'");
  SafetensorsFile batched = typed.add<int32_t>("graph_ptr", {3}, {0, 1, 2}).build();
  llvm::Expected<BoundGraph> graph = BoundGraph::create(batched, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(graph->extent("graph"), 2);
  EXPECT_EQ(mapOf(*graph, "etype"), (Ints{GNNC_INDEX_EACH, 3, 2, 1}));
  EXPECT_EQ(mapOf(*graph, "ntype"), (Ints{GNNC_INDEX_EACH, 1, 0}));
  EXPECT_EQ(mapOf(*graph, "batch"), (Ints{GNNC_INDEX_ROWS, 0, 1, 2}));
  EXPECT_EQ(mapOf(*graph, "batch_of_edge"), Ints());
}

TEST(BoundGraph, TakesOtherSpacesAndRelations) {
  ModelInfo model = modelWith(R"("spaces":[{"name":"user","kind":"root"},{"name":"item","kind":"root"},)"
                              R"({"name":"follows","kind":"root"},{"name":"train","kind":"root"}],"maps":[)"
                              R"({"name":"follows.src","from":"follows","to":"user","kind":"root"},)"
                              R"({"name":"follows.dst","from":"follows","to":"item","kind":"root"},)"
                              R"({"name":"train_user","from":"train","to":"user","kind":"root"}])");
  FileBuilder base = FileBuilder().metadata("num_users", "5");
  base.add<int32_t>("item.extent", {1}, {7}).add<int32_t>("train_user", {4}, {4, 3, 2, 1});
  SafetensorsFile incomplete = base.build();
  EXPECT_EQ(errorOf(BoundGraph::create(incomplete, model)),
            "graph 'f' has no tensor 'follows', needed by map 'follows.src'");

  FileBuilder rows = base, apart = base;
  rows.add<int32_t>("follows", {2, 2}, {1, 2, 3, 4});
  apart.add<int32_t>("follows.src", {2}, {1, 2}).add<int64_t>("follows.dst", {2}, {3, 4});
  for (const SafetensorsFile &file : {rows.build(), apart.build()}) {
    llvm::Expected<BoundGraph> graph = BoundGraph::create(file, model);
    ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
    EXPECT_EQ(graph->extent("user"), 5);
    EXPECT_EQ(graph->extent("item"), 7);
    EXPECT_EQ(graph->extent("follows"), 2);
    EXPECT_EQ(graph->extent("train"), 4);
    EXPECT_EQ(mapOf(*graph, "follows.src"), (Ints{GNNC_INDEX_EACH, 1, 2}));
    EXPECT_EQ(mapOf(*graph, "follows.dst"), (Ints{GNNC_INDEX_EACH, 3, 4}));
  }
}

TEST(BoundGraph, ConvertsInputs) {
  SafetensorsFile file = twoNodesAndEdges().add<double>("x", {2, 3}, {1, 2, 3, 4, 5, 6}).build();
  ModelInfo single = modelWith(nodeAndEdge + "," + denseX), twice = modelWith(nodeAndEdge + "," + denseX, "f64");
  llvm::Expected<BoundGraph> graph = BoundGraph::create(file, single);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(inputOf(*graph, "x"), (Floats{1, 2, 3, 4, 5, 6}));
  graph = BoundGraph::create(file, twice);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(graph->inputs()[0].tensor.data, file.find("x")->data) << "used in place";
}

TEST(BoundGraph, OptionalInputsMayBeAbsent) {
  SafetensorsFile file = twoNodesAndEdges().build();
  ModelInfo optional =
      modelWith(nodeAndEdge + R"(,"inputs":[{"name":"w","space":"edge","dims":[],"optional":true,"fill":1.0}])");
  llvm::Expected<BoundGraph> graph = BoundGraph::create(file, optional);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_TRUE(graph->inputs().empty());
  ModelInfo needed = modelWith(nodeAndEdge + "," + denseX);
  EXPECT_EQ(errorOf(BoundGraph::create(file, needed)), "graph 'f' has no tensor 'x', needed by input 'x'");
}

TEST(BoundGraph, ExportedModelsNumberGradientsOfOutputs) {
  ModelInfo model =
      modelWith(nodeAndEdge + R"(,"exported":true,"outputs":[{"name":"add","space":"node","dims":[]}],)"
                              R"("inputs":[{"name":"grad.add","space":"node","dims":[],"gradient":true}])");
  SafetensorsFile file = twoNodesAndEdges().build();
  llvm::Expected<BoundGraph> graph = BoundGraph::create(file, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(llvm::toString(graph->expectGradients()),
            "graph 'f' has no tensor 'grad.out.0', needed by input 'grad.add', the gradient of an output");
  SafetensorsFile given = twoNodesAndEdges().add<float>("grad.out.0", {2}, {1, 2}).build();
  graph = BoundGraph::create(given, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_FALSE(bool(graph->expectGradients()));
}

FileBuilder withSparse(FileBuilder builder) {
  return builder.add<int32_t>("x_indptr", {3}, {0, 1, 3}).add<int32_t>("x_indices", {3}, {2, 0, 1});
}

TEST(BoundGraph, TakesSparseInputs) {
  ModelInfo model = modelWith(sparseX);
  SafetensorsFile file = withSparse(twoNodes()).build();
  llvm::Expected<BoundGraph> graph = BoundGraph::create(file, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(graph->extent("x.entry"), 3);
  EXPECT_EQ(mapOf(*graph, "x.row"), (Ints{GNNC_INDEX_ROWS, 0, 1, 3}));
  EXPECT_EQ(mapOf(*graph, "x.column"), (Ints{GNNC_INDEX_EACH, 2, 0, 1}));
  EXPECT_TRUE(graph->inputs().empty()) << "no values: all ones";

  SafetensorsFile valued = withSparse(twoNodes()).add<float>("x_values", {3}, {5, 6, 7}).build();
  graph = BoundGraph::create(valued, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(inputOf(*graph, "x"), (Floats{5, 6, 7}));
}

TEST(BoundGraph, TurnsSparseIntoDense) {
  ModelInfo model = modelWith(nodeAndEdge + "," + denseX);
  SafetensorsFile ones = withSparse(twoNodesAndEdges()).build();
  llvm::Expected<BoundGraph> graph = BoundGraph::create(ones, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(inputOf(*graph, "x"), (Floats{0, 0, 1, 1, 1, 0}));
  SafetensorsFile valued = withSparse(twoNodesAndEdges()).add<double>("x_values", {3}, {5, 6, 7}).build();
  graph = BoundGraph::create(valued, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(inputOf(*graph, "x"), (Floats{0, 0, 5, 6, 7, 0}));
}

TEST(BoundGraph, TurnsDenseIntoSparse) {
  ModelInfo model = modelWith(sparseX);
  SafetensorsFile file = twoNodes().add<float>("x", {2, 3}, {0, 0, 5, 6, 7, 0}).build();
  llvm::Expected<BoundGraph> graph = BoundGraph::create(file, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(graph->extent("x.entry"), 3);
  EXPECT_EQ(mapOf(*graph, "x.row"), (Ints{GNNC_INDEX_ROWS, 0, 1, 3}));
  EXPECT_EQ(mapOf(*graph, "x.column"), (Ints{GNNC_INDEX_EACH, 2, 0, 1}));
  EXPECT_EQ(inputOf(*graph, "x"), (Floats{5, 6, 7}));
}

TEST(BoundGraph, RefusesMalformedSparseInputs) {
  ModelInfo dense = modelWith(nodeAndEdge + "," + denseX), sparse = modelWith(sparseX);
  auto error = [](const ModelInfo &model, FileBuilder builder) {
    SafetensorsFile file = builder.build();
    return errorOf(BoundGraph::create(file, model));
  };
  auto rows = [](std::vector<int32_t> pointers, std::vector<int32_t> columns) {
    return twoNodesAndEdges()
        .add<int32_t>("x_indptr", {int64_t(pointers.size())}, pointers)
        .add<int32_t>("x_indices", {int64_t(columns.size())}, columns);
  };
  EXPECT_EQ(error(dense, rows({0, 1, 3}, {0, 1, 3})),
            "graph 'f': tensor 'x_indices': expected columns below 3, found 3");
  for (std::vector<int32_t> pointers : {std::vector<int32_t>{0, 4, 3}, {1, 1, 3}, {0, 1, 2}, {}})
    for (const ModelInfo *model : {&dense, &sparse})
      EXPECT_EQ(error(*model, rows(pointers, {0, 1, 2})),
                "graph 'f': tensor 'x_indptr': expected row pointers that rise from 0 to 3");
  EXPECT_EQ(error(sparse, twoNodes()), "graph 'f' has no tensors 'x_indptr' and 'x_indices', needed by input 'x'");
  EXPECT_EQ(error(sparse, twoNodes().add<float>("x", {2, 1}, {1, 2})),
            "graph 'f': tensor 'x': expected numbers of shape [rows, 3], found F32 [2, 1]");
  EXPECT_EQ(error(sparse, withSparse(twoNodes()).add<float>("x_values", {1}, {1})),
            "graph 'f': tensor 'x_values': expected numbers of shape [3], found F32 [1]");
}

/// Those of float32 are below 2^24.
TEST(GraphFile, PlacesInTheWholeGraphAreTwoDigits) {
  ModelInfo model =
      modelWith(R"("spaces":[{"name":"node","kind":"root"},{"name":"type","kind":"static","extent":2}],"maps":[],)"
                R"("inputs":[{"name":"node.order","space":"node","dims":[2],"numbers":true},)"
                R"({"name":"type.order","space":"type","dims":[2],"numbers":true}],"distributed":{"along":{}})");
  SafetensorsFile file =
      FileBuilder()
          .add<int64_t>("node.global", {3}, {7, (3 << 20) + 5, (int64_t(1) << 40) + 1})
          .metadata({{"parts", "2"}, {"rank", "1"}, {"num_nodes", "3"}, {"num_nodes.global", "2000000000000"}})
          .build();
  llvm::Expected<BoundGraph> graph = BoundGraph::create(file, model);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  EXPECT_EQ(inputOf(*graph, "node.order"), (std::vector<float>{0, 7, 3, 5, 1 << 20, 1}));
  EXPECT_EQ(inputOf(*graph, "type.order"), (std::vector<float>{0, 0, 0, 1}));
}

} // namespace
