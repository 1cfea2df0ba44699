//===- TrainStepTest.cpp - Training steps equal the interpreter's ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loss, backward pass, dropout masks, running statistics, optimiser and updates in place: after a step the parameters
// and states of the compiled model are those that the interpreter gives, at every optimisation level.
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"
#include "Interpreted.h"
#include "TrainModels.h"
#include "gnnc/Conversion/ModelToMPDFG.h"
#include "gnnc/Host/HostTensor.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

class TrainStep : public testing::TestWithParam<TrainModel> {};

/// What a step makes of `tensors`, by the interpreter.
std::vector<NamedTensor> interpretStep(const frontend::ModelSpec &spec, const Graph &graph, const Tensors &tensors) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module = importModel(spec, &context);
  mlir::PassManager passes(&context);
  DifferentiateOptions options;
  options.gradient = false;
  passes.addPass(createDifferentiate(options));
  EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
  auto results = interpretOn(*module, graph, tensors, "train_step");
  EXPECT_TRUE(bool(results)) << llvm::toString(results.takeError());
  return results ? std::move(*results) : std::vector<NamedTensor>();
}

TEST_P(TrainStep, EqualsTheInterpreter) {
  std::optional<frontend::ModelSpec> spec = loadText(GetParam().text);
  ASSERT_TRUE(spec);
  Graph graph = randomGraph(40, 160, 3);
  graph.extents["class"] = 3;
  graph.extents["train"] = 11;
  for (int32_t i = 0; i < 40; ++i)
    graph.maps["label"].push_back(i % 4 - 1); // -1: no label
  for (int32_t i = 0; i < 11; ++i)
    graph.maps["train_idx"].push_back(3 * i + 1);
  Tensors tensors = randomTensors(*spec, graph, 5);
  for (auto &[name, tensor] : tensors) {
    if (name == "seed")
      tensor.data = {4711, 17};
    if (name == "step")
      tensor.data = {2};
    // Second moments and variances are not negative.
    if (name.ends_with(".v") || name.ends_with("var"))
      for (double &x : tensor.data)
        x = std::fabs(x) + 0.125;
  }
  std::vector<NamedTensor> expected = interpretStep(*spec, graph, tensors);
  ASSERT_GE(expected.size(), 2u); // the loss and a parameter

  llvm::Expected<std::unique_ptr<DeviceRecorder>> recorder =
      DeviceRecorder::create(*spec, /*gradient=*/false, /*unfused=*/false);
  ASSERT_TRUE(bool(recorder)) << llvm::toString(recorder.takeError());
  if (*recorder) {
    Tensors outputs, updates;
    for (const NamedTensor &result : expected) {
      Tensor value{tensors.count(result.name) ? tensors.at(result.name).shape : std::vector<int64_t>(),
                   result.value.data};
      (result.name == "loss" ? outputs : updates)[result.name] = std::move(value);
    }
    llvm::Error error = (*recorder)->add("train_step", graph, tensors, outputs, updates);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }

  struct Setting {
    unsigned optLevel;
    SaveKind save;
  };
  for (auto [optLevel, save] : {Setting{0, SaveKind::Auto}, Setting{1, SaveKind::Auto}, Setting{2, SaveKind::Auto},
                                Setting{2, SaveKind::None}, Setting{2, SaveKind::All}}) {
    SCOPED_TRACE("-O" + std::to_string(optLevel) + " --save=" + nameOf(save));
    CompileOptions options;
    options.optLevel = optLevel;
    options.save = save;
    options.optimiseCode = optLevel == 2 && save == SaveKind::Auto; // It takes most of the time.
    options.cpuLevels = {optLevel == 1 ? 0 : save == SaveKind::Auto ? bestProcessorLevel() : 3};
    auto compiled = CompiledModel::create(*spec, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    for (int threads : {1, 3}) {
      const ModelFile &file = (*compiled)->file();
      std::vector<gnnc_extent> extents;
      for (const auto &[name, extent] : graph.extents)
        extents.push_back({name.c_str(), extent});
      std::vector<gnnc_index> indices;
      for (const auto &[name, targets] : graph.maps)
        indices.push_back({name.c_str(), targets.data(), int64_t(targets.size()), 32, GNNC_INDEX_EACH});
      gnnc_graph_desc description{sizeof(gnnc_graph_desc),
                                  int32_t(extents.size()),
                                  extents.data(),
                                  int32_t(indices.size()),
                                  indices.data(),
                                  0,
                                  nullptr,
                                  nullptr,
                                  nullptr};
      llvm::Expected<Session> session = Session::create(file, description, threads);
      ASSERT_TRUE(bool(session)) << llvm::toString(session.takeError());
      llvm::Expected<ProgramRun> program = session->program("train_step");
      ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
      std::map<std::string, HostTensor> memory;
      std::vector<gnnc_binding> bindings;
      for (const auto &[name, tensor] : tensors) {
        HostTensor copy = llvm::cantFail(HostTensor::create(name, file.info().type, tensor.shape));
        for (size_t i = 0; i < tensor.data.size(); ++i)
          copy.set(i, tensor.data[i]);
        bindings.push_back(memory.emplace(name, std::move(copy)).first->second.binding());
      }
      llvm::Error error = program->run(bindings);
      ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
      for (const NamedTensor &result : expected) {
        const HostTensor &found = result.name == "loss" ? program->outputs()[0] : memory.at(result.name);
        double largest = 1e-3;
        for (double x : result.value.data)
          largest = std::max(largest, std::fabs(x));
        for (size_t i = 0; i < result.value.data.size(); ++i)
          ASSERT_NEAR(found.at(i), result.value.data[i], 2e-5 * largest)
              << result.name << ", number " << i << ", " << threads << " threads";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, TrainStep, testing::ValuesIn(kTrainModels),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
