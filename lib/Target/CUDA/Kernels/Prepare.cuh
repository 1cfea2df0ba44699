//===- Prepare.cuh - Preparing a graph --------------------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lib/Runtime does on the host for small graphs: reading and checking maps, deriving spaces and maps, grouping,
// worklists. The results are the same numbers. lib/Runtime/CUDA/Prepare*.cpp launch all this; every argument is 64
// bits wide. -1 is undefined; a null map is the identity.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_PREPARE_CUH
#define GNNC_KERNELS_PREPARE_CUH

#include "Choose.cuh"
#include "Farthest.cuh"
#include "Nearest.cuh"
#include "NearestTree.cuh"
#include "Worklist.cuh"

namespace gnnc::prepare {

GNNC_DEVICE int64 threadNumber() { return int64(blockIdx.x) * blockDim.x + threadIdx.x; }
GNNC_DEVICE int64 numThreads() { return int64(gridDim.x) * blockDim.x; }
GNNC_DEVICE int at(const int *map, int64 i) { return map ? __ldg(map + i) : int(i); }

/// Adds up what each thread found; all threads of a block come here.
GNNC_DEVICE void report(Findings *findings, unsigned long long firstWrong, unsigned undefined, bool notInOrder) {
  if (firstWrong != ~0ull)
    atomicMax(&findings->wrong, ~firstWrong);
  undefined = sumLanes<1, 32>(undefined);
  if (undefined && lane() == 0)
    atomicAdd(&findings->undefined, static_cast<unsigned long long>(undefined));
  // Once a block: so many writes to one place take longer than reading the map.
  if (__syncthreads_or(notInOrder) && threadIdx.x == 0)
    findings->notInOrder = 1;
}

using device::Comparison, device::Comparisons, device::Reading, device::Readings, device::kMostComparisons,
    device::kMostReadings;

template <typename T> GNNC_DEVICE void readTargets(const Reading &reading, int64 block, int64 blocks) {
  constexpr int kHeldHere = 4; // read before any is looked at
  const T *from = static_cast<const T *>(reading.from);
  unsigned long long firstWrong = ~0ull;
  unsigned undefined = 0;
  bool notInOrder = false;
  int64 step = blocks * kThreads;
  for (int64 first = block * kThreads + threadIdx.x; first < reading.count; first += kHeldHere * step) {
    T targets[kHeldHere], before[kHeldHere];
    GNNC_FOR(k, kHeldHere) {
      int64 i = first + k * step;
      bool isThere = i < reading.count;
      targets[k] = isThere ? from[i] : T(0);
      before[k] = isThere && i > 0 ? from[i - 1] : T(0);
    }
    GNNC_FOR(k, kHeldHere) {
      int64 i = first + k * step, target = targets[k];
      if (i >= reading.count)
        continue;
      bool isWrong = target < reading.least || target >= reading.extent;
      if (isWrong && firstWrong == ~0ull)
        firstWrong = i;
      notInOrder |= target < int64(before[k]);
      undefined += target < 0;
      reading.to[i] = isWrong ? -1 : int(target);
    }
  }
  report(reading.findings, firstWrong, undefined, notInOrder);
}

GNNC_DEVICE void readMaps(const Readings &readings) {
  int64 number = blockIdx.x % readings.number, block = blockIdx.x / readings.number;
  int64 blocks = (gridDim.x - 1 - number) / readings.number + 1;
  // By constants, so that the list stays where arguments are.
  GNNC_FOR(i, kMostReadings) {
    if (i != number)
      continue;
    if (readings.list[i].isWide)
      readTargets<int64>(readings.list[i], block, blocks);
    else
      readTargets<int>(readings.list[i], block, blocks);
  }
}

GNNC_DEVICE void examineTargets(const int *targets, int64 count, Findings *findings) {
  unsigned undefined = 0;
  bool notInOrder = false;
  for (int64 i = threadNumber(); i < count; i += numThreads()) {
    int target = targets[i];
    notInOrder |= target < (i > 0 ? targets[i - 1] : 0);
    undefined += target < 0;
  }
  report(findings, ~0ull, undefined, notInOrder);
}

/// Row pointers into `count` elements. Row r is wrong where its end lies before its begin or past the elements.
template <typename T> GNNC_DEVICE void readRows(const T *from, int64 rows, int64 count, int *to, Findings *findings) {
  unsigned long long firstWrong = ~0ull;
  for (int64 row = threadNumber(); row < rows; row += numThreads()) {
    int64 begin = from[row], end = from[row + 1];
    if ((end < begin || end > count) && firstWrong == ~0ull)
      firstWrong = row;
    to[row + 1] = int(end);
    if (row == 0)
      to[0] = int(begin);
  }
  if (firstWrong != ~0ull)
    atomicMax(&findings->wrong, ~firstWrong);
}

GNNC_DEVICE void compareArrays(const Comparisons &comparisons) {
  int64 number = blockIdx.x % comparisons.number, blocks = (gridDim.x - 1 - number) / comparisons.number + 1;
  Comparison own = {};
  GNNC_FOR(i, kMostComparisons)
  if (i == number)
    own = comparisons.list[i];
  constexpr int kAtOnce = 4;
  for (int64 first = blockIdx.x / comparisons.number * kThreads * kAtOnce; first < own.count;
       first += blocks * kThreads * kAtOnce) {
    // Most arrays that differ do so at once, and everywhere: a block writes once, and stops when another did.
    bool differs = *reinterpret_cast<volatile unsigned long long *>(&own.findings->notInOrder);
    GNNC_FOR(k, kAtOnce) {
      int64 i = first + k * kThreads + threadIdx.x;
      differs |= i < own.count && own.a[i] != own.b[i];
    }
    if (__syncthreads_or(differs)) {
      if (threadIdx.x == 0)
        own.findings->notInOrder = 1;
      return;
    }
  }
}

/// What each rank has of `elements` numbers, one rank after the other, combined in the order of ranks. `kind` is a
/// table::MergeKind. Not-a-number wins.
template <typename T> GNNC_DEVICE void combineRanks(const T *all, int64 elements, int64 ranks, int64 kind, T *to) {
  for (int64 i = threadNumber(); i < elements; i += numThreads()) {
    T result = all[i];
    for (int64 rank = 1; rank < ranks; ++rank) {
      T other = all[rank * elements + i];
      bool isTaken = other != other || (kind == 1 ? other > result : other < result);
      result = kind == 0 ? result + other : isTaken ? other : result;
    }
    to[i] = result;
  }
}

} // namespace gnnc::prepare

