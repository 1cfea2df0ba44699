//===- RecoverGridOperators.cpp - Operators on tensors of grids -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators on tensors of grids (Grids.h) become operators on their rows: what works on each element by itself is
// applied to rows as it is, after the operands' rows have been gathered at the points of the result. Along axes of the
// grid there are RecoverGridViews.cpp, RecoverGridSums.cpp and RecoverGridJoins.cpp, and products of rows by places.
// Operators that are in none of the tables are refused.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

namespace {
/// What an operator does with the axes of its operand.
enum class OnAxes {
  Each,    ///< each element by itself; operands are broadcast
  Along,   ///< along the axes of its arguments `dim`, which stay
  Fold,    ///< along those, which go, or become axes of size 1
  Last,    ///< along the last axes
  Channel, ///< along all but the second axis
};
} // namespace

static std::optional<OnAxes> onAxes(const std::string &op) {
  static const std::map<std::string, OnAxes> table = [] {
    std::map<std::string, OnAxes> all;
    auto add = [&](OnAxes kind, std::initializer_list<const char *> names) {
      for (const char *name : names)
        all[name] = kind;
    };
    add(OnAxes::Each, {"relu",        "gelu",        "silu",        "sigmoid",     "tanh",
                       "softplus",    "exp",         "log",         "sqrt",        "rsqrt",
                       "abs",         "sign",        "sin",         "cos",         "erf",
                       "reciprocal",  "neg",         "square",      "leaky_relu",  "elu",
                       "log1p",       "expm1",       "log2",        "log_sigmoid", "relu6",
                       "selu",        "celu",        "mish",        "hardsigmoid", "hardswish",
                       "tan",         "sinh",        "cosh",        "asinh",       "acosh",
                       "atanh",       "exp2",        "log10",       "erfc",        "softsign",
                       "tanhshrink",  "hardshrink",  "softshrink",  "threshold",   "logit",
                       "deg2rad",     "rad2deg",     "floor",       "ceil",        "round",
                       "trunc",       "add",         "sub",         "mul",         "div",
                       "rsub",        "true_divide", "maximum",     "minimum",     "eq",
                       "ne",          "lt",          "le",          "gt",          "ge",
                       "logical_and", "logical_or",  "logical_xor", "bitwise_and", "bitwise_or",
                       "bitwise_xor", "__and__",     "__or__",      "__xor__",     "lerp",
                       "hypot",       "logaddexp",   "xlogy",       "remainder",   "fmod",
                       "atan2",       "arctan2",     "atan",        "asin",        "acos",
                       "clamp",       "clamp_min",   "clamp_max",   "hardtanh",    "pow",
                       "where",       "masked_fill", "logical_not", "bitwise_not", "addcmul",
                       "addcdiv",     "detach",      "alias",       "clone",       "contiguous",
                       "to",          "_to_copy",    "lift_fresh",  "type_as",     "float",
                       "double",      "bool",        "positive",    "dropout",     "isnan",
                       "isfinite",    "nan_to_num",  "mse_loss",    "l1_loss",     "smooth_l1_loss",
                       "huber_loss"});
    add(OnAxes::Along, {"softmax", "_softmax", "log_softmax", "_log_softmax", "cumsum", "cumprod", "flip", "slice",
                        "narrow", "split", "split_with_sizes", "chunk", "glu", "cat"});
    add(OnAxes::Fold, {"sum", "mean", "amax", "amin", "logsumexp", "max", "min", "var", "std", "linalg_vector_norm",
                       "norm", "prod", "select", "unbind", "any", "all"});
    add(OnAxes::Last, {"linear", "layer_norm", "native_layer_norm", "rms_norm", "_fused_rms_norm", "matmul"});
    add(OnAxes::Channel, {"batch_norm", "_native_batch_norm_legit_no_training", "_native_batch_norm_legit",
                          "_native_batch_norm_legit_functional"});
    return all;
  }();
  auto found = table.find(op);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

/// The tensors that a node reads, by name.
static std::vector<std::string> tensorsOf(const NormalNode &node) {
  std::vector<std::string> names;
  for (auto &[name, argument] : node.arguments)
    if (auto *value = std::get_if<ValueName>(&argument))
      names.push_back(value->name);
    else if (auto *list = std::get_if<ValueNames>(&argument))
      llvm::copy_if(list->names, std::back_inserter(names), [](const std::string &each) { return !each.empty(); });
  return names;
}

/// Puts other tensors in the place of those that a node reads.
static void replaceTensors(NormalNode &node, const std::map<std::string, std::string> &by) {
  auto replaced = [&](const std::string &name) {
    auto found = by.find(name);
    return found == by.end() ? name : found->second;
  };
  for (auto &[name, argument] : node.arguments)
    if (auto *value = std::get_if<ValueName>(&argument))
      value->name = replaced(value->name);
    else if (auto *list = std::get_if<ValueNames>(&argument))
      llvm::transform(list->names, list->names.begin(), replaced);
}

/// Runs a node whose operands are rows; `shapes` are those of its results, with the points of the grid as first axis.
std::vector<Tensor> Recover::runOnRows(NormalNode node, const std::map<std::string, Tensor> &rows,
                                       const std::vector<std::vector<SymbolicExpr>> &shapes) {
  std::map<std::string, std::string> by;
  for (auto &[name, tensor] : rows) {
    by[name] = "rows of " + name;
    tensors[by[name]] = tensor;
    if (auto meta = normal.tensors.find(name); meta != normal.tensors.end())
      normal.tensors[by[name]] = metaOf(tensor, meta->second);
  }
  replaceTensors(node, by);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty())
      continue;
    TensorMeta meta = normal.tensors.at(node.outputs[i]);
    meta.sizes.clear();
    for (const SymbolicExpr &size : shapes.at(i))
      meta.sizes.push_back({size, size.str()});
    node.outputs[i] = "rows of " + node.outputs[i];
    normal.tensors[node.outputs[i]] = std::move(meta);
  }
  auto handler = handlers().find(node.op);
  if (handler == handlers().end())
    throw Refusal{"operator '" + node.origin->target + "' has no meaning in gnnc"};
  (this->*handler->second)(node);
  std::vector<Tensor> results;
  for (const std::string &output : node.outputs) {
    results.push_back(output.empty() || !tensors.count(output) ? Tensor() : tensors.at(output));
    tensors.erase(output);
    normal.tensors.erase(output);
  }
  for (auto &[name, row] : by) {
    tensors.erase(row);
    normal.tensors.erase(row);
  }
  return results;
}

