//===- Half.h - Floating-point numbers of 16 bits ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bf16 (8 bits of significand, the exponents of float32) and f16 (11 bits, exponents of 5 bits) are only kept in
// memory; numbers are computed with as float32. Rounding is to nearest, ties to even, as processors and GPUs convert.
// Written out because neither libc nor every compiler's runtime library has the conversions.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_HALF_H
#define GNNC_SUPPORT_HALF_H

#include <bit>
#include <cstdint>

namespace gnnc {

/// What rows of spaces are kept as in memory: as they are computed, or narrower.
enum class Storage { AsComputed, BF16, F16 };

inline float decodeBF16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// Not-a-number stays one, and quiet.
inline uint16_t encodeBF16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float decodeF16(uint16_t half) {
  uint32_t magnitude = half & 0x7fff, bits;
  if (magnitude >= 0x7c00)
    bits = 0x7f800000 | (magnitude & 0x3ff) << 13;
  else if (magnitude < 0x400)
    bits = std::bit_cast<uint32_t>(float(magnitude) * 0x1p-24f);
  else
    bits = (magnitude << 13) + (112u << 23); // another bias of the exponent
  return std::bit_cast<float>(bits | uint32_t(half & 0x8000) << 16);
}

/// Numbers beyond 65504 that do not round to it become infinite.
inline uint16_t encodeF16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return uint16_t(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000)
    return uint16_t(sign | 0x7c00);
  // Below 2^-14 the addition rounds to multiples of 2^-24, which is what is left of the significand.
  if (magnitude < 0x38800000)
    return uint16_t(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000));
  return uint16_t(sign | (((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (112u << 10)));
}

} // namespace gnnc

#endif // GNNC_SUPPORT_HALF_H
