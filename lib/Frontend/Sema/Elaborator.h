//===- Elaborator.h - From syntax to a ModelSpec ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a model's statements in order. Names are looked up, layers are inlined, compile-time numbers are computed, and
// what is not an operation of ModelSpec (sparse products, join, softmax over an axis, ...) is said in terms of those
// that are. Every value goes through a ModelBuilder, which checks it.
//
// Where names live: a *frame* is one layer's body (or the model's). It has values, sizes, and its own spaces and maps;
// behind these stand the relation in force (`edge`, `src`, `dst`, `node`, ...), and behind that what the module sees.
//
// A model that is trained is elaborated twice, for its outputs and metrics and for its training step. The second time
// parameters, states and inputs are found again by their names, and derived spaces and maps by what they are.
//
// After an error the statement it is in is given up; the name it would have defined is known but poisoned, so that its
// uses say nothing more.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_ELABORATOR_H
#define GNNC_LIB_FRONTEND_SEMA_ELABORATOR_H

#include "Sema/Modules.h"
#include "Sema/Numbers.h"
#include "gnnc/Frontend/ModelBuilder.h"

#include "llvm/ADT/StringMap.h"

#include <optional>
#include <set>
#include <variant>

namespace gnnc::frontend {

/// A sparse value: one number for each entry of a sparse input.
struct Sparse {
  Id value = kNone;
  size_t input = 0; ///< in ModelSpec::sparseInputs
  std::string axis; ///< what its axis is called here
};

/// A value of ModelSpec.
struct Dense {
  Id id = kNone;
};

using Operand = std::variant<Number, Dense, Sparse>;
using MaybeOperand = std::optional<Operand>;

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

/// What a parameter or state is before the first step.
struct Initial {
  enum class Kind {
    Constant, ///< `number`
    Uniform,  ///< in -number .. number
    Normal,   ///< of standard deviation `number`
    Glorot,   ///< uniform, the bound being sqrt(6 / (fan-in + fan-out))
  };
  Kind kind = Kind::Constant;
  double number = 0; ///< of Glorot: the sum of the fans that are numbers
  int extents = 0;   ///< of Glorot: how many fans are the extent of the parameter's space
};

/// A parameter, state or input that exists, by its whole name.
struct Given {
  Operand operand;
  std::vector<Loc> unnamed; ///< see Frame
  Loc loc;
};

/// A named value; without an operand after an error.
struct Binding {
  MaybeOperand operand;
  Loc loc;
  bool input = false; ///< of the model
};

/// The body of a layer, a model or a derived relation.
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
  llvm::StringMap<unsigned> counts;
  std::vector<Loc> unnamed; ///< the calls on the way here that no `as` names
  std::optional<Loc> loss;  ///< the statement that says what it is
  unsigned repeats = 0;     ///< `repeat` statements around the current one
};

/// `node[heads = 1, out = 1]` as `node[heads, out]`, for sizes that nobody knows.
void dropSizes(std::string &text);

class Elaborator {
public:
  Elaborator(Modules &modules, const Sources &sources, DiagnosticEngine &diagnostics, const CompileInputs &inputs);

  std::optional<ModelSpec> run(const Module &module, const ast::ModelDecl &model);

  /// Elaborates a layer that nobody calls, with arguments made up for it.
  void tryLayer(const Module &module, const ast::LayerDecl &layer);

