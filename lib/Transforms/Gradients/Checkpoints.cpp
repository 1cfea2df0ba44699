//===- Checkpoints.cpp - Segments of the forward half ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gradients/Checkpoints.h"
#include "dialects/mpk/IR/MPK.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

/// Members that each owner counts as having: the extents of spaces are not known.
static constexpr int64_t kMembers = 8;
/// How far from equal parts a place between segments may lie, as a part of a segment.
static constexpr double kSlack = 0.35;

namespace {

class Segmentation {
public:
  Segmentation(func::FuncOp function, const OperationSet &forward, const OperationSet &read) {
    for (auto map : function->getParentOfType<ModuleOp>().getOps<MapOp>())
      members.insert(map.getFromAttr().getAttr());
    for (Operation &op : function.getBody().front().without_terminator())
      if (forward.contains(&op)) {
        places[&op] = operations.size();
        operations.push_back(&op);
      }
    before.push_back(0);
    for (Operation *op : operations)
      before.push_back(before.back() + (read.contains(op) ? bytesOf(op) : 0));
    findCrossing();
  }

  Checkpoints divide(unsigned segments) {
    Checkpoints found;
    int64_t total = before.back();
    size_t least = 0;
    for (unsigned i = 1; i < segments; ++i) {
      auto isNear = [&](size_t place) {
        double distance = double(before[place]) * segments / double(total) - i;
        return distance >= -kSlack && distance <= kSlack;
      };
      std::optional<size_t> best;
      for (size_t place = least + 1; place < operations.size(); ++place)
        if (isNear(place) && (!best || crossing[place] < crossing[*best]))
          best = place;
      if (!best)
        continue;
      least = *best;
      addCrossing(*best, found.crossing);
    }
    for (size_t place = least; place < operations.size(); ++place)
      found.last.insert(operations[place]);
    return found;
  }

private:
  int64_t bytesOf(Operation *op) const {
    int64_t bytes = 0;
    for (Value result : op->getResults())
      if (FlatSymbolRefAttr space = getResidency(result.getType()))
        bytes += getFeatureElements(result.getType()) * (members.contains(space.getAttr()) ? kMembers : 1);
    return bytes;
  }

  /// Views are where what they show is, and movements are read where they come from.
  static Operation *makerOf(Value value) {
    Operation *op = value.getDefiningOp();
    while (op && (isView(op) || isa<BroadcastOp>(op)))
      op = op->getOperand(0).getDefiningOp();
    return op;
  }

  size_t lastUse(Operation *op) const {
    size_t last = places.lookup(op);
    for (Operation *user : op->getUsers())
      if (auto found = places.find(user); found != places.end()) {
        bool shows = isView(user) || isa<BroadcastOp>(user);
        last = std::max(last, shows ? std::max(lastUse(user), found->second) : found->second);
      }
    return last;
  }

  /// crossing[p]: bytes that are made before place p and read at p or later.
  void findCrossing() {
    crossing.assign(operations.size() + 2, 0);
    for (auto [place, op] : llvm::enumerate(operations)) {
      lasts.push_back(lastUse(op));
      if (makerOf(op->getResult(0)) != op)
        continue;
      crossing[place + 1] += bytesOf(op); // as differences first
      crossing[lasts.back() + 1] -= bytesOf(op);
    }
    for (size_t place = 1; place < crossing.size(); ++place)
      crossing[place] += crossing[place - 1];
  }

  void addCrossing(size_t place, OperationSet &set) const {
    for (size_t i = 0; i < place; ++i)
      if (lasts[i] >= place && makerOf(operations[i]->getResult(0)) == operations[i])
        set.insert(operations[i]);
  }

  SmallVector<Operation *> operations;
  llvm::DenseMap<Operation *, size_t> places;
  SmallVector<int64_t> before, crossing;
  SmallVector<size_t> lasts;
  llvm::DenseSet<StringAttr> members; ///< spaces from which a map leads
};

} // namespace

Checkpoints gnnc::findCheckpoints(func::FuncOp function, const OperationSet &forward, const OperationSet &read,
                                  unsigned segments) {
  return Segmentation(function, forward, read).divide(segments);
}
