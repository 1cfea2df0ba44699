//===- RecoverIntegerLists.cpp - Lists of integers as a whole ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading and writing by index, and what needs all elements of a list: orders, sums, counts.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexDim::Kind;

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// What an index says of an axis, counted from the front: of a mask the places where it is true.
IndexTensor Recover::placesAlong(const NormalNode &node, const std::string &name, const SymbolicExpr &size,
                                 const SymbolicExpr &length) {
  if (std::optional<IndexLists> kept = keptPlaces(name, length))
    return indexSources.function(*kept);
  IndexTensor at = indexFunctionOf(name);
  if (at.isTruth) {
    if (at.sizes.size() != 1)
      throw Refusal{"a mask of several axes on integers"};
    IndexLists mask = indexSources.lists(at, 0);
    std::vector<Index> places;
    if (std::optional<std::vector<int64_t>> known = constantsOf(mask)) {
      for (auto [place, isTaken] : llvm::enumerate(*known))
        if (isTaken)
          places.push_back(constant(int64_t(place)));
      Index list = listOf(places);
      knowSize(length, list->length);
      return indexSources.function({{{Kind::Long, list->length}}, {list}});
    }
    Index list = nonzero(mask.components[0], length);
    return indexSources.function({{{Kind::Long, list->length}}, {list}});
  }
  return fromFront(at, size);
}

/// An integer tensor of which numbers that the graph gives may say which element along an axis is read. Along an axis
/// of a fixed size beside one that is not, all elements are there to be chosen from.
IndexTensor Recover::readable(const IndexTensor &x, size_t dim) {
  if (!IndexAlgebra::dependsOn(x.value, dim))
    return x;
  const SymbolicExpr &size = x.sizes[dim];
  bool isBeside = false;
  for (size_t other = 0; other < x.sizes.size(); ++other)
    isBeside |= other != dim && IndexAlgebra::dependsOn(x.value, other) && !x.sizes[other].getFactors().empty();
  constexpr int64_t kMostChoices = 64;
  if (!isBeside || !size.getFactors().empty() || size.getNumber() > kMostChoices)
    return indexSources.function(indexSources.lists(x, dim));
  std::vector<IndexTerm> places = views::coordinates(algebra, x.sizes), parts;
  std::vector<Index> numbers;
  IndexTerm place = places[dim];
  for (int64_t i = 0; i < size.getNumber(); ++i) {
    numbers.push_back(constant(i));
    places[dim] = algebra.number(SymbolicExpr(i));
    parts.push_back(algebra.at(x.value, places));
  }
  // The list 0, 1, ... has no element where the place is none.
  IndexTensor result = x;
  IndexExpr checked = *listOf(numbers);
  checked.numbers = nullptr;
  result.value = algebra.choose(algebra.element(std::make_shared<IndexExpr>(std::move(checked)), place), parts);
  return result;
}

