//===- PartitionFilesTest.cpp ---------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/PartitionFiles.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

using namespace gnnc;
using Numbers = std::vector<int32_t>;

namespace {

/// A ring of six nodes, cut in the middle: 0 1 2 | 3 4 5, with edges i -> i + 1.
class PartitionFiles : public testing::Test {
protected:
  Numbers edges{0, 1, 2, 3, 4, 5, /*dst*/ 1, 2, 3, 4, 5, 0};
  SafetensorsWriter writer;
  llvm::SmallString<128> folder, file, parts;
  PartitionOptions options;

  PartitionFiles() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("gnnc-partition", folder));
    file = parts = folder;
    llvm::sys::path::append(file, "graph.safetensors");
    llvm::sys::path::append(parts, "parts");
    writer.addMetadata("num_nodes", "6");
    options.kind = PartitionKind::Contiguous;
  }
  ~PartitionFiles() override { llvm::sys::fs::remove_directories(folder); }

  void addEdges() { llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 6}, edges.data())); }
  std::string error() {
    llvm::cantFail(writer.write(file));
    SafetensorsFile open = llvm::cantFail(SafetensorsFile::open(file));
    auto graph = PartitionedGraph::create(open, options);
    llvm::Error error = graph ? graph->write(parts) : graph.takeError();
    return error ? llvm::toString(std::move(error)) : "";
  }
  SafetensorsFile part(int rank) {
    llvm::SmallString<128> path = parts;
    llvm::sys::path::append(path, "part." + llvm::Twine(rank) + ".safetensors");
    return llvm::cantFail(SafetensorsFile::open(path));
  }
  template <typename T = int32_t> static std::vector<T> read(const SafetensorsFile &from, llvm::StringRef name) {
    return llvm::cantFail(from.get(name))->as<T>().vec();
  }
};

TEST_F(PartitionFiles, CutsEverything) {
  addEdges();
  std::vector<float> x{0, 1, 2, 3, 4, 5}, e{0, 10, 20, 30, 40, 50}, u{7, 8};
  std::vector<int64_t> train{5, 0, -1}, pointers{0, 1, 1, 3, 4, 4, 5};
  Numbers columns{7, 1, 2, 5, 3}, types{0, 0, 0, 1, 1, 1};
  llvm::cantFail(writer.add("x", ElementType::F32, {6, 1}, x.data()));
  llvm::cantFail(writer.add("e", ElementType::F32, {6, 1}, e.data()));
  llvm::cantFail(writer.add("u", ElementType::F32, {2}, u.data()));
  llvm::cantFail(writer.add("node_type", ElementType::I32, {6}, types.data()));
  llvm::cantFail(writer.add("train_idx", ElementType::I64, {3}, train.data()));
  llvm::cantFail(writer.add("s_indptr", ElementType::I64, {7}, pointers.data()));
  llvm::cantFail(writer.add("s_indices", ElementType::I32, {5}, columns.data()));
  writer.addMetadata("name", "ring");
  options.rows = {{"x", "node"}, {"node_type", "node"}, {"s", "node"}, {"e", "edge"}};
  options.whole = {"u"};
  options.ofHalo = {{"node_type", "ntype.halo"}};
  ASSERT_EQ(error(), "");

  SafetensorsFile first = part(0), second = part(1);
  EXPECT_EQ(read(first, "ntype.halo"), Numbers{1});
  EXPECT_EQ(read(second, "ntype.halo"), Numbers{0});
  EXPECT_EQ(read(first, "node.global"), (Numbers{0, 1, 2}));
  EXPECT_EQ(read(second, "node.global"), (Numbers{3, 4, 5}));
  EXPECT_EQ(read(first, "node.halo.global"), Numbers{5});
  EXPECT_EQ(read(second, "node.halo.global"), Numbers{2});
  EXPECT_EQ(read(first, "node.sent"), Numbers{2});
  EXPECT_EQ(read(second, "node.sent"), Numbers{2});
  EXPECT_EQ(read(first, "node.send.counts"), (Numbers{0, 1}));
  EXPECT_EQ(read(first, "node.halo.counts"), (Numbers{0, 1}));
  EXPECT_EQ(read(second, "node.send.counts"), (Numbers{1, 0}));
  // Edges are where their targets are; sources may be in the halo.
  EXPECT_EQ(read(first, "edge.global"), (Numbers{0, 1, 5}));
  EXPECT_EQ(read(first, "edge_index"), (Numbers{0, 1, 3, /*dst*/ 1, 2, 0}));
  EXPECT_EQ(read(second, "edge_index"), (Numbers{3, 0, 1, /*dst*/ 0, 1, 2}));
  EXPECT_EQ(read<float>(second, "x"), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(read<float>(first, "e"), (std::vector<float>{0, 10, 50}));
  EXPECT_EQ(read(second, "node_type"), (Numbers{1, 1, 1}));
  EXPECT_EQ(read<float>(first, "u"), u);
  EXPECT_EQ(read<int64_t>(first, "train_idx"), (std::vector<int64_t>{0}));
  EXPECT_EQ(read<int64_t>(second, "train_idx"), (std::vector<int64_t>{2, -1}));
  EXPECT_EQ(read<int64_t>(first, "s_indptr"), (std::vector<int64_t>{0, 1, 1, 3}));
  EXPECT_EQ(read(second, "s_indices"), (Numbers{5, 3}));
  for (auto [key, value] :
       {std::pair("num_nodes", "3"), std::pair("num_nodes.global", "6"), std::pair("num_edges", "3"),
        std::pair("num_node.halos", "1"), std::pair("num_node.sends", "1"), std::pair("parts", "2"),
        std::pair("rank", "1"), std::pair("along.edge", "dst"), std::pair("name", "ring")}) {
    ASSERT_TRUE(second.findMetadata(key)) << key;
    EXPECT_EQ(*second.findMetadata(key), value) << key;
  }
  EXPECT_EQ(*first.findMetadata("partition"), *second.findMetadata("partition"));
}

TEST_F(PartitionFiles, MakesAMapOfGraphs) {
  Numbers pointers{0, 2, 6};
  llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 0}, edges.data()));
  llvm::cantFail(writer.add("graph_ptr", ElementType::I32, {3}, pointers.data()));
  ASSERT_EQ(error(), "");
  EXPECT_EQ(read(part(0), "graph.global"), Numbers{0});
  EXPECT_EQ(read(part(0), "graph.halo.global"), Numbers{1});
  EXPECT_EQ(read(part(0), "batch"), (Numbers{0, 0, 1}));
  EXPECT_EQ(read(part(1), "batch"), (Numbers{0, 0, 0}));
  EXPECT_FALSE(part(0).find("graph_ptr"));
}

