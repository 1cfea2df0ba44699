//===- Request.cpp - One request and its response -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Request.h"

#include <algorithm>

using namespace gnnc::triton;

static std::string dtypeOf(TRITONSERVER_DataType type, const std::string &name) {
  switch (type) {
  case TRITONSERVER_TYPE_FP32:
    return "f32";
  case TRITONSERVER_TYPE_FP64:
    return "f64";
  case TRITONSERVER_TYPE_FP16:
    return "f16";
  case TRITONSERVER_TYPE_BF16:
    return "bf16";
  case TRITONSERVER_TYPE_INT32:
    return "i32";
  case TRITONSERVER_TYPE_INT64:
    return "i64";
  default:
    throw std::runtime_error("input '" + name + "': expected FP32, FP64, FP16, BF16, INT32 or INT64, found " +
                             TRITONSERVER_DataTypeString(type));
  }
}

static TRITONSERVER_DataType typeOf(const std::string &dtype) {
  return dtype == "f64"    ? TRITONSERVER_TYPE_FP64
         : dtype == "f32"  ? TRITONSERVER_TYPE_FP32
         : dtype == "bf16" ? TRITONSERVER_TYPE_BF16
                           : TRITONSERVER_TYPE_FP16;
}

Request::Request(TRITONBACKEND_Request *request, const Signature &signature, const Context &context)
    : request(request), signature(signature), context(context), wantedOutputs(signature.outputs().size()) {
  check(TRITONBACKEND_ResponseNew(&response, request));
}

Request::~Request() {
  if (response)
    logFailure(TRITONBACKEND_ResponseDelete(response));
}

void Request::fail(TRITONSERVER_Error_Code code, const std::string &message) noexcept {
  if (failed)
    return;
  failed = true;
  failureCode = code;
  try {
    failure = message;
  } catch (const std::bad_alloc &) {
    failureCode = TRITONSERVER_ERROR_UNAVAILABLE;
  }
}

void Request::fail(const std::exception &error, TRITONSERVER_Error_Code code) noexcept {
  if (dynamic_cast<const std::bad_alloc *>(&error))
    return fail(TRITONSERVER_ERROR_UNAVAILABLE, "");
  try {
    fail(code, std::string(error.what()));
  } catch (const std::bad_alloc &) {
    fail(TRITONSERVER_ERROR_UNAVAILABLE, "");
  }
}

Tensor Request::readInput(uint32_t number, std::string &name) {
  TRITONBACKEND_Input *input = nullptr;
  check(TRITONBACKEND_RequestInputByIndex(request, number, &input));
  const char *called = nullptr;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  const int64_t *shape = nullptr;
  uint32_t axes = 0, pieces = 0;
  uint64_t bytes = 0;
  check(TRITONBACKEND_InputProperties(input, &called, &type, &shape, &axes, &bytes, &pieces));
  name = called;
  Tensor tensor{dtypeOf(type, name), {shape, shape + axes}, nullptr};
  // Later products, which are of parts of this shape, are no larger.
  uint64_t expected = productOf(tensor.shape, TRITONSERVER_DataTypeByteSize(type), "input '" + name + "'");
  if (bytes != expected)
    throw std::runtime_error("input '" + name + "': expected " + std::to_string(expected) +
                             " bytes for its shape, found " + std::to_string(bytes));
  for (uint32_t piece = 0; piece < pieces; ++piece) {
    const void *data = nullptr;
    uint64_t size = 0;
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
    int64_t device = 0;
    check(TRITONBACKEND_InputBuffer(input, piece, &data, &size, &memory, &device));
    bool isOnDevice = memory == TRITONSERVER_MEMORY_GPU;
    if (isOnDevice && (!context.isDevice() || context.device() != device))
      throw std::runtime_error("input '" + name + "': expected memory of the host" +
                               (context.isDevice() ? " or of GPU " + std::to_string(context.device()) : "") +
                               ", found some of GPU " + std::to_string(device));
    if (pieces == 1 && !isOnDevice) {
      tensor.data = static_cast<const char *>(data);
      return tensor;
    }
    if (piece == 0)
      copies.emplace_back();
    std::vector<char> &all = copies.back();
    size_t at = all.size();
    all.resize(at + size);
    context.copy(all.data() + at, false, data, isOnDevice, size);
    context.synchronize();
  }
  if (pieces > 0)
    tensor.data = copies.back().data();
  return tensor;
}

void Request::readInputs() {
  uint32_t count = 0;
  check(TRITONBACKEND_RequestInputCount(request, &count));
  for (uint32_t i = 0; i < count; ++i) {
    std::string name;
    Tensor tensor = readInput(i, name);
    tensors[name] = std::move(tensor);
  }
  check(TRITONBACKEND_RequestOutputCount(request, &count));
  for (uint32_t i = 0; i < count; ++i) {
    const char *name = nullptr;
    check(TRITONBACKEND_RequestOutputName(request, i, &name));
    for (size_t k = 0; k < wantedOutputs.size(); ++k)
      if (signature.outputs()[k].name == name)
        wantedOutputs[k] = true;
  }
}

