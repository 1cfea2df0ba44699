//===- NarrowStorage.cpp - Rows in 16 bits --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What memory holds and what kernels compute with part here: operands and results of kernels get another element type,
// block arguments and bodies keep theirs. Which values are worth it follows from where they reside and what they hold,
// so parameters stay whole without being asked for: they are shared.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gnnc {
#define GEN_PASS_DEF_NARROWSTORAGE
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;

#define DEBUG_TYPE "narrow-storage"

namespace {

/// A GPU's memory moves in sectors of this size. Rows of no more, such as attention scores, gain nothing.
constexpr int64_t kSectorBytes = 32;

bool says(StringAttr attribute, StringRef text) { return attribute && attribute.getValue() == text; }

/// What a kernel's result is in the body that makes it; null for plain products and outer sums.
Value yieldedFor(OpResult result) {
  Operation *op = result.getOwner();
  if (!mpk::isKernel(op) || op->getNumRegions() == 0 || op->getRegion(0).empty())
    return Value();
  return op->getRegion(0).front().getTerminator()->getOperand(result.getResultNumber());
}

/// The operand of a kernel that a block argument is a row of; null for the row of a product.
Value operandOf(BlockArgument argument) {
  Operation *op = argument.getOwner()->getParentOp();
  if (auto sweep = dyn_cast<mpk::SweepOp>(op))
    return sweep.getInputs()[argument.getArgNumber()];
  auto product = dyn_cast<mpk::ProductOp>(op);
  return product && argument.getArgNumber() > 0 ? product.getExtras()[argument.getArgNumber() - 1] : Value();
}

bool isComparison(mpdfg::BinaryKind kind) {
  using enum mpdfg::BinaryKind;
  return llvm::is_contained({Lt, Le, Gt, Ge, Eq, Ne}, kind);
}

/// Whether a value is element numbers, bits and all, or digits of them: a winner's or its own, however they were moved
/// since.
bool holdsElements(Value value, DenseMap<Value, bool> &known) {
  auto [it, isNew] = known.try_emplace(value, false);
  if (!isNew)
    return it->second;
  auto find = [&] {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
        return bool(function.getArgAttr(argument.getArgNumber(), kNumbersAttr));
      Value operand = operandOf(argument);
      return operand && holdsElements(operand, known);
    }
    if (Value yielded = yieldedFor(cast<OpResult>(value)))
      return holdsElements(yielded, known);
    Operation *op = value.getDefiningOp();
    if (auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
        accumulate &&
        (accumulate.getKind() == mpdfg::ReduceKind::ArgMax || accumulate.getKind() == mpdfg::ReduceKind::ArgMin))
      return true;
    if (isa<mpdfg::ElementOp, mpdfg::IotaOp>(op))
      return true;
    if (isa<mpdfg::IsElementOp, mpdfg::RandomOp>(op))
      return false;
    // What compares elements is 0 or 1, and what it chooses among need not be any.
    if (auto binary = dyn_cast<mpdfg::BinaryOp>(op); binary && isComparison(binary.getKind()))
      return false;
    if (auto select = dyn_cast<mpdfg::SelectOp>(op))
      return holdsElements(select.getTrueValue(), known) || holdsElements(select.getFalseValue(), known);
    return llvm::any_of(op->getOperands(), [&](Value operand) { return holdsElements(operand, known); });
  };
  bool found = find();
  return known[value] = found;
}

struct NarrowStorage : public gnnc::impl::NarrowStorageBase<NarrowStorage> {
  using NarrowStorageBase::NarrowStorageBase;

  void runOnOperation() override {
    if (storage == Storage::AsComputed)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration())
        narrow(function);
  }

  /// Whether memory may hold the value in 16 bits, whatever it would save: a graph's rows, not a model's, such as a
  /// weight for each of some types.
  static bool mayBeNarrow(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (!mpdfg::getResidency(type) || !type.isDynamicDim(0) || !type.getElementType().isF32())
      return false;
    return llvm::none_of(value.getUses(), [](OpOperand &use) {
      auto product = dyn_cast<mpk::ProductOp>(use.getOwner());
      if (auto transfer = dyn_cast<mpdfg::TransferOp>(use.getOwner())) // What arrives is what was sent.
        return !mayBeNarrow(transfer.getResult());
      if (mpdfg::isChoice(use.getOwner())) // Whose distances decide.
        return true;
      return mpdfg::isView(use.getOwner()) || (product && use.get() == product.getRhs());
    });
  }

  /// Whether a result replaces a parameter or state, or is its gradient.
  static bool isOfParameter(func::FuncOp function, unsigned result) {
    if (getUpdated(function, result))
      return true;
    auto label = function.getResultAttrOfType<StringAttr>(result, kNameAttr);
    StringRef name = label ? label.getValue() : "";
    return name.consume_front("grad.") && llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
             unsigned i = argument.getArgNumber();
             return says(function.getArgAttrOfType<StringAttr>(i, kNameAttr), name) &&
                    getRole(function, i) != mpdfg::Role::Input;
           });
  }

  void setType(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    MLIRContext *context = type.getContext();
    Type element = storage == Storage::BF16 ? Type(BFloat16Type::get(context)) : Type(Float16Type::get(context));
    value.setType(type.clone(element));
    ++numNarrowed;
  }

  void narrow(func::FuncOp function) {
    Operation *terminator = function.getBody().front().getTerminator();
    for (BlockArgument argument : function.getArguments())
      if (!wholeInterface && getRole(function, argument.getArgNumber()) == mpdfg::Role::Input &&
          mayBeNarrow(argument) && !function.getArgAttr(argument.getArgNumber(), kNumbersAttr))
        setType(argument);
    DenseMap<Value, bool> elements;
    for (Operation &op : function.getBody().front()) {
      if (auto transfer = dyn_cast<mpdfg::TransferOp>(op))
        if (transfer.getInput().getType().getElementType() != transfer.getType().getElementType())
          setType(transfer.getResult());
      if (!isa<mpk::SweepOp, mpk::ProductOp>(op)) // Gradients of weights stay whole.
        continue;
      for (OpResult result : op.getResults()) {
        if (!mayBeNarrow(result))
          continue;
        bool isOutput = false, isParameters = false;
        for (OpOperand &use : result.getUses())
          if (use.getOwner() == terminator) {
            isOutput = true;
            isParameters |= isOfParameter(function, use.getOperandNumber());
          }
        if (isParameters || (isOutput && wholeInterface))
          continue;
        if (std::optional<StringRef> reason = isOutput ? std::nullopt : reasonToKeep(result, elements)) {
          remarkMissed(
              &op, DEBUG_TYPE, "kept-whole", [] { return "a value stays float32 in memory"; },
              [&] { return reason->str(); });
          continue;
        }
        setType(result);
      }
    }
    function.setFunctionType(
        FunctionType::get(&getContext(), function.getBody().front().getArgumentTypes(), terminator->getOperandTypes()));
  }

  static std::optional<StringRef> reasonToKeep(OpResult result, DenseMap<Value, bool> &elements) {
    if (holdsElements(result, elements))
      return StringRef("it holds element numbers");
    if (Value yielded = yieldedFor(result))
      if (auto accumulate = yielded.getDefiningOp<mpk::AccumulateOp>();
          accumulate && mpdfg::isStatistic(accumulate.getKind()))
        return StringRef("it is a log-sum-exp or a softmax's statistic, whose exponential is taken again");
    if (mpdfg::getFeatureElements(result.getType()) * 4 <= kSectorBytes)
      return StringRef("its rows are one sector of memory either way");
    return std::nullopt;
  }
};

} // namespace
