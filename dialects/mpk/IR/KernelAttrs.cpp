//===- KernelAttrs.cpp - Verifiers of what passes decide about kernels ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each attribute. A kernel's attributes are verified after its function's, and maybe before its
// neighbours, so what is read of those is not taken for granted.
//
//===----------------------------------------------------------------------===//

#include "dialects/mpk/IR/KernelAttrs.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpk;

PlaceAttr mpk::getPlace(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto places = result ? result.getOwner()->getAttrOfType<ArrayAttr>(kPlacesAttr) : ArrayAttr();
  return places ? cast<PlaceAttr>(places[result.getResultNumber()]) : PlaceAttr();
}

Attribute PlaceAttr::parse(AsmParser &parser, Type) {
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess())
    return Attribute();
  SMLoc place = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseOptionalKeyword(&keyword, {"arena", "result", "none"})) {
    parser.emitError(place, "expected arena, result or none");
    return Attribute();
  }
  std::optional<unsigned> number;
  int64_t given;
  if (OptionalParseResult found = parser.parseOptionalInteger(given); found.has_value()) {
    if (failed(*found))
      return Attribute();
    if (given < 0 || given > std::numeric_limits<int32_t>::max()) {
      parser.emitError(place, "expected the number of a slot or a result, found ") << given;
      return Attribute();
    }
    number = given;
  }
  if (parser.parseGreater())
    return Attribute();
  return parser.getChecked<PlaceAttr>(start, parser.getContext(), *symbolizePlaceKind(keyword), number);
}

void PlaceAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyPlaceKind(getKind());
  if (getNumber())
    printer << " " << *getNumber();
  printer << ">";
}

LogicalResult PlaceAttr::verify(function_ref<InFlightDiagnostic()> emitError, PlaceKind kind,
                                std::optional<unsigned> number) {
  if (kind == PlaceKind::None && number)
    return emitError() << "expected no number after none, found " << *number;
  if (kind != PlaceKind::None && !number)
    return emitError() << "expected a number after " << stringifyPlaceKind(kind) << ", found none";
  return success();
}

namespace {

/// Starts an error that names the operation and the attribute.
using Error = function_ref<InFlightDiagnostic()>;

LogicalResult verifyElsewhere(StringRef name, Error error) {
  StringRef places = llvm::StringSwitch<StringRef>(name)
                         .Cases({kPlacesAttr, kLaunchAttr}, "a kernel of a function")
                         .Cases({kTileAttr, kSweptAttr}, "mpdfg.contract")
                         .Case(kAlternativeAttr, "a function")
                         .Case(kOfOwnerAttr, "mpdfg.element in a sweep")
                         .Default("");
  if (places.empty())
    return error() << "is none of the mpk dialect's";
  return error() << "is for " << places << ", and found elsewhere";
}

LogicalResult verifyUnit(Attribute value, Error error) {
  return isa<UnitAttr>(value) ? success() : error() << "expected no value, found " << value;
}

/// Whether a value is returned, as it is or seen as another type.
bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() ||
           (isa<mpdfg::ReshapeOp, mpdfg::SpreadOp, mpdfg::CollectOp, mpdfg::AwaitOp>(user) &&
            user->getOperand(0) == value && llvm::any_of(user->getResults(), isReturned));
  });
}

