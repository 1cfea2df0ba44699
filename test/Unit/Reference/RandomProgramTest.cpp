//===- RandomProgramTest.cpp - The pipeline keeps the meaning -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each seed a program is interpreted as it is and after each phase of each optimisation level; and its gradients
// are compared with finite differences, and kept by the phases too. RandomSeeds.h says which seeds are tried; with
// GNNC_RANDOM_PRINT set, each program is printed before it is run, in a form that gnnc-opt --gnnc-interpret takes. With
// GNNC_DEVICE_CASES, nothing is checked, but programs are written for GPUs (DeviceCases.h): each in double precision,
// and in float32 or with rows of 16 bits.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "DeviceCases.h"
#include "Interpreted.h"
#include "RandomSeeds.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Pipelines/PhaseRunner.h"
#include "gnnc/Target/CUDA/CUDABackend.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <random>

using namespace gnnc;

namespace {

/// How many programs continuous integration runs.
constexpr int64_t kPrograms = 1000;

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// What differs most, in words; empty if all is the same but for the order of additions. Where the program gives no
/// number, anything may come out. `factor`: by how many tolerances it differs.
std::string difference(const std::vector<NamedTensor> &expected, const std::vector<NamedTensor> &found,
                       double &factor) {
  factor = INFINITY;
  if (expected.size() != found.size())
    return "number of results";
  std::string wrong;
  double most = 1;
  for (auto [a, b] : llvm::zip(expected, found)) {
    if (a.value.data.size() != b.value.data.size())
      return a.name + ": size";
    for (auto [i, pair] : llvm::enumerate(llvm::zip(a.value.data, b.value.data))) {
      auto [x, y] = pair;
      if (std::isnan(x) || x == y)
        continue;
      double off = std::fabs(x - y) / (1e-9 * (1 + std::fabs(x)));
      if (off <= most)
        continue;
      most = std::isnan(off) ? INFINITY : off;
      wrong = llvm::formatv("{0}[{1}]: expected {2:f12}, found {3:f12}", a.name, i, x, y);
    }
  }
  factor = most;
  return wrong;
}

class RandomProgramTest : public ::testing::Test {
protected:
  RandomProgramTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<mpdfg::MPDFGDialect, mpk::MPKDialect, mlir::func::FuncDialect>();
  }

  /// Tries the seeds of `run` one after the other.
  template <typename Try> void tryAll(test::SeedRun run, Try attempt) {
    const testing::TestResult &result = *testing::UnitTest::GetInstance()->current_test_info()->result();
    while (std::optional<test::RandomSeed> seed = run.next()) {
      int before = result.total_part_count();
      unstable = false;
      attempt(unsigned(seed->number));
      run.report(result.total_part_count() != before ? test::Outcome::Failed
                 : unstable                          ? test::Outcome::Unstable
                                                     : test::Outcome::Passed);
    }
    tried = run.tried();
    RecordProperty("Programs", std::to_string(tried));
  }

  /// Makes the program of a seed and materialises its graph.
  void make(unsigned seed, bool smooth, bool doublePrecision = false);
  /// Writes the program of a seed for GPUs, as phases for them make it, with what the interpreter makes of that.
  void record(unsigned seed, bool gradient);
  /// Runs the phases of each level one by one; the outputs must stay `expected`, which are those of `original`.
  void checkPhases(unsigned seed, bool gradient, mlir::ModuleOp original, const llvm::StringMap<RefTensor> &inputs,
                   const std::vector<NamedTensor> &expected);
  /// Whether outputs move as far as they differ when inputs move by their last bits: a sine of millions, say.
  bool isUnstable(llvm::StringRef function, mlir::ModuleOp original, const llvm::StringMap<RefTensor> &inputs,
                  const std::vector<NamedTensor> &expected, double factor);
  void checkMeaning(unsigned seed);
  /// Whether the slope along a line was a number, so that it could be compared.
  void checkGradient(unsigned seed, bool &compared);

  mlir::MLIRContext context;
  test::RandomProgram program;
  GraphData graph;
  int64_t tried = 0;
  bool unstable = false; ///< nothing can be said of the seed
};

