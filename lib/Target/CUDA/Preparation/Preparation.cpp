//===- Preparation.cpp - Kernels that are the same for all models ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Target/CUDA/Preparation.h"
#include "Preparation/PreparationFile.h"

#include <cstring>

using namespace gnnc;
using namespace gnnc::cuda;

extern "C" const char gnnc_compiled_preparation[];
extern "C" const char gnnc_compiled_preparation_end[];

bool cuda::readPreparation(llvm::MutableArrayRef<Image> images) {
  llvm::Expected<std::string> version = compilerVersion();
  if (!version) {
    llvm::consumeError(version.takeError());
    return false;
  }
  size_t found = 0;
  llvm::SmallVector<llvm::StringRef> bytes(images.size());
  llvm::StringRef rest(gnnc_compiled_preparation, gnnc_compiled_preparation_end - gnnc_compiled_preparation);
  while (!rest.empty()) {
    PreparationEntry entry;
    std::memcpy(&entry, rest.data(), sizeof(entry));
    rest = rest.drop_front(sizeof(entry));
    llvm::StringRef madeBy = rest.take_front(entry.versionBytes);
    llvm::StringRef image = rest.drop_front(entry.versionBytes).take_front(entry.imageBytes);
    rest = rest.drop_front(entry.versionBytes + entry.imageBytes);
    for (size_t i = 0; i < images.size(); ++i)
      if (madeBy == *version && images[i].architecture == entry.architecture && images[i].isPTX == (entry.isPTX != 0)) {
        bytes[i] = image;
        ++found;
      }
  }
  if (found != images.size())
    return false;
  for (size_t i = 0; i < images.size(); ++i)
    images[i].bytes = bytes[i].str();
  return true;
}