LogicalResult verifyArenaSlot(OpResult result, unsigned slot, Error error) {
  auto arenas = result.getOwner()->getBlock()->getOps<ArenaOp>();
  if (arenas.empty())
    return error() << "expected an mpk.arena in the function, found none";
  ArenaOp arena = *arenas.begin();
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!arena.getSpacesAttr() || !arena.getBytesAttr() || !type)
    return success(); // Operations' own verifiers say what is wrong.
  if (slot >= arena.getSpaces().size() || slot >= arena.getBytes().size())
    return error() << "expected one of " << arena.getSpaces().size() << " slots of the arena, found " << slot;
  FlatSymbolRefAttr space = mpdfg::getResidency(result.getType());
  Attribute expected = space ? Attribute(space) : Attribute(UnitAttr::get(result.getContext()));
  if (Attribute found = arena.getSpaces()[slot]; found != expected)
    return error() << "expected a slot of the arena for rows of " << expected << ", found slot " << slot << " for "
                   << found;
  int64_t bytes = mpdfg::getFeatureElements(type) * type.getElementTypeBitWidth() / 8;
  if (int64_t found = arena.getBytes()[slot]; found != bytes)
    return error() << "expected a slot of the arena for rows of " << bytes << " bytes, found slot " << slot << " for "
                   << found;
  return success();
}

LogicalResult verifyResultOfFunction(OpResult result, unsigned number, Error error) {
  auto function = cast<FunctionOpInterface>(result.getOwner()->getParentOp());
  if (number >= function.getNumResults())
    return error() << "expected one of the function's " << function.getNumResults() << " results, found " << number;
  if (Type found = function.getResultTypes()[number]; found != result.getType())
    return error() << "expected a result of the function of type " << result.getType() << ", found result " << number
                   << " of type " << found;
  if (getUpdated(function, number))
    return error() << "expected an output, found result " << number << " of the function, which replaces an argument";
  return success();
}

LogicalResult verifyPlaces(Operation *kernel, Attribute value, Error error) {
  auto places = dyn_cast<ArrayAttr>(value);
  if (!places || !llvm::all_of(places, llvm::IsaPred<PlaceAttr>))
    return error() << "expected an array of #mpk.place<...>, found " << value;
  if (places.size() != kernel->getNumResults())
    return error() << "expected " << kernel->getNumResults() << " places, one for each result, found " << places.size();
  for (OpResult result : kernel->getResults()) {
    auto place = cast<PlaceAttr>(places[result.getResultNumber()]);
    auto ofResult = [&] { return error() << "of result " << result.getResultNumber() << ": "; };
    LogicalResult valid = success();
    switch (place.getKind()) {
    case PlaceKind::Arena:
      valid = verifyArenaSlot(result, *place.getNumber(), ofResult);
      break;
    case PlaceKind::Result:
      valid = verifyResultOfFunction(result, *place.getNumber(), ofResult);
      break;
    case PlaceKind::None:
      if (!isReturned(result))
        valid = ofResult() << "expected a place, found none for a value that is not returned";
      break;
    }
    if (failed(valid))
      return failure();
  }
  return success();
}

/// The kernel before one in its block, if there is any.
Operation *findKernelBefore(Operation *op) {
  do
    op = op->getPrevNode();
  while (op && !isKernel(op));
  return op;
}

LogicalResult verifyLaunch(Operation *kernel, Attribute value, Error error) {
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number || !number.getType().isSignlessInteger(64) || number.getInt() < 0)
    return error() << "expected a number of type i64 that is not negative, found " << value;
  for (Value operand : kernel->getOperands())
    if (Operation *maker = mpdfg::getViewed(operand).getDefiningOp();
        maker && isKernel(maker) && maker->getAttr(kLaunchAttr) == value) {
      InFlightDiagnostic diag = error() << "expected kernels that do not need each other in launch " << number.getInt();
      diag.attachNote(maker->getLoc()) << "found that it reads what this one writes";
      return diag;
    }
  // It is enough that the first of those side by side is the first of all.
  Operation *before = findKernelBefore(kernel);
  if (before && before->getAttr(kLaunchAttr) == value)
    return success();
  for (; before; before = findKernelBefore(before))
    if (before->getAttr(kLaunchAttr) == value) {
      InFlightDiagnostic diag = error() << "expected kernels of launch " << number.getInt() << " next to each other";
      diag.attachNote(before->getLoc()) << "found others between it and this one";
      return diag;
    }
  return success();
}

