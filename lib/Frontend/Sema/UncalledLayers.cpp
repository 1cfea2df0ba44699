//===- UncalledLayers.cpp - Layers that nobody calls ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls one with an input for each value, on the relation of the prelude. Its sizes are made up, so the caller tries
// several and believes what does not depend on them.
//
//===----------------------------------------------------------------------===//

#include "Sema/Elaborator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace gnnc::frontend;

void Elaborator::checkUncalled(const Module &module, const ast::LayerDecl &layer) {
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
      residency->text = "node";
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
