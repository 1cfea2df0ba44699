//===- MPDFGEvaluate.cpp - The reference meaning of mpdfg -----------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/Choices.h"
#include "gnnc/Support/Philox.h"
#include "mlir/IR/Builders.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

using Operands = ArrayRef<const RefTensor *>;

static constexpr double kLargest = std::numeric_limits<double>::max();

double mpdfg::applyUnary(UnaryKind kind, double x, double alpha) {
  switch (kind) {
  case UnaryKind::Neg:
    return -x;
  case UnaryKind::Exp:
    return std::exp(x);
  case UnaryKind::Log:
    return std::log(x);
  case UnaryKind::Sqrt:
    return std::sqrt(x);
  case UnaryKind::Rsqrt:
    return 1 / std::sqrt(x);
  case UnaryKind::Recip:
    return 1 / x;
  case UnaryKind::Abs:
    return std::fabs(x);
  case UnaryKind::Sign:
    return x > 0 ? 1 : x < 0 ? -1 : x; // 0 and what is not a number stay so.
  case UnaryKind::Square:
    return x * x;
  case UnaryKind::Sin:
    return std::sin(x);
  case UnaryKind::Cos:
    return std::cos(x);
  case UnaryKind::Tanh:
    return std::tanh(x);
  case UnaryKind::Erf:
    return std::erf(x);
  case UnaryKind::Relu:
    return x < 0 ? 0 : x; // What is not a number stays so.
  case UnaryKind::LeakyRelu:
    return x > 0 ? x : alpha * x;
  case UnaryKind::Elu:
    return x > 0 ? x : alpha * std::expm1(x);
  case UnaryKind::Gelu:
    return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
  case UnaryKind::Silu:
    return x / (1 + std::exp(-x));
  case UnaryKind::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case UnaryKind::Softplus:
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  case UnaryKind::Finite:
    return x > kLargest ? kLargest : x < -kLargest ? -kLargest : x;
  case UnaryKind::Floor:
    return std::floor(x);
  case UnaryKind::Ceil:
    return std::ceil(x);
  case UnaryKind::Round:
    return std::nearbyint(x); // halves to even numbers
  }
  llvm_unreachable("unknown unary kind");
}

double mpdfg::applyBinary(BinaryKind kind, double a, double b) {
  switch (kind) {
  case BinaryKind::Add:
    return a + b;
  case BinaryKind::Sub:
    return a - b;
  case BinaryKind::Mul:
    return a * b;
  case BinaryKind::Div:
    return a / b;
  case BinaryKind::Pow:
    return std::pow(a, b);
  case BinaryKind::Maximum:
    return a > b || std::isnan(a) ? a : b; // What is not a number wins.
  case BinaryKind::Minimum:
    return a < b || std::isnan(a) ? a : b;
  case BinaryKind::Lt:
    return a < b;
  case BinaryKind::Le:
    return a <= b;
  case BinaryKind::Gt:
    return a > b;
  case BinaryKind::Ge:
    return a >= b;
  case BinaryKind::Eq:
    return a == b;
  case BinaryKind::Ne:
    return a != b;
  }
  llvm_unreachable("unknown binary kind");
}

namespace {

/// A result for row-by-row operations: rows of the operands that have any, features of the result type.
RefTensor makeResult(Operation *op, Operands operands) {
  bool shared = true;
  int64_t rows = 1;
  for (const RefTensor *operand : operands)
    if (!operand->shared) {
      shared = false;
      rows = operand->rows;
    }
  return RefTensor(shared, rows, getFeatureShape(op->getResult(0).getType()));
}

/// Calls `visit` with each multi-index of `dims` in row-major order.
template <typename Fn> void forEachIndex(ArrayRef<int64_t> dims, Fn visit) {
  SmallVector<int64_t> index(dims.size(), 0);
  for (int64_t n = RefTensor::product(dims), i = 0; i < n; ++i) {
    visit(ArrayRef<int64_t>(index), i);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis])
        break;
      index[axis] = 0;
    }
  }
}

/// Row-major position of `index` in `dims`, where an axis of size 1 is repeated.
int64_t position(ArrayRef<int64_t> index, ArrayRef<int64_t> dims) {
  int64_t at = 0;
  for (auto [i, size] : llvm::zip(index, dims))
    at = at * size + (size == 1 ? 0 : i);
  return at;
}

