//===- GraphInfo.h - What was chosen for a prepared graph -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The description of a prepared graph (gnnc_api::describe_graph) as plain structs.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_GRAPHINFO_H
#define GNNC_HOST_GRAPHINFO_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gnnc {

/// A function that could run, and its cost on the graph. Any but the first must cost less than `percent` hundredths of
/// the first.
struct FunctionCost {
  std::string function;
  double cost = 0;
  int64_t percent = 100;
};

/// A function that has alternatives. `by`: "cost", "capacity" (cost at the capacities) or "tuning".
struct FunctionChoice {
  std::string function, chosen, by;
  std::vector<FunctionCost> costs;
};

/// Two maps that share index arrays, as on graphs that list both directions of each edge: the number of shared arrays
/// that tell where an owner's members begin, and of those that list the other ends of the members.
struct SharedIndex {
  std::vector<std::string> maps;
  int64_t pointers = 0, neighbours = 0;
};

/// The worklist of a map: its owners as items of at most `chunk` members, the largest first if they are sorted by size.
struct WorklistInfo {
  std::string map;
  int64_t owners = 0, members = 0, chunk = 0, items = 0, heavyOwners = 0, heavyItems = 0;
  bool bySize = false;
};

/// The share of one schedule of a sweep: owners of at least `least` and fewer than `below` members (-1: no limit).
struct LaunchChoice {
  std::string kernel;
  int64_t least = 0, below = 0, items = 0, blocks = 0;
};

/// `by`: "size" (of each owner), "average" (of all) or "tuning".
struct SweepChoice {
  std::string kernel, function, map, by;
  std::vector<LaunchChoice> launches;
};

struct GraphInfo {
  std::string digest; ///< of the compilation
  std::string device; ///< "cpu" or "cuda"
  std::string code;   ///< which of the object's code runs: "x86-64-v4", "sm_90", "PTX"; empty: none does here
  int64_t architecture = 0, processors = 0;
  std::vector<std::pair<std::string, int64_t>> extents;
  std::vector<FunctionChoice> functions;
  std::vector<SharedIndex> sharedIndices;
  std::vector<WorklistInfo> worklists;
  std::vector<SweepChoice> sweeps;

  static llvm::Expected<GraphInfo> parse(llvm::StringRef text);
  const WorklistInfo *findWorklist(llvm::StringRef map) const;
};

} // namespace gnnc

#endif // GNNC_HOST_GRAPHINFO_H
