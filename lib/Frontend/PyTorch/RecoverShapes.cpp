//===- RecoverShapes.cpp - Alignment of dims -------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch aligns axes by their place from the end, the language by their names. So what is aligned becomes one axis, or
// is renamed where a value would have it twice.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

void Recover::renameAxes(Tensor &x, const std::vector<std::pair<int, int>> &pairs) {
  int before = x.value;
  std::vector<int> old = program.axesOf(before);
  x.value = program.rename(before, pairs);
  if (x.value == before)
    return;
  std::vector<int> renamed = program.axesOf(x.value);
  auto rename = [&](Dim &dim) {
    for (size_t i = 0; i < old.size(); ++i)
      if (dim.kind == Kind::Axis && old[i] == program.axis(dim.id)) {
        dim.id = renamed[i];
        break;
      }
  };
  for (Dim &dim : x.dims) {
    rename(dim);
    llvm::for_each(dim.parts, rename);
  }
}

std::vector<Dim> gnnc::frontend::pytorch::opened(const std::vector<Dim> &dims) {
  std::vector<Dim> result;
  for (const Dim &dim : dims)
    if (dim.kind == Kind::Group)
      llvm::append_range(result, dim.parts);
    else
      result.push_back(dim);
  return result;
}

/// The layout of which a group has both dims; -1: of none.
static int layoutOfAll(const std::vector<Dim> &parts) {
  auto isRows = [](const Dim &dim) { return dim.layout >= 0 && !dim.isInRow; };
  auto isInRow = [](const Dim &dim) { return dim.layout >= 0 && dim.isInRow; };
  auto rows = llvm::find_if(parts, isRows);
  return rows != parts.end() && llvm::any_of(parts, isInRow) ? rows->layout : -1;
}

SymbolicExpr Recover::sizeOf(const Dim &dim) const {
  switch (dim.kind) {
  case Kind::Space:
    return dim.isInRow ? rowLayouts[size_t(dim.layout)].length : program.spaces[dim.id].size;
  case Kind::Unit:
    return 1;
  case Kind::Axis:
  case Kind::Repeat:
    return dim.size;
  case Kind::Group: {
    if (int layout = layoutOfAll(dim.parts); layout >= 0) {
      int64_t factor = 1;
      for (const Dim &part : dim.parts)
        factor *= part.layout >= 0 ? 1 : sizeOf(part).getNumber();
      return rowLayouts[size_t(layout)].all * factor;
    }
    SymbolicExpr size = 1; // at most one of the parts is a space whose size is not fixed
    int64_t factor = 1;
    for (const Dim &part : dim.parts)
      if (SymbolicExpr own = sizeOf(part); own.getFactors().empty())
        factor *= own.getNumber();
      else
        size = own;
    return size * factor;
  }
  }
  return 1;
}

std::string Recover::shapeText(const std::vector<Dim> &dims) const {
  std::string text = "[";
  for (const Dim &dim : dims)
    text += (text.size() > 1 ? ", " : "") + sizeOf(dim).str();
  return text + "]";
}

bool Recover::resides(const Tensor &x, const Dim &dim) const {
  return dim.kind == Kind::Space && program.operations[x.value].space == (dim.pairs >= 0 ? dim.pairs : dim.id);
}

/// A value is on one space. If two axes of a tensor go along that space, nothing says which of them is meant.
void Recover::checkPairs(const Tensor &x) const {
  std::vector<Dim> all = opened(x.dims);
  if (llvm::count_if(all, [&](const Dim &dim) { return resides(x, dim) && dim.pairs < 0; }) > 1)
    throw Refusal{
        "a tensor of shape " + shapeText(x.dims) +
        " would need a number for every pair of elements here; give the pairs that matter as a list of edges"};
}

Dim Recover::dimOf(const SymbolicExpr &size, const std::string &hint) {
  if (!size.getFactors().empty())
    return {Kind::Space, spaceOf(size, hint), 0};
  if (size == SymbolicExpr(1))
    return {};
  return {Kind::Repeat, -1, size.getNumber()};
}

