//===- KernelBuilder.h - The frame of a CPU kernel --------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a function (frame, begin, end, owner, block) as include/gnnc/ModelFormat/ModelTable.h says. This class
// makes the function, and hands out pointers to buffers and index arrays, loaded once at its entry, in the order they
// are asked for.
//
// Buffers may hold narrower numbers than kernels compute with (bf16, f16). The class knows what is behind a pointer, so
// whoever emits code asks for numbers of the computed type everywhere, and loads and stores convert.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_KERNELBUILDER_H
#define GNNC_LIB_TARGET_CPU_KERNELBUILDER_H

#include "gnnc/Target/CPU/Processor.h"
#include "gnnc/Target/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace gnnc::cpu {

class KernelBuilder {
public:
  /// `fixedRounding`: the kernel is one of findDecidingKernels.
  KernelBuilder(mlir::ModuleOp module, llvm::StringRef name, StepKind kind, mlir::Location loc, bool fixedRounding);

  mlir::OpBuilder &builder() { return b; }
  mlir::Location loc() const { return location; }
  /// Whether equal operands must give equal bits wherever an operation is computed: each product and each sum is
  /// rounded by itself, and the numbers of a row are added in one order.
  bool hasFixedRounding() const { return fixedRounding; }
  EmittedKernel takeInfo() { return std::move(info); }
  EmittedKernel &getInfo() { return info; }

  mlir::Value begin() { return first ? first : function.getArgument(1); }
  mlir::Value end() { return last ? last : function.getArgument(2); }
  /// From now on `begin` and `end` are of a part of the block.
  void setRows(mlir::Value begin, mlir::Value end) { first = begin, last = end; }
  mlir::Value owner() { return function.getArgument(3); }
  mlir::Value block() { return function.getArgument(4); }

  /// Pointer to a buffer's first number.
  mlir::Value buffer(mlir::Value value);
  /// Asks for what an operand is read from: its buffer, or a degree's index.
  void declare(mlir::Value operand);
  /// Lets `value` stand for memory that is at hand.
  void setBuffer(mlir::Value value, mlir::Value pointer) { aliases[value] = pointer; }
  /// Lets `value` stand for another one: an operand or result of the operation that a kernel is made of.
  void setStandIn(mlir::Value value, mlir::Value original) { originals[value] = original; }
  bool isAtHand(mlir::Value value) const { return aliases.contains(value); }
  /// From now on rows are positions of the grouping by `along`, not elements of its space, but for memory at hand;
  /// null: elements again.
  void setPositions(mlir::FlatSymbolRefAttr along) { positionsOf = along; }
  mlir::FlatSymbolRefAttr getPositions() const { return positionsOf; }
  /// Where rows are positions, `value` is read at the row that a map gives for the member's owner, not for the member.
  void setThroughOwner(mlir::Value value) { throughOwner.insert(value); }
  bool isThroughOwner(mlir::Value value) const { return throughOwner.contains(value); }
  /// Whether blocks' partial results are there already and added to.
  void setAddsToPartials() { adding = true; }
  bool addsToPartials() const { return adding; }
  /// Pointer to an index array (int32).
  mlir::Value index(IndexRef ref);
  /// Pointer to this block's partial result that is merged into `result` afterwards.
  mlir::Value partial(mlir::Value result, MergeKind kind, int64_t elements, mlir::Type element);
  /// Extent of the space with that number in the table, i64.
  mlir::Value extent(unsigned space);

  // Code at the current insertion point.
  mlir::Value i64(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t factor);
  mlir::Value loadIndex(mlir::Value array, mlir::Value at); ///< i64 from int32
  /// `elements` numbers after `base`, which holds `element` or what is narrower.
  mlir::Value address(mlir::Value base, mlir::Value elements, mlir::Type element);
  mlir::Value load(mlir::Type type, mlir::Value pointer, mlir::Type element);
  void store(mlir::Value value, mlir::Value pointer, mlir::Type element);
  /// Memory that the kernel works in, aligned to 64 bytes: on the stack as long as all of it together is small, else
  /// the block's own in the workspace. Threads that call a model may have little stack.
  mlir::Value scratch(int64_t count, mlir::Type element);
  /// What memory holds for numbers that are computed with as `element`.
  mlir::Type heldAt(mlir::Value pointer, mlir::Type element) const;
  /// Says that a pointer made elsewhere, such as a choice of two, leads to numbers of this type.
  void setHeld(mlir::Value pointer, mlir::Type held);

private:
  mlir::Value frameField(unsigned field, unsigned slot);
  mlir::Value blockMemory();
  mlir::Value widen(mlir::Value stored, mlir::Type held, mlir::Type type);
  mlir::Value narrow(mlir::Value value, mlir::Type held);

  mlir::OpBuilder b;
  mlir::Location location;
  mlir::func::FuncOp function;
  mlir::Operation *entryEnd; ///< entry code is inserted before this
  EmittedKernel info;
  bool fixedRounding;
  llvm::SmallVector<mlir::Value> bufferPointers, indexPointers;
  llvm::DenseMap<mlir::Value, mlir::Value> aliases, originals;
  llvm::DenseMap<mlir::Value, mlir::Type> narrowHeld; ///< pointer -> bf16 or f16
  llvm::DenseSet<mlir::Value> throughOwner;
  mlir::FlatSymbolRefAttr positionsOf;
  bool adding = false;
  int64_t stackBytes = 0;
  mlir::Value blockStart; ///< of this block's memory in the workspace; null: not asked for
  mlir::Value first, last;
};

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_KERNELBUILDER_H
