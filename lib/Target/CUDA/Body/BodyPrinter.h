//===- BodyPrinter.h - Body operations as CUDA C++ --------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body value is an array of registers with one dimension for each of its atoms that a lane holds more than once,
// named x0, x1, ... Operations become loops over those dimensions, one line each. The same loops address memory: the
// index of an atom is its lane's part (`at_b`) and the register's.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_BODYPRINTER_H
#define GNNC_LIB_TARGET_CUDA_BODYPRINTER_H

#include "Body/LaneLayout.h"
#include "Body/RowParts.h"
#include "llvm/Support/raw_ostream.h"

namespace gnnc::cuda {

/// Lines of text at a depth.
class CodeWriter {
public:
  void line(const llvm::Twine &text) { stream.indent(2 * depth) << text << "\n"; }
  void open(const llvm::Twine &text) {
    line(text + " {");
    ++depth;
  }
  void close(llvm::StringRef end = "}") {
    --depth;
    line(end);
  }
  llvm::StringRef text() const { return buffer; }

private:
  std::string buffer;
  llvm::raw_string_ostream stream{buffer};
  unsigned depth = 0;
};

/// Whether memory holds a value of a function in 16 bits.
bool isNarrow(mlir::Value value);
/// What its numbers are in memory, as a type of C++ where Real is what is computed with.
llvm::StringRef heldType(mlir::Value value);

/// A number as a Real of C++.
std::string literal(double number);
/// What one step along each axis is in memory.
llvm::SmallVector<int64_t> rowMajor(llvm::ArrayRef<int64_t> dims);
/// What an operation that looks at one number of each operand computes of these, as an expression.
std::string elementwise(mlir::Operation *op, llvm::ArrayRef<std::string> operands);

/// What of a place in a row: all of it, what depends on the lane and the tile, or what depends on the register.
enum class Part { Whole, Lane, Register };

class BodyPrinter {
public:
  BodyPrinter(mpk::SweepOp sweep, const BodyAxes &axes, const LaneLayout &layout, CodeWriter &out);

  using Value = mlir::Value;

  /// The value whose registers a value has: an operation that only changes shape has none of its own.
  Value root(Value value) const;
  /// Constants have no registers.
  static bool isWrittenWhereUsed(Value value);
  /// "x5", with what the value is a field of in front.
  std::string name(Value value) const;
  /// One number of a value, by the loop variables of its atoms.
  std::string element(Value value, const AxisList *seenAs = nullptr) const;
  /// "Real x5[2][4]"
  std::string declaration(Value value) const { return declaration(numbered(value), axes.of(value)); }
  std::string declaration(const llvm::Twine &name, const AxisList &shape) const;
  std::string subscripts(const AxisList &shape) const;
  /// Loops over the registers of `shape`, with a body of one statement that `body` prints.
  void forEach(const AxisList &shape, const llvm::Twine &statement);
  /// The opening lines of the same loops, on one line. That of `stepped` takes `numbers` registers at a time.
  std::string loops(llvm::ArrayRef<int> atoms, int stepped = -1, int64_t numbers = 1) const;
  /// The same for a statement that reads no array of registers, if `rolled`: it need not be repeated for each.
  std::string loopsOverMemory(llvm::ArrayRef<int> atoms, bool rolled) const;

  /// The place of the registers' number in a row of memory, and when there is one.
  std::string offset(const AxisList &shape, llvm::ArrayRef<int64_t> dims, Part part = Part::Whole) const;
  std::string inside(llvm::ArrayRef<int> atoms) const;
  /// Whether a lane's copy of a value is the first: of all tiles, or of its own, whose lanes see no other's. Empty:
  /// there is one.
  std::string isFirstCopy(const AxisList &shape, bool inTile = false) const;

  /// Prints an operation into registers that are declared. Accumulations and softmaxes are not operations here.
  void operation(mlir::Operation *op);
  /// The same of a sum over an axis, each lane for itself; `acrossLanes` makes a sum of that whole.
  void withinLanes(mlir::Operation *sum);
  std::string acrossLanes(mlir::Operation *sum, const std::string &value) const;
  /// There is a difference: no operand changes lanes, and several lanes hold parts of what is summed.
  bool sumsLanes(mlir::Operation *sum) const;
  /// Reads a row: `pointer` is its first number, or with Part::Register its first one in this lane; `defined`: empty,
  /// or when there is one (else `fill`).
  void loadRow(Value argument, const llvm::Twine &pointer, llvm::StringRef defined, double fill,
               Part part = Part::Whole);
  /// The same of a row of one number, which is an expression.
  void loadNumber(Value argument, const llvm::Twine &number, llvm::StringRef defined, double fill);
  /// Stores registers of a value at its place in the row at `pointer`.
  void storeRow(Value value, const RowPart &place, const AxisList &shape, const llvm::Twine &pointer);

