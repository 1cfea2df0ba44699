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
  if (node.op == "addmm") {
    if (number(node, "alpha", 1) != 1 || number(node, "beta", 1) != 1)
      throw Refusal{"addmm with alpha or beta; scale its operands instead"};
    return define(node, binary("+", matmul(tensor(node, "mat1"), tensor(node, "mat2")), tensor(node, "self")));
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
// Norms and losses
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
  if (flag(node, "train", false) && number(node, "p", 0.5) != 0)
    throw Refusal{"dropout in training mode; export the model after eval()"};
  define(node, tensor(node, "input"));
}

void Recover::opCrossEntropy(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  bool fromLogits = node.op == "cross_entropy_loss";
  if (has(node, "weight") || number(node, "label_smoothing", 0) != 0 || x.dims.size() != 2)
    throw Refusal{"cross entropy with class weights, smoothing or several targets a row"};
  if (fromLogits) {
    if (x.dims[1].kind != Kind::Axis)
      throw Refusal{"cross entropy over one class"};
    x.value = program.over("log_softmax", x.value, {x.dims[1].id});
  }
  const IndexTensor &target = index(node, "target");
  if (target.dims.size() != 1 || target.components.size() != 1 || x.dims[0].kind != Kind::Space)
    throw Refusal{"cross entropy: expected one integer for each row"};
  int space = spaceOf(SymbolicExpr(x.dims[1].size));
  // Rows whose target is ignore_index count for nothing.
  int64_t ignored = integer(node, "ignore_index", -100);
  Index list = target.components[0];
  Index isKept = call("ne", {list, constant(ignored)}, list->length, true);
  Index safe = call("where", {isKept, list, constant(-1)}, list->length);
  int chosen = program.oneHot(mapOf(safe, x.dims[0].id, space, /*partial=*/true), x.dims[1].id);
  Tensor loss{{x.dims[0]}, program.binary("-", program.number(0), program.dot(x.value, chosen, {x.dims[1].id}))};
  int64_t reduction = integer(node, "reduction", 1);
  if (reduction == 0)
    return define(node, loss);
  Tensor sum = fold("sum", loss, {0}, false);
  if (reduction == 1) {
    Tensor kept = asNumbers({{{IndexDim::Kind::Long, list->length}}, {isKept}});
    sum = binary("/", sum, fold("sum", kept, {0}, false));
  }
  define(node, sum);
}

//===----------------------------------------------------------------------===//
// Recurrent cells
//===----------------------------------------------------------------------===//

void Recover::opGRUCell(const NormalNode &node) {
  Tensor x = tensor(node, "input"), h = tensor(node, "hx");
  std::optional<Tensor> biasIn, biasHidden;
  if (has(node, "b_ih"))
    biasIn = tensor(node, "b_ih");
  if (has(node, "b_hh"))
    biasHidden = tensor(node, "b_hh");
  Tensor a = linear(x, tensor(node, "w_ih"), biasIn), b = linear(h, tensor(node, "w_hh"), biasHidden);
  size_t last = a.dims.size() - 1;
  int64_t size = a.dims[last].size / 3;
  auto part = [&](const Tensor &of, int64_t i) { return slice(of, last, i * size, (i + 1) * size, 1); };
  Tensor reset = unary("sigmoid", binary("+", part(a, 0), part(b, 0)));
  Tensor update = unary("sigmoid", binary("+", part(a, 1), part(b, 1)));
  Tensor fresh = unary("tanh", binary("+", part(a, 2), binary("*", reset, part(b, 2))));
  define(node, binary("+", fresh, binary("*", update, binary("-", h, fresh))));
}

void Recover::opLSTM(const NormalNode &node) {
  Tensor input = tensor(node, "input");
  std::vector<std::string> states = names(node, "hx"), weights = names(node, "params");
  bool bias = flag(node, "has_biases", true), both = flag(node, "bidirectional", false);
  bool batchFirst = flag(node, "batch_first", false);
  int64_t layers = integer(node, "num_layers", 1);
  if (flag(node, "train", false) && number(node, "dropout", 0) != 0)
    throw Refusal{"dropout in training mode; export the model after eval()"};
  if (input.dims.size() != 3 || states.size() != 2)
    throw Refusal{"lstm: expected three axes and two states"};
  size_t time = batchFirst ? 1 : 0;
  if (input.dims[time].kind == Kind::Space)
    throw Refusal{"lstm over a number of steps that is not fixed"};
  int64_t steps = input.dims[time].size;
  size_t directions = both ? 2 : 1, each = bias ? 4 : 2;
  if (weights.size() != size_t(layers) * directions * each)
    throw Refusal{"lstm with projections"};
  for (size_t output = 1; output < node.outputs.size(); ++output)
    (void)output; // the last states; their use is refused
  std::vector<Tensor> row;
  for (int64_t t = 0; t < steps; ++t)
    row.push_back(pick(input, time, t));
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::vector<std::vector<Tensor>> results(directions);
    for (size_t direction = 0; direction < directions; ++direction) {
      size_t at = (size_t(layer) * directions + direction);
      Tensor h = pick(tensorOf(states[0]), 0, int64_t(at)), c = pick(tensorOf(states[1]), 0, int64_t(at));
      auto weight = [&](size_t i) { return tensorOf(weights[at * each + i]); };
      results[direction].resize(size_t(steps));
      for (int64_t k = 0; k < steps; ++k) {
        size_t t = size_t(direction ? steps - 1 - k : k);
        std::optional<Tensor> inBias, hiddenBias;
        if (bias) {
          inBias = weight(2);
          hiddenBias = weight(3);
        }
        Tensor gates = binary("+", linear(row[t], weight(0), inBias), linear(h, weight(1), hiddenBias));
        size_t last = gates.dims.size() - 1;
        int64_t size = gates.dims[last].size / 4;
        auto gate = [&](int64_t i) { return slice(gates, last, i * size, (i + 1) * size, 1); };
        c = binary("+", binary("*", unary("sigmoid", gate(1)), c),
                   binary("*", unary("sigmoid", gate(0)), unary("tanh", gate(2))));
        h = binary("*", unary("sigmoid", gate(3)), unary("tanh", c));
        results[direction][t] = h;
      }
    }
    for (int64_t t = 0; t < steps; ++t)
      row[size_t(t)] = both ? concat({results[0][size_t(t)], results[1][size_t(t)]}, row[size_t(t)].dims.size() - 1)
                            : results[0][size_t(t)];
  }
  for (Tensor &step : row)
    step = unsqueezed(step, time);
  define(node, concat(row, time));
}
