//===- HIP.cuh - Warps and shared memory of AMD's GPUs ----------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp is one half of a wavefront of 64 lanes (gfx90a, gfx942). Correct as long as all 32 lanes of a warp reach an
// exchange together, which tests on the emulator check (test/StandIn):
//
//   shuffles     read lanes of their own half only
//   ballots      cover the wavefront; each half takes its 32 bits. Lanes that are inactive contribute 0
//   syncWarp     orders memory within the wavefront, whose active lanes execute in lockstep
//   barriers     count wavefronts. The halves of a wavefront must reach the same barriers, as warps must on NVIDIA GPUs
//
// Differences:
//
//   - Halves that diverge run one after the other: a loop over a warp's items takes the time of both warps' loops.
//   - A warp must not spin until another warp writes: both may be in one wavefront. No kernel does.
//   - A block has at most 64 KiB of shared memory (gfx950: 160). The printer assumes 99 KiB or more (CUDABackend.cpp),
//     so some kernels compile but cannot be launched.
//   - The second argument of __launch_bounds__, blocks of a processor, is dropped: in HIP it means something else.
//   - Sums and products keep denormal numbers.
//
// HIPWords.cuh has HIP's words for Clang without ROCm. Otherwise they come from hip/hip_runtime.h or are built into
// HIPRTC (not tried).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_HIP_CUH
#define GNNC_KERNELS_HIP_CUH

#ifdef __HIP__

#ifdef __HIPCC_RTC__
// Built in.
#elif defined(__CLANG_HIP_RUNTIME_WRAPPER_H__)
#include <hip/hip_runtime.h>
#else
#include "HIPWords.cuh"
#endif

// Cells.h and DeviceData.h test it.
#ifndef __CUDACC__
#define __CUDACC__
#endif
#ifndef __grid_constant__
#define __grid_constant__
#endif
#undef __launch_bounds__
#define __launch_bounds__(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))

#define GNNC_DEVICE __device__ __forceinline__

namespace gnnc {

/// The lane of the wavefront where the warp begins.
GNNC_DEVICE unsigned firstOfWarp() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)) & 32u; }

template <typename T> GNNC_DEVICE T shuffle(T x, int lane) {
  static_assert(sizeof(T) % sizeof(int) == 0);
  constexpr int kWords = sizeof(T) / sizeof(int);
  struct Words {
    int words[kWords];
  };
  Words all = __builtin_bit_cast(Words, x);
  const int at = int(firstOfWarp() + (unsigned(lane) & 31u)) * 4;
  _Pragma("unroll") for (int i = 0; i < kWords; ++i) all.words[i] = __builtin_amdgcn_ds_bpermute(at, all.words[i]);
  return __builtin_bit_cast(T, all);
}
template <typename T> GNNC_DEVICE T shuffleXor(T x, int lanes) { return shuffle(x, int(threadIdx.x & 31u) ^ lanes); }
template <typename T> GNNC_DEVICE T shuffleUp(T x, int by) {
  const int lane = int(threadIdx.x & 31u);
  return shuffle(x, lane < by ? lane : lane - by);
}
GNNC_DEVICE unsigned ballot(bool is) { return unsigned(__builtin_amdgcn_ballot_w64(is) >> firstOfWarp()); }
GNNC_DEVICE bool anyLane(bool is) { return ballot(is) != 0; }
GNNC_DEVICE bool allLanes(bool is) { return ballot(is) == ~0u; }
GNNC_DEVICE unsigned largestOfWarp(unsigned x) {
  for (int mask = 16; mask > 0; mask /= 2) {
    const unsigned other = shuffleXor(x, mask);
    x = x > other ? x : other;
  }
  return x;
}
GNNC_DEVICE unsigned leastOfWarp(unsigned x) { return ~largestOfWarp(~x); }
GNNC_DEVICE void syncWarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/// Addresses of shared memory have 32 bits.
GNNC_DEVICE unsigned sharedAddress(const void *at) {
  return unsigned(reinterpret_cast<unsigned long long>((__attribute__((address_space(3))) const char *)(at)));
}
GNNC_DEVICE void *sharedMemory(unsigned at) {
  return (void *)(reinterpret_cast<__attribute__((address_space(3))) char *>(at));
}

} // namespace gnnc

#endif // __HIP__

#endif // GNNC_KERNELS_HIP_CUH
