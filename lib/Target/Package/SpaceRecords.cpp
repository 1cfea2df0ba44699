//===- SpaceRecords.cpp - Spaces, maps and embedded tensors of a table ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Includes the order in which the runtime derives spaces and maps from each other.
//
//===----------------------------------------------------------------------===//

#include "TableBuilder.h"
#include "dialects/mpdfg/IR/Pairs.h"
#include "llvm/Support/Alignment.h"

using namespace mlir;
using namespace gnnc;

namespace {

table::SpaceKind kindOf(mpdfg::SpaceKind kind) {
  switch (kind) {
  case mpdfg::SpaceKind::Root:
    return table::SpaceKind::Root;
  case mpdfg::SpaceKind::Static:
    return table::SpaceKind::Static;
  case mpdfg::SpaceKind::Filter:
  case mpdfg::SpaceKind::Share: // of elements whose maps, the identity twice, agree, on one rank
    return table::SpaceKind::Filter;
  case mpdfg::SpaceKind::Union:
    return table::SpaceKind::Union;
  case mpdfg::SpaceKind::Distinct:
    return table::SpaceKind::Distinct;
  case mpdfg::SpaceKind::Selection:
    return table::SpaceKind::Selection;
  case mpdfg::SpaceKind::Pairs:
    return table::SpaceKind::Pairs;
  }
  llvm_unreachable("no kind of a space");
}

table::MapKind kindOf(mpdfg::MapKind kind) {
  switch (kind) {
  case mpdfg::MapKind::Root:
    return table::MapKind::Root;
  case mpdfg::MapKind::Inclusion:
    return table::MapKind::Inclusion;
  case mpdfg::MapKind::Part:
    return table::MapKind::Part;
  case mpdfg::MapKind::Parts:
    return table::MapKind::Parts;
  case mpdfg::MapKind::Projection:
    return table::MapKind::Projection;
  case mpdfg::MapKind::Class:
    return table::MapKind::Class;
  case mpdfg::MapKind::Last:
    return table::MapKind::Last;
  case mpdfg::MapKind::Compose:
    return table::MapKind::Compose;
  case mpdfg::MapKind::Injection:
    return table::MapKind::Injection;
  case mpdfg::MapKind::Owner:
    return table::MapKind::Owner;
  case mpdfg::MapKind::Chosen:
    return table::MapKind::Chosen;
  case mpdfg::MapKind::Partner:
    return table::MapKind::Partner;
  case mpdfg::MapKind::Only:
    return table::MapKind::Only;
  }
  llvm_unreachable("no kind of a map");
}

} // namespace

void TableBuilder::declare() {
  for (auto op : module.getOps<mpdfg::SpaceOp>()) {
    spaces[op.getSymName()] = spaceOps.size();
    spaceOps.push_back(op);
  }
  for (auto op : module.getOps<mpdfg::MapOp>()) {
    maps[op.getSymName()] = mapOps.size();
    mapOps.push_back(op);
  }
}

std::vector<table::SpaceRec> TableBuilder::spaceRecords() {
  std::vector<table::SpaceRec> records;
  for (mpdfg::SpaceOp op : spaceOps) {
    SmallVector<int64_t> mapList, parts;
    if (op.getMaps())
      for (Attribute ref : op.getMapsAttr())
        mapList.push_back(isa<UnitAttr>(ref) ? table::kIdentity : map(ref));
    if (op.getParts())
      for (Attribute ref : op.getPartsAttr())
        parts.push_back(space(ref));
    FloatAttr ratio = op.getRatioAttr();
    bool isShare = op.getKind() == mpdfg::SpaceKind::Share;
    if (isShare)
      mapList = {table::kIdentity, table::kIdentity};
    records.push_back({name(op.getSymName()), kindOf(op.getKind()), op.getExtent() ? int64_t(*op.getExtent()) : -1,
                       space(op.getBaseAttr()), list(mapList), int64_t(mapList.size()),
                       isShare ? table::kOnFirstRank : op.getEqual(), list(parts), int64_t(parts.size()),
                       space(op.getOfAttr()), op.getMost() ? int64_t(*op.getMost()) : 0, op.getOthers(),
                       ratio ? llvm::bit_cast<int64_t>(ratio.getValueAsDouble()) : 0,
                       ratio ? ratio.getType().getIntOrFloatBitWidth() : 0, op.getOpen(), /*isListed=*/0});
  }
  return records;
}

