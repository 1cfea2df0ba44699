//===- State.h - What the stand-in driver keeps account of ------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_STANDIN_STATE_H
#define GNNC_TEST_STANDIN_STATE_H

#include "Driver.h"
#include "HostModule.h"
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace gnnc::standin {

using Address = unsigned long long;

// CUresult
enum Result {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  InvalidContext = 201,
  NoBinary = 209,
  IllegalState = 401,
  NotFound = 500,
  LaunchFailed = 719,
  CaptureUnsupported = 900,
  CaptureUnjoined = 904,
  CaptureIsolation = 905,
  UpdateFailure = 910
};

struct Module;
struct Function {
  int shared = 48 << 10; ///< most dynamic shared memory
  std::string name;
  const Module *module = nullptr;
  Kernel kernel = nullptr; ///< null: it does nothing
};
struct Module {
  std::unique_ptr<HostModule> code; ///< null: its kernels do nothing
  std::vector<std::unique_ptr<Function>> functions;
};
struct Pool {};
struct Node {
  bool isKernel;
  std::function<int()> work;
};
struct Graph {
  std::vector<std::shared_ptr<Node>> nodes;
  // Further streams that take part, and those of them that have something that the first one does not wait for.
  std::set<struct Stream *> joined, unjoined;
};
struct Executable {
  Graph graph;
  std::set<void *> disabled;
};
struct Stream {
  std::shared_ptr<Graph> captured; ///< null: it does not record; else what one or several streams record
  std::vector<void *> dependencies;
  bool isOrigin = false; ///< the recording was begun here
};
struct Event {
  Stream *stream = nullptr;        ///< where it was recorded last
  std::shared_ptr<Graph> captured; ///< and what that stream was recording
};

struct Settings {
  size_t memory = size_t(1) << 30;
  int architecture = 90, processors = 132;
  unsigned char fill = 0xff;
  std::string failing;
  int64_t after = 0;
  int code = 0;
  std::string log;
};

struct State {
  std::recursive_mutex lock;
  Settings settings;
  std::map<std::string, int64_t> calls;
  std::map<Address, size_t> blocks;
  size_t bytes = 0;
  std::map<std::string, int64_t> live;
  int64_t kernels = 0, recorded = 0;
  std::string modules, fault;

  State();
  ~State();
};

State &state();

extern thread_local int contexts; ///< that are pushed
extern thread_local int captures; ///< begun by this thread

/// At the start of each call: counts it, and says what it fails with.
class Call {
public:
  explicit Call(const char *name, bool needsContext = true) : guard(state().lock) {
    int64_t number = state().calls[name]++;
    if (name == state().settings.failing && number >= state().settings.after)
      code = state().settings.code;
    else if (needsContext && contexts == 0)
      code = InvalidContext;
  }
  int code = Success;

private:
  std::lock_guard<std::recursive_mutex> guard;
};

/// A node of what a stream records.
inline void record(Stream &stream, bool isKernel, std::function<int()> work) {
  stream.captured->nodes.push_back(std::make_shared<Node>(Node{isKernel, std::move(work)}));
  stream.dependencies = {stream.captured->nodes.back().get()};
  if (!stream.isOrigin)
    stream.captured->unjoined.insert(&stream);
}

/// Work on a stream: done at once, or recorded.
template <typename Work> int enqueue(void *handle, Work work) {
  auto *stream = static_cast<Stream *>(handle);
  if (stream && stream->captured)
    record(*stream, false, [work] { return work(), Success; });
  else
    work();
  return Success;
}

template <typename T> void *make(const char *kind) {
  ++state().live[kind];
  return new T();
}

template <typename T> int destroy(const char *kind, void *object) {
  if (!object)
    return InvalidValue;
  --state().live[kind];
  delete static_cast<T *>(object);
  return Success;
}

} // namespace gnnc::standin

#define EXPORTED __attribute__((visibility("default")))

#endif // GNNC_TEST_STANDIN_STATE_H