TensorMeta Recover::metaOf(const Tensor &tensor, TensorMeta like) const {
  like.sizes.clear();
  for (const Dim &dim : tensor.dims)
    like.sizes.push_back({sizeOf(dim), sizeOf(dim).str()});
  return like;
}

/// As operators on rows by places. `define` makes grids of the results again.
void Recover::runOnPairs(const NormalNode &node, const std::vector<std::string> &given) {
  std::vector<std::string> made;
  llvm::scope_exit forget([&] {
    for (const std::string &name : made)
      tensors.erase(name);
  });
  for (const std::string &name : given)
    if (auto grid = grids.find(name); grid != grids.end()) {
      if (tensors.try_emplace(name, inWholeRows(grid->second)).second)
        made.push_back(name);
    } else if (indices.count(name)) {
      // Masks of elements, [batch, 1, nodes].
      const IndexTensor x = indexFunctionOf(name);
      GridShape shape{x.sizes, {}};
      std::vector<IndexTerm> places;
      for (const SymbolicExpr &size : x.sizes)
        shape.isOfGrid.push_back(isGridSize(size));
      for (size_t axis = 0; axis < x.sizes.size(); ++axis)
        places.push_back(shape.isOfGrid[axis] ? algebra.coordinate(shape.place(axis), x.sizes[axis]) : nullptr);
      if (shape.grid().size() == 2) {
        tensors[name] = inWholeRows({shape, numbersAt(x, shape, places)});
        made.push_back(name);
      }
    }
  auto handler = handlers().find(node.op);
  if (handler == handlers().end())
    throw Refusal{"operator '" + node.origin->target + "' has no meaning in gnnc"};
  (this->*handler->second)(node);
}