  /// Where to record what is known of names, if anywhere.
  std::vector<Occurrence> *occurrences = nullptr;
  /// Where to say what else may stand at the cursor's word, if anywhere (Completion.cpp).
  std::vector<Completion> *completions = nullptr;
  /// What numbers without a value are taken to be, for an editor; 0 where they are errors.
  int64_t assumedSize = 0;
  /// Whether any was.
  bool assumed = false;
  /// The layers that were called.
  std::set<const ast::LayerDecl *> called;
  /// What `training` is.
  bool training = false;

private:
  // Statements (Elaborator.cpp).
  bool elaborate(const Module &module, const ast::ModelDecl &model);
  void enterModel(Frame &top, const Module &module);
  void bindModelNumbers(const ast::ModelDecl &model);
  Number assume(ast::Formal::Kind kind);
  void checkDefines(const ast::ModelDecl &model);
  MaybeOperand runBody(const std::vector<ast::Statement> &body, Loc end);
  MaybeOperand runBlock(const std::vector<ast::Statement> &body);
  void run(const ast::LetStmt &let);
  void run(const ast::ValueDecl &decl);
  void run(const ast::OutputStmt &output);
  void run(const ast::UpdateStmt &update);
  void run(const ast::TrainStmt &train);
  void run(const ast::RepeatStmt &repeat);
  MaybeOperand declareValue(const ast::ValueDecl &decl, llvm::StringRef what);
  MaybeOperand again(const Given &known, const std::string &name, const ast::ValueDecl &decl, Id residency,
                     const std::vector<Axis> &axes);
  MaybeOperand declareInput(const ast::ValueDecl &decl, Id residency, const std::vector<Axis> &axes);
  void bind(const ast::Name &name, MaybeOperand operand, llvm::StringRef what);
  std::string fresh(llvm::StringMap<Loc> &taken, const ast::Name &name, llvm::StringRef what, bool automatic);

  // Training (Train.cpp, Initial.cpp).
  struct Training; ///< a train statement whose arguments have been evaluated
  MaybeId shapedAs(Id value, Id target, Loc loc, const llvm::Twine &what);
  MaybeId runState(llvm::StringRef name, llvm::ArrayRef<Axis> axes, Loc loc);
  bool openTraining(Training &open);
  std::vector<Id> paramsOf(const ast::TrainStmt &train);
  MaybeId clipFactor(const std::vector<Id> &gradients, Id bound, Loc loc);
  MaybeId flat(Id value, Loc loc);
  MaybeId optimise(const Training &open, Id param, Id gradient);
  void finishPrograms(const ast::ModelDecl &model);
  std::optional<Initial> initialOf(const ast::ValueDecl &decl, Id residency, const std::vector<Axis> &axes);
  std::optional<Initial> glorot(const ast::Expr &expr, Id residency, const std::vector<Axis> &axes);
  MaybeId initialValue(Id target, const Initial &initial);
  MaybeId uniformBound(Id target, const Initial &initial);
  MaybeId randomLike(Id x, Loc loc);

  // Types and numbers (Types.cpp).
  std::optional<Id> residencyOf(const std::optional<ast::Name> &name);
  std::optional<std::vector<Axis>> axesOf(const ast::Type &type);
  std::optional<int64_t> evalSize(const ast::Expr &expr);
  std::optional<Number> evalNumber(const ast::Expr &expr, llvm::StringRef what);
  std::optional<Number> convert(Number number, ast::Formal::Kind kind, const ast::Name &name, Loc loc);
  static std::string anonymousAxis(size_t position, size_t count);

  // Expressions (ElaborateExpr.cpp).
  MaybeOperand eval(const ast::Expr &expr);
  MaybeOperand evalKind(const ast::Expr &expr);
  MaybeOperand evalName(const ast::Expr &expr);
  MaybeOperand evalMember(const ast::Expr &expr);
  MaybeOperand evalUnary(const ast::Expr &expr);
  MaybeOperand evalBinary(const ast::Expr &expr);
  MaybeOperand evalChoice(const ast::Expr &expr);
  MaybeOperand evalSlice(const ast::Expr &expr);
  MaybeOperand binary(llvm::StringRef op, const Operand &a, const Operand &b, Loc loc);
  MaybeOperand matmul(const Operand &a, const Operand &b, Loc loc);
  MaybeOperand power(const Operand &a, const Operand &b, Loc loc);
  MaybeId dense(const Operand &operand, Loc loc, llvm::StringRef doing);
  MaybeOperand wrap(MaybeId id) { return id ? MaybeOperand(Dense{*id}) : std::nullopt; }
  std::string describe(const Operand &operand) const;

