//===- Body.h - Graphs and scores as bytes ----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A request's body is a safetensors file with x [nodes, features] in F32 and edge_index [2, edges] in I32 or I64; or
// the same as JSON. The response has a tensor score [nodes], in the request's format.
//
//===----------------------------------------------------------------------===//

#ifndef SERVICE_BODY_H
#define SERVICE_BODY_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace service {

/// What is wrong with a client's request, in one line.
class BadRequest : public std::runtime_error {
  using runtime_error::runtime_error;
};

struct Graph {
  int64_t nodes = 0;
  std::vector<float> x; ///< [nodes, features]
  std::vector<int32_t> src, dst;
};

enum class Format { Safetensors, Json };

/// Throws BadRequest. Every index is that of a node, and every feature finite.
Graph readGraph(const std::string &body, Format format, int64_t features);
std::string writeScores(const std::vector<float> &scores, Format format);

} // namespace service

#endif // SERVICE_BODY_H
