//===- Signature.h - What a server gives a model and gets from it -*- C++ -*-=//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From an object's description of itself: the tensors of a request, those of a response, and whether several graphs
// can be one call. Shared by the backend and `gnnc inspect --triton`, so nlohmann/json is all it needs. Functions throw
// std::runtime_error with one line.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_SIGNATURE_H
#define GNNC_HOSTS_TRITON_SIGNATURE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gnnc::triton {

/// A set of elements whose number comes with a graph.
struct Space {
  std::string name;
  std::string source; ///< of an exported model: what gives the extent (Source.h)
};

/// The space that something is on, or leads to.
struct Place {
  std::string name;           ///< empty: the whole graph
  std::optional<size_t> root; ///< of Signature::spaces()
  int64_t extent = -1;        ///< of a static space

  bool isWhole() const { return name.empty(); }
  bool isStatic() const { return extent >= 0; }
  bool isDerived() const { return !isWhole() && !root && !isStatic(); }
};

/// A map that comes with a graph and that `forward` needs.
struct Map {
  std::string name;
  std::string source;
  Place from, to;
  bool partial = false; ///< -1 is an index too
};

/// An input or output. Its shape is the extent of its place, if it is on a space, followed by `dims`.
struct Value {
  std::string name;
  std::string dtype;  ///< f32, f64, bf16 or f16
  std::string source; ///< of an input that is computed from integers of the request
  Place place;
  std::vector<int64_t> dims;
  bool optional = false;

  size_t rowBytes() const;
};

/// A tensor of a request.
struct Argument {
  enum class Kind {
    Value,    ///< numbers of inputs()[index]
    Map,      ///< targets of maps()[index]
    Pair,     ///< [2, E]: targets of maps()[index], if there is one, and of maps()[second]
    Count,    ///< [1]: elements of spaces()[index]
    Integers, ///< that sources of an exported model read
  };
  Kind kind = Kind::Value;
  std::string name;
  std::string dtype;         ///< of values as there; i64, in whose place i32 will do, of everything else
  std::vector<int64_t> dims; ///< -1: any
  std::optional<size_t> index, second;
  bool optional = false;
  bool isListed = true; ///< false: another way to give what a listed one gives
};

class Signature {
public:
  /// Reads a description. Throws if a server cannot run the model.
  explicit Signature(const std::string &description);

  const std::string &model() const { return name; }
  bool isExported() const { return exported; }
  const std::vector<Space> &spaces() const { return rootSpaces; }
  const std::vector<Map> &maps() const { return rootMaps; }
  const std::vector<Value> &inputs() const { return forwardInputs; }
  const std::vector<Value> &outputs() const { return forwardOutputs; }
  const std::vector<Argument> &arguments() const { return known; }
  const Argument *find(const std::string &argument) const;

  /// Integers that sources read of the object itself.
  struct OwnIntegers {
    std::string name;
    std::vector<int64_t> shape, numbers;
  };
  const std::vector<OwnIntegers> &integers() const { return ownIntegers; }

  /// Why several graphs cannot be one call, as far as the description shows it; empty: they can. A trial (Trial.h) sees
  /// what it does not show, such as a division by the number of all nodes.
  const std::string &whyAlone() const { return alone; }
  bool hasDeviceCode() const { return deviceCode; }

private:
  void addArguments();
  void addExportedArguments();

  std::string name;
  bool exported = false, deviceCode = false;
  std::vector<Space> rootSpaces;
  std::vector<Map> rootMaps;
  std::vector<Value> forwardInputs, forwardOutputs;
  std::vector<Argument> known;
  std::vector<OwnIntegers> ownIntegers;
  std::string alone;
};

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_SIGNATURE_H
