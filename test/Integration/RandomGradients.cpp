//===- RandomGradients.cpp - What gradients of random models are ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomGradients.h"
#include "DeviceCases.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <set>

using namespace gnnc;
using namespace gnnc::test;
using frontend::OpCode;

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

llvm::Expected<Trial> test::makeGradientTrial(const RandomSeed &seed, bool doublePrecision) {
  frontend::ModelSpec model = smooth(randomModel(seed));
  model.doublePrecision |= doublePrecision;
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

llvm::Expected<GradientSample> test::gradientsOf(const Program &differentiated, const Trial &trial,
                                                 const Sample &sample) {
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
  differentiated.emplace(trial.model, forRanks);
  if (!differentiated->differentiate())
    return "has no derivative";
  for (const Sample &sample : trial.samples) {
    llvm::Expected<GradientSample> wanted = gradientsOf(*differentiated, trial, sample);
    if (!wanted)
      return std::string(nameOf(sample.shape)) + ": the interpreter fails: " + llvm::toString(wanted.takeError());
    samples.push_back(std::move(*wanted));
  }
  return "";
}

std::string test::compareGradients(const Tensors &actual, const GradientSample &sample, double relative,
                                   double &factor) {
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

bool test::isUnstable(const frontend::ModelSpec &model, const Program &differentiated, const Graph &graph,
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
    compareGradients(*results, sample, relative, change);
    if (change > kUnstableShare * factor)
      return true;
  }
  return false;
}
