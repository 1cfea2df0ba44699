//===- Main.cpp - The command line of gnnc --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Report.h"
#include "gnnc-c/gnnc.h"
#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Pipelines/Pipelines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

using namespace gnnc;

static std::string checkDefine(const std::string &text) {
  size_t equals = text.find('=');
  bool valid = equals != std::string::npos && equals > 0 && equals + 1 < text.size();
  return valid ? "" : "expected NAME=VALUE, found '" + text + "'";
}

/// As a number would be read, -1 would be 2^64-1, and so would be whatever is greater.
static std::string checkSeed(const std::string &text) {
  uint64_t seed;
  return llvm::StringRef(text).getAsInteger(10, seed) ? "expected a number from 0 to 2^64-1, found '" + text + "'" : "";
}

static void addCompile(CLI::App &app, CompileArguments &arguments) {
  CLI::App *command = app.add_subcommand("compile", "Compile a model to a shared object, or print what is on the way");
  std::vector<std::string> phases;
  for (llvm::StringRef phase : phaseNames())
    phases.push_back(phase.str());
  command->add_option("MODEL", arguments.input, "Model text (.gnn) or its JSON form (.json)")->required();
  command->add_option("-m,--model", arguments.model, "Model of the file to compile; default: the last one");
  command
      ->add_option("-D,--define", arguments.defines,
                   "Set a size of the model or the extent of a static space, such as -D classes=7; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->check(checkDefine);
  command->add_option("--target", arguments.targets, "What to hold code for: cpu, cuda or both")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command
      ->add_option("-O", arguments.optLevel, "0: one kernel for each operation; 1: fused; 2: fused, with all rewrites")
      ->check(CLI::Range(0, 2))
      ->type_name("LEVEL")
      ->capture_default_str();
  command
      ->add_option(
          "--dtype", arguments.dtype,
          "f32, f64: type of all numbers; bf16, f16: what rows of nodes, edges and other spaces are kept as in "
          "memory, while everything is computed in f32 and parameters are f32")
      ->check(CLI::IsMember({"f32", "f64", "bf16", "f16"}))
      ->capture_default_str();
  CLI::Option *emit =
      command
          ->add_option("--emit", arguments.emit,
                       "json: the checked model; mpdfg, mpk, llvm: IR; cuda: kernels as CUDA C++; ptx, cubin: compiled "
                       "by NVRTC; obj: object file; so: shared object")
          ->check(CLI::IsMember({"json", "mpdfg", "mpk", "llvm", "cuda", "ptx", "cubin", "obj", "so"}))
          ->capture_default_str();
  command->add_flag(
      "--gradient", arguments.gradient,
      "Compute gradients too: an input grad.y for each output y, an output grad.x for each parameter and input x");
  command
      ->add_option("--save", arguments.save,
                   "Forward values that gradients and training find in memory: none: outputs alone, all else is "
                   "computed once more; auto: what is not cheap to compute again; all: everything, values of edges too")
      ->check(CLI::IsMember({"none", "auto", "all"}))
      ->capture_default_str();
  std::vector<std::string> optimisations;
  for (llvm::StringRef name : optionalPasses())
    optimisations.push_back(name.str());
  command->add_option("--without", arguments.without, "Optimisations to leave out, to see what each is worth")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(optimisations));
  command->add_flag("--remarks", arguments.remarks,
                    "Print what each optimisation did or declined, and why, to the standard error");
  CLI::Option *report = command->add_option(
      "--report", arguments.report,
      "Write a page (HTML) to this file: the graph after each phase, kernels, costs, the memory plan, and remarks");
  command->add_option("--compile-to", arguments.compileTo, "Stop after this phase and print its IR")
      ->check(CLI::IsMember(phases))
      ->excludes(emit)
      ->excludes(report);
  command
      ->add_option(
          "--cpu", arguments.cpu,
          "Processor levels to hold code for; the best that fits is used at run time, or none above that of the "
          "environment variable GNNC_CPU_LEVEL (0: baseline, 3 or 4)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"v3", "v4", "baseline"}))
      ->capture_default_str();
  command
      ->add_option(
          "--arch", arguments.architectures,
          "GPU architectures to hold code for; --emit=ptx and cubin take the lowest. Blocks take no more shared memory "
          "than all of them have, if they can: 227 KiB for sm_90 alone, 99 with the default")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      ->add_option(
          "--products", arguments.products,
          "What GPUs multiply float32 matrices with. fma: ordinary units; tf32x3: tensor cores, three products for "
          "each, to float32's accuracy; tf32: one, of 11 bits")
      ->check(CLI::IsMember({"fma", "tf32x3", "tf32"}))
      ->capture_default_str();
  command->add_option("-o,--output", arguments.output,
                      "File to write; default: standard output for text, else the model file's name with .so, .o or "
                      ".cubin in the current folder; -: standard output");
}

static void addDevice(CLI::App &command, std::string &device) {
  command.add_option("--device", device, "Where to run: cpu, cuda or cuda:NUMBER")->capture_default_str();
}

static void addThreads(CLI::App &command, int &threads) {
  command.add_option("--threads", threads, "Threads; 0: one for each processor")
      ->check(CLI::Range(0, 1024)) // as the runtime allows
      ->capture_default_str();
}

static void addProgram(CLI::App &command, std::string &program) {
  command
      .add_option(
          "--program", program,
          "Which of the model's programs; `gnnc inspect` lists them. Of a gradient, the whole or its forward half")
      ->capture_default_str();
}

static CLI::Option *addTuning(CLI::App &command, std::string &tuning) {
  return command.add_option("--tuning", tuning,
                            "File that `gnnc tune` wrote; default: MODEL.so.tune where it is there; none: do without");
}

static void addRun(CLI::App &app, RunArguments &arguments) {
  CLI::App *command =
      app.add_subcommand("run", "Run a compiled model on a graph and say what came out: of an output `logits` of nodes "
                                "also the test accuracy, where the graph has classes and test nodes");
  command->add_option("MODEL.so", arguments.model, "Compiled model")->required();
  command->add_option("--graph", arguments.graph, "Graph (.safetensors) with the model's inputs")->required();
  CLI::Option *params =
      command->add_option("--params", arguments.params, "Parameters (.safetensors); default: random ones from --seed");
  command
      ->add_option("--params-map", arguments.paramsMap,
                   "JSON map from the model's parameters to the file's tensors; default: they have the same names")
      ->needs(params);
  addProgram(*command, arguments.program);
  command->add_option("--out", arguments.output, "Write all outputs to this file (.safetensors)");
  addDevice(*command, arguments.device);
  addTuning(*command, arguments.tuning);
  addThreads(*command, arguments.threads);
  command->add_option("--seed", arguments.seed, "Seed of random parameters")
      ->check(checkSeed)
      ->excludes(params)
      ->capture_default_str();
}

static void addTrain(CLI::App &app, TrainArguments &arguments) {
  CLI::App *command = app.add_subcommand("train", "Train a compiled model on a graph, from new initial values");
  command->add_option("MODEL.so", arguments.model, "Model compiled from a text with a loss and a train statement")
      ->required();
  command->add_option("--graph", arguments.graph, "Graph (.safetensors) with the model's inputs, labels and splits")
      ->required();
  command->add_option("--epochs", arguments.epochs, "Steps on the whole graph")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24))
      ->capture_default_str();
  command->add_option("--seed", arguments.seed, "Seed of initial values and dropout; the same seed gives the same bits")
      ->check(checkSeed)
      ->capture_default_str();
  CLI::Option *runs =
      command->add_option("--runs", arguments.runs, "Train so many times, with the seed and those after it")
          ->check(CLI::Range(1, 10000))
          ->capture_default_str();
  command->add_option("--patience", arguments.patience, "Stop after so many epochs without a better one; 0: never")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 24))
      ->capture_default_str();
  command
      ->add_option("--select", arguments.select,
                   "Metric whose greatest value, or with :min the least, makes an epoch the best; the least also where "
                   "its name contains loss or error, unless with :max; default: the first called val..., else the "
                   "loss, which is of the parameters that the epoch began with")
      ->type_name("NAME[:min|:max]");
  command->add_option("--params-out", arguments.paramsOut, "Write the best epoch's parameters to this file")
      ->excludes(runs);
  command->add_option(
      "--log", arguments.log,
      "Write a line of JSON for each epoch to this file; training that goes on from a checkpoint goes on with it");
  command
      ->add_option("--checkpoint", arguments.checkpoint,
                   "Write everything to this file now and then, and go on from it where it is there already, with the "
                   "same compiled model and seed")
      ->excludes(runs);
  addDevice(*command, arguments.device);
  addTuning(*command, arguments.tuning);
  addThreads(*command, arguments.threads);
}

