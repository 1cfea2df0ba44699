//===- Source.h - What a graph's data are computed from ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An exported model's description says how extents, maps and some inputs follow from the tensors of a request:
// `size(x, 0)`, `edge_index[0]`, `add(max(batch), 1)`. docs/Language.md has the list of functions. Functions throw
// std::runtime_error with one line.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_SOURCE_H
#define GNNC_HOSTS_TRITON_SOURCE_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gnnc::triton {

/// A parsed source.
struct Source {
  enum class Kind { Number, List, Tensor, Call };
  Kind kind = Kind::Number;
  std::vector<int64_t> numbers; ///< of a number or list; of a tensor, the rows that are taken: x[1][0]
  std::string name;             ///< of a tensor or function
  std::vector<Source> parts;    ///< arguments of a function
  std::string text;             ///< as it was written
};

Source parseSource(const std::string &text);

/// How sources read a tensor.
struct Reading {
  bool numbers = false; ///< not only its size
  size_t axes = 0;      ///< that it has at least
  int64_t rows = 0;     ///< of the first axis, that it has at least
};
void addReadings(const Source &source, std::map<std::string, Reading> &readings);

/// One integer, or a list of them.
struct Integers {
  bool isList = false;
  std::vector<int64_t> numbers;
};

/// A tensor that sources may name. `numbers` is called if they are read, once.
struct SourceTensor {
  std::vector<int64_t> shape;
  std::function<std::vector<int64_t>()> numbers;
};

/// Evaluates sources over the tensors of one graph; equal parts once.
class SourceValues {
public:
  /// Null for what was not given.
  using Find = std::function<const SourceTensor *(const std::string &name)>;
  explicit SourceValues(Find find) : find(std::move(find)) {}
  const Integers &evaluate(const Source &source);

private:
  Integers compute(const Source &source);
  Integers tensor(const Source &source);
  Integers call(const Source &source);
  const std::vector<int64_t> &contents(const std::string &name, const SourceTensor &tensor);
  const SourceTensor &named(const std::string &name);

  Find find;
  std::map<std::string, Integers> known;
  std::map<std::string, std::vector<int64_t>> read;
};

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_SOURCE_H
