//===- RecoverLayers.cpp - Products, gathers and scatters -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

void Recover::opLinear(const NormalNode &node) {
  if (node.op == "addmm" || node.op == "baddbmm" || node.op == "addmv") {
    static const std::map<std::string, std::pair<const char *, const char *>> factors = {
        {"addmm", {"mat1", "mat2"}}, {"baddbmm", {"batch1", "batch2"}}, {"addmv", {"mat", "vec"}}};
    auto [left, right] = factors.at(node.op);
    Tensor product = binary("*", matmul(tensor(node, left), tensor(node, right)), number(node, "alpha", 1));
    double beta = number(node, "beta", 1);
    // By the definition, with beta 0 not even infinite numbers of the summand count.
    if (beta == 0)
      return define(node, product);
    return define(node, binary("+", product, binary("*", tensor(node, "self"), beta)));
  }
  std::optional<Tensor> bias;
  if (has(node, "bias"))
    bias = tensor(node, "bias");
  define(node, linear(tensor(node, "input"), tensor(node, "weight"), bias));
}

void Recover::opMatmul(const NormalNode &node) {
  const char *other = node.op == "matmul" || node.op == "mm" || node.op == "bmm" ? "mat2"
                      : node.op == "mv"                                          ? "vec"
                                                                                 : "tensor";
  Tensor a = tensor(node, "self"), b = tensor(node, has(node, other) ? other : "other");
  define(node, matmul(a, b));
}

void Recover::opEinsum(const NormalNode &node) {
  std::vector<Tensor> operands;
  for (const std::string &name : names(node, "tensors"))
    operands.push_back(tensorOf(name));
  define(node, einsum(string(node, "equation", ""), operands));
}

//===----------------------------------------------------------------------===//
// Gathers and scatters
//===----------------------------------------------------------------------===//

/// Rows of an embedding, of which nobody learns that of padding. `at`: their numbers.
Tensor Recover::withFixedPadding(const NormalNode &node, Tensor rows, const IndexTensor &at) {
  int64_t padding = integer(node, "padding_idx", -1);
  if (padding < 0)
    return rows;
  Tensor isPadding = asNumbers(indexSources.lists(elementwise("eq", {at, numberTensor(padding)}, true, at.sizes)));
  Tensor fixed{rows.dims, program.detach(rows.value)};
  return where(unsqueezed(isPadding, isPadding.dims.size()), fixed, rows);
}

void Recover::opGather(const NormalNode &node) {
  if (node.op == "embedding") {
    if (flag(node, "scale_grad_by_freq", false))
      throw Refusal{"an embedding whose gradient is scaled by frequency; leave scale_grad_by_freq out"};
    if (integer(node, "padding_idx", -1) < 0 && gatherChosen(node, tensor(node, "weight"), 0, nameOf(node, "indices")))
      return;
    Tensor rows = gather(tensor(node, "weight"), 0, index(node, "indices"));
    return define(node, withFixedPadding(node, rows, indexFunction(node, "indices")));
  }
  Tensor x = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  bool byRow = node.op == "index_select";
  if (byRow ? gatherChosen(node, x, dim, nameOf(node, "index")) : gatherPlaces(node, x, dim))
    return;
  if (byRow)
    return define(node, gather(x, dim, index(node, "index")));
  // Along the other axes the index may cover a part.
  IndexTensor at = indexFunction(node, "index");
  define(node, gatherEach(std::move(x), dim, at));
}

/// The places that a mask of the module's own chooses; nothing if it is no such mask.
std::optional<std::vector<int64_t>> Recover::knownPlaces(const IndexLists &mask) {
  bool isTruth = !mask.components.empty() && mask.components[0]->isTruth;
  std::optional<std::vector<int64_t>> known = isTruth && mask.dims.size() == 1 ? constantsOf(mask) : std::nullopt;
  if (!known)
    return std::nullopt;
  std::vector<int64_t> places;
  for (auto [place, isTaken] : llvm::enumerate(*known))
    if (isTaken)
      places.push_back(int64_t(place));
  return places;
}