/// For each number of a row of `dims`, where it is found in a row of `of`, whose axes of size 1 are repeated.
std::vector<int64_t> positions(ArrayRef<int64_t> dims, ArrayRef<int64_t> of) {
  std::vector<int64_t> result;
  result.reserve(size_t(RefTensor::product(dims)));
  forEachIndex(dims, [&](ArrayRef<int64_t> index, int64_t) { result.push_back(position(index, of)); });
  return result;
}

template <typename Fn> RefTensor elementwise(Operation *op, Operands operands, Fn compute) {
  RefTensor result = makeResult(op, operands);
  SmallVector<std::vector<int64_t>, 3> places; // the same in all rows
  for (const RefTensor *operand : operands)
    places.push_back(positions(result.dims, operand->dims));
  SmallVector<double, 3> arguments(operands.size());
  SmallVector<const double *, 3> rows(operands.size());
  for (int64_t r = 0, width = result.width(); r < result.rows; ++r) {
    for (auto [row, operand] : llvm::zip(rows, operands))
      row = operand->row(r);
    double *to = result.row(r);
    for (int64_t at = 0; at < width; ++at) {
      for (size_t i = 0; i < rows.size(); ++i)
        arguments[i] = rows[i][places[i][size_t(at)]];
      to[at] = compute(arguments);
    }
  }
  return result;
}

/// Starts and ends a reduction; the running value is combined in member order.
struct Accumulator {
  ReduceKind kind;
  double value = 0, shift = -kLargest; ///< the shift is finite: no infinity is subtracted from itself
  int64_t count = 0;
  int64_t winner = -1;

  /// The first of equals wins, and the first NaN of all.
  bool isBetter(double x) const {
    bool most = kind == ReduceKind::Max || kind == ReduceKind::ArgMax;
    return count == 0 || (most ? x > value : x < value) || (std::isnan(x) && !std::isnan(value));
  }
  void add(double x, int64_t member) {
    switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::Mean:
      value += x;
      break;
    case ReduceKind::Max:
    case ReduceKind::Min:
      value = isBetter(x) ? x : value;
      break;
    case ReduceKind::LogSumExp:
    case ReduceKind::SoftmaxShift:
    case ReduceKind::SoftmaxScale: {
      double larger = std::min(std::max(shift, x), kLargest); // NaN counts in the sum alone.
      value = value * std::exp(shift - larger) + std::exp(x - larger);
      shift = larger;
      break;
    }
    case ReduceKind::ArgMax:
    case ReduceKind::ArgMin:
      if (isBetter(x)) {
        value = x;
        winner = member;
      }
      break;
    }
    ++count;
  }
  double finish() const {
    if (kind == ReduceKind::LogSumExp)
      return shift + std::log(value);
    if (kind == ReduceKind::SoftmaxShift)
      return shift;
    if (kind == ReduceKind::SoftmaxScale)
      return value == 0 ? 0 : std::isinf(value) ? std::nan("") : 1 / value;
    if (kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin)
      return double(winner);
    return kind == ReduceKind::Mean && count > 0 ? value / double(count) : value;
  }
};

/// Reduces the rows of `input` to `owners` elements; owner(i) is -1 for members that count nowhere.
template <typename Fn>
RefTensor reduceRows(ReduceKind kind, const RefTensor &input, bool shared, int64_t owners, Fn owner) {
  int64_t width = input.width();
  std::vector<Accumulator> state(size_t(owners * width), Accumulator{kind});
  for (int64_t i = 0; i < input.rows; ++i)
    if (int64_t j = owner(i); j >= 0) {
      const double *row = input.row(i);
      for (int64_t k = 0; k < width; ++k)
        state[j * width + k].add(row[k], i);
    }
  RefTensor result(shared, owners, input.dims);
  for (size_t k = 0; k < state.size(); ++k)
    result.data[k] = state[k].finish();
  return result;
}

} // namespace

FailureOr<RefTensor> ConstantOp::evaluate(Operands, const GraphData &) {
  return RefTensor(true, 1, getFeatureShape(getType()), getValue().convertToDouble());
}