using gnnc::int64;
using gnnc::prepare::Findings;
using gnnc::prepare::Heavy;
using gnnc::prepare::Item;
using gnnc::prepare::Numbers;

#define GNNC_PREPARE extern "C" __global__ void __launch_bounds__(512)
#define GNNC_EACH(i, count) for (int64 i = gnnc::prepare::threadNumber(); i < (count); i += gnnc::prepare::numThreads())

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

#define GNNC_PASS const __grid_constant__ gnnc::prepare::Pass pass
GNNC_PREPARE gnnc_count_digits(GNNC_PASS) { gnnc::prepare::countDigits(pass); }
GNNC_PREPARE gnnc_scan_counts(int *counts, int64 tiles, int *totals) {
  gnnc::prepare::scanCounts(counts, tiles, totals);
}
extern "C" __global__ void __launch_bounds__(512, 2) gnnc_scatter_digits(GNNC_PASS) {
  gnnc::prepare::scatterDigits(pass);
}
GNNC_PREPARE gnnc_count_few(GNNC_PASS) { gnnc::prepare::countFew(pass); }
extern "C" __global__ void __launch_bounds__(512, 3) gnnc_scatter_few(GNNC_PASS) { gnnc::prepare::scatterFew(pass); }
extern "C" __global__ void __launch_bounds__(512, 3) gnnc_scatter_buckets(GNNC_PASS) {
  gnnc::prepare::scatterBuckets(pass);
}
GNNC_PREPARE gnnc_sum_tiles(const int *numbers, int64 count, int *sums) {
  gnnc::prepare::sumTiles(numbers, count, sums);
}
GNNC_PREPARE gnnc_scan_sums(int *sums, int64 tiles) { gnnc::prepare::scanSums(sums, tiles); }
GNNC_PREPARE gnnc_apply_sums(const int *numbers, int64 count, const int *sums, int *results) {
  gnnc::prepare::applySums(numbers, count, sums, results);
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

GNNC_PREPARE gnnc_read(const __grid_constant__ gnnc::prepare::Readings readings) { gnnc::prepare::readMaps(readings); }
GNNC_PREPARE gnnc_examine(const int *targets, int64 count, Findings *findings) {
  gnnc::prepare::examineTargets(targets, count, findings);
}
GNNC_PREPARE gnnc_read_rows_32(const int *from, int64 rows, int64 count, int *to, Findings *findings) {
  gnnc::prepare::readRows(from, rows, count, to, findings);
}
GNNC_PREPARE gnnc_read_rows_64(const int64 *from, int64 rows, int64 count, int *to, Findings *findings) {
  gnnc::prepare::readRows(from, rows, count, to, findings);
}
/// The row of each element.
GNNC_PREPARE gnnc_expand_rows(const int *pointers, int64 rows, int64 count, int *targets) {
  GNNC_EACH(i, count) targets[i] = int(gnnc::prepare::lowerBound(pointers, rows + 1, i + 1)) - 1;
}
GNNC_PREPARE gnnc_iota(int *numbers, int64 count) { GNNC_EACH(i, count) numbers[i] = int(i); }
/// outer[inner[i]]
GNNC_PREPARE gnnc_compose(const int *inner, const int *outer, int64 count, int *results) {
  GNNC_EACH(i, count) {
    int between = gnnc::prepare::at(inner, i);
    results[i] = between < 0 ? -1 : gnnc::prepare::at(outer, between);
  }
}
/// The last i that the map sends to each target; `results` are -1 before.
GNNC_PREPARE gnnc_last(const int *map, int64 count, int *results) {
  GNNC_EACH(i, count) {
    int target = gnnc::prepare::at(map, i);
    if (target >= 0)
      atomicMax(results + target, int(i));
  }
}
/// Row pointers from targets that are sorted. `starts`: null, or where those begin that are the same without their last
/// `shift` bits.
GNNC_PREPARE gnnc_find_rows(const int *sorted, int64 count, int64 owners, const int *starts, int64 shift,
                            int *pointers) {
  GNNC_EACH(owner, owners + 1) {
    int64 low = starts ? __ldg(starts + (owner >> shift)) : 0,
          high = starts ? __ldg(starts + (owner >> shift) + 1) : count;
    pointers[owner] = int(low + gnnc::prepare::lowerBound(sorted + low, high - low, owner));
  }
}
GNNC_PREPARE gnnc_find_difference(const __grid_constant__ gnnc::prepare::Comparisons comparisons) {
  gnnc::prepare::compareArrays(comparisons);
}
/// One block. Tells the host: `to` and `told` are its memory, and `told` is written last.
GNNC_PREPARE gnnc_tell(const int64 *from, int64 count, int64 *to, int64 number, volatile int64 *told) {
  for (int64 i = threadIdx.x; i < count; i += blockDim.x)
    to[i] = from[i];
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0)
    *told = number;
}
GNNC_PREPARE gnnc_fill_64(int64 *numbers, int64 count, int64 number) { GNNC_EACH(i, count) numbers[i] = number; }

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

