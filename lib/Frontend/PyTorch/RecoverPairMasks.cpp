//===- RecoverPairMasks.cpp - Graphs that a mask of pairs makes -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a mask [n, m] is true there is an edge: `(cdist(x, x) < r).nonzero()`. The edges are a filter of the pairs,
// with a map to each side. Of all pairs only those are tried that agree in what the mask compares, such as the number
// of their graph; and numbers of pairs that are read on the edges are computed there.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;
using TermKind = IndexTermNode::Kind;

//===----------------------------------------------------------------------===//
// Integers that differ along two axes
//===----------------------------------------------------------------------===//

static size_t openDims(const IndexTensor &x) {
  size_t count = 0;
  for (size_t dim = 0; dim < x.sizes.size(); ++dim)
    count += IndexAlgebra::dependsOn(x.value, dim) && !x.sizes[dim].getFactors().empty();
  return count;
}

/// Two lists as positions among all their numbers: they compare as the numbers do, which may be negative, or larger
/// than numbers that float32 has exactly.
std::array<Index, 2> Recover::ranked(const Index &first, const Index &second) {
  if (first->text == second->text) {
    Index places = call("inverse", {first}, first->length);
    return {places, places};
  }
  const SymbolicExpr length = first->length + second->length;
  Index places = call("inverse", {call("cat", {first, second}, length)}, length);
  auto part = [&](const SymbolicExpr &begin, const SymbolicExpr &end) {
    return call("slice", {places, sizeIndex(begin), sizeIndex(end), constant(1)}, end + begin * -1);
  };
  return {part(0, first->length), part(first->length, length)};
}

/// A list of which it is an error, when a graph is prepared, to have a number that float32 has not.
Index Recover::withinFloats(const Index &list) {
  constexpr int64_t kMost = int64_t(1) << 24;
  Index all = call("cat", {list, call("full", {constant(1), constant(0)}, 1)}, list->length + SymbolicExpr(1));
  Index rest = constant(0); // 0, or the error
  for (auto [extremum, bound, most] : {std::tuple("max", "at_most", kMost), std::tuple("min", "at_least", -kMost)}) {
    Index own = callScalar(extremum, {all});
    rest = callScalar("add", {rest, callScalar("sub", {callScalar(bound, {own, constant(most)}), own})});
  }
  return call("add", {list, rest}, list->length);
}

/// Integers that differ along one axis of elements. Axes along which they are the same are left to broadcasting, so
/// that it is clear which one has the elements.
IndexLists Recover::alongOneSide(IndexTensor x) {
  for (size_t dim = 0; dim < x.sizes.size(); ++dim)
    if (!IndexAlgebra::dependsOn(x.value, dim))
      x.sizes[dim] = SymbolicExpr(1);
  return indexSources.lists(x);
}

bool Recover::isOfPairs(const std::string &name) const {
  auto found = indices.find(name);
  return found != indices.end() && found->second.value && openDims(found->second) == 2;
}

