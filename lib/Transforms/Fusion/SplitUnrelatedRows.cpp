//===- SplitUnrelatedRows.cpp - Long rows of unrelated axes apart ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Targets repeat a sweep for each tile of its parallel axes. Rows of 600 x 521 numbers and others of 521 x 600, whose
// axes nothing brings together, would have tiles of the one for each tile of the other. Shared values have no owners
// that lanes could be cut from, and even short ones are repeated so.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpk/IR/BodySlice.h"
#include "gnnc/Analysis/SweepPlan.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gnnc {
#define GEN_PASS_DEF_SPLITUNRELATEDROWS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "split-unrelated-rows"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;
using mpk::AccessKind;

namespace {

/// Rows of so many numbers are whole in the registers of some processor.
constexpr int64_t kMostWhole = 512;
/// Shared values are apart where together they would loop over so many numbers, and so many times their own.
constexpr int64_t kLittleRepeated = 4096, kOftenRepeated = 8;
/// Parts of a joined row that may have sweeps of their own.
constexpr size_t kMostParts = 16;

/// What a value is made of: the classes of the axes that a sweep may be cut along, and the most numbers of a row that
/// has such.
struct Cone {
  llvm::SmallDenseSet<int> classes;
  int64_t longest = 1;

  Cone(Value result, const AxisClasses &axes) {
    llvm::SetVector<Value> values;
    values.insert(result);
    for (size_t i = 0; i < values.size(); ++i) {
      if (Operation *op = values[i].getDefiningOp())
        values.insert_range(op->getOperands());
      if (!axes.knows(values[i]))
        continue;
      bool isCut = false;
      for (int cls : axes.of(values[i]))
        if (cls >= 0 && axes.isParallel(cls) && axes.extent(cls) > 1) {
          classes.insert(cls);
          isCut = true;
        }
      if (isCut)
        longest = std::max(longest, getFeatureElements(values[i].getType()));
    }
  }
};

/// A result, or a part of one that is a joined row.
struct Piece {
  unsigned result;
  Value value;
};

struct SplitUnrelatedRows : public gnnc::impl::SplitUnrelatedRowsBase<SplitUnrelatedRows> {
  using Parts = SmallVector<SmallVector<unsigned>>;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto sweep : llvm::make_early_inc_range(function.getOps<mpk::SweepOp>())) {
        if (llvm::any_of(sweep.getBody().front(), [](Operation &op) { return mpk::isTiled(&op); }))
          continue;
        SmallVector<Piece> pieces = findPieces(sweep);
        if (pieces.size() < 2)
          continue;
        if (Parts parts = findParts(sweep, pieces); parts.size() > 1 && !sharesMost(pieces, parts)) {
          keepWhole(sweep, pieces, parts);
          split(sweep, pieces, parts);
        }
      }
  }

  static SmallVector<Piece> findPieces(mpk::SweepOp sweep) {
    SmallVector<Piece> pieces;
    auto yield = cast<mpk::YieldOp>(sweep.getBody().front().getTerminator());
    for (auto [i, value] : llvm::enumerate(yield.getValues())) {
      auto joined = value.getDefiningOp<ConcatOp>();
      bool isOwners = getResidency(sweep.getResult(i).getType()) == sweep.getOverAttr() && sweep.getOverAttr() &&
                      cast<mpk::AccessAttr>(sweep.getYields()[i]).getKind() == AccessKind::Owner;
      if (joined && joined->hasOneUse() && isOwners && joined.getInputs().size() <= kMostParts)
        for (Value input : joined.getInputs())
          pieces.push_back({unsigned(i), input});
      else
        pieces.push_back({unsigned(i), value});
    }
    return pieces;
  }

  /// The pieces by what is to be computed together: long rows if the axes of one are among those of the other, so that
  /// a tile of the other has its own; short rows with the first of the long ones that has their axes, or the first.
  static Parts findParts(mpk::SweepOp sweep, ArrayRef<Piece> pieces) {
    // Where rows are long because they are summed up, other views of a row, slices of what is in memory and joins of
    // what is written there mix no axes: a cone has those of both sides.
    bool addsUp = llvm::any_of(sweep.getBody().front(), [](Operation &op) {
      return isa<ContractOp>(op) &&
             llvm::any_of(op.getOperandTypes(), [](Type type) { return getFeatureElements(type) > kMostWhole; });
    });
    AxisClasses axes(sweep, [&](Operation *op) {
      if (!addsUp)
        return true;
      if (isa<ConcatOp>(op))
        return !llvm::all_of(op->getUsers(), [](Operation *user) { return isa<mpk::YieldOp>(user); });
      if (!isa<ReshapeOp, SliceOp>(op))
        return true;
      Value source = op->getOperand(0);
      while (source.getDefiningOp() && isa<ReshapeOp, SliceOp>(source.getDefiningOp()))
        source = source.getDefiningOp()->getOperand(0);
      return isa<SliceOp>(op) && !isa<BlockArgument>(source);
    });
    SmallVector<Cone> cones;
    for (const Piece &piece : pieces)
      cones.emplace_back(piece.value, axes);
    Parts parts;
    SmallVector<llvm::SmallDenseSet<int>> classes; // of each part
    // Those with most axes first.
    SmallVector<unsigned> order(llvm::to_vector(llvm::seq<unsigned>(cones.size())));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) { return cones[a].classes.size() > cones[b].classes.size(); });
    const int64_t mostWhole = sweep.getOverAttr() || !repeatsMuch(cones, axes) ? kMostWhole : 1;
    for (bool isLong : {true, false})
      for (unsigned i : order) {
        if ((cones[i].longest > mostWhole) != isLong)
          continue;
        auto part = llvm::find_if(classes, [&](const llvm::SmallDenseSet<int> &all) {
          return llvm::all_of(cones[i].classes, [&](int cls) { return all.contains(cls); });
        });
        if (part == classes.end() && isLong) {
          parts.emplace_back();
          part = &classes.emplace_back(cones[i].classes);
        }
        if (!parts.empty())
          parts[part == classes.end() ? 0 : part - classes.begin()].push_back(i);
      }
    for (SmallVector<unsigned> &part : parts)
      llvm::sort(part);
    llvm::sort(parts);
    return parts;
  }

  /// Whether loops over all axes have many more steps than the values have numbers.
  static bool repeatsMuch(ArrayRef<Cone> cones, const AxisClasses &axes) {
    llvm::SmallDenseSet<int> classes;
    double steps = 1, numbers = 0;
    for (const Cone &cone : cones) {
      numbers += double(cone.longest);
      for (int cls : cone.classes)
        if (classes.insert(cls).second)
          steps *= double(axes.extent(cls));
    }
    return steps > kLittleRepeated && steps > kOftenRepeated * numbers;
  }

  /// Whether the sweeps would do more than half of the work again: then its rows are not unrelated.
  static bool sharesMost(ArrayRef<Piece> pieces, const Parts &parts) {
    DenseMap<Operation *, int64_t> times;
    for (ArrayRef<unsigned> part : parts) {
      SetVector<Operation *> cone;
      for (unsigned i : part)
        if (Operation *op = pieces[i].value.getDefiningOp())
          cone.insert(op);
      for (size_t i = 0; i < cone.size(); ++i) {
        ++times[cone[i]];
        for (Value operand : cone[i]->getOperands())
          if (Operation *op = operand.getDefiningOp())
            cone.insert(op);
      }
    }
    double once = 0, again = 0;
    for (auto [op, count] : times)
      if (auto row = dyn_cast<CostOpInterface>(op)) {
        once += double(row.flopsPerRow());
        again += double(row.flopsPerRow()) * double(count - 1);
      }
    return again > once / 2;
  }

  /// A joined row whose pieces are all made by one sweep is joined there.
  static void keepWhole(mpk::SweepOp sweep, SmallVector<Piece> &pieces, Parts &parts) {
    for (unsigned result = 0; result < sweep.getNumResults(); ++result) {
      auto isOfResult = [&](unsigned i) { return pieces[i].result == result; };
      for (SmallVector<unsigned> &part : parts)
        if (size_t(llvm::count_if(part, isOfResult)) ==
            size_t(llvm::count_if(pieces, [&](const Piece &piece) { return piece.result == result; }))) {
          unsigned first = *llvm::find_if(part, isOfResult);
          llvm::erase_if(part, [&](unsigned i) { return i != first && isOfResult(i); });
          pieces[first].value = getYield(sweep).getValues()[result];
        }
    }
  }

  void split(mpk::SweepOp sweep, ArrayRef<Piece> pieces, const Parts &parts) {
    ++numSplit;
    remarkPassed(sweep, DEBUG_TYPE, "split",
                 [&] { return "rows of unrelated axes are computed by " + std::to_string(parts.size()) + " sweeps"; });
    OpBuilder b(sweep);
    // Of each result, the values of its pieces, made by one sweep or by several.
    SmallVector<SmallVector<Value>> made(sweep.getNumResults());
    for (ArrayRef<unsigned> part : parts) {
      SmallVector<Type> types;
      SmallVector<Attribute> yields;
      SmallVector<Value> values;
      for (unsigned i : part) {
        unsigned result = pieces[i].result;
        auto type = cast<RankedTensorType>(sweep.getResult(result).getType());
        Value value = pieces[i].value;
        bool isWhole = value == getYield(sweep).getValues()[result];
        types.push_back(isWhole ? type
                                : getTensorOn(getResidency(type), type.getDimSize(0), getFeatureShape(value.getType()),
                                              type.getElementType()));
        yields.push_back(sweep.getYields()[result]);
        values.push_back(value);
      }
      mpk::SweepOp own = makeSweep(b, sweep, types, yields, values);
      for (auto [i, result] : llvm::zip(part, own.getResults()))
        made[pieces[i].result].push_back(result);
    }
    for (auto [i, values] : llvm::enumerate(made))
      sweep.getResult(i).replaceAllUsesWith(values.size() == 1 ? values.front()
                                                               : join(b, sweep, i, pieces, parts, values));
    sweep.erase();
  }

  /// A joined row of what other sweeps have made. `values` are in the order of the parts.
  static Value join(OpBuilder &b, mpk::SweepOp sweep, unsigned result, ArrayRef<Piece> pieces, const Parts &parts,
                    ArrayRef<Value> values) {
    SmallVector<std::pair<unsigned, Value>> inOrder; // by the piece's number
    size_t next = 0;
    for (ArrayRef<unsigned> part : parts)
      for (unsigned i : part)
        if (pieces[i].result == result)
          inOrder.push_back({i, values[next++]});
    llvm::sort(inOrder, llvm::less_first());
    auto joined = getYield(sweep).getValues()[result].getDefiningOp<ConcatOp>();
    Location loc = sweep.getLoc();
    SmallVector<Value> inputs(llvm::make_second_range(inOrder));
    SmallVector<Attribute> access(inputs.size(), mpk::AccessAttr::get(b.getContext(), AccessKind::Owner));
    auto own = mpk::SweepOp::create(b, loc, sweep.getResult(result).getType(), sweep.getOverAttr(), FlatSymbolRefAttr(),
                                    inputs, b.getArrayAttr(access), b.getArrayAttr(sweep.getYields()[result]));
    own->setDiscardableAttrs(sweep->getDiscardableAttrDictionary());
    Block *body = b.createBlock(&own.getBody());
    SmallVector<Value> arguments;
    for (Value input : joined.getInputs())
      arguments.push_back(body->addArgument(input.getType(), loc));
    Value whole = ConcatOp::create(b, loc, joined.getType(), arguments, joined.getAxisAttr());
    mpk::YieldOp::create(b, loc, whole);
    b.setInsertionPointAfter(own);
    return own.getResult(0);
  }

  static mpk::YieldOp getYield(mpk::SweepOp sweep) {
    return cast<mpk::YieldOp>(sweep.getBody().front().getTerminator());
  }

  static mpk::SweepOp makeSweep(OpBuilder &b, mpk::SweepOp sweep, ArrayRef<Type> types, ArrayRef<Attribute> yields,
                                ArrayRef<Value> values) {
    SmallVector<Attribute> access;
    SmallVector<Value> inputs;
    mpk::BodySlice slice(values, [](Value) { return false; });
    for (Value leaf : slice.getLeaves()) {
      unsigned number = cast<BlockArgument>(leaf).getArgNumber();
      inputs.push_back(sweep.getInputs()[number]);
      access.push_back(sweep.getAccess()[number]);
    }
    auto own = mpk::SweepOp::create(b, sweep.getLoc(), types, sweep.getOverAttr(), sweep.getAlongAttr(), inputs,
                                    b.getArrayAttr(access), b.getArrayAttr(yields));
    own->setDiscardableAttrs(sweep->getDiscardableAttrDictionary());
    slice.cloneInto(own.getBody());
    return own;
  }
};

} // namespace
