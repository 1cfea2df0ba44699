//===- GoldenCases.cpp - PyTorch Geometric's numbers of layers ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GoldenCases.h"
#include "DeviceCases.h"
#include "SharedFiles.h"

#include "gnnc/Host/GraphFile.h"
#include "gnnc/Host/Parameters.h"

#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// A temporary file of its own, removed at the end.
struct TemporaryFile {
  llvm::SmallString<128> path;
  TemporaryFile() { llvm::sys::fs::createTemporaryFile("gnnc-test", "safetensors", path); }
  ~TemporaryFile() { llvm::sys::fs::remove(path); }
};

/// The tensors of `all` whose names begin with a prefix, without it, as a file.
llvm::Expected<SafetensorsFile> filePart(const SafetensorsFile &all, const std::vector<std::string> &prefixes,
                                         int64_t nodes, const TemporaryFile &file) {
  SafetensorsWriter writer;
  writer.addMetadata("num_nodes", std::to_string(nodes));
  for (const FileTensor &tensor : all.tensors())
    for (const std::string &prefix : prefixes)
      if (llvm::StringRef(tensor.name).starts_with(prefix))
        if (llvm::Error error = writer.add(tensor.name.substr(prefix.size()), *tensor.type, tensor.shape, tensor.data))
          return error;
  if (llvm::Error error = writer.write(file.path))
    return error;
  return SafetensorsFile::open(file.path);
}

/// What another device would have to run, in single precision: PyTorch Geometric's numbers have no more digits.
llvm::Expected<std::vector<std::unique_ptr<DeviceRecorder>>> recordersOf(const frontend::ModelSpec &model,
                                                                         bool gradient) {
  std::vector<std::unique_ptr<DeviceRecorder>> recorders;
  for (unsigned optLevel : {2u, 0u}) {
    auto recorder = DeviceRecorder::create(model, gradient, optLevel, Storage::AsComputed);
    if (!recorder)
      return recorder.takeError();
    if (*recorder)
      recorders.push_back(std::move(*recorder));
  }
  return recorders;
}

double magnitude(const Tensor &tensor) {
  double most = 0;
  for (double x : tensor.data)
    most = std::max(most, std::fabs(x));
  return most;
}

} // namespace

Tensor test::tensorOf(const FileTensor &tensor) {
  Tensor result = Tensor::zeros(tensor.shape);
  for (int64_t i = 0; i < tensor.elements; ++i)
    result.data[i] = tensor.as<float>()[i];
  return result;
}

Tensor test::tensorOf(const HostTensor &tensor) {
  Tensor result = Tensor::zeros(tensor.shape().vec());
  for (int64_t i = 0; i < tensor.elements(); ++i)
    result.data[i] = tensor.at(i);
  return result;
}

