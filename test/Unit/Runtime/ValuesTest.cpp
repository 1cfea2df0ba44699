//===- ValuesTest.cpp - Values inside a model -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::table;
using namespace gnnc::test;

extern "C" const gnnc_api *gnnc_model();

namespace {

/// y = x * scale + mean, and mean becomes y's last row where the step updates it.
void apply(const Frame *frame, int64_t begin, int64_t end, int64_t, int64_t) {
  const float *x = static_cast<const float *>(frame->buffers[0]),
              *scale = static_cast<const float *>(frame->buffers[1]),
              *mean = static_cast<const float *>(frame->buffers[2]);
  float *y = static_cast<float *>(frame->buffers[3]);
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < 2; ++j)
      y[2 * i + j] = x[2 * i + j] * scale[j] + mean[0];
}

class ValuesTest : public ::testing::Test {
protected:
  /// `updates`: the program writes the parameter, too.
  explicit ValuesTest(bool updates = false) {
    int64_t node = b.root("node");
    int64_t in = b.input("x", node, {2});
    ModelBuilder::Buffer param;
    param.kind = BufferKind::Param;
    param.dims = {2};
    param.values = b.addValues("scale", {2}, {2, 3});
    int64_t scale = b.buffer("scale", param);
    ModelBuilder::Buffer state;
    state.kind = BufferKind::State;
    state.values = b.addValues("mean", {}, {10});
    int64_t mean = b.buffer("mean", state);
    ModelBuilder::Buffer bare;
    bare.kind = BufferKind::Param;
    b.buffer("bare", bare);
    int64_t out = b.output("y", node, {2});
    b.step({apply, StepKind::Rows, node, {in, scale, mean, out}, {}, {}});
    if (updates) {
      ModelBuilder::Buffer written = param;
      written.kind = BufferKind::Output;
      written.values = -1;
      written.replaces = scale;
      b.buffer("scale", written);
    }
    model = b.build();
    context = open(model);
    GraphData data;
    data.extent("node", 3);
    EXPECT_EQ(gnnc_model()->prepare(context, &data.desc(), &graph, &error), GNNC_OK) << error.message;
    inputs = {x.binding, bareTensor.binding};
  }
  ~ValuesTest() override {
    gnnc_model()->free_graph(graph);
    gnnc_model()->close(context);
  }

  gnnc_status run() {
    error.message[0] = 0;
    return gnnc_model()->run(context, graph, nullptr, inputs.data(), static_cast<int32_t>(inputs.size()), &y.binding, 1,
                             nullptr, 0, nullptr, &error);
  }

  ModelBuilder b;
  runtime::Model model;
  gnnc_context *context = nullptr;
  gnnc_graph *graph = nullptr;
  gnnc_error error = {};
  Tensor x{"x", {3, 2}, 1}, y{"y", {3, 2}}, bareTensor{"bare", {}}, scale{"scale", {2}, 5};
  std::vector<gnnc_binding> inputs;
};

class UpdatedValuesTest : public ValuesTest {
protected:
  UpdatedValuesTest() : ValuesTest(/*updates=*/true) {}
};

} // namespace

TEST_F(ValuesTest, AreTakenWhereNothingIsBound) {
  EXPECT_EQ(run(), GNNC_OK) << error.message;
  EXPECT_EQ(y.data, (std::vector<float>{12, 13, 12, 13, 12, 13}));
}

TEST_F(ValuesTest, GiveWayToWhatIsBound) {
  inputs.push_back(scale.binding);
  EXPECT_EQ(run(), GNNC_OK) << error.message;
  EXPECT_EQ(y.data, std::vector<float>(6, 15));
  // And are there again the next time.
  inputs.pop_back();
  EXPECT_EQ(run(), GNNC_OK) << error.message;
  EXPECT_EQ(y.data[1], 13);
}

TEST_F(ValuesTest, AreOfThoseThatHaveThem) {
  inputs.pop_back();
  EXPECT_EQ(run(), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "parameter 'bare' is missing: expected float32 []");
}

TEST_F(UpdatedValuesTest, AreNotWrittenTo) {
  EXPECT_EQ(run(), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "parameter 'scale' is missing: expected float32 [2], because the program updates it");
  inputs.push_back(scale.binding);
  EXPECT_EQ(run(), GNNC_OK) << error.message;
  EXPECT_EQ(y.data, std::vector<float>(6, 15));
}

TEST_F(ValuesTest, CanBeAskedFor) {
  gnnc_tensor tensor;
  ASSERT_EQ(runtime::findValues(model, "scale", &tensor, &error), GNNC_OK);
  ASSERT_EQ(tensor.ndim, 1);
  EXPECT_EQ(tensor.shape[0], 2);
  EXPECT_EQ(tensor.device_type, 1);
  EXPECT_EQ(tensor.dtype_code, 2);
  EXPECT_EQ(tensor.dtype_bits, 32);
  EXPECT_EQ(tensor.dtype_lanes, 1);
  EXPECT_EQ(tensor.strides, nullptr);
  EXPECT_EQ(static_cast<const float *>(tensor.data)[1], 3);
  ASSERT_EQ(runtime::findValues(model, "mean", &tensor, &error), GNNC_OK);
  EXPECT_EQ(tensor.ndim, 0);
  EXPECT_EQ(*static_cast<const float *>(tensor.data), 10);
  ASSERT_EQ(runtime::findValues(model, "bare", &tensor, &error), GNNC_OK);
  EXPECT_EQ(tensor.data, nullptr);
  EXPECT_EQ(runtime::findValues(model, "x", &tensor, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "embedded: the model has no parameter or state 'x'");
  EXPECT_EQ(runtime::findValues(model, nullptr, &tensor, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "embedded: name is null");
  EXPECT_EQ(gnnc_model()->embedded("scale", nullptr, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "embedded: tensor is null");
}
