//===- NodeOrder.cpp - Orders of nodes that keep neighbours near ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/NodeOrder.h"
#include "Neighbours.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/cuthill_mckee_ordering.hpp>
#include <metis.h>

#include <numeric>

using namespace gnnc;

static_assert(sizeof(idx_t) == sizeof(int32_t), "METIS with indices of 32 bits, as Debian has it");

/// A part's rows should fit a processor's second-level cache: 256 KiB with 64 numbers a row.
constexpr int64_t kNodesOfPart = 1024;

std::optional<NodeOrderKind> gnnc::parseNodeOrderKind(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<NodeOrderKind>>(name)
      .Case("metis", NodeOrderKind::Metis)
      .Case("rcm", NodeOrderKind::RCM)
      .Case("degree", NodeOrderKind::Degree)
      .Default(std::nullopt);
}

/// 0, 1, 2, … sorted by what `key` says of each; equal ones stay in order.
template <typename Key> static std::vector<int32_t> sortedBy(int64_t nodes, Key key) {
  std::vector<int32_t> order(nodes);
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int32_t a, int32_t b) { return std::pair(key(a), a) < std::pair(key(b), b); });
  return order;
}

/// Parts get their numbers by recursive bisection, so parts of near numbers share more edges than others.
static llvm::Expected<std::vector<int32_t>> orderByParts(int64_t nodes, Neighbours &graph) {
  idx_t count = idx_t(nodes), constraints = 1, parts = idx_t((nodes + kNodesOfPart - 1) / kNodesOfPart), cut = 0;
  std::vector<idx_t> part(nodes, 0);
  if (parts > 1) {
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 0;
    int status = METIS_PartGraphKway(&count, &constraints, graph.pointers.data(), graph.nodes.data(), nullptr, nullptr,
                                     nullptr, &parts, nullptr, nullptr, options, &cut, part.data());
    if (status != METIS_OK)
      return llvm::createStringError(status == METIS_ERROR_MEMORY ? "METIS ran out of memory for this graph"
                                                                  : "METIS does not partition this graph");
  }
  return sortedBy(nodes, [&](int32_t node) { return part[node]; });
}

static std::vector<int32_t> orderByCuthillMcKee(int64_t nodes, const Neighbours &graph) {
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                                   boost::no_property, int32_t, int32_t>;
  std::vector<std::pair<int32_t, int32_t>> edges;
  edges.reserve(graph.nodes.size());
  for (int64_t node = 0; node < nodes; ++node)
    for (int32_t i = graph.pointers[node]; i < graph.pointers[node + 1]; ++i)
      edges.emplace_back(int32_t(node), graph.nodes[i]);
  Graph boostGraph(boost::edges_are_sorted, edges.begin(), edges.end(), nodes);
  std::vector<int32_t> order(nodes);
  std::vector<boost::default_color_type> colours(nodes);
  auto index = boost::get(boost::vertex_index, boostGraph);
  boost::cuthill_mckee_ordering(boostGraph, order.rbegin(), boost::make_iterator_property_map(colours.begin(), index),
                                boost::make_out_degree_map(boostGraph));
  return order;
}

llvm::Expected<std::vector<int32_t>> gnnc::findNodeOrder(NodeOrderKind kind, const EdgeList &edges) {
  llvm::Expected<Neighbours> graph = Neighbours::create(edges);
  if (!graph)
    return graph.takeError();
  switch (kind) {
  case NodeOrderKind::Metis:
    return orderByParts(edges.nodes, *graph);
  case NodeOrderKind::RCM:
    return orderByCuthillMcKee(edges.nodes, *graph);
  case NodeOrderKind::Degree:
    break;
  }
  return sortedBy(edges.nodes, [&](int32_t node) { return graph->pointers[node] - graph->pointers[node + 1]; });
}

double gnnc::gatherLocality(int64_t nodes, llvm::ArrayRef<int32_t> owner, llvm::ArrayRef<int32_t> member,
                            int64_t window) {
  if (owner.empty())
    return 1;
  std::vector<int64_t> next(nodes + 1, 0), lastSeen(nodes, -1);
  for (int32_t node : owner)
    ++next[node + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<int32_t> walked(owner.size());
  for (auto [own, other] : llvm::zip_equal(owner, member))
    walked[next[own]++] = other;
  int64_t near = 0;
  for (int64_t i = 0; i < int64_t(walked.size()); ++i) {
    int64_t &seen = lastSeen[walked[i]];
    near += seen >= 0 && i - seen <= window;
    seen = i;
  }
  return double(near) / double(walked.size());
}
