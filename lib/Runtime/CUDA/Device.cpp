//===- Device.cpp - A model on a GPU --------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

namespace gnnc::runtime::cuda {

using namespace table;

Current::Current(const Device &device) : driver(device.driver) { driver.pushContext(device.context); }

Current::~Current() {
  Handle ignored;
  driver.popContext(&ignored);
}

Device::~Device() {
  if (context) {
    if (module) {
      Current current(*this);
      driver.unloadModule(module);
    }
    driver.releaseContext(device);
  }
}

gnnc_status Device::open(const Model &model, int32_t ordinal, gnnc_error *error) {
  constexpr int kProcessors = 16, kMajor = 75, kMinor = 76; // CUdevice_attribute
  int count = 0;
  if (int code = driver.deviceCount(&count))
    return driverError(driver, code, "cannot count the GPUs", error);
  if (ordinal < 0 || ordinal >= count)
    return fail(error, GNNC_UNSUPPORTED, "expected a CUDA device from 0 to %d, found %d", count - 1, ordinal);
  int major = 0, minor = 0, processors = 0, code = driver.deviceGet(&device, ordinal);
  if (!code)
    code = driver.deviceAttribute(&major, kMajor, device);
  if (!code)
    code = driver.deviceAttribute(&minor, kMinor, device);
  if (!code)
    code = driver.deviceAttribute(&processors, kProcessors, device);
  if (!code)
    code = driver.deviceName(name, sizeof name, device);
  if (!code)
    code = driver.retainContext(&context, device);
  if (code) {
    context = nullptr;
    return driverError(driver, code, "cannot open the GPU", error);
  }
  architecture = 10 * major + minor;
  numProcessors = processors;
  return loadImage(model, error);
}

/// Machine code runs on its own architecture and later ones of the same generation; PTX on all later ones.
gnnc_status Device::loadImage(const Model &model, gnnc_error *error) {
  const Header &header = model.header();
  const DeviceImage *best = nullptr;
  for (int64_t i = 0; i < header.numImages; ++i) {
    const DeviceImage &image = model.images[i];
    bool runs = image.architecture <= architecture && (image.isPTX || image.architecture / 10 == architecture / 10);
    if (runs && (!best || (best->isPTX && !image.isPTX) ||
                 (best->isPTX == image.isPTX && image.architecture > best->architecture)))
      best = &image;
  }
  if (!best) {
    Text have;
    for (int64_t i = 0; i < header.numImages; ++i)
      have.add("%s%s%lld", i ? ", " : "", model.images[i].isPTX ? "PTX for sm_" : "sm_",
               static_cast<long long>(model.images[i].architecture));
    return fail(error, GNNC_UNSUPPORTED, "no code for this GPU (%s, sm_%d): the model has %s", name, architecture,
                header.numImages ? have.c_str() : "none for GPUs; compile it with --target=cuda");
  }
  functions = memory.array<Handle>(header.numLaunches);
  if (!functions)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the list of kernels");
  Current current(*this);
  if (int code = driver.loadModule(&module, best->data, 0, nullptr, nullptr)) {
    module = nullptr;
    return driverError(driver, code, "cannot load the model's kernels", error);
  }
  for (int64_t i = 0; i < header.numLaunches; ++i)
    if (int code = driver.getFunction(&functions[i], module, model.name(model.launch(i).kernel)))
      return driverError(driver, code, model.name(model.launch(i).kernel), error);
  return GNNC_OK;
}

gnnc_status Device::allocate(int64_t bytes, Address &result, gnnc_error *error) const {
  result = 0;
  if (bytes <= 0)
    return GNNC_OK;
  Current current(*this);
  if (int code = driver.allocate(&result, static_cast<size_t>(bytes))) {
    Text what;
    what.add("cannot allocate %lld bytes on the GPU", static_cast<long long>(bytes));
    return driverError(driver, code, what.c_str(), error);
  }
  return GNNC_OK;
}

void Device::release(Address address) const {
  if (!address)
    return;
  Current current(*this);
  driver.release(address);
}

gnnc_status Device::copy(void *to, bool toDevice, const void *from, bool fromDevice, size_t bytes, Handle stream,
                         gnnc_error *error) const {
  if (bytes == 0)
    return GNNC_OK;
  Current current(*this);
  Address target = reinterpret_cast<Address>(to), source = reinterpret_cast<Address>(from);
  int code = toDevice && fromDevice ? driver.copyOnDevice(target, source, bytes, stream)
             : toDevice             ? driver.copyToDevice(target, from, bytes, stream)
                                    : driver.copyToHost(to, source, bytes, stream);
  return code ? driverError(driver, code, "cannot copy to or from the GPU", error) : GNNC_OK;
}

gnnc_status Device::synchronize(Handle stream, gnnc_error *error) const {
  Current current(*this);
  int code = driver.synchronize(stream);
  return code ? driverError(driver, code, "a kernel failed", error) : GNNC_OK;
}

} // namespace gnnc::runtime::cuda