Tensor Recover::scalar(double value) { return {{}, program.number(value)}; }

Tensor Recover::constantTensor(const std::vector<double> &numbers, const std::vector<int64_t> &sizes) {
  if (numbers.size() > 65536)
    throw Refusal{"a constant of " + std::to_string(numbers.size()) +
                  " numbers, more than 65536; make it a buffer of the model"};
  Tensor result;
  if (llvm::all_equal(numbers) && !numbers.empty()) {
    result = scalar(numbers[0]);
    for (int64_t size : sizes)
      result.dims.push_back(dimOf(size));
    return result;
  }
  return storedConstant(numbers, sizes);
}

/// The same, as a state of the model, also where all numbers are equal.
Tensor Recover::storedConstant(const std::vector<double> &numbers, const std::vector<int64_t> &sizes) {
  Tensor result;
  RecoveredProgram::Constant constant;
  auto isTaken = [&](const std::string &name) {
    return exported.tensors.count(name) != 0 ||
           llvm::any_of(program.constants, [&](auto &other) { return other.name == name; });
  };
  constant.name = "constant";
  for (int number = 2; isTaken(constant.name); ++number)
    constant.name = "constant" + std::to_string(number);
  Operation operation;
  operation.op = Op::State;
  operation.text = constant.name;
  for (int64_t size : sizes) {
    if (size == 1) {
      result.dims.emplace_back();
      continue;
    }
    constant.shape.push_back(size);
    operation.axes.push_back(program.newAxis(size));
    result.dims.push_back({Kind::Axis, operation.axes.back(), size});
  }
  constant.numbers.assign(numbers.begin(), numbers.end());
  // The same numbers are one constant.
  for (const RecoveredProgram::Constant &known : program.constants)
    if (known.shape == constant.shape && known.numbers == constant.numbers)
      for (int value = 0; value < int(program.operations.size()); ++value)
        if (program.operations[size_t(value)].op == Op::State && program.operations[size_t(value)].text == known.name) {
          result.value = value;
          size_t next = 0;
          for (Dim &dim : result.dims)
            if (dim.kind == Kind::Axis)
              dim.id = program.operations[size_t(value)].axes[next++];
          return result;
        }
  program.constants.push_back(constant);
  result.value = program.add(operation);
  return result;
}

Tensor Recover::filled(double value, const std::vector<SymbolicExpr> &sizes) {
  Tensor result = scalar(value);
  for (const SymbolicExpr &size : sizes)
    result.dims.push_back(dimOf(size));
  return result;
}

/// A size as a number that the graph gives.
int Recover::sizeAsNumber(const SymbolicExpr &size) {
  if (size.getFactors().empty())
    return program.number(double(size.getNumber()));
  return count(size);
}

/// The same with a group of dims as another tensor's in the place of elements that are as many.
Tensor Recover::groupedAs(const Dim &group, Tensor x, size_t dim) {
  std::vector<SymbolicExpr> parts;
  for (size_t i = 0; i < x.dims.size(); ++i)
    if (i != dim)
      parts.push_back(sizeOf(x.dims[i]));
    else
      for (const Dim &part : group.parts)
        parts.push_back(sizeOf(part));
  x = reshape(std::move(x), parts);
  auto begin = x.dims.begin() + ptrdiff_t(dim), end = begin + ptrdiff_t(group.parts.size());
  Dim whole{Kind::Group, -1, 0, {begin, end}};
  x.dims.insert(x.dims.erase(begin, end), whole);
  return x;
}

