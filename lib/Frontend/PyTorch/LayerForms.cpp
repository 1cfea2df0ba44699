//===- LayerForms.cpp - Blocks that are calls of one layer ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block is written down with numbers for its values, in the order in which they are met, and with the lists of all
// axes and of all constants that it mentions. Two blocks that read the same are calls of one layer, though the sizes of
// axes and the names of parameters' instances differ, if axes that are one in the first are one in the second. There
// more axes may be one: a residual connection outside of a layer gives its result the axis of its argument. The space
// of a block that moves nothing is not part of its form.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/LayerForms.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdio>
#include <set>

using namespace gnnc::frontend::pytorch;

namespace {

class Form {
public:
  Form(const RecoveredProgram &program, const Outline &outline, Block &block)
      : program(program), outline(outline), block(block) {}

  std::string write() {
    block.axes.clear(); // all that are mentioned, one by one, until the layers are known
    block.numbers.clear();
    block.anySpace = isOnAnySpace();
    std::map<int, std::string> values;
    std::string text = block.anySpace ? "any" : "";
    for (int formal : block.formals) {
      values[formal] = "f" + std::to_string(values.size());
      text += "formal" + typeOf(formal) + ";";
    }
    auto operands = [&](const std::vector<int> &own, bool mayDiffer = false) {
      std::string list = "(";
      for (int operand : own) {
        auto known = values.find(operand);
        double value = program.operations[operand].number;
        if (known == values.end() && mayDiffer && value != 0 && value != 1) {
          block.numbers.push_back(operand);
          list += "#,";
          continue;
        }
        list += (known != values.end() ? known->second : number(value)) + ",";
      }
      return list + ")";
    };
    for (const Item &item : block.items) {
      const Operation &operation = program.operations[item.value];
      if (item.call >= 0) {
        const Block &callee = outline.blocks[item.call];
        text += "call " + std::to_string(callee.layer) + " '" + nameWithin(block.path, callee.path) + "'" +
                operands(callee.formals) + axesOf(callee.axes);
        for (int own : callee.numbers)
          text += " " + number(program.operations[own].number);
      } else {
        bool isTensor = operation.op == Op::Param || operation.op == Op::State;
        text += std::to_string(int(operation.op)) + " '" +
                (isTensor ? nameWithin(block.path, operation.text) : operation.text) + "' " + operation.source + " " +
                std::to_string(operation.map) + " " + number(operation.number) + " " + std::to_string(operation.begin) +
                " " + std::to_string(operation.end) + operands(operation.operands, isArithmetic(operation)) +
                axesOf(operation.used) + axesOf(operation.into);
      }
      text += typeOf(item.value) + ";";
      values[item.value] = "v" + std::to_string(values.size());
    }
    if (block.result >= 0)
      text += operands({block.result});
    return text;
  }

private:
  /// Whether a number that it is given can be an argument of the layer: 0 and 1 have meanings of their own.
  static bool isArithmetic(const Operation &operation) {
    static const std::set<std::string> functions = {"+", "-", "*", "/", "^", "maximum", "minimum"};
    return operation.op == Op::Binary && functions.count(operation.text) != 0;
  }
  static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%a", value);
    return text;
  }
  std::string axesOf(const std::vector<int> &axes) {
    for (int each : axes)
      block.axes.push_back(program.axis(each));
    return "[" + std::to_string(axes.size()) + "]";
  }
  std::string typeOf(int value) {
    int space = program.operations[value].space;
    return (space < 0 ? "shared" : block.anySpace ? "any" : std::to_string(space)) + axesOf(program.axesOf(value));
  }

  bool isOnAnySpace() const {
    if (block.result < 0)
      return false;
    int only = -1;
    auto fits = [&](int value) {
      int space = program.operations[value].space;
      only = only < 0 ? space : only;
      return space < 0 || space == only;
    };
    for (int formal : block.formals)
      if (!fits(formal))
        return false;
    for (const Item &item : block.items) {
      const Operation &operation = program.operations[item.value];
      bool moves = operation.map >= 0 || operation.op == Op::OneHot || operation.op == Op::Spread;
      if (!fits(item.value) || (item.call >= 0 ? !outline.blocks[item.call].anySpace : moves))
        return false;
    }
    // What is given says which space it is.
    return only >= 0 && llvm::any_of(block.formals, [&](int formal) { return program.operations[formal].space >= 0; });
  }

