//===- RecoverOperators.cpp - The table of operators, views and sums ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

#include <cmath>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

const std::map<std::string, Recover::Handler> &Recover::handlers() {
  using R = Recover;
  static const std::map<std::string, Handler> table = [] {
    std::map<std::string, Handler> all = {
        {"detach", &R::opDetach},
        {"clamp", &R::opClamp},
        {"clamp_min", &R::opClamp},
        {"clamp_max", &R::opClamp},
        {"hardtanh", &R::opClamp},
        {"pow", &R::opPow},
        {"float_power", &R::opPow},
        {"where", &R::opWhere},
        {"masked_fill", &R::opMaskedFill},
        {"logical_not", &R::opNot},
        {"bitwise_not", &R::opNot},
        {"addcmul", &R::opAddcmul},
        {"addcdiv", &R::opAddcmul},
        {"squeeze", &R::opSqueeze},
        {"unsqueeze", &R::opUnsqueeze},
        {"expand", &R::opExpand},
        {"expand_as", &R::opExpand},
        {"repeat", &R::opRepeat},
        {"select", &R::opSelect},
        {"slice", &R::opSlice},
        {"narrow", &R::opSlice},
        {"cat", &R::opCat},
        {"stack", &R::opCat},
        {"flip", &R::opFlip},
        {"var", &R::opVariance},
        {"var_mean", &R::opVariance},
        {"std_mean", &R::opVariance},
        {"std", &R::opVariance},
        {"linalg_vector_norm", &R::opNorm},
        {"norm", &R::opNorm},
        {"linear", &R::opLinear},
        {"addmm", &R::opLinear},
        {"einsum", &R::opEinsum},
        {"index_select", &R::opGather},
        {"gather", &R::opGather},
        {"embedding", &R::opGather},
        {"index", &R::opIndex},
        {"scatter_add", &R::opScatter},
        {"scatter_reduce", &R::opScatter},
        {"scatter", &R::opScatter},
        {"index_add", &R::opIndexAdd},
        {"index_copy", &R::opIndexAdd},
        {"index_put", &R::opIndexPut},
        {"segment_reduce", &R::opSegmentReduce},
        {"embedding_bag", &R::opEmbeddingBag},
        {"_embedding_bag", &R::opEmbeddingBag},
        {"_embedding_bag_forward_only", &R::opEmbeddingBag},
        {"fill_diagonal", &R::opFillDiagonal},
        {"one_hot", &R::opOneHot},
        {"bucketize", &R::opBucketize},
        {"searchsorted", &R::opBucketize},
        {"batch_norm", &R::opBatchNorm},
        {"_native_batch_norm_legit_no_training", &R::opBatchNorm},
        {"_native_batch_norm_legit", &R::opBatchNorm},
        {"_native_batch_norm_legit_functional", &R::opBatchNorm},
        {"layer_norm", &R::opLayerNorm},
        {"native_layer_norm", &R::opLayerNorm},
        {"dropout", &R::opDropout},
        {"native_dropout", &R::opDropout},
        {"cross_entropy_loss", &R::opCrossEntropy},
        {"nll_loss_forward", &R::opCrossEntropy},
        {"nll_loss", &R::opCrossEntropy},
        {"gru_cell", &R::opGRUCell},
        {"lstm_cell", &R::opLSTMCell},
        {"lstm", &R::opRecurrent},
        {"gru", &R::opRecurrent},
        {"rnn_tanh", &R::opRecurrent},
        {"rnn_relu", &R::opRecurrent},
        {"rnn_tanh_cell", &R::opGRUCell},
        {"rnn_relu_cell", &R::opGRUCell},
        {"nll_loss_nd", &R::opCrossEntropy},
        {"binary_cross_entropy", &R::opBinaryCrossEntropy},
        {"binary_cross_entropy_with_logits", &R::opBinaryCrossEntropy},
        {"kl_div", &R::opDivergence},
        {"margin_ranking_loss", &R::opMarginLoss},
        {"instance_norm", &R::opInstanceNorm},
        {"prelu", &R::opPReLU},
        {"_prelu_kernel", &R::opPReLU},
        {"cross", &R::opCross},
        {"linalg_cross", &R::opCross},
        {"cosine_similarity", &R::opCosine},
        {"baddbmm", &R::opLinear},
        {"addmv", &R::opLinear},
        {"index_reduce", &R::opIndexAdd},
        {"index_fill", &R::opIndexAdd},
        {"masked_select", &R::opIndex},
        {"eye", &R::opEye},
        {"pad", &R::opPad},
        {"constant_pad_nd", &R::opPad},
        {"prod", &R::opProduct},
        {"roll", &R::opRoll},
        {"copy", &R::opCopy},
        {"glu", &R::opGLU},
        {"triplet_margin_loss", &R::opTriplet},
        {"cosine_embedding_loss", &R::opCosineLoss},
        {"repeat_interleave", &R::opRepeatInterleave},
        {"rms_norm", &R::opRMSNorm},
        {"_fused_rms_norm", &R::opRMSNorm},
        {"pairwise_distance", &R::opDistance},
        {"bilinear", &R::opBilinear},
        {"_trilinear", &R::opTrilinear},
        {"cdist", &R::opPairDistances},
        {"_cdist_forward", &R::opPairDistances},
        {"torch.ops.gnnc.drawn.default", &R::opDrawn},
        {"torch.ops.gnnc.nearest.default", &R::opNearest},
        {"torch.ops.gnnc.within.default", &R::opNearest},
        {"torch.ops.gnnc.top.default", &R::opMembers},
        {"torch.ops.gnnc.farthest.default", &R::opMembers},
    };
    auto add = [&](Handler handler, std::initializer_list<const char *> names) {
      for (const char *name : names)
        all[name] = handler;
    };
    add(&R::opUnary,
        {"relu",       "gelu",       "silu",       "sigmoid",   "tanh",        "softplus",  "exp",  "log",
         "sqrt",       "rsqrt",      "abs",        "sign",      "sin",         "cos",       "erf",  "reciprocal",
         "neg",        "square",     "leaky_relu", "elu",       "log1p",       "expm1",     "log2", "log_sigmoid",
         "relu6",      "selu",       "celu",       "mish",      "hardsigmoid", "hardswish", "tan",  "sinh",
         "cosh",       "asinh",      "acosh",      "atanh",     "exp2",        "log10",     "erfc", "softsign",
         "tanhshrink", "hardshrink", "softshrink", "threshold", "rrelu",       "logit",     "sgn",  "deg2rad",
         "rad2deg",    "isinf",      "floor",      "ceil",      "round",       "trunc",     "fix",  "frac"});
    add(&R::opBinary, {"add",        "sub",         "mul",         "div",        "rsub",        "true_divide",
                       "maximum",    "minimum",     "eq",          "ne",         "lt",          "le",
                       "gt",         "ge",          "logical_and", "logical_or", "logical_xor", "bitwise_and",
                       "bitwise_or", "bitwise_xor", "__and__",     "__or__",     "__xor__"});
    add(&R::opPair, {"lerp", "hypot", "logaddexp", "xlogy", "outer", "ger"});
    add(&R::opDivision, {"remainder", "fmod", "floor_divide"});
    add(&R::opOrder, {"topk", "sort", "median"});
    add(&R::opPool1d,
        {"avg_pool1d", "max_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d", "max_pool1d_with_indices"});
    add(&R::opAngle, {"atan2", "arctan2", "atan", "asin", "acos"});
    add(&R::opSequence, {"arange", "linspace", "logspace"});
    add(&R::opTriangle, {"tril", "triu"});
    add(&R::opCumulative, {"cumsum", "cumprod"});
    add(&R::opReplacePart, {"select_scatter", "slice_scatter"});
    add(&R::opArgExtremum, {"argmax", "argmin"});
    add(&R::opDiagonal, {"diagonal", "trace", "diag"});
    add(&R::opDiagonalScatter, {"diagonal_scatter"});
    add(&R::opAny, {"any", "all", "count_nonzero"});
    add(&R::opInner, {"inner", "tensordot"});
    add(&R::opConvolution, {"conv1d", "conv2d", "convolution"});
    add(&R::opGroupNorm, {"group_norm", "native_group_norm"});
    add(&R::opWeightNorm, {"_weight_norm", "_weight_norm_interface"});
    add(&R::opAttention, {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu",
                          "_scaled_dot_product_attention_math", "torch.ops.gnnc.attention.default"});
    add(&R::opDropout, {"feature_dropout", "alpha_dropout", "feature_alpha_dropout"});
    add(&R::opSame, {"alias", "clone", "contiguous", "to", "_to_copy", "lift_fresh_copy", "lift_fresh", "type_as",
                     "float", "double", "bool", "positive"});
    add(&R::opDistanceLoss, {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"});
    add(&R::opFull, {"zeros", "ones", "full", "empty", "new_zeros", "new_ones", "new_full", "new_empty", "zeros_like",
                     "ones_like", "full_like", "empty_like", "scalar_tensor", "zero", "fill", "empty_permuted",
                     "empty_strided", "new_empty_strided"});
    add(&R::opReshape, {"view", "reshape", "flatten", "unflatten", "_unsafe_view", "view_as", "reshape_as", "ravel"});
    add(&R::opTranspose,
        {"t", "transpose", "permute", "numpy_T", "swapaxes", "swapdims", "movedim", "moveaxis", "mT", "adjoint"});
    add(&R::opSplit, {"split", "split_with_sizes", "chunk", "unbind"});
    add(&R::opFold, {"sum", "mean", "amax", "amin", "logsumexp"});
    add(&R::opMaxDim, {"max", "min"});
    add(&R::opSoftmax, {"softmax", "_softmax", "log_softmax", "_log_softmax"});
    add(&R::opMatmul, {"matmul", "mm", "bmm", "mv", "dot", "vdot"});
    add(&R::opFlip, {"fliplr", "flipud"});
    add(&R::opRepeat, {"tile"});
    add(&R::opSplit, {"tensor_split", "hsplit", "vsplit", "dsplit"});
    add(&R::opNorm, {"linalg_norm"});
    add(&R::opExtrema, {"aminmax"});
    add(&R::opAtLeast, {"atleast_1d", "atleast_2d", "atleast_3d"});
    add(&R::opStackParts, {"hstack", "vstack", "dstack", "column_stack"});
    add(&R::opDiff, {"diff"});
    add(&R::opTrapezoid, {"trapezoid"});
    add(&R::opRunning, {"cummax", "cummin", "logcumsumexp"});
    add(&R::opUnfold, {"unfold"});
    add(&R::opDiagEmbed, {"diag_embed", "diagflat"});
    add(&R::opKron, {"kron"});
    add(&R::opOrdered, {"kthvalue", "quantile"});
    add(&R::opArgsort, {"argsort"});
    add(&R::opIsSpecial, {"isnan", "isfinite", "isposinf", "isneginf", "signbit"});
    add(&R::opNanToNum, {"nan_to_num"});
    add(&R::opFoldPresent, {"nansum", "nanmean"});
    add(&R::opRarePair, {"heaviside", "fmax", "fmin", "copysign", "ldexp", "isclose", "logaddexp2"});
    add(&R::opRare, {"special_ndtr", "special_entr", "sinc"});
    add(&R::opChain, {"linalg_multi_dot", "chain_matmul"});
    add(&R::opAddOuter, {"addr", "addbmm"});
    add(&R::opVecdot, {"linalg_vecdot"});
    add(&R::opDist, {"dist"});
    add(&R::opPoissonLoss, {"poisson_nll_loss"});
    add(&R::opHingeLoss, {"hinge_embedding_loss", "soft_margin_loss"});
    add(&R::opMultiMargin, {"multi_margin_loss"});
    return all;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

void Recover::opReshape(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  std::vector<SymbolicExpr> wanted = sizes(node);
  // Where a static space is regrouped it has to be an axis.
  for (size_t i = 0; i < x.dims.size(); ++i)
    if (x.dims[i].kind == Kind::Space && program.spaces[x.dims[i].id].extent >= 0) {
      size_t place = 0;
      for (size_t before = 0; before < i; ++before)
        place += x.dims[before].kind != Kind::Unit;
      size_t found = 0;
      bool stays = false;
      for (const SymbolicExpr &size : wanted)
        if (!(size == SymbolicExpr(1)) && found++ == place)
          stays = size == SymbolicExpr(program.spaces[x.dims[i].id].extent);
      if (!stays)
        x = toAxis(x, i);
    }
  define(node, reshape(x, wanted));
}

void Recover::opSqueeze(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  define(node, reshape(x, sizes(node)));
}

void Recover::opUnsqueeze(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  define(node, unsqueezed(x, axisNumber(node, "dim", 0, x.dims.size() + 1)));
}

void Recover::opExpand(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  noteExpanded(x, sizes(node));
  define(node, broadcast(x, sizes(node)));
}

void Recover::opRepeat(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  std::vector<SymbolicExpr> wanted = sizes(node);
  const Argument *repeats = find(node, node.op == "tile" ? "dims" : "repeats");
  auto *list = repeats ? std::get_if<Integers>(repeats) : nullptr;
  // `tile` may leave out the first of them.
  size_t left = list && list->numbers.size() < wanted.size() ? wanted.size() - list->numbers.size() : 0;
  while (x.dims.size() < wanted.size())
    x.dims.insert(x.dims.begin(), Dim());
  bool isExpanded = true; // only axes of one element are repeated
  for (size_t i = 0; i < wanted.size(); ++i)
    isExpanded &= x.dims[i].kind == Kind::Unit || sizeOf(x.dims[i]) == wanted[i];
  if (isExpanded) {
    noteExpanded(x, wanted);
    return define(node, broadcast(x, wanted));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    auto *times = list && i >= left ? std::get_if<int64_t>(&list->numbers.at(i - left)) : nullptr;
    if (i < left || (times && *times == 1))
      continue;
    if (x.dims[i].kind == Kind::Unit) {
      x.dims[i] = dimOf(wanted[i]);
    } else if (times && *times <= 64) {
      x = concat(std::vector<Tensor>(static_cast<size_t>(*times), x), i);
    } else if (SymbolicExpr size = sizeOf(x.dims[i]); size.getFactors().empty()) {
      // Row i of the copies is row i mod size.
      IndexTensor rows = views::tile(algebra, {{size}, algebra.coordinate(0, size)}, 0, wanted[i]);
      x = gatherList(x, i, indexSources.lists(rows, 0).components.at(0));
    } else {
      throw Refusal{"it repeats the rows of '" + sizeOf(x.dims[i]).str() +
                    "' a number of times that is not fixed: all pairs"};
    }
  }
  define(node, x);
}

/// The axes of an operand in the order in which a transposition of it has them.
std::vector<size_t> Recover::transposedAxes(const NormalNode &node, size_t rank) const {
  auto places = [&](const char *name) {
    std::vector<size_t> found;
    for (int64_t each : integers(node, name))
      found.push_back(size_t(each < 0 ? each + int64_t(rank) : each));
    return found;
  };
  if (node.op == "permute")
    return places("dims");
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (node.op == "movedim" || node.op == "moveaxis") {
    std::vector<size_t> from = places("source"), to = places("destination"), rest, result;
    llvm::copy_if(order, std::back_inserter(rest), [&](size_t axis) { return !llvm::is_contained(from, axis); });
    auto next = rest.begin();
    for (size_t i = 0; i < rank; ++i) {
      auto named = llvm::find(to, i);
      result.push_back(named == to.end() ? *next++ : from.at(size_t(named - to.begin())));
    }
    return result;
  }
  if (node.op == "numpy_T")
    std::reverse(order.begin(), order.end());
  else if (node.op == "mT" || node.op == "mH" || node.op == "adjoint")
    std::swap(order.at(rank - 1), order.at(rank - 2));
  else if (rank >= 2)
    std::swap(order[node.op == "t" ? 0 : axisNumber(node, has(node, "axis0") ? "axis0" : "dim0", 0, rank)],
              order[node.op == "t" ? 1 : axisNumber(node, has(node, "axis1") ? "axis1" : "dim1", 1, rank)]);
  return order;
}

void Recover::opTranspose(const NormalNode &node) {
  Tensor x = tensor(node, "self"), result{{}, x.value};
  for (size_t axis : transposedAxes(node, x.dims.size()))
    result.dims.push_back(x.dims.at(axis));
  define(node, result);
}

void Recover::opSelect(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  if (x.dims[dim].kind == Kind::Space && program.spaces[x.dims[dim].id].extent >= 0)
    x = toAxis(x, dim);
  const Argument *given = find(node, "index");
  SymbolicExpr at = given ? expression(*given) : SymbolicExpr(0);
  bool isSize = !at.getFactors().empty() && x.dims[dim].kind == Kind::Space;
  define(node, isSize ? pickRow(x, dim, at) : pick(x, dim, integer(node, "index", 0)));
}

void Recover::opSlice(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  int64_t step = integer(node, "step", 1);
  std::vector<SymbolicExpr> wanted = sizes(node);
  if (x.dims[dim].kind == Kind::Space) {
    if (program.spaces[x.dims[dim].id].size == wanted.at(dim) && step == 1)
      return define(node, x);
    SymbolicExpr begin = has(node, "start") ? expression(*find(node, "start")) : SymbolicExpr(0);
    const SymbolicExpr &length = wanted.at(dim);
    if (begin.getFactors().empty() && begin.getNumber() < 0)
      begin = program.spaces[x.dims[dim].id].size + begin;
    Index last = constant(int64_t(1) << 40);
    bool hasEnd = node.op == "narrow";
    if (node.op == "slice" && has(node, "end")) {
      const Argument &end = *find(node, "end");
      auto *literal = std::get_if<int64_t>(&end);
      hasEnd = !literal || *literal != INT64_MAX;
    }
    if (hasEnd) {
      SymbolicExpr end =
          node.op == "narrow" ? begin + expression(*find(node, "length")) : expression(*find(node, "end"));
      last = sizeIndex(end);
    }
    return define(node, rowsFrom(x, dim, sizeIndex(begin), last, step, length));
  }
  int64_t begin = integer(node, "start", 0);
  int64_t end = node.op == "narrow" ? begin + integer(node, "length", 0) : integer(node, "end", INT64_MAX);
  define(node, slice(x, dim, begin, end, step));
}

/// A slice of a space, of so many elements: a gather by the numbers that count up.
Tensor Recover::rowsFrom(const Tensor &x, size_t dim, const Index &first, const Index &last, int64_t step,
                         const SymbolicExpr &length) {
  const SymbolicExpr all = program.spaces[x.dims[dim].id].size;
  Index numbers = call("arange", {constant(0), sizeIndex(all), constant(1)}, all);
  Index places = call("slice", {numbers, first, last, constant(step)}, length);
  learnSymbol(length, "length(" + places->text + ")");
  return gatherList(x, dim, places);
}

void Recover::opSplit(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  int64_t last = node.op == "dsplit" ? 2 : node.op == "hsplit" && x.dims.size() > 1 ? 1 : 0;
  size_t dim = axisNumber(node, "dim", last, x.dims.size());
  // An axis of many places would be a sum over all of them.
  if (x.dims[dim].kind == Kind::Space &&
      (program.spaces[x.dims[dim].id].extent < 0 ||
       (program.spaces[x.dims[dim].id].extent > kMostPicked && node.op != "unbind"))) {
    SymbolicExpr begin = 0;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.op == "unbind" || node.outputs[i].empty())
        throw Refusal{"it splits the rows of a space whose size is not fixed into one each"};
      SymbolicExpr length = sizes(node, i).at(dim);
      const SymbolicExpr end = begin + length;
      bool isAll = length == program.spaces[x.dims[dim].id].size;
      define(node, isAll ? x : rowsFrom(x, dim, sizeIndex(begin), sizeIndex(end), 1, length), i);
      begin = end;
    }
    return;
  }
  if (x.dims[dim].kind == Kind::Space)
    x = toAxis(x, dim);
  int64_t begin = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.op == "unbind") {
      if (!node.outputs[i].empty())
        define(node, pick(x, dim, int64_t(i)), i);
      continue;
    }
    int64_t length = sizes(node, i).at(dim).getNumber();
    define(node, slice(x, dim, begin, begin + length, 1), i);
    begin += length;
  }
}

