//===- Parameters.cpp - Parameters from files or at random ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParamsMap.h"
#include "gnnc/Host/ModelFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <cmath>

using namespace gnnc;

llvm::Expected<std::vector<int64_t>> gnnc::shapeOf(const TensorInfo &tensor, const ExtentLookup &extents) {
  std::vector<int64_t> shape;
  if (tensor.space) {
    std::optional<int64_t> extent = extents(*tensor.space);
    if (!extent)
      return llvm::createStringError("the extent of space '" + *tensor.space + "' of '" + tensor.name +
                                     "' is not known");
    shape.push_back(*extent);
  }
  llvm::append_range(shape, tensor.dims);
  return shape;
}

/// All parameters, then all states.
static std::vector<const TensorInfo *> parametersOf(const ModelInfo &model) {
  std::vector<const TensorInfo *> all;
  for (const TensorInfo &param : model.params)
    all.push_back(&param);
  for (const TensorInfo &state : model.states)
    all.push_back(&state);
  return all;
}

/// At most `limit` of the items, and how many more there are.
static std::string listSome(llvm::ArrayRef<std::string> items, size_t limit = 4) {
  std::string text = llvm::join(items.take_front(limit), ", ");
  return items.size() <= limit ? text : text + " and " + std::to_string(items.size() - limit) + " more";
}

static bool matches(llvm::StringRef pattern, llvm::StringRef name) {
  bool open = pattern.size() > 0 && pattern.front() == '*', more = pattern.size() > 1 && pattern.back() == '*';
  llvm::StringRef core = pattern.drop_front(open).drop_back(more);
  return open && more ? name.contains(core)
         : open       ? name.ends_with(core)
         : more       ? name.starts_with(core)
                      : name == core;
}

