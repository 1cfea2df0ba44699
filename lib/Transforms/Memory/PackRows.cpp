//===- PackRows.cpp - Narrow rows that are gathered together lie together -===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A member that gathers narrow rows of several values through one map fetches a piece of memory for each, and uses
// little of it. The last sweep that makes one of these values writes them side by side, as one row, and readers take
// slices of that:
//
//   %m, %s = sweep over @node along @dst (...);      sweep along @src (%m, %s) gather_member @dst, gather_member @dst
//   ->  %p = sweep over @node along @dst (...) { ... yield concat %m, %s };
//       sweep along @src (%p) gather_member @dst { %m = slice %p; %s = slice %p; ... }
//
// What that sweep reads of its own element anyway joins the row too, so all that a backward pass gathers of a node's
// softmax may be one row. Joins that are only written and slices of what is read are addresses on GPUs (see
// split-joined-rows); every number is computed as before.
//
// A value that is needed elsewhere stays in memory by itself as well, unless each of its readers can take the joined
// row: then it is not written twice.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace gnnc {
#define GEN_PASS_DEF_PACKROWS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using mpk::AccessKind;

#define DEBUG_TYPE "pack-rows"

namespace {

/// A GPU fetches memory in pieces of twice this size. Two rows of no more fit one.
constexpr int64_t kNarrowBytes = 32;

/// Rows that one sweep writes side by side.
struct Pack {
  mpk::SweepOp producer;
  SmallVector<Value> parts;      ///< results of the producer, and operands that it reads by owner
  SmallVector<Value> bodyValues; ///< what they are in its body
  Value joined;                  ///< once it is written
};

/// What a sweep reads of a pack in one way.
struct PackedRead {
  unsigned pack;
  mpk::AccessAttr access;
  SmallVector<std::pair<unsigned, unsigned>> parts; ///< operand of the sweep, part of the pack
};

/// Products in tiles have rows of their own form.
bool isTiled(mpk::SweepOp sweep) {
  return llvm::any_of(sweep.getBody().front(), [](Operation &op) { return mpk::isTiled(&op); });
}

int64_t bytesOf(Value value) {
  return mpdfg::getFeatureElements(value.getType()) * cast<RankedTensorType>(value.getType()).getElementTypeBitWidth() /
         8;
}

bool isNarrow(Value value) {
  return !mpdfg::getFeatureShape(value.getType()).empty() && bytesOf(value) <= kNarrowBytes;
}

/// Whether rows can be parts of one that is joined along its first axis.
bool areAlike(Value a, Value b) {
  ArrayRef<int64_t> one = mpdfg::getFeatureShape(a.getType()), other = mpdfg::getFeatureShape(b.getType());
  return cast<RankedTensorType>(a.getType()).getElementType() == cast<RankedTensorType>(b.getType()).getElementType() &&
         one.size() == other.size() && one.drop_front() == other.drop_front();
}

class RowPacker {
public:
  explicit RowPacker(func::FuncOp function) : function(function) {}
  unsigned run();

private:
  void findPacks(mpk::SweepOp reader, mpk::AccessAttr access);
  unsigned numberOf(mpk::SweepOp producer, ArrayRef<Value> parts);
  void readByOwner();
  void rewrite(mpk::SweepOp sweep);
  Value joinIn(mpk::SweepOp sweep, Pack &pack, SmallVectorImpl<Type> &types);

