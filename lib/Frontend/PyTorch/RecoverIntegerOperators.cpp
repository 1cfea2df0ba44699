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

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexDim::Kind;

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
    add(&R::intUnary, {"neg", "logical_not", "bitwise_not", "abs", "sign", "square"});
    add(&R::intClamp, {"clamp", "clamp_min", "clamp_max"});
    add(&R::intWhere, {"where", "masked_fill"});
    add(&R::intSame, {"clone", "contiguous", "to", "_to_copy", "alias", "detach", "type_as", "lift_fresh_copy",
                      "lift_fresh", "long", "int", "bool", "positive"});
    add(&R::intFill,
        {"arange", "zeros", "ones", "full", "empty", "new_zeros", "new_ones", "new_full", "new_empty", "zeros_like",
         "ones_like", "full_like", "empty_like", "scalar_tensor", "zero", "fill", "empty_permuted", "empty_strided"});
    add(&R::intSelect, {"select", "unbind", "split", "split_with_sizes", "chunk"});
    add(&R::intView, {"view", "reshape", "squeeze", "unsqueeze", "flatten", "unflatten", "view_as", "reshape_as",
                      "_unsafe_view", "ravel"});
    add(&R::intExpand, {"expand", "expand_as"});
    add(&R::intTranspose, {"t", "transpose", "permute", "numpy_T"});
    add(&R::intRepeat, {"repeat", "tile"});
    add(&R::intCat, {"cat", "concat", "stack", "hstack", "vstack"});
    add(&R::intIndex, {"index", "index_select", "gather", "take", "masked_select"});
    add(&R::intNonzero, {"nonzero", "nonzero_numpy", "argwhere"});
    add(&R::intSlice, {"slice", "narrow"});
    add(&R::intFlip, {"flip"});
    add(&R::intRoll, {"roll"});
    add(&R::intCopy, {"copy"});
    add(&R::intReplacePart, {"select_scatter", "slice_scatter"});
    add(&R::intList, {"cumsum", "diff", "argsort", "sort", "_unique2", "unique_dim"});
    add(&R::intReduce, {"max", "min", "amax", "amin", "sum", "any", "all", "count_nonzero"});
    add(&R::intScatter, {"scatter_add", "index_add", "scatter_reduce", "bincount"});
    add(&R::intPut, {"index_put", "scatter", "index_copy", "index_fill"});
    add(&R::intInterleave, {"repeat_interleave"});
    add(&R::intOneHot, {"one_hot"});
    add(&R::intTriangle, {"tril", "triu"});
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

void Recover::intItem(const NormalNode &node) {
  const IndexTensor &x = index(node, "self");
  Index value = x.components.at(0);
  if (value->isList)
    throw Refusal{"item of a list"};
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
  std::optional<std::vector<int64_t>> known = constantsOf(b);
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
  IndexTensor powers = withoutCopies(b);
  for (size_t dim = 0; dim < powers.dims.size(); ++dim)
    if (powers.dims[dim].kind == IndexDim::Kind::Long)
      powers = unrolled(powers, dim);
  for (auto [power, number] : llvm::zip(powers.components, *known))
    power = constant(isMask ? number + 1 : int64_t(1) << number);
  define(node, elementwise(isMask ? "mod" : isRight ? "div" : "mul", {a, powers}, false, sizes(node)));
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
  IndexTensor a = indexArgument(node, "self"), b = indexArgument(node, "other");
  bool isTruth = givesTruth(node);
  if (!isTruth && bitsOf(node, a, b))
    return;
  bool bitwise = op.compare(0, 7, "bitwise") == 0 || op.compare(0, 2, "__") == 0;
  if (bitwise && !isTruth)
    throw Refusal{"bits of integers other than the lowest have no meaning in gnnc"};
  if ((op == "add" || op == "sub" || op == "rsub") && integer(node, "alpha", 1) != 1)
    throw Refusal{"argument 'alpha': expected 1"};
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
      if (!each->components.empty() && !each->components[0]->isTruth)
        *each = elementwise("ne", {*each, {{}, {constant(0)}}}, true, sizesOfIndex(*each));
  define(node, elementwise(function, {a, b}, isTruth, sizes(node)));
}

/// -1, 0 or 1.
IndexTensor Recover::signOf(const IndexTensor &x) {
  IndexTensor zero{{}, {constant(0)}};
  std::vector<SymbolicExpr> shape = sizesOfIndex(x);
  return elementwise("sub", {elementwise("gt", {x, zero}, false, shape), elementwise("lt", {x, zero}, false, shape)},
                     false, shape);
}

IndexTensor Recover::magnitudeOf(const IndexTensor &x) {
  std::vector<SymbolicExpr> shape = sizesOfIndex(x);
  return elementwise("maximum", {x, elementwise("neg", {x}, false, shape)}, false, shape);
}

/// The quotient, rounded towards 0: `div` rounds down.
IndexTensor Recover::towardsZero(const IndexTensor &a, const IndexTensor &b, const std::vector<SymbolicExpr> &shape) {
  IndexTensor quotient = elementwise("div", {magnitudeOf(a), magnitudeOf(b)}, false, shape);
  return elementwise("mul", {quotient, elementwise("mul", {signOf(a), signOf(b)}, false, shape)}, false, shape);
}

