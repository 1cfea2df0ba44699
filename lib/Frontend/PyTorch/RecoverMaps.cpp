//===- RecoverMaps.cpp - Spaces, maps, gathers and scatters ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

//===----------------------------------------------------------------------===//
// Spaces and maps
//===----------------------------------------------------------------------===//

/// The rule that a space is what has the extent: two tensors whose sizes are equal by the file go along one space.
int Recover::spaceOf(const SymbolicExpr &extent, const std::string &hint) {
  std::string key = extent.str();
  auto [found, isNew] = spaceNumbers.try_emplace(key, int(program.spaces.size()));
  if (isNew) {
    RecoveredSpace space;
    space.key = key;
    space.size = extent;
    space.name = hint;
    if (extent.getFactors().empty())
      space.extent = extent.getNumber();
    program.spaces.push_back(space);
  }
  return found->second;
}

void Recover::nameSpace(int space, const std::string &name) {
  if (space >= 0 && program.spaces[space].name.empty())
    program.spaces[space].name = name;
}

void Recover::learnSymbol(const SymbolicExpr &size, const std::string &source) {
  if (size.getNumber() == 0 && size.getFactors().size() == 1 && size.getFactors().begin()->second == 1)
    symbolSources.try_emplace(size.getFactors().begin()->first, source);
}

/// From now on the symbol that a size is stands for another size.
void Recover::knowSize(const SymbolicExpr &size, const SymbolicExpr &other) {
  if (size.getNumber() == 0 && size.getFactors().size() == 1 && size.getFactors().begin()->second == 1)
    knownSizes.emplace(size.getFactors().begin()->first, other);
}

/// A size beyond the file's bounds is an error: what the program does with such a size may have been decided when it
/// was exported.
std::string Recover::withinRange(const SymbolicExpr &size, const std::string &source) const {
  if (size.getNumber() != 0 || size.getFactors().size() != 1)
    return source;
  std::string text = source;
  auto range = exported.ranges.find(size.getFactors().begin()->first);
  // torch takes 0 and 1 for sizes of their own, so that 2 is a bound that torch inserts, and 3 where there is an axis
  // of one less (the segments of row pointers), as is one that no graph reaches.
  const int64_t plenty = int64_t(1) << 30;
  int64_t less = 0;
  for (auto &[name, meta] : normal.tensors)
    for (const Size &each : meta.sizes)
      if (SymbolicExpr axis = expression(each); axis.getFactors() == size.getFactors())
        less = std::max(less, -axis.getNumber());
  if (range != exported.ranges.end() && range->second.least.value_or(0) > 2 + less)
    text = "at_least(" + text + ", " + std::to_string(*range->second.least) + ")";
  if (range != exported.ranges.end() && range->second.largest.value_or(plenty) < plenty)
    text = "at_most(" + text + ", " + std::to_string(*range->second.largest) + ")";
  return text;
}

std::string Recover::sourceOf(const SymbolicExpr &extent) const {
  std::string text;
  auto plus = [&](const std::string &term) { text = text.empty() ? term : "add(" + text + ", " + term + ")"; };
  for (auto &[symbol, factor] : extent.getFactors()) {
    std::optional<std::string> source = sourceOfSymbol(symbol);
    if (!source)
      throw Refusal{"nothing says what the size " + symbol + " is computed from"};
    plus(factor == 1 ? *source : "mul(" + *source + ", " + std::to_string(factor) + ")");
  }
  if (extent.getNumber() != 0 || text.empty())
    plus(std::to_string(extent.getNumber()));
  return text;
}

