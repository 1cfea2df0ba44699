//===- ReorderTest.cpp ----------------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/Reorder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

using namespace gnnc;

namespace {

/// A file that a test makes and removes.
class TemporaryFile {
public:
  TemporaryFile() {
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("gnnc-reorder", "safetensors", path));
    remover.setFile(path);
  }
  llvm::StringRef name() const { return path; }

private:
  llvm::SmallString<128> path;
  llvm::FileRemover remover;
};

/// Nodes have 1, 1, 3 and 1 neighbours (edges count once, a self loop not at all): by degree they are 2 0 1 3.
class Reorder : public testing::Test {
protected:
  std::vector<int32_t> edges{3, 2, 1, 2, 1, 2, /*dst*/ 2, 0, 2, 1, 2, 2};
  SafetensorsWriter writer;
  TemporaryFile file, result;

  Reorder() { writer.addMetadata("num_nodes", "4"); }

  void sortEdges() { edges = {2, 2, 1, 1, 2, 3, /*dst*/ 0, 1, 2, 2, 2, 2}; }

  static ReorderOptions byDegree() {
    ReorderOptions options;
    options.kind = NodeOrderKind::Degree;
    return options;
  }

  std::string error(ReorderOptions options = byDegree()) {
    llvm::cantFail(writer.write(file.name()));
    SafetensorsFile open = llvm::cantFail(SafetensorsFile::open(file.name()));
    auto graph = ReorderedGraph::create(open, options);
    return graph ? "" : llvm::toString(graph.takeError());
  }

  SafetensorsFile reorder(ReorderOptions options = byDegree()) {
    llvm::cantFail(writer.write(file.name()));
    SafetensorsFile open = llvm::cantFail(SafetensorsFile::open(file.name()));
    llvm::cantFail(llvm::cantFail(ReorderedGraph::create(open, options)).write(result.name()));
    return llvm::cantFail(SafetensorsFile::open(result.name()));
  }

  template <typename T> static std::vector<T> read(const SafetensorsFile &from, llvm::StringRef name) {
    return llvm::cantFail(from.get(name))->as<T>().vec();
  }
};

TEST_F(Reorder, GivesNodesTheirRowsAndNumbers) {
  std::vector<float> x{0, 0.5, 10, 10.5, 20, 20.5, 30, 30.5};
  std::vector<int32_t> train{0, 3, -1};
  std::vector<int64_t> wide{1, 2};
  llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 6}, edges.data()));
  llvm::cantFail(writer.add("x", ElementType::F32, {4, 2}, x.data()));
  llvm::cantFail(writer.add("train_idx", ElementType::I32, {3}, train.data()));
  llvm::cantFail(writer.add("test_edge_index", ElementType::I64, {2, 1}, wide.data()));
  llvm::cantFail(writer.add("u", ElementType::F32, {1, 2}, x.data()));
  writer.addMetadata("name", "small");
  SafetensorsFile found = reorder();
  EXPECT_EQ(read<int32_t>(found, "node_order"), (std::vector<int32_t>{2, 0, 1, 3}));
  EXPECT_EQ(read<float>(found, "x"), (std::vector<float>{20, 20.5, 0, 0.5, 10, 10.5, 30, 30.5}));
  EXPECT_EQ(read<int32_t>(found, "train_idx"), (std::vector<int32_t>{1, 3, -1}));
  EXPECT_EQ(read<int64_t>(found, "test_edge_index"), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(read<float>(found, "u"), (std::vector<float>{0, 0.5}));
  EXPECT_EQ(*found.findMetadata("name"), "small");
  // The edges were in no order, so they keep theirs.
  EXPECT_EQ(read<int32_t>(found, "edge_index"), (std::vector<int32_t>{3, 0, 2, 0, 2, 0, 0, 1, 0, 2, 0, 0}));
}

