//===- OutputFile.h - Files that are never half-written ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_OUTPUTFILE_H
#define GNNC_SUPPORT_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace gnnc {

/// Checks whether writing could begin now, for callers that would otherwise lose hours of work at the end. Changes
/// nothing.
llvm::Error checkOutputFile(llvm::StringRef path);

/// A file that is complete beside the one whose place it will take; without `keep` it is gone again. So several files
/// can be written together or not at all, but for what fails when they are renamed.
class PendingFile {
public:
  /// Writes as `writeOutputFile` does, but for the last step. What is not a regular file is written directly.
  static llvm::Expected<PendingFile> write(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);
  PendingFile(PendingFile &&);
  ~PendingFile();
  llvm::Error keep();

private:
  friend llvm::Error checkOutputFile(llvm::StringRef path);
  PendingFile();
  struct Target;
  std::string path;
  std::unique_ptr<Target> target; ///< null: nothing is left to do
};

/// Writes `path` through a temporary file next to it, which is renamed once it is complete, so that a reader sees
/// either the old file or the new one. The new file has the mode of the old one. A symbolic link stays one: the file
/// that it names is written, and made if it does not exist. What is not a regular file (a pipe, /dev/null) is written
/// directly.
llvm::Error writeOutputFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

/// The same for bytes in memory.
llvm::Error writeOutputFile(llvm::StringRef path, llvm::StringRef bytes);

} // namespace gnnc

#endif // GNNC_SUPPORT_OUTPUTFILE_H
