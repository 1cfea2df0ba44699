//===- Emit.cpp - A recovered program as a text in the language -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Emit.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <charconv>
#include <cmath>
#include <set>

using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

namespace {

/// How tightly a text binds, from the loosest.
enum Precedence { Comparison = 3, Sum = 4, Product = 5, Matrix = 6, Sign = 7, Power = 8, Postfix = 9 };

struct Text {
  std::string text;
  int precedence = Postfix;
};

class Emitter {
public:
  Emitter(RecoveredProgram program) : program(std::move(program)) {}

  std::string run(const std::string &name, const std::string &comment) {
    // What no graph, model or number may be called.
    for (const char *word :
         {"import", "space",    "map",       "relation", "layer",    "model",    "let",       "param",     "state",
          "input",  "output",   "repeat",    "on",       "as",       "and",      "or",        "not",       "true",
          "false",  "static",   "sparse",    "partial",  "filter",   "union",    "distinct",  "last",      "none",
          "all",    "shared",   "int",       "float",    "bool",     "loss",     "metric",    "train",     "for",
          "update", "instance", "from",      "node",     "edge",     "graph",    "src",       "dst",       "ntype",
          "etype",  "batch",    "class",     "val",      "test",     "label",    "node_type", "edge_type", "source",
          "target", "any",      "train_idx", "val_idx",  "test_idx", "exported", "training",  "step",      "seed"})
      taken.insert(word);
    findLive();
    nameAll();
    std::string text = comment.empty() ? "" : "// " + comment + "\n";
    text += declareGraph();
    std::string formals;
    for (auto [i, space] : llvm::enumerate(program.spaces))
      if (liveSpaces.count(int(i)) && space.extent >= 0)
        formals += (formals.empty() ? "" : ", ") + spaceNames[int(i)] + ": int = " + std::to_string(space.extent);
    text += "model " + unique(identifier(name)) + (formals.empty() ? "" : "(" + formals + ")") + " exported {\n";
    text += declareInfinity();
    for (size_t i = 0; i < program.operations.size(); ++i)
      if (live[i])
        text += statement(int(i));
    for (const RecoveredProgram::Output &output : program.outputs)
      text += "  output " + unique(identifier(output.name)) + " = " + use(output.value, 0) + "\n";
    return text + "}\n";
  }

  std::vector<std::string> tensors;
  std::vector<RecoveredProgram::Constant> constants() const { return program.constants; }

private:
  //===--------------------------------------------------------------------===//
  // What is used
  //===--------------------------------------------------------------------===//

  void findLive() {
    live.assign(program.operations.size(), false);
    uses.assign(program.operations.size(), 0);
    for (const RecoveredProgram::Output &output : program.outputs) {
      live[output.value] = true;
      ++uses[output.value];
    }
    for (size_t i = program.operations.size(); i-- > 0;) {
      if (!live[i])
        continue;
      const Operation &operation = program.operations[i];
      for (int operand : operation.operands) {
        live[operand] = true;
        ++uses[operand];
      }
      if (operation.map >= 0)
        liveMaps.insert(operation.map);
      if (operation.space >= 0)
        liveSpaces.insert(operation.space);
    }
    std::set<int> roots = liveMaps, ofValues = liveSpaces;
    liveMaps.clear();
    liveSpaces.clear();
    for (int map : roots)
      reachMap(map);
    for (int space : ofValues)
      reachSpace(space);
  }

  /// What a declaration needs comes before it.
  void reachSpace(int space) {
    if (!liveSpaces.insert(space).second)
      return;
    const SpaceForm &form = program.spaces[space].form;
    if (form.kind == SpaceForm::Kind::Filter) {
      reachSpace(form.base);
      reachMap(form.left);
      reachMap(form.right);
    }
    for (int part : form.parts)
      reachSpace(part);
    declarations.push_back({/*isMap=*/false, space});
  }
  void reachMap(int map) {
    if (!liveMaps.insert(map).second)
      return;
    const RecoveredMap &each = program.maps[map];
    reachSpace(each.from);
    reachSpace(each.to);
    for (const MapPart &part : each.form.parts) {
      if (part.kind == MapPart::Kind::Map)
        reachMap(part.id);
      else if (part.kind == MapPart::Kind::Space)
        reachSpace(part.id);
    }
    if (each.form.kind == MapForm::Kind::Last)
      reachSpace(each.form.of);
    declarations.push_back({/*isMap=*/true, map});
  }

