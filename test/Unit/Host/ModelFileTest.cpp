//===- ModelFileTest.cpp - Models loaded and run --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/ModelFile.h"
#include "TestFiles.h"
#include "gnnc/Host/GraphFile.h"
#include "gnnc/Host/Parameters.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace gnnc;
using namespace gnnc::test;

namespace {

std::string model(const std::string &name) { return GNNC_TEST_MODELS "/" + name; }

TEST(ModelFile, RefusesWhatIsNoModel) {
  EXPECT_EQ(errorOf(ModelFile::open("nowhere.so")), "cannot read 'nowhere.so': No such file or directory");
  EXPECT_EQ(errorOf(ModelFile::open("/dev/null")), "'/dev/null' is not a compiled model: expected a shared object");
  EXPECT_EQ(errorOf(ModelFile::open(model("NoModel.so"))),
            "'" + model("NoModel.so") + "' is not a compiled model: it exports no function 'gnnc_model'");
  EXPECT_EQ(errorOf(ModelFile::open(model("FakeModelOfAnotherVersion.so"))),
            "'" + model("FakeModelOfAnotherVersion.so") + "': expected ABI version " +
                std::to_string(GNNC_ABI_VERSION) + ", found 99; compile the model again with this gnnc");
}

TEST(ModelFile, RefusesPartsOfModels) {
  std::unique_ptr<llvm::MemoryBuffer> whole =
      cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(model("FakeModel.so"))));
  llvm::StringRef bytes = whole->getBuffer();
  llvm::SmallString<128> path;
  for (size_t length : {size_t(20), size_t(100), size_t(3000), bytes.size() / 2}) {
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("part", "so", path));
    llvm::FileRemover remover(path);
    std::error_code code;
    llvm::raw_fd_ostream(path, code) << bytes.take_front(length);
    ASSERT_FALSE(code);
    EXPECT_TRUE(llvm::StringRef(errorOf(ModelFile::open(path))).starts_with("'" + path.str().str() + "' is damaged: "))
        << length << " bytes";
  }
}

TEST(ModelFile, DescribesItself) {
  llvm::Expected<ModelFile> file = ModelFile::open(model("FakeModel.so"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  const ModelInfo &info = file->info();
  EXPECT_EQ(info.name, "fake");
  EXPECT_EQ(info.type, ElementType::F32);
  EXPECT_EQ(info.spaces.size(), 2u);
  EXPECT_EQ(info.findMap("dst")->to, "node");
  EXPECT_EQ(*info.inputs[0].space, "node");
  EXPECT_EQ(info.inputs[1].fill, 1.0);
  EXPECT_FALSE(info.params[0].space.has_value());
  EXPECT_EQ(*info.buffers[1].last, 0);
}

TEST(ModelFile, RunsOnAGraph) {
  llvm::Expected<ModelFile> file = ModelFile::open(model("FakeModel.so"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  SafetensorsFile graph = FileBuilder()
                              .metadata("num_nodes", "3")
                              .add<int64_t>("edge_index", {2, 2}, {0, 1, 1, 1})
                              .add<double>("x", {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})
                              .build();
  SafetensorsFile weights = FileBuilder().add<float>("W", {3, 2}, {1, 0, 0, 1, 1, 1}).build();
  llvm::Expected<BoundGraph> bound = BoundGraph::create(graph, file->info());
  ASSERT_TRUE(bool(bound)) << llvm::toString(bound.takeError());
  llvm::Expected<Session> session = Session::create(*file, bound->description(), 1);
  ASSERT_TRUE(bool(session)) << llvm::toString(session.takeError());
  EXPECT_EQ(session->extent("edge"), 2);
  EXPECT_EQ(errorOf(session->program("backward")), "unknown program 'backward'");
  llvm::Expected<ProgramRun> program = session->program("forward");
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  EXPECT_EQ(program->workspaceBytes(), 24u);
  auto extents = [&](llvm::StringRef space) { return bound->extent(space); };
  llvm::Expected<Parameters> params = Parameters::load(file->info(), extents, weights, nullptr);
  ASSERT_TRUE(bool(params)) << llvm::toString(params.takeError());

  std::vector<gnnc_binding> inputs = bound->inputs().vec();
  EXPECT_EQ(llvm::toString(program->run(inputs)), "'W' is missing");
  llvm::append_range(inputs, params->bindings());
  ASSERT_FALSE(program->run(inputs));
  EXPECT_EQ(program->outputs()[0].as<float>().vec(), (std::vector<float>{0, 0, 4 + 10, 5 + 11, 0, 0}));
}

TEST(ModelFile, PassesOnTheModelsErrors) {
  llvm::Expected<ModelFile> file = ModelFile::open(model("FakeModel.so"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  SafetensorsFile graph = FileBuilder()
                              .metadata("num_nodes", "1")
                              .add<int32_t>("edge_index", {2, 1}, {0, 1})
                              .add<float>("x", {1, 3}, {1, 2, 3})
                              .build();
  BoundGraph bound = llvm::cantFail(BoundGraph::create(graph, file->info()));
  EXPECT_EQ(errorOf(Session::create(*file, bound.description(), 1)), "map 'dst' is missing or out of range");
  EXPECT_EQ(errorOf(Session::create(*file, bound.description(), -1)),
            "expected a number of threads, found a negative one");
}

TEST(ModelFile, HasNoValuesForMostParameters) {
  llvm::Expected<ModelFile> file = ModelFile::open(model("FakeModel.so"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  TensorInfo tensor;
  tensor.name = "W";
  EXPECT_EQ(errorOf(file->embedded(tensor)), "'" + model("FakeModel.so") + "' has no values for 'W'");
  tensor.name = "V";
  EXPECT_EQ(errorOf(file->embedded(tensor)), "'" + model("FakeModel.so") + "': unknown parameter V");
}

TEST(ModelInfo, NamesTheMemberThatIsWrong) {
  auto error = [](const std::string &text) { return errorOf(ModelInfo::parse(text, "m.so")); };
  EXPECT_EQ(error("x"), "'m.so': expected a description in JSON, found other text");
  EXPECT_EQ(error("[]"), "'m.so': description: /: expected an object, found array");
  EXPECT_EQ(error(R"({"name":"m","abi":1,"dtype":"f16"})"),
            "'m.so': description: /dtype: expected f32 or f64, found f16");
  EXPECT_EQ(error(R"({"name":"m","abi":1,"dtype":"f32","maps":[{"name":"src","from":1}]})"),
            "'m.so': description: /maps/0/from: expected a string, found number");
  EXPECT_EQ(error(R"({"name":"m","abi":1,"dtype":"f32","inputs":[{"name":"x","dims":["a"]}]})"),
            "'m.so': description: /inputs/0/dims: expected a list of integers, found string");
}

} // namespace
