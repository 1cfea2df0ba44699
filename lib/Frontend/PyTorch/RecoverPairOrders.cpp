//===- RecoverPairOrders.cpp - The best pairs of each element -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `(x @ x.T).topk(k)` gives each row the k columns with the largest numbers: a table [n, k] of elements that the values
// choose. Its places are the elements of a space, row by row; a tensor [n, k, ...] of what they lead to is a grid over
// that space. Where the numbers are in the order of distances between rows of one tensor, the choice is `knn`, which
// compares no more than it must; otherwise it is `topk` of the numbers of all pairs.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

//===----------------------------------------------------------------------===//
// Orders of distances
//===----------------------------------------------------------------------===//

namespace {
/// One of those that a value is the sum of: a multiple of another value, which pairs may have from a side.
struct Term {
  int value, map; ///< -1: a value of pairs
  double factor;
};
using Terms = std::vector<Term>;

/// Recognises numbers of pairs that are in the order of distances.
class DistanceOrder {
public:
  /// `owner`, `other`: the maps from pairs to their sides, of which the numbers of one owner are compared.
  DistanceOrder(const RecoveredProgram &program, int owner, int other) : program(program), owner(owner), other(other) {}

  /// The rows whose distances a value has the order of; -1 if there are none. `rises`: whether larger is farther.
  int rowsOf(int value, bool rises) const {
    bool isCut = false;
    for (;;) {
      const Operation &op = at(value);
      std::optional<double> least =
          op.op == Op::Binary && op.text == "maximum" ? numberOf(op.operands[1]) : std::nullopt;
      if (rises && ((op.op == Op::Unary && op.text == "relu") || (least && *least <= 0)))
        isCut = true;
      else if (op.op == Op::Unary && op.text == "-")
        rises = !rises;
      else if (op.op != Op::Detach)
        break;
      value = op.operands[0];
    }
    Terms terms, own;
    collect(value, -1, 1, terms);
    // What is the same for all pairs of an owner changes no order.
    llvm::erase_if(terms, [&](const Term &term) {
      bool isOwn = term.factor != 0 && (program.operations[size_t(term.value)].space < 0 || term.map == owner);
      if (isOwn)
        own.push_back(term);
      return isOwn || term.factor == 0;
    });
    double sign = rises ? 1 : -1;
    if (terms.size() == 1) {
      bool isDistance = terms[0].map < 0 && terms[0].factor * sign > 0 && !(isCut && !own.empty());
      return isDistance ? rowsOfDistance(terms[0].value) : -1;
    }
    if (terms.size() != 2)
      return -1;
    // |x_j|^2 - 2 x_i x_j
    if (terms[0].map < 0)
      std::swap(terms[0], terms[1]);
    const Term &square = terms[0], &product = terms[1];
    if (square.map != other || product.map >= 0 || square.factor * sign <= 0 || product.factor != -2 * square.factor)
      return -1;
    int rows = rowsOfProduct(product.value);
    if (rows < 0 || rowsOfSquares(square.value) != rows)
      return -1;
    // What is cut off below 0 is an error of rounding where the whole is a distance.
    bool isWhole =
        own.size() == 1 && own[0].map == owner && own[0].factor == square.factor && rowsOfSquares(own[0].value) == rows;
    return !isCut || isWhole ? rows : -1;
  }

private:
  const Operation &at(int value) const { return program.operations[size_t(value)]; }

  std::optional<double> numberOf(int value) const {
    return at(value).op == Op::Number ? std::optional(at(value).number) : std::nullopt;
  }

