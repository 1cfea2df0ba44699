//===- SplitHaloSums.cpp - Sums begin before rows of others are there -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum over members that read rows of other ranks waits for these rows, though most members read rows of their own
// rank. It becomes two: one over the members whose map leads to own elements, which needs nothing of others, and one
// over the rest, to which the first is added where its owners are written. Likewise a sum to own elements and the halo
// becomes one for each, so that what goes back to others goes before the own ones are summed. overlap-transfers then
// runs one of the two while rows are on their way.
//
//===----------------------------------------------------------------------===//

#include "Distribution/HalvesOfMembers.h"
#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITHALOSUMS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "split-halo-sums"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

using Map = FlatSymbolRefAttr;
using Space = FlatSymbolRefAttr;

/// What a value of members is made of.
struct Members {
  llvm::SetVector<Value> read;        ///< values of other spaces, and inputs of the members
  llvm::SetVector<Value> ofUnion;     ///< values of own elements and halo that a remote map reads, which is
  llvm::SetVector<Attribute> remotes; ///< one of these
  bool isKnown = true;                ///< false: some value of members is neither an input nor computed row by row
};

class HaloSums {
public:
  HaloSums(ModuleOp module, int64_t operationsPerByte) : halves(module), operationsPerByte(operationsPerByte) {}

  void split(func::FuncOp function);
  int64_t numSplit = 0;

private:
  MapOp map(Map name) { return halves.map(name); }
  bool isUnionWithHalo(Space name);
  RankedTensorType typeOn(Space space, Type like) {
    return getTensorOn(space, ShapedType::kDynamic, getFeatureShape(like),
                       cast<RankedTensorType>(like).getElementType());
  }

  // What there is
  Members membersOf(Value value);
  void collect(Value value, Members &members, DenseSet<Value> &seen);
  /// What the rows of one half are made of; false where rows of the union are.
  bool collectHalf(Value onUnion, Half half, llvm::SetVector<Value> &read);
  SmallVector<Operation *> transfersBefore(ArrayRef<Value> values);

  // What is made
  /// A value of members, for those of one half.
  Value onHalf(OpBuilder &b, Value value, Map remote, Half half, DenseMap<Value, Value> &made);
  /// A value of own elements and halo, for one of the two; null: 0.
  Value partOf(OpBuilder &b, Value onUnion, Half half, DenseMap<Value, Value> &made);

  bool isWorth(Operation *sum, int64_t rowBytes, int64_t sumBytes);
  void splitBySource(ReduceOp sum);
  void splitByTarget(ReduceOp sum);

  HalvesOfMembers halves;
  int64_t operationsPerByte;
  DenseSet<Attribute> halos; ///< spaces that rows are transferred to or from
};

int64_t rowBytes(Type type) {
  return getFeatureElements(type) * cast<RankedTensorType>(type).getElementTypeBitWidth() / 8;
}

/// Erases what nobody reads any more.
void eraseUnread(Operation *op) {
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : operands)
    if (Operation *made = operand.getDefiningOp(); made && isOpTriviallyDead(made))
      eraseUnread(made);
}

} // namespace

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

bool HaloSums::isUnionWithHalo(Space name) {
  SpaceOp whole = name ? halves.space(name) : SpaceOp();
  if (!whole || whole.getKind() != SpaceKind::Union || whole.getPartsAttr().size() != 2)
    return false;
  return !halos.contains(halves.halfOf(name, Own)) && halos.contains(halves.halfOf(name, Halo));
}

