//===- CarriedVectors.cpp - Vectors of any length in registers ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions are selected block by block. Between blocks a vector whose number of lanes is no power of two goes
// number by number: a sum of 48 features that a loop carries takes 48 scalar registers, which there are not. Within a
// block its last lanes go through stack memory where they are cut off. So such vectors are cut here, where they have
// 512 bits:
//
//   <50 x float>  ->  three of <16 x float> and one of <2 x float>
//
// The last piece has as many lanes as the next power of two; those beyond the vector's end hold anything. What works on
// each lane by itself is done on pieces, and so are phis, loads, and shuffles that move whole pieces or repeat a
// number. For other users a vector is joined, and what they make is cut, where it is made.
//
//===----------------------------------------------------------------------===//

#include "CarriedVectors.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace llvm;

namespace {

using Pieces = SmallVector<Value *, 8>;

bool isOdd(Type *type) {
  auto vector = dyn_cast<FixedVectorType>(type);
  return vector && !isPowerOf2_32(vector->getNumElements());
}

unsigned lanesOf(Value *value) { return cast<FixedVectorType>(value->getType())->getNumElements(); }

/// The vector that shuffles take a lane from, and its lane there; null: none.
std::pair<Value *, int> sourceOf(Value *vector, int lane) {
  while (auto *shuffle = dyn_cast<ShuffleVectorInst>(vector)) {
    lane = shuffle->getMaskValue(lane);
    int width = lanesOf(shuffle->getOperand(0));
    if (lane < 0)
      return {nullptr, 0};
    vector = shuffle->getOperand(lane >= width);
    lane -= lane >= width ? width : 0;
  }
  return isa<PoisonValue>(vector) ? std::pair<Value *, int>(nullptr, 0) : std::pair(vector, lane);
}

class VectorCutter {
public:
  VectorCutter(Function &function, unsigned registerBits) : function(function), lanes(registerBits / 32) {}

  void run();

private:
  /// Lanes of a piece.
  struct Piece {
    unsigned first, count;
  };
  SmallVector<Piece> piecesOf(unsigned count) const;
  SmallVector<Piece> piecesOf(Type *type) const { return piecesOf(cast<FixedVectorType>(type)->getNumElements()); }

  Pieces cut(Value *value);
  Pieces cutConstant(Constant *constant);
  Pieces cutAfter(Value *value);
  bool cutInstruction(Instruction *instruction);
  bool cutElementwise(Instruction *instruction);
  bool cutLoad(LoadInst *load);
  bool cutStore(StoreInst *store);
  bool cutInsert(InsertElementInst *insert);
  bool cutShuffle(ShuffleVectorInst *shuffle);
  bool takePiece(ShuffleVectorInst *shuffle);
  bool takeNumber(ExtractElementInst *extract);
  Value *pieceOf(IRBuilder<> &builder, Value *from, int first, unsigned count);
  Value *numberAt(IRBuilder<> &builder, Value *from, unsigned lane);
  Value *join(IRBuilder<> &builder, const Pieces &pieces, FixedVectorType *type);
  void joinWhereUsed(Instruction *instruction);

  Function &function;
  unsigned lanes; ///< of a piece
  DenseMap<Value *, Pieces> known;
  DenseMap<Value *, bool> isDone; ///< of what is computed on pieces
};

} // namespace

/// Whole registers, then the least power of two that holds the rest.
SmallVector<VectorCutter::Piece> VectorCutter::piecesOf(unsigned count) const {
  SmallVector<Piece> pieces;
  unsigned first = 0;
  for (; first + lanes <= count; first += lanes)
    pieces.push_back({first, lanes});
  if (first < count)
    pieces.push_back({first, unsigned(PowerOf2Ceil(count - first))});
  return pieces;
}