llvm::Expected<Parameters> Parameters::load(const ModelInfo &model, const ExtentLookup &extents,
                                            const SafetensorsFile &file, const ParamsMap *map,
                                            const ProgramInfo *program) {
  static const std::map<std::string, ParamRule> noRules;
  const std::map<std::string, ParamRule> &rules = map ? map->data().rules : noRules;
  std::vector<const TensorInfo *> wanted = parametersOf(model);
  auto isKnown = [all = wanted](llvm::StringRef name) {
    return llvm::any_of(all, [&](const TensorInfo *info) { return info->name == name; });
  };
  if (program)
    llvm::erase_if(wanted, [&](const TensorInfo *info) { return !llvm::is_contained(program->inputs, info->name); });
  for (const auto &[name, rule] : rules)
    if (!isKnown(name))
      return llvm::createStringError("parameters map '" + map->data().name + "': '" + name +
                                     "' is no parameter of model '" + model.name + "'");

  llvm::StringSet<> used;
  std::vector<std::string> missing;
  std::vector<ParamRule> found;
  std::vector<ParamShape> shapes;
  for (const TensorInfo *info : wanted) {
    llvm::Expected<std::vector<int64_t>> shape = shapeOf(*info, extents);
    if (!shape)
      return shape.takeError();
    auto rule = rules.find(info->name);
    ParamRule ownName;
    ownName.from = {info->name};
    bool isGiven = rule != rules.end() || file.find(info->name);
    if (info->embedded && !isGiven)
      continue;
    found.push_back(rule == rules.end() ? ownName : rule->second);
    for (const std::string &name : found.back().from) {
      used.insert(name);
      if (!file.find(name))
        missing.push_back("'" + info->name + "' " + formatShape(*shape) +
                          (name == info->name ? "" : " (from '" + name + "')"));
    }
    shapes.push_back({info, std::move(*shape)});
  }
  std::vector<std::string> extra;
  for (const FileTensor &tensor : file.tensors()) {
    bool ignored = map && llvm::any_of(map->data().ignored,
                                       [&](const std::string &pattern) { return matches(pattern, tensor.name); });
    if (!used.contains(tensor.name) && !ignored && !isKnown(tensor.name))
      extra.push_back("'" + tensor.name + "' " + formatShape(tensor.shape));
  }
  if (!missing.empty())
    return llvm::createStringError("'" + file.path() + "' has no tensor for parameter " + listSome(missing) +
                                   (extra.empty() ? "" : "; it has " + listSome(extra)));
  if (!extra.empty())
    return llvm::createStringError("'" + file.path() + "' has tensors that are no parameters of model '" + model.name +
                                   "': " + listSome(extra) +
                                   "; list them under \"ignore\" in a parameters map if meant");

  Parameters result;
  for (auto [shape, rule] : llvm::zip_equal(shapes, found)) {
    llvm::Expected<HostTensor> tensor = makeParameter(shape, shape.info->type, file, rule);
    if (!tensor)
      return tensor.takeError();
    result.list.push_back(std::move(*tensor));
  }
  return std::move(result);
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// SplitMix64: one step of the state, and its output.
static uint64_t nextRandom(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// FNV-1a, so that a parameter's numbers do not depend on which others there are.
static uint64_t hashName(llvm::StringRef name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

llvm::Expected<Parameters> Parameters::random(const ModelInfo &model, const ExtentLookup &extents, uint64_t seed) {
  Parameters result;
  auto addTensor = [&](const TensorInfo &info) -> llvm::Error {
    llvm::Expected<std::vector<int64_t>> shape = shapeOf(info, extents);
    if (!shape)
      return shape.takeError();
    llvm::Expected<HostTensor> tensor = HostTensor::create(info.name, info.type, *shape);
    if (!tensor)
      return tensor.takeError();
    result.list.push_back(std::move(*tensor));
    return llvm::Error::success();
  };
  for (const TensorInfo &param : model.params) {
    if (param.embedded)
      continue;
    if (llvm::Error error = addTensor(param))
      return std::move(error);
    const HostTensor &tensor = result.list.back();
    double first = param.dims.empty() ? 1 : double(param.dims[0]), others = 1;
    for (int64_t size : llvm::ArrayRef(param.dims).drop_front(param.dims.empty() ? 0 : 1))
      others *= double(size);
    double bound = param.dims.size() >= 2 ? std::sqrt(6 / (first + others)) : 1 / std::sqrt(std::max(first, 1.0));
    uint64_t state = seed ^ hashName(param.name);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      double unit = double(nextRandom(state) >> 11) * 0x1p-53;
      tensor.set(i, (2 * unit - 1) * bound);
    }
  }
  for (const TensorInfo &state : model.states) {
    if (state.embedded)
      continue;
    if (llvm::Error error = addTensor(state))
      return std::move(error);
    for (int64_t i = 0; i < result.list.back().elements(); ++i)
      result.list.back().set(i, state.fill);
  }
  return std::move(result);
}

llvm::Error Parameters::addEmbedded(const ModelFile &model, std::optional<llvm::ArrayRef<std::string>> names) {
  for (const TensorInfo *info : parametersOf(model.info())) {
    bool isThere = llvm::any_of(list, [&](const HostTensor &tensor) { return tensor.name() == info->name; });
    if (!info->embedded || isThere || (names && !llvm::is_contained(*names, info->name)))
      continue;
    llvm::Expected<HostTensor> copy = model.embedded(*info);
    if (!copy)
      return copy.takeError();
    list.push_back(std::move(*copy));
  }
  return llvm::Error::success();
}

llvm::Error Parameters::replace(llvm::StringRef name,
                                llvm::function_ref<llvm::Expected<HostTensor>(const HostTensor &)> change) {
  for (HostTensor &tensor : list) {
    if (tensor.name() != name)
      continue;
    llvm::Expected<HostTensor> changed = change(tensor);
    if (!changed)
      return changed.takeError();
    tensor = std::move(*changed);
  }
  return llvm::Error::success();
}

std::vector<gnnc_binding> Parameters::bindings() const {
  std::vector<gnnc_binding> all;
  for (const HostTensor &tensor : list)
    all.push_back(tensor.binding());
  return all;
}
