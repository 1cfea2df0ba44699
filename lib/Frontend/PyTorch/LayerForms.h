//===- LayerForms.h - Blocks that are calls of one layer --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_LAYERFORMS_H
#define GNNC_LIB_FRONTEND_PYTORCH_LAYERFORMS_H

#include "PyTorch/Outline.h"

namespace gnnc::frontend::pytorch {

/// Fills in `layers`, and of the blocks `axes`, `anySpace` and `layer`.
void findLayers(const RecoveredProgram &program, Outline &outline);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_LAYERFORMS_H
