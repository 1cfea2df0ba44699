//===- RowsInTurn.cpp - Tables of [n, k] that are one list ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table of k neighbours for each node is k lists here, along which rows are moved: `x[table]`. Code that takes it as
// one list, `x[table.view(-1)].view(n, k, -1)`, means the same: elements of the lists in turn, and rows in turn.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Sources.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// The lists that a list is made of so; none: it is made otherwise.
std::vector<Index> Recover::partsInTurn(const Index &list) {
  if (!list || list->function != "take" || list->arguments.at(0)->function != "cat")
    return {};
  const std::vector<Index> &lists = list->arguments[0]->arguments;
  auto sizes = [&](const SymbolicExpr &size) { return sizeIndex(size); };
  auto isAsLong = [&](const Index &each) { return each->isList && each->length == lists[0]->length; };
  return llvm::all_of(lists, isAsLong) && listsInTurn(lists, sizes)->text == list->text ? lists : std::vector<Index>();
}

/// [k n, ...] as [k, n, ...], where k n elements have rows: `x[edge_index.view(-1)].view(2, e, -1)`.
Tensor Recover::rowsByParts(const Tensor &x, const SymbolicExpr &count, int64_t parts) {
  const Operation made = program.operations[x.value];
  std::vector<Index> lists;
  if (made.op == Op::Move && program.maps[made.map].from == x.dims[0].id && !program.maps[made.map].partial)
    if (const Index &joined = program.maps[made.map].index; joined->function == "cat")
      lists = joined->arguments;
  bool areLists = int64_t(lists.size()) == parts &&
                  llvm::all_of(lists, [&](const Index &each) { return each->isList && each->length == count; });
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < parts; ++i) {
    Tensor own = x;
    if (areLists) {
      int from = spaceOf(count);
      own.value = program.move(made.operands[0], mapOf(lists[size_t(i)], from, program.maps[made.map].to));
      own.dims[0] = {Kind::Space, from, 0};
    } else {
      SymbolicExpr begin = count * i;
      Index places = call("arange", {sizeIndex(begin), sizeIndex(begin + count), constant(1)}, count);
      own = gatherList(own, 0, places);
    }
    rows.push_back(unsqueezed(own, 0));
  }
  return concat(rows, 0);
}

/// [n k, ...] as [n, k, ...], where n k elements have rows.
Tensor Recover::rowsInTurn(const Tensor &x, size_t dim, const SymbolicExpr &count, int64_t size) {
  const Operation made = program.operations[x.value];
  std::vector<Index> lists;
  if (made.op == Op::Move && program.maps[made.map].from == x.dims[dim].id && !program.maps[made.map].partial)
    lists = partsInTurn(program.maps[made.map].index);
  Index all = call("arange", {constant(0), sizeIndex(count), constant(1)}, count);
  Index first = call("mul", {all, constant(size)}, count);
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < size; ++i) {
    Tensor own = x;
    if (int64_t(lists.size()) == size) {
      int from = spaceOf(count);
      own.value = program.move(made.operands[0], mapOf(lists[size_t(i)], from, program.maps[made.map].to));
      own.dims[dim] = {Kind::Space, from, 0};
    } else {
      own = gatherList(own, dim, call("add", {first, constant(i)}, count));
    }
    rows.push_back(unsqueezed(own, dim + 1));
  }
  return concat(rows, dim + 1);
}
