//===- PhiloxTest.cpp - Counter-based random numbers ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/Philox.h"

#include <gtest/gtest.h>

using namespace gnnc;

namespace {

/// The known answers of the generator's authors (Random123, kat_vectors) for ten rounds.
TEST(Philox, KnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}, 10), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, 10), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, 10),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, FourFeaturesShareACounter) {
  for (uint32_t feature = 0; feature < 12; ++feature) {
    std::array<uint32_t, 4> words = philox({9, feature / 4, 3, 5}, {1, 2});
    EXPECT_EQ(philoxUniform({9, feature, 3, 5}, {1, 2}), double(words[feature % 4] >> 8) * 0x1p-24);
  }
}

TEST(Philox, UniformNumbersFillTheUnitInterval) {
  double sum = 0, squares = 0;
  int count = 100000;
  for (int i = 0; i < count; ++i) {
    double x = philoxUniform({uint32_t(i), 0, 3, 5}, {1, 2});
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    EXPECT_EQ(x, double(float(x))) << "exact in single precision";
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / count, 0.5, 0.004); // more than four standard deviations
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.004);
}

} // namespace