/// A number that the graph gives: an input without a gradient.
int Recover::count(const SymbolicExpr &extent) {
  // How many elements are chosen the program finds out: as many as their owners have, or as they are chosen from.
  for (auto &[symbol, factor] : extent.getFactors()) {
    auto space = spaceNumbers.find(SymbolicExpr::of(symbol).str());
    int choice = space == spaceNumbers.end() ? -1 : program.spaces[size_t(space->second)].choice;
    if (choice < 0)
      continue;
    SymbolicExpr pairs = SymbolicExpr::of(symbol);
    const Operation &choosing = program.operations[size_t(choice)];
    bool hasOwners = choosing.operands.size() == 2;
    int owners = mapOf(call(hasOwners ? "owner" : "chosen", {constant(space->second)}, pairs), space->second,
                       program.operations[size_t(choosing.operands.back())].space);
    int number = program.reduce("sum", program.reduce("sum", program.number(1), owners), -1);
    if (factor != 1)
      number = program.binary("*", number, program.number(double(factor)));
    SymbolicExpr rest = extent + pairs * -factor;
    return rest == SymbolicExpr(0) ? number : program.binary("+", number, sizeAsNumber(rest));
  }
  std::string source = sourceOf(extent);
  auto [known, isNew] = countInputs.try_emplace(extent.str(), -1);
  if (isNew) {
    Operation operation;
    operation.op = Op::Input;
    operation.text = "count";
    operation.source = source;
    known->second = program.add(operation);
  }
  return known->second;
}

int Recover::mapOf(const Index &given, int from, int to, bool partial, const std::string &hint) {
  // What is chosen for each element stands together, as each of a list k times does: row by row.
  Index index = given;
  if (auto chosen = chosenRows.find(from); chosen != chosenRows.end() && index->function == "interleave" &&
                                           index->arguments[1]->function == "full" &&
                                           literalOf(index->arguments[1]->arguments[1]) == chosen->second.second) {
    const Index &each = index->arguments[0], &own = chosen->second.first;
    bool isSame =
        each->function == "arange" && literalOf(each->arguments[0]) == 0 && literalOf(each->arguments[2]) == 1;
    index = isSame ? own : call("take", {each, own}, own->length);
  }
  std::string key = index->text + "|" + std::to_string(from) + "|" + std::to_string(to);
  auto [found, isNew] = mapNumbers.try_emplace(key, int(program.maps.size()));
  if (isNew)
    program.maps.push_back({from, to, partial, index->text, hint, index, {}});
  return found->second;
}

/// An axis of fixed size becomes a static space.
Tensor Recover::toSpace(Tensor x, size_t dim, int space) {
  Dim &each = x.dims[dim];
  if (each.kind == Kind::Axis) {
    if (program.operations[x.value].space >= 0) {
      wants.sizes.insert(each.size);
      throw Refusal{"rows of " + program.spaces[program.operations[x.value].space].size.str() +
                    " elements would be indexed along a feature axis, element by element"};
    }
    if (program.spaces[space].extent != each.size)
      throw Refusal{"an axis of size " + std::to_string(each.size) + " meets one of size " + program.spaces[space].key};
    x.value = gridOptions.areFollowed ? program.spreadEarly(x.value, each.id, space)
                                      : program.spread(x.value, each.id, space);
  }
  // What a view has made of a space and an axis has a row for each pair of them.
  const SymbolicExpr size = sizeOf(each);
  if (each.kind == Kind::Group && size == program.spaces[space].size && each.parts.size() == 2 &&
      each.parts[0].layout < 0 && each.parts[1].layout < 0)
    return gatherOfGroup(std::move(x), dim, call("arange", {constant(0), sizeIndex(size), constant(1)}, size));
  if (each.kind == Kind::Group ||
      (each.kind == Kind::Repeat && !(SymbolicExpr(each.size) == program.spaces[space].size)))
    throw Refusal{"an axis of size " + sizeOf(each).str() + " meets one of size " + program.spaces[space].key};
  each = {Kind::Space, space, 0};
  return x;
}