Pieces VectorCutter::cutConstant(Constant *constant) {
  unsigned count = lanesOf(constant);
  Constant *unused = PoisonValue::get(constant->getType()->getScalarType());
  // What is the same everywhere stays so: code for the last piece knows it, too.
  if (Constant *same = constant->getSplatValue())
    unused = same;
  Pieces pieces;
  for (const Piece &piece : piecesOf(constant->getType())) {
    SmallVector<Constant *, 16> numbers;
    for (unsigned lane = piece.first; lane < piece.first + piece.count; ++lane) {
      Constant *number = lane < count ? constant->getAggregateElement(lane) : unused;
      if (!number)
        return {};
      numbers.push_back(number);
    }
    pieces.push_back(ConstantVector::get(numbers));
  }
  return pieces;
}

/// Pieces of what cannot be made in pieces.
Pieces VectorCutter::cutAfter(Value *value) {
  IRBuilder<> builder(function.getContext());
  if (auto *instruction = dyn_cast<Instruction>(value))
    builder.SetInsertPoint(*instruction->getInsertionPointAfterDef());
  else
    builder.SetInsertPoint(&*function.getEntryBlock().getFirstInsertionPt());
  Pieces pieces;
  for (const Piece &piece : piecesOf(value->getType())) {
    SmallVector<int, 16> mask;
    for (unsigned lane = piece.first; lane < piece.first + piece.count; ++lane)
      mask.push_back(lane < lanesOf(value) ? int(lane) : -1);
    pieces.push_back(builder.CreateShuffleVector(value, mask));
  }
  return pieces;
}

Pieces VectorCutter::cut(Value *value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Pieces pieces;
  if (auto *constant = dyn_cast<Constant>(value))
    pieces = cutConstant(constant);
  if (pieces.empty())
    pieces = cutAfter(value);
  return known[value] = pieces;
}

Value *VectorCutter::join(IRBuilder<> &builder, const Pieces &pieces, FixedVectorType *type) {
  auto *padded = FixedVectorType::get(type->getElementType(), PowerOf2Ceil(type->getNumElements()));
  Value *wide = PoisonValue::get(padded);
  for (auto [value, piece] : zip(pieces, piecesOf(type)))
    wide = value->getType() == padded ? value : builder.CreateInsertVector(padded, wide, value, uint64_t(piece.first));
  return builder.CreateExtractVector(type, wide, uint64_t(0));
}

/// `count` lanes of a vector from `first` on, which is a multiple of that; null if they are not all there.
Value *VectorCutter::pieceOf(IRBuilder<> &builder, Value *from, int first, unsigned count) {
  if (first < 0 || first % count != 0)
    return nullptr;
  if (isOdd(from->getType())) {
    for (auto [value, piece] : zip(cut(from), piecesOf(from->getType())))
      if (int(piece.first) <= first && first + count <= piece.first + piece.count)
        return pieceOf(builder, value, first - piece.first, count);
    return nullptr;
  }
  if (first + count > lanesOf(from))
    return nullptr;
  return count == lanesOf(from)
             ? from
             : builder.CreateExtractVector(FixedVectorType::get(from->getType()->getScalarType(), count), from,
                                           uint64_t(first));
}

Value *VectorCutter::numberAt(IRBuilder<> &builder, Value *from, unsigned lane) {
  if (isOdd(from->getType()))
    for (auto [value, piece] : zip(cut(from), piecesOf(from->getType())))
      if (lane >= piece.first && lane < piece.first + piece.count)
        return builder.CreateExtractElement(value, lane - piece.first);
  return builder.CreateExtractElement(from, lane);
}

