//===- Topology.h - Spaces and maps of a prepared graph ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates the table's spaces and maps on the caller's extents and index arrays: root ones are checked and copied
// (RootData.cpp), the others derived (Derive.cpp). All element numbers are int32; -1 means undefined.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_TOPOLOGY_H
#define GNNC_RUNTIME_TOPOLOGY_H

#include "Error.h"
#include "Memory.h"
#include "Model.h"
#include "Parts.h"

namespace gnnc::device {
struct Findings;
} // namespace gnnc::device
namespace gnnc::runtime::cuda {
class GraphBuilder;
} // namespace gnnc::runtime::cuda

namespace gnnc::runtime {

/// Largest extent of a space: element numbers and row pointers are int32.
constexpr int64_t kMaxExtent = INT32_MAX - 1;

/// The elements that a map sends its domain to; null stands for the identity.
struct Targets {
  const int32_t *data = nullptr;
  int32_t operator[](int64_t i) const { return data ? data[i] : static_cast<int32_t>(i); }
};

struct SpaceData {
  /// Filter: the element of the base each element is; Selection, and Pairs that are listed: its owner
  const int32_t *members = nullptr;
  const int32_t *partners = nullptr; ///< Pairs that are listed: whom the owner is paired with
  const int32_t *classes = nullptr;  ///< Distinct: the element of the space each element of the base belongs to
  const int32_t *first = nullptr;    ///< Distinct: the first element of the base in each element
  bool missing = false;              ///< not given, or made of something that was not
};

struct MapData {
  bool isChosen = false; ///< leads where each run chooses: there are no targets
  const int32_t *targets = nullptr;
  const int32_t *pointers = nullptr; ///< root maps given as rows: first member of each target, and the end
  bool missing = false;              ///< not given, or made of something that was not
  // On a device, what reading it found out; isExamined: and whether it did.
  bool isExamined = false, inOrder = false;
  int64_t undefined = 0;
  device::Findings *findings = nullptr; ///< on the device, what has not been waited for yet,
  const gnnc_index *given = nullptr;    ///< and what it is about
};

class Topology {
public:
  /// With a `builder` all arrays are on its device.
  Topology(const Model &model, Memory &memory, gnnc_error *error, cuda::GraphBuilder *builder = nullptr)
      : model(model), memory(memory), error(error), builder(builder) {}

  /// `extents` has room for all spaces. On a device, root maps may not have been looked at yet.
  gnnc_status build(const gnnc_graph_desc &desc, int64_t *extents);

  const Model &model;
  Memory &memory;
  gnnc_error *error;
  cuda::GraphBuilder *builder;
  int32_t rank = 0; ///< whose part it is
  int64_t *extents = nullptr;
  SpaceData *spaces = nullptr;
  MapData *maps = nullptr;

  const char *spaceName(int64_t space) const { return model.name(model.space(space).name); }
  const char *mapName(int64_t map) const { return model.name(model.map(map).name); }
  /// Whether a space (2 s) or map (2 m + 1) could not be made because something was not given.
  bool isMissing(int64_t number) const { return number % 2 ? maps[number / 2].missing : spaces[number / 2].missing; }
  /// What was not given that a missing space or map is made of: itself, if it is a root.
  int64_t causeOf(int64_t number) const;
  /// Says that a root space or map was not given.
  gnnc_status reportMissing(int64_t number) const;
  /// Waits for all maps that are being read on the device, and says what is wrong with the first that is.
  GNNC_OF_PART gnnc_status finishReading();
  /// Begins to find out about a derived map; `finishReading` waits for that as well. There is room for so many.
  GNNC_OF_PART gnnc_status examineLater(int64_t map);
  GNNC_OF_PART bool hasRoomForFindings() const;
  /// Whether a map leads from pairs that are not listed: there are no targets.
  bool isUnlisted(int64_t map) const {
    const table::SpaceRec &from = model.space(model.map(map).from);
    return from.kind == table::SpaceKind::Pairs && !from.isListed;
  }
  /// Whether a map leads from pairs to one of their sides; then the two maps that they are made of, its own side first.
  GNNC_OF_PART bool isSideOfPairs(int64_t map, int64_t (&maps)[2]) const;
  Targets targets(int64_t map) const { return map == table::kIdentity ? Targets{} : Targets{maps[map].targets}; }

private:
  // RootData.cpp
  gnnc_status checkDesc(const gnnc_graph_desc &desc);
  gnnc_status rootExtent(const gnnc_graph_desc &desc, int64_t space);
  gnnc_status rootMap(const gnnc_graph_desc &desc, int64_t map);
  gnnc_status readEach(const gnnc_index &index, int64_t map);
  gnnc_status readRows(const gnnc_index &index, int64_t map);

  GNNC_OF_PART gnnc_status readEachOnDevice(const gnnc_index &index, int64_t map);
  GNNC_OF_PART gnnc_status startReading();
  int64_t numReading = 0;
  GNNC_OF_PART gnnc_status readRowsOnDevice(const gnnc_index &index, int64_t map);
  gnnc_status wrongTarget(int64_t map, int64_t element, int64_t target);
  gnnc_status wrongRow(int64_t map, int64_t row, int64_t begin, int64_t end);
  gnnc_status wrongFirstRow(int64_t map, int64_t begin);
  gnnc_status wrongLastRow(int64_t map, int64_t end);

  int64_t missingPart(int64_t number) const;

  // Derive.cpp
  gnnc_status deriveSpace(int64_t space);
  gnnc_status deriveMap(int64_t map);
  gnnc_status deriveFilter(int64_t space);
  bool isEqualWanted(const table::SpaceRec &filter) const {
    return filter.equal == table::kOnFirstRank ? rank == 0 : filter.equal != 0;
  }
  gnnc_status deriveUnion(int64_t space);
  gnnc_status deriveDistinct(int64_t space);
  GNNC_OF_PART gnnc_status derivePairs(int64_t space);
  GNNC_OF_PART gnnc_status tooManyPairs(int64_t space);
  GNNC_OF_PART gnnc_status derivePairsOnDevice(int64_t space);
  GNNC_OF_PART gnnc_status deriveSelection(int64_t space);
  GNNC_OF_PART gnnc_status deriveFilterOnDevice(int64_t space);
  GNNC_OF_PART gnnc_status deriveDistinctOnDevice(int64_t space);
  GNNC_OF_PART gnnc_status deriveSelectionOnDevice(int64_t space);
  GNNC_OF_PART gnnc_status deriveMapOnDevice(int64_t map);
  int32_t *newTargets(int64_t map);
  gnnc_status outOfMemory(const char *what, const char *name, int64_t elements);
};

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_TOPOLOGY_H
