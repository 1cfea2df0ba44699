//===- Compiler.cpp - From a model to an artefact -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Pipelines/Compiler.h"
#include "Alternatives.h"
#include "gnnc/Conversion/ModelToMPDFG.h"
#include "gnnc/Pipelines/Pipelines.h"
#include "gnnc/Report/Report.h"
#include "gnnc/Target/CPU/CPUBackend.h"
#include "gnnc/Target/CUDA/CUDABackend.h"
#include "gnnc/Target/CUDA/NVRTC.h"
#include "gnnc/Target/Package/Package.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/SaveAndRestore.h"

#include <thread>

using namespace mlir;
using namespace gnnc;

namespace {

constexpr llvm::StringLiteral kImport = "import", kFuse = "fuse", kCodegen = "codegen", kPackage = "package";

llvm::Error error(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// The place in the model's text; fused values have the first one's.
FileLineColLoc findWhere(Location location) {
  FileLineColLoc found;
  location->walk([&](Location each) {
    found = dyn_cast<FileLineColLoc>(each);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text + "\n";
}

bool isForCUDA(EmitKind emit) { return emit == EmitKind::CUDA || emit == EmitKind::PTX || emit == EmitKind::Cubin; }

/// How a model was compiled, in a line.
std::string describe(const CompileOptions &options) {
  std::string text = "-O" + std::to_string(options.optLevel) + ", target " + llvm::join(options.targets, " and ");
  if (options.save != SaveKind::Auto)
    text += options.save == SaveKind::None ? ", --save=none" : ", --save=all";
  if (options.storage != Storage::AsComputed)
    text += options.storage == Storage::BF16 ? ", stored as bf16" : ", stored as f16";
  if (options.gradient)
    text += ", with gradients";
  if (!options.without.empty())
    text += ", without " + llvm::join(options.without, ", ");
  return text;
}

/// The pass said what it put in tiles; this says that it was in vain.
void remarkNoTiles(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto remark = remark::missed(
            function.getLoc(), remark::RemarkOpts::name("tile").category("tile-products").function(function.getName())))
      remark << "products of members are stored after all: GPUs have no kernel for all the sweeps that would make them";
}

/// One level's code for each thread; code generation is most of the time.
llvm::Expected<std::vector<cpu::CPUCode>> generate(ModuleOp module, ArrayRef<int> levels, cpu::CodeOptions options) {
  std::vector<std::optional<llvm::Expected<cpu::CPUCode>>> results(levels.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < levels.size(); ++i)
    threads.emplace_back([&, i] { results[i].emplace(cpu::generateCode(module, levels[i], options)); });
  results[0].emplace(cpu::generateCode(module, levels[0], options));
  for (std::thread &thread : threads)
    thread.join();
  std::vector<cpu::CPUCode> code;
  llvm::Error failure = llvm::Error::success();
  for (auto &result : results) {
    if (*result)
      code.push_back(std::move(**result));
    else
      failure = llvm::joinErrors(std::move(failure), result->takeError());
  }
  if (failure)
    return std::move(failure);
  return code;
}

} // namespace

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

llvm::Expected<std::string> gnnc::compile(const frontend::ModelSpec &model, const CompileOptions &options) {
  for (const std::string &target : options.targets)
    if (target != "cpu" && target != "cuda")
      return error("expected the target cpu or cuda, found '" + target + "'");
  bool forCPU = llvm::is_contained(options.targets, "cpu"), forCUDA = llvm::is_contained(options.targets, "cuda");
  if (!forCPU && !forCUDA)
    return error("expected at least one target");
  if (!options.compileTo.empty() && !llvm::is_contained(phaseNames(), llvm::StringRef(options.compileTo)))
    return error("expected a phase (" + llvm::join(phaseNames(), ", ") + "), found '" + options.compileTo + "'");
  for (const std::string &name : options.without)
    if (!llvm::is_contained(optionalPasses(), llvm::StringRef(name)))
      return error("expected an optimisation to leave out (" + llvm::join(optionalPasses(), ", ") + "), found '" +
                   name + "'");
  if (options.cpuLevels.empty())
    return error("expected at least one processor level");
  for (int level : options.cpuLevels)
    if (level != 0 && level != 2 && level != 3 && level != 4)
      return error("expected processor level 0, 2, 3 or 4, found " + llvm::Twine(level));
  if (options.architectures.empty())
    return error("expected at least one GPU architecture");
  if (options.storage != Storage::AsComputed && model.doublePrecision)
    return error(
        "expected a model in float32: numbers of 16 bits are computed with in float32, and this model asks for "
        "float64");
  if (options.storage == Storage::F16 && forCPU && llvm::any_of(options.cpuLevels, [](int level) { return level < 3; }))
    return error("expected bf16, or the processor levels v3 and v4 alone: older x86-64 processors cannot convert f16");
  if (options.storage != Storage::AsComputed && *llvm::min_element(options.architectures) < 80 &&
      (forCUDA || isForCUDA(options.emit)))
    return error("expected GPU architectures from sm_80 on: earlier ones cannot convert numbers of 16 bits, found sm_" +
                 llvm::Twine(*llvm::min_element(options.architectures)));
  std::vector<int> levels = options.cpuLevels;
  llvm::sort(levels, std::greater<int>());
  levels.erase(llvm::unique(levels), levels.end());

  MLIRContext context;
  context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, func::FuncDialect>();
  std::string message;
  bool quiet = false; // alternatives repeat what was remarked already
  ReportBuilder report;
  auto describeDiagnostic = [](Diagnostic &diagnostic) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (auto where = findWhere(diagnostic.getLocation()))
      stream << where.getFilename().getValue() << ":" << where.getLine() << ":" << where.getColumn() << ": ";
    stream << diagnostic.str();
    return text;
  };
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty())
      message = describeDiagnostic(diagnostic);
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark && !quiet) {
      std::string text = describeDiagnostic(diagnostic);
      if (options.onRemark)
        options.onRemark(text);
      report.addRemark(text);
    }
    return success();
  });
  // Passes only make the texts if somebody listens.
  if (options.onRemark || options.onReport) {
    remark::RemarkCategories everything{".*", ".*", ".*", ".*", ".*"};
    if (failed(remark::enableOptimizationRemarks(context, nullptr, std::make_unique<remark::RemarkEmittingPolicyAll>(),
                                                 everything, /*printAsEmitRemarks=*/true)))
      return error("remarks cannot be enabled");
  }
  auto progress = [&](llvm::StringRef phase) {
    if (options.onPhase)
      options.onPhase(phase, llvm::find(phaseNames(), phase) - phaseNames().begin(), phaseNames().size());
  };

  progress(kImport);
  OwningOpRef<ModuleOp> module = importModel(model, &context);
  if (failed(verify(*module)))
    return error("the imported program does not verify: " + message);
  if (options.compileTo == kImport)
    return print(*module);
  if (options.onReport)
    report.addPhase(kImport, *module);
  PhaseOptions phaseOptions(options.optLevel, options.gradient);
  phaseOptions.storage = options.storage;
  phaseOptions.without = options.without;
  phaseOptions.save = options.save == SaveKind::None  ? SaveMode::None
                      : options.save == SaveKind::All ? SaveMode::All
                                                      : SaveMode::Auto;
  // The rows of a product are spread over threads there, and a tile's over those of a block.
  if (forCUDA || isForCUDA(options.emit)) {
    // With a CPU's code beside it, GPUs make a sweep again of an epilogue that they do not spread.
    phaseOptions.spreadEpilogues = !forCPU || options.targets.size() == 1;
    phaseOptions.tilesInBlocks = true;
    phaseOptions.joinLaunches = true;
  }
  auto runPhase = [&](const PassPhase &phase, ModuleOp on, const PhaseOptions &with) {
    PassManager pm(&context);
    phase.populate(pm, with);
    return pm.run(on);
  };
  /// Whether the kernels of tiles are there that a module asks for; before that it is not known what fusion makes.
  auto hasTileKernels = [&](ModuleOp on) {
    return !phaseOptions.tilesInBlocks ||
           cuda::hasTileKernels(on, cuda::PrintOptions::forArchitectures(options.products, options.architectures));
  };
  /// The model past the phases before plan-memory, under another assumption.
  auto buildAssuming = [&](Extents extents) {
    llvm::SaveAndRestore silent(quiet, true);
    PhaseOptions assuming = phaseOptions;
    assuming.extents = extents;
    OwningOpRef<ModuleOp> other;
    for (bool again : {false, true}) {
      if (again && hasTileKernels(*other))
        break;
      if (again)
        assuming.without.push_back("tile-products");
      other = importModel(model, &context);
      for (const PassPhase &phase : passPhases().drop_back())
        if (failed(runPhase(phase, *other, assuming)))
          return OwningOpRef<ModuleOp>();
    }
    return other;
  };
  for (const PassPhase &phase : passPhases()) {
    progress(phase.name);
    if (phase.name == passPhases().back().name && options.optLevel >= 2 &&
        !llvm::is_contained(options.without, "alternatives"))
      addAlternatives(*module, [&](Extents extents) {
        llvm::SaveAndRestore kept(message); // What is wrong with an alternative is not what is wrong with the model.
        return buildAssuming(extents);
      });
    if (failed(runPhase(phase, *module, phaseOptions)))
      return error(message.empty() ? "phase " + phase.name.str() + " failed" : message);
    if (phase.name == kFuse && !hasTileKernels(*module)) {
      phaseOptions.without.push_back("tile-products");
      module = buildAssuming(Extents::Unknown);
      if (!module)
        return error(message);
      remarkNoTiles(*module);
    }
    if (options.onReport)
      report.addPhase(phase.name, *module);
    if (options.onReport && phase.name == passPhases().back().name) {
      llvm::Expected<std::string> page =
          report.makePage(*module, describeModel(*module, nameKernels(*module)), describe(options));
      if (!page)
        return page.takeError();
      options.onReport(std::move(*page));
    }
    bool last = options.compileTo == phase.name ||
                (options.compileTo.empty() && ((options.emit == EmitKind::MPDFG && phase.name == "simplify") ||
                                               (options.emit == EmitKind::MPK && phase.name == "plan-memory")));
    if (last)
      return print(*module);
  }

  progress(kCodegen);
  /// What went wrong in a backend: the first diagnostic, if there was one.
  auto explain = [&](llvm::Error failure) {
    if (message.empty())
      return failure;
    llvm::consumeError(std::move(failure));
    return error(message);
  };
  bool wantCUDA = isForCUDA(options.emit);
  bool wantText = options.emit == EmitKind::LLVM || options.compileTo == kCodegen;
  DeviceCode device;
  if (wantCUDA || (forCUDA && !wantText)) {
    llvm::Expected<cuda::CUDASource> source =
        cuda::printModule(*module, cuda::PrintOptions::forArchitectures(options.products, options.architectures));
    if (!source)
      return explain(source.takeError());
    if (options.emit == EmitKind::CUDA)
      return std::move(source->text);
    if (wantCUDA) {
      cuda::Image image{options.architectures.front(), options.emit == EmitKind::PTX, {}};
      if (llvm::Error failure = cuda::compileImages(cuda::Unit{source->text, image}))
        return std::move(failure);
      return std::move(image.bytes);
    }
    std::vector<cuda::Image> kinds;
    for (int architecture : options.architectures)
      kinds.push_back({architecture, /*isPTX=*/false, {}});
    // PTX of the least is for GPUs that are newer than all.
    kinds.push_back({options.architectures.front(), /*isPTX=*/true, {}});
    device.steps = std::move(source->steps);
    device.preparation = kinds;
    std::vector<std::vector<cuda::Image>> images(source->parts.size(), kinds);
    std::vector<cuda::Unit> units{{cuda::preparationSource(), device.preparation}};
    for (auto [part, ofPart] : llvm::zip_equal(source->parts, images))
      units.push_back({part, ofPart});
    if (llvm::Error failure = cuda::compileImages(units))
      return std::move(failure);
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      for (std::vector<cuda::Image> &ofPart : images)
        device.images.push_back(std::move(ofPart[kind]));
  }
  std::vector<cpu::CPUCode> code;
  if (forCPU || wantText) {
    cpu::loadDialects(&context);
    llvm::Expected<std::vector<cpu::CPUCode>> generated = generate(*module, levels, {wantText, options.optimiseCode});
    if (!generated)
      return explain(generated.takeError());
    code = std::move(*generated);
  }
  if (wantText) {
    std::string text;
    for (const cpu::CPUCode &variant : code)
      text += variant.text;
    return text;
  }

  progress(kPackage);
  if (!forCPU)
    levels.clear();
  llvm::SmallVector<EmittedKernel> kernels = forCPU ? code.front().kernels : nameKernels(*module);
  std::vector<std::string> objects;
  for (cpu::CPUCode &variant : code)
    objects.push_back(std::move(variant.object));
  llvm::Expected<std::string> data = buildDataObject(*module, kernels, levels, device);
  if (!data)
    return data.takeError();
  objects.push_back(std::move(*data));
  return linkObjects(objects, options.emit == EmitKind::SharedObject);
}
