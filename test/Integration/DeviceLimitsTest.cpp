//===- DeviceLimitsTest.cpp - GPUs that have less than others -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has 227 KiB of shared memory on sm_90, 163 on sm_80, 99 on sm_86, sm_89 and sm_120. The stand-in for the
// driver refuses what its architecture has not.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "TestModel.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

namespace {

class DeviceLimits : public testing::Test {
protected:
  void SetUp() override {
    setenv("GNNC_NVRTC", GNNC_STAND_IN_NVRTC, 1);
    setenv("XDG_CACHE_HOME", GNNC_STAND_IN_NVRTC "/cache", 1);
    standInReset();
  }

  static std::unique_ptr<CompiledModel> compileFor(std::vector<int> architectures, const std::string &text,
                                                   bool doublePrecision = false,
                                                   Storage storage = Storage::AsComputed) {
    std::optional<frontend::ModelSpec> spec = loadText(text);
    if (!spec)
      return nullptr;
    spec->doublePrecision = doublePrecision;
    CompileOptions options;
    options.storage = storage;
    options.gradient = true;
    options.targets = {"cuda"};
    options.architectures = std::move(architectures);
    auto made = CompiledModel::create(*spec, options);
    if (!made) {
      ADD_FAILURE() << llvm::toString(made.takeError());
      return nullptr;
    }
    return std::move(*made);
  }

  /// What opening says on a GPU; empty if it works.
  static std::string openOn(int architecture, const CompiledModel &model, gnnc_status expected = GNNC_OK) {
    standInReset();
    standInSetArchitecture(architecture);
    const gnnc_api &api = model.file().api();
    gnnc_options options = {sizeof options, 1, nullptr, 2, 0, 0, 0, nullptr, nullptr};
    gnnc_context *context = nullptr;
    gnnc_error error = {};
    EXPECT_EQ(api.open(&options, &context, &error), expected) << "sm_" << architecture << ": " << error.message;
    if (context)
      api.close(context);
    EXPECT_EQ(standInLive(nullptr), 0);
    return error.message;
  }
};

constexpr const char *kLinear = "model M { input x: node[a = 512]\n param W[a, b = 8]\n output y = x @ W }";

std::string edgeNetwork(int hidden) {
  return "import std\n model M { input x: node[in = 64]\n output y = EdgeConvMLP(x, hidden: " + std::to_string(hidden) +
         ", out: 64) }";
}

} // namespace

/// Weights that stay in shared memory, and tiles of edges.
TEST_F(DeviceLimits, SharedMemoryIsThatOfAllArchitecturesAskedFor) {
  for (const std::string &text : {std::string(kLinear), edgeNetwork(64), edgeNetwork(640)})
    for (bool doublePrecision : {false, true}) {
      SCOPED_TRACE(text);
      std::unique_ptr<CompiledModel> model = compileFor({80, 90}, text, doublePrecision);
      ASSERT_TRUE(model);
      for (int architecture : {80, 86, 89, 90, 100, 120})
        EXPECT_EQ(openOn(architecture, *model), "");
    }
}

/// Rows of 32 depths beside results that wait to be stored would be 101 KiB.
TEST_F(DeviceLimits, LessDepthWhereResultsWait) {
  for (auto [text, storage] :
       {std::pair("model M { input x: node[a = 128]\n param W[a, b = 60]\n output y = x @ W }", Storage::AsComputed),
        {"model M { param e: node[a = 128]\n param W[a, b = 64]\n let h = e @ W\n output y = sum(h.src * h.dst) }",
         Storage::F16}}) {
    SCOPED_TRACE(text);
    std::unique_ptr<CompiledModel> model = compileFor({80, 90}, text, false, storage);
    ASSERT_TRUE(model);
    for (int architecture : {80, 86, 90, 120})
      EXPECT_EQ(openOn(architecture, *model), "");
  }
}

TEST_F(DeviceLimits, LargerBlocksForLargerGPUs) {
  std::unique_ptr<CompiledModel> model = compileFor({90}, kLinear);
  ASSERT_TRUE(model);
  EXPECT_EQ(openOn(90, *model), "");
  EXPECT_EQ(openOn(100, *model), "");
  EXPECT_EQ(openOn(120, *model, GNNC_UNSUPPORTED),
            "kernel gnnc_kernel0 needs 102400 bytes of shared memory in a block, and this GPU (stand-in, sm_120) has "
            "101376: try --arch=sm_120");
}

/// A graph of some hundred KiB is prepared, and prepared again, with a few MiB of the GPU left.
TEST_F(DeviceLimits, PreparingTakesWhatThereIs) {
  std::unique_ptr<CompiledModel> model = compileFor({90}, "model M { input x: node[a = 4]\n output y = sum(x.src) }");
  ASSERT_TRUE(model);
  constexpr size_t kMemory = 100 << 20, kTaken = 96 << 20;
  standInSetMemory(kMemory);
  standInSetFill(0);
  const gnnc_api &api = model->file().api();
  gnnc_options options = {sizeof options, 1, nullptr, 2, 0, 0, 0, nullptr, nullptr};
  gnnc_context *context = nullptr;
  gnnc_error error = {};
  ASSERT_EQ(api.open(&options, &context, &error), GNNC_OK) << error.message;
  Graph graph = randomGraph(3000, 40000, 1);
  std::vector<gnnc_extent> extents{{"node", 3000}, {"edge", 40000}};
  std::vector<gnnc_index> indices;
  for (const auto &[name, targets] : graph.maps)
    indices.push_back({name.c_str(), targets.data(), int64_t(targets.size()), 32, GNNC_INDEX_EACH});
  gnnc_graph_desc desc = {sizeof desc, 2,       extents.data(), int32_t(indices.size()), indices.data(), 0,
                          nullptr,     nullptr, nullptr};
  auto prepare = [&] {
    gnnc_graph *prepared = nullptr;
    EXPECT_EQ(api.prepare(context, &desc, &prepared, &error), GNNC_OK) << error.message;
    EXPECT_EQ(error.status, GNNC_OK);
    if (prepared)
      api.free_graph(prepared);
  };
  prepare();
  void *taken = nullptr;
  ASSERT_EQ(api.allocate(context, kTaken, &taken, &error), GNNC_OK) << error.message;
  prepare();
  prepare();
  api.release(context, taken);
  api.close(context);
  EXPECT_EQ(standInLive("bytes"), 0);
}

/// A size that a caller's computation wrapped around.
TEST_F(DeviceLimits, NobodyHasSoMuchMemory) {
  std::unique_ptr<CompiledModel> model = compileFor({90}, kLinear);
  ASSERT_TRUE(model);
  const gnnc_api &api = model->file().api();
  gnnc_options options = {sizeof options, 1, nullptr, 2, 0, 0, 0, nullptr, nullptr};
  gnnc_context *context = nullptr;
  gnnc_error error = {};
  ASSERT_EQ(api.open(&options, &context, &error), GNNC_OK) << error.message;
  for (size_t bytes : {SIZE_MAX, size_t(1) << 63, size_t(1) << 62}) {
    void *memory = nullptr;
    EXPECT_EQ(api.allocate(context, bytes, &memory, &error), GNNC_OUT_OF_MEMORY) << error.message;
    EXPECT_EQ(memory, nullptr);
  }
  api.close(context);
}
