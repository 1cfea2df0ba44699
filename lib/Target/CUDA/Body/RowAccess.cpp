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
#include "llvm/ADT/StringExtras.h"

#include <numeric>

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
  if (Access run = runOf(shape, place); !run.within.empty() && axes[atom].registers % mostNumbers != 0)
    return run;
  bool apart = llvm::is_contained(BodyAxes::atomsOf(shape), layout.vectorAtom) || registerOrder(shape).back() != atom;
  for (int64_t numbers = mostNumbers; numbers > 1; numbers /= 2)
    if (axes[atom].registers % numbers == 0 && isAligned(place, numbers))
      return {atom, numbers, apart};
  return {};
}

/// A run of whole atoms behind the lanes' vectors.
BodyPrinter::Access BodyPrinter::runOf(const AxisList &shape, const RowPart &place) const {
  Access access;
  int64_t inner = 1; // numbers of the atoms within
  SmallVector<int64_t> strides = rowMajor(place.dims);
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (strides[axis] != inner && !shape[axis].empty())
      return {}; // Something else lies in between.
    for (int atom : llvm::reverse(shape[axis])) {
      if (atom == layout.vectorAtom) {
        access.atom = atom;
        break;
      }
      if (axes[atom].held() != axes[atom].extent)
        return {};
      access.within.insert(access.within.begin(), atom);
      inner *= axes[atom].extent;
    }
    if (access.atom >= 0)
      break;
  }
  if (access.atom < 0 || access.within.empty())
    return {};
  // All other strides are multiples of what the row and its axes have.
  int64_t run = axes[access.atom].vector * inner, common = place.first;
  for (auto [stride, atoms] : llvm::zip(strides, shape))
    if (stride > inner)
      common = std::gcd(common, stride);
  common = std::gcd(common, RefTensor::product(place.dims));
  for (int64_t numbers = mostNumbers; numbers > 1; numbers /= 2)
    if (run % numbers == 0 && common % numbers == 0) {
      access.numbers = numbers;
      access.apart = true;
      return access;
    }
  return {};
}

void BodyPrinter::openRun(const AxisList &shape, const RowPart &place, const Access &access, Part part,
                          const std::string &guard, const std::string &registers, SmallVectorImpl<std::string> &each,
                          std::string &offset) {
  int64_t vector = axes[access.atom].vector, inner = 1;
  SmallVector<int> outer;
  for (int atom : BodyAxes::atomsOf(shape))
    if (!llvm::is_contained(access.within, atom))
      outer.push_back(atom);
  for (int atom : access.within)
    inner *= axes[atom].extent;
  std::string name = atomName(access.atom);
  std::string begin = loops(outer, access.atom, vector);
  if (axes[access.atom].held() == vector) {
    out.open(llvm::StringRef(begin).rtrim());
    out.line("constexpr int " + name + " = 0;");
    begin.clear();
  }
  for (int atom : access.within)
    substituted[atom] = "0";
  offset = this->offset(shape, place.dims, part);
  // The guard is about the vector as a whole.
  out.open(begin + "GNNC_FOR_STEP(run, " + std::to_string(vector * inner) + ", " + std::to_string(access.numbers) +
           ")" + (guard.empty() ? "" : " if (" + guard + ")"));
  for (int64_t n = 0; n < access.numbers; ++n) {
    std::string at = n == 0 ? "run" : "(run + " + std::to_string(n) + ")";
    int64_t stride = inner;
    substituted[access.atom] = name + " + " + at + " / " + std::to_string(inner);
    for (int atom : access.within) {
      stride /= axes[atom].extent;
      substituted[atom] =
          (stride == 1 ? at : at + " / " + std::to_string(stride)) + " % " + std::to_string(axes[atom].extent);
    }
    each.push_back(registers + subscripts(shape));
  }
  substituted.erase(access.atom);
  for (int atom : access.within)
    substituted.erase(atom);
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
  std::string condition = defined.str();
  if (!guard.empty())
    condition = condition.empty() ? guard : "(" + condition + ") && " + guard;
  if (!access.within.empty()) {
    SmallVector<std::string> each;
    std::string at, count = std::to_string(access.numbers);
    openRun(shape, place, access, part, /*guard=*/"", name(argument), each, at);
    out.line("Real side[" + count + "];");
    std::string load = (converts ? "gnnc::readRow<" : "gnnc::load<") + count + ">(side, " + pointer.str() +
                       (part == Part::Whole && place.first ? " + " + std::to_string(place.first) : "") + " + " + at +
                       " + run);";
    out.line(condition.empty()
                 ? load
                 : "if (" + condition + ") " + load + " else gnnc::fill<" + count + ">(side, " + literal(fill) + ");");
    for (auto [n, number] : llvm::enumerate(each))
      out.line(number + " = side[" + std::to_string(n) + "];");
    out.close();
    if (axes[access.atom].held() == axes[access.atom].vector)
      out.close();
    return;
  }
  bool single = openSingle(access);
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
  if (!access.within.empty()) {
    SmallVector<std::string> each;
    std::string at, count = std::to_string(access.numbers);
    std::string held = registers.substr(0, registers.size() - subscripts(shape).size());
    openRun(shape, place, access, Part::Whole, guard, held, each, at);
    out.line("const Real side[" + count + "] = {" + llvm::join(each, ", ") + "};");
    out.line((converts ? "gnnc::writeRow<" : "gnnc::store<") + count + ">(" + pointer +
             (place.first ? " + " + std::to_string(place.first) : "") + " + " + at + " + run, side);");
    out.close();
    if (axes[access.atom].held() == axes[access.atom].vector)
      out.close();
    return;
  }
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
