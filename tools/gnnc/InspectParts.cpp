//===- InspectParts.cpp - gnnc inspect on the parts of a graph ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each rank would hold, send and receive, and how long that would take. One process looks at all parts, and runs
// none.
//
// A kernel takes as long as its operations or its bytes of memory, whichever is longer; a transfer as long as the most
// that one rank sends or receives; a value that is combined is sent to everybody. Ranks compute each by itself, and
// wait for the slowest where they exchange something. Where times of one rank were measured, kernels are as much slower
// or faster than that as they were there; on graphs of several sizes, as much as a line through these says: what a
// cache keeps of rows that are read again and again does not grow with the graph, nor what kernels take besides.
//
//===----------------------------------------------------------------------===//

#include "InspectParts.h"
#include "Report.h"
#include "gnnc/Host/GraphFile.h"
#include "gnnc/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

#include <map>
#include <set>

using namespace gnnc;

namespace {

/// One rank's part.
struct Part {
  std::map<std::string, int64_t> extents;
  size_t graphBytes = 0;
  std::map<std::string, size_t> workspaces; ///< of programs that the part has all data for
};

/// What a rank moves when a function runs once.
struct Traffic {
  int64_t sent = 0, received = 0;
};

/// Seconds that a function takes until the last rank is done: those in which it computes or waits for others that do,
/// and those in which it does nothing but wait for rows and values that are under way.
struct PredictedTime {
  double computes = 0, moves = 0;
  double seconds() const { return computes + moves; }
};

/// Seconds of a function's kernels on one rank, by those that their operations and bytes take.
struct MeasuredLine {
  double slope = 1, constant = 0;
  double least = 0; ///< seconds by computed ones, where these were fewest

  /// How much slower kernels are that take so long together. Where times grow faster than graphs, those of smaller
  /// graphs than were measured are as much slower as those of the smallest.
  double factor(double computed) const {
    double factor = computed > 0 ? slope + constant / computed : slope;
    return constant < 0 ? std::max(factor, least) : factor;
  }
};

class PartsInspector {
public:
  PartsInspector(const ModelFile &model, const InspectArguments &arguments)
      : model(model), folder(arguments.graph), machine(arguments.machine) {}

  /// The parts in a folder.
  llvm::Error read();
  /// Parts that have these extents each.
  llvm::Error assume(llvm::ArrayRef<std::string> extents, int ranks);
  /// How long functions took on one rank, on graphs of one size or of several.
  llvm::Error calibrate(const std::string &path);
  void printText(llvm::raw_ostream &out) const;
  void printJSON(llvm::raw_ostream &out) const;

private:
  llvm::Expected<Part> readPart(const SafetensorsFile &file, int rank, int parts);
  llvm::Error addExtent(Part &part, llvm::StringRef space, int64_t extent) const;
  llvm::Error completeExtents(Part &part) const;
  std::string title() const;
  std::vector<std::string> functions() const;
  Traffic trafficOf(llvm::StringRef function, const Part &part) const;
  int64_t bytesBefore(const TensorInfo &input) const;
  int64_t reducedBytes(llvm::StringRef function) const;
  int64_t evaluate(const SymbolicExpr &expression, const Part &part) const;
  int64_t count(llvm::StringRef function, llvm::StringRef kind) const;
  double secondsOf(const KernelInfo &kernel, const Part &part) const;
  double computedSeconds(llvm::StringRef function, const Part &part) const;
  llvm::Error readMeasured(const llvm::json::Value &value,
                           std::map<std::string, std::vector<std::pair<double, double>>> &times) const;
  double secondsOf(llvm::StringRef function, bool isFree) const;
  PredictedTime timeOf(llvm::StringRef function) const;

  const ModelFile &model;
  std::string folder, partition;
  RankMachine machine;
  std::vector<std::string> divided; ///< root spaces that ranks have elements of their own of
  std::vector<Part> parts;
  std::map<std::string, MeasuredLine> measured; ///< of functions
};

} // namespace

