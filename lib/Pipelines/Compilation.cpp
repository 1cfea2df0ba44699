//===- Compilation.cpp - One model on its way to an artefact ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "Alternatives.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Conversion/ModelToMPDFG.h"
#include "gnnc/Target/CUDA/NVRTC.h"
#include "gnnc/Target/CUDA/Preparation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"

#include <map>

using namespace mlir;
using namespace gnnc;

static constexpr llvm::StringLiteral kSimplify = "simplify", kDifferentiate = "differentiate",
                                     kPlanMemory = "plan-memory";

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text + "\n";
}

/// How a model was compiled, in a line.
static std::string describe(const CompileOptions &options) {
  std::string text = "-O" + std::to_string(options.optLevel) + ", target " + llvm::join(options.targets, " and ");
  if (options.save != SaveKind::Auto)
    text += options.save == SaveKind::None ? ", --save=none" : ", --save=all";
  if (options.checkpoints > 1)
    text += ", " + std::to_string(options.checkpoints) + " segments";
  if (options.storage != Storage::AsComputed)
    text += std::string(options.wholeInterface ? ", autocast to " : ", stored as ") +
            (options.storage == Storage::BF16 ? "bf16" : "f16");
  if (options.gradient)
    text += ", with gradients";
  if (!options.without.empty())
    text += ", without " + llvm::join(options.without, ", ");
  return text;
}

Compilation::Compilation(const frontend::ModelSpec &model, const CompileOptions &options)
    : model(model), options(options), levels(options.cpuLevels),
      diagnostics(
          context, !options.onRemark && !options.onReport ? std::function<void(llvm::StringRef)>()
                                                          : [this](llvm::StringRef text) {
                                                              if (this->options.onRemark)
                                                                this->options.onRemark(text);
                                                              report.addRemark(text);
                                                            }) {
  context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, func::FuncDialect>();
  llvm::sort(levels, std::greater<int>());
  levels.erase(llvm::unique(levels), levels.end());
}

bool Compilation::wantsKernelText() const {
  return options.emit == EmitKind::CUDA || options.emit == EmitKind::PTX || options.emit == EmitKind::Cubin;
}

llvm::StringRef Compilation::lastPhase() const {
  if (!options.compileTo.empty())
    return options.compileTo;
  if (options.emit == EmitKind::MPDFG)
    return kSimplify;
  return options.emit == EmitKind::MPK ? llvm::StringRef(kPlanMemory) : llvm::StringRef();
}

PhaseOptions Compilation::phaseOptions() const {
  PhaseOptions phase(options.optLevel, options.gradient);
  phase.passes = PassSelection(options.optLevel, options.without);
  phase.storage = options.storage;
  phase.wholeInterface = options.wholeInterface;
  phase.cotangents = options.cotangents;
  phase.distributed = options.distributed;
  phase.along = options.along;
  phase.fixed = options.fixed;
  phase.operationsPerByte = options.operationsPerByte.value_or(kOperationsPerExchangedByte);
  // Ranks would choose among them by what their parts are like, and then exchange other values.
  if (options.distributed)
    phase.passes.leaveOut("alternatives");
  if (options.statements)
    phase.statements = options.statements;
  phase.save = options.save == SaveKind::None  ? SaveMode::None
               : options.save == SaveKind::All ? SaveMode::All
                                               : SaveMode::Auto;
  phase.checkpoints = options.checkpoints;
  if (isFor("cuda") || wantsKernelText())
    phase.target = cuda::capabilities(printOptions());
  if (isFor("cpu") && !wantsKernelText())
    phase.target.lengthOfLongestKernel = [onGPUs = phase.target.lengthOfLongestKernel, this](ModuleOp module) {
      return std::max(cpu::lengthOfLongestKernel(module, options.architecture, levels), onGPUs ? onGPUs(module) : 0);
    };
  // With a CPU's code beside it, GPUs make a sweep again of an epilogue that they do not spread.
  if (isFor("cuda") && isFor("cpu"))
    phase.target.spreadEpilogues = false;
  return phase;
}