/// Operations on each lane by itself.
bool VectorCutter::cutElementwise(Instruction *instruction) {
  auto *call = dyn_cast<IntrinsicInst>(instruction);
  if (call ? !isTriviallyVectorizable(call->getIntrinsicID())
           : !isa<BinaryOperator, UnaryOperator, CmpInst, SelectInst, FreezeInst, CastInst>(instruction))
    return false;
  if (instruction->isIntDivRem()) // The lanes beyond the end may be 0.
    return false;
  unsigned count = lanesOf(instruction);
  SmallVector<Pieces> operands;
  unsigned arguments = call ? call->arg_size() : instruction->getNumOperands();
  for (unsigned i = 0; i < arguments; ++i) {
    Value *operand = instruction->getOperand(i);
    auto *vector = dyn_cast<FixedVectorType>(operand->getType());
    // A cast to other lanes, or of one long number, which LLVM takes parts of wide loads for.
    if (vector ? vector->getNumElements() != count : isa<CastInst>(instruction))
      return false;
    operands.push_back(vector ? cut(operand) : Pieces());
  }
  IRBuilder<> builder(instruction);
  Pieces pieces;
  for (auto [number, piece] : enumerate(piecesOf(count))) {
    SmallVector<Value *, 4> now;
    for (unsigned i = 0; i < arguments; ++i)
      now.push_back(operands[i].empty() ? instruction->getOperand(i) : operands[i][number]);
    Type *type = FixedVectorType::get(instruction->getType()->getScalarType(), piece.count);
    Value *made;
    if (call) {
      SmallVector<Type *, 2> overloads;
      if (isVectorIntrinsicWithOverloadTypeAtArg(call->getIntrinsicID(), -1, nullptr))
        overloads.push_back(type);
      for (unsigned i = 0; i < arguments; ++i)
        if (isVectorIntrinsicWithOverloadTypeAtArg(call->getIntrinsicID(), int(i), nullptr))
          overloads.push_back(now[i]->getType());
      made = builder.CreateIntrinsic(call->getIntrinsicID(), overloads, now);
    } else {
      Instruction *clone = instruction->clone();
      for (auto [i, value] : enumerate(now))
        clone->setOperand(i, value);
      clone->mutateType(type);
      made = builder.Insert(clone);
    }
    if (auto *own = dyn_cast<Instruction>(made))
      own->copyIRFlags(instruction);
    pieces.push_back(made);
  }
  known[instruction] = pieces;
  return true;
}

/// Whole registers and the rest, if that is a power of two: more would be read than there is.
bool VectorCutter::cutLoad(LoadInst *load) {
  auto *type = cast<FixedVectorType>(load->getType());
  unsigned rest = type->getNumElements() % lanes, bits = type->getScalarSizeInBits();
  if (!load->isSimple() || bits % 8 != 0 || (rest != 0 && !isPowerOf2_32(rest)))
    return false;
  IRBuilder<> builder(load);
  Pieces pieces;
  for (const Piece &piece : piecesOf(type)) {
    uint64_t offset = uint64_t(piece.first) * bits / 8;
    Value *at = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), load->getPointerOperand(), offset);
    pieces.push_back(builder.CreateAlignedLoad(FixedVectorType::get(type->getElementType(), piece.count), at,
                                               commonAlignment(load->getAlign(), offset)));
  }
  known[load] = pieces;
  return true;
}

bool VectorCutter::cutStore(StoreInst *store) {
  auto *type = cast<FixedVectorType>(store->getValueOperand()->getType());
  unsigned rest = type->getNumElements() % lanes, bits = type->getScalarSizeInBits();
  if (!store->isSimple() || bits % 8 != 0 || (rest != 0 && !isPowerOf2_32(rest)))
    return false;
  IRBuilder<> builder(store);
  for (auto [value, piece] : zip(cut(store->getValueOperand()), piecesOf(type))) {
    uint64_t offset = uint64_t(piece.first) * bits / 8;
    Value *at = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), store->getPointerOperand(), offset);
    builder.CreateAlignedStore(value, at, commonAlignment(store->getAlign(), offset));
  }
  return true;
}

/// A number put into one of the pieces.
bool VectorCutter::cutInsert(InsertElementInst *insert) {
  auto *lane = dyn_cast<ConstantInt>(insert->getOperand(2));
  if (!lane || lane->getZExtValue() >= lanesOf(insert))
    return false;
  Pieces pieces = cut(insert->getOperand(0));
  IRBuilder<> builder(insert);
  for (auto [value, piece] : zip(pieces, piecesOf(insert->getType())))
    if (uint64_t at = lane->getZExtValue(); at >= piece.first && at < piece.first + piece.count)
      value = builder.CreateInsertElement(value, insert->getOperand(1), at - piece.first);
  known[insert] = pieces;
  return true;
}

