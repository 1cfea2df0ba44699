//===- RecoverViews.cpp - Views, parts and wholes ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A view regroups the dims of a tensor; where it regroups elements of a space it is refused.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

static void rename(const RecoveredProgram &program, std::vector<Dim> &dims, int from, int to) {
  for (Dim &dim : dims) {
    if (dim.kind == Kind::Axis && program.axis(dim.id) == from)
      dim.id = to;
    rename(program, dim.parts, from, to);
  }
}

/// Numbers that are repeated more often are multiplied by a row of ones.
static constexpr int64_t kMostCopies = 256;

Tensor Recover::withAxis(Tensor x, size_t dim) {
  Dim &each = x.dims[dim];
  if (each.kind == Kind::Group)
    throw Refusal{"an axis of size " + sizeOf(each).str() +
                  ", which a view made of others, cannot be taken apart here"};
  if (each.kind == Kind::Unit) {
    int one = program.newAxis(1, "one");
    std::vector<int> own = program.axesOf(x.value);
    if (own.empty()) {
      x.value = program.merge(x.value, {}, one);
    } else {
      // Not the columns of a table: they stay an axis that edges can take the place of.
      auto isOfColumns = [&](const Operation &each) {
        return each.op == Op::Concat && each.operands.size() > 1 && program.axis(each.axes.back()) == own.back();
      };
      int split = own.size() > 1 && llvm::any_of(program.operations, isOfColumns) ? own.front() : own.back();
      int again = program.newAxis(program.sizeOf(split), program.hintOf(split));
      x.value = program.split(x.value, split, {again, one});
      rename(program, x.dims, split, again);
    }
    each = {Kind::Axis, one, 1};
  } else if (each.kind == Kind::Repeat) {
    int64_t size = each.size;
    if (size > kMostCopies) {
      Tensor ones = storedConstant(std::vector<double>(size_t(size), 1), {size});
      Tensor once = x;
      once.dims[dim] = Dim();
      for (size_t i = dim + 1; i < x.dims.size(); ++i)
        ones.dims.emplace_back();
      return binary("*", once, ones);
    }
    Tensor once = x;
    once.dims[dim] = Dim();
    once = withAxis(once, dim);
    int axis = once.dims[dim].id, into = program.newAxis(size);
    std::vector<int> copies(static_cast<size_t>(size), once.value), joined(static_cast<size_t>(size), axis);
    x = once;
    x.value = program.concat(copies, joined, into);
    x.dims[dim] = {Kind::Axis, into, size};
  }
  return x;
}

Tensor Recover::squeezed(Tensor x, size_t dim) {
  if (x.dims[dim].kind == Kind::Unit)
    x.dims.erase(x.dims.begin() + ptrdiff_t(dim));
  return x;
}

Tensor Recover::unsqueezed(Tensor x, size_t dim) {
  x.dims.insert(x.dims.begin() + ptrdiff_t(dim), Dim());
  return x;
}

/// Splits one of the dims that a view is made of into one of size `first` and the rest.
bool Recover::splitAtom(Tensor &x, std::vector<Dim> &atoms, size_t at, int64_t first) {
  Dim atom = atoms[at];
  if ((atom.kind != Kind::Axis && atom.kind != Kind::Repeat) || first < 2 || atom.size <= first ||
      atom.size % first != 0)
    return false;
  std::vector<Dim> pieces = {{Kind::Repeat, -1, first}, {Kind::Repeat, -1, atom.size / first}};
  if (atom.kind == Kind::Axis) {
    for (Dim &piece : pieces)
      piece = {Kind::Axis, program.newAxis(piece.size), piece.size};
    x.value = program.split(x.value, atom.id, {pieces[0].id, pieces[1].id});
  }
  atoms.erase(atoms.begin() + ptrdiff_t(at));
  atoms.insert(atoms.begin() + ptrdiff_t(at), pieces.begin(), pieces.end());
  return true;
}

/// How many times `size` the other one is; 0: no number of times.
static int64_t timesOf(const SymbolicExpr &whole, const SymbolicExpr &size) {
  auto &[symbol, factor] = *size.getFactors().begin();
  auto found = whole.getFactors().find(symbol);
  int64_t times = found == whole.getFactors().end() ? 0 : found->second / factor;
  return times > 0 && size * times == whole ? times : 0;
}

