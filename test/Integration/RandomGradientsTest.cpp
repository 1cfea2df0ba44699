//===- RandomGradientsTest.cpp - Gradients of random models ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in RandomModelsTest.cpp each seed is a model and a few graphs: compiled gradients are the interpreter's, and those
// are the slopes of the program.
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"
#include "Gradient.h"
#include "RandomTrial.h"

#include "gnnc/Frontend/JSON.h"

#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

using namespace gnnc;
using namespace gnnc::test;
using frontend::OpCode;

static constexpr double kShrinkSeconds = 60;
/// In single precision: how far gradients may be off, beside the magnitude of what they are computed from, and by how
/// much inputs are moved to find out whether they jump.
static constexpr double kSingleTolerance = 3e-5, kSingleNoise = 1e-6;
/// The share of a difference by which gradients of moved inputs must move to explain it.
static constexpr double kUnstableShare = 0.2;
/// Begins what is said of a sample whose gradients jump within the rounding errors of its inputs.
static constexpr llvm::StringLiteral kUnstable = "unstable: ";

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// Functions with a kink get numbers that are exact in float32, or give way to smooth ones: rounding must not decide
/// which side of the kink a number is on. Maxima stay, since members hardly ever come that close.
static frontend::ModelSpec smooth(frontend::ModelSpec model) {
  static const std::map<std::string, const char *> replacements = {
      {"relu", "silu"}, {"leaky_relu", "softplus"}, {"abs", "square"}, {"sign", "tanh"}, {"elu", "gelu"}};
  static const std::set<std::string> keep = {"neg", "relu", "abs", "sign"}, choose = {"max", "min"};
  std::vector<bool> exact;
  for (frontend::Value &value : model.values) {
    bool all =
        std::all_of(value.operands.begin(), value.operands.end(), [&](frontend::Id id) { return exact[size_t(id)]; });
    switch (value.op) {
    case OpCode::Unary:
      if (auto found = replacements.find(value.name); found != replacements.end() && !all)
        value.name = found->second;
      all &= keep.count(value.name) > 0;
      break;
    case OpCode::Binary:
      all &= value.name != "add" && value.name != "sub" && value.name != "mul" && value.name != "div" &&
             value.name != "pow";
      break;
    case OpCode::Reduce:
    case OpCode::Fold:
      all &= choose.count(value.name) > 0;
      break;
    case OpCode::Contract:
    case OpCode::Norm:
      all = false;
      break;
    default:
      break;
    }
    exact.push_back(all);
  }
  return model;
}

