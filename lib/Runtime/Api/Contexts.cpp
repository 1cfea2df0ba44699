//===- Contexts.cpp - Models, and contexts that they run in ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Processor.h"
#include "Api.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;
using api::kCPU, api::kCUDA;

constexpr int kMaxThreads = 1024;

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

// Once for a context: made for size.
[[gnu::cold]] gnnc_status openModel(const Model &model, const gnnc_options *options, gnnc_context **context,
                                    gnnc_error *error) {
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
  gnnc_parallel parallel = nullptr;
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
    parallel = options->parallel;
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
  if (gnnc_status status = onCPU ? result->pool.start(planOnly ? 1 : threads, parallel, error)
                                 : openDevice(*result, deviceId, deviceAllocator, error)) {
    destroy(result, allocator);
    return status;
  }
  if (!planOnly && !result->orders.start(model, !onCPU)) {
    destroy(result, allocator);
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for a context");
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

} // namespace gnnc::runtime

namespace gnnc::runtime::api {

static Model compiledModel() {
  return {gnnc_model_table,  gnnc_model_names,       gnnc_model_constants, gnnc_model_variants, gnnc_model_images,
          gnnc_model_driver, gnnc_model_preparation, gnnc_model_values,    gnnc_model_ranks};
}

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

} // namespace gnnc::runtime::api

gnnc_context::~gnnc_context() {
  if (device)
    device->giveBack();
}
