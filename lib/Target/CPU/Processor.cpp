//===- Processor.cpp - Which processors code is for -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Target/CPU/Processor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace gnnc;
using namespace gnnc::cpu;

// llvm/Support/TargetSelect.h would declare, and link, all of LLVM's targets.
#define GNNC_TARGET(NAME)                                                                                              \
  extern "C" void LLVMInitialize##NAME##TargetInfo();                                                                  \
  extern "C" void LLVMInitialize##NAME##Target();                                                                      \
  extern "C" void LLVMInitialize##NAME##TargetMC();                                                                    \
  extern "C" void LLVMInitialize##NAME##AsmPrinter();                                                                  \
  static void initialize##NAME() {                                                                                     \
    LLVMInitialize##NAME##TargetInfo();                                                                                \
    LLVMInitialize##NAME##Target();                                                                                    \
    LLVMInitialize##NAME##TargetMC();                                                                                  \
    LLVMInitialize##NAME##AsmPrinter();                                                                                \
  }
GNNC_TARGET(X86)
GNNC_TARGET(AArch64)
#undef GNNC_TARGET

namespace {

/// One row for each architecture and level.
struct Row {
  Architecture architecture;
  int level;
  const char *name; ///< clang's
  const char *processor, *features;
  int64_t registerBytes, registers;
  bool hasMaskedStores;
};

constexpr Row rows[] = {
    // 512-bit registers are the point of v4.
    {Architecture::X86_64, 4, "x86-64-v4", "x86-64-v4", "-prefer-256-bit", 64, 32, true},
    {Architecture::X86_64, 3, "x86-64-v3", "x86-64-v3", "", 32, 16, false},
    {Architecture::X86_64, 2, "x86-64-v2", "x86-64-v2", "", 16, 16, false},
    {Architecture::X86_64, kBaseline, "x86-64", "x86-64", "", 16, 16, false},
    {Architecture::AArch64, kScalableVectors, "armv8-a+sve", "generic", "+sve", 32, 32, true},
    {Architecture::AArch64, kBaseline, "armv8-a", "generic", "", 16, 32, false},
};

const Row *find(Architecture architecture, int level) {
  for (const Row &row : rows)
    if (row.architecture == architecture && row.level == level)
      return &row;
  return nullptr;
}

const Row &rowOf(const Processor &processor) {
  const Row *row = find(processor.architecture, processor.level);
  assert(row && "checkLevel comes first");
  return *row;
}

} // namespace

int64_t Processor::registerBytes() const { return rowOf(*this).registerBytes; }
int64_t Processor::registers() const { return rowOf(*this).registers; }
bool Processor::hasMaskedStores() const { return rowOf(*this).hasMaskedStores; }

Architecture cpu::hostArchitecture() {
#if defined(__aarch64__)
  return Architecture::AArch64;
#else
  return Architecture::X86_64;
#endif
}

llvm::StringRef cpu::nameOf(Architecture architecture) {
  return architecture == Architecture::AArch64 ? "aarch64" : "x86-64";
}

std::vector<int> cpu::defaultLevels(Architecture architecture) {
  if (architecture == Architecture::AArch64)
    return {kScalableVectors, kBaseline};
  return {4, 3};
}

llvm::Error cpu::checkLevel(Architecture architecture, int level) {
  if (find(architecture, level))
    return llvm::Error::success();
  std::vector<std::string> levels;
  for (const Row &row : rows)
    if (row.architecture == architecture)
      levels.push_back(std::to_string(row.level));
  return llvm::createStringError("expected a processor level of " + nameOf(architecture) + " (" +
                                 llvm::join(levels, ", ") + "), found " + llvm::Twine(level));
}

std::string cpu::nameOf(const Processor &processor) { return rowOf(processor).name; }

std::vector<std::string> cpu::processorNames() {
  std::vector<std::string> names;
  for (const Row &row : rows)
    if (row.level != 2)
      names.push_back(row.name);
  llvm::append_values(names, "v4", "v3", "baseline");
  return names;
}

Processor cpu::parseProcessor(llvm::StringRef name) {
  if (name == "baseline")
    return {hostArchitecture(), kBaseline};
  for (const Row &row : rows)
    if (name == row.name || name == llvm::StringRef(row.name).rsplit('-').second)
      return {row.architecture, row.level};
  llvm_unreachable("no name of a processor");
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> cpu::createTargetMachine(const Processor &processor,
                                                                              bool optimise) {
  static std::once_flag once;
  std::call_once(once, [] {
    initializeX86();
    initializeAArch64();
  });
  const Row &row = rowOf(processor);
  llvm::Triple triple(processor.architecture == Architecture::AArch64 ? "aarch64-unknown-linux-gnu"
                                                                      : "x86_64-unknown-linux-gnu");
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError("no code generator for " + nameOf(processor.architecture) +
                                   " in this LLVM: " + message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard; // What has leave to be contracted, and nothing else.
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, row.processor, row.features, options, llvm::Reloc::PIC_, std::nullopt,
                                  optimise ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::Less));
}

void cpu::addAttributes(llvm::Function &function, const Processor &processor, const llvm::TargetMachine &machine) {
  function.addFnAttr("target-cpu", machine.getTargetCPU());
  if (!machine.getTargetFeatureString().empty())
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  if (processor.architecture == Architecture::X86_64 && processor.level == 4) {
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("min-legal-vector-width", "512");
  }
  // Vectors of a fixed length are computed in registers of SVE if these are known to be as long. They may be longer.
  if (processor.level == kScalableVectors) {
    llvm::Attribute range =
        llvm::Attribute::getWithVScaleRangeArgs(function.getContext(), kScalableVectors / 128, 2048 / 128);
    function.addFnAttr(range);
  }
}
