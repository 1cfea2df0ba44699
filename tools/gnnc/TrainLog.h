//===- TrainLog.h - A line of JSON for each epoch ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_TRAINLOG_H
#define GNNC_TOOLS_GNNC_TRAINLOG_H

#include "gnnc/Host/Trainer.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace gnnc {

/// The log of `gnnc train --log`.
class TrainLog {
public:
  /// Begins a log; one that goes on after epoch `after` keeps the lines of a log that is there up to that epoch. Later
  /// ones are of epochs that the checkpoint has not seen and that come again.
  static llvm::Expected<TrainLog> open(llvm::StringRef path, int64_t after);

  /// Adds the trainer's last epoch, which took `seconds`; null stands for a number that is not finite. The line is in
  /// the file when this returns.
  llvm::Error add(const Trainer &trainer, uint64_t seed, double seconds);

private:
  std::string path;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_TRAINLOG_H
