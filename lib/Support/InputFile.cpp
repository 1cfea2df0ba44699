//===- InputFile.cpp - Files that are read as a whole ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/InputFile.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> gnnc::readInputFile(llvm::StringRef path) {
  namespace fs = llvm::sys::fs;
  auto cannotRead = [&](std::error_code code) {
    return llvm::createStringError(code, "cannot read '" + path + "': " + code.message());
  };
  fs::file_status status;
  if (std::error_code code = fs::status(path, status))
    return cannotRead(code);
  if (fs::is_directory(status))
    return cannotRead(std::make_error_code(std::errc::is_a_directory));
  if (!fs::is_regular_file(status) && status.type() != fs::file_type::fifo_file)
    return llvm::createStringError("cannot read '" + path + "': expected a file, found a device or a socket");
  auto bytes = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes)
    return cannotRead(bytes.getError());
  return std::move(*bytes);
}
