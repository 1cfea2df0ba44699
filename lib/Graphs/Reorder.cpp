//===- Reorder.cpp - A graph file with its nodes in another order ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/Reorder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace gnnc;

constexpr llvm::StringLiteral kOrder = "node_order";

llvm::Error ReorderedGraph::wrong(const llvm::Twine &what) const {
  return llvm::createStringError("'" + file->path() + "': " + what);
}

char *ReorderedGraph::allocate(const FileTensor &tensor) { return memory.emplace_back(tensor.bytes()).data(); }

llvm::Expected<ReorderedGraph> ReorderedGraph::create(const SafetensorsFile &file, const ReorderOptions &options) {
  ReorderedGraph graph(file);
  llvm::Expected<GraphEdges> edges = GraphEdges::read(file);
  if (!edges)
    return edges.takeError();
  graph.old = std::move(*edges);
  if (file.find("graph_ptr"))
    return graph.wrong("tensor 'graph_ptr': the nodes of a graph must stay together; give each node its graph as "
                       "tensor 'batch' instead");
  if (llvm::Error error = graph.checkNames(options))
    return std::move(error);
  if (llvm::Error error = graph.renumber(options))
    return std::move(error);
  for (const auto &[key, value] : file.metadata())
    graph.writer.addMetadata(key, value);
  for (const FileTensor &tensor : file.tensors())
    if (llvm::Error error = graph.place(tensor, options))
      return std::move(error);
  if (!file.find(kOrder))
    if (llvm::Error error = graph.writer.add(kOrder, ElementType::I32, {graph.old.nodes}, graph.oldNumbers.data()))
      return std::move(error);
  return std::move(graph);
}

/// Finds the order, and where edges go.
llvm::Error ReorderedGraph::renumber(const ReorderOptions &options) {
  llvm::Expected<std::vector<int32_t>> order = findNodeOrder(options.kind, before());
  if (!order)
    return wrong(llvm::toString(order.takeError()));
  oldNumbers = std::move(*order);
  newNumbers.resize(old.nodes);
  for (int64_t node = 0; node < old.nodes; ++node)
    newNumbers[oldNumbers[node]] = int32_t(node);
  for (auto [ends, renumbered] : {std::pair(&old.src, &newSrc), std::pair(&old.dst, &newDst)})
    for (int32_t node : *ends)
      renumbered->push_back(newNumbers[node]);
  if (!llvm::is_sorted(old.dst))
    return llvm::Error::success();
  edgeOrder.resize(old.src.size());
  std::iota(edgeOrder.begin(), edgeOrder.end(), 0);
  llvm::sort(edgeOrder, [&](int32_t a, int32_t b) {
    return std::tuple(newDst[a], newSrc[a], a) < std::tuple(newDst[b], newSrc[b], b);
  });
  newPlaces.resize(edgeOrder.size());
  for (auto [place, from] : llvm::enumerate(edgeOrder))
    newPlaces[from] = int32_t(place);
  for (std::vector<int32_t> *end : {&newSrc, &newDst}) {
    std::vector<int32_t> sorted(end->size());
    for (auto [place, from] : llvm::enumerate(edgeOrder))
      sorted[place] = (*end)[from];
    *end = std::move(sorted);
  }
  return llvm::Error::success();
}

llvm::Error ReorderedGraph::checkNames(const ReorderOptions &options) const {
  for (const auto *names : {&options.nodeTensors, &options.edgeTensors, &options.numberTensors,
                            &options.edgeNumberTensors, &options.wholeTensors})
    for (const std::string &name : *names)
      if (!file->find(name))
        return wrong("expected a tensor '" + name + "', as the options name it, found none of that name");
  return llvm::Error::success();
}

/// Integers that are no numbers of nodes: what each node or edge is.
static bool isOfClasses(llvm::StringRef name) {
  return name == kOrder || name == "batch" || name == "y" || name.ends_with("_y") || name.ends_with("label") ||
         name.ends_with("type");
}

