//===- Partition.cpp - gnnc partition -------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a graph file into parts, and says how even they are and what they have to exchange.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Report.h"
#include "gnnc/Graphs/PartitionFiles.h"
#include "gnnc/Host/ModelFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace gnnc;

/// The tensor with the targets of a map to a space that is not divided, such as the types of nodes.
static std::string tensorOfMap(const MapInfo &map, const SafetensorsFile &file) {
  if (map.name == "etype" || map.name == "ntype")
    return map.name == "etype" ? "edge_type" : "node_type";
  return map.name == "label" && !file.find("label") ? "y" : map.name;
}

/// What a model says about the tensors of a graph, and the maps that most of its sweeps go along.
static llvm::Error askModel(const ModelInfo &model, const SafetensorsFile &file, PartitionOptions &options) {
  auto isDivided = [&](llvm::StringRef name) {
    const SpaceInfo *space = model.findSpace(name);
    bool isEntries = llvm::any_of(model.sparseInputs, [&](const SparseInfo &sparse) { return sparse.entries == name; });
    return space && space->kind == "root" && !isEntries && model.haloRole(name).second == HaloRole::None;
  };
  // Maps of a model for ranks lead to own elements and the halo together.
  auto targetOf = [&](const MapInfo &map) {
    auto [space, role] = model.haloRole(map.to);
    return role == HaloRole::All ? space.str() : map.to;
  };
  bool computes = llvm::any_of(model.maps, [](const MapInfo &map) { return !map.source.empty(); }) ||
                  llvm::any_of(model.inputs, [](const TensorInfo &input) { return !input.source.empty(); });
  if (computes)
    return llvm::createStringError("model '" + model.name +
                                   "': expected maps that the graph has, found some that are computed from tensors");
  for (const MapInfo &map : model.maps) {
    if (map.kind == "root" && model.haloRole(map.from).second == HaloRole::Halo)
      if (const MapInfo *own = model.findMap(llvm::StringRef(map.name).rsplit('.').first))
        options.ofHalo[tensorOfMap(*own, file)] = map.name;
    if (map.kind != "root" || !isDivided(map.from))
      continue;
    if (isDivided(targetOf(map)))
      options.maps.push_back({map.name, map.from, targetOf(map)});
    else if (std::string tensor = tensorOfMap(map, file); file.find(tensor))
      options.rows[tensor] = map.from;
  }
  auto isStatic = [&](llvm::StringRef name) {
    const SpaceInfo *space = model.findSpace(name);
    return space && space->kind == "static";
  };
  for (const TensorInfo &input : model.inputs) {
    if (input.space && isDivided(*input.space) && (file.find(input.name) || file.find(input.name + "_indptr")))
      options.rows[input.name] = *input.space;
    if ((!input.space || isStatic(*input.space)) && file.find(input.name))
      options.whole.insert(input.name);
  }
  if (!options.along.empty())
    return llvm::Error::success();
  if (model.distributed) {
    for (const auto &[space, map] : model.distributed->along)
      if (isDivided(space)) // entries of sparse inputs are where their rows are
        options.along.push_back(map);
    return llvm::Error::success();
  }
  llvm::StringMap<int> sweeps;
  for (const KernelInfo &kernel : model.kernels)
    if (kernel.map)
      ++sweeps[*kernel.map];
  for (const PartitionOptions::Map &map : options.maps)
    if (llvm::all_of(options.maps, [&](const PartitionOptions::Map &other) {
          return other.from != map.from || other.name == map.name || sweeps[map.name] > sweeps[other.name];
        }))
      if (llvm::none_of(options.maps, [&](const PartitionOptions::Map &other) { return other.to == map.from; }))
        options.along.push_back(map.name);
  return llvm::Error::success();
}

static std::string ratio(double share) { return llvm::formatv("{0:F2}", share).str(); }

