//===- Events.cpp - Events of the stand-in driver -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is launched is done at once, so an event that was recorded has happened.
//
//===----------------------------------------------------------------------===//

#include "State.h"

using namespace gnnc::standin;

namespace {
struct Event {};
} // namespace

extern "C" {

EXPORTED int cuEventCreate(void **event, unsigned) {
  Call call("cuEventCreate");
  if (!call.code)
    *event = make<Event>("events");
  return call.code;
}

EXPORTED int cuEventRecord(void *, void *) { return Call("cuEventRecord").code; }

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