/// Where one tensor has a group of dims, the others have the same group, or are the same all along it.
std::vector<Dim> Recover::align(std::vector<Tensor> &all) {
  size_t rank = 0;
  for (const Tensor &each : all)
    rank = std::max(rank, each.dims.size());
  for (size_t back = 1; back <= rank; ++back)
    for (const Tensor &each : all)
      if (back <= each.dims.size() && each.dims[each.dims.size() - back].kind == Kind::Group) {
        const Dim group = each.dims[each.dims.size() - back];
        for (Tensor &other : all)
          if (back <= other.dims.size())
            if (size_t at = other.dims.size() - back; other.dims[at].kind == Kind::Space && other.dims[at].pairs < 0 &&
                                                      other.dims[at].layout < 0 && resides(other, other.dims[at]) &&
                                                      sizeOf(other.dims[at]) == sizeOf(group))
              other = groupedAs(group, other, at);
        break;
      }
  std::vector<size_t> widths(rank, 1); // how many dims there are at each place, from the last
  for (size_t back = 1; back <= rank; ++back) {
    std::vector<Dim> parts;
    for (const Tensor &each : all)
      if (back <= each.dims.size() && each.dims[each.dims.size() - back].kind == Kind::Group && parts.empty())
        parts = each.dims[each.dims.size() - back].parts;
    widths[back - 1] = std::max<size_t>(parts.size(), 1);
  }
  for (Tensor &each : all) {
    std::vector<Dim> dims;
    for (size_t i = 0; i < each.dims.size(); ++i) {
      const Dim &dim = each.dims[i];
      size_t back = each.dims.size() - i;
      if (widths[back - 1] == 1) {
        dims.push_back(dim);
        continue;
      }
      std::vector<Dim> parts(widths[back - 1]);
      for (const Tensor &other : all)
        if (back <= other.dims.size() && other.dims[other.dims.size() - back].kind == Kind::Group) {
          const Dim &group = other.dims[other.dims.size() - back];
          bool same = dim.kind == Kind::Unit || (sizeOf(dim) == sizeOf(group) && !resides(each, dim));
          if (dim.kind == Kind::Group)
            same = dim.parts.size() == group.parts.size() &&
                   llvm::all_of(llvm::zip(dim.parts, group.parts),
                                [&](auto pair) { return sizeOf(std::get<0>(pair)) == sizeOf(std::get<1>(pair)); });
          if (!same)
            throw Refusal{"an axis of size " + sizeOf(dim).str() + " is aligned with one that a view made of others"};
          if (dim.kind == Kind::Group)
            parts = dim.parts;
          else if (dim.kind != Kind::Unit)
            for (size_t k = 0; k < parts.size(); ++k)
              parts[k] = dimOf(sizeOf(group.parts[k]));
        }
      llvm::append_range(dims, parts);
    }
    each.dims = dims;
  }
  std::vector<Dim> flat = alignOpened(all), result;
  auto next = flat.begin();
  for (size_t width : llvm::reverse(widths)) {
    if (width == 1)
      result.push_back(*next);
    else
      result.push_back({Kind::Group, -1, 0, std::vector<Dim>(next, next + ptrdiff_t(width))});
    next += ptrdiff_t(width);
  }
  for (Tensor &each : all)
    checkPairs({result, each.value});
  return result;
}

/// One value is on one space: where tensors have several, those of a fixed size become axes. Such are the rows of
/// classes, summed up over their nodes, beside the nodes themselves.
void Recover::keepOneSpace(std::vector<Tensor> &all, size_t rank) {
  size_t kept = 0; // counted from the last, as what is aligned
  bool isKeptFixed = true;
  auto spaceAt = [&](const Tensor &each, size_t back) {
    const Dim *dim = back <= each.dims.size() ? &each.dims[each.dims.size() - back] : nullptr;
    return dim && dim->kind == Kind::Space && program.spaces[dim->id].extent != 1 ? &program.spaces[dim->id] : nullptr;
  };
  for (size_t back = rank; back > 0; --back)
    for (const Tensor &each : all)
      if (const RecoveredSpace *space = spaceAt(each, back);
          space && (kept == 0 || (isKeptFixed && space->extent < 0))) {
        kept = back;
        isKeptFixed = space->extent >= 0;
      }
  for (size_t back = 1; back <= rank; ++back)
    for (Tensor &each : all)
      if (const RecoveredSpace *space = back == kept ? nullptr : spaceAt(each, back); space && space->extent >= 0)
        each = toAxis(each, each.dims.size() - back);
}

