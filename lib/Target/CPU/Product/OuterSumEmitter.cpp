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
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;

namespace {

class OuterSumEmitter {
public:
  OuterSumEmitter(mpk::OuterSumOp op, const CPUTarget &target, KernelBuilder &kernel)
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
  void emitTile(Value first, Value last, Value result, Value number, Value kAt, int64_t rows, Value nAt,
                int64_t columns);
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
  Value lhs, rhs;
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

void OuterSumEmitter::emitTile(Value first, Value last, Value result, Value number, Value kAt, int64_t rows, Value nAt,
                               int64_t columns) {
  auto resultAt = [&](int64_t r) {
    Value row = kernel.add(kernel.mul(number, k), kernel.add(kAt, kernel.i64(r)));
    return kernel.address(result, kernel.add(kernel.mul(row, n), nAt), element);
  };
  SmallVector<Value> init(rows, flat.splat(0, columns));
  if (kernel.addsToPartials())
    for (int64_t r = 0; r < rows; ++r)
      init[r] = kernel.load(flat.type(columns), resultAt(r), element);
  auto sum = loop(first, last, 1, init);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(sum.getBody());
    Value position = sum.getInductionVar();
    auto at = [&](Value base, FlatSymbolRefAttr gather, int64_t width, Value offset) {
      Value start = kernel.add(kernel.mul(rowOf(position, gather), batch * width), kernel.mul(number, width));
      return kernel.address(base, kernel.add(start, offset), element);
    };
    Value x = at(lhs, op.getGatherLhsAttr(), k, kAt);
    Value g = kernel.load(flat.type(columns), at(rhs, op.getGatherRhsAttr(), n, nAt), element);
    SmallVector<Value> next;
    for (auto [r, acc] : llvm::enumerate(sum.getRegionIterArgs())) {
      Value factor = kernel.load(element, kernel.address(x, kernel.i64(r), element), element);
      next.push_back(vector::FMAOp::create(b, loc, flat.splatOf(factor, columns), g, acc));
    }
    scf::YieldOp::create(b, loc, next);
  }
  for (auto [r, acc] : llvm::enumerate(sum.getResults()))
    kernel.store(acc, resultAt(r), element);
}

void OuterSumEmitter::emitAll(Value first, Value last, Value result) {
  if (batch == 0)
    return;
  repeat(0, batch, 1, [&](Value number) {
    // All tiles of some columns, which stay in the nearest cache: a row has more of these than of k.
    tiles.forEach([&](int64_t nFirst, int64_t nCount, int64_t columns) {
      repeat(nFirst, nCount, columns, [&](Value nAt) {
        forEachEvenPart(k, tiles.rows(), [&](int64_t kFirst, int64_t kCount, int64_t rows) {
          repeat(kFirst, kCount, rows,
                 [&](Value kAt) { emitTile(first, last, result, number, kAt, rows, nAt, columns); });
        });
      });
    });
  });
}

void OuterSumEmitter::run() {
  lhs = kernel.buffer(op.getLhs());
  rhs = kernel.buffer(op.getRhs());
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

void cpu::emitOuterRows(mpk::OuterSumOp sum, const CPUTarget &target, KernelBuilder &kernel) {
  OuterSumEmitter(sum, target, kernel).run();
}

EmittedKernel cpu::emitOuterSum(mpk::OuterSumOp sum, StringRef name, const CPUTarget &target, ModuleOp module) {
  KernelBuilder kernel(module, name, sum.getAlongAttr() ? StepKind::Sweep : StepKind::Rows, sum.getLoc(),
                       /*fixedRounding=*/false);
  kernel.getInfo().map = sum.getAlongAttr();
  kernel.getInfo().space = sum.getOverAttr();
  OuterSumEmitter(sum, target, kernel).run();
  return kernel.takeInfo();
}
