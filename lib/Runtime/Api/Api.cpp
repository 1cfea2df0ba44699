//===- Api.cpp - The functions that a model exports -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"

namespace gnnc::runtime::api {

static constexpr gnnc_api kFunctions = {
    GNNC_ABI_VERSION, sizeof(gnnc_api), describe,      open,          close,         prepare,
    freeGraph,        extent,           graphBytes,    workspaceSize, run,           allocateMemory,
    releaseMemory,    copyMemory,       synchronize,   createStream,  destroyStream, beginRecording,
    endRecording,     replay,           freeRecording, update,        describeGraph, embedded,
    preparePart,      makeCallOf,       runCall,       freeCall};

} // namespace gnnc::runtime::api

extern "C" __attribute__((visibility("default"))) const gnnc_api *gnnc_model() {
  return &gnnc::runtime::api::kFunctions;
}
