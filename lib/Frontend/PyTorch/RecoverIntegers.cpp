//===- RecoverIntegers.cpp - Tensors of integers alone --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// They depend on no computed number, so they are known when a graph is prepared: nothing of them is compiled.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstring>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = IndexDim::Kind;

static std::optional<int64_t> literal(const Index &index) {
  int64_t value;
  if (index->isList || llvm::StringRef(index->text).getAsInteger(10, value))
    return std::nullopt;
  return value;
}

/// `full(n, c)`: the constant of a list that has one.
static std::optional<int64_t> constantOf(const Index &index) {
  return index->function == "full" ? literal(index->arguments[1]) : literal(index);
}

Index Recover::constant(int64_t value) const {
  return std::make_shared<IndexExpr>(IndexExpr{std::to_string(value), false, 0, false, "", {}});
}

Index Recover::sizeIndex(const SymbolicExpr &size) const {
  return std::make_shared<IndexExpr>(IndexExpr{sourceOf(size), false, 0, false, "", {}});
}

static Index makeCall(const std::string &function, std::vector<Index> arguments, bool isList, SymbolicExpr length,
                      bool isTruth) {
  std::string text = function + "(";
  for (const Index &argument : arguments)
    text += (text.back() == '(' ? "" : ", ") + argument->text;
  text += ")";
  if (text.size() > 20000)
    throw Refusal{"what its integers are computed from is too long to write down"};
  return std::make_shared<IndexExpr>(
      IndexExpr{text, isList, std::move(length), isTruth, function, std::move(arguments)});
}

Index Recover::call(const std::string &function, std::vector<Index> arguments, SymbolicExpr length, bool isTruth) {
  return makeCall(function, std::move(arguments), true, std::move(length), isTruth);
}

Index Recover::callScalar(const std::string &function, std::vector<Index> arguments) {
  return makeCall(function, std::move(arguments), false, 0, false);
}

/// The places where a mask is true. Their number is that of any other list of the same places.
Index Recover::nonzero(const Index &mask, const SymbolicExpr &length) {
  std::string text = "nonzero(" + mask->text + ")";
  auto [known, isNew] = nonzeroLengths.try_emplace(text, length);
  if (!isNew && !(known->second == length) && length.getFactors().size() == 1 && length.getNumber() == 0 &&
      known->second.getFactors().size() == 1 && known->second.getNumber() == 0)
    sameSymbols.emplace(length.getFactors().begin()->first, known->second.getFactors().begin()->first);
  Index result = call("nonzero", {mask}, known->second);
  learnSymbol(known->second, "length(" + result->text + ")");
  filters.try_emplace(known->second.str(), result);
  return result;
}

/// list[at], seen through where the list is a constant or counts up.
Index Recover::takeFrom(const Index &list, const Index &at) {
  if (!at->isList)
    return callScalar("take", {list, at});
  if (list->function == "full")
    return call("full", {sizeIndex(at->length), list->arguments[1]}, at->length, list->isTruth);
  if (list->function == "arange" && literal(list->arguments[0]) == 0 && literal(list->arguments[2]) == 1)
    return at;
  return call("take", {list, at}, at->length, list->isTruth);
}