  void collect(int value, int map, double factor, Terms &terms) const {
    const Operation &op = at(value);
    if (op.op == Op::Detach)
      return collect(op.operands[0], map, factor, terms);
    if (op.op == Op::Move && map < 0)
      return collect(op.operands[0], op.map, factor, terms);
    if (op.op == Op::Unary && op.text == "-")
      return collect(op.operands[0], map, -factor, terms);
    if (op.op == Op::Binary && (op.text == "+" || op.text == "-")) {
      collect(op.operands[0], map, factor, terms);
      return collect(op.operands[1], map, op.text == "+" ? factor : -factor, terms);
    }
    if (op.op == Op::Binary && (op.text == "*" || op.text == "/"))
      for (size_t i : {1, 0})
        if (std::optional<double> number = numberOf(op.operands[i]); number && (op.text == "*" || i == 1))
          return collect(op.operands[1 - i], map, op.text == "*" ? factor * *number : factor / *number, terms);
    for (Term &known : terms)
      if (known.value == value && known.map == map) {
        known.factor += factor;
        return;
      }
    terms.push_back({value, map, factor});
  }

  /// A number that rises with the distance.
  int rowsOfDistance(int value) const {
    const Operation &op = at(value);
    if (op.op == Op::Detach || (op.op == Op::Unary && (op.text == "sqrt" || op.text == "square")))
      return rowsOfDistance(op.operands[0]);
    // A root that is 0 where what it is of is 0.
    if (op.op == Op::Where && numberOf(op.operands[1]) == 0) {
      const Operation &root = at(op.operands[2]), &isZero = at(op.operands[0]);
      if (root.op != Op::Unary || root.text != "sqrt" || isZero.op != Op::Binary || isZero.text != "==")
        return -1;
      const Operation &safe = at(root.operands[0]);
      bool isSame = safe.op == Op::Where && safe.operands[0] == op.operands[0] &&
                    safe.operands[2] == isZero.operands[0] && numberOf(isZero.operands[1]) == 0;
      return isSame ? rowsOfDistance(safe.operands[2]) : -1;
    }
    if (op.op != Op::Over || op.text != "sum" || op.used.size() != 1 || !op.axes.empty())
      return -1;
    const Operation &square = at(op.operands[0]);
    if (square.op != Op::Unary || square.text != "square")
      return -1;
    const Operation &difference = at(square.operands[0]);
    return difference.op == Op::Binary && difference.text == "-" ? both(difference.operands) : -1;
  }

  int rowsOfProduct(int value) const {
    const Operation &op = at(value);
    return op.op == Op::Dot && op.used.size() == 1 && op.axes.empty() ? both(op.operands) : -1;
  }

  /// sum(x^2), or x . x
  int rowsOfSquares(int value) const {
    const Operation &op = at(value);
    if (op.op == Op::Dot && op.used.size() == 1 && op.axes.empty())
      return plain(op.operands[0]) == plain(op.operands[1]) ? plain(op.operands[0]) : -1;
    if (op.op != Op::Over || op.text != "sum" || op.used.size() != 1 || !op.axes.empty())
      return -1;
    const Operation &square = at(op.operands[0]);
    if (square.op == Op::Unary && square.text == "square")
      return plain(square.operands[0]);
    bool isSquare =
        square.op == Op::Binary && square.text == "*" && plain(square.operands[0]) == plain(square.operands[1]);
    return isSquare ? plain(square.operands[0]) : -1;
  }

  /// One value, whatever its axis is called.
  int plain(int value) const {
    while (at(value).op == Op::Rename || at(value).op == Op::Detach)
      value = at(value).operands[0];
    return value;
  }

  /// The rows that two values have of each side.
  int both(const std::vector<int> &operands) const {
    int rows = -1;
    std::set<int> maps;
    for (int operand : operands) {
      const Operation &move = at(plain(operand));
      if (move.op != Op::Move || (move.map != owner && move.map != other))
        return -1;
      maps.insert(move.map);
      int own = plain(move.operands[0]);
      if (rows >= 0 && own != rows)
        return -1;
      rows = own;
    }
    return maps.size() == 2 && at(rows).axes.size() == 1 ? rows : -1;
  }