void Compilation::begin(llvm::StringRef phase) {
  if (options.onPhase)
    options.onPhase(phase, llvm::find(phaseNames(), phase) - phaseNames().begin(), phaseNames().size());
  end();
  this->phase = timings.size();
  timings.push_back({phase.str()});
  meter.emplace(TimeMeter::Of::Process);
}

void Compilation::end() {
  if (meter)
    timings[phase].time = meter->spent();
  meter.reset();
}

/// Adds a part of the phase, with the time that `work` takes.
template <typename Work> static auto timed(Timings &timings, llvm::StringRef name, Work &&work) {
  TimeMeter meter(TimeMeter::Of::Process);
  auto finish = llvm::scope_exit([&] {
    TimedStep step{name.str()};
    step.depth = 1;
    step.time = meter.spent();
    timings.push_back(std::move(step));
  });
  return work();
}

llvm::Expected<std::string> Compilation::run() {
  llvm::Expected<std::string> result = runStages();
  end();
  if (options.onTimings)
    options.onTimings(timings);
  return result;
}

llvm::Expected<std::string> Compilation::runStages() {
  if (llvm::Error failure = checkCotangents())
    return std::move(failure);
  if (options.distributed)
    if (llvm::Error failure = checkDistributed())
      return std::move(failure);
  if (llvm::Error failure = diagnostics.enableRemarks())
    return std::move(failure);
  if (llvm::Error failure = importModel())
    return std::move(failure);
  if (lastPhase() == kImport)
    return print(module);
  if (llvm::Error failure = runPhases())
    return std::move(failure);
  if (!text.empty())
    return std::move(text);

  if (llvm::Error failure = embed())
    return std::move(failure);
  begin(kCodegen);
  if (wantsKernelText())
    return emitKernelText();
  if (wantsLLVMText()) {
    if (llvm::Error failure = emitCPUCode(/*wantText=*/true))
      return std::move(failure);
    for (const cpu::CPUCode &variant : code)
      text += variant.text;
    return std::move(text);
  }
  if (isFor("cuda"))
    if (llvm::Error failure = emitDeviceCode())
      return std::move(failure);
  if (isFor("cpu"))
    if (llvm::Error failure = emitCPUCode(/*wantText=*/false))
      return std::move(failure);

  begin(kPackage);
  return package();
}

llvm::Error Compilation::checkCotangents() const {
  std::vector<std::string> outputs;
  for (const frontend::Output &output : model.outputs)
    outputs.push_back(output.name);
  for (const std::string &name : options.cotangents)
    if (!llvm::is_contained(outputs, name))
      return makeError("expected an output of model '" + model.name + "' to differentiate (" +
                       llvm::join(outputs, ", ") + "), found '" + name + "'");
  return llvm::Error::success();
}

/// Before `differentiate` a program is the whole graph's still.
llvm::Error Compilation::checkDistributed() const {
  if (llvm::find(phaseNames(), lastPhase()) < llvm::find(phaseNames(), kDifferentiate))
    return makeError("a distributed model is a program of ranks from phase " + kDifferentiate.str() +
                     " on: expected that or a later phase to stop at, found " + lastPhase().str());
  std::vector<std::string> given;
  for (const frontend::Map &map : model.maps)
    if (map.kind == frontend::Map::Kind::Root)
      given.push_back(map.name);
  for (const std::string &name : options.along)
    if (!llvm::is_contained(given, name))
      return makeError("expected a map that elements of model '" + model.name + "' go along (" +
                       llvm::join(given, ", ") + "), found '" + name + "'");
  // Each element is in one part.
  std::map<frontend::Id, std::string> chosen;
  for (const frontend::Map &map : model.maps) {
    if (map.kind != frontend::Map::Kind::Root || !llvm::is_contained(options.along, map.name))
      continue;
    auto [other, isFirst] = chosen.try_emplace(map.from, map.name);
    if (!isFirst)
      return makeError("expected one map of --along for space '" + model.spaces[map.from].name + "', found '" +
                       other->second + "' and '" + map.name + "'");
  }
  std::vector<std::string> inputs;
  for (const frontend::Value &value : model.values)
    if (value.op == frontend::OpCode::Input)
      inputs.push_back(value.name);
  for (const std::string &name : options.fixed)
    if (!llvm::is_contained(inputs, name))
      return makeError("expected an input of model '" + model.name + "' that does not change (" +
                       llvm::join(inputs, ", ") + "), found '" + name + "'");
  return llvm::Error::success();
}

