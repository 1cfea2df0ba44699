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
//===----------------------------------------------------------------------===//

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <string>

namespace {

struct Program {
  std::string architecture;
  std::string ptx() const { return ".version 8.0\n.target " + architecture + "\n"; }
  std::string code() const { return "machine code for " + architecture; }
};

} // namespace

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

EXPORTED int nvrtcVersion(int *major, int *minor) {
  *major = *minor = 0;
  return 0;
}

EXPORTED const char *nvrtcGetErrorString(int) { return "an error of the stand-in"; }

EXPORTED int nvrtcCreateProgram(Program **program, const char *, const char *, int, const char *const *,
                                const char *const *) {
  *program = new Program();
  return 0;
}

EXPORTED int nvrtcDestroyProgram(Program **program) {
  delete *program;
  *program = nullptr;
  return 0;
}

EXPORTED int nvrtcCompileProgram(Program *program, int count, const char *const *options) {
  constexpr int kBuiltinFailure = 7; // NVRTC_ERROR_BUILTIN_OPERATION_FAILURE
  if (!dlopen("libnvrtc-builtins.so.0.0", RTLD_NOW | RTLD_LOCAL))
    return kBuiltinFailure;
  for (int i = 0; i < count; ++i)
    if (const char *number = strchr(options[i], '_'); strncmp(options[i], "--gpu-architecture=", 19) == 0 && number)
      program->architecture = std::string("sm") + number;
  return program->architecture.empty();
}

EXPORTED int nvrtcGetProgramLogSize(Program *, size_t *size) {
  *size = 1;
  return 0;
}

EXPORTED int nvrtcGetProgramLog(Program *, char *log) {
  *log = 0;
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
