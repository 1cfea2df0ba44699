//===- Main.cpp - The command line of gnnc --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Ranks.h"
#include "Report.h"
#include "gnnc-c/gnnc.h"
#include "gnnc/Graphs/Partition.h"
#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Pipelines/Pipelines.h"
#include "gnnc/Support/CrashReport.h"
#include "gnnc/Support/Version.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

#include <cmath>
#include <sstream>

using namespace gnnc;

static std::string checkDefine(const std::string &text) {
  size_t equals = text.find('=');
  bool valid = equals != std::string::npos && equals > 0 && equals + 1 < text.size();
  return valid ? "" : "expected NAME=VALUE, found '" + text + "'";
}

/// Parsed as an integer, -1 would wrap to 2^64-1, and larger values would saturate there.
static std::string checkSeed(const std::string &text) {
  uint64_t seed;
  return llvm::StringRef(text).getAsInteger(10, seed) ? "expected a number from 0 to 2^64-1, found '" + text + "'" : "";
}

static std::string checkFileName(const std::string &text) {
  return text.empty() ? "expected the name of a file, found ''" : "";
}

/// CLI11's own checks let NaN pass, and print the largest number of all.
static CLI::Validator numberFrom(double least, double most = INFINITY) {
  std::ostringstream range;
  range << "from " << least;
  if (std::isfinite(most))
    range << " to " << most;
  auto check = [=, range = range.str()](const std::string &text) -> std::string {
    double number;
    bool isRight =
        CLI::detail::lexical_cast(text, number) && std::isfinite(number) && number >= least && number <= most;
    return isRight ? "" : "expected a number " + range + ", found '" + text + "'";
  };
  return CLI::Validator(check, range.str());
}

/// Of links and ranks, in GB/s and GFLOP/s.
constexpr double kLeastSpeed = 1e-6;

