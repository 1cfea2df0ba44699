//===- ReadParts.cpp - Sums of one member become reads --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each element of a part is one element of the union, so a sum along the map to the part has one member for each. It is
// a read along the injection, which needs no index by owner and joins other work on the part. The other way round, a
// sum along the injection is a read along the map to the part, with 0 for the other parts' elements.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_READPARTS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "read-parts"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

struct ReadParts : public gnnc::impl::ReadPartsBase<ReadParts> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<ReduceOp> sums;
    getOperation().walk([&](ReduceOp op) {
      if (op.getAlong() != kAllMap && op.getKind() == ReduceKind::Sum)
        sums.push_back(op);
    });
    for (ReduceOp op : sums) {
      FlatSymbolRefAttr converse = findConverse(symbols, symbols.lookup<MapOp>(op.getAlongAttr().getAttr()));
      if (!converse)
        continue;
      OpBuilder b(op);
      Value read = Rules(b, op.getLoc()).broadcast(op.getInput(), converse, op.getType());
      ++numRead;
      remarkPassed(read.getDefiningOp(), DEBUG_TYPE, "read", [&] {
        return "sum along @" + op.getAlong().str() + " is a read along @" + converse.getValue().str();
      });
      op.replaceAllUsesWith(read);
      op.erase();
    }
  }

  /// From a part to its union and back; null for other maps.
  FlatSymbolRefAttr findConverse(SymbolTable &symbols, MapOp map) {
    bool toPart = map.getKind() == MapKind::Part;
    if (!toPart && map.getKind() != MapKind::Injection)
      return {};
    MapKind wanted = toPart ? MapKind::Injection : MapKind::Part;
    for (auto other : getOperation().getOps<MapOp>())
      if (other.getKind() == wanted && other.getFromAttr() == map.getToAttr() &&
          other.getToAttr() == map.getFromAttr() && other.getPart() == map.getPart())
        return FlatSymbolRefAttr::get(other);
    OpBuilder b(map);
    b.setInsertionPointAfter(map);
    auto made = MapOp::create(b, map.getLoc(), b.getStringAttr(map.getSymName() + ".converse"),
                              b.getAttr<MapKindAttr>(wanted), map.getToAttr(), map.getFromAttr(),
                              toPart ? UnitAttr() : b.getUnitAttr(), map.getPartAttr(), ArrayAttr());
    symbols.insert(made);
    return FlatSymbolRefAttr::get(made);
  }
};

} // namespace
