//===- Distributor.h - A function for ranks that have parts -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the distribute pass does with one function: operation by operation (Distribute.cpp), with the rows that come
// from other ranks (DistributeRows.cpp), what is made of members of several ranks (DistributeReductions.cpp), which of
// them is the largest (DistributeWinners.cpp), and what moves along maps that no rank can have (DistributeAbsent.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_DISTRIBUTION_DISTRIBUTOR_H
#define GNNC_LIB_TRANSFORMS_DISTRIBUTION_DISTRIBUTOR_H

#include "Distribution/RemoteMaps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <limits>

namespace gnnc {
namespace mpdfg {
class Rules;
} // namespace mpdfg

/// The type of a value's numbers.
inline mlir::Type elementOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

/// A feature shape of as many axes as a value has, all of size 1.
inline llvm::SmallVector<int64_t> onesFor(mlir::Value value) {
  return llvm::SmallVector<int64_t>(mpdfg::getFeatureShape(value.getType()).size(), 1);
}

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What is worse than all numbers, if the largest or the least are chosen.
inline double noneOf(mpdfg::ReduceKind kind) { return kind == mpdfg::ReduceKind::Max ? -kInfinity : kInfinity; }

class Distributor {
public:
  /// `operationsPerByte`: what a byte less between ranks is worth. `fixed`: inputs whose halo is given.
  Distributor(RemoteMaps &maps, mlir::func::FuncOp function, int64_t operationsPerByte,
              llvm::ArrayRef<std::string> fixed)
      : maps(maps), function(function), operationsPerByte(operationsPerByte), fixed(fixed),
        all(mlir::FlatSymbolRefAttr::get(function.getContext(), mpdfg::kAllMap)) {}

  mlir::LogicalResult run();

  int64_t numExchanged = 0, numRemade = 0, numReturned = 0, numCombined = 0, numVaried = 0, numSplit = 0, numFixed = 0;

private:
  using Value = mlir::Value;
  using Location = mlir::Location;
  using OpBuilder = mlir::OpBuilder;
  using Map = mlir::FlatSymbolRefAttr;

  // Distribute.cpp
  mlir::LogicalResult checkCopies();
  mlir::LogicalResult distribute(mpdfg::BroadcastOp op);
  mlir::LogicalResult distribute(mpdfg::ReduceOp op);
  mlir::LogicalResult distribute(mpdfg::NormOp op);
  mlir::LogicalResult distribute(mpdfg::DegreeOp op);
  mlir::LogicalResult distribute(mpdfg::ExtentOp op);
  mlir::LogicalResult distribute(mpdfg::RandomOp op);
  mlir::LogicalResult distributeRows(mlir::Operation *op);
  /// Element numbers as they are in the whole graph; null where a rank cannot tell.
  Value globalNumbers(OpBuilder &b, Value numbers);
  /// A further input of the function that says something of the numbers of a space's elements; null if it cannot be.
  Value insertNumbers(Map space, llvm::StringRef suffix, mlir::Type type, Location loc);
  mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &why) {
    return op->emitOpError() << "cannot be distributed: " << why.str();
  }
  static void replace(mlir::Operation *op, Value value) {
    op->replaceAllUsesWith(mlir::ValueRange{value});
    op->erase();
  }

  mlir::FlatSymbolRefAttr spaceOf(Value value) { return mpdfg::getResidency(value.getType()); }
  bool isDivided(Value value) { return maps.isDivided(spaceOf(value)); }
  /// Whether a map leads to elements of other ranks, or through them.
  bool leavesRank(Map along) {
    return along != all && (maps.isRemote(along) || maps.isThroughHalo(along) || maps.isAbsent(along));
  }
  mlir::RankedTensorType typeOn(mlir::FlatSymbolRefAttr space, mlir::Type like) {
    return mpdfg::getTensorOn(space, mlir::ShapedType::kDynamic, mpdfg::getFeatureShape(like),
                              mlir::cast<mlir::RankedTensorType>(like).getElementType());
  }
  void after(OpBuilder &b, Value value) {
    mlir::Operation *def = value.getDefiningOp();
    def ? b.setInsertionPointAfter(def) : b.setInsertionPointToStart(&function.getBody().front());
  }

  // DistributeRows.cpp
  /// A value that all ranks have, where it meets what each has of its own.
  Value vary(Value value);
  /// Own rows, then those of the halo. `forGradient`: it is not needed but for a derivative.
  Value exchange(Value value, bool forGradient = false);
  /// Rows of the halo, of a value on own elements.
  Value rowsOfHalo(Value value, bool forGradient = false);
  /// What that takes for each element besides what is there: bytes that are transferred, operations that are done on
  /// the rank that reads it too.
  struct HaloPrice {
    int64_t bytes = 0, operations = 0;
  };
  HaloPrice priceOfHalo(Value value);
  bool isReadByOthers(Value value);
  /// Whether it is an input whose rows of the halo are an input, too; and that.
  bool isFixed(Value value);
  Value insertHaloOf(Value input);
  /// Whether rows of the halo are made there, of what has fewer bytes.
  bool isRemade(Value value, HaloPrice &price);
  Value move(OpBuilder &b, Location loc, Value x, Map along, mlir::FloatAttr fill);
  /// Rows of the halo, on a union, as those that go back to where they are own.
  Value sendBack(OpBuilder &b, Location loc, Value onUnion, bool forGradient = false);
  /// From sums for own elements and the halo to those of own elements, of which other ranks have parts.
  Value bringBack(OpBuilder &b, Location loc, Value onUnion);

