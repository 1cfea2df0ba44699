//===- SweepPrinter.cpp - A sweep as a CUDA kernel ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the Body that Kernels/Sweep.cuh asks for: operands, the cut of the feature axes, and what is computed where.
// The kernels themselves are one line each.
//
//===----------------------------------------------------------------------===//

#include "SweepPrinter.h"
#include "SweepBody.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

namespace {

/// Shared operands of which a lane would hold more than this are read where they are used.
constexpr int64_t kMostSharedRegisters = 32;
constexpr int64_t kMostSharedMemory = 48 << 10;

bool namesWinner(ReduceKind kind) { return kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin; }

class SweepPrinter {
public:
  SweepPrinter(mpk::SweepOp sweep, StringRef name, CodeWriter &out)
      : sweep(sweep), plan(sweep), axes(sweep), layout(layOut(sweep, plan, axes)), body(sweep, plan), kernel(name),
        out(out), print(sweep, axes, layout, members), element(elementTypeOf(sweep)) {
    step.name = name.str();
    print.extentOf = [this](FlatSymbolRefAttr space) { return extent(space); };
  }

  FailureOr<DeviceStep> run();

private:
  static Type elementTypeOf(mpk::SweepOp sweep) {
    return cast<RankedTensorType>(sweep.getResult(0).getType()).getElementType();
  }
  bool isMember(Value value) const { return plan.levels.lookup(value) == Level::Member; }
  bool hasTotals() const { return !plan.shared.empty() || sharedResults; }

  // Operands
  std::string buffer(Value value);
  std::string degree(Value input, const Twine &row);
  void loadRow(BlockArgument argument, const Twine &row, StringRef defined, double fill);
  std::string index(IndexRef ref);
  std::string extent(FlatSymbolRefAttr space);
  bool mapIsPartial(FlatSymbolRefAttr map);
  std::string rowPointer(Value value, const Twine &row);

  // Functions of the body
  void fields(const Twine &name, Value like) { members.line(print.declaration(name, axes.of(like)) + ";"); }
  void constructor();
  void place(int place);
  void loadArgument(BlockArgument argument);
  void walkTypes(unsigned number);
  void walkFunctions(unsigned number);
  void load(unsigned number);
  SmallVector<std::string> rowArrays(const WalkBody &walk);
  std::string rowArray(BlockArgument argument);
  void score(unsigned number);
  void raise(unsigned number);
  void add(unsigned number);
  void after(unsigned number);
  void mergeSums(unsigned number);
  void memberOperation(Operation *op);
  void store();
  void totals();
  void finishAccumulate(mpk::AccumulateOp op);

  std::string at(StringRef object, StringRef field, int number, Value like) {
    return (object + "." + field + Twine(number) + print.subscripts(axes.of(like))).str();
  }
  int64_t sumsWords(unsigned walk);
  int64_t totalsWords();
  void configuration();
  void launches();

  mpk::SweepOp sweep;
  SweepPlan plan;
  BodyAxes axes;
  LaneLayout layout;
  SweepBody body;
  std::string kernel;
  CodeWriter &out;
  CodeWriter members; ///< of the body; its constants follow from what is printed there
  BodyPrinter print;
  Type element;
  DeviceStep step;
  SmallVector<FlatSymbolRefAttr> extents;
  bool sharedResults = false;
  int64_t combineThreads = 1024;
  DenseSet<int> staged;
};

} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

std::string SweepPrinter::buffer(Value value) {
  auto it = llvm::find(step.buffers, value);
  size_t number = it - step.buffers.begin();
  if (it == step.buffers.end())
    step.buffers.push_back(value);
  return "args.b" + std::to_string(number);
}

std::string SweepPrinter::index(IndexRef ref) {
  auto it = llvm::find(step.indices, ref);
  size_t number = it - step.indices.begin();
  if (it == step.indices.end())
    step.indices.push_back(ref);
  return "args.i" + std::to_string(number);
}

std::string SweepPrinter::extent(FlatSymbolRefAttr space) {
  auto it = llvm::find(extents, space);
  size_t number = it - extents.begin();
  if (it == extents.end())
    extents.push_back(space);
  return "args.n" + std::to_string(number);
}

