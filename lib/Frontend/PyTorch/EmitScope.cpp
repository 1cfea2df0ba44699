//===- EmitScope.cpp - The names and statements of one body ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two axes may go by one name where no operation meets both, as a person would call the results of two layers' products
// both `out`. A value that is used once is written where it is used, unless that makes lines hard to read.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Emitter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

static bool isTensor(const Operation &operation) { return operation.op == Op::Param || operation.op == Op::State; }

const std::vector<int> &Emitter::operandsOf(const Item &item) const {
  return item.call >= 0 ? outline.blocks[item.call].formals : program.operations[item.value].operands;
}

/// A name for this body. A layer may use those of the model's inputs.
std::string Emitter::unique(Scope &scope, const std::string &wanted) {
  std::string name = wanted;
  for (int number = 2; taken.count(name) || !scope.taken.insert(name).second; ++number)
    name = wanted + (llvm::isDigit(wanted.back()) ? "_" : "") + std::to_string(number);
  return name;
}

Scope Emitter::open(const Block &block) {
  Scope scope;
  scope.block = &block;
  if (block.result < 0)
    for (auto &[value, name] : inputNames) {
      scope.taken.insert(name);
      scope.values[value] = isKeyword(name) ? "`" + name + "`" : name;
    }
  else
    for (int formal : block.formals)
      scope.values[formal] = unique(scope, formalName(block, block.layer, formal));
  if (block.result >= 0)
    nameSizes(scope, block.layer, /*ofResult=*/false);
  nameAxes(scope);
  if (block.result >= 0)
    nameSizes(scope, block.layer, /*ofResult=*/true);
  countUses(scope);
  return scope;
}

