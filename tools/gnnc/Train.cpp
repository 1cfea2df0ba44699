//===- Train.cpp - gnnc train ---------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Files.h"
#include "ModelOnGraph.h"
#include "Report.h"
#include "TrainLog.h"
#include "gnnc/Host/Trainer.h"
#include "gnnc/Support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cmath>
#include <csignal>

using namespace gnnc;

static volatile std::sig_atomic_t interrupted = 0;

static void interrupt(int) { interrupted = 1; }

namespace {

/// Ends training between two epochs when somebody wants it to; a second signal ends the process.
struct WatchInterrupts {
  WatchInterrupts() {
    struct sigaction action = {};
    action.sa_handler = interrupt;
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
  }
};

class Training {
public:
  Training(const TrainArguments &arguments, Trainer &trainer) : arguments(arguments), trainer(trainer) {}

  /// All runs; prints what came of them.
  llvm::Error run();

private:
  llvm::Error runOnce(uint64_t seed);
  llvm::Expected<bool> agree(bool saves);
  void showProgress(Progress &progress) const;
  void printBest(llvm::StringRef title) const;
  bool isOutOfPatience() const;
  void printSummary() const;
  llvm::Error saveBest() const;

  const TrainArguments &arguments;
  Trainer &trainer;
  std::optional<TrainLog> log;
  std::vector<Metrics> results;
  bool isStopped = false; ///< a signal came
};

} // namespace

static bool isFirst() { return !runRanks() || runRanks()->rank() == 0; }

static std::string formatMetrics(const Metrics &metrics) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const auto &[name, value] : metrics)
    out << (text.empty() ? "" : ", ") << name << llvm::format(" %.4f", value);
  return text;
}

void Training::showProgress(Progress &progress) const {
  constexpr int kWidth = 24;
  int filled = int(kWidth * trainer.epochs() / arguments.epochs);
  std::string bar(filled, '#');
  bar.resize(kWidth, '.');
  std::string text;
  llvm::raw_string_ostream(text) << "[" << bar << "] epoch " << trainer.epochs() << "/" << arguments.epochs
                                 << llvm::format(", loss %.4f", trainer.loss())
                                 << (trainer.metrics().empty() ? "" : ", ") << formatMetrics(trainer.metrics());
  progress.show(text);
}

void Training::printBest(llvm::StringRef title) const {
  llvm::outs() << title << "best epoch " << trainer.bestEpoch() << " of " << trainer.epochs() << " by the "
               << trainer.selection() << ": " << formatMetrics(trainer.bestMetrics()) << "\n";
}

bool Training::isOutOfPatience() const {
  return arguments.patience > 0 && trainer.epochs() - trainer.bestEpoch() >= arguments.patience;
}

/// Ranks stop, and save (`saves` says whether this one would), at the same epoch: a signal comes to each at another
/// time, and their clocks differ.
llvm::Expected<bool> Training::agree(bool saves) {
  isStopped = interrupted;
  const RunRanks *ranks = runRanks();
  if (!ranks)
    return saves;
  if (llvm::Error error = ranks->check())
    return std::move(error);
  std::array<int64_t, 2> own = {isStopped, saves};
  std::vector<std::array<int64_t, 2>> all(size_t(ranks->size()));
  if (llvm::Error error = ranks->gather(own.data(), all.data(), sizeof own))
    return std::move(error);
  isStopped = llvm::any_of(all, [](const std::array<int64_t, 2> &each) { return each[0] != 0; });
  return all[0][1] != 0;
}

llvm::Error Training::runOnce(uint64_t seed) {
  if (llvm::Error error = trainer.initialize(seed))
    return error;
  bool resumes = !arguments.checkpoint.empty() && llvm::sys::fs::exists(arguments.checkpoint);
  if (runRanks()) {
    llvm::Expected<int64_t> first = runRanks()->ofFirst(resumes);
    if (!first)
      return first.takeError();
    resumes = *first;
  }
  if (resumes) {
    if (llvm::Error error = trainer.loadCheckpoint(arguments.checkpoint))
      return error;
    llvm::outs() << "resuming after epoch " << trainer.epochs() << " of " << arguments.checkpoint;
    if (trainer.epochs() >= arguments.epochs)
      llvm::outs() << ": all " << arguments.epochs << " epochs are done";
    else if (isOutOfPatience())
      llvm::outs() << ": it had stopped " << trainer.epochs() - trainer.bestEpoch() << " epochs after the best one";
    llvm::outs() << "\n";
  }
  // One log for all runs; where it goes on is known now.
  if (isFirst() && !arguments.log.empty() && !log) {
    llvm::Expected<TrainLog> opened = TrainLog::open(arguments.log, trainer.epochs());
    if (!opened)
      return opened.takeError();
    log = std::move(*opened);
  }
  Progress progress;
  Stopwatch watch;
  double sinceShown = 1, sinceSaved = 0;
  while (trainer.epochs() < arguments.epochs && !isOutOfPatience()) {
    llvm::Expected<bool> saves = agree(!arguments.checkpoint.empty() && sinceSaved >= 10);
    if (!saves)
      return saves.takeError();
    if (*saves) {
      if (llvm::Error error = trainer.saveCheckpoint(arguments.checkpoint))
        return error;
      sinceSaved = 0;
    }
    if (isStopped)
      break;
    llvm::Expected<bool> better = trainer.epoch();
    if (!better)
      return better.takeError();
    double seconds = watch.lap();
    if (log)
      if (llvm::Error error = log->add(trainer, seed, seconds))
        return error;
    sinceShown += seconds;
    sinceSaved += seconds;
    if (sinceShown >= 0.1 && isFirst()) {
      showProgress(progress);
      sinceShown = 0;
    }
    // Nobody wants to go on from there.
    if (!std::isfinite(trainer.loss()))
      return llvm::createStringError("the loss of epoch " + llvm::Twine(trainer.epochs()) +
                                     " is not finite; a smaller learning rate may help");
  }
  return arguments.checkpoint.empty() ? llvm::Error::success() : trainer.saveCheckpoint(arguments.checkpoint);
}

