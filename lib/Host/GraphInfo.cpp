//===- GraphInfo.cpp - What was chosen for a prepared graph ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

namespace gnnc {

using llvm::json::ObjectMapper;
using llvm::json::Path;
using llvm::json::Value;

static bool fromJSON(const Value &value, FunctionCost &result, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("function", result.function) && map.map("cost", result.cost) &&
         map.mapOptional("percent", result.percent);
}

static bool fromJSON(const Value &value, FunctionChoice &result, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("function", result.function) && map.map("chosen", result.chosen) && map.map("by", result.by) &&
         map.map("costs", result.costs);
}

static bool fromJSON(const Value &value, SharedIndex &result, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("maps", result.maps) && map.map("pointers", result.pointers) &&
         map.map("neighbours", result.neighbours);
}

static bool fromJSON(const Value &value, WorklistInfo &result, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("map", result.map) && map.map("owners", result.owners) && map.map("members", result.members) &&
         map.map("chunk", result.chunk) && map.map("items", result.items) &&
         map.map("heavy_owners", result.heavyOwners) && map.map("heavy_items", result.heavyItems) &&
         map.map("by_size", result.bySize);
}

static bool fromJSON(const Value &value, LaunchChoice &result, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("kernel", result.kernel) && map.map("least", result.least) && map.map("below", result.below) &&
         map.map("items", result.items) && map.map("blocks", result.blocks);
}

static bool fromJSON(const Value &value, SweepChoice &result, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("kernel", result.kernel) && map.map("function", result.function) &&
         map.map("map", result.map) && map.map("by", result.by) && map.map("launches", result.launches);
}

static bool fromJSON(const Value &value, std::pair<std::string, int64_t> &result, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("space", result.first) && map.map("extent", result.second);
}

template <typename T>
static bool listFromJSON(const Value &value, llvm::StringRef key, std::vector<T> &list, Path path) {
  const llvm::json::Array *items = value.getAsObject() ? value.getAsObject()->getArray(key) : nullptr;
  if (!items)
    return true;
  for (auto [i, item] : llvm::enumerate(*items))
    if (!fromJSON(item, list.emplace_back(), path.field(key).index(unsigned(i))))
      return false;
  return true;
}

static bool fromJSON(const Value &value, GraphInfo &result, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("digest", result.digest) && map.map("device", result.device) &&
         map.mapOptional("code", result.code) && map.mapOptional("architecture", result.architecture) &&
         map.mapOptional("processors", result.processors) && listFromJSON(value, "extents", result.extents, path) &&
         listFromJSON(value, "functions", result.functions, path) &&
         listFromJSON(value, "shared_indices", result.sharedIndices, path) &&
         listFromJSON(value, "worklists", result.worklists, path) && listFromJSON(value, "sweeps", result.sweeps, path);
}

llvm::Expected<GraphInfo> GraphInfo::parse(llvm::StringRef text) {
  llvm::Expected<Value> value = llvm::json::parse(text);
  if (!value)
    return llvm::createStringError("a graph's description: " + llvm::toString(value.takeError()));
  GraphInfo result;
  Path::Root root("a graph's description");
  if (!fromJSON(*value, result, root))
    return root.getError();
  return std::move(result);
}

const WorklistInfo *GraphInfo::findWorklist(llvm::StringRef map) const {
  auto found = llvm::find_if(worklists, [&](const WorklistInfo &list) { return list.map == map; });
  return found == worklists.end() ? nullptr : &*found;
}

} // namespace gnnc
