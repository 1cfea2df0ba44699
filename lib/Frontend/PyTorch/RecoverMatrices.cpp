//===- RecoverMatrices.cpp - Dense adjacency matrices of given edges ------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `to_dense_adj` adds the values of edges up in matrices [graphs, most, most], whose rows and columns are those of
// `to_dense_batch` (RecoverRows.cpp):
//
//   scatter(values, (along[src] * length + place of src) * length + place of dst).view(graphs, length, length)
//
// Such a tensor resides on the edges: an edge is a pair of the elements at its ends, and there is 0 for all other
// pairs, padding included. What is linear in the matrix follows, products with rows of elements and sums above all;
// they become sums along the edges. Where it meets numbers of all pairs, such as scores of attention, or says where
// there is an edge, it is summed up on all pairs of a row, which are listed then (RecoverPairLists.cpp). Anything else
// is refused: it may have other numbers than 0 behind the elements of a row.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

static bool isCall(const Index &index, const char *function, size_t arguments) {
  return index->function == function && index->arguments.size() == arguments;
}

/// 1, as a value of the elements that a map starts from.
int Recover::oneOn(int map, int layout) {
  const int along = rowLayouts[size_t(layout)].along;
  int one = program.move(program.move(program.reduce("sum", program.number(1), along), along), map);
  return program.where(program.number(1), program.number(1), one);
}

/// A matrix [length, length] that has values on pairs of elements in rows.
Tensor Recover::matrixIn(int layout, int pairs, int value) {
  Operation mark;
  mark.op = Op::Number;
  mark.text = "matrix of pairs in rows " + std::to_string(layout);
  const Dim inRow = dimsInRows(layout)[1];
  Tensor result{{inRow, inRow}, program.binary("+", value, program.add(mark))};
  for (int side : {0, 1}) {
    result.dims[size_t(side)].pairs = pairs;
    result.dims[size_t(side)].side = side;
  }
  matrices.insert(result.value);
  return result;
}

/// The identity of as many rows as `to_dense_batch` makes: each element is a pair with itself.
std::optional<Tensor> Recover::identityInRows(const std::vector<SymbolicExpr> &shape) {
  for (int layout = 0; layout < int(rowLayouts.size()); ++layout) {
    const RowLayout rows = rowLayouts[size_t(layout)];
    if (rows.isWhole || !(rows.length == shape[0]) || !(rows.length == shape[1]))
      continue;
    const SymbolicExpr size = program.spaces[size_t(rows.elements)].size;
    Index own = call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
    const int same = mapOf(own, rows.elements, rows.elements);
    const std::array<int, 2> ends = {same, same};
    if (matrixEnds.try_emplace(rows.elements, ends).first->second != ends)
      return std::nullopt;
    return matrixIn(layout, rows.elements, oneOn(same, layout));
  }
  return std::nullopt;
}

/// A view [graphs * length * length, ...] of sums at pairs as [graphs, length, length, ...].
std::optional<Tensor> Recover::matrixOfEdges(const Tensor &x, const std::vector<SymbolicExpr> &sizes) {
  const Operation sum = program.operations[size_t(x.value)];
  if (sum.op != Op::Reduce || sum.text != "sum" || sum.map < 0 || sizes.size() != x.dims.size() + 2 || x.dims.empty() ||
      x.dims[0].kind != Kind::Space || !resides(x, x.dims[0]) || !(sizes[1] == sizes[2]))
    return std::nullopt;
  for (size_t i = 1; i < x.dims.size(); ++i)
    if (!(sizeOf(x.dims[i]) == sizes[i + 2]))
      return std::nullopt;
  const Index place = program.maps[size_t(sum.map)].index;
  auto isTimes = [](const Index &index, const std::string &length) {
    return isCall(index, "mul", 2) && index->arguments[1]->text == length;
  };
  for (int layout = 0; layout < int(rowLayouts.size()); ++layout) {
    const RowLayout rows = rowLayouts[size_t(layout)];
    const std::string length = sizeIndex(rows.length)->text;
    if (rows.begin.empty() || !(rows.length == sizes[1]) || !(program.spaces[size_t(rows.rows)].size == sizes[0]) ||
        !isCall(place, "add", 2) || !isCall(place->arguments[0], "add", 2))
      continue;
    const Index &row = place->arguments[0]->arguments[1], &column = place->arguments[1];
    const Index &first = place->arguments[0]->arguments[0];
    if (!isTimes(first, length) || !isTimes(first->arguments[0], length) || !isTimes(row, length) ||
        !isCall(row->arguments[0], "sub", 2) || !isCall(column, "sub", 2))
      continue;
    const Index source = row->arguments[0]->arguments[0], target = column->arguments[0];
    auto isAt = [&](const Index &begin, const Index &of) {
      return isCall(begin, "take", 2) && begin->arguments[0]->text == rows.begin &&
             begin->arguments[1]->text == of->text;
    };
    const Index &graph = first->arguments[0]->arguments[0];
    if (!isAt(row->arguments[0]->arguments[1], source) || !isAt(column->arguments[1], target) ||
        !isCall(graph, "take", 2) || graph->arguments[0]->text != program.maps[size_t(rows.along)].index->text ||
        graph->arguments[1]->text != source->text)
      continue;
    const int edges = program.maps[size_t(sum.map)].from;
    const std::array<int, 2> ends = {mapOf(source, edges, rows.elements), mapOf(target, edges, rows.elements)};
    if (auto [known, isNew] = matrixEnds.try_emplace(edges, ends); !isNew && known->second != ends)
      return std::nullopt;
    int value = sum.operands[0];
    if (const Operation own = program.operations[size_t(value)]; own.space < 0) { // the same for all edges
      int one = oneOn(ends[0], layout);
      value = own.op == Op::Number && own.number == 1 ? one : program.binary("*", one, value);
    }
    Tensor result = matrixIn(layout, edges, value);
    result.dims.insert(result.dims.begin(), dimsInRows(layout)[0]);
    result.dims.insert(result.dims.end(), x.dims.begin() + 1, x.dims.end());
    return result;
  }
  return std::nullopt;
}

