//===- RecoverShapes.cpp - Alignment, views and sums ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch aligns axes by their place from the end, the language by their names. So what is aligned becomes one axis, or
// is renamed where a value would have it twice.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// New names for axes of a tensor's value, which its dims then have.
static void renameAxes(RecoveredProgram &program, Tensor &x, const std::vector<std::pair<int, int>> &pairs) {
  int before = x.value;
  std::vector<int> old = program.axesOf(before);
  x.value = program.rename(before, pairs);
  if (x.value == before)
    return;
  std::vector<int> renamed = program.axesOf(x.value);
  for (Dim &dim : x.dims)
    if (dim.kind == Kind::Axis)
      for (size_t i = 0; i < old.size(); ++i)
        if (old[i] == program.axis(dim.id)) {
          dim.id = renamed[i];
          break;
        }
}

Dim Recover::dimOf(const SymbolicExpr &size, const std::string &hint) {
  if (!size.getFactors().empty())
    return {Kind::Space, spaceOf(size, hint), 0};
  if (size == SymbolicExpr(1))
    return {};
  return {Kind::Repeat, -1, size.getNumber()};
}

Tensor Recover::scalar(double value) { return {{}, program.number(value)}; }

Tensor Recover::filled(double value, const std::vector<SymbolicExpr> &sizes) {
  Tensor result = scalar(value);
  for (const SymbolicExpr &size : sizes)
    result.dims.push_back(dimOf(size));
  return result;
}

/// A size as a number that the graph gives.
int Recover::sizeAsNumber(const SymbolicExpr &size) {
  if (size.getFactors().empty())
    return program.number(double(size.getNumber()));
  return count(size);
}

std::vector<Dim> Recover::align(std::vector<Tensor> &all) {
  size_t rank = 0;
  for (const Tensor &each : all)
    rank = std::max(rank, each.dims.size());
  std::vector<Dim> result(rank);
  // Spaces first: an axis of a fixed size may have to become one.
  for (size_t back = 1; back <= rank; ++back) {
    int space = -1;
    for (const Tensor &each : all)
      if (back <= each.dims.size() && each.dims[each.dims.size() - back].kind == Kind::Space)
        space = each.dims[each.dims.size() - back].id;
    if (space < 0)
      continue;
    for (Tensor &each : all)
      if (back <= each.dims.size()) {
        size_t at = each.dims.size() - back;
        const Dim &dim = each.dims[at];
        if (dim.kind == Kind::Space && dim.id != space)
          throw Refusal{"its operands have the sizes " + program.spaces[dim.id].key + " and " +
                        program.spaces[space].key};
        if (dim.kind == Kind::Axis || dim.kind == Kind::Repeat)
          each = toSpace(each, at, space);
      }
    result[rank - back] = {Kind::Space, space, 0};
  }
  for (Tensor &each : all) {
    std::vector<std::pair<int, int>> pairs;
    size_t offset = rank - each.dims.size();
    auto isTaken = [&](int axis, size_t except) {
      for (size_t i = 0; i < rank; ++i)
        if (i != except && result[i].kind == Kind::Axis && program.axis(result[i].id) == program.axis(axis))
          return true;
      return false;
    };
    for (size_t i = 0; i < each.dims.size(); ++i) {
      const Dim &dim = each.dims[i];
      const Dim &wanted = result[offset + i];
      if (dim.kind == Kind::Axis && wanted.kind == Kind::Axis) {
        if (dim.size != wanted.size)
          throw Refusal{"axes of sizes " + std::to_string(dim.size) + " and " + std::to_string(wanted.size) +
                        " do not fit together"};
        if (isTaken(dim.id, offset + i) || !program.unify(wanted.id, dim.id))
          pairs.push_back({dim.id, wanted.id});
      } else if (dim.kind == Kind::Axis && isTaken(dim.id, offset + i)) {
        pairs.push_back({dim.id, program.newAxis(dim.size, program.hintOf(dim.id))});
      }
    }
    renameAxes(program, each, pairs);
    for (size_t i = 0; i < each.dims.size(); ++i) {
      const Dim &dim = each.dims[i];
      Dim &wanted = result[offset + i];
      if (wanted.kind == Kind::Unit || (wanted.kind == Kind::Repeat && dim.kind == Kind::Axis))
        wanted = dim;
    }
  }
  return result;
}

Tensor Recover::unary(const std::string &function, Tensor x, double number) {
  x.value = program.unary(function, x.value, number);
  return x;
}

