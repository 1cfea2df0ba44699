//===- GoldenTest.cpp - Layers against PyTorch Geometric's numbers ===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Outputs of PyTorch Geometric's own layers, and of two-layer models it has trained, lie in a folder named by the
// environment variable GNNC_SHARED (else where the build was told); without it these tests are skipped. The models
// and the maps of their parameters are in goldens/.
//
//===----------------------------------------------------------------------===//

#include "GoldenCases.h"
#include "SharedFiles.h"

#include "gnnc/Host/GraphFile.h"
#include "gnnc/Host/Parameters.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

namespace {

class Golden : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(Golden, MatchesPyG) {
  compareWithPyG(GetParam(), /*gradient=*/false, [](const frontend::ModelSpec &model) { return allRunners(model); });
}

TEST_P(Golden, GradientsMatchPyG) {
  compareWithPyG(GetParam(), /*gradient=*/true, [](const frontend::ModelSpec &model) {
    std::vector<std::unique_ptr<Runner>> runners = allRunners(model, /*gradient=*/true);
    for (std::unique_ptr<Runner> &runner : savingRunners(model))
      runners.push_back(std::move(runner));
    return runners;
  });
}

INSTANTIATE_TEST_SUITE_P(PyG, Golden, testing::ValuesIn(kGoldenLayers),
                         [](const auto &info) { return std::string(info.param); });

// The examples with the parameters of models trained by PyTorch Geometric: a graph file, sparse features and all.
TEST(Trained, ExamplesMatchPyG) {
  for (std::string graphName : {"cora", "citeseer"})
    for (std::string example : {"gcn", "gat"}) {
      SCOPED_TRACE(graphName + " " + example);
      std::string trainedName = "goldens/trained/" + graphName + "_" + example + ".safetensors";
      std::string trained = findSharedFile(trainedName), data = findSharedFile("data/" + graphName + ".safetensors");
      GNNC_SKIP_WITHOUT(trained, trainedName);
      GNNC_SKIP_WITHOUT(data, "data/" + graphName + ".safetensors");
      llvm::Expected<SafetensorsFile> params = SafetensorsFile::open(trained), graph = SafetensorsFile::open(data);
      ASSERT_TRUE(params && graph);
      const FileTensor *expected = params->find("logits");
      ASSERT_TRUE(expected);

      std::string folder = std::string(GNNC_EXAMPLES) + "/" + example;
      std::optional<frontend::ModelSpec> model =
          loadFile(folder + "/model.gnn", {{"in", std::to_string(graphName == "cora" ? 1433 : 3703)},
                                           {"class", std::to_string(expected->shape[1])}});
      ASSERT_TRUE(model);
      llvm::Expected<ParamsMap> map = ParamsMap::open(folder + "/pyg.map.json");
      ASSERT_TRUE(bool(map)) << llvm::toString(map.takeError());
      for (unsigned optLevel : {0u, 2u}) {
        auto compiled = CompiledModel::create(*model, optLevel);
        ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
        const ModelFile &file = (*compiled)->file();
        llvm::Expected<BoundGraph> bound = BoundGraph::create(*graph, file.info());
        ASSERT_TRUE(bool(bound)) << llvm::toString(bound.takeError());
        auto extents = [&](llvm::StringRef space) { return bound->extent(space); };
        llvm::Expected<Parameters> parameters =
            Parameters::load(file.info(), extents, *params, &*map, file.info().findProgram("forward"));
        ASSERT_TRUE(bool(parameters)) << llvm::toString(parameters.takeError());
        llvm::Expected<Session> session = Session::create(file, bound->description(), /*threads=*/2);
        ASSERT_TRUE(bool(session)) << llvm::toString(session.takeError());
        std::vector<gnnc_binding> inputs = bound->inputs().vec();
        for (const gnnc_binding &binding : parameters->bindings())
          inputs.push_back(binding);
        llvm::Expected<ProgramRun> program = session->program("forward");
        ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
        llvm::Error error = program->run(inputs);
        ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
        EXPECT_LE(relativeError(tensorOf(program->outputs()[0]), tensorOf(*expected)), 1e-5) << "O" << optLevel;
      }
    }
}
