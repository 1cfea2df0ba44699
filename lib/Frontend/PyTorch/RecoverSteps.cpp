//===- RecoverSteps.cpp - Convolutions, pools and orders of an axis -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The axis is of fixed size. What is computed from neighbouring places is written out, a slice for each place of a
// window.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// The only number of a list of integers.
int64_t Recover::oneOf(const NormalNode &node, const std::string &name, int64_t absent) const {
  std::vector<int64_t> numbers = integers(node, name);
  return numbers.empty() ? absent : numbers[0];
}

static void checkSteps(const Tensor &x, const SymbolicExpr &size) {
  const Dim &last = x.dims.back();
  if (last.kind == Kind::Space || last.kind == Kind::Group)
    throw Refusal{"it goes along an axis of size " + size.str() + ", which is not fixed"};
}

/// `amount` times a number before and after the numbers along the last axis.
Tensor Recover::padded(const Tensor &x, int64_t amount, double value) {
  if (amount == 0)
    return x;
  Tensor more = scalar(value);
  more.dims.resize(x.dims.size());
  if (amount > 1)
    more.dims.back() = {Kind::Repeat, -1, amount};
  return concat({more, x, more}, x.dims.size() - 1);
}

/// A convolution of [n, channels, ..., steps] along the last axis: a sum over the places of the kernel.
Tensor Recover::convolved(Tensor x, const Tensor &weight, int64_t steps, int64_t stride, int64_t dilation,
                          int64_t groups) {
  int64_t kernel = sizeOf(weight.dims[2]).getNumber();
  int64_t outputs = sizeOf(weight.dims[0]).getNumber() / groups, inputs = sizeOf(weight.dims[1]).getNumber();
  if (kernel > 64 || groups > 64)
    throw Refusal{"a convolution: expected a kernel of at most 64 places and at most 64 groups, found " +
                  std::to_string(kernel) + " and " + std::to_string(groups)};
  size_t last = x.dims.size() - 1;
  std::vector<Tensor> results;
  for (int64_t group = 0; group < groups; ++group) {
    Tensor own = groups == 1 ? x : slice(x, 1, group * inputs, (group + 1) * inputs, 1);
    Tensor kernels = groups == 1 ? weight : slice(weight, 0, group * outputs, (group + 1) * outputs, 1);
    std::optional<Tensor> sum;
    for (int64_t k = 0; k < kernel; ++k) {
      Tensor part = slice(own, last, k * dilation, k * dilation + (steps - 1) * stride + 1, stride);
      Tensor y = contract(part, pick(kernels, 2, k), {{1, 1}}, {}); // [n, ..., step, out]
      sum = sum ? binary("+", *sum, y) : y;
    }
    Dim channels = sum->dims.back();
    sum->dims.pop_back();
    sum->dims.insert(sum->dims.begin() + 1, channels);
    results.push_back(*sum);
  }
  return concat(results, 1);
}

/// What a convolution does along one axis: of two, the one that the kernel has places along.
Recover::Steps Recover::stepsOf(const NormalNode &node, const Tensor &weight) {
  size_t rank = weight.dims.size();
  if (node.op == "convolution" && flag(node, "transposed", false))
    throw Refusal{"argument 'transposed': expected false, found true; gnnc has no transposed convolutions"};
  Refusal several{"expected a convolution along one axis, found a weight of shape " + shapeText(weight.dims)};
  if (rank < 3 || rank > 4)
    throw several;
  for (const char *name : {"stride", "dilation", "padding"}) {
    bool isWord = find(node, name) && std::get_if<std::string>(find(node, name));
    std::vector<int64_t> numbers = isWord ? std::vector<int64_t>() : integers(node, name);
    bool isPadding = llvm::StringRef(name) == "padding";
    if ((numbers.size() > 1 && numbers.size() != rank - 2) ||
        llvm::any_of(numbers, [&](int64_t number) { return number < (isPadding ? 0 : 1); }))
      throw Refusal{"argument '" + std::string(name) + "': expected " + (isPadding ? "no negative" : "positive") +
                    " numbers, one or one for each axis"};
  }
  if (integer(node, "groups", 1) < 1)
    throw Refusal{"argument 'groups': expected a positive number"};
  size_t along = rank == 3 || !(sizeOf(weight.dims[3]) == SymbolicExpr(1)) ? rank - 1 : 2, other = 5 - along;
  auto argument = [&](const char *name, size_t axis, int64_t absent) {
    std::vector<int64_t> numbers = integers(node, name);
    return numbers.empty() ? absent : numbers[numbers.size() == 1 ? 0 : axis - 2];
  };
  int64_t stride = argument("stride", along, 1), dilation = argument("dilation", along, 1), padding = 0;
  const Argument *given = find(node, "padding");
  if (auto *word = given ? std::get_if<std::string>(given) : nullptr) {
    int64_t more = dilation * (sizeOf(weight.dims[along]).getNumber() - 1);
    if (*word != "valid" && (*word != "same" || more % 2 != 0))
      throw Refusal{"argument 'padding': expected valid, same with an even dilation * (kernel_size - 1), or numbers, "
                    "found '" +
                    *word + "'"};
    padding = *word == "same" ? more / 2 : 0;
  } else if (given) {
    padding = argument("padding", along, 0);
    if (rank == 4 && argument("padding", other, 0) != 0)
      throw several;
  }
  if (rank == 4 && (!(sizeOf(weight.dims[other]) == SymbolicExpr(1)) || argument("stride", other, 1) != 1))
    throw several;
  return {along, stride, dilation, padding, integer(node, "groups", 1)};
}

