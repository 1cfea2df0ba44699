//===- ModelToMPDFG.cpp - From a checked program to mpdfg -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation for each value, in order. The work is in the axes: a ModelSpec names them, mpdfg numbers them. An
// operand is brought to its user's axis order by a transpose, and to its rank by a reshape that inserts axes of size 1.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Conversion/ModelToMPDFG.h"
#include "ElementNumbers.h"
#include "dialects/mpdfg/IR/MPDFG.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;
using frontend::Axis;
using frontend::Id;
using frontend::OpCode;

namespace {

class Importer {
public:
  Importer(const frontend::ModelSpec &model, MLIRContext *context, bool forRanks)
      : model(model), forRanks(forRanks), builder(context),
        element(model.doublePrecision ? Type(builder.getF64Type()) : Type(builder.getF32Type())) {}

  OwningOpRef<ModuleOp> run();

private:
  Location location(const frontend::Loc &loc) {
    if (loc.line == 0 || loc.file >= model.files.size())
      return builder.getUnknownLoc();
    return FileLineColLoc::get(builder.getContext(), model.files[loc.file], loc.line, loc.column);
  }
  FlatSymbolRefAttr symbol(StringRef name) { return FlatSymbolRefAttr::get(builder.getContext(), name); }
  FlatSymbolRefAttr spaceRef(Id id) { return id < 0 ? FlatSymbolRefAttr() : symbol(model.spaces[id].name); }
  FlatSymbolRefAttr mapRef(Id id) { return id == frontend::kAll ? symbol(kAllMap) : symbol(model.maps[id].name); }
  ArrayAttr symbols(ArrayRef<Id> ids, bool maps) {
    SmallVector<Attribute> list;
    for (Id id : ids)
      list.push_back(!maps                   ? Attribute(spaceRef(id))
                     : id == frontend::kNone ? Attribute(builder.getUnitAttr())
                     : id < 0                ? Attribute(builder.getStringAttr("undefined"))
                                             : Attribute(mapRef(id)));
    return builder.getArrayAttr(list);
  }
  RankedTensorType typeOn(Id space, ArrayRef<int64_t> features) {
    int64_t extent = space >= 0 && model.spaces[space].kind == frontend::Space::Kind::Static
                         ? model.spaces[space].extent
                         : ShapedType::kDynamic;
    return getTensorOn(spaceRef(space), extent, features, element);
  }
  static SmallVector<int64_t> sizesOf(ArrayRef<Axis> axes) {
    SmallVector<int64_t> sizes;
    for (const Axis &axis : axes)
      sizes.push_back(axis.size);
    return sizes;
  }
  RankedTensorType typeOf(const frontend::Value &value) { return typeOn(value.residency, sizesOf(value.axes)); }
  ArrayAttr axisNames(const frontend::Value &value) {
    SmallVector<StringRef> names;
    for (const Axis &axis : value.axes)
      names.push_back(axis.name);
    return builder.getStrArrayAttr(names);
  }

  void importSpaces();
  void importMaps();
  Value importValue(Id id);
  Value align(Id operand, ArrayRef<Axis> axes);
  Value expand(Value value, ArrayRef<int64_t> features);
  Value reshape(Value value, Id space, ArrayRef<int64_t> features);
  Value transpose(Value value, Id space, ArrayRef<int64_t> permutation);
  Value importContract(const frontend::Value &value, Type type);
  Value importConcat(const frontend::Value &value);
  Value importRandom(const frontend::Value &value, Type type);
  SmallVector<Id> choicesBehind(Id map);
  ArrayRef<Id> choicesOn(Id space) const {
    auto found = choices.find(space);
    return found == choices.end() ? ArrayRef<Id>() : ArrayRef<Id>(found->second);
  }
  /// Numbers of elements, which are as wide in all programs.
  RankedTensorType typeOfNumbers(RankedTensorType on) {
    return getTensorOn(getResidency(on), on.getDimSize(0), {}, builder.getF32Type());
  }
  Id ownersOf(Id selection);
  void importProgram(StringRef name, ArrayRef<frontend::Output> outputs, ArrayRef<frontend::Update> updates);

