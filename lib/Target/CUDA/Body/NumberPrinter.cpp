//===- NumberPrinter.cpp - Values of a body, number by number -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body/NumberPrinter.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;

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

std::string NumberPrinter::define(const Twine &expression) {
  std::string name = "x" + std::to_string(count++);
  out.line("const Real " + Twine(name) + " = " + expression + ";");
  return name;
}

Value NumberPrinter::root(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, DetachOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::string NumberPrinter::number(Value value, const std::string &at) {
  if (isTooLong())
    return "0";
  Value source = root(value);
  if (auto constant = source.getDefiningOp<ConstantOp>())
    return literal(constant.getValue().convertToDouble());
  if (source.getDefiningOp<IotaOp>())
    return "gnnc::numberOf(Real(0), " + at + ")";
  if (std::optional<std::string> known = readBefore(source, at))
    return *known;
  auto key = std::make_pair(source.getAsOpaquePointer(), at);
  if (auto it = names.find(key); it != names.end())
    return it->second;
  std::string name;
  if (std::optional<std::string> text = stored(source, at))
    name = define(*text);
  else if (auto argument = dyn_cast<BlockArgument>(source))
    name = this->argument(argument, at);
  else
    name = compute(source.getDefiningOp(), at);
  return names[key] = name;
}

std::string NumberPrinter::compute(Operation *op, const std::string &at) {
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
    return define("gnnc::numberOf(Real(0), " + elementNumber(element) + ")");
  SmallVector<std::string> operands;
  for (Value operand : op->getOperands())
    operands.push_back(number(operand, placeIn(getFeatureShape(operand.getType()), dims, at)));
  return define(elementwise(op, operands));
}

/// `term` at `number` places, one joined to the next. What is computed within is known within alone.
std::string NumberPrinter::sum(StringRef start, int64_t number, function_ref<std::string(const std::string &)> term,
                               function_ref<std::string(const std::string &, const std::string &)> join) {
  std::string name = "x" + std::to_string(count++), variable = "i" + std::to_string(count++);
  out.line("Real " + Twine(name) + " = " + start + ";");
  auto outside = names;
  bool isShared = lanes > 1 && depth++ == 0;
  std::string first = isShared ? "int(threadIdx.x % " + std::to_string(lanes) + ")" : "0",
              next = isShared ? variable + " += " + std::to_string(lanes) : "++" + variable;
  out.open("for (int " + Twine(variable) + " = " + first + "; " + variable + " < " + Twine(number) + "; " + next + ")");
  std::string made = term(variable);
  out.line(Twine(name) + " = " + join(name, made) + ";");
  out.close();
  if (isShared)
    out.line(Twine(name) + " = gnnc::acrossLanes<" + Twine(lanes) + ">(" + name +
             ", [](Real all, Real other) { return " + join("all", "other") + "; });");
  depth -= lanes > 1;
  names = std::move(outside);
  return name;
}

std::string NumberPrinter::contract(ContractOp op, const std::string &at) {
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
      bool isSame = labels == op.getOutLabels();
      return number(operand, isSame ? at : placeOf(getFeatureShape(operand.getType()), coordinates));
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

std::string NumberPrinter::fold(FoldOp op, const std::string &at) {
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
    std::string top = define("gnnc::finite(" + extreme(true) + ")");
    auto power = [&](const std::string &variable) { return define("gnnc::exp(" + term(variable) + " - " + top + ")"); };
    std::string total = sum("0", numbers, power, add);
    return define(top + " + gnnc::log(" + total + ")");
  }
  case ReduceKind::Mean:
    return define(sum("0", numbers, term, add) + " * " + literal(1.0 / double(std::max<int64_t>(numbers, 1))));
  default:
    return sum("0", numbers, term, add);
  }
}

std::string NumberPrinter::concat(ConcatOp op, const std::string &at) {
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