/// The weight of one axis, and a bias beside [..., channels, steps].
std::pair<Tensor, std::optional<Tensor>> Recover::weightsOf(const NormalNode &node, const Steps &steps) {
  Tensor weight = tensor(node, "weight");
  if (weight.dims.size() == 4)
    weight.dims.erase(weight.dims.begin() + ptrdiff_t(5 - steps.along));
  if (!has(node, "bias"))
    return {weight, std::nullopt};
  Tensor bias = tensor(node, "bias");
  bias.dims.resize(2);
  return {weight, bias};
}

void Recover::opConvolution(const NormalNode &node) {
  Tensor x = tensor(node, "input");
  size_t rank = tensor(node, "weight").dims.size();
  const Steps along = stepsOf(node, tensor(node, "weight"));
  if (x.dims.size() != rank)
    throw Refusal{"expected a convolution along one axis, found a weight of shape " +
                  shapeText(tensor(node, "weight").dims)};
  auto [weight, bias] = weightsOf(node, along);
  if (rank == 4)
    std::swap(x.dims[along.along], x.dims[3]);
  SymbolicExpr steps = sizes(node).at(along.along);
  bool isPlace = sizeOf(weight.dims[2]) == SymbolicExpr(1) && along.stride == 1 && along.padding == 0;
  Tensor y;
  if (isPlace && along.groups == 1) { // a product at each place, of which there may be any number
    y = contract(x, pick(weight, 2, 0), {{1, 1}}, {});
    Dim channels = y.dims.back();
    y.dims.pop_back();
    y.dims.insert(y.dims.begin() + 1, channels);
  } else {
    checkSteps(x, sizeOf(x.dims.back()));
    y = convolved(padded(x, along.padding, 0), weight, steps.getNumber(), along.stride, along.dilation, along.groups);
  }
  if (rank == 4)
    std::swap(y.dims[along.along], y.dims[3]);
  if (bias) {
    bias->dims.resize(rank - 1);
    y = binary("+", y, *bias);
  }
  define(node, y);
}

/// The largest number, or the mean, of a window along the last axis.
void Recover::opPool1d(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  checkSteps(x, sizeOf(x.dims.back()));
  size_t last = x.dims.size() - 1;
  bool isMax = node.op.find("max") != std::string::npos;
  int64_t size = sizeOf(x.dims[last]).getNumber(), steps = sizes(node).at(last).getNumber();
  if (node.op.compare(0, 8, "adaptive") == 0) {
    std::vector<Tensor> windows;
    for (int64_t i = 0; i < steps; ++i) {
      int64_t begin = i * size / steps, end = ((i + 1) * size + steps - 1) / steps;
      windows.push_back(fold(isMax ? "max" : "mean", slice(x, last, begin, end, 1), {last}, true));
    }
    return define(node, concat(windows, last));
  }
  int64_t window = oneOf(node, "kernel_size", 1), stride = oneOf(node, "stride", window);
  int64_t padding = oneOf(node, "padding", 0), dilation = oneOf(node, "dilation", 1);
  if (window > 64)
    throw Refusal{"argument 'kernel_size': expected at most 64, found " + std::to_string(window)};
  if (flag(node, "ceil_mode", false))
    throw Refusal{"argument 'ceil_mode': expected false, found true"};
  if (padding != 0 && (isMax || !flag(node, "count_include_pad", true)))
    throw Refusal{"argument 'padding': expected 0" + std::string(isMax ? "" : " without count_include_pad") +
                  ", found " + std::to_string(padding)};
  x = padded(x, padding, 0);
  std::optional<Tensor> whole;
  for (int64_t k = 0; k < window; ++k) {
    Tensor part = slice(x, last, k * dilation, k * dilation + (steps - 1) * stride + 1, stride);
    whole = !whole ? part : binary(isMax ? "maximum" : "+", *whole, part);
  }
  define(node, isMax ? *whole : binary("/", *whole, double(window)));
}

