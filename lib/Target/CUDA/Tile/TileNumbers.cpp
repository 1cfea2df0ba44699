//===- TileNumbers.cpp - Values of a tile's rows, number by number --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/TileNumbers.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;

/// One coordinate of place `at` in a value of shape `dims`.
static std::string coordinate(ArrayRef<int64_t> dims, size_t axis, const std::string &at) {
  int64_t inner = RefTensor::product(dims.drop_front(axis + 1));
  if (dims[axis] == 1)
    return "0";
  std::string text = inner == 1 ? at : at + " / " + std::to_string(inner);
  return RefTensor::product(dims.take_front(axis)) == 1 ? "(" + text + ")"
                                                        : "(" + text + " % " + std::to_string(dims[axis]) + ")";
}

/// The place that coordinates have in a value of shape `dims`; an axis of size 1 has one place.
static std::string placeOf(ArrayRef<int64_t> dims, ArrayRef<std::string> coordinates) {
  std::string text;
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis] != 1 && coordinates[axis] != "0")
      text =
          coordinates[axis] + (stride == 1 ? "" : " * " + std::to_string(stride)) + (text.empty() ? "" : " + ") + text;
    stride *= dims[axis];
  }
  return text.empty() ? "0" : "(" + text + ")";
}

/// The place in a value of shape `dims` that is seen at place `at` of one of shape `of`.
static std::string placeIn(ArrayRef<int64_t> dims, ArrayRef<int64_t> of, const std::string &at) {
  if (dims == of)
    return at;
  SmallVector<std::string> coordinates;
  for (size_t axis = 0; axis < of.size(); ++axis)
    coordinates.push_back(coordinate(of, axis, at));
  return placeOf(dims, coordinates);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

template <typename List, typename Item> static unsigned numberIn(List &list, const Item &item) {
  auto it = llvm::find(list, item);
  unsigned number = it - list.begin();
  if (it == list.end())
    list.push_back(item);
  return number;
}

std::string TileNumbers::buffer(Value value) { return "args.b" + std::to_string(numberIn(buffers, value)); }
std::string TileNumbers::index(IndexRef ref) { return "args.i" + std::to_string(numberIn(indices, ref)); }
std::string TileNumbers::extent(FlatSymbolRefAttr space) { return "args.n" + std::to_string(numberIn(extents, space)); }

std::string TileNumbers::rowNumber(AccessKind kind, FlatSymbolRefAttr map) {
  FlatSymbolRefAttr along = sweep.getAlongAttr();
  std::string find;
  if (!along && kind == AccessKind::Owner)
    find = "position";
  else if (!along)
    find = "__ldg(" + index({IndexKind::Raw, map, {}}) + " + position)";
  else if (kind == AccessKind::Owner)
    find = "__ldg(" + index({IndexKind::Sorted, along, along}) + " + position)";
  else if (kind == AccessKind::Member)
    find = "gnnc::elementAt(" + index({IndexKind::MembersOrNone, along, {}}) + ", position)";
  else if (kind == AccessKind::GatherMember)
    find = "__ldg(" + index({IndexKind::Sorted, along, map}) + " + position)";
  else
    find = "__ldg(" + index({IndexKind::Raw, map, {}}) + " + at[0])"; // by the owner
  return "tile.at[" + std::to_string(numberIn(finds, find)) + " * kTileRows + row]";
}

std::string TileNumbers::define(const Twine &expression) {
  std::string name = "x" + std::to_string(count++);
  out.line("const Real " + Twine(name) + " = " + expression + ";");
  return name;
}

std::string TileNumbers::argument(BlockArgument value, const std::string &at) {
  mpk::AccessAttr access = sweep.getAccessOf(value.getArgNumber());
  Value input = sweep.getInputs()[value.getArgNumber()];
  if (access.getKind() == AccessKind::Shared)
    return define("gnnc::read(" + buffer(input) + " + " + at + ")");
  std::string row = rowNumber(access.getKind(), access.getMap()), text;
  if (auto degree = input.getDefiningOp<DegreeOp>()) {
    std::string pointers = index({IndexKind::Pointers, degree.getAlongAttr(), {}});
    text = "Real(__ldg(" + pointers + " + " + row + " + 1) - __ldg(" + pointers + " + " + row + "))";
  } else {
    text = "gnnc::read(" + buffer(input) + " + gnnc::int64(" + row + ") * " +
           std::to_string(getFeatureElements(value.getType())) + " + " + at + ")";
  }
  if (access.getMap() && isPartialMap(sweep, access.getMap()))
    text = row + " >= 0 ? " + text + " : " + literal(access.getFill() ? access.getFill().getValueAsDouble() : 0);
  return define(text);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::string TileNumbers::number(Value value, const std::string &at) {
  Value source = TilePlan::root(value);
  if (auto constant = source.getDefiningOp<ConstantOp>())
    return literal(constant.getValue().convertToDouble());
  if (source.getDefiningOp<IotaOp>())
    return "gnnc::numberOf(Real(0), " + at + ")";
  if (auto it = vectors.find(source); it != vectors.end() && at == "f")
    return it->second + "[v]";
  auto key = std::make_pair(source.getAsOpaquePointer(), at);
  if (auto it = names.find(key); it != names.end())
    return it->second;
  std::string name;
  if (const TileRows *rows = plan.rowsBefore(step, source))
    name = define("tile.rows[" + Twine(rows->place) + " + row * " + Twine(rows->stride) + " + " + at + "]");
  else if (auto argument = dyn_cast<BlockArgument>(source))
    name = this->argument(argument, at);
  else
    name = compute(source.getDefiningOp(), at);
  return names[key] = name;
}

std::string TileNumbers::compute(Operation *op, const std::string &at) {
  ArrayRef<int64_t> dims = getFeatureShape(op->getResult(0).getType());
  if (auto product = dyn_cast<ContractOp>(op))
    return contract(product, at);
  if (auto sum = dyn_cast<FoldOp>(op))
    return fold(sum, at);
  if (auto join = dyn_cast<ConcatOp>(op))
    return concat(join, at);
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    ArrayRef<int64_t> from = getFeatureShape(transpose.getInput().getType());
    SmallVector<std::string> coordinates(from.size());
    for (auto [axis, source] : llvm::enumerate(transpose.getPermutation()))
      coordinates[source] = coordinate(dims, axis, at);
    return number(transpose.getInput(), placeOf(from, coordinates));
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    SmallVector<std::string> coordinates;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      coordinates.push_back(axis == slice.getAxis()
                                ? "(" + coordinate(dims, axis, at) + " + " + std::to_string(slice.getBegin()) + ")"
                                : coordinate(dims, axis, at));
    return number(slice.getInput(), placeOf(getFeatureShape(slice.getInput().getType()), coordinates));
  }
  if (auto extentOp = dyn_cast<ExtentOp>(op))
    return define("Real(" + extent(extentOp.getSpaceAttr()) + ")");
  if (auto element = dyn_cast<ElementOp>(op))
    return define("gnnc::numberOf(Real(0), " +
                  rowNumber(element.getMember() ? AccessKind::Member : AccessKind::Owner, {}) + ")");
  SmallVector<std::string> operands;
  for (Value operand : op->getOperands())
    operands.push_back(number(operand, placeIn(getFeatureShape(operand.getType()), dims, at)));
  return define(elementwise(op, operands));
}

/// `term` at `count` places, one joined to the next. What is computed within is known within alone.
std::string TileNumbers::sum(StringRef start, int64_t number, function_ref<std::string(const std::string &)> term,
                             function_ref<std::string(const std::string &, const std::string &)> join) {
  std::string name = "x" + std::to_string(count++), variable = "i" + std::to_string(count++);
  out.line("Real " + Twine(name) + " = " + start + ";");
  auto outside = names;
  out.open("for (int " + Twine(variable) + " = 0; " + variable + " < " + Twine(number) + "; ++" + variable + ")");
  std::string made = term(variable);
  out.line(Twine(name) + " = " + join(name, made) + ";");
  out.close();
  names = std::move(outside);
  return name;
}

std::string TileNumbers::contract(ContractOp op, const std::string &at) {
  DenseMap<int64_t, std::string> places;
  SmallVector<int64_t> summed, sizes;
  ArrayRef<int64_t> dims = getFeatureShape(op.getType());
  for (auto [axis, label] : llvm::enumerate(op.getOutLabels()))
    places[label] = coordinate(dims, axis, at);
  auto find = [&](ArrayRef<int64_t> labels, ArrayRef<int64_t> shape) {
    for (auto [label, size] : llvm::zip(labels, shape)) {
      if (places.count(label))
        continue;
      auto it = llvm::find(summed, label);
      if (it == summed.end())
        summed.push_back(label), sizes.push_back(size);
      else
        sizes[it - summed.begin()] = std::max(sizes[it - summed.begin()], size);
    }
  };
  find(op.getLhsLabels(), getFeatureShape(op.getLhs().getType()));
  find(op.getRhsLabels(), getFeatureShape(op.getRhs().getType()));
  auto product = [&] {
    auto factor = [&](Value operand, ArrayRef<int64_t> labels) {
      SmallVector<std::string> coordinates;
      for (int64_t label : labels)
        coordinates.push_back(places[label]);
      return number(operand, placeOf(getFeatureShape(operand.getType()), coordinates));
    };
    std::string left = factor(op.getLhs(), op.getLhsLabels()), right = factor(op.getRhs(), op.getRhsLabels());
    return left + " * " + right;
  };
  if (summed.empty())
    return define(product());
  return sum(
      "0", RefTensor::product(sizes),
      [&](const std::string &variable) {
        for (auto [axis, label] : llvm::enumerate(summed))
          places[label] = coordinate(sizes, axis, variable);
        return product();
      },
      [](const std::string &all, const std::string &term) { return all + " + " + term; });
}

std::string TileNumbers::fold(FoldOp op, const std::string &at) {
  ArrayRef<int64_t> from = getFeatureShape(op.getInput().getType()), dims = getFeatureShape(op.getType());
  SmallVector<int64_t> sizes;
  for (int64_t axis : op.getAxes())
    sizes.push_back(from[axis]);
  int64_t numbers = RefTensor::product(sizes);
  auto term = [&](const std::string &variable) {
    SmallVector<std::string> coordinates;
    for (size_t axis = 0; axis < from.size(); ++axis) {
      auto it = llvm::find(op.getAxes(), int64_t(axis));
      coordinates.push_back(it == op.getAxes().end() ? coordinate(dims, axis, at)
                                                     : coordinate(sizes, it - op.getAxes().begin(), variable));
    }
    return number(op.getInput(), placeOf(from, coordinates));
  };
  auto add = [](const std::string &all, const std::string &x) { return all + " + " + x; };
  auto extreme = [&](bool most) {
    return sum(most ? "-Real(GNNC_INFINITY)" : "Real(GNNC_INFINITY)", numbers, term,
               [&](const std::string &all, const std::string &x) {
                 return std::string("gnnc::") + (most ? "most(" : "least(") + all + ", Real(" + x + "))";
               });
  };
  switch (op.getKind()) {
  case ReduceKind::Max:
    return extreme(true);
  case ReduceKind::Min:
    return extreme(false);
  case ReduceKind::LogSumExp: {
    std::string top = extreme(true);
    std::string total = sum("0", numbers, term, [&](const std::string &all, const std::string &x) {
      return all + " + gnnc::exp(" + x + " - " + top + ")";
    });
    return define(top + " + gnnc::log(" + total + ")");
  }
  case ReduceKind::Mean:
    return define(sum("0", numbers, term, add) + " * " + literal(1.0 / double(std::max<int64_t>(numbers, 1))));
  default:
    return sum("0", numbers, term, add);
  }
}

std::string TileNumbers::concat(ConcatOp op, const std::string &at) {
  ArrayRef<int64_t> dims = getFeatureShape(op.getType());
  std::string name = "x" + std::to_string(count++);
  out.line("Real " + Twine(name) + " = 0;");
  int64_t from = 0, axis = op.getAxis();
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> part = getFeatureShape(operand.getType());
    std::string along = coordinate(dims, axis, at);
    auto outside = names;
    out.open("if (" + Twine(along) + " >= " + Twine(from) + " && " + along + " < " + Twine(from + part[axis]) + ")");
    SmallVector<std::string> coordinates;
    for (size_t i = 0; i < dims.size(); ++i)
      coordinates.push_back(int64_t(i) == axis ? "(" + along + " - " + std::to_string(from) + ")"
                                               : coordinate(dims, i, at));
    out.line(Twine(name) + " = " + number(operand, placeOf(part, coordinates)) + ";");
    out.close();
    names = std::move(outside);
    from += part[axis];
  }
  return name;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// What is read at the places that are made, and nowhere between.
void TileNumbers::findVectors(Value value, int64_t width, llvm::SetVector<Value> &found) {
  value = TilePlan::root(value);
  if (getFeatureElements(value.getType()) != width)
    return;
  if (isa<BlockArgument>(value) || plan.rowsBefore(step, value)) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || !sweep.getInputs()[argument.getArgNumber()].getDefiningOp<DegreeOp>())
      found.insert(value);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (!op || !isa<UnaryOp, BinaryOp, SelectOp, IsElementOp, RandomOp>(op))
    return;
  for (Value operand : op->getOperands())
    if (getFeatureShape(operand.getType()) == getFeatureShape(value.getType()))
      findVectors(operand, width, found);
}

