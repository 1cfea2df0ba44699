//===- GraphPart.h - What a graph file is a part of -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file that `gnnc partition` wrote says which rank's part it is, whose elements its halos are, and what its own
// elements are called in the whole graph. Any other file is the only part of its graph.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_GRAPHPART_H
#define GNNC_HOST_GRAPHPART_H

#include "gnnc-c/gnnc.h"
#include "gnnc/Host/ModelInfo.h"

#include <deque>

namespace gnnc {

class GraphPart {
public:
  static llvm::Expected<GraphPart> read(const SafetensorsFile &file);

  int rank() const { return number; }
  int parts() const { return count; }
  /// Equal in all parts of one partition.
  llvm::StringRef partition() const { return digest; }
  /// Whether a partition divides the elements of a space.
  bool isDivided(llvm::StringRef space) const { return file->find((space + ".global").str()) != nullptr; }
  /// Elements in the whole graph; nothing if the file is no part, or does not say.
  std::optional<int64_t> wholeExtent(llvm::StringRef space) const;
  /// The numbers of the part's own elements in the whole graph: each once, rising.
  llvm::Expected<std::vector<int64_t>> globalNumbers(llvm::StringRef space) const;
  /// The part's own elements that others read, by rank.
  llvm::Expected<std::vector<int64_t>> sentNumbers(llvm::StringRef space, int64_t own) const;

  /// That this is a part for the model: cut along the maps that it was compiled for.
  llvm::Error check(const ModelInfo &model) const;
  /// Of all spaces that the model exchanges rows of. Valid as long as this object and `model`.
  llvm::Expected<std::vector<gnnc_row_counts>> rowCounts(const ModelInfo &model);

private:
  explicit GraphPart(const SafetensorsFile &file) : file(&file) {}
  llvm::Expected<int64_t> integer(llvm::StringRef key, int64_t least, int64_t most) const;
  llvm::Error wrong(const llvm::Twine &what) const;

  const SafetensorsFile *file;
  int number = 0, count = 1;
  std::string digest;
  std::deque<std::vector<int64_t>> kept;
};

} // namespace gnnc

#endif // GNNC_HOST_GRAPHPART_H
