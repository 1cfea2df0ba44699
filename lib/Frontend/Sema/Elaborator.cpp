//===- Elaborator.cpp - Models and their statements -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Elaborator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

/// `repeat` may say at most this.
static constexpr int64_t maxRepeat = 4096;

Elaborator::Elaborator(Modules &modules, const Sources &sources, DiagnosticEngine &diagnostics,
                       const CompileInputs &inputs)
    : modules(modules), sources(sources), diagnostics(diagnostics), inputs(inputs),
      builder([&diagnostics](Loc loc, const std::string &message) { diagnostics.error(loc, message); }) {
  // Layers speak of these, whatever file they are in.
  builder.mayHide = [](StringRef name) { return name != "node" && name != "edge" && name != "src" && name != "dst"; };
  builder.moveHint = [this](Id from, Id to) {
    std::string hint;
    if (!frame)
      return hint;
    for (auto &[name, map] : visibleMaps())
      if (builder.map(map).to == from && builder.map(map).from == to && !builder.map(map).partial)
        hint += (hint.empty() ? "." : " or .") + name;
    if (hint.empty() && uniquePath(to, from, Loc(), /*quiet=*/true))
      hint = "." + nameOfSpace(to);
    return hint;
  };
}

std::nullopt_t Elaborator::error(Loc loc, const Twine &message) {
  diagnostics.error(loc, message);
  return std::nullopt;
}

void Elaborator::record(Loc loc, const std::string &text, std::optional<Loc> definition) {
  if (!occurrences || loc.line == 0)
    return;
  // What the first elaboration has told is not told again.
  if (bool isNew = recorded.insert({loc.file, loc.line, loc.column}).second; training && !isNew)
    return;
  Occurrence occurrence;
  occurrence.loc = loc;
  occurrence.text = text;
  if (definition && definition->line != 0) {
    occurrence.definition = definition;
    occurrence.definitionFile = sources[definition->file].path;
  }
  occurrences->push_back(std::move(occurrence));
}

