//===- Differentiate.cpp - Reverse mode over mpdfg ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver knows no operation: rules come from DifferentiableOpInterface. It walks the function backwards, adds up
// what the users of a value give it, and undoes repetition: a gradient has the rows and axes of the place where a value
// was used, so axes that were repeated are summed, and where a shared value met the rows of a space, the rows are
// summed. Values that do not depend on anything wanted are never visited.
//
// Forward values that rules name stay where they are; what is kept in memory for them and what is computed again is
// decided by fusion.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Conversion/SpecToMPDFG.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace gnnc {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

struct Differentiate : public gnnc::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(differentiate(function)))
        return signalPassFailure();
  }

  LogicalResult differentiate(func::FuncOp function) {
    Block &block = function.getBody().front();
    auto terminator = cast<func::ReturnOp>(block.getTerminator());
    OpBuilder b(terminator);
    gradients.clear();
    active.clear();

    // What is wanted, and what depends on it.
    SmallVector<BlockArgument> wanted;
    for (BlockArgument argument : block.getArguments()) {
      auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
      if (role && (role.getValue() == "param" || (role.getValue() == "input" && inputs))) {
        wanted.push_back(argument);
        active.insert(argument);
      }
    }
    for (Operation &op : block.without_terminator())
      if (llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); }))
        active.insert_range(op.getResults());

    // Each output gets an argument for its gradient.
    SmallVector<Value> outputs(terminator.getOperands());
    for (auto [i, output] : llvm::enumerate(outputs)) {
      auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
      unsigned at = function.getNumArguments();
      NamedAttrList attributes;
      attributes.set(kNameAttr, b.getStringAttr("grad." + (name ? name.getValue() : "result" + std::to_string(i))));
      attributes.set(kRoleAttr, b.getStringAttr("input"));
      if (Attribute axes = function.getResultAttr(i, kAxesAttr))
        attributes.set(kAxesAttr, axes);
      if (failed(
              function.insertArgument(at, output.getType(), attributes.getDictionary(&getContext()), output.getLoc())))
        return failure();
      accumulate(b, output, block.getArgument(at));
    }

    SmallVector<Operation *> operations;
    for (Operation &op : block.without_terminator())
      operations.push_back(&op);
    for (Operation *op : llvm::reverse(operations)) {
      if (op->getNumResults() != 1 || !active.contains(op->getResult(0)))
        continue;
      Value gradient = gradients.lookup(op->getResult(0));
      if (!gradient)
        continue; // No output depends on it.
      auto rule = dyn_cast<DifferentiableOpInterface>(op);
      if (!rule)
        return op->emitOpError() << "has no derivative";
      SmallVector<bool> wants;
      for (Value operand : op->getOperands())
        wants.push_back(active.contains(operand));
      SmallVector<Value> parts = rule.emitAdjoint(b, gradient, wants);
      for (auto [i, part] : llvm::enumerate(parts))
        if (part && wants[i])
          accumulate(b, op->getOperand(i), undoRepetition(b, part, op->getOperand(i).getType()));
      ++numRules;
    }

    // Return the gradients after the outputs.
    SmallVector<Value> results(outputs);
    SmallVector<Type> types(function.getResultTypes());
    SmallVector<Attribute> attributes;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      attributes.push_back(DictionaryAttr::get(&getContext(), function.getResultAttrs(i)));
    for (BlockArgument argument : wanted) {
      unsigned i = argument.getArgNumber();
      Value gradient = gradients.lookup(argument);
      if (!gradient)
        gradient = zeros(b, argument);
      results.push_back(gradient);
      types.push_back(argument.getType());
      NamedAttrList list;
      list.set(kNameAttr, b.getStringAttr("grad." + function.getArgAttrOfType<StringAttr>(i, kNameAttr).getValue()));
      if (Attribute axes = function.getArgAttr(i, kAxesAttr))
        list.set(kAxesAttr, axes);
      attributes.push_back(list.getDictionary(&getContext()));
    }
    terminator->setOperands(results);
    function.setType(b.getFunctionType(function.getArgumentTypes(), types));
    function.setResAttrsAttr(b.getArrayAttr(attributes));
    return success();
  }

  void accumulate(OpBuilder &b, Value value, Value gradient) {
    Value &sum = gradients[value];
    sum = sum ? Value(BinaryOp::create(b, value.getLoc(), value.getType(), BinaryKind::Add, sum, gradient)) : gradient;
  }

  /// Sums over the axes and rows along which an operand of type `type` was repeated.
  static Value undoRepetition(OpBuilder &b, Value gradient, Type type) {
    Location loc = gradient.getLoc();
    SmallVector<int64_t> axes, features(getFeatureShape(gradient.getType()));
    for (auto [i, size] : llvm::enumerate(getFeatureShape(type)))
      if (size == 1 && features[i] != 1) {
        axes.push_back(i);
        features[i] = 1;
      }
    auto sum = b.getAttr<ReduceKindAttr>(ReduceKind::Sum);
    auto from = cast<RankedTensorType>(gradient.getType());
    FlatSymbolRefAttr space = getResidency(from), target = getResidency(type);
    if (!axes.empty())
      gradient =
          FoldOp::create(b, loc, getTensorOn(space, space ? from.getDimSize(0) : 0, features, from.getElementType()),
                         sum, gradient, b.getDenseI64ArrayAttr(axes));
    if (space && !target)
      gradient = ReduceOp::create(b, loc, type, sum, gradient, FlatSymbolRefAttr::get(b.getContext(), kAllMap));
    if (!space && target) // The same for every row.
      gradient = BroadcastOp::create(b, loc, type, gradient, FlatSymbolRefAttr::get(b.getContext(), kAllMap),
                                     b.getF64FloatAttr(0));
    return gradient;
  }

  static Value zeros(OpBuilder &b, Value like) {
    Value zero = ConstantOp::create(b, like.getLoc(), getElementType(like.getType()), b.getF64FloatAttr(0));
    return undoRepetition(b, zero, like.getType());
  }

  DenseMap<Value, Value> gradients;
  DenseSet<Value> active;
};

} // namespace
