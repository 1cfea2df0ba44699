//===- JoinLaunches.cpp - Small kernels that share a launch ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Horizontal fusion: kernels that take longer to begin than to work, and of which none needs another, become parts of
// one launch. Candidates are elementwise sweeps whose work does not grow with the graph, which is what is done with
// parameters.
//
// A kernel's *level* is how many kernels are one after the other before it. A candidate may be put off up to the level
// where the longest chain would grow. So candidates have intervals of levels, and few levels that hit all of them are
// found greedily: the earliest end of an interval is one, for all whose interval has begun. Then kernels are put in an
// order in which those of a launch lie side by side.
//
//===----------------------------------------------------------------------===//

#include "Memory/KernelOrder.h"
#include "Remarks.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Analysis/Halves.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_JOINLAUNCHES
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using mpk::AccessKind;

#define DEBUG_TYPE "join-launches"

namespace {

/// The kernels of one half of a function, in order.
class Kernels {
public:
  Kernels(func::FuncOp function, ArrayRef<Operation *> ops) : kernels(function, ops) {}

  /// The launches that several of the candidates share, each with its kernels in order.
  SmallVector<SmallVector<unsigned>> join(llvm::BitVector candidates) const {
    SmallVector<unsigned> latest = latestLevels();
    SmallVector<int> fixed(kernels.size(), -1);
    SmallVector<SmallVector<unsigned>> launches;
    while (candidates.any()) {
      SmallVector<unsigned> earliest = earliestLevels(fixed);
      unsigned level = kernels.size();
      for (unsigned i : candidates.set_bits())
        level = std::min(level, latest[i]);
      SmallVector<unsigned> launch;
      for (unsigned i : candidates.set_bits())
        if (earliest[i] <= level && !kernels.ancestors(i).anyCommon(candidates))
          launch.push_back(i);
      for (unsigned i : launch) {
        fixed[i] = level;
        candidates.reset(i);
      }
      if (launch.size() > 1)
        launches.push_back(std::move(launch));
    }
    return launches;
  }

  /// An order in which the kernels of a launch lie side by side, otherwise as near to what it was as can be.
  SmallVector<unsigned> order(ArrayRef<SmallVector<unsigned>> launches) const {
    // Each kernel's unit: itself, or the last kernel of its launch.
    SmallVector<unsigned> unit(kernels.size());
    DenseMap<unsigned, ArrayRef<unsigned>> members;
    for (unsigned i = 0; i < kernels.size(); ++i)
      unit[i] = i;
    for (ArrayRef<unsigned> launch : launches) {
      for (unsigned i : launch)
        unit[i] = launch.back();
      members[launch.back()] = launch;
    }
    SmallVector<unsigned> result;
    llvm::BitVector done(kernels.size());
    auto isReady = [&](unsigned i) { return kernels.isReady(i, done); };
    while (result.size() < kernels.size())
      for (unsigned i = 0; i < kernels.size(); ++i) {
        unsigned one = i;
        ArrayRef<unsigned> all = members.count(i) ? members[i] : ArrayRef<unsigned>(one);
        if (unit[i] != i || done[i] || !llvm::all_of(all, isReady))
          continue;
        for (unsigned k : all) {
          result.push_back(k);
          done.set(k);
        }
        break;
      }
    return result;
  }

private:
  SmallVector<unsigned> earliestLevels(ArrayRef<int> fixed) const {
    SmallVector<unsigned> levels(kernels.size(), 0);
    for (size_t i = 0; i < kernels.size(); ++i) {
      for (unsigned k : kernels.before(i))
        levels[i] = std::max(levels[i], levels[k] + 1);
      if (fixed[i] >= 0)
        levels[i] = fixed[i];
    }
    return levels;
  }

  SmallVector<unsigned> latestLevels() const {
    SmallVector<unsigned> earliest = earliestLevels(SmallVector<int>(kernels.size(), -1));
    SmallVector<unsigned> levels(kernels.size(), kernels.size() == 0 ? 0 : *llvm::max_element(earliest));
    for (size_t i = kernels.size(); i-- > 0;)
      for (unsigned k : kernels.before(i))
        levels[k] = std::min(levels[k], levels[i] - 1);
    return levels;
  }

  KernelOrder kernels;
};

struct JoinLaunches : public gnnc::impl::JoinLaunchesBase<JoinLaunches> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      join(function);
  }

  /// Rows of one element, or of a space whose extent is known.
  static bool isCandidate(Operation *op) {
    auto sweep = dyn_cast<mpk::SweepOp>(op);
    if (!sweep || sweep.getAlong() || !sweep.getBody().front().getOps<mpk::AccumulateOp>().empty())
      return false;
    if (!sweep.getOver())
      return true;
    auto space = SymbolTable::lookupNearestSymbolFrom<mpdfg::SpaceOp>(op, sweep.getOverAttr());
    return space.getExtent() && llvm::all_of(sweep.getYields().getAsRange<mpk::AccessAttr>(),
                                             [](mpk::AccessAttr a) { return a.getKind() == AccessKind::Owner; });
  }

  void join(func::FuncOp function) {
    Block &block = function.getBody().front();
    SmallVector<Operation *> kernels, all;
    for (Operation &op : block.without_terminator()) {
      all.push_back(&op);
      if (mpk::isKernel(&op))
        kernels.push_back(&op);
    }
    // The halves of a program that can be run apart stay apart.
    size_t cut = countSeedless(function).value_or(0);
    int64_t number = 0;
    SmallVector<Operation *> order;
    for (ArrayRef<Operation *> half : {ArrayRef(kernels).take_front(cut), ArrayRef(kernels).drop_front(cut)}) {
      Kernels graph(function, half);
      llvm::BitVector candidates(half.size());
      for (auto [i, op] : llvm::enumerate(half))
        candidates[i] = isCandidate(op);
      SmallVector<SmallVector<unsigned>> launches = graph.join(candidates);
      for (ArrayRef<unsigned> launch : launches) {
        ++numLaunches;
        numJoined += launch.size();
        Builder b(function.getContext());
        for (unsigned i : launch)
          half[i]->setAttr(mpk::kLaunchAttr, b.getI64IntegerAttr(number));
        ++number;
        remarkPassed(half[launch.front()], DEBUG_TYPE, "join", [&] {
          return std::to_string(launch.size()) + " small kernels that do not need each other share a launch";
        });
      }
      for (unsigned i : graph.order(launches))
        order.push_back(half[i]);
    }
    if (number > 0)
      rearrange(block, all, order);
  }
};

} // namespace
