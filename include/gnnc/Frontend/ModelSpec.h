//===- ModelSpec.h - A checked message-passing program ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plain data that both front ends (the .gnn text and its JSON form) produce and that the importer turns into
// `mpdfg`. Everything in it has been checked: residencies agree, axes align, sizes are known. Layers are inlined.
//
// Vocabulary: a *space* is a set of elements (nodes, edges, relations, ...); a *map* sends each element of one space
// to an element of another; a *value* has one row of named axes for each element of the space it resides on. A value
// that resides on no space is *shared*.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_FRONTEND_MODELSPEC_H
#define GNNC_FRONTEND_MODELSPEC_H

#include <cstdint>
#include <string>
#include <vector>

namespace gnnc::frontend {

/// A place in a source text. `file` indexes ModelSpec::files; line and column count from 1; 0 means unknown.
struct Loc {
  unsigned file = 0;
  unsigned line = 0;
  unsigned column = 0;
  unsigned length = 1;
};

/// A named feature axis of known size.
struct Axis {
  std::string name;
  int64_t size = 0;
  bool operator==(const Axis &other) const { return name == other.name && size == other.size; }
};

/// Index of a space, map or value in its ModelSpec; -1 where there is none (shared, identity, undefined).
using Id = int;
constexpr Id kNone = -1;
/// As `SpecOp::map` of a reduction: along `all`, from any space to shared.
constexpr Id kAll = -2;
/// As a part of a `Parts` map: the map is undefined on that whole part.
constexpr Id kUndefined = -3;

/// A set of elements. Root spaces take their extent from the graph; static ones have it fixed at compile time; the
/// others are derived from maps when a graph is prepared.
struct Space {
  enum class Kind {
    Root,      ///< extent given with the graph
    Static,    ///< extent known at compile time (`extent`), checked when a graph is prepared
    Filter,    ///< the elements i of `base` with maps[0](i) == maps[1](i) (or != where `equal` is false), in order
    Union,     ///< the disjoint union of `parts`, in order
    Distinct,  ///< the distinct tuples (maps[0](i), maps[1](i), ...) over i in `base`, in lexicographic order
    Selection, ///< for each element of `base`, `most` elements of `of` (or all there are) that a value chooses
    Kept,      ///< the elements of `base` on which a value is not zero, in order
    Pairs,     ///< the pairs (i, j) of `base` and `of` with maps[0](i) == maps[1](j), in lexicographic order
  };
  std::string name;
  Kind kind = Kind::Root;
  int64_t extent = -1;
  Id base = kNone;
  std::vector<Id> maps;
  bool equal = false;
  std::vector<Id> parts;
  // Selection: `maps` are none, or two, from `base` and from `of`, and only what they send to one element is chosen for
  // one another. With `others`, `base` is `of`, and no element is chosen for itself.
  // Of n elements that may be chosen no more than ceil(ratio * n) are, the product rounded to the model's precision.
  // How many an `open` one has is chosen with them: no more than that.
  Id of = kNone;
  int64_t most = 0;
  bool others = false;
  double ratio = 0; ///< 0: none
  bool open = false;
  std::string source; ///< Root: what gives the extent, as in `space node from size(x, 0)`; empty: the caller
  Loc loc;
};

/// A function from the elements of one space to those of another; a partial one is undefined (-1) on some.
struct Map {
  enum class Kind {
    Root,       ///< given with the graph
    Inclusion,  ///< Filter or Kept space -> its base
    Part,       ///< Union space -> its part number `part`; partial
    Parts,      ///< Union space -> `to`: parts[p] is a map from part p to `to`, kNone for identity, or kUndefined
    Projection, ///< Distinct space -> codomain of its maps[part]
    Class,      ///< base of a Distinct space -> that space
    Last,       ///< codomain of parts[0] -> domain of parts[0]: the last element mapped there; partial
    Compose,    ///< first parts[0], then parts[1]; undefined where either is
    Owner,      ///< Selection -> its base: the element that it was chosen for; Pairs -> its base
    Chosen,     ///< Selection -> its `of`: the element that was chosen, known where a value such as Nearest chooses
    Partner,    ///< Pairs -> its `of`
    Only,       ///< to the one element of a static space of extent 1
  };
  std::string name;
  Kind kind = Kind::Root;
  Id from = kNone;
  Id to = kNone;
  bool partial = false;
  int part = 0;
  std::vector<Id> parts;
  std::string source; ///< Root: what gives the targets, as in `map src: edge -> node from edge_index[0]`; or empty
  Loc loc;
};

/// What a value is computed by.
enum class OpCode {
  Input,    ///< given at each run
  Param,    ///< learnt; given at each run
  State,    ///< updated by training without a gradient (running statistics); given at each run
  Constant, ///< `number`, shared, no axes
  Unary,    ///< `name`: relu neg exp ... ; `number` holds a slope or alpha where the function has one
  Binary,   ///< `name`: add sub mul div pow maximum minimum lt le gt ge eq ne; aligned by axis name
  Select,   ///< operands c, a, b: a where c != 0, else b
  Contract, ///< sum over `axes` of operand 0 times operand 1; common axes outside `axes` align
  Reduce,   ///< `name`: sum mean max min logsumexp; along `map` (kAll: to shared)
  Norm,     ///< `name`: softmax; along `map`
  Fold,     ///< `name`: sum mean max min; over `axes` of each element
  Move,     ///< broadcast along `map`; `number` is the fill where a partial map is undefined
  Concat,   ///< of all operands, along axes[0] (its name in the result)
  Slice,    ///< [begin, end) of axis axes[0]
  Rename,   ///< the same numbers under the result's axis names
  Merge,    ///< adjacent `axes` become one (row-major); the result names it; of none, a last axis of size 1
  Split,    ///< axes[0] becomes those that the result has in its place: several, or none if its size is 1
  Permute,  ///< the same axes in the result's order
  Degree,   ///< number of members of `map`'s each target element, as a number
  Random,   ///< uniform in [0, 1), at site `site`, by shared numbers operands[0] (seed, of [2]) and operands[1] (step)
  Identity, ///< on the static space `residency`: 1 where the one axis has the element's number, else 0
  Gradient, ///< of the shared number operands[0] by operands[1]; shape and residency of the latter
  Spread,   ///< a shared value whose first axis has the extent of the static space `residency`, as a value on it
  Detach,   ///< identity without a gradient
  // Choices, which say where the Chosen map `map` leads:
  Nearest,  ///< to the rows of operands[0] that are nearest to those of operands[1]
  Within,   ///< to those that are nearer than `number`; and where its space's Owner map leads
  Top,      ///< to the elements with the largest operands[0]
  Farthest, ///< to elements whose rows of operands[0] are far from each other, first where operands[1] is largest, if
            ///< it is there
  Keep,     ///< and where the Inclusion map `map` leads: to elements on which operands[0] is neither 0 nor NaN
};
inline bool isChoice(OpCode op) { return op >= OpCode::Nearest; }

/// One value: how it is computed, where it resides, and its axes. Operands come earlier in ModelSpec::values.
struct Value {
  OpCode op = OpCode::Constant;
  std::string name; ///< function name (Unary, Binary, Reduce, Norm, Fold), or the name of an Input, Param, State
  std::vector<Id> operands;
  Id map = kNone;
  double number = 0;
  std::vector<std::string> axesUsed; ///< the `axes` of the comments above
  int64_t begin = 0, end = 0;        ///< Slice
  int site = 0;                      ///< Random; no two have the same
  bool optional = false;             ///< Input: absent means `number` everywhere
  std::string source;                ///< Input: what gives the numbers; empty: the caller, under the input's name
  Id residency = kNone;              ///< space, or kNone for shared
  std::vector<Axis> axes;            ///< feature axes, outermost first
  Loc loc;
};

/// A sparse input: rows of `row`'s target with entries at `column`. As in scipy's CSR/COO.
struct SparseInput {
  std::string name;   ///< as written in the model: `input x: node[in] sparse`
  Id entries = kNone; ///< the root space of its stored entries, named `<name>.entry`
  Id row = kNone;     ///< root map entries -> the rows' space, named `<name>.row`
  Id column = kNone;  ///< root map entries -> a static space of the axis's size, named `<name>.column`
  Id value = kNone;   ///< the Input value (on `entries`, no axes), named `<name>`; optional, 1 where absent
};

struct Output {
  std::string name;
  Id value = kNone;
};

/// What a program writes to a parameter or state: the id of its value, and of the value that replaces it.
struct Update {
  Id target = kNone;
  Id value = kNone;
};

/// A program that a model has besides computing its outputs. Well-known names: `train_step` (outputs: `loss`),
/// `evaluate` (outputs: the metrics), `initialize` (updates all parameters and states). All updates take place
/// together, after everything else has been computed.
struct Program {
  std::string name;
  std::vector<Output> outputs;
  std::vector<Update> updates;
};

/// A whole model: what it needs from a graph, and what it computes, in order.
struct ModelSpec {
  std::string name;
  bool doublePrecision = false;
  bool exported = false; ///< inputs, outputs and gradients go by the names that a program of another framework has
  std::vector<std::string> files; ///< paths, for Loc::file
  std::vector<Space> spaces;
  std::vector<Map> maps;
  std::vector<Value> values;
  std::vector<SparseInput> sparseInputs;
  std::vector<Output> outputs;           ///< of the program `forward`
  std::vector<Program> programs;         ///< further ones; all share inputs, parameters, states, spaces and maps
  std::vector<std::string> unusedParams; ///< names of declared parameters that no program needs; not among the values
};

} // namespace gnnc::frontend

#endif // GNNC_FRONTEND_MODELSPEC_H
