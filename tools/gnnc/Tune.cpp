//===- Tune.cpp - gnnc tune -----------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a program with each alternative of its function, and on a GPU with each way to share a sweep's owners among its
// schedules, one sweep after the other. What is at least a few hundredths faster than the runtime's own choice is
// written to a file, in the form that lib/Runtime/Tuning.h states.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Files.h"
#include "ModelOnGraph.h"
#include "Report.h"
#include "gnnc/Host/GraphInfo.h"
#include "gnnc/Support/InputFile.h"
#include "gnnc/Support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>
#include <map>

using namespace gnnc;

/// A choice must be so much faster than what it replaces to be remembered.
constexpr double kWorthwhile = 0.97;
/// More members than any item has: a schedule from there on gets none but shares of heavy owners.
constexpr int64_t kNever = 1 << 20;

static std::string outputPath(const TuneArguments &arguments) {
  return arguments.output.empty() ? arguments.model + ".tune" : arguments.output;
}

namespace {

/// What a tuning says of one graph.
struct Choices {
  std::map<std::string, std::string> functions;
  struct Sweep {
    bool bySize = false;
    std::vector<int64_t> least; ///< for each schedule but the last
  };
  std::map<std::string, Sweep> sweeps;
};

class Tuner {
public:
  Tuner(const TuneArguments &arguments, ModelOnGraph &onGraph, const Parameters &params)
      : arguments(arguments), onGraph(onGraph), params(params) {}

  llvm::Error run();

private:
  std::string head() const { return "gnnc-tune 1 " + plain.digest + "\n"; }
  std::string section(const Choices &choices) const;
  llvm::Expected<GraphInfo> describe() const;
  /// Seconds of the fastest runs with these choices.
  llvm::Expected<double> measure(const Choices &choices);
  llvm::Error tryChoice(const llvm::Twine &what, Choices with);
  llvm::Error tryFunctions();
  llvm::Error trySweeps();
  std::vector<std::vector<int64_t>> optionsOf(const SweepChoice &sweep, const KernelInfo &kernel, bool bySize) const;
  llvm::Error confirm();
  llvm::Error write();
  std::string keptFrom(llvm::StringRef text) const;

  const TuneArguments &arguments;
  ModelOnGraph &onGraph;
  const Parameters &params;
  Table table;
  Progress progress;
  GraphInfo plain; ///< what the runtime chooses by itself
  std::string function;
  std::string before; ///< what the file said
  Choices best;
  double plainSeconds = 0, bestSeconds = 0;
};

} // namespace

std::string Tuner::section(const Choices &choices) const {
  std::string text = "graph " + plain.device;
  if (plain.device == "cuda")
    text += " " + std::to_string(plain.architecture);
  text += "\n";
  for (const auto &[space, extent] : plain.extents)
    text += "extent " + space + " " + std::to_string(extent) + "\n";
  for (const auto &[name, chosen] : choices.functions)
    text += "function " + name + " " + chosen + "\n";
  for (const auto &[kernel, sweep] : choices.sweeps) {
    text += "sweep " + kernel + (sweep.bySize ? " by_size" : " by_owner");
    for (int64_t least : sweep.least)
      text += " " + std::to_string(least);
    text += "\n";
  }
  return text;
}

llvm::Expected<GraphInfo> Tuner::describe() const {
  llvm::Expected<std::string> text = onGraph.session().describeGraph();
  return text ? GraphInfo::parse(*text) : text.takeError();
}

llvm::Expected<double> Tuner::measure(const Choices &choices) {
  if (llvm::Error error = onGraph.prepareWith(head() + section(choices)))
    return std::move(error);
  if (llvm::Error error = onGraph.run(params))
    return std::move(error);
  if (llvm::Error error = onGraph.bind(params))
    return std::move(error);
  unsigned batch = onGraph.session().isOnCPU() ? 1 : 20;
  double least = std::numeric_limits<double>::infinity(), total = 0;
  Stopwatch watch;
  for (int count = 0; count < 5 || total < arguments.seconds; ++count) {
    watch.lap();
    if (llvm::Error error = onGraph.repeat(batch))
      return std::move(error);
    double seconds = watch.lap();
    total += seconds;
    least = std::min(least, seconds / batch);
  }
  return least;
}

/// Keeps the choice if it is the fastest so far.
llvm::Error Tuner::tryChoice(const llvm::Twine &what, Choices with) {
  progress.show(what);
  llvm::Expected<double> seconds = measure(with);
  if (!seconds)
    return seconds.takeError();
  bool better = *seconds < bestSeconds * kWorthwhile;
  table.add({what.str(), formatSeconds(*seconds), better ? "the fastest so far" : ""});
  if (better) {
    best = std::move(with);
    bestSeconds = *seconds;
  }
  return llvm::Error::success();
}

