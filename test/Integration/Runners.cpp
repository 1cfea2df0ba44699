//===- Runners.cpp - The ways to run a model ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"
#include "Interpreted.h"

#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Conversion/ModelToMPDFG.h"
#include "gnnc/Frontend/JSON.h"
#include "gnnc/Pipelines/Compiler.h"

#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

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
  InterpretedModel(const frontend::ModelSpec &model, bool gradient)
      : context(std::make_unique<mlir::MLIRContext>()), module(importModel(model, context.get())) {
    if (gradient) {
      mlir::PassManager passes(context.get());
      passes.addPass(createDifferentiate());
      EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
    }
    program = gradient ? kGradient.str() : kForward.str();
  }

  std::string name() const override { return "interpreter"; }

  llvm::Expected<Tensors> run(const Graph &graph, const Tensors &tensors) override {
    llvm::Expected<std::vector<NamedTensor>> results = interpretOn(*module, graph, tensors, program);
    if (!results)
      return results.takeError();
    return tensorsOf(std::move(*results));
  }

private:
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string program;
};

} // namespace

//===----------------------------------------------------------------------===//
// Compiled models
//===----------------------------------------------------------------------===//

bool test::testsEverything() { return std::getenv("GNNC_TEST_EVERYTHING") != nullptr; }

int test::bestProcessorLevel() {
  static const bool newer = __builtin_cpu_supports("x86-64-v4");
  return newer ? 4 : 3;
}

/// "O2 v3"
static std::string nameOf(unsigned optLevel, int cpuLevel) {
  return "O" + std::to_string(optLevel) + (cpuLevel == 0 ? " baseline" : " v" + std::to_string(cpuLevel));
}

llvm::Expected<std::unique_ptr<CompiledModel>>
CompiledModel::create(const frontend::ModelSpec &model, unsigned optLevel, int cpuLevel, bool gradient, bool optimise) {
  CompileOptions options;
  options.gradient = gradient;
  options.optLevel = optLevel;
  options.cpuLevels = {cpuLevel};
  options.optimiseCode = optimise;
  llvm::Expected<std::string> bytes = compile(model, options);
  if (!bytes)
    return bytes.takeError();
  return load(*bytes, ::nameOf(optLevel, cpuLevel), gradient);
}

const char *test::nameOf(SaveKind save) {
  return save == SaveKind::None ? "none" : save == SaveKind::All ? "all" : "auto";
}

llvm::Expected<std::unique_ptr<CompiledModel>> CompiledModel::create(const frontend::ModelSpec &model,
                                                                     const CompileOptions &options) {
  llvm::Expected<std::string> bytes = compile(model, options);
  if (!bytes)
    return bytes.takeError();
  return load(*bytes,
              "O" + std::to_string(options.optLevel) + " --save=" + nameOf(options.save) +
                  (options.checkpoints ? " --checkpoints=" + std::to_string(options.checkpoints) : ""),
              options.gradient);
}

llvm::Expected<std::unique_ptr<CompiledModel>> CompiledModel::createForGPU(const frontend::ModelSpec &model,
                                                                           unsigned optLevel, bool gradient) {
  llvm::Expected<std::string> bytes = compileForGPU(model, optLevel, gradient);
  if (!bytes)
    return bytes.takeError();
  llvm::Expected<std::unique_ptr<CompiledModel>> result =
      load(*bytes, "O" + std::to_string(optLevel) + " on the GPU", gradient);
  if (result)
    (*result)->device = {2, 0};
  return result;
}

