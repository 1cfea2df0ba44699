//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::table;
using namespace gnnc::test;

extern "C" const gnnc_api *gnnc_model();

namespace {

/// y = x + w, where w may be absent; none need be aligned.
void add(const Frame *frame, int64_t begin, int64_t end, int64_t, int64_t) {
  auto at = [&](int buffer, int64_t i) {
    return static_cast<char *>(frame->buffers[buffer]) + i * int64_t(sizeof(float));
  };
  float x, w;
  for (int64_t i = 2 * begin; i < 2 * end; ++i) {
    memcpy(&x, at(0, i), sizeof x);
    memcpy(&w, at(1, i), sizeof w);
    x += w;
    memcpy(at(2, i), &x, sizeof x);
  }
}

class BindingTest : public ::testing::Test {
protected:
  BindingTest() {
    int64_t node = b.root("node");
    int64_t in = b.input("x", node, {2});
    ModelBuilder::Buffer optional;
    optional.kind = BufferKind::Input;
    optional.space = node;
    optional.dims = {2};
    optional.optional = true;
    optional.fill = 0.5;
    int64_t weight = b.buffer("w", optional);
    ModelBuilder::Buffer param;
    param.kind = BufferKind::Param;
    b.buffer("bias", param);
    param.kind = BufferKind::State;
    param.dims = {3};
    param.bits = 64;
    b.buffer("mean", param);
    int64_t out = b.output("y", node, {2});
    b.step({add, StepKind::Rows, node, {in, weight, out}, {}, {}});
    context = open(b.build());
    graph = prepare(3);
    mean.binding.tensor.dtype_bits = 64;
    mean.binding.tensor.data = meanData;
    bind();
  }
  ~BindingTest() override {
    gnnc_model()->free_graph(graph);
    gnnc_model()->close(context);
  }

  gnnc_graph *prepare(int64_t nodes) {
    GraphData data;
    data.extent("node", nodes);
    gnnc_graph *result;
    EXPECT_EQ(gnnc_model()->prepare(context, &data.desc(), &result, &error), GNNC_OK) << error.message;
    return result;
  }
  void bind() {
    inputs = {x.binding, w.binding, bias.binding, mean.binding};
    outputs = {y.binding};
  }
  gnnc_status run(void *workspace = nullptr, size_t bytes = 0) {
    error.message[0] = 0;
    return gnnc_model()->run(context, graph, nullptr, inputs.data(), static_cast<int32_t>(inputs.size()),
                             outputs.data(), static_cast<int32_t>(outputs.size()), workspace, bytes, nullptr, &error);
  }
  void expect(const std::string &message) {
    EXPECT_EQ(run(), GNNC_INVALID_ARGUMENT);
    EXPECT_EQ(error.message, message);
    bind();
  }

