//===- ProductEmitter.cpp - Code for one matrix product -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// K and N are constants, so the product is emitted for its shape. A tile of R rows by C registers of the result lives
// in registers; each step of k loads C registers of the weight and multiplies them by R broadcast numbers of x:
//
//   for each block of R rows; for each tile of C registers:
//     acc[R][C] = 0;  for k: acc[r] += x[r][k] * w[k][columns];  y[r][columns] = acc[r]
//
// RegisterTiles.h says which R and C. Rows are rows of a space, gathered rows, or the rows of one group (members of the
// group's owner), so a row's address is computed once for each tile. An epilogue follows each few rows.
//
// Up to four columns behind the last whole eight would take as many operations as eight. They are inner products along
// k instead, of rows of x and columns of the weight, which are copied to lie together:
//
//   acc[R] = 0;  for each register of k: acc[r] += x[r][ks] * column[ks];  y[r][n] = sum over lanes of acc[r]
//
//===----------------------------------------------------------------------===//

#include "Flat/FlatOps.h"
#include "Product/RegisterTiles.h"
#include "SweepEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;

namespace {

/// Numbers of stack memory for rows that are converted before they are multiplied.
constexpr int64_t kMostWideRows = 32 << 10;
/// Bytes of a row that are asked for before it is multiplied: a longer one is found by the processor itself.
constexpr int64_t kMostAsked = 512, kLineBytes = 64;
/// Columns behind the last whole half register that are made as inner products, and how long these have to be.
constexpr int64_t kMostInner = 4, kLeastRegistersOfInner = 2, kMostCopied = 32 << 10;

class ProductEmitter {
public:
  /// `isKernel`: and not a part of another one, for a few rows at a time.
  ProductEmitter(mpk::ProductOp op, const Processor &target, KernelBuilder &kernel, bool isKernel)
      : op(op), target(target), kernel(kernel), b(kernel.builder()), loc(kernel.loc()),
        element(op.getRhs().getType().getElementType()), flat(b, loc, element, kernel.hasFixedRounding()),
        lanes(target.registerBytes() * 8 / element.getIntOrFloatBitWidth()), batch(op.getBatch()),
        perElement(op.getRows()), k(op.getK()), n(op.getN()), inner(countInner(isKernel)),
        tiles(n - inner, lanes, target.registers()) {}

  void run();

private:
  int64_t countInner(bool isKernel);
  void copyColumns();
  void emitInner(ArrayRef<Value> x, ArrayRef<Value> y, Value columns);
  void emitRows(Value first, Value last, int64_t rowCount, int64_t step);
  void emitTile(ArrayRef<Value> x, ArrayRef<Value> y, Value weight, Value column, int64_t columns);
  void storeTile(Value numbers, Value pointer);
  std::pair<Value, Value> rowPointers(Value row);
  void widenRow(Value from, Value to);
  void prefetch(Value row, Value last);
  scf::ForOp loop(Value from, Value to, int64_t step, ValueRange init = {}) {
    return scf::ForOp::create(b, loc, from, to, kernel.i64(step), init);
  }

  void emitRange(Value begin, Value end);
  void emitWithEpilogue();

  mpk::ProductOp op;
  const Processor &target;
  KernelBuilder &kernel;
  OpBuilder &b;
  Location loc;
  Type element;
  FlatOps flat;
  int64_t lanes, batch, perElement, k, n;
  int64_t inner; ///< last columns that are made as inner products
  RegisterTiles tiles;
  Value columns; ///< those of the weight, one after the other, for each number of the batch; null: none
  Value lhs, rhs, result;
  Value wideRows; ///< a tile's rows of x as they are computed with, where memory holds them narrower; null: read there
};

} // namespace

