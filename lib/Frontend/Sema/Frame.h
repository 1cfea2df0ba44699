//===- Frame.h - The names of one body --------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *frame* is one layer's body (or the model's, or a derived relation's). It has values, sizes, and its own spaces and
// maps; behind these stand the relation in force (`edge`, `src`, `dst`, `node`, ...), and behind that what the module
// sees.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_FRAME_H
#define GNNC_LIB_FRONTEND_SEMA_FRAME_H

#include "Sema/Modules.h"
#include "Sema/Operand.h"

#include "llvm/ADT/StringMap.h"

namespace gnnc::frontend {

/// What a relation's space and maps are.
struct RelationView {
  std::string name;
  Id space = kNone, src = kNone, dst = kNone;
  std::vector<std::pair<std::string, Id>> extras;
};

/// Spaces, maps and root relations by name.
struct Scope {
  std::map<std::string, Id> spaces, maps; ///< a wildcard residency may be kNone: shared
  std::map<std::string, RelationView> relations;
};

/// A named value; without an operand after an error.
struct Binding {
  MaybeOperand operand;
  Loc loc;
  bool input = false; ///< of the model
};

/// A layer that is called through a name of its own, with the same parameters each time.
struct Instance {
  Found<ast::LayerDecl> layer;
  std::string name;                 ///< of its parameters
  const std::vector<ast::Name> *on; ///< relations that the declaration puts in force
  /// What the declaration gives, one for each formal; without an operand where nothing is.
  std::vector<std::pair<MaybeOperand, Loc>> arguments;
};

struct Frame {
  const Module *module = nullptr;
  const Scope *global = nullptr; ///< what the module sees
  Scope local;
  RelationView outer;    ///< the relation in force where the layer is called
  RelationView relation; ///< the one in force in its body
  std::string path;      ///< of its parameters, ending in a dot: `enc.c1.`
  std::string prefix;    ///< of the spaces and maps it makes
  llvm::StringMap<Binding> values;
  llvm::StringMap<int64_t> sizes;
  llvm::StringMap<Loc> instances, declared;
  llvm::StringMap<std::optional<Instance>> shared; ///< declared instances; none after an error
  llvm::StringMap<unsigned> counts;
  std::vector<Loc> unnamed; ///< the calls on the way here that no `as` names
  std::optional<Loc> loss;  ///< the statement that says what it is
  bool pairsMeant = false;  ///< in the argument of `outer`
  bool isShared = false;    ///< in a call of a declared instance: what exists already is found again
  unsigned repeats = 0;     ///< `repeat` statements around the current one
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_FRAME_H
