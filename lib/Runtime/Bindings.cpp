//===- Bindings.cpp - Checks what a caller binds --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"
#include <string.h>

namespace gnnc::runtime {

using namespace table;

/// The address of what nobody has bound yet. (Null is a good address for a tensor without elements.)
static const char unboundPlace = 0;
static void *const unbound = const_cast<char *>(&unboundPlace);

static const char *typeName(const BufferRec &record) { return record.isBFloat ? "bfloat" : "float"; }

static const char *kindName(const BufferRec &record) {
  switch (record.kind) {
  case BufferKind::Param:
    return "parameter";
  case BufferKind::State:
    return "state";
  case BufferKind::Output:
    return "output";
  default:
    return "input";
  }
}

namespace {

/// One tensor against its record.
class TensorCheck {
public:
  TensorCheck(const gnnc_graph &graph, int64_t number, gnnc_error *error)
      : record(graph.model.buffer(number)), buffer(graph.buffers[number]), dims(graph.model.list(record.dimsAt)),
        name(graph.model.name(record.name)), onDevice(graph.device), error(error) {}

  gnnc_status check(const gnnc_tensor &tensor);
  gnnc_status missing();

private:
  int64_t rank() const { return record.numDims + (record.space >= 0); }
  int64_t dim(int64_t axis) const { return record.space < 0 ? dims[axis] : axis == 0 ? buffer.rows : dims[axis - 1]; }
  void addShape(Text &text) const;
  gnnc_status checkShape(const gnnc_tensor &tensor);
  gnnc_status checkType(const gnnc_tensor &tensor);
  gnnc_status checkStrides(const gnnc_tensor &tensor);
  gnnc_status checkPlace(const gnnc_tensor &tensor);

  const BufferRec &record;
  const PreparedBuffer &buffer;
  const int64_t *dims;
  const char *name;
  bool onDevice;
  gnnc_error *error;
};

} // namespace

void TensorCheck::addShape(Text &text) const {
  text.add("[");
  for (int64_t axis = 0; axis < rank(); ++axis)
    text.add(axis ? ", %lld" : "%lld", static_cast<long long>(dim(axis)));
  text.add("]");
}

gnnc_status TensorCheck::missing() {
  Text shape;
  addShape(shape);
  return fail(error, GNNC_INVALID_ARGUMENT, "%s '%s' is missing: expected %s%d %s%s", kindName(record), name,
              typeName(record), static_cast<int>(record.dtypeBits), shape.c_str(),
              record.values < 0 ? "" : ", because the program updates it");
}

gnnc_status TensorCheck::checkShape(const gnnc_tensor &tensor) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && !tensor.shape))
    return fail(error, GNNC_INVALID_ARGUMENT, "%s '%s': ndim is %d%s", kindName(record), name, tensor.ndim,
                tensor.shape ? "" : ", but shape is null");
  // More axes than any array library has: `shape` is hardly as long.
  constexpr int32_t kMostAxes = 64;
  if (tensor.ndim > kMostAxes)
    return fail(error, GNNC_INVALID_ARGUMENT, "%s '%s': expected %d axes, found ndim %d", kindName(record), name,
                static_cast<int>(rank()), tensor.ndim);
  // Elements may have several axes, row-major: [batch, nodes, features] for [batch * nodes, features].
  int64_t more = tensor.ndim - rank(), rows = 1;
  bool same = more == 0 || (more > 0 && record.space >= 0);
  for (int64_t axis = 0; same && axis < tensor.ndim; ++axis) {
    int64_t size = tensor.shape[axis];
    if (axis > more) {
      same = size == dim(axis - more);
      continue;
    }
    same = size >= 0 && (size == 0 || rows <= INT64_MAX / size);
    rows = same ? rows * size : 0;
    if (axis == more)
      same = same && rows == dim(0);
  }
  if (same)
    return GNNC_OK;
  Text expected, found;
  addShape(expected);
  found.addShape(tensor.shape, tensor.ndim);
  return fail(error, GNNC_INVALID_ARGUMENT, "%s '%s': expected shape %s, found %s", kindName(record), name,
              expected.c_str(), found.c_str());
}

gnnc_status TensorCheck::checkType(const gnnc_tensor &tensor) {
  constexpr uint8_t kFloat = 2, kBFloat = 4;
  if (tensor.dtype_code == (record.isBFloat ? kBFloat : kFloat) && tensor.dtype_bits == record.dtypeBits &&
      tensor.dtype_lanes == 1)
    return GNNC_OK;
  constexpr const char *kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  Text found;
  if (tensor.dtype_code < sizeof kinds / sizeof *kinds)
    found.add("%s%d", kinds[tensor.dtype_code], tensor.dtype_bits);
  else
    found.add("type code %d with %d bits", tensor.dtype_code, tensor.dtype_bits);
  if (tensor.dtype_lanes != 1)
    found.add(" in %d lanes", tensor.dtype_lanes);
  return fail(error, GNNC_INVALID_ARGUMENT, "%s '%s': expected %s%d, found %s", kindName(record), name,
              typeName(record), static_cast<int>(record.dtypeBits), found.c_str());
}

