//===- OuterSumEmitter.cpp - Code for the gradient of a weight ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for each tile of R numbers of k and C columns of n (RegisterTiles.h):
//     acc[R][C] = 0;  for each row i of the block: acc[r] += x[i][k + r] * g[i][columns];  y[k..][columns] = acc
//
// A block's rows fit the cache, so reading them once for each tile costs little, and the sum stays in registers. A
// shared result is made of one partial result for each block, added in block order; along a map each owner's rows are
// its members.
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatOps.h"
#include "Product/RegisterTiles.h"
#include "SweepEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;

namespace {

class OuterSumEmitter {
public:
  OuterSumEmitter(mpk::OuterSumOp op, const Processor &target, KernelBuilder &kernel)
      : op(op), kernel(kernel), b(kernel.builder()), loc(kernel.loc()),
        element(cast<RankedTensorType>(op.getResult().getType()).getElementType()), flat(b, loc, element, false),
        batch(op.getBatch()), k(op.getK()), n(op.getN()),
        tiles(n, target.registerBytes() * 8 / element.getIntOrFloatBitWidth(), target.registers()) {}

  void run();

private:
  scf::ForOp loop(Value from, Value to, int64_t step, ValueRange init = {}) {
    return scf::ForOp::create(b, loc, from, to, kernel.i64(step), init);
  }
  /// Calls `body(at)` for each of `count` tiles of `size` from `first` on: in a loop if there are several.
  void repeat(int64_t first, int64_t count, int64_t size, function_ref<void(Value)> body);
  struct Operand {
    Value base;
    FlatSymbolRefAttr gather;
    int64_t width;
  };
  /// Part number `part` of `parts`.
  struct Share {
    int64_t part = 0, parts = 0;
  };
  struct Tile {
    Value kAt, nAt;
    int64_t rows, columns;
    bool asksForRows = false; ///< whether it asks for the numbers of k that the next tile reads
    Share nextColumns;        ///< of what the next columns' tiles read, which this tile asks for
  };
  Value address(const Operand &of, Value position, Value number, Value offset);
  void emitTile(Value first, Value last, Value result, Value number, const Tile &tile);
  void prefetch(const Operand &of, Value position, Value number, Value next, int64_t count, Share share);
  void emitAll(Value first, Value last, Value result);
  Value rowOf(Value position, FlatSymbolRefAttr gather);

  mpk::OuterSumOp op;
  KernelBuilder &kernel;
  OpBuilder &b;
  Location loc;
  Type element;
  FlatOps flat;
  int64_t batch, k, n;
  RegisterTiles tiles;
  Operand lhs, rhs;
};

} // namespace

