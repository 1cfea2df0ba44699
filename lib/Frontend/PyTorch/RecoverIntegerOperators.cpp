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

static bool isWholeEnd(const Argument &end) {
  auto *literal = std::get_if<int64_t>(&end);
  return literal && *literal == INT64_MAX;
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
    add(&R::intBinary, {"add",     "sub",        "rsub",         "mul",    "eq",          "ne",
                        "lt",      "le",         "gt",           "ge",     "logical_and", "bitwise_and",
                        "__and__", "logical_or", "bitwise_or",   "__or__", "logical_xor", "bitwise_xor",
                        "__xor__", "remainder",  "floor_divide", "div",    "minimum",     "maximum"});
    add(&R::intUnary, {"neg", "logical_not", "bitwise_not", "abs", "sign", "square"});
    add(&R::intClamp, {"clamp", "clamp_min", "clamp_max"});
    add(&R::intWhere, {"where", "masked_fill"});
    add(&R::intSame, {"clone", "contiguous", "to", "_to_copy", "alias", "detach", "type_as", "lift_fresh_copy",
                      "lift_fresh", "long", "int", "bool", "positive"});
    add(&R::intFill, {"arange", "zeros", "ones", "full", "empty", "new_zeros", "new_ones", "new_full", "new_empty",
                      "zeros_like", "ones_like", "full_like", "empty_like", "scalar_tensor", "zero", "fill"});
    add(&R::intSelect, {"select", "unbind", "split", "split_with_sizes", "chunk"});
    add(&R::intView, {"view", "reshape", "squeeze", "unsqueeze", "flatten", "unflatten", "view_as", "reshape_as",
                      "_unsafe_view", "ravel"});
    add(&R::intExpand, {"expand", "expand_as"});
    add(&R::intTranspose, {"t", "transpose", "permute", "numpy_T"});
    add(&R::intRepeat, {"repeat"});
    add(&R::intCat, {"cat", "concat", "stack", "hstack", "vstack"});
    add(&R::intIndex, {"index", "index_select", "gather", "take", "masked_select"});
    add(&R::intNonzero, {"nonzero", "argwhere"});
    add(&R::intSlice, {"slice", "narrow"});
    add(&R::intFlip, {"flip", "roll"});
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
  auto [known, isNew] = nonzeroLengths.try_emplace("item " + value->text, symbol);
  if (!isNew && symbol.getFactors().size() == 1 && !(known->second == symbol))
    sameSymbols.emplace(symbol.getFactors().begin()->first, known->second.getFactors().begin()->first);
  else
    learnSymbol(symbol, value->text);
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
  bool bitwise = op.compare(0, 7, "bitwise") == 0 || op.compare(0, 2, "__") == 0;
  if (bitwise && !isTruth)
    throw Refusal{"bits of integers have no meaning in gnnc"};
  if ((op == "add" || op == "sub" || op == "rsub") && integer(node, "alpha", 1) != 1)
    throw Refusal{"argument 'alpha': expected 1"};
  if (op == "div" && string(node, "rounding_mode", "") != "floor")
    throw Refusal{"a division of integers that rounds towards 0; use rounding_mode='floor'"};
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

void Recover::intUnary(const NormalNode &node) {
  const IndexTensor &x = index(node, "self");
  std::vector<SymbolicExpr> shape = sizes(node);
  IndexTensor zero{{}, {constant(0)}};
  if (node.op == "bitwise_not" && !givesTruth(node))
    throw Refusal{"bits of integers have no meaning in gnnc"};
  if (node.op == "square")
    return define(node, elementwise("mul", {x, x}, false, shape));
  if (node.op == "abs")
    return define(node, elementwise("maximum", {x, elementwise("neg", {x}, false, shape)}, false, shape));
  if (node.op == "sign")
    return define(node,
                  elementwise("sub",
                              {elementwise("gt", {x, zero}, false, shape), elementwise("lt", {x, zero}, false, shape)},
                              false, shape));
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

//===----------------------------------------------------------------------===//
// Views and parts
//===----------------------------------------------------------------------===//

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

void Recover::intExpand(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  std::vector<SymbolicExpr> wanted = sizes(node);
  while (x.dims.size() < wanted.size())
    x.dims.insert(x.dims.begin(), IndexDim());
  for (size_t i = 0; i < wanted.size(); ++i)
    if (x.dims[i].kind == Kind::Unit && !(wanted[i] == SymbolicExpr(1)))
      x.dims[i] = {Kind::Repeat, wanted[i]};
  define(node, x);
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
  const Argument *repeats = find(node, "repeats");
  auto *list = repeats ? std::get_if<Integers>(repeats) : nullptr;
  std::vector<SymbolicExpr> wanted = sizes(node);
  if (!list)
    throw Refusal{"argument 'repeats': expected integers"};
  while (x.dims.size() < wanted.size())
    x.dims.insert(x.dims.begin(), IndexDim());
  for (size_t i = 0; i < wanted.size(); ++i) {
    auto *times = std::get_if<int64_t>(&list->numbers.at(i));
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
  size_t dim = axisNumber(node, "dim", 0, wanted.size());
  if (op == "stack")
    for (IndexTensor &part : parts)
      part.dims.insert(part.dims.begin() + ptrdiff_t(dim), IndexDim());
  IndexTensor result;
  auto asList = [&](IndexTensor &part) { // repetitions and single numbers as lists
    IndexDim &own = part.dims.at(dim);
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
      asList(part);
    result.dims = parts[0].dims;
    result.dims[dim] = {Kind::Long, wanted[dim]};
    for (size_t i = 0; i < parts[0].components.size(); ++i) {
      std::vector<Index> pieces;
      for (IndexTensor &part : parts)
        pieces.push_back(part.components.at(i));
      result.components.push_back(pieces.size() == 1 ? pieces[0]
                                                     : call("cat", pieces, wanted[dim], pieces[0]->isTruth));
    }
    return define(node, result);
  }
  // Where one part has components, or a list, all have.
  for (IndexTensor &part : parts) {
    part = withComponents(part, dim);
    for (size_t i = 0; i < part.dims.size(); ++i)
      for (const IndexTensor &other : parts)
        if (i != dim && part.dims[i].kind == Kind::Repeat && other.dims[i].kind == Kind::Small)
          part = withComponents(part, i);
  }
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
  return define(node, result);
}

void Recover::intSlice(const NormalNode &node) {
  IndexTensor x = index(node, "self");
  size_t dim = axisNumber(node, "dim", 0, x.dims.size());
  std::vector<SymbolicExpr> wanted = sizes(node);
  int64_t step = integer(node, "step", 1);
  if (x.dims[dim].kind == Kind::Long) {
    SymbolicExpr begin = has(node, "start") ? expression(*find(node, "start")) : SymbolicExpr(0);
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

void Recover::intFlip(const NormalNode &node) {
  if (node.op == "roll")
    throw Refusal{"operator '" + node.origin->target + "' on integers has no meaning in gnnc"};
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
    at = indexOf(places.at(dim));
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
  const IndexTensor &x = index(node, node.op == "where" ? "condition" : "self");
  if (x.dims.size() != 1 || x.dims[0].kind != Kind::Long)
    throw Refusal{"nonzero of a tensor with several axes"};
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
  define(node, {{base.dims}, {call("put", {base.components[0], list, value}, length, isTruth)}});
}

//===----------------------------------------------------------------------===//
// Lists as a whole
//===----------------------------------------------------------------------===//

void Recover::intList(const NormalNode &node) {
  const std::string &op = node.op;
  const IndexTensor x = index(node, "self");
  Refusal none{"'" + op + "' of integers with these arguments has no meaning in gnnc"};
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
    if (flag(node, "return_counts", false) || !flag(node, "sorted", true))
      throw none;
    Index unique = call("unique", {list}, length);
    learnSymbol(length, "length(" + unique->text + ")");
    define(node, IndexTensor{{{Kind::Long, length}}, {unique}}, 0);
    if (node.outputs.size() > 1 && !node.outputs[1].empty() && sizes(node, 1).size() == 1)
      define(node, IndexTensor{x.dims, {call("inverse", {list}, list->length)}}, 1);
    return;
  }
  if (op == "cumsum")
    return define(node, {{{Kind::Long, length}}, {call("cumsum", {list}, length)}});
  // Equal elements keep their order, which PyTorch promises only where it is asked to.
  bool isStable = flag(node, "stable", false);
  if (flag(node, "descending", false))
    throw none;
  Index order = call("argsort", {list}, list->length);
  if (op == "argsort")
    return define(node, {{{Kind::Long, length}}, {order}});
  if (!isStable && node.outputs.size() > 1 && !node.outputs[1].empty() && node.overload != "stable")
    throw Refusal{"the order of equal elements is not defined; sort with stable=True"};
  define(node, IndexTensor{{{Kind::Long, length}}, {call("take", {list, order}, list->length)}}, 0);
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
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
  if (x.components.empty() || (has(node, "other") && node.overload != "dim"))
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
    if (dim.kind == Kind::Repeat && function == "sum")
      throw Refusal{"it reduces integers in a way that has no meaning in gnnc"};
  for (const Index &each : x.components) {
    Index own = each->isList ? callScalar(function, {each}) : each;
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
