//===- Anchors.cpp - Which values are kept --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first step of Grouping: a value is computed where it is needed, again for each need, unless it is an anchor.
// Anchors are reductions, outputs, operands of products, and what is read through a map (by a broadcast along another
// map than its user's sweep). A softmax is an anchor only where it is seen otherwise than by a member of a sweep along
// its own map. A sum of products that rows are cut from is one, in place of the products. A degree is at hand with the
// graph, as the difference of two offsets of its map's index; what is made of it alone is made where it is used.
//
//===----------------------------------------------------------------------===//

#include "Fusion/Grouping.h"
#include "Remarks.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Analysis/CostModel.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "fuse-message-passing"

namespace {

/// A product of shared values that takes more than the launch of a kernel would: each lane would hold factors as a
/// whole.
constexpr int64_t kLongShared = 4096;
/// Numbers of a row that is added up within a sweep that makes it.
constexpr int64_t kWidestFolded = 2048;
/// Terms of a sum count as so many operations: what is summed is computed too, and lanes exchange their parts.
constexpr int64_t kOperationsForTerm = 8;
/// Numbers of a row that are kept rather than have a long body go on: to write and to read them takes less than what
/// such a body reads anyway.
constexpr int64_t kFewNumbers = 32;
/// Rows so many times as wide as one that is joined: what it takes to keep that does not count beside them.
constexpr int64_t kMuchWider = 8;
/// Shorter rows are a few registers of each lane, whatever they are joined of.
constexpr int64_t kLeastKept = 512;
int64_t operationsOfShared(Operation *op) {
  if (op->getNumResults() != 1 || getResidency(op->getResult(0).getType()))
    return 0;
  if (auto product = dyn_cast<ContractOp>(op))
    return product.flopsPerRow();
  auto fold = dyn_cast<FoldOp>(op);
  return fold ? kOperationsForTerm * getFeatureElements(fold.getInput().getType()) : 0;
}

/// A part of a shared value, or several joined, that rows meet: in a sweep's body it would tie the rows' axis to its
/// own, so that no number of it could be worked on by itself. Kept in memory it is an operand like any other.
bool bindsAxes(Operation *op) {
  int64_t axis = -1;
  if (auto slice = dyn_cast<SliceOp>(op))
    axis = slice.getAxis();
  else if (auto join = dyn_cast<ConcatOp>(op))
    axis = join.getAxis();
  if (axis < 0 || getResidency(op->getResult(0).getType()) || getFeatureShape(op->getResult(0).getType())[axis] == 1)
    return false;
  SmallVector<Operation *> pending(op->getUsers());
  DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *user = pending.pop_back_val();
    if (!seen.insert(user).second || user->getNumResults() != 1)
      continue;
    if (getResidency(user->getResult(0).getType()))
      return true;
    llvm::append_range(pending, user->getUsers());
  }
  return false;
}

/// Whether an operation on rows of the same space has an operand or a result that is much wider than a row of
/// `numbers`.
bool meetsWideRows(Operation *op, int64_t numbers) {
  auto isWide = [&](Value value) {
    int64_t own = getFeatureElements(value.getType());
    return getResidency(value.getType()) && own > kWidestFolded && own >= kMuchWider * numbers;
  };
  return isa<BinaryOp, ContractOp>(op) && (isWide(op->getResult(0)) || llvm::any_of(op->getOperands(), isWide));
}

/// A row that is joined or cut, and from which much wider rows are computed or which is computed from such, in one
/// sweep: each lane would have all parts of its axis, and little of the axes of the wide rows.
bool bindsWideRows(Value row, bool isCut) {
  FlatSymbolRefAttr rows = getResidency(row.getType());
  int64_t numbers = getFeatureElements(row.getType());
  SmallVector<Operation *> pending;
  auto follow = [&](Value value) {
    if (!isCut)
      llvm::append_range(pending, value.getUsers());
    else if (Operation *op = value.getDefiningOp())
      pending.push_back(op);
  };
  DenseSet<Operation *> seen;
  if (!rows || numbers < kLeastKept)
    return false;
  for (follow(row); !pending.empty();) {
    Operation *op = pending.pop_back_val();
    if (!seen.insert(op).second || op->getNumResults() != 1 || isa<ReduceOp, BroadcastOp>(op) || mpk::isFormed(op) ||
        getResidency(op->getResult(0).getType()) != rows)
      continue;
    if (meetsWideRows(op, numbers))
      return true;
    if (isCut)
      llvm::for_each(op->getOperands(), follow);
    else
      follow(op->getResult(0));
  }
  return false;
}

