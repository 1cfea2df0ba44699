//===- Worklist.h - Owners in chunks of a bounded size ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A map's owners as items of at most so many members; every kernel along the map takes the same list. The layouts are
// those of gnnc/ModelFormat/DeviceData.h.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CUDA_WORKLIST_H
#define GNNC_RUNTIME_CUDA_WORKLIST_H

#include "../Indices.h"
#include "Device.h"

namespace gnnc::runtime::cuda {

using device::Heavy, device::Item;

struct Worklist {
  const Item *items = nullptr; ///< those with a slot first
  const Heavy *heavy = nullptr;
  const int32_t *heavyOfSlot = nullptr;
  int64_t numItems = 0, numSlots = 0, numHeavy = 0; ///< items with a slot: as many as slots
  int64_t chunk = 0;
  /// As in DeviceWorklist.
  bool bySize = false;
  int64_t largest[kNumSizes] = {};
};

/// The shortest chunks of many owners.
constexpr int64_t kLeastChunk = 256;
/// Members an item has at most, where there are so many in all of so many owners.
int64_t chunkFor(int64_t members, int64_t owners);
/// Owners with more members than this are long beside the others.
int64_t longFrom(int64_t members, int64_t owners);
/// Light owners are listed by falling size where long ones have more than these of so many members.
int64_t mostEven(int64_t members);

// The most that a worklist of up to so many owners and members has, however these are spread: items with a slot, owners
// with several items, and items.
int64_t mostSlots(int64_t owners, int64_t members);
int64_t mostHeavy(int64_t owners, int64_t members);
int64_t mostItems(int64_t owners, int64_t members);

/// False when memory runs out.
bool makeWorklist(const Grouping &grouping, Memory &memory, Worklist &result);

} // namespace gnnc::runtime::cuda

#endif // GNNC_RUNTIME_CUDA_WORKLIST_H
