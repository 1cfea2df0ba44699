//===- InputFile.h - Files that are read as a whole -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_INPUTFILE_H
#define GNNC_SUPPORT_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace gnnc {

/// The bytes of a file, mapped where it is large, or of a pipe. Returns an error that names `path` if it cannot be
/// read, or is something else, such as a device without an end. No zero follows the bytes.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readInputFile(llvm::StringRef path);

} // namespace gnnc

#endif // GNNC_SUPPORT_INPUTFILE_H