llvm::Expected<std::unique_ptr<CompiledModel>> CompiledModel::load(llvm::StringRef bytes, std::string label,
                                                                   bool gradient) {
  std::unique_ptr<CompiledModel> result(new CompiledModel());
  result->gradient = gradient;
  result->label = std::move(label);
  int descriptor = -1;
  llvm::SmallString<128> path;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("gnnc-test", "so", descriptor, path))
    return llvm::createStringError(code, "cannot create a temporary file");
  result->path = path.str().str();
  {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << bytes;
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
  // The forward half is run when nothing is known of gradients yet.
  std::vector<gnnc_binding> known(bindings.begin(), bindings.end());
  llvm::erase_if(known, [](const gnnc_binding &b) { return llvm::StringRef(b.name).starts_with("grad."); });
  if (llvm::Error error = forward->run(known))
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

/// What an input is stored as; parameters and states are as they are computed with.
static ElementType typeOf(const ModelInfo &info, llvm::StringRef name) {
  auto found = llvm::find_if(info.inputs, [&](const TensorInfo &input) { return input.name == name; });
  return found == info.inputs.end() ? info.type : found->type;
}

llvm::Expected<Tensors> CompiledModel::run(const Graph &graph, const Tensors &tensors) {
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
  llvm::Expected<Session> session = Session::create(*model, description, threads, device);
  if (!session)
    return session.takeError();

  std::vector<HostTensor> inputs;
  for (const auto &[name, tensor] : tensors) {
    llvm::Expected<HostTensor> input = HostTensor::create(name, typeOf(model->info(), name), tensor.shape);
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
// GPUs
//===----------------------------------------------------------------------===//

/// Whether a model can be opened on a GPU here: there is a driver, a device, and NVRTC.
static bool hasGPU() {
  static const bool found = [] {
    if (!llvm::sys::DynamicLibrary::getPermanentLibrary("libcuda.so.1").isValid())
      return false;
    std::optional<frontend::ModelSpec> model = loadText("model M { input x: node[1]\n output y = x + x }");
    llvm::Expected<std::unique_ptr<CompiledModel>> compiled = CompiledModel::createForGPU(*model, 2, false);
    llvm::Error missing = compiled ? llvm::Error::success() : compiled.takeError();
    if (compiled) {
      Graph graph;
      graph.extents["node"] = 1;
      missing = (*compiled)->run(graph, {{"x", Tensor{{1, 1}, {2}}}}).takeError();
    }
    if (!missing)
      return true;
    std::printf("no GPU is tested: %s\n", llvm::toString(std::move(missing)).c_str());
    return false;
  }();
  return found;
}

namespace {

/// Hands on what the interpreter computes.
class Recorder : public Runner {
public:
  Recorder(std::unique_ptr<Runner> oracle, std::unique_ptr<DeviceRecorder> cases, bool gradient)
      : oracle(std::move(oracle)), cases(std::move(cases)), gradient(gradient) {}
  std::string name() const override { return "recorder"; }
  llvm::Expected<Tensors> run(const Graph &graph, const Tensors &tensors) override {
    llvm::Expected<Tensors> expected = oracle->run(graph, tensors);
    if (expected)
      if (llvm::Error error = cases->add(gradient ? "gradient" : "forward", graph, tensors, *expected))
        return std::move(error);
    return expected;
  }

private:
  std::unique_ptr<Runner> oracle;
  std::unique_ptr<DeviceRecorder> cases;
  bool gradient;
};

} // namespace

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

std::vector<std::unique_ptr<Runner>> test::compiledRunners(const frontend::ModelSpec &model, bool gradient) {
  std::vector<std::unique_ptr<Runner>> runners;
  if (isRecordingForDevice())
    return runners;
  struct Way {
    unsigned optLevel;
    int cpuLevel;
    bool optimise;
  };
  int best = bestProcessorLevel();
  // Drawn for each model, and always the same for the same one.
  uint64_t drawn = llvm::xxh3_64bits(frontend::writeJSON(model, /*locations=*/false));
  // LLVM's optimiser takes most of the time, so most of the ways do without it: what gnnc generates is tested in all.
  bool optimise = drawn % 2 == 0 || testsEverything();
  std::vector<Way> ways = {{2, best, optimise}, {0, 3, false}};
  std::vector<Way> others = {{0, 0, optimise}, {1, best, false}, {2, 0, false}};
  if (best > 3)
    others.push_back({2, 3, false});
  for (size_t i = 0; i < others.size(); ++i)
    if (i == drawn / 2 % others.size() || testsEverything())
      ways.push_back(others[i]);
  for (auto [optLevel, cpuLevel, optimise] : ways) {
    llvm::Expected<std::unique_ptr<CompiledModel>> compiled =
        CompiledModel::create(model, optLevel, cpuLevel, gradient, optimise);
    if (compiled)
      runners.push_back(std::move(*compiled));
    else
      ADD_FAILURE() << ::nameOf(optLevel, cpuLevel) << ": " << llvm::toString(compiled.takeError());
  }
  for (unsigned optLevel : {0u, 2u}) {
    if (!hasGPU())
      break;
    llvm::Expected<std::unique_ptr<CompiledModel>> compiled = CompiledModel::createForGPU(model, optLevel, gradient);
    if (compiled)
      runners.push_back(std::move(*compiled));
    else
      ADD_FAILURE() << "O" << optLevel << " on the GPU: " << llvm::toString(compiled.takeError());
  }
  return runners;
}

std::vector<std::unique_ptr<Runner>> test::allRunners(const frontend::ModelSpec &model, bool gradient) {
  std::vector<std::unique_ptr<Runner>> runners = compiledRunners(model, gradient);
  runners.insert(runners.begin(), std::make_unique<InterpretedModel>(model, gradient));
  llvm::Expected<std::unique_ptr<DeviceRecorder>> cases = DeviceRecorder::create(model, gradient);
  if (!cases)
    ADD_FAILURE() << llvm::toString(cases.takeError());
  else if (*cases)
    runners.push_back(
        std::make_unique<Recorder>(std::make_unique<InterpretedModel>(model, gradient), std::move(*cases), gradient));
  return runners;
}

std::vector<std::unique_ptr<Runner>> test::savingRunners(const frontend::ModelSpec &model) {
  std::vector<std::unique_ptr<Runner>> runners;
  auto add = [&](unsigned optLevel, SaveKind save, unsigned checkpoints) {
    CompileOptions options;
    options.gradient = true;
    options.optLevel = optLevel;
    options.save = save;
    options.checkpoints = checkpoints;
    options.cpuLevels = {3};
    options.optimiseCode = optLevel == 2 && save != SaveKind::All;
    llvm::Expected<std::unique_ptr<CompiledModel>> compiled = CompiledModel::create(model, options);
    if (compiled)
      runners.push_back(std::move(*compiled));
    else
      ADD_FAILURE() << "O" << optLevel << " --save=" << nameOf(save) << " --checkpoints=" << checkpoints << ": "
                    << llvm::toString(compiled.takeError());
  };
  for (unsigned optLevel : {0u, 1u, 2u}) {
    add(optLevel, SaveKind::None, 0);
    add(optLevel, SaveKind::All, 0);
  }
  add(0, SaveKind::Auto, 3);
  add(2, SaveKind::Auto, 2);
  return runners;
}