/// A matrix of pairs, which is the same for all rows of a layout, as one of the pairs in each row: computed there of
/// what both sides have.
Tensor Recover::ofEachRow(const Tensor &matrix, int number) {
  const RowLayout layout = rowLayouts[size_t(number)];
  const int space = program.operations[size_t(matrix.value)].space;
  const std::vector<SymbolicExpr> byRows = {program.spaces[size_t(layout.rows)].size, layout.length};
  const int places = mapOf(gridPlaces({layout.length}, {algebra.coordinate(1, layout.length)}, byRows), layout.elements,
                           spaceOf(layout.length));
  const int pairs = pairsOf(layout.elements, layout.elements, layout.along);
  std::map<int, int> known;
  auto end = [&](int side, int at) { return program.move(program.move(at, places), sideOf(pairs, side)); };
  Tensor result{matrix.dims, pairsOn(pairs, matrix.value, space, end, known)};
  for (Dim &dim : result.dims)
    if (dim.kind == Dim::Kind::Space) {
      Dim own = dimsInRows(number)[1];
      own.pairs = pairs;
      own.side = dim.side;
      dim = own;
    }
  return result;
}

/// Puts such matrices in the place of those that meet rows by places; what they were.
std::map<std::string, Tensor> Recover::spreadMatrices(const std::vector<std::string> &given, bool isProduct) {
  std::map<std::string, Tensor> found;
  int layout = -1;
  for (const std::string &name : given)
    if (auto tensor = tensors.find(name); tensor != tensors.end()) {
      const std::vector<Dim> &dims = tensor->second.dims;
      for (size_t i = 0; i < dims.size(); ++i) {
        if (dims[i].kind == Dim::Kind::Space && dims[i].layout >= 0 && !isPadded(dims[i]))
          layout = dims[i].layout;
        for (size_t j = i + 1; j < dims.size(); ++j)
          if (areSides(tensor->second, i, j) && sizeOf(dims[i]) == sizeOf(dims[j]))
            found.insert(*tensor);
      }
    }
  for (const std::string &name : given)
    if (auto grid = grids.find(name);
        !found.empty() && isProduct && layout < 0 && grid != grids.end() && grid->second.shape.grid().size() == 2)
      for (const Dim &dim : inWholeRows(grid->second).dims)
        layout = std::max(layout, dim.layout);
  // Of all pairs of the elements that a row has, in its order.
  std::erase_if(found, [&](const auto &each) {
    if (layout < 0)
      return true;
    const int elements = spaceOf(rowLayouts[size_t(layout)].length); // which may add a space
    const RecoveredSpace &pairs = program.spaces[size_t(program.operations[size_t(each.second.value)].space)];
    return pairs.along >= 0 || pairs.sides != std::vector<int>{elements, elements};
  });
  for (auto &[name, matrix] : found)
    tensors[name] = ofEachRow(matrix, layout);
  return found;
}

bool Recover::runGrid(const NormalNode &node) {
  if (!gridOptions.areFollowed || node.outputs.empty())
    return false;
  std::vector<std::string> given = tensorsOf(node);
  bool isOnGrid = llvm::any_of(given, [&](const std::string &name) { return grids.count(name) != 0; });
  bool isFloat = llvm::any_of(given, [&](const std::string &name) { return tensors.count(name) != 0; });
  if (!isOnGrid && !isFloat)
    return false;
  static const std::set<std::string> products = {"matmul",
                                                 "bmm",
                                                 "baddbmm",
                                                 "einsum",
                                                 "cdist",
                                                 "_cdist_forward",
                                                 "scaled_dot_product_attention",
                                                 "_scaled_dot_product_flash_attention_for_cpu",
                                                 "_scaled_dot_product_attention_math",
                                                 "torch.ops.gnnc.attention.default"};
  const std::map<std::string, Tensor> matrices = spreadMatrices(given, products.count(node.op) != 0);
  llvm::scope_exit restore([&] {
    for (auto &[name, matrix] : matrices)
      tensors[name] = matrix;
  });
  // Numbers for pairs of elements of a row, and what makes such.
  bool isOnPairs = llvm::any_of(given, [&](const std::string &name) {
    auto found = tensors.find(name);
    return found != tensors.end() && isInWholeRows(found->second);
  });
  size_t count = llvm::count_if(given, [&](const std::string &name) { return grids.count(name) != 0; });
  if (isOnGrid && !isOnPairs && node.op == "einsum" && einsumOnRows(node))
    return true;
  if (isOnGrid && !isOnPairs && (node.op == "stack" || node.op == "cat") && joinGrids(node))
    return true;
  if (isOnPairs || (count > 1 && products.count(node.op))) {
    runOnPairs(node, given);
    return true;
  }
  // Only the shape of the other one is asked for.
  if (node.op == "expand_as" && tensors.count(nameOf(node, "self")))
    return false;
  // What a tensor of the same shape is filled with.
  if (handlers().count(node.op) && handlers().at(node.op) == &Recover::opFull)
    return false;
  if (isOnGrid || makesGrid(node))
    if (viewGrid(node) || lookUpOnGrid(node) || gatherFromGrid(node) || scatterToGrid(node) || foldGrid(node))
      return true;
  if (isOnGrid && (convolveGrid(node) || padGrid(node)))
    return true;
  std::optional<OnAxes> kind = onAxes(node.op);
  if (!isOnGrid && !(kind == OnAxes::Each && makesGrid(node)))
    return false;
  if (!kind)
    throw Refusal{"'" + node.op +
                  "' of a tensor with several axes of elements, such as [batch, nodes, features], is not supported: "
                  "flatten them first, x.flatten(0, 1), or write it with other operators"};
  if (*kind == OnAxes::Each)
    runEach(node, given);
  else
    runAlong(node, *kind == OnAxes::Last, *kind == OnAxes::Channel);
  return true;
}

