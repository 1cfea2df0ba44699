//===- TileProducts.cpp - Products of members stay in their sweeps --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An edge network multiplies a row of each edge by a weight. A product of its own would read and write a row for each
// edge. Where all that is made of the product ends in sums over members, it can stay in the bodies of the sweeps that
// make these sums: a target takes a few members at a time, gathers their rows, multiplies them as one small matrix and
// goes on with the result at hand. The same holds for the weight's gradient, a sum of outer products whose factors
// would have to be stored. Such contractions are marked (`mpk.tile`), with their labels in the order of a matrix
// product:
//
//   x[batch, k] or x[m, k]  by  w[batch, k, n]  gives  y[batch, n] or y[m, n];   x[batch, k] g[batch, n]  are summed
//
// The price: a sweep that needs a product makes it again, so operations are paid for bytes. A value that many sweeps
// need and that is expensive to compute (the edges' state in an interaction network) is stored after all. Sums along
// one map are one sweep only if none needs another: the same map in each of several blocks is as many sweeps. An outer
// sum both of whose factors are stored for such products has nothing to save: a matrix product of its own reads them.
//
// Where the tiles of an owner's members are in several blocks (`blocks`), no tile knows a softmax over them. But what a
// softmax takes and gives is narrow in an attention, a number for each head: such values are kept (`mpdfg.keep`), so
// that tiles make scores, an ordinary sweep takes the softmax of them, and tiles read its weights. What would be made
// too often is kept in the same way, by one sweep in tiles, if its factors would have to be stored otherwise. And a
// product of a few numbers takes less among the operations on a row than a tile takes to bring it about (`mpk.swept`).
//
//===----------------------------------------------------------------------===//

#include "Products/ContractionRoles.h"
#include "Products/NarrowValues.h"
#include "Remarks.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_TILEPRODUCTS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "tile-products"

namespace {

/// Wider sums are not accumulated while members pass by.
constexpr int64_t kWidestSum = 512;
/// Operations that may be repeated (in all sweeps after the first) for each byte of a member's row that is not stored.
/// A product of rows of 64 costs 32, so eight of them are worth a row.
constexpr int64_t kOperationsForByte = 256;
/// The same where memory is much faster: a row of 64 by a weight may be multiplied twice, but not a third time. Also
/// the most that a product takes, made once, for each byte of its row: a block's tiles of wider rows are so slow that
/// to store and read them is faster.
constexpr int64_t kOperationsForByteInBlock = 48;

/// What it takes to make a number of a row in a tile again, in operations of products: it is written to shared memory
/// and read there; a function's takes more.
constexpr int64_t kOperationsForNumber = 8, kOperationsForFunction = 32;
/// Products by so many numbers, with so few rows or columns, are made with the rest of the row.
constexpr int64_t kMostSwept = 256, kFewSwept = 4;

/// Numbers of a product's rows, of both sides, that a block keeps of a tile, and of an outer sum that it keeps at all.
constexpr int64_t kMostInBlock = 1024, kMostOuterInBlock = 16384;

class Tiler {
public:
  Tiler(func::FuncOp function, bool blocks) : function(function), blocks(blocks), members(function) { findStages(); }
  unsigned run();

private:
  /// A sweep over members: its map (`all` for one over the members alone), and how many sums are made one after the
  /// other before it.
  using Sweep = std::pair<Attribute, int64_t>;
  /// Where a value of members ends: the sweeps that need it. Not if it has to be in memory.
  struct Ends {
    llvm::SetVector<Sweep> sweeps;
    std::string obstacle;
  };

  void findStages();
  /// The sweep over all members that computes or writes a value.
  Sweep sweepOverAll(Operation *op) const {
    return {FlatSymbolRefAttr::get(op->getContext(), kAllMap), stages.lookup(op)};
  }
  Ends findEnds(Value value);
  /// Whether a value of members is in memory whatever becomes of the outer sums; asked when all products are decided.
  bool isStored(Value value);
  std::string whyNot(ContractOp op, Ends &ends);
  int64_t operationsOf(Operation *op);
  bool isNarrow(ContractOp op, bool isOuter);
  void leaveNarrow(SmallVectorImpl<std::pair<ContractOp, ReduceOp>> &tiled);
  /// Why a target with tiles in blocks cannot make a product in the sweeps that need it; empty: it can.
  std::string whyNotInBlock(ContractOp op);
  std::string whyNotInBlock(ContractOp outer, ReduceOp sum);
  void mark(ContractOp op);
  void markOuter(ContractOp op, ReduceOp sum);

