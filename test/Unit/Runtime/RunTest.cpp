//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A model with every kind of step: it gathers along `dst`, sums and takes extremes over all nodes, and adds up edge
// values type by type. Its results are compared with plain loops and, bit by bit, between numbers of threads.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace gnnc;
using namespace gnnc::table;
using namespace gnnc::test;

extern "C" const gnnc_api *gnnc_model();

namespace {

constexpr int64_t kWidth = 3;

template <typename T> T *buffer(const Frame *frame, int i) { return static_cast<T *>(frame->buffers[i]); }

/// h[j] = sum of x[src[e]] over the members of j.
void gather(const Frame *frame, int64_t begin, int64_t end, int64_t, int64_t) {
  const float *x = buffer<const float>(frame, 0);
  float *h = buffer<float>(frame, 1);
  const int32_t *pointers = frame->indices[0], *sources = frame->indices[1];
  for (int64_t j = begin; j < end; ++j)
    for (int64_t f = 0; f < kWidth; ++f) {
      float sum = 0;
      for (int64_t k = pointers[j]; k < pointers[j + 1]; ++k)
        sum += x[sources[k] * kWidth + f];
      h[j * kWidth + f] = sum;
    }
}

/// Partial sum, maximum and minimum of the rows of h.
void summarise(const Frame *frame, int64_t begin, int64_t end, int64_t, int64_t block) {
  const float *h = buffer<const float>(frame, 0);
  float *sum = static_cast<float *>(frame->partials[0]) + block * kWidth;
  float *most = static_cast<float *>(frame->partials[1]) + block * kWidth;
  float *least = static_cast<float *>(frame->partials[2]) + block * kWidth;
  for (int64_t f = 0; f < kWidth; ++f) {
    sum[f] = 0;
    most[f] = -INFINITY;
    least[f] = INFINITY;
    for (int64_t j = begin; j < end; ++j) {
      sum[f] += h[j * kWidth + f];
      most[f] = std::max(most[f], h[j * kWidth + f]);
      least[f] = std::min(least[f], h[j * kWidth + f]);
    }
  }
}

/// Adds 1 + type for each edge of a type, into a row for each type; and the extent of the space of types.
void countTypes(const Frame *frame, int64_t begin, int64_t end, int64_t owner, int64_t block) {
  double *partial = static_cast<double *>(frame->partials[0]) + block * 4;
  const int32_t *members = frame->indices[0];
  for (int64_t t = 0; t < 4; ++t)
    partial[t] = 0;
  for (int64_t k = begin; k < end; ++k)
    partial[owner] += 1 + members[k] * 1e-9 + static_cast<double>(frame->extents[2]);
}

/// y = h / (1 + |sum|)
void scale(const Frame *frame, int64_t begin, int64_t end, int64_t owner, int64_t) {
  EXPECT_EQ(owner, -1);
  const float *h = buffer<const float>(frame, 0), *sum = buffer<const float>(frame, 1);
  for (int64_t i = begin * kWidth; i < end * kWidth; ++i)
    buffer<float>(frame, 2)[i] = h[i] / (1 + std::fabs(sum[i % kWidth]));
}

class TestRun {
public:
  TestRun(const RandomGraph &graph) : graph(graph) {
    int64_t node = b.root("node"), edge = b.root("edge"), type = b.fixed("edge_type", 4);
    int64_t src = b.rootMap("src", edge, node), dst = b.rootMap("dst", edge, node);
    int64_t etype = b.rootMap("etype", edge, type);
    int64_t pointers = b.index(IndexKind::Pointers, dst), sources = b.index(IndexKind::Sorted, dst, src);
    int64_t members = b.index(IndexKind::Members, etype);
    int64_t in = b.input("x", node, {kWidth}), out = b.output("y", node, {kWidth});
    int64_t sum = b.output("sum", -1, {kWidth}), most = b.output("most", -1, {kWidth});
    int64_t least = b.output("least", -1, {kWidth});
    ModelBuilder::Buffer record;
    record.kind = BufferKind::Output;
    record.space = type;
    record.bits = 64;
    int64_t counts = b.buffer("counts", record);
    int64_t h = b.arena(node, {kWidth}, 0, 3);
    b.step({gather, StepKind::Sweep, dst, {in, h}, {pointers, sources}, {}});
    b.step({summarise,
            StepKind::Rows,
            node,
            {h},
            {},
            {{sum, MergeKind::Sum, kWidth}, {most, MergeKind::Max, kWidth}, {least, MergeKind::Min, kWidth}}});
    b.step({countTypes, StepKind::Grouped, etype, {}, {members}, {{counts, MergeKind::Sum, 4}}});
    b.step({scale, StepKind::Rows, node, {h, sum, out}, {}, {}});
    model = b.build();
    data.extent("node", graph.nodes);
    data.extent("edge", graph.edges());
    data.each("src", graph.src, 32);
    data.each("dst", graph.dst);
    data.each("etype", graph.type);
  }

