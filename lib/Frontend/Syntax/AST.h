//===- AST.h - Syntax of the gnnc language ----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parser makes of a text, before any name is looked up. Plain structs; each keeps its place in the text.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SYNTAX_AST_H
#define GNNC_LIB_FRONTEND_SYNTAX_AST_H

#include "gnnc/Frontend/ModelSpec.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace gnnc::frontend::ast {

/// A name where it stands.
struct Name {
  std::string text;
  Loc loc;
};

/// Names joined by dots: maps one after the other, spaces on the way, or a relation and its map.
struct Path {
  std::vector<Name> names;
  bool none = false; ///< the word `none`: undefined
  Loc loc;
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

/// `name: value` in a call; positional arguments have no name.
struct Argument {
  std::optional<Name> name;
  ExprPtr value;
};

struct Expr {
  enum class Kind {
    Integer, ///< `integer`
    Float,   ///< `number`
    Bool,    ///< `integer` is 0 or 1
    Name,    ///< `name`
    Member,  ///< operands[0] . name
    Call,    ///< name(arguments) on ... as ...
    Unary,   ///< name is - or not
    Binary,  ///< operands joined by `operators` of one precedence, from left to right; name is the first
    Choice,  ///< operands[0] ? operands[1] : operands[2]
    Slice,   ///< operands[0][name: operands[1]..operands[2]], or [name: operands[1]], which drops the axis
    Tuple,   ///< (operands...), two or more
  };
  Kind kind;
  Loc loc; ///< the token that says most: an operator, a name, a literal
  std::string name;
  int64_t integer = 0;
  double number = 0;
  std::vector<ExprPtr> operands;
  std::vector<Name> operators; ///< Binary: one less than operands
  std::vector<Argument> arguments;
  std::vector<Name> on;
  std::optional<Name> as;
  unsigned depth = 1; ///< of the tree, bounded by the parser so that walking it by recursion is safe
};

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// `in`, `dim = 16` or `16`.
struct AxisType {
  std::optional<Name> name;
  ExprPtr size;
  Loc loc;
};

/// `node[in, out]`; without a residency (or with `shared`) a shared value.
struct Type {
  std::optional<Name> residency;
  std::vector<AxisType> axes;
  Loc loc;
};

//===----------------------------------------------------------------------===//
// Declarations and statements
//===----------------------------------------------------------------------===//

struct SpaceDecl {
  enum class Kind { Root, Static, Filter, Union, Distinct, Pairs, Nearest, Within, Top, Farthest };
  Kind kind = Kind::Root;
  Name name;
  Name base;          ///< Filter
  bool equal = false; ///< Filter
  /// Filter of maps, Distinct; Nearest, Within, Top: where points belong, and where queries do if that is another;
  /// Pairs: where the first and the second of a pair belong, or one path for both
  std::vector<Path> paths;
  ExprPtr points; ///< Nearest, Within; Top: scores; Filter: the condition, which two paths may be meant as too
  ExprPtr queries, count, radius, ratio, self, start; ///< where given
  std::vector<Name> parts;                            ///< Union
  std::string source;                                 ///< Root: what follows `from`
};

struct MapDecl {
  enum class Kind { Root, Last, Paths };
  Kind kind = Kind::Root;
  std::vector<Name> names;
  std::optional<Name> from, to;
  bool partial = false;    ///< Root
  std::vector<Path> paths; ///< Paths: one, or one for each part of a union. Last: the map whose last element is meant
  Name base;               ///< Last: the space of the elements
  std::string source;      ///< Root: what follows `from`
};

struct Statement;

/// `relation follows: user -> item`, or one derived from the relation in force.
struct RelationDecl {
  Name name;
  bool root = false;
  Name from, to;                           ///< root
  std::vector<Name> extras;                ///< names of its further maps
  std::vector<Statement> body;             ///< space and map statements
  Name space;                              ///< the relation's space
  std::vector<std::pair<Name, Path>> maps; ///< what its maps are called from outside
};

struct LetStmt {
  Name name;
  ExprPtr value;
  std::optional<Loc> minus; ///< one that starts a line, and so goes on with this statement
};

/// One name of a param, state or input statement. Names that share a type share the pointers.
struct ValueDecl {
  enum class Kind { Param, State, Input };
  Kind kind = Kind::Param;
  Name name;
  std::shared_ptr<Type> type;
  bool sparse = false;
  std::shared_ptr<Expr> defaultValue; ///< of an input; what a parameter or state is initialised to
  std::string source;                 ///< of an input: what follows `from`
  std::optional<Name> alias;          ///< of a parameter or state: what it is called from outside
};

/// `output name = value`, `metric name = value` or `loss = value`.
struct OutputStmt {
  enum class Kind { Output, Metric, Loss };
  Kind kind = Kind::Output;
  Name name;
  ExprPtr value;
};

/// `update name = value`
struct UpdateStmt {
  Name name;
  ExprPtr value;
};

/// `train OPTIMISER(arguments) for name, name.name`; without names it takes all parameters.
struct TrainStmt {
  ExprPtr optimiser;
  std::vector<Path> patterns;
  Loc loc;
};

/// `instance name = LAYER(arguments)`: one set of parameters for all calls of `name`.
struct InstanceStmt {
  Name name;
  ExprPtr call;
};

struct RepeatStmt {
  ExprPtr count;
  std::vector<Statement> body;
  Loc loc;
};

struct Statement {
  std::variant<LetStmt, ValueDecl, OutputStmt, UpdateStmt, TrainStmt, InstanceStmt, RepeatStmt, SpaceDecl, MapDecl,
               ExprPtr>
      node;
};

/// A formal parameter: a value of a type, or a compile-time number.
struct Formal {
  enum class Kind { Value, Int, Float, Bool };
  Kind kind = Kind::Value;
  Name name;
  Type type;
  ExprPtr defaultValue;
};

struct LayerDecl {
  Name name;
  std::vector<Formal> formals;
  std::vector<Name> on;
  std::optional<Type> result;
  std::vector<Statement> body;
};

struct ModelDecl {
  Name name;
  bool exported = false;
  std::vector<Formal> formals;
  std::vector<Statement> body;
};

struct Import {
  Name name; ///< an embedded library, or a path
  bool isPath = false;
};

/// One text. Declarations are kept by kind; spaces, maps and root relations refer to each other and keep their order.
struct File {
  std::vector<Import> imports;
  std::vector<std::variant<SpaceDecl, MapDecl, RelationDecl>> spacesAndMaps;
  std::vector<RelationDecl> relations; ///< derived ones
  std::vector<LayerDecl> layers;
  std::vector<ModelDecl> models;
};

} // namespace gnnc::frontend::ast

#endif // GNNC_LIB_FRONTEND_SYNTAX_AST_H
