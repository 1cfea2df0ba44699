//===- Prepare.h - Preparing a graph on a GPU -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH
// LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Topology, Indices and Worklist do on the host, done on the device by the
// kernels of lib/Target/CUDA/Kernels/Prepare.cuh: the same numbers in the same
// order. Pointers to int32_t are then addresses of the device; null still
// stands for the identity.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CUDA_PREPARE_H
#define GNNC_RUNTIME_CUDA_PREPARE_H

#include "../Indices.h"
#include "../Parts.h"
#include "Device.h"

namespace gnnc::runtime::cuda {

using device::Findings, device::Numbers;

inline bool isWrong(const Findings &found) { return found.wrong != 0; }
/// The number of the first element that is.
inline int64_t firstWrong(const Findings &found) { return static_cast<int64_t>(~found.wrong); }

constexpr int64_t kMostFindings = 64, kMostNumbers = 32;

/// All that is at hand, fetched together.
struct Report {
  Findings findings[kMostFindings], compared[kMostFindings];
  Numbers numbers[kMostNumbers];
  int64_t total; ///< of the last sum that was asked for
};
static_assert(sizeof(Report) + sizeof(int64_t) <= kPageBytes);

/// Works in the order of a stream, and waits only for what the host must know. After a failure all calls do nothing;
/// `status` says that there was one.
///
/// Arrays that may become the graph's are allocated by themselves. What is
/// needed in between is cut from larger pieces, since each allocation takes
/// about as long as a kernel.
class GraphBuilder {
public:
  /// `lists`: for notes on the host.
  GraphBuilder(const Device &device, Handle stream, Memory &lists, gnnc_error *error)
      : device(device), stream(stream), lists(lists), error(error) {}
  /// Frees all arrays but those that were kept.
  GNNC_OF_PART ~GraphBuilder();
  GraphBuilder(const GraphBuilder &) = delete;
  GraphBuilder &operator=(const GraphBuilder &) = delete;

  /// Before anything else.
  GNNC_OF_PART gnnc_status start();
  /// Or this: all arrays are cut from memory that is there, and the host neither waits nor reads. Without memory
  /// nothing is launched, and `numUsed` says how much it would have taken.
  void startIn(void *memory) {
    isFixed = true;
    isCounting = !memory;
    temporaries = {memory ? static_cast<char *>(memory) : reinterpret_cast<char *>(kDeviceAlignment), INT64_MAX};
  }
  int64_t numUsed() const { return INT64_MAX - temporaries.left; }
  gnnc_status status = GNNC_OK;
  /// How often the host has waited for the device.
  int64_t numWaits = 0;

  // Arrays; null after a failure.
  /// Where there is no room for so many bytes, `least` will do.
  void *allocate(int64_t bytes, int64_t least);
  void *allocate(int64_t bytes) { return allocate(bytes, bytes); }
  int32_t *array(int64_t count) { return static_cast<int32_t *>(allocate(count * 4)); }
  /// Not to be kept. It stays until the end unless it is large and released.
  int32_t *temporary(int64_t count);
  /// The same, filled with 0.
  void *cleared(int64_t bytes);
  void release(const void *memory);
  /// Hands over one array, with its bytes (0: it was handed over before, or is
  /// not of this builder).
  int64_t keep(const void *memory);

  // Root maps.
  /// `place`: where what is found will be. Several are read together, when the
  /// first answer is asked for or by `launchReadings`.
  const int32_t *readEach(const gnnc_index &index, int64_t least, int64_t extent, Findings *&place);
  void launchReadings();
  /// Row pointers; `targets` becomes the row of each of `count` elements where
  /// nothing was wrong.
  const int32_t *readRows(const gnnc_index &index, int64_t count, const int32_t *&targets, Findings &found);
  /// One number of the caller's data.
  int64_t element(const gnnc_index &index, int64_t number);

