//===- Prepare.h - Preparing a graph on a GPU -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Topology, Indices and Worklist do on the host, done on the device by the kernels of
// lib/Target/CUDA/Kernels/Prepare.cuh: the same numbers in the same order. Pointers to int32_t are then addresses of
// the device; null still stands for the identity.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CUDA_PREPARE_H
#define GNNC_RUNTIME_CUDA_PREPARE_H

#include "../Indices.h"
#include "Device.h"

namespace gnnc::runtime::cuda {

/// What kernels find out about a map (Prepare.cuh).
struct Findings {
  uint64_t firstWrong; ///< ~0: none
  uint64_t undefined, notInOrder, sum;
  bool isWrong() const { return firstWrong != ~uint64_t(0); }
};

constexpr int64_t kMostFindings = 64;

/// All that is at hand, fetched together.
struct AllFindings {
  const Findings *from; ///< on the device
  Findings list[kMostFindings];
  const Findings &of(const Findings *place) const { return list[place - from]; }
};

/// Works on the device's stream for preparing, and waits only for what the host must know. After a failure all calls do
/// nothing; `status` says that there was one.
class GraphBuilder {
public:
  /// `lists`: for notes on the host.
  GraphBuilder(const Device &device, Memory &lists, gnnc_error *error) : device(device), lists(lists), error(error) {}
  /// Frees all arrays but those that were kept.
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder &) = delete;
  GraphBuilder &operator=(const GraphBuilder &) = delete;

  /// Before anything else.
  gnnc_status start();
  gnnc_status status = GNNC_OK;

  // Arrays; null after a failure.
  void *allocate(int64_t bytes);
  int32_t *array(int64_t count) { return static_cast<int32_t *>(allocate(count * 4)); }
  void release(const void *memory);
  /// Hands over one array, with its bytes (0: it was handed over before, or is not of this builder).
  int64_t keep(const void *memory);

  // Root maps.
  /// `place`: where what is found will be.
  const int32_t *readEach(const gnnc_index &index, int64_t least, int64_t extent, Findings *&place);
  /// Row pointers; `targets` becomes the row of each of `count` elements where nothing was wrong.
  const int32_t *readRows(const gnnc_index &index, int64_t count, const int32_t *&targets, Findings &found);
  /// One number of the caller's data.
  int64_t element(const gnnc_index &index, int64_t number);

  // Derived ones.
  const int32_t *filter(const int32_t *left, const int32_t *right, bool equal, int64_t base, int64_t &count);
  /// Tuples of `numMaps` components of `base` elements; `codomains`: their extents.
  void distinct(const int32_t *const *components, const int64_t *codomains, int64_t numMaps, int64_t base,
                int64_t &count, const int32_t *&classes, const int32_t *&first);
  int32_t *iota(int32_t *numbers, int64_t count);
  void fill(void *words, int64_t count, uint32_t word);
  void fill64(void *words, int64_t count, int64_t word);
  void copy(int32_t *to, const int32_t *from, int64_t count);
  int32_t *compose(const int32_t *inner, const int32_t *outer, int64_t count, int32_t *results = nullptr);
  const int32_t *last(const int32_t *map, int64_t count, int64_t extent);

  // Groupings.
  Findings examine(const int32_t *targets, int64_t count);
  Findings *examineLater(const int32_t *targets, int64_t count);
  /// The next kMostFindings places stay good together.
  void startFindings();
  AllFindings readAll();
  void group(const int32_t *targets, int64_t elements, int64_t owners, bool inOrder, int64_t undefined,
             Grouping &result);
  /// As Indices::share.
  void share(const int32_t **arrays, const int64_t *lengths, int64_t count);
  /// Those of several maps, which are waited for together.
  void worklists(const Grouping *const *groupings, int64_t count, DeviceWorklist *const *results);

  gnnc_status wait();

private:
  enum Kernel : int;
  struct Block {
    const void *memory;
    int64_t bytes;
  };
  template <typename... Words> void launch(Kernel kernel, int64_t blocks, Words... words);
  void launchWords(Kernel kernel, int64_t blocks, int64_t *words, int64_t count);
  template <typename... Words> void each(Kernel kernel, int64_t count, Words... words);
  /// Sorts by keys up to `most`, stably; undefined ones count as `most`. Null `values`: the elements' numbers.
  void sort(const int32_t *keys, const int32_t *values, int64_t count, int64_t most, int32_t **sortedKeys,
            int32_t *&sortedValues);
  /// Sums before each number; `total` is fetched.
  int32_t *sumsBefore(const int32_t *numbers, int64_t count, int64_t &total);
  /// The same; the total is written to the device.
  int32_t *sumsBefore(const int32_t *numbers, int64_t count, int32_t *total);
  void fetch(void *to, const void *from, int64_t bytes);
  const void *uploaded(const gnnc_index &index, int64_t width);
  Findings *newFindings();
  Findings read(Findings *found);

  const Device &device;
  Memory &lists;
  gnnc_error *error;
  Block *blocks = nullptr;
  int64_t numBlocks = 0, capacity = 0;
  Findings *findings = nullptr;
  int64_t numFindings = 0;
};

} // namespace gnnc::runtime::cuda

#endif // GNNC_RUNTIME_CUDA_PREPARE_H