llvm::Expected<Part> PartsInspector::readPart(const SafetensorsFile &file, int rank, int size) {
  llvm::Expected<BoundGraph> graph = BoundGraph::create(file, model.info());
  if (!graph)
    return graph.takeError();
  const GraphPart &of = graph->part();
  if (of.rank() != rank || of.parts() != size)
    return llvm::createStringError("'" + file.path() + "': expected part " + llvm::Twine(rank) + " of " +
                                   llvm::Twine(size) + ", found part " + llvm::Twine(of.rank()) + " of " +
                                   llvm::Twine(of.parts()));
  if (rank > 0 && of.partition() != partition)
    return llvm::createStringError("'" + file.path() + "': expected parts of one partition, found another's");
  partition = of.partition().str();
  llvm::ArrayRef<gnnc_row_counts> counts = graph->rowCounts();
  gnnc_collectives nobody = {sizeof nobody, rank, size, 1, nullptr, nullptr, nullptr, nullptr};
  gnnc_part_desc part = {sizeof part, int32_t(counts.size()), counts.data(), &nobody};
  llvm::Expected<Session> session = Session::create(model, graph->description(), /*threads=*/1,
                                                    {1, 0, /*planOnly=*/true}, /*ignored=*/nullptr, &part);
  if (!session)
    return llvm::createStringError("'" + file.path() + "': " + llvm::toString(session.takeError()));
  Part result;
  for (const SpaceInfo &space : model.info().spaces) {
    result.extents[space.name] = session->extent(space.name);
    bool isOwn = model.info().haloRole(space.name).second == HaloRole::None;
    if (rank == 0 && space.kind == "root" && isOwn && of.isDivided(space.name))
      divided.push_back(space.name);
  }
  result.graphBytes = session->graphBytes();
  for (const ProgramInfo &program : model.info().programs)
    if (llvm::Expected<size_t> bytes = session->workspaceBytes(program.name))
      result.workspaces[program.name] = *bytes;
    else
      llvm::consumeError(bytes.takeError());
  return std::move(result);
}

llvm::Error PartsInspector::read() {
  auto pathOf = [&](int rank) {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, "part." + llvm::Twine(rank) + ".safetensors");
    return path.str().str();
  };
  int size = 0;
  while (llvm::sys::fs::exists(pathOf(size)))
    ++size;
  if (size == 0)
    return llvm::createStringError("'" + folder +
                                   "' has no 'part.0.safetensors': expected a folder that gnnc "
                                   "partition wrote");
  for (int rank = 0; rank < size; ++rank) {
    llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(pathOf(rank));
    if (!file)
      return file.takeError();
    llvm::Expected<Part> part = readPart(*file, rank, size);
    if (!part)
      return part.takeError();
    parts.push_back(std::move(*part));
  }
  return llvm::Error::success();
}

llvm::Error PartsInspector::addExtent(Part &part, llvm::StringRef space, int64_t extent) const {
  if (!model.info().findSpace(space))
    return llvm::createStringError("model '" + model.info().name + "' has no space '" + space + "'");
  if (extent < 0 || !part.extents.emplace(space.str(), extent).second)
    return llvm::createStringError("space '" + space + "': expected a number of elements from 0, once");
  return llvm::Error::success();
}