  gnnc_graph *prepare(gnnc_context *context) {
    gnnc_graph *result = nullptr;
    gnnc_error error;
    EXPECT_EQ(gnnc_model()->prepare(context, &data.desc(), &result, &error), GNNC_OK) << error.message;
    return result;
  }

  const RandomGraph &graph;
  ModelBuilder b;
  runtime::Model model;
  GraphData data;
};

struct Results {
  Tensor x, y, sum, most, least;
  std::vector<double> counts = std::vector<double>(4, -1);

  Results(int64_t nodes)
      : x("x", {nodes, kWidth}), y("y", {nodes, kWidth}, NAN), sum("sum", {kWidth}, NAN), most("most", {kWidth}, NAN),
        least("least", {kWidth}, NAN) {
    std::mt19937 random(7);
    for (float &value : x.data)
      value = static_cast<float>(random() % 2000) / 997 - 1;
  }

  gnnc_status run(gnnc_context *context, const gnnc_graph *graph, void *workspace = nullptr, size_t bytes = 0) {
    int64_t four = 4;
    gnnc_binding typed = {"counts", {counts.data(), 1, 0, 1, 2, 64, 1, &four, nullptr, 0}};
    gnnc_binding outputs[] = {y.binding, sum.binding, most.binding, least.binding, typed};
    gnnc_error error;
    error.message[0] = 0;
    gnnc_status status =
        gnnc_model()->run(context, graph, nullptr, &x.binding, 1, outputs, 5, workspace, bytes, nullptr, &error);
    if (status != GNNC_OUT_OF_MEMORY) {
      EXPECT_EQ(status, GNNC_OK) << error.message;
    }
    return status;
  }

  bool sameBits(const Results &other) const {
    auto same = [](const auto &a, const auto &b) { return memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0; };
    return same(y.data, other.y.data) && same(sum.data, other.sum.data) && same(most.data, other.most.data) &&
           same(least.data, other.least.data) && same(counts, other.counts);
  }

  void check(const RandomGraph &graph) const {
    std::vector<double> h(graph.nodes * kWidth), total(kWidth), high(kWidth, -INFINITY), low(kWidth, INFINITY),
        typed(4);
    for (int64_t e = 0; e < graph.edges(); ++e) {
      for (int64_t f = 0; f < kWidth; ++f)
        h[graph.dst[e] * kWidth + f] += x.data[graph.src[e] * kWidth + f];
      typed[graph.type[e]] += 5 + static_cast<double>(e) * 1e-9;
    }
    double scaleOf = 1;
    for (size_t i = 0; i < h.size(); ++i) {
      total[i % kWidth] += h[i];
      scaleOf += std::fabs(h[i]);
      high[i % kWidth] = std::max(high[i % kWidth], h[i]);
      low[i % kWidth] = std::min(low[i % kWidth], h[i]);
    }
    for (int64_t f = 0; f < kWidth; ++f) {
      EXPECT_NEAR(sum.data[f], total[f], 1e-5 * scaleOf);
      EXPECT_NEAR(most.data[f], graph.nodes ? high[f] : 0, 1e-3);
      EXPECT_NEAR(least.data[f], graph.nodes ? low[f] : 0, 1e-3);
    }
    for (size_t i = 0; i < h.size(); ++i)
      EXPECT_NEAR(y.data[i], h[i] / (1 + std::fabs(sum.data[i % kWidth])), 1e-3);
    for (int t = 0; t < 4; ++t)
      EXPECT_NEAR(counts[t], typed[t], 1e-6 * (1 + typed[t]));
  }
};

/// Large enough for many blocks.
RandomGraph largeGraph() {
  RandomGraph graph(3);
  std::mt19937 random(11);
  graph.nodes = 20000;
  for (int i = 0; i < 100000; ++i) {
    graph.src.push_back(random() % graph.nodes);
    graph.dst.push_back(random() % 3 ? random() % graph.nodes : random() % 50);
    graph.type.push_back(random() % 4);
  }
  return graph;
}

TEST(Run, SmallGraphs) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomGraph graph(seed);
    TestRun test(graph);
    gnnc_context *context = open(test.model, 2);
    gnnc_graph *prepared = test.prepare(context);
    Results results(graph.nodes);
    EXPECT_EQ(results.run(context, prepared), GNNC_OK);
    results.check(graph);
    gnnc_model()->free_graph(prepared);
    gnnc_model()->close(context);
  }
}