llvm::Error Tuner::tryFunctions() {
  for (const FunctionChoice &choice : plain.functions)
    for (const FunctionCost &cost : choice.costs)
      if (choice.function == function && cost.function != choice.chosen) {
        Choices with;
        with.functions[function] = cost.function;
        if (llvm::Error error = tryChoice(cost.function, std::move(with)))
          return error;
      }
  return llvm::Error::success();
}

/// For each schedule, all owners; where owners are sorted by their sizes also other limits between schedules.
std::vector<std::vector<int64_t>> Tuner::optionsOf(const SweepChoice &sweep, const KernelInfo &kernel,
                                                   bool bySize) const {
  size_t count = sweep.launches.size() - 1;
  std::vector<std::vector<int64_t>> options;
  for (size_t only = 0; only <= count; ++only) {
    std::vector<int64_t> least(count, 0);
    std::fill_n(least.begin(), only, kNever);
    options.push_back(std::move(least));
  }
  for (double factor : {0.25, 0.5, 2.0, 4.0}) {
    std::vector<int64_t> least;
    for (size_t i = 0; bySize && i < count; ++i) {
      int64_t own = kernel.schedules[i].least; // 0: what follows has none by the rule
      least.push_back(own ? std::max<int64_t>(int64_t(double(own) * factor), 1) : 0);
    }
    if (bySize)
      options.push_back(std::move(least));
  }
  return options;
}

llvm::Error Tuner::trySweeps() {
  // The sweeps are those of the function that is the fastest so far.
  if (llvm::Error error = onGraph.prepareWith(head() + section(best)))
    return error;
  llvm::Expected<GraphInfo> graph = describe();
  if (!graph)
    return graph.takeError();
  std::string running = best.functions.count(function) ? best.functions[function] : function;
  for (const FunctionChoice &choice : plain.functions)
    if (choice.function == function && !best.functions.count(function))
      running = choice.chosen;
  for (const SweepChoice &sweep : graph->sweeps) {
    auto kernel = llvm::find_if(onGraph.model().info().kernels, [&](const KernelInfo &k) {
      return !k.schedules.empty() && k.schedules.front().kernel == sweep.kernel;
    });
    const WorklistInfo *list = graph->findWorklist(sweep.map);
    if (sweep.function != running || sweep.launches.size() < 2 || !list ||
        kernel == onGraph.model().info().kernels.end() || kernel->schedules.size() != sweep.launches.size())
      continue;
    for (std::vector<int64_t> &least : optionsOf(sweep, *kernel, list->bySize)) {
      // What the rule does anyway was measured.
      bool isOwn = !list->bySize;
      for (size_t i = 0; isOwn && i < sweep.launches.size(); ++i) {
        bool takesAll = (i == 0 || least[i - 1] >= kNever) && (i == least.size() || least[i] == 0);
        isOwn = (sweep.launches[i].items > 0) == takesAll;
      }
      if (isOwn)
        continue;
      Choices with = best;
      std::string limits = llvm::join(
          llvm::map_range(least,
                          [](int64_t m) { return m >= kNever ? std::string("never") : "from " + std::to_string(m); }),
          ", ");
      with.sweeps[sweep.kernel] = {list->bySize, std::move(least)};
      if (llvm::Error error = tryChoice(sweep.kernel + ", " + limits, std::move(with)))
        return error;
    }
  }
  return llvm::Error::success();
}

/// Once more, one beside the other: a winner among many may have been lucky.
llvm::Error Tuner::confirm() {
  if (best.functions.empty() && best.sweeps.empty())
    return llvm::Error::success();
  double least[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (int round = 0; round < 4; ++round) {
    progress.show("measuring again");
    llvm::Expected<double> seconds = measure(round % 2 ? best : Choices());
    if (!seconds)
      return seconds.takeError();
    least[round % 2] = std::min(least[round % 2], *seconds);
  }
  plainSeconds = least[0], bestSeconds = least[1];
  if (bestSeconds >= plainSeconds * kWorthwhile)
    best = Choices(), bestSeconds = plainSeconds;
  return llvm::Error::success();
}

/// The lines that have words, without comments, and the words one space apart.
static std::string wordsOf(llvm::StringRef text) {
  std::string result;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef> words;
    llvm::SplitString(line.split('#').first, words, " \t\r");
    if (!words.empty())
      result += llvm::join(words, " ") + "\n";
  }
  return result;
}

