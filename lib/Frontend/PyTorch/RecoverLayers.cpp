//===- RecoverLayers.cpp - Products, gathers, scatters, norms and cells ---===//
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

void Recover::opLinear(const NormalNode &node) {
  if (node.op == "addmm" || node.op == "baddbmm" || node.op == "addmv") {
    static const std::map<std::string, std::pair<const char *, const char *>> factors = {
        {"addmm", {"mat1", "mat2"}}, {"baddbmm", {"batch1", "batch2"}}, {"addmv", {"mat", "vec"}}};
    auto [left, right] = factors.at(node.op);
    Tensor product = binary("*", matmul(tensor(node, left), tensor(node, right)), number(node, "alpha", 1));
    double beta = number(node, "beta", 1);
    // By the definition, with beta 0 not even infinite numbers of the summand count.
    if (beta == 0)
      return define(node, product);
    return define(node, binary("+", product, binary("*", tensor(node, "self"), beta)));
  }
  std::optional<Tensor> bias;
  if (has(node, "bias"))
    bias = tensor(node, "bias");
  define(node, linear(tensor(node, "input"), tensor(node, "weight"), bias));
}

void Recover::opMatmul(const NormalNode &node) {
  const char *other = node.op == "matmul" || node.op == "mm" || node.op == "bmm" ? "mat2"
                      : node.op == "mv"                                          ? "vec"
                                                                                 : "tensor";
  Tensor a = tensor(node, "self"), b = tensor(node, has(node, other) ? other : "other");
  define(node, matmul(a, b));
}

void Recover::opEinsum(const NormalNode &node) {
  std::vector<Tensor> operands;
  for (const std::string &name : names(node, "tensors"))
    operands.push_back(tensorOf(name));
  define(node, einsum(string(node, "equation", ""), operands));
}

//===----------------------------------------------------------------------===//
// Gathers and scatters
//===----------------------------------------------------------------------===//

void Recover::opGather(const NormalNode &node) {
  if (node.op == "embedding") {
    Tensor rows = gather(tensor(node, "weight"), 0, index(node, "indices"));
    // The row of padding is learnt by nobody.
    if (int64_t padding = integer(node, "padding_idx", -1); padding >= 0) {
      const IndexTensor &at = index(node, "indices");
      std::vector<SymbolicExpr> shape = sizesOf(nameOf(node, "indices"));
      Tensor isPadding = asNumbers(elementwise("eq", {at, {{}, {constant(padding)}}}, true, shape));
      Tensor fixed{rows.dims, program.detach(rows.value)};
      rows = where(unsqueezed(isPadding, isPadding.dims.size()), fixed, rows);
    }
    return define(node, rows);
  }
  Tensor x = tensor(node, "self");
  const IndexTensor &at = index(node, "index");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  if (node.op == "index_select")
    return define(node, gather(x, dim, at));
  bool alongRows = at.dims.at(dim).kind == IndexDim::Kind::Long;
  if (alongRows) {
    // Along the other axes the index may cover a part only; it has to cover all.
    std::vector<SymbolicExpr> wanted = sizes(node);
    Tensor result = gatherList(x, dim, listAlong(at, dim, nullptr));
    return define(node, result);
  }
  // For each row the number of one feature: gather(x, 1, index[N, 1]).
  size_t row = at.dims.size();
  for (size_t i = 0; i < at.dims.size(); ++i)
    if (at.dims[i].kind == IndexDim::Kind::Long)
      row = i;
  if (row == at.dims.size() || at.dims[dim].kind != IndexDim::Kind::Unit || at.components.size() != 1 ||
      x.dims[dim].kind != Kind::Axis || x.dims.at(row).kind != Kind::Space)
    throw Refusal{"the index differs from feature to feature; gnnc needs one index for each row"};
  int space = spaceOf(SymbolicExpr(x.dims[dim].size));
  int chosen = program.oneHot(mapOf(at.components[0], x.dims[row].id, space), x.dims[dim].id);
  x.value = program.dot(x.value, chosen, {x.dims[dim].id});
  x.dims[dim] = {};
  define(node, x);
}

