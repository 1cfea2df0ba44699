//===- PartitionFiles.cpp - What the tensors of a graph file are ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/PartitionFiles.h"
#include "gnnc/Graphs/GraphEdges.h"
#include "gnnc/Support/RelationNames.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace gnnc;

llvm::Error PartitionedGraph::wrong(const llvm::Twine &what) const {
  return llvm::createStringError("'" + file->path() + "': " + what);
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

std::optional<size_t> PartitionedGraph::findSpace(llvm::StringRef name) const {
  for (auto [number, space] : llvm::enumerate(graph->spaces))
    if (space.name == name)
      return number;
  return std::nullopt;
}

llvm::Expected<size_t> PartitionedGraph::needSpace(llvm::StringRef name, const llvm::Twine &neededBy) const {
  if (std::optional<size_t> space = findSpace(name))
    return *space;
  return wrong("metadata 'num_" + name + "s': expected the number of elements of space '" + name + "', needed by " +
               neededBy + ", found none");
}

llvm::Expected<size_t> PartitionedGraph::addSpace(llvm::StringRef name, int64_t extent) {
  if (extent < 0 || extent > std::numeric_limits<int32_t>::max())
    return wrong("space '" + name + "': expected fewer than 2^31 elements, found " + llvm::Twine(extent));
  if (std::optional<size_t> known = findSpace(name)) {
    if (graph->spaces[*known].extent != extent)
      return wrong("space '" + name + "': expected " + llvm::Twine(graph->spaces[*known].extent) + " elements, found " +
                   llvm::Twine(extent));
    return *known;
  }
  // The parts say there how many they have, so that it must be the number of these elements and of nothing else.
  llvm::Expected<std::optional<int64_t>> given = readExtent(name);
  if (!given)
    return given.takeError();
  if (*given && **given != extent)
    return wrong("space '" + name + "': expected " + llvm::Twine(**given) + " elements, as metadata 'num_" + name +
                 "s' or tensor '" + name + ".extent' has it, found " + llvm::Twine(extent));
  graph->spaces.push_back({name.str(), extent, std::nullopt});
  return graph->spaces.size() - 1;
}

llvm::Expected<std::optional<int64_t>> PartitionedGraph::readExtent(llvm::StringRef space) const {
  std::string key = ("num_" + space + "s").str();
  if (const std::string *text = file->findMetadata(key)) {
    int64_t extent = 0;
    if (llvm::StringRef(*text).getAsInteger(10, extent) || extent < 0 || extent > std::numeric_limits<int32_t>::max())
      return wrong("metadata '" + key + "': expected a number below 2^31, found '" + *text + "'");
    return extent;
  }
  if (const FileTensor *tensor = file->find((space + ".extent").str()))
    if (auto numbers = readNumbers(*tensor); numbers && !numbers->empty())
      return numbers->front();
  return std::nullopt;
}

/// Those that the file, or the model, gives the extents of.
llvm::Error PartitionedGraph::findSpaces(const PartitionOptions &options) {
  std::vector<std::string> names{"node", "graph"};
  for (const PartitionOptions::Map &map : options.maps)
    names.insert(names.end(), {map.from, map.to});
  for (const auto &[tensor, space] : options.rows)
    names.push_back(space);
  for (const std::string &name : names) {
    llvm::Expected<std::optional<int64_t>> extent = readExtent(name);
    if (!extent)
      return extent.takeError();
    if (*extent)
      if (llvm::Expected<size_t> space = addSpace(name, **extent); !space)
        return space.takeError();
  }
  if (!findSpace("node") && options.maps.empty())
    return wrong("metadata 'num_nodes': expected a number of nodes below 2^31, found none");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

/// As they are in the file, which may be larger than memory.
llvm::Expected<Targets> PartitionedGraph::readTargets(const FileTensor &tensor, bool partial) const {
  auto wrongNumbers = [&](llvm::StringRef found) {
    return wrong("tensor '" + tensor.name + "': expected numbers of elements as I32 or I64, found " + found);
  };
  if (tensor.type != ElementType::I32 && tensor.type != ElementType::I64)
    return wrongNumbers(tensor.typeName);
  Targets targets =
      tensor.type == ElementType::I32 ? Targets::at(tensor.as<int32_t>()) : Targets::at(tensor.as<int64_t>());
  if (tensor.type == ElementType::I64 &&
      !llvm::all_of(tensor.as<int64_t>(), [](int64_t number) { return number == int32_t(number); }))
    return wrongNumbers("one beyond 32 bits");
  for (int32_t number : targets)
    if (number < (partial ? -1 : 0))
      return wrong("tensor '" + tensor.name + "': expected numbers of elements from 0 on, found " +
                   llvm::Twine(number));
  return targets;
}

llvm::Error PartitionedGraph::addMap(llvm::StringRef name, size_t from, size_t to, Targets targets,
                                     const FileTensor &tensor) {
  int64_t extent = graph->spaces[to].extent;
  for (int32_t target : targets)
    if (target >= extent)
      return wrong("tensor '" + tensor.name + "': expected numbers of elements of '" + graph->spaces[to].name +
                   "' from 0 to " + llvm::Twine(extent - 1) + ", found " + llvm::Twine(target));
  graph->maps.push_back({name.str(), from, to, std::move(targets)});
  return llvm::Error::success();
}

/// A tensor [2, M]: the maps src and dst of `space`, or for another one than edge those of that name.
llvm::Error PartitionedGraph::readRelation(const FileTensor &tensor, llvm::StringRef space, llvm::StringRef source,
                                           llvm::StringRef target) {
  if (tensor.shape.size() != 2 || tensor.shape[0] != 2)
    return wrong("tensor '" + tensor.name + "': expected I32 or I64 of shape [2, E], found " + tensor.typeName + " " +
                 formatShape(tensor.shape));
  llvm::Expected<Targets> ends = readTargets(tensor, /*partial=*/false);
  if (!ends)
    return ends.takeError();
  llvm::Expected<size_t> from = addSpace(space, tensor.shape[1]);
  if (!from)
    return from.takeError();
  roles[tensor.name] = {Kind::Relation, graph->maps.size(), ""};
  auto count = size_t(tensor.shape[1]);
  std::string prefix = space == "edge" ? "" : space.str() + ".";
  for (auto [name, to, targets] :
       {std::tuple("src", source, ends->slice(0, count)), std::tuple("dst", target, ends->slice(count, count))}) {
    llvm::Expected<size_t> number = needSpace(to, "tensor '" + tensor.name + "'");
    if (!number)
      return number.takeError();
    if (llvm::Error error = addMap(prefix + name, *from, *number, std::move(targets), tensor))
      return error;
  }
  return llvm::Error::success();
}

/// A tensor with the target of each element.
llvm::Error PartitionedGraph::readMap(const FileTensor &tensor, llvm::StringRef name, llvm::StringRef from,
                                      llvm::StringRef to) {
  if (tensor.shape.size() != 1)
    return wrong("tensor '" + tensor.name + "': expected I32 or I64 of shape [E], found " + tensor.typeName + " " +
                 formatShape(tensor.shape));
  llvm::Expected<Targets> targets = readTargets(tensor, /*partial=*/true);
  if (!targets)
    return targets.takeError();
  llvm::Expected<size_t> domain = addSpace(from, tensor.elements);
  if (!domain)
    return domain.takeError();
  llvm::Expected<size_t> codomain = needSpace(to, "tensor '" + tensor.name + "'");
  if (!codomain)
    return codomain.takeError();
  roles[tensor.name] = {Kind::Map, graph->maps.size(), ""};
  return addMap(name, *domain, *codomain, std::move(*targets), tensor);
}

/// The map batch, from the tensor of that name or from row pointers. The nodes of a graph may belong to several parts,
/// so these become a map.
llvm::Error PartitionedGraph::readGraphs() {
  const FileTensor *pointers = file->find("graph_ptr"), *batch = file->find("batch");
  if (!pointers)
    return batch ? readMap(*batch, "batch", "node", "graph") : llvm::Error::success();
  llvm::Expected<Targets> read = readTargets(*pointers, /*partial=*/false);
  if (!read)
    return read.takeError();
  std::optional<std::vector<int32_t>> begins(std::in_place, read->begin(), read->end());
  llvm::Expected<size_t> node = needSpace("node", "tensor 'graph_ptr'");
  if (!node)
    return node.takeError();
  int64_t nodes = graph->spaces[*node].extent;
  if (begins->empty() || begins->front() != 0 || begins->back() != nodes || !llvm::is_sorted(*begins))
    return wrong("tensor 'graph_ptr': expected rising row pointers from 0 to " + llvm::Twine(nodes));
  llvm::Expected<size_t> graphs = addSpace("graph", int64_t(begins->size()) - 1);
  if (!graphs)
    return graphs.takeError();
  std::vector<int32_t> targets;
  for (size_t i = 0; i + 1 < begins->size(); ++i)
    targets.resize(size_t((*begins)[i + 1]), int32_t(i));
  roles["graph_ptr"] = {Kind::GraphPointers, graph->maps.size(), ""};
  if (batch) {
    llvm::Expected<Targets> given = readTargets(*batch, /*partial=*/true);
    if (!given)
      return given.takeError();
    if (given->size() != targets.size() || !std::equal(targets.begin(), targets.end(), given->begin()))
      return wrong("tensor 'batch': expected the graphs of nodes that tensor 'graph_ptr' says, found others");
    roles["batch"] = {Kind::Map, graph->maps.size(), ""};
  }
  return addMap("batch", *node, *graphs, std::move(targets), *pointers);
}

llvm::Error PartitionedGraph::findMaps(const PartitionOptions &options) {
  // The model's, wherever it has other spaces than the conventions.
  for (const PartitionOptions::Map &map : options.maps) {
    llvm::StringRef name = map.name;
    if (name == "batch")
      continue;
    std::optional<RelationEnd> end = relationEndOf(name);
    llvm::StringRef relation = relationTensorOf(name);
    if (const FileTensor *tensor = file->find(map.name)) {
      if (llvm::Error error = readMap(*tensor, map.name, map.from, map.to))
        return error;
    } else if (const FileTensor *ends = relation.empty() ? nullptr : file->find(relation.str());
               ends && !roles.count(relation.str())) {
      auto other = llvm::find_if(options.maps, [&](const PartitionOptions::Map &m) {
        std::optional<RelationEnd> its = relationEndOf(m.name);
        return m.from == map.from && its && its != end;
      });
      std::string far = other == options.maps.end() ? map.to : other->to;
      bool isSource = end == RelationEnd::Source;
      if (llvm::Error error = readRelation(*ends, map.from, isSource ? map.to : far, isSource ? far : map.to))
        return error;
    }
  }
  if (const FileTensor *edges = file->find("edge_index"); edges && !roles.count("edge_index"))
    if (llvm::Error error = readRelation(*edges, "edge", "node", "node"))
      return error;
  if (llvm::Error error = readGraphs())
    return error;
  for (const FileTensor &tensor : file->tensors()) {
    llvm::StringRef name = tensor.name;
    if (roles.count(tensor.name) || options.rows.count(tensor.name) || options.whole.count(tensor.name))
      continue;
    if (name.ends_with("edge_index"))
      if (llvm::Error error = readRelation(tensor, name, "node", "node"))
        return error;
    if (name.ends_with("_idx") && tensor.shape.size() == 1)
      if (llvm::Error error = readMap(tensor, name, name.drop_back(4), "node"))
        return error;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The one space with as many elements, if there is one.
llvm::Expected<std::optional<size_t>> PartitionedGraph::findSpaceOf(const FileTensor &tensor, int64_t rows) const {
  std::optional<size_t> found;
  for (auto [number, space] : llvm::enumerate(graph->spaces)) {
    if (space.extent != rows)
      continue;
    if (found)
      return wrong("tensor '" + tensor.name + "': expected rows of '" + graph->spaces[*found].name + "' or of '" +
                   space.name + "', found " + llvm::Twine(rows) + " of both; say which with --rows " + tensor.name +
                   "=SPACE");
    found = number;
  }
  return found;
}

/// x_indptr, x_indices and x_values: rows of the space that is named for x, or that has as many.
llvm::Error PartitionedGraph::findSparseInputs(const PartitionOptions &options) {
  for (const FileTensor &tensor : file->tensors()) {
    llvm::StringRef name = tensor.name;
    if (!name.consume_back("_indptr") || tensor.shape.size() != 1 || tensor.elements == 0)
      continue;
    const FileTensor *columns = file->find((name + "_indices").str());
    if (!columns || options.whole.count(tensor.name))
      continue;
    std::optional<size_t> space;
    auto known = options.rows.find(name.str());
    if (known == options.rows.end())
      known = options.rows.find(tensor.name);
    if (known != options.rows.end()) {
      llvm::Expected<size_t> named = needSpace(known->second, "tensor '" + tensor.name + "'");
      if (!named)
        return named.takeError();
      if (tensor.elements != graph->spaces[*named].extent + 1)
        return wrong("tensor '" + tensor.name + "': expected row pointers for " +
                     llvm::Twine(graph->spaces[*named].extent) + " elements of '" + known->second + "', found shape " +
                     formatShape(tensor.shape));
      space = *named;
    } else {
      llvm::Expected<std::optional<size_t>> found = findSpaceOf(tensor, tensor.elements - 1);
      if (!found)
        return found.takeError();
      space = *found;
    }
    if (!space)
      continue;
    llvm::Expected<Targets> read = readTargets(tensor, /*partial=*/false);
    if (!read)
      return read.takeError();
    std::optional<std::vector<int32_t>> begins(std::in_place, read->begin(), read->end());
    if (begins->front() != 0 || begins->back() != columns->elements || !llvm::is_sorted(*begins))
      return wrong("tensor '" + tensor.name + "': expected rising row pointers from 0 to " +
                   llvm::Twine(columns->elements));
    roles[tensor.name] = {Kind::RowPointers, *space, name.str()};
    for (llvm::StringRef part : {"_indices", "_values"})
      if (const FileTensor *entries = file->find((name + part).str())) {
        if (entries->shape.empty() || entries->shape[0] != columns->elements)
          return wrong("tensor '" + entries->name + "': expected " + llvm::Twine(columns->elements) +
                       " entries, found shape " + formatShape(entries->shape));
        roles[entries->name] = {Kind::Entries, *space, name.str()};
      }
    rowPointers[name.str()] = std::move(*begins);
  }
  return llvm::Error::success();
}

llvm::Error PartitionedGraph::findRows(const PartitionOptions &options) {
  for (const FileTensor &tensor : file->tensors()) {
    if (roles.count(tensor.name))
      continue;
    llvm::StringRef name = tensor.name;
    auto known = options.rows.find(tensor.name);
    if (options.whole.count(tensor.name)) {
      roles[tensor.name] = {};
    } else if (known != options.rows.end()) {
      llvm::Expected<size_t> named = needSpace(known->second, "tensor '" + tensor.name + "'");
      if (!named)
        return named.takeError();
      if (tensor.shape.empty() || tensor.shape[0] != graph->spaces[*named].extent)
        return wrong("tensor '" + tensor.name + "': expected a row for each of " +
                     llvm::Twine(graph->spaces[*named].extent) + " elements of '" + graph->spaces[*named].name +
                     "', found shape " + formatShape(tensor.shape));
      roles[tensor.name] = {Kind::Rows, *named, ""};
    } else if (name.consume_back(".extent")) {
      roles[tensor.name] = {findSpace(name) ? Kind::Extent : Kind::Whole, 0, ""};
    } else if (tensor.shape.empty() || tensor.shape[0] == 0) {
      roles[tensor.name] = {};
    } else {
      llvm::Expected<std::optional<size_t>> space = findSpaceOf(tensor, tensor.shape[0]);
      if (!space)
        return space.takeError();
      if (!*space && tensor.shape[0] != 1)
        return wrong("tensor '" + tensor.name + "': expected rows of a space, found " + llvm::Twine(tensor.shape[0]) +
                     ", which no space has; say what it is with --rows " + tensor.name + "=SPACE, or --whole " +
                     tensor.name + " for every part to have all of it");
      roles[tensor.name] = *space ? Role{Kind::Rows, **space, ""} : Role{};
    }
  }
  return llvm::Error::success();
}

/// That each tensor that the options name is there and is what they say, and that parts have their names for
/// themselves.
llvm::Error PartitionedGraph::checkNames(const PartitionOptions &options) const {
  for (const auto &[name, space] : options.rows) {
    auto role = roles.find(name);
    if (role != roles.end() ? role->second.kind != Kind::Rows && role->second.kind != Kind::RowPointers
                            : !rowPointers.count(name))
      return wrong("expected a tensor with rows of '" + space + "', found " +
                   (role == roles.end() ? "none of the name '" : "something else in '") + name + "'");
    if (options.whole.count(name))
      return wrong("tensor '" + name + "': expected rows of '" + space + "' or all of it in every part, found it " +
                   "named for both");
  }
  for (const std::string &name : options.whole)
    if (auto role = roles.find(name); role == roles.end() || role->second.kind != Kind::Whole)
      return wrong("--whole: expected a tensor that is no map, found '" + name + "'");
  for (const auto &[tensor, name] : options.ofHalo)
    if (file->find(name))
      return wrong("tensor '" + name + "': expected none of that name, which the parts need");
  for (const auto &[name, begins] : rowPointers)
    if (file->find(name + ".entry.global"))
      return wrong("tensor '" + name + ".entry.global': expected none of that name, which the parts need");
  for (const GraphStructure::Space &space : graph->spaces)
    for (const char *suffix : {".global", ".halo.global", ".halo.counts", ".sent", ".send.counts"})
      if (file->find(space.name + suffix))
        return wrong("tensor '" + space.name + suffix + "': expected none of that name, which the parts need");
  return llvm::Error::success();
}

llvm::Error PartitionedGraph::chooseAlong(const PartitionOptions &options) {
  for (const std::string &name : options.along) {
    auto map = llvm::find_if(graph->maps, [&](const GraphStructure::Map &m) { return m.name == name; });
    if (map == graph->maps.end())
      return wrong("--along: expected a map of the graph, found '" + name + "'");
    std::optional<size_t> &along = graph->spaces[map->from].along;
    if (along)
      return wrong("--along: expected one map for space '" + graph->spaces[map->from].name + "', found '" +
                   graph->maps[*along].name + "' and '" + name + "'");
    along = size_t(map - graph->maps.begin());
  }
  graph->chooseAlong();
  return llvm::Error::success();
}

llvm::Expected<PartitionedGraph> PartitionedGraph::create(const SafetensorsFile &file,
                                                          const PartitionOptions &options) {
  PartitionedGraph graph(file);
  if (file.findMetadata("parts"))
    return graph.wrong("metadata 'parts': expected a whole graph, found a part of one");
  if (llvm::Error error = graph.findSpaces(options))
    return std::move(error);
  if (llvm::Error error = graph.findMaps(options))
    return std::move(error);
  if (llvm::Error error = graph.findSparseInputs(options))
    return std::move(error);
  if (llvm::Error error = graph.findRows(options))
    return std::move(error);
  if (llvm::Error error = graph.checkNames(options))
    return std::move(error);
  graph.ofHalo = options.ofHalo;
  if (llvm::Error error = graph.chooseAlong(options))
    return std::move(error);
  llvm::Expected<GraphPartition> parted = GraphPartition::create(*graph.graph, options.parts, options.kind);
  if (!parted)
    return graph.wrong(llvm::toString(parted.takeError()));
  graph.parted = std::move(*parted);
  return std::move(graph);
}
