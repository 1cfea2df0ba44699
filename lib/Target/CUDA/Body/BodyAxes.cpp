//===- BodyAxes.cpp - The feature axes of a sweep, cut to fit -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A union-find over pieces of axes. An axis begins as one piece; where a reshape or an operand splits it, it becomes a
// list of smaller ones. An operation whose pairing fails (pieces that do not divide each other, or a value that would
// have one piece twice, as an outer product of a value with itself) gets a copy of an operand, or of all, that changes
// lanes first. A slice or a join along a short axis makes a piece of its own of the parts, which each lane has whole.
//
//===----------------------------------------------------------------------===//

#include "Body/BodyAxes.h"
#include "Body/RowParts.h"
#include "llvm/ADT/SmallSet.h"

#include <numeric>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;

namespace {

/// Parts of an axis that each lane has whole, at most.
constexpr int64_t kMostWholeParts = 16;

/// Pieces of axes. Copied to try an operation, so it is small.
class Pieces {
public:
  int add(int64_t extent) {
    nodes.push_back({int(nodes.size()), extent, true, false, {}});
    return nodes.size() - 1;
  }
  int addWhole(int64_t extent) {
    nodes.push_back({int(nodes.size()), extent, false, true, {}});
    return nodes.size() - 1;
  }
  int64_t extent(int piece) const { return nodes[piece].extent; }
  bool isParallel(int piece) const { return nodes[piece].parallel; }
  bool isWhole(int piece) const { return nodes[piece].whole; }

  /// The smallest pieces of a list, each as its representative.
  AtomList expand(ArrayRef<int> list) const {
    AtomList result;
    for (int piece : list) {
      int root = find(piece);
      if (nodes[root].parts.empty())
        result.push_back(root);
      else
        llvm::append_range(result, expand(nodes[root].parts));
    }
    return result;
  }
  void mix(ArrayRef<int> list) {
    for (int piece : expand(list))
      nodes[piece].parallel = false;
  }
  /// Makes two lists of equal product the same pieces; false if their cuts do not fit.
  bool unite(ArrayRef<int> a, ArrayRef<int> b) {
    while (true) {
      AtomList left = expand(a), right = expand(b);
      size_t i = 0;
      while (i < left.size() && i < right.size() && left[i] == right[i])
        ++i;
      if (i == left.size() || i == right.size())
        return left.size() == right.size();
      int x = left[i], y = right[i];
      if (extent(x) == extent(y)) {
        nodes[y].parent = x;
        nodes[x].parallel &= nodes[y].parallel;
        nodes[x].whole |= nodes[y].whole;
      } else if (extent(x) > extent(y) ? !split(x, extent(y)) : !split(y, extent(x))) {
        return false;
      }
    }
  }

private:
  struct Node {
    int parent;
    int64_t extent;
    bool parallel;
    bool whole;
    AtomList parts;
  };
  int find(int piece) const {
    while (nodes[piece].parent != piece)
      piece = nodes[piece].parent;
    return piece;
  }
  bool split(int piece, int64_t outer) {
    int64_t whole = extent(piece);
    if (whole % outer != 0)
      return false;
    AtomList parts{add(outer), add(whole / outer)};
    for (int part : parts) {
      nodes[part].parallel = nodes[piece].parallel;
      nodes[part].whole = nodes[piece].whole;
    }
    nodes[piece].parts = parts;
    return true;
  }
  SmallVector<Node> nodes;
};

struct AxisBuilder {
  bool alone = true;
  Pieces pieces;
  DenseMap<Value, AxisList> axes;
  DenseMap<OpOperand *, AxisList> staged;
  DenseSet<Operation *> rearranged;

  AxisList fresh(Value value) {
    AxisList list;
    for (int64_t size : getFeatureShape(value.getType()))
      list.push_back(size == 1 ? AtomList() : AtomList{pieces.add(size)});
    return list;
  }
  AxisList &of(Value value) {
    auto it = axes.find(value);
    return it != axes.end() ? it->second : axes.try_emplace(value, fresh(value)).first->second;
  }
  AxisList &of(OpOperand &operand) {
    auto it = staged.find(&operand);
    return it != staged.end() ? it->second : of(operand.get());
  }