GNNC_PREPARE gnnc_filter_flags(const int *left, const int *right, int64 equal, int64 count, int *flags) {
  GNNC_EACH(i, count)
  flags[i] = (gnnc::prepare::at(left, i) == gnnc::prepare::at(right, i)) == (equal != 0);
}
GNNC_PREPARE gnnc_filter_members(const int *left, const int *right, int64 equal, int64 count, const int *places,
                                 int *members) {
  GNNC_EACH(i, count)
  if ((gnnc::prepare::at(left, i) == gnnc::prepare::at(right, i)) == (equal != 0))
    members[places[i]] = int(i);
}
/// One component of the tuples in the order so far; undefined ones come first.
GNNC_PREPARE gnnc_tuple_keys(const int *order, const int *component, int64 count, int *keys) {
  GNNC_EACH(i, count) keys[i] = gnnc::prepare::at(component, gnnc::prepare::at(order, i)) + 1;
}
/// Flags what differs from the one before in a component; with `isFirst`, flags hold nothing yet.
GNNC_PREPARE gnnc_tuple_flags(const int *order, const int *component, int64 count, int64 isFirst, int *flags) {
  using gnnc::prepare::at;
  GNNC_EACH(i, count) {
    bool differs = i == 0 || at(component, order[i]) != at(component, order[i - 1]);
    flags[i] = isFirst ? differs : flags[i] | int(differs);
  }
}
GNNC_PREPARE gnnc_tuple_classes(const int *order, const int *flags, const int *before, int64 count, int *classes,
                                int *first) {
  GNNC_EACH(i, count) {
    int number = before[i] + flags[i] - 1;
    classes[order[i]] = number;
    if (flags[i])
      first[number] = order[i];
  }
}

