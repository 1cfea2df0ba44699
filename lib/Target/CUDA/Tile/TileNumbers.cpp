//===- TileNumbers.cpp - Values of a tile's rows, number by number --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/TileNumbers.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

template <typename List, typename Item> static unsigned numberIn(List &list, const Item &item) {
  auto it = llvm::find(list, item);
  unsigned number = it - list.begin();
  if (it == list.end())
    list.push_back(item);
  return number;
}

std::string TileNumbers::buffer(Value value) { return "args.b" + std::to_string(numberIn(buffers, value)); }
std::string TileNumbers::index(IndexRef ref) { return "args.i" + std::to_string(numberIn(indices, ref)); }
std::string TileNumbers::extent(FlatSymbolRefAttr space) { return "args.n" + std::to_string(numberIn(extents, space)); }

std::string TileNumbers::rowNumber(AccessKind kind, FlatSymbolRefAttr map) {
  FlatSymbolRefAttr along = sweep.getAlongAttr();
  std::string find;
  if (!along && kind == AccessKind::Owner)
    find = "position";
  else if (!along)
    find = "__ldg(" + index({IndexKind::Raw, map, {}}) + " + position)";
  else if (kind == AccessKind::Owner)
    find = "__ldg(" + index({IndexKind::Sorted, along, along}) + " + position)";
  else if (kind == AccessKind::Member)
    find = "gnnc::elementAt(" + index({IndexKind::MembersOrNone, along, {}}) + ", position)";
  else if (kind == AccessKind::GatherMember)
    find = "__ldg(" + index({IndexKind::Sorted, along, map}) + " + position)";
  else
    find = "__ldg(" + index({IndexKind::Raw, map, {}}) + " + at[0])"; // by the owner
  return "tile.at[" + std::to_string(numberIn(finds, find)) + " * kTileRows + row]";
}

std::string TileNumbers::argument(BlockArgument value, const std::string &at) {
  mpk::AccessAttr access = sweep.getAccessOf(value.getArgNumber());
  Value input = sweep.getInputs()[value.getArgNumber()];
  if (access.getKind() == AccessKind::Shared)
    return define("gnnc::read(" + buffer(input) + " + " + at + ")");
  std::string row = rowNumber(access.getKind(), access.getMap()), text;
  if (auto degree = input.getDefiningOp<DegreeOp>()) {
    std::string pointers = index({IndexKind::Pointers, degree.getAlongAttr(), {}});
    text = "Real(__ldg(" + pointers + " + " + row + " + 1) - __ldg(" + pointers + " + " + row + "))";
  } else {
    text = "gnnc::read(" + buffer(input) + " + gnnc::int64(" + row + ") * " +
           std::to_string(getFeatureElements(value.getType())) + " + " + at + ")";
  }
  if (access.getMap() && isPartialMap(sweep, access.getMap()))
    text = row + " >= 0 ? " + text + " : " + literal(access.getFill() ? access.getFill().getValueAsDouble() : 0);
  return define(text);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

std::optional<std::string> TileNumbers::readBefore(Value value, const std::string &at) {
  auto it = vectors.find(value);
  return it != vectors.end() && at == "f" ? std::optional(it->second + "[v]") : std::nullopt;
}

std::optional<std::string> TileNumbers::stored(Value value, const std::string &at) {
  const TileRows *rows = plan.rowsBefore(step, value);
  if (!rows)
    return std::nullopt;
  return "tile.rows[" + std::to_string(rows->place) + " + row * " + std::to_string(rows->stride) + " + " + at + "]";
}

std::string TileNumbers::elementNumber(ElementOp op) {
  return rowNumber(op.getMember() ? AccessKind::Member : AccessKind::Owner, {});
}

/// What is read at the places that are made, and nowhere between.
void TileNumbers::findVectors(Value value, int64_t width, llvm::SetVector<Value> &found, DenseSet<Value> &seen) {
  value = TilePlan::root(value);
  if (!seen.insert(value).second)
    return;
  if (getFeatureElements(value.getType()) != width)
    return;
  if (isa<BlockArgument>(value) || plan.rowsBefore(step, value)) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || !sweep.getInputs()[argument.getArgNumber()].getDefiningOp<DegreeOp>())
      found.insert(value);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (auto contract = dyn_cast_or_null<ContractOp>(op)) { // numbers of a row, each times one of its factor
    if (contract.getLhsLabels() == contract.getOutLabels())
      findVectors(contract.getLhs(), width, found, seen);
    if (contract.getRhsLabels() == contract.getOutLabels())
      findVectors(contract.getRhs(), width, found, seen);
    return;
  }
  if (!op || !isa<UnaryOp, BinaryOp, SelectOp, IsElementOp, RandomOp>(op))
    return;
  for (Value operand : op->getOperands())
    if (getFeatureShape(operand.getType()) == getFeatureShape(value.getType()))
      findVectors(operand, width, found, seen);
}

void TileNumbers::row(unsigned step, Value value, int64_t vector, int64_t lanes) {
  this->step = step;
  llvm::SaveAndRestore together(this->lanes, lanes);
  forget();
  vectors.clear();
  llvm::SetVector<Value> found;
  DenseSet<Value> seen;
  if (vector > 1)
    findVectors(value, getFeatureElements(value.getType()), found, seen);
  for (Value source : found) {
    std::string name = fresh("a"), width = std::to_string(vector);
    out.line("Real " + Twine(name) + "[" + width + "];");
    if (const TileRows *rows = plan.rowsBefore(step, source)) {
      out.line("gnnc::load<" + Twine(width) + ">(" + name + ", tile.rows + " + Twine(rows->place) + " + row * " +
               Twine(rows->stride) + " + first);");
    } else {
      unsigned number = cast<BlockArgument>(source).getArgNumber();
      mpk::AccessAttr access = sweep.getAccessOf(number);
      std::string pointer = buffer(sweep.getInputs()[number]), rowAt;
      if (access.getKind() != AccessKind::Shared) {
        rowAt = rowNumber(access.getKind(), access.getMap());
        pointer += " + gnnc::int64(" + rowAt + ") * " + std::to_string(getFeatureElements(source.getType()));
      }
      std::string load = "gnnc::readRow<" + width + ">(" + name + ", " + pointer + " + first);";
      if (access.getMap() && isPartialMap(sweep, access.getMap())) {
        out.line("gnnc::fill<" + Twine(width) + ">(" + name + ", " +
                 literal(access.getFill() ? access.getFill().getValueAsDouble() : 0) + ");");
        load = "if (" + rowAt + " >= 0) " + load;
      }
      out.line(load);
    }
    vectors[source] = name;
  }
  out.open("GNNC_FOR(v, " + Twine(vector) + ")");
  out.line("[[maybe_unused]] const int f = first + v;");
  std::string made = number(value, "f");
  out.line("to[v] = " + Twine(made) + ";");
  out.close();
  vectors.clear();
}

std::string TileNumbers::one(unsigned step, Value value) {
  this->step = step;
  forget();
  vectors.clear();
  return number(value, "f");
}