  bool unite(const AtomList &a, const AtomList &b) { return a.empty() || b.empty() || pieces.unite(a, b); }
  bool uniteAll(const AxisList &a, const AxisList &b) {
    for (auto [x, y] : llvm::zip(a, b))
      if (!unite(x, y))
        return false;
    return true;
  }
  static AtomList flatten(const AxisList &list) {
    AtomList all;
    for (const AtomList &axis : list)
      llvm::append_range(all, axis);
    return all;
  }
  void mixAll(const AxisList &list) { pieces.mix(flatten(list)); }

  bool pair(Operation *op);
  bool pairContract(ContractOp op);
  bool pairParts(Operation *op);
  bool pairOtherAxes(Operation *op);
  bool hasPieceTwice() const;
  void visit(Operation *op);
};

} // namespace

bool AxisBuilder::pairContract(ContractOp op) {
  DenseMap<int64_t, AtomList> byLabel;
  auto bind = [&](const AxisList &list, ArrayRef<int64_t> labels) {
    for (auto [axis, label] : llvm::zip(list, labels)) {
      auto [it, isNew] = byLabel.try_emplace(label, axis);
      if (!isNew && it->second.empty())
        it->second = axis;
      else if (!isNew && !unite(it->second, axis))
        return false;
    }
    return true;
  };
  MutableArrayRef<OpOperand> operands = op->getOpOperands();
  if (!bind(of(operands[0]), op.getLhsLabels()) || !bind(of(operands[1]), op.getRhsLabels()) ||
      !bind(of(op.getResult()), op.getOutLabels()))
    return false;
  for (auto &[label, list] : byLabel)
    if (!llvm::is_contained(op.getOutLabels(), label))
      pieces.mix(list);
  return true;
}

static int64_t axisOf(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return slice ? slice.getAxis() : cast<ConcatOp>(op).getAxis();
}

int64_t cuda::commonPart(Operation *op) {
  int64_t axis = axisOf(op), common = 0;
  auto see = [&](Value value) { common = std::gcd(common, getFeatureShape(value.getType())[axis]); };
  see(op->getResult(0));
  for (Value operand : op->getOperands())
    see(operand);
  auto slice = dyn_cast<SliceOp>(op);
  return slice ? std::gcd(common, slice.getBegin()) : common;
}

/// The axis of a slice or a join is parts by what they have in common.
bool AxisBuilder::pairParts(Operation *op) {
  int64_t axis = axisOf(op), common = commonPart(op);
  AtomList inner = common > 1 ? AtomList{pieces.add(common)} : AtomList();
  auto cut = [&](Value value) {
    int64_t parts = getFeatureShape(value.getType())[axis] / common;
    AtomList list = parts > 1 ? AtomList{pieces.addWhole(parts)} : AtomList();
    llvm::append_range(list, inner);
    return parts <= kMostWholeParts && unite(of(value)[axis], list);
  };
  const AxisList result = of(op->getResult(0));
  for (Value operand : op->getOperands()) {
    AxisList others = of(operand);
    others[axis].clear();
    if (!cut(operand) || !uniteAll(others, result))
      return false;
  }
  return cut(op->getResult(0));
}

/// Numbers change places along the axis alone.
bool AxisBuilder::pairOtherAxes(Operation *op) {
  int64_t axis = axisOf(op);
  const AxisList result = of(op->getResult(0));
  pieces.mix(result[axis]);
  for (Value operand : op->getOperands()) {
    AxisList others = of(operand);
    pieces.mix(others[axis]);
    others[axis].clear();
    if (!uniteAll(others, result))
      return false;
  }
  return true;
}

