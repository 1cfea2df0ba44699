//===- UncalledLayers.cpp - Layers that nobody calls ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls one with an input for each value, on the relation of the prelude. Its sizes are made up, so several are tried,
// and what does not depend on them is believed.
//
//===----------------------------------------------------------------------===//

#include "Sema/UncalledLayers.h"
#include "Sema/Elaborator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

using namespace gnnc::frontend;

void Elaborator::checkUncalled(const Module &module, const ast::LayerDecl &layer, llvm::StringRef anywhere) {
  // What the parser could not read it has told of.
  if (llvm::any_of(layer.formals, [](const ast::Formal &formal) { return formal.name.text.empty(); }))
    return;
  Frame top;
  enterModel(top, module);
  llvm::scope_exit done([&] { frame = nullptr; });
  auto nameExpr = [](const std::string &name) {
    auto expr = std::make_unique<ast::Expr>();
    expr->kind = ast::Expr::Kind::Name;
    expr->name = name;
    return expr;
  };
  ast::Expr call;
  call.kind = ast::Expr::Kind::Call;
  call.name = layer.name.text;
  auto pass = [&](const ast::Formal &formal) {
    call.arguments.push_back({ast::Name{formal.name.text, Loc()}, nameExpr(formal.name.text)});
  };

  assumed = true;
  for (auto &[name, id] : top.global->spaces)
    if (builder.space(id).kind == Space::Kind::Static)
      builder.setExtent(id, assumedSize, Loc());
  for (const ast::Formal &formal : layer.formals) {
    if (formal.kind == ast::Formal::Kind::Value)
      continue;
    std::optional<Number> number;
    if (!formal.defaultValue) {
      number = assume(formal.kind);
      pass(formal);
    } else if ((number = types.evalNumber(*formal.defaultValue, "a default"))) {
      number = types.convert(*number, formal.kind, formal.name, formal.defaultValue->loc);
    }
    if (!number)
      return;
    values.bind(formal.name, Operand(*number), "number");
  }
  for (const ast::Formal &formal : layer.formals) {
    if (formal.kind != ast::Formal::Kind::Value)
      continue;
    std::optional<ast::Name> residency = formal.type.residency;
    if (residency && llvm::StringRef(residency->text).starts_with("any"))
      residency->text = anywhere.str();
    std::optional<Id> space = types.residencyOf(residency);
    for (const ast::AxisType &axis : formal.type.axes)
      if (!axis.size)
        frame->sizes.try_emplace(axis.name->text, assumedSize);
    std::optional<std::vector<Axis>> axes = types.axesOf(formal.type);
    if (!space || !axes)
      return;
    values.bind(formal.name, wrap(builder.input(formal.name.text, *space, *axes, std::nullopt, formal.name.loc)),
                "parameter");
    pass(formal);
  }
  layers.callLayer(call, {&layer, &module});
}

void gnnc::frontend::dropSizes(std::string &text) {
  bool inside = false; // of brackets
  std::string kept;
  for (llvm::StringRef rest = text; !rest.empty();) {
    inside = rest.front() == '[' || (inside && rest.front() != ']');
    llvm::StringRef after = rest;
    if (inside && after.consume_front(" = ")) {
      after = after.drop_while(llvm::isDigit);
      if (after.starts_with(",") || after.starts_with("]")) {
        rest = after;
        continue;
      }
    }
    kept += rest.front();
    rest = rest.drop_front();
  }
  text = kept;
}

static bool sameCause(const Diagnostic &a, const Diagnostic &b) {
  return a.file == b.file && a.loc.line == b.loc.line && a.loc.column == b.loc.column;
}

/// What is said of a layer with all of some sizes and residencies that it may be called with.
static std::vector<Diagnostic> checkLayer(const Sources &sources, Modules &modules, const CompileInputs &inputs,
                                          const Module &module, const ast::LayerDecl &layer, bool training,
                                          std::set<const ast::LayerDecl *> &called) {
  std::vector<Diagnostic> common;
  bool isFirst = true;
  for (int64_t size : {12, 1, 3, 64})
    for (const char *anywhere : {"node", "edge"}) {
      std::vector<Diagnostic> found;
      DiagnosticEngine engine(sources, found);
      Context context(modules, sources, engine, inputs);
      context.training = training;
      Elaborator elaborator(context, size);
      elaborator.checkUncalled(module, layer, anywhere);
      called.insert(elaborator.called().begin(), elaborator.called().end());
      if (isFirst)
        common = std::move(found);
      else
        llvm::erase_if(common, [&](const Diagnostic &each) {
          return llvm::none_of(found, [&](const Diagnostic &other) { return sameCause(each, other); });
        });
      isFirst = false;
      if (common.empty())
        return common;
    }
  return common;
}

std::vector<Diagnostic> gnnc::frontend::checkUncalledLayers(const Sources &sources, Modules &modules,
                                                            const CompileInputs &inputs, const Module &module,
                                                            std::set<const ast::LayerDecl *> called) {
  std::vector<Diagnostic> result;
  for (const ast::LayerDecl &layer : module.ast.layers) {
    if (called.count(&layer))
      continue;
    for (bool training : {false, true})
      for (Diagnostic &each : checkLayer(sources, modules, inputs, module, layer, training, called)) {
        if (llvm::any_of(result, [&](const Diagnostic &other) { return sameCause(each, other); }))
          continue;
        dropSizes(each.message);
        result.push_back(std::move(each));
      }
  }
  return result;
}