//===----------------------------------------------------------------------===//
// Worklists
//===----------------------------------------------------------------------===//

/// For each owner its items if it has several, and whether it has; the members of those that have more than `isLong`.
GNNC_PREPARE gnnc_count_items(const int *pointers, int64 owners, int64 chunk, int64 isLong, int *slots, int *isHeavy,
                              Numbers *numbers) {
  int64 sum = 0;
  GNNC_EACH(owner, owners) {
    int64 members = pointers[owner + 1] - pointers[owner];
    bool heavy = members > chunk;
    slots[owner] = heavy ? int((members + chunk - 1) / chunk) : 0;
    isHeavy[owner] = heavy;
    sum += members > isLong ? members : 0;
  }
  if (sum)
    atomicAdd(&numbers->membersOfLong, static_cast<unsigned long long>(sum));
}
/// sizes[k]: light owners of at least 2^k members, for each of the sizes. Whole numbers: the order of additions does
/// not matter.
GNNC_PREPARE gnnc_count_sizes(const int *pointers, int64 owners, int64 chunk, Numbers *numbers) {
  int counts[gnnc::device::kNumSizes] = {};
  GNNC_EACH(owner, owners) {
    int members = pointers[owner + 1] - pointers[owner];
    GNNC_FOR(k, gnnc::device::kNumSizes) counts[k] += members <= chunk && members >> k ? 1 : 0;
  }
  GNNC_FOR(k, gnnc::device::kNumSizes) {
    if (int count = gnnc::sumLanes<1, 32>(counts[k]); count && gnnc::lane() == 0)
      atomicAdd(&numbers->sizes[k], count);
  }
}
GNNC_PREPARE gnnc_list_heavy(const int *pointers, int64 owners, int64 chunk, const int *slots, const int *numbers,
                             Heavy *heavy) {
  GNNC_EACH(owner, owners) {
    int members = pointers[owner + 1] - pointers[owner];
    if (members > chunk)
      heavy[numbers[owner]] = {int(owner), slots[owner], slots[owner] + int((members + chunk - 1) / chunk), members};
  }
}
GNNC_PREPARE gnnc_list_slots(const int *pointers, int64 chunk, const Heavy *heavy, int64 numHeavy, int64 numSlots,
                             Item *items, int *heavyOfSlot) {
  GNNC_EACH(slot, numSlots) {
    int64 low = 0, high = numHeavy;
    while (low < high) { // The first that ends behind the slot.
      int64 middle = (low + high) / 2;
      if (heavy[middle].last <= slot)
        low = middle + 1;
      else
        high = middle;
    }
    Heavy one = heavy[low];
    int64 end = pointers[one.owner + 1], begin = pointers[one.owner] + (slot - one.first) * chunk;
    items[slot] = {one.owner, int(begin), int(begin + chunk < end ? begin + chunk : end), int(slot)};
    heavyOfSlot[slot] = int(low);
  }
}
/// Falling size of light owners; heavy ones behind them.
GNNC_PREPARE gnnc_size_keys(const int *pointers, int64 owners, int64 chunk, int *keys) {
  GNNC_EACH(owner, owners) {
    int members = pointers[owner + 1] - pointers[owner];
    keys[owner] = members > chunk ? int(chunk) + 1 : int(chunk) - members;
  }
}
/// With `order`: `count` light owners in that order; else all `count` owners, of which `numbers` heavy ones come
/// before.
GNNC_PREPARE gnnc_list_light(const int *pointers, int64 count, int64 chunk, const int *order, const int *numbers,
                             Item *items) {
  GNNC_EACH(i, count) {
    int owner = order ? order[i] : int(i);
    int begin = pointers[owner], end = pointers[owner + 1];
    if (end - begin <= chunk)
      items[order ? i : i - numbers[i]] = {owner, begin, end, -1};
  }
}