/// Where row `row` (an element of the space, or a position of the grouping, times rows for each) of x and y begins.
std::pair<Value, Value> ProductEmitter::rowPointers(Value row) {
  Value in = row, out = row;
  bool grouped = bool(op.getGroupAttr());
  auto divide = [&](Value value) -> std::pair<Value, Value> {
    if (perElement == 1)
      return {value, kernel.i64(0)};
    Value by = kernel.i64(perElement);
    return {arith::DivUIOp::create(b, loc, value, by), arith::RemUIOp::create(b, loc, value, by)};
  };
  if (grouped || op.getGatherAttr()) {
    auto [elementAt, sub] = divide(row);
    auto restore = [&](Value at) { return perElement == 1 ? at : kernel.add(kernel.mul(at, perElement), sub); };
    if (grouped) {
      out = restore(kernel.loadIndex(kernel.index({IndexKind::Members, op.getGroupAttr(), {}}), elementAt));
      in = op.getGatherAttr()
               ? restore(kernel.loadIndex(kernel.index({IndexKind::Sorted, op.getGroupAttr(), op.getGatherAttr()}),
                                          elementAt))
               : out;
    } else {
      in = restore(kernel.loadIndex(kernel.index({IndexKind::Raw, op.getGatherAttr(), {}}), elementAt));
    }
  }
  return {kernel.address(lhs, kernel.mul(in, batch * k), element),
          kernel.address(result, kernel.mul(out, batch * n), element)};
}

int64_t ProductEmitter::countInner(bool isKernel) {
  int64_t left = n % 8;
  // Weights of groups would be copied for each of them. Where every rounding counts, all columns are alike.
  bool isWorth = isKernel && !op.getGroupAttr() && !kernel.hasFixedRounding() && k >= kLeastRegistersOfInner * lanes &&
                 batch * left * k <= kMostCopied;
  return isWorth && left <= kMostInner ? left : 0;
}

void ProductEmitter::copyColumns() {
  columns = kernel.scratch(batch * inner * k, element);
  auto numbers = loop(kernel.i64(0), kernel.i64(batch), 1);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(numbers.getBody());
  Value number = numbers.getInductionVar();
  auto rows = loop(kernel.i64(0), kernel.i64(k), 1);
  b.setInsertionPointToStart(rows.getBody());
  Value row = rows.getInductionVar(), from = kernel.add(kernel.mul(number, k * n), kernel.mul(row, n));
  for (int64_t column = 0; column < inner; ++column) {
    Value to = kernel.add(kernel.mul(number, inner * k), kernel.add(row, kernel.i64(column * k)));
    Value weight = kernel.address(rhs, kernel.add(from, kernel.i64(n - inner + column)), element);
    kernel.store(kernel.load(element, weight, element), kernel.address(columns, to, element), element);
  }
}

/// The last columns of rows.
void ProductEmitter::emitInner(ArrayRef<Value> x, ArrayRef<Value> y, Value columns) {
  int64_t whole = k / lanes * lanes;
  for (int64_t column = 0; column < inner; ++column) {
    Value weight = kernel.address(columns, kernel.i64(column * k), element);
    auto step = [&](Value at, int64_t width, ValueRange sums) {
      Value w = kernel.load(flat.type(width), kernel.address(weight, at, element), element);
      SmallVector<Value> next;
      for (auto [i, pointer] : llvm::enumerate(x)) {
        Value numbers = kernel.load(flat.type(width), kernel.address(pointer, at, element), element);
        next.push_back(sums.empty() ? flat.mul(numbers, w) : vector::FMAOp::create(b, loc, numbers, w, sums[i]));
      }
      return next;
    };
    auto sum = loop(kernel.i64(0), kernel.i64(whole), lanes, SmallVector<Value>(x.size(), flat.splat(0, lanes)));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(sum.getBody());
      scf::YieldOp::create(b, loc, step(sum.getInductionVar(), lanes, sum.getRegionIterArgs()));
    }
    SmallVector<Value> rest;
    if (k > whole)
      rest = step(kernel.i64(whole), k - whole, {});
    auto add = [&](Value numbers) {
      return flat.fold(mpdfg::ReduceKind::Sum, numbers, {FlatOps::count(numbers)}, {0});
    };
    for (auto [i, pointer] : llvm::enumerate(y)) {
      Value made = add(sum.getResult(i));
      if (!rest.empty())
        made = flat.add(made, add(rest[i]));
      kernel.store(made, kernel.address(pointer, kernel.i64(n - inner + column), element), element);
    }
  }
}