TEST(Run, TheSameBitsForAnyNumberOfThreads) {
  RandomGraph graph = largeGraph();
  TestRun test(graph);
  Results reference(graph.nodes);
  for (int threads : {1, 2, 3, 4, 0}) {
    gnnc_context *context = open(test.model, threads);
    gnnc_graph *prepared = test.prepare(context);
    for (int repeat = 0; repeat < 5; ++repeat) {
      Results results(graph.nodes);
      Results &target = threads == 1 && repeat == 0 ? reference : results;
      target.run(context, prepared);
      EXPECT_TRUE(target.sameBits(reference)) << threads << " threads";
    }
    gnnc_model()->free_graph(prepared);
    gnnc_model()->close(context);
  }
  reference.check(graph);
}

TEST(Run, SeveralThreadsRunOneModel) {
  RandomGraph graph = largeGraph();
  TestRun test(graph);
  gnnc_context *context = open(test.model, 3);
  gnnc_graph *prepared = test.prepare(context);
  Results reference(graph.nodes);
  reference.run(context, prepared);
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 5; ++repeat) {
        Results results(graph.nodes);
        results.run(context, prepared);
        EXPECT_TRUE(results.sameBits(reference));
      }
    });
  // Another graph is prepared and run meanwhile.
  RandomGraph small(8);
  TestRun other(small);
  for (int repeat = 0; repeat < 5; ++repeat) {
    gnnc_graph *second = nullptr;
    ASSERT_EQ(gnnc_model()->prepare(context, &other.data.desc(), &second, nullptr), GNNC_OK);
    Results results(small.nodes);
    results.run(context, second);
    results.check(small);
    gnnc_model()->free_graph(second);
  }
  for (std::thread &caller : callers)
    caller.join();
  gnnc_model()->free_graph(prepared);
  gnnc_model()->close(context);
}

TEST(Run, SeveralThreadsPrepareAndRun) {
  RandomGraph graph = largeGraph();
  TestRun test(graph);
  gnnc_context *context = open(test.model, 3);
  std::vector<std::thread> callers;
  for (unsigned c = 0; c < 4; ++c)
    callers.emplace_back([&, c] {
      // In a context of all threads, and in one of its own, which comes and goes.
      gnnc_context *own = open(test.model, 2);
      for (bool large : {true, false}) {
        RandomGraph small(c);
        const RandomGraph &mine = large ? graph : small;
        TestRun others(mine);
        for (gnnc_context *where : {context, own}) {
          gnnc_graph *prepared = others.prepare(where);
          Results results(mine.nodes);
          results.run(where, prepared);
          results.check(mine);
          gnnc_model()->free_graph(prepared);
        }
      }
      gnnc_model()->close(own);
    });
  for (std::thread &caller : callers)
    caller.join();
  gnnc_model()->close(context);
}

TEST(Run, SeveralThreadsUpdateAndRun) {
  RandomGraph graph = largeGraph();
  TestRun test(graph);
  gnnc_context *context = open(test.model, 3);
  gnnc_graph *shared = test.prepare(context);
  Results reference(graph.nodes);
  reference.run(context, shared);
  std::vector<std::thread> callers;
  for (unsigned c = 0; c < 4; ++c)
    callers.emplace_back([&, c] {
      const gnnc_api *api = gnnc_model();
      gnnc_error error = {};
      // The first batch with room for all others, whose results follow in one workspace.
      RandomGraph small(c);
      TestRun first(small), larger(graph);
      first.data.capacity("node", graph.nodes);
      first.data.capacity("edge", std::max(graph.edges(), small.edges()));
      gnnc_graph *own = first.prepare(context);
      size_t bytes = 0;
      ASSERT_EQ(api->workspace_size(own, nullptr, &bytes, nullptr), GNNC_OK);
      auto free = [](void *memory) { std::free(memory); };
      std::unique_ptr<void, decltype(free)> workspace(std::aligned_alloc(64, (bytes + 63) / 64 * 64), free);
      for (unsigned repeat = 0; repeat < 4; ++repeat) {
        RandomGraph other(4 * repeat + c + 1);
        TestRun next(other);
        for (TestRun *batch : {&larger, &next}) {
          ASSERT_EQ(api->update(context, own, &batch->data.desc(), &error), GNNC_OK) << error.message;
          Results results(batch->graph.nodes);
          results.run(context, own, workspace.get(), bytes);
          results.check(batch->graph);
        }
        Results results(graph.nodes);
        results.run(context, shared);
        EXPECT_TRUE(results.sameBits(reference));
      }
      api->free_graph(own);
    });
  for (std::thread &caller : callers)
    caller.join();
  gnnc_model()->free_graph(shared);
  gnnc_model()->close(context);
}

