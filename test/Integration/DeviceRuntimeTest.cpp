//===- DeviceRuntimeTest.cpp - The runtime's side of a GPU ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime asks of the CUDA driver, counted by a stand-in whose kernels do nothing: that running launches and
// does nothing else, that a recording is one launch, and that each call that fails is one status and leaves nothing
// behind. Graphs are prepared on the host here, but for failures.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "TestModel.h"
#include "gnnc/Host/PlanInfo.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

#include <list>
#include <set>

using namespace gnnc;
using namespace gnnc::test;

namespace {

constexpr const char *kModel = R"(import std
  model M(class: int = 3) {
    input x: node[in = 6]
    let h = elu(GAT(x, heads: 2, out: 4) as c1)
    output y = SAGE(h, out: class) as c2
    loss = CrossEntropy(y.train, onehot(label).train)
    train Adam(lr: 0.01)
  })";

Graph makeGraph(int64_t nodes, int64_t edges, unsigned seed) {
  Graph graph = randomGraph(nodes, edges, seed);
  graph.extents["class"] = 3;
  graph.extents["train"] = 11;
  for (int64_t i = 0; i < nodes; ++i)
    graph.maps["label"].push_back(int32_t(i % 3));
  for (int32_t i = 0; i < 11; ++i)
    graph.maps["train_idx"].push_back(3 * i + 1);
  return graph;
}

struct Description {
  std::vector<gnnc_extent> extents, capacities;
  std::vector<gnnc_index> indices;
  gnnc_graph_desc desc;

  explicit Description(const Graph &graph, bool withCapacities = false) {
    for (const auto &[name, extent] : graph.extents)
      extents.push_back({name.c_str(), extent});
    for (const auto &[name, targets] : graph.maps)
      indices.push_back({name.c_str(), targets.data(), int64_t(targets.size()), 32, GNNC_INDEX_EACH});
    if (withCapacities)
      capacities = extents;
    desc = {sizeof desc,    int32_t(extents.size()),    extents.data(),    int32_t(indices.size()),
            indices.data(), int32_t(capacities.size()), capacities.data(), nullptr,
            nullptr};
  }
};

/// Memory of the host that a context takes.
struct HostMemory {
  static void *take(size_t bytes, void *self) {
    ++static_cast<HostMemory *>(self)->calls;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  static void giveBack(void *memory, size_t, void *) { free(memory); }
  gnnc_allocator allocator{take, giveBack, this};
  int64_t calls = 0;
};

/// A model on a graph, with memory of the device for everything that its programs read and write.
class DeviceRun {
public:
  explicit DeviceRun(const gnnc_api &api) : api(api) {}
  ~DeviceRun() {
    for (void *block : blocks)
      api.release(context, block);
    if (context) {
      api.destroy_stream(context, stream);
      api.free_graph(graph);
      api.close(context);
    }
  }
  DeviceRun(const DeviceRun &) = delete;

  gnnc_status open(const Graph &of, bool withCapacities = false) {
    gnnc_options options = {sizeof options, 1, &host.allocator, 2, 0, 0, 0, nullptr, nullptr};
    Description description(of, withCapacities);
    gnnc_status status = api.open(&options, &context, &error);
    if (!status)
      status = api.create_stream(context, &stream, &error);
    return status ? status : api.prepare(context, &description.desc, &graph, &error);
  }

