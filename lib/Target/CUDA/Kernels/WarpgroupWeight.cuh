//===- WarpgroupWeight.cuh - A weight as warpgroups want it -----*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The right side of WarpgroupProduct.cuh in shared memory, in both parts (MatrixUnits.cuh): the depths of a chunk lie
// in the order in which lanes have them. Either all depths of some columns stay there for as long as the block runs,
// or, where they would not fit, a panel of depths at a time: while one is multiplied, the next is put beside it, and
// the one after that is on its way from memory. Each thread puts the numbers that it has copied, so none waits for
// another.
//
// A weight is float32. For rows of 16 bits it is two numbers of their type: of bf16 16 bits in all, which leave out
// 2^-18 of it, of f16 22. f16 has few exponents, so it is multiplied by a power of two that brings the largest number
// near to 2^14, and the sums are divided by it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_WARPGROUPWEIGHT_CUH
#define GNNC_KERNELS_WARPGROUPWEIGHT_CUH

#include "TensorProduct.cuh"
#include "Warpgroups.cuh"

#ifdef GNNC_HAS_WARPGROUPS

namespace gnnc {

/// Depths of which a lane has its numbers at once, those of two products.
template <Operands Kind> constexpr int kChunk = 2 * kStepDepth<Kind>;

/// What a weight is multiplied by, and what sums are multiplied by for that.
struct WeightScale {
  float factor = 1, back = 1;
};

/// That of so many depths; all threads of a block call it. weight(k, n) is a number, or zero.
template <Operands Kind, int Columns, int Depths, int Threads, typename Weight>
GNNC_DEVICE WeightScale scaleOf(float *memory, Weight weight) {
  WeightScale scale;
  if constexpr (Kind == Operands::F16) {
    float most = 0; // of the finite ones
    _Pragma("unroll 8") for (int at = threadIdx.x; at < Depths * Columns; at += Threads) {
      const float w = fabsf(weight(at / Columns, at % Columns));
      most = w > most && w <= 0x1.fffffep127f ? w : most;
    }
    GNNC_FOR_STEP(i, 5, 1) most = fmaxf(most, shuffleXor(most, 1 << i));
    if (lane() == 0)
      memory[threadIdx.x / 32] = most;
    __syncthreads();
    GNNC_FOR(i, Threads / 32) most = fmaxf(most, memory[i]);
    __syncthreads();
    const int exponent = int(__float_as_uint(most) >> 23) - 127;
    const int shift = 14 - (exponent < -100 ? -100 : exponent); // so that both factors are normal
    scale.factor = __uint_as_float(unsigned(127 + shift) << 23);
    scale.back = __uint_as_float(unsigned(127 - shift) << 23);
  }
  return scale;
}

/// Depths x Columns numbers of a weight in shared memory, both parts one behind the other if Splits.
template <Operands Kind, int Columns, int Depths, bool Splits> struct WeightTile {
  using Tile = RightTile<Kind, Columns>;
  static constexpr int kInWord = Kind == Operands::TF32 ? 1 : 2, kPart = Depths * Columns / kInWord;
  static constexpr int kWords = kPart * (Splits ? 2 : 1);
  static_assert(Depths % kChunk<Kind> == 0 && Columns % 8 == 0);

  /// Of eight columns and four depths, in words, that lie in other banks, each lane has one word. Such pieces are
  /// kColumns beside each other, eight columns and kToNext words apart; each warp has them of other depths.
  static constexpr int kPieces = Depths / kInWord / 4, kColumns = Columns / 8, kToNext = 64;
  struct Place {
    int k, n, word; ///< the first depth and the column of the first one's numbers, and where they are put
    GNNC_DEVICE explicit Place(int piece) {
      // Depth 4 t + 2 s + h of a chunk, in words, is number t + 4 h of its step s.
      const int t = lane() / 8, chunk = piece / 4, s = piece % 4 / 2, h = piece % 2;
      k = (chunk * 16 + t * 4 + piece % 4) * kInWord, n = lane() % 8;
      word = Tile::placeOf(chunk * 2 + s, (t + 4 * h) * kInWord, n) / kInWord;
    }
  };
  GNNC_DEVICE static void put(float *memory, int word, const float (&w)[kInWord]) {
    unsigned high, low = 0;
    if constexpr (Kind != Operands::TF32)
      splitPair<Kind>(w, high, low);
    else if constexpr (Splits)
      splitNumber(w[0], high, low);
    else
      high = roundToTF32(w[0]);
    memory[word] = __uint_as_float(high);
    if constexpr (Splits)
      memory[kPart + word] = __uint_as_float(low);
  }
  /// Puts all of it there. weight(k, n) is a number, or zero.
  template <int Threads, typename Weight> GNNC_DEVICE static void place(float *memory, float factor, Weight weight) {
    _Pragma("unroll 1") for (int piece = threadIdx.x / 32; piece < kPieces; piece += Threads / 32) {
      const Place place(piece);
      _Pragma("unroll 8") for (int i = 0; i < kColumns; ++i) {
        float w[kInWord];
        GNNC_FOR(e, kInWord) w[e] = weight(place.k + e, place.n + 8 * i) * factor;
        put(memory, place.word + i * kToNext, w);
      }
    }
  }
};

/// Panels of Depths depths, which go around: after the last there comes the first. Two tiles, then what is on its way.
template <Operands Kind, int Columns, int Depths, int Panels, int Threads, bool Splits> struct WeightPanels {
  using Tile = WeightTile<Kind, Columns, Depths, Splits>;
  static constexpr int kWords = 2 * Tile::kWords + Depths * Columns;
  float *const memory;
  const float factor;
  int current = 0, coming = 0; ///< the tile that is multiplied; the panel that is copied next

  /// copy(to, k, n) begins a copy of one number to an address.
  template <typename Copy> GNNC_DEVICE void begin(Copy copy) {
    copyNext(copy);
    putNext(copy);
    current ^= 1;
  }
  /// Puts the panel after the current one into the other tile, which nobody may be reading.
  template <typename Copy> GNNC_DEVICE void putNext(Copy copy) {
    waitForCopies<0>();
    float *const other = memory + (current ^ 1) * Tile::kWords;
    const float *from = memory + 2 * Tile::kWords + threadIdx.x;
    _Pragma("unroll 1") for (int piece = threadIdx.x / 32; piece < Tile::kPieces; piece += kWarps) {
      float *to = other + typename Tile::Place(piece).word;
      _Pragma("unroll 2") for (int i = 0; i < Tile::kColumns; ++i, to += Tile::kToNext) {
        float w[Tile::kInWord];
        GNNC_FOR(e, Tile::kInWord) w[e] = from[0] * factor, from += kWarps * 32;
        Tile::put(to, 0, w);
      }
    }
    copyNext(copy);
  }

private:
  static constexpr int kWarps = Threads / 32;
  template <typename Copy> GNNC_DEVICE void copyNext(Copy copy) {
    static_assert(Tile::kPieces % kWarps == 0); // what threads copy lies Threads apart
    unsigned to = sharedAddress(memory + 2 * Tile::kWords + threadIdx.x);
    _Pragma("unroll 1") for (int piece = threadIdx.x / 32; piece < Tile::kPieces; piece += kWarps) {
      const typename Tile::Place place(piece);
      _Pragma("unroll 2") for (int i = 0; i < Tile::kColumns; ++i) GNNC_FOR(e, Tile::kInWord) {
        copy(to, coming * Depths + place.k + e, place.n + 8 * i);
        to += Threads * 4;
      }
    }
    commitCopies();
    coming = coming + 1 == Panels ? 0 : coming + 1;
  }
};

} // namespace gnnc

#endif // GNNC_HAS_WARPGROUPS
#endif // GNNC_KERNELS_WARPGROUPWEIGHT_CUH
