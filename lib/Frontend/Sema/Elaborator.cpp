//===- Elaborator.cpp - Models --------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Elaborator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace gnnc::frontend;
using llvm::StringRef;

Elaborator::Elaborator(Context &context, int64_t assumedSize)
    : ElaborationPart(context), scopes(context), paths(context, scopes), spacesAndMaps(context, scopes, paths),
      relations(context, scopes, paths, spacesAndMaps), types(context, scopes, paths, expressions),
      sparseInputs(context), moves(context, scopes, paths), operators(context, sparseInputs),
      reductions(context, sparseInputs),
      builtins(context, scopes, paths, types, expressions, operators, reductions, moves, sparseInputs, values, layers),
      expressions(context, scopes, paths, types, operators, moves, values, builtins, layers),
      values(context, types, initialValues), initialValues(context, scopes, types, values),
      layers(context, scopes, spacesAndMaps, relations, types, expressions, values, statements),
      programs(context, expressions, values, initialValues), optimisers(context, expressions, layers, values, programs),
      selections(context, scopes, paths, spacesAndMaps, types, expressions),
      statements(context, spacesAndMaps, selections, types, expressions, layers, values, programs, optimisers),
      assumedSize(assumedSize) {
  builder.moveHint = [this](Id from, Id to) {
    std::string hint;
    if (!frame)
      return hint;
    for (auto &[name, map] : scopes.visibleMaps())
      if (builder.map(map).to == from && builder.map(map).from == to && !builder.map(map).partial)
        hint += (hint.empty() ? "." : " or .") + name;
    if (hint.empty() && paths.uniquePath(to, from, Loc(), /*quiet=*/true))
      hint = "." + scopes.nameOfSpace(to);
    for (auto &[name, map] : scopes.visibleMaps())
      if (hint.empty() && builder.map(map).to == from && builder.map(map).from == to)
        hint = "move(value, " + name + ", fill: 0)"; // it is partial
    return hint;
  };
}

/// Sets up the frame of a model. The relation in force in it is the one that `edge`, `src` and `dst` name.
void Elaborator::enterModel(Frame &top, const Module &module) {
  top.module = &module;
  top.global = &spacesAndMaps.scopeOf(module);
  frame = &top;
  auto edge = top.global->spaces.find("edge");
  auto src = top.global->maps.find("src"), dst = top.global->maps.find("dst");
  if (edge != top.global->spaces.end() && src != top.global->maps.end() && dst != top.global->maps.end())
    top.relation = {"edge", edge->second, src->second, dst->second, {}};
  top.outer = top.relation;
}

/// One walk through the statements.
bool Elaborator::elaborate(const Module &module, const ast::ModelDecl &model) {
  Frame top;
  enterModel(top, module);
  llvm::scope_exit done([&] { frame = nullptr; });
  context.budget.steps = 0;
  bindModelNumbers(model);
  checkDefines(model);
  // Without its numbers a model has other errors. An editor shows what it can.
  if (diagnostics.errorCount() != 0 && assumedSize == 0)
    return false;
  statements.runBlock(model.body);
  return diagnostics.errorCount() == 0;
}

std::optional<ModelSpec> Elaborator::run(const Module &module, const ast::ModelDecl &model) {
  record(model.name.loc, "model " + model.name.text, model.name.loc);
  context.training = false;
  if (model.exported)
    builder.setExported();
  if (!elaborate(module, model))
    return std::nullopt;
  auto isTrain = [](const ast::Statement &statement) { return std::holds_alternative<ast::TrainStmt>(statement.node); };
  context.training = llvm::any_of(model.body, isTrain);
  if (context.training && !elaborate(module, model))
    return std::nullopt;
  programs.finish(model);
  if (diagnostics.errorCount() != 0)
    return std::nullopt;
  for (const ast::Name &name : values.inputs())
    if (!expressions.usesInput(name.text))
      diagnostics.warning(name.loc, "input '" + name.text + "' is not used");
  if (builder.spec().outputs.empty() && context.isIncomplete)
    return std::nullopt;
  if (builder.spec().outputs.empty())
    return error(model.name.loc, "model '" + model.name.text +
                                     "' has no output; expected a statement 'output name = "
                                     "...'");
  return builder.finish(model.name.text, /*doublePrecision=*/false, context.sources.paths());
}

/// A number that somebody else will say.
Number Elaborator::assume(ast::Formal::Kind kind) {
  assumed = true;
  return kind == ast::Formal::Kind::Int     ? Number::ofInt(assumedSize)
         : kind == ast::Formal::Kind::Float ? Number::ofFloat(0.5)
                                            : Number::ofBool(true);
}

/// The model's own parameters, and the extents of static spaces.
void Elaborator::bindModelNumbers(const ast::ModelDecl &model) {
  for (const ast::Formal &formal : model.formals) {
    const ast::Name &name = formal.name;
    std::optional<Number> number;
    if (frame->values.count(name.text)) {
      error(name.loc, "two parameters are called '" + name.text + "'");
      continue;
    }
    if (auto define = context.inputs.defines.find(name.text); define != context.inputs.defines.end()) {
      llvm::Expected<Number> given = parseNumber(define->second);
      if (given)
        number = types.convert(*given, formal.kind, name, name.loc);
      else
        error(name.loc, "the definition of '" + name.text + "': " + llvm::toString(given.takeError()));
    } else if (formal.defaultValue) {
      if ((number = types.evalNumber(*formal.defaultValue, "the default of '" + name.text + "'")))
        number = types.convert(*number, formal.kind, name, formal.defaultValue->loc);
    } else if (assumedSize != 0) {
      number = assume(formal.kind);
    } else {
      error(name.loc, "parameter '" + name.text + "' of model '" + model.name.text +
                          "' has no value; define it with '-D " + name.text + "=...'");
    }
    values.bind(name, number ? MaybeOperand(*number) : std::nullopt, "number");
  }
  for (auto &[name, id] : frame->global->spaces) {
    const Space &space = builder.space(id);
    if (space.kind != Space::Kind::Static || space.extent != -1)
      continue;
    if (auto size = frame->sizes.find(name); size != frame->sizes.end()) {
      builder.setExtent(id, size->second, model.name.loc);
    } else if (auto define = context.inputs.defines.find(name); define != context.inputs.defines.end()) {
      int64_t extent;
      if (StringRef(define->second).getAsInteger(10, extent))
        error(model.name.loc,
              "the extent of static space '" + name + "' must be an integer, found '" + define->second + "'");
      else
        builder.setExtent(id, extent, model.name.loc);
    } else if (assumedSize != 0) {
      builder.setExtent(id, assumedSize, model.name.loc); // nothing an editor sees depends on it
    }
  }
}

void Elaborator::checkDefines(const ast::ModelDecl &model) {
  std::vector<std::string> known;
  for (const ast::Formal &formal : model.formals)
    known.push_back(formal.name.text);
  for (auto &[name, id] : frame->global->spaces)
    if (builder.space(id).kind == Space::Kind::Static)
      known.push_back(name);
  for (auto &[name, value] : context.inputs.defines)
    if (!llvm::is_contained(known, name))
      error(model.name.loc, "'-D " + name + "=" + value + "' has no effect: model '" + model.name.text +
                                "' has no parameter or static space of that name" + suggestion(name, known));
}