/// Places that Python may count from the end, counted from the front. Those that the graph gives are checked with it.
IndexTensor Recover::fromFront(const IndexTensor &at, const SymbolicExpr &size) {
  if (at.isTruth || !at.value->isKnown)
    return at;
  if (auto range = algebra.bounds(at.value); range && isNeverNegative(range->first))
    return at;
  if (at.sizes.size() == 1)
    if (std::optional<std::vector<int64_t>> known = constantsOf(indexSources.lists(at))) {
      std::vector<Index> places;
      for (int64_t place : *known)
        places.push_back(place < 0 ? callScalar("add", {sizeIndex(size), constant(place)}) : constant(place));
      bool isFromEnd = llvm::any_of(*known, [](int64_t place) { return place < 0; });
      return isFromEnd ? indexSources.function({{{IndexDim::Kind::Long, at.sizes[0]}}, {listOf(places)}}) : at;
    }
  IndexTensor isBehind = elementwise("lt", {at, numberTensor(0)}, true, at.sizes);
  IndexTensor fromEnd = elementwise("add", {at, IndexTensor{{}, algebra.number(size)}}, false, at.sizes);
  return elementwise("where", {isBehind, fromEnd, at}, false, at.sizes);
}

IndexLists Recover::fromFront(const IndexLists &at, const SymbolicExpr &size) {
  return indexSources.lists(fromFront(indexSources.function(at), size));
}

/// Of an index [n, 1] or [1, n] the list; nothing if it has other axes.
static std::optional<IndexLists> alongAxis(IndexLists at, size_t axis) {
  if (at.dims.size() != 2 || at.dims[1 - axis].kind != IndexDim::Kind::Unit ||
      at.dims[axis].kind == IndexDim::Kind::Unit)
    return std::nullopt;
  at.dims.erase(at.dims.begin() + ptrdiff_t(1 - axis));
  return at;
}

/// x[a, b] of two axes that follow each other, of which `dim` is the first.
Tensor Recover::gatherTwo(const Tensor &x, size_t dim, const IndexLists &a, const IndexLists &b) {
  Refusal none{"it is indexed along two axes at once"};
  // x[a[:, None], b[None, :]]: all of a with all of b.
  std::optional<IndexLists> first = alongAxis(a, 0), second = alongAxis(b, 1);
  if (first && second)
    return gather(gather(x, dim, fromFront(*first, sizeOf(x.dims[dim]))), dim + 1,
                  fromFront(*second, sizeOf(x.dims[dim + 1])));
  auto isList = [](const IndexLists &index) {
    return index.dims.size() == 1 && llvm::none_of(index.components, [](const Index &each) { return each->isTruth; });
  };
  if (!isList(a) || !isList(b) || !(a.dims[0].size == b.dims[0].size))
    throw none;
  // Places that are known now are places along one axis, which the two are together.
  std::optional<std::vector<int64_t>> knownA = constantsOf(a), knownB = constantsOf(b);
  SymbolicExpr rows = sizeOf(x.dims[dim]), columns = sizeOf(x.dims[dim + 1]);
  if (knownA && knownB && rows.getFactors().empty() && columns.getFactors().empty()) {
    std::vector<Index> together;
    for (auto [i, j] : llvm::zip(*knownA, *knownB))
      together.push_back(
          constant((i < 0 ? i + rows.getNumber() : i) * columns.getNumber() + (j < 0 ? j + columns.getNumber() : j)));
    std::vector<SymbolicExpr> sizes;
    for (const Dim &each : x.dims)
      sizes.push_back(sizeOf(each));
    sizes[dim] = SymbolicExpr(rows.getNumber() * columns.getNumber());
    sizes.erase(sizes.begin() + ptrdiff_t(dim) + 1);
    IndexDim::Kind kind = together.size() == 1 ? IndexDim::Kind::Unit : IndexDim::Kind::Small;
    return gather(reshape(x, sizes), dim, {{{kind, SymbolicExpr(int64_t(together.size()))}}, together});
  }
  // x[rows, columns]: for each pair of a row and a feature what is there.
  auto isFeature = [](const Dim &each) { return each.kind == Kind::Axis || each.kind == Kind::Unit; };
  bool rowsFirst = x.dims[dim].kind == Kind::Space && isFeature(x.dims[dim + 1]);
  bool rowsLast = x.dims[dim + 1].kind == Kind::Space && isFeature(x.dims[dim]);
  if ((!rowsFirst && !rowsLast) || a.components.size() != 1 || b.components.size() != 1)
    throw none;
  size_t row = rowsLast ? dim + 1 : dim, column = rowsLast ? dim : dim + 1;
  Tensor picked = gather(x, row, rowsLast ? b : a);
  // Of one column there is nothing to choose; whether places that the graph gives are all 0 is checked with its maps.
  const IndexLists &places = rowsLast ? a : b;
  bool isFirst = !places.components[0]->isList && places.components[0]->text == "0";
  if (picked.dims[column].kind != Kind::Unit || !isFirst) {
    picked = withAxis(picked, column);
    int axis = picked.dims[column].id;
    int space = spaceOf(SymbolicExpr(picked.dims[column].size));
    int chosen = program.oneHot(mapOf(oneList(places), picked.dims[row].id, space), axis);
    picked.value = program.dot(picked.value, chosen, {axis});
  }
  picked.dims.erase(picked.dims.begin() + ptrdiff_t(column));
  return picked;
}