void Recover::intIndex(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  if (node.op == "gather") {
    size_t dim = axisNumber(node, "dim", 0, x.sizes.size());
    IndexTensor at = indexFunction(node, "index");
    if (!at.value->isKnown)
      x = readable(x, dim);
    return define(node, views::gatherAlong(algebra, x, dim, at));
  }
  std::vector<std::string> names;
  if (node.op == "index")
    names = this->names(node, "indices");
  else
    names.assign(1, nameOf(node, node.op == "masked_select" ? "mask" : "index"));
  if (node.op == "index_select")
    names.insert(names.begin(), axisNumber(node, "dim", 0, x.sizes.size()), "");
  if (node.op == "take" && x.sizes.size() != 1)
    throw Refusal{"take from integers with several axes; use reshape(-1)"};
  std::vector<SymbolicExpr> wanted = sizes(node);
  std::vector<size_t> dims;
  for (auto [dim, name] : llvm::enumerate(names))
    if (!name.empty())
      dims.push_back(dim);
  bool areNeighbours = !dims.empty() && dims.back() < x.sizes.size() && dims.back() - dims[0] + 1 == dims.size();
  if (!areNeighbours)
    throw Refusal{"integers are indexed along axes that do not follow each other"};
  std::vector<IndexTensor> places;
  for (size_t dim : dims) {
    places.push_back(placesAlong(node, names[dim], x.sizes[dim], wanted.at(dims[0])));
    if (!places.back().value->isKnown)
      x = readable(x, dim);
  }
  wanted = sizes(node); // two symbols may have turned out to be one
  // The index's own axes stand in the place of the axes that it indexes.
  size_t width = wanted.size() + dims.size() - x.sizes.size();
  std::vector<SymbolicExpr> own(wanted.begin() + ptrdiff_t(dims[0]), wanted.begin() + ptrdiff_t(dims[0] + width));
  std::vector<IndexTerm> inside;
  for (size_t i = 0; i < width; ++i)
    inside.push_back(algebra.coordinate(dims[0] + i, own[i]));
  std::vector<IndexTerm> at;
  for (size_t dim = 0; dim < x.sizes.size(); ++dim) {
    if (dim >= dims[0] && dim <= dims.back())
      at.push_back(algebra.at(views::expand(algebra, places[dim - dims[0]], own).value, inside));
    else
      at.push_back(algebra.coordinate(dim < dims[0] ? dim : dim + width - dims.size(), x.sizes[dim]));
  }
  define(node, IndexTensor{wanted, algebra.at(x.value, at), x.isTruth});
}

/// So many truth values are looked at one by one.
static constexpr int64_t kMostTried = 1 << 16;

/// Where truth values of several axes of fixed sizes are true, row by row: the places along each axis. None where that
/// is not known now.
std::optional<std::vector<std::vector<int64_t>>> Recover::trueAt(const IndexTensor &mask) {
  int64_t count = 1;
  for (const SymbolicExpr &size : mask.sizes) {
    if (!size.getFactors().empty())
      return std::nullopt;
    count *= std::min<int64_t>(size.getNumber(), kMostTried + 1);
    if (count > kMostTried)
      return std::nullopt;
  }
  if (mask.sizes.size() < 2 || !mask.value->isKnown || count == 0)
    return std::nullopt;
  std::vector<std::vector<int64_t>> places(mask.sizes.size());
  std::vector<int64_t> point(mask.sizes.size(), 0);
  bool hasOthers = false; // sizes, and lists of the graph
  auto none = [&](auto &&...) -> int64_t {
    hasOthers = true;
    return 1;
  };
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t axis = point.size(); axis-- > 0; rest /= mask.sizes[axis].getNumber())
      point[axis] = rest % mask.sizes[axis].getNumber();
    if (IndexAlgebra::evaluate(mask.value, point, none, none) != 0)
      for (auto [axis, place] : llvm::enumerate(point))
        places[axis].push_back(place);
  }
  return hasOthers ? std::nullopt : std::optional(places);
}