llvm::Error Compilation::importModel() {
  begin(kImport);
  PhaseOptions phase = phaseOptions();
  phases.emplace(gnnc::importModel(model, &context, options.distributed), phase);
  module = phases->getModule();
  if (failed(verify(module)))
    return makeError("the imported program does not verify: " +
                     llvm::toString(diagnostics.explain(llvm::Error::success())));
  if (takesAlternatives(phase.passes))
    imported = module.clone();
  if (options.onReport)
    report.addPhase(kImport, module);
  return llvm::Error::success();
}

/// Leaves the IR in `text` if it is the result.
llvm::Error Compilation::runPhases() {
  for (const PassPhase &phase : passPhases()) {
    begin(phase.name);
    if (phase.name == kPlanMemory && imported)
      timed(timings, "alternatives", [&] { addAlternatives(); });
    if (failed(phases->run(phase)))
      return diagnostics.explain(makeError("phase " + phase.name + " failed"));
    module = phases->getModule();
    if (options.onReport)
      report.addPhase(phase.name, module);
    if (phase.name == kPlanMemory)
      if (llvm::Error failure = makeReport())
        return failure;
    if (phase.name == lastPhase()) {
      text = print(module);
      break;
    }
  }
  return llvm::Error::success();
}

/// Compiles the model under other assumptions, up to where this one is.
void Compilation::addAlternatives() {
  // They repeat what was remarked already, and what is wrong with one is not what is wrong with the model.
  gnnc::addAlternatives(module, [&](Extents extents) {
    ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); });
    PhaseOptions assuming = phases->getOptions();
    assuming.extents = extents;
    PhaseRunner runner(OwningOpRef<ModuleOp>(imported->clone()), std::move(assuming));
    return failed(runner.runUntil(kPlanMemory)) ? OwningOpRef<ModuleOp>() : runner.takeModule();
  });
}

llvm::Error Compilation::makeReport() {
  if (!options.onReport)
    return llvm::Error::success();
  llvm::Expected<std::string> page =
      report.makePage(module, describeModel(module, nameKernels(module)), describe(options));
  if (!page)
    return page.takeError();
  options.onReport(std::move(*page));
  return llvm::Error::success();
}

/// Asked for before code is generated, which takes longer than to find out that a parameter is missing.
llvm::Error Compilation::embed() {
  if (!options.plans.empty())
    module->setAttr(kPlansAttr, StringAttr::get(&context, options.plans));
  NamedAttrList metadata;
  for (const auto &[name, value] : options.metadata)
    metadata.set(name, StringAttr::get(&context, value));
  if (!metadata.empty())
    module->setAttr(kMetadataAttr, metadata.getDictionary(&context));
  if (options.onPlanned)
    if (llvm::Error stop = options.onPlanned(describeModel(module, nameKernels(module))))
      return stop;
  if (!options.onEmbed || wantsKernelText() || wantsLLVMText())
    return llvm::Error::success();
  llvm::Expected<std::vector<EmbeddedTensor>> tensors = options.onEmbed(describeModel(module, {}));
  if (!tensors)
    return tensors.takeError();
  embedded = std::move(*tensors);
  return checkEmbedded(module, embedded);
}

llvm::Expected<cuda::CUDASource> Compilation::printKernels() {
  llvm::Expected<cuda::CUDASource> source =
      timed(timings, "print kernels", [&] { return cuda::printModule(module, printOptions()); });
  if (!source)
    return diagnostics.explain(source.takeError());
  return source;
}