void HaloSums::collect(Value value, Members &members, DenseSet<Value> &seen) {
  if (!getResidency(value.getType()) || !seen.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (auto move = dyn_cast_or_null<BroadcastOp>(op)) {
    if (move.getAlong() != kAllMap && isUnionWithHalo(map(move.getAlongAttr()).getToAttr())) {
      members.ofUnion.insert(move.getInput());
      members.remotes.insert(move.getAlongAttr());
    } else {
      members.read.insert(move.getInput());
    }
  } else if (op && op->hasTrait<RowFunction>()) {
    for (Value operand : op->getOperands())
      collect(operand, members, seen);
  } else if (!op) {
    members.read.insert(value);
  } else {
    members.isKnown = false;
  }
}

Members HaloSums::membersOf(Value value) {
  Members members;
  DenseSet<Value> seen;
  collect(value, members, seen);
  return members;
}

bool HaloSums::collectHalf(Value value, Half half, llvm::SetVector<Value> &read) {
  if (!getResidency(value.getType()))
    return true;
  Operation *op = value.getDefiningOp();
  if (auto move = dyn_cast_or_null<BroadcastOp>(op)) {
    MapOp along = move.getAlong() == kAllMap ? MapOp() : map(move.getAlongAttr());
    bool isOther = along && along.getKind() == MapKind::Part && size_t(*along.getPart()) != half;
    if (!isOther)
      read.insert(move.getInput());
    return !isOther || move.getFill().isZero();
  }
  return op && op->hasTrait<RowFunction>() &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return collectHalf(operand, half, read); });
}

/// The transfers that values are made of.
SmallVector<Operation *> HaloSums::transfersBefore(ArrayRef<Value> values) {
  SmallVector<Value> pending(values);
  DenseSet<Operation *> seen;
  SmallVector<Operation *> found;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isa<TransferOp>(op))
      found.push_back(op);
    else
      llvm::append_range(pending, op->getOperands());
  }
  return found;
}

//===----------------------------------------------------------------------===//
// What is made
//===----------------------------------------------------------------------===//