static CLI::Option *addDefines(CLI::App &command, CompileArguments &arguments) {
  return command
      .add_option("-D,--define", arguments.defines,
                  "Set a size of the model or the extent of a static space, for example -D classes=7; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->check(checkDefine);
}

static void addAlso(CLI::App &command, std::vector<std::string> &statements) {
  command
      .add_option("--also", statements,
                  "For exported programs (.pt2): a statement of the language to add at the end of its model, such as "
                  "'output forces = -gradient(energy, positions)'; may be repeated")
      ->type_name("STATEMENT")
      ->allow_extra_args(false);
}

static void addWerror(CLI::App &command, CompileArguments &arguments) {
  command.add_flag("--werror", arguments.werror, "Treat warnings as errors");
}

static void addCompile(CLI::App &app, CompileArguments &arguments) {
  CLI::App *command =
      app.add_subcommand("compile", "Compile a model to a shared object, or print an intermediate form");
  std::vector<std::string> phases;
  for (llvm::StringRef phase : phaseNames())
    phases.push_back(phase.str());
  command
      ->add_option("MODEL", arguments.input,
                   "Model file: text (.gnn), its JSON form (.json), or a program that PyTorch has exported (.pt2)")
      ->required();
  command->add_option("-m,--model", arguments.model, "Which model of the file to compile; default: the last one");
  addDefines(*command, arguments);
  command->add_option("--target", arguments.targets, "Targets to generate code for: cpu, cuda or both")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command
      ->add_option("-O", arguments.optLevel,
                   "0: one kernel per operation; 1: fused kernels; 2: fused kernels and all rewrites")
      ->check(CLI::Range(0, 2))
      ->type_name("LEVEL")
      ->capture_default_str();
  command
      ->add_option(
          "--dtype", arguments.dtype,
          "f32, f64: compute and store everything in this type; bf16, f16: store rows of nodes, edges and other "
          "spaces in this type, but compute in f32 and keep parameters in f32")
      ->check(CLI::IsMember({"f32", "f64", "bf16", "f16"}))
      ->capture_default_str();
  command
      ->add_option("--autocast", arguments.autocast,
                   "Mixed precision, as under PyTorch's autocast: products multiply numbers of this type and add up in "
                   "f32, and rows are stored in it between kernels; inputs, outputs, parameters and gradients stay f32")
      ->check(CLI::IsMember({"bf16", "f16"}));
  CLI::Option *emit =
      command
          ->add_option("--emit", arguments.emit,
                       "Output format. json: the checked model; mpdfg, mpk, llvm: IR; cuda: kernels as CUDA C++; ptx, "
                       "cubin: kernels compiled by NVRTC; obj: object file; so: shared object")
          ->check(CLI::IsMember({"json", "mpdfg", "mpk", "llvm", "cuda", "ptx", "cubin", "obj", "so"}))
          ->capture_default_str();
  command->add_flag(
      "--gradient", arguments.gradient,
      "Also compute gradients: adds an input grad.y for each output y, and an output grad.x for each parameter and "
      "input x");
  command
      ->add_option(
          "--cotangents", arguments.cotangents,
          "With --gradient: the outputs that are differentiated, instead of all; separated by commas. The others "
          "have no input grad.y, and their derivatives no part in any gradient, even where they are infinite")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs("--gradient");
  CLI::Option *distributed = command->add_flag(
      "--distributed", arguments.distributed,
      "For ranks that have a part of the graph each (gnnc partition): exchanges become part of the program");
  command
      ->add_option(
          "--along", arguments.along,
          "With --distributed: maps that determine which rank owns an element, separated by commas; default: those "
          "along which most numbers are reduced")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(distributed);
  command
      ->add_option("--operations-per-byte", arguments.operationsPerByte,
                   "With --distributed: operations worth recomputing to save one transferred byte (default: 256, for "
                   "GPUs of one machine; more for slow links; 0: never recompute)")
      ->check(numberFrom(0))
      ->needs(distributed);
  command
      ->add_option("--fixed", arguments.fixed,
                   "With --distributed: inputs that are the same in all calls, which have no gradients. Their halo "
                   "rows are exchanged once, before the first run; separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(distributed);
  command
      ->add_option("--save", arguments.save,
                   "Which forward values to keep for the backward pass. none: only outputs, everything else is "
                   "recomputed; auto: what is expensive to recompute; all: everything, including values of edges")
      ->check(CLI::IsMember({"none", "auto", "all"}))
      ->capture_default_str();
  command
      ->add_option("--checkpoints", arguments.checkpoints,
                   "Divide the forward pass into this many segments: only values that cross segments are kept, and "
                   "the backward pass computes each segment again when it needs it. Less memory, more time")
      ->check(CLI::Range(2, 1000))
      ->type_name("SEGMENTS");
  CLI::Option *extents =
      command
          ->add_option("--extents", arguments.extents,
                       "With --memory-limit: sizes of the largest expected graph, in elements of each space, as in "
                       "node=10000,edge=80000")
          ->delimiter(',')
          ->allow_extra_args(false);
  CLI::Option *limit =
      command
          ->add_option(
              "--memory-limit", arguments.memoryLimit,
              "Memory limit of a call or step for a graph of --extents, as in 12GiB: parameters, inputs, outputs and "
              "intermediate values. The fastest plan that fits is taken, with as many --checkpoints as that "
              "needs; 'gnnc inspect' shows all plans that were tried")
          ->transform(CLI::AsSizeValue(true))
          ->transform(
              [](const std::string &text) -> std::string { // First: what is negative would count from 2^64 down.
                if (text.find('-') != std::string::npos)
                  throw CLI::ValidationError("--memory-limit",
                                             "expected a number of bytes, as in 12GiB, found " + text);
                return text;
              })
          ->type_name("BYTES")
          ->excludes("--checkpoints")
          ->excludes("--distributed");
  limit->needs(extents);
  extents->needs(limit);
  CLI::Option *params = command->add_option("--params", arguments.params,
                                            "With --embed: parameters (.safetensors) to put into the object");
  CLI::Option *embed = command->add_flag(
      "--embed", arguments.embed,
      "Put the values of --params into the object: one file to ship, which runs without being given them");
  command->add_flag("--keep-axes", arguments.keepAxes,
                    "For exported programs (.pt2): refuse arguments and results that do not have the axis of elements "
                    "first, which otherwise comes first in the model");
  command->add_flag("--one-axis", arguments.oneAxis,
                    "For exported programs (.pt2): refuse tensors with several axes of elements, such as "
                    "[batch, nodes, features], which otherwise have an element for each point of the grid");
  addAlso(*command, arguments.also);
  command
      ->add_option("--metadata", arguments.metadata,
                   "A text that the object carries under a name, for programs that load it: 'gnnc inspect' and the C "
                   "function 'describe' show it; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->check(checkDefine);
  params->needs(embed);
  embed->needs(params);
  command
      ->add_option(
          "--params-map", arguments.paramsMap,
          "JSON file that maps the model's parameters to tensors of --params (docs/ParameterMaps.md); default: "
          "equal names")
      ->needs(params);
  std::vector<std::string> optimisations;
  for (llvm::StringRef name : optionalPasses())
    optimisations.push_back(name.str());
  command
      ->add_option("--without", arguments.without,
                   "Optimisations to switch off, separated by commas, to measure what each contributes")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(optimisations));
  arguments.statements = kMostStatements;
  command
      ->add_option("--statements", arguments.statements,
                   "Approximate limit on the statements of a kernel. Where fusion would exceed it, there are several "
                   "kernels with intermediate values in memory: for twice the statements, compilers take more than "
                   "twice the time")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->capture_default_str();
  command->add_flag("--remarks", arguments.remarks,
                    "Print to standard error what each optimisation did or declined to do, and why");
  addWerror(*command, arguments);
  CLI::Option *report = command->add_option(
      "--report", arguments.report,
      "Write an HTML report to this file: the graph after each phase, kernels, costs, the memory plan, and remarks");
  command
      ->add_flag("--timings{table}", arguments.timings,
                 "Print to standard error what phases and kernels take, on the wall and of processors, and what was in "
                 "the cache; --timings=json: as JSON")
      ->check(CLI::IsMember({"table", "json"}));
  command->add_option("--compile-to", arguments.compileTo, "Stop after this phase and print its IR")
      ->check(CLI::IsMember(phases))
      ->excludes(emit)
      ->excludes(report);
  for (int level : cpu::defaultLevels(cpu::hostArchitecture()))
    arguments.cpu.push_back(cpu::nameOf({cpu::hostArchitecture(), level}));
  command
      ->add_option(
          "--cpu", arguments.cpu,
          "Processors to generate code for, by clang's names, all of one architecture, whichever this machine has; the "
          "best one that the processor supports is chosen at run time. armv8-a+sve needs vectors of at least 256 bits. "
          "v4 and v3 stand for x86-64-v4 and x86-64-v3, baseline for any processor like this machine's. The "
          "environment "
          "variable GNNC_CPU_LEVEL (0: baseline; x86-64: 3 or 4; aarch64: 256) sets an upper limit")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(cpu::processorNames()))
      ->capture_default_str();
  command
      ->add_option(
          "--arch", arguments.architectures,
          "GPU architectures to generate code for; --emit=ptx and --emit=cubin use the lowest. A block uses no more "
          "shared memory than all of them have, where possible: 227 KiB for sm_90 alone, 99 KiB with the default")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      ->add_option(
          "--products", arguments.products,
          "How GPUs multiply float32 matrices. fma: without tensor cores; tf32x3: tensor cores, three products per "
          "product, with the accuracy of float32; tf32: tensor cores, inputs rounded to 11 bits, weights of rows of 16 "
          "bits to the type of the rows. Default: tf32x3; with --autocast, tf32")
      ->check(CLI::IsMember({"fma", "tf32x3", "tf32"}));
  command->add_option("-o,--output", arguments.output,
                      "Output file, or - for standard output; default: standard output for text, otherwise the model "
                      "file's name with .so, .o or .cubin in the current folder");
}

static void addCheck(CLI::App &app, CompileArguments &arguments) {
  CLI::App *command = app.add_subcommand(
      "check", "Report errors and warnings in all models and layers of a file, which may be a library without models");
  command->add_option("FILE", arguments.input, "Model or library text (.gnn), or a model's JSON form (.json)")
      ->required();
  addDefines(*command, arguments);
  addWerror(*command, arguments);
}

static void addDevice(CLI::App &command, std::string &device) {
  command.add_option("--device", device, "Device to run on: cpu, cuda or cuda:NUMBER")->capture_default_str();
}

static void addThreads(CLI::App &command, int &threads) {
  command.add_option("--threads", threads, "Number of threads; 0: one per processor")
      ->check(CLI::Range(0, 1024)) // as the runtime allows
      ->capture_default_str();
}

static void addProgram(CLI::App &command, std::string &program) {
  command
      .add_option(
          "--program", program,
          "Program of the model to run; `gnnc inspect` lists them. Of a gradient, the whole or its forward half")
      ->capture_default_str();
}

static CLI::Option *addTuning(CLI::App &command, std::string &tuning) {
  return command.add_option("--tuning", tuning,
                            "File written by `gnnc tune`, or none; default: MODEL.so.tune if it exists");
}

static void addImport(CLI::App &app, ImportArguments &arguments) {
  CLI::App *command = app.add_subcommand(
      "import", "Write a model that PyTorch has exported (torch.export.save) as a text in the gnnc language");
  command->add_option("MODEL.pt2", arguments.input, "Exported program")->required();
  addAlso(*command, arguments.also);
  command->add_option("-o,--output", arguments.output, "File for the text; default: standard output");
  command->add_option("--params-out", arguments.paramsOut,
                      "Write the parameters and buffers (.safetensors), by PyTorch's names, to this file");
}

static void addRun(CLI::App &app, RunArguments &arguments) {
  CLI::App *command =
      app.add_subcommand("run", "Run a compiled model on a graph and summarise its outputs. For an output `logits` of "
                                "nodes, also print the test accuracy if the graph has labels and test nodes");
  command->add_option("MODEL.so", arguments.model, "Compiled model")->required();
  command->add_option("--graph", arguments.graph, "Graph (.safetensors) with the model's inputs")->required();
  CLI::Option *params =
      command->add_option("--params", arguments.params,
                          "Parameters (.safetensors); default: those in the object, and random values "
                          "from --seed for others");
  command
      ->add_option(
          "--params-map", arguments.paramsMap,
          "JSON file that maps the model's parameters to tensors of the file (docs/ParameterMaps.md); default: "
          "equal names")
      ->needs(params);
  addProgram(*command, arguments.program);
  command->add_option("--out", arguments.output, "Write the outputs to this file (.safetensors)");
  addDevice(*command, arguments.device);
  addTuning(*command, arguments.tuning);
  addThreads(*command, arguments.threads);
  command->add_option("--seed", arguments.seed, "Seed of random parameters")
      ->check(checkSeed)
      ->excludes(params)
      ->capture_default_str();
}

static void addTrain(CLI::App &app, TrainArguments &arguments) {
  CLI::App *command =
      app.add_subcommand("train", "Train a compiled model on a graph, from the parameters in the object, else from "
                                  "freshly initialised ones");
  command->add_option("MODEL.so", arguments.model, "Compiled model with a loss and a train statement")->required();
  command->add_option("--graph", arguments.graph, "Graph (.safetensors) with the model's inputs, labels and splits")
      ->required();
  command->add_option("--epochs", arguments.epochs, "Number of epochs; each is one step on the whole graph")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24))
      ->capture_default_str();
  command
      ->add_option("--seed", arguments.seed,
                   "Seed for initial values and dropout; the same seed gives bitwise equal results")
      ->check(checkSeed)
      ->capture_default_str();
  CLI::Option *runs =
      command->add_option("--runs", arguments.runs, "Train N times, with the seed and the N-1 seeds after it")
          ->check(CLI::Range(1, 10000))
          ->capture_default_str();
  command->add_option("--patience", arguments.patience, "Stop after N epochs without improvement; 0: never")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 24))
      ->capture_default_str();
  command
      ->add_option("--select", arguments.select,
                   "Metric that selects the best epoch: by its largest value, or by its smallest with :min or if its "
                   "name contains loss or error (unless :max is given); default: the first metric called val..., "
                   "otherwise the loss, which is measured before the epoch's update")
      ->type_name("NAME[:min|:max]");
  command->add_option("--params-out", arguments.paramsOut, "Write the parameters of the best epoch to this file")
      ->excludes(runs);
  command->add_option(
      "--log", arguments.log,
      "Write one line of JSON per epoch to this file; training resumed from a checkpoint appends to it");
  command
      ->add_option("--checkpoint", arguments.checkpoint,
                   "Save the training state to this file regularly, and resume from it if it exists; needs the same "
                   "compiled model and seed")
      ->excludes(runs);
  addDevice(*command, arguments.device);
  addTuning(*command, arguments.tuning);
  addThreads(*command, arguments.threads);
}

