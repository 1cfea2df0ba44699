//===- ReplayOnCPU.cpp - Runs recorded cases on another processor ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   GNNC_DEVICE_CASES=cases GNNC_DEVICE_CPU=aarch64 build/test/bin/StandardLayersTest
//   aarch64-linux-gnu-g++ -std=c++20 -O2 -Iinclude test/Device/ReplayOnCPU.cpp -o replay
//   qemu-aarch64 -L /usr/aarch64-linux-gnu replay cases/*.case     # or on the machine itself
//
// Each case (Cases.h) runs with one thread and with three, and a gradient once more as its two halves, on fresh memory
// that holds NaN: all must give the same bits, as near to the interpreter's as Replay.cpp asks. GNNC_EXPECTED_CODE,
// such as armv8-a+sve, says which of an object's code has to be the one that runs. Exits with 0 if all agree.
//
//===----------------------------------------------------------------------===//

#include "Cases.h"
#include "gnnc-c/gnnc.h"

#include <cstdio>
#include <cstdlib>
#include <map>

using namespace cases;

namespace {

/// A model with one thread and with three.
struct Model : Numbers {
  const gnnc_api *api = nullptr;
  gnnc_context *contexts[2] = {};
  gnnc_error error = {};

  Model() = default;
  Model(const Model &) = delete;
  ~Model() {
    for (gnnc_context *context : contexts)
      if (context)
        api->close(context);
  }
};

Model &open(const std::string &path) {
  static std::map<std::string, Model> models;
  auto [it, isNew] = models.try_emplace(path);
  Model &model = it->second;
  if (!isNew)
    return model;
  model.api = loadModel(path, model.error);
  if (!model.api)
    return model;
  model.doublePrecision = std::strstr(model.api->describe(nullptr), "\"dtype\":\"f64\"") != nullptr;
  for (int i = 0; i < 2; ++i) {
    gnnc_options options = {sizeof options, 1 + 2 * i, nullptr, 1, 0, 0, 0, nullptr, nullptr};
    if (model.api->open(&options, &model.contexts[i], &model.error))
      break;
  }
  return model;
}

/// Memory that is aligned as workspaces have to be.
struct Bytes {
  explicit Bytes(size_t size) : size(size), data(std::aligned_alloc(64, (size + 64) / 64 * 64)) {
    std::memset(data, 0xff, size);
  }
  Bytes(const Bytes &) = delete;
  ~Bytes() { std::free(data); }
  size_t size;
  void *data;
};

struct Run {
  Model &model;
  gnnc_context *context;
  const std::vector<Entry> &entries;
  gnnc_graph *graph = nullptr;
  gnnc_error error = {};

  ~Run() {
    if (graph)
      model.api->free_graph(graph);
  }

  bool prepare() {
    return prepareGraph(*model.api, context, entries, nullptr, graph, error) == GNNC_OK && hasExpectedCode();
  }

  /// Whether the code that runs is what GNNC_EXPECTED_CODE names.
  bool hasExpectedCode() {
    const char *expected = std::getenv("GNNC_EXPECTED_CODE");
    if (!expected)
      return true;
    const std::string text = describeGraph(*model.api, graph);
    if (text.find("\"code\": \"" + std::string(expected) + "\"") != std::string::npos)
      return true;
    std::snprintf(error.message, sizeof error.message, "expected code for %s, found %.150s", expected, text.c_str());
    return false;
  }