  /// The same of an array of registers.
  void storeArray(const llvm::Twine &name, llvm::ArrayRef<int64_t> dims, const AxisList &shape,
                  const llvm::Twine &pointer);

  std::string atomName(int atom) const;
  std::string index(int atom, Part part = Part::Whole) const;
  unsigned stagingNumbers() const { return staging; }

  /// Values that are fields of `holder` ("m." or "members[u].") at present.
  llvm::DenseSet<Value> heldFields;
  std::string holder;
  /// Operands that are read from memory where they are used, with their pointers.
  llvm::DenseMap<Value, std::string> fromMemory;
  /// Elementwise values that are computed where they are added up.
  llvm::DenseSet<Value> inlined;
  /// Whether memory holds some operands or results in 16 bits: what reads and writes them goes by the type of pointers.
  bool converts = false;
  /// Expression for the number of elements of a space.
  std::function<std::string(mlir::FlatSymbolRefAttr)> extentOf;

private:
  /// What one instruction reads or writes of a row.
  struct Access {
    int atom = -1; ///< whose neighbours it takes; -1: it takes one number
    int64_t numbers = 1;
    bool apart = false; ///< the numbers do not lie side by side in registers
    /// Atoms inside that of the lanes' vectors of which each lane has all, outermost first: with the vector's own they
    /// are one run in memory.
    llvm::SmallVector<int, 2> within;
  };

  std::string numbered(Value value) const;
  /// No part of it is an array of registers.
  bool isOfMemory(Value value) const;
  llvm::SmallVector<int> registerOrder(const AxisList &shape) const;
  Access accessTo(const AxisList &shape, const RowPart &place) const;
  Access runOf(const AxisList &shape, const RowPart &place) const;
  /// Opens loops over the accesses of a run; `each` are an access's registers, `offset` is where the run
  /// begins.
  void openRun(const AxisList &shape, const RowPart &place, const Access &access, Part part, const std::string &guard,
               const std::string &registers, llvm::SmallVectorImpl<std::string> &each, std::string &offset);
  /// The register that comes `n` after another one along an atom.
  std::string neighbour(const std::string &registers, int atom, int64_t n) const;
  /// Defines what the loop over `access` does not: it takes all of its registers at once.
  bool openSingle(const Access &access);
  void storeRegisters(const std::string &registers, bool inRegisters, const RowPart &place, const AxisList &shape,
                      const std::string &pointer);
  llvm::SmallVector<int> summedAtoms(mlir::Operation *op) const;
  void contract(mpdfg::ContractOp op, bool across = true);
  void fold(mpdfg::FoldOp op);
  void rearrange(mlir::Operation *op);
  /// Slices and joins whose parts are registers of each lane.
  void copyParts(mlir::Operation *op);
  void substitute(const AxisList &shape, int64_t axis, int64_t common, const std::string &part);
  /// Writes what a tile has of an operand to the group's shared memory, from `from` on.
  void stage(Value value, const AxisList &shape, llvm::ArrayRef<int64_t> strides, int64_t from);
  void unstage(const llvm::Twine &target, const AxisList &shape, llvm::ArrayRef<int64_t> strides, int64_t from);
  std::string stagedOperand(mlir::OpOperand &operand);
  std::string reduceLanes(llvm::StringRef function, llvm::ArrayRef<int> atoms, std::string value) const;

  const BodyAxes &axes;
  const LaneLayout &layout;
  CodeWriter &out;
  int64_t mostNumbers; ///< of one access
  llvm::DenseMap<Value, unsigned> numbers;
  llvm::DenseMap<mlir::OpOperand *, std::string> copies;
  /// Indices of atoms that are others than the variables of loops.
  llvm::DenseMap<int, std::string> substituted;
  unsigned staging = 0;
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_BODYPRINTER_H
