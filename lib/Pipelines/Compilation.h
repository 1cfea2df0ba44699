//===- Compilation.h - One model on its way to an artefact ------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// import -> phases -> emit -> package. What may stop on the way (--compile-to, --emit of a text) stops between these.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_PIPELINES_COMPILATION_H
#define GNNC_LIB_PIPELINES_COMPILATION_H

#include "DiagnosticLog.h"
#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Pipelines/PhaseRunner.h"
#include "gnnc/Report/Report.h"
#include "gnnc/Target/CPU/CPUBackend.h"
#include "gnnc/Target/CUDA/CUDABackend.h"
#include "gnnc/Target/Package/Package.h"

namespace gnnc {

inline constexpr llvm::StringLiteral kImport = "import", kCodegen = "codegen", kPackage = "package";

/// What is wrong with options, before anything is compiled.
llvm::Error checkOptions(const frontend::ModelSpec &model, const CompileOptions &options);

class Compilation {
public:
  /// Both outlive it; `options` are right (checkOptions).
  Compilation(const frontend::ModelSpec &model, const CompileOptions &options);
  llvm::Expected<std::string> run();

private:
  llvm::Expected<std::string> runStages();
  // The stages, in order.
  llvm::Error checkCotangents() const;
  llvm::Error checkDistributed() const;
  llvm::Error importModel();
  llvm::Error runPhases();
  llvm::Error makeReport();
  llvm::Error embed();
  llvm::Expected<std::string> emitKernelText();
  llvm::Error emitDeviceCode();
  llvm::Error emitCPUCode(bool wantText);
  llvm::Expected<std::string> package();

  // Answers of the options.
  bool isFor(llvm::StringRef target) const { return llvm::is_contained(options.targets, target); }
  bool wantsKernelText() const; ///< CUDA, PTX or cubin
  bool wantsLLVMText() const { return options.emit == EmitKind::LLVM || options.compileTo == kCodegen; }
  llvm::StringRef lastPhase() const; ///< after which the IR is the result; empty: none
  cuda::PrintOptions printOptions() const {
    return cuda::PrintOptions::forArchitectures(options.products, options.architectures);
  }
  PhaseOptions phaseOptions() const;

  void begin(llvm::StringRef phase); ///< for the progress display and the timings
  void end();                        ///< the phase that has begun
  void addAlternatives();
  llvm::Expected<cuda::CUDASource> printKernels();

  const frontend::ModelSpec &model;
  const CompileOptions &options;
  std::vector<int> levels; ///< of processors, the best first
  mlir::MLIRContext context;
  ReportBuilder report;
  DiagnosticLog diagnostics;
  std::optional<PhaseRunner> phases;
  mlir::OwningOpRef<mlir::ModuleOp> imported; ///< for alternatives; null: there are none
  mlir::ModuleOp module;                      ///< what `phases` works on
  std::string text;                           ///< the result, if it is IR
  std::vector<cpu::CPUCode> code;             ///< by level
  DeviceCode device;
  std::vector<EmbeddedTensor> embedded;
  Timings timings;
  size_t phase = 0;               ///< of the timings, since `meter` was made
  std::optional<TimeMeter> meter; ///< empty: no phase has begun
};

} // namespace gnnc

#endif // GNNC_LIB_PIPELINES_COMPILATION_H
