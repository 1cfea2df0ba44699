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

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexDim::Kind;

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

void Recover::intIndex(const NormalNode &node) {
  Refusal none{"it indexes integers in a way that has no meaning as maps"};
  IndexTensor x = index(node, "self"), at;
  size_t dim = 0;
  if (node.op == "index") {
    std::vector<std::string> places = names(node, "indices");
    dim = places.size();
    for (size_t i = 0; i < places.size(); ++i)
      if (!places[i].empty()) {
        if (dim != places.size())
          throw Refusal{"it is indexed along two axes at once"};
        dim = i;
      }
    std::optional<IndexTensor> kept = keptPlaces(places.at(dim), sizes(node).at(dim));
    at = kept ? *kept : indexOf(places.at(dim));
  } else {
    at = index(node, node.op == "masked_select" ? "mask" : "index");
    dim = node.op == "masked_select" || node.op == "take" ? 0 : axisNumber(node, "dim", 0, x.dims.size());
    if ((node.op == "masked_select" || node.op == "take") && x.dims.size() != 1)
      throw none;
  }
  // Rows chosen by numbers that are known now: edge_index[[1, 0]].
  if (x.dims.at(dim).kind != Kind::Long && at.dims.size() == 1 && node.op != "gather") {
    std::optional<std::vector<int64_t>> numbers = constantsOf(at);
    bool isTruth = !at.components.empty() && at.components[0]->isTruth;
    if (!numbers || isTruth)
      throw none;
    if (at.dims[0].kind == Kind::Repeat)
      numbers->assign(size_t(at.dims[0].size.getNumber()), numbers->at(0));
    return define(node, chosen(x, dim, *numbers));
  }
  std::vector<SymbolicExpr> wanted = sizes(node);
  if (node.op == "gather")
    at = {{{Kind::Long, at.dims.at(dim).size}}, {listAlong(at, dim)}};
  at = withoutCopies(at);
  if (x.dims.at(dim).kind != Kind::Long)
    throw none;
  // The index's own axes stand in the place of the axis that it indexes; one of them may be long.
  std::vector<Index> lists;
  for (const Index &component : at.components)
    lists.push_back(component->isTruth && component->isList ? nonzero(component, wanted.at(dim)) : component);
  wanted = sizes(node); // two symbols may have turned out to be one
  size_t stride = strideOf(x, dim);
  IndexTensor result;
  result.dims.assign(x.dims.begin(), x.dims.begin() + ptrdiff_t(dim));
  for (size_t i = 0; i < at.dims.size(); ++i)
    result.dims.push_back({at.dims[i].kind, wanted.at(dim + i)});
  result.dims.insert(result.dims.end(), x.dims.begin() + ptrdiff_t(dim) + 1, x.dims.end());
  for (size_t outer = 0; outer < x.components.size() / stride; ++outer)
    for (const Index &list : lists)
      for (size_t inner = 0; inner < stride; ++inner)
        result.components.push_back(takeFrom(x.components[outer * stride + inner], list));
  define(node, result);
}

void Recover::intNonzero(const NormalNode &node) {
  if (std::string mask = nameOf(node, node.op == "where" ? "condition" : "self"); !indices.count(mask))
    if (std::optional<IndexTensor> kept = keptPlaces(mask, sizes(node).at(0))) {
      if (sizes(node).size() == 2)
        kept->dims.push_back({});
      return define(node, *kept);
    }
  const IndexTensor &x = index(node, node.op == "where" ? "condition" : "self");
  if (x.dims.size() != 1 || x.dims[0].kind != Kind::Long)
    throw Refusal{"'" + node.op + "': expected one axis, of the graph's elements, found " +
                  (x.dims.size() == 1 ? "one of fixed size" : std::to_string(x.dims.size()) + " axes")};
  std::vector<SymbolicExpr> wanted = sizes(node);
  Index list = nonzero(x.components[0], wanted.at(0));
  IndexTensor result{{{Kind::Long, sizes(node).at(0)}}, {list}};
  if (wanted.size() == 2)
    result.dims.push_back({});
  define(node, result);
}

void Recover::intPut(const NormalNode &node) {
  const std::string &op = node.op;
  if (op == "scatter" && has(node, "reduce"))
    throw Refusal{"it writes integers in a way that has no meaning in gnnc"};
  if (op == "scatter" && index(node, "self").dims.size() == 2)
    return writeColumns(node);
  IndexTensor base = index(node, "self");
  IndexTensor at = op == "index_put" ? indexOf(names(node, "indices").at(0)) : index(node, "index");
  IndexTensor values = indexArgument(node, op == "index_put"    ? "values"
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
    return define(node, {{base.dims}, {call("where", {list, value, base.components[0]}, length, isTruth)}});
  }
  // All places in order: nothing of what was there is left.
  bool isEverywhere = list->function == "arange" && literalOf(list->arguments[0]) == 0 &&
                      literalOf(list->arguments[2]) == 1 && list->length == length && value->isList;
  if (isEverywhere)
    return define(node, {{base.dims}, {value}});
  define(node, {{base.dims}, {call("put", {base.components[0], list, value}, length, isTruth)}});
}

