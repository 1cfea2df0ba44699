//===- RowAccess.cpp - Rows of memory and the registers of a lane ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An access takes up to 16 bytes that lie side by side in a row: of the lanes' vectors, or of an innermost axis of
// which each lane holds all numbers of a tile. In registers the numbers of the second kind need not be neighbours. Each
// lane then fills whole sectors of memory, where accesses of one number each would touch a sector as often as it has
// numbers.
//
//===----------------------------------------------------------------------===//

#include "Body/BodyPrinter.h"
#include "Body/RowParts.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;

static int innermost(const AxisList &shape) {
  for (const AtomList &axis : llvm::reverse(shape))
    if (!axis.empty())
      return axis.back();
  return -1;
}

bool cuda::isNarrow(Value value) { return isStorageOnly(cast<RankedTensorType>(value.getType()).getElementType()); }

llvm::StringRef cuda::heldType(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return element.isBF16() ? "gnnc::bf16" : element.isF16() ? "gnnc::f16" : "Real";
}

/// Of the first of the registers that an access takes: loops step over the others.
static std::string addressOf(const std::string &registers) { return "&" + registers; }

/// Neighbours in memory are of the innermost atom: of the lanes' vectors, or of what no lanes share.
BodyPrinter::Access BodyPrinter::accessTo(const AxisList &shape, const RowPart &place) const {
  int atom = innermost(shape);
  if (atom < 0)
    return {};
  // Of an axis further in the value may have one number where its row has more: what is next to that in memory is
  // another part of the row.
  for (size_t axis = shape.size(); axis-- > 0 && shape[axis].empty();)
    if (place.dims[axis] != 1)
      return {};
  if (atom == layout.vectorAtom)
    return isAligned(place, axes[atom].vector) ? Access{atom, axes[atom].vector} : Access();
  if (axes[atom].lanes > 1 || axes[atom].isPadded())
    return {};
  bool apart = llvm::is_contained(BodyAxes::atomsOf(shape), layout.vectorAtom) || registerOrder(shape).back() != atom;
  for (int64_t numbers = mostNumbers; numbers > 1; numbers /= 2)
    if (axes[atom].registers % numbers == 0 && isAligned(place, numbers))
      return {atom, numbers, apart};
  return {};
}

std::string BodyPrinter::neighbour(const std::string &registers, int atom, int64_t n) const {
  std::string text = registers, own = "[" + atomName(atom) + "]";
  if (size_t at = text.rfind(own); n > 0 && at != std::string::npos)
    text.replace(at, own.size(), "[" + atomName(atom) + " + " + std::to_string(n) + "]");
  return text;
}

bool BodyPrinter::openSingle(const Access &access) {
  // Within a step of the loop the register is the access's first.
  if (access.atom < 0 || axes[access.atom].held() != access.numbers)
    return false;
  out.open("");
  out.line("constexpr int " + atomName(access.atom) + " = 0;");
  return true;
}

void BodyPrinter::loadRow(Value argument, const Twine &pointer, llvm::StringRef defined, double fill, Part part) {
  const AxisList &shape = axes.of(argument);
  RowPart place = partOf(argument);
  SmallVector<int> atoms = BodyAxes::atomsOf(shape);
  Access access = accessTo(shape, place);
  std::string guard = inside(atoms), target = name(argument) + subscripts(shape);
  bool single = openSingle(access);
  std::string condition = defined.str();
  if (!guard.empty())
    condition = condition.empty() ? guard : "(" + condition + ") && " + guard;
  std::string width = std::to_string(access.numbers), to = access.apart ? "side" : addressOf(target);
  std::string load = (converts ? "gnnc::readRow<" : "gnnc::load<") + width + ">(" + to + ", " + pointer.str() +
                     (part == Part::Whole && place.first ? " + " + std::to_string(place.first) : "") + " + " +
                     offset(shape, place.dims, part) + ");";
  std::string begin = loops(atoms, access.atom, access.numbers);
  if (access.apart) {
    out.open(llvm::StringRef(begin).rtrim());
    out.line("Real side[" + width + "];");
    begin.clear();
  }
  if (condition.empty()) {
    out.line(begin + load);
  } else {
    out.open(begin + "if (" + condition + ")");
    out.line(load);
    out.close("} else {");
    out.line("  gnnc::fill<" + width + ">(" + to + ", " + literal(fill) + ");");
    out.line("}");
  }
  if (access.apart) {
    for (int64_t n = 0; n < access.numbers; ++n)
      out.line(neighbour(target, access.atom, n) + " = side[" + std::to_string(n) + "];");
    out.close();
  }
  if (single)
    out.close();
}

void BodyPrinter::loadNumber(Value argument, const Twine &number, llvm::StringRef defined, double fill) {
  std::string value = defined.empty() ? number.str() : (defined + " ? " + number + " : " + literal(fill)).str();
  out.line(name(argument) + " = " + value + ";");
}

void BodyPrinter::storeRow(Value value, const RowPart &place, const AxisList &shape, const Twine &pointer) {
  Value source = root(value);
  bool inRegisters = !isWrittenWhereUsed(source) && !fromMemory.count(source);
  storeRegisters(element(value), inRegisters, place, shape, pointer.str());
}

void BodyPrinter::storeArray(const Twine &name, ArrayRef<int64_t> dims, const AxisList &shape, const Twine &pointer) {
  storeRegisters((name + subscripts(shape)).str(), true, RowPart{SmallVector<int64_t>(dims), 0}, shape, pointer.str());
}

void BodyPrinter::storeRegisters(const std::string &registers, bool inRegisters, const RowPart &place,
                                 const AxisList &shape, const std::string &pointer) {
  SmallVector<int> atoms = BodyAxes::atomsOf(shape);
  Access access = inRegisters ? accessTo(shape, place) : Access();
  std::string guard = inside(atoms), copy = isFirstCopy(shape);
  if (!copy.empty())
    guard = guard.empty() ? copy : copy + " && " + guard;
  bool single = openSingle(access);
  std::string at =
      pointer + (place.first ? " + " + std::to_string(place.first) : "") + " + " + offset(shape, place.dims);
  std::string from = access.apart ? "side" : addressOf(registers);
  std::string statement = access.atom >= 0 ? (converts ? "gnnc::writeRow<" : "gnnc::store<") +
                                                 std::to_string(access.numbers) + ">(" + at + ", " + from + ");"
                          : converts       ? "gnnc::writeOne(" + at + ", " + registers + ");"
                                           : "*(" + at + ") = " + registers + ";";
  std::string begin = loops(atoms, access.atom, access.numbers) + (guard.empty() ? "" : "if (" + guard + ") ");
  if (access.apart) {
    std::string side;
    for (int64_t n = 0; n < access.numbers; ++n)
      side += (n > 0 ? ", " : "") + neighbour(registers, access.atom, n);
    out.open(llvm::StringRef(begin).rtrim());
    out.line("const Real side[" + std::to_string(access.numbers) + "] = {" + side + "};");
    out.line(statement);
    out.close();
  } else {
    out.line(begin + statement);
  }
  if (single)
    out.close();
}