/// The numbers along an axis in order, by comparing neighbours; at most 16 of them.
std::vector<Tensor> Recover::inOrder(const Tensor &x, size_t dim, bool descending) {
  const Dim each = x.dims.at(dim);
  if (each.kind == Kind::Space || each.kind == Kind::Group)
    throw Refusal{"numbers are ordered along an axis of size " + sizeOf(each).str() +
                  ", so what comes first is known only when the model runs; a model's spaces must follow from its "
                  "integer inputs"};
  int64_t size = sizeOf(each).getNumber();
  if (size > 16)
    throw Refusal{"numbers are ordered along an axis of size " + std::to_string(size) + ", more than 16"};
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < size; ++i)
    rows.push_back(each.kind == Kind::Unit ? x : slice(x, dim, i, i + 1, 1));
  for (int64_t end = size; end > 1; --end)
    for (int64_t i = 0; i + 1 < end; ++i) {
      Tensor low = binary("minimum", rows[size_t(i)], rows[size_t(i) + 1]);
      rows[size_t(i) + 1] = binary("maximum", rows[size_t(i)], rows[size_t(i) + 1]);
      rows[size_t(i)] = low;
    }
  if (descending)
    std::reverse(rows.begin(), rows.end());
  return rows;
}

/// Sorted numbers, the k largest of them, and the median, along an axis, and their places.
void Recover::opOrder(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  bool isTop = node.op == "topk", largest = flag(node, "largest", true), keep = flag(node, "keepdim", false);
  if (!isTop && node.op != "sort" && !has(node, "dim"))
    throw Refusal{"argument 'dim': expected an axis, found none: the median of a whole tensor"};
  size_t dim = axisNumber(node, "dim", -1, x.dims.size());
  bool placesUsed = node.outputs.size() > 1 && !node.outputs[1].empty() && isUsed(node.outputs[1]);
  int64_t count = isTop ? integer(node, "k", 1) : 1;
  bool descends = isTop ? largest : flag(node, "descending", false);
  if (placesUsed && node.op == "median")
    throw Refusal{"the indices of median are not supported; use its values only"};
  if (placesUsed && node.op != "median" && !(isTop && count == 1) && orderPairs(node, x, dim, descends, 1))
    return;
  if (isTop && count == 1) {
    define(node, fold(largest ? "max" : "min", x, {dim}, true), 0);
    if (placesUsed)
      define(node, firstBest(x, dim, largest, true), 1);
    return;
  }
  if (placesUsed) {
    needMatrixOfElements(x, dim, isTop ? count : placesRead(node.outputs[1], dim).second);
    SymbolicExpr size = sizes(node, 1).at(dim);
    bool isOpen = !size.getFactors().empty();
    std::vector<Tensor> places =
        orderedPlaces(x, dim, isOpen ? std::numeric_limits<int64_t>::max() : size.getNumber(), descends);
    std::vector<Tensor> values;
    for (const Tensor &place : places)
      values.push_back(fold("sum", where(isPlace(place, dim, *choices(x, dim)), x, scalar(0)), {dim}, true));
    define(node, concat(values, dim), 0);
    return define(node, concat(places, dim), 1);
  }
  std::vector<Tensor> rows = inOrder(x, dim, descends);
  if (node.op == "median") {
    Tensor middle = rows.at((rows.size() - 1) / 2);
    if (!keep)
      middle = pick(middle, dim, 0);
    return define(node, middle);
  }
  if (isTop)
    rows.resize(size_t(count));
  define(node, concat(rows, dim));
}
