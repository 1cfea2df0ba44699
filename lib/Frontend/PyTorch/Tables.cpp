//===- Tables.cpp - Tables of neighbours as lists of edges ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that a table [n, k] of neighbours names, `x[table]`, are k values of the nodes, one for each column, joined
// along an axis. Where all that is computed along this axis ends in sums, means, extrema or softmaxes over it, the
// pairs of a node and a column are edges: a space of n k elements with a map to their nodes and one to the neighbours.
// The axis is gone then; one sweep over edges takes the place of k, and of k sums in its gradient.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Sources.h"
#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

/// Fewer columns are cheaper one by one: they are read in one sweep over the nodes.
static constexpr size_t kLeastColumns = 6;

namespace {

/// The operations of a program as values on edges, for one axis of tables.
class TableAxis {
public:
  TableAxis(const RecoveredProgram &program, const std::vector<bool> &live, int axis, int nodes)
      : program(program), live(live), axis(axis), nodes(nodes) {}

  /// Whether the whole program can be written without the axis.
  bool isReplaceable() const {
    for (const RecoveredProgram::Output &output : program.outputs)
      if (has(output.value))
        return false;
    for (int value = 0; value < int(program.operations.size()); ++value)
      if (live[size_t(value)] && !(has(value) ? isOnEdges(value) : isAroundEdges(value)))
        return false;
    return true;
  }
  bool has(int value) const { return program.hasAxis(value, axis); }
  bool isAxis(int variable) const { return program.axis(variable) == axis; }
  bool isUsed(const Operation &operation) const {
    return llvm::any_of(operation.used, [&](int each) { return isAxis(each); });
  }

  /// A value that an axis of size 1 was added to, and what its other axes are called since.
  struct Column {
    int value;
    std::vector<std::pair<int, int>> renamed;
  };
  static Column columnOf(const RecoveredProgram &program, int value) {
    Column column{value, {}};
    for (;;) {
      const Operation &own = program.operations[size_t(column.value)];
      if (own.op == Op::Split) {
        // x[in] as x[in2, one]
        auto isWhole = [&](int each) { return program.sizeOf(each) == program.sizeOf(own.used[0]); };
        auto whole = llvm::find_if(own.into, isWhole);
        if (own.into.size() != 2 || whole == own.into.end())
          return column;
        column.renamed.insert(column.renamed.begin(), {own.used[0], *whole});
      } else if (own.op != Op::Permute && !(own.op == Op::Merge && own.used.empty())) {
        return column;
      }
      column.value = own.operands[0];
    }
  }

  /// The maps along which one value is moved for the columns of a table; none if it is not that.
  static std::vector<int> columnsOf(const RecoveredProgram &program, const Operation &table) {
    std::vector<int> maps, axes;
    int source = -1;
    for (int variable : table.axes)
      axes.push_back(program.axis(variable));
    axes.pop_back();
    for (int operand : table.operands) {
      Column column = columnOf(program, operand);
      const Operation &moved = program.operations[size_t(column.value)];
      if (moved.op != Op::Move || program.maps[size_t(moved.map)].partial ||
          (source >= 0 && moved.operands[0] != source))
        return {};
      std::vector<int> own = program.axesOf(column.value);
      for (int &each : own)
        for (auto [from, into] : column.renamed)
          each = program.axis(from) == each ? program.axis(into) : each;
      if (!std::is_permutation(own.begin(), own.end(), axes.begin(), axes.end()))
        return {};
      source = moved.operands[0];
      maps.push_back(moved.map);
    }
    return maps;
  }
  /// The lists of a table of numbers that the graph gives.
  static bool isOfLists(const RecoveredProgram &program, const Operation &table) {
    return llvm::all_of(table.operands, [&](int operand) {
      const Operation &own = program.operations[size_t(columnOf(program, operand).value)];
      return own.op == Op::Input && !own.source.empty() && own.space >= 0 && own.axes.empty();
    });
  }
  bool isTable(const Operation &operation) const { return operation.op == Op::Concat && isAxis(operation.axes.back()); }

private:
  /// An operation whose result has the axis.
  bool isOnEdges(int value) const {
    const Operation &own = program.operations[size_t(value)];
    if (own.space != nodes)
      return false;
    switch (own.op) {
    case Op::Concat:
      return !isTable(own) || !columnsOf(program, own).empty() || isOfLists(program, own);
    case Op::Unary:
    case Op::Binary:
    case Op::Where:
    case Op::Detach:
    case Op::Permute:
      return true;
    case Op::Over:
      return !isUsed(own) || (own.text == "softmax" && own.used.size() == 1);
    case Op::Dot:
    case Op::Slice:
    case Op::Pick:
    case Op::Split:
    case Op::Merge:
    case Op::Rename:
      return !isUsed(own) && llvm::none_of(own.into, [&](int each) { return isAxis(each); });
    default:
      return false;
    }
  }
  /// An operation whose result does not have it, and whose operands may.
  bool isAroundEdges(int value) const {
    const Operation &own = program.operations[size_t(value)];
    if (llvm::none_of(own.operands, [&](int operand) { return has(operand); }))
      return true;
    bool isSum = own.text == "sum" || own.text == "mean" || own.text == "max" || own.text == "min";
    return isUsed(own) && (own.op == Op::Dot || (own.op == Op::Over && isSum));
  }

