//===- GraphEdges.cpp - The edges of a graph file -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/GraphEdges.h"

#include "llvm/ADT/Twine.h"

#include <limits>

using namespace gnnc;

std::optional<std::vector<int32_t>> gnnc::readNumbers(const FileTensor &tensor) {
  if (tensor.type != ElementType::I32 && tensor.type != ElementType::I64)
    return std::nullopt;
  std::vector<int32_t> numbers(tensor.elements);
  for (int64_t i = 0; i < tensor.elements; ++i) {
    int64_t number = tensor.type == ElementType::I64 ? tensor.as<int64_t>()[i] : tensor.as<int32_t>()[i];
    numbers[i] = int32_t(number);
    if (numbers[i] != number)
      return std::nullopt;
  }
  return numbers;
}

llvm::Expected<GraphEdges> GraphEdges::read(const SafetensorsFile &file) {
  auto wrong = [&](const llvm::Twine &what) { return llvm::createStringError("'" + file.path() + "': " + what); };
  const FileTensor *tensor = file.find("edge_index");
  if (!tensor || tensor->shape.size() != 2 || tensor->shape[0] != 2)
    return wrong("tensor 'edge_index': expected I32 or I64 of shape [2, E], found " +
                 (tensor ? tensor->typeName + " " + formatShape(tensor->shape) : std::string("none")));
  const std::string *count = file.findMetadata("num_nodes");
  GraphEdges edges;
  if (!count || llvm::StringRef(*count).getAsInteger(10, edges.nodes) || edges.nodes < 0 ||
      edges.nodes > std::numeric_limits<int32_t>::max())
    return wrong("metadata 'num_nodes': expected a number of nodes below 2^31, found " +
                 (count ? "'" + *count + "'" : std::string("none")));
  std::optional<std::vector<int32_t>> ends = readNumbers(*tensor);
  if (!ends)
    return wrong("tensor 'edge_index': expected numbers of nodes as I32 or I64, found " +
                 (tensor->type == ElementType::I64 ? "one beyond 32 bits" : tensor->typeName));
  for (int32_t end : *ends)
    if (end < 0 || end >= edges.nodes)
      return wrong("tensor 'edge_index': expected numbers of nodes from 0 to " + llvm::Twine(edges.nodes - 1) +
                   ", found " + llvm::Twine(end));
  edges.src.assign(ends->begin(), ends->begin() + tensor->shape[1]);
  edges.dst.assign(ends->begin() + tensor->shape[1], ends->end());
  return edges;
}