/// Integers that differ along two axes of elements, as numbers of pairs: what differs along one of them alone is a
/// number of its elements.
Tensor Recover::numbersOfPairs(const IndexTensor &x) {
  if (openDims(x) < 2) {
    IndexLists own = alongOneSide(x);
    for (Index &each : own.components)
      if (each->isList && !each->isTruth && !algebra.bounds(x.value))
        each = withinFloats(each);
    return asNumbers(own);
  }
  auto part = [&](IndexTerm term, bool isTruth) { return numbersOfPairs({x.sizes, term, isTruth}); };
  if (x.value->kind == TermKind::Linear) {
    Tensor sum = tensorOfSize(x.value->size);
    for (auto [term, factor] : llvm::zip(x.value->arguments, x.value->factors))
      sum = binary("+", sum, binary("*", part(term, false), tensorOfSize(factor)));
    return sum;
  }
  static const std::map<std::string, std::string> functions = {
      {"eq", "=="},          {"ne", "!="},           {"lt", "<"},           {"le", "<="}, {"gt", ">"},
      {"ge", ">="},          {"add", "+"},           {"sub", "-"},          {"mul", "*"}, {"both", "minimum"},
      {"either", "maximum"}, {"minimum", "minimum"}, {"maximum", "maximum"}};
  const std::string function = x.value->kind == TermKind::Apply ? x.value->function : "";
  std::vector<Tensor> parts;
  static const std::set<std::string> comparisons = {"eq", "ne", "lt", "le", "gt", "ge"};
  if (comparisons.count(function)) {
    IndexTensor a{x.sizes, x.value->arguments[0]}, b{x.sizes, x.value->arguments[1]};
    bool isOfLists = openDims(a) == 1 && openDims(b) == 1 && (!algebra.bounds(a.value) || !algebra.bounds(b.value));
    IndexLists first, second;
    if (isOfLists) {
      first = alongOneSide(a);
      second = alongOneSide(b);
      isOfLists = first.components.size() == 1 && second.components.size() == 1 && first.components[0]->isList &&
                  second.components[0]->isList;
    }
    if (isOfLists) {
      std::tie(first.components[0], second.components[0]) =
          std::tuple_cat(ranked(first.components[0], second.components[0]));
      parts = {asNumbers(first), asNumbers(second)};
    }
  }
  if (parts.empty() && (functions.count(function) || function == "not" || function == "neg" || function == "where"))
    for (IndexTerm each : x.value->arguments)
      parts.push_back(part(each, function == "both" || function == "either" || function == "not"));
  if (function == "not")
    return binary("==", parts.at(0), 0);
  if (function == "neg")
    return binary("-", scalar(0), parts.at(0));
  if (function == "where")
    return where(parts.at(0), parts.at(1), parts.at(2));
  if (parts.empty())
    throw Refusal{"integers for all pairs of two lists: expected comparisons, sums and products of numbers of either"};
  Tensor result = binary(functions.at(function), parts[0], parts[1]);
  if (function == "eq" && openDims({x.sizes, x.value->arguments[0]}) == 1 &&
      openDims({x.sizes, x.value->arguments[1]}) == 1)
    noteEqual(x, result);
  return result;
}

Tensor Recover::tensorOfSize(const SymbolicExpr &size) { return {{}, sizeAsNumber(size)}; }

/// Remembers of which lists a value of pairs is the equality.
void Recover::noteEqual(const IndexTensor &x, const Tensor &result) {
  std::array<Index, 2> lists;
  int pairs = -1;
  for (IndexTerm each : x.value->arguments)
    for (size_t dim = 0; dim < x.sizes.size(); ++dim)
      if (IndexAlgebra::dependsOn(each, dim) && result.dims.at(dim).pairs >= 0) {
        IndexLists own = withoutCopies(indexSources.lists({x.sizes, each}));
        pairs = result.dims[dim].pairs;
        if (own.components.size() == 1 && own.components[0]->isList)
          lists[size_t(result.dims[dim].side)] = own.components[0];
      }
  if (lists[0] && lists[1] && program.operations[size_t(result.value)].space == pairs)
    equalPairs[result.value] = lists;
}

//===----------------------------------------------------------------------===//
// Numbers of pairs on other elements
//===----------------------------------------------------------------------===//

/// What a value of pairs is on a space whose elements lead to a pair each: computed there of what was read at either
/// side. `end` gives a value of a side's elements on that space. Throws if the value is known for all pairs together.
int Recover::pairsOn(int space, int value, int pairs, const std::function<int(int side, int at)> &end,
                     std::map<int, int> &known) {
  Operation op = program.operations[size_t(value)]; // adding operations moves them
  if (op.space != pairs)
    return value;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  auto sideAlong = [&](int map) { return map == sideOf(pairs, 0) ? 0 : map == sideOf(pairs, 1) ? 1 : -1; };
  int result;
  if (int read = sideAlong(op.map); op.op == Op::Move && read >= 0) {
    result = end(read, op.operands[0]);
  } else if (op.op == Op::Softmax && op.text == "softmax" && read >= 0) {
    int total = end(read, program.reduce("logsumexp", op.operands[0], op.map));
    result = program.unary("exp", program.binary("-", pairsOn(space, op.operands[0], pairs, end, known), total));
  } else {
    static const std::set<Op> elementwise = {Op::Unary,  Op::Binary,  Op::Where, Op::Dot,    Op::Over,
                                             Op::Concat, Op::Slice,   Op::Pick,  Op::Rename, Op::Merge,
                                             Op::Split,  Op::Permute, Op::Detach};
    if (!elementwise.count(op.op))
      throw Refusal{"a sum, or another number of all pairs together, is indexed by single pairs"};
    for (int &operand : op.operands)
      operand = pairsOn(space, operand, pairs, end, known);
    op.space = space;
    result = program.add(op);
  }
  known[value] = result;
  return result;
}