  func::FuncOp function;
  bool blocks;
  MemberProducts members;
  DenseMap<Operation *, Ends> accepted;
  DenseMap<Operation *, int64_t> stages; ///< sweeps along maps on the longest way to an operation
};

} // namespace

/// A sum moved back to its own members is a further walk of its sweep; by any other way, and behind a product of
/// owners, it is needed by another sweep.
void Tiler::findStages() {
  struct Stage {
    int64_t later = 0; ///< of a sweep that needs the value
    int64_t own = 0;   ///< of one that needs it back along `map`
    Attribute map;
  };
  DenseMap<Operation *, Stage> found;
  for (Operation &op : function.getBody().front()) {
    Stage stage;
    for (Value operand : op.getOperands()) {
      Stage of = found.lookup(operand.getDefiningOp());
      if (stage.map && of.map && stage.map != of.map)
        stage.own = stage.later, of.own = of.later;
      stage.later = std::max(stage.later, of.later);
      stage.own = std::max(stage.own, of.own);
      if (of.map)
        stage.map = of.map;
    }
    auto reduce = dyn_cast<ReduceOp>(op);
    auto move = dyn_cast<BroadcastOp>(op);
    if (move || isa<ContractOp>(op)) {
      int64_t at = move && move.getAlongAttr() == stage.map ? stage.own : stage.later;
      stage = {at, at, {}};
    } else if (reduce && reduce.getAlong() != kAllMap) {
      stage = {stage.later + 1, stage.later, reduce.getAlongAttr()};
    }
    found[&op] = stage;
    stages[&op] = stage.own;
  }
}

bool Tiler::isStored(Value value) {
  if (!MemberProducts::isMadeHere(value))
    return true;
  auto isApart = [&](Operation *op) {
    auto contract = dyn_cast<ContractOp>(op);
    return contract && !accepted.contains(op) && (members.isRowProduct(contract) || members.findOuterSum(contract));
  };
  return isApart(value.getDefiningOp()) || llvm::any_of(value.getUsers(), [&](Operation *user) {
           return isApart(user) || user->hasTrait<OpTrait::IsTerminator>() || isa<BroadcastOp>(user);
         });
}

Tiler::Ends Tiler::findEnds(Value value) {
  Ends ends;
  SmallVector<Value> pending{value};
  DenseSet<Value> seen;
  auto stop = [&](const Twine &why) { ends.obstacle = why.str(); };
  while (!pending.empty() && ends.obstacle.empty()) {
    Value at = pending.pop_back_val();
    if (!seen.insert(at).second)
      continue;
    if (MemberProducts::isKept(at)) { // A sweep over all members writes it, and others read it.
      ends.sweeps.insert(sweepOverAll(at.getDefiningOp()));
      continue;
    }
    for (Operation *user : at.getUsers()) {
      auto contract = dyn_cast<ContractOp>(user);
      if (auto known = accepted.find(user); known != accepted.end()) {
        ends.sweeps.insert_range(known->second.sweeps);
      } else if (contract && (members.isRowProduct(contract) || members.findOuterSum(contract))) {
        stop("a product that needs it is made apart");
      } else if (auto reduce = dyn_cast<ReduceOp>(user)) {
        bool all = reduce.getAlong() == kAllMap;
        if (!all && !isOnDynamicSpace(reduce.getType()))
          stop("a sum for each element of a small space needs it");
        else if (getFeatureElements(reduce.getType()) > kWidestSum)
          stop("it is summed in rows of more than " + Twine(kWidestSum) + " numbers");
        else
          ends.sweeps.insert({reduce.getAlongAttr(), stages.lookup(reduce)});
      } else if (isa<mpdfg::MovementOpInterface>(user) && !isa<NormOp>(user)) {
        stop("it is read through a map");
      } else if (user->hasTrait<OpTrait::IsTerminator>()) {
        ends.sweeps.insert(sweepOverAll(at.getDefiningOp())); // A sweep over all members writes it.
      } else if (user->getNumResults() != 1 || user->getNumRegions() != 0) {
        stop("it is needed by another kernel");
      } else {
        if (auto norm = dyn_cast<NormOp>(user))
          ends.sweeps.insert({norm.getAlongAttr(), stages.lookup(norm)});
        pending.push_back(user->getResult(0));
      }
    }
  }
  return ends;
}

