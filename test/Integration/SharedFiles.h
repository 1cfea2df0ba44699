//===- SharedFiles.h - Files outside the repository ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_SHAREDFILES_H
#define GNNC_TEST_INTEGRATION_SHAREDFILES_H

#include <string>

namespace gnnc::test {

/// A file of the folder that the environment variable GNNC_SHARED names, or else the CMake variable of that name; empty
/// where neither does or the folder lacks it.
std::string findSharedFile(const std::string &name);

} // namespace gnnc::test

/// Skips a test whose file `findSharedFile` did not find.
#define GNNC_SKIP_WITHOUT(path, name)                                                                                  \
  if ((path).empty())                                                                                                  \
  GTEST_SKIP() << "no " << (name) << ": set GNNC_SHARED to the folder that has it"

#endif // GNNC_TEST_INTEGRATION_SHAREDFILES_H
