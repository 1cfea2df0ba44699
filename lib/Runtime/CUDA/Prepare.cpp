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

enum GraphBuilder::Kernel : int {
  CountDigits,
  ScanCounts,
  ScatterDigits,
  SumTiles,
  ScanSums,
  ApplySums,
  Read32,
  Read64,
  Examine,
  ReadRows32,
  ReadRows64,
  ExpandRows,
  Iota,
  Compose,
  Last,
  FindRows,
  FindDifference,
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
};

/// In the order of the enumerators.
const char *const kPreparationKernels[kNumPreparationKernels] = {
    "gnnc_count_digits", "gnnc_scan_counts",     "gnnc_scatter_digits", "gnnc_sum_tiles",    "gnnc_scan_sums",
    "gnnc_apply_sums",   "gnnc_read_32",         "gnnc_read_64",        "gnnc_examine",      "gnnc_read_rows_32",
    "gnnc_read_rows_64", "gnnc_expand_rows",     "gnnc_iota",           "gnnc_compose",      "gnnc_last",
    "gnnc_find_rows",    "gnnc_find_difference", "gnnc_fill_64",        "gnnc_filter_flags", "gnnc_filter_members",
    "gnnc_tuple_keys",   "gnnc_tuple_flags",     "gnnc_tuple_classes",  "gnnc_count_items",  "gnnc_count_sizes",
    "gnnc_list_heavy",   "gnnc_list_slots",      "gnnc_size_keys",      "gnnc_list_light",
};

// As in Kernels/Sort.cuh.
constexpr int64_t kThreads = 512, kTile = 8192, kDigitBits = 8;

static int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

GraphBuilder::~GraphBuilder() {
  // After a failure, copies of what is the caller's may still be under way.
  if (status && numBlocks > 0)
    device.synchronize(device.preparing, nullptr);
  for (int64_t i = 0; i < numBlocks; ++i)
    device.releaseOrdered(reinterpret_cast<Address>(blocks[i].memory));
}

gnnc_status GraphBuilder::start() {
  status = device.loadPreparation(error);
  findings = static_cast<Findings *>(allocate(kMostFindings * int64_t(sizeof(Findings))));
  return status;
}

