//===- Half.cuh - Rows that memory holds in 16 bits -------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bf16 and f16 are only read and written; in registers numbers are float32. `readRow` and `writeRow` take numbers that
// lie side by side from and to memory of any type, up to 16 bytes (float32: 32) of them. Conversions are those of PTX
// ("cvt"), to the nearest, ties to even, for sm_80 and later.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_HALF_CUH
#define GNNC_KERNELS_HALF_CUH

#include "Lanes.cuh"

namespace gnnc {

/// The upper half of a float32.
struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};

/// One of two types.
template <bool First, typename T, typename Other> struct Choice {
  using Type = T;
};
template <typename T, typename Other> struct Choice<false, T, Other> {
  using Type = Other;
};

template <typename T> constexpr bool kIsHalf = false;
template <> constexpr bool kIsHalf<bf16> = true;
template <> constexpr bool kIsHalf<const bf16> = true;
template <> constexpr bool kIsHalf<f16> = true;
template <> constexpr bool kIsHalf<const f16> = true;

/// What matrix units take numbers for: float32 as TF32.
template <typename T> constexpr Operands kOperands = Operands::TF32;
template <> constexpr Operands kOperands<bf16> = Operands::BF16;
template <> constexpr Operands kOperands<const bf16> = Operands::BF16;
template <> constexpr Operands kOperands<f16> = Operands::F16;
template <> constexpr Operands kOperands<const f16> = Operands::F16;

GNNC_DEVICE float widen(bf16 x) { return __uint_as_float(unsigned(x.bits) << 16); }
GNNC_DEVICE float widen(f16 x) { return fromF16(x.bits); }
/// Two numbers, of which the lower bits are the first. The last argument only says their type.
GNNC_DEVICE void widenPair(float *to, unsigned pair, const bf16 *) {
  to[0] = __uint_as_float(pair << 16), to[1] = __uint_as_float(pair & 0xffff0000u);
}
GNNC_DEVICE void widenPair(float *to, unsigned pair, const f16 *) {
  to[0] = widen(f16{static_cast<unsigned short>(pair)}), to[1] = widen(f16{static_cast<unsigned short>(pair >> 16)});
}

GNNC_DEVICE bf16 narrow(float x, bf16) { return {toBF16(x)}; }
GNNC_DEVICE f16 narrow(float x, f16) { return {toF16(x)}; }
GNNC_DEVICE unsigned narrowPair(const float *from, bf16) { return toBF16Pair(from[0], from[1]); }
GNNC_DEVICE unsigned narrowPair(const float *from, f16) { return toF16Pair(from[0], from[1]); }

/// To, const where From is.
template <typename From, typename To> struct SameConstAs {
  using Type = To;
};
template <typename From, typename To> struct SameConstAs<const From, To> {
  using Type = const To;
};
template <typename From, typename To> using SameConst = typename SameConstAs<From, To>::Type;

/// Words of 32 bits that are one access.
template <int Words> struct PackedWords;
template <> struct PackedWords<2> {
  using Type = uint2;
};
template <> struct PackedWords<4> {
  using Type = uint4;
};

/// As `load`, from memory of any type.
template <int V, typename T, typename From> GNNC_DEVICE void readRow(T *to, From *from) {
  if constexpr (!kIsHalf<From>) {
    constexpr int kOnce = V * int(sizeof(T)) > 16 ? 16 / int(sizeof(T)) : V;
    GNNC_FOR_STEP(v, V, kOnce) load<kOnce>(to + v, from + v);
  } else if constexpr (V == 1) {
    From number = {read(reinterpret_cast<SameConst<From, unsigned short> *>(from))};
    to[0] = widen(number);
  } else {
    unsigned words[V / 2];
    if constexpr (V == 2) {
      words[0] = read(reinterpret_cast<SameConst<From, unsigned> *>(from));
    } else {
      using Words = typename PackedWords<V / 2>::Type;
      Words all;
      if constexpr (kIsConst<From>)
        all = __ldg(reinterpret_cast<const Words *>(from));
      else
        all = *reinterpret_cast<const Words *>(from);
      words[0] = all.x, words[1] = all.y;
      if constexpr (V == 8)
        words[2] = all.z, words[3] = all.w;
    }
    GNNC_FOR(w, V / 2) widenPair(to + 2 * w, words[w], from);
  }
}
/// V numbers of 16 bits as they are, two in a word, the first in its lower half; of a single one the other is zero.
template <int V, typename H> GNNC_DEVICE void readBits(unsigned *words, const H *from) {
  static_assert(kIsHalf<H>);
  if constexpr (V == 1) {
    words[0] = __ldg(reinterpret_cast<const unsigned short *>(from));
  } else if constexpr (V == 2) {
    words[0] = __ldg(reinterpret_cast<const unsigned *>(from));
  } else {
    const auto all = __ldg(reinterpret_cast<const typename PackedWords<V / 2>::Type *>(from));
    words[0] = all.x, words[1] = all.y;
    if constexpr (V == 8)
      words[2] = all.z, words[3] = all.w;
  }
}
template <int V, typename T> GNNC_DEVICE void writeHalf(T *to, const float *from) {
  if constexpr (V == 1) {
    to[0] = narrow(from[0], T());
  } else if constexpr (V == 2) {
    *reinterpret_cast<unsigned *>(to) = narrowPair(from, T());
  } else {
    typename PackedWords<V / 2>::Type words;
    words.x = narrowPair(from, T()), words.y = narrowPair(from + 2, T());
    if constexpr (V == 8)
      words.z = narrowPair(from + 4, T()), words.w = narrowPair(from + 6, T());
    storeTogether(to, words);
  }
}
/// As `store`, to memory of any type.
template <int V, typename T, typename To> GNNC_DEVICE void writeRow(To *to, const T *from) {
  if constexpr (kIsHalf<To>) {
    writeHalf<V>(to, from);
  } else {
    constexpr int kOnce = V * int(sizeof(T)) > 16 ? 16 / int(sizeof(T)) : V;
    GNNC_FOR_STEP(v, V, kOnce) store<kOnce>(to + v, from + v);
  }
}

/// One number.
template <typename H> GNNC_DEVICE float readOne(H *from) {
  float number;
  readRow<1>(&number, from);
  return number;
}
GNNC_DEVICE float read(const bf16 *from) { return readOne(from); }
GNNC_DEVICE float read(bf16 *from) { return readOne(from); }
GNNC_DEVICE float read(const f16 *from) { return readOne(from); }
GNNC_DEVICE float read(f16 *from) { return readOne(from); }
template <typename To> GNNC_DEVICE void writeOne(To *to, float number) { writeRow<1>(to, &number); }

} // namespace gnnc

#endif // GNNC_KERNELS_HALF_CUH
