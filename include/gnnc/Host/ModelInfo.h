//===- ModelInfo.h - What a compiled model says of itself -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The description that every compiled model carries, as plain structs. Unknown members are skipped, so that a model
// with a newer description of the same ABI version still loads.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_MODELINFO_H
#define GNNC_HOST_MODELINFO_H

#include "gnnc/Support/Safetensors.h"
#include "gnnc/Support/SymbolicExpr.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gnnc {

/// Spaces and maps that come with a graph have kind "root"; the extent of a space of kind "static" is compiled in.
struct SpaceInfo {
  std::string name, kind;
  std::optional<int64_t> extent;
  std::string source; ///< what gives the extent; see GraphSource.h
};

struct MapInfo {
  std::string name, from, to, kind;
  std::string source; ///< what gives the targets; see GraphSource.h
};

/// An input, parameter, state or output. Its shape is the extent of `space`, if it is on one, followed by `dims`.
struct TensorInfo {
  std::string name;
  std::optional<std::string> space; ///< none: shared
  std::vector<int64_t> dims;
  std::vector<std::string> axes; ///< names, parallel to `dims`
  bool optional = false;         ///< absent means `fill` everywhere
  double fill = 0;
  bool gradient = false; ///< an input that is the gradient of an output
  bool embedded = false; ///< a parameter or state that the object has values for
  std::string source;    ///< an input computed from the graph's integers; see GraphSource.h
  bool numbers = false;  ///< an input: the elements' numbers in the whole graph, as integers of the type's width
  std::string haloOf;    ///< an input: the rows of this other one that other ranks have
  ElementType type = ElementType::F32;
};

/// An input declared `sparse`: the names of its space of entries, of its two maps and of its values; empty for what the
/// model does not use.
struct SparseInfo {
  std::string name, entries, row, column, value;
};

/// A schedule of a sweep on a GPU: `lanes` lanes share the features of a row, `groups` such lane groups share the
/// members of an owner, and each lane group loads `flight` members before it uses the first. It is meant for owners of
/// at least `least` members.
struct ScheduleInfo {
  std::string kernel;
  int64_t lanes = 0, groups = 0, flight = 0, threads = 0, least = 0;
};

/// One kernel: a sweep, a matrix product or an outer sum. Kernels are listed in the order in which they run.
struct KernelInfo {
  std::string name, function, kind;      ///< "sweep", "product", "outer_sum", "transfer", "await" or "all_reduce"
  std::string half = "forward";          ///< "backward": only gradients and updates need it
  std::optional<int64_t> launches;       ///< on a GPU; none where the model has no code for one
  std::optional<std::string> map, space; ///< the map a sweep goes along, or the space whose rows are worked on
  std::string awaits;                    ///< of an await, the name of its transfer, which began earlier
  int64_t k = 0, n = 0;                  ///< a product's inner and outer size
  int64_t operations = 0;                ///< in a sweep's body
  std::vector<ScheduleInfo> schedules;   ///< of a sweep on a GPU, for the largest owners first
  SymbolicExpr flops, read, written;     ///< what it costs on a graph: operations, and bytes
};

/// One line of the memory plan. `kind`: "input", "param", "state", "output", "arena" or "constant"; a value in the
/// arena lives from step `first` to step `last`.
struct BufferInfo {
  std::string name, function, kind;
  std::optional<std::string> space;
  int64_t rowElements = 0;
  std::optional<int64_t> first, last;
  bool saved = false; ///< made by the forward half of its program and read by the backward half
  ElementType type = ElementType::F32;
};

/// A program of a model. `inputs`: the inputs, parameters and states it needs or updates; `needs`: the root spaces and
/// maps.
struct ProgramInfo {
  std::string name;
  std::vector<std::string> inputs, needs, updates;
  std::vector<TensorInfo> outputs;
};

/// A function that replaces another one on graphs where it costs less than `percent` hundredths of it.
struct AlternativeInfo {
  std::string function, insteadOf;
  SymbolicExpr cost, insteadCost;
  int64_t percent = 100;
};

/// Of a model that was compiled for ranks: the map that each space of a graph goes along.
struct DistributedInfo {
  std::map<std::string, std::string> along;
};

/// What the compiler declares for a space of which elements of other ranks are read.
enum class HaloRole {
  None,
  Halo, ///< space S.halo: those elements
  Send, ///< space S.send: those that others read
  Sent, ///< map S.sent: from S.send to S
  All,  ///< space S.all: own elements and the halo
};

/// Integers that a graph's data are computed from and that the object has itself.
struct IntegersInfo {
  std::string name;
  std::vector<int64_t> shape, numbers;
};

/// A way to compile the model, and what its dearest program takes for the sizes that it was compiled for.
struct TriedPlan {
  int64_t segments = 1; ///< of the forward half, of which all but the last are computed again
  double bytes = 0;     ///< of parameters, inputs, outputs and intermediate values together
  double moved = 0;     ///< bytes that kernels read and write
  double flops = 0;
  bool chosen = false;
};

struct ModelInfo {
  std::string name;
  int64_t abi = 0;
  ElementType type = ElementType::F32; ///< the type of computation; tensors may be stored as another
  bool exported = false;               ///< goes by the names of a program of another framework
  std::string storage;                 ///< "bf16" or "f16" where rows of spaces are stored as such; else empty
  std::optional<DistributedInfo> distributed;
  std::vector<SpaceInfo> spaces;
  std::vector<MapInfo> maps;
  std::vector<TensorInfo> inputs, params, states, outputs;
  std::vector<std::string> unusedParams; ///< declared ones that no program needs; not among `params`
  std::vector<SparseInfo> sparseInputs;
  std::vector<KernelInfo> kernels;
  std::vector<BufferInfo> buffers;
  std::vector<ProgramInfo> programs;
  std::vector<AlternativeInfo> alternatives;
  std::vector<IntegersInfo> integers;
  std::map<std::string, std::string> metadata; ///< what `gnnc compile --metadata` gave it, by name
  std::vector<TriedPlan> plans;                ///< that `gnnc compile --memory-limit` chose from

  /// The function that runs as `function` on a graph; `extent` gives the extents of its spaces.
  std::string chooseFunction(llvm::StringRef function,
                             llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> extent) const;
  /// Reads a description; errors call it `what`.
  static llvm::Expected<ModelInfo> parse(llvm::StringRef text, llvm::StringRef what);

  const SpaceInfo *findSpace(llvm::StringRef name) const;
  const MapInfo *findMap(llvm::StringRef name) const;
  const ProgramInfo *findProgram(llvm::StringRef name) const;
  /// Whether elements of other ranks are read of a space.
  bool hasHalo(llvm::StringRef space) const;
  /// What a space or map is, and of which space.
  std::pair<llvm::StringRef, HaloRole> haloRole(llvm::StringRef name) const;
};

} // namespace gnnc

#endif // GNNC_HOST_MODELINFO_H
