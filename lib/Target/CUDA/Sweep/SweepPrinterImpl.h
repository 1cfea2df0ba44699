//===- SweepPrinterImpl.h - Printing one sweep ------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class whose parts are in files by idea: SweepOperands.cpp (operands, and what the owner knows), SweepWalks.cpp
// (what is done with members), SweepTotals.cpp (sums over all owners), SweepSchedules.cpp (configuration and launches),
// and SweepPrinter.cpp (the rest).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_SWEEPPRINTERIMPL_H
#define GNNC_LIB_TARGET_CUDA_SWEEPPRINTERIMPL_H

#include "Sweep/SweepBody.h"
#include "Sweep/SweepPrinter.h"
#include "llvm/ADT/StringExtras.h"

namespace gnnc::cuda {

class SweepPrinter {
public:
  SweepPrinter(mpk::SweepOp sweep, llvm::StringRef name, bool isPart, CodeWriter &out)
      : sweep(sweep), plan(sweep), laidOut(layOut(sweep, plan)), body(sweep, plan), kernel(name), isPart(isPart),
        out(out), print(sweep, axes, layout, members), element(elementTypeOf(sweep)) {
    step.name = name.str();
    print.extentOf = [this](mlir::FlatSymbolRefAttr space) { return extent(space); };
  }

  bool leavesLanesIdle();
  mlir::FailureOr<DeviceStep> run();

private:
  static mlir::Type elementTypeOf(mpk::SweepOp sweep) {
    return mpdfg::getElementType(sweep.getResult(0).getType()).getElementType();
  }
  bool isMember(mlir::Value value) const { return plan.levels.lookup(value) == mpk::Level::Member; }
  bool hasTotals() const { return !plan.shared.empty() || sharedResults; }
  bool onlyRows() const { return plan.walks == 0 && !hasTotals(); }

  // Operands
  std::string buffer(mlir::Value value);
  std::string degree(mlir::Value input, const llvm::Twine &row);
  void loadRow(mlir::Value operand, const llvm::Twine &row, llvm::StringRef defined, double fill);
  std::string index(IndexRef ref);
  std::string extent(mlir::FlatSymbolRefAttr space);
  bool mapIsPartial(mlir::FlatSymbolRefAttr map);
  std::string rowPointer(mlir::Value value, const llvm::Twine &row);
  std::string lanePointer(mlir::Value operand);
  bool isReplaced(mlir::Value input);

  // Functions of the body
  void fields(const llvm::Twine &name, mlir::Value like) { members.line(print.declaration(name, axes.of(like)) + ";"); }
  void constructor();
  void place(int place);
  void loadArgument(mlir::Value operand);
  void loadMember(mlir::Value operand, const std::string &row);
  void walkTypes(unsigned number);
  void walkFunctions(unsigned number);
  void load(unsigned number);
  llvm::SmallVector<std::string> rowNumbers(const WalkBody &walk);
  std::string rowNumber(mlir::Value operand);
  std::string elementAt();
  void score(unsigned number);
  void raise(unsigned number);
  void add(unsigned number);
  void after(unsigned number);
  void mergeSums(unsigned number);
  void memberOperation(mlir::Operation *op);
  void store();
  void totals();
  void finishAccumulate(mpk::AccumulateOp op);

  std::string at(llvm::StringRef object, llvm::StringRef field, int number, mlir::Value like) {
    return (object + "." + field + llvm::Twine(number) + print.subscripts(axes.of(like))).str();
  }
  int64_t sumsWords(unsigned walk);
  int64_t totalsWords();
  void deferFolds();
  void joinFolds();
  void leaveWideRows();
  /// How an item is shared out.
  struct Way {
    int64_t warps, splits; ///< warps: 1 or all of a block
  };
  llvm::SmallVector<Way> ways();
  bool canShareBlocks();
  int64_t mergingThreads(unsigned walk);
  bool hasFew();
  int64_t walkBytes();
  bool isLight();
  void configuration();
  void launches();

  mpk::SweepOp sweep;
  SweepPlan plan;
  BodyLayout laidOut;
  const BodyAxes &axes = laidOut.axes;
  LaneLayout &layout = laidOut.lanes;
  SweepBody body;
  std::string kernel;
  bool isPart;
  CodeWriter &out;
  CodeWriter members; ///< of the body; its constants follow from what is printed there
  BodyPrinter print;
  mlir::Type element;
  DeviceStep step;
  llvm::SmallVector<mlir::FlatSymbolRefAttr> extents;
  bool sharedResults = false;
  int64_t combineThreads = 1024;
  /// Constants of the body: see lanePointer.
  struct LanePointer {
    std::string name, declaration, value;
  };
  llvm::SmallVector<LanePointer> lanePointers;
  /// Sums over lanes of which lanes have their own parts at first: those that are added up for an owner, and those that
  /// a joined sum makes whole.
  llvm::DenseSet<mlir::Operation *> deferred;
  /// Sums and differences of what each lane has of sums over the same lanes, with one of those sums.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> joined;
};

inline bool namesWinner(mpdfg::ReduceKind kind) {
  return kind == mpdfg::ReduceKind::ArgMax || kind == mpdfg::ReduceKind::ArgMin;
}

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_SWEEPPRINTERIMPL_H
