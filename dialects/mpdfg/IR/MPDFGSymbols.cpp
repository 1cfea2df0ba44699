//===- MPDFGSymbols.cpp - Spaces, maps, and what movements ask of them -----------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/Choices.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

SpaceOp lookupSpace(Operation *user, FlatSymbolRefAttr name, SymbolTableCollection &symbols) {
  auto space = symbols.lookupNearestSymbolFrom<SpaceOp>(user, name);
  if (!space)
    user->emitOpError() << "expected a declared space, found " << name;
  return space;
}

MapOp lookupMap(Operation *user, FlatSymbolRefAttr name, SymbolTableCollection &symbols) {
  auto map = symbols.lookupNearestSymbolFrom<MapOp>(user, name);
  if (!map)
    user->emitOpError() << "expected a declared map, found " << name;
  return map;
}

/// (R3): the value resides on `space`, with that space's extent.
LogicalResult verifyOn(Operation *user, Type type, FlatSymbolRefAttr space, StringRef what,
                       SymbolTableCollection &symbols) {
  FlatSymbolRefAttr found = getResidency(type);
  if (found != space) {
    InFlightDiagnostic diag = user->emitOpError() << "expected the " << what << " on " << space << ", found ";
    return found ? diag << found : diag << "shared";
  }
  SpaceOp op = lookupSpace(user, space, symbols);
  if (!op)
    return failure();
  int64_t extent = op.getExtent() ? int64_t(*op.getExtent()) : ShapedType::kDynamic;
  if (cast<RankedTensorType>(type).getDimSize(0) != extent)
    return user->emitOpError() << "the rows of the " << what << " are not the extent of " << space;
  return success();
}

LogicalResult verifySameFeatures(Operation *user, Type from, Type to) {
  if (getFeatureShape(from) != getFeatureShape(to) ||
      cast<RankedTensorType>(from).getElementType() != cast<RankedTensorType>(to).getElementType())
    return user->emitOpError() << "expected the operand's features, found " << to;
  return success();
}

FlatSymbolRefAttr partAt(std::optional<ArrayAttr> list, size_t i) {
  return list && i < list->size() ? dyn_cast<FlatSymbolRefAttr>((*list)[i]) : FlatSymbolRefAttr();
}

} // namespace

