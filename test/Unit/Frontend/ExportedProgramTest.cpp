//===- ExportedProgramTest.cpp - What a .pt2 file says --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExportedArchive.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>

using namespace gnnc::frontend::pytorch;
using nlohmann::json;

static ExportedProgram read(const std::string &bytes) {
  llvm::Expected<ExportedProgram> program = readBytes(bytes);
  if (program)
    return std::move(*program);
  ADD_FAILURE() << llvm::toString(program.takeError());
  return ExportedProgram();
}

/// The program with one more argument of `scatter_add`, whose value the result is.
static Argument readArgument(const json &value) {
  TestArchive archive;
  archive.node(6)["inputs"].push_back({{"name", "more"}, {"arg", value}, {"kind", 2}});
  ExportedProgram program = read(archive.pack());
  const Argument *argument = program.graph.nodes.empty() ? nullptr : program.graph.nodes[6].find("more");
  return argument ? *argument : Argument();
}

TEST(ExportedProgram, HasGraphAndSignature) {
  ExportedProgram program = read(TestArchive().pack());
  EXPECT_EQ(program.path, "m.pt2");
  EXPECT_EQ(program.schemaMajor, 8);
  EXPECT_EQ(program.schemaMinor, 20);
  EXPECT_EQ(program.torchVersion, "2.15.0");
  EXPECT_TRUE(program.isTraining);
  EXPECT_EQ(program.graph.inputs, (std::vector<std::string>{"p_weight", "p_tied", "b_scale", "x", "index"}));
  ASSERT_EQ(program.graph.nodes.size(), 7u);
  const Node &linear = program.graph.nodes[2];
  EXPECT_EQ(linear.name, "linear");
  EXPECT_EQ(linear.target, "torch.ops.aten.linear.default");
  EXPECT_EQ(linear.outputs, std::vector<std::string>{"linear"});
  EXPECT_EQ(std::get<ValueName>(*linear.find("weight")).name, "p_weight");
  EXPECT_EQ(linear.find("bias"), nullptr);
  EXPECT_FALSE(linear.source);

  const Node &wrap = program.graph.nodes[3];
  EXPECT_EQ(wrap.outputs, std::vector<std::string>{"getitem"});
  ASSERT_EQ(wrap.arguments.size(), 3u);
  const auto &inner = std::get<std::shared_ptr<const Graph>>(wrap.arguments[1].value);
  ASSERT_EQ(inner->nodes.size(), 1u);
  EXPECT_EQ(inner->inputs, std::vector<std::string>{"arg0"});
  EXPECT_EQ(std::get<ValueName>(inner->outputs[0]).name, "relu");

  const TensorMeta &x = program.graph.tensors.at("x");
  EXPECT_EQ(x.type, ScalarType::Float32);
  ASSERT_EQ(x.sizes.size(), 2u);
  EXPECT_EQ(x.sizes[0].text, "s77");
  EXPECT_EQ(x.sizes[1].literal(), 3);
  EXPECT_EQ(program.graph.tensors.at("index").type, ScalarType::Int64);
  EXPECT_EQ(program.graph.integers.at("sym_size").text, "s77");

  ASSERT_EQ(program.inputs.size(), 5u);
  EXPECT_EQ(program.inputs[0].kind, ProgramInput::Kind::Parameter);
  EXPECT_EQ(program.inputs[0].value, "p_weight");
  EXPECT_EQ(program.inputs[0].target, "lin.weight");
  EXPECT_EQ(program.inputs[2].kind, ProgramInput::Kind::Buffer);
  EXPECT_EQ(program.inputs[3].kind, ProgramInput::Kind::User);
  EXPECT_EQ(program.inputs[3].value, "x");
  ASSERT_EQ(program.outputs.size(), 1u);
  EXPECT_EQ(std::get<ValueName>(program.outputs[0].value).name, "scatter_add");
  EXPECT_EQ(program.ranges.at("s77").least, 2);
  EXPECT_EQ(program.ranges.at("s77").largest, 1000);
  EXPECT_EQ(program.ranges.at("s43").largest, std::nullopt);
}

TEST(ExportedProgram, SharesStorage) {
  for (bool deflate : {false, true}) {
    ExportedProgram program = read(TestArchive().pack(deflate));
    ASSERT_EQ(program.tensors.size(), 3u);
    const StoredTensor &weight = program.tensors.at("lin.weight"), &tied = program.tensors.at("tied");
    EXPECT_EQ(weight.entry, "data/weights/weight_0");
    EXPECT_EQ(weight.storage, tied.storage);
    EXPECT_EQ(weight.strides, (std::vector<int64_t>{3, 1}));
    EXPECT_EQ(tied.strides, (std::vector<int64_t>{1, 3}));
    EXPECT_EQ(weight.storage->size(), 24u);
    EXPECT_EQ(program.tensors.at("scale").storage->at(0), std::byte(2));
  }
}

