//===- ProgramAttrs.h - What a program tells its users ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes by which a program's functions are bound, and that passes leave on operations. The dialect's
// description says what they mean, and its verifier (ProgramAttrs.cpp) that they say it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPDFG_IR_PROGRAMATTRS_H
#define GNNC_MPDFG_IR_PROGRAMATTRS_H

#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace gnnc {

// On arguments and results of functions.
inline constexpr llvm::StringLiteral kNameAttr = "mpdfg.name"; ///< string: the name users bind by
inline constexpr llvm::StringLiteral kAxesAttr = "mpdfg.axes"; ///< strings: names of the feature axes
// On arguments.
inline constexpr llvm::StringLiteral kRoleAttr = "mpdfg.role"; ///< RoleAttr; see getRole
inline constexpr llvm::StringLiteral kFillAttr = "mpdfg.fill"; ///< f64: what an absent optional input holds
inline constexpr llvm::StringLiteral kSeedAttr = "mpdfg.seed"; ///< unit: the gradient of an output
/// Unit: numbers of elements in the whole graph, written as `element` writes them.
inline constexpr llvm::StringLiteral kNumbersAttr = "mpdfg.numbers";
/// String: the input whose rows of elements of other ranks these are.
inline constexpr llvm::StringLiteral kHaloOfAttr = "mpdfg.halo_of";
// On results.
inline constexpr llvm::StringLiteral kUpdatesAttr = "mpdfg.updates"; ///< ArgumentAttr; see getUpdated
// On modules.
/// Dictionary of strings: what root spaces and maps come from, by name; on an argument a string: what an input comes
/// from (see gnnc/Host/GraphSource.h).
inline constexpr llvm::StringLiteral kSourceAttr = "mpdfg.source";
inline constexpr llvm::StringLiteral kExportedAttr = "mpdfg.exported"; ///< unit: see ModelSpec::exported
inline constexpr llvm::StringLiteral kMetadataAttr = "mpdfg.metadata"; ///< strings: see CompileOptions::metadata
inline constexpr llvm::StringLiteral kPlansAttr = "mpdfg.plans"; ///< JSON: the plans that this one was chosen from
inline constexpr llvm::StringLiteral kUnusedParamsAttr = "mpdfg.unused_params"; ///< names: see ModelSpec::unusedParams
inline constexpr llvm::StringLiteral kSparseAttr = "mpdfg.sparse";              ///< array of SparseInputAttr
/// Dictionary of strings, on programs for ranks that have a part of a graph each: the map that a root space goes along,
/// by space.
inline constexpr llvm::StringLiteral kDistributedAttr = "mpdfg.distributed";

// On operations of functions.
/// Unit, on operations that belong to the backward half although they could run before gradients of outputs are given
/// (they compute a forward value once more, or something that only gradients need), and on kernels made of those.
inline constexpr llvm::StringLiteral kAgainAttr = "mpdfg.again";
/// Unit, on operations whose value is to be in memory although it could be computed where it is read.
inline constexpr llvm::StringLiteral kKeepAttr = "mpdfg.keep";

/// What an argument is to users; nothing where it does not say so.
std::optional<mpdfg::Role> getRole(mlir::FunctionOpInterface function, unsigned argument);
/// The number of the argument that a result replaces; nothing for outputs.
std::optional<unsigned> getUpdated(mlir::FunctionOpInterface function, unsigned result);

// Names of functions.
inline constexpr llvm::StringLiteral kForward = "forward";
inline constexpr llvm::StringLiteral kGradient = "gradient"; ///< what the differentiate pass adds

} // namespace gnnc

#endif // GNNC_MPDFG_IR_PROGRAMATTRS_H