void Recover::opIndex(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  bool byMask = node.op == "masked_select";
  if (byMask && x.dims.size() != 1 && !isMatrixOfPairs(x, 0))
    throw Refusal{"expected a tensor with one axis, found shape " + shapeText(x.dims)};
  std::vector<std::string> places = byMask ? std::vector<std::string>{nameOf(node, "mask")} : names(node, "indices");
  std::vector<size_t> dims;
  for (size_t i = 0; i < places.size(); ++i)
    if (!places[i].empty())
      dims.push_back(i);
  // Where a mask of several axes is true, and numbers of pairs at those of lists.
  if (dims.size() == 1 && typeOf(places[dims[0]]) == ScalarType::Bool)
    if (std::optional<IndexLists> kept = keptPairs(places[dims[0]], sizes(node).at(dims[0])))
      return define(node, atPlaces(x, dims[0], kept->components));
  auto isSide = [&](size_t dim) { return x.dims.at(dim).pairs >= 0 && x.dims[dim].layout < 0; };
  bool areTogether = dims.size() > 1 && dims.back() == dims[0] + dims.size() - 1;
  bool isOfPairs = areTogether && llvm::count_if(dims, isSide) == 2;
  if (isOfPairs) {
    std::vector<Index> lists;
    for (size_t dim : dims)
      lists.push_back(oneList(fromFront(indexOf(places[dim]), sizeOf(x.dims[dim]))));
    return define(node, atPlaces(x, dims[0], lists));
  }
  if (dims.size() == 2 && dims[1] == dims[0] + 1 && dims[1] < x.dims.size())
    return define(node, gatherTwo(x, dims[0], indexOf(places[dims[0]]), indexOf(places[dims[1]])));
  if (dims.size() != 1)
    throw Refusal{"it is indexed along two axes at once"};
  size_t dim = dims[0];
  if (!byMask && gatherChosen(node, x, dim, places[dim]))
    return;
  if (std::optional<IndexLists> kept = keptPlaces(places[dim], sizes(node).at(dim)))
    return define(node, gather(x, dim, *kept));
  IndexLists at = withoutCopies(indexOf(places[dim]));
  bool isTruth = !at.components.empty() && at.components[0]->isTruth;
  if (!isTruth)
    return define(node, gather(x, dim, fromFront(at, sizeOf(x.dims.at(dim)))));
  // Places along an axis that a mask of the module's own names.
  std::optional<std::vector<int64_t>> known = knownPlaces(at);
  if (known && x.dims[dim].kind != Kind::Space) {
    IndexLists chosen;
    for (int64_t place : *known)
      chosen.components.push_back(constant(place));
    if (chosen.components.empty())
      throw Refusal{"its mask chooses nothing"};
    size_t count = chosen.components.size();
    knowSize(sizes(node).at(dim), SymbolicExpr(int64_t(count)));
    chosen.dims = {{count == 1 ? IndexDim::Kind::Unit : IndexDim::Kind::Small, SymbolicExpr(int64_t(count))}};
    return define(node, gather(x, dim, chosen));
  }
  // All elements of one row, [1, n, ...], by a mask that is true everywhere.
  bool isEverywhere = at.components.size() == 1 && constantOf(at.components[0]) == 1;
  if (isEverywhere && at.dims.size() == 2 && x.dims.size() >= 2 && x.dims[0].kind == Kind::Unit &&
      at.dims[0].size == SymbolicExpr(1) && x.dims[1].kind == Kind::Space && at.dims[1].size == sizeOf(x.dims[1])) {
    knowSize(sizes(node).at(0), sizeOf(x.dims[1]));
    x.dims.erase(x.dims.begin());
    return define(node, x);
  }
  // The elements of A where a mask is true: a filter with its inclusion.
  if (at.dims.size() != 1 || at.dims[0].kind != IndexDim::Kind::Long)
    throw Refusal{"expected a mask with one axis, of the graph's elements, found " +
                  (at.dims.size() == 1 ? "one of fixed size" : std::to_string(at.dims.size()) + " axes")};
  SymbolicExpr length = sizes(node).at(dim);
  define(node, gatherList(x, dim, nonzero(at.components[0], length)));
}