bool SweepPrinter::mapIsPartial(FlatSymbolRefAttr map) {
  auto op = SymbolTable::lookupNearestSymbolFrom<MapOp>(sweep, map);
  // Whether a composition is undefined somewhere depends on its parts.
  if (op.getKind() == MapKind::Compose || op.getKind() == MapKind::Parts)
    for (Attribute part : op.getPartsAttr())
      if (auto name = dyn_cast<FlatSymbolRefAttr>(part); name && mapIsPartial(name))
        return true;
  return op.getPartial();
}

std::string SweepPrinter::rowPointer(Value value, const Twine &row) {
  return (buffer(value) + " + gnnc::int64(" + row + ") * " + Twine(getFeatureElements(value.getType()))).str();
}

/// The number that an operand which is a degree has for an element, from the index of its map; empty for others.
std::string SweepPrinter::degree(Value input, const Twine &row) {
  auto op = input.getDefiningOp<DegreeOp>();
  if (!op)
    return "";
  std::string pointers = index({IndexKind::Pointers, op.getAlongAttr(), {}});
  return ("Real(__ldg(" + pointers + " + " + row + " + 1) - __ldg(" + pointers + " + " + row + "))").str();
}

/// Loads the argument's row for an element; `fill` where `defined` (unless empty) does not hold.
void SweepPrinter::loadRow(BlockArgument argument, const Twine &row, StringRef defined, double fill) {
  Value input = sweep.getInputs()[argument.getArgNumber()];
  if (std::string number = degree(input, row); !number.empty())
    print.loadNumber(argument, number, defined, fill);
  else
    print.loadRow(argument, rowPointer(input, row), defined, fill);
}

//===----------------------------------------------------------------------===//
// What the owner knows
//===----------------------------------------------------------------------===//

void SweepPrinter::loadArgument(BlockArgument argument) {
  mpk::AccessAttr access = sweep.getAccessOf(argument.getArgNumber());
  Value input = sweep.getInputs()[argument.getArgNumber()];
  double fill = access.getFill() ? access.getFill().getValueAsDouble() : 0;
  if (access.getKind() == AccessKind::Shared)
    return print.loadRow(argument, buffer(input), "", 0);
  if (access.getKind() == AccessKind::Owner)
    return loadRow(argument, "owner", "", 0);
  // GatherOwner.
  members.open("");
  members.line("const int row = __ldg(" + index({IndexKind::Raw, access.getMap(), {}}) + " + owner);");
  loadRow(argument, "row", mapIsPartial(access.getMap()) ? "row >= 0" : "", fill);
  members.close();
}

/// Computes what is known at a place and needed after it, into fields.
void SweepPrinter::place(int number) {
  for (Value value : body.valuesAt(number)) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (!print.fromMemory.count(value))
        loadArgument(argument);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto accumulate = dyn_cast<mpk::AccumulateOp>(op)) {
      const AccumulatePlan *found = llvm::find_if(plan.accumulates, [&](auto &p) { return p.op == accumulate; });
      if (!found->perMember)
        finishAccumulate(accumulate);
      continue;
    }
    print.operation(op);
  }
}

