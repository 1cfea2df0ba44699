//===- Preparation.h - Kernels that are the same for all models -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels that prepare graphs (preparationSource) take NVRTC seconds. Where it is found while gnnc is built, they
// are compiled then, for the default architectures, and are part of the library.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_CUDA_PREPARATION_H
#define GNNC_TARGET_CUDA_PREPARATION_H

#include "gnnc/Target/CUDA/NVRTC.h"

namespace gnnc::cuda {

/// Fills in images of preparationSource(). Whether all of them were compiled with gnnc, by the release of NVRTC that is
/// found now (compilerVersion); if not, they are left alone.
bool readPreparation(llvm::MutableArrayRef<Image> images);

} // namespace gnnc::cuda

#endif // GNNC_TARGET_CUDA_PREPARATION_H