  gnnc_status allocate(const ModelInfo &info) {
    auto add = [&](const std::vector<TensorInfo> &tensors, std::vector<gnnc_binding> &list) {
      for (const TensorInfo &tensor : tensors) {
        if (tensor.embedded)
          continue;
        shapes.push_back(tensor.dims);
        if (tensor.space)
          shapes.back().insert(shapes.back().begin(), api.extent(graph, tensor.space->c_str()));
        size_t bytes = 4;
        for (int64_t extent : shapes.back())
          bytes *= size_t(extent);
        void *memory = take(bytes);
        if (!memory)
          return;
        list.push_back({tensor.name.c_str(),
                        {memory, 2, 0, int32_t(shapes.back().size()), 2, 32, 1, shapes.back().data(), nullptr, 0}});
      }
    };
    for (const auto *list : {&info.inputs, &info.params, &info.states})
      add(*list, inputs);
    for (const ProgramInfo &program : info.programs) {
      add(program.outputs, outputs[program.name]);
      if (!error.status && !api.workspace_size(graph, program.name.c_str(), &workspaceBytes[program.name], &error))
        workspaces[program.name] = take(workspaceBytes[program.name] + 1);
    }
    return error.status;
  }

  gnnc_status run(const std::string &program) {
    auto &out = outputs.at(program);
    return api.run(context, graph, program.c_str(), inputs.data(), int32_t(inputs.size()), out.data(),
                   int32_t(out.size()), workspaces.at(program), workspaceBytes.at(program), stream, &error);
  }

  gnnc_status record(const std::string &program, gnnc_recording *&recording) {
    gnnc_status status = api.begin_recording(context, stream, &error), ended = GNNC_OK;
    if (!status) {
      status = run(program);
      gnnc_error ignored;
      ended = api.end_recording(context, stream, &recording, status ? &ignored : &error);
    }
    return status ? status : ended;
  }

  /// A prepared call of a program. Runs of it are by runCall.
  gnnc_status make(const std::string &program) {
    std::vector<const char *> given, wanted;
    data.clear();
    auto add = [&](const std::vector<gnnc_binding> &bindings, std::vector<const char *> &names) {
      for (const gnnc_binding &binding : bindings) {
        names.push_back(binding.name);
        data.push_back(binding.tensor.data);
      }
    };
    add(inputs, given);
    add(outputs.at(program), wanted);
    gnnc_call_desc desc = {};
    desc.struct_size = sizeof desc;
    desc.num_inputs = int32_t(given.size());
    desc.program = program.c_str();
    desc.inputs = given.data();
    desc.outputs = wanted.data();
    desc.num_outputs = int32_t(wanted.size());
    size_t bytes = 0;
    gnnc_status status = api.make_call(graph, &desc, &call, &bytes, &error);
    for (void *&workspace : callWorkspaces)
      workspace = take(bytes + 1);
    callBytes = bytes;
    return status ? status : error.status;
  }
  gnnc_status runCall(int workspace = 0) {
    return api.run_call(context, call, data.data(), callWorkspaces[workspace], callBytes, stream, &error);
  }

  const gnnc_api &api;
  HostMemory host;
  gnnc_call *call = nullptr;
  gnnc_error error = {};
  gnnc_context *context = nullptr;
  gnnc_graph *graph = nullptr;
  void *stream = nullptr;

private:
  void *take(size_t bytes) {
    void *memory = nullptr;
    if (!error.status && !api.allocate(context, bytes, &memory, &error))
      blocks.push_back(memory);
    return memory;
  }

  std::list<std::vector<int64_t>> shapes;
  std::vector<void *> blocks;
  std::vector<gnnc_binding> inputs;
  std::map<std::string, std::vector<gnnc_binding>> outputs;
  std::map<std::string, void *> workspaces;
  std::map<std::string, size_t> workspaceBytes;
  std::vector<void *> data; ///< of the prepared call
  void *callWorkspaces[8] = {};
  size_t callBytes = 0;
};

class DeviceRuntime : public testing::Test {
protected:
  static void SetUpTestSuite() {
    setenv("GNNC_NVRTC", GNNC_STAND_IN_NVRTC, 1);
    setenv("XDG_CACHE_HOME", GNNC_STAND_IN_NVRTC "/cache", 1);
    CompileOptions options;
    options.gradient = true;
    options.targets = {"cuda"};
    std::optional<frontend::ModelSpec> spec = loadText(kModel);
    ASSERT_TRUE(spec);
    auto made = CompiledModel::create(*spec, options);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    model = std::move(*made);
  }
  static void TearDownTestSuite() { model.reset(); }

