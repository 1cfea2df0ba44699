//===- HostModule.cpp - Loads kernels that run on the host ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostModule.h"
#include "HostCompiler.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace gnnc::standin;

std::unique_ptr<HostModule> HostModule::load(const char *image, bool &failed) {
  failed = false;
  const char *code = memcmp(image, "\177ELF", 4) == 0 ? nullptr : strstr(image, kHostCode);
  if (!code)
    return nullptr;
  failed = true;
  size_t size = strtoull(code + strlen(kHostCode), nullptr, 10);
  code += strlen(code) + 1;
  std::unique_ptr<HostModule> module(new HostModule());
  // It stays open: the loader knows libraries by their names, and this one's is the file's number.
  module->file = memfd_create("gnnc-kernels", MFD_CLOEXEC);
  if (module->file < 0 || write(module->file, code, size) != ssize_t(size))
    return nullptr;
  std::string path = "/proc/self/fd/" + std::to_string(module->file);
  module->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module->library) {
    fprintf(stderr, "stand-in: %s\n", dlerror());
    return nullptr;
  }
  auto **emulator = static_cast<emulation::Emulator **>(dlsym(module->library, "emulator"));
  if (!emulator)
    return nullptr;
  *emulator = &emulatorOfDriver();
  failed = false;
  return module;
}

HostModule::~HostModule() {
  if (library)
    dlclose(library);
  if (file >= 0)
    close(file);
}

Kernel HostModule::find(const std::string &name) const {
  return reinterpret_cast<Kernel>(dlsym(library, ("emulated_" + name).c_str()));
}

char *HostModule::dynamicMemory() const {
  auto memory = reinterpret_cast<void *(*)()>(dlsym(library, "emulatedShared"));
  return static_cast<char *>(memory());
}

HostModule::Bytes HostModule::sharedMemory() const {
  struct Search {
    const void *base;
    Bytes found;
  };
  Dl_info info;
  dladdr(dlsym(library, "emulatedShared"), &info);
  dynamicMemory(); // So that this thread has it.
  Search search{info.dli_fbase, {}};
  auto look = [](dl_phdr_info *object, size_t, void *data) {
    auto &search = *static_cast<Search *>(data);
    if (reinterpret_cast<const void *>(object->dlpi_addr) != search.base)
      return 0;
    for (int i = 0; i < object->dlpi_phnum; ++i)
      if (object->dlpi_phdr[i].p_type == PT_TLS)
        search.found = {static_cast<char *>(object->dlpi_tls_data), object->dlpi_phdr[i].p_memsz};
    return 1;
  };
  dl_iterate_phdr(look, &search);
  return search.found;
}
