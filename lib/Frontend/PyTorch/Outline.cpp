//===- Outline.cpp - Which operations make which layer --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks are built from what they give, backwards. Where a value is met that a module made and that does not leave it
// as its result, the module cannot be a layer: it is dissolved, its operations are its parent's, and all starts again.
// So do modules that are no layer that a person would write, such as a single product.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Outline.h"
#include "PyTorch/LayerForms.h"
#include "PyTorch/Modules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cmath>
#include <set>

using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

std::string gnnc::frontend::pytorch::nameWithin(const std::string &path, const std::string &fullName) {
  if (path.empty())
    return fullName;
  StringRef rest = fullName;
  return rest.consume_front(path) && rest.consume_front(".") ? rest.str() : "";
}

namespace {

class Outliner {
public:
  Outliner(const RecoveredProgram &program, const std::vector<bool> &live)
      : program(program), live(live), modules(findModules(program, live)) {}

  Outline run() {
    while (true) {
      failed.clear();
      result = Outline();
      callOf.clear();
      findResults();
      result.blocks.emplace_back();
      callOf.push_back(0);
      fill(0, 0);
      checkTensors();
      if (!dissolveFailed()) {
        findLayers(program, result);
        checkShared();
        findTrivial();
        if (!dissolveFailed() && !(modules.guessed && extend()))
          return std::move(result);
      }
    }
  }

private:
  const Operation &at(int value) const { return program.operations[value]; }
  static bool isTensor(const Operation &operation) { return operation.op == Op::Param || operation.op == Op::State; }
  static bool isLeaf(const Operation &operation) {
    return isTensor(operation) || operation.op == Op::Input || operation.op == Op::Number;
  }

  bool dissolveFailed() {
    // Children come after their parents.
    for (int call : llvm::reverse(failed))
      modules.dissolve(call);
    return !failed.empty();
  }

  //===--------------------------------------------------------------------===//
  // What leaves a module
  //===--------------------------------------------------------------------===//

  void findResults() {
    users.assign(program.operations.size(), {});
    for (size_t i = 0; i < program.operations.size(); ++i)
      if (live[i])
        for (int operand : at(int(i)).operands)
          users[operand].push_back(int(i));
    std::vector<std::set<int>> leaving(modules.calls.size());
    auto leaves = [&](int value, int to) {
      if (isLeaf(at(value)) || modules.owners[value] == Modules::kAnywhere)
        return;
      for (int call = modules.owners[value]; call > 0 && !modules.isWithin(to, call); call = modules.calls[call].parent)
        leaving[call].insert(value);
    };
    for (size_t i = 0; i < program.operations.size(); ++i)
      if (live[i])
        for (int user : users[i])
          leaves(int(i), modules.owners[user]);
    for (const RecoveredProgram::Output &output : program.outputs)
      leaves(output.value, 0);
    results.assign(modules.calls.size(), -1);
    for (size_t call = 1; call < modules.calls.size(); ++call) {
      std::vector<int> own;
      for (int value : leaving[call])
        if (needsTensors(value, int(call)))
          own.push_back(value);
      // Of modules without parameters, such as the sum of messages, what leaves is the result.
      if (own.empty() && leaving[call].size() == 1)
        own.push_back(*leaving[call].begin());
      results[call] = own.size() == 1 ? own[0] : -1;
    }
  }