FailureOr<RefTensor> BroadcastOp::evaluate(Operands operands, const GraphData &graph) {
  if (getAlong() == kAllMap) {
    RefTensor result(false, graph.extent(getResidency(getType()).getValue()), operands[0]->dims);
    for (int64_t i = 0; i < result.rows; ++i)
      std::copy_n(operands[0]->row(0), result.width(), result.row(i));
    return result;
  }
  const RefMap &map = graph.map(getAlong());
  RefTensor result(false, int64_t(map.target.size()), operands[0]->dims, getFill().convertToDouble());
  for (auto [i, j] : llvm::enumerate(map.target))
    if (j >= 0)
      std::copy_n(operands[0]->row(j), result.width(), result.row(i));
  return result;
}

FailureOr<RefTensor> ReduceOp::evaluate(Operands operands, const GraphData &graph) {
  if (getAlong() == kAllMap)
    return reduceRows(getKind(), *operands[0], true, 1, [](int64_t) { return 0; });
  const RefMap &map = graph.map(getAlong());
  return reduceRows(getKind(), *operands[0], false, graph.extent(map.to), [&](int64_t i) { return map.target[i]; });
}

FailureOr<RefTensor> NormOp::evaluate(Operands operands, const GraphData &graph) {
  bool all = getAlong() == kAllMap;
  auto owner = [&](int64_t i) { return all ? 0 : graph.map(getAlong()).target[i]; };
  int64_t owners = all ? 1 : graph.extent(graph.map(getAlong()).to);
  RefTensor shift = reduceRows(ReduceKind::SoftmaxShift, *operands[0], false, owners, owner);
  RefTensor scale = reduceRows(ReduceKind::SoftmaxScale, *operands[0], false, owners, owner);
  RefTensor result(false, operands[0]->rows, operands[0]->dims);
  for (int64_t i = 0; i < result.rows; ++i)
    if (int64_t j = owner(i); j >= 0)
      for (int64_t k = 0; k < result.width(); ++k)
        result.row(i)[k] = std::exp(operands[0]->row(i)[k] - shift.row(j)[k]) * scale.row(j)[k];
  return result;
}

FailureOr<RefTensor> DegreeOp::evaluate(Operands, const GraphData &graph) {
  const RefMap &map = graph.map(getAlong());
  RefTensor result(false, graph.extent(map.to), {});
  for (int64_t j : map.target)
    if (j >= 0)
      result.data[j] += 1;
  return result;
}

FailureOr<RefTensor> ExtentOp::evaluate(Operands, const GraphData &graph) {
  return RefTensor(true, 1, {}, double(graph.extent(getSpace())));
}

FailureOr<RefTensor> SpreadOp::evaluate(Operands operands, const GraphData &) {
  RefTensor result(false, operands[0]->dims.front(), ArrayRef<int64_t>(operands[0]->dims).drop_front());
  result.data = operands[0]->data;
  return result;
}

FailureOr<RefTensor> CollectOp::evaluate(Operands operands, const GraphData &) {
  RefTensor result(true, 1, getFeatureShape(getType()));
  result.data = operands[0]->data;
  return result;
}

/// Distances in the type of the rows, since it decides who is nearer.
template <typename T> static T squaredDistance(const double *x, const double *y, int64_t width) {
  T sum = 0;
  for (int64_t k = 0; k < width; ++k) {
    volatile T difference = T(x[k]) - T(y[k]); // No compiler may join what is rounded twice.
    volatile T square = difference * difference;
    sum += square;
  }
  return sum;
}

