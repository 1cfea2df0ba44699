//===- RecoverOperators.cpp - Elementwise operators, views and sums -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// The largest finite number of 32 bits.
static constexpr double largestFloat = 3.4028234663852886e38;

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
        {"batch_norm", &R::opBatchNorm},
        {"_native_batch_norm_legit_no_training", &R::opBatchNorm},
        {"_native_batch_norm_legit", &R::opBatchNorm},
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
        {"broadcast_tensors", &R::opBroadcastTensors},
        {"baddbmm", &R::opLinear},
        {"addmv", &R::opLinear},
        {"index_reduce", &R::opIndexAdd},
    };
    auto add = [&](Handler handler, std::initializer_list<const char *> names) {
      for (const char *name : names)
        all[name] = handler;
    };
    add(&R::opUnary,
        {"relu",  "gelu",  "silu", "sigmoid",     "tanh",  "softplus",   "exp",  "log",    "sqrt",        "rsqrt",
         "abs",   "sign",  "sin",  "cos",         "erf",   "reciprocal", "neg",  "square", "leaky_relu",  "elu",
         "log1p", "expm1", "log2", "log_sigmoid", "relu6", "selu",       "celu", "mish",   "hardsigmoid", "hardswish"});
    add(&R::opBinary, {"add", "sub", "mul", "div", "rsub", "true_divide", "maximum", "minimum", "eq", "ne", "lt", "le",
                       "gt", "ge", "logical_and", "logical_or", "bitwise_and", "bitwise_or"});
    add(&R::opSame, {"alias", "clone", "contiguous", "to", "_to_copy", "lift_fresh_copy", "lift_fresh", "type_as",
                     "float", "positive"});
    add(&R::opDistanceLoss, {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"});
    add(&R::opFull, {"zeros", "ones", "full", "empty", "new_zeros", "new_ones", "new_full", "new_empty", "zeros_like",
                     "ones_like", "full_like", "empty_like", "scalar_tensor", "zero", "fill"});
    add(&R::opReshape, {"view", "reshape", "flatten", "unflatten", "_unsafe_view"});
    add(&R::opTranspose, {"t", "transpose", "permute", "numpy_T"});
    add(&R::opSplit, {"split", "split_with_sizes", "chunk", "unbind"});
    add(&R::opFold, {"sum", "mean", "amax", "amin", "logsumexp"});
    add(&R::opMaxDim, {"max", "min"});
    add(&R::opSoftmax, {"softmax", "_softmax", "log_softmax", "_log_softmax"});
    add(&R::opMatmul, {"matmul", "mm", "bmm", "mv", "dot"});
    return all;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

void Recover::opUnary(const NormalNode &node) {
  const std::string &op = node.op;
  Tensor x = tensor(node, "self");
  if (op == "gelu" && string(node, "approximate", "none") == "tanh") {
    Tensor cubic = binary("+", x, binary("*", binary("*", x, unary("square", x)), 0.044715));
    Tensor gate = binary("+", unary("tanh", binary("*", cubic, 0.7978845608028654)), 1);
    return define(node, binary("*", binary("*", x, gate), 0.5));
  }
  if (double beta = number(node, "beta", 1); op == "softplus" && beta != 1)
    return define(node, binary("/", unary("softplus", binary("*", x, beta)), beta));
  if (op == "neg")
    return define(node, binary("-", scalar(0), x));
  if (op == "log1p")
    return define(node, unary("log", binary("+", x, 1)));
  if (op == "expm1")
    return define(node, binary("-", unary("exp", x), 1));
  if (op == "log2")
    return define(node, binary("/", unary("log", x), std::log(2.0)));
  if (op == "log_sigmoid")
    return define(node, binary("-", scalar(0), unary("softplus", binary("-", scalar(0), x))));
  if (op == "relu6")
    return define(node, binary("minimum", unary("relu", x), 6));
  if (op == "hardsigmoid" || op == "hardswish") {
    Tensor gate = binary("/", binary("minimum", unary("relu", binary("+", x, 3)), 6), 6);
    return define(node, op == "hardswish" ? binary("*", x, gate) : gate);
  }
  if (op == "mish")
    return define(node, binary("*", x, unary("tanh", unary("softplus", x))));
  if (op == "leaky_relu")
    return define(node, unary("leaky_relu", x, number(node, "negative_slope", 0.01)));
  if (op == "elu" || op == "celu" || op == "selu") {
    double alpha = op == "selu" ? 1.6732632423543772848170429916717 : number(node, "alpha", 1);
    double scale = op == "selu" ? 1.0507009873554804934193349852946 : number(node, "scale", 1);
    double inner = op == "celu" ? 1 / alpha : number(node, "input_scale", 1);
    if (op == "celu" || inner != 1) {
      if (op == "elu")
        throw Refusal{"elu with input_scale"};
      Tensor negative = binary("*", binary("-", unary("exp", binary("minimum", binary("*", x, inner), 0)), 1), alpha);
      return define(node, binary("+", unary("relu", x), negative));
    }
    Tensor y = unary("elu", x, alpha);
    return define(node, scale == 1 ? y : binary("*", y, scale));
  }
  define(node, unary(op == "reciprocal" ? "recip" : op, x));
}

void Recover::opBinary(const NormalNode &node) {
  static const std::map<std::string, std::string> functions = {{"add", "+"},
                                                               {"sub", "-"},
                                                               {"mul", "*"},
                                                               {"div", "/"},
                                                               {"true_divide", "/"},
                                                               {"eq", "=="},
                                                               {"ne", "!="},
                                                               {"lt", "<"},
                                                               {"le", "<="},
                                                               {"gt", ">"},
                                                               {"ge", ">="},
                                                               {"maximum", "maximum"},
                                                               {"minimum", "minimum"},
                                                               {"logical_and", "minimum"},
                                                               {"bitwise_and", "minimum"},
                                                               {"logical_or", "maximum"},
                                                               {"bitwise_or", "maximum"}};
  Tensor a = tensor(node, "self"), b = tensor(node, "other");
  if (has(node, "rounding_mode"))
    throw Refusal{"division with rounding has no gradient; leave it out or do it with integers"};
  double alpha = number(node, "alpha", 1);
  const Operation &left = program.operations[a.value];
  if ((node.op == "div" || node.op == "true_divide") && left.op == Op::Number && left.number == 1 && a.dims.empty())
    return define(node, unary("recip", b));
  if (alpha != 1 && node.op != "rsub")
    b = binary("*", b, alpha);
  if (node.op == "rsub")
    return define(node, binary("-", b, alpha == 1 ? a : binary("*", a, alpha)));
  // Numbers are infinite where they are above all that are finite; the language has no other name for it.
  const Operation &right = program.operations[b.value];
  if ((node.op == "eq" || node.op == "ne") && right.op == Op::Number && std::isinf(right.number)) {
    bool above = right.number > 0;
    Tensor isInfinite = binary(above ? ">" : "<", a, above ? largestFloat : -largestFloat);
    return define(node, node.op == "eq" ? isInfinite : binary("==", isInfinite, 0));
  }
  define(node, binary(functions.at(node.op), a, b));
}

void Recover::opSame(const NormalNode &node) {
  define(node, node.arguments.count("self") ? tensor(node, "self") : tensor(node, "input"));
}

void Recover::opDetach(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  x.value = program.detach(x.value);
  define(node, x);
}

void Recover::opClamp(const NormalNode &node) {
  bool hard = node.op == "hardtanh";
  Tensor x = tensor(node, "self");
  if (has(node, hard ? "min_val" : "min"))
    x = binary("maximum", x, tensor(node, hard ? "min_val" : "min"));
  else if (hard)
    x = binary("maximum", x, -1);
  if (has(node, hard ? "max_val" : "max"))
    x = binary("minimum", x, tensor(node, hard ? "max_val" : "max"));
  else if (hard)
    x = binary("minimum", x, 1);
  define(node, x);
}

void Recover::opPow(const NormalNode &node) {
  Tensor base = tensor(node, "self");
  std::optional<double> exponent = number(node, "exponent");
  if (exponent && *exponent == 2)
    return define(node, unary("square", base));
  if (exponent && *exponent == 0.5)
    return define(node, unary("sqrt", base));
  if (exponent && *exponent == -0.5)
    return define(node, unary("rsqrt", base));
  define(node, binary("^", base, tensor(node, "exponent")));
}

/// `x` where the condition is 0, else `value`. Where a reciprocal of 0 is replaced its gradient is 0, not infinite.
Tensor Recover::replaced(Tensor condition, Tensor value, Tensor x) {
  const Operation test = program.operations[condition.value], made = program.operations[x.value];
  bool testsInfinity = test.op == Op::Binary && test.text == ">" && test.operands[0] == x.value &&
                       program.operations[test.operands[1]].op == Op::Number &&
                       program.operations[test.operands[1]].number == largestFloat;
  bool isReciprocal = made.op == Op::Unary && (made.text == "rsqrt" || made.text == "recip");
  if (testsInfinity && isReciprocal) {
    Tensor d{x.dims, made.operands[0]};
    Tensor isZero = binary("==", d, 0);
    return where(isZero, value, unary(made.text, where(isZero, scalar(1), d)));
  }
  return where(condition, value, x);
}

void Recover::opWhere(const NormalNode &node) {
  define(node, replaced(tensor(node, "condition"), tensor(node, "self"), tensor(node, "other")));
}

void Recover::opMaskedFill(const NormalNode &node) {
  define(node, replaced(tensor(node, "mask"), tensor(node, "value"), tensor(node, "self")));
}

void Recover::opNot(const NormalNode &node) { define(node, binary("==", tensor(node, "self"), 0)); }

void Recover::opAddcmul(const NormalNode &node) {
  Tensor both = binary(node.op == "addcmul" ? "*" : "/", tensor(node, "tensor1"), tensor(node, "tensor2"));
  double value = number(node, "value", 1);
  define(node, binary("+", tensor(node, "self"), value == 1 ? both : binary("*", both, value)));
}

/// x where it is not negative, else x times a slope that is learnt, one for all or one for each channel.
void Recover::opPReLU(const NormalNode &node) {
  Tensor x = tensor(node, "self"), slope = tensor(node, "weight");
  // Channels are the second axis.
  if (node.op == "prelu" && slope.dims.size() == 1 && x.dims.size() > 1)
    while (slope.dims.size() + 1 < x.dims.size())
      slope = unsqueezed(slope, slope.dims.size());
  if (node.op == "prelu" && slope.dims.size() == 1 && x.dims.size() <= 1)
    slope = squeezed(slope, 0);
  define(node, where(binary(">", x, 0), x, binary("*", x, slope)));
}

void Recover::opCross(const NormalNode &node) {
  Tensor a = tensor(node, "self"), b = tensor(node, "other");
  size_t rank = sizes(node).size();
  size_t dim = axisNumber(node, "dim", -1, rank);
  // Without `dim`, cross takes the first axis of size 3.
  if (node.op == "cross" && !has(node, "dim"))
    for (dim = 0; dim + 1 < rank && !(sizes(node)[dim] == SymbolicExpr(3));)
      ++dim;
  for (Tensor *each : {&a, &b})
    while (each->dims.size() < rank)
      *each = unsqueezed(*each, 0);
  auto part = [&](const Tensor &of, int64_t i) { return slice(of, dim, i % 3, i % 3 + 1, 1); };
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; ++i)
    parts.push_back(
        binary("-", binary("*", part(a, i + 1), part(b, i + 2)), binary("*", part(a, i + 2), part(b, i + 1))));
  define(node, concat(parts, dim));
}

/// The product of two directions; lengths below eps count as eps.
void Recover::opCosine(const NormalNode &node) {
  std::vector<Tensor> both = {tensor(node, "x1"), tensor(node, "x2")};
  size_t rank = std::max(both[0].dims.size(), both[1].dims.size());
  size_t dim = axisNumber(node, "dim", 1, rank);
  for (Tensor &each : both) {
    while (each.dims.size() < rank)
      each = unsqueezed(each, 0);
    Tensor length = safeRoot(fold("sum", unary("square", each), {dim}, true));
    each = binary("/", each, binary("maximum", length, number(node, "eps", 1e-8)));
  }
  define(node, fold("sum", binary("*", both[0], both[1]), {dim}, false));
}

void Recover::opBroadcastTensors(const NormalNode &node) {
  std::vector<std::string> operands = names(node, "tensors");
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty())
      define(node, broadcast(tensorOf(operands.at(i)), sizes(node, i)), i);
}