/// Whether the result of tensors with one axis of elements each has several that are none's alone, or a view has.
bool Recover::makesGrid(const NormalNode &node) const {
  auto found = normal.tensors.find(node.outputs[0]);
  if (found == normal.tensors.end() || !isFloatType(found->second.type))
    return false;
  std::vector<SymbolicExpr> wanted = sizesOf(node.outputs[0]);
  bool isView = node.op == "view" || node.op == "reshape" || node.op == "unflatten" || node.op == "_unsafe_view";
  bool hasSeveral = isView ? leadingGrid(wanted).grid().size() > 1
                           : llvm::count_if(wanted, [&](const SymbolicExpr &size) { return isGridSize(size); }) > 1;
  if (isView && !hasSeveral && has(node, "self"))
    if (auto self = tensors.find(nameOf(node, "self")); self != tensors.end() && wanted.size() > 1)
      hasSeveral = llvm::any_of(self->second.dims, [&](const Dim &dim) {
        const SymbolicExpr size = sizeOf(dim);
        return resides(self->second, dim) && size.getFactors().empty() && isGridSize(size) &&
               !llvm::is_contained(wanted, size);
      });
  if (!hasSeveral)
    return false;
  // A table of places, of elements.
  if (node.op == "index" || node.op == "index_select" || node.op == "embedding")
    for (const std::string &name : tensorsOf(node))
      if (auto index = indices.find(name); index != indices.end() && !index->second.isTruth) {
        size_t axes = 0;
        for (size_t dim = 0; dim < index->second.sizes.size(); ++dim)
          axes += IndexAlgebra::dependsOn(index->second.value, dim) && isGridSize(index->second.sizes[dim]);
        if (axes > 1)
          return true;
      }
  // One tensor that resides somewhere, repeated, is a tensor as any other.
  std::set<size_t> places;
  for (const std::string &name : tensorsOf(node))
    if (auto tensor = tensors.find(name); tensor != tensors.end())
      for (size_t i = 0; i < tensor->second.dims.size(); ++i)
        if (const Dim &dim = tensor->second.dims[i]; resides(tensor->second, dim) && dim.pairs < 0 && dim.layout < 0)
          places.insert(tensor->second.dims.size() - i);
  return places.size() > 1 || (isView && places.size() == 1);
}

/// A convolution along one axis of a fixed size, which becomes one of the rows, as that of the channels does.
bool Recover::convolveSteps(const NormalNode &node) {
  const Steps along = stepsOf(node, tensor(node, "weight"));
  Grid x = gridOf(nameOf(node, "input"));
  if (x.shape.sizes.size() != tensor(node, "weight").dims.size())
    return false;
  x = outOfGrid(outOfGrid(std::move(x), 1), along.along);
  if (x.rows.dims.size() != 3)
    return false;
  auto [weight, bias] = weightsOf(node, along);
  const SymbolicExpr steps = sizes(node).at(along.along);
  Tensor rows = convolved(padded(x.rows, along.padding, 0), weight, steps.getNumber(), along.stride, along.dilation,
                          along.groups);
  if (bias)
    rows = binary("+", rows, *bias);
  defineGrid(node, x.shape.isOfGrid, rows, 0, x.shape.order);
  return true;
}

