//===- Processor.h - Which processors code is for ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An object holds code for one architecture, at one or several levels; the runtime takes the highest that the
// processor has. The compiler generates code for all of them, whichever it runs on. Everything that differs between
// architectures and is known before run time is here; what is asked at run time is in lib/Runtime/Processor.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_CPU_PROCESSOR_H
#define GNNC_TARGET_CPU_PROCESSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Function;
class TargetMachine;
} // namespace llvm

namespace gnnc::cpu {

enum class Architecture { X86_64, AArch64 };

/// Levels of an architecture, as the model's table has them. x86-64: 3 and 4 are x86-64-v3 and -v4, 2 is x86-64-v2,
/// which only tests use. AArch64: the bits that a vector of SVE has at least. 0 is the architecture's baseline: SSE2,
/// NEON.
inline constexpr int kBaseline = 0;
inline constexpr int kScalableVectors = 256;

/// Code at one level of an architecture.
struct Processor {
  Architecture architecture = Architecture::X86_64;
  int level = 4;

  /// Bytes of a vector register, and how many there are.
  int64_t registerBytes() const;
  int64_t registers() const;
  /// Whether part of a register is stored in one instruction.
  bool hasMaskedStores() const;
};

/// Of the machine that this process runs on; the compiler is built for these alone.
Architecture hostArchitecture();

/// "x86-64", "aarch64".
llvm::StringRef nameOf(Architecture architecture);

/// What objects hold code for if nobody says, the best first.
std::vector<int> defaultLevels(Architecture architecture);

/// An error unless the architecture has that level.
llvm::Error checkLevel(Architecture architecture, int level);

/// Clang's name for it: "x86-64-v3", "armv8-a+sve".
std::string nameOf(const Processor &processor);

/// Names that users may write: those that `nameOf` gives, but for the level that the runtime does not ask for; "v4" and
/// "v3" stand for x86-64-v4 and -v3, and "baseline" for the host's.
std::vector<std::string> processorNames();

/// The processor of that name; processorNames() has it.
Processor parseProcessor(llvm::StringRef name);

/// LLVM's target for it. `optimise`: false for code that is generated fast.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const Processor &processor, bool optimise);

/// What functions say of the processor, so that vectors get the registers they are meant for.
void addAttributes(llvm::Function &function, const Processor &processor, const llvm::TargetMachine &machine);

} // namespace gnnc::cpu

#endif // GNNC_TARGET_CPU_PROCESSOR_H