void test::compareWithPyG(const std::string &kind, bool gradient, const MakeRunners &makeRunners) {
  std::string goldenName = "goldens/pyg_layers.safetensors", goldenPath = findSharedFile(goldenName);
  GNNC_SKIP_WITHOUT(goldenPath, goldenName);
  llvm::Expected<SafetensorsFile> all = SafetensorsFile::open(goldenPath);
  ASSERT_TRUE(bool(all)) << llvm::toString(all.takeError());
  std::optional<frontend::ModelSpec> model = loadFile(std::string(GNNC_GOLDEN_MODELS) + "/" + kind + ".gnn");
  ASSERT_TRUE(model);
  llvm::Expected<ParamsMap> map = ParamsMap::open(std::string(GNNC_GOLDEN_MODELS) + "/" + kind + ".map.json");
  ASSERT_TRUE(bool(map)) << llvm::toString(map.takeError());
  std::vector<std::unique_ptr<Runner>> runners;
  if (!isRecordingForDevice())
    runners = makeRunners(*model);
  llvm::Expected<std::vector<std::unique_ptr<DeviceRecorder>>> recorders = recordersOf(*model, gradient);
  ASSERT_TRUE(bool(recorders)) << llvm::toString(recorders.takeError());
  // What the model needs of a graph, whether it computes gradients or not.
  auto compiled = CompiledModel::create(*model, /*optLevel=*/0);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  const ModelInfo &info = (*compiled)->file().info();

  for (std::string size : {"small", "skewed"}) {
    SCOPED_TRACE(kind + "." + size);
    std::string prefix = kind + "." + size + "/";
    const FileTensor *expected = all->find(prefix + "out/y");
    ASSERT_TRUE(expected);

    // The graph, inputs and parameters, under the names that the host library looks for.
    TemporaryFile graphFile, paramFile;
    auto graphPart = filePart(*all, {prefix + "graph/", prefix + "in/"}, expected->shape[0], graphFile);
    ASSERT_TRUE(bool(graphPart)) << llvm::toString(graphPart.takeError());
    auto params = filePart(*all, {prefix + "param/"}, expected->shape[0], paramFile);
    ASSERT_TRUE(bool(params)) << llvm::toString(params.takeError());

    llvm::Expected<BoundGraph> bound = BoundGraph::create(*graphPart, info);
    ASSERT_TRUE(bool(bound)) << llvm::toString(bound.takeError());
    auto extents = [&](llvm::StringRef space) { return bound->extent(space); };
    llvm::Expected<Parameters> parameters = Parameters::load(info, extents, *params, &*map);
    ASSERT_TRUE(bool(parameters)) << llvm::toString(parameters.takeError());

    Graph graph;
    gnnc_graph_desc description = bound->description();
    for (int32_t i = 0; i < description.num_extents; ++i)
      graph.extents[description.extents[i].space] = description.extents[i].extent;
    for (int32_t i = 0; i < description.num_indices; ++i) {
      const gnnc_index &index = description.indices[i];
      ASSERT_EQ(index.bits, 32);
      ASSERT_EQ(index.format, GNNC_INDEX_EACH);
      const int32_t *data = static_cast<const int32_t *>(index.data);
      graph.maps[index.map] = std::vector<int32_t>(data, data + index.length);
    }
    Tensors tensors;
    for (const TensorInfo &input : info.inputs) {
      const FileTensor *given = graphPart->find(input.name);
      ASSERT_TRUE(given) << input.name;
      tensors[input.name] = tensorOf(*given);
    }
    for (const HostTensor &parameter : parameters->tensors())
      tensors[parameter.name()] = tensorOf(parameter);

    Tensors wanted{{"y", tensorOf(*expected)}};
    if (gradient) {
      const FileTensor *seed = all->find(prefix + "out/grad_y");
      ASSERT_TRUE(seed);
      tensors["grad.y"] = tensorOf(*seed);
      // PyG's gradients of parameters have the shapes of the parameters, so the same map leads to ours.
      TemporaryFile gradientFile;
      auto gradients = filePart(*all, {prefix + "gradparam/"}, expected->shape[0], gradientFile);
      ASSERT_TRUE(bool(gradients)) << llvm::toString(gradients.takeError());
      llvm::Expected<Parameters> ours = Parameters::load(info, extents, *gradients, &*map);
      ASSERT_TRUE(bool(ours)) << llvm::toString(ours.takeError());
      for (const HostTensor &parameter : ours->tensors())
        wanted["grad." + parameter.name()] = tensorOf(parameter);
      for (const TensorInfo &input : info.inputs)
        if (const FileTensor *known = all->find(prefix + "grad/" + input.name))
          wanted["grad." + input.name] = tensorOf(*known);
      ASSERT_TRUE(wanted.count("grad.x"));
    }

    for (const std::unique_ptr<DeviceRecorder> &recorder : *recorders) {
      llvm::Error error = recorder->add(gradient ? "gradient" : "forward", graph, tensors, wanted);
      ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    }

    // A gradient that is zero in exact arithmetic (a key's bias drops out of a softmax) is noise in PyG's numbers and
    // in ours: it is compared with the largest gradient instead of with itself.
    double largest = 0;
    for (const auto &[name, value] : wanted)
      largest = std::max(largest, magnitude(value));
    auto error = [&](const Tensor &actual, const Tensor &value) {
      return magnitude(value) > 1e-9 * largest ? relativeError(actual, value) : magnitude(actual) / largest;
    };

    for (const std::unique_ptr<Runner> &runner : runners) {
      llvm::Expected<Tensors> outputs = runner->run(graph, tensors);
      if (!outputs) {
        ADD_FAILURE() << runner->name() << ": " << llvm::toString(outputs.takeError());
        continue;
      }
      for (const auto &[name, value] : wanted)
        EXPECT_LE(error((*outputs)[name], value), 1e-5) << runner->name() << ", " << name;
    }
  }
}