TEST(Run, NothingIsAllocatedWithAWorkspace) {
  RandomGraph graph = largeGraph();
  TestRun test(graph);
  CountingAllocator counter;
  gnnc_context *context = open(test.model, 2, &counter.allocator);
  gnnc_graph *prepared = test.prepare(context);
  size_t bytes = 0;
  ASSERT_EQ(gnnc_model()->workspace_size(prepared, nullptr, &bytes, nullptr), GNNC_OK);
  // A guard behind the workspace shows that its size is enough.
  char *workspace = static_cast<char *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
  memset(workspace + bytes, 0x5a, 32);
  int64_t calls = counter.calls;
  Results results(graph.nodes), again(graph.nodes);
  results.run(context, prepared, workspace, bytes);
  EXPECT_EQ(counter.calls, calls);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(workspace[bytes + i], 0x5a);
  std::free(workspace);
  again.run(context, prepared);
  EXPECT_EQ(counter.calls, calls + 1);
  EXPECT_TRUE(again.sameBits(results));
  gnnc_model()->free_graph(prepared);
  gnnc_model()->close(context);
  EXPECT_EQ(counter.bytes, 0u);
}

TEST(Run, TheGraphMayOutliveItsContext) {
  RandomGraph graph(2);
  TestRun test(graph);
  CountingAllocator counter;
  gnnc_context *context = open(test.model, 2, &counter.allocator);
  gnnc_graph *prepared = test.prepare(context);
  gnnc_model()->close(context);
  gnnc_model()->free_graph(prepared);
  EXPECT_EQ(counter.bytes, 0u);
}

TEST(Run, NothingIsLostWhenMemoryEnds) {
  RandomGraph graph(4);
  TestRun test(graph);
  CountingAllocator counter;
  gnnc_context *context = open(test.model, 1, &counter.allocator);
  size_t idle = counter.bytes;
  Results results(graph.nodes);
  bool done = false;
  for (int64_t remaining = 0; !done; ++remaining) {
    ASSERT_LT(remaining, 200);
    counter.remaining = remaining;
    gnnc_graph *prepared;
    gnnc_error error;
    gnnc_status status = gnnc_model()->prepare(context, &test.data.desc(), &prepared, &error);
    if (status != GNNC_OK) {
      EXPECT_EQ(status, GNNC_OUT_OF_MEMORY);
      EXPECT_EQ(std::string(error.message).find("out of memory for "), 0u);
      EXPECT_EQ(prepared, nullptr);
      EXPECT_EQ(counter.bytes, idle);
      continue;
    }
    done = results.run(context, prepared) == GNNC_OK;
    gnnc_model()->free_graph(prepared);
    EXPECT_EQ(counter.bytes, idle);
  }
  counter.remaining = INT64_MAX;
  gnnc_model()->close(context);
}

TEST(Run, TheCallersRoundingIsLeftAloneAndUnused) {
  RandomGraph graph = largeGraph();
  TestRun test(graph);
  gnnc_context *context = open(test.model, 2);
  gnnc_graph *prepared = test.prepare(context);
  Results reference(graph.nodes), upward(graph.nodes);
  reference.run(context, prepared);
  std::fesetround(FE_UPWARD);
  upward.run(context, prepared);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(upward.sameBits(reference));
  gnnc_model()->free_graph(prepared);
  gnnc_model()->close(context);
}

