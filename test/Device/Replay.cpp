//===- Replay.cpp - Runs recorded cases on a GPU --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   GNNC_DEVICE_CASES=cases build/test/bin/StandardLayersTest    # on a machine with the compiler
//   c++ -std=c++20 -O2 -Iinclude test/Device/Replay.cpp -ldl -o replay
//   ./replay cases/*.case                                        # on one with a GPU; it needs neither LLVM nor CUDA
//
// Each case is a program, a graph, inputs, and what the interpreter computed; its model is the object of the same name
// without ".N.case". Outputs and updated parameters and states are compared in the relative error of each tensor, on
// fresh memory that holds NaN; where infinity or not-a-number is expected, it must be found. Every case runs twice,
// once more as a recording that is replayed, and a gradient once more as its two halves: all must give the same bits.
// Then it runs twice with all owners given to one schedule of each sweep, for each schedule (unless SCHEDULES=0): right
// again, and the same bits twice.
// Then all cases of a model's program run as batches of one graph with capacities, which is recorded once and updated
// for each: the same bits again, unless the capacities choose another alternative. Exits with 0 if all agree, 77 where
// there is no GPU at all.
//
//===----------------------------------------------------------------------===//

#include "Cases.h"
#include "Schedules.h"
#include "gnnc-c/gnnc.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace cases;

namespace {

/// A model on the GPU, as long as the program runs.
struct Model : Numbers {
  const gnnc_api *api = nullptr;
  gnnc_context *context = nullptr;
  gnnc_error error = {};

  Model() = default;
  Model(const Model &) = delete;
  ~Model() {
    if (context)
      api->close(context);
  }

  /// A tensor on the device, of the entry's name and shape.
  gnnc_binding bind(const Entry &entry, void *data) const {
    return {entry.name.c_str(),
            {data, 2, 0, int32_t(entry.shape.size()), uint8_t(entry.storage == Storage::BF16 ? 4 : 2),
             uint8_t(8 * widthOf(entry)), 1, entry.shape.data(), nullptr, 0}};
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
  gnnc_options options = {sizeof options, 1, nullptr, 2, 0, 0, 0, nullptr, nullptr};
  model.error.status = model.api->open(&options, &model.context, &model.error);
  return model;
}

struct Run {
  Model &model;
  const std::vector<Entry> &entries;
  gnnc_graph *graph = nullptr;
  gnnc_error error = {};
  std::vector<void *> memory;

  ~Run() {
    for (void *m : memory)
      model.api->release(model.context, m);
    if (graph)
      model.api->free_graph(graph);
  }

  bool allocate(size_t bytes, void *&result) {
    if (model.api->allocate(model.context, bytes ? bytes : 1, &result, &error))
      return false;
    memory.push_back(result);
    return true;
  }
  bool copy(void *to, int toType, const void *from, int fromType, size_t bytes) {
    return model.api->copy(model.context, to, toType, from, fromType, bytes, nullptr, &error) == GNNC_OK;
  }
  /// A tensor on the device with these numbers, or with NaN.
  bool tensor(const Entry &entry, bool filled, gnnc_binding &binding) {
    std::string numbers(size_t(entry.elements()) * model.widthOf(entry), '\xff');
    for (int64_t i = 0; filled && i < entry.elements(); ++i)
      model.put(numbers, entry, i, reinterpret_cast<const double *>(entry.data.data())[i]);
    void *data = nullptr;
    if (!allocate(numbers.size(), data) || !copy(data, 2, numbers.data(), 1, numbers.size()))
      return false;
    binding = model.bind(entry, data);
    return true;
  }

  bool prepare(const char *tuning = nullptr) {
    return prepareGraph(*model.api, model.context, entries, tuning, graph, error) == GNNC_OK;
  }

  std::string describe() const { return describeGraph(*model.api, graph); }

  enum Way { Direct, Recorded, Halves };

