//===- Runner.h - Runs a model on graphs ------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_RUNNER_H
#define GNNC_HOSTS_TRITON_RUNNER_H

#include "Graph.h"
#include "Library.h"

namespace gnnc::triton {

/// Memory for runs of one context, kept from one to the next. For one thread at a time. Functions throw
/// std::runtime_error with one line.
class Runner {
public:
  Runner(const Signature &signature, const Context &context)
      : signature(signature), context(context), deviceInputs(context), outputs(context), workspace(context) {}

  struct Result {
    int64_t rows = 1; ///< elements of the output's space
    const char *data = nullptr;
    size_t bytes = 0;
  };
  /// Runs `forward`. `wanted`: of each output, whether it is. Results are in memory of the host, in the order of the
  /// outputs, until the next run.
  const std::vector<Result> &run(const Graph &graph, const std::vector<bool> &wanted);

private:
  struct Prepared;
  void start(const Graph &graph, const std::vector<bool> &wanted, Prepared &prepared);

  const Signature &signature;
  const Context &context;
  Memory deviceInputs, outputs, workspace;
  std::vector<char> hostOutputs; ///< of a device
  std::vector<Result> results;
};

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_RUNNER_H
