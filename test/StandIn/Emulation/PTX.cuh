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

template <typename T, typename Together> void storeTogether(T *to, Together all) { ::memcpy(to, &all, sizeof all); }

/// Shared memory has addresses of 32 bits.
inline unsigned sharedAddress(const void *at) {
  return unsigned(static_cast<const char *>(at) - reinterpret_cast<const char *>(memory));
}
template <int Width> void copyAsync(unsigned to, const void *from, int bytes) {
  emulator->copy(reinterpret_cast<char *>(memory) + int(to), from, Width, unsigned(bytes));
}
inline void storeShared(unsigned to, unsigned short bits) {
  *reinterpret_cast<unsigned short *>(reinterpret_cast<char *>(memory) + int(to)) = bits;
}
inline void commitCopies() { emulator->commitCopies(); }
template <int Open> void waitForCopies() { emulator->waitForCopies(Open); }

// The place is that of the call in a kernel, as in CUDA.h.
#define GNNC_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()
template <typename T> T shuffle(T x, int lane, GNNC_PLACE) { return __shfl_sync(~0u, x, unsigned(lane), file, line); }
template <typename T> T shuffleXor(T x, int lanes, GNNC_PLACE) {
  return __shfl_xor_sync(~0u, x, unsigned(lanes), file, line);
}
template <typename T> T shuffleUp(T x, int by, GNNC_PLACE) { return __shfl_up_sync(~0u, x, unsigned(by), file, line); }
inline unsigned ballot(bool is, GNNC_PLACE) { return __ballot_sync(~0u, is, file, line); }
inline bool anyLane(bool is, GNNC_PLACE) { return __any_sync(~0u, is, file, line) != 0; }
inline bool allLanes(bool is, GNNC_PLACE) { return __all_sync(~0u, is, file, line) != 0; }
inline unsigned largestOfWarp(unsigned x, GNNC_PLACE) {
  for (int mask = 16; mask > 0; mask /= 2) {
    unsigned other = shuffleXor(x, mask, file, line);
    x = x > other ? x : other;
  }
  return x;
}
inline unsigned leastOfWarp(unsigned x, GNNC_PLACE) { return ~largestOfWarp(~x, file, line); }
inline void syncWarp(GNNC_PLACE) { __syncwarp(~0u, file, line); }
#undef GNNC_PLACE

inline float reciprocalApproximately(float x) {
  float y = 1 / x;
  return ::fabsf(y) < 0x1p-126f ? ::copysignf(0.0f, y) : y;
}
inline float divideExactly(float x, float y) { return x / y; }
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

enum class Operands { TF32, BF16, F16 };

/// Launches come one after the other.
inline void followLaunch() {}

/// Ties go away from zero, and all NaNs become one.
inline unsigned roundToTF32(float x) {
  return x != x ? 0x7fffffffu : (__float_as_uint(x) + (x - x == 0 ? 0x1000u : 0)) & ~0x1fffu;
}

/// A number of a register: TF32 is what it begins with, of 16 bits there are two.
template <Operands Kind> float numberOf(unsigned word, unsigned which) {
  const unsigned short half = static_cast<unsigned short>(which ? word >> 16 : word);
  if constexpr (Kind == Operands::TF32)
    return __uint_as_float(word & ~0x1fffu);
  return Kind == Operands::BF16 ? __uint_as_float(unsigned(half) << 16) : fromF16(half);
}

/// mma.m16n8k8 of PTX: tensor cores cut off what TF32 has not, and round nothing.
inline void multiplyAdd(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                        const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  struct Fragments {
    unsigned a[4], b[2];
  };
  const emulation::Given<Fragments> all({"mma.sync", 0, file, line}, ~0u, {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}});
  auto number = [](unsigned word) { return numberOf<Operands::TF32>(word, 0); };
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
/// must stay as it is: shared memory is read then, and registers compared.
struct Products {
  static constexpr int kMost = 64, kMostColumns = 128, kMostDepths = 16;
  struct Product {
    float *sums;
    const unsigned *registers; ///< null: both sides are in shared memory
    unsigned own[4];
    float rows[2][kMostDepths];
    unsigned long long left, right;
    unsigned columns;
    Operands kind;
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

