//===- Exchanges.h - Exchanges that go on meanwhile -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that move rows between hosts return when they have done so. While other steps are to run, a thread of
// the graph's own calls them, in the order of the program, which is the same on all ranks. Whoever else wants to call
// one of the host's functions waits until this thread has nothing to do: no two calls are under way at once.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_EXCHANGES_H
#define GNNC_RUNTIME_EXCHANGES_H

#include "Memory.h"
#include "Model.h"
#include "Parts.h"
#include <pthread.h>

struct gnnc_context;

namespace gnnc::runtime {

struct Call;

/// Runs a collective step on a CPU: rows to and from other ranks, or values of all ranks like a block's each.
GNNC_OF_PART gnnc_status runCollective(gnnc_context &context, const Call &call, const table::StepRec &step,
                                       void *const *partials);

class Exchanges {
public:
  Exchanges() = default;
  GNNC_OF_PART ~Exchanges();
  Exchanges(const Exchanges &) = delete;
  Exchanges &operator=(const Exchanges &) = delete;

  /// Begins a transfer. If there can be no thread, it is over when this returns.
  GNNC_OF_PART void start(const Call &call, const table::StepRec &step);
  /// Waits until the transfer with an await's buffers is over.
  GNNC_OF_PART gnnc_status await(const Call &call, const table::StepRec &step);
  /// Waits until all are over, as whoever gives up a run has to, too. What failed is told once.
  GNNC_OF_PART gnnc_status finish(const Call &call);

private:
  struct Job {
    const Call *call;
    const table::StepRec *step;
  };
  static constexpr int64_t kMost = 16; ///< under way at once; another one waits for the oldest

  static void *threadEntry(void *exchanges);
  void work();
  void run(const Job &job);
  bool hasThread();
  gnnc_status waitFor(int64_t number, const Call &call);

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; ///< of all below
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  Job jobs[kMost] = {};
  int64_t begun = 0, over = 0;            ///< counted since the graph was prepared
  const table::StepRec *failed = nullptr; ///< the first of a run that did; what comes after it is not tried
  gnnc_error failure = {};
  bool isStarted = false, ends = false;
  pthread_t thread = {};
};

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_EXCHANGES_H
