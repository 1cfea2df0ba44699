//===- Object.cpp - The object of a force field ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Object.h"

#include <algorithm>
#include <dlfcn.h>
#include <nlohmann/json.hpp>
#include <stdexcept>

using namespace gnnc::hosts;
using nlohmann::json;

static const char *const kSymbols[] = {
    "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si", "P",  "S",  "Cl",
    "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se",
    "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb",
    "Te", "I",  "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er",
    "Tm", "Yb", "Lu", "Hf", "Ta", "W",  "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At",
    "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U",  "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No",
    "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og"};

int gnnc::hosts::atomicNumber(const std::string &symbol) {
  auto found = std::find(std::begin(kSymbols), std::end(kSymbols), symbol);
  return found == std::end(kSymbols) ? 0 : static_cast<int>(found - std::begin(kSymbols)) + 1;
}

static std::string symbolOf(int number) {
  bool isKnown = number >= 1 && number <= static_cast<int>(std::size(kSymbols));
  return isKnown ? kSymbols[number - 1] : "element " + std::to_string(number);
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

std::string Roles::of(const Value &input) const {
  auto found = arguments.find(input.source.empty() ? input.name : input.source);
  return found == arguments.end() ? "" : found->second;
}

std::string Roles::generic(const std::string &source) const {
  std::string result, word;
  for (char c : source + '\0') {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
      continue;
    }
    auto found = arguments.find(word);
    result += found == arguments.end() ? word : found->second;
    word.clear();
    if (c)
      result += c;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Object::Object(const std::string &path, const std::string &device, int threads) : path(path) {
  size_t colon = device.find(':');
  std::string kind = device.substr(0, colon), number = colon == std::string::npos ? "" : device.substr(colon + 1);
  bool isNumber = !number.empty() && number.size() < 4 && std::all_of(number.begin(), number.end(), ::isdigit);
  if ((kind != "cpu" && kind != "cuda") || (colon != std::string::npos && (kind == "cpu" || !isNumber)))
    throw std::runtime_error("device: expected cpu, cuda or cuda:NUMBER, found '" + device + "'");
  deviceType = kind == "cuda" ? 2 : 1;
  // A name without a slash would be looked for where the system's libraries are.
  library = dlopen((path.find('/') == std::string::npos ? "./" + path : path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw std::runtime_error(std::string("cannot load the model: ") + dlerror());
  auto model = reinterpret_cast<gnnc_model_function>(dlsym(library, "gnnc_model"));
  if (!model)
    throw std::runtime_error("'" + path + "' is not a model compiled by gnnc");
  functions = model();
  if (functions->abi_version != GNNC_ABI_VERSION)
    throw std::runtime_error("'" + path + "': expected version " + std::to_string(GNNC_ABI_VERSION) +
                             " of the C interface, found " + std::to_string(functions->abi_version));
  describe();
  gnnc_options options = {};
  options.struct_size = sizeof options;
  options.threads = threads;
  options.device_type = deviceType;
  options.device_id = isNumber ? std::stoi(number) : 0;
  gnnc_error error;
  check(functions->open(&options, &opened, &error), error);
  if (deviceType == 2)
    check(functions->create_stream(opened, &queue, &error), error);
}

Object::~Object() {
  if (opened) {
    functions->destroy_stream(opened, queue);
    functions->close(opened);
  }
  // The library stays: its threads and the driver's may still be ending.
}

static Value readValue(const json &item, const std::string &type) {
  Value value;
  value.name = item.at("name");
  if (item.contains("space") && item["space"].is_string())
    value.space = item["space"];
  if (item.contains("source") && item["source"].is_string())
    value.source = item["source"];
  for (const json &dim : item.at("dims"))
    value.dims.push_back(dim);
  std::string stored = item.contains("dtype") && item["dtype"].is_string() ? item["dtype"].get<std::string>() : type;
  if (stored != "f32" && stored != "f64")
    throw std::runtime_error("'" + value.name + "' is stored as " + stored + ": expected f32 or f64");
  value.isDouble = stored == "f64";
  return value;
}

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void Object::describe() {
  size_t length = 0;
  const char *text = functions->describe(&length);
  json document = json::parse(text, text + length);
  auto metadata = document.find("metadata");
  if (metadata == document.end() || !metadata->contains("force_field"))
    throw std::runtime_error("'" + path +
                             "' is no force field: expected an object that gnnc.export(..., forces=...) wrote");
  json field = json::parse(metadata->at("force_field").get<std::string>());
  known.arguments = field.at("arguments").get<std::map<std::string, std::string>>();
  known.cutoff = field.value("cutoff", 0.0);
  known.ignoresLongerPairs = field.value("ignores_longer_pairs", false);
  known.energies = field.value("energies", false);
  known.virial = field.value("virial", false);
  known.pairForces = field.value("pair_forces", false);
  known.elements = field.value("elements", std::vector<int>());

  std::string type = document.at("dtype");
  for (const json &item : document.at("spaces")) {
    if (item.at("kind") != "root")
      continue;
    Space space;
    space.name = item.at("name");
    space.source = item.value("source", "");
    if (space.source.empty() && endsWith(space.name, ".halo"))
      space.role = Space::Role::Halo;
    if (space.source.empty() && endsWith(space.name, ".send"))
      space.role = Space::Role::Send;
    spaceOfPairs[space.name] = isOfPairs(space);
    rootSpaces.push_back(std::move(space));
  }
  for (const json &item : document.at("maps"))
    if (item.at("kind") == "root")
      rootMaps.push_back({item.at("name"), item.value("source", "")});
  for (const json &item : document.at("inputs"))
    givenInputs.push_back(readValue(item, type));
  for (const Value &input : givenInputs)
    if (known.of(input).empty())
      throw std::runtime_error("'" + path + "': hosts have nothing to give as input '" + input.name + "'");
  for (const json &item : document.at("outputs"))
    outputs[item.at("name")] = readValue(item, type);
  distributed = document.contains("distributed");
  for (const json &kernel : document.at("kernels"))
    transfersMeanwhile |= kernel.value("kind", "") == "await";
}

void Object::check(gnnc_status status, const gnnc_error &error) const {
  if (status != GNNC_OK)
    throw std::runtime_error("'" + path + "': " + error.message);
}

const Value &Object::output(const std::string &name) const {
  auto found = outputs.find(name);
  if (found == outputs.end())
    throw std::runtime_error("'" + path + "' has no output '" + name + "'");
  return found->second;
}

//===----------------------------------------------------------------------===//
// A graph from pairs
//===----------------------------------------------------------------------===//

bool Object::isOfPairs(const Space &space) const {
  std::string source = known.generic(space.source);
  return source == "size(edge_index, 1)" || source == "size(shifts, 0)" || source == "size(unit_shifts, 0)";
}

bool Object::isOfPairs(const std::string &space) const {
  auto found = spaceOfPairs.find(space);
  return found != spaceOfPairs.end() && found->second;
}

int64_t Object::extentOf(const Space &space, const Pairs &pairs) const {
  auto sum = [](const std::vector<int64_t> &counts) {
    int64_t result = 0;
    for (int64_t count : counts)
      result += count;
    return result;
  };
  if (space.role == Space::Role::Halo)
    return sum(pairs.haloCounts);
  if (space.role == Space::Role::Send)
    return sum(pairs.sendCounts);
  if (isOfPairs(space))
    return static_cast<int64_t>(pairs.neighbour.size());
  std::string source = known.generic(space.source);
  if (source == "size(positions, 0)" || source == "size(types, 0)" || source == "size(numbers, 0)")
    return pairs.atoms;
  throw std::runtime_error("'" + path + "': space '" + space.name + "' has '" + space.source +
                           "' elements, which hosts do not follow");
}

std::vector<int64_t> Object::types(const Pairs &pairs) const {
  std::vector<int64_t> result;
  for (int element : pairs.elements) {
    auto found = std::find(known.elements.begin(), known.elements.end(), element);
    if (found == known.elements.end()) {
      std::string names;
      for (int each : known.elements)
        names += (names.empty() ? "" : ", ") + symbolOf(each);
      throw std::runtime_error("the model does not know " + symbolOf(element) + ": expected one of " + names);
    }
    result.push_back(found - known.elements.begin());
  }
  return result;
}

GraphData Object::graphData(const Pairs &pairs) const {
  GraphData data;
  data.lists["edge_index[0]"] = pairs.neighbour;
  data.lists["edge_index[1]"] = pairs.centre;
  std::vector<int64_t> all(pairs.elements.begin(), pairs.elements.end());
  std::map<std::string, std::vector<int64_t>> ofAtoms = {{"numbers", all}};
  if (!known.elements.empty())
    ofAtoms["types"] = types(pairs);
  for (const auto &[source, list] : ofAtoms)
    data.lists[source].assign(list.begin(), list.begin() + pairs.atoms);
  for (const Map &map : rootMaps) {
    if (map.source.empty() && endsWith(map.name, ".sent"))
      data.lists[map.name] = pairs.sent;
    // `m.halo`: targets of the map m for the atoms of the halo.
    for (const Map &other : rootMaps)
      if (map.source.empty() && map.name == other.name + ".halo") {
        auto list = ofAtoms.find(known.generic(other.source));
        if (list != ofAtoms.end())
          data.lists[map.name].assign(list->second.begin() + pairs.atoms, list->second.end());
      }
  }
  return data;
}

std::vector<double> Object::numbersOf(const Value &input, const Pairs &pairs) const {
  std::string role = known.of(input);
  std::vector<int64_t> numbers;
  if (role == "types")
    numbers = types(pairs);
  else if (role == "numbers")
    numbers.assign(pairs.elements.begin(), pairs.elements.end());
  else
    throw std::runtime_error("'" + path + "': this host does not give '" + role + "' (input '" + input.name +
                             "'): write the model with shifts instead of cells");
  return {numbers.begin(), numbers.begin() + pairs.atoms};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Memory::Memory(const Object &object, size_t bytes) : object(&object), size(bytes) {
  gnnc_error error;
  object.check(object.api().allocate(object.context(), bytes, &memory, &error), error);
}

Memory &Memory::operator=(Memory &&other) noexcept {
  std::swap(object, other.object);
  std::swap(memory, other.memory);
  std::swap(size, other.size);
  return *this;
}

Memory::~Memory() {
  if (object)
    object->api().release(object->context(), memory);
}

void Object::copyTo(const Memory &to, const void *from, size_t bytes) const {
  gnnc_error error;
  if (bytes)
    check(functions->copy(opened, to.data(), deviceType, from, 1, bytes, queue, &error), error);
}

void Object::copyFrom(const Memory &from, void *to, size_t bytes) const {
  gnnc_error error;
  if (bytes)
    check(functions->copy(opened, to, 1, from.data(), deviceType, bytes, queue, &error), error);
  check(functions->synchronize(opened, queue, &error), error);
}
