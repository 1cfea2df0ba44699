//===- TextAnalysis.cpp - What an editor wants to know of a text ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Elaborator.h"
#include "Sema/UncalledLayers.h"
#include "gnnc/Frontend/JSON.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace gnnc::frontend;

const Occurrence *Analysis::find(unsigned line, unsigned column) const {
  const Occurrence *best = nullptr;
  for (const Occurrence &each : occurrences)
    if (each.loc.line == line && column >= each.loc.column && column < each.loc.column + each.loc.length)
      best = &each;
  return best;
}

namespace {

/// Keeps what names mean. What a model's first elaboration has told is not told again by that of its training.
class OccurrenceObserver : public ElaborationObserver {
public:
  OccurrenceObserver(const Context &context, std::vector<Occurrence> &occurrences)
      : context(context), occurrences(occurrences) {}

  void onMeaning(Loc loc, const std::string &text, std::optional<Loc> definition) override {
    if (bool isNew = told.insert({loc.file, loc.line, loc.column}).second; context.training && !isNew)
      return;
    Occurrence occurrence;
    occurrence.loc = loc;
    occurrence.text = text;
    if (definition && definition->line != 0) {
      occurrence.definition = definition;
      occurrence.definitionFile = context.sources[definition->file].path;
    }
    occurrences.push_back(std::move(occurrence));
  }

private:
  const Context &context;
  std::vector<Occurrence> &occurrences;
  std::set<std::tuple<unsigned, unsigned, unsigned>> told;
};

} // namespace

static bool sameCause(const Diagnostic &a, const Diagnostic &b) {
  return a.file == b.file && a.loc.line == b.loc.line && a.loc.column == b.loc.column;
}

namespace {

/// Elaborates the parts of one text, and keeps what they say.
class Analyser {
public:
  Analyser(const Sources &sources, Modules &modules, const Module &module, bool isIncomplete, Analysis &result)
      : sources(sources), modules(modules), module(module), result(result), isIncomplete(isIncomplete) {}

  void analyse(const ast::ModelDecl &model, const CompileInputs &inputs);
  void analyseUncalledLayers(const CompileInputs &inputs);

private:
  /// Elaborates something once; whether that needed the size that is assumed for unknown ones.
  template <typename F>
  bool elaborate(const CompileInputs &inputs, int64_t assumedSize, bool training, std::vector<Diagnostic> &found,
                 std::vector<Occurrence> *occurrences, F function) {
    DiagnosticEngine engine(sources, found);
    Context context(modules, sources, engine, inputs);
    std::optional<OccurrenceObserver> observer;
    if (occurrences)
      context.observer = &observer.emplace(context, *occurrences);
    context.training = training;
    context.isIncomplete = isIncomplete;
    Elaborator elaborator(context, assumedSize);
    function(elaborator);
    called.insert(elaborator.called().begin(), elaborator.called().end());
    return elaborator.hasAssumed();
  }

  void keep(Diagnostic diagnostic) {
    if (isIncomplete && diagnostic.severity == Severity::Warning)
      return;
    if (llvm::none_of(result.diagnostics, [&](const Diagnostic &each) { return sameCause(each, diagnostic); }))
      result.diagnostics.push_back(std::move(diagnostic));
  }
  void keep(std::vector<Occurrence> occurrences, bool assumed) {
    for (Occurrence &occurrence : occurrences) {
      if (assumed)
        dropSizes(occurrence.text);
      result.occurrences.push_back(std::move(occurrence));
    }
  }

  const Sources &sources;
  Modules &modules;
  const Module &module;
  Analysis &result;
  bool isIncomplete; ///< statements are missing, so what seems unused may be used by these
  std::set<const ast::LayerDecl *> called;
};

} // namespace

/// With two assumptions about unknown sizes. What both lead to is said.
void Analyser::analyse(const ast::ModelDecl &model, const CompileInputs &inputs) {
  auto run = [&](Elaborator &elaborator) { elaborator.run(module, model); };
  std::vector<Diagnostic> found, others;
  std::vector<Occurrence> occurrences;
  bool assumed = elaborate(inputs, 12, /*training=*/false, found, &occurrences, run);
  if (assumed)
    elaborate(inputs, 1, /*training=*/false, others, nullptr, run);
  for (Diagnostic &diagnostic : found)
    if (!assumed || llvm::any_of(others, [&](const Diagnostic &each) { return sameCause(each, diagnostic); }))
      keep(diagnostic);
  keep(std::move(occurrences), assumed);
}

void Analyser::analyseUncalledLayers(const CompileInputs &inputs) {
  for (Diagnostic &diagnostic : checkUncalledLayers(sources, modules, inputs, module, called))
    keep(std::move(diagnostic));
  for (const ast::LayerDecl &layer : module.ast.layers)
    if (!called.count(&layer))
      for (bool training : {false, true}) {
        std::vector<Diagnostic> ignored;
        std::vector<Occurrence> occurrences;
        elaborate(inputs, 12, training, ignored, &occurrences,
                  [&](Elaborator &elaborator) { elaborator.checkUncalled(module, layer); });
        keep(std::move(occurrences), /*assumed=*/true);
      }
}

Analysis gnnc::frontend::analyzeText(const std::string &name, const std::string &text, const CompileInputs &inputs) {
  Analysis result;
  if (llvm::StringRef(name).ends_with(".json") || llvm::StringRef(text).ltrim().starts_with("{")) {
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
  // Each model on its own, as if compiled alone; then the layers that none of them calls.
  Analyser analyser(sources, modules, *module, /*isIncomplete=*/engine.errorCount() != 0, result);
  for (const ast::ModelDecl &model : module->ast.models) {
    CompileInputs own = inputs;
    own.model = model.name.text;
    // They belong to one model, the last if none is named; the others would not know them.
    if (inputs.model.empty() ? &model != &module->ast.models.back() : inputs.model != model.name.text)
      own.defines.clear();
    analyser.analyse(model, own);
  }
  analyser.analyseUncalledLayers(inputs);

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
