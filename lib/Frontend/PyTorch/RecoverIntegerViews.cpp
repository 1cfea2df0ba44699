//===- RecoverIntegerViews.cpp - Views and parts of integers -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Other shapes of the components and lists that an integer tensor is made of, and some of its elements.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexDim::Kind;

static bool isWholeEnd(const Argument &end) {
  auto *literal = std::get_if<int64_t>(&end);
  return literal && *literal == INT64_MAX;
}

/// Some of the components along a fixed axis.
IndexTensor Recover::chosen(const IndexTensor &given, size_t dim, const std::vector<int64_t> &places) {
  IndexTensor x = given.dims.at(dim).kind == Kind::Long ? unrolled(given, dim) : withComponents(given, dim);
  if (x.dims[dim].kind != Kind::Small && x.dims[dim].kind != Kind::Unit)
    throw Refusal{"it indexes integers in a way that has no meaning as maps"};
  int64_t size = x.dims[dim].size.getNumber();
  size_t stride = strideOf(x, dim);
  IndexTensor result;
  result.dims = x.dims;
  result.dims[dim] = {places.size() == 1 ? Kind::Unit : Kind::Small, SymbolicExpr(int64_t(places.size()))};
  for (size_t outer = 0; outer < x.components.size() / stride / size_t(size); ++outer)
    for (int64_t place : places) {
      int64_t at = place < 0 ? place + size : place;
      if (at < 0 || at >= size)
        throw Refusal{"element " + std::to_string(place) + " of an axis of size " + std::to_string(size)};
      for (size_t inner = 0; inner < stride; ++inner)
        result.components.push_back(x.components[(outer * size_t(size) + size_t(at)) * stride + inner]);
    }
  return result;
}

void Recover::intSelect(const NormalNode &node) {
  const IndexTensor x = index(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  if (node.op == "select")
    return define(node, selected(x, dim, integer(node, "index", 0)));
  int64_t begin = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.op == "unbind") {
      if (!node.outputs[i].empty())
        define(node, selected(x, dim, int64_t(i)), i);
      continue;
    }
    if (!x.dims[dim].size.getFactors().empty())
      throw Refusal{"it splits a list whose length is not fixed"};
    std::vector<int64_t> places;
    for (int64_t length = sizes(node, i).at(dim).getNumber(); length > 0; --length)
      places.push_back(begin++);
    define(node, chosen(x, dim, places), i);
  }
}

void Recover::intView(const NormalNode &node) { define(node, shaped(index(node, "self"), sizes(node))); }

void Recover::intExpand(const NormalNode &node) { define(node, expanded(index(node, "self"), sizes(node))); }

IndexTensor Recover::expanded(IndexTensor x, const std::vector<SymbolicExpr> &wanted) {
  while (x.dims.size() < wanted.size())
    x.dims.insert(x.dims.begin(), IndexDim());
  for (size_t i = 0; i < wanted.size(); ++i)
    if (x.dims[i].kind == Kind::Unit && !(wanted[i] == SymbolicExpr(1)))
      x.dims[i] = {Kind::Repeat, wanted[i]};
  return x;
}

void Recover::intTranspose(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  size_t rank = x.dims.size();
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i)
    order[i] = node.op == "numpy_T" ? rank - 1 - i : i;
  if (node.op == "permute") {
    std::vector<int64_t> dims = integers(node, "dims");
    for (size_t i = 0; i < dims.size(); ++i)
      order.at(i) = size_t(dims[i] < 0 ? dims[i] + int64_t(rank) : dims[i]);
  } else if (rank >= 2 && node.op != "numpy_T") {
    std::swap(order[node.op == "t" ? 0 : axisNumber(node, "dim0", 0, rank)],
              order[node.op == "t" ? 1 : axisNumber(node, "dim1", 1, rank)]);
  }
  // The components in their new order.
  IndexTensor result;
  for (size_t i : order)
    result.dims.push_back(x.dims.at(i));
  for (size_t at = 0; at < x.components.size(); ++at) {
    size_t from = 0, rest = at;
    for (size_t d = rank; d-- > 0;) {
      from += rest % smallSize(result.dims[d]) * strideOf(x, order[d]);
      rest /= smallSize(result.dims[d]);
    }
    result.components.push_back(x.components.at(from));
  }
  define(node, result);
}

