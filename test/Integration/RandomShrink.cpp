//===- RandomShrink.cpp - A smaller model that fails the same way ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two steps are tried over and over: an output alone, or one of the values it is made of, in place of all outputs; and
// an input in place of an operation, which holds what the operation computed. What nothing uses any more is dropped.
//
//===----------------------------------------------------------------------===//

#include "RandomTrial.h"

#include <algorithm>
#include <chrono>

using namespace gnnc;
using namespace gnnc::test;
using frontend::OpCode;

namespace {

bool isGiven(const frontend::Value &value) {
  return value.op == OpCode::Input || value.op == OpCode::Param || value.op == OpCode::State;
}

/// Drops the values that no output needs. Spaces and maps stay: an artefact that declares too much is no other failure.
void prune(Trial &trial) {
  frontend::ModelSpec &model = trial.model;
  std::vector<bool> needed(model.values.size());
  for (const frontend::Output &output : model.outputs)
    needed[size_t(output.value)] = true;
  for (const frontend::SparseInput &sparse : model.sparseInputs)
    needed[size_t(sparse.value)] = true;
  for (size_t id = needed.size(); id-- > 0;)
    if (needed[id])
      for (frontend::Id operand : model.values[id].operands)
        needed[size_t(operand)] = true;
  std::vector<frontend::Id> number(needed.size(), frontend::kNone);
  std::vector<frontend::Value> values;
  for (size_t id = 0; id < needed.size(); ++id)
    if (needed[id]) {
      number[id] = frontend::Id(values.size());
      values.push_back(model.values[id]);
    }
  for (Sample &sample : trial.samples) {
    std::vector<Tensor> kept;
    Tensors tensors;
    for (size_t id = 0; id < needed.size(); ++id)
      if (needed[id]) {
        kept.push_back(std::move(sample.values[id]));
        if (auto given = sample.tensors.find(model.values[id].name); given != sample.tensors.end())
          tensors.insert(*given);
      }
    sample.values = std::move(kept);
    sample.tensors = std::move(tensors);
  }
  for (frontend::Value &value : values)
    for (frontend::Id &operand : value.operands)
      operand = number[size_t(operand)];
  for (frontend::Output &output : model.outputs)
    output.value = number[size_t(output.value)];
  for (frontend::SparseInput &sparse : model.sparseInputs)
    sparse.value = number[size_t(sparse.value)];
  model.values = std::move(values);
}

/// `trial` where value `id` is given rather than computed.
Trial cut(Trial trial, size_t id) {
  frontend::Value &value = trial.model.values[id];
  value.op = OpCode::Input;
  value.name = "cut" + std::to_string(id);
  while (std::any_of(trial.model.values.begin(), trial.model.values.end(),
                     [&](const frontend::Value &other) { return &other != &value && other.name == value.name; }))
    value.name += "x";
  value.operands.clear();
  value.axesUsed.clear();
  value.map = frontend::kNone;
  value.optional = false;
  for (Sample &sample : trial.samples) {
    Tensor given = sample.values[id];
    if (!trial.model.doublePrecision)
      for (double &number : given.data)
        number = float(number);
    sample.tensors[value.name] = std::move(given);
  }
  prune(trial);
  return trial;
}

} // namespace

void test::shrink(Trial &trial, const std::function<bool(const Trial &)> &fails, double seconds) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  auto attempt = [&](Trial smaller) {
    if (std::chrono::steady_clock::now() > deadline)
      return false;
    if (llvm::Error error = evaluate(smaller)) {
      llvm::consumeError(std::move(error));
      return false;
    }
    if (!fails(smaller))
      return false;
    trial = std::move(smaller);
    return true;
  };
  for (size_t i = 0; i < trial.samples.size() && trial.samples.size() > 1; ++i) {
    Trial one = trial;
    one.samples = {trial.samples[i]};
    if (attempt(std::move(one)))
      break;
  }
  // The earliest value that is wrong is the best output.
  for (size_t id = 0; id < trial.model.values.size(); ++id) {
    if (isGiven(trial.model.values[id]))
      continue;
    Trial one = trial;
    one.model.outputs = {{"y", frontend::Id(id)}};
    prune(one);
    if (attempt(std::move(one)))
      break;
  }
  for (size_t i = trial.model.outputs.size(); i-- > 0 && trial.model.outputs.size() > 1;) {
    Trial fewer = trial;
    fewer.model.outputs.erase(fewer.model.outputs.begin() + i);
    prune(fewer);
    attempt(std::move(fewer));
  }
  for (bool changed = true; changed;) {
    changed = false;
    // Late values first: what they are made of goes with them.
    for (size_t id = trial.model.values.size(); id-- > 0;) {
      if (id >= trial.model.values.size() || isGiven(trial.model.values[id]))
        continue;
      bool isOutput = std::any_of(trial.model.outputs.begin(), trial.model.outputs.end(),
                                  [&](const frontend::Output &output) { return output.value == frontend::Id(id); });
      if (!isOutput)
        changed |= attempt(cut(trial, id));
    }
  }
}