  const RecoveredProgram &program;
  const int owner, other;
};
} // namespace

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// The axis of a table of chosen columns is one of elements, as is one of a fixed size of which they are chosen; the
/// file says so too late for what came before.
void Recover::needElements(int64_t chosen, int64_t fixed) {
  bool isNew = gridOptions.chosen.count(chosen) == 0 && wants.chosen.insert(chosen).second;
  if (fixed > 0)
    isNew |= gridOptions.sizes.count(fixed) == 0 && wants.sizes.insert(fixed).second;
  wants.areChannelsInside = true;
  if (!gridOptions.areFollowed || isNew)
    throw Refusal{"its indices select elements along an axis of features"};
}

/// A matrix of as many rows as columns of a fixed number, of which some columns are chosen for each row, has numbers
/// for pairs of elements.
void Recover::needMatrixOfElements(const Tensor &x, size_t dim, int64_t count) {
  const Dim &own = x.dims.at(dim);
  if (own.kind != Kind::Axis || gridOptions.sizes.count(own.size) != 0 || count >= own.size)
    return;
  if (llvm::count_if(x.dims, [&](const Dim &each) { return sizeOf(each) == SymbolicExpr(own.size); }) > 1)
    needElements(count, own.size);
}

/// From where to where places along an axis are read; all, if they are read in another way than by slices.
std::pair<int64_t, int64_t> Recover::placesRead(const std::string &places, size_t dim) const {
  const std::vector<SymbolicExpr> shape = sizesOf(places);
  const std::pair<int64_t, int64_t> all = {0, std::numeric_limits<int64_t>::max()};
  std::pair<int64_t, int64_t> read = {all.second, 0};
  auto isIt = [&](const Argument &argument) {
    auto *value = std::get_if<ValueName>(&argument);
    auto *list = std::get_if<ValueNames>(&argument);
    return (value && value->name == places) || (list && llvm::is_contained(list->names, places));
  };
  if (llvm::any_of(normal.outputs, isIt))
    return all;
  for (const NormalNode &each : normal.nodes) {
    if (llvm::none_of(each.arguments, [&](auto &argument) { return isIt(argument.second); }))
      continue;
    if (each.op != "slice" || integer(each, "step", 1) != 1)
      return all;
    std::pair<int64_t, int64_t> part;
    if (sizes(each) == shape) { // a slice of everything
      part = placesRead(each.outputs[0], dim);
    } else {
      const SymbolicExpr length = sizes(each).at(dim);
      const int64_t start = integer(each, "start", 0);
      if (axisNumber(each, "dim", 0, shape.size()) != dim || start < 0 || !length.getFactors().empty())
        return all;
      part = {start, start + length.getNumber()};
    }
    read = {std::min(read.first, part.first), std::max(read.second, part.second)};
  }
  return read;
}