void Recover::intNonzero(const NormalNode &node) {
  const std::string mask = nameOf(node, node.op == "where" ? "condition" : "self");
  if (std::optional<IndexLists> kept = keptPairs(mask, sizes(node).at(0))) {
    if (sizes(node).size() == 2)
      return define(node, *kept);
    for (size_t axis = 0; axis < node.outputs.size(); ++axis)
      if (!node.outputs[axis].empty())
        define(node, IndexLists{{kept->dims[0]}, {kept->components.at(axis)}}, axis);
    return;
  }
  if (!indices.count(mask))
    if (std::optional<IndexLists> kept = keptPlaces(mask, sizes(node).at(0))) {
      if (sizes(node).size() == 2)
        kept->dims.push_back({});
      return define(node, *kept);
    }
  const IndexTensor given = indexFunctionOf(mask);
  if (std::optional<std::vector<std::vector<int64_t>>> known = trueAt(given)) {
    std::vector<Index> lists;
    for (const std::vector<int64_t> &along : *known) {
      std::vector<Index> numbers;
      for (int64_t place : along)
        numbers.push_back(constant(place));
      lists.push_back(listOf(numbers));
    }
    knowSize(sizes(node).at(0), lists[0]->length);
    IndexDim length{Kind::Long, lists[0]->length};
    if (node.outputs.size() == lists.size() && sizes(node).size() == 1) {
      for (auto [axis, list] : llvm::enumerate(lists))
        define(node, IndexLists{{length}, {list}}, axis);
      return;
    }
    return define(node, IndexLists{{length, {Kind::Small, SymbolicExpr(int64_t(lists.size()))}}, lists});
  }
  const IndexLists &x = index(node, node.op == "where" ? "condition" : "self");
  if (x.dims.size() != 1 || x.dims[0].kind != Kind::Long)
    throw Refusal{"'" + node.op + "': expected one axis, of the graph's elements, found " +
                  (x.dims.size() == 1 ? "one of fixed size" : std::to_string(x.dims.size()) + " axes")};
  std::vector<SymbolicExpr> wanted = sizes(node);
  Index list = nonzero(x.components[0], wanted.at(0));
  IndexLists result{{{Kind::Long, sizes(node).at(0)}}, {list}};
  if (wanted.size() == 2)
    result.dims.push_back({});
  define(node, result);
}

void Recover::intPut(const NormalNode &node) {
  const std::string &op = node.op;
  if (op == "scatter" && has(node, "reduce"))
    throw Refusal{"it writes integers in a way that has no meaning in gnnc"};
  if (op == "scatter" && indexFunction(node, "self").sizes.size() > 1)
    return writePlaces(node);
  IndexLists base = indexSources.lists(
      indexFunction(node, "self"), indexFunction(node, "self").sizes.empty() ? std::nullopt : std::optional<size_t>(0));
  IndexLists at = op == "index_put" ? indexOf(names(node, "indices").at(0)) : index(node, "index");
  IndexLists values = indexArgument(node, op == "index_put"    ? "values"
                                          : op == "index_copy" ? "source"
                                          : has(node, "value") ? "value"
                                                               : "src");
  bool isPlain = base.dims.size() == 1 && base.dims[0].kind == Kind::Long && at.dims.size() == 1 &&
                 at.dims[0].kind == Kind::Long && values.components.size() == 1 && values.dims.size() <= 1 &&
                 (op != "index_put" || names(node, "indices").size() == 1);
  if (!isPlain || flag(node, "accumulate", false))
    throw Refusal{"it writes integers in a way that has no meaning in gnnc"};
  Index list = at.components.at(0), value = values.components[0];
  SymbolicExpr length = base.components.at(0)->length;
  bool isTruth = base.components[0]->isTruth;
  if (list->isTruth) {
    if (value->isList)
      throw Refusal{"it writes several integers by a mask"};
    return define(node, IndexLists{{base.dims}, {call("where", {list, value, base.components[0]}, length, isTruth)}});
  }
  // All places in order: nothing of what was there is left.
  bool isEverywhere = list->function == "arange" && literalOf(list->arguments[0]) == 0 &&
                      literalOf(list->arguments[2]) == 1 && list->length == length && value->isList;
  if (isEverywhere)
    return define(node, IndexLists{{base.dims}, {value}});
  define(node, IndexLists{{base.dims}, {call("put", {base.components[0], list, value}, length, isTruth)}});
}

//===----------------------------------------------------------------------===//
// Lists as a whole
//===----------------------------------------------------------------------===//

