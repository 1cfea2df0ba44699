//===- Snapshot.cpp - The graphs of a module ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Drawing.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Analysis/Halves.h"
#include "gnnc/Report/Report.h"

using namespace mlir;
using namespace gnnc;

static std::string spaceOf(Type type) {
  FlatSymbolRefAttr space = mpdfg::getResidency(type);
  return space ? space.getValue().str() : std::string();
}

/// `edge[8, 16]`
static std::string describe(Type type) {
  std::string text = spaceOf(type) + "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(mpdfg::getFeatureShape(type), stream);
  return text + "]";
}

std::string gnnc::printOperation(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, OpPrintingFlags().useLocalScope().elideLargeElementsAttrs().assumeVerified());
  return text;
}

std::string gnnc::labelOf(Operation *op, StringRef text) {
  std::string label = op->getName().stripDialect().str();
  if (!isa<mpk::SweepOp, mpk::ProductOp, mpk::OuterSumOp>(op)) {
    StringRef rest = text.split((op->getName().getStringRef()).str()).second;
    StringRef kind = rest.take_until([](char c) { return c == '%' || c == '{' || c == ':' || c == '<'; }).trim();
    if (!kind.empty())
      label += " " + kind.str();
  } else if (auto k = op->getAttrOfType<IntegerAttr>("k"), n = op->getAttrOfType<IntegerAttr>("n"); k && n) {
    label += " " + std::to_string(k.getInt()) + " x " + std::to_string(n.getInt());
  }
  if (auto along = op->getAttrOfType<FlatSymbolRefAttr>("along"))
    label += " ." + along.getValue().str();
  return label;
}

static ReportGraph takeGraph(func::FuncOp function) {
  ReportGraph graph;
  graph.function = function.getSymName().str();
  OperationSet backward = findBackwardKernels(function);
  llvm::DenseMap<Value, size_t> makers;
  for (BlockArgument argument : function.getArguments()) {
    if (argument.use_empty())
      continue;
    unsigned i = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
    std::optional<mpdfg::Role> role = getRole(function, i);
    makers[argument] = graph.nodes.size();
    graph.nodes.push_back({ReportNode::Argument,
                           name ? name.str() : "argument " + std::to_string(i),
                           describe(argument.getType()),
                           spaceOf(argument.getType()),
                           role ? mpdfg::stringifyRole(*role).str() : "",
                           {}});
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (op.getNumResults() == 0)
      continue;
    ReportNode node;
    node.kind = ReportNode::Operation;
    node.detail = printOperation(&op);
    node.label = labelOf(&op, node.detail);
    node.space = spaceOf(op.getResult(0).getType());
    node.backward = backward.contains(&op);
    for (Value result : op.getResults()) {
      node.type += (node.type.empty() ? "" : ", ") + describe(result.getType());
      makers[result] = graph.nodes.size();
    }
    for (Value operand : op.getOperands())
      if (auto found = makers.find(operand); found != makers.end() && !llvm::is_contained(node.operands, found->second))
        node.operands.push_back(found->second);
    graph.nodes.push_back(std::move(node));
  }
  for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands()) {
    auto name = function.getResultAttrOfType<StringAttr>(result.getOperandNumber(), kNameAttr);
    Type type = result.get().getType();
    bool updates = getUpdated(function, result.getOperandNumber()).has_value();
    graph.nodes.push_back({ReportNode::Result,
                           name ? name.str() : "result",
                           describe(type),
                           spaceOf(type),
                           updates ? "update" : "output",
                           {makers.lookup(result.get())}});
  }
  return graph;
}

void ReportBuilder::addPhase(llvm::StringRef name, ModuleOp module) {
  Phase phase{name.str(), {}};
  for (auto function : module.getOps<func::FuncOp>())
    phase.graphs.push_back(takeGraph(function));
  phases.push_back(std::move(phase));
}