  void SetUp() override {
    ASSERT_TRUE(model);
    standInReset();
    standInSetFill(0);
  }
  void TearDown() override {
    EXPECT_EQ(standInLive("bytes"), 0);
    EXPECT_EQ(standInLive(nullptr), 0);
  }

  static const ModelFile &file() { return model->file(); }
  static const gnnc_api &api() { return model->file().api(); }

  /// Calls since the last reset that are not among these.
  static int64_t callsBesides(std::initializer_list<const char *> names) {
    int64_t count = standInCalls(nullptr);
    for (const char *name : names)
      count -= standInCalls(name);
    return count;
  }

  /// The first run of a prepared call of `forward`, and its kernels.
  static void runFirst(DeviceRun &device, int64_t &kernels) {
    ASSERT_EQ(device.open(makeGraph(40, 160, 3)), GNNC_OK) << device.error.message;
    ASSERT_EQ(device.allocate(file().info()), GNNC_OK) << device.error.message;
    ASSERT_EQ(device.make("forward"), GNNC_OK) << device.error.message;
    standInReset();
    ASSERT_EQ(device.runCall(), GNNC_OK) << device.error.message;
    kernels = standInKernels();
  }

  static int64_t launchesOf(const std::string &function) {
    for (const PhaseInfo &phase : phasesOf(file().info()))
      if (phase.program == function && phase.half.empty())
        return phase.launches;
    return -1;
  }

  static std::unique_ptr<CompiledModel> model;
};

std::unique_ptr<CompiledModel> DeviceRuntime::model;

} // namespace

TEST_F(DeviceRuntime, RunningLaunchesAndDoesNothingElse) {
  DeviceRun device(api());
  ASSERT_EQ(device.open(makeGraph(40, 160, 3)), GNNC_OK) << device.error.message;
  ASSERT_EQ(device.allocate(file().info()), GNNC_OK) << device.error.message;
  for (const ProgramInfo &program : file().info().programs) {
    SCOPED_TRACE(program.name);
    standInReset();
    int64_t before = device.host.calls;
    ASSERT_EQ(device.run(program.name), GNNC_OK) << device.error.message;
    EXPECT_EQ(device.host.calls, before);
    EXPECT_EQ(callsBesides({"cuLaunchKernel", "cuLaunchKernelEx", "cuMemsetD8Async", "cuCtxPushCurrent_v2",
                            "cuCtxPopCurrent_v2", "cuStreamGetCaptureInfo_v2"}),
              0);
    EXPECT_GT(standInKernels(), 0);
    EXPECT_EQ(standInKernels(), standInCalls("cuLaunchKernel"));
    // Some have nothing to do on a graph without heavy owners.
    if (int64_t most = launchesOf(program.name); most >= 0)
      EXPECT_LE(standInKernels(), most);
  }
}

/// The object's own values are copied once, and nothing is bound for them.
TEST_F(DeviceRuntime, EmbeddedValuesAreCopiedWhenItIsOpened) {
  CompileOptions options;
  options.targets = {"cuda"};
  options.onEmbed = [](llvm::StringRef) {
    return std::vector<EmbeddedTensor>{{"c.W", {6, 2}, 32, false, std::string(48, '\1')},
                                       {"c.b", {2}, 32, false, std::string(8, '\2')}};
  };
  std::optional<frontend::ModelSpec> spec =
      loadText("import std\nmodel M {\n  input x: node[in = 6]\n  output y = GCN(x, out: 2) as c\n}\n");
  ASSERT_TRUE(spec);
  auto embedding = CompiledModel::create(*spec, options);
  ASSERT_TRUE(bool(embedding)) << llvm::toString(embedding.takeError());
  const ModelFile &object = (*embedding)->file();
  DeviceRun device(object.api());
  ASSERT_EQ(device.open(makeGraph(40, 160, 3)), GNNC_OK) << device.error.message;
  ASSERT_EQ(device.allocate(object.info()), GNNC_OK) << device.error.message;
  standInReset();
  ASSERT_EQ(device.run("forward"), GNNC_OK) << device.error.message;
  EXPECT_GT(standInKernels(), 0);
  EXPECT_EQ(standInCalls("cuMemAlloc_v2") + standInCalls("cuMemcpyHtoDAsync_v2"), 0);

  // What does not fit is said when it is opened.
  standInReset();
  standInFail("cuMemAlloc_v2", 0, 2);
  DeviceRun full(object.api());
  EXPECT_EQ(full.open(makeGraph(40, 160, 3)), GNNC_OUT_OF_MEMORY) << full.error.message;
}