bool AxisBuilder::pair(Operation *op) {
  Value result = op->getResult(0);
  (void)of(result);
  if (isa<ConcatOp, SliceOp>(op))
    return pairParts(op);
  if (auto contract = dyn_cast<ContractOp>(op))
    return pairContract(contract);
  if (auto fold = dyn_cast<FoldOp>(op)) {
    AxisList from = of(op->getOpOperand(0));
    for (int64_t axis : fold.getAxes()) {
      pieces.mix(from[axis]);
      from[axis].clear();
    }
    return uniteAll(from, of(result));
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    AtomList from = flatten(of(op->getOpOperand(0))), to = flatten(of(result));
    return from.empty() || pieces.unite(from, to);
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    AxisList from;
    for (int64_t axis : transpose.getPermutation())
      from.push_back(of(op->getOpOperand(0))[axis]);
    return uniteAll(from, of(result));
  }
  for (OpOperand &operand : op->getOpOperands())
    if (!uniteAll(of(operand), of(result)))
      return false;
  return true;
}

bool AxisBuilder::hasPieceTwice() const {
  auto twice = [&](const AxisList &list) {
    AtomList all = pieces.expand(flatten(list));
    for (size_t i = 0; i < all.size(); ++i)
      if (llvm::is_contained(ArrayRef<int>(all).take_front(i), all[i]))
        return true;
    return false;
  };
  return llvm::any_of(axes, [&](auto &entry) { return twice(entry.second); }) ||
         llvm::any_of(staged, [&](auto &entry) { return twice(entry.second); });
}

void AxisBuilder::visit(Operation *op) {
  if (op->getNumResults() > 0 && isOperand(op->getResult(0))) {
    (void)of(op->getResult(0));
    return;
  }
  for (Value operand : op->getOperands())
    if (!isJoined(operand))
      (void)of(operand);
  if (op->getNumResults() == 0 || isJoined(op->getResult(0)))
    return;
  auto rearrange = [&] {
    rearranged.insert(op);
    for (Value operand : op->getOperands())
      mixAll(of(operand));
    mixAll(of(op->getResult(0)));
  };
  AxisBuilder before = *this;
  if (pair(op) && !hasPieceTwice())
    return;
  *this = before;
  if (isa<ConcatOp, SliceOp>(op)) {
    if (pairOtherAxes(op) && !hasPieceTwice()) {
      rearranged.insert(op);
      return;
    }
    *this = before;
  }
  if (isa<ReshapeOp, ConcatOp, SliceOp>(op))
    return rearrange();
  // One operand with axes of its own, a product's with itself say, changes lanes along those alone in which it then
  // differs. What is read from memory is read again.
  auto tryAlone = [&](OpOperand &operand) {
    staged[&operand] = fresh(operand.get());
    if (!pair(op) || hasPieceTwice()) {
      *this = before;
      return false;
    }
    for (auto [own, seen] : llvm::zip(of(operand.get()), staged[&operand]))
      if (pieces.expand(own) != pieces.expand(seen)) {
        pieces.mix(own);
        pieces.mix(seen);
      }
    return true;
  };
  if (alone && op->getNumOperands() > 1)
    for (bool isArgument : {true, false})
      for (OpOperand &operand : op->getOpOperands())
        if (isOperand(operand.get()) == isArgument && tryAlone(operand))
          return;
  for (OpOperand &operand : op->getOpOperands()) {
    mixAll(of(operand.get()));
    staged[&operand] = fresh(operand.get());
    mixAll(staged[&operand]);
  }
  bool paired = pair(op);
  (void)paired;
  assert(paired && "copies have no pieces in common with anything");
}

BodyAxes::BodyAxes(mpk::SweepOp sweep, bool ties, bool alone) {
  AxisBuilder builder;
  builder.alone = alone;
  for (Value operand : operandsOf(sweep))
    (void)builder.of(operand);
  for (Operation &op : sweep.getBody().front())
    builder.visit(&op);
  DenseMap<int, int> numbers;
  auto finish = [&](const AxisList &list) {
    AxisList result;
    for (const AtomList &axis : list) {
      AtomList own;
      for (int piece : builder.pieces.expand(axis)) {
        auto [it, isNew] = numbers.try_emplace(piece, int(atoms.size()));
        if (isNew)
          atoms.push_back(
              {builder.pieces.extent(piece), builder.pieces.isParallel(piece), builder.pieces.isWhole(piece)});
        own.push_back(it->second);
      }
      result.push_back(own);
    }
    return result;
  };
  // In the order of the body, so that numbers do not depend on addresses. What is only read or written in parts has no
  // axes of its own.
  auto add = [&](Value value) { axes[value] = finish(builder.axes.lookup(value)); };
  for (Value argument : sweep.getBody().getArguments())
    add(argument);
  for (Operation &op : sweep.getBody().front()) {
    for (OpOperand &operand : op.getOpOperands())
      if (auto it = builder.staged.find(&operand); it != builder.staged.end())
        staged[&operand] = finish(it->second);
    for (Value result : op.getResults())
      add(result);
  }
  rearranged = std::move(builder.rearranged);
  shareLanes(sweep, ties);
}

