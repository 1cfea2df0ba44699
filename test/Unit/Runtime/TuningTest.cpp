//===- TuningTest.cpp - Choices that were measured ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function with two alternatives and a sweep with three schedules, by hand.
//
//===----------------------------------------------------------------------===//

#include "Tuning.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace gnnc;
using namespace gnnc::runtime;
using namespace gnnc::table;

namespace {

class TuningTest : public testing::Test {
protected:
  TuningTest() {
    Header header{};
    header.digest = 0xabc;
    table.assign(sizeof(Header) / sizeof(int64_t), 0);
    auto append = [&](const auto &records) {
      int64_t at = static_cast<int64_t>(table.size());
      const auto *words = reinterpret_cast<const int64_t *>(records.data());
      table.insert(table.end(), words, words + records.size() * sizeof(records[0]) / sizeof(int64_t));
      return at;
    };
    std::vector<SpaceRec> spaces(2);
    spaces[0].name = name("node"), spaces[1].name = name("edge");
    header.spacesAt = append(spaces), header.numSpaces = 2;
    std::vector<FunctionRec> functions(4);
    functions[0].name = name("forward"), functions[1].name = name("other");
    functions[2].name = name("forward.a"), functions[3].name = name("forward.b");
    header.functionsAt = append(functions), header.numFunctions = 4;
    std::vector<AlternativeRec> alternatives(2);
    alternatives[0].function = 2, alternatives[1].function = 3;
    header.alternativesAt = append(alternatives), header.numAlternatives = 2;
    std::vector<LaunchRec> launches(5);
    launches[0].kernel = name("product"), launches[0].grid = GridElements;
    launches[1].kernel = name("k1"), launches[1].grid = GridItems;
    launches[2].kernel = name("k1_by2"), launches[2].grid = GridItems;
    launches[3].kernel = name("k1_by1"), launches[3].grid = GridItems;
    launches[4].kernel = name("k1_merge"), launches[4].grid = GridHeavyOwners;
    header.launchesAt = append(launches), header.numLaunches = 5;
    std::vector<DeviceStepRec> steps(2);
    steps[0].numLaunches = 1;
    steps[1].firstLaunch = 1, steps[1].numLaunches = 4;
    header.deviceStepsAt = append(steps), header.numDeviceSteps = 2;
    std::vector<StepRec> stepNames(2);
    stepNames[0].name = name("product"), stepNames[1].name = name("k1");
    header.stepsAt = append(stepNames), header.numSteps = 2;
    std::copy_n(reinterpret_cast<const int64_t *>(&header), sizeof(Header) / sizeof(int64_t), table.begin());
    model.table = table.data();
    model.names = names.data();
  }

  int64_t name(const std::string &text) {
    int64_t at = static_cast<int64_t>(names.size());
    names += text + '\0';
    return at;
  }

  gnnc_status read(const std::string &text, int64_t architecture = kOnCPU, int64_t nodes = 100, int64_t edges = 1000) {
    int64_t extents[] = {nodes, edges};
    tuning = Tuning();
    error = {};
    return readTuning(model, text.c_str(), architecture, extents, memory, tuning, &error);
  }
  int64_t chosen() const { return tuning.functions ? tuning.functions[0] : -1; }

  std::string names;
  std::vector<int64_t> table;
  Model model{};
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
