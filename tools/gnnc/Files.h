//===- Files.h - The files of a command line --------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_FILES_H
#define GNNC_TOOLS_GNNC_FILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace gnnc {

/// A file and what the command line calls it.
struct NamedFile {
  llvm::StringRef option, path; ///< empty path: not given
};

/// An error where writing an output would overwrite an input, or another output.
llvm::Error checkOverwriting(llvm::ArrayRef<NamedFile> outputs, llvm::ArrayRef<NamedFile> inputs);

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_FILES_H