/// What a file of the same compilation says of other graphs, and of this graph's other functions.
std::string Tuner::keptFrom(llvm::StringRef text) const {
  std::string kept, own, identity = section(Choices()), words = wordsOf(text);
  llvm::StringRef all = words;
  llvm::SmallVector<llvm::StringRef> lines;
  if (!all.consume_front(head()))
    return "";
  all.split(lines, '\n', -1, /*KeepEmpty=*/false);
  auto isOfOther = [&](llvm::StringRef line) {
    llvm::StringRef key = line.split(' ').first, name = line.split(' ').second.split(' ').first;
    if (key == "function")
      return name != function;
    auto kernel = llvm::find_if(onGraph.model().info().kernels, [&](const KernelInfo &k) {
      return !k.schedules.empty() && k.schedules.front().kernel == name;
    });
    return key == "sweep" && kernel != onGraph.model().info().kernels.end() && kernel->function != function &&
           !llvm::StringRef(kernel->function).starts_with(function + ".");
  };
  for (size_t i = 0; i < lines.size();) {
    std::string same, rest;
    for (bool isFirst = true; i < lines.size() && (isFirst || !lines[i].starts_with("graph ")); ++i, isFirst = false)
      (lines[i].starts_with("graph ") || lines[i].starts_with("extent ") ? same : rest) += lines[i].str() + "\n";
    if (same != identity) {
      kept += same + rest;
      continue;
    }
    llvm::SmallVector<llvm::StringRef> choices;
    llvm::StringRef(rest).split(choices, '\n', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef choice : choices)
      if (isOfOther(choice))
        own += choice.str() + "\n";
  }
  // This graph's section stands last, so that what is added next belongs to it.
  return kept + identity + own;
}

llvm::Error Tuner::write() {
  std::string path = outputPath(arguments);
  std::string kept = keptFrom(before);
  if (kept.empty())
    kept = section(Choices());
  // An alternative that was measured stays chosen, whatever the formulas say.
  for (const FunctionChoice &choice : plain.functions)
    if (choice.function == function)
      best.functions.try_emplace(function, choice.chosen);
  std::string text = head() + kept + section(best).substr(section(Choices()).size());
  text += llvm::formatv("# {0}: {1}, {2} by default\n", arguments.program, formatSeconds(bestSeconds),
                        formatSeconds(plainSeconds))
              .str();
  // Nobody shall find later that it cannot be read.
  if (llvm::Error error = onGraph.prepareWith(text))
    return error;
  if (llvm::Error error = writeOutputFile(path, text))
    return error;
  llvm::outs() << "wrote " << path << "\n";
  return llvm::Error::success();
}

llvm::Error Tuner::run() {
  llvm::Expected<GraphInfo> graph = describe();
  if (!graph)
    return graph.takeError();
  plain = std::move(*graph);
  // What a file of the same compilation says already is kept, so it must be right.
  std::string path = outputPath(arguments);
  if (llvm::sys::fs::is_regular_file(path)) {
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> bytes = readInputFile(path);
    if (!bytes)
      return bytes.takeError();
    before = (*bytes)->getBuffer().str();
    std::string words = wordsOf(before);
    llvm::StringRef mark = llvm::StringRef(words).split('\n').first;
    if (!mark.empty() && !mark.starts_with("gnnc-tune "))
      return llvm::createStringError("'" + path + "' is not replaced: expected a file that gnnc tune wrote, found '" +
                                     mark.take_front(40) + "'");
  }
  if (!keptFrom(before).empty())
    if (llvm::Error error = onGraph.prepareWith(before, path))
      return error;
  // The halves of a gradient are parts of one function.
  function = llvm::StringRef(arguments.program).split('.').first.str();
  llvm::Expected<double> seconds = measure(Choices());
  if (!seconds)
    return seconds.takeError();
  plainSeconds = bestSeconds = *seconds;
  table.add({"default choice", formatSeconds(plainSeconds), ""});
  if (llvm::Error error = tryFunctions())
    return error;
  if (llvm::Error error = trySweeps())
    return error;
  if (llvm::Error error = confirm())
    return error;
  table.print(llvm::outs());
  for (const auto &[name, chosen] : best.functions)
    llvm::outs() << name << ": " << chosen << "\n";
  for (const auto &[kernel, sweep] : best.sweeps)
    llvm::outs() << kernel << ": schedules "
                 << llvm::join(llvm::map_range(sweep.least, [](int64_t m) { return std::to_string(m); }), ", ") << "\n";
  if (best.functions.empty() && best.sweeps.empty())
    llvm::outs() << "nothing is faster than the default, " << formatSeconds(plainSeconds) << "\n";
  else
    llvm::outs() << formatSeconds(bestSeconds) << " instead of " << formatSeconds(plainSeconds) << "\n";
  return write();
}

int gnnc::runTune(const TuneArguments &arguments) {
  std::string path = outputPath(arguments);
  if (llvm::Error error =
          checkOverwriting({{"--output", path}}, {{"the model", arguments.model}, {"--graph", arguments.graph}}))
    return fail(std::move(error));
  if (llvm::Error error = checkOutputFile(path))
    return fail(std::move(error));
  llvm::Expected<std::unique_ptr<ModelOnGraph>> onGraph =
      ModelOnGraph::create(arguments.model, arguments.graph, arguments.threads, arguments.program, arguments.device);
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
  if (llvm::Error error = Tuner(arguments, **onGraph, *params).run())
    return fail(std::move(error));
  return ExitOk;
}