/// The elements that `rank` puts first among those that may be chosen for each of the base: it gives what they are put
/// in order by (nothing: the element is not chosen). NaNs come last.
static ChosenElements chooseFirst(Operation *op, const GraphData &graph,
                                  llvm::function_ref<std::optional<double>(int64_t owner, int64_t element)> rank) {
  SpaceOp space = getSelection(op);
  auto belongs = [&](size_t which, int64_t element) -> int64_t {
    if (!space.getMaps())
      return 0;
    auto map = dyn_cast<FlatSymbolRefAttr>(space.getMapsAttr()[which]);
    return map ? graph.map(map.getValue()).target[element] : element;
  };
  ChosenElements result;
  for (int64_t owner = 0; owner < graph.extent(*space.getBase()); ++owner) {
    std::vector<std::tuple<bool, double, int64_t>> found;
    int64_t all = 0;
    for (int64_t element = 0; element < graph.extent(*space.getOf()); ++element) {
      if (belongs(0, owner) != belongs(1, element) || (space.getOthers() && element == owner))
        continue;
      ++all;
      if (std::optional<double> by = rank(owner, element))
        found.push_back({std::isnan(*by), std::isnan(*by) ? 0 : *by, element});
    }
    llvm::sort(found);
    for (int64_t i = 0; i < std::min(mostChosen(space, all), int64_t(found.size())); ++i) {
      result.owners.push_back(owner);
      result.chosen.push_back(std::get<2>(found[size_t(i)]));
    }
  }
  return result;
}

/// Members that are far from each other, for each of the base.
static ChosenElements chooseFarthest(FarthestOp op, ArrayRef<const RefTensor *> operands, bool isDouble,
                                     const GraphData &graph) {
  const RefTensor &points = *operands[0];
  const RefTensor *start = op.getStart() ? operands[1] : nullptr;
  SpaceOp space = getSelection(op);
  ArrayRef<int64_t> owners = graph.map(cast<FlatSymbolRefAttr>((*space.getMaps())[1]).getValue()).target;
  ChosenElements result;
  for (int64_t owner = 0; owner < graph.extent(*space.getBase()); ++owner) {
    // Not a number is behind all else; infinitely far at first, so that the first one is chosen first.
    std::vector<std::pair<int64_t, double>> members;
    for (int64_t element = 0; element < graph.extent(*space.getOf()); ++element)
      if (owners[size_t(element)] == owner)
        members.push_back({element, std::numeric_limits<double>::infinity()});
    auto isLess = [](double a, double b) {
      bool isNumber = !std::isnan(a), isOther = !std::isnan(b);
      return isNumber != isOther ? isOther : isNumber && a < b;
    };
    bool isFirst = start;
    for (int64_t left = mostChosen(space, int64_t(members.size())); left > 0; --left) {
      auto farthest = llvm::max_element(members, [&](const auto &a, const auto &b) {
        return isFirst ? isLess(start->data[size_t(a.first)], start->data[size_t(b.first)])
                       : isLess(a.second, b.second);
      });
      isFirst = false;
      int64_t chosen = farthest->first;
      members.erase(farthest);
      result.owners.push_back(owner);
      result.chosen.push_back(chosen);
      for (auto &[element, nearest] : members) {
        double distance = isDouble ? squaredDistance<double>(points.row(element), points.row(chosen), points.width())
                                   : squaredDistance<float>(points.row(element), points.row(chosen), points.width());
        if (!(distance >= nearest) && !std::isnan(nearest))
          nearest = distance;
      }
    }
  }
  return result;
}

int64_t mpdfg::mostChosen(SpaceOp space, int64_t available) {
  int64_t most = *space.getMost();
  if (FloatAttr ratio = space.getRatioAttr()) {
    double product = ratio.getType().isF32() ? float(ratio.getValueAsDouble()) * float(available)
                                             : ratio.getValueAsDouble() * double(available);
    most = std::min(most, int64_t(std::ceil(product)));
  }
  return std::min(most, available);
}

ChosenElements mpdfg::chooseElements(Operation *op, ArrayRef<const RefTensor *> operands, const GraphData &graph) {
  const RefTensor &first = *operands[0];
  bool isDouble = cast<RankedTensorType>(op->getOperand(0).getType()).getElementType().isF64();
  if (isa<KeepOp>(op)) {
    ChosenElements result;
    for (int64_t element = 0; element < first.rows; ++element)
      if (double condition = first.data[size_t(element)]; condition != 0 && !std::isnan(condition))
        result.owners.push_back(element);
    result.chosen = result.owners;
    return result;
  }
  if (isa<TopOp>(op))
    return chooseFirst(op, graph, [&](int64_t, int64_t element) { return -first.data[size_t(element)]; });
  if (auto farthest = dyn_cast<FarthestOp>(op))
    return chooseFarthest(farthest, operands, isDouble, graph);
  auto distance = [&](int64_t owner, int64_t element) {
    const RefTensor &queries = *operands[1];
    return isDouble ? squaredDistance<double>(first.row(element), queries.row(owner), first.width())
                    : squaredDistance<float>(first.row(element), queries.row(owner), first.width());
  };
  auto within = dyn_cast<WithinOp>(op);
  if (!within)
    return chooseFirst(op, graph, distance);
  double radius = within.getRadius().convertToDouble(), square = radius * radius;
  if (!isDouble)
    square = float(square);
  return chooseFirst(op, graph, [&](int64_t owner, int64_t element) -> std::optional<double> {
    return distance(owner, element) < square ? std::optional(double(element)) : std::nullopt;
  });
}