Tensor Recover::binary(const std::string &function, Tensor a, Tensor b) {
  std::vector<Tensor> both = {a, b};
  std::vector<Dim> dims = align(both);
  auto isNumber = [&](size_t i, double number) {
    const Operation &operation = program.operations[both[i].value];
    return operation.op == Op::Number && operation.number == number;
  };
  // What leaves the other operand as it is. The sum of 0 and -0 is 0; nothing else tells them apart here.
  if ((isNumber(1, 1) && (function == "*" || function == "/")) ||
      (isNumber(1, 0) && (function == "+" || function == "-")))
    return {dims, both[0].value};
  if ((isNumber(0, 1) && function == "*") || (isNumber(0, 0) && function == "+"))
    return {dims, both[1].value};
  std::optional<int> idiom;
  if (function == "/") {
    idiom = findMean(program, both[0].value, both[1].value);
    idiom = idiom ? idiom : findSoftmax(program, both[0].value, both[1].value);
  } else if (function == "-") {
    idiom = findVariance(program, both[0].value, both[1].value);
  }
  return {dims, idiom ? *idiom : program.binary(function, both[0].value, both[1].value)};
}

Tensor Recover::binary(const std::string &function, Tensor a, double b) { return binary(function, a, scalar(b)); }

Tensor Recover::where(Tensor condition, Tensor a, Tensor b) {
  std::vector<Tensor> all = {condition, a, b};
  std::vector<Dim> dims = align(all);
  return {dims, program.where(all[0].value, all[1].value, all[2].value)};
}