/// Extents that follow from others; all that costs go by are known then.
llvm::Error PartsInspector::completeExtents(Part &part) const {
  for (const SpaceInfo &space : model.info().spaces) {
    auto [base, role] = model.info().haloRole(space.name);
    auto own = part.extents.find(base.str()), halo = part.extents.find((base + ".halo").str());
    if (space.extent)
      part.extents.emplace(space.name, *space.extent);
    else if (role == HaloRole::All && own != part.extents.end() && halo != part.extents.end())
      part.extents.emplace(space.name, own->second + halo->second);
  }
  auto need = [&](const std::string &space) {
    return part.extents.count(space)
               ? llvm::Error::success()
               : llvm::createStringError("the number of elements of space '" + space + "' is not known: expected " +
                                         space + "=N among the extents");
  };
  for (const SpaceInfo &space : model.info().spaces) {
    auto [base, role] = model.info().haloRole(space.name);
    if ((role == HaloRole::Halo || role == HaloRole::Send) && part.extents.count(base.str()))
      if (llvm::Error error = need(space.name))
        return error;
  }
  for (const KernelInfo &kernel : model.info().kernels)
    for (const SymbolicExpr *cost : {&kernel.flops, &kernel.read, &kernel.written})
      for (const auto &[space, factor] : cost->getFactors())
        if (llvm::Error error = need(space))
          return error;
  return llvm::Error::success();
}

llvm::Error PartsInspector::assume(llvm::ArrayRef<std::string> extents, int ranks) {
  Part part;
  for (llvm::StringRef text : extents) {
    auto [space, number] = text.split('=');
    int64_t extent = 0;
    if (number.getAsInteger(10, extent))
      return llvm::createStringError("--extents: expected SPACE=ELEMENTS, found '" + text + "'");
    if (llvm::Error error = addExtent(part, space, extent))
      return error;
  }
  if (llvm::Error error = completeExtents(part))
    return error;
  for (const SpaceInfo &space : model.info().spaces)
    if (space.kind == "root" && model.info().haloRole(space.name).second == HaloRole::None &&
        part.extents.count(space.name))
      divided.push_back(space.name);
  parts.assign(size_t(ranks), part);
  return llvm::Error::success();
}

/// Adds the computed and the measured seconds of functions on a graph.
llvm::Error PartsInspector::readMeasured(const llvm::json::Value &value,
                                         std::map<std::string, std::vector<std::pair<double, double>>> &times) const {
  const llvm::json::Object *object = value.getAsObject();
  const llvm::json::Object *extents = object ? object->getObject("extents") : nullptr;
  const llvm::json::Object *seconds = object ? object->getObject("seconds") : nullptr;
  if (!extents || !seconds)
    return llvm::createStringError("expected an object with objects 'extents' and 'seconds', or an array of such");
  Part part;
  for (const auto &[space, extent] : *extents)
    if (llvm::Error error = addExtent(part, space, extent.getAsInteger().value_or(-1)))
      return error;
  if (llvm::Error error = completeExtents(part))
    return error;
  std::vector<std::string> known = functions();
  for (const auto &[function, number] : *seconds) {
    double computed = computedSeconds(function, part), found = number.getAsNumber().value_or(0);
    if (!llvm::is_contained(known, llvm::StringRef(function)) || !(found > 0) || !(computed > 0))
      return llvm::createStringError("expected functions of the model and times above 0, found '" +
                                     llvm::StringRef(function) + "'");
    times[llvm::StringRef(function).str()].emplace_back(computed, found);
  }
  return llvm::Error::success();
}

/// By how much the largest graph is larger than the smallest: a line needs two sizes.
constexpr double kLeastGrowth = 1e-6;

/// A line, by least squares where there are more than two times; none where all are of one size.
static std::optional<MeasuredLine> lineThrough(llvm::ArrayRef<std::pair<double, double>> times) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (auto [computed, found] : times)
    x += computed / double(times.size()), y += found / double(times.size());
  for (auto [computed, found] : times)
    xx += (computed - x) * (computed - x), xy += (computed - x) * (found - y);
  auto [fewest, most] = std::minmax_element(times.begin(), times.end());
  double least = fewest->second / fewest->first;
  if (times.size() == 1)
    return MeasuredLine{least, 0, least};
  if (most->first < fewest->first * (1 + kLeastGrowth) || !(xy > 0))
    return std::nullopt;
  return MeasuredLine{xy / xx, y - xy / xx * x, least};
}