gnnc_status GraphBuilder::wait() {
  if (!status)
    status = device.synchronize(device.preparing, error);
  return status;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *GraphBuilder::allocate(int64_t bytes) {
  if (status)
    return nullptr;
  if (numBlocks == capacity) {
    int64_t wanted = capacity ? 2 * capacity : 64;
    Block *more = lists.array<Block>(wanted);
    if (!more) {
      status = fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a graph's list of arrays");
      return nullptr;
    }
    if (numBlocks)
      memcpy(more, blocks, static_cast<size_t>(numBlocks) * sizeof(Block));
    lists.release(blocks);
    blocks = more;
    capacity = wanted;
  }
  Address memory = 0;
  status = device.allocateOrdered(bytes > 0 ? bytes : 1, memory, error);
  if (status)
    return nullptr;
  blocks[numBlocks++] = {reinterpret_cast<void *>(memory), bytes};
  return reinterpret_cast<void *>(memory);
}

int64_t GraphBuilder::keep(const void *memory) {
  for (int64_t i = 0; memory && i < numBlocks; ++i)
    if (blocks[i].memory == memory) {
      int64_t bytes = blocks[i].bytes;
      blocks[i] = blocks[--numBlocks];
      return bytes > 0 ? bytes : 1;
    }
  return 0;
}

void GraphBuilder::release(const void *memory) {
  if (keep(memory))
    device.releaseOrdered(reinterpret_cast<Address>(memory));
}

void GraphBuilder::fetch(void *to, const void *from, int64_t bytes) {
  if (!status)
    status = device.copy(to, false, from, true, static_cast<size_t>(bytes), device.preparing, error);
  wait();
}

Findings *GraphBuilder::newFindings() {
  if (status)
    return nullptr;
  // Static, so that the copy need not be waited for.
  static constexpr AllFindings kFresh = [] {
    AllFindings all = {};
    for (Findings &one : all.list)
      one.firstWrong = ~uint64_t(0);
    return all;
  }();
  if (numFindings % kMostFindings == 0)
    status = device.copy(findings, true, kFresh.list, false, sizeof kFresh.list, device.preparing, error);
  return findings + numFindings++ % kMostFindings;
}

void GraphBuilder::startFindings() { numFindings = divideUp(numFindings, kMostFindings) * kMostFindings; }

AllFindings GraphBuilder::readAll() {
  AllFindings result = {findings, {}};
  fetch(result.list, findings, sizeof result.list);
  return result;
}

Findings GraphBuilder::read(Findings *found) {
  Findings result = {~uint64_t(0), 0, 0, 0};
  fetch(&result, found, sizeof result);
  return result;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static int64_t wordOf(const void *address) { return reinterpret_cast<int64_t>(address); }
static int64_t wordOf(int64_t number) { return number; }

void GraphBuilder::launchWords(Kernel kernel, int64_t blocks, int64_t *words, int64_t count) {
  if (!status && blocks > 0)
    status = device.launchPreparation(kernel, blocks, kThreads, words, count, error);
}

template <typename... Words> void GraphBuilder::launch(Kernel kernel, int64_t blocks, Words... words) {
  int64_t list[] = {wordOf(words)...};
  launchWords(kernel, blocks, list, sizeof...(words));
}

/// Enough blocks to fill the device; threads take turns.
template <typename... Words> void GraphBuilder::each(Kernel kernel, int64_t count, Words... words) {
  int64_t blocks = divideUp(count, kThreads), most = 8 * device.processors();
  launch(kernel, blocks < most ? blocks : most, words...);
}

//===----------------------------------------------------------------------===//
// Sorting and sums
//===----------------------------------------------------------------------===//

void GraphBuilder::sort(const int32_t *keys, const int32_t *values, int64_t count, int64_t most, int32_t **sortedKeys,
                        int32_t *&sortedValues) {
  int64_t bits = 1;
  while (bits < 31 && most >> bits)
    ++bits;
  int64_t passes = divideUp(bits, kDigitBits), width = divideUp(bits, passes), tiles = divideUp(count, kTile);
  int32_t *counts = array(tiles << width), *totals = array(int64_t(1) << width);
  int32_t *keysTo[2] = {array(count), passes > 1 ? array(count) : nullptr};
  int32_t *valuesTo[2] = {array(count), passes > 1 ? array(count) : nullptr};
  for (int64_t pass = 0; pass < passes; ++pass) {
    bool isLast = pass + 1 == passes;
    int64_t shift = pass * width, own = width < bits - shift ? width : bits - shift;
    int32_t *keysOut = isLast && !sortedKeys ? nullptr : keysTo[pass % 2];
    launch(CountDigits, tiles, keys, count, most, shift, own, counts);
    launch(ScanCounts, int64_t(1) << own, counts, tiles, totals);
    launch(ScatterDigits, tiles, keys, values, keysOut, valuesTo[pass % 2], count, most, shift, own, counts, totals);
    keys = keysTo[pass % 2];
    values = valuesTo[pass % 2];
  }
  int64_t final = (passes - 1) % 2;
  release(counts);
  release(totals);
  release(keysTo[1 - final]);
  release(valuesTo[1 - final]);
  if (sortedKeys)
    *sortedKeys = keysTo[final];
  else
    release(keysTo[final]);
  sortedValues = valuesTo[final];
}

int32_t *GraphBuilder::sumsBefore(const int32_t *numbers, int64_t count, int32_t *total) {
  int64_t tiles = divideUp(count, kTile);
  int32_t *sums = array(tiles + 1), *results = array(count);
  launch(SumTiles, tiles, numbers, count, sums);
  launch(ScanSums, 1, sums, tiles);
  launch(ApplySums, tiles, numbers, count, sums, results);
  copy(total, sums + tiles, 1);
  release(sums);
  return results;
}

int32_t *GraphBuilder::sumsBefore(const int32_t *numbers, int64_t count, int64_t &total) {
  int32_t *place = array(1), all = 0;
  int32_t *results = sumsBefore(numbers, count, place);
  fetch(&all, place, sizeof all);
  release(place);
  total = all;
  return results;
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
    status =
        device.copy(raw, true, index.data, false, static_cast<size_t>(index.length * width), device.preparing, error);
  return raw;
}

const int32_t *GraphBuilder::readEach(const gnnc_index &index, int64_t least, int64_t extent, Findings *&place) {
  const void *from = uploaded(index, index.bits / 8);
  int32_t *targets = array(index.length);
  place = newFindings();
  each(index.bits == 32 ? Read32 : Read64, index.length, from, index.length, least, extent, targets, place);
  if (from != index.data)
    release(from);
  return targets;
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
  if (!found.isWrong())
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
  int32_t *flags = array(base);
  each(FilterFlags, base, left, right, int64_t(equal), base, flags);
  int32_t *places = sumsBefore(flags, base, count);
  int32_t *members = array(count);
  each(FilterMembers, base, left, right, int64_t(equal), base, places, members);
  release(flags);
  release(places);
  return members;
}

void GraphBuilder::distinct(const int32_t *const *components, const int64_t *codomains, int64_t numMaps, int64_t base,
                            int64_t &count, const int32_t *&classes, const int32_t *&first) {
  int32_t *order = nullptr, *keys = array(base);
  for (int64_t k = numMaps - 1; k >= 0; --k) {
    int32_t *sorted = nullptr;
    each(TupleKeys, base, order, components[k], base, keys);
    sort(keys, order, base, codomains[k], nullptr, sorted);
    release(order);
    order = sorted;
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
  if (!status && count > 0)
    status = device.fill(reinterpret_cast<Address>(words), count, word, error);
}

void GraphBuilder::fill64(void *words, int64_t count, int64_t word) { each(Fill64, count, words, count, word); }

void GraphBuilder::copy(int32_t *to, const int32_t *from, int64_t count) {
  if (!status)
    status = device.copy(to, true, from, true, static_cast<size_t>(count) * 4, device.preparing, error);
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
                         Grouping &result) {
  int32_t *pointers = array(owners + 1);
  result.owners = owners;
  result.count = elements - undefined;
  result.pointers = pointers;
  result.members = nullptr;
  if (inOrder) {
    each(FindRows, owners + 1, targets, elements, owners, pointers);
    return;
  }
  int32_t *sorted = nullptr, *members = nullptr;
  sort(targets, nullptr, elements, owners, &sorted, members);
  each(FindRows, owners + 1, sorted, elements, owners, pointers);
  release(sorted);
  result.members = members;
}

void GraphBuilder::share(const int32_t **arrays, const int64_t *lengths, int64_t count) {
  // All comparisons are launched before the first result is waited for.
  Findings **places = lists.array<Findings *>(count * count);
  if (!places) {
    status = status ? status : fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the list of indices");
    return;
  }
  int64_t left = kMostFindings - 1;
  startFindings();
  for (int64_t i = 1; i < count; ++i)
    for (int64_t j = 0; j < i; ++j) {
      places[i * count + j] = nullptr;
      if (!arrays[i] || !arrays[j] || lengths[i] != lengths[j] || arrays[i] == arrays[j] || left-- <= 0)
        continue;
      places[i * count + j] = newFindings();
      each(FindDifference, lengths[i], arrays[i], arrays[j], lengths[i], places[i * count + j]);
    }
  const AllFindings all = readAll();
  for (int64_t i = 1; !status && i < count; ++i)
    for (int64_t j = 0; j < i; ++j)
      if (Findings *place = places[i * count + j]; place && !all.of(place).notInOrder) {
        arrays[i] = arrays[j];
        break;
      }
  lists.release(places);
}

void GraphBuilder::worklists(const Grouping *const *groupings, int64_t count, DeviceWorklist *const *results) {
  /// What the host must know of one.
  struct Numbers {
    int32_t slots, heavy;
    uint64_t heavyMembers;
    int32_t sizes[kNumSizes];
  };
  struct Lists {
    int32_t *firstSlots, *numbers;
  };
  constexpr int64_t kWords = sizeof(Numbers) / 4;
  Numbers *found = lists.array<Numbers>(count);
  Lists *made = lists.array<Lists>(count);
  if (!found || !made)
    status = status ? status : fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the worklists");
  if (status)
    return;
  int32_t *all = array(count * kWords);
  fill(all, count * kWords, 0);
  for (int64_t i = 0; i < count; ++i) {
    const Grouping &grouping = *groupings[i];
    int64_t owners = grouping.owners, chunk = chunkFor(grouping.count);
    int32_t *own = all ? all + i * kWords : nullptr;
    int32_t *slots = array(owners), *isHeavy = array(owners);
    Findings *place = newFindings();
    each(CountItems, owners, grouping.pointers, owners, chunk, longFrom(grouping.count, owners), slots, isHeavy, place);
    made[i].firstSlots = sumsBefore(slots, owners, own);
    made[i].numbers = sumsBefore(isHeavy, owners, own + 1);
    copy(own + 2, place ? reinterpret_cast<const int32_t *>(&place->sum) : nullptr, 2);
    // Few blocks: each warp adds to the same twelve numbers.
    int64_t blocks = divideUp(owners, kThreads), most = 2 * device.processors();
    launch(CountSizes, blocks < most ? blocks : most, grouping.pointers, owners, chunk, own + 4);
    release(slots);
    release(isHeavy);
  }
  fetch(found, all, count * kWords * 4);
  release(all);
  for (int64_t i = 0; !status && i < count; ++i) {
    const Grouping &grouping = *groupings[i];
    DeviceWorklist &result = *results[i];
    const Lists &own = made[i];
    int64_t owners = grouping.owners, chunk = chunkFor(grouping.count);
    result.chunk = chunk;
    result.numSlots = found[i].slots;
    result.numHeavy = found[i].heavy;
    result.bySize = isUneven(static_cast<int64_t>(found[i].heavyMembers), grouping.count);
    int64_t light = owners - result.numHeavy;
    result.numItems = light + result.numSlots;
    auto *items = static_cast<Item *>(allocate(result.numItems * int64_t(sizeof(Item))));
    auto *heavy = static_cast<Heavy *>(allocate(result.numHeavy * int64_t(sizeof(Heavy))));
    int32_t *heavyOfSlot = array(result.numSlots);
    if (result.numHeavy > 0) {
      each(ListHeavy, owners, grouping.pointers, owners, chunk, own.firstSlots, own.numbers, heavy);
      each(ListSlots, result.numSlots, grouping.pointers, chunk, heavy, result.numHeavy, result.numSlots, items,
           heavyOfSlot);
    }
    int32_t *order = nullptr;
    if (result.bySize) {
      int32_t *keys = array(owners);
      each(SizeKeys, owners, grouping.pointers, owners, chunk, keys);
      sort(keys, nullptr, owners, chunk + 1, nullptr, order);
      release(keys);
      // Launches share the items at these places, so they must rise; fewer have more members.
      int64_t before = light;
      for (int k = 0; k < kNumSizes; ++k) {
        int64_t size = found[i].sizes[k];
        before = size < 0 ? 0 : size < before ? size : before;
        result.largest[k] = result.numSlots + before;
      }
    }
    int64_t listed = result.bySize ? light : owners;
    each(ListLight, listed, grouping.pointers, listed, chunk, order, own.numbers, items + result.numSlots);
    release(order);
    release(own.firstSlots);
    release(own.numbers);
    result.items = reinterpret_cast<Address>(items);
    result.heavy = reinterpret_cast<Address>(heavy);
    result.heavyOfSlot = reinterpret_cast<Address>(heavyOfSlot);
  }
  lists.release(found);
  lists.release(made);
}

} // namespace gnnc::runtime::cuda