/// The square root of what is not negative, with gradient 0 where it is 0.
Tensor Recover::safeRoot(Tensor x) {
  Tensor isZero = binary("==", x, 0), safe = where(isZero, scalar(1), x);
  return where(isZero, scalar(0), unary("sqrt", safe));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Tensor Recover::withAxis(Tensor x, size_t dim) {
  Dim &each = x.dims[dim];
  if (each.kind == Kind::Unit) {
    int one = program.newAxis(1, "one");
    std::vector<int> own = program.axesOf(x.value);
    if (own.empty()) {
      x.value = program.merge(x.value, {}, one);
    } else {
      int last = own.back(), again = program.newAxis(program.sizeOf(last), program.hintOf(last));
      x.value = program.split(x.value, last, {again, one});
      for (Dim &other : x.dims)
        if (other.kind == Kind::Axis && program.axis(other.id) == last)
          other.id = again;
    }
    each = {Kind::Axis, one, 1};
  } else if (each.kind == Kind::Repeat) {
    int64_t size = each.size;
    if (size > 256)
      throw Refusal{"it repeats numbers " + std::to_string(size) + " times; broadcasting does without"};
    Tensor once = x;
    once.dims[dim] = Dim();
    once = withAxis(once, dim);
    int axis = once.dims[dim].id, into = program.newAxis(size);
    std::vector<int> copies(static_cast<size_t>(size), once.value), joined(static_cast<size_t>(size), axis);
    x = once;
    x.value = program.concat(copies, joined, into);
    x.dims[dim] = {Kind::Axis, into, size};
  }
  return x;
}

Tensor Recover::squeezed(Tensor x, size_t dim) {
  if (x.dims[dim].kind == Kind::Unit)
    x.dims.erase(x.dims.begin() + ptrdiff_t(dim));
  return x;
}

Tensor Recover::unsqueezed(Tensor x, size_t dim) {
  x.dims.insert(x.dims.begin() + ptrdiff_t(dim), Dim());
  return x;
}

/// Axes of size 1 come and go; the others fall into groups of equal products, which are merged and split.
Tensor Recover::reshape(Tensor x, const std::vector<SymbolicExpr> &sizes) {
  std::vector<Dim> in, out;
  for (const Dim &dim : x.dims)
    if (dim.kind != Kind::Unit)
      in.push_back(dim);
  auto misfit = [&] {
    std::string found, wanted;
    for (const Dim &dim : x.dims)
      found += (found.empty() ? "" : ", ") +
               (dim.kind == Kind::Space ? program.spaces[dim.id].key : std::to_string(dim.size));
    for (const SymbolicExpr &size : sizes)
      wanted += (wanted.empty() ? "" : ", ") + size.str();
    return Refusal{"a view of shape [" + wanted + "] does not fit its operand, of shape [" + found +
                   "]: each axis has to be a product of neighbouring ones"};
  };
  auto sizeOf = [&](const Dim &dim) { return dim.size; };
  size_t i = 0;
  for (size_t o = 0; o < sizes.size();) {
    const SymbolicExpr &size = sizes[o];
    if (size == SymbolicExpr(1)) {
      out.push_back({});
      ++o;
      continue;
    }
    if (i >= in.size())
      throw misfit();
    if (!size.getFactors().empty() || in[i].kind == Kind::Space) {
      bool same = in[i].kind == Kind::Space &&
                  (program.spaces[in[i].id].key == size.str() || program.spaces[in[i].id].extent == size.getNumber());
      if (!same)
        throw Refusal{"the view mixes the axis of size " +
                      (in[i].kind == Kind::Space ? program.spaces[in[i].id].key : size.str()) +
                      " with other axes; elements of spaces cannot be regrouped"};
      out.push_back(in[i++]);
      ++o;
      continue;
    }
    // The least group of axes on each side with the same product.
    std::vector<Dim> from = {in[i++]};
    std::vector<int64_t> to = {size.getNumber()};
    int64_t left = sizeOf(from[0]), right = to[0];
    ++o;
    while (left != right) {
      if (left < right && i < in.size() && in[i].kind != Kind::Space) {
        left *= sizeOf(in[i]);
        from.push_back(in[i++]);
      } else if (right < left && o < sizes.size() && sizes[o].getFactors().empty()) {
        right *= sizes[o].getNumber();
        to.push_back(sizes[o++].getNumber());
      } else {
        throw misfit();
      }
    }
    size_t units = llvm::count(to, 1);
    if (from.size() == 1 && to.size() - units == 1) {
      for (int64_t each : to)
        out.push_back(each == 1 ? Dim() : from[0]);
      continue;
    }
    if (llvm::all_of(from, [](const Dim &dim) { return dim.kind == Kind::Repeat; })) {
      for (int64_t each : to)
        out.push_back(each == 1 ? Dim() : Dim{Kind::Repeat, -1, each});
      continue;
    }
    // All in `from` become axes of the value.
    Tensor whole;
    whole.value = x.value;
    whole.dims = from;
    for (size_t k = 0; k < from.size(); ++k)
      whole = withAxis(whole, k);
    // An axis of size 1 that was made may have renamed others.
    x.value = whole.value;
    int axis = whole.dims[0].id;
    if (from.size() > 1) {
      std::vector<int> merged;
      for (const Dim &dim : whole.dims)
        merged.push_back(dim.id);
      axis = program.newAxis(left);
      x.value = program.merge(x.value, merged, axis);
    }
    std::vector<int> into;
    for (int64_t each : to)
      if (each != 1)
        into.push_back(program.newAxis(each));
    if (into.size() > 1)
      x.value = program.split(x.value, axis, into);
    else
      into = {axis};
    size_t next = 0;
    for (int64_t each : to)
      out.push_back(each == 1 ? Dim() : Dim{Kind::Axis, into[next++], each});
  }
  if (i != in.size())
    throw misfit();
  x.dims = out;
  return x;
}

Tensor Recover::broadcast(Tensor x, const std::vector<SymbolicExpr> &sizes) {
  while (x.dims.size() < sizes.size())
    x.dims.insert(x.dims.begin(), Dim());
  if (x.dims.size() != sizes.size())
    throw Refusal{"cannot expand to fewer axes"};
  for (size_t i = 0; i < sizes.size(); ++i)
    if (x.dims[i].kind == Kind::Unit)
      x.dims[i] = dimOf(sizes[i]);
  return x;
}

//===----------------------------------------------------------------------===//
// Parts and wholes
//===----------------------------------------------------------------------===//

Tensor Recover::concat(std::vector<Tensor> parts, size_t dim) {
  if (parts.size() == 1)
    return parts[0];
  bool onSpace = llvm::any_of(parts, [&](const Tensor &each) { return each.dims.at(dim).kind == Kind::Space; });
  if (onSpace)
    return concatSpace(std::move(parts), dim);
  // The other axes are aligned as in any elementwise operation.
  std::vector<Tensor> others;
  std::vector<int> joined;
  int64_t size = 0;
  for (Tensor &part : parts) {
    part = withAxis(part, dim);
    size += part.dims[dim].size;
    joined.push_back(part.dims[dim].id);
    Tensor rest = part;
    rest.dims[dim] = Dim();
    others.push_back(rest);
  }
  // The joined axes may be one axis with those of other parts: give them names of their own where they are in the way.
  for (size_t i = 0; i < parts.size(); ++i) {
    bool clash = false;
    for (const Tensor &other : others)
      for (const Dim &each : other.dims)
        clash |= each.kind == Kind::Axis && program.axis(each.id) == program.axis(joined[i]);
    if (clash) {
      int fresh = program.newAxis(program.sizeOf(joined[i]));
      renameAxes(program, parts[i], {{joined[i], fresh}});
      joined[i] = fresh;
      others[i].value = parts[i].value;
    }
  }
  std::vector<Dim> dims = align(others);
  // Axes that alignment renamed are those of the operands now.
  std::vector<int> operands;
  for (size_t i = 0; i < parts.size(); ++i)
    operands.push_back(others[i].value);
  // Every operand has all the other axes: one that lacks an axis is repeated along it.
  for (size_t i = 0; i < operands.size(); ++i)
    for (const Dim &each : dims)
      if (each.kind == Kind::Axis && !program.hasAxis(operands[i], each.id)) {
        size_t other = 0;
        while (!program.hasAxis(operands[other], each.id))
          ++other;
        int like = program.pick(operands[other], joined[other], 0);
        operands[i] = program.where(program.number(1), operands[i], like);
      }
  int into = program.newAxis(size);
  dims[dim] = {Kind::Axis, into, size};
  return {dims, program.concat(operands, joined, into)};
}

Tensor Recover::slice(Tensor x, size_t dim, int64_t begin, int64_t end, int64_t step) {
  Dim &each = x.dims[dim];
  int64_t size = each.size;
  auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  begin = bound(begin);
  end = std::max(bound(end), begin);
  int64_t length = (end - begin + step - 1) / step;
  if (begin == 0 && length == size)
    return x;
  if (length == 0)
    throw Refusal{"the slice is empty"};
  if (each.kind == Kind::Repeat) {
    each = length == 1 ? Dim() : Dim{Kind::Repeat, -1, length};
    return x;
  }
  if (each.kind == Kind::Unit)
    return x;
  if (length == 1) {
    x.value = program.pick(x.value, each.id, begin);
    each = Dim();
    return x;
  }
  if (step == 1) {
    int into = program.newAxis(length);
    int whole = each.id;
    each = {Kind::Axis, into, length};
    x.value = program.rename(program.slice(x.value, whole, begin, end, whole), {{whole, into}});
    return x;
  }
  std::vector<Tensor> parts;
  for (int64_t at = begin; at < end; at += step)
    parts.push_back(slice(x, dim, at, at + 1, 1));
  return concat(parts, dim);
}

Tensor Recover::pick(Tensor x, size_t dim, int64_t element) {
  if (x.dims[dim].kind == Kind::Space) {
    int space = x.dims[dim].id;
    if (program.operations[x.value].space < 0) {
      x.dims.erase(x.dims.begin() + ptrdiff_t(dim));
      return x;
    }
    throw Refusal{"it takes one element of '" + program.spaces[space].name +
                  "' by its number; select it by an integer input"};
  }
  int64_t size = x.dims[dim].size;
  if (element < -size || element >= size)
    throw Refusal{"element " + std::to_string(element) + " of an axis of size " + std::to_string(size)};
  if (x.dims[dim].kind == Kind::Axis)
    x.value = program.pick(x.value, x.dims[dim].id, element < 0 ? element + size : element);
  x.dims.erase(x.dims.begin() + ptrdiff_t(dim));
  return x;
}

Tensor Recover::fold(const std::string &function, Tensor x, std::vector<size_t> dims, bool keep) {
  llvm::sort(dims);
  std::vector<int> axes;
  for (size_t dim : dims) {
    const Dim &each = x.dims[dim];
    if (each.kind == Kind::Axis)
      axes.push_back(each.id);
    else if (each.kind == Kind::Repeat && function == "sum")
      x.value = program.binary("*", x.value, program.number(double(each.size)));
  }
  if (!axes.empty())
    x.value = program.over(function, x.value, axes);
  for (size_t dim : dims)
    if (x.dims[dim].kind == Kind::Space) {
      if (program.operations[x.value].space >= 0)
        x.value = program.reduce(function, x.value, -1);
      else if (function == "sum")
        x.value = program.binary("*", x.value, sizeAsNumber(program.spaces[x.dims[dim].id].size));
    }
  for (size_t dim : dims)
    x.dims[dim] = Dim();
  if (!keep)
    for (size_t dim : llvm::reverse(dims))
      x.dims.erase(x.dims.begin() + ptrdiff_t(dim));
  return x;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

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
  result = fold("sum", result, rest, /*keep=*/true);
  result.dims.resize(first);
  return result;
}

Tensor Recover::matmul(Tensor a, Tensor b) {
  bool row = a.dims.size() == 1, column = b.dims.size() == 1;
  if (a.dims.empty() || b.dims.empty())
    throw Refusal{"a product needs operands with axes"};
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
    throw Refusal{"einsum '" + equation + "': expected " + std::to_string(labels.size()) + " operands"};
  for (auto [label, operand] : llvm::zip(labels, operands))
    if (label.size() != operand.dims.size() || std::set<char>(label.begin(), label.end()).size() != label.size())
      throw Refusal{"einsum '" + equation + "' does not fit its operands"};
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