/// How many products that are read nowhere else a sum of them and of shared rows has; 0 if it has other terms.
unsigned productsSummed(Value sum) {
  unsigned products = 0;
  SmallVector<Value> terms = {sum};
  while (!terms.empty()) {
    Value term = terms.pop_back_val();
    if (auto add = term.getDefiningOp<BinaryOp>(); add && add.getKind() == BinaryKind::Add) {
      if (term != sum && !term.hasOneUse())
        return 0;
      llvm::append_range(terms, add->getOperands());
      continue;
    }
    if (auto move = term.getDefiningOp<BroadcastOp>(); move && move.getAlong() == kAllMap)
      continue;
    if (!getResidency(term.getType()))
      continue;
    Operation *op = term.getDefiningOp();
    if (!op || !mpk::isFormed(op) || !term.hasOneUse())
      return 0;
    ++products;
  }
  return products;
}

} // namespace

bool gnnc::isAllReduction(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getAlong() == kAllMap;
}

FlatSymbolRefAttr gnnc::getMemberMap(Operation *op) {
  if (isAllReduction(op))
    return {};
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getAlongAttr();
  if (auto norm = dyn_cast<NormOp>(op))
    return norm.getAlongAttr();
  if (auto degree = dyn_cast<DegreeOp>(op))
    return degree.getAlongAttr();
  return {};
}

FlatSymbolRefAttr gnnc::getOwnerSpace(Operation *op) {
  if (isAllReduction(op))
    return getResidency(op->getOperand(0).getType());
  if (auto norm = dyn_cast<NormOp>(op)) {
    SymbolTableCollection symbols;
    return symbols.lookupNearestSymbolFrom<MapOp>(op, norm.getAlongAttr()).getToAttr();
  }
  return getResidency(op->getResult(0).getType());
}

void BodyWalk::run(Value root, FlatSymbolRefAttr member) {
  if (!seen.insert({root, member}).second)
    return;
  Operation *op = root.getDefiningOp();
  if (auto move = dyn_cast_or_null<BroadcastOp>(op)) {
    if (move.getAlong() == kAllMap)
      return run(move.getInput(), {}); // A shared value meets every row.
    if (member && move.getAlongAttr() == member)
      return run(move.getInput(), {}); // Back to the owner: no movement at all.
    visit(move.getInput(), member, move);
    return;
  }
  if (!visit(root, member, {}) || !op)
    return;
  operands(op, member);
}

void BodyWalk::operands(Operation *op, FlatSymbolRefAttr member) {
  if (FlatSymbolRefAttr along = getMemberMap(op))
    member = along;
  else if (isAllReduction(op))
    member = {};
  for (Value operand : op->getOperands())
    run(operand, member);
}

/// Makes the operation behind a value an anchor, if it needs to be one.
void Grouping::require(Value value) {
  Operation *op = value.getDefiningOp();
  if (isView(op))
    return require(op->getOperand(0));
  if (op && !mpk::isFormed(op) && anchors.insert(op))
    pending.push_back(op);
}

void Grouping::requireRows(Value value) {
  if (!isAtHand(value.getDefiningOp()))
    require(value);
}

/// Joins of joins are one row of many parts; what is joined of more than a body may have is kept part by part.
void Grouping::requireLongJoins(func::FuncOp function) {
  DenseMap<Value, int64_t> parts; // 1 if not there
  auto partsOf = [&](Value value) {
    auto it = parts.find(value);
    return it == parts.end() || anchors.contains(value.getDefiningOp()) ? int64_t(1) : it->second;
  };
  for (Operation &op : function.getBody().front()) {
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      int64_t all = 0;
      for (Value input : concat.getInputs())
        all += partsOf(input);
      if (all > kMostParts && all > int64_t(concat.getInputs().size())) {
        remarkPassed(concat, DEBUG_TYPE, "join", [&] {
          return "rows are kept before they are joined: " + std::to_string(all) + " parts are more than " +
                 std::to_string(kMostParts);
        });
        for (Value input : concat.getInputs())
          if (partsOf(input) > 1) {
            require(input);
            apart.insert(input.getDefiningOp());
          }
        all = concat.getInputs().size();
      }
      parts[concat.getResult()] = all;
    } else if (op.getNumResults() == 1 && !isa<ReduceOp, BroadcastOp, SliceOp>(op) && !mpk::isFormed(&op)) {
      int64_t most = 1;
      for (Value operand : op.getOperands())
        most = std::max(most, partsOf(operand));
      if (most > 1)
        parts[op.getResult(0)] = most;
    }
  }
}

