//===- Modules.cpp - The modules that a program's operations are of -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Modules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <set>

using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

bool Modules::isWithin(int call, int ancestor) const {
  while (call > ancestor)
    call = calls[call].parent;
  return call == ancestor;
}

int Modules::childTowards(int call, int ancestor) const {
  while (calls[call].parent != ancestor)
    call = calls[call].parent;
  return call;
}

void Modules::dissolve(int call) {
  int parent = calls[call].parent;
  for (int &owner : owners)
    owner = owner == call ? parent : owner;
  for (ModuleCall &each : calls)
    each.parent = each.parent == call ? parent : each.parent;
}

static bool isTensor(const Operation &operation) { return operation.op == Op::Param || operation.op == Op::State; }

static bool isLeaf(const Operation &operation) {
  return isTensor(operation) || operation.op == Op::Input || operation.op == Op::Number;
}

/// From the module stacks. A parent always comes before its children.
static Modules fromStacks(const RecoveredProgram &program, const std::vector<bool> &live) {
  Modules modules;
  modules.calls.push_back({"", "", -1});
  modules.owners.assign(program.operations.size(), 0);
  std::map<std::pair<std::string, int64_t>, int> known;
  for (auto [i, operation] : llvm::enumerate(program.operations)) {
    if (!live[i])
      continue;
    // What is done to a parameter before any node is, such as dropping its axes of size 1.
    if (!operation.node && !operation.operands.empty() && llvm::all_of(operation.operands, [&](int operand) {
          return isTensor(program.operations[operand]) || modules.owners[operand] == Modules::kAnywhere;
        }))
      modules.owners[i] = Modules::kAnywhere;
    if (!operation.node)
      continue;
    int owner = 0;
    for (const ModuleFrame &frame : operation.node->modules) {
      StringRef className = StringRef(frame.className).rsplit('.').second;
      className = className.empty() ? StringRef(frame.className) : className;
      if (frame.path.empty()) {
        modules.calls[0].className = className.str();
        continue;
      }
      auto [found, isNew] = known.try_emplace({frame.path, frame.call}, int(modules.calls.size()));
      if (isNew)
        modules.calls.push_back({frame.path, className.str(), owner});
      owner = found->second;
    }
    modules.owners[i] = owner;
  }
  return modules;
}

//===----------------------------------------------------------------------===//
// From the names of parameters
//===----------------------------------------------------------------------===//

namespace {

class Guess {
public:
  Guess(const RecoveredProgram &program, const std::vector<bool> &live) : program(program), live(live) {}

  Modules run() {
    modules.guessed = true;
    modules.calls.push_back({"", "", -1});
    size_t count = program.operations.size();
    modules.owners.assign(count, 0);
    for (size_t i = 0; i < count; ++i)
      if (live[i] && !isLeaf(program.operations[i]) && dependsOnGraphAlone(int(i)))
        modules.owners[i] = Modules::kAnywhere;
    std::set<std::string> paths;
    for (size_t i = 0; i < count; ++i)
      if (live[i] && isTensor(program.operations[i]))
        for (StringRef path = StringRef(program.operations[i].text).rsplit('.').first;
             path.size() < program.operations[i].text.size(); path = path.rsplit('.').first) {
          paths.insert(path.str());
          if (!path.contains('.'))
            break;
        }
    // Neither a list of modules nor a sequence: these are no layer of their own.
    std::vector<std::string> real;
    for (const std::string &path : paths)
      if (!isList(path, paths))
        real.push_back(path);
    // A large program is left as it is: what follows takes time for every pair of a module and an operation.
    if (real.size() * count > 50'000'000)
      return std::move(modules);
    for (const std::string &path : real)
      addHull(path);
    return std::move(modules);
  }

private:
  bool dependsOnGraphAlone(int value) {
    if (auto found = onGraph.find(value); found != onGraph.end())
      return found->second;
    const Operation &operation = program.operations[value];
    bool is = operation.op == Op::Number || (operation.op == Op::Input && !operation.source.empty());
    if (!isLeaf(operation)) {
      // Operands come first, so the recursion is as deep as the program; earlier ones are known.
      is = llvm::all_of(operation.operands, [&](int operand) { return dependsOnGraphAlone(operand); });
    }
    return onGraph[value] = is;
  }

