//===- DeviceRanksTest.cpp - Transfers beside kernels on a GPU ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank asks of the CUDA driver, counted by a stand-in whose kernels do nothing: rows move on a stream of the
// graph's own, which a recording takes along, and each call that fails is one status and leaves nothing behind. The
// other rank is not there: it says what this one says.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "TestModel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <list>
#include <map>
#include <set>

using namespace gnnc;
using namespace gnnc::test;

namespace {

constexpr int64_t kOwn = 20, kHalo = 6, kEdges = 60; ///< of each rank; half of the halo is of each

struct Calls {
  std::set<void *> exchanges, gathers; ///< their streams
  int64_t numExchanges = 0;
};

gnnc_collectives ranksFor(Calls &calls) {
  gnnc_collectives ranks = {sizeof ranks, 0, 2, 2, &calls, nullptr, nullptr, nullptr};
  ranks.exchange = [](void *user, const void *, const int64_t *, void *, const int64_t *, int64_t, void *stream,
                      gnnc_error *) {
    auto &calls = *static_cast<Calls *>(user);
    calls.exchanges.insert(stream);
    ++calls.numExchanges;
    return GNNC_OK;
  };
  ranks.gather = [](void *user, const void *, void *, int64_t, void *stream, gnnc_error *) {
    static_cast<Calls *>(user)->gathers.insert(stream);
    return GNNC_OK;
  };
  ranks.gather_host = [](void *, const void *own, void *all, int64_t bytes, gnnc_error *) {
    for (int64_t rank = 0; rank < 2; ++rank)
      if (bytes > 0)
        std::memcpy(static_cast<char *>(all) + rank * bytes, own, size_t(bytes));
    return GNNC_OK;
  };
  return ranks;
}

class DeviceRanks : public testing::Test {
protected:
  static std::unique_ptr<CompiledModel> compile(bool overlaps) {
    setenv("GNNC_NVRTC", GNNC_STAND_IN_NVRTC, 1);
    setenv("XDG_CACHE_HOME", GNNC_STAND_IN_NVRTC "/cache", 1);
    CompileOptions options;
    options.distributed = true;
    options.targets = {"cuda"};
    if (!overlaps)
      options.without = {"overlap-transfers"};
    std::optional<frontend::ModelSpec> spec = loadText(R"(
      model M {
        input x: node[in = 6]
        param P[in, out = 4], Q[in, out]
        output y = sum(x.src @ P, along: dst) + x @ Q
        output m = mean(x, along: all)
      })");
    if (!spec)
      return nullptr;
    auto made = CompiledModel::create(*spec, options);
    EXPECT_TRUE(bool(made)) << llvm::toString(made.takeError());
    return made ? std::move(*made) : nullptr;
  }
  void SetUp() override {
    standInReset();
    standInSetFill(0);
  }
  void TearDown() override {
    EXPECT_EQ(standInLive("bytes"), 0);
    EXPECT_EQ(standInLive(nullptr), 0);
  }

