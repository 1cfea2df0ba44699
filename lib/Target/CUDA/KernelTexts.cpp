//===- KernelTexts.cpp - Kernels that are alike are written once ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTexts.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace gnnc::cuda;

/// A part has at least so many characters: about a third of a second of the run-time compiler's work, ten times what
/// the templates alone take.
static constexpr size_t kPartSize = 6000;
/// Parts of a model: the driver loads each by itself.
static constexpr size_t kMostParts = 12;

unsigned KernelTexts::addPiece(llvm::StringRef text, llvm::StringRef name, llvm::ArrayRef<unsigned> uses,
                               bool isForOne) {
  llvm::SmallVector<llvm::StringRef> split;
  text.split(split, kNoName);
  for (unsigned used : uses)
    pieces[used].isUsed = true;
  pieces.push_back({llvm::join(split, name), llvm::SmallVector<unsigned>(uses), false, isForOne});
  return pieces.size() - 1;
}

KernelTexts::Place KernelTexts::add(llvm::StringRef text, llvm::StringRef name, llvm::ArrayRef<unsigned> uses) {
  auto [known, fresh] = places.try_emplace(text, Place{unsigned(pieces.size()), name.str()});
  if (fresh)
    addPiece(text, name, uses, /*isForOne=*/false);
  return known->second;
}

KernelTexts::SplitPlace KernelTexts::addSplit(llvm::StringRef shared, llvm::StringRef any, llvm::StringRef one,
                                              llvm::StringRef name) {
  auto [known, fresh] = splits.try_emplace((shared + any + one).str());
  if (fresh) {
    unsigned used = addPiece(shared, name, {}, false);
    unsigned forAny = addPiece(any, name, {used}, false);
    known->second = {{forAny, name.str()}, {addPiece(one, name, {used}, true), name.str()}};
  }
  return known->second;
}

std::string KernelTexts::whole() const {
  std::string all = head;
  for (const Piece &piece : pieces)
    all += piece.text;
  return all;
}

KernelTexts::Parts KernelTexts::cut() const {
  Parts parts;
  parts.partOf.resize(pieces.size());
  size_t all = 0;
  for (const Piece &piece : pieces) {
    if (piece.isUsed) // with those who use it, in each of their parts
      continue;
    all += piece.text.size();
    for (unsigned used : piece.uses)
      all += pieces[used].text.size();
  }
  size_t size = std::max(kPartSize, size_t(llvm::divideCeil(all, kMostParts)));
  std::string part;
  llvm::SmallBitVector has(pieces.size());
  auto add = [&](unsigned number) {
    if (has.test(number))
      return;
    has.set(number);
    part += pieces[number].text;
    parts.partOf[number] = parts.texts.size();
  };
  auto finish = [&] {
    if (!part.empty())
      parts.texts.push_back(head + part);
    part.clear();
    has.reset();
  };
  for (bool isForOne : {false, true}) {
    for (auto [number, piece] : llvm::enumerate(pieces)) {
      if (piece.isUsed || piece.isForOne != isForOne)
        continue;
      for (unsigned used : piece.uses)
        add(used);
      add(number);
      if (part.size() >= size)
        finish();
    }
    finish();
  }
  return parts;
}
