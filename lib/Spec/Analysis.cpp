//===- Analysis.cpp - What an editor wants to know of a text --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elaborator.h"
#include "gnnc/Spec/JSON.h"

#include <map>

using namespace gnnc::spec;

const Occurrence *Analysis::find(unsigned line, unsigned column) const {
  const Occurrence *best = nullptr;
  for (const Occurrence &each : occurrences)
    if (each.loc.line == line && column >= each.loc.column && column < each.loc.column + each.loc.length)
      best = &each;
  return best;
}

Analysis gnnc::spec::analyzeText(const std::string &name, const std::string &text, const CompileInputs &inputs) {
  Analysis result;
  if (llvm::StringRef(name).ends_with(".json")) {
    if (llvm::Expected<ModelSpec> model = readJSON(text); !model) {
      Diagnostic diagnostic;
      diagnostic.file = name;
      diagnostic.message = llvm::toString(model.takeError());
      result.diagnostics.push_back(diagnostic);
    }
    return result;
  }
  Sources sources;
  DiagnosticEngine engine(sources, result.diagnostics);
  Modules modules(sources, engine, inputs);
  const Module *module = modules.loadText(name, text);
  // Each model on its own, as if compiled alone; a later one does not repeat what an earlier one has said.
  for (const ast::ModelDecl &model : module->ast.models) {
    CompileInputs own = inputs;
    own.model = model.name.text;
    own.defines.clear(); // they belong to one model; the others would not know them
    if (inputs.model == model.name.text)
      own.defines = inputs.defines;
    Elaborator elaborator(modules, sources, engine, own);
    elaborator.occurrences = &result.occurrences;
    elaborator.run(*module, model);
  }
  // In order of place, those of one place in the order they were met.
  std::multimap<std::pair<unsigned, unsigned>, Occurrence> ordered;
  for (Occurrence &each : result.occurrences)
    if (each.loc.file == module->file)
      ordered.emplace(std::pair(each.loc.line, each.loc.column), std::move(each));
  result.occurrences.clear();
  for (auto &each : ordered)
    result.occurrences.push_back(std::move(each.second));
  return result;
}
