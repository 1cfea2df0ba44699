//===- Recover.cpp - From operators on tensors to values on spaces --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"
#include "PyTorch/Spelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cmath>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

/// Longer lists of the file go by name.
static constexpr size_t kMostWritten = 64;
/// Of a matrix of integers: lists, and numbers where it is none of lists.
static constexpr int64_t kMostRows = 64;
static constexpr size_t kMostPlaces = 4096;

/// Whether all tensors that a node reads are of integers, and what it gives is too.
bool Recover::onlyIntegers(const NormalNode &node) const {
  for (const std::string &output : node.outputs)
    if (auto meta = normal.tensors.find(output); meta != normal.tensors.end()) {
      ScalarType type = meta->second.type;
      if (type != ScalarType::Int64 && type != ScalarType::Int32 && type != ScalarType::Bool &&
          type != ScalarType::UInt8 && type != ScalarType::Int16 && type != ScalarType::Int8)
        return false;
    }
  // Only the type of these is asked for.
  static const std::set<std::string> likes = {"new_zeros", "new_ones",  "new_full",   "new_empty", "zeros_like",
                                              "ones_like", "full_like", "empty_like", "sym_size",  "expand_as",
                                              "type_as",   "view_as",   "reshape_as"};
  for (auto &[name, argument] : node.arguments) {
    bool onlyOther = node.op.size() > 3 && node.op.compare(node.op.size() - 3, 3, "_as") == 0;
    if (likes.count(node.op) && (!onlyOther || name == "other"))
      continue;
    // Which elements a mask chooses may be computed.
    bool isPlace = (node.op == "index" && name == "indices") || (node.op == "masked_select" && name == "mask") ||
                   node.op == "nonzero" || node.op == "nonzero_numpy" || node.op == "argwhere" ||
                   (node.op == "where" && !has(node, "self"));
    bool asksWhere = node.op == "nonzero" || node.op == "nonzero_numpy" || node.op == "argwhere";
    auto isMask = [&](const std::string &each) { return isPlace && (asksWhere || typeOf(each) == ScalarType::Bool); };
    if (auto *value = std::get_if<ValueName>(&argument);
        value && (tensors.count(value->name) || grids.count(value->name)) && !isMask(value->name))
      return false;
    if (auto *list = std::get_if<ValueNames>(&argument))
      for (const std::string &each : list->names)
        if ((tensors.count(each) || grids.count(each)) && !isMask(each))
          return false;
  }
  return true;
}

bool Recover::isUsed(const std::string &name) const {
  auto names = [&](const Argument &argument) {
    if (auto *value = std::get_if<ValueName>(&argument))
      return value->name == name;
    auto *list = std::get_if<ValueNames>(&argument);
    return list && llvm::is_contained(list->names, name);
  };
  return llvm::any_of(normal.outputs, names) || llvm::any_of(normal.nodes, [&](const NormalNode &node) {
           return llvm::any_of(node.arguments, [&](auto &argument) { return names(argument.second); });
         });
}

/// Where a parameter's numbers lie, the same for all names of one; empty where nothing lies.
std::string Recover::placeOf(const std::string &name) const {
  auto found = exported.tensors.find(name);
  if (found == exported.tensors.end() || found->second.entry.empty())
    return "";
  const StoredTensor &stored = found->second;
  std::string text = stored.entry + "|" + std::to_string(stored.offset);
  for (auto [size, stride] : llvm::zip(stored.meta.sizes, stored.strides)) {
    if (size.literal() == 0)
      return "";
    text += "|" + size.text + "," + std::to_string(stride);
  }
  return text;
}

/// `conv1.lin.weight`: what is left of a placeholder's name says what an axis is.
static std::string axisHint(const std::string &name, size_t axis, size_t rank) {
  StringRef last = StringRef(name).rsplit('.').second;
  last = last.empty() ? StringRef(name) : last;
  if (last.contains("bias") && rank == 1)
    return "out";
  if (rank == 2 && last.contains("weight"))
    return axis == 0 ? "out" : "in";
  return "";
}

