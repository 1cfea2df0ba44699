//===- SweepPlanTest.cpp - Walks, phases and online softmaxes -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParsedSweep.h"

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// alpha = softmax(s), then `use` of %a, %w = a v.
std::string softmaxOf(const std::string &use) {
  return R"(%a = mpk.softmax %s : tensor<2x1xf32>
            %w = mpdfg.binary mul %a, %v : tensor<2x1xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
            )" +
         use;
}

TEST(SweepPlan, SumTakesOneWalk) {
  ParsedSweep parsed(R"(
    %0 = mpdfg.binary mul %s, %v : tensor<2x1xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %1 = mpk.accumulate sum %0 : tensor<2x4xf32>
    %2 = mpdfg.binary add %1, %o : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    mpk.yield %2 : tensor<2x4xf32>)",
                     {{"owner", "2x4"}});
  SweepPlan plan(parsed.sweep);
  EXPECT_EQ(plan.walks, 1u);
  ASSERT_EQ(plan.accumulates.size(), 1u);
  EXPECT_EQ(plan.accumulates[0].walk, 0u);
  EXPECT_TRUE(plan.accumulates[0].perMember);
  EXPECT_EQ(plan.accumulates[0].online, -1);
  EXPECT_EQ(plan.phases[parsed.value(0)], 0u);
  EXPECT_EQ(plan.phases[parsed.value(1)], 1u);
  EXPECT_EQ(plan.phases[parsed.value(2)], 1u);
  EXPECT_EQ(plan.levels[parsed.value(0)], mpk::Level::Member);
  EXPECT_EQ(plan.levels[parsed.value(2)], mpk::Level::Owner);
}

TEST(SweepPlan, NoMembersNoWalk) {
  ParsedSweep parsed(R"(
    %0 = mpdfg.binary mul %s, %v : tensor<2x1xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %1 = mpk.accumulate sum %0 shared : tensor<2x4xf32>
    mpk.yield %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>)",
                     {{"owner", "2x4"}, {"shared", "2x4"}}, /*members=*/false);
  SweepPlan plan(parsed.sweep);
  EXPECT_EQ(plan.walks, 0u);
  EXPECT_TRUE(plan.accumulates.empty());
  EXPECT_EQ(plan.shared.size(), 1u);
}

TEST(SweepPlan, OwnersValueIsCountedWithoutAWalk) {
  ParsedSweep parsed(R"(
    %0 = mpk.accumulate sum %o : tensor<2x4xf32>
    mpk.yield %0 : tensor<2x4xf32>)",
                     {{"owner", "2x4"}});
  SweepPlan plan(parsed.sweep);
  EXPECT_EQ(plan.walks, 0u);
  ASSERT_EQ(plan.accumulates.size(), 1u);
  EXPECT_FALSE(plan.accumulates[0].perMember);
  EXPECT_EQ(plan.phases[parsed.value(0)], 0u);
}

TEST(SweepPlan, LinearUseOfSoftmaxIsOnline) {
  ParsedSweep parsed(softmaxOf(R"(
    %y = mpk.accumulate sum %w : tensor<2x4xf32>
    %z = mpdfg.unary exp %y : tensor<2x4xf32> -> tensor<2x4xf32>
    mpk.yield %z : tensor<2x4xf32>)"),
                     {{"owner", "2x4"}});
  SweepPlan plan(parsed.sweep);
  EXPECT_EQ(plan.walks, 1u);
  ASSERT_EQ(plan.softmaxes.size(), 1u);
  EXPECT_TRUE(plan.softmaxes[0].online);
  EXPECT_EQ(plan.softmaxes[0].declined, "");
  EXPECT_EQ(plan.softmaxes[0].walk, 0u);
  ASSERT_EQ(plan.accumulates.size(), 1u);
  EXPECT_EQ(plan.accumulates[0].online, 0);
  EXPECT_EQ(plan.accumulates[0].walk, 0u);
  EXPECT_EQ(plan.phases[parsed.value(3)], 1u) << "what follows the sum may use it in any way";
}