/// Where rows are so wide that registers do not hold them, and are added up to a few numbers that are summed over all
/// owners (a bias's gradient, where rows have an axis of samples), the sweep that makes them works on parts of them.
/// That takes no memory: only rows that a product has in memory anyway are left to a sweep of their own.
void Grouping::requireWideFolds(func::FuncOp function) {
  for (auto sum : function.getOps<ReduceOp>()) {
    auto fold = sum.getInput().getDefiningOp<FoldOp>();
    if (sum.getAlong() != kAllMap || !fold || getFeatureElements(fold.getInput().getType()) <= kWidestFolded)
      continue;
    Operation *made = fold.getInput().getDefiningOp();
    if (!made || llvm::none_of(fold.getInput().getUsers(), mpk::isFormed))
      continue;
    require(fold.getInput());
    apart.insert(made);
  }
}

void Grouping::requirePartsOfWideRows(func::FuncOp function) {
  auto keep = [&](Value row, const char *what) {
    Operation *op = row.getDefiningOp();
    if (!op || isa<BroadcastOp>(op) || mpk::isFormed(op) || anchors.contains(op))
      return;
    remarkPassed(op, DEBUG_TYPE, "join", [&] { return std::string(what) + " row is kept beside much wider ones"; });
    require(row);
    apart.insert(op);
  };
  for (Operation &op : function.getBody().front())
    if (auto join = dyn_cast<ConcatOp>(op); join && bindsWideRows(join.getResult(), /*isCut=*/false)) {
      keep(join.getResult(), "a joined");
    } else if (auto slice = dyn_cast<SliceOp>(op)) {
      Value row = slice.getInput();
      while (isView(row.getDefiningOp()))
        row = row.getDefiningOp()->getOperand(0);
      if (bindsWideRows(row, /*isCut=*/true))
        keep(row, "a cut");
    }
}

/// The gates of a recurrent cell are cut from the sum of two products. Each of its sweeps would read both products; the
/// sum is one row, and the later product's epilogue can write it in place of its own.
void Grouping::requireCutSums(func::FuncOp function) {
  for (auto slice : function.getOps<SliceOp>()) {
    Value row = slice.getInput();
    while (isView(row.getDefiningOp()))
      row = row.getDefiningOp()->getOperand(0);
    Operation *sum = row.getDefiningOp();
    if (!sum || anchors.contains(sum) || productsSummed(row) < 2)
      continue;
    remarkPassed(sum, DEBUG_TYPE, "join", [] { return "a sum of products is kept in place of them"; });
    require(row);
    apart.insert(sum);
  }
}

