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
//===----------------------------------------------------------------------===//

#ifndef GNNC_GRAPHS_PARTITION_H
#define GNNC_GRAPHS_PARTITION_H

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
    std::vector<int32_t> targets; ///< -1: undefined
  };
  std::vector<Space> spaces;
  std::vector<Map> maps;

  /// Spaces to which no map leads go along one of their maps: one named `dst` or `….dst`, else the first.
  void chooseAlong();
};

/// What a part has of a space.
struct PartOfSpace {
  std::vector<int32_t> own;                    ///< global numbers, rising
  std::vector<int32_t> halo;                   ///< global numbers, by owner, then rising
  std::vector<int32_t> sent;                   ///< local numbers of own elements, by the part that they are sent to
  std::vector<int32_t> sentCounts, haloCounts; ///< for each part, how many are sent to it, or come from it
};

class GraphPartition {
public:
  /// `structure` must outlive the partition. Errors: too much for METIS, spaces that go along each other.
  static llvm::Expected<GraphPartition> create(const GraphStructure &structure, int parts, PartitionKind kind);
  /// The same where it is known whose the elements of each space are; lists for spaces that go along a map are ignored.
  static llvm::Expected<GraphPartition> create(const GraphStructure &structure, int parts,
                                               llvm::ArrayRef<std::vector<int32_t>> owners);

  int parts() const { return count; }
  /// How it was made, if owners were not given: METIS is not asked where there are too few elements for that many
  /// parts.
  PartitionKind kind() const { return usedKind; }
  llvm::ArrayRef<int32_t> owners(size_t space) const { return spaces[space].owner; }
  const PartOfSpace &part(size_t space, int rank) const { return spaces[space].parts[size_t(rank)]; }
  /// Whether a map that the elements of `space` are not divided along leads there.
  bool hasHalo(size_t space) const { return spaces[space].hasHalo; }
  /// The targets of a map on a part's own elements, in the local numbers of that part.
  std::vector<int32_t> localTargets(size_t map, int rank) const;
  /// A number that tells this partition from others: of its owners and of all maps, from which the rest follows.
  uint64_t digest() const;

private:
  struct Space {
    std::vector<int32_t> owner;
    std::vector<int32_t> place; ///< of each element among its owner's
    std::vector<PartOfSpace> parts;
    bool hasHalo = false;
  };

  GraphPartition(const GraphStructure &structure, int parts)
      : structure(&structure), count(parts), spaces(structure.spaces.size()) {}
  /// Spaces in an order in which each comes after the one it goes along to.
  llvm::Expected<std::vector<size_t>> findOrder() const;
  using Owners = std::optional<llvm::ArrayRef<std::vector<int32_t>>>;
  static llvm::Expected<GraphPartition> create(const GraphStructure &structure, int parts, PartitionKind kind,
                                               Owners owners);
  llvm::Error checkOwners(llvm::ArrayRef<std::vector<int32_t>> owners) const;
  llvm::Error divide(llvm::ArrayRef<size_t> order, PartitionKind kind, Owners owners);
  void collect(size_t space);
  void collectHalo(size_t space);
  int32_t localNumber(size_t space, int rank, int32_t element) const;

  const GraphStructure *structure;
  int count;
  PartitionKind usedKind = PartitionKind::Contiguous;
  std::vector<Space> spaces;
};

} // namespace gnnc

#endif // GNNC_GRAPHS_PARTITION_H