std::string Tiler::whyNotInBlock(ContractOp op) {
  int64_t numbers = getFeatureElements(op.getLhs().getType()) + getFeatureElements(op.getType());
  int64_t most = kMostInBlock * 32 / op.getType().getElementTypeBitWidth();
  if (numbers > most)
    return "a tile of rows of " + std::to_string(numbers) + " numbers does not fit a block, " + std::to_string(most) +
           " would";
  // Tiles are taken by different blocks, so what is known of all members of an owner is not known to them.
  SmallVector<Value> pending{op.getResult()};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value at = pending.pop_back_val();
    if (!seen.insert(at).second || MemberProducts::isKept(at))
      continue;
    for (Operation *user : at.getUsers()) {
      if (accepted.contains(user) || user->getNumResults() != 1)
        continue;
      if (isa<NormOp>(user))
        return "a softmax over the members needs it, and they are in the tiles of several blocks";
      if (auto reduce = dyn_cast<ReduceOp>(user)) {
        ReduceKind kind = reduce.getKind();
        if (isStatistic(kind))
          return "a log-sum-exp over the members needs it, and they are in the tiles of several blocks";
        if (reduce.getAlong() == kAllMap && kind != ReduceKind::Sum && kind != ReduceKind::Mean)
          return "blocks leave sums over everything, no largest or least numbers";
        continue;
      }
      for (Value operand : user->getOperands())
        if (!MemberProducts::isKept(operand) && llvm::any_of(members.computationOf(operand), llvm::IsaPred<NormOp>))
          return "a softmax over the members weighs it, and they are in the tiles of several blocks";
      pending.push_back(user->getResult(0));
    }
  }
  return "";
}

std::string Tiler::whyNotInBlock(ContractOp outer, ReduceOp sum) {
  int64_t rows = getFeatureElements(outer.getLhs().getType()) + getFeatureElements(outer.getRhs().getType()),
          held = getFeatureElements(sum.getType());
  if (held > kMostOuterInBlock || rows > kMostInBlock * 32 / outer.getType().getElementTypeBitWidth())
    return "a block does not hold a sum of " + std::to_string(held) + " numbers of outer products";
  return "";
}

/// What making a value of a member again takes, in operations.
int64_t Tiler::operationsOf(Operation *op) {
  auto product = dyn_cast<ContractOp>(op);
  if (!blocks || (product && members.isRowProduct(product)))
    return product ? product.flopsPerRow() : 0;
  if (isa<ReshapeOp, DetachOp>(op))
    return 0;
  int64_t numbers = getFeatureElements(op->getResult(0).getType());
  if (product)
    return std::max(product.flopsPerRow(), numbers * kOperationsForNumber);
  if (auto fold = dyn_cast<FoldOp>(op))
    numbers = getFeatureElements(fold.getInput().getType());
  auto unary = dyn_cast<UnaryOp>(op);
  bool isFunction = unary && unary.flopsPerRow() > 2 * numbers;
  return numbers * (isFunction ? kOperationsForFunction : kOperationsForNumber);
}

/// Whether so few numbers are multiplied that a tile would take longer to bring them into its form.
bool Tiler::isNarrow(ContractOp op, bool isOuter) {
  ContractionRoles roles(op);
  auto product = [&](ArrayRef<int64_t> labels) { return roles.sizeOf(labels); };
  int64_t k = product(isOuter ? roles.m : roles.k), n = product(roles.n);
  return roles.batch.empty() && (isOuter || roles.m.empty()) && k * n <= kMostSwept && std::min(k, n) <= kFewSwept;
}

