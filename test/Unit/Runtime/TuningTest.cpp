//===- TuningTest.cpp - Choices that were measured ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TunedModel.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::runtime;

namespace {

class TuningTest : public testing::Test {
protected:
  gnnc_status read(const std::string &text, int64_t architecture = kOnCPU, int64_t nodes = 100, int64_t edges = 1000) {
    int64_t extents[] = {nodes, edges};
    tuning = Tuning();
    error = {};
    return readTuning(tuned.model, text.c_str(), architecture, extents, memory, tuning, &error);
  }
  int64_t chosen() const { return tuning.functions ? tuning.functions[0] : -1; }

  test::TunedModel tuned;
  Memory memory{defaultAllocator()};
  Tuning tuning;
  gnnc_error error = {};
};

const std::string head = "gnnc-tune 1 0000000000000abc\n";

} // namespace

TEST_F(TuningTest, GraphsLikeThoseThatWereTuned) {
  std::string text = head + "graph cpu # a comment\nextent node 100\nextent edge 1000\nfunction forward forward.a\n\n"
                            "# another\r\ngraph cpu\n extent node 120\textent\n";
  EXPECT_EQ(read(text), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "tuning, line 9: expected the end of the line, found 'extent'");
  text = head + "graph cpu # a comment\nextent node 100\nextent edge 1000\nfunction forward forward.a\n\n"
                "# another\r\ngraph cpu\n extent\tnode 120 \r\nextent edge 1000\nfunction forward forward.b";
  ASSERT_EQ(read(text), GNNC_OK) << error.message;
  EXPECT_EQ(chosen(), 2);
  EXPECT_EQ(tuning.functions[1], -1);
  EXPECT_EQ(tuning.least[1], -1);
  // The nearest of those that are not too far.
  ASSERT_EQ(read(text, kOnCPU, 115), GNNC_OK);
  EXPECT_EQ(chosen(), 3);
  ASSERT_EQ(read(text, kOnCPU, 149), GNNC_OK);
  EXPECT_EQ(chosen(), 3);
  ASSERT_EQ(read(text, kOnCPU, 151), GNNC_OK);
  EXPECT_EQ(chosen(), -1);
  ASSERT_EQ(read(text, kOnCPU, 100, 799), GNNC_OK);
  EXPECT_EQ(chosen(), -1);
  ASSERT_EQ(read(text, 90), GNNC_OK);
  EXPECT_EQ(chosen(), -1);
  // Nothing is like an empty space but an empty one.
  ASSERT_EQ(read(head + "graph cpu\nextent node 0\nfunction forward forward.a\n", kOnCPU, 0), GNNC_OK);
  EXPECT_EQ(chosen(), 2);
  ASSERT_EQ(read(head + "graph cpu\nextent node 0\nfunction forward forward.a\n", kOnCPU, 1), GNNC_OK);
  EXPECT_EQ(chosen(), -1);
  ASSERT_EQ(read(head), GNNC_OK);
  EXPECT_EQ(chosen(), -1);
}

TEST_F(TuningTest, Sweeps) {
  std::string text =
      head + "graph cuda 90\nextent node 100\nsweep k1 by_size 64 16\ngraph cuda 80\nsweep k1 by_owner 2 2\n";
  ASSERT_EQ(read(text, 90), GNNC_OK) << error.message;
  EXPECT_EQ(std::vector<int64_t>(tuning.least, tuning.least + 5), (std::vector<int64_t>{-1, 64, 16, 0, -1}));
  EXPECT_TRUE(tuning.bySize[1] && tuning.bySize[3]);
  ASSERT_EQ(read(text, 80), GNNC_OK);
  EXPECT_EQ(tuning.least[2], 2);
  EXPECT_FALSE(tuning.bySize[2]);
  // Without the device any will do.
  ASSERT_EQ(read(text, kAnyGPU), GNNC_OK);
  EXPECT_NE(tuning.least, nullptr);
  ASSERT_EQ(read(text, kOnCPU), GNNC_OK);
  EXPECT_EQ(tuning.least, nullptr);
}

TEST_F(TuningTest, Errors) {
  const struct {
    std::string text;
    gnnc_status status;
    const char *message;
  } cases[] = {
      {"", GNNC_INVALID_ARGUMENT, "tuning, line 1: expected 'gnnc-tune', found 'nothing'"},
      {"{}", GNNC_INVALID_ARGUMENT, "tuning, line 1: expected 'gnnc-tune', found '{}'"},
      {"gnnc-tune", GNNC_INVALID_ARGUMENT, "tuning, line 1: expected a version, found ''"},
      {"gnnc-tune 2 0000000000000abc\n", GNNC_VERSION_MISMATCH, "tuning: expected version 1, found 2; tune again"},
      {"gnnc-tune 1 abc\n", GNNC_INVALID_ARGUMENT,
       "tuning, line 1: expected a digest of 16 hexadecimal digits, found 'abc'"},
      {"gnnc-tune 1 0000000000000abd\n", GNNC_VERSION_MISMATCH,
       "tuning: it is for another compilation of the model: expected 0000000000000abc, found 0000000000000abd; tune "
       "again"},
      {head + "extent node 3", GNNC_INVALID_ARGUMENT, "tuning, line 2: expected graph, found 'extent'"},
      {head + "graph tpu", GNNC_INVALID_ARGUMENT, "tuning, line 2: expected cpu or cuda, found 'tpu'"},
      {head + "graph cuda sm_90", GNNC_INVALID_ARGUMENT,
       "tuning, line 2: expected an architecture, such as 90, found 'sm_90'"},
      {head + "graph cpu\nextent nodes 3", GNNC_INVALID_ARGUMENT,
       "tuning, line 3: expected a space of the model, found 'nodes'"},
      {head + "graph cpu\nextent node -3", GNNC_INVALID_ARGUMENT, "tuning, line 3: expected an extent, found '-3'"},
      {head + "graph cpu\nextent node 99999999999999999999999", GNNC_INVALID_ARGUMENT,
       "tuning, line 3: expected an extent, found '99999999999999999999999'"},
      {head + "graph cpu\nfunction backward forward", GNNC_INVALID_ARGUMENT,
       "tuning, line 3: expected a function of the model, found 'backward'"},
      {head + "graph cpu\nfunction forward other", GNNC_INVALID_ARGUMENT,
       "tuning, line 3: expected that function or an alternative to it, found 'other'"},
      {head + "graph cuda 90\nsweep k1_by2 by_size 3 2", GNNC_INVALID_ARGUMENT,
       "tuning, line 3: expected a sweep of the model, found 'k1_by2'"},
      {head + "graph cuda 90\nsweep k1 3 2", GNNC_INVALID_ARGUMENT,
       "tuning, line 3: expected by_size or by_owner, found '3'"},
      {head + "graph cuda 90\nsweep k1 by_size 3", GNNC_INVALID_ARGUMENT,
       "tuning, line 3: expected a number of members for each schedule but the last, none greater than that before it, "
       "found ''"},
      {head + "graph cuda 90\nsweep k1 by_size 3 4", GNNC_INVALID_ARGUMENT,
       "tuning, line 3: expected a number of members for each schedule but the last, none greater than that before it, "
       "found '4'"},
      {head + "graph cpu\n\nlike node", GNNC_INVALID_ARGUMENT,
       "tuning, line 4: expected graph, extent, function or sweep, found 'like'"},
  };
  for (const auto &one : cases) {
    EXPECT_EQ(read(one.text), one.status) << one.text;
    EXPECT_STREQ(error.message, one.message);
    EXPECT_EQ(tuning.functions, nullptr);
  }
}
