//===- Emulator.cpp - Grids of kernels on the host ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread of a block is a fiber with a stack of its own, which runs until it meets others. In what order lanes, warps
// and blocks run differs from launch to launch: what depends on it differs between runs. Shared memory holds
// not-a-number before each block, and what an asynchronous copy is to fill holds it until the copy is waited for.
//
// Faults: lanes of a warp or threads of a block that meet at different places, or of which some have ended; a meeting
// with other numbers, an exchange of some lanes; writing behind the dynamic shared memory that the launch asked for;
// copies that are not aligned.
//
//===----------------------------------------------------------------------===//

// longjmp() leaves one stack for another.
#undef _FORTIFY_SOURCE

#include "HostModule.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

using namespace gnnc::emulation;
using namespace gnnc::standin;

namespace {

constexpr unsigned kMostThreads = 1024;
constexpr size_t kStack = 256 << 10, kCanary = 256;
constexpr unsigned char kJunk = 0xff, kGuard = 0xaa;

struct Copy {
  char *to;
  const char *from;
  unsigned width, bytes;
};

/// Copies of a thread that are not there yet.
struct Copies {
  std::vector<Copy> all;
  std::vector<size_t> groups; ///< how many are in or before each

  void waitFor(unsigned open) {
    if (groups.size() <= open)
      return;
    size_t last = groups.size() - open - 1, count = groups[last];
    for (size_t i = 0; i < count; ++i) {
      memcpy(all[i].to, all[i].from, all[i].bytes);
      memset(all[i].to + all[i].bytes, 0, all[i].width - all[i].bytes);
    }
    all.erase(all.begin(), all.begin() + ptrdiff_t(count));
    groups.erase(groups.begin(), groups.begin() + ptrdiff_t(last) + 1);
    for (size_t &group : groups)
      group -= count;
  }
};

// Threads take turns millions of times in a test. What the compiler has built in keeps less and hides no address. The
// sanitizers know the library's functions only.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                          \
    !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
using Point = void *[5];
#define GNNC_REMEMBER(point) __builtin_setjmp(point)
#define GNNC_GO_ON(point) __builtin_longjmp(point, 1)
#else
using Point = jmp_buf;
#define GNNC_REMEMBER(point) _setjmp(point)
#define GNNC_GO_ON(point) _longjmp(point, 1)
#endif

enum class Waits { No, ForWarp, ForBlock, Ended };

struct Fiber {
  Point at;
  void *stack = nullptr;
  bool isStarted = false;
  Waits waits = Waits::Ended;
  Meeting meeting;
  bool given = false; ///< to the block
  Copies copies;
};

bool isSame(const Meeting &a, const Meeting &b) {
  auto isEqual = [](const char *x, const char *y) { return x == y || strcmp(x, y) == 0; };
  return a.number == b.number && a.line == b.line && isEqual(a.what, b.what) && isEqual(a.file, b.file);
}

std::string describe(const Meeting &meeting) {
  const char *name = strrchr(meeting.file, '/');
  return std::string(meeting.what) + " (" + (name ? name + 1 : meeting.file) + ":" + std::to_string(meeting.line) + ")";
}

/// 0 to count - 1 in an order that differs from call to call: rising, falling or by strides.
class Order {
public:
  explicit Order(unsigned count) : count(count) {
    static unsigned long long state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    unsigned drawn = unsigned(state >> 33);
    at = count ? drawn / 4 % count : 0;
    stride = drawn % 4 == 0 ? 1 : drawn % 4 == 1 ? count - 1 : drawn % std::max(count, 1u);
    while (std::gcd(stride, count) != 1)
      ++stride;
  }
  unsigned next() {
    unsigned now = at;
    at = now < count - stride ? now + stride : now - (count - stride);
    return now;
  }

private:
  unsigned count, at, stride;
};

class Machine {
public:
  Emulator emulator = {};
  Machine();
  bool run(const HostModule &module, Kernel kernel, const Grid &grid, std::string &fault);

private:
  Fiber fibers[kMostThreads];
  char given[kMostThreads][kMostGiven];   ///< of lanes to their warps
  const char *pending[kMostThreads] = {}; ///< what will be
  bool isAny = false;
  Point scheduler;
  unsigned current = 0, threads = 0;
  Kernel kernel = nullptr;
  const char *arguments = nullptr;
  std::string problem;