  // Derived ones.
  /// `count`: -1, or how many there are if that is known.
  const int32_t *filter(const int32_t *left, const int32_t *right, bool equal, int64_t base, int64_t &count);
  /// Tuples of `numMaps` components of `base` elements; `codomains`: their
  /// extents.
  void distinct(const int32_t *const *components, const int64_t *codomains, int64_t numMaps, int64_t base,
                int64_t &count, const int32_t *&classes, const int32_t *&first);
  /// The owner of each element of a selection (null of an open one); `count`: how many there are. Without maps all
  /// belong together; a null one of those is the identity.
  const int32_t *selection(const int32_t *own, const int32_t *others, int64_t groups, int64_t base, int64_t of,
                           const table::SpaceRec &limits, int64_t &count);
  /// Of pairs of `base` and `of` elements that two maps send to the same of `groups` elements: how many there are,
  /// which they are, where those of each element begin (`places`: where those begin that the other map sends
  /// somewhere), and what is added to that to find whom it is paired with.
  int64_t countPairs(const int32_t *own, const int32_t *other, int64_t groups, int64_t base, int64_t of);
  void listPairs(const int32_t *own, const int32_t *other, int64_t groups, int64_t base, int64_t of, int64_t count,
                 const int32_t *&owners, const int32_t *&partners);
  const int32_t *pointersOfPairs(const int32_t *own, const int32_t *places, int64_t base);
  const int32_t *shiftOfPairs(const int32_t *own, const int32_t *pointers, const int32_t *places, int64_t base);
  GNNC_OF_PART int32_t *iota(int32_t *numbers, int64_t count);
  void fill(void *words, int64_t count, uint32_t word);
  void fill64(void *words, int64_t count, int64_t word);
  void copy(int32_t *to, const int32_t *from, int64_t count);
  int32_t *compose(const int32_t *inner, const int32_t *outer, int64_t count, int32_t *results = nullptr);
  const int32_t *last(const int32_t *map, int64_t count, int64_t extent);

  // What a program chooses.
  /// Many points of a few numbers are searched by a tree. `belongs`: the group of each point, of so many (0: all
  /// belong together), and `fewest` that there may be; `most`: how many are chosen for one query.
  void nearest(device::Nearest search, const int32_t *belongs, int64_t groups, int64_t fewest, int64_t most,
               bool isDouble);
  /// Points are listed by cells if there are many of them for the fewest groups that there may be. `most`: how many may
  /// be chosen in all.
  void within(device::Within search, int64_t groups, bool isDouble, int64_t most);
  /// The elements with the largest scores of each group, as many as `owners` has room for.
  void top(const void *scores, bool isDouble, const int32_t *groups, int64_t numGroups, const int32_t *pointers,
           const int32_t *owners, int64_t count, int32_t *chosen);
  void farthest(device::Farthest search, int64_t count, bool isDouble);
  /// `extent`: device::Extent of the elements, of which there are at most `most`.
  void keep(const void *condition, bool isDouble, int64_t extent, int64_t most, int32_t *pointers, int32_t *chosen);
  /// As `last`, into what is there.
  void lastInto(const int32_t *map, int64_t count, int64_t extent, int32_t *results);
  /// The owner of each element, which begin where `pointers` says; there are at most `most`.
  void spreadOwners(const int32_t *pointers, int64_t owners, int64_t most, int32_t *result);
  /// An item for each owner.
  void listEach(const int32_t *pointers, int64_t owners, void *items);

