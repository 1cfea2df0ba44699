//===- TunedModel.h - A model to choose for ---------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function with two alternatives and a sweep with three schedules, by hand: what a tuning can speak of.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_UNIT_RUNTIME_TUNEDMODEL_H
#define GNNC_TEST_UNIT_RUNTIME_TUNEDMODEL_H

#include "Tuning.h"

#include <algorithm>
#include <string>
#include <vector>

namespace gnnc::test {

/// Spaces `node` and `edge`; functions `forward` (in whose place `forward.a` and `forward.b` may run) and `other`;
/// steps `product` and `k1`, which has three schedules. Its digest is 0xabc.
class TunedModel {
public:
  TunedModel() {
    using namespace table;
    Header header{};
    header.digest = 0xabc;
    table.assign(sizeof(Header) / sizeof(int64_t), 0);
    auto append = [&](const auto &records) {
      int64_t at = static_cast<int64_t>(table.size());
      const auto *words = reinterpret_cast<const int64_t *>(records.data());
      table.insert(table.end(), words, words + records.size() * sizeof(records[0]) / sizeof(int64_t));
      return at;
    };
    std::vector<SpaceRec> spaces(2);
    spaces[0].name = name("node"), spaces[1].name = name("edge");
    header.spacesAt = append(spaces), header.numSpaces = 2;
    std::vector<FunctionRec> functions(4);
    functions[0].name = name("forward"), functions[1].name = name("other");
    functions[2].name = name("forward.a"), functions[3].name = name("forward.b");
    header.functionsAt = append(functions), header.numFunctions = 4;
    std::vector<AlternativeRec> alternatives(2);
    alternatives[0].function = 2, alternatives[1].function = 3;
    header.alternativesAt = append(alternatives), header.numAlternatives = 2;
    std::vector<LaunchRec> launches(5);
    launches[0].kernel = name("product"), launches[0].grid = GridKind::Elements;
    launches[1].kernel = name("k1"), launches[1].grid = GridKind::Items;
    launches[2].kernel = name("k1_by2"), launches[2].grid = GridKind::Items;
    launches[3].kernel = name("k1_by1"), launches[3].grid = GridKind::Items;
    launches[4].kernel = name("k1_merge"), launches[4].grid = GridKind::HeavyOwners;
    header.launchesAt = append(launches), header.numLaunches = 5;
    std::vector<DeviceStepRec> steps(2);
    steps[0].numLaunches = 1;
    steps[1].firstLaunch = 1, steps[1].numLaunches = 4;
    header.deviceStepsAt = append(steps), header.numDeviceSteps = 2;
    std::vector<StepRec> stepNames(2);
    stepNames[0].name = name("product"), stepNames[1].name = name("k1");
    header.stepsAt = append(stepNames), header.numSteps = 2;
    std::copy_n(reinterpret_cast<const int64_t *>(&header), sizeof(Header) / sizeof(int64_t), table.begin());
    model.table = table.data();
    model.names = names.data();
  }

  TunedModel(const TunedModel &) = delete;

  runtime::Model model{};

private:
  int64_t name(const std::string &text) {
    int64_t at = static_cast<int64_t>(names.size());
    names += text + '\0';
    return at;
  }

  std::string names;
  std::vector<int64_t> table;
};

} // namespace gnnc::test

#endif // GNNC_TEST_UNIT_RUNTIME_TUNEDMODEL_H
