//===- RecoverIntegerOperators.cpp - Operators on integers alone ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each gives a tensor of expressions, which are evaluated when a graph is prepared; see RecoverIntegers.cpp.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Views.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

bool Recover::givesTruth(const NormalNode &node) const {
  auto meta = normal.tensors.find(node.outputs.at(0));
  return meta != normal.tensors.end() && meta->second.type == ScalarType::Bool;
}

const std::map<std::string, Recover::Handler> &Recover::integerHandlers() {
  using R = Recover;
  static const std::map<std::string, Handler> table = [] {
    std::map<std::string, Handler> all;
    auto add = [&](Handler handler, std::initializer_list<const char *> names) {
      for (const char *name : names)
        all[name] = handler;
    };
    add(&R::intItem, {"item", "_local_scalar_dense"});
    add(&R::intBinary, {"add",
                        "sub",
                        "rsub",
                        "mul",
                        "eq",
                        "ne",
                        "lt",
                        "le",
                        "gt",
                        "ge",
                        "logical_and",
                        "bitwise_and",
                        "__and__",
                        "logical_or",
                        "bitwise_or",
                        "__or__",
                        "logical_xor",
                        "bitwise_xor",
                        "__xor__",
                        "remainder",
                        "floor_divide",
                        "div",
                        "minimum",
                        "maximum",
                        "fmod",
                        "__rshift__",
                        "__lshift__",
                        "bitwise_right_shift",
                        "bitwise_left_shift"});
    add(&R::intUnary, {"neg", "logical_not", "bitwise_not", "abs", "sign", "sgn", "square", "relu"});
    add(&R::intClamp, {"clamp", "clamp_min", "clamp_max"});
    add(&R::intWhere, {"where", "masked_fill"});
    add(&R::intSame, {"clone", "contiguous", "to", "_to_copy", "alias", "detach", "type_as", "lift_fresh_copy",
                      "lift_fresh", "long", "int", "bool", "positive", "floor", "ceil", "round", "trunc", "fix"});
    add(&R::intFill, {"eye", "arange", "zeros", "ones", "full", "empty", "new_zeros", "new_ones", "new_full",
                      "new_empty", "zeros_like", "ones_like", "full_like", "empty_like", "scalar_tensor", "zero",
                      "fill", "empty_permuted", "empty_strided"});
    add(&R::intSelect,
        {"select", "unbind", "split", "split_with_sizes", "chunk", "tensor_split", "hsplit", "vsplit", "dsplit"});
    add(&R::intView, {"view", "reshape", "squeeze", "unsqueeze", "flatten", "unflatten", "view_as", "reshape_as",
                      "_unsafe_view", "ravel", "atleast_1d", "atleast_2d", "atleast_3d"});
    add(&R::intExpand, {"expand", "expand_as"});
    add(&R::intTranspose,
        {"t", "transpose", "permute", "numpy_T", "mT", "mH", "adjoint", "swapaxes", "swapdims", "movedim", "moveaxis"});
    add(&R::intRepeat, {"repeat", "tile"});
    add(&R::intCat, {"cat", "concat", "stack", "hstack", "vstack", "dstack", "column_stack"});
    add(&R::intIndex, {"index", "index_select", "gather", "take", "masked_select"});
    add(&R::intNonzero, {"nonzero", "nonzero_numpy", "argwhere"});
    add(&R::intSlice, {"slice", "narrow"});
    add(&R::intFlip, {"flip", "fliplr", "flipud"});
    add(&R::intUnfold, {"unfold"});
    add(&R::intPad, {"pad", "constant_pad_nd"});
    add(&R::intDiagonal, {"diagonal"});
    add(&R::intMeshgrid, {"meshgrid"});
    add(&R::intOuter, {"outer", "ger"});
    add(&R::intPower, {"pow"});
    add(&R::intRoll, {"roll"});
    add(&R::intCopy, {"copy"});
    add(&R::intReplacePart, {"select_scatter", "slice_scatter"});
    add(&R::intList, {"cumsum", "diff", "argsort", "sort", "_unique2", "unique_dim"});
    add(&R::intReduce,
        {"max", "min", "amax", "amin", "sum", "prod", "any", "all", "count_nonzero", "argmax", "argmin"});
    add(&R::intScatter, {"scatter_add", "index_add", "scatter_reduce", "bincount"});
    add(&R::intPut, {"index_put", "scatter", "index_copy", "index_fill"});
    add(&R::intInterleave, {"repeat_interleave"});
    add(&R::intOneHot, {"one_hot"});
    add(&R::intTriangle, {"tril", "triu"});
    add(&R::intTrianglePlaces, {"tril_indices", "triu_indices"});
    return all;
  }();
  return table;
}

