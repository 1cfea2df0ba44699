//===- Driver.h - A stand-in for the CUDA driver ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A libcuda.so.1 for tests on machines without a GPU. Device memory is host memory, filled with one byte (0xff: NaNs).
// Kernels do nothing, unless their image has code for the host (HostCompiler.h): then they run (Emulator.cpp), and
// faults are written to the standard error as well. It counts calls, keeps account of what was not given back, refuses
// what the driver would refuse (calls without a context, foreign addresses, grids and shared memory over the limits,
// allocations and waiting by a thread that captures), and can be told to have little memory or to fail.
//
// A program that links it gets it from dlopen("libcuda.so.1") whatever the machine has. Tools find it by
// LD_LIBRARY_PATH and are told by the environment variable GNNC_STAND_IN, settings divided by commas: memory=BYTES,
// architecture=90, processors=132, fill=BYTE, fail=FUNCTION:AFTER:CODE, log=FILE (written at the end: calls by function
// and what is left).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_STANDIN_DRIVER_H
#define GNNC_TEST_STANDIN_DRIVER_H

#include <stddef.h>
#include <stdint.h>

extern "C" {

/// Counts from 0 again, no failures, 1 GiB of memory filled with 0xff, sm_90. What is live stays.
void standInReset();
/// Calls of a driver function since; null: of all.
int64_t standInCalls(const char *function);
/// From its call number `after` on, from 0, each call of `function` gives `code`, a CUresult. Null: nothing fails.
void standInFail(const char *function, int64_t after, int code);
void standInSetProcessors(int processors);
void standInSetMemory(size_t bytes);
void standInSetFill(unsigned char byte);
void standInSetArchitecture(int architecture);
/// Not given back yet: "bytes" or "blocks" of memory, "contexts", "modules", "streams", "pools", "pages", "graphs",
/// "executables"; null: all of these but bytes.
int64_t standInLive(const char *what);
/// Kernels launched outside of recordings and by replaying them; those recorded.
int64_t standInKernels();
int64_t standInRecordedKernels();
/// The images loaded since, one a line: "PTX sm_80", "code sm_90", or "code" where it does not say.
const char *standInModules();
/// The last fault of a kernel that ran since, or nothing.
const char *standInFault();

} // extern "C"

#endif // GNNC_TEST_STANDIN_DRIVER_H