  //===--------------------------------------------------------------------===//
  // Names
  //===--------------------------------------------------------------------===//

  static bool isKeyword(StringRef word) {
    for (const char *each : {"import", "space", "map", "relation", "layer", "model", "let", "param", "state", "input",
                             "output", "repeat", "on", "as", "and", "or", "not", "true", "false"})
      if (word == each)
        return true;
    return false;
  }

  static std::string identifier(const std::string &text) {
    std::string result;
    for (char c : text)
      result += llvm::isAlnum(c) || c == '_' ? c : '_';
    if (result.empty() || llvm::isDigit(result[0]))
      result = "v" + result;
    return result;
  }

  std::string unique(const std::string &wanted) {
    std::string name = wanted;
    for (int number = 2; !taken.insert(name).second; ++number)
      name = wanted + (llvm::isDigit(wanted.back()) ? "_" : "") + std::to_string(number);
    return name;
  }

  /// `edge_index[1]` in what a map is computed from.
  static std::optional<std::pair<std::string, int>> rowOf(StringRef source) {
    size_t at = source.find('[');
    while (at != StringRef::npos) {
      size_t begin = at;
      while (begin > 0 && (llvm::isAlnum(source[begin - 1]) || source[begin - 1] == '_'))
        --begin;
      int row = 0;
      if (begin < at && !source.substr(at + 1).take_until([](char c) { return c == ']'; }).getAsInteger(10, row))
        return std::pair(source.substr(begin, at - begin).str(), row);
      at = source.find('[', at + 1);
    }
    return std::nullopt;
  }

  static std::string withoutIndex(StringRef name) {
    for (StringRef part : {"_index", "index_", "_idx"})
      if (size_t at = name.find(part); at != StringRef::npos && at > 0)
        return (name.take_front(at) + name.drop_front(at + part.size())).str();
    return name.str();
  }

  void nameAll() {
    // Inputs keep their names: they are what a run gives.
    for (size_t i = 0; i < program.operations.size(); ++i) {
      Operation &operation = program.operations[i];
      if (live[i] && operation.op == Op::Input && operation.source.empty()) {
        if (operation.text != identifier(operation.text))
          throw Refusal{"input '" + operation.text + "' has a name that cannot be written"};
        taken.insert(operation.text);
        names[int(i)] = isKeyword(operation.text) ? "`" + operation.text + "`" : operation.text;
      }
    }
    nameSpaces();
    for (int map : liveMaps) {
      RecoveredMap &each = program.maps[map];
      auto row = rowOf(each.source);
      bool isWhole = row && each.source == row->first + "[" + std::to_string(row->second) + "]";
      std::string end = row ? (row->second == 0   ? "src"
                               : row->second == 1 ? "dst"
                                                  : "end" + std::to_string(row->second))
                            : "";
      if (isWhole && spaceNames[each.from] == "edge" && spaceNames[each.to] == "node" && row->second < 2 &&
          !prelude.count(end)) {
        prelude.insert(end);
        mapNames[map] = end;
        continue;
      }
      if (each.form.kind == MapForm::Kind::Paths)
        for (const MapPart &part : each.form.parts)
          if (part.kind != MapPart::Kind::Map && each.form.parts.size() > 1 && part.kind == MapPart::Kind::None)
            end = spaceNames[each.to];
      if (each.form.kind == MapForm::Kind::Paths && each.form.parts.size() == 1 &&
          each.form.parts[0].kind == MapPart::Kind::Space)
        end = spaceNames[each.to];
      if (each.form.kind == MapForm::Kind::Last)
        end = "last";
      std::string name = row ? spaceNames[each.from] + "_" + end : identifier(withoutIndex(each.source));
      if (!row && (name.size() > 24 || each.source.find('(') != std::string::npos))
        name = spaceNames[each.from] + "_" + spaceNames[each.to];
      mapNames[map] = unique(name);
    }
    for (size_t i = 0; i < program.operations.size(); ++i)
      if (live[i])
        for (int axis : program.axesOf(int(i)))
          if (!axisNames.count(axis)) {
            std::string hint = program.hintOf(axis);
            axisNames[axis] = unique(hint.empty() ? "f" + std::to_string(program.sizeOf(axis)) : hint);
          }
  }

