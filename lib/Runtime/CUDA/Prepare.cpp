//===- Prepare.cpp - Preparing a graph on a GPU ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH
// LLVM-exception
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
};

/// Temporary arrays are cut from pieces of this size, larger ones are allocated
/// by themselves.
constexpr int64_t kLargeArray = int64_t(8) << 20;
constexpr int64_t kClearedPiece = int64_t(256) << 10;

GraphBuilder::~GraphBuilder() {
  // After a failure, copies of what is the caller's may still be under way.
  if (status)
    device.synchronize(stream, nullptr);
  for (int64_t i = 0; i < numBlocks; ++i)
    device.releaseOrdered(reinterpret_cast<Address>(blocks[i].memory), blocks[i].bytes, stream);
  if (piece)
    device.givePiece(piece, stream);
  if (isPageOfDevice)
    device.givePage(page);
}

gnnc_status GraphBuilder::start() {
  status = device.loadPreparation(error);
  // Without a piece, as on a GPU that is nearly full, arrays are allocated one by one.
  if (!status && !device.takePiece(stream, piece, nullptr)) {
    zeros = {reinterpret_cast<char *>(piece), kClearedPiece};
    temporaries = {zeros.next + kClearedPiece, kPieceBytes - kClearedPiece};
    fill(zeros.next, kClearedPiece / 4, 0);
  }
  report = static_cast<Report *>(cleared(sizeof(Report)));
  page = static_cast<Report *>(device.takePage());
  isPageOfDevice = page;
  if (!page && !status)
    page = lists.array<Report>(1);
  if (!page && !status)
    status = fail(error, GNNC_OUT_OF_MEMORY, "out of memory for what is found out about a graph");
  return status;
}

