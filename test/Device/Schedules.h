//===- Schedules.h - Tunings that force one schedule ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rule takes each schedule of a sweep for some graphs alone; a tuning gives all owners to one of them.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_DEVICE_SCHEDULES_H
#define GNNC_TEST_DEVICE_SCHEDULES_H

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

/// From what `describe_graph` says of a prepared graph: for each k a tuning by which the k-th schedule of every sweep
/// (or its last) takes all owners.
inline std::vector<std::string> forcedSchedules(const std::string &description) {
  // More members than any item has.
  constexpr int kNever = 1 << 20;
  auto each = [&](const char *pattern, auto use) {
    std::regex expression(pattern);
    for (std::sregex_iterator it(description.begin(), description.end(), expression), end; it != end; ++it)
      use(*it);
  };
  std::string head;
  each("\"digest\": \"([0-9a-f]+)\"", [&](auto &match) { head = "gnnc-tune 1 " + match.str(1) + "\n"; });
  each("\"architecture\": ([0-9]+)", [&](auto &match) { head += "graph cuda " + match.str(1) + "\n"; });
  each("\\{\"space\": \"([^\"]+)\", \"extent\": ([0-9]+)",
       [&](auto &match) { head += "extent " + match.str(1) + " " + match.str(2) + "\n"; });
  std::map<std::string, std::string> orders;
  each("\\{\"map\": \"([^\"]+)\", [^{}\\[]*\"by_size\": (true|false)",
       [&](auto &match) { orders[match.str(1)] = match.str(2) == "true" ? "by_size" : "by_owner"; });
  struct Sweep {
    std::string kernel, order;
    size_t schedules = 0;
  };
  std::vector<Sweep> sweeps;
  size_t most = 0;
  each(
      "\\{\"kernel\": \"([^\"]+)\", \"function\": \"[^\"]*\", \"map\": \"([^\"]+)\", [^\\[]*\"launches\": \\[([^\\]]*)",
      [&](auto &match) {
        std::string launches = match.str(3);
        size_t schedules = size_t(std::count(launches.begin(), launches.end(), '{'));
        sweeps.push_back({match.str(1), orders[match.str(2)], schedules});
        most = std::max(most, schedules);
      });
  std::vector<std::string> tunings;
  for (size_t k = 0; k < most; ++k) {
    std::string text = head;
    for (const Sweep &sweep : sweeps) {
      text += "sweep " + sweep.kernel + " " + sweep.order;
      for (size_t i = 0; i + 1 < sweep.schedules; ++i)
        text += i < std::min(k, sweep.schedules - 1) ? " " + std::to_string(kNever) : " 0";
      text += "\n";
    }
    tunings.push_back(text);
  }
  return tunings;
}

/// Whether there is a sweep in a description.
inline bool hasSchedules(const std::string &description) {
  return description.find("\"sweeps\": [{") != std::string::npos;
}

/// Whether a tuning decided for all of them.
inline bool isForced(const std::string &description) {
  return description.find("\"by\": \"size\"") == std::string::npos &&
         description.find("\"by\": \"average\"") == std::string::npos;
}

#endif // GNNC_TEST_DEVICE_SCHEDULES_H
