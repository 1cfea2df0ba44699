//===- SweepWalks.cpp - What a sweep does with members --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that Kernels/Sweep.cuh calls for each walk.
//
//===----------------------------------------------------------------------===//

#include "Body/RowParts.h"
#include "Sweep/SweepPrinterImpl.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

void SweepPrinter::walkTypes(unsigned number) {
  const WalkBody &walk = body.walks[number];
  members.open("struct Walk" + Twine(number));
  members.open("struct Sums");
  for (auto [i, statistic] : llvm::enumerate(walk.statistics)) {
    fields("top" + Twine(i), statistic.score);
    fields("total" + Twine(i), statistic.score);
  }
  for (int i : walk.accumulates) {
    mpk::AccumulateOp op = plan.accumulates[i].op;
    fields("sum" + Twine(i), op.getInput());
    if (namesWinner(op.getKind()))
      fields("winner" + Twine(i), op.getInput());
  }
  members.close("};");
  members.open("struct Member");
  members.line("bool live;");
  if (walk.needsElement)
    members.line("int element;");
  for (size_t i = 0; i < rowNumbers(walk).size(); ++i)
    members.line("int row" + Twine(i) + ";");
  DenseSet<Value> done;
  for (Value value : walk.kept) {
    Value root = print.root(value);
    if (isMember(root) && done.insert(root).second)
      members.line(print.declaration(root) + ";");
  }
  members.close("};");
  members.close("};");
}

/// The numbers of the rows that a walk's operands are read at, each once.
SmallVector<std::string> SweepPrinter::rowNumbers(const WalkBody &walk) {
  SmallVector<std::string> numbers;
  for (Value operand : walk.loaded)
    if (std::string number = rowNumber(operand); !llvm::is_contained(numbers, number))
      numbers.push_back(number);
  return numbers;
}

std::string SweepPrinter::rowNumber(Value operand) {
  mpk::AccessAttr access = sweep.getAccessOf(argumentOf(operand).getArgNumber());
  return access.getKind() == AccessKind::GatherMember
             ? "__ldg(" + index({IndexKind::Sorted, sweep.getAlongAttr(), access.getMap()}) + " + position)"
             : elementAt();
}

std::string SweepPrinter::elementAt() {
  return "gnnc::elementAt(" + index({IndexKind::MembersOrNone, sweep.getAlongAttr(), {}}) + ", position)";
}

void SweepPrinter::load(unsigned number) {
  const WalkBody &walk = body.walks[number];
  std::string type = "Walk" + std::to_string(number);
  SmallVector<std::string> numbers = rowNumbers(walk);
  members.open("GNNC_DEVICE void find(" + type + "::Member &m, int position)");
  if (sweep.getPairsAttr()) // Where it is not live there may be no such position.
    members.line("position = m.live ? position + shift : 0;");
  if (walk.needsElement)
    members.line("m.element = " + elementAt() + ";");
  for (auto [i, number] : llvm::enumerate(numbers))
    members.line("m.row" + Twine(i) + " = " + number + ";");
  members.close();
  members.open("GNNC_DEVICE void load(" + type + "::Member &m)");
  for (Value operand : walk.loaded)
    loadMember(operand, "m.row" + std::to_string(llvm::find(numbers, rowNumber(operand)) - numbers.begin()));
  members.close();
}

/// A sum over lanes of each member whose only use is to be summed over members: lanes sum up their own parts, and are
/// added to each other once for an owner.
void SweepPrinter::deferFolds() {
  for (const AccumulatePlan &accumulate : plan.accumulates) {
    mpk::AccumulateOp op = accumulate.op;
    if (!accumulate.perMember || accumulate.online >= 0 ||
        (op.getKind() != ReduceKind::Sum && op.getKind() != ReduceKind::Mean))
      continue;
    Operation *fold = op.getInput().getDefiningOp();
    bool isSum = isa_and_nonnull<ContractOp>(fold) ||
                 (isa_and_nonnull<FoldOp>(fold) && cast<FoldOp>(fold).getKind() == ReduceKind::Sum);
    if (isSum && isMember(op.getInput()) && fold->hasOneUse() && print.sumsLanes(fold))
      deferred.insert(fold);
  }
}

