//===- Grouping.h - Which values are kept, and which sweep makes them -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TRANSFORMS_FUSION_GROUPING_H
#define GNNC_LIB_TRANSFORMS_FUSION_GROUPING_H

#include "dialects/mpdfg/IR/Choices.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace gnnc {

/// Walks the operations a sweep would compute itself to have `root`. A point of view is the map along which a member is
/// seen, or null for the owner's (and shared) point of view. `visit(value, member, through)` is called once for each
/// value and point of view met: it says whether to go on into the value's operands. `through` is the broadcast that the
/// value is read by, null for none.
struct BodyWalk {
  llvm::function_ref<bool(mlir::Value value, mlir::FlatSymbolRefAttr member, mpdfg::BroadcastOp through)> visit;
  llvm::DenseSet<std::pair<mlir::Value, mlir::Attribute>> seen;

  void run(mlir::Value root, mlir::FlatSymbolRefAttr member);
  void operands(mlir::Operation *op, mlir::FlatSymbolRefAttr member);
};

/// Whether it reduces all elements of a space.
bool isAllReduction(mlir::Operation *op);
/// The map along which an anchor's operand has members (a reduction's or softmax's), or null.
mlir::FlatSymbolRefAttr getMemberMap(mlir::Operation *op);
/// The space whose elements own an anchor's value; null: shared.
mlir::FlatSymbolRefAttr getOwnerSpace(mlir::Operation *op);

/// Unrolled statements from which on a body is long: its values hardly fit registers, and what is computed by itself
/// would better be in a kernel of its own.
constexpr int64_t kLongBody = 700;

/// A kernel to be: a set of kept values that one sweep computes, or one product.
struct Group {
  mlir::FlatSymbolRefAttr over;  ///< owners; null: shared
  mlir::FlatSymbolRefAttr along; ///< members; null: none
  llvm::SetVector<mlir::Operation *> anchors;
  llvm::DenseSet<mlir::Operation *> memberResults; ///< anchors that are seen, and written, by members
  llvm::SetVector<unsigned> uses;                  ///< groups whose values it reads
  llvm::SetVector<mlir::Value> reads;
  llvm::DenseSet<std::pair<mlir::Value, mlir::Attribute>> computed; ///< in its body, by point of view
  int64_t statements = 0;                                           ///< of its body, about (statementsOf)
  int64_t unrolled = 0;                                             ///< the same as a lane sees it (unrolledOf)
  mlir::Operation *product = nullptr;
  bool late = false;  ///< of the backward half: see findLate
  bool tiled = false; ///< its members are multiplied by weights, a few members at a time
};

/// Why an anchor cannot become part of a sweep.
enum class Obstacle {
  None,
  OtherMap,     ///< they have different members
  Gathered,     ///< it reads a result through a map or view: any row of it, so all must be there
  ByMember,     ///< it reads a result by member, which is another row than the owner's
  Everything,   ///< it needs a sum over everything, known only when the sweep is over
  Cycle,        ///< it needs a kernel that needs the sweep
  Later,        ///< one of them belongs to the backward half, which may run long after the other
  SecondSweep,  ///< a later sum along that map reads it through a map, so it could not join the sweep any more
  OtherAxes,    ///< a large shared value and one with other axes: a sweep would compute each for each tile of the other
  TooLong,      ///< the sweep would have more statements than a kernel may have
  Tiled,        ///< products of a few members at a time: their sweep knows only what is known before it
  LittleShared, ///< it could, but both are long and have little in common
  NothingShared, ///< it could, but they read nothing in common
};

/// The plan of fusion for one function.
class Grouping {
public:
  /// With `readDegrees`, degrees are read off the index of their map wherever they are used. Sweeps have at most about
  /// `mostStatements` statements, except for what a single operation takes.
  Grouping(mlir::func::FuncOp function, bool fuse, bool readDegrees, int64_t mostStatements);