llvm::Error PartsInspector::calibrate(const std::string &path) {
  auto wrong = [&](const llvm::Twine &what) { return llvm::createStringError("'" + path + "': " + what); };
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> text = readInputFile(path);
  if (!text)
    return text.takeError();
  llvm::Expected<llvm::json::Value> value = llvm::json::parse((*text)->getBuffer());
  if (!value)
    return wrong(llvm::toString(value.takeError()));
  const llvm::json::Array *several = value->getAsArray();
  llvm::ArrayRef<llvm::json::Value> graphs = several ? llvm::ArrayRef(several->data(), several->size()) : *value;
  if (graphs.empty())
    return wrong("expected times on one graph or more");
  std::map<std::string, std::vector<std::pair<double, double>>> times;
  for (const llvm::json::Value &graph : graphs)
    if (llvm::Error error = readMeasured(graph, times))
      return wrong(llvm::toString(std::move(error)));
  for (const auto &[function, found] : times) {
    std::optional<MeasuredLine> line = lineThrough(found);
    if (!line)
      return wrong("expected graphs of several sizes, and times that grow with them, found other times of '" +
                   function + "'");
    measured[function] = *line;
  }
  return llvm::Error::success();
}

std::string PartsInspector::title() const {
  std::string count = std::to_string(parts.size());
  return folder.empty() ? count + (parts.size() == 1 ? " part" : " parts") + " of these sizes"
                        : "the " + count + " parts in " + folder;
}

/// In the order of their kernels.
std::vector<std::string> PartsInspector::functions() const {
  std::vector<std::string> names;
  for (const KernelInfo &kernel : model.info().kernels)
    if (!llvm::is_contained(names, kernel.function))
      names.push_back(kernel.function);
  return names;
}

int64_t PartsInspector::count(llvm::StringRef function, llvm::StringRef kind) const {
  return llvm::count_if(model.info().kernels,
                        [&](const KernelInfo &kernel) { return kernel.function == function && kernel.kind == kind; });
}

int64_t PartsInspector::evaluate(const SymbolicExpr &expression, const Part &part) const {
  auto extents = [&](llvm::StringRef space) -> std::optional<int64_t> {
    auto found = part.extents.find(space.str());
    return found == part.extents.end() ? std::nullopt : std::optional(found->second);
  };
  return int64_t(expression.evaluate(extents).value_or(0));
}

Traffic PartsInspector::trafficOf(llvm::StringRef function, const Part &part) const {
  Traffic traffic;
  for (const KernelInfo &kernel : model.info().kernels)
    if (kernel.function == function && kernel.kind == "transfer") {
      traffic.sent += evaluate(kernel.read, part);
      traffic.received += evaluate(kernel.written, part);
    }
  return traffic;
}

int64_t PartsInspector::reducedBytes(llvm::StringRef function) const {
  int64_t bytes = 0;
  for (const KernelInfo &kernel : model.info().kernels)
    if (kernel.function == function && kernel.kind == "all_reduce")
      bytes += evaluate(kernel.written, parts.front());
  return bytes;
}

/// What all ranks together get of an input that does not change.
int64_t PartsInspector::bytesBefore(const TensorInfo &input) const {
  int64_t bytes = 0;
  for (const Part &part : parts) {
    int64_t own = part.extents.at(*input.space) * elementBytes(input.type);
    for (int64_t size : input.dims)
      own *= size;
    bytes += own;
  }
  return bytes;
}

/// Of a kernel on one rank; of a collective one, once all ranks are there.
double PartsInspector::secondsOf(const KernelInfo &kernel, const Part &part) const {
  double read = double(evaluate(kernel.read, part)), written = double(evaluate(kernel.written, part));
  double latency = parts.size() > 1 ? machine.latency * 1e-6 : 0;
  if (kernel.kind == "transfer")
    return latency + std::max(read, written) / (machine.link * 1e9);
  if (kernel.kind == "all_reduce")
    return latency + double(parts.size() - 1) * written / (machine.link * 1e9);
  return std::max(double(evaluate(kernel.flops, part)) / (machine.compute * 1e9),
                  (read + written) / (machine.bandwidth * 1e9));
}

