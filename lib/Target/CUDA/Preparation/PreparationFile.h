//===- PreparationFile.h - What compiled preparation lies in ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entries one after the other: this header, the release of NVRTC, the bytes of an image. Numbers are those of the
// machine that builds gnnc, which is the one that it is built for. Nothing if there was no NVRTC.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_PREPARATIONFILE_H
#define GNNC_LIB_TARGET_CUDA_PREPARATIONFILE_H

#include <cstdint>

namespace gnnc::cuda {

struct PreparationEntry {
  int64_t architecture;
  int64_t isPTX;
  int64_t versionBytes, imageBytes;
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_PREPARATIONFILE_H
