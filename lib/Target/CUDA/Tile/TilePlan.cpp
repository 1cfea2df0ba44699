//===- TilePlan.cpp - What is done with a tile of members -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/TilePlan.h"
#include "Body/NumberPrinter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

namespace {

constexpr int64_t kMostTileRows = 128, kLeastTileRows = 32;
/// Shared memory of a processor, and what the system takes of it for each block.
constexpr int64_t kProcessor = 221 << 10, kReserved = 1 << 10;
/// Weights that stay there, in both parts: all that there is room for beside as many rows of as many blocks, or less.
constexpr int64_t kMostResident[] = {96 << 10, 48 << 10};
/// Numbers of outer sums that a thread keeps.
constexpr int64_t kMostHeld = 64;
/// The same where a processor has more than two blocks, with 64 or 80 registers a thread.
constexpr int64_t kMostHeldByMany = 8;
/// Rows of so many numbers are held by one thread: its fused multiply-adds are fewer than what tensor cores take to
/// bring such rows into their form, and no warp waits for another. On an H100 networks of 3 and 4 numbers take 0.4 of
/// their time so, and ones of 16 numbers, of which each thread would gather a row of its own, up to 1.75 times theirs.
constexpr int64_t kWidestOfThread = 8;
/// Operations of a row's number that a fold makes of rows that are there, instead of rows of its own.
constexpr int64_t kFewSteps = 4;
/// Threads for a sum over a row's numbers: neighbours read from different banks.
constexpr int64_t kLanesOfSum = 8, kLeastTerms = 32;
/// Rows that the same threads add up one after the other, at least: two parts of each such strip lie in shared memory,
/// and are added up once more. Before strips become as short as that, each access to a row has a thread of its own.
constexpr int64_t kLeastStrip = 2, kShortStrip = 4;
/// Values that are looked at to find whose place rows may take.
constexpr size_t kMostReads = 256;
/// A costly number that so many numbers are made of is made once.
constexpr int64_t kManyTimes = 8;

} // namespace

Value TilePlan::root(Value value) { return NumberPrinter::root(value); }

TilePlan::Factors TilePlan::factorsOf(ContractOp contract) {
  // Labels are in the order batch or m, then k, of the first operand; see mpk::kTileAttr.
  ArrayRef<int64_t> x = contract.getLhsLabels(), w = contract.getRhsLabels(), y = contract.getOutLabels();
  ArrayRef<int64_t> xShape = getFeatureShape(contract.getLhs().getType()),
                    wShape = getFeatureShape(contract.getRhs().getType()), yShape = getFeatureShape(contract.getType());
  Factors factors;
  bool isOuter = llvm::all_of(x, [&](int64_t label) { return llvm::is_contained(y, label); });
  size_t first = 0;
  while (first < x.size() && llvm::is_contained(y, x[first]) && (!isOuter || llvm::is_contained(w, x[first])))
    ++first;
  factors.slices = RefTensor::product(xShape.take_front(first));
  factors.k = RefTensor::product(xShape.drop_front(first));
  factors.batched = first > 0 && llvm::is_contained(w, x.front());
  factors.n = isOuter ? RefTensor::product(wShape.drop_front(first)) : RefTensor::product(yShape.drop_front(first));
  return factors;
}

const TileRows *TilePlan::rowsOf(Value value) const {
  auto it = rows.find(root(value));
  return it == rows.end() ? nullptr : &it->second;
}

