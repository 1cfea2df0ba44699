//===- RandomRanksTest.cpp - Random models on random partitions -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in RandomGradientsTest.cpp each seed is a model and a few graphs. Here each graph is cut into parts at random: by
// the three ways of `gnnc partition`, by lot, with empty parts, without halos, one node a part. Outputs and gradients
// on ranks, interpreted and compiled, are those of one process.
//
//===----------------------------------------------------------------------===//

#include "DeviceCases.h"
#include "DistributedModel.h"
#include "RandomGradients.h"
#include "Ranks.h"

#include "gnnc/Frontend/JSON.h"

#include "llvm/ADT/IntEqClasses.h"

#include <gtest/gtest.h>

using namespace gnnc;
using namespace gnnc::test;

static constexpr double kShrinkSeconds = 60, kTolerance = 1e-12, kNoise = 1e-13;
/// Begin what is said of a model of which nothing can be said.
static constexpr llvm::StringLiteral kUnstable = "unstable: ", kRefused = "refused: ";

//===----------------------------------------------------------------------===//
// Partitions
//===----------------------------------------------------------------------===//

namespace {

struct Division {
  std::string name;
  Ranks::Divide divide;
};

} // namespace

/// The elements of each space that its maps connect with each other, by space.
static std::vector<std::vector<int32_t>> findComponents(const GraphStructure &structure) {
  std::vector<unsigned> first;
  unsigned count = 0;
  for (const GraphStructure::Space &space : structure.spaces) {
    first.push_back(count);
    count += unsigned(space.extent);
  }
  llvm::IntEqClasses classes(count);
  for (const GraphStructure::Map &map : structure.maps)
    for (auto [i, target] : llvm::enumerate(map.targets))
      if (target >= 0)
        classes.join(first[map.from] + unsigned(i), first[map.to] + unsigned(target));
  classes.compress();
  std::vector<std::vector<int32_t>> components(structure.spaces.size());
  for (auto [s, space] : llvm::enumerate(structure.spaces))
    for (unsigned i = 0; i < space.extent; ++i)
      components[s].push_back(int32_t(classes[first[s] + i]));
  return components;
}

template <typename Fn> static Ranks::Divide divideBy(int count, Fn ownerOf) {
  return [=](const GraphStructure &structure) {
    std::vector<std::vector<int32_t>> owners(structure.spaces.size());
    for (auto [s, space] : llvm::enumerate(structure.spaces))
      for (int64_t i = 0; i < space.extent; ++i)
        owners[s].push_back(ownerOf(s, i));
    return GraphPartition::create(structure, count, owners);
  };
}