//===----------------------------------------------------------------------===//
// Lists as a whole
//===----------------------------------------------------------------------===//

/// Different columns of an edge list, in order: each is one number, of which the first row is the larger part.
void Recover::uniqueColumns(const NormalNode &node, const IndexTensor &x, size_t dim) {
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
  IndexTensor result = x;
  result.dims[dim].size = length;
  result.components = {call("div", {unique, base}, length),
                       call("add", {call("mod", {unique, base}, length), least}, length)};
  define(node, result, 0);
  defineInverse(node, numbers, length);
}

/// The further results of `unique`: which of its numbers each of the list's is, and how many are the same.
void Recover::defineInverse(const NormalNode &node, const Index &list, const SymbolicExpr &length) {
  Index inverse = call("inverse", {list}, list->length);
  auto isWanted = [&](size_t output, const char *name) {
    return node.outputs.size() > output && !node.outputs[output].empty() &&
           flag(node, name, node.op == "unique_dim" && output == 1);
  };
  if (isWanted(1, "return_inverse"))
    define(node, IndexTensor{{{Kind::Long, list->length}}, {inverse}}, 1);
  if (isWanted(2, "return_counts"))
    define(
        node,
        IndexTensor{{{Kind::Long, length}}, {call("scatter_sum", {inverse, constant(1), sizeIndex(length)}, length)}},
        2);
}

void Recover::intList(const NormalNode &node) {
  const std::string &op = node.op;
  const IndexTensor x = index(node, "self");
  Refusal none{"'" + op + "' of integers with these arguments has no meaning in gnnc"};
  if (op == "unique_dim" && x.dims.size() == 2 && x.components.size() == 2) {
    size_t dim = axisNumber(node, "dim", 0, 2);
    if (x.dims[dim].kind == Kind::Long && flag(node, "sorted", true))
      return uniqueColumns(node, x, dim);
  }
  if (x.dims.size() != 1 || x.components.size() != 1)
    throw none;
  SymbolicExpr length = sizes(node).at(0);
  Index list = x.dims[0].kind == Kind::Long ? x.components[0] : nullptr;
  if (!list)
    list = listOf(withComponents(x, 0).components);
  if (op == "diff") {
    if (integer(node, "n", 1) != 1)
      throw none;
    std::vector<Index> pieces;
    SymbolicExpr whole = list->length;
    for (const char *name : {"prepend", "", "append"}) {
      if (!*name) {
        pieces.push_back(list);
        continue;
      }
      if (!has(node, name))
        continue;
      const IndexTensor &more = index(node, name);
      if (more.dims.size() != 1 || more.dims[0].kind != Kind::Long || more.components.size() != 1)
        throw none;
      pieces.push_back(more.components[0]);
      whole += more.dims[0].size;
    }
    if (pieces.size() > 1)
      list = call("cat", pieces, whole);
    return define(node, {{{Kind::Long, length}}, {call("diff", {list}, length)}});
  }
  if (op == "_unique2" || op == "unique_dim") {
    if (!flag(node, "sorted", true))
      throw none;
    Index unique = call("unique", {list}, length);
    learnSymbol(length, "length(" + unique->text + ")");
    define(node, IndexTensor{{{Kind::Long, length}}, {unique}}, 0);
    return defineInverse(node, list, length);
  }
  if (op == "cumsum")
    return define(node, {{{Kind::Long, length}}, {call("cumsum", {list}, length)}});
  // Equal elements keep their order, which PyTorch leaves open where it is not asked for.
  if (flag(node, "descending", false))
    throw none;
  Index order = call("argsort", {list}, list->length);
  if (op == "argsort")
    return define(node, {{{Kind::Long, length}}, {order}});
  bool hasPlaces = node.outputs.size() > 1 && !node.outputs[1].empty() && isUsed(node.outputs[1]);
  define(node, IndexTensor{{{Kind::Long, length}}, {call("take", {list, order}, list->length)}}, 0);
  if (hasPlaces)
    define(node, IndexTensor{{{Kind::Long, length}}, {order}}, 1);
}