/// Axes of size 1 come and go; the others fall into groups of equal products. Fixed sizes are merged and split; an axis
/// that holds a space and others stays a group of them.
Tensor Recover::reshape(Tensor x, const std::vector<SymbolicExpr> &sizes) {
  if (std::optional<Tensor> rows = inRows(x, sizes))
    return *rows;
  if (std::optional<Tensor> matrix = matrixOfEdges(x, sizes))
    return *matrix;
  // One number has no elements to regroup.
  if (program.operations[size_t(x.value)].op == Op::Number && !numbersInRows(x) && layoutIn(x) < 0) {
    Tensor result{{}, x.value};
    for (const SymbolicExpr &size : sizes)
      result.dims.push_back(dimOf(size));
    return result;
  }
  std::vector<Dim> in, out;
  for (const Dim &dim : opened(x.dims))
    if (dim.kind != Kind::Unit)
      in.push_back(dim);
  auto misfit = [&] {
    std::string wanted;
    for (const SymbolicExpr &size : sizes)
      wanted += (wanted.empty() ? "" : ", ") + size.str();
    auto isOpen = [](const SymbolicExpr &size) { return !size.getFactors().empty(); };
    if (llvm::count_if(sizes, isOpen) >
        std::max<int64_t>(1, llvm::count_if(in, [](const Dim &each) { return each.kind == Kind::Space; })))
      return Refusal{"a view of shape [" + wanted +
                     "] has several axes whose sizes differ from graph to graph; give all but one of them as numbers"};
    return Refusal{"a view of shape [" + wanted + "] does not fit its operand, of shape " + shapeText(x.dims) +
                   ": it would regroup elements of a space"};
  };
  size_t i = 0;
  for (size_t o = 0; o < sizes.size();) {
    const SymbolicExpr &size = sizes[o];
    if (size == SymbolicExpr(1)) {
      out.push_back({});
      ++o;
      continue;
    }
    if (i >= in.size())
      throw misfit();
    bool isStatic = in[i].kind == Kind::Space && program.spaces[in[i].id].extent >= 0;
    if (isStatic) {
      if (!(size == sizeOf(in[i])))
        throw misfit();
      out.push_back(in[i++]);
      ++o;
      continue;
    }
    // [k n, ...] as [k, n, ...]: k parts of a list, one after the other.
    if (i == 0 && in[i].kind == Kind::Space && resides(x, in[i]) && size.getFactors().empty() && o + 1 < sizes.size() &&
        size.getNumber() <= 64 && sizes[o + 1] * size.getNumber() == sizeOf(in[i])) {
      x.dims = in;
      x = rowsByParts(x, sizes[o + 1], size.getNumber());
      in = x.dims;
      out.push_back(in[i++]);
      ++o;
      continue;
    }
    // [n k, ...] as [n, k, ...]: the other axes are those of k tensors, joined.
    if (i == 0 && in[i].kind == Kind::Space && resides(x, in[i]) && !size.getFactors().empty()) {
      int64_t times = timesOf(sizeOf(in[i]), size);
      if (times > 1 && times <= 64) {
        x.dims = in;
        x = rowsInTurn(x, i, size, times);
        in = x.dims;
      }
    }
    if (!size.getFactors().empty() || in[i].kind == Kind::Space) {
      // A space, perhaps with axes before and after it.
      std::vector<Dim> parts;
      SymbolicExpr product = 1;
      while (!(product == size)) {
        if (i >= in.size())
          throw misfit();
        SymbolicExpr own = sizeOf(in[i]);
        bool isBoth = parts.empty() && i + 1 < in.size() && in[i].layout >= 0 && in[i + 1].layout == in[i].layout &&
                      in[i].isInRow != in[i + 1].isInRow && !(own == size);
        if (isBoth && countsAll(in[i].layout, size)) {
          own = rowLayouts[size_t(in[i].layout)].all;
          parts.push_back(in[i++]);
        }
        if (product.getFactors().empty()) {
          product = own * product.getNumber();
        } else {
          // What is still missing is a number.
          auto &[symbol, factor] = *product.getFactors().begin();
          auto wanted = size.getFactors().find(symbol);
          int64_t rest = wanted == size.getFactors().end() ? 0 : wanted->second / factor;
          if (!own.getFactors().empty() || rest < 2 || !(product * rest == size))
            throw misfit();
          if (rest % own.getNumber() != 0) {
            if (!splitAtom(x, in, i, rest))
              throw misfit();
            own = sizeOf(in[i]);
          }
          product = product * own.getNumber();
        }
        parts.push_back(in[i++]);
      }
      out.push_back(parts.size() == 1 ? parts[0] : Dim{Kind::Group, -1, 0, parts});
      ++o;
      continue;
    }
    // The least group of axes on each side with the same product.
    std::vector<Dim> from = {in[i++]};
    std::vector<int64_t> to = {size.getNumber()};
    int64_t left = from[0].size, right = to[0];
    ++o;
    while (left != right) {
      if (left < right && i < in.size() && in[i].kind != Kind::Space) {
        left *= in[i].size;
        from.push_back(in[i++]);
      } else if (right < left && o < sizes.size() && sizes[o].getFactors().empty()) {
        right *= sizes[o].getNumber();
        to.push_back(sizes[o++].getNumber());
      } else {
        throw misfit();
      }
    }
    size_t units = llvm::count(to, 1);
    if (from.size() == 1 && to.size() - units == 1) {
      for (int64_t each : to)
        out.push_back(each == 1 ? Dim() : from[0]);
      continue;
    }
    if (llvm::all_of(from, [](const Dim &dim) { return dim.kind == Kind::Repeat; })) {
      for (int64_t each : to)
        out.push_back(each == 1 ? Dim() : Dim{Kind::Repeat, -1, each});
      continue;
    }
    // All in `from` become axes of the value. Others may get new names by that.
    Tensor whole{from, x.value};
    llvm::append_range(whole.dims, in);
    llvm::append_range(whole.dims, out);
    for (size_t k = 0; k < from.size(); ++k)
      whole = withAxis(whole, k);
    auto renamed = whole.dims.begin();
    for (std::vector<Dim> *each : {&from, &in, &out})
      for (Dim &dim : *each)
        dim = *renamed++;
    x.value = whole.value;
    int axis = from[0].id;
    if (from.size() > 1) {
      std::vector<int> merged;
      for (const Dim &dim : from)
        merged.push_back(dim.id);
      axis = program.newAxis(left);
      x.value = program.merge(x.value, merged, axis);
    }
    std::vector<int> into;
    for (int64_t each : to)
      if (each != 1)
        into.push_back(program.newAxis(each));
    if (into.size() > 1)
      x.value = program.split(x.value, axis, into);
    else
      into = {axis};
    size_t next = 0;
    for (int64_t each : to)
      out.push_back(each == 1 ? Dim() : Dim{Kind::Axis, into[next++], each});
  }
  if (i != in.size())
    throw misfit();
  x.dims = out;
  return x;
}