void RandomProgramTest::make(unsigned seed, bool smooth, bool doublePrecision) {
  program = test::makeRandomProgram(&context, seed, smooth, doublePrecision);
  if (std::getenv("GNNC_RANDOM_PRINT"))
    (llvm::outs() << "// seed " << seed << "\n" << textOf(*program.module) << "\n").flush();
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*program.module))) << "seed " << seed << "\n" << textOf(*program.module);
  llvm::Expected<GraphData> materialised = materialise(*program.module, program.graph);
  ASSERT_TRUE(bool(materialised)) << "seed " << seed << ": " << llvm::toString(materialised.takeError());
  graph = std::move(*materialised);
}

bool RandomProgramTest::isUnstable(llvm::StringRef function, mlir::ModuleOp original,
                                   const llvm::StringMap<RefTensor> &inputs, const std::vector<NamedTensor> &expected,
                                   double factor) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> number(-1, 1);
  for (int turn = 0; turn < 8; ++turn) {
    llvm::StringMap<RefTensor> moved = inputs;
    for (auto &[name, value] : moved)
      for (double &x : value.data)
        x += 1e-13 * number(random) * std::max(0.1, std::fabs(x));
    auto results = interpret(original, graph, moved, function);
    if (!results) {
      llvm::consumeError(results.takeError());
      return false;
    }
    double change;
    if (!difference(expected, *results, change).empty() && change > 0.2 * factor)
      return true;
  }
  return false;
}

void RandomProgramTest::checkPhases(unsigned seed, bool gradient, mlir::ModuleOp original,
                                    const llvm::StringMap<RefTensor> &inputs,
                                    const std::vector<NamedTensor> &expected) {
  for (unsigned level = 0; level <= 2; ++level) {
    mlir::OwningOpRef<mlir::ModuleOp> module(program.module->clone());
    bool differentiated = !gradient;
    for (const PassPhase &phase : passPhases()) {
      mlir::OwningOpRef<mlir::ModuleOp> before(module->clone());
      mlir::OperationFingerPrint fingerprint(*module);
      mlir::PassManager passes(&context);
      phase.populate(passes, PhaseOptions(level, gradient));
      std::string where = llvm::formatv("seed {0}, -O{1}, phase {2}", seed, level, llvm::StringRef(phase.name));
      ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << where << "\n" << textOf(*before);
      // Until it is differentiated, there is no such function.
      bool isNew = !differentiated && llvm::StringRef(phase.name) == "differentiate";
      differentiated |= isNew;
      if (!differentiated || (!isNew && fingerprint == mlir::OperationFingerPrint(*module)))
        continue;
      // Passes may declare derived spaces.
      llvm::Expected<GraphData> now = materialise(*module, program.graph);
      ASSERT_TRUE(bool(now)) << where << ": " << llvm::toString(now.takeError()) << "\n" << textOf(*module);
      auto found = interpret(*module, *now, inputs, gradient ? kGradient : kForward);
      ASSERT_TRUE(bool(found)) << where << ": " << llvm::toString(found.takeError()) << "\n" << textOf(*module);
      double factor;
      std::string wrong = difference(expected, *found, factor);
      unstable = !wrong.empty() && isUnstable(gradient ? kGradient : kForward, original, inputs, expected, factor);
      if (unstable)
        return;
      ASSERT_EQ(wrong, "") << where << "\n" << textOf(*before);
    }
  }
}