/// Numbers before and after those along axes of a fixed size, which become axes of the rows.
bool Recover::padGrid(const NormalNode &node) {
  if ((node.op != "pad" && node.op != "constant_pad_nd") || !grids.count(nameOf(node, "self")))
    return false;
  const std::vector<SymbolicExpr> amounts = sizesIn(node, "pad");
  const std::string mode = string(node, "mode", "constant");
  Grid x = gridOf(nameOf(node, "self"));
  for (size_t i = 0; 2 * i + 1 < amounts.size(); ++i) {
    const SymbolicExpr &before = amounts[2 * i], &after = amounts[2 * i + 1];
    if (before == SymbolicExpr(0) && after == SymbolicExpr(0))
      continue;
    const size_t axis = x.shape.sizes.size() - 1 - i;
    if (!before.getFactors().empty() || !after.getFactors().empty())
      throw Refusal{"argument 'pad': expected fixed amounts, found " + before.str() + " and " + after.str()};
    x = outOfGrid(std::move(x), axis);
    const size_t row = 1 + x.shape.place(axis);
    x.rows = mode == "constant" ? paddedBy(x.rows, row, before, after, number(node, "value", 0))
                                : paddedByItself(node, x.rows, row, before.getNumber(), after.getNumber());
  }
  defineGrid(node, x.shape.isOfGrid, x.rows, 0, x.shape.order);
  return true;
}

/// A convolution with a kernel of size 1 along all axes: a product with the channels of each element.
bool Recover::convolveGrid(const NormalNode &node) {
  if (node.op != "conv1d" && node.op != "conv2d" && node.op != "convolution")
    return false;
  Tensor weight = tensor(node, "weight");
  const size_t rank = weight.dims.size();
  auto areAll = [&](const char *name, int64_t number) {
    const Argument *given = find(node, name);
    if (given && std::holds_alternative<std::string>(*given)) // same, or valid
      return true;
    return !given || llvm::all_of(integers(node, name), [&](int64_t each) { return each == number; });
  };
  bool isOfOne = rank >= 3 && llvm::all_of(llvm::drop_begin(weight.dims, 2),
                                           [&](const Dim &dim) { return sizeOf(dim) == SymbolicExpr(1); });
  if (!isOfOne && grids.count(nameOf(node, "input")))
    return convolveSteps(node);
  if (!isOfOne || !areAll("stride", 1) || !areAll("padding", 0) || integer(node, "groups", 1) != 1 ||
      !grids.count(nameOf(node, "input")) || (node.op == "convolution" && flag(node, "transposed", false)))
    return false;
  Grid x = gridOf(nameOf(node, "input"));
  if (x.shape.sizes.size() != rank)
    return false;
  x = outOfGrid(std::move(x), 1);
  while (weight.dims.size() > 2)
    weight = squeezed(weight, weight.dims.size() - 1);
  const size_t channel = 1 + x.shape.place(1);
  Tensor rows = contract(withAxis(x.rows, channel), weight, {{channel, 1}}, {});
  if (has(node, "bias")) // which goes along the last axis, as the product's channels do
    rows = binary("+", rows, tensor(node, "bias"));
  std::rotate(rows.dims.begin() + ptrdiff_t(channel), rows.dims.end() - 1, rows.dims.end());
  defineGrid(node, x.shape.isOfGrid, rows, 0, x.shape.order);
  return true;
}

/// Whether two axes of a grid are of one size, which is not fixed, or is one that lists index.
bool Recover::isOpenPair(const GridShape &shape) const {
  std::set<std::string> seen;
  for (const SymbolicExpr &size : shape.grid())
    if (isGridSize(size) && !seen.insert(size.str()).second)
      return true;
  return false;
}