  func::FuncOp function;
  std::vector<Pack> packs;
  llvm::MapVector<Operation *, std::vector<PackedRead>> reads;
  DenseSet<Value> dropped;       ///< results that all readers find in a pack
  SmallVector<Operation *> done; ///< sweeps that others have taken the place of
};

/// What the body of a sweep has of a value that it makes, or reads by owner; null for others.
Value inBody(mpk::SweepOp sweep, Value value) {
  Block &body = sweep.getBody().front();
  if (value.getDefiningOp() == sweep) {
    unsigned result = cast<OpResult>(value).getResultNumber();
    return sweep.getYieldOf(result).getKind() == AccessKind::Owner ? body.getTerminator()->getOperand(result) : Value();
  }
  for (auto [i, input] : llvm::enumerate(sweep.getInputs()))
    if (input == value && sweep.getAccessOf(i).getKind() == AccessKind::Owner)
      return body.getArgument(i);
  return {};
}

unsigned RowPacker::numberOf(mpk::SweepOp producer, ArrayRef<Value> parts) {
  for (auto [i, pack] : llvm::enumerate(packs))
    if (pack.producer == producer && ArrayRef(pack.parts) == parts)
      return i;
  Pack pack{producer, SmallVector<Value>(parts), {}, {}};
  for (Value part : parts)
    pack.bodyValues.push_back(inBody(producer, part));
  packs.push_back(std::move(pack));
  return packs.size() - 1;
}

void RowPacker::findPacks(mpk::SweepOp reader, mpk::AccessAttr access) {
  SmallVector<unsigned> gathered;
  for (auto [i, input] : llvm::enumerate(reader.getInputs()))
    if (reader.getAccessOf(i) == access && isNarrow(input))
      gathered.push_back(i);
  SmallVector<mpk::SweepOp> producers; // the last one first
  for (unsigned operand : gathered)
    if (auto sweep = reader.getInputs()[operand].getDefiningOp<mpk::SweepOp>();
        sweep && !llvm::is_contained(producers, sweep))
      producers.push_back(sweep);
  llvm::sort(producers, [](mpk::SweepOp a, mpk::SweepOp b) { return b->isBeforeInBlock(a); });
  unsigned found = 0, asked = gathered.size();
  for (mpk::SweepOp producer : producers) {
    if (isTiled(producer))
      continue;
    // One row for all that are like the first one that it makes.
    SmallVector<unsigned> taken;
    Value first;
    for (unsigned operand : gathered)
      if (Value input = reader.getInputs()[operand];
          !first && input.getDefiningOp() == producer && inBody(producer, input))
        first = input;
    for (unsigned operand : gathered)
      if (Value input = reader.getInputs()[operand]; first && areAlike(first, input) && inBody(producer, input))
        taken.push_back(operand);
    if (taken.size() < 2)
      continue;
    PackedRead read{0, access, {}};
    SmallVector<Value> parts;
    for (auto [i, operand] : llvm::enumerate(taken)) {
      parts.push_back(reader.getInputs()[operand]);
      read.parts.push_back({operand, i});
    }
    read.pack = numberOf(producer, parts);
    reads[reader].push_back(read);
    found += taken.size();
    llvm::erase_if(gathered, [&](unsigned operand) { return llvm::is_contained(taken, operand); });
    remarkPassed(reader, DEBUG_TYPE, "pack", [&] {
      int64_t bytes = 0;
      for (Value part : parts)
        bytes += bytesOf(part);
      return std::to_string(parts.size()) + " rows that members gather through " + access.getMap().getValue().str() +
             " are one of " + std::to_string(bytes) + " bytes, which the sweep that makes one of them writes";
    });
  }
  if (asked > 1 && found == 0)
    remarkMissed(
        reader, DEBUG_TYPE, "pack",
        [&] { return "narrow rows that members gather through " + access.getMap().getValue().str() + " lie apart"; },
        [] { return "no sweep that makes one of them makes, or reads by owner, another one of its form"; });
}

/// Values whose other readers read them by owner leave memory: these readers take the joined row as well.
void RowPacker::readByOwner() {
  auto isPackedRead = [&](OpOperand &use) {
    for (const PackedRead &read : reads.lookup(use.getOwner()))
      for (auto [operand, part] : read.parts)
        if (operand == use.getOperandNumber())
          return true;
    return false;
  };
  for (auto [number, pack] : llvm::enumerate(packs))
    for (auto [i, part] : llvm::enumerate(pack.parts)) {
      if (part.getDefiningOp() != pack.producer || dropped.contains(part))
        continue;
      auto isByOwner = [&](OpOperand &use) {
        auto sweep = dyn_cast<mpk::SweepOp>(use.getOwner());
        return sweep && !isTiled(sweep) && sweep.getAccessOf(use.getOperandNumber()).getKind() == AccessKind::Owner;
      };
      if (!llvm::all_of(part.getUses(), [&](OpOperand &use) { return isPackedRead(use) || isByOwner(use); }))
        continue;
      dropped.insert(part);
      for (OpOperand &use : part.getUses()) {
        if (isPackedRead(use))
          continue;
        auto sweep = cast<mpk::SweepOp>(use.getOwner());
        mpk::AccessAttr access = sweep.getAccessOf(use.getOperandNumber());
        std::vector<PackedRead> &own = reads[sweep];
        auto same = llvm::find_if(
            own, [&, number = number](PackedRead &read) { return read.pack == number && read.access == access; });
        if (same == own.end())
          same = own.insert(own.end(), PackedRead{unsigned(number), access, {}});
        same->parts.push_back({use.getOperandNumber(), unsigned(i)});
      }
    }
}

/// Joins the parts at the end of a body; `types` gets that of the rows in memory.
Value RowPacker::joinIn(mpk::SweepOp sweep, Pack &pack, SmallVectorImpl<Type> &types) {
  auto joinedLike = [&](Type like, unsigned axis) {
    auto type = cast<RankedTensorType>(like);
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = 0;
    for (Value part : pack.parts)
      shape[axis] += mpdfg::getFeatureShape(part.getType()).front();
    return RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
  };
  types.push_back(joinedLike(pack.parts.front().getType(), 1));
  OpBuilder b(sweep.getBody().front().getTerminator());
  return mpdfg::ConcatOp::create(b, sweep.getLoc(), joinedLike(pack.bodyValues.front().getType(), 0), pack.bodyValues,
                                 0);
}

/// Puts a sweep in the place of one that writes or reads packs.
void RowPacker::rewrite(mpk::SweepOp sweep) {
  Block &body = sweep.getBody().front();
  OpBuilder b(sweep);
  // What it writes.
  SmallVector<Type> types;
  SmallVector<Value> yielded;
  SmallVector<Attribute> yields;
  SmallVector<OpResult> kept;
  for (OpResult result : sweep->getResults())
    if (!dropped.contains(result)) {
      kept.push_back(result);
      types.push_back(result.getType());
      yielded.push_back(body.getTerminator()->getOperand(result.getResultNumber()));
      yields.push_back(sweep.getYields()[result.getResultNumber()]);
    }
  SmallVector<Pack *> written;
  for (Pack &pack : packs)
    if (pack.producer == sweep) {
      yielded.push_back(joinIn(sweep, pack, types));
      yields.push_back(mpk::AccessAttr::get(b.getContext(), AccessKind::Owner));
      written.push_back(&pack);
    }
  body.getTerminator()->setOperands(yielded);
  // What it reads.
  SmallVector<Value> inputs(sweep.getInputs());
  SmallVector<Attribute> access(sweep.getAccess().getValue());
  BitVector gone(inputs.size());
  for (const PackedRead &read : reads.lookup(sweep)) {
    const Pack &pack = packs[read.pack];
    auto type = cast<RankedTensorType>(pack.joined.getType());
    auto element = cast<RankedTensorType>(body.getArgument(read.parts.front().first).getType()).getElementType();
    Value row = body.addArgument(RankedTensorType::get(type.getShape().drop_front(), element), sweep.getLoc());
    inputs.push_back(pack.joined);
    access.push_back(read.access);
    gone.push_back(false);
    OpBuilder inside = OpBuilder::atBlockBegin(&body);
    for (auto [operand, part] : read.parts) {
      int64_t begin = 0;
      for (Value before : ArrayRef(pack.parts).take_front(part))
        begin += mpdfg::getFeatureShape(before.getType()).front();
      BlockArgument whole = body.getArgument(operand);
      whole.replaceAllUsesWith(
          mpdfg::SliceOp::create(inside, whole.getLoc(), whole.getType(), row, /*axis=*/0, begin).getResult());
      gone.set(operand);
    }
  }
  body.eraseArguments(gone);
  auto keep = [&](auto &list) {
    unsigned i = 0;
    llvm::erase_if(list, [&](auto &) { return gone.test(i++); });
  };
  keep(inputs);
  keep(access);
  auto now = mpk::SweepOp::create(b, sweep.getLoc(), types, sweep.getOverAttr(), sweep.getAlongAttr(), inputs,
                                  b.getArrayAttr(access), b.getArrayAttr(yields));
  now->setDiscardableAttrs(sweep->getDiscardableAttrDictionary());
  now.getBody().takeBody(sweep.getBody());
  for (auto [from, to] : llvm::zip(kept, now.getResults()))
    from.replaceAllUsesWith(to);
  for (auto [pack, joined] : llvm::zip(written, now.getResults().take_back(written.size())))
    pack->joined = joined;
  done.push_back(sweep);
}

unsigned RowPacker::run() {
  SmallVector<mpk::SweepOp> sweeps(function.getOps<mpk::SweepOp>());
  for (mpk::SweepOp sweep : sweeps) {
    if (!sweep.getAlongAttr() || isTiled(sweep))
      continue;
    llvm::SetVector<Attribute> ways;
    for (Attribute access : sweep.getAccess())
      if (cast<mpk::AccessAttr>(access).getKind() == AccessKind::GatherMember)
        ways.insert(access);
    for (Attribute access : ways)
      findPacks(sweep, cast<mpk::AccessAttr>(access));
  }
  readByOwner();
  for (mpk::SweepOp sweep : sweeps)
    if (reads.contains(sweep) || llvm::any_of(packs, [&](Pack &pack) { return pack.producer == sweep; }))
      rewrite(sweep);
  for (Operation *op : llvm::reverse(done))
    op->erase();
  return packs.size();
}

struct PackRows : public gnnc::impl::PackRowsBase<PackRows> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration())
        numPacked += RowPacker(function).run();
  }
};

} // namespace
