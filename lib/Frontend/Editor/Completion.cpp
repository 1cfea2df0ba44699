//===- Completion.cpp - What may stand at a place of a text ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The word at the cursor is replaced by one that nobody else uses, and the text is elaborated as ever. Where the
// elaborator meets that word it tells an observer, who asks what else would be found there: the values of the frame,
// the maps that lead to a value's space, the axes of the first argument. An unfinished statement does not parse, so
// some ways to finish it are tried in turn, until the elaborator meets the word.
//
//===----------------------------------------------------------------------===//

#include "Sema/Elaborator.h"
#include "Sema/UncalledLayers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;
using Kind = Completion::Kind;

static constexpr llvm::StringLiteral kCursor = "gnnc_cursor";

//===----------------------------------------------------------------------===//
// What elaboration tells where it meets the cursor
//===----------------------------------------------------------------------===//

namespace {

/// Offers what else would be found where the word at the cursor is looked up.
class CompletionObserver : public ElaborationObserver {
public:
  explicit CompletionObserver(std::vector<Completion> &completions) : completions(completions) {}

  bool isPlaceholder(StringRef name) const override { return name == kCursor; }
  void onValue(const ElaborationView &view) override;
  void onMove(const ElaborationView &view, const Operand &x) override;
  void onPath(const ElaborationView &view, Id at) override;
  void onRelationMap(const ElaborationView &view, StringRef relation) override;
  void onSpace(const ElaborationView &view) override;
  void onRelation(const ElaborationView &view) override;
  void onSize(const ElaborationView &view) override;
  void onAxis(const ElaborationView &view, const Operand &x) override;
  void onCall(const ast::Expr &call, const ast::LayerDecl *layer) override;

private:
  void offer(Kind kind, const Twine &label, const Twine &detail) {
    completions.push_back({kind, label.str(), detail.str()});
  }
  void offerMap(const ElaborationView &view, StringRef name, Id map);

  std::vector<Completion> &completions;
};

} // namespace

/// The words before a colon in `sum(x, along: map, over: axes)`, each with what comes after it.
static void forEachNamed(StringRef usage, llvm::function_ref<void(StringRef name, StringRef value)> visit) {
  for (size_t colon = usage.find(": "); colon != StringRef::npos; colon = usage.find(": ", colon + 1)) {
    size_t begin = usage.find_last_of(" (", colon) + 1, end = usage.find_first_of(",)", colon);
    visit(usage.slice(begin, colon), usage.slice(colon + 2, end));
  }
}

static std::string signatureOf(const ast::LayerDecl &layer) {
  std::string text = layer.name.text + "(";
  for (const ast::Formal &formal : layer.formals) {
    static constexpr const char *kinds[] = {"", ": int", ": float", ": bool"};
    text += (&formal == &layer.formals.front() ? "" : ", ") + formal.name.text + kinds[int(formal.kind)];
  }
  return text + ")";
}

void CompletionObserver::onValue(const ElaborationView &view) {
  std::set<std::string> known;
  for (auto &each : view.context.frame->values) {
    known.insert(each.first().str());
    if (each.second.operand)
      offer(Kind::Value, each.first(), view.context.describe(*each.second.operand));
  }
  for (auto &each : view.context.frame->sizes)
    if (!known.count(each.first().str()))
      offer(Kind::Axis, each.first(), "axis = " + Twine(each.second));
  for (auto &[name, id] : view.context.frame->global->spaces)
    if (id != kNone && view.context.builder.space(id).kind == Space::Kind::Static)
      offer(Kind::Space, name, "static space");
  offer(Kind::Value, "training", "bool");
  offer(Kind::Value, "step", "shared[]");
  for (auto &each : view.context.frame->shared)
    if (each.second)
      offer(Kind::Layer, each.first(), "instance of " + signatureOf(*each.second->layer.decl));
  for (const std::string &name : view.context.modules.layerNames(*view.context.frame->module))
    if (Found<ast::LayerDecl> layer = view.context.modules.findLayer(*view.context.frame->module, name))
      offer(Kind::Layer, name, signatureOf(*layer.decl));
  for (const std::string &name : builtinNames())
    offer(Kind::Function, name, builtinUsage(name));
}