/// Different columns of an edge list, in order: each is one number, of which the first row is the larger part.
void Recover::uniqueColumns(const NormalNode &node, const IndexLists &x, size_t dim) {
  const SymbolicExpr &count = x.dims.at(dim).size;
  auto bound = [&](const char *function, const Index &list) { // 0 where there are no columns
    return callScalar(function, {call("cat", {list, constant(0)}, count + SymbolicExpr(1))});
  };
  const Index &first = x.components.at(0);
  Index least = bound("min", x.components.at(1));
  Index second = call("sub", {x.components[1], least}, count);
  Index base = callScalar("add", {bound("max", second), constant(1)});
  Index numbers = call("add", {call("mul", {first, base}, count), second}, count);
  SymbolicExpr length = sizes(node).at(dim);
  Index unique = call("unique", {numbers}, length);
  learnSymbol(length, "length(" + unique->text + ")");
  IndexLists result = x;
  result.dims[dim].size = length;
  result.components = {call("div", {unique, base}, length),
                       call("add", {call("mod", {unique, base}, length), least}, length)};
  define(node, result, 0);
  defineInverse(node, numbers, length, {numbers->length});
}

/// The further results of `unique`: which of its numbers each of the list's is, and how many are the same.
void Recover::defineInverse(const NormalNode &node, const Index &list, const SymbolicExpr &length,
                            const std::vector<SymbolicExpr> &shape) {
  Index inverse = call("inverse", {list}, list->length);
  auto isWanted = [&](size_t output, const char *name) {
    return node.outputs.size() > output && !node.outputs[output].empty() &&
           flag(node, name, node.op == "unique_dim" && output == 1);
  };
  if (isWanted(1, "return_inverse"))
    define(node, views::reshape(algebra, indexSources.function({{{Kind::Long, list->length}}, {inverse}}), shape), 1);
  if (isWanted(2, "return_counts"))
    define(node,
           IndexLists{{{Kind::Long, length}}, {call("scatter_sum", {inverse, constant(1), sizeIndex(length)}, length)}},
           2);
}

/// Orders, sums so far and differences of the lists along an axis.
void Recover::intList(const NormalNode &node) {
  const std::string &op = node.op;
  IndexTensor x = indexFunction(node, "self");
  Refusal none{"'" + op + "' of integers with these arguments has no meaning in gnnc"};
  if (op == "_unique2" || op == "unique_dim")
    return intUnique(node, x);
  if (x.sizes.empty())
    throw none;
  bool isOfLast = op == "diff" || op == "argsort" || op == "sort";
  size_t dim = axisNumber(node, "dim", isOfLast ? -1 : 0, x.sizes.size());
  SymbolicExpr length = sizes(node).at(dim);
  if (op == "diff") {
    if (integer(node, "n", 1) != 1)
      throw none;
    std::vector<IndexTensor> pieces;
    for (const char *name : {"prepend", "", "append"})
      if (!*name)
        pieces.push_back(x);
      else if (has(node, name))
        pieces.push_back(indexFunction(node, name));
    x = views::concatenate(algebra, pieces, dim);
    return define(node, eachList(x, dim, length, [&](const Index &list) { return call("diff", {list}, length); }));
  }
  if (op == "cumsum")
    return define(node, eachList(x, dim, length, [&](const Index &list) { return call("cumsum", {list}, length); }));
  // Equal elements keep their order, which PyTorch leaves open where it is not asked for.
  bool isDown = flag(node, "descending", false);
  auto order = [&](const Index &list) {
    return call("argsort", {isDown ? call("neg", {list}, length) : list}, length);
  };
  IndexTensor places = eachList(x, dim, length, order);
  if (op == "argsort")
    return define(node, places);
  bool hasPlaces = node.outputs.size() > 1 && !node.outputs[1].empty() && isUsed(node.outputs[1]);
  define(node, eachList(x, dim, length, [&](const Index &list) { return call("take", {list, order(list)}, length); }),
         0);
  if (hasPlaces)
    define(node, places, 1);
}