TilePlan::TilePlan(mpk::SweepOp sweep, bool onTensorCores, int64_t sharedBytes)
    : sweep(sweep), onTensorCores(onTensorCores), levels(mpk::computeLevels(sweep)),
      tileLevel(sweep.getAlongAttr() ? Level::Member : Level::Owner) {
  elementBytes = getElementType(sweep.getResult(0).getType()).getElementTypeBitWidth() / 8;
  findSteps();
  // Owners, members, and one array for each further map.
  llvm::SetVector<Attribute> maps;
  for (unsigned i = 0; i < sweep.getInputs().size(); ++i)
    maps.insert(sweep.getAccessOf(i));
  numArrays = 2 + maps.size();
  if (!possible)
    return;
  auto fits = [&](int64_t count, int64_t rows, bool together) {
    tileRows = rows, blocks = count, joinsSums = together;
    if (count > 2 && held > kMostHeldByMany)
      return false;
    // Rows padded to one size can share places in memory; rows of their least lengths may not fit into each other's.
    for (int64_t most : kMostResident)
      for (bool alike : {false, true}) {
        mostResident = most, haveOneSize = alike;
        allocate(rows);
        if (bytesWith(rows) <= std::min(kProcessor / count - kReserved, sharedBytes))
          return true;
      }
    return false;
  };
  if (isNarrow()) {
    byThreads = true, threads = kMostTileRows;
    for (bool together : {true, false})
      for (int64_t count : {10, 8, 6, 4})
        if (fits(count, kMostTileRows, together))
          return;
    byThreads = false, threads = 256;
  }
  // Steps wait for memory and for each other at barriers, so a processor has several blocks; short tiles have as many
  // barriers for fewer rows, and do not make up for that by more blocks. Sums that are taken together have fewer
  // barriers, and need more room.
  for (bool together : {true, false})
    for (int64_t count : {4, 3, 2})
      if (fits(count, kMostTileRows, together))
        return;
  for (int64_t count : {2, 1})
    for (int64_t rows = count == 2 ? kMostTileRows / 2 : kMostTileRows; rows >= kLeastTileRows; rows /= 2)
      for (bool together : {true, false})
        if (fits(count, rows, together))
          return;
  possible = false;
}

int64_t TilePlan::bytesWith(int64_t count) const {
  return llvm::alignTo(places, 4) * elementBytes + (numArrays + 3) * count * 4 + 64;
}

bool TilePlan::isNarrow() const {
  return llvm::all_of(rows, [](const auto &entry) { return entry.second.width <= kWidestOfThread; });
}

int64_t TilePlan::lanesOf(Value value) const {
  Operation *op = root(value).getDefiningOp();
  int64_t terms = 0;
  if (auto fold = dyn_cast_or_null<FoldOp>(op)) {
    terms = getFeatureElements(fold.getInput().getType()) / getFeatureElements(fold.getType());
  } else if (auto contract = dyn_cast_or_null<ContractOp>(op)) {
    terms = 1;
    for (auto [label, size] : llvm::zip(contract.getLhsLabels(), getFeatureShape(contract.getLhs().getType())))
      terms *= llvm::is_contained(contract.getOutLabels(), label) ? 1 : size;
  }
  if (byThreads)
    return 1;
  return terms >= kLeastTerms ? kLanesOfSum : 1;
}

bool TilePlan::followsInThread(int number) const {
  auto isOwn = [&](int at) {
    return at >= 0 && at < int(steps.size()) &&
           (steps[at].kind == TileStep::Make || steps[at].kind == TileStep::Product);
  };
  return byThreads && isOwn(number - 1) && isOwn(number);
}

/// Strides whose rows lie in different banks for those who read them.
int64_t TilePlan::strideOf(const TileRows &made, bool isFactor) const {
  if (byThreads) { // Accesses of 16 bytes, if the row consists of such.
    int64_t vector = vectorOf(made.width);
    return vector * (made.width / vector | 1);
  }
  if (!onTensorCores)
    return isFactor ? llvm::alignTo(made.width, 16) + 8 : llvm::alignTo(made.width, 8) + 4;
  // Lanes 4 g + t read numbers 2 t and 2 t + 1 of row g (MatrixUnits.cuh), or of a factor number g of row t: from
  // different banks if a row is 8 longer than a multiple of 16.
  return llvm::alignTo(std::max<int64_t>(made.width, 8) - 8, 16) + 8;
}

bool TilePlan::joinsSum(int number) const {
  auto isSum = [&](int at) { return at >= 0 && at < int(steps.size()) && steps[at].kind == TileStep::Sum; };
  return joinsSums && isSum(number - 1) && isSum(number) &&
         getFeatureElements(steps[number - 1].value.getType()) == getFeatureElements(steps[number].value.getType());
}

