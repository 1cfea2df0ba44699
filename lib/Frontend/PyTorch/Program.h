//===- Program.h - A recovered model, before it becomes text ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the importer makes of an exported program: operations on values that reside on spaces, with feature axes that
// are variables. Two axes that some operation aligns are made one, unless a value has both; then one is renamed. So
// names are chosen at the end, once for everything that is the same axis.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_PROGRAM_H
#define GNNC_LIB_FRONTEND_PYTORCH_PROGRAM_H

#include "PyTorch/ExportedProgram.h"
#include "PyTorch/IndexExpr.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gnnc::frontend::pytorch {

/// Why a program cannot be imported. Thrown within the importer, and caught where it is entered.
struct Refusal {
  std::string reason;
};

/// How a space is derived from others; see ModelSpec.h.
struct SpaceForm {
  enum class Kind { Given, Filter, Union, Selection, Pairs };
  Kind kind = Kind::Given;
  int base = -1, left = -1, right = -1; ///< Filter: a space and two maps; Pairs: two maps (-1: of all elements)
  bool equal = false;
  std::vector<int> parts; ///< Union; Pairs: both sides
};

/// One part of a derived map: a map, a space (the identity or an inclusion), or nothing.
struct MapPart {
  enum class Kind { Map, Space, None };
  Kind kind = Kind::None;
  int id = -1;
};

/// How a map is derived from others.
/// Through: one map after the other. Owner, Chosen: of a selection. Owner, Partner: of pairs.
struct MapForm {
  enum class Kind { Given, Paths, Last, Through, Owner, Chosen, Partner };
  Kind kind = Kind::Given;
  std::vector<MapPart> parts; ///< Paths: of a union, one for each of its parts; Last: the map
  int of = -1;                ///< Last: the space of the elements
};

struct RecoveredSpace {
  std::string key;     ///< its extent as an expression over the program's symbols
  SymbolicExpr size;   ///< the same
  std::string name;    ///< a suggestion
  std::string source;  ///< what gives the extent; see GraphSource.h
  int64_t extent = -1; ///< of a static space
  SpaceForm form;
  int choice = -1;                 ///< Selection: the operation that chooses its elements
  std::vector<int> sides;          ///< Pairs: the spaces that their elements are of
  int along = -1, otherAlong = -1; ///< Pairs: the maps that send both sides to the same place; -1: all pairs
};

struct RecoveredMap {
  int from = -1, to = -1;
  bool partial = false;
  std::string source, name;
  Index index; ///< what `source` is the text of
  MapForm form;
};

enum class Op {
  Input,   ///< `text`: its name; `source`: what it is computed from
  Param,   ///< `text`: the full name of a parameter
  State,   ///< the same of a buffer
  Number,  ///< `number`
  Unary,   ///< `text`: the language's function; `number`: slope or alpha
  Binary,  ///< `text`: an operator or a function of two values
  Where,   ///< condition, then, else
  Dot,     ///< over `used`
  Reduce,  ///< `text` along `map` (-1: all)
  Softmax, ///< `text` along `map`
  Over,    ///< `text` over `used`
  Move,    ///< along `map`; `number`: fill
  Concat,  ///< along axes.back()
  Slice,   ///< used[0] from `begin` to `end`
  Pick,    ///< element `begin` of used[0]
  Rename,  ///< used[i] becomes into[i]
  Merge,   ///< `used` become into[0]; of none, a last axis of size 1
  Split,   ///< used[0] becomes `into`
  Permute, ///< to `axes`
  Detach,
  OneHot, ///< of `map`, to a static space; the axis is axes[0]
  Spread, ///< used[0] becomes the elements of `space`
  Choice, ///< the elements of `space`; `text` says how they are chosen:
          ///< knn: `end` rows of operands[0] that are nearest to each of operands[1], which belong where `map` and
          ///< `otherMap` lead (-1: all together); `begin`: none for itself
          ///< radius: the same for those nearer than `number`, `end` of them at most
          ///< topk: `end` (or, if `number` is not 0, that part) of those with the largest operands[0], for each element
          ///< that `map` leads to (-1: of all)
          ///< fps: as many of those whose rows of operands[0] are far from each other
          ///< filter: those on which operands[0] is not 0
};

