//===- Philox.h - Counter-based random numbers ------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-7 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011): a bijection of counters, so
// any number of the stream can be computed without those before it. Targets emit the same arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_PHILOX_H
#define GNNC_SUPPORT_PHILOX_H

#include <array>
#include <cstdint>

namespace gnnc {

constexpr int kPhiloxRounds = 7;
constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53, kPhiloxMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9, kPhiloxWeyl1 = 0xBB67AE85;

/// Four random words for a counter under a key.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key,
                                         int rounds = kPhiloxRounds) {
  for (int round = 0; round < rounds; ++round) {
    uint64_t product0 = uint64_t(kPhiloxMultiplier0) * counter[0], product1 = uint64_t(kPhiloxMultiplier1) * counter[2];
    counter = {uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
               uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    key = {key[0] + kPhiloxWeyl0, key[1] + kPhiloxWeyl1};
  }
  return counter;
}

/// A multiple of 2^-24 in [0, 1), exact in single precision: the four words of a counter are the numbers of four
/// features, so that a row takes a quarter of the work. `counter` is (element, feature, site, step).
constexpr double philoxUniform(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  uint32_t word = counter[1] % 4;
  counter[1] /= 4;
  return double(philox(counter, key)[word] >> 8) * 0x1p-24;
}

} // namespace gnnc

#endif // GNNC_SUPPORT_PHILOX_H
