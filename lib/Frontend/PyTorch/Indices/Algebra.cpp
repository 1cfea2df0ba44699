//===- Algebra.cpp - Terms of integer tensors -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How terms are made, substituted and evaluated; Simplify.cpp has the rules of the normal form.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Algebra.h"
#include "PyTorch/Program.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexTermNode::Kind;

IndexTerm IndexAlgebra::intern(IndexTermNode node) {
  std::string key = std::to_string(int(node.kind)) + "|" + node.size.str() + "|" + std::to_string(node.dim) + "|" +
                    node.function + "|";
  for (IndexTerm argument : node.arguments)
    key += std::to_string(argument->id) + ",";
  for (const std::vector<SymbolicExpr> *sizes : {&node.factors, &node.starts}) {
    key += "|";
    for (const SymbolicExpr &size : *sizes)
      key += size.str() + ",";
  }
  if (node.source)
    key += "|" + node.source->text;
  auto [found, isNew] = known.try_emplace(key, nullptr);
  if (!isNew)
    return found->second;
  node.id = unsigned(nodes.size());
  node.isKnown = node.kind != Kind::Number && (node.kind != Kind::Element || node.source->numbers);
  for (IndexTerm argument : node.arguments) {
    node.coordinates |= argument->coordinates;
    node.isKnown &= argument->isKnown;
  }
  if (node.kind == Kind::Coordinate)
    node.coordinates = uint64_t(1) << node.dim;
  nodes.push_back(std::move(node));
  return found->second = &nodes.back();
}

static IndexTermNode make(Kind kind, std::vector<IndexTerm> arguments = {}) {
  IndexTermNode node{};
  node.kind = kind;
  node.arguments = std::move(arguments);
  return node;
}

IndexTerm IndexAlgebra::number(const SymbolicExpr &value) { return linear(value, {}); }

IndexTerm IndexAlgebra::coordinate(size_t dim, const SymbolicExpr &size) {
  if (dim >= kMostDims)
    throw Refusal{"an integer tensor of more than " + std::to_string(kMostDims) + " axes"};
  if (size == SymbolicExpr(1))
    return number(0);
  IndexTermNode node = make(Kind::Coordinate);
  node.dim = unsigned(dim);
  node.size = size;
  return linear(0, {{intern(std::move(node)), 1}});
}

IndexTerm IndexAlgebra::given(const Index &source) {
  if (std::optional<int64_t> value = pytorch::literalOf(source))
    return number(*value);
  IndexTermNode node = make(Kind::Number);
  node.source = source;
  return intern(std::move(node));
}

IndexTerm IndexAlgebra::element(const Index &list, IndexTerm at) {
  if (!list->isList)
    return given(list);
  if (list->function == "full")
    return given(list->arguments[1]);
  if (list->function == "arange")
    if (std::optional<int64_t> begin = pytorch::literalOf(list->arguments[0]),
        step = pytorch::literalOf(list->arguments[2]);
        begin && step)
      return add(times(at, *step), number(SymbolicExpr(*begin)));
  if (std::optional<int64_t> place = literalOf(at); place && list->numbers) {
    if (*place < 0 || size_t(*place) >= list->numbers->size())
      throw Refusal{"element " + std::to_string(*place) + " of a list of " + std::to_string(list->numbers->size())};
    return number(SymbolicExpr((*list->numbers)[size_t(*place)]));
  }
  IndexTermNode node = make(Kind::Element, {at});
  node.source = list;
  return intern(std::move(node));
}

IndexTerm IndexAlgebra::choose(IndexTerm at, std::vector<IndexTerm> parts) {
  if (std::optional<int64_t> place = literalOf(at)) {
    if (*place < 0 || size_t(*place) >= parts.size())
      throw Refusal{"element " + std::to_string(*place) + " of an axis of size " + std::to_string(parts.size())};
    return parts[size_t(*place)];
  }
  if (!parts.empty() && llvm::all_equal(parts))
    return parts[0];
  parts.insert(parts.begin(), at);
  return intern(make(Kind::Choose, std::move(parts)));
}

