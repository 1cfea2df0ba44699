//===- RecoverProducts.cpp - Sums of products -------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever PyTorch calls them: each is a sum over some pairs of axes.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// Sums over pairs of dims of the product; the result has the batch dims, then the others of a, then those of b.
Tensor Recover::contract(Tensor a, Tensor b, const std::vector<std::pair<size_t, size_t>> &summed,
                         const std::vector<std::pair<size_t, size_t>> &batched) {
  // As tensors of one rank: batch, the rest of a, the rest of b, what is summed.
  auto isIn = [](const std::vector<std::pair<size_t, size_t>> &pairs, size_t dim, bool second) {
    return llvm::any_of(pairs, [&](auto &pair) { return (second ? pair.second : pair.first) == dim; });
  };
  Tensor left{{}, a.value}, right{{}, b.value};
  auto add = [&](const Dim &l, const Dim &r) {
    left.dims.push_back(l);
    right.dims.push_back(r);
  };
  for (auto [i, j] : batched)
    add(a.dims[i], b.dims[j]);
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (!isIn(summed, i, false) && !isIn(batched, i, false))
      add(a.dims[i], Dim());
  for (size_t j = 0; j < b.dims.size(); ++j)
    if (!isIn(summed, j, true) && !isIn(batched, j, true))
      add(Dim(), b.dims[j]);
  size_t first = left.dims.size();
  for (auto [i, j] : summed)
    add(a.dims[i], b.dims[j]);
  std::vector<Tensor> both = {left, right};
  std::vector<Dim> dims = align(both);
  std::vector<int> over;
  std::vector<size_t> rest;
  for (size_t dim = first; dim < dims.size(); ++dim) {
    bool onBoth = dims[dim].kind == Kind::Axis && program.hasAxis(both[0].value, dims[dim].id) &&
                  program.hasAxis(both[1].value, dims[dim].id);
    if (onBoth)
      over.push_back(dims[dim].id);
    else
      rest.push_back(dim);
  }
  Tensor result{dims, over.empty() ? program.binary("*", both[0].value, both[1].value)
                                   : program.dot(both[0].value, both[1].value, over)};
  for (const Tensor &each : both) // What is 0 stays 0.
    if (auto side = maskedWeights.find(each.value); side != maskedWeights.end())
      maskedWeights[result.value] = side->second;
  bool areBoth = matrices.count(both[0].value) && matrices.count(both[1].value);
  noteMatrix(result.value, {both[0].value, both[1].value}, !areBoth);
  result = fold("sum", result, rest, /*keep=*/true);
  result.dims.resize(first);
  return result;
}

Tensor Recover::matmul(Tensor a, Tensor b) {
  bool row = a.dims.size() == 1, column = b.dims.size() == 1;
  if (a.dims.empty() || b.dims.empty())
    throw Refusal{"a product: expected two operands with axes, found shapes " + shapeText(a.dims) + " and " +
                  shapeText(b.dims)};
  if (row)
    a = unsqueezed(a, 0);
  if (column)
    b = unsqueezed(b, 1);
  size_t batch = std::max(a.dims.size(), b.dims.size()) - 2;
  while (a.dims.size() < batch + 2)
    a = unsqueezed(a, 0);
  while (b.dims.size() < batch + 2)
    b = unsqueezed(b, 0);
  std::vector<std::pair<size_t, size_t>> batched;
  for (size_t i = 0; i < batch; ++i)
    batched.push_back({i, i});
  Tensor result = contract(a, b, {{batch + 1, batch}}, batched);
  if (column)
    result.dims.pop_back();
  if (row)
    result.dims.erase(result.dims.begin() + ptrdiff_t(batch));
  return result;
}

Tensor Recover::linear(Tensor x, Tensor weight, std::optional<Tensor> bias) {
  Tensor result = contract(x, weight, {{x.dims.size() - 1, weight.dims.size() - 1}}, {});
  return bias ? binary("+", result, *bias) : result;
}

/// The equation with letters for the axes that `...` stands for, counted from the last, and with a result: without
/// one it has the axes that occur once, in alphabetical order.
static std::string withoutEllipsis(const std::string &equation, const std::vector<Tensor> &operands) {
  size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow), letters, result;
  for (char c = 'A'; c <= 'Z'; ++c)
    if (equation.find(c) == std::string::npos)
      letters += c;
  size_t most = 0, operand = 0, begin = 0;
  std::string labels;
  while (begin <= left.size() && operand < operands.size()) {
    size_t end = std::min(left.find(',', begin), left.size());
    std::string own = left.substr(begin, end - begin);
    begin = end + 1;
    if (size_t at = own.find("..."); at != std::string::npos) {
      size_t rank = operands[operand].dims.size(), named = own.size() - 3;
      size_t count = rank > named ? rank - named : 0;
      if (count > letters.size())
        throw Refusal{"einsum '" + equation + "' has too many axes"};
      own.replace(at, 3, letters.substr(letters.size() - count));
      most = std::max(most, count);
    }
    labels += (operand++ ? "," : "") + own;
  }
  std::string all = letters.substr(letters.size() - std::min(most, letters.size()));
  if (arrow != std::string::npos) {
    result = equation.substr(arrow + 2);
    if (size_t at = result.find("..."); at != std::string::npos)
      result.replace(at, 3, all);
  } else {
    result = all;
    for (char c = 'A'; c <= 'z'; ++c)
      if (all.find(c) == std::string::npos && llvm::count(labels, c) == 1)
        result += c;
  }
  // What is missing of the operands is found by the caller.
  return operand == operands.size() && begin > left.size() ? labels + "->" + result : equation;
}