RefTensor ChosenElements::numbers() const {
  RefTensor result(false, int64_t(chosen.size()), {});
  llvm::copy(chosen, result.data.begin());
  return result;
}

FailureOr<RefTensor> NearestOp::evaluate(Operands operands, const GraphData &graph) {
  return chooseElements(*this, operands, graph).numbers();
}
FailureOr<RefTensor> WithinOp::evaluate(Operands operands, const GraphData &graph) {
  return chooseElements(*this, operands, graph).numbers();
}
FailureOr<RefTensor> TopOp::evaluate(Operands operands, const GraphData &graph) {
  return chooseElements(*this, operands, graph).numbers();
}
FailureOr<RefTensor> FarthestOp::evaluate(Operands operands, const GraphData &graph) {
  return chooseElements(*this, operands, graph).numbers();
}
FailureOr<RefTensor> KeepOp::evaluate(Operands operands, const GraphData &graph) {
  return chooseElements(*this, operands, graph).numbers();
}

/// What each rank gives, by rank.
static std::vector<std::vector<double>> gather(const GraphData &graph, std::vector<double> own) {
  if (graph.collectives)
    return graph.collectives->gather(std::move(own));
  return {std::move(own)};
}

FailureOr<RefTensor> TransferOp::evaluate(Operands operands, const GraphData &graph) {
  const RefTensor &x = *operands[0];
  StringRef to = getResidency(getType()).getValue();
  size_t rank = graph.collectives ? size_t(graph.collectives->rank()) : 0;
  // The rows of each rank; all are its own where there is one rank.
  auto counts = [&](StringRef space, int64_t rows) {
    auto it = graph.counts.find(space);
    return it == graph.counts.end() ? std::vector<int64_t>{rows} : it->second;
  };
  std::vector<int64_t> sent = counts(getResidency(getInput().getType()).getValue(), x.rows),
                       expected = counts(to, graph.extent(to));
  // Everyone gets everything, the number of rows for each rank first.
  std::vector<double> own(sent.begin(), sent.end());
  own.insert(own.end(), x.data.begin(), x.data.end());
  std::vector<std::vector<double>> all = gather(graph, std::move(own));
  RefTensor result(false, 0, x.dims);
  if (all.empty())
    return emitOpError() << "expected rows of all ranks, found that one has stopped";
  if (all.size() != sent.size() || all.size() != expected.size())
    return emitOpError() << "expected numbers of rows for " << int64_t(all.size()) << " ranks, found " << sent.size()
                         << " and " << expected.size();
  for (auto [from, given] : llvm::enumerate(all)) {
    int64_t begin = 0, rows = int64_t(given[rank]);
    for (size_t before = 0; before < rank; ++before)
      begin += int64_t(given[before]);
    if (rows != expected[from])
      return emitOpError() << "expected " << expected[from] << " rows of rank " << from << ", found " << rows;
    auto first = given.begin() + int64_t(all.size()) + begin * x.width();
    result.data.insert(result.data.end(), first, first + rows * x.width());
    result.rows += rows;
  }
  return result;
}

FailureOr<RefTensor> AwaitOp::evaluate(Operands operands, const GraphData &) { return *operands[0]; }