  /// Whether a value of a module is computed from its parameters.
  bool needsTensors(int value, int call) {
    std::vector<int> open = {value};
    std::set<int> seen = {value};
    while (!open.empty()) {
      int each = open.back();
      open.pop_back();
      if (isTensor(at(each)) && !nameWithin(modules.calls[call].path, at(each).text).empty())
        return true;
      bool isAnywhere = isLeaf(at(each)) || modules.owners[each] == Modules::kAnywhere;
      if (!isAnywhere && !modules.isWithin(modules.owners[each], call))
        continue;
      for (int operand : at(each).operands)
        if (seen.insert(operand).second)
          open.push_back(operand);
    }
    return false;
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  enum class Step { Nothing, Formal, Own, Call };

  /// What a value is to the block of `call`; `callee` is set for results of its children.
  Step stepFor(int call, int value, int &callee) {
    const Operation &operation = at(value);
    if (operation.op == Op::Number && std::isfinite(operation.number))
      return Step::Nothing;
    if (operation.op == Op::Input || operation.op == Op::Number)
      return call == 0 ? Step::Own : Step::Formal;
    if (isTensor(operation))
      return nameWithin(modules.calls[call].path, operation.text).empty() ? Step::Formal : Step::Own;
    int owner = modules.owners[value];
    if (owner == Modules::kAnywhere || owner == call)
      return Step::Own;
    int module; // the outermost that has the value and not the block
    if (modules.isWithin(owner, call)) {
      module = modules.childTowards(owner, call);
      callee = module;
    } else if (modules.isWithin(call, owner)) {
      return Step::Formal;
    } else {
      for (module = owner; !modules.isWithin(call, modules.calls[module].parent);)
        module = modules.calls[module].parent;
    }
    if (results[module] == value) {
      bool isChild = modules.calls[module].parent == call;
      if (isChild && nameWithin(modules.calls[call].path, modules.calls[module].path).empty())
        failed.insert(module); // its parameters are not called after those of the block
      return isChild ? Step::Call : Step::Formal;
    }
    if (needsTensors(value, module))
      failed.insert(module);
    return Step::Own;
  }

  /// Builds the block of a call, from its results backwards.
  void fill(int number, int call) {
    result.blocks[number].path = modules.calls[call].path;
    result.blocks[number].className = modules.calls[call].className;
    result.blocks[number].result = call == 0 ? -1 : results[call];
    struct Open {
      int value, block;
      std::vector<int> operands;
      size_t next = 0;
    };
    std::vector<Open> stack;
    std::map<int, bool> known; ///< whether it is done, or on the stack
    std::vector<Item> items;
    std::vector<int> formals;
    auto enter = [&](int value) {
      auto [found, isNew] = known.try_emplace(value, false);
      if (!isNew) {
        // What a call gives comes back to it: what lies between is not the module's.
        for (auto open = stack.rbegin(); !found->second && open != stack.rend(); ++open) {
          if (open->block >= 0)
            failed.insert(callOf[open->block]);
          if (open->value == value)
            break;
        }
        return;
      }
      int callee = -1;
      Open open{value, -1, {}};
      switch (stepFor(call, value, callee)) {
      case Step::Nothing:
        found->second = true;
        return;
      case Step::Formal:
        found->second = true;
        formals.push_back(value);
        return;
      case Step::Own:
        open.operands = at(value).operands;
        break;
      case Step::Call:
        open.block = int(result.blocks.size());
        result.blocks.emplace_back();
        callOf.push_back(callee);
        fill(open.block, callee);
        open.operands = result.blocks[open.block].formals;
        break;
      }
      stack.push_back(std::move(open));
    };
    std::vector<int> roots;
    if (call == 0)
      for (const RecoveredProgram::Output &output : program.outputs)
        roots.push_back(output.value);
    else
      roots.push_back(results[call]);
    for (int root : roots) {
      // The result of a call is its own operation here, though for others it is what the call gives.
      enter(root);
      while (!stack.empty()) {
        if (stack.back().next < stack.back().operands.size()) {
          enter(stack.back().operands[stack.back().next++]);
          continue;
        }
        items.push_back({stack.back().value, stack.back().block});
        known[stack.back().value] = true;
        stack.pop_back();
      }
    }
    if (call == 0) // in the order of the program
      llvm::sort(items, [](const Item &a, const Item &b) { return a.value < b.value; });
    // What has most axes first; those of as many in the order in which they are met.
    std::vector<std::pair<size_t, size_t>> order;
    for (auto [i, formal] : llvm::enumerate(formals))
      order.push_back({~at(formal).axes.size(), i});
    llvm::sort(order);
    for (auto &[axes, place] : order)
      result.blocks[number].formals.push_back(formals[place]);
    result.blocks[number].items = std::move(items);
  }

  /// A parameter is declared by one block, or by all calls of one instance.
  void checkTensors() {
    std::map<std::string, std::set<std::string>> paths;
    for (const Block &block : result.blocks)
      for (const Item &item : block.items)
        if (isTensor(at(item.value)))
          paths[at(item.value).text].insert(block.path);
    for (auto &[name, own] : paths)
      if (own.size() > 1)
        for (size_t i = 1; i < result.blocks.size(); ++i)
          if (own.count(result.blocks[i].path))
            failed.insert(callOf[i]);
  }

  /// Calls of one instance are calls of one layer, in calls of one instance.
  void checkShared() {
    std::map<std::string, std::set<int>> layersOf;
    std::map<std::string, std::set<std::string>> callersOf;
    for (const Block &block : result.blocks) {
      if (block.layer >= 0)
        layersOf[block.path].insert(block.layer);
      for (const Item &item : block.items)
        if (item.call >= 0)
          callersOf[result.blocks[item.call].path].insert(block.path);
    }
    for (size_t i = 1; i < result.blocks.size(); ++i)
      if (const std::string &path = result.blocks[i].path; layersOf[path].size() > 1 || callersOf[path].size() > 1)
        failed.insert(callOf[i]);
  }

  //===--------------------------------------------------------------------===//
  // What a person would not write as a layer
  //===--------------------------------------------------------------------===//

  void findTrivial() {
    // From how many places a layer is called, and whether one of them is in the model.
    std::vector<std::set<std::pair<int, size_t>>> places(result.layers.size());
    for (const Block &block : result.blocks)
      for (auto [i, item] : llvm::enumerate(block.items))
        if (item.call >= 0)
          places[result.blocks[item.call].layer].insert({block.layer, i});
    for (auto [layer, calls] : llvm::enumerate(result.layers)) {
      const Block &block = result.blocks[calls[0]];
      size_t operations = 0;
      bool hasTensors = false;
      for (const Item &item : block.items) {
        operations += item.call >= 0 || !isLeaf(at(item.value));
        hasTensors |= item.call >= 0 || isTensor(at(item.value));
      }
      bool isOnce = places[layer].size() == 1, isInLayer = isOnce && places[layer].begin()->first >= 0;
      bool isTrivial = operations < 2 || (isOnce && operations < 3) || (!hasTensors && operations < 4) ||
                       (isInLayer && (!hasTensors || operations < 4));
      if (isTrivial)
        for (int each : calls)
          failed.insert(callOf[each]);
    }
  }

  /// Extends guessed modules of one layer by an operation that all of them are given the result of.
  bool extend() {
    bool any = false;
    for (const std::vector<int> &calls : result.layers) {
      const std::vector<int> &formals = result.blocks[calls[0]].formals;
      if (calls.size() < 2)
        continue;
      for (size_t i = 0; i < formals.size(); ++i) {
        const Operation &first = at(formals[i]);
        bool all = llvm::all_of(calls, [&](int each) {
          int value = result.blocks[each].formals[i], call = callOf[each];
          const Operation &own = at(value);
          return !isLeaf(own) && modules.owners[value] == modules.calls[call].parent && own.op == first.op &&
                 own.text == first.text && own.number == first.number && own.map == first.map &&
                 own.begin == first.begin && own.end == first.end && own.operands.size() == first.operands.size() &&
                 llvm::all_of(users[value],
                              [&](int user) {
                                int owner = modules.owners[user];
                                return owner >= 0 && modules.isWithin(owner, call);
                              }) &&
                 llvm::none_of(program.outputs, [&](auto &output) { return output.value == value; });
        });
        if (!all)
          continue;
        for (int each : calls)
          modules.owners[result.blocks[each].formals[i]] = callOf[each];
        any = true;
      }
    }
    return any;
  }

  const RecoveredProgram &program;
  const std::vector<bool> &live;
  Modules modules;
  Outline result;
  std::vector<int> callOf;             ///< of each block
  std::vector<int> results;            ///< of each call, -1 where it has none
  std::vector<std::vector<int>> users; ///< of each operation
  std::set<int> failed;                ///< calls that are no layers
};

} // namespace

Outline gnnc::frontend::pytorch::outline(const RecoveredProgram &program, const std::vector<bool> &live) {
  return Outliner(program, live).run();
}

Outline gnnc::frontend::pytorch::flatOutline(const RecoveredProgram &program, const std::vector<bool> &live) {
  Outline result;
  result.blocks.emplace_back();
  for (size_t i = 0; i < program.operations.size(); ++i)
    if (live[i] && (program.operations[i].op != Op::Number || !std::isfinite(program.operations[i].number)))
      result.blocks[0].items.push_back({int(i), -1});
  return result;
}
