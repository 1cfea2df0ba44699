//===- ExchangesTest.cpp - Steps that run while rows are on their way -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Between the start of a transfer and its await other steps run: here rows only arrive once these have. Whoever reads
// them without an await finds what was there before.
//
//===----------------------------------------------------------------------===//

#include "RanksModel.h"
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace gnnc;
using namespace gnnc::test;

extern "C" const gnnc_api *gnnc_model();

namespace {

std::atomic<int64_t> worked; ///< steps between the start and the await, and such steps after it, of all ranks

void note(const table::Frame *, int64_t, int64_t, int64_t, int64_t) { ++worked; }

/// seen[i] = received[i]
void readRows(const table::Frame *frame, int64_t begin, int64_t end, int64_t, int64_t) {
  const auto *received = static_cast<const float *>(frame->buffers[0]);
  auto *seen = static_cast<float *>(frame->buffers[1]);
  for (int64_t i = begin * kRowWidth; i < end * kRowWidth; ++i)
    seen[i] = received[i];
}

/// Packs rows, starts a transfer, works, combines a value if asked to, awaits if asked to, and reads what arrived.
struct OverlapModel {
  OverlapModel(bool awaits, bool combines) {
    using namespace table;
    int64_t node = b.root("node"), halo = b.root("node.halo"), send = b.root("node.send");
    int64_t sent = b.rootMap("node.sent", send, node), raw = b.index(IndexKind::Raw, sent);
    int64_t x = b.input("x", node, {kRowWidth}), values = b.input("values", -1, {kTotals});
    int64_t received = b.output("received", halo, {kRowWidth}), seen = b.output("seen", halo, {kRowWidth});
    int64_t total = b.output("total", -1, {kTotals});
    int64_t packed = b.arena(send, {kRowWidth}, 0, 4);
    b.step({packRows, StepKind::Rows, send, {x, packed}, {raw}, {}});
    b.step({nullptr, StepKind::Start, -1, {packed, received}, {}, {}});
    if (awaits)
      b.step({note, StepKind::Rows, -1, {}, {}, {}});
    if (combines)
      b.step({nullptr, StepKind::AllReduce, -1, {values, total}, {}, {{total, MergeKind::Sum, kTotals}}});
    if (awaits)
      b.step({nullptr, StepKind::Await, -1, {packed, received}, {}, {}});
    b.step({readRows, StepKind::Rows, halo, {received, seen}, {}, {}});
    if (!awaits)
      b.step({note, StepKind::Rows, -1, {}, {}, {}});
    model = b.build();
  }
  ModelBuilder b;
  runtime::Model model;
};

/// Another's functions, but that an exchange begins when all ranks have noted a step. It fails if they do not.
struct Gate {
  Gate(const gnnc_collectives &real, int64_t steps) : real(real), made(real), steps(steps) {
    made.user = this;
    made.exchange = [](void *user, const void *send, const int64_t *sends, void *receive, const int64_t *receives,
                       int64_t rowBytes, void *stream, gnnc_error *error) {
      const Gate &gate = *static_cast<Gate *>(user);
      for (int waits = 0; worked < gate.steps; ++waits) {
        if (waits > 20000) {
          snprintf(error->message, sizeof error->message, "no step runs meanwhile");
          return GNNC_COLLECTIVE_ERROR;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return gate.real.exchange(gate.real.user, send, sends, receive, receives, rowBytes, stream, error);
    };
    made.gather = [](void *user, const void *own, void *all, int64_t bytes, void *stream, gnnc_error *error) {
      const gnnc_collectives &real = static_cast<Gate *>(user)->real;
      return real.gather(real.user, own, all, bytes, stream, error);
    };
    made.gather_host = [](void *user, const void *own, void *all, int64_t bytes, gnnc_error *error) {
      const gnnc_collectives &real = static_cast<Gate *>(user)->real;
      return real.gather_host(real.user, own, all, bytes, error);
    };
  }
  gnnc_collectives real, made;
  int64_t steps;
};

constexpr float kBefore = -7;

struct RankRun {
  std::vector<float> received, seen, total;
  std::string failed;
};

std::vector<RankRun> runAll(const runtime::Model &model, std::deque<RankPart> &parts, ThreadRanks &ranks, bool isGated,
                            int rounds = 1) {
  std::vector<RankRun> runs(parts.size());
  worked = 0;
  ranks.run([&](int rank, const gnnc_collectives &collectives) {
    const gnnc_api *api = gnnc_model();
    RankPart &part = parts[size_t(rank)];
    Gate gate(collectives, isGated ? ranks.size() : 0);
    gnnc_error error = {};
    gnnc_context *context = test::open(model, 2);
    gnnc_graph *graph = nullptr;
    RankRun &run = runs[size_t(rank)];
    if (api->prepare_part(context, &part.data.desc(), part.describe(&gate.made), &graph, &error))
      run.failed = error.message;
    auto count = [](const Words &list) { return static_cast<int64_t>(list.size()); };
    Tensor x("x", {count(part.own), kRowWidth}), values("values", {kTotals}, 1);
    for (size_t i = 0; i < x.data.size(); ++i)
      x.data[i] = static_cast<float>(part.own[i / kRowWidth]) + 1;
    for (int round = 0; graph && round < rounds; ++round) {
      Tensor received("received", {count(part.halo), kRowWidth}, kBefore);
      Tensor seen("seen", {count(part.halo), kRowWidth}, kBefore), total("total", {kTotals}, kBefore);
      gnnc_binding inputs[] = {x.binding, values.binding}, outputs[] = {received.binding, seen.binding, total.binding};
      error = {};
      run.failed =
          api->run(context, graph, nullptr, inputs, 2, outputs, 3, nullptr, 0, nullptr, &error) ? error.message : "";
      run.received = received.data;
      run.seen = seen.data;
      run.total = total.data;
    }
    api->free_graph(graph);
    api->close(context);
    return std::string();
  });
  return runs;
}

std::vector<float> haloOf(const RankPart &part) {
  std::vector<float> rows;
  for (int64_t node : part.halo)
    rows.insert(rows.end(), kRowWidth, static_cast<float>(node) + 1);
  return rows;
}

} // namespace

TEST(ExchangesTest, StepsRunMeanwhile) {
  std::deque<RankPart> parts = cutRandomly(1, 40, 3);
  ThreadRanks ranks(3);
  OverlapModel model(/*awaits=*/true, /*combines=*/false);
  std::vector<RankRun> runs = runAll(model.model, parts, ranks, /*isGated=*/true);
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    EXPECT_EQ(runs[rank].failed, "");
    EXPECT_EQ(runs[rank].seen, haloOf(parts[rank]));
  }
}

// What nobody awaits has arrived when the run is over, and not before.
TEST(ExchangesTest, WithoutAnAwaitRowsAreReadTooEarly) {
  std::deque<RankPart> parts = cutRandomly(1, 40, 3);
  ThreadRanks ranks(3);
  OverlapModel model(/*awaits=*/false, /*combines=*/false);
  std::vector<RankRun> runs = runAll(model.model, parts, ranks, /*isGated=*/true);
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    EXPECT_EQ(runs[rank].failed, "");
    EXPECT_EQ(runs[rank].seen, std::vector<float>(parts[rank].halo.size() * kRowWidth, kBefore));
    EXPECT_EQ(runs[rank].received, haloOf(parts[rank]));
  }
}