/// Whether anything needs to know which pairs there are: an index array of a map from them, but for what sweeps need
/// that walk the sides, or another space or map that is made of them.
bool TableBuilder::isListed(mpdfg::SpaceOp pairs) {
  auto self = FlatSymbolRefAttr::get(pairs);
  auto isFrom = [&](Attribute entry) {
    auto name = dyn_cast_or_null<FlatSymbolRefAttr>(entry);
    return name && mapOps[map(name)].getFromAttr() == self;
  };
  for (mpdfg::SpaceOp op : spaceOps)
    if (op.getBaseAttr() == self || op.getOfAttr() == self ||
        (op.getParts() && llvm::is_contained(*op.getParts(), self)) ||
        (op.getMaps() && llvm::any_of(*op.getMaps(), isFrom)))
      return true;
  for (mpdfg::MapOp op : mapOps)
    if (op.getToAttr() == self || (op.getFromAttr() != self && op.getParts() && llvm::any_of(*op.getParts(), isFrom)))
      return true;
  return llvm::any_of(indices, [&](const table::IndexRec &index) {
    auto isOf = [&](int64_t number) { return number >= 0 && mapOps[number].getFromAttr() == self; };
    bool isCount = index.kind == table::IndexKind::Pointers && mpdfg::getMapsOfPairs(mapOps[index.map]).own;
    return index.kind != table::IndexKind::Shift && !isCount && (isOf(index.map) || isOf(index.other));
  });
}

std::vector<table::MapRec> TableBuilder::mapRecords() {
  std::vector<table::MapRec> records;
  for (mpdfg::MapOp op : mapOps) {
    SmallVector<int64_t> parts;
    if (op.getParts())
      for (Attribute entry : op.getPartsAttr())
        parts.push_back(part(entry));
    records.push_back({name(op.getSymName()), kindOf(op.getKind()), space(op.getFromAttr()), space(op.getToAttr()),
                       op.getPartial(), op.getPart() ? int64_t(*op.getPart()) : 0, list(parts), int64_t(parts.size())});
  }
  return records;
}

std::vector<table::ValuesRec> TableBuilder::valuesRecords() {
  constexpr size_t kAlignment = 64;
  std::vector<table::ValuesRec> records;
  for (const EmbeddedTensor &tensor : embedded) {
    if (tensor.isInteger) // of the description: whoever computes a graph's data reads them
      continue;
    table.values.resize(llvm::alignTo(table.values.size(), kAlignment));
    valuesOf[tensor.name] = records.size();
    records.push_back({name(tensor.name), tensor.bits, tensor.isBFloat, list(tensor.shape),
                       int64_t(tensor.shape.size()), int64_t(table.values.size())});
    table.values += tensor.bytes;
  }
  return records;
}

SmallVector<int64_t> TableBuilder::order() {
  SmallVector<int64_t> order;
  DenseSet<Operation *> done;
  auto visit = [&](auto &&self, Operation *op) -> void {
    if (!op || !done.insert(op).second)
      return;
    auto visitSpace = [&](Attribute ref) {
      if (int64_t number = space(ref); number >= 0)
        self(self, spaceOps[number]);
    };
    auto visitMap = [&](Attribute ref) {
      if (isa<FlatSymbolRefAttr>(ref))
        self(self, mapOps[map(ref)]);
    };
    if (auto declared = dyn_cast<mpdfg::SpaceOp>(op)) {
      visitSpace(declared.getBaseAttr());
      visitSpace(declared.getOfAttr());
      if (declared.getMaps())
        llvm::for_each(declared.getMapsAttr(), visitMap);
      if (declared.getParts())
        llvm::for_each(declared.getPartsAttr(), visitSpace);
      order.push_back(2 * spaces.lookup(declared.getSymName()));
      return;
    }
    auto declared = cast<mpdfg::MapOp>(op);
    visitSpace(declared.getFromAttr());
    visitSpace(declared.getToAttr());
    if (declared.getParts())
      llvm::for_each(declared.getPartsAttr(), visitMap);
    order.push_back(2 * maps.lookup(declared.getSymName()) + 1);
  };
  for (mpdfg::SpaceOp op : spaceOps)
    visit(visit, op);
  for (mpdfg::MapOp op : mapOps)
    visit(visit, op);
  return order;
}