TEST(ExportedProgram, ReadsOffsetsAndConstants) {
  TestArchive archive;
  json &scale = archive.weights["config"]["scale"];
  scale["path_name"] = "weight_0";
  scale["tensor_meta"]["storage_offset"] = {{"as_int", 5}};
  archive.constants["config"] = {{"table", scale}};
  archive.constants["config"]["table"]["path_name"] = "tensor_0";
  archive.entry("data/constants/tensor_0") = std::string(24, '\3');
  ExportedProgram program = read(archive.pack());
  EXPECT_EQ(program.tensors.at("scale").offset, 5);
  EXPECT_EQ(program.tensors.at("table").entry, "data/constants/tensor_0");
  scale["tensor_meta"]["storage_offset"] = {{"as_int", 6}};
  EXPECT_EQ(errorOf(archive),
            "'m.pt2': data/weights/weight_0: tensor 'scale': sizes, strides and offset need 28 bytes, "
            "found 24");
}

TEST(ExportedProgram, ReadsArguments) {
  EXPECT_TRUE(std::holds_alternative<NoArgument>(readArgument({{"as_none", true}})));
  EXPECT_TRUE(std::holds_alternative<NoArgument>(readArgument({{"as_device", {{"type", "cpu"}, {"index", nullptr}}}})));
  EXPECT_TRUE(std::holds_alternative<NoArgument>(readArgument({{"as_layout", 7}})));
  EXPECT_TRUE(std::holds_alternative<NoArgument>(readArgument({{"as_memory_format", 1}})));
  EXPECT_TRUE(std::holds_alternative<NoArgument>(readArgument({{"as_optional_tensor", {{"as_none", true}}}})));
  EXPECT_EQ(std::get<ValueName>(readArgument({{"as_optional_tensor", {{"as_tensor", {{"name", "x"}}}}}})).name, "x");
  EXPECT_EQ(std::get<int64_t>(readArgument({{"as_int", -3}})), -3);
  EXPECT_EQ(std::get<int64_t>(readArgument({{"as_int", 18446744073709551612u}})), INT64_MAX);
  EXPECT_EQ(std::get<int64_t>(readArgument({{"as_int", json::parse("36893488147419103224")}})), INT64_MAX);
  EXPECT_EQ(std::get<int64_t>(readArgument({{"as_int", json::parse("-36893488147419103224")}})), INT64_MIN);
  EXPECT_EQ(std::get<bool>(readArgument({{"as_bool", true}})), true);
  EXPECT_EQ(std::get<double>(readArgument({{"as_float", 0.5}})), 0.5);
  EXPECT_EQ(std::get<double>(readArgument({{"as_float", 2}})), 2.0);
  EXPECT_EQ(std::get<double>(readArgument({{"as_float", "Infinity"}})), std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<double>(readArgument({{"as_float", "-Infinity"}})), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(std::get<double>(readArgument({{"as_float", "NaN"}}))));
  EXPECT_EQ(std::get<std::vector<double>>(readArgument({{"as_floats", {1.0, "Infinity"}}})).size(), 2u);
  EXPECT_EQ(std::get<std::vector<bool>>(readArgument({{"as_bools", {true, false}}})), (std::vector<bool>{true, false}));
  EXPECT_EQ(std::get<std::string>(readArgument({{"as_string", "mean"}})), "mean");
  EXPECT_EQ(std::get<ScalarType>(readArgument({{"as_scalar_type", 7}})), ScalarType::Float32);
  EXPECT_EQ(std::get<ValueNames>(readArgument({{"as_tensors", {{{"name", "x"}}, {{"name", "linear"}}}}})).names,
            (std::vector<std::string>{"x", "linear"}));
  EXPECT_EQ(std::get<ValueName>(readArgument({{"as_sym_int", {{"as_name", "sym_size"}}}})).name, "sym_size");
  EXPECT_EQ(std::get<int64_t>(readArgument({{"as_sym_int", {{"as_int", 4}}}})), 4);
  EXPECT_EQ(std::get<ValueName>(readArgument({{"as_sym_bool", {{"as_name", "ge"}}}})).name, "ge");
  EXPECT_EQ(std::get<bool>(readArgument({{"as_sym_bool", {{"as_bool", false}}}})), false);
  EXPECT_EQ(std::get<double>(readArgument({{"as_sym_float", {{"as_float", 0.25}}}})), 0.25);
  EXPECT_EQ(std::get<int64_t>(std::get<Integers>(readArgument({{"as_ints", {1, -1}}})).numbers[1]), -1);
  EXPECT_EQ(std::get<OtherArgument>(readArgument({{"as_complex", {{"real", 1.0}, {"imag", 0.0}}}})).kind, "as_complex");

  ExportedProgram program = read(TestArchive().pack());
  const Graph &graph = program.graph;
  const auto &indices = std::get<ValueNames>(*graph.nodes[4].find("indices"));
  EXPECT_EQ(indices.names, (std::vector<std::string>{"index", ""}));
  const auto &size = std::get<Integers>(*graph.nodes[5].find("size"));
  ASSERT_EQ(size.numbers.size(), 2u);
  EXPECT_EQ(std::get<ValueName>(size.numbers[0]).name, "sym_size");
  EXPECT_EQ(std::get<int64_t>(size.numbers[1]), 2);
}