/// x[first, second, ...], at places that lists of one length give along axes from `dim` on: both sides of pairs, or
/// elements, and features.
Tensor Recover::atPlaces(Tensor x, size_t dim, const std::vector<Index> &lists) {
  const int space = spaceOf(lists.at(0)->length), pairs = program.operations[size_t(x.value)].space;
  std::array<int, 2> maps = {-1, -1};
  for (size_t i = 0; i < lists.size(); ++i) {
    const Dim &own = x.dims.at(dim + i);
    if (own.kind == Kind::Space && own.pairs >= 0 && own.pairs == pairs)
      maps[size_t(own.side)] = mapOf(lists[i], space, program.spaces[size_t(pairs)].sides[size_t(own.side)]);
    else if (own.kind == Kind::Space && resides(x, own))
      x.value = program.move(x.value, mapOf(lists[i], space, own.id));
    else if (own.kind == Kind::Group)
      throw Refusal{"a view of several axes is indexed along several axes at once"};
  }
  if ((maps[0] < 0) != (maps[1] < 0))
    throw Refusal{"a matrix of pairs is indexed along one of its sides and another axis at once"};
  if (maps[0] >= 0) {
    std::map<int, int> known;
    auto end = [&](int side, int at) { return program.move(at, maps[size_t(side)]); };
    x.value = pairsOn(space, x.value, pairs, end, known);
  }
  for (size_t i = 0; i < lists.size(); ++i)
    if (const Dim &own = x.dims[dim + i]; own.kind == Kind::Axis) { // what is elsewhere may be infinite
      int isHere = program.oneHot(mapOf(lists[i], space, spaceOf(SymbolicExpr(own.size))), own.id);
      x.value = program.over("sum", program.where(isHere, x.value, program.number(0)), {own.id});
    }
  x.dims[dim] = {Kind::Space, space, 0};
  x.dims.erase(x.dims.begin() + ptrdiff_t(dim) + 1, x.dims.begin() + ptrdiff_t(dim + lists.size()));
  return x;
}

/// Whether two axes are both sides of the pairs that a tensor has numbers of.
bool Recover::areSides(const Tensor &x, size_t i, size_t j) const {
  const Dim &rows = x.dims[i], &columns = x.dims[j];
  return rows.kind == Kind::Space && columns.kind == Kind::Space && rows.pairs >= 0 && rows.pairs == columns.pairs &&
         rows.side != columns.side && rows.layout < 0 && columns.layout < 0 &&
         program.operations[size_t(x.value)].space == rows.pairs;
}