/// A matrix that has a number for each pair of elements in a row, and not for each edge.
Tensor Recover::onAllPairs(Tensor matrix) {
  const int edges = program.operations[size_t(matrix.value)].space;
  const std::array<int, 2> ends = matrixEnds.at(edges);
  auto own = llvm::find_if(matrix.dims, [&](const Dim &dim) { return dim.pairs == edges; });
  const RowLayout rows = rowLayouts[size_t(own->layout)];
  const int pairs = pairsOf(rows.elements, rows.elements, rows.along);
  listPairs(pairs);
  // The pairs of an element are in the order of those in its row.
  const SymbolicExpr elements = program.spaces[size_t(rows.elements)].size, size = program.spaces[size_t(edges)].size;
  Index counts = call("take", {rows.counts, program.maps[size_t(rows.along)].index}, elements);
  Index begins = call("sub", {call("cumsum", {counts}, elements), counts}, elements);
  Index begin = call("take", {begins, program.maps[size_t(ends[0])].index}, size);
  Index place = call("take", {placesInRows(rows), program.maps[size_t(ends[1])].index}, size);
  matrix.value = program.reduce("sum", matrix.value, mapOf(call("add", {begin, place}, size), edges, pairs));
  for (Dim &dim : matrix.dims)
    if (dim.pairs == edges)
      dim.pairs = pairs;
  return matrix;
}

/// After an operation on values of which some are matrices of edges. `isLinear`: whether its result is such then.
void Recover::noteMatrix(int result, std::initializer_list<int> operands, bool isLinear) {
  if (llvm::none_of(operands, [&](int each) { return matrices.count(each) != 0; }))
    return;
  if (!isLinear)
    throw Refusal{
        "a dense adjacency matrix of edges (to_dense_adj) is used otherwise than in products with rows of nodes, "
        "in sums, and scaled: compute on the edges themselves"};
  matrices.insert(result);
}

/// The sum along one side of a matrix: on the elements of the other, and 0 where rows are filled up.
void Recover::foldMatrix(const std::string &function, Tensor &x, std::vector<Dim> &gone) {
  if (!matrices.count(x.value))
    return;
  noteMatrix(-1, {x.value}, function == "sum");
  auto side = llvm::find_if(gone, [](const Dim &dim) { return dim.pairs >= 0; });
  if (side == gone.end())
    return;
  const int layout = side->layout;
  x.value = program.reduce("sum", x.value, sideOf(side->pairs, 1 - side->side));
  atFilled[{x.value, layout}] = numbersLike(0, program.axesOf(x.value));
  for (Dim &dim : x.dims)
    if (dim.pairs == side->pairs && dim.side == side->side)
      dim = Dim();
  gone.erase(side);
  auto forget = [](std::vector<Dim> &dims) {
    for (Dim &dim : dims)
      dim.pairs = -1;
  };
  forget(gone);
  forget(x.dims);
}