  // Groupings.
  Findings examine(const int32_t *targets, int64_t count);
  Findings *examineLater(const int32_t *targets, int64_t count);
  /// The next kMostFindings places stay good together.
  void startFindings();
  /// Fetches all findings since then, unless they came with something else; the answers are good until the next call
  /// that waits.
  void readAll();
  /// What was fetched of a place on the device.
  template <typename T> const T &of(const T *place) const {
    return *reinterpret_cast<const T *>(reinterpret_cast<const char *>(page) +
                                        (reinterpret_cast<const char *>(place) - reinterpret_cast<char *>(report)));
  }
  /// `through`: null, or numbers of the elements that are wanted in the
  /// members' order; then `members` may be left out. With `found` it is not
  /// known yet whether elements are in order; results are as if they were not.
  void group(const int32_t *targets, int64_t elements, int64_t owners, bool inOrder, int64_t undefined,
             const int32_t *through, bool wantsMembers, const Findings *found, Grouping &result);
  /// Whether `group` takes so many with `found`. A long list takes much longer
  /// to sort than to be asked for.
  static bool sortsUnasked(int64_t elements, int64_t owners) {
    return divideUp(elements, kFewTile) <= kMostFewTiles && owners >> (2 * kFewDigitBits) == 0;
  }
  // The answers of these two are there after `finish`.
  /// As Indices::share; once.
  GNNC_OF_PART void share(const int32_t **arrays, const int64_t *lengths, int64_t count);
  /// Those of several maps; where they are large, they are waited for together.
  void worklists(const Grouping *const *groupings, int64_t count, DeviceWorklist *const *results);
  /// Waits for all that was begun.
  gnnc_status finish();

  gnnc_status wait();

private:
  friend class Device;
  static int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
  // As 64-bit numbers, which counts of elements are.
  static constexpr int64_t kThreads = device::kSortThreads, kTile = device::kSortTile, kDigitBits = device::kDigitBits;
  static constexpr int64_t kFewTile = device::kFewTile, kFewDigitBits = device::kFewDigitBits;
  static constexpr int64_t kMostFewTiles = device::kMostFewTiles, kTilesOfGroup = device::kTilesOfGroup;
  static constexpr int64_t kFewHeld = device::kFewHeld;
  /// Few tiles: of how many elements for each thread. Processors without a tile do nothing.
  int64_t heldFor(int64_t count) const {
    int64_t held = kFewHeld, wanted = 2 * device.processors();
    wanted = wanted < kMostFewTiles ? wanted : kMostFewTiles;
    while (held > 1 && divideUp(count, kThreads * held / 2) <= wanted)
      held /= 2;
    return held;
  }

