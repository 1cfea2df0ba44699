//===- Passes.td - Passes on mpdfg and mpk ----------------------*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TRANSFORMS_PASSES
#define GNNC_TRANSFORMS_PASSES

include "gnnc/Transforms/Passes/Rewrites.td"
include "gnnc/Transforms/Passes/Gradients.td"
include "gnnc/Transforms/Passes/Distribution.td"
include "gnnc/Transforms/Passes/Products.td"
include "gnnc/Transforms/Passes/Fusion.td"
include "gnnc/Transforms/Passes/Memory.td"

#endif // GNNC_TRANSFORMS_PASSES