static void addInspect(CLI::App &app, InspectArguments &arguments) {
  CLI::App *command = app.add_subcommand("inspect", "Print a compiled model's inputs, outputs, kernels and memory");
  command->add_option("MODEL.so", arguments.model, "Compiled model")->required();
  CLI::Option *graph =
      command->add_option("--graph", arguments.graph,
                          "Also print sizes and memory for this graph (.safetensors), and which alternatives and GPU "
                          "schedules are chosen for it and why; needs no GPU. A folder of gnnc partition: what "
                          "each rank holds, sends and receives, and how long a run takes by the options below");
  addTuning(*command, arguments.tuning)->needs(graph);
  CLI::Option *extents =
      command
          ->add_option("--extents", arguments.extents,
                       "SPACE=ELEMENTS,... of a part: what ranks with such a part each would send, receive and take; "
                       "needs no graph")
          ->delimiter(',')
          ->excludes(graph);
  command->add_option("--ranks", arguments.ranks, "How many ranks have such a part")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str()
      ->needs(extents);
  std::vector<CLI::Option *> ofParts;
  auto addSpeed = [&](const char *name, double &value, const char *text) {
    ofParts.push_back(command->add_option(name, value, text)
                          ->check(name == llvm::StringRef("--latency") ? numberFrom(0) : numberFrom(kLeastSpeed))
                          ->capture_default_str());
  };
  addSpeed("--link", arguments.machine.link, "GB/s that a rank sends, and receives at the same time");
  addSpeed("--latency", arguments.machine.latency, "Microseconds that each transfer and combined value adds");
  addSpeed("--bandwidth", arguments.machine.bandwidth, "GB/s between a rank and its memory");
  addSpeed("--compute", arguments.machine.compute, "GFLOP/s of a rank");
  ofParts.push_back(command->add_option(
      "--measured", arguments.measured,
      "JSON with 'extents' of a graph on one rank and measured 'seconds' of functions on it: kernels are as much "
      "slower or faster than by --compute and --bandwidth as they were there. With an array of such objects, of graphs "
      "of several sizes, times follow a line fitted to theirs"));
  command->parse_complete_callback([=] {
    for (CLI::Option *option : ofParts)
      if (*option && !*graph && !*extents)
        throw CLI::RequiresError(option->get_name(), "--graph or --extents");
  });
  CLI::Option *json = command->add_flag("--json", arguments.json, "Print JSON");
  command
      ->add_flag(
          "--cost", arguments.cost,
          "Print what each kernel and program costs, operations and bytes: as formulas over the sizes of spaces, or as "
          "numbers for the graph")
      ->excludes(json);
  command
      ->add_flag("--triton", arguments.triton,
                 "Print config.pbtxt for NVIDIA's Triton Inference Server (hosts/triton), and nothing else")
      ->excludes(json)
      ->excludes("--cost")
      ->excludes(graph)
      ->excludes(extents);
  command->add_flag("--memory", arguments.memory,
                    "Also print each intermediate value in the workspace with its size and lifetime, and the peak");
  command->add_flag(
      "-v,--verbose", arguments.verbose,
      "Print everything: also states, derived spaces and maps, the kernels of all programs, and --memory");
}