TEST_F(Reorder, SortsEdgesThatWereSorted) {
  sortEdges();
  std::vector<float> e{0, 1, 2, 3, 4, 5};
  llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 6}, edges.data()));
  llvm::cantFail(writer.add("e", ElementType::F32, {6, 1}, e.data()));
  SafetensorsFile found = reorder();
  EXPECT_EQ(read<int32_t>(found, "edge_index"), (std::vector<int32_t>{0, 2, 2, 3, 0, 0, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(read<float>(found, "e"), (std::vector<float>{4, 2, 3, 5, 0, 1}));
}

/// Maps that lead to edges follow where edges move.
TEST_F(Reorder, RenumbersMapsToEdges) {
  std::vector<int32_t> first{0, 5, 2, -1}, reverse{5, 4, 3, 2, 1, 0};
  for (bool isSorted : {false, true}) {
    if (isSorted)
      sortEdges();
    writer = SafetensorsWriter();
    writer.addMetadata("num_nodes", "4");
    llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 6}, edges.data()));
    llvm::cantFail(writer.add("pair", ElementType::I32, {4}, first.data()));
    llvm::cantFail(writer.add("reverse", ElementType::I32, {6}, reverse.data()));
    ReorderOptions options = byDegree();
    options.edgeNumberTensors = {"pair", "reverse"};
    options.wholeTensors = {"pair"}; // as many as there are nodes, but pairs
    SafetensorsFile found = reorder(options);
    // Sorted, the edges are 4 2 3 5 0 1 in the new order: 0 is at place 4, 5 at place 3, 2 at place 1.
    EXPECT_EQ(read<int32_t>(found, "pair"), isSorted ? (std::vector<int32_t>{4, 3, 1, -1}) : first);
    EXPECT_EQ(read<int32_t>(found, "reverse"), isSorted ? (std::vector<int32_t>{5, 2, 1, 4, 3, 0}) : reverse);
  }
  std::vector<int32_t> wrong{0, 6, 2, -1};
  llvm::cantFail(writer.add("wrong", ElementType::I32, {4}, wrong.data()));
  ReorderOptions options = byDegree();
  options.edgeNumberTensors = {"pair", "reverse", "wrong"};
  options.wholeTensors = {"pair", "wrong"};
  EXPECT_NE(error(options).find("tensor 'wrong': expected numbers of edges from 0 to 5, found 6"), std::string::npos);
}

TEST_F(Reorder, MovesSparseRows) {
  std::vector<int64_t> pointers{0, 1, 1, 3, 4};
  std::vector<int32_t> columns{7, 1, 2, 5};
  std::vector<float> values{0.7f, 0.1f, 0.2f, 0.5f};
  llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 6}, edges.data()));
  llvm::cantFail(writer.add("x_indptr", ElementType::I64, {5}, pointers.data()));
  llvm::cantFail(writer.add("x_indices", ElementType::I32, {4}, columns.data()));
  llvm::cantFail(writer.add("x_values", ElementType::F32, {4}, values.data()));
  SafetensorsFile found = reorder();
  EXPECT_EQ(read<int64_t>(found, "x_indptr"), (std::vector<int64_t>{0, 2, 3, 3, 4}));
  EXPECT_EQ(read<int32_t>(found, "x_indices"), (std::vector<int32_t>{1, 2, 7, 5}));
  EXPECT_EQ(read<float>(found, "x_values"), (std::vector<float>{0.1f, 0.2f, 0.7f, 0.5f}));
}

TEST_F(Reorder, LeadsBackToTheFirstFile) {
  std::vector<int32_t> order{1, 3, 0, 2};
  llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 6}, edges.data()));
  llvm::cantFail(writer.add("node_order", ElementType::I32, {4}, order.data()));
  EXPECT_EQ(read<int32_t>(reorder(), "node_order"), (std::vector<int32_t>{0, 1, 3, 2}));
}

