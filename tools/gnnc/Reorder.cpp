//===- Reorder.cpp - gnnc reorder -----------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes a graph file with its nodes in another order, and says what that is expected to bring: how many gathers of a
// sweep along edges find the row where a cache of some size still has it.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/Reorder.h"
#include "Commands.h"
#include "Files.h"
#include "Report.h"
#include "gnnc/Host/ModelFile.h"
#include "gnnc/Support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <map>

using namespace gnnc;

static std::string percent(double share) { return llvm::formatv("{0:F1} %", 100 * share).str(); }

void gnnc::printLocality(const EdgeList &edges, const EdgeList *after) {
  Table table;
  std::vector<std::string> head{"", "gathers again within"};
  if (after)
    head.push_back("reordered");
  table.add(head);
  for (bool forward : {true, false}) {
    auto ends = [&](const EdgeList &list) {
      return forward ? std::pair(list.dst, list.src) : std::pair(list.src, list.dst);
    };
    for (int64_t window : kLocalityWindows) {
      auto share = [&](const EdgeList &list) {
        auto [owner, member] = ends(list);
        return percent(gatherLocality(list.nodes, owner, member, window));
      };
      std::vector<std::string> row{forward ? "of src, along dst" : "of dst, along src",
                                   formatCount(window) + " gathers: " + share(edges)};
      if (after)
        row.push_back(share(*after));
      table.add(row);
    }
  }
  table.print(llvm::outs());
}

/// What a model says about the tensors of a graph, unless the arguments name them.
static llvm::Error askModel(const ModelInfo &model, const SafetensorsFile &file, ReorderOptions &options) {
  ReorderOptions known = options;
  auto add = [&](llvm::StringRef name, std::vector<std::string> &list) {
    bool isNamed =
        llvm::any_of(std::array{&known.nodeTensors, &known.edgeTensors, &known.numberTensors, &known.edgeNumberTensors,
                                &known.wholeTensors},
                     [&](const std::vector<std::string> *names) { return llvm::is_contained(*names, name); });
    if (!isNamed && file.find(name) && !llvm::is_contained(list, name))
      list.push_back(name.str());
  };
  auto addRows = [&](llvm::StringRef name, llvm::StringRef space) {
    add(name, space == "node" ? options.nodeTensors : space == "edge" ? options.edgeTensors : options.wholeTensors);
  };
  std::map<std::string, std::string> ends; // of tensors with a row for each map of a relation
  for (const MapInfo &map : model.maps) {
    if (map.kind != "root")
      continue;
    bool isRelation = !file.find(map.name);
    std::string tensor = isRelation ? llvm::StringRef(map.name).rsplit('.').first.str() : map.name;
    if (!file.find(tensor))
      continue;
    std::string to = map.to == "node" || map.to == "edge" ? map.to : "";
    if (auto [other, isNew] = ends.try_emplace(tensor, to); !isNew && other->second != to)
      return llvm::createStringError(
          "'" + file.path() + "': tensor '" + tensor +
          "': expected both rows to lead to nodes, or neither, found maps of the model to '" + map.to +
          "' and elsewhere");
    if (!to.empty())
      add(tensor, to == "node" ? options.numberTensors : options.edgeNumberTensors);
    if (!isRelation)
      addRows(tensor, map.from);
    else if (to.empty())
      add(tensor, options.wholeTensors);
  }
  for (const TensorInfo &input : model.inputs)
    addRows(input.name, input.space.value_or(""));
  return llvm::Error::success();
}

int gnnc::runReorder(const ReorderArguments &arguments) {
  if (!arguments.output.empty()) {
    if (llvm::Error error = checkOverwriting({{"--output", arguments.output}}, {{"the graph", arguments.graph}}))
      return fail(std::move(error));
    if (llvm::Error error = checkOutputFile(arguments.output))
      return fail(std::move(error));
  }
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(arguments.graph);
  if (!file)
    return fail(file.takeError());
  Stopwatch watch;
  ReorderOptions options{*parseNodeOrderKind(arguments.by), arguments.nodeTensors,       arguments.edgeTensors,
                         arguments.numberTensors,           arguments.edgeNumberTensors, arguments.wholeTensors};
  if (!arguments.model.empty()) {
    llvm::Expected<ModelFile> model = ModelFile::open(arguments.model);
    if (!model)
      return fail(model.takeError());
    if (llvm::Error error = askModel(model->info(), *file, options))
      return fail(std::move(error));
  }
  llvm::Expected<ReorderedGraph> graph = ReorderedGraph::create(*file, options);
  if (!graph)
    return fail(graph.takeError());
  EdgeList before = graph->before(), after = graph->after();
  llvm::outs() << formatCount(before.nodes) << " nodes, " << formatCount(int64_t(before.src.size()))
               << " edges, ordered by " << arguments.by << " in " << formatSeconds(watch.lap()) << "\n";
  printLocality(before, &after);
  if (arguments.output.empty()) {
    llvm::outs() << "nothing is written without --output\n";
    return ExitOk;
  }
  if (llvm::Error error = graph->write(arguments.output))
    return fail(std::move(error));
  llvm::outs() << "wrote " << arguments.output << "\n";
  return ExitOk;
}