void Recover::opIndex(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  std::vector<std::string> places = names(node, "indices");
  std::vector<size_t> dims;
  for (size_t i = 0; i < places.size(); ++i)
    if (!places[i].empty())
      dims.push_back(i);
  if (dims.size() == 2 && x.dims.size() == 2 && x.dims[0].kind == Kind::Space && x.dims[1].kind == Kind::Axis) {
    // x[rows, columns]: one number for each pair of a row and a feature.
    IndexTensor rows = indexOf(places[0]), columns = indexOf(places[1]);
    if (rows.components.size() != 1 || columns.components.size() != 1 || !rows.components[0]->isList ||
        !columns.components[0]->isList)
      throw Refusal{"it is indexed along two axes at once"};
    int axis = x.dims[1].id;
    Tensor picked = gather(x, 0, rows);
    int space = spaceOf(SymbolicExpr(x.dims[1].size));
    int chosen = program.oneHot(mapOf(columns.components[0], picked.dims[0].id, space), axis);
    picked.value = program.dot(picked.value, chosen, {axis});
    picked.dims.pop_back();
    return define(node, picked);
  }
  if (dims.size() != 1)
    throw Refusal{"it is indexed along two axes at once"};
  size_t dim = dims[0];
  IndexTensor at = indexOf(places[dim]);
  bool isTruth = !at.components.empty() && at.components[0]->isTruth;
  if (!isTruth)
    return define(node, gather(x, dim, at));
  // The elements of A where a mask is true: a filter with its inclusion.
  if (at.dims.size() != 1 || at.dims[0].kind != IndexDim::Kind::Long)
    throw Refusal{"a mask with several axes"};
  SymbolicExpr length = sizes(node).at(dim);
  define(node, gatherList(x, dim, nonzero(at.components[0], length)));
}

void Recover::opScatter(const NormalNode &node) {
  Tensor base = tensor(node, "self");
  const IndexTensor &at = index(node, "index");
  size_t dim = axisNumber(node, "dim", 0, base.dims.size());
  if (node.op == "scatter" && has(node, "reduce"))
    throw Refusal{"scatter with reduce; use scatter_reduce"};
  if (node.op == "scatter") {
    Tensor values = has(node, "value") ? tensor(node, "value") : tensor(node, "src");
    if (at.dims.at(dim).kind == IndexDim::Kind::Long)
      return define(node, put(base, dim, listAlong(at, dim, has(node, "value") ? nullptr : &values), values));
    // One feature of each row: a one-hot row.
    size_t row = at.dims.size();
    for (size_t i = 0; i < at.dims.size(); ++i)
      if (at.dims[i].kind == IndexDim::Kind::Long)
        row = i;
    bool fits = row < at.dims.size() && at.dims[dim].kind == IndexDim::Kind::Unit && at.components.size() == 1 &&
                has(node, "value") && base.dims.size() == 2 &&
                (base.dims[dim].kind == Kind::Repeat || base.dims[dim].kind == Kind::Axis) &&
                base.dims[row].kind == Kind::Space;
    if (!fits)
      throw Refusal{"the index differs from feature to feature; gnnc needs one index for each row"};
    int64_t size = base.dims[dim].size;
    int axis = program.newAxis(size);
    int rows = program.oneHot(mapOf(at.components[0], base.dims[row].id, spaceOf(SymbolicExpr(size))), axis);
    Tensor chosen{base.dims, rows};
    chosen.dims[dim] = {Kind::Axis, axis, size};
    return define(node, where(chosen, values, base));
  }
  Tensor source = tensor(node, "src");
  std::string reduce = node.op == "scatter_add" ? "sum" : string(node, "reduce", "");
  static const std::map<std::string, std::string> functions = {
      {"sum", "sum"}, {"amax", "max"}, {"amin", "min"}, {"mean", "mean"}, {"prod", "prod"}};
  auto function = functions.find(reduce);
  if (function == functions.end())
    throw Refusal{"a reduction by '" + reduce + "'"};
  Index list = listAlong(at, dim, &source);
  define(node, scatter(base, dim, list, source, function->second, flag(node, "include_self", true)));
}

void Recover::opIndexAdd(const NormalNode &node) {
  Tensor base = tensor(node, "self"), source = tensor(node, "source");
  const IndexTensor &at = index(node, "index");
  size_t dim = axisNumber(node, "dim", 0, base.dims.size());
  if (at.dims.size() != 1 || at.components.size() != 1)
    throw Refusal{"the index has several axes"};
  Index list = at.components[0];
  if (at.dims[0].kind != IndexDim::Kind::Long)
    throw Refusal{"it is indexed by a number that the graph gives; use a list of one"};
  if (node.op == "index_copy")
    return define(node, put(base, dim, list, source));
  if (node.op == "index_reduce") {
    static const std::map<std::string, std::string> functions = {
        {"amax", "max"}, {"amin", "min"}, {"mean", "mean"}, {"prod", "prod"}};
    auto function = functions.find(string(node, "reduce", ""));
    if (function == functions.end())
      throw Refusal{"a reduction by '" + string(node, "reduce", "") + "'"};
    return define(node, scatter(base, dim, list, source, function->second, flag(node, "include_self", true)));
  }
  double alpha = number(node, "alpha", 1);
  if (alpha != 1)
    source = binary("*", source, alpha);
  define(node, scatter(base, dim, list, source, "sum", true));
}