void ProductEmitter::emitTile(ArrayRef<Value> x, ArrayRef<Value> y, Value weight, Value column, int64_t columns) {
  SmallVector<Value> init(x.size(), flat.splat(0, columns));
  auto sum = loop(kernel.i64(0), kernel.i64(k), 1, init);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(sum.getBody());
    Value step = sum.getInductionVar();
    Value w = kernel.load(flat.type(columns), kernel.address(weight, kernel.add(kernel.mul(step, n), column), element),
                          element);
    SmallVector<Value> next;
    for (auto [pointer, acc] : llvm::zip(x, sum.getRegionIterArgs())) {
      Value number = kernel.load(element, kernel.address(pointer, step, element), element);
      next.push_back(vector::FMAOp::create(b, loc, flat.splatOf(number, columns), w, acc));
    }
    scf::YieldOp::create(b, loc, next);
  }
  for (auto [pointer, acc] : llvm::zip(y, sum.getResults()))
    storeTile(acc, kernel.address(pointer, column, element));
}

/// Numbers of a row. Without registers of masks, some processors take as long for a masked store as for ten others,
/// and others have none.
void ProductEmitter::storeTile(Value numbers, Value pointer) {
  int64_t count = FlatOps::count(numbers), whole = count / lanes * lanes;
  if (target.hasMaskedStores() || count == whole || llvm::isPowerOf2_64(count - whole) ||
      kernel.heldAt(pointer, element) != element)
    return kernel.store(numbers, pointer, element);
  for (int64_t at = 0, size; at < count; at += size) {
    size = at < whole ? lanes : int64_t(llvm::bit_floor(uint64_t(count - at)));
    kernel.store(flat.slice(numbers, {count}, 0, at, size), kernel.address(pointer, kernel.i64(at), element), element);
  }
}

/// A row of x, from where memory holds it in 16 bits.
void ProductEmitter::widenRow(Value from, Value to) {
  int64_t count = batch * k, whole = count / lanes * lanes;
  auto copy = [&](Value at, int64_t width) {
    kernel.store(kernel.load(flat.type(width), kernel.address(from, at, element), element),
                 kernel.address(to, at, element), element);
  };
  if (whole > 0) {
    auto vectors = loop(kernel.i64(0), kernel.i64(whole), lanes);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(vectors.getBody());
    copy(vectors.getInductionVar(), lanes);
  }
  if (count > whole)
    copy(kernel.i64(whole), count - whole);
}

/// Asks for a row of x and the memory of its result. Those of a group lie anywhere: the group's elements are the ones
/// of a type, in the order of the space.
void ProductEmitter::prefetch(Value row, Value last) {
  Value final = arith::SubIOp::create(b, loc, last, kernel.i64(1));
  auto [in, out] = rowPointers(arith::MinSIOp::create(b, loc, row, final));
  for (auto [pointer, buffer, numbers, write] :
       {std::tuple(in, lhs, batch * k, 0), std::tuple(out, result, batch * n, 1)}) {
    int64_t bytes = kernel.heldAt(buffer, element).getIntOrFloatBitWidth() / 8;
    for (int64_t at = 0; at < std::min(numbers * bytes, kMostAsked); at += kLineBytes)
      LLVM::Prefetch::create(b, loc, kernel.address(pointer, kernel.i64(at / bytes), element), write, /*hint=*/3,
                             /*cache=*/1);
  }
}

