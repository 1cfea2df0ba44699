//===- Frontend.cpp - From a model's text to a ModelSpec ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Frontend/Frontend.h"
#include "Sema/Elaborator.h"
#include "Sema/UncalledLayers.h"
#include "gnnc/Frontend/JSON.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace gnnc::frontend;
using llvm::StringRef;

static Diagnostic failure(const std::string &file, const std::string &message) {
  Diagnostic diagnostic;
  diagnostic.file = file;
  diagnostic.message = message;
  return diagnostic;
}

static std::optional<ModelSpec> loadJSON(const std::string &name, const std::string &text, const CompileInputs &inputs,
                                         std::vector<Diagnostic> &diagnostics) {
  if (!inputs.defines.empty()) {
    diagnostics.push_back(
        failure(name, "a JSON model has no parameters; '-D " + inputs.defines.begin()->first + "' has no effect"));
    return std::nullopt;
  }
  llvm::Expected<ModelSpec> model = readJSON(text);
  if (!model) {
    diagnostics.push_back(failure(name, llvm::toString(model.takeError())));
    return std::nullopt;
  }
  if (!inputs.model.empty() && inputs.model != model->name) {
    diagnostics.push_back(failure(name, "no model '" + inputs.model + "'; this file has '" + model->name + "'"));
    return std::nullopt;
  }
  return std::move(*model);
}

std::optional<ModelSpec> gnnc::frontend::loadModelFromText(const std::string &name, const std::string &text,
                                                           const CompileInputs &inputs,
                                                           std::vector<Diagnostic> &diagnostics) {
  if (StringRef(name).ends_with(".json") || StringRef(text).ltrim().starts_with("{"))
    return loadJSON(name, text, inputs, diagnostics);

  Sources sources;
  DiagnosticEngine engine(sources, diagnostics);
  Modules modules(sources, engine, inputs);
  const Module *module = modules.loadText(name, text);
  if (engine.errorCount() != 0)
    return std::nullopt;
  const ast::ModelDecl *chosen = nullptr;
  for (const ast::ModelDecl &model : module->ast.models)
    if (inputs.model.empty() || model.name.text == inputs.model)
      chosen = &model;
  if (!chosen) {
    std::string known;
    for (const ast::ModelDecl &model : module->ast.models)
      known += (known.empty() ? "" : ", ") + ("'" + model.name.text + "'");
    diagnostics.push_back(failure(name, known.empty()
                                            ? "no model in this file; expected 'model NAME { ... }'"
                                            : "no model '" + inputs.model + "' in this file, found " + known));
    return std::nullopt;
  }
  Context context(modules, sources, engine, inputs);
  Elaborator elaborator(context);
  std::optional<ModelSpec> spec = elaborator.run(*module, *chosen);
  if (!spec)
    return std::nullopt;
  // The program does not depend on these, so what is wrong with them does not keep it from being compiled.
  for (Diagnostic &diagnostic : checkUncalledLayers(sources, modules, inputs, *module, elaborator.called())) {
    diagnostic.severity = Severity::Warning;
    diagnostics.push_back(std::move(diagnostic));
  }
  return spec;
}

std::optional<ModelSpec> gnnc::frontend::loadModel(const CompileInputs &inputs, std::vector<Diagnostic> &diagnostics) {
  std::optional<std::string> text;
  std::string reason;
  if (inputs.readFile) {
    text = inputs.readFile(inputs.mainPath);
  } else if (auto buffer = llvm::MemoryBuffer::getFile(inputs.mainPath)) {
    text = (*buffer)->getBuffer().str();
  } else {
    reason = ": " + buffer.getError().message();
  }
  if (!text) {
    diagnostics.push_back(failure("", "cannot read '" + inputs.mainPath + "'" + reason));
    return std::nullopt;
  }
  return loadModelFromText(inputs.mainPath, *text, inputs, diagnostics);
}
