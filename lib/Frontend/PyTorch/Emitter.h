//===- Emitter.h - Writes a recovered program as a text ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spaces and maps are declared once for the whole text (Emit.cpp, EmitGraph.cpp). Every body, the model's or a layer's,
// is a *scope* with names of its own for values and axes (EmitScope.cpp). A layer is written for the first of its calls
// (EmitLayers.cpp); in the others only the sizes of axes differ, which are arguments then. EmitExpressions.cpp writes
// single operations.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_EMITTER_H
#define GNNC_LIB_FRONTEND_PYTORCH_EMITTER_H

#include "PyTorch/Emit.h"
#include "PyTorch/Outline.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <set>

namespace gnnc::frontend::pytorch {

/// How tightly a text binds, from the loosest.
enum Precedence { Comparison = 3, Sum = 4, Product = 5, Matrix = 6, Sign = 7, Power = 8, Postfix = 9 };

struct Text {
  std::string text;
  int precedence = Postfix;
  bool calls = false; ///< a layer
};

/// The names of one body.
struct Scope {
  const Block *block = nullptr;
  std::set<std::string> taken;
  std::map<int, std::string> values, axes;
  std::map<int, std::string> maps;              ///< that go by other names than in the rest of the text
  std::map<int, std::string> sizes;             ///< of axes: how it is written, if not as a number
  std::map<std::string, int> sizeOwners;        ///< the axis whose size goes by a name
  std::map<int, int> uses;                      ///< of values, within the body
  std::map<int, int> lastUsers;                 ///< the item that uses a value, if only one does
  std::map<int, Text> inlined;                  ///< what is written where it is used
  std::map<std::string, std::string> instances; ///< by their path: modules that are called more than once
  std::string body;
};

/// A layer, written for the first of its calls.
struct LayerText {
  std::string name;
  std::vector<size_t> integers;             ///< which of the block's axes have sizes that are arguments
  std::map<size_t, std::string> formals;    ///< what these are called
  std::vector<std::string> numbers;         ///< and constants that differ
  std::map<int, std::vector<int>> products; ///< axes whose sizes are products of others
  std::map<int, std::string> axisNames;
  std::map<int, std::string> maps; ///< of a layer on the relation with_self_loops: its ends
};

class Emitter {
public:
  Emitter(RecoveredProgram program) : program(std::move(program)) {}
  std::string run(const std::string &name, const std::string &comment, bool withLayers);
  std::vector<std::string> tensors;
  std::vector<RecoveredProgram::Constant> constants() const { return program.constants; }

private:
  //===--- What is used, spaces and maps (EmitGraph.cpp) --------------------===//
  void findLive();
  bool hasChoices() const;
  /// The choice that a space or map waits for; -1: none.
  int choiceBehindSpace(int space) const;
  int choiceBehindMap(int map) const;
  std::string choiceText(const Scope &scope, int value) const;
  void reachSpace(int space);
  void reachMap(int map);
  void nameInputs();
  void nameMaps();
  void nameSpaces();
  std::string partText(const MapPart &part) const;
  std::string declareSpace(int space);
  std::string declareMap(int map);
  std::string declareGraph();
  std::string unique(const std::string &wanted);

  //===--- Bodies (EmitScope.cpp) -------------------------------------------===//
  Scope open(const Block &block);
  std::string unique(Scope &scope, const std::string &wanted);
  void nameAxes(Scope &scope);
  void countUses(Scope &scope);
  void write(Scope &scope, const Item &item);
  bool isWrittenInPlace(const Scope &scope, int value, const Text &text) const;
  std::string axisList(Scope &scope, int value);
  std::string sizeText(const Scope &scope, int axis) const;
  void declareTensors(Scope &scope);
  void declareUnusedParams(Scope &scope);
  std::string declareInfinity();
  std::string suggestion(const Item &item) const;
  bool leavesModule(int value) const;
  std::string variableOf(int value) const;
  std::string mapName(const Scope &scope, int map) const;
  std::map<int, std::string> wantedAxes(const Block &block) const;
  const std::vector<int> &operandsOf(const Item &item) const;

  //===--- Layers (EmitLayers.cpp) -------------------------------------------===//
  std::string writeLayer(int layer);
  std::string writeModel(const std::string &name);
  void chooseSizes(int layer);
  void nameSizes(Scope &scope, int layer, bool ofResult);
  void bindSizes(Scope &scope, int layer);
  std::vector<int> sizedAxes(const Block &block) const;
  Text call(Scope &scope, const Item &item);
  std::string instanceName(const Block &caller, const Block &callee) const;
  std::string numberName(const Block &block, int number) const;
  std::string typeText(const Scope &scope, int value) const;
  std::string formalName(const Block &block, int layer, int formal) const;

  //===--- The relation of a layer (EmitRelations.cpp) ------------------------===//
  void findRelation(int layer);
  bool isRing(int space) const;
  bool isEndOfRing(int map, int ring, int end) const;
  bool usesGraph(int block) const;
  void findDeclared();

  //===--- Expressions (EmitExpressions.cpp) ----------------------------------===//
  Text expression(const Scope &scope, int value) const;
  Text binary(const Scope &scope, const Operation &operation) const;
  std::string use(const Scope &scope, int value, int precedence) const;
  std::string numberText(double number) const;
  std::string axesText(const Scope &scope, const std::vector<int> &axes) const;
  std::string axisName(const Scope &scope, int axis) const { return scope.axes.at(program.axis(axis)); }
  bool isOuter(const Operation &operation) const;

  RecoveredProgram program;
  Outline outline;
  std::vector<bool> live;
  std::set<int> liveSpaces, liveMaps;
  std::vector<std::pair<bool, int>> declarations; ///< of maps and spaces, in order
  std::map<int, std::string> declaredAfter;       ///< of a choice: what is made of its maps
  std::set<std::string> taken, prelude;
  std::string infinity; ///< the state that has this number
  std::map<int, std::string> inputNames, spaceNames, mapNames;
  std::vector<LayerText> layers;
};

bool isKeyword(llvm::StringRef word);
/// Refuses what would be computed of pairs that are chosen in a run.
void checkKnown(llvm::StringRef source);
/// A name that can be written.
std::string identifier(const std::string &text);
/// What the result of a module is called: `conv` for `convs.0`; empty where that is no name.
std::string moduleName(llvm::StringRef path);
/// A statement on lines of their own, none of which is too long.
std::string wrapped(std::string line);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_EMITTER_H
