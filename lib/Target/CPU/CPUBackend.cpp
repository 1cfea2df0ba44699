//===- CPUBackend.cpp - Kernels to machine code ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// scf, vector, math and arith to the LLVM dialect, to LLVM IR, optimised at O3 for the level's processor, to an object.
// exp, log, tanh and their like become polynomials on whole vectors (float32), or calls of libm (float64).
//
//===----------------------------------------------------------------------===//

#include "gnnc/Target/CPU/CPUBackend.h"
#include "CarriedVectors.h"
#include "SharedKernels.h"
#include "SweepEmitter.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "gnnc/Analysis/Decisions.h"
#include "gnnc/Support/ContentCache.h"
#include "gnnc/Support/DeepStack.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;

namespace {

llvm::Error error(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Operations that a statement takes in bodies that are estimated well: loads, stores and addresses are some of them.
constexpr int64_t kOperationsPerStatement = 2;

/// One kernel's function, on its way from scf, vector, math and arith to an object.
struct Unit {
  OwningOpRef<ModuleOp> code;
  std::string object, text;
  TimedStep step;
  std::string failure; ///< empty: none
};

/// A level's kernels, and the functions that they share.
struct Emitted {
  SmallVector<EmittedKernel> kernels;
  std::vector<Unit> units;
};

/// Emits every kernel of a module; nothing where it failed. `together`: all functions into one unit, else each into its
/// own.
std::optional<Emitted> emitKernels(ModuleOp module, const Processor &target, bool together) {
  Emitted emitted;
  SharedKernels shared;
  for (auto function : module.getOps<func::FuncOp>()) {
    llvm::DenseSet<Operation *> deciding = findDecidingKernels(function);
    for (Operation &op : function.getBody().front()) {
      if (!mpk::isKernel(&op))
        continue;
      bool fixedRounding = deciding.contains(&op);
      if (std::optional<EmittedKernel> known = shared.find(&op, fixedRounding)) {
        emitted.kernels.push_back(std::move(*known));
        continue;
      }
      TimeMeter meter;
      std::string name = "gnnc_kernel" + std::to_string(emitted.kernels.size());
      if (mpk::isOfRuntime(&op)) {
        EmittedKernel &step = emitted.kernels.emplace_back();
        step.name = name;
        step.kind = stepKindOf(&op);
        bool isChoice = mpdfg::isChoice(&op);
        step.space = mpdfg::getResidency((isChoice ? op.getResult(0) : op.getOperand(0)).getType());
        step.map = isChoice ? mpdfg::getChosenMap(&op) : FlatSymbolRefAttr();
        continue;
      }
      if (emitted.units.empty() || !together) {
        emitted.units.emplace_back();
        emitted.units.back().code = ModuleOp::create(module.getLoc());
        emitted.units.back().step.name = name;
      }
      Unit &unit = emitted.units.back();
      if (auto sweep = dyn_cast<mpk::SweepOp>(op)) {
        FailureOr<EmittedKernel> info = emitSweep(sweep, name, target, *unit.code, fixedRounding);
        if (failed(info))
          return std::nullopt;
        emitted.kernels.push_back(std::move(*info));
      } else if (auto product = dyn_cast<mpk::ProductOp>(op)) {
        emitted.kernels.push_back(emitProduct(product, name, target, *unit.code, fixedRounding));
      } else if (auto outer = dyn_cast<mpk::OuterSumOp>(op)) {
        emitted.kernels.push_back(emitOuterSum(outer, name, target, *unit.code));
      }
      unit.step.time += meter.spent();
      shared.add(&op, fixedRounding, emitted.kernels.back());
    }
  }
  for (Unit &unit : emitted.units)
    unit.code->walk([&](Operation *) { ++unit.step.statements; });
  return emitted;
}

} // namespace

/// Loading is not thread-safe.
static void loadDialects(MLIRContext *context) {
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                       math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
}

int64_t cpu::lengthOfLongestKernel(ModuleOp module, Architecture architecture, ArrayRef<int> levels) {
  loadDialects(module.getContext());
  // What is wrong with a kernel is said when code is generated.
  ScopedDiagnosticHandler silent(module.getContext(), [](Diagnostic &) { return success(); });
  int64_t longest = 0;
  for (int level : levels)
    if (std::optional<Emitted> emitted = emitKernels(module, Processor{architecture, level}, /*together=*/false))
      for (const Unit &unit : emitted->units)
        longest = std::max(longest, unit.step.statements);
  return longest / kOperationsPerStatement;
}

namespace {

/// What all kernels are lowered with; several threads may use it at once.
class Lowering {
public:
  explicit Lowering(MLIRContext *context) : target(*context), converter(context) {
    RewritePatternSet math(context);
    populateMathPolynomialApproximationPatterns(math, MathPolynomialApproximationOptions{});
    polynomials = std::move(math);
    target.addLegalOp<ModuleOp>();
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    // Intrinsics first: fma and floor are instructions; libm is for what has none.
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false, /*benefit=*/2);
    populateMathToLibmConversionPatterns(patterns, /*benefit=*/1);
    // There is no intrinsic for expm1, and exp(x) - 1, which it would become, has no digits near 0.
    RewritePatternSet libm(context);
    populateMathToLibmConversionPatterns(libm, /*benefit=*/3);
    for (std::unique_ptr<RewritePattern> &pattern : libm.getNativePatterns())
      if (pattern->getRootKind() == OperationName(math::ExpM1Op::getOperationName(), context))
        patterns.add(std::move(pattern));
    populateFuncToLLVMConversionPatterns(converter, patterns);
    conversions = std::move(patterns);
  }

