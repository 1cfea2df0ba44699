//===- KernelCache.h - Compiled kernels by content --------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_KERNELCACHE_H
#define GNNC_LIB_TARGET_CUDA_KERNELCACHE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace gnnc::cuda {

/// One entry, named by a hash of everything it was made from. A cache that cannot be read or written is an empty one.
class KernelCache {
public:
  explicit KernelCache(llvm::StringRef key);

  bool read(std::string &bytes) const;
  /// Readers see no file or a whole one.
  void write(llvm::StringRef bytes) const;

private:
  std::string path; ///< empty: there is no folder for caches
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_KERNELCACHE_H