  /// Names of spaces come from what is given on them.
  void nameSpaces() {
    auto give = [&](int space, const std::string &name, bool isPrelude = false) {
      if (spaceNames.count(space) || !liveSpaces.count(space))
        return;
      if (isPrelude && program.spaces[space].extent < 0 && prelude.insert(name).second)
        spaceNames[space] = name;
      else
        spaceNames[space] = unique(isPrelude ? name + "s" : name);
    };
    for (int map : liveMaps) {
      const RecoveredMap &each = program.maps[map];
      auto row = rowOf(each.source);
      if (row && each.source == row->first + "[" + std::to_string(row->second) + "]") {
        std::string name = withoutIndex(row->first);
        give(each.from, name, name == "edge");
      }
    }
    for (int map : liveMaps) {
      const RecoveredMap &each = program.maps[map];
      if (each.source == "batch" && program.spaces[each.to].extent < 0)
        give(each.to, "graph", true);
    }
    for (int map : liveMaps)
      if (auto row = rowOf(program.maps[map].source);
          row && program.maps[map].source == row->first + "[" + std::to_string(row->second) + "]" &&
          program.spaces[program.maps[map].to].extent < 0)
        give(program.maps[map].to, "node", true);
    for (size_t i = 0; i < program.operations.size(); ++i)
      if (live[i] && program.operations[i].op == Op::Input && program.operations[i].space >= 0)
        give(program.operations[i].space,
             program.operations[i].text == "x" ? "node" : program.operations[i].text + "_row",
             program.operations[i].text == "x");
    for (auto [isMap, space] : declarations) {
      if (isMap)
        continue;
      const RecoveredSpace &each = program.spaces[space];
      if (each.form.kind == SpaceForm::Kind::Filter)
        give(space, spaceNames[each.form.base] + (each.form.equal ? "_loops" : "_kept"));
      if (each.form.kind == SpaceForm::Kind::Union) {
        int first = each.form.parts[0];
        while (program.spaces[first].form.kind == SpaceForm::Kind::Filter)
          first = program.spaces[first].form.base;
        give(space, spaceNames[first] + "_all");
      }
      give(space, !each.name.empty() ? each.name : each.extent >= 0 ? "kind" : "part");
    }
  }

  std::string axisName(int axis) const { return axisNames.at(program.axis(axis)); }

  //===--------------------------------------------------------------------===//
  // Declarations
  //===--------------------------------------------------------------------===//

  std::string partText(const MapPart &part) const {
    return part.kind == MapPart::Kind::None    ? "none"
           : part.kind == MapPart::Kind::Space ? spaceNames.at(part.id)
                                               : mapNames.at(part.id);
  }

  std::string declareSpace(int space) {
    const RecoveredSpace &each = program.spaces[space];
    std::string text = "space " + spaceNames[space];
    if (each.extent >= 0)
      return text + " static\n";
    if (each.form.kind == SpaceForm::Kind::Filter)
      return text + " = filter(" + spaceNames[each.form.base] + ", " + mapNames[each.form.left] +
             (each.form.equal ? " == " : " != ") + mapNames[each.form.right] + ")\n";
    if (each.form.kind == SpaceForm::Kind::Union) {
      std::string parts;
      for (int part : each.form.parts)
        parts += (parts.empty() ? "" : ", ") + spaceNames[part];
      return text + " = union(" + parts + ")\n";
    }
    if (each.source.empty())
      throw Refusal{"nothing says what the size " + each.key + " is computed from"};
    return text + " from " + each.source + "\n";
  }

