//===- Graph.cpp - One graph, and several as one --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>

using namespace gnnc::triton;

static std::string textOf(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

uint64_t gnnc::triton::productOf(const std::vector<int64_t> &shape, uint64_t width, const std::string &what) {
  constexpr uint64_t most = std::numeric_limits<int64_t>::max();
  uint64_t product = width;
  bool isEmpty = false;
  for (int64_t size : shape) {
    if (size < 0)
      throw std::runtime_error(what + ": expected sizes of 0 or more, found shape " + textOf(shape));
    isEmpty |= size == 0;
    uint64_t factor = std::max<uint64_t>(static_cast<uint64_t>(size), 1);
    if (product > most / factor)
      throw std::runtime_error(what + ": expected a shape of less than 2^63 bytes, found " + textOf(shape));
    product *= factor;
  }
  return isEmpty ? 0 : product;
}

int64_t Tensor::numbers() const { return static_cast<int64_t>(productOf(shape, 1, "a tensor")); }

/// Integers of `length` from `begin` on.
static std::vector<int64_t> integersOf(const Tensor &tensor, int64_t begin, int64_t length) {
  std::vector<int64_t> result(static_cast<size_t>(length));
  if (tensor.dtype == "i64")
    std::memcpy(result.data(), tensor.data + begin * 8, result.size() * 8);
  else
    for (size_t i = 0; i < result.size(); ++i) {
      int32_t number = 0;
      std::memcpy(&number, tensor.data + (static_cast<size_t>(begin) + i) * 4, 4);
      result[i] = number;
    }
  return result;
}

static bool areIntegers(const Tensor &tensor) { return tensor.dtype == "i32" || tensor.dtype == "i64"; }

static void expectIntegers(const std::string &name, const Tensor &tensor) {
  if (!areIntegers(tensor))
    throw std::runtime_error("input '" + name + "': expected INT32 or INT64, found " + tensor.dtype);
}

/// Integers in the type of an input, which must be f32 or f64.
static std::vector<char> asFloats(const std::vector<int64_t> &numbers, const Value &value) {
  if (value.dtype != "f32" && value.dtype != "f64")
    throw std::runtime_error("input '" + value.name + "': expected values of type " + value.dtype + ", found integers");
  bool isDouble = value.dtype == "f64";
  std::vector<char> result(numbers.size() * (isDouble ? 8 : 4));
  for (size_t i = 0; i < numbers.size(); ++i) {
    double wide = static_cast<double>(numbers[i]);
    float narrow = static_cast<float>(numbers[i]);
    isDouble ? std::memcpy(&result[i * 8], &wide, 8) : std::memcpy(&result[i * 4], &narrow, 4);
  }
  return result;
}

/// Extents as they become known, and by what.
struct GraphReader::Reading {
  const Signature &signature;
  const std::map<std::string, Tensor> &tensors;
  Graph graph;
  std::vector<std::string> known; ///< what gave the extent of each space; empty: nothing yet
  std::vector<std::optional<std::vector<int64_t>>> targets;

  Reading(const Signature &signature, const std::map<std::string, Tensor> &tensors)
      : signature(signature), tensors(tensors), known(signature.spaces().size()), targets(signature.maps().size()) {
    graph.extents.resize(signature.spaces().size());
    graph.maps.resize(signature.maps().size());
    graph.inputs.resize(signature.inputs().size());
  }

  void setExtent(size_t space, int64_t extent, const std::string &by) {
    if (!known[space].empty() && graph.extents[space] != extent)
      throw std::runtime_error("space '" + signature.spaces()[space].name + "' has " +
                               std::to_string(graph.extents[space]) + " elements by " + known[space] + " and " +
                               std::to_string(extent) + " by " + by);
    if (extent < 0 || extent > kMostElements)
      throw std::runtime_error("space '" + signature.spaces()[space].name + "': expected 0 to 2^31 - 2 elements by " +
                               by + ", found " + std::to_string(extent));
    graph.extents[space] = extent;
    known[space] = by;
  }
  void addTargets(size_t map, std::vector<int64_t> numbers, const std::string &by) {
    if (targets[map])
      throw std::runtime_error("map '" + signature.maps()[map].name + "' is given twice, the second time by " + by);
    setExtent(*signature.maps()[map].from.root, static_cast<int64_t>(numbers.size()), by);
    targets[map] = std::move(numbers);
  }

  void add(const Argument &argument, const Tensor &tensor);
  void addValue(const Argument &argument, const Tensor &tensor);
  void fillIn();
  void checkTargets();
  void checkInputs();
};

void GraphReader::Reading::addValue(const Argument &argument, const Tensor &tensor) {
  const Value &value = signature.inputs()[*argument.index];
  std::vector<int64_t> shape = tensor.shape, expected = argument.dims;
  bool fits = shape.size() == expected.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = expected[i] < 0 || expected[i] == shape[i];
  if (!fits)
    throw std::runtime_error("input '" + argument.name + "': expected shape " + textOf(expected) + ", found " +
                             textOf(shape));
  Graph::Values &values = graph.inputs[*argument.index];
  values.isGiven = true;
  if (areIntegers(tensor)) {
    values.own = asFloats(integersOf(tensor, 0, tensor.numbers()), value);
    values.data = values.own.data();
  } else if (tensor.dtype == value.dtype) {
    values.data = tensor.data;
  } else {
    throw std::runtime_error("input '" + argument.name + "': expected " + value.dtype + ", found " + tensor.dtype);
  }
  values.bytes = value.rowBytes() * static_cast<size_t>(value.place.isWhole() ? 1 : shape[0]);
  // In an exported model sources say what gives an extent.
  if (value.place.root && !signature.isExported())
    setExtent(*value.place.root, shape[0], "input '" + argument.name + "'");
}

void GraphReader::Reading::add(const Argument &argument, const Tensor &tensor) {
  if (argument.kind == Argument::Kind::Value)
    return addValue(argument, tensor);
  expectIntegers(argument.name, tensor);
  std::string by = "input '" + argument.name + "'";
  auto expectShape = [&](bool fits, const char *shape) {
    if (!fits)
      throw std::runtime_error(by + ": expected shape " + shape + ", found " + textOf(tensor.shape));
  };
  switch (argument.kind) {
  case Argument::Kind::Map:
    expectShape(tensor.shape.size() == 1, "[E]");
    return addTargets(*argument.index, integersOf(tensor, 0, tensor.numbers()), by);
  case Argument::Kind::Pair: {
    expectShape(tensor.shape.size() == 2 && tensor.shape[0] == 2, "[2, E]");
    int64_t length = tensor.shape[1];
    if (argument.index)
      addTargets(*argument.index, integersOf(tensor, 0, length), by);
    if (argument.second)
      addTargets(*argument.second, integersOf(tensor, length, length), by);
    return;
  }
  case Argument::Kind::Count:
    expectShape(tensor.numbers() == 1, "[1]");
    return setExtent(*argument.index, integersOf(tensor, 0, 1)[0], by);
  default:
    return; // read by sources
  }
}

/// Spaces that nothing has said the size of, and maps into them that were left out.
void GraphReader::Reading::fillIn() {
  const std::vector<Map> &maps = signature.maps();
  for (size_t space = 0; space < known.size(); ++space) {
    if (!known[space].empty())
      continue;
    int64_t most = -1;
    bool isGiven = false, isOptional = true, isTarget = false;
    for (size_t i = 0; i < maps.size(); ++i) {
      if (maps[i].to.root != space)
        continue;
      isTarget = true;
      const Argument *argument = signature.find(maps[i].name);
      isOptional &= argument && argument->optional;
      isGiven |= targets[i].has_value();
      if (targets[i])
        for (int64_t target : *targets[i])
          most = std::max(most, target);
    }
    if (!isTarget || !isOptional)
      throw std::runtime_error("the number of elements of space '" + signature.spaces()[space].name +
                               "' is not known: expected input '" + signature.spaces()[space].name + ".count'");
    setExtent(space, isGiven ? most + 1 : 1, "the maps that lead to it");
  }
  for (size_t i = 0; i < maps.size(); ++i) {
    if (targets[i])
      continue;
    if (!maps[i].to.root || graph.extents[*maps[i].to.root] != 1 || !signature.find(maps[i].name)->optional)
      throw std::runtime_error("map '" + maps[i].name + "' is missing");
    targets[i].emplace(static_cast<size_t>(graph.extents[*maps[i].from.root]), 0);
  }
}

void GraphReader::Reading::checkTargets() {
  for (size_t i = 0; i < targets.size(); ++i) {
    const Map &map = signature.maps()[i];
    int64_t extent = map.to.root ? graph.extents[*map.to.root] : map.to.extent;
    int64_t least = map.partial ? -1 : 0;
    std::vector<int32_t> &made = graph.maps[i];
    made.resize(targets[i]->size());
    for (size_t k = 0; k < made.size(); ++k) {
      int64_t target = (*targets[i])[k];
      if (target < least || target >= extent)
        throw std::runtime_error("map '" + map.name + "': expected indices from " + std::to_string(least) + " to " +
                                 std::to_string(extent - 1) + " ('" + map.to.name + "' has " + std::to_string(extent) +
                                 " elements), found " + std::to_string(target) + " at " + std::to_string(k));
      made[k] = static_cast<int32_t>(target);
    }
  }
}

void GraphReader::Reading::checkInputs() {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value &value = signature.inputs()[i];
    const Graph::Values &values = graph.inputs[i];
    if (!values.isGiven) {
      if (!value.optional)
        throw std::runtime_error("input '" + value.name + "' is missing");
      continue;
    }
    int64_t rows = value.place.root         ? graph.extents[*value.place.root]
                   : value.place.isStatic() ? value.place.extent
                                            : 1;
    size_t row = value.rowBytes();
    if (values.bytes != row * static_cast<size_t>(rows))
      throw std::runtime_error("input '" + value.name + "': expected " + std::to_string(rows) + " rows (of '" +
                               value.place.name + "'), found " + std::to_string(row ? values.bytes / row : 0));
  }
}

