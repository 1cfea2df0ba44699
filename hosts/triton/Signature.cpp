//===- Signature.cpp - What a server gives a model and gets from it -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs can be one call if what is computed for one does not see the others. They share no element of a root space,
// and maps that come with them lead from each to itself. What is left are values that all elements have a part in:
// those of the whole graph and those on static spaces. So a kernel that writes such a value from values on other spaces
// keeps the model from joining, and so does an output that cannot be cut into graphs.
//
//===----------------------------------------------------------------------===//

#include "Signature.h"
#include "Source.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

using namespace gnnc::triton;
using nlohmann::json;

namespace {

std::string text(const json &item, const char *key) {
  auto found = item.find(key);
  return found != item.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The places of a description, by the name of a space.
class Places {
public:
  void add(const json &item, std::vector<Space> &roots, const std::set<std::string> &needs) {
    Place place;
    place.name = item.at("name");
    std::string kind = item.at("kind");
    if (kind == "root" && needs.count(place.name)) {
      place.root = roots.size();
      roots.push_back({place.name, text(item, "source")});
    } else if (kind == "static") {
      place.extent = item.at("extent");
    }
    known[place.name] = place;
  }
  Place of(const json &item, const char *key) const {
    std::string name = text(item, key);
    auto found = known.find(name);
    return found == known.end() ? Place() : found->second;
  }
  /// Of values that all elements may have a part in.
  bool isCommon(const json &name) const {
    if (!name.is_string())
      return true;
    auto found = known.find(name.get<std::string>());
    return found != known.end() && found->second.isStatic();
  }

private:
  std::map<std::string, Place> known;
};

Value readValue(const json &item, const std::string &type, const Places &places) {
  Value value;
  value.name = item.at("name");
  value.place = places.of(item, "space");
  value.source = text(item, "source");
  value.dims = item.at("dims").get<std::vector<int64_t>>();
  value.dtype = text(item, "dtype").empty() ? type : text(item, "dtype");
  value.optional = item.value("optional", false);
  return value;
}

std::vector<int64_t> decode(const std::string &base64) {
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<int64_t> numbers;
  uint32_t bits = 0;
  int known = 0;
  size_t bytes = 0;
  for (char c : base64) {
    size_t digit = digits.find(c);
    if (digit == std::string::npos)
      break;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    known += 6;
    if (known < 8)
      continue;
    known -= 8;
    if (bytes % 8 == 0)
      numbers.push_back(0);
    uint64_t byte = bits >> known & 0xff;
    numbers.back() = static_cast<int64_t>(static_cast<uint64_t>(numbers.back()) | byte << (8 * (bytes % 8)));
    ++bytes;
  }
  return numbers;
}

/// Why a kernel of `forward` keeps graphs from being one call; empty: it does not.
std::string whyAlone(const json &kernel, const Places &places) {
  auto touches = [&](const char *list, bool common) {
    const json &items = kernel.at(list);
    return std::any_of(items.begin(), items.end(), [&](const json &item) {
      return item.at("each") != 0 && places.isCommon(item.at("space")) == common;
    });
  };
  bool isOfGraph =
      touches("bytes_read", false) || touches("bytes_written", false) || !places.isCommon(kernel.at("over"));
  if (isOfGraph && touches("bytes_written", true))
    return "kernel '" + text(kernel, "name") + "' combines values of all elements";
  std::string kind = kernel.at("kind");
  if (kind != "sweep" && kind != "product" && kind != "keep" && !kernel.at("map").is_string())
    return "kernel '" + text(kernel, "name") + "' (" + kind + ") chooses among all elements";
  return "";
}

} // namespace

size_t Value::rowBytes() const {
  size_t bytes = dtype == "f64" ? 8 : dtype == "f32" ? 4 : 2;
  for (int64_t dim : dims)
    bytes *= static_cast<size_t>(dim);
  return bytes;
}

Signature::Signature(const std::string &description) {
  json document = json::parse(description);
  name = document.at("name");
  exported = document.value("exported", false);
  std::string type = document.at("dtype");
  if (document.contains("distributed"))
    throw std::runtime_error("model '" + name + "' is for several ranks: compile it without --distributed");

  const json *forward = nullptr;
  for (const json &program : document.at("programs"))
    if (program.at("name") == "forward")
      forward = &program;
  if (!forward)
    throw std::runtime_error("model '" + name + "' has no program 'forward'");
  auto needs = forward->at("needs").get<std::set<std::string>>();
  auto wanted = forward->at("inputs").get<std::set<std::string>>();

  Places places;
  for (const json &item : document.at("spaces"))
    places.add(item, rootSpaces, needs);
  for (const json &item : document.at("maps")) {
    if (item.at("kind") != "root" || !needs.count(item.at("name").get<std::string>()))
      continue;
    Map map{item.at("name"), text(item, "source"), places.of(item, "from"), places.of(item, "to"),
            item.value("partial", false)};
    if (!map.from.root || map.to.isDerived())
      throw std::runtime_error("model '" + name + "': map '" + map.name + "' leads from '" + map.from.name + "' to '" +
                               map.to.name + "': expected one from a space that comes with the graph to one, or to a " +
                               "static one");
    rootMaps.push_back(std::move(map));
  }
  for (const char *group : {"params", "states"})
    for (const json &item : document.at(group))
      if (wanted.count(item.at("name").get<std::string>()) && !item.value("embedded", false))
        throw std::runtime_error("model '" + name + "' has no values for parameter '" + text(item, "name") +
                                 "': compile it with --params FILE --embed");
  for (const json &item : document.at("inputs"))
    if (wanted.count(item.at("name").get<std::string>()))
      forwardInputs.push_back(readValue(item, type, places));
  for (const json &item : forward->at("outputs"))
    forwardOutputs.push_back(readValue(item, type, places));
  if (auto found = document.find("integers"); found != document.end())
    for (const json &item : *found)
      ownIntegers.push_back({item.at("name"), item.at("shape").get<std::vector<int64_t>>(), decode(item.at("base64"))});

  for (const Value &input : forwardInputs)
    if (input.place.isDerived())
      throw std::runtime_error("model '" + name + "': input '" + input.name + "' is on '" + input.place.name +
                               "', whose size follows from the graph: expected a space that comes with it");
  for (const Value &output : forwardOutputs)
    if (!output.place.root && alone.empty())
      alone = "output '" + output.name + "' is " +
              (output.place.isWhole() ? std::string("of the whole graph") : "on space '" + output.place.name + "'");
  for (const json &kernel : document.at("kernels")) {
    std::string function = kernel.at("function");
    deviceCode |= kernel.contains("launches");
    if (alone.empty() && function.substr(0, function.find('.')) == "forward")
      alone = ::whyAlone(kernel, places);
  }
  exported ? addExportedArguments() : addArguments();
}

const Argument *Signature::find(const std::string &argument) const {
  auto found = std::find_if(known.begin(), known.end(), [&](const Argument &each) { return each.name == argument; });
  return found == known.end() ? nullptr : &*found;
}

static std::vector<int64_t> shapeOf(const Value &value) {
  std::vector<int64_t> shape = value.dims;
  if (value.place.root)
    shape.insert(shape.begin(), -1);
  else if (value.place.isStatic())
    shape.insert(shape.begin(), value.place.extent);
  if (shape.empty()) // A server has no tensors without axes.
    shape.push_back(1);
  return shape;
}

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Names as those of `gnnc run` and the Python package: `edge_index` for `src` and `dst`, `R` for `R.src` and `R.dst`.
void Signature::addArguments() {
  auto isKnownFromValues = [&](size_t space) {
    return std::any_of(forwardInputs.begin(), forwardInputs.end(),
                       [&](const Value &input) { return input.place.root == space && !input.optional; });
  };
  auto startsMap = [&](size_t space) {
    return std::any_of(rootMaps.begin(), rootMaps.end(), [&](const Map &map) { return map.from.root == space; });
  };
  for (size_t i = 0; i < forwardInputs.size(); ++i) {
    const Value &input = forwardInputs[i];
    known.push_back({Argument::Kind::Value, input.name, input.dtype, shapeOf(input), i, {}, input.optional});
  }
  std::vector<Argument> singles;
  for (size_t i = 0; i < rootMaps.size(); ++i) {
    const Map &map = rootMaps[i];
    // A space that only this leads to has one element if it is left out: all nodes are of one graph.
    bool optional = map.to.root && !isKnownFromValues(*map.to.root) && !startsMap(*map.to.root) &&
                    isKnownFromValues(*map.from.root);
    std::string pair = map.name == "src" || map.name == "dst" ? "edge_index" : "";
    if (endsWith(map.name, ".src") || endsWith(map.name, ".dst"))
      pair = map.name.substr(0, map.name.size() - 4);
    std::string other = map.name == "etype" ? "edge_type" : map.name == "ntype" ? "node_type" : "";
    Argument single{Argument::Kind::Map, map.name, "i64", {-1}, i, {}, optional, pair.empty() && other.empty()};
    if (!other.empty())
      known.push_back({Argument::Kind::Map, other, "i64", {-1}, i, {}, optional});
    singles.push_back(std::move(single));
    if (pair.empty())
      continue;
    auto found = std::find_if(known.begin(), known.end(), [&](const Argument &each) {
      return each.kind == Argument::Kind::Pair && each.name == pair;
    });
    if (found == known.end())
      found = known.insert(known.end(), {Argument::Kind::Pair, pair, "i64", {2, -1}, {}, {}, optional});
    (endsWith(map.name, "src") ? found->index : found->second) = i;
  }
  known.insert(known.end(), singles.begin(), singles.end());
  for (size_t i = 0; i < rootSpaces.size(); ++i) {
    bool isFree = !isKnownFromValues(i) && !startsMap(i), optional = true;
    for (const Map &map : rootMaps)
      optional &= map.to.root != i || isKnownFromValues(*map.from.root);
    known.push_back(
        {Argument::Kind::Count, rootSpaces[i].name + ".count", "i64", {1}, i, {}, !isFree || optional, isFree});
  }
}

/// Those of the program that was exported: what its sources read, and inputs.
void Signature::addExportedArguments() {
  std::map<std::string, Reading> readings;
  auto read = [&](const char *what, const std::string &of, const std::string &source, bool isNeeded) {
    if (!source.empty())
      addReadings(parseSource(source), readings);
    else if (isNeeded)
      throw std::runtime_error("model '" + name + "': the description does not say what " + what + " '" + of +
                               "' comes from");
  };
  for (const Space &space : rootSpaces)
    read("space", space.name, space.source, true);
  for (const Map &map : rootMaps)
    read("map", map.name, map.source, true);
  for (const Value &input : forwardInputs)
    read("input", input.name, input.source, false);
  for (const OwnIntegers &own : ownIntegers)
    readings.erase(own.name);
  for (size_t i = 0; i < forwardInputs.size(); ++i) {
    const Value &input = forwardInputs[i];
    if (!input.source.empty())
      continue;
    auto reading = readings.find(input.name);
    bool areIntegers = reading != readings.end() && reading->second.numbers;
    known.push_back(
        {Argument::Kind::Value, input.name, areIntegers ? "i64" : input.dtype, shapeOf(input), i, {}, input.optional});
    readings.erase(input.name);
  }
  for (const auto &[argument, reading] : readings) {
    std::vector<int64_t> shape(std::max<size_t>(reading.axes, 1), -1);
    if (shape.size() == 2 && reading.rows > 0)
      shape[0] = std::max<int64_t>(reading.rows, 2);
    known.push_back({Argument::Kind::Integers, argument, "i64", shape, {}, {}, false});
  }
}
