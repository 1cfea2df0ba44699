//===- AxisClasses.cpp - Which feature axes belong together ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A union-find over (value, axis). Operations that pair axes unite them; those that mix the numbers along an axis
// (folds, contractions, joins, slices, reshapes that split or merge) mark it as not parallel.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Analysis/SweepPlan.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

class UnionFind {
public:
  int add() {
    parent.push_back(parent.size());
    mixed.push_back(false);
    return parent.size() - 1;
  }
  int find(int i) {
    while (parent[i] != i)
      i = parent[i] = parent[parent[i]];
    return i;
  }
  void unite(int a, int b) {
    a = find(a), b = find(b);
    if (a == b)
      return;
    parent[b] = a;
    mixed[a] = mixed[a] || mixed[b];
  }
  void mix(int i) { mixed[find(i)] = true; }
  bool isMixed(int i) { return mixed[find(i)]; }

private:
  SmallVector<int> parent;
  SmallVector<bool> mixed;
};

struct ClassBuilder {
  UnionFind sets;
  llvm::MapVector<Value, SmallVector<int>>
      nodes; // in the order of the body, so that numbers do not depend on addresses

  ArrayRef<int> of(Value value) {
    auto [it, fresh] = nodes.insert({value, {}});
    if (fresh)
      for (size_t i = 0; i < getFeatureShape(value.getType()).size(); ++i)
        it->second.push_back(sets.add());
    return it->second;
  }
  static int64_t size(Value value, size_t axis) { return getFeatureShape(value.getType())[axis]; }

  void pair(Value a, size_t axisA, Value b, size_t axisB) {
    if (size(a, axisA) != 1 && size(b, axisB) != 1) {
      int left = of(a)[axisA];
      sets.unite(left, of(b)[axisB]);
    }
  }
  void mix(Value value, size_t axis) { sets.mix(of(value)[axis]); }
  void pairAll(Value a, Value b) {
    for (size_t i = 0; i < getFeatureShape(a.getType()).size(); ++i)
      pair(a, i, b, i);
  }

  void visit(Operation &op);
  void visitReshape(Value from, Value to);
  void visitContract(ContractOp op);
};

} // namespace

void ClassBuilder::visitReshape(Value from, Value to) {
  // Walk both shapes in runs of equal products; a run of one axis each is the same axis.
  ArrayRef<int64_t> a = getFeatureShape(from.getType()), b = getFeatureShape(to.getType());
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    SmallVector<size_t> left, right;
    int64_t productA = 1, productB = 1;
    auto takeA = [&] {
      if (a[i] != 1)
        left.push_back(i);
      productA *= a[i++];
    };
    auto takeB = [&] {
      if (b[j] != 1)
        right.push_back(j);
      productB *= b[j++];
    };
    if (i < a.size())
      takeA();
    if (j < b.size())
      takeB();
    while (productA != productB) {
      if (productA < productB ? i < a.size() : j >= b.size() && i < a.size())
        takeA();
      else if (j < b.size())
        takeB();
      else
        break;
    }
    if (left.size() == 1 && right.size() == 1) {
      pair(from, left[0], to, right[0]);
    } else {
      for (size_t axis : left)
        mix(from, axis);
      for (size_t axis : right)
        mix(to, axis);
    }
  }
}

void ClassBuilder::visitContract(ContractOp op) {
  DenseMap<int64_t, std::pair<Value, size_t>> first;
  auto bind = [&](Value value, ArrayRef<int64_t> labels) {
    for (auto [axis, label] : llvm::enumerate(labels)) {
      auto [it, fresh] = first.try_emplace(label, value, axis);
      if (!fresh)
        pair(it->second.first, it->second.second, value, axis);
    }
  };
  bind(op.getLhs(), op.getLhsLabels());
  bind(op.getRhs(), op.getRhsLabels());
  bind(op.getResult(), op.getOutLabels());
  for (auto [label, where] : first)
    if (!llvm::is_contained(op.getOutLabels(), label))
      mix(where.first, where.second);
}

void ClassBuilder::visit(Operation &op) {
  for (Value operand : op.getOperands())
    (void)of(operand);
  if (op.getNumResults() == 0)
    return;
  Value result = op.getResult(0);
  (void)of(result);
  if (auto fold = dyn_cast<FoldOp>(op)) {
    for (int64_t axis : fold.getAxes())
      mix(fold.getInput(), axis);
    pairAll(fold.getInput(), result);
  } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    visitReshape(reshape.getInput(), result);
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [i, axis] : llvm::enumerate(transpose.getPermutation()))
      pair(transpose.getInput(), axis, result, i);
  } else if (auto contract = dyn_cast<ContractOp>(op)) {
    visitContract(contract);
  } else if (isa<ConcatOp, SliceOp>(op)) {
    size_t joined = isa<ConcatOp>(op) ? cast<ConcatOp>(op).getAxis() : cast<SliceOp>(op).getAxis();
    mix(result, joined);
    for (Value operand : op.getOperands())
      for (size_t i = 0; i < getFeatureShape(result.getType()).size(); ++i)
        i == joined ? mix(operand, i) : pair(operand, i, result, i);
  } else {
    // Elementwise, accumulations and softmax.
    for (Value operand : op.getOperands())
      pairAll(operand, result);
  }
}

AxisClasses::AxisClasses(mpk::SweepOp sweep) : AxisClasses(sweep, [](Operation *) { return true; }) {}

AxisClasses::AxisClasses(mpk::SweepOp sweep, function_ref<bool(Operation *)> counts) {
  ClassBuilder builder;
  for (Value argument : sweep.getBody().getArguments())
    (void)builder.of(argument);
  for (Operation &op : sweep.getBody().front())
    if (counts(&op))
      builder.visit(op);
  // Elementwise operands of size 1 are not paired, so two operands that differ only there still meet in the result.
  DenseMap<int, int> numbers;
  for (auto &[value, axes] : builder.nodes)
    for (auto [i, node] : llvm::enumerate(axes)) {
      int64_t size = getFeatureShape(value.getType())[i];
      int cls = -1;
      if (size != 1) {
        auto [it, fresh] = numbers.try_emplace(builder.sets.find(node), int(extents.size()));
        if (fresh) {
          extents.push_back(size);
          parallel.push_back(!builder.sets.isMixed(node));
        }
        cls = it->second;
      }
      classes[value].push_back(cls);
    }
  // An outer product of a value with itself has one class twice: cut into tiles, it would be its diagonal.
  for (auto &[value, axes] : builder.nodes) {
    ArrayRef<int> own = classes.try_emplace(value).first->second;
    for (size_t i = 0; i < own.size(); ++i)
      if (own[i] >= 0 && llvm::is_contained(own.take_front(i), own[i]))
        parallel[own[i]] = false;
  }
}
