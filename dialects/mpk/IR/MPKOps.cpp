//===- MPKOps.cpp - Verifiers of the kernel operations --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpdfg/IR/Pairs.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpk;
using mpdfg::MapOp;

#define GET_OP_CLASSES
#include "dialects/mpk/IR/MPKOps.cpp.inc"

bool mpk::isTiled(Operation *op) { return isa_and_nonnull<mpdfg::ContractOp>(op) && op->hasAttr(kTileAttr); }

StringRef mpk::whyNotElementwise(Block &body, int64_t numbers) {
  for (Operation &op : body.without_terminator())
    if (!isa<mpdfg::UnaryOp, mpdfg::BinaryOp, mpdfg::SelectOp, mpdfg::ReshapeOp, mpdfg::DetachOp, mpdfg::ConstantOp>(
            op))
      return "it needs the whole row, which its target spreads";
  for (Value value : body.getTerminator()->getOperands())
    if (mpdfg::getFeatureElements(value.getType()) != numbers)
      return "its results are shorter than the row, which its target spreads";
  return "";
}

bool mpk::isCollective(Operation *op) {
  return isa_and_nonnull<mpdfg::TransferOp, mpdfg::AwaitOp, mpdfg::AllReduceOp>(op);
}
bool mpk::isOfRuntime(Operation *op) { return isCollective(op) || mpdfg::isChoice(op); }
bool mpk::isFormed(Operation *op) { return isa_and_nonnull<ProductOp, OuterSumOp>(op) || isOfRuntime(op); }
bool mpk::isKernel(Operation *op) { return isa_and_nonnull<SweepOp>(op) || isFormed(op); }

DenseMap<Value, Level> mpk::computeLevels(SweepOp sweep) {
  DenseMap<Value, Level> levels;
  for (auto [i, argument] : llvm::enumerate(sweep.getBody().getArguments())) {
    AccessKind kind = sweep.getAccessOf(i).getKind();
    levels[argument] = kind == AccessKind::Shared                                     ? Level::Shared
                       : kind == AccessKind::Owner || kind == AccessKind::GatherOwner ? Level::Owner
                                                                                      : Level::Member;
  }
  for (Operation &op : sweep.getBody().front()) {
    Level level = Level::Shared;
    for (Value operand : op.getOperands())
      level = std::max(level, levels.lookup(operand));
    if (auto accumulate = dyn_cast<AccumulateOp>(op))
      level = accumulate.getShared() ? Level::Shared : Level::Owner;
    if (isa<SoftmaxOp>(op))
      level = Level::Member;
    if (auto own = dyn_cast<mpdfg::ElementOp>(op))
      level = own.getMember() ? Level::Member : Level::Owner;
    for (Value result : op.getResults())
      levels[result] = level;
  }
  return levels;
}