static void addReorder(CLI::App &app, ReorderArguments &arguments) {
  CLI::App *command = app.add_subcommand(
      "reorder", "Give a graph's nodes other numbers, so that rows that are gathered together lie close together");
  command->add_option("GRAPH", arguments.graph, "Graph (.safetensors) with edge_index and metadata num_nodes")
      ->required();
  command
      ->add_option("--by", arguments.by,
                   "metis: by the parts of a partition that cuts few edges; rcm: reverse Cuthill-McKee, breadth first; "
                   "degree: nodes of many edges first")
      ->check(CLI::IsMember({"metis", "rcm", "degree"}))
      ->capture_default_str();
  command->add_option(
      "-o,--output", arguments.output,
      "File to write: all tensors and metadata, and node_order, the old number of each node; without it, "
      "only what the order would bring is printed");
  command->add_option("--model", arguments.model, "Compiled model: what its maps and inputs are");
  auto addTensors = [&](const char *name, std::vector<std::string> &tensors, const char *what) {
    command->add_option(name, tensors, what)->delimiter(',')->allow_extra_args(false);
  };
  addTensors("--nodes", arguments.nodeTensors,
             "Tensors with a row for each node, where their number of rows does not say so; separated by commas");
  addTensors("--edges", arguments.edgeTensors, "The same for tensors with a row for each edge");
  addTensors("--numbers", arguments.numberTensors,
             "Tensors whose integers are numbers of nodes, as maps to nodes are; separated by commas");
  addTensors("--edge-numbers", arguments.edgeNumberTensors,
             "The same for numbers of edges, which move where edge_index is sorted by its second row");
  addTensors("--whole", arguments.wholeTensors, "Tensors with rows of neither; separated by commas");
}