/// The same for every member: by their number.
void SweepPrinter::finishAccumulate(mpk::AccumulateOp op) {
  std::string pointers = index({IndexKind::Pointers, sweep.getAlongAttr(), {}});
  std::string value = print.element(op.getInput());
  std::string target = print.element(op.getResult());
  members.open("");
  members.line("const Real count = Real(__ldg(" + pointers + " + owner + 1) - __ldg(" + pointers + " + owner));");
  std::string result = op.getKind() == ReduceKind::Sum         ? "count > 0 ? " + value + " * count : Real(0)"
                       : op.getKind() == ReduceKind::LogSumExp ? value + " + gnnc::log(count)"
                                                               : "count > 0 ? " + value + " : Real(0)";
  print.forEach(axes.of(op.getResult()), target + " = " + result + ";");
  members.close();
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

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
  for (size_t i = 0; i < rowArrays(walk).size(); ++i)
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

/// The index arrays that say which rows a walk's operands are read at, each once.
SmallVector<std::string> SweepPrinter::rowArrays(const WalkBody &walk) {
  SmallVector<std::string> arrays;
  for (BlockArgument argument : walk.loaded)
    if (std::string array = rowArray(argument); !llvm::is_contained(arrays, array))
      arrays.push_back(array);
  return arrays;
}

std::string SweepPrinter::rowArray(BlockArgument argument) {
  mpk::AccessAttr access = sweep.getAccessOf(argument.getArgNumber());
  return access.getKind() == AccessKind::GatherMember
             ? index({IndexKind::Sorted, sweep.getAlongAttr(), access.getMap()})
             : index({IndexKind::Members, sweep.getAlongAttr(), {}});
}

void SweepPrinter::load(unsigned number) {
  const WalkBody &walk = body.walks[number];
  std::string type = "Walk" + std::to_string(number);
  SmallVector<std::string> arrays = rowArrays(walk);
  members.open("GNNC_DEVICE void find(" + type + "::Member &m, int position)");
  if (walk.needsElement)
    members.line("m.element = __ldg(" + index({IndexKind::Members, sweep.getAlongAttr(), {}}) + " + position);");
  for (auto [i, array] : llvm::enumerate(arrays))
    members.line("m.row" + Twine(i) + " = __ldg(" + array + " + position);");
  members.close();
  members.open("GNNC_DEVICE void load(" + type + "::Member &m)");
  for (BlockArgument argument : walk.loaded) {
    mpk::AccessAttr access = sweep.getAccessOf(argument.getArgNumber());
    bool gathered = access.getKind() == AccessKind::GatherMember;
    std::string row = "m.row" + std::to_string(llvm::find(arrays, rowArray(argument)) - arrays.begin());
    double fill = access.getFill() ? access.getFill().getValueAsDouble() : 0;
    loadRow(argument, row, gathered && mapIsPartial(access.getMap()) ? row + " >= 0" : "", fill);
  }
  members.close();
}

void SweepPrinter::memberOperation(Operation *op) {
  auto softmax = dyn_cast<mpk::SoftmaxOp>(op);
  Value result = op->getResult(0);
  if (print.root(result) == result && !print.heldFields.contains(result) && !BodyPrinter::isWrittenWhereUsed(result))
    members.line(print.declaration(result) + ";");
  if (!softmax)
    return print.operation(op);
  const SoftmaxPlan *found = llvm::find_if(plan.softmaxes, [&](auto &p) { return p.op == softmax; });
  unsigned number = found - plan.softmaxes.begin();
  std::string score = print.element(softmax.getInput());
  if (!found->online) { // Its log-sum-exp is known from an earlier walk.
    print.forEach(axes.of(result), print.element(result) + " = gnnc::exp(" + score + " - lse" + Twine(number) +
                                       print.subscripts(axes.of(softmax.getInput())) + ");");
    return;
  }
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
  members.open("GNNC_DEVICE void raise(" + type + "::Sums &s, const " + type + "::Member (&members)[kFlight])");
  for (auto [i, statistic] : llvm::enumerate(walk.statistics)) {
    const AxisList &shape = axes.of(statistic.score);
    std::string top = at("s", "top", i, statistic.score);
    print.holder = "members[u].";
    std::string score = print.element(statistic.score);
    members.line(print.declaration("scale" + Twine(i), shape) + ";");
    members.open(print.loops(BodyAxes::atomsOf(shape)));
    members.line("Real top = " + top + ";");
    members.line("GNNC_FOR(u, kFlight) top = members[u].live && " + score + " > top ? " + score + " : top;");
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
    bool online = statistic.softmax >= 0 && plan.softmaxes[statistic.softmax].online;
    mpk::SoftmaxOp op = online ? plan.softmaxes[statistic.softmax].op : mpk::SoftmaxOp();
    bool used = online && llvm::is_contained(walk.adding, op.getOperation());
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
      statement = sum + " += m.live ? " + value + " : Real(0);";
    else if (kind == ReduceKind::Max || kind == ReduceKind::Min)
      statement = sum + " = m.live && " + value + (kind == ReduceKind::Max ? " > " : " < ") + sum + " ? " + value +
                  " : " + sum + ";";
    else
      statement = std::string("if (m.live) gnnc::") + (kind == ReduceKind::ArgMax ? "keepMost" : "keepLeast") + "(" +
                  sum + ", " + at("s", "winner", i, input) + ", Real(" + value +
                  "), gnnc::numberOf(Real(0), m.element));";
    print.forEach(axes.of(input), statement);
  }
  for (unsigned i : walk.results) {
    Value value = body.yield.getValues()[i], output = sweep.getResults()[i];
    members.open("if (m.live)");
    print.storeRow(value, getFeatureShape(value.getType()), axes.of(value), rowPointer(output, "m.element"));
    members.close();
  }
  members.close();
}

void SweepPrinter::mergeSums(unsigned number) {
  const WalkBody &walk = body.walks[number];
  std::string type = "Walk" + std::to_string(number);
  members.open("GNNC_DEVICE void reset(" + type + "::Sums &s) const");
  for (auto [i, statistic] : llvm::enumerate(walk.statistics)) {
    print.forEach(axes.of(statistic.score), at("s", "top", i, statistic.score) + " = gnnc::kLowest;");
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
    members.line("const Real top = gnnc::maximum(" + mine + ", " + theirs + ");");
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
    print.forEach(axes.of(op.getInput()),
                  kind == ReduceKind::Max      ? sum + " = gnnc::maximum(" + other + ", " + sum + ");"
                  : kind == ReduceKind::Min    ? sum + " = gnnc::minimum(" + other + ", " + sum + ");"
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
    std::string lse =
        at("s", "top", i, statistic.score) + " + gnnc::log(" + at("s", "total", i, statistic.score) + ");";
    const AxisList &shape = axes.of(statistic.score);
    for (auto [j, accumulate] : llvm::enumerate(plan.accumulates))
      if (int(j) == statistic.accumulate ||
          (accumulate.perMember && statistic.softmax >= 0 && accumulate.statisticOf == statistic.softmax)) {
        mpk::AccumulateOp op = accumulate.op;
        print.forEach(shape, print.element(op.getResult()) + " = " + lse);
      }
    if (statistic.softmax >= 0 && !plan.softmaxes[statistic.softmax].online)
      print.forEach(shape, "lse" + Twine(statistic.softmax) + print.subscripts(shape) + " = " + lse);
  }
  for (int i : walk.accumulates) {
    const AccumulatePlan &accumulate = plan.accumulates[i];
    mpk::AccumulateOp op = accumulate.op;
    std::string value = at("s", namesWinner(op.getKind()) ? "winner" : "sum", i, op.getInput());
    if (accumulate.online >= 0) {
      int slot = llvm::find_if(walk.statistics, [&](auto &s) { return s.softmax == accumulate.online; }) -
                 walk.statistics.begin();
      std::string total = at("s", "total", slot, walk.statistics[slot].score);
      value = "(" + total + " > 0 ? " + value + " / " + total + " : Real(0))";
    }
    if (op.getKind() == ReduceKind::Mean)
      value = value + " / Real(count)";
    if (op.getKind() == ReduceKind::Mean || op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::Min)
      value = "count > 0 ? " + value + " : Real(0)";
    print.forEach(axes.of(op.getInput()), print.element(op.getResult()) + " = " + value + ";");
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

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void SweepPrinter::store() {
  members.open("GNNC_DEVICE void store()");
  for (auto [i, value] : llvm::enumerate(body.yield.getValues())) {
    AccessKind kind = sweep.getYieldOf(i).getKind();
    Value output = sweep.getResults()[i];
    bool once = kind == AccessKind::Shared && !sweep.getOverAttr() && !value.getDefiningOp<mpk::AccumulateOp>();
    if (kind == AccessKind::Owner || once)
      print.storeRow(value, getFeatureShape(value.getType()), axes.of(value),
                     once ? buffer(output) : rowPointer(output, "owner"));
  }
  members.close();
}

void SweepPrinter::totals() {
  members.open("struct Totals");
  members.line("static constexpr bool kNone = " + Twine(hasTotals() ? "false" : "true") + ";");
  for (auto [i, op] : llvm::enumerate(plan.shared)) {
    fields("sum" + Twine(i), op.getInput());
    if (namesWinner(op.getKind()))
      fields("winner" + Twine(i), op.getInput());
  }
  members.close("};");
  auto statements = [&](function_ref<std::string(unsigned, mpk::AccumulateOp)> statement) {
    for (auto [i, op] : llvm::enumerate(plan.shared))
      print.forEach(axes.of(op.getInput()), statement(i, op));
    members.close();
  };
  auto combine = [&](unsigned i, mpk::AccumulateOp op, const std::string &other, const std::string &number) {
    std::string sum = at("t", "sum", i, op.getInput()), winner = at("t", "winner", i, op.getInput());
    switch (op.getKind()) {
    case ReduceKind::Max:
      return sum + " = gnnc::maximum(" + other + ", " + sum + ");";
    case ReduceKind::Min:
      return sum + " = gnnc::minimum(" + other + ", " + sum + ");";
    case ReduceKind::ArgMax:
      return "gnnc::keepMost(" + sum + ", " + winner + ", " + other + ", " + number + ");";
    case ReduceKind::ArgMin:
      return "gnnc::keepLeast(" + sum + ", " + winner + ", " + other + ", " + number + ");";
    default:
      return sum + " += " + other + ";";
    }
  };
  members.open("GNNC_DEVICE void reset(Totals &t) const");
  statements([&](unsigned i, mpk::AccumulateOp op) -> std::string {
    bool most = op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::ArgMax;
    bool least = op.getKind() == ReduceKind::Min || op.getKind() == ReduceKind::ArgMin;
    std::string sum = at("t", "sum", i, op.getInput());
    std::string start = sum + (most ? " = -Real(GNNC_INFINITY)" : least ? " = Real(GNNC_INFINITY)" : " = 0");
    return start + (namesWinner(op.getKind())
                        ? ", " + at("t", "winner", i, op.getInput()) + " = gnnc::numberOf(Real(0), -1);"
                        : ";");
  });
  members.open("GNNC_DEVICE void merge(Totals &t, const Totals &o) const");
  statements([&](unsigned i, mpk::AccumulateOp op) {
    return combine(i, op, at("o", "sum", i, op.getInput()), at("o", "winner", i, op.getInput()));
  });
  members.open("GNNC_DEVICE void add(Totals &t) const");
  statements([&](unsigned i, mpk::AccumulateOp op) {
    return combine(i, op, "Real(" + print.element(op.getInput()) + ")", "gnnc::numberOf(Real(0), owner)");
  });
  members.open("GNNC_DEVICE void store(Totals &t)");
  for (auto [i, value] : llvm::enumerate(body.yield.getValues())) {
    if (sweep.getYieldOf(i).getKind() != AccessKind::Shared)
      continue;
    Value output = sweep.getResults()[i];
    auto op = value.getDefiningOp<mpk::AccumulateOp>();
    if (!op) { // The same for all owners, and there may be none.
      if (sweep.getOverAttr())
        print.storeRow(value, getFeatureShape(value.getType()), axes.of(value), buffer(output));
      continue;
    }
    int number = llvm::find(plan.shared, op) - plan.shared.begin();
    std::string sum = at("t", namesWinner(op.getKind()) ? "winner" : "sum", number, op.getInput());
    std::string count = sweep.getOverAttr() ? extent(sweep.getOverAttr()) : "1";
    std::string final = op.getKind() == ReduceKind::Mean ? sum + " / Real(" + count + ")" : sum;
    if (op.getKind() != ReduceKind::Sum && !namesWinner(op.getKind()))
      final = count + " > 0 ? " + final + " : Real(0)";
    members.open("");
    members.line(print.declaration("x_total", axes.of(value)) + ";");
    print.forEach(axes.of(value), "x_total" + print.subscripts(axes.of(value)) + " = " + final + ";");
    print.storeArray("x_total", getFeatureShape(value.getType()), axes.of(value), buffer(output));
    members.close();
  }
  members.close();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

int64_t SweepPrinter::sumsWords(unsigned number) {
  const WalkBody &walk = body.walks[number];
  int64_t words = 0;
  for (const Statistic &statistic : walk.statistics)
    words += 2 * heldBy(axes.of(statistic.score), axes);
  for (int i : walk.accumulates) {
    mpk::AccumulateOp op = plan.accumulates[i].op;
    words += heldBy(axes.of(op.getInput()), axes) * (namesWinner(op.getKind()) ? 2 : 1);
  }
  return words;
}

int64_t SweepPrinter::totalsWords() {
  int64_t words = 0;
  for (mpk::AccumulateOp op : plan.shared)
    words += heldBy(axes.of(op.getInput()), axes) * (namesWinner(op.getKind()) ? 2 : 1);
  return words;
}

void SweepPrinter::constructor() {
  members.line("const Args &args;");
  members.line("Real *const staging;");
  std::string parameters, initial;
  int64_t tiles = layout.tiles;
  for (unsigned i = 0; i < axes.size(); ++i) {
    const Atom &atom = axes[i];
    if (atom.lanes * atom.tiles == 1)
      continue;
    tiles /= atom.tiles;
    std::string tile = atom.tiles == 1 ? ""
                                       : " + tile / " + std::to_string(tiles) + " % " + std::to_string(atom.tiles) +
                                             " * " + std::to_string(atom.registers * atom.lanes * atom.vector);
    members.line("const int at_" + print.atomName(i) + ";");
    initial += ", at_" + print.atomName(i) + "(lane / " + std::to_string(atom.firstLane) + " % " +
               std::to_string(atom.lanes) + " * " + std::to_string(atom.vector) + tile + ")";
  }
  members.line("int owner;");
  DenseSet<Value> done;
  for (int number = -1; number <= int(plan.walks); ++number)
    for (Value value : body.valuesAt(number))
      if (print.root(value) == value && !print.fromMemory.count(value) && !BodyPrinter::isWrittenWhereUsed(value))
        members.line(print.declaration(value) + ";");
  for (auto [i, softmax] : llvm::enumerate(plan.softmaxes))
    if (!softmax.online)
      fields("lse" + Twine(i), softmax.op->getOperand(0));
  members.line("");
  members.open("GNNC_DEVICE Body(const Args &args, int lane, int tile, Real *staging) : args(args), staging(staging)" +
               Twine(initial));
  place(-1);
  members.close();
  members.open("GNNC_DEVICE void begin(int which)");
  members.line("owner = which;");
  place(0);
  members.close();
}

FailureOr<DeviceStep> SweepPrinter::run() {
  for (mpk::AccumulateOp op : plan.shared)
    if (isMember(op.getInput()))
      return op.emitOpError() << "over all members is not supported by the cuda target; accumulate over owners first";
  for (auto [i, value] : llvm::enumerate(body.yield.getValues()))
    if (sweep.getYieldOf(i).getKind() == AccessKind::Shared && sweep.getOverAttr())
      sharedResults = true;
  for (Value input : sweep.getInputs())
    if (!input.getDefiningOp<DegreeOp>())
      (void)buffer(input);
  for (Value result : sweep.getResults())
    (void)buffer(result);
  for (auto [i, argument] : llvm::enumerate(sweep.getBody().getArguments()))
    if (sweep.getAccessOf(i).getKind() == AccessKind::Shared && heldBy(axes.of(argument), axes) > kMostSharedRegisters)
      print.fromMemory[argument] = buffer(sweep.getInputs()[i]);

  members.open("");
  for (unsigned walk = 0; walk < plan.walks; ++walk)
    walkTypes(walk);
  std::string walkList;
  for (unsigned walk = 0; walk < plan.walks; ++walk)
    walkList += (walk ? ", Walk" : "Walk") + std::to_string(walk);
  members.line("using Walks = gnnc::Types<" + walkList + ">;");
  constructor();
  for (unsigned walk = 0; walk < plan.walks; ++walk)
    walkFunctions(walk);
  store();
  totals();
  members.close();
  configuration();
  launches();
  return std::move(step);
}

void SweepPrinter::configuration() {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t groupBytes = print.stagingNumbers() * bytes;
  while (layout.threads > 32 && layout.threads / layout.lanes * groupBytes > kMostSharedMemory)
    layout.threads /= 2;
  int64_t totalBytes = totalsWords() * layout.lanes * bytes; // of one warp
  while (layout.threads > 32 && layout.threads / 32 * totalBytes > kMostSharedMemory)
    layout.threads /= 2;
  while (combineThreads > 32 &&
         combineThreads / 32 * totalBytes + combineThreads / layout.lanes * groupBytes > kMostSharedMemory)
    combineThreads /= 2;

  out.open("namespace " + kernel + "_");
  out.line(std::string("using Real = ") + (element.isF64() ? "double" : "float") + ";");
  for (unsigned i = 0; i < axes.size(); ++i) {
    const Atom &atom = axes[i];
    out.line("// " + print.atomName(i) + " of " + Twine(atom.extent) + ": " + Twine(atom.tiles) + " tiles, " +
             Twine(atom.registers) + " registers, " + Twine(atom.lanes) + " lanes, " + Twine(atom.vector) +
             " side by side");
  }
  out.open("struct Args");
  for (size_t i = 0; i < step.buffers.size(); ++i)
    out.line((i < sweep.getInputs().size() && !llvm::is_contained(sweep.getResults(), step.buffers[i]) ? "const Real *b"
                                                                                                       : "Real *b") +
             Twine(i) + ";");
  for (size_t i = 0; i < step.indices.size(); ++i)
    out.line("const int *i" + Twine(i) + ";");
  for (size_t i = 0; i < extents.size(); ++i)
    out.line("gnnc::int64 n" + Twine(i) + ";");
  out.line("gnnc::Work work;");
  out.close("};");
  out.open("struct Body");
  out.line("using Real = " + kernel + "_::Real;");
  out.line("using Args = " + kernel + "_::Args;");
  out.line("static constexpr int kLanes = " + Twine(layout.lanes) +
           ", kSplits = " + Twine(plan.walks ? 32 / layout.lanes : 1) + ", kFlight = " + Twine(layout.flight) +
           ", kThreads = " + Twine(layout.threads) + ", kTiles = " + Twine(layout.tiles) +
           ", kWalks = " + Twine(plan.walks) + ";");
  std::string starts;
  int64_t states = 0;
  for (unsigned walk = 0; walk + 1 < plan.walks; ++walk) {
    starts += "walk == " + std::to_string(walk) + " ? " + std::to_string(states) + " : ";
    states += sumsWords(walk);
  }
  out.line("static constexpr int kCombineThreads = " + Twine(combineThreads) +
           ", kStaging = " + Twine(print.stagingNumbers()) + ", kStateWords = " + Twine(states) + ";");
  out.line("GNNC_DEVICE static constexpr int stateAt(int walk) { return " + starts + "0; }");
  SmallVector<StringRef> lines;
  members.text().split(lines, '\n', -1, false);
  for (StringRef line : ArrayRef<StringRef>(lines).drop_front().drop_back()) // braces
    out.line(line.drop_front(2));
  out.close("};");
  out.close("} // namespace " + kernel + "_");
}

void SweepPrinter::launches() {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  // Without a walk there is no use for a worklist: what depends on the members is their number.
  FlatSymbolRefAttr along = plan.walks > 0 ? sweep.getAlongAttr() : FlatSymbolRefAttr();
  int64_t slotBytes = 0, stateBytes = 0;
  for (unsigned walk = 0; walk < plan.walks; ++walk) {
    int64_t own = sumsWords(walk) * layout.lanes * layout.tiles * bytes;
    slotBytes = std::max(slotBytes, own);
    stateBytes += walk + 1 < plan.walks ? own : 0;
  }
  unsigned scratchNumber = 0;
  auto scratch = [&](ScratchKind kind, int64_t size) {
    step.scratch.push_back({kind, along, size});
    return Word{WordKind::Scratch, scratchNumber++, {}};
  };
  Word zero{WordKind::Zero, 0, {}};
  Word slots = along ? scratch(ScratchKind::Slots, slotBytes) : zero;
  Word states = along ? scratch(ScratchKind::HeavyOwners, stateBytes) : zero;
  Word partials =
      hasTotals() ? scratch(ScratchKind::Blocks, totalsWords() * layout.lanes * layout.tiles * bytes) : zero;
  auto words = [&] {
    SmallVector<Word> list;
    for (size_t i = 0; i < step.buffers.size(); ++i)
      list.push_back({WordKind::Buffer, unsigned(i), {}});
    for (size_t i = 0; i < step.indices.size(); ++i)
      list.push_back({WordKind::Index, unsigned(i), {}});
    for (FlatSymbolRefAttr space : extents)
      list.push_back({WordKind::Extent, 0, space});
    if (along) {
      for (WordKind kind : {WordKind::Items, WordKind::NumItems, WordKind::NumHeavyItems, WordKind::Heavy,
                            WordKind::NumHeavy, WordKind::HeavyOfSlot})
        list.push_back({kind, 0, along});
    } else {
      list.append({zero, Word{WordKind::Extent, 0, sweep.getOverAttr()}, zero, zero, zero, zero});
    }
    list.append({slots, states, partials, Word{WordKind::BlocksBefore, unsigned(step.launches.size()), {}},
                 Word{WordKind::Blocks, 0, {}}});
    return list;
  };
  auto launch = [&](const std::string &suffix, const std::string &code, GridKind grid, int64_t perBlock, bool isCounted,
                    int64_t threads) {
    std::string name = kernel + suffix;
    out.line("extern \"C\" __global__ void __launch_bounds__(" + Twine(threads) + ") " + name +
             "(const __grid_constant__ " + kernel + "_::Args args) { gnnc::" + code + "(args); }");
    Launch record;
    record.kernel = name;
    record.grid = grid;
    record.symbol = grid == GridKind::Elements ? sweep.getOverAttr() : along;
    record.perBlock = perBlock;
    record.gridY = std::min<int64_t>(layout.tiles, 1 << 15);
    record.gridZ = llvm::divideCeil(layout.tiles, record.gridY);
    record.threads = threads;
    record.sharedBytes = threads / layout.lanes * print.stagingNumbers() * bytes;
    record.isCounted = isCounted;
    record.mostBlocksPerProcessor = isCounted ? 12 : 0;
    record.words = words();
    step.launches.push_back(std::move(record));
  };
  std::string type = kernel + "_::Body";
  int64_t groups = layout.threads / layout.lanes;
  if (!along) {
    launch("", "rows<" + type + ">", GridKind::Elements, groups, hasTotals(), layout.threads);
  } else {
    int64_t items = layout.threads / 32; // kSplits fills the warp
    for (unsigned walk = 0; walk < plan.walks; ++walk) {
      std::string suffix = walk == 0 ? "" : "_walk" + std::to_string(walk);
      launch(suffix, "sweep<" + type + ", " + std::to_string(walk) + ">",
             walk == 0 ? GridKind::Items : GridKind::HeavyItems, items, hasTotals() && walk == 0, layout.threads);
      launch(suffix + "_merge", "mergeSlots<" + type + ", " + std::to_string(walk) + ">", GridKind::HeavyOwners, groups,
             hasTotals() && walk + 1 == plan.walks, layout.threads);
    }
  }
  if (hasTotals())
    launch("_combine", "combine<" + type + ">", GridKind::Once, 1, false, combineThreads);
  for (auto [i, result] : llvm::enumerate(sweep.getResults()))
    if (sweep.getYieldOf(i).getKind() == AccessKind::Member && mapIsPartial(sweep.getAlongAttr()))
      step.zeroed.push_back(llvm::find(step.buffers, result) - step.buffers.begin());
}

FailureOr<DeviceStep> cuda::printSweep(mpk::SweepOp sweep, StringRef name, CodeWriter &out) {
  return SweepPrinter(sweep, name, out).run();
}