void Grouping::findAnchors(func::FuncOp function, bool fuse) {
  if (fuse) {
    requireCutSums(function);
    requireLongJoins(function);
    requirePartsOfWideRows(function);
    requireWideFolds(function);
  }
  for (Operation &op : function.getBody().front()) {
    if (isa<ReduceOp>(op) || (isa<DegreeOp>(op) && !readDegrees) || op.hasAttr(kKeepAttr))
      require(op.getResult(0));
    if (mpk::isFormed(&op))
      for (Value operand : op.getOperands())
        require(operand);
    if (auto product = dyn_cast<ContractOp>(op);
        product && (mpk::isTiled(&op) || op.hasAttr(mpk::kSweptAttr)) && !getResidency(product.getRhs().getType()))
      require(product.getRhs()); // A weight is multiplied where it is in memory.
    if (isa<func::ReturnOp>(op))
      for (Value value : op.getOperands())
        require(value);
    if (op.getNumResults() != 1 || isa<BroadcastOp, ConstantOp, IotaOp>(op) || isView(&op) || mpk::isFormed(&op))
      continue;
    Type type = op.getResult(0).getType();
    bool large = !getResidency(type) && getFeatureElements(type) > kLargeShared;
    if (fuse && large && !anchors.contains(&op))
      remarkMissed(
          &op, DEBUG_TYPE, "recompute", [] { return "shared value is kept in memory"; },
          [&] {
            return std::to_string(getFeatureElements(type)) +
                   " numbers are too many to compute in each block of each kernel";
          });
    bool binds = bindsAxes(&op), isLong = operationsOfShared(&op) > kLongShared;
    if (fuse && isLong && !large && !anchors.contains(&op))
      remarkMissed(
          &op, DEBUG_TYPE, "recompute", [] { return "shared value is kept in memory"; },
          [&] {
            return std::to_string(operationsOfShared(&op)) +
                   " operations are too many to compute in each block of each kernel";
          });
    if (fuse && binds && !large && !anchors.contains(&op))
      remarkMissed(
          &op, DEBUG_TYPE, "recompute", [] { return "shared value is kept in memory"; },
          [] { return "a sweep that cut or joined an axis could not work on each number of its rows by itself"; });
    if (!fuse || large || binds || isLong)
      require(op.getResult(0));
  }
  requireOperands();
  // What that leaves to compute in one place may be more than a kernel can have; cutting makes new anchors.
  for (unsigned i = 0; fuse && i < anchors.size(); ++i) {
    cutLongBody(anchors[i]);
    requireOperands();
  }
  for (auto degree : function.getOps<DegreeOp>())
    if (isAtHand(degree))
      remarkPassed(degree, DEBUG_TYPE, "degree", [&] {
        return ("degree is read off the index of @" + degree.getAlong() + " where it is used").str();
      });
    else if (readDegrees)
      remarkMissed(
          degree, DEBUG_TYPE, "degree", [] { return "degree is made by a sweep"; },
          [] { return "an output, a view or a product has it in memory"; });
}

/// Makes anchors of what the pending anchors need to have in memory.
void Grouping::requireOperands() {
  BodyWalk walk;
  auto visit = [&](Value value, FlatSymbolRefAttr member, BroadcastOp through) {
    Operation *op = value.getDefiningOp();
    if (through) {
      requireRows(value);
      return false;
    }
    if (auto norm = dyn_cast_or_null<NormOp>(op); norm && norm.getAlongAttr() != member && !anchors.contains(op)) {
      // Seen from elsewhere: keep two numbers for each owner, not one for each member (R8).
      auto [it, fresh] = recomputed.try_emplace(op);
      if (fresh) {
        OpBuilder b(op->getContext());
        b.setInsertionPointAfter(op);
        it->second.value = norm.recompute(b);
        for (Operation *made = op->getNextNode(), *end = it->second.value.getDefiningOp(); made != end;
             made = made->getNextNode())
          if (isa<ReduceOp>(made)) {
            it->second.statistics.push_back(made);
            require(made->getResult(0));
          }
        remarkPassed(op, DEBUG_TYPE, "recompute",
                     [] { return "statistics of each owner are kept, not numbers of members"; });
      }
      walk.run(Value(it->second.value), member);
      return false;
    }
    if (isView(op)) { // What it views is in memory.
      require(value);
      return false;
    }
    return op && !mpk::isFormed(op) && !anchors.contains(op);
  };
  walk.visit = visit;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (BroadcastOp move = getMove(op->getResult(0))) // A moved copy that is kept: its source is read through the map.
      requireRows(move.getInput());
    else
      walk.operands(op, {});
  }
}

