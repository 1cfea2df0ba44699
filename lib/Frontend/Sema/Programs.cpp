//===- Programs.cpp - Outputs, updates and the programs they make ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Programs.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

/// The name is that of a value from here on. Outputs and metrics are those of a model that is not in training.
void Programs::run(const ast::OutputStmt &output) {
  using Kind = ast::OutputStmt::Kind;
  StringRef what = output.kind == Kind::Output ? "output" : output.kind == Kind::Metric ? "metric" : "loss";
  keepsUpdates = output.kind != Kind::Metric;
  MaybeOperand operand = expressions.eval(*output.value);
  keepsUpdates = true;
  Loc loc = output.name.loc;
  if (!operand)
    return values.bind(output.name, std::nullopt, what);
  record(loc, (what + (output.kind == Kind::Loss ? "" : " " + output.name.text) + ": " + describe(*operand)).str(),
         loc);
  MaybeId id;
  if (auto *sparse = std::get_if<Sparse>(&*operand))
    sparseUnsupported(*sparse, ("as " + Twine(what == "output" ? "an " : "a ") + what).str(), output.value->loc);
  else
    id = dense(*operand, output.value->loc, what);
  if (id && output.kind != Kind::Output &&
      (builder.value(*id).residency != kNone || !builder.value(*id).axes.empty())) {
    error(output.value->loc, "a " + what + " is one shared number, found " + builder.describe(*id) +
                                 "; reduce it, as in 'mean(x, along: all)'");
    id = std::nullopt;
  }
  Binding &binding = frame->values[output.name.text];
  binding = {wrap(id), loc, /*input=*/false};
  if (!id)
    return;
  if (output.kind == Kind::Loss) {
    if (frame->loss) {
      error(loc, "a model has one loss");
      diagnostics.note(*frame->loss, "here");
    }
    frame->loss = loc;
    if (context.training)
      loss = id;
    return;
  }
  if (context.training)
    return;
  if (output.kind == Kind::Output) {
    builder.output(output.name.text, *id, loc);
  } else if (llvm::any_of(metrics, [&](const Output &each) { return each.name == output.name.text; })) {
    error(loc, "there is already a metric '" + output.name.text + "'");
  } else {
    metrics.push_back({output.name.text, *id});
  }
}

void Programs::run(const ast::UpdateStmt &update) {
  MaybeOperand value = expressions.eval(*update.value);
  Loc loc = update.name.loc;
  auto found = frame->values.find(update.name.text);
  if (found == frame->values.end()) {
    std::vector<std::string> known;
    for (auto &each : frame->values)
      known.push_back(each.first().str());
    error(loc, "unknown name '" + update.name.text + "'" + suggestion(update.name.text, known));
    return;
  }
  if (!value || !found->second.operand)
    return;
  auto *state = std::get_if<Dense>(&*found->second.operand);
  if (!state || builder.value(state->id).op != OpCode::State) {
    error(loc, "only states can be updated, but '" + update.name.text + "' is " + describe(*found->second.operand));
    return;
  }
  record(loc, "update " + update.name.text + ": " + describe(*value), found->second.loc);
  MaybeId id = dense(*value, update.value->loc, "an update");
  if (id)
    id = values.shapedAs(*id, state->id, update.value->loc, "state '" + update.name.text + "'");
  if (!id || !context.training || !keepsUpdates)
    return;
  if (llvm::any_of(stateUpdates, [&](const Update &each) { return each.target == state->id; })) {
    error(loc, "state '" + builder.value(state->id).name + "' is updated twice in one step");
    return;
  }
  stateUpdates.push_back({state->id, *id});
}

bool Programs::isTrained(Id param) const {
  return llvm::any_of(paramUpdates, [&](const Update &each) { return each.target == param; });
}

void Programs::finish(const ast::ModelDecl &model) {
  Loc place = model.name.loc;
  for (const ast::Statement &statement : model.body)
    if (auto *output = std::get_if<ast::OutputStmt>(&statement.node);
        output && output->kind == ast::OutputStmt::Kind::Loss && !context.training)
      error(output->name.loc, "nothing minimises this loss; expected a statement 'train OPTIMISER(...)' too, or "
                              "'output loss = ...'");
  if (!metrics.empty())
    builder.program({"evaluate", metrics, {}}, place);
  if (!context.training || diagnostics.errorCount() != 0)
    return;

  Program train{"train_step", {{"loss", *loss}}, paramUpdates};
  llvm::append_range(train.updates, stateUpdates);
  if (MaybeId step = values.findRunState("step")) {
    bool isUpdated = llvm::any_of(train.updates, [&](const Update &each) { return each.target == *step; });
    if (builder.needed(train)[*step] && !isUpdated) {
      MaybeId one = builder.constant(1, place);
      MaybeId next = one ? builder.binary("add", *step, *one, place) : std::nullopt;
      if (next)
        train.updates.push_back({*step, *next});
    }
  }
  builder.program(std::move(train), place);

  // What some program uses is given a value; the seed is what the others are made of.
  Program initialize{"initialize", {}, {}};
  std::vector<bool> needed = builder.needed();
  for (Id id = 0; id < Id(needed.size()); ++id) {
    OpCode op = builder.value(id).op;
    if (!needed[id] || (op != OpCode::Param && op != OpCode::State) || builder.value(id).name == "seed")
      continue;
    if (MaybeId value = initialValues.initialValue(id))
      initialize.updates.push_back({id, *value});
  }
  builder.program(std::move(initialize), place);
}
