//===- RecoverLosses.cpp - What training minimises ----------------------===//
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

/// A number for each element, or their mean or sum, as the argument `reduction` says.
void Recover::defineLoss(const NormalNode &node, Tensor each) {
  int64_t reduction = integer(node, "reduction", 1);
  std::vector<size_t> dims;
  for (size_t i = 0; i < each.dims.size(); ++i)
    dims.push_back(i);
  if (reduction != 0)
    each = fold(reduction == 1 ? "mean" : "sum", each, dims, false);
  define(node, each);
}

/// The losses of a difference d: d², |d|, and those that are square near 0 and linear elsewhere.
void Recover::opDistanceLoss(const NormalNode &node) {
  Tensor d = binary("-", tensor(node, "self"), tensor(node, "target"));
  bool isHuber = node.op == "huber_loss";
  double width = isHuber ? number(node, "delta", 1) : number(node, "beta", 1);
  if (node.op == "mse_loss")
    return defineLoss(node, unary("square", d));
  Tensor size = unary("abs", d);
  if (node.op == "l1_loss" || (!isHuber && width == 0))
    return defineLoss(node, size);
  Tensor near = binary("*", unary("square", d), 0.5), far = binary("-", size, width / 2);
  if (isHuber)
    far = binary("*", far, width);
  else
    near = binary("/", near, width);
  defineLoss(node, where(binary("<", size, width), near, far));
}

/// -t log p - (1 - t) log(1 - p). PyTorch bounds the logarithms from below by -100, and takes (p - t) / max(p (1 - p),
/// 1e-12) for the derivative, which is finite where p is 0 or 1.
Tensor Recover::probabilityLoss(const Tensor &p, const Tensor &target) {
  const double least = 1e-12;
  auto fixed = [&](Tensor x) {
    x.value = program.detach(x.value);
    return x;
  };
  Tensor rest = binary("-", scalar(1), p), spread = binary("*", p, rest);
  // Where p (1 - p) is smaller, the steps of p are made smaller in the same proportion.
  Tensor step = binary("*", binary("-", p, fixed(p)), fixed(binary("/", spread, least)));
  Tensor q = where(binary("<", spread, least), binary("+", fixed(p), step), p);
  // At 0 itself -100, but for the slope.
  auto bounded = [&](const Tensor &x, const Tensor &own) {
    Tensor isZero = binary("==", own, 0);
    Tensor log = binary("maximum", unary("log", where(isZero, scalar(1), x)), -100);
    return where(isZero, binary("-", binary("/", own, least), 100), log);
  };
  Tensor sum = binary("+", binary("*", target, bounded(q, p)),
                      binary("*", binary("-", scalar(1), target), bounded(binary("-", scalar(1), q), rest)));
  return binary("-", scalar(0), sum);
}

void Recover::opBinaryCrossEntropy(const NormalNode &node) {
  Tensor x = tensor(node, "self"), target = tensor(node, "target"), loss;
  Tensor other = binary("-", scalar(1), target);
  if (node.op == "binary_cross_entropy") {
    loss = probabilityLoss(x, target);
  } else {
    // log(1 + exp(-x)) is softplus(-x).
    Tensor rest = unary("softplus", binary("-", scalar(0), x));
    if (has(node, "pos_weight")) {
      Tensor factor = binary("+", binary("*", binary("-", tensor(node, "pos_weight"), scalar(1)), target), 1);
      rest = binary("*", rest, factor);
    }
    loss = binary("+", binary("*", other, x), rest);
  }
  if (has(node, "weight"))
    loss = binary("*", loss, tensor(node, "weight"));
  defineLoss(node, loss);
}

void Recover::opDivergence(const NormalNode &node) {
  Tensor x = tensor(node, "self"), target = tensor(node, "target");
  if (flag(node, "log_target", false))
    return defineLoss(node, binary("*", unary("exp", target), binary("-", target, x)));
  // 0 log 0 is 0.
  Tensor isPositive = binary(">", target, 0);
  Tensor own = binary("*", target, unary("log", where(isPositive, target, scalar(1))));
  defineLoss(node, binary("-", own, binary("*", target, x)));
}

void Recover::opMarginLoss(const NormalNode &node) {
  Tensor d = binary("-", tensor(node, "input1"), tensor(node, "input2"));
  Tensor wrong = binary("*", binary("-", scalar(0), tensor(node, "target")), d);
  defineLoss(node, unary("relu", binary("+", wrong, number(node, "margin", 0))));
}