  Sums &sumsOf(float *registers, unsigned columns) {
    for (Sums &sums : held)
      if (sums.open > 0 && sums.registers == registers)
        return sums;
    for (Sums &sums : held)
      if (sums.open == 0) {
        sums.registers = registers;
        for (unsigned i = 0; i < columns / 2; ++i)
          sums.numbers[i] = registers[i], registers[i] = __uint_as_float(0x7fffffffu);
        return sums;
      }
    emulator->fail({"wgmma", 0, __FILE__, __LINE__}, "more sums at a time than are emulated");
    return held[0];
  }
  /// A number of a side in shared memory, by the two strides of its descriptor. Matrices are eight pieces of 16 bytes,
  /// each of which has depths, or, of sides whose rows lie side by side, columns.
  static float numberAt(Operands kind, unsigned long long side, unsigned column, unsigned depth, bool hasRows) {
    const char *base = reinterpret_cast<const char *>(memory) + ((side & 0x3fff) << 4);
    const unsigned toDepths = (side >> 16 & 0x3fff) << 4, toColumns = (side >> 32 & 0x3fff) << 4;
    const unsigned perPiece = kind == Operands::TF32 ? 4 : 8;
    const char *piece = hasRows ? base + column / 8 * toColumns + depth / 8 * toDepths + depth % 8 * 16
                                : base + column / 8 * toColumns + depth / perPiece * toDepths + column % 8 * 16;
    const unsigned at = (hasRows ? column : depth) % perPiece;
    const unsigned word = reinterpret_cast<const unsigned *>(piece)[kind == Operands::TF32 ? at : at / 2];
    return kind == Operands::TF32   ? numberOf<Operands::TF32>(word, 0)
           : kind == Operands::BF16 ? numberOf<Operands::BF16>(word, at % 2)
                                    : numberOf<Operands::F16>(word, at % 2);
  }
  void finish(const Product &product) {
    for (int i = 0; product.registers && i < 4; ++i)
      if (product.registers[i] != product.own[i])
        emulator->fail({"wgmma", 0, __FILE__, __LINE__}, "its registers were written before it was done");
    const bool isShared = !product.registers;
    const unsigned depths = product.kind == Operands::TF32 ? 8 : 16, lane = emulation::ownLane();
    const unsigned row = threadIdx.x / 32 % 4 * 16 + lane / 4;
    Sums &sums = sumsOf(product.sums, product.columns);
    for (unsigned at = 0; at < product.columns / 2; ++at) {
      const unsigned column = at / 4 * 8 + lane % 4 * 2 + at % 2, half = at % 4 / 2;
      float made = 0;
      for (unsigned depth = 0; depth < depths; ++depth)
        made +=
            (isShared ? numberAt(product.kind, product.left, row + half * 8, depth, true) : product.rows[half][depth]) *
            numberAt(product.kind, product.right, column, depth, isShared);
      sums.numbers[at] = product.adds ? sums.numbers[at] + made : made;
    }
    if (--sums.open == 0)
      for (unsigned at = 0; at < product.columns / 2; ++at)
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
  void begin(const Product &product, const char *file, int line) {
    if (count == kMost) {
      emulator->fail({"wgmma", product.columns, file, line}, "more products at a time than are emulated");
      return;
    }
    ++sumsOf(product.sums, product.columns).open;
    groupOf[count] = group;
    begun[count++] = product;
  }
};
inline Products &ownProducts() {
  static Products all[1024];
  return all[threadIdx.x];
}

/// Copies arrive at once, in a phase that ends when all threads have said what they expect.
struct Arrival {
  unsigned char threads, said;
  unsigned short phases; ///< that have ended
  int open;              ///< bytes that are expected and have not been copied
};
inline Arrival &arrivalAt(unsigned arrival) {
  return *reinterpret_cast<Arrival *>(reinterpret_cast<char *>(memory) + int(arrival));
}
inline void makeArrival(unsigned arrival, int threads) {
  arrivalAt(arrival) = {static_cast<unsigned char>(threads), 0, 0, 0};
}
inline void expectBytes(unsigned arrival, unsigned bytes) {
  Arrival &at = arrivalAt(arrival);
  at.open += int(bytes);
  if (++at.said == at.threads)
    at.said = 0, ++at.phases;
}
inline void copyMany(unsigned to, const void *from, unsigned bytes, unsigned arrival) {
  if (bytes % 16 != 0 || to % 16 != 0 || reinterpret_cast<unsigned long long>(from) % 16 != 0)
    emulator->fail({"cp.async.bulk", bytes, __FILE__, __LINE__}, "an address or the bytes are no multiple of 16");
  __builtin_memcpy(reinterpret_cast<char *>(memory) + int(to), from, bytes);
  arrivalAt(arrival).open -= int(bytes);
}
inline void waitForArrival(unsigned arrival, bool isOdd) {
  if ((arrivalAt(arrival).phases % 2 == 1) == isOdd)
    emulator->fail({"mbarrier", 0, __FILE__, __LINE__}, "nobody has begun the copy that is waited for");
  if (arrivalAt(arrival).open != 0)
    emulator->fail({"mbarrier", 0, __FILE__, __LINE__}, "other bytes were copied than expected");
}
inline void showToProducts() {}
inline void beginProducts() {}
inline void commitProducts() { ++ownProducts().group; }
template <int Open> void waitForProducts() { ownProducts().waitFor(Open); }
template <int Count> void holdRegisters(float (&)[Count]) {}
template <Operands Kind, int Columns>
void multiplyAsync(float *sums, const unsigned (&a)[4], unsigned long long right, bool adds,
                   const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  struct Fragments {
    unsigned a[4];
  };
  const emulation::Given<Fragments> all({"wgmma", Columns, file, line}, ~0u, {{a[0], a[1], a[2], a[3]}});
  Products::Product product{sums, a, {a[0], a[1], a[2], a[3]}, {}, 0, right, Columns, Kind, adds};
  constexpr unsigned kNumbers = Kind == Operands::TF32 ? 1 : 2; // of a register
  for (unsigned word = 0; word < 8; ++word) {
    const Fragments rows = all.of(emulation::ownLane() / 4 * 4 + word % 4);
    for (unsigned half = 0; half < 2; ++half)
      for (unsigned which = 0; which < kNumbers; ++which)
        product.rows[half][word * kNumbers + which] = numberOf<Kind>(rows.a[word / 4 * 2 + half], which);
  }
  ownProducts().begin(product, file, line);
}
template <Operands Kind, int Columns>
void multiplySharedAsync(float *sums, unsigned long long left, unsigned long long right, bool adds,
                         const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  static_assert(Kind != Operands::TF32);
  struct Sides {
    unsigned long long left, right;
  };
  const emulation::Given<Sides> all({"wgmma", Columns, file, line}, ~0u, {left, right});
  if (all.of(0).left != left || all.of(0).right != right)
    emulator->fail({"wgmma", Columns, file, line}, "lanes give it other sides");
  ownProducts().begin({sums, nullptr, {}, {}, left, right, Columns, Kind, adds}, file, line);
}
#endif

} // namespace gnnc

#endif // GNNC_KERNELS_PTX_CUH