  LogicalResult run(ModuleOp code) const {
    if (failed(applyPatternsGreedily(code, polynomials)))
      return failure();
    return applyFullConversion(code, target, conversions);
  }

private:
  LLVMConversionTarget target;
  LLVMTypeConverter converter;
  FrozenRewritePatternSet polynomials, conversions;
};

void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  // The vectors are already there; what is left scalar is address arithmetic.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

/// A unit's code to an object; the text too, if it is wanted.
llvm::Error compileUnit(Unit &unit, const Lowering &lowering, const Processor &processor, const CodeOptions &options) {
  constexpr llvm::StringLiteral message = "internal error in code generation; the diagnostic says where";
  if (failed(lowering.run(*unit.code)))
    return error(message);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(*unit.code, llvmContext, "gnnc");
  if (!ir)
    return error(message);
  TimeMeter meter;
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(processor, options.optimise);
  if (!machine)
    return machine.takeError();
  ir->setTargetTriple((*machine)->getTargetTriple());
  ir->setDataLayout((*machine)->createDataLayout());
  for (llvm::Function &function : *ir) {
    if (function.isDeclaration())
      continue;
    function.setName(functionName(function.getName(), processor.level));
    function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    addAttributes(function, processor, **machine);
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  if (options.optimise)
    optimise(*ir, **machine);
  for (llvm::Function &function : *ir)
    splitCarriedVectors(function, processor.registerBytes() * 8);
  if (options.wantText) {
    llvm::raw_string_ostream stream(unit.text);
    ir->print(stream, nullptr);
  }
  llvm::SmallVector<char> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return error("this LLVM cannot write object files for the target");
  passes.run(*ir);
  unit.object.assign(object.begin(), object.end());
  unit.step.compiler = meter.spent();
  return llvm::Error::success();
}

/// What an object is made from, apart from the unit: this build of gnnc and of LLVM, and the target.
std::string describeTarget(const Processor &processor) {
  static const std::string builds = identityOfCode(reinterpret_cast<const void *>(&cpu::generateCode)) + ", LLVM " +
                                    LLVM_VERSION_STRING " " +
                                    identityOfCode(reinterpret_cast<const void *>(&llvm::sys::getDefaultTargetTriple));
  return builds + ", " + nameOf(processor) + "\n";
}

/// Compiles a unit, or finds it compiled. Only what LLVM optimises is kept.
void makeObject(Unit &unit, const Lowering &lowering, const Processor &processor, const CodeOptions &options) {
  TimeMeter meter;
  std::optional<ContentCache> cache;
  if (options.optimise && !options.wantText) {
    std::string key = describeTarget(processor);
    llvm::raw_string_ostream stream(key);
    unit.code->print(stream, OpPrintingFlags().useLocalScope());
    cache.emplace(key);
    unit.step.isCached = cache->read(unit.object);
  }
  if (!unit.step.isCached) {
    if (llvm::Error failure = compileUnit(unit, lowering, processor, options))
      unit.failure = llvm::toString(std::move(failure));
    else if (cache)
      cache->write(unit.object);
  }
  unit.code = nullptr;
  unit.step.time += meter.spent();
}

} // namespace

StepKind gnnc::stepKindOf(Operation *collective) {
  if (mpdfg::isChoice(collective))
    return isa<mpdfg::NearestOp>(collective)    ? StepKind::Nearest
           : isa<mpdfg::WithinOp>(collective)   ? StepKind::Within
           : isa<mpdfg::TopOp>(collective)      ? StepKind::Top
           : isa<mpdfg::FarthestOp>(collective) ? StepKind::Farthest
                                                : StepKind::Keep;
  if (isa<mpdfg::TransferOp>(collective))
    return llvm::any_of(collective->getUsers(), llvm::IsaPred<mpdfg::AwaitOp>) ? StepKind::Start : StepKind::Transfer;
  return isa<mpdfg::AwaitOp>(collective) ? StepKind::Await : StepKind::AllReduce;
}

std::string cpu::functionName(llvm::StringRef kernel, int level) { return (kernel + "_v" + llvm::Twine(level)).str(); }

llvm::Expected<std::vector<CPUCode>> cpu::generateCode(ModuleOp module, Architecture architecture, ArrayRef<int> levels,
                                                       const CodeOptions &options) {
  loadDialects(module.getContext());
  llvm::DefaultThreadPool pool(llvm::optimal_concurrency(0));
  std::vector<std::optional<Emitted>> emitted(levels.size());
  for (size_t i = 0; i < levels.size(); ++i)
    pool.async([&, i] {
      runOnDeepStack([&] {
        // Without optimisations a short unit takes less time than making LLVM ready for it.
        emitted[i] =
            emitKernels(module, Processor{architecture, levels[i]}, /*together=*/options.wantText || !options.optimise);
      });
    });
  pool.wait();
  if (llvm::any_of(emitted, [](const std::optional<Emitted> &of) { return !of; }))
    return error("internal error in code generation; the diagnostic says where");

  // The longest first, so that no thread is left with one of them in the end.
  Lowering lowering(module.getContext());
  std::vector<std::pair<Unit *, int>> jobs;
  for (auto [level, of] : llvm::zip_equal(levels, emitted))
    for (Unit &unit : of->units)
      jobs.push_back({&unit, level});
  llvm::sort(jobs, [](const auto &a, const auto &b) { return a.first->step.statements > b.first->step.statements; });
  for (auto [unit, level] : jobs)
    pool.async([&lowering, &options, architecture, unit = unit, level = level] {
      runOnDeepStack([&] { makeObject(*unit, lowering, {architecture, level}, options); });
    });
  pool.wait();

  std::vector<CPUCode> code;
  for (auto [level, of] : llvm::zip_equal(levels, emitted)) {
    CPUCode result;
    result.level = level;
    result.kernels = std::move(of->kernels);
    for (Unit &unit : of->units) {
      if (!unit.failure.empty())
        return error(unit.failure);
      result.objects.push_back(std::move(unit.object));
      result.text += unit.text;
      unit.step.target = nameOf(Processor{architecture, level});
      unit.step.depth = 1;
      if (options.timings)
        options.timings->push_back(std::move(unit.step));
    }
    code.push_back(std::move(result));
  }
  return code;
}
