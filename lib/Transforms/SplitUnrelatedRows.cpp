//===- SplitUnrelatedRows.cpp - Long rows of unrelated axes apart ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Targets repeat a sweep for each tile of its parallel axes. Rows of 600 x 521 numbers and others of 521 x 600, whose
// axes nothing brings together, would have tiles of the one for each tile of the other.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpk/IR/BodySlice.h"
#include "gnnc/Analysis/SweepPlan.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/IntEqClasses.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITUNRELATEDROWS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "split-unrelated-rows"

using namespace mlir;
using namespace gnnc;
using mpk::AccessKind;

namespace {

/// Rows of so many numbers are whole in the registers of some processor.
constexpr int64_t kMostWhole = 512;

/// What a result is made of: the classes of the axes that a sweep may be cut along, and the longest row of such.
struct Cone {
  llvm::SmallDenseSet<int> classes;
  int64_t longest = 1;

  Cone(Value result, const AxisClasses &axes) {
    llvm::SetVector<Value> values;
    values.insert(result);
    for (size_t i = 0; i < values.size(); ++i) {
      if (Operation *op = values[i].getDefiningOp())
        values.insert_range(op->getOperands());
      if (!axes.knows(values[i]))
        continue;
      int64_t numbers = 1;
      for (int cls : axes.of(values[i]))
        if (cls >= 0 && axes.isParallel(cls) && axes.extent(cls) > 1) {
          classes.insert(cls);
          numbers *= axes.extent(cls);
        }
      longest = std::max(longest, numbers);
    }
  }
};

struct SplitUnrelatedRows : public gnnc::impl::SplitUnrelatedRowsBase<SplitUnrelatedRows> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto sweep : llvm::make_early_inc_range(function.getOps<mpk::SweepOp>())) {
        bool isTiled = llvm::any_of(sweep.getBody().front(), [](Operation &op) { return mpk::isTiled(&op); });
        if (sweep.getNumResults() < 2 || isTiled)
          continue;
        if (SmallVector<SmallVector<unsigned>> parts = findParts(sweep); parts.size() > 1)
          split(sweep, parts);
      }
  }

  /// The results by what is to be computed together. Short rows go with the first of the long ones.
  static SmallVector<SmallVector<unsigned>> findParts(mpk::SweepOp sweep) {
    AxisClasses axes(sweep);
    auto yield = cast<mpk::YieldOp>(sweep.getBody().front().getTerminator());
    SmallVector<Cone> cones;
    llvm::IntEqClasses related(axes.size());
    for (Value value : yield.getValues()) {
      const Cone &cone = cones.emplace_back(value, axes);
      for (int cls : cone.classes)
        related.join(*cone.classes.begin(), cls);
    }
    related.compress();
    llvm::MapVector<unsigned, SmallVector<unsigned>> groups;
    SmallVector<unsigned> alone; // results without such axes
    for (auto [i, cone] : llvm::enumerate(cones))
      (cone.classes.empty() ? alone : groups[related[*cone.classes.begin()]]).push_back(i);

    SmallVector<SmallVector<unsigned>> parts;
    for (auto &[cls, group] : groups) {
      if (llvm::any_of(group, [&](unsigned i) { return cones[i].longest > kMostWhole; }))
        parts.push_back(group);
      else
        llvm::append_range(alone, group);
    }
    if (!parts.empty())
      llvm::append_range(parts.front(), alone);
    return parts;
  }

  void split(mpk::SweepOp sweep, ArrayRef<SmallVector<unsigned>> parts) {
    ++numSplit;
    remarkPassed(sweep, DEBUG_TYPE, "split", [&] {
      return "long rows of unrelated axes are computed by " + std::to_string(parts.size()) + " sweeps";
    });
    auto yield = cast<mpk::YieldOp>(sweep.getBody().front().getTerminator());
    OpBuilder b(sweep);
    for (ArrayRef<unsigned> part : parts) {
      SmallVector<Type> types;
      SmallVector<Attribute> yields, access;
      SmallVector<Value> values, inputs;
      for (unsigned i : part) {
        types.push_back(sweep.getResultTypes()[i]);
        yields.push_back(sweep.getYields()[i]);
        values.push_back(yield.getValues()[i]);
      }
      mpk::BodySlice slice(values, [](Value) { return false; });
      for (Value leaf : slice.getLeaves()) {
        unsigned number = cast<BlockArgument>(leaf).getArgNumber();
        inputs.push_back(sweep.getInputs()[number]);
        access.push_back(sweep.getAccess()[number]);
      }
      auto own = mpk::SweepOp::create(b, sweep.getLoc(), types, sweep.getOverAttr(), sweep.getAlongAttr(), inputs,
                                      b.getArrayAttr(access), b.getArrayAttr(yields));
      own->setDiscardableAttrs(sweep->getDiscardableAttrDictionary());
      slice.cloneInto(own.getBody());
      for (auto [i, result] : llvm::zip(part, own.getResults()))
        sweep.getResult(i).replaceAllUsesWith(result);
    }
    sweep.erase();
  }
};

} // namespace