static Division randomDivision(const Graph &graph, Random &random) {
  int count = random.pick({1, 2, 2, 3, 3, 4, 4, 8});
  std::string ranks = std::to_string(count) + " ranks, ";
  auto seed = uint64_t(random.below(1 << 20));
  // By lot among the first `most` ranks.
  auto byLot = [&](int most) {
    return divideBy(count, [=](size_t space, int64_t i) {
      return int32_t(Random(seed + 977 * uint64_t(i) + (uint64_t(space) << 40)).below(most));
    });
  };
  auto byKind = [=](PartitionKind kind) {
    return [=](const GraphStructure &structure) { return GraphPartition::create(structure, count, kind); };
  };
  switch (random.below(8)) {
  case 0:
    return {ranks + "metis", byKind(PartitionKind::Metis)};
  case 1:
    return {ranks + "contiguous", byKind(PartitionKind::Contiguous)};
  case 2:
    return {ranks + "random", byKind(PartitionKind::Random)};
  case 3: {
    int all = int(random.below(count));
    return {ranks + "one has all", divideBy(count, [=](size_t, int64_t) { return all; })};
  }
  case 4:
    return {ranks + "some are empty", byLot((count + 1) / 2)};
  case 5:
    return {ranks + "no halo", [=](const GraphStructure &structure) {
              std::vector<std::vector<int32_t>> owners = findComponents(structure);
              for (std::vector<int32_t> &of : owners)
                for (int32_t &owner : of)
                  owner = int32_t((uint64_t(owner) + seed) % uint64_t(count));
              return GraphPartition::create(structure, count, owners);
            }};
  case 6: {
    auto known = graph.extents.find("node"); // not in models that use none
    int nodes = known == graph.extents.end() ? 5 : int(std::clamp<int64_t>(known->second, 1, 12));
    return {std::to_string(nodes) + " ranks, one node a part",
            divideBy(nodes, [=](size_t, int64_t i) { return int32_t(i % nodes); })};
  }
  default:
    return {ranks + "by lot", byLot(count)};
  }
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {

/// One way to run a model on ranks.
struct RankWay {
  unsigned optLevel;
  bool compiled;
  bool slowLinks = false; ///< so that all is done to send less, and to do something meanwhile
  std::string name() const {
    return "O" + std::to_string(optLevel) + (compiled ? " on ranks" : " on ranks, interpreted") +
           (slowLinks ? ", slow links" : "");
  }
};

/// A model for ranks that way.
class RankProgram {
public:
  RankProgram(const frontend::ModelSpec &spec, const RankWay &way) : model(spec) {
    std::string messages;
    mlir::ScopedDiagnosticHandler handler(&model.context, [&](mlir::Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return mlir::success();
    });
    if (way.slowLinks)
      model.operationsPerByte = 1 << 20;
    module = model.lower(way.optLevel, /*distributed=*/true, way.compiled || way.optLevel == 0 ? "fuse" : "");
    if (!module) {
      bool refused = messages.find("cannot be distributed: ") != std::string::npos;
      wrong = (refused ? kRefused.str() : "the phases fail: ") + messages;
    } else if (way.compiled) {
      auto found = model.compile(way.optLevel, /*isDouble=*/true, /*optimise=*/false);
      found ? void(compiled = std::move(*found))
            : void(wrong = "does not compile: " + llvm::toString(found.takeError()));
    }
  }

  Ranks cut(const Graph &graph, const Division &division) {
    Ranks ranks(*model.imported, graph, division.divide);
    ranks.findDerivedSpaces(*module);
    return ranks;
  }
  llvm::Expected<Tensors> run(const Ranks &ranks, const Tensors &given, bool exchanges = true) const {
    return compiled ? ranks.run(compiled->file(), kGradient, given, exchanges) : ranks.run(*module, kGradient, given);
  }

  std::string wrong; ///< why it cannot be run

private:
  DistributedModel model;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<CompiledModel> compiled;
};

} // namespace

static std::string checkRanks(Oracle &oracle, const RankWay &way, const RandomSeed &seed) {
  const Trial &trial = oracle.trial;
  RankProgram program(trial.model, way);
  if (!program.wrong.empty())
    return program.wrong;
  if (std::string wrong = oracle.prepare(); !wrong.empty())
    return wrong;
  Random random(seed.number * 3 + way.optLevel);
  for (auto [sample, wanted] : llvm::zip_equal(trial.samples, oracle.samples))
    for (int i = 0; i < 3; ++i) {
      Division division = randomDivision(sample.graph, random);
      std::string where = std::string(nameOf(sample.shape)) + ", " + division.name + ": ";
      Ranks ranks = program.cut(sample.graph, division);
      llvm::Expected<Tensors> found = program.run(ranks, wanted.given);
      if (!found)
        return where + llvm::toString(found.takeError());
      double factor;
      if (std::string wrong = compareGradients(*found, wanted, kTolerance, factor); !wrong.empty()) {
        bool unstable =
            isUnstable(trial.model, *oracle.differentiated, sample.graph, wanted, kNoise, kTolerance, factor);
        return (unstable ? kUnstable.str() : "") + where + wrong;
      }
    }
  return "";
}

static Check checkOf(const Trial &trial, const RankWay &way, const RandomSeed &seed) {
  auto oracle = std::make_shared<Oracle>(trial, /*forRanks=*/true);
  return {way.name(), [=] { return checkRanks(*oracle, way, seed); }};
}

/// The compiled way changes with the seed; the interpreted ones are quick.
static std::vector<RankWay> waysOf(const RandomSeed &seed) {
  bool slowLinks = seed.number % 2 == 0;
  return {{0, false}, {2, false, slowLinks}, {seed.number % 3 == 0 ? 0u : 2u, true, slowLinks}};
}

static Outcome tryModel(const RandomSeed &seed, std::map<std::string, int> &refusals) {
  llvm::Expected<Trial> trial = makeGradientTrial(seed, /*doublePrecision=*/true);
  if (!trial) {
    ADD_FAILURE() << toString(seed) << ": the interpreter fails: " << llvm::toString(trial.takeError());
    return Outcome::Failed;
  }
  std::vector<RankWay> ways = waysOf(seed);
  std::vector<Check> checks;
  for (const RankWay &way : ways)
    checks.push_back(checkOf(*trial, way, seed));
  std::optional<Finding> finding = runApart(checks);
  if (!finding)
    return Outcome::Passed;
  auto says = [](const Finding &finding, llvm::StringRef what) {
    return llvm::StringRef(finding.wrong).starts_with(what);
  };
  if (says(*finding, kRefused))
    ++refusals[finding->wrong];
  if (says(*finding, kRefused) || says(*finding, kUnstable))
    return Outcome::Unstable;
  std::string last = finding->wrong;
  auto fails = [&](const Trial &smaller) {
    std::optional<Finding> still = runApart(checkOf(smaller, ways[finding->check], seed));
    if (!still || says(*still, kRefused) || says(*still, kUnstable))
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

TEST(RandomRanks, EqualOneProcess) {
  if (isRecordingForDevice())
    GTEST_SKIP() << "ranks are threads of this machine";
  SeedRun run("ranks", /*full=*/8, /*small=*/24);
  std::map<std::string, int> refusals;
  while (std::optional<RandomSeed> seed = run.next())
    run.report(tryModel(*seed, refusals));
  RecordProperty("Models", std::to_string(run.tried()));
  int refused = 0;
  for (const auto &[why, count] : refusals) {
    refused += count;
    std::printf("%d: %s", count, why.c_str());
  }
  std::printf("%lld random models on ranks in %.0f s, %d of them refused, %lld left out as unstable\n",
              static_cast<long long>(run.tried()), run.seconds(), refused,
              static_cast<long long>(run.unstable()) - refused);
}

/// What the test above compares depends on what ranks send each other.
TEST(RandomRanks, DifferWithoutExchanges) {
  if (isRecordingForDevice())
    GTEST_SKIP() << "ranks are threads of this machine";
  std::map<std::string, int> outcomes;
  for (uint64_t number = 1; number <= 8; ++number) {
    RandomSeed seed{number, BodySize::Small};
    llvm::Expected<Trial> trial = makeGradientTrial(seed, /*doublePrecision=*/true);
    ASSERT_TRUE(bool(trial)) << llvm::toString(trial.takeError());
    Check check{"without exchanges", [&]() -> std::string {
                  RankProgram program(trial->model, {0, true});
                  Oracle oracle(*trial, /*forRanks=*/true);
                  if (!program.wrong.empty() || !oracle.prepare().empty())
                    return "not run";
                  const Sample &sample = trial->samples.front();
                  Division division{"", [](const GraphStructure &structure) {
                                      return GraphPartition::create(structure, 3, PartitionKind::Random);
                                    }};
                  Ranks ranks = program.cut(sample.graph, division);
                  const Tensors &given = oracle.samples.front().given;
                  for (bool exchanges : {true, false}) {
                    llvm::Expected<Tensors> found = program.run(ranks, given, exchanges);
                    if (!found)
                      return llvm::toString(found.takeError());
                    if (exchanges && ranks.bytesExchanged() == 0)
                      return "nothing to exchange";
                    double factor;
                    if (!compareGradients(*found, oracle.samples.front(), kTolerance, factor).empty())
                      return exchanges ? "wrong" : "another result";
                  }
                  return "the same";
                }};
    std::optional<Finding> finding = runApart(check);
    ASSERT_TRUE(finding.has_value());
    ++outcomes[finding->wrong];
  }
  for (const auto &[outcome, count] : outcomes)
    std::printf("%d: %s\n", count, outcome.c_str());
  EXPECT_GE(outcomes["another result"], 3);
  EXPECT_GE(outcomes["another result"], 2 * outcomes["the same"]);
}