static void addPartition(CLI::App &app, PartitionArguments &arguments) {
  CLI::App *command = app.add_subcommand(
      "partition", "Cut a graph into parts for several ranks, each with what it exchanges with the others");
  command->add_option("GRAPH", arguments.graph, "Graph (.safetensors) with edge_index and metadata num_nodes")
      ->required();
  command->add_option("-k,--parts", arguments.parts, "Number of parts")
      ->check(CLI::Range(1, kMostRanks))
      ->capture_default_str();
  command->add_option("-o,--output", arguments.output,
                      "Folder to write, new or empty: part.0.safetensors, part.1.safetensors, …; without it, only "
                      "how even the parts would be is printed");
  command
      ->add_option("--by", arguments.by,
                   "metis: few connections between parts; contiguous: ranges of numbers; random: element by element")
      ->check(CLI::IsMember({"metis", "contiguous", "random"}))
      ->capture_default_str();
  command->add_option("--model", arguments.model,
                      "Compiled model: its maps and inputs, and the map that most of its sweeps use");
  command
      ->add_option("--along", arguments.along,
                   "Maps that determine which part owns an element, separated by commas; default: dst")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--nodes", arguments.nodeTensors,
                   "Tensors with a row for each node, where their number of rows does not say so; separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--edges", arguments.edgeTensors, "The same for tensors with a row for each edge")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--rows", arguments.rows,
                   "The same for any space, as TENSOR=SPACE (train_y=train, val_edge_type=val_edge_index); separated "
                   "by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--whole", arguments.wholeTensors,
                   "Tensors that have rows of no space: every part has all of them; separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--features", arguments.features,
                   "float32 numbers in a row, for the last line of the output: the size of a layer's exchange")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20))
      ->capture_default_str();
}

