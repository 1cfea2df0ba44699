//===- RecoverRows.cpp - Elements in rows of equal length -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dense layers of PyTorch want the nodes of each graph in a row of a matrix [graphs, most, ...], filled up to equal
// length, with a mask of the places that are taken. The elements are put at places of a list of all rows, and a view
// makes rows of that:
//
//   places[i] = i - first[along[i]] + along[i] * length,    first = 0 and the sums of how many elements are in each row
//
// Such a tensor resides on the elements still: one dim is that of the rows, and one that of the elements in them. Folds
// of rows that see what is behind the elements are RecoverPadding.cpp's; what else would see it is refused.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

static bool isCall(const Index &index, const char *function, size_t arguments) {
  return index->function == function && index->arguments.size() == arguments;
}

static bool isFrontOf(const Index &index) {
  return isCall(index, "slice", 4) && literalOf(index->arguments[1]) == 0 && literalOf(index->arguments[3]) == 1;
}

bool gnnc::frontend::pytorch::isFromFirst(const Index &index) {
  if (isFrontOf(index))
    return isFromFirst(index->arguments[0]);
  return isCall(index, "arange", 3) && literalOf(index->arguments[0]) == 0 && literalOf(index->arguments[2]) == 1;
}

/// A list of zeros, in whatever way it is written.
static bool isZero(const Index &index) {
  if (isCall(index, "slice", 4))
    return isZero(index->arguments[0]);
  if (index->function == "cat")
    return llvm::all_of(index->arguments, isZero);
  return constantOf(index) == 0;
}

/// The layout that places are of, if they are such.
std::optional<int> Recover::layoutOf(const Index &given, const SymbolicExpr &rows, const SymbolicExpr &length) {
  Index places = given;
  // Where a row has room for all of its elements, as it turns out to have, none has a place of its own elsewhere.
  if (isCall(places, "where", 3) && isCall(places->arguments[0], "lt", 2) && isCall(places->arguments[1], "add", 2) &&
      places->arguments[0]->arguments[0]->text == places->arguments[1]->arguments[0]->text &&
      places->arguments[0]->arguments[1]->text == sizeIndex(length)->text)
    places = places->arguments[1];
  if (!isCall(places, "add", 2) || !isCall(places->arguments[0], "sub", 2) || !isCall(places->arguments[1], "mul", 2))
    return std::nullopt;
  const Index &number = places->arguments[0]->arguments[0], &begin = places->arguments[0]->arguments[1];
  const Index &along = places->arguments[1]->arguments[0], &times = places->arguments[1]->arguments[1];
  if (!isFromFirst(number) || !(number->length == along->length) || !isCall(begin, "take", 2) ||
      begin->arguments[1]->text != along->text || times->text != sizeIndex(length)->text)
    return std::nullopt;
  const Index &first = begin->arguments[0];
  if (!isCall(first, "cat", 2) || !isZero(first->arguments[0]) || !(first->arguments[0]->length == SymbolicExpr(1)) ||
      !isCall(first->arguments[1], "cumsum", 1))
    return std::nullopt;
  const Index &counts = first->arguments[1]->arguments[0];
  bool isCount = isCall(counts, "scatter_sum", 3) && counts->arguments[0]->text == along->text &&
                 constantOf(counts->arguments[1]) == 1;
  if (!isCount || times->text != "max(" + counts->text + ")") // A row has room for the most there are.
    return std::nullopt;
  for (auto [i, layout] : llvm::enumerate(rowLayouts))
    if (layout.places == places->text)
      return int(i);
  RowLayout layout;
  layout.elements = spaceOf(along->length);
  layout.rows = spaceOf(rows, "graph");
  layout.along = mapOf(along, layout.elements, layout.rows);
  layout.length = length;
  layout.places = places->text;
  layout.begin = begin->text;
  layout.first = first;
  layout.counts = counts;
  rowLayouts.push_back(layout);
  return int(rowLayouts.size()) - 1;
}

/// Whether a size is a multiple of how many places all rows have; the layout knows that number by it then.
bool Recover::countsAll(int layout, const SymbolicExpr &size) {
  RowLayout &rows = rowLayouts[size_t(layout)];
  if (rows.isWhole)
    return divideExactly(size, rows.all).has_value();
  if (size.getNumber() != 0 || size.getFactors().size() != 1)
    return false;
  SymbolicExpr all = SymbolicExpr::of(size.getFactors().begin()->first);
  std::string length = sizeIndex(rows.length)->text, count = sizeIndex(program.spaces[size_t(rows.rows)].size)->text;
  std::string text = sizeIndex(all)->text;
  if (text != "mul(" + length + ", " + count + ")" && text != "mul(" + count + ", " + length + ")")
    return false;
  rows.all = all;
  return true;
}