/// What moves a value that resides on `residency`: maps that lead there, and spaces from which one chain of them does.
/// A shared value is everywhere.
void CompletionObserver::onMove(const ElaborationView &view, const Operand &x) {
  Id residency = view.context.residencyOf(x);
  for (auto &[name, map] : view.scopes.visibleMaps()) {
    Id to = view.context.builder.map(map).to;
    if (residency == kNone || to == residency || view.paths.uniquePath(to, residency, Loc(), /*quiet=*/true))
      offerMap(view, name, map);
  }
  for (auto &[name, space] : view.scopes.visibleSpaces())
    if (residency != kNone && space != residency && view.paths.uniquePath(space, residency, Loc(), /*quiet=*/true))
      offer(Kind::Space, name, "space");
}

void CompletionObserver::offerMap(const ElaborationView &view, StringRef name, Id map) {
  const Map &known = view.context.builder.map(map);
  offer(Kind::Map, name,
        "map " + view.scopes.nameOfSpace(known.from) + " -> " + view.scopes.nameOfSpace(known.to) +
            (known.partial ? " partial" : ""));
}

/// The maps that a path may begin with, where it has come to `at` (kUndefined: begins anywhere).
void CompletionObserver::onPath(const ElaborationView &view, Id at) {
  if (at != kUndefined)
    offer(Kind::Map, "all", "everything");
  for (auto &[name, map] : view.scopes.visibleMaps()) {
    Id from = view.context.builder.map(map).from;
    if (at == kUndefined || at == kNone || from == at || view.paths.uniquePath(at, from, Loc(), /*quiet=*/true))
      offerMap(view, name, map);
  }
}

void CompletionObserver::onRelationMap(const ElaborationView &view, StringRef relation) {
  for (const char *end : {"src", "dst"})
    offer(Kind::Map, end, "map of relation " + relation);
}

void CompletionObserver::onSpace(const ElaborationView &view) {
  offer(Kind::Space, "shared", "the same for all");
  for (auto &[name, space] : view.scopes.visibleSpaces())
    offer(Kind::Space, name, "space");
}

void CompletionObserver::onRelation(const ElaborationView &view) {
  std::set<std::string> names = {"edge"};
  visitModules(*view.context.frame->module, [&](const Module &module) {
    for (const ast::RelationDecl &relation : module.ast.relations)
      names.insert(relation.name.text);
    return false;
  });
  for (auto &each : view.context.frame->global->relations)
    names.insert(each.first);
  for (const std::string &name : names)
    offer(Kind::Space, name, "relation");
}

void CompletionObserver::onSize(const ElaborationView &view) {
  for (auto &each : view.context.frame->sizes)
    offer(Kind::Axis, each.first(), "axis = " + Twine(each.second));
}

void CompletionObserver::onAxis(const ElaborationView &view, const Operand &x) {
  if (auto *value = std::get_if<Dense>(&x))
    for (const Axis &axis : view.context.builder.value(value->id).axes)
      offer(Kind::Axis, axis.name, "axis = " + Twine(axis.size));
  if (auto *sparse = std::get_if<Sparse>(&x))
    offer(Kind::Axis, sparse->axis, "axis");
}