TEST(SweepPlan, MaskScalingMeanAndNegationAreLinear) {
  ParsedSweep parsed(softmaxOf(R"(
    %d = mpdfg.detach %w : tensor<2x4xf32> -> tensor<2x4xf32>
    %n = mpdfg.unary neg %d : tensor<2x4xf32> -> tensor<2x4xf32>
    %q = mpdfg.binary div %n, %v : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %b = mpdfg.binary sub %q, %w : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %y = mpk.accumulate mean %b : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)"),
                     {{"owner", "2x4"}});
  SweepPlan plan(parsed.sweep);
  EXPECT_TRUE(plan.softmaxes[0].online);
  EXPECT_EQ(plan.walks, 1u);
}

struct Offline {
  const char *name, *use, *access, *features, *reason;
};

class OfflineSoftmax : public testing::TestWithParam<Offline> {};

TEST_P(OfflineSoftmax, TakesASecondWalk) {
  ParsedSweep parsed(softmaxOf(GetParam().use), {{GetParam().access, GetParam().features}});
  SweepPlan plan(parsed.sweep);
  ASSERT_EQ(plan.softmaxes.size(), 1u);
  EXPECT_FALSE(plan.softmaxes[0].online);
  EXPECT_EQ(plan.softmaxes[0].declined, GetParam().reason);
  EXPECT_EQ(plan.softmaxes[0].walk, 0u) << "the log-sum-exp is made in the first walk";
  EXPECT_EQ(plan.phases[parsed.value(0)], 1u);
  EXPECT_EQ(plan.walks, 2u);
  for (const AccumulatePlan &accumulate : plan.accumulates) {
    EXPECT_EQ(accumulate.walk, 1u);
    EXPECT_EQ(accumulate.online, -1);
  }
}

INSTANTIATE_TEST_SUITE_P(Uses, OfflineSoftmax,
                         testing::Values(Offline{"Max", R"(
    %y = mpk.accumulate max %w : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)",
                                                 "owner", "2x4", "it goes into the max over the members"},
                                         Offline{"Square", R"(
    %q = mpdfg.unary square %w : tensor<2x4xf32> -> tensor<2x4xf32>
    %y = mpk.accumulate sum %q : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)",
                                                 "owner", "2x4", "mpdfg.unary is not linear in it"},
                                         Offline{"Itself", R"(
    %q = mpdfg.binary mul %w, %a : tensor<2x4xf32>, tensor<2x1xf32> -> tensor<2x4xf32>
    %y = mpk.accumulate sum %q : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)",
                                                 "owner", "2x4", "mpdfg.binary is not linear in it"},
                                         Offline{"Divisor", R"(
    %q = mpdfg.binary div %v, %a : tensor<2x4xf32>, tensor<2x1xf32> -> tensor<2x4xf32>
    %y = mpk.accumulate sum %q : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)",
                                                 "owner", "2x4", "mpdfg.binary is not linear in it"},
                                         Offline{"PlusAnother", R"(
    %q = mpdfg.binary add %w, %v : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %y = mpk.accumulate sum %q : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)",
                                                 "owner", "2x4", "mpdfg.binary is not linear in it"},
                                         Offline{"OutputForEachMember", "mpk.yield %a : tensor<2x1xf32>", "member",
                                                 "2x1", "it is a result for each member"},
                                         Offline{"OverEverything", R"(
    %y = mpk.accumulate sum %w shared : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)",
                                                 "shared", "2x4", "a reduction over everything uses it"},
                                         // One running maximum for each head, but one sum for both.
                                         Offline{"HeadsFolded", R"(
    %f = mpdfg.fold sum %w [0] : tensor<2x4xf32> -> tensor<1x4xf32>
    %y = mpk.accumulate sum %f : tensor<1x4xf32>
    mpk.yield %y : tensor<1x4xf32>)",
                                                 "owner", "1x4", "a sum that it weighs lacks one of its axes"},
                                         // The heads come back, but with those of another value.
                                         Offline{"HeadsFoldedAndOthers", R"(
    %f = mpdfg.fold sum %w [0] : tensor<2x4xf32> -> tensor<1x4xf32>
    %q = mpdfg.binary mul %f, %v : tensor<1x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %y = mpk.accumulate sum %q : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)",
                                                 "owner", "2x4", "a sum that it weighs lacks one of its axes"},
                                         Offline{"HeadsTwice", R"(
    %q = mpdfg.contract %w [0, 1], %s [2, 3] -> [0, 2, 1] : tensor<2x4xf32>, tensor<2x1xf32> -> tensor<2x2x4xf32>
    %y = mpk.accumulate sum %q : tensor<2x2x4xf32>
    mpk.yield %y : tensor<2x2x4xf32>)",
                                                 "owner", "2x2x4", "a sum that it weighs has one of its axes twice"}),
                         [](const auto &info) { return info.param.name; });

