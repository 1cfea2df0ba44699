//===- ModelTable.h - What a compiled model tells the runtime ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one description of what the compiler writes into an object and the runtime reads in place: an array of 64-bit
// words, made of the records below. It depends on nothing but the C interface.
//
//   - Offsets (`...At`) count words from the start of the table; `num...` says how many words or records are there.
//   - Lists are runs of words.
//   - Names are offsets into `gnnc_model_names`.
//   - Spaces, maps, indices, buffers and scratch records are named by their number in the table's lists; -1: none.
//
// Whoever changes a record changes kTableVersion.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MODELFORMAT_MODELTABLE_H
#define GNNC_MODELFORMAT_MODELTABLE_H

#include "gnnc-c/gnnc.h"

namespace gnnc::table {

constexpr int64_t kMagic = 0x314c444f4d434e47; // "GNCMODL1"
constexpr int64_t kTableVersion = 19;

//===----------------------------------------------------------------------===//
// Spaces and maps: meanings as in include/gnnc/Frontend/ModelSpec.h
//===----------------------------------------------------------------------===//

enum class SpaceKind : int64_t { Root, Static, Filter, Union, Distinct, Selection, Pairs };
enum class MapKind : int64_t {
  Root,
  Inclusion,
  Part,
  Parts,
  Projection,
  Class,
  Last,
  Compose,
  Injection,
  Owner,
  Chosen,
  Partner,
  Only
};

// Among the parts of a map:
constexpr int64_t kIdentity = -1;
constexpr int64_t kUndefined = -3;
// In the place of SpaceRec::equal: 1 on the first rank, 0 on all others.
constexpr int64_t kOnFirstRank = 2;

// Operands of derived spaces and maps come earlier: going through `order` (a list of words: space s as 2*s, map m as
// 2*m+1) front to back has everything ready.
struct SpaceRec {
  int64_t name;
  SpaceKind kind;
  int64_t extent; // Static; else -1
  int64_t base;   // Filter, Distinct, Selection, Pairs: whose elements it is made of, or that others are for
  int64_t mapsAt, numMaps;
  int64_t equal;             // Filter: elements whose maps agree, else those whose maps differ; or kOnFirstRank
  int64_t partsAt, numParts; // Union
  int64_t of, most, others;  // Selection; Pairs: of
  int64_t ratio, ratioBits;  // Selection: the bits of a double, which is multiplied in 32 or 64 bits; 0: there is none
  int64_t open;              // Selection: steps choose how many elements there are; no more than so many
  int64_t isListed;          // Pairs: whether any index needs to know which they are, and not only how many
};
struct MapRec {
  int64_t name;
  MapKind kind;
  int64_t from, to;
  int64_t partial;
  int64_t part;
  int64_t partsAt, numParts; // maps, kIdentity or kUndefined
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

// Index arrays (int32) that kernels read; made once when a graph is prepared, or, where a map leads to what the program
// chooses, by the step that chooses, in buffers of the function (ChosenRec).
enum class IndexKind : int64_t {
  Pointers,      // [extent(to)+1]: members of owner j are positions [p[j], p[j+1]) of the grouping by `map`
  Members,       // [members]: the element at each position; stable (rising within an owner); undefined ones left out
  Sorted,        // [members]: other(element at each position), -1 where undefined
  Raw,           // [extent(from)]: map itself, -1 where undefined
  MembersOrNone, // Members, or no array where these are 0, 1, 2, ...
  Shift,         // [extent(to)], of a map from pairs to a side: what is added to a position of an owner's pairs to find
                 // the member that the owner is paired with in the grouping by the other side's map
};
struct IndexRec {
  IndexKind kind;
  int64_t map;
  int64_t other;    // Sorted
  int64_t isChosen; // made by steps
};

enum class BufferKind : int64_t { Input, Param, State, Output, Arena, Constant };
// A function's buffers are its own. Shape = [extent of `space`,] dims.
struct BufferRec {
  int64_t name;
  BufferKind kind;
  int64_t space;       // -1: shared, one row
  int64_t rowElements; // for each element of `space`
  int64_t dimsAt, numDims;
  int64_t dtypeBits;   // 16, 32 or 64: float, or bfloat (16, `isBFloat`)
  int64_t optional;    // an absent input means `fill` everywhere:
  int64_t fill;        // the bits of a double, or of the 16-bit number itself
  int64_t first, last; // Arena: the steps of the function in which it is live, both included
  int64_t constantAt;  // Constant: bytes into gnnc_model_constants
  int64_t replaces;    // Output: written in place of this parameter or state, and not bound by the caller; else -1
  int64_t isBFloat;
  int64_t values;   // Param, State: which of the table's values are taken if the caller binds none; else -1
  int64_t moreRows; // Arena: besides one for each element of `space`
};
// What the object has for a parameter or state, whatever function needs it.
struct ValuesRec {
  int64_t name;
  int64_t dtypeBits, isBFloat;
  int64_t shapeAt, numShape; // with the extent of its space
  int64_t valuesAt;          // bytes into gnnc_model_values; a multiple of 64
};

//===----------------------------------------------------------------------===//
// Steps on a CPU, and those between ranks
//===----------------------------------------------------------------------===//

enum class StepKind : int64_t {
  Sweep,   // owners of `map`, blocks of about equal member counts: kernel(frame, firstOwner, endOwner, -1, block)
  Rows,    // elements of `space` (-1: one row), in blocks: kernel(frame, firstRow, endRow, -1, block)
  Grouped, // positions of the grouping by `map`, each block within one owner: kernel(frame, begin, end, owner, block)
  // What the runtime has the code of, from here on. For each element of the selection `space` the nearest of buffer 1
  // to those of buffer 2, into buffer 0: where `map` leads. Buffers 3 and 4 are room for distances and for points in
  // columns, on a CPU; for rows of up to four numbers buffer 5 is room for four numbers for each point. Indices:
  // Pointers by owners; where they belong, if the selection has maps, Raw of what is chosen for, Pointers and Members
  // of the points, and Members of what is chosen for. What follows are arrays that its `chosen` records need.
  Nearest,
  // The same for an open selection: those nearer than the root of `number`. Its first index is made by the step: where
  // what is chosen for each begins, whose last number is the selection's extent in this run. On a CPU buffer 3 is room
  // for three numbers for each element that is chosen from.
  Within,
  // Those with the largest numbers in buffer 1 into buffer 0. Indices as above; where each element of the base is the
  // place itself, the first index of where they belong is any.
  Top,
  // Those that are far from each other by their rows in buffer 1, into buffer 0. Indices as Top has them; on a CPU
  // buffer 2 is room for a distance of each element that is chosen from.
  Farthest,
  // For an open selection: the elements on which buffer 1 is not 0. One index, as Within has it.
  Keep,
  // Collectives, which have no code, map, space or indices. All ranks have the same ones in the same order.
  Transfer,  // rows of buffer 0 go to other ranks, those of buffer 1 come; counts for each rank of both spaces are the
             // graph's
  AllReduce, // buffer 0 of each rank is like a block's partial result, and the only merge combines them into buffer 1
  Start,     // a transfer that goes on while the next steps run, which leave both of its buffers alone, up to its
  Await,     // which has the same buffers
};

inline bool isChoice(StepKind kind) { return kind >= StepKind::Nearest && kind <= StepKind::Keep; }

enum class MergeKind : int64_t { Sum, Max, Min, ArgMax, ArgMin };
// A result shared by all blocks: each block writes `elements` numbers to partials[i] + block*elements (of the width of
// `buffer`); afterwards the runtime combines the blocks in order into `buffer`. No blocks: 0. The first half of a
// partial result of ArgMax and ArgMin holds extrema, the second the numbers of the elements that have them, which are
// what is combined (no blocks: -1). The sizes of blocks are the runtime's choice and have no upper bound.
struct MergeRec {
  int64_t buffer;
  MergeKind kind;
  int64_t elements;
};
struct StepRec {
  int64_t kernel;
  StepKind kind;
  int64_t map, space;
  int64_t buffersAt, numBuffers;
  int64_t indicesAt, numIndices;
  int64_t mergesAt, numMerges;
  int64_t name;                  // no other step of the model has it where there are device steps
  int64_t blockBytes;            // of memory that each block works in, which nobody reads afterwards
  int64_t writtenAt, numWritten; // buffers that it writes
  int64_t chosenAt, numChosen;   // ChosenRec, each after those it is made of: a choosing step makes them
  // Within: the bits of a double, the square of the radius. Farthest: whether a buffer says which comes first.
  int64_t number;
};
// What a choosing step makes of a map, and the buffer that holds it: an index array or, on a GPU, the items of a
// worklist (`index` is -1), one for each owner.
struct ChosenRec {
  int64_t index, map;
  int64_t buffer;
};

//===----------------------------------------------------------------------===//
// Functions and programs
//===----------------------------------------------------------------------===//

// Steps with their buffers and one plan of a workspace.
struct FunctionRec {
  int64_t name;
  int64_t firstBuffer, numBuffers;
  int64_t firstStep, numSteps;
  int64_t needsAt, numNeeds;   // root spaces and maps (as in `order`) without which it cannot be run
  int64_t chosenAt, numChosen; // ChosenRec: where its steps find what others of them choose
};
// What `run` is asked for by name. Programs of one function leave each other their values in the workspace.
struct ProgramRec {
  int64_t name;
  int64_t function;
  int64_t firstStep, numSteps;   // counted from the function's first
  int64_t buffersAt, numBuffers; // those that these steps read and write
};
// Another function that gives what `insteadOf` gives; its programs have the same names and come later. It is taken for
// a graph on which its cost is less than `percent` hundredths of the other's, and less than that of alternatives before
// it. Costs are sums of terms (space, factor): factor times the space's extent (-1: 1).
struct AlternativeRec {
  int64_t function, insteadOf;
  int64_t costAt, numTerms;
  int64_t insteadCostAt, numInsteadTerms;
  int64_t percent;
};

//===----------------------------------------------------------------------===//
// Steps on a GPU: launches of kernels, whose arguments are words of 64 bits
//===----------------------------------------------------------------------===//

struct DeviceStepRec {
  int64_t buffersAt, numBuffers; // what its kernels need
  int64_t writtenAt, numWritten; // buffers that it writes: a place in the arena may be written over what was read there
  int64_t indicesAt, numIndices;
  int64_t firstScratch, numScratch;
  int64_t zeroedAt, numZeroed; // buffers that are set to zero first
  int64_t firstLaunch, numLaunches;
};

// What memory of a step there is one piece of `bytes` for each of.
enum class ScratchKind : int64_t {
  Slots,       // slots of the worklist of `map`
  HeavyOwners, // owners with several items in it
  Blocks,      // counted blocks of the step
  Elements,    // elements of the space that `map` is then (-1: one element)
  Choice,      // byte that the choosing step sorts in
  Ranks,       // ranks that the graph is divided among
};
struct ScratchRec {
  ScratchKind kind;
  int64_t map;
  int64_t bytes;
};

// What a launch's blocks along x are counted by.
enum class GridKind : int64_t {
  Items,       // items of the worklist of `symbol`, a map
  HeavyItems,  // those with a slot
  HeavyOwners, // owners with several items
  Elements,    // elements of `symbol`, a space (-1: 1)
  Once,        // 1
};
struct LaunchRec {
  int64_t kernel; // its name
  int64_t image;  // which of the images of one architecture has it
  GridKind grid;
  int64_t symbol;
  // Along x there are ceil(count * perElement / perBlock) blocks.
  int64_t perBlock, perElement;
  int64_t gridY, gridZ;
  int64_t threads;
  int64_t sharedBytes; // asked for at launch
  // Of all blocks there are at most so many times the processors, as long as there is one along x; 0: any number.
  int64_t mostBlocksPerProcessor;
  // Where items go by falling size, a launch of items has those of at least leastMembers and fewer than belowMembers
  // (0: any number) members, which are powers of two; else it has all of them if their average is such, or none. So
  // several schedules of one sweep share its items. Items with a slot are as large as any. A launch of elements has all
  // of them if there are at least leastMembers and fewer than belowMembers, or none.
  int64_t leastMembers, belowMembers;
  int64_t wholeBlocks; // each item has a block, which is for the longest, or for few
  int64_t isFew; // for owners with few members, where they have few on average; else none. Items with a slot stay with
                 // the step's first launch
  int64_t isJoined;  // not launched: its blocks come before those of the launch that follows, whose kernel knows them
  int64_t isCounted; // each of its blocks leaves a partial result
  // Whose machine code it is for: 0: any; 90: that for sm_90; -90: any but that, PTX included. A step has launches for
  // each, and those of other code are not there.
  int64_t architecture;
  int64_t wordsAt, numWords; // WordRec
};

// An argument of a kernel.
enum class WordKind : int64_t {
  Buffer,        // address of buffer `number`
  Index,         // address of index array `number`
  Extent,        // elements of space `number` (-1: 1)
  Items,         // address of the worklist of map `number`,
  NumItems,      // its items,
  NumHeavyItems, // its items with a slot, which come first,
  Heavy,         // address of its list of owners with several items,
  NumHeavy,      // their number,
  HeavyOfSlot,   // address: the number among those of each slot's owner
  Scratch,       // address of scratch record `number`
  BlocksBefore,  // blocks of the step's counted launches before its launch `number`
  Blocks,        // blocks of all counted launches
  PartItems,     // address of the items of the step's launch `number`,
  PartNumItems,  // their number,
  PartBlocks,    // and its blocks
  Zero,          // 0
};
struct WordRec {
  WordKind kind;
  int64_t number;
};
constexpr int64_t kMostWords = 512; // of a launch; drivers before CUDA 12.1 take no more

//===----------------------------------------------------------------------===//
// The table itself, and what stands beside it in the object
//===----------------------------------------------------------------------===//

struct Header {
  int64_t magic, version;
  int64_t digest; // of the rest and the names: what was measured on one compilation is not taken for another's
  int64_t spacesAt, numSpaces;
  int64_t mapsAt, numMaps;
  int64_t orderAt, numOrder;
  int64_t indicesAt, numIndices;
  int64_t buffersAt, numBuffers;
  int64_t stepsAt, numSteps;
  int64_t functionsAt, numFunctions;
  int64_t programsAt, numPrograms;
  int64_t alternativesAt, numAlternatives;
  int64_t deviceStepsAt, numDeviceSteps; // as many as steps, or none
  int64_t scratchAt, numScratch;
  int64_t launchesAt, numLaunches;
  int64_t valuesAt, numValues, valuesBytes; // ValuesRec; bytes of gnnc_model_values
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

// Code for one processor level: `level` 3 or 4 (x86-64-v3/-v4), 256 (aarch64: SVE with vectors of at least 256 bits),
// 0: any processor of the architecture. Sorted from best to least.
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
extern const char gnnc_model_values[]; // of parameters and states; aligned to 64 bytes
extern const gnnc::table::Variant gnnc_model_variants[];
extern const gnnc::table::DeviceImage gnnc_model_images[];
extern const gnnc::table::DeviceImage gnnc_model_preparation[]; // of lib/Target/CUDA/Kernels/Prepare.cuh
// What loads a GPU's driver; null in a model without code for GPUs, which then has nothing to do with drivers.
extern const gnnc::table::DriverLoader gnnc_model_driver;
// &gnnc_ranks; null in a model for one process, which then has nothing to do with ranks.
extern const char *const gnnc_model_ranks;
// &gnnc_choices, or on a GPU &gnnc_device_choices; null in a model that chooses nothing by values. Nobody reads it: it
// has the part of the runtime linked.
extern const char *const gnnc_model_choices;
// The same of a model that has pairs: &gnnc_pairs, or &gnnc_device_pairs.
extern const char *const gnnc_model_pairs;
// Defined by the runtime, for the model to point to.
gnnc_status gnnc_load_cuda_driver(const void **driver, gnnc_error *error);
extern const char gnnc_ranks;
extern const char gnnc_choices;
extern const char gnnc_device_choices;
extern const char gnnc_pairs;
extern const char gnnc_device_pairs;
}
#pragma GCC visibility pop

#endif // GNNC_MODELFORMAT_MODELTABLE_H
