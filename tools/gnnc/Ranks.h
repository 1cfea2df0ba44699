//===- Ranks.h - Commands that run on several ranks -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `mpirun -np 4 gnnc train …` starts the same command four times. Each process takes its part of the graph; only the
// first one prints and writes files.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_RANKS_H
#define GNNC_TOOLS_GNNC_RANKS_H

#include "gnnc/Host/ModelFile.h"
#include "gnnc/Host/RunRanks.h"

namespace gnnc {

/// Joins the processes that a launcher has started together with this one, if it has. From then on all but the first
/// print nothing on standard output.
llvm::Error startRanks(const char *program);
/// Null: this process is alone.
const RunRanks *runRanks();
/// The functions that move rows between ranks that run on a device. The first time that it is a GPU, all ranks look for
/// NCCL; where it cannot be used, rows go through the host, which the first rank says.
llvm::Expected<const gnnc_collectives *> collectivesOfRanks(const DeviceChoice &device);
/// Leaves the others; with a status that is not 0, ends them too.
void endRanks(int status);

/// The file that a rank takes of `--graph`: its part, if that is a folder.
llvm::Expected<std::string> graphFileOfRank(const std::string &graph);
/// Threads of a rank that was asked for `threads` (0: its share of this machine's processors), and its device.
int threadsOfRank(int threads);
std::string deviceOfRank(llvm::StringRef device);

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_RANKS_H