/// Mean and standard deviation over the runs.
void Training::printSummary() const {
  for (size_t i = 0; i < results.front().size(); ++i) {
    double sum = 0, squares = 0, count = double(results.size());
    for (const Metrics &metrics : results)
      sum += metrics[i].second;
    for (const Metrics &metrics : results)
      squares += (metrics[i].second - sum / count) * (metrics[i].second - sum / count);
    llvm::outs() << results.front()[i].first << " "
                 << llvm::format("%.4f +- %.4f", sum / count, std::sqrt(squares / std::max(count - 1, 1.0))) << " over "
                 << results.size() << " runs\n";
  }
}

llvm::Error Training::saveBest() const {
  if (arguments.paramsOut.empty() || trainer.bestEpoch() == 0)
    return llvm::Error::success();
  if (llvm::Error error = trainer.saveBest(arguments.paramsOut))
    return error;
  llvm::outs() << "wrote " << arguments.paramsOut << "\n";
  return llvm::Error::success();
}

llvm::Error Training::run() {
  // Not when hours have gone by.
  for (const std::string &path : {arguments.paramsOut, arguments.checkpoint})
    if (isFirst() && !path.empty())
      if (llvm::Error error = checkOutputFile(path))
        return error;
  Stopwatch watch;
  for (int64_t i = 0; i < arguments.runs && !isStopped; ++i) {
    uint64_t seed = arguments.seed + uint64_t(i);
    if (llvm::Error error = runOnce(seed)) // What went well before is kept.
      return llvm::joinErrors(std::move(error), saveBest());
    if (isStopped)
      break;
    results.push_back(trainer.bestMetrics());
    printBest(arguments.runs > 1 ? "seed " + std::to_string(seed) + ": " : "");
  }
  if (arguments.runs > 1 && !results.empty())
    printSummary();
  if (llvm::Error error = saveBest())
    return error;
  llvm::outs() << "trained in " << formatSeconds(watch.lap()) << "\n";
  if (isStopped)
    return llvm::createStringError(
        "interrupted after epoch " + llvm::Twine(trainer.epochs()) +
        (arguments.checkpoint.empty() ? "" : "; run the same command to resume from '" + arguments.checkpoint + "'"));
  return llvm::Error::success();
}

int gnnc::runTrain(const TrainArguments &arguments) {
  if (llvm::Error error = checkOverwriting(
          {{"--params-out", arguments.paramsOut}, {"--log", arguments.log}, {"--checkpoint", arguments.checkpoint}},
          {{"the model", arguments.model}, {"--graph", arguments.graph}, {"--tuning", arguments.tuning}}))
    return fail(std::move(error));
  llvm::Expected<std::unique_ptr<ModelOnGraph>> onGraph = ModelOnGraph::create(
      arguments.model, arguments.graph, arguments.threads, "train_step", arguments.device, arguments.tuning,
      /*makesProgram=*/false);
  if (!onGraph)
    return fail(onGraph.takeError());
  llvm::Expected<Trainer> trainer = Trainer::create((*onGraph)->model(), (*onGraph)->session(), (*onGraph)->bound(),
                                                    arguments.select, (*onGraph)->divided());
  if (!trainer)
    return fail(trainer.takeError());
  if (llvm::any_of((*onGraph)->model().info().params, [](const TensorInfo &param) { return param.embedded; }))
    llvm::outs() << "starting from the parameters in " << arguments.model << "\n";
  WatchInterrupts watch;
  if (llvm::Error error = Training(arguments, *trainer).run())
    return fail(std::move(error));
  return ExitOk;
}
