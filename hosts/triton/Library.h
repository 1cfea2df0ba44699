//===- Library.h - A loaded model.so ----------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_LIBRARY_H
#define GNNC_HOSTS_TRITON_LIBRARY_H

#include "gnnc-c/gnnc.h"

#include <string>

namespace gnnc::triton {

/// Throws std::runtime_error with the message of a call that failed.
void check(gnnc_status status, const gnnc_error &error);

/// Loads a copy of the file, in memory, so that the file may be overwritten while a server runs the model, and so that
/// what is loaded next from the same place is the new one. Unloads it at the end; contexts must be closed by then.
class Library {
public:
  explicit Library(const std::string &path);
  ~Library();
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  const gnnc_api &api() const { return *functions; }
  std::string description() const;

private:
  int copy = -1;
  void *handle = nullptr;
  const gnnc_api *functions = nullptr;
};

/// An opened model on one device, with a stream of its own on a GPU.
class Context {
public:
  /// `device`: -1 is the CPU, others are CUDA devices.
  Context(const Library &library, int device, int threads);
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const gnnc_api &api() const { return library.api(); }
  gnnc_context *get() const { return opened; }
  void *stream() const { return queue; }
  bool isDevice() const { return onDevice; }
  int device() const { return number; }
  /// Either may be memory of the host or of the device; waits for nothing.
  void copy(void *to, bool toDevice, const void *from, bool fromDevice, size_t bytes) const;
  void synchronize() const;

private:
  const Library &library;
  bool onDevice;
  int number;
  gnnc_context *opened = nullptr;
  void *queue = nullptr;
};

/// Memory of a context that grows when more is wanted, and is kept.
class Memory {
public:
  explicit Memory(const Context &context) : context(context) {}
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  /// At least so many bytes; what was in it is lost. Nothing may be using it.
  void *reserve(size_t bytes);
  size_t capacity() const { return size; }

private:
  const Context &context;
  void *memory = nullptr;
  size_t size = 0;
};

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_LIBRARY_H
