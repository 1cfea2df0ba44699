//===- Graph.h - One graph, and several as one ------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensors of a request become extents, maps and inputs of a model, checked, so that what is wrong with one request
// is found before it is joined with others. Functions throw std::runtime_error with one line.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_GRAPH_H
#define GNNC_HOSTS_TRITON_GRAPH_H

#include "Signature.h"
#include "Source.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gnnc::triton {

/// A dense tensor of a request, in memory of the host.
struct Tensor {
  std::string dtype; ///< also i32, i64
  std::vector<int64_t> shape;
  const char *data = nullptr;

  int64_t numbers() const;
};

/// `width` times all sizes. Throws, saying of what, if a size is negative, and if the product of those that are not 0
/// is above 2^63 - 1: that of some of them is below it, too, then.
uint64_t productOf(const std::vector<int64_t> &shape, uint64_t width, const std::string &what);

/// What a model is given, in the order of its signature.
struct Graph {
  Graph() = default;
  Graph(Graph &&) = default;
  Graph &operator=(Graph &&) = default;

  struct Values {
    bool isGiven = false;
    const char *data = nullptr; ///< of a request's tensor, or of `own`
    size_t bytes = 0;
    std::vector<char> own;
  };
  std::vector<int64_t> extents;           ///< of spaces()
  std::vector<std::vector<int32_t>> maps; ///< of maps()
  std::vector<Values> inputs;             ///< of inputs()
};

/// Makes graphs of requests.
class GraphReader {
public:
  explicit GraphReader(const Signature &signature);
  /// `tensors` must live as long as the graph.
  Graph read(const std::map<std::string, Tensor> &tensors) const;

private:
  struct Reading;
  const Signature &signature;
  std::vector<Source> spaces, maps, inputs; ///< of an exported model
  std::map<std::string, SourceTensor> own;
};

/// Whether two graphs can be in one call, where those of the model can: inputs that all elements share are the same.
bool agree(const Signature &signature, const Graph &a, const Graph &b);

/// The graph that has all of these, one behind the other. Throws if it has too many elements.
Graph join(const Signature &signature, const std::vector<const Graph *> &graphs);

/// The most elements that a space of one call may have.
constexpr int64_t kMostElements = (int64_t(1) << 31) - 2;

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_GRAPH_H
