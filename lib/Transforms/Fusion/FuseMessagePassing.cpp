//===- FuseMessagePassing.cpp - Everything between products becomes sweeps ===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grouping decides which values are kept and which sweep makes them; this pass writes the sweeps. For each group, in an
// order that respects its reads, the operations between its anchors and what it reads are cloned into a body, where a
// tensor on a space becomes one row of it:
//
//   a value that another kernel makes -> an operand, read by owner, by member, or through the broadcast's map
//   a broadcast along the sweep's own map -> nothing: the owner's value seen by its members
//   a degree -> an operand that targets read off the index of its map
//   reduce, norm, a degree that is kept -> mpk.accumulate, mpk.softmax, and the accumulation of ones
//
//===----------------------------------------------------------------------===//

#include "Fusion/Grouping.h"
#include "Fusion/KeepValues.h"
#include "Remarks.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Analysis/Halves.h"
#include "gnnc/Analysis/SweepPlan.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace gnnc {
#define GEN_PASS_DEF_FUSEMESSAGEPASSING
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;
using mpk::AccessAttr;
using mpk::AccessKind;

#define DEBUG_TYPE "fuse-message-passing"

/// Plans that are made to choose what to keep.
static constexpr unsigned kMostTrials = 4;

namespace {

/// Writes the body of one group's sweep.
class SweepWriter {
public:
  SweepWriter(const Grouping &grouping, unsigned number, const DenseMap<Value, Value> &kept, OpBuilder &builder)
      : grouping(grouping), number(number), group(grouping.getGroups()[number]), kept(kept), builder(builder),
        context(builder.getContext()) {}

  /// Emits the sweep at the builder's place; returns the values of `results` (all anchors of the group), in order.
  mpk::SweepOp write(ArrayRef<Operation *> results);

private:
  Value emit(Value value, FlatSymbolRefAttr member);
  Value compute(Operation *op, FlatSymbolRefAttr member);
  void findAgain(BinaryOp comparison, FlatSymbolRefAttr member);
  Value leaf(Value value, AccessAttr access);
  AccessAttr access(AccessKind kind) { return AccessAttr::get(context, kind); }
  AccessAttr gather(FlatSymbolRefAttr member, BroadcastOp move) {
    FloatAttr fill = move.getFill().isZero() ? FloatAttr() : move.getFillAttr();
    return AccessAttr::get(context, member ? AccessKind::GatherMember : AccessKind::GatherOwner, move.getAlongAttr(),
                           fill);
  }
  AccessAttr direct(Value value, FlatSymbolRefAttr member) {
    return access(!getResidency(value.getType()) ? AccessKind::Shared
                  : member                       ? AccessKind::Member
                                                 : AccessKind::Owner);
  }

  const Grouping &grouping;
  unsigned number;
  const Group &group;
  const DenseMap<Value, Value> &kept; ///< new values of what earlier kernels made
  OpBuilder &builder;
  MLIRContext *context;
  Block body;
  SmallVector<Value> operands;
  SmallVector<Attribute> accesses;
  DenseMap<std::pair<Value, Attribute>, Value> arguments; ///< (value, access) -> block argument
  DenseMap<std::pair<Value, Attribute>, Value> emitted;   ///< (value, member map) -> body value
};

} // namespace

Value SweepWriter::leaf(Value value, AccessAttr how) {
  Value operand = kept.lookup(value) ? kept.lookup(value) : value;
  auto [it, fresh] = arguments.try_emplace({operand, how});
  if (fresh) {
    operands.push_back(operand);
    accesses.push_back(how);
    it->second = body.addArgument(getElementType(value.getType()), value.getLoc());
  }
  return it->second;
}