static void addTune(CLI::App &app, TuneArguments &arguments) {
  CLI::App *command = app.add_subcommand(
      "tune",
      "Measure the alternatives of a compiled model, and on a GPU its schedules, on a graph, and save the "
      "fastest: later commands use them for graphs of about the same size. Sums may then be added in a different "
      "order");
  command->add_option("MODEL.so", arguments.model, "Compiled model")->required();
  command->add_option("--graph", arguments.graph, "Graph (.safetensors) with the model's inputs")->required();
  command->add_option("-o,--output", arguments.output,
                      "File to write; entries for other graphs are kept; default: MODEL.so.tune");
  addDevice(*command, arguments.device);
  addThreads(*command, arguments.threads);
  addProgram(*command, arguments.program);
  command->add_option("--seconds", arguments.seconds, "Time to spend on each choice")
      ->check(numberFrom(0.001, 3600))
      ->capture_default_str();
}

static void addBench(CLI::App &app, BenchArguments &arguments) {
  CLI::App *command = app.add_subcommand(
      "bench", "Time a compiled model on a graph with random parameters: cold start and repeated runs");
  command->add_option("MODEL.so", arguments.model, "Compiled model")->required();
  command->add_option("--graph", arguments.graph, "Graph (.safetensors) with the model's inputs")->required();
  addDevice(*command, arguments.device);
  addTuning(*command, arguments.tuning);
  addThreads(*command, arguments.threads);
  addProgram(*command, arguments.program);
  command
      ->add_option("--repeat", arguments.repeat,
                   "Number of runs after the first; default: as many as fit in a second, 10 to 10000")
      ->check(CLI::Range(1u, 1000000000u));
  command->add_flag("--json", arguments.json, "Print JSON, with times in seconds");
}