/// Labels of the batch, then the rows' own or the summed ones, then the columns', in all three.
LogicalResult verifyTile(mpdfg::ContractOp contract, Attribute value, Error error) {
  if (failed(verifyUnit(value, error)))
    return failure();
  if (!contract.getLhsLabelsAttr() || !contract.getRhsLabelsAttr() || !contract.getOutLabelsAttr())
    return success(); // The operation's own verifier says what is wrong.
  SmallVector<int64_t> batch, m, k, n;
  ArrayRef<int64_t> x = contract.getLhsLabels(), w = contract.getRhsLabels(), y = contract.getOutLabels();
  for (int64_t label : x) {
    bool inW = llvm::is_contained(w, label), inY = llvm::is_contained(y, label);
    (inW && inY ? batch : inY ? m : k).push_back(label);
  }
  for (int64_t label : w)
    if (!llvm::is_contained(x, label))
      n.push_back(label);
  auto is = [](ArrayRef<int64_t> labels, std::initializer_list<ArrayRef<int64_t>> parts) {
    SmallVector<int64_t> all;
    for (ArrayRef<int64_t> part : parts)
      llvm::append_range(all, part);
    return labels == ArrayRef(all);
  };
  if (!is(x, {batch, m, k}) || !is(w, {batch, k, n}) || !is(y, {batch, m, n}))
    return error() << "expected labels in the order [batch, m, k], [batch, k, n] -> [batch, m, n], found [" << x
                   << "], [" << w << "] -> [" << y << "]";
  if (!batch.empty() && !m.empty() && !k.empty())
    return error() << "expected a batch or rows, found both in [" << x << "], [" << w << "] -> [" << y << "]";
  return success();
}

LogicalResult verifyAlternative(FunctionOpInterface function, Attribute value, Error error) {
  auto name = dyn_cast<FlatSymbolRefAttr>(value);
  auto leader =
      name ? SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(function, name) : FunctionOpInterface();
  if (!leader)
    return error() << "expected the name of a function, found " << value;
  if (leader->hasAttr(kAlternativeAttr))
    return error() << "expected a function that is no alternative itself, found " << value;
  if (leader.getFunctionType() != function.getFunctionType())
    return error() << "expected a function of type " << function.getFunctionType() << ", found " << value << " of type "
                   << leader.getFunctionType();
  return success();
}

} // namespace

LogicalResult MPKDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  auto error = [&] { return op->emitOpError() << "attribute '" << attribute.getName().getValue() << "' "; };
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  bool isOfFunction = isa_and_nonnull<FunctionOpInterface>(op->getParentOp());
  if (name == kPlacesAttr && isOfFunction && isKernel(op))
    return verifyPlaces(op, value, error);
  if (name == kLaunchAttr && isOfFunction && isKernel(op))
    return verifyLaunch(op, value, error);
  if (auto contract = dyn_cast<mpdfg::ContractOp>(op); contract && name == kTileAttr)
    return verifyTile(contract, value, error);
  if (name == kSweptAttr && isa<mpdfg::ContractOp>(op))
    return verifyUnit(value, error);
  if (auto function = dyn_cast<FunctionOpInterface>(op); function && name == kAlternativeAttr)
    return verifyAlternative(function, value, error);
  if (name == kOfOwnerAttr && isa<mpdfg::ElementOp>(op) && isa_and_nonnull<SweepOp>(op->getParentOp()))
    return verifyUnit(value, error);
  return verifyElsewhere(name, error);
}

LogicalResult MPKDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName();
  return verifyElsewhere(
      name, [&] { return op->emitOpError() << "argument " << argument << ": attribute '" << name << "' "; });
}

LogicalResult MPKDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                      NamedAttribute attribute) {
  StringRef name = attribute.getName();
  return verifyElsewhere(name,
                         [&] { return op->emitOpError() << "result " << result << ": attribute '" << name << "' "; });
}
