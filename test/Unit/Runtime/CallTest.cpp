//===- CallTest.cpp - Programs with everything decided but addresses ------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of five steps, of which each adds what it is given and the number of the step plus one, and is counted:
//
//   0: h = x     1: y = h     2: z = h, v = h     3: t = y     4: u = t + z
//
// y, z, v and u are outputs. `first` has steps 0 and 1, `second` the others.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include <cstring>
#include <gtest/gtest.h>
#include <map>

using namespace gnnc;
using namespace gnnc::table;
using namespace gnnc::test;

extern "C" const gnnc_api *gnnc_model();

namespace {

int64_t counts[5];

/// The last `Results` buffers become the sum of the others, plus `Number` + 1.
template <int Number, int Operands, int Results>
void sum(const Frame *frame, int64_t begin, int64_t end, int64_t, int64_t) {
  ++counts[Number];
  for (int64_t i = begin; i < end; ++i) {
    float total = Number + 1;
    for (int k = 0; k < Operands; ++k)
      total += static_cast<float *>(frame->buffers[k])[i];
    for (int k = 0; k < Results; ++k)
      static_cast<float *>(frame->buffers[Operands + k])[i] = total;
  }
}

constexpr int64_t kNodes = 3;

class CallTest : public ::testing::Test {
protected:
  CallTest() {
    int64_t node = b.root("node"), x = b.input("x", node, {});
    int64_t h = b.arena(node, {}, 0, 4), t = b.arena(node, {}, 3, 4);
    int64_t y = b.output("y", node, {}), z = b.output("z", node, {}), v = b.output("v", node, {});
    int64_t u = b.output("u", node, {});
    b.step({sum<0, 1, 1>, StepKind::Rows, node, {x, h}, {}, {}, 0, {h}});
    b.step({sum<1, 1, 1>, StepKind::Rows, node, {h, y}, {}, {}, 0, {y}});
    b.step({sum<2, 1, 2>, StepKind::Rows, node, {h, z, v}, {}, {}, 0, {z, v}});
    b.step({sum<3, 1, 1>, StepKind::Rows, node, {y, t}, {}, {}, 0, {t}});
    b.step({sum<4, 2, 1>, StepKind::Rows, node, {t, z, u}, {}, {}, 0, {u}});
    b.program("first", 0, 2);
    b.program("second", 2, 3);
    model = b.build();
    context = open(model);
    GraphData data;
    data.extent("node", kNodes);
    EXPECT_EQ(api->prepare(context, &data.desc(), &graph, &error), GNNC_OK) << error.message;
    EXPECT_EQ(api->workspace_size(graph, nullptr, &workspaceBytes, &error), GNNC_OK);
  }
  ~CallTest() override {
    for (auto &[key, made] : calls)
      api->free_call(made.first);
    api->free_graph(graph);
    api->close(context);
  }

  using Names = std::vector<const char *>;
  gnnc_status make(const char *program, const Names &inputs, const Names &outputs, const Names *later = nullptr) {
    const char *none = nullptr;
    gnnc_call_desc desc = {sizeof desc,
                           int32_t(inputs.size()),
                           program,
                           inputs.data(),
                           outputs.data(),
                           int32_t(outputs.size()),
                           later ? int32_t(later->size()) : 0,
                           !later           ? nullptr
                           : later->empty() ? &none
                                            : later->data()};
    gnnc_call *call = nullptr;
    size_t bytes = 0;
    error.message[0] = 0;
    gnnc_status status = api->make_call(graph, &desc, &call, &bytes, &error);
    EXPECT_EQ(status != GNNC_OK, !call);
    if (call) {
      api->free_call(calls[program].first);
      calls[program] = {call, bytes};
    }
    return status;
  }
  gnnc_status run(const char *program, std::vector<void *> data, void *workspace = nullptr) {
    memset(counts, 0, sizeof counts);
    error.message[0] = 0;
    auto [call, bytes] = calls.at(program);
    return api->run_call(context, call, data.data(), workspace ? workspace : space, sizeof space, nullptr, &error);
  }
  std::vector<int64_t> ran() const { return {counts, counts + 5}; }

  const gnnc_api *api = gnnc_model();
  ModelBuilder b;
  runtime::Model model;
  gnnc_context *context;
  gnnc_graph *graph = nullptr;
  gnnc_error error = {};
  size_t workspaceBytes = 0;
  std::map<std::string, std::pair<gnnc_call *, size_t>> calls;
  alignas(64) char space[8192];
  float x[kNodes] = {1, 2, 3}, y[kNodes] = {}, z[kNodes] = {}, v[kNodes] = {}, u[kNodes] = {};
};

} // namespace