/// Each element by itself.
void Recover::runEach(const NormalNode &node, const std::vector<std::string> &given) {
  // The shape of all operands together. Features that some operand has as such stay features.
  GridShape shape;
  std::vector<bool> isFeature;
  std::vector<size_t> order;
  for (const std::string &name : given) {
    if (!grids.count(name) && !tensors.count(name))
      continue;
    Grid own = gridOf(name);
    if (order.empty())
      order = own.shape.order;
    size_t rank = std::max(own.shape.sizes.size(), shape.sizes.size());
    while (shape.sizes.size() < rank) {
      shape.sizes.insert(shape.sizes.begin(), SymbolicExpr(1));
      shape.isOfGrid.insert(shape.isOfGrid.begin(), false);
      isFeature.insert(isFeature.begin(), false);
    }
    for (size_t axis = 0; axis < own.shape.sizes.size(); ++axis) {
      size_t place = rank - own.shape.sizes.size() + axis;
      const SymbolicExpr &size = own.shape.sizes[axis];
      if (size == SymbolicExpr(1))
        continue;
      shape.sizes[place] = size;
      shape.isOfGrid[place] = shape.isOfGrid[place] || own.shape.isOfGrid[axis];
      bool isRepeated = !own.shape.isOfGrid[axis] && own.rows.dims[1 + own.shape.place(axis)].kind == Dim::Kind::Repeat;
      isFeature[place] = isFeature[place] || (!own.shape.isOfGrid[axis] && !isRepeated);
    }
  }
  for (size_t axis = 0; axis < shape.sizes.size(); ++axis)
    if (isFeature[axis] && !isGridSize(shape.sizes[axis]) && shape.sizes[axis].getNumber() <= kMostPicked)
      shape.isOfGrid[axis] = false;
  // Integers may have more axes than numbers have.
  std::vector<SymbolicExpr> wanted = sizes(node);
  if (wanted.size() >= shape.sizes.size() && !wanted.empty())
    for (size_t axis = wanted.size(); axis-- > 0;) {
      size_t back = wanted.size() - axis;
      if (back > shape.sizes.size()) {
        shape.sizes.insert(shape.sizes.begin(), wanted[axis]);
        shape.isOfGrid.insert(shape.isOfGrid.begin(), isGridSize(wanted[axis]));
      } else if (shape.sizes[shape.sizes.size() - back] == SymbolicExpr(1) && !(wanted[axis] == SymbolicExpr(1))) {
        shape.sizes[shape.sizes.size() - back] = wanted[axis];
        shape.isOfGrid[shape.sizes.size() - back] = isGridSize(wanted[axis]);
      }
    }
  size_t count = size_t(llvm::count(shape.isOfGrid, true));
  if (order.size() == count)
    shape.order = order;
  if (count > 2 && isOpenPair(shape))
    return runOnPairs(node, given);
  std::map<std::string, Tensor> rows;
  for (const std::string &name : given)
    if (grids.count(name) || tensors.count(name) || indices.count(name))
      if (auto plain = tensors.find(name); plain == tensors.end() || !plain->second.dims.empty())
        rows.emplace(name, rowsFor(name, shape));
  std::vector<SymbolicExpr> flat = shape.rows();
  flat.insert(flat.begin(), pointsOf(shape.grid()));
  bool isOne = wanted.empty(); // a loss
  std::vector<std::vector<SymbolicExpr>> shapes(node.outputs.size(), isOne ? std::vector<SymbolicExpr>() : flat);
  std::vector<Tensor> results = runOnRows(node, rows, shapes);
  for (size_t i = 0; i < results.size(); ++i)
    if (!node.outputs[i].empty()) {
      if (isOne)
        define(node, results[i], i);
      else
        defineGrid(node, shape.isOfGrid, results[i], i, shape.order);
    }
}

