//===- ModelBuilder.h - The one place where values are checked --*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds a ModelSpec operation by operation. Each method checks its operands and infers the residency and axes of its
// result; if something does not fit, it reports one message and returns nothing. Both front ends, the text and the JSON
// form, use this class, so the rules are written once.
//
// Structurally equal derived spaces and maps are created once, and so are equal constants. A composition is kept as a
// left-nested chain. The map from the base of a distinct space to that space, followed by a projection, is the
// projected map itself.
//
// Axes of results: an elementwise result has the axes of the operand with the most axes (the first of those), followed
// by the missing axes of the others in order. A contraction has the axes of the left operand without the contracted
// ones, followed by the remaining axes of the right operand.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_FRONTEND_MODELBUILDER_H
#define GNNC_FRONTEND_MODELBUILDER_H

#include "gnnc/Frontend/ModelSpec.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gnnc::frontend {

/// An Id, or nothing after an error has been reported.
using MaybeId = std::optional<Id>;

class ModelBuilder {
public:
  using Report = std::function<void(Loc, const std::string &)>;
  explicit ModelBuilder(Report report) : report(std::move(report)) {}

  /// No value may have more elements a row than this.
  static constexpr int64_t maxRowElements = int64_t(1) << 40;
  /// No program may have more operations than this.
  static constexpr size_t maxValues = size_t(1) << 20;

  //===--------------------------------------------------------------------===//
  // Spaces and maps
  //===--------------------------------------------------------------------===//

  /// A root space; the existing one if it has been declared before.
  MaybeId rootSpace(llvm::StringRef name, Loc loc);
  /// A static space; an extent of -1 is to be set later.
  MaybeId staticSpace(llvm::StringRef name, int64_t extent, Loc loc);
  MaybeId setExtent(Id space, int64_t extent, Loc loc);
  /// Where the extent of a root space, the targets of a root map or the numbers of an input come from.
  void setSpaceSource(Id space, std::string source) { model.spaces[space].source = std::move(source); }
  void setMapSource(Id map, std::string source) { model.maps[map].source = std::move(source); }
  void setInputSource(Id input, std::string source) { model.values[input].source = std::move(source); }
  void setExported() { model.exported = true; }
  MaybeId filterSpace(llvm::StringRef name, Id base, Id left, Id right, bool equal, Loc loc);
  MaybeId unionSpace(llvm::StringRef name, llvm::ArrayRef<Id> parts, Loc loc);
  MaybeId distinctSpace(llvm::StringRef name, Id base, llvm::ArrayRef<Id> maps, Loc loc);
  /// A new one at each call: what is chosen is not known by these arguments. `maps` are none or two, where the first
  /// may be kNone for the identity. `limits` has `most`, `others`, `ratio` and `open`.
  MaybeId selectionSpace(llvm::StringRef name, Id base, Id of, llvm::ArrayRef<Id> maps, const Space &limits, Loc loc);
  /// A new one at each call too.
  MaybeId keptSpace(llvm::StringRef name, Id base, Loc loc);
  /// The pairs (i, j) of `base` and `of` with maps[0](i) == maps[1](j).
  MaybeId pairsSpace(llvm::StringRef name, Id base, Id of, llvm::ArrayRef<Id> maps, Loc loc);

  /// A root map; the existing one if it has been declared before.
  MaybeId rootMap(llvm::StringRef name, Id from, Id to, bool partial, Loc loc);
  MaybeId inclusion(Id filter, Loc loc);
  MaybeId part(Id unionSpace, int number, Loc loc);
  /// One entry for each part: a map, kNone for identity or kUndefined.
  MaybeId parts(llvm::StringRef name, Id unionSpace, Id to, llvm::ArrayRef<Id> maps, Loc loc);
  MaybeId projection(Id distinct, int number, Loc loc);
  MaybeId classOf(Id distinct, Loc loc);
  MaybeId last(llvm::StringRef name, Id map, Loc loc);
  /// Of a selection, or of pairs.
  MaybeId owner(Id space, Loc loc);
  MaybeId chosen(Id selection, Loc loc);
  MaybeId partner(Id pairs, Loc loc);
  /// The map of all elements of a space to the one element of a static space of extent 1; kNone: of one made here.
  MaybeId only(Id from, Id to, Loc loc);
  /// First one, then the other; kNone is the identity. A new map is called `name`, or, if that is empty, after the two
  /// maps.
  MaybeId compose(Id first, Id second, Loc loc, llvm::StringRef name = "");

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  MaybeId input(llvm::StringRef name, Id residency, llvm::ArrayRef<Axis> axes, std::optional<double> absent, Loc loc);
  MaybeId param(llvm::StringRef name, Id residency, llvm::ArrayRef<Axis> axes, Loc loc);
  MaybeId state(llvm::StringRef name, Id residency, llvm::ArrayRef<Axis> axes, Loc loc);
  /// Declares `input name: rows[axis] sparse`: its entries, maps and value. The index in sparseInputs.
  std::optional<size_t> sparseInput(llvm::StringRef name, Id rows, const Axis &axis, Loc loc);
  /// Declares that a space, two maps and an input that exist make a sparse input.
  bool declareSparse(const SparseInput &sparse, Loc loc);