  // Sparse inputs (Sparse.cpp).
  MaybeOperand sparseScale(llvm::StringRef op, const Sparse &x, const Operand &factor, Loc loc);
  MaybeOperand sparseUnary(llvm::StringRef function, const Sparse &x, double number, Loc loc);
  MaybeOperand sparseMatmul(const Sparse &x, const Operand &weight, Loc loc);
  MaybeOperand sparseFold(llvm::StringRef function, const Sparse &x, Loc loc);
  std::nullopt_t sparseUnsupported(const Sparse &x, llvm::StringRef doing, Loc loc);
  const SparseInput &inputOf(const Sparse &x) const { return builder.spec().sparseInputs[x.input]; }

  // Spaces, maps and moves (Structure.cpp, Paths.cpp).
  const Scope &scopeOf(const Module &module);
  void declare(const ast::SpaceDecl &decl);
  void declare(const ast::MapDecl &decl);
  void declareRootRelation(const ast::RelationDecl &decl);
  MaybeId declareUnionMap(const ast::MapDecl &decl, Id from, Id to, llvm::StringRef name);
  bool checkNew(const ast::Name &name);
  std::optional<RelationView> relationNamed(const ast::Name &name, const RelationView &inForce);
  std::optional<RelationView> applyRelation(const ast::RelationDecl &decl, const Module &module,
                                            const RelationView &inForce, Loc loc);
  std::optional<Id> findSpace(llvm::StringRef name);
  std::optional<Id> findMap(llvm::StringRef name);
  const RelationView *findRelation(llvm::StringRef name);
  std::optional<Id> spaceNamed(const ast::Name &name);
  std::vector<std::pair<std::string, Id>> visibleMaps();
  std::string nameOfSpace(Id space);
  std::string nameOfMaps(const std::vector<Id> &maps);
  /// The unique shortest chain of total maps; says so where there is none or several, unless `quiet`.
  MaybeId uniquePath(Id from, Id to, Loc loc, bool quiet = false);
  MaybeId structuralPath(Id from, Id to, Loc loc);
  struct Route {
    Id map = kNone, from = kNone, to = kNone;
  };
  /// Follows a path from `start`, or from wherever its first name does where that is kUndefined.
  /// With an `end`, goes on by inclusions to there. A new composition is called `name`.
  std::optional<Route> resolve(const ast::Path &path, Id start, bool structural, Id end = kUndefined,
                               llvm::StringRef name = "");
  std::optional<Id> mapStep(const ast::Path &path, size_t &i, Id at);
  std::optional<ast::Path> pathOf(const ast::Expr &expr);
  MaybeOperand moveAlong(const Operand &x, const ast::Path &path, std::optional<double> fill, Loc loc);
  MaybeOperand moveValue(const Operand &x, Id map, double fill, Loc loc);

  // Layers (Layers.cpp).
  MaybeOperand callLayer(const ast::Expr &call, Found<ast::LayerDecl> layer);
  struct Call; ///< what binding arguments to formals keeps track of
  bool bindArguments(Call &call);
  bool bindValue(Call &call, const ast::Formal &formal, const Operand &argument, Loc loc);
  bool bindDefaults(Call &call);
  bool bindAxes(Call &call, const ast::Formal &formal, const std::vector<Axis> &axes, std::vector<std::string> &names,
                Loc loc);
  bool finishAxes(Call &call);
  MaybeOperand checkResult(Call &call, MaybeOperand result);
  MaybeOperand renameBack(Call &call, const Operand &result);

