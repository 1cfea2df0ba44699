//===- SharedFiles.cpp - Files outside the repository -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedFiles.h"

#include "llvm/Support/FileSystem.h"

#include <cstdlib>

std::string gnnc::test::findSharedFile(const std::string &name) {
  const char *chosen = std::getenv("GNNC_SHARED");
  std::string folder = chosen ? chosen : GNNC_DEFAULT_SHARED;
  if (folder.empty() || !llvm::sys::fs::exists(folder + "/" + name))
    return "";
  return folder + "/" + name;
}
