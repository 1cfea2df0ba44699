//===- Interpreter.cpp - Evaluates a program operation by operation -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the body of `@forward` from top to bottom with a table of values. Everything is checked where values come in:
// the graph must hold what the module declares, and each input must have the rows and features of its argument's type.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Reference/Interpreter.h"
#include "Kernels.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Support/Half.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;
using namespace gnnc::reference;
using llvm::Error;
using llvm::Expected;

namespace {

std::string shapeText(bool shared, int64_t rows, ArrayRef<int64_t> dims) {
  std::string text = shared ? "shared [" : std::to_string(rows) + " rows of [";
  for (auto [i, size] : llvm::enumerate(dims))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

/// The graph has every space and map that the module's movements will ask for.
Error checkGraph(ModuleOp module, const GraphData &graph) {
  for (auto space : module.getOps<SpaceOp>())
    if (!graph.extents.contains(space.getSymName()))
      return makeError("space @{0} was not materialised", space.getSymName());
  for (auto map : module.getOps<MapOp>()) {
    auto it = graph.maps.find(map.getSymName());
    if (it == graph.maps.end())
      return makeError("map @{0} was not materialised", map.getSymName());
    int64_t extent = graph.extent(map.getFrom());
    if (int64_t(it->second.target.size()) != extent)
      return makeError("map @{0}: expected {1} elements, found {2}", map.getSymName(), extent,
                       it->second.target.size());
  }
  return Error::success();
}

int64_t rowsOf(Type type, const GraphData &graph) {
  FlatSymbolRefAttr space = getResidency(type);
  return space ? graph.extent(space.getValue()) : 1;
}

std::string nameOf(DictionaryAttr attributes, StringRef prefix, unsigned number) {
  if (auto name = attributes ? attributes.getAs<StringAttr>(kNameAttr) : StringAttr())
    return name.str();
  return (prefix + Twine(number)).str();
}

/// Rounds numbers to what memory holds of them.
void roundTo(RefTensor &tensor, Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  if (element.isBF16())
    for (double &x : tensor.data)
      x = decodeBF16(encodeBF16(float(x)));
  else if (element.isF16())
    for (double &x : tensor.data)
      x = decodeF16(encodeF16(float(x)));
}

Expected<RefTensor> bindArgument(func::FuncOp function, unsigned i, const GraphData &graph,
                                 const llvm::StringMap<RefTensor> &inputs) {
  Type type = function.getArgumentTypes()[i];
  if (!isa<RankedTensorType>(type))
    return makeError("argument {0} of @{1} is not a tensor", i, function.getSymName());
  std::string name = nameOf(function.getArgAttrDict(i), "arg", i);
  RefTensor expected(!getResidency(type), rowsOf(type, graph), getFeatureShape(type));
  auto it = inputs.find(name);
  if (it == inputs.end()) {
    auto fill = function.getArgAttrOfType<FloatAttr>(i, kFillAttr);
    if (!fill)
      return makeError("no value is given for '{0}', expected {1}", name,
                       shapeText(expected.shared, expected.rows, expected.dims));
    expected.data.assign(expected.data.size(), fill.getValueAsDouble());
    roundTo(expected, type);
    return expected;
  }
  const RefTensor &found = it->second;
  if (found.shared != expected.shared || found.rows != expected.rows || found.dims != expected.dims)
    return makeError("'{0}': expected {1}, found {2}", name, shapeText(expected.shared, expected.rows, expected.dims),
                     shapeText(found.shared, found.rows, found.dims));
  if (found.data.size() != expected.data.size())
    return makeError("'{0}': expected {1} numbers, found {2}", name, expected.data.size(), found.data.size());
  RefTensor value = found;
  roundTo(value, type);
  return value;
}

/// Evaluates one operation and enters its results into the table.
Error step(Operation &op, GraphData &graph, DenseMap<Value, RefTensor> &values) {
  if (isa<mpk::ArenaOp>(op))
    return Error::success();
  SmallVector<const RefTensor *> operands;
  for (Value operand : op.getOperands()) {
    auto it = values.find(operand);
    if (it == values.end())
      return makeError("operation {0} uses a value that is not evaluated", op.getName().getStringRef());
    operands.push_back(&it->second);
  }
  std::vector<RefTensor> results;
  if (isChoice(&op)) {
    ChosenElements elements = chooseElements(&op, operands, graph);
    results.push_back(elements.numbers());
    if (Error error = choose(graph, &op, elements))
      return error;
  } else if (auto sweep = dyn_cast<mpk::SweepOp>(op)) {
    auto computed = evaluateSweep(sweep, operands, graph);
    if (!computed)
      return computed.takeError();
    results = std::move(*computed);
  } else if (auto product = dyn_cast<mpk::ProductOp>(op)) {
    auto computed = evaluateProduct(product, operands, graph);
    if (!computed)
      return computed.takeError();
    results = std::move(*computed);
  } else if (auto sum = dyn_cast<mpk::OuterSumOp>(op)) {
    results.push_back(evaluateOuterSum(sum, *operands[0], *operands[1], graph));
  } else {
    auto computed = evaluateOperation(&op, operands, graph);
    if (!computed)
      return computed.takeError();
    results.push_back(std::move(*computed));
  }
  // The type is a promise that evaluation must keep.
  for (auto [value, result] : llvm::zip(op.getResults(), results)) {
    bool shared = !getResidency(value.getType());
    int64_t rows = rowsOf(value.getType(), graph);
    ArrayRef<int64_t> dims = getFeatureShape(value.getType());
    if (result.shared != shared || result.rows != rows || ArrayRef<int64_t>(result.dims) != dims)
      return makeError("result of {0}: expected {1}, found {2}", op.getName().getStringRef(),
                       shapeText(shared, rows, dims), shapeText(result.shared, result.rows, result.dims));
    roundTo(result, value.getType());
    values[value] = std::move(result);
  }
  return Error::success();
}

} // namespace

Expected<RefTensor> reference::evaluateOperation(Operation *op, ArrayRef<const RefTensor *> operands,
                                                 const GraphData &graph) {
  auto evaluate = dyn_cast<EvaluateOpInterface>(op);
  if (!evaluate || op->getNumResults() != 1)
    return makeError("operation {0} has no reference evaluation", op->getName().getStringRef());
  FailureOr<RefTensor> result = evaluate.evaluate(operands, graph);
  if (failed(result))
    return makeError("operation {0} could not be evaluated", op->getName().getStringRef());
  return std::move(*result);
}

Expected<std::vector<NamedTensor>> gnnc::interpret(ModuleOp module, const GraphData &graph,
                                                   const llvm::StringMap<RefTensor> &inputs, StringRef name) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function || function.getBody().getBlocks().size() != 1)
    return makeError("expected a function @{0} with one block", name);
  if (Error error = checkGraph(module, graph))
    return error;
  GraphData changing = graph; // where chosen maps lead
  DenseMap<Value, RefTensor> values;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto argument = bindArgument(function, i, graph, inputs);
    if (!argument)
      return argument.takeError();
    values[function.getArgument(i)] = std::move(*argument);
  }
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator())
    if (Error error = step(op, changing, values))
      return error;
  std::vector<NamedTensor> results;
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    results.push_back({nameOf(function.getResultAttrDict(i), "result", i), values.lookup(value)});
  return results;
}

const RefTensor *gnnc::findTensor(const std::vector<NamedTensor> &tensors, StringRef name) {
  auto it = llvm::find_if(tensors, [&](const NamedTensor &tensor) { return tensor.name == name; });
  return it == tensors.end() ? nullptr : &it->value;
}
