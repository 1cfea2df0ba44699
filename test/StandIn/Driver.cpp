//===- Driver.cpp - A stand-in for the CUDA driver ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With STAND_IN_IS_OLD it lacks a function of CUDA 11.2, as a driver from before has.
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

using namespace gnnc::standin;

thread_local int gnnc::standin::contexts = 0;
thread_local int gnnc::standin::captures = 0;

State &gnnc::standin::state() {
  static State instance;
  return instance;
}

State::State() {
  const char *text = getenv("GNNC_STAND_IN");
  for (std::string rest = text ? text : ""; !rest.empty();) {
    std::string item = rest.substr(0, rest.find(','));
    rest.erase(0, item.size() + 1);
    size_t equals = item.find('=');
    std::string key = item.substr(0, equals), value = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (key == "memory")
      settings.memory = strtoull(value.c_str(), nullptr, 10);
    else if (key == "architecture")
      settings.architecture = atoi(value.c_str());
    else if (key == "processors")
      settings.processors = atoi(value.c_str());
    else if (key == "fill")
      settings.fill = static_cast<unsigned char>(atoi(value.c_str()));
    else if (key == "log")
      settings.log = value;
    else if (size_t first = value.find(':'), last = value.rfind(':'); key == "fail" && first < last) {
      settings.failing = value.substr(0, first);
      settings.after = atoll(value.c_str() + first + 1);
      settings.code = atoi(value.c_str() + last + 1);
    } else {
      fprintf(stderr, "GNNC_STAND_IN: unknown setting '%s'\n", item.c_str());
      abort();
    }
  }
}

State::~State() {
  if (settings.log.empty())
    return;
  FILE *file = fopen(settings.log.c_str(), "w");
  if (!file)
    return;
  for (const auto &[name, count] : calls)
    fprintf(file, "%s %lld\n", name.c_str(), static_cast<long long>(count));
  fprintf(file, "%s", modules.c_str());
  fprintf(file, "kernels %lld, recorded %lld\n", static_cast<long long>(kernels), static_cast<long long>(recorded));
  fprintf(file, "left: %lld bytes, %lld objects\n", static_cast<long long>(standInLive("bytes")),
          static_cast<long long>(standInLive(nullptr)));
  fclose(file);
}

namespace {

struct Name {
  int code;
  const char *name, *text;
};
constexpr Name kNames[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NoBinary, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {IllegalState, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {CaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {UpdateFailure, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed"},
};

/// Whether all bytes lie in one block.
bool isDevice(Address memory, size_t bytes) {
  auto next = state().blocks.upper_bound(memory);
  if (next == state().blocks.begin())
    return false;
  auto block = std::prev(next);
  return memory + bytes <= block->first + block->second;
}

int take(Address *memory, size_t bytes) {
  State &all = state();
  if (bytes == 0)
    return InvalidValue;
  if (bytes > all.settings.memory || all.bytes > all.settings.memory - bytes)
    return OutOfMemory;
  // Comes as zeros, and is not touched where these are wanted: some blocks are large.
  void *block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED)
    return OutOfMemory;
  if (all.settings.fill)
    memset(block, all.settings.fill, bytes);
  *memory = reinterpret_cast<Address>(block);
  all.blocks[*memory] = bytes;
  all.bytes += bytes;
  return Success;
}

int giveBack(Address memory) {
  auto block = state().blocks.find(memory);
  if (block == state().blocks.end())
    return InvalidValue;
  state().bytes -= block->second;
  munmap(reinterpret_cast<void *>(memory), block->second);
  state().blocks.erase(block);
  return Success;
}

} // namespace

//===----------------------------------------------------------------------===//
// For tests
//===----------------------------------------------------------------------===//

extern "C" {

EXPORTED void standInReset() {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  state().settings = Settings();
  state().calls.clear();
  state().kernels = state().recorded = 0;
  state().modules.clear();
  state().fault.clear();
}

EXPORTED int64_t standInCalls(const char *function) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  if (function)
    return state().calls.count(function) ? state().calls[function] : 0;
  int64_t sum = 0;
  for (const auto &[name, count] : state().calls)
    sum += count;
  return sum;
}

EXPORTED void standInFail(const char *function, int64_t after, int code) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  state().settings.failing = function ? function : "";
  state().settings.after = after + (function ? standInCalls(function) : 0);
  state().settings.code = code;
}

EXPORTED void standInSetProcessors(int processors) { state().settings.processors = processors; }
EXPORTED void standInSetMemory(size_t bytes) { state().settings.memory = bytes; }
EXPORTED void standInSetFill(unsigned char byte) { state().settings.fill = byte; }
EXPORTED void standInSetArchitecture(int architecture) { state().settings.architecture = architecture; }

EXPORTED int64_t standInLive(const char *what) {
  std::lock_guard<std::recursive_mutex> guard(state().lock);
  if (what && strcmp(what, "bytes") == 0)
    return static_cast<int64_t>(state().bytes);
  int64_t blocks = static_cast<int64_t>(state().blocks.size());
  if (what)
    return strcmp(what, "blocks") == 0 ? blocks : state().live[what];
  for (const auto &[kind, count] : state().live)
    blocks += count;
  return blocks;
}

EXPORTED int64_t standInKernels() { return state().kernels; }
EXPORTED int64_t standInRecordedKernels() { return state().recorded; }
EXPORTED const char *standInModules() { return state().modules.c_str(); }
EXPORTED const char *standInFault() { return state().fault.c_str(); }

//===----------------------------------------------------------------------===//
// Devices and modules
//===----------------------------------------------------------------------===//

EXPORTED int cuInit(unsigned) { return Call("cuInit", false).code; }

EXPORTED int cuGetErrorName(int code, const char **name) {
  for (const Name &known : kNames)
    if (known.code == code)
      return *name = known.name, Success;
  *name = nullptr;
  return InvalidValue;
}

EXPORTED int cuGetErrorString(int code, const char **text) {
  for (const Name &known : kNames)
    if (known.code == code)
      return *text = known.text, Success;
  *text = nullptr;
  return InvalidValue;
}

EXPORTED int cuDeviceGetCount(int *count) {
  *count = 1;
  return Call("cuDeviceGetCount", false).code;
}

EXPORTED int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return Call("cuDeviceGet", false).code;
}