Tensor Recover::broadcast(Tensor x, const std::vector<SymbolicExpr> &sizes) {
  const std::vector<Dim> old = x.dims;
  while (x.dims.size() < sizes.size())
    x.dims.insert(x.dims.begin(), Dim());
  if (x.dims.size() != sizes.size())
    throw Refusal{"expected " + std::to_string(x.dims.size()) + " axes or more to expand to, found " +
                  std::to_string(sizes.size())};
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (x.dims[i].kind == Kind::Space && program.spaces[x.dims[i].id].extent == 1 && !(sizes[i] == SymbolicExpr(1)))
      x = withoutRow(x, i);
    if (x.dims[i].kind == Kind::Unit)
      x.dims[i] = dimOf(sizes[i]);
  }
  // Elements of rows that are repeated for each other element of their row are there for pairs of them.
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const Dim own = x.dims[i];
    if (own.layout < 0 || isPadded(own) || !own.isInRow || own.pairs >= 0 || !resides(x, own))
      continue;
    const RowLayout &rows = rowLayouts[size_t(own.layout)];
    for (size_t j = 0; j < x.dims.size(); ++j)
      if (Dim &other = x.dims[j]; j != i && other.layout < 0 && !resides(x, other) && sizeOf(other) == rows.length) {
        int pairs = pairsOf(rows.elements, rows.elements, rows.along);
        x.value = program.move(x.value, sideOf(pairs, i < j ? 0 : 1));
        other = own;
        for (size_t k : {i, j}) {
          x.dims[k].pairs = pairs;
          x.dims[k].side = k == std::min(i, j) ? 0 : 1;
        }
        return x;
      }
  }
  // Repeated along another axis of its own space, it is there for pairs of elements.
  std::vector<size_t> own;
  for (size_t i = 0; i < x.dims.size(); ++i)
    if (resides(x, x.dims[i]) && x.dims[i].pairs < 0)
      own.push_back(i);
  if (own.size() == 2) {
    size_t before = llvm::find_if(old, [](const Dim &dim) { return dim.kind == Kind::Space; }) - old.begin();
    int space = x.dims[own[0]].id, pairs = pairsOf(space, space), side = before + x.dims.size() - old.size() == own[1];
    x.value = program.move(x.value, sideOf(pairs, side));
    for (int k : {0, 1}) {
      x.dims[own[size_t(k)]].pairs = pairs;
      x.dims[own[size_t(k)]].side = k;
    }
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Parts and wholes
//===----------------------------------------------------------------------===//

Tensor Recover::concat(std::vector<Tensor> parts, size_t dim) {
  // Parts without elements, such as `x.new_zeros(0, 4)`, add nothing.
  bool isEmpty = llvm::all_of(parts, [&](const Tensor &each) { return sizeOf(each.dims.at(dim)) == SymbolicExpr(0); });
  if (!isEmpty)
    std::erase_if(parts, [&](const Tensor &each) { return sizeOf(each.dims.at(dim)) == SymbolicExpr(0); });
  if (parts.size() == 1)
    return parts[0];
  bool onSpace = llvm::any_of(parts, [&](const Tensor &each) { return each.dims.at(dim).kind == Kind::Space; });
  if (onSpace)
    return concatSpace(std::move(parts), dim);
  // The other axes are aligned as in any elementwise operation.
  std::vector<Tensor> others;
  std::vector<int> joined;
  int64_t size = 0;
  for (Tensor &part : parts) {
    part = withAxis(part, dim);
    size += part.dims[dim].size;
    joined.push_back(part.dims[dim].id);
    Tensor rest = part;
    rest.dims[dim] = Dim();
    others.push_back(rest);
  }
  // The joined axes may be one axis with those of other parts: give them names of their own where they are in the way.
  for (size_t i = 0; i < parts.size(); ++i) {
    bool clash = false;
    for (const Tensor &other : others)
      for (const Dim &each : opened(other.dims))
        clash |= each.kind == Kind::Axis && program.axis(each.id) == program.axis(joined[i]);
    if (clash) {
      int fresh = program.newAxis(program.sizeOf(joined[i]));
      renameAxes(parts[i], {{joined[i], fresh}});
      joined[i] = fresh;
      others[i].value = parts[i].value;
    }
  }
  std::vector<Dim> dims = align(others);
  // Axes that alignment renamed are those of the operands now.
  std::vector<int> operands;
  for (size_t i = 0; i < parts.size(); ++i)
    operands.push_back(others[i].value);
  // Every operand has all the other axes: one that lacks an axis is repeated along it.
  for (size_t i = 0; i < operands.size(); ++i)
    for (const Dim &each : opened(dims))
      if (each.kind == Kind::Axis && !program.hasAxis(operands[i], each.id)) {
        size_t other = 0;
        while (!program.hasAxis(operands[other], each.id))
          ++other;
        int like = program.pick(operands[other], joined[other], 0);
        operands[i] = program.where(program.number(1), operands[i], like);
      }
  int into = program.newAxis(size);
  dims[dim] = {Kind::Axis, into, size};
  return {dims, program.concat(operands, joined, into)};
}

Tensor Recover::slice(Tensor x, size_t dim, int64_t begin, int64_t end, int64_t step) {
  Dim &each = x.dims[dim];
  if (each.kind == Kind::Group || each.kind == Kind::Space)
    throw Refusal{"it takes a part of an axis of size " + sizeOf(each).str() + " by numbers"};
  int64_t size = each.size;
  auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  begin = bound(begin);
  end = std::max(bound(end), begin);
  int64_t length = (end - begin + step - 1) / step;
  if (begin == 0 && length == size)
    return x;
  if (length == 0)
    throw Refusal{"the slice is empty"};
  if (each.kind == Kind::Repeat) {
    each = length == 1 ? Dim() : Dim{Kind::Repeat, -1, length};
    return x;
  }
  if (each.kind == Kind::Unit)
    return x;
  if (length == 1) {
    x.value = program.pick(x.value, each.id, begin);
    each = Dim();
    return x;
  }
  if (step == 1) {
    int into = program.newAxis(length);
    int whole = each.id;
    each = {Kind::Axis, into, length};
    x.value = program.rename(program.slice(x.value, whole, begin, end, whole), {{whole, into}});
    return x;
  }
  std::vector<Tensor> parts;
  for (int64_t at = begin; at < end; at += step)
    parts.push_back(slice(x, dim, at, at + 1, 1));
  return concat(parts, dim);
}

/// One row of a space, by its number: a sum over that row alone.
Tensor Recover::pickRow(Tensor x, size_t dim, const SymbolicExpr &at) {
  const Dim each = x.dims[dim];
  if (resides(x, each)) {
    Index place = listOf({constant(at.getNumber())});
    if (!at.getFactors().empty()) {
      Index number = sizeIndex(at);
      bool isKnown = llvm::all_of(at.getFactors(), [](auto &term) { return term.second > 0; }) && at.getNumber() >= 0;
      // Python counts from the end if a number is less than 0.
      if (!isKnown && !(at == program.spaces[each.id].size + SymbolicExpr(at.getNumber())))
        number = callScalar("where", {callScalar("lt", {number, constant(0)}, true),
                                      sizeIndex(program.spaces[each.id].size + at), number});
      place = call("add", {call("full", {constant(1), constant(0)}, 1), number}, 1);
    }
    x = gatherList(x, dim, place);
    x.value = program.reduce("sum", x.value, -1);
  }
  x.dims.erase(x.dims.begin() + ptrdiff_t(dim));
  return x;
}

Tensor Recover::pick(Tensor x, size_t dim, int64_t element) {
  if (x.dims[dim].kind == Kind::Group)
    throw Refusal{"it takes one element of an axis of size " + sizeOf(x.dims[dim]).str() + " by its number"};
  if (x.dims[dim].kind == Kind::Space) {
    const SymbolicExpr &size = program.spaces[x.dims[dim].id].size;
    return pickRow(std::move(x), dim, element < 0 ? size + SymbolicExpr(element) : SymbolicExpr(element));
  }
  int64_t size = x.dims[dim].size;
  if (element < -size || element >= size)
    throw Refusal{"expected an index from " + std::to_string(-size) + " to " + std::to_string(size - 1) + ", found " +
                  std::to_string(element)};
  if (x.dims[dim].kind == Kind::Axis)
    x.value = program.pick(x.value, x.dims[dim].id, element < 0 ? element + size : element);
  x.dims.erase(x.dims.begin() + ptrdiff_t(dim));
  return x;
}

/// What of `gone` are dims of rows by places: elements of one row go to the row, pairs of them to one side first.
bool Recover::foldWholeRows(const std::string &function, Tensor &x, const std::vector<Dim> &gone) {
  auto isWhole = [&](const Dim &dim) { return dim.kind == Kind::Space && dim.layout >= 0 && !isPadded(dim); };
  auto known = llvm::find_if(gone, isWhole);
  if (known == gone.end())
    return false;
  const RowLayout rows = rowLayouts[size_t(known->layout)];
  const std::vector<Dim> all = opened(x.dims);
  auto count = [&](const std::vector<Dim> &dims, bool inRow) {
    return llvm::count_if(dims, [&](const Dim &dim) { return isWhole(dim) && dim.isInRow == inRow; });
  };
  bool areRowsGone = count(gone, false) > 0;
  int64_t places = count(gone, true), of = count(all, true);
  int space = program.operations[size_t(x.value)].space;
  auto side = llvm::find_if(gone, [&](const Dim &dim) { return isWhole(dim) && dim.isInRow; });
  bool isOnPairs =
      llvm::any_of(all, [&](const Dim &dim) { return isWhole(dim) && dim.pairs >= 0 && dim.pairs == space; });
  bool isOnElements = !isOnPairs && space == rows.elements, isOnRows = space == rows.rows;
  if (!isOnPairs && !isOnElements && !isOnRows && space >= 0)
    throw Refusal{"rows of equal length meet elements of another space"};
  if ((isOnPairs || isOnElements) && areRowsGone && places < of)
    throw Refusal{"it adds up elements of several rows of equal length by their places"};
  if (isOnElements && of > 1)
    throw Refusal{"elements in rows of equal length are repeated along another axis"};
  if (isOnPairs || isOnElements) {
    if (areRowsGone) {
      x.value = program.reduce(function, x.value, -1);
    } else {
      if (isOnPairs)
        x.value = program.reduce(function, x.value, sideOf(side->pairs, 1 - side->side));
      if (places == of)
        x.value = program.reduce(function, x.value, rows.along);
    }
    for (Dim &each : x.dims) {
      each.pairs = -1;
      for (Dim &part : each.parts)
        part.pairs = -1;
    }
    return true;
  }
  SymbolicExpr times = 1;
  for (int64_t i = 0; i < places; ++i)
    times = pointsOf({times, rows.length});
  if (areRowsGone && isOnRows)
    x.value = program.reduce(function, x.value, -1);
  else if (areRowsGone)
    times = pointsOf({times, program.spaces[size_t(rows.rows)].size});
  if (function == "sum")
    x.value = program.binary("*", x.value, sizeAsNumber(times));
  else if (function == "logsumexp")
    x.value = program.binary("+", x.value, program.unary("log", sizeAsNumber(times)));
  return true;
}

Tensor Recover::fold(const std::string &function, Tensor x, std::vector<size_t> dims, bool keep) {
  llvm::sort(dims);
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  std::vector<Dim> gone;
  for (size_t dim : dims)
    gone.push_back(x.dims.at(dim));
  gone = opened(gone);
  // What is the same all along counts as often as it is there.
  auto repeated = [&](const SymbolicExpr &size) {
    if (function == "sum")
      x.value = program.binary("*", x.value, sizeAsNumber(size));
    else if (function == "logsumexp")
      x.value = program.binary("+", x.value, program.unary("log", sizeAsNumber(size)));
  };
  std::vector<int> axes;
  foldMatrix(function, x, gone);
  auto isMaskedIn = [&, side = maskedWeights.find(x.value)](const Dim &dim) {
    return function == "sum" && side != maskedWeights.end() && resides(x, dim) && sideIn(dim) == side->second;
  };
  auto isPlaces = [&](const Dim &dim) { return isPadded(dim) && dim.isInRow; };
  auto inRow = llvm::find_if(gone, [&](const Dim &dim) { return isPlaces(dim) && dim.pairs < 0; });
  const bool isFilledUp = inRow != gone.end() && !isMaskedIn(*inRow);
  for (const Dim &each : gone)
    if (isPadded(each) && !isMaskedIn(each) &&
        (!isFilledUp || llvm::count_if(opened(x.dims), isPlaces) != 1 || each.layout != inRow->layout))
      throw Refusal{
          "it adds up rows of equal length with what is behind their elements; add up the elements themselves, "
          "by their numbers"};
  for (const Dim &each : gone)
    if (each.kind == Kind::Axis)
      axes.push_back(each.id);
    else if (each.kind == Kind::Repeat)
      repeated(each.size);
  if (!axes.empty()) {
    int whole = x.value;
    x.value = program.over(function, whole, axes);
    noteMatrix(x.value, {whole}, function == "sum");
  }
  if (foldWholeRows(function, x, gone))
    llvm::erase_if(gone, [&](const Dim &each) { return each.layout >= 0; });
  // Elements of a row go to the row.
  if (auto each = llvm::find_if(gone, [&](const Dim &dim) { return isPadded(dim) && dim.isInRow && dim.pairs < 0; });
      each != gone.end()) {
    const int layout = each->layout;
    x.value = isFilledUp ? foldFilledUp(function, x, layout)
                         : program.reduce(function, x.value, rowLayouts[size_t(layout)].along);
    llvm::erase_if(gone, [&](const Dim &dim) { return dim.layout == layout && dim.isInRow; });
    for (Dim &dim : x.dims)
      if (dim.layout == layout)
        dim.layout = -1, dim.isInRow = false;
  }
  std::vector<Dim> ofPairs;
  for (const Dim &each : gone)
    if (each.kind == Kind::Space && each.pairs >= 0 && resides(x, each))
      ofPairs.push_back(each);
  if (!ofPairs.empty()) {
    x.value = foldPairs(function, x.value, ofPairs);
    for (Dim &each : x.dims) {
      each.pairs = -1;
      for (Dim &part : each.parts)
        part.pairs = -1;
    }
  }
  for (const Dim &each : gone)
    if (each.kind == Kind::Space &&
        !llvm::any_of(ofPairs, [&](const Dim &dim) { return dim.side == each.side && each.pairs >= 0; })) {
      if (resides(x, each))
        x.value = program.reduce(function, x.value, -1);
      else
        repeated(sizeOf(each));
    }
  for (size_t dim : dims)
    x.dims[dim] = Dim();
  if (!keep)
    for (size_t dim : llvm::reverse(dims))
      x.dims.erase(x.dims.begin() + ptrdiff_t(dim));
  return x;
}
