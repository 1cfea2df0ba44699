//===- KernelBuilder.cpp - The frame of a CPU kernel ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;

KernelBuilder::KernelBuilder(ModuleOp module, StringRef name, StepKind kind, Location loc)
    : b(module.getContext()), location(loc) {
  info.name = name.str();
  info.kind = kind;
  b.setInsertionPointToEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  function = func::FuncOp::create(b, loc, name, b.getFunctionType({pointer, i64, i64, i64, i64}, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  entryEnd = func::ReturnOp::create(b, loc);
  // Code goes between what is loaded at entry and the return: a marker keeps the two apart.
  b.setInsertionPoint(entryEnd);
  entryEnd = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  b.setInsertionPointAfter(entryEnd);
}

Value KernelBuilder::frameField(unsigned field, unsigned slot) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(entryEnd);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value fieldAt = LLVM::GEPOp::create(b, location, pointer, pointer, function.getArgument(0),
                                      ArrayRef<LLVM::GEPArg>{int32_t(field)});
  Value array = LLVM::LoadOp::create(b, location, pointer, fieldAt);
  Value slotAt = LLVM::GEPOp::create(b, location, pointer, pointer, array, ArrayRef<LLVM::GEPArg>{int32_t(slot)});
  return LLVM::LoadOp::create(b, location, pointer, slotAt);
}

Value KernelBuilder::buffer(Value value) {
  if (Value alias = aliases.lookup(value))
    return alias;
  if (Value original = originals.lookup(value))
    value = original;
  auto it = llvm::find(info.buffers, value);
  size_t slot = it - info.buffers.begin();
  if (it == info.buffers.end()) {
    info.buffers.push_back(value);
    bufferPointers.push_back(frameField(0, slot));
  }
  return bufferPointers[slot];
}

void KernelBuilder::declare(Value operand) {
  if (auto degree = operand.getDefiningOp<mpdfg::DegreeOp>())
    index({IndexKind::Pointers, degree.getAlongAttr(), {}});
  else
    buffer(operand);
}

Value KernelBuilder::index(IndexRef ref) {
  auto it = llvm::find(info.indices, ref);
  size_t slot = it - info.indices.begin();
  if (it == info.indices.end()) {
    info.indices.push_back(ref);
    indexPointers.push_back(frameField(1, slot));
  }
  return indexPointers[slot];
}

Value KernelBuilder::partial(Value result, MergeKind kind, int64_t elements, Type element) {
  if (Value original = originals.lookup(result))
    result = original;
  auto it = llvm::find_if(info.merges, [&](const MergeRef &m) { return info.buffers[m.buffer] == result; });
  size_t slot = it - info.merges.begin();
  if (it == info.merges.end()) {
    buffer(result);
    info.merges.push_back({unsigned(llvm::find(info.buffers, result) - info.buffers.begin()), kind, elements});
  }
  Value base = frameField(2, slot);
  return address(base, mul(block(), elements), element);
}

Value KernelBuilder::extent(unsigned space) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(entryEnd);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value fieldAt =
      LLVM::GEPOp::create(b, location, pointer, pointer, function.getArgument(0), ArrayRef<LLVM::GEPArg>{3});
  Value array = LLVM::LoadOp::create(b, location, pointer, fieldAt);
  Value at = LLVM::GEPOp::create(b, location, pointer, b.getI64Type(), array, ArrayRef<LLVM::GEPArg>{int32_t(space)});
  return LLVM::LoadOp::create(b, location, b.getI64Type(), at);
}

Value KernelBuilder::i64(int64_t value) { return arith::ConstantOp::create(b, location, b.getI64IntegerAttr(value)); }
Value KernelBuilder::add(Value x, Value y) { return arith::AddIOp::create(b, location, x, y); }
Value KernelBuilder::mul(Value x, int64_t factor) {
  return factor == 1 ? x : Value(arith::MulIOp::create(b, location, x, i64(factor)));
}

Value KernelBuilder::loadIndex(Value array, Value at) {
  Type i32 = b.getI32Type();
  Value narrow = load(i32, address(array, at, i32), i32);
  return arith::ExtSIOp::create(b, location, b.getI64Type(), narrow);
}

Value KernelBuilder::address(Value base, Value elements, Type element) {
  return LLVM::GEPOp::create(b, location, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{elements});
}

Value KernelBuilder::load(Type type, Value pointer, Type element) {
  return LLVM::LoadOp::create(b, location, type, pointer, element.getIntOrFloatBitWidth() / 8);
}

void KernelBuilder::store(Value value, Value pointer, Type element) {
  LLVM::StoreOp::create(b, location, value, pointer, element.getIntOrFloatBitWidth() / 8);
}

Value KernelBuilder::scratch(int64_t count, Type element) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  Value size = arith::ConstantOp::create(b, location, b.getI64IntegerAttr(count));
  return LLVM::AllocaOp::create(b, location, LLVM::LLVMPointerType::get(b.getContext()), element, size, 64);
}
