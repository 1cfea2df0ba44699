//===- GraphEdges.h - The edges of a graph file -----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_GRAPHS_GRAPHEDGES_H
#define GNNC_GRAPHS_GRAPHEDGES_H

#include "gnnc/Support/Safetensors.h"

#include <vector>

namespace gnnc {

/// Edges as two lists of node numbers of the same length.
struct EdgeList {
  int64_t nodes = 0;
  llvm::ArrayRef<int32_t> src, dst;
};

/// The rows of tensor `edge_index`, and metadata `num_nodes`.
struct GraphEdges {
  int64_t nodes = 0;
  std::vector<int32_t> src, dst;

  /// The error names the file and the tensor, what was expected and what was found. All numbers are those of nodes.
  static llvm::Expected<GraphEdges> read(const SafetensorsFile &file);

  EdgeList list() const { return {nodes, src, dst}; }
};

/// The numbers of an I32 or I64 tensor; nothing if it is of another type or one does not fit 32 bits.
std::optional<std::vector<int32_t>> readNumbers(const FileTensor &tensor);

} // namespace gnnc

#endif // GNNC_GRAPHS_GRAPHEDGES_H