  // Built-in functions (Builtins.cpp, BuiltinShapes.cpp, BuiltinMoves.cpp).
  class Arguments;
  friend struct BuiltinTable;
  MaybeOperand callBuiltin(const ast::Expr &call);
  MaybeOperand unaryFunction(Arguments &arguments);
  MaybeOperand binaryFunction(Arguments &arguments);
  MaybeOperand whereFunction(Arguments &arguments);
  MaybeOperand reduction(Arguments &arguments);
  MaybeOperand normalization(Arguments &arguments);
  MaybeOperand foldOver(llvm::StringRef function, const Operand &x, const std::vector<std::string> &axes, Loc loc);
  MaybeOperand normalizeOver(llvm::StringRef function, const Operand &x, const std::vector<std::string> &axes, Loc loc);
  MaybeOperand reduceAlong(llvm::StringRef function, const Operand &x, Id map, Loc loc);
  MaybeOperand normalizeAlong(llvm::StringRef function, const Operand &x, Id map, Loc loc);
  std::optional<Id> alongMap(Arguments &arguments, const Operand &x);
  std::optional<Route> mapArgument(Arguments &arguments, llvm::StringRef expectation);
  MaybeOperand degreeFunction(Arguments &arguments);
  MaybeOperand moveFunction(Arguments &arguments);
  MaybeOperand joinFunction(Arguments &arguments);
  MaybeOperand concatFunction(Arguments &arguments);
  MaybeOperand renameFunction(Arguments &arguments);
  MaybeOperand flattenFunction(Arguments &arguments);
  MaybeOperand mergeFunction(Arguments &arguments);
  MaybeOperand splitFunction(Arguments &arguments);
  MaybeOperand permuteFunction(Arguments &arguments);
  MaybeOperand dotFunction(Arguments &arguments);
  MaybeOperand dropoutFunction(Arguments &arguments);
  MaybeOperand detachFunction(Arguments &arguments);
  MaybeOperand gradientFunction(Arguments &arguments);
  MaybeOperand onehotFunction(Arguments &arguments);
  MaybeOperand renameAxes(const Operand &x, const std::vector<std::pair<std::string, std::string>> &pairs, Loc loc);

  // Completion (Completion.cpp).
  bool isCursor(llvm::StringRef name) const;
  void offer(Completion::Kind kind, const llvm::Twine &label, const llvm::Twine &detail);
  void offerMap(llvm::StringRef name, Id map);
  void completeName();
  void completeMove(const Operand &x);
  void completePath(Id start);
  void completeSpace();
  void completeRelation();
  void completeSize();
  void completeAxes(const Operand &x);
  void completeAxes(const ast::Expr &call);
  void completeArguments(const ast::Expr &call, const ast::LayerDecl *layer);
  std::vector<std::pair<std::string, Id>> visibleSpaces();

  // Messages.
  std::nullopt_t error(Loc loc, const llvm::Twine &message);
  void record(Loc loc, const std::string &text, std::optional<Loc> definition = std::nullopt);
  static std::string suggestion(llvm::StringRef name, const std::vector<std::string> &known);

  Modules &modules;
  const Sources &sources;
  DiagnosticEngine &diagnostics;
  const CompileInputs &inputs;
  ModelBuilder builder;
  Frame *frame = nullptr;
  std::map<const Module *, Scope> scopes;
  std::map<std::tuple<const ast::RelationDecl *, Id, Id, Id>, RelationView> derivedRelations;
  std::vector<const ast::LayerDecl *> active; ///< layers being inlined
  std::vector<ast::Name> inputNames;
  std::set<std::string> usedInputs;
  llvm::StringMap<Given> given;
  std::map<Id, Initial> initials;
  std::vector<Output> metrics;
  MaybeId loss; ///< of the training step
  std::vector<Update> paramUpdates, stateUpdates;
  bool keepsUpdates = true; ///< not inside a metric
  std::set<std::tuple<unsigned, unsigned, unsigned>> recorded;
  unsigned depth = 0; ///< of eval
  uint64_t steps = 0; ///< expressions and statements so far
  bool exhausted = false;
};

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_ELABORATOR_H