/// Each wait, allocation and launch of preparing a graph takes about as long as one of its kernels does.
TEST_F(DeviceRuntime, PreparingAsksTheDriverForLittle) {
  standInReset();
  standInSetFill(0);
  DeviceRun device(api());
  Graph graph = makeGraph(3000, 20000, 3);
  ASSERT_EQ(device.open(graph), GNNC_OK) << device.error.message;
  // How many edges are no loops, with what is wrong with the maps; and the end, with what order the maps have.
  EXPECT_EQ(standInCalls("cuStreamSynchronize"), 2);
  int64_t first = standInCalls("cuMemAllocFromPoolAsync"), live = standInLive("blocks");
  Description description(graph, false);
  gnnc_graph *another;
  standInReset();
  standInSetFill(0);
  ASSERT_EQ(device.api.prepare(device.context, &description.desc, &another, &device.error), GNNC_OK);
  EXPECT_EQ(standInCalls("cuStreamSynchronize"), 2);
  // Kernels do nothing, so none found a difference.
  char text[16384];
  size_t length;
  ASSERT_EQ(device.api.describe_graph(another, text, sizeof text, &length, &device.error), GNNC_OK);
  EXPECT_TRUE(llvm::StringRef(text).contains("\"shared_indices\": [{\"maps\": [")) << text;
  // The memory that it was prepared in was kept.
  EXPECT_EQ(standInCalls("cuMemAllocFromPoolAsync"), first - 1);
  device.api.free_graph(another);
  EXPECT_EQ(standInLive("blocks"), live);
  EXPECT_EQ(standInCalls("cuMemFree_v2"), 0);
}

TEST_F(DeviceRuntime, PreparingManyEdgesWaitsForTheOrderOfMapsAndTheLengthsOfListsAsWell) {
  standInReset();
  standInSetFill(0);
  DeviceRun device(api());
  ASSERT_EQ(device.open(makeGraph(300000, 2500000, 3)), GNNC_OK) << device.error.message;
  EXPECT_EQ(standInCalls("cuStreamSynchronize"), 4);
}

TEST_F(DeviceRuntime, LaunchesAreThoseOfInspect) {
  // With capacities all of them are recorded, whatever there is to do now.
  DeviceRun device(api());
  ASSERT_EQ(device.open(makeGraph(40, 160, 3), /*withCapacities=*/true), GNNC_OK) << device.error.message;
  ASSERT_EQ(device.allocate(file().info()), GNNC_OK) << device.error.message;
  int64_t checked = 0;
  for (const PhaseInfo &phase : phasesOf(file().info())) {
    if (!phase.half.empty() || !file().info().findProgram(phase.program))
      continue;
    SCOPED_TRACE(phase.program);
    standInReset();
    gnnc_recording *recording = nullptr;
    ASSERT_EQ(device.record(phase.program, recording), GNNC_OK) << device.error.message;
    EXPECT_EQ(standInRecordedKernels(), phase.launches);
    EXPECT_EQ(standInKernels(), 0);
    device.api.free_recording(device.context, recording);
    ++checked;
  }
  EXPECT_EQ(checked, 4); // forward, gradient, train_step, initialize
}