FailureOr<RefTensor> AllReduceOp::evaluate(Operands operands, const GraphData &graph) {
  RefTensor result = *operands[0];
  std::vector<std::vector<double>> all = gather(graph, result.data);
  if (all.empty())
    return emitOpError() << "expected numbers of all ranks, found that one has stopped";
  for (auto [i, number] : llvm::enumerate(result.data)) {
    Accumulator sum{getKind()};
    for (auto [rank, given] : llvm::enumerate(all)) {
      if (given.size() != result.data.size())
        return emitOpError() << "expected " << result.data.size() << " numbers of rank " << rank << ", found "
                             << given.size();
      sum.add(given[i], int64_t(rank));
    }
    number = sum.finish();
  }
  return result;
}

FailureOr<RefTensor> VaryOp::evaluate(Operands operands, const GraphData &) { return *operands[0]; }

FailureOr<RefTensor> DeriveAsOp::evaluate(Operands operands, const GraphData &) { return *operands[0]; }

FailureOr<RefTensor> ElementOp::evaluate(Operands, const GraphData &graph) {
  FlatSymbolRefAttr space = getResidency(getType());
  RefTensor result(!space, space ? graph.extent(space.getValue()) : 1, getFeatureShape(getType()));
  for (int64_t r = 0; r < result.rows; ++r)
    *result.row(r) = double(r);
  return result;
}

FailureOr<RefTensor> IotaOp::evaluate(Operands, const GraphData &) {
  RefTensor result(true, 1, getFeatureShape(getType()));
  for (auto [i, number] : llvm::enumerate(result.data))
    number = double(i);
  return result;
}

FailureOr<RefTensor> IsElementOp::evaluate(Operands operands, const GraphData &) {
  return elementwise(*this, operands, [&](ArrayRef<double> x) { return x[0] == x[1]; });
}

FailureOr<RefTensor> RandomOp::evaluate(Operands operands, const GraphData &) {
  // What is no integer from 0 to 2^24 - 1 gives some number, the same as in compiled code.
  auto word = [](double x) { return x > 0 ? uint32_t(std::min(x, double((1 << 24) - 1))) : 0; };
  return elementwise(*this, operands, [&](ArrayRef<double> x) {
    return philoxUniform({uint32_t(int64_t(x[3])), uint32_t(int64_t(x[4])), uint32_t(getSite()), word(x[2])},
                         {word(x[0]), word(x[1])});
  });
}

FailureOr<RefTensor> UnaryOp::evaluate(Operands operands, const GraphData &) {
  double alpha = getAlpha().convertToDouble();
  return elementwise(*this, operands, [&](ArrayRef<double> x) { return applyUnary(getKind(), x[0], alpha); });
}

FailureOr<RefTensor> BinaryOp::evaluate(Operands operands, const GraphData &) {
  return elementwise(*this, operands, [&](ArrayRef<double> x) { return applyBinary(getKind(), x[0], x[1]); });
}

FailureOr<RefTensor> SelectOp::evaluate(Operands operands, const GraphData &) {
  return elementwise(*this, operands, [&](ArrayRef<double> x) { return x[0] != 0 ? x[1] : x[2]; });
}

FailureOr<RefTensor> DetachOp::evaluate(Operands operands, const GraphData &) { return *operands[0]; }
FailureOr<RefTensor> VariableOp::evaluate(Operands operands, const GraphData &) { return *operands[0]; }