/// Blocks of `rowCount` rows in [first, last), which holds a whole number of them.
void ProductEmitter::emitRows(Value first, Value last, int64_t rowCount, int64_t step) {
  auto blocks = loop(first, last, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(blocks.getBody());
  SmallVector<Value> x, y;
  for (int64_t r = 0; r < rowCount; ++r) {
    auto [in, out] = rowPointers(kernel.add(blocks.getInductionVar(), kernel.i64(r)));
    if (wideRows) {
      Value wide = kernel.address(wideRows, kernel.i64(r * batch * k), element);
      widenRow(in, wide);
      in = wide;
    }
    x.push_back(in);
    y.push_back(out);
  }
  if (op.getGroupAttr())
    for (int64_t r = 0; r < rowCount && rowCount > 1; ++r)
      prefetch(kernel.add(blocks.getInductionVar(), kernel.i64(rowCount + r)), last);
  auto inBatch = [&](Value number) {
    SmallVector<Value> xs, ys;
    for (auto [in, out] : llvm::zip(x, y)) {
      xs.push_back(kernel.address(in, kernel.mul(number, k), element));
      ys.push_back(kernel.address(out, kernel.mul(number, n), element));
    }
    Value weight = kernel.address(rhs, kernel.mul(number, k * n), element);
    tiles.forEach([&](int64_t first, int64_t count, int64_t columns) {
      if (count == 1)
        return emitTile(xs, ys, weight, kernel.i64(first), columns);
      auto equal = loop(kernel.i64(first), kernel.i64(first + count * columns), columns);
      OpBuilder::InsertionGuard inside(b);
      b.setInsertionPointToStart(equal.getBody());
      emitTile(xs, ys, weight, equal.getInductionVar(), columns);
    });
    if (inner > 0)
      emitInner(xs, ys, kernel.address(columns, kernel.mul(number, inner * k), element));
  };
  if (batch == 1)
    return inBatch(kernel.i64(0));
  auto batches = loop(kernel.i64(0), kernel.i64(batch), 1);
  b.setInsertionPointToStart(batches.getBody());
  inBatch(batches.getInductionVar());
}

/// The rows of the elements (of the space, or positions of the grouping) in [begin, end).
void ProductEmitter::emitRange(Value begin, Value end) {
  begin = kernel.mul(begin, perElement), end = kernel.mul(end, perElement);
  // Each number of x is broadcast once for each tile of columns: converting there would cost as much as multiplying.
  if (int64_t numbers = tiles.rows() * batch * k;
      !wideRows && kernel.heldAt(lhs, element) != element && numbers > 0 && numbers <= kMostWideRows)
    wideRows = kernel.scratch(numbers, element);
  // Whole tiles, then what is left in halves: a row by itself costs the weight's rows as much as a tile does.
  for (int64_t rows = tiles.rows();; rows = (rows + 1) / 2) {
    Value rest = arith::RemUIOp::create(b, loc, arith::SubIOp::create(b, loc, end, begin), kernel.i64(rows));
    Value middle = arith::SubIOp::create(b, loc, end, rest);
    emitRows(begin, middle, rows, rows);
    begin = middle;
    if (rows == 1)
      return;
  }
}

/// The epilogue is a sweep without members over a few rows at a time, which the first-level cache still has. The
/// product's own row is a result, or memory of its own.
void ProductEmitter::emitWithEpilogue() {
  Block &body = op.getEpilogue().front();
  auto yield = cast<mpk::YieldOp>(body.getTerminator());
  // Code for several levels is made at the same time, so nothing is added to the uses of the module's values.
  OwningOpRef<ModuleOp> holder = ModuleOp::create(loc);
  OpBuilder own = OpBuilder::atBlockEnd(holder->getBody());
  MLIRContext *context = op.getContext();
  SmallVector<Value> inputs;
  SmallVector<Attribute> access{mpk::AccessAttr::get(context, mpk::AccessKind::Owner)}, yields;
  auto rowType = cast<RankedTensorType>(body.getArgument(0).getType());
  inputs.push_back(holder->getBody()->addArgument(
      mpdfg::getTensorOn(op.getOverAttr(), ShapedType::kDynamic, rowType.getShape(), element), loc));
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    access.push_back(op.getAccessOf(i));
    if (auto degree = extra.getDefiningOp<mpdfg::DegreeOp>()) {
      inputs.push_back(mpdfg::DegreeOp::create(own, loc, extra.getType(), degree.getAlongAttr()));
      continue;
    }
    inputs.push_back(holder->getBody()->addArgument(extra.getType(), loc));
    kernel.setBuffer(inputs.back(), kernel.buffer(extra));
  }
  SmallVector<Type> types;
  SmallVector<unsigned> written; // by the sweep; the first result that is the row is written by the product
  Value kept;
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    Value buffer = kernel.buffer(op.getResult(i));
    // Where memory rounds it, the row that others are made of is another one.
    if (value == body.getArgument(0) && !kept && kernel.heldAt(buffer, element) == element) {
      kept = buffer;
      continue;
    }
    written.push_back(i);
    types.push_back(op.getResult(i).getType());
    yields.push_back(access.front());
  }
  auto sweep = mpk::SweepOp::create(own, loc, types, op.getOverAttr(), FlatSymbolRefAttr(), inputs,
                                    own.getArrayAttr(access), own.getArrayAttr(yields));
  IRMapping mapping;
  op.getEpilogue().cloneInto(&sweep.getBody(), mapping);
  SmallVector<Value> values;
  for (auto [result, i] : llvm::zip(sweep.getResults(), written)) {
    kernel.setBuffer(result, kernel.buffer(op.getResult(i)));
    values.push_back(mapping.lookup(yield.getValues()[i]));
  }
  sweep.getBody().front().getTerminator()->setOperands(values);

  int64_t width = batch * perElement * n, tile = tiles.rows();
  int64_t chunk = std::max<int64_t>(1, 4096 / std::max<int64_t>(width, 1) / tile) * tile;
  Value scratch = kept ? Value() : kernel.scratch(chunk * width, element);
  auto chunks = loop(kernel.begin(), kernel.end(), chunk);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(chunks.getBody());
  Value begin = chunks.getInductionVar();
  Value end = arith::MinSIOp::create(b, loc, kernel.add(begin, kernel.i64(chunk)), kernel.end());
  result = kept ? kept : kernel.address(scratch, kernel.mul(begin, -width), element);
  emitRange(begin, end);
  if (written.empty())
    return;
  kernel.setBuffer(inputs.front(), result);
  kernel.setRows(begin, end);
  emitRowsOf(sweep, target, kernel);
}

