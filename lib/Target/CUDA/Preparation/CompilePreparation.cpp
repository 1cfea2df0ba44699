//===- CompilePreparation.cpp - Preparation of graphs, while gnnc is built ===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of the build: writes the file that Preparation.cpp reads, an empty one where NVRTC is not found.
//
//===----------------------------------------------------------------------===//

#include "Preparation/PreparationFile.h"
#include "gnnc/Support/OutputFile.h"
#include "gnnc/Target/CUDA/CUDABackend.h"
#include "gnnc/Target/CUDA/NVRTC.h"
#include "llvm/Support/raw_ostream.h"

using namespace gnnc;
using namespace gnnc::cuda;

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: gnnc-compile-preparation FILE\n";
    return 2;
  }
  std::string bytes;
  llvm::Expected<std::string> version = compilerVersion();
  if (!version) {
    llvm::consumeError(version.takeError());
  } else {
    // As with the default of `gnnc compile --arch`; PTX is for the least of the architectures that are asked for.
    std::vector<Image> images;
    for (int architecture : {80, 90})
      for (bool isPTX : {false, true})
        images.push_back({architecture, isPTX, {}});
    if (llvm::Error error = compileImages(Unit{preparationSource(), images})) {
      llvm::errs() << "gnnc-compile-preparation: error: " << llvm::toString(std::move(error)) << "\n";
      return 1;
    }
    for (const Image &image : images) {
      PreparationEntry entry{image.architecture, image.isPTX, int64_t(version->size()), int64_t(image.bytes.size())};
      bytes.append(reinterpret_cast<const char *>(&entry), sizeof(entry));
      bytes += *version + image.bytes;
    }
  }
  if (llvm::Error error = writeOutputFile(argv[1], bytes)) {
    llvm::errs() << "gnnc-compile-preparation: error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