/// The stride of an axis of one element says nothing, nor does any in a tensor without elements.
gnnc_status TensorCheck::checkStrides(const gnnc_tensor &tensor) {
  if (!tensor.strides || buffer.bytes == 0)
    return GNNC_OK;
  bool dense = true;
  int64_t stride = 1;
  for (int64_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    dense &= tensor.shape[axis] == 1 || tensor.strides[axis] == stride;
    stride *= tensor.shape[axis];
  }
  if (dense)
    return GNNC_OK;
  Text found, shape;
  found.addShape(tensor.strides, tensor.ndim);
  addShape(shape);
  return fail(error, GNNC_INVALID_ARGUMENT, "%s '%s': expected dense row-major strides for shape %s, found strides %s",
              kindName(record), name, shape.c_str(), found.c_str());
}

gnnc_status TensorCheck::checkPlace(const gnnc_tensor &tensor) {
  constexpr int32_t kCPU = 1, kCUDA = 2;
  if (tensor.device_type != (onDevice ? kCUDA : kCPU))
    return fail(error, GNNC_INVALID_ARGUMENT, "%s '%s': expected %s, found device type %d", kindName(record), name,
                onDevice ? "memory of the CUDA device (device type 2)" : "CPU memory (device type 1)",
                tensor.device_type);
  // Kernels read 16 bytes at a time.
  uintptr_t address = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  if (onDevice && address % 16 != 0)
    return fail(error, GNNC_INVALID_ARGUMENT, "%s '%s': expected an address that 16 divides, found %p",
                kindName(record), name, reinterpret_cast<void *>(address));
  return GNNC_OK;
}

gnnc_status TensorCheck::check(const gnnc_tensor &tensor) {
  if (gnnc_status status = checkShape(tensor))
    return status;
  if (gnnc_status status = checkType(tensor))
    return status;
  if (gnnc_status status = checkPlace(tensor))
    return status;
  if (gnnc_status status = checkStrides(tensor))
    return status;
  if (!tensor.data && buffer.bytes > 0)
    return fail(error, GNNC_INVALID_ARGUMENT, "%s '%s': expected %lld bytes of data, found a null pointer",
                kindName(record), name, static_cast<long long>(buffer.bytes));
  return GNNC_OK;
}

gnnc_status reportMissing(const gnnc_graph &graph, int64_t buffer, gnnc_error *error) {
  return TensorCheck(graph, buffer, error).missing();
}

/// Whether the model knows `name` in some program: then it may be bound in every one.
static bool isKnown(const Model &model, const char *name, bool (*wanted)(const BufferRec &record)) {
  for (int64_t i = 0; i < model.header().numBuffers; ++i)
    if (wanted(model.buffer(i)) && strcmp(model.name(model.buffer(i).name), name) == 0)
      return true;
  return false;
}

/// Binds a list to the program's buffers that `wanted` admits. Bindings mostly come in the order of the description, so
/// the search for a name starts after the last one found.
static gnnc_status bindList(const Call &call, const gnnc_binding *list, int32_t count, const char *what,
                            bool (*wanted)(const BufferRec &record)) {
  const Model &model = call.graph.model;
  const int64_t *buffers = model.list(call.program.buffersAt);
  int64_t numBuffers = call.program.numBuffers, start = 0;
  if (count < 0 || (count > 0 && !list))
    return fail(call.error, GNNC_INVALID_ARGUMENT, "num_%ss is %d%s", what, count,
                list ? "" : ", but the list is null");
  for (int32_t i = 0; i < count; ++i) {
    if (!list[i].name)
      return fail(call.error, GNNC_INVALID_ARGUMENT, "%s %d has no name", what, i);
    int64_t found = -1;
    for (int64_t k = 0; k < numBuffers && found < 0; ++k) {
      int64_t place = start + k < numBuffers ? start + k : start + k - numBuffers;
      const BufferRec &record = model.buffer(buffers[place]);
      if (wanted(record) && strcmp(model.name(record.name), list[i].name) == 0)
        found = place;
    }
    if (found < 0) {
      if (isKnown(model, list[i].name, wanted))
        continue;
      Text names;
      for (int64_t k = 0; k < numBuffers; ++k)
        if (wanted(model.buffer(buffers[k])))
          names.add("%s%s", names.empty() ? "" : ", ", model.name(model.buffer(buffers[k]).name));
      return fail(call.error, GNNC_INVALID_ARGUMENT, "unknown %s '%.80s': expected one of %s", what, list[i].name,
                  names.c_str());
    }
    start = found + 1;
    int64_t number = buffers[found];
    if (call.pointer(number) != unbound)
      return fail(call.error, GNNC_INVALID_ARGUMENT, "%s '%.80s' is given twice", what, list[i].name);
    const gnnc_tensor &tensor = list[i].tensor;
    if (gnnc_status status = TensorCheck(call.graph, number, call.error).check(tensor))
      return status;
    call.pointer(number) = tensor.data ? static_cast<char *>(tensor.data) + tensor.byte_offset : nullptr;
  }
  return GNNC_OK;
}