LogicalResult SpaceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SpaceKind kind = getKind();
  if ((kind == SpaceKind::Static) != getExtent().has_value())
    return emitOpError() << "a static space and no other has an extent";
  if (getExtent() && int64_t(*getExtent()) < 0)
    return emitOpError() << "expected an extent of 0 or more, found " << int64_t(*getExtent());
  if (kind == SpaceKind::Filter || kind == SpaceKind::Distinct) {
    size_t count = getMaps() ? getMaps()->size() : 0;
    if (!getBase() || (kind == SpaceKind::Filter ? count != 2 : count == 0))
      return emitOpError() << "expected a base and " << (kind == SpaceKind::Filter ? "two maps" : "maps");
    FlatSymbolRefAttr to;
    for (size_t i = 0; i < count; ++i) {
      FlatSymbolRefAttr name = partAt(getMaps(), i);
      MapOp map = name ? lookupMap(*this, name, symbols) : MapOp();
      if (!map)
        return name ? failure() : emitOpError() << "expected symbols in maps";
      if (map.getFromAttr() != getBaseAttr())
        return emitOpError() << "map " << name << " does not start at the base " << getBaseAttr();
      if (kind == SpaceKind::Filter && to && map.getToAttr() != to)
        return emitOpError() << "the maps of a filter lead to " << to << " and " << map.getToAttr();
      to = map.getToAttr();
    }
  }
  if ((kind == SpaceKind::Selection) != getMost().has_value() ||
      ((getOthers() || getRatio() || getOpen()) && kind != SpaceKind::Selection))
    return emitOpError() << "a selection and no other has elements to choose from, and how many";
  if (FloatAttr ratio = getRatioAttr(); ratio && !(ratio.getValueAsDouble() > 0 && ratio.getValueAsDouble() <= 1))
    return emitOpError() << "expected a ratio above 0 and up to 1, found " << ratio;
  if (FloatAttr ratio = getRatioAttr(); ratio && !ratio.getType().isF32() && !ratio.getType().isF64())
    return emitOpError() << "expected a ratio of f32 or f64, found " << ratio;
  if (getOf().has_value() != (kind == SpaceKind::Selection || kind == SpaceKind::Pairs))
    return emitOpError() << "a selection or pairs, and no other, have elements beside those of a base";
  if (getOf()) {
    if (!getBase())
      return emitOpError() << "expected a base";
    if (!lookupSpace(*this, getBaseAttr(), symbols) || !lookupSpace(*this, getOfAttr(), symbols))
      return failure();
    if (getMost() && int64_t(*getMost()) < 1)
      return emitOpError() << "expected one element to choose or more, found " << int64_t(*getMost());
    if (getOthers() && getBaseAttr() != getOfAttr())
      return emitOpError() << "expected its own base to choose others from, found " << getOfAttr();
    if (kind == SpaceKind::Pairs && !getMaps())
      return emitOpError() << "expected two maps";
    if (getMaps() && getMaps()->size() != 2)
      return emitOpError() << "expected two maps or none";
    FlatSymbolRefAttr to;
    for (size_t i = 0; getMaps() && i < 2; ++i) {
      FlatSymbolRefAttr name = partAt(getMaps(), i);
      if (i == 0 && kind == SpaceKind::Selection && isa<UnitAttr>((*getMaps())[i])) { // each element is a place itself
        to = getBaseAttr();
        continue;
      }
      MapOp map = name ? lookupMap(*this, name, symbols) : MapOp();
      if (!map)
        return name ? failure() : emitOpError() << "expected symbols in maps";
      if (map.getFromAttr() != (i == 0 ? getBaseAttr() : getOfAttr()))
        return emitOpError() << "map " << name << " does not start at " << (i == 0 ? getBaseAttr() : getOfAttr());
      if (map.getPartial())
        return emitOpError() << "expected maps that are defined everywhere, found " << name;
      if (to && map.getToAttr() != to)
        return emitOpError() << "the maps lead to " << to << " and " << map.getToAttr();
      to = map.getToAttr();
    }
  }
  if (kind == SpaceKind::Share && (!getBase() || !lookupSpace(*this, getBaseAttr(), symbols)))
    return getBase() ? failure() : emitOpError() << "expected a base";
  if (kind == SpaceKind::Union) {
    if (!getParts() || getParts()->empty())
      return emitOpError() << "expected parts";
    for (size_t i = 0; i < getParts()->size(); ++i) {
      if (!partAt(getParts(), i))
        return emitOpError() << "expected symbols in parts";
      if (!lookupSpace(*this, partAt(getParts(), i), symbols))
        return failure();
    }
  }
  return success();
}

