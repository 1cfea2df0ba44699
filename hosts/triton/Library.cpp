//===- Library.cpp - A loaded model.so ------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Library.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace gnnc::triton;

void gnnc::triton::check(gnnc_status status, const gnnc_error &error) {
  if (status != GNNC_OK)
    throw std::runtime_error(error.message);
}

/// A file in memory with the same contents.
static int copyFile(const std::string &path) {
  auto fail = [&] { throw std::runtime_error("cannot read '" + path + "': " + std::strerror(errno)); };
  int from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0)
    fail();
  int to = memfd_create("gnnc-model", MFD_CLOEXEC);
  char block[1 << 16];
  ssize_t found = 0;
  bool failed = to < 0;
  while (!failed && (found = read(from, block, sizeof block)) > 0)
    for (ssize_t done = 0; done < found && !failed;) {
      ssize_t written = write(to, block + done, static_cast<size_t>(found - done));
      failed = written < 0;
      done += written;
    }
  failed |= found < 0;
  int reason = errno;
  close(from);
  if (failed) {
    if (to >= 0)
      close(to);
    errno = reason;
    fail();
  }
  return to;
}

Library::Library(const std::string &path) : copy(copyFile(path)) {
  // The file stays open as long as the library is loaded: its name would otherwise come to mean another one, and the
  // loader goes by names.
  std::string name = "/proc/self/fd/" + std::to_string(copy);
  handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string reason = handle ? "" : dlerror();
  auto model = handle ? reinterpret_cast<gnnc_model_function>(dlsym(handle, "gnnc_model")) : nullptr;
  functions = model ? model() : nullptr;
  if (functions && functions->abi_version == GNNC_ABI_VERSION)
    return;
  if (size_t at = reason.find(name); at != std::string::npos)
    reason.replace(at, name.size(), path);
  std::string what = !handle      ? "cannot load the model: " + reason
                     : !functions ? "'" + path + "' is not a model compiled by gnnc"
                                  : "'" + path + "': expected version " + std::to_string(GNNC_ABI_VERSION) +
                                        " of the C interface, found " + std::to_string(functions->abi_version);
  if (handle)
    dlclose(handle);
  close(copy);
  throw std::runtime_error(what);
}

Library::~Library() {
  dlclose(handle);
  close(copy);
}

std::string Library::description() const {
  size_t length = 0;
  const char *text = functions->describe(&length);
  return std::string(text, length);
}

Context::Context(const Library &library, int device, int threads)
    : library(library), onDevice(device >= 0), number(device) {
  gnnc_options options = {};
  options.struct_size = sizeof options;
  options.threads = threads;
  options.device_type = onDevice ? 2 : 1;
  options.device_id = onDevice ? device : 0;
  gnnc_error error;
  check(api().open(&options, &opened, &error), error);
  if (!onDevice)
    return;
  if (gnnc_status status = api().create_stream(opened, &queue, &error); status != GNNC_OK) {
    api().close(opened);
    check(status, error);
  }
}

Context::~Context() {
  api().destroy_stream(opened, queue);
  api().close(opened);
}

void Context::copy(void *to, bool toDevice, const void *from, bool fromDevice, size_t bytes) const {
  if (bytes == 0)
    return;
  if (!toDevice && !fromDevice) {
    std::memcpy(to, from, bytes);
    return;
  }
  gnnc_error error;
  check(api().copy(opened, to, toDevice ? 2 : 1, from, fromDevice ? 2 : 1, bytes, queue, &error), error);
}

void Context::synchronize() const {
  gnnc_error error;
  if (onDevice)
    check(api().synchronize(opened, queue, &error), error);
}

Memory::~Memory() { context.api().release(context.get(), memory); }

void *Memory::reserve(size_t bytes) {
  if (bytes <= size)
    return memory;
  context.api().release(context.get(), memory);
  memory = nullptr;
  size = 0;
  // Half as much again, since the next graph may be a little larger.
  size_t wanted = bytes + bytes / 2;
  gnnc_error error;
  if (context.api().allocate(context.get(), wanted, &memory, &error) != GNNC_OK) {
    wanted = bytes;
    check(context.api().allocate(context.get(), wanted, &memory, &error), error);
  }
  size = wanted;
  return memory;
}
