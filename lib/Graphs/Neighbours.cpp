//===- Neighbours.cpp - Undirected adjacency of a list of edges -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Neighbours.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace gnnc;

llvm::Expected<Neighbours> Neighbours::create(const EdgeList &edges) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (edges.nodes >= most || int64_t(edges.src.size()) > most / 2)
    return llvm::createStringError("expected fewer than 2^31 nodes and 2^30 edges, found " + llvm::Twine(edges.nodes) +
                                   " and " + llvm::Twine(edges.src.size()));
  Neighbours found;
  found.pointers.assign(edges.nodes + 1, 0);
  for (auto [a, b] : llvm::zip_equal(edges.src, edges.dst))
    if (a != b) {
      ++found.pointers[a + 1];
      ++found.pointers[b + 1];
    }
  for (int64_t node = 0; node < edges.nodes; ++node)
    found.pointers[node + 1] += found.pointers[node];
  found.nodes.resize(found.pointers.back());
  std::vector<int32_t> next(found.pointers.begin(), found.pointers.end() - 1);
  for (auto [a, b] : llvm::zip_equal(edges.src, edges.dst))
    if (a != b) {
      found.nodes[next[a]++] = b;
      found.nodes[next[b]++] = a;
    }
  // Rising and each once, in place.
  int32_t end = 0;
  for (int64_t node = 0; node < edges.nodes; ++node) {
    auto first = found.nodes.begin() + found.pointers[node], last = found.nodes.begin() + next[node];
    std::sort(first, last);
    last = std::unique(first, last);
    found.pointers[node] = end;
    end = int32_t(std::copy(first, last, found.nodes.begin() + end) - found.nodes.begin());
  }
  found.pointers[edges.nodes] = end;
  found.nodes.resize(end);
  return found;
}