  /// Whether all that is in it has a number for a name.
  static bool isList(const std::string &path, const std::set<std::string> &paths) {
    bool any = false;
    std::string prefix = path + ".";
    for (auto it = paths.lower_bound(prefix); it != paths.end() && StringRef(*it).starts_with(prefix); ++it) {
      StringRef name = StringRef(*it).drop_front(prefix.size()).split('.').first;
      if (!llvm::all_of(name, llvm::isDigit))
        return false;
      any = true;
    }
    return any;
  }

  /// All operations between the first and the last that read a parameter of the module.
  void addHull(const std::string &path) {
    size_t count = program.operations.size();
    std::vector<char> after(count, 0), before(count, 0);
    auto reads = [&](const Operation &operation) {
      return llvm::any_of(operation.operands, [&](int operand) {
        const Operation &tensor = program.operations[operand];
        return isTensor(tensor) && StringRef(tensor.text).starts_with(path + ".");
      });
    };
    for (size_t i = 0; i < count; ++i)
      if (live[i])
        after[i] = reads(program.operations[i]) ||
                   llvm::any_of(program.operations[i].operands, [&](int operand) { return after[operand]; });
    for (size_t i = count; i-- > 0;) {
      if (!live[i])
        continue;
      before[i] |= reads(program.operations[i]);
      if (before[i])
        for (int operand : program.operations[i].operands)
          before[operand] = 1;
    }
    // Where two of its results meet, such as the products of two parts, that is its own too.
    for (size_t i = 0; i < count; ++i) {
      std::set<int> operands;
      bool all = live[i] && !isLeaf(program.operations[i]);
      for (int operand : program.operations[i].operands) {
        all &= isLeaf(program.operations[operand]) || (after[operand] && before[operand]);
        operands.insert(operand);
      }
      if (all && llvm::count_if(operands, [&](int operand) { return after[operand] && before[operand]; }) > 1)
        after[i] = before[i] = 1;
    }
    // Its parent is the innermost module that has all of it; a module that has only a part of it does not go with it.
    std::vector<int> hull;
    std::set<int> owners;
    for (size_t i = 0; i < count; ++i)
      if (live[i] && after[i] && before[i] && !isLeaf(program.operations[i])) {
        hull.push_back(int(i));
        owners.insert(modules.owners[i]);
      }
    if (hull.empty() || owners.size() != 1 || *owners.begin() == Modules::kAnywhere)
      return;
    int parent = *owners.begin();
    if (parent > 0 && !StringRef(path).starts_with(modules.calls[parent].path + "."))
      return;
    modules.calls.push_back({path, classNameOf(path), parent});
    for (int each : hull)
      modules.owners[each] = int(modules.calls.size()) - 1;
  }

  /// `convs.0` is a Conv, `lin_l` a LinL.
  static std::string classNameOf(StringRef path) {
    StringRef last = path;
    bool isNumbered = false;
    while (last.contains('.') && llvm::all_of(last.rsplit('.').second, llvm::isDigit)) {
      last = last.rsplit('.').first;
      isNumbered = true;
    }
    last = last.contains('.') ? last.rsplit('.').second : last;
    std::string name;
    bool begins = true;
    for (char c : last) {
      if (!llvm::isAlnum(c)) {
        begins = true;
        continue;
      }
      name += begins ? llvm::toUpper(c) : c;
      begins = false;
    }
    if (isNumbered && name.size() > 2 && name.back() == 's')
      name.pop_back();
    while (name.size() > 1 && llvm::isDigit(name.back()))
      name.pop_back();
    return name;
  }

  const RecoveredProgram &program;
  const std::vector<bool> &live;
  Modules modules;
  std::map<int, bool> onGraph;
};

} // namespace

Modules gnnc::frontend::pytorch::findModules(const RecoveredProgram &program, const std::vector<bool> &live) {
  for (auto [i, operation] : llvm::enumerate(program.operations))
    if (live[i] && operation.node && !operation.node->modules.empty())
      return fromStacks(program, live);
  return Guess(program, live).run();
}