TEST_F(PartitionFiles, KnowsWhatAModelSays) {
  Numbers src{0, 1, 2, 3, 0}, dst{0, 0, 1, 1, 1};
  Numbers rated = src;
  rated.insert(rated.end(), dst.begin(), dst.end());
  std::vector<float> u{0, 1, 2, 3, 4, 5}, score{0, 1, 2, 3, 4};
  llvm::cantFail(writer.add("rated", ElementType::I32, {2, 5}, rated.data()));
  llvm::cantFail(writer.add("u", ElementType::F32, {4}, u.data()));
  llvm::cantFail(writer.add("score", ElementType::F32, {5}, score.data()));
  writer.addMetadata("num_users", "4");
  writer.addMetadata("num_items", "2");
  options.maps = {{"rated.src", "rated", "user"}, {"rated.dst", "rated", "item"}};
  options.rows = {{"u", "user"}, {"score", "rated"}};
  options.along = {"rated.src"};
  ASSERT_EQ(error(), "");
  EXPECT_EQ(read<float>(part(0), "u"), (std::vector<float>{0, 1}));
  EXPECT_EQ(read(part(0), "rated.global"), (Numbers{0, 1, 4}));
  EXPECT_EQ(read<float>(part(1), "score"), (std::vector<float>{2, 3}));
  EXPECT_EQ(read(part(1), "rated"), (Numbers{0, 1, /*dst*/ 0, 0}));
  EXPECT_EQ(read(part(0), "rated"), (Numbers{0, 1, 0, /*dst*/ 0, 0, 1}));
  EXPECT_EQ(read(part(0), "item.halo.global"), Numbers{1});
}

