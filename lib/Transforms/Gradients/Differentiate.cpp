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

#include "Gradients/PaddedParts.h"
#include "Remarks.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace gnnc {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "differentiate"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

struct Differentiate : public gnnc::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(replaceGradients(function)))
        return signalPassFailure();
    // Outputs may be derivatives themselves: their code is there now.
    if (gradient)
      if (auto forward = getOperation().lookupSymbol<func::FuncOp>(kForward))
        if (failed(addGradient(forward)))
          return signalPassFailure();
    getOperation().walk([](VaryOp op) {
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    });
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(removeUnderived(function)))
        return signalPassFailure();
  }

  /// Takes away what was computed for derivatives that nobody asked for, and inputs that only it had.
  static LogicalResult removeUnderived(func::FuncOp function) {
    Block &block = function.getBody().front();
    SmallVector<DeriveAsOp> two(block.getOps<DeriveAsOp>());
    if (two.empty())
      return success();
    for (DeriveAsOp op : two) {
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    for (unsigned i = function.getNumArguments(); i-- > 0;)
      if (function.getArgAttr(i, kNumbersAttr) && function.getArgument(i).use_empty() &&
          failed(function.eraseArgument(i)))
        return failure();
    return success();
  }

  /// Replaces each mpdfg.gradient; those of one number share their reverse pass. In order, so that a later one goes
  /// through what replaced an earlier one.
  LogicalResult replaceGradients(func::FuncOp function) {
    Block &block = function.getBody().front();
    while (true) {
      SmallVector<GradientOp> group;
      for (auto op : block.getOps<GradientOp>())
        if (group.empty() || op.getValue() == group.front().getValue())
          group.push_back(op);
      if (group.empty())
        break;
      OpBuilder b(group.front());
      Value number = group.front().getValue();
      SmallVector<Value> wanted;
      for (GradientOp op : group)
        wanted.push_back(op.getBy());
      Value one = ConstantOp::create(b, group.front().getLoc(), number.getType(), b.getF64FloatAttr(1));
      if (failed(reverse(b, number, one, wanted)))
        return failure();
      for (GradientOp op : group) {
        Value found = gradientOf(b, op.getBy());
        op.replaceAllUsesWith(found ? found : zeros(b, op.getBy()));
      }
      for (GradientOp op : group)
        op.erase();
    }
    for (auto variable : llvm::make_early_inc_range(block.getOps<VariableOp>())) {
      variable.replaceAllUsesWith(variable.getInput());
      variable.erase();
    }
    return success();
  }

  /// A copy of @forward that also has the gradients.
  LogicalResult addGradient(func::FuncOp forward) {
    OpBuilder b(forward);
    b.setInsertionPointAfter(forward);
    auto function = cast<func::FuncOp>(b.clone(*forward));
    function.setSymName(kGradient);
    Block &block = function.getBody().front();
    auto terminator = cast<func::ReturnOp>(block.getTerminator());
    b.setInsertionPoint(terminator);

    SmallVector<Value> wanted;
    llvm::StringSet<> fixed; // of which each rank has what it reads
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto of = function.getArgAttrOfType<StringAttr>(i, kHaloOfAttr)) {
        fixed.insert(of.getValue());
        fixed.insert(function.getArgAttrOfType<StringAttr>(i, kNameAttr).getValue());
      }
    for (BlockArgument argument : block.getArguments()) {
      if (fixed.contains(function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr).getValue()))
        continue;
      std::optional<Role> role = getRole(function, argument.getArgNumber());
      bool isComputed = function.getArgAttr(argument.getArgNumber(), kSourceAttr) ||
                        function.getArgAttr(argument.getArgNumber(), kNumbersAttr);
      if (role == Role::Param || (role == Role::Input && inputs && !isComputed))
        wanted.push_back(argument);
    }

    // Each output gets an argument for its gradient.
    SmallVector<Value> outputs(terminator.getOperands()), differentiated, seeds;
    llvm::StringMap<Location> taken;
    for (BlockArgument argument : block.getArguments())
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
        taken.try_emplace(name.getValue(), argument.getLoc());
    for (auto [i, output] : llvm::enumerate(outputs)) {
      auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
      if (!cotangents.empty() && !(name && llvm::is_contained(cotangents, name.getValue())))
        continue; // Whatever its derivative is, also infinite, nobody asks for it.
      differentiated.push_back(output);
      unsigned at = function.getNumArguments();
      NamedAttrList attributes;
      std::string seed = "grad." + (name ? name.str() : "result" + std::to_string(i));
      if (auto other = taken.find(seed); other != taken.end())
        return emitError(output.getLoc())
               << "the gradient of output '" << seed.substr(5) << "' would be the input '" << seed
               << "', and there is a parameter or input of that name already; give one of "
                  "them another name";
      attributes.set(kNameAttr, b.getStringAttr(seed));
      attributes.set(kRoleAttr, RoleAttr::get(&getContext(), Role::Input));
      attributes.set(kSeedAttr, b.getUnitAttr());
      if (Attribute axes = function.getResultAttr(i, kAxesAttr))
        attributes.set(kAxesAttr, axes);
      if (failed(
              function.insertArgument(at, output.getType(), attributes.getDictionary(&getContext()), output.getLoc())))
        return failure();
      seeds.push_back(block.getArgument(at));
    }
    if (failed(reverse(b, differentiated, seeds, wanted)))
      return failure();

    // Return the gradients after the outputs.
    SmallVector<Value> results(outputs);
    SmallVector<Type> types(function.getResultTypes());
    SmallVector<Attribute> attributes;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      attributes.push_back(DictionaryAttr::get(&getContext(), function.getResultAttrs(i)));
    for (Value argument : wanted) {
      unsigned i = cast<BlockArgument>(argument).getArgNumber();
      Value found = gradientOf(b, argument);
      results.push_back(found ? found : zeros(b, argument));
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

  /// Fills `gradients` with those of `outputs`, whose own are `seeds`, by all values between them and `wanted`. New
  /// code goes to the builder's place, which is after all of them.
  LogicalResult reverse(OpBuilder &b, ValueRange outputs, ValueRange seeds, ArrayRef<Value> wanted) {
    gradients.clear();
    active.clear();
    active.insert_range(wanted);
    SmallVector<Operation *> operations;
    for (Operation &op : llvm::make_range(b.getInsertionBlock()->begin(), b.getInsertionPoint())) {
      if (llvm::none_of(op.getOperands(), [&](Value v) { return active.contains(v); }))
        continue;
      active.insert_range(op.getResults());
      operations.push_back(&op);
    }
    for (auto [output, seed] : llvm::zip(outputs, seeds))
      accumulate(b, output, seed);

    for (Operation *op : llvm::reverse(operations)) {
      if (op->getNumResults() != 1)
        continue;
      Value gradient = gradientOf(b, op->getResult(0));
      if (!gradient)
        continue; // No output depends on it.
      auto rule = dyn_cast<DifferentiableOpInterface>(op);
      if (!rule)
        return op->emitOpError() << "has no derivative";
      SmallVector<bool> wants;
      for (Value operand : op->getOperands())
        wants.push_back(active.contains(operand));
      SmallVector<Value> parts = rule.emitAdjoint(b, gradient, wants);
      StringRef name = op->getName().getStringRef();
      if (llvm::any_of(parts, [](Value part) { return bool(part); }))
        remarkPassed(op, DEBUG_TYPE, "adjoint", [&] { return "gradient goes through " + name.str(); });
      else
        remarkMissed(
            op, DEBUG_TYPE, "adjoint", [&] { return "gradient ends at " + name.str(); },
            [] { return "it is detached, or constant almost everywhere"; });
      for (auto [i, part] : llvm::enumerate(parts))
        if (part && wants[i])
          accumulate(b, op->getOperand(i), undoRepetition(b, part, op->getOperand(i).getType()));
      ++numRules;
    }
    return success();
  }

  /// Gradients of slices are joined as long as they do not overlap, and added to the rest in the end.
  void accumulate(OpBuilder &b, Value value, Value gradient) {
    Sum &sum = gradients[value];
    if (isPadded(gradient)) {
      Value joined = sum.parts ? joinPadded(b, sum.parts, gradient) : gradient;
      if (joined) {
        sum.parts = joined;
        return;
      }
    }
    sum.whole = sum.whole ? add(b, value, sum.whole, gradient) : gradient;
  }

  static Value add(OpBuilder &b, Value value, Value x, Value y) {
    return BinaryOp::create(b, value.getLoc(), value.getType(), BinaryKind::Add, x, y);
  }

  /// The gradient by a value once all its users have given theirs; null: no output depends on it.
  Value gradientOf(OpBuilder &b, Value value) {
    auto [whole, parts] = gradients.lookup(value);
    return whole && parts ? add(b, value, whole, parts) : whole ? whole : parts;
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

  /// What the users of a value have given it so far.
  struct Sum {
    Value whole;
    Value parts; ///< with zeros between them
  };
  DenseMap<Value, Sum> gradients;
  DenseSet<Value> active;
};

} // namespace
