//===- KernelTexts.h - Kernels that are alike are written once --*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_KERNELTEXTS_H
#define GNNC_LIB_TARGET_CUDA_KERNELTEXTS_H

#include "llvm/ADT/StringMap.h"

#include <string>

namespace gnnc::cuda {

/// What stands for a kernel's name in its text until it is known whether another kernel has that text.
inline constexpr llvm::StringLiteral kNoName = "\1";

/// The translation unit of a module. Kernels differ in operands alone if their texts are equal, and are compiled once:
/// a program for training, one for inference and a layer that occurs twice have much in common.
class KernelTexts {
public:
  explicit KernelTexts(llvm::StringRef head) : all(head) {}

  /// Adds a text under `name`, unless it is there. Returns the name it has.
  std::string add(llvm::StringRef text, llvm::StringRef name);
  std::string take() { return std::move(all); }

private:
  llvm::StringMap<std::string> names;
  std::string all;
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_KERNELTEXTS_H