/// The numbers or the columns that are there, in order.
void Recover::intUnique(const NormalNode &node, const IndexTensor &given) {
  Refusal none{"'" + node.op + "' of integers with these arguments has no meaning in gnnc"};
  if (!flag(node, "sorted", true))
    throw none;
  IndexTensor x = given;
  if (node.op == "unique_dim" && x.sizes.size() == 2) {
    size_t dim = axisNumber(node, "dim", 0, 2);
    IndexLists columns = indexSources.lists(x, dim);
    if (columns.components.size() != 2)
      throw none;
    return uniqueColumns(node, columns, dim);
  }
  if (x.sizes.size() > 1) {
    SymbolicExpr count = 1;
    for (const SymbolicExpr &size : x.sizes) {
      std::optional<SymbolicExpr> product = multiply(count, size);
      if (!product)
        throw none;
      count = *product;
    }
    x = views::reshape(algebra, x, {count});
  }
  if (x.sizes.size() != 1)
    throw none;
  Index list = indexSources.lists(x, 0).components.at(0);
  SymbolicExpr length = sizes(node).at(0);
  Index unique = call("unique", {list}, length);
  learnSymbol(length, "length(" + unique->text + ")");
  define(node, IndexLists{{{Kind::Long, length}}, {unique}}, 0);
  defineInverse(node, list, length, given.sizes);
}

/// Where along an axis of a fixed size the first of the largest, or of the smallest, numbers is.
IndexTensor Recover::bestPlace(const IndexTensor &x, size_t dim, bool isLargest) {
  const SymbolicExpr &size = x.sizes.at(dim);
  if (!size.getFactors().empty() || size.getNumber() < 1 || size.getNumber() > 64)
    throw Refusal{"the place of an extremum of integers: expected an axis of a fixed size from 1 to 64, found " +
                  size.str()};
  IndexTensor best = views::select(algebra, x, dim, 0), place = numberTensor(0);
  for (int64_t i = 1; i < size.getNumber(); ++i) {
    IndexTensor own = views::select(algebra, x, dim, i);
    IndexTensor isBetter = elementwise(isLargest ? "gt" : "lt", {own, best}, true, best.sizes);
    place = elementwise("where", {isBetter, numberTensor(i), place}, false, best.sizes);
    best = elementwise(isLargest ? "maximum" : "minimum", {own, best}, false, best.sizes);
  }
  return views::expand(algebra, place, best.sizes);
}