void Recover::opIndexPut(const NormalNode &node) {
  Tensor base = tensor(node, "self"), values = tensor(node, "values");
  std::vector<std::string> places = names(node, "indices");
  if (places.size() != 1 || places[0].empty())
    throw Refusal{"it writes along two axes at once"};
  IndexTensor at = indexOf(places[0]);
  if (at.components.size() != 1 || at.dims.size() != 1)
    throw Refusal{"it writes by an index with several axes"};
  Index list = at.components[0];
  if (list->isTruth) {
    // One value wherever the mask is true.
    if (llvm::all_of(values.dims, [](const Dim &dim) { return dim.kind != Kind::Space; })) {
      Tensor mask = asNumbers(at);
      while (mask.dims.size() < base.dims.size())
        mask.dims.push_back({});
      return define(node, where(mask, values, base));
    }
    const Dim *rows = nullptr;
    for (const Dim &dim : values.dims)
      if (dim.kind == Kind::Space)
        rows = &dim;
    list = nonzero(list, program.spaces[rows->id].size);
  }
  if (!flag(node, "accumulate", false))
    return define(node, put(base, 0, list, values));
  while (values.dims.size() < base.dims.size())
    values = unsqueezed(values, 0);
  define(node, scatter(base, 0, list, values, "sum", true));
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

void Recover::opBatchNorm(const NormalNode &node) {
  Tensor x = tensor(node, node.arguments.count("input") ? "input" : "self");
  bool training = node.op == "batch_norm" ? flag(node, "training", false) : node.op == "_native_batch_norm_legit";
  double eps = number(node, "eps", 1e-5);
  if (x.dims.size() != 2)
    throw Refusal{"batch_norm of a tensor with " + std::to_string(x.dims.size()) + " axes; expected 2"};
  Tensor mean, variance;
  if (training || !has(node, "running_mean")) {
    mean = fold("mean", x, {0}, false);
    variance = fold("mean", unary("square", binary("-", x, mean)), {0}, false);
  } else {
    mean = tensor(node, "running_mean");
    variance = tensor(node, "running_var");
  }
  Tensor scale = unary("rsqrt", binary("+", variance, eps));
  if (has(node, "weight"))
    scale = binary("*", scale, tensor(node, "weight"));
  Tensor y = binary("*", binary("-", x, mean), scale);
  if (has(node, "bias"))
    y = binary("+", y, tensor(node, "bias"));
  define(node, y);
}

/// Each channel of each instance is normalised over all the axes after the channels'.
void Recover::opInstanceNorm(const NormalNode &node) {
  Tensor x = tensor(node, "input");
  if (x.dims.size() < 3)
    throw Refusal{"instance_norm of a tensor with " + std::to_string(x.dims.size()) +
                  " axes; expected instances, channels, and axes to normalise over"};
  auto perChannel = [&](const char *name) {
    Tensor each = tensor(node, name);
    while (each.dims.size() + 1 < x.dims.size())
      each = unsqueezed(each, each.dims.size());
    return each;
  };
  Tensor centred, variance;
  if (flag(node, "use_input_stats", true)) {
    std::vector<size_t> dims;
    for (size_t i = 2; i < x.dims.size(); ++i)
      dims.push_back(i);
    centred = binary("-", x, fold("mean", x, dims, true));
    variance = fold("mean", unary("square", centred), dims, true);
  } else {
    centred = binary("-", x, perChannel("running_mean"));
    variance = perChannel("running_var");
  }
  Tensor y = binary("*", centred, unary("rsqrt", binary("+", variance, number(node, "eps", 1e-5))));
  if (has(node, "weight"))
    y = binary("*", y, perChannel("weight"));
  if (has(node, "bias"))
    y = binary("+", y, perChannel("bias"));
  define(node, y);
}

void Recover::opLayerNorm(const NormalNode &node) {
  Tensor x = tensor(node, "input");
  std::vector<size_t> dims;
  size_t count = integers(node, "normalized_shape").size();
  for (size_t i = x.dims.size() - std::min(count, x.dims.size()); i < x.dims.size(); ++i)
    dims.push_back(i);
  Tensor centred = binary("-", x, fold("mean", x, dims, true));
  Tensor variance = fold("mean", unary("square", centred), dims, true);
  Tensor y = binary("*", centred, unary("rsqrt", binary("+", variance, number(node, "eps", 1e-5))));
  if (has(node, "weight"))
    y = binary("*", y, tensor(node, "weight"));
  if (has(node, "bias"))
    y = binary("+", y, tensor(node, "bias"));
  define(node, y);
}

void Recover::opDropout(const NormalNode &node) {
  // Forward and gradient programs are those of inference: numbers would silently not be dropped.
  if (flag(node, "train", node.op == "native_dropout") && number(node, "p", 0.5) != 0)
    throw Refusal{"dropout in training mode; export the model after eval()"};
  define(node, tensor(node, "input"));
}