void Recover::runIntegers(const NormalNode &node) {
  auto handler = integerHandlers().find(node.op);
  static const std::set<std::string> random = {"randperm", "randint", "randint_like"};
  if (random.count(node.op))
    throw Refusal{"'" + node.op + "' draws random integers; give them to the model as an input"};
  if (handler == integerHandlers().end())
    throw Refusal{"operator '" + node.origin->target + "' on integers has no meaning in gnnc"};
  (this->*handler->second)(node);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// A number of the graph that Python asks for.
void Recover::intItem(const NormalNode &node) {
  const IndexTensor x = indexFunction(node, "self");
  if (!x.sizes.empty() && !llvm::all_of(x.sizes, [](const SymbolicExpr &size) { return size == SymbolicExpr(1); }))
    throw Refusal{"item of a list"};
  Index value = indexSources.number(x.value);
  auto size = normal.integers.find(node.outputs.at(0));
  if (size == normal.integers.end())
    return;
  SymbolicExpr symbol = expression(size->second);
  // There are as many bins as the largest number says, and one more.
  if (value->function == "max" && value->arguments.size() == 1)
    if (auto bins = nonzeroLengths.find("bins " + value->arguments[0]->text); bins != nonzeroLengths.end())
      return knowSize(symbol, bins->second + SymbolicExpr(-1));
  auto [known, isNew] = nonzeroLengths.try_emplace("item " + value->text, symbol);
  if (!isNew && !(known->second == symbol))
    equalSizes.unite(symbol, known->second);
  else
    learnSymbol(symbol, value->text);
}

/// The lowest bits of integers, and shifts by written amounts, are remainders and quotients by powers of two.
bool Recover::bitsOf(const NormalNode &node, const IndexTensor &a, const IndexTensor &b) {
  const std::string &op = node.op;
  bool isMask = op == "bitwise_and" || op == "__and__", isRight = op == "bitwise_right_shift" || op == "__rshift__";
  if (!isMask && !isRight && op != "bitwise_left_shift" && op != "__lshift__")
    return false;
  IndexLists amounts = withoutCopies(indexSources.lists(b));
  std::optional<std::vector<int64_t>> known = constantsOf(amounts);
  constexpr int64_t kLargest = int64_t(1) << 61;
  auto fits = [&](int64_t number) {
    return number >= 0 && (isMask ? number < kLargest && (number & (number + 1)) == 0 : number <= 61);
  };
  if (!known || !llvm::all_of(*known, fits))
    throw Refusal{
        "bits of integers have a meaning in gnnc where they are the lowest, such as & 7, or shifted by written "
        "numbers from 0 to 61"};
  bool isLeft = !isMask && !isRight;
  if (isLeft && typeOf(nameOf(node, "self")) != ScalarType::Int64)
    throw Refusal{"integers of less than 64 bits that are shifted to the left"};
  for (size_t dim = 0; dim < amounts.dims.size(); ++dim)
    if (amounts.dims[dim].kind == IndexDim::Kind::Long)
      amounts = unrolled(amounts, dim);
  for (auto [power, number] : llvm::zip(amounts.components, *known))
    power = constant(isMask ? number + 1 : int64_t(1) << number);
  define(node, elementwise(isMask    ? "mod"
                           : isRight ? "div"
                                     : "mul",
                           {a, indexSources.function(amounts)}, false, sizes(node)));
  return true;
}

void Recover::intBinary(const NormalNode &node) {
  static const std::map<std::string, std::string> functions = {{"add", "add"},
                                                               {"sub", "sub"},
                                                               {"rsub", "sub"},
                                                               {"mul", "mul"},
                                                               {"eq", "eq"},
                                                               {"ne", "ne"},
                                                               {"lt", "lt"},
                                                               {"le", "le"},
                                                               {"gt", "gt"},
                                                               {"ge", "ge"},
                                                               {"remainder", "mod"},
                                                               {"floor_divide", "div"},
                                                               {"div", "div"},
                                                               {"minimum", "minimum"},
                                                               {"maximum", "maximum"},
                                                               {"logical_and", "both"},
                                                               {"bitwise_and", "both"},
                                                               {"__and__", "both"},
                                                               {"logical_or", "either"},
                                                               {"bitwise_or", "either"},
                                                               {"__or__", "either"},
                                                               {"logical_xor", "ne"},
                                                               {"bitwise_xor", "ne"},
                                                               {"__xor__", "ne"}};
  const std::string &op = node.op;
  IndexTensor a = indexFunctionArgument(node, "self"), b = indexFunctionArgument(node, "other");
  bool isTruth = givesTruth(node);
  if (!isTruth && bitsOf(node, a, b))
    return;
  bool bitwise = op.compare(0, 7, "bitwise") == 0 || op.compare(0, 2, "__") == 0;
  if (bitwise && !isTruth)
    throw Refusal{"bits of integers other than the lowest have no meaning in gnnc"};
  if ((op == "add" || op == "sub" || op == "rsub") && integer(node, "alpha", 1) != 1) {
    IndexTensor &scaled = op == "rsub" ? a : b;
    scaled = elementwise("mul", {scaled, numberTensor(integer(node, "alpha", 1))}, false, scaled.sizes);
  }
  if (op == "fmod" || (op == "div" && string(node, "rounding_mode", "") == "trunc")) {
    std::vector<SymbolicExpr> shape = sizes(node);
    IndexTensor quotient = towardsZero(a, b, shape);
    if (op == "div")
      return define(node, quotient);
    return define(node, elementwise("sub", {a, elementwise("mul", {quotient, b}, false, shape)}, false, shape));
  }
  // Of truth values a sum is whether one is true, a product whether both are.
  std::string function = functions.at(op);
  if (isTruth && op == "add")
    function = "either";
  if (op == "rsub")
    std::swap(a, b);
  if (op == "logical_xor") // of integers whether exactly one is not 0
    for (IndexTensor *each : {&a, &b})
      if (!each->isTruth)
        *each = elementwise("ne", {*each, numberTensor(0)}, true, each->sizes);
  IndexTensor result = elementwise(function, {a, b}, isTruth, sizes(node));
  define(node, isTruth ? result : wrapped(node, function, {a, b}, result));
}

/// Integers of 32 bits wrap, which hashes rely on. Sums of a list and a size, and multiples of places, do not get
/// there.
IndexTensor Recover::wrapped(const NormalNode &node, const std::string &function,
                             const std::vector<IndexTensor> &operands, const IndexTensor &result) {
  constexpr int64_t kHalf = int64_t(1) << 31, kLarge = int64_t(1) << 16;
  bool isSum = function == "add" || function == "sub";
  if ((!isSum && function != "mul") || typeOf(node.outputs.at(0)) != ScalarType::Int32)
    return result;
  bool isAnyGiven = false, areAllGiven = true, isAnyLarge = false;
  for (const IndexTensor &operand : operands) {
    isAnyGiven |= !operand.value->isKnown;
    areAllGiven &= !operand.value->isKnown;
    std::optional<int64_t> literal = IndexAlgebra::literalOf(operand.value);
    isAnyLarge |= literal && (*literal >= kLarge || *literal <= -kLarge);
  }
  if (!isAnyLarge && !(isSum ? areAllGiven : isAnyGiven))
    return result;
  IndexTensor half = numberTensor(kHalf), whole = numberTensor(2 * kHalf);
  IndexTensor shifted = elementwise("add", {result, half}, false, result.sizes);
  return elementwise("sub", {elementwise("mod", {shifted, whole}, false, result.sizes), half}, false, result.sizes);
}

/// -1, 0 or 1.
IndexTensor Recover::signOf(const IndexTensor &x) {
  IndexTensor zero = numberTensor(0);
  return elementwise("sub",
                     {elementwise("gt", {x, zero}, false, x.sizes), elementwise("lt", {x, zero}, false, x.sizes)},
                     false, x.sizes);
}

IndexTensor Recover::magnitudeOf(const IndexTensor &x) {
  return elementwise("maximum", {x, elementwise("neg", {x}, false, x.sizes)}, false, x.sizes);
}

/// The quotient, rounded towards 0: `div` rounds down.
IndexTensor Recover::towardsZero(const IndexTensor &a, const IndexTensor &b, const std::vector<SymbolicExpr> &shape) {
  IndexTensor quotient = elementwise("div", {magnitudeOf(a), magnitudeOf(b)}, false, shape);
  return elementwise("mul", {quotient, elementwise("mul", {signOf(a), signOf(b)}, false, shape)}, false, shape);
}

void Recover::intUnary(const NormalNode &node) {
  const IndexTensor x = indexFunction(node, "self");
  std::vector<SymbolicExpr> shape = sizes(node);
  if (node.op == "bitwise_not" && !givesTruth(node))
    throw Refusal{"bits of integers have no meaning in gnnc"};
  if (node.op == "square")
    return define(node, wrapped(node, "mul", {x, x}, elementwise("mul", {x, x}, false, shape)));
  if (node.op == "abs")
    return define(node, magnitudeOf(x));
  if (node.op == "sign" || node.op == "sgn")
    return define(node, signOf(x));
  if (node.op == "relu")
    return define(node, elementwise("maximum", {x, numberTensor(0)}, false, shape));
  define(node, elementwise(node.op == "neg" ? "neg" : "not", {x}, node.op != "neg", shape));
}

/// A power by a written number, as products.
void Recover::intPower(const NormalNode &node) {
  const IndexTensor x = indexFunction(node, "self");
  int64_t exponent = integer(node, "exponent", 0);
  if (exponent < 0 || exponent > 64)
    throw Refusal{"a power of integers: expected an exponent from 0 to 64, found " + std::to_string(exponent)};
  IndexTensor result = views::expand(algebra, numberTensor(1), sizes(node));
  for (int64_t i = 0; i < exponent; ++i)
    result = wrapped(node, "mul", {result, x}, elementwise("mul", {result, x}, false, sizes(node)));
  define(node, result);
}

void Recover::intClamp(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  if (has(node, "min"))
    x = elementwise("maximum", {x, indexFunctionArgument(node, "min")}, false, sizes(node));
  if (has(node, "max"))
    x = elementwise("minimum", {x, indexFunctionArgument(node, "max")}, false, sizes(node));
  define(node, x);
}

void Recover::intWhere(const NormalNode &node) {
  bool isFill = node.op == "masked_fill";
  if (!isFill && !has(node, "self"))
    return intNonzero(node);
  IndexTensor mask = indexFunction(node, isFill ? "mask" : "condition");
  IndexTensor then = indexFunctionArgument(node, isFill ? "value" : "self"),
              other = indexFunctionArgument(node, isFill ? "self" : "other");
  define(node, elementwise("where", {mask, then, other}, givesTruth(node), sizes(node)));
}

void Recover::intSame(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  if (givesTruth(node) && !x.isTruth)
    x = elementwise("ne", {x, numberTensor(0)}, true, sizes(node));
  x.isTruth = givesTruth(node);
  define(node, x);
}

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

void Recover::intFill(const NormalNode &node) {
  const std::string &op = node.op;
  if (op == "arange") {
    SymbolicExpr begin = has(node, "start") ? expression(*find(node, "start")) : SymbolicExpr(0);
    SymbolicExpr end = expression(*find(node, "end")), length = sizes(node).at(0);
    int64_t step = integer(node, "step", 1);
    if (!isKnown(length)) // how many steps there are follows from the range itself
      return define(node, IndexLists{{{IndexDim::Kind::Long, length}},
                                     {call("arange", {sizeIndex(begin), sizeIndex(end), constant(step)}, length)}});
    IndexTerm place = algebra.times(algebra.coordinate(0, length), step);
    return define(node, IndexTensor{{length}, algebra.add(algebra.number(begin), place)});
  }
  if (op == "eye")
    return define(node, identityMatrix(sizes(node), givesTruth(node)));
  IndexTensor value = numberTensor(op.find("ones") != std::string::npos ? 1 : 0);
  const char *argument = op.find("full") != std::string::npos ? "fill_value"
                         : op == "scalar_tensor"              ? "s"
                         : op == "fill"                       ? "value"
                                                              : nullptr;
  if (argument && has(node, argument))
    value = indexFunctionArgument(node, argument);
  value.isTruth = givesTruth(node);
  define(node, views::expand(algebra, value, sizes(node)));
}

/// 1 at the class of each element, 0 elsewhere.
void Recover::intOneHot(const NormalNode &node) {
  IndexTensor x = indexFunction(node, "self");
  std::vector<SymbolicExpr> wanted = sizes(node);
  if (!wanted.back().getFactors().empty())
    throw Refusal{"one_hot of a number of classes that is not fixed; give num_classes"};
  if (wanted.back().getNumber() > 4096)
    throw Refusal{"one_hot of more than 4096 classes; use torch.nn.Embedding"};
  size_t last = x.sizes.size();
  IndexTensor classes{wanted, algebra.coordinate(last, wanted.back())};
  define(node, elementwise("eq", {views::unsqueeze(algebra, x, last), classes}, false, wanted));
}
