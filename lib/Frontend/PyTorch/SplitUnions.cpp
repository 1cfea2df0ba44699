//===- SplitUnions.cpp - Unions of which values decide a part -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `torch.cat([edges, loops], 1)`, where values decide how many edges there are, is no space: the language has unions
// only of parts that are known with the graph. Each value of such a union becomes one of each part:
//
//   elementwise                on each part
//   sum(x, along: m)           the sum of the parts' sums
//   max, min                   of the parts' own, where these have elements
//   mean                       the sum by the number of elements
//   softmax(x, along: m)       exp(x - m) by the sum of it, with the maximum m of all parts
//
// What reads a union in another way is left, and refused with the language's reason.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

/// Whether values decide how many elements there are.
bool Recover::isOpen(int space) const {
  const RecoveredSpace &each = program.spaces[size_t(space)];
  switch (each.form.kind) {
  case SpaceForm::Kind::Selection: {
    const std::string &choice = program.operations[size_t(each.choice)].text;
    return choice == "filter" || choice == "radius";
  }
  case SpaceForm::Kind::Union:
    return llvm::any_of(each.form.parts, [&](int part) { return isOpen(part); });
  case SpaceForm::Kind::Filter:
    return isOpen(each.form.base);
  default:
    return false;
  }
}

namespace {
/// Writes a program again, without values of one union.
class SplitUnion {
public:
  SplitUnion(RecoveredProgram &program, int space)
      : program(program), old(program), space(space), parts(old.spaces[size_t(space)].form.parts) {}

  /// False, with the program as it was, where something reads the union in another way.
  bool run() {
    now.assign(old.operations.size(), -1);
    split.assign(old.operations.size(), {});
    program.forgetOperations();
    for (size_t value = 0; value < old.operations.size(); ++value)
      if (!write(int(value))) {
        program = old;
        return false;
      }
    for (RecoveredSpace &each : program.spaces)
      if (each.choice >= 0)
        each.choice = now[size_t(each.choice)];
    for (RecoveredProgram::Output &output : program.outputs) {
      output.value = now[size_t(output.value)];
      if (output.value < 0) {
        program = old;
        return false;
      }
    }
    return true;
  }

private:
  bool isOn(int value) const { return old.operations[size_t(value)].space == space; }

  bool leadsFrom(int map) const { return map >= 0 && old.maps[size_t(map)].from == space; }

  const MapPart &partOf(int map, size_t part) const { return old.maps[size_t(map)].form.parts[part]; }

  bool isSplit(int map) const {
    const MapForm &form = old.maps[size_t(map)].form;
    return form.kind == MapForm::Kind::Paths && form.parts.size() == parts.size();
  }

  /// A value of a map's target on a part.
  int moved(int value, int map, size_t part, double fill = 0) {
    const MapPart &own = partOf(map, part);
    if (own.kind == MapPart::Kind::Map)
      return program.move(value, own.id, fill);
    if (own.kind == MapPart::Kind::Space)
      return value;
    int none = program.number(fill);
    if (program.operations[size_t(value)].axes.empty())
      return none;
    return program.where(program.number(0), program.reduce("sum", value, -1), none); // with the axes
  }

  int operand(const Operation &own, size_t i, size_t part) const {
    size_t value = size_t(own.operands[i]);
    return isOn(int(value)) ? split[value][part] : now[value];
  }

  /// The sum, or another reduction, of each part; -1: it has none.
  int reduced(const std::string &function, int value, int map, size_t part) {
    const MapPart &own = partOf(map, part);
    if (own.kind == MapPart::Kind::None)
      return -1;
    if (own.kind == MapPart::Kind::Map)
      return program.reduce(function, value, own.id);
    return value;
  }

  int together(const std::string &function, const std::vector<int> &values, int map) {
    int sum = -1, count = -1;
    for (size_t part = 0; part < parts.size(); ++part) {
      bool isMean = function == "mean";
      int own = reduced(isMean ? "sum" : function, values[part], map, part);
      if (own < 0)
        continue;
      int ownCount = reduced("sum", program.number(1), map, part);
      if (sum < 0) {
        sum = own;
        count = ownCount;
        continue;
      }
      if (function == "sum" || isMean) {
        sum = program.binary("+", sum, own);
      } else { // of no elements there is none
        int zero = program.number(0);
        int both = program.binary(function == "max" ? "maximum" : "minimum", sum, own);
        int first = program.where(program.binary("==", ownCount, zero), sum, both);
        sum = program.where(program.binary("==", count, zero), own, first);
      }
      count = program.binary("+", count, ownCount);
    }
    if (function == "mean")
      sum = program.binary("/", sum, program.binary("maximum", count, program.number(1)));
    return sum;
  }