/// A vector that is made of whole pieces of others, or repeats a number.
bool VectorCutter::cutShuffle(ShuffleVectorInst *shuffle) {
  struct Part {
    Value *from = nullptr;
    int first = 0;
    bool inOrder = true, repeats = true; ///< lanes from `first` on; lane `first` alone
  };
  unsigned count = lanesOf(shuffle);
  SmallVector<Part> parts;
  for (const Piece &piece : piecesOf(count)) {
    Part part;
    for (unsigned i = 0; i < piece.count && piece.first + i < count; ++i) {
      auto [from, lane] = sourceOf(shuffle, int(piece.first + i));
      if (!from)
        continue;
      if (!part.from) {
        part.from = from;
        part.first = lane;
        part.inOrder = i == 0;
      }
      if (from != part.from)
        return false;
      part.inOrder &= lane == part.first + int(i);
      part.repeats &= lane == part.first;
    }
    part.inOrder &= part.first % int(piece.count) == 0;
    if (!part.inOrder && !part.repeats)
      return false;
    parts.push_back(part);
  }
  IRBuilder<> builder(shuffle);
  Pieces pieces;
  for (auto [part, piece] : zip(parts, piecesOf(count))) {
    Value *made = nullptr;
    if (!part.from)
      made = PoisonValue::get(FixedVectorType::get(shuffle->getType()->getScalarType(), piece.count));
    else if (part.inOrder)
      made = pieceOf(builder, part.from, part.first, piece.count);
    if (!made && part.repeats)
      made = builder.CreateVectorSplat(piece.count, numberAt(builder, part.from, unsigned(part.first)));
    if (!made)
      return false;
    pieces.push_back(made);
  }
  known[shuffle] = pieces;
  return true;
}

/// Registers of a vector that is cut; what is beyond its end is not used.
bool VectorCutter::takePiece(ShuffleVectorInst *shuffle) {
  unsigned count = lanesOf(shuffle);
  Value *from = nullptr;
  int first = 0;
  for (unsigned i = 0; i < count; ++i) {
    auto [source, lane] = sourceOf(shuffle, int(i));
    if (!source)
      continue;
    if (!from) {
      from = source;
      first = lane - int(i);
    }
    if (source != from || lane - int(i) != first)
      return false;
  }
  if (!from || !isOdd(from->getType()) || first < 0)
    return false;
  IRBuilder<> builder(shuffle);
  Pieces parts;
  unsigned each = std::min(count, lanes);
  for (unsigned at = 0; at < count; at += each) {
    // Of a piece with fewer lanes only those are asked for that it has.
    Value *part = pieceOf(builder, from, first + int(at), each);
    if (!part)
      return false;
    parts.push_back(part);
  }
  Value *whole = parts.front();
  if (parts.size() > 1) {
    whole = PoisonValue::get(shuffle->getType());
    for (auto [i, part] : enumerate(parts))
      whole = builder.CreateInsertVector(shuffle->getType(), whole, part, uint64_t(i * each));
  }
  shuffle->replaceAllUsesWith(whole);
  return true;
}

/// One number of a vector that is there in pieces.
bool VectorCutter::takeNumber(ExtractElementInst *extract) {
  auto *from = dyn_cast<Instruction>(extract->getVectorOperand());
  auto *lane = dyn_cast<ConstantInt>(extract->getIndexOperand());
  if (!from || !isDone.lookup(from) || !lane || lane->getZExtValue() >= lanesOf(from))
    return false;
  IRBuilder<> builder(extract);
  extract->replaceAllUsesWith(numberAt(builder, from, unsigned(lane->getZExtValue())));
  return true;
}

bool VectorCutter::cutInstruction(Instruction *instruction) {
  if (auto *load = dyn_cast<LoadInst>(instruction))
    return cutLoad(load);
  if (auto *insert = dyn_cast<InsertElementInst>(instruction))
    return cutInsert(insert);
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(instruction))
    return cutShuffle(shuffle);
  return cutElementwise(instruction);
}