void Recover::opCat(const NormalNode &node) {
  std::vector<Tensor> parts;
  std::vector<SymbolicExpr> wanted = sizes(node);
  size_t dim = axisNumber(node, "dim", 0, wanted.size());
  for (const std::string &name : names(node, "tensors")) {
    Tensor part = tensorOf(name);
    // What torch.cat has always allowed: an empty list among tensors.
    if (node.op == "cat" && part.dims.size() == 1 && wanted.size() > 1)
      continue;
    parts.push_back(node.op == "stack" ? unsqueezed(part, dim) : part);
  }
  define(node, concat(parts, dim));
}

void Recover::opFlip(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  std::vector<int64_t> axes = node.op == "fliplr"   ? std::vector<int64_t>{1}
                              : node.op == "flipud" ? std::vector<int64_t>{0}
                                                    : integers(node, "dims");
  for (int64_t axis : axes) {
    size_t dim = size_t(axis < 0 ? axis + int64_t(x.dims.size()) : axis);
    if (x.dims.at(dim).kind == Kind::Space) {
      const SymbolicExpr size = program.spaces[x.dims[dim].id].size;
      Index all = call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
      x = gatherList(x, dim, call("flip", {all}, size));
    } else if (x.dims[dim].kind == Kind::Group) {
      throw Refusal{"it reverses an axis of size " + sizeOf(x.dims[dim]).str() + ", which a view made of others"};
    } else if (x.dims[dim].kind == Kind::Axis) {
      std::vector<Tensor> parts;
      for (int64_t i = x.dims[dim].size; i-- > 0;)
        parts.push_back(slice(x, dim, i, i + 1, 1));
      x = concat(parts, dim);
    }
  }
  define(node, x);
}