  /// Runs once; `outputs` get the bytes of each expected tensor.
  bool run(Way way, std::vector<std::string> &outputs) {
    std::vector<gnnc_binding> inputs, results, wanted;
    for (const Entry &entry : entries) {
      gnnc_binding binding;
      if (entry.kind == Input || entry.kind == Expected) {
        if (!tensor(entry, entry.kind == Input, binding))
          return false;
        (entry.kind == Input ? inputs : results).push_back(binding);
      }
    }
    for (const Entry &entry : entries)
      for (const gnnc_binding &binding : entry.kind == Updated ? inputs : results)
        if ((entry.kind == Updated || entry.kind == Expected) && entry.name == binding.name)
          wanted.push_back(binding);
    const char *name = program();
    size_t bytes = 0;
    void *workspace = nullptr, *stream = nullptr;
    if (model.api->workspace_size(graph, name, &bytes, &error) || !allocate(bytes, workspace))
      return false;
    std::string junk(bytes, '\xff');
    if (!copy(workspace, 2, junk.data(), 1, bytes))
      return false;
    auto call = [&](const char *part) {
      return model.api->run(model.context, graph, part, inputs.data(), int32_t(inputs.size()), results.data(),
                            int32_t(results.size()), workspace, bytes, stream, &error) == GNNC_OK;
    };
    if (way == Recorded) {
      gnnc_recording *recording = nullptr;
      if (model.api->synchronize(model.context, nullptr, &error) ||
          model.api->create_stream(model.context, &stream, &error) ||
          model.api->begin_recording(model.context, stream, &error) || !call(name) ||
          model.api->end_recording(model.context, stream, &recording, &error) ||
          model.api->replay(model.context, recording, stream, &error) ||
          model.api->synchronize(model.context, stream, &error))
        return false;
      model.api->free_recording(model.context, recording);
      model.api->destroy_stream(model.context, stream);
    } else if (way == Halves ? !call("gradient.forward") || !call("gradient.backward") : !call(name)) {
      return false;
    }
    if (model.api->synchronize(model.context, nullptr, &error))
      return false;
    for (const gnnc_binding &result : wanted) {
      size_t size = result.tensor.dtype_bits / 8;
      for (int32_t axis = 0; axis < result.tensor.ndim; ++axis)
        size *= size_t(result.tensor.shape[axis]);
      std::string numbers(size, '\0');
      if (!copy(numbers.data(), 1, result.tensor.data, 2, size))
        return false;
      outputs.push_back(std::move(numbers));
    }
    return model.api->synchronize(model.context, nullptr, &error) == GNNC_OK;
  }

  const char *program() const {
    for (const Entry &entry : entries)
      if (entry.kind == Program)
        return entry.name.c_str();
    return "forward";
  }
};

/// Cases of one program as batches: one workspace, one recording, tensors with room for any of them.
struct Batches {
  Model &model;
  const std::vector<std::vector<Entry>> &cases;
  gnnc_graph *graph = nullptr;
  gnnc_recording *recording = nullptr;
  void *stream = nullptr, *workspace = nullptr;
  size_t workspaceBytes = 0;
  gnnc_error error = {};
  std::map<std::string, void *> places = {};
  std::map<std::string, size_t> rooms = {};
  std::vector<void *> memory = {};

  ~Batches() {
    model.api->free_recording(model.context, recording);
    model.api->destroy_stream(model.context, stream);
    for (void *m : memory)
      model.api->release(model.context, m);
    if (graph)
      model.api->free_graph(graph);
  }

  bool allocate(size_t bytes, void *&result) {
    if (model.api->allocate(model.context, bytes, &result, &error))
      return false;
    memory.push_back(result);
    return true;
  }