static void addInspect(CLI::App &app, InspectArguments &arguments) {
  CLI::App *command =
      app.add_subcommand("inspect", "Print a compiled model's signature, spaces, maps, kernels and memory plan");
  command->add_option("MODEL.so", arguments.model, "Compiled model")->required();
  CLI::Option *graph =
      command->add_option("--graph", arguments.graph,
                          "Also print extents and bytes for this graph (.safetensors), and which alternatives and "
                          "schedules are chosen for it and why; needs no GPU");
  addTuning(*command, arguments.tuning)->needs(graph);
  CLI::Option *json = command->add_flag("--json", arguments.json, "Print JSON");
  command
      ->add_flag(
          "--cost", arguments.cost,
          "Print what each kernel and program costs: operations and bytes, as formulas over the numbers of elements "
          "of spaces, or as numbers for the graph")
      ->excludes(json);
}

static void addTune(CLI::App &app, TuneArguments &arguments) {
  CLI::App *command = app.add_subcommand(
      "tune", "Measure a compiled model's alternatives, and on a GPU its schedules, on a graph, and remember the best: "
              "later commands take them for graphs of about the same extents. Sums may then be added in another order");
  command->add_option("MODEL.so", arguments.model, "Compiled model")->required();
  command->add_option("--graph", arguments.graph, "Graph (.safetensors) with the model's inputs")->required();
  command->add_option("-o,--output", arguments.output,
                      "File to write, where what it says of other graphs stays; default: MODEL.so.tune");
  addDevice(*command, arguments.device);
  addThreads(*command, arguments.threads);
  addProgram(*command, arguments.program);
  command->add_option("--seconds", arguments.seconds, "How long to measure each choice")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
}

