//===- Prepare.cpp - Preparing a graph on a GPU ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include "Worklist.h"
#include <string.h>

namespace gnnc::runtime::cuda {

/// In the order of the enumerators.
const char *const kPreparationKernels[kNumPreparationKernels] = {
    "gnnc_count_digits",
    "gnnc_scan_counts",
    "gnnc_scatter_digits",
    "gnnc_count_few",
    "gnnc_scatter_few",
    "gnnc_scatter_buckets",
    "gnnc_sum_tiles",
    "gnnc_scan_sums",
    "gnnc_apply_sums",
    "gnnc_read",
    "gnnc_examine",
    "gnnc_read_rows_32",
    "gnnc_read_rows_64",
    "gnnc_expand_rows",
    "gnnc_iota",
    "gnnc_compose",
    "gnnc_last",
    "gnnc_find_rows",
    "gnnc_find_difference",
    "gnnc_tell",
    "gnnc_fill_64",
    "gnnc_filter_flags",
    "gnnc_filter_members",
    "gnnc_tuple_keys",
    "gnnc_tuple_flags",
    "gnnc_tuple_classes",
    "gnnc_count_items",
    "gnnc_count_sizes",
    "gnnc_list_heavy",
    "gnnc_list_slots",
    "gnnc_size_keys",
    "gnnc_list_light",
    "gnnc_count_owners",
    "gnnc_list_owners",
    "gnnc_combine_ranks_32",
    "gnnc_combine_ranks_64",
    "gnnc_count_groups",
    "gnnc_count_pairs",
    "gnnc_size_pairs",
    "gnnc_shift_pairs",
    "gnnc_list_pairs",
};

void GraphBuilder::launchWords(Kernel kernel, int64_t blocks, int64_t *words, int64_t count, int64_t threads) {
  if (status || blocks <= 0 || isCounting)
    return;
  isPageNew = false;
  status = device.launchPreparation(kernel, blocks, threads, words, count, stream, error);
}

//===----------------------------------------------------------------------===//
// Root maps
//===----------------------------------------------------------------------===//

static bool isOnDevice(const gnnc_index &index) { return index.format & GNNC_INDEX_ON_DEVICE; }

const void *GraphBuilder::uploaded(const gnnc_index &index, int64_t width) {
  if (isOnDevice(index))
    return index.data;
  void *raw = allocate(index.length * width);
  if (!status)
    status = device.copy(raw, true, index.data, false, static_cast<size_t>(index.length * width), stream, error);
  return raw;
}

const int32_t *GraphBuilder::readEach(const gnnc_index &index, int64_t least, int64_t extent, Findings *&place) {
  if (readings.number == device::kMostReadings)
    launchReadings();
  const void *from = uploaded(index, index.bits / 8);
  int32_t *targets = array(index.length);
  place = newFindings();
  isUploaded[readings.number] = from != index.data;
  readings.list[readings.number++] = {from, index.bits == 64, index.length, least, extent, targets, place};
  return targets;
}

void GraphBuilder::launchReadings() {
  constexpr int64_t kAtOnce = 4; // of each thread
  int64_t most = 0, all = 8 * device.processors();
  for (int64_t i = 0; i < readings.number; ++i)
    most = readings.list[i].count > most ? readings.list[i].count : most;
  int64_t blocks = readings.number * divideUp(most, kAtOnce * kThreads);
  static_assert(sizeof readings == (7 * device::kMostReadings + 1) * sizeof(int64_t));
  launchWords(Read, blocks < all ? blocks : all, reinterpret_cast<int64_t *>(&readings),
              sizeof readings / sizeof(int64_t));
  for (int64_t i = 0; i < readings.number; ++i)
    if (isUploaded[i])
      release(readings.list[i].from);
  readings.number = 0;
}

const int32_t *GraphBuilder::readRows(const gnnc_index &index, int64_t count, const int32_t *&targets,
                                      Findings &found) {
  const void *from = uploaded(index, index.bits / 8);
  int64_t rows = index.length - 1;
  int32_t *pointers = array(rows + 1), *each32 = array(count);
  if (rows == 0)
    fill(pointers, 1, 0);
  Findings *place = newFindings();
  each(index.bits == 32 ? ReadRows32 : ReadRows64, rows, from, rows, count, pointers, place);
  found = read(place);
  if (from != index.data)
    release(from);
  if (!isWrong(found))
    each(ExpandRows, count, pointers, rows, count, each32);
  targets = each32;
  return pointers;
}

int64_t GraphBuilder::element(const gnnc_index &index, int64_t number) {
  int64_t width = index.bits / 8, wide = 0;
  int32_t narrow = 0;
  void *to = width == 8 ? static_cast<void *>(&wide) : &narrow;
  const char *from = static_cast<const char *>(index.data) + number * width;
  if (isOnDevice(index))
    fetch(to, from, width);
  else
    memcpy(to, from, static_cast<size_t>(width));
  return width == 8 ? wide : narrow;
}

//===----------------------------------------------------------------------===//
// Derived spaces and maps
//===----------------------------------------------------------------------===//

const int32_t *GraphBuilder::filter(const int32_t *left, const int32_t *right, bool equal, int64_t base,
                                    int64_t &count) {
  int32_t *flags = temporary(base);
  each(FilterFlags, base, left, right, int64_t(equal), base, flags);
  int32_t *places = count < 0 ? sumsBefore(flags, base, count) : sumsBefore(flags, base, temporary(1));
  int32_t *members = array(count);
  each(FilterMembers, base, left, right, int64_t(equal), base, places, members);
  release(flags);
  release(places);
  return members;
}

void GraphBuilder::distinct(const int32_t *const *components, const int64_t *codomains, int64_t numMaps, int64_t base,
                            int64_t &count, const int32_t *&classes, const int32_t *&first) {
  int32_t *order = nullptr, *keys = temporary(base);
  for (int64_t k = numMaps - 1; k >= 0; --k) {
    Sorted sorted;
    each(TupleKeys, base, order, components[k], base, keys);
    sort(keys, order, base, codomains[k], sorted);
    release(order);
    order = sorted.values;
  }
  if (!order)
    order = iota(nullptr, base);
  int32_t *flags = keys;
  fill(flags, base, 0);
  for (int64_t k = 0; k < numMaps; ++k)
    each(TupleFlags, base, order, components[k], base, int64_t(k == 0), flags);
  int32_t *before = sumsBefore(flags, base, count);
  int32_t *classOf = array(base), *firstOf = array(count);
  each(TupleClasses, base, order, flags, before, base, classOf, firstOf);
  release(order);
  release(flags);
  release(before);
  classes = classOf;
  first = firstOf;
}

int32_t *GraphBuilder::iota(int32_t *numbers, int64_t count) {
  int32_t *result = numbers ? numbers : array(count);
  each(Iota, count, result, count);
  return result;
}

void GraphBuilder::fill(void *words, int64_t count, uint32_t word) {
  isPageNew = false;
  if (!status && count > 0 && !isCounting)
    status = device.fill(reinterpret_cast<Address>(words), count, word, stream, error);
}

void GraphBuilder::fill64(void *words, int64_t count, int64_t word) { each(Fill64, count, words, count, word); }

void GraphBuilder::copy(int32_t *to, const int32_t *from, int64_t count) {
  isPageNew = false;
  if (!status && !isCounting)
    status = device.copy(to, true, from, true, static_cast<size_t>(count) * 4, stream, error);
}

int32_t *GraphBuilder::compose(const int32_t *inner, const int32_t *outer, int64_t count, int32_t *results) {
  int32_t *to = results ? results : array(count);
  each(Compose, count, inner, outer, count, to);
  return to;
}

const int32_t *GraphBuilder::last(const int32_t *map, int64_t count, int64_t extent) {
  int32_t *results = array(extent);
  fill(results, extent, ~uint32_t(0));
  each(Last, count, map, count, results);
  return results;
}

//===----------------------------------------------------------------------===//
// Groupings
//===----------------------------------------------------------------------===//

Findings *GraphBuilder::examineLater(const int32_t *targets, int64_t count) {
  Findings *place = newFindings();
  each(Examine, count, targets, count, place);
  return place;
}

Findings GraphBuilder::examine(const int32_t *targets, int64_t count) { return read(examineLater(targets, count)); }

void GraphBuilder::group(const int32_t *targets, int64_t elements, int64_t owners, bool inOrder, int64_t undefined,
                         const int32_t *through, bool wantsMembers, const Findings *found, Grouping &result) {
  int32_t *pointers = array(owners + 1);
  const int32_t *none = nullptr;
  result.owners = owners;
  result.count = elements - undefined;
  result.pointers = pointers;
  if (inOrder) {
    each(FindRows, owners + 1, targets, elements, owners, none, int64_t(0), pointers);
    return;
  }
  Sorted sorted;
  sorted.wantsKeys = true;
  sorted.wantsValues = wantsMembers;
  sorted.through = through;
  sorted.rows = pointers;
  sorted.found = found;
  sort(targets, nullptr, elements, owners, sorted);
  if (!sorted.hasRows)
    each(FindRows, owners + 1, sorted.keys, elements, owners, sorted.starts, sorted.shift, pointers);
  release(sorted.keys);
  result.members = sorted.values;
  result.sorted = sorted.throughs;
}

void GraphBuilder::share(const int32_t **arrays, const int64_t *lengths, int64_t count) {
  Findings **places = lists.array<Findings *>(count * count);
  if (!places)
    status = status ? status : fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the list of indices");
  if (status)
    return;
  device::Comparisons comparisons = {};
  static_assert(sizeof comparisons == (4 * device::kMostComparisons + 1) * sizeof(int64_t));
  constexpr int64_t kAtOnce = 4; // of each thread
  int64_t next = 0, longest = 0;
  auto compare = [&] {
    int64_t blocks = comparisons.number * divideUp(longest, kAtOnce * kThreads), all = 8 * device.processors();
    launchWords(FindDifference, blocks < all ? blocks : all, reinterpret_cast<int64_t *>(&comparisons),
                sizeof comparisons / sizeof(int64_t));
    comparisons.number = longest = 0;
  };
  for (int64_t i = 1; i < count; ++i)
    for (int64_t j = 0; j < i; ++j) {
      Findings *&place = places[i * count + j];
      place = nullptr;
      if (!arrays[i] || !arrays[j] || lengths[i] != lengths[j] || arrays[i] == arrays[j] || next == kMostFindings)
        continue;
      place = report->compared + next++;
      comparisons.list[comparisons.number++] = {arrays[i], arrays[j], lengths[i], place};
      longest = lengths[i] > longest ? lengths[i] : longest;
      if (comparisons.number == device::kMostComparisons)
        compare();
    }
  compare();
  if (next > 0)
    sharing = {arrays, places, count};
}

gnnc_status GraphBuilder::finish() {
  if (sharing.count == 0 && numPending == 0 && numFetched == numFindings)
    return wait();
  fetchReport();
  for (int64_t i = 1; !status && i < sharing.count; ++i)
    for (int64_t j = 0; j < i; ++j)
      if (Findings *place = sharing.places[i * sharing.count + j]; place && !of(place).notInOrder) {
        sharing.arrays[i] = sharing.arrays[j];
        break;
      }
  sharing = {};
  for (int64_t i = 0; !status && i < numPending; ++i)
    note(of(pending[i].numbers), *pending[i].grouping, *pending[i].result);
  numPending = 0;
  return status;
}

} // namespace gnnc::runtime::cuda