TEST(ExportedProgram, ReadsInputsAndOutputsOfOtherKinds) {
  TestArchive archive;
  json &specs = archive.signature()["input_specs"];
  archive.graph()["inputs"].push_back({{"as_int", 3}});
  specs.push_back({{"constant_input", {{"name", "k"}, {"value", {{"as_int", 3}}}}}});
  archive.graph()["inputs"].push_back({{"as_none", true}});
  specs.push_back({{"constant_input", {{"name", "none"}, {"value", {{"as_none", true}}}}}});
  archive.graph()["inputs"].push_back({{"as_sym_int", {{"as_name", "n"}}}});
  archive.graph()["sym_int_values"]["n"] = {{"as_int", -1}};
  specs.push_back({{"user_input", {{"arg", {{"as_sym_int", {{"as_name", "n"}}}}}}}});
  const json buffer = {{"as_tensor", {{"name", "b_scale"}}}};
  archive.graph()["outputs"].insert(archive.graph()["outputs"].begin(), buffer);
  json &outputs = archive.signature()["output_specs"];
  const json mutation = {{"buffer_mutation", {{"arg", {{"name", "b_scale"}}}, {"buffer_name", "scale"}}}};
  outputs.insert(outputs.begin(), mutation);
  ExportedProgram program = read(archive.pack());
  ASSERT_EQ(program.inputs.size(), 8u);
  EXPECT_EQ(program.inputs[5].kind, ProgramInput::Kind::ConstantInput);
  EXPECT_EQ(program.inputs[5].value, "k");
  EXPECT_EQ(std::get<int64_t>(program.inputs[5].constant), 3);
  EXPECT_TRUE(std::holds_alternative<NoArgument>(program.inputs[6].constant));
  EXPECT_EQ(program.inputs[7].value, "n");
  EXPECT_EQ(program.graph.integers.at("n").literal(), -1);
  ASSERT_EQ(program.outputs.size(), 2u);
  EXPECT_EQ(program.outputs[0].kind, ProgramOutput::Kind::BufferMutation);
  EXPECT_EQ(program.outputs[0].target, "scale");
}

TEST(ExportedProgram, KeepsNotes) {
  TestArchive archive;
  archive.node(2)["metadata"] = {{"stack_trace", "  File \"me.py\", line 3, in forward\n    return self.lin(x)"},
                                 {"nn_module_stack", "k,,Net;k2,lin,torch.nn.Linear"}};
  ExportedProgram program = read(archive.pack());
  const Node &linear = program.graph.nodes[2];
  ASSERT_TRUE(linear.source);
  EXPECT_EQ(linear.source->file, "me.py");
  EXPECT_EQ(linear.source->text, "return self.lin(x)");
  ASSERT_EQ(linear.modules.size(), 2u);
  EXPECT_EQ(linear.modules[1].path, "lin");
}

TEST(ExportedProgram, ReadsEveryGolden) {
  const char *shared = std::getenv("GNNC_SHARED");
  std::string folder = std::string(shared ? shared : GNNC_DEFAULT_SHARED) + "/goldens/pt2";
  if (!llvm::sys::fs::is_directory(folder))
    GTEST_SKIP() << "GNNC_SHARED names no folder with goldens/pt2";
  std::error_code code;
  size_t count = 0;
  for (llvm::sys::fs::directory_iterator file(folder, code), end; file != end && !code; file.increment(code)) {
    if (llvm::sys::path::extension(file->path()) != ".pt2")
      continue;
    ++count;
    llvm::Expected<ExportedProgram> program = readExportedProgram(file->path());
    if (!program) {
      ADD_FAILURE() << llvm::toString(program.takeError());
      continue;
    }
    EXPECT_FALSE(program->graph.nodes.empty()) << file->path();
    EXPECT_EQ(program->isTraining, !llvm::StringRef(file->path()).ends_with(".core.pt2")) << file->path();
  }
  EXPECT_GT(count, 0u);
}
