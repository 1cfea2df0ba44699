//===- DeviceCases.cpp - Cases for a GPU on another machine ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"

#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Support/OutputFile.h"
#include "gnnc/Target/CUDA/CUDABackend.h"
#include "gnnc/Target/CUDA/NVRTC.h"
#include "gnnc/Target/Package/Package.h"

#include <gtest/gtest.h>

#include <atomic>

using namespace gnnc;
using namespace gnnc::test;

llvm::Expected<std::string> test::compileForGPU(frontend::ModelSpec model, unsigned optLevel, bool gradient,
                                                bool doublePrecision, Storage storage,
                                                cuda::ProductArithmetic products) {
  CompileOptions options;
  options.products = products;
  model.doublePrecision |= doublePrecision;
  options.gradient = gradient;
  options.optLevel = optLevel;
  options.storage = storage;
  options.targets = {"cuda"};
  options.architectures = {90};
  return compile(model, options);
}

/// For where the cases are replayed: a GPU, or the processors of an architecture, at all levels.
static llvm::Expected<std::string> compileForReplay(frontend::ModelSpec model, unsigned optLevel, bool gradient,
                                                    bool doublePrecision, Storage storage,
                                                    cuda::ProductArithmetic products) {
  const char *wanted = std::getenv("GNNC_DEVICE_CPU");
  if (!wanted)
    return compileForGPU(std::move(model), optLevel, gradient, doublePrecision, storage, products);
  CompileOptions options;
  bool isX86 = llvm::StringRef(wanted) == cpu::nameOf(cpu::Architecture::X86_64);
  options.architecture = isX86 ? cpu::Architecture::X86_64 : cpu::Architecture::AArch64;
  if (llvm::StringRef(wanted) != cpu::nameOf(options.architecture))
    return llvm::createStringError("GNNC_DEVICE_CPU: expected aarch64 or x86-64, found '%s'", wanted);
  options.cpuLevels = cpu::defaultLevels(options.architecture);
  model.doublePrecision |= doublePrecision;
  options.gradient = gradient;
  options.optLevel = optLevel;
  options.storage = storage;
  return compile(model, options);
}

bool test::isRecordingForDevice() { return std::getenv("GNNC_DEVICE_CASES") != nullptr; }

bool test::isRecordingForProcessors() { return isRecordingForDevice() && std::getenv("GNNC_DEVICE_CPU") != nullptr; }

llvm::Expected<std::string> test::packageForGPU(mlir::ModuleOp module) {
  llvm::Expected<cuda::CUDASource> source = cuda::printModule(module, {});
  if (!source)
    return source.takeError();
  DeviceCode device;
  device.images = device.preparation = {{90, /*isPTX=*/false, {}}};
  if (llvm::Error error = cuda::compileImages(
          {cuda::Unit{source->text, device.images}, cuda::Unit{cuda::preparationSource(), device.preparation}}))
    return std::move(error);
  device.steps = std::move(source->steps);
  for (cuda::DeviceStep &step : device.steps)
    for (cuda::Launch &launch : step.launches)
      launch.part = 0; // all in one
  llvm::Expected<std::string> data = buildDataObject(module, nameKernels(module), cpu::hostArchitecture(), {}, device);
  if (!data)
    return data.takeError();
  return linkObjects(*data, /*shared=*/true);
}

llvm::Expected<std::unique_ptr<DeviceRecorder>> DeviceRecorder::create(llvm::StringRef object, const std::string &form,
                                                                       Storage storage,
                                                                       std::vector<std::string> shared) {
  if (!isRecordingForDevice())
    return nullptr;
  auto recorder = std::make_unique<DeviceRecorder>();
  recorder->folder = std::getenv("GNNC_DEVICE_CASES");
  recorder->storage = storage;
  recorder->shared = std::move(shared);
  if (llvm::Error error = recorder->addModel(object, form))
    return std::move(error);
  return recorder;
}

llvm::Error DeviceRecorder::addModel(llvm::StringRef object, const std::string &form, bool isDouble) {
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  std::string stem = test ? (llvm::Twine(test->test_suite_name()) + "." + test->name()).str() : "case";
  std::replace(stem.begin(), stem.end(), '/', '-');
  static std::atomic<unsigned> count{0};
  models.push_back({stem + "." + std::to_string(count++) + "." + form, isDouble});
  return writeOutputFile(folder + "/" + models.back().name + ".so", object);
}

llvm::Expected<std::unique_ptr<DeviceRecorder>> DeviceRecorder::create(const frontend::ModelSpec &model, bool gradient,
                                                                       bool unfused) {
  Form forms[] = {{2, false, Storage::AsComputed}, {2, true, Storage::AsComputed}, {0, false, Storage::AsComputed}};
  return create(model, gradient, llvm::ArrayRef(forms).drop_back(unfused ? 0 : 1));
}