  const RecoveredProgram &program;
  const std::vector<bool> &live;
  int axis, nodes;
};

} // namespace

/// The operations that outputs read.
std::vector<bool> Recover::liveOperations() const {
  std::vector<bool> live(program.operations.size(), false);
  for (const RecoveredProgram::Output &output : program.outputs)
    live[size_t(output.value)] = true;
  for (size_t i = live.size(); i-- > 0;)
    if (live[i])
      for (int operand : program.operations[i].operands)
        live[size_t(operand)] = true;
  return live;
}

/// The lists of columns as one list of all pairs, a node's one after the other.
Index Recover::listOfTable(const std::vector<Index> &columns) {
  // The columns of one input, in order, are that input.
  llvm::StringRef first = columns[0]->text;
  if (first.consume_front("column(") && first.consume_back(", 0)")) {
    bool areInOrder = true;
    for (auto [i, column] : llvm::enumerate(columns))
      areInOrder &= column->text == "column(" + first.str() + ", " + std::to_string(i) + ")";
    if (areInOrder) {
      SymbolicExpr length = columns[0]->length * int64_t(columns.size());
      return std::make_shared<IndexExpr>(
          IndexExpr{"flat(" + first.str() + ", -1, " + std::to_string(columns.size()) + ")",
                    true,
                    length,
                    columns[0]->isTruth,
                    "",
                    {}});
    }
  }
  return listsInTurn(columns, [&](const SymbolicExpr &size) { return sizeIndex(size); });
}

void Recover::tablesAsEdges() {
  // Choices are known by the numbers of their operations, which change here.
  if (llvm::any_of(program.operations, [](const Operation &each) { return each.op == Op::Choice; }))
    return;
  std::set<int> tried;
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    std::vector<bool> live = liveOperations();
    for (size_t value = 0; value < program.operations.size(); ++value) {
      const Operation &table = program.operations[value];
      if (!live[value] || table.op != Op::Concat || table.operands.size() < kLeastColumns || table.space < 0 ||
          program.spaces[size_t(table.space)].extent >= 0 || TableAxis::columnsOf(program, table).empty() ||
          !tried.insert(program.axis(table.axes.back())).second)
        continue;
      int axis = program.axis(table.axes.back()), nodes = table.space;
      if (!TableAxis(program, live, axis, nodes).isReplaceable())
        continue;
      writeWithEdges(axis, nodes, live);
      isChanged = true;
      break;
    }
  }
}

