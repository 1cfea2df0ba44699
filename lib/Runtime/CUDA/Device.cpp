//===- Device.cpp - A model on a GPU --------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "../Tuning.h"
#include "Recording.h"

namespace gnnc::runtime::cuda {

using namespace table;

Current::Current(const Device &device) : driver(device.driver) { driver.pushContext(device.context); }

Current::~Current() {
  Handle ignored;
  driver.popContext(&ignored);
}

Device::~Device() {
  if (!context)
    return;
  {
    Current current(*this);
    if (modelValues)
      driver.release(modelValues);
    releasePiece();
    if (preparing)
      driver.destroyStream(preparing);
    if (page)
      driver.releaseHost(page);
    if (pool)
      driver.destroyPool(pool);
    for (int64_t i = 0; i < numModules; ++i)
      driver.unloadModule(modules[i]);
    if (preparation)
      driver.unloadModule(preparation);
  }
  // Abandoned recordings.
  while (Recorder *left = recorders) {
    recorders = left->next;
    destroy(left, memory.getAllocator());
  }
  driver.releaseContext(device);
}

void Device::giveBack() {
  if (__atomic_sub_fetch(&owners, 1, __ATOMIC_ACQ_REL) == 0)
    destroy(this, gnnc_allocator(memory.getAllocator()));
}

void Device::plan() { numProcessors = kPlannedProcessors; }

int64_t Device::tunedAs() const { return isPlanned() ? kAnyGPU : architecture; }

gnnc_status Device::open(const Model &model, int32_t ordinal, const gnnc_device_allocator *allocator,
                         gnnc_error *error) {
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
  preparationImages = model.preparationImages;
  numPreparationImages = model.header().numPreparationImages;
  if (allocator)
    deviceAllocator = *allocator;
  if (gnnc_status status = makePool(error))
    return status;
  if (gnnc_status status = loadValues(model, error))
    return status;
  return loadKernels(model, error);
}

gnnc_status Device::loadValues(const Model &model, gnnc_error *error) {
  int64_t bytes = model.header().valuesBytes;
  if (bytes == 0)
    return GNNC_OK;
  if (gnnc_status status = allocate(bytes, modelValues, error))
    return status;
  Handle stream = nullptr;
  if (gnnc_status status = createStream(stream, error))
    return status;
  gnnc_status status =
      copy(reinterpret_cast<void *>(modelValues), true, model.values, false, static_cast<size_t>(bytes), stream, error);
  if (!status)
    status = synchronize(stream, error);
  destroyStream(stream);
  return status;
}

gnnc_status Device::streamFor(void *given, Handle &stream, gnnc_error *error) const {
  constexpr unsigned kApart = 1; // CU_STREAM_NON_BLOCKING
  stream = given;
  if (given)
    return GNNC_OK;
  pthread_mutex_lock(&preparationLock);
  Current current(*this);
  int code = preparing ? 0 : driver.createStream(&preparing, kApart);
  stream = preparing;
  pthread_mutex_unlock(&preparationLock);
  return code ? driverError(driver, code, "cannot create a stream for preparing graphs", error) : GNNC_OK;
}

gnnc_status Device::makePool(gnnc_error *error) {
  constexpr int kThreshold = 4; // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
  // CUmemPoolProps: pinned memory of the device.
  struct {
    int allocation = 1, handles = 0, location = 1, id = 0;
    void *security = nullptr;
    size_t most = 0;
    unsigned char reserved[56] = {};
  } properties;
  static_assert(sizeof properties == 88);
  properties.id = device;
  Current current(*this);
  size_t free = 0, total = 0;
  int code = driver.allocateHost(&page, static_cast<size_t>(kPageBytes), 0);
  if (!code && deviceAllocator.allocate)
    return GNNC_OK;
  if (!code)
    code = driver.createPool(&pool, &properties);
  if (!code)
    code = driver.memoryInfo(&free, &total);
  unsigned long long kept = total / 16;
  if (!code)
    code = driver.setPoolAttribute(pool, kThreshold, &kept);
  return code ? driverError(driver, code, "cannot make ready for preparing graphs on the GPU", error) : GNNC_OK;
}

/// Machine code runs on its own architecture and later ones of the same generation; PTX on all later ones.
const DeviceImage *Device::findImage(const DeviceImage *images, int64_t count, gnnc_error *error) const {
  const DeviceImage *best = nullptr;
  for (int64_t i = 0; i < count; ++i) {
    const DeviceImage &image = images[i];
    bool runs = image.architecture <= architecture && (image.isPTX || image.architecture / 10 == architecture / 10);
    if (runs && (!best || (best->isPTX && !image.isPTX) ||
                 (best->isPTX == image.isPTX && image.architecture > best->architecture)))
      best = &image;
  }
  if (!best) {
    Text have;
    for (int64_t i = 0; i < count; ++i)
      // The parts of a model's kernels are of the same kind.
      if (i == 0 || images[i].architecture != images[i - 1].architecture || images[i].isPTX != images[i - 1].isPTX)
        have.add("%s%s%lld", i ? ", " : "", images[i].isPTX ? "PTX for sm_" : "sm_",
                 static_cast<long long>(images[i].architecture));
    fail(error, GNNC_UNSUPPORTED, "no code for this GPU (%s, sm_%d): the model has %s", name, architecture,
         count ? have.c_str() : "none for GPUs; compile it with --target=cuda");
  }
  return best;
}

gnnc_status Device::loadImage(const DeviceImage &image, Handle &result, gnnc_error *error) const {
  if (int code = driver.loadModule(&result, image.data, 0, nullptr, nullptr)) {
    result = nullptr;
    return driverError(driver, code, "cannot load the model's kernels", error);
  }
  return GNNC_OK;
}

gnnc_status Device::loadKernels(const Model &model, gnnc_error *error) {
  const Header &header = model.header();
  functions = memory.array<Handle>(header.numLaunches);
  modules = memory.array<Handle>(header.numImages);
  if (!functions || !modules)
    return fail(error, GNNC_OUT_OF_MEMORY, "out of memory for the list of kernels");
  Current current(*this);
  const DeviceImage *best = findImage(model.images, header.numImages, error), *end = model.images + header.numImages;
  if (!best)
    return GNNC_UNSUPPORTED;
  codeFor = best->isPTX ? 0 : best->architecture;
  for (const DeviceImage *image = best; image != end; ++image)
    if (image->architecture == best->architecture && image->isPTX == best->isPTX) {
      if (gnnc_status status = loadImage(*image, modules[numModules], error))
        return status;
      ++numModules;
    }
  constexpr int kMostDynamicShared = 8;  // CUfunction_attribute
  constexpr int kMostSharedInBlock = 97; // CUdevice_attribute
  int most = 0;
  if (int code = driver.deviceAttribute(&most, kMostSharedInBlock, device))
    return driverError(driver, code, "cannot open the GPU", error);
  for (int64_t i = 0; i < header.numLaunches; ++i) {
    const LaunchRec &launch = model.launch(i);
    functions[i] = nullptr;
    if (!has(launch))
      continue;
    int code = driver.getFunction(&functions[i], modules[launch.image], model.name(launch.kernel));
    // Above 48 KiB, what the kernel has besides counted in, it must be asked for.
    if (!code && launch.sharedBytes > 0)
      code = driver.setFunctionAttribute(functions[i], kMostDynamicShared, static_cast<int>(launch.sharedBytes));
    if (code && launch.sharedBytes > most)
      return fail(error, GNNC_UNSUPPORTED,
                  "kernel %s needs %lld bytes of shared memory in a block, and this GPU (%s, sm_%d) has %d: try "
                  "--arch=sm_%d",
                  model.name(launch.kernel), static_cast<long long>(launch.sharedBytes), name, architecture, most,
                  architecture);
    if (code)
      return driverError(driver, code, model.name(launch.kernel), error);
  }
  return GNNC_OK;
}

gnnc_status Device::allocate(int64_t bytes, Address &result, gnnc_error *error) const {
  result = 0;
  if (bytes <= 0)
    return GNNC_OK;
  Current current(*this);
  if (int code = driver.allocate(&result, static_cast<size_t>(bytes))) {
    // Preparing graphs may have kept some.
    releasePiece();
    if (!pool || driver.trimPool(pool, 0) || driver.allocate(&result, static_cast<size_t>(bytes)))
      return cannotAllocate(code, bytes, error);
  }
  return GNNC_OK;
}

gnnc_status Device::cannotAllocate(int code, int64_t bytes, gnnc_error *error) const {
  size_t free = 0, total = 0;
  driver.memoryInfo(&free, &total);
  Text what;
  what.add("cannot allocate %lld bytes on the GPU, which has %zu of %zu bytes free", static_cast<long long>(bytes),
           free, total);
  return driverError(driver, code, what.c_str(), error);
}

/// Nothing uses it any longer.
void Device::releasePiece() const {
  if (Address kept = __atomic_exchange_n(&piece, 0, __ATOMIC_ACQUIRE))
    driver.release(kept);
}

gnnc_status Device::allocateOrdered(int64_t bytes, Handle stream, Address &result, gnnc_error *error) const {
  Current current(*this);
  if (!deviceAllocator.allocate) {
    auto allocate = [&] { return driver.allocateOrdered(&result, static_cast<size_t>(bytes), pool, stream); };
    int code = allocate();
    if (code && error) {
      releasePiece();
      code = driver.trimPool(pool, 0) || allocate() ? code : 0;
    }
    return code ? cannotAllocate(code, bytes, error) : GNNC_OK;
  }
  void *memory = deviceAllocator.allocate(static_cast<size_t>(bytes), stream, deviceAllocator.user);
  result = reinterpret_cast<Address>(memory);
  if (memory && result % kDeviceAlignment == 0)
    return GNNC_OK;
  result = 0;
  if (!memory)
    return fail(error, GNNC_OUT_OF_MEMORY, "the caller's allocator has no %lld bytes of the GPU's memory",
                static_cast<long long>(bytes));
  deviceAllocator.release(memory, static_cast<size_t>(bytes), stream, deviceAllocator.user);
  return fail(error, GNNC_INVALID_ARGUMENT, "the caller's allocator: expected an address that %d divides, found %p",
              static_cast<int>(kDeviceAlignment), memory);
}

void Device::releaseOrdered(Address address, int64_t bytes, Handle stream) const {
  Current current(*this);
  if (deviceAllocator.release)
    deviceAllocator.release(reinterpret_cast<void *>(address), static_cast<size_t>(bytes), stream,
                            deviceAllocator.user);
  else
    driver.releaseOrdered(address, stream);
}

void Device::releaseIdle(Address address, int64_t bytes, Handle stream) const {
  if (deviceAllocator.release || stream == preparing)
    return releaseOrdered(address, bytes, stream);
  release(address);
}

gnnc_status Device::takePiece(Handle stream, Address &taken, gnnc_error *error) const {
  taken = pool ? __atomic_exchange_n(&piece, 0, __ATOMIC_ACQUIRE) : 0;
  return taken ? GNNC_OK : allocateOrdered(kPieceBytes, stream, taken, error);
}

void Device::givePiece(Address taken, Handle stream) const {
  Address none = 0;
  if (!pool || !__atomic_compare_exchange_n(&piece, &none, taken, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    releaseOrdered(taken, kPieceBytes, stream);
}

gnnc_status Device::fill(Address words, int64_t count, uint32_t word, Handle stream, gnnc_error *error) const {
  Current current(*this);
  int code = driver.fillWords(words, word, static_cast<size_t>(count), stream);
  return code ? driverError(driver, code, "cannot fill memory of the GPU", error) : GNNC_OK;
}

/// Null: of a part that the model does not have.
static const char *preparationKernel(int64_t number) {
  const char *(*ofChoices)(int64_t) = choiceKernel;
  return number < kNumPreparationKernels ? kPreparationKernels[number]
         : ofChoices                     ? ofChoices(number - kNumPreparationKernels)
                                         : nullptr;
}

gnnc_status Device::loadPreparation(gnnc_error *error) const {
  pthread_mutex_lock(&preparationLock);
  Current current(*this);
  gnnc_status status = GNNC_OK;
  if (!preparation) {
    const DeviceImage *image = findImage(preparationImages, numPreparationImages, error);
    status = image ? loadImage(*image, preparation, error) : GNNC_UNSUPPORTED;
  }
  for (int64_t i = 0; !status && i < kNumKernels; ++i)
    if (const char *name = preparationKernel(i); name && !preparationKernels[i])
      if (int code = driver.getFunction(&preparationKernels[i], preparation, name))
        status = driverError(driver, code, name, error);
  pthread_mutex_unlock(&preparationLock);
  return status;
}

gnnc_status Device::launchPreparation(int64_t kernel, int64_t blocks, int64_t threads, int64_t *words, int64_t count,
                                      Handle stream, gnnc_error *error) const {
  Current current(*this);
  // CU_LAUNCH_PARAM_BUFFER_POINTER, ..._SIZE, ..._END
  size_t size = static_cast<size_t>(count) * sizeof(int64_t);
  void *extra[] = {reinterpret_cast<void *>(1), words, reinterpret_cast<void *>(2), &size, nullptr};
  int code = driver.launch(preparationKernels[kernel], static_cast<unsigned>(blocks), 1, 1,
                           static_cast<unsigned>(threads), 1, 1, 0, stream, nullptr, extra);
  return code ? driverError(driver, code, preparationKernel(kernel), error) : GNNC_OK;
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

gnnc_status Device::createStream(Handle &stream, gnnc_error *error) const {
  constexpr unsigned kInOrderWithDefault = 0; // CU_STREAM_DEFAULT
  Current current(*this);
  int code = driver.createStream(&stream, kInOrderWithDefault);
  return code ? driverError(driver, code, "cannot create a stream", error) : GNNC_OK;
}

void Device::destroyStream(Handle stream) const {
  Current current(*this);
  driver.destroyStream(stream);
}

} // namespace gnnc::runtime::cuda
