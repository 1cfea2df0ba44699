//===- Commands.h - The driver's commands -----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each command takes its arguments as plain data and returns the exit status. Only Main.cpp knows the command line.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_COMMANDS_H
#define GNNC_TOOLS_GNNC_COMMANDS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gnnc::frontend {
struct ImportedModel;
}

namespace gnnc {

enum ExitStatus { ExitOk = 0, ExitError = 1, ExitUsage = 2 };

struct CompileArguments {
  std::string input;
  std::string model;                ///< empty: the only or last one
  std::vector<std::string> defines; ///< name=value
  std::vector<std::string> targets = {"cpu"};
  unsigned optLevel = 2;
  std::string dtype = "f32";
  std::string autocast;
  unsigned checkpoints = 0;
  std::optional<uint64_t> memoryLimit; ///< bytes
  std::vector<std::string> extents;
  std::string emit = "so";
  bool gradient = false;
  std::string save = "auto";
  bool distributed = false;
  std::vector<std::string> cotangents;      ///< outputs that are differentiated; empty: all
  std::vector<std::string> along;           ///< of a distributed model
  std::optional<int64_t> operationsPerByte; ///< of a distributed model
  std::vector<std::string> fixed;           ///< inputs of a distributed model
  std::vector<std::string> without;         ///< optimisations to leave out
  int64_t statements = 0;                   ///< that a kernel may have; 0: the default
  bool remarks = false;
  bool werror = false; ///< warnings are errors
  std::string report;  ///< the page to write; empty: none
  std::string timings; ///< "table" or "json" on standard error; empty: neither
  std::string params, paramsMap;
  bool embed = false;                ///< `params`, into the object
  bool keepAxes = false;             ///< of an exported program
  bool oneAxis = false;              ///< the same
  std::vector<std::string> also;     ///< statements that are added to an exported program
  std::vector<std::string> metadata; ///< name=value
  std::string compileTo;
  std::vector<std::string> cpu; ///< names of cpu::Processor; at first the default ones
  std::vector<std::string> architectures = {"sm_80", "sm_90"};
  std::string products; ///< empty: what the types ask for
  std::string output;   ///< empty: standard output for text, else named after the model's file
};

struct ImportArguments {
  std::string input;
  std::string output, paramsOut; ///< empty: standard output; none
  std::vector<std::string> also; ///< statements that are added
};

/// Says what of an exported program an import has turned around, if anything.
void reportImported(const std::string &path, const frontend::ImportedModel &model);

struct RunArguments {
  std::string model, graph, params, paramsMap, output, tuning;
  std::string program = "forward";
  std::string device = "cpu";
  int threads = 0;
  uint64_t seed = 0;
};

struct TrainArguments {
  std::string model, graph, paramsOut, log, checkpoint, select, tuning, device = "cpu";
  int64_t epochs = 200;
  int64_t patience = 0; ///< 0: never stop early
  int64_t runs = 1;
  int threads = 0;
  uint64_t seed = 0;
};

/// What times of ranks are predicted from. The defaults are a few cores of a server for each rank, and a network of
/// 100 Gbit/s.
struct RankMachine {
  double link = 12.5;    ///< GB/s that a rank sends, and receives at the same time
  double latency = 20;   ///< microseconds until a collective step that moves nothing is done
  double bandwidth = 20; ///< GB/s between a rank and its memory
  double compute = 100;  ///< GFLOP/s of a rank
};

struct InspectArguments {
  std::string model, graph, tuning;
  bool json = false;
  bool cost = false;                ///< what each kernel costs, instead of the rest
  bool triton = false;              ///< a configuration for Triton, instead of the rest
  bool memory = false;              ///< each buffer of the workspace too
  bool verbose = false;             ///< everything
  RankMachine machine;              ///< for the parts of a graph
  std::vector<std::string> extents; ///< "space=elements" of each rank's part, instead of a graph
  int ranks = 1;                    ///< that have such a part
  std::string measured;             ///< a file with extents and times of one rank
};

struct TuneArguments {
  std::string model, graph, output;
  std::string program = "forward";
  std::string device = "cpu";
  int threads = 0;
  double seconds = 0.3; ///< to measure each choice for
};

struct BenchArguments {
  std::string model, graph, tuning;
  std::string program = "forward";
  std::string device = "cpu";
  int threads = 0;
  unsigned repeat = 0; ///< 0: for a second, 10 to 10000 times
  bool json = false;
};

struct ReorderArguments {
  std::string graph, output; ///< no output: only what it would bring is printed
  std::string model;         ///< empty: none says what tensors are
  std::string by = "metis";
  std::vector<std::string> nodeTensors, edgeTensors, numberTensors, edgeNumberTensors, wholeTensors;
};

struct PartitionArguments {
  std::string graph, model;
  std::optional<std::string> output; ///< none: only what the parts would be is printed
  int parts = 2;
  std::string by = "metis";
  std::vector<std::string> along, nodeTensors, edgeTensors, wholeTensors;
  std::vector<std::string> rows; ///< TENSOR=SPACE
  int64_t features = 64;         ///< of the values whose exchange is priced
};

int runCompile(const CompileArguments &arguments);
/// Uses `input`, `defines`, `model` and `werror`.
int runImport(const ImportArguments &arguments);
int runCheck(const CompileArguments &arguments);
int runModel(const RunArguments &arguments);
int runTrain(const TrainArguments &arguments);
int runInspect(const InspectArguments &arguments);
int runTune(const TuneArguments &arguments);
int runBench(const BenchArguments &arguments);
int runReorder(const ReorderArguments &arguments);
int runPartition(const PartitionArguments &arguments);

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_COMMANDS_H
