//===- Runners.cpp - The ways to run a model ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include "gnnc/Conversion/SpecToMPDFG.h"
#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Reference/Interpreter.h"

#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

//===----------------------------------------------------------------------===//
// The interpreter
//===----------------------------------------------------------------------===//

namespace {

/// The meaning of the model: the program as the importer writes it, evaluated as it stands.
class InterpretedModel : public Runner {
public:
  InterpretedModel(const spec::ModelSpec &model, bool gradient)
      : context(std::make_unique<mlir::MLIRContext>()), module(importModel(model, context.get())) {
    if (gradient) {
      mlir::PassManager passes(context.get());
      passes.addPass(createDifferentiate());
      EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
    }
    program = gradient ? kGradient.str() : kForward.str();
    auto function = module->lookupSymbol<mlir::func::FuncOp>(program);
    for (mlir::BlockArgument argument : function.getArguments())
      onSpace[function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), kNameAttr).str()] =
          bool(mpdfg::getResidency(argument.getType()));
  }

  std::string name() const override { return "interpreter"; }

  llvm::Expected<Tensors> run(const Graph &graph, const Tensors &tensors) override {
    RootGraph root;
    for (const auto &[name, extent] : graph.extents)
      root.extents[name] = extent;
    for (const auto &[name, targets] : graph.maps)
      root.maps[name].assign(targets.begin(), targets.end());
    llvm::Expected<GraphData> data = materialise(*module, root);
    if (!data)
      return data.takeError();

    llvm::StringMap<RefTensor> inputs;
    for (const auto &[name, tensor] : tensors) {
      bool resides = onSpace[name];
      llvm::ArrayRef<int64_t> shape = tensor.shape;
      RefTensor input(!resides, resides ? shape[0] : 1, shape.drop_front(resides));
      input.data = tensor.data;
      inputs[name] = std::move(input);
    }
    llvm::Expected<std::vector<NamedTensor>> results = interpret(*module, *data, inputs, program);
    if (!results)
      return results.takeError();

    Tensors outputs;
    for (const NamedTensor &result : *results) {
      Tensor tensor;
      if (!result.value.shared)
        tensor.shape.push_back(result.value.rows);
      tensor.shape.insert(tensor.shape.end(), result.value.dims.begin(), result.value.dims.end());
      tensor.data = result.value.data;
      outputs[result.name] = std::move(tensor);
    }
    return outputs;
  }

private:
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, bool> onSpace;
  std::string program;
};

} // namespace

//===----------------------------------------------------------------------===//
// Compiled models
//===----------------------------------------------------------------------===//

llvm::Expected<std::unique_ptr<CompiledModel>> CompiledModel::create(const spec::ModelSpec &model, unsigned optLevel,
                                                                     bool baseline, bool gradient) {
  CompileOptions options;
  options.gradient = gradient;
  options.optLevel = optLevel;
  if (baseline)
    options.cpuLevels = {0};
  llvm::Expected<std::string> bytes = compile(model, options);
  if (!bytes)
    return bytes.takeError();
  std::unique_ptr<CompiledModel> result(new CompiledModel());
  result->gradient = gradient;
  result->label = "O" + std::to_string(optLevel) + (baseline ? " baseline" : "");
  int descriptor = -1;
  llvm::SmallString<128> path;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("gnnc-test", "so", descriptor, path))
    return llvm::createStringError(code, "cannot create a temporary file");
  result->path = path.str().str();
  {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << *bytes;
  }
  llvm::Expected<ModelFile> file = ModelFile::open(result->path);
  if (!file)
    return file.takeError();
  result->model.emplace(std::move(*file));
  return result;
}

CompiledModel::~CompiledModel() {
  model.reset();
  if (!path.empty())
    llvm::sys::fs::remove(path);
}

/// Forward and backward apart give the same bits as together.
static llvm::Error runApart(const Session &session, llvm::ArrayRef<gnnc_binding> bindings, const ProgramRun &together) {
  llvm::Expected<ProgramRun> forward = session.program("gradient.forward");
  if (!forward)
    return forward.takeError();
  llvm::Expected<ProgramRun> backward = session.program("gradient.backward", &*forward);
  if (!backward)
    return backward.takeError();
  if (llvm::Error error = forward->run(bindings))
    return error;
  if (llvm::Error error = backward->run(bindings))
    return error;
  size_t found = 0;
  for (const HostTensor &whole : together.outputs())
    for (const ProgramRun *part : {&*forward, &*backward})
      for (const HostTensor &output : part->outputs())
        if (output.name() == whole.name()) {
          ++found;
          if (std::memcmp(output.data(), whole.data(), whole.bytes()))
            return llvm::createStringError(output.name() + " differs when forward and backward run apart");
        }
  if (found != together.outputs().size())
    return llvm::createStringError("expected each output from one of forward and backward");
  return llvm::Error::success();
}

llvm::Expected<Tensors> CompiledModel::run(const Graph &graph, const Tensors &tensors) {
  std::vector<gnnc_extent> extents;
  for (const auto &[name, extent] : graph.extents)
    extents.push_back({name.c_str(), extent});
  std::vector<gnnc_index> indices;
  for (const auto &[name, targets] : graph.maps)
    indices.push_back({name.c_str(), targets.data(), int64_t(targets.size()), 32, GNNC_INDEX_EACH});
  gnnc_graph_desc description{sizeof(gnnc_graph_desc), int32_t(extents.size()), extents.data(), int32_t(indices.size()),
                              indices.data()};
  llvm::Expected<Session> session = Session::create(*model, description, threads);
  if (!session)
    return session.takeError();

  std::vector<HostTensor> inputs;
  for (const auto &[name, tensor] : tensors) {
    llvm::Expected<HostTensor> input = HostTensor::create(name, model->info().type, tensor.shape);
    if (!input)
      return input.takeError();
    for (size_t i = 0; i < tensor.data.size(); ++i)
      input->set(i, tensor.data[i]);
    inputs.push_back(std::move(*input));
  }
  std::vector<gnnc_binding> bindings;
  for (const HostTensor &input : inputs)
    bindings.push_back(input.binding());
  llvm::Expected<ProgramRun> program = session->program(gradient ? "gradient" : "forward");
  if (!program)
    return program.takeError();
  if (llvm::Error error = program->run(bindings))
    return error;
  if (gradient)
    if (llvm::Error error = runApart(*session, bindings, *program))
      return error;

  Tensors outputs;
  for (const HostTensor &output : program->outputs()) {
    Tensor tensor = Tensor::zeros(output.shape().vec());
    for (size_t i = 0; i < tensor.data.size(); ++i)
      tensor.data[i] = output.at(i);
    outputs[output.name()] = std::move(tensor);
  }
  return outputs;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

std::vector<std::unique_ptr<Runner>> test::allRunners(const spec::ModelSpec &model, bool gradient) {
  std::vector<std::unique_ptr<Runner>> runners;
  runners.push_back(std::make_unique<InterpretedModel>(model, gradient));
  const std::pair<unsigned, bool> ways[] = {{0, true}, {0, false}, {1, false}, {2, true}, {2, false}};
  for (auto [optLevel, baseline] : ways) {
    llvm::Expected<std::unique_ptr<CompiledModel>> compiled =
        CompiledModel::create(model, optLevel, baseline, gradient);
    if (compiled)
      runners.push_back(std::move(*compiled));
    else
      ADD_FAILURE() << "O" << optLevel << (baseline ? " baseline: " : ": ") << llvm::toString(compiled.takeError());
  }
  return runners;
}