TEST_F(DeviceRuntime, ARecordingIsOneLaunch) {
  DeviceRun device(api());
  ASSERT_EQ(device.open(makeGraph(40, 160, 3)), GNNC_OK) << device.error.message;
  ASSERT_EQ(device.allocate(file().info()), GNNC_OK) << device.error.message;
  standInReset();
  ASSERT_EQ(device.run("train_step"), GNNC_OK) << device.error.message;
  int64_t kernels = standInKernels();

  standInReset();
  gnnc_recording *recording = nullptr;
  ASSERT_EQ(device.record("train_step", recording), GNNC_OK) << device.error.message;
  EXPECT_EQ(standInRecordedKernels(), kernels);
  EXPECT_EQ(standInCalls("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(standInCalls("cuStreamSynchronize") + standInCalls("cuMemAlloc_v2"), 0);

  standInReset();
  int64_t before = device.host.calls;
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(api().replay(device.context, recording, device.stream, &device.error), GNNC_OK) << device.error.message;
  EXPECT_EQ(device.host.calls, before);
  EXPECT_EQ(standInCalls("cuGraphLaunch"), 5);
  EXPECT_EQ(callsBesides({"cuGraphLaunch", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"}), 0);
  EXPECT_EQ(standInKernels(), 5 * kernels);

  // The same calls once more bring it up to date; others are made ready anew.
  standInReset();
  ASSERT_EQ(device.record("train_step", recording), GNNC_OK) << device.error.message;
  EXPECT_EQ(standInCalls("cuGraphExecUpdate_v2"), 1);
  EXPECT_EQ(standInCalls("cuGraphInstantiateWithFlags"), 0);
  ASSERT_EQ(device.record("forward", recording), GNNC_OK) << device.error.message;
  EXPECT_EQ(standInCalls("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(standInLive("graphs"), 0);
  EXPECT_EQ(standInLive("executables"), 1);
  api().free_recording(device.context, recording);
}

/// A loop gives a prepared call the same addresses again and again.
TEST_F(DeviceRuntime, CallsWithTheSameAddressesBecomeOneLaunch) {
  DeviceRun device(api());
  int64_t kernels = 0;
  ASSERT_NO_FATAL_FAILURE(runFirst(device, kernels));
  ASSERT_EQ(device.runCall(), GNNC_OK) << device.error.message;
  EXPECT_EQ(standInKernels(), 2 * kernels);
  EXPECT_EQ(standInCalls("cuGraphLaunch"), 0);

  ASSERT_EQ(device.runCall(), GNNC_OK) << device.error.message;
  EXPECT_EQ(standInCalls("cuGraphLaunch"), 1);
  EXPECT_EQ(standInRecordedKernels(), kernels);
  EXPECT_EQ(standInLive("graphs"), 0);
  standInReset();
  int64_t before = device.host.calls;
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(device.runCall(), GNNC_OK) << device.error.message;
  EXPECT_EQ(device.host.calls, before);
  EXPECT_EQ(standInCalls("cuGraphLaunch"), 5);
  EXPECT_EQ(standInKernels(), 5 * kernels);
  EXPECT_EQ(callsBesides({"cuGraphLaunch", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuStreamGetCaptureInfo_v2"}),
            0);

  // Other addresses are launched kernel by kernel, and do not drive out those that come again.
  standInReset();
  for (int workspace = 1; workspace < 8; ++workspace)
    ASSERT_EQ(device.runCall(workspace), GNNC_OK) << device.error.message;
  EXPECT_EQ(standInCalls("cuGraphLaunch"), 0);
  EXPECT_EQ(standInKernels(), 7 * kernels);
  ASSERT_EQ(device.runCall(), GNNC_OK) << device.error.message;
  EXPECT_EQ(standInCalls("cuGraphLaunch"), 1);

  // A recording of the caller's has the kernels themselves.
  standInReset();
  gnnc_recording *recording = nullptr;
  ASSERT_EQ(api().begin_recording(device.context, device.stream, &device.error), GNNC_OK) << device.error.message;
  ASSERT_EQ(device.runCall(), GNNC_OK) << device.error.message;
  ASSERT_EQ(api().end_recording(device.context, device.stream, &recording, &device.error), GNNC_OK);
  EXPECT_EQ(standInRecordedKernels(), kernels);
  EXPECT_EQ(standInCalls("cuGraphLaunch"), 0);
  api().free_recording(device.context, recording);
  EXPECT_EQ(standInLive("executables"), 1);
  api().free_call(device.call);
  EXPECT_EQ(standInLive("executables"), 0);
}

TEST_F(DeviceRuntime, CallsThatCannotBeRecordedAreLaunchedKernelByKernel) {
  for (const char *function :
       {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch"}) {
    SCOPED_TRACE(function);
    DeviceRun device(api());
    int64_t kernels = 0;
    ASSERT_NO_FATAL_FAILURE(runFirst(device, kernels));
    standInReset();
    standInFail(function, 0, 700);
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(device.runCall(), GNNC_OK) << device.error.message;
    EXPECT_EQ(standInCalls(function), 1);
    EXPECT_EQ(standInCalls("cuGraphLaunch"), llvm::StringRef(function) == "cuGraphLaunch");
    EXPECT_EQ(standInKernels(), 5 * kernels);
    EXPECT_EQ(standInLive("executables"), 0);
    api().free_call(device.call);
  }
}

TEST_F(DeviceRuntime, UpdatedGraphsAreReplayedWithoutLaunchingAnew) {
  DeviceRun device(api());
  Graph large = makeGraph(40, 160, 3), small = makeGraph(35, 0, 4);
  ASSERT_EQ(device.open(large, /*withCapacities=*/true), GNNC_OK) << device.error.message;
  ASSERT_EQ(device.allocate(file().info()), GNNC_OK) << device.error.message;
  gnnc_recording *recording = nullptr;
  ASSERT_EQ(device.record("forward", recording), GNNC_OK) << device.error.message;
  standInReset();
  ASSERT_EQ(api().replay(device.context, recording, device.stream, &device.error), GNNC_OK) << device.error.message;
  int64_t kernels = standInKernels();
  EXPECT_EQ(standInCalls("cuGraphExecKernelNodeSetParams"), 0); // It is as it was recorded.
  Description description(small);
  ASSERT_EQ(api().update(device.context, device.graph, &description.desc, &device.error), GNNC_OK)
      << device.error.message;
  standInReset();
  ASSERT_EQ(api().replay(device.context, recording, device.stream, &device.error), GNNC_OK) << device.error.message;
  EXPECT_GT(standInCalls("cuGraphExecKernelNodeSetParams"), 0);
  EXPECT_EQ(standInCalls("cuGraphLaunch"), 1);
  EXPECT_EQ(standInCalls("cuLaunchKernel") + standInCalls("cuGraphInstantiateWithFlags"), 0);
  EXPECT_LE(standInKernels(), kernels);
  api().free_recording(device.context, recording);
}

TEST_F(DeviceRuntime, SymmetricGraphsHaveOneIndex) {
  // A ring in both directions, sorted by target: sources are listed as targets are. And the same with other sources,
  // whose counts and order by target are as before.
  constexpr int32_t kNodes = 64;
  Graph symmetric = makeGraph(kNodes, 0, 3), other;
  symmetric.extents["edge"] = 2 * kNodes;
  for (int32_t node = 0; node < kNodes; ++node) {
    int32_t before = (node + kNodes - 1) % kNodes, after = (node + 1) % kNodes;
    symmetric.maps["src"].insert(symmetric.maps["src"].end(), {std::min(before, after), std::max(before, after)});
    symmetric.maps["dst"].insert(symmetric.maps["dst"].end(), {node, node});
  }
  other = symmetric;
  for (int32_t &source : other.maps["src"])
    source = (source + 5) % kNodes;
  auto bytesOf = [&](const Graph &graph) {
    DeviceRun device(api());
    EXPECT_EQ(device.open(graph), GNNC_OK) << device.error.message;
    return standInLive("bytes");
  };
  // Neighbours by source are those by target, with self loops and without.
  constexpr int64_t kEdges = 2 * kNodes;
  EXPECT_EQ(bytesOf(other) - bytesOf(symmetric), 4 * (kEdges + kEdges + kNodes));
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

TEST_F(DeviceRuntime, OutOfMemoryNamesNeededAndFreeBytes) {
  Graph graph = makeGraph(40, 160, 3);
  standInSetMemory(1000);
  {
    DeviceRun device(api());
    EXPECT_EQ(device.open(graph), GNNC_OUT_OF_MEMORY);
    EXPECT_EQ(device.graph, nullptr);
    EXPECT_TRUE(llvm::StringRef(device.error.message).contains("1000 of 1000 bytes free")) << device.error.message;
    EXPECT_TRUE(llvm::StringRef(device.error.message).contains("CUDA_ERROR_OUT_OF_MEMORY")) << device.error.message;
  }
  standInSetMemory(1 << 20);
  DeviceRun device(api());
  ASSERT_EQ(device.open(graph), GNNC_OK) << device.error.message;
  int64_t live = standInLive("bytes");
  void *memory = &device;
  EXPECT_EQ(api().allocate(device.context, 1 << 20, &memory, &device.error), GNNC_OUT_OF_MEMORY);
  EXPECT_EQ(memory, nullptr);
  std::string expected = "cannot allocate 1048576 bytes on the GPU, which has " + std::to_string((1 << 20) - live) +
                         " of 1048576 bytes free: out of memory (CUDA_ERROR_OUT_OF_MEMORY)";
  EXPECT_EQ(device.error.message, expected);
  EXPECT_EQ(standInCalls("cuMemPoolTrimTo"), 2); // What was kept for graphs is given up first.
}

/// Everything from opening a model to freeing it.
static gnnc_status useAll(const ModelFile &file, const Graph &graph, std::string &message) {
  DeviceRun device(file.api());
  gnnc_recording *recording = nullptr;
  gnnc_status status = device.open(graph);
  if (!status)
    status = device.allocate(file.info());
  if (!status)
    status = device.run("forward");
  for (int i = 0; i < 2 && !status; ++i)
    status = device.record("train_step", recording);
  if (!status)
    status = device.api.replay(device.context, recording, device.stream, &device.error);
  if (!status)
    status = device.api.synchronize(device.context, device.stream, &device.error);
  if (recording)
    device.api.free_recording(device.context, recording);
  message = device.error.message;
  return status;
}

/// Whichever call fails, that is one status with the driver's name for it, and nothing is left. (Calls that give back
/// are not among them: there is no one to tell.)
TEST_F(DeviceRuntime, AnyCallThatFailsIsOneStatus) {
  constexpr int kOutOfMemory = 2, kIllegalAddress = 700;
  const char *functions[] = {"cuDeviceGetCount",
                             "cuDeviceGet",
                             "cuDeviceGetName",
                             "cuDeviceGetAttribute",
                             "cuDevicePrimaryCtxRetain",
                             "cuStreamCreate",
                             "cuMemHostAlloc",
                             "cuMemPoolCreate",
                             "cuMemPoolSetAttribute",
                             "cuModuleLoadDataEx",
                             "cuModuleGetFunction",
                             "cuFuncSetAttribute",
                             "cuMemAlloc_v2",
                             "cuMemAllocFromPoolAsync",
                             "cuMemcpyHtoDAsync_v2",
                             "cuMemcpyDtoHAsync_v2",
                             "cuMemsetD32Async",
                             "cuStreamSynchronize",
                             "cuStreamBeginCapture_v2",
                             "cuStreamUpdateCaptureDependencies",
                             "cuStreamEndCapture",
                             "cuGraphInstantiateWithFlags",
                             "cuGraphLaunch",
                             "cuLaunchKernel",
                             "cuLaunchKernelEx"};
  std::set<std::string> tried;
  // The large one is prepared on the device. What comes of that means nothing, as kernels do nothing, but it goes on.
  for (const Graph &graph : {makeGraph(40, 160, 3), makeGraph(3000, 20000, 3)}) {
    std::string message;
    standInReset();
    standInSetFill(0);
    ASSERT_EQ(useAll(file(), graph, message), GNNC_OK) << message;
    std::map<std::string, int64_t> calls;
    for (const char *function : functions)
      calls[function] = standInCalls(function);
    for (const auto &[function, count] : calls)
      for (int64_t number = 0; number < count; ++number) {
        SCOPED_TRACE(function + " number " + std::to_string(number));
        tried.insert(function);
        bool allocates = llvm::StringRef(function).starts_with("cuMemAlloc");
        standInReset();
        standInSetFill(0);
        standInFail(function.c_str(), number, allocates ? kOutOfMemory : kIllegalAddress);
        EXPECT_EQ(useAll(file(), graph, message), allocates ? GNNC_OUT_OF_MEMORY : GNNC_DEVICE_ERROR);
        EXPECT_TRUE(
            llvm::StringRef(message).contains(allocates ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_ILLEGAL_ADDRESS"))
            << message;
        EXPECT_EQ(llvm::StringRef(message).contains(" bytes free"), allocates) << message;
        ASSERT_EQ(standInLive("bytes"), 0);
        ASSERT_EQ(standInLive(nullptr), 0);
      }
  }
  EXPECT_EQ(tried.size(), std::size(functions));
}

/// Only kernels that wait for the one before may be started while it ends: those for sm_90, and no recorded ones.
TEST_F(DeviceRuntime, KernelsForSM90BeginWhileOthersEnd) {
  for (int architecture : {80, 90, 100}) {
    std::string message;
    standInReset();
    standInSetFill(0);
    standInSetArchitecture(architecture);
    ASSERT_EQ(useAll(file(), makeGraph(40, 160, 3), message), GNNC_OK) << message;
    EXPECT_GT(standInCalls("cuLaunchKernel"), 0);
    EXPECT_EQ(standInCalls("cuLaunchKernelEx") > 0, architecture == 90) << architecture;
  }
}

TEST_F(DeviceRuntime, TheImageFitsTheDevice) {
  auto imageFor = [&](int architecture) -> std::string {
    standInReset();
    standInSetArchitecture(architecture);
    DeviceRun device(api());
    gnnc_status status = device.open(makeGraph(40, 160, 3));
    if (status)
      return device.error.message;
    // A model is several modules, all for the same.
    llvm::SmallVector<llvm::StringRef> modules;
    llvm::StringRef(standInModules()).split(modules, '\n', -1, /*KeepEmpty=*/false);
    std::set<llvm::StringRef> kinds(modules.begin(), modules.end());
    return llvm::join(kinds, " and ");
  };
  // The model has machine code for sm_80 and sm_90, and PTX for sm_80.
  EXPECT_EQ(imageFor(80), "code sm_80");
  EXPECT_EQ(imageFor(86), "code sm_80");
  EXPECT_EQ(imageFor(90), "code sm_90");
  EXPECT_EQ(imageFor(100), "PTX sm_80");
  EXPECT_EQ(imageFor(120), "PTX sm_80");
  EXPECT_EQ(imageFor(75), "no code for this GPU (stand-in, sm_75): the model has sm_80, sm_90, PTX for sm_80");
}