/// Of a function's kernels on one rank, without what ranks do together.
double PartsInspector::computedSeconds(llvm::StringRef function, const Part &part) const {
  double seconds = 0;
  for (const KernelInfo &kernel : model.info().kernels)
    if (kernel.function == function && kernel.kind != "transfer" && kernel.kind != "all_reduce")
      seconds += secondsOf(kernel, part);
  return seconds;
}

PredictedTime PartsInspector::timeOf(llvm::StringRef function) const {
  PredictedTime time;
  time.computes = secondsOf(function, /*isFree=*/true);
  time.moves = secondsOf(function, /*isFree=*/false) - time.computes;
  return time;
}

/// Of a function, until the last rank is done. `isFree`: if nothing took time between ranks.
double PartsInspector::secondsOf(llvm::StringRef function, bool isFree) const {
  std::vector<double> factors(parts.size(), 1);
  if (auto known = measured.find(function.str()); known != measured.end())
    for (auto [factor, part] : llvm::zip(factors, parts))
      factor = known->second.factor(computedSeconds(function, part));
  std::vector<double> clock(parts.size(), 0);
  double linkIsFree = 0;                 // What ranks do together is one after the other.
  std::map<std::string, double> arrival; // of rows that kernels run meanwhile, by the transfer's name
  auto waitUntil = [&](double then) {
    for (double &own : clock)
      own = std::max(own, then);
  };
  std::set<std::string> awaited;
  for (const KernelInfo &kernel : model.info().kernels)
    awaited.insert(kernel.awaits);
  for (const KernelInfo &kernel : model.info().kernels) {
    if (kernel.function != function)
      continue;
    if (kernel.kind == "await") {
      waitUntil(arrival[kernel.awaits]);
      continue;
    }
    std::vector<double> seconds;
    for (const Part &part : parts)
      seconds.push_back(secondsOf(kernel, part));
    if (kernel.kind != "transfer" && kernel.kind != "all_reduce") {
      for (auto [rank, own] : llvm::enumerate(seconds))
        clock[rank] += factors[rank] * own;
      continue;
    }
    // It begins when the last rank is there.
    linkIsFree = std::max(linkIsFree, *llvm::max_element(clock)) + (isFree ? 0 : *llvm::max_element(seconds));
    if (awaited.count(kernel.name))
      arrival[kernel.name] = linkIsFree;
    else
      waitUntil(linkIsFree);
  }
  return *llvm::max_element(clock);
}

