//===- Recordings.cpp - Launches that a caller records --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CUDA/Recording.h"
#include "Api.h"

namespace gnnc::runtime::api {

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

} // namespace gnnc::runtime::api

gnnc_recording::~gnnc_recording() { device->destroyRecording(*this); }
