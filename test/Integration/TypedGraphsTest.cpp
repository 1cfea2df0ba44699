//===- TypedGraphsTest.cpp - Typed layers on real graphs ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R-GCN on AIFB (90 relations), R-GCN and HGT on a graph with the published sizes of MUTAG (50 relations, 5 node
// types): compiled code against the interpreter. The graph files, and the generator of the second one (which needs
// NumPy), lie in the folder GNNC_SHARED names; without them the tests are skipped.
//
//===----------------------------------------------------------------------===//

#include "SharedFiles.h"
#include "TestModel.h"

#include "gnnc/Support/Safetensors.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace gnnc;
using namespace gnnc::test;

namespace {

std::vector<int32_t> column(const FileTensor &tensor, int64_t row, int64_t count) {
  const int32_t *data = tensor.as<int32_t>().data() + row * count;
  return std::vector<int32_t>(data, data + count);
}

llvm::Expected<Graph> readGraph(llvm::StringRef path) {
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  llvm::Expected<const FileTensor *> edges = file->get("edge_index"), types = file->get("edge_type");
  if (!edges || !types)
    return llvm::joinErrors(edges.takeError(), types.takeError());
  Graph graph;
  int64_t count = (*edges)->shape[1];
  graph.extents = {{"node", std::stoll(*file->findMetadata("num_nodes"))}, {"edge", count}};
  graph.maps = {
      {"src", column(**edges, 0, count)}, {"dst", column(**edges, 1, count)}, {"etype", column(**types, 0, count)}};
  if (const FileTensor *nodeTypes = file->find("node_type"))
    graph.maps["ntype"] = column(*nodeTypes, 0, nodeTypes->shape[0]);
  return graph;
}

int64_t typesOf(const Graph &graph, const std::string &map) {
  const std::vector<int32_t> &types = graph.map(map);
  return 1 + *std::max_element(types.begin(), types.end());
}

void check(const Graph &graph, const std::string &text, const std::map<std::string, std::string> &defines) {
  std::optional<frontend::ModelSpec> model = loadText(text, defines);
  ASSERT_TRUE(model);
  Tensors tensors = randomTensors(*model, graph, /*seed=*/7);
  std::vector<std::unique_ptr<Runner>> runners = allRunners(*model);
  std::optional<Tensors> expected;
  for (const std::unique_ptr<Runner> &runner : runners) {
    // -O0 keeps a copy of each relation's weight for each edge; that is for small graphs.
    if (runner->name().substr(0, 2) == "O0")
      continue;
    llvm::Expected<Tensors> outputs = runner->run(graph, tensors);
    ASSERT_TRUE(bool(outputs)) << runner->name() << ": " << llvm::toString(outputs.takeError());
    if (!expected)
      expected = std::move(*outputs); // The interpreter comes first.
    else
      EXPECT_LE(relativeError((*outputs)["y"], (*expected)["y"]), 1e-5) << runner->name();
  }
}

const char *const kRGCN = "import std\nmodel M { input x: node[in = 16]\n output y = RGCN(x, out: 16) }";
const char *const kHGT = "import std\nmodel M { input x: node[in = 16]\n output y = HGT(x, heads: 4, out: 4) }";

/// A graph like MUTAG, made by the generator beside the data; empty where that cannot run here.
std::string makeMutag() {
  std::string script = findSharedFile("data/make_graph.py");
  llvm::SmallString<128> path;
  if (script.empty() || llvm::sys::fs::createTemporaryFile("gnnc-mutag", "safetensors", path))
    return "";
  std::optional<llvm::StringRef> quiet[] = {std::nullopt, llvm::StringRef(""), llvm::StringRef("")};
  llvm::StringRef usr = "/usr/bin";
  // The distribution's Python may have NumPy where the first one found has not.
  for (llvm::ArrayRef<llvm::StringRef> folders :
       {llvm::ArrayRef<llvm::StringRef>(), llvm::ArrayRef<llvm::StringRef>(usr)})
    if (auto python = llvm::sys::findProgramByName("python3", folders))
      if (llvm::sys::ExecuteAndWait(*python, {*python, "-B", script, "mutag", path}, std::nullopt, quiet) == 0)
        return path.str().str();
  llvm::sys::fs::remove(path);
  return "";
}

} // namespace

TEST(TypedGraphs, RGCNOnAifb) {
  std::string path = findSharedFile("data/aifb.safetensors");
  GNNC_SKIP_WITHOUT(path, "data/aifb.safetensors");
  llvm::Expected<Graph> graph = readGraph(path);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  check(*graph, kRGCN, {{"edge_type", std::to_string(typesOf(*graph, "etype"))}});
}

TEST(TypedGraphs, RGCNAndHGTOnMutag) {
  std::string path = makeMutag();
  if (path.empty())
    GTEST_SKIP() << "no graph generator (data/make_graph.py in GNNC_SHARED, python3 with NumPy)";
  llvm::Expected<Graph> graph = readGraph(path);
  llvm::sys::fs::remove(path);
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  std::map<std::string, std::string> types{{"edge_type", std::to_string(typesOf(*graph, "etype"))},
                                           {"node_type", std::to_string(typesOf(*graph, "ntype"))}};
  check(*graph, kHGT, types);
  types.erase("node_type");
  check(*graph, kRGCN, types);
}
