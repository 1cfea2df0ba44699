//===- TextAnalysis.cpp - What an editor wants to know of a text ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Editor/DropSizes.h"
#include "Sema/Elaborator.h"
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

void gnnc::frontend::dropSizes(std::string &text) {
  size_t at = text.find('[');
  while ((at = text.find(" = ", at)) != std::string::npos)
    text.erase(at, text.find_first_of(",]", at) - at);
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

/// Elaborates with two assumptions about unknown sizes, and keeps the errors that both lead to.
template <typename F>
static void attempt(const Sources &sources, Modules &modules, const CompileInputs &inputs, Analysis &result,
                    std::set<const ast::LayerDecl *> &called, bool training, F elaborate) {
  std::vector<Diagnostic> found[2];
  std::vector<Occurrence> occurrences;
  bool assumed = false;
  for (int round = 0; round < (assumed ? 2 : 1); ++round) {
    DiagnosticEngine engine(sources, found[round]);
    Context context(modules, sources, engine, inputs);
    OccurrenceObserver observer(context, occurrences);
    if (round == 0)
      context.observer = &observer;
    context.training = training;
    Elaborator elaborator(context, /*assumedSize=*/round == 0 ? 12 : 1);
    elaborate(elaborator);
    assumed |= elaborator.hasAssumed();
    called.insert(elaborator.called().begin(), elaborator.called().end());
  }
  auto sameAs = [](const Diagnostic &a) {
    return [&a](const Diagnostic &b) {
      return a.file == b.file && a.loc.line == b.loc.line && a.loc.column == b.loc.column;
    };
  };
  for (Diagnostic &diagnostic : found[0]) {
    bool known = llvm::any_of(result.diagnostics, sameAs(diagnostic));
    if (!known && (!assumed || llvm::any_of(found[1], sameAs(diagnostic))))
      result.diagnostics.push_back(diagnostic);
  }
  for (Occurrence &occurrence : occurrences) {
    if (assumed)
      dropSizes(occurrence.text);
    result.occurrences.push_back(std::move(occurrence));
  }
}

Analysis gnnc::frontend::analyzeText(const std::string &name, const std::string &text, const CompileInputs &inputs) {
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
  // Each model on its own, as if compiled alone; then the layers that none of them calls.
  std::set<const ast::LayerDecl *> called;
  for (const ast::ModelDecl &model : module->ast.models) {
    CompileInputs own = inputs;
    own.model = model.name.text;
    if (inputs.model != model.name.text)
      own.defines.clear(); // they belong to one model; the others would not know them
    attempt(sources, modules, own, result, called, /*training=*/false,
            [&](Elaborator &elaborator) { elaborator.run(*module, model); });
  }
  for (const ast::LayerDecl &layer : module->ast.layers)
    if (!called.count(&layer))
      for (bool training : {false, true})
        attempt(sources, modules, inputs, result, called, training,
                [&](Elaborator &elaborator) { elaborator.checkUncalled(*module, layer); });

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