/// `; did you mean 'x'?` where a known name is close.
std::string Elaborator::suggestion(StringRef name, const std::vector<std::string> &known) {
  std::string best;
  // Few letters apart, and not all of them.
  unsigned bound = std::min<size_t>(name.size() <= 2 ? 2 : name.size() <= 6 ? 3 : 4, name.size());
  for (const std::string &each : known) {
    unsigned distance = name.edit_distance(each, /*AllowReplacements=*/true, bound);
    if (distance < bound) {
      bound = distance;
      best = each;
    }
  }
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// Sets up the frame of a model. The relation in force in it is the one that `edge`, `src` and `dst` name.
void Elaborator::enterModel(Frame &top, const Module &module) {
  top.module = &module;
  top.global = &scopeOf(module);
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
  steps = 0;
  bindModelNumbers(model);
  checkDefines(model);
  // Without its numbers a model has other errors. An editor shows what it can.
  if (diagnostics.errorCount() != 0 && assumedSize == 0)
    return false;
  runBlock(model.body);
  return diagnostics.errorCount() == 0;
}

std::optional<ModelSpec> Elaborator::run(const Module &module, const ast::ModelDecl &model) {
  record(model.name.loc, "model " + model.name.text, model.name.loc);
  training = false;
  if (!elaborate(module, model))
    return std::nullopt;
  auto isTrain = [](const ast::Statement &statement) { return std::holds_alternative<ast::TrainStmt>(statement.node); };
  training = llvm::any_of(model.body, isTrain);
  if (training && !elaborate(module, model))
    return std::nullopt;
  finishPrograms(model);
  if (diagnostics.errorCount() != 0)
    return std::nullopt;
  for (const ast::Name &name : inputNames)
    if (!usedInputs.count(name.text))
      diagnostics.warning(name.loc, "input '" + name.text + "' is not used");
  if (builder.spec().outputs.empty())
    return error(model.name.loc, "model '" + model.name.text +
                                     "' has no output; expected a statement 'output name = "
                                     "...'");
  return builder.finish(model.name.text, /*doublePrecision=*/false, sources.paths());
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
    if (auto define = inputs.defines.find(name.text); define != inputs.defines.end()) {
      llvm::Expected<Number> given = parseNumber(define->second);
      if (given)
        number = convert(*given, formal.kind, name, name.loc);
      else
        error(name.loc, "the definition of '" + name.text + "': " + llvm::toString(given.takeError()));
    } else if (formal.defaultValue) {
      if ((number = evalNumber(*formal.defaultValue, "the default of '" + name.text + "'")))
        number = convert(*number, formal.kind, name, formal.defaultValue->loc);
    } else if (assumedSize != 0) {
      number = assume(formal.kind);
    } else {
      error(name.loc, "parameter '" + name.text + "' of model '" + model.name.text +
                          "' has no value; define it with '-D " + name.text + "=...'");
    }
    bind(name, number ? MaybeOperand(*number) : std::nullopt, "number");
  }
  for (auto &[name, id] : frame->global->spaces) {
    const Space &space = builder.space(id);
    if (space.kind != Space::Kind::Static || space.extent != -1)
      continue;
    if (auto size = frame->sizes.find(name); size != frame->sizes.end()) {
      builder.setExtent(id, size->second, model.name.loc);
    } else if (auto define = inputs.defines.find(name); define != inputs.defines.end()) {
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
  for (auto &[name, value] : inputs.defines)
    if (!llvm::is_contained(known, name))
      error(model.name.loc, "'-D " + name + "=" + value + "' defines nothing: model '" + model.name.text +
                                "' has no parameter and sees no static space of that name" + suggestion(name, known));
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// The body of a layer: statements, then the expression that is its result.
MaybeOperand Elaborator::runBody(const std::vector<ast::Statement> &body, Loc end) {
  if (body.empty() || !std::holds_alternative<ast::ExprPtr>(body.back().node)) {
    runBlock(body);
    return error(end, "a layer ends with the expression that is its result");
  }
  return runBlock(body);
}

/// Runs statements; the value is that of the last one, if it is an expression.
MaybeOperand Elaborator::runBlock(const std::vector<ast::Statement> &body) {
  MaybeOperand result;
  for (const ast::Statement &statement : body) {
    if (exhausted || diagnostics.full())
      return std::nullopt;
    ++steps;
    result = std::nullopt;
    if (auto *let = std::get_if<ast::LetStmt>(&statement.node))
      run(*let);
    else if (auto *value = std::get_if<ast::ValueDecl>(&statement.node))
      run(*value);
    else if (auto *output = std::get_if<ast::OutputStmt>(&statement.node))
      run(*output);
    else if (auto *update = std::get_if<ast::UpdateStmt>(&statement.node))
      run(*update);
    else if (auto *train = std::get_if<ast::TrainStmt>(&statement.node))
      run(*train);
    else if (auto *repeat = std::get_if<ast::RepeatStmt>(&statement.node))
      run(*repeat);
    else if (auto *space = std::get_if<ast::SpaceDecl>(&statement.node))
      declare(*space);
    else if (auto *map = std::get_if<ast::MapDecl>(&statement.node))
      declare(*map);
    else if (auto *expr = std::get_if<ast::ExprPtr>(&statement.node)) {
      if (&statement != &body.back())
        error((*expr)->loc, "only the last statement of a layer is an expression; the value of this one is not used");
      result = eval(**expr);
    }
  }
  return result;
}

/// Names a value in this frame. Integers are sizes too.
void Elaborator::bind(const ast::Name &name, MaybeOperand operand, StringRef what) {
  if (operand) {
    record(name.loc, (what + " " + name.text + ": " + describe(*operand)).str(), name.loc);
    if (auto *number = std::get_if<Number>(&*operand); number && number->isInt())
      frame->sizes[name.text] = number->integer;
  }
  Binding &binding = frame->values[name.text];
  binding.operand = std::move(operand);
  binding.loc = name.loc;
  binding.input = what == "input";
}

void Elaborator::run(const ast::LetStmt &let) {
  MaybeOperand operand;
  if (let.value)
    operand = eval(*let.value);
  bind(let.name, std::move(operand), "let");
}

/// A name that is not taken. An automatic one, and one inside `repeat`, gets a number from the second use on.
std::string Elaborator::fresh(llvm::StringMap<Loc> &taken, const ast::Name &name, StringRef what, bool automatic) {
  std::string text = name.text;
  if (automatic || frame->repeats > 0) {
    unsigned &count = frame->counts[what.str() + ":" + name.text];
    do
      text = ++count == 1 ? name.text : name.text + std::to_string(count);
    while (taken.count(text));
  }
  if (auto [earlier, isNew] = taken.try_emplace(text, name.loc); !isNew) {
    error(name.loc, what + " '" + text + "' exists already");
    diagnostics.note(earlier->second, "here");
    return "";
  }
  return text;
}

void Elaborator::run(const ast::ValueDecl &decl) {
  using Kind = ast::ValueDecl::Kind;
  StringRef what = decl.kind == Kind::Param ? "param" : decl.kind == Kind::State ? "state" : "input";
  bind(decl.name, declareValue(decl, what), what);
}

MaybeOperand Elaborator::declareValue(const ast::ValueDecl &decl, StringRef what) {
  using Kind = ast::ValueDecl::Kind;
  std::optional<Id> residency = residencyOf(decl.type->residency);
  std::optional<std::vector<Axis>> axes = axesOf(*decl.type);
  std::string name = fresh(frame->declared, decl.name, what, /*automatic=*/false);
  if (!residency || !axes || name.empty())
    return std::nullopt;
  std::string whole = frame->path + name;
  if (auto known = given.find(whole); training && known != given.end())
    return again(known->second, whole, decl, *residency, *axes);
  MaybeOperand operand;
  if (decl.kind == Kind::Input) {
    operand = declareInput(decl, *residency, *axes);
  } else {
    std::optional<Initial> initial = initialOf(decl, *residency, *axes);
    if (!initial)
      return std::nullopt;
    operand = wrap(decl.kind == Kind::Param ? builder.param(whole, *residency, *axes, decl.name.loc)
                                            : builder.state(whole, *residency, *axes, decl.name.loc));
    if (operand)
      initials[std::get<Dense>(*operand).id] = *initial;
  }
  if (operand)
    given.try_emplace(whole, Given{*operand, frame->unnamed, decl.name.loc});
  return operand;
}

/// What the first elaboration has declared. It must be the same, and belong to the same call: where only training calls
/// a layer, the automatic names of later ones would shift.
MaybeOperand Elaborator::again(const Given &known, const std::string &name, const ast::ValueDecl &decl, Id residency,
                               const std::vector<Axis> &axes) {
  auto same = [](Loc a, Loc b) { return a.file == b.file && a.line == b.line && a.column == b.column; };
  auto *value = std::get_if<Dense>(&known.operand);
  bool isInput = decl.kind == ast::ValueDecl::Kind::Input;
  if (value && !isInput &&
      (known.unnamed.size() != frame->unnamed.size() ||
       !std::equal(known.unnamed.begin(), known.unnamed.end(), frame->unnamed.begin(), same)))
    return error(frame->unnamed.empty() ? decl.name.loc : frame->unnamed.back(),
                 "'" + name + "' belongs to another call when the model is not trained; name this one with 'as'");
  if (value && !decl.sparse) {
    const Value &earlier = builder.value(value->id);
    OpCode op = isInput ? OpCode::Input : decl.kind == ast::ValueDecl::Kind::Param ? OpCode::Param : OpCode::State;
    if (earlier.op != op || earlier.residency != residency || earlier.axes != axes) {
      error(decl.name.loc,
            "'" + name + "' is something else when the model is not trained: " + builder.describe(value->id));
      diagnostics.note(known.loc, "here");
      return std::nullopt;
    }
  }
  return known.operand;
}

MaybeOperand Elaborator::declareInput(const ast::ValueDecl &decl, Id residency, const std::vector<Axis> &axes) {
  const ast::Name &name = decl.name;
  inputNames.push_back(name);
  std::optional<double> absent;
  if (decl.defaultValue) {
    std::optional<Number> number = evalNumber(*decl.defaultValue, "the default of input '" + name.text + "'");
    if (!number)
      return std::nullopt;
    absent = number->asDouble();
  }
  if (!decl.sparse)
    return wrap(builder.input(name.text, residency, axes, absent, name.loc));
  if (residency == kNone || axes.size() != 1)
    return error(name.loc,
                 "a sparse input is on a space and has one axis, as in 'input " + name.text + ": node[in] sparse'");
  if (absent)
    return error(decl.defaultValue->loc, "a sparse input has no default; its values are optional anyway");
  std::optional<size_t> input = builder.sparseInput(name.text, residency, axes[0], name.loc);
  if (!input)
    return std::nullopt;
  return Sparse{builder.spec().sparseInputs[*input].value, *input, axes[0].name};
}

/// The name is that of a value from here on. Outputs and metrics are those of a model that is not in training.
void Elaborator::run(const ast::OutputStmt &output) {
  using Kind = ast::OutputStmt::Kind;
  StringRef what = output.kind == Kind::Output ? "output" : output.kind == Kind::Metric ? "metric" : "loss";
  keepsUpdates = output.kind != Kind::Metric;
  MaybeOperand operand = eval(*output.value);
  keepsUpdates = true;
  Loc loc = output.name.loc;
  if (!operand)
    return bind(output.name, std::nullopt, what);
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
    if (training)
      loss = id;
    return;
  }
  if (training)
    return;
  if (output.kind == Kind::Output) {
    builder.output(output.name.text, *id, loc);
  } else if (llvm::any_of(metrics, [&](const Output &each) { return each.name == output.name.text; })) {
    error(loc, "a metric is called '" + output.name.text + "' already");
  } else {
    metrics.push_back({output.name.text, *id});
  }
}

void Elaborator::run(const ast::RepeatStmt &repeat) {
  std::optional<Number> count = evalNumber(*repeat.count, "the count of 'repeat'");
  if (!count)
    return;
  if (!count->isInt() || count->integer < 0 || count->integer > maxRepeat) {
    error(repeat.count->loc,
          "the count of 'repeat' must be an integer from 0 to " + Twine(maxRepeat) + ", found " + count->str());
    return;
  }
  ++frame->repeats;
  for (int64_t i = 0; i < count->integer && !exhausted && !diagnostics.full(); ++i) {
    ++steps;
    runBlock(repeat.body);
  }
  --frame->repeats;
}