/// Whether each of several numbers would compute the value's number anew: the mean of a norm, for the row's features.
bool TilePlan::isRepeated(Value value) const {
  int64_t numbers = getFeatureElements(value.getType());
  SmallVector<Value> pending{value};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value at = pending.pop_back_val();
    if (!seen.insert(at).second)
      continue;
    for (Operation *user : at.getUsers()) {
      if (user->getNumResults() != 1 || isa<mpk::AccumulateOp>(user))
        continue;
      int64_t after = getFeatureElements(user->getResult(0).getType());
      if (after > numbers)
        return true;
      if (after == numbers)
        pending.push_back(user->getResult(0));
    }
  }
  return false;
}

/// How many numbers at most are made of one of the value's.
int64_t TilePlan::timesRepeated(Value value) {
  if (auto it = repeated.find(value); it != repeated.end())
    return it->second;
  int64_t numbers = getFeatureElements(value.getType()), most = 1;
  for (Operation *user : value.getUsers()) {
    if (user->getNumResults() != 1 || !isa<UnaryOp, BinaryOp, SelectOp, ReshapeOp>(user))
      continue;
    Value result = user->getResult(0);
    int64_t after = getFeatureElements(result.getType());
    most = std::max(most, after == numbers ? timesRepeated(result) : after / numbers);
  }
  repeated[value] = most;
  return most;
}

/// Roots, divisions and functions: some twenty instructions.
static bool isCostly(Operation *op) {
  if (auto binary = dyn_cast<BinaryOp>(op))
    return binary.getKind() == BinaryKind::Div || binary.getKind() == BinaryKind::Pow;
  auto unary = dyn_cast<UnaryOp>(op);
  static constexpr UnaryKind kRoots[] = {UnaryKind::Sqrt, UnaryKind::Rsqrt, UnaryKind::Recip};
  return unary &&
         (llvm::is_contained(kRoots, unary.getKind()) || unary.flopsPerRow() > 2 * getFeatureElements(unary.getType()));
}

/// Whether a fold reads each number of its operand once, and the operand is quickly made of rows that are there: the
/// squares of a variance. Operands in memory are read by neighbouring threads, which a fold would not do.
bool TilePlan::foldsOnce(Operation *op) const {
  auto fold = dyn_cast<FoldOp>(op);
  static constexpr ReduceKind kKinds[] = {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min};
  if (!fold || !llvm::is_contained(kKinds, fold.getKind()) || !root(fold.getInput()).hasOneUse())
    return false;
  int64_t steps = 0;
  SmallVector<Value> pending{fold.getInput()};
  while (!pending.empty()) {
    Value value = root(pending.pop_back_val());
    if (!isOfTile(value) || rows.contains(value))
      continue;
    Operation *made = value.getDefiningOp();
    if (!made || !isa<UnaryOp, BinaryOp>(made) || ++steps > kFewSteps)
      return false;
    llvm::append_range(pending, made->getOperands());
  }
  return steps > 0;
}

/// Rows of a value are made, if they are not there already.
void TilePlan::makeRows(Value value) {
  value = root(value);
  auto [it, isNew] = rows.try_emplace(value);
  if (!isNew)
    return;
  it->second.width = getFeatureElements(value.getType());
  it->second.first = it->second.last = steps.size();
  steps.push_back({TileStep::Make, value});
}