  // DistributeReductions.cpp
  Value combine(OpBuilder &b, Location loc, mpdfg::ReduceKind kind, Value value) {
    ++numCombined;
    return mpdfg::AllReduceOp::create(b, loc, value.getType(), kind, value);
  }
  Value sum(OpBuilder &b, Location loc, Value x, Map along);
  /// How many members each element has on all ranks.
  Value degree(OpBuilder &b, Location loc, Map along, mlir::Type element);
  /// The same of the owners of x along a map or `all`, with x's axes of size 1.
  Value countMembers(OpBuilder &b, Location loc, Value x, Map along);
  /// The largest (or least) number of each element's members on all ranks; minus (plus) infinity where there are none,
  Value largestOrNone(OpBuilder &b, Location loc, mpdfg::ReduceKind kind, Value x, Map along);
  /// or 0.
  Value largest(OpBuilder &b, Location loc, mpdfg::ReduceKind kind, Value x, Map along);
  /// What the powers of a softmax are relative to: constants as far as derivatives go.
  Value shiftOf(OpBuilder &b, Location loc, Value x, Map along);
  Value finiteShift(OpBuilder &b, Location loc, Value x, Map along);
  /// What owners have, for their members.
  Value backTo(OpBuilder &b, Location loc, Value owners, Map along, mlir::Type members);
  /// exp(x - shift of its owner).
  Value powers(OpBuilder &b, Location loc, Value x, Value shift, Map along);
  Value logSumExp(OpBuilder &b, Location loc, Value x, Map along);
  Value softmaxScale(OpBuilder &b, Location loc, Value x, Map along);
  Value softmax(OpBuilder &b, Location loc, Value x, Map along);

  // DistributeWinners.cpp
  /// The largest (or least) number of each owner's members on all ranks, or infinity, as of largestOrNone; the same
  /// as its gradient goes; and the place of the first that has it. Or the members: `inOrder` if they are elements whose
  /// numbers rise as their places do.
  struct Winner {
    Value value, gradient;
    llvm::SmallVector<Value> places;
    bool inOrder = false;
  };
  /// Where elements come in the whole graph's order: lists of numbers, the first of which decides.
  llvm::SmallVector<Value> placesOf(mlir::FlatSymbolRefAttr space, mlir::Type element);
  /// Whether a number is the largest, which is not a number if one of them is none.
  static Value isSame(mpdfg::Rules &r, Value value, Value largest);
  Winner winnerHere(OpBuilder &b, Location loc, mpdfg::ReduceKind kind, const Winner &members, Map along);
  Winner winnerOf(OpBuilder &b, Location loc, mpdfg::ReduceKind kind, const Winner &members, Map along);
  /// As `largest`; the gradient goes to the first that has it.
  Value largestWithWinner(OpBuilder &b, Location loc, mpdfg::ReduceKind kind, Value x, Map along);

  // DistributeAbsent.cpp
  mlir::RankedTensorType typeFrom(mlir::FlatSymbolRefAttr space, mlir::Type like);
  Value isLast(Map members, mlir::Type element);
  Value ofLast(OpBuilder &b, Location loc, Value x, Map members, double none);
  /// For each part of the union that a map is from: the part, the map to it, and how it goes on from there.
  template <typename Fn> void forEachPart(Map along, Fn visit);
  Value rowsOfPart(OpBuilder &b, Location loc, Value x, mlir::FlatSymbolRefAttr part, Map toPart);
  Value moveAbsent(OpBuilder &b, Location loc, Value x, Map along, mlir::FloatAttr fill);
  Value sumAbsent(OpBuilder &b, Location loc, Value x, Map along);
  Value degreeAbsent(OpBuilder &b, Location loc, Map along, mlir::Type element);
  Value largestOrNoneAbsent(OpBuilder &b, Location loc, mpdfg::ReduceKind kind, Value x, Map along);
  Winner betterOf(OpBuilder &b, Location loc, mpdfg::ReduceKind kind, const Winner &one, const Winner &other);
  Winner winnerAbsent(OpBuilder &b, Location loc, mpdfg::ReduceKind kind, const Winner &members, Map along);

  RemoteMaps &maps;
  mlir::func::FuncOp function;
  int64_t operationsPerByte;
  llvm::ArrayRef<std::string> fixed;
  Map all;
  llvm::DenseMap<Value, Value> varying, exchanged, ofHalo;
  llvm::DenseMap<Value, HaloPrice> haloPrices;    ///< known results of priceOfHalo
  llvm::DenseMap<mlir::Attribute, Value> numbers; ///< of a space's elements in the whole graph
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<Value>> places;
  mlir::Operation *lastPlace = nullptr; ///< the last operation that makes some of them, or of the following
  /// Which members are the last of their owners, by map and type of numbers.
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, Value> lasts;
};

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_DISTRIBUTION_DISTRIBUTOR_H
