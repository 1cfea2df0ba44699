//===- DeviceStep.h - What a step on a GPU is made of -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of the program becomes a few launches. All their arguments are 64-bit words, so that the runtime can lay
// them out without knowing what they mean; packaging writes these records into the object's table
// (include/gnnc/ModelFormat/ModelTable.h, whose meanings they have).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TARGET_CUDA_DEVICESTEP_H
#define GNNC_TARGET_CUDA_DEVICESTEP_H

#include "gnnc/ModelFormat/DeviceData.h"
#include "gnnc/Target/Kernel.h"

namespace gnnc::cuda {

using table::WordKind;

/// An argument of a kernel. Here `number` is that of DeviceStep::buffers, ::indices, ::scratch or ::launches.
struct Word {
  WordKind kind;
  unsigned number = 0;
  mlir::FlatSymbolRefAttr symbol; ///< Extent: the space, null: 1 element; words of a worklist: the map
};

/// Memory a step needs while it runs: `bytes` for each of so many.
using table::ScratchKind;
struct Scratch {
  ScratchKind kind;
  mlir::FlatSymbolRefAttr map; ///< Slots, HeavyOwners; Elements: the space (null: one element)
  int64_t bytes;
};

/// How many blocks there are along x: `perBlock` of what is counted in each.
using table::GridKind;

struct Launch {
  std::string kernel;
  unsigned part = 0; ///< which of CUDASource::parts has it
  GridKind grid;
  mlir::FlatSymbolRefAttr symbol;       ///< the map; Elements: the space (null: one element)
  int64_t perBlock = 1, perElement = 1; ///< blocks = ceil(count * perElement / perBlock)
  int64_t gridY = 1, gridZ = 1;
  int64_t threads = 128;
  int64_t sharedBytes = 0;       ///< asked for at launch,
  int64_t staticSharedBytes = 0; ///< and what the kernel has besides
  /// Of all blocks, those along y and z included, but at least one along x: blocks take turns if there are more. 0: as
  /// many as it takes.
  int64_t mostBlocksPerProcessor = 0;
  /// Items: which of them, by their members (ModelTable.h). Powers of two or 0; `below` 0: however many. Elements: how
  /// many there have to be.
  int64_t leastMembers = 0, belowMembers = 0;
  /// Items: how many lanes share a row's features, how many groups of these an owner's members, and how many members
  /// a group loads before it uses the first.
  int64_t lanes = 0, groups = 0, flight = 0;
  bool wholeBlocks = false; ///< each of its items has a block
  bool isFew = false;       ///< for owners with few members, where they have few on average
  bool isJoined = false;    ///< not launched: its blocks come before those of the launch that follows
  bool isCounted = false;   ///< each of its blocks leaves a partial total
  int architecture = 0;     ///< whose machine code it is for (ModelTable.h)
  llvm::SmallVector<Word> words;

  /// This many parts of the work along y, and z where these are too many: device::kMostAlongY. The last of
  /// them may have nothing to do.
  void spread(int64_t parts) {
    gridY = std::min<int64_t>(parts, device::kMostAlongY);
    gridZ = gridY ? (parts + gridY - 1) / gridY : 1;
  }
};

struct DeviceStep {
  std::string name; ///< no other step has it; kernels may be another step's
  llvm::SmallVector<mlir::Value> buffers;
  llvm::SmallVector<mlir::Value> written; ///< what it computes
  llvm::SmallVector<IndexRef> indices;
  llvm::SmallVector<Scratch> scratch;
  /// Results of which a launch may leave rows unwritten: they are set to zero first.
  llvm::SmallVector<unsigned> zeroed;
  llvm::SmallVector<Launch> launches;
};

/// What a launch may take: words of arguments, bytes of shared memory of a block (where there is most of it; see
/// PrintOptions::sharedBytes), blocks along y and z.
using table::kMostWords;
constexpr int64_t kMostSharedBytes = 227 << 10, kMostBlocksAlongYZ = 65535;

} // namespace gnnc::cuda

#endif // GNNC_TARGET_CUDA_DEVICESTEP_H