  const RecoveredProgram &program;
  const Outline &outline;
  Block &block;
};

} // namespace

/// Whether what is one axis, or one number, in `general` is one in `special`.
static bool isSpecial(const Block &special, const Block &general) {
  std::map<int, int> axes, numbers;
  for (auto [from, to] : llvm::zip(general.axes, special.axes))
    if (axes.try_emplace(from, to).first->second != to)
      return false;
  for (auto [from, to] : llvm::zip(general.numbers, special.numbers))
    if (numbers.try_emplace(from, to).first->second != to)
      return false;
  return true;
}

/// The numbers that are not the same in all calls.
static void keepArguments(Outline &outline, const std::vector<int> &calls) {
  std::set<int> seen;
  std::vector<size_t> places;
  for (auto [i, number] : llvm::enumerate(outline.blocks[calls[0]].numbers))
    if (seen.insert(number).second &&
        llvm::any_of(calls, [&](int call) { return outline.blocks[call].numbers[i] != number; }))
      places.push_back(i);
  for (int call : calls) {
    std::vector<int> kept;
    for (size_t place : places)
      kept.push_back(outline.blocks[call].numbers[place]);
    outline.blocks[call].numbers = std::move(kept);
  }
}

/// One mention of each axis of the most general call, and what they are in the others.
static void keepFirstMentions(Outline &outline, const std::vector<int> &calls) {
  std::set<int> seen;
  std::vector<size_t> places;
  for (auto [i, axis] : llvm::enumerate(outline.blocks[calls[0]].axes))
    if (seen.insert(axis).second)
      places.push_back(i);
  for (int call : calls) {
    std::vector<int> kept;
    for (size_t place : places)
      kept.push_back(outline.blocks[call].axes[place]);
    outline.blocks[call].axes = std::move(kept);
  }
}

void gnnc::frontend::pytorch::findLayers(const RecoveredProgram &program, Outline &outline) {
  outline.layers.clear();
  // A callee is made after the blocks that call it, and its layer must be known: by the depth of calls.
  std::vector<int> depths(outline.blocks.size(), 0);
  int deepest = 0;
  for (size_t i = outline.blocks.size(); i-- > 0;)
    for (const Item &item : outline.blocks[i].items)
      if (item.call >= 0)
        deepest = std::max(deepest, depths[i] = std::max(depths[i], depths[item.call] + 1));
  for (int depth = 0; depth <= deepest; ++depth) {
    std::map<std::string, std::vector<int>> groups;
    for (size_t i = 1; i < outline.blocks.size(); ++i)
      if (depths[i] == depth)
        groups[Form(program, outline, outline.blocks[i]).write()].push_back(int(i));
    // In the order of the program.
    auto isEarlier = [&](int a, int b) { return outline.blocks[a].result < outline.blocks[b].result; };
    std::vector<std::vector<int>> order;
    for (auto &[form, blocks] : groups) {
      llvm::sort(blocks, isEarlier);
      order.push_back(std::move(blocks));
    }
    llvm::sort(order, [&](const auto &a, const auto &b) { return isEarlier(a[0], b[0]); });
    for (std::vector<int> &rest : order) {
      while (!rest.empty()) {
        // The one that most others are special cases of.
        auto casesOf = [&](int general) {
          return llvm::count_if(rest,
                                [&](int each) { return isSpecial(outline.blocks[each], outline.blocks[general]); });
        };
        int general = rest[0];
        for (int each : rest)
          if (casesOf(each) > casesOf(general))
            general = each;
        std::vector<int> calls = {general}, others;
        for (int each : rest)
          if (each != general)
            (isSpecial(outline.blocks[each], outline.blocks[general]) ? calls : others).push_back(each);
        for (int each : calls)
          outline.blocks[each].layer = int(outline.layers.size());
        keepFirstMentions(outline, calls);
        keepArguments(outline, calls);
        outline.layers.push_back(std::move(calls));
        rest = std::move(others);
      }
    }
  }
  outline.blocks[0].axes.clear();
  outline.blocks[0].anySpace = false;
}