  /// Everything from opening a model to freeing it: a run, and a recording that is replayed.
  static gnnc_status useAll(const ModelFile &file, Calls &calls, std::string &message, void **streamOfRun = nullptr) {
    const gnnc_api &api = file.api();
    std::vector<int64_t> sources, targets, sent;
    for (int64_t edge = 0; edge < kEdges; ++edge) {
      sources.push_back(7 * edge % (kOwn + kHalo));
      targets.push_back(edge % kOwn);
    }
    for (int64_t i = 0; i < kHalo; ++i)
      sent.push_back(2 * i);
    int64_t halves[] = {kHalo / 2, kHalo / 2};
    gnnc_extent extents[] = {{"node", kOwn}, {"edge", kEdges}, {"node.halo", kHalo}, {"node.send", kHalo}};
    gnnc_index maps[] = {{"src", sources.data(), kEdges, 64, GNNC_INDEX_EACH},
                         {"dst", targets.data(), kEdges, 64, GNNC_INDEX_EACH},
                         {"node.sent", sent.data(), kHalo, 64, GNNC_INDEX_EACH}};
    gnnc_graph_desc desc = {sizeof desc, 4, extents, 3, maps, 0, nullptr, nullptr, nullptr};
    gnnc_row_counts counts[] = {{"node.halo", halves}, {"node.send", halves}};
    gnnc_collectives ranks = ranksFor(calls);
    gnnc_part_desc part = {sizeof part, 2, counts, &ranks};
    gnnc_options options = {sizeof options, 1, nullptr, 2, 0, 0, 0, nullptr, nullptr};

    gnnc_error error = {};
    gnnc_context *context = nullptr;
    gnnc_graph *graph = nullptr;
    gnnc_recording *recording = nullptr;
    void *stream = nullptr;
    std::vector<void *> blocks;
    std::list<std::vector<int64_t>> shapes;
    std::vector<gnnc_binding> inputs, outputs;
    size_t workspaceBytes = 0;
    gnnc_status status = api.open(&options, &context, &error);
    if (!status)
      status = api.create_stream(context, &stream, &error);
    if (!status)
      status = api.prepare_part(context, &desc, &part, &graph, &error);
    if (!status)
      status = api.workspace_size(graph, nullptr, &workspaceBytes, &error);
    auto take = [&](size_t bytes) {
      void *memory = nullptr;
      if (!status)
        status = api.allocate(context, bytes, &memory, &error);
      if (memory)
        blocks.push_back(memory);
      return memory;
    };
    auto add = [&](const std::vector<TensorInfo> &tensors, std::vector<gnnc_binding> &list) {
      for (const TensorInfo &tensor : tensors) {
        shapes.push_back(tensor.dims);
        if (tensor.space)
          shapes.back().insert(shapes.back().begin(), kOwn);
        size_t bytes = 4;
        for (int64_t extent : shapes.back())
          bytes *= size_t(extent);
        list.push_back(
            {tensor.name.c_str(),
             {take(bytes), 2, 0, int32_t(shapes.back().size()), 2, 32, 1, shapes.back().data(), nullptr, 0}});
      }
    };
    add(file.info().inputs, inputs);
    add(file.info().params, inputs);
    add(file.info().findProgram("forward")->outputs, outputs);
    void *workspace = take(workspaceBytes + 1);
    auto run = [&] {
      return api.run(context, graph, nullptr, inputs.data(), int32_t(inputs.size()), outputs.data(),
                     int32_t(outputs.size()), workspace, workspaceBytes, stream, &error);
    };
    if (!status)
      status = run();
    if (!status)
      status = api.begin_recording(context, stream, &error);
    if (!status) {
      status = run();
      gnnc_error ignored;
      gnnc_status ended = api.end_recording(context, stream, &recording, status ? &ignored : &error);
      status = status ? status : ended;
    }
    if (!status)
      status = api.replay(context, recording, stream, &error);
    if (streamOfRun)
      *streamOfRun = stream;
    message = error.message;
    if (recording)
      api.free_recording(context, recording);
    for (void *block : blocks)
      api.release(context, block);
    if (context) {
      api.destroy_stream(context, stream);
      api.free_graph(graph);
      api.close(context);
    }
    return status;
  }
};

} // namespace

TEST_F(DeviceRanks, RowsMoveOnAStreamOfTheirOwn) {
  std::unique_ptr<CompiledModel> model = compile(/*overlaps=*/true);
  ASSERT_TRUE(model);
  Calls calls;
  std::string message;
  void *stream = nullptr;
  ASSERT_EQ(useAll(model->file(), calls, message, &stream), GNNC_OK) << message;
  // Once run and once recorded; all that ranks do together is on one stream, which is not the run's.
  EXPECT_EQ(calls.numExchanges, 2);
  EXPECT_EQ(calls.exchanges.size(), 1u);
  EXPECT_EQ(calls.exchanges, calls.gathers);
  EXPECT_FALSE(calls.exchanges.count(stream));
}

TEST_F(DeviceRanks, OrOnThatOfTheRunWhereNothingRunsMeanwhile) {
  std::unique_ptr<CompiledModel> model = compile(/*overlaps=*/false);
  ASSERT_TRUE(model);
  Calls calls;
  std::string message;
  void *stream = nullptr;
  ASSERT_EQ(useAll(model->file(), calls, message, &stream), GNNC_OK) << message;
  EXPECT_EQ(calls.exchanges, std::set<void *>{stream});
  EXPECT_EQ(standInCalls("cuEventCreate"), 0);
  EXPECT_EQ(standInCalls("cuStreamWaitEvent"), 0);
}

TEST_F(DeviceRanks, AnyCallThatFailsIsOneStatus) {
  std::unique_ptr<CompiledModel> model = compile(/*overlaps=*/true);
  ASSERT_TRUE(model);
  for (const char *function : {"cuStreamCreate", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"}) {
    std::string message;
    Calls calls;
    standInReset();
    standInSetFill(0);
    ASSERT_EQ(useAll(model->file(), calls, message), GNNC_OK) << message;
    int64_t number = standInCalls(function);
    EXPECT_GT(number, 0) << function;
    for (int64_t after = 0; after < number; ++after) {
      standInReset();
      standInSetFill(0);
      standInFail(function, after, /*CUDA_ERROR_ILLEGAL_ADDRESS*/ 700);
      EXPECT_EQ(useAll(model->file(), calls, message), GNNC_DEVICE_ERROR) << function << " " << after;
      EXPECT_EQ(standInLive(nullptr), 0) << function << " " << after;
    }
    standInFail(nullptr, 0, 0);
  }
}