/// The names of a call's arguments, where the cursor may begin one.
void CompletionObserver::onCall(const ast::Expr &call, const ast::LayerDecl *layer) {
  auto isHere = [&](const ast::Argument &argument) {
    return argument.name ? isPlaceholder(argument.name->text)
                         : argument.value->kind == ast::Expr::Kind::Name && isPlaceholder(argument.value->name);
  };
  if (llvm::none_of(call.arguments, isHere))
    return;
  auto isGiven = [&](StringRef name) {
    return llvm::any_of(call.arguments,
                        [&](const ast::Argument &each) { return each.name && each.name->text == name; });
  };
  if (layer) {
    static constexpr const char *kinds[] = {"value", "int", "float", "bool"};
    for (const ast::Formal &formal : layer->formals)
      if (!isGiven(formal.name.text))
        offer(Kind::Argument, formal.name.text + ":",
              Twine(kinds[int(formal.kind)]) + (formal.defaultValue ? ", optional" : ""));
    return;
  }
  forEachNamed(builtinUsage(call.name), [&](StringRef name, StringRef value) {
    if (!isGiven(name))
      offer(Kind::Argument, name + ":", value);
  });
}

//===----------------------------------------------------------------------===//
// The text around the cursor
//===----------------------------------------------------------------------===//

namespace {

bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }

/// The text cut where the word at the cursor stands.
struct Place {
  StringRef before, word, after;
  std::string closers; ///< of the brackets that are open before the word, innermost first
  bool isComment = false;
  bool isStatement = false; ///< the word may begin one

  static Place find(StringRef text, unsigned line, unsigned column);
};

} // namespace

Place Place::find(StringRef text, unsigned line, unsigned column) {
  size_t at = 0;
  for (unsigned i = 1; i < line && at != StringRef::npos; ++i)
    at = text.find('\n', at) == StringRef::npos ? text.size() : text.find('\n', at) + 1;
  at = std::min<size_t>(at + (column ? column - 1 : 0), text.size());
  size_t begin = at, end = at;
  while (begin > 0 && isWordCharacter(text[begin - 1]))
    --begin;
  while (end < text.size() && isWordCharacter(text[end]))
    ++end;
  Place place{text.take_front(begin), text.slice(begin, end), text.drop_front(end), "", false, false};

  StringRef rest = place.before;
  char last = '\n';
  while (!rest.empty()) {
    if (rest.starts_with("//") || rest.starts_with("/*")) {
      StringRef close = rest[1] == '/' ? "\n" : "*/";
      size_t after = rest.find(close, 2);
      place.isComment = after == StringRef::npos;
      rest = place.isComment ? "" : rest.drop_front(after + (close == "\n" ? 0 : 2));
      continue;
    }
    char c = rest.front();
    if (c == '(' || c == '[')
      place.closers.insert(place.closers.begin(), c == '(' ? ')' : ']');
    else if ((c == ')' || c == ']') && !place.closers.empty())
      place.closers.erase(place.closers.begin());
    else if (c == '{' || c == '}')
      place.closers.clear();
    if (c == '\n' || !llvm::isSpace(c))
      last = c;
    rest = rest.drop_front();
  }
  place.isStatement = place.closers.empty() && (last == '\n' || last == '{' || last == '}' || last == ';');
  return place;
}

static void offerKeywords(std::vector<Completion> &found) {
  static constexpr std::pair<const char *, const char *> keywords[] = {{"let", "let name = value"},
                                                                       {"param", "param name: space[axes]"},
                                                                       {"state", "state name: space[axes]"},
                                                                       {"input", "input name: space[axes]"},
                                                                       {"output", "output name = value"},
                                                                       {"loss", "loss = value"},
                                                                       {"metric", "metric name = value"},
                                                                       {"update", "update state = value"},
                                                                       {"train", "train OPTIMISER(...)"},
                                                                       {"instance", "instance name = LAYER(...)"},
                                                                       {"repeat", "repeat count { ... }"},
                                                                       {"space", "space name = ..."},
                                                                       {"map", "map name = ..."}};
  for (auto [word, usage] : keywords)
    found.push_back({Kind::Keyword, word, usage});
}