/// Users that are left read the whole: it is joined once in each block, of a phi in its own too.
void VectorCutter::joinWhereUsed(Instruction *instruction) {
  bool inPieces = isDone.lookup(instruction);
  MapVector<BasicBlock *, SmallVector<Use *>> uses;
  for (Use &use : instruction->uses()) {
    auto *user = cast<Instruction>(use.getUser());
    if (isDone.lookup(user) || isa<PHINode>(user))
      continue;
    if (inPieces || user->getParent() != instruction->getParent())
      uses[user->getParent()].push_back(&use);
  }
  for (auto &[block, list] : uses) {
    Pieces pieces = cut(instruction);
    IRBuilder<> builder(function.getContext());
    if (block == instruction->getParent() && !isa<PHINode>(instruction))
      builder.SetInsertPoint(*instruction->getInsertionPointAfterDef());
    else
      builder.SetInsertPoint(block, block->getFirstInsertionPt());
    Value *whole = join(builder, pieces, cast<FixedVectorType>(instruction->getType()));
    for (Use *use : list)
      use->set(whole);
  }
}

void VectorCutter::run() {
  SmallVector<Instruction *> odd;
  SmallVector<ShuffleVectorInst *> parts;
  SmallVector<ExtractElementInst *> numbers;
  SmallVector<StoreInst *> stores;
  ReversePostOrderTraversal<Function *> blocks(&function);
  for (BasicBlock *block : blocks)
    for (Instruction &instruction : *block) {
      if (isOdd(instruction.getType()))
        odd.push_back(&instruction);
      else if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction);
               shuffle && isOdd(shuffle->getOperand(0)->getType()))
        parts.push_back(shuffle);
      else if (auto *extract = dyn_cast<ExtractElementInst>(&instruction);
               extract && isOdd(extract->getVectorOperandType()))
        numbers.push_back(extract);
      else if (auto *store = dyn_cast<StoreInst>(&instruction); store && isOdd(store->getValueOperand()->getType()))
        stores.push_back(store);
    }
  for (Instruction *instruction : odd)
    if (auto *phi = dyn_cast<PHINode>(instruction)) {
      IRBuilder<> builder(phi);
      Pieces pieces;
      for (const Piece &piece : piecesOf(phi->getType()))
        pieces.push_back(builder.CreatePHI(FixedVectorType::get(phi->getType()->getScalarType(), piece.count),
                                           phi->getNumIncomingValues()));
      known[phi] = pieces;
      isDone[phi] = true;
    }
  // Operands come before their users, but for phis.
  for (Instruction *instruction : odd)
    if (!isa<PHINode>(instruction))
      isDone[instruction] = cutInstruction(instruction);
  for (ShuffleVectorInst *shuffle : parts)
    isDone[shuffle] = takePiece(shuffle);
  for (ExtractElementInst *extract : numbers)
    isDone[extract] = takeNumber(extract);
  for (StoreInst *store : stores)
    isDone[store] = cutStore(store);
  for (Instruction *instruction : odd)
    if (auto *phi = dyn_cast<PHINode>(instruction)) {
      Pieces mine = known[phi];
      for (auto [value, block] : zip(phi->incoming_values(), phi->blocks()))
        for (auto [piece, incoming] : zip(mine, cut(value)))
          cast<PHINode>(piece)->addIncoming(incoming, block);
    }
  for (Instruction *instruction : odd)
    joinWhereUsed(instruction);
  auto erase = [](Instruction *instruction) {
    instruction->replaceAllUsesWith(PoisonValue::get(instruction->getType()));
    instruction->eraseFromParent();
  };
  for (StoreInst *store : stores)
    if (isDone.lookup(store))
      store->eraseFromParent();
  for (ShuffleVectorInst *shuffle : parts)
    if (isDone.lookup(shuffle))
      erase(shuffle);
  for (ExtractElementInst *extract : numbers)
    if (isDone.lookup(extract))
      erase(extract);
  for (Instruction *instruction : reverse(odd))
    if (isDone.lookup(instruction))
      erase(instruction);
}

void gnnc::cpu::splitCarriedVectors(Function &function, unsigned registerBits) {
  if (function.isDeclaration())
    return;
  VectorCutter(function, registerBits).run();
  assert(!verifyFunction(function, &errs()) && "vectors are cut into what is no function");
}