void RandomProgramTest::record(unsigned seed, bool gradient) {
  for (bool doublePrecision : {true, false}) {
    ASSERT_NO_FATAL_FAILURE(make(seed, gradient, doublePrecision));
    Storage storage = doublePrecision || seed % 3 == 0 ? Storage::AsComputed
                      : seed % 3 == 1                  ? Storage::BF16
                                                       : Storage::F16;
    PhaseOptions options(doublePrecision && seed % 4 == 0 ? 0 : 2, gradient);
    options.storage = storage;
    options.target = cuda::capabilities({});
    test::Tensors tensors, expected;
    std::vector<std::string> shared;
    llvm::StringSet<> ofTypes;
    auto forward = program.module->lookupSymbol<mlir::func::FuncOp>(kForward);
    auto note = [&](mlir::Type type, mlir::StringAttr name) {
      if (auto space = mpdfg::getResidency(type); space && space.getValue() == "kind")
        ofTypes.insert(name.getValue());
    };
    for (unsigned i = 0; i < forward.getNumArguments(); ++i)
      note(forward.getArgumentTypes()[i], forward.getArgAttrOfType<mlir::StringAttr>(i, kNameAttr));
    for (unsigned i = 0; i < forward.getNumResults(); ++i)
      note(forward.getResultTypes()[i], forward.getResultAttrOfType<mlir::StringAttr>(i, kNameAttr));
    auto isStatic = [&](llvm::StringRef name) {
      name.consume_front("grad.");
      return ofTypes.contains(name);
    };
    auto add = [&](const std::string &name, RefTensor value, test::Tensors &to) {
      // Neither are the rows of static spaces stored in 16 bits: weights of types.
      if (value.shared || isStatic(name))
        shared.push_back(name);
      to[name] = test::tensorOf(std::move(value));
    };
    llvm::StringMap<RefTensor> inputs = program.inputs;
    if (gradient) {
      auto outputs = interpret(*program.module, graph, inputs);
      ASSERT_TRUE(bool(outputs)) << "seed " << seed << ": " << llvm::toString(outputs.takeError());
      double number = 0.25;
      for (NamedTensor &output : *outputs) {
        for (double &x : output.value.data)
          x = number = number > 1 ? number - 1.8125 : number + 0.3125;
        inputs["grad." + output.name] = std::move(output.value);
      }
    }
    for (auto &[name, value] : inputs)
      for (double &x : value.data)
        x = storage == Storage::BF16  ? decodeBF16(encodeBF16(float(x)))
            : storage == Storage::F16 ? decodeF16(encodeF16(float(x)))
            : doublePrecision         ? x
                                      : float(x);
    PhaseRunner phases(mlir::OwningOpRef<mlir::ModuleOp>(program.module->clone()), options);
    for (const PassPhase &phase : passPhases())
      ASSERT_TRUE(mlir::succeeded(phases.run(phase))) << "seed " << seed << ", phase " << phase.name.str();
    mlir::OwningOpRef<mlir::ModuleOp> module = phases.takeModule();
    llvm::Expected<GraphData> now = materialise(*module, program.graph);
    ASSERT_TRUE(bool(now)) << "seed " << seed << ": " << llvm::toString(now.takeError());
    auto found = interpret(*module, *now, inputs, gradient ? kGradient : kForward);
    ASSERT_TRUE(bool(found)) << "seed " << seed << ": " << llvm::toString(found.takeError());
    // Where the program gives no number, anything may come out.
    bool isFinite = llvm::all_of(*found, [](const NamedTensor &result) {
      return llvm::all_of(result.value.data, [](double x) { return std::isfinite(x); });
    });
    if (!isFinite)
      continue;
    for (const auto &[name, value] : inputs)
      add(name.str(), value, tensors);
    for (NamedTensor &result : *found)
      add(result.name, std::move(result.value), expected);
    test::Graph given;
    for (const auto &[name, extent] : program.graph.extents)
      given.extents[name.str()] = extent;
    for (const auto &[name, targets] : program.graph.maps)
      given.maps[name.str()].assign(targets.begin(), targets.end());
    llvm::Expected<std::string> object = test::packageForGPU(*module);
    ASSERT_TRUE(bool(object)) << "seed " << seed << ": " << llvm::toString(object.takeError());
    auto recorder = test::DeviceRecorder::create(*object, llvm::formatv("seed{0}{1}", seed, doublePrecision ? "d" : ""),
                                                 storage, shared);
    ASSERT_TRUE(bool(recorder)) << llvm::toString(recorder.takeError());
    llvm::Error error = (*recorder)->add(gradient ? "gradient" : "forward", given, tensors, expected);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }
}

void RandomProgramTest::checkMeaning(unsigned seed) {
  ASSERT_NO_FATAL_FAILURE(make(seed, /*smooth=*/false));
  auto expected = interpret(*program.module, graph, program.inputs);
  ASSERT_TRUE(bool(expected)) << "seed " << seed << ": " << llvm::toString(expected.takeError());
  checkPhases(seed, /*gradient=*/false, *program.module, program.inputs, *expected);
}