std::vector<int64_t> Recover::constantIntegers(const std::string &name) const {
  auto stored = exported.tensors.find(name);
  if (stored == exported.tensors.end() || stored->second.meta.sizes.size() > 1)
    throw Refusal{"constant '" + name + "': expected at most one axis of integers"};
  const StoredTensor &tensor = stored->second;
  int64_t count = 1, stride = 1;
  if (!tensor.meta.sizes.empty()) {
    count = tensor.meta.sizes[0].literal().value_or(0);
    stride = tensor.strides.at(0);
  }
  if (count > 4096)
    throw Refusal{"constant '" + name + "' has " + std::to_string(count) +
                  " integers, more than 4096; make it an input of the model"};
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) {
    const std::byte *at = tensor.storage->data();
    int64_t place = tensor.offset + i * stride;
    switch (tensor.meta.type) {
    case ScalarType::Int64: {
      int64_t value;
      std::memcpy(&value, at + place * 8, 8);
      result.push_back(value);
      break;
    }
    case ScalarType::Int32: {
      int32_t value;
      std::memcpy(&value, at + place * 4, 4);
      result.push_back(value);
      break;
    }
    case ScalarType::Bool:
    case ScalarType::UInt8:
      result.push_back(int64_t(at[place]));
      break;
    default:
      throw Refusal{"constant '" + name + "': expected integers of 32 or 64 bits, or truth values"};
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static size_t smallSize(const IndexDim &dim) { return dim.kind == Kind::Small ? size_t(dim.size.getNumber()) : 1; }

/// How far apart components lie that differ by one along a dim.
static size_t strideOf(const IndexTensor &tensor, size_t dim) {
  size_t stride = 1;
  for (size_t i = dim + 1; i < tensor.dims.size(); ++i)
    stride *= smallSize(tensor.dims[i]);
  return stride;
}

IndexTensor Recover::selected(const IndexTensor &tensor, size_t dim, int64_t element) {
  IndexTensor result;
  result.dims = tensor.dims;
  result.dims.erase(result.dims.begin() + ptrdiff_t(dim));
  const IndexDim &each = tensor.dims[dim];
  if (each.kind == Kind::Long) {
    if (element < 0)
      throw Refusal{"it takes the last of a list whose length is not fixed"};
    for (const Index &component : tensor.components)
      result.components.push_back(callScalar("take", {component, constant(element)}));
    return result;
  }
  if (each.kind != Kind::Small) {
    result.components = tensor.components;
    return result;
  }
  int64_t size = each.size.getNumber();
  element = element < 0 ? element + size : element;
  if (element < 0 || element >= size)
    throw Refusal{"element " + std::to_string(element) + " of an axis of size " + std::to_string(size)};
  size_t stride = strideOf(tensor, dim);
  for (size_t i = 0; i < tensor.components.size(); ++i)
    if (i / stride % size_t(size) == size_t(element))
      result.components.push_back(tensor.components[i]);
  return result;
}

/// Axes of size 1 come and go; all others keep their order and size.
IndexTensor Recover::shaped(const IndexTensor &tensor, const std::vector<SymbolicExpr> &sizes) {
  IndexTensor result;
  result.components = tensor.components;
  size_t from = 0;
  auto skipUnits = [&] {
    while (from < tensor.dims.size() && tensor.dims[from].kind == Kind::Unit)
      ++from;
  };
  for (const SymbolicExpr &size : sizes) {
    if (size == SymbolicExpr(1)) {
      result.dims.push_back({});
      continue;
    }
    skipUnits();
    if (from >= tensor.dims.size() || !(tensor.dims[from].size == size))
      throw Refusal{"the view of integers regroups elements, which has no meaning as maps"};
    result.dims.push_back(tensor.dims[from++]);
  }
  skipUnits();
  if (from != tensor.dims.size())
    throw Refusal{"the view of integers regroups elements, which has no meaning as maps"};
  return result;
}

/// An elementwise function; operands are broadcast to `sizes`.
IndexTensor Recover::elementwise(const std::string &function, std::vector<IndexTensor> operands, bool isTruth,
                                 const std::vector<SymbolicExpr> &sizes) {
  IndexTensor result;
  size_t rank = sizes.size();
  std::vector<size_t> counts(rank, 1);
  SymbolicExpr length;
  bool isList = false;
  for (size_t i = 0; i < rank; ++i) {
    IndexDim dim{sizes[i] == SymbolicExpr(1) ? Kind::Unit : Kind::Repeat, sizes[i]};
    for (const IndexTensor &each : operands) {
      if (each.dims.size() + i < rank)
        continue;
      const IndexDim &own = each.dims[i + each.dims.size() - rank];
      if (own.kind == Kind::Long || own.kind == Kind::Small) {
        if (dim.kind != Kind::Repeat && dim.kind != own.kind)
          throw Refusal{"integers of different layouts are combined"};
        dim = {own.kind, sizes[i]};
      }
    }
    if (dim.kind == Kind::Long) {
      if (isList)
        throw Refusal{"all pairs of two lists of integers have no meaning as maps"};
      isList = true;
      length = sizes[i];
    }
    counts[i] = smallSize(dim);
    result.dims.push_back(dim);
  }
  size_t total = 1;
  for (size_t each : counts)
    total *= each;
  for (size_t i = 0; i < total; ++i) {
    std::vector<Index> arguments;
    for (const IndexTensor &each : operands) {
      size_t at = 0, rest = i;
      std::vector<size_t> place(rank, 0);
      for (size_t d = rank; d-- > 0;) {
        place[d] = rest % counts[d];
        rest /= counts[d];
      }
      for (size_t d = 0; d < each.dims.size(); ++d)
        at = at * smallSize(each.dims[d]) + (each.dims[d].kind == Kind::Small ? place[d + rank - each.dims.size()] : 0);
      arguments.push_back(each.components.at(at));
    }
    bool anyList = llvm::any_of(arguments, [](const Index &each) { return each->isList; });
    if (isList && !anyList)
      throw Refusal{"integers of different layouts are combined"};
    result.components.push_back(anyList ? call(function, arguments, length, isTruth)
                                        : makeCall(function, arguments, false, 0, isTruth));
  }
  return result;
}

IndexTensor Recover::filledIndex(int64_t value, const std::vector<SymbolicExpr> &sizes, bool isTruth) {
  IndexTensor result;
  bool isList = false;
  for (const SymbolicExpr &size : sizes) {
    bool isLong = !isList && !(size == SymbolicExpr(1)) && (!size.getFactors().empty() || sizes.size() == 1);
    result.dims.push_back({isLong ? Kind::Long : size == SymbolicExpr(1) ? Kind::Unit : Kind::Repeat, size});
    if (isLong)
      result.components = {call("full", {sizeIndex(size), constant(value)}, size, isTruth)};
    isList |= isLong;
  }
  if (!isList)
    result.components = {constant(value)};
  return result;
}

IndexTensor Recover::mapped(const IndexTensor &tensor, const std::vector<SymbolicExpr> &sizes,
                            const std::function<Index(const Index &)> &function) {
  IndexTensor result;
  for (auto [dim, size] : llvm::zip(tensor.dims, sizes))
    result.dims.push_back({dim.kind, size});
  for (const Index &each : tensor.components)
    result.components.push_back(function(each));
  return result;
}

/// What is computed from integers alone has no gradient: it is an input that the graph gives.
Tensor Recover::asNumbers(const IndexTensor &index) {
  Tensor result;
  std::vector<Tensor> parts;
  size_t place = index.dims.size();
  for (size_t i = 0; i < index.dims.size(); ++i)
    if (index.dims[i].kind == Kind::Long)
      place = i;
  for (const Index &component : index.components) {
    Tensor part;
    for (size_t i = 0; i < index.dims.size(); ++i)
      part.dims.push_back(i == place || index.dims[i].kind == Kind::Repeat ? dimOf(index.dims[i].size) : Dim());
    std::optional<int64_t> value = constantOf(component);
    if (value) {
      part.value = program.number(double(*value));
    } else {
      auto [known, isNew] = indexInputs.try_emplace(component->text, -1);
      if (isNew) {
        Operation operation;
        operation.op = Op::Input;
        operation.text = component->isTruth ? "mask" : "number";
        operation.source = component->text;
        if (component->isList)
          operation.space = spaceOf(component->length);
        known->second = program.add(operation);
      }
      part.value = known->second;
    }
    if (place < index.dims.size())
      part.dims[place] = {Dim::Kind::Space, spaceOf(component->length), 0};
    parts.push_back(part);
  }
  for (size_t i = index.dims.size(); i-- > 0;) {
    if (index.dims[i].kind != Kind::Small)
      continue;
    size_t size = size_t(index.dims[i].size.getNumber());
    std::vector<Tensor> joined;
    for (size_t begin = 0; begin < parts.size(); begin += size)
      joined.push_back(concat({parts.begin() + ptrdiff_t(begin), parts.begin() + ptrdiff_t(begin + size)}, i));
    parts = joined;
  }
  return parts.at(0);
}

/// A tensor of integers, or a number.
IndexTensor Recover::indexArgument(const NormalNode &node, const std::string &name) {
  const Argument *argument = find(node, name);
  if (!argument)
    throw Refusal{"argument '" + name + "' is missing"};
  if (auto *value = std::get_if<ValueName>(argument)) {
    if (auto found = indices.find(value->name); found != indices.end())
      return found->second;
    if (normal.integers.count(value->name))
      return {{}, {sizeIndex(expression(*argument))}};
    return indexOf(value->name);
  }
  if (auto *value = std::get_if<int64_t>(argument))
    return {{}, {constant(*value)}};
  if (auto *value = std::get_if<bool>(argument))
    return {{}, {constant(*value)}};
  if (auto *value = std::get_if<double>(argument); value && *value == double(int64_t(*value)))
    return {{}, {constant(int64_t(*value))}};
  throw Refusal{"argument '" + name + "': expected integers"};
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

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

void Recover::runIntegers(const NormalNode &node) {
  const std::string &op = node.op;
  static const std::map<std::string, std::string> binaries = {{"add", "add"},
                                                              {"sub", "sub"},
                                                              {"mul", "mul"},
                                                              {"eq", "eq"},
                                                              {"ne", "ne"},
                                                              {"lt", "lt"},
                                                              {"le", "le"},
                                                              {"gt", "gt"},
                                                              {"ge", "ge"},
                                                              {"logical_and", "both"},
                                                              {"bitwise_and", "both"},
                                                              {"logical_or", "either"},
                                                              {"bitwise_or", "either"},
                                                              {"remainder", "mod"},
                                                              {"floor_divide", "div"},
                                                              {"minimum", "minimum"},
                                                              {"maximum", "maximum"},
                                                              {"logical_xor", "ne"},
                                                              {"bitwise_xor", "ne"}};
  static const std::set<std::string> truths = {"eq", "ne",          "lt",         "le",         "gt",
                                               "ge", "logical_and", "logical_or", "logical_xor"};
  static const std::set<std::string> same = {"clone",      "contiguous", "to",      "_to_copy",
                                             "alias",      "detach",     "type_as", "lift_fresh_copy",
                                             "lift_fresh", "long",       "positive"};
  auto isTruthOutput = [&] {
    return normal.tensors.count(node.outputs.at(0)) && normal.tensors.at(node.outputs[0]).type == ScalarType::Bool;
  };
  if (op == "item" || op == "_local_scalar_dense") {
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
    return;
  }
  if (auto binary = binaries.find(op); binary != binaries.end()) {
    IndexTensor a = indexArgument(node, "self"), b = indexArgument(node, "other");
    bool bitwise = op.compare(0, 7, "bitwise") == 0;
    if (bitwise && !isTruthOutput())
      throw Refusal{"bits of integers have no meaning in gnnc"};
    if ((op == "add" || op == "sub") && integer(node, "alpha", 1) != 1)
      throw Refusal{"argument 'alpha': expected 1"};
    return define(node, elementwise(binary->second, {a, b}, truths.count(op) != 0 || bitwise, sizes(node)));
  }
  if (op == "rsub")
    return define(node,
                  elementwise("sub", {indexArgument(node, "other"), indexArgument(node, "self")}, false, sizes(node)));
  if (op == "div" && string(node, "rounding_mode", "") == "floor")
    return define(node,
                  elementwise("div", {indexArgument(node, "self"), indexArgument(node, "other")}, false, sizes(node)));
  if (op == "neg" || op == "logical_not" || op == "bitwise_not") {
    if (op == "bitwise_not" && !isTruthOutput())
      throw Refusal{"bits of integers have no meaning in gnnc"};
    return define(node, elementwise(op == "neg" ? "neg" : "not", {index(node, "self")}, op != "neg", sizes(node)));
  }
  if (op == "clamp" || op == "clamp_min" || op == "clamp_max") {
    IndexTensor x = index(node, "self");
    if (has(node, "min"))
      x = elementwise("maximum", {x, indexArgument(node, "min")}, false, sizes(node));
    if (has(node, "max"))
      x = elementwise("minimum", {x, indexArgument(node, "max")}, false, sizes(node));
    return define(node, x);
  }
  if (op == "where")
    return define(node,
                  elementwise("where",
                              {index(node, "condition"), indexArgument(node, "self"), indexArgument(node, "other")},
                              isTruthOutput(), sizes(node)));
  if (op == "masked_fill")
    return define(node, elementwise("where", {index(node, "mask"), indexArgument(node, "value"), index(node, "self")},
                                    isTruthOutput(), sizes(node)));
  if (same.count(op)) {
    IndexTensor x = index(node, "self");
    if (isTruthOutput() && !x.components.empty() && !x.components[0]->isTruth)
      x = elementwise("ne", {x, {{}, {constant(0)}}}, true, sizes(node));
    return define(node, x);
  }
  if (op == "arange") {
    SymbolicExpr begin = has(node, "start") ? expression(*find(node, "start")) : SymbolicExpr(0);
    SymbolicExpr end = expression(*find(node, "end"));
    int64_t step = integer(node, "step", 1);
    SymbolicExpr length = sizes(node).at(0);
    return define(node, {{{length == SymbolicExpr(1) ? Kind::Long : Kind::Long, length}},
                         {call("arange", {sizeIndex(begin), sizeIndex(end), constant(step)}, length)}});
  }
  static const std::set<std::string> fills = {"zeros",     "ones",       "full",         "empty",      "new_zeros",
                                              "new_ones",  "new_full",   "new_empty",    "zeros_like", "ones_like",
                                              "full_like", "empty_like", "scalar_tensor"};
  if (fills.count(op)) {
    int64_t value = op.find("ones") != std::string::npos ? 1 : 0;
    if (op.find("full") != std::string::npos)
      value = int64_t(number(node, "fill_value", 0));
    if (op == "scalar_tensor")
      value = int64_t(number(node, "s", 0));
    return define(node, filledIndex(value, sizes(node), isTruthOutput()));
  }
  if (op == "zero" || op == "fill")
    return define(node,
                  filledIndex(op == "zero" ? 0 : int64_t(number(node, "value", 0)), sizes(node), isTruthOutput()));
  if (op == "select") {
    const IndexTensor &x = index(node, "self");
    return define(node, selected(x, axisNumber(node, "dim", 0, x.dims.size()), integer(node, "index", 0)));
  }
  if (op == "unbind") {
    IndexTensor x = index(node, "self");
    size_t dim = axisNumber(node, "dim", 0, x.dims.size());
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (!node.outputs[i].empty())
        define(node, selected(x, dim, int64_t(i)), i);
    return;
  }
  static const std::set<std::string> views = {"view", "reshape", "squeeze", "unsqueeze", "flatten", "unflatten"};
  if (views.count(op)) {
    IndexTensor x = index(node, "self");
    std::vector<SymbolicExpr> wanted = sizes(node);
    // One axis may merge components with a list of fixed length 1, which is a view as any other.
    return define(node, shaped(x, wanted));
  }
  if (op == "expand" || op == "expand_as") {
    IndexTensor x = index(node, "self");
    std::vector<SymbolicExpr> wanted = sizes(node);
    while (x.dims.size() < wanted.size())
      x.dims.insert(x.dims.begin(), IndexDim());
    for (size_t i = 0; i < wanted.size(); ++i)
      if (x.dims[i].kind == Kind::Unit && !(wanted[i] == SymbolicExpr(1)))
        x.dims[i] = {Kind::Repeat, wanted[i]};
    return define(node, x);
  }
  if (op == "t" || op == "transpose" || op == "permute") {
    const IndexTensor &x = index(node, "self");
    std::vector<size_t> order(x.dims.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    if (op == "permute") {
      std::vector<int64_t> dims = integers(node, "dims");
      for (size_t i = 0; i < dims.size(); ++i)
        order.at(i) = size_t(dims[i] < 0 ? dims[i] + int64_t(order.size()) : dims[i]);
    } else if (order.size() >= 2) {
      std::swap(order[op == "t" ? 0 : axisNumber(node, "dim0", 0, order.size())],
                order[op == "t" ? 1 : axisNumber(node, "dim1", 1, order.size())]);
    }
    if (llvm::count_if(x.dims, [](const IndexDim &dim) { return dim.kind == Kind::Small; }) > 1)
      throw Refusal{"a transposed tensor of integers with several fixed axes"};
    IndexTensor result;
    result.components = x.components;
    for (size_t i : order)
      result.dims.push_back(x.dims.at(i));
    return define(node, result);
  }
  if (op == "repeat") {
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
  if (op == "cat" || op == "stack") {
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
          std::optional<int64_t> value = literal(component);
          component = value ? call("full", {sizeIndex(own.size), constant(*value)}, own.size)
                            : call("add", {none, component}, own.size);
        }
        own.kind = Kind::Long;
      }
    };
    bool hasLong = llvm::any_of(parts, [&](IndexTensor &part) {
      return llvm::any_of(part.dims, [](IndexDim &each) { return each.kind == Kind::Long; });
    });
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
    for (IndexTensor &part : parts)
      for (size_t i = 0; i < part.dims.size(); ++i)
        if ((i != dim && part.dims[i].kind == Kind::Small) || (i == dim && part.dims[i].kind == Kind::Repeat))
          throw Refusal{"it joins integers along one of several fixed axes"};
    result.dims = parts[0].dims;
    result.dims[dim] = {wanted[dim] == SymbolicExpr(1) ? Kind::Unit : Kind::Small, wanted[dim]};
    for (IndexTensor &part : parts)
      llvm::append_range(result.components, part.components);
    return define(node, result);
  }
  if (op == "index") {
    IndexTensor x = index(node, "self");
    std::vector<std::string> places = names(node, "indices");
    size_t dim = places.size();
    for (size_t i = 0; i < places.size(); ++i)
      if (!places[i].empty()) {
        if (dim != places.size())
          throw Refusal{"it is indexed along two axes at once"};
        dim = i;
      }
    IndexTensor at = indexOf(places.at(dim));
    if (at.components.size() != 1 || at.dims.size() != 1 || at.dims[0].kind != Kind::Long ||
        x.dims.at(dim).kind != Kind::Long)
      throw Refusal{"it indexes integers in a way that has no meaning as maps"};
    std::vector<SymbolicExpr> wanted = sizes(node);
    Index list = at.components[0]->isTruth ? nonzero(at.components[0], wanted.at(dim)) : at.components[0];
    return define(node, mapped(x, sizes(node), [&](const Index &each) { return takeFrom(each, list); }));
  }
  if (op == "index_select" || op == "gather" || op == "take") {
    IndexTensor x = index(node, "self"), at = index(node, "index");
    size_t dim = axisNumber(node, "dim", 0, x.dims.size());
    Index list = op == "gather" ? listAlong(at, dim, nullptr) : at.components.at(0);
    if (x.dims.at(dim).kind != Kind::Long || !list->isList)
      throw Refusal{"it indexes integers in a way that has no meaning as maps"};
    return define(node, mapped(x, sizes(node), [&](const Index &each) { return takeFrom(each, list); }));
  }
  if (op == "nonzero") {
    const IndexTensor &x = index(node, "self");
    if (x.dims.size() != 1 || x.dims[0].kind != Kind::Long)
      throw Refusal{"nonzero of a tensor with several axes"};
    std::vector<SymbolicExpr> wanted = sizes(node);
    Index list = nonzero(x.components[0], wanted.at(0));
    return define(node, {{{Kind::Long, sizes(node).at(0)}, {}}, {list}});
  }
  if (op == "slice" || op == "narrow") {
    IndexTensor x = index(node, "self");
    size_t dim = axisNumber(node, "dim", 0, x.dims.size());
    std::vector<SymbolicExpr> wanted = sizes(node);
    int64_t step = integer(node, "step", 1);
    if (x.dims[dim].kind == Kind::Long) {
      SymbolicExpr begin = has(node, "start") ? expression(*find(node, "start")) : SymbolicExpr(0);
      Index last = constant(int64_t(1) << 40);
      if (op == "narrow")
        last = sizeIndex(begin + expression(*find(node, "length")));
      else if (has(node, "end") && !(integer(node, "end", INT64_MAX) == INT64_MAX))
        last = sizeIndex(expression(*find(node, "end")));
      Index first = sizeIndex(begin);
      return define(node, mapped(x, wanted, [&](const Index &each) {
                      return call("slice", {each, first, last, constant(step)}, wanted[dim], each->isTruth);
                    }));
    }
    int64_t begin = integer(node, "start", 0), size = wanted[dim].getNumber();
    int64_t all = x.dims[dim].size.getNumber();
    begin = begin < 0 ? begin + all : begin;
    std::vector<IndexTensor> kept;
    IndexTensor result;
    for (int64_t i = 0; i < size; ++i)
      kept.push_back(selected(x, dim, begin + i * step));
    if (strideOf(x, dim) != 1 || x.dims[dim].kind != Kind::Small ||
        llvm::count_if(x.dims, [](const IndexDim &each) { return each.kind == Kind::Small; }) != 1) {
      if (x.dims[dim].kind == Kind::Small && x.components.size() != size_t(all))
        throw Refusal{"a slice of integers along one of several fixed axes"};
    }
    result.dims = x.dims;
    result.dims[dim] = {wanted[dim] == SymbolicExpr(1) ? Kind::Unit : x.dims[dim].kind, wanted[dim]};
    if (x.dims[dim].kind == Kind::Small)
      for (IndexTensor &each : kept)
        llvm::append_range(result.components, each.components);
    else
      result.components = x.components;
    return define(node, result);
  }
  if (op == "flip") {
    IndexTensor x = index(node, "self");
    for (int64_t axis : integers(node, "dims")) {
      size_t dim = size_t(axis < 0 ? axis + int64_t(x.dims.size()) : axis);
      if (x.dims.at(dim).kind == Kind::Long) {
        for (Index &each : x.components)
          each = call("flip", {each}, each->length, each->isTruth);
      } else if (x.dims[dim].kind == Kind::Small) {
        if (x.components.size() != smallSize(x.dims[dim]))
          throw Refusal{"flip along one of several fixed axes"};
        std::reverse(x.components.begin(), x.components.end());
      }
    }
    return define(node, x);
  }
  static const std::map<std::string, std::string> lists = {
      {"cumsum", "cumsum"}, {"diff", "diff"}, {"argsort", "argsort"}};
  if (auto list = lists.find(op); list != lists.end()) {
    const IndexTensor &x = index(node, "self");
    if (x.dims.size() != 1 || (op == "argsort" && flag(node, "descending", false)) || has(node, "prepend") ||
        has(node, "append") || integer(node, "n", 1) != 1)
      throw Refusal{"'" + op + "' of integers with these arguments has no meaning in gnnc"};
    SymbolicExpr length = sizes(node).at(0);
    return define(node, mapped(x, sizes(node), [&](const Index &each) { return call(list->second, {each}, length); }));
  }
  if (op == "sort") {
    const IndexTensor &x = index(node, "self");
    if (x.dims.size() != 1 || flag(node, "descending", false))
      throw Refusal{"it sorts integers in a way that has no meaning in gnnc"};
    // Equal elements keep their order: one of the orders that PyTorch may give.
    if (!flag(node, "stable", false) && node.outputs.size() > 1 && node.overload != "stable")
      throw Refusal{"the order of equal elements is not defined; sort with stable=True"};
    Index list = x.components.at(0), order = call("argsort", {list}, list->length);
    define(node, IndexTensor{x.dims, {call("take", {list, order}, list->length)}}, 0);
    return define(node, IndexTensor{x.dims, {order}}, 1);
  }
  if ((op == "max" || op == "min" || op == "amax" || op == "amin" || op == "sum") && !has(node, "dim")) {
    const IndexTensor &x = index(node, "self");
    std::string function = op == "amax" ? "max" : op == "amin" ? "min" : op;
    if (x.components.empty() || sizes(node).size() != 0)
      throw Refusal{"it reduces integers in a way that has no meaning in gnnc"};
    std::optional<Index> whole;
    for (const Index &each : x.components) {
      Index own = each->isList ? callScalar(function, {each}) : each;
      std::string joiner = function == "sum" ? "add" : function + "imum";
      whole = whole ? callScalar(joiner, {*whole, own}) : own;
    }
    return define(node, {{}, {*whole}});
  }
  if (op == "scatter_add" || op == "index_add" || op == "scatter_reduce") {
    const IndexTensor &base = index(node, "self"), &at = index(node, "index");
    IndexTensor source = indexArgument(node, op == "index_add" ? "source" : "src");
    if (op == "scatter_reduce" && string(node, "reduce", "") != "sum")
      throw Refusal{"it reduces integers in a way that has no meaning in gnnc"};
    SymbolicExpr length = sizes(node).at(0);
    if (base.dims.size() != 1 || at.dims.size() != 1 || constantOf(base.components.at(0)) != 0 ||
        !(at.components.at(0)->isList))
      throw Refusal{"it adds integers in a way that has no meaning in gnnc"};
    Index amount = source.components.at(0);
    if (amount->function == "full")
      amount = amount->arguments[1];
    return define(
        node, {{{Kind::Long, length}}, {call("scatter_sum", {at.components[0], amount, sizeIndex(length)}, length)}});
  }
  if (op == "bincount") {
    SymbolicExpr length = sizes(node).at(0);
    return define(
        node, {{{Kind::Long, length}},
               {call("scatter_sum", {index(node, "self").components.at(0), constant(1), sizeIndex(length)}, length)}});
  }
  if (op == "scatter" && index(node, "self").dims.size() == 2)
    return writeColumns(node);
  if (op == "index_put" || op == "scatter" || op == "index_copy" || op == "index_fill") {
    IndexTensor base = index(node, "self");
    IndexTensor at = op == "index_put" ? indexOf(names(node, "indices").at(0)) : index(node, "index");
    IndexTensor values = indexArgument(node, op == "index_put"    ? "values"
                                             : op == "index_copy" ? "source"
                                             : has(node, "value") ? "value"
                                                                  : "src");
    if (base.dims.size() != 1 || at.dims.size() != 1 || flag(node, "accumulate", false))
      throw Refusal{"it writes integers in a way that has no meaning in gnnc"};
    Index list = at.components.at(0);
    SymbolicExpr length = base.components.at(0)->length;
    if (list->isTruth) {
      if (values.components.at(0)->isList)
        throw Refusal{"it writes several integers by a mask"};
      return define(node, {{base.dims},
                           {call("where", {list, values.components[0], base.components[0]}, length,
                                 base.components[0]->isTruth)}});
    }
    return define(node, {{base.dims},
                         {call("put", {base.components[0], list, values.components.at(0)}, length,
                               base.components[0]->isTruth)}});
  }
  if (op == "repeat_interleave") {
    SymbolicExpr length = sizes(node).at(0);
    if (node.overload == "Tensor") {
      Index counts = index(node, "repeats").components.at(0);
      Index order = call("arange", {constant(0), sizeIndex(counts->length), constant(1)}, counts->length);
      return define(node, {{{Kind::Long, length}}, {call("interleave", {order, counts}, length)}});
    }
    Index list = index(node, "self").components.at(0), counts = indexArgument(node, "repeats").components.at(0);
    if (!counts->isList)
      counts = call("add", {call("full", {sizeIndex(list->length), constant(0)}, list->length), counts}, list->length);
    return define(node, {{{Kind::Long, length}}, {call("interleave", {list, counts}, length)}});
  }
  throw Refusal{"operator '" + node.origin->target + "' on integers has no meaning in gnnc"};
}