/// The columns with the best numbers, in order: topk, or what is read of sort, along one side of pairs. `places`: which
/// output has them. False where x is none of pairs.
bool Recover::orderPairs(const NormalNode &node, const Tensor &x, size_t dim, bool largest, size_t places) {
  const Dim column = x.dims[dim];
  if (column.pairs < 0 || column.kind != Kind::Space || isPadded(column) ||
      program.operations[size_t(x.value)].space != column.pairs)
    return false;
  const bool hasValues = places == 1 && isUsed(node.outputs[0]);
  auto [first, count] = hasValues ? std::pair<int64_t, int64_t>(0, std::numeric_limits<int64_t>::max())
                                  : placesRead(node.outputs[places], dim);
  if (node.op == "topk")
    count = std::min(count, integer(node, "k", 1));
  else if (count == std::numeric_limits<int64_t>::max())
    throw Refusal{"sorting the values of all pairs is not supported; use topk, or slice the first k indices"};
  const int pairs = column.pairs;
  size_t row = x.dims.size();
  for (size_t i = 0; i < x.dims.size(); ++i)
    if (i != dim && x.dims[i].kind == Kind::Space && x.dims[i].pairs == pairs)
      row = i;
  // A matrix of pairs, for each graph of a batch if there are several.
  const bool isBatch = column.layout >= 0;
  if (row == x.dims.size() || x.dims.size() != (isBatch ? 3u : 2u))
    throw Refusal{"expected a matrix of pairs, [n, n], or a batch of them, found " + shapeText(x.dims)};
  const std::vector<SymbolicExpr> shape = sizes(node, places);
  DistanceOrder order(program, sideOf(pairs, x.dims[row].side), sideOf(pairs, 1 - x.dims[row].side));
  const int owner = x.dims[row].side, owners = program.spaces[size_t(pairs)].sides[size_t(owner)];
  int rows = order.rowsOf(x.value, !largest);
  if (rows >= 0 && program.operations[size_t(rows)].space != owners)
    rows = -1;
  // All but the first, which is the element itself.
  const bool isOfOthers = rows >= 0 && first == 1 && count > 2;
  count -= isOfOthers;
  if (count < 2) // as many as there are rows
    throw Refusal{"one column (k = 1) of a matrix of pairs; expected k of 2 or more"};
  needElements(count);
  const int others = program.spaces[size_t(pairs)].sides[size_t(1 - owner)];
  const SymbolicExpr length = pointsOf({program.spaces[size_t(owners)].size, SymbolicExpr(count)});

  Operation choice;
  choice.op = Op::Choice;
  choice.end = count;
  if (rows >= 0) {
    choice.text = "knn";
    choice.operands = {rows, rows};
    choice.begin = isOfOthers;
    choice.map = choice.otherMap = program.spaces[size_t(pairs)].along;
  } else {
    choice.text = "topk";
    choice.operands = {largest ? x.value : program.unary("-", x.value)};
    choice.map = sideOf(pairs, owner);
  }
  const bool isNearest = choice.text == "knn";
  const int near = choose(choice, length, "near", /*isTable=*/true);
  Index chosen = call("chosen", {constant(near)}, length), own = call("owner", {constant(near)}, length);
  if (!isNearest)
    chosen =
        call("take", {call("side", {constant(pairs), constant(1 - owner)}, program.spaces[size_t(pairs)].size), chosen},
             length);
  chosenRows[near] = {own, count};

  // The places in the table, row by row.
  std::vector<IndexTerm> at = views::coordinates(algebra, shape);
  IndexTerm begins = at[row], place = algebra.add(at[dim], algebra.number(isOfOthers ? -1 : 0));
  if (isBatch) {
    size_t batch = 3 - row - dim;
    IndexTerm begin = algebra.times(at[batch], shape[row]);
    begins = algebra.add(begin, begins);
    IndexTerm found = algebra.element(chosen, algebra.add(algebra.times(begins, count), place));
    define(node, IndexTensor{shape, algebra.add(found, algebra.times(begin, -1))}, places);
  } else {
    define(node, IndexTensor{shape, algebra.element(chosen, algebra.add(algebra.times(begins, count), place))}, places);
  }
  if (!hasValues)
    return true;
  std::array<int, 2> maps;
  maps[size_t(owner)] = mapOf(own, near, owners);
  maps[size_t(1 - owner)] = mapOf(chosen, near, others);
  std::map<int, int> known;
  auto end = [&](int side, int value) { return program.move(value, maps[size_t(side)]); };
  Tensor values{{{Kind::Space, near, 0}}, pairsOn(near, x.value, pairs, end, known)};
  // The grid's points are numbered by rows, and then by places.
  std::vector<bool> isOfGrid(shape.size(), true);
  std::vector<size_t> numbering(shape.size());
  numbering[dim] = shape.size() - 1;
  numbering[row] = shape.size() - 2;
  if (isBatch)
    numbering[3 - row - dim] = 0;
  defineGrid(node, isOfGrid, values, 0, numbering);
  return true;
}
