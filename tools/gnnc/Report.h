//===- Report.h - How the driver speaks -------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_REPORT_H
#define GNNC_TOOLS_GNNC_REPORT_H

#include "gnnc/Graphs/GraphEdges.h"
#include "gnnc/Host/ModelInfo.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <chrono>
#include <string>
#include <vector>

namespace gnnc {

/// Prints `gnnc: error: ...` to standard error and returns ExitError.
int fail(llvm::Error error);

/// "612 B", "23.4 KiB", "1.2 GiB".
std::string formatBytes(uint64_t bytes);
/// "850 us", "12.3 ms", "4.56 s".
std::string formatSeconds(double seconds);
/// "2 708", in groups of three.
std::string formatCount(int64_t count);
/// "node[heads = 8, out = 8]"; shared values have no space.
std::string formatType(const TensorInfo &tensor);

/// How local the gathers of sweeps along edges are, both ways; with `after`, of the same edges in another order too.
void printLocality(const EdgeList &edges, const EdgeList *after = nullptr);

/// Lines of columns, each as wide as its widest cell; the last one is not padded.
class Table {
public:
  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  bool empty() const { return rows.empty(); }
  void print(llvm::raw_ostream &out, llvm::StringRef indent = "  ") const;

private:
  std::vector<std::vector<std::string>> rows;
};

/// Seconds since it was made or last asked.
class Stopwatch {
public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double seconds = std::chrono::duration<double>(now - start).count();
    start = now;
    return seconds;
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// One line on standard error that is replaced by the next and gone in the end; nothing where that is no terminal.
class Progress {
public:
  Progress();
  ~Progress();
  void show(const llvm::Twine &text);

private:
  bool isTerminal;
  bool shown = false;
};

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_REPORT_H
