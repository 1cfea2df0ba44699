//===- RecoverNorms.cpp - Norms and dropout ---------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// A parameter for each channel, the second axis of a tensor of this rank.
Tensor Recover::perChannel(const NormalNode &node, const std::string &name, size_t rank) {
  Tensor each = tensor(node, name);
  while (each.dims.size() + 1 < rank)
    each = unsqueezed(each, each.dims.size());
  return each;
}

/// (x − mean) / √(variance + eps), both over `dims`.
Tensor Recover::normalised(const Tensor &x, const std::vector<size_t> &dims, double eps) {
  Tensor centred = binary("-", x, fold("mean", x, dims, true));
  Tensor variance = fold("mean", unary("square", centred), dims, true);
  return binary("*", centred, unary("rsqrt", binary("+", variance, eps)));
}

/// What is normalised times a weight, plus a bias, where there are such.
Tensor Recover::scaled(const NormalNode &node, Tensor y, bool channels) {
  size_t rank = channels ? y.dims.size() : 0;
  if (has(node, "weight"))
    y = binary("*", y, perChannel(node, "weight", rank));
  if (has(node, "bias"))
    y = binary("+", y, perChannel(node, "bias", rank));
  return y;
}

void Recover::opBatchNorm(const NormalNode &node) {
  Tensor x = tensor(node, node.arguments.count("input") ? "input" : "self");
  bool training = node.op == "batch_norm"
                      ? flag(node, "training", false)
                      : node.op != "_native_batch_norm_legit_no_training" && flag(node, "training", true);
  double eps = number(node, "eps", 1e-5);
  size_t rank = x.dims.size();
  if (rank < 2)
    throw Refusal{"batch_norm of a tensor with " + std::to_string(rank) + " axes; expected at least 2"};
  std::vector<size_t> dims;
  for (size_t dim = 0; dim < rank; ++dim)
    if (dim != 1)
      dims.push_back(dim);
  if (training || !has(node, "running_mean"))
    return define(node, scaled(node, normalised(x, dims, eps), true));
  Tensor mean = perChannel(node, "running_mean", rank), variance = perChannel(node, "running_var", rank);
  Tensor scale = unary("rsqrt", binary("+", variance, eps));
  if (has(node, "weight"))
    scale = binary("*", scale, perChannel(node, "weight", rank));
  Tensor y = binary("*", binary("-", x, mean), scale);
  if (has(node, "bias"))
    y = binary("+", y, perChannel(node, "bias", rank));
  define(node, y);
}

/// The channels of each instance are normalised in groups.
void Recover::opGroupNorm(const NormalNode &node) {
  Tensor x = tensor(node, "input");
  int64_t groups = integer(node, node.op == "group_norm" ? "num_groups" : "group", 1);
  std::vector<SymbolicExpr> shape, grouped;
  for (const Dim &dim : x.dims)
    shape.push_back(sizeOf(dim));
  if (shape.size() < 2 || !shape[1].getFactors().empty())
    throw Refusal{"group_norm: expected the channels to be the second axis, of fixed size"};
  grouped = {shape[0], groups, shape[1].getNumber() / groups};
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  std::vector<size_t> dims;
  for (size_t dim = 2; dim < grouped.size(); ++dim)
    dims.push_back(dim);
  double eps = number(node, "eps", 1e-5);
  Tensor parts = reshape(x, grouped), y = reshape(normalised(parts, dims, eps), shape);
  define(node, scaled(node, y, true));
  if (node.op == "native_group_norm")
    defineStatistics(node, parts, dims, eps);
}

/// x / √(mean of squares + eps).
void Recover::opRMSNorm(const NormalNode &node) {
  Tensor x = tensor(node, "input");
  std::vector<size_t> dims;
  size_t count = integers(node, "normalized_shape").size();
  for (size_t i = x.dims.size() - std::min(count, x.dims.size()); i < x.dims.size(); ++i)
    dims.push_back(i);
  Tensor squares = fold("mean", unary("square", x), dims, true);
  double eps = number(node, "eps", 1.1920928955078125e-07);
  define(node, scaled(node, binary("*", x, unary("rsqrt", binary("+", squares, eps))), false));
}

/// A weight of given lengths: v g / |v|, along all axes but one.
void Recover::opWeightNorm(const NormalNode &node) {
  Tensor v = tensor(node, "v"), g = tensor(node, "g");
  size_t dim = axisNumber(node, "dim", 0, v.dims.size());
  std::vector<size_t> others;
  for (size_t i = 0; i < v.dims.size(); ++i)
    if (i != dim || integer(node, "dim", 0) == -1)
      others.push_back(i);
  Tensor length = unary("sqrt", fold("sum", unary("square", v), others, true));
  define(node, binary("*", v, binary("/", g, length)));
}

/// Each channel of each instance is normalised over all the axes after the channels'.
void Recover::opInstanceNorm(const NormalNode &node) {
  Tensor x = tensor(node, "input");
  size_t rank = x.dims.size();
  if (rank < 3)
    throw Refusal{"instance_norm of a tensor with " + std::to_string(rank) +
                  " axes; expected instances, channels, and axes to normalise over"};
  double eps = number(node, "eps", 1e-5);
  if (flag(node, "use_input_stats", true)) {
    std::vector<size_t> dims;
    for (size_t i = 2; i < rank; ++i)
      dims.push_back(i);
    return define(node, scaled(node, normalised(x, dims, eps), true));
  }
  Tensor centred = binary("-", x, perChannel(node, "running_mean", rank));
  Tensor scale = unary("rsqrt", binary("+", perChannel(node, "running_var", rank), eps));
  define(node, scaled(node, binary("*", centred, scale), true));
}

void Recover::opLayerNorm(const NormalNode &node) {
  Tensor x = tensor(node, "input");
  std::vector<size_t> dims;
  size_t count = integers(node, "normalized_shape").size();
  for (size_t i = x.dims.size() - std::min(count, x.dims.size()); i < x.dims.size(); ++i)
    dims.push_back(i);
  double eps = number(node, "eps", 1e-5);
  define(node, scaled(node, normalised(x, dims, eps), false));
  if (node.op == "native_layer_norm")
    defineStatistics(node, x, dims, eps);
}

/// The second and third result of a norm: the means, and 1 / sqrt(variance + eps).
void Recover::defineStatistics(const NormalNode &node, const Tensor &x, const std::vector<size_t> &dims, double eps) {
  if (node.outputs.size() < 3)
    return;
  Tensor mean = fold("mean", x, dims, true);
  Tensor variance = fold("mean", unary("square", binary("-", x, mean)), dims, true);
  define(node, reshape(mean, sizes(node, 1)), 1);
  define(node, reshape(unary("rsqrt", binary("+", variance, eps)), sizes(node, 2)), 2);
}

void Recover::opDropout(const NormalNode &node) {
  if (node.op != "dropout" && node.op != "native_dropout")
    if (flag(node, "train", false) && number(node, "p", 0.5) != 0)
      throw Refusal{"dropout in training mode; export the model after eval()"};
  // Forward and gradient programs are those of inference: numbers would silently not be dropped.
  if (flag(node, "train", node.op == "native_dropout") && number(node, "p", 0.5) != 0)
    throw Refusal{"dropout in training mode; export the model after eval()"};
  define(node, tensor(node, "input"));
}
