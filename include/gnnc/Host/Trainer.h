//===- Trainer.h - Training a compiled model --------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a model's programs `initialize`, `train_step` and `evaluate` over parameters and states that it owns, keeps
// those of the best epoch, and saves and restores all of it. The model alone decides what a step computes. On a device
// everything stays there: an epoch is one recording that is replayed, and only the loss and the metrics are brought
// back.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_TRAINER_H
#define GNNC_HOST_TRAINER_H

#include "gnnc/Host/DividedRows.h"
#include "gnnc/Host/GraphFile.h"
#include "gnnc/Host/ModelFile.h"
#include "gnnc/Host/Parameters.h"

namespace gnnc {

/// A metric's name and value.
using Metrics = std::vector<std::pair<std::string, double>>;

class Trainer {
public:
  /// `session` and `graph` must outlive the trainer and must not be moved. An error if the model has no train statement
  /// or the graph lacks what training needs. `select`: the metric that decides which epoch is the best, as NAME,
  /// NAME:min or NAME:max. For NAME alone, the least value is the best if the name contains "loss" or "error",
  /// otherwise the greatest. Empty: the first metric whose name begins with "val", else the training loss. `divided`:
  /// of a rank that trains together with others, which all make the same calls.
  static llvm::Expected<Trainer> create(const ModelFile &model, const Session &session, const BoundGraph &graph,
                                        llvm::StringRef select = "", const DividedRows *divided = nullptr);

  /// "least loss", "greatest val_accuracy".
  std::string selection() const { return (takesLeast ? "least " : "greatest ") + chosenMetric; }

  /// Starts from new initial values. The numbers depend on `seed` alone.
  llvm::Error initialize(uint64_t seed);
  /// One training step on the whole graph, then the metrics with the updated parameters. True if this epoch is the best
  /// so far; an epoch whose loss is not finite never is.
  llvm::Expected<bool> epoch();

  int64_t epochs() const { return done; }
  double loss() const { return lastLoss; }
  const Metrics &metrics() const { return lastMetrics; }
  /// The number of the best epoch, counted from 1; 0 before the first. The loss of a step is that of the parameters
  /// before the step. So if the loss decides, the best epoch's parameters and metrics are those from before its step,
  /// and the loss is one of the metrics.
  int64_t bestEpoch() const { return best; }
  const Metrics &bestMetrics() const { return ofBest.metrics; }

  /// Writes the parameters and states of the best epoch as `Parameters::load` reads them.
  llvm::Error saveBest(llvm::StringRef path);
  /// Writes everything, so that training can continue from there as if it had not stopped; and reads it back. Reading
  /// is an error unless compilation, seed and selection are the same.
  llvm::Error saveCheckpoint(llvm::StringRef path);
  llvm::Error loadCheckpoint(llvm::StringRef path);

private:
  Trainer(const ModelFile &model, const Session &session, const BoundGraph &graph)
      : model(&model), session(&session), graph(&graph), onDevice(std::make_shared<DeviceTensors>()) {}

  /// All parameters and states at one time, and their metrics.
  struct Snapshot {
    std::vector<HostTensor> host;              ///< parallel to current->tensors(); on a device stale until fetched
    std::vector<std::shared_ptr<void>> device; ///< likewise; empty on a CPU
    Metrics metrics;
  };
  llvm::Expected<Snapshot> makeSnapshot() const;
  llvm::Error take(Snapshot &snapshot);

  llvm::Error choose(llvm::StringRef select);
  bool choosesByLoss() const;
  bool isBetter(double value, double than) const;
  std::vector<std::string> metricNames() const;
  Metrics readMetrics() const;
  std::vector<gnnc_binding> bindings() const;
  llvm::Error bindEpoch();
  llvm::Error runEpoch();
  llvm::Error fetch();
  std::optional<std::string> spaceOf(llvm::StringRef tensor) const;
  llvm::Error add(SafetensorsWriter &writer, const std::string &name, const HostTensor &tensor,
                  std::vector<HostTensor> &collected) const;
  llvm::Error write(SafetensorsWriter &writer, llvm::StringRef path) const;

  const ModelFile *model;
  const Session *session;
  const BoundGraph *graph;
  const DividedRows *divided = nullptr; ///< null: this process has the whole graph
  std::shared_ptr<DeviceTensors> onDevice;
  ProgramRun initialization, step;
  std::optional<ProgramRun> evaluation;
  std::optional<Parameters> current;
  Snapshot ofBest;
  Snapshot ofStart; ///< of the last epoch, before its step; only if the loss decides
  Recording wholeEpoch;
  bool isBound = false; ///< what the epoch's programs read is where they look for it
  std::string chosenMetric;
  bool takesLeast = true;
  uint64_t startSeed = 0;
  int64_t done = 0, best = 0;
  double lastLoss = 0, bestValue = 0;
  Metrics lastMetrics;
};

} // namespace gnnc

#endif // GNNC_HOST_TRAINER_H
