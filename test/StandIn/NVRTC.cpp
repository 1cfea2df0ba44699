//===- NVRTC.cpp - A stand-in for NVIDIA's run-time compiler --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives images that only the stand-in of the driver takes, so that what the runtime does with them can be tested where
// there is no NVRTC. Whether kernels compile it cannot say. Its version is 0.0: nothing of it is taken for the real
// one's from the cache of kernels. Like the real one it needs a second library, which it looks for by name alone.
//
// With STAND_IN_EMULATES an image holds the kernels' code for the host as well (HostCompiler.h), and the version is
// 0.1.
//
//===----------------------------------------------------------------------===//

#include "HostCompiler.h"
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <string>

namespace {

#ifdef STAND_IN_EMULATES
constexpr int kMinor = 1;
#else
constexpr int kMinor = 0;
#endif

struct Program {
  gnnc::standin::KernelText text;
  std::string architecture, hostCode, log;
  std::string ptx() const { return ".version 8.0\n.target " + architecture + "\n" + hostCode; }
  std::string code() const { return "machine code for " + architecture + "\n" + hostCode; }
};

} // namespace

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

EXPORTED int nvrtcVersion(int *major, int *minor) {
  *major = 0;
  *minor = kMinor;
  return 0;
}

EXPORTED const char *nvrtcGetErrorString(int) { return "an error of the stand-in"; }

EXPORTED int nvrtcCreateProgram(Program **program, const char *text, const char *, int count,
                                const char *const *headers, const char *const *names) {
  *program = new Program();
  (*program)->text.text = text;
  for (int i = 0; i < count; ++i)
    (*program)->text.headers.emplace_back(names[i], headers[i]);
  return 0;
}

EXPORTED int nvrtcDestroyProgram(Program **program) {
  delete *program;
  *program = nullptr;
  return 0;
}

EXPORTED int nvrtcCompileProgram(Program *program, int count, const char *const *options) {
  constexpr int kCompilation = 6, kBuiltinFailure = 7; // NVRTC_ERROR_...
  if (kMinor == 0 && !dlopen("libnvrtc-builtins.so.0.0", RTLD_NOW | RTLD_LOCAL))
    return kBuiltinFailure;
  for (int i = 0; i < count; ++i)
    if (const char *number = strchr(options[i], '_'); strncmp(options[i], "--gpu-architecture=", 19) == 0 && number)
      program->architecture = std::string("sm") + number;
  program->text.hasWarpgroups = program->architecture == "sm_90a";
#ifdef STAND_IN_EMULATES
  if (!gnnc::standin::compileForHost(program->text, program->hostCode, program->log))
    return kCompilation;
#endif
  return program->architecture.empty() ? kCompilation : 0;
}

EXPORTED int nvrtcGetProgramLogSize(Program *program, size_t *size) {
  *size = program->log.size() + 1;
  return 0;
}

EXPORTED int nvrtcGetProgramLog(Program *program, char *log) {
  memcpy(log, program->log.c_str(), program->log.size() + 1);
  return 0;
}

EXPORTED int nvrtcGetPTXSize(Program *program, size_t *size) {
  *size = program->ptx().size();
  return 0;
}

EXPORTED int nvrtcGetPTX(Program *program, char *text) {
  memcpy(text, program->ptx().data(), program->ptx().size());
  return 0;
}

EXPORTED int nvrtcGetCUBINSize(Program *program, size_t *size) {
  *size = program->code().size();
  return 0;
}

EXPORTED int nvrtcGetCUBIN(Program *program, char *bytes) {
  memcpy(bytes, program->code().data(), program->code().size());
  return 0;
}

} // extern "C"