/// Along axes of the rows.
void Recover::runAlong(const NormalNode &node, bool isLast, bool isChannel) {
  NormalNode flat = node;
  bool isList = node.op == "cat";
  std::string first = isList ? names(node, "tensors").at(0) : nameOf(node, has(node, "input") ? "input" : "self");
  if (!isList && !grids.count(first))
    throw Refusal{"'" + node.op + "' of a tensor and one with several axes of elements is not supported"};
  GridShape shape = gridOf(first).shape;
  if (isList)
    for (const std::string &name : names(node, "tensors"))
      for (auto [axis, isOfGrid] : llvm::enumerate(gridOf(name).shape.isOfGrid))
        if (isOfGrid && !shape.isOfGrid.at(axis)) {
          shape.isOfGrid[axis] = true;
          shape.order.clear();
        }
  size_t rank = shape.sizes.size();
  // The axes that it works along, and what they are called in the rows.
  std::set<size_t> along;
  auto named = [&](int64_t axis) { return size_t(axis < 0 ? axis + int64_t(rank) : axis); };
  std::string argument = has(node, "dims") ? "dims" : "dim";
  if (isLast) {
    size_t count = node.op == "linear" || node.op == "matmul" ? 1 : integers(node, "normalized_shape").size();
    for (size_t i = 0; i < count && i < rank; ++i)
      along.insert(rank - 1 - i);
    if (node.op == "matmul" && (grids.count(nameOf(node, "other")) || sizesOf(nameOf(node, "other")).size() > 2))
      throw Refusal{"a product of two tensors with several axes of elements is not supported"};
  } else if (isChannel) {
    along.insert(1);
    if (!shape.isOfGrid.at(0))
      throw Refusal{"a batch norm of a tensor whose first axis is not one of elements"};
  } else {
    for (int64_t axis : has(node, argument) ? integers(node, argument) : std::vector<int64_t>{})
      along.insert(named(axis));
    // Without a dim, some work along the first or the last, all others along all.
    static const std::set<std::string> ofFirst = {"select",           "unbind", "cat",   "split",
                                                  "split_with_sizes", "chunk",  "slice", "narrow"};
    if (along.empty() && !has(node, argument) && (ofFirst.count(node.op) || node.op == "glu"))
      along.insert(node.op == "glu" ? rank - 1 : 0);
    for (size_t axis = 0, none = along.empty(); none && axis < rank; ++axis)
      along.insert(axis);
  }
  std::map<std::string, Tensor> rows;
  // Functions of sums over the elements of a row.
  static const std::set<std::string> ofSums = {"var",  "std", "var_mean", "std_mean", "logsumexp", "linalg_vector_norm",
                                               "norm", "any", "all"};
  for (size_t axis : along)
    if (shape.isOfGrid.at(axis) && shape.sizes[axis].getFactors().empty() &&
        !gridOptions.has(shape.sizes[axis].getNumber())) {
      shape.isOfGrid[axis] = false;
      shape.order.clear();
    } else if (shape.isOfGrid[axis]) {
      if (ofSums.count(node.op) && shape.grid().size() == 2)
        return runOnPairs(node, {first});
      throw Refusal{"'" + node.op + "' along an axis of " + shape.sizes[axis].str() + " elements of a tensor " +
                    textOf(shape.sizes) + " is not supported"};
    }
  if (isList) {
    size_t dim = *along.begin();
    for (const std::string &name : names(node, "tensors")) {
      GridShape own = shape;
      own.sizes[dim] = gridOf(name).shape.sizes.at(dim);
      rows[name] = rowsFor(name, own);
    }
  } else {
    rows[first] = rowsFor(first, shape);
  }
  if (!isLast && !isChannel) {
    std::vector<int64_t> numbers;
    for (int64_t axis :
         has(node, argument) ? integers(node, argument) : std::vector<int64_t>(along.begin(), along.end()))
      numbers.push_back(int64_t(1 + shape.place(named(axis))));
    Argument &given = flat.arguments[argument];
    if (std::holds_alternative<Integers>(given) || (numbers.size() > 1)) {
      Integers list;
      list.numbers.assign(numbers.begin(), numbers.end());
      given = std::move(list);
    } else {
      given = numbers.at(0);
    }
  } else if (isChannel && shape.place(1) != 0) {
    throw Refusal{"a batch norm whose channels are not the first axis of features"};
  }
  // Of the results, the same axes are of the grid.
  std::vector<std::vector<SymbolicExpr>> shapes;
  std::vector<std::vector<bool>> kinds;
  bool isFold = onAxes(node.op) == OnAxes::Fold || isLast;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    GridShape result;
    if (!node.outputs[i].empty()) {
      result.sizes = sizes(node, i);
      bool isShorter = isFold && result.sizes.size() < rank;
      for (size_t axis = 0; axis < rank; ++axis)
        if (!isShorter || !along.count(axis))
          result.isOfGrid.push_back(shape.isOfGrid[axis]);
      if (isChannel && result.sizes.size() != rank && !isUsed(node.outputs[i])) { // statistics of a batch norm
        flat.outputs[i].clear();
        shapes.emplace_back();
        kinds.emplace_back();
        continue;
      }
      if (isChannel && result.sizes.size() != rank)
        throw Refusal{"the statistics of a batch norm are results"};
      if (result.isOfGrid.size() != result.sizes.size())
        throw Refusal{"'" + node.op + "' changes the axes of a tensor with several axes of elements"};
      shapes.push_back(result.rows());
      shapes.back().insert(shapes.back().begin(), pointsOf(result.grid()));
    } else {
      shapes.emplace_back();
    }
    kinds.push_back(result.isOfGrid);
  }
  std::vector<Tensor> results = runOnRows(flat, rows, shapes);
  for (size_t i = 0; i < results.size(); ++i)
    if (!flat.outputs[i].empty())
      defineGrid(node, kinds[i], results[i], i, shape.order);
}