  const std::vector<Group> &getGroups() const { return groups; }
  /// Groups in an order in which each comes after those it uses.
  llvm::SmallVector<unsigned> getOrder() const;
  /// Whether the operation's value is computed by a group (rather than wherever it is needed).
  bool isAnchor(mlir::Operation *op) const { return anchors.contains(op); }
  std::optional<unsigned> getGroupOf(mlir::Operation *op) const {
    auto it = groupOf.find(op);
    return it == groupOf.end() ? std::nullopt : std::optional<unsigned>(it->second);
  }

  /// Whether the value is at hand with the graph, so that no kernel makes it: a degree, the difference of two offsets.
  bool isAtHand(mlir::Operation *op) const {
    return readDegrees && llvm::isa_and_nonnull<mpdfg::DegreeOp>(op) && !anchors.contains(op);
  }

  /// Another form of a softmax, from statistics that anchors keep for each owner, for those who do not see it as a
  /// member of its own sweep; null where nobody needs one.
  mlir::Value getRecomputed(mlir::Operation *softmax) const { return recomputed.lookup(softmax).value; }
  /// Whether a sweep along the softmax's own map reads those statistics too, instead of finding them once more.
  bool readsStatistics(mlir::Operation *softmax, unsigned group) const;

private:
  void findAnchors(mlir::func::FuncOp function, bool fuse);
  void require(mlir::Value value);
  void requireOperands();
  void requireWideFolds(mlir::func::FuncOp function);
  void requireLongJoins(mlir::func::FuncOp function);
  void requirePartsOfWideRows(mlir::func::FuncOp function);
  void requireCutSums(mlir::func::FuncOp function);
  void cutLongBody(mlir::Operation *anchor);
  /// Of a value that is read through a map.
  void requireRows(mlir::Value value);
  void place(mlir::Operation *op, bool fuse);
  bool reaches(unsigned from, unsigned to) const;

  /// What an anchor reads, and what keeps it out of the sweeps it reads.
  struct Needs : Group {
    llvm::DenseMap<unsigned, Obstacle> barred;
    llvm::SetVector<mlir::Operation *> gathered;  ///< what it reads otherwise than by its own row
    llvm::SetVector<mlir::Operation *> softmaxes; ///< those it would compute by itself though statistics are kept
  };
  /// `member`: from whose point of view, null for the owner's.
  Needs findNeeds(mlir::Operation *op, mlir::FlatSymbolRefAttr member = {}) const;
  static bool sharesMuch(const Needs &needs, const Group &group);
  bool needsSecondSweep(mlir::Operation *op, const Needs &needs, const Group &group) const;
  Obstacle findObstacle(mlir::Operation *op, const Needs &needs, unsigned candidate) const;

  void join(mlir::Operation *op, const Needs &needs, unsigned candidate);
  void useStatistics(const Needs &needs, unsigned group);
  void joinMembers();
  int64_t savesAsMembers(const Group &members, unsigned candidate, llvm::SmallVectorImpl<Needs> &needs) const;

  bool readDegrees;
  int64_t mostStatements;
  mpdfg::Choices choices;
  llvm::DenseSet<mlir::Operation *> late; ///< operations of the backward half, see findLate
  llvm::SetVector<mlir::Operation *> anchors;
  llvm::DenseSet<mlir::Operation *> apart; ///< anchors that are read from memory, not within the sweep that makes them
  llvm::SmallVector<mlir::Operation *> pending;
  /// The other form of a softmax, and the anchors that make the statistics.
  struct Recomputed {
    mlir::Value value;
    llvm::SmallVector<mlir::Operation *, 2> statistics;
  };
  llvm::DenseMap<mlir::Operation *, Recomputed> recomputed;
  /// The groups that make the statistics, where these are all earlier than `group`, or none.
  llvm::SmallVector<unsigned, 2> findMakers(mlir::Operation *softmax, unsigned group) const;
  /// For each anchor those that read it otherwise than by their own row.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> gatherers;
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> groupOf;
};

} // namespace gnnc

#endif // GNNC_LIB_TRANSFORMS_FUSION_GROUPING_H
