//===- CUDA.h - What CUDA C++ has built in, for the host --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included before the text of a module of kernels. `__global__` is no macro: HostCompiler.cpp looks for it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_STANDIN_EMULATION_CUDA_H
#define GNNC_TEST_STANDIN_EMULATION_CUDA_H

#include "Emulator.h"
#include <math.h>
#include <string.h>

#define GNNC_FOR_DRIVER __attribute__((visibility("default")))

namespace gnnc {
alignas(128) thread_local double memory[emulation::kMostShared / sizeof(double)];
}
extern "C" {
GNNC_FOR_DRIVER gnnc::emulation::Emulator *emulator;
GNNC_FOR_DRIVER void *emulatedShared() { return gnnc::memory; }
}

#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
// Static within a function, and `extern __shared__` finds the array above.
#define __shared__ thread_local

#define threadIdx (emulator->thread)
#define blockIdx (emulator->block)
#define blockDim (emulator->threads)
#define gridDim (emulator->blocks)

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

//===----------------------------------------------------------------------===//
// Threads that meet. The place is that of the call.
//===----------------------------------------------------------------------===//

#define GNNC_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(GNNC_PLACE) { emulator->barrier({"__syncthreads", 0, file, line}, false); }
inline int __syncthreads_or(int given, GNNC_PLACE) {
  return emulator->barrier({"__syncthreads_or", 0, file, line}, given != 0);
}

namespace gnnc::emulation {

/// What the lanes of a warp give.
template <typename T> struct Given {
  const char *all;
  Given(const Meeting &meeting, unsigned mask, T x) {
    static_assert(sizeof(T) <= kMostGiven);
    if (mask != ~0u)
      emulator->fail(meeting, "only exchanges of all lanes are emulated");
    all = emulator->exchange(meeting, &x, sizeof(T));
  }
  T of(unsigned lane) const {
    T x;
    memcpy(&x, all + lane % kLanes * kMostGiven, sizeof(T));
    return x;
  }
};

inline unsigned ballot(const Meeting &meeting, unsigned mask, bool given) {
  Given<bool> all(meeting, mask, given);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    bits |= unsigned(all.of(lane)) << lane;
  return bits;
}

template <typename To, typename From> To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

inline unsigned ownLane() { return threadIdx.x % kLanes; }

} // namespace gnnc::emulation

template <typename T> T __shfl_xor_sync(unsigned mask, T x, unsigned lanes, GNNC_PLACE) {
  using namespace gnnc::emulation;
  return Given<T>({"__shfl_xor_sync", lanes, file, line}, mask, x).of(ownLane() ^ lanes);
}
template <typename T> T __shfl_sync(unsigned mask, T x, unsigned lane, GNNC_PLACE) {
  return gnnc::emulation::Given<T>({"__shfl_sync", 0, file, line}, mask, x).of(lane);
}
template <typename T> T __shfl_up_sync(unsigned mask, T x, unsigned by, GNNC_PLACE) {
  using namespace gnnc::emulation;
  return Given<T>({"__shfl_up_sync", by, file, line}, mask, x).of(ownLane() < by ? ownLane() : ownLane() - by);
}
inline unsigned __ballot_sync(unsigned mask, int given, GNNC_PLACE) {
  return gnnc::emulation::ballot({"__ballot_sync", 0, file, line}, mask, given != 0);
}
inline int __any_sync(unsigned mask, int given, GNNC_PLACE) {
  return gnnc::emulation::ballot({"__any_sync", 0, file, line}, mask, given != 0) != 0;
}
inline int __all_sync(unsigned mask, int given, GNNC_PLACE) {
  return gnnc::emulation::ballot({"__all_sync", 0, file, line}, mask, given != 0) == ~0u;
}
inline void __syncwarp(unsigned mask = ~0u, GNNC_PLACE) {
  gnnc::emulation::ballot({"__syncwarp", 0, file, line}, mask, false);
}
#undef GNNC_PLACE
// Threads take turns where they meet, and nowhere else.
inline void __threadfence_system() {}
template <typename T, typename U> T atomicAdd(T *to, U by) {
  T old = *to;
  *to += T(by);
  return old;
}
template <typename T, typename U> T atomicMax(T *to, U other) {
  T old = *to;
  *to = T(other) > old ? T(other) : old;
  return old;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

template <typename T> T __ldg(const T *from, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  const char *at = reinterpret_cast<const char *>(from), *shared = reinterpret_cast<const char *>(gnnc::memory);
  if (at >= shared && at < shared + sizeof gnnc::memory)
    emulator->fail({"__ldg", unsigned(sizeof(T)), file, line}, "reads shared memory, which is not global");
  return *from;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(static_cast<unsigned long long>(a) * b >> 32); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline int __float_as_int(float x) { return gnnc::emulation::bitCast<int>(x); }
inline unsigned __float_as_uint(float x) { return gnnc::emulation::bitCast<unsigned>(x); }
inline float __int_as_float(int x) { return gnnc::emulation::bitCast<float>(x); }
inline float __uint_as_float(unsigned x) { return gnnc::emulation::bitCast<float>(x); }
inline long long __double_as_longlong(double x) { return gnnc::emulation::bitCast<long long>(x); }
inline double __longlong_as_double(long long x) { return gnnc::emulation::bitCast<double>(x); }

//===----------------------------------------------------------------------===//
// A kernel of the buffer of a launch, where each argument is aligned to its size
//===----------------------------------------------------------------------===//

namespace gnnc::emulation {

template <typename T> const T &take(const char *buffer, unsigned long &at) {
  at = (at + alignof(T) - 1) / alignof(T) * alignof(T);
  const char *argument = buffer + at;
  at += sizeof(T);
  return *reinterpret_cast<const T *>(argument);
}
struct Launch {
  template <typename... Args> Launch(void (*kernel)(Args...), const Args &...args) { kernel(args...); }
};
template <typename... Args> void launch(void (*kernel)(Args...), const char *buffer) {
  unsigned long at = 0;
  Launch{kernel, take<Args>(buffer, at)...}; // Within braces the order is that of the text.
}

} // namespace gnnc::emulation

#endif // GNNC_TEST_STANDIN_EMULATION_CUDA_H