//===----------------------------------------------------------------------===//
// Sums and extrema
//===----------------------------------------------------------------------===//

static std::vector<size_t> allDims(size_t rank) {
  std::vector<size_t> dims(rank);
  for (size_t i = 0; i < rank; ++i)
    dims[i] = i;
  return dims;
}

std::vector<size_t> gnnc::frontend::pytorch::foldedDims(const std::vector<int64_t> &listed, size_t rank) {
  std::vector<size_t> dims;
  for (int64_t dim : listed)
    dims.push_back(size_t(dim < 0 ? dim + int64_t(rank) : dim));
  return dims.empty() ? allDims(rank) : dims;
}

void Recover::opFold(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  std::vector<size_t> dims = foldedDims(integers(node, "dim"), x.dims.size());
  std::string function = node.op == "amax" ? "max" : node.op == "amin" ? "min" : node.op;
  define(node, fold(function, x, dims, flag(node, "keepdim", false)));
}

void Recover::opMaxDim(const NormalNode &node) {
  if (has(node, "other"))
    return define(node, binary(node.op + "imum", tensor(node, "self"), tensor(node, "other")));
  Tensor x = tensor(node, "self");
  std::vector<size_t> dims = allDims(x.dims.size());
  if (has(node, "dim"))
    dims = {axisNumber(node, "dim", 0, x.dims.size())};
  bool keep = flag(node, "keepdim", false);
  define(node, fold(node.op, x, dims, keep));
  if (node.outputs.size() > 1 && !node.outputs[1].empty() && isUsed(node.outputs[1]))
    define(node, firstBest(x, dims.at(0), node.op == "max", keep), 1);
}