llvm::Expected<std::unique_ptr<DeviceRecorder>> DeviceRecorder::create(const frontend::ModelSpec &model, bool gradient,
                                                                       unsigned optLevel, Storage storage,
                                                                       cuda::ProductArithmetic products) {
  llvm::Expected<std::unique_ptr<DeviceRecorder>> recorder =
      create(model, gradient, Form{optLevel, false, storage, products});
  if (!recorder || !*recorder)
    return recorder;
  (*recorder)->storage = storage;
  auto isShared = [&](frontend::Id value) {
    frontend::Id space = model.values[value].residency;
    return space == frontend::kNone || model.spaces[space].kind == frontend::Space::Kind::Static;
  };
  for (frontend::Id id = 0; id < frontend::Id(model.values.size()); ++id) {
    const frontend::Value &value = model.values[id];
    bool isInput = value.op == frontend::OpCode::Input;
    if (isInput || value.op == frontend::OpCode::Param || value.op == frontend::OpCode::State) {
      if (!isInput || isShared(id)) {
        (*recorder)->shared.push_back(value.name);
        (*recorder)->shared.push_back("grad." + value.name);
      }
    }
  }
  for (const frontend::Output &output : model.outputs)
    if (isShared(output.value)) {
      (*recorder)->shared.push_back(output.name);
      (*recorder)->shared.push_back("grad." + output.name);
    }
  return recorder;
}

llvm::Expected<std::unique_ptr<DeviceRecorder>> DeviceRecorder::create(const frontend::ModelSpec &model, bool gradient,
                                                                       llvm::ArrayRef<Form> forms) {
  if (!isRecordingForDevice())
    return nullptr;
  auto recorder = std::make_unique<DeviceRecorder>();
  recorder->folder = std::getenv("GNNC_DEVICE_CASES");
  const char *wanted = std::getenv("GNNC_DEVICE_FORMS");
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(wanted ? wanted : "").split(names, ',');
  for (const Form &form : forms) {
    std::string name = "O" + std::to_string(form.optLevel) +
                       (form.doublePrecision            ? "d"
                        : form.storage == Storage::BF16 ? "b"
                        : form.storage == Storage::F16  ? "h"
                                                        : "") +
                       (form.products == cuda::ProductArithmetic::TF32 ? "t" : "");
    if (wanted && !llvm::is_contained(names, name))
      continue;
    llvm::Expected<std::string> bytes =
        compileForReplay(model, form.optLevel, gradient, form.doublePrecision, form.storage, form.products);
    if (!bytes)
      return bytes.takeError();
    if (llvm::Error error = recorder->addModel(*bytes, name, form.doublePrecision || model.doublePrecision))
      return std::move(error);
  }
  return recorder;
}

llvm::Error DeviceRecorder::add(llvm::StringRef program, const Graph &graph, const Tensors &tensors,
                                const Tensors &outputs, const Tensors &updates, bool doubleOnly) {
  std::string bytes;
  auto word = [&](int64_t value) { bytes.append(reinterpret_cast<const char *>(&value), sizeof value); };
  auto entry = [&](int64_t kind, llvm::StringRef name, llvm::ArrayRef<int64_t> shape, const void *data, size_t size) {
    word(kind);
    word(int64_t(name.size()));
    bytes += name;
    word(int64_t(shape.size()));
    for (int64_t dim : shape)
      word(dim);
    word(int64_t(size));
    bytes.append(static_cast<const char *>(data), size);
  };
  // The kinds are Replay.cpp's; beside them, what a tensor is stored as.
  entry(0, program, {}, nullptr, 0);
  for (const auto &[name, extent] : graph.extents)
    entry(1, name, extent, nullptr, 0);
  for (const auto &[name, targets] : graph.maps)
    entry(2, name, int64_t(targets.size()), targets.data(), targets.size() * sizeof(int32_t));
  const std::pair<int64_t, const Tensors *> lists[] = {{3, &tensors}, {4, &outputs}, {5, &updates}};
  for (auto [kind, list] : lists)
    for (const auto &[name, tensor] : *list)
      entry(kind | int64_t(llvm::is_contained(shared, name) ? Storage::AsComputed : storage) << 8, name, tensor.shape,
            tensor.data.data(), tensor.data.size() * sizeof(double));
  for (const Recorded &model : models)
    if (model.isDouble || !doubleOnly)
      if (llvm::Error error = writeOutputFile(folder + "/" + model.name + "." + std::to_string(cases) + ".case", bytes))
        return error;
  ++cases;
  return llvm::Error::success();
}