/// Two atoms of equal size that no operation sees together may be the same lanes: a node's own features and those of
/// its neighbours, say. Then what the owner computes of its row is spread like what it computes of its members'.
void BodyAxes::shareLanes(mpk::SweepOp sweep, bool ties) {
  SmallVector<llvm::SmallSet<int, 8>> met(atoms.size());
  auto together = [&](ArrayRef<int> list) {
    for (int a : list)
      for (int b : list)
        met[a].insert(b);
  };
  for (Value operand : operandsOf(sweep))
    together(atomsOf(of(operand)));
  for (Operation &op : sweep.getBody().front()) {
    if (op.getNumResults() > 0 && isJoined(op.getResult(0)))
      continue; // Its parts are written one after the other.
    // So are those of what goes by way of shared memory, and parts of an operand are read apart from it.
    if (rearranged.contains(&op) || (op.getNumResults() > 0 && isOperand(op.getResult(0)))) {
      for (OpOperand &operand : op.getOpOperands())
        together(atomsOf(of(operand)));
      together(atomsOf(of(op.getResult(0))));
      continue;
    }
    SmallVector<int> all;
    if (op.getNumResults() > 0)
      llvm::append_range(all, atomsOf(of(op.getResult(0))));
    for (OpOperand &operand : op.getOpOperands()) {
      if (op.getNumResults() == 0) { // A result; it has nothing to do with the others.
        together(atomsOf(of(operand)));
        continue;
      }
      for (int atom : atomsOf(of(operand)))
        if (!llvm::is_contained(all, atom))
          all.push_back(atom);
    }
    together(all);
  }
  SmallVector<int> target(atoms.size());
  for (int b = 0; b < int(atoms.size()); ++b) {
    target[b] = b;
    for (int a = 0; a < b && target[b] == b; ++a) {
      bool fits = (ties || atoms[a].isParallel == atoms[b].isParallel) && atoms[a].isWhole == atoms[b].isWhole;
      if (target[a] != a || atoms[a].extent != atoms[b].extent || met[a].contains(b) || !fits)
        continue;
      target[b] = a;
      atoms[a].isParallel &= atoms[b].isParallel;
      for (int c : met[b]) {
        met[a].insert(c);
        met[c].insert(a);
      }
    }
  }
  SmallVector<Atom> kept;
  SmallVector<int> numbers(atoms.size());
  for (int a = 0; a < int(atoms.size()); ++a)
    if (target[a] == a) {
      numbers[a] = kept.size();
      kept.push_back(atoms[a]);
    }
  meets.assign(kept.size(), llvm::BitVector(kept.size()));
  for (int a = 0; a < int(atoms.size()); ++a)
    for (int b : met[a])
      meets[numbers[target[a]]].set(numbers[target[b]]);
  auto rename = [&](AxisList &list) {
    for (AtomList &axis : list)
      for (int &atom : axis)
        atom = numbers[target[atom]];
  };
  for (auto &[value, list] : axes)
    rename(list);
  for (auto &[operand, list] : staged)
    rename(list);
  atoms = std::move(kept);
}

const AxisList &BodyAxes::of(OpOperand &operand) const {
  auto it = staged.find(&operand);
  return it != staged.end() ? it->second : of(operand.get());
}

SmallVector<int> BodyAxes::atomsOf(const AxisList &axes) {
  SmallVector<int> all;
  for (const AtomList &axis : axes)
    llvm::append_range(all, axis);
  llvm::sort(all);
  return all;
}
