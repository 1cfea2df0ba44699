//===- Sources.cpp - Integer tensors as lists and numbers -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A term of one coordinate is a list: a range where it is a sum of it, a slice or a part of a list, lists one behind
// the other, elements several times, lists in turn. Derived spaces are recognised by these forms, so the simplest is
// taken.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Sources.h"
#include "PyTorch/Program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexTermNode::Kind;

/// Of numbers along fixed axes there may be so many.
static constexpr int64_t kMostComponents = 4096;
/// So many copies of a list are written one behind the other.
static constexpr int64_t kMostCopies = 64;

static bool isLiteral(const SymbolicExpr &size) { return size.getFactors().empty(); }

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// What a function of numbers gives, if it is one of those that layouts are computed with.
static std::optional<int64_t> evaluated(const std::string &function, const std::vector<Index> &arguments) {
  std::vector<int64_t> numbers;
  for (const Index &argument : arguments)
    if (std::optional<int64_t> number = literalOf(argument))
      numbers.push_back(*number);
  if (numbers.size() != arguments.size() || numbers.empty())
    return std::nullopt;
  int64_t a = numbers[0], b = numbers.size() > 1 ? numbers[1] : 0, result;
  if (function == "add")
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  if (function == "sub")
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  if (function == "mul")
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  if (function == "neg")
    return __builtin_sub_overflow(int64_t(0), a, &result) ? std::nullopt : std::optional(result);
  if ((function == "div" || function == "mod") && b > 0) {
    int64_t quotient = a / b - (a % b < 0 ? 1 : 0);
    return function == "div" ? quotient : a - quotient * b;
  }
  static const std::map<std::string, bool (*)(int64_t, int64_t)> tests = {
      {"eq", [](int64_t a, int64_t b) { return a == b; }},   {"ne", [](int64_t a, int64_t b) { return a != b; }},
      {"lt", [](int64_t a, int64_t b) { return a < b; }},    {"le", [](int64_t a, int64_t b) { return a <= b; }},
      {"gt", [](int64_t a, int64_t b) { return a > b; }},    {"ge", [](int64_t a, int64_t b) { return a >= b; }},
      {"both", [](int64_t a, int64_t b) { return a && b; }}, {"either", [](int64_t a, int64_t b) { return a || b; }},
      {"not", [](int64_t a, int64_t) { return !a; }},
  };
  if (auto test = tests.find(function); test != tests.end())
    return test->second(a, b);
  if (function == "minimum" || function == "maximum")
    return function == "minimum" ? std::min(a, b) : std::max(a, b);
  if (function == "where")
    return a ? b : numbers.at(2);
  return std::nullopt;
}

Index gnnc::frontend::pytorch::makeCall(const std::string &function, std::vector<Index> arguments, bool isList,
                                        SymbolicExpr length, bool isTruth) {
  if (!isList)
    if (std::optional<int64_t> number = evaluated(function, arguments))
      return std::make_shared<IndexExpr>(IndexExpr{std::to_string(*number), false, 0, isTruth, "", {}});
  std::string text = function + "(";
  for (const Index &argument : arguments)
    text += (text.back() == '(' ? "" : ", ") + argument->text;
  text += ")";
  if (text.size() > 20000)
    throw Refusal{"what its integers are computed from is too long to write down"};
  return std::make_shared<IndexExpr>(
      IndexExpr{text, isList, std::move(length), isTruth, function, std::move(arguments)});
}

Index gnnc::frontend::pytorch::listsInTurn(const std::vector<Index> &lists,
                                           const std::function<Index(const SymbolicExpr &)> &size) {
  SymbolicExpr length = lists[0]->length * int64_t(lists.size());
  auto call = [&](const char *function, std::vector<Index> arguments, bool isTruth = false) {
    return makeCall(function, std::move(arguments), true, length, isTruth);
  };
  Index count = size(int64_t(lists.size())), own = size(lists[0]->length);
  Index number = call("arange", {size(0), size(length), size(1)});
  Index place = call("add", {call("mul", {call("mod", {number, count}), own}), call("div", {number, count})});
  bool isTruth = lists[0]->isTruth;
  return call("take", {call("cat", lists, isTruth), place}, isTruth);
}