void TilePlan::findSteps() {
  possible = bool(sweep.getOverAttr());
  auto yield = cast<mpk::YieldOp>(sweep.getBody().front().getTerminator());
  bool along = bool(sweep.getAlongAttr());
  auto resultOf = [&](Value value) -> int {
    auto it = llvm::find(yield.getValues(), value);
    return it == yield.getValues().end() ? -1 : it - yield.getValues().begin();
  };
  bool hasTiles = false;
  for (Operation &op : sweep.getBody().front().without_terminator()) {
    if (isa<mpk::SoftmaxOp, ExtentOp>(op))
      possible &= !isa<mpk::SoftmaxOp>(op);
    if (op.getNumResults() != 1)
      possible = false;
    if (!possible)
      return;
    if (auto accumulate = dyn_cast<mpk::AccumulateOp>(op)) {
      int result = resultOf(accumulate.getResult());
      ReduceKind kind = accumulate.getKind();
      bool names = kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin;
      // What is made of an accumulation has a sweep of its own.
      possible &= result >= 0 && !isStatistic(kind) && accumulate->getNumResults() == 1;
      for (Operation *user : accumulate->getUsers())
        possible &= user == yield;
      bool most = kind == ReduceKind::Max || kind == ReduceKind::ArgMax,
           least = kind == ReduceKind::Min || kind == ReduceKind::ArgMin;
      if (accumulate.getShared()) {
        // Of members there is no sum over everything but by way of owners.
        possible &= !along && !names && !most && !least;
        auto contract = accumulate.getInput().getDefiningOp<ContractOp>();
        if (contract && mpk::isTiled(contract) && isOfTile(contract.getRhs())) {
          Factors factors = factorsOf(contract);
          held += llvm::divideCeil(llvm::alignTo(factors.k, 16) * llvm::alignTo(factors.n, 8) * factors.slices, 256);
          possible &= held <= kMostHeld;
          steps.push_back({TileStep::Outer, accumulate.getResult(), contract, unsigned(result)});
        } else {
          steps.push_back({TileStep::Total, accumulate.getInput(), {}, unsigned(result), accumulate});
        }
        continue;
      }
      possible &= along;
      auto alike = llvm::find_if(steps, [&](const TileStep &step) {
        if (step.kind != TileStep::Sum || step.value != accumulate.getInput())
          return false;
        mpk::AccumulateOp other = step.number ? step.number : step.winner;
        ReduceKind theirs = other.getKind();
        bool pairs = most    ? theirs == ReduceKind::Max || theirs == ReduceKind::ArgMax
                     : least ? theirs == ReduceKind::Min || theirs == ReduceKind::ArgMin
                             : false;
        return pairs && !(names ? step.winner : step.number);
      });
      if (alike == steps.end()) {
        steps.push_back({TileStep::Sum, accumulate.getInput()});
        alike = std::prev(steps.end());
      }
      (names ? alike->winner : alike->number) = accumulate;
      continue;
    }
    if (!isOfTile(op.getResult(0)))
      continue;
    auto contract = dyn_cast<ContractOp>(op);
    if (contract && mpk::isTiled(contract)) {
      hasTiles = true;
      makeRows(contract.getLhs());
      if (isOfTile(contract.getRhs())) { // The accumulation multiplies them.
        makeRows(contract.getRhs());
        possible &= contract->hasOneUse() && isa<mpk::AccumulateOp>(*contract->user_begin());
        continue;
      }
      possible &= isa<BlockArgument>(contract.getRhs());
      TileRows &made = rows[contract.getResult()];
      made.width = getFeatureElements(contract.getType());
      made.first = made.last = steps.size();
      steps.push_back({TileStep::Product, contract.getResult(), contract});
      continue;
    }
    // What is read many times, or by other threads, is made once.
    bool sums = isa<FoldOp>(op) || (contract && llvm::any_of(contract.getLhsLabels(), [&](int64_t label) {
                                      return !llvm::is_contained(contract.getOutLabels(), label);
                                    }));
    if (sums && !foldsOnce(&op))
      for (Value operand : op.getOperands())
        if (isOfTile(operand) && !isa<BlockArgument>(root(operand)) &&
            !isa<ConstantOp, IotaOp>(root(operand).getDefiningOp()))
          makeRows(operand);
    if (sums ? isRepeated(op.getResult(0)) || lanesOf(op.getResult(0)) > 1
             : isCostly(&op) && timesRepeated(op.getResult(0)) >= kManyTimes)
      makeRows(op.getResult(0));
  }
  // Results come last: they may take the place of an operand.
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    AccessKind kind = sweep.getYieldOf(i).getKind();
    if (kind == (along ? AccessKind::Member : AccessKind::Owner))
      steps.push_back({TileStep::Store, value, {}, unsigned(i)});
    else
      possible &= bool(value.getDefiningOp<mpk::AccumulateOp>());
  }
  possible &= hasTiles;
  delaySums();
}