  const frontend::ModelSpec &model;
  const bool forRanks;
  OpBuilder builder;
  Type element;
  ModuleOp module;
  SmallVector<Value> values;
  llvm::DenseMap<Id, SmallVector<Id>> choices; ///< by space, the values that say which elements it has
  Location loc = builder.getUnknownLoc();
};

} // namespace

void Importer::importSpaces() {
  for (const frontend::Space &space : model.spaces) {
    auto optional = [&](bool has, Attribute attr) { return has ? attr : Attribute(); };
    bool kept = space.kind == frontend::Space::Kind::Kept, pairs = space.kind == frontend::Space::Kind::Pairs;
    bool selection = space.kind == frontend::Space::Kind::Selection || kept;
    bool derived = space.kind == frontend::Space::Kind::Filter || space.kind == frontend::Space::Kind::Distinct ||
                   selection || pairs;
    // Kinds of ranks alone come between.
    SpaceKind kind = selection ? SpaceKind::Selection : pairs ? SpaceKind::Pairs : SpaceKind(unsigned(space.kind));
    SpaceOp::create(builder, location(space.loc), builder.getStringAttr(space.name),
                    SpaceKindAttr::get(builder.getContext(), kind),
                    cast_or_null<IntegerAttr>(
                        optional(space.kind == frontend::Space::Kind::Static, builder.getI64IntegerAttr(space.extent))),
                    derived ? spaceRef(space.base) : FlatSymbolRefAttr(),
                    derived && !space.maps.empty() ? symbols(space.maps, true) : ArrayAttr(),
                    space.equal ? builder.getUnitAttr() : UnitAttr(),
                    space.kind == frontend::Space::Kind::Union ? symbols(space.parts, false) : ArrayAttr(),
                    selection || pairs ? spaceRef(kept ? space.base : space.of) : FlatSymbolRefAttr(),
                    selection ? builder.getI64IntegerAttr(kept ? 1 : space.most) : IntegerAttr(),
                    space.others ? builder.getUnitAttr() : UnitAttr(),
                    space.ratio != 0 ? builder.getFloatAttr(element, space.ratio) : FloatAttr(),
                    space.open || kept ? builder.getUnitAttr() : UnitAttr());
  }
}

void Importer::importMaps() {
  for (const frontend::Map &map : model.maps) {
    bool part = map.kind == frontend::Map::Kind::Part || map.kind == frontend::Map::Kind::Projection;
    bool parts = map.kind == frontend::Map::Kind::Parts || map.kind == frontend::Map::Kind::Last ||
                 map.kind == frontend::Map::Kind::Compose;
    bool isKept =
        map.kind == frontend::Map::Kind::Inclusion && model.spaces[map.from].kind == frontend::Space::Kind::Kept;
    MapKind kind = map.kind == frontend::Map::Kind::Owner || isKept ? MapKind::Owner
                   : map.kind == frontend::Map::Kind::Chosen        ? MapKind::Chosen
                   : map.kind == frontend::Map::Kind::Partner       ? MapKind::Partner
                   : map.kind == frontend::Map::Kind::Only          ? MapKind::Only
                                                                    : MapKind(unsigned(map.kind));
    MapOp::create(
        builder, location(map.loc), builder.getStringAttr(map.name), MapKindAttr::get(builder.getContext(), kind),
        spaceRef(map.from), spaceRef(map.to), map.partial ? builder.getUnitAttr() : UnitAttr(),
        part ? builder.getI64IntegerAttr(map.part) : IntegerAttr(), parts ? symbols(map.parts, true) : ArrayAttr());
  }
}

Value Importer::reshape(Value value, Id space, ArrayRef<int64_t> features) {
  if (getFeatureShape(value.getType()) == features)
    return value;
  return ReshapeOp::create(builder, loc, typeOn(space, features), value);
}

Value Importer::transpose(Value value, Id space, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> features;
  bool identity = true;
  for (auto [i, axis] : llvm::enumerate(permutation)) {
    features.push_back(getFeatureShape(value.getType())[axis]);
    identity &= int64_t(i) == axis;
  }
  if (identity)
    return value;
  return TransposeOp::create(builder, loc, typeOn(space, features), value, permutation);
}

