//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What is wrong with the parts of ranks, and ranks that fail or leave: nobody waits for ever, and all say why.
//
//===----------------------------------------------------------------------===//

#include "RanksModel.h"
#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

extern "C" const gnnc_api *gnnc_model();

namespace {

class RanksErrorTest : public ::testing::Test {
protected:
  static constexpr int kSize = 3;

  /// What each rank's prepare_part says; empty: it succeeded.
  std::vector<std::string> prepareAll() {
    std::vector<std::string> said(kSize);
    ThreadRanks ranks(kSize, ThreadRanks::Milliseconds(5000));
    ranks.run([&](int rank, const gnnc_collectives &collectives) {
      gnnc_context *context = test::open(model.model);
      gnnc_graph *graph = nullptr;
      gnnc_error error = {};
      RankPart &part = parts[size_t(rank)];
      if (api->prepare_part(context, &part.data.desc(), part.describe(&collectives), &graph, &error))
        said[size_t(rank)] = error.message;
      EXPECT_EQ(graph == nullptr, !said[size_t(rank)].empty());
      api->free_graph(graph);
      api->close(context);
      return std::string();
    });
    return said;
  }

  /// One rank prepares for `collectives` without the others, to no avail.
  void expectAlone(const gnnc_part_desc &part, gnnc_status status, const std::string &message) {
    gnnc_context *context = test::open(model.model);
    gnnc_graph *graph = nullptr;
    gnnc_error error = {};
    EXPECT_EQ(api->prepare_part(context, &parts[0].data.desc(), &part, &graph, &error), status);
    EXPECT_EQ(error.message, message);
    EXPECT_EQ(graph, nullptr);
    api->close(context);
  }

  RanksModel model;
  std::deque<RankPart> parts = cutRandomly(1, 30, kSize);
  const gnnc_api *api = gnnc_model();
};

} // namespace

TEST_F(RanksErrorTest, PartsAreFine) { EXPECT_EQ(prepareAll(), std::vector<std::string>(kSize)); }

TEST_F(RanksErrorTest, AllFailIfOneDoes) {
  parts[1].data.each("node.sent", parts[1].sent);
  EXPECT_EQ(prepareAll(), (std::vector<std::string>{"prepare failed on rank 1 of 3: map 'node.sent' is given twice",
                                                    "map 'node.sent' is given twice",
                                                    "prepare failed on rank 1 of 3: map 'node.sent' is given twice"}));
}

TEST_F(RanksErrorTest, CountsThatDoNotFit) {
  // The sums are right.
  std::swap(parts[2].haloCounts[0], parts[2].haloCounts[1]);
  ASSERT_NE(parts[2].haloCounts[0], parts[2].haloCounts[1]);
  std::string expected = "rank 0 has " + std::to_string(parts[0].sendCounts[2]) +
                         " elements of 'node.send' for rank 2, which expects " +
                         std::to_string(parts[2].haloCounts[0]) + " of 'node.halo': the parts are not of one partition";
  EXPECT_EQ(prepareAll(), std::vector<std::string>(kSize, expected));
}

TEST_F(RanksErrorTest, CountsThatAreWrong) {
  ++parts[0].haloCounts[1];
  std::string elements = std::to_string(parts[0].halo.size()), found = std::to_string(parts[0].halo.size() + 1);
  EXPECT_EQ(prepareAll()[0],
            "space 'node.halo': expected counts that add up to its " + elements + " elements, found " + found);
  parts[0].haloCounts[1] = -1;
  EXPECT_EQ(prepareAll()[0], "space 'node.halo': expected a count of elements for rank 1, found -1");
}

TEST_F(RanksErrorTest, Arguments) {
  gnnc_collectives none = {sizeof none, 0, 2, 1, nullptr, nullptr, nullptr, nullptr};
  auto exchange = [](void *, const void *, const int64_t *, void *, const int64_t *, int64_t, void *, gnnc_error *) {
    return GNNC_OK;
  };
  auto gather = [](void *, const void *, void *, int64_t, void *, gnnc_error *) { return GNNC_OK; };
  auto host = [](void *, const void *, void *, int64_t, gnnc_error *error) {
    snprintf(error->message, sizeof error->message, "nobody is there");
    return GNNC_DEVICE_ERROR;
  };
  expectAlone({1, 0, nullptr, &none}, GNNC_VERSION_MISMATCH, "part description: expected struct_size 24, found 1");
  expectAlone({sizeof(gnnc_part_desc), 0, nullptr, nullptr}, GNNC_INVALID_ARGUMENT,
              "part description: collectives is null");
  expectAlone({sizeof(gnnc_part_desc), 0, nullptr, &none}, GNNC_INVALID_ARGUMENT, "collectives: 'exchange' is null");
  gnnc_collectives wrong = {sizeof wrong, 2, 2, 1, nullptr, exchange, gather, host};
  expectAlone({sizeof(gnnc_part_desc), 0, nullptr, &wrong}, GNNC_INVALID_ARGUMENT,
              "collectives: expected a rank from 0 and a larger size, found 2 of 2");
  wrong.rank = 1;
  wrong.device_type = 3;
  expectAlone({sizeof(gnnc_part_desc), 0, nullptr, &wrong}, GNNC_INVALID_ARGUMENT,
              "collectives: expected device type 1 (host) or 2 (CUDA), found 3");
  wrong.device_type = 2;
  expectAlone({sizeof(gnnc_part_desc), 0, nullptr, &wrong}, GNNC_INVALID_ARGUMENT,
              "collectives: expected device type 1 (host), as the context is the CPU's, found 2 (CUDA)");
  wrong.device_type = 1;
  int64_t halos[] = {int64_t(parts[0].halo.size()), 0};
  gnnc_row_counts counts[] = {{"node.halo", halos}};
  // Its own failure comes before that of telling the others.
  expectAlone({sizeof(gnnc_part_desc), 1, counts, &wrong}, GNNC_INVALID_ARGUMENT,
              "space 'node.send': expected its counts for each of 2 ranks, found none");
}

