//===- Config.cpp - A model's configuration -------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Config.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace gnnc::triton;
using nlohmann::json;

/// Requests that may be one call.
static constexpr int kMostRequests = 64;

std::string gnnc::triton::configType(const std::string &dtype) {
  static const std::map<std::string, std::string> types = {
      {"f32", "TYPE_FP32"}, {"f64", "TYPE_FP64"}, {"f16", "TYPE_FP16"}, {"bf16", "TYPE_BF16"}, {"i64", "TYPE_INT64"}};
  return types.at(dtype);
}

static json inputsOf(const Signature &signature) {
  json inputs = json::array();
  bool joins = signature.whyAlone().empty();
  for (const Argument &argument : signature.arguments()) {
    if (!argument.isListed)
      continue;
    json input = {{"name", argument.name}, {"data_type", configType(argument.dtype)}, {"dims", argument.dims}};
    if (joins)
      input["allow_ragged_batch"] = true;
    if (argument.optional)
      input["optional"] = true;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

static json outputsOf(const Signature &signature) {
  json outputs = json::array();
  for (const Value &value : signature.outputs()) {
    json dims = value.dims;
    if (!value.place.isWhole())
      dims.insert(dims.begin(), value.place.isStatic() ? value.place.extent : -1);
    if (dims.empty())
      dims.push_back(1);
    outputs.push_back({{"name", value.name}, {"data_type", configType(value.dtype)}, {"dims", dims}});
  }
  return outputs;
}

static void print(std::ostringstream &out, const char *list, const json &items) {
  out << list << " [\n";
  for (size_t i = 0; i < items.size(); ++i) {
    const json &item = items[i];
    out << "  {\n    name: " << item["name"] << "\n    data_type: " << item["data_type"].get<std::string>()
        << "\n    dims: [ ";
    for (size_t k = 0; k < item["dims"].size(); ++k)
      out << (k ? ", " : "") << item["dims"][k];
    out << " ]\n";
    for (const char *flag : {"allow_ragged_batch", "optional"})
      if (item.contains(flag))
        out << "    " << flag << ": true\n";
    out << (i + 1 < items.size() ? "  },\n" : "  }\n");
  }
  out << "]\n";
}

std::string gnnc::triton::configText(const Signature &signature) {
  std::ostringstream out;
  bool joins = signature.whyAlone().empty();
  out << "# Model " << signature.model() << ", written by gnnc inspect --triton.\n"
      << "backend: \"gnnc\"\ndefault_model_filename: \"model.so\"\n";
  if (joins)
    out << "# Requests that wait at the same time become one call. Shapes begin with the number of graphs in a "
           "request: "
           "1.\nmax_batch_size: "
        << kMostRequests << "\n";
  else
    out << "# One request, one call: " << signature.whyAlone() << ".\nmax_batch_size: 0\n";
  print(out, "input", inputsOf(signature));
  print(out, "output", outputsOf(signature));
  if (joins)
    out << "dynamic_batching { }\n";
  out << "instance_group [ { kind: " << (signature.hasDeviceCode() ? "KIND_GPU" : "KIND_CPU") << " count: 1 } ]\n"
      << "parameters: { key: \"threads\" value: { string_value: \"1\" } }\n";
  return out.str();
}

bool gnnc::triton::completeConfig(const Signature &signature, json &config) {
  auto lacks = [&](const char *key) { return !config.contains(key) || config[key].empty(); };
  bool lacksInputs = lacks("input"), lacksOutputs = lacks("output");
  bool joins = signature.whyAlone().empty();
  if (lacksInputs)
    config["input"] = inputsOf(signature);
  if (lacksOutputs)
    config["output"] = outputsOf(signature);
  if (lacksInputs && lacksOutputs && joins && config.value("max_batch_size", 0) == 0) {
    config["max_batch_size"] = kMostRequests;
    if (!config.contains("dynamic_batching"))
      config["dynamic_batching"] = json::object();
  }
  return lacksInputs || lacksOutputs;
}
