//===- DeviceMemoryTest.cpp - Graphs in memory and streams of the caller --===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a caller gives an allocator and a stream, prepared graphs have no memory of their own and nothing is launched
// elsewhere. Small graphs are prepared on the host, large ones on the device.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "TestModel.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

extern "C" int cuMemAlloc_v2(unsigned long long *memory, size_t bytes);
extern "C" int cuMemFree_v2(unsigned long long memory);

namespace {

/// A caller's memory of the device.
struct Caller {
  static void *allocate(size_t bytes, void *stream, void *self) {
    auto &caller = *static_cast<Caller *>(self);
    caller.isRightStream &= stream == caller.stream;
    unsigned long long memory = 0;
    if (caller.left-- <= 0 || cuMemAlloc_v2(&memory, bytes + caller.shift))
      return nullptr;
    ++caller.calls;
    void *result = reinterpret_cast<void *>(memory + caller.shift);
    caller.live[result] = bytes;
    return result;
  }
  static void release(void *memory, size_t bytes, void *stream, void *self) {
    auto &caller = *static_cast<Caller *>(self);
    caller.isRightStream &= stream == caller.stream;
    auto found = caller.live.find(memory);
    ASSERT_NE(found, caller.live.end());
    EXPECT_EQ(found->second, bytes);
    caller.live.erase(found);
    EXPECT_EQ(cuMemFree_v2(reinterpret_cast<unsigned long long>(memory) - caller.shift), 0);
  }

  gnnc_device_allocator allocator{allocate, release, this};
  void *stream = nullptr;
  std::map<void *, size_t> live;
  int64_t calls = 0, left = INT64_MAX;
  size_t shift = 0;
  bool isRightStream = true;
};

struct Description {
  Description(const Graph &graph, void *stream, bool withCapacities = false) {
    for (const auto &[name, extent] : graph.extents)
      extents.push_back({name.c_str(), extent});
    for (const auto &[name, targets] : graph.maps)
      indices.push_back({name.c_str(), targets.data(), int64_t(targets.size()), 32, GNNC_INDEX_EACH});
    if (withCapacities)
      capacities = extents;
    desc = {sizeof desc,    int32_t(extents.size()),    extents.data(),    int32_t(indices.size()),
            indices.data(), int32_t(capacities.size()), capacities.data(), nullptr,
            stream};
  }
  std::vector<gnnc_extent> extents, capacities;
  std::vector<gnnc_index> indices;
  gnnc_graph_desc desc;
};

class DeviceMemory : public testing::Test {
protected:
  static void SetUpTestSuite() {
    setenv("GNNC_NVRTC", GNNC_STAND_IN_NVRTC, 1);
    setenv("XDG_CACHE_HOME", GNNC_STAND_IN_NVRTC "/cache", 1);
    CompileOptions options;
    options.targets = {"cuda"};
    std::optional<frontend::ModelSpec> spec =
        loadText("import std\nmodel M {\n  input x: node[in = 6]\n  output y = GAT(x, heads: 2, out: 4) as c\n}\n");
    ASSERT_TRUE(spec);
    auto made = CompiledModel::create(*spec, options);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    model = std::move(*made);
  }
  static void TearDownTestSuite() { model.reset(); }

  void SetUp() override {
    ASSERT_TRUE(model);
    standInReset();
    standInSetFill(0);
  }
  void TearDown() override {
    EXPECT_EQ(standInLive("bytes"), 0);
    EXPECT_EQ(standInLive(nullptr), 0);
  }

  gnnc_context *open(Caller *caller) {
    gnnc_options options = {sizeof options, 1, nullptr, 2, 0, 0, 0, caller ? &caller->allocator : nullptr, nullptr};
    gnnc_context *context = nullptr;
    EXPECT_EQ(api().open(&options, &context, &error), GNNC_OK) << error.message;
    return context;
  }
  void *createStream(gnnc_context *context) {
    void *stream = nullptr;
    EXPECT_EQ(api().create_stream(context, &stream, &error), GNNC_OK) << error.message;
    return stream;
  }

  static const gnnc_api &api() { return model->file().api(); }
  static std::unique_ptr<CompiledModel> model;
  gnnc_error error = {};
};

std::unique_ptr<CompiledModel> DeviceMemory::model;

} // namespace

TEST_F(DeviceMemory, GraphsAreMadeOfTheCallersMemoryOnItsStream) {
  Caller caller;
  gnnc_context *context = open(&caller);
  ASSERT_TRUE(context);
  caller.stream = createStream(context);
  EXPECT_EQ(standInCalls("cuStreamCreate"), 1); // The one that was asked for.
  int64_t bytes = standInLive("bytes");
  for (const Graph &graph : {randomGraph(40, 160, 3), randomGraph(3000, 20000, 3)}) {
    Description description(graph, caller.stream);
    gnnc_graph *prepared = nullptr;
    ASSERT_EQ(api().prepare(context, &description.desc, &prepared, &error), GNNC_OK) << error.message;
    EXPECT_GT(caller.live.size(), 0U);
    size_t kept = 0;
    for (auto [memory, size] : caller.live)
      kept += size;
    EXPECT_EQ(standInLive("bytes") - bytes, int64_t(kept));
    EXPECT_GT(api().graph_bytes(prepared), kept);
    api().free_graph(prepared);
    EXPECT_EQ(caller.live.size(), 0U);
  }
  EXPECT_TRUE(caller.isRightStream);
  EXPECT_EQ(standInCalls("cuStreamCreate"), 1);
  EXPECT_EQ(standInCalls("cuMemPoolCreate") + standInCalls("cuMemAllocFromPoolAsync"), 0);
  EXPECT_EQ(standInLive("bytes"), bytes);
  api().destroy_stream(context, caller.stream);
  api().close(context);
}