/// Sums over the same lanes that are only added to each other, or subtracted, are one exchange: each lane adds its own
/// parts first.
void SweepPrinter::joinFolds() {
  auto partOf = [&](Value value) -> Operation * { // the sum whose part in a lane the value could be; null: of none
    Operation *op = value.getDefiningOp();
    if (!op || !op->hasOneUse() || !isMember(value))
      return nullptr;
    if (Operation *sum = joined.lookup(op))
      return sum;
    auto fold = dyn_cast<FoldOp>(op);
    return (isa<ContractOp>(op) || (fold && fold.getKind() == ReduceKind::Sum)) && print.sumsLanes(op) ? op : nullptr;
  };
  for (Operation &op : sweep.getBody().front()) {
    auto binary = dyn_cast<BinaryOp>(op);
    if (!binary || (binary.getKind() != BinaryKind::Add && binary.getKind() != BinaryKind::Sub) ||
        binary.getLhs() == binary.getRhs() || axes.isStaged(op.getOpOperand(0)) || axes.isStaged(op.getOpOperand(1)))
      continue;
    Operation *lhs = partOf(binary.getLhs()), *rhs = partOf(binary.getRhs());
    if (!lhs || !rhs || axes.of(binary.getLhs()) != axes.of(binary.getRhs()) ||
        print.acrossLanes(lhs, "") != print.acrossLanes(rhs, ""))
      continue;
    for (Value part : {binary.getLhs(), binary.getRhs()})
      deferred.insert(part.getDefiningOp());
    joined[&op] = lhs;
  }
}

void SweepPrinter::memberOperation(Operation *op) {
  auto softmax = dyn_cast<mpk::SoftmaxOp>(op);
  Value result = op->getResult(0);
  if (print.root(result) == result && !print.heldFields.contains(result) && !BodyPrinter::isWrittenWhereUsed(result))
    members.line(print.declaration(result) + ";");
  if (Operation *sum = joined.lookup(op)) {
    std::string value = elementwise(op, {print.element(op->getOperand(0)), print.element(op->getOperand(1))});
    return print.forEach(axes.of(result), print.element(result) + " = " +
                                              (deferred.contains(op) ? value : print.acrossLanes(sum, value)) + ";");
  }
  if (deferred.contains(op))
    return print.withinLanes(op);
  if (!softmax)
    return print.operation(op);
  const SoftmaxPlan *found = llvm::find_if(plan.softmaxes, [&](auto &p) { return p.op == softmax; });
  unsigned number = found - plan.softmaxes.begin();
  std::string score = print.element(softmax.getInput());
  auto &statistics = body.walks[found->walk].statistics;
  int slot = llvm::find_if(statistics, [&](auto &s) { return s.softmax == int(number); }) - statistics.begin();
  print.forEach(axes.of(result), print.element(result) + " = m.live ? gnnc::exp(" + score + " - " +
                                     at("s", "top", slot, softmax.getInput()) + ") : Real(0);");
}

void SweepPrinter::score(unsigned number) {
  members.open("GNNC_DEVICE void score(Walk" + Twine(number) + "::Member &m)");
  for (Operation *op : body.walks[number].scoring)
    memberOperation(op);
  members.close();
}

/// Running maxima rise to the members' scores, and what was summed under the old ones is scaled.
void SweepPrinter::raise(unsigned number) {
  const WalkBody &walk = body.walks[number];
  std::string type = "Walk" + std::to_string(number);
  members.open("template <int N> GNNC_DEVICE void raise(" + type + "::Sums &s, const " + type +
               "::Member (&members)[N])");
  for (auto [i, statistic] : llvm::enumerate(walk.statistics)) {
    const AxisList &shape = axes.of(statistic.score);
    std::string top = at("s", "top", i, statistic.score);
    print.holder = "members[u].";
    std::string score = print.element(statistic.score);
    members.line(print.declaration("scale" + Twine(i), shape) + ";");
    members.open(print.loops(BodyAxes::atomsOf(shape)));
    members.line("Real top = " + top + ";");
    // A score that is no number makes the total none.
    members.line("GNNC_FOR(u, N) top = members[u].live ? gnnc::greater(top, " + score + ") : top;");
    members.line("top = gnnc::finite(top);");
    members.line("scale" + Twine(i) + print.subscripts(shape) + " = gnnc::exp(" + top + " - top);");
    members.line(top + " = top;");
    members.line(at("s", "total", i, statistic.score) + " *= scale" + Twine(i) + print.subscripts(shape) + ";");
    members.close();
    for (int j : statistic.scaled) {
      Value input = plan.accumulates[j].op->getOperand(0);
      print.forEach(axes.of(input), at("s", "sum", j, input) + " *= scale" + Twine(i) + print.subscripts(shape) + ";");
    }
    print.holder = "m.";
  }
  members.close();
}