/// Sums come when the rows are there that others make of their values.
void TilePlan::delaySums() {
  std::vector<TileStep> found = std::move(steps), waiting;
  steps.clear();
  DenseSet<Value> made;
  auto isReady = [&](const TileStep &step) {
    SmallVector<Value> pending{step.value};
    DenseSet<Value> seen;
    while (!pending.empty()) {
      Value value = root(pending.pop_back_val());
      if (!seen.insert(value).second)
        continue;
      if (rows.contains(value)) {
        if (!made.contains(value))
          return false;
        continue;
      }
      if (Operation *op = value.getDefiningOp())
        llvm::append_range(pending, op->getOperands());
    }
    return true;
  };
  for (const TileStep &step : found) {
    if (step.kind == TileStep::Sum || step.kind == TileStep::Total) {
      waiting.push_back(step);
    } else {
      if (step.kind == TileStep::Make || step.kind == TileStep::Product) {
        rows[step.value].first = steps.size();
        made.insert(step.value);
      }
      // Results come last.
      if (step.kind == TileStep::Store)
        llvm::append_range(steps, std::exchange(waiting, {}));
      steps.push_back(step);
    }
    for (size_t i = 0; i < waiting.size();)
      if (isReady(waiting[i])) {
        steps.push_back(waiting[i]);
        waiting.erase(waiting.begin() + i);
      } else {
        ++i;
      }
  }
  llvm::append_range(steps, waiting);
}

/// Rows that a step's own may lie over: it is the last one that reads them, and each number at its own place alone, so
/// the thread that writes it has read it. Null: none.
TileRows *TilePlan::findReplaced(Value value, const TileRows &made) {
  if (byThreads || steps[made.first].kind != TileStep::Make)
    return nullptr;
  TileRows *best = nullptr;
  SmallVector<TileRows *> elsewhere; // read at other places too
  std::vector<std::pair<Value, bool>> reads{{value, true}};
  for (size_t i = 0; i < reads.size(); ++i) {
    auto [at, isOwn] = reads[i];
    at = root(at);
    auto it = rows.find(at);
    if (at != value && it != rows.end() && it->second.first < made.first) {
      if (!isOwn)
        elsewhere.push_back(&it->second);
      else if (it->second.last == made.first && it->second.width == made.width)
        best = &it->second;
      continue;
    }
    Operation *op = at.getDefiningOp();
    if (!op || isa<mpk::AccumulateOp>(op))
      continue;
    auto contract = dyn_cast<ContractOp>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      bool isSame =
          isa<UnaryOp, BinaryOp, SelectOp>(op)
              ? getFeatureShape(operand.get().getType()) == getFeatureShape(at.getType())
              : contract && contract.getOutLabels() ==
                                (operand.getOperandNumber() == 0 ? contract.getLhsLabels() : contract.getRhsLabels());
      reads.push_back({operand.get(), isOwn && isSame});
      if (reads.size() > kMostReads)
        return nullptr;
    }
  }
  return llvm::is_contained(elsewhere, best) ? nullptr : best;
}

/// Values whose rows a step reads: it computes through everything that has no rows of its own.
SmallVector<Value> TilePlan::rowsReadBy(int number) const {
  const TileStep &step = steps[number];
  SmallVector<Value> pending, found;
  if (step.kind == TileStep::Outer || step.kind == TileStep::Product)
    llvm::append_range(pending, step.contract->getOperands());
  else
    pending.push_back(step.value);
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = root(pending.pop_back_val());
    if (!seen.insert(value).second)
      continue;
    if (rowsBefore(number, value))
      found.push_back(value);
    else if (Operation *op = value.getDefiningOp(); op && !isa<mpk::AccumulateOp>(op))
      llvm::append_range(pending, op->getOperands());
  }
  return found;
}