/// The smallest and the largest number.
void Recover::opExtrema(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  std::vector<size_t> dims = foldedDims(integers(node, "dim"), x.dims.size());
  for (size_t i = 0; i < node.outputs.size() && i < 2; ++i)
    if (!node.outputs[i].empty())
      define(node, fold(i == 0 ? "min" : "max", x, dims, flag(node, "keepdim", false)), i);
}

/// Whether any, or all, of some numbers are not 0, and how many are not.
void Recover::opAny(const NormalNode &node) {
  Tensor x = truth(node, "self");
  std::vector<size_t> dims = foldedDims(integers(node, "dim"), x.dims.size());
  const char *function = node.op == "any" ? "max" : node.op == "all" ? "min" : "sum";
  define(node, fold(function, x, dims, flag(node, "keepdim", false)));
}

void Recover::opVariance(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  std::vector<size_t> dims = foldedDims(integers(node, "dim"), x.dims.size());
  double correction = has(node, "unbiased") ? double(flag(node, "unbiased", true)) : number(node, "correction", 1);
  Tensor mean = fold("mean", x, dims, true), squares = unary("square", binary("-", x, mean));
  bool keep = flag(node, "keepdim", false);
  Tensor size = scalar(1);
  for (size_t dim : dims) {
    size = binary("*", size, Tensor{{}, sizeAsNumber(sizeOf(x.dims.at(dim)))});
  }
  Tensor variance = fold("sum", squares, dims, keep);
  variance = binary("/", variance, correction == 0 ? size : binary("-", size, correction));
  define(node, node.op.compare(0, 3, "std") == 0 ? safeRoot(variance) : variance);
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    define(node, fold("mean", x, dims, keep), 1);
}