void SweepPrinter::add(unsigned number) {
  const WalkBody &walk = body.walks[number];
  std::string type = "Walk" + std::to_string(number);
  members.open("GNNC_DEVICE void add(" + type + "::Sums &s, " + type + "::Member &m)");
  for (Operation *op : walk.adding)
    memberOperation(op);
  for (auto [i, statistic] : llvm::enumerate(walk.statistics)) {
    std::string total = at("s", "total", i, statistic.score);
    mpk::SoftmaxOp op = statistic.softmax >= 0 ? plan.softmaxes[statistic.softmax].op : mpk::SoftmaxOp();
    bool used = op && llvm::is_contained(walk.adding, op.getOperation());
    std::string weight = used ? print.element(op.getResult())
                              : "(m.live ? gnnc::exp(" + print.element(statistic.score) + " - " +
                                    at("s", "top", i, statistic.score) + ") : Real(0))";
    print.forEach(axes.of(statistic.score), total + " += " + weight + ";");
  }
  for (int i : walk.accumulates) {
    mpk::AccumulateOp op = plan.accumulates[i].op;
    Value input = op.getInput();
    std::string sum = at("s", "sum", i, input), value = print.element(input);
    ReduceKind kind = op.getKind();
    std::string statement;
    if (kind == ReduceKind::Sum || kind == ReduceKind::Mean)
      statement = sum + " = m.live ? " + sum + " + " + value + " : " + sum + ";"; // One instruction with a product.
    else if (kind == ReduceKind::Max || kind == ReduceKind::Min)
      statement = sum + " = m.live ? gnnc::" + (kind == ReduceKind::Max ? "most(" : "least(") + sum + ", Real(" +
                  value + ")) : " + sum + ";";
    else
      statement = std::string("if (m.live) gnnc::") + (kind == ReduceKind::ArgMax ? "keepMost" : "keepLeast") + "(" +
                  sum + ", " + at("s", "winner", i, input) + ", Real(" + value +
                  "), gnnc::numberOf(Real(0), m.element));";
    print.forEach(axes.of(input), statement);
  }
  for (unsigned i : walk.results) {
    Value value = body.yield.getValues()[i], output = sweep.getResults()[i];
    members.open("if (m.live)");
    for (auto &[part, place] : writtenParts(value))
      print.storeRow(part, place, axes.of(part), rowPointer(output, "m.element"));
    members.close();
  }
  members.close();
}

void SweepPrinter::mergeSums(unsigned number) {
  const WalkBody &walk = body.walks[number];
  std::string type = "Walk" + std::to_string(number);
  members.open("GNNC_DEVICE void reset(" + type + "::Sums &s) const");
  for (auto [i, statistic] : llvm::enumerate(walk.statistics)) {
    print.forEach(axes.of(statistic.score), at("s", "top", i, statistic.score) + " = gnnc::kLowest<Real>;");
    print.forEach(axes.of(statistic.score), at("s", "total", i, statistic.score) + " = 0;");
  }
  for (int i : walk.accumulates) {
    mpk::AccumulateOp op = plan.accumulates[i].op;
    bool most = op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::ArgMax;
    bool least = op.getKind() == ReduceKind::Min || op.getKind() == ReduceKind::ArgMin;
    print.forEach(axes.of(op.getInput()), at("s", "sum", i, op.getInput()) + (most    ? " = -Real(GNNC_INFINITY);"
                                                                              : least ? " = Real(GNNC_INFINITY);"
                                                                                      : " = 0;"));
    if (namesWinner(op.getKind()))
      print.forEach(axes.of(op.getInput()), at("s", "winner", i, op.getInput()) + " = gnnc::numberOf(Real(0), -1);");
  }
  members.close();
  members.open("GNNC_DEVICE void merge(" + type + "::Sums &s, const " + type + "::Sums &o) const");
  DenseSet<int> scaled;
  for (auto [i, statistic] : llvm::enumerate(walk.statistics)) {
    const AxisList &shape = axes.of(statistic.score);
    std::string subscripts = print.subscripts(shape), number = std::to_string(i);
    members.line(print.declaration("mine" + Twine(i), shape) + ", " +
                 StringRef(print.declaration("theirs" + Twine(i), shape)).drop_front(5) + ";");
    members.open(print.loops(BodyAxes::atomsOf(shape)));
    std::string mine = at("s", "top", i, statistic.score), theirs = at("o", "top", i, statistic.score);
    members.line("const Real top = gnnc::greater(" + mine + ", " + theirs + ");");
    members.line("mine" + number + subscripts + " = gnnc::exp(" + mine + " - top);");
    members.line("theirs" + number + subscripts + " = gnnc::exp(" + theirs + " - top);");
    members.line(mine + " = top;");
    std::string total = at("s", "total", i, statistic.score);
    members.line(total + " = " + total + " * mine" + number + subscripts + " + " +
                 at("o", "total", i, statistic.score) + " * theirs" + number + subscripts + ";");
    members.close();
    for (int j : statistic.scaled) {
      Value input = plan.accumulates[j].op->getOperand(0);
      std::string sum = at("s", "sum", j, input);
      print.forEach(axes.of(input), sum + " = " + sum + " * mine" + number + subscripts + " + " +
                                        at("o", "sum", j, input) + " * theirs" + number + subscripts + ";");
      scaled.insert(j);
    }
  }
  for (int i : walk.accumulates) {
    if (scaled.contains(i))
      continue;
    mpk::AccumulateOp op = plan.accumulates[i].op;
    std::string sum = at("s", "sum", i, op.getInput()), other = at("o", "sum", i, op.getInput());
    ReduceKind kind = op.getKind();
    std::string winners = "(" + sum + ", " + at("s", "winner", i, op.getInput()) + ", " + other + ", " +
                          at("o", "winner", i, op.getInput()) + ");";
    print.forEach(axes.of(op.getInput()), kind == ReduceKind::Max ? sum + " = gnnc::most(" + sum + ", " + other + ");"
                                          : kind == ReduceKind::Min
                                              ? sum + " = gnnc::least(" + sum + ", " + other + ");"
                                          : kind == ReduceKind::ArgMax ? "gnnc::keepMost" + winners
                                          : kind == ReduceKind::ArgMin ? "gnnc::keepLeast" + winners
                                                                       : sum + " += " + other + ";");
  }
  members.close();
}

