//===- DistributedModel.cpp - A model for one rank and several ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DistributedModel.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Conversion/ModelToMPDFG.h"
#include "gnnc/Graphs/Partition.h"
#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Pipelines/PhaseRunner.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

static void loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<mpk::MPKDialect, mpdfg::MPDFGDialect, mlir::func::FuncDialect>();
}

DistributedModel::DistributedModel(frontend::ModelSpec model)
    : spec(std::move(model)), context(mlir::MLIRContext::Threading::DISABLED) {
  loadDialects(context);
  imported = importModel(*spec, &context, /*forRanks=*/true);
}

DistributedModel::DistributedModel(const std::string &text) : spec(loadText(text)) {
  loadDialects(context);
  if (spec)
    imported = importModel(*spec, &context, /*forRanks=*/true);
}

std::vector<std::string> DistributedModel::along() const {
  GraphStructure structure;
  auto numberOf = [&](llvm::StringRef name) {
    return size_t(llvm::find_if(structure.spaces, [&](const auto &space) { return space.name == name; }) -
                  structure.spaces.begin());
  };
  mlir::ModuleOp module = imported.get();
  for (auto space : module.getOps<mpdfg::SpaceOp>())
    if (space.getKind() == mpdfg::SpaceKind::Root)
      structure.spaces.push_back({space.getSymName().str(), 0, std::nullopt});
  for (auto map : module.getOps<mpdfg::MapOp>())
    if (map.getKind() == mpdfg::MapKind::Root && numberOf(map.getTo()) < structure.spaces.size())
      structure.maps.push_back({map.getSymName().str(), numberOf(map.getFrom()), numberOf(map.getTo()), {}});
  structure.chooseAlong();
  std::vector<std::string> names;
  for (const GraphStructure::Space &space : structure.spaces)
    if (space.along)
      names.push_back(structure.maps[*space.along].name);
  return names;
}

mlir::OwningOpRef<mlir::ModuleOp> DistributedModel::lower(unsigned optLevel, bool distributed, llvm::StringRef end) {
  PhaseOptions options(optLevel, /*gradient=*/true);
  options.distributed = distributed;
  if (distributed)
    options.along = along();
  options.fixed = fixed;
  options.operationsPerByte = operationsPerByte.value_or(options.operationsPerByte);
  PhaseRunner runner(mlir::OwningOpRef<mlir::ModuleOp>(imported->clone()), options);
  if (mlir::failed(runner.runUntil(end)))
    return {};
  return runner.takeModule();
}

llvm::Expected<std::unique_ptr<CompiledModel>> DistributedModel::compile(unsigned optLevel, bool isDouble,
                                                                         bool optimise) {
  frontend::ModelSpec model = *spec;
  model.doublePrecision = isDouble;
  CompileOptions options;
  options.optLevel = optLevel;
  options.optimiseCode = optimise;
  options.gradient = options.distributed = true;
  options.along = along();
  options.fixed = fixed;
  options.operationsPerByte = operationsPerByte;
  options.cpuLevels = {optLevel ? 3 : 0};
  return CompiledModel::create(model, options);
}

Tensors DistributedModel::tensorsFor(mlir::func::FuncOp function, const Graph &graph) const {
  Tensors tensors = randomTensors(*spec, graph, 5);
  unsigned seed = 7;
  for (mlir::BlockArgument argument : function.getArguments()) {
    std::string name = function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), kNameAttr).str();
    if (name == "step")
      tensors[name].data = {2};
    if (name == "seed")
      tensors[name].data = {4711, 17};
    // Second moments and variances are not negative.
    if (llvm::StringRef(name).ends_with(".v") || llvm::StringRef(name).ends_with("var"))
      for (double &x : tensors[name].data)
        x = std::fabs(x) + 0.125;
    if (tensors.count(name))
      continue;
    std::vector<int64_t> shape;
    if (mlir::FlatSymbolRefAttr space = mpdfg::getResidency(argument.getType()))
      shape.push_back(graph.extent(space.getValue().str()));
    llvm::append_range(shape, mpdfg::getFeatureShape(argument.getType()));
    Tensor &tensor = tensors[name] = Tensor::zeros(shape);
    for (double &x : tensor.data)
      x = double((seed = seed * 1103515245 + 12345) >> 16 & 1023) / 512 - 1;
  }
  return tensors;
}

Graph test::graphFor(int64_t nodes, int64_t edges, unsigned seed) {
  Graph graph = randomGraph(nodes, edges, seed);
  graph.extents["class"] = 3;
  graph.extents["train"] = nodes / 3;
  graph.maps["label"];
  graph.maps["train_idx"];
  for (int32_t i = 0; i < nodes; ++i)
    graph.maps["label"].push_back(i % 4 - 1); // -1: no label
  for (int32_t i = 0; i < nodes / 3; ++i)
    graph.maps["train_idx"].push_back(int32_t((3 * i + 1) % nodes));
  // Three entries in each row of a sparse input.
  graph.extents["x.entry"] = 3 * nodes;
  for (int32_t i = 0; i < 3 * nodes; ++i) {
    graph.maps["x.row"].push_back(i / 3);
    graph.maps["x.column"].push_back((7 * i + i / 3) % 5);
  }
  // Of two kinds of nodes.
  graph.extents["user"] = nodes;
  graph.extents["item"] = nodes / 2 + 1;
  graph.extents["bought"] = edges;
  graph.maps["bought.src"] = graph.map("src");
  graph.maps["bought.dst"];
  for (int32_t target : graph.map("dst"))
    graph.maps["bought.dst"].push_back(target / 2);
  return graph;
}

void test::expectEqual(const Tensors &actual, const Tensors &expected, double tolerance) {
  EXPECT_EQ(actual.size(), expected.size());
  for (const auto &[name, tensor] : expected) {
    auto found = actual.find(name);
    ASSERT_TRUE(found != actual.end()) << name;
    double magnitude = 0;
    for (double number : tensor.data)
      if (std::isfinite(number))
        magnitude = std::max(magnitude, std::abs(number));
    // What the interpreter finds to be zero but for its own rounding is a sum of numbers of about 1 that cancel, and
    // has no digits. Numbers that are merely small do.
    constexpr double kRounding = 1e-14;
    magnitude = magnitude < kRounding ? 1 : std::max(magnitude, 0.1);
    ASSERT_EQ(found->second.shape, tensor.shape) << name;
    for (size_t i = 0; i < tensor.data.size(); ++i)
      if (found->second.data[i] != tensor.data[i]) // infinite ones are
        ASSERT_NEAR(found->second.data[i], tensor.data[i], tolerance * magnitude) << name << ", number " << i;
  }
}

bool test::isFar(const Tensors &found, const Tensors &expected) {
  return llvm::any_of(expected, [&](auto &each) {
    return llvm::all_of(each.second.data, [](double number) { return std::isfinite(number); }) &&
           relativeError(found.at(each.first), each.second) > 1e-3;
  });
}
