//===- Neighbours.h - Undirected adjacency of a list of edges ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_GRAPHS_NEIGHBOURS_H
#define GNNC_LIB_GRAPHS_NEIGHBOURS_H

#include "gnnc/Graphs/NodeOrder.h"

namespace gnnc {

/// For each node the others that share an edge with it, rising, each once; rows as in CSR.
struct Neighbours {
  std::vector<int32_t> pointers, nodes;

  /// The error says how many nodes and edges are too many.
  static llvm::Expected<Neighbours> create(const EdgeList &edges);
};

} // namespace gnnc

#endif // GNNC_LIB_GRAPHS_NEIGHBOURS_H