  /// Runs once; `outputs` get the bytes of each expected tensor. `halves`: a gradient as forward and backward.
  bool run(bool halves, std::vector<std::string> &outputs) {
    std::map<std::string, Bytes> memory;
    std::vector<gnnc_binding> inputs, results;
    const char *program = "";
    for (const Entry &entry : entries) {
      if (entry.kind == Program)
        program = entry.name.c_str();
      if (entry.kind != Input && entry.kind != Expected)
        continue;
      std::string numbers(size_t(entry.elements()) * model.widthOf(entry), '\xff');
      for (int64_t i = 0; entry.kind == Input && i < entry.elements(); ++i)
        model.put(numbers, entry, i, reinterpret_cast<const double *>(entry.data.data())[i]);
      Bytes &bytes = memory.try_emplace(entry.name, numbers.size()).first->second;
      std::memcpy(bytes.data, numbers.data(), numbers.size());
      gnnc_binding binding = {entry.name.c_str(),
                              {bytes.data, 1, 0, int32_t(entry.shape.size()),
                               uint8_t(entry.storage == Storage::BF16 ? 4 : 2), uint8_t(8 * model.widthOf(entry)), 1,
                               entry.shape.data(), nullptr, 0}};
      (entry.kind == Input ? inputs : results).push_back(binding);
    }
    size_t size = 0;
    if (model.api->workspace_size(graph, program, &size, &error))
      return false;
    Bytes workspace(size);
    auto call = [&](const char *part) {
      return model.api->run(context, graph, part, inputs.data(), int32_t(inputs.size()), results.data(),
                            int32_t(results.size()), workspace.data, size, nullptr, &error) == GNNC_OK;
    };
    if (!(halves ? call("gradient.forward") && call("gradient.backward") : call(program)))
      return false;
    for (const Entry &entry : entries)
      if (entry.kind == Expected || entry.kind == Updated) {
        const Bytes &bytes = memory.at(entry.name);
        outputs.emplace_back(static_cast<const char *>(bytes.data), bytes.size);
      }
    return true;
  }
};

/// 1 where a case fails; the number of tensors that were compared is added to `compared`.
int replay(const char *path, int &compared, double &worst) {
  std::string object = path;
  object = object.substr(0, object.rfind('.', object.size() - 6)) + ".so"; // of NAME.<number>.case
  Model &model = open(object.find('/') == std::string::npos ? "./" + object : object);
  if (!model.contexts[1]) {
    std::printf("%s: %s\n", object.c_str(), model.error.message);
    return 1;
  }
  std::vector<Entry> entries = readCase(path);
  bool isGradient = entries.front().name == "gradient";
  std::vector<std::string> outputs[3];
  for (int way = 0; way < (isGradient ? 3 : 2); ++way) {
    Run run{model, model.contexts[way > 0], entries};
    if (!run.prepare() || !run.run(/*halves=*/way == 2, outputs[way])) {
      std::printf("%s: %s\n", path, run.error.message);
      return 1;
    }
  }
  double largest = 0;
  bool isRounded = false;
  double allowed = model.doublePrecision ? 1e-10 : 1e-5;
  for (const Entry &entry : entries) {
    for (int64_t k = 0; entry.kind >= Expected && k < entry.elements(); ++k)
      if (double number = reinterpret_cast<const double *>(entry.data.data())[k]; std::isfinite(number))
        largest = std::fmax(largest, std::fabs(number));
    if (entry.storage != Storage::AsComputed) {
      allowed = entry.storage == Storage::BF16 ? 0x1p-6 : 0x1p-9;
      isRounded = true;
    }
  }
  int failures = 0;
  size_t number = 0;
  for (const Entry &entry : entries) {
    if (entry.kind < Expected)
      continue;
    const std::string &found = outputs[0][number];
    const char *unlike = found != outputs[1][number]                 ? "three threads differ from one"
                         : isGradient && found != outputs[2][number] ? "the halves differ"
                                                                     : nullptr;
    ++number;
    ++compared;
    Error error = errorOf(model, entry, found, largest, isRounded);
    if (unlike || !error.within(allowed)) {
      failures = 1;
      std::printf("%s: %s: %s, relative error %.3g\n", path, entry.name.c_str(), unlike ? unlike : "wrong",
                  error.relative);
    } else if (!isRounded) {
      worst = std::fmax(worst, error.relative);
    }
  }
  return failures;
}

} // namespace

int main(int argc, char **argv) {
  int failures = 0, compared = 0;
  double worst = 0;
  for (int i = 1; i < argc; ++i)
    failures += replay(argv[i], compared, worst);
  std::printf("%d tensors of %d cases compared, %d cases failed, largest relative error of the others %.3g\n", compared,
              argc - 1, failures, worst);
  return failures || compared == 0 ? 1 : 0;
}
