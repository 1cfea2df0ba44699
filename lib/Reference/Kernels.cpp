//===- Kernels.cpp - The meaning of sweeps and products -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sweep's body says what happens for one owner and one member. Here it is evaluated once, on tensors that hold every
// owner or every member: a member-level value has a row for each element of the members' space, an owner-level value a
// row for each owner. Where an owner-level value meets a member, its rows are moved to the members first. Reductions
// are written out here instead of calling those of mpdfg, so that the two check each other.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "dialects/mpdfg/IR/Pairs.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpk;
using namespace gnnc::reference;
using llvm::Error;
using llvm::Expected;
using mpdfg::ReduceKind;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kLargest = std::numeric_limits<double>::max();

/// x[index[i]] for each i; `fill` where index[i] is -1.
RefTensor gatherRows(const RefTensor &x, ArrayRef<int64_t> index, double fill) {
  RefTensor result(false, int64_t(index.size()), x.dims, fill);
  for (auto [i, j] : llvm::enumerate(index))
    if (j >= 0)
      std::copy_n(x.row(j), x.width(), result.row(i));
  return result;
}

/// Orders by which a maximum and a minimum are the largest: what is not a number is above all.
bool isLess(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
bool isMore(double a, double b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

/// The largest number, or the finite one next to it; what is not a number does not count.
double shiftOf(ArrayRef<double> numbers) {
  double shift = -kLargest;
  for (double x : numbers)
    if (x > shift)
      shift = std::min(x, kLargest);
  return shift;
}

/// The sum of exp(x - shift).
double sumOfExp(ArrayRef<double> numbers, double shift) {
  double sum = 0;
  for (double x : numbers)
    sum += std::exp(x - shift);
  return sum;
}

/// What a list of numbers combines to; `names` are the elements they belong to. An empty list gives 0, no element (-1)
/// for the winner of a maximum or minimum, and minus infinity, or the lowest finite number, for logsumexp and its
/// shift.
double combine(ReduceKind kind, ArrayRef<double> numbers, ArrayRef<int64_t> names) {
  bool winner = kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin;
  if (numbers.empty())
    return kind == ReduceKind::LogSumExp ? -kInfinity : kind == ReduceKind::SoftmaxShift ? -kLargest : winner ? -1 : 0;
  double sum = 0;
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    for (double x : numbers)
      sum += x;
    return kind == ReduceKind::Mean ? sum / double(numbers.size()) : sum;
  case ReduceKind::Max:
    return *std::max_element(numbers.begin(), numbers.end(), isLess);
  case ReduceKind::Min:
    return *std::max_element(numbers.begin(), numbers.end(), isMore);
  case ReduceKind::ArgMax: // The first of equal ones wins; names rise.
    return double(names[std::max_element(numbers.begin(), numbers.end(), isLess) - numbers.begin()]);
  case ReduceKind::ArgMin:
    return double(names[std::max_element(numbers.begin(), numbers.end(), isMore) - numbers.begin()]);
  case ReduceKind::LogSumExp: {
    double shift = shiftOf(numbers);
    return shift + std::log(sumOfExp(numbers, shift));
  }
  case ReduceKind::SoftmaxShift:
    return shiftOf(numbers);
  case ReduceKind::SoftmaxScale:
    sum = sumOfExp(numbers, shiftOf(numbers));
    return sum == 0 ? 0 : sum == kInfinity ? std::nan("") : 1 / sum;
  }
  llvm_unreachable("unknown reduce kind");
}

/// Combines, feature by feature, the rows of `x` that `lists[j]` names, for each j.
RefTensor combineRows(ReduceKind kind, const RefTensor &x, ArrayRef<std::vector<int64_t>> lists, bool shared) {
  RefTensor result(shared, int64_t(lists.size()), x.dims);
  for (auto [j, list] : llvm::enumerate(lists))
    for (int64_t k = 0; k < x.width(); ++k) {
      std::vector<double> numbers;
      for (int64_t i : list)
        numbers.push_back(x.row(i)[k]);
      result.row(j)[k] = combine(kind, numbers, list);
    }
  return result;
}

class SweepEvaluator {
public:
  SweepEvaluator(SweepOp sweep, const GraphData &graph)
      : sweep(sweep), graph(graph), levels(computeLevels(sweep)), hasPairs(sweep.getPairs()) {
    ownerCount = sweep.getOver() ? graph.extent(*sweep.getOver()) : 1;
    membersOf.resize(ownerCount);
    if (!sweep.getAlong())
      return;
    if (hasPairs)
      listPairs();
    else
      owners = graph.map(*sweep.getAlong()).target;
    for (auto [i, j] : llvm::enumerate(owners))
      if (j >= 0) {
        membersOf[j].push_back(i);
        allMembers.push_back(i);
      }
  }

  Expected<std::vector<RefTensor>> run(ArrayRef<const RefTensor *> operands);

private:
  void listPairs();
  RefTensor read(const RefTensor &operand, AccessAttr access) const;
  /// `value` with the rows that `to` has: of one element, every owner, or every member.
  RefTensor raise(const RefTensor &value, Level from, Level to) const;
  RefTensor raise(Value value, Level to) const { return raise(values.lookup(value), levels.lookup(value), to); }
  RefTensor accumulate(AccumulateOp op) const;
  RefTensor softmax(SoftmaxOp op) const;
  RefTensor elementNumbers(mpdfg::ElementOp op) const;
  RefTensor write(Value value, AccessAttr access);

  SweepOp sweep;
  const GraphData &graph;
  DenseMap<Value, Level> levels;
  const bool hasPairs;
  DenseMap<Value, RefTensor> values;
  int64_t ownerCount;
  std::vector<int64_t> owners;                 ///< of each member, -1 where it has none
  std::vector<int64_t> partners;               ///< with `pairs`, where each pair counts as a member: whom it is with
  std::vector<std::vector<int64_t>> membersOf; ///< of each owner
  std::vector<int64_t> allMembers;             ///< those that have an owner
};

} // namespace