LogicalResult MapOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SpaceOp from = lookupSpace(*this, getFromAttr(), symbols), to = lookupSpace(*this, getToAttr(), symbols);
  if (!from || !to)
    return failure();
  auto wrong = [&](StringRef expected) { return emitOpError() << "expected " << expected; };
  // What leads through a partial map is undefined where that one is.
  auto verifyPartial = [&](MapOp through) -> LogicalResult {
    if (through.getPartial() && !getPartial())
      return emitOpError() << "leads through " << through.getSymNameAttr() << ", so it must be partial too";
    return success();
  };
  int64_t part = getPart() ? int64_t(*getPart()) : 0;
  switch (getKind()) {
  case MapKind::Root:
    return success();
  case MapKind::Inclusion:
    return (from.getKind() == SpaceKind::Filter || from.getKind() == SpaceKind::Share) &&
                   from.getBaseAttr() == getToAttr()
               ? success()
               : wrong("an inclusion to lead from a filter or a share to its base");
  case MapKind::Part:
    // The only part is all of a union.
    return from.getKind() == SpaceKind::Union && partAt(from.getParts(), part) == getToAttr() &&
                   (getPartial() || from.getParts()->size() == 1)
               ? success()
               : wrong("a partial map from a union to its part");
  case MapKind::Parts: {
    if (from.getKind() != SpaceKind::Union || !getParts() || getParts()->size() != from.getParts()->size())
      return wrong("one map for each part of a union");
    for (auto [i, entry] : llvm::enumerate(getPartsAttr())) {
      FlatSymbolRefAttr space = partAt(from.getParts(), i);
      if (isa<UnitAttr>(entry)) {
        if (space != getToAttr())
          return wrong("the identity only on a part that is the target");
        continue;
      }
      auto name = dyn_cast<FlatSymbolRefAttr>(entry);
      if (!name) {
        if (!getPartial())
          return wrong("a map that is undefined on a part to be partial");
        continue;
      }
      MapOp map = lookupMap(*this, name, symbols);
      if (!map)
        return failure();
      if (map.getFromAttr() != space || map.getToAttr() != getToAttr())
        return emitOpError() << "map " << name << " does not lead from " << space << " to " << getToAttr();
      if (failed(verifyPartial(map)))
        return failure();
    }
    return success();
  }
  case MapKind::Projection: {
    MapOp map = from.getKind() == SpaceKind::Distinct && partAt(from.getMaps(), part)
                    ? lookupMap(*this, partAt(from.getMaps(), part), symbols)
                    : MapOp();
    return map && map.getToAttr() == getToAttr() ? verifyPartial(map) : wrong("a projection of a distinct space");
  }
  case MapKind::Class:
    return to.getKind() == SpaceKind::Distinct && to.getBaseAttr() == getFromAttr()
               ? success()
               : wrong("a map from the base of a distinct space to it");
  case MapKind::Last: {
    FlatSymbolRefAttr name = partAt(getParts(), 0);
    MapOp map = name ? lookupMap(*this, name, symbols) : MapOp();
    return map && map.getToAttr() == getFromAttr() && map.getFromAttr() == getToAttr() && getPartial()
               ? success()
               : wrong("a partial map against its part");
  }
  case MapKind::Compose: {
    FlatSymbolRefAttr first = partAt(getParts(), 0), second = partAt(getParts(), 1);
    if (!first || !second)
      return wrong("two maps to compose");
    MapOp a = lookupMap(*this, first, symbols), b = lookupMap(*this, second, symbols);
    if (!a || !b)
      return failure();
    if (a.getFromAttr() != getFromAttr() || a.getToAttr() != b.getFromAttr() || b.getToAttr() != getToAttr())
      return wrong("maps that follow each other");
    return success(succeeded(verifyPartial(a)) && succeeded(verifyPartial(b)));
  }
  case MapKind::Owner:
    return (from.getKind() == SpaceKind::Selection || from.getKind() == SpaceKind::Pairs) &&
                   from.getBaseAttr() == getToAttr()
               ? success()
               : wrong("a map from a selection or pairs to the base");
  case MapKind::Chosen:
    return from.getKind() == SpaceKind::Selection && from.getOfAttr() == getToAttr()
               ? success()
               : wrong("a map from a selection to what it chooses from");
  case MapKind::Partner:
    return from.getKind() == SpaceKind::Pairs && from.getOfAttr() == getToAttr()
               ? success()
               : wrong("a map from pairs to what the base is paired with");
  case MapKind::Only:
    return to.getKind() == SpaceKind::Static && to.getExtent() == 1 ? success()
                                                                    : wrong("a map to a static space of extent 1");
  case MapKind::Injection:
    return to.getKind() == SpaceKind::Union && partAt(to.getParts(), part) == getFromAttr()
               ? success()
               : wrong("an injection to lead from a part of a union into it");
  }
  return success();
}

LogicalResult BroadcastOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getAlong() == kAllMap) {
    FlatSymbolRefAttr space = getResidency(getResult().getType());
    if (getResidency(getInput().getType()) || !space)
      return emitOpError() << "expected a shared operand and a result on a space";
    if (failed(verifyOn(*this, getResult().getType(), space, "result", symbols)))
      return failure();
    return verifySameFeatures(*this, getInput().getType(), getResult().getType());
  }
  MapOp map = lookupMap(*this, getAlongAttr(), symbols);
  if (!map || failed(verifyOn(*this, getInput().getType(), map.getToAttr(), "operand", symbols)) ||
      failed(verifyOn(*this, getResult().getType(), map.getFromAttr(), "result", symbols)))
    return failure();
  return verifySameFeatures(*this, getInput().getType(), getResult().getType());
}

LogicalResult ReduceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifySameFeatures(*this, getInput().getType(), getResult().getType())))
    return failure();
  if (getAlong() == kAllMap) {
    if (!getResidency(getInput().getType()))
      return emitOpError() << "expected an operand that is not shared";
    if (getResidency(getResult().getType()))
      return emitOpError() << "expected a shared result, found " << getResidency(getResult().getType());
    return success();
  }
  MapOp map = lookupMap(*this, getAlongAttr(), symbols);
  if (!map || failed(verifyOn(*this, getInput().getType(), map.getFromAttr(), "operand", symbols)))
    return failure();
  return verifyOn(*this, getResult().getType(), map.getToAttr(), "result", symbols);
}