std::vector<Dim> Recover::dimsInRows(int layout) const {
  const RowLayout &rows = rowLayouts[size_t(layout)];
  Dim ofRows{Kind::Space, rows.rows, 0}, inRow{Kind::Space, rows.elements, 0};
  ofRows.layout = inRow.layout = layout;
  inRow.isInRow = true;
  return {ofRows, inRow};
}

/// A view of elements that were put at places, [rows * length, ...] as [rows, length, ...].
std::optional<Tensor> Recover::inRows(const Tensor &x, const std::vector<SymbolicExpr> &sizes) {
  Operation put = program.operations[size_t(x.value)];
  // A list may have had more room, for elements that are in no row.
  if (put.op == Op::Move && isFromFirst(program.maps[size_t(put.map)].index))
    put = program.operations[size_t(put.operands[0])];
  if (put.op != Op::Move || sizes.size() != x.dims.size() + 1 || x.dims.empty() || x.dims[0].kind != Kind::Space ||
      !resides(x, x.dims[0]) || sizes[0].getFactors().empty() || sizes[1].getFactors().empty())
    return std::nullopt;
  const Index inverse = program.maps[size_t(put.map)].index;
  if (!isCall(inverse, "put", 3))
    return std::nullopt;
  for (size_t i = 1; i < x.dims.size(); ++i)
    if (!(sizeOf(x.dims[i]) == sizes[i + 1]))
      return std::nullopt;
  std::optional<int> layout = layoutOf(inverse->arguments[1], sizes[0], sizes[1]);
  if (!layout)
    return std::nullopt;
  Tensor result = filledUp({dimsInRows(*layout), put.operands[0]}, *layout, put.number);
  result.dims.insert(result.dims.end(), x.dims.begin() + 1, x.dims.end());
  return result;
}

/// Two numbers, one for elements and one for what is behind them.
Tensor Recover::constantInRows(Tensor like, InRows numbers) {
  Operation number;
  number.op = Op::Number;
  number.text = "in rows " + exactly(numbers.present) + " " + exactly(numbers.absent);
  number.number = numbers.present;
  like.value = program.add(number);
  rowNumbers[like.value] = numbers;
  return like;
}

const InRows *Recover::numbersInRows(const Tensor &x) const {
  auto found = rowNumbers.find(x.value);
  return found == rowNumbers.end() ? nullptr : &found->second;
}

/// The mask of places that are taken, seen in rows.
bool Recover::maskInRows(const NormalNode &node) {
  if ((node.op != "view" && node.op != "reshape") || !onlyIntegers(node) || !has(node, "self"))
    return false;
  std::vector<SymbolicExpr> wanted = sizes(node);
  const IndexTensor places = indexFunction(node, "self");
  if (wanted.size() != 2 || wanted[0].getFactors().empty() || wanted[1].getFactors().empty() ||
      places.sizes.size() != 1)
    return false;
  IndexLists x = indexSources.lists(places);
  if (x.components.size() == 1 && isFrontOf(x.components[0]))
    x.components[0] = x.components[0]->arguments[0];
  if (x.components.size() != 1 || !isCall(x.components[0], "put", 3))
    return false;
  const Index &put = x.components[0];
  std::optional<int64_t> base = isZero(put->arguments[0]) ? 0 : constantOf(put->arguments[0]),
                         value = literalOf(put->arguments[2]);
  std::optional<int> layout = base && value ? layoutOf(put->arguments[1], wanted[0], wanted[1]) : std::optional<int>();
  if (!layout)
    return false;
  define(node, constantInRows({dimsInRows(*layout), -1}, {double(*value), double(*base)}));
  return true;
}

/// A value with a name of its own, so that only those that were masked are taken for such.
Tensor Recover::masked(Tensor x, int side) {
  Operation zero;
  zero.op = Op::Number;
  zero.text = "masked on side " + std::to_string(side);
  x.value = program.binary("+", x.value, program.add(zero));
  maskedScores[x.value] = side;
  return x;
}