/// Takes out narrow products that no others are made with.
void Tiler::leaveNarrow(SmallVectorImpl<std::pair<ContractOp, ReduceOp>> &tiled) {
  DenseMap<Operation *, llvm::SetVector<Operation *>> inSweep; // what the sweeps that need it compute
  DenseSet<Operation *> wide;
  // Each thread would hold the whole of a row whose axis is cut or joined.
  auto isRearranged = [](Operation *made) { return isa<ConcatOp, SliceOp, TransposeOp>(made); };
  for (auto [op, sum] : tiled) {
    inSweep[op].insert(op);
    for (Value operand : op->getOperands())
      inSweep[op].insert_range(members.computationOf(operand));
    inSweep[op].insert_range(members.usersOf(op.getResult()));
    if (!isNarrow(op, bool(sum)) || llvm::any_of(inSweep[op], isRearranged))
      wide.insert(op);
  }
  for (size_t before = 0; before != wide.size();) {
    before = wide.size();
    for (auto [op, sum] : tiled)
      for (auto [other, otherSum] : tiled)
        if (wide.contains(op) != wide.contains(other) &&
            llvm::any_of(inSweep[op], [&](Operation *made) { return inSweep[other].contains(made); }))
          wide.insert(op), wide.insert(other);
  }
  llvm::erase_if(tiled, [&](std::pair<ContractOp, ReduceOp> entry) {
    ContractOp op = entry.first;
    if (wide.contains(op))
      return false;
    op->setAttr(mpk::kSweptAttr, UnitAttr::get(op.getContext()));
    accepted.erase(op);
    remarkMissed(
        op, DEBUG_TYPE, "tile", [] { return "the product is made with the rest of its row"; },
        [&] { return "it is of " + std::to_string(op.flopsPerRow()) + " operations"; });
    return true;
  });
}

std::string Tiler::whyNot(ContractOp op, Ends &ends) {
  ends = findEnds(op.getResult());
  if (!ends.obstacle.empty())
    return ends.obstacle;
  if (blocks)
    if (std::string reason = whyNotInBlock(op); !reason.empty())
      return reason;
  if (ends.sweeps.empty())
    return "nothing is summed of it";
  int64_t operations = 0, bytes = getFeatureElements(op.getType()) * op.getType().getElementTypeBitWidth() / 8;
  for (Operation *made : members.computationOf(op.getResult())) {
    if (isa<NormOp>(made))
      return "it needs a softmax over the members, which is known when all have been seen";
    operations += operationsOf(made);
  }
  if (blocks && op.flopsPerRow() > kOperationsForByteInBlock * bytes)
    return "a tile would take longer for its " + std::to_string(op.flopsPerRow()) +
           " operations for each member than to store and read " + std::to_string(bytes) + " bytes";
  operations *= int64_t(ends.sweeps.size()) - 1;
  if (operations > (blocks ? kOperationsForByteInBlock : kOperationsForByte) * bytes) {
    std::string reason = "it would be made " + std::to_string(ends.sweeps.size()) +
                         " times: " + std::to_string(operations) + " operations for each member to save " +
                         std::to_string(bytes) + " bytes";
    if (!blocks || !MemberProducts::isMadeHere(op.getLhs()))
      return reason;
    MemberProducts::keep(op.getResult());
    ends.sweeps.clear();
    ends.sweeps.insert(sweepOverAll(op));
    remarkMissed(
        op, DEBUG_TYPE, "tile", [] { return "the product's rows are stored by the one sweep that makes them"; },
        [&] { return reason; });
  }
  return "";
}

/// Replaces a contraction by one with its labels in the order of a matrix product.
void Tiler::mark(ContractOp op) {
  ContractionRoles roles(op);
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto joined = [](std::initializer_list<ArrayRef<int64_t>> lists) {
    SmallVector<int64_t> all;
    for (ArrayRef<int64_t> list : lists)
      llvm::append_range(all, list);
    return all;
  };
  SmallVector<int64_t> x = joined({roles.batch, roles.m, roles.k}), w = joined({roles.batch, roles.k, roles.n}),
                       y = joined({roles.batch, roles.m, roles.n});
  Value lhs = inLabelOrder(b, loc, op.getLhs(), op.getLhsLabels(), x);
  Value rhs = inLabelOrder(b, loc, op.getRhs(), op.getRhsLabels(), w);
  SmallVector<int64_t> features;
  for (int64_t label : y)
    features.push_back(getFeatureShape(op.getType())[llvm::find(op.getOutLabels(), label) - op.getOutLabels().begin()]);
  auto type = cast<RankedTensorType>(op.getType());
  auto product = ContractOp::create(
      b, loc, getTensorOn(getResidency(type), type.getDimSize(0), features, type.getElementType()), lhs, x, rhs, w, y);
  product->setAttr(mpk::kTileAttr, b.getUnitAttr());
  if (MemberProducts::isKept(op.getResult()))
    MemberProducts::keep(product.getResult());
  op.getResult().replaceAllUsesWith(inLabelOrder(b, loc, product.getResult(), y, op.getOutLabels()));
  op.erase();
}