void SweepPrinter::after(unsigned number) {
  const WalkBody &walk = body.walks[number];
  members.open("GNNC_DEVICE void after(const Walk" + Twine(number) + "::Sums &s, int count)");
  for (auto [i, statistic] : llvm::enumerate(walk.statistics)) {
    const AxisList &shape = axes.of(statistic.score);
    std::string found = "(" + at("s", "top", i, statistic.score) + ", " + at("s", "total", i, statistic.score) + ");";
    if (!statistic.scaled.empty()) {
      members.line(print.declaration("share" + Twine(i), shape) + ";");
      print.forEach(shape, "share" + Twine(i) + print.subscripts(shape) + " = gnnc::softmax_scale" + found);
    }
    for (int j : statistic.accumulates) {
      mpk::AccumulateOp op = plan.accumulates[j].op;
      print.forEach(shape, print.element(op.getResult()) + " = gnnc::" + stringifyEnum(op.getKind()) + found);
    }
  }
  for (int i : walk.accumulates) {
    const AccumulatePlan &accumulate = plan.accumulates[i];
    mpk::AccumulateOp op = accumulate.op;
    std::string value = at("s", namesWinner(op.getKind()) ? "winner" : "sum", i, op.getInput());
    if (Operation *fold = op.getInput().getDefiningOp(); deferred.contains(fold))
      value = print.acrossLanes(fold, value);
    if (accumulate.online >= 0) {
      int slot = llvm::find_if(walk.statistics, [&](auto &s) { return s.softmax == accumulate.online; }) -
                 walk.statistics.begin();
      value += " * share" + std::to_string(slot) + print.subscripts(axes.of(walk.statistics[slot].score));
    }
    std::string target = print.element(op.getResult());
    if (op.getKind() == ReduceKind::Mean) {
      // An exchange between lanes stands outside of any condition: a warp's groups have owners of their own, some
      // empty.
      print.forEach(axes.of(op.getInput()), "{ const Real whole = " + value + "; " + target +
                                                " = count > 0 ? whole / Real(count) : Real(0); }");
      continue;
    }
    if (op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::Min)
      value = "count > 0 ? " + value + " : Real(0)";
    print.forEach(axes.of(op.getInput()), target + " = " + value + ";");
  }
  place(number + 1);
  members.close();
}

void SweepPrinter::walkFunctions(unsigned number) {
  mergeSums(number);
  for (Value value : body.walks[number].kept)
    if (isMember(print.root(value)))
      print.heldFields.insert(print.root(value));
  print.holder = "m.";
  load(number);
  score(number);
  raise(number);
  add(number);
  print.heldFields.clear();
  after(number);
}