TEST(SweepPlan, SoftmaxWeighingALaterValueIsOffline) {
  ParsedSweep parsed(softmaxOf(R"(
    %m = mpk.accumulate max %v : tensor<2x4xf32>
    %q = mpdfg.binary mul %w, %m : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %y = mpk.accumulate sum %q : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)"),
                     {{"owner", "2x4"}});
  SweepPlan plan(parsed.sweep);
  EXPECT_FALSE(plan.softmaxes[0].online);
  EXPECT_EQ(plan.softmaxes[0].declined, "a sum that it weighs needs a result of an earlier walk");
  ASSERT_EQ(plan.accumulates.size(), 2u);
  EXPECT_EQ(plan.accumulates[0].walk, 0u);
  EXPECT_EQ(plan.accumulates[1].walk, 1u);
  EXPECT_EQ(plan.walks, 2u);
}

// A forward sweep keeps shift and scale for its backward pass; it asks for them before or after the softmax.
TEST(SweepPlan, StatisticsAreFoundByTheSoftmaxInEitherOrder) {
  std::string use = "%y = mpk.accumulate sum %w : tensor<2x4xf32>\n";
  std::string yield = "mpk.yield %l, %y : tensor<2x1xf32>, tensor<2x4xf32>";
  for (std::string kind : {"logsumexp", "softmax_shift", "softmax_scale"}) {
    std::string statistic = "%l = mpk.accumulate " + kind + " %s : tensor<2x1xf32>\n";
    for (const std::string &body : {statistic + softmaxOf(use) + yield, softmaxOf(use) + statistic + yield}) {
      ParsedSweep parsed(body, {{"owner", "2x1"}, {"owner", "2x4"}});
      SweepPlan plan(parsed.sweep);
      ASSERT_EQ(plan.softmaxes.size(), 1u);
      EXPECT_TRUE(plan.softmaxes[0].online);
      ASSERT_EQ(plan.accumulates.size(), 2u);
      for (const AccumulatePlan &accumulate : plan.accumulates) {
        mpk::AccumulateOp op = accumulate.op;
        EXPECT_EQ(accumulate.statisticOf, mpdfg::isStatistic(op.getKind()) ? 0 : -1) << kind;
        EXPECT_EQ(accumulate.sameAs, -1) << kind;
      }
    }
  }
}

// Without a softmax the first statistic of some scores finds what the others follow from.
TEST(SweepPlan, StatisticsOfTheSameScoresAreFoundTogether) {
  ParsedSweep parsed(R"(
    %m = mpk.accumulate softmax_shift %s : tensor<2x1xf32>
    %n = mpk.accumulate max %s : tensor<2x1xf32>
    %r = mpk.accumulate softmax_scale %s : tensor<2x1xf32>
    %q = mpk.accumulate softmax_scale %v : tensor<2x4xf32>
    %l = mpk.accumulate logsumexp %s : tensor<2x1xf32>
    mpk.yield %m, %n, %r, %q, %l : tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x4xf32>, tensor<2x1xf32>)",
                     {{"owner", "2x1"}, {"owner", "2x1"}, {"owner", "2x1"}, {"owner", "2x4"}, {"owner", "2x1"}});
  SweepPlan plan(parsed.sweep);
  ASSERT_EQ(plan.accumulates.size(), 5u);
  for (auto [i, sameAs] : llvm::enumerate(std::vector<int>{-1, -1, 0, -1, 0})) {
    EXPECT_EQ(plan.accumulates[i].sameAs, sameAs) << i;
    EXPECT_EQ(plan.accumulates[i].isFound(), sameAs >= 0) << i;
  }
  EXPECT_EQ(plan.walks, 1u);
}

