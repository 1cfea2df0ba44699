//===- Targets.h - Where a map leads ----------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One number for each element. Those of a file are read where they are: a graph may be larger than memory.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_GRAPHS_TARGETS_H
#define GNNC_GRAPHS_TARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/iterator.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace gnnc {

class Targets {
public:
  Targets() = default;
  Targets(std::vector<int32_t> numbers)
      : kept(std::make_shared<const std::vector<int32_t>>(std::move(numbers))), narrow(kept->data()),
        count(kept->size()) {}
  Targets(std::initializer_list<int32_t> numbers) : Targets(std::vector<int32_t>(numbers)) {}
  /// Numbers that are kept elsewhere, and all fit into 32 bits.
  static Targets at(llvm::ArrayRef<int32_t> numbers) { return Targets(numbers.data(), nullptr, numbers.size()); }
  static Targets at(llvm::ArrayRef<int64_t> numbers) { return Targets(nullptr, numbers.data(), numbers.size()); }

  size_t size() const { return count; }
  int32_t operator[](size_t element) const { return wide ? int32_t(wide[element]) : narrow[element]; }
  Targets slice(size_t begin, size_t size) const {
    Targets part = *this;
    part.narrow = narrow ? narrow + begin : nullptr;
    part.wide = wide ? wide + begin : nullptr;
    part.count = size;
    return part;
  }
  /// As they lie in memory.
  llvm::ArrayRef<uint8_t> bytes() const {
    const void *data = wide ? static_cast<const void *>(wide) : narrow;
    return {static_cast<const uint8_t *>(data), count * (wide ? sizeof(int64_t) : sizeof(int32_t))};
  }

  class Iterator : public llvm::iterator_facade_base<Iterator, std::random_access_iterator_tag, int32_t, ptrdiff_t,
                                                     const int32_t *, int32_t> {
  public:
    Iterator(const Targets *of, size_t at) : of(of), at(at) {}
    int32_t operator*() const { return (*of)[at]; }
    Iterator &operator+=(ptrdiff_t steps) {
      at += size_t(steps);
      return *this;
    }
    Iterator &operator-=(ptrdiff_t steps) { return *this += -steps; }
    ptrdiff_t operator-(const Iterator &other) const { return ptrdiff_t(at) - ptrdiff_t(other.at); }
    bool operator==(const Iterator &other) const { return at == other.at; }
    bool operator<(const Iterator &other) const { return at < other.at; }

  private:
    const Targets *of;
    size_t at;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, count}; }

private:
  Targets(const int32_t *narrow, const int64_t *wide, size_t count) : narrow(narrow), wide(wide), count(count) {}

  std::shared_ptr<const std::vector<int32_t>> kept;
  const int32_t *narrow = nullptr;
  const int64_t *wide = nullptr;
  size_t count = 0;
};

} // namespace gnnc

#endif // GNNC_GRAPHS_TARGETS_H
