//===- StorageTest.cpp - Rows in 16 bits ----------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model whose rows memory holds in bf16 or f16 means what the interpreter makes of its kernels, which rounds their
// results. Where a number lies between two of 16 bits, float32 may fall to the other side than the interpreter's double
// precision does; so code is compared with it to within a few units of the last place, at every level. And all that is
// compared with the model without rounding, which says that not too much is rounded.
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"
#include "Gradient.h"
#include "Interpreted.h"

#include "gnnc/Conversion/ModelToMPDFG.h"
#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Pipelines/Pipelines.h"

#include "dialects/mpk/IR/MPK.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

namespace {

struct Layer {
  const char *name, *text;
  /// Winners of maxima change with rounding, and gradients with them.
  bool isSmooth = true;
  size_t nodes = 45, edges = 260;
};

void PrintTo(const Layer &layer, std::ostream *out) { *out << layer.name; }

/// The unit of the last place, relative to a number.
double unitOf(Storage storage) { return storage == Storage::BF16 ? 0x1p-8 : 0x1p-11; }

double round(double x, Storage storage) {
  return storage == Storage::BF16 ? decodeBF16(encodeBF16(float(x))) : decodeF16(encodeF16(float(x)));
}

/// Kernels as a target gets them, in the interpreter.
class Kernels {
public:
  Kernels(const frontend::ModelSpec &model, const PhaseOptions &options)
      : program(options.gradient ? "gradient" : "forward") {
    context.loadDialect<mpk::MPKDialect>();
    module = importModel(model, &context);
    for (const PassPhase &phase : passPhases()) {
      mlir::PassManager passes(&context);
      phase.populate(passes, options);
      EXPECT_TRUE(mlir::succeeded(passes.run(*module))) << phase.name.str();
    }
  }
  llvm::Expected<Tensors> run(const Graph &graph, const Tensors &tensors) {
    auto results = interpretOn(*module, graph, tensors, program);
    if (!results)
      return results.takeError();
    return tensorsOf(std::move(*results));
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string program;
};

class StorageLayers : public testing::TestWithParam<std::tuple<Layer, Storage>> {
protected:
  /// Errors are relative to the largest number of each tensor, or of all of them `together`.
  static void expectNear(const Tensors &actual, const Tensors &expected, double tolerance, const std::string &what,
                         bool together = false);
};

} // namespace

void StorageLayers::expectNear(const Tensors &actual, const Tensors &expected, double tolerance,
                               const std::string &what, bool together) {
  double largest = 0;
  auto most = [](const Tensor &tensor) {
    double magnitude = 0;
    for (double number : tensor.data)
      magnitude = std::max(magnitude, std::abs(number));
    return magnitude;
  };
  for (const auto &[name, tensor] : expected)
    largest = std::max(largest, most(tensor));
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (const auto &[name, tensor] : expected) {
    double error = relativeError(actual.at(name), tensor), own = most(tensor);
    // What is zero but for rounding has no magnitude of its own.
    if (together || own < 1e-3 * largest)
      error *= own / largest;
    EXPECT_LE(error, tolerance) << what << ": " << name;
  }
}

TEST_P(StorageLayers, EqualTheInterpreter) {
  const auto &[layer, storage] = GetParam();
  std::optional<frontend::ModelSpec> model = loadText(std::string("import std\n") + layer.text);
  ASSERT_TRUE(model);
  double unit = unitOf(storage);
  Graph graph = randomGraph(layer.nodes, layer.edges, 1);
  for (bool gradient : {false, true}) {
    Tensors tensors = randomTensors(*model, graph, 3);
    PhaseOptions exact(0, gradient);
    Kernels meaning(*model, exact);
    if (gradient) {
      // Gradients of outputs: any numbers, of the outputs' shapes.
      Tensors seeds;
      Kernels forward(*model, PhaseOptions(0, false));
      llvm::Expected<Tensors> outputs = forward.run(graph, tensors);
      ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
      double number = 0.25;
      for (auto &[name, output] : *outputs) {
        for (double &x : output.data)
          x = number = number > 1 ? number - 1.8125 : number + 0.3125;
        seeds["grad." + name] = std::move(output);
      }
      tensors.insert(seeds.begin(), seeds.end());
    }
    for (auto &[name, tensor] : tensors)
      for (double &x : tensor.data)
        x = round(x, storage);
    llvm::Expected<Tensors> unrounded = meaning.run(graph, tensors);
    ASSERT_TRUE(bool(unrounded)) << llvm::toString(unrounded.takeError());
    for (unsigned optLevel : {0u, 1u, 2u}) {
      if (gradient && optLevel == 1)
        continue;
      // Cases for a device are of one level, and this machine's code is compared in another run.
      if (isRecordingForDevice() && optLevel < 2)
        continue;
      std::string what = (gradient ? "gradient at O" : "O") + std::to_string(optLevel);
      PhaseOptions phases(optLevel, gradient);
      phases.storage = storage;
      llvm::Expected<Tensors> expected = Kernels(*model, phases).run(graph, tensors);
      ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
      if (layer.isSmooth || !gradient)
        // Gradients of scores are differences that nearly cancel: they have the error of what they are made of.
        expectNear(*expected, *unrounded, 16 * unit, what + " interpreted", gradient);
      CompileOptions options;
      options.optLevel = optLevel;
      options.gradient = gradient;
      options.storage = storage;
      options.cpuLevels = {optLevel < 2 ? 3 : bestProcessorLevel()};
      for (bool baseline : {false, true}) {
        if (isRecordingForDevice() || (baseline && (storage == Storage::F16 || optLevel != 2)))
          continue;
        if (baseline)
          options.cpuLevels = {0};
        options.optimiseCode = optLevel == 2 && !baseline; // It takes most of the time.
        llvm::Expected<std::unique_ptr<CompiledModel>> compiled = CompiledModel::create(*model, options);
        ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
        llvm::Expected<Tensors> actual = (*compiled)->run(graph, tensors);
        ASSERT_TRUE(bool(actual)) << what << ": " << llvm::toString(actual.takeError());
        expectNear(*actual, *expected, 4 * unit, what + (baseline ? " baseline" : ""));
      }
      if (optLevel < 2)
        continue;
      llvm::Expected<std::unique_ptr<DeviceRecorder>> cases =
          DeviceRecorder::create(*model, gradient, optLevel, storage);
      ASSERT_TRUE(bool(cases)) << llvm::toString(cases.takeError());
      if (!*cases)
        continue;
      bool isForGPUs = !isRecordingForProcessors();
      phases.target.spreadEpilogues = phases.target.tilesInBlocks = isForGPUs;
      llvm::Expected<Tensors> onDevice = Kernels(*model, phases).run(graph, tensors);
      ASSERT_TRUE(bool(onDevice)) << llvm::toString(onDevice.takeError());
      llvm::Error failure = (*cases)->add(gradient ? "gradient" : "forward", graph, tensors, *onDevice);
      EXPECT_FALSE(bool(failure)) << llvm::toString(std::move(failure));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, StorageLayers,
    testing::Combine(
        testing::Values(
            Layer{"GCN",
                  "model M { input x: node[24], w: edge[]\n output y = GCN(relu(GCN(x, w, out: 64)), w, out: 7) }"},
            Layer{"SAGE", "model M { input x: node[33]\n output y = SAGE(x, out: 40) }"},
            Layer{"SAGEMax", "model M { input x: node[32]\n output y = SAGEMax(x, out: 20) }", false},
            Layer{"GIN", "model M { input x: node[17]\n output y = GIN(x, hidden: 16) }", false},
            Layer{"EdgeConv", "model M { input x: node[12]\n output y = EdgeConvMLP(x, hidden: 16, out: 10) }", false},
            Layer{"NNConv", "model M { input x: node[10], e: edge[3]\n output y = NNConv(x, e, hidden: 9, out: 12) }",
                  false},
            Layer{"GAT", "model M { input x: node[20]\n output y = GAT(x, heads: 4, out: 16) }"},
            Layer{"GATv2", "model M { input x: node[20], f: edge[3]\n output y = GATv2Edge(x, f, heads: 2, out: 16) }"},
            Layer{
                "Transformer",
                "model M { input x: node[12], f: edge[3]\n output y = GraphTransformerEdge(x, f, heads: 2, out: 8) }"},
            Layer{"RGCN",
                  "model M(edge_type: int = 4) { input x: node[12]\n output y = RGCNBasis(x, bases: 3, out: 10) }"},
            Layer{"HGT", "model M(node_type: int = 3, edge_type: int = 4) { input x: node[12]\n"
                         "output y = HGT(x, heads: 2, out: 8) }"},
            Layer{"Norms", "model M { input x: node[16]\n output y = GraphNorm(LayerNorm(x)) }"},
            Layer{"Pools", "model M { input x: node[16]\n output s = GlobalSumPool(x) + GlobalMeanPool(x) }"},
            Layer{"ChannelSoftmax", "model M { input x: node[f = 40]\n output y = sum(softmax(x.src) * x.src) }"}),
        testing::Values(Storage::BF16, Storage::F16)),
    [](const auto &info) {
      return std::string(std::get<0>(info.param).name) + (std::get<1>(info.param) == Storage::BF16 ? "_bf16" : "_f16");
    });

/// As many rows as warpgroups want, which multiply them as they are: rows whose length is a multiple of 8, of 2 and
/// odd, sums of so many depths that they have totals, batches, gathers, folds, and weights that f16 has no exponents
/// for. For GPUs alone.
class StorageProducts : public StorageLayers {};

/// Products of numbers that are rounded, which these are already.
class RoundedProducts : public StorageLayers {};

static void recordProducts(const Layer &layer, Storage storage, cuda::ProductArithmetic products) {
  if (!isRecordingForDevice())
    GTEST_SKIP() << "nothing is recorded";
  std::optional<frontend::ModelSpec> model = loadText(layer.text);
  ASSERT_TRUE(model);
  Graph graph = randomGraph(layer.nodes, layer.edges, 1);
  const bool gradient = layer.isSmooth;
  PhaseOptions phases(2, gradient);
  phases.storage = storage;
  bool isForGPUs = !isRecordingForProcessors();
  phases.target.spreadEpilogues = phases.target.tilesInBlocks = isForGPUs;
  Tensors tensors = randomTensors(*model, graph, 3);
  Kernels forward(*model, PhaseOptions(2, false));
  llvm::Expected<Tensors> outputs = forward.run(graph, tensors);
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  if (gradient)
    addOutputGradients(tensors, *outputs, 8);
  for (auto &[name, tensor] : tensors)
    for (double &x : tensor.data)
      x = round(x, storage == Storage::AsComputed ? Storage::BF16 : storage);
  llvm::Expected<Tensors> expected = Kernels(*model, phases).run(graph, tensors);
  ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
  llvm::Expected<std::unique_ptr<DeviceRecorder>> cases =
      DeviceRecorder::create(*model, gradient, 2, storage, products);
  ASSERT_TRUE(bool(cases)) << llvm::toString(cases.takeError());
  if (!*cases)
    return;
  llvm::Error failure = (*cases)->add(gradient ? "gradient" : "forward", graph, tensors, *expected);
  EXPECT_FALSE(bool(failure)) << llvm::toString(std::move(failure));
}

TEST_P(StorageProducts, ForDevices) {
  recordProducts(std::get<0>(GetParam()), std::get<1>(GetParam()), cuda::ProductArithmetic::TF32x3);
}

TEST_P(RoundedProducts, ForDevices) {
  recordProducts(std::get<0>(GetParam()), std::get<1>(GetParam()), cuda::ProductArithmetic::TF32);
}

/// Both sides come through stages (Kernels/WarpgroupStages.cuh): the last of which is short, rows of several tiles of
/// columns that are not all there, batches, rows that are gathered (not their gradients: sums are not rounded already),
/// and an epilogue.
INSTANTIATE_TEST_SUITE_P(
    Many, RoundedProducts,
    testing::Combine(
        testing::Values(
            Layer{"Deep", "model M { input x: node[in = 520]\n param W[in, out = 250], b[out]\noutput y = x @ W + b }",
                  true, 8300, 9},
            Layer{"Heads",
                  "model M { input x: node[heads = 2, in = 512]\n param W[heads, in, out = 72]\noutput y = x @ W }",
                  true, 8300, 9},
            Layer{"Gathered",
                  "model M { input x: node[in = 512]\n param W[in, out = 66]\noutput y = sum(abs(x.src @ W)) }", false,
                  45, 16500},
            // Gradients alone (Kernels/WarpgroupOuterStages.cuh): several tiles of both sides, the last of which are
            // not all there, batches, and rows that are gathered.
            Layer{"Sums", "model M { input x: node[in = 324]\n param W[in, out = 132]\noutput y = x @ W }", true, 8300,
                  9},
            Layer{"SumsOfHeads",
                  "model M { input x: node[heads = 2, in = 68]\n param W[heads, in, out = 136]\noutput y = x @ W }",
                  true, 8300, 9},
            Layer{"SumsGathered",
                  "model M { input e: edge[in = 128], x: node[out = 132]\n param W[in, out]\n"
                  "output y = sum((sign(e) @ W) * sign(x.dst)) }",
                  true, 45, 16500}),
        testing::Values(Storage::AsComputed, Storage::BF16)),
    [](const auto &info) {
      return std::string(std::get<0>(info.param).name) + (std::get<1>(info.param) == Storage::BF16 ? "_bf16" : "_tf32");
    });

INSTANTIATE_TEST_SUITE_P(
    Many, StorageProducts,
    testing::Combine(
        testing::Values(
            Layer{"Even",
                  "model M { input x: node[in = 72]\n param W[in, out = 96], b[out]\noutput y = tanh(x @ W + b) }",
                  true, 16500, 9},
            Layer{"Odd", "model M { input x: node[in = 75]\n param W[in, out = 67]\noutput y = x @ W }", true, 16500,
                  9},
            Layer{"Pairs", "model M { input x: node[in = 70]\n param W[in, out = 66]\noutput y = x @ W }", true, 16500,
                  9},
            Layer{"Long", "model M { input x: node[in = 600]\n param W[in, out = 64]\noutput y = x @ W }", true, 16500,
                  9},
            Layer{"Panels", "model M { input x: node[in = 900]\n param W[in, out = 64]\noutput y = x @ W }", true,
                  16500, 9},
            Layer{"Heads",
                  "model M { input x: node[heads = 2, in = 68]\n param W[heads, in, out = 64]\noutput y = x @ W }",
                  true, 8300, 9},
            Layer{"Softmax",
                  "model M { input x: node[in = 65]\n param W[in, out = 64]\noutput y = softmax(x @ W, over: out) }",
                  true, 16500, 9},
            Layer{"Gathered",
                  "model M { input x: node[in = 67]\n param W[in, out = 66]\noutput y = sum(tanh(x.src @ W)) }", true,
                  45, 16500},
            Layer{"Small",
                  "model M { input x: node[in = 64]\n param W[in, out = 64]\n"
                  "output y = (x * 3000.0) @ (W * 0.000001) }",
                  true, 16500, 9},
            Layer{"Large",
                  "model M { input x: node[in = 64]\n param W[in, out = 64]\n"
                  "output y = (x * 0.00001) @ (W * 100000000.0) }",
                  true, 16500, 9},
            // Copies of rows of an odd length, on tensor cores of all kinds.
            Layer{"Eleven", "model M { input x: node[in = 11]\n param W[in, out = 9]\noutput y = tanh(x @ W) }", true,
                  300, 9},
            Layer{"ElevenGathered",
                  "model M { input x: node[in = 11]\n param W[in, out = 33]\noutput y = sum(tanh(x.src @ W)) }", true,
                  45, 400},
            // Rows that begin at either half of a word, and what is added to whole rows of results.
            Layer{"ElevenOfHeads",
                  "model M { input x: node[heads = 3, in = 11], r: node[heads, out = 64]\n"
                  "param W[heads, in, out]\noutput y = r * (x @ W) + r }",
                  true, 301, 9},
            Layer{"ElevenInSteps",
                  "model M { input x: node[in = 37], r: node[out = 24]\nparam W[in, out]\noutput y = x @ W + r }", true,
                  301, 9}),
        testing::Values(Storage::BF16, Storage::F16)),
    [](const auto &info) {
      return std::string(std::get<0>(info.param).name) + (std::get<1>(info.param) == Storage::BF16 ? "_bf16" : "_f16");
    });

/// In bf16, 256 and 1 is 256 again.
TEST(StorageSums, AreInFloat32) {
  std::optional<frontend::ModelSpec> model = loadText("model M { input x: node[f = 12]\n output y = sum(x.src) }");
  Graph graph;
  graph.extents = {{"node", 2}, {"edge", 4096}};
  graph.maps = {{"src", std::vector<int32_t>(4096, 1)}, {"dst", std::vector<int32_t>(4096, 0)}};
  Tensors tensors{{"x", Tensor{{2, 12}, std::vector<double>(24, 1)}}};
  for (unsigned optLevel : {0u, 2u}) {
    CompileOptions options;
    options.optLevel = optLevel;
    options.storage = Storage::BF16;
    auto compiled = CompiledModel::create(*model, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    llvm::Expected<Tensors> outputs = (*compiled)->run(graph, tensors);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    EXPECT_EQ(outputs->at("y")(0, 0), 4096) << "O" << optLevel;
    EXPECT_EQ(outputs->at("y")(1, 11), 0) << "O" << optLevel;
  }
}

TEST(StorageTypes, OfTensorsAreDescribed) {
  std::optional<frontend::ModelSpec> model =
      loadText("model M { input x: node[f = 12], scale: []\n param W[f, g = 9]\n output y = (x @ W) * scale }");
  CompileOptions options;
  options.storage = Storage::BF16;
  auto compiled = CompiledModel::create(*model, options);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  const ModelInfo &info = (*compiled)->file().info();
  EXPECT_EQ(info.type, ElementType::F32);
  EXPECT_EQ(info.storage, "bf16");
  EXPECT_EQ(info.inputs[0].type, ElementType::BF16);
  EXPECT_EQ(info.inputs[1].type, ElementType::F32);
  EXPECT_EQ(info.params[0].type, ElementType::F32);
  EXPECT_EQ(info.outputs[0].type, ElementType::BF16);
}

static std::string errorOf(const CompileOptions &options, bool doublePrecision = false) {
  std::optional<frontend::ModelSpec> model = loadText("model M { input x: node[f = 12]\n output y = x + x }");
  model->doublePrecision = doublePrecision;
  llvm::Expected<std::string> code = compile(*model, options);
  return code ? "" : llvm::toString(code.takeError());
}

TEST(StorageErrors, SayWhatIsExpected) {
  CompileOptions options;
  options.storage = Storage::F16;
  EXPECT_EQ(errorOf(options), "");
  EXPECT_EQ(errorOf(options, true), "expected a model in float32: numbers of 16 bits are computed with in float32, and "
                                    "this model asks for float64");
  options.cpuLevels = {2};
  EXPECT_EQ(errorOf(options),
            "expected bf16, or the processor levels v3 and v4 alone: older x86-64 processors cannot convert f16");
  options.storage = Storage::BF16;
  EXPECT_EQ(errorOf(options), "");
  options.targets = {"cuda"};
  options.architectures = {75, 90};
  EXPECT_EQ(errorOf(options),
            "expected GPU architectures from sm_80 on: earlier ones cannot convert numbers of 16 bits, found sm_75");
}