gnnc_status GraphBuilder::wait() {
  ++numWaits;
  if (!status)
    status = device.synchronize(stream, error);
  return status;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *GraphBuilder::allocate(int64_t bytes, int64_t least) {
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
  bytes = bytes > 0 ? bytes : 1;
  if (least < bytes && device.allocateOrdered(bytes, stream, memory, nullptr))
    bytes = least > 0 ? least : 1;
  if (!memory)
    status = device.allocateOrdered(bytes, stream, memory, error);
  if (status)
    return nullptr;
  blocks[numBlocks++] = {reinterpret_cast<void *>(memory), bytes, false};
  return reinterpret_cast<void *>(memory);
}

void *GraphBuilder::cut(Room &room, int64_t bytes, int64_t piece, bool clear) {
  int64_t needed = divideUp(bytes > 0 ? bytes : 1, kDeviceAlignment) * kDeviceAlignment;
  if (room.left < needed) {
    void *memory = allocate(needed > piece ? needed : piece, needed);
    if (status)
      return nullptr;
    blocks[numBlocks - 1].isPiece = true;
    room = {static_cast<char *>(memory), blocks[numBlocks - 1].bytes};
    if (clear)
      fill(room.next, room.left / 4, 0);
  }
  void *result = room.next;
  room.next += needed;
  room.left -= needed;
  return result;
}

int32_t *GraphBuilder::temporary(int64_t count) {
  return count * 4 > kLargeArray ? array(count)
                                 : static_cast<int32_t *>(cut(temporaries, count * 4, kPieceBytes, false));
}

void *GraphBuilder::cleared(int64_t bytes) { return cut(zeros, bytes, kClearedPiece, true); }

int64_t GraphBuilder::keep(const void *memory) {
  for (int64_t i = 0; memory && i < numBlocks; ++i)
    if (blocks[i].memory == memory && !blocks[i].isPiece) {
      int64_t bytes = blocks[i].bytes;
      blocks[i] = blocks[--numBlocks];
      return bytes;
    }
  return 0;
}

void GraphBuilder::release(const void *memory) {
  if (int64_t bytes = keep(memory))
    device.releaseOrdered(reinterpret_cast<Address>(memory), bytes, stream);
}

void GraphBuilder::fetch(void *to, const void *from, int64_t bytes) {
  if (!status)
    status = device.copy(to, false, from, true, static_cast<size_t>(bytes), stream, error);
  wait();
}

Findings *GraphBuilder::newFindings() {
  if (status)
    return nullptr;
  // They are cleared at first, and when all places were used.
  if (numFindings > 0 && numFindings % kMostFindings == 0)
    fill(report->findings, sizeof report->findings / 4, 0);
  isPageNew = false;
  return report->findings + numFindings++ % kMostFindings;
}

void GraphBuilder::startFindings() { numFindings = divideUp(numFindings, kMostFindings) * kMostFindings; }

/// A kernel that writes to the host's memory is there sooner than a copy, and
/// looking there is quicker than waiting. What is not there soon is waited for,
/// which also says what has failed.
void GraphBuilder::fetchReport() {
  constexpr int kLooks = 1 << 13;
  launchReadings();
  if (isPageNew || status)
    return;
  numFetched = numFindings;
  int64_t *told = reinterpret_cast<int64_t *>(page + 1);
  if (isPageOfDevice) {
    int64_t number = *told + 1;
    launch(Tell, 1, report, int64_t(sizeof(Report) / sizeof(int64_t)), page, number, told);
    numWaits += !status;
    for (int i = 0; i < kLooks && !status && !isPageNew; ++i) {
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
      isPageNew = __atomic_load_n(told, __ATOMIC_ACQUIRE) == number;
    }
  }
  if (!isPageNew)
    fetch(page, report, sizeof(Report));
  isPageNew = !status;
}

void GraphBuilder::readAll() {
  if (numFetched < numFindings)
    fetchReport();
}

Findings GraphBuilder::read(Findings *found) {
  fetchReport();
  return status ? Findings{} : of(found);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void GraphBuilder::launchWords(Kernel kernel, int64_t blocks, int64_t *words, int64_t count) {
  if (status || blocks <= 0)
    return;
  isPageNew = false;
  status = device.launchPreparation(kernel, blocks, kThreads, words, count, stream, error);
}

//===----------------------------------------------------------------------===//
// Sorting and sums
//===----------------------------------------------------------------------===//

void GraphBuilder::sort(const int32_t *keys, const int32_t *values, int64_t count, int64_t most, Sorted &result) {
  int64_t bits = 1;
  while (bits < 31 && most >> bits)
    ++bits;
  Pass pass = {};
  pass.targets = keys;
  pass.values = values;
  pass.count = count;
  pass.undefined = most;
  if (divideUp(count, kFewTile) <= kMostFewTiles)
    return sortFew(pass, bits, result);
  int64_t passes = divideUp(bits, kDigitBits), width = divideUp(bits, passes), tiles = divideUp(count, kTile);
  pass.counts = temporary(tiles << width);
  pass.sums = temporary(int64_t(1) << width);
  int32_t *keysTo[2] = {array(count), passes > 1 ? array(count) : nullptr};
  int32_t *valuesTo[2] = {array(count), passes > 1 ? array(count) : nullptr};
  for (int64_t i = 0; i < passes; ++i) {
    bool isLast = i + 1 == passes;
    pass.shift = i * width;
    pass.bits = width < bits - pass.shift ? width : bits - pass.shift;
    pass.keysOut = isLast && !result.wantsKeys ? nullptr : keysTo[i % 2];
    pass.valuesOut = isLast && !result.wantsValues ? nullptr : valuesTo[i % 2];
    if (isLast && result.through) {
      pass.through = result.through;
      pass.throughOut = result.throughs = array(count);
    }
    launchPass(CountDigits, tiles, pass);
    launch(ScanCounts, int64_t(1) << pass.bits, pass.counts, tiles, pass.sums);
    launchPass(ScatterDigits, tiles, pass);
    pass.targets = keysTo[i % 2];
    pass.values = valuesTo[i % 2];
  }
  int64_t final = (passes - 1) % 2;
  release(pass.counts);
  release(pass.sums);
  release(keysTo[1 - final]);
  release(valuesTo[1 - final]);
  if (!result.wantsKeys)
    release(keysTo[final]);
  if (!result.wantsValues)
    release(valuesTo[final]);
  result.keys = result.wantsKeys ? keysTo[final] : nullptr;
  result.values = result.wantsValues ? valuesTo[final] : nullptr;
}

/// With small tiles, digits of nine bits, and two kernels for each. Of two
/// digits the upper one comes first; blocks then sort by the lower one what has
/// the same upper one.
void GraphBuilder::sortFew(Pass &pass, int64_t bits, Sorted &result) {
  int64_t count = pass.count, passes = divideUp(bits, kFewDigitBits), width = divideUp(bits, passes);
  bool inBuckets = passes == 2 && count > 0;
  pass.held = heldFor(count);
  pass.found = result.found;
  pass.given = pass.targets;
  auto sortFirst = [&](int64_t shift, int64_t bits) {
    pass.shift = shift;
    pass.bits = bits;
    pass.keysOut = temporary(count);
    pass.valuesOut = temporary(count);
    sortDigit(pass);
    pass.targets = pass.keysOut;
    pass.values = pass.valuesOut;
  };
  if (inBuckets) {
    pass.numStarts = (int64_t(1) << kFewDigitBits) + 1;
    pass.upper = pass.starts = temporary(pass.numStarts);
    pass.buckets = (pass.undefined >> (bits - kFewDigitBits)) + 1;
    sortFirst(bits - kFewDigitBits, kFewDigitBits);
    pass.shift = 0;
  } else {
    for (pass.shift = 0; bits - pass.shift > kFewDigitBits; pass.shift += width)
      sortFirst(pass.shift, width);
  }
  pass.bits = inBuckets ? bits - kFewDigitBits : bits - pass.shift;
  result.hasRows = result.rows && passes <= 2 && count > 0;
  pass.keysOut = result.keys = result.wantsKeys && !result.hasRows ? temporary(count) : nullptr;
  pass.valuesOut = result.values = result.wantsValues ? array(count) : nullptr;
  pass.through = result.through;
  pass.throughOut = result.throughs = result.through ? array(count) : nullptr;
  pass.starts = result.rows;
  pass.numStarts = result.rows ? pass.undefined + 1 : 0;
  if (passes > 2) {
    pass.numStarts = (int64_t(1) << pass.bits) + 1;
    pass.starts = temporary(pass.numStarts);
    result.starts = count > 0 ? pass.starts : nullptr;
    result.shift = pass.shift;
  }
  if (inBuckets)
    launchPass(ScatterBuckets, pass.buckets + count / kFewTile, pass);
  else
    sortDigit(pass);
}

void GraphBuilder::sortDigit(Pass &pass) {
  int64_t tiles = divideUp(pass.count, kThreads * pass.held);
  pass.counts = temporary(tiles << pass.bits);
  pass.sums = static_cast<int32_t *>(cleared((divideUp(tiles, kTilesOfGroup) << pass.bits) * 4));
  launchPass(CountFew, tiles, pass);
  launchPass(ScatterFew, tiles, pass);
}

int32_t *GraphBuilder::sumsBefore(const int32_t *numbers, int64_t count, int32_t *total) {
  int64_t tiles = divideUp(count, kTile);
  int32_t *sums = temporary(tiles + 1), *results = temporary(count);
  launch(SumTiles, tiles, numbers, count, sums);
  launch(ScanSums, 1, sums, tiles);
  launch(ApplySums, tiles, numbers, count, sums, results);
  copy(total, sums + tiles, 1);
  release(sums);
  return results;
}

int32_t *GraphBuilder::sumsBefore(const int32_t *numbers, int64_t count, int64_t &total) {
  // The upper half of the place stays 0.
  int32_t *results = sumsBefore(numbers, count, report ? reinterpret_cast<int32_t *>(&report->total) : nullptr);
  fetchReport();
  total = status ? 0 : page->total;
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
  if (!status && count > 0)
    status = device.fill(reinterpret_cast<Address>(words), count, word, stream, error);
}

void GraphBuilder::fill64(void *words, int64_t count, int64_t word) { each(Fill64, count, words, count, word); }

void GraphBuilder::copy(int32_t *to, const int32_t *from, int64_t count) {
  isPageNew = false;
  if (!status)
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
