//===- RecoverPairs.cpp - Numbers for pairs of elements -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor of shape [n, m] has a number for each pair of an element of one space and one of another. It resides on the
// space of all these pairs, which the language has; each of the two dims says which side of the pairs it is. What
// resides on one side is moved to the pairs where it meets the other, and what is summed up along a dim goes to the
// other side.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// With `along`, those that it sends to the same place, the second by `otherAlong` if that is another map.
int Recover::pairsOf(int first, int second, int along, int otherAlong) {
  if (otherAlong < 0)
    otherAlong = along;
  auto source = [&](int map) { return program.maps[size_t(map)].source; };
  std::string where = along < 0 ? "" : " along " + source(along);
  if (otherAlong != along)
    where += " and " + source(otherAlong);
  SymbolicExpr size = SymbolicExpr::of("pairs of " + program.spaces[size_t(first)].key + " and " +
                                       program.spaces[size_t(second)].key + where);
  int pairs = spaceOf(size, "pair");
  program.spaces[size_t(pairs)].sides = {first, second};
  program.spaces[size_t(pairs)].along = along;
  program.spaces[size_t(pairs)].otherAlong = otherAlong;
  return pairs;
}

/// The map from pairs to their first (0) or second (1) elements.
int Recover::sideOf(int pairs, int side) {
  if (auto ends = matrixEnds.find(pairs); ends != matrixEnds.end())
    return ends->second[size_t(side)];
  const RecoveredSpace &space = program.spaces[size_t(pairs)];
  return mapOf(call("side", {constant(pairs), constant(side)}, space.size), pairs, space.sides[size_t(side)]);
}

/// What a value of pairs is for those of an element with itself, as a value of the elements of one side. Of another set
/// it is the element with the same number; that there is one is checked with the targets of the map when a graph is
/// prepared.
int Recover::onDiagonal(int value, int pairs, int side) {
  const std::vector<int> sides = program.spaces[size_t(pairs)].sides;
  const int elements = sides[size_t(side)];
  std::map<int, int> known;
  auto ownOf = [&](int other, int at) { // what an element of the side has there
    if (sides[size_t(other)] == elements)
      return at;
    const SymbolicExpr size = program.spaces[size_t(elements)].size;
    Index own = call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
    return program.move(at, mapOf(own, elements, sides[size_t(other)]));
  };
  return pairsOn(elements, value, pairs, ownOf, known);
}

/// Where tensors to be aligned reside along two dims, their values are moved to the pairs of these; `sides` are the
/// dims then, with their places counted from the last.
void Recover::pairSides(std::vector<Tensor> &all, std::vector<std::pair<size_t, Dim>> &sides) {
  auto isElements = [&](const Dim &dim) {
    return dim.kind == Kind::Space && program.spaces[size_t(dim.id)].extent < 0;
  };
  std::map<size_t, Dim, std::greater<>> places; // those where values reside, the first dim first
  for (const Tensor &each : all)
    for (size_t i = 0; i < each.dims.size(); ++i)
      if (isElements(each.dims[i]) && resides(each, each.dims[i]))
        if (auto [at, isNew] = places.try_emplace(each.dims.size() - i, each.dims[i]);
            !isNew && each.dims[i].pairs >= 0) {
          if (at->second.pairs >= 0 &&
              (at->second.pairs != each.dims[i].pairs || at->second.side != each.dims[i].side)) {
            for (const Tensor &own : all)
              noteMatrix(-1, {own.value}, false);
            throw Refusal{"numbers for pairs of elements meet those of the same pairs the other way round"};
          }
          at->second = each.dims[i];
        }
  // A number for each row of elements is one for each of these where it meets them.
  int layout = -1;
  for (auto &[back, dim] : places)
    if (dim.isInRow && dim.layout >= 0)
      layout = dim.layout;
  std::set<const Tensor *> ofRows;
  if (layout >= 0) {
    const RowLayout &rows = rowLayouts[size_t(layout)];
    std::set<size_t> rowDims;
    for (const Tensor &each : all)
      for (size_t i = 0; i < each.dims.size(); ++i)
        if (each.dims[i].layout >= 0 && !each.dims[i].isInRow)
          rowDims.insert(each.dims.size() - i);
    if (rowDims.size() != 1)
      throw Refusal{"rows of equal length meet those of other graphs"};
    for (Tensor &each : all)
      if (program.operations[size_t(each.value)].space == rows.rows) {
        each.value = program.move(each.value, rows.along);
        ofRows.insert(&each);
      }
    std::erase_if(places, [&](const auto &place) { return !place.second.isInRow && place.second.id == rows.rows; });
  }
  if (places.size() < 2)
    return;
  if (places.size() > 2)
    throw Refusal{"it would need a number for every triple of elements"};
  sides.assign(places.begin(), places.end());
  Dim &first = sides[0].second, &second = sides[1].second;
  int pairs = std::max(first.pairs, second.pairs);
  if (pairs >= 0 && first.pairs != second.pairs)
    throw Refusal{"numbers for pairs of elements meet those for other pairs"};
  if (first.layout != second.layout)
    throw Refusal{"elements in rows of equal length meet others"};
  if (pairs < 0) {
    pairs = pairsOf(first.id, second.id, layout < 0 ? -1 : rowLayouts[size_t(layout)].along);
    first.side = 0;
    second.side = 1;
  }
  first.pairs = second.pairs = pairs;
  for (Tensor &each : all) {
    if (program.operations[size_t(each.value)].space == pairs)
      continue;
    if (ofRows.count(&each)) { // Both sides are of the same row.
      each.value = program.move(each.value, sideOf(pairs, first.side));
      continue;
    }
    for (auto &[back, side] : sides)
      if (back <= each.dims.size())
        if (const Dim &dim = each.dims[each.dims.size() - back];
            isElements(dim) && program.operations[size_t(each.value)].space == dim.id) {
          each.value = program.move(each.value, sideOf(pairs, side.side));
          break;
        }
  }
}

/// Along one side of pairs, or both.
int Recover::foldPairs(const std::string &function, int value, const std::vector<Dim> &gone) {
  if (gone.size() == 2)
    return program.reduce(function, value, -1);
  return program.reduce(function, value, sideOf(gone[0].pairs, 1 - gone[0].side));
}