Index IndexSources::literal(int64_t value) {
  return std::make_shared<IndexExpr>(IndexExpr{std::to_string(value), false, 0, false, "", {}});
}

Index IndexSources::range(const SymbolicExpr &begin, int64_t step, const SymbolicExpr &length) {
  return call("arange", {size(begin), size(begin + length * step), literal(step)}, length);
}

static void findElements(IndexTerm term, std::vector<IndexTerm> &found) {
  if (term->kind == Kind::Element || term->kind == Kind::Choose || term->kind == Kind::Join) {
    if (!llvm::is_contained(found, term))
      found.push_back(term);
    return;
  }
  if (!term->source)
    for (IndexTerm argument : term->arguments)
      findElements(argument, found);
}

/// The term with places that are all within their lists, which have one more element so that none is empty.
IndexTerm IndexSources::guarded(IndexTerm term) {
  std::vector<IndexTerm> elements;
  findElements(term, elements);
  auto within = [&](IndexTerm place, const SymbolicExpr &last) {
    return algebra.apply("maximum", {algebra.apply("minimum", {place, algebra.number(last)}), algebra.number(0)});
  };
  for (IndexTerm each : elements) {
    IndexTerm place = guarded(each->arguments[0]);
    if (each->kind != Kind::Element) {
      std::vector<IndexTerm> parts;
      for (size_t i = 1; i < each->arguments.size(); ++i)
        parts.push_back(guarded(each->arguments[i]));
      SymbolicExpr last = each->kind == Kind::Join ? each->size : SymbolicExpr(int64_t(parts.size()));
      place = within(place, last + SymbolicExpr(-1));
      term = algebra.replace(term, each,
                             each->kind == Kind::Join ? algebra.join(place, each->starts, std::move(parts), each->size)
                                                      : algebra.choose(place, std::move(parts)));
      continue;
    }
    const Index &source = each->source;
    Index longer = makeCall("cat", {source, literal(0)}, true, source->length + SymbolicExpr(1), source->isTruth);
    term = algebra.replace(term, each, algebra.element(longer, within(place, source->length)));
  }
  return term;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Index IndexSources::number(IndexTerm term) {
  if (std::optional<SymbolicExpr> known = IndexAlgebra::sizeOf(term))
    return size(*known);
  auto own = [&](size_t i) { return number(term->arguments[i]); };
  auto scalar = [&](const std::string &function, std::vector<Index> arguments) {
    return makeCall(function, std::move(arguments), false, 0, false);
  };
  switch (term->kind) {
  case Kind::Number:
    return term->source;
  case Kind::Element:
    return makeCall("take", {term->source, own(0)}, false, 0, term->source->isTruth);
  case Kind::Quotient:
    return scalar("div", {own(0), size(term->size)});
  case Kind::Remainder:
    return scalar("mod", {own(0), size(term->size)});
  case Kind::Linear: {
    Index sum = nullptr;
    for (auto [argument, factor] : llvm::zip(term->arguments, term->factors)) {
      Index part = number(argument);
      part = factor == SymbolicExpr(1) ? part : scalar("mul", {part, size(factor)});
      sum = sum ? scalar("add", {sum, part}) : part;
    }
    return term->size == SymbolicExpr(0) ? sum : scalar("add", {sum, size(term->size)});
  }
  case Kind::Choose:
  case Kind::Join: {
    // Where bounds do not say which part is meant, each is read within its lists.
    bool isJoin = term->kind == Kind::Join;
    auto part = [&](size_t i) { return number(isJoin ? guarded(term->arguments[i]) : term->arguments[i]); };
    Index place = own(0), result = part(term->arguments.size() - 1);
    for (size_t i = term->arguments.size() - 2; i > 0; --i) {
      Index isHere =
          isJoin ? scalar("lt", {place, size(term->starts[i])}) : scalar("eq", {place, literal(int64_t(i) - 1)});
      result = scalar("where", {isHere, part(i), result});
    }
    return result;
  }
  case Kind::Apply: {
    std::vector<Index> arguments;
    for (size_t i = 0; i < term->arguments.size(); ++i)
      arguments.push_back(own(i));
    return scalar(term->function, std::move(arguments));
  }
  case Kind::Coordinate:
    break;
  }
  throw Refusal{"integers of different layouts are combined"};
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// begin + step times the coordinate, if it is that.
static std::optional<std::pair<SymbolicExpr, int64_t>> progression(IndexTerm term) {
  if (term->kind != Kind::Linear || term->arguments.size() != 1 || term->arguments[0]->kind != Kind::Coordinate ||
      !isLiteral(term->factors[0]))
    return std::nullopt;
  return std::pair(term->size, term->factors[0].getNumber());
}

/// As an operand of a function of lists: a list, or a number that is the same all along.
Index IndexSources::argument(IndexTerm term, const SymbolicExpr &length) {
  return IndexAlgebra::dependsOn(term, 0) ? list(term, length) : number(term);
}

Index IndexSources::list(IndexTerm term, const SymbolicExpr &length) {
  if (!IndexAlgebra::dependsOn(term, 0)) {
    // A list of one number has the form that a graph's number has as a list.
    return call("full", {size(length), number(term)}, length);
  }
  if (Index result = periodic(term, length))
    return result;
  switch (term->kind) {
  case Kind::Linear:
    return sum(term, length);
  case Kind::Quotient:
    return call("div", {argument(term->arguments[0], length), size(term->size)}, length);
  case Kind::Remainder:
    return call("mod", {argument(term->arguments[0], length), size(term->size)}, length);
  case Kind::Coordinate:
    return range(0, 1, length);
  case Kind::Element:
    return element(term, length);
  case Kind::Choose:
    return choice(term, length);
  case Kind::Join:
    return joined(term, length);
  case Kind::Apply: {
    std::vector<Index> arguments;
    for (IndexTerm each : term->arguments)
      arguments.push_back(argument(each, length));
    return call(term->function, std::move(arguments), length);
  }
  case Kind::Number:
    break;
  }
  return call("full", {size(length), number(term)}, length);
}

Index IndexSources::sum(IndexTerm term, const SymbolicExpr &length) {
  if (auto own = progression(term))
    return range(own->first, int64_t(own->second), length);
  Index result = nullptr;
  for (auto [part, factor] : llvm::zip(term->arguments, term->factors)) {
    Index own = argument(part, length);
    bool isMinus = result && factor == SymbolicExpr(-1);
    if (!(factor == SymbolicExpr(1)) && !isMinus)
      own = own->isList ? call("mul", {own, size(factor)}, length)
                        : makeCall("mul", {own, size(factor)}, false, 0, false);
    result = result ? makeCall(isMinus ? "sub" : "add", {result, own}, result->isList || own->isList,
                               result->isList || own->isList ? length : SymbolicExpr(0), false)
                    : own;
  }
  return term->size == SymbolicExpr(0) ? result : call("add", {result, size(term->size)}, length);
}

Index IndexSources::element(IndexTerm term, const SymbolicExpr &length) {
  const Index &source = term->source;
  auto result = [&](const char *function, std::vector<Index> arguments) {
    return makeCall(function, std::move(arguments), true, length, source->isTruth);
  };
  if (auto own = progression(term->arguments[0])) {
    auto [begin, step] = *own;
    bool isWhole = length == resolve(source->length);
    if (isWhole && step == 1 && begin == SymbolicExpr(0))
      return source;
    if (isWhole && step == -1 && begin == length + SymbolicExpr(-1))
      return result("flip", {source});
    if (step > 0)
      return result("slice", {source, size(begin), size(begin + length * step), literal(step)});
  }
  return result("take", {source, list(term->arguments[0], length)});
}

/// One of several terms: numbers one by one where the coordinate itself says which; otherwise by comparison.
Index IndexSources::choice(IndexTerm term, const SymbolicExpr &length) {
  IndexTerm place = term->arguments[0];
  if (progression(place) && isLiteral(length) && length.getNumber() <= kMostComponents) {
    std::vector<Index> numbers;
    for (int64_t i = 0; i < length.getNumber(); ++i)
      numbers.push_back(number(algebra.at(term, {algebra.number(SymbolicExpr(i))})));
    if (llvm::all_of(numbers, [](const Index &each) { return literalOf(each).has_value(); })) {
      std::string text = "[";
      auto values = std::make_shared<std::vector<int64_t>>();
      for (const Index &each : numbers) {
        text += (text.size() > 1 ? ", " : "") + each->text;
        values->push_back(*literalOf(each));
      }
      IndexExpr result{text + "]", true, length, false, "", {}};
      result.numbers = values;
      return std::make_shared<IndexExpr>(std::move(result));
    }
    std::vector<Index> pieces;
    for (const Index &each : numbers)
      pieces.push_back(call("add", {call("full", {literal(1), literal(0)}, 1), each}, 1));
    return pieces.size() == 1 ? pieces[0] : call("cat", pieces, length);
  }
  Index at = argument(place, length), result = argument(term->arguments.back(), length);
  for (size_t part = term->arguments.size() - 2; part > 0; --part)
    result =
        call("where",
             {call("eq", {at, literal(int64_t(part) - 1)}, length), argument(term->arguments[part], length), result},
             length);
  return result;
}

/// Lists one behind the other, of which each begins where the one before it ends.
Index IndexSources::joined(IndexTerm term, const SymbolicExpr &length) {
  std::vector<IndexTerm> parts(term->arguments.begin() + 1, term->arguments.end());
  auto own = progression(term->arguments[0]);
  if (own && own->second == -1) {
    // The same backwards.
    IndexTerm backwards =
        algebra.add(algebra.number(length + SymbolicExpr(-1)), algebra.times(algebra.coordinate(0, length), -1));
    return call("flip", {list(algebra.at(term, {backwards}), length)}, length);
  }
  if (own && own->second == 1) {
    SymbolicExpr whole = resolve(term->size);
    bool isWhole = own->first == SymbolicExpr(0) && length == whole, isInOrder = isWhole;
    std::vector<SymbolicExpr> starts;
    for (size_t i = 0; i < parts.size(); ++i)
      starts.push_back(i == 0 ? SymbolicExpr(0) : resolve(term->starts[i]) + own->first * -1);
    if (!isWhole) {
      isInOrder = isNeverNegative(length + starts.back() * -1);
      for (size_t i = 1; i < parts.size(); ++i)
        isInOrder &= isNeverNegative(starts[i] + starts[i - 1] * -1);
    }
    if (!isInOrder) {
      // A part of the whole, of which nothing says how many elements are of which list.
      IndexTerm place = algebra.add(algebra.coordinate(0, whole), algebra.number(own->first * -1));
      return call("slice",
                  {list(algebra.at(term, {place}), whole), size(own->first), size(own->first + length), literal(1)},
                  length);
    }
    std::vector<Index> pieces;
    for (size_t i = 0; i < parts.size(); ++i) {
      SymbolicExpr end = i + 1 < parts.size() ? starts[i + 1] : length, count = end + starts[i] * -1;
      IndexTerm place = algebra.add(algebra.coordinate(0, count), algebra.number(starts[i]));
      pieces.push_back(list(algebra.at(parts[i], {place}), count));
    }
    return call("cat", std::move(pieces), length);
  }
  // Each part is read where it is there: elsewhere its places are kept within its lists.
  Index at = argument(term->arguments[0], length), result = nullptr;
  for (size_t part = parts.size(); part-- > 0;) {
    Index value = argument(guarded(parts[part]), length);
    result =
        result ? call("where", {call("lt", {at, size(term->starts[part + 1])}, length), value, result}, length) : value;
  }
  return result;
}

/// How a term depends on the coordinate: as it is, through its quotients or through its remainders by a number.
namespace {
struct Uses {
  bool bare = false;
  std::vector<IndexTerm> quotients, remainders;
};
} // namespace

static void findUses(IndexTerm term, Uses &uses) {
  if (!IndexAlgebra::dependsOn(term, 0))
    return;
  bool isPart = term->kind == Kind::Quotient || term->kind == Kind::Remainder;
  if (isPart) {
    auto own = progression(term->arguments[0]);
    if (own && own->second == 1 && own->first == SymbolicExpr(0)) {
      auto &all = term->kind == Kind::Quotient ? uses.quotients : uses.remainders;
      if (!llvm::is_contained(all, term))
        all.push_back(term);
      return;
    }
  }
  uses.bare |= term->kind == Kind::Coordinate;
  for (IndexTerm argument : term->arguments)
    findUses(argument, uses);
}

/// Elements several times, lists several times, and lists in turn; null for other terms.
Index IndexSources::periodic(IndexTerm term, const SymbolicExpr &length) {
  Uses uses;
  findUses(term, uses);
  if (uses.bare)
    return nullptr;
  // Of several numbers, one that divides all, or that all divide.
  auto commonOf = [](const std::vector<IndexTerm> &parts, bool isLeast) -> std::optional<SymbolicExpr> {
    for (IndexTerm own : parts)
      if (llvm::all_of(parts, [&](IndexTerm other) {
            return isLeast ? divideExactly(other->size, own->size) : divideExactly(own->size, other->size);
          }))
        return own->size;
    return std::nullopt;
  };
  if (uses.remainders.empty()) {
    std::optional<SymbolicExpr> times = commonOf(uses.quotients, true);
    std::optional<SymbolicExpr> count = times ? divideExactly(length, *times) : std::nullopt;
    if (count) {
      IndexTerm first = algebra.times(algebra.coordinate(0, *count), *times);
      Index own = list(algebra.at(term, {first}), *count);
      return call("interleave", {own, call("full", {size(*count), size(*times)}, *count)}, length);
    }
  } else if (uses.quotients.empty()) {
    std::optional<SymbolicExpr> period = commonOf(uses.remainders, false);
    if (!period || *period == length)
      return nullptr;
    std::optional<SymbolicExpr> count = divideExactly(length, *period);
    Index own = list(algebra.at(term, {algebra.coordinate(0, *period)}), *period);
    if (count && isLiteral(*count) && count->getNumber() <= kMostCopies)
      return call("cat", std::vector<Index>(size_t(count->getNumber()), own), length);
    Index places = call("mod", {range(0, 1, length), size(*period)}, length);
    return own->text == range(0, 1, *period)->text ? places : call("take", {own, places}, length);
  }
  bool areBoth =
      uses.quotients.size() == 1 && uses.remainders.size() == 1 && uses.quotients[0]->size == uses.remainders[0]->size;
  // Blocks one behind the other, which a view has made one list: as few as there can be.
  std::optional<std::pair<int64_t, SymbolicExpr>> blocks;
  for (IndexTerm part : uses.quotients) {
    std::optional<SymbolicExpr> count = divideExactly(length, part->size);
    if (count && isLiteral(*count) && count->getNumber() > 1 && count->getNumber() <= kMostCopies)
      if (!blocks || count->getNumber() < blocks->first)
        blocks = std::pair(count->getNumber(), part->size);
  }
  if (blocks) {
    auto [count, block] = *blocks;
    std::vector<Index> pieces;
    for (int64_t i = 0; i < count; ++i) {
      IndexTerm place = algebra.add(algebra.number(block * i), algebra.coordinate(0, block));
      pieces.push_back(list(algebra.at(term, {place}), block));
    }
    return call("cat", std::move(pieces), length);
  }
  // Lists in turn.
  if (!areBoth || term->kind != Kind::Choose || !isLiteral(uses.remainders[0]->size))
    return nullptr;
  IndexTerm rest = uses.remainders[0];
  int64_t times = rest->size.getNumber();
  std::optional<SymbolicExpr> count = divideExactly(length, rest->size);
  if (!count || times > kMostCopies)
    return nullptr;
  std::vector<Index> lists;
  IndexTerm element = algebra.coordinate(0, *count);
  for (int64_t i = 0; i < times; ++i) {
    IndexTerm own =
        algebra.replace(algebra.replace(term, rest, algebra.number(SymbolicExpr(i))), uses.quotients[0], element);
    lists.push_back(list(own, *count));
  }
  return listsInTurn(lists, size);
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// Whether the coordinate of a dim says which element of a list of the graph is meant.
static bool isPlace(IndexTerm term, size_t dim) {
  if (!IndexAlgebra::dependsOn(term, dim))
    return false;
  if (term->kind == Kind::Element && IndexAlgebra::dependsOn(term->arguments[0], dim))
    return true;
  return llvm::any_of(term->arguments, [&](IndexTerm argument) { return isPlace(argument, dim); });
}

/// The axis of lists: the one whose size is not fixed; otherwise the one whose coordinate says where in a list, or the
/// only one.
std::optional<size_t> IndexSources::longDim(const IndexTensor &tensor) const {
  std::optional<size_t> open, place, firstOpen;
  size_t used = 0;
  for (size_t dim = 0; dim < tensor.sizes.size(); ++dim) {
    if (!isLiteral(tensor.sizes[dim]) && !firstOpen)
      firstOpen = dim;
    if (!IndexAlgebra::dependsOn(tensor.value, dim))
      continue;
    ++used;
    if (!isLiteral(tensor.sizes[dim])) {
      if (open)
        throw Refusal{"all pairs of two lists of integers have no meaning as maps"};
      open = dim;
    } else if (isPlace(tensor.value, dim) &&
               (!place || tensor.sizes[dim].getNumber() >= tensor.sizes[*place].getNumber())) {
      place = dim;
    }
  }
  if (open || place)
    return open ? open : place;
  if (tensor.sizes.size() == 1 && !(tensor.sizes[0] == SymbolicExpr(1)))
    return 0;
  return used == 0 ? firstOpen : std::nullopt;
}

IndexLists IndexSources::lists(const IndexTensor &tensor, std::optional<size_t> along) {
  if (!along)
    along = longDim(tensor);
  IndexLists result;
  std::vector<size_t> small;
  int64_t count = 1;
  for (size_t dim = 0; dim < tensor.sizes.size(); ++dim) {
    const SymbolicExpr &own = tensor.sizes[dim];
    IndexDim::Kind kind = own == SymbolicExpr(1) ? IndexDim::Kind::Unit : IndexDim::Kind::Repeat;
    if (along == dim) {
      kind = IndexDim::Kind::Long;
    } else if (IndexAlgebra::dependsOn(tensor.value, dim)) {
      if (!isLiteral(own))
        throw Refusal{"all pairs of two lists of integers have no meaning as maps"};
      kind = IndexDim::Kind::Small;
      small.push_back(dim);
      count *= std::min(own.getNumber(), kMostComponents + 1);
      if (count > kMostComponents)
        throw Refusal{"integers of more than " + std::to_string(kMostComponents) + " places on axes of fixed sizes"};
    }
    result.dims.push_back({kind, own});
  }
  std::vector<IndexTerm> places(tensor.sizes.size(), nullptr);
  if (along)
    places[*along] = algebra.coordinate(0, tensor.sizes[*along]);
  for (int64_t component = 0; component < count; ++component) {
    int64_t rest = component;
    for (size_t dim : llvm::reverse(small)) {
      places[dim] = algebra.number(SymbolicExpr(rest % tensor.sizes[dim].getNumber()));
      rest /= tensor.sizes[dim].getNumber();
    }
    IndexTerm own = algebra.at(tensor.value, places);
    IndexExpr source = along ? *list(own, tensor.sizes[*along]) : *number(own);
    source.isTruth = tensor.isTruth;
    result.components.push_back(std::make_shared<IndexExpr>(std::move(source)));
  }
  return result;
}

IndexTensor IndexSources::function(const IndexLists &given) {
  IndexTensor result;
  IndexTerm place = nullptr;
  for (size_t dim = 0; dim < given.dims.size(); ++dim) {
    result.sizes.push_back(given.dims[dim].size);
    if (given.dims[dim].kind == IndexDim::Kind::Long)
      place = algebra.coordinate(dim, given.dims[dim].size);
  }
  std::vector<IndexTerm> values;
  for (const Index &component : given.components) {
    result.isTruth |= component->isTruth;
    values.push_back(component->isList ? algebra.element(component, place ? place : algebra.number(0))
                                       : algebra.given(component));
  }
  // The components are row-major: the last axis is gathered first.
  for (size_t dim = given.dims.size(); dim-- > 0;) {
    if (given.dims[dim].kind != IndexDim::Kind::Small)
      continue;
    size_t count = size_t(given.dims[dim].size.getNumber());
    std::vector<IndexTerm> chosen;
    for (size_t begin = 0; begin + count <= values.size() && count > 0; begin += count)
      chosen.push_back(algebra.choose(algebra.coordinate(dim, given.dims[dim].size),
                                      {values.begin() + ptrdiff_t(begin), values.begin() + ptrdiff_t(begin + count)}));
    values = std::move(chosen);
  }
  result.value = values.empty() ? algebra.number(0) : values[0];
  return result;
}