TEST_F(PartitionFiles, SaysWhatIsWrong) {
  auto expect = [&](llvm::StringRef text) {
    std::string found = error();
    EXPECT_NE(found.find(text.str()), std::string::npos) << found;
  };
  addEdges();
  std::vector<float> x{0, 1, 2, 3, 4, 5};
  llvm::cantFail(writer.add("x", ElementType::F32, {6}, x.data()));
  expect("tensor 'x': expected rows of 'node' or of 'edge', found 6 of both; say which with --rows x=SPACE");
  options.rows = {{"x", "node"}};
  options.along = {"source"};
  expect("--along: expected a map of the graph, found 'source'");
  options.along = {"src", "dst"};
  expect("--along: expected one map for space 'edge', found 'src' and 'dst'");
  options.along = {"src"};
  edges[3] = 6;
  expect("tensor 'edge_index': expected numbers of elements of 'node' from 0 to 5, found 6");
  edges[3] = 3;
  writer.addMetadata("num_nodes", "six");
  expect("metadata 'num_nodes': expected a number below 2^31, found 'six'");
  writer.addMetadata("num_nodes", "6");
  EXPECT_EQ(error(), "");
  expect("expected a folder that is new or empty");
  writer.addMetadata("parts", "2");
  expect("metadata 'parts': expected a whole graph, found a part of one");
}

/// Held-out edges and training nodes are spaces as well: what has rows of them is cut with them.
TEST_F(PartitionFiles, CutsRowsOfWhatTheFileDeclares) {
  addEdges();
  Numbers held{0, 1, 2, 3, /*dst*/ 5, 4, 1, 0}, types{10, 11, 12, 13}, train{5, 0, 1}, classes{20, 21, 22}, one{9};
  llvm::cantFail(writer.add("val_edge_index", ElementType::I32, {2, 4}, held.data()));
  llvm::cantFail(writer.add("val_edge_type", ElementType::I32, {4}, types.data()));
  llvm::cantFail(writer.add("train_idx", ElementType::I32, {3}, train.data()));
  llvm::cantFail(writer.add("train_y", ElementType::I32, {3}, classes.data()));
  llvm::cantFail(writer.add("seed", ElementType::I32, {1}, one.data()));
  ASSERT_EQ(error(), "");
  EXPECT_EQ(read(part(0), "val_edge_index.global"), (Numbers{2, 3}));
  EXPECT_EQ(read(part(0), "val_edge_type"), (Numbers{12, 13}));
  EXPECT_EQ(read(part(1), "val_edge_type"), (Numbers{10, 11}));
  EXPECT_EQ(read(part(0), "train_y"), (Numbers{21, 22}));
  EXPECT_EQ(read(part(1), "train_y"), Numbers{20});
  EXPECT_EQ(read(part(0), "seed"), one);
  EXPECT_EQ(read(part(1), "seed"), one);
}

TEST_F(PartitionFiles, AsksWhatItCannotTell) {
  auto expect = [&](llvm::StringRef text) {
    std::string found = error();
    EXPECT_NE(found.find(text.str()), std::string::npos) << found;
  };
  Numbers five{0, 1, 2, 3, 4}, pointers{0, 1, 2, 3, 4, 4, 5}, none;
  llvm::cantFail(writer.add("edge_index", ElementType::I32, {2, 0}, none.data()));
  llvm::cantFail(writer.add("c", ElementType::I32, {5}, five.data()));
  expect("tensor 'c': expected rows of a space, found 5, which no space has; say what it is with --rows c=SPACE, or "
         "--whole c for every part to have all of it");
  options.whole = {"c"};
  ASSERT_EQ(error(), "");
  EXPECT_EQ(read(part(1), "c"), five);
  // Row pointers of nodes or of what train_idx has.
  llvm::cantFail(writer.add("train_idx", ElementType::I32, {6}, pointers.data()));
  llvm::cantFail(writer.add("s_indptr", ElementType::I32, {7}, pointers.data()));
  llvm::cantFail(writer.add("s_indices", ElementType::I32, {5}, five.data()));
  expect("tensor 's_indptr': expected rows of 'node' or of 'train', found 6 of both");
  llvm::sys::fs::remove_directories(parts);
  options.rows = {{"s", "train"}};
  EXPECT_EQ(error(), "");
  options.rows = {{"s", "train"}, {"nope", "node"}};
  expect("expected a tensor with rows of 'node', found none of the name 'nope'");
  options.rows = {{"s", "train"}, {"s_indices", "node"}};
  expect("expected a tensor with rows of 'node', found something else in 's_indices'");
  options.rows = {{"s", "train"}};
  options.whole = {"c", "edge_index"};
  expect("--whole: expected a tensor that is no map, found 'edge_index'");
}