/// The status, or an error where not all of the output could be written: a full disk must not pass for success.
static int finish(int status) {
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  if (!out.has_error())
    return status;
  std::error_code code = out.error();
  out.clear_error();
  return fail(llvm::createStringError(code, "cannot write the output: %s", code.message().c_str()));
}

int main(int argc, char **argv) {
  const std::string version =
      "gnnc " GNNC_VERSION ", LLVM " LLVM_VERSION_STRING ", ABI version " + std::to_string(GNNC_ABI_VERSION);
  installCrashReport("gnnc", version, argc, argv);
  CLI::App app("Compiles graph neural networks to shared objects that need only libc and libm, and runs them.", "gnnc");
  app.require_subcommand(1);
  app.set_version_flag("--version", version);
  CompileArguments compileArguments, checkArguments;
  ImportArguments importArguments;
  RunArguments runArguments;
  TrainArguments trainArguments;
  InspectArguments inspectArguments;
  BenchArguments benchArguments;
  TuneArguments tuneArguments;
  ReorderArguments reorderArguments;
  PartitionArguments partitionArguments;
  addCompile(app, compileArguments);
  addImport(app, importArguments);
  addCheck(app, checkArguments);
  addRun(app, runArguments);
  addTrain(app, trainArguments);
  addInspect(app, inspectArguments);
  addBench(app, benchArguments);
  addTune(app, tuneArguments);
  addReorder(app, reorderArguments);
  addPartition(app, partitionArguments);
  // The parser would only say that it found no command.
  std::vector<std::string> commands;
  for (CLI::App *command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    for (const char *written : {"--output", "--out", "--params-out", "--log", "--checkpoint", "--report"})
      if (CLI::Option *option = command->get_option_no_throw(written))
        option->check(checkFileName);
  }
  if (llvm::StringRef name = argc > 1 ? argv[1] : "-"; !name.starts_with("-") && !llvm::is_contained(commands, name)) {
    llvm::errs() << "gnnc: error: expected a command (" << llvm::join(commands, ", ") << "), found '" << name << "'\n";
    return ExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) { // help or version
      std::ostringstream text;
      app.exit(error, text, text);
      llvm::outs() << text.str();
      return finish(ExitOk);
    }
    llvm::errs() << "gnnc: error: " << error.what() << "\nTry 'gnnc --help' or 'gnnc COMMAND --help'.\n";
    return ExitUsage;
  }
  if (app.got_subcommand("compile"))
    return finish(runCompile(compileArguments));
  if (app.got_subcommand("import"))
    return finish(runImport(importArguments));
  if (app.got_subcommand("check"))
    return finish(runCheck(checkArguments));
  if (app.got_subcommand("run") || app.got_subcommand("train") || app.got_subcommand("bench")) {
    if (llvm::Error error = startRanks(argv[0]))
      return fail(std::move(error));
    int status = finish(app.got_subcommand("run")     ? runModel(runArguments)
                        : app.got_subcommand("train") ? runTrain(trainArguments)
                                                      : runBench(benchArguments));
    endRanks(status);
    return status;
  }
  if (app.got_subcommand("inspect"))
    return finish(runInspect(inspectArguments));
  if (app.got_subcommand("tune"))
    return finish(runTune(tuneArguments));
  if (app.got_subcommand("reorder"))
    return finish(runReorder(reorderArguments));
  if (app.got_subcommand("partition"))
    return finish(runPartition(partitionArguments));
  return ExitUsage;
}
