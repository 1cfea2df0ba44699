//===- SplitOwners.cpp - What owners make of sums, in a sweep of its own --===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fusion/SplitOwners.h"
#include "dialects/mpk/IR/BodySlice.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gnnc;
using mpk::AccessKind;

bool gnnc::isAccumulation(Value value) {
  auto op = value.getDefiningOp<mpk::AccumulateOp>();
  return op && !op.getShared();
}

void gnnc::eraseUnused(mpk::SweepOp sweep) {
  Block &block = sweep.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !isa<mpk::YieldOp>(op))
      op.erase();
  SmallVector<Value> inputs;
  SmallVector<Attribute> access;
  llvm::BitVector unused(block.getNumArguments());
  for (BlockArgument argument : block.getArguments()) {
    if (argument.use_empty()) {
      unused.set(argument.getArgNumber());
      continue;
    }
    inputs.push_back(sweep.getInputs()[argument.getArgNumber()]);
    access.push_back(sweep.getAccess()[argument.getArgNumber()]);
  }
  block.eraseArguments(unused);
  sweep.getInputsMutable().assign(inputs);
  sweep.setAccessAttr(ArrayAttr::get(sweep.getContext(), access));
}

void gnnc::splitOwners(mpk::SweepOp sweep, ArrayRef<unsigned> late) {
  auto yield = cast<mpk::YieldOp>(sweep.getBody().front().getTerminator());
  SmallVector<unsigned> early;
  for (unsigned i = 0; i < sweep.getNumResults(); ++i)
    if (!llvm::is_contained(late, i))
      early.push_back(i);
  // What the late results are made of, down to accumulations and operands.
  SmallVector<Value> lateValues;
  for (unsigned i : late)
    lateValues.push_back(yield.getValues()[i]);
  mpk::BodySlice slice(lateValues, isAccumulation);

  OpBuilder b(sweep);
  Location loc = sweep.getLoc();
  auto space = SymbolTable::lookupNearestSymbolFrom<mpdfg::SpaceOp>(sweep, sweep.getOverAttr());
  int64_t extent = space.getExtent().value_or(ShapedType::kDynamic);
  auto ofOwner = [&](AccessKind kind) { return mpk::AccessAttr::get(b.getContext(), kind); };
  SmallVector<Type> types;
  SmallVector<Attribute> yields;
  SmallVector<Value> values;
  for (unsigned i : early) {
    types.push_back(sweep.getResultTypes()[i]);
    yields.push_back(sweep.getYields()[i]);
    values.push_back(yield.getValues()[i]);
  }
  for (Value leaf : slice.getLeaves())
    if (!isa<BlockArgument>(leaf) && !llvm::is_contained(values, leaf)) {
      auto type = cast<RankedTensorType>(leaf.getType());
      types.push_back(
          mpdfg::getTensorOn(sweep.getOverAttr(), extent, mpdfg::getFeatureShape(type), type.getElementType()));
      yields.push_back(ofOwner(AccessKind::Owner));
      values.push_back(leaf);
    }
  auto sums = mpk::SweepOp::create(b, loc, types, sweep.getOverAttr(), sweep.getAlongAttr(), sweep.getInputs(),
                                   sweep.getAccess(), b.getArrayAttr(yields));
  sums->setDiscardableAttrs(sweep->getDiscardableAttrDictionary());

  SmallVector<Value> inputs;
  SmallVector<Attribute> access;
  for (Value leaf : slice.getLeaves()) {
    auto argument = dyn_cast<BlockArgument>(leaf);
    inputs.push_back(argument ? sweep.getInputs()[argument.getArgNumber()]
                              : sums.getResult(llvm::find(values, leaf) - values.begin()));
    access.push_back(argument ? sweep.getAccess()[argument.getArgNumber()] : ofOwner(AccessKind::Owner));
  }
  SmallVector<Type> lateTypes;
  SmallVector<Attribute> lateYields;
  for (unsigned i : late) {
    lateTypes.push_back(sweep.getResultTypes()[i]);
    lateYields.push_back(sweep.getYields()[i]);
  }
  auto rows = mpk::SweepOp::create(b, loc, lateTypes, sweep.getOverAttr(), FlatSymbolRefAttr(), inputs,
                                   b.getArrayAttr(access), b.getArrayAttr(lateYields));
  rows->setDiscardableAttrs(sweep->getDiscardableAttrDictionary());
  slice.cloneInto(rows.getBody());

  for (auto [i, number] : llvm::enumerate(early))
    sweep.getResult(number).replaceAllUsesWith(sums.getResult(i));
  for (auto [i, number] : llvm::enumerate(late))
    sweep.getResult(number).replaceAllUsesWith(rows.getResult(i));
  yield->setOperands(values);
  sums.getBody().takeBody(sweep.getBody());
  sweep.erase();
  eraseUnused(sums); // operands that only the rows' sweep needs
}