TEST_F(PartitionFiles, FindsContradictions) {
  auto expect = [&](llvm::StringRef text) {
    std::string found = error();
    EXPECT_NE(found.find(text.str()), std::string::npos) << found;
  };
  addEdges();
  Numbers pointers{0, 2, 6}, batch{0, 0, 0, 1, 1, 1};
  llvm::cantFail(writer.add("graph_ptr", ElementType::I32, {3}, pointers.data()));
  llvm::cantFail(writer.add("batch", ElementType::I32, {6}, batch.data()));
  expect("tensor 'batch': expected the graphs of nodes that tensor 'graph_ptr' says, found others");
  batch[2] = 1;
  EXPECT_EQ(error(), "");
  llvm::sys::fs::remove_directories(parts);
  writer.addMetadata("num_edges", "5");
  expect("space 'edge': expected 5 elements, as metadata 'num_edges' or tensor 'edge.extent' has it, found 6");
  writer.addMetadata("num_edges", "6");
  // A number of something else that the parts would overwrite.
  writer.addMetadata("num_edge_types", "4");
  llvm::cantFail(writer.add("edge_type_idx", ElementType::I32, {2}, batch.data()));
  expect("space 'edge_type': expected 4 elements");
  options.whole = {"edge_type_idx"};
  EXPECT_EQ(error(), "");
  EXPECT_EQ(*part(0).findMetadata("num_edge_types"), "4");
  llvm::cantFail(writer.add("node.global", ElementType::I32, {1}, batch.data()));
  expect("graph.safetensors': tensor 'node.global': expected none of that name, which the parts need");
}

/// The number of elements of a space that nothing else says is none of the parts'.
TEST_F(PartitionFiles, KeepsExtentsOfOtherSpaces) {
  addEdges();
  std::vector<int64_t> users{7}, nodes{6};
  llvm::cantFail(writer.add("user.extent", ElementType::I64, {1}, users.data()));
  llvm::cantFail(writer.add("node.extent", ElementType::I64, {1}, nodes.data()));
  ASSERT_EQ(error(), "");
  EXPECT_EQ(read<int64_t>(part(0), "user.extent"), users);
  EXPECT_FALSE(part(0).find("node.extent"));
}

TEST_F(PartitionFiles, TellsPartsOfTwoGraphsApart) {
  std::set<std::string> digests;
  float x[1] = {1};
  addEdges();
  llvm::cantFail(writer.add("s", ElementType::F32, {1}, x));
  auto add = [&] {
    EXPECT_EQ(error(), "");
    EXPECT_EQ(*part(0).findMetadata("partition"), *part(1).findMetadata("partition"));
    digests.insert(*part(0).findMetadata("partition"));
    llvm::sys::fs::remove_directories(parts);
  };
  add();
  add();
  EXPECT_EQ(digests.size(), 1u);
  edges[3] = 0; // another source of one edge: owners are the same
  add();
  x[0] = 2;
  add();
  options.along = {"src"};
  add();
  EXPECT_EQ(digests.size(), 4u);
}

TEST_F(PartitionFiles, WritesAFolderThatOthersRead) {
  addEdges();
  ASSERT_EQ(error(), "");
  auto permissions = llvm::sys::fs::getPermissions(parts);
  ASSERT_TRUE(permissions);
  EXPECT_EQ(int(*permissions), 0777 & ~llvm::sys::fs::getUmask());
}

TEST_F(PartitionFiles, WantsAFolderOfItsOwn) {
  auto expect = [](llvm::StringRef name, llvm::StringRef text) {
    std::string found = llvm::toString(checkPartsFolder(name));
    EXPECT_NE(found.find(text.str()), std::string::npos) << found;
  };
  expect("", "expected a folder that is new or empty, found no name");
  expect(".", "found one without a name of its own");
  expect((folder + "/..").str(), "found one without a name of its own");
  expect("/", "found one without a name of its own");
  llvm::SmallString<128> link = folder;
  llvm::sys::path::append(link, "link");
  llvm::cantFail(llvm::errorCodeToError(llvm::sys::fs::create_link(folder, link)));
  expect(link, "expected a folder that is new or empty, found a link");
  expect((folder + "/none/parts").str(), "No such file or directory");
  EXPECT_FALSE(checkPartsFolder((folder + "/new/").str()));
}

/// Nothing is left of a folder that cannot take its name.
TEST_F(PartitionFiles, LeavesNothingBehind) {
  addEdges();
  llvm::sys::path::append(parts, "deeper");
  EXPECT_NE(error().find("cannot write"), std::string::npos);
  std::error_code code;
  int entries = 0;
  for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end && !code; it.increment(code))
    ++entries;
  EXPECT_EQ(entries, 1); // the graph
}

} // namespace
