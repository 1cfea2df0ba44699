//===- NearestTree.cpp - The nearest of many points -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many points of a few numbers are put in the order of their Morton codes, group by group. Leaves of a tree are points
// that stand side by side in that order, nodes are nodes that do; each has the box around its points (PointTree.h). A
// search tries the leaves around the query's own, and then goes to the nearest boxes first, and leaves out those that
// are farther away than the last of the nearest points so far. The distance to a box is rounded as that to a point is,
// so that it is never more than that of a point in it. Points are in columns in this order, so that the distances to a
// leaf's points are computed side by side.
//
//===----------------------------------------------------------------------===//

#include "Choose.h"
#include "gnnc/ModelFormat/PointTree.h"
#include <string.h>

namespace gnnc::runtime {

namespace {

/// Of no more points in a group, on average, each other is tried.
constexpr int64_t kFewForTree = 512;

/// Sorts numbers by their keys, which stay where they are.
int32_t *sortByKeys(const int32_t *keys, int32_t *order, int32_t *other, int64_t count) {
  constexpr int kDigitBits = 10, kPasses = tree::kCodeBits / kDigitBits;
  for (int64_t i = 0; i < count; ++i)
    order[i] = static_cast<int32_t>(i);
  for (int pass = 0; pass < kPasses; ++pass) {
    int32_t starts[(1 << kDigitBits) + 1] = {};
    auto digit = [&](int32_t number) { return keys[number] >> (pass * kDigitBits) & ((1 << kDigitBits) - 1); };
    for (int64_t i = 0; i < count; ++i)
      ++starts[digit(order[i]) + 1];
    for (int d = 0; d < 1 << kDigitBits; ++d)
      starts[d + 1] += starts[d];
    for (int64_t i = 0; i < count; ++i)
      other[starts[digit(order[i])]++] = order[i];
    int32_t *swapped = order;
    order = other;
    other = swapped;
  }
  return order;
}

template <typename T> class Tree {
public:
  explicit Tree(const NearestSearch &search)
      : search(search), from(search.from), count(from.count), width(search.width),
        columns(static_cast<T *>(search.columns)), order(search.tree),
        boxes(reinterpret_cast<T *>(order + (count + 1) / 2 * 2)), shape(count, kLeaf, kFanOut) {}

  /// Puts points in order: the first `count` numbers of the room.
  void sort() const {
    int32_t *other = order + count, *codes = other + count;
    const T *points = static_cast<const T *>(search.points);
    double low[tree::kMostNumbers], high[tree::kMostNumbers];
    for (int64_t k = 0; k < width; ++k) {
      low[k] = __builtin_inf();
      high[k] = -__builtin_inf();
    }
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = 0; k < width; ++k)
        if (double x = static_cast<double>(points[i * width + k]); x - x == 0) {
          low[k] = x < low[k] ? x : low[k];
          high[k] = x > high[k] ? x : high[k];
        }
    for (int64_t i = 0; i < count; ++i)
      codes[i] = tree::codeOf(points + i * width, width, low, high);
    int32_t *sorted = sortByKeys(codes, order, other, count);
    if (!search.belongs) {
      if (sorted != order)
        memcpy(order, sorted, count * sizeof(int32_t));
      return;
    }
    // Each group from its start to its end, as its members are: `pointers` say where, `next` how far it is.
    int32_t *next = codes, *placed = sorted == order ? other : order;
    memcpy(next, from.pointers, search.groups * sizeof(int32_t));
    for (int64_t i = 0; i < count; ++i)
      placed[next[search.belongs[sorted[i]]]++] = sorted[i];
    if (placed != order)
      memcpy(order, placed, count * sizeof(int32_t));
  }

  void makeBoxes() const {
    for (int level = 0; level < shape.levels; ++level)
      for (int64_t node = 0; node < shape.nodes[level]; ++node) {
        const int64_t all = level == 0 ? count : shape.nodes[level - 1], fanOut = level == 0 ? kLeaf : kFanOut;
        const int64_t begin = node * fanOut, end = begin + fanOut < all ? begin + fanOut : all;
        for (int64_t k = 0; k < width; ++k) {
          T low = static_cast<T>(__builtin_inf()), high = -low;
          for (int64_t i = begin; i < end; ++i) {
            T least = level == 0 ? columns[k * count + i] : *numberOf(level - 1, i, k);
            T most = level == 0 ? least : *numberOf(level - 1, i, width + k);
            low = least < low ? least : low;
            high = most > high ? most : high;
          }
          *numberOf(level, node, k) = low;
          *numberOf(level, node, width + k) = high;
        }
      }
  }

