//===- WalkPairs.cpp - Sweeps along pairs that nobody lists ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pairs (i, j) with a(i) = b(j) are a fibre product. To walk those of one i is to walk what b sends to a(i), which the
// index of b lists once for all i. So where a sweep reads nothing of a pair but its two sides, it walks these, and
// there is no list as long as the pairs.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpdfg/IR/Pairs.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_WALKPAIRS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;
using mpk::AccessAttr;
using mpk::AccessKind;

#define DEBUG_TYPE "walk-pairs"

namespace {

MapOp lookup(mpk::SweepOp sweep, FlatSymbolRefAttr map) {
  return SymbolTable::lookupNearestSymbolFrom<MapOp>(sweep, map);
}

/// How a member that is a pair's other side reads what the pair reads through a map; null if it cannot.
AccessAttr accessOfSide(mpk::SweepOp sweep, AccessAttr access, MapOp along) {
  MapOp map = lookup(sweep, access.getMap());
  auto isOtherSide = [&](MapOp side) {
    return side.getFromAttr() == along.getFromAttr() && side != along && getMapsOfPairs(side).own;
  };
  if (isOtherSide(map))
    return AccessAttr::get(sweep.getContext(), AccessKind::Member);
  if (map.getKind() != MapKind::Compose)
    return {};
  auto first = cast<FlatSymbolRefAttr>(map.getPartsAttr()[0]), rest = cast<FlatSymbolRefAttr>(map.getPartsAttr()[1]);
  return isOtherSide(lookup(sweep, first))
             ? AccessAttr::get(sweep.getContext(), AccessKind::GatherMember, rest, access.getFill())
             : AccessAttr();
}

struct WalkPairs : public gnnc::impl::WalkPairsBase<WalkPairs> {
  void runOnOperation() override {
    SmallVector<mpk::SweepOp> sweeps;
    getOperation().walk([&](mpk::SweepOp sweep) { sweeps.push_back(sweep); });
    for (mpk::SweepOp sweep : sweeps)
      if (MapOp along = sweep.getAlongAttr() ? lookup(sweep, sweep.getAlongAttr()) : MapOp();
          along && getMapsOfPairs(along).own)
        walkSides(sweep, along);
  }

  void walkSides(mpk::SweepOp sweep, MapOp along) {
    SmallVector<Attribute> accesses;
    std::string kept = whyListed(sweep, along, accesses);
    auto what = [&] { return ("pairs of @" + along.getFrom() + " are listed").str(); };
    if (!kept.empty())
      return remarkMissed(sweep, DEBUG_TYPE, "pairs", what, [&] { return kept; });
    remarkPassed(sweep, DEBUG_TYPE, "pairs",
                 [&] { return ("pairs of @" + along.getFrom() + " are walked side by side, and not listed").str(); });
    sweep.setPairsAttr(sweep.getAlongAttr());
    sweep.setAlongAttr(getMapsOfPairs(along).other);
    sweep.setAccessAttr(ArrayAttr::get(&getContext(), accesses));
    ++numWalked;
  }

  /// What of a sweep needs the pairs themselves; empty if nothing does. `accesses` are what it reads its sides by.
  static std::string whyListed(mpk::SweepOp sweep, MapOp along, SmallVector<Attribute> &accesses) {
    for (unsigned i = 0; i < sweep.getResults().size(); ++i)
      if (sweep.getYieldOf(i).getKind() == AccessKind::Member)
        return "a result has a row for each pair";
    for (unsigned i = 0; i < sweep.getInputs().size(); ++i) {
      AccessAttr access = sweep.getAccessOf(i);
      if (access.getKind() == AccessKind::Member)
        return "a row for each pair is in memory";
      if (access.getKind() == AccessKind::GatherMember) {
        access = accessOfSide(sweep, access, along);
        if (!access)
          return ("it reads along @" + sweep.getAccessOf(i).getMap().getValue() + ", which does not begin with a side")
              .str();
      }
      accesses.push_back(access);
    }
    for (Operation &op : sweep.getBody().front()) {
      if (auto element = dyn_cast<ElementOp>(op); element && element.getMember())
        return "the number of a pair is read";
      if (auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
          accumulate && !accumulate.getShared() &&
          llvm::is_contained({ReduceKind::ArgMax, ReduceKind::ArgMin}, accumulate.getKind()))
        return "the number of a pair is found";
      if (mpk::isTiled(&op))
        return "members are multiplied in tiles";
    }
    return "";
  }
};

} // namespace
