//===- NodeOrder.h - Orders of nodes that keep neighbours near --*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sweep along edges gathers a row for each edge. If neighbours have near numbers, the same rows are gathered again
// while they are still in a cache. The orders are those of METIS and of the Boost Graph Library.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_GRAPHS_NODEORDER_H
#define GNNC_GRAPHS_NODEORDER_H

#include "gnnc/Graphs/GraphEdges.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gnnc {

enum class NodeOrderKind {
  Metis,  ///< by the parts of a partition into parts of about 1024 nodes that cuts few edges
  RCM,    ///< reverse Cuthill-McKee: breadth first, so that few edges lead far
  Degree, ///< nodes of many edges first, so that the rows that are gathered most lie together
};

/// `metis`, `rcm`, `degree`.
std::optional<NodeOrderKind> parseNodeOrderKind(llvm::StringRef name);

/// The old number of each node in the new order; a permutation of the numbers from 0 to nodes - 1, the same for the
/// same edges. The direction of edges does not matter. Errors: more edges than METIS counts, or than it has memory for.
llvm::Expected<std::vector<int32_t>> findNodeOrder(NodeOrderKind kind, const EdgeList &edges);

/// Numbers of gathers within which a row is taken to be in a cache still: with rows of 64 float32 numbers, 1 MiB (the
/// second-level cache of a processor) and 32 MiB (that of a GPU).
inline constexpr int64_t kLocalityWindows[] = {4096, 131072};

/// The share of edges, walked by rising `owner` and among one owner's in the order of the list, whose `member` was also
/// that of one of the `window` edges before. 1 where there are no edges. Both lists have numbers from 0 to nodes - 1.
double gatherLocality(int64_t nodes, llvm::ArrayRef<int32_t> owner, llvm::ArrayRef<int32_t> member, int64_t window);

} // namespace gnnc

#endif // GNNC_GRAPHS_NODEORDER_H