/// What a count costs that was expected to be exp(x), or x; with all of Stirling's formula for its factorial if asked
/// for.
void Recover::opPoissonLoss(const NormalNode &node) {
  Tensor x = tensor(node, "input"), target = tensor(node, "target");
  Tensor loss = flag(node, "log_input", true)
                    ? binary("-", unary("exp", x), binary("*", target, x))
                    : binary("-", x, binary("*", target, unary("log", binary("+", x, number(node, "eps", 1e-8)))));
  if (flag(node, "full", false)) {
    Tensor isLarge = binary(">", target, 1), safe = where(isLarge, target, scalar(1));
    Tensor root = binary("*", unary("log", binary("*", safe, 2 * 3.14159265358979323846)), 0.5);
    Tensor stirling = binary("+", binary("-", binary("*", safe, unary("log", safe)), safe), root);
    loss = binary("+", loss, where(isLarge, stirling, scalar(0)));
  }
  defineLoss(node, loss);
}

/// Losses whose targets are 1 and -1.
void Recover::opHingeLoss(const NormalNode &node) {
  Tensor x = tensor(node, "self"), target = tensor(node, "target");
  if (node.op == "soft_margin_loss")
    return defineLoss(node, unary("softplus", binary("*", binary("-", scalar(0), target), x)));
  Tensor rest = unary("relu", binary("-", scalar(number(node, "margin", 1)), x));
  defineLoss(node, binary("+", where(binary("==", target, 1), scalar(0), rest),
                          where(binary("==", target, -1), scalar(0), x)));
}

/// How far each other class is above the own one less a margin, a mean over all classes.
void Recover::opMultiMargin(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  const IndexLists &target = index(node, "target");
  double power = number(node, "p", 1), margin = number(node, "margin", 1);
  bool hasRows = x.dims.size() == 2 && x.dims[1].kind == Kind::Axis && x.dims[0].kind == Kind::Space &&
                 target.dims.size() == 1 && target.components.size() == 1;
  if (!hasRows || has(node, "weight") || (power != 1 && power != 2))
    throw Refusal{"multi_margin_loss: expected one integer for each row, p of 1 or 2, and no weight"};
  int classes = spaceOf(SymbolicExpr(x.dims[1].size));
  Tensor isOwn{x.dims, program.oneHot(mapOf(target.components[0], x.dims[0].id, classes), x.dims[1].id)};
  Tensor own = fold("sum", binary("*", isOwn, x), {1}, true);
  Tensor above = unary("relu", binary("+", binary("-", x, own), margin));
  if (power == 2)
    above = unary("square", above);
  Tensor others = binary("*", binary("-", scalar(1), isOwn), above);
  defineLoss(node, fold("mean", others, {1}, false));
}

/// How much nearer the positive has to be than the negative.
void Recover::opTriplet(const NormalNode &node) {
  double order = number(node, "p", 2), eps = number(node, "eps", 1e-6);
  Tensor anchor = tensor(node, "anchor"), positive = tensor(node, "positive"), negative = tensor(node, "negative");
  Tensor near = distance(anchor, positive, order, eps, false), far = distance(anchor, negative, order, eps, false);
  if (flag(node, "swap", false))
    far = binary("minimum", far, distance(positive, negative, order, eps, false));
  defineLoss(node, unary("relu", binary("+", binary("-", near, far), number(node, "margin", 1))));
}

/// 1 - cos for pairs that belong together, the cosine above a margin for others.
void Recover::opCosineLoss(const NormalNode &node) {
  Tensor a = tensor(node, "input1"), b = tensor(node, "input2"), target = tensor(node, "target");
  // PyTorch adds its eps to both squares, here 1e-12.
  size_t dim = a.dims.size() - 1;
  auto squares = [&](const Tensor &x) { return binary("+", fold("sum", unary("square", x), {dim}, false), 1e-12); };
  Tensor product = fold("sum", binary("*", a, b), {dim}, false);
  Tensor cosine = binary("/", product, unary("sqrt", binary("*", squares(a), squares(b))));
  Tensor other = unary("relu", binary("-", cosine, number(node, "margin", 0)));
  Tensor isSame = binary("==", target, 1), isOther = binary("==", target, -1);
  defineLoss(node, where(isSame, binary("-", scalar(1), cosine), where(isOther, other, scalar(0))));
}

/// Cross entropy where each row's class is the element with its own number, as in contrastive losses: of a matrix of
/// logarithms for all pairs, the diagonal.
Tensor Recover::ofOwnClass(const NormalNode &node, const Tensor &logarithms) {
  std::string given = nameOf(node, "target");
  bool isOwn = false;
  if (!tensors.count(given)) {
    const IndexLists &target = index(node, "target");
    isOwn = target.components.size() == 1 && isFromFirst(target.components[0]);
  }
  if (!isOwn || logarithms.dims[0].kind != Kind::Space || has(node, "weight") ||
      number(node, "label_smoothing", 0) != 0)
    throw Refusal{"cross entropy: expected classes of fixed number, found " + sizeOf(logarithms.dims[1]).str() +
                  "; classes that are elements are only taken as arange(n), each row's own"};
  if (int64_t ignored = integer(node, "ignore_index", -100); ignored >= 0)
    throw Refusal{"argument 'ignore_index': expected no row's own class, found " + std::to_string(ignored)};
  Tensor loss = binary("-", scalar(0), diagonal(logarithms, 0, 1));
  int64_t reduction = integer(node, "reduction", 1);
  return reduction == 0 ? loss : fold(reduction == 1 ? "mean" : "sum", loss, {0}, false);
}