static llvm::Expected<Trial> makeGradientTrial(const RandomSeed &seed) {
  frontend::ModelSpec model = smooth(randomModel(seed));
  Random random(seed.number);
  std::vector<GraphShape> shapes{GraphShape::Small,
                                 random.pick({GraphShape::Repeated, GraphShape::OneNode, GraphShape::Empty,
                                              GraphShape::NoEdges, GraphShape::Hub})};
  bool narrow = std::all_of(model.values.begin(), model.values.end(), [](const frontend::Value &value) {
    int64_t elements = 1;
    for (const frontend::Axis &axis : value.axes)
      elements *= axis.size;
    return elements <= 64;
  });
  if (narrow && (random.chance(20) || isRecordingForDevice()))
    shapes.push_back(GraphShape::Large);
  return makeTrial(std::move(model), shapes, seed.number);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {

struct GradientSample {
  Tensors given, expected;
  std::map<std::string, double> magnitudes;
};

/// What the interpreter says of a trial's gradients. It is computed for the first check that asks, and is the same for
/// all.
class Oracle {
public:
  explicit Oracle(const Trial &trial) : trial(trial) {}

  /// Empty once `differentiated` and `samples` are there.
  std::string prepare();

  const Trial &trial;
  std::optional<Program> differentiated;
  std::vector<GradientSample> samples; ///< by sample of the trial
};

} // namespace

static llvm::Expected<GradientSample> prepare(const Program &differentiated, const Trial &trial, const Sample &sample) {
  GradientSample result;
  Tensors outputs;
  for (const frontend::Output &output : trial.model.outputs)
    outputs[output.name] = sample.values[size_t(output.value)];
  result.given = sample.tensors;
  addOutputGradients(result.given, outputs, 3);
  auto expected = differentiated.run(sample.graph, result.given);
  if (!expected)
    return expected.takeError();
  auto magnitudes = differentiated.magnitudes(sample.graph, result.given);
  if (!magnitudes)
    return magnitudes.takeError();
  result.expected = std::move(*expected);
  result.magnitudes = std::move(*magnitudes);
  return result;
}

std::string Oracle::prepare() {
  if (samples.size() == trial.samples.size())
    return "";
  differentiated.emplace(trial.model);
  if (!differentiated->differentiate())
    return "has no derivative";
  for (const Sample &sample : trial.samples) {
    llvm::Expected<GradientSample> wanted = ::prepare(*differentiated, trial, sample);
    if (!wanted)
      return std::string(nameOf(sample.shape)) + ": the interpreter fails: " + llvm::toString(wanted.takeError());
    samples.push_back(std::move(*wanted));
  }
  return "";
}

/// The tensor in which results differ, in words. `factor` is the size of the largest difference, in tolerances.
static std::string compare(const Tensors &actual, const GradientSample &sample, double relative, double &factor) {
  std::string wrong;
  factor = 0;
  for (const auto &[name, expected] : sample.expected) {
    auto found = actual.find(name);
    if (found == actual.end() || found->second.shape != expected.shape) {
      factor = INFINITY;
      return "'" + name + "' is not there, or has another shape";
    }
    double tolerance = relative * std::max(1e-3, sample.magnitudes.at(name));
    for (size_t i = 0; i < expected.data.size(); ++i) {
      double a = found->second.data[i], e = expected.data[i];
      bool same = a == e || (std::isnan(a) && std::isnan(e));
      double difference = same ? 0 : std::isfinite(a) && std::isfinite(e) ? std::abs(a - e) / tolerance : INFINITY;
      if (difference > std::max(1.0, factor)) {
        factor = difference;
        wrong = llvm::formatv("'{0}', number {1} of {2}: expected {3:f9}, found {4:f9} (magnitude {5:f3})", name, i,
                              expected.data.size(), e, a, sample.magnitudes.at(name));
      }
    }
  }
  return wrong;
}

/// Whether gradients move as much as they differ when inputs move by their last bits. Those that are left out move too:
/// a default of 1 and a saturated sigmoid tie in single precision alone.
static bool isUnstable(const frontend::ModelSpec &model, const Program &differentiated, const Graph &graph,
                       const GradientSample &sample, double noise, double relative, double factor) {
  Tensors given = sample.given;
  for (const frontend::Value &value : model.values) {
    auto gradient = sample.expected.find("grad." + value.name);
    if (value.op != frontend::OpCode::Input || given.count(value.name) || gradient == sample.expected.end())
      continue;
    Tensor numbers = Tensor::zeros(gradient->second.shape);
    llvm::fill(numbers.data, value.number);
    given[value.name] = std::move(numbers);
  }
  Random random(5);
  for (int attempt = 0; attempt < 8; ++attempt) {
    Tensors moved = given;
    for (auto &[name, tensor] : moved)
      for (double &x : tensor.data)
        x += noise * (double(random.between(-1000, 1000)) / 1000) * std::max(0.1, std::abs(x));
    llvm::Expected<Tensors> results = differentiated.run(graph, moved);
    if (!results) {
      llvm::consumeError(results.takeError());
      return false;
    }
    double change;
    compare(*results, sample, relative, change);
    if (change > kUnstableShare * factor)
      return true;
  }
  return false;
}

static std::string checkWay(Oracle &oracle, const Way &way) {
  const Trial &trial = oracle.trial;
  if (std::string wrong = oracle.prepare(); !wrong.empty())
    return wrong;
  std::optional<Program> lowered;
  std::unique_ptr<CompiledModel> compiled;
  if (way.compiled) {
    CompileOptions options = optionsFor(way);
    options.gradient = true;
    auto model = CompiledModel::create(trial.model, options);
    if (!model)
      return "does not compile: " + llvm::toString(model.takeError());
    compiled = std::move(*model);
  } else {
    lowered.emplace(trial.model);
    if (!lowered->lower(way.optLevel))
      return "the phases fail";
  }
  bool single = way.compiled && !trial.model.doublePrecision;
  double relative = single ? kSingleTolerance : 1e-9;
  for (auto [sample, wanted] : llvm::zip_equal(trial.samples, oracle.samples)) {
    std::string graphName = nameOf(sample.shape);
    std::vector<Tensors> runs;
    for (int threads = 1; threads <= (way.compiled ? 2 : 1); ++threads) {
      llvm::Expected<Tensors> results =
          way.compiled ? runGuarded(compiled->file(), sample.graph, wanted.given, threads, indexForm(way, threads))
                       : lowered->run(sample.graph, wanted.given);
      if (!results)
        return graphName + ": " + llvm::toString(results.takeError());
      double factor;
      if (std::string wrong = compare(*results, wanted, relative, factor); !wrong.empty()) {
        bool unstable = isUnstable(trial.model, *oracle.differentiated, sample.graph, wanted,
                                   single ? kSingleNoise : 1e-13, relative, factor);
        return (unstable ? kUnstable.str() : "") + graphName + ": " + wrong;
      }
      runs.push_back(std::move(*results));
    }
    if (runs.size() == 2)
      for (const auto &[name, tensor] : runs[0])
        if (!haveSameBits(tensor, runs[1].at(name)))
          return graphName + ": the bits of '" + name + "' depend on the number of threads";
  }
  return "";
}

/// Writes the samples for a GPU on another machine.
static llvm::Error recordGradients(const Trial &trial, bool unfused) {
  llvm::Expected<std::unique_ptr<DeviceRecorder>> recorder =
      DeviceRecorder::create(trial.model, /*gradient=*/true, unfused);
  if (!recorder)
    return recorder.takeError();
  Oracle oracle(trial);
  if (std::string wrong = oracle.prepare(); !wrong.empty())
    return llvm::createStringError(wrong);
  for (auto [sample, wanted] : llvm::zip_equal(trial.samples, oracle.samples)) {
    // What differs is not known yet: more than a tolerance is too much.
    bool unstable = isUnstable(trial.model, *oracle.differentiated, sample.graph, wanted, kSingleNoise,
                               kSingleTolerance, 1 / kUnstableShare);
    if (llvm::Error error = (*recorder)->add("gradient", sample.graph, wanted.given, wanted.expected, /*updates=*/{},
                                             /*doubleOnly=*/unstable))
      return error;
  }
  return llvm::Error::success();
}

/// The interpreter's gradients against differences, at numbers that are nowhere equal by chance.
static std::string checkSlopes(Oracle &oracle) {
  const Trial &trial = oracle.trial;
  // What is detached has a slope all the same.
  for (const frontend::Value &value : trial.model.values)
    if (value.op == OpCode::Detach)
      return "";
  if (std::string wrong = oracle.prepare(); !wrong.empty())
    return wrong;
  Program program(trial.model);
  for (const Sample &sample : trial.samples) {
    size_t numbers = 0;
    for (const auto &[name, tensor] : sample.tensors)
      numbers += tensor.data.size();
    if (sample.shape == GraphShape::Large)
      continue;
    Sample generic = sample;
    // Two draws a number: of a hundred thousand numbers with twenty bits, some two are the largest of their owner.
    Random random(9);
    for (auto &[name, tensor] : generic.tensors)
      for (double &x : tensor.data) {
        double high = double(random.between(-1000003, 1000003));
        x = (high + double(random.between(0, 999999)) / 1e6) / 1000004;
      }
    std::string graphName = nameOf(sample.shape);
    llvm::Expected<GradientSample> wanted = prepare(*oracle.differentiated, trial, generic);
    if (!wanted)
      return graphName + ": the interpreter fails: " + llvm::toString(wanted.takeError());
    std::string wrong = compareAlongLines(program, sample.graph, wanted->given, wanted->expected);
    // A kink disturbs a line more often than a number. Numbers say where a gradient is wrong, too.
    if (!wrong.empty() && numbers <= 250)
      wrong = compareWithDifferences(program, sample.graph, wanted->given, wanted->expected, 1e-4);
    if (!wrong.empty())
      return graphName + ": " + wrong;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The test
//===----------------------------------------------------------------------===//

static std::vector<Check> checksOf(const Trial &trial, const RandomSeed &seed) {
  auto oracle = std::make_shared<Oracle>(trial);
  std::vector<Check> checks{{"differences", [=] { return checkSlopes(*oracle); }}};
  for (const Way &way : allWays(seed, /*gradient=*/true))
    checks.push_back({way.name(), [=] { return checkWay(*oracle, way); }});
  return checks;
}

static Outcome tryModel(const RandomSeed &seed) {
  llvm::Expected<Trial> trial = makeGradientTrial(seed);
  if (!trial) {
    ADD_FAILURE() << toString(seed) << ": the interpreter fails: " << llvm::toString(trial.takeError());
    return Outcome::Failed;
  }
  if (isRecordingForDevice()) {
    llvm::Error error = recordGradients(*trial, /*unfused=*/seed.number % 4 == 0);
    if (!error)
      return Outcome::Passed;
    ADD_FAILURE() << toString(seed) << ": " << llvm::toString(std::move(error));
    return Outcome::Failed;
  }
  std::vector<Check> checks = checksOf(*trial, seed);
  std::optional<Finding> finding = runApart(checks);
  if (!finding)
    return Outcome::Passed;
  auto isUnstable = [](const Finding &finding) { return llvm::StringRef(finding.wrong).starts_with(kUnstable); };
  if (isUnstable(*finding))
    return Outcome::Unstable;
  std::string last = finding->wrong;
  auto fails = [&](const Trial &smaller) {
    std::optional<Finding> still = runApart(checksOf(smaller, seed)[finding->check]);
    if (!still || isUnstable(*still))
      return false;
    last = still->wrong;
    return true;
  };
  shrink(*trial, fails, kShrinkSeconds);
  ADD_FAILURE() << toString(seed) << ": " << checks[finding->check].name << ": " << finding->wrong
                << "\nThis is a smaller one: " << last << "\n"
                << frontend::writeJSON(trial->model, /*locations=*/false);
  return Outcome::Failed;
}

TEST(RandomGradients, AreTheInterpretersAndSlopes) {
  SeedRun run("gradients", /*full=*/10, /*small=*/25);
  while (std::optional<RandomSeed> seed = run.next())
    run.report(tryModel(*seed));
  RecordProperty("Models", std::to_string(run.tried()));
  std::printf("gradients of %lld random models in %.0f s, %lld of them left out as unstable\n",
              static_cast<long long>(run.tried()), run.seconds(), static_cast<long long>(run.unstable()));
}