// All ranks do the same in the same order: a value that is combined comes after the rows that are on their way.
TEST(ExchangesTest, ValuesAreCombinedAfterwards) {
  std::deque<RankPart> parts = cutRandomly(2, 40, 4);
  ThreadRanks ranks(4);
  ranks.delayExchanges(ThreadRanks::Milliseconds(5));
  OverlapModel model(/*awaits=*/true, /*combines=*/true);
  std::vector<RankRun> runs = runAll(model.model, parts, ranks, /*isGated=*/false, /*rounds=*/20);
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    EXPECT_EQ(runs[rank].failed, "");
    EXPECT_EQ(runs[rank].seen, haloOf(parts[rank]));
    EXPECT_EQ(runs[rank].total, std::vector<float>(kTotals, 4));
  }
}

TEST(ExchangesTest, AnAwaitSaysWhatFailed) {
  std::deque<RankPart> parts = cutRandomly(1, 40, 2);
  for (bool combines : {false, true}) {
    ThreadRanks ranks(2, ThreadRanks::Milliseconds(200));
    ranks.delayExchanges(ThreadRanks::Milliseconds(1));
    OverlapModel model(/*awaits=*/true, combines);
    std::deque<RankPart> wrong = parts;
    // The second rank is late by more than the first waits.
    std::vector<RankRun> runs(2);
    ranks.run([&](int rank, const gnnc_collectives &collectives) {
      const gnnc_api *api = gnnc_model();
      gnnc_error error = {};
      gnnc_context *context = test::open(model.model);
      gnnc_graph *graph = nullptr;
      RankPart &part = wrong[size_t(rank)];
      EXPECT_EQ(api->prepare_part(context, &part.data.desc(), part.describe(&collectives), &graph, &error), GNNC_OK);
      auto count = [](const Words &list) { return static_cast<int64_t>(list.size()); };
      Tensor x("x", {count(part.own), kRowWidth}), values("values", {kTotals}, 1), total("total", {kTotals});
      Tensor received("received", {count(part.halo), kRowWidth}), seen("seen", {count(part.halo), kRowWidth});
      gnnc_binding inputs[] = {x.binding, values.binding}, outputs[] = {received.binding, seen.binding, total.binding};
      if (rank == 0) {
        EXPECT_EQ(api->run(context, graph, nullptr, inputs, 2, outputs, 3, nullptr, 0, nullptr, &error),
                  GNNC_COLLECTIVE_ERROR);
        EXPECT_STREQ(error.message, "forward: transfer node.send -> node.halo: exchange: waited 200 ms for rank 1");
      }
      api->free_graph(graph);
      api->close(context);
      return std::string();
    });
  }
}