Value SweepWriter::emit(Value value, FlatSymbolRefAttr member) {
  // A shared value looks the same from everywhere.
  if (!getResidency(value.getType()))
    member = {};
  if (Value known = emitted.lookup({value, member}))
    return known;
  Operation *op = value.getDefiningOp();
  Value result;
  if (auto move = dyn_cast_or_null<BroadcastOp>(op); move && move.getAlong() == kAllMap) {
    result = emit(move.getInput(), {});
  } else if (move && !(grouping.isAnchor(op) && !member)) {
    result = member && move.getAlongAttr() == member ? emit(move.getInput(), {})
                                                     : leaf(move.getInput(), gather(member, move));
  } else if (isa_and_nonnull<ConstantOp, IotaOp>(op)) {
    result = builder.clone(*op)->getResult(0);
  } else if (!op || isView(op) || mpk::isFormed(op) || grouping.isAtHand(op)) {
    result = leaf(value, direct(value, member));
  } else if (grouping.isAnchor(op)) {
    // Made by this very sweep: a reduction seen by its owner, a softmax or result seen by its member, or an owner's
    // value.
    bool here = grouping.getGroupOf(op) == std::optional<unsigned>(number) &&
                (isa<NormOp>(op) || group.memberResults.contains(op) ? member == group.along : !member);
    result = here ? compute(op, member) : leaf(value, direct(value, member));
  } else if (Value again = isa<NormOp>(op) ? grouping.getRecomputed(op) : Value();
             again && (getMemberMap(op) != member || grouping.readsStatistics(op, number))) {
    result = emit(again, member);
  } else {
    result = compute(op, member);
  }
  emitted[{value, member}] = result;
  return result;
}

/// Winners of a row: the largest number was found where rows lie otherwise, with numbers that were added in another
/// order, and may be equal to none that this body computes. So it is found again among those.
void SweepWriter::findAgain(BinaryOp comparison, FlatSymbolRefAttr member) {
  if (comparison.getKind() != BinaryKind::Eq && comparison.getKind() != BinaryKind::Ne)
    return;
  for (auto [side, other] :
       {std::pair(comparison.getLhs(), comparison.getRhs()), std::pair(comparison.getRhs(), comparison.getLhs())}) {
    auto fold = skipReshapes(side).getDefiningOp<FoldOp>();
    if (!fold || !getResidency(fold.getType()) ||
        (fold.getKind() != ReduceKind::Max && fold.getKind() != ReduceKind::Min) ||
        skipReshapes(fold.getInput()) != skipReshapes(other) || !grouping.isAnchor(fold))
      continue;
    Operation *row = skipReshapes(other).getDefiningOp();
    if (row && !isView(row) && !mpk::isFormed(row) && !grouping.isAtHand(row) && !grouping.isAnchor(row))
      emitted[{fold.getResult(), member}] = compute(fold, member);
  }
}

Value SweepWriter::compute(Operation *op, FlatSymbolRefAttr member) {
  Location loc = op->getLoc();
  Type type = getElementType(op->getResult(0).getType());
  return TypeSwitch<Operation *, Value>(op)
      .Case<ReduceOp>([&](ReduceOp reduce) -> Value {
        bool all = reduce.getAlong() == kAllMap;
        Value input = emit(reduce.getInput(), all ? FlatSymbolRefAttr() : reduce.getAlongAttr());
        return mpk::AccumulateOp::create(builder, loc, type, reduce.getKindAttr(), input,
                                         all ? builder.getUnitAttr() : UnitAttr());
      })
      .Case<DegreeOp>([&](DegreeOp) -> Value {
        Value one = ConstantOp::create(builder, loc, type, builder.getF64FloatAttr(1));
        return mpk::AccumulateOp::create(builder, loc, type, builder.getAttr<ReduceKindAttr>(ReduceKind::Sum), one,
                                         UnitAttr());
      })
      .Case<NormOp>([&](NormOp norm) -> Value {
        return mpk::SoftmaxOp::create(builder, loc, type, emit(norm.getInput(), norm.getAlongAttr()));
      })
      .Case<BroadcastOp>([&](BroadcastOp move) -> Value { return leaf(move.getInput(), gather(member, move)); })
      .Default([&](Operation *) -> Value {
        if (auto comparison = dyn_cast<BinaryOp>(op))
          findAgain(comparison, member);
        SmallVector<Value> inputs;
        for (Value operand : op->getOperands())
          inputs.push_back(emit(operand, member));
        OperationState state(loc, op->getName(), inputs, type, op->getAttrs());
        state.propertiesAttr = op->getPropertiesAsAttribute();
        Operation *clone = builder.create(state);
        clone->removeDiscardableAttr(kAgainAttr);
        clone->removeDiscardableAttr(kKeepAttr);
        clone->removeDiscardableAttr(mpk::kSweptAttr);
        if (auto own = dyn_cast<ElementOp>(clone))
          own.setMember(bool(member));
        return clone->getResult(0);
      });
}