void Recover::opScatter(const NormalNode &node) {
  Tensor base = tensor(node, "self");
  size_t dim = axisNumber(node, "dim", 0, base.dims.size());
  std::string old = node.op == "scatter" ? string(node, "reduce", "") : "";
  if (!old.empty() && old != "add")
    throw Refusal{"scatter with reduce='" + old + "'; use scatter_reduce"};
  if (node.op == "scatter" && old.empty() && scatterPlaces(node, base, dim))
    return;
  bool isWrite = node.op == "scatter" && old.empty();
  std::string reduce = isWrite ? "" : node.op == "scatter_add" || old == "add" ? "sum" : string(node, "reduce", "");
  static const std::map<std::string, std::string> functions = {{"", ""},        {"sum", "sum"},   {"amax", "max"},
                                                               {"amin", "min"}, {"mean", "mean"}, {"prod", "prod"}};
  auto function = functions.find(reduce);
  if (function == functions.end())
    throw Refusal{"argument 'reduce': expected sum, mean, prod, amax or amin, found '" + reduce + "'"};
  const IndexTensor at = indexFunction(node, "index");
  Tensor source = tensor(node, has(node, "src") ? "src" : "value");
  for (size_t i = 0; i < at.sizes.size(); ++i)
    if (i != dim && base.dims[dim].kind == Kind::Space && !at.sizes[i].getFactors().empty() &&
        IndexAlgebra::dependsOn(at.value, i))
      throw Refusal{"rows of " + sizeOf(base.dims[dim]).str() +
                    " numbers, which differs from graph to graph; give the number of classes"};
  IndexLists lists = indexSources.lists(at);
  if (!isListAlong(lists, dim)) {
    bool includesBase = isWrite || flag(node, "include_self", true);
    if (!includesBase || reduce == "mean" || reduce == "prod")
      listAlong(lists, dim); // refuses it
    return define(node, scatterEach(base, dim, at, source, function->second));
  }
  const Index &list = lists.components[0];
  if (isWrite) {
    auto write = [&](Tensor into, Tensor from) { return put(into, dim, list, from); };
    return define(node, wherePlaced(base, source, lists, dim, write));
  }
  if (!has(node, "src"))
    for (const SymbolicExpr &size : at.sizes)
      source.dims.push_back(dimOf(size));
  auto write = [&](Tensor into, Tensor from) {
    return scatter(into, dim, list, from, function->second, flag(node, "include_self", true));
  };
  define(node, wherePlaced(base, source, lists, dim, write));
}

