//===- Memory.cpp - Memory and streams for a caller -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"
#include <stdint.h>
#include <string.h>

namespace gnnc::runtime::api {

/// In front of memory of `allocate` on a host: what the allocator gave.
struct HostBlock {
  void *memory;
  size_t bytes;
};

/// At a multiple of 256 bytes like a device's; the allocator promises 64.
static void *allocateHost(const gnnc_allocator &allocator, size_t bytes) {
  constexpr size_t kRoom = sizeof(HostBlock) + cuda::kDeviceAlignment;
  void *memory = bytes <= SIZE_MAX - kRoom ? allocator.allocate(bytes + kRoom, allocator.user) : nullptr;
  if (!memory)
    return nullptr;
  uintptr_t at = reinterpret_cast<uintptr_t>(memory) + kRoom;
  at -= at % cuda::kDeviceAlignment;
  reinterpret_cast<HostBlock *>(at)[-1] = {memory, bytes + kRoom};
  return reinterpret_cast<void *>(at);
}

static void releaseHost(const gnnc_allocator &allocator, void *memory) {
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

} // namespace gnnc::runtime::api