void Recover::intRepeat(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  const Argument *repeats = find(node, node.op == "tile" ? "dims" : "repeats");
  auto *list = repeats ? std::get_if<Integers>(repeats) : nullptr;
  std::vector<SymbolicExpr> wanted = sizes(node);
  if (!list)
    throw Refusal{"argument 'repeats': expected integers"};
  while (x.dims.size() < wanted.size())
    x.dims.insert(x.dims.begin(), IndexDim());
  // `tile` may say nothing of the first axes.
  size_t unsaid = wanted.size() - std::min(wanted.size(), list->numbers.size());
  for (size_t i = unsaid; i < wanted.size(); ++i) {
    auto *times = std::get_if<int64_t>(&list->numbers.at(i - unsaid));
    if (times && *times == 1)
      continue;
    if (x.dims[i].kind == Kind::Unit) {
      x.dims[i] = {Kind::Repeat, wanted[i]};
      // A fixed number of copies of a list are components.
      if (times && llvm::any_of(x.dims, [](const IndexDim &dim) { return dim.kind == Kind::Long; })) {
        if (llvm::any_of(x.dims, [](const IndexDim &dim) { return dim.kind == Kind::Small; }) || *times > 64)
          throw Refusal{"it repeats integers along several axes"};
        x.dims[i] = {Kind::Small, SymbolicExpr(*times)};
        x.components = std::vector<Index>(static_cast<size_t>(*times), x.components.at(0));
      }
    } else if (x.dims[i].kind == Kind::Long && times) {
      std::vector<Index> pieces(static_cast<size_t>(*times));
      for (Index &component : x.components) {
        llvm::fill(pieces, component);
        component = call("cat", pieces, wanted[i]);
      }
      x.dims[i].size = wanted[i];
    } else {
      throw Refusal{"it repeats integers along an axis of fixed size"};
    }
  }
  return define(node, x);
}

void Recover::intCat(const NormalNode &node) {
  const std::string &op = node.op;
  std::vector<IndexTensor> parts;
  for (const std::string &name : names(node, "tensors"))
    parts.push_back(indexOf(name));
  std::vector<SymbolicExpr> wanted = sizes(node);
  size_t dim = op == "hstack" && wanted.size() > 1 ? 1 : op == "vstack" ? 0 : axisNumber(node, "dim", 0, wanted.size());
  for (IndexTensor &part : parts)
    if (op == "stack" || part.dims.size() < wanted.size()) // lists, which vstack takes for rows
      part.dims.insert(part.dims.begin() + ptrdiff_t(op == "stack" ? dim : 0), IndexDim());
  define(node, joined(parts, dim, wanted));
}

/// Integers one after the other along an axis, of so many sizes together.
IndexTensor Recover::joined(std::vector<IndexTensor> parts, size_t dim, const std::vector<SymbolicExpr> &wanted) {
  for (const IndexTensor &part : parts)
    if (part.dims.size() != wanted.size())
      throw Refusal{"it joins integers with different numbers of axes"};
  // Where one part has components along another axis, all have.
  for (IndexTensor &part : parts)
    for (size_t i = 0; i < part.dims.size(); ++i)
      for (const IndexTensor &other : parts)
        if (i != dim && part.dims[i].kind == Kind::Repeat && other.dims.at(i).kind == Kind::Small)
          part = withComponents(part, i);
  IndexTensor result;
  auto asList = [&](IndexTensor &part, size_t axis) { // repetitions and single numbers as lists
    IndexDim &own = part.dims.at(axis);
    if (own.kind == Kind::Unit || own.kind == Kind::Repeat) {
      for (Index &component : part.components) {
        if (component->isList)
          throw Refusal{"it joins integers of different layouts"};
        Index none = call("full", {sizeIndex(own.size), constant(0)}, own.size);
        std::optional<int64_t> value = literalOf(component);
        component = value ? call("full", {sizeIndex(own.size), constant(*value)}, own.size)
                          : call("add", {none, component}, own.size);
      }
      own.kind = Kind::Long;
    }
  };
  bool hasLong = llvm::any_of(parts, [&](IndexTensor &part) {
    return llvm::any_of(part.dims, [](IndexDim &each) { return each.kind == Kind::Long; });
  });
  // Where one part has a list along another axis, all have.
  for (IndexTensor &part : parts)
    for (size_t i = 0; i < part.dims.size(); ++i)
      for (const IndexTensor &other : parts)
        if (i != dim && part.dims[i].kind == Kind::Repeat && other.dims.at(i).kind == Kind::Long)
          asList(part, i);
  // Beside components, lists of fixed length are components.
  if (llvm::any_of(parts, [&](IndexTensor &part) { return part.dims.at(dim).kind == Kind::Small; }))
    for (IndexTensor &part : parts) {
      if (part.dims[dim].kind == Kind::Long)
        part = unrolled(part, dim);
      part = withComponents(part, dim);
    }
  bool isLong =
      llvm::any_of(parts, [&](IndexTensor &part) { return part.dims.at(dim).kind == Kind::Long; }) || !hasLong;
  if (isLong) {
    for (IndexTensor &part : parts)
      asList(part, dim);
    result.dims = parts[0].dims;
    result.dims[dim] = {Kind::Long, wanted[dim]};
    for (const IndexTensor &part : parts)
      if (part.components.size() != parts[0].components.size())
        throw Refusal{"it joins integers of different layouts"};
    for (size_t i = 0; i < parts[0].components.size(); ++i) {
      std::vector<Index> pieces;
      for (IndexTensor &part : parts)
        pieces.push_back(part.components.at(i));
      result.components.push_back(pieces.size() == 1 ? pieces[0]
                                                     : call("cat", pieces, wanted[dim], pieces[0]->isTruth));
    }
    return result;
  }
  for (IndexTensor &part : parts)
    part = withComponents(part, dim);
  for (const IndexTensor &part : parts)
    for (size_t i = 0; i < part.dims.size(); ++i)
      if (i != dim && part.dims[i].kind != parts[0].dims[i].kind)
        throw Refusal{"it joins integers of different layouts"};
  result.dims = parts[0].dims;
  result.dims[dim] = {wanted[dim] == SymbolicExpr(1) ? Kind::Unit : Kind::Small, wanted[dim]};
  size_t outer = 1;
  for (size_t i = 0; i < dim; ++i)
    outer *= smallSize(parts[0].dims[i]);
  for (size_t at = 0; at < outer; ++at)
    for (IndexTensor &part : parts) {
      size_t run = part.components.size() / outer;
      result.components.insert(result.components.end(), part.components.begin() + ptrdiff_t(at * run),
                               part.components.begin() + ptrdiff_t((at + 1) * run));
    }
  return result;
}