TEST_F(CallTest, EverythingThatIsWantedIsComputed) {
  ASSERT_EQ(make("forward", {"x"}, {"u", "v", "y", "z"}), GNNC_OK) << error.message;
  EXPECT_EQ(calls["forward"].second, workspaceBytes);
  ASSERT_EQ(run("forward", {x, u, v, y, z}), GNNC_OK) << error.message;
  EXPECT_EQ(ran(), (std::vector<int64_t>{1, 1, 1, 1, 1}));
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(std::vector<float>(z, z + 3), (std::vector<float>{5, 6, 7}));
  EXPECT_EQ(std::vector<float>(v, v + 3), (std::vector<float>{5, 6, 7}));
  EXPECT_EQ(std::vector<float>(u, u + 3), (std::vector<float>{18, 20, 22}));
}

TEST_F(CallTest, StepsThatNobodyNeedsAreLeftOut) {
  ASSERT_EQ(make("forward", {"x"}, {"y"}), GNNC_OK) << error.message;
  EXPECT_EQ(calls["forward"].second, workspaceBytes); // No step that runs has an output that is not wanted.
  ASSERT_EQ(run("forward", {x, y}), GNNC_OK) << error.message;
  EXPECT_EQ(ran(), (std::vector<int64_t>{1, 1, 0, 0, 0}));
  EXPECT_EQ(y[2], 6);
  EXPECT_EQ(z[2], 0);
}