Value HaloSums::partOf(OpBuilder &b, Value value, Half half, DenseMap<Value, Value> &made) {
  if (!getResidency(value.getType()))
    return value;
  if (auto known = made.find(value); known != made.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  Space part = halves.halfOf(getResidency(value.getType()), half);
  Value result;
  if (auto move = dyn_cast<BroadcastOp>(op)) {
    MapOp along = move.getAlong() == kAllMap ? MapOp() : map(move.getAlongAttr());
    if (along && along.getKind() == MapKind::Part) {
      result = size_t(*along.getPart()) == half ? move.getInput() : Value();
    } else {
      Map here = move.getAlongAttr();
      if (along) {
        Map in = halves.injectionOf(getResidency(value.getType()), half);
        here = halves.composed(in, here);
      }
      result = BroadcastOp::create(b, op->getLoc(), typeOn(part, value.getType()), move.getInput(), here,
                                   move.getFillAttr());
    }
  } else {
    // A part of a sum that is 0 elsewhere is not added.
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(partOf(b, operand, half, made));
    auto binary = dyn_cast<BinaryOp>(op);
    if (binary && binary.getKind() == BinaryKind::Add && llvm::is_contained(operands, Value()) &&
        (operands[0] ? operands[0] : operands[1]) &&
        typeOn(part, value.getType()) == (operands[0] ? operands[0] : operands[1]).getType()) {
      result = operands[0] ? operands[0] : operands[1];
    } else {
      for (auto [operand, old] : llvm::zip_equal(operands, op->getOperands()))
        if (!operand) {
          Value zero = Rules(b, op->getLoc()).number(0, old);
          operand = BroadcastOp::create(b, op->getLoc(), typeOn(part, old.getType()),
                                        Rules(b, op->getLoc()).repeat(zero, getFeatureShape(old.getType())),
                                        Map::get(b.getContext(), kAllMap), b.getF64FloatAttr(0));
        }
      result = cloneOn(b, op, operands, typeOn(part, value.getType()));
    }
  }
  return made[value] = result;
}

Value HaloSums::onHalf(OpBuilder &b, Value value, Map remote, Half half, DenseMap<Value, Value> &made) {
  if (!getResidency(value.getType()))
    return value;
  if (auto known = made.find(value); known != made.end())
    return known->second;
  const HalfOfMembers of = halves.of(remote)[half];
  Operation *op = value.getDefiningOp();
  Type type = typeOn(of.members, value.getType());
  Value result;
  if (auto move = dyn_cast_or_null<BroadcastOp>(op)) {
    if (move.getAlongAttr() == remote) {
      DenseMap<Value, Value> parts;
      Value rows = partOf(b, move.getInput(), half, parts);
      result =
          rows ? BroadcastOp::create(b, op->getLoc(), type, rows, of.target, move.getFillAttr()).getResult() : Value();
    }
    if (!result) {
      Map along = move.getAlong() == kAllMap ? move.getAlongAttr() : halves.composed(of.inclusion, move.getAlongAttr());
      result = BroadcastOp::create(b, op->getLoc(), type, move.getInput(), along, move.getFillAttr());
    }
  } else if (!op) {
    result = BroadcastOp::create(b, value.getLoc(), type, value, of.inclusion, b.getF64FloatAttr(0));
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(onHalf(b, operand, remote, half, made));
    result = cloneOn(b, op, operands, type);
  }
  return made[value] = result;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

bool HaloSums::isWorth(Operation *sum, int64_t exchanged, int64_t sumBytes) {
  int64_t saved = exchanged * operationsPerByte / kOwnersPerHaloElement, cost = 2 * sumBytes * kOperationsPerMemoryByte;
  if (saved > cost)
    return true;
  remarkMissed(
      sum, DEBUG_TYPE, "split", [&] { return "a sum of rows of " + std::to_string(sumBytes) + " bytes stays whole"; },
      [&] {
        return "rows of " + std::to_string(exchanged) + " bytes on their way are worth " + std::to_string(saved) +
               " operations an owner, to write and read sums once more " + std::to_string(cost);
      });
  return false;
}

/// Members read rows of others.
void HaloSums::splitBySource(ReduceOp sum) {
  Members members = membersOf(sum.getInput());
  if (members.remotes.empty())
    return;
  auto decline = [&](StringRef why) {
    remarkMissed(
        sum, DEBUG_TYPE, "split", [] { return "a sum of members that read rows of others stays whole"; },
        [&] { return why.str(); });
  };
  if (!members.isKnown)
    return decline("a value of its members is made of more than themselves");
  if (members.remotes.size() > 1)
    return decline("several maps of its members lead to elements of other ranks");
  llvm::SetVector<Value> own = members.read, others;
  for (Value value : members.ofUnion)
    if (!collectHalf(value, Own, own) || !collectHalf(value, Halo, others))
      return decline("rows of own elements and those of others are not apart");
  SmallVector<Operation *> awaited = transfersBefore(others.getArrayRef());
  if (awaited.empty())
    return;
  for (Operation *before : transfersBefore(own.getArrayRef()))
    if (llvm::is_contained(awaited, before))
      return decline("what own members read is made of rows of others, too");
  int64_t exchanged = 0;
  for (Operation *transfer : awaited)
    exchanged += rowBytes(transfer->getResult(0).getType());
  if (!isWorth(sum, exchanged, rowBytes(sum.getType())))
    return;

  auto remote = cast<Map>(members.remotes[0]);
  OpBuilder b(sum);
  Rules r(b, sum.getLoc());
  Value total;
  for (Half half : {Own, Halo}) {
    DenseMap<Value, Value> made;
    Value terms = onHalf(b, sum.getInput(), remote, half, made);
    Map along = sum.getAlong() == kAllMap ? sum.getAlongAttr()
                                          : halves.composed(halves.of(remote)[half].inclusion, sum.getAlongAttr());
    Value part = r.reduce(ReduceKind::Sum, terms, along, sum.getType());
    total = total ? r.add(total, part) : part;
  }
  if (sum.getKind() == ReduceKind::Mean) {
    Type number =
        getTensorOn(getResidency(sum.getType()), sum.getType().getDimSize(0), {}, sum.getType().getElementType());
    Value count = DegreeOp::create(b, sum.getLoc(), number, sum.getAlongAttr());
    count = r.reshape(count, SmallVector<int64_t>(getFeatureShape(sum.getType()).size(), 1));
    total = r.div(total, r.binary(BinaryKind::Maximum, count, r.number(1, count)));
  }
  ++numSplit;
  remarkPassed(sum, DEBUG_TYPE, "split", [&] {
    return "sum along @" + sum.getAlong().str() + " begins with the members that read own rows, while rows of " +
           std::to_string(exchanged) + " bytes are on their way";
  });
  sum.replaceAllUsesWith(total);
  eraseUnread(sum);
}

/// Owners are elements of this rank and of others.
void HaloSums::splitByTarget(ReduceOp sum) {
  Members members = membersOf(sum.getInput());
  Map remote = sum.getAlongAttr();
  SmallVector<std::pair<BroadcastOp, Half>> reads;
  bool isSent = false;
  for (Operation *user : sum->getUsers()) {
    auto read = dyn_cast<BroadcastOp>(user);
    MapOp along = read && read.getAlong() != kAllMap ? map(read.getAlongAttr()) : MapOp();
    if (!along || along.getKind() != MapKind::Injection)
      return;
    Half half = Half(*along.getPart());
    reads.push_back({read, half});
    isSent |= half == Halo && llvm::any_of(read->getUsers(), llvm::IsaPred<TransferOp>);
  }
  if (!isSent || !members.isKnown || members.remotes.size() > 1 ||
      (!members.remotes.empty() && members.remotes[0] != remote) ||
      !isWorth(sum, rowBytes(sum.getType()), rowBytes(sum.getType())))
    return;
  llvm::SetVector<Value> own, others;
  for (Value value : members.ofUnion)
    if (!collectHalf(value, Own, own) || !collectHalf(value, Halo, others))
      return;
  OpBuilder b(sum);
  Rules r(b, sum.getLoc());
  Space whole = map(remote).getToAttr();
  std::array<Value, 2> sums;
  for (Half half : {Halo, Own}) {
    DenseMap<Value, Value> made;
    Value terms = onHalf(b, sum.getInput(), remote, half, made);
    sums[half] = r.reduce(ReduceKind::Sum, terms, halves.of(remote)[half].target,
                          typeOn(halves.halfOf(whole, half), sum.getType()));
  }
  ++numSplit;
  remarkPassed(sum, DEBUG_TYPE, "split", [&] {
    return "sum along @" + remote.getValue().str() + " is done for elements of others first, so that rows of " +
           std::to_string(rowBytes(sum.getType())) + " bytes are on their way while own ones are summed";
  });
  for (auto [read, half] : reads) {
    read.replaceAllUsesWith(sums[half]);
    read.erase();
  }
  eraseUnread(sum);
}

void HaloSums::split(func::FuncOp function) {
  SmallVector<ReduceOp> sums;
  function.walk([&](Operation *op) {
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      halos.insert(getResidency(transfer.getType()));
      halos.insert(getResidency(transfer.getInput().getType()));
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      bool isMean = reduce.getKind() == ReduceKind::Mean && reduce.getAlong() != kAllMap;
      if (isMean || reduce.getKind() == ReduceKind::Sum)
        sums.push_back(reduce);
    }
  });
  if (halos.empty())
    return;
  for (ReduceOp sum : sums) {
    bool isToUnion = sum.getAlong() != kAllMap && isUnionWithHalo(map(sum.getAlongAttr()).getToAttr());
    bool isOfUnion = isUnionWithHalo(getResidency(sum.getInput().getType()));
    if (isOfUnion || (isToUnion && sum.getKind() == ReduceKind::Mean))
      continue;
    isToUnion ? splitByTarget(sum) : splitBySource(sum);
  }
}

namespace {

struct SplitHaloSums : public gnnc::impl::SplitHaloSumsBase<SplitHaloSums> {
  using SplitHaloSumsBase::SplitHaloSumsBase;

  void runOnOperation() override {
    HaloSums sums(getOperation(), operationsPerByte);
    for (auto function : getOperation().getOps<func::FuncOp>())
      sums.split(function);
    numSplit += sums.numSplit;
  }
};

} // namespace