void SweepEvaluator::listPairs() {
  auto side = SymbolTable::lookupNearestSymbolFrom<mpdfg::MapOp>(sweep, sweep.getPairsAttr());
  const std::vector<int64_t> &own = graph.map(mpdfg::getMapsOfPairs(side).own.getValue()).target;
  for (auto [owner, place] : llvm::enumerate(own))
    for (auto [other, otherPlace] : llvm::enumerate(graph.map(*sweep.getAlong()).target))
      if (place == otherPlace) {
        owners.push_back(owner);
        partners.push_back(other);
      }
}

RefTensor SweepEvaluator::read(const RefTensor &operand, AccessAttr access) const {
  if (hasPairs && access.getKind() == AccessKind::Member)
    return gatherRows(operand, partners, 0);
  if (hasPairs && access.getKind() == AccessKind::GatherMember) {
    std::vector<int64_t> targets;
    for (int64_t partner : partners)
      targets.push_back(graph.map(access.getMap().getValue()).target[partner]);
    return gatherRows(operand, targets, access.getFill() ? access.getFill().getValueAsDouble() : 0);
  }

  switch (access.getKind()) {
  case AccessKind::Shared:
    return operand;
  case AccessKind::Owner:
    return raise(operand, operand.shared ? Level::Shared : Level::Owner, Level::Owner);
  case AccessKind::Member:
    return operand;
  case AccessKind::GatherOwner:
  case AccessKind::GatherMember:
    return gatherRows(operand, graph.map(access.getMap().getValue()).target,
                      access.getFill() ? access.getFill().getValueAsDouble() : 0);
  }
  llvm_unreachable("unknown access kind");
}

RefTensor SweepEvaluator::raise(const RefTensor &value, Level from, Level to) const {
  if (from == to)
    return value;
  if (from == Level::Shared) {
    int64_t rows = to == Level::Owner ? ownerCount : int64_t(owners.size());
    return gatherRows(value, std::vector<int64_t>(rows, 0), 0);
  }
  assert(from == Level::Owner && to == Level::Member && "levels only rise");
  return gatherRows(value, owners, 0);
}

