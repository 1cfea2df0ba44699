//===- Plain.cuh - PTX.cuh without PTX --------------------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that PTX.cuh documents, in C++ that Clang compiles for any GPU. They are slower: copies do not overlap
// computation, and shuffles take the place of matrix instructions.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_PLAIN_CUH
#define GNNC_KERNELS_PLAIN_CUH

#ifdef GNNC_DEVICE // empty if compiled on its own

namespace gnnc {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

template <int Elements, typename T> GNNC_DEVICE T *rowAt(T *rows, int row) {
  return rows + static_cast<long long>(row) * Elements;
}

GNNC_DEVICE int elementAt(const int *numbers, int position) { return numbers ? numbers[position] : position; }

template <typename Together> GNNC_DEVICE void storeTogether(void *to, Together all) {
  *static_cast<Together *>(to) = all;
}

template <int Width> struct Copied;
template <> struct Copied<4> {
  using Type = unsigned;
};
template <> struct Copied<8> {
  using Type = uint2;
};
template <> struct Copied<16> {
  using Type = uint4;
};
/// Synchronous. Partial copies are 16 bits at a time, as memory may end after the last byte.
template <int Width> GNNC_DEVICE void copyAsync(unsigned to, const void *from, int bytes) {
  using All = typename Copied<Width>::Type;
  void *const at = sharedMemory(to);
  if (bytes == Width) {
    *static_cast<All *>(at) = *static_cast<const All *>(from);
    return;
  }
  _Pragma("unroll") for (int i = 0; i < Width / 2; ++i) static_cast<unsigned short *>(at)[i] =
      2 * i < bytes ? static_cast<const unsigned short *>(from)[i] : static_cast<unsigned short>(0);
}
GNNC_DEVICE void storeShared(unsigned to, unsigned short bits) {
  *static_cast<unsigned short *>(sharedMemory(to)) = bits;
}
GNNC_DEVICE void commitCopies() {}
template <int Open> GNNC_DEVICE void waitForCopies() {}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Kernels of a stream run one after the other.
GNNC_DEVICE void followLaunch() {}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

GNNC_DEVICE float reciprocalApproximately(float x) {
  const float y = 1.0f / x;
  return ::fabsf(y) < 0x1p-126f ? ::copysignf(0.0f, y) : y;
}
GNNC_DEVICE float divideExactly(float x, float y) { return x / y; }
GNNC_DEVICE float exp2Approximately(float x) {
  const float y = ::exp2f(x);
  return y < 0x1p-126f ? 0.0f : y;
}

GNNC_DEVICE float fromF16(unsigned short x) { return static_cast<float>(__builtin_bit_cast(_Float16, x)); }
GNNC_DEVICE unsigned short toF16(float x) { return __builtin_bit_cast(unsigned short, static_cast<_Float16>(x)); }
GNNC_DEVICE unsigned short toBF16(float x) {
  const unsigned bits = __float_as_uint(x);
  return static_cast<unsigned short>(x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
GNNC_DEVICE unsigned toF16Pair(float first, float second) { return toF16(first) | unsigned(toF16(second)) << 16; }
GNNC_DEVICE unsigned toBF16Pair(float first, float second) { return toBF16(first) | unsigned(toBF16(second)) << 16; }

enum class Operands { TF32, BF16, F16 };

/// Ties round away from zero; there is one NaN.
GNNC_DEVICE unsigned roundToTF32(float x) {
  return x != x ? 0x7fffffffu : (__float_as_uint(x) + (x - x == 0 ? 0x1000u : 0)) & ~0x1fffu;
}

/// Multiplies in float32: operands keep the bits that tensor cores truncate. The rows that a lane needs are in the four
/// lanes of its group, and its columns in two other groups. A loop, as the unrolled code spills.
GNNC_DEVICE void multiplyAdd(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const int lane = threadIdx.x & 31, rows = lane / 4 * 4, columns = lane % 4 * 8;
  _Pragma("unroll 1") for (int t = 0; t < 4; ++t) {
    float left[4], right[2][2];
    _Pragma("unroll") for (int n = 0; n < 4; ++n) left[n] = __uint_as_float(shuffle(a[n], rows + t));
    _Pragma("unroll") for (int half = 0; half < 2; ++half) {
      right[half][0] = __uint_as_float(shuffle(b[half], columns + t));
      right[half][1] = __uint_as_float(shuffle(b[half], columns + 4 + t));
    }
    _Pragma("unroll") for (int half = 0; half < 2; ++half) _Pragma("unroll") for (int n = 0; n < 4; ++n) sum[n] =
        ::fmaf(left[n / 2 + half * 2], right[half][n % 2], sum[n]);
  }
}

constexpr bool kHasWarpgroups = false;

} // namespace gnnc

#endif // GNNC_DEVICE

#endif // GNNC_KERNELS_PLAIN_CUH
