//===- Files.cpp - The files of a command line ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"

using namespace gnnc;

static llvm::Error checkPair(const NamedFile &output, const NamedFile &other) {
  namespace fs = llvm::sys::fs;
  bool written =
      !output.path.empty() && !other.path.empty() && (fs::is_regular_file(output.path) || !fs::exists(output.path));
  if (!written || (output.path != other.path && !fs::equivalent(output.path, other.path)))
    return llvm::Error::success();
  return llvm::createStringError("'" + output.path + "', written for " + output.option + ", would overwrite " +
                                 other.option + (output.path == other.path ? "" : " '" + other.path.str() + "'"));
}

llvm::Error gnnc::checkOverwriting(llvm::ArrayRef<NamedFile> outputs, llvm::ArrayRef<NamedFile> inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedFile &input : inputs)
      if (llvm::Error error = checkPair(outputs[i], input))
        return error;
    for (const NamedFile &before : outputs.take_front(i))
      if (llvm::Error error = checkPair(outputs[i], before))
        return error;
  }
  return llvm::Error::success();
}