/// One number of all, or of the components along a fixed axis.
void Recover::intReduce(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  std::string function = node.op == "amax" || node.op == "any"   ? "max"
                         : node.op == "amin" || node.op == "all" ? "min"
                         : node.op == "count_nonzero"            ? "sum"
                                                                 : node.op;
  bool asTruth = node.op == "any" || node.op == "all" || node.op == "count_nonzero";
  bool isTruth = node.op == "any" || node.op == "all";
  if (has(node, "other"))
    return define(node, elementwise(function + "imum", {x, indexArgument(node, "other")}, false, sizes(node)));
  if (x.components.empty())
    throw Refusal{"it reduces integers in a way that has no meaning in gnnc"};
  if (asTruth && !x.components[0]->isTruth)
    x = elementwise("ne", {x, {{}, {constant(0)}}}, true, sizesOfIndex(x));
  std::string joiner = function == "sum" ? "add" : function + "imum";
  std::vector<SymbolicExpr> wanted = sizes(node);
  std::vector<int64_t> listed = integers(node, "dim");
  if (!listed.empty() && listed.size() < x.dims.size()) {
    if (listed.size() != 1 || (node.outputs.size() > 1 && !node.outputs[1].empty() &&
                               normal.tensors.count(node.outputs[1]) && isUsed(node.outputs[1])))
      throw Refusal{"it reduces integers in a way that has no meaning in gnnc"};
    size_t dim = size_t(listed[0] < 0 ? listed[0] + int64_t(x.dims.size()) : listed[0]);
    x = withComponents(x, dim);
    if (x.dims.at(dim).kind != Kind::Small && x.dims[dim].kind != Kind::Unit)
      throw Refusal{"it reduces integers in a way that has no meaning in gnnc"};
    IndexTensor result = selected(x, dim, 0);
    for (int64_t i = 1; i < x.dims[dim].size.getNumber(); ++i) {
      IndexTensor next = selected(x, dim, i);
      result = elementwise(joiner, {result, next}, isTruth, sizesOfIndex(result));
    }
    return define(node, shaped(result, wanted));
  }
  std::optional<Index> whole;
  for (const IndexDim &dim : x.dims)
    if (dim.kind == Kind::Repeat && (function == "sum" || isTruth))
      throw Refusal{"it reduces integers in a way that has no meaning in gnnc"};
  // Unlike extrema, these are there of an empty list.
  std::string ofList = isTruth ? node.op : function;
  for (const Index &each : x.components) {
    Index own = each->isList ? callScalar(ofList, {each}) : each;
    whole = whole ? callScalar(joiner, {*whole, own}) : own;
  }
  IndexExpr number = **whole;
  number.isTruth = isTruth;
  IndexTensor result{{}, {std::make_shared<IndexExpr>(number)}};
  result.dims.resize(wanted.size());
  define(node, result);
}

void Recover::intScatter(const NormalNode &node) {
  SymbolicExpr length = sizes(node).at(0);
  if (node.op == "bincount") {
    const IndexTensor &x = index(node, "self");
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
    return define(node, {{{Kind::Long, length}},
                         {call("scatter_sum", {x.components[0], constant(1), sizeIndex(length)}, length)}});
  }
  const IndexTensor &base = index(node, "self"), &at = index(node, "index");
  IndexTensor source = indexArgument(node, node.op == "index_add" ? "source" : "src");
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
  define(node, {{{Kind::Long, length}}, {sum}});
}

void Recover::intInterleave(const NormalNode &node) {
  if (sizes(node).size() != 1)
    throw Refusal{"repeat_interleave of integers with several axes"};
  SymbolicExpr length = sizes(node).at(0);
  if (node.overload == "Tensor") {
    Index counts = index(node, "repeats").components.at(0);
    Index order = call("arange", {constant(0), sizeIndex(counts->length), constant(1)}, counts->length);
    return define(node, {{{Kind::Long, length}}, {call("interleave", {order, counts}, length)}});
  }
  const IndexTensor &x = index(node, "self");
  if (x.dims.size() != 1 || x.dims[0].kind != Kind::Long)
    throw Refusal{"repeat_interleave of integers with several axes"};
  Index list = x.components.at(0), counts = indexArgument(node, "repeats").components.at(0);
  if (!counts->isList)
    counts = call("add", {call("full", {sizeIndex(list->length), constant(0)}, list->length), counts}, list->length);
  define(node, {{{Kind::Long, length}}, {call("interleave", {list, counts}, length, list->isTruth)}});
}

/// A number written to one column of each row: every column is written where the index is its number.
void Recover::writeColumns(const NormalNode &node) {
  const IndexTensor &base = index(node, "self"), &at = index(node, "index");
  bool fits = axisNumber(node, "dim", 0, 2) == 1 && at.dims.size() == 2 && at.dims[0].kind == Kind::Long &&
              at.dims[1].kind == Kind::Unit && at.components.size() == 1 && base.dims[0].kind == Kind::Long &&
              base.dims[0].size == at.dims[0].size && base.dims[1].size.getFactors().empty() && has(node, "value");
  if (!fits || has(node, "reduce"))
    throw Refusal{"it writes integers in a way that has no meaning in gnnc"};
  int64_t size = base.dims[1].size.getNumber();
  if (size > 256)
    throw Refusal{"it writes one of " + std::to_string(size) + " columns, more than 256; use torch.nn.Embedding"};
  IndexTensor result;
  result.dims = {base.dims[0], {size == 1 ? Kind::Unit : Kind::Small, base.dims[1].size}};
  Index value = indexArgument(node, "value").components.at(0);
  for (int64_t i = 0; i < size; ++i) {
    const Index &old = base.components[base.dims[1].kind == Kind::Small ? size_t(i) : 0];
    const SymbolicExpr &length = at.dims[0].size;
    Index isHere = call("eq", {at.components[0], constant(i)}, length, true);
    result.components.push_back(call("where", {isHere, value, old}, length, old->isTruth));
  }
  define(node, result);
}