void OuterSumEmitter::repeat(int64_t first, int64_t count, int64_t size, function_ref<void(Value)> body) {
  if (count == 1)
    return body(kernel.i64(first));
  auto op = loop(kernel.i64(first), kernel.i64(first + count * size), size);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

/// The row of an operand at a position: of the grouping where there is one, else of the space.
Value OuterSumEmitter::rowOf(Value position, FlatSymbolRefAttr gather) {
  if (FlatSymbolRefAttr along = op.getAlongAttr())
    return kernel.loadIndex(gather ? kernel.index({IndexKind::Sorted, along, gather})
                                   : kernel.index({IndexKind::Members, along, {}}),
                            position);
  return gather ? kernel.loadIndex(kernel.index({IndexKind::Raw, gather, {}}), position) : position;
}

/// Where an operand's row at a position has a number of batch `number`.
Value OuterSumEmitter::address(const Operand &of, Value position, Value number, Value offset) {
  Value start = kernel.add(kernel.mul(rowOf(position, of.gather), batch * of.width), kernel.mul(number, of.width));
  return kernel.address(of.base, kernel.add(start, offset), element);
}

/// Asks for the numbers of a row that another tile reads, from number `next` on, or for some of their cache lines:
/// processors do so themselves only where rows follow one another closely. A block's rows of one tile stay in the cache
/// until it comes to them.
void OuterSumEmitter::prefetch(const Operand &of, Value position, Value number, Value next, int64_t count,
                               Share share) {
  constexpr int64_t kLine = 64, kNear = 1024;
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, lines = (count * bytes + kLine - 1) / kLine;
  if (share.parts == 0 || op.getAlongAttr() || (!of.gather && batch * of.width * bytes < kNear))
    return;
  Value row = address(of, position, number, next);
  // Of the first number's line the tile before has read a part, unless the number begins it.
  for (int64_t line = lines * share.part / share.parts; line < lines * (share.part + 1) / share.parts; ++line)
    LLVM::Prefetch::create(b, loc, kernel.address(row, kernel.i64(((line + 1) * kLine - 1) / bytes), element),
                           /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

void OuterSumEmitter::emitTile(Value first, Value last, Value result, Value number, const Tile &tile) {
  auto resultAt = [&](int64_t r) {
    Value row = kernel.add(kernel.mul(number, k), kernel.add(tile.kAt, kernel.i64(r)));
    return kernel.address(result, kernel.add(kernel.mul(row, n), tile.nAt), element);
  };
  SmallVector<Value> init(tile.rows, flat.splat(0, tile.columns));
  if (kernel.addsToPartials())
    for (int64_t r = 0; r < tile.rows; ++r)
      init[r] = kernel.load(flat.type(tile.columns), resultAt(r), element);
  auto sum = loop(first, last, 1, init);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(sum.getBody());
    Value position = sum.getInductionVar();
    prefetch(rhs, position, number, kernel.add(tile.nAt, kernel.i64(tile.columns)), tile.columns, tile.nextColumns);
    if (tile.asksForRows)
      prefetch(lhs, position, number, kernel.add(tile.kAt, kernel.i64(tile.rows)), tile.rows, {0, 1});
    Value x = address(lhs, position, number, tile.kAt);
    Value g = kernel.load(flat.type(tile.columns), address(rhs, position, number, tile.nAt), element);
    SmallVector<Value> next;
    for (auto [r, acc] : llvm::enumerate(sum.getRegionIterArgs())) {
      Value factor = kernel.load(element, kernel.address(x, kernel.i64(r), element), element);
      next.push_back(vector::FMAOp::create(b, loc, flat.splatOf(factor, tile.columns), g, acc));
    }
    scf::YieldOp::create(b, loc, next);
  }
  for (auto [r, acc] : llvm::enumerate(sum.getResults()))
    kernel.store(acc, resultAt(r), element);
}

void OuterSumEmitter::emitAll(Value first, Value last, Value result) {
  if (batch == 0)
    return;
  int64_t runsOfRows = 0;
  forEachEvenPart(k, tiles.rows(), [&](int64_t, int64_t, int64_t) { ++runsOfRows; });
  repeat(0, batch, 1, [&](Value number) {
    // All tiles of some columns, which stay in the nearest cache: a row has more of these than of k.
    tiles.forEach([&](int64_t nFirst, int64_t nCount, int64_t columns) {
      repeat(nFirst, nCount, columns, [&](Value nAt) {
        // Tiles are emitted by runs of equal ones. Those of the first run of columns ask for numbers of k, which the
        // others find in the cache. Beyond a row's end the next row's numbers are asked for, in vain.
        Share share{0, nFirst + columns < n ? runsOfRows : 0};
        forEachEvenPart(k, tiles.rows(), [&](int64_t kFirst, int64_t kCount, int64_t rows) {
          bool isLast = kFirst + kCount * rows == k && kCount == 1;
          repeat(kFirst, kCount, rows, [&](Value kAt) {
            emitTile(first, last, result, number, {kAt, nAt, rows, columns, nFirst == 0 && !isLast, share});
          });
          ++share.part;
        });
      });
    });
  });
}

void OuterSumEmitter::run() {
  lhs = {kernel.buffer(op.getLhs()), op.getGatherLhsAttr(), k};
  rhs = {kernel.buffer(op.getRhs()), op.getGatherRhsAttr(), n};
  Value result = kernel.buffer(op.getResult());
  if (!op.getAlongAttr())
    return emitAll(kernel.begin(), kernel.end(),
                   kernel.partial(op.getResult(), MergeKind::Sum, batch * k * n, element));
  auto owners = loop(kernel.begin(), kernel.end(), 1);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(owners.getBody());
  Value owner = owners.getInductionVar();
  Value pointers = kernel.index({IndexKind::Pointers, op.getAlongAttr(), {}});
  emitAll(kernel.loadIndex(pointers, owner), kernel.loadIndex(pointers, kernel.add(owner, kernel.i64(1))),
          kernel.address(result, kernel.mul(owner, batch * k * n), element));
}

void cpu::emitOuterRows(mpk::OuterSumOp sum, const Processor &target, KernelBuilder &kernel) {
  OuterSumEmitter(sum, target, kernel).run();
}

EmittedKernel cpu::emitOuterSum(mpk::OuterSumOp sum, StringRef name, const Processor &target, ModuleOp module) {
  KernelBuilder kernel(module, name, sum.getAlongAttr() ? StepKind::Sweep : StepKind::Rows, sum.getLoc(),
                       /*fixedRounding=*/false);
  kernel.getInfo().map = sum.getAlongAttr();
  kernel.getInfo().space = sum.getOverAttr();
  OuterSumEmitter(sum, target, kernel).run();
  return kernel.takeInfo();
}