/// Brings an operand to the axes of its user: its own in that order, axes of size 1 for the others.
Value Importer::align(Id operand, ArrayRef<Axis> axes) {
  const frontend::Value &source = model.values[operand];
  SmallVector<int64_t> permutation, features;
  for (const Axis &axis : axes) {
    auto it = llvm::find_if(source.axes, [&](const Axis &own) { return own.name == axis.name; });
    features.push_back(it == source.axes.end() ? 1 : it->size);
    if (it != source.axes.end())
      permutation.push_back(it - source.axes.begin());
  }
  if (source.op == OpCode::Constant)
    return ConstantOp::create(builder, loc, typeOn(frontend::kNone, features), builder.getF64FloatAttr(source.number));
  return reshape(transpose(values[operand], source.residency, permutation), source.residency, features);
}

/// Repeats axes of size 1 up to `features`.
Value Importer::expand(Value value, ArrayRef<int64_t> features) {
  if (getFeatureShape(value.getType()) == features)
    return value;
  Value ones = ConstantOp::create(builder, loc, RankedTensorType::get(features, element), builder.getF64FloatAttr(1));
  auto type = cast<RankedTensorType>(value.getType());
  FlatSymbolRefAttr space = getResidency(type);
  RankedTensorType result = getTensorOn(space, space ? type.getDimSize(0) : 0, features, element);
  return BinaryOp::create(builder, loc, result, BinaryKind::Mul, value, ones);
}

Value Importer::importContract(const frontend::Value &value, Type type) {
  SmallVector<StringRef> names;
  auto labelsOf = [&](ArrayRef<Axis> axes) {
    SmallVector<int64_t> labels;
    for (const Axis &axis : axes) {
      auto it = llvm::find(names, StringRef(axis.name));
      labels.push_back(it - names.begin());
      if (it == names.end())
        names.push_back(axis.name);
    }
    return labels;
  };
  SmallVector<int64_t> lhs = labelsOf(model.values[value.operands[0]].axes);
  SmallVector<int64_t> rhs = labelsOf(model.values[value.operands[1]].axes);
  SmallVector<int64_t> out = labelsOf(value.axes);
  return ContractOp::create(builder, loc, type, values[value.operands[0]], lhs, values[value.operands[1]], rhs, out);
}

Value Importer::importConcat(const frontend::Value &value) {
  size_t joined =
      llvm::find_if(value.axes, [&](const Axis &axis) { return axis.name == value.axesUsed[0]; }) - value.axes.begin();
  SmallVector<Value> operands;
  for (Id operand : value.operands) {
    // The operand's last axis is the joined one; the others are found by name.
    const frontend::Value &source = model.values[operand];
    SmallVector<int64_t> permutation, present, full;
    for (auto [i, axis] : llvm::enumerate(value.axes)) {
      ArrayRef<Axis> own(source.axes);
      size_t at = i == joined ? own.size() - 1 : llvm::find_if(own.drop_back(), [&](const Axis &a) {
                                                   return a.name == axis.name;
                                                 }) - own.begin();
      bool has = i == joined || at + 1 < own.size();
      if (has)
        permutation.push_back(at);
      present.push_back(has ? source.axes[at].size : 1);
      full.push_back(i == joined ? source.axes.back().size : axis.size);
    }
    Value aligned = reshape(transpose(values[operand], source.residency, permutation), source.residency, present);
    operands.push_back(expand(aligned, full));
  }
  return ConcatOp::create(builder, loc, typeOf(value), operands, joined);
}

/// Everything random() takes is aligned like the operands of any elementwise operation.
Value Importer::importRandom(const frontend::Value &value, Type type) {
  SmallVector<int64_t> ones(value.axes.size(), 1);
  RankedTensorType number = typeOn(frontend::kNone, ones);
  Value seed = values[value.operands[0]], step = values[value.operands[1]];
  auto seedPart = [&](int64_t i) {
    Value part = SliceOp::create(builder, loc, typeOn(frontend::kNone, {1}), seed, 0, i);
    return reshape(part, frontend::kNone, ones);
  };
  Value low = seedPart(0), high = seedPart(1);
  Value own;
  if (value.residency < 0)
    own = ConstantOp::create(builder, loc, number, builder.getF64FloatAttr(0));
  else if (!forRanks)
    own = ElementOp::create(builder, loc, typeOn(value.residency, ones), UnitAttr());
  else
    std::tie(own, high) =
        ElementNumbers(builder, loc, module, ones.size(), element).of(spaceRef(value.residency), high);
  Value places = IotaOp::create(builder, loc, typeOn(frontend::kNone, sizesOf(value.axes)));
  return RandomOp::create(builder, loc, type, low, high, reshape(step, frontend::kNone, ones), own, places, value.site);
}

