//===- OverlapTransfers.cpp - Kernels that run while rows are on their way ===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transfer begins an exchange, and an `await` behind it ends it. Kernels are put in an order, one after the other:
// a transfer as soon as it can be, before that what the next transfer needs, then what needs nothing that is on its
// way; only where nothing is left to do is there an await. In one process all of this would be as good as the old
// order, but for memory: so rows are not made before the transfer that was before them in the old order.
//
// Reductions over all ranks follow the exchanges that have begun, as ranks do everything together in one order. So they
// wait for what is on its way, and come after other work.
//
//===----------------------------------------------------------------------===//

#include "Memory/KernelOrder.h"
#include "Remarks.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Analysis/CostModel.h"
#include "gnnc/Analysis/Halves.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_OVERLAPTRANSFERS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using mpdfg::AwaitOp;
using mpdfg::TransferOp;

#define DEBUG_TYPE "overlap-transfers"

namespace {

/// Whether it takes the longer, the larger the graph is.
bool isWork(Operation *kernel) {
  return !mpk::isCollective(kernel) && !(costOf(kernel).read + costOf(kernel).written).getFactors().empty();
}

/// Orders the kernels of one half of a function.
class Scheduler {
public:
  Scheduler(func::FuncOp function, ArrayRef<Operation *> ops) : kernels(function, ops), done(ops.size()) {
    unsigned transfers = 0;
    for (unsigned i = 0; i < ops.size(); ++i) {
      // The kernels of a launch stay side by side.
      Attribute launch = ops[i]->getAttr(mpk::kLaunchAttr);
      bool joins = launch && i > 0 && ops[i - 1]->getAttr(mpk::kLaunchAttr) == launch;
      if (!joins)
        units.emplace_back();
      units.back().push_back(i);
      if (!joins)
        after.push_back(transfers);
      transfers += isa<TransferOp>(ops[i]);
    }
  }

  SmallVector<Operation *> run() {
    while (order.size() < kernels.size())
      emit(choose());
    return order;
  }

private:
  using Unit = SmallVector<unsigned, 1>;

  Operation *opOf(size_t unit) const { return kernels.at(units[unit].front()); }
  bool isReady(size_t unit) const {
    return !done[units[unit].front()] &&
           llvm::all_of(units[unit], [&](unsigned i) { return kernels.isReady(i, done); });
  }
  std::optional<size_t> first(function_ref<bool(size_t)> fits) const {
    for (size_t unit = 0; unit < units.size(); ++unit)
      if (isReady(unit) && fits(unit))
        return unit;
    return std::nullopt;
  }
  template <typename Op> std::optional<size_t> firstOf() const {
    return first([&](size_t unit) { return isa<Op>(opOf(unit)); });
  }

  size_t choose() const {
    if (std::optional<size_t> transfer = firstOf<TransferOp>())
      return *transfer;
    std::optional<size_t> await = firstOf<AwaitOp>();
    auto isOwnWork = [&](size_t unit) { return !await || !mpk::isCollective(opOf(unit)); };
    // The next transfer to begin, and what it needs.
    std::optional<unsigned> next;
    for (unsigned i = 0; i < kernels.size() && !next; ++i)
      if (isa<TransferOp>(kernels.at(i)) && !done[i])
        next = i;
    auto leadsToNext = [&](size_t unit) {
      return next && isOwnWork(unit) &&
             llvm::any_of(units[unit], [&](unsigned i) { return kernels.ancestors(*next)[i]; });
    };
    if (std::optional<size_t> found = first(leadsToNext))
      return *found;
    auto isMeanwhile = [&](size_t unit) { return isOwnWork(unit) && (after[unit] <= numBegun || isSmallSum(unit)); };
    if (std::optional<size_t> found = first(isMeanwhile))
      return *found;
    return await ? *await : *first([](size_t) { return true; });
  }

  /// Work of which nothing is left that is as large as the graph, such as the gradient of a weight.
  bool isSmallSum(size_t unit) const {
    return isWork(opOf(unit)) &&
           llvm::all_of(opOf(unit)->getResultTypes(), [](Type type) { return !mpdfg::getResidency(type); });
  }

  void emit(size_t unit) {
    for (unsigned i : units[unit]) {
      done.set(i);
      order.push_back(kernels.at(i));
    }
    numBegun += isa<TransferOp>(opOf(unit));
  }

  KernelOrder kernels;
  SmallVector<Unit> units;     ///< what is emitted at once
  SmallVector<unsigned> after; ///< for each unit, how many transfers were before it
  llvm::BitVector done;
  unsigned numBegun = 0; ///< transfers that are done
  SmallVector<Operation *> order;
};

struct OverlapTransfers : public gnnc::impl::OverlapTransfersBase<OverlapTransfers> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      overlap(function);
  }

  void overlap(func::FuncOp function) {
    Block &block = function.getBody().front();
    SmallVector<TransferOp> transfers(block.getOps<TransferOp>());
    llvm::erase_if(transfers, [](TransferOp op) { return llvm::any_of(op->getUsers(), llvm::IsaPred<AwaitOp>); });
    if (transfers.empty())
      return;
    OpBuilder b(function.getContext());
    SmallVector<AwaitOp> awaits;
    for (TransferOp transfer : transfers) {
      b.setInsertionPointAfter(transfer);
      auto await = AwaitOp::create(b, transfer.getLoc(), transfer.getType(), transfer.getResult(), transfer.getInput());
      transfer.getResult().replaceAllUsesExcept(await.getResult(), await);
      awaits.push_back(await);
    }
    SmallVector<Operation *> all, kernels, order;
    for (Operation &op : block.without_terminator()) {
      all.push_back(&op);
      if (mpk::isKernel(&op))
        kernels.push_back(&op);
    }
    // The halves of a program that can be run apart stay apart.
    size_t cut = countSeedless(function).value_or(0);
    for (ArrayRef<Operation *> half : {ArrayRef(kernels).take_front(cut), ArrayRef(kernels).drop_front(cut)})
      llvm::append_range(order, Scheduler(function, half).run());
    rearrange(block, all, order);
    for (AwaitOp await : awaits)
      settle(await);
  }

  /// Whether anything is done meanwhile is known now. Where nothing is, the transfer is a whole one.
  void settle(AwaitOp await) {
    auto transfer = await.getInput().getDefiningOp<TransferOp>();
    int64_t meanwhile = 0;
    for (Operation *op = transfer->getNextNode(); op != await; op = op->getNextNode())
      meanwhile += mpk::isKernel(op) && isWork(op);
    auto what = [&] {
      return "rows from " + mpdfg::getResidency(transfer.getInput().getType()).getValue().str() + " to " +
             mpdfg::getResidency(transfer.getType()).getValue().str();
    };
    if (meanwhile > 0) {
      ++numOverlapped;
      remarkPassed(transfer, DEBUG_TYPE, "overlap", [&] {
        return std::to_string(meanwhile) + (meanwhile == 1 ? " kernel runs" : " kernels run") + " while " + what() +
               " are on their way";
      });
      return;
    }
    remarkMissed(
        transfer, DEBUG_TYPE, "overlap", [&] { return what() + " are waited for"; },
        [] { return "all other kernels come before them or need them"; });
    await.replaceAllUsesWith(await.getInput());
    await.erase();
  }
};

} // namespace