LogicalResult NormOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getInput().getType() != getResult().getType())
    return emitOpError() << "expected the operand's type, found " << getResult().getType();
  if (getAlong() == kAllMap)
    return getResidency(getInput().getType()) ? success() : emitOpError() << "expected an operand that is not shared";
  MapOp map = lookupMap(*this, getAlongAttr(), symbols);
  return map ? verifyOn(*this, getInput().getType(), map.getFromAttr(), "operand", symbols) : failure();
}

LogicalResult DegreeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  MapOp map = lookupMap(*this, getAlongAttr(), symbols);
  if (!map)
    return failure();
  if (!getFeatureShape(getResult().getType()).empty())
    return emitOpError() << "expected no feature axes";
  return verifyOn(*this, getResult().getType(), map.getToAttr(), "result", symbols);
}

/// Whether an operation names a map that leads through `chosen`.
static bool namesMap(Operation *op, FlatSymbolRefAttr chosen) {
  auto names = [&](Operation *inner) {
    bool found = false;
    inner->getAttrDictionary().walk(
        [&](FlatSymbolRefAttr name) { found |= llvm::is_contained(chosenBehind(op, name), chosen); });
    return found ? WalkResult::interrupt() : WalkResult::advance();
  };
  return op->walk(names).wasInterrupted();
}

/// What all choices have to keep to.
static LogicalResult verifyChoice(Operation *op, bool isOpen, SymbolTableCollection &symbols) {
  FlatSymbolRefAttr along = getChosenMap(op), ownerName = getOwnerMap(op);
  MapOp map = lookupMap(op, along, symbols);
  if (!map)
    return failure();
  bool isKept = isa<KeepOp>(op);
  if (map.getKind() != (isKept ? MapKind::Owner : MapKind::Chosen))
    return op->emitOpError() << "expected a map to what is chosen, found " << along;
  MapOp owner = lookupMap(op, ownerName, symbols);
  if (!owner)
    return failure();
  if (owner.getKind() != MapKind::Owner || owner.getFromAttr() != map.getFromAttr())
    return op->emitOpError() << "expected the map from " << map.getFromAttr() << " to owners, found " << ownerName;
  SpaceOp space = lookupSpace(op, map.getFromAttr(), symbols);
  if (!space || !space.getBase())
    return failure();
  if (space.getOpen() != isOpen)
    return op->emitOpError() << "expected " << (isOpen ? "an open selection" : "a selection whose extent is known")
                             << ", found " << map.getFromAttr();
  if (isKept && (space.getOf() != space.getBase() || space.getMost() != 1 || space.getMaps() || space.getOthers()))
    return op->emitOpError() << "expected a selection of one element of its base for each, found " << map.getFromAttr();
  // What decides: values on what is chosen from, and then values on what it is chosen for.
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    bool isStart = i > 0 && isa<FarthestOp>(op);
    if (failed(verifyOn(op, operand.getType(), i == 0 || isStart ? map.getToAttr() : space.getBaseAttr(),
                        isStart                  ? "start"
                        : i > 0                  ? "queries"
                        : isa<TopOp, KeepOp>(op) ? "operand"
                                                 : "points",
                        symbols)))
      return failure();
    Type element = cast<RankedTensorType>(operand.getType()).getElementType();
    if (!element.isF32() && !element.isF64())
      return op->emitOpError() << "expected rows of f32 or f64, found " << element;
    if ((isa<TopOp, KeepOp>(op) || isStart) && !getFeatureShape(operand.getType()).empty())
      return op->emitOpError() << "expected one number for each element, found " << operand.getType();
    if (isStart && element != cast<RankedTensorType>(op->getOperand(0).getType()).getElementType())
      return op->emitOpError() << "expected start as wide as the points, found " << element;
  }
  Type type = op->getResult(0).getType();
  if (failed(verifyOn(op, type, map.getFromAttr(), "result", symbols)) ||
      (op->getNumOperands() == 2 && !isa<FarthestOp>(op) &&
       failed(verifySameFeatures(op, op->getOperand(0).getType(), op->getOperand(1).getType()))))
    return failure();
  if (!getFeatureShape(type).empty() || !cast<RankedTensorType>(type).getElementType().isF32())
    return op->emitOpError() << "expected the number of an element, as an f32, found " << type;
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
    for (FlatSymbolRefAttr name : {along, ownerName})
      if (namesMap(before, name)) {
        InFlightDiagnostic diag = op->emitOpError() << "says where " << name << " leads after it is followed";
        diag.attachNote(before->getLoc()) << "it is followed here";
        return diag;
      }
  return success();
}

