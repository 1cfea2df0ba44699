//===- ProgramAttrs.cpp - Verifiers of what a program tells its users -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each attribute. Attributes of a function are verified before what is in it, arguments in order and
// before results, so they may only rely on the function's type and on what comes before them.
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

std::optional<Role> gnnc::getRole(FunctionOpInterface function, unsigned argument) {
  auto role = function.getArgAttrOfType<RoleAttr>(argument, kRoleAttr);
  return role ? std::optional(role.getValue()) : std::nullopt;
}

std::optional<unsigned> gnnc::getUpdated(FunctionOpInterface function, unsigned result) {
  auto updated = function.getResultAttrOfType<ArgumentAttr>(result, kUpdatesAttr);
  return updated ? std::optional(updated.getNumber()) : std::nullopt;
}

Attribute ArgumentAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return Attribute();
  SMLoc place = parser.getCurrentLocation();
  int64_t number;
  if (parser.parseInteger(number))
    return Attribute();
  if (number < 0 || number > std::numeric_limits<int32_t>::max()) {
    parser.emitError(place, "expected the number of an argument, found ") << number;
    return Attribute();
  }
  if (parser.parseGreater())
    return Attribute();
  return ArgumentAttr::get(parser.getContext(), number);
}

void ArgumentAttr::print(AsmPrinter &printer) const { printer << "<" << getNumber() << ">"; }

namespace {

/// Starts an error that names the operation, the argument or result of a function, and the attribute.
using Error = function_ref<InFlightDiagnostic()>;

LogicalResult verifyElsewhere(StringRef name, Error error) {
  StringRef places =
      llvm::StringSwitch<StringRef>(name)
          .Cases({kNameAttr, kAxesAttr}, "an argument or a result of a function")
          .Cases({kRoleAttr, kFillAttr, kSeedAttr, kNumbersAttr, kHaloOfAttr}, "an argument of a function")
          .Case(kUpdatesAttr, "a result of a function")
          .Cases({kSparseAttr, kExportedAttr, kUnusedParamsAttr, kPlansAttr, kDistributedAttr, kMetadataAttr},
                 "a module")
          .Case(kSourceAttr, "a module or an argument of a function")
          .Cases({kAgainAttr, kKeepAttr}, "an operation of a function that has results")
          .Default("");
  if (places.empty())
    return error() << "is none of the mpdfg dialect's";
  return error() << "is for " << places << ", and found elsewhere";
}

LogicalResult verifyUnit(Attribute value, Error error) {
  return isa<UnitAttr>(value) ? success() : error() << "expected no value, found " << value;
}

LogicalResult verifyNames(Attribute value, Error error) {
  auto names = dyn_cast<ArrayAttr>(value);
  bool areNames = names && llvm::all_of(names, [](Attribute name) { return isa<StringAttr>(name); });
  return areNames ? success() : error() << "expected a list of names, found " << value;
}

LogicalResult verifyName(Attribute value, Error error) {
  auto name = dyn_cast<StringAttr>(value);
  return name && !name.empty() ? success() : error() << "expected a name, found " << value;
}

LogicalResult verifyAxes(Attribute value, Type type, Error error) {
  auto names = dyn_cast<ArrayAttr>(value);
  if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return error() << "expected an array of names, found " << value;
  if (!isValueType(type))
    return error() << "is for a tensor of the dialect, found " << type;
  if (size_t axes = getFeatureShape(type).size(); names.size() != axes)
    return error() << "expected " << axes << " names, one for each feature axis, found " << names.size();
  return success();
}

/// What only an input may be.
LogicalResult verifyInput(FunctionOpInterface function, unsigned argument, Error error) {
  if (std::optional<Role> role = getRole(function, argument); role && *role != Role::Input)
    return error() << "is for an input, found a " << stringifyRole(*role);
  return success();
}

LogicalResult verifyArgumentName(FunctionOpInterface function, unsigned argument, Attribute name, Error error) {
  for (unsigned i = 0; i < argument; ++i)
    if (function.getArgAttr(i, kNameAttr) == name)
      return error() << "expected a name of its own, found " << name << ", which argument " << i << " has";
  return success();
}

LogicalResult verifyUpdates(FunctionOpInterface function, unsigned result, Attribute value, Error error) {
  auto updated = dyn_cast<ArgumentAttr>(value);
  if (!updated)
    return error() << "expected #mpdfg.argument<...>, found " << value;
  unsigned number = updated.getNumber();
  if (number >= function.getNumArguments())
    return error() << "expected one of " << function.getNumArguments() << " arguments, found " << number;
  if (getRole(function, number) == Role::Input)
    return error() << "expected a parameter or a state, found argument " << number << ", which is an input";
  Type expected = function.getArgumentTypes()[number], found = function.getResultTypes()[result];
  if (expected != found)
    return error() << "expected the type of argument " << number << ", " << expected << ", found " << found;
  for (unsigned i = 0; i < result; ++i)
    if (function.getResultAttr(i, kUpdatesAttr) == value)
      return error() << "expected an argument of its own, found argument " << number << ", which result " << i
                     << " replaces";
  return success();
}

LogicalResult verifySparse(ModuleOp module, Attribute value, Error error) {
  auto inputs = dyn_cast<ArrayAttr>(value);
  if (!inputs || !llvm::all_of(inputs, llvm::IsaPred<SparseInputAttr>))
    return error() << "expected an array of #mpdfg.sparse_input<...>, found " << value;
  DenseSet<Attribute> known;
  for (auto input : inputs.getAsRange<SparseInputAttr>()) {
    if (!known.insert(input.getName()).second)
      return error() << "expected one sparse input of each name, found two named " << input.getName();
    if (!module.lookupSymbol<SpaceOp>(input.getEntries()))
      return error() << "expected a declared space for the entries of " << input.getName() << ", found "
                     << input.getEntries();
    for (FlatSymbolRefAttr name : {input.getRow(), input.getColumn()}) {
      auto map = module.lookupSymbol<MapOp>(name);
      if (!map || map.getFromAttr() != input.getEntries())
        return error() << "expected a map from " << input.getEntries() << " for " << input.getName() << ", found "
                       << name;
    }
  }
  return success();
}

/// Where a graph file has spaces and maps, or along which map a space goes; those that nothing needs any more may be
/// gone from the module.
LogicalResult verifyStrings(Attribute value, Error error) {
  auto sources = dyn_cast<DictionaryAttr>(value);
  if (!sources)
    return error() << "expected a dictionary of strings, found " << value;
  for (NamedAttribute source : sources)
    if (!isa<StringAttr>(source.getValue()))
      return error() << "expected a string for '" << source.getName().getValue() << "', found " << source.getValue();
  return success();
}

} // namespace

