//===- PTX.cuh - What CUDA C++ has no words for -----------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All inline assembly of the kernels (PTX ISA 8.0), and nothing else. Tests that run kernels where there is no GPU put
// test/StandIn/Emulation/PTX.cuh in its place.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_PTX_CUH
#define GNNC_KERNELS_PTX_CUH

#define GNNC_DEVICE __device__ __forceinline__

namespace gnnc {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Row `row` of rows of Elements numbers, in one instruction: left to itself the compiler adds the lane's place to each
/// row anew.
template <int Elements, typename T> GNNC_DEVICE T *rowAt(T *rows, int row) {
  unsigned long long at;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(at) : "r"(row), "n"(Elements * int(sizeof(T))), "l"(rows));
  return reinterpret_cast<T *>(at);
}

/// The element at a position, where there are no numbers that of its own number. One load that is left out: the
/// compiler would branch around it, and keep loads of other members apart.
GNNC_DEVICE int elementAt(const int *numbers, int position) {
  int element;
  asm("{ .reg .pred p; setp.ne.u64 p, %2, 0; mov.s32 %0, %1; @p ld.global.nc.s32 %0, [%3]; }"
      : "=r"(element)
      : "r"(position), "l"(numbers), "l"(numbers + position));
  return element;
}

/// A copy from global to shared memory that runs beside computation. Width: 4, 8 or 16 bytes, of which both addresses
/// are multiples. The first `bytes` of them are copied, the others are zeros; of 0 bytes the address is not looked at.
template <int Width> GNNC_DEVICE void copyAsync(unsigned to, const void *from, int bytes) {
  if constexpr (Width == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(Width), "r"(bytes)
                 : "memory");
}
/// An address as copyAsync wants it.
GNNC_DEVICE unsigned sharedAddress(const void *at) { return unsigned(__cvta_generic_to_shared(at)); }
GNNC_DEVICE void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until all but the latest Open groups have arrived.
template <int Open> GNNC_DEVICE void waitForCopies() { asm volatile("cp.async.wait_group %0;" ::"n"(Open) : "memory"); }

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// 2^x, wrong by at most two units of the last place; what would be denormal is zero.
GNNC_DEVICE float exp2Approximately(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

#if __CUDA_ARCH__ >= 800
/// Not-a-number wins.
GNNC_DEVICE float mostOrNaN(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
GNNC_DEVICE float leastOrNaN(float x, float y) {
  float z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
#endif

// Numbers of 16 bits, rounded to the nearest, ties to even; of a pair the lower bits are the first.
GNNC_DEVICE float fromF16(unsigned short x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
GNNC_DEVICE unsigned short toBF16(float x) {
  unsigned short y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
GNNC_DEVICE unsigned short toF16(float x) {
  unsigned short y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
GNNC_DEVICE unsigned toBF16Pair(float first, float second) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
GNNC_DEVICE unsigned toF16Pair(float first, float second) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

/// Adds a product of matrices of TF32 (MatrixUnits.cuh has their layout) by all lanes of a warp.
GNNC_DEVICE void multiplyAdd(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

} // namespace gnnc

#endif // GNNC_KERNELS_PTX_CUH