/// Where each row has numbers for all pairs of places along an axis, as attention within batches of equal sizes has,
/// the places are better off as elements (RecoverGrids.cpp), unless they are features, of which weights have as many.
void Recover::noteOuter(const std::vector<Tensor> &all, size_t rank) {
  auto sizeAt = [&](const Tensor &each, size_t back) -> int64_t {
    const Dim *dim = back <= each.dims.size() ? &each.dims[each.dims.size() - back] : nullptr;
    return dim && dim->kind == Kind::Axis ? dim->size : 0;
  };
  for (const Tensor &a : all)
    for (const Tensor &b : all)
      if (program.operations[size_t(a.value)].space >= 0 && program.operations[size_t(b.value)].space >= 0)
        for (size_t i = 1; i <= rank; ++i)
          for (size_t j = 1; j < i; ++j)
            if (int64_t size = sizeAt(a, i); size > kMostListed && size == sizeAt(b, j) && sizeAt(a, j) == 0 &&
                                             sizeAt(b, i) == 0 && !isStoredSize(size))
              wants.sizes.insert(size);
}

/// The same of a tensor whose rows are repeated as often as it has places.
void Recover::noteExpanded(const Tensor &x, const std::vector<SymbolicExpr> &wanted) {
  if (program.operations[size_t(x.value)].space < 0 || wanted.size() < x.dims.size())
    return;
  size_t before = wanted.size() - x.dims.size();
  for (size_t i = 0; i < wanted.size(); ++i)
    for (const Dim &dim : x.dims)
      if ((i < before || x.dims[i - before].kind == Kind::Unit) && dim.kind == Kind::Axis && dim.size > kMostListed &&
          wanted[i] == SymbolicExpr(dim.size) && !isStoredSize(dim.size))
        wants.sizes.insert(dim.size);
}

bool Recover::isStoredSize(int64_t size) const {
  return llvm::any_of(exported.tensors, [&](const auto &each) {
    return llvm::any_of(each.second.meta.sizes, [&](const Size &own) { return own.literal() == size; });
  });
}

/// A tensor along whose `dim` there are as many elements as a space has, although nothing but the operation says so:
/// where the numbers differ, it would be an error in PyTorch too. The map that makes it one of that space has a target
/// for each element of the other; when a graph is prepared, its length is compared with the number of elements.
Tensor Recover::withAsMany(Tensor x, size_t dim, int space) {
  const Dim own = x.dims[dim];
  auto isPlain = [&](int id) { // of a size that is known when a graph is prepared
    const RecoveredSpace &each = program.spaces[size_t(id)];
    return each.extent < 0 && each.sides.empty() && each.choice < 0;
  };
  if (own.layout >= 0 || own.pairs >= 0 || !isPlain(own.id) || !isPlain(space))
    throw Refusal{"its operands have the sizes " + program.spaces[size_t(own.id)].key + " and " +
                  program.spaces[size_t(space)].key + ", of which nothing says that they are equal"};
  if (resides(x, own)) {
    const SymbolicExpr &size = program.spaces[size_t(own.id)].size;
    x.value =
        program.move(x.value, mapOf(call("arange", {constant(0), sizeIndex(size), constant(1)}, size), space, own.id));
  }
  x.dims[dim] = {Kind::Space, space, 0};
  return x;
}

/// The same for an operation that has a row for each number of a list.
Tensor Recover::withRowFor(Tensor rows, size_t dim, const Index &list) {
  if (dim >= rows.dims.size() || rows.dims[dim].kind != Kind::Space || list->length.getFactors().empty())
    return rows;
  int space = spaceOf(list->length);
  return rows.dims[dim].id == space ? rows : withAsMany(std::move(rows), dim, space);
}