  ModelBuilder b;
  gnnc_context *context;
  gnnc_graph *graph;
  gnnc_error error;
  Tensor x{"x", {3, 2}, 1}, w{"w", {3, 2}, 2}, bias{"bias", {}, 0}, mean{"mean", {3}, 0}, y{"y", {3, 2}, 0};
  double meanData[3] = {};
  std::vector<gnnc_binding> inputs, outputs;
};

TEST_F(BindingTest, AllIsWell) {
  EXPECT_EQ(run(), GNNC_OK) << error.message;
  EXPECT_EQ(y.data, std::vector<float>(6, 3));
  std::reverse(inputs.begin(), inputs.end());
  EXPECT_EQ(run(), GNNC_OK) << error.message;
}

TEST_F(BindingTest, AnAbsentInputHasItsDefault) {
  inputs.erase(inputs.begin() + 1);
  EXPECT_EQ(run(), GNNC_OK) << error.message;
  EXPECT_EQ(y.data, std::vector<float>(6, 1.5f));
}

TEST_F(BindingTest, Shapes) {
  Tensor narrow("x", {3, 1}), flat("x", {6}), deep("x", {3, 2, 1});
  inputs[0] = narrow.binding;
  expect("input 'x': expected shape [3, 2], found [3, 1]");
  inputs[0] = flat.binding;
  expect("input 'x': expected shape [3, 2], found [6]");
  inputs[0] = deep.binding;
  expect("input 'x': expected shape [3, 2], found [3, 2, 1]");
  inputs[0].tensor.ndim = 0;
  expect("input 'x': expected shape [3, 2], found []");
  inputs[0].tensor.ndim = -1;
  expect("input 'x': ndim is -1");
  inputs[0].tensor.ndim = 100000000; // of which `shape` has two
  expect("input 'x': expected 2 axes, found ndim 100000000");
  inputs[0].tensor.shape = nullptr;
  expect("input 'x': ndim is 2, but shape is null");
  Tensor vector("bias", {1});
  inputs[2] = vector.binding;
  expect("parameter 'bias': expected shape [], found [1]");
  outputs[0].tensor.shape = narrow.binding.tensor.shape;
  expect("output 'y': expected shape [3, 2], found [3, 1]");
}

TEST_F(BindingTest, ElementsMayHaveSeveralAxes) {
  Tensor several("x", {3, 1, 2}), first("x", {1, 3, 2}), other("x", {2, 3, 2}), none("x", {0, 3, 2}),
      inner("x", {3, 2, 2}), negative("x", {-3, -1, 2}), huge("x", {int64_t(1) << 62, 4, 2});
  for (Tensor *each : {&several, &first}) {
    inputs[0] = each->binding;
    EXPECT_EQ(run(), GNNC_OK) << error.message;
  }
  int64_t dense[] = {2, 2, 1}, turned[] = {2, 1, 3};
  inputs[0] = several.binding;
  inputs[0].tensor.strides = dense;
  EXPECT_EQ(run(), GNNC_OK) << error.message;
  inputs[0].tensor.strides = turned;
  expect("input 'x': expected dense row-major strides for shape [3, 2], found strides [2, 1, 3]");
  for (auto [each, found] :
       {std::pair(&other, "[2, 3, 2]"), std::pair(&none, "[0, 3, 2]"), std::pair(&inner, "[3, 2, 2]"),
        std::pair(&negative, "[-3, -1, 2]"), std::pair(&huge, "[4611686018427387904, 4, 2]")}) {
    inputs[0] = each->binding;
    expect(("input 'x': expected shape [3, 2], found " + std::string(found)).c_str());
  }
}

TEST_F(BindingTest, Types) {
  inputs[0].tensor.dtype_bits = 64;
  expect("input 'x': expected float32, found float64");
  inputs[0].tensor.dtype_code = 0;
  expect("input 'x': expected float32, found int32");
  inputs[0].tensor.dtype_code = 4;
  inputs[0].tensor.dtype_bits = 16;
  expect("input 'x': expected float32, found bfloat16");
  inputs[0].tensor.dtype_lanes = 4;
  expect("input 'x': expected float32, found float32 in 4 lanes");
  inputs[0].tensor.dtype_code = 77;
  expect("input 'x': expected float32, found type code 77 with 32 bits");
  inputs[3].tensor.dtype_bits = 32;
  expect("state 'mean': expected float64, found float32");
  inputs[0].tensor.device_type = 2;
  expect("input 'x': expected CPU memory (device type 1), found device type 2");
}

TEST_F(BindingTest, Strides) {
  int64_t dense[] = {2, 1}, transposed[] = {1, 3}, padded[] = {4, 1};
  inputs[0].tensor.strides = dense;
  EXPECT_EQ(run(), GNNC_OK) << error.message;
  inputs[0].tensor.strides = transposed;
  expect("input 'x': expected dense row-major strides for shape [3, 2], found strides [1, 3]");
  outputs[0].tensor.strides = padded;
  expect("output 'y': expected dense row-major strides for shape [3, 2], found strides [4, 1]");
}

TEST_F(BindingTest, Names) {
  inputs[0].name = "z";
  expect("unknown input 'z': expected one of x, w, bias, mean");
  inputs[0].name = "y";
  expect("unknown input 'y': expected one of x, w, bias, mean");
  inputs[0].name = nullptr;
  expect("input 0 has no name");
  inputs.push_back(inputs[0]);
  expect("input 'x' is given twice");
  std::string evil(1000, 'a');
  evil[1] = '\n';
  inputs[0].name = evil.c_str();
  EXPECT_EQ(run(), GNNC_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(error.message).find('\n'), std::string::npos);
  bind();
  outputs[0].name = "x";
  expect("unknown output 'x': expected one of y");
  outputs.push_back(outputs[0]);
  expect("output 'y' is given twice");
}

TEST_F(BindingTest, Missing) {
  inputs.erase(inputs.begin());
  expect("input 'x' is missing: expected float32 [3, 2]");
  inputs.erase(inputs.begin() + 2);
  expect("parameter 'bias' is missing: expected float32 []");
  inputs.pop_back();
  expect("state 'mean' is missing: expected float64 [3]");
  outputs.clear();
  expect("output 'y' is missing: expected float32 [3, 2]");
}

TEST_F(BindingTest, Addresses) {
  inputs[0].tensor.data = nullptr;
  expect("input 'x': expected 24 bytes of data, found a null pointer");
  outputs[0].tensor.data = x.data.data();
  expect("output 'y' overlaps input 'x' in memory");
  outputs[0].tensor.data = w.data.data() + 5;
  Tensor longer("", {100});
  inputs[0].tensor.data = longer.data.data();
  outputs[0].tensor.data = longer.data.data() + 5;
  expect("output 'y' overlaps input 'x' in memory");
  inputs[0].tensor.data = longer.data.data();
  outputs[0].tensor.data = longer.data.data() + 6;
  EXPECT_EQ(run(), GNNC_OK) << error.message;
  bind();
  inputs[1].tensor.data = x.data.data(); // inputs may be one
  EXPECT_EQ(run(), GNNC_OK) << error.message;
}

TEST_F(BindingTest, OffsetsAndOddAddresses) {
  std::vector<char> bytes(100);
  float values[6] = {1, 2, 3, 4, 5, 6};
  memcpy(bytes.data() + 9, values, sizeof values);
  inputs[0].tensor.data = bytes.data() + 1;
  inputs[0].tensor.byte_offset = 8;
  EXPECT_EQ(run(), GNNC_OK) << error.message;
  EXPECT_EQ(y.data, (std::vector<float>{3, 4, 5, 6, 7, 8}));
}

TEST_F(BindingTest, NullDataWithoutElements) {
  gnnc_model()->free_graph(graph);
  graph = prepare(0);
  Tensor emptyX("x", {0, 2}), emptyW("w", {0, 2}), emptyY("y", {0, 2});
  inputs = {emptyX.binding, emptyW.binding, bias.binding, mean.binding};
  outputs = {emptyY.binding};
  inputs[0].tensor.data = nullptr;
  outputs[0].tensor.data = nullptr;
  EXPECT_EQ(run(), GNNC_OK) << error.message;
}

TEST_F(BindingTest, Workspace) {
  size_t bytes = 0;
  ASSERT_EQ(gnnc_model()->workspace_size(graph, nullptr, &bytes, nullptr), GNNC_OK);
  char *memory = static_cast<char *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
  EXPECT_EQ(run(memory, bytes), GNNC_OK) << error.message;
  EXPECT_EQ(run(memory, bytes - 1), GNNC_INVALID_ARGUMENT);
  EXPECT_EQ(error.message,
            "workspace: expected " + std::to_string(bytes) + " bytes or more, found " + std::to_string(bytes - 1));
  EXPECT_EQ(run(memory + 16, bytes), GNNC_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(error.message).find("workspace: expected an address that 64 divides, found "), 0u);
  inputs[0].tensor.data = memory + 8;
  EXPECT_EQ(run(memory, bytes), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "input 'x' overlaps the workspace in memory");
  std::free(memory);
}

/// What a program's first half left cannot be in a workspace that `run` allocates.
TEST_F(BindingTest, SecondHalvesNeedTheirWorkspace) {
  const runtime::Model &model = context->model; // The builder's memory.
  ProgramRec &program = const_cast<ProgramRec &>(model.program(0));
  program.firstStep = 1;
  expect("program 'forward' goes on from what another left in its workspace: expected that workspace, found none");
  program.firstStep = 0;
}

TEST_F(BindingTest, Arguments) {
  const gnnc_api *api = gnnc_model();
  EXPECT_EQ(api->run(nullptr, graph, nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, &error),
            GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "run: context is null");
  EXPECT_EQ(api->run(context, nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, &error),
            GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "run: graph is null");
  EXPECT_EQ(api->run(context, graph, nullptr, nullptr, 2, nullptr, 0, nullptr, 0, nullptr, &error),
            GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "num_inputs is 2, but the list is null");
  EXPECT_EQ(api->run(context, graph, nullptr, inputs.data(), -1, nullptr, 0, nullptr, 0, nullptr, nullptr),
            GNNC_INVALID_ARGUMENT);
  ModelBuilder other;
  gnnc_context *otherContext = open(other.build());
  EXPECT_EQ(api->run(otherContext, graph, nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, &error),
            GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "run: the graph was prepared by another model");
  api->close(otherContext);
}

} // namespace