llvm::Expected<std::string> Compilation::emitKernelText() {
  llvm::Expected<cuda::CUDASource> source = printKernels();
  if (!source)
    return source.takeError();
  if (options.emit == EmitKind::CUDA)
    return std::move(source->text);
  cuda::Image image{options.architectures.front(), /*isPTX=*/options.emit == EmitKind::PTX, {}};
  if (llvm::Error failure = cuda::compileImages(cuda::Unit{source->text, image, "kernels"}, &timings))
    return std::move(failure);
  return std::move(image.bytes);
}

/// The kernels of each translation unit: the first and the last.
static std::vector<std::string> namesOfParts(ArrayRef<cuda::DeviceStep> steps, size_t numParts) {
  std::vector<SmallVector<std::string>> kernels(numParts);
  for (const cuda::DeviceStep &step : steps)
    for (const cuda::Launch &launch : step.launches)
      if (SmallVector<std::string> &of = kernels[launch.part]; !llvm::is_contained(of, step.name))
        of.push_back(step.name);
  std::vector<std::string> names;
  for (const SmallVector<std::string> &of : kernels)
    names.push_back(of.empty() ? "kernels" : of.size() == 1 ? of.front() : of.front() + " to " + of.back());
  return names;
}

llvm::Error Compilation::emitDeviceCode() {
  llvm::Expected<cuda::CUDASource> source = printKernels();
  if (!source)
    return source.takeError();
  std::vector<cuda::Image> kinds;
  for (int architecture : options.architectures)
    kinds.push_back({architecture, /*isPTX=*/false, {}});
  // PTX of the least is for GPUs that are newer than all.
  kinds.push_back({options.architectures.front(), /*isPTX=*/true, {}});
  device.steps = std::move(source->steps);
  device.preparation = kinds;
  std::vector<std::vector<cuda::Image>> images(source->parts.size(), kinds);
  std::vector<std::string> names = namesOfParts(device.steps, source->parts.size());
  std::vector<cuda::Unit> units;
  if (!cuda::readPreparation(device.preparation))
    units.push_back({cuda::preparationSource(), device.preparation, "preparation of graphs"});
  for (auto [part, ofPart, name] : llvm::zip_equal(source->parts, images, names))
    units.push_back({part, ofPart, name});
  if (llvm::Error failure = cuda::compileImages(units, &timings))
    return failure;
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    for (std::vector<cuda::Image> &ofPart : images)
      device.images.push_back(std::move(ofPart[kind]));
  return llvm::Error::success();
}

llvm::Error Compilation::emitCPUCode(bool wantText) {
  llvm::Expected<std::vector<cpu::CPUCode>> generated =
      cpu::generateCode(module, options.architecture, levels, {wantText, options.optimiseCode, &timings});
  if (!generated)
    return diagnostics.explain(generated.takeError());
  code = std::move(*generated);
  return llvm::Error::success();
}

llvm::Expected<std::string> Compilation::package() {
  bool forCPU = isFor("cpu");
  llvm::SmallVector<EmittedKernel> kernels = forCPU ? code.front().kernels : nameKernels(module);
  // Whichever level's code runs finds the memory that it works in.
  for (const cpu::CPUCode &variant : code)
    for (auto [kernel, other] : llvm::zip_equal(kernels, variant.kernels))
      kernel.blockBytes = std::max(kernel.blockBytes, other.blockBytes);
  std::vector<std::string> objects;
  for (cpu::CPUCode &variant : code)
    llvm::append_range(objects, std::move(variant.objects));
  llvm::Expected<std::string> data = timed(timings, "tables", [&] {
    return buildDataObject(module, kernels, options.architecture,
                           forCPU ? llvm::ArrayRef(levels) : llvm::ArrayRef<int>(), device, embedded);
  });
  if (!data)
    return data.takeError();
  objects.push_back(std::move(*data));
  return timed(timings, "link",
               [&] { return linkObjects(objects, options.emit == EmitKind::SharedObject, options.architecture); });
}
