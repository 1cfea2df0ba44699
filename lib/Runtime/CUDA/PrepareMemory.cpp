//===- PrepareMemory.cpp - Memory that preparing a graph takes ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include <string.h>

namespace gnnc::runtime::cuda {

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

void *GraphBuilder::allocate(int64_t bytes, int64_t least) {
  if (status)
    return nullptr;
  if (isFixed)
    return cut(temporaries, bytes, 0, false);
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

void *GraphBuilder::cleared(int64_t bytes) {
  if (!isFixed)
    return cut(zeros, bytes, kClearedPiece, true);
  void *memory = cut(temporaries, bytes, 0, false);
  fill(memory, divideUp(bytes, 4), 0);
  return memory;
}

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
    for (int i = 0; i < kLooks && !status && !isPageNew; ++i) {
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
      isPageNew = __atomic_load_n(told, __ATOMIC_ACQUIRE) == number;
    }
    numWaits += isPageNew; // else it is the fetch that waits
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

} // namespace gnnc::runtime::cuda