/// A size that Python computes of others, and that is no sum of them, such as twice the half of one.
void Recover::learnSize(const NormalNode &node) {
  static const std::map<std::string, std::string> functions = {
      {"mod", "mod"}, {"floordiv", "div"}, {"sym_max", "maximum"}, {"sym_min", "minimum"},
      {"add", "add"}, {"sub", "sub"},      {"mul", "mul"}};
  auto function = functions.find(node.op);
  if (function == functions.end() || !has(node, "a") || !has(node, "b"))
    return;
  std::vector<Index> operands;
  for (const char *name : {"a", "b"}) {
    SymbolicExpr size = expression(*find(node, name));
    if (!isKnown(size))
      return;
    operands.push_back(sizeIndex(size));
  }
  learnSymbol(expression(normal.integers.at(node.outputs[0])), callScalar(function->second, operands)->text);
}

/// Python's numbers that are made of sizes. Where one has no meaning here, its use is refused.
void Recover::computeScalar(const NormalNode &node) {
  if (node.outputs.size() != 1)
    return;
  if (normal.integers.count(node.outputs[0]))
    return learnSize(node);
  static const std::map<std::string, std::string> functions = {
      {"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"truediv", "/"}, {"pow", "^"}};
  if (!functions.count(node.op) && node.op != "sym_float" && node.op != "_sym_sqrt" && node.op != "sym_sqrt")
    return;
  std::vector<Tensor> operands;
  for (const char *name : {"a", "b"}) {
    if (!has(node, name))
      continue;
    const Argument *argument = find(node, name);
    auto *value = std::get_if<ValueName>(argument);
    if (value && !tensors.count(value->name) && !normal.integers.count(value->name))
      return;
    if (!value && !number(node, name))
      return;
    // A size may be one that only the file knows.
    if (auto size = value ? normal.integers.find(value->name) : normal.integers.end(); size != normal.integers.end()) {
      SymbolicExpr own = expression(size->second);
      if (!isKnown(own))
        return;
    }
    operands.push_back(tensor(node, name));
  }
  if (auto function = functions.find(node.op); function != functions.end() && operands.size() == 2)
    tensors[node.outputs[0]] = binary(function->second, operands[0], operands[1]);
  else if (node.op == "sym_float" && operands.size() == 1)
    tensors[node.outputs[0]] = operands[0];
  else if ((node.op == "_sym_sqrt" || node.op == "sym_sqrt") && operands.size() == 1)
    tensors[node.outputs[0]] = unary("sqrt", operands[0]);
}

/// A module may have a parameter `w` and a forward that takes a `w`. The parameter keeps its name, which checkpoints
/// have.
std::string Recover::nameOfInput(const ProgramInput &input) const {
  auto isStored = [&](const std::string &name) {
    return llvm::any_of(exported.inputs, [&](const ProgramInput &each) {
      auto stored = exported.tensors.find(each.target);
      return each.target == name && stored != exported.tensors.end() && isFloatType(stored->second.meta.type);
    });
  };
  auto isGiven = [&](const std::string &name) {
    return llvm::any_of(exported.inputs, [&](const ProgramInput &each) { return each.value == name; });
  };
  std::string name = input.value;
  if (input.kind != ProgramInput::Kind::User || !isStored(name))
    return name;
  do
    name += "_input";
  while (isStored(name) || isGiven(name));
  return name;
}

/// What sources call integers of the file: as the module does, unless something else is called so.
std::string Recover::nameOfStored(const ProgramInput &input) const {
  std::string name = input.target;
  llvm::replace(name, '.', '_');
  bool isName = !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
                llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  bool isTaken = llvm::any_of(exported.inputs, [&](const ProgramInput &each) {
    return each.value == name || nameOfInput(each) == name || (&each != &input && each.target == name);
  });
  isTaken |= llvm::any_of(program.integers, [&](auto &each) { return each.name == name; });
  return isName && !isTaken ? name : input.value;
}

/// Integers that the file has. A short list is written out; the rows or columns of others go by name, whichever are
/// longer. What has more axes is one number for each place.
IndexLists Recover::storedIntegers(const ProgramInput &input, const std::vector<SymbolicExpr> &shape, bool isTruth) {
  std::vector<int64_t> numbers = constantIntegers(input.target), sizes;
  for (const SymbolicExpr &size : shape)
    sizes.push_back(size.getNumber());
  size_t longest = shape.size() == 2 && sizes[0] > sizes[1] ? 0 : shape.size() - 1;
  bool isTable = shape.size() == 2 && !isTruth && sizes[1 - longest] > 0 && sizes[1 - longest] <= kMostRows;
  IndexLists tensor;
  if (shape.size() != 1 && !isTable) {
    if (numbers.size() > kMostPlaces)
      throw Refusal{"'" + input.target + "' has " + std::to_string(numbers.size()) +
                    " integers on several axes: expected at most " + std::to_string(kMostPlaces) +
                    ", or lists, as the rows of an edge index are"};
    for (const SymbolicExpr &size : shape)
      tensor.dims.push_back({size == SymbolicExpr(1) ? IndexDim::Kind::Unit : IndexDim::Kind::Small, size});
    for (int64_t value : numbers)
      tensor.components.push_back(
          std::make_shared<IndexExpr>(IndexExpr{std::to_string(value), false, 0, isTruth, "", {}}));
    return tensor;
  }
  for (auto [i, size] : llvm::enumerate(shape))
    tensor.dims.push_back({i == longest              ? IndexDim::Kind::Long
                           : size == SymbolicExpr(1) ? IndexDim::Kind::Unit
                                                     : IndexDim::Kind::Small,
                           size});
  bool isWritten = shape.size() == 1 && numbers.size() <= kMostWritten;
  std::string name = isWritten ? "" : nameOfStored(input);
  int64_t count = shape.size() == 1 ? 1 : sizes[1 - longest], length = sizes[longest];
  for (int64_t row = 0; row < count; ++row) {
    std::vector<int64_t> list;
    for (int64_t i = 0; i < length; ++i)
      list.push_back(numbers[size_t(longest + 1 == shape.size() ? row * length + i : i * count + row)]);
    std::string text = name;
    if (isWritten) {
      text = "[";
      for (int64_t value : list)
        text += (text.size() > 1 ? ", " : "") + std::to_string(value);
      text += "]";
    } else if (shape.size() == 2) {
      text =
          longest == 1 ? name + "[" + std::to_string(row) + "]" : "column(" + name + ", " + std::to_string(row) + ")";
    }
    IndexExpr each{text, true, shape[longest], isTruth, "", {}};
    each.numbers = std::make_shared<const std::vector<int64_t>>(std::move(list));
    tensor.components.push_back(std::make_shared<IndexExpr>(std::move(each)));
  }
  if (!isWritten)
    program.integers.push_back({name, std::move(sizes), std::move(numbers)});
  return tensor;
}

/// An input of more than two axes, or of several whose sizes are not fixed, as one list of all elements; none for
/// others, of which rows or columns are lists.
std::optional<IndexTensor> Recover::flatInput(const std::string &name, const std::vector<SymbolicExpr> &shape,
                                              bool isTruth) {
  auto isOpen = [](const SymbolicExpr &size) { return !size.getFactors().empty(); };
  if (shape.size() <= 2 && llvm::count_if(shape, isOpen) <= 1)
    return std::nullopt;
  IndexTerm place = algebra.number(0);
  SymbolicExpr stride = 1;
  std::string text;
  for (size_t dim = shape.size(); dim-- > 0;) {
    text = ", " + (isOpen(shape[dim]) ? "-1" : std::to_string(shape[dim].getNumber())) + text;
    place = algebra.add(place, algebra.times(algebra.coordinate(dim, shape[dim]), stride));
    // Of two sizes that are not fixed there is no product; how many elements there are is a symbol of its own.
    std::optional<SymbolicExpr> next = multiply(stride, shape[dim]);
    if (!next && dim > 0)
      return IndexTensor{shape, nullptr, isTruth}; // refused where it is used
    stride = next ? *next : SymbolicExpr::of("elements of " + name);
  }
  text = "flat(" + name + text + ")";
  learnSymbol(stride, "length(" + text + ")");
  Index list = std::make_shared<IndexExpr>(IndexExpr{text, true, stride, isTruth, "", {}});
  return IndexTensor{shape, algebra.element(list, place), isTruth};
}

/// Whether torch calls a size that an operator counts by this name: u0, u1, ...
static bool isCounted(llvm::StringRef symbol) {
  return symbol.consume_front("u") && !symbol.empty() && llvm::all_of(symbol, llvm::isDigit);
}

/// Whether a size is written as what it is computed from, such as the product of two.
static bool isComputed(llvm::StringRef symbol) {
  return !llvm::all_of(symbol, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// Sizes that are sums and multiples of sizes: n of an input of 3 n + m elements, as soon as m is known. What an
/// operator counts follows from that operator: a mask of dropout is made to fit it.
void Recover::solveSizes(const std::vector<std::pair<SymbolicExpr, std::string>> &sizes) {
  for (bool hasLearned = true; hasLearned;) {
    hasLearned = false;
    for (auto &[size, source] : sizes) {
      std::optional<std::pair<std::string, int64_t>> unknown;
      SymbolicExpr rest(size.getNumber());
      bool isOne = true;
      for (auto &[symbol, factor] : size.getFactors()) {
        if (symbolSources.count(symbol)) {
          rest += SymbolicExpr::of(symbol, factor);
          continue;
        }
        isOne &= !unknown && !isCounted(symbol);
        unknown = {symbol, factor};
      }
      if (!unknown || !isOne)
        continue;
      std::string text = rest == SymbolicExpr(0) ? source : "sub(" + source + ", " + sourceOf(rest) + ")";
      if (unknown->second != 1)
        text = "div(" + text + ", " + std::to_string(unknown->second) + ")";
      text = withinRange(SymbolicExpr::of(unknown->first), text);
      if (isComputed(unknown->first)) {
        countedSizes.try_emplace(unknown->first, text);
        continue;
      }
      symbolSources.emplace(unknown->first, text);
      hasLearned = true;
    }
  }
}

RecoveredProgram Recover::run() {
  normal = normalise(exported.graph, exported.isTraining);
  equalSizes = normal.equalSizes;
  // A call leaves what it is given as it was.
  for (const ProgramInput &input : exported.inputs)
    if (auto meta = normal.tensors.find(input.value); meta != normal.tensors.end() && isFloatType(meta->second.type) &&
                                                      llvm::is_contained(normal.changed, input.value))
      throw Refusal{"the model changes '" + (input.target.empty() ? input.value : input.target) +
                    "' in place; return the new value instead"};
  // What sizes follow from: the shapes of inputs.
  bool isAnySizeOpen = false;
  std::string shapes;
  std::vector<std::pair<SymbolicExpr, std::string>> sources;
  for (const ProgramInput &input : exported.inputs) {
    auto meta = normal.tensors.find(input.value);
    if (input.kind != ProgramInput::Kind::User || meta == normal.tensors.end())
      continue;
    std::string shape;
    for (auto [i, size] : llvm::enumerate(meta->second.sizes)) {
      std::string source = "size(" + nameOfInput(input) + ", " + std::to_string(i) + ")";
      if (const std::string symbol = expression(size).str(); isCounted(symbol) || isComputed(symbol))
        countedSizes.try_emplace(symbol, withinRange(expression(size), source));
      else
        learnSymbol(expression(size), withinRange(expression(size), source));
      sources.push_back({expression(size), source});
      isAnySizeOpen |= !expression(size).getFactors().empty();
      shape += (i ? ", " : "") + size.text;
    }
    shapes += (shapes.empty() ? "'" : ", '") + input.value + "' [" + shape + "]";
  }
  solveSizes(sources);
  // An object for one size. Most often that is not what was wanted.
  if (!shapes.empty() && !isAnySizeOpen)
    program.fixedSizes = "the sizes of all inputs are fixed: " + shapes +
                         "; export with dynamic_shapes, which say what differs from graph to graph";
  std::map<std::string, Tensor> stored; // by where they lie
  for (const ProgramInput &input : exported.inputs) {
    auto meta = normal.tensors.find(input.value);
    if (meta == normal.tensors.end())
      continue;
    std::string name = nameOfInput(input);
    std::vector<SymbolicExpr> shape = sizesOf(input.value);
    if (!isFloatType(meta->second.type)) {
      IndexLists tensor;
      auto add = [&](const std::string &text, const SymbolicExpr &length, bool isList) {
        tensor.components.push_back(std::make_shared<IndexExpr>(
            IndexExpr{text, isList, length, meta->second.type == ScalarType::Bool, "", {}}));
      };
      if (input.kind != ProgramInput::Kind::User) {
        if (exported.tensors.count(input.target) && isUsed(input.value))
          indices[input.value] =
              indexSources.function(storedIntegers(input, shape, meta->second.type == ScalarType::Bool));
        continue;
      }
      if (std::optional<IndexTensor> flat = flatInput(name, shape, meta->second.type == ScalarType::Bool)) {
        if (flat->value)
          indices[input.value] = *flat;
        continue;
      }
      // The axis that is long is one whose size is not fixed, or the last.
      size_t longest = shape.size();
      for (auto [i, size] : llvm::enumerate(shape))
        if (!size.getFactors().empty())
          longest = i;
      if (longest == shape.size() && !shape.empty())
        longest = shape.size() - 1;
      for (auto [i, size] : llvm::enumerate(shape))
        tensor.dims.push_back({i == longest              ? IndexDim::Kind::Long
                               : size == SymbolicExpr(1) ? IndexDim::Kind::Unit
                                                         : IndexDim::Kind::Small,
                               size});
      if (shape.empty())
        add(name, 0, false);
      else if (shape.size() == 1)
        add(name, shape[0], true);
      else
        for (int64_t i = 0; i < shape[1 - longest].getNumber(); ++i)
          add(longest == 1 ? name + "[" + std::to_string(i) + "]" : "column(" + name + ", " + std::to_string(i) + ")",
              shape[longest], true);
      indices[input.value] = indexSources.function(tensor);
      continue;
    }
    Operation operation;
    operation.op = input.kind == ProgramInput::Kind::User        ? Op::Input
                   : input.kind == ProgramInput::Kind::Parameter ? Op::Param
                                                                 : Op::State;
    bool isUser = operation.op == Op::Input;
    // Tied parameters are one, called by the first of their names, and its gradient is the sum of all uses'.
    std::string place = operation.op == Op::Param ? placeOf(input.target) : "";
    if (auto first = stored.find(place); !place.empty() && first != stored.end()) {
      tensors[input.value] = first->second;
      continue;
    }
    operation.text = isUser ? name : input.target;
    Tensor tensor;
    // One number that tracing has found in the program's text.
    if (input.kind == ProgramInput::Kind::Constant && shape.empty())
      if (std::optional<double> number = storedNumber(input.target)) {
        tensors[input.value] = scalar(*number);
        continue;
      }
    // Several axes of elements are those of one space.
    if (GridShape grid = leadingGrid(shape, /*isInput=*/true);
        gridOptions.areFollowed && isUser && grid.grid().size() > 1) {
      operation.space = spaceOf(pointsOf(grid.grid()));
      Grid own{grid, {{{Dim::Kind::Space, operation.space, 0}}, -1}};
      size_t last = shape.size();
      while (!grid.isOfGrid[last - 1])
        --last;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (grid.isOfGrid[axis])
          continue;
        own.rows.dims.emplace_back();
        if (axis < last) // of size 1, between axes of elements, whose product counts them
          continue;
        operation.axes.push_back(program.newAxis(shape[axis].getNumber(), axis + 1 == shape.size() ? "in" : ""));
        own.rows.dims.back() = {Dim::Kind::Axis, operation.axes.back(), shape[axis].getNumber()};
      }
      own.rows.value = program.add(operation);
      for (Dim &dim : own.rows.dims)
        if (dim.kind == Dim::Kind::Axis && dim.size == 1) {
          own.rows.value = program.pick(own.rows.value, dim.id, 0);
          dim = Dim();
        }
      if (!rowCount)
        rowCount = gridOptions.isBatchLast ? grid.grid().back() : grid.grid().front();
      for (size_t axis = 0; gridOptions.areChannelsInside && axis < own.shape.sizes.size(); ++axis)
        if (const SymbolicExpr &size = own.shape.sizes[axis]; own.shape.isOfGrid[axis] && size.getFactors().empty() &&
                                                              gridOptions.sizes.count(size.getNumber()) == 0 &&
                                                              size.getNumber() <= kMostPicked)
          own = outOfGrid(std::move(own), axis);
      program.joined.push_back("input '" + name + "' (" + std::to_string(grid.grid().size()) + " axes)");
      grids[input.value] = std::move(own);
      continue;
    }
    for (auto [i, size] : llvm::enumerate(shape)) {
      if (size.getFactors().empty()) {
        std::string hint = isUser ? (i + 1 == shape.size() ? "in" : "") : axisHint(input.target, i, shape.size());
        int axis = program.newAxis(size.getNumber(), hint);
        operation.axes.push_back(axis);
        tensor.dims.push_back({Dim::Kind::Axis, axis, size.getNumber()});
        continue;
      }
      if (operation.space >= 0)
        throw Refusal{"input '" + input.value +
                      "' has two axes whose sizes are not fixed, such as a matrix over all "
                      "pairs of nodes; give it as a list of edges"};
      operation.space = spaceOf(size);
      tensor.dims.push_back({Dim::Kind::Space, operation.space, 0});
      if (i != 0)
        throw Refusal{"input '" + input.value + "': expected the axis whose size is not fixed to be the first"};
    }
    tensor.value = program.add(operation);
    // The text declares the axes of size 1, and then drops them.
    for (Dim &dim : tensor.dims)
      if (dim.kind == Dim::Kind::Axis && dim.size == 1) {
        tensor.value = program.pick(tensor.value, dim.id, 0);
        dim = Dim();
      }
    tensors[input.value] = tensor;
    if (!place.empty())
      stored.emplace(place, tensor);
  }
  const std::set<const NormalNode *> unread = unreadNodes();
  for (const NormalNode &node : normal.nodes) {
    current = &node;
    program.node = node.origin;
    try {
      runNode(node);
    } catch (const Refusal &) {
      if (!unread.count(&node)) // such as what only an assertion was made of
        throw;
    }
  }
  current = nullptr;
  program.node = nullptr;
  return finish();
}

/// The nodes whose results nothing reads that leads to an output.
std::set<const NormalNode *> Recover::unreadNodes() const {
  std::set<std::string> read;
  auto note = [&](const Argument &argument) {
    if (auto *value = std::get_if<ValueName>(&argument))
      read.insert(value->name);
    else if (auto *list = std::get_if<ValueNames>(&argument))
      read.insert(list->names.begin(), list->names.end());
    else if (auto *numbers = std::get_if<Integers>(&argument))
      for (const auto &each : numbers->numbers)
        if (auto *value = std::get_if<ValueName>(&each))
          read.insert(value->name);
  };
  llvm::for_each(normal.outputs, note);
  std::set<const NormalNode *> result;
  for (const NormalNode &node : llvm::reverse(normal.nodes)) {
    bool isRead = node.outputs.empty() ||
                  llvm::any_of(node.outputs, [&](const std::string &output) { return read.count(output) != 0; });
    if (isRead)
      for (auto &[name, argument] : node.arguments)
        note(argument);
    else
      result.insert(&node);
  }
  return result;
}

/// A constant of one floating-point number; nothing if it is of another type, or no number.
std::optional<double> Recover::storedNumber(const std::string &name) const {
  auto stored = exported.tensors.find(name);
  if (stored == exported.tensors.end() || !stored->second.storage)
    return std::nullopt;
  const StoredTensor &tensor = stored->second;
  auto read = [&](auto number) -> std::optional<double> {
    std::memcpy(&number, tensor.storage->data() + size_t(tensor.offset) * sizeof number, sizeof number);
    return std::isfinite(double(number)) ? std::optional<double>(double(number)) : std::nullopt;
  };
  return tensor.meta.type == ScalarType::Float32   ? read(float())
         : tensor.meta.type == ScalarType::Float64 ? read(double())
                                                   : std::nullopt;
}

void Recover::runNode(const NormalNode &node) {
  if (!node.refusal.empty())
    throw Refusal{node.refusal};
  checkTypes(node);
  bool isPython = node.overload == pythonOverload && (node.outputs.empty() || !normal.tensors.count(node.outputs[0]));
  if (isPython)
    computeScalar(node);
  if (node.op == "sym_size" || node.op == "sym_numel" || isPython)
    return; // sizes are in the file
  checkRows(node);
  if (node.op == "torch.ops.gnnc.drawn.default")
    return opDrawn(node);
  if (maskInRows(node) || fillInRows(node) || takeFromRows(node) || runGrid(node))
    return;
  if (onlyIntegers(node))
    return runIntegers(node);
  auto handler = handlers().find(node.op);
  if (handler == handlers().end()) {
    if (StringRef reason = reasonAgainst(node.op); !reason.empty())
      throw Refusal{"operator '" + node.origin->target + "' " + reason.str()};
    throw Refusal{"operator '" + node.origin->target +
                  "' has no meaning in gnnc: write it with others, or keep it out of what is compiled"};
  }
  (this->*handler->second)(node);
}

RecoveredProgram Recover::finish() {
  size_t number = 0;
  for (auto [i, output] : llvm::enumerate(exported.outputs)) {
    auto *name = i < normal.outputs.size() ? std::get_if<ValueName>(&normal.outputs[i]) : nullptr;
    if (output.kind != ProgramOutput::Kind::User && output.kind != ProgramOutput::Kind::Loss) {
      // Counters, and running statistics, which are of use in training only.
      if (name && tensors.count(name->name))
        throw Refusal{"the model changes '" + output.target + "' in place; return the new value instead"};
      continue;
    }
    // What is None or a number of Python's is no output of the object.
    bool isTensor = name && normal.tensors.count(name->name);
    if (!isTensor && (i >= normal.outputs.size() || !name))
      continue;
    if (!isTensor)
      throw Refusal{"output " + std::to_string(number) + " ('" + name->name + "') is a size; return tensors"};
    if (!normal.outputRefusals[i].empty())
      throw Refusal{normal.outputRefusals[i]};
    // Integers and truth values are given as numbers, which have no gradient.
    bool isOnGrid = grids.count(name->name) != 0;
    if (auto plain = tensors.find(name->name); gridOptions.areFollowed && plain != tensors.end())
      for (size_t dim = 1; dim < plain->second.dims.size(); ++dim)
        isOnGrid |= plain->second.dims[dim].kind == Dim::Kind::Space && plain->second.dims[dim].pairs < 0;
    Tensor tensor = isOnGrid ? outputOnGrid(name->name) : tensorOf(name->name);
    if (isOnGrid) {
      size_t axes = sizesOf(name->name).size() + 1 - tensor.dims.size();
      program.joined.push_back("result " + std::to_string(number) + " (" + std::to_string(axes) + " axes)");
    }
    const std::vector<Dim> all = opened(tensor.dims);
    if (llvm::any_of(all, [&](const Dim &each) { return each.pairs >= 0 && resides(tensor, each); }))
      throw Refusal{"output " + std::to_string(number) + ", of shape " + shapeText(tensor.dims) +
                    ", has a number for every pair of elements; return what is summed up along one of its axes"};
    if (llvm::any_of(all, [](const Dim &each) { return each.layout >= 0; }))
      throw Refusal{"output " + std::to_string(number) +
                    " has the elements in rows of equal length; return the elements themselves, rows[mask]"};
    if (program.operations[size_t(tensor.value)].space >= 0 &&
        llvm::none_of(opened(tensor.dims), [&](const Dim &each) { return resides(tensor, each); }))
      throw Refusal{"output " + std::to_string(number) +
                    " has a number for each of some elements, but no axis of them; this is a bug in gnnc"};
    for (size_t dim = 0; dim < tensor.dims.size(); ++dim) {
      Dim &each = tensor.dims[dim];
      if (each.kind == Dim::Kind::Group)
        throw Refusal{"output " + std::to_string(number) + " has an axis of size " + sizeOf(each).str() +
                      ", which a view made of others; return it in the shape before the view"};
      if (each.kind == Dim::Kind::Space) {
        if (dim != 0 && !isFloatType(normal.tensors.at(name->name).type))
          throw Refusal{"output " + std::to_string(number) + " ('" + name->name +
                        "') is a list of edges: whoever calls the object has the graph; return the numbers alone"};
        if (dim != 0)
          throw Refusal{"output " + std::to_string(number) + ": expected the axis of size " + sizeOf(each).str() +
                        " to be the first"};
        if (!resides(tensor, each))
          tensor.value = program.binary("*", tensor.value, onesOf(each.id));
        continue;
      }
      tensor = withAxis(tensor, dim);
    }
    // An axis of size 1 may have taken the place of the one that it was split from.
    std::vector<int> order;
    for (const Dim &each : tensor.dims)
      if (each.kind == Dim::Kind::Axis)
        order.push_back(each.id);
    program.outputs.push_back({name->name, program.permute(tensor.value, order)});
    ++number;
  }
  dropMarks();
  tablesAsEdges();
  deriveSpaces();
  if (splitOpenUnions())
    deriveSpaces();
  for (RecoveredSpace &space : program.spaces)
    if (space.extent < 0) {
      space.source = isKnown(space.size) ? sourceOf(space.size) : "";
    }
  return std::move(program);
}