static void addBench(CLI::App &app, BenchArguments &arguments) {
  CLI::App *command = app.add_subcommand(
      "bench", "Measure a compiled model on a graph, with random parameters: cold start and repeated runs");
  command->add_option("MODEL.so", arguments.model, "Compiled model")->required();
  command->add_option("--graph", arguments.graph, "Graph (.safetensors) with the model's inputs")->required();
  addDevice(*command, arguments.device);
  addTuning(*command, arguments.tuning);
  addThreads(*command, arguments.threads);
  addProgram(*command, arguments.program);
  command->add_option("--repeat", arguments.repeat, "Runs after the first; default: for a second, 10 to 10000")
      ->check(CLI::Range(1u, 1000000000u));
  command->add_flag("--json", arguments.json, "Print JSON, times in seconds");
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
  CLI::App app("gnnc compiles graph neural networks to shared objects that need libc and libm alone, and runs them.",
               "gnnc");
  app.require_subcommand(1);
  app.set_version_flag("--version", "gnnc " GNNC_VERSION ", LLVM " LLVM_VERSION_STRING ", ABI version " +
                                        std::to_string(GNNC_ABI_VERSION));
  CompileArguments compileArguments;
  RunArguments runArguments;
  TrainArguments trainArguments;
  InspectArguments inspectArguments;
  BenchArguments benchArguments;
  TuneArguments tuneArguments;
  addCompile(app, compileArguments);
  addRun(app, runArguments);
  addTrain(app, trainArguments);
  addInspect(app, inspectArguments);
  addBench(app, benchArguments);
  addTune(app, tuneArguments);
  // The parser would only say that it found no command.
  std::vector<std::string> commands;
  for (const CLI::App *command : app.get_subcommands({}))
    commands.push_back(command->get_name());
  if (llvm::StringRef name = argc > 1 ? argv[1] : "-"; !name.starts_with("-") && !llvm::is_contained(commands, name)) {
    llvm::errs() << "gnnc: error: expected a command (" << llvm::join(commands, ", ") << "), found '" << name << "'\n";
    return ExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error); // help or version
    llvm::errs() << "gnnc: error: " << error.what() << "\nTry 'gnnc --help' or 'gnnc COMMAND --help'.\n";
    return ExitUsage;
  }
  if (app.got_subcommand("compile"))
    return finish(runCompile(compileArguments));
  if (app.got_subcommand("run"))
    return finish(runModel(runArguments));
  if (app.got_subcommand("train"))
    return finish(runTrain(trainArguments));
  if (app.got_subcommand("inspect"))
    return finish(runInspect(inspectArguments));
  if (app.got_subcommand("tune"))
    return finish(runTune(tuneArguments));
  return finish(runBench(benchArguments));
}
