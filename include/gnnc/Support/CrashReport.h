//===- CrashReport.h - What a tool says when it crashes ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_CRASHREPORT_H
#define GNNC_SUPPORT_CRASHREPORT_H

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace gnnc {

/// For the first line of a tool's `main`: libraries leave signals to the program that they are part of.
///
/// From then on a crash (a fatal signal, std::terminate, LLVM's fatal errors) prints a stack trace and, as the last
/// line, that this is a bug in gnnc and what to report: the version and the command. Files that LLVM was told to remove
/// on signals are removed, those of writeOutputFile among them, and the process ends by the signal, so that it may
/// leave a core dump. Lack of memory is one line that says so, exit status 1. Writing beyond the limit on file sizes
/// fails like any other writing, instead of ending the process (SIGXFSZ).
///
/// `tool`: the program's name; `version`: what identifies this build, on one line.
void installCrashReport(llvm::StringRef tool, llvm::StringRef version, int argc, const char *const *argv);

/// Lets a crash be reported that was caused by running out of this thread's stack; the main thread has such memory from
/// installCrashReport. Without that, or where the thread has it already, this does nothing.
class CrashStack {
public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack &) = delete;
  CrashStack &operator=(const CrashStack &) = delete;

private:
  std::unique_ptr<char[]> memory; ///< null: nothing was done
};

} // namespace gnnc

#endif // GNNC_SUPPORT_CRASHREPORT_H