FailureOr<RefTensor> ContractOp::evaluate(Operands operands, const GraphData &) {
  RefTensor result = makeResult(*this, operands);
  const RefTensor &lhs = *operands[0], &rhs = *operands[1];
  // One loop over all labels: those of the result first, then the ones summed over.
  SmallVector<int64_t> labels(getOutLabels()), sizes(result.dims);
  auto collect = [&](ArrayRef<int64_t> more, ArrayRef<int64_t> dims) {
    for (auto [label, size] : llvm::zip(more, dims))
      if (!llvm::is_contained(labels, label)) {
        labels.push_back(label);
        sizes.push_back(size);
      }
  };
  collect(getLhsLabels(), lhs.dims);
  collect(getRhsLabels(), rhs.dims);
  // How far apart neighbours along each label are in a row; 0 where the row lacks it.
  auto stridesOf = [&](ArrayRef<int64_t> own, ArrayRef<int64_t> dims) {
    SmallVector<int64_t> strides(labels.size(), 0);
    int64_t stride = 1;
    for (size_t axis = own.size(); axis-- > 0; stride *= dims[axis])
      strides[llvm::find(labels, own[axis]) - labels.begin()] += stride;
    return strides;
  };
  SmallVector<int64_t> outStrides = stridesOf(getOutLabels(), result.dims),
                       lhsStrides = stridesOf(getLhsLabels(), lhs.dims),
                       rhsStrides = stridesOf(getRhsLabels(), rhs.dims);
  // The last label is the inner loop.
  int64_t last = labels.empty() ? 1 : sizes.pop_back_val();
  int64_t outStep = 0, lhsStep = 0, rhsStep = 0;
  if (!labels.empty()) {
    outStep = outStrides.back();
    lhsStep = lhsStrides.back();
    rhsStep = rhsStrides.back();
  }
  auto locate = [](ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
    int64_t at = 0;
    for (auto [i, stride] : llvm::zip(index, strides)) // The shorter one is `index`.
      at += i * stride;
    return at;
  };
  for (int64_t r = 0; r < result.rows; ++r)
    forEachIndex(sizes, [&](ArrayRef<int64_t> index, int64_t) {
      double *out = result.row(r) + locate(index, outStrides);
      const double *a = lhs.row(r) + locate(index, lhsStrides), *b = rhs.row(r) + locate(index, rhsStrides);
      for (int64_t i = 0; i < last; ++i)
        out[i * outStep] += a[i * lhsStep] * b[i * rhsStep];
    });
  return result;
}

FailureOr<RefTensor> FoldOp::evaluate(Operands operands, const GraphData &) {
  RefTensor result = makeResult(*this, operands);
  std::vector<int64_t> places = positions(operands[0]->dims, result.dims);
  std::vector<Accumulator> state;
  for (int64_t r = 0; r < result.rows; ++r) {
    state.assign(size_t(result.width()), Accumulator{getKind()});
    const double *from = operands[0]->row(r);
    for (auto [at, place] : llvm::enumerate(places))
      state[size_t(place)].add(from[at], int64_t(at));
    double *to = result.row(r);
    for (auto [k, reduced] : llvm::enumerate(state))
      to[k] = reduced.finish();
  }
  return result;
}

FailureOr<RefTensor> ReshapeOp::evaluate(Operands operands, const GraphData &) {
  RefTensor result = *operands[0];
  result.dims.assign(getFeatureShape(getType()).begin(), getFeatureShape(getType()).end());
  return result;
}

FailureOr<RefTensor> TransposeOp::evaluate(Operands operands, const GraphData &) {
  RefTensor result = makeResult(*this, operands);
  for (int64_t r = 0; r < result.rows; ++r)
    forEachIndex(result.dims, [&](ArrayRef<int64_t> index, int64_t at) {
      SmallVector<int64_t> from(index.size());
      for (auto [i, axis] : llvm::enumerate(getPermutation()))
        from[axis] = index[i];
      result.row(r)[at] = operands[0]->row(r)[position(from, operands[0]->dims)];
    });
  return result;
}

FailureOr<RefTensor> ConcatOp::evaluate(Operands operands, const GraphData &) {
  RefTensor result = makeResult(*this, operands);
  int64_t axis = getAxis();
  for (int64_t r = 0; r < result.rows; ++r) {
    int64_t begin = 0;
    for (const RefTensor *operand : operands) {
      forEachIndex(operand->dims, [&](ArrayRef<int64_t> index, int64_t at) {
        SmallVector<int64_t> to(index);
        to[axis] += begin;
        result.row(r)[position(to, result.dims)] = operand->row(r)[at];
      });
      begin += operand->dims[axis];
    }
  }
  return result;
}

FailureOr<RefTensor> SliceOp::evaluate(Operands operands, const GraphData &) {
  RefTensor result = makeResult(*this, operands);
  int64_t axis = getAxis(), begin = getBegin();
  for (int64_t r = 0; r < result.rows; ++r)
    forEachIndex(result.dims, [&](ArrayRef<int64_t> index, int64_t at) {
      SmallVector<int64_t> from(index);
      from[axis] += begin;
      // An operand axis of size 1 that is kept whole has index 0 either way.
      result.row(r)[at] = operands[0]->row(r)[position(from, operands[0]->dims)];
    });
  return result;
}
