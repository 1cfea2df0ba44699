//===- KernelTexts.h - Kernels that are alike are written once --*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_KERNELTEXTS_H
#define GNNC_LIB_TARGET_CUDA_KERNELTEXTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace gnnc::cuda {

/// What stands for a kernel's name in its text until it is known whether another kernel has that text.
inline constexpr llvm::StringLiteral kNoName = "\1";

/// The kernels' texts of a module. Kernels differ in operands alone if their texts are equal, and are compiled once: a
/// program for training, one for inference and a layer that occurs twice have much in common.
class KernelTexts {
public:
  explicit KernelTexts(llvm::StringRef head) : head(head) {}

  /// Adds a text under `name`, unless it is there. Returns the number and the name that it has. `uses`: numbers of
  /// texts that it needs in its translation unit. Those hold no kernel themselves and may be in several.
  struct Place {
    unsigned number;
    std::string name;
  };
  Place add(llvm::StringRef text, llvm::StringRef name, llvm::ArrayRef<unsigned> uses = {});
  /// A kernel of which a part is there on one architecture alone, for which the units of these parts are compiled
  /// alone: what both parts need, which holds no kernel itself, the part for any architecture, and that for one. They
  /// are there if all three are.
  struct SplitPlace {
    Place any, one;
  };
  SplitPlace addSplit(llvm::StringRef shared, llvm::StringRef any, llvm::StringRef one, llvm::StringRef name);

  /// All texts in the order they were added.
  std::string whole() const;

  /// Several translation units, and in which of them each text is (the last one, if it is in several).
  struct Parts {
    std::vector<std::string> texts;
    std::vector<unsigned> partOf;
  };
  Parts cut() const;

private:
  struct Piece {
    std::string text;
    llvm::SmallVector<unsigned> uses;
    bool isUsed = false, isForOne = false;
  };
  unsigned addPiece(llvm::StringRef text, llvm::StringRef name, llvm::ArrayRef<unsigned> uses, bool isForOne);

  llvm::StringMap<Place> places;
  llvm::StringMap<SplitPlace> splits;
  std::vector<Piece> pieces;
  std::string head;
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_KERNELTEXTS_H
