//===- FaultTest.cpp - The backend where memory runs out ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A server of two requests, for what a real one cannot be made to do: `FaultTest BACKEND FOLDER` loads the backend and
// FOLDER/1/model.so, that of `track`, and executes the requests over and over. Each time the next allocation fails,
// either alone or with all behind it. Whatever fails, no exception may leave the backend, and each request must be
// answered once and given back once, or all of them be left to the server. Then shapes that a server may refuse itself.
//
//===----------------------------------------------------------------------===//

#include "triton/core/tritonbackend.h"
#include "triton/core/tritonserver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <string>

static bool armed = false, onlyOne = false, hasFailed = false;
static long untilFailure = 0;

void *operator new(size_t bytes) {
  if (armed && (untilFailure-- <= 0)) {
    if (!hasFailed || !onlyOne) {
      hasFailed = true;
      throw std::bad_alloc();
    }
  }
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

// What follows allocates nothing with new, since a server's own failures are no concern of this test.
namespace {

struct Input {
  const char *name;
  TRITONSERVER_DataType type;
  int64_t shape[3];
  uint64_t bytes;
  const void *data;
};

struct Request {
  Input inputs[2];
  int made, answered, deleted, released;
  bool failed;
  char why[512];
  char output[256];
  size_t outputBytes;
};

struct Error {
  TRITONSERVER_Error_Code code;
  char text[512];
};

const char *folder = nullptr, *config = R"({"name": "track", "max_batch_size": 8, "input": [], "output": []})";
void *modelState = nullptr, *instanceState = nullptr;

Request *of(TRITONBACKEND_Request *request) { return reinterpret_cast<Request *>(request); }
/// A request has one response.
Request *of(TRITONBACKEND_Response *response) { return reinterpret_cast<Request *>(response); }

} // namespace

using Result = TRITONSERVER_Error *;

extern "C" {
Result TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char *text) {
  auto *error = static_cast<Error *>(std::malloc(sizeof(Error)));
  error->code = code;
  std::snprintf(error->text, sizeof error->text, "%s", text);
  return reinterpret_cast<Result>(error);
}
void TRITONSERVER_ErrorDelete(Result error) { std::free(error); }
const char *TRITONSERVER_ErrorMessage(Result error) { return reinterpret_cast<Error *>(error)->text; }
Result TRITONSERVER_LogMessage(TRITONSERVER_LogLevel, const char *, const int, const char *) { return nullptr; }
const char *TRITONSERVER_DataTypeString(TRITONSERVER_DataType) { return "another type"; }
uint32_t TRITONSERVER_DataTypeByteSize(TRITONSERVER_DataType type) { return type == TRITONSERVER_TYPE_INT64 ? 8 : 4; }
Result TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message **, const char *, size_t) { return nullptr; }
Result TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message *, const char **text, size_t *length) {
  *text = config;
  *length = std::strlen(config);
  return nullptr;
}
Result TRITONSERVER_MessageDelete(TRITONSERVER_Message *) { return nullptr; }

Result TRITONBACKEND_ApiVersion(uint32_t *major, uint32_t *minor) {
  *major = TRITONBACKEND_API_VERSION_MAJOR;
  *minor = TRITONBACKEND_API_VERSION_MINOR;
  return nullptr;
}
Result TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model *, bool *may) {
  *may = true;
  return nullptr;
}
Result TRITONBACKEND_ModelConfig(TRITONBACKEND_Model *, const uint32_t, TRITONSERVER_Message **) { return nullptr; }
Result TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model *, const uint32_t, TRITONSERVER_Message *) { return nullptr; }
Result TRITONBACKEND_ModelName(TRITONBACKEND_Model *, const char **name) {
  *name = "track";
  return nullptr;
}
Result TRITONBACKEND_ModelVersion(TRITONBACKEND_Model *, uint64_t *version) {
  *version = 1;
  return nullptr;
}
Result TRITONBACKEND_ModelRepository(TRITONBACKEND_Model *, TRITONBACKEND_ArtifactType *type, const char **location) {
  *type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = folder;
  return nullptr;
}
Result TRITONBACKEND_ModelState(TRITONBACKEND_Model *, void **state) {
  *state = modelState;
  return nullptr;
}
Result TRITONBACKEND_ModelSetState(TRITONBACKEND_Model *, void *state) {
  modelState = state;
  return nullptr;
}
Result TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance *, TRITONBACKEND_Model **) { return nullptr; }
Result TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance *, TRITONSERVER_InstanceGroupKind *kind) {
  *kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  return nullptr;
}
Result TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance *, int32_t *device) {
  *device = 0;
  return nullptr;
}
Result TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance *, void **state) {
  *state = instanceState;
  return nullptr;
}
Result TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance *, void *state) {
  instanceState = state;
  return nullptr;
}
Result TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance *, TRITONBACKEND_Request *, const bool,
                                                   const uint64_t, const uint64_t, const uint64_t, const uint64_t) {
  return nullptr;
}
Result TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance *, const uint64_t, const uint64_t,
                                                        const uint64_t, const uint64_t, const uint64_t) {
  return nullptr;
}