IndexTerm IndexAlgebra::join(IndexTerm at, std::vector<SymbolicExpr> starts, std::vector<IndexTerm> parts,
                             const SymbolicExpr &end) {
  // Parts that are never reached are left out, and neighbours that go on are one: the part before goes on.
  auto range = bounds(at);
  for (size_t i = 0; i < parts.size();) {
    bool isBefore = i + 1 < parts.size() && ((range && isNeverNegative(range->first + starts[i + 1] * -1)) ||
                                             isNeverNegative(starts[i] + starts[i + 1] * -1));
    bool isBehind = i > 0 && range && isNeverNegative(starts[i] + range->second * -1 + SymbolicExpr(-1));
    bool goesOn = i > 0 && parts[i] == parts[i - 1];
    if (parts.size() > 1 && (isBefore || isBehind || goesOn)) {
      starts.erase(starts.begin() + ptrdiff_t(i));
      parts.erase(parts.begin() + ptrdiff_t(i));
    } else {
      ++i;
    }
  }
  if (parts.size() == 1)
    return parts[0];
  parts.insert(parts.begin(), at);
  IndexTermNode node = make(Kind::Join, std::move(parts));
  node.size = end;
  node.starts = std::move(starts);
  node.starts[0] = 0; // what is before the first part does not occur
  return intern(std::move(node));
}

IndexTerm IndexAlgebra::apply(const std::string &function, std::vector<IndexTerm> arguments) {
  if (IndexTerm result = arithmetic(function, arguments))
    return result;
  if (IndexTerm result = comparison(function, arguments))
    return result;
  IndexTermNode node = make(Kind::Apply, std::move(arguments));
  node.function = function;
  return intern(std::move(node));
}

//===----------------------------------------------------------------------===//
// Substitution
//===----------------------------------------------------------------------===//

/// The term with other arguments, in its normal form again.
IndexTerm IndexAlgebra::rebuilt(IndexTerm term, const std::function<IndexTerm(IndexTerm)> &part) {
  std::vector<IndexTerm> arguments;
  for (IndexTerm argument : term->arguments)
    arguments.push_back(part(argument));
  switch (term->kind) {
  case Kind::Coordinate:
  case Kind::Number:
    return term;
  case Kind::Linear: {
    IndexTerm sum = nullptr;
    for (auto [argument, factor] : llvm::zip(arguments, term->factors)) {
      // A coordinate on its own is an argument of sums, whose own sum it is.
      IndexTerm own =
          argument->kind == Kind::Coordinate || argument->kind == Kind::Quotient || argument->kind == Kind::Remainder
              ? linear(0, {{argument, 1}})
              : argument;
      own = times(own, factor);
      sum = sum ? add(sum, own) : own;
    }
    return sum ? add(sum, number(term->size)) : term;
  }
  case Kind::Quotient:
    return quotient(arguments[0], term->size);
  case Kind::Remainder:
    return remainder(arguments[0], term->size);
  case Kind::Element:
    return element(term->source, arguments[0]);
  case Kind::Choose:
    return choose(arguments[0], {arguments.begin() + 1, arguments.end()});
  case Kind::Join:
    return join(arguments[0], term->starts, {arguments.begin() + 1, arguments.end()}, term->size);
  case Kind::Apply:
    return apply(term->function, std::move(arguments));
  }
  return term;
}

IndexTerm IndexAlgebra::transformed(IndexTerm term, const std::function<IndexTerm(IndexTerm)> &replaced,
                                    std::unordered_map<IndexTerm, IndexTerm> &done) {
  if (IndexTerm other = replaced(term))
    return other;
  auto known = done.find(term);
  if (known != done.end())
    return known->second;
  IndexTerm result;
  // Only the parts that are reached are looked at: elsewhere others may have no meaning.
  if (term->kind == Kind::Choose) {
    IndexTerm place = transformed(term->arguments[0], replaced, done);
    if (std::optional<int64_t> number = literalOf(place); number && *number >= 0)
      if (size_t(*number) + 1 < term->arguments.size())
        return done[term] = transformed(term->arguments[size_t(*number) + 1], replaced, done);
  }
  if (term->kind == Kind::Join) {
    IndexTerm place = transformed(term->arguments[0], replaced, done);
    auto range = bounds(place);
    std::vector<SymbolicExpr> starts;
    std::vector<IndexTerm> parts;
    for (size_t i = 0; i < term->starts.size(); ++i) {
      bool isBefore = range && i + 1 < term->starts.size() && isNeverNegative(range->first + term->starts[i + 1] * -1);
      bool isBehind = range && i > 0 && isNeverNegative(term->starts[i] + range->second * -1 + SymbolicExpr(-1));
      if (isBefore || isBehind)
        continue;
      starts.push_back(term->starts[i]);
      parts.push_back(transformed(term->arguments[i + 1], replaced, done));
    }
    if (!parts.empty())
      return done[term] = join(place, std::move(starts), std::move(parts), term->size);
  }
  result = rebuilt(term, [&](IndexTerm argument) { return transformed(argument, replaced, done); });
  return done[term] = result;
}

