//===- Exchanges.cpp - Exchanges that go on meanwhile ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exchanges.h"
#include "Context.h"
#include <signal.h>
#include <string.h>

namespace gnnc::runtime {

using namespace table;

namespace {

class Locked {
public:
  explicit Locked(pthread_mutex_t &mutex) : mutex(mutex) { pthread_mutex_lock(&mutex); }
  ~Locked() { pthread_mutex_unlock(&mutex); }
  Locked(const Locked &) = delete;
  Locked &operator=(const Locked &) = delete;

private:
  pthread_mutex_t &mutex;
};

} // namespace

/// Rows of a transfer go to other ranks, theirs come; returns when that is done.
static gnnc_status exchangeRows(const Call &call, const StepRec &step, gnnc_error &found) {
  const Ranks &ranks = call.graph.ranks;
  const Model &model = call.graph.model;
  const int64_t *buffers = model.list(step.buffersAt);
  const BufferRec &own = model.buffer(buffers[0]), &other = model.buffer(buffers[1]);
  return ranks.with.exchange(ranks.with.user, call.pointer(buffers[0]), ranks.counts[own.space],
                             call.pointer(buffers[1]), ranks.counts[other.space], own.rowElements * (own.dtypeBits / 8),
                             nullptr, &found);
}

gnnc_status runCollective(gnnc_context &context, const Call &call, const StepRec &step, void *const *partials) {
  const Ranks &ranks = call.graph.ranks;
  const int64_t *buffers = call.graph.model.list(step.buffersAt);
  const PreparedBuffer &size = call.graph.buffers[buffers[1]];
  const void *from = call.pointer(buffers[0]);
  void *to = call.pointer(buffers[1]);
  if (ranks.size == 1) {
    if (size.bytes > 0 && step.kind != StepKind::Await)
      memmove(to, from, size.bytes);
    return GNNC_OK;
  }
  if (step.kind == StepKind::Await)
    return ranks.exchanges->await(call, step);
  if (step.kind == StepKind::Start) {
    ranks.exchanges->start(call, step);
    return GNNC_OK;
  }
  // One after the other, on all ranks in the same order.
  if (gnnc_status status = ranks.exchanges ? ranks.exchanges->finish(call) : GNNC_OK)
    return status;
  gnnc_error found = {};
  if (step.kind == StepKind::Transfer)
    return exchangeRows(call, step, found) ? collectiveFailed(call, step, found) : GNNC_OK;
  if (ranks.with.gather(ranks.with.user, from, partials[0], size.bytes, nullptr, &found))
    return collectiveFailed(call, step, found);
  mergeStep(context, call, step, ranks.size, partials);
  return GNNC_OK;
}

Exchanges::~Exchanges() {
  {
    Locked lock(mutex);
    ends = true;
    pthread_cond_broadcast(&changed);
  }
  if (isStarted)
    pthread_join(thread, nullptr);
}

void *Exchanges::threadEntry(void *exchanges) {
  static_cast<Exchanges *>(exchanges)->work();
  return nullptr;
}

void Exchanges::work() {
  Locked lock(mutex);
  for (;;) {
    while (over == begun && !ends)
      pthread_cond_wait(&changed, &mutex);
    if (over == begun)
      return;
    run(jobs[over % kMost]);
  }
}

/// The oldest job. The lock is given up meanwhile.
void Exchanges::run(const Job &job) {
  if (!failed) {
    Job own = job;
    gnnc_error found = {};
    pthread_mutex_unlock(&mutex);
    gnnc_status status = exchangeRows(*own.call, *own.step, found);
    pthread_mutex_lock(&mutex);
    if (status) {
      failed = own.step;
      failure = found;
    }
  }
  ++over;
  pthread_cond_broadcast(&changed);
}

bool Exchanges::hasThread() {
  if (isStarted)
    return true;
  // Signals are the program's business.
  sigset_t all, saved;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  isStarted = pthread_create(&thread, nullptr, threadEntry, this) == 0;
  pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  return isStarted;
}

void Exchanges::start(const Call &call, const StepRec &step) {
  Locked lock(mutex);
  while (begun - over == kMost)
    pthread_cond_wait(&changed, &mutex);
  jobs[begun % kMost] = {&call, &step};
  ++begun;
  if (!hasThread())
    run(jobs[over % kMost]);
  pthread_cond_broadcast(&changed);
}

gnnc_status Exchanges::waitFor(int64_t number, const Call &call) {
  while (over < number)
    pthread_cond_wait(&changed, &mutex);
  if (!failed)
    return GNNC_OK;
  return collectiveFailed(call, *failed, failure);
}

gnnc_status Exchanges::await(const Call &call, const StepRec &step) {
  Locked lock(mutex);
  const Model &model = call.graph.model;
  int64_t number = begun;
  auto isOf = [&](const Job &job) { return model.list(job.step->buffersAt)[1] == model.list(step.buffersAt)[1]; };
  while (number > over && !isOf(jobs[(number - 1) % kMost]))
    --number;
  return waitFor(number, call);
}

gnnc_status Exchanges::finish(const Call &call) {
  Locked lock(mutex);
  gnnc_status status = waitFor(begun, call);
  failed = nullptr;
  return status;
}

} // namespace gnnc::runtime