/// A wide result: its blocks are combined by several threads.
TEST(Run, WideMerges) {
  constexpr int64_t width = 5000, rows = 3000;
  auto kernel = [](const Frame *frame, int64_t begin, int64_t end, int64_t, int64_t block) {
    float *partial = static_cast<float *>(frame->partials[0]) + block * width;
    for (int64_t i = 0; i < width; ++i) {
      partial[i] = 0;
      for (int64_t row = begin; row < end; ++row)
        partial[i] += 1.0f / static_cast<float>(1 + (row * 7 + i) % 13);
    }
  };
  std::vector<float> reference;
  for (int threads = 1; threads <= 4; ++threads) {
    ModelBuilder b;
    int64_t node = b.root("node"), out = b.output("y", -1, {width});
    b.step({kernel, StepKind::Rows, node, {}, {}, {{out, MergeKind::Sum, width}}});
    gnnc_context *context = open(b.build(), threads);
    GraphData data;
    data.extent("node", rows);
    gnnc_graph *graph;
    ASSERT_EQ(gnnc_model()->prepare(context, &data.desc(), &graph, nullptr), GNNC_OK);
    Tensor y("y", {width}, NAN);
    ASSERT_EQ(gnnc_model()->run(context, graph, nullptr, nullptr, 0, &y.binding, 1, nullptr, 0, nullptr, nullptr),
              GNNC_OK);
    if (threads == 1)
      reference = y.data;
    EXPECT_EQ(memcmp(y.data.data(), reference.data(), width * sizeof(float)), 0);
    double expected = 0;
    for (int64_t row = 0; row < rows; ++row)
      expected += 1.0 / static_cast<double>(1 + (row * 7 + 17) % 13);
    EXPECT_NEAR(y.data[17], expected, 1e-3);
    gnnc_model()->free_graph(graph);
    gnnc_model()->close(context);
  }
}

/// What blocks work in is theirs, and lies apart from what is alive meanwhile.
TEST(Run, MemoryOfBlocks) {
  static constexpr int64_t rows = 5000, bytes = 4096;
  auto fill = [](const Frame *frame, int64_t begin, int64_t end, int64_t, int64_t) {
    EXPECT_EQ(frame->blockBytes, 0);
    for (int64_t row = begin; row < end; ++row)
      buffer<float>(frame, 0)[row] = static_cast<float>(row);
  };
  auto work = [](const Frame *frame, int64_t begin, int64_t end, int64_t, int64_t block) {
    ASSERT_EQ(frame->blockBytes, bytes);
    char *memory = frame->blockMemory + block * bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    memset(memory, static_cast<int>(block), bytes);
    for (int64_t row = begin; row < end; ++row)
      buffer<float>(frame, 1)[row] = buffer<const float>(frame, 0)[row] + 1;
    for (int64_t i = 0; i < bytes; ++i)
      if (memory[i] != static_cast<char>(block))
        buffer<float>(frame, 1)[begin] = NAN;
  };
  for (int threads : {1, 4}) {
    ModelBuilder b;
    int64_t node = b.root("node"), x = b.arena(node, {}, 0, 1), out = b.output("y", node, {});
    b.step({fill, StepKind::Rows, node, {x}, {}, {}});
    b.step({work, StepKind::Rows, node, {x, out}, {}, {}, bytes});
    gnnc_context *context = open(b.build(), threads);
    GraphData data;
    data.extent("node", rows);
    gnnc_graph *graph;
    ASSERT_EQ(gnnc_model()->prepare(context, &data.desc(), &graph, nullptr), GNNC_OK);
    Tensor y("y", {rows}, NAN);
    ASSERT_EQ(gnnc_model()->run(context, graph, nullptr, nullptr, 0, &y.binding, 1, nullptr, 0, nullptr, nullptr),
              GNNC_OK);
    for (int64_t row = 0; row < rows; ++row)
      ASSERT_EQ(y.data[row], row + 1) << row;
    gnnc_model()->free_graph(graph);
    gnnc_model()->close(context);
  }
}

/// Values of a shared space run as one row; constants are read where the table says.
TEST(Run, SharedStepsAndConstants) {
  auto kernel = [](const Frame *frame, int64_t begin, int64_t end, int64_t, int64_t) {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 1);
    *buffer<float>(frame, 1) = *buffer<const float>(frame, 0) + 2;
  };
  ModelBuilder b;
  ModelBuilder::Buffer constant;
  constant.kind = BufferKind::Constant;
  constant.constantAt = 16;
  int64_t one = b.buffer("", constant), out = b.output("y", -1, {});
  b.step({kernel, StepKind::Rows, -1, {one, out}, {}, {}});
  runtime::Model model = b.build();
  float value = 40;
  memcpy(const_cast<char *>(model.constants) + 16, &value, sizeof value);
  gnnc_context *context = open(model);
  GraphData data;
  gnnc_graph *graph;
  ASSERT_EQ(gnnc_model()->prepare(context, &data.desc(), &graph, nullptr), GNNC_OK);
  Tensor y("y", {});
  ASSERT_EQ(gnnc_model()->run(context, graph, nullptr, nullptr, 0, &y.binding, 1, nullptr, 0, nullptr, nullptr),
            GNNC_OK);
  EXPECT_EQ(y.data[0], 42);
  gnnc_model()->free_graph(graph);
  gnnc_model()->close(context);
}

} // namespace