Tensor Recover::einsum(const std::string &equation, std::vector<Tensor> operands) {
  std::string text;
  for (char c : equation)
    if (c != ' ')
      text += c;
  text = withoutEllipsis(text, operands);
  size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.find('.') != std::string::npos)
    throw Refusal{"einsum '" + equation + "': expected an axis for each of its operands'"};
  std::string result = text.substr(arrow + 2);
  std::vector<std::string> labels(1);
  for (char c : text.substr(0, arrow))
    if (c == ',')
      labels.emplace_back();
    else
      labels.back() += c;
  if (labels.size() != operands.size())
    throw Refusal{"einsum '" + equation + "': expected " + std::to_string(labels.size()) + " operands, found " +
                  std::to_string(operands.size())};
  for (auto [label, operand] : llvm::zip(labels, operands)) {
    if (label.size() != operand.dims.size())
      throw Refusal{"einsum '" + equation + "': expected an operand with " + std::to_string(label.size()) +
                    " axes for '" + label + "', found one of shape " + shapeText(operand.dims)};
    for (size_t i = 0; i < label.size();) { // an axis that is named twice is a diagonal
      size_t again = label.find(label[i], i + 1);
      if (again == std::string::npos) {
        ++i;
        continue;
      }
      operand = diagonal(operand, i, again);
      label = label.substr(0, i) + label.substr(i + 1, again - i - 1) + label.substr(again + 1) + label[i];
    }
  }
  Tensor whole = operands[0];
  std::string own = labels[0];
  for (size_t k = 1; k < operands.size(); ++k) {
    std::vector<std::pair<size_t, size_t>> summed, batched;
    std::string next, rest, batch;
    for (size_t i = 0; i < own.size(); ++i) {
      size_t j = labels[k].find(own[i]);
      bool later = result.find(own[i]) != std::string::npos;
      for (size_t other = k + 1; other < labels.size(); ++other)
        later |= labels[other].find(own[i]) != std::string::npos;
      if (j == std::string::npos) {
        next += own[i];
      } else if (later) {
        batched.push_back({i, j});
        batch += own[i];
      } else {
        summed.push_back({i, j});
      }
    }
    for (char c : labels[k])
      if (own.find(c) == std::string::npos)
        rest += c;
    whole = contract(whole, operands[k], summed, batched);
    own = batch + next + rest;
  }
  std::vector<size_t> gone;
  for (size_t i = 0; i < own.size(); ++i)
    if (result.find(own[i]) == std::string::npos)
      gone.push_back(i);
  whole = fold("sum", whole, gone, /*keep=*/true);
  Tensor ordered{{}, whole.value};
  for (char c : result) {
    size_t at = own.find(c);
    if (at == std::string::npos)
      throw Refusal{"einsum '" + equation + "' has a result axis that no operand has"};
    ordered.dims.push_back(whole.dims[at]);
  }
  return ordered;
}

/// The product of two directions; lengths below eps count as eps.
Tensor Recover::cosine(std::vector<Tensor> both, size_t dim, double eps) {
  for (Tensor &each : both) {
    Tensor length = safeRoot(fold("sum", unary("square", each), {dim}, true));
    each = binary("/", each, binary("maximum", length, eps));
  }
  return fold("sum", binary("*", both[0], both[1]), {dim}, false);
}

void Recover::opCosine(const NormalNode &node) {
  std::vector<Tensor> both = {tensor(node, "x1"), tensor(node, "x2")};
  size_t rank = std::max(both[0].dims.size(), both[1].dims.size());
  size_t dim = axisNumber(node, "dim", 1, rank);
  for (Tensor &each : both)
    while (each.dims.size() < rank)
      each = unsqueezed(each, 0);
  define(node, cosine(both, dim, number(node, "eps", 1e-8)));
}

/// The products of all rows of a with all rows of b, over their last axes.
void Recover::opInner(const NormalNode &node) {
  Tensor a = tensor(node, "self"), b = tensor(node, node.op == "tensordot" ? "other" : "other");
  if (node.op == "tensordot") {
    std::vector<int64_t> left = integers(node, "dims_self"), right = integers(node, "dims_other");
    if (left.size() != right.size())
      throw Refusal{"tensordot: expected as many axes of each operand"};
    std::vector<std::pair<size_t, size_t>> summed;
    for (auto [i, j] : llvm::zip(left, right))
      summed.push_back(
          {size_t(i < 0 ? i + int64_t(a.dims.size()) : i), size_t(j < 0 ? j + int64_t(b.dims.size()) : j)});
    return define(node, contract(a, b, summed, {}));
  }
  if (a.dims.empty() || b.dims.empty())
    return define(node, binary("*", a, b));
  define(node, contract(a, b, {{a.dims.size() - 1, b.dims.size() - 1}}, {}));
}