Value Importer::importValue(Id id) {
  const frontend::Value &value = model.values[id];
  loc = location(value.loc);
  RankedTensorType type = typeOf(value);
  auto operand = [&](size_t i) { return values[value.operands[i]]; };
  auto source = [&]() -> const frontend::Value & { return model.values[value.operands[0]]; };
  auto axisNumber = [&](StringRef name) -> int64_t {
    return llvm::find_if(source().axes, [&](const Axis &axis) { return axis.name == name; }) - source().axes.begin();
  };
  switch (value.op) {
  case OpCode::Input:
  case OpCode::Param:
  case OpCode::State:
    return Value(); // An argument; set by run().
  case OpCode::Constant:
    return ConstantOp::create(builder, loc, type, builder.getF64FloatAttr(value.number));
  case OpCode::Unary:
    return UnaryOp::create(builder, loc, type, builder.getAttr<UnaryKindAttr>(*symbolizeUnaryKind(value.name)),
                           operand(0), builder.getF64FloatAttr(value.number));
  case OpCode::Binary:
    return BinaryOp::create(builder, loc, type, *symbolizeBinaryKind(value.name), align(value.operands[0], value.axes),
                            align(value.operands[1], value.axes));
  case OpCode::Select:
    return SelectOp::create(builder, loc, type, align(value.operands[0], value.axes),
                            align(value.operands[1], value.axes), align(value.operands[2], value.axes));
  case OpCode::Contract:
    return importContract(value, type);
  case OpCode::Reduce:
    return ReduceOp::create(builder, loc, type, builder.getAttr<ReduceKindAttr>(*symbolizeReduceKind(value.name)),
                            operand(0), mapRef(value.map));
  case OpCode::Norm:
    return NormOp::create(builder, loc, type, operand(0), mapRef(value.map));
  case OpCode::Fold: {
    SmallVector<int64_t> axes, kept = sizesOf(source().axes);
    for (const std::string &name : value.axesUsed) {
      axes.push_back(axisNumber(name));
      kept[axes.back()] = 1;
    }
    Value folded =
        FoldOp::create(builder, loc, typeOn(value.residency, kept), *symbolizeReduceKind(value.name), operand(0), axes);
    return reshape(folded, value.residency, sizesOf(value.axes));
  }
  case OpCode::Move:
    return BroadcastOp::create(builder, loc, type, operand(0), mapRef(value.map),
                               builder.getF64FloatAttr(value.number));
  case OpCode::Concat:
    return importConcat(value);
  case OpCode::Slice:
    return SliceOp::create(builder, loc, type, operand(0), axisNumber(value.axesUsed[0]), value.begin);
  case OpCode::Rename:
    return operand(0);
  case OpCode::Merge:
  case OpCode::Split:
    return reshape(operand(0), value.residency, sizesOf(value.axes));
  case OpCode::Permute: {
    SmallVector<int64_t> permutation;
    for (const Axis &axis : value.axes)
      permutation.push_back(axisNumber(axis.name));
    return transpose(operand(0), value.residency, permutation);
  }
  case OpCode::Degree:
    return DegreeOp::create(builder, loc, type, mapRef(value.map));
  case OpCode::Random:
    return importRandom(value, type);
  case OpCode::Identity: {
    Value own = ElementOp::create(builder, loc, typeOn(value.residency, {1}), UnitAttr());
    Value places = IotaOp::create(builder, loc, typeOn(frontend::kNone, sizesOf(value.axes)));
    return IsElementOp::create(builder, loc, type, places, own);
  }
  case OpCode::Gradient:
    return GradientOp::create(builder, loc, type, operand(0), operand(1));
  case OpCode::Spread:
    return SpreadOp::create(builder, loc, type, operand(0));
  case OpCode::Detach:
    return DetachOp::create(builder, loc, type, operand(0));
  case OpCode::Nearest:
    return NearestOp::create(builder, loc, typeOfNumbers(type), operand(0), operand(1), mapRef(value.map),
                             mapRef(ownersOf(value.residency)));
  case OpCode::Within:
    return WithinOp::create(builder, loc, typeOfNumbers(type), operand(0), operand(1),
                            builder.getF64FloatAttr(value.number), mapRef(value.map),
                            mapRef(ownersOf(value.residency)));
  case OpCode::Top:
    return TopOp::create(builder, loc, typeOfNumbers(type), operand(0), mapRef(value.map),
                         mapRef(ownersOf(value.residency)));
  case OpCode::Farthest:
    return FarthestOp::create(builder, loc, typeOfNumbers(type), operand(0),
                              value.operands.size() > 1 ? operand(1) : Value(), mapRef(value.map),
                              mapRef(ownersOf(value.residency)));
  case OpCode::Keep:
    return KeepOp::create(builder, loc, typeOfNumbers(type), operand(0), mapRef(value.map));
  }
  llvm_unreachable("unknown operation code");
}

