//===- InterpretPass.cpp - Runs the interpreter in a test -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A test states its graph and its inputs as attributes of the module:
//
//   test.extents = {node = 3, edge = 4}
//   test.maps = {src = array<i64: 0, 0, 1, 2>, dst = array<i64: 1, 2, 2, 0>}
//   test.inputs = {x = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf64>}
//
// The pass prints each output of @forward, a row of numbers a line, and with `print-graph` first every space and map.
// It may follow any other passes in the pipeline: what they do must not change what it prints.
//
//===----------------------------------------------------------------------===//

#include "InterpretPass.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace gnnc;

namespace {

constexpr llvm::StringLiteral kExtents = "test.extents", kMaps = "test.maps", kInputs = "test.inputs";

class InterpretPass : public PassWrapper<InterpretPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InterpretPass)

  InterpretPass() = default;
  InterpretPass(const InterpretPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "gnnc-interpret"; }
  StringRef getDescription() const override {
    return "Evaluates @forward on the graph and inputs in the module's test attributes and prints its outputs";
  }
  void runOnOperation() override;

private:
  LogicalResult readGraph(RootGraph &root);
  LogicalResult readInputs(llvm::StringMap<RefTensor> &inputs);
  DictionaryAttr dictionary(StringRef name) {
    auto attr = getOperation()->getAttrOfType<DictionaryAttr>(name);
    return attr ? attr : DictionaryAttr::get(&getContext());
  }
  LogicalResult fail(llvm::Error error) { return getOperation().emitError() << llvm::toString(std::move(error)); }

  Option<bool> printGraph{*this, "print-graph", llvm::cl::desc("Print every space and map too")};
};

void printSpacesAndMaps(ModuleOp module, const GraphData &graph, raw_ostream &os) {
  for (auto space : module.getOps<mpdfg::SpaceOp>())
    os << "space " << space.getSymName() << ": " << graph.extent(space.getSymName()) << "\n";
  for (auto map : module.getOps<mpdfg::MapOp>()) {
    os << "map " << map.getSymName() << ":";
    for (int64_t target : graph.map(map.getSymName()).target)
      os << " " << target;
    os << "\n";
  }
}

void printTensor(StringRef name, const RefTensor &value, raw_ostream &os) {
  os << name << ": " << (value.shared ? "shared" : std::to_string(value.rows) + " rows") << " [";
  llvm::interleaveComma(value.dims, os);
  os << "]\n";
  for (int64_t i = 0; i < value.rows; ++i) {
    os << " ";
    for (int64_t k = 0; k < value.width(); ++k)
      os << " " << llvm::format("%.6g", value.row(i)[k]);
    os << "\n";
  }
}

} // namespace

LogicalResult InterpretPass::readGraph(RootGraph &root) {
  for (NamedAttribute entry : dictionary(kExtents)) {
    auto extent = dyn_cast<IntegerAttr>(entry.getValue());
    if (!extent)
      return getOperation().emitError() << kExtents << ": expected an integer for " << entry.getName();
    root.extents[entry.getName()] = extent.getInt();
  }
  for (NamedAttribute entry : dictionary(kMaps)) {
    auto targets = dyn_cast<DenseI64ArrayAttr>(entry.getValue());
    if (!targets)
      return getOperation().emitError() << kMaps << ": expected array<i64: ...> for " << entry.getName();
    root.maps[entry.getName()] = std::vector<int64_t>(targets.asArrayRef());
  }
  return success();
}

/// The shape of an input in the test includes its rows, unless the argument of that name is shared.
LogicalResult InterpretPass::readInputs(llvm::StringMap<RefTensor> &inputs) {
  llvm::StringSet<> sharedArguments;
  if (auto function = getOperation().lookupSymbol<func::FuncOp>(kForward))
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr); !mpdfg::getResidency(type))
        sharedArguments.insert(name ? name.str() : "arg" + std::to_string(i));
  for (NamedAttribute entry : dictionary(kInputs)) {
    auto dense = dyn_cast<DenseFPElementsAttr>(entry.getValue());
    if (!dense)
      return getOperation().emitError() << kInputs << ": expected dense<...> for " << entry.getName();
    bool shared = sharedArguments.contains(entry.getName());
    ArrayRef<int64_t> shape = dense.getType().getShape();
    if (!shared && shape.empty())
      return getOperation().emitError() << kInputs << ": expected rows for " << entry.getName();
    RefTensor value(shared, shared ? 1 : shape.front(), shared ? shape : shape.drop_front());
    for (auto [number, to] : llvm::zip(dense.getValues<APFloat>(), value.data))
      to = number.convertToDouble();
    inputs[entry.getName()] = std::move(value);
  }
  return success();
}

void InterpretPass::runOnOperation() {
  RootGraph root;
  llvm::StringMap<RefTensor> inputs;
  if (failed(readGraph(root)) || failed(readInputs(inputs)))
    return signalPassFailure();
  auto graph = materialise(getOperation(), root);
  if (!graph)
    return (void)fail(graph.takeError()), signalPassFailure();
  if (printGraph)
    printSpacesAndMaps(getOperation(), *graph, llvm::outs());
  if (printGraph && !getOperation().lookupSymbol(kForward))
    return;
  auto outputs = interpret(getOperation(), *graph, inputs);
  if (!outputs)
    return (void)fail(outputs.takeError()), signalPassFailure();
  for (const NamedTensor &output : *outputs)
    printTensor(output.name, output.value, llvm::outs());
}

void gnnc::registerInterpretPass() { PassRegistration<InterpretPass>(); }