llvm::Expected<ReorderedGraph::Role> ReorderedGraph::roleOf(const FileTensor &tensor,
                                                            const ReorderOptions &options) const {
  llvm::StringRef name = tensor.name;
  auto isNamed = [&](llvm::ArrayRef<std::string> names) { return llvm::is_contained(names, tensor.name); };
  bool isNumbersByName = name.ends_with("edge_index") || name.ends_with("_idx");
  Role role{name == kOrder || isNamed(options.nodeTensors), isNamed(options.edgeTensors),
            isNumbersByName || isNamed(options.numberTensors), isNamed(options.edgeNumberTensors)};
  bool isWhole = isNamed(options.wholeTensors);
  if (role.ofNodes + role.ofEdges + isWhole > 1)
    return wrong("tensor '" + name +
                 "': expected rows of nodes, of edges or of neither, found it named for two of them");
  if (role.toNodes && role.toEdges)
    return wrong("tensor '" + name + "': expected numbers of nodes or of edges, found it named for both");
  bool isNumbers = role.toNodes || role.toEdges;
  int64_t rows = tensor.shape.empty() ? -1 : tensor.shape[0], edges = int64_t(old.src.size());
  for (auto [named, count, what] :
       {std::tuple(role.ofNodes, old.nodes, "nodes"), std::tuple(role.ofEdges, edges, "edges")})
    if (named && rows != count)
      return wrong("tensor '" + name + "': expected a row for each of " + llvm::Twine(count) + " " + what +
                   ", found shape " + formatShape(tensor.shape));
  bool isInteger = tensor.type == ElementType::I32 || tensor.type == ElementType::I64;
  // A list of nodes may be as long as there are nodes; the ends of a relation are two rows.
  bool isList = isNumbersByName || (isNumbers && tensor.shape.size() != 1);
  if (role.ofNodes || role.ofEdges || isWhole || isList)
    return role;
  if (isInteger && !isNumbers && !isOfClasses(name))
    return wrong("tensor '" + name + "': expected integers whose meaning is known, found " + tensor.typeName +
                 " of shape " + formatShape(tensor.shape) +
                 "; say what they are with --model, --numbers, --edge-numbers, --nodes, --edges or --whole");
  role.ofNodes = rows == old.nodes;
  role.ofEdges = rows == edges && !role.ofNodes;
  if (role.ofNodes && rows == edges && !edgeOrder.empty())
    return wrong("tensor '" + name + "': expected fewer or more edges than nodes, found " + llvm::Twine(old.nodes) +
                 " of both; say of which it has rows");
  return role;
}

llvm::Error ReorderedGraph::place(const FileTensor &tensor, const ReorderOptions &options) {
  llvm::StringRef name = tensor.name;
  for (llvm::StringRef suffix : {"_indptr", "_indices", "_values"})
    if (name.ends_with(suffix) && isSparse(name.drop_back(suffix.size())))
      return suffix == "_indptr" ? placeSparseRows(name.drop_back(suffix.size())) : llvm::Error::success();
  llvm::Expected<Role> role = roleOf(tensor, options);
  if (!role)
    return role.takeError();
  if (role->toNodes || role->toEdges)
    return placeNumbers(tensor, *role);
  llvm::ArrayRef<int32_t> order = orderOf(*role);
  if (order.empty())
    return writer.addLike(tensor, tensor.data);
  placeRows(tensor, order);
  return writer.addLike(tensor, memory.back().data());
}

void ReorderedGraph::placeRows(const FileTensor &tensor, llvm::ArrayRef<int32_t> order) {
  char *to = allocate(tensor);
  size_t bytes = order.empty() ? 0 : size_t(tensor.bytes()) / order.size();
  for (int32_t from : order) {
    std::memcpy(to, static_cast<const char *>(tensor.data) + from * bytes, bytes);
    to += bytes;
  }
}

