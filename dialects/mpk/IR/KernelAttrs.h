//===- KernelAttrs.h - What passes decide about kernels ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The discardable attributes by which passes tell targets what they decided. The dialect's description says what they
// mean, and its verifier (KernelAttrs.cpp) that they say it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPK_IR_KERNELATTRS_H
#define GNNC_MPK_IR_KERNELATTRS_H

#include "dialects/mpk/IR/MPK.h"

namespace gnnc::mpk {

/// On kernels: an array with a PlaceAttr for each result; see getPlace.
inline constexpr llvm::StringLiteral kPlacesAttr = "mpk.places";
/// On kernels that are parts of one launch on a GPU and lie side by side: its number, i64. They may run at the same
/// time.
inline constexpr llvm::StringLiteral kLaunchAttr = "mpk.launch";
/// Unit, on a contraction of a sweep's members (in the sweep's body, and before fusion on their space): a matrix
/// product that is made for a few members at a time. Labels are in the order of `x[batch, k] w[batch, k, n] -> [batch,
/// n]`, of `x[m, k] w[k, n] -> [m, n]`, or, where the result is summed over everything, of `x[batch, k] g[batch, n] ->
/// [batch, k, n]`.
inline constexpr llvm::StringLiteral kTileAttr = "mpk.tile";
/// Unit, on a contraction of members with a weight, or an outer product that is summed over everything: so narrow that
/// it stays among the operations on single rows, in the sweeps that need it.
inline constexpr llvm::StringLiteral kSweptAttr = "mpk.swept";
/// On a function that computes what another one does: that one's name. The runtime chooses for each graph.
inline constexpr llvm::StringLiteral kAlternativeAttr = "mpk.alternative";
/// Unit, on mpdfg.element where rows are positions: the number of the member's owner, not of the member.
inline constexpr llvm::StringLiteral kOfOwnerAttr = "mpk.of_owner";

/// Where a value lies by the memory plan; null where it is no result of a kernel, or none has a plan yet.
PlaceAttr getPlace(mlir::Value value);

} // namespace gnnc::mpk

#endif // GNNC_MPK_IR_KERNELATTRS_H