Id Importer::ownersOf(Id selection) {
  return llvm::find_if(model.maps,
                       [&](const frontend::Map &map) {
                         return map.kind == frontend::Map::Kind::Owner && map.from == selection;
                       }) -
         model.maps.begin();
}

/// The values that say where a map leads that goes through what they choose.
SmallVector<Id> Importer::choicesBehind(Id map) {
  SmallVector<Id> found;
  if (map < 0)
    return found;
  auto [kind, from] = std::pair(model.maps[map].kind, model.maps[map].from);
  using Kind = frontend::Map::Kind;
  if (kind == Kind::Chosen || kind == Kind::Owner || kind == Kind::Inclusion)
    append_range(found, choicesOn(from));
  for (Id part : model.maps[map].parts)
    llvm::append_range(found, choicesBehind(part));
  return found;
}

/// One function, of what its results need.
void Importer::importProgram(StringRef name, ArrayRef<frontend::Output> outputs, ArrayRef<frontend::Update> updates) {
  SmallVector<bool> needed(model.values.size(), false);
  for (const frontend::Output &output : outputs)
    needed[output.value] = true;
  for (const frontend::Update &update : updates)
    needed[update.value] = needed[update.target] = true;
  for (Id id = Id(model.values.size()) - 1; id >= 0; --id)
    if (needed[id]) {
      for (Id operand : model.values[id].operands)
        needed[operand] = true;
      for (Id choice : choicesBehind(model.values[id].map))
        needed[choice] = true;
      for (Id choice : choicesOn(model.values[id].residency))
        needed[choice] = true;
    }

  SmallVector<bool> named(model.values.size(), false); // by a derivative
  for (auto [id, value] : llvm::enumerate(model.values))
    if (needed[id] && value.op == OpCode::Gradient)
      named[value.operands[1]] = true;

  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<Id> arguments;
  for (auto [id, value] : llvm::enumerate(model.values))
    if (needed[id] && (value.op == OpCode::Input || value.op == OpCode::Param || value.op == OpCode::State)) {
      arguments.push_back(id);
      argumentTypes.push_back(typeOf(value));
    }
  SmallVector<Id> results;
  for (const frontend::Output &output : outputs)
    results.push_back(output.value);
  for (const frontend::Update &update : updates)
    results.push_back(update.value);
  for (Id result : results)
    resultTypes.push_back(typeOf(model.values[result]));
  auto function =
      func::FuncOp::create(builder, builder.getUnknownLoc(), name, builder.getFunctionType(argumentTypes, resultTypes));
  Block *block = function.addEntryBlock();
  values.assign(model.values.size(), Value());
  for (auto [i, id] : llvm::enumerate(arguments)) {
    const frontend::Value &value = model.values[id];
    values[id] = block->getArgument(i);
    Role role = value.op == OpCode::Input ? Role::Input : value.op == OpCode::Param ? Role::Param : Role::State;
    function.setArgAttr(i, kNameAttr, builder.getStringAttr(value.name));
    function.setArgAttr(i, kRoleAttr, RoleAttr::get(builder.getContext(), role));
    function.setArgAttr(i, kAxesAttr, axisNames(value));
    if (!value.source.empty())
      function.setArgAttr(i, kSourceAttr, builder.getStringAttr(value.source));
    if (value.optional)
      function.setArgAttr(i, kFillAttr, builder.getF64FloatAttr(value.number));
  }
  for (auto [i, output] : llvm::enumerate(outputs)) {
    function.setResultAttr(i, kNameAttr, builder.getStringAttr(output.name));
    function.setResultAttr(i, kAxesAttr, axisNames(model.values[output.value]));
  }
  for (auto [i, update] : llvm::enumerate(updates)) {
    const frontend::Value &target = model.values[update.target];
    unsigned result = outputs.size() + i;
    function.setResultAttr(result, kNameAttr, builder.getStringAttr(target.name));
    function.setResultAttr(result, kAxesAttr, axisNames(target));
    unsigned updated = llvm::find(arguments, update.target) - arguments.begin();
    function.setResultAttr(result, kUpdatesAttr, ArgumentAttr::get(builder.getContext(), updated));
  }

  builder.setInsertionPointToStart(block);
  for (Id id = 0; id < Id(model.values.size()); ++id)
    if (needed[id] && !values[id]) {
      values[id] = importValue(id);
      if (named[id])
        values[id] = VariableOp::create(builder, loc, values[id].getType(), values[id], id);
    }
  SmallVector<Value> returned;
  for (Id result : results)
    returned.push_back(values[result]);
  func::ReturnOp::create(builder, builder.getUnknownLoc(), returned);
}

