//===- GradientRandomTest.cpp - Gradients of random models ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in RandomModelsTest.cpp each seed is a model and a few graphs: compiled gradients are the interpreter's, and those
// are the slopes of the program.
//
//   GNNC_RANDOM_SECONDS   how long new seeds are tried (0: one seed)
//   GNNC_RANDOM_SEED      the first seed
//   GNNC_RANDOM_FAILURES  after how many failures to stop
//   GNNC_DEVICE_CASES     the folder to write cases for GPUs to, instead of running anything
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"
#include "Gradient.h"
#include "RandomTrial.h"

#include "gnnc/Frontend/JSON.h"

#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

using namespace gnnc;
using namespace gnnc::test;
using frontend::OpCode;

/// As long as continuous integration may take for this.
static constexpr double kSeconds = 25;
static constexpr double kShrinkSeconds = 60;
/// Begins what is said of a sample whose gradients jump within the rounding errors of its inputs.
static constexpr llvm::StringLiteral kUnstable = "unstable: ";

static double setting(const char *name, double otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtod(text, nullptr) : otherwise;
}

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

static llvm::Expected<Trial> makeGradientTrial(uint64_t seed) {
  frontend::ModelSpec model = smooth(randomModel(seed));
  Random random(seed);
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
  return makeTrial(std::move(model), shapes, seed);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {

struct GradientSample {
  Tensors given, expected;
  std::map<std::string, double> magnitudes;
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

/// Whether gradients move as much as they differ when inputs move by their last bits.
static bool isUnstable(const Program &differentiated, const Graph &graph, const GradientSample &sample, double noise,
                       double relative, double factor) {
  Random random(5);
  for (int attempt = 0; attempt < 8; ++attempt) {
    Tensors moved = sample.given;
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
    if (change > 0.2 * factor)
      return true;
  }
  return false;
}

static std::string checkWay(const Trial &trial, const Way &way) {
  Program differentiated(trial.model);
  if (!differentiated.differentiate())
    return "has no derivative";
  Program lowered(trial.model);
  std::unique_ptr<CompiledModel> compiled;
  if (way.compiled) {
    CompileOptions options;
    options.optLevel = way.optLevel;
    options.gradient = true;
    options.save = way.save;
    auto model = CompiledModel::create(trial.model, options);
    if (!model)
      return "does not compile: " + llvm::toString(model.takeError());
    compiled = std::move(*model);
  } else if (!lowered.lower(way.optLevel)) {
    return "the phases fail";
  }
  bool single = way.compiled && !trial.model.doublePrecision;
  double relative = single ? 3e-5 : 1e-9;
  for (const Sample &sample : trial.samples) {
    llvm::Expected<GradientSample> wanted = prepare(differentiated, trial, sample);
    std::string graphName = nameOf(sample.shape);
    if (!wanted)
      return graphName + ": the interpreter fails: " + llvm::toString(wanted.takeError());
    std::vector<Tensors> runs;
    for (int threads = 1; threads <= (way.compiled ? 2 : 1); ++threads) {
      llvm::Expected<Tensors> results =
          way.compiled ? runGuarded(compiled->file(), sample.graph, wanted->given, threads, threads - 1)
                       : lowered.run(sample.graph, wanted->given);
      if (!results)
        return graphName + ": " + llvm::toString(results.takeError());
      double factor;
      if (std::string wrong = compare(*results, *wanted, relative, factor); !wrong.empty()) {
        bool unstable = isUnstable(differentiated, sample.graph, *wanted, single ? 1e-6 : 1e-13, relative, factor);
        return (unstable ? kUnstable.str() : "") + graphName + ": " + wrong;
      }
      runs.push_back(std::move(*results));
    }
    if (runs.size() == 2)
      for (const auto &[name, tensor] : runs[0])
        if (std::memcmp(tensor.data.data(), runs[1].at(name).data.data(), tensor.data.size() * sizeof(double)) != 0)
          return graphName + ": the bits of '" + name + "' depend on the number of threads";
  }
  return "";
}

/// Writes the samples for a GPU on another machine, where that is asked for.
static llvm::Error recordGradients(const Trial &trial, bool unfused) {
  llvm::Expected<std::unique_ptr<DeviceRecorder>> recorder =
      DeviceRecorder::create(trial.model, /*gradient=*/true, unfused);
  if (!recorder)
    return recorder.takeError();
  Program differentiated(trial.model);
  if (!*recorder || !differentiated.differentiate())
    return llvm::Error::success();
  for (const Sample &sample : trial.samples) {
    llvm::Expected<GradientSample> wanted = prepare(differentiated, trial, sample);
    if (!wanted)
      return wanted.takeError();
    if (llvm::Error error = (*recorder)->add("gradient", sample.graph, wanted->given, wanted->expected))
      return error;
  }
  return llvm::Error::success();
}

/// The interpreter's gradients against differences, at numbers that are nowhere equal by chance.
static std::string checkSlopes(const Trial &trial) {
  // What is detached has a slope all the same.
  for (const frontend::Value &value : trial.model.values)
    if (value.op == OpCode::Detach)
      return "";
  Program program(trial.model), differentiated(trial.model);
  if (!differentiated.differentiate())
    return "has no derivative";
  for (const Sample &sample : trial.samples) {
    size_t numbers = 0;
    for (const auto &[name, tensor] : sample.tensors)
      numbers += tensor.data.size();
    if (numbers > 250 || sample.shape == GraphShape::Large)
      continue;
    Sample generic = sample;
    Random random(9);
    for (auto &[name, tensor] : generic.tensors)
      for (double &x : tensor.data)
        x = double(random.between(-1000003, 1000003)) / 1000003;
    llvm::Expected<GradientSample> wanted = prepare(differentiated, trial, generic);
    std::string graphName = nameOf(sample.shape);
    if (!wanted)
      return graphName + ": the interpreter fails: " + llvm::toString(wanted.takeError());
    std::string wrong = compareWithDifferences(program, sample.graph, wanted->given, wanted->expected, 1e-4);
    if (!wrong.empty())
      return graphName + ": " + wrong;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The test
//===----------------------------------------------------------------------===//

TEST(RandomGradients, AreTheInterpretersAndSlopes) {
  auto begin = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  uint64_t seed = uint64_t(setting("GNNC_RANDOM_SEED", 1));
  double seconds = setting("GNNC_RANDOM_SECONDS", kSeconds);
  int64_t trials = 0, failures = 0, unstable = 0, most = int64_t(setting("GNNC_RANDOM_FAILURES", 1));
  std::vector<std::pair<std::string, std::function<std::string(const Trial &)>>> checks = {
      {"differences", checkSlopes}};
  std::vector<Way> ways = allWays();
  for (SaveKind save : {SaveKind::None, SaveKind::All})
    ways.push_back({2, true, save});
  for (Way way : ways)
    checks.push_back({way.name(), [way](const Trial &trial) { return checkWay(trial, way); }});
  do {
    llvm::Expected<Trial> trial = makeGradientTrial(seed);
    if (!trial) {
      ADD_FAILURE() << "GNNC_RANDOM_SEED=" << seed << ": the interpreter fails: " << llvm::toString(trial.takeError());
      ++failures;
    } else {
      llvm::Error error = recordGradients(*trial, /*unfused=*/seed % 4 == 0);
      EXPECT_FALSE(bool(error)) << "GNNC_RANDOM_SEED=" << seed << ": " << llvm::toString(std::move(error));
      for (const auto &[name, check] : checks) {
        if (isRecordingForDevice())
          break;
        std::string wrong = runApart([&] { return check(*trial); });
        if (wrong.empty())
          continue;
        if (llvm::StringRef(wrong).starts_with(kUnstable)) {
          ++unstable;
          break;
        }
        std::string last = wrong;
        shrink(
            *trial,
            [&](const Trial &smaller) {
              std::string still = runApart([&] { return check(smaller); });
              if (still.empty() || llvm::StringRef(still).starts_with(kUnstable))
                return false;
              last = still;
              return true;
            },
            kShrinkSeconds);
        ADD_FAILURE() << "GNNC_RANDOM_SEED=" << seed << ": " << name << ": " << wrong
                      << "\nThis is a smaller one: " << last << "\n"
                      << frontend::writeJSON(trial->model, /*locations=*/false);
        ++failures;
        break;
      }
    }
    ++trials;
    ++seed;
  } while (elapsed() < seconds && failures < most);
  RecordProperty("Models", std::to_string(trials));
  std::printf("gradients of %lld random models in %.0f s, %lld of them left out as unstable\n",
              static_cast<long long>(trials), elapsed(), static_cast<long long>(unstable));
}