  struct Description {
    std::vector<gnnc_extent> extents, capacities;
    std::vector<gnnc_index> indices;
    gnnc_graph_desc desc;
  };
  void describe(const std::vector<Entry> &entries, bool first, Description &to) const {
    std::map<std::string, int64_t> most;
    for (const std::vector<Entry> &one : cases)
      for (const Entry &entry : one)
        if (entry.kind == Extent)
          most[entry.name] = std::max(most[entry.name], entry.shape[0]);
    for (const Entry &entry : entries) {
      if (entry.kind == Extent) {
        to.extents.push_back({entry.name.c_str(), entry.shape[0]});
        to.capacities.push_back({entry.name.c_str(), most[entry.name]});
      }
      if (entry.kind == Map)
        to.indices.push_back({entry.name.c_str(), entry.data.data(), entry.shape[0], 32, GNNC_INDEX_EACH});
    }
    to.desc = {sizeof to.desc,
               int32_t(to.extents.size()),
               to.extents.data(),
               int32_t(to.indices.size()),
               to.indices.data(),
               first ? int32_t(to.capacities.size()) : 0,
               first ? to.capacities.data() : nullptr,
               nullptr,
               nullptr};
  }

  gnnc_binding bind(const Entry &entry) { return model.bind(entry, places[entry.name]); }

  /// After a failure.
  void stopRecording() {
    gnnc_error ignored;
    gnnc_recording *none = nullptr;
    model.api->end_recording(model.context, stream, &none, &ignored);
    model.api->free_recording(model.context, none);
  }

  /// Records the first case.
  bool record(const char *program) {
    // Memory that is zeroed is as long as the capacities say, of derived spaces too.
    for (const std::vector<Entry> &one : cases)
      for (const Entry &entry : one)
        if (entry.kind == Input || entry.kind == Expected)
          rooms[entry.name] += size_t(entry.elements()) * model.widthOf(entry) + (1 << 16);
    for (auto &[name, bytes] : rooms)
      if (!allocate(bytes, places[name]))
        return false;
    Description description;
    describe(cases[0], true, description);
    std::vector<gnnc_binding> inputs, results;
    for (const Entry &entry : cases[0])
      if (entry.kind == Input || entry.kind == Expected)
        (entry.kind == Input ? inputs : results).push_back(bind(entry));
    return model.api->prepare(model.context, &description.desc, &graph, &error) == GNNC_OK &&
           model.api->workspace_size(graph, program, &workspaceBytes, &error) == GNNC_OK &&
           allocate(workspaceBytes + 1, workspace) &&
           model.api->create_stream(model.context, &stream, &error) == GNNC_OK &&
           model.api->begin_recording(model.context, stream, &error) == GNNC_OK &&
           model.api->run(model.context, graph, program, inputs.data(), int32_t(inputs.size()), results.data(),
                          int32_t(results.size()), workspace, workspaceBytes, stream, &error) == GNNC_OK &&
           model.api->end_recording(model.context, stream, &recording, &error) == GNNC_OK;
  }

  /// Replays it for another case; `outputs` as in Run::run.
  bool run(const std::vector<Entry> &entries, std::vector<std::string> &outputs) {
    auto copy = [&](void *to, int toType, const void *from, int fromType, size_t bytes) {
      return model.api->copy(model.context, to, toType, from, fromType, bytes, nullptr, &error) == GNNC_OK &&
             model.api->synchronize(model.context, nullptr, &error) == GNNC_OK;
    };
    Description description;
    describe(entries, false, description);
    if (model.api->update(model.context, graph, &description.desc, &error))
      return false;
    std::string junk(workspaceBytes, '\xff');
    if (!copy(workspace, 2, junk.data(), 1, workspaceBytes))
      return false;
    for (const Entry &entry : entries) {
      if (entry.kind != Input && entry.kind != Expected)
        continue;
      std::string numbers(rooms[entry.name], '\xff');
      for (int64_t i = 0; entry.kind == Input && i < entry.elements(); ++i)
        model.put(numbers, entry, i, reinterpret_cast<const double *>(entry.data.data())[i]);
      if (!copy(places[entry.name], 2, numbers.data(), 1, numbers.size()))
        return false;
    }
    if (model.api->replay(model.context, recording, stream, &error) ||
        model.api->synchronize(model.context, stream, &error))
      return false;
    for (const Entry &entry : entries)
      if (entry.kind == Expected || entry.kind == Updated) {
        outputs.emplace_back(size_t(entry.elements()) * model.widthOf(entry), '\0');
        if (!outputs.back().empty() && !copy(outputs.back().data(), 1, places[entry.name], 2, outputs.back().size()))
          return false;
      }
    return true;
  }
};

/// Whether there is a driver and a device. Whatever else is missing is a failure.
bool hasGPU() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto init = driver ? reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit")) : nullptr;
  auto count = driver ? reinterpret_cast<int (*)(int *)>(dlsym(driver, "cuDeviceGetCount")) : nullptr;
  int devices = 0;
  return init && count && init(0) == 0 && count(&devices) == 0 && devices > 0;
}

} // namespace

