//===- TileSweepPrinter.h - Sweeps that multiply their members --*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_TILESWEEPPRINTER_H
#define GNNC_LIB_TARGET_CUDA_TILESWEEPPRINTER_H

#include "Body/BodyPrinter.h"
#include "gnnc/Target/CUDA/CUDABackend.h"

namespace gnnc::cuda {

/// Prints a sweep that has products in tiles (mpk.tile) for Kernels/TileSweep.cuh. Nothing, and nothing printed, where
/// it has none or the kernels cannot do it: any sweep can be printed as one without tiles, which multiplies member by
/// member.
std::optional<DeviceStep> printTileSweep(mpk::SweepOp sweep, llvm::StringRef name, const PrintOptions &options,
                                         CodeWriter &out);

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_TILESWEEPPRINTER_H