void PartsInspector::printText(llvm::raw_ostream &out) const {
  out << "model " << model.info().name << " on " << title() << "\n";
  Table table;
  std::vector<std::string> head = {"rank"};
  for (const std::string &space : divided) {
    head.push_back(space);
    if (model.info().hasHalo(space))
      llvm::append_values(head, std::string("halo"), std::string("sends"));
  }
  if (!folder.empty())
    head.push_back("graph");
  for (const auto &[program, bytes] : parts.front().workspaces)
    head.push_back("workspace " + program);
  table.add(head);
  for (auto [rank, part] : llvm::enumerate(parts)) {
    std::vector<std::string> row = {std::to_string(rank)};
    for (const std::string &space : divided) {
      row.push_back(formatCount(part.extents.at(space)));
      if (model.info().hasHalo(space))
        for (const char *role : {".halo", ".send"})
          row.push_back(formatCount(part.extents.at(space + role)));
    }
    if (!folder.empty())
      row.push_back(formatBytes(part.graphBytes));
    for (const auto &[program, bytes] : parts.front().workspaces)
      row.push_back(part.workspaces.count(program) ? formatBytes(part.workspaces.at(program)) : "");
    table.add(row);
  }
  table.print(out);
  for (const std::string &function : functions()) {
    int64_t transfers = count(function, "transfer"), reductions = count(function, "all_reduce");
    if (transfers + reductions == 0)
      continue;
    out << "function " << function << ": " << transfers << (transfers == 1 ? " transfer" : " transfers");
    if (reductions > 0)
      out << ", " << reductions << (reductions == 1 ? " value" : " values") << " of "
          << formatBytes(uint64_t(reducedBytes(function))) << (reductions == 1 ? "" : " together")
          << " combined over all ranks";
    out << "\n";
    Table moved;
    moved.add({"rank", "sends", "receives"});
    Traffic all;
    for (auto [rank, part] : llvm::enumerate(parts)) {
      Traffic traffic = trafficOf(function, part);
      moved.add({std::to_string(rank), formatBytes(uint64_t(traffic.sent)), formatBytes(uint64_t(traffic.received))});
      all.sent += traffic.sent;
      all.received += traffic.received;
    }
    moved.add({"all", formatBytes(uint64_t(all.sent)), formatBytes(uint64_t(all.received))});
    if (transfers > 0)
      moved.print(out);
    PredictedTime time = timeOf(function);
    out << "  predicted: " << formatSeconds(time.seconds()) << ", of which " << formatSeconds(time.moves)
        << " between ranks\n";
  }
  for (const TensorInfo &input : model.info().inputs)
    if (!input.haloOf.empty())
      out << "before the first run: " << input.name << ", " << formatBytes(uint64_t(bytesBefore(input))) << " in all\n";
  out << llvm::format("predicted for ranks with %g GFLOP/s and %g GB/s of memory each, links of %g GB/s each way and "
                      "%g us a step between ranks\n",
                      machine.compute, machine.bandwidth, machine.link, machine.latency);
}

void PartsInspector::printJSON(llvm::raw_ostream &out) const {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attribute("model", model.info().name);
    json.attribute("partition", partition);
    json.attributeObject("machine", [&] {
      json.attribute("link_gb_per_s", machine.link);
      json.attribute("latency_us", machine.latency);
      json.attribute("bandwidth_gb_per_s", machine.bandwidth);
      json.attribute("compute_gflop_per_s", machine.compute);
    });
    json.attributeObject("predicted_seconds", [&] {
      for (const std::string &function : functions())
        json.attributeObject(function, [&] {
          PredictedTime time = timeOf(function);
          json.attribute("all", time.seconds());
          json.attribute("between_ranks", time.moves);
        });
    });
    json.attributeArray("ranks", [&] {
      for (const Part &part : parts)
        json.object([&] {
          json.attributeObject("extents", [&] {
            for (const auto &[space, extent] : part.extents)
              json.attribute(space, extent);
          });
          json.attribute("graph_bytes", int64_t(part.graphBytes));
          json.attributeObject("workspace_bytes", [&] {
            for (const auto &[program, bytes] : part.workspaces)
              json.attribute(program, int64_t(bytes));
          });
          json.attributeObject("functions", [&] {
            for (const std::string &function : functions())
              json.attributeObject(function, [&] {
                Traffic traffic = trafficOf(function, part);
                json.attribute("sent_bytes", traffic.sent);
                json.attribute("received_bytes", traffic.received);
                json.attribute("reduced_bytes", reducedBytes(function));
              });
          });
        });
    });
  });
  out << "\n";
}

llvm::Error gnnc::inspectParts(const ModelFile &model, const InspectArguments &arguments, llvm::raw_ostream &out) {
  PartsInspector inspector(model, arguments);
  llvm::Error error =
      arguments.extents.empty() ? inspector.read() : inspector.assume(arguments.extents, arguments.ranks);
  if (!error && !arguments.measured.empty())
    error = inspector.calibrate(arguments.measured);
  if (error)
    return error;
  arguments.json ? inspector.printJSON(out) : inspector.printText(out);
  return llvm::Error::success();
}
