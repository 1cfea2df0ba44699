//===- Bench.cpp - gnnc bench ---------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ModelOnGraph.h"
#include "Report.h"
#include "gnnc/Host/GraphInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace gnnc;

namespace {

struct Measurement {
  double first = 0;         ///< the first run, caches and branch predictors cold
  std::vector<double> runs; ///< the others, rising
  double median() const {
    size_t half = runs.size() / 2;
    return runs.size() % 2 ? runs[half] : (runs[half - 1] + runs[half]) / 2;
  }
};

} // namespace

/// Runs the model once and then `repeat` times, or for about a second, ten to ten thousand times.
static llvm::Expected<Measurement> measure(ModelOnGraph &onGraph, const Parameters &params, unsigned repeat,
                                           llvm::StringRef device) {
  Measurement result;
  Stopwatch watch;
  if (llvm::Error error = onGraph.run(params))
    return std::move(error);
  result.first = watch.lap();
  if (llvm::Error error = onGraph.bind(params))
    return std::move(error);
  // A GPU works through a few runs at a time, so that what it takes to start one is hidden as it is in a service.
  unsigned batch = device == "cpu" ? 1 : 20;
  Progress progress;
  double total = 0;
  auto isEnough = [&] {
    size_t count = result.runs.size();
    return repeat ? count >= repeat : count >= 10 && (total >= 1 || count >= 10000);
  };
  for (;;) {
    // Clocks of ranks differ.
    llvm::Expected<int64_t> ends = runRanks() ? runRanks()->ofFirst(isEnough()) : int64_t(isEnough());
    if (!ends)
      return ends.takeError();
    if (*ends)
      break;
    watch.lap();
    if (llvm::Error error = onGraph.repeat(batch))
      return std::move(error);
    result.runs.push_back(watch.lap() / batch);
    double before = total;
    total += result.runs.back();
    if (int(total * 4) != int(before * 4)) // four times a second
      progress.show("run " + llvm::Twine(result.runs.size()));
  }
  llvm::sort(result.runs);
  return result;
}

/// Which of the object's code runs.
static std::string codeOf(const ModelOnGraph &onGraph) {
  if (llvm::Expected<std::string> text = onGraph.session().describeGraph()) {
    if (llvm::Expected<GraphInfo> info = GraphInfo::parse(*text))
      return info->code;
    else
      llvm::consumeError(info.takeError());
  } else {
    llvm::consumeError(text.takeError());
  }
  return {};
}

static void printJSON(const BenchArguments &arguments, const ModelOnGraph &onGraph, const Measurement &time) {
  llvm::json::OStream json(llvm::outs(), 2);
  json.object([&] {
    json.attribute("model", onGraph.model().info().name);
    json.attribute("program", arguments.program);
    json.attribute("graph", llvm::json::fixUTF8(arguments.graph));
    json.attribute("device", arguments.device);
    json.attribute("code", codeOf(onGraph));
    json.attribute("threads", arguments.threads);
    json.attribute("ranks", runRanks() ? runRanks()->size() : 1);
    json.attributeObject("extents", [&] {
      for (const SpaceInfo &space : onGraph.model().info().spaces)
        json.attribute(space.name, onGraph.session().extent(space.name));
    });
    json.attributeObject("seconds", [&] {
      json.attribute("load", onGraph.loadSeconds());
      json.attribute("read_graph", onGraph.readSeconds());
      json.attribute("prepare", onGraph.prepareSeconds());
      json.attribute("first_run", time.first);
      json.attribute("median", time.median());
      json.attribute("min", time.runs.front());
      json.attribute("max", time.runs.back());
    });
    json.attribute("runs", int64_t(time.runs.size()));
    json.attribute("graph_bytes", int64_t(onGraph.session().graphBytes()));
    json.attribute("workspace_bytes", int64_t(onGraph.program().workspaceBytes()));
  });
  llvm::outs() << "\n";
}

static void printText(const BenchArguments &arguments, const ModelOnGraph &onGraph, const Measurement &time) {
  llvm::raw_ostream &out = llvm::outs();
  const Session &session = onGraph.session();
  out << "model " << onGraph.model().info().name << " on " << arguments.graph << ", ";
  if (runRanks())
    out << runRanks()->size() << " ranks, times of the first, ";
  if (std::string code = codeOf(onGraph); !code.empty())
    out << "code for " << code << ", ";
  if (arguments.device != "cpu")
    out << arguments.device << "\n";
  else if (arguments.threads == 0)
    out << "a thread for each processor\n";
  else
    out << arguments.threads << (arguments.threads == 1 ? " thread\n" : " threads\n");
  double cold = onGraph.loadSeconds() + onGraph.prepareSeconds() + time.first;
  Table table;
  table.add({"cold start", formatSeconds(cold),
             "load " + formatSeconds(onGraph.loadSeconds()) + ", prepare " + formatSeconds(onGraph.prepareSeconds()) +
                 ", first run " + formatSeconds(time.first)});
  table.add({"run", formatSeconds(time.median()),
             "median of " + formatCount(int64_t(time.runs.size())) + ", min " + formatSeconds(time.runs.front()) +
                 ", max " + formatSeconds(time.runs.back())});
  table.add({"workspace", formatBytes(onGraph.program().workspaceBytes())});
  table.add({"prepared graph", formatBytes(session.graphBytes())});
  table.print(out);
}

int gnnc::runBench(const BenchArguments &arguments) {
  llvm::Expected<std::unique_ptr<ModelOnGraph>> onGraph = ModelOnGraph::create(
      arguments.model, arguments.graph, arguments.threads, arguments.program, arguments.device, arguments.tuning);
  if (!onGraph)
    return fail(onGraph.takeError());
  llvm::Expected<Parameters> params = Parameters::random((*onGraph)->model().info(), (*onGraph)->extents(), /*seed=*/0);
  if (!params)
    return fail(params.takeError());
  const ProgramInfo &program = *(*onGraph)->model().info().findProgram(arguments.program);
  if (llvm::Error error = params->addEmbedded((*onGraph)->model(), llvm::ArrayRef(program.updates)))
    return fail(std::move(error));
  if (llvm::Error error = (*onGraph)->fillGradients(/*seed=*/1))
    return fail(std::move(error));
  llvm::Expected<Measurement> time = measure(**onGraph, *params, arguments.repeat, arguments.device);
  if (!time)
    return fail(time.takeError());
  (arguments.json ? printJSON : printText)(arguments, **onGraph, *time);
  return ExitOk;
}