/// An index with one axis as a list, also of repeated numbers, and of numbers one by one.
Index Recover::oneList(const IndexLists &at) {
  if (at.dims.size() != 1)
    throw Refusal{at.dims.empty() ? "the index is one number; use a list of one" : "the index has several axes"};
  const SymbolicExpr &length = at.dims[0].size;
  if (at.dims[0].kind != IndexDim::Kind::Long && length.getFactors().empty())
    return listOf(withComponents(at, 0).components);
  if (at.dims[0].kind == IndexDim::Kind::Repeat)
    return call("full", {sizeIndex(length), at.components.at(0)}, length);
  if (at.components.size() != 1)
    throw Refusal{"the index has several axes"};
  return at.components[0];
}

void Recover::opIndexAdd(const NormalNode &node) {
  Tensor base = tensor(node, "self"), source = tensor(node, node.op == "index_fill" ? "value" : "source");
  size_t dim = axisNumber(node, "dim", 0, base.dims.size());
  Index list = oneList(node.op == "index_fill" ? fromFront(index(node, "index"), sizeOf(base.dims.at(dim)))
                                               : index(node, "index"));
  source = withRowFor(std::move(source), dim, list);
  if (node.op == "index_copy" || node.op == "index_fill")
    return define(node, put(base, dim, list, source));
  if (node.op == "index_reduce") {
    static const std::map<std::string, std::string> functions = {
        {"amax", "max"}, {"amin", "min"}, {"mean", "mean"}, {"prod", "prod"}};
    auto function = functions.find(string(node, "reduce", ""));
    if (function == functions.end())
      throw Refusal{"argument 'reduce': expected mean, prod, amax or amin, found '" + string(node, "reduce", "") + "'"};
    return define(node, scatter(base, dim, list, source, function->second, flag(node, "include_self", true)));
  }
  double alpha = number(node, "alpha", 1);
  if (alpha != 1)
    source = binary("*", source, alpha);
  define(node, scatter(base, dim, list, source, "sum", true));
}

/// Adds numbers at pairs of a row and a feature: rows that have them in one feature are added up.
void Recover::addAtPairs(const NormalNode &node, const Tensor &base, Tensor values, const IndexLists &rows,
                         const IndexLists &columns) {
  auto isList = [](const IndexLists &index) {
    return index.dims.size() == 1 && index.components.size() == 1 && index.components[0]->isList &&
           !index.components[0]->isTruth;
  };
  bool isFixed = base.dims.size() > 1 && (base.dims[1].kind == Kind::Axis || base.dims[1].kind == Kind::Repeat);
  bool isOne = columns.dims.size() == 1 && columns.dims[0].kind == IndexDim::Kind::Unit;
  if (!isFixed || !isList(rows) || (!isList(columns) && !isOne))
    throw Refusal{"it writes along two axes at once: instead of a matrix of all pairs, gather and add up along edges"};
  int64_t size = base.dims[1].size;
  const SymbolicExpr &length = rows.dims[0].size;
  int axis = program.newAxis(size), pairs = spaceOf(length);
  Index places = columns.components[0];
  if (isOne || (columns.dims[0].size == SymbolicExpr(1) && !(length == SymbolicExpr(1)))) // the same feature for all
    places = call("full", {sizeIndex(length), elementOf(places, 0)}, length);
  int chosen = program.oneHot(mapOf(places, pairs, spaceOf(SymbolicExpr(size))), axis);
  Tensor ofPairs{{{Kind::Space, pairs, 0}, {Kind::Axis, axis, size}}, chosen};
  ofPairs.dims.resize(base.dims.size());
  while (values.dims.size() + 1 < base.dims.size())
    values = unsqueezed(values, 0);
  define(node, scatter(base, 0, rows.components[0], binary("*", unsqueezed(values, 1), ofPairs), "sum", true));
}

