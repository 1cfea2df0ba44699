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
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;

/// Of all rows together that a kernel keeps on the stack.
static constexpr int64_t kMostStackBytes = 256 << 10;

KernelBuilder::KernelBuilder(ModuleOp module, StringRef name, StepKind kind, Location loc, bool fixedRounding)
    : b(module.getContext()), location(loc), fixedRounding(fixedRounding) {
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
    setHeld(bufferPointers.back(), cast<RankedTensorType>(value.getType()).getElementType());
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
  Type held = heldAt(base, element);
  Value pointer = LLVM::GEPOp::create(b, location, base.getType(), held, base, ArrayRef<LLVM::GEPArg>{elements});
  setHeld(pointer, held);
  return pointer;
}

Type KernelBuilder::heldAt(Value pointer, Type element) const {
  Type held = narrowHeld.lookup(pointer);
  return held ? held : element;
}

void KernelBuilder::setHeld(Value pointer, Type held) {
  if (mpdfg::isStorageOnly(held))
    narrowHeld[pointer] = held;
}

/// `type` with other elements: of a number or a vector.
static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

static Value constantLike(OpBuilder &b, Location loc, Type type, int64_t number) {
  auto vector = dyn_cast<VectorType>(type);
  IntegerAttr one = b.getIntegerAttr(getElementTypeOrSelf(type), number);
  return arith::ConstantOp::create(b, loc, vector ? TypedAttr(DenseElementsAttr::get(vector, one)) : TypedAttr(one));
}

/// A bf16 is the upper half of a float32.
Value KernelBuilder::widen(Value stored, Type held, Type type) {
  if (held.isF16())
    return arith::ExtFOp::create(b, location, type, stored);
  Type words = withElement(type, b.getI32Type());
  Value word = arith::ExtUIOp::create(b, location, words, stored);
  word = arith::ShLIOp::create(b, location, word, constantLike(b, location, words, 16));
  return arith::BitcastOp::create(b, location, type, word);
}

/// To the nearest, ties to even. Written out for bf16: most processors have no instruction for it, and LLVM would call
/// a function that no library of the object has.
Value KernelBuilder::narrow(Value value, Type held) {
  Type type = value.getType();
  if (held.isF16())
    return arith::TruncFOp::create(b, location, withElement(type, held), value);
  Type words = withElement(type, b.getI32Type());
  auto number = [&](int64_t n) { return constantLike(b, location, words, n); };
  Value bits = arith::BitcastOp::create(b, location, words, value);
  Value upper = arith::ShRUIOp::create(b, location, bits, number(16));
  Value odd = arith::AndIOp::create(b, location, upper, number(1));
  Value half = arith::AddIOp::create(b, location, odd, number(0x7fff));
  Value rounded = arith::ShRUIOp::create(b, location, arith::AddIOp::create(b, location, bits, half), number(16));
  // Not-a-number must not round to infinity.
  Value quiet = arith::OrIOp::create(b, location, upper, number(0x40));
  Value isNaN = arith::CmpFOp::create(b, location, arith::CmpFPredicate::UNO, value, value);
  Value chosen = arith::SelectOp::create(b, location, isNaN, quiet, rounded);
  return arith::TruncIOp::create(b, location, withElement(type, b.getI16Type()), chosen);
}

/// Lanes that are moved with a mask: those after the last whole register of a vector, where they are no power of two,
/// which would be moved in pieces.
static int64_t maskedLanes(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return 0;
  int64_t lanes = 512 / vector.getElementTypeBitWidth(), rest = vector.getNumElements() % lanes;
  return llvm::isPowerOf2_64(rest) ? 0 : rest;
}

/// The first `count` of as many lanes as the next power of two.
static Value laneMask(OpBuilder &b, Location loc, int64_t count) {
  SmallVector<bool> lanes(llvm::PowerOf2Ceil(count), false);
  std::fill_n(lanes.begin(), count, true);
  auto type = VectorType::get({int64_t(lanes.size())}, b.getI1Type());
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, lanes));
}

static SmallVector<int64_t> lanesFrom(int64_t first, int64_t count) {
  SmallVector<int64_t> lanes(count);
  std::iota(lanes.begin(), lanes.end(), first);
  return lanes;
}