//===----------------------------------------------------------------------===//
// Worklists of few owners and members
//===----------------------------------------------------------------------===//

GNNC_PREPARE gnnc_count_owners(const int *pointers, int64 owners, int64 held, int64 chunk, int64 isLong, int *counts,
                               int *sums, int2 *heavyOfTile, Numbers *numbers) {
  gnnc::prepare::countOwners(pointers, owners, int(held), int(chunk), isLong, counts, sums, heavyOfTile, numbers);
}
GNNC_PREPARE gnnc_list_owners(const int *pointers, int64 owners, int64 held, int64 chunk, int64 mostEven,
                              const int *counts, const int *sums, const int2 *heavyOfTile, Numbers *numbers,
                              Item *items, Heavy *heavy, int *heavyOfSlot) {
  gnnc::prepare::listOwners(pointers, owners, int(held), int(chunk), mostEven, counts, sums, heavyOfTile, numbers,
                            items, heavy, heavyOfSlot);
}

//===----------------------------------------------------------------------===//
// Selections, and what is chosen
//===----------------------------------------------------------------------===//

GNNC_PREPARE gnnc_count_groups(const int *groups, int64 count, int *sizes) {
  GNNC_EACH(i, count) {
    int group = gnnc::prepare::at(groups, i);
    if (group >= 0)
      atomicAdd(sizes + group, 1);
  }
}
/// How many are chosen for each of `base`: of its group, or of all `all`, but itself if others are wanted.
GNNC_PREPARE gnnc_count_selection(const int *own, const int *others, const int *sizes, int64 base, int64 all,
                                  int64 most, int64 isForOthers, int64 ratio, int64 ratioBits, int *counts) {
  GNNC_EACH(i, base) {
    int group = sizes ? gnnc::prepare::at(own, i) : 0;
    int64 there = !sizes ? all : group < 0 ? 0 : sizes[group];
    bool isOne = group >= 0 && isForOthers && (!sizes || gnnc::prepare::at(others, i) == group);
    there -= isOne;
    int64 limit = most;
    if (ratio) {
      double factor = __longlong_as_double(ratio);
      double product =
          ratioBits == 32 ? double(__fmul_rn(float(factor), float(there))) : __dmul_rn(factor, double(there));
      limit = int64(ceil(product)) < most ? int64(ceil(product)) : most;
    }
    counts[i] = int(there < limit ? there : limit);
  }
}
GNNC_PREPARE gnnc_list_selection(const int *counts, const int *places, int64 base, int *owners) {
  GNNC_EACH(i, base) {
    for (int k = 0; k < counts[i]; ++k)
      owners[places[i] + k] = int(i);
  }
}
//===----------------------------------------------------------------------===//
// Pairs of elements that two maps send to the same one
//===----------------------------------------------------------------------===//

