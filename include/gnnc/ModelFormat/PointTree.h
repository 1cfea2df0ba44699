//===- PointTree.h - A tree of boxes around points --------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a search for the nearest of many points is arranged on any processor: the order of the points, and how many nodes
// a tree over that order has. A leaf covers some places of the order, and a node some nodes, as many as the processor
// wants; its box has the least and the largest numbers of its points. Included by the runtime and by kernels, as
// DeviceData.h is.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MODELFORMAT_POINTTREE_H
#define GNNC_MODELFORMAT_POINTTREE_H

#ifdef __CUDACC__
#define GNNC_TREE __device__ __forceinline__
#else
#define GNNC_TREE inline
#endif

namespace gnnc::tree {

/// Points with more numbers do not gain from it: most boxes are nearer than the nearest points.
constexpr int kMostNumbers = 4;
constexpr int kCodeBits = 30;

/// The bits of the numbers of a place, by turns: points with codes that are near each other are mostly near, too. Each
/// number is cut to as many bits as there is room for; one that is not a number is behind all others.
template <typename Real, typename Bound>
GNNC_TREE int codeOf(const Real *point, long long width, const Bound *low, const Bound *high) {
  const int bits = kCodeBits / int(width);
  unsigned code = 0;
  for (int k = 0; k < int(width); ++k) {
    const double extent = double(high[k]) - double(low[k]), most = double((1u << bits) - 1);
    const double place = extent > 0 ? (double(point[k]) - double(low[k])) / extent * most : 0;
    const unsigned whole = place < 0 ? 0 : place < most ? unsigned(place) : unsigned(most);
    for (int bit = 0; bit < bits; ++bit)
      code |= (whole >> bit & 1u) << (bit * int(width) + k);
  }
  return int(code);
}

/// How many nodes each level has, the leaves first, and where they begin, at a multiple of what a node has; the last
/// level has no more than that.
struct Shape {
  static constexpr int kMostLevels = 12;
  int levels = 0;
  long long nodes[kMostLevels], offsets[kMostLevels];
  long long all = 0;

  GNNC_TREE Shape(long long points, int leaf, int fanOut) {
    for (long long count = (points + leaf - 1) / leaf;; count = (count + fanOut - 1) / fanOut) {
      nodes[levels] = count;
      offsets[levels++] = all;
      all += (count + fanOut - 1) / fanOut * fanOut;
      if (count <= fanOut)
        break;
    }
  }
};

} // namespace gnnc::tree

#endif // GNNC_MODELFORMAT_POINTTREE_H
