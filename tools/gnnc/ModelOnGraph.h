//===- ModelOnGraph.h - A model on a graph ----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_MODELONGRAPH_H
#define GNNC_TOOLS_GNNC_MODELONGRAPH_H

#include "Ranks.h"
#include "gnnc/Host/DividedRows.h"
#include "gnnc/Host/GraphFile.h"
#include "gnnc/Host/ModelFile.h"
#include "gnnc/Host/Parameters.h"

namespace gnnc {

/// For --tuning: do without one. Empty: MODEL.so.tune where it is there.
inline constexpr llvm::StringLiteral kNoTuning = "none";

/// The tuning that --tuning asks for, with the path it was read from.
struct TuningText {
  std::string path, text; ///< both empty: there is none
  static llvm::Expected<TuningText> read(llvm::StringRef choice, llvm::StringRef model);
};

/// A model file, a graph file and the model prepared for the graph, with the times that took. Where this process is one
/// of several ranks, the graph is its part.
class ModelOnGraph {
public:
  /// Without `makesProgram` `session` and `bound` can be used, but neither `program` nor what runs it: the program's
  /// memory is left to others.
  static llvm::Expected<std::unique_ptr<ModelOnGraph>>
  create(const std::string &modelPath, const std::string &graphPath, int threads, llvm::StringRef program = "forward",
         llvm::StringRef device = "cpu", llvm::StringRef tuning = kNoTuning, bool makesProgram = true);
  ModelOnGraph(const ModelOnGraph &) = delete;
  ModelOnGraph &operator=(const ModelOnGraph &) = delete;

  const ModelFile &model() const { return modelFile; }
  const SafetensorsFile &graph() const { return graphFile; }
  const BoundGraph &bound() const { return *boundGraph; }
  const Session &session() const { return *modelSession; }
  const ProgramRun &program() const { return *programRun; }
  ExtentLookup extents() const;
  /// Null: this process has the whole graph.
  const DividedRows *divided() const { return dividedRows ? &*dividedRows : nullptr; }
  /// Extents of the whole graph.
  ExtentLookup wholeExtents() const { return dividedRows ? dividedRows->wholeExtents(extents()) : extents(); }

  /// Random gradients of outputs, where the graph file has none.
  llvm::Error fillGradients(uint64_t seed);
  /// Runs the program on the graph's inputs and `params`.
  llvm::Error run(const Parameters &params);
  /// The same `count` times without bringing inputs to the device nor outputs back, as the program of a framework
  /// would; after `bind`. On a device a run is recorded once and replayed.
  llvm::Error bind(const Parameters &params);
  llvm::Error repeat(unsigned count);

  /// Prepares the graph again, with this text, of the file `path`, as its tuning.
  llvm::Error prepareWith(const std::string &tuning, llvm::StringRef path = "");

  double loadSeconds() const { return secondsToLoad; }
  double readSeconds() const { return secondsToRead; }
  double prepareSeconds() const { return secondsToPrepare; }

private:
  ModelOnGraph(ModelFile model, SafetensorsFile graph) : modelFile(std::move(model)), graphFile(std::move(graph)) {}
  llvm::Error explain(llvm::Error error, llvm::StringRef tuning = "") const;
  llvm::Error joinRanks();
  std::vector<gnnc_binding> inputs(const Parameters &params) const;

  ModelFile modelFile;
  SafetensorsFile graphFile;
  std::optional<BoundGraph> boundGraph;
  std::optional<Session> modelSession;
  std::optional<DividedRows> dividedRows;
  std::optional<ProgramRun> programRun;
  Recording recording;
  std::vector<HostTensor> gradients;
  std::string programName;
  double secondsToLoad = 0, secondsToRead = 0, secondsToPrepare = 0;
};

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_MODELONGRAPH_H
