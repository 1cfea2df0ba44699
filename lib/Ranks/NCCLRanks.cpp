//===- NCCLRanks.cpp - Collectives over NCCL ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL's kernels wait on the device for those of other ranks, for ever if one is gone. So a thread looks at the oldest
// collective that is not done, and aborts the communicator when it has waited for too long.
//
//===----------------------------------------------------------------------===//

#include "NCCLLibrary.h"
#include "gnnc-c/gnnc_nccl.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace gnnc::nccl;

namespace {

using Clock = std::chrono::steady_clock;

gnnc_status fail(gnnc_error *error, gnnc_status status, const std::string &message) {
  if (error) {
    error->status = status;
    std::snprintf(error->message, sizeof error->message, "%s", message.c_str());
  }
  return status;
}

/// What was started and is not known to be done.
struct Pending {
  Handle event = nullptr; ///< null: it is being started
  std::string name;
  Clock::time_point since;
};

} // namespace

struct gnnc_nccl {
  Library library;
  Comm communicator = nullptr;
  Handle context = nullptr;
  int device = 0;
  double timeout = 0;
  gnnc_collectives collectives = {}, hosts = {};

  std::mutex mutex; ///< of all below
  std::condition_variable changed;
  std::deque<Pending> pending;
  std::vector<Handle> freeEvents;
  std::string broken; ///< why the communicator was aborted
  int64_t number = 0; ///< of the last collective
  bool ends = false;
  std::thread watchdog;

  void watch();
  void abort(std::unique_lock<std::mutex> &lock, const std::string &why);
  template <typename Start> gnnc_status call(const char *name, Handle stream, gnnc_error *error, Start start);
};

/// The lock is given up meanwhile: NCCL waits for what it stops.
void gnnc_nccl::abort(std::unique_lock<std::mutex> &lock, const std::string &why) {
  broken = why;
  lock.unlock();
  library.commAbort(communicator);
  lock.lock();
}

void gnnc_nccl::watch() {
  library.pushContext(context);
  std::unique_lock<std::mutex> lock(mutex);
  while (!ends) {
    changed.wait_for(lock, std::chrono::milliseconds(pending.empty() ? 1000 : 10));
    while (!pending.empty() && pending.front().event && library.eventQuery(pending.front().event) == 0) {
      freeEvents.push_back(pending.front().event);
      pending.pop_front();
    }
    if (!broken.empty() || pending.empty())
      continue;
    const Pending &oldest = pending.front();
    int code = 0;
    if (library.commGetAsyncError(communicator, &code) == 0 && code != 0 && code != kInProgress)
      abort(lock, oldest.name + ": " + library.getErrorString(code));
    else if (timeout > 0 && std::chrono::duration<double>(Clock::now() - oldest.since).count() > timeout)
      abort(lock, oldest.name + ": waited " + std::to_string(int(timeout)) + " s for the other ranks");
  }
  Handle popped;
  library.popContext(&popped);
}

template <typename Start> gnnc_status gnnc_nccl::call(const char *name, Handle stream, gnnc_error *error, Start start) {
  int captured = 0;
  bool isWatched = library.streamIsCapturing(stream, &captured) == 0 && !captured;
  Handle event = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!broken.empty())
      return fail(error, GNNC_COLLECTIVE_ERROR, broken);
    if (!freeEvents.empty()) {
      event = freeEvents.back();
      freeEvents.pop_back();
    }
    ++number;
    if (isWatched)
      pending.push_back({nullptr, std::string(name) + " (collective " + std::to_string(number) + ")", Clock::now()});
  }
  constexpr unsigned kNoTiming = 2; // CU_EVENT_DISABLE_TIMING
  int driverCode = event ? 0 : library.eventCreate(&event, kNoTiming);
  int code = driverCode ? 0 : start();
  if (!code && !driverCode && isWatched)
    driverCode = library.eventRecord(event, stream);
  std::lock_guard<std::mutex> lock(mutex);
  if (code || driverCode || !isWatched) {
    if (isWatched)
      pending.pop_back();
    if (event)
      freeEvents.push_back(event);
  } else {
    pending.back().event = event;
    changed.notify_one();
  }
  if (!broken.empty())
    return fail(error, GNNC_COLLECTIVE_ERROR, broken);
  if (code)
    return fail(error, GNNC_COLLECTIVE_ERROR, std::string(name) + ": " + library.getErrorString(code));
  return driverCode ? fail(error, GNNC_DEVICE_ERROR, std::string(name) + ": the driver cannot record an event")
                    : GNNC_OK;
}