mpk::SweepOp SweepWriter::write(ArrayRef<Operation *> results) {
  OpBuilder::InsertPoint outside = builder.saveInsertionPoint();
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> yielded;
  SmallVector<Attribute> yields;
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (Operation *anchor : results) {
    FlatSymbolRefAttr member = group.memberResults.contains(anchor) ? group.along
                               : isa<NormOp>(anchor)                ? getMemberMap(anchor)
                                                                    : FlatSymbolRefAttr();
    Value value = anchor->getResult(0);
    yielded.push_back(emit(value, member));
    types.push_back(value.getType());
    yields.push_back(direct(value, member));
    locations.push_back(anchor->getLoc());
  }
  mpk::YieldOp::create(builder, builder.getUnknownLoc(), yielded);
  builder.restoreInsertionPoint(outside);
  auto sweep = mpk::SweepOp::create(builder, builder.getFusedLoc(locations), types, group.over, group.along, operands,
                                    builder.getArrayAttr(accesses), builder.getArrayAttr(yields));
  Block *block = new Block;
  sweep.getBody().push_back(block);
  for (BlockArgument argument : body.getArguments())
    argument.replaceAllUsesWith(block->addArgument(argument.getType(), argument.getLoc()));
  block->getOperations().splice(block->end(), body.getOperations());
  return sweep;
}

