//===- Reorder.h - A graph file with its nodes in another order -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives the nodes of a graph file new numbers. Every tensor and all metadata are kept:
//
// * `edge_index` and other `…edge_index` [2, M], `…_idx` [M], and what is named: numbers of nodes (-1 stays) become the
//   new ones; likewise numbers of edges, where these move.
// * Tensors with a row for each node, and `x_indptr`, `x_indices`, `x_values` with rows of nodes: rows move.
// * If `edge_index` is sorted by its second row, so is the result (by the first row within). Then tensors with a row
// for
//   each edge move likewise; otherwise edges stay where they are.
// * The rest stays as it is. Other integers than `batch`, `y`, `label` and types may be numbers of nodes: a file that
//   has some is refused, unless it is said of each what it is.
//
// The result also has `node_order` [N]: the old number of each node. A file that has one already gets that of the first
// file, so that a result can always be brought back to where it came from.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_GRAPHS_REORDER_H
#define GNNC_GRAPHS_REORDER_H

#include "gnnc/Graphs/NodeOrder.h"
#include "gnnc/Support/Safetensors.h"

#include <deque>

namespace gnnc {

struct ReorderOptions {
  NodeOrderKind kind = NodeOrderKind::Metis;
  /// Tensors, by name, with a row for each node or each edge.
  std::vector<std::string> nodeTensors, edgeTensors;
  /// Those whose integers are numbers of nodes: maps that lead to nodes, from other spaces too, and relations [2, M].
  std::vector<std::string> numberTensors;
  /// The same for numbers of edges: maps that lead to edges.
  std::vector<std::string> edgeNumberTensors;
  /// Those that have rows of neither.
  std::vector<std::string> wholeTensors;
};

/// A graph with its nodes in another order. Points into the file it was made from.
class ReorderedGraph {
public:
  /// The error names the file and the tensor, what was expected and what was found. Graphs that are divided by
  /// `graph_ptr` are refused, since their nodes must stay together.
  static llvm::Expected<ReorderedGraph> create(const SafetensorsFile &file, const ReorderOptions &options);

  /// Nothing is written unless all is.
  llvm::Error write(llvm::StringRef path) const;

  /// Edges before and after.
  EdgeList before() const { return old.list(); }
  EdgeList after() const { return {old.nodes, newSrc, newDst}; }
  llvm::ArrayRef<int32_t> order() const { return oldNumbers; }

private:
  explicit ReorderedGraph(const SafetensorsFile &file) : file(&file) {}

  llvm::Error renumber(const ReorderOptions &options);
  llvm::Error place(const FileTensor &tensor, const ReorderOptions &options);
  /// Whether a tensor has rows of nodes or of edges, and whether its integers are numbers of these.
  struct Role {
    bool ofNodes = false, ofEdges = false, toNodes = false, toEdges = false;
  };
  llvm::Expected<Role> roleOf(const FileTensor &tensor, const ReorderOptions &options) const;
  llvm::Error checkNames(const ReorderOptions &options) const;
  llvm::Error placeNumbers(const FileTensor &tensor, const Role &role);
  llvm::ArrayRef<int32_t> orderOf(const Role &role) const {
    return role.ofNodes   ? llvm::ArrayRef(oldNumbers)
           : role.ofEdges ? llvm::ArrayRef(edgeOrder)
                          : llvm::ArrayRef<int32_t>();
  }
  /// Whether NAME_indptr and NAME_indices are rows of nodes.
  bool isSparse(llvm::StringRef name) const;
  llvm::Error placeSparseRows(llvm::StringRef name);
  void placeRows(const FileTensor &tensor, llvm::ArrayRef<int32_t> order);
  llvm::Error wrong(const llvm::Twine &what) const;
  /// Memory for a tensor of the result.
  char *allocate(const FileTensor &tensor);

  const SafetensorsFile *file;
  GraphEdges old;
  std::vector<int32_t> newSrc, newDst;
  std::vector<int32_t> oldNumbers, newNumbers; ///< of nodes
  std::vector<int32_t> edgeOrder;              ///< the old place of each edge; empty: as before
  std::vector<int32_t> newPlaces;              ///< of edges likewise
  std::deque<std::vector<char>> memory;
  SafetensorsWriter writer;
};

} // namespace gnnc

#endif // GNNC_GRAPHS_REORDER_H
