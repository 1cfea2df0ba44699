//===- Backend.cpp - What Triton calls ------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing is thrown across these functions.
//
//===----------------------------------------------------------------------===//

#include "Model.h"

using namespace gnnc::triton;

#define GNNC_EXPORT extern "C" __attribute__((visibility("default"))) TRITONSERVER_Error *

static Model *modelOf(TRITONBACKEND_Model *model) {
  void *state = nullptr;
  check(TRITONBACKEND_ModelState(model, &state));
  return static_cast<Model *>(state);
}

static Instance *instanceOf(TRITONBACKEND_ModelInstance *instance) {
  void *state = nullptr;
  check(TRITONBACKEND_ModelInstanceState(instance, &state));
  return static_cast<Instance *>(state);
}

GNNC_EXPORT TRITONBACKEND_Initialize(TRITONBACKEND_Backend *) {
  return guard([] {
    uint32_t major = 0, minor = 0;
    check(TRITONBACKEND_ApiVersion(&major, &minor));
    if (major != TRITONBACKEND_API_VERSION_MAJOR || minor < TRITONBACKEND_API_VERSION_MINOR)
      throw std::runtime_error(
          "the backend gnnc was built for version " + std::to_string(TRITONBACKEND_API_VERSION_MAJOR) + "." +
          std::to_string(TRITONBACKEND_API_VERSION_MINOR) + " of backends' interface, found " + std::to_string(major) +
          "." + std::to_string(minor) + ": build it with this server's headers (TRITON_CORE)");
  });
}

GNNC_EXPORT TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *model) {
  return guard([&] {
    auto made = std::make_unique<Model>(model);
    check(TRITONBACKEND_ModelSetState(model, made.get()));
    made.release();
  });
}

GNNC_EXPORT TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model *model) {
  return guard([&] { delete modelOf(model); });
}

GNNC_EXPORT TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance *instance) {
  return guard([&] {
    TRITONBACKEND_Model *model = nullptr;
    check(TRITONBACKEND_ModelInstanceModel(instance, &model));
    auto made = std::make_unique<Instance>(*modelOf(model), instance);
    check(TRITONBACKEND_ModelInstanceSetState(instance, made.get()));
    made.release();
  });
}

GNNC_EXPORT TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance *instance) {
  return guard([&] { delete instanceOf(instance); });
}

/// An error means that the requests are still the server's, which then answers them. What goes wrong with one of them
/// is in its response.
GNNC_EXPORT TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *instance, TRITONBACKEND_Request **requests,
                                               const uint32_t count) {
  return guard([&] { instanceOf(instance)->execute(requests, count); });
}