LogicalResult SweepOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size() || getAccess().size() != getInputs().size())
    return emitOpError() << "expected one access and one block argument for each of " << getInputs().size()
                         << " operands, found " << getAccess().size() << " and " << block.getNumArguments();
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (block.getArgument(i).getType() != mpdfg::getElementType(input.getType()))
      return emitOpError() << "expected block argument " << i << " of type " << mpdfg::getElementType(input.getType())
                           << ", found " << block.getArgument(i).getType();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError() << "expected the body to end with mpk.yield";
  if (yield.getValues().size() != getResults().size() || getYields().size() != getResults().size())
    return emitOpError() << "expected " << getResults().size() << " yielded values and accesses, found "
                         << yield.getValues().size() << " and " << getYields().size();
  for (unsigned i = 0; i < getInputs().size(); ++i) {
    AccessKind kind = getAccessOf(i).getKind();
    if ((kind == AccessKind::Member || kind == AccessKind::GatherMember) && !getAlong())
      return emitOpError() << "operand " << i << " is for members, but the sweep goes along no map";
  }
  DenseMap<Value, Level> levels = computeLevels(*this);
  for (Operation &op : block) {
    if (isa<AccumulateOp, SoftmaxOp>(op) && !getAlong() && !op.hasAttr("shared"))
      return op.emitOpError() << "needs members, but the sweep goes along no map";
    if (op.getNumRegions() != 0 || isKernel(&op))
      return op.emitOpError() << "is not allowed in the body of a sweep";
    if (isa<mpdfg::MovementOpInterface>(op))
      return op.emitOpError() << "moves along a map; a body reads through its sweep's operands";
    for (Value result : op.getResults())
      if (mpdfg::getResidency(result.getType()))
        return op.emitOpError() << "has a result on a space; values of a body are rows";
    for (Value operand : op.getOperands())
      if (auto accumulate = operand.getDefiningOp<AccumulateOp>();
          accumulate && accumulate.getShared() && !isa<YieldOp>(op))
        return op.emitOpError() << "uses a shared accumulation, which may only be yielded";
  }
  for (auto [i, value, result] : llvm::enumerate(yield.getValues(), getResults())) {
    AccessKind kind = getYieldOf(i).getKind();
    Level level = levels.lookup(value);
    if (value.getType() != mpdfg::getElementType(result.getType()))
      return emitOpError() << "result " << i << " has type " << result.getType() << ", but " << value.getType()
                           << " is yielded";
    if (kind != AccessKind::Owner && kind != AccessKind::Member && kind != AccessKind::Shared)
      return emitOpError() << "result " << i << " must be owner, member or shared";
    if ((kind == AccessKind::Owner && level == Level::Member) || (kind == AccessKind::Shared && level != Level::Shared))
      return emitOpError() << "result " << i << " varies more than its access says";
    if (kind == AccessKind::Member && !getAlong())
      return emitOpError() << "result " << i << " is for members, but the sweep goes along no map";
  }
  return success();
}

LogicalResult SweepOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto lookup = [&](FlatSymbolRefAttr name) { return symbols.lookupNearestSymbolFrom<MapOp>(*this, name); };
  FlatSymbolRefAttr owner = getOverAttr(), member;
  if (owner && !symbols.lookupNearestSymbolFrom<mpdfg::SpaceOp>(*this, owner))
    return emitOpError() << "expected a declared space, found " << owner;
  if (getAlongAttr()) {
    MapOp along = lookup(getAlongAttr());
    if (!along)
      return emitOpError() << "expected a declared map, found " << getAlongAttr();
    if (!getPairsAttr() && along.getToAttr() != owner)
      return emitOpError() << "goes along " << getAlongAttr() << ", which does not lead to its owners";
    member = along.getFromAttr();
  }
  if (getPairsAttr()) {
    MapOp pairs = lookup(getPairsAttr());
    if (!pairs)
      return emitOpError() << "expected a declared map, found " << getPairsAttr();
    if (pairs.getToAttr() != owner)
      return emitOpError() << "has pairs by " << getPairsAttr() << ", which does not lead to its owners";
    auto [own, other] = mpdfg::getMapsOfPairs(pairs);
    if (!other || other != getAlongAttr()) {
      InFlightDiagnostic diag = emitOpError() << "expected to go along the other map that pairs are made of";
      return other ? diag << ", " << other : diag;
    }
    for (unsigned i = 0; i < getResults().size(); ++i)
      if (getYieldOf(i).getKind() == AccessKind::Member)
        return emitOpError() << "result " << i << " is for members, which are those of many owners";
  }
  auto check = [&](Type type, AccessAttr access, StringRef what, unsigned i) -> LogicalResult {
    FlatSymbolRefAttr found = mpdfg::getResidency(type), expected;
    switch (access.getKind()) {
    case AccessKind::Owner:
      expected = owner;
      break;
    case AccessKind::Member:
      expected = member;
      break;
    case AccessKind::GatherOwner:
    case AccessKind::GatherMember: {
      MapOp map = access.getMap() ? lookup(access.getMap()) : MapOp();
      if (!map)
        return emitOpError() << what << " " << i << " is gathered along no declared map";
      if (map.getFromAttr() != (access.getKind() == AccessKind::GatherOwner ? owner : member))
        return emitOpError() << what << " " << i << " is gathered along " << access.getMap()
                             << ", which starts elsewhere";
      expected = map.getToAttr();
      break;
    }
    case AccessKind::Shared:
      break;
    }
    if (found == expected)
      return success();
    InFlightDiagnostic diag = emitOpError() << "expected " << what << " " << i << " on ";
    expected ? diag << expected : diag << "no space";
    diag << ", found ";
    return found ? diag << found : diag << "shared";
  };
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (failed(check(input.getType(), getAccessOf(i), "operand", i)))
      return failure();
  for (auto [i, result] : llvm::enumerate(getResults()))
    if (failed(check(result.getType(), getYieldOf(i), "result", i)))
      return failure();
  return success();
}