/// How even the parts are, and what they exchange for a value of `features` float32 numbers on each space.
static void printParts(const PartitionedGraph &graph, int64_t features) {
  const GraphStructure &structure = graph.structure();
  const GraphPartition &partition = graph.partition();
  Table table;
  table.add({"", "along", "elements", "a part has", "most / mean", "halo of a part", "halo / own"});
  int64_t all = 0;
  std::vector<int64_t> received(size_t(partition.parts()), 0); // by each part
  for (auto [number, space] : llvm::enumerate(structure.spaces)) {
    auto range = [&](auto count) {
      int64_t least = INT64_MAX, largest = 0;
      for (int rank = 0; rank < partition.parts(); ++rank) {
        int64_t found = count(number, rank);
        least = std::min(least, found);
        largest = std::max(largest, found);
      }
      return std::pair(least, largest);
    };
    auto [leastOwn, mostOwn] = range([&](size_t of, int rank) { return partition.ownCount(of, rank); });
    auto [leastHalo, mostHalo] =
        range([&](size_t of, int rank) { return int64_t(partition.part(of, rank).halo.size()); });
    int64_t halos = 0;
    for (int rank = 0; rank < partition.parts(); ++rank) {
      int64_t halo = int64_t(partition.part(number, rank).halo.size());
      halos += halo;
      received[size_t(rank)] += halo * features * 4;
    }
    double mean = double(space.extent) / partition.parts();
    bool hasHalo = partition.hasHalo(number);
    table.add({space.name, space.along ? structure.maps[*space.along].name : "", formatCount(space.extent),
               formatCount(leastOwn) + " to " + formatCount(mostOwn), space.extent ? ratio(double(mostOwn) / mean) : "",
               hasHalo ? formatCount(leastHalo) + " to " + formatCount(mostHalo) : "",
               hasHalo && space.extent ? ratio(double(halos) / double(space.extent)) : ""});
    all += halos * features * 4;
  }
  table.print(llvm::outs());
  llvm::outs() << "a layer that exchanges " << features
               << " float32 numbers per element: " << formatBytes(uint64_t(all)) << " in all, at most "
               << formatBytes(uint64_t(*llvm::max_element(received))) << " to one part\n";
}

/// What the arguments say of tensors, which goes before what a model says.
static llvm::Error nameTensors(const PartitionArguments &arguments, PartitionOptions &options) {
  std::map<std::string, std::string> rows;
  auto add = [&](llvm::StringRef tensor, llvm::StringRef space) -> llvm::Error {
    auto [it, isNew] = rows.try_emplace(tensor.str(), space);
    if (isNew || it->second == space)
      return llvm::Error::success();
    return llvm::createStringError("tensor '" + tensor + "': expected rows of '" + it->second + "' or of '" + space +
                                   "', found it named for both");
  };
  for (const std::string &name : arguments.nodeTensors)
    if (llvm::Error error = add(name, "node"))
      return error;
  for (const std::string &name : arguments.edgeTensors)
    if (llvm::Error error = add(name, "edge"))
      return error;
  for (llvm::StringRef text : arguments.rows) {
    auto [tensor, space] = text.split('=');
    if (tensor.empty() || space.empty())
      return llvm::createStringError("--rows: expected TENSOR=SPACE, found '" + text + "'");
    if (llvm::Error error = add(tensor, space))
      return error;
  }
  for (const std::string &name : arguments.wholeTensors)
    options.rows.erase(name);
  for (const auto &[tensor, space] : rows) {
    options.rows[tensor] = space;
    options.whole.erase(tensor);
  }
  options.whole.insert(arguments.wholeTensors.begin(), arguments.wholeTensors.end());
  return llvm::Error::success();
}

int gnnc::runPartition(const PartitionArguments &arguments) {
  if (arguments.output)
    if (llvm::Error error = checkPartsFolder(*arguments.output))
      return fail(std::move(error));
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(arguments.graph);
  if (!file)
    return fail(file.takeError());
  Stopwatch watch;
  PartitionOptions options;
  options.parts = arguments.parts;
  options.kind = *parsePartitionKind(arguments.by);
  options.along = arguments.along;
  if (!arguments.model.empty()) {
    llvm::Expected<ModelFile> model = ModelFile::open(arguments.model);
    if (!model)
      return fail(model.takeError());
    if (llvm::Error error = askModel(model->info(), *file, options))
      return fail(std::move(error));
  }
  if (llvm::Error error = nameTensors(arguments, options))
    return fail(std::move(error));
  llvm::Expected<PartitionedGraph> graph = PartitionedGraph::create(*file, options);
  if (!graph)
    return fail(graph.takeError());
  llvm::outs() << arguments.parts << " parts by "
               << (graph->partition().kind() == options.kind ? arguments.by : "contiguous (too few elements for metis)")
               << " in " << formatSeconds(watch.lap()) << "\n";
  printParts(*graph, arguments.features);
  if (!arguments.output) {
    llvm::outs() << "nothing is written without --output\n";
    return ExitOk;
  }
  if (llvm::Error error = graph->write(*arguments.output))
    return fail(std::move(error));
  llvm::outs() << "wrote " << *arguments.output << "\n";
  return ExitOk;
}