  MaybeId constant(double number, Loc loc);
  MaybeId unary(llvm::StringRef function, Id x, double number, Loc loc);
  MaybeId binary(llvm::StringRef function, Id a, Id b, Loc loc);
  MaybeId select(Id condition, Id a, Id b, Loc loc);
  MaybeId contract(Id a, Id b, llvm::ArrayRef<std::string> axes, Loc loc);
  MaybeId reduce(llvm::StringRef function, Id x, Id map, Loc loc);
  MaybeId norm(llvm::StringRef function, Id x, Id map, Loc loc);
  MaybeId fold(llvm::StringRef function, Id x, llvm::ArrayRef<std::string> axes, Loc loc);
  /// A shared value stays as it is.
  MaybeId move(Id x, Id map, double fill, Loc loc);
  /// Joins the last axis of each operand; their other axes are the same, if not in the same order.
  MaybeId concat(llvm::ArrayRef<Id> operands, llvm::StringRef axis, Loc loc);
  MaybeId slice(Id x, llvm::StringRef axis, int64_t begin, int64_t end, Loc loc);
  /// The new names of all axes, in order.
  MaybeId rename(Id x, llvm::ArrayRef<std::string> names, Loc loc);
  MaybeId merge(Id x, llvm::ArrayRef<std::string> axes, llvm::StringRef name, Loc loc);
  MaybeId split(Id x, llvm::StringRef axis, llvm::ArrayRef<Axis> into, Loc loc);
  MaybeId permute(Id x, llvm::ArrayRef<std::string> order, Loc loc);
  MaybeId degree(Id map, Loc loc);
  MaybeId spread(Id x, Id space, Loc loc);
  MaybeId detach(Id x, Loc loc);
  /// These say where `chosen` leads. Values come after them that go along this map, or along one that is made of it.
  MaybeId nearest(Id points, Id queries, Id chosen, Loc loc);
  MaybeId within(Id points, Id queries, double radius, Id chosen, Loc loc);
  MaybeId top(Id scores, Id chosen, Loc loc);
  /// `start`: by which the first is chosen; none: by number.
  MaybeId farthest(Id points, MaybeId start, Id chosen, Loc loc);
  /// Says where the inclusion of a kept space leads.
  MaybeId keep(Id condition, Id inclusion, Loc loc);
  /// Uniform numbers in [0, 1) on a space, or shared. Without a site, the next free one is used.
  MaybeId random(Id seed, Id step, Id residency, llvm::ArrayRef<Axis> axes, std::optional<int> site, Loc loc);
  /// The identity matrix on a static space. Its axis has the name of the space.
  MaybeId identity(Id space, Loc loc);
  /// The derivative of a shared number with respect to any value.
  MaybeId gradient(Id number, Id by, Loc loc);

  MaybeId output(llvm::StringRef name, Id value, Loc loc);
  /// Says that the model was declared with this parameter and that no program needs it.
  void unusedParam(std::string name) { model.unusedParams.push_back(std::move(name)); }
  /// A further program. It updates parameters and states, each by a value of the same residency and axes.
  bool program(Program program, Loc loc);

  //===--------------------------------------------------------------------===//
  // Questions
  //===--------------------------------------------------------------------===//