/// What is written must not overlap anything but what it replaces: it is written while other things are still read.
static gnnc_status checkOverlap(const Call &call) {
  const gnnc_graph &graph = call.graph;
  const Model &model = graph.model;
  const int64_t *buffers = model.list(call.program.buffersAt);
  for (int64_t a = 0; a < call.program.numBuffers; ++a) {
    int64_t i = buffers[a];
    const BufferRec &record = model.buffer(i);
    if (record.kind > BufferKind::Output)
      continue;
    const char *name = model.name(record.name);
    if (overlap(call.pointer(i), graph.buffers[i].bytes, call.workspace, call.function().workspaceBytes))
      return fail(call.error, GNNC_INVALID_ARGUMENT, "%s '%s' overlaps the workspace in memory", kindName(record),
                  name);
    if (record.kind != BufferKind::Output)
      continue;
    for (int64_t b = 0; b < call.program.numBuffers; ++b) {
      int64_t j = buffers[b];
      const BufferRec &other = model.buffer(j);
      if (j == i || other.kind > BufferKind::Output || j == record.replaces)
        continue;
      if (overlap(call.pointer(i), graph.buffers[i].bytes, call.pointer(j), graph.buffers[j].bytes))
        return fail(call.error, GNNC_INVALID_ARGUMENT, "%s '%s' overlaps %s '%s' in memory",
                    record.replaces >= 0 ? kindName(model.buffer(record.replaces)) : "output", name, kindName(other),
                    model.name(other.name));
    }
  }
  return GNNC_OK;
}

/// The object's own values are for reading.
static bool isUpdated(const Call &call, int64_t number) {
  const int64_t *buffers = call.graph.model.list(call.program.buffersAt);
  for (int64_t i = 0; i < call.program.numBuffers; ++i)
    if (call.graph.model.buffer(buffers[i]).replaces == number)
      return true;
  return false;
}

void *valuesOf(const gnnc_graph &graph, const BufferRec &record) {
  int64_t at = graph.model.value(record.values).valuesAt;
  return graph.device ? reinterpret_cast<char *>(graph.device->device.values()) + at
                      : const_cast<char *>(graph.model.values + at);
}

gnnc_status bindBuffers(const Call &call) {
  const gnnc_graph &graph = call.graph;
  const Model &model = graph.model;
  const int64_t *buffers = model.list(call.program.buffersAt);
  for (int64_t i = 0; i < call.program.numBuffers; ++i)
    call.pointer(buffers[i]) = unbound;
  if (gnnc_status status = bindList(call, call.inputs, call.numInputs, "input", isInput))
    return status;
  if (gnnc_status status = bindList(call, call.outputs, call.numOutputs, "output", isOutput))
    return status;
  for (int64_t i = 0; i < call.program.numBuffers; ++i) {
    int64_t number = buffers[i];
    const BufferRec &record = model.buffer(number);
    void *&pointer = call.pointer(number);
    if (record.kind == BufferKind::Arena)
      pointer = call.workspace + call.function().arenaAt + graph.buffers[number].offset;
    else if (record.kind == BufferKind::Constant)
      pointer = const_cast<char *>(model.constants + record.constantAt);
    else if (pointer == unbound && record.optional)
      pointer = graph.device ? reinterpret_cast<void *>(graph.device->fills[number])
                             : const_cast<void *>(graph.buffers[number].fill);
    else if (pointer == unbound && record.values >= 0 && !isUpdated(call, number))
      pointer = valuesOf(graph, record);
    else if (pointer == unbound && record.replaces < 0)
      return reportMissing(graph, number, call.error);
  }
  for (int64_t i = 0; i < call.program.numBuffers; ++i)
    if (int64_t replaced = model.buffer(buffers[i]).replaces; replaced >= 0)
      call.pointer(buffers[i]) = call.pointer(replaced);
  return checkOverlap(call);
}

} // namespace gnnc::runtime