EXPORTED int cuDeviceGetName(char *name, int length, int) {
  snprintf(name, static_cast<size_t>(length), "stand-in");
  return Call("cuDeviceGetName", false).code;
}

/// Of a block.
static int mostSharedBytes(int architecture) {
  bool isLarge = architecture == 80 || architecture == 87;
  return (isLarge                                    ? 163
          : architecture == 75                       ? 64
          : architecture < 80                        ? 96
          : architecture < 90 || architecture >= 120 ? 99
                                                     : 227)
         << 10;
}

EXPORTED int cuDeviceGetAttribute(int *value, int attribute, int) {
  Call call("cuDeviceGetAttribute", false);
  const Settings &settings = state().settings;
  *value = attribute == 16   ? settings.processors
           : attribute == 75 ? settings.architecture / 10
           : attribute == 76 ? settings.architecture % 10
           : attribute == 97 ? mostSharedBytes(settings.architecture)
                             : 0;
  return call.code;
}

EXPORTED int cuDevicePrimaryCtxRetain(void **context, int) {
  Call call("cuDevicePrimaryCtxRetain", false);
  if (call.code)
    return call.code;
  ++state().live["contexts"];
  *context = &state();
  return Success;
}

EXPORTED int cuDevicePrimaryCtxRelease_v2(int) {
  Call call("cuDevicePrimaryCtxRelease_v2", false);
  --state().live["contexts"];
  return call.code;
}

EXPORTED int cuCtxPushCurrent_v2(void *context) {
  Call call("cuCtxPushCurrent_v2", false);
  if (context != &state())
    return InvalidContext;
  ++contexts;
  return Success;
}

EXPORTED int cuCtxPopCurrent_v2(void **) {
  Call call("cuCtxPopCurrent_v2");
  if (contexts > 0)
    --contexts;
  return call.code;
}

EXPORTED int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
  Call call("cuModuleLoadDataEx");
  if (call.code)
    return call.code;
  const char *text = static_cast<const char *>(image);
  std::string kind = "code";
  int architecture = 0;
  if (memcmp(text, "\177ELF", 4) != 0) {
    const char *target = strstr(text, "sm_");
    architecture = target ? atoi(target + 3) : 0;
    bool isPTX = strstr(text, ".version") != nullptr;
    kind = (isPTX ? "PTX sm_" : "code sm_") + std::to_string(architecture);
    int own = state().settings.architecture;
    if (architecture > own || (!isPTX && architecture / 10 != own / 10))
      return NoBinary;
  }
  state().modules += kind + "\n";
  bool failed;
  std::unique_ptr<HostModule> code = HostModule::load(text, failed);
  if (failed)
    return NoBinary;
  *module = make<Module>("modules");
  static_cast<Module *>(*module)->code = std::move(code);
  return Success;
}

EXPORTED int cuModuleUnload(void *module) {
  Call call("cuModuleUnload");
  int code = destroy<Module>("modules", module);
  return call.code ? call.code : code;
}

EXPORTED int cuModuleGetFunction(void **function, void *handle, const char *name) {
  Call call("cuModuleGetFunction");
  if (call.code)
    return call.code;
  auto *module = static_cast<Module *>(handle);
  Kernel kernel = module->code ? module->code->find(name) : nullptr;
  if (module->code && !kernel)
    return NotFound;
  auto &functions = module->functions;
  functions.push_back(std::make_unique<Function>());
  functions.back()->name = name;
  functions.back()->module = module;
  functions.back()->kernel = kernel;
  *function = functions.back().get();
  return Success;
}