/// Values that are repeated as often as rows of equal length are long, beside elements in such rows.
void Recover::repeatInRows(std::vector<Tensor> &all, size_t rank) {
  for (size_t back = 1; back <= rank; ++back)
    for (const Tensor &each : all)
      if (back <= each.dims.size())
        if (const Dim dim = each.dims[each.dims.size() - back]; isPadded(dim) && dim.isInRow)
          for (Tensor &other : all)
            if (back <= other.dims.size())
              if (Dim &own = other.dims[other.dims.size() - back];
                  own.kind == Kind::Space && own.layout < 0 && own.pairs < 0 && !resides(other, own) &&
                  program.spaces[size_t(own.id)].size == rowLayouts[size_t(dim.layout)].length)
                own = Dim();
}

std::vector<Dim> Recover::alignOpened(std::vector<Tensor> &all) {
  size_t rank = 0;
  for (const Tensor &each : all)
    rank = std::max(rank, each.dims.size());
  keepOneSpace(all, rank);
  repeatInRows(all, rank);
  std::vector<std::pair<size_t, Dim>> sides; // where pairs of elements meet, counted from the last
  pairSides(all, sides);
  std::vector<Dim> result(rank);
  // Spaces first: an axis of a fixed size may have to become one.
  for (size_t back = 1; back <= rank; ++back) {
    int space = -1;
    auto isSpace = [&](const Tensor &each, bool ofOne) {
      if (back > each.dims.size())
        return false;
      const Dim &dim = each.dims[each.dims.size() - back];
      return dim.kind == Kind::Space && (program.spaces[dim.id].extent == 1) == ofOne;
    };
    if (llvm::any_of(all, [&](const Tensor &each) { return isSpace(each, false); }))
      for (Tensor &each : all)
        if (isSpace(each, true))
          each = withoutRow(each, each.dims.size() - back);
    for (const Tensor &each : all)
      if (space < 0 && back <= each.dims.size() && each.dims[each.dims.size() - back].kind == Kind::Space)
        space = each.dims[each.dims.size() - back].id; // as torch takes the size of the first
    if (space < 0)
      continue;
    for (Tensor &each : all)
      if (back <= each.dims.size()) {
        size_t at = each.dims.size() - back;
        const Dim &dim = each.dims[at];
        if (dim.kind == Kind::Space && dim.id != space)
          each = withAsMany(std::move(each), at, space);
        if (dim.kind == Kind::Axis || dim.kind == Kind::Repeat)
          each = toSpace(each, at, space);
      }
    result[rank - back] = {Kind::Space, space, 0};
  }
  for (Tensor &each : all) {
    std::vector<std::pair<int, int>> pairs;
    size_t offset = rank - each.dims.size();
    auto isTaken = [&](int axis, size_t except) {
      for (size_t i = 0; i < rank; ++i)
        if (i != except && result[i].kind == Kind::Axis && program.axis(result[i].id) == program.axis(axis))
          return true;
      return false;
    };
    for (size_t i = 0; i < each.dims.size(); ++i) {
      const Dim &dim = each.dims[i];
      const Dim &wanted = result[offset + i];
      if (dim.kind == Kind::Axis && wanted.kind == Kind::Axis) {
        if (dim.size != wanted.size)
          throw Refusal{"axes of sizes " + std::to_string(dim.size) + " and " + std::to_string(wanted.size) +
                        " do not fit together"};
        if (isTaken(dim.id, offset + i) || !program.unify(wanted.id, dim.id))
          pairs.push_back({dim.id, wanted.id});
      } else if (dim.kind == Kind::Axis && isTaken(dim.id, offset + i)) {
        pairs.push_back({dim.id, program.newAxis(dim.size, program.hintOf(dim.id))});
      }
    }
    renameAxes(each, pairs);
    for (size_t i = 0; i < each.dims.size(); ++i) {
      const Dim &dim = each.dims[i];
      Dim &wanted = result[offset + i];
      if (wanted.kind == Kind::Unit || (wanted.kind == Kind::Repeat && dim.kind == Kind::Axis))
        wanted = dim;
    }
  }
  noteOuter(all, rank);
  for (const Tensor &each : all)
    for (size_t i = 0; i < each.dims.size(); ++i)
      if (each.dims[i].layout >= 0) {
        Dim &own = result[rank - each.dims.size() + i];
        if (own.layout >= 0 && (own.layout != each.dims[i].layout || own.isInRow != each.dims[i].isInRow))
          throw Refusal{"elements in rows of equal length meet those in rows of another batch"};
        own = each.dims[i];
      }
  for (auto &[back, side] : sides)
    result[rank - back] = side;
  return result;
}

