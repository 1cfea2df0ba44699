//===- PTX.cuh - The kernels' inline assembly, for the host -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the place of lib/Target/CUDA/Kernels/PTX.cuh, which documents all of it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_PTX_CUH
#define GNNC_KERNELS_PTX_CUH

#define GNNC_DEVICE inline

namespace gnnc {

template <int Elements, typename T> T *rowAt(T *rows, int row) { return rows + static_cast<long long>(row) * Elements; }

inline int elementAt(const int *numbers, int position) { return numbers ? numbers[position] : position; }

/// Shared memory has addresses of 32 bits.
inline unsigned sharedAddress(const void *at) {
  return unsigned(static_cast<const char *>(at) - reinterpret_cast<const char *>(memory));
}
template <int Width> void copyAsync(unsigned to, const void *from, int bytes) {
  emulator->copy(reinterpret_cast<char *>(memory) + int(to), from, Width, unsigned(bytes));
}
inline void commitCopies() { emulator->commitCopies(); }
template <int Open> void waitForCopies() { emulator->waitForCopies(Open); }

inline float exp2Approximately(float x) {
  float y = ::exp2f(x);
  return y < 0x1p-126f ? 0.0f : y;
}

inline float fromF16(unsigned short x) { return float(emulation::bitCast<_Float16>(x)); }
inline unsigned short toF16(float x) { return emulation::bitCast<unsigned short>(static_cast<_Float16>(x)); }
inline unsigned short toBF16(float x) {
  unsigned bits = __float_as_uint(x);
  return static_cast<unsigned short>(x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
inline unsigned toF16Pair(float first, float second) { return toF16(first) | unsigned(toF16(second)) << 16; }
inline unsigned toBF16Pair(float first, float second) { return toBF16(first) | unsigned(toBF16(second)) << 16; }

/// mma.m16n8k8 of PTX: tensor cores cut off what TF32 has not, and round nothing.
inline void multiplyAdd(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                        const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  struct Fragments {
    unsigned a[4], b[2];
  };
  const emulation::Given<Fragments> all({"mma.sync", 0, file, line}, ~0u, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}});
  auto number = [](unsigned word) { return __uint_as_float(word & ~0x1fffu); };
  const unsigned g = emulation::ownLane() / 4, t = emulation::ownLane() % 4;
  float products[4] = {};
  for (unsigned depth = 0; depth < 8; ++depth) {
    const Fragments rows = all.of(g * 4 + depth % 4),
                    columns[2] = {all.of(2 * t * 4 + depth % 4), all.of((2 * t + 1) * 4 + depth % 4)};
    for (unsigned n = 0; n < 4; ++n)
      products[n] += number(rows.a[n / 2 + depth / 4 * 2]) * number(columns[n % 2].b[depth / 4]);
  }
  for (unsigned n = 0; n < 4; ++n)
    sum[n] += products[n];
}

} // namespace gnnc

#endif // GNNC_KERNELS_PTX_CUH