GraphReader::GraphReader(const Signature &signature) : signature(signature) {
  if (!signature.isExported())
    return;
  for (const Space &space : signature.spaces())
    spaces.push_back(parseSource(space.source));
  for (const Map &map : signature.maps())
    maps.push_back(parseSource(map.source));
  for (const Value &input : signature.inputs())
    inputs.push_back(input.source.empty() ? Source() : parseSource(input.source));
  for (const Signature::OwnIntegers &each : signature.integers())
    own[each.name] = {each.shape, [&each] { return each.numbers; }};
}

Graph GraphReader::read(const std::map<std::string, Tensor> &tensors) const {
  Reading reading(signature, tensors);
  for (const auto &[name, tensor] : tensors) {
    const Argument *argument = signature.find(name);
    if (!argument)
      throw std::runtime_error("the model has no input '" + name + "'");
    reading.add(*argument, tensor);
  }
  if (!signature.isExported()) {
    reading.fillIn();
  } else {
    std::map<std::string, SourceTensor> given = own;
    for (const auto &[name, tensor] : tensors) {
      const Tensor &of = tensor;
      const std::string &called = name;
      given[name] = {tensor.shape, [&of, &called] {
                       expectIntegers(called, of);
                       return integersOf(of, 0, of.numbers());
                     }};
    }
    SourceValues values([&](const std::string &name) {
      auto found = given.find(name);
      return found == given.end() ? nullptr : &found->second;
    });
    for (size_t i = 0; i < spaces.size(); ++i) {
      const Integers &extent = values.evaluate(spaces[i]);
      if (extent.numbers.size() != 1)
        throw std::runtime_error(spaces[i].text + ": expected a number, found a list");
      reading.setExtent(i, extent.numbers[0], spaces[i].text);
    }
    for (size_t i = 0; i < maps.size(); ++i)
      reading.addTargets(i, values.evaluate(maps[i]).numbers, maps[i].text);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value &value = signature.inputs()[i];
      if (value.source.empty())
        continue;
      Graph::Values &made = reading.graph.inputs[i];
      made.own = asFloats(values.evaluate(inputs[i]).numbers, value);
      made.data = made.own.data();
      made.bytes = made.own.size();
      made.isGiven = true;
    }
  }
  reading.checkTargets();
  reading.checkInputs();
  return std::move(reading.graph);
}