void Recover::intUnary(const NormalNode &node) {
  const IndexTensor &x = index(node, "self");
  std::vector<SymbolicExpr> shape = sizes(node);
  if (node.op == "bitwise_not" && !givesTruth(node))
    throw Refusal{"bits of integers have no meaning in gnnc"};
  if (node.op == "square")
    return define(node, elementwise("mul", {x, x}, false, shape));
  if (node.op == "abs")
    return define(node, magnitudeOf(x));
  if (node.op == "sign")
    return define(node, signOf(x));
  define(node, elementwise(node.op == "neg" ? "neg" : "not", {x}, node.op != "neg", shape));
}

void Recover::intClamp(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  if (has(node, "min"))
    x = elementwise("maximum", {x, indexArgument(node, "min")}, false, sizes(node));
  if (has(node, "max"))
    x = elementwise("minimum", {x, indexArgument(node, "max")}, false, sizes(node));
  define(node, x);
}

void Recover::intWhere(const NormalNode &node) {
  bool isFill = node.op == "masked_fill";
  if (!isFill && !has(node, "self"))
    return intNonzero(node);
  IndexTensor mask = index(node, isFill ? "mask" : "condition");
  IndexTensor then = indexArgument(node, isFill ? "value" : "self"),
              other = indexArgument(node, isFill ? "self" : "other");
  define(node, elementwise("where", {mask, then, other}, givesTruth(node), sizes(node)));
}

void Recover::intSame(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  if (givesTruth(node) && !x.components.empty() && !x.components[0]->isTruth)
    x = elementwise("ne", {x, {{}, {constant(0)}}}, true, sizes(node));
  else if (!givesTruth(node))
    for (Index &each : x.components)
      if (each->isTruth) {
        IndexExpr number = *each;
        number.isTruth = false;
        each = std::make_shared<IndexExpr>(number);
      }
  define(node, x);
}

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

void Recover::intFill(const NormalNode &node) {
  const std::string &op = node.op;
  if (op == "arange") {
    SymbolicExpr begin = has(node, "start") ? expression(*find(node, "start")) : SymbolicExpr(0);
    SymbolicExpr end = expression(*find(node, "end"));
    int64_t step = integer(node, "step", 1);
    SymbolicExpr length = sizes(node).at(0);
    return define(
        node, {{{Kind::Long, length}}, {call("arange", {sizeIndex(begin), sizeIndex(end), constant(step)}, length)}});
  }
  int64_t value = op.find("ones") != std::string::npos ? 1 : 0;
  const char *argument = op.find("full") != std::string::npos ? "fill_value"
                         : op == "scalar_tensor"              ? "s"
                         : op == "fill"                       ? "value"
                                                              : nullptr;
  if (argument && has(node, argument)) {
    IndexTensor given = indexArgument(node, argument);
    std::optional<int64_t> number = literalOf(given.components.at(0));
    if (!given.dims.empty() || (!number && sizes(node).size() != 1 && !sizes(node).empty()))
      throw Refusal{"it fills integers with a number that the graph gives"};
    if (!number && sizes(node).empty())
      return define(node, {{}, {given.components[0]}});
    if (!number) {
      SymbolicExpr length = sizes(node)[0];
      return define(node, {{{Kind::Long, length}},
                           {call("full", {sizeIndex(length), given.components[0]}, length, givesTruth(node))}});
    }
    value = *number;
  }
  define(node, filledIndex(value, sizes(node), givesTruth(node)));
}

/// 1 at the class of each element, 0 elsewhere.
void Recover::intOneHot(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  std::vector<SymbolicExpr> wanted = sizes(node);
  if (!wanted.back().getFactors().empty())
    throw Refusal{"one_hot of a number of classes that is not fixed; give num_classes"};
  IndexTensor classes{{{Kind::Small, wanted.back()}}, {}};
  if (wanted.back().getNumber() > 4096)
    throw Refusal{"one_hot of more than 4096 classes; use torch.nn.Embedding"};
  for (int64_t i = 0; i < wanted.back().getNumber(); ++i)
    classes.components.push_back(constant(i));
  if (classes.components.size() == 1)
    classes.dims[0].kind = Kind::Unit;
  x.dims.push_back({});
  define(node, elementwise("eq", {x, classes}, false, wanted));
}

/// What is on one side of a diagonal of a matrix of fixed size, and 0 on the other.
void Recover::intTriangle(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  int64_t diagonal = integer(node, "diagonal", 0);
  for (size_t dim = 0; dim < x.dims.size(); ++dim)
    x = x.dims[dim].kind == Kind::Long ? unrolled(x, dim) : withComponents(x, dim);
  if (x.dims.size() != 2)
    throw Refusal{"a triangle of integers that are not one matrix"};
  int64_t columns = x.dims[1].size.getNumber();
  for (size_t at = 0; at < x.components.size(); ++at) {
    int64_t offset = int64_t(at) % columns - int64_t(at) / columns;
    bool stays = node.op == "tril" ? offset <= diagonal : offset >= diagonal;
    if (!stays)
      x.components[at] = std::make_shared<IndexExpr>(IndexExpr{"0", false, 0, x.components[at]->isTruth, "", {}});
  }
  define(node, x);
}