LogicalResult ProductOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FlatSymbolRefAttr rowSpace = getOverAttr(), weightSpace;
  auto follow = [&](FlatSymbolRefAttr name, FlatSymbolRefAttr &space) -> LogicalResult {
    auto map = symbols.lookupNearestSymbolFrom<MapOp>(*this, name);
    if (!map || map.getFromAttr() != getOverAttr())
      return emitOpError() << "expected a map from " << getOverAttr() << ", found " << name;
    space = map.getToAttr();
    return success();
  };
  if ((getGatherAttr() && failed(follow(getGatherAttr(), rowSpace))) ||
      (getGroupAttr() && failed(follow(getGroupAttr(), weightSpace))))
    return failure();
  if (mpdfg::getResidency(getLhs().getType()) != rowSpace || mpdfg::getResidency(getRhs().getType()) != weightSpace ||
      llvm::any_of(getResultTypes(), [&](Type type) { return mpdfg::getResidency(type) != getOverAttr(); }))
    return emitOpError() << "operands or result reside elsewhere than its maps say";
  // A weight is as it is computed with; rows may be narrower in memory.
  Type element = mpdfg::getComputedType(getLhs().getType().getElementType());
  for (Type type : getResultTypes())
    if (mpdfg::getComputedType(cast<RankedTensorType>(type).getElementType()) != element)
      return emitOpError() << "expected " << element << " elements, found " << type;
  if (Type type = getRhs().getType(); getRhs().getType().getElementType() != element)
    return emitOpError() << "expected " << element << " elements, found " << type;
  int64_t batch = getBatch(), rows = getRows(), k = getK(), n = getN();
  if (batch < 1 || rows < 1 || k < 0 || n < 0 || (batch > 1 && rows > 1))
    return emitOpError() << "expected batch 1 or rows 1";
  auto count = [&](Type type, int64_t expected, StringRef what) -> LogicalResult {
    int64_t found = mpdfg::getFeatureElements(type);
    if (found != expected)
      return emitOpError() << "expected " << expected << " numbers in each row of the " << what << ", found " << found;
    return success();
  };
  if (failed(count(getLhs().getType(), batch * rows * k, "lhs")) ||
      failed(count(getRhs().getType(), batch * k * n, "rhs")))
    return failure();
  for (auto [i, extra] : llvm::enumerate(getExtras())) {
    FlatSymbolRefAttr expected = getAccessOf(i).getKind() == AccessKind::Owner ? getOverAttr() : FlatSymbolRefAttr();
    if (mpdfg::getResidency(extra.getType()) != expected)
      return emitOpError() << "extra operand " << i << " resides elsewhere than its access says";
  }
  if (RefTensor::product(getRowShape()) != batch * rows * n)
    return emitOpError() << "expected " << batch * rows * n << " numbers in each row of the result, found "
                         << RefTensor::product(getRowShape());
  return success();
}

