//===- Model.h - A served model and its instances ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_MODEL_H
#define GNNC_HOSTS_TRITON_MODEL_H

#include "Runner.h"
#include "Server.h"

#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gnnc::triton {

/// One version of a model in the repository. Functions throw std::runtime_error with one line.
class Model {
public:
  explicit Model(TRITONBACKEND_Model *model);

  const std::string &name() const { return called; }
  const Library &library() const { return *loaded; }
  const Signature &signature() const { return *described; }
  const GraphReader &reader() const { return *graphs; }
  int threads() const { return threadCount; }
  /// Whether shapes begin with a number of graphs.
  bool isBatched() const { return batched; }
  /// Whether graphs may be one call. Finds out on the first call, with this runner.
  bool joins(Runner &runner);

private:
  void readConfig(const nlohmann::json &config);
  void readParameters(const nlohmann::json &config);
  void checkTensors(const nlohmann::json &config) const;

  std::string called;
  std::unique_ptr<Library> loaded;
  std::unique_ptr<Signature> described;
  std::unique_ptr<GraphReader> graphs;
  int threadCount = 1;
  bool batched = false, mayJoin = true;
  std::once_flag tried;
};

/// One instance of a model, on one device. The server calls it from one thread at a time.
class Instance {
public:
  Instance(Model &model, TRITONBACKEND_ModelInstance *instance);
  /// Answers requests, and gives them back. Throws only before it has taken any: all of them are the server's then.
  void execute(TRITONBACKEND_Request **requests, uint32_t count);

private:
  struct Batch;

  Model &model;
  TRITONBACKEND_ModelInstance *instance;
  std::unique_ptr<Context> context;
  std::unique_ptr<Runner> runner;
  bool joins = false;
};

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_MODEL_H