bool gnnc::triton::agree(const Signature &signature, const Graph &a, const Graph &b) {
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const Graph::Values &left = a.inputs[i], &right = b.inputs[i];
    if (left.isGiven != right.isGiven)
      return false;
    if (!signature.inputs()[i].place.root && left.isGiven && std::memcmp(left.data, right.data, left.bytes) != 0)
      return false;
  }
  return true;
}

Graph gnnc::triton::join(const Signature &signature, const std::vector<const Graph *> &graphs) {
  Graph result;
  const Graph &first = *graphs[0];
  result.extents.assign(first.extents.size(), 0);
  result.maps.resize(first.maps.size());
  result.inputs.resize(first.inputs.size());
  for (size_t i = 0; i < first.extents.size(); ++i)
    for (const Graph *graph : graphs)
      if ((result.extents[i] += graph->extents[i]) > kMostElements)
        throw std::runtime_error("space '" + signature.spaces()[i].name + "' has more than 2^31 - 2 elements");
  for (size_t i = 0; i < first.maps.size(); ++i) {
    const Map &map = signature.maps()[i];
    std::vector<int32_t> &targets = result.maps[i];
    targets.reserve(static_cast<size_t>(result.extents[*map.from.root]));
    int32_t offset = 0;
    for (const Graph *graph : graphs) {
      for (int32_t target : graph->maps[i])
        targets.push_back(target < 0 ? target : target + offset);
      if (map.to.root)
        offset += static_cast<int32_t>(graph->extents[*map.to.root]);
    }
  }
  for (size_t i = 0; i < first.inputs.size(); ++i) {
    Graph::Values &values = result.inputs[i];
    values.isGiven = first.inputs[i].isGiven;
    if (!values.isGiven)
      continue;
    bool isShared = !signature.inputs()[i].place.root;
    for (const Graph *graph : graphs) {
      const Graph::Values &part = graph->inputs[i];
      values.own.insert(values.own.end(), part.data, part.data + part.bytes);
      if (isShared)
        break;
    }
    values.data = values.own.data();
    values.bytes = values.own.size();
  }
  return result;
}