TEST_F(RandomProgramTest, KeepsItsMeaning) {
  tryAll(test::SeedRun("programs", kPrograms, 0),
         [&](unsigned seed) { test::isRecordingForDevice() ? record(seed, /*gradient=*/false) : checkMeaning(seed); });
}

/// The sum of all products of the numbers of two lists of tensors.
double product(const llvm::StringMap<RefTensor> &a, const llvm::StringMap<RefTensor> &b) {
  double sum = 0;
  for (const auto &[name, value] : a)
    if (auto it = b.find(name); it != b.end())
      for (auto [x, y] : llvm::zip(value.data, it->second.data))
        sum += x * y;
  return sum;
}

/// Along a random line through the inputs, the outputs change as the gradients say.
void RandomProgramTest::checkGradient(unsigned seed, bool &compared) {
  ASSERT_NO_FATAL_FAILURE(make(seed, /*smooth=*/true));
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  auto randomLike = [&](RefTensor value) {
    for (double &x : value.data)
      x = number(random);
    return value;
  };
  auto outputs = interpret(*program.module, graph, program.inputs);
  ASSERT_TRUE(bool(outputs)) << "seed " << seed << ": " << llvm::toString(outputs.takeError());
  llvm::StringMap<RefTensor> weights, direction, inputs = program.inputs;
  for (const NamedTensor &output : *outputs) {
    weights[output.name] = randomLike(output.value);
    inputs["grad." + output.name] = weights[output.name];
  }
  for (const auto &[name, value] : program.inputs)
    direction[name] = randomLike(value);

  // What a step along the line changes, per unit.
  auto slope = [&](double step) {
    double ends[2];
    for (int side = 0; side < 2; ++side) {
      llvm::StringMap<RefTensor> moved = program.inputs;
      for (auto &[name, value] : moved)
        for (auto [x, d] : llvm::zip(value.data, direction[name].data))
          x += (side ? step : -step) * d;
      llvm::StringMap<RefTensor> values;
      for (NamedTensor &output : llvm::cantFail(interpret(*program.module, graph, moved)))
        values[output.name] = std::move(output.value);
      ends[side] = product(weights, values);
    }
    return (ends[1] - ends[0]) / (2 * step);
  };

  mlir::OwningOpRef<mlir::ModuleOp> module(program.module->clone());
  mlir::PassManager passes(&context);
  passes.addPass(createDifferentiate());
  ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << "seed " << seed << "\n" << textOf(*program.module);
  auto expected = interpret(*module, graph, inputs, kGradient);
  ASSERT_TRUE(bool(expected)) << "seed " << seed << ": " << llvm::toString(expected.takeError());
  llvm::StringMap<RefTensor> gradients;
  for (const NamedTensor &tensor : *expected)
    if (llvm::StringRef name = tensor.name; name.consume_front("grad."))
      gradients[name] = tensor.value;
  double predicted = product(gradients, direction), measured = slope(1e-5);
  if (std::isfinite(measured)) {
    // A kink within the step disturbs the measurement, and so does a pole that is near, but not at every length of it.
    auto agrees = [&](double value) { return std::fabs(value - predicted) <= 1e-5 * (1 + std::fabs(predicted)); };
    EXPECT_TRUE(agrees(measured) ||
                llvm::any_of(std::array{1e-4, 1e-6, 1e-7, 1e-8}, [&](double step) { return agrees(slope(step)); }))
        << "seed " << seed << ": expected a slope of " << measured << ", found " << predicted << "\n"
        << textOf(*program.module);
    compared = true;
  }
  checkPhases(seed, /*gradient=*/true, *module, inputs, *expected);
}

TEST_F(RandomProgramTest, HasItsGradient) {
  int64_t compared = 0;
  tryAll(test::SeedRun("programs", kPrograms, 0), [&](unsigned seed) {
    bool isNumber = false;
    test::isRecordingForDevice() ? record(seed, /*gradient=*/true) : checkGradient(seed, isNumber);
    compared += isNumber;
  });
  if (!test::isRecordingForDevice() && tried >= 20)
    EXPECT_GT(compared, tried / 2);
}

} // namespace
