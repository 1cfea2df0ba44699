//===- ModelTable.h - What a compiled model tells the runtime ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler writes these records as an array of 64-bit words into the object; the runtime reads them in place.
// Offsets
// (`...At`) count words from the start of the table; lists are runs of words; names are offsets into
// `gnnc_model_names`. Included by lib/Runtime and lib/Target/Package; whoever changes it changes both and
// kTableVersion.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_MODELTABLE_H
#define GNNC_RUNTIME_MODELTABLE_H

#include "gnnc-c/gnnc.h"

namespace gnnc::table {

constexpr int64_t kMagic = 0x314c444f4d434e47; // "GNCMODL1"
constexpr int64_t kTableVersion = 10;

enum SpaceKind : int64_t { SpaceRoot, SpaceStatic, SpaceFilter, SpaceUnion, SpaceDistinct };
enum MapKind : int64_t { MapRoot, MapInclusion, MapPart, MapParts, MapProjection, MapClass, MapLast, MapCompose };
constexpr int64_t kIdentity = -1;  // in MapRec parts
constexpr int64_t kUndefined = -3; // in MapRec parts

// Meanings as in include/gnnc/Frontend/ModelSpec.h. Operands of derived spaces and maps come earlier: processing
// `order` (a list of words: space s as 2*s, map m as 2*m+1) front to back has everything ready.
struct SpaceRec {
  int64_t name, kind, extent, base, mapsAt, numMaps, equal, partsAt, numParts;
};
struct MapRec {
  int64_t name, kind, from, to, partial, part, partsAt, numParts;
};

// Index arrays (int32) that kernels read; made once when a graph is prepared.
enum IndexKind : int64_t {
  IndexPointers, // [extent(to)+1]: members of owner j are positions [p[j], p[j+1]) of the grouping by `map`
  IndexMembers,  // [members]: the element at each position; stable (rising within an owner); undefined ones left out
  IndexSorted,   // [members]: other(element at each position), -1 where undefined
  IndexRaw,      // [extent(from)]: map itself, -1 where undefined
  IndexMembersOrNone, // IndexMembers, or no array where these are 0, 1, 2, ...
};
struct IndexRec {
  int64_t kind, map, other;
};

enum BufferKind : int64_t { BufferInput, BufferParam, BufferState, BufferOutput, BufferArena, BufferConstant };
// A function's buffers are its own. `rowElements` elements for each element of `space` (-1: shared, one row). Shape =
// [extent,] dims. dtypeBits 16/32/64 float, or bfloat (16, `isBFloat`). Optional inputs: absent means `fill`
// everywhere: the bits of a double, or of the 16-bit number itself. Arena: live in steps [first, last] of the function;
// Constant: `constantAt` bytes into gnnc_model_constants. Output: written in place of the parameter or state with
// buffer number `replaces`, and not bound by the caller; else -1.
struct BufferRec {
  int64_t name, kind, space, rowElements, dimsAt, numDims, dtypeBits, optional, fill, first, last, constantAt, replaces;
  int64_t isBFloat;
};

enum StepKind : int64_t {
  StepSweep, // owners of `map`, in blocks of about equal member counts: kernel(frame, firstOwner, endOwner, -1, block)
  StepRows,  // elements of `space` (-1: one row), in blocks: kernel(frame, firstRow, endRow, -1, block)
  StepGrouped, // positions of the grouping by `map`, each block within one owner: kernel(frame, begin, end, owner,
               // block)
};
enum MergeKind : int64_t { MergeSum, MergeMax, MergeMin, MergeArgMax, MergeArgMin };
// A result shared by all blocks: each block writes `elements` numbers to partials[i] + block*elements (of the width of
// `buffer`, a number in the table's list of buffers); afterwards the runtime combines the blocks in order into
// `buffer`. No blocks: 0. The first half of a partial result of MergeArgMax and MergeArgMin holds extrema, the second
// the numbers of the elements that have them, which are what is combined (no blocks: -1). The sizes of blocks are the
// runtime's choice and have no upper bound.
struct MergeRec {
  int64_t buffer, kind, elements;
};
// `name`: of the step; no other step of the model has it where there are device steps. `blockBytes`: of memory that
// each block works in, which nobody reads afterwards.
struct StepRec {
  int64_t kernel, kind, map, space, buffersAt, numBuffers, indicesAt, numIndices, mergesAt, numMerges, name, blockBytes;
};

// Steps with their buffers and one plan of a workspace. `needs`: root spaces and maps (as in `order`) without which it
// cannot be run.
struct FunctionRec {
  int64_t name, firstBuffer, numBuffers, firstStep, numSteps, needsAt, numNeeds;
};
// What `run` is asked for by name: steps of a function, counted from its first, and the buffers that these read and
// write. Programs of one function leave each other their values in the workspace.
struct ProgramRec {
  int64_t name, function, firstStep, numSteps, buffersAt, numBuffers;
};

// Another function that gives what `insteadOf` gives; its programs have the same names and come later. It is taken for
// a graph on which its cost is less than `percent` hundredths of the other's, and less than that of alternatives before
// it. Costs are sums of terms (space, factor): factor times the space's extent (-1: 1).
struct AlternativeRec {
  int64_t function, insteadOf, costAt, numTerms, insteadCostAt, numInsteadTerms, percent;
};

// What a step is on a GPU: launches of kernels, whose arguments are words of 64 bits. `buffersAt`, `indicesAt`: numbers
// in the table's lists that its kernels need; `writtenAt`: those of the buffers that the step writes (a place in the
// arena may be written again over what was read there); `zeroedAt`: those that are set to zero first.
struct DeviceStepRec {
  int64_t buffersAt, numBuffers, writtenAt, numWritten, indicesAt, numIndices, firstScratch, numScratch, zeroedAt,
      numZeroed, firstLaunch, numLaunches;
};
// Memory of the step: `bytes` for each slot or each heavy owner of the worklist of `map`, for each counted block, or
// for each element of the space that `map` is then (-1: one element).
enum ScratchKind : int64_t { ScratchSlots, ScratchHeavyOwners, ScratchBlocks, ScratchElements };
struct ScratchRec {
  int64_t kind, map, bytes;
};
// Along x there are ceil(count * perElement / perBlock) blocks, but of all blocks at most mostBlocksPerProcessor
// (unless 0) times the processors as long as there is one along x; count is items, items with a slot, or owners with
// several items of the worklist of `symbol`, a map; elements of `symbol`, a space (-1: 1); or 1. Counted launches leave
// a partial result in each block. Where items go by falling size, a launch of items has those of at least leastMembers
// and (unless it is 0) fewer than belowMembers members, which are powers of two; else it has all of them if their
// average is such, or none. So several schedules of one sweep share its items. Items with a slot are as large as any.
// A launch of elements has all of them if they are so many, or none.
// `wholeBlocks`: each item has a block, which is for the longest, or for few. `isJoined`: it is not launched, its
// blocks come before those of the launch that follows, whose kernel knows the parts. `isRuns`: a launch of light owners
// alone, which has none but by a tuning; items with a slot stay with the step's first launch then. `image`: which of
// the images of one architecture has the kernel.
enum GridKind : int64_t { GridItems, GridHeavyItems, GridHeavyOwners, GridElements, GridOnce };
struct LaunchRec {
  int64_t kernel, image, grid, symbol, perBlock, perElement, gridY, gridZ, threads, sharedBytes, mostBlocksPerProcessor,
      leastMembers, belowMembers, wholeBlocks, isRuns, isJoined, isCounted, wordsAt, numWords;
};
// Each word is a pair (kind, number): of a buffer, an index array, a space (-1: 1 element), a map whose worklist it is
// about, a scratch record; blocks of the step's counted launches before its launch `number`, or of all of them; items
// of its launch `number`, how many, in how many blocks, and whether in the order of their owners.
enum WordKind : int64_t {
  WordBuffer,
  WordIndex,
  WordExtent,
  WordItems,
  WordNumItems,
  WordNumHeavyItems,
  WordHeavy,
  WordNumHeavy,
  WordHeavyOfSlot,
  WordScratch,
  WordBlocksBefore,
  WordBlocks,
  WordPartItems,
  WordPartNumItems,
  WordPartBlocks,
  WordPartIsByOwner,
  WordZero
};

// Device steps: as many as steps, or none. `digest`: of the rest of the table and the names, so that what was measured
// on one compilation is not taken for another's.
struct Header {
  int64_t magic, version, digest;
  int64_t spacesAt, numSpaces, mapsAt, numMaps, orderAt, numOrder, indicesAt, numIndices, buffersAt, numBuffers,
      stepsAt, numSteps, functionsAt, numFunctions, programsAt, numPrograms, alternativesAt, numAlternatives;
  int64_t deviceStepsAt, numDeviceSteps, scratchAt, numScratch, launchesAt, numLaunches;
  int64_t numImages, numPreparationImages;
  int64_t numKernels, numVariants;
};

// What a kernel sees. All arrays are in the order of the step's lists; extents by space number.
struct Frame {
  void *const *buffers;
  const int32_t *const *indices;
  void *const *partials;
  const int64_t *extents;
  char *blockMemory; // that of block 0; the others' follows, `blockBytes` each
  int64_t blockBytes;
};
using Kernel = void (*)(const Frame *frame, int64_t begin, int64_t end, int64_t owner, int64_t block);

// Code for one processor level: `level` 3 or 4 (x86-64-v3/-v4), 0: any processor. Sorted from best to least.
struct Variant {
  int64_t level;
  const Kernel *kernels;
};

// Kernels for a GPU: machine code for `architecture` (90 for sm_90), or PTX for it and later ones. A model's kernels
// are in several images of each kind, one after the other.
struct DeviceImage {
  int64_t architecture, isPTX;
  const void *data;
};
using DriverLoader = gnnc_status (*)(const void **driver, gnnc_error *error);

} // namespace gnnc::table

// Defined by the compiled model, hidden in the shared object.
#pragma GCC visibility push(hidden)
extern "C" {
extern const int64_t gnnc_model_table[];
extern const char gnnc_model_names[];
extern const char gnnc_model_json[];
extern const int64_t gnnc_model_json_size;
extern const char gnnc_model_constants[];
extern const gnnc::table::Variant gnnc_model_variants[];
extern const gnnc::table::DeviceImage gnnc_model_images[];
extern const gnnc::table::DeviceImage gnnc_model_preparation[]; // of lib/Target/CUDA/Kernels/Prepare.cuh
// What loads a GPU's driver; null in a model without code for GPUs, which then has nothing to do with drivers.
extern const gnnc::table::DriverLoader gnnc_model_driver;
// Defined by the runtime, for the model to point to.
gnnc_status gnnc_load_cuda_driver(const void **driver, gnnc_error *error);
}
#pragma GCC visibility pop

#endif // GNNC_RUNTIME_MODELTABLE_H