/// The distance of two rows.
Tensor Recover::distance(const Tensor &a, const Tensor &b, double order, double eps, bool keep) {
  Tensor d = binary("+", binary("-", a, b), eps);
  if (order != 1 && order != 2)
    throw Refusal{"a distance of order " + std::to_string(order) + "; expected 1 or 2"};
  std::vector<size_t> last = {d.dims.size() - 1};
  return order == 1 ? fold("sum", unary("abs", d), last, keep) : safeRoot(fold("sum", unary("square", d), last, keep));
}

void Recover::opDistance(const NormalNode &node) {
  define(node, distance(tensor(node, "x1"), tensor(node, "x2"), number(node, "p", 2), number(node, "eps", 1e-6),
                        flag(node, "keepdim", false)));
}

/// Distances of all rows of one from all rows of the other, of which one has a fixed number of them.
void Recover::opPairDistances(const NormalNode &node) {
  Tensor a = tensor(node, "x1"), b = tensor(node, "x2");
  if (a.dims.size() < 2 || b.dims.size() < 2)
    throw Refusal{"cdist: expected rows"};
  define(node, distance(unsqueezed(a, a.dims.size() - 1), unsqueezed(b, b.dims.size() - 2), number(node, "p", 2), 0,
                        /*keep=*/false));
}

/// One product after the other.
void Recover::opChain(const NormalNode &node) {
  Tensor whole;
  for (auto [i, name] : llvm::enumerate(names(node, node.op == "chain_matmul" ? "matrices" : "tensors")))
    whole = i == 0 ? tensorOf(name) : matmul(whole, tensorOf(name));
  define(node, whole);
}

/// A tensor and an outer product, or the sum of several products.
void Recover::opAddOuter(const NormalNode &node) {
  Tensor product;
  if (node.op == "addr")
    product = binary("*", unsqueezed(tensor(node, "vec1"), 1), unsqueezed(tensor(node, "vec2"), 0));
  else
    product = fold("sum", matmul(tensor(node, "batch1"), tensor(node, "batch2")), {0}, false);
  auto scaled = [&](const Tensor &x, const char *name) {
    double factor = number(node, name, 1);
    return factor == 1 ? x : binary("*", x, factor);
  };
  define(node, binary("+", scaled(tensor(node, "self"), "beta"), scaled(product, "alpha")));
}

void Recover::opVecdot(const NormalNode &node) {
  Tensor product = binary("*", tensor(node, "x"), tensor(node, "y"));
  define(node, fold("sum", product, {axisNumber(node, "dim", -1, product.dims.size())}, false));
}

/// The distance of two tensors.
void Recover::opDist(const NormalNode &node) {
  Tensor d = binary("-", tensor(node, "self"), tensor(node, "other"));
  define(node, norm(d, number(node, "p", 2), foldedDims({}, d.dims.size()), false));
}

/// A bilinear form: x1ᵀ W x2 for each output.
void Recover::opBilinear(const NormalNode &node) {
  Tensor a = tensor(node, "input1"), b = tensor(node, "input2"), weight = tensor(node, "weight");
  if (a.dims.empty() || a.dims.size() != b.dims.size() || a.dims.size() > 20)
    throw Refusal{"bilinear: expected two inputs with as many axes, found shapes " + shapeText(a.dims) + " and " +
                  shapeText(b.dims)};
  std::string rows;
  for (size_t i = 0; i + 1 < a.dims.size(); ++i)
    rows += char('a' + i);
  Tensor y = einsum(rows + "y,xyz," + rows + "z->" + rows + "x", {a, weight, b});
  define(node, has(node, "bias") ? binary("+", y, tensor(node, "bias")) : y);
}

/// What bilinear is made of: a product of three tensors, each of which has axes of size 1 added, summed along some
/// axes.
void Recover::opTrilinear(const NormalNode &node) {
  std::vector<Tensor> operands;
  std::string equation, result;
  for (const char *number : {"1", "2", "3"}) {
    operands.push_back(tensor(node, std::string("i") + number));
    std::vector<int64_t> added = integers(node, std::string("expand") + number), summed = integers(node, "sumdim");
    result.clear();
    equation += equation.empty() ? "" : ",";
    for (int64_t i = 0; i < int64_t(operands.back().dims.size() + added.size()); ++i) {
      if (!llvm::is_contained(added, i))
        equation += char('a' + i);
      if (!llvm::is_contained(summed, i))
        result += char('a' + i);
    }
  }
  define(node, einsum(equation + "->" + result, operands));
}