RefTensor SweepEvaluator::accumulate(AccumulateOp op) const {
  if (!op.getShared())
    return combineRows(op.getKind(), raise(op.getInput(), Level::Member), membersOf, false);
  if (levels.lookup(op.getInput()) == Level::Member)
    return combineRows(op.getKind(), values.lookup(op.getInput()), allMembers, true);
  std::vector<int64_t> allOwners;
  for (int64_t j = 0; j < ownerCount; ++j)
    allOwners.push_back(j);
  return combineRows(op.getKind(), raise(op.getInput(), Level::Owner), allOwners, true);
}

RefTensor SweepEvaluator::softmax(SoftmaxOp op) const {
  RefTensor x = raise(op.getInput(), Level::Member);
  auto statistic = [&](ReduceKind kind) {
    return raise(combineRows(kind, x, membersOf, false), Level::Owner, Level::Member);
  };
  RefTensor shift = statistic(ReduceKind::SoftmaxShift), scale = statistic(ReduceKind::SoftmaxScale);
  RefTensor result(false, x.rows, x.dims);
  for (int64_t i : allMembers)
    for (int64_t k = 0; k < x.width(); ++k)
      result.row(i)[k] = std::exp(x.row(i)[k] - shift.row(i)[k]) * scale.row(i)[k];
  return result;
}

RefTensor SweepEvaluator::elementNumbers(mpdfg::ElementOp op) const {
  RefTensor result(false, op.getMember() ? int64_t(owners.size()) : ownerCount, mpdfg::getFeatureShape(op.getType()));
  for (int64_t i = 0; i < result.rows; ++i)
    *result.row(i) = double(op.getMember() && hasPairs ? partners[i] : i);
  return result;
}

/// A result as the sweep's users see it. Members without an owner are not visited: their rows hold 0.
RefTensor SweepEvaluator::write(Value value, AccessAttr access) {
  if (access.getKind() == AccessKind::Shared)
    return values.lookup(value);
  if (access.getKind() == AccessKind::Owner) {
    RefTensor result = raise(value, Level::Owner);
    result.shared = !sweep.getOver();
    return result;
  }
  RefTensor result = raise(value, Level::Member);
  for (auto [i, j] : llvm::enumerate(owners))
    if (j < 0)
      std::fill_n(result.row(i), result.width(), 0.0);
  return result;
}

Expected<std::vector<RefTensor>> SweepEvaluator::run(ArrayRef<const RefTensor *> operands) {
  for (auto [i, argument] : llvm::enumerate(sweep.getBody().getArguments()))
    values[argument] = read(*operands[i], sweep.getAccessOf(i));

  Block &body = sweep.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (auto accumulated = dyn_cast<AccumulateOp>(op)) {
      values[accumulated] = accumulate(accumulated);
      continue;
    }
    if (auto normalised = dyn_cast<SoftmaxOp>(op)) {
      values[normalised] = softmax(normalised);
      continue;
    }
    if (auto own = dyn_cast<mpdfg::ElementOp>(op)) {
      values[own] = elementNumbers(own);
      continue;
    }
    if (op.getNumResults() != 1)
      return makeError("operation {0} has no reference evaluation", op.getName().getStringRef());
    // Row by row: operands meet at the level of the result; shared ones meet any row as they are.
    Level level = levels.lookup(op.getResult(0));
    SmallVector<RefTensor> raised;
    for (Value operand : op.getOperands())
      raised.push_back(levels.lookup(operand) == Level::Shared ? values.lookup(operand) : raise(operand, level));
    SmallVector<const RefTensor *> arguments;
    for (const RefTensor &tensor : raised)
      arguments.push_back(&tensor);
    auto result = evaluateOperation(&op, arguments, graph);
    if (!result)
      return result.takeError();
    values[op.getResult(0)] = std::move(*result);
  }

  std::vector<RefTensor> results;
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    results.push_back(write(value, sweep.getYieldOf(i)));
  return results;
}

