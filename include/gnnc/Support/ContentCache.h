//===- ContentCache.h - Compiled kernels by content -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files in $XDG_CACHE_HOME/gnnc (or ~/.cache/gnnc). What was not read for a week is removed, and the least recently
// read where all of it is more than a gibibyte. Several processes may use it at once.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_CONTENTCACHE_H
#define GNNC_SUPPORT_CONTENTCACHE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace gnnc {

/// One entry, named by a hash of everything it was made from. A cache that cannot be read or written is an empty one.
class ContentCache {
public:
  explicit ContentCache(llvm::StringRef key);

  bool read(std::string &bytes) const;
  /// Readers see no file or a whole one.
  void write(llvm::StringRef bytes) const;

private:
  std::string path; ///< empty: there is no folder for caches
};

/// What tells a build of the file at `path` from others, as releases that differ in a patch say the same version: its
/// size and time. Empty if there is no such file.
std::string identityOfFile(llvm::StringRef path);

/// The same of the library or program that `symbol` is of.
std::string identityOfCode(const void *symbol);

} // namespace gnnc

#endif // GNNC_SUPPORT_CONTENTCACHE_H
