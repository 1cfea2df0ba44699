//===- HostModule.h - Kernels that run on the host --------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_STANDIN_HOSTMODULE_H
#define GNNC_TEST_STANDIN_HOSTMODULE_H

#include "Emulation/Emulator.h"
#include <memory>
#include <string>

namespace gnnc::standin {

/// A kernel by one thread.
using Kernel = void (*)(const char *arguments);

/// The code for the host of a module's image, loaded.
class HostModule {
public:
  /// Null where the image has none. `failed`: it has some, which cannot be loaded.
  static std::unique_ptr<HostModule> load(const char *image, bool &failed);
  ~HostModule();
  HostModule(const HostModule &) = delete;

  /// Null: there is no such kernel.
  Kernel find(const std::string &name) const;

  struct Bytes {
    char *begin;
    size_t size;
  };
  /// All shared memory of the calling thread, and in it what is dynamic.
  Bytes sharedMemory() const;
  char *dynamicMemory() const;

private:
  HostModule() = default;
  int file = -1;
  void *library = nullptr;
};

/// A launch: blocks, threads of a block, its shared memory and its arguments.
struct Grid {
  std::string name;
  emulation::Place blocks;
  unsigned threads, sharedBytes;
  std::string arguments;
};

/// Runs all blocks, one after the other, the threads of a block by turns. False: a fault, of which `fault` is told.
bool runGrid(const HostModule &module, Kernel kernel, const Grid &grid, std::string &fault);

/// The driver's one, which every module is told.
emulation::Emulator &emulatorOfDriver();

} // namespace gnnc::standin

#endif // GNNC_TEST_STANDIN_HOSTMODULE_H