void ProductEmitter::run() {
  // In the order of operands and results, for every processor level the same.
  lhs = kernel.buffer(op.getLhs());
  rhs = kernel.buffer(op.getRhs());
  for (Value extra : op.getExtras())
    kernel.declare(extra);
  for (Value value : op.getResults())
    kernel.buffer(value);
  if (op.getGroupAttr())
    rhs = kernel.address(rhs, kernel.mul(kernel.owner(), batch * k * n), element);
  if (inner > 0)
    copyColumns();
  if (op.hasEpilogue())
    return emitWithEpilogue();
  result = kernel.buffer(op.getResult(0));
  emitRange(kernel.begin(), kernel.end());
}

void cpu::emitProductRows(mpk::ProductOp product, const Processor &target, KernelBuilder &kernel) {
  ProductEmitter(product, target, kernel, /*isKernel=*/false).run();
}

EmittedKernel cpu::emitProduct(mpk::ProductOp product, StringRef name, const Processor &target, ModuleOp module,
                               bool fixedRounding) {
  KernelBuilder kernel(module, name, product.getGroupAttr() ? StepKind::Grouped : StepKind::Rows, product.getLoc(),
                       fixedRounding);
  kernel.getInfo().map = product.getGroupAttr();
  kernel.getInfo().space = product.getOverAttr();
  ProductEmitter(product, target, kernel, /*isKernel=*/true).run();
  return kernel.takeInfo();
}
