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

#include <string>
#include <vector>

namespace gnnc::triton {

/// A request, the graphs in it, and its response. What is wrong with it is kept until the response is sent.
class Request {
public:
  Request(TRITONBACKEND_Request *request, const Signature &signature, const Context &context);
  Request(const Request &) = delete;
  Request &operator=(const Request &) = delete;

  /// `isBatched`: shapes begin with a number of graphs.
  void read(const GraphReader &reader, bool isBatched);
  const std::vector<Graph> &graphs() const { return parts; }
  /// Of each output, whether it is.
  const std::vector<bool> &wanted() const { return wantedOutputs; }

  /// Rows of an output, of the next graph.
  void add(size_t output, int64_t rows, const char *data, size_t bytes);
  void fail(TRITONSERVER_Error_Code code, const std::string &message);
  bool hasFailed() const { return !failure.empty(); }

  /// Sends the response; the request is the server's again after `release`.
  void respond();
  void release();
  TRITONBACKEND_Request *get() const { return request; }

private:
  struct Output {
    int64_t rows = -1;
    size_t graphs = 0;
    std::vector<char> data;
  };
  void readInputs();
  Tensor readInput(uint32_t number, std::string &name);
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
  std::vector<Output> outputs;
  std::string failure;
  TRITONSERVER_Error_Code failureCode = TRITONSERVER_ERROR_INVALID_ARG;
};

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_REQUEST_H
