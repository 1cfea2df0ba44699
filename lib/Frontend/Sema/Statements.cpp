//===- Statements.cpp - The statements of models and layers ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Statements.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using llvm::Twine;

/// `repeat` may say at most this.
static constexpr int64_t maxRepeat = 4096;

/// The body of a layer: statements, then the expression that is its result.
MaybeOperand Statements::runBody(const std::vector<ast::Statement> &body, Loc end) {
  if (body.empty() || !std::holds_alternative<ast::ExprPtr>(body.back().node)) {
    unsigned before = diagnostics.errorCount();
    runBlock(body);
    if (diagnostics.errorCount() == before)
      error(end, "a layer must end with an expression, which is its result");
    if (auto *let = body.empty() ? nullptr : std::get_if<ast::LetStmt>(&body.back().node); let && let->minus)
      diagnostics.note(*let->minus, "this '-' is subtracted from the statement before it; end that one with ';' or "
                                    "write '(-...)' to start an expression");
    return std::nullopt;
  }
  return runBlock(body);
}

/// Runs statements; the value is that of the last one, if it is an expression.
MaybeOperand Statements::runBlock(const std::vector<ast::Statement> &body) {
  MaybeOperand result;
  for (const ast::Statement &statement : body) {
    if (context.budget.exhausted || diagnostics.full())
      return std::nullopt;
    ++context.budget.steps;
    result = std::nullopt;
    if (auto *let = std::get_if<ast::LetStmt>(&statement.node))
      run(*let);
    else if (auto *value = std::get_if<ast::ValueDecl>(&statement.node))
      values.declare(*value);
    else if (auto *output = std::get_if<ast::OutputStmt>(&statement.node))
      programs.run(*output);
    else if (auto *update = std::get_if<ast::UpdateStmt>(&statement.node))
      programs.run(*update);
    else if (auto *train = std::get_if<ast::TrainStmt>(&statement.node))
      optimisers.run(*train);
    else if (auto *instance = std::get_if<ast::InstanceStmt>(&statement.node))
      layers.declareInstance(*instance);
    else if (auto *repeat = std::get_if<ast::RepeatStmt>(&statement.node))
      run(*repeat);
    else if (auto *space = std::get_if<ast::SpaceDecl>(&statement.node)) {
      if (selections.isOfValues(*space))
        selections.declare(*space);
      else
        spacesAndMaps.declare(*space);
    } else if (auto *map = std::get_if<ast::MapDecl>(&statement.node))
      spacesAndMaps.declare(*map);
    else if (auto *expr = std::get_if<ast::ExprPtr>(&statement.node)) {
      if (&statement != &body.back())
        error((*expr)->loc, "only the last statement of a layer is an expression; the value of this one is not used");
      result = expressions.eval(**expr);
    }
  }
  return result;
}

void Statements::run(const ast::LetStmt &let) {
  MaybeOperand operand;
  if (let.value)
    operand = expressions.eval(*let.value);
  values.bind(let.name, std::move(operand), "let");
}

void Statements::run(const ast::RepeatStmt &repeat) {
  std::optional<Number> count = types.evalNumber(*repeat.count, "the count of 'repeat'");
  if (!count)
    return;
  if (!count->isInt() || count->integer < 0 || count->integer > maxRepeat) {
    error(repeat.count->loc,
          "the count of 'repeat' must be an integer from 0 to " + Twine(maxRepeat) + ", found " + count->str());
    return;
  }
  ++frame->repeats;
  for (int64_t i = 0; i < count->integer && !context.budget.exhausted && !diagnostics.full(); ++i) {
    ++context.budget.steps;
    runBlock(repeat.body);
  }
  --frame->repeats;
}