/// One value at known pairs along two axes of fixed size, such as the diagonal of adjacency matrices.
bool Recover::putAtKnownPairs(const NormalNode &node, const Tensor &base, Tensor values,
                              const std::vector<std::string> &places) {
  bool isOneValue = program.operations[values.value].space < 0 && program.axesOf(values.value).empty();
  if (places.size() < 2 || !isOneValue || flag(node, "accumulate", false) || places.size() > base.dims.size())
    return false;
  size_t row = places.size() - 2, column = row + 1;
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i].empty() == (i >= row) || (i >= row && !indices.count(places[i])))
      return false;
  for (size_t i : {row, column}) {
    const IndexLists &at = indexOf(places[i]);
    bool isTruth = llvm::any_of(at.components, [](const Index &each) { return each->isTruth; });
    if (at.dims.size() != 1 || isTruth)
      return false;
  }
  auto isFixed = [](const Dim &dim) { return dim.kind == Kind::Axis || dim.kind == Kind::Repeat; };
  std::optional<std::vector<int64_t>> rows = constantsOf(indexOf(places[row])),
                                      columns = constantsOf(indexOf(places[column]));
  if (!rows || !columns || rows->size() != columns->size() || !isFixed(base.dims[row]) || !isFixed(base.dims[column]))
    return false;
  int64_t numRows = base.dims[row].size, numColumns = base.dims[column].size;
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (auto [i, j] : llvm::zip(*rows, *columns))
    pairs.insert({i < 0 ? i + numRows : i, j < 0 ? j + numColumns : j});
  Tensor chosen = pattern(numRows, numColumns, [&](int64_t i, int64_t j) { return pairs.count({i, j}) != 0; });
  chosen.dims.insert(chosen.dims.begin(), row, Dim());
  chosen.dims.resize(base.dims.size());
  values.dims.clear();
  define(node, where(chosen, values, base));
  return true;
}

void Recover::opIndexPut(const NormalNode &node) {
  Tensor base = tensor(node, "self"), values = tensor(node, "values");
  std::vector<std::string> places = names(node, "indices");
  if (putAtKnownPairs(node, base, values, places))
    return;
  if (places.size() == 2 && !places[0].empty() && !places[1].empty() && flag(node, "accumulate", false))
    return addAtPairs(node, base, values, indexOf(places[0]), indexOf(places[1]));
  size_t dim = 0;
  while (dim < places.size() && places[dim].empty())
    ++dim;
  if (dim + 1 != places.size())
    throw Refusal{"it writes along two axes at once: instead of a matrix of all pairs, gather and add up along edges"};
  // One value wherever a computed mask is true.
  bool isOneValue = llvm::all_of(values.dims, [](const Dim &dim) { return dim.kind == Kind::Unit; });
  if (typeOf(places[dim]) == ScalarType::Bool && tensors.count(places[dim]) && isOneValue &&
      !flag(node, "accumulate", false)) {
    Tensor mask = tensorOf(places[dim]);
    values.dims.clear();
    mask.dims.insert(mask.dims.begin(), dim, Dim());
    mask.dims.resize(base.dims.size());
    return define(node, where(mask, values, base));
  }
  const IndexLists at = fromFront(indexOf(places[dim]), sizeOf(base.dims.at(dim)));
  Index list = oneList(at);
  bool isAlongAxis = base.dims[dim].kind != Kind::Space;
  if (std::optional<std::vector<int64_t>> chosen = knownPlaces(at);
      chosen && isAlongAxis && !(isOneValue && list->isTruth)) {
    std::vector<Index> numbers;
    for (int64_t place : *chosen)
      numbers.push_back(constant(place));
    list = listOf(numbers);
  }
  if (list->isTruth) {
    if (flag(node, "accumulate", false))
      throw Refusal{"it adds to the elements that a mask selects; use torch.where"};
    // One value wherever the mask is true.
    if (llvm::all_of(values.dims, [](const Dim &dim) { return dim.kind != Kind::Space; })) {
      Tensor mask = asNumbers(at);
      mask.dims.insert(mask.dims.begin(), dim, Dim());
      while (mask.dims.size() < base.dims.size())
        mask.dims.push_back({});
      return define(node, where(mask, values, base));
    }
    const Dim *rows = nullptr;
    for (const Dim &dim : values.dims)
      if (dim.kind == Kind::Space)
        rows = &dim;
    list = nonzero(list, program.spaces[rows->id].size);
  }
  if (values.dims.size() == base.dims.size())
    values = withRowFor(std::move(values), dim, list);
  if (!flag(node, "accumulate", false))
    return define(node, put(base, dim, list, values));
  while (values.dims.size() < base.dims.size())
    values = unsqueezed(values, 0);
  define(node, scatter(base, dim, list, values, "sum", true));
}