Tensor Recover::norm(const Tensor &x, double order, const std::vector<size_t> &dims, bool keep) {
  if (order == 1)
    return fold("sum", unary("abs", x), dims, keep);
  if (std::isinf(order))
    return fold(order > 0 ? "max" : "min", unary("abs", x), dims, keep);
  if (order <= 0)
    throw Refusal{"a norm of order " + std::to_string(order) + "; expected one above 0"};
  if (order == 2)
    return safeRoot(fold("sum", unary("square", x), dims, keep));
  // The root's gradient is 0 where all numbers are 0.
  Tensor sum = fold("sum", binary("^", unary("abs", x), order), dims, keep), isZero = binary("==", sum, 0);
  Tensor root = binary("^", where(isZero, scalar(1), sum), 1 / order);
  return where(isZero, scalar(0), root);
}

void Recover::opNorm(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  const char *argument = node.op == "norm" ? "p" : "ord";
  std::vector<size_t> dims = foldedDims(integers(node, "dim"), x.dims.size());
  // linalg.norm is one of matrices where it has an order and two axes.
  bool isMatrix = node.op == "linalg_norm" && has(node, "ord") && dims.size() == 2;
  std::string name = string(node, argument, "fro");
  if (name != "fro" || (isMatrix && number(node, "ord")))
    throw Refusal{"argument '" + std::string(argument) + "': expected the Frobenius norm (fro) of matrices, found " +
                  (name != "fro" ? "'" + name + "'" : std::to_string(*number(node, argument)))};
  double order = string(node, argument, "").empty() ? number(node, argument, 2) : 2;
  define(node, norm(x, order, dims, flag(node, "keepdim", false)));
}