Tensor Recover::unary(const std::string &function, Tensor x, double number) {
  int of = x.value;
  x.value = program.unary(function, of, number);
  noteMatrix(x.value, {of}, function == "-");
  return x;
}

Tensor Recover::binary(const std::string &function, Tensor a, Tensor b) {
  std::vector<Tensor> both = {a, b};
  std::vector<Dim> dims = align(both);
  auto isNumber = [&](size_t i, double number) {
    const Operation &operation = program.operations[both[i].value];
    // What rows have behind their elements may be another number.
    return operation.op == Op::Number && operation.number == number && !rowNumbers.count(both[i].value);
  };
  // What leaves the other operand as it is. The sum of 0 and -0 is 0; nothing else tells them apart here.
  if ((isNumber(1, 1) && (function == "*" || function == "/")) ||
      (isNumber(1, 0) && (function == "+" || function == "-")))
    return {dims, both[0].value};
  if ((isNumber(0, 1) && function == "*") || (isNumber(0, 0) && function == "+"))
    return {dims, both[1].value};
  std::optional<int> idiom;
  if (function == "/") {
    idiom = findMean(program, both[0].value, both[1].value);
    idiom = idiom ? idiom : findSoftmax(program, both[0].value, both[1].value);
  } else if (function == "-") {
    idiom = findVariance(program, both[0].value, both[1].value);
  }
  Tensor result{dims, idiom ? *idiom : program.binary(function, both[0].value, both[1].value)};
  bool isFirst = matrices.count(both[0].value), isSecond = matrices.count(both[1].value);
  bool isSum = (function == "+" || function == "-") && (isFirst || isNumber(0, 0)) && isSecond; // or of the opposite
  bool isScaled = (function == "*" && !(isFirst && isSecond)) || (function == "/" && isFirst && !isSecond);
  noteMatrix(result.value, {both[0].value, both[1].value}, isSum || isScaled);
  // Minus infinity stays so.
  for (size_t i : {0, 1})
    if (auto side = maskedScores.find(both[i].value);
        side != maskedScores.end() && (function == "+" || (function == "-" && i == 0)))
      maskedScores[result.value] = side->second;
  return result;
}

Tensor Recover::binary(const std::string &function, Tensor a, double b) { return binary(function, a, scalar(b)); }

Tensor Recover::where(Tensor condition, Tensor a, Tensor b) {
  std::vector<Tensor> all = {condition, a, b};
  std::vector<Dim> dims = align(all);
  Tensor result{dims, program.where(all[0].value, all[1].value, all[2].value)};
  noteMatrix(result.value, {all[0].value, all[1].value, all[2].value}, false);
  return result;
}

/// The square root of what is not negative, with gradient 0 where it is 0.
Tensor Recover::safeRoot(Tensor x) {
  Tensor isZero = binary("==", x, 0), safe = where(isZero, scalar(1), x);
  return where(isZero, scalar(0), unary("sqrt", safe));
}