void Emitter::countUses(Scope &scope) {
  for (auto [i, item] : llvm::enumerate(scope.block->items))
    for (int operand : operandsOf(item)) {
      ++scope.uses[operand];
      scope.lastUsers[operand] = int(i);
    }
  if (scope.block->result >= 0)
    ++scope.uses[scope.block->result];
  else
    for (const RecoveredProgram::Output &output : program.outputs)
      ++scope.uses[output.value];
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// What axes would be called if no other had the name.
std::map<int, std::string> Emitter::wantedAxes(const Block &block) const {
  std::map<int, std::string> wanted;
  auto isPlain = [&](int axis) {
    const std::string &hint = program.hintOf(axis);
    return hint.empty() || hint == "in" || hint == "out";
  };
  auto want = [&](int axis, const std::string &name) {
    if (isPlain(axis))
      wanted.try_emplace(program.axis(axis), name);
  };
  if (block.result >= 0) {
    for (int formal : block.formals)
      if (std::vector<int> axes = program.axesOf(formal); !axes.empty())
        want(axes.back(), program.hasAxis(block.result, axes.back()) ? "dim" : "in");
    if (std::vector<int> axes = program.axesOf(block.result); !axes.empty())
      want(axes.back(), "out");
  }
  for (const Item &item : block.items) {
    const Operation &operation = program.operations[item.value];
    if (item.call < 0) {
      if (operation.op == Op::Split && operation.into.size() == 2 &&
          llvm::none_of(operation.into, [&](int axis) { return program.sizeOf(axis) == 1; })) {
        want(operation.into[0], "heads");
        want(operation.into[1], "dim");
      }
      if (operation.op == Op::Concat && block.result >= 0)
        want(operation.into[0], "joined");
      continue;
    }
    // What a result brings is called as in the layer.
    const Block &callee = outline.blocks[item.call];
    const Block &general = outline.blocks[outline.layers[callee.layer][0]];
    for (auto [axis, known] : llvm::zip(program.axesOf(item.value), program.axesOf(general.result)))
      if (llvm::none_of(general.formals, [&](int formal) { return program.hasAxis(formal, known); }))
        wanted.try_emplace(axis, layers[callee.layer].axisNames.at(known));
  }
  return wanted;
}

void Emitter::nameAxes(Scope &scope) {
  const Block &block = *scope.block;
  std::vector<int> order;
  std::map<int, std::set<int>> others; // that need another name
  std::map<int, std::string> wanted = wantedAxes(block);
  std::map<int, std::vector<int>> partners; // one of which is renamed to the other
  auto meet = [&](const std::vector<int> &axes) {
    for (int a : axes) {
      if (others.try_emplace(a).second)
        order.push_back(a);
      for (int b : axes)
        if (a != b)
          others[a].insert(b);
    }
  };
  auto add = [&](std::vector<int> &axes, const std::vector<int> &own) {
    for (int each : own)
      if (int axis = program.axis(each); !llvm::is_contained(axes, axis))
        axes.push_back(axis);
  };
  if (block.result >= 0) {
    // What is given and the result: calls know them by their names.
    std::vector<int> known;
    for (int formal : block.formals)
      add(known, program.axesOf(formal));
    add(known, program.axesOf(block.result));
    meet(known);
  }
  for (const Item &item : block.items) {
    const Operation &operation = program.operations[item.value];
    std::vector<int> axes;
    for (int operand : operandsOf(item)) {
      if (item.call >= 0 || operation.op == Op::Concat)
        axes.clear(); // each operand by itself: a layer has names of its own, and concat goes by places
      add(axes, program.axesOf(operand));
      meet(axes);
    }
    if (item.call >= 0) {
      axes.clear();
      add(axes, program.axesOf(item.value));
      meet(axes);
      continue;
    }
    if (operation.op == Op::Rename && operation.used.size() == 1) {
      // What it is called before and after may be the same, and then there is nothing to rename.
      int from = program.axis(operation.used[0]), to = program.axis(operation.into[0]);
      meet(program.axesOf(item.value));
      partners[from].push_back(to);
      partners[to].push_back(from);
      continue;
    }
    add(axes, operation.used);
    add(axes, operation.into);
    add(axes, operation.axes);
    meet(axes);
  }
  for (int axis : order) {
    std::string name = wanted.count(axis) ? wanted[axis] : program.hintOf(axis);
    if (name.empty())
      name = program.sizeOf(axis) == 1 ? "one" : "f" + std::to_string(program.sizeOf(axis));
    auto isTaken = [&](const std::string &candidate) {
      return taken.count(candidate) || scope.taken.count(candidate) || llvm::any_of(others[axis], [&](int other) {
               auto found = scope.axes.find(other);
               return found != scope.axes.end() && found->second == candidate;
             });
    };
    std::string candidate;
    for (int partner : partners[axis])
      if (auto found = scope.axes.find(partner);
          candidate.empty() && found != scope.axes.end() && !isTaken(found->second))
        candidate = found->second;
    if (candidate.empty())
      candidate = name;
    for (int number = 2; isTaken(candidate); ++number)
      candidate = name + (llvm::isDigit(name.back()) ? "_" : "") + std::to_string(number);
    scope.axes[axis] = candidate;
  }
  for (auto &[axis, name] : scope.axes)
    scope.taken.insert(name);
}

std::string Emitter::sizeText(const Scope &scope, int axis) const {
  auto found = scope.sizes.find(program.axis(axis));
  return found == scope.sizes.end() ? std::to_string(program.sizeOf(axis)) : found->second;
}

/// `[in, out = 8]`: the size where the name stands for none yet, or for another's.
std::string Emitter::axisList(Scope &scope, int value) {
  std::string text = "[";
  for (int axis : program.axesOf(value)) {
    std::string name = axisName(scope, axis);
    text += (text.size() > 1 ? ", " : "") + name;
    auto [owner, isNew] = scope.sizeOwners.try_emplace(name, axis);
    if (isNew || owner->second != axis)
      text += " = " + sizeText(scope, axis);
  }
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// The language has no infinite numbers: a state has one.
std::string Emitter::declareInfinity() {
  bool isUsed = false;
  for (size_t i = 0; i < program.operations.size(); ++i)
    isUsed |= live[i] && program.operations[i].op == Op::Number && std::isinf(program.operations[i].number);
  if (!isUsed)
    return "";
  infinity = unique("infinity");
  tensors.push_back(infinity);
  program.constants.push_back({infinity, {}, {HUGE_VAL}});
  return "  state " + infinity + "[] as \"" + infinity + "\"\n";
}

/// A line, broken where it is too long: after commas and operators, with as few open brackets as may be.
std::string gnnc::frontend::pytorch::wrapped(std::string line) {
  constexpr size_t kWidth = 116, kIndent = 6;
  std::string text;
  int depth = 0; // at the beginning of what is left
  while (line.size() > kWidth) {
    size_t best = 0;
    int bestRank = 0, now = depth;
    for (size_t i = 0; i + 1 < line.size() && i < kWidth; ++i) {
      now += line[i] == '(' || line[i] == '[' ? 1 : line[i] == ')' || line[i] == ']' ? -1 : 0;
      bool isComma = line[i] == ',' && now > 0;
      bool isOperator = i > 0 && line[i - 1] == ' ' && StringRef("+*/@-").contains(line[i]);
      int rank = 3 * now + (line[i] == '@' ? 2 : line[i] == '*' || line[i] == '/' ? 1 : 0);
      if (line[i + 1] == ' ' && (isComma || isOperator) && i > kWidth / 3 && (best == 0 || rank <= bestRank)) {
        best = i + 1;
        bestRank = rank;
      }
    }
    if (best == 0)
      break;
    for (size_t i = 0; i < best; ++i)
      depth += line[i] == '(' || line[i] == '[' ? 1 : line[i] == ')' || line[i] == ']' ? -1 : 0;
    text += line.substr(0, best) + "\n";
    line = std::string(kIndent, ' ') + line.substr(best + 1);
  }
  return text + line + "\n";
}

/// Parameters that no output depends on are declared too, so that the object can name them.
void Emitter::declareUnusedParams(Scope &scope) {
  for (size_t i = 0; i < program.operations.size(); ++i) {
    const Operation &operation = program.operations[i];
    // The language has no axes of size 0.
    if (operation.op != Op::Param || live[i] ||
        llvm::any_of(operation.axes, [&](int axis) { return program.sizeOf(axis) == 0; }))
      continue;
    // Nothing meets their axes, so that numbers do as names.
    std::string axes;
    for (auto [place, axis] : llvm::enumerate(operation.axes))
      axes += (axes.empty() ? "axis" : ", axis") + std::to_string(place) + " = " + std::to_string(program.sizeOf(axis));
    scope.body += wrapped("  param " + unique(scope, identifier(operation.text)) + "[" + axes + "] as \"" +
                          operation.text + "\"");
  }
}

/// Inputs, then parameters and buffers: in a layer several on a line.
void Emitter::declareTensors(Scope &scope) {
  const Block &block = *scope.block;
  for (const Item &item : block.items) {
    const Operation &operation = program.operations[item.value];
    if (operation.op != Op::Input)
      continue;
    checkKnown(operation.source);
    if (!operation.source.empty())
      scope.values[item.value] = unique(scope, operation.text);
    scope.body += "  input " + scope.values[item.value] + ": " +
                  (operation.space < 0 ? std::string() : spaceNames[operation.space]) + axisList(scope, item.value) +
                  (operation.source.empty() ? "" : " from " + operation.source) + "\n";
  }
  auto last = [](const std::string &name) {
    return StringRef(name).contains('.') ? StringRef(name).rsplit('.').second.str() : name;
  };
  std::map<std::string, int> counts;
  bool isLayer = block.result >= 0;
  for (const Item &item : block.items)
    if (const Operation &operation = program.operations[item.value]; isTensor(operation))
      ++counts[last(operation.text)];
  std::string line;
  auto end = [&] {
    if (!line.empty())
      scope.body += line + "\n";
    line.clear();
  };
  Op kind = Op::Param;
  for (Op each : {Op::Param, Op::State})
    for (const Item &item : block.items) {
      const Operation &operation = program.operations[item.value];
      if (operation.op != each)
        continue;
      std::string own = nameWithin(block.path, operation.text);
      std::string name = unique(scope, identifier(isLayer && counts[last(own)] == 1 ? last(own) : own));
      scope.values[item.value] = name;
      std::string text = name + axisList(scope, item.value);
      if (!isLayer || name != own)
        text += " as \"" + own + "\"";
      if (!isLayer || kind != each || line.size() + text.size() > 110)
        end();
      kind = each;
      line += (line.empty() ? each == Op::Param ? "  param " : "  state " : ", ") + text;
    }
  end();
}

bool Emitter::isWrittenInPlace(const Scope &scope, int value, const Text &text) const {
  if (scope.uses.at(value) != 1)
    return false;
  auto user = scope.lastUsers.find(value);
  if (user == scope.lastUsers.end())
    return true; // a result
  // One call after the other reads better than one in the other.
  return text.text.size() <= 90 && !(text.calls && scope.block->items[size_t(user->second)].call >= 0);
}

void Emitter::write(Scope &scope, const Item &item) {
  const Operation &operation = program.operations[item.value];
  if (item.call < 0 && (isTensor(operation) || operation.op == Op::Input || operation.op == Op::Number))
    return;
  if (item.call < 0 && operation.op == Op::Choice) {
    scope.body += wrapped("  " + choiceText(scope, item.value));
    if (auto after = declaredAfter.find(item.value); after != declaredAfter.end())
      scope.body += after->second;
    return;
  }
  Text text = item.call >= 0 ? call(scope, item) : expression(scope, item.value);
  for (int operand : operandsOf(item))
    if (auto found = scope.inlined.find(operand); found != scope.inlined.end())
      text.calls |= found->second.calls;
  if (isWrittenInPlace(scope, item.value, text)) {
    scope.inlined[item.value] = text;
    return;
  }
  std::string name = unique(scope, suggestion(item));
  scope.values[item.value] = name;
  scope.body += wrapped("  let " + name + " = " + text.text);
}

/// `lin` for `convs.0.lin`, `conv` for `convs.0`: what follows tells several apart.
std::string gnnc::frontend::pytorch::moduleName(StringRef path) {
  StringRef last = path.rsplit('.').second.empty() ? path : path.rsplit('.').second;
  bool isNumbered = false;
  while (!last.empty() && llvm::all_of(last, llvm::isDigit) && path.contains('.')) {
    isNumbered = true;
    path = path.rsplit('.').first;
    last = path.rsplit('.').second.empty() ? path : path.rsplit('.').second;
  }
  if (isNumbered && last.size() > 3)
    last.consume_back("s");
  if (last.empty() || last.size() > 24 || llvm::isDigit(last.front()))
    return "";
  std::string name = identifier(last.str());
  return isKeyword(name) ? "" : name;
}

static StringRef modulePath(const Operation &operation) {
  return operation.node && !operation.node->modules.empty() ? StringRef(operation.node->modules.back().path) : "";
}

/// Whether a value is a result of the module that makes it: something outside of the module uses it.
bool Emitter::leavesModule(int value) const {
  StringRef own = modulePath(program.operations[value]);
  auto isOutside = [&](StringRef path) { return path != own && !path.starts_with((own + ".").str()); };
  for (size_t i = 0; i < program.operations.size(); ++i)
    if (live[i] && llvm::is_contained(program.operations[i].operands, value) &&
        isOutside(modulePath(program.operations[i])))
      return true;
  return llvm::any_of(program.outputs, [&](const RecoveredProgram::Output &output) { return output.value == value; });
}

/// What the model's own source calls a value that is the last of its line: `h = self.conv(x, edge_index).relu()`.
std::string Emitter::variableOf(int value) const {
  auto sourceOf = [&](int each) {
    const Node *node = program.operations[each].node;
    return node && node->source ? &*node->source : nullptr;
  };
  const SourceFrame *source = sourceOf(value);
  if (!source)
    return "";
  StringRef name = StringRef(source->text).take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  StringRef rest = StringRef(source->text).drop_front(name.size()).ltrim();
  if (name.empty() || name.size() > 24 || llvm::isDigit(name[0]) || !rest.consume_front("=") || rest.starts_with("="))
    return "";
  for (size_t i = size_t(value) + 1; i < program.operations.size(); ++i)
    if (const SourceFrame *other =
            live[i] && llvm::is_contained(program.operations[i].operands, value) ? sourceOf(int(i)) : nullptr;
        other && other->line == source->line && other->file == source->file)
      return "";
  return isKeyword(name) ? "" : name.str();
}

/// What a value is called: as in the source; after the module that it is the result of; or by what it is.
std::string Emitter::suggestion(const Item &item) const {
  int value = item.value;
  const Operation &operation = program.operations[value];
  if (item.call < 0) {
    if (operation.op == Op::Softmax || (operation.op == Op::Over && operation.text == "softmax"))
      return "alpha";
    if (operation.op == Op::Reduce && program.operations[operation.operands[0]].op == Op::Number)
      return "deg";
    if (operation.op == Op::Binary && (operation.text == "==" || operation.text == "!="))
      return "is";
    if (operation.op == Op::Where && llvm::any_of(operation.operands, [&](int operand) {
          return program.operations[operand].op == Op::Unary && program.operations[operand].text == "rsqrt";
        }))
      return "scale";
  }
  if (std::string variable = variableOf(value); !variable.empty())
    return variable == "out" ? "y" : variable; // most have an axis of that name
  StringRef path = item.call >= 0 ? StringRef(outline.blocks[item.call].path) : modulePath(operation);
  if (std::string module = moduleName(path); !module.empty() && (item.call >= 0 || leavesModule(value)))
    return module;
  return operation.space < 0 ? "s" : "h";
}