TEST_F(DeviceMemory, UpdatesAreMadeOfItToo) {
  Caller caller;
  gnnc_context *context = open(&caller);
  ASSERT_TRUE(context);
  caller.stream = createStream(context);
  Graph large = randomGraph(3000, 20000, 3), small = randomGraph(40, 160, 3);
  Description first(large, caller.stream, /*withCapacities=*/true), second(small, caller.stream);
  gnnc_graph *prepared = nullptr;
  ASSERT_EQ(api().prepare(context, &first.desc, &prepared, &error), GNNC_OK) << error.message;
  for (Description *each : {&second, &first}) {
    each->desc.num_capacities = 0;
    int64_t before = caller.calls;
    ASSERT_EQ(api().update(context, prepared, &each->desc, &error), GNNC_OK) << error.message;
    EXPECT_GT(caller.calls, before);
  }
  // Whoever frees it need not have the context any longer.
  api().destroy_stream(context, caller.stream);
  api().close(context);
  EXPECT_GT(caller.live.size(), 0U);
  api().free_graph(prepared);
  EXPECT_EQ(caller.live.size(), 0U);
  EXPECT_TRUE(caller.isRightStream);
}

TEST_F(DeviceMemory, WhatTheCallerHasNotGotIsAnError) {
  Caller caller;
  gnnc_context *context = open(&caller);
  ASSERT_TRUE(context);
  caller.stream = createStream(context);
  for (const Graph &graph : {randomGraph(40, 160, 3), randomGraph(3000, 20000, 3)}) {
    Description description(graph, caller.stream);
    int64_t failed = 0;
    for (int64_t allowed = 0;; ++allowed) {
      gnnc_graph *prepared = nullptr;
      caller.left = allowed;
      gnnc_status status = api().prepare(context, &description.desc, &prepared, &error);
      if (!status) {
        api().free_graph(prepared);
        break;
      }
      ++failed;
      ASSERT_EQ(status, GNNC_OUT_OF_MEMORY) << error.message;
      EXPECT_TRUE(llvm::StringRef(error.message).starts_with("the caller's allocator has no ")) << error.message;
      ASSERT_EQ(caller.live.size(), 0U);
    }
    EXPECT_GT(failed, 0);
    EXPECT_EQ(caller.live.size(), 0U);
  }
  // One that does not align.
  caller.left = INT64_MAX;
  caller.shift = 64;
  Graph graph = randomGraph(40, 160, 3);
  Description description(graph, caller.stream);
  gnnc_graph *prepared = nullptr;
  EXPECT_EQ(api().prepare(context, &description.desc, &prepared, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_TRUE(llvm::StringRef(error.message)
                  .starts_with("the caller's allocator: expected an address that 256 divides, found 0x"))
      << error.message;
  EXPECT_EQ(caller.live.size(), 0U);
  api().destroy_stream(context, caller.stream);
  api().close(context);
}

/// With an allocator but without a stream, and the other way round.
TEST_F(DeviceMemory, OneWithoutTheOther) {
  Graph graph = randomGraph(3000, 20000, 3);
  for (bool hasAllocator : {false, true}) {
    Caller caller;
    gnnc_context *context = open(hasAllocator ? &caller : nullptr);
    ASSERT_TRUE(context);
    void *stream = hasAllocator ? nullptr : createStream(context);
    int64_t streams = standInLive("streams");
    Description description(graph, stream);
    gnnc_graph *prepared = nullptr;
    ASSERT_EQ(api().prepare(context, &description.desc, &prepared, &error), GNNC_OK) << error.message;
    EXPECT_EQ(standInLive("streams") - streams, hasAllocator);
    if (stream)
      api().destroy_stream(context, stream);
    api().free_graph(prepared);
    api().close(context);
    EXPECT_EQ(caller.live.size(), 0U);
  }
}

TEST_F(DeviceMemory, AnAllocatorHasBothFunctions) {
  for (bool allocates : {false, true}) {
    Caller caller;
    if (allocates)
      caller.allocator.release = nullptr;
    else
      caller.allocator.allocate = nullptr;
    gnnc_options options = {sizeof options, 1, nullptr, 2, 0, 0, 0, &caller.allocator, nullptr};
    gnnc_context *context = nullptr;
    EXPECT_EQ(api().open(&options, &context, &error), GNNC_INVALID_ARGUMENT);
    EXPECT_STREQ(error.message, allocates ? "options: the device allocator's function 'release' is null"
                                          : "options: the device allocator's function 'allocate' is null");
    EXPECT_EQ(context, nullptr);
  }
}