LogicalResult NearestOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyChoice(*this, /*isOpen=*/false, symbols);
}

LogicalResult WithinOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!(getRadius().convertToDouble() > 0))
    return emitOpError() << "expected a radius above 0, found " << getRadius().convertToDouble();
  return verifyChoice(*this, /*isOpen=*/true, symbols);
}

/// Members of each element to which a map leads are chosen.
static LogicalResult verifyChoiceOfMembers(Operation *op, SymbolTableCollection &symbols) {
  if (SpaceOp space = getSelection(op); !space || !space.getMaps() || !isa<UnitAttr>((*space.getMaps())[0]))
    return op->emitOpError() << "expected a selection for the elements to which a map leads";
  return verifyChoice(op, /*isOpen=*/false, symbols);
}

LogicalResult TopOp::verifySymbolUses(SymbolTableCollection &symbols) { return verifyChoiceOfMembers(*this, symbols); }

LogicalResult FarthestOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyChoiceOfMembers(*this, symbols);
}

LogicalResult KeepOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyChoice(*this, /*isOpen=*/true, symbols);
}

LogicalResult ExtentOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getResidency(getResult().getType()) || !getFeatureShape(getResult().getType()).empty())
    return emitOpError() << "expected a shared result without feature axes, found " << getResult().getType();
  return success(bool(lookupSpace(*this, getSpaceAttr(), symbols)));
}

LogicalResult TransferOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto [type, what] : {std::pair(getInput().getType(), "operand"), std::pair(getType(), "result")}) {
    FlatSymbolRefAttr name = getResidency(type);
    if (!name)
      return emitOpError() << "expected the " << what << " on a root space, found shared";
    SpaceOp space = lookupSpace(*this, name, symbols);
    if (!space || failed(verifyOn(*this, type, name, what, symbols)))
      return failure();
    if (space.getKind() != SpaceKind::Root)
      return emitOpError() << "expected the " << what << " on a root space, found " << name;
  }
  return verifySameFeatures(*this, getInput().getType(), getType());
}

LogicalResult AwaitOp::verify() {
  auto transfer = getInput().getDefiningOp<TransferOp>();
  if (!transfer)
    return emitOpError() << "expected what a transfer gives";
  if (transfer.getInput() != getSent())
    return emitOpError() << "expected what its transfer sends, found another value";
  if (!getInput().hasOneUse())
    return emitOpError() << "expected to be alone in reading what its transfer gives";
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (getKind() != ReduceKind::Sum && getKind() != ReduceKind::Max && getKind() != ReduceKind::Min)
    return emitOpError() << "expected sum, max or min, found " << stringifyEnum(getKind());
  if (getResidency(getType()) && getType().isDynamicDim(0))
    return emitOpError() << "expected a value that is shared or on a static space, found one on "
                         << getResidency(getType());
  return success();
}

LogicalResult SpreadOp::verify() {
  if (getResidency(getInput().getType()))
    return emitOpError() << "expected a shared operand, found one on " << getResidency(getInput().getType());
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "expected the operand's shape and elements, found " << to;
  return success();
}

LogicalResult CollectOp::verify() {
  FlatSymbolRefAttr space = getResidency(getInput().getType());
  if (!space)
    return emitOpError() << "expected an operand on a static space, found shared";
  if (getResidency(getResult().getType()))
    return emitOpError() << "expected a shared result, found one on " << getResidency(getResult().getType());
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType())
    return emitOpError() << "expected the operand's shape and elements, found " << to;
  return success();
}

LogicalResult SpreadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FlatSymbolRefAttr space = getResidency(getResult().getType());
  if (!space)
    return emitOpError() << "expected a result on a static space, found shared";
  return verifyOn(*this, getResult().getType(), space, "result", symbols);
}