bool Recover::isWhole(const NormalNode &node, const Tensor &x) const {
  std::vector<SymbolicExpr> wanted = sizes(node);
  return wanted.size() == x.dims.size() && llvm::all_of(llvm::zip(wanted, x.dims), [&](auto pair) {
           return std::get<0>(pair) == sizeOf(std::get<1>(pair));
         });
}

/// The layout that may have places behind its elements.
int Recover::layoutIn(const Tensor &x) const {
  for (const Dim &dim : opened(x.dims))
    if (isPadded(dim))
      return dim.layout;
  return -1;
}

/// Operators that work on each element of a row by itself, or leave dims as they are, and those that know of rows. Any
/// other could see what is behind the elements.
void Recover::checkRows(const NormalNode &node) {
  if (rowLayouts.empty())
    return;
  using R = Recover;
  static const std::vector<Handler> known = {
      &R::opUnary,     &R::opBinary,    &R::opPair,   &R::opClamp,  &R::opPow,      &R::opWhere,   &R::opMaskedFill,
      &R::opNot,       &R::opAddcmul,   &R::opAngle,  &R::opRare,   &R::opRarePair, &R::opPReLU,   &R::opNanToNum,
      &R::opIsSpecial, &R::opDropout,   &R::opDetach, &R::opSame,   &R::opFull,     &R::opReshape, &R::opTranspose,
      &R::opSqueeze,   &R::opUnsqueeze, &R::opExpand, &R::opLinear, &R::opMatmul,   &R::opEinsum,  &R::opVecdot,
      &R::opLayerNorm, &R::opRMSNorm,   &R::opNorm,   &R::opFold,   &R::opVariance, &R::opSoftmax, &R::opAttention,
      &R::opIndex,     &R::opBatchNorm, &R::opDrawn};
  // These too, but for the dims of rows.
  static const std::vector<Handler> others = {&R::opSelect, &R::opSplit, &R::opSlice, &R::opCat, &R::opGLU};
  auto handler = handlers().find(node.op);
  auto is = [&](const std::vector<Handler> &list) {
    return handler != handlers().end() && llvm::is_contained(list, handler->second);
  };
  std::vector<std::string> given;
  for (auto &[name, argument] : node.arguments)
    if (auto *value = std::get_if<ValueName>(&argument))
      given.push_back(value->name);
    else if (auto *list = std::get_if<ValueNames>(&argument))
      llvm::append_range(given, list->names);
  for (const std::string &name : given) {
    auto found = tensors.find(name);
    if (found == tensors.end() || layoutIn(found->second) < 0)
      continue;
    static const std::vector<Handler> linear = {&R::opUnary,  &R::opBinary,    &R::opMatmul, &R::opEinsum,
                                                &R::opFold,   &R::opTranspose, &R::opSame,   &R::opSqueeze,
                                                &R::opDetach, &R::opUnsqueeze};
    // What meets numbers of all pairs of a row, or is no longer 0 where there is no edge, has a number for each of
    // them.
    if (matrices.count(found->second.value)) {
      bool meetsPairs = llvm::any_of(given, [&](const std::string &other) {
        auto own = tensors.find(other);
        return own != tensors.end() && !matrices.count(own->second.value) &&
               llvm::any_of(own->second.dims, [](const Dim &dim) { return dim.pairs >= 0; });
      });
      static const std::vector<Handler> choices = {&R::opWhere, &R::opMaskedFill, &R::opAttention,
                                                   &R::opNot,   &R::opReshape,    &R::opExpand};
      bool isComparison = is({&R::opBinary}) && node.op != "add" && node.op != "sub" && node.op != "mul" &&
                          node.op != "div" && node.op != "rsub";
      bool isLinear = is(linear) && !isComparison && (node.op == "neg" || !is({&R::opUnary}));
      if (is(choices) || isComparison || (meetsPairs && is({&R::opBinary})))
        found->second = onAllPairs(found->second);
      else if (!(node.op == "slice" && isWhole(node, found->second)))
        noteMatrix(-1, {found->second.value}, isLinear);
    }
    const Tensor &x = found->second;
    bool isWell = is(known);
    if (is(others))
      isWell =
          node.op == "stack" || x.dims.at(axisNumber(node, "dim", node.op == "glu" ? -1 : 0, x.dims.size())).layout < 0;
    if (node.op == "slice" && isWhole(node, x))
      isWell = true;
    if (node.op == "max" || node.op == "min")
      isWell = node.outputs.size() < 2 || node.outputs[1].empty() || !isUsed(node.outputs[1]);
    if (node.op == "index_put") // one value wherever a mask is true
      isWell = llvm::all_of(names(node, "indices"),
                            [&](const std::string &at) { return tensors.count(at) && typeOf(at) == ScalarType::Bool; });
    if (!isWell)
      throw Refusal{
          "'" + node.op +
          "' of rows of equal length, such as to_dense_batch makes, could see what is behind their elements; gnnc "
          "follows operators on single elements, sums, means and extrema along rows, attention with a mask, and the "
          "way back by the mask"};
  }
}

