//===- Recording.cpp - Streams, recordings and launches -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include <algorithm>
#include <stdio.h>

using namespace gnnc::standin;

/// What a launch does.
static std::function<int()> launchOf(void *handle, gnnc::emulation::Place blocks, unsigned threads, unsigned shared,
                                     void *const *extra) {
  const auto *function = static_cast<const Function *>(handle);
  if (!function->kernel)
    return [] { return Success; };
  std::string arguments(static_cast<const char *>(extra[1]), *static_cast<size_t *>(extra[3]));
  return [function, grid = Grid{function->name, blocks, threads, shared, std::move(arguments)}] {
    if (runGrid(*function->module->code, function->kernel, grid, state().fault))
      return Success;
    fprintf(stderr, "stand-in: %s\n", state().fault.c_str());
    return LaunchFailed;
  };
}

/// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int kind, padding, value[16];
};
struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  void *stream;
  const LaunchAttribute *attributes;
  unsigned numAttributes;
};

extern "C" {

//===----------------------------------------------------------------------===//
// Streams and recordings
//===----------------------------------------------------------------------===//

EXPORTED int cuStreamCreate(void **stream, unsigned) {
  Call call("cuStreamCreate");
  if (!call.code)
    *stream = make<Stream>("streams");
  return call.code;
}

EXPORTED int cuStreamDestroy_v2(void *stream) {
  Call call("cuStreamDestroy_v2");
  int code = destroy<Stream>("streams", stream);
  return call.code ? call.code : code;
}

EXPORTED int cuStreamSynchronize(void *handle) {
  Call call("cuStreamSynchronize");
  auto *stream = static_cast<Stream *>(handle);
  return call.code ? call.code : stream && stream->captured ? CaptureUnsupported : Success;
}

EXPORTED int cuStreamBeginCapture_v2(void *handle, int) {
  Call call("cuStreamBeginCapture_v2");
  auto *stream = static_cast<Stream *>(handle);
  if (call.code || !stream || stream->captured)
    return call.code ? call.code : IllegalState;
  stream->captured = std::make_shared<Graph>();
  stream->isOrigin = true;
  stream->dependencies.clear();
  ++captures;
  return Success;
}

EXPORTED int cuStreamEndCapture(void *handle, void **graph) {
  Call call("cuStreamEndCapture");
  *graph = nullptr;
  auto *stream = static_cast<Stream *>(handle);
  if (!stream || !stream->captured || !stream->isOrigin)
    return IllegalState;
  --captures;
  std::shared_ptr<Graph> captured = std::move(stream->captured);
  stream->isOrigin = false;
  bool isWhole = captured->unjoined.empty();
  for (Stream *other : captured->joined)
    other->captured = nullptr;
  if (call.code || !isWhole)
    return call.code ? call.code : CaptureUnjoined;
  ++state().live["graphs"];
  *graph = new Graph(std::move(*captured));
  return Success;
}

EXPORTED int cuStreamGetCaptureInfo_v2(void *handle, int *status, unsigned long long *, void **, void *const **nodes,
                                       size_t *count) {
  Call call("cuStreamGetCaptureInfo_v2");
  auto *stream = static_cast<Stream *>(handle);
  *status = stream && stream->captured;
  if (nodes && *status)
    *nodes = stream->dependencies.data();
  if (count)
    *count = *status ? stream->dependencies.size() : 0;
  return call.code;
}

EXPORTED int cuStreamUpdateCaptureDependencies(void *handle, void **nodes, size_t count, unsigned) {
  Call call("cuStreamUpdateCaptureDependencies");
  auto *stream = static_cast<Stream *>(handle);
  if (call.code || !stream || !stream->captured)
    return call.code ? call.code : IllegalState;
  stream->dependencies.assign(nodes, nodes + count);
  return Success;
}

EXPORTED int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  Call call("cuGraphInstantiateWithFlags");
  if (call.code)
    return call.code;
  *executable = make<Executable>("executables");
  static_cast<Executable *>(*executable)->graph = *static_cast<Graph *>(graph);
  return Success;
}

EXPORTED int cuGraphExecUpdate_v2(void *executable, void *graph, void *) {
  Call call("cuGraphExecUpdate_v2");
  auto &have = static_cast<Executable *>(executable)->graph.nodes, &want = static_cast<Graph *>(graph)->nodes;
  bool isSame = std::equal(have.begin(), have.end(), want.begin(), want.end(),
                           [](const auto &a, const auto &b) { return a->isKernel == b->isKernel; });
  for (size_t i = 0; !call.code && isSame && i < have.size(); ++i)
    have[i]->work = want[i]->work;
  return call.code ? call.code : isSame ? Success : UpdateFailure;
}

