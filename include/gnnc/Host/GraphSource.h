//===- GraphSource.h - What a graph's data are computed from ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model may say how extents, maps and masks follow from the integer tensors that it is given: `size(x, 0)`,
// `edge_index[0]`, `nonzero(eq(edge_type, 2))`. This evaluates such texts. docs/Language.md has the list of functions.
// Integers have 64 bits and wrap; sizes, positions and lengths are checked.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_GRAPHSOURCE_H
#define GNNC_HOST_GRAPHSOURCE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gnnc {

/// A tensor that sources may name: its shape, and, if it has integers (or truth values), all of them, row-major.
struct SourceTensor {
  std::vector<int64_t> shape;
  std::function<llvm::Expected<std::vector<int64_t>>()> read;
};

/// One integer, or a list of them.
struct Integers {
  bool isList = false;
  std::vector<int64_t> numbers; ///< one, if this is no list
};

/// Evaluates sources over one graph. Equal parts of different sources are computed once.
class GraphSources {
public:
  /// `find` returns nothing for a name that the graph does not have.
  using Find = std::function<std::optional<SourceTensor>(llvm::StringRef name)>;
  explicit GraphSources(Find find) : find(std::move(find)) {}

  /// The error names what is missing or wrong, and the function it is wrong for.
  llvm::Expected<std::shared_ptr<const Integers>> evaluate(llvm::StringRef source);

  /// No list may be longer.
  static constexpr int64_t maxLength = int64_t(1) << 31;

private:
  friend class SourceParser;
  Find find;
  std::map<std::string, std::shared_ptr<const Integers>> known;
};

} // namespace gnnc

#endif // GNNC_HOST_GRAPHSOURCE_H