/// Keeps values in memory where an anchor's body would be longer than a kernel may be. The body's values are taken in
/// an order in which each comes after those it needs. Such an order may be cut anywhere, and what is needed on both
/// sides is kept; it is cut in the second half of what one kernel may have, where that is least. Before that, a long
/// body is cut where hardly anything is kept: a sum of what each of many layers adds is made layer by layer.
void Grouping::cutLongBody(Operation *anchor) {
  SmallVector<std::pair<Value, FlatSymbolRefAttr>> order;
  DenseMap<std::pair<Value, Attribute>, unsigned> places; // in the order
  int64_t statements = 0, unrolled = 0;
  bool isTiled = mpk::isTiled(anchor);
  // Depth first, without recursion: bodies may be long.
  struct Frame {
    Value value;
    FlatSymbolRefAttr member;
    SmallVector<std::pair<Value, FlatSymbolRefAttr>> needs;
  };
  auto isInner = [&](Operation *op) {
    return op && op->getNumResults() == 1 && !anchors.contains(op) && !mpk::isFormed(op) && !isView(op) &&
           !isa<ConstantOp, IotaOp, BroadcastOp>(op) && !isAtHand(op);
  };
  DenseSet<std::pair<Value, Attribute>> seen;
  auto needsOf = [&](Operation *op, FlatSymbolRefAttr member) {
    SmallVector<std::pair<Value, FlatSymbolRefAttr>> needs;
    if (FlatSymbolRefAttr along = getMemberMap(op))
      member = along;
    else if (isAllReduction(op))
      member = {};
    for (Value operand : op->getOperands()) {
      FlatSymbolRefAttr from = member;
      // Of movements, those that lead back to the owner or from a shared value are none in a body.
      while (auto move = operand.getDefiningOp<BroadcastOp>()) {
        if (move.getAlong() != kAllMap && move.getAlongAttr() != from)
          break;
        operand = move.getInput();
        from = {};
      }
      if (!getResidency(operand.getType()))
        from = {};
      if (isInner(operand.getDefiningOp()))
        needs.push_back({operand, from});
    }
    // The first operand is taken first: a sum of many terms is made term by term.
    std::reverse(needs.begin(), needs.end());
    return needs;
  };
  SmallVector<Frame> stack;
  stack.push_back({Value(), {}, needsOf(anchor, {})});
  while (!stack.empty()) {
    Frame &frame = stack.back();
    if (frame.needs.empty()) {
      if (frame.value) {
        places[{frame.value, frame.member}] = order.size();
        order.push_back({frame.value, frame.member});
        statements += statementsOf(frame.value.getDefiningOp());
        unrolled += unrolledOf(frame.value.getDefiningOp());
        isTiled |= mpk::isTiled(frame.value.getDefiningOp());
      }
      stack.pop_back();
      continue;
    }
    auto [value, member] = frame.needs.pop_back_val();
    if (seen.insert({value, member}).second)
      stack.push_back({value, member, needsOf(value.getDefiningOp(), member)});
  }
  // What is multiplied in tiles was found to fit as it is.
  const bool isTooLong = statements > mostStatements;
  if ((!isTooLong && unrolled <= kLongBody) || isTiled)
    return;

  SmallVector<unsigned> lastUse(order.size(), 0);
  for (auto [i, key] : llvm::enumerate(order))
    for (auto need : needsOf(key.first.getDefiningOp(), key.second))
      lastUse[places.lookup(need)] = i;
  for (auto need : needsOf(anchor, {}))
    lastUse[places.lookup(need)] = order.size();
  llvm::SetVector<unsigned> alive; // places whose values are needed later
  int64_t since = 0, unrolledSince = 0;
  std::optional<std::pair<int64_t, SmallVector<unsigned>>> best; // numbers that would be kept, and where
  unsigned bestPlace = 0, cuts = 0;
  for (unsigned i = 0; i < order.size(); ++i) {
    int64_t more = statementsOf(order[i].first.getDefiningOp());
    int64_t moreUnrolled = unrolledOf(order[i].first.getDefiningOp());
    bool isCheap = best && best->first <= kFewNumbers && unrolledSince + moreUnrolled > kLongBody;
    if (best && (isCheap || since + more > mostStatements)) {
      ++cuts;
      for (unsigned place : best->second)
        require(order[place].first);
      // Go on behind the cut.
      for (unsigned place : best->second)
        alive.remove(place);
      since = unrolledSince = 0;
      for (unsigned place = bestPlace + 1; place < i; ++place) {
        since += statementsOf(order[place].first.getDefiningOp());
        unrolledSince += unrolledOf(order[place].first.getDefiningOp());
      }
      best.reset();
    }
    since += more;
    unrolledSince += moreUnrolled;
    alive.remove_if([&](unsigned place) { return lastUse[place] <= i; });
    if (lastUse[i] > i)
      alive.insert(i);
    bool isLate = 2 * since >= mostStatements;
    if (!isLate && 2 * unrolledSince < kLongBody)
      continue;
    int64_t numbers = 0;
    for (unsigned place : alive)
      numbers += getFeatureElements(order[place].first.getType());
    if (numbers > kFewNumbers && !(isTooLong && isLate))
      continue;
    if (!best || numbers <= best->first) {
      best = {numbers, llvm::to_vector(alive)};
      bestPlace = i;
    }
  }
  if (cuts == 0)
    return;
  remarkPassed(anchor, DEBUG_TYPE, "cut", [&] {
    return "what it is computed from is kept in parts: a kernel of " + std::to_string(statements) +
           " statements would be " +
           (isTooLong ? "longer than " + std::to_string(mostStatements) : std::string("long"));
  });
}
