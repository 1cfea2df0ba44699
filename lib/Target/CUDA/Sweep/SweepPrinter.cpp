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

#include "Body/RowParts.h"
#include "Sweep/RowNumbers.h"
#include "Sweep/SharedNumbers.h"
#include "Sweep/SweepPrinterImpl.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

/// A part of a row that each lane may hold, and the share of lanes that should have numbers.
constexpr int64_t kMostInEachLane = 8;
constexpr double kBusyLanes = 0.75;
/// Numbers of an owner's row in a lane, beyond which they are no registers.
constexpr int64_t kMostOfRow = 64;

/// Wide rows of owners that have no members are read where they are used, and what is computed of them is computed
/// where it is added up: registers hold none of it.
void SweepPrinter::leaveWideRows() {
  if (plan.walks > 0)
    return;
  auto isWide = [&](Value value) { return heldBy(axes.of(value), axes) > kMostOfRow; };
  for (Value operand : operandsOf(sweep)) {
    BlockArgument argument = argumentOf(operand);
    mpk::AccessAttr access = sweep.getAccessOf(argument.getArgNumber());
    Value input = sweep.getInputs()[argument.getArgNumber()];
    bool gathers = access.getKind() == AccessKind::GatherOwner;
    if (!isWide(operand) || (access.getKind() != AccessKind::Owner && !gathers) || isReplaced(input) ||
        input.getDefiningOp<DegreeOp>() || (gathers && mapIsPartial(access.getMap())))
      continue;
    std::string row =
        gathers ? "__ldg(" + index({IndexKind::Raw, access.getMap(), {}}) + " + owner)" : std::string("owner");
    RowPart part = partOf(operand);
    print.fromMemory[operand] = rowPointer(input, row) + (part.first ? " + " + std::to_string(part.first) : "");
  }
  for (Operation &op : llvm::reverse(sweep.getBody().front())) {
    if (!isa<UnaryOp, BinaryOp, SelectOp>(op) || !op.hasOneUse() || !isWide(op.getResult(0)) ||
        axes.isRearrangement(&op) || print.root(op.getResult(0)) != op.getResult(0) ||
        llvm::any_of(op.getOpOperands(), [&](OpOperand &operand) { return axes.isStaged(operand); }))
      continue;
    OpOperand *use = &*op.getResult(0).use_begin();
    auto isView = [&](Operation *by) {
      return by->getNumResults() == 1 && by->hasOneUse() && print.root(by->getResult(0)) == op.getResult(0);
    };
    while (isView(use->getOwner()))
      use = &*use->getOwner()->getResult(0).use_begin();
    Operation *user = use->getOwner();
    auto fold = dyn_cast<FoldOp>(user);
    bool isSum = fold && (fold.getKind() == ReduceKind::Sum || fold.getKind() == ReduceKind::Mean);
    bool isProduct = isa<ContractOp>(user) && heldBy(axes.of(user->getResult(0)), axes) == 1;
    bool isPart = user->getNumResults() == 1 && print.inlined.contains(user->getResult(0));
    if ((isSum || isProduct || isPart) && !axes.isStaged(*use))
      print.inlined.insert(op.getResult(0));
  }
}

void SweepPrinter::store() {
  members.open("GNNC_DEVICE void store()");
  for (auto [i, value] : llvm::enumerate(body.yield.getValues())) {
    AccessKind kind = sweep.getYieldOf(i).getKind();
    Value output = sweep.getResults()[i];
    bool once = kind == AccessKind::Shared && !sweep.getOverAttr() && !value.getDefiningOp<mpk::AccumulateOp>();
    if (kind == AccessKind::Owner || once)
      for (auto &[part, place] : writtenParts(value))
        print.storeRow(part, place, axes.of(part), once ? buffer(output) : rowPointer(output, "owner"));
  }
  members.close();
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
  for (const WalkBody &walk : body.walks)
    for (Value operand : walk.loaded)
      (void)lanePointer(operand);
  for (const LanePointer &pointer : lanePointers) {
    members.line(pointer.declaration + ";");
    initial += ", " + pointer.name + "(" + pointer.value + ")";
  }
  members.line("int owner;");
  if (sweep.getPairsAttr())
    members.line("int shift; // from pairs to members of the other side's index");
  DenseSet<Value> done;
  for (int number = -1; number <= int(plan.walks); ++number)
    for (Value value : body.valuesAt(number))
      if (print.root(value) == value && !print.fromMemory.count(value) && !print.inlined.contains(value) &&
          !BodyPrinter::isWrittenWhereUsed(value))
        members.line(print.declaration(value) + ";");
  members.line("");
  members.open("GNNC_DEVICE Body(const Args &args, int lane, int tile, Real *staging) : args(args), staging(staging)" +
               Twine(initial));
  place(-1);
  members.close();
  members.open("GNNC_DEVICE void begin(int which)");
  members.line("owner = which;");
  if (sweep.getPairsAttr())
    members.line("shift = __ldg(" + index({IndexKind::Shift, sweep.getPairsAttr(), {}}) + " + owner);");
  place(0);
  members.close();
}

/// Whether lanes that share rows would often have no number of them if each had one, or hold a part whole that others
/// hold too.
bool SweepPrinter::leavesLanesIdle() {
  if (layout.fewer)
    return true;
  for (unsigned i = 0; i < axes.size(); ++i) {
    const Atom &atom = axes[i];
    int64_t places = atom.tiles * atom.registers * atom.lanes * atom.vector;
    if (atom.lanes == 1 ? atom.extent > kMostInEachLane : double(atom.extent) < kBusyLanes * double(places))
      return true;
  }
  return false;
}

FailureOr<DeviceStep> SweepPrinter::run() {
  for (mpk::AccumulateOp op : plan.shared)
    if (isMember(op.getInput()))
      return op.emitOpError() << "over all members is not supported by the cuda target; accumulate over owners first";
  for (SoftmaxPlan &softmax : plan.softmaxes)
    if (!softmax.online)
      return softmax.op.emitOpError() << "is not online (" << softmax.declined
                                      << "); expand-softmaxes writes it with its statistics first";
  for (auto [i, value] : llvm::enumerate(body.yield.getValues()))
    if (sweep.getYieldOf(i).getKind() == AccessKind::Shared && sweep.getOverAttr())
      sharedResults = true;
  for (Value input : sweep.getInputs())
    if (!input.getDefiningOp<DegreeOp>())
      (void)buffer(input);
  for (Value result : sweep.getResults())
    (void)buffer(result);
  print.converts = llvm::any_of(step.buffers, isNarrow);
  for (Value operand : operandsOf(sweep)) {
    unsigned number = argumentOf(operand).getArgNumber();
    if (isReadWhereUsed(sweep, operand, axes))
      print.fromMemory[operand] = buffer(sweep.getInputs()[number]) +
                                  (partOf(operand).first ? " + " + std::to_string(partOf(operand).first) : "");
  }

  leaveWideRows();
  deferFolds();
  joinFolds();
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

FailureOr<DeviceStep> cuda::printSweep(mpk::SweepOp sweep, StringRef name, bool isPart, CodeWriter &out) {
  if (std::optional<DeviceStep> step = printSharedNumbers(sweep, name, isPart, out))
    return std::move(*step);
  SweepPrinter printer(sweep, name, isPart, out);
  if (!isPart && printer.leavesLanesIdle())
    if (std::optional<DeviceStep> step = printRowNumbers(sweep, name, out))
      return std::move(*step);
  return printer.run();
}
