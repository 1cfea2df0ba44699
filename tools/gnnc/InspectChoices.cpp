//===- InspectChoices.cpp - What is chosen when a graph is prepared -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inspector.h"
#include "Report.h"
#include "gnnc/Graphs/NodeOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <set>

using namespace gnnc;

/// What is chosen among when a graph is prepared; with a graph also which, and for what it costs.
void Inspector::printAlternatives() {
  if (model.info().alternatives.empty())
    return;
  Table table;
  if (plans) {
    const GraphInfo &graph = plans->infos.front();
    bool isTuned = llvm::any_of(graph.functions, [](const FunctionChoice &choice) { return choice.by == "tuning"; });
    out << (isTuned ? "alternatives on this graph, by cost or as tuned\n" : "alternatives on this graph, by cost\n");
    for (const FunctionChoice &choice : graph.functions)
      for (auto [i, cost] : llvm::enumerate(choice.costs))
        table.add({cost.function, formatCount(int64_t(cost.cost)),
                   cost.function == choice.chosen ? (choice.by == "tuning" ? "chosen, as tuned" : "chosen")
                   : i == 0
                       ? ""
                       : "if less than " + std::to_string(cost.percent) + "% of " + choice.costs.front().function});
    table.print(out);
    return;
  }
  out << "alternatives, chosen by cost when a graph is prepared\n";
  std::set<std::string> seen;
  for (const AlternativeInfo &alternative : model.info().alternatives) {
    if (seen.insert(alternative.insteadOf).second)
      table.add({alternative.insteadOf, costOf(alternative.insteadCost), ""});
    table.add({alternative.function, costOf(alternative.cost),
               "if less than " + std::to_string(alternative.percent) + "% of " + alternative.insteadOf});
  }
  table.print(out);
}

/// "2 owners a warp, 16 groups of 1 lane, 4 members in flight"
static std::string describe(const ScheduleInfo &schedule) {
  auto count = [](int64_t number, llvm::StringRef what) {
    return std::to_string(number) + " " + what.str() + (number == 1 ? "" : "s");
  };
  int64_t lanes = std::max<int64_t>(schedule.lanes * schedule.groups, 1);
  int64_t owners = std::max<int64_t>(32 / lanes, 1);
  return count(owners, "owner") + (lanes > 32 ? " a block, " : " a warp, ") + count(schedule.groups, "group") + " of " +
         count(schedule.lanes, "lane") + " each, " + count(schedule.flight, "member") + " in flight";
}

static std::string sizes(int64_t least, int64_t below) {
  constexpr int64_t kNone = std::numeric_limits<int32_t>::max(); // nothing has that many members
  if (least >= kNone)
    return "no number of members";
  if (below < 0 || below >= kNone)
    return least > 0 ? std::to_string(least) + " members or more" : "any number of members";
  if (below <= least)
    return "no number of members";
  return std::to_string(least) + " to " + std::to_string(below - 1) + " members";
}

/// How sweeps divide owners among the lanes of a GPU.
void Inspector::printSchedules() {
  bool any = llvm::any_of(model.info().kernels, [](const KernelInfo &kernel) { return !kernel.schedules.empty(); });
  if (!any)
    return;
  if (plans && plans->infos.back().device == "cuda")
    return printChosen(plans->infos.back());
  out << "schedules of sweeps on a GPU, by members of an owner\n";
  Table table;
  for (const KernelInfo &kernel : model.info().kernels) {
    int64_t below = -1;
    for (const ScheduleInfo &schedule : kernel.schedules) {
      table.add({schedule.kernel, sizes(schedule.least, below), describe(schedule)});
      below = schedule.least;
    }
  }
  table.print(out);
}

void Inspector::printChosen(const GraphInfo &graph) {
  out << "worklists on a GPU with " << graph.processors << " processors\n";
  Table lists;
  for (const WorklistInfo &list : graph.worklists) {
    std::string average =
        list.owners ? llvm::formatv("{0:f1} members each", double(list.members) / double(list.owners)).str() : "";
    lists.add({list.map, formatCount(list.owners) + " owners", average,
               "at most " + std::to_string(list.chunk) + " members an item",
               list.heavyOwners ? formatCount(list.heavyOwners) +
                                      (list.heavyOwners == 1 ? " heavy owner in " : " heavy owners in ") +
                                      formatCount(list.heavyItems) + " items, merged in order"
                                : "no owner is split",
               list.bySize ? "items by decreasing size" : "items by owner"});
  }
  lists.print(out);
  out << "schedules of sweeps on this graph\n";
  Table table;
  for (const SweepChoice &sweep : graph.sweeps) {
    auto kernel = llvm::find_if(model.info().kernels, [&](const KernelInfo &k) {
      return !k.schedules.empty() && k.schedules.front().kernel == sweep.kernel;
    });
    const WorklistInfo *list = graph.findWorklist(sweep.map);
    for (auto [i, launch] : llvm::enumerate(sweep.launches)) {
      std::string why;
      if (sweep.by == "tuning")
        why = "as tuned: ";
      if (list && list->bySize)
        why += "owners of " + sizes(launch.least, launch.below);
      else if (list)
        why += llvm::formatv("if an item has {0} on average, here {1:f1}", sizes(launch.least, launch.below),
                             double(list->members) / double(std::max<int64_t>(list->items, 1)))
                   .str();
      table.add(
          {launch.kernel, "along " + sweep.map, formatCount(launch.items) + " items",
           formatCount(launch.blocks) + " blocks",
           kernel != model.info().kernels.end() && i < kernel->schedules.size() ? describe(kernel->schedules[i]) : "",
           why});
    }
  }
  table.print(out);
}

void Inspector::printShared() {
  Table table;
  for (const GraphInfo &graph : plans->infos)
    for (const SharedIndex &shared : graph.sharedIndices)
      table.add({llvm::join(shared.maps, " and ") + (graph.device == "cuda" ? " on a GPU" : ""),
                 shared.pointers == 0     ? "neighbours"
                 : shared.neighbours == 0 ? "pointers; neighbours are others, or in another order"
                                          : "pointers and neighbours"});
  if (table.empty())
    return;
  out << "maps that share an index on this graph\n";
  table.print(out);
}

void Inspector::printLocality() {
  // The rows of few nodes stay in a cache in any order.
  if (!plans->edges || plans->edges->nodes <= kLocalityWindows[0])
    return;
  out << "gathers along edges that find the row of one of the last gathers (gnnc reorder)\n";
  gnnc::printLocality(plans->edges->list());
}
