//===- NearestTree.cuh - The nearest of many points -------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree over points in the order of their Morton codes (PointTree.h), whose nodes have 32 children, one for each lane.
// A warp searches for a query: it tries the leaves around the query's own; then lanes compute the distances to the
// boxes of a node's children, and the nearest child comes first, until all that are left are farther away than the last
// of the nearest points so far. These are in order by lanes. Distances to boxes are rounded as those to points are, so
// that they are never more than these.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_NEARESTTREE_CUH
#define GNNC_KERNELS_NEARESTTREE_CUH

#include "Nearest.cuh"

#include "PointTree.h" // of include/gnnc/ModelFormat

namespace gnnc::nearest {

using device::NearestTree;

constexpr int kLeaf = 32; // a lane has a point

/// Whole numbers with the order of floats.
GNNC_DEVICE unsigned inOrder(float x) {
  const unsigned bits = __float_as_uint(x);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
GNNC_DEVICE float outOfOrder(unsigned key) { return __int_as_float(int(key >> 31 ? key & 0x7fffffffu : ~key)); }

/// The largest numbers of points, and the largest of ~ of the least, as ordered words that are 0 at first.
template <typename T> GNNC_DEVICE void bound(const T *points, int width, int64 count, unsigned *bounds) {
  for (int k = 0; k < width; ++k) {
    unsigned low = 0, high = 0;
    for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64(gridDim.x) * blockDim.x) {
      const float x = float(points[i * width + k]);
      if (x - x == 0) {
        const unsigned key = inOrder(x);
        low = low > ~key ? low : ~key;
        high = high > key ? high : key;
      }
    }
    for (int mask = 16; mask > 0; mask /= 2) {
      const unsigned otherLow = shuffleXor(low, mask), otherHigh = shuffleXor(high, mask);
      low = low > otherLow ? low : otherLow;
      high = high > otherHigh ? high : otherHigh;
    }
    if (lane() == 0) {
      atomicMax(&bounds[k], low);
      atomicMax(&bounds[width + k], high);
    }
  }
}

template <typename T>
GNNC_DEVICE void findCodes(const T *points, const unsigned *bounds, int width, int64 count, int *codes) {
  float low[tree::kMostNumbers], high[tree::kMostNumbers];
  for (int k = 0; k < width; ++k) {
    low[k] = outOfOrder(~bounds[k]);
    high[k] = outOfOrder(bounds[width + k]);
  }
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64(gridDim.x) * blockDim.x)
    codes[i] = tree::codeOf(points + i * width, width, low, high);
}

/// The boxes of leaves, whose points are copied in order, or (`children` is not null) of nodes; a warp makes one.
template <typename T>
GNNC_DEVICE void makeBoxes(const T *points, const int *order, T *sorted, const T *children, int width, int64 count,
                           T *boxes) {
  const int64 node = (int64(blockIdx.x) * blockDim.x + threadIdx.x) / 32, own = node * 32 + lane();
  if (node * 32 >= count)
    return;
  const bool isThere = own < count;
  const int64 number = isThere && !children ? order[own] : own;
  for (int k = 0; k < width; ++k) {
    T low = T(__int_as_float(0x7f800000)), high = -low;
    if (isThere && children) {
      low = children[own * 2 * width + k];
      high = children[own * 2 * width + width + k];
    } else if (isThere) {
      const T x = points[number * width + k];
      sorted[own * width + k] = x;
      low = x == x ? x : low;
      high = x == x ? x : high;
    }
    for (int mask = 16; mask > 0; mask /= 2) {
      const T otherLow = shuffleXor(low, mask), otherHigh = shuffleXor(high, mask);
      low = otherLow < low ? otherLow : low;
      high = otherHigh > high ? otherHigh : high;
    }
    if (lane() == 0) {
      boxes[node * 2 * width + k] = low;
      boxes[node * 2 * width + width + k] = high;
    }
  }
}