void Recover::opFull(const NormalNode &node) {
  const std::string &op = node.op;
  double value = op.find("ones") != std::string::npos ? 1 : 0;
  if (op.find("full") != std::string::npos)
    value = number(node, "fill_value", 0);
  if (op == "scalar_tensor")
    value = number(node, "s", 0);
  if (op == "fill")
    value = number(node, "value", 0);
  define(node, filled(value, sizes(node)));
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

void Recover::opExpand(const NormalNode &node) { define(node, broadcast(tensor(node, "self"), sizes(node))); }

void Recover::opRepeat(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  std::vector<SymbolicExpr> wanted = sizes(node);
  const Argument *repeats = find(node, "repeats");
  auto *list = repeats ? std::get_if<Integers>(repeats) : nullptr;
  while (x.dims.size() < wanted.size())
    x.dims.insert(x.dims.begin(), Dim());
  for (size_t i = 0; i < wanted.size(); ++i) {
    auto *times = list ? std::get_if<int64_t>(&list->numbers.at(i)) : nullptr;
    if (times && *times == 1)
      continue;
    if (x.dims[i].kind == Kind::Unit) {
      x.dims[i] = dimOf(wanted[i]);
    } else if (times && *times <= 64) {
      x = concat(std::vector<Tensor>(static_cast<size_t>(*times), x), i);
    } else {
      throw Refusal{
          "it repeats the rows of '" +
          (x.dims[i].kind == Kind::Space ? program.spaces[x.dims[i].id].key : std::to_string(x.dims[i].size)) +
          "' a number of times that is not fixed: all pairs"};
    }
  }
  define(node, x);
}

void Recover::opTranspose(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t rank = x.dims.size();
  if (node.op == "permute") {
    Tensor result{{}, x.value};
    for (int64_t dim : integers(node, "dims"))
      result.dims.push_back(x.dims.at(size_t(dim < 0 ? dim + int64_t(rank) : dim)));
    return define(node, result);
  }
  if (node.op == "numpy_T")
    std::reverse(x.dims.begin(), x.dims.end());
  else if (rank >= 2)
    std::swap(x.dims[node.op == "t" ? 0 : axisNumber(node, "dim0", 0, rank)],
              x.dims[node.op == "t" ? 1 : axisNumber(node, "dim1", 1, rank)]);
  define(node, x);
}

void Recover::opSelect(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  if (x.dims[dim].kind == Kind::Space && program.spaces[x.dims[dim].id].extent >= 0)
    x = toAxis(x, dim);
  define(node, pick(x, dim, integer(node, "index", 0)));
}

void Recover::opSlice(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  int64_t step = integer(node, "step", 1);
  std::vector<SymbolicExpr> wanted = sizes(node);
  if (x.dims[dim].kind == Kind::Space) {
    if (program.spaces[x.dims[dim].id].size == wanted.at(dim) && step == 1)
      return define(node, x);
    // A slice of a space is a gather by the numbers that count up.
    SymbolicExpr begin = has(node, "start") ? expression(*find(node, "start")) : SymbolicExpr(0);
    const SymbolicExpr &length = wanted.at(dim);
    if (begin.getFactors().empty() && begin.getNumber() < 0)
      begin = program.spaces[x.dims[dim].id].size + begin;
    Index places = call("slice",
                        {call("arange", {constant(0), sizeIndex(program.spaces[x.dims[dim].id].size), constant(1)},
                              program.spaces[x.dims[dim].id].size),
                         sizeIndex(begin), constant(int64_t(1) << 40), constant(step)},
                        length);
    bool hasEnd = node.op == "narrow";
    if (node.op == "slice" && has(node, "end")) {
      const Argument &end = *find(node, "end");
      auto *literal = std::get_if<int64_t>(&end);
      hasEnd = !literal || *literal != INT64_MAX;
    }
    if (hasEnd) {
      SymbolicExpr end =
          node.op == "narrow" ? begin + expression(*find(node, "length")) : expression(*find(node, "end"));
      places = call("slice", {places->arguments[0], sizeIndex(begin), sizeIndex(end), constant(step)}, length);
    }
    learnSymbol(length, "length(" + places->text + ")");
    return define(node, gatherList(x, dim, places));
  }
  int64_t begin = integer(node, "start", 0);
  int64_t end = node.op == "narrow" ? begin + integer(node, "length", 0) : integer(node, "end", INT64_MAX);
  define(node, slice(x, dim, begin, end, step));
}

void Recover::opSplit(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  if (x.dims[dim].kind == Kind::Space) {
    if (program.spaces[x.dims[dim].id].extent < 0)
      throw Refusal{"it splits the rows of a space whose size is not fixed"};
    x = toAxis(x, dim);
  }
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
  for (int64_t axis : integers(node, "dims")) {
    size_t dim = size_t(axis < 0 ? axis + int64_t(x.dims.size()) : axis);
    if (x.dims.at(dim).kind == Kind::Space) {
      const SymbolicExpr size = program.spaces[x.dims[dim].id].size;
      Index all = call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
      x = gatherList(x, dim, call("flip", {all}, size));
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

/// The dimensions that `dim` lists, counted from the end where negative; all if it lists none.
static std::vector<size_t> foldedDims(const std::vector<int64_t> &listed, size_t rank) {
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
  define(node, fold(node.op, x, dims, flag(node, "keepdim", false)));
  // The places of extrema are no tensor here: their use is refused.
}

void Recover::opVariance(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  std::vector<size_t> dims = foldedDims(integers(node, "dim"), x.dims.size());
  double correction = has(node, "unbiased") ? double(flag(node, "unbiased", true)) : number(node, "correction", 1);
  Tensor mean = fold("mean", x, dims, true), squares = unary("square", binary("-", x, mean));
  bool keep = flag(node, "keepdim", false);
  Tensor size = scalar(1);
  for (size_t dim : dims) {
    const Dim &each = x.dims[dim];
    if (each.kind == Kind::Space)
      size = binary("*", size, Tensor{{}, sizeAsNumber(program.spaces[each.id].size)});
    else
      size = binary("*", size, double(each.size));
  }
  Tensor variance = fold("sum", squares, dims, keep);
  variance = binary("/", variance, correction == 0 ? size : binary("-", size, correction));
  define(node, node.op == "std" ? safeRoot(variance) : variance);
}

void Recover::opNorm(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  double order = number(node, node.op == "norm" ? "p" : "ord", 2);
  std::vector<size_t> dims;
  for (int64_t dim : integers(node, "dim"))
    dims.push_back(size_t(dim < 0 ? dim + int64_t(x.dims.size()) : dim));
  if (dims.empty())
    dims = allDims(x.dims.size());
  bool keep = flag(node, "keepdim", false);
  if (order == 1)
    return define(node, fold("sum", unary("abs", x), dims, keep));
  if (order != 2)
    throw Refusal{"a norm of order " + std::to_string(order) + "; expected 1 or 2"};
  define(node, safeRoot(fold("sum", unary("square", x), dims, keep)));
}

void Recover::opSoftmax(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", -1, x.dims.size());
  bool isLog = node.op.find("log") != std::string::npos;
  std::string function = isLog ? "log_softmax" : "softmax";
  const Dim &each = x.dims[dim];
  if (each.kind == Kind::Space) {
    Tensor shifted = binary("-", x, fold("max", Tensor{x.dims, program.detach(x.value)}, {dim}, true));
    Tensor sum = fold("sum", unary("exp", shifted), {dim}, true);
    return define(node, isLog ? binary("-", shifted, unary("log", sum)) : binary("/", unary("exp", shifted), sum));
  }
  if (each.kind == Kind::Axis) {
    x.value = program.over(function, x.value, {each.id});
    return define(node, x);
  }
  Tensor result = scalar(isLog ? -std::log(double(each.size)) : 1.0 / double(each.size));
  result.dims = x.dims;
  for (Dim &own : result.dims)
    if (own.kind == Kind::Axis)
      own = {Kind::Repeat, -1, own.size};
  define(node, result);
}
