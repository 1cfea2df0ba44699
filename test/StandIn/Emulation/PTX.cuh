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

#ifndef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool kHasWarpgroups = false;
#else
constexpr bool kHasWarpgroups = true;

/// Products that a thread has begun. Until they are waited for, their sums are not-a-number, and what they multiply
/// must stay as it is: the right side is read then, and the left side compared.
struct Products {
  static constexpr int kMost = 64, kMostColumns = 128;
  struct Product {
    float *sums;
    const unsigned *registers;
    unsigned own[4], rows[2][8];
    unsigned long long right;
    int columns;
    bool adds;
  };
  /// Sums that are not in their registers.
  struct Sums {
    float *registers;
    float numbers[kMostColumns / 2];
    int open;
  };
  Product begun[kMost];
  int groupOf[kMost], count = 0, group = 0;
  Sums held[4] = {};

  Sums &sumsOf(float *registers, int columns) {
    for (Sums &sums : held)
      if (sums.open > 0 && sums.registers == registers)
        return sums;
    for (Sums &sums : held)
      if (sums.open == 0) {
        sums.registers = registers;
        for (int i = 0; i < columns / 2; ++i)
          sums.numbers[i] = registers[i], registers[i] = __uint_as_float(0x7fffffffu);
        return sums;
      }
    emulator->fail({"wgmma", 0, __FILE__, __LINE__}, "more sums at a time than are emulated");
    return held[0];
  }
  void finish(const Product &product) {
    for (int i = 0; i < 4; ++i)
      if (product.registers[i] != product.own[i])
        emulator->fail({"wgmma", 0, __FILE__, __LINE__}, "its registers were written before it was done");
    auto number = [](unsigned word) { return __uint_as_float(word & ~0x1fffu); };
    const char *right = reinterpret_cast<const char *>(memory) + ((product.right & 0x3fff) << 4);
    const unsigned toDepths = (product.right >> 16 & 0x3fff) << 4, toColumns = (product.right >> 32 & 0x3fff) << 4;
    Sums &sums = sumsOf(product.sums, product.columns);
    for (int at = 0; at < product.columns / 2; ++at) {
      const unsigned column = at / 4 * 8 + emulation::ownLane() % 4 * 2 + at % 2;
      const char *matrix = right + column / 8 * toColumns + column % 8 * 16;
      float made = 0;
      for (unsigned depth = 0; depth < 8; ++depth)
        made += number(product.rows[at % 4 / 2][depth]) *
                number(*reinterpret_cast<const unsigned *>(matrix + depth / 4 * toDepths + depth % 4 * 4));
      sums.numbers[at] = product.adds ? sums.numbers[at] + made : made;
    }
    if (--sums.open == 0)
      for (int at = 0; at < product.columns / 2; ++at)
        sums.registers[at] = sums.numbers[at];
  }
  void waitFor(int groups) {
    int done = 0;
    while (done < count && groupOf[done] < group - groups)
      finish(begun[done++]);
    for (int i = done; i < count; ++i)
      begun[i - done] = begun[i], groupOf[i - done] = groupOf[i];
    count -= done;
  }
};
inline Products &ownProducts() {
  static Products all[1024];
  return all[threadIdx.x];
}

inline void showToProducts() {}
inline void beginProducts() {}
inline void commitProducts() { ++ownProducts().group; }
template <int Open> void waitForProducts() { ownProducts().waitFor(Open); }
template <int Count> void holdRegisters(float (&)[Count]) {}
template <int Columns>
void multiplyAsync(float *sums, const unsigned (&a)[4], unsigned long long right, bool adds,
                   const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  struct Fragments {
    unsigned a[4];
  };
  const emulation::Given<Fragments> all({"wgmma", Columns, file, line}, ~0u, {{a[0], a[1], a[2], a[3]}});
  Products &own = ownProducts();
  if (own.count == Products::kMost) {
    emulator->fail({"wgmma", Columns, file, line}, "more products at a time than are emulated");
    return;
  }
  Products::Product product{sums, a, {a[0], a[1], a[2], a[3]}, {}, right, Columns, adds};
  for (unsigned depth = 0; depth < 8; ++depth) {
    const Fragments rows = all.of(emulation::ownLane() / 4 * 4 + depth % 4);
    product.rows[0][depth] = rows.a[depth / 4 * 2], product.rows[1][depth] = rows.a[depth / 4 * 2 + 1];
  }
  ++own.sumsOf(sums, Columns).open;
  own.groupOf[own.count] = own.group;
  own.begun[own.count++] = product;
}
#endif

} // namespace gnnc

#endif // GNNC_KERNELS_PTX_CUH
