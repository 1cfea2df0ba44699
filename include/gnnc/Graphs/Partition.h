//===- Partition.h - A graph's elements, divided among ranks ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each element of each space belongs to one part. The elements of a space that goes *along* a map (edges along dst)
// belong where the map leads; all other spaces are divided so that few elements of one part are connected to another.
// A map that a space does not go along may lead to elements of other parts: those are a part's *halo* of that space.
//
// In a part, elements have local numbers: its own come first, by rising global number, then the halo, by owner and
// global number. What one part sends to another, in its own order, is what the other has in its halo.
//
// Memory: some numbers for each element of spaces that maps lead to (nodes), and two for each element of a halo. Spaces
// to which no map leads (edges) may be larger than memory: whose their elements are is read off the maps, for some
// parts at a time.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_GRAPHS_PARTITION_H
#define GNNC_GRAPHS_PARTITION_H

#include "gnnc/Graphs/Targets.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gnnc {

enum class PartitionKind {
  Metis,      ///< parts of about equal work with few connections between them
  Contiguous, ///< ranges of numbers, of about equal work
  Random,     ///< every element by itself, always the same
};

/// `metis`, `contiguous`, `random`.
std::optional<PartitionKind> parsePartitionKind(llvm::StringRef name);

/// A part has two numbers for each other part, and all of these are in memory together.
constexpr int kMostRanks = 4096;

/// Spaces and maps between them, by their places in these lists. Maps to spaces that are not divided are not among
/// them.
struct GraphStructure {
  struct Space {
    std::string name;
    int64_t extent = 0;
    std::optional<size_t> along; ///< the map that says which part an element belongs to
  };
  struct Map {
    std::string name;
    size_t from = 0, to = 0;
    Targets targets; ///< -1: undefined
  };
  std::vector<Space> spaces;
  std::vector<Map> maps;

  /// Spaces to which no map leads go along one of their maps: one named `dst` or `….dst`, else the first.
  void chooseAlong();
};

/// What a part reads of a space of others, and what others read of it.
struct PartOfSpace {
  std::vector<int32_t> halo;                   ///< global numbers, by owner, then rising
  std::vector<int32_t> sent;                   ///< local numbers of own elements, by the part that they are sent to
  std::vector<int32_t> sentCounts, haloCounts; ///< for each part, how many are sent to it, or come from it
};

class GraphPartition {
public:
  /// `structure` must outlive the partition. Errors: too much for METIS, spaces that go along each other.
  /// `listed`: elements of a space that no map leads to whose parts are listed at a time.
  static llvm::Expected<GraphPartition> create(const GraphStructure &structure, int parts, PartitionKind kind,
                                               int64_t listed = kMostListed);
  /// The same where it is known whose the elements of each space are; lists for spaces that go along a map are ignored.
  static llvm::Expected<GraphPartition> create(const GraphStructure &structure, int parts,
                                               llvm::ArrayRef<std::vector<int32_t>> owners);
  static constexpr int64_t kMostListed = int64_t(1) << 26;

  int parts() const { return count; }
  /// How it was made, if owners were not given: METIS is not asked where there are too few elements for that many
  /// parts.
  PartitionKind kind() const { return usedKind; }
  int32_t ownerOf(size_t space, int32_t element) const;
  int64_t ownCount(size_t space, int rank) const { return spaces[space].counts[size_t(rank)]; }
  /// Global numbers of a part's own elements, rising; until those of the same space and another part are asked for.
  llvm::ArrayRef<int32_t> own(size_t space, int rank) const;
  const PartOfSpace &part(size_t space, int rank) const { return spaces[space].parts[size_t(rank)]; }
  /// Whether a map that the elements of `space` are not divided along leads there.
  bool hasHalo(size_t space) const { return spaces[space].hasHalo; }
  /// The targets of a map on a part's own elements, in the local numbers of that part.
  std::vector<int32_t> localTargets(size_t map, int rank) const;
  /// A number that tells this partition from others: of its owners and of all maps, from which the rest follows.
  uint64_t digest() const;

private:
  struct Space {
    bool isLeaf = false;         ///< goes along a map, and none leads to it
    std::vector<int32_t> owner;  ///< of a leaf empty; so is `place`
    std::vector<int32_t> place;  ///< of each element among its owner's
    std::vector<int64_t> counts; ///< of own elements, by part
    std::vector<PartOfSpace> parts;
    bool hasHalo = false;
    /// The own elements of some parts: of all, but of a leaf of those that were asked for last.
    mutable std::vector<std::vector<int32_t>> lists;
    mutable int firstList = 0;
  };

  GraphPartition(const GraphStructure &structure, int parts, int64_t listed);
  /// Spaces in an order in which each comes after the one it goes along to.
  llvm::Expected<std::vector<size_t>> findOrder() const;
  using Owners = std::optional<llvm::ArrayRef<std::vector<int32_t>>>;
  static llvm::Expected<GraphPartition> create(const GraphStructure &structure, int parts, PartitionKind kind,
                                               Owners owners, int64_t listed);
  llvm::Error checkOwners(llvm::ArrayRef<std::vector<int32_t>> owners) const;
  llvm::Error divide(llvm::ArrayRef<size_t> order, PartitionKind kind, Owners owners);
  void collect(size_t space);
  void list(size_t space, int first) const;
  void collectHalo(size_t space);
  int32_t localNumber(size_t space, int rank, int32_t element) const;

  const GraphStructure *structure;
  int count;
  int64_t listed;
  PartitionKind usedKind = PartitionKind::Contiguous;
  std::vector<Space> spaces;
};

} // namespace gnnc

#endif // GNNC_GRAPHS_PARTITION_H
