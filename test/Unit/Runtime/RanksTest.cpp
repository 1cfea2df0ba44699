//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Steps between ranks, which are threads here: rows arrive where they belong, values are the same bits everywhere.
//
//===----------------------------------------------------------------------===//

#include "RanksModel.h"
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

extern "C" const gnnc_api *gnnc_model();

namespace {

struct Results {
  std::vector<float> received, back, total, most;
};

float rowOf(int64_t node, int64_t f) { return static_cast<float>(node) * 1.25f + static_cast<float>(f); }
float valueOf(int rank, int64_t i) { return 0.1f + static_cast<float>((rank * 7919 + i * 104729) % 1000) / 997; }

/// Runs a rank's part twice in the same workspace; the second run must find nothing of the first.
std::string runPart(const runtime::Model &model, RankPart &part, int rank, const gnnc_collectives &collectives,
                    Results &results, int threads) {
  const gnnc_api *api = gnnc_model();
  gnnc_error error = {};
  gnnc_context *context = test::open(model, threads);
  gnnc_graph *graph = nullptr;
  if (api->prepare_part(context, &part.data.desc(), part.describe(&collectives), &graph, &error))
    return error.message;
  // The first rank has what all have.
  EXPECT_EQ(api->extent(graph, "type.own"), rank == 0 ? kTypes : 0);
  auto count = [](const Words &list) { return static_cast<int64_t>(list.size()); };
  Tensor x("x", {count(part.own), kRowWidth}), values("values", {kTotals}), ofTypes("of_types", {kTypes, 2});
  for (size_t i = 0; i < x.data.size(); ++i)
    x.data[i] = rowOf(part.own[i / kRowWidth], static_cast<int64_t>(i % kRowWidth));
  for (size_t i = 0; i < values.data.size(); ++i)
    values.data[i] = valueOf(rank, static_cast<int64_t>(i));
  for (size_t i = 0; i < ofTypes.data.size(); ++i)
    ofTypes.data[i] = valueOf(rank + 100, static_cast<int64_t>(i));
  std::string failed;
  for (int round = 0; round < 2 && failed.empty(); ++round) {
    Tensor received("received", {count(part.halo), kRowWidth}, -1), back("back", {count(part.sent), kRowWidth}, -1);
    Tensor total("total", {kTotals}, -1), most("most", {kTypes, 2}, -1);
    gnnc_binding inputs[] = {x.binding, values.binding, ofTypes.binding};
    gnnc_binding outputs[] = {received.binding, back.binding, total.binding, most.binding};
    if (api->run(context, graph, nullptr, inputs, 3, outputs, 4, nullptr, 0, nullptr, &error))
      failed = error.message;
    results = {received.data, back.data, total.data, most.data};
  }
  api->free_graph(graph);
  api->close(context);
  return failed;
}

} // namespace

TEST(RanksTest, RowsArriveAndValuesAreTheSameBits) {
  RanksModel model;
  for (int size : {1, 2, 3, 4, 8})
    for (unsigned seed = 0; seed < 12; ++seed) {
      int64_t nodes = seed % 4 == 0 ? size / 2 : 5 + 10 * seed;
      std::deque<RankPart> parts = cutRandomly(seed, nodes, size);
      std::vector<Results> results(static_cast<size_t>(size));
      ThreadRanks ranks(size);
      EXPECT_EQ(ranks.run([&](int rank, const gnnc_collectives &collectives) {
        return runPart(model.model, parts[size_t(rank)], rank, collectives, results[size_t(rank)], 1 + rank % 2);
      }),
                "");
      int64_t halos = 0;
      for (int rank = 0; rank < size; ++rank) {
        const RankPart &part = parts[size_t(rank)];
        const Results &own = results[size_t(rank)];
        halos += static_cast<int64_t>(part.halo.size());
        for (size_t i = 0; i < own.received.size(); ++i)
          ASSERT_EQ(own.received[i], rowOf(part.halo[i / kRowWidth], static_cast<int64_t>(i % kRowWidth)));
        for (size_t i = 0; i < own.back.size(); ++i)
          ASSERT_EQ(own.back[i],
                    rowOf(part.own[size_t(part.sent[i / kRowWidth])], static_cast<int64_t>(i % kRowWidth)));
        // Added and compared in the order of ranks.
        for (int64_t i = 0; i < kTotals; ++i) {
          float sum = valueOf(0, i);
          for (int other = 1; other < size; ++other)
            sum += valueOf(other, i);
          ASSERT_EQ(own.total[size_t(i)], sum);
        }
        for (int64_t i = 0; i < 2 * kTypes; ++i) {
          float most = valueOf(100, i);
          for (int other = 1; other < size; ++other)
            most = std::max(most, valueOf(100 + other, i));
          ASSERT_EQ(own.most[size_t(i)], most);
        }
      }
      // Two runs, there and back: nothing else is moved.
      EXPECT_EQ(ranks.bytesExchanged(), 2 * 2 * halos * kRowWidth * 4);
    }
}

TEST(RanksTest, OneRankAloneNeedsNoPart) {
  RanksModel model;
  std::deque<RankPart> parts = cutRandomly(3, 20, 1);
  gnnc_context *context = test::open(model.model);
  gnnc_graph *graph = nullptr;
  gnnc_error error = {};
  const gnnc_api *api = gnnc_model();
  ASSERT_EQ(api->prepare(context, &parts[0].data.desc(), &graph, &error), GNNC_OK) << error.message;
  Tensor x("x", {20, kRowWidth}, 2), values("values", {kTotals}, 3), ofTypes("of_types", {kTypes, 2}, 4);
  Tensor received("received", {0, kRowWidth}), back("back", {0, kRowWidth});
  Tensor total("total", {kTotals}), most("most", {kTypes, 2});
  gnnc_binding inputs[] = {x.binding, values.binding, ofTypes.binding};
  gnnc_binding outputs[] = {received.binding, back.binding, total.binding, most.binding};
  EXPECT_EQ(api->run(context, graph, nullptr, inputs, 3, outputs, 4, nullptr, 0, nullptr, &error), GNNC_OK)
      << error.message;
  EXPECT_EQ(total.data, std::vector<float>(kTotals, 3));
  EXPECT_EQ(most.data, std::vector<float>(2 * kTypes, 4));
  api->free_graph(graph);
  api->close(context);
}