IndexTerm IndexAlgebra::at(IndexTerm term, const std::vector<IndexTerm> &places) {
  std::unordered_map<IndexTerm, IndexTerm> done;
  return transformed(
      term,
      [&](IndexTerm part) -> IndexTerm {
        if (part->coordinates == 0)
          return part;
        if (part->kind == Kind::Coordinate && part->dim < places.size() && places[part->dim])
          return places[part->dim];
        return nullptr;
      },
      done);
}

IndexTerm IndexAlgebra::replace(IndexTerm term, IndexTerm part, IndexTerm by) {
  std::unordered_map<IndexTerm, IndexTerm> done;
  return transformed(term, [&](IndexTerm each) { return each == part ? by : nullptr; }, done);
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

static int64_t floorDiv(int64_t a, int64_t b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// Functions of numbers, as GraphSource.h has them.
static int64_t applied(const std::string &function, const std::vector<int64_t> &x) {
  if (function == "where")
    return x[0] ? x[1] : x[2];
  if (function == "not" || function == "neg")
    return function == "not" ? int64_t(!x[0]) : -x[0];
  int64_t a = x[0], b = x[1];
  return function == "add"       ? a + b
         : function == "sub"     ? a - b
         : function == "mul"     ? a * b
         : function == "div"     ? floorDiv(a, b)
         : function == "mod"     ? a - floorDiv(a, b) * b
         : function == "minimum" ? std::min(a, b)
         : function == "maximum" ? std::max(a, b)
         : function == "eq"      ? a == b
         : function == "ne"      ? a != b
         : function == "lt"      ? a < b
         : function == "le"      ? a <= b
         : function == "gt"      ? a > b
         : function == "ge"      ? a >= b
         : function == "both"    ? a && b
                                 : a || b;
}

int64_t IndexAlgebra::evaluate(IndexTerm term, const std::vector<int64_t> &point,
                               const std::function<int64_t(const std::string &)> &size,
                               const std::function<int64_t(const Index &, int64_t)> &element) {
  auto own = [&](IndexTerm each) { return evaluate(each, point, size, element); };
  auto valueOf = [&](const SymbolicExpr &sum) {
    int64_t value = sum.getNumber();
    for (auto &[symbol, factor] : sum.getFactors())
      value += factor * size(symbol);
    return value;
  };
  const std::vector<IndexTerm> &arguments = term->arguments;
  switch (term->kind) {
  case Kind::Linear: {
    int64_t value = valueOf(term->size);
    for (auto [argument, factor] : llvm::zip(arguments, term->factors))
      value += valueOf(factor) * own(argument);
    return value;
  }
  case Kind::Coordinate:
    return point.at(term->dim);
  case Kind::Quotient:
    return floorDiv(own(arguments[0]), valueOf(term->size));
  case Kind::Remainder: {
    int64_t value = own(arguments[0]), by = valueOf(term->size);
    return value - floorDiv(value, by) * by;
  }
  case Kind::Number:
    return element(term->source, 0);
  case Kind::Element:
    return element(term->source, own(arguments[0]));
  case Kind::Choose:
    return own(arguments.at(size_t(own(arguments[0])) + 1));
  case Kind::Join: {
    int64_t place = own(arguments[0]);
    size_t part = 0;
    while (part + 1 < term->starts.size() && place >= valueOf(term->starts[part + 1]))
      ++part;
    return own(arguments[part + 1]);
  }
  case Kind::Apply: {
    std::vector<int64_t> numbers;
    for (IndexTerm argument : arguments)
      numbers.push_back(own(argument));
    return applied(term->function, numbers);
  }
  }
  return 0;
}
