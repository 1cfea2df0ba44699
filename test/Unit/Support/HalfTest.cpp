//===- HalfTest.cpp - Conversions of 16-bit numbers -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/Half.h"

#include "llvm/ADT/APFloat.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;

static uint16_t convert(float x, const llvm::fltSemantics &semantics) {
  llvm::APFloat number(x);
  bool losesInfo;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return uint16_t(number.bitcastToAPInt().getZExtValue());
}

TEST(Half, AllNumbersSurvive) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    float b = decodeBF16(uint16_t(bits)), h = decodeF16(uint16_t(bits));
    if (!std::isnan(b))
      EXPECT_EQ(encodeBF16(b), bits);
    if (!std::isnan(h))
      EXPECT_EQ(encodeF16(h), bits);
  }
}

/// Exponents and significands of all sorts, ties and what is next to them.
TEST(Half, RoundsAsLLVMDoes) {
  uint32_t state = 1;
  for (int i = 0; i < 400000; ++i) {
    state = state * 1664525u + 1013904223u;
    uint32_t bits = state;
    if (i % 3 == 0)
      bits = (bits & 0xffff0000u) | (0x7fffu + unsigned(i) % 5); // between two of bf16
    if (i % 3 == 1)
      bits = (bits & 0x8fffe000u) + 0x38000000u + (0xfffu + unsigned(i) % 4); // between two of f16
    float x = std::bit_cast<float>(bits);
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(decodeBF16(encodeBF16(x))) && std::isnan(decodeF16(encodeF16(x))));
      continue;
    }
    ASSERT_EQ(encodeBF16(x), convert(x, llvm::APFloat::BFloat())) << x;
    ASSERT_EQ(encodeF16(x), convert(x, llvm::APFloat::IEEEhalf())) << x;
  }
}
