//===- Memory.cpp - Memory that is freed as a whole -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include <stdlib.h>

namespace gnnc::runtime {

static void *allocateAligned(size_t bytes, void *) {
  size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return rounded < bytes ? nullptr : aligned_alloc(kAlignment, rounded);
}

static void releaseAligned(void *memory, size_t, void *) { free(memory); }

gnnc_allocator defaultAllocator() { return {allocateAligned, releaseAligned, nullptr}; }

void *Memory::allocate(int64_t count, int64_t size) {
  int64_t bytes;
  if (count < 0 || __builtin_mul_overflow(count, size, &bytes) ||
      __builtin_add_overflow(bytes, static_cast<int64_t>(sizeof(Block)), &bytes))
    return nullptr;
  void *memory = allocator.allocate(bytes, allocator.user);
  if (!memory)
    return nullptr;
  if (reinterpret_cast<uintptr_t>(memory) % kAlignment != 0) {
    allocator.release(memory, bytes, allocator.user);
    return nullptr;
  }
  Block *block = static_cast<Block *>(memory);
  block->bytes = bytes;
  link(block);
  return block + 1;
}

void Memory::link(Block *block) {
  block->previous = nullptr;
  block->next = first;
  if (first)
    first->previous = block;
  first = block;
  total += block->bytes;
}

void Memory::unlink(Block *block) {
  (block->previous ? block->previous->next : first) = block->next;
  if (block->next)
    block->next->previous = block->previous;
  total -= block->bytes;
}

void Memory::release(const void *memory) {
  if (!memory)
    return;
  Block *block = blockOf(memory);
  unlink(block);
  allocator.release(block, block->bytes, allocator.user);
}

void Memory::releaseAll() {
  while (first)
    release(first + 1);
}

void Memory::exchange(Memory &other) {
  Block *block = first;
  size_t bytes = total;
  first = other.first, total = other.total;
  other.first = block, other.total = bytes;
}

void Memory::adopt(const void *memory, Memory &other) {
  Block *block = blockOf(memory);
  other.unlink(block);
  link(block);
}

} // namespace gnnc::runtime