  std::string declareMap(int map) {
    const RecoveredMap &each = program.maps[map];
    std::string text = "map " + mapNames[map], type = ": " + spaceNames[each.from] + " -> " + spaceNames[each.to];
    if (each.form.kind == MapForm::Kind::Last)
      return text + " = last(" + spaceNames[each.form.of] + ", " + partText(each.form.parts[0]) + ")\n";
    if (each.form.kind == MapForm::Kind::Paths) {
      std::string parts;
      for (const MapPart &part : each.form.parts)
        parts += (parts.empty() ? "" : " | ") + partText(part);
      return text + type + " = " + parts + "\n";
    }
    return text + type + (each.partial ? " partial" : "") + " from " + each.source + "\n";
  }

  std::string declareGraph() {
    // What is given needs nothing that is derived.
    auto isGiven = [&](bool isMap, int id) {
      return isMap ? program.maps[id].form.kind == MapForm::Kind::Given
                   : program.spaces[id].form.kind == SpaceForm::Kind::Given;
    };
    std::string text;
    for (int space : liveSpaces)
      if (isGiven(false, space))
        text += declareSpace(space);
    for (int map : liveMaps)
      if (isGiven(true, map))
        text += declareMap(map);
    for (auto [isMap, id] : declarations)
      if (!isGiven(isMap, id))
        text += isMap ? declareMap(id) : declareSpace(id);
    return text.empty() ? text : text + "\n";
  }

  std::string axisList(int value) {
    std::string text = "[";
    for (int axis : program.axesOf(value)) {
      text += text.size() > 1 ? ", " : "";
      text += axisName(axis);
      if (declared.insert(axis).second)
        text += " = " + std::to_string(program.sizeOf(axis));
    }
    return text + "]";
  }

  //===--------------------------------------------------------------------===//
  // Statements and expressions
  //===--------------------------------------------------------------------===//

  /// The language has no infinite numbers: a state has one.
  std::string declareInfinity() {
    bool isUsed = false;
    for (size_t i = 0; i < program.operations.size(); ++i)
      isUsed |= live[i] && program.operations[i].op == Op::Number && std::isinf(program.operations[i].number);
    if (!isUsed)
      return "";
    infinity = unique("infinity");
    tensors.push_back(infinity);
    program.constants.push_back({infinity, {}, {HUGE_VALF}});
    return "  state " + infinity + "[] as \"" + infinity + "\"\n";
  }

  std::string statement(int value) {
    const Operation &operation = program.operations[value];
    if (operation.op == Op::Number)
      return "";
    if (operation.op == Op::Input) {
      if (!operation.source.empty())
        names[value] = unique(operation.text);
      std::string type = (operation.space < 0 ? std::string() : spaceNames[operation.space]) + axisList(value);
      return "  input " + names[value] + ": " + type + (operation.source.empty() ? "" : " from " + operation.source) +
             "\n";
    }
    if (operation.op == Op::Param || operation.op == Op::State) {
      std::string name = unique(identifier(operation.text));
      names[value] = name;
      tensors.push_back(operation.text);
      std::string type = axisList(value);
      return std::string(operation.op == Op::Param ? "  param " : "  state ") + name + type + " as \"" +
             operation.text + "\"\n";
    }
    Text text = write(value);
    if (uses[value] == 1 && text.text.size() <= 90) {
      inlined[value] = text;
      return "";
    }
    names[value] = unique(suggestion(value));
    return "  let " + names[value] + " = " + text.text + "\n";
  }

  /// `convs.0.lin` as `convs_0_lin`, or the last part of it where that is too long.
  static std::string moduleName(const Operation &operation) {
    StringRef path = modulePath(operation);
    while (path.size() > 24 && path.contains('.'))
      path = path.split('.').second;
    if (path.empty() || path.size() > 24 || llvm::isDigit(path.front()))
      return "";
    std::string name = identifier(path.str());
    return isKeyword(name) ? "" : name;
  }

  static StringRef modulePath(const Operation &operation) {
    return operation.node && !operation.node->modules.empty() ? StringRef(operation.node->modules.back().path) : "";
  }