LogicalResult MPDFGDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                     NamedAttribute attribute) {
  auto error = [&] {
    return op->emitOpError() << "argument " << argument << ": attribute '" << attribute.getName().getValue() << "' ";
  };
  auto function = dyn_cast<FunctionOpInterface>(op);
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (!function)
    return verifyElsewhere(name, error);
  if (name == kNameAttr)
    return failed(verifyName(value, error)) ? failure() : verifyArgumentName(function, argument, value, error);
  if (name == kAxesAttr)
    return verifyAxes(value, function.getArgumentTypes()[argument], error);
  if (name == kRoleAttr)
    return isa<RoleAttr>(value) ? success() : error() << "expected #mpdfg.role<...>, found " << value;
  if (name == kFillAttr) {
    if (auto number = dyn_cast<FloatAttr>(value); !number || !number.getType().isF64())
      return error() << "expected a number of type f64, found " << value;
    return verifyInput(function, argument, error);
  }
  if (name == kSeedAttr || name == kNumbersAttr)
    return failed(verifyUnit(value, error)) ? failure() : verifyInput(function, argument, error);
  if (name == kSourceAttr || name == kHaloOfAttr)
    return failed(verifyName(value, error)) ? failure() : verifyInput(function, argument, error);
  return verifyElsewhere(name, error);
}

LogicalResult MPDFGDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                        NamedAttribute attribute) {
  auto error = [&] {
    return op->emitOpError() << "result " << result << ": attribute '" << attribute.getName().getValue() << "' ";
  };
  auto function = dyn_cast<FunctionOpInterface>(op);
  StringRef name = attribute.getName();
  if (function && name == kNameAttr)
    return verifyName(attribute.getValue(), error);
  if (function && name == kAxesAttr)
    return verifyAxes(attribute.getValue(), function.getResultTypes()[result], error);
  if (function && name == kUpdatesAttr)
    return verifyUpdates(function, result, attribute.getValue(), error);
  return verifyElsewhere(name, error);
}

LogicalResult MPDFGDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  auto error = [&] { return op->emitOpError() << "attribute '" << attribute.getName().getValue() << "' "; };
  StringRef name = attribute.getName();
  if (auto module = dyn_cast<ModuleOp>(op)) {
    if (name == kSparseAttr)
      return verifySparse(module, attribute.getValue(), error);
    if (name == kSourceAttr || name == kDistributedAttr || name == kMetadataAttr)
      return verifyStrings(attribute.getValue(), error);
    if (name == kExportedAttr)
      return verifyUnit(attribute.getValue(), error);
    if (name == kPlansAttr)
      return verifyName(attribute.getValue(), error);
    if (name == kUnusedParamsAttr)
      return verifyNames(attribute.getValue(), error);
  }
  bool ofFunction = isa_and_nonnull<FunctionOpInterface>(op->getParentOp()) && op->getNumResults() > 0;
  if (ofFunction && (name == kAgainAttr || name == kKeepAttr))
    return verifyUnit(attribute.getValue(), error);
  return verifyElsewhere(name, error);
}
