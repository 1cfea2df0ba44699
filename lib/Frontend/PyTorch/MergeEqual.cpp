//===- MergeEqual.cpp - Does equal operations once ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/MergeEqual.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace gnnc::frontend::pytorch;

Argument gnnc::frontend::pytorch::renameValues(Argument argument,
                                               llvm::function_ref<std::string(const std::string &)> nameOf) {
  if (auto *name = std::get_if<ValueName>(&argument))
    name->name = nameOf(name->name);
  if (auto *names = std::get_if<ValueNames>(&argument))
    for (std::string &name : names->names)
      name = name.empty() ? name : nameOf(name);
  if (auto *integers = std::get_if<Integers>(&argument))
    for (auto &number : integers->numbers)
      if (auto *name = std::get_if<ValueName>(&number))
        name->name = nameOf(name->name);
  return argument;
}

static std::string describe(const Argument &argument) {
  struct Writer {
    std::string operator()(const NoArgument &) { return "none"; }
    std::string operator()(const ValueName &name) { return "%" + name.name; }
    std::string operator()(const ValueNames &list) {
      std::string text = "[";
      for (const std::string &name : list.names)
        text += "%" + name + ",";
      return text + "]";
    }
    std::string operator()(int64_t value) { return std::to_string(value); }
    std::string operator()(double value) { return llvm::formatv("{0:f20}/{0:e20}", value).str(); }
    std::string operator()(bool value) { return value ? "true" : "false"; }
    std::string operator()(const std::string &text) { return "'" + text + "'"; }
    std::string operator()(const Integers &list) {
      std::string text = "(";
      for (auto &number : list.numbers)
        text += std::holds_alternative<int64_t>(number) ? std::to_string(std::get<int64_t>(number)) + ","
                                                        : "%" + std::get<ValueName>(number).name + ",";
      return text + ")";
    }
    std::string operator()(const std::vector<double> &list) {
      std::string text = "f(";
      for (double value : list)
        text += (*this)(value) + ",";
      return text + ")";
    }
    std::string operator()(const std::vector<bool> &list) {
      std::string text = "b(";
      for (bool value : list)
        text += value ? "1" : "0";
      return text + ")";
    }
    std::string operator()(ScalarType type) { return "t" + std::to_string(int(type)); }
    std::string operator()(const std::shared_ptr<const Graph> &) { return "graph"; }
    std::string operator()(const OtherArgument &) { return "other"; }
  };
  return std::visit(Writer(), argument);
}

/// Two results of the same operation: symbols in which their sizes differ are one.
static void noteSameSizes(NormalProgram &program, const std::string &first, const std::string &again) {
  auto same = [&](const Size &a, const Size &b) {
    if (a.linear && b.linear)
      program.equalSizes.unite(*b.linear, *a.linear);
  };
  auto a = program.tensors.find(first), b = program.tensors.find(again);
  if (a != program.tensors.end() && b != program.tensors.end())
    for (auto [left, right] : llvm::zip(a->second.sizes, b->second.sizes))
      same(left, right);
  auto i = program.integers.find(first), j = program.integers.find(again);
  if (i != program.integers.end() && j != program.integers.end())
    same(i->second, j->second);
}

void gnnc::frontend::pytorch::mergeEqual(NormalProgram &program) {
  std::map<std::string, size_t> known;
  std::vector<NormalNode> kept;
  std::map<std::string, std::string> current; // what stands for a result that is not made again
  auto renamed = [&](Argument argument) {
    return renameValues(std::move(argument), [&](const std::string &name) {
      auto found = current.find(name);
      return found == current.end() ? name : found->second;
    });
  };
  for (NormalNode &node : program.nodes) {
    std::string key = node.op + "." + node.overload;
    for (auto &[name, argument] : node.arguments) {
      argument = renamed(std::move(argument));
      key += "," + name + "=" + describe(argument);
    }
    if (!node.refusal.empty()) { // An equal operation before it may have a meaning.
      kept.push_back(std::move(node));
      continue;
    }
    bool random = node.op == "dropout" || node.op.find("rand") != std::string::npos;
    auto [found, isNew] = known.try_emplace(key, kept.size());
    if (isNew || random || kept[found->second].outputs.size() != node.outputs.size()) {
      kept.push_back(std::move(node));
      continue;
    }
    for (auto [first, again] : llvm::zip(kept[found->second].outputs, node.outputs)) {
      current[again] = first;
      noteSameSizes(program, first, again);
    }
  }
  program.nodes = std::move(kept);
  for (Argument &output : program.outputs)
    output = renamed(std::move(output));
}
