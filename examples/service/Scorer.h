//===- Scorer.h - A bounded queue and its workers ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SERVICE_SCORER_H
#define SERVICE_SCORER_H

#include "Body.h"
#include "Message.h"
#include "Model.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace service {

/// Scores requests' graphs on a fixed number of threads. Each has its own context, graph and workspace, so that they
/// share nothing but the queue.
class Scorer {
public:
  /// Throws if the model is not one that the service can serve, or a thread does not start.
  Scorer(const std::string &path, unsigned workers, size_t capacity);
  /// Answers what is queued, and stops.
  ~Scorer();

  /// Answers at once with a refusal if `capacity` requests wait already.
  void submit(Request request, Reply reply);
  size_t queued() const;

  std::string name;     ///< of the model
  int64_t features = 0; ///< numbers of a node that the model wants

private:
  struct Job {
    Request request;
    Reply reply;
    Response lastResort; ///< made while there was memory
  };
  void describe();
  void stop();
  void work(Runner &runner);
  /// Tries until it succeeds.
  static void send(const Reply &reply, Response response);
  Response answer(Runner &runner, const Request &request) const;

  Model model;
  size_t capacity;
  mutable std::mutex mutex;
  std::condition_variable filled;
  std::deque<Job> queue;
  bool stopping = false;
  std::deque<Runner> runners;
  std::vector<std::thread> threads;
};

} // namespace service

#endif // SERVICE_SCORER_H