  bool runBlock();
  void runWarp(unsigned warp);
  bool meetWarp(unsigned warp);
  bool meetBlock();
  [[gnu::noinline]] void resume(unsigned thread);
  [[gnu::noinline]] void suspend(Waits waits, const Meeting &meeting);
  [[noreturn]] void start(Fiber &fiber);
  static void main();
  void fail(unsigned thread, const Meeting &meeting, const std::string &why);
};

Machine &machine() {
  static auto *instance = new Machine(); // Stacks are in use until the end.
  return *instance;
}

//===----------------------------------------------------------------------===//
// Fibers
//===----------------------------------------------------------------------===//

void Machine::main() {
  Machine &all = machine();
  for (;;) { // A block's thread after another's.
    all.kernel(all.arguments);
    all.suspend(Waits::Ended, {});
  }
}

/// The frame of who calls it stays, since the fiber goes back there.
void Machine::start(Fiber &fiber) {
  if (!fiber.stack)
    fiber.stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  fiber.isStarted = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack;
  context.uc_stack.ss_size = kStack;
  context.uc_link = nullptr;
  makecontext(&context, &Machine::main, 0);
  setcontext(&context);
  abort();
}

void Machine::resume(unsigned thread) {
  current = thread;
  emulator.thread = {thread, 0, 0};
  Fiber &fiber = fibers[thread];
  if (GNNC_REMEMBER(scheduler))
    return;
  if (fiber.isStarted)
    GNNC_GO_ON(fiber.at);
  start(fiber);
}

void Machine::suspend(Waits waits, const Meeting &meeting) {
  Fiber &fiber = fibers[current];
  fiber.waits = waits;
  fiber.meeting = meeting;
  if (!GNNC_REMEMBER(fiber.at))
    GNNC_GO_ON(scheduler);
}

//===----------------------------------------------------------------------===//
// Meetings
//===----------------------------------------------------------------------===//

Machine::Machine() {
  emulator.barrier = [](const Meeting &meeting, bool given) {
    Machine &all = machine();
    all.fibers[all.current].given = given;
    all.suspend(Waits::ForBlock, meeting);
    return all.isAny;
  };
  emulator.exchange = [](const Meeting &meeting, const void *given, unsigned bytes) -> const char * {
    Machine &all = machine();
    // Others may still read what was given last; so it waits on this stack.
    unsigned own = all.current;
    char next[kMostGiven] = {};
    memcpy(next, given, bytes);
    all.pending[own] = next;
    all.suspend(Waits::ForWarp, meeting);
    return all.given[own / kLanes * kLanes];
  };
  emulator.copy = [](void *to, const void *from, unsigned width, unsigned bytes) {
    Machine &all = machine();
    auto isAligned = [&](const void *at) { return reinterpret_cast<uintptr_t>(at) % width == 0; };
    if (bytes > width || !isAligned(to) || (bytes && !isAligned(from))) {
      all.fail(all.current, {"cp.async", 0, "", 0}, "is not aligned");
      all.suspend(Waits::Ended, {});
    }
    memset(to, kJunk, width);
    all.fibers[all.current].copies.all.push_back(
        {static_cast<char *>(to), static_cast<const char *>(from), width, bytes});
  };
  emulator.commitCopies = [] {
    Copies &copies = machine().fibers[machine().current].copies;
    copies.groups.push_back(copies.all.size());
  };
  emulator.waitForCopies = [](unsigned open) { machine().fibers[machine().current].copies.waitFor(open); };
  emulator.fail = [](const Meeting &meeting, const char *why) {
    Machine &all = machine();
    all.fail(all.current, meeting, why);
    all.suspend(Waits::Ended, {});
  };
}

void Machine::fail(unsigned thread, const Meeting &meeting, const std::string &why) {
  if (!problem.empty())
    return;
  const Place &block = emulator.block;
  problem = "block (" + std::to_string(block.x) + ", " + std::to_string(block.y) + ", " + std::to_string(block.z) +
            "), thread " + std::to_string(thread) + ": " + describe(meeting) + ": " + why;
}

/// Lets lanes run on that are all at one exchange.
bool Machine::meetWarp(unsigned warp) {
  unsigned begin = warp * kLanes, end = std::min(begin + kLanes, threads);
  auto isWaiting = [&](unsigned i) { return fibers[i].waits == Waits::ForWarp; };
  unsigned first = begin;
  while (first < end && !isWaiting(first))
    ++first;
  if (first == end)
    return false;
  const Meeting &meeting = fibers[first].meeting;
  for (unsigned i = begin; i < end; ++i) {
    if (fibers[i].waits == Waits::Ended)
      fail(first, meeting, "thread " + std::to_string(i) + " of its warp has ended");
    else if (!isWaiting(i) || !isSame(fibers[i].meeting, meeting))
      fail(first, meeting, "thread " + std::to_string(i) + " of its warp is at " + describe(fibers[i].meeting));
  }
  if (end != begin + kLanes)
    fail(first, meeting, "its warp has not all lanes");
  if (!problem.empty()) // Not all have given something.
    return false;
  for (unsigned i = begin; i < end; ++i) {
    memcpy(given[i], pending[i], kMostGiven);
    fibers[i].waits = Waits::No;
  }
  return true;
}

/// Lets threads run on that are all at one barrier.
bool Machine::meetBlock() {
  const Fiber *first = std::find_if(fibers, fibers + threads, [](auto &f) { return f.waits != Waits::Ended; });
  if (first == fibers + threads)
    return false;
  isAny = false;
  for (unsigned i = 0; i < threads; ++i) {
    if (fibers[i].waits == Waits::Ended)
      fail(unsigned(first - fibers), first->meeting, "thread " + std::to_string(i) + " has ended");
    else if (!isSame(fibers[i].meeting, first->meeting))
      fail(unsigned(first - fibers), first->meeting,
           "thread " + std::to_string(i) + " is at " + describe(fibers[i].meeting));
    isAny |= fibers[i].given;
  }
  for (unsigned i = 0; i < threads; ++i)
    fibers[i].waits = Waits::No;
  return true;
}

/// As far as it goes without other warps.
void Machine::runWarp(unsigned warp) {
  Order order(kLanes);
  do {
    for (unsigned i = 0; i < kLanes && problem.empty(); ++i)
      if (unsigned thread = warp * kLanes + order.next(); thread < threads && fibers[thread].waits == Waits::No)
        resume(thread);
  } while (problem.empty() && meetWarp(warp));
}

bool Machine::runBlock() {
  for (unsigned i = 0; i < threads; ++i) {
    fibers[i].waits = Waits::No;
    fibers[i].copies.all.clear();
    fibers[i].copies.groups.clear();
  }
  unsigned warps = (threads + kLanes - 1) / kLanes;
  do {
    // A warp goes on as far as it can before the next one does.
    Order order(warps);
    for (unsigned i = 0; i < warps && problem.empty(); ++i)
      runWarp(order.next());
  } while (problem.empty() && meetBlock());
  if (problem.empty())
    return true;
  // What is on the stacks is left there.
  for (Fiber &fiber : fibers)
    fiber.isStarted = false;
  return false;
}

bool Machine::run(const HostModule &module, Kernel ofModule, const Grid &grid, std::string &fault) {
  kernel = ofModule;
  threads = grid.threads;
  // As a launch has it, at an address that suits all types.
  std::vector<double> buffer(grid.arguments.size() / sizeof(double) + 2);
  void *aligned = buffer.data();
  memcpy(aligned, grid.arguments.data(), grid.arguments.size());
  arguments = static_cast<const char *>(aligned);
  emulator.threads = {threads, 1, 1};
  emulator.blocks = grid.blocks;
  problem.clear();
  HostModule::Bytes shared = module.sharedMemory();
  char *dynamic = module.dynamicMemory(), *behind = dynamic + grid.sharedBytes;
  size_t canary = std::min(kCanary, size_t(kMostShared) - grid.sharedBytes);
  unsigned all = grid.blocks.x * grid.blocks.y * grid.blocks.z;
  Order blocks(all);
  for (unsigned i = 0; i < all && problem.empty(); ++i) {
    unsigned block = blocks.next();
    emulator.block = {block % grid.blocks.x, block / grid.blocks.x % grid.blocks.y,
                      block / grid.blocks.x / grid.blocks.y};
    memset(shared.begin, kJunk, shared.size);
    memset(behind, kGuard, canary);
    runBlock();
    if (std::any_of(behind, behind + canary, [](char byte) { return byte != char(kGuard); }))
      fail(0, {"a write", 0, "", 0}, "behind the dynamic shared memory of the launch");
  }
  fault = problem.empty() ? "" : grid.name + ": " + problem;
  return problem.empty();
}

} // namespace

Emulator &gnnc::standin::emulatorOfDriver() { return machine().emulator; }

bool gnnc::standin::runGrid(const HostModule &module, Kernel kernel, const Grid &grid, std::string &fault) {
  return machine().run(module, kernel, grid, fault);
}