static gnnc_status exchange(void *user, const void *send, const int64_t *sendCounts, void *receive,
                            const int64_t *receiveCounts, int64_t rowBytes, void *stream, gnnc_error *error) {
  gnnc_nccl &self = *static_cast<gnnc_nccl *>(user);
  return self.call("exchange", stream, error, [&] {
    const Library &library = self.library;
    const char *from = static_cast<const char *>(send);
    char *to = static_cast<char *>(receive);
    int code = library.groupStart();
    for (int rank = 0; rank < self.collectives.size && !code; ++rank) {
      size_t sent = size_t(sendCounts[rank] * rowBytes), received = size_t(receiveCounts[rank] * rowBytes);
      if (sent > 0)
        code = library.send(from, sent, kBytes, rank, self.communicator, stream);
      if (received > 0 && !code)
        code = library.recv(to, received, kBytes, rank, self.communicator, stream);
      from += sent;
      to += received;
    }
    int ended = library.groupEnd();
    return code ? code : ended;
  });
}

static gnnc_status gather(void *user, const void *own, void *all, int64_t bytes, void *stream, gnnc_error *error) {
  gnnc_nccl &self = *static_cast<gnnc_nccl *>(user);
  return self.call("gather", stream, error,
                   [&] { return self.library.allGather(own, all, size_t(bytes), kBytes, self.communicator, stream); });
}

static gnnc_status gatherHost(void *user, const void *own, void *all, int64_t bytes, gnnc_error *error) {
  const gnnc_collectives &hosts = static_cast<gnnc_nccl *>(user)->hosts;
  return hosts.gather_host(hosts.user, own, all, bytes, error);
}

namespace {

/// What ranks tell each other before they have a communicator.
struct Greeting {
  int64_t failed;
  UniqueId id;
};

} // namespace

gnnc_status gnnc_nccl_open(const gnnc_collectives *hosts, int32_t device, double timeout, gnnc_nccl **result,
                           gnnc_error *error) {
  if (!result || !hosts)
    return fail(error, GNNC_INVALID_ARGUMENT,
                std::string("gnnc_nccl_open: ") + (result ? "hosts" : "nccl") + " is null");
  *result = nullptr;
  auto self = std::make_unique<gnnc_nccl>();
  self->hosts = *hosts;
  self->device = device;
  self->timeout = timeout;
  std::string failure = self->library.load();
  int number = 0;
  if (failure.empty() && (self->library.init(0) || self->library.deviceGet(&number, device) ||
                          self->library.retainContext(&self->context, number)))
    failure = "there is no CUDA device " + std::to_string(device);
  Greeting own = {};
  if (failure.empty() && hosts->rank == 0)
    if (int code = self->library.getUniqueId(&own.id))
      failure = std::string("ncclGetUniqueId: ") + self->library.getErrorString(code);
  own.failed = !failure.empty();
  std::vector<Greeting> all(size_t(hosts->size));
  if (gnnc_status status = hosts->gather_host(hosts->user, &own, all.data(), sizeof own, error))
    return status;
  for (int rank = 0; rank < hosts->size && failure.empty(); ++rank)
    if (all[size_t(rank)].failed)
      failure = "rank " + std::to_string(rank) + " has no NCCL or no device";
  if (!failure.empty()) {
    if (self->context)
      self->library.releaseContext(number);
    return fail(error, GNNC_UNSUPPORTED, failure);
  }
  self->library.pushContext(self->context);
  int code = self->library.commInitRank(&self->communicator, hosts->size, all[0].id, hosts->rank);
  Handle popped;
  self->library.popContext(&popped);
  if (code) {
    self->library.releaseContext(number);
    return fail(error, GNNC_COLLECTIVE_ERROR, std::string("ncclCommInitRank: ") + self->library.getErrorString(code));
  }
  self->collectives = {sizeof(gnnc_collectives), hosts->rank, hosts->size, 2, self.get(), exchange, gather, gatherHost};
  self->watchdog = std::thread([nccl = self.get()] { nccl->watch(); });
  *result = self.release();
  return GNNC_OK;
}

const gnnc_collectives *gnnc_nccl_collectives(const gnnc_nccl *nccl) { return &nccl->collectives; }

gnnc_status gnnc_nccl_check(gnnc_nccl *nccl, gnnc_error *error) {
  std::lock_guard<std::mutex> lock(nccl->mutex);
  return nccl->broken.empty() ? GNNC_OK : fail(error, GNNC_COLLECTIVE_ERROR, nccl->broken);
}

void gnnc_nccl_close(gnnc_nccl *nccl) {
  if (!nccl)
    return;
  {
    std::lock_guard<std::mutex> lock(nccl->mutex);
    nccl->ends = true;
    nccl->changed.notify_one();
  }
  nccl->watchdog.join();
  const Library &library = nccl->library;
  library.pushContext(nccl->context);
  if (nccl->broken.empty())
    library.commDestroy(nccl->communicator);
  for (const Pending &each : nccl->pending)
    library.eventDestroy(each.event);
  for (Handle event : nccl->freeEvents)
    library.eventDestroy(event);
  Handle popped;
  library.popContext(&popped);
  int number = 0;
  library.deviceGet(&number, nccl->device);
  library.releaseContext(number);
  delete nccl;
}
