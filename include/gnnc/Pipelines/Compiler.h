//===- Compiler.h - From a model to an artefact -----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry point of the library: a checked ModelSpec goes in; IR text, an object or a shared object comes out. Nothing
// here prints or exits; errors are one line.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_PIPELINES_COMPILER_H
#define GNNC_PIPELINES_COMPILER_H

#include "gnnc/Frontend/ModelSpec.h"
#include "gnnc/Support/Half.h"
#include "gnnc/Support/Timings.h"
#include "gnnc/Target/CPU/Processor.h"
#include "gnnc/Target/CUDA/ProductArithmetic.h"
#include "gnnc/Target/Package/EmbeddedTensor.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gnnc {

/// What `compile` returns.
enum class EmitKind {
  MPDFG,        ///< `mpdfg` after the simplify phase (or after `compileTo`), as text
  MPK,          ///< `mpk` after the plan-memory phase, as text
  LLVM,         ///< LLVM IR of all variants, as text
  CUDA,         ///< CUDA C++ of all kernels, as text
  PTX,          ///< PTX of all kernels for the first architecture, as text
  Cubin,        ///< machine code of all kernels for the first architecture
  Object,       ///< the model's own relocatable object, without the runtime
  SharedObject, ///< the self-contained model.so
};

/// Which values the backward half of a program finds in memory instead of computing them again.
enum class SaveKind {
  None, ///< nothing but outputs: the forward half is computed once more
  Auto, ///< what is not cheap to compute again: statistics of owners, operands and results of products
  All,  ///< every forward value that it reads, values of edges too
};

struct CompileOptions {
  unsigned optLevel = 2; ///< 0: one kernel for each operation; 1: fused; 2: fused and all rewrites
  EmitKind emit = EmitKind::SharedObject;
  std::string compileTo; ///< a phase name: stop there and return its IR as text; empty: go on
  /// Compute gradients too: for each output y an input `grad.y`, for each parameter and input x an output `grad.x`.
  bool gradient = false;
  /// The outputs that are differentiated: the others have no `grad.y`. Empty: all.
  std::vector<std::string> cotangents;
  SaveKind save = SaveKind::Auto;
  /// Segments that the forward half is divided into: the backward half keeps what crosses from one to the next, and
  /// computes each of them once more, the last to be needed first. 0 and 1: none is.
  unsigned checkpoints = 0;
  /// For several ranks, each of which has a part of the graph (docs/Distributed.md). `along`: the maps that spaces go
  /// along, where it is not the one that would be chosen.
  bool distributed = false;
  std::vector<std::string> along;
  /// Operations that are done a second time rather than one byte more is sent to another rank; unset: the default.
  std::optional<int64_t> operationsPerByte;
  /// Inputs that do not change from call to call: what other ranks have of them is given (`x.halo`), not exchanged.
  std::vector<std::string> fixed;
  /// What inputs, outputs and intermediate tensors with a row for each element of a space are kept as in memory.
  /// Anything other than `AsComputed` requires a model that computes in float32, and computation stays in float32.
  Storage storage = Storage::AsComputed;
  /// Inputs and outputs are stored as they are computed, whatever `storage` says.
  bool wholeInterface = false;
  std::vector<std::string> targets = {"cpu"};               ///< "cpu", "cuda" or both: what the object holds code for
  cpu::Architecture architecture = cpu::hostArchitecture(); ///< of the processors that the object is for
  /// Levels of the architecture to hold code for (Processor.h).
  std::vector<int> cpuLevels = cpu::defaultLevels(cpu::hostArchitecture());
  /// False: LLVM's optimiser is left out, which takes most of a compilation's time, and the code for CPUs takes several
  /// times as long to run. For tests of many models.
  bool optimiseCode = true;
  /// GPU architectures to hold machine code for, as numbers (90 for sm_90); PTX for the first serves later ones.
  std::vector<int> architectures = {80, 90};
  /// What GPUs compute float32 products with.
  cuda::ProductArithmetic products = cuda::ProductArithmetic::TF32x3;
  /// Statements that a generated kernel may have, about, which bounds how long LLVM and NVRTC take. Where fusion would
  /// make a longer one, there are several, with intermediate values in memory. 0: the default (kMostStatements).
  int64_t statements = 0;
  /// Optimisations to leave out, by name; see optionalPasses().
  std::vector<std::string> without;
  /// Called for each decision of an optimisation, applied or declined and why, in one line with its place in the model.
  /// May be empty.
  std::function<void(llvm::StringRef)> onRemark;
  /// Called once with a page (HTML, UTF-8, self-contained) that shows what the compiler did, after the last phase
  /// before code generation; not called by a compilation that ends before. May be empty.
  std::function<void(std::string)> onReport;
  /// Called once when kernels and memory are planned, with the model's description of itself (JSON, as GNNC_MODEL_JSON
  /// has it, without code). An error ends the compilation.
  std::function<llvm::Error(llvm::StringRef description)> onPlanned;
  /// The plans that were compared, for the description (JSON, as ModelInfo's `plans`); empty: none were.
  std::string plans;
  /// Texts that the object's description carries, by name.
  std::map<std::string, std::string> metadata;
  /// Called once before code generation, if the result is an object, with the model's description of itself (JSON, as
  /// of `describe`, without kernels): returns the parameters and states whose values the object is to hold. What is
  /// compiled and cached does not depend on them. May be empty.
  std::function<llvm::Expected<std::vector<EmbeddedTensor>>(llvm::StringRef)> onEmbed;
  /// Called as phases begin, for progress display: (phase name, index, count). May be empty.
  std::function<void(llvm::StringRef, unsigned, unsigned)> onPhase;
  /// Called once, at the end, with what phases and kernels took; of a compilation that fails, up to there. May be
  /// empty.
  std::function<void(const Timings &)> onTimings;
};

/// The phases in order, as accepted by CompileOptions::compileTo.
llvm::ArrayRef<llvm::StringRef> phaseNames();

/// Compiles `model`. The result holds the bytes of the artefact, or text for the textual kinds. The caller may have a
/// small stack: the work, calls of what `options` name included, is done by another thread, which is waited for.
llvm::Expected<std::string> compile(const frontend::ModelSpec &model, const CompileOptions &options);

} // namespace gnnc

#endif // GNNC_PIPELINES_COMPILER_H
