//===- SweepOperands.cpp - Operands of a sweep's kernel -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where operands are read, and what the owner knows before, between and after walks.
//
//===----------------------------------------------------------------------===//

#include "Body/RowParts.h"
#include "StepMemory.h"
#include "Sweep/SweepPrinterImpl.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

/// Numbers of a row whose bytes fit an int.
constexpr int64_t kLongestRow = int64_t(1) << 28;

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

bool cuda::isPartialMap(Operation *from, FlatSymbolRefAttr map) {
  auto op = SymbolTable::lookupNearestSymbolFrom<MapOp>(from, map);
  // Whether a composition is undefined somewhere depends on its parts.
  if (op.getKind() == MapKind::Compose || op.getKind() == MapKind::Parts)
    for (Attribute part : op.getPartsAttr())
      if (auto name = dyn_cast<FlatSymbolRefAttr>(part); name && isPartialMap(from, name))
        return true;
  return op.getPartial();
}

bool SweepPrinter::mapIsPartial(FlatSymbolRefAttr map) { return isPartialMap(sweep, map); }

std::string SweepPrinter::rowPointer(Value value, const Twine &row) {
  return (buffer(value) + " + gnnc::int64(" + row + ") * " + Twine(getFeatureElements(value.getType()))).str();
}

/// Where row 0 begins in a lane, for operands of members: a constant of the body, so that a row is one instruction
/// away. Empty: the row's address is computed as a whole.
std::string SweepPrinter::lanePointer(Value operand) {
  Value input = sweep.getInputs()[argumentOf(operand).getArgNumber()];
  RowPart part = partOf(operand);
  // Of one number a lane saves less than the constant's two registers cost.
  if (input.getDefiningOp<DegreeOp>() || isReplaced(input) || heldBy(axes.of(operand), axes) < 2 ||
      getFeatureElements(input.getType()) >= kLongestRow)
    return "";
  std::string first = buffer(input);
  if (part.first > 0)
    first += " + " + std::to_string(part.first);
  std::string at = print.offset(axes.of(operand), part.dims, Part::Lane);
  if (at == "0" && part.first == 0)
    return first;
  first += " + " + at;
  auto it = llvm::find_if(lanePointers, [&](const LanePointer &pointer) { return pointer.value == first; });
  if (it == lanePointers.end()) {
    std::string name = "rows" + std::to_string(lanePointers.size());
    lanePointers.push_back({name, ("const " + heldType(input) + " *const " + name).str(), first});
    it = std::prev(lanePointers.end());
  }
  return it->name;
}

bool SweepPrinter::isReplaced(Value input) { return isReplacedBy(sweep, input); }

bool cuda::isReplacedBy(mpk::SweepOp sweep, Value input) { return !findReplacing(sweep, input).empty(); }

SmallVector<unsigned, 1> cuda::findReplacing(mpk::SweepOp sweep, Value input) {
  Value memory = getViewed(input);
  SmallVector<unsigned, 1> found;
  if (mpk::PlaceAttr place = mpk::getPlace(memory); place && place.getKind() != mpk::PlaceKind::None) {
    for (OpResult result : sweep.getResults())
      if (mpk::getPlace(result) == place)
        found.push_back(result.getResultNumber());
    return found;
  }
  if (!isa<BlockArgument>(memory))
    return found;
  auto function = sweep->getParentOfType<func::FuncOp>();
  for (OpOperand &returned : function.getBody().front().getTerminator()->getOpOperands()) {
    Value made = getViewed(returned.get());
    if (made.getDefiningOp() != sweep) // before the attributes are looked at: there may be a thousand results
      continue;
    if (std::optional<unsigned> updated = getUpdated(function, returned.getOperandNumber());
        updated && function.getArgument(*updated) == memory)
      found.push_back(cast<OpResult>(made).getResultNumber());
  }
  return found;
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
void SweepPrinter::loadRow(Value operand, const Twine &row, StringRef defined, double fill) {
  Value input = sweep.getInputs()[argumentOf(operand).getArgNumber()];
  if (std::string number = degree(input, row); !number.empty())
    print.loadNumber(operand, number, defined, fill);
  else
    print.loadRow(operand, rowPointer(input, row), defined, fill);
}

void SweepPrinter::loadMember(Value operand, const std::string &row) {
  BlockArgument argument = argumentOf(operand);
  mpk::AccessAttr access = sweep.getAccessOf(argument.getArgNumber());
  bool mayLack = access.getKind() == AccessKind::GatherMember && mapIsPartial(access.getMap());
  std::string defined = mayLack ? row + " >= 0" : "";
  double fill = access.getFill() ? access.getFill().getValueAsDouble() : 0;
  std::string rows = lanePointer(operand);
  if (rows.empty())
    return loadRow(operand, row, defined, fill);
  int64_t elements = getFeatureElements(sweep.getInputs()[argument.getArgNumber()].getType());
  print.loadRow(operand, "gnnc::rowAt<" + Twine(elements) + ">(" + rows + ", " + row + ")", defined, fill,
                Part::Register);
}

void SweepPrinter::loadArgument(Value operand) {
  BlockArgument argument = argumentOf(operand);
  mpk::AccessAttr access = sweep.getAccessOf(argument.getArgNumber());
  Value input = sweep.getInputs()[argument.getArgNumber()];
  double fill = access.getFill() ? access.getFill().getValueAsDouble() : 0;
  if (access.getKind() == AccessKind::Shared)
    return print.loadRow(operand, buffer(input), "", 0);
  if (access.getKind() == AccessKind::Owner)
    return loadRow(operand, "owner", "", 0);
  // GatherOwner.
  members.open("");
  members.line("const int row = __ldg(" + index({IndexKind::Raw, access.getMap(), {}}) + " + owner);");
  loadRow(operand, "row", mapIsPartial(access.getMap()) ? "row >= 0" : "", fill);
  members.close();
}

/// Computes what is known at a place and needed after it, into fields.
void SweepPrinter::place(int number) {
  for (Value value : body.valuesAt(number)) {
    if (isOperand(value)) {
      if (!print.fromMemory.count(value))
        loadArgument(value);
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
  std::string pointers = index({IndexKind::Pointers, sweep.getOwnersAttr(), {}});
  std::string value = print.element(op.getInput());
  std::string target = print.element(op.getResult());
  members.open("");
  members.line("const Real count = Real(__ldg(" + pointers + " + owner + 1) - __ldg(" + pointers + " + owner));");
  std::string result = op.getKind() == ReduceKind::Sum ? "count > 0 ? " + value + " * count : Real(0)"
                       : isStatistic(op.getKind())
                           ? "gnnc::" + stringifyEnum(op.getKind()).str() + "(gnnc::finite(" + value +
                                 "), gnnc::sumOfEqual(Real(" + value + " - gnnc::finite(" + value + ")), count))"
                           : "count > 0 ? " + value + " : Real(0)";
  print.forEach(axes.of(op.getResult()), target + " = " + result + ";");
  members.close();
}