Tensor Recover::softmax(Tensor x, size_t dim, bool isLog) {
  const Dim each = x.dims.at(dim);
  if (each.kind == Kind::Group)
    throw Refusal{"a softmax along an axis of size " + sizeOf(each).str() + ", which a view made of others"};
  if (each.kind == Kind::Axis) {
    x.value = program.over(isLog ? "log_softmax" : "softmax", x.value, {each.id});
    return x;
  }
  if (auto side = maskedScores.find(x.value); each.layout >= 0 && side != maskedScores.end() && !isLog) {
    if (!resides(x, each) || sideIn(each) != side->second)
      throw Refusal{"a softmax along the dim of a matrix of scores that its mask leaves alone"};
    int along = each.pairs < 0 ? rowLayouts[size_t(each.layout)].along : sideOf(each.pairs, 1 - each.side);
    x.value = program.softmax("softmax", x.value, along);
    maskedWeights[x.value] = side->second;
    return x;
  }
  if (isPadded(each))
    throw Refusal{"a softmax along rows of equal length without a mask that leaves out what is behind their elements"};
  if (resides(x, each)) {
    Tensor shifted = binary("-", x, fold("max", Tensor{x.dims, program.detach(x.value)}, {dim}, true));
    Tensor sum = fold("sum", unary("exp", shifted), {dim}, true);
    return isLog ? binary("-", shifted, unary("log", sum)) : binary("/", unary("exp", shifted), sum);
  }
  // The same all along.
  Tensor size{{}, sizeAsNumber(sizeOf(each))};
  Tensor even = isLog ? binary("-", scalar(0), unary("log", size)) : unary("recip", size);
  if (each.kind == Kind::Unit)
    even = scalar(isLog ? 0 : 1);
  even.dims = x.dims;
  for (Dim &own : even.dims)
    if (own.kind == Kind::Axis)
      own = {Kind::Repeat, -1, own.size};
  return even;
}

void Recover::opSoftmax(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  bool isLog = node.op.find("log") != std::string::npos;
  define(node, softmax(x, axisNumber(node, "dim", -1, x.dims.size()), isLog));
}
