//===- NVRTC.h - CUDA C++ to machine code -----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA's run-time compiler. It is loaded when it is first needed; gnnc is built, and works, without it. Results are
// cached by content (ContentCache).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_CUDA_NVRTC_H
#define GNNC_TARGET_CUDA_NVRTC_H

#include "gnnc/Support/Timings.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gnnc::cuda {

/// Machine code for one architecture, or PTX, which the driver compiles for that architecture and later ones.
struct Image {
  int architecture = 0; ///< 90 for sm_90
  bool isPTX = false;
  std::string bytes;
};

/// The number of "sm_90"; an error for anything else.
llvm::Expected<int> parseArchitecture(llvm::StringRef name);

/// A text that includes kernelHeaders(), and what it is to be compiled to.
struct Unit {
  llvm::StringRef text;
  llvm::MutableArrayRef<Image> images;
  std::string name = {}; ///< for timings
};

/// Fills in the images of all units, several at once. `timings` receives a step for each unit and architecture; may be
/// null.
llvm::Error compileImages(llvm::ArrayRef<Unit> units, Timings *timings = nullptr);

/// Whether a run-time compiler can be found on this machine; if not, the error says why.
llvm::Error findCompiler();

/// Its release ("13.0"), or why there is none.
llvm::Expected<std::string> compilerVersion();

} // namespace gnnc::cuda

#endif // GNNC_TARGET_CUDA_NVRTC_H
