//===- RefTensor.h - Values of the reference evaluation ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The value types of EvaluateOpInterface: a tensor in double precision, and a graph with all its maps written out.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_REFTENSOR_H
#define GNNC_SUPPORT_REFTENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cassert>
#include <cstdint>
#include <vector>

namespace gnnc {

/// Rows of feature axes in double precision, row-major. A shared tensor has one row, which is combined with every row
/// of other tensors.
struct RefTensor {
  bool shared = true;
  int64_t rows = 1;
  llvm::SmallVector<int64_t> dims;
  std::vector<double> data;

  RefTensor() = default;
  RefTensor(bool shared, int64_t rows, llvm::ArrayRef<int64_t> dims, double fill = 0)
      : shared(shared), rows(rows), dims(dims.begin(), dims.end()), data(size_t(rows * product(dims)), fill) {}

  static int64_t product(llvm::ArrayRef<int64_t> dims) {
    int64_t n = 1;
    for (int64_t d : dims)
      n *= d;
    return n;
  }
  /// Numbers in one row.
  int64_t width() const { return product(dims); }
  /// The row that is combined with row `i` of another tensor.
  const double *row(int64_t i) const { return data.data() + (shared ? 0 : i) * width(); }
  double *row(int64_t i) { return data.data() + (shared ? 0 : i) * width(); }
};

/// A map written out: target[i] for each element i of its domain, -1 where undefined.
struct RefMap {
  std::string from, to;
  std::vector<int64_t> target;
};

/// How ranks that each evaluate the same program on a part of a graph meet.
class RefCollectives {
public:
  virtual ~RefCollectives() = default;
  virtual int rank() const = 0;
  /// What each rank gives, by rank. All ranks call it equally often, in the same order; where one has stopped, the
  /// others get nothing.
  virtual std::vector<std::vector<double>> gather(std::vector<double> own) = 0;
};

/// A graph as the reference evaluation sees it: every space and map that a model uses, including derived ones.
struct GraphData {
  llvm::StringMap<int64_t> extents;
  llvm::StringMap<RefMap> maps;
  /// Of spaces whose elements are sent to other ranks, or come from there: how many, by rank.
  llvm::StringMap<std::vector<int64_t>> counts;
  RefCollectives *collectives = nullptr; ///< null: one rank alone

  int64_t extent(llvm::StringRef space) const {
    auto it = extents.find(space);
    assert(it != extents.end() && "space was not materialised");
    return it->second;
  }
  const RefMap &map(llvm::StringRef name) const {
    auto it = maps.find(name);
    assert(it != maps.end() && "map was not materialised");
    return it->second;
  }
};

} // namespace gnnc

#endif // GNNC_SUPPORT_REFTENSOR_H