void Recover::opCrossEntropy(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  bool fromLogits = node.op == "cross_entropy_loss";
  if (x.dims.size() != 2)
    throw Refusal{"cross entropy of a tensor with " + std::to_string(x.dims.size()) +
                  " axes; expected rows and classes"};
  if (x.dims[1].kind == Kind::Space)
    return define(node, ofOwnClass(node, fromLogits ? softmax(x, 1, /*isLog=*/true) : x));
  if (fromLogits) {
    if (x.dims[1].kind != Kind::Axis)
      throw Refusal{"cross entropy: expected two classes or more, found " + sizeOf(x.dims[1]).str()};
    x.value = program.over("log_softmax", x.value, {x.dims[1].id});
  }
  if (x.dims[0].kind != Kind::Space)
    throw Refusal{"cross entropy: expected one integer for each row"};
  bool isWeighted = has(node, "weight");
  double smoothing = number(node, "label_smoothing", 0), evenly = smoothing / double(x.dims[1].size);
  // Every class has a probability.
  std::string given = nameOf(node, "target");
  if (tensors.count(given) && isFloatType(typeOf(given).value_or(ScalarType::Int64))) {
    Tensor target = tensor(node, "target");
    if (target.dims.size() != 2)
      throw Refusal{"cross entropy: expected one probability for each class of each row"};
    if (smoothing != 0)
      target = binary("+", binary("*", target, 1 - smoothing), evenly);
    Tensor each = binary("*", target, isWeighted ? binary("*", x, tensor(node, "weight")) : x);
    return defineLoss(node, binary("-", scalar(0), fold("sum", each, {1}, false)));
  }
  // Rows whose target is ignore_index count for nothing.
  int64_t ignored = integer(node, "ignore_index", -100);
  Tensor loss, isCounted, kept, rows;
  if (tensors.count(given)) {
    Tensor target = tensor(node, "target");
    if (target.dims.size() != 1)
      throw Refusal{"cross entropy: expected one integer for each row"};
    isCounted = where(binary("==", target, double(ignored)), scalar(0), scalar(1));
    rows = where(isPlace(unsqueezed(target, 1), 1, x.dims[1].size), unsqueezed(isCounted, 1), scalar(0));
    loss = binary("-", scalar(0), fold("sum", where(rows, x, scalar(0)), {1}, false));
  } else {
    const IndexLists &target = index(node, "target");
    if (target.dims.size() != 1 || target.components.size() != 1)
      throw Refusal{"cross entropy: expected one integer for each row"};
    Index list = target.components[0];
    Index isKept = call("ne", {list, constant(ignored)}, list->length, true);
    Index safe = call("where", {isKept, list, constant(-1)}, list->length);
    int map = mapOf(safe, x.dims[0].id, spaceOf(SymbolicExpr(x.dims[1].size)), /*partial=*/true);
    rows = Tensor{{x.dims[0], x.dims[1]}, program.oneHot(map, x.dims[1].id)};
    int chosen = program.dot(x.value, rows.value, {x.dims[1].id});
    loss = Tensor{{x.dims[0]}, program.binary("-", program.number(0), chosen)};
    isCounted = asNumbers({{{IndexDim::Kind::Long, list->length}}, {isKept}});
  }
  kept = isCounted;
  // With class weights each row counts as much as its class.
  if (isWeighted) {
    kept = contract(rows, tensor(node, "weight"), {{1, 0}}, {});
    loss = binary("*", loss, kept);
  }
  if (smoothing != 0) {
    Tensor all = binary("-", scalar(0), x);
    if (isWeighted)
      all = binary("*", all, tensor(node, "weight"));
    Tensor even = binary("*", fold("sum", all, {1}, false), isCounted);
    loss = binary("+", binary("*", loss, 1 - smoothing), binary("*", even, evenly));
  }
  int64_t reduction = integer(node, "reduction", 1);
  if (reduction == 0)
    return define(node, loss);
  Tensor sum = fold("sum", loss, {0}, false);
  if (reduction == 1) {
    // The mean of no rows is no number, but has the derivative 0.
    Tensor total = fold("sum", kept, {0}, false), isNone = binary("==", total, 0);
    Tensor mean = binary("/", sum, where(isNone, scalar(1), total));
    sum = where(isNone, binary("/", total, total), mean);
  }
  define(node, sum);
}
