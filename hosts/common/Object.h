//===- Object.h - The object of a force field -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads model.so, reads what it says of itself, and has its memory. Functions throw std::runtime_error with one line.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_OBJECT_H
#define GNNC_HOSTS_OBJECT_H

#include "ForceField.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gnnc::hosts {

/// An input or output.
struct Value {
  std::string name, space; ///< no space: of the whole graph
  std::string source;      ///< of an input that is computed from lists of the graph
  std::vector<int64_t> dims;
  bool isDouble = false;

  int64_t rowNumbers() const {
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    return count;
  }
  size_t bytes() const { return isDouble ? sizeof(double) : sizeof(float); }
};

struct Space {
  enum class Role { Given, Halo, Send };
  std::string name, source;
  Role role = Role::Given;
};

struct Map {
  std::string name, source;
};

/// The metadata `force_field`.
struct Roles {
  std::map<std::string, std::string> arguments; ///< of each argument of the model, what it is for
  double cutoff = 0;
  bool ignoresLongerPairs = false, energies = false, virial = false, pairForces = false;
  std::vector<int> elements; ///< atomic numbers, by type

  /// What an input is for; empty: nothing that is known.
  std::string of(const Value &input) const;
  /// A source with arguments called as what they are for: `edge_index[0]`.
  std::string generic(const std::string &source) const;
};

/// Lists of a graph, by the name of a map or by what it is computed from.
struct GraphData {
  std::map<std::string, std::vector<int64_t>> lists;
};

class Object;

/// Memory of the object's device, released with this.
class Memory {
public:
  Memory() = default;
  Memory(const Object &object, size_t bytes);
  Memory(Memory &&other) noexcept { *this = std::move(other); }
  Memory &operator=(Memory &&other) noexcept;
  ~Memory();
  void *data() const { return memory; }
  size_t bytes() const { return size; }

private:
  const Object *object = nullptr;
  void *memory = nullptr;
  size_t size = 0;
};

class Object {
public:
  Object(const std::string &path, const std::string &device, int threads);
  ~Object();
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  const gnnc_api &api() const { return *functions; }
  gnnc_context *context() const { return opened; }
  void *stream() const { return queue; }
  const Roles &roles() const { return known; }
  const std::vector<Space> &spaces() const { return rootSpaces; } ///< whose extents are to be given
  const std::vector<Map> &maps() const { return rootMaps; }
  const std::vector<Value> &inputs() const { return givenInputs; }
  const Value &output(const std::string &name) const;
  bool isDistributed() const { return distributed; }
  bool overlaps() const { return transfersMeanwhile; }
  bool takesCapacities() const { return !distributed; }

  bool isOfPairs(const Space &space) const;
  bool isOfPairs(const std::string &space) const;
  int64_t extentOf(const Space &space, const Pairs &pairs) const;
  GraphData graphData(const Pairs &pairs) const;
  /// Of an input that is not positions, shifts or pairs: numbers of elements as floating-point numbers.
  std::vector<double> numbersOf(const Value &input, const Pairs &pairs) const;

  Memory allocate(size_t bytes) const { return Memory(*this, bytes); }
  void copyTo(const Memory &to, const void *from, size_t bytes) const;
  /// Waits.
  void copyFrom(const Memory &from, void *to, size_t bytes) const;
  void check(gnnc_status status, const gnnc_error &error) const;

private:
  void describe();
  std::vector<int64_t> types(const Pairs &pairs) const;

  std::string path;
  void *library = nullptr;
  const gnnc_api *functions = nullptr;
  gnnc_context *opened = nullptr;
  void *queue = nullptr;
  int32_t deviceType = 1;
  Roles known;
  std::vector<Space> rootSpaces;
  std::vector<Map> rootMaps;
  std::vector<Value> givenInputs;
  std::map<std::string, Value> outputs;
  std::map<std::string, bool> spaceOfPairs; ///< by name
  bool distributed = false, transfersMeanwhile = false;
};

} // namespace gnnc::hosts

#endif // GNNC_HOSTS_OBJECT_H