TEST_F(Reorder, AsksWhereEdgesAreAsManyAsNodes) {
  std::vector<int32_t> four{2, 1, 2, 3, /*dst*/ 0, 1, 2, 2};
  std::vector<float> x{0, 1, 2, 3};
  llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 4}, four.data()));
  llvm::cantFail(writer.add("x", ElementType::F32, {4}, x.data()));
  EXPECT_NE(error().find("tensor 'x': expected fewer or more edges than nodes, found 4 of both"), std::string::npos);
  ReorderOptions asNodes = byDegree(), asEdges = byDegree(), asBoth = byDegree(), asNeither = byDegree();
  asNodes.nodeTensors = asBoth.nodeTensors = {"x"};
  asEdges.edgeTensors = asBoth.edgeTensors = {"x"};
  asNeither.wholeTensors = {"x"};
  EXPECT_EQ(error(asNodes), "");
  EXPECT_EQ(error(asEdges), "");
  EXPECT_NE(error(asBoth).find("found it named for two of them"), std::string::npos);
  EXPECT_EQ(read<float>(reorder(asNeither), "x"), x);
}

/// Maps and relations that lead to nodes, from nodes too.
TEST_F(Reorder, RenumbersMapsToNodes) {
  std::vector<int32_t> next{1, 2, 3, 0}, event{3, 0, 3}, friends{0, 1, 2, /*dst*/ 3, 3, 1}, tint{7, 8, 9, 5};
  llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 6}, edges.data()));
  llvm::cantFail(writer.add("next", ElementType::I32, {4}, next.data()));
  llvm::cantFail(writer.add("event", ElementType::I32, {3}, event.data()));
  llvm::cantFail(writer.add("friend", ElementType::I32, {2, 3}, friends.data()));
  llvm::cantFail(writer.add("tint", ElementType::I32, {4}, tint.data()));
  ReorderOptions options = byDegree();
  options.numberTensors = {"next", "event", "friend"};
  EXPECT_NE(error(options).find("tensor 'tint': expected integers whose meaning is known, found I32 of shape [4]; say "
                                "what they are with --model, --numbers, --edge-numbers, --nodes, --edges or --whole"),
            std::string::npos);
  options.nodeTensors = {"tint"};
  // The order is 2 0 1 3, so the new numbers are 1 2 0 3.
  SafetensorsFile found = reorder(options);
  EXPECT_EQ(read<int32_t>(found, "next"), (std::vector<int32_t>{3, 2, 0, 1}));
  EXPECT_EQ(read<int32_t>(found, "event"), (std::vector<int32_t>{3, 1, 3}));
  EXPECT_EQ(read<int32_t>(found, "friend"), (std::vector<int32_t>{1, 2, 0, 3, 3, 2}));
  EXPECT_EQ(read<int32_t>(found, "tint"), (std::vector<int32_t>{9, 7, 8, 5}));
  options.wholeTensors = {"none"};
  EXPECT_NE(error(options).find("expected a tensor 'none', as the options name it, found none of that name"),
            std::string::npos);
}

TEST_F(Reorder, SaysWhatIsWrong) {
  EXPECT_NE(error().find("tensor 'edge_index': expected I32 or I64 of shape [2, E], found none"), std::string::npos);
  edges[3] = 4;
  llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 6}, edges.data()));
  EXPECT_NE(error().find("expected numbers of nodes from 0 to 3, found 4"), std::string::npos);
  edges[3] = 1;
  std::vector<int32_t> graphs{0, 2, 4};
  llvm::cantFail(writer.add("graph_ptr", ElementType::I32, {3}, graphs.data()));
  EXPECT_NE(error().find("tensor 'graph_ptr': the nodes of a graph must stay together"), std::string::npos);
  writer.addMetadata("num_nodes", "some");
  EXPECT_NE(error().find("metadata 'num_nodes': expected a number of nodes below 2^31, found 'some'"),
            std::string::npos);
}

} // namespace
