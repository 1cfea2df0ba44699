//===- MPDFG.h - The mpdfg dialect ------------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPDFG_IR_MPDFG_H
#define GNNC_MPDFG_IR_MPDFG_H

#include "gnnc/Support/RefTensor.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
} // namespace mlir

namespace gnnc::mpdfg {

/// Whether values may have this type: a ranked tensor of f32, f64, or what is only stored (bf16, f16), shared and
/// static or on a space.
bool isValueType(mlir::Type type);

/// See MPDFG_RowFunction.
template <typename ConcreteType> class RowFunction : public mlir::OpTrait::TraitBase<ConcreteType, RowFunction> {};

} // namespace gnnc::mpdfg

#include "dialects/mpdfg/IR/MPDFGDialect.h.inc"
#include "dialects/mpdfg/IR/MPDFGEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/mpdfg/IR/MPDFGAttrs.h.inc"
#include "dialects/mpdfg/Interfaces/MPDFGInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/mpdfg/IR/MPDFGOps.h.inc"

namespace gnnc::mpdfg {

/// Name of the implicit map from every space to shared.
inline constexpr llvm::StringLiteral kAllMap = "all";

/// Whether a reduction follows from the largest number and the sum of exp of the differences to it.
inline bool isStatistic(ReduceKind kind) {
  return kind == ReduceKind::LogSumExp || kind == ReduceKind::SoftmaxShift || kind == ReduceKind::SoftmaxScale;
}

/// The space a tensor type resides on; null for shared (and for the element tensors of kernel bodies).
mlir::FlatSymbolRefAttr getResidency(mlir::Type type);

/// The feature axes of a tensor type: its shape without the row dimension.
llvm::ArrayRef<int64_t> getFeatureShape(mlir::Type type);
int64_t getFeatureElements(mlir::Type type);

/// `features` of `element` for each element of `space` (shared where `space` is null). `extent` is the static extent,
/// or ShapedType::kDynamic.
mlir::RankedTensorType getTensorOn(mlir::FlatSymbolRefAttr space, int64_t extent, llvm::ArrayRef<int64_t> features,
                                   mlir::Type element);

/// Whether numbers of this type are only kept in memory, by kernels: bf16 and f16.
bool isStorageOnly(mlir::Type element);

/// What numbers of this type are computed with: f32 for bf16 and f16, else the type itself.
mlir::Type getComputedType(mlir::Type element);

/// The type of one row as it is computed with: feature axes only, no residency.
mlir::RankedTensorType getElementType(mlir::Type type);

/// Shared values above this many numbers are computed once and kept, not once in each block of each kernel.
constexpr int64_t kLargeShared = 1024;

/// Whether the operation, in a function, only views its (first) operand's memory, maybe as another type: spread,
/// collect, await, and a reshape of a shared value that is large enough to be in memory anyway.
bool isView(mlir::Operation *op);
/// What is behind views: the value that has memory of its own.
mlir::Value getViewed(mlir::Value value);

/// The broadcast that moves a value here along a declared map; null for other values and for `@all`.
BroadcastOp getMove(mlir::Value value);

/// What a value is a change of shape of, or itself.
mlir::Value skipReshapes(mlir::Value value);

/// One number of an elementwise function, as the interpreter and constant folding compute it.
double applyUnary(UnaryKind kind, double x, double alpha);
double applyBinary(BinaryKind kind, double a, double b);

} // namespace gnnc::mpdfg

#endif // GNNC_MPDFG_IR_MPDFG_H
