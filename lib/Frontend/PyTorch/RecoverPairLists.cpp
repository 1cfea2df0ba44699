//===- RecoverPairLists.cpp - Pairs whose ends are listed ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pairs are iterated over without a list of them (RecoverPairs.cpp). What is given for some pairs, such as edges, or at
// a place of a matrix for each, such as a mask of dropout, needs their numbers. Then both ends of all pairs are listed
// when a graph is prepared, row by row: the pairs of element i are behind those of the elements before it.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// The places that elements have in their rows.
Index Recover::placesInRows(const RowLayout &layout) {
  const Index along = program.maps[size_t(layout.along)].index;
  const SymbolicExpr size = program.spaces[size_t(layout.elements)].size;
  Index all = call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
  return call("sub", {all, call("take", {layout.first, along}, size)}, size);
}

/// From now on both ends of these pairs are lists.
std::array<Index, 2> Recover::listPairs(int pairs) {
  if (auto known = pairLists.find(pairs); known != pairLists.end())
    return known->second;
  const RecoveredSpace space = program.spaces[size_t(pairs)];
  const SymbolicExpr first = program.spaces[size_t(space.sides.at(0))].size;
  const SymbolicExpr second = program.spaces[size_t(space.sides.at(1))].size;
  auto numbers = [&](const SymbolicExpr &size) {
    return call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
  };
  std::array<Index, 2> ends;
  if (space.along < 0) {
    Index columns = sizeIndex(second), least = callScalar("maximum", {columns, constant(1)});
    learnSymbol(space.size, callScalar("mul", {sizeIndex(first), columns})->text);
    for (int side : {0, 1})
      ends[size_t(side)] = call(side == 0 ? "div" : "mod", {numbers(space.size), least}, space.size);
  } else {
    auto layout = llvm::find_if(rowLayouts, [&](const RowLayout &rows) { return rows.along == space.along; });
    if (layout == rowLayouts.end() || space.otherAlong != space.along)
      throw Refusal{"numbers that are given for pairs of elements of different sets of rows"};
    const Index along = program.maps[size_t(space.along)].index;
    // As many as the row has elements, for each of them.
    Index counts = call("take", {layout->counts, along}, first);
    learnSymbol(space.size, callScalar("sum", {counts})->text);
    Index begins = call("sub", {call("cumsum", {counts}, first), counts}, first);
    ends[0] = call("interleave", {numbers(first), counts}, space.size);
    Index place = call("sub", {numbers(space.size), call("take", {begins, ends[0]}, space.size)}, space.size);
    Index row = call("take", {call("take", {layout->first, along}, first), ends[0]}, space.size);
    ends[1] = call("add", {place, row}, space.size);
  }
  // Maps to the sides have been made already.
  for (int side : {0, 1}) {
    RecoveredMap &map = program.maps[size_t(sideOf(pairs, side))];
    map.index = ends[size_t(side)];
    map.source = map.index->text;
  }
  pairLists[pairs] = ends;
  return ends;
}

