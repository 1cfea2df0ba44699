//===- HoistElementwise.cpp - Cheap work moves before a broadcast if it pays ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R1 and R2 on everything but products: f(g(x), g(y)) -> g(f(x, y)), g being the broadcast along one map. A largest
// value that can be lifted along a map is decided on as a whole, with all that it alone is made of. Where it stays, a
// sweep reads its operands through the map and computes it for each member; lifted, it is computed and written once for
// each element of the map's target, and the sweep reads it alone:
//
//   saved    members x (bytes no longer gathered - bytes gathered instead + operations)
//   spent    owners x (bytes read + bytes written)
//
// Sweeps along the very map compute it once for each owner anyway, so there it moves only if fewer bytes are read.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "gnnc/Analysis/CostModel.h"
#include "gnnc/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace gnnc {
#define GEN_PASS_DEF_HOISTELEMENTWISE
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "hoist-elementwise"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// What a graph is taken to look like as long as it is not known: members for each owner, and elements of a static
/// space.
constexpr int64_t kMembersPerOwner = 8, kMembersPerType = 1024;

/// The price of lifting a value, in bytes for each owner.
struct Price {
  int64_t saved = 0, spent = 0;
};

struct HoistElementwise : public gnnc::impl::HoistElementwiseBase<HoistElementwise> {
  using HoistElementwiseBase::HoistElementwiseBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // What replaces a value is read by operations after it, which have been decided on.
      LiftFinder lifts;
      readers.clear();
      Unread unread = unreadWhere(function, gradient);
      // From the end, so that a value is decided on before what it is made of.
      SmallVector<Operation *> operations;
      function.walk([&](Operation *op) {
        if (op->hasTrait<RowFunction>() && op->getNumResults() == 1 && getResidency(op->getResult(0).getType()))
          operations.push_back(op);
      });
      DenseSet<Operation *> decided; // parts of a larger value that stays
      for (Operation *op : llvm::reverse(operations)) {
        if (!op->use_empty() && !decided.contains(op))
          visit(op, unread, decided, lifts);
        // What it alone was made of is unused then too, and not hoisted once more.
        if (op->use_empty()) {
          lifts.forget(op);
          readers.erase(op->getResult(0));
          op->erase();
        }
      }
    }
  }

  void visit(Operation *op, Unread unread, DenseSet<Operation *> &decided, LiftFinder &lifts) {
    Value value = op->getResult(0);
    FlatSymbolRefAttr map = lifts.find(op, value);
    if (!map)
      return;
    Price price = findPrice(value, map);
    auto numbers = [&] {
      return std::to_string(price.saved) + " bytes saved, " + std::to_string(price.spent) + " spent for each element";
    };
    if (price.saved <= price.spent) {
      remarkMissed(
          op, DEBUG_TYPE, "hoist",
          [&] { return (op->getName().getStringRef() + " stays behind the broadcast along @" + map.getValue()).str(); },
          numbers);
      forEachPart(value, [&](Operation *part) { decided.insert(part); });
      return;
    }
    OpBuilder b(op);
    Value early = Lifting(op, map, unread).lift(b, value);
    Value moved = BroadcastOp::create(b, op->getLoc(), value.getType(), early, map, b.getF64FloatAttr(0));
    remarkPassed(op, DEBUG_TYPE, "hoist", [&] {
      return (op->getName().getStringRef() + " moves before the broadcast along @" + map.getValue() + ": ").str() +
             numbers();
    });
    value.replaceAllUsesWith(moved);
    ++numHoisted;
  }

  /// The operations on the value's own space that it is made of, itself included.
  static void forEachPart(Value value, function_ref<void(Operation *)> visit) {
    DenseSet<Operation *> seen;
    SmallVector<Value> pending{value};
    while (!pending.empty()) {
      Operation *op = pending.pop_back_val().getDefiningOp();
      if (!op || isa<BroadcastOp>(op) || !getResidency(op->getResult(0).getType()) || !seen.insert(op).second)
        continue;
      visit(op);
      llvm::append_range(pending, op->getOperands());
    }
  }

  static int64_t rowBytes(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return getFeatureElements(type) * type.getElementTypeBitWidth() / 8;
  }

  Price findPrice(Value value, FlatSymbolRefAttr map) {
    llvm::SetVector<Operation *> parts;
    llvm::SetVector<BroadcastOp> moves;
    int64_t operations = 0;
    forEachPart(value, [&](Operation *op) {
      parts.insert(op);
      if (auto cost = dyn_cast<CostOpInterface>(op))
        operations += cost.flopsPerRow();
      for (Value operand : op->getOperands())
        if (auto move = getMove(operand))
          moves.insert(move);
    });
    int64_t read = 0, freed = 0, written = rowBytes(value);
    DenseSet<Value> sources;
    bool replaces = false;
    for (BroadcastOp move : moves) {
      Value source = move.getInput();
      if (sources.insert(source).second)
        read += rowBytes(source);
      if (llvm::all_of(move->getUsers(), [&](Operation *user) { return parts.contains(user); })) {
        freed += rowBytes(source);
        replaces |= source.getDefiningOp() && source.hasOneUse() && rowBytes(source) >= written;
      }
    }
    if (seenByOwnersOnly(value, map))
      return {read, written};
    // What makes a value that nobody else needs can write this one in its place.
    if (replaces && sources.size() == 1)
      read = written = 0;
    auto source = cast<RankedTensorType>(typeWhere(value.getDefiningOp(), map, value.getType()));
    int64_t members = source.isDynamicDim(0) ? kMembersPerOwner : kMembersPerType;
    return {members * (freed - rowBytes(value) + kBytesPerOperation * operations), read + written};
  }

  /// Whether all that the value goes into are movements along the map itself, whose owners see it.
  bool seenByOwnersOnly(Value value, FlatSymbolRefAttr map) {
    Readers found = findReaders(value);
    return !found.others && (!found.along || found.along == map);
  }

  /// Who sees a value, or another row value that it goes into.
  struct Readers {
    FlatSymbolRefAttr along; ///< owners of this map
    bool others = false;     ///< owners of several maps, or no owners

    void add(Readers more) {
      others |= more.others || (along && more.along && along != more.along);
      along = along ? along : more.along;
    }
  };

  /// Values are asked for from the end, and what comes behind a value stays as it is: answers are kept.
  Readers findReaders(Value value) {
    if (auto it = readers.find(value); it != readers.end())
      return it->second;
    struct Frame {
      Value value;
      Value::user_iterator next;
      Readers found;
    };
    SmallVector<Frame> stack{{value, value.user_begin(), {}}}; // no recursion: chains may be long
    while (true) {
      Frame &frame = stack.back();
      if (frame.next == frame.value.user_end() || frame.found.others) {
        Readers found = readers[frame.value] = frame.found;
        stack.pop_back();
        if (stack.empty())
          return found;
        stack.back().found.add(found);
        continue;
      }
      Operation *user = *frame.next++;
      if (auto movement = dyn_cast<MovementOpInterface>(user))
        frame.found.add({movement.getMovementMap(), movement.isBroadcast()});
      if (user->getNumResults() != 1) { // An output, or a kernel of its own.
        frame.found.others = true;
        continue;
      }
      Value result = user->getResult(0);
      if (getResidency(result.getType()) != getResidency(frame.value.getType()))
        continue;
      if (auto it = readers.find(result); it != readers.end())
        frame.found.add(it->second);
      else
        stack.push_back({result, result.user_begin(), {}});
    }
  }

  DenseMap<Value, Readers> readers;
};

} // namespace