Value KernelBuilder::load(Type type, Value pointer, Type element) {
  if (Type held = heldAt(pointer, element); held != element) {
    Type stored = withElement(type, held.isF16() ? held : Type(b.getI16Type()));
    return widen(LLVM::LoadOp::create(b, location, stored, pointer, 2), held, type);
  }
  int64_t masked = maskedLanes(type), bytes = element.getIntOrFloatBitWidth() / 8;
  if (masked == 0)
    return LLVM::LoadOp::create(b, location, type, pointer, bytes);
  auto vector = cast<VectorType>(type);
  int64_t whole = vector.getNumElements() - masked;
  Value mask = laneMask(b, location, masked);
  auto wide = vector.cloneWith(cast<VectorType>(mask.getType()).getShape(), element);
  Value none = arith::ConstantOp::create(b, location, b.getZeroAttr(wide));
  Value rest = LLVM::MaskedLoadOp::create(b, location, wide, address(pointer, i64(whole), element), mask, none, bytes);
  rest = vector::ShuffleOp::create(b, location, rest, rest, lanesFrom(0, masked));
  if (whole == 0)
    return rest;
  Value first = LLVM::LoadOp::create(b, location, vector.cloneWith({whole}, element), pointer, bytes);
  return vector::ShuffleOp::create(b, location, first, rest, lanesFrom(0, whole + masked));
}

void KernelBuilder::store(Value value, Value pointer, Type element) {
  if (Type held = heldAt(pointer, element); held != element) {
    LLVM::StoreOp::create(b, location, narrow(value, held), pointer, 2);
    return;
  }
  int64_t masked = maskedLanes(value.getType()), bytes = element.getIntOrFloatBitWidth() / 8;
  if (masked == 0) {
    LLVM::StoreOp::create(b, location, value, pointer, bytes);
    return;
  }
  int64_t whole = cast<VectorType>(value.getType()).getNumElements() - masked;
  if (whole > 0)
    LLVM::StoreOp::create(b, location, vector::ShuffleOp::create(b, location, value, value, lanesFrom(0, whole)),
                          pointer, bytes);
  Value mask = laneMask(b, location, masked);
  SmallVector<int64_t> lanes = lanesFrom(whole, masked);
  lanes.resize(cast<VectorType>(mask.getType()).getNumElements(), vector::ShuffleOp::kPoisonIndex); // Not written.
  Value rest = vector::ShuffleOp::create(b, location, value, value, lanes);
  LLVM::MaskedStoreOp::create(b, location, rest, address(pointer, i64(whole), element), mask, bytes);
}

/// Where this block's memory in the workspace begins.
Value KernelBuilder::blockMemory() {
  if (blockStart)
    return blockStart;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(entryEnd);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto field = [&](int32_t number, Type type) -> Value {
    Value at =
        LLVM::GEPOp::create(b, location, pointer, pointer, function.getArgument(0), ArrayRef<LLVM::GEPArg>{number});
    return LLVM::LoadOp::create(b, location, type, at);
  };
  Value memory = field(4, pointer), bytes = field(5, b.getI64Type());
  Value offset = arith::MulIOp::create(b, location, block(), bytes);
  return blockStart = LLVM::GEPOp::create(b, location, pointer, b.getI8Type(), memory, ArrayRef<LLVM::GEPArg>{offset});
}

Value KernelBuilder::scratch(int64_t count, Type element) {
  constexpr int64_t kAlignment = 64;
  int64_t bytes = llvm::alignTo(count * element.getIntOrFloatBitWidth() / 8, kAlignment);
  OpBuilder::InsertionGuard guard(b);
  Value memory;
  if (stackBytes + bytes <= kMostStackBytes) {
    stackBytes += bytes;
    b.setInsertionPointToStart(&function.getBody().front());
    Value size = arith::ConstantOp::create(b, location, b.getI64IntegerAttr(count));
    memory = LLVM::AllocaOp::create(b, location, LLVM::LLVMPointerType::get(b.getContext()), element, size, kAlignment);
  } else {
    Value start = blockMemory();
    b.setInsertionPoint(entryEnd);
    Value offset = arith::ConstantOp::create(b, location, b.getI64IntegerAttr(info.blockBytes));
    memory = LLVM::GEPOp::create(b, location, start.getType(), b.getI8Type(), start, ArrayRef<LLVM::GEPArg>{offset});
    info.blockBytes += bytes;
  }
  setHeld(memory, element);
  return memory;
}