/// `sizes`: how many the other map sends to each.
GNNC_PREPARE gnnc_count_pairs(const int *own, const int *sizes, int64 base, unsigned long long *total) {
  unsigned long long count = 0;
  GNNC_EACH(i, base) {
    int group = gnnc::prepare::at(own, i);
    count += group < 0 ? 0 : sizes[group];
  }
  if (count)
    atomicAdd(total, count);
}
/// `places`: where those begin that the other map sends to each.
GNNC_PREPARE gnnc_size_pairs(const int *own, const int *places, int64 base, int *counts) {
  GNNC_EACH(i, base) {
    int group = gnnc::prepare::at(own, i);
    counts[i] = group < 0 ? 0 : places[group + 1] - places[group];
  }
}
GNNC_PREPARE gnnc_shift_pairs(const int *own, const int *pointers, const int *places, int64 base, int *shifts) {
  GNNC_EACH(i, base) {
    int group = gnnc::prepare::at(own, i);
    shifts[i] = group < 0 ? 0 : places[group] - pointers[i];
  }
}
GNNC_PREPARE gnnc_list_pairs(const int *own, const int *pointers, const int *places, const int *members, int64 base,
                             int *owners, int *partners) {
  GNNC_EACH(i, base) {
    int group = gnnc::prepare::at(own, i);
    for (int k = pointers[i]; k < pointers[i + 1]; ++k) {
      owners[k] = int(i);
      partners[k] = gnnc::prepare::at(members, places[group] + k - pointers[i]);
    }
  }
}
GNNC_PREPARE gnnc_list_each(const int *pointers, int64 owners, Item *items) {
  GNNC_EACH(owner, owners) { items[owner] = {int(owner), pointers[owner], pointers[owner + 1], -1}; }
}
/// The owner of each element, from where those of each begin.
GNNC_PREPARE gnnc_spread_owners(const int *pointers, int64 owners, int *result) {
  GNNC_EACH(owner, owners) {
    for (int i = pointers[owner], end = pointers[owner + 1]; i < end; ++i)
      result[i] = int(owner);
  }
}
GNNC_PREPARE gnnc_keep_flags_32(const float *condition, int64 extent, int64 most, int *flags) {
  gnnc::choose::keepFlags(condition, extent, most, flags);
}
GNNC_PREPARE gnnc_keep_flags_64(const double *condition, int64 extent, int64 most, int *flags) {
  gnnc::choose::keepFlags(condition, extent, most, flags);
}
GNNC_PREPARE gnnc_keep(const int *flags, const int *places, int64 most, int *pointers, int *chosen) {
  GNNC_EACH(i, most) {
    pointers[i] = places[i];
    if (flags[i])
      chosen[places[i]] = int(i);
  }
}
GNNC_PREPARE gnnc_score_keys_32(const float *scores, const int *order, int64 shift, int64 count, int *keys) {
  gnnc::choose::scoreKeys(scores, order, shift, count, keys);
}
GNNC_PREPARE gnnc_score_keys_64(const double *scores, const int *order, int64 shift, int64 count, int *keys) {
  gnnc::choose::scoreKeys(scores, order, shift, count, keys);
}
/// Of each group's elements, which are in order, the first.
GNNC_PREPARE gnnc_take_first(const int *order, const int *groups, const int *pointers, const int *owners, int64 count,
                             int *chosen) {
  GNNC_EACH(i, count) {
    int element = order[i], group = gnnc::prepare::at(groups, element), place = int(i) - pointers[group];
    if (place < owners[group + 1] - owners[group])
      chosen[owners[group] + place] = element;
  }
}
GNNC_PREPARE gnnc_find_cells_32(const float *points, const int *belongs, int64 width, int64 square, int64 count,
                                int *lists) {
  gnnc::choose::findCells(points, belongs, width, square, count, lists);
}
GNNC_PREPARE gnnc_find_cells_64(const double *points, const int *belongs, int64 width, int64 square, int64 count,
                                int *lists) {
  gnnc::choose::findCells(points, belongs, width, square, count, lists);
}
GNNC_PREPARE gnnc_count_within_32(const __grid_constant__ gnnc::device::Within search) {
  gnnc::choose::countWithin<float>(search);
}
GNNC_PREPARE gnnc_count_within_64(const __grid_constant__ gnnc::device::Within search) {
  gnnc::choose::countWithin<double>(search);
}
GNNC_PREPARE gnnc_list_within_32(const __grid_constant__ gnnc::device::Within search) {
  gnnc::choose::listWithin<float>(search);
}
GNNC_PREPARE gnnc_list_within_64(const __grid_constant__ gnnc::device::Within search) {
  gnnc::choose::listWithin<double>(search);
}
extern "C" __global__ void __launch_bounds__(gnnc::device::kFarthestThreads)
    gnnc_farthest_32(const __grid_constant__ gnnc::device::Farthest search) {
  gnnc::farthest::search<float>(search);
}
extern "C" __global__ void __launch_bounds__(gnnc::device::kFarthestThreads)
    gnnc_farthest_64(const __grid_constant__ gnnc::device::Farthest search) {
  gnnc::farthest::search<double>(search);
}
extern "C" __global__ void __launch_bounds__(gnnc::device::kNearestThreads)
    gnnc_nearest_32(const __grid_constant__ gnnc::device::Nearest search) {
  gnnc::nearest::search<float, 8>(search);
}
extern "C" __global__ void __launch_bounds__(gnnc::device::kNearestThreads)
    gnnc_nearest_64(const __grid_constant__ gnnc::device::Nearest search) {
  gnnc::nearest::search<double, 4>(search);
}
#define GNNC_TREE_KERNELS(T, bits)                                                                                     \
  GNNC_PREPARE gnnc_point_bounds_##bits(const T *points, int64 width, int64 count, unsigned *bounds) {                 \
    gnnc::nearest::bound(points, int(width), count, bounds);                                                           \
  }                                                                                                                    \
  GNNC_PREPARE gnnc_point_codes_##bits(const T *points, const unsigned *bounds, int64 width, int64 count,              \
                                       int *codes) {                                                                   \
    gnnc::nearest::findCodes(points, bounds, int(width), count, codes);                                                \
  }                                                                                                                    \
  GNNC_PREPARE gnnc_tree_boxes_##bits(const T *points, const int *order, T *sorted, const T *children, int64 width,    \
                                      int64 count, T *boxes) {                                                         \
    gnnc::nearest::makeBoxes(points, order, sorted, children, int(width), count, boxes);                               \
  }                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(gnnc::device::kNearestThreads)                                          \
      gnnc_nearest_tree_##bits(const __grid_constant__ gnnc::device::NearestTree search) {                             \
    gnnc::nearest::searchTree<T>(search);                                                                              \
  }
GNNC_TREE_KERNELS(float, 32)
GNNC_TREE_KERNELS(double, 64)
#undef GNNC_TREE_KERNELS

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

GNNC_PREPARE gnnc_combine_ranks_32(const float *all, int64 elements, int64 ranks, int64 kind, float *to) {
  gnnc::prepare::combineRanks(all, elements, ranks, kind, to);
}
GNNC_PREPARE gnnc_combine_ranks_64(const double *all, int64 elements, int64 ranks, int64 kind, double *to) {
  gnnc::prepare::combineRanks(all, elements, ranks, kind, to);
}

#endif // GNNC_KERNELS_PREPARE_CUH