TEST_F(CallTest, OutputsThatAreNotWantedButUsedHaveAPlaceBehindTheWorkspace) {
  ASSERT_EQ(make("forward", {"x"}, {"u"}), GNNC_OK) << error.message;
  size_t bytes = calls["forward"].second;
  EXPECT_GT(bytes, workspaceBytes);
  ASSERT_LE(bytes, sizeof space);
  memset(space, 0x7f, sizeof space);
  ASSERT_EQ(run("forward", {x, u}), GNNC_OK) << error.message;
  EXPECT_EQ(std::vector<float>(u, u + 3), (std::vector<float>{18, 20, 22}));
  for (size_t i = bytes; i < sizeof space; ++i)
    ASSERT_EQ(space[i], 0x7f) << i;
  auto [call, size] = calls["forward"];
  std::vector<void *> data = {x, u};
  EXPECT_EQ(api->run_call(context, call, data.data(), space, bytes - 1, nullptr, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_EQ(error.message,
            "workspace: expected " + std::to_string(bytes) + " bytes or more, found " + std::to_string(bytes - 1));
  // Without a workspace one is allocated.
  memset(u, 0, sizeof u);
  EXPECT_EQ(api->run_call(context, call, data.data(), nullptr, 0, nullptr, &error), GNNC_OK);
  EXPECT_EQ(u[2], 22);
}

TEST_F(CallTest, AHalfComputesWhatTheOtherIsAskedFor) {
  Names nothing, later = {"v"};
  ASSERT_EQ(make("first", {"x"}, {"y"}, &later), GNNC_OK) << error.message;
  ASSERT_EQ(make("second", {}, {"v"}), GNNC_OK) << error.message;
  ASSERT_EQ(run("first", {x, y}), GNNC_OK) << error.message;
  EXPECT_EQ(ran(), (std::vector<int64_t>{1, 1, 0, 0, 0}));
  ASSERT_EQ(run("second", {v}), GNNC_OK) << error.message;
  EXPECT_EQ(ran(), (std::vector<int64_t>{0, 0, 1, 0, 0}));
  EXPECT_EQ(v[2], 7);
  // Nobody wants y itself; h is needed later.
  ASSERT_EQ(make("first", {"x"}, {}, &later), GNNC_OK) << error.message;
  ASSERT_EQ(run("first", {x}), GNNC_OK) << error.message;
  EXPECT_EQ(ran(), (std::vector<int64_t>{1, 0, 0, 0, 0}));
  ASSERT_EQ(make("first", {"x"}, {}, &nothing), GNNC_OK) << error.message;
  ASSERT_EQ(run("first", {x}), GNNC_OK) << error.message;
  EXPECT_EQ(ran(), (std::vector<int64_t>{0, 0, 0, 0, 0}));
  ASSERT_EQ(make("first", {"x"}, {}), GNNC_OK) << error.message;
  ASSERT_EQ(run("first", {x}), GNNC_OK) << error.message;
  EXPECT_EQ(ran(), (std::vector<int64_t>{1, 1, 0, 0, 0}));
}

TEST_F(CallTest, WhatAHalfReadsOfTheOtherIsGivenAgain) {
  EXPECT_EQ(make("second", {}, {"u"}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "output 'y' is missing: expected float32 [3]");
  ASSERT_EQ(make("first", {"x"}, {"y"}), GNNC_OK) << error.message;
  ASSERT_EQ(make("second", {}, {"y", "u"}), GNNC_OK) << error.message;
  ASSERT_EQ(run("first", {x, y}), GNNC_OK) << error.message;
  ASSERT_EQ(run("second", {y, u}), GNNC_OK) << error.message;
  EXPECT_EQ(u[2], 22);
  std::vector<void *> data = {y, u};
  EXPECT_EQ(api->run_call(context, calls["second"].first, data.data(), nullptr, 0, nullptr, &error),
            GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "program 'second' goes on from what another left in its workspace: expected that "
                              "workspace, found none");
}

TEST_F(CallTest, NamesAreChecked) {
  EXPECT_EQ(make("forward", {"y"}, {"y"}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "make_call: unknown input 'y'");
  EXPECT_EQ(make("forward", {"x"}, {"x"}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "make_call: unknown output 'x'");
  EXPECT_EQ(make("forward", {"x", "x"}, {"y"}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "make_call: input 'x' is given twice");
  EXPECT_EQ(make("forward", {}, {"y"}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "input 'x' is missing: expected float32 [3]");
  Names later = {"w"};
  EXPECT_EQ(make("first", {"x"}, {"y"}, &later), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "make_call: unknown later output 'w'");
  EXPECT_EQ(make("third", {"x"}, {"y"}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "unknown program 'third': expected one of forward, first, second");
  EXPECT_EQ(make("forward", {nullptr}, {"y"}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "make_call: input 0 has no name");
}

TEST_F(CallTest, AddressesAreChecked) {
  ASSERT_EQ(make("forward", {"x"}, {"y", "z"}), GNNC_OK) << error.message;
  EXPECT_EQ(run("forward", {x, nullptr, z}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "'y': expected 12 bytes of data, found a null pointer");
  EXPECT_EQ(run("forward", {x, y, x}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "'z' overlaps 'x' in memory");
  EXPECT_EQ(run("forward", {x, y, y}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "'y' overlaps 'z' in memory");
  EXPECT_EQ(run("forward", {x, y, space + 64}), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "'z' overlaps the workspace in memory");
  EXPECT_EQ(ran(), (std::vector<int64_t>{0, 0, 0, 0, 0}));
  EXPECT_EQ(run("forward", {x, y, z}, space + 8), GNNC_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(error.message).rfind("workspace: expected an address that 64 divides", 0), 0U) << error.message;
}

TEST_F(CallTest, NullIsAnError) {
  gnnc_call_desc desc = {};
  gnnc_call *call = nullptr;
  size_t bytes;
  EXPECT_EQ(api->make_call(nullptr, &desc, &call, &bytes, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "make_call: graph is null");
  EXPECT_EQ(api->make_call(graph, nullptr, &call, &bytes, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_EQ(api->make_call(graph, &desc, nullptr, &bytes, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_EQ(api->make_call(graph, &desc, &call, nullptr, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_EQ(api->make_call(graph, &desc, &call, &bytes, &error), GNNC_VERSION_MISMATCH);
  EXPECT_EQ(api->run_call(context, nullptr, nullptr, nullptr, 0, nullptr, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "run_call: call is null");
  ASSERT_EQ(make("forward", {"x"}, {"y"}), GNNC_OK) << error.message;
  EXPECT_EQ(api->run_call(context, calls["forward"].first, nullptr, space, sizeof space, nullptr, &error),
            GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "run_call: data is null");
  api->free_call(nullptr);
}

/// Running out of memory at any point leaves nothing behind.
TEST_F(CallTest, OutOfMemory) {
  CountingAllocator counting;
  gnnc_context *own = open(model, 1, &counting.allocator);
  GraphData data;
  data.extent("node", kNodes);
  gnnc_graph *other = nullptr;
  ASSERT_EQ(api->prepare(own, &data.desc(), &other, &error), GNNC_OK) << error.message;
  size_t before = counting.bytes;
  const char *inputs[] = {"x"}, *outputs[] = {"u"};
  gnnc_call_desc desc = {sizeof desc, 1, nullptr, inputs, outputs, 1, 0, nullptr};
  gnnc_call *call = nullptr;
  size_t bytes;
  int64_t allowed = 0;
  for (;; ++allowed) {
    counting.remaining = allowed;
    gnnc_status status = api->make_call(other, &desc, &call, &bytes, &error);
    if (status == GNNC_OK)
      break;
    ASSERT_EQ(status, GNNC_OUT_OF_MEMORY);
    ASSERT_EQ(call, nullptr);
    ASSERT_EQ(counting.bytes, before);
  }
  EXPECT_GT(allowed, 3);
  counting.remaining = INT64_MAX;
  api->free_call(call);
  EXPECT_EQ(counting.bytes, before);
  api->free_graph(other);
  api->close(own);
}