/// After `space name =`: how a space is made, and what its arguments are called.
static void offerSpaceMakers(const Place &place, std::vector<Completion> &found) {
  static constexpr std::pair<const char *, const char *> makers[] = {
      {"filter", "filter(space, condition)"},
      {"union", "union(space, ...)"},
      {"distinct", "distinct(map, ...)"},
      {"pairs", "pairs(map, map)"},
      {"knn", "knn(x, k: count, of: value, along: map, self: bool)"},
      {"radius", "radius(x, r: number, max: count, of: value, along: map, self: bool)"},
      {"topk", "topk(score, k: count, ratio: number, along: map)"},
      {"fps", "fps(x, k: count, ratio: number, along: map, start: score)"}};
  StringRef line = place.before.substr(place.before.rfind('\n') + 1).ltrim();
  auto [name, made] = line.split('=');
  if (!name.starts_with("space ") || !line.contains('='))
    return;
  made = made.trim();
  for (auto [word, usage] : makers) {
    if (made.empty())
      found.push_back({Kind::Function, word, usage});
    else if (place.closers == ")" && made.ends_with(",") && made.starts_with((Twine(word) + "(").str()))
      forEachNamed(usage, [&](StringRef argument, StringRef value) {
        if (!made.contains((" " + argument + ":").str()))
          found.push_back({Kind::Argument, (argument + ":").str(), value.str()});
      });
  }
}

/// What sizes that nobody knows are taken to be.
static constexpr int64_t assumedSize = 12;

/// Elaborates models, then layers that none calls, until the cursor is met.
static std::vector<Completion> tryText(const std::string &name, const std::string &text, const CompileInputs &inputs) {
  std::vector<Completion> found;
  std::vector<Diagnostic> ignored;
  Sources sources;
  DiagnosticEngine engine(sources, ignored);
  Modules modules(sources, engine, inputs);
  const Module *module = modules.loadText(name, text);
  auto attempt = [&](llvm::function_ref<void(Elaborator &)> elaborate) {
    if (!found.empty())
      return;
    std::vector<Diagnostic> more;
    DiagnosticEngine own(sources, more);
    CompletionObserver observer(found);
    Context context(modules, sources, own, inputs);
    context.observer = &observer;
    Elaborator elaborator(context, assumedSize);
    elaborate(elaborator);
    if (!elaborator.hasAssumed())
      return;
    std::string unknown = " = " + std::to_string(assumedSize);
    for (Completion &completion : found) {
      dropSizes(completion.detail);
      if (llvm::StringRef(completion.detail).ends_with(unknown))
        completion.detail.resize(completion.detail.size() - unknown.size());
    }
  };
  for (const ast::ModelDecl &model : module->ast.models)
    attempt([&](Elaborator &elaborator) { elaborator.run(*module, model); });
  for (const ast::LayerDecl &layer : module->ast.layers)
    attempt([&](Elaborator &elaborator) { elaborator.checkUncalled(*module, layer); });
  return found;
}

std::vector<Completion> gnnc::frontend::completeText(const std::string &name, const std::string &text, unsigned line,
                                                     unsigned column, const CompileInputs &inputs) {
  Place place = Place::find(text, line, column);
  std::vector<Completion> found;
  if (place.isComment || llvm::StringRef(name).ends_with(".json"))
    return found;
  // As it stands; with the rest of the line taken away and brackets closed; as an axis to slice; as a type or argument.
  StringRef nextLine = place.after.drop_front(std::min(place.after.find('\n'), place.after.size()));
  std::string closed = place.closers + nextLine.str();
  for (const std::string &rest :
       {place.after.str(), closed, ": 0..1" + closed, ": 0" + closed, "[]" + closed, " = 0" + closed}) {
    found = tryText(name, (place.before + kCursor + rest).str(), inputs);
    if (!found.empty())
      break;
  }
  if (place.isStatement)
    offerKeywords(found);
  offerSpaceMakers(place, found);
  std::set<std::string> seen;
  llvm::erase_if(found, [&](const Completion &each) { return !seen.insert(each.label).second; });
  return found;
}