/// Before a tile's first step all threads have met. Sums meet by themselves, and hold places of their own; what is
/// stored may lie where operands do that other threads have yet to read.
BitVector TilePlan::stepsAfterBarriers() const {
  BitVector barriers(steps.size());
  SmallVector<const TileRows *> read, written; // since then
  auto overlaps = [&](const TileRows &one, ArrayRef<const TileRows *> others) {
    auto end = [&](const TileRows &of) { return of.place + tileRows * of.stride; };
    return llvm::any_of(others,
                        [&](const TileRows *other) { return one.place < end(*other) && other->place < end(one); });
  };
  for (int number = 0; number < int(steps.size()); ++number) {
    auto kind = steps[number].kind;
    SmallVector<const TileRows *> reads;
    for (Value value : rowsReadBy(number))
      reads.push_back(rowsOf(value));
    const TileRows *writes =
        kind == TileStep::Make || kind == TileStep::Product ? rowsOf(steps[number].value) : nullptr;
    bool meets = kind == TileStep::Sum || kind == TileStep::Store ||
                 (number > 0 && steps[number - 1].kind == TileStep::Sum) ||
                 (writes && (overlaps(*writes, read) || overlaps(*writes, written))) ||
                 llvm::any_of(reads, [&](const TileRows *of) { return overlaps(*of, written); });
    if (byThreads)
      meets = !followsInThread(number);
    if (number > 0 && meets) {
      barriers.set(number);
      read.clear(), written.clear();
    }
    read.append(reads);
    if (writes)
      written.push_back(writes);
  }
  return barriers;
}

int64_t TilePlan::vectorOf(int64_t width) const {
  int64_t most = 16 / elementBytes;
  while (width % most)
    most /= 2;
  return most;
}

TilePlan::Strips TilePlan::stripsOf(int64_t width) const {
  // As kernels share rows that they make (lanesOfAccesses of TileRows.cuh), as long as that leaves no thread idle: the
  // rows of a tile are read by all threads at once, or by few of them one after the other.
  int64_t vector = vectorOf(width), accesses = width / vector,
          most = std::min<int64_t>(32, llvm::PowerOf2Ceil(accesses)), lanes = most;
  auto slots = [&](int64_t lanes) { return llvm::alignTo(accesses, lanes); };
  constexpr int64_t kNumbersAtOnce = 16;
  for (int64_t fewer = most / 2;
       fewer * vector >= 8 && int64_t(llvm::divideCeil(accesses, fewer)) * vector <= kNumbersAtOnce; fewer /= 2)
    if (slots(fewer) < slots(lanes))
      lanes = fewer;
  while (lanes < most && tileRows / kShortStrip * lanes < threads)
    lanes *= 2;
  return {vector, lanes, std::clamp<int64_t>(tileRows * lanes / threads, kLeastStrip, 32)};
}