void TileNumbers::row(unsigned step, Value value, int64_t vector) {
  this->step = step;
  names.clear();
  vectors.clear();
  llvm::SetVector<Value> found;
  if (vector > 1)
    findVectors(value, getFeatureElements(value.getType()), found);
  for (Value source : found) {
    std::string name = "a" + std::to_string(count++), width = std::to_string(vector);
    out.line("Real " + Twine(name) + "[" + width + "];");
    if (const TileRows *rows = plan.rowsBefore(step, source)) {
      out.line("gnnc::load<" + Twine(width) + ">(" + name + ", tile.rows + " + Twine(rows->place) + " + row * " +
               Twine(rows->stride) + " + first);");
    } else {
      unsigned number = cast<BlockArgument>(source).getArgNumber();
      mpk::AccessAttr access = sweep.getAccessOf(number);
      std::string pointer = buffer(sweep.getInputs()[number]), rowAt;
      if (access.getKind() != AccessKind::Shared) {
        rowAt = rowNumber(access.getKind(), access.getMap());
        pointer += " + gnnc::int64(" + rowAt + ") * " + std::to_string(getFeatureElements(source.getType()));
      }
      std::string load = "gnnc::readRow<" + width + ">(" + name + ", " + pointer + " + first);";
      if (access.getMap() && isPartialMap(sweep, access.getMap())) {
        out.line("gnnc::fill<" + Twine(width) + ">(" + name + ", " +
                 literal(access.getFill() ? access.getFill().getValueAsDouble() : 0) + ");");
        load = "if (" + rowAt + " >= 0) " + load;
      }
      out.line(load);
    }
    vectors[source] = name;
  }
  out.open("GNNC_FOR(v, " + Twine(vector) + ")");
  out.line("[[maybe_unused]] const int f = first + v;");
  std::string made = number(value, "f");
  out.line("to[v] = " + Twine(made) + ";");
  out.close();
  vectors.clear();
}

std::string TileNumbers::one(unsigned step, Value value) {
  this->step = step;
  names.clear();
  vectors.clear();
  return number(value, "f");
}
