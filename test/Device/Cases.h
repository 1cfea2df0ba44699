//===- Cases.h - Recorded cases, read back ----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What test/Integration/DeviceCases.h writes: a program, a graph, inputs, and what the interpreter computed.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_DEVICE_CASES_H
#define GNNC_TEST_DEVICE_CASES_H

#include "gnnc-c/gnnc.h"
#include "gnnc/Support/Half.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <string>
#include <vector>

namespace cases {

using gnnc::Storage;

struct Entry {
  int64_t kind;
  Storage storage = Storage::AsComputed;
  std::string name;
  std::vector<int64_t> shape;
  std::string data;
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t dim : shape)
      count *= dim;
    return count;
  }
};

enum Kind { Program, Extent, Map, Input, Expected, Updated };

inline std::vector<Entry> readCase(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<Entry> entries;
  auto word = [&] {
    int64_t value = 0;
    file.read(reinterpret_cast<char *>(&value), sizeof value);
    return value;
  };
  auto bytes = [&](int64_t count) {
    std::string text(size_t(count), '\0');
    file.read(text.data(), count);
    return text;
  };
  while (file.peek() != EOF) {
    Entry entry;
    int64_t kind = word();
    entry.kind = kind & 0xff;
    entry.storage = Storage(kind >> 8);
    entry.name = bytes(word());
    entry.shape.resize(size_t(word()));
    for (int64_t &dim : entry.shape)
      dim = word();
    entry.data = bytes(word());
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// The functions of the object at `path`; null, with an error, if it cannot be loaded. It is never unloaded.
inline const gnnc_api *loadModel(const std::string &path, gnnc_error &error) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto function = library ? reinterpret_cast<gnnc_model_function>(dlsym(library, "gnnc_model")) : nullptr;
  if (!function) {
    std::snprintf(error.message, sizeof error.message, "cannot load: %s", dlerror());
    return nullptr;
  }
  const gnnc_api *api = function();
  if (api->abi_version == GNNC_ABI_VERSION)
    return api;
  std::snprintf(error.message, sizeof error.message, "expected ABI version %d, found %u", GNNC_ABI_VERSION,
                api->abi_version);
  return nullptr;
}

/// Prepares a case's graph.
inline gnnc_status prepareGraph(const gnnc_api &api, gnnc_context *context, const std::vector<Entry> &entries,
                                const char *tuning, gnnc_graph *&graph, gnnc_error &error) {
  std::vector<gnnc_extent> extents;
  std::vector<gnnc_index> indices;
  for (const Entry &entry : entries) {
    if (entry.kind == Extent)
      extents.push_back({entry.name.c_str(), entry.shape[0]});
    if (entry.kind == Map)
      indices.push_back({entry.name.c_str(), entry.data.data(), entry.shape[0], 32, GNNC_INDEX_EACH});
  }
  gnnc_graph_desc description = {sizeof description,
                                 int32_t(extents.size()),
                                 extents.data(),
                                 int32_t(indices.size()),
                                 indices.data(),
                                 0,
                                 nullptr,
                                 tuning,
                                 nullptr};
  return api.prepare(context, &description, &graph, &error);
}

/// What the model says of a prepared graph.
inline std::string describeGraph(const gnnc_api &api, const gnnc_graph *graph) {
  gnnc_error error = {};
  size_t length = 0;
  api.describe_graph(graph, nullptr, 0, &length, &error);
  std::string text(length + 1, '\0');
  api.describe_graph(graph, text.data(), text.size(), &length, &error);
  return text;
}

/// How a model's numbers lie in memory.
struct Numbers {
  bool doublePrecision = false;

  size_t widthOf(const Entry &entry) const {
    return entry.storage != Storage::AsComputed ? 2 : doublePrecision ? 8 : 4;
  }
  /// Number `i` of a tensor into its bytes, and from them.
  void put(std::string &bytes, const Entry &entry, int64_t i, double number) const {
    char *to = &bytes[size_t(i) * widthOf(entry)];
    float narrow = float(number);
    uint16_t half = entry.storage == Storage::BF16 ? gnnc::encodeBF16(narrow) : gnnc::encodeF16(narrow);
    std::memcpy(to,
                entry.storage != Storage::AsComputed ? (const void *)&half
                : doublePrecision                    ? &number
                                                     : (const void *)&narrow,
                widthOf(entry));
  }
  double get(const std::string &bytes, const Entry &entry, int64_t i) const {
    if (entry.storage == Storage::AsComputed)
      return doublePrecision ? reinterpret_cast<const double *>(bytes.data())[i]
                             : double(reinterpret_cast<const float *>(bytes.data())[i]);
    uint16_t half = reinterpret_cast<const uint16_t *>(bytes.data())[i];
    return entry.storage == Storage::BF16 ? gnnc::decodeBF16(half) : gnnc::decodeF16(half);
  }
};

struct Error {
  double relative;
  /// Of a tensor whose largest number is below a twentieth of the case's: `relative` is beside that twentieth.
  bool cancels;
  bool within(double allowed) const { return relative <= (cancels ? 10 * allowed : allowed); }
};

/// The largest difference of a tensor's numbers from what is expected, beside their largest.
inline Error errorOf(const Numbers &model, const Entry &entry, const std::string &bytes, double largest,
                     bool isRounded) {
  double difference = 0, magnitude = 0;
  for (int64_t k = 0; k < entry.elements(); ++k) {
    double expected = reinterpret_cast<const double *>(entry.data.data())[k];
    if (!model.doublePrecision)
      expected = float(expected);
    double found = model.get(bytes, entry, k);
    if (!std::isfinite(expected)) { // There is nothing to be near to.
      if (std::isnan(expected) ? !std::isnan(found) : found != expected)
        difference = INFINITY;
      continue;
    }
    double off = std::fabs(found - expected);
    difference = std::isfinite(off) ? std::fmax(difference, off) : INFINITY;
    magnitude = std::fmax(magnitude, std::fabs(expected));
  }
  if (difference == 0)
    return {0, false};
  if (model.doublePrecision || isRounded)
    return {difference / (magnitude > 1e-9 * largest ? magnitude : largest), false};
  // In single precision a gradient that nearly cancels is noise beside those that do not (WidthsTest.cpp).
  // It is right to a hundredth of its own if that is more than rounding: the slope of a saturated sigmoid, s (1 - s),
  // has the rounding errors of 1.
  if (difference > 0.01 * magnitude && magnitude > 1e-4 * largest)
    return {difference / magnitude, false};
  return {difference / std::fmax(magnitude, largest / 20), magnitude < largest / 20};
}

} // namespace cases

#endif // GNNC_TEST_DEVICE_CASES_H