  /// `place`: of the owner, if it is one of the points; else -1.
  template <int kWidth> [[gnu::always_inline]] void find(int64_t owner, int64_t place) const {
    int64_t first = from.owners[owner], room = from.owners[owner + 1] - first;
    if (room == 0)
      return;
    Query<kWidth> query{{},
                        static_cast<T *>(search.distances) + first,
                        from.chosen + first,
                        room,
                        0,
                        from.begin(owner),
                        from.end(owner),
                        from.others ? owner : -1};
    for (int k = 0; k < kWidth; ++k)
      query.point[k] = static_cast<const T *>(search.queries)[owner * kWidth + k];
    // Leaves beside the query's own have most of what is near.
    constexpr int64_t kBeside = 2;
    const int64_t own = place < 0 ? leafOf(query) : place / kLeaf;
    const int64_t firstSeen = own > kBeside ? own - kBeside : 0, lastSeen = own + kBeside;
    for (int64_t leaf = firstSeen; leaf <= lastSeen && leaf < shape.nodes[0]; ++leaf)
      scan(query, leaf);
    Node nodes[tree::Shape::kMostLevels * kFanOut];
    int left = 0;
    addChildren(query, shape.levels - 1, 0, nodes, left);
    while (left > 0) {
      const Node node = nodes[--left];
      if (query.isFull() && node.distance > query.last())
        continue;
      if (node.level > 0)
        addChildren(query, node.level - 1, node.number, nodes, left);
      else if (node.number < firstSeen || node.number > lastSeen)
        scan(query, node.number);
    }
  }

private:
  static constexpr int kLeaf = 8, kFanOut = 8;

  template <int kWidth> struct Query {
    T point[kWidth];
    T *nearest;
    int32_t *chosen;
    int64_t room, kept, begin, end; ///< places of its group
    int64_t self;

    bool isFull() const { return kept == room; }
    T last() const { return nearest[room - 1]; }
  };
  struct Node {
    T distance;
    int32_t level;
    int64_t number;
  };

  static bool isNumber(T x) { return x == x; }
  /// Not-a-number is behind all else, and of equal distances the smaller number is first.
  static bool isBefore(T a, int32_t i, T b, int32_t j) {
    return a < b || (isNumber(a) && !isNumber(b)) || (!(b < a) && isNumber(a) == isNumber(b) && i < j);
  }

  /// A number of a box; those of siblings stand side by side.
  T *numberOf(int level, int64_t node, int64_t number) const {
    return boxes + ((shape.offsets[level] + node / kFanOut * kFanOut) * 2 * width) + number * kFanOut + node % kFanOut;
  }

  /// The leaf that one comes to by the nearest nodes.
  template <int kWidth> int64_t leafOf(const Query<kWidth> &query) const {
    int64_t node = 0;
    for (int level = shape.levels - 1; level >= 0; --level) {
      Node nodes[kFanOut];
      int left = 0;
      addChildren(query, level, node, nodes, left);
      if (left == 0)
        return 0;
      node = nodes[left - 1].number;
    }
    return node;
  }

  /// Adds the children of a node that may have something nearer, the nearest last.
  template <int kWidth>
  [[gnu::always_inline]] void addChildren(const Query<kWidth> &query, int level, int64_t parent, Node *nodes,
                                          int &left) const {
    T distances[kFanOut] = {};
    const T *box = numberOf(level, parent * kFanOut, 0);
    for (int k = 0; k < kWidth; ++k) {
#pragma clang fp contract(off)
      const T own = query.point[k], *low = box + k * kFanOut, *high = low + kWidth * kFanOut;
      for (int i = 0; i < kFanOut; ++i) {
        const T below = low[i] - own, above = own - high[i];
        T apart = below > 0 ? below : T(0); // and where one is not a number
        apart = above > apart ? above : apart;
        distances[i] += apart * apart;
      }
    }
    int64_t covered = kLeaf; // places of a node
    for (int i = 0; i < level; ++i)
      covered *= kFanOut;
    const int64_t all = shape.nodes[level] - parent * kFanOut;
    const int first = left;
    for (int i = 0; i < kFanOut && i < all; ++i) {
      const int64_t node = parent * kFanOut + i;
      if (node * covered >= query.end || (node + 1) * covered <= query.begin ||
          (query.isFull() && distances[i] > query.last()))
        continue;
      int place = left++;
      for (; place > first && distances[i] > nodes[place - 1].distance; --place)
        nodes[place] = nodes[place - 1];
      nodes[place] = {distances[i], level, node};
    }
  }