Result TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request *, uint32_t *count) {
  *count = 2;
  return nullptr;
}
Result TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request *request, const uint32_t i,
                                         TRITONBACKEND_Input **input) {
  *input = reinterpret_cast<TRITONBACKEND_Input *>(&of(request)->inputs[i]);
  return nullptr;
}
Result TRITONBACKEND_InputProperties(TRITONBACKEND_Input *input, const char **name, TRITONSERVER_DataType *type,
                                     const int64_t **shape, uint32_t *axes, uint64_t *bytes, uint32_t *pieces) {
  const auto *from = reinterpret_cast<Input *>(input);
  *name = from->name;
  *type = from->type;
  *shape = from->shape;
  *axes = 3;
  *bytes = from->bytes;
  *pieces = from->bytes ? 1 : 0;
  return nullptr;
}
Result TRITONBACKEND_InputBuffer(TRITONBACKEND_Input *input, const uint32_t, const void **data, uint64_t *bytes,
                                 TRITONSERVER_MemoryType *memory, int64_t *device) {
  const auto *from = reinterpret_cast<Input *>(input);
  *data = from->data;
  *bytes = from->bytes;
  *memory = TRITONSERVER_MEMORY_CPU;
  *device = 0;
  return nullptr;
}
Result TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request *, uint32_t *count) {
  *count = 1;
  return nullptr;
}
Result TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request *, const uint32_t, const char **name) {
  *name = "score";
  return nullptr;
}
Result TRITONBACKEND_RequestRelease(TRITONBACKEND_Request *request, uint32_t) {
  ++of(request)->released;
  return nullptr;
}
Result TRITONBACKEND_ResponseNew(TRITONBACKEND_Response **response, TRITONBACKEND_Request *request) {
  ++of(request)->made;
  *response = reinterpret_cast<TRITONBACKEND_Response *>(request);
  return nullptr;
}
Result TRITONBACKEND_ResponseDelete(TRITONBACKEND_Response *response) {
  ++of(response)->deleted;
  return nullptr;
}
Result TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response *response, TRITONBACKEND_Output **output, const char *,
                                    const TRITONSERVER_DataType, const int64_t *, const uint32_t) {
  *output = reinterpret_cast<TRITONBACKEND_Output *>(response);
  return nullptr;
}
Result TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output *output, void **buffer, const uint64_t bytes,
                                  TRITONSERVER_MemoryType *, int64_t *) {
  auto *request = reinterpret_cast<Request *>(output);
  if (bytes > sizeof request->output)
    std::abort();
  request->outputBytes = bytes;
  *buffer = request->output;
  return nullptr;
}
Result TRITONBACKEND_ResponseSend(TRITONBACKEND_Response *response, const uint32_t, Result error) {
  Request *request = of(response);
  ++request->answered;
  request->failed = error != nullptr;
  if (error)
    std::snprintf(request->why, sizeof request->why, "%s", TRITONSERVER_ErrorMessage(error));
  return nullptr;
}
}

