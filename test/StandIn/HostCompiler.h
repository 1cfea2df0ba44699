//===- HostCompiler.h - Kernels as code for the host ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_STANDIN_HOSTCOMPILER_H
#define GNNC_TEST_STANDIN_HOSTCOMPILER_H

#include <string>
#include <utility>
#include <vector>

namespace gnnc::standin {

/// Before the code in an image; then its size, an end of line and a zero.
constexpr const char kHostCode[] = "code for the host: ";

/// What NVRTC is given.
struct KernelText {
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers; ///< name, text
  bool hasWarpgroups = false;                               ///< for sm_90a
};

/// As a shared object for the emulator (Emulation/Emulator.h), with what an image says before it. False: `log` says
/// why.
bool compileForHost(const KernelText &text, std::string &image, std::string &log);

} // namespace gnnc::standin

#endif // GNNC_TEST_STANDIN_HOSTCOMPILER_H