  bool write(int value) {
    const Operation &own = old.operations[size_t(value)];
    program.node = own.node;
    bool reads = llvm::any_of(own.operands, [&](int each) { return isOn(each); });
    bool isFrom = leadsFrom(own.map) || leadsFrom(own.otherMap);
    if (isFrom && (own.map < 0 || !isSplit(own.map)))
      return false;
    if (!isOn(value) && !reads && !isFrom) {
      Operation copy = own;
      for (int &each : copy.operands)
        each = now[size_t(each)];
      if (llvm::is_contained(copy.operands, -1))
        return false;
      now[size_t(value)] = program.add(std::move(copy));
      return true;
    }
    if (own.op == Op::Reduce) {
      static const std::set<std::string> known = {"sum", "mean", "max", "min"};
      if (!known.count(own.text) || (own.map < 0 && own.text != "sum"))
        return false;
      std::vector<int> values;
      for (size_t part = 0; part < parts.size(); ++part)
        values.push_back(operand(own, 0, part));
      if (own.map < 0) {
        int sum = program.reduce("sum", values[0], -1);
        for (int each : llvm::drop_begin(values))
          sum = program.binary("+", sum, program.reduce("sum", each, -1));
        now[size_t(value)] = sum;
      } else {
        now[size_t(value)] = together(own.text, values, own.map);
      }
      return now[size_t(value)] >= 0;
    }
    if (!isOn(value))
      return false;
    std::vector<int> &result = split[size_t(value)];
    if (own.op == Op::Move) {
      for (size_t part = 0; part < parts.size(); ++part)
        result.push_back(moved(now[size_t(own.operands[0])], own.map, part, own.number));
      return now[size_t(own.operands[0])] >= 0;
    }
    if (own.op == Op::OneHot) {
      for (size_t part = 0; part < parts.size(); ++part) {
        if (partOf(own.map, part).kind != MapPart::Kind::Map)
          return false;
        result.push_back(program.oneHot(partOf(own.map, part).id, own.axes[0]));
      }
      return true;
    }
    if (own.op == Op::Softmax) {
      bool isLog = own.text == "log_softmax";
      std::vector<int> scores, weights;
      for (size_t part = 0; part < parts.size(); ++part)
        scores.push_back(program.detach(operand(own, 0, part)));
      int largest = together("max", scores, own.map);
      for (size_t part = 0; part < parts.size(); ++part) {
        scores[part] = program.binary("-", operand(own, 0, part), moved(largest, own.map, part));
        weights.push_back(program.unary("exp", scores[part]));
      }
      int sum = together("sum", weights, own.map);
      if (isLog)
        sum = program.unary("log", sum);
      for (size_t part = 0; part < parts.size(); ++part) {
        int all = moved(sum, own.map, part);
        result.push_back(isLog ? program.binary("-", scores[part], all) : program.binary("/", weights[part], all));
      }
      return true;
    }
    static const std::set<Op> elementwise = {Op::Unary,  Op::Binary,  Op::Where, Op::Dot,    Op::Over,
                                             Op::Concat, Op::Slice,   Op::Pick,  Op::Rename, Op::Merge,
                                             Op::Split,  Op::Permute, Op::Detach};
    if (!elementwise.count(own.op))
      return false;
    for (size_t part = 0; part < parts.size(); ++part) {
      Operation copy = own;
      copy.space = -1;
      for (size_t i = 0; i < own.operands.size(); ++i) {
        copy.operands[i] = operand(own, i, part);
        if (copy.operands[i] < 0)
          return false;
        copy.space = std::max(copy.space, program.operations[size_t(copy.operands[i])].space);
      }
      result.push_back(program.add(std::move(copy)));
    }
    return true;
  }

  RecoveredProgram &program;
  const RecoveredProgram old;
  const int space;
  const std::vector<int> parts;
  std::vector<int> now;                ///< what each value has become
  std::vector<std::vector<int>> split; ///< of a value of the union, those of the parts
};
} // namespace

/// Whether the program is another one now.
bool Recover::splitOpenUnions() {
  bool isOther = false;
  for (int space = 0; space < int(program.spaces.size()); ++space)
    if (program.spaces[size_t(space)].form.kind == SpaceForm::Kind::Union && isOpen(space)) {
      isOther |= SplitUnion(program, space).run();
    }
  return isOther;
}