Expected<std::vector<RefTensor>> reference::evaluateSweep(SweepOp sweep, ArrayRef<const RefTensor *> operands,
                                                          const GraphData &graph) {
  return SweepEvaluator(sweep, graph).run(operands);
}

/// The product's rows, without its epilogue.
static RefTensor multiply(ProductOp product, const RefTensor &lhs, const RefTensor &rhs, const GraphData &graph) {
  int64_t batch = product.getBatch(), rows = product.getRows(), k = product.getK(), n = product.getN();
  auto at = [&](std::optional<StringRef> map, int64_t i) { return map ? graph.map(*map).target[i] : i; };
  RefTensor result(false, graph.extent(product.getOver()), product.getRowShape());
  for (int64_t i = 0; i < result.rows; ++i) {
    int64_t left = at(product.getGather(), i), right = at(product.getGroup(), i);
    // Where a map is undefined the row, or the weight, is 0.
    if (left < 0 || right < 0)
      continue;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t column = 0; column < n; ++column) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l)
            sum += lhs.row(left)[(b * rows + r) * k + l] * rhs.row(right)[(b * k + l) * n + column];
          result.row(i)[(b * rows + r) * n + column] = sum;
        }
  }
  return result;
}

Expected<std::vector<RefTensor>> reference::evaluateProduct(ProductOp product, ArrayRef<const RefTensor *> operands,
                                                            const GraphData &graph) {
  std::vector<RefTensor> results;
  results.push_back(multiply(product, *operands[0], *operands[1], graph));
  if (!product.hasEpilogue())
    return results;
  // All rows at once; shared ones meet any row as they are.
  Block &body = product.getEpilogue().front();
  DenseMap<Value, RefTensor> values;
  values[body.getArgument(0)] = std::move(results.front());
  results.clear();
  for (auto [argument, extra] : llvm::zip(body.getArguments().drop_front(), operands.drop_front(2)))
    values[argument] = *extra;
  int64_t rows = graph.extent(product.getOver());
  for (Operation &op : body.without_terminator()) {
    if (auto own = dyn_cast<mpdfg::ElementOp>(op)) {
      RefTensor numbers(false, rows, mpdfg::getFeatureShape(own.getType()));
      for (int64_t i = 0; i < rows; ++i)
        *numbers.row(i) = double(i);
      values[own] = std::move(numbers);
      continue;
    }
    SmallVector<const RefTensor *> arguments;
    for (Value operand : op.getOperands())
      arguments.push_back(&values.find(operand)->second);
    auto result = evaluateOperation(&op, arguments, graph);
    if (!result)
      return result.takeError();
    values[op.getResult(0)] = std::move(*result);
  }
  for (Value value : body.getTerminator()->getOperands()) {
    const RefTensor &found = values.find(value)->second;
    results.push_back(found.shared ? gatherRows(found, std::vector<int64_t>(rows, 0), 0) : found);
  }
  return results;
}

RefTensor reference::evaluateOuterSum(OuterSumOp sum, const RefTensor &lhs, const RefTensor &rhs,
                                      const GraphData &graph) {
  int64_t batch = sum.getBatch(), k = sum.getK(), n = sum.getN();
  auto at = [&](std::optional<StringRef> map, int64_t i) { return map ? graph.map(*map).target[i] : i; };
  int64_t owners = sum.getAlong() ? graph.extent(graph.map(*sum.getAlong()).to) : 1;
  RefTensor result(!sum.getAlong(), owners, mpdfg::getFeatureShape(sum.getResult().getType()));
  for (int64_t i = 0; i < graph.extent(sum.getOver()); ++i) {
    int64_t left = at(sum.getGatherLhs(), i), right = at(sum.getGatherRhs(), i);
    int64_t owner = sum.getAlong() ? at(sum.getAlong(), i) : 0;
    if (left < 0 || right < 0 || owner < 0)
      continue;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t row = 0; row < k; ++row)
        for (int64_t column = 0; column < n; ++column)
          result.row(owner)[(b * k + row) * n + column] += lhs.row(left)[b * k + row] * rhs.row(right)[b * n + column];
  }
  return result;
}