/// Of numbers for all places of a tensor, [places, ...], those at the places that its elements, or pairs of them, have.
/// `x`: like the tensor. Axes of fixed size between those of elements are read one after the other.
Tensor Recover::atOwnPlaces(const Tensor &x, const Tensor &numbers) {
  const int space = program.operations[size_t(x.value)].space;
  const size_t lead = x.dims.size() + 1 - numbers.dims.size();
  bool isMatrix = matrices.count(x.value) != 0;
  if (space < 0 || isMatrix || program.spaces[size_t(space)].choice >= 0)
    throw Refusal{"random numbers for each element of a tensor whose elements are not listed"};
  const SymbolicExpr size = program.spaces[size_t(space)].size;
  const bool isOfPairs = !program.spaces[size_t(space)].sides.empty();
  std::array<Index, 2> ends;
  if (isOfPairs)
    ends = listPairs(space);
  else
    ends[0] = call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
  auto combined = [&](const char *function, const Index &a, const Index &b) {
    return a->isList || b->isList ? call(function, {a, b}, size) : callScalar(function, {a, b});
  };
  // [elements, fixed axes from `axis` on ..., the rest]
  auto read = [&](auto &&self, size_t axis, const Index &place) -> Tensor {
    if (axis == lead) {
      if (!place->isList)
        throw Refusal{"random numbers of a tensor without an axis of elements"};
      return gatherList(numbers, 0, place);
    }
    const Dim &dim = x.dims[axis];
    const Index before = combined("mul", place, sizeIndex(sizeOf(dim)));
    if (dim.kind == Kind::Unit)
      return self(self, axis + 1, place);
    if (dim.kind == Kind::Axis) {
      if (dim.size > kMostPicked)
        throw Refusal{"random numbers that differ along an axis of " + std::to_string(dim.size) +
                      " before one of elements; expected at most " + std::to_string(kMostPicked)};
      std::vector<Tensor> parts;
      for (int64_t i = 0; i < dim.size; ++i)
        parts.push_back(unsqueezed(self(self, axis + 1, combined("add", before, constant(i))), 1));
      return concat(parts, 1);
    }
    if (dim.kind == Kind::Space && resides(x, dim) && (dim.pairs == space || !isOfPairs)) {
      Index own = ends[isOfPairs ? size_t(dim.side) : 0];
      if (dim.layout >= 0 && dim.isInRow)
        own = call("take", {placesInRows(rowLayouts[size_t(dim.layout)]), own}, size);
      return self(self, axis + 1, combined("add", before, own));
    }
    if (dim.kind == Kind::Space && dim.layout >= 0 && !dim.isInRow) {
      const Index along = program.maps[size_t(rowLayouts[size_t(dim.layout)].along)].index;
      return self(self, axis + 1, combined("add", before, call("take", {along, ends[0]}, size)));
    }
    throw Refusal{"random numbers that differ along an axis of size " + sizeOf(dim).str() +
                  ", along which what they belong to is the same"};
  };
  Tensor found = read(read, 0, constant(0)), result{{}, found.value};
  size_t next = 1;
  for (size_t axis = 0; axis < x.dims.size(); ++axis)
    result.dims.push_back(axis >= lead || x.dims[axis].kind == Kind::Axis ? found.dims.at(next++) : x.dims[axis]);
  return result;
}

/// The product with random numbers, which are those of all places where several axes of the tensor have elements.
Tensor Recover::dropped(const Tensor &x, const Tensor &numbers) {
  bool isSame = numbers.dims.size() == x.dims.size() && llvm::all_of(llvm::zip(numbers.dims, x.dims), [&](auto pair) {
                  return sizeOf(std::get<0>(pair)) == sizeOf(std::get<1>(pair));
                });
  Tensor result = binary("*", x, isSame ? numbers : atOwnPlaces(x, numbers));
  if (auto side = maskedWeights.find(x.value); side != maskedWeights.end()) // What is 0 stays 0.
    maskedWeights[result.value] = side->second;
  return result;
}

void Recover::opDrawn(const NormalNode &node) {
  const std::string name = nameOf(node, "self");
  if (auto own = tensors.find(name); own != tensors.end()) {
    const Tensor x = own->second;
    const int space = program.operations[size_t(x.value)].space;
    if (layoutIn(x) >= 0 || (space >= 0 && !program.spaces[size_t(space)].sides.empty()))
      return define(node, dropped(x, tensor(node, "numbers")));
  }
  // Any other is the product with numbers of its shape.
  NormalNode view = node, product = node;
  view.op = "view";
  view.arguments = {{"self", *find(node, "numbers")}};
  view.outputs = {"numbers of " + node.outputs.at(0)};
  normal.tensors[view.outputs[0]] = normal.tensors.at(node.outputs[0]);
  product.op = "mul";
  product.arguments = {{"self", *find(node, "self")}, {"other", ValueName{view.outputs[0]}}};
  runNode(view);
  runNode(product);
}
