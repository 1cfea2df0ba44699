//===- Report.cpp - How the driver speaks ---------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "Commands.h"
#include "Ranks.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <thread>

using namespace gnnc;

int gnnc::fail(llvm::Error error) {
  llvm::outs().flush();
  std::string who;
  if (const RunRanks *ranks = runRanks(); ranks && ranks->rank() > 0) {
    // What all ranks find the first one says, and ends the others.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    who = "rank " + std::to_string(ranks->rank()) + ": ";
  }
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    // Written at once, so that what other processes say does not come in between.
    std::string text;
    llvm::raw_string_ostream out(text);
    out << "gnnc: error: " << who;
    // A name from a file may have anything in it, such as what moves a terminal's cursor.
    for (char c : info.message())
      if ((uint8_t(c) >= 0x20 && c != 0x7f) || c == '\n' || c == '\t')
        out << c;
      else
        out << "\\x" << llvm::format_hex_no_prefix(uint8_t(c), 2);
    out << "\n";
    llvm::errs() << text;
  });
  return ExitError;
}

static std::string formatNumber(double value, const char *unit) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::format(value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value) << " " << unit;
  return text;
}

std::string gnnc::formatBytes(uint64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  double value = double(bytes) / 1024;
  for (const char *unit : {"KiB", "MiB", "GiB"}) {
    if (value < 1024)
      return formatNumber(value, unit);
    value /= 1024;
  }
  return formatNumber(value, "TiB");
}

std::string gnnc::formatSeconds(double seconds) {
  if (seconds < 1e-3)
    return formatNumber(seconds * 1e6, "us");
  return seconds < 1 ? formatNumber(seconds * 1e3, "ms") : formatNumber(seconds, "s");
}

std::string gnnc::formatCount(int64_t count) {
  std::string digits = std::to_string(count);
  for (size_t i = digits.size(), first = count<0; i> first + 3;)
    digits.insert(i -= 3, " ");
  return digits;
}

std::string gnnc::formatType(const TensorInfo &tensor) {
  std::string text = tensor.space.value_or("") + "[";
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    text += (i ? ", " : "") + (tensor.axes[i].empty() ? "" : tensor.axes[i] + " = ") + std::to_string(tensor.dims[i]);
  return text + "]";
}

void Table::print(llvm::raw_ostream &out, llvm::StringRef indent) const {
  std::vector<size_t> widths;
  for (const std::vector<std::string> &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  for (const std::vector<std::string> &row : rows) {
    std::string line = indent.str();
    for (size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    out << llvm::StringRef(line).rtrim() << "\n";
  }
}

Progress::Progress() : isTerminal(llvm::sys::Process::StandardErrIsDisplayed()) {}

Progress::~Progress() {
  if (shown)
    llvm::errs() << "\r\033[K";
}

void Progress::show(const llvm::Twine &text) {
  if (!isTerminal)
    return;
  shown = true;
  llvm::errs() << "\r\033[K" << text;
}