namespace {

struct FuseMessagePassing : public gnnc::impl::FuseMessagePassingBase<FuseMessagePassing> {
  using FuseMessagePassingBase::FuseMessagePassingBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      eraseUnusedChoices(function);
      copyAliasedOutputs(function);
      rewrite(function);
      if (failed(checkMade(function)))
        return signalPassFailure();
    }
  }

  /// An output has memory of its own: arguments, and values returned twice, are copied by an identity.
  static void copyAliasedOutputs(func::FuncOp function) {
    Operation *terminator = function.getBody().front().getTerminator();
    OpBuilder b(terminator);
    DenseSet<Value> returned;
    for (OpOperand &operand : terminator->getOpOperands()) {
      Value viewed = getViewed(operand.get());
      bool fresh = returned.insert(viewed).second;
      if (!viewed.getDefiningOp() || !fresh)
        operand.set(DetachOp::create(b, terminator->getLoc(), operand.get().getType(), operand.get()));
    }
  }

  /// Marks the values that are dearer to make again than to keep, and whether there are any. The trial plan has no
  /// bound on statements, which would cut chains wherever they happen to be too long.
  bool keepDear(func::FuncOp function, bool isFirst) {
    Block &block = function.getBody().front();
    OperationSet before;
    for (Operation &op : block)
      before.insert(&op);
    SmallVector<Value> kept;
    {
      ScopedDiagnosticHandler withoutRemarks(&getContext(), [](Diagnostic &diagnostic) {
        return success(diagnostic.getSeverity() == DiagnosticSeverity::Remark);
      });
      Grouping trial(function, fuse, degrees, std::numeric_limits<int32_t>::max());
      kept = chooseKept(function, trial, before, isFirst);
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (!before.contains(&op))
        op.erase(); // another form of a softmax, which the trial has written
    for (Value value : kept) {
      value.getDefiningOp()->setAttr(kKeepAttr, UnitAttr::get(&getContext()));
      ++numKept;
      remarkPassed(value.getDefiningOp(), DEBUG_TYPE, "keep", [&] {
        return "a row of " + std::to_string(getFeatureElements(value.getType())) +
               " is kept: to make it again in each sweep that needs it would cost more";
      });
    }
    return !kept.empty();
  }

  void rewrite(func::FuncOp function) {
    Block &block = function.getBody().front();
    Operation *terminator = block.getTerminator();
    // A plan with more in memory cuts long bodies elsewhere, and shows other values that several sweeps make.
    for (unsigned trial = 0; fuse && keep && trial < kMostTrials && keepDear(function, trial == 0); ++trial)
      ;
    Grouping grouping(function, fuse, degrees, statements);
    OpBuilder b(terminator);
    DenseMap<Value, Value> kept;
    auto now = [&](Value value) { return kept.lookup(value) ? kept.lookup(value) : value; };
    // Views of a value exist from where the value does.
    auto view = [&](auto &&self, Value value) -> void {
      for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
        if (isView(user) && !kept.count(user->getResult(0))) {
          Operation *clone = b.clone(*user);
          clone->setOperand(0, now(value));
          kept[user->getResult(0)] = clone->getResult(0);
          self(self, user->getResult(0));
        }
    };
    SmallVector<Operation *> old;
    for (Operation &op : block.without_terminator())
      old.push_back(&op);
    bool again = llvm::any_of(old, [](Operation *op) { return op->hasAttr(kAgainAttr); });
    for (BlockArgument argument : block.getArguments())
      view(view, argument);

    for (unsigned number : grouping.getOrder()) {
      const Group &group = grouping.getGroups()[number];
      if (Operation *product = group.product) {
        Operation *clone = b.clone(*product);
        for (OpOperand &operand : clone->getOpOperands())
          operand.set(now(operand.get()));
        kept[product->getResult(0)] = clone->getResult(0);
        view(view, product->getResult(0));
        continue;
      }
      SmallVector<Operation *> results;
      for (Operation *anchor : group.anchors)
        if (!anchor->use_empty())
          results.push_back(anchor);
      if (results.empty())
        continue;
      mpk::SweepOp sweep = SweepWriter(grouping, number, kept, b).write(results);
      dropTilesOfOneRow(sweep);
      if (group.late && again) // What it waits for may be nothing but operations that are in its body now.
        sweep->setAttr(kAgainAttr, b.getUnitAttr());
      ++numSweeps;
      for (auto [anchor, value] : llvm::zip(results, sweep.getResults())) {
        kept[anchor->getResult(0)] = value;
        view(view, anchor->getResult(0));
      }
    }
    for (OpOperand &operand : terminator->getOpOperands())
      operand.set(now(operand.get()));
    for (Operation *op : llvm::reverse(old))
      if (op->use_empty())
        op->erase();
    // What is at hand once a choice is made stays behind it.
    Choices choices(function);
    if (!choices.empty())
      for (auto degree : llvm::make_early_inc_range(block.getOps<DegreeOp>()))
        for (Operation *choice : choices.of(degree))
          if (degree->isBeforeInBlock(choice))
            degree->moveAfter(choice);
    eraseUnusedResults(function);
    if (fuse && getContext().getRemarkEngine())
      remarkSoftmaxes(function);
    if (fuse && getContext().getRemarkEngine())
      remarkKept(function);
  }

  /// What is multiplied may turn out to be the owner's in a sweep over its members, or shared: then there is one row to
  /// multiply, not a tile of rows. In another sweep the same contraction may have them. Blocks of tiles do not merge
  /// whose a largest number of all is, so a contraction that such a sweep makes for itself has no tiles either.
  static void dropTilesOfOneRow(mpk::SweepOp sweep) {
    if (llvm::none_of(sweep.getBody().front(), [](Operation &op) { return mpk::isTiled(&op); }))
      return;
    DenseMap<Value, mpk::Level> levels = mpk::computeLevels(sweep);
    mpk::Level rows = sweep.getAlongAttr() ? mpk::Level::Member : mpk::Level::Owner;
    bool namesSharedWinner =
        llvm::any_of(sweep.getBody().front().getOps<mpk::AccumulateOp>(), [](mpk::AccumulateOp op) {
          return op.getShared() && llvm::is_contained({ReduceKind::ArgMax, ReduceKind::ArgMin}, op.getKind());
        });
    for (Operation &op : sweep.getBody().front()) {
      auto contract = dyn_cast<ContractOp>(op);
      if (!contract || !mpk::isTiled(&op))
        continue;
      ArrayRef<int64_t> out = contract.getOutLabels();
      bool isProduct = llvm::any_of(contract.getLhsLabels(), [&](int64_t l) { return !llvm::is_contained(out, l); });
      // An outer product takes rows from both sides.
      if (!namesSharedWinner && levels.lookup(contract.getLhs()) == rows &&
          (isProduct || levels.lookup(contract.getRhs()) == rows))
        continue;
      op.removeAttr(mpk::kTileAttr);
      remarkMissed(
          &op, DEBUG_TYPE, "tile", [] { return "product is made of one row"; },
          [&] {
            return namesSharedWinner ? "tiles do not say whose the largest number is"
                                     : "its row is the owner's, or the same for all";
          });
    }
  }

  /// Code generation would take any memory for a value that no kernel makes.
  static LogicalResult checkMade(func::FuncOp function) {
    for (Operation &op : function.getBody().front())
      if (isa_and_nonnull<MPDFGDialect>(op.getDialect()) && !isView(&op) && !isa<DegreeOp>(op) &&
          !mpk::isOfRuntime(&op))
        return op.emitOpError() << "is read by a kernel, and no kernel makes it; this is a bug in gnnc";
    return success();
  }

  /// Values of members that stay in memory from the forward half to the backward one (R8).
  static void remarkKept(func::FuncOp function) {
    OperationSet backward = findBackwardKernels(function);
    DenseSet<Attribute> owners, members;
    for (auto sweep : function.getOps<mpk::SweepOp>())
      if (sweep.getAlong()) {
        owners.insert(sweep.getOverAttr());
        members.insert(SymbolTable::lookupNearestSymbolFrom<MapOp>(sweep, sweep.getAlongAttr()).getFromAttr());
      }
    for (Operation &op : function.getBody().front())
      if (mpk::isKernel(&op) && !backward.contains(&op))
        for (Value result : op.getResults())
          if (FlatSymbolRefAttr space = getResidency(result.getType());
              space && members.contains(space) && !owners.contains(space) &&
              llvm::any_of(result.getUsers(), [&](Operation *user) { return backward.contains(user); }))
            remarkPassed(&op, DEBUG_TYPE, "save", [&] {
              return std::to_string(getFeatureElements(result.getType())) + " numbers for each element of " +
                     space.getValue().str() + " are kept for the backward half";
            });
  }

  /// Targets make the same plan when they emit a sweep.
  static void remarkSoftmaxes(func::FuncOp function) {
    for (auto sweep : function.getOps<mpk::SweepOp>())
      for (const SoftmaxPlan &softmax : SweepPlan(sweep).softmaxes) {
        if (softmax.online)
          remarkPassed(softmax.op, DEBUG_TYPE, "online-softmax", [] { return "softmax is computed online"; });
        else
          remarkMissed(
              softmax.op, DEBUG_TYPE, "online-softmax", [] { return "members are walked once more for a softmax"; },
              [&] { return softmax.declined; });
      }
  }

  /// Removes results of sweeps that turned out to be used only within them.
  static void eraseUnusedResults(func::FuncOp function) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front()))) {
      auto sweep = dyn_cast<mpk::SweepOp>(op);
      if (!sweep || llvm::none_of(sweep.getResults(), [](Value v) { return v.use_empty(); }))
        continue;
      Operation *yield = sweep.getBody().front().getTerminator();
      SmallVector<Value> yielded, replaced;
      SmallVector<Attribute> yields;
      SmallVector<Type> types;
      for (auto [i, result] : llvm::enumerate(sweep.getResults())) {
        if (result.use_empty())
          continue;
        replaced.push_back(result);
        yielded.push_back(yield->getOperand(i));
        yields.push_back(sweep.getYields()[i]);
        types.push_back(result.getType());
      }
      if (replaced.empty()) {
        sweep.erase();
        continue;
      }
      yield->setOperands(yielded);
      OpBuilder b(sweep);
      auto smaller = mpk::SweepOp::create(b, sweep.getLoc(), types, sweep.getOverAttr(), sweep.getAlongAttr(),
                                          sweep.getInputs(), sweep.getAccess(), b.getArrayAttr(yields));
      smaller->setDiscardableAttrs(sweep->getDiscardableAttrDictionary());
      smaller.getBody().takeBody(sweep.getBody());
      for (auto [from, to] : llvm::zip(replaced, smaller.getResults()))
        from.replaceAllUsesWith(to);
      sweep.erase();
      eraseDeadBody(smaller);
    }
  }

  static void eraseDeadBody(mpk::SweepOp sweep) {
    // Not without_terminator(): the reverse of that range looks at the operation after the one it is at.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(sweep.getBody().front())))
      if (op.use_empty() && !isa<mpk::YieldOp>(op))
        op.erase();
  }
};

} // namespace