/// One number of all, or of those along some axes.
void Recover::intReduce(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  std::string function = node.op == "amax" || node.op == "any"   ? "max"
                         : node.op == "amin" || node.op == "all" ? "min"
                         : node.op == "count_nonzero"            ? "sum"
                                                                 : node.op;
  bool asTruth = node.op == "any" || node.op == "all" || node.op == "count_nonzero";
  bool isTruth = node.op == "any" || node.op == "all";
  if (has(node, "other"))
    return define(node, elementwise(function + "imum", {x, indexFunctionArgument(node, "other")}, false, sizes(node)));
  Refusal none{"it reduces integers in a way that has no meaning in gnnc"};
  if (asTruth && !x.isTruth)
    x = elementwise("ne", {x, numberTensor(0)}, true, x.sizes);
  std::string joiner = function == "sum" ? "add" : function == "prod" ? "mul" : function + "imum";
  std::vector<size_t> dims = foldedDims(integers(node, "dim"), x.sizes.size());
  bool isPlace = node.op == "argmax" || node.op == "argmin";
  bool wantsPlaces = node.outputs.size() > 1 && !node.outputs[1].empty() && normal.tensors.count(node.outputs[1]) &&
                     isUsed(node.outputs[1]);
  if (isPlace || wantsPlaces) {
    if (dims.size() != 1)
      throw none;
    define(node,
           views::reshape(algebra, bestPlace(x, dims[0], node.op == "max" || node.op == "argmax"),
                          sizes(node, isPlace ? 0 : 1)),
           isPlace ? 0 : 1);
    if (isPlace)
      return;
  }
  // Axes of fixed sizes one element after the other, the list as one; what is the same all along is there so often.
  llvm::sort(dims);
  for (size_t dim : llvm::reverse(dims)) {
    const SymbolicExpr size = x.sizes[dim];
    IndexTerm result = nullptr;
    std::vector<IndexTerm> places = views::coordinates(algebra, x.sizes);
    bool isFixed = size.getFactors().empty();
    bool isExtremum = function == "max" || function == "min";
    if (!IndexAlgebra::dependsOn(x.value, dim) && isExtremum && isFixed && size.getNumber() > 0) {
      result = x.value;
    } else if (!IndexAlgebra::dependsOn(x.value, dim) && function == "sum") {
      result = algebra.times(x.value, size);
    } else if (isFixed && size.getNumber() > 0 && size.getNumber() <= 64) {
      for (int64_t i = 0; i < size.getNumber(); ++i) {
        places[dim] = algebra.number(SymbolicExpr(i));
        IndexTerm own = algebra.at(x.value, places);
        result = result ? algebra.apply(joiner, {result, own}) : own;
      }
    } else {
      if (function == "prod")
        throw none;
      // Unlike extrema, these are there of an empty list.
      std::string ofList = isTruth ? node.op : function;
      IndexLists lists = indexSources.lists(x, dim);
      for (Index &each : lists.components)
        each = callScalar(ofList, {each}, isTruth);
      lists.dims[dim] = {Kind::Unit, 1};
      result = indexSources.function(lists).value;
    }
    places = {};
    std::vector<SymbolicExpr> left = x.sizes;
    left.erase(left.begin() + ptrdiff_t(dim));
    for (size_t i = 0; i < x.sizes.size(); ++i)
      places.push_back(i == dim ? algebra.number(0) : algebra.coordinate(i < dim ? i : i - 1, x.sizes[i]));
    x = {left, algebra.at(result, places), isTruth};
  }
  define(node, views::reshape(algebra, x, sizes(node)));
}

void Recover::intScatter(const NormalNode &node) {
  SymbolicExpr length = sizes(node).at(0);
  if (node.op == "bincount") {
    const IndexLists &x = index(node, "self");
    if (has(node, "weights") || x.components.size() != 1 || x.dims.size() != 1)
      throw Refusal{"bincount with weights; use scatter_add"};
    // There is a bin for the largest number, and as many as are asked for.
    SymbolicExpr leastBins = has(node, "minlength") ? expression(*find(node, "minlength")) : SymbolicExpr(0);
    auto largest = nonzeroLengths.find("item max(" + x.components[0]->text + ")");
    bool isKnown = largest != nonzeroLengths.end();
    bool isByLargest = leastBins == SymbolicExpr(0) || (isKnown && leastBins == largest->second + SymbolicExpr(1));
    if (isByLargest && isKnown) {
      knowSize(length, largest->second + SymbolicExpr(1));
      length = sizes(node).at(0);
    }
    if (isByLargest)
      nonzeroLengths.try_emplace("bins " + x.components[0]->text, length);
    Index least = has(node, "minlength") ? indexArgument(node, "minlength").components.at(0) : constant(0);
    Index last = callScalar("max", {call("cat", {x.components[0], callScalar("sub", {least, constant(1)})},
                                         x.components[0]->length + SymbolicExpr(1))});
    learnSymbol(length, callScalar("add", {last, constant(1)})->text);
    return define(node, IndexLists{{{Kind::Long, length}},
                                   {call("scatter_sum", {x.components[0], constant(1), sizeIndex(length)}, length)}});
  }
  const IndexLists &base = index(node, "self"), &at = index(node, "index");
  IndexLists source = indexArgument(node, node.op == "index_add" ? "source" : "src");
  if (node.op == "scatter_reduce" && string(node, "reduce", "") != "sum")
    throw Refusal{"it reduces integers in a way that has no meaning in gnnc"};
  // What was in the result before is added.
  if (base.dims.size() != 1 || base.components.size() != 1 || at.dims.size() != 1 || at.components.size() != 1 ||
      !at.components[0]->isList || source.components.size() != 1 || integer(node, "alpha", 1) != 1)
    throw Refusal{"it adds integers in a way that has no meaning in gnnc"};
  Index amount = source.components[0];
  if (amount->function == "full")
    amount = amount->arguments[1];
  if (amount->isList && !(amount->length == at.components[0]->length))
    throw Refusal{"the index covers only a part of the rows"};
  Index sum = call("scatter_sum", {at.components[0], amount, sizeIndex(length)}, length);
  if (constantOf(base.components[0]) != 0)
    sum = call("add", {base.components[0], sum}, length);
  define(node, IndexLists{{{Kind::Long, length}}, {sum}});
}