struct Operation {
  Op op = Op::Number;
  std::string text, source;
  std::vector<int> operands;
  int map = -1, otherMap = -1;
  double number = 0;
  std::vector<int> used, into;
  int64_t begin = 0, end = 0;
  int space = -1;        ///< -1: shared
  std::vector<int> axes; ///< variables, in the order that the language gives them
  const Node *node = nullptr;
};

/// Whether a choice is of members of each element that its map leads to.
inline bool isOfMembers(const Operation &choice) { return choice.text == "topk" || choice.text == "fps"; }

class RecoveredProgram {
public:
  std::vector<RecoveredSpace> spaces;
  std::vector<RecoveredMap> maps;
  std::vector<Operation> operations;
  struct Output {
    std::string name;
    int value;
  };
  std::vector<Output> outputs;
  /// Tensors that the program has itself, such as those of linspace: states of the text, by name.
  struct Constant {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<double> numbers;
  };
  std::vector<Constant> constants;
  /// Integers that the program has itself, by the names that sources have for them.
  struct StoredIntegers {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<int64_t> numbers;
  };
  std::vector<StoredIntegers> integers;
  /// Inputs and outputs whose several axes of elements are one in the text: `input 'x' (2 axes)`.
  std::vector<std::string> joined;
  std::string fixedSizes; ///< where all sizes are fixed: a sentence that says so

  int newAxis(int64_t size, const std::string &hint = "");
  int axis(int variable) const;
  int64_t sizeOf(int variable) const { return axes[axis(variable)].size; }
  const std::string &hintOf(int variable) const { return axes[axis(variable)].hint; }
  int axisCount() const { return int(axes.size()); }
  /// Makes two axes one; false where some value has both.
  bool unify(int a, int b);
  std::vector<int> axesOf(int value) const;
  bool hasAxis(int value, int variable) const;

  int add(Operation operation);
  int number(double value);
  int unary(const std::string &function, int x, double number = 0);
  int binary(const std::string &function, int a, int b);
  int where(int condition, int a, int b);
  int dot(int a, int b, const std::vector<int> &over);
  int reduce(const std::string &function, int x, int map);
  int softmax(const std::string &function, int x, int map);
  int over(const std::string &function, int x, const std::vector<int> &axes);
  int move(int x, int map, double fill = 0);
  /// New names for some axes. Others that are in the way get new ones.
  int rename(int x, std::vector<std::pair<int, int>> pairs);
  int merge(int x, const std::vector<int> &axes, int into);
  int split(int x, int axis, const std::vector<int> &into);
  int pick(int x, int axis, int64_t element);
  int slice(int x, int axis, int64_t begin, int64_t end, int into);
  int permute(int x, const std::vector<int> &order);
  /// Joins the given axis of each operand; it is moved to the end first.
  int concat(const std::vector<int> &operands, const std::vector<int> &joined, int into);
  int detach(int x);
  int oneHot(int map, int axis);
  int spread(int x, int axis, int space);
  /// The same, of parameters rather than of what is computed from them: elements are computed as elements.
  int spreadEarly(int x, int axis, int space);
  /// Spaces, maps and axes stay.
  void forgetOperations() {
    operations.clear();
    known.clear();
  }

  const Node *node = nullptr; ///< that operations added now belong to

private:
  struct Axis {
    int parent;
    int64_t size;
    std::string hint;
  };
  std::vector<int> alignedAxes(const std::vector<int> &values) const;
  int spaceOf(const std::vector<int> &values) const;
  std::vector<Axis> axes;
  std::map<std::string, int> known; ///< operations that need not be done again
};

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_PROGRAM_H
