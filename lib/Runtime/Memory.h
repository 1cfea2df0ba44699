//===- Memory.h - Memory that is freed as a whole ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A list of blocks from the caller's allocator. A function that fails half-way leaves nothing behind, because the list
// it allocated from is released as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_MEMORY_H
#define GNNC_RUNTIME_MEMORY_H

#include "gnnc-c/gnnc.h"
#include <new>

namespace gnnc::runtime {

/// All blocks start at multiples of this.
constexpr int64_t kAlignment = 64;

/// malloc and free behind the interface of gnnc_allocator.
gnnc_allocator defaultAllocator();

class Memory {
public:
  explicit Memory(const gnnc_allocator &allocator) : allocator(allocator) {}
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory() { releaseAll(); }

  /// 64-byte aligned memory, or null: exhausted, overflow (`count` times `size`), or a misaligned answer of the
  /// allocator.
  void *allocate(int64_t count, int64_t size);
  template <typename T> T *array(int64_t count) { return static_cast<T *>(allocate(count, sizeof(T))); }

  /// Null does nothing.
  void release(const void *memory);
  void releaseAll();
  /// Takes over one block of `other`, which has the same allocator.
  void adopt(const void *memory, Memory &other);

  /// Exchanges all blocks with `other`, which has the same allocator.
  void exchange(Memory &other);

  size_t bytes() const { return total; }
  const gnnc_allocator &getAllocator() const { return allocator; }

private:
  /// Stands in front of the memory it describes.
  struct alignas(kAlignment) Block {
    Block *previous, *next;
    size_t bytes; ///< with this header
  };
  void link(Block *block);
  void unlink(Block *block);
  static Block *blockOf(const void *memory) { return static_cast<Block *>(const_cast<void *>(memory)) - 1; }

  gnnc_allocator allocator;
  Block *first = nullptr;
  size_t total = 0;
};

/// A `T` that lives in the allocator's memory by itself; null if there is none.
template <typename T, typename... Arguments> T *create(const gnnc_allocator &allocator, Arguments &&...arguments) {
  static_assert(alignof(T) <= kAlignment);
  void *memory = allocator.allocate(sizeof(T), allocator.user);
  if (memory && reinterpret_cast<uintptr_t>(memory) % kAlignment != 0) {
    allocator.release(memory, sizeof(T), allocator.user);
    return nullptr;
  }
  return memory ? new (memory) T(static_cast<Arguments &&>(arguments)...) : nullptr;
}

template <typename T> void destroy(T *object, const gnnc_allocator &allocator) {
  object->~T();
  allocator.release(object, sizeof(T), allocator.user);
}

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_MEMORY_H