  template <int kWidth> [[gnu::always_inline]] void scan(Query<kWidth> &query, int64_t leaf) const {
    const int64_t first = leaf * kLeaf;
    T distances[kLeaf] = {};
    if (first + kLeaf <= count)
      distancesOf<kWidth>(query, first, kLeaf, distances);
    else
      distancesOf<kWidth>(query, first, count - first, distances);
    const int64_t begin = first < query.begin ? query.begin : first;
    const int64_t end = first + kLeaf < query.end ? first + kLeaf : query.end;
    for (int64_t i = begin; i < end; ++i) {
      T own = distances[i - first];
      if (query.isFull() && own > query.last())
        continue;
      int32_t number = order[i];
      if (number == query.self ||
          (query.isFull() && !isBefore(own, number, query.last(), query.chosen[query.room - 1])))
        continue;
      int64_t place = query.isFull() ? query.kept - 1 : query.kept++;
      for (; place > 0 && isBefore(own, number, query.nearest[place - 1], query.chosen[place - 1]); --place) {
        query.nearest[place] = query.nearest[place - 1];
        query.chosen[place] = query.chosen[place - 1];
      }
      query.nearest[place] = own;
      query.chosen[place] = number;
    }
  }

  template <int kWidth>
  [[gnu::always_inline]] void distancesOf(const Query<kWidth> &query, int64_t first, int64_t size, T *distances) const {
#pragma clang fp contract(off)
    for (int k = 0; k < kWidth; ++k) {
      const T *column = columns + k * count + first;
      for (int64_t i = 0; i < size; ++i) {
        T difference = column[i] - query.point[k];
        distances[i] += difference * difference;
      }
    }
  }

  const NearestSearch &search;
  const Candidates &from;
  int64_t count, width;
  T *columns;
  int32_t *order;
  T *boxes;
  tree::Shape shape;
};

template <typename T, int kWidth>
[[gnu::always_inline]] inline void findRows(const NearestSearch &search, int64_t begin, int64_t end) {
  Tree<T> tree(search);
  const bool isOfItself = search.points == search.queries; // in the order of the tree, which is near what was read last
  for (int64_t i = begin; i < end; ++i)
    tree.template find<kWidth>(isOfItself ? search.tree[i] : i, isOfItself ? i : -1);
}

template <typename T>
[[gnu::always_inline]] inline void findOfWidth(const NearestSearch &search, int64_t begin, int64_t end) {
  switch (search.width) {
  case 1:
    return findRows<T, 1>(search, begin, end);
  case 2:
    return findRows<T, 2>(search, begin, end);
  case 3:
    return findRows<T, 3>(search, begin, end);
  default:
    return findRows<T, 4>(search, begin, end);
  }
}

} // namespace

bool hasManyPoints(const NearestSearch &search) {
  // 8 points and their box for each leaf, and a seventh of that for nodes, have room with more than 512 points.
  static_assert(kFewForTree >= 512);
  return search.width <= tree::kMostNumbers && search.from.count > kFewForTree * search.groups;
}

void sortPoints(const NearestSearch &search) {
  search.isDouble ? Tree<double>(search).sort() : Tree<float>(search).sort();
}

void boxPoints(const NearestSearch &search) {
  search.isDouble ? Tree<double>(search).makeBoxes() : Tree<float>(search).makeBoxes();
}

void findNearestInTree(const NearestSearch &search, int64_t begin, int64_t end) {
  search.isDouble ? findOfWidth<double>(search, begin, end) : findOfWidth<float>(search, begin, end);
}

} // namespace gnnc::runtime
