//===- Compiler.cpp - From a model to an artefact -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Pipelines/Compiler.h"
#include "Compilation.h"
#include "gnnc/Support/DeepStack.h"

using namespace gnnc;

llvm::ArrayRef<llvm::StringRef> gnnc::phaseNames() {
  static const std::vector<llvm::StringRef> names = [] {
    std::vector<llvm::StringRef> list{kImport};
    for (const PassPhase &phase : passPhases())
      list.push_back(phase.name);
    list.push_back(kCodegen);
    list.push_back(kPackage);
    return list;
  }();
  return names;
}

static bool isKernelText(EmitKind emit) {
  return emit == EmitKind::CUDA || emit == EmitKind::PTX || emit == EmitKind::Cubin;
}

llvm::Error gnnc::checkOptions(const frontend::ModelSpec &model, const CompileOptions &options) {
  for (const std::string &target : options.targets)
    if (target != "cpu" && target != "cuda")
      return makeError("expected the target cpu or cuda, found '" + target + "'");
  bool forCPU = llvm::is_contained(options.targets, "cpu"), forCUDA = llvm::is_contained(options.targets, "cuda");
  if (!forCPU && !forCUDA)
    return makeError("expected at least one target");
  if (!options.compileTo.empty() && !llvm::is_contained(phaseNames(), llvm::StringRef(options.compileTo)))
    return makeError("expected a phase (" + llvm::join(phaseNames(), ", ") + "), found '" + options.compileTo + "'");
  for (const std::string &name : options.without)
    if (!llvm::is_contained(optionalPasses(), llvm::StringRef(name)))
      return makeError("expected an optimisation to leave out (" + llvm::join(optionalPasses(), ", ") + "), found '" +
                       name + "'");
  if (options.statements < 0)
    return makeError("expected a number of statements that a kernel may have, found " +
                     llvm::Twine(options.statements));
  if (options.cpuLevels.empty())
    return makeError("expected at least one processor level");
  for (int level : options.cpuLevels)
    if (llvm::Error wrong = cpu::checkLevel(options.architecture, level))
      return wrong;
  if (options.architectures.empty())
    return makeError("expected at least one GPU architecture");
  if (options.storage != Storage::AsComputed && model.doublePrecision)
    return makeError(
        "expected a model in float32: numbers of 16 bits are computed with in float32, and this model asks for "
        "float64");
  if (options.storage == Storage::F16 && forCPU && options.architecture == cpu::Architecture::X86_64 &&
      llvm::any_of(options.cpuLevels, [](int level) { return level < 3; }))
    return makeError(
        "expected bf16, or the processor levels v3 and v4 alone: older x86-64 processors cannot convert f16");
  if (options.storage != Storage::AsComputed && *llvm::min_element(options.architectures) < 80 &&
      (forCUDA || isKernelText(options.emit)))
    return makeError(
        "expected GPU architectures from sm_80 on: earlier ones cannot convert numbers of 16 bits, found sm_" +
        llvm::Twine(*llvm::min_element(options.architectures)));
  return llvm::Error::success();
}

llvm::Expected<std::string> gnnc::compile(const frontend::ModelSpec &model, const CompileOptions &options) {
  if (llvm::Error wrong = checkOptions(model, options))
    return std::move(wrong);
  // Some of what follows recurses along chains of operations, which are as long as the model is.
  std::optional<llvm::Expected<std::string>> result;
  runOnDeepStack([&] { result.emplace(Compilation(model, options).run()); });
  return std::move(*result);
}