llvm::Error ReorderedGraph::placeNumbers(const FileTensor &tensor, const Role &role) {
  std::optional<std::vector<int32_t>> numbers = readNumbers(tensor);
  llvm::StringRef what = role.toEdges ? "edges" : "nodes";
  if (!numbers)
    return wrong("tensor '" + tensor.name + "': expected numbers of " + what + " as I32 or I64, found " +
                 (tensor.type == ElementType::I64 ? "one beyond 32 bits" : tensor.typeName));
  if (tensor.name == "edge_index") {
    numbers->assign(newSrc.begin(), newSrc.end());
    numbers->insert(numbers->end(), newDst.begin(), newDst.end());
  } else {
    int64_t count = role.toEdges ? int64_t(old.src.size()) : old.nodes;
    llvm::ArrayRef<int32_t> now = role.toEdges ? newPlaces : newNumbers; // none: they stay
    for (int32_t &number : *numbers) {
      if (number < -1 || number >= count)
        return wrong("tensor '" + tensor.name + "': expected numbers of " + what + " from 0 to " +
                     llvm::Twine(count - 1) + ", found " + llvm::Twine(number));
      number = number < 0 || now.empty() ? number : now[number];
    }
    if (llvm::ArrayRef<int32_t> order = orderOf(role); !order.empty()) {
      std::vector<int32_t> before = *numbers;
      size_t columns = before.size() / order.size();
      for (auto [row, from] : llvm::enumerate(order))
        std::copy_n(before.begin() + from * columns, columns, numbers->begin() + row * columns);
    }
  }
  char *to = allocate(tensor);
  for (int32_t number : *numbers) {
    int64_t wide = number;
    std::memcpy(to, tensor.width == 8 ? static_cast<void *>(&wide) : &number, tensor.width);
    to += tensor.width;
  }
  return writer.addLike(tensor, memory.back().data());
}

bool ReorderedGraph::isSparse(llvm::StringRef name) const {
  const FileTensor *pointers = file->find((name + "_indptr").str()), *columns = file->find((name + "_indices").str());
  return pointers && columns && pointers->shape == std::vector<int64_t>{old.nodes + 1};
}

llvm::Error ReorderedGraph::placeSparseRows(llvm::StringRef name) {
  const FileTensor &pointers = *file->find((name + "_indptr").str());
  std::optional<std::vector<int32_t>> begins = readNumbers(pointers);
  int64_t entries = file->find((name + "_indices").str())->elements;
  if (!begins || begins->front() != 0 || begins->back() != entries || !llvm::is_sorted(*begins))
    return wrong("tensor '" + pointers.name + "': expected rising row pointers from 0 to " + llvm::Twine(entries));
  std::vector<int32_t> entryOrder;
  char *to = allocate(pointers);
  auto addPointer = [&](int64_t at) {
    int32_t narrow = int32_t(at);
    std::memcpy(to, pointers.width == 8 ? static_cast<void *>(&at) : &narrow, pointers.width);
    to += pointers.width;
  };
  addPointer(0);
  for (int32_t from : oldNumbers) {
    for (int32_t i = (*begins)[from]; i < (*begins)[from + 1]; ++i)
      entryOrder.push_back(i);
    addPointer(int64_t(entryOrder.size()));
  }
  if (llvm::Error error = writer.addLike(pointers, memory.back().data()))
    return error;
  for (llvm::StringRef part : {"_indices", "_values"})
    if (const FileTensor *tensor = file->find((name + part).str())) {
      if (tensor->shape.empty() || tensor->shape[0] != entries)
        return wrong("tensor '" + tensor->name + "': expected " + llvm::Twine(entries) + " entries, found shape " +
                     formatShape(tensor->shape));
      placeRows(*tensor, entryOrder);
      if (llvm::Error error = writer.addLike(*tensor, memory.back().data()))
        return error;
    }
  return llvm::Error::success();
}

llvm::Error ReorderedGraph::write(llvm::StringRef path) const { return writer.write(path); }