/// Gives everything a place for tiles of `count` rows.
void TilePlan::allocate(int64_t count) {
  // Who reads rows last.
  for (auto &[value, made] : rows)
    made.last = made.first;
  for (int number = 0; number < int(steps.size()); ++number) {
    int last = number;
    while (joinsSum(last + 1))
      ++last;
    for (Value value : rowsReadBy(number)) {
      TileRows &read = rows[value];
      read.last = std::max(read.last, last);
    }
  }
  DenseSet<Value> factors;
  for (const TileStep &step : steps)
    if (step.kind == TileStep::Outer)
      for (Value factor : step.contract->getOperands())
        factors.insert(root(factor));
  for (auto &[value, made] : rows)
    made.stride = strideOf(made, factors.contains(value));
  for (bool isDone = false; !std::exchange(isDone, true);)
    for (auto &[value, made] : rows)
      if (TileRows *replaced = findReplaced(value, made); replaced && replaced->stride != made.stride) {
        replaced->stride = made.stride = std::max(replaced->stride, made.stride);
        isDone = false;
      }

  int64_t next = 0;
  parts.assign(steps.size(), -1);
  sums.assign(steps.size(), {});
  slotWords = 0;
  int64_t resident = 0;
  for (auto [number, step] : llvm::enumerate(steps)) {
    if (step.kind == TileStep::Product && (onTensorCores || byThreads)) {
      Factors factors = factorsOf(step.contract);
      int64_t weights = factors.batched ? factors.slices : 1;
      int64_t numbers = weights * (byThreads ? factors.k * llvm::alignTo(factors.n, 4)
                                             : llvm::alignTo(factors.k, 8) * (2 * llvm::alignTo(factors.n, 8) + 4));
      if (!byThreads && (resident + numbers) * elementBytes > mostResident)
        continue;
      resident += numbers;
      parts[number] = next;
      next += numbers;
    }
    int64_t width = getFeatureElements(step.value.getType());
    if (step.kind == TileStep::Sum) {
      SumPlaces &own = sums[number];
      own.carry = next, next += llvm::alignTo(2 * width, 4);
      own.word = slotWords, slotWords += width;
      if (step.winner) {
        own.namesCarry = next, next += llvm::alignTo(2 * width, 4);
        own.namesWord = slotWords, slotWords += width;
      }
    }
    if (step.kind == TileStep::Total || step.kind == TileStep::Outer)
      sums[number].word = slotWords, slotWords += width;
  }
  // First fit among the rows that are alive at the same time. Between threads with rows of their own there is no
  // barrier: they write over their own rows alone, where these lay at the same place.
  struct Taken {
    int64_t at, size, stride;
    int first, last;
  };
  std::vector<Taken> taken;
  places = next;
  int64_t oneSize = 0; // of all rows, if they have one
  for (auto &[value, made] : rows)
    oneSize = haveOneSize ? std::max(oneSize, count * made.stride) : 0;
  auto place = [&](int64_t size, int64_t stride, int first, int last) {
    size = llvm::alignTo(size, 4);
    int64_t at = llvm::alignTo(next, 4);
    auto isInTheWay = [&](const Taken &other) {
      if (at >= other.at + other.size || other.at >= at + size)
        return false;
      bool isOwn = byThreads && other.at == at && other.stride == stride && stride > 0;
      // A row is made before it is written, so it may take the place of one that it is made of.
      int from = isOwn && steps[first].kind == TileStep::Make ? first + 1 : first;
      return (byThreads && !isOwn) || (other.first <= last && from <= other.last);
    };
    while (true) {
      auto found = llvm::find_if(taken, isInTheWay);
      if (found == taken.end())
        break;
      at = found->at + found->size;
    }
    taken.push_back({at, size, stride, first, last});
    places = std::max(places, at + size);
    return at;
  };
  for (auto [number, step] : llvm::enumerate(steps)) {
    for (auto &[value, made] : rows)
      if (made.first == int(number)) {
        const TileRows *replaced = findReplaced(value, made);
        if (replaced) {
          made.place = replaced->place;
          taken.push_back(
              {made.place, int64_t(llvm::alignTo(count * made.stride, 4)), made.stride, made.first, made.last});
        } else {
          made.place = place(std::max(oneSize, count * made.stride), made.stride, made.first, made.last);
        }
      }
    int64_t width = getFeatureElements(step.value.getType());
    if (step.kind == TileStep::Sum) {
      int first = number, last = number;
      while (joinsSum(first))
        --first;
      while (joinsSum(last + 1))
        ++last;
      int64_t parts = 2 * llvm::divideCeil(count, stripsOf(width).rows);
      sums[number].parts = place(parts * width, 0, first, last);
      if (step.winner)
        sums[number].names = place(parts * width, 0, first, last);
    }
    if (step.kind == TileStep::Total) // When all is over; see leaveTotals.
      places = std::max(places, threads / std::min<int64_t>(32, llvm::PowerOf2Ceil(width)) * width);
  }
}