  /// Whether a value is a result of the module that makes it: something outside of the module uses it.
  bool leavesModule(int value) const {
    StringRef own = modulePath(program.operations[value]);
    auto isOutside = [&](StringRef path) { return path != own && !path.starts_with((own + ".").str()); };
    for (size_t i = 0; i < program.operations.size(); ++i)
      if (live[i] && llvm::is_contained(program.operations[i].operands, value) &&
          isOutside(modulePath(program.operations[i])))
        return true;
    return llvm::any_of(program.outputs, [&](const RecoveredProgram::Output &output) { return output.value == value; });
  }

  /// What a value is called: after the module that it is the result of, if the file says which.
  std::string suggestion(int value) const {
    const Operation &operation = program.operations[value];
    if (std::string module = moduleName(operation); !module.empty() && leavesModule(value))
      return module;
    if (operation.op == Op::Binary && (operation.text == "==" || operation.text == "!="))
      return "is";
    return operation.space < 0 ? "s" : "h";
  }

  std::string numberText(double number) const {
    if (std::isnan(number))
      throw Refusal{"a constant that is not a number (NaN)"};
    if (std::isinf(number))
      return number < 0 ? "-" + infinity : infinity;
    char buffer[64];
    auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
    (void)error;
    return std::string(buffer, end);
  }

  std::string use(int value, int precedence) {
    const Operation &operation = program.operations[value];
    if (operation.op == Op::Number)
      return operation.number < 0 || (operation.number == 0 && std::signbit(operation.number))
                 ? "(" + numberText(operation.number) + ")"
                 : numberText(operation.number);
    if (auto text = inlined.find(value); text != inlined.end())
      return text->second.precedence >= precedence ? text->second.text : "(" + text->second.text + ")";
    return names.at(value);
  }

  std::string axesText(const std::vector<int> &axes) const {
    std::string text;
    for (int axis : axes)
      text += (text.empty() ? "" : ", ") + axisName(axis);
    return axes.size() == 1 ? text : "(" + text + ")";
  }

  /// Whether both operands have an axis that the other lacks, which has to be said.
  bool isOuter(const Operation &operation) const {
    auto lacks = [&](int a, int b) {
      return llvm::any_of(program.axesOf(a), [&](int axis) { return !program.hasAxis(b, axis); });
    };
    for (int a : operation.operands)
      for (int b : operation.operands)
        if (lacks(a, b) && lacks(b, a))
          return true;
    return false;
  }