EXPORTED int cuFuncSetAttribute(void *function, int attribute, int value) {
  Call call("cuFuncSetAttribute");
  constexpr int kMostDynamicShared = 8;
  if (call.code)
    return call.code;
  if (attribute != kMostDynamicShared || value < 0 || value > mostSharedBytes(state().settings.architecture))
    return InvalidValue;
  int &shared = static_cast<Function *>(function)->shared;
  shared = value > shared ? value : shared;
  return Success;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

EXPORTED int cuMemAlloc_v2(Address *memory, size_t bytes) {
  Call call("cuMemAlloc_v2");
  return call.code ? call.code : captures ? CaptureUnsupported : take(memory, bytes);
}

EXPORTED int cuMemFree_v2(Address memory) {
  Call call("cuMemFree_v2");
  int code = captures ? CaptureUnsupported : giveBack(memory);
  return call.code ? call.code : code;
}

/// As much of the host's memory as anyone asks for.
struct Pages {
  alignas(64) char bytes[1 << 16];
};

EXPORTED int cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  Call call("cuMemHostAlloc");
  if (call.code || captures)
    return call.code ? call.code : CaptureUnsupported;
  if (bytes == 0 || bytes > sizeof(Pages))
    return InvalidValue;
  *memory = make<Pages>("pages");
  return Success;
}

EXPORTED int cuMemFreeHost(void *memory) {
  Call call("cuMemFreeHost");
  int code = captures ? CaptureUnsupported : destroy<Pages>("pages", memory);
  return call.code ? call.code : code;
}

EXPORTED int cuMemGetInfo_v2(size_t *free, size_t *total) {
  Call call("cuMemGetInfo_v2");
  *total = state().settings.memory;
  *free = *total > state().bytes ? *total - state().bytes : 0;
  return call.code;
}

EXPORTED int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *stream) {
  Call call("cuMemcpyHtoDAsync_v2");
  if (call.code || !isDevice(to, bytes))
    return call.code ? call.code : InvalidValue;
  return enqueue(stream, [=] { memcpy(reinterpret_cast<void *>(to), from, bytes); });
}

EXPORTED int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *stream) {
  Call call("cuMemcpyDtoHAsync_v2");
  if (call.code || !isDevice(from, bytes))
    return call.code ? call.code : InvalidValue;
  return enqueue(stream, [=] { memcpy(to, reinterpret_cast<void *>(from), bytes); });
}

EXPORTED int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void *stream) {
  Call call("cuMemcpyDtoDAsync_v2");
  if (call.code || !isDevice(to, bytes) || !isDevice(from, bytes))
    return call.code ? call.code : InvalidValue;
  return enqueue(stream, [=] { memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes); });
}

EXPORTED int cuMemsetD8Async(Address to, unsigned char value, size_t count, void *stream) {
  Call call("cuMemsetD8Async");
  if (call.code || !isDevice(to, count))
    return call.code ? call.code : InvalidValue;
  return enqueue(stream, [=] { memset(reinterpret_cast<void *>(to), value, count); });
}

EXPORTED int cuMemsetD32Async(Address to, unsigned value, size_t count, void *stream) {
  Call call("cuMemsetD32Async");
  if (call.code || !isDevice(to, 4 * count))
    return call.code ? call.code : InvalidValue;
  return enqueue(stream, [=] { std::fill_n(reinterpret_cast<unsigned *>(to), count, value); });
}

EXPORTED int cuMemPoolCreate(void **pool, const void *) {
  Call call("cuMemPoolCreate");
  if (!call.code)
    *pool = make<Pool>("pools");
  return call.code;
}

EXPORTED int cuMemPoolDestroy(void *pool) {
  Call call("cuMemPoolDestroy");
  int code = destroy<Pool>("pools", pool);
  return call.code ? call.code : code;
}

EXPORTED int cuMemPoolSetAttribute(void *, int, void *) { return Call("cuMemPoolSetAttribute").code; }

EXPORTED int cuMemPoolTrimTo(void *, size_t) { return Call("cuMemPoolTrimTo").code; }

#ifndef STAND_IN_IS_OLD
EXPORTED int cuMemAllocFromPoolAsync(Address *memory, size_t bytes, void *, void *) {
  Call call("cuMemAllocFromPoolAsync");
  return call.code ? call.code : take(memory, bytes);
}
#endif

EXPORTED int cuMemFreeAsync(Address memory, void *) {
  Call call("cuMemFreeAsync");
  int code = giveBack(memory);
  return call.code ? call.code : code;
}

} // extern "C"