/// What is made of the mask: its opposite, and a number in its place.
bool Recover::fillInRows(const NormalNode &node) {
  if (rowLayouts.empty())
    return false;
  if ((node.op == "bitwise_not" || node.op == "logical_not") && tensors.count(nameOf(node, "self"))) {
    Tensor mask = tensor(node, "self");
    const InRows *numbers = numbersInRows(mask);
    if (!numbers)
      return false;
    define(node, constantInRows(mask, {double(numbers->present == 0), double(numbers->absent == 0)}));
    return true;
  }
  if (node.op == "slice" && tensors.count(nameOf(node, "self")) && layoutIn(tensor(node, "self")) >= 0 &&
      isWhole(node, tensor(node, "self"))) {
    define(node, tensor(node, "self"));
    return true;
  }
  if (node.op != "masked_fill" || !tensors.count(nameOf(node, "mask")))
    return false;
  Tensor mask = tensor(node, "mask"), x = tensor(node, "self");
  const Operation &old = program.operations[size_t(x.value)];
  std::optional<double> value = number(node, "value");
  const InRows *numbers = numbersInRows(mask);
  // Scores of elements, or of pairs of which one side is behind the elements, before a softmax.
  size_t rank = x.dims.size();
  if (numbers && numbers->present == 0 && numbers->absent != 0 && value == -std::numeric_limits<double>::infinity())
    for (size_t i = 0; i < mask.dims.size() && mask.dims.size() <= rank; ++i)
      if (const Dim &own = mask.dims[i], &dim = x.dims[rank - mask.dims.size() + i];
          own.isInRow && dim.isInRow && own.layout == dim.layout && resides(x, dim) &&
          llvm::count_if(mask.dims, [](const Dim &each) { return each.isInRow; }) == 1) {
        define(node, masked(x, sideIn(dim)));
        return true;
      }
  if (!numbers || !value || old.op != Op::Number || mask.dims.size() != x.dims.size())
    return false; // `where`, as for other masks
  const InRows *known = numbersInRows(x);
  InRows before = known ? *known : InRows{old.number, old.number};
  define(node, constantInRows(mask, {numbers->present != 0 ? *value : before.present,
                                     numbers->absent != 0 ? *value : before.absent}));
  return true;
}

/// The elements themselves, where the mask says that they are.
bool Recover::takeFromRows(const NormalNode &node) {
  if (rowLayouts.empty() || node.op != "index" || !tensors.count(nameOf(node, "self")))
    return false;
  std::vector<std::string> places = names(node, "indices");
  Tensor x = tensor(node, "self");
  if (layoutIn(x) < 0)
    return false;
  bool isByMask = places.size() == 1 && tensors.count(places[0]);
  Tensor mask = isByMask ? tensorOf(places[0]) : Tensor();
  const InRows *numbers = isByMask ? numbersInRows(mask) : nullptr;
  auto isOfRows = [&](const Tensor &each) {
    return each.dims.size() >= 2 && each.dims[0].layout == layoutIn(x) && !each.dims[0].isInRow &&
           each.dims[1].layout == layoutIn(x) && each.dims[1].isInRow && each.dims[1].pairs < 0;
  };
  if (!numbers || numbers->present == 0 || numbers->absent != 0 || mask.dims.size() != 2 || !isOfRows(mask) ||
      !isOfRows(x))
    throw Refusal{"rows of equal length are indexed otherwise than by the mask of their own elements"};
  const RowLayout &layout = rowLayouts[size_t(x.dims[0].layout)];
  knowSize(sizes(node).at(0), program.spaces[size_t(layout.elements)].size);
  x.dims.erase(x.dims.begin());
  x.dims[0] = {Kind::Space, layout.elements, 0};
  define(node, x);
  return true;
}
