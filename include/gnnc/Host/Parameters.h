//===- Parameters.h - Parameters from files or at random --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters and states come from a safetensors file: under their own names, or through a map that says where each one
// comes from, so that another framework's state dict is used as it is. The map is one JSON object:
//
//   {
//     "c1.W":     {"from": "c1.lin.weight", "steps": [{"transpose": true}]},
//     "c1.a_src": "c1.att_src",
//     "c1.b":     0,
//     "h.K":      {"from": ["h.k.paper", "h.k.author"], "steps": [{"transpose": true}], "stack": true},
//     "ignore":   ["logits", "*.num_batches_tracked"]
//   }
//
// A parameter's entry is the name of a tensor, a number (filled with it), or an object with "from"    the name of a
// tensor, or a list of names; "steps"   done in order to each tensor: {"reshape": [sizes]}   a size is a number, -1
// (what is left), or the product of the parameter's axes in a string, "heads*out" {"transpose": true}    the last two
// axes swapped; or a permutation of all axes: [1, 0, 2] {"slice": [axis, begin, end]} {"index": [axis, i]}   drops the
// axis "stack"   true: the tensors of a list become a new first axis; "concat": axis: they are joined along it. After
// the steps, axes of size 1 may be added or dropped, and one axis may be split into several or several merged into one;
// any other change of shape must be a step. Names in "ignore" may end or start with `*`.
//
// A tensor of the file that is neither used nor ignored is an error, because it is usually a mistake.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_PARAMETERS_H
#define GNNC_HOST_PARAMETERS_H

#include "gnnc/Host/HostTensor.h"
#include "gnnc/Host/ModelInfo.h"

#include <functional>
#include <memory>

namespace gnnc {

class ModelFile;

/// Extent of a space by name; nothing where it is not known.
using ExtentLookup = std::function<std::optional<int64_t>(llvm::StringRef)>;

/// A parsed map.
class ParamsMap {
public:
  static llvm::Expected<ParamsMap> open(llvm::StringRef path);
  /// Errors call the map `name`.
  static llvm::Expected<ParamsMap> parse(llvm::StringRef text, llvm::StringRef name);
  ParamsMap(ParamsMap &&) noexcept;
  ParamsMap &operator=(ParamsMap &&) noexcept;
  ~ParamsMap();

  struct Data;
  const Data &data() const { return *contents; }

private:
  ParamsMap(std::unique_ptr<Data> data);
  std::unique_ptr<Data> contents;
};

/// Parameters and states of a model, each in its own type. Those that the object has values for may be left out: a run
/// then takes these.
class Parameters {
public:
  /// Reads the parameters from `file`, through `map` unless that is null; with `program`, only those that the program
  /// needs. The file may also have those that other programs need, and need not have embedded ones.
  static llvm::Expected<Parameters> load(const ModelInfo &model, const ExtentLookup &extents,
                                         const SafetensorsFile &file, const ParamsMap *map,
                                         const ProgramInfo *program = nullptr);

  /// Numbers for trying a model out: a parameter of two or more axes is uniform in ±sqrt(6 / (first + product of the
  /// others)) (Glorot's rule), one of one axis in ±1/sqrt(size), a single number in ±1; states have their fill value.
  /// The numbers depend on `seed`, the parameter's name and the position alone. Embedded ones are left out.
  static llvm::Expected<Parameters> random(const ModelInfo &model, const ExtentLookup &extents, uint64_t seed);

  /// Adds copies of embedded ones that are not in the list: those of `names`, or all. A program that updates them
  /// writes to the copies.
  llvm::Error addEmbedded(const ModelFile &model, std::optional<llvm::ArrayRef<std::string>> names = std::nullopt);

  /// What `change` makes of a tensor takes its place, if there is one of that name.
  llvm::Error replace(llvm::StringRef name, llvm::function_ref<llvm::Expected<HostTensor>(const HostTensor &)> change);

  llvm::ArrayRef<HostTensor> tensors() const { return list; }
  /// For Session::run; valid while this object lives.
  std::vector<gnnc_binding> bindings() const;

private:
  std::vector<HostTensor> list;
};

/// The full shape of an input, parameter, state or output; an error if the extent of its space is not known.
llvm::Expected<std::vector<int64_t>> shapeOf(const TensorInfo &tensor, const ExtentLookup &extents);

} // namespace gnnc

#endif // GNNC_HOST_PARAMETERS_H
