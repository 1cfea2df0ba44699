//===- Request.h - One request and its response -----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_REQUEST_H
#define GNNC_HOSTS_TRITON_REQUEST_H

#include "Graph.h"
#include "Library.h"
#include "Server.h"

#include <map>
#include <string>
#include <vector>

namespace gnnc::triton {

/// A request, the graphs in it, and its response. What is wrong with it is kept until the response is sent.
class Request {
public:
  /// Throws if there is no memory for a response. One that was not sent is deleted at the end.
  Request(TRITONBACKEND_Request *request, const Signature &signature, const Context &context);
  ~Request();
  Request(const Request &) = delete;
  Request &operator=(const Request &) = delete;

  /// `isBatched`: shapes begin with a number of graphs.
  void read(const GraphReader &reader, bool isBatched);
  const std::vector<Graph> &graphs() const { return parts; }
  /// Of each output, whether it is.
  const std::vector<bool> &wanted() const { return wantedOutputs; }

  /// Rows of an output, of one graph. Graphs may come in any order; what comes twice replaces what was there.
  void add(size_t output, size_t graph, int64_t rows, const char *data, size_t bytes);
  /// The first failure is the one that is reported.
  void fail(TRITONSERVER_Error_Code code, const std::string &message) noexcept;
  /// By an exception: one that means no memory has a code of its own.
  void fail(const std::exception &error, TRITONSERVER_Error_Code code = TRITONSERVER_ERROR_INTERNAL) noexcept;
  bool hasFailed() const { return failed; }

  /// Sends the response; the request is the server's again after `release`.
  void respond() noexcept;
  void release() noexcept;
  TRITONBACKEND_Request *get() const { return request; }

private:
  /// What a graph has of an output.
  struct Part {
    int64_t rows = -1; ///< -1: nothing yet
    std::vector<char> data;
  };
  void readInputs();
  Tensor readInput(uint32_t number, std::string &name);
  /// Whether the graphs' rows make one tensor; fails if they do not.
  bool fitTogether(size_t output);
  void writeOutput(size_t output);

  TRITONBACKEND_Request *request;
  TRITONBACKEND_Response *response = nullptr;
  const Signature &signature;
  const Context &context;
  bool batched = false;
  std::map<std::string, Tensor> tensors;
  std::vector<std::vector<char>> copies; ///< of tensors that are in pieces or on a device
  std::vector<Graph> parts;
  std::vector<bool> wantedOutputs;
  std::vector<std::vector<Part>> outputs; ///< of each, its graphs in their order
  bool failed = false;
  std::string failure; ///< empty: there was no memory for the message
  TRITONSERVER_Error_Code failureCode = TRITONSERVER_ERROR_INVALID_ARG;
};

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_REQUEST_H