template <typename T, int kWidth> class TreeSearch {
  using F = Found<T>;
  using K = typename F::Key;

public:
  GNNC_DEVICE TreeSearch(const NearestTree &own, int query) : own(own), self(own.others ? query : -1) {
    const int group = own.groups ? own.groups[query] : 0;
    begin = own.pointers ? own.pointers[group] : 0;
    end = own.pointers ? own.pointers[group + 1] : int(own.numPoints);
    GNNC_FOR(k, kWidth) point[k] = static_cast<const T *>(own.queries)[int64(query) * kWidth + k];
  }

  /// `place`: of the query, if it is one of the points; else -1.
  GNNC_DEVICE void find(int *chosen, int room, int64 place) {
    last = room - 1;
    // Leaves beside the query's own have most of what is near.
    const int64 seen = place < 0 ? leafOf() : place / kLeaf;
    for (int64 leaf = seen > 0 ? seen - 1 : 0; leaf <= seen + 1 && leaf < own.nodes[0]; ++leaf)
      scan(leaf);
    K distances[device::kMostTreeLevels]; // of this lane's child of the node that is looked at in each level
    int64 first[device::kMostTreeLevels]; // the first child of that node
    const int top = int(own.levels) - 1;
    int level = top;
    first[top] = 0;
    distances[top] = distanceTo(top, 0);
    for (;;) {
      const K nearest = nearestOfWarp(distances[level]);
      if (nearest == F::kNone || nearest > worst) {
        if (level == top)
          break;
        ++level;
        continue;
      }
      const int which = __ffs(ballot(distances[level] == nearest)) - 1;
      const int64 child = first[level] + which;
      if (lane() == which)
        distances[level] = F::kNone;
      if (level == 0) {
        if (child < seen - 1 || child > seen + 1)
          scan(child);
      } else {
        --level;
        first[level] = child * 32;
        distances[level] = distanceTo(level, child * 32);
      }
    }
    if (lane() < room)
      chosen[lane()] = mine.number();
  }

private:
  GNNC_DEVICE static unsigned nearestOfWarp(unsigned distance) { return leastOfWarp(distance); }
  GNNC_DEVICE static unsigned long long nearestOfWarp(unsigned long long distance) {
    for (int mask = 16; mask > 0; mask /= 2) {
      const unsigned long long other = shuffleXor(distance, mask);
      distance = other < distance ? other : distance;
    }
    return distance;
  }

  /// The leaf that one comes to by the nearest nodes.
  GNNC_DEVICE int64 leafOf() const {
    int64 node = 0;
    for (int level = int(own.levels) - 1; level >= 0; --level) {
      const K distance = distanceTo(level, node * 32), nearest = nearestOfWarp(distance);
      if (nearest == F::kNone)
        return 0;
      node = node * 32 + __ffs(ballot(distance == nearest)) - 1;
    }
    return node;
  }

  /// To the box of this lane's child of those from `first` on.
  GNNC_DEVICE K distanceTo(int level, int64 first) const {
    const int64 node = first + lane();
    int64 covered = kLeaf; // places of a node
    for (int i = 0; i < level; ++i)
      covered *= 32;
    if (node >= own.nodes[level] || node * covered >= end || (node + 1) * covered <= begin)
      return F::kNone;
    const T *box = static_cast<const T *>(own.boxes) + (own.offsets[level] + node) * 2 * kWidth;
    T sum = 0;
    GNNC_FOR(k, kWidth) {
      const T low = box[k], high = box[kWidth + k];
      const T apart = low > point[k] ? F::add(low, -point[k]) : point[k] > high ? F::add(point[k], -high) : T(0);
      sum = F::add(sum, F::mul(apart, apart));
    }
    return F::keyOf(sum);
  }

  GNNC_DEVICE void scan(int64 leaf) {
    const int64 place = leaf * kLeaf + lane();
    const int number = place >= begin && place < end ? own.order[place] : -1;
    F found = F::of(F::kNone, -1);
    if (number >= 0 && number != self) {
      const T *row = static_cast<const T *>(own.points) + place * kWidth;
      T sum = 0;
      GNNC_FOR(k, kWidth) {
        const T difference = F::add(row[k], -point[k]);
        sum = F::add(sum, F::mul(difference, difference));
      }
      found = F::of(F::keyOf(sum), number);
    }
    const F farthest = mine.from(last);
    const unsigned all = ballot(found < farthest);
    constexpr int kFew = 6; // are put in their places one by one
    if (__popc(all) > kFew) {
      const F other = sorted(found < farthest ? found : F::of(F::kNone, -1), 2).from(31 - lane());
      if (other < mine)
        mine = other;
      mine = sorted(mine, 32);
    } else {
      for (unsigned left = all; left; left &= left - 1) {
        const F x = found.from(__ffs(left) - 1), before = mine.from(lane() > 0 ? lane() - 1 : 0);
        const int place = __popc(ballot(mine < x));
        mine = lane() > place ? before : lane() == place ? x : mine;
      }
    }
    worst = mine.from(last).key();
  }

  const NearestTree &own;
  const int self;
  int begin, end, last = 0;
  T point[kWidth];
  F mine = F::of(F::kNone, -1);
  K worst = F::kNone;
};

template <typename T, int kWidth> GNNC_DEVICE void searchTree(const NearestTree &own) {
  const int64 warp = (int64(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (warp >= own.numQueries)
    return;
  const int query = own.places ? own.places[warp] : int(warp), at = own.owners[query];
  if (const int room = own.owners[query + 1] - at; room > 0)
    TreeSearch<T, kWidth>(own, query).find(own.chosen + at, room, own.places ? warp : -1);
}

template <typename T> GNNC_DEVICE void searchTree(const NearestTree &own) {
  switch (own.width) {
  case 1:
    return searchTree<T, 1>(own);
  case 2:
    return searchTree<T, 2>(own);
  case 3:
    return searchTree<T, 3>(own);
  default:
    return searchTree<T, 4>(own);
  }
}

} // namespace gnnc::nearest

#endif // GNNC_KERNELS_NEARESTTREE_CUH
