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
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
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

/// Emits every kernel of @forward into `code`.
FailureOr<SmallVector<EmittedKernel>> emitKernels(ModuleOp module, const CPUTarget &target, ModuleOp code) {
  SmallVector<EmittedKernel> kernels;
  SharedKernels shared;
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &op : function.getBody().front()) {
      if (!mpk::isKernel(&op))
        continue;
      if (std::optional<EmittedKernel> known = shared.find(&op)) {
        kernels.push_back(std::move(*known));
        continue;
      }
      std::string name = "gnnc_kernel" + std::to_string(kernels.size());
      if (auto sweep = dyn_cast<mpk::SweepOp>(op)) {
        FailureOr<EmittedKernel> info = emitSweep(sweep, name, target, code);
        if (failed(info))
          return failure();
        kernels.push_back(std::move(*info));
      } else if (auto product = dyn_cast<mpk::ProductOp>(op)) {
        kernels.push_back(emitProduct(product, name, target, code));
      } else if (auto outer = dyn_cast<mpk::OuterSumOp>(op)) {
        kernels.push_back(emitOuterSum(outer, name, target, code));
      }
      shared.add(&op, kernels.back());
    }
  return kernels;
}

} // namespace

void cpu::loadDialects(MLIRContext *context) {
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                       math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
}

namespace {

LogicalResult lowerToLLVM(ModuleOp code) {
  MLIRContext *context = code.getContext();
  {
    RewritePatternSet patterns(context);
    populateMathPolynomialApproximationPatterns(patterns, MathPolynomialApproximationOptions{});
    if (failed(applyPatternsGreedily(code, std::move(patterns))))
      return failure();
  }
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  LLVMTypeConverter converter(context);
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
  return applyFullConversion(code, target, std::move(patterns));
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(int level, bool optimise) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  if (level != 0)
    triple = llvm::Triple("x86_64-unknown-linux-gnu");
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return error("no code generator for " + triple.str() + " in this LLVM: " + message);
  std::string cpu = level == 0 ? "generic" : "x86-64-v" + std::to_string(level);
  // 512-bit registers are the point of v4.
  std::string features = level == 4 ? "-prefer-256-bit" : "";
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt,
                                  optimise ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
}

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

} // namespace

std::string cpu::functionName(llvm::StringRef kernel, int level) { return (kernel + "_v" + llvm::Twine(level)).str(); }

llvm::Expected<CPUCode> cpu::generateCode(ModuleOp module, int level, CodeOptions options) {
  constexpr llvm::StringLiteral message = "internal error in code generation; the diagnostic says where";
  OwningOpRef<ModuleOp> code = ModuleOp::create(module.getLoc());
  FailureOr<SmallVector<EmittedKernel>> kernels = emitKernels(module, CPUTarget{level}, *code);
  if (failed(kernels))
    return error(message);
  if (failed(lowerToLLVM(*code)))
    return error(message);

  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(*code, llvmContext, "gnnc");
  if (!ir)
    return error(message);
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine = makeTargetMachine(level, options.optimise);
  if (!machine)
    return machine.takeError();
  ir->setTargetTriple((*machine)->getTargetTriple());
  ir->setDataLayout((*machine)->createDataLayout());
  for (llvm::Function &function : *ir) {
    if (function.isDeclaration())
      continue;
    function.setName(functionName(function.getName(), level));
    function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    function.addFnAttr("target-cpu", (*machine)->getTargetCPU());
    if (!(*machine)->getTargetFeatureString().empty())
      function.addFnAttr("target-features", (*machine)->getTargetFeatureString());
    if (level == 4) {
      function.addFnAttr("prefer-vector-width", "512");
      function.addFnAttr("min-legal-vector-width", "512");
    }
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  if (options.optimise)
    optimise(*ir, **machine);
  for (llvm::Function &function : *ir)
    splitCarriedVectors(function, CPUTarget{level}.registerBytes() * 8);

  CPUCode result;
  result.level = level;
  result.kernels = std::move(*kernels);
  if (options.wantText) {
    llvm::raw_string_ostream stream(result.text);
    ir->print(stream, nullptr);
  }
  llvm::SmallVector<char> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return error("this LLVM cannot write object files for the target");
  passes.run(*ir);
  result.object.assign(object.begin(), object.end());
  return result;
}
