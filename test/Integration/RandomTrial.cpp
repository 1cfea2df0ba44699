//===- RandomTrial.cpp - A random model run in every way ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomTrial.h"
#include "DeviceCases.h"
#include "Interpreted.h"

#include "gnnc/Conversion/ModelToMPDFG.h"
#include "gnnc/Pipelines/Pipelines.h"

#include "dialects/mpk/IR/MPK.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gnnc;
using namespace gnnc::test;
using frontend::OpCode;

llvm::Error test::evaluate(Trial &trial) {
  // All values are outputs, so that the ones an output is made of can be looked at too.
  frontend::ModelSpec all = trial.model;
  all.outputs.clear();
  for (size_t id = 0; id < all.values.size(); ++id)
    all.outputs.push_back({"v" + std::to_string(id), frontend::Id(id)});
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string message;
  context.getDiagEngine().registerHandler([&](mlir::Diagnostic &diagnostic) {
    message += diagnostic.str() + "\n";
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = importModel(all, &context);
  if (mlir::failed(mlir::verify(*module)))
    return llvm::createStringError("the imported program does not verify: " + message);
  for (Sample &sample : trial.samples) {
    auto values = interpretOn(*module, sample.graph, sample.tensors);
    if (!values)
      return values.takeError();
    sample.values.clear();
    for (NamedTensor &value : *values)
      sample.values.push_back(tensorOf(std::move(value.value)));
  }
  return llvm::Error::success();
}

llvm::Expected<Trial> test::makeTrial(frontend::ModelSpec model, llvm::ArrayRef<GraphShape> shapes, uint64_t seed) {
  Trial trial;
  trial.model = std::move(model);
  Random random(seed ^ 0x5851F42D4C957F2D);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = importModel(trial.model, &context);
  for (GraphShape shape : shapes) {
    Sample sample;
    sample.shape = shape;
    sample.graph = randomGraphFor(trial.model, shape, random);
    llvm::Expected<GraphData> graph = materialise(*module, rootsOf(sample.graph));
    if (!graph)
      return graph.takeError();
    std::map<std::string, int64_t> extents;
    for (const auto &entry : graph->extents)
      extents[entry.getKey().str()] = entry.getValue();
    sample.tensors = randomTensorsFor(trial.model, extents, random);
    trial.samples.push_back(std::move(sample));
  }
  if (llvm::Error error = evaluate(trial))
    return error;
  return trial;
}

llvm::Expected<Trial> test::makeRandomTrial(const RandomSeed &seed) {
  frontend::ModelSpec model = randomModel(seed);
  int64_t widest = 1;
  for (const frontend::Value &value : model.values) {
    int64_t elements = 1;
    for (const frontend::Axis &axis : value.axes)
      elements *= axis.size;
    widest = std::max(widest, elements);
  }
  // One ordinary graph and two that go wrong; now and then a large one, where the interpreter can bear it.
  Random random(seed.number ^ 0x14057B7EF767814F);
  std::vector<GraphShape> shapes{random.pick({GraphShape::Small, GraphShape::Hub}),
                                 random.pick({GraphShape::Repeated, GraphShape::OneNode}),
                                 random.pick({GraphShape::Empty, GraphShape::NoEdges, GraphShape::OneNode})};
  if (widest <= 64 && (random.chance(25) || isRecordingForDevice()))
    shapes.push_back(GraphShape::Large);
  return makeTrial(std::move(model), shapes, seed.number);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {

/// Largest finite magnitude among a value and all that it is computed from: what rounding errors are relative to.
double magnitude(const frontend::ModelSpec &model, const Sample &sample, frontend::Id id) {
  std::vector<bool> needed(model.values.size());
  needed[size_t(id)] = true;
  double most = 0;
  for (size_t at = size_t(id) + 1; at-- > 0;) {
    if (!needed[at])
      continue;
    for (double number : sample.values[at].data)
      if (std::isfinite(number))
        most = std::max(most, std::abs(number));
    for (frontend::Id operand : model.values[at].operands)
      needed[size_t(operand)] = true;
  }
  return most;
}

/// Where two tensors differ most, in words; empty where they agree.
std::string compare(const Tensor &actual, const Tensor &expected, double tolerance) {
  if (actual.shape != expected.shape)
    return "has another shape";
  double worst = 0;
  size_t where = 0, count = 0;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    double a = actual.data[i], e = expected.data[i];
    bool same = a == e || (std::isnan(a) && std::isnan(e));
    double difference = same ? 0 : std::isfinite(a) && std::isfinite(e) ? std::abs(a - e) : INFINITY;
    count += difference > tolerance;
    if (difference > worst) {
      worst = difference;
      where = i;
    }
  }
  if (worst <= tolerance)
    return "";
  return llvm::formatv("differs in {0} of {1} numbers, most in number {2}: expected {3}, found {4}", count,
                       expected.data.size(), where, expected.data[where], actual.data[where]);
}

std::string compareAll(const Trial &trial, const Sample &sample, const Tensors &outputs, double relative) {
  for (const frontend::Output &output : trial.model.outputs) {
    auto found = outputs.find(output.name);
    if (found == outputs.end())
      return "output '" + output.name + "' is not there";
    double tolerance = relative * magnitude(trial.model, sample, output.value);
    std::string difference = compare(found->second, sample.values[size_t(output.value)], tolerance);
    if (!difference.empty())
      return "output '" + output.name + "' " + difference;
  }
  return "";
}

bool sameBits(const Tensors &a, const Tensors &b) {
  for (const auto &[name, tensor] : a)
    if (!haveSameBits(tensor, b.at(name)))
      return false;
  return true;
}

/// The interpreter on the module that code is generated from.
std::string checkPhases(const Trial &trial, unsigned optLevel) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mpk::MPKDialect>();
  std::string message;
  context.getDiagEngine().registerHandler([&](mlir::Diagnostic &diagnostic) {
    message += diagnostic.str() + "\n";
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = importModel(trial.model, &context);
  for (const PassPhase &phase : passPhases()) {
    mlir::PassManager pm(&context);
    phase.populate(pm, optLevel);
    if (mlir::failed(pm.run(*module)))
      return "phase " + phase.name.str() + " fails: " + message;
    if (phase.name == "fuse")
      break;
  }
  for (const Sample &sample : trial.samples) {
    std::string graphName = nameOf(sample.shape);
    auto values = interpretOn(*module, sample.graph, sample.tensors);
    if (!values)
      return graphName + ": " + llvm::toString(values.takeError());
    Tensors outputs = tensorsOf(std::move(*values));
    std::string difference = compareAll(trial, sample, outputs, 1e-10);
    if (!difference.empty())
      return graphName + ": " + difference;
  }
  return "";
}

std::string checkCompiled(const Trial &trial, const Way &way) {
  auto compiled = CompiledModel::create(trial.model, optionsFor(way));
  if (!compiled)
    return "does not compile: " + llvm::toString(compiled.takeError());
  double relative = trial.model.doublePrecision ? 1e-10 : 1e-5;
  for (const Sample &sample : trial.samples) {
    std::string graphName = nameOf(sample.shape);
    std::vector<Tensors> runs;
    for (int threads : {1, 2}) {
      std::string where = graphName + (threads == 1 ? ", one thread: " : ", two threads: ");
      auto outputs = runGuarded((*compiled)->file(), sample.graph, sample.tensors, threads, indexForm(way, threads));
      if (!outputs)
        return where + llvm::toString(outputs.takeError());
      std::string difference = compareAll(trial, sample, *outputs, relative);
      if (!difference.empty())
        return where + difference;
      runs.push_back(std::move(*outputs));
    }
    if (!sameBits(runs[0], runs[1]))
      return graphName + ": the bits depend on the number of threads";
  }
  return "";
}

} // namespace

std::string Way::name() const {
  return "O" + std::to_string(optLevel) + (compiled ? "" : " interpreted") +
         (save == SaveKind::Auto ? std::string() : std::string(" --save=") + nameOf(save)) +
         (compiled ? " for x86-64-v" + std::to_string(cpuLevel) : "") + (optimise ? "" : " without LLVM's optimiser") +
         (checkpoints ? " --checkpoints=" + std::to_string(checkpoints) : std::string()) +
         (statements ? " --statements=" + std::to_string(statements) : std::string());
}

std::vector<Way> test::allWays(const RandomSeed &seed, bool gradient) {
  std::vector<Way> ways;
  for (unsigned optLevel : {0, 1, 2})
    ways.push_back({optLevel, /*compiled=*/false});
  size_t interpreted = ways.size();
  for (unsigned optLevel : {0, 1, 2})
    ways.push_back({optLevel});
  if (gradient)
    for (SaveKind save : {SaveKind::None, SaveKind::All})
      ways.push_back({2, /*compiled=*/true, save});
  size_t compiled = ways.size() - interpreted;
  for (size_t i = 0; i < compiled; ++i) {
    Way &way = ways[interpreted + i];
    // Of a full body one way, of a small one none every other time.
    uint64_t turn = seed.body == BodySize::Full ? seed.number : seed.number / 2;
    way.optimise = turn % compiled == i && (seed.body == BodySize::Full || seed.number % 2 == 0);
    // The level changes once each of the ways has been an optimised one.
    way.cpuLevel = (turn / compiled + i) % 2 ? 3 : 4;
    if (seed.number % 4 >= 2 && (way.optLevel == 1 || way.save == SaveKind::All))
      way.statements = 24;
    if (seed.number % 2 == 1 && way.save == SaveKind::None) {
      way.save = SaveKind::Auto;
      way.checkpoints = 2 + seed.number / 2 % 3;
    }
  }
  return ways;
}

int test::indexForm(const Way &way, int threads) { return (2 * int(way.optLevel) + int(way.save) + threads - 1) % 4; }

CompileOptions test::optionsFor(const Way &way) {
  CompileOptions options;
  options.optLevel = way.optLevel;
  options.save = way.save;
  options.checkpoints = way.checkpoints;
  options.optimiseCode = way.optimise;
  options.statements = way.statements;
  options.cpuLevels = {std::min(way.cpuLevel, bestProcessorLevel())};
  return options;
}

std::string test::check(const Trial &trial, const Way &way) {
  return way.compiled ? checkCompiled(trial, way) : checkPhases(trial, way.optLevel);
}

llvm::Error test::record(const Trial &trial, bool unfused) {
  llvm::Expected<std::unique_ptr<DeviceRecorder>> recorder =
      DeviceRecorder::create(trial.model, /*gradient=*/false, unfused);
  if (!recorder)
    return recorder.takeError();
  for (const Sample &sample : trial.samples) {
    if (!*recorder)
      break;
    Tensors outputs;
    for (const frontend::Output &output : trial.model.outputs)
      outputs[output.name] = sample.values[size_t(output.value)];
    if (llvm::Error error = (*recorder)->add("forward", sample.graph, sample.tensors, outputs))
      return error;
  }
  return llvm::Error::success();
}

/// Generates code for something, optimised and not, before the first process is made of this one: or each of them would
/// bind LLVM's functions and fill its tables anew. Nothing is linked: the linker leaves threads, which a process made
/// of this one would wait for.
static void warmUp() {
  static const bool once = [] {
    std::optional<frontend::ModelSpec> model =
        loadText("import std\n model M { input x: node[4]\n output y = GAT(x, heads: 2, out: 3) }");
    for (bool optimise : {false, true}) {
      CompileOptions options;
      options.gradient = true;
      options.optimiseCode = optimise;
      options.emit = EmitKind::LLVM; // The code is generated all the same.
      llvm::Expected<std::string> text = compile(*model, options);
      EXPECT_TRUE(bool(text)) << llvm::toString(text.takeError());
    }
    return true;
  }();
  (void)once;
}

std::optional<Finding> test::runApart(llvm::ArrayRef<Check> checks, Patience patience) {
  warmUp();
  // Which check runs: what a process that crashed can no longer tell.
  auto *running = static_cast<volatile size_t *>(
      mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (running == MAP_FAILED)
    return Finding{0, "no memory"};
  auto release = llvm::scope_exit([&] { munmap(const_cast<size_t *>(running), sizeof(size_t)); });
  *running = 0;
  int ends[2];
  if (pipe(ends) != 0)
    return Finding{0, "no pipe"};
  pid_t child = fork();
  if (child < 0)
    return Finding{0, "no process"};
  if (child == 0) {
    for (int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
      signal(number, SIG_DFL);
    std::string wrong;
    for (size_t i = 0; i < checks.size() && wrong.empty(); ++i) {
      *running = i;
      itimerval most = {{0, 0}, {patience.processor, 0}};
      setitimer(ITIMER_PROF, &most, nullptr);
      alarm(patience.wall);
      wrong = checks[i].run();
    }
    for (size_t written = 0; written < wrong.size();) {
      ssize_t count = write(ends[1], wrong.data() + written, wrong.size() - written);
      if (count <= 0)
        break;
      written += size_t(count);
    }
    _exit(0); // No destructors of a test that goes on elsewhere.
  }
  close(ends[1]);
  std::string wrong;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    wrong.append(buffer, size_t(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    wrong = WTERMSIG(status) == SIGPROF   ? "hangs"
            : WTERMSIG(status) == SIGALRM ? "waits for what does not come"
                                          : std::string("crashes: ") + strsignal(WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0)
    wrong = "exits with status " + std::to_string(WEXITSTATUS(status)) + ": " + wrong;
  if (wrong.empty())
    return std::nullopt;
  return Finding{*running, wrong};
}