  const ModelSpec &spec() const { return model; }
  const Space &space(Id id) const { return model.spaces[id]; }
  const Map &map(Id id) const { return model.maps[id]; }
  const Value &value(Id id) const { return model.values[id]; }
  std::string spaceName(Id residency) const;
  /// The message for the case that the extent of a static space is needed before it is known.
  std::string unknownExtent(Id space) const;
  /// `node[heads = 8, out = 8]`
  std::string describe(Id value) const;
  std::string describe(Id residency, llvm::ArrayRef<Axis> axes) const;
  /// A space or map by its name in the ModelSpec.
  std::optional<Id> findSpace(llvm::StringRef name) const;
  std::optional<Id> findMap(llvm::StringRef name) const;
  /// From now on, random() chooses sites that are at least this.
  void reserveSites(int below) { nextSite = std::max(nextSite, below); }
  /// The values that outputs and updates of all programs and of `more` depend on, including the targets of updates.
  std::vector<bool> needed(const Program &more = {}) const;
  /// The maps that a map (-1: none) leads through of which choices say where they lead.
  std::vector<Id> chosenBehind(Id map) const;
  /// Whether a space has the elements of its base that one map includes.
  bool isSubset(Id space) const {
    return model.spaces[space].kind == Space::Kind::Filter || model.spaces[space].kind == Space::Kind::Kept;
  }
  /// Whether values decide how many elements a space has.
  bool isOpen(Id space) const { return model.spaces[space].kind == Space::Kind::Kept || model.spaces[space].open; }

  /// Whether a root space or map may be declared with a name that is taken, provided that at most one of that name is
  /// used in the end. This is how a file hides a name of the prelude. If not set, no name may be declared twice.
  std::function<bool(llvm::StringRef name)> mayHide;

  /// A hint on how to move a value from one space to another, such as `.src or .dst`; set by a front end that knows the
  /// names of the maps where the value is used.
  std::function<std::string(Id from, Id to)> moveHint;

  /// The finished model, without the values that no output needs. Inputs come first, then parameters, states and
  /// everything else, each in order. Nothing after an error.
  std::optional<ModelSpec> finish(llvm::StringRef name, bool doublePrecision, std::vector<std::string> files);

private:
  std::nullopt_t fail(Loc loc, const llvm::Twine &message);
  bool checkSymbol(llvm::StringRef name, Loc loc, bool hides = false);
  std::string freshSymbol(llvm::StringRef wanted);
  bool isProgramName(llvm::StringRef name) const;
  Id addSpace(Space space, llvm::StringRef wanted, bool exact);
  Id addMap(Map map, llvm::StringRef wanted, bool exact);
  MaybeId endOfPairs(Map::Kind kind, Id space, llvm::StringRef lacking, Loc loc);
  bool checkTogether(Id base, Id of, llvm::ArrayRef<Id> maps, Loc loc);
  MaybeId addValue(Value value);
  MaybeId addGiven(OpCode op, llvm::StringRef name, Id residency, llvm::ArrayRef<Axis> axes, Loc loc);
  bool checkNames(const std::vector<bool> &usedSpaces, const std::vector<bool> &usedMaps);
  bool checkSpace(Id space, Loc loc);
  bool checkMap(Id map, Loc loc);
  bool checkValue(Id value, Loc loc);
  bool checkAxes(llvm::ArrayRef<Axis> axes, Loc loc);
  std::optional<int> findAxis(Id x, llvm::StringRef axis, Loc loc);
  bool checkResidesOnDomain(Id x, Id map, llvm::StringRef doing, Loc loc);
  std::optional<Id> meet(llvm::ArrayRef<Id> operands, Loc loc);
  std::optional<std::vector<Axis>> align(llvm::ArrayRef<Id> operands, Loc loc);
  std::optional<std::vector<Axis>> namesToAxes(Id x, llvm::ArrayRef<std::string> names, Loc loc);
  Value derived(OpCode op, llvm::ArrayRef<Id> operands, Loc loc);
  bool isKnownWithGraph(Id map, llvm::StringRef what, Loc loc);
  bool hasKnownExtent(Id space, llvm::StringRef what, Loc loc);
  MaybeId compared(OpCode op, Id points, Id queries, double radius, Id chosen, Loc loc);
  MaybeId choice(OpCode op, llvm::ArrayRef<Id> operands, Id chosen, double number, Loc loc);
  /// Whether values before `end` have said where the maps that it leads through lead.
  bool checkChosen(Id map, size_t end, Loc loc);

  Report report;
  bool failed = false;
  ModelSpec model;
  llvm::StringMap<int> symbols; ///< of spaces and maps, with the number last appended to make one fresh
  llvm::StringMap<Id> givenNames;
  std::map<std::vector<int64_t>, Id> derivedSpaces, derivedMaps;
  std::map<Id, Id> choices; ///< of a Chosen map, the value that says where it leads
  std::map<double, Id> constants;
  std::set<int> sites;
  int nextSite = 0;
};

} // namespace gnnc::frontend

#endif // GNNC_FRONTEND_MODELBUILDER_H