/// A static space becomes an axis: each element has its rows at its own place.
Tensor Recover::toAxis(Tensor x, size_t dim) {
  int space = x.dims[dim].id;
  int64_t extent = program.spaces[space].extent;
  if (extent < 0)
    throw Refusal{program.spaces[space].size.str() + " elements, whose number is not fixed, cannot become features"};
  if (!resides(x, x.dims[dim])) {
    x.dims[dim] = extent == 1 ? Dim() : Dim{Kind::Repeat, -1, extent};
    return x;
  }
  if (extent > kMostPicked)
    wants.sizes.insert(extent);
  Index all = call("arange", {constant(0), constant(extent), constant(1)}, extent);
  int axis = program.newAxis(extent);
  int places = program.oneHot(mapOf(all, space, space), axis);
  x.value = program.reduce("sum", program.binary("*", x.value, places), -1);
  x.dims[dim] = {Kind::Axis, axis, extent};
  return x;
}

/// What resides on a space of one element as what is the same everywhere: `x[:1]` beside all of x.
Tensor Recover::withoutRow(Tensor x, size_t dim) {
  if (resides(x, x.dims[dim]))
    x.value = program.reduce("sum", x.value, -1);
  x.dims[dim] = Dim();
  return x;
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// `x.view(n * k, -1)[at]`, of [n, k] rows: those of element `at / k` in the place `at % k`. Of [k, n] likewise.
Tensor Recover::gatherOfGroup(Tensor x, size_t dim, const Index &at) {
  const std::vector<Dim> parts = x.dims[dim].parts;
  if (parts.size() != 2 || (parts.at(0).kind == Kind::Space) == (parts[1].kind == Kind::Space))
    throw Refusal{"it indexes an axis that a view made of others"};
  Index second = sizeIndex(sizeOf(parts[1]));
  Index first = call("div", {at, second}, at->length), rest = call("mod", {at, second}, at->length);
  bool isSpaceFirst = parts.at(0).kind == Kind::Space;
  // Most often it was put together so. A map says whether the rest is a place; without one it has to be computed.
  if (at->function == "add" && parts.at(isSpaceFirst ? 1 : 0).kind == Kind::Axis)
    for (size_t i : {0, 1}) {
      const Index &product = at->arguments[i], &other = at->arguments[1 - i];
      if (product->function == "mul" && other->isList && product->arguments[0]->isList &&
          product->arguments[1]->text == second->text) {
        first = product->arguments[0];
        rest = other;
        break;
      }
    }
  x.dims.erase(x.dims.begin() + ptrdiff_t(dim));
  x.dims.insert(x.dims.begin() + ptrdiff_t(dim), parts.begin(), parts.end());
  size_t row = dim + (isSpaceFirst ? 0 : 1), place = dim + (isSpaceFirst ? 1 : 0);
  x = gatherList(x, row, isSpaceFirst ? first : rest);
  if (x.dims[place].kind == Kind::Axis) {
    if (x.dims[place].size > kMostListed)
      wants.sizes.insert(x.dims[place].size);
    int axis = x.dims[place].id, places = spaceOf(SymbolicExpr(x.dims[place].size));
    int chosen = program.oneHot(mapOf(isSpaceFirst ? rest : first, x.dims[row].id, places), axis);
    x.value = program.dot(x.value, chosen, {axis});
  }
  x.dims.erase(x.dims.begin() + ptrdiff_t(place));
  return x;
}

/// A tensor of A indexed by a list from B to A is a value of A along that map.
Tensor Recover::gatherList(Tensor x, size_t dim, const Index &index) {
  if (!index->isList) {
    throw Refusal{"it is indexed by a number that the graph gives; use a list of one"};
  }
  if (mayBeUndefined(index))
    throw Refusal{
        "it is indexed by places that are -1 for elements that are not chosen, and PyTorch takes the last row "
        "for these; choose those that are there first, such as row[row >= 0]"};
  if (x.dims[dim].kind == Kind::Repeat || x.dims[dim].kind == Kind::Unit) {
    x.dims[dim] = dimOf(index->length);
    return x;
  }
  if (x.dims[dim].kind == Kind::Axis)
    x = toSpace(x, dim, spaceOf(SymbolicExpr(x.dims[dim].size)));
  if (x.dims[dim].kind == Kind::Group)
    return gatherOfGroup(std::move(x), dim, index);
  int to = x.dims[dim].id, from = spaceOf(index->length);
  if (resides(x, x.dims[dim]))
    x.value = program.move(x.value, mapOf(index, from, to));
  x.dims[dim] = {Kind::Space, from, 0};
  return x;
}

Tensor Recover::gather(Tensor x, size_t dim, const IndexLists &given) {
  IndexLists index = withoutCopies(given);
  // Places that are known now are those of an axis, not of a space.
  bool onAxis = x.dims.at(dim).kind != Kind::Space;
  bool isOfElements = onAxis && x.dims[dim].kind == Kind::Axis && gridOptions.sizes.count(x.dims[dim].size) != 0 &&
                      program.operations[size_t(x.value)].space < 0;
  if (onAxis && !isOfElements && constantsOf(index)) {
    if (x.dims[dim].kind == Kind::Axis && program.operations[x.value].space >= 0 && x.dims[dim].size > kMostListed &&
        llvm::any_of(index.dims, [](const IndexDim &each) {
          return each.kind == IndexDim::Kind::Long && each.size.getNumber() > kMostPicked;
        }))
      wants.sizes.insert(x.dims[dim].size);
    for (size_t i = 0; i < index.dims.size(); ++i)
      if (index.dims[i].kind == IndexDim::Kind::Long)
        index = unrolled(index, i);
  }
  std::vector<Tensor> parts;
  std::vector<Dim> around;
  // The index's own axes stand in the place of the axis it indexes.
  size_t long_ = index.dims.size();
  for (size_t i = 0; i < index.dims.size(); ++i)
    if (index.dims[i].kind == IndexDim::Kind::Long)
      long_ = i;
  for (const Index &component : index.components) {
    if (!component->isList) {
      std::optional<int64_t> element = literalOf(component);
      if (!element) {
        // The row that a number of the graph names: a sum over a list of it alone.
        Tensor row = gatherList(x, dim, listOf({component}));
        if (resides(row, row.dims[dim]))
          row.value = program.reduce("sum", row.value, -1);
        row.dims.erase(row.dims.begin() + ptrdiff_t(dim));
        parts.push_back(row);
        continue;
      }
      parts.push_back(unsqueezed(pick(x, dim, *element), dim));
      parts.back().dims.erase(parts.back().dims.begin() + ptrdiff_t(dim));
      continue;
    }
    parts.push_back(gatherList(x, dim, component));
  }
  // Without small axes there is one part.
  auto place = [&](Tensor part) {
    // `part` has the long axis at dim, or none; the others are put around it.
    std::vector<Dim> dims(part.dims.begin(), part.dims.begin() + ptrdiff_t(dim));
    bool isList = long_ < index.dims.size();
    for (size_t i = 0; i < index.dims.size(); ++i) {
      if (i == long_)
        dims.push_back(part.dims[dim]);
      else if (index.dims[i].kind == IndexDim::Kind::Repeat)
        dims.push_back(dimOf(index.dims[i].size));
      else
        dims.push_back({});
    }
    dims.insert(dims.end(), part.dims.begin() + ptrdiff_t(dim + (isList ? 1 : 0)), part.dims.end());
    part.dims = dims;
    return part;
  };
  for (Tensor &part : parts)
    part = place(part);
  for (size_t i = index.dims.size(); i-- > 0;) {
    if (index.dims[i].kind != IndexDim::Kind::Small)
      continue;
    size_t size = size_t(index.dims[i].size.getNumber());
    std::vector<Tensor> joined;
    for (size_t begin = 0; begin < parts.size(); begin += size)
      joined.push_back(concat({parts.begin() + ptrdiff_t(begin), parts.begin() + ptrdiff_t(begin + size)}, dim + i));
    parts = joined;
  }
  if (parts.size() != 1)
    throw Refusal{"the index has no meaning as maps"};
  return parts[0];
}

/// Whether places are one list along a dim, and the same along the others.
bool Recover::isListAlong(const IndexLists &index, size_t dim) {
  for (size_t i = 0; i < index.dims.size(); ++i) {
    IndexDim::Kind kind = index.dims[i].kind;
    if (i == dim ? kind != IndexDim::Kind::Long : kind != IndexDim::Kind::Repeat && kind != IndexDim::Kind::Unit)
      return false;
  }
  return index.components.size() == 1;
}

Index Recover::listAlong(const IndexLists &index, size_t dim) {
  if (!isListAlong(index, dim))
    throw Refusal{"the index differs from feature to feature; gnnc needs one index for each row"};
  return index.components[0];
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

/// Writes the part of the source that the index covers, into the part of the result that it covers: along each axis
/// but `dim` the first elements. The others stay as they were.
Tensor Recover::wherePlaced(Tensor base, Tensor source, const IndexLists &index, size_t dim, const Writing &write,
                            size_t axis) {
  if (index.dims.size() != base.dims.size())
    throw Refusal{"index and result have different numbers of axes"};
  if (axis == base.dims.size())
    return write(std::move(base), std::move(source));
  SymbolicExpr covered = index.dims[axis].size, whole = sizeOf(base.dims[axis]);
  auto first = [&](Tensor x) {
    if (sizeOf(x.dims.at(axis)) == covered)
      return x;
    if (!covered.getFactors().empty() || !sizeOf(x.dims[axis]).getFactors().empty())
      throw Refusal{"the index covers only a part of the rows"};
    return slice(x, axis, 0, covered.getNumber(), 1);
  };
  if (axis != dim && !source.dims.empty())
    source = first(source);
  if (axis == dim || whole == covered)
    return wherePlaced(std::move(base), std::move(source), index, dim, write, axis + 1);
  Tensor written = wherePlaced(first(base), std::move(source), index, dim, write, axis + 1);
  return concat({written, slice(base, axis, covered.getNumber(), whole.getNumber(), 1)}, axis);
}

static bool isNumber(const RecoveredProgram &program, int value, double number) {
  const Operation &operation = program.operations[value];
  return operation.op == Op::Number && operation.number == number;
}

/// The product along a map, with the right gradient where factors are 0: the product of those that are not, times 0
/// where two are, times the one that is.
int Recover::product(int x, int map) {
  auto number = [&](double value) { return program.number(value); };
  int isZero = program.binary("==", x, number(0));
  int safe = program.where(isZero, number(1), x);
  int size = program.unary("exp", program.reduce("sum", program.unary("log", program.unary("abs", safe)), map));
  int negatives = program.reduce("sum", program.binary("<", x, number(0)), map);
  int sign =
      program.unary("sign", program.unary("cos", program.binary("*", negatives, number(3.14159265358979323846))));
  int zeros = program.reduce("sum", isZero, map);
  int ofZero = program.reduce("sum", program.where(isZero, x, number(0)), map);
  int factor = program.where(program.binary("==", zeros, number(0)), number(1),
                             program.where(program.binary("==", zeros, number(1)), ofZero, number(0)));
  return program.binary("*", program.binary("*", program.detach(sign), size), factor);
}

/// A scatter into a tensor of B by a list from A to B is a reduction along that map.
Tensor Recover::scatter(Tensor base, size_t dim, const Index &index, Tensor source, const std::string &function,
                        bool includeSelf) {
  if (source.dims.size() != base.dims.size())
    throw Refusal{"source and result have different numbers of axes"};
  // By places that are known now, along an axis: a product with rows of zeros and ones.
  std::optional<std::vector<int64_t>> known = constantsOf({{{IndexDim::Kind::Long, index->length}}, {index}});
  bool onAxes = source.dims[dim].kind == Kind::Axis && base.dims[dim].kind != Kind::Space;
  if (known && onAxes && function == "sum" && includeSelf && program.operations[source.value].space >= 0) {
    if (source.dims[dim].size > kMostPicked)
      wants.sizes.insert(sizeOf(base.dims[dim]).getNumber());
    Tensor places = pattern(int64_t(known->size()), sizeOf(base.dims[dim]).getNumber(),
                            [&](int64_t i, int64_t j) { return (*known)[size_t(i)] == j; });
    Tensor sums = contract(source, places, {{dim, 0}}, {});
    Dim last = sums.dims.back();
    sums.dims.pop_back();
    sums.dims.insert(sums.dims.begin() + ptrdiff_t(dim), last);
    return isNumber(program, base.value, 0) ? sums : binary("+", base, sums);
  }
  int from = spaceOf(index->length);
  if (source.dims[dim].kind != Kind::Space)
    source = toSpace(source, dim, from);
  if (source.dims[dim].id != from)
    throw Refusal{"the index has length " + index->length.str() + ", but the source " +
                  program.spaces[source.dims[dim].id].key};
  // Of a single element every index is 0: all rows go there.
  if (base.dims[dim].kind == Kind::Unit && function != "prod") {
    Tensor whole = fold(function, source, {dim}, true), size{{}, sizeAsNumber(index->length)};
    if (function == "sum" && (includeSelf || isNumber(program, base.value, 0)))
      return isNumber(program, base.value, 0) ? whole : binary("+", base, whole);
    if (!includeSelf)
      return where(binary("==", size, 0), base, whole);
    if (function == "mean")
      return binary("/", binary("+", base, binary("*", whole, size)), binary("+", size, 1));
    return where(binary("==", size, 0), base, binary(function == "max" ? "maximum" : "minimum", base, whole));
  }
  // What the result has along `dim`.
  int to;
  if (base.dims[dim].kind == Kind::Space) {
    to = base.dims[dim].id;
  } else {
    to = spaceOf(SymbolicExpr(base.dims[dim].kind == Kind::Unit ? 1 : base.dims[dim].size));
    base = toSpace(base, dim, to);
  }
  int map = mapOf(index, from, to);
  Tensor reduced = source;
  reduced.value = function == "prod" ? product(source.value, map) : program.reduce(function, source.value, map);
  reduced.dims[dim] = {Kind::Space, to, 0};
  if (function == "sum" && includeSelf)
    return isNumber(program, base.value, 0) ? reduced : binary("+", base, reduced);
  if (function == "prod" && includeSelf)
    return isNumber(program, base.value, 1) ? reduced : binary("*", base, reduced);
  // Empty groups keep what was there. Sums and extrema of nothing are 0.
  if (!includeSelf && function != "prod" && isNumber(program, base.value, 0))
    return reduced;
  Tensor members{{reduced.dims[dim]}, program.reduce("sum", program.number(1), map)};
  members.dims.resize(reduced.dims.size() - dim);
  Tensor isEmpty = binary("==", members, 0);
  if (includeSelf && function == "mean") {
    Tensor sum = reduced;
    sum.value = program.reduce("sum", source.value, map);
    return binary("/", binary("+", base, sum), binary("+", members, 1));
  }
  if (includeSelf)
    reduced = binary(function == "max" ? "maximum" : "minimum", base, reduced);
  return where(isEmpty, base, reduced);
}

/// The list that says for each element of `to` which was put there last; -1: none.
int Recover::inversePlaces(const Index &index, int from, int to) {
  Index none = call("full", {sizeIndex(program.spaces[to].size), constant(-1)}, program.spaces[to].size);
  Index order = call("arange", {constant(0), sizeIndex(index->length), constant(1)}, index->length);
  Index last = call("put", {none, index, order}, none->length);
  return mapOf(last, to, from, /*partial=*/true);
}

/// At known places along an axis of rows, `x[:, [0, 2]] = v`: what stays and what is written, joined.
Tensor Recover::putAlongAxis(const Tensor &base, size_t dim, const std::vector<int64_t> &places, Tensor values) {
  int64_t size = sizeOf(base.dims[dim]).getNumber();
  while (values.dims.size() < base.dims.size())
    values = unsqueezed(values, 0);
  std::map<int64_t, int64_t> writtenBy; // the last of equal places counts
  for (auto [i, place] : llvm::enumerate(places)) {
    if (place < 0 || place >= size)
      throw Refusal{"expected an index from 0 to " + std::to_string(size - 1) + ", found " + std::to_string(place)};
    writtenBy[place] = int64_t(i);
  }
  std::vector<Tensor> parts;
  for (int64_t place = 0, end; place < size; place = end) {
    end = place + 1;
    if (auto written = writtenBy.find(place); written != writtenBy.end()) {
      bool isOne = sizeOf(values.dims[dim]) == SymbolicExpr(1);
      parts.push_back(isOne ? values : unsqueezed(pick(values, dim, written->second), dim));
      continue;
    }
    while (end < size && !writtenBy.count(end))
      ++end;
    parts.push_back(slice(base, dim, place, end, 1));
  }
  return concat(parts, dim);
}

/// Rows put at places replace those that were there; of several for one place the last stays.
Tensor Recover::put(Tensor base, size_t dim, const Index &index, Tensor values) {
  bool isOnRows = program.operations[base.value].space >= 0 || program.operations[values.value].space >= 0;
  if (base.dims[dim].kind != Kind::Space && isOnRows)
    if (std::optional<std::vector<int64_t>> known = constantsOf({{{IndexDim::Kind::Long, index->length}}, {index}}))
      return putAlongAxis(base, dim, *known, std::move(values));
  int from = spaceOf(index->length);
  if (base.dims[dim].kind != Kind::Space)
    base = toSpace(base, dim, spaceOf(SymbolicExpr(base.dims[dim].kind == Kind::Unit ? 1 : base.dims[dim].size)));
  int to = base.dims[dim].id;
  int map = inversePlaces(index, from, to);
  // A value with fewer axes is the same in all places.
  while (values.dims.size() < base.dims.size())
    values = unsqueezed(values, 0);
  if (values.dims[dim].kind == Kind::Space && values.dims[dim].id != from)
    throw Refusal{"expected one value per index, found " + sizeOf(values.dims[dim]).str() + " values for " +
                  index->length.str() + " indices"};
  if (values.dims[dim].kind == Kind::Axis || values.dims[dim].kind == Kind::Repeat)
    values = toSpace(values, dim, from);
  bool isConstant =
      program.operations[base.value].op == Op::Number && std::isfinite(program.operations[base.value].number);
  double fill = program.operations[base.value].number;
  Tensor moved = values;
  moved.dims[dim] = {Kind::Space, to, 0};
  moved.value = program.move(values.value, map, isConstant ? fill : 0);
  if (isConstant)
    return moved;
  Tensor isThere{{{Kind::Space, to, 0}}, program.move(program.number(1), map, 0)};
  isThere.dims.resize(base.dims.size() - dim);
  return where(isThere, moved, base);
}

/// Joining along a space makes a disjoint union: each part goes along its partial map, with 0 elsewhere.
Tensor Recover::concatSpace(std::vector<Tensor> parts, size_t dim) {
  SymbolicExpr whole;
  std::vector<SymbolicExpr> lengths;
  for (const Tensor &part : parts) {
    const Dim &each = part.dims[dim];
    lengths.push_back(each.kind == Kind::Space ? program.spaces[each.id].size : SymbolicExpr(each.size));
    whole += lengths.back();
  }
  int space = spaceOf(whole);
  std::vector<Tensor> moved;
  for (size_t i = 0; i < parts.size(); ++i) {
    int part = spaceOf(lengths[i]);
    Tensor each = toSpace(parts[i], dim, part);
    std::vector<Index> pieces;
    for (size_t j = 0; j < parts.size(); ++j)
      pieces.push_back(j == i ? call("arange", {constant(0), sizeIndex(lengths[i]), constant(1)}, lengths[i])
                              : call("full", {sizeIndex(lengths[j]), constant(-1)}, lengths[j]));
    Index places = call("cat", pieces, whole);
    each.value = program.move(each.value, mapOf(places, space, part, /*partial=*/true), 0);
    each.dims[dim] = {Kind::Space, space, 0};
    moved.push_back(each);
  }
  Tensor result = moved[0];
  for (size_t i = 1; i < moved.size(); ++i)
    result = binary("+", result, moved[i]);
  return result;
}
