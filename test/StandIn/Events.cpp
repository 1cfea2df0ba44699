//===- Events.cpp - Events of the stand-in driver -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is launched is done at once, so an event that was recorded has happened. A stream that waits for an event of a
// recording takes part in it; nodes are in the order of the calls.
//
//===----------------------------------------------------------------------===//

#include "State.h"

using namespace gnnc::standin;

extern "C" {

EXPORTED int cuEventCreate(void **event, unsigned) {
  Call call("cuEventCreate");
  if (!call.code)
    *event = make<Event>("events");
  return call.code;
}

EXPORTED int cuEventRecord(void *event, void *handle) {
  Call call("cuEventRecord");
  auto *stream = static_cast<Stream *>(handle);
  auto *of = static_cast<Event *>(event);
  of->captured = stream ? stream->captured : nullptr;
  of->stream = stream;
  return call.code;
}

EXPORTED int cuStreamWaitEvent(void *handle, void *event, unsigned) {
  Call call("cuStreamWaitEvent");
  auto *stream = static_cast<Stream *>(handle);
  const auto *of = static_cast<const Event *>(event);
  if (call.code || !of->captured)
    return call.code ? call.code : stream && stream->captured ? CaptureIsolation : Success;
  if (!stream)
    return CaptureIsolation;
  if (!stream->captured) {
    stream->captured = of->captured;
    stream->isOrigin = false;
    of->captured->joined.insert(stream);
  }
  // Everything that was on the other stream so far; what is there later is waited for by another call.
  if (stream->isOrigin)
    of->captured->unjoined.erase(of->stream);
  else
    of->captured->unjoined.insert(stream);
  return Success;
}

EXPORTED int cuEventQuery(void *) { return Call("cuEventQuery").code; }

EXPORTED int cuEventDestroy_v2(void *event) {
  Call call("cuEventDestroy_v2");
  return call.code ? call.code : destroy<Event>("events", event);
}

EXPORTED int cuStreamIsCapturing(void *stream, int *captured) {
  Call call("cuStreamIsCapturing");
  *captured = stream && static_cast<Stream *>(stream)->captured;
  return call.code;
}

} // extern "C"