  /// In the order of kPreparationKernels.
  enum Kernel : int {
    CountDigits,
    ScanCounts,
    ScatterDigits,
    CountFew,
    ScatterFew,
    ScatterBuckets,
    SumTiles,
    ScanSums,
    ApplySums,
    Read,
    Examine,
    ReadRows32,
    ReadRows64,
    ExpandRows,
    Iota,
    Compose,
    Last,
    FindRows,
    FindDifference,
    Tell,
    Fill64,
    FilterFlags,
    FilterMembers,
    TupleKeys,
    TupleFlags,
    TupleClasses,
    CountItems,
    CountSizes,
    ListHeavy,
    ListSlots,
    SizeKeys,
    ListLight,
    CountOwners,
    ListOwners,
    CombineRanks32,
    CombineRanks64,
    CountGroups,
    CountPairs,
    SizePairs,
    ShiftPairs,
    ListPairs,
    // Those that choose, in the order of kChoiceKernels.
    CountSelection,
    ListSelection,
    ListEach,
    Nearest32,
    Nearest64,
    SpreadOwners,
    KeepFlags32,
    KeepFlags64,
    Keep,
    ScoreKeys32,
    ScoreKeys64,
    TakeFirst,
    FindCells32,
    FindCells64,
    CountWithin32,
    CountWithin64,
    ListWithin32,
    ListWithin64,
    Farthest32,
    Farthest64,
    PointBounds32,
    PointBounds64,
    PointCodes32,
    PointCodes64,
    TreeBoxes32,
    TreeBoxes64,
    NearestTree32,
    NearestTree64,
  };
  struct Block {
    const void *memory;
    int64_t bytes;
    bool isPiece; ///< others are cut from it: it stays until the end
  };
  /// What is left of a piece.
  struct Room {
    char *next = nullptr;
    int64_t left = 0;
  };
  /// A worklist whose numbers are not known yet.
  struct Pending {
    const Numbers *numbers;
    const Grouping *grouping;
    DeviceWorklist *result;
  };
  struct Sharing {
    const int32_t **arrays = nullptr;
    Findings **places = nullptr; ///< [count][count], null: not compared
    int64_t count = 0;
  };
  void nearestInTree(const device::Nearest &search, const int32_t *belongs, int64_t groups, bool isDouble);
  static int64_t wordOf(const void *address) { return reinterpret_cast<int64_t>(address); }
  static int64_t wordOf(int64_t number) { return number; }
  void launchWords(Kernel kernel, int64_t blocks, int64_t *words, int64_t count, int64_t threads = kThreads);
  template <typename... Words> void launch(Kernel kernel, int64_t blocks, Words... words) {
    int64_t list[] = {wordOf(words)...};
    launchWords(kernel, blocks, list, sizeof...(words));
  }
  /// Enough blocks to fill the device; threads take turns.
  template <typename... Words> void each(Kernel kernel, int64_t count, Words... words) {
    int64_t most = 8 * device.processors(), all = divideUp(count, kThreads);
    launch(kernel, all < most ? all : most, words...);
  }
  using Pass = device::Pass;
  void launchPass(Kernel kernel, int64_t blocks, const Pass &pass) {
    Pass words = pass;
    launchWords(kernel, blocks, reinterpret_cast<int64_t *>(&words), sizeof words / sizeof(int64_t));
  }
  /// What is wanted of a sort, and then what it made.
  struct Sorted {
    bool wantsKeys = false, wantsValues = true;
    const int32_t *through = nullptr; ///< values are numbers of these, which
                                      ///< are wanted in their order
    const Findings *found = nullptr;  ///< null, or what says whether there is anything to sort
    /// Null, or for where each key begins, up to `most`. Where it was found,
    /// there are no keys even if they are wanted.
    int32_t *rows = nullptr;
    bool hasRows = false;
    int32_t *keys = nullptr, *values = nullptr, *throughs = nullptr;
    /// Null, or where the keys begin that are the same without their last
    /// `shift` bits.
    const int32_t *starts = nullptr;
    int64_t shift = 0;
  };
  /// Sorts by keys up to `most`, stably; undefined ones count as `most`. Null
  /// `values`: the elements' numbers.
  void sort(const int32_t *keys, const int32_t *values, int64_t count, int64_t most, Sorted &result);
  /// Sums before each number; `total` is fetched, and all findings so far with it.
  int32_t *sumsBefore(const int32_t *numbers, int64_t count, int64_t &total);
  /// The same; the total is written to the device.
  int32_t *sumsBefore(const int32_t *numbers, int64_t count, int32_t *total);
  void fetch(void *to, const void *from, int64_t bytes);
  const void *uploaded(const gnnc_index &index, int64_t width);
  void sortFew(Pass &pass, int64_t bits, Sorted &result);
  void sortDigit(Pass &pass);
  void *cut(Room &room, int64_t bytes, int64_t piece, bool clear);
  Findings *newFindings();
  Findings read(Findings *found);
  void fetchReport();
  // PrepareWorklist.cpp
  struct LargeList;
  void reserveNumbers(int64_t count);
  void listFew(const Grouping &grouping, DeviceWorklist &result);
  static void note(const Numbers &numbers, const Grouping &grouping, DeviceWorklist &result);
  void countLarge(LargeList &list);
  void listLarge(LargeList &list);

  const Device &device;
  const Handle stream;
  Memory &lists;
  gnnc_error *error;
  Block *blocks = nullptr;
  int64_t numBlocks = 0, capacity = 0;
  Address piece = 0; ///< the device's
  Room temporaries, zeros;
  device::Readings readings = {};
  bool isUploaded[device::kMostReadings] = {};
  Report *report = nullptr; ///< on the device
  Report *page = nullptr;   ///< what was fetched of it
  bool isPageOfDevice = false, isPageNew = false;
  bool isFixed = false, isCounting = false; ///< see startIn
  int64_t numFindings = 0, numFetched = 0, numNumbers = 0;
  Pending pending[kMostNumbers];
  int64_t numPending = 0;
  Sharing sharing;
};

} // namespace gnnc::runtime::cuda

#endif // GNNC_RUNTIME_CUDA_PREPARE_H