/// `edge_index[1] = x` and the like: some of the components along one axis are others.
void Recover::intReplacePart(const NormalNode &node) {
  const IndexTensor x = index(node, "self");
  IndexTensor source = index(node, "src");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  const SymbolicExpr size = x.dims[dim].size;
  if (x.dims[dim].kind == Kind::Long || !size.getFactors().empty())
    return replacePartOfList(node, x, expanded(source, sizesOf(nameOf(node, "src"))), dim);
  int64_t all = size.getNumber(), begin = 0, end = all, step = 1;
  if (node.op == "select_scatter") {
    source.dims.insert(source.dims.begin() + ptrdiff_t(dim), IndexDim());
    begin = integer(node, "index", 0);
    begin += begin < 0 ? all : 0, end = begin + 1;
  } else {
    auto place = [&](const char *name, int64_t absent) {
      int64_t at = has(node, name) && !isWholeEnd(*find(node, name)) ? integer(node, name, absent) : absent;
      return std::clamp<int64_t>(at < 0 ? at + all : at, 0, all);
    };
    begin = place("start", 0), end = place("end", all), step = integer(node, "step", 1);
  }
  std::vector<IndexTensor> parts;
  for (int64_t at = 0, next = 0; at < all; ++at) {
    bool isOther = at >= begin && at < end && (at - begin) % step == 0;
    parts.push_back(isOther ? chosen(source, dim, {next++}) : chosen(x, dim, {at}));
  }
  define(node, joined(parts, dim, sizes(node)));
}

/// The same where the axis is that of lists: what comes before, what is written, and what comes behind.
void Recover::replacePartOfList(const NormalNode &node, const IndexTensor &x, IndexTensor source, size_t dim) {
  const SymbolicExpr size = x.dims[dim].size;
  if (node.op == "select_scatter" || integer(node, "step", 1) != 1)
    throw Refusal{
        "it writes to single places of a list of integers; write to a slice, or join the parts with torch.cat"};
  auto place = [&](const char *name, const SymbolicExpr &absent) {
    if (!has(node, name) || isWholeEnd(*find(node, name)))
      return absent;
    SymbolicExpr at = expression(*find(node, name));
    return at.getFactors().empty() && at.getNumber() < 0 ? size + at : at;
  };
  SymbolicExpr begin = place("start", 0), end = begin + source.dims.at(dim).size;
  auto part = [&](const SymbolicExpr &from, const SymbolicExpr &to) {
    IndexTensor some = x;
    some.dims[dim].size = to + from * -1;
    if (some.dims[dim].kind == Kind::Long)
      for (Index &each : some.components)
        each = call("slice", {each, sizeIndex(from), sizeIndex(to), constant(1)}, some.dims[dim].size, each->isTruth);
    return some;
  };
  std::vector<IndexTensor> parts;
  if (!(begin == SymbolicExpr(0)))
    parts.push_back(part(0, begin));
  parts.push_back(source);
  if (!(end == size))
    parts.push_back(part(end, size));
  define(node, parts.size() == 1 ? parts[0] : joined(parts, dim, sizes(node)));
}

