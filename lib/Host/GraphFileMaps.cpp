//===- GraphFileMaps.cpp - Extents and maps of a graph file ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphFile.h"
#include "gnnc/Support/RelationNames.h"

#include <numeric>

using namespace gnnc;

/// The tensor that a map's data is usually under; the rows of a relation are one tensor.
static std::string dataNameOf(const MapInfo &map) {
  if (llvm::StringRef relation = relationTensorOf(map.name); !relation.empty())
    return relation.str();
  return map.name == "etype"   ? "edge_type"
         : map.name == "ntype" ? "node_type"
         : map.name == "batch" ? "graph_ptr"
         : map.name == "label" ? "y"
                               : map.name;
}

/// The tensor with one target of a map for each element.
static std::string targetsNameOf(const MapInfo &map, const SafetensorsFile &file) {
  bool isOther = map.name == "etype" || map.name == "ntype" || (map.name == "label" && !file.find("label"));
  return isOther ? dataNameOf(map) : map.name;
}

llvm::Error BoundGraph::bindExtents() {
  for (const SpaceInfo &space : model->spaces) {
    bool given = space.kind == "root" && !sparseInputOfSpace(space.name);
    if (space.kind == "static" && space.extent)
      extents.push_back({space.name.c_str(), *space.extent});
    if (!given)
      continue;
    llvm::Expected<int64_t> extent = findExtent(space);
    if (extent)
      extents.push_back({space.name.c_str(), *extent});
    else if (llvm::Error error = ifNeeded(space.name, extent.takeError()))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<int64_t> BoundGraph::findExtent(const SpaceInfo &space) {
  std::string neededBy = "space '" + space.name + "'";
  if (!space.source.empty()) {
    llvm::Expected<std::shared_ptr<const Integers>> extent = compute(space.source, neededBy);
    if (!extent)
      return extent.takeError();
    if ((*extent)->isList)
      return wrong(neededBy + ", from " + space.source + ": expected a number, found a list");
    return (*extent)->numbers[0];
  }
  if (isOfOtherRanks(space.name))
    return 0;
  if (space.name == "edge") {
    llvm::Expected<const FileTensor *> edges = findIndices("edge_index", 2);
    if (!edges)
      return edges.takeError();
    if (!*edges)
      return missing("tensor 'edge_index'", neededBy);
    return (*edges)->shape[1];
  }
  if (space.name == "graph") {
    llvm::Expected<const FileTensor *> pointers = findIndices("graph_ptr", 1);
    if (!pointers)
      return pointers.takeError();
    if (*pointers)
      return std::max<int64_t>((*pointers)->elements - 1, 0);
  }

  std::string key = "num_" + space.name + "s";
  if (const std::string *text = file->findMetadata(key)) {
    int64_t extent = 0;
    if (llvm::StringRef(*text).getAsInteger(10, extent) || extent < 0)
      return wrong("metadata '" + key + "': expected a number of elements, found '" + *text + "'");
    return extent;
  }
  llvm::Expected<const FileTensor *> given = findIndices(space.name + ".extent", 1);
  if (!given)
    return given.takeError();
  if (*given && (*given)->elements > 0)
    return *(*given)->type == ElementType::I32 ? int64_t((*given)->as<int32_t>()[0]) : (*given)->as<int64_t>()[0];

  const MapInfo *starting = nullptr;
  for (const MapInfo &map : model->maps) {
    if (map.kind != "root" || map.from != space.name)
      continue;
    starting = starting ? starting : &map;
    if (const FileTensor *each = file->find(targetsNameOf(map, *file)); each && each->shape.size() == 1)
      return each->elements;
    if (const FileTensor *rows = file->find(relationTensorOf(map.name)); rows && rows->shape.size() == 2)
      return rows->shape[1];
  }
  // Where a map starts, its data tells the extent: that is what to ask for.
  if (starting)
    return missing("tensor '" + dataNameOf(*starting) + "'", "map '" + starting->name + "'");
  return missing("'" + llvm::Twine(key) + "' in its metadata", neededBy);
}

llvm::Error BoundGraph::bindMaps() {
  for (const MapInfo &map : model->maps)
    if (map.kind == "root" && !sparseInputOfMap(map.name))
      if (llvm::Error error = ifNeeded(map.name, bindMap(map)))
        return error;
  return llvm::Error::success();
}

void BoundGraph::addIndex(const MapInfo &map, const FileTensor &tensor, int64_t begin, int64_t length, int32_t format) {
  int64_t bytes = elementBytes(*tensor.type);
  const char *data = static_cast<const char *>(tensor.data) + begin * bytes;
  indices.push_back({map.name.c_str(), data, length, int32_t(8 * bytes), format});
}

llvm::Error BoundGraph::bindMap(const MapInfo &map) {
  if (!map.source.empty())
    return bindComputedMap(map);
  if (isOfOtherRanks(map.name) || isOfOtherRanks(map.from)) {
    static const int64_t none = 0;
    indices.push_back({map.name.c_str(), &none, 0, 64, GNNC_INDEX_EACH});
    return llvm::Error::success();
  }
  // In three forms, tried in this order: one target for each element, a row of a relation, row pointers.
  std::string name = dataNameOf(map);
  bool isEnd = map.name == "src" || map.name == "dst";
  llvm::Expected<const FileTensor *> tensor = isEnd ? nullptr : findIndices(targetsNameOf(map, *file), 1);
  if (!tensor)
    return tensor.takeError();
  if (*tensor) {
    addIndex(map, **tensor, 0, (*tensor)->elements, GNNC_INDEX_EACH);
    return llvm::Error::success();
  }
  if (!relationTensorOf(map.name).empty()) {
    tensor = findIndices(name, 2);
    if (!tensor)
      return tensor.takeError();
    if (*tensor) {
      int64_t length = (*tensor)->shape[1];
      addIndex(map, **tensor, isTargetEnd(map.name) ? length : 0, length, GNNC_INDEX_EACH);
      return llvm::Error::success();
    }
  }
  if (map.name == "batch") {
    tensor = findIndices(name, 1);
    if (!tensor)
      return tensor.takeError();
    if (*tensor) {
      addIndex(map, **tensor, 0, (*tensor)->elements, GNNC_INDEX_ROWS);
      return llvm::Error::success();
    }
  }
  return missing("tensor '" + name + "'", "map '" + map.name + "'");
}
