//===- Emulator.h - What kernels on the host ask for ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between kernels that the stand-in of NVRTC compiles for the host and the stand-in of the driver that runs them. A
// module of kernels defines
//
//   emulator                           where the driver leaves its own before anything runs
//   emulatedShared()                   dynamic shared memory: kMostShared bytes
//   emulated_NAME(arguments)           kernel NAME by one thread, of the buffer of a launch
//
// Shared memory is what a module has of thread-local memory: all blocks run on one thread of the host, one after the
// other.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_STANDIN_EMULATION_EMULATOR_H
#define GNNC_TEST_STANDIN_EMULATION_EMULATOR_H

namespace gnnc::emulation {

constexpr int kLanes = 32, kMostShared = 227 << 10;
/// Of what a lane gives to an exchange.
constexpr int kMostGiven = 32;

struct Place {
  unsigned x, y, z;
};

/// What all lanes of a warp do together, or all threads of a block: where it is in the text, and a number that must be
/// the same for all.
struct Meeting {
  const char *what;
  unsigned number;
  const char *file;
  int line;
};

struct Emulator {
  // Of the thread that runs.
  Place thread, block, threads, blocks;

  /// Waits for all threads of the block; whether any of them gave true.
  bool (*barrier)(const Meeting &meeting, bool given);
  /// Waits for all lanes of the warp; what they gave, kMostGiven bytes apart, until the next meeting.
  const char *(*exchange)(const Meeting &meeting, const void *given, unsigned bytes);
  /// Copies that are there once they have been waited for. Until then `to` holds not-a-number.
  void (*copy)(void *to, const void *from, unsigned width, unsigned bytes);
  void (*commitCopies)();
  void (*waitForCopies)(unsigned open);
  /// Ends the grid with an error.
  void (*fail)(const Meeting &meeting, const char *why);
};

} // namespace gnnc::emulation

#endif // GNNC_TEST_STANDIN_EMULATION_EMULATOR_H