OwningOpRef<ModuleOp> Importer::run() {
  OwningOpRef<ModuleOp> owned = ModuleOp::create(builder.getUnknownLoc(), model.name);
  module = *owned;
  builder.setInsertionPointToStart(module.getBody());
  for (auto [id, value] : llvm::enumerate(model.values))
    if (isChoice(value.op))
      choices[value.residency].push_back(id);
  importSpaces();
  importMaps();

  importProgram(kForward, model.outputs, {});
  for (const frontend::Program &program : model.programs) {
    builder.setInsertionPointToEnd(module.getBody());
    importProgram(program.name, program.outputs, program.updates);
  }

  SmallVector<Attribute> sparse;
  for (const frontend::SparseInput &input : model.sparseInputs) {
    StringAttr value = input.value < 0 ? StringAttr() : builder.getStringAttr(model.values[input.value].name);
    sparse.push_back(SparseInputAttr::get(builder.getContext(), builder.getStringAttr(input.name),
                                          spaceRef(input.entries), mapRef(input.row), mapRef(input.column), value));
  }
  SmallVector<NamedAttribute> sources;
  for (const frontend::Space &space : model.spaces)
    if (!space.source.empty())
      sources.push_back(builder.getNamedAttr(space.name, builder.getStringAttr(space.source)));
  for (const frontend::Map &map : model.maps)
    if (!map.source.empty())
      sources.push_back(builder.getNamedAttr(map.name, builder.getStringAttr(map.source)));
  if (!sources.empty())
    module->setAttr(kSourceAttr, builder.getDictionaryAttr(sources));
  if (model.exported)
    module->setAttr(kExportedAttr, builder.getUnitAttr());
  if (!model.unusedParams.empty())
    module->setAttr(kUnusedParamsAttr, builder.getStrArrayAttr(SmallVector<StringRef>(model.unusedParams.begin(),
                                                                                      model.unusedParams.end())));
  if (!sparse.empty())
    module->setAttr(kSparseAttr, builder.getArrayAttr(sparse));
  return owned;
}

OwningOpRef<ModuleOp> gnnc::importModel(const frontend::ModelSpec &model, MLIRContext *context, bool forRanks) {
  context->loadDialect<MPDFGDialect, func::FuncDialect>();
  return Importer(model, context, forRanks).run();
}
