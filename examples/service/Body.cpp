//===- Body.cpp - Reads graphs without trust ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No size is believed before it has been compared with the bytes that are there, so memory is never more than a small
// multiple of the body.
//
//===----------------------------------------------------------------------===//

#include "Body.h"
#include "Json.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace service {

namespace {

/// JSON takes many times its length in memory, the more so the deeper it is nested.
constexpr size_t kMostJson = 1 << 20, kMostDepth = 3;

[[noreturn]] void bad(const std::string &message) { throw BadRequest(message.substr(0, 300)); }

std::string bytes(uint64_t number) { return std::to_string(number) + " bytes"; }

Json parse(const char *begin, size_t length, const std::string &what) {
  if (length > kMostJson)
    bad(what + ": expected at most " + bytes(kMostJson) + ", found " + std::to_string(length));
  return parseJson(begin, length, kMostDepth, what);
}

const Json &member(const Json &object, const char *name, const std::string &where) {
  const Json::Object &members = *object.object();
  auto found =
      std::find_if(members.rbegin(), members.rend(), [&](const JsonMember &each) { return each.name == name; });
  if (found != members.rend()) // the last of several
    return found->value;
  bad(where + " has no '" + name + "'");
}

/// A tensor of a safetensors file.
struct Tensor {
  std::string dtype;
  std::vector<uint64_t> shape;
  const char *data;
  uint64_t length; ///< in bytes
};

Tensor tensor(const Json &header, const char *name, const char *data, uint64_t available) {
  const Json &entry = member(header, name, "the safetensors header");
  std::string where = "tensor '" + std::string(name) + "'";
  if (!entry.object())
    bad(where + ": expected an object, found " + entry.kind());
  const Json &dtype = member(entry, "dtype", where), &shape = member(entry, "shape", where),
             &offsets = member(entry, "data_offsets", where);
  auto sizes = [&](const Json &list, const char *what) {
    const Json::List *both = list.list();
    if (!both || both->size() != 2 || !both->front().size() || !both->back().size())
      bad(where + ": expected " + what + " of two integers from 0, found " + list.text());
    return std::vector<uint64_t>{*both->front().size(), *both->back().size()};
  };
  if (!dtype.string())
    bad(where + ": expected a string as dtype, found " + dtype.kind());
  std::vector<uint64_t> ends = sizes(offsets, "data_offsets");
  if (ends[0] > ends[1] || ends[1] > available)
    bad(where + ": expected data_offsets within the " + bytes(available) + " of data, found " + offsets.text());
  return {*dtype.string(), sizes(shape, "a shape"), data + ends[0], ends[1] - ends[0]};
}

/// Fails unless the data has as many bytes as rows of this size need.
void checkLength(const std::string &name, const Tensor &tensor, uint64_t rows, uint64_t rowBytes) {
  if (rows > tensor.length / rowBytes || rows * rowBytes != tensor.length)
    bad("tensor '" + name + "': its shape [" + std::to_string(tensor.shape[0]) + ", " +
        std::to_string(tensor.shape[1]) + "] and dtype " + tensor.dtype + " do not fit its " + bytes(tensor.length));
}

/// Half of an edge index. Indices of 64 bits that 32 cannot hold become -1, which is out of range as well.
std::vector<int32_t> readIndices(const char *data, size_t count, bool wide) {
  std::vector<int32_t> indices(count);
  if (!wide) {
    if (count)
      std::memcpy(indices.data(), data, 4 * count);
    return indices;
  }
  for (size_t i = 0; i < count; ++i) {
    int64_t index;
    std::memcpy(&index, data + 8 * i, 8); // which may be unaligned
    indices[i] = index == int32_t(index) ? int32_t(index) : -1;
  }
  return indices;
}

Graph readSafetensors(const std::string &body, int64_t features) {
  uint64_t length = 0;
  if (body.size() < 8)
    bad("expected a safetensors file, found " + bytes(body.size()));
  std::memcpy(&length, body.data(), 8); // little-endian, as x86-64 is
  if (length > body.size() - 8)
    bad("expected a safetensors file, whose first 8 bytes are the length of its header; they say " +
        std::to_string(length) + ", and " + bytes(body.size() - 8) + " follow");
  Json header = parse(body.data() + 8, length, "the safetensors header");
  const char *data = body.data() + 8 + length;
  uint64_t available = body.size() - 8 - length;

  Tensor x = tensor(header, "x", data, available), index = tensor(header, "edge_index", data, available);
  if (x.dtype != "F32")
    bad("tensor 'x': expected dtype F32, found " + x.dtype);
  if (x.shape[1] != uint64_t(features))
    bad("tensor 'x': expected shape [nodes, " + std::to_string(features) + "], found [" + std::to_string(x.shape[0]) +
        ", " + std::to_string(x.shape[1]) + "]");
  bool wide = index.dtype == "I64";
  if (!wide && index.dtype != "I32")
    bad("tensor 'edge_index': expected dtype I32 or I64, found " + index.dtype);
  if (index.shape[0] != 2)
    bad("tensor 'edge_index': expected shape [2, edges], found [" + std::to_string(index.shape[0]) + ", " +
        std::to_string(index.shape[1]) + "]");
  checkLength("x", x, x.shape[0], 4 * uint64_t(features));
  checkLength("edge_index", index, index.shape[1], wide ? 16 : 8);

  Graph graph;
  graph.nodes = int64_t(x.shape[0]);
  graph.x.resize(x.length / 4);
  if (x.length)
    std::memcpy(graph.x.data(), x.data, x.length);
  graph.src = readIndices(index.data, index.shape[1], wide);
  graph.dst = readIndices(index.data + index.length / 2, index.shape[1], wide);
  return graph;
}

Graph readJson(const std::string &body, int64_t features) {
  Json value = parse(body.data(), body.size(), "the JSON body");
  const Json &x = member(value, "x", "the JSON body"), &index = member(value, "edge_index", "the JSON body");
  Graph graph;
  if (!x.list())
    bad("x: expected a list of rows, found " + std::string(x.kind()));
  for (const Json &row : *x.list()) {
    std::string where = "x[" + std::to_string(graph.nodes++) + "]: expected " + std::to_string(features) + " numbers";
    if (!row.list() || row.list()->size() != size_t(features))
      bad(where + ", found " + (row.list() ? std::to_string(row.list()->size()) : row.kind()));
    for (const Json &number : *row.list()) {
      if (!number.isNumber())
        bad(where + ", found " + number.kind());
      graph.x.push_back(float(number.number()));
    }
  }
  const Json::List *sides = index.list();
  if (!sides || sides->size() != 2 || !sides->front().list() || !sides->back().list() ||
      sides->front().list()->size() != sides->back().list()->size())
    bad("edge_index: expected two lists of the same length");
  for (size_t side = 0; side < 2; ++side)
    for (const Json &number : *(*sides)[side].list()) {
      if (!number.isInteger())
        bad("edge_index[" + std::to_string(side) + "]: expected integers, found " + number.kind());
      bool fits = number.size() && *number.size() <= INT32_MAX;
      (side ? graph.dst : graph.src).push_back(fits ? int32_t(*number.size()) : -1);
    }
  return graph;
}

/// The first element that is out of range or not finite, in the terms of the request.
void checkValues(const Graph &graph, int64_t features) {
  for (size_t i = 0; i < graph.x.size(); ++i)
    if (!std::isfinite(graph.x[i]))
      bad("x[" + std::to_string(int64_t(i) / features) + ", " + std::to_string(int64_t(i) % features) +
          "]: expected a finite number, found " + std::to_string(graph.x[i]));
  for (const std::vector<int32_t> *side : {&graph.src, &graph.dst})
    for (size_t i = 0; i < side->size(); ++i)
      if (int32_t index = (*side)[i]; index < 0 || index >= graph.nodes)
        bad("edge_index[" + std::to_string(side == &graph.dst) + ", " + std::to_string(i) +
            "]: expected the index of one of " + std::to_string(graph.nodes) + " nodes, found " +
            (index < 0 ? "one below 0 or above 2^31 - 1" : std::to_string(index)));
}

} // namespace

Graph readGraph(const std::string &body, Format format, int64_t features) {
  Graph graph = format == Format::Json ? readJson(body, features) : readSafetensors(body, features);
  checkValues(graph, features);
  return graph;
}

std::string writeScores(const std::vector<float> &scores, Format format) {
  if (format == Format::Json) {
    std::string text = "{\"score\": [";
    for (size_t i = 0; i < scores.size(); ++i) {
      char number[32];
      std::snprintf(number, sizeof number, i ? ", %.9g" : "%.9g", double(scores[i])); // nine digits are all of a float
      text += number;
    }
    return text + "]}\n";
  }
  size_t length = scores.size() * sizeof(float);
  std::string header = "{\"score\": {\"dtype\": \"F32\", \"shape\": [" + std::to_string(scores.size()) +
                       "], \"data_offsets\": [0, " + std::to_string(length) + "]}}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  uint64_t size = header.size();
  std::string body(8 + size + length, '\0');
  std::memcpy(&body[0], &size, 8);
  std::memcpy(&body[8], header.data(), size);
  if (length)
    std::memcpy(&body[8 + size], scores.data(), length);
  return body;
}

} // namespace service