/// The same for an outer product; the sum comes before the order of its axes is restored.
void Tiler::markOuter(ContractOp op, ReduceOp sum) {
  SmallVector<int64_t> out(op.getOutLabels()), order;
  ContractionRoles roles(op);
  for (ArrayRef<int64_t> labels : {ArrayRef(roles.batch), ArrayRef(roles.m), ArrayRef(roles.n)})
    llvm::append_range(order, labels);
  mark(op);
  if (order == out)
    return;
  Value moved = sum.getInput(); // a transpose that restores the order
  OpBuilder b(sum);
  Value product = moved.getDefiningOp()->getOperand(0);
  auto type = cast<RankedTensorType>(sum.getType());
  Value total = ReduceOp::create(b, sum.getLoc(),
                                 RankedTensorType::get(getFeatureShape(product.getType()), type.getElementType()),
                                 sum.getKindAttr(), product, sum.getAlongAttr());
  sum.getResult().replaceAllUsesWith(inLabelOrder(b, sum.getLoc(), total, order, out));
  sum.erase();
  moved.getDefiningOp()->erase();
}

unsigned Tiler::run() {
  NarrowValues narrow(function, members);
  if (blocks)
    narrow.keepAroundSoftmaxes();
  narrow.keepForWalks([&](Operation *op) { return operationsOf(op); });
  SmallVector<ContractOp> contractions;
  function.walk([&](ContractOp op) { contractions.push_back(op); });
  SmallVector<std::pair<ContractOp, ReduceOp>> tiled;
  // Visit users before producers.
  for (ContractOp op : llvm::reverse(contractions)) {
    if (ReduceOp sum = members.findOuterSum(op)) {
      if (std::string reason = blocks ? whyNotInBlock(op, sum) : std::string(); !reason.empty()) {
        remarkMissed(
            op, DEBUG_TYPE, "tile", [] { return "the factors of outer products are stored for all members"; },
            [&] { return reason; });
        continue;
      }
      accepted[op].sweeps.insert(sweepOverAll(op));
      tiled.push_back({op, sum});
      continue;
    }
    if (!members.isRowProduct(op))
      continue;
    Ends ends;
    if (std::string reason = whyNot(op, ends); !reason.empty()) {
      remarkMissed(
          op, DEBUG_TYPE, "tile", [] { return "the product's rows are stored for all members"; },
          [&] { return reason; });
      continue;
    }
    accepted[op] = std::move(ends);
    tiled.push_back({op, {}});
  }
  // One that goes may store the factors of another.
  for (size_t before = 0; before != tiled.size();) {
    before = tiled.size();
    llvm::erase_if(tiled, [&](std::pair<ContractOp, ReduceOp> entry) {
      auto [op, sum] = entry;
      if (!sum || !isStored(op.getLhs()) || !isStored(op.getRhs()))
        return false;
      remarkMissed(
          op, DEBUG_TYPE, "tile", [] { return "outer products are summed from the rows of their factors in memory"; },
          [] { return "both factors are stored anyway"; });
      accepted.erase(op);
      return true;
    });
  }
  if (blocks)
    leaveNarrow(tiled);
  narrow.forget([&](Operation *op) { return accepted.contains(op); });
  for (auto [op, sum] : tiled) {
    remarkPassed(op, DEBUG_TYPE, "tile", [&] {
      return sum ? "outer products are summed a few members at a time"
                 : "product is made a few members at a time, in the sweeps that need it";
    });
    if (sum)
      markOuter(op, sum);
    else
      mark(op);
  }
  return tiled.size();
}

namespace {

struct TileProducts : public gnnc::impl::TileProductsBase<TileProducts> {
  using TileProductsBase::TileProductsBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      numTiled += Tiler(function, blocks).run();
  }
};

} // namespace
