//===- MemoryLimit.cpp - The fastest plan that fits -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans are compiled up to the plan of memory, with more and more segments of the forward half, and asked what they
// take. More segments take less until what crosses between them is as much as what one has.
//
//===----------------------------------------------------------------------===//

#include "MemoryLimit.h"
#include "Report.h"
#include "gnnc/Host/HostTensor.h"
#include "gnnc/Host/ModelInfo.h"
#include "gnnc/Host/PlanInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace gnnc;

/// How many segments are tried, in order.
static constexpr unsigned kSegments[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

static llvm::Expected<llvm::StringMap<int64_t>> parseExtents(llvm::ArrayRef<std::string> texts) {
  llvm::StringMap<int64_t> extents;
  for (llvm::StringRef text : texts) {
    auto [name, number] = text.split('=');
    int64_t extent = 0;
    if (name.empty() || number.getAsInteger(10, extent) || extent < 0)
      return llvm::createStringError("--extents: expected SPACE=NUMBER, as in node=10000, found '" + text + "'");
    extents[name] = extent;
  }
  return extents;
}

namespace {

class Planner {
public:
  Planner(const frontend::ModelSpec &model, const CompileOptions &options, const llvm::StringMap<int64_t> &extents)
      : model(model), options(options), extents(extents) {}

  llvm::Expected<TriedPlan> plan(unsigned segments) {
    CompileOptions trial = options;
    std::string description;
    trial.checkpoints = segments;
    trial.onPlanned = [&](llvm::StringRef text) {
      description = text.str();
      return llvm::createStringError("planned");
    };
    trial.onRemark = {};
    trial.onReport = {};
    trial.onTimings = {};
    llvm::Expected<std::string> result = compile(model, trial);
    if (description.empty())
      return result ? llvm::createStringError("--memory-limit needs an object: with it, --emit must be so or obj")
                    : result.takeError();
    llvm::consumeError(result.takeError());
    llvm::Expected<ModelInfo> info = ModelInfo::parse(description, "the plan");
    return info ? measure(*info, segments) : info.takeError();
  }

private:
  /// Of the program that takes most in the first plan: what others read and compute is no price of segments.
  llvm::Expected<TriedPlan> measure(const ModelInfo &info, unsigned segments) {
    for (const auto &given : extents)
      if (!info.findSpace(given.getKey())) {
        std::vector<std::string> known;
        for (const SpaceInfo &space : info.spaces)
          known.push_back(space.name);
        return llvm::createStringError("--extents: expected a space of the model (" + llvm::join(known, ", ") +
                                       "), found '" + given.getKey() + "'");
      }
    std::string unknown;
    auto extent = [&](llvm::StringRef name) -> std::optional<int64_t> {
      const SpaceInfo *space = info.findSpace(name);
      if (space && space->extent)
        return space->extent;
      if (auto found = extents.find(name); found != extents.end())
        return found->second;
      unknown = name.str();
      return std::nullopt;
    };
    auto bytes = [&](const TensorInfo &tensor) -> double {
      std::optional<int64_t> rows = tensor.space ? extent(*tensor.space) : 1;
      return double(rows.value_or(0)) * double(countElements(tensor.dims).value_or(0)) *
             double(elementBytes(tensor.type));
    };
    double given = 0;
    for (const auto *tensors : {&info.inputs, &info.params, &info.states})
      for (const TensorInfo &tensor : *tensors)
        given += bytes(tensor);
    TriedPlan all;
    std::string most;
    for (const PhaseInfo &phase : phasesOf(info)) {
      const ProgramInfo *program = info.findProgram(phase.program);
      if (!phase.half.empty() || !program)
        continue;
      TriedPlan plan;
      plan.bytes = given + phase.peak.evaluate(extent).value_or(0);
      for (const TensorInfo &output : program->outputs)
        plan.bytes += bytes(output);
      if (plan.bytes > all.bytes) {
        all.bytes = plan.bytes;
        most = phase.program;
      }
    }
    if (dearest.empty())
      dearest = most;
    for (const PhaseInfo &phase : phasesOf(info))
      if (phase.half.empty() && phase.program == dearest) {
        all.moved = phase.read.evaluate(extent).value_or(0) + phase.written.evaluate(extent).value_or(0);
        all.flops = phase.flops.evaluate(extent).value_or(0);
      }
    if (!unknown.empty())
      return llvm::createStringError("--extents: expected how many elements '" + unknown + "' has, too");
    all.segments = segments;
    return all;
  }

  const frontend::ModelSpec &model;
  const CompileOptions &options;
  const llvm::StringMap<int64_t> &extents;
  std::string dearest; ///< program
};

} // namespace

bool gnnc::hasGradients(const frontend::ModelSpec &model, const CompileOptions &options) {
  return options.gradient ||
         llvm::any_of(model.programs, [](const frontend::Program &program) { return !program.updates.empty(); });
}

llvm::Error gnnc::fitMemory(const frontend::ModelSpec &model, CompileOptions &options, uint64_t limit,
                            llvm::ArrayRef<std::string> texts) {
  llvm::Expected<llvm::StringMap<int64_t>> extents = parseExtents(texts);
  if (!extents)
    return extents.takeError();
  Planner planner(model, options, *extents);
  llvm::json::Array plans;
  std::optional<unsigned> chosen;
  double least = 0;
  unsigned risen = 0;
  for (unsigned segments : kSegments) {
    llvm::Expected<TriedPlan> plan = planner.plan(segments);
    if (!plan)
      return plan.takeError();
    bool isTaken = !chosen && plan->bytes <= double(limit);
    if (isTaken)
      chosen = segments;
    plans.push_back(llvm::json::Object{{"segments", plan->segments},
                                       {"bytes", plan->bytes},
                                       {"moved", plan->moved},
                                       {"flops", plan->flops},
                                       {"chosen", isTaken}});
    bool isLess = segments == 1 || plan->bytes < least;
    risen = isLess ? 0 : risen + 1;
    least = isLess ? plan->bytes : least;
    if (!hasGradients(model, options) || risen > 1)
      break;
  }
  if (!chosen)
    return llvm::createStringError(
        "--memory-limit: expected at least " + formatBytes(uint64_t(least)) +
        ", which the plan with the least memory of those tried takes for these extents, found " + formatBytes(limit));
  options.checkpoints = *chosen;
  options.plans = std::string(llvm::formatv("{0}", llvm::json::Value(std::move(plans))));
  return llvm::Error::success();
}