void Request::read(const GraphReader &reader, bool isBatched) {
  batched = isBatched;
  try {
    readInputs();
    if (!batched) {
      parts.push_back(reader.read(tensors));
      outputs.assign(wantedOutputs.size(), std::vector<Part>(1));
      return;
    }
    int64_t graphs = -1;
    for (const auto &[name, tensor] : tensors) {
      if (tensor.shape.empty() || (graphs >= 0 && tensor.shape[0] != graphs))
        throw std::runtime_error(
            "input '" + name + "': expected a shape that begins with " +
            (graphs < 0 ? "the number of graphs" : std::to_string(graphs) + ", as that of others"));
      graphs = tensor.shape[0];
    }
    if (graphs < 1)
      throw std::runtime_error("expected at least one graph in a request");
    for (int64_t i = 0; i < graphs; ++i) {
      std::map<std::string, Tensor> slices;
      for (const auto &[name, tensor] : tensors) {
        Tensor slice{tensor.dtype, {tensor.shape.begin() + 1, tensor.shape.end()}, tensor.data};
        size_t width = tensor.dtype == "f64" || tensor.dtype == "i64"   ? 8
                       : tensor.dtype == "f32" || tensor.dtype == "i32" ? 4
                                                                        : 2;
        slice.data += static_cast<size_t>(i * slice.numbers()) * width;
        slices[name] = slice;
      }
      parts.push_back(reader.read(slices));
    }
    outputs.assign(wantedOutputs.size(), std::vector<Part>(parts.size()));
  } catch (const std::exception &error) {
    parts.clear();
    fail(error, TRITONSERVER_ERROR_INVALID_ARG);
  }
}

void Request::add(size_t output, size_t graph, int64_t rows, const char *data, size_t bytes) {
  Part &part = outputs[output][graph];
  part.data.assign(data, data + bytes);
  part.rows = rows;
}

bool Request::fitTogether(size_t number) {
  const std::vector<Part> &graphs = outputs[number];
  const std::string &name = signature.outputs()[number].name;
  for (const Part &part : graphs) {
    if (part.rows < 0)
      fail(TRITONSERVER_ERROR_INTERNAL, "output '" + name + "' was not computed for each graph of the request");
    else if (part.rows != graphs[0].rows)
      fail(TRITONSERVER_ERROR_INVALID_ARG, "output '" + name + "' has " + std::to_string(graphs[0].rows) +
                                               " rows for one graph of the request and " + std::to_string(part.rows) +
                                               " for another: send these in requests of their own");
  }
  return !hasFailed();
}

void Request::writeOutput(size_t number) {
  const Value &value = signature.outputs()[number];
  const std::vector<Part> &graphs = outputs[number];
  std::vector<int64_t> shape = value.dims;
  if (!value.place.isWhole())
    shape.insert(shape.begin(), graphs[0].rows);
  if (shape.empty())
    shape.push_back(1);
  if (batched)
    shape.insert(shape.begin(), static_cast<int64_t>(graphs.size()));
  TRITONBACKEND_Output *made = nullptr;
  check(TRITONBACKEND_ResponseOutput(response, &made, value.name.c_str(), typeOf(value.dtype), shape.data(),
                                     static_cast<uint32_t>(shape.size())));
  size_t bytes = 0;
  for (const Part &part : graphs)
    bytes += part.data.size();
  void *buffer = nullptr;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  check(TRITONBACKEND_OutputBuffer(made, &buffer, bytes, &memory, &device));
  bool isOnDevice = memory == TRITONSERVER_MEMORY_GPU;
  if (isOnDevice && (!context.isDevice() || context.device() != device))
    throw std::runtime_error("output '" + value.name + "': expected memory of the host" +
                             (context.isDevice() ? " or of GPU " + std::to_string(context.device()) : "") +
                             ", found some of GPU " + std::to_string(device));
  char *to = static_cast<char *>(buffer);
  for (const Part &part : graphs) {
    context.copy(to, isOnDevice, part.data.data(), false, part.data.size());
    to += part.data.size();
  }
}

void Request::respond() noexcept {
  try {
    bool fits = !hasFailed();
    for (size_t i = 0; fits && i < outputs.size(); ++i)
      fits = !wantedOutputs[i] || fitTogether(i);
    for (size_t i = 0; fits && i < outputs.size(); ++i)
      if (wantedOutputs[i])
        writeOutput(i);
    if (fits)
      context.synchronize();
  } catch (const std::exception &error) {
    fail(error);
  }
  TRITONSERVER_Error *error = nullptr;
  if (hasFailed())
    error = TRITONSERVER_ErrorNew(failureCode, failure.empty() ? "out of memory" : failure.c_str());
  logFailure(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error));
  if (error)
    TRITONSERVER_ErrorDelete(error);
  response = nullptr; // The server's, sent or not.
}

void Request::release() noexcept {
  logFailure(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
}