TEST_F(RanksErrorTest, TheModelIsForOneProcess) {
  model.model.ranks = nullptr;
  gnnc_part_desc part = {};
  expectAlone(part, GNNC_UNSUPPORTED, "prepare_part: the model is for one process; compile it with --distributed");
}

TEST_F(RanksErrorTest, NobodyIsThere) {
  std::deque<RankPart> empty = cutRandomly(0, 0, 2);
  auto host = [](void *, const void *, void *, int64_t, gnnc_error *error) {
    snprintf(error->message, sizeof error->message, "nobody is there");
    return GNNC_DEVICE_ERROR;
  };
  gnnc_collectives with = ThreadRanks(2).collectives(0);
  with.gather_host = host;
  gnnc_context *context = test::open(model.model);
  gnnc_graph *graph = nullptr;
  gnnc_error error = {};
  EXPECT_EQ(api->prepare_part(context, &empty[0].data.desc(), empty[0].describe(&with), &graph, &error),
            GNNC_COLLECTIVE_ERROR);
  EXPECT_STREQ(error.message, "prepare: ranks cannot agree: nobody is there");
  api->close(context);
}

TEST_F(RanksErrorTest, AWholeGraphHasNoHalo) {
  gnnc_context *context = test::open(model.model);
  gnnc_graph *graph = nullptr;
  gnnc_error error = {};
  parts = cutRandomly(2, 30, kSize);
  ASSERT_NE(parts[0].sent.size(), parts[0].halo.size());
  EXPECT_EQ(api->prepare(context, &parts[0].data.desc(), &graph, &error), GNNC_INVALID_GRAPH);
  EXPECT_EQ(error.message, "space 'node.halo': expected the " + std::to_string(parts[0].sent.size()) +
                               " elements of 'node.send' on one rank alone, found " +
                               std::to_string(parts[0].halo.size()));
  api->close(context);
}

TEST_F(RanksErrorTest, NoCapacitiesAndNoTuning) {
  for (RankPart &part : parts)
    part.data.capacity("node", 100);
  std::string expected = "prepare_part: expected no capacities, which ranks cannot agree on";
  EXPECT_EQ(prepareAll()[0], expected);
  parts = cutRandomly(1, 30, kSize);
  parts[2].data.tuning = "";
  EXPECT_EQ(prepareAll()[2], "prepare_part: expected no tuning, which ranks cannot agree on");
  EXPECT_EQ(prepareAll()[0],
            "prepare failed on rank 2 of 3: prepare_part: expected no tuning, which ranks cannot agree "
            "on");
}

// The second rank is gone before the run, or does not come back.
TEST_F(RanksErrorTest, SurvivorsSayWhichStepFailed) {
  for (bool leaves : {true, false}) {
    std::vector<std::string> said(kSize);
    ThreadRanks ranks(kSize, ThreadRanks::Milliseconds(leaves ? 60000 : 200));
    ranks.run([&](int rank, const gnnc_collectives &collectives) -> std::string {
      gnnc_context *context = test::open(model.model);
      gnnc_graph *graph = nullptr;
      gnnc_error error = {};
      RankPart &part = parts[size_t(rank)];
      EXPECT_EQ(api->prepare_part(context, &part.data.desc(), part.describe(&collectives), &graph, &error), GNNC_OK)
          << error.message;
      auto count = [](const Words &list) { return static_cast<int64_t>(list.size()); };
      Tensor x("x", {count(part.own), kRowWidth}), values("values", {kTotals}), ofTypes("of_types", {kTypes, 2});
      Tensor received("received", {count(part.halo), kRowWidth}), back("back", {count(part.sent), kRowWidth});
      Tensor total("total", {kTotals}), most("most", {kTypes, 2});
      gnnc_binding inputs[] = {x.binding, values.binding, ofTypes.binding};
      gnnc_binding outputs[] = {received.binding, back.binding, total.binding, most.binding};
      if (rank != 1) {
        EXPECT_EQ(api->run(context, graph, nullptr, inputs, 3, outputs, 4, nullptr, 0, nullptr, &error),
                  GNNC_COLLECTIVE_ERROR);
        said[size_t(rank)] = error.message;
      }
      api->free_graph(graph);
      api->close(context);
      return rank == 1 && leaves ? "it was ended" : "";
    });
    std::string why = leaves ? "rank 1 failed: it was ended" : "waited 200 ms for rank 1";
    EXPECT_EQ(said[0], "forward: transfer node.send -> node.halo: exchange: " + why);
    EXPECT_EQ(said[2], said[0]);
  }
}