// One of other scores is accumulated by itself.
TEST(SweepPlan, LogSumExpOfOtherScoresIsItsOwn) {
  ParsedSweep parsed("%n = mpdfg.unary neg %s : tensor<2x1xf32> -> tensor<2x1xf32>\n"
                     "%l = mpk.accumulate logsumexp %n : tensor<2x1xf32>\n" +
                         softmaxOf("%y = mpk.accumulate sum %w : tensor<2x4xf32>\n"
                                   "mpk.yield %l, %y : tensor<2x1xf32>, tensor<2x4xf32>"),
                     {{"owner", "2x1"}, {"owner", "2x4"}});
  SweepPlan plan(parsed.sweep);
  for (const AccumulatePlan &accumulate : plan.accumulates)
    EXPECT_EQ(accumulate.statisticOf, -1);
}

TEST(SweepPlan, TwoSoftmaxesOfOneWalkAreBothOnline) {
  ParsedSweep parsed(softmaxOf(R"(
    %y = mpk.accumulate sum %w : tensor<2x4xf32>
    %b = mpk.softmax %v : tensor<2x4xf32>
    %x = mpdfg.binary mul %b, %v : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %z = mpk.accumulate sum %x : tensor<2x4xf32>
    mpk.yield %y, %z : tensor<2x4xf32>, tensor<2x4xf32>)"),
                     {{"owner", "2x4"}, {"owner", "2x4"}});
  SweepPlan plan(parsed.sweep);
  ASSERT_EQ(plan.softmaxes.size(), 2u);
  EXPECT_TRUE(plan.softmaxes[0].online);
  EXPECT_TRUE(plan.softmaxes[1].online);
  EXPECT_EQ(plan.accumulates[0].online, 0);
  EXPECT_EQ(plan.accumulates[1].online, 1);
  EXPECT_EQ(plan.walks, 1u);
}

TEST(SweepPlan, ProductOfTwoSoftmaxesIsOnlineForNeither) {
  ParsedSweep parsed(softmaxOf(R"(
    %b = mpk.softmax %v : tensor<2x4xf32>
    %x = mpdfg.binary mul %w, %b : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %y = mpk.accumulate sum %x : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)"),
                     {{"owner", "2x4"}});
  SweepPlan plan(parsed.sweep);
  ASSERT_EQ(plan.softmaxes.size(), 2u);
  EXPECT_FALSE(plan.softmaxes[0].online);
  EXPECT_FALSE(plan.softmaxes[1].online);
  EXPECT_EQ(plan.accumulates[0].walk, 1u);
  EXPECT_EQ(plan.walks, 2u);
}

TEST(SweepPlan, SoftmaxOfAMovedBackSumIsOnlineInTheSecondWalk) {
  ParsedSweep parsed(R"(
    %t = mpk.accumulate sum %s : tensor<2x1xf32>
    %d = mpdfg.binary div %s, %t : tensor<2x1xf32>, tensor<2x1xf32> -> tensor<2x1xf32>
    %a = mpk.softmax %d : tensor<2x1xf32>
    %w = mpdfg.binary mul %a, %v : tensor<2x1xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
    %y = mpk.accumulate sum %w : tensor<2x4xf32>
    mpk.yield %y : tensor<2x4xf32>)",
                     {{"owner", "2x4"}});
  SweepPlan plan(parsed.sweep);
  EXPECT_TRUE(plan.softmaxes[0].online);
  EXPECT_EQ(plan.softmaxes[0].walk, 1u);
  ASSERT_EQ(plan.accumulates.size(), 2u);
  EXPECT_EQ(plan.accumulates[0].walk, 0u);
  EXPECT_EQ(plan.accumulates[1].walk, 1u);
  EXPECT_EQ(plan.accumulates[1].online, 0);
  EXPECT_EQ(plan.walks, 2u);
  EXPECT_EQ(plan.phases[parsed.value(1)], 1u);
}

} // namespace
