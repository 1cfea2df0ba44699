//===- Api.cpp - The functions that a model exports -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Recording.h"
#include "Describe.h"
#include "PreparedCall.h"
#include "Processor.h"
#include <stdint.h>
#include <string.h>

namespace gnnc::runtime {

using namespace table;

constexpr int kMaxThreads = 1024;
constexpr int32_t kCPU = 1, kCUDA = 2; // DLPack's device types

static Model compiledModel() {
  return {gnnc_model_table,  gnnc_model_names,       gnnc_model_constants, gnnc_model_variants, gnnc_model_images,
          gnnc_model_driver, gnnc_model_preparation, gnnc_model_values,    gnnc_model_ranks};
}

static gnnc_status openDevice(gnnc_context &context, int32_t ordinal, const gnnc_device_allocator *allocator,
                              gnnc_error *error) {
  if (context.planOnly) {
    static const cuda::Driver none = {};
    context.device = context.model.header().numDeviceSteps == 0
                         ? nullptr
                         : create<cuda::Device>(context.allocator, none, context.allocator);
    if (context.device)
      context.device->plan();
    return context.device ? GNNC_OK
           : context.model.header().numDeviceSteps == 0
               ? fail(error, GNNC_UNSUPPORTED, "the model has no code for GPUs; compile it with --target=cuda")
               : fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a context");
  }
  if (context.model.header().numDeviceSteps == 0 || !context.model.loadDriver)
    return fail(error, GNNC_UNSUPPORTED, "the model has no code for GPUs; compile it with --target=cuda");
  const void *loaded;
  if (gnnc_status status = context.model.loadDriver(&loaded, error))
    return status;
  const auto *driver = static_cast<const cuda::Driver *>(loaded);
  context.device = create<cuda::Device>(context.allocator, *driver, context.allocator);
  if (!context.device)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a context");
  return context.device->open(context.model, ordinal, allocator, error);
}

gnnc_status openModel(const Model &model, const gnnc_options *options, gnnc_context **context, gnnc_error *error) {
  if (!context)
    return fail(error, GNNC_INVALID_ARGUMENT, "open: context is null");
  *context = nullptr;
  if (model.header().magic != kMagic || model.header().version != kTableVersion)
    return fail(error, GNNC_VERSION_MISMATCH, "model table: expected version %lld, found %lld",
                static_cast<long long>(kTableVersion), static_cast<long long>(model.header().version));
  gnnc_allocator allocator = defaultAllocator();
  int threads = 0;
  int32_t deviceType = kCPU, deviceId = 0;
  bool planOnly = false;
  const gnnc_device_allocator *deviceAllocator = nullptr;
  if (options) {
    if (options->struct_size != sizeof(gnnc_options))
      return fail(error, GNNC_VERSION_MISMATCH, "options: expected struct_size %zu, found %u", sizeof(gnnc_options),
                  options->struct_size);
    threads = options->threads;
    deviceType = options->device_type == 0 ? kCPU : options->device_type;
    deviceId = options->device_id;
    planOnly = options->plan_only == 1;
    if (options->plan_only != 0 && options->plan_only != 1)
      return fail(error, GNNC_INVALID_ARGUMENT, "options: expected plan_only 0 or 1, found %d", options->plan_only);
    if (options->reserved != 0)
      return fail(error, GNNC_INVALID_ARGUMENT, "options: expected reserved to be 0, found %d", options->reserved);
    if (deviceType != kCPU && deviceType != kCUDA)
      return fail(error, GNNC_INVALID_ARGUMENT, "options: expected device type 1 (CPU) or 2 (CUDA), found %d",
                  deviceType);
    if (options->allocator) {
      allocator = *options->allocator;
      if (!allocator.allocate || !allocator.release)
        return fail(error, GNNC_INVALID_ARGUMENT, "options: the allocator's function '%s' is null",
                    allocator.allocate ? "release" : "allocate");
    }
    deviceAllocator = options->device_allocator;
    if (deviceAllocator && (!deviceAllocator->allocate || !deviceAllocator->release))
      return fail(error, GNNC_INVALID_ARGUMENT, "options: the device allocator's function '%s' is null",
                  deviceAllocator->allocate ? "release" : "allocate");
  }
  if (threads < 0 || threads > kMaxThreads)
    return fail(error, GNNC_INVALID_ARGUMENT, "options: expected 0 to %d threads, found %d", kMaxThreads, threads);
  if (threads == 0)
    threads = processorCount() < kMaxThreads ? processorCount() : kMaxThreads;

  const Variant *variant = nullptr;
  bool onCPU = deviceType == kCPU;
  if (gnnc_status status = onCPU && !planOnly ? chooseVariant(model, variant, error) : GNNC_OK)
    return status;
  gnnc_context *result = create<gnnc_context>(allocator, model, allocator);
  if (!result)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a context");
  result->variant = variant;
  result->planOnly = planOnly;
  if (gnnc_status status = onCPU ? result->pool.start(planOnly ? 1 : threads, error)
                                 : openDevice(*result, deviceId, deviceAllocator, error)) {
    destroy(result, allocator);
    return status;
  }
  *context = result;
  return GNNC_OK;
}

gnnc_status findValues(const Model &model, const char *name, gnnc_tensor *tensor, gnnc_error *error) {
  constexpr uint8_t kFloat = 2, kBFloat = 4;
  if (!name || !tensor)
    return fail(error, GNNC_INVALID_ARGUMENT, "embedded: %s is null", name ? "tensor" : "name");
  *tensor = gnnc_tensor{};
  bool isKnown = false;
  for (int64_t i = 0; i < model.header().numBuffers && !isKnown; ++i) {
    const BufferRec &record = model.buffer(i);
    isKnown = (record.kind == BufferKind::Param || record.kind == BufferKind::State) &&
              strcmp(model.name(record.name), name) == 0;
    if (!isKnown || record.values < 0)
      continue;
    const ValuesRec &values = model.value(record.values);
    tensor->data = const_cast<char *>(model.values + values.valuesAt);
    tensor->device_type = kCPU;
    tensor->ndim = static_cast<int32_t>(values.numShape);
    tensor->dtype_code = values.isBFloat ? kBFloat : kFloat;
    tensor->dtype_bits = static_cast<uint8_t>(values.dtypeBits);
    tensor->dtype_lanes = 1;
    tensor->shape = model.list(values.shapeAt);
  }
  return isKnown ? GNNC_OK
                 : fail(error, GNNC_INVALID_ARGUMENT, "embedded: the model has no parameter or state '%.80s'", name);
}

namespace {

/// For what only a context can do that has more than plans.
gnnc_status refuse(const gnnc_context *context, const char *call, gnnc_error *error) {
  return context->planOnly ? fail(error, GNNC_UNSUPPORTED, "%s: the context was opened with plan_only", call) : GNNC_OK;
}

/// A graph is of one model and one device; contexts of the CPU may share theirs.
gnnc_status checkOwner(const gnnc_context *context, const gnnc_graph *graph, const char *call, gnnc_error *error) {
  if (graph->model.table != context->model.table)
    return fail(error, GNNC_INVALID_ARGUMENT, "%s: the graph was prepared by another model", call);
  if ((graph->device ? &graph->device->device : nullptr) != context->device)
    return fail(error, GNNC_INVALID_ARGUMENT, "%s: the graph was prepared by another context", call);
  return GNNC_OK;
}

const char *describe(size_t *length) {
  if (length)
    *length = static_cast<size_t>(gnnc_model_json_size);
  return gnnc_model_json;
}

gnnc_status embedded(const char *name, gnnc_tensor *tensor, gnnc_error *error) {
  return findValues(compiledModel(), name, tensor, error);
}

gnnc_status open(const gnnc_options *options, gnnc_context **context, gnnc_error *error) {
  return openModel(compiledModel(), options, context, error);
}

void close(gnnc_context *context) {
  if (context)
    destroy(context, gnnc_allocator(context->allocator));
}

gnnc_status prepare(gnnc_context *context, const gnnc_graph_desc *desc, gnnc_graph **graph, gnnc_error *error) {
  if (graph)
    *graph = nullptr;
  if (!context || !desc || !graph)
    return fail(error, GNNC_INVALID_ARGUMENT, "prepare: %s is null",
                !context ? "context"
                : !desc  ? "the graph description"
                         : "graph");
  return prepareGraph(context->model, context->allocator, *desc, *graph, error, {context->device});
}

gnnc_status preparePart(gnnc_context *context, const gnnc_graph_desc *desc, const gnnc_part_desc *part,
                        gnnc_graph **graph, gnnc_error *error) {
  if (graph)
    *graph = nullptr;
  if (!context || !desc || !part || !graph)
    return fail(error, GNNC_INVALID_ARGUMENT, "prepare_part: %s is null",
                !context ? "context"
                : !desc  ? "the graph description"
                : !part  ? "the part description"
                         : "graph");
  return prepareGraph(context->model, context->allocator, *desc, *graph, error,
                      {context->device, part, context->planOnly});
}

gnnc_status update(gnnc_context *context, gnnc_graph *graph, const gnnc_graph_desc *desc, gnnc_error *error) {
  if (!context || !graph || !desc)
    return fail(error, GNNC_INVALID_ARGUMENT, "update: %s is null",
                !context ? "context"
                : !desc  ? "the graph description"
                         : "graph");
  if (gnnc_status status = checkOwner(context, graph, "update", error))
    return status;
  return updateGraph(*graph, *desc, error, context->device);
}

gnnc_status describeGraph(const gnnc_graph *graph, char *text, size_t capacity, size_t *length, gnnc_error *error) {
  if (!graph || !length || (!text && capacity > 0))
    return fail(error, GNNC_INVALID_ARGUMENT, "describe_graph: %s is null",
                !graph    ? "graph"
                : !length ? "length"
                          : "text");
  *length = describeChoices(*graph, text, capacity);
  return GNNC_OK;
}

void freeGraph(gnnc_graph *graph) {
  if (graph)
    destroy(graph, gnnc_allocator(graph->memory.getAllocator()));
}

int64_t extent(const gnnc_graph *graph, const char *space) {
  if (!graph || !space)
    return -1;
  for (int64_t i = 0; i < graph->model.header().numSpaces; ++i)
    if (strcmp(graph->model.name(graph->model.space(i).name), space) == 0)
      return graph->extents[i];
  return -1;
}

size_t graphBytes(const gnnc_graph *graph) {
  if (!graph)
    return 0;
  size_t onDevice = graph->device ? static_cast<size_t>(graph->device->bytes) : 0;
  return sizeof(gnnc_graph) + graph->memory.bytes() + onDevice;
}

bool isAlternative(const Model &model, const ProgramRec &program) {
  for (int64_t i = 0; i < model.header().numAlternatives; ++i)
    if (model.alternative(i).function == program.function)
      return true;
  return false;
}

/// Finds a program (null: the first) that this graph has all data for.
gnnc_status findProgram(const gnnc_graph &graph, const char *name, const ProgramRec *&program, gnnc_error *error) {
  const Model &model = graph.model;
  int64_t count = model.header().numPrograms;
  program = name ? nullptr : &model.program(0);
  for (int64_t i = 0; i < count && !program; ++i)
    if (strcmp(model.name(model.program(i).name), name) == 0)
      program = &model.program(i);
  if (!program) {
    Text names;
    for (int64_t i = 0; i < count && !isAlternative(model, model.program(i)); ++i)
      names.add("%s%s", i ? ", " : "", model.name(model.program(i).name));
    return fail(error, GNNC_INVALID_ARGUMENT, "unknown program '%.80s': expected one of %s", name, names.c_str());
  }
  int64_t missing = graph.functions[program->function].missing;
  if (missing < 0) {
    // The chosen alternative's program of that name.
    int64_t chosen = graph.functions[program->function].chosen;
    for (int64_t i = 0, name = program->name; i < count && program->function != chosen; ++i)
      if (model.program(i).function == chosen && model.program(i).name == name)
        program = &model.program(i);
    return GNNC_OK;
  }
  bool isMap = missing % 2;
  return fail(error, GNNC_INVALID_ARGUMENT, "program '%s' needs %s '%s', which was not given with the graph",
              model.name(program->name), isMap ? "map" : "space",
              model.name(isMap ? model.map(missing / 2).name : model.space(missing / 2).name));
}

gnnc_status workspaceSize(const gnnc_graph *graph, const char *name, size_t *bytes, gnnc_error *error) {
  if (!graph || !bytes)
    return fail(error, GNNC_INVALID_ARGUMENT, "workspace_size: %s is null", graph ? "bytes" : "graph");
  *bytes = 0;
  const ProgramRec *program;
  if (gnnc_status status = findProgram(*graph, name, program, error))
    return status;
  *bytes = static_cast<size_t>(graph->functions[program->function].workspaceBytes);
  return GNNC_OK;
}

/// Runs what `bind` gives addresses to. `needed`: bytes of its workspace, of which the caller has `workspaceBytes`.
template <typename Bind>
gnnc_status runWith(gnnc_context &context, Call &call, int64_t needed, size_t workspaceBytes, void *stream,
                    const Bind &bind) {
  Memory own(context.allocator);
  gnnc_error *error = call.error;
  size_t wanted = static_cast<size_t>(needed);
  if (!call.workspace && context.device && wanted > 0)
    return fail(error, GNNC_INVALID_ARGUMENT, "workspace: expected %zu bytes of the device's memory, found none",
                wanted);
  if (!call.workspace && call.program.firstStep > 0)
    return fail(error, GNNC_INVALID_ARGUMENT,
                "program '%s' goes on from what another left in its workspace: expected that workspace, found none",
                call.graph.model.name(call.program.name));
  int64_t alignment = context.device ? cuda::kDeviceAlignment : kAlignment;
  if (!call.workspace && !context.device) {
    call.workspace = static_cast<char *>(own.allocate(needed, 1));
    if (!call.workspace)
      return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a workspace of %zu bytes", wanted);
  } else if (workspaceBytes < wanted) {
    return fail(error, GNNC_INVALID_ARGUMENT, "workspace: expected %zu bytes or more, found %zu", wanted,
                workspaceBytes);
  } else if (reinterpret_cast<uintptr_t>(call.workspace) % static_cast<uintptr_t>(alignment) != 0) {
    return fail(error, GNNC_INVALID_ARGUMENT, "workspace: expected an address that %d divides, found %p",
                static_cast<int>(alignment), static_cast<void *>(call.workspace));
  }
  if (context.device) {
    int64_t count = call.record().numBuffers;
    call.pointers = static_cast<void **>(__builtin_alloca(static_cast<size_t>(count) * sizeof(void *)));
    if (call.graph.capacities && stream)
      call.recorder = context.device->recorderOf(stream);
    gnnc_status status = bind();
    return status ? status : context.device->run(call, stream);
  }
  // The table of addresses is at the start of the workspace.
  call.pointers = reinterpret_cast<void **>(call.workspace);
  if (gnnc_status status = bind())
    return status;
  return execute(context, call);
}

gnnc_status run(gnnc_context *context, const gnnc_graph *graph, const char *name, const gnnc_binding *inputs,
                int32_t numInputs, const gnnc_binding *outputs, int32_t numOutputs, void *workspace,
                size_t workspaceBytes, void *stream, gnnc_error *error) {
  if (!context || !graph)
    return fail(error, GNNC_INVALID_ARGUMENT, "run: %s is null", context ? "graph" : "context");
  if (gnnc_status status = checkOwner(context, graph, "run", error))
    return status;
  if (gnnc_status status = refuse(context, "run", error))
    return status;
  const ProgramRec *program;
  if (gnnc_status status = findProgram(*graph, name, program, error))
    return status;
  Call call{*graph, *program, inputs, numInputs, outputs, numOutputs, static_cast<char *>(workspace), nullptr, error};
  return runWith(*context, call, graph->functions[program->function].workspaceBytes, workspaceBytes, stream,
                 [&] { return bindBuffers(call); });
}

gnnc_status makeCallOf(const gnnc_graph *graph, const gnnc_call_desc *desc, gnnc_call **call, size_t *workspaceBytes,
                       gnnc_error *error) {
  if (call)
    *call = nullptr;
  if (!graph || !desc || !call || !workspaceBytes)
    return fail(error, GNNC_INVALID_ARGUMENT, "make_call: %s is null",
                !graph  ? "graph"
                : !desc ? "the description"
                : !call ? "call"
                        : "workspace_bytes");
  *workspaceBytes = 0;
  if (desc->struct_size != sizeof(gnnc_call_desc))
    return fail(error, GNNC_VERSION_MISMATCH, "make_call: expected struct_size %zu, found %u", sizeof(gnnc_call_desc),
                desc->struct_size);
  const ProgramRec *program;
  gnnc_status status = findProgram(*graph, desc->program, program, error);
  if (!status)
    status = makeCall(*graph, *program, *desc, *call, error);
  if (!status)
    *workspaceBytes = static_cast<size_t>((*call)->workspaceBytes);
  return status;
}

gnnc_status runCall(gnnc_context *context, const gnnc_call *made, void *const *data, void *workspace,
                    size_t workspaceBytes, void *stream, gnnc_error *error) {
  if (!context || !made || (!data && made->numData > 0))
    return fail(error, GNNC_INVALID_ARGUMENT, "run_call: %s is null", !context ? "context" : !made ? "call" : "data");
  if (gnnc_status status = checkOwner(context, &made->graph, "run_call", error))
    return status;
  if (gnnc_status status = refuse(context, "run_call", error))
    return status;
  Call call{made->graph, made->program, nullptr, 0,           nullptr, 0, static_cast<char *>(workspace),
            nullptr,     error,         nullptr, made->needed};
  return runWith(*context, call, made->workspaceBytes, workspaceBytes, stream,
                 [&] { return placeBuffers(*made, call, data); });
}

void freeCall(gnnc_call *call) {
  if (call)
    destroy(call, gnnc_allocator(call->memory.getAllocator()));
}

/// In front of memory of `allocate` on a host: what the allocator gave.
struct HostBlock {
  void *memory;
  size_t bytes;
};

/// At a multiple of 256 bytes like a device's; the allocator promises 64.
void *allocateHost(const gnnc_allocator &allocator, size_t bytes) {
  constexpr size_t kRoom = sizeof(HostBlock) + cuda::kDeviceAlignment;
  void *memory = bytes <= SIZE_MAX - kRoom ? allocator.allocate(bytes + kRoom, allocator.user) : nullptr;
  if (!memory)
    return nullptr;
  uintptr_t at = reinterpret_cast<uintptr_t>(memory) + kRoom;
  at -= at % cuda::kDeviceAlignment;
  reinterpret_cast<HostBlock *>(at)[-1] = {memory, bytes + kRoom};
  return reinterpret_cast<void *>(at);
}

void releaseHost(const gnnc_allocator &allocator, void *memory) {
  HostBlock block = static_cast<HostBlock *>(memory)[-1];
  allocator.release(block.memory, block.bytes, allocator.user);
}

gnnc_status allocateMemory(gnnc_context *context, size_t bytes, void **memory, gnnc_error *error) {
  if (!context || !memory)
    return fail(error, GNNC_INVALID_ARGUMENT, "allocate: %s is null", context ? "memory" : "context");
  *memory = nullptr;
  if (gnnc_status status = refuse(context, "allocate", error))
    return status;
  if (bytes > static_cast<size_t>(INT64_MAX))
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for %zu bytes", bytes);
  if (context->device) {
    cuda::Address address;
    gnnc_status status = context->device->allocate(static_cast<int64_t>(bytes), address, error);
    *memory = reinterpret_cast<void *>(address);
    return status;
  }
  *memory = allocateHost(context->allocator, bytes);
  return *memory ? GNNC_OK : fail(error, GNNC_OUT_OF_MEMORY, "out of memory for %zu bytes", bytes);
}

void releaseMemory(gnnc_context *context, void *memory) {
  if (!context || !memory)
    return;
  if (context->device)
    context->device->release(reinterpret_cast<cuda::Address>(memory));
  else
    releaseHost(context->allocator, memory);
}

gnnc_status copyMemory(gnnc_context *context, void *to, int32_t toType, const void *from, int32_t fromType,
                       size_t bytes, void *stream, gnnc_error *error) {
  if (!context)
    return fail(error, GNNC_INVALID_ARGUMENT, "copy: context is null");
  if (gnnc_status status = refuse(context, "copy", error))
    return status;
  int32_t own = context->device ? kCUDA : kCPU;
  if ((toType != kCPU && toType != own) || (fromType != kCPU && fromType != own))
    return fail(error, GNNC_INVALID_ARGUMENT, "copy: expected device type 1%s, found %d",
                context->device ? " or 2" : "", toType != kCPU && toType != own ? toType : fromType);
  if (bytes > 0 && (!to || !from))
    return fail(error, GNNC_INVALID_ARGUMENT, "copy: %s is null", to ? "from" : "to");
  if (toType == kCPU && fromType == kCPU) {
    if (bytes > 0)
      memmove(to, from, bytes);
    return GNNC_OK;
  }
  return context->device->copy(to, toType == kCUDA, from, fromType == kCUDA, bytes, stream, error);
}

gnnc_status synchronize(gnnc_context *context, void *stream, gnnc_error *error) {
  if (!context)
    return fail(error, GNNC_INVALID_ARGUMENT, "synchronize: context is null");
  if (gnnc_status status = refuse(context, "synchronize", error))
    return status;
  return context->device ? context->device->synchronize(stream, error) : GNNC_OK;
}

gnnc_status createStream(gnnc_context *context, void **stream, gnnc_error *error) {
  if (!context || !stream)
    return fail(error, GNNC_INVALID_ARGUMENT, "create_stream: %s is null", context ? "stream" : "context");
  *stream = nullptr;
  if (gnnc_status status = refuse(context, "create_stream", error))
    return status;
  return context->device ? context->device->createStream(*stream, error) : GNNC_OK;
}

void destroyStream(gnnc_context *context, void *stream) {
  if (context && stream && context->device)
    context->device->destroyStream(stream);
}

gnnc_status beginRecording(gnnc_context *context, void *stream, gnnc_error *error) {
  if (!context)
    return fail(error, GNNC_INVALID_ARGUMENT, "begin_recording: context is null");
  if (gnnc_status status = refuse(context, "begin_recording", error))
    return status;
  if (!context->device)
    return fail(error, GNNC_UNSUPPORTED, "begin_recording: expected a context of a GPU, found one of the CPU");
  if (!stream)
    return fail(error, GNNC_INVALID_ARGUMENT, "begin_recording: expected a stream, found the default one");
  return context->device->beginRecording(stream, error);
}

gnnc_status endRecording(gnnc_context *context, void *stream, gnnc_recording **recording, gnnc_error *error) {
  if (!context || !recording)
    return fail(error, GNNC_INVALID_ARGUMENT, "end_recording: %s is null", context ? "recording" : "context");
  if (gnnc_status status = refuse(context, "end_recording", error))
    return status;
  if (!context->device)
    return fail(error, GNNC_UNSUPPORTED, "end_recording: expected a context of a GPU, found one of the CPU");
  if (*recording && (*recording)->device != context->device)
    return fail(error, GNNC_INVALID_ARGUMENT, "end_recording: the recording is of another context");
  bool isNew = !*recording;
  if (isNew)
    *recording = create<gnnc_recording>(context->allocator, context->device);
  if (!*recording)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a recording");
  gnnc_status status = context->device->endRecording(stream, **recording, error);
  if (status && isNew) {
    destroy(*recording, context->allocator);
    *recording = nullptr;
  }
  return status;
}

gnnc_status replay(gnnc_context *context, gnnc_recording *recording, void *stream, gnnc_error *error) {
  if (!context || !recording)
    return fail(error, GNNC_INVALID_ARGUMENT, "replay: %s is null", context ? "recording" : "context");
  if (recording->device != context->device)
    return fail(error, GNNC_INVALID_ARGUMENT, "replay: the recording is of another context");
  if (!recording->executable)
    return fail(error, GNNC_INVALID_ARGUMENT, "replay: the recording failed when it was made");
  return context->device->replay(*recording, stream, error);
}

void freeRecording(gnnc_context *context, gnnc_recording *recording) {
  if (context && recording)
    destroy(recording, context->allocator);
}

constexpr gnnc_api api = {
    GNNC_ABI_VERSION, sizeof(gnnc_api), describe,      open,          close,         prepare,
    freeGraph,        extent,           graphBytes,    workspaceSize, run,           allocateMemory,
    releaseMemory,    copyMemory,       synchronize,   createStream,  destroyStream, beginRecording,
    endRecording,     replay,           freeRecording, update,        describeGraph, embedded,
    preparePart,      makeCallOf,       runCall,       freeCall};

} // namespace

} // namespace gnnc::runtime

extern "C" __attribute__((visibility("default"))) const gnnc_api *gnnc_model() { return &gnnc::runtime::api; }

gnnc_context::~gnnc_context() {
  if (device)
    device->giveBack();
}

gnnc_recording::~gnnc_recording() { device->destroyRecording(*this); }