/// The program again, with a space of edges for an axis of the nodes.
void Recover::writeWithEdges(int axis, int nodes, const std::vector<bool> &live) {
  const RecoveredProgram old = program;
  const TableAxis is(old, live, axis, nodes);
  int64_t columns = old.sizeOf(axis);
  const SymbolicExpr count = old.spaces[size_t(nodes)].size, all = count * columns;
  int edges = spaceOf(all, "edge");
  Index each = call("arange", {constant(0), sizeIndex(count), constant(1)}, count);
  Index times = call("full", {sizeIndex(count), constant(columns)}, count);
  int owner = mapOf(call("interleave", {each, times}, all), edges, nodes);
  program.forgetOperations();
  indexInputs.clear();
  std::vector<int> now(old.operations.size(), -1);
  auto onEdges = [&](int value) {
    bool isOfNodes = !is.has(value) && old.operations[size_t(value)].space == nodes;
    return isOfNodes ? program.move(now[size_t(value)], owner) : now[size_t(value)];
  };
  for (size_t value = 0; value < old.operations.size(); ++value) {
    if (!live[value])
      continue;
    const Operation &own = old.operations[value];
    program.node = own.node;
    bool isHere = is.has(int(value));
    bool isGone = !isHere && llvm::any_of(own.operands, [&](int operand) { return is.has(operand); });
    auto operand = [&](size_t i) { return isHere || isGone ? onEdges(own.operands[i]) : now[size_t(own.operands[i])]; };
    if (isHere && is.isTable(own)) {
      std::vector<int> order;
      for (int variable : old.axesOf(int(value)))
        if (!is.isAxis(variable))
          order.push_back(variable);
      std::vector<int> maps = TableAxis::columnsOf(old, own);
      std::vector<Index> lists;
      for (int map : maps)
        lists.push_back(old.maps[size_t(map)].index);
      if (maps.empty())
        for (int column : own.operands) {
          const Operation &input = old.operations[size_t(TableAxis::columnOf(old, column).value)];
          lists.push_back(std::make_shared<IndexExpr>(IndexExpr{input.source, true, count, false, "", {}}));
        }
      Index list = listOfTable(lists);
      if (maps.empty()) {
        now[value] = inputFrom(list, "number");
        continue;
      }
      TableAxis::Column first = TableAxis::columnOf(old, own.operands[0]);
      int source = old.operations[size_t(first.value)].operands[0];
      int moved = program.move(now[size_t(source)], mapOf(list, edges, old.maps[size_t(maps[0])].to));
      now[value] = program.permute(program.rename(moved, first.renamed), order);
      continue;
    }
    std::vector<int> others;
    for (int variable : own.used)
      if (!is.isAxis(variable))
        others.push_back(variable);
    if (isGone) {
      int x = operand(0);
      if (own.op == Op::Dot)
        x = others.empty() ? program.binary("*", x, operand(1)) : program.dot(x, operand(1), others);
      else if (!others.empty())
        x = program.over(own.text, x, others);
      now[value] = program.reduce(own.op == Op::Dot ? "sum" : own.text, x, owner);
      continue;
    }
    switch (own.op) {
    case Op::Unary:
      now[value] = program.unary(own.text, operand(0), own.number);
      break;
    case Op::Binary:
      now[value] = program.binary(own.text, operand(0), operand(1));
      break;
    case Op::Where: {
      // What was repeated along the axis is there on all edges.
      const Operation &condition = old.operations[size_t(own.operands[0])];
      int then = operand(1);
      bool isRepeated = isHere && condition.op == Op::Number && condition.number != 0 &&
                        program.axesOf(then).size() + 1 == own.axes.size();
      now[value] = isRepeated ? then : program.where(operand(0), then, operand(2));
      break;
    }
    case Op::Detach:
      now[value] = program.detach(operand(0));
      break;
    case Op::Dot:
      now[value] = program.dot(operand(0), operand(1), own.used);
      break;
    case Op::Over:
      now[value] =
          is.isUsed(own) ? program.softmax(own.text, operand(0), owner) : program.over(own.text, operand(0), own.used);
      break;
    case Op::Reduce:
      now[value] = program.reduce(own.text, operand(0), own.map);
      break;
    case Op::Softmax:
      now[value] = program.softmax(own.text, operand(0), own.map);
      break;
    case Op::Move:
      now[value] = program.move(operand(0), own.map, own.number);
      break;
    case Op::Permute: {
      std::vector<int> order;
      for (int variable : old.axesOf(int(value)))
        if (!is.isAxis(variable))
          order.push_back(variable);
      now[value] = program.permute(operand(0), order);
      break;
    }
    case Op::Rename: {
      std::vector<std::pair<int, int>> pairs;
      for (auto [from, into] : llvm::zip(own.used, own.into))
        pairs.push_back({from, into});
      now[value] = program.rename(operand(0), pairs);
      break;
    }
    case Op::Merge:
      now[value] = program.merge(operand(0), own.used, own.into[0]);
      break;
    case Op::Split:
      now[value] = program.split(operand(0), own.used[0], own.into);
      break;
    case Op::Pick:
      now[value] = program.pick(operand(0), own.used[0], own.begin);
      break;
    case Op::Slice:
      now[value] = program.slice(operand(0), own.used[0], own.begin, own.end, own.into[0]);
      break;
    case Op::Concat: {
      std::vector<int> operands, joined;
      for (size_t i = 0; i < own.operands.size(); ++i) {
        operands.push_back(operand(i));
        joined.push_back(old.operations[size_t(own.operands[i])].axes.back());
      }
      now[value] = program.concat(operands, joined, own.into[0]);
      break;
    }
    case Op::Spread:
      now[value] = program.spread(operand(0), own.used[0], own.space);
      break;
    default: { // without operands
      Operation same = own;
      now[value] = program.add(same);
      break;
    }
    }
  }
  program.node = nullptr;
  for (RecoveredProgram::Output &output : program.outputs)
    output.value = now[size_t(output.value)];
}