namespace {

constexpr int kRequests = 2, kNodes = 3, kEdges = 4;
const float hits[2][kNodes][3] = {{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, {{-1, 0, 1}, {2, -2, 0}, {0, 1, 1}}};
const int64_t edges[2][2][kEdges] = {{{0, 1, 2, 0}, {1, 2, 0, 2}}, {{2, 2, 1, 0}, {0, 1, 1, 0}}};

/// Of two graphs, so that rows are put together, too.
Request makeRequest() {
  return {{{"hit", TRITONSERVER_TYPE_FP32, {2, kNodes, 3}, sizeof hits, hits},
           {"edge_index", TRITONSERVER_TYPE_INT64, {2, 2, kEdges}, sizeof edges, edges}},
          0,
          0,
          0,
          0,
          false,
          {},
          {},
          0};
}

int failures = 0;

void expect(bool fits, const char *what, const char *when, long allocation) {
  if (fits)
    return;
  ++failures;
  std::printf("failed: %s (%s, allocation %ld)\n", what, when, allocation);
}

using Execute = Result (*)(TRITONBACKEND_ModelInstance *, TRITONBACKEND_Request **, const uint32_t);

/// Executes with a failure at one allocation. False: there were fewer.
bool failAt(Execute execute, long allocation, bool alone, const Request &expected) {
  Request requests[kRequests] = {makeRequest(), makeRequest()};
  TRITONBACKEND_Request *given[kRequests];
  for (int i = 0; i < kRequests; ++i)
    given[i] = reinterpret_cast<TRITONBACKEND_Request *>(&requests[i]);
  const char *when = alone ? "it alone fails" : "all from it on fail";
  untilFailure = allocation;
  onlyOne = alone;
  hasFailed = false;
  armed = true;
  Result error = nullptr;
  bool escaped = false;
  try {
    error = execute(nullptr, given, kRequests);
  } catch (...) {
    escaped = true;
  }
  armed = false;
  expect(!escaped, "an exception left the backend", when, allocation);
  for (const Request &request : requests) {
    if (error) {
      expect(!request.answered && !request.released, "a request was taken, and left to the server", when, allocation);
    } else {
      expect(request.answered == 1, "a request was not answered once", when, allocation);
      expect(request.released == 1, "a request was not given back once", when, allocation);
    }
    expect(request.made == request.answered + request.deleted, "a response was lost", when, allocation);
    if (request.answered && !request.failed)
      expect(request.outputBytes == expected.outputBytes &&
                 std::memcmp(request.output, expected.output, expected.outputBytes) == 0,
             "a result is wrong", when, allocation);
  }
  if (error)
    TRITONSERVER_ErrorDelete(error);
  return hasFailed;
}

void refuse(Execute execute, Request request, const char *text) {
  auto *given = reinterpret_cast<TRITONBACKEND_Request *>(&request);
  execute(nullptr, &given, 1);
  if (request.failed && std::strstr(request.why, text))
    return;
  ++failures;
  std::printf("failed: expected '%s', found '%s'\n", text, request.why);
}

template <typename Function> Function symbol(void *backend, const char *name) {
  void *found = dlsym(backend, name);
  if (!found) {
    std::printf("%s\n", dlerror());
    std::exit(2);
  }
  return reinterpret_cast<Function>(found);
}

} // namespace

int main(int count, char **arguments) {
  if (count != 3) {
    std::printf("usage: FaultTest BACKEND FOLDER\n");
    return 2;
  }
  folder = arguments[2];
  void *backend = dlopen(arguments[1], RTLD_NOW);
  if (!backend) {
    std::printf("%s\n", dlerror());
    return 2;
  }
  Result error = symbol<Result (*)(TRITONBACKEND_Model *)>(backend, "TRITONBACKEND_ModelInitialize")(nullptr);
  if (!error)
    error =
        symbol<Result (*)(TRITONBACKEND_ModelInstance *)>(backend, "TRITONBACKEND_ModelInstanceInitialize")(nullptr);
  if (error) {
    std::printf("%s\n", TRITONSERVER_ErrorMessage(error));
    return 2;
  }
  auto execute = symbol<Execute>(backend, "TRITONBACKEND_ModelInstanceExecute");

  Request expected = makeRequest();
  auto *given = reinterpret_cast<TRITONBACKEND_Request *>(&expected);
  execute(nullptr, &given, 1);
  if (expected.failed || expected.outputBytes != 2 * kEdges * sizeof(float)) {
    std::printf("failed: %s\n", expected.why);
    return 1;
  }
  long allocations = 0;
  for (bool alone : {true, false}) {
    allocations = 0;
    while (failures < 20 && failAt(execute, allocations, alone, expected))
      ++allocations;
  }

  Request large = makeRequest(), negative = makeRequest();
  large.inputs[1] = {"edge_index", TRITONSERVER_TYPE_INT64, {2, 2, int64_t(1) << 60}, 0, nullptr};
  refuse(execute, large,
         "input 'edge_index': expected a shape of less than 2^63 bytes, found [2, 2, 1152921504606846976]");
  negative.inputs[1].shape[1] = -2;
  negative.inputs[1].shape[2] = -kEdges;
  refuse(execute, negative, "input 'edge_index': expected sizes of 0 or more, found shape [2, -2, -4]");
  std::printf("%ld allocations failed, %d failures\n", allocations, failures);
  return failures ? 1 : 0;
}