/// What is written over all of a tensor.
void Recover::intCopy(const NormalNode &node) { define(node, expanded(index(node, "src"), sizes(node))); }

void Recover::intSlice(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  std::vector<SymbolicExpr> wanted = sizes(node);
  int64_t step = integer(node, "step", 1);
  if (x.dims[dim].kind == Kind::Long) {
    SymbolicExpr begin = has(node, "start") ? expression(*find(node, "start")) : SymbolicExpr(0);
    if (step == 1 && begin == SymbolicExpr(0) && wanted[dim] == x.dims[dim].size)
      return define(node, x);
    Index last = constant(int64_t(1) << 40);
    if (node.op == "narrow")
      last = sizeIndex(begin + expression(*find(node, "length")));
    else if (has(node, "end") && !isWholeEnd(*find(node, "end")))
      last = sizeIndex(expression(*find(node, "end")));
    Index first = sizeIndex(begin);
    return define(node, mapped(x, wanted, [&](const Index &each) {
                    return call("slice", {each, first, last, constant(step)}, wanted[dim], each->isTruth);
                  }));
  }
  if (x.dims[dim].kind != Kind::Small) {
    x.dims[dim].size = wanted.at(dim);
    if (wanted[dim] == SymbolicExpr(1))
      x.dims[dim].kind = Kind::Unit;
    return define(node, x);
  }
  int64_t begin = integer(node, "start", 0), all = x.dims[dim].size.getNumber();
  begin = std::clamp<int64_t>(begin < 0 ? begin + all : begin, 0, all);
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < wanted[dim].getNumber(); ++i)
    kept.push_back(begin + i * step);
  define(node, chosen(x, dim, kept));
}

/// The amounts and axes of a roll; without axes it is one of all elements in turn, which of a list is the same.
std::vector<std::pair<int64_t, size_t>> Recover::rollOf(const NormalNode &node, size_t rank) const {
  std::vector<int64_t> shifts = integers(node, "shifts"), listed = integers(node, "dims");
  if (listed.empty() && rank == 1)
    listed = {0};
  if (shifts.size() != listed.size())
    throw Refusal{"roll without axes"};
  std::vector<std::pair<int64_t, size_t>> result;
  for (auto [shift, axis] : llvm::zip(shifts, listed))
    result.push_back({shift, size_t(axis < 0 ? axis + int64_t(rank) : axis)});
  return result;
}

/// Where the elements of a list come from that is rolled by `shift`.
Index Recover::rolledPlaces(int64_t shift, const SymbolicExpr &size) {
  Index all = call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
  return call("mod", {call("sub", {all, constant(shift)}, size), sizeIndex(size)}, size);
}

void Recover::intRoll(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  for (auto [shift, dim] : rollOf(node, x.dims.size())) {
    const IndexDim each = x.dims.at(dim);
    if (each.kind == Kind::Long) {
      for (Index &component : x.components)
        if (component->isList)
          component = call("take", {component, rolledPlaces(shift, each.size)}, each.size, component->isTruth);
    } else if (each.kind == Kind::Small) {
      int64_t size = each.size.getNumber();
      std::vector<int64_t> kept;
      for (int64_t i = 0; i < size; ++i)
        kept.push_back(((i - shift) % size + size) % size);
      x = chosen(x, dim, kept);
    }
  }
  define(node, x);
}

void Recover::intFlip(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  for (int64_t axis : integers(node, "dims")) {
    size_t dim = size_t(axis < 0 ? axis + int64_t(x.dims.size()) : axis);
    if (x.dims.at(dim).kind == Kind::Long) {
      for (Index &each : x.components)
        each = call("flip", {each}, each->length, each->isTruth);
    } else if (x.dims[dim].kind == Kind::Small) {
      std::vector<int64_t> kept;
      for (int64_t i = x.dims[dim].size.getNumber(); i-- > 0;)
        kept.push_back(i);
      x = chosen(x, dim, kept);
    }
  }
  define(node, x);
}