int main(int argc, char **argv) {
  // In double precision a wrong number cannot be taken for a rounded one.
  const char *given = std::getenv("TOLERANCE");
  const double tolerance = given ? std::atof(given) : 1e-5;
  if (argc < 2) {
    std::printf("expected cases\n");
    return 1;
  }
  if (!hasGPU()) {
    std::printf("this machine has no GPU\n");
    return 77;
  }
  const char *schedules = std::getenv("SCHEDULES");
  const bool withSchedules = !schedules || std::strcmp(schedules, "0") != 0;
  int failures = 0, compared = 0, forcedTensors = 0, batches = 0;
  double worst = 0, worstRounded = 0;
  struct Group {
    Model *model;
    std::string program;
    std::vector<std::string> paths;
    std::vector<std::vector<Entry>> cases;
    std::vector<std::vector<std::string>> outputs;
  };
  std::map<std::string, Group> groups;
  for (int i = 1; i < argc; ++i) {
    std::string path = argv[i];
    // NAME.so is the model of NAME.<number>.case.
    std::string object = path.substr(0, path.rfind('.', path.size() - 6)) + ".so";
    Model &model = open(object.find('/') == std::string::npos ? "./" + object : object);
    if (!model.context) {
      std::printf("%s: %s\n", object.c_str(), model.error.message);
      ++failures;
      continue;
    }
    std::vector<Entry> entries = readCase(argv[i]);
    Run run{model, entries, nullptr, {}, {}};
    std::vector<std::string> first, second, recorded, halves;
    bool isGradient = std::strcmp(run.program(), "gradient") == 0;
    if (!run.prepare() || !run.run(Run::Direct, first) || !run.run(Run::Direct, second) ||
        !run.run(Run::Recorded, recorded) || (isGradient && !run.run(Run::Halves, halves))) {
      std::printf("%s: %s\n", argv[i], run.error.message);
      ++failures;
      if (run.error.status == GNNC_DEVICE_ERROR) // Nothing works any more after a fault.
        break;
      continue;
    }
    // A gradient that is zero in exact arithmetic is noise: it is compared with the largest number of all.
    double largest = 0;
    for (const Entry &entry : entries)
      for (int64_t k = 0; entry.kind >= Expected && k < entry.elements(); ++k)
        if (double number = reinterpret_cast<const double *>(entry.data.data())[k]; std::isfinite(number))
          largest = std::fmax(largest, std::fabs(number));
    size_t number = 0;
    // Numbers that are rounded between kernels may fall to the other side there: some units of the last place.
    double allowed = model.doublePrecision ? 1e-10 : tolerance;
    bool isRounded = false;
    for (const Entry &entry : entries)
      if (entry.storage != Storage::AsComputed) {
        allowed = entry.storage == Storage::BF16 ? 0x1p-6 : 0x1p-9;
        isRounded = true;
      }
    for (const Entry &entry : entries) {
      if (entry.kind < Expected)
        continue;
      const std::string &a = first[number];
      const char *unlike = a != second[number]                 ? "two runs differ"
                           : a != recorded[number]             ? "a recording differs"
                           : isGradient && a != halves[number] ? "the halves differ"
                                                               : nullptr;
      ++number;
      Error error = errorOf(model, entry, a, largest, isRounded);
      ++compared;
      if (unlike || !error.within(allowed)) {
        ++failures;
        std::printf("%s: %s: %s, relative error %.3g\n", argv[i], entry.name.c_str(), unlike ? unlike : "wrong",
                    error.relative);
      } else {
        double &most = !isRounded ? worst : worstRounded;
        most = std::fmax(most, error.relative);
      }
    }
    const std::string description = run.describe();
    std::vector<std::string> tunings = withSchedules ? forcedSchedules(description) : std::vector<std::string>();
    if (withSchedules && hasSchedules(description) && tunings.empty()) {
      std::printf("%s: no schedule found in %s\n", argv[i], description.c_str());
      ++failures;
    }
    for (const std::string &tuning : tunings) {
      Run forced{model, entries, nullptr, {}, {}};
      std::vector<std::string> once, twice;
      if (!forced.prepare(tuning.c_str()) || !forced.run(Run::Direct, once) || !forced.run(Run::Direct, twice)) {
        std::printf("%s: %s with\n%s", argv[i], forced.error.message, tuning.c_str());
        ++failures;
        continue;
      }
      if (!isForced(forced.describe())) {
        std::printf("%s: not as tuned by\n%s", argv[i], tuning.c_str());
        ++failures;
      }
      size_t at = 0;
      for (const Entry &entry : entries) {
        if (entry.kind < Expected)
          continue;
        Error error = errorOf(model, entry, once[at], largest, isRounded);
        ++forcedTensors;
        if (once[at] != twice[at] || !error.within(allowed)) {
          ++failures;
          std::printf("%s: %s: %s, relative error %.3g, with\n%s", argv[i], entry.name.c_str(),
                      once[at] != twice[at] ? "two runs differ" : "wrong", error.relative, tuning.c_str());
        }
        ++at;
      }
    }
    std::string program = run.program();
    // Inputs that may be left out are there in all of a recording's batches or in none.
    std::string key = object + " " + program;
    for (const Entry &entry : entries)
      if (entry.kind == Input)
        key += " " + entry.name;
    Group &group = groups[key];
    group.model = &model;
    group.program = program;
    group.paths.push_back(argv[i]);
    group.outputs.push_back(first);
    group.cases.push_back(std::move(entries));
  }
  for (auto &[name, group] : groups) {
    Batches all{*group.model, group.cases};
    bool isFixed = std::strstr(group.model->api->describe(nullptr), "\"alternatives\":[{") == nullptr;
    bool works = all.record(group.program.c_str());
    // Sizes of what is chosen by values are fixed once they are recorded, which is refused.
    if (std::strstr(group.model->api->describe(nullptr), "\"selection\"")) {
      if (works || all.error.status != GNNC_UNSUPPORTED || !std::strstr(all.error.message, "by values")) {
        std::printf("%s as batches: %s\n", name.c_str(), works ? "recorded, and not refused" : all.error.message);
        ++failures;
      }
      all.stopRecording();
      continue;
    }
    for (size_t turn = 0; works && turn < 2 * group.cases.size(); ++turn) {
      size_t number = turn < group.cases.size() ? turn : 2 * group.cases.size() - 1 - turn;
      std::vector<std::string> found;
      works = all.run(group.cases[number], found);
      batches += works;
      if (works && isFixed && found != group.outputs[number]) {
        std::printf("%s: as a batch it differs\n", group.paths[number].c_str());
        ++failures;
      }
    }
    if (!works) {
      std::printf("%s as batches: %s\n", name.c_str(), all.error.message);
      ++failures;
      if (all.error.status == GNNC_DEVICE_ERROR)
        break;
    }
  }
  std::printf("%d tensors, %d with one schedule, and %d batches compared, %d failures, largest relative error of the "
              "others %.3g, of models in 16 "
              "bits %.3g\n",
              compared, forcedTensors, batches, failures, worst, worstRounded);
  return failures ? 1 : 0;
}