bool Recover::isMatrixOfPairs(const Tensor &x, size_t dim) const {
  return dim + 1 < x.dims.size() && areSides(x, dim, dim + 1);
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

/// Values that are all true where a mask is.
static void conditionsOf(const RecoveredProgram &program, int value, std::vector<int> &found) {
  const Operation &op = program.operations[size_t(value)];
  if (op.op == Op::Binary && (op.text == "minimum" || op.text == "*")) {
    conditionsOf(program, op.operands[0], found);
    conditionsOf(program, op.operands[1], found);
  } else {
    found.push_back(value);
  }
}

/// The space of what two lists number, or a larger one: a list read at chosen places only has numbers of the whole
/// list.
int Recover::groupsOf(const Index &firstList, const Index &secondList) {
  auto whole = [](Index list) {
    while (list->function == "take" && isOfChosen(list->arguments[1]))
      list = list->arguments[0];
    return list;
  };
  const Index first = whole(firstList), second = whole(secondList);
  // One more than the largest number, of none as well.
  Index none = call("full", {constant(1), constant(-1)}, 1);
  Index all = first->text == second->text
                  ? call("cat", {first, none}, first->length + SymbolicExpr(1))
                  : call("cat", {first, second, none}, first->length + second->length + SymbolicExpr(1));
  Index count = callScalar("add", {callScalar("max", {all}), constant(1)});
  SymbolicExpr size = SymbolicExpr::of("groups of " + all->text);
  learnSymbol(size, count->text);
  return spaceOf(size, "group");
}

/// Of all pairs those that agree in what a mask compares, and the mask for these.
std::pair<int, int> Recover::pairsThatAgree(int pairs, int mask) {
  std::vector<int> conditions;
  conditionsOf(program, mask, conditions);
  auto isEquality = [&](int condition) { return equalPairs.count(condition) != 0; };
  auto found = llvm::find_if(conditions, isEquality);
  if (found == conditions.end() || program.spaces[size_t(pairs)].along >= 0)
    return {pairs, mask};
  std::array<Index, 2> own = equalPairs.at(*found);
  const std::vector<int> sides = program.spaces[size_t(pairs)].sides;
  if (!own[0]->function.empty() || !own[1]->function.empty()) // computed numbers may be any
    if (!isFromFirst(own[0]) || !isFromFirst(own[1]))
      own = ranked(own[0], own[1]);
  int groups = groupsOf(own[0], own[1]);
  int some = pairsOf(sides[0], sides[1], mapOf(own[0], sides[0], groups), mapOf(own[1], sides[1], groups));
  std::map<int, int> known = {{*found, program.number(1)}};
  auto end = [&](int side, int at) { return program.move(at, sideOf(some, side)); };
  int rest = -1; // the other conditions
  for (int condition : conditions)
    if (condition != *found) {
      int own = pairsOn(some, condition, pairs, end, known);
      rest = rest < 0 ? own : program.binary("minimum", rest, own);
    }
  return {some, rest < 0 ? program.number(1) : rest};
}

/// The places where a mask is true of several axes: both sides of pairs, or elements, and at most one axis of fixed
/// size. A list along each.
IndexLists Recover::keptPairs(const Tensor &mask, const SymbolicExpr &length) {
  const size_t rank = mask.dims.size();
  size_t spaces = 0, axis = rank;
  bool isMatrix = false;
  for (size_t i = 0; i < rank; ++i) {
    spaces += mask.dims[i].kind == Kind::Space;
    if (mask.dims[i].kind == Kind::Axis)
      axis = i;
    for (size_t j = i + 1; j < rank; ++j)
      isMatrix |= areSides(mask, i, j);
  }
  const bool isOfElements = spaces == 1 && program.operations[size_t(mask.value)].space >= 0;
  if ((!isMatrix && !isOfElements) || spaces + (axis < rank) != rank || spaces > 2)
    throw Refusal{"expected a truth value for each element of the graph, or for each pair of elements, found " +
                  shapeText(mask.dims)};
  int base = program.operations[size_t(mask.value)].space, value = mask.value;
  if (isMatrix) {
    auto [agreed, isNew] = agreeing.try_emplace(mask.value, std::pair(base, value));
    if (isNew)
      agreed->second = pairsThatAgree(base, value);
    std::tie(base, value) = agreed->second;
  }
  // PyTorch goes through a mask row by row, so that the places of a transposed one are in another order.
  bool isTurned = false;
  for (const Dim &dim : llvm::reverse(mask.dims))
    if (isMatrix && dim.pairs >= 0)
      isTurned = dim.side == 1;
  if (isTurned) {
    const RecoveredSpace pairs = program.spaces[size_t(base)];
    int turned = pairsOf(pairs.sides[1], pairs.sides[0], pairs.otherAlong, pairs.along);
    std::map<int, int> known;
    auto end = [&](int side, int at) { return program.move(at, sideOf(turned, 1 - side)); };
    value = pairsOn(turned, value, base, end, known);
    base = turned;
  }
  // Elements by the places of an axis are pairs, too.
  int images = -1;
  if (axis < rank) {
    const Dim &own = mask.dims[axis];
    images = pairsOf(base, spaceOf(SymbolicExpr(own.size)));
    value = program.dot(program.move(value, sideOf(images, 0)), program.oneHot(sideOf(images, 1), own.id), {own.id});
  }
  const int all = images < 0 ? base : images;
  auto side = [&](int pairs, int number, const Index &at) {
    const SymbolicExpr size = program.spaces[size_t(pairs)].size;
    Index list = call("side", {constant(pairs), constant(number)}, size);
    return at ? call("take", {list, at}, at->length) : list;
  };
  // All of them need no choice.
  const Operation &condition = program.operations[size_t(value)];
  Index chosen;
  if (condition.op == Op::Number && condition.number == 1)
    knowSize(length, program.spaces[size_t(all)].size);
  else
    chosen = keptWhere(value, length, int(axis)).components[0]; // with the axis elsewhere in another order, too
  const Index element = images < 0 ? chosen : side(images, 0, chosen);
  IndexLists result;
  for (size_t i = 0; i < rank; ++i)
    result.components.push_back(i == axis  ? side(images, 1, chosen)
                                : isMatrix ? side(base, isTurned ? 1 - mask.dims[i].side : mask.dims[i].side, element)
                                           : element);
  result.dims = {{IndexDim::Kind::Long, result.components[0]->length},
                 {IndexDim::Kind::Small, SymbolicExpr(int64_t(rank))}};
  return result;
}

/// The same by name; none where it is no mask of several axes.
std::optional<IndexLists> Recover::keptPairs(const std::string &name, const SymbolicExpr &length) {
  if (auto mask = tensors.find(name);
      mask != tensors.end() && mask->second.dims.size() > 1 &&
      llvm::any_of(mask->second.dims, [](const Dim &dim) { return dim.kind == Kind::Space && dim.layout < 0; })) {
    // Of one column it is a list.
    if (llvm::count_if(mask->second.dims, [](const Dim &dim) { return dim.kind != Kind::Unit; }) < 2)
      return std::nullopt;
    Tensor truth = typeOf(name) == ScalarType::Bool ? mask->second : binary("!=", mask->second, 0);
    return keptPairs(truth, length);
  }
  if (isOfPairs(name) && indices.at(name).sizes.size() == 2)
    return keptPairs(tensorOf(name), length);
  return std::nullopt;
}

/// torch.eye(n) of numbers that differ from graph to graph.
IndexTensor Recover::identityMatrix(const std::vector<SymbolicExpr> &sizes, bool isTruth) {
  IndexTerm isOwn = algebra.apply("eq", {algebra.coordinate(0, sizes.at(0)), algebra.coordinate(1, sizes.at(1))});
  return {sizes, isOwn, isTruth};
}

/// Whether pairs of elements are on one side of a diagonal, by their numbers.
Tensor Recover::inTriangle(const std::vector<SymbolicExpr> &matrix, bool isLower, int64_t diagonal) {
  IndexTerm offset =
      algebra.add(algebra.coordinate(1, matrix.at(1)), algebra.times(algebra.coordinate(0, matrix.at(0)), -1));
  return numbersOfPairs({matrix, algebra.apply(isLower ? "le" : "ge", {offset, algebra.number(diagonal)}), true});
}

/// The places of a triangle of a matrix, row by row: of elements the pairs that are in it.
void Recover::intTrianglePlaces(const NormalNode &node) {
  const std::vector<SymbolicExpr> matrix = {expression(*find(node, "row")), expression(*find(node, "col"))};
  const int64_t diagonal = integer(node, "offset", 0);
  const bool isLower = node.op == "tril_indices";
  auto isOpen = [](const SymbolicExpr &size) { return !size.getFactors().empty(); };
  if (isOpen(matrix[0]) && isOpen(matrix[1])) {
    IndexLists kept = keptPairs(inTriangle(matrix, isLower, diagonal), sizes(node).at(1));
    std::swap(kept.dims[0], kept.dims[1]);
    return define(node, kept);
  }
  if (isOpen(matrix[0]) || isOpen(matrix[1]))
    throw Refusal{"the triangle of a matrix of which one size is fixed"};
  std::vector<Index> rows, columns;
  for (int64_t i = 0; i < matrix[0].getNumber(); ++i)
    for (int64_t j = 0; j < matrix[1].getNumber(); ++j)
      if (isLower ? j - i <= diagonal : j - i >= diagonal) {
        rows.push_back(constant(i));
        columns.push_back(constant(j));
      }
  Index first = listOf(rows), second = listOf(columns);
  define(node, IndexLists{{{IndexDim::Kind::Small, 2}, {IndexDim::Kind::Long, first->length}}, {first, second}});
}