  Text write(int value) {
    const Operation &operation = program.operations[value];
    auto operand = [&](size_t i, int precedence = 0) { return use(operation.operands[i], precedence); };
    switch (operation.op) {
    case Op::Input:
    case Op::Param:
    case Op::State:
    case Op::Number:
      break;
    case Op::Unary:
      if (operation.text == "leaky_relu")
        return {"leaky_relu(" + operand(0) + ", " + numberText(operation.number) + ")"};
      if (operation.text == "elu" && operation.number != 1)
        return {"elu(" + operand(0) + ", " + numberText(operation.number) + ")"};
      return {operation.text + "(" + operand(0) + ")"};
    case Op::Binary:
      return writeBinary(operation);
    case Op::Where:
      return {std::string(isOuter(operation) ? "outer(" : "") + "where(" + operand(0) + ", " + operand(1) + ", " +
              operand(2) + ")" + (isOuter(operation) ? ")" : "")};
    case Op::Dot: {
      std::vector<int> left = program.axesOf(operation.operands[0]);
      if (operation.used.size() == 1 && !left.empty() && left.back() == program.axis(operation.used[0]))
        return {operand(0, Matrix) + " @ " + operand(1, Sign), Matrix};
      return {"dot(" + operand(0) + ", " + operand(1) + ", over: " + axesText(operation.used) + ")"};
    }
    case Op::Reduce:
    case Op::Softmax:
      return {operation.text + "(" + operand(0) + ", along: " + (operation.map < 0 ? "all" : mapNames[operation.map]) +
              ")"};
    case Op::Over:
      return {operation.text + "(" + operand(0) + ", over: " + axesText(operation.used) + ")"};
    case Op::Move:
      if (operation.number == 0 && program.operations[operation.operands[0]].space >= 0)
        return {operand(0, Postfix) + "." + mapNames[operation.map]};
      return {"move(" + operand(0) + ", " + mapNames[operation.map] + ", fill: " + numberText(operation.number) + ")"};
    case Op::Concat: {
      std::string text = "concat(";
      for (size_t i = 0; i < operation.operands.size(); ++i)
        text += operand(i) + ", ";
      return {text + "axis: " + axisName(operation.into[0]) + ")"};
    }
    case Op::Slice:
      return {operand(0, Postfix) + "[" + axisName(operation.used[0]) + ": " + std::to_string(operation.begin) + ".." +
              std::to_string(operation.end) + "]"};
    case Op::Pick:
      return {operand(0, Postfix) + "[" + axisName(operation.used[0]) + ": " + std::to_string(operation.begin) + "]"};
    case Op::Rename: {
      std::string text = "rename(" + operand(0);
      for (size_t i = 0; i < operation.used.size(); ++i)
        if (axisName(operation.used[i]) != axisName(operation.into[i]))
          text += ", " + axisName(operation.used[i]) + ": " + axisName(operation.into[i]);
      return {text + ")"};
    }
    case Op::Merge:
      if (operation.used.empty())
        return {"flatten(" + operand(0) + ", " + axisName(operation.into[0]) + ")"};
      return {"merge(" + operand(0) + ", " + axesText(operation.used) + ", as: " + axisName(operation.into[0]) + ")"};
    case Op::Split: {
      std::string text = "split(" + operand(0) + ", " + axisName(operation.used[0]);
      for (int axis : operation.into)
        text += ", " + axisName(axis) + ": " + std::to_string(program.sizeOf(axis));
      return {text + ")"};
    }
    case Op::Permute: {
      std::vector<int> axes = program.axesOf(value);
      return {"permute(" + operand(0) + ", " + axesText(axes) + ")"};
    }
    case Op::Detach:
      return {"detach(" + operand(0) + ")"};
    case Op::OneHot:
      return {"rename(onehot(" + mapNames[operation.map] + "), " + spaceNames[program.maps[operation.map].to] + ": " +
              axisName(operation.axes[0]) + ")"};
    case Op::Spread:
      return {"spread(" + operand(0) + ", on: " + spaceNames[operation.space] + ")"};
    }
    return {names.at(value)};
  }

  Text writeBinary(const Operation &operation) {
    const std::string &function = operation.text;
    auto operand = [&](size_t i, int precedence) { return use(operation.operands[i], precedence); };
    Text result;
    if (function == "maximum" || function == "minimum")
      result = {function + "(" + operand(0, 0) + ", " + operand(1, 0) + ")"};
    else if (function == "^")
      result = {operand(0, Postfix) + " ^ " + operand(1, Postfix), Power};
    else if (function == "+" || function == "-") {
      const Operation &left = program.operations[operation.operands[0]];
      if (function == "-" && left.op == Op::Number && left.number == 0)
        result = {"-" + operand(1, Power), Sign};
      else
        result = {operand(0, Sum) + " " + function + " " + operand(1, Product), Sum};
    } else if (function == "*" || function == "/")
      result = {operand(0, Product) + " " + function + " " + operand(1, Matrix), Product};
    else
      result = {operand(0, Sum) + " " + function + " " + operand(1, Sum), Comparison};
    if (isOuter(operation))
      result = {"outer(" + result.text + ")"};
    return result;
  }

  RecoveredProgram program;
  std::vector<bool> live;
  std::vector<int> uses;
  std::set<int> liveSpaces, liveMaps, declared;
  std::vector<std::pair<bool, int>> declarations; ///< of maps and spaces, in order
  std::set<std::string> taken, prelude;
  std::string infinity; ///< the state that has this number
  std::map<int, std::string> names, spaceNames, mapNames, axisNames;
  std::map<int, Text> inlined;
};

} // namespace

Emitted gnnc::frontend::pytorch::emit(RecoveredProgram program, const std::string &name, const std::string &comment) {
  Emitter emitter(std::move(program));
  Emitted result;
  result.text = emitter.run(name, comment);
  result.tensors = emitter.tensors;
  result.constants = emitter.constants();
  return result;
}