LogicalResult ProductOp::verifyRegions() {
  if (!hasEpilogue()) {
    if (getResults().size() != 1 || !getExtras().empty() || getAccess())
      return emitOpError() << "expected one result and no extra operands without an epilogue";
    return success();
  }
  if (!llvm::hasSingleElement(getEpilogue()))
    return emitOpError() << "expected an epilogue of one block";
  Block &block = getEpilogue().front();
  size_t extras = getExtras().size();
  if (block.getNumArguments() != extras + 1 || !getAccess() || getAccess()->size() != extras)
    return emitOpError() << "expected one access and one block argument for each of " << extras
                         << " extra operands, and an argument for the row";
  for (auto [i, extra] : llvm::enumerate(getExtras())) {
    if (block.getArgument(i + 1).getType() != mpdfg::getElementType(extra.getType()))
      return emitOpError() << "expected block argument " << i + 1 << " of type "
                           << mpdfg::getElementType(extra.getType()) << ", found "
                           << block.getArgument(i + 1).getType();
    if (AccessKind kind = getAccessOf(i).getKind(); kind != AccessKind::Owner && kind != AccessKind::Shared)
      return emitOpError() << "extra operand " << i << " must be owner or shared";
  }
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != getResults().size())
    return emitOpError() << "expected the epilogue to yield " << getResults().size() << " values";
  for (Operation &op : block.without_terminator()) {
    if (isa<AccumulateOp, SoftmaxOp, mpdfg::MovementOpInterface>(op) || op.getNumRegions() != 0 || isKernel(&op))
      return op.emitOpError() << "is not allowed in an epilogue, which sees one row";
    for (Value result : op.getResults())
      if (mpdfg::getResidency(result.getType()))
        return op.emitOpError() << "has a result on a space; values of an epilogue are rows";
  }
  for (auto [i, value, result] : llvm::enumerate(yield.getValues(), getResults()))
    if (value.getType() != mpdfg::getElementType(result.getType()))
      return emitOpError() << "result " << i << " has type " << result.getType() << ", but " << value.getType()
                           << " is yielded";
  return success();
}

LogicalResult OuterSumOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FlatSymbolRefAttr lhsSpace = getOverAttr(), rhsSpace = getOverAttr(), owner;
  auto follow = [&](FlatSymbolRefAttr name, FlatSymbolRefAttr &space) -> LogicalResult {
    auto map = symbols.lookupNearestSymbolFrom<MapOp>(*this, name);
    if (!map || map.getFromAttr() != getOverAttr())
      return emitOpError() << "expected a map from " << getOverAttr() << ", found " << name;
    space = map.getToAttr();
    return success();
  };
  if ((getGatherLhsAttr() && failed(follow(getGatherLhsAttr(), lhsSpace))) ||
      (getGatherRhsAttr() && failed(follow(getGatherRhsAttr(), rhsSpace))) ||
      (getAlongAttr() && failed(follow(getAlongAttr(), owner))))
    return failure();
  if (mpdfg::getResidency(getLhs().getType()) != lhsSpace || mpdfg::getResidency(getRhs().getType()) != rhsSpace ||
      mpdfg::getResidency(getResult().getType()) != owner)
    return emitOpError() << "operands or result reside elsewhere than its maps say";
  Type element = mpdfg::getComputedType(getLhs().getType().getElementType());
  for (RankedTensorType type : {mpdfg::getElementType(getRhs().getType()), getResult().getType()})
    if (type.getElementType() != element)
      return emitOpError() << "expected " << element << " elements, found " << type;
  int64_t batch = getBatch(), k = getK(), n = getN();
  if (batch < 1 || k < 0 || n < 0)
    return emitOpError() << "expected batch 1 or more, and k and n of 0 or more";
  auto count = [&](Type type, int64_t expected, StringRef what) -> LogicalResult {
    int64_t found = mpdfg::getFeatureElements(type);
    if (found != expected)
      return emitOpError() << "expected " << expected << " numbers in each row of the " << what << ", found " << found;
    return success();
  };
  if (failed(count(getLhs().getType(), batch * k, "lhs")) || failed(count(getRhs().getType(), batch * n, "rhs")))
    return failure();
  return count(getResult().getType(), batch * k * n, "result");
}

LogicalResult ArenaOp::verify() {
  size_t count = getSpaces().size();
  if (getBytes().size() != count || getFirst().size() != count || getLast().size() != count)
    return emitOpError() << "expected as many bytes, firsts and lasts as spaces";
  return success();
}
