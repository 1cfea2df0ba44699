//===- Model.cpp - A served model -----------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "Config.h"
#include "Trial.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

using namespace gnnc::triton;
using nlohmann::json;

/// The server's configuration of a model, completed from its description where the server lets us.
static json completedConfig(TRITONBACKEND_Model *model, const std::function<bool(json &)> &complete) {
  TRITONSERVER_Message *message = nullptr;
  check(TRITONBACKEND_ModelConfig(model, 1, &message));
  const char *text = nullptr;
  size_t length = 0;
  TRITONSERVER_Error *error = TRITONSERVER_MessageSerializeToJson(message, &text, &length);
  json config = error ? json() : json::parse(text, text + length);
  TRITONSERVER_MessageDelete(message);
  check(error);
  bool mayComplete = false;
  check(TRITONBACKEND_ModelAutoCompleteConfig(model, &mayComplete));
  if (!mayComplete || !complete(config))
    return config;
  std::string completed = config.dump();
  check(TRITONSERVER_MessageNewFromSerializedJson(&message, completed.data(), completed.size()));
  error = TRITONBACKEND_ModelSetConfig(model, 1, message);
  TRITONSERVER_MessageDelete(message);
  check(error);
  return config;
}

Model::Model(TRITONBACKEND_Model *model) {
  const char *text = nullptr;
  check(TRITONBACKEND_ModelName(model, &text));
  called = text;
  uint64_t version = 0;
  check(TRITONBACKEND_ModelVersion(model, &version));
  TRITONBACKEND_ArtifactType type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  check(TRITONBACKEND_ModelRepository(model, &type, &text));
  if (type != TRITONBACKEND_ARTIFACT_FILESYSTEM)
    throw std::runtime_error("model '" + called + "': expected a repository in the file system");
  std::string folder = std::string(text) + "/" + std::to_string(version) + "/";

  json config = completedConfig(model, [&](json &config) {
    // Loaded here as well as below: what is completed depends on the file, whose name is in the configuration.
    std::string file = config.value("default_model_filename", "");
    loaded = std::make_unique<Library>(folder + (file.empty() ? "model.so" : file));
    described = std::make_unique<Signature>(loaded->description());
    return completeConfig(*described, config);
  });
  if (!loaded) {
    std::string file = config.value("default_model_filename", "");
    loaded = std::make_unique<Library>(folder + (file.empty() ? "model.so" : file));
    described = std::make_unique<Signature>(loaded->description());
  }
  graphs = std::make_unique<GraphReader>(*described);
  readConfig(config);
}

void Model::readConfig(const json &config) {
  batched = config.value("max_batch_size", 0) > 0;
  readParameters(config);
  checkTensors(config);
  if (mayJoin && !described->whyAlone().empty()) {
    mayJoin = false;
    if (batched)
      log(TRITONSERVER_LOG_INFO, "model '" + called + "': each graph is a call of its own: " + described->whyAlone());
  }
}

void Model::readParameters(const json &config) {
  auto parameters = config.find("parameters");
  if (parameters == config.end())
    return;
  for (const auto &[key, item] : parameters->items()) {
    std::string value = item.value("string_value", "");
    auto fail = [&, name = key](const char *expected) {
      throw std::runtime_error("model '" + called + "': parameter '" + name + "': expected " + expected + ", found '" +
                               value + "'");
    };
    if (key == "threads") {
      if (value.empty() || value.size() > 4 || !std::all_of(value.begin(), value.end(), ::isdigit))
        fail("a number of threads, 0 for one each processor");
      threadCount = std::stoi(value);
    } else if (key == "join") {
      if (value != "on" && value != "off")
        fail("on or off");
      mayJoin = value == "on";
    }
  }
}

/// What the configuration promises must be what the model has.
void Model::checkTensors(const json &config) const {
  std::string what = "model '" + called + "': ";
  std::set<std::string> names;
  for (const json &item : config.at("input")) {
    std::string name = item.at("name"), type = item.at("data_type");
    const Argument *argument = described->find(name);
    if (!argument) {
      std::string expected;
      for (const Argument &each : described->arguments())
        expected += (expected.empty() ? "" : ", ") + each.name;
      throw std::runtime_error(what + "the model has no input '" + name + "': expected one of " + expected);
    }
    bool isInteger = type == "TYPE_INT64" || type == "TYPE_INT32";
    bool isRead = argument->kind != Argument::Kind::Value;
    if (type != configType(argument->dtype) && !isInteger)
      throw std::runtime_error(what + "input '" + name + "': expected data_type " + configType(argument->dtype) +
                               (isRead ? " or TYPE_INT32" : "") + ", found " + type);
    names.insert(name);
  }
  for (const Argument &argument : described->arguments()) {
    if (argument.optional || !argument.isListed || names.count(argument.name))
      continue;
    // The same under other names?
    bool isGiven = argument.kind == Argument::Kind::Pair || argument.kind == Argument::Kind::Map;
    for (std::optional<size_t> map : {argument.index, argument.second})
      isGiven &= !map || names.count(described->maps()[*map].name) != 0;
    if (!isGiven)
      throw std::runtime_error(what + "the configuration lacks input '" + argument.name + "'");
  }
  for (const json &item : config.at("output")) {
    std::string name = item.at("name"), type = item.at("data_type");
    auto found = std::find_if(described->outputs().begin(), described->outputs().end(),
                              [&](const Value &output) { return output.name == name; });
    if (found == described->outputs().end())
      throw std::runtime_error(what + "the model has no output '" + name + "'");
    if (type != configType(found->dtype))
      throw std::runtime_error(what + "output '" + name + "': expected data_type " + configType(found->dtype) +
                               ", found " + type);
  }
}

bool Model::joins(Runner &runner) {
  std::call_once(tried, [&] {
    if (!mayJoin || !batched)
      return;
    std::string why = tryJoining(*described, runner);
    if (why.empty())
      return;
    mayJoin = false;
    log(TRITONSERVER_LOG_WARN, "model '" + called + "': each graph is a call of its own: " + why);
  });
  return mayJoin;
}