void Recover::intInterleave(const NormalNode &node) {
  if (node.overload == "Tensor") {
    SymbolicExpr length = sizes(node).at(0);
    Index counts = indexSources.lists(indexFunction(node, "repeats"), 0).components.at(0);
    Index order = call("arange", {constant(0), sizeIndex(counts->length), constant(1)}, counts->length);
    return define(node, IndexLists{{{Kind::Long, length}}, {call("interleave", {order, counts}, length)}});
  }
  IndexTensor x = indexFunction(node, "self"), counts = indexFunctionArgument(node, "repeats");
  size_t dim = has(node, "dim") ? axisNumber(node, "dim", 0, x.sizes.size()) : 0;
  if (!has(node, "dim") && x.sizes.size() != 1) {
    SymbolicExpr all = 1;
    for (const SymbolicExpr &size : x.sizes)
      all = multiply(all, size).value_or(-1);
    x = views::reshape(algebra, x, {all});
  }
  SymbolicExpr length = sizes(node).at(dim);
  bool isOne = llvm::all_of(counts.sizes, [](const SymbolicExpr &size) { return size == SymbolicExpr(1); });
  std::optional<SymbolicExpr> each = isOne ? IndexAlgebra::sizeOf(counts.value) : std::nullopt;
  if (each && multiply(*each, x.sizes[dim]))
    return define(node, views::repeatEach(algebra, x, dim, *each));
  counts = views::expand(algebra, counts, {x.sizes[dim]});
  Index times = indexSources.lists(counts, 0).components.at(0);
  define(node, eachList(x, dim, length,
                        [&](const Index &list) { return call("interleave", {list, times}, length, list->isTruth); }));
}

/// A number written to some places along an axis: to each place that an index says, for its own row.
void Recover::writePlaces(const NormalNode &node) {
  const IndexTensor base = indexFunction(node, "self"), at = indexFunction(node, "index");
  size_t dim = axisNumber(node, "dim", 0, base.sizes.size());
  bool fits = at.sizes.size() == base.sizes.size() && has(node, "value") && !has(node, "reduce") &&
              at.sizes[dim].getFactors().empty() && at.sizes[dim].getNumber() <= 64;
  for (size_t i = 0; fits && i < base.sizes.size(); ++i)
    fits = i == dim || at.sizes[i] == base.sizes[i];
  if (!fits)
    throw Refusal{"it writes integers in a way that has no meaning in gnnc"};
  const SymbolicExpr &size = base.sizes[dim];
  if (size.getFactors().empty() && size.getNumber() > 256)
    throw Refusal{"it writes one of " + size.str() + " columns, more than 256; use torch.nn.Embedding"};
  IndexTerm value = indexFunctionArgument(node, "value").value, result = base.value;
  std::vector<IndexTerm> places = views::coordinates(algebra, base.sizes);
  IndexTerm own = places[dim];
  for (int64_t i = 0; i < at.sizes[dim].getNumber(); ++i) {
    places[dim] = algebra.number(SymbolicExpr(i));
    result = algebra.apply("where", {algebra.apply("eq", {algebra.at(at.value, places), own}), value, result});
  }
  define(node, IndexTensor{base.sizes, result, base.isTruth});
}