EXPORTED int cuGraphExecKernelNodeSetParams(void *, void *node, const void *given) {
  Call call("cuGraphExecKernelNodeSetParams");
  struct Parameters { // CUDA_KERNEL_NODE_PARAMS
    void *function;
    unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
    void **arguments, **extra;
  };
  const auto &launch = *static_cast<const Parameters *>(given);
  if (!call.code)
    static_cast<Node *>(node)->work = launchOf(launch.function, {launch.gridX, launch.gridY, launch.gridZ},
                                               launch.blockX, launch.sharedBytes, launch.extra);
  return call.code;
}

EXPORTED int cuThreadExchangeStreamCaptureMode(int *) { return Call("cuThreadExchangeStreamCaptureMode").code; }

EXPORTED int cuGraphNodeSetEnabled(void *executable, void *node, unsigned enabled) {
  Call call("cuGraphNodeSetEnabled");
  auto &disabled = static_cast<Executable *>(executable)->disabled;
  if (enabled)
    disabled.erase(node);
  else
    disabled.insert(node);
  return call.code;
}

EXPORTED int cuGraphLaunch(void *executable, void *) {
  Call call("cuGraphLaunch");
  auto *made = static_cast<Executable *>(executable);
  int code = call.code;
  for (const auto &node : made->graph.nodes)
    if (!code && !made->disabled.count(node.get())) {
      state().kernels += node->isKernel;
      code = node->work();
    }
  return code;
}

EXPORTED int cuGraphExecDestroy(void *executable) {
  Call call("cuGraphExecDestroy");
  int code = destroy<Executable>("executables", executable);
  return call.code ? call.code : code;
}

EXPORTED int cuGraphDestroy(void *graph) {
  Call call("cuGraphDestroy");
  int code = destroy<Graph>("graphs", graph);
  return call.code ? call.code : code;
}

EXPORTED int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                            unsigned blockY, unsigned blockZ, unsigned sharedBytes, void *handle, void **parameters,
                            void **extra) {
  Call call("cuLaunchKernel");
  constexpr unsigned kMostY = 65535, kMostThreads = 1024;
  constexpr size_t kMostBytes = 4096;
  if (call.code)
    return call.code;
  // {1: the arguments, their address, 2: their size, its address, 0: the end}
  bool hasArguments = !parameters && extra && extra[0] == reinterpret_cast<void *>(1) && extra[1] &&
                      extra[2] == reinterpret_cast<void *>(2) && extra[3] && !extra[4] &&
                      *static_cast<size_t *>(extra[3]) <= kMostBytes;
  bool fits = gridX > 0 && gridX < 1u << 31 && gridY > 0 && gridY <= kMostY && gridZ > 0 && gridZ <= kMostY &&
              blockX > 0 && blockY == 1 && blockZ == 1 && blockX <= kMostThreads;
  if (!function || !hasArguments || !fits || int(sharedBytes) > static_cast<Function *>(function)->shared)
    return InvalidValue;
  auto *stream = static_cast<Stream *>(handle);
  std::function<int()> work = launchOf(function, {gridX, gridY, gridZ}, blockX, sharedBytes, extra);
  if (stream && stream->captured) {
    record(*stream, true, std::move(work));
    ++state().recorded;
    return Success;
  }
  ++state().kernels;
  return work();
}

EXPORTED int cuDriverGetVersion(int *version) {
  *version = 13000;
  return Success;
}

/// As cuLaunchKernel: what is launched comes after all that was launched before.
EXPORTED int cuLaunchKernelEx(const LaunchConfig *config, void *function, void **parameters, void **extra) {
  Call call("cuLaunchKernelEx");
  constexpr int kProgrammaticStreamSerialization = 6;
  if (call.code)
    return call.code;
  if (!config || config->numAttributes != 1 || !config->attributes ||
      config->attributes->kind != kProgrammaticStreamSerialization || config->attributes->value[0] != 1)
    return InvalidValue;
  return cuLaunchKernel(function, config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1],
                        config->block[2], config->sharedBytes, config->stream, parameters, extra);
}

} // extern "C"
