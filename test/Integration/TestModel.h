//===- TestModel.h - Models, graphs and ways to run them --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the integration tests share: tensors in double precision, random graphs that have everything that goes wrong
// (isolated nodes, repeated edges, several self loops, a hub), and a model run by the interpreter and as compiled code.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_TESTMODEL_H
#define GNNC_TEST_INTEGRATION_TESTMODEL_H

#include "gnnc/Frontend/ModelSpec.h"
#include "gnnc/Host/ModelFile.h"
#include "gnnc/Pipelines/Compiler.h"

#include "llvm/Support/Error.h"

#include <cassert>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gnnc::test {

/// Row-major numbers; the first axis of a value on a space is that space.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> data;

  static Tensor zeros(std::vector<int64_t> shape);

  template <typename... Index> int64_t offset(Index... index) const {
    assert(sizeof...(index) == shape.size());
    int64_t flat = 0;
    size_t axis = 0;
    ((flat = flat * shape[axis++] + int64_t(index)), ...);
    return flat;
  }
  template <typename... Index> double operator()(Index... index) const { return data[offset(index...)]; }
  template <typename... Index> double &operator()(Index... index) { return data[offset(index...)]; }
};
using Tensors = std::map<std::string, Tensor>;

/// Root spaces and root maps by name.
struct Graph {
  std::map<std::string, int64_t> extents;
  std::map<std::string, std::vector<int32_t>> maps;

  int64_t extent(const std::string &space) const { return extents.at(space); }
  const std::vector<int32_t> &map(const std::string &name) const { return maps.at(name); }
};

/// Spaces `node` and `edge`, maps `src` and `dst`; and `ntype` into `nodeTypes`, `etype` into `edgeTypes` types, and
/// `batch` into `graphs` graphs, the second of which is empty.
Graph randomGraph(int64_t nodes, int64_t edges, unsigned seed, int64_t nodeTypes = 3, int64_t edgeTypes = 4,
                  int64_t graphs = 4);

/// The graphs every layer is tried on: a random one, one without edges, one with a single node and one with none.
std::vector<Graph> testGraphs();

/// Loads a text; a failure is reported to the running test with the front end's messages.
std::optional<frontend::ModelSpec> loadText(const std::string &text,
                                            const std::map<std::string, std::string> &defines = {});
std::optional<frontend::ModelSpec> loadFile(const std::string &path,
                                            const std::map<std::string, std::string> &defines = {});

/// Numbers in (-1, 1) that float32 holds exactly, for all inputs, parameters and states of a model.
Tensors randomTensors(const frontend::ModelSpec &model, const Graph &graph, unsigned seed);

/// One way to compute a model's outputs.
class Runner {
public:
  virtual ~Runner() = default;
  virtual std::string name() const = 0;
  virtual llvm::Expected<Tensors> run(const Graph &graph, const Tensors &tensors) = 0;
};

/// The highest of the processor levels (CompileOptions::cpuLevels) whose code this machine runs.
int bestProcessorLevel();

/// Whether GNNC_TEST_EVERYTHING is set: what continuous integration takes in turn or leaves out is all tested.
bool testsEverything();

/// A model compiled to a temporary model.so, which is removed with this object.
class CompiledModel : public Runner {
public:
  /// For one processor level: an object for several runs the code of one of them alone. `optimise`: by LLVM too.
  static llvm::Expected<std::unique_ptr<CompiledModel>> create(const frontend::ModelSpec &model, unsigned optLevel,
                                                               int cpuLevel = bestProcessorLevel(),
                                                               bool gradient = false, bool optimise = true);
  /// As the options say.
  static llvm::Expected<std::unique_ptr<CompiledModel>> create(const frontend::ModelSpec &model,
                                                               const CompileOptions &options);
  /// For the first GPU of this machine.
  static llvm::Expected<std::unique_ptr<CompiledModel>> createForGPU(const frontend::ModelSpec &model,
                                                                     unsigned optLevel, bool gradient);
  ~CompiledModel() override;
  std::string name() const override { return label; }
  llvm::Expected<Tensors> run(const Graph &graph, const Tensors &tensors) override;
  const ModelFile &file() const { return *model; }
  void setThreads(int count) { threads = count; }

private:
  CompiledModel() = default;
  static llvm::Expected<std::unique_ptr<CompiledModel>> load(llvm::StringRef bytes, std::string label, bool gradient);
  std::string label;
  DeviceChoice device;
  bool gradient = false;
  std::string path;
  std::optional<ModelFile> model;
  int threads = 2;
};

/// The interpreter, and the model compiled at -O0, at -O2, and in one of the other ways that testsEverything() has all
/// of: at each level, and for each processor level that this machine runs. A failure to compile is reported to the
/// running test. With `gradient` each also takes `grad.y` for each output y and gives `grad.x` for each parameter and
/// input x. Where this machine has a GPU and NVRTC, also at -O0 and -O2 on it. With the environment variable
/// GNNC_DEVICE_CASES, what a GPU would have to run is written to the folder it names, for test/Device/Replay.cpp on
/// another machine, and nothing is compiled for this one.
std::vector<std::unique_ptr<Runner>> allRunners(const frontend::ModelSpec &model, bool gradient = false);

/// Of these the compiled ones that run here; none with GNNC_DEVICE_CASES.
std::vector<std::unique_ptr<Runner>> compiledRunners(const frontend::ModelSpec &model, bool gradient = false);

/// Gradients at every level with the settings of --save that allRunners leaves out, for one processor level.
std::vector<std::unique_ptr<Runner>> savingRunners(const frontend::ModelSpec &model);

/// What is kept for the backward half, for names of tests and messages.
const char *nameOf(SaveKind save);

/// Largest absolute difference over the largest magnitude of `expected`; infinite where shapes differ or a number is
/// not finite.
double relativeError(const Tensor &actual, const Tensor &expected);
/// Whether they have as many numbers, and the same to the bit.
bool haveSameBits(const Tensor &a, const Tensor &b);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_TESTMODEL_H
