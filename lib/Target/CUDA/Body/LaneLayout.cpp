//===- LaneLayout.cpp - Which lane holds which feature --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The widest row that a member brings (without members: the widest value) decides: its innermost atom gets accesses of
// 16 bytes and lanes until the atom or the warp is used up, the next atom what lanes are left. Where lanes add it up it
// has fewer, if the next one can have them. Short atoms that it lacks stay in registers, where folding them costs no
// exchange. Long ones get what lanes are left, or the lanes of atoms that no operation sees together with them (the
// values' of an attention for its keys, if these are narrower); the latter cost nothing, so all but the shortest get
// them. Where the innermost atom is short and odd and a long one around it would be left with few lanes (128 channels
// of 7 components), the long one comes first, if lanes then have less to do.
//
// Every tile walks over the members again. That costs little where all rows that a walk reads are cut (the heads of an
// attention): each tile reads a part of its own. Where some rows are not, every tile reads those as a whole (the keys,
// where the features of values are cut), so such a cut is for rows that no registers could hold. Without members it is
// what tiles compute again that counts: of several products of an edge's rows, all would be computed for each tile of a
// short axis that one of them has. For the same reason there are two ways to lay out a body: keys and values may share
// lanes, and then neither's features can be cut, or not. The one whose walks read less is taken. And there are two ways
// to lay out an operation whose operands do not pair (BodyAxes.h), of which that is taken whose widest row has
// registers, or whose lanes have less to do.
//
//===----------------------------------------------------------------------===//

#include "Body/LaneLayout.h"
#include "Body/RowParts.h"
#include "StepMemory.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;

namespace {

/// Numbers of the widest row in one lane, beyond which parallel atoms are cut into tiles.
constexpr int64_t kWidestHeld = 8;
/// The same where every tile would read again more than `kLittleAgain` of what all of them read.
constexpr int64_t kWidestHeldTwice = 32;
constexpr double kLittleAgain = 0.1;
/// The same of rows without members, whose numbers are needed one after the other.
constexpr int64_t kWidestRowTwice = 128;
/// What a lane holds throughout a walk, beyond which it is in memory: of 255 registers, addresses and what is in
/// between take the rest. And how much more a number there costs than one that is loaded once.
constexpr int64_t kMostWalkRegisters = 192;
constexpr double kSpillCost = 4;
/// What of the cost is left where narrower accesses are worth their number.
constexpr double kWorthNarrower = 0.75;
/// What of the work is left where another axis than the innermost gets lanes first.
constexpr double kWorthReordering = 0.75;
/// Numbers of a shared operand that a lane may hold.
constexpr int64_t kMostSharedRegisters = 32;
/// What memory moves at least.
constexpr int64_t kSectorBits = 256;
/// What the lanes of an axis that they sum up read side by side at least.
constexpr int64_t kLeastTogetherBits = 512;
/// And how many more numbers a lane may hold for that throughout a walk.
constexpr int64_t kMoreNumbers = 4;
/// Registers for rows of members in flight.
constexpr int64_t kFlightRegisters = 32;
constexpr int64_t kMostFlight = 4;
/// Of what a lane holds throughout a walk, beyond which narrow rows are read in smaller pieces: with addresses and what
/// is in between they would take so many registers that few warps fit.
constexpr int64_t kWalkRegisters = 48;
/// An atom that the widest row lacks takes lanes only if it is longer than this: of the lanes that are left, or of
/// those that another atom has and no row uses together with it, or of either where rows would be cut into tiles for
/// lack of lanes.
constexpr int64_t kLongestInRegisters = 16, kLongestBesideLanes = 4;

class Chooser {
public:
  Chooser(mpk::SweepOp sweep, const SweepPlan &plan, BodyAxes &axes) : sweep(sweep), plan(plan), axes(axes) {}
  LaneLayout run();
  /// Numbers that are read of one member, in all tiles together.
  double readOfMember();
  /// What the layout costs, in numbers that a lane loads of one member, in all tiles together.
  double cost();
  /// Numbers that lanes compute of a row, the terms of sums, repeated and idle ones too.
  int64_t work();
  /// Numbers of the widest row beyond those that have registers.
  int64_t spilled() { return std::max<int64_t>(0, widestHeld() - kMostWalkRegisters); }
  /// Some atom has the lanes of another.
  bool sharesLanes() const { return hasSharedLanes; }
  /// Nothing had to be cut, and nothing is held that should have been.
  bool fits() { return layout.tiles == 1 && widestHeld() <= kWidestHeld; }

private:
  Value widest();
  int64_t heldBits(Value value);
  /// Cuts the atoms for accesses of so many bits. `ownLanes`: of the innermost one of the widest row; 0: as many as it
  /// has accesses.
  void cut(ArrayRef<int> order, int64_t accessBits, int64_t ownLanes = 0);
  void sumOverFewerLanes(ArrayRef<int> order, int64_t accessBits);
  int64_t lanesOfRow(const Atom &atom, int64_t numberBits);
  /// `lanes`: how many; 0: as many as it has accesses, of those that are left.
  void giveLanes(int atom, int64_t lanes = 0);
  const Atom *findLanesOf(int atom);
  bool fillsRows(int atom);
  llvm::BitVector findWhole();
  int64_t widestHeld();
  void cutTiles();
  int64_t registersOfTile(const Atom &atom);
  double again(int atom);
  int64_t computed();
  int64_t memberRegisters();
  int64_t memberBits();
  int64_t walkRegisters();
  bool isMember(Value value) const { return plan.levels.lookup(value) == mpk::Level::Member; }

  mpk::SweepOp sweep;
  const SweepPlan &plan;
  BodyAxes &axes;
  LaneLayout layout;
  bool hasSharedLanes = false;
  bool leavesLanes = true; ///< the innermost atom does, to other members, where it would have idle ones
};

} // namespace

int64_t cuda::heldBy(const AxisList &value, const BodyAxes &axes) {
  int64_t held = 1;
  for (int atom : BodyAxes::atomsOf(value))
    held *= axes[atom].held();
  return held;
}

bool cuda::isReadWhereUsed(mpk::SweepOp sweep, Value value, const BodyAxes &axes) {
  return isOperand(value) && sweep.getAccessOf(argumentOf(value).getArgNumber()).getKind() == mpk::AccessKind::Shared &&
         heldBy(axes.of(value), axes) > kMostSharedRegisters;
}

Value Chooser::widest() {
  Value best;
  int64_t most = -1;
  auto consider = [&](Value value) {
    int64_t elements = mpdfg::getFeatureElements(value.getType());
    if (elements > most) {
      most = elements;
      best = value;
    }
  };
  for (Value operand : operandsOf(sweep))
    if (isMember(operand))
      consider(operand);
  if (best && most > 1)
    return best;
  for (Value operand : operandsOf(sweep))
    consider(operand);
  for (Value result : cast<mpk::YieldOp>(sweep.getBody().front().getTerminator()).getValues())
    for (auto &[part, place] : writtenParts(result))
      consider(part);
  return best;
}

/// Bits of a number of an operand or result in memory.
int64_t Chooser::heldBits(Value value) {
  Value inMemory;
  if (isOperand(value))
    inMemory = sweep.getInputs()[argumentOf(value).getArgNumber()];
  else
    for (auto [yielded, result] :
         llvm::zip(cast<mpk::YieldOp>(sweep.getBody().front().getTerminator()).getValues(), sweep.getResults()))
      if (llvm::any_of(writtenParts(yielded), [&](auto &part) { return part.first == value; }))
        inMemory = result;
  return cast<RankedTensorType>(inMemory.getType()).getElementTypeBitWidth();
}

/// Lanes of the innermost atom. As many as it has accesses would leave 15 of 32 idle with 17 numbers, and the warp to
/// one member: where fewer lanes with several accesses each are idle less, they are taken, as long as what they read
/// together fills a sector.
int64_t Chooser::lanesOfRow(const Atom &atom, int64_t numberBits) {
  int64_t chunks = llvm::divideCeil(atom.extent, atom.vector);
  int64_t most = std::min<int64_t>(32, llvm::PowerOf2Ceil(chunks)), best = most;
  auto slots = [&](int64_t lanes) { return lanes * llvm::divideCeil(chunks, lanes); };
  for (int64_t lanes = most / 2; lanes * atom.vector * numberBits >= kSectorBits; lanes /= 2)
    if (llvm::divideCeil(chunks, lanes) * atom.vector <= kWidestHeld && slots(lanes) < slots(best))
      best = lanes;
  layout.fewer = best < most;
  return best;
}

void Chooser::giveLanes(int number, int64_t lanes) {
  Atom &atom = axes[number];
  int64_t chunks = llvm::divideCeil(atom.extent, atom.vector);
  atom.lanes = lanes ? lanes : std::min<int64_t>(32 / layout.lanes, llvm::PowerOf2Ceil(chunks));
  atom.firstLane = layout.lanes;
  if (const Atom *other = findLanesOf(number)) {
    atom.lanes = other->lanes;
    atom.firstLane = other->firstLane;
    hasSharedLanes = true;
  } else {
    layout.lanes *= atom.lanes;
  }
  atom.registers = llvm::divideCeil(chunks, atom.lanes);
}

/// An atom whose lanes can hold another's indices too, since nothing meets both, and are more than the other has; null:
/// none.
const Atom *Chooser::findLanesOf(int number) {
  const Atom *best = nullptr;
  for (unsigned i = 0; i < axes.size(); ++i) {
    const Atom &other = axes[i];
    if (other.lanes <= (best ? best->lanes : axes[number].lanes) || int(i) == number)
      continue;
    bool meets = false;
    for (unsigned j = 0; j < axes.size(); ++j)
      meets |= axes[j].lanes > 1 && axes[j].firstLane == other.firstLane && int(j) != number && axes.meet(number, j);
    if (!meets)
      best = &other;
  }
  return best;
}

/// Whether a lane that had all of an atom would have so much of a row that is written, of an outer product, that it
/// would be cut into tiles, each of which walks over all members again.
bool Chooser::fillsRows(int atom) {
  auto fills = [&](Value value) {
    const AxisList &shape = axes.of(value);
    return llvm::is_contained(BodyAxes::atomsOf(shape), atom) &&
           heldBy(shape, axes) / axes[atom].held() * axes[atom].extent > kWidestHeldTwice;
  };
  for (Value result : cast<mpk::YieldOp>(sweep.getBody().front().getTerminator()).getValues())
    for (auto &[part, place] : writtenParts(result))
      if (fills(part))
        return true;
  return false;
}

/// Atoms that must not be cut because rows are written over operands: each tile would write what lacks one, and read
/// what another has written.
llvm::BitVector Chooser::findWhole() {
  llvm::BitVector whole(axes.size());
  Operation *yield = sweep.getBody().front().getTerminator();
  for (auto [argument, input] : llvm::zip(sweep.getBody().getArguments(), sweep.getInputs()))
    for (unsigned result : findReplacing(sweep, input)) {
      const AxisList &read = axes.of(argument);
      llvm::BitVector own(axes.size());
      if (read == axes.of(yield->getOperand(result)))
        for (int atom : BodyAxes::atomsOf(read))
          own.set(atom);
      whole |= own.flip();
    }
  return whole;
}

double Chooser::readOfMember() {
  double total = 0;
  int64_t tiles = 1;
  for (unsigned i = 0; i < axes.size(); ++i)
    tiles *= axes[i].tiles;
  for (Value operand : operandsOf(sweep)) {
    if (!isMember(operand))
      continue;
    double read = mpdfg::getFeatureElements(operand.getType()) * tiles;
    for (int atom : BodyAxes::atomsOf(axes.of(operand)))
      read /= axes[atom].tiles;
    total += read;
  }
  return total;
}

/// Registers of all tiles of an atom.
static int64_t slotsOf(const Atom &atom) { return llvm::divideCeil(atom.extent, atom.lanes * atom.vector); }

/// Registers of a tile if the atom is cut further: half as many. Without members, a last tile that is mostly empty
/// costs its part of the time (three registers in two tiles compute four), so less than half where it divides better.
int64_t Chooser::registersOfTile(const Atom &atom) {
  int64_t registers = (atom.registers + 1) / 2, slots = slotsOf(atom);
  while (plan.walks == 0 && double(llvm::divideCeil(slots, registers) * registers) > double(slots) * (1 + kLittleAgain))
    --registers;
  return registers;
}

/// How much of what is read of a member each tile would read again if the atom were cut in two; without members, how
/// much of what is computed it would compute again.
double Chooser::again(int atom) {
  double read = readOfMember();
  if (read == 0) {
    int64_t before = computed();
    int64_t registers = registersOfTile(axes[atom]);
    llvm::SaveAndRestore cut(axes[atom].tiles, int64_t(llvm::divideCeil(slotsOf(axes[atom]), registers)));
    llvm::SaveAndRestore held(axes[atom].registers, registers);
    return before ? double(computed()) / double(before) - 1 : 0;
  }
  llvm::SaveAndRestore cut(axes[atom].tiles, axes[atom].tiles * 2);
  return readOfMember() / read - 1;
}

double Chooser::cost() {
  // Each lane's accesses count: what several lanes hold alike, each of them loads.
  double loaded = memberRegisters(), spilled = std::max<double>(0, walkRegisters() - kMostWalkRegisters);
  return (loaded + kSpillCost * spilled) * double(layout.tiles);
}

int64_t Chooser::widestHeld() {
  int64_t most = 1;
  for (Operation &op : sweep.getBody().front())
    for (Value operand : op.getOperands())
      if (!isReadWhereUsed(sweep, operand, axes))
        most = std::max(most, heldBy(axes.of(operand), axes));
  return most;
}

/// Cuts the parallel atoms of the widest values until they fit: those whose tiles read the least again first.
void Chooser::cutTiles() {
  llvm::BitVector whole = findWhole();
  int64_t mostHeldTwice = plan.walks > 0 ? kWidestHeldTwice : kWidestRowTwice;
  while (widestHeld() > kWidestHeld) {
    int best = -1;
    double least = 0;
    for (unsigned i = 0; i < axes.size(); ++i) {
      if (!axes[i].isParallel || whole[i] || axes[i].registers == 1)
        continue;
      double more = again(i);
      if (more > kLittleAgain && widestHeld() <= mostHeldTwice)
        continue;
      bool isLess = more < least - kLittleAgain, isAlike = more <= least + kLittleAgain;
      if (best < 0 || isLess || (isAlike && axes[i].registers > axes[best].registers))
        best = i, least = more;
    }
    if (best < 0)
      return;
    Atom &atom = axes[best];
    atom.registers = registersOfTile(atom);
    atom.tiles = llvm::divideCeil(slotsOf(atom), atom.registers);
  }
}

int64_t Chooser::work() { return computed() * layout.lanes; }

/// Numbers that a lane computes of a row in all tiles.
int64_t Chooser::computed() {
  int64_t total = 0, tiles = 1;
  for (unsigned i = 0; i < axes.size(); ++i)
    tiles *= axes[i].tiles;
  for (Operation &op : sweep.getBody().front().without_terminator()) {
    if (op.getNumResults() == 0 || isJoined(op.getResult(0)))
      continue;
    llvm::SmallSet<int, 8> atoms;
    for (int atom : BodyAxes::atomsOf(axes.of(op.getResult(0))))
      atoms.insert(atom);
    for (OpOperand &operand : op.getOpOperands())
      for (int atom : BodyAxes::atomsOf(axes.of(operand)))
        atoms.insert(atom);
    int64_t steps = 1;
    for (int atom : atoms)
      steps *= axes[atom].held();
    total += steps;
  }
  return total * tiles;
}

int64_t Chooser::memberRegisters() {
  int64_t total = 0;
  for (Value operand : operandsOf(sweep))
    if (isMember(operand))
      total += heldBy(axes.of(operand), axes);
  return std::max<int64_t>(total, 1);
}

/// The same in bits of registers on the way from memory: numbers of 16 bits are two a register.
int64_t Chooser::memberBits() {
  int64_t total = 0;
  for (Value operand : operandsOf(sweep))
    if (isMember(operand))
      total += heldBy(axes.of(operand), axes) * std::min<int64_t>(heldBits(operand), 32);
  return std::max<int64_t>(total, 32);
}

/// Numbers that a lane holds throughout a walk: members in flight, what members meet, and what they are added up to.
int64_t Chooser::walkRegisters() {
  llvm::SmallDenseSet<Value> met;
  int64_t total = layout.flight * memberRegisters();
  for (Operation &op : sweep.getBody().front()) {
    if (op.getNumResults() == 0 || !llvm::any_of(op.getOperands(), [&](Value operand) { return isMember(operand); }))
      continue;
    if (auto sum = dyn_cast<mpk::AccumulateOp>(op)) { // Winners are compared by value and by number.
      bool names = sum.getKind() == mpdfg::ReduceKind::ArgMax || sum.getKind() == mpdfg::ReduceKind::ArgMin;
      bool follows = sum.getKind() == mpdfg::ReduceKind::SoftmaxShift; // from what the scale's maximum and sum are
      total += heldBy(axes.of(op.getOperand(0)), axes) * (names ? 3 : follows ? 0 : 1);
    }
    for (Value operand : op.getOperands())
      if (!isMember(operand) && !operand.getDefiningOp<mpdfg::ConstantOp>() && !isReadWhereUsed(sweep, operand, axes) &&
          met.insert(operand).second)
        total += heldBy(axes.of(operand), axes);
  }
  return total;
}

void Chooser::cut(ArrayRef<int> order, int64_t accessBits, int64_t ownLanes) {
  layout = LaneLayout();
  hasSharedLanes = false;
  for (unsigned i = 0; i < axes.size(); ++i) {
    Atom fresh;
    fresh.extent = axes[i].extent, fresh.isParallel = axes[i].isParallel, fresh.isWhole = axes[i].isWhole;
    axes[i] = fresh;
  }
  if (!order.empty()) {
    Atom &inner = axes[order.front()];
    int64_t widestAccess = accessBits / heldBits(widest());
    while (inner.vector < widestAccess && inner.extent % (2 * inner.vector) == 0)
      inner.vector *= 2;
    layout.vectorAtom = inner.vector > 1 ? order.front() : -1;
  }
  if (ownLanes == 0 && leavesLanes && !order.empty())
    ownLanes = lanesOfRow(axes[order.front()], heldBits(widest()));
  for (int atom : order)
    giveLanes(atom, atom == order.front() ? ownLanes : 0);
  for (unsigned i = 0; i < axes.size(); ++i) {
    if (llvm::is_contained(order, int(i)))
      continue;
    bool takesLanes = axes[i].extent > kLongestInRegisters ||
                      (axes[i].extent > kLongestBesideLanes && (findLanesOf(i) || fillsRows(i)));
    if (takesLanes && !axes[i].isWhole)
      giveLanes(i);
    else
      axes[i].registers = axes[i].extent;
  }
  cutTiles();
  for (unsigned i = 0; i < axes.size(); ++i)
    layout.tiles *= axes[i].tiles;
  if (plan.walks > 0)
    layout.flight = std::clamp<int64_t>(kFlightRegisters / memberRegisters(), 1, kMostFlight);
}

/// Gives lanes of the innermost atom to those around it, where lanes add it up: heads that 16 lanes have two of, of 64
/// numbers, are eight lanes' own, and a sum over the lanes takes three exchanges instead of twice four. So does what is
/// computed of a head's number. A lane holds hardly more than before.
void Chooser::sumOverFewerLanes(ArrayRef<int> order, int64_t accessBits) {
  if (order.empty() || plan.walks == 0 || axes[order.front()].isParallel)
    return;
  int64_t bits = heldBits(widest());
  const Atom &inner = axes[order.front()];
  while (inner.lanes / 2 * inner.vector * bits >= kLeastTogetherBits) {
    int64_t own = inner.lanes, tiles = layout.tiles, lanes = layout.lanes, held = widestHeld(), walk = walkRegisters();
    cut(order, accessBits, own / 2);
    bool holdsMore = widestHeld() > held || walkRegisters() > walk + kMoreNumbers;
    bool leavesIdle = llvm::any_of(order, [&](int atom) { return axes[atom].lanes > 1 && axes[atom].isPadded(); });
    if (layout.tiles > tiles || layout.lanes < lanes || holdsMore || leavesIdle)
      return cut(order, accessBits, own);
  }
}

LaneLayout Chooser::run() {
  SmallVector<int> order; // innermost first
  if (Value value = widest())
    for (const AtomList &axis : llvm::reverse(axes.of(value)))
      for (int atom : llvm::reverse(axis))
        if (!axes[atom].isWhole && !llvm::is_contained(order, atom))
          order.push_back(atom);
  int64_t accessBits = 128;
  cut(order, accessBits);
  if (!fits()) { // with several accesses a lane
    leavesLanes = false;
    cut(order, accessBits);
  }
  if (order.size() > 1 && !fits() && axes[order.front()].extent <= kLongestInRegisters &&
      axes[order.front()].vector == 1) {
    SmallVector<int> longestFirst(order);
    llvm::stable_sort(longestFirst, [&](int a, int b) { return axes[a].extent > axes[b].extent; });
    int64_t before = work(), tiles = layout.tiles;
    cut(longestFirst, accessBits);
    // More tiles would each read a part of the components, which lie side by side in memory.
    if (layout.tiles <= tiles && work() < kWorthReordering * double(before))
      order = longestFirst;
    else
      cut(order, accessBits);
  }
  // Where each index of the lanes' axis has many numbers, which lanes hold whole, narrower accesses have fewer of them
  // in a lane, and rows need not be cut into tiles.
  if (!order.empty() && !fits() && layout.lanes < 32) {
    double least = kWorthNarrower * cost() * double(layout.lanes);
    for (int64_t bits = accessBits / 2; bits >= heldBits(widest()); bits /= 2) {
      cut(order, bits);
      if (double all = cost() * double(layout.lanes); all < least)
        least = all, accessBits = bits;
    }
    cut(order, accessBits);
  }
  // 16 bytes of narrow numbers are eight, of which everything is computed in 32 bits. With half as many a lane may
  // hold less, unless it then has two of them.
  if (!order.empty() && plan.walks > 0 && heldBits(widest()) < 32 &&
      (layout.flight < 2 || walkRegisters() > kWalkRegisters)) {
    auto heldOfOne = [&] { return walkRegisters() - (layout.flight - 1) * memberRegisters(); };
    int64_t held = heldOfOne();
    cut(order, accessBits = 64);
    if (heldOfOne() >= held)
      cut(order, accessBits = 128);
  }
  sumOverFewerLanes(order, accessBits);
  if (plan.walks > 0) {
    layout.flight = std::clamp<int64_t>(32 * kFlightRegisters / memberBits(), 1, kMostFlight);
    layout.walkNumbers = walkRegisters();
  }
  return layout;
}

/// A layout, numbers of its widest row that have no register, and what lanes compute.
struct Candidate {
  int64_t spilled, work;
  bool fits;
  BodyLayout layout;
};

static Candidate layOutWith(mpk::SweepOp sweep, const SweepPlan &plan, bool alone) {
  BodyLayout together{BodyAxes(sweep, /*ties=*/true, alone), LaneLayout()};
  Chooser chooser(sweep, plan, together.axes);
  together.lanes = chooser.run();
  if (chooser.fits())
    return {chooser.spilled(), chooser.work(), true, std::move(together)};
  BodyLayout apart{BodyAxes(sweep, /*ties=*/false, alone), LaneLayout()};
  Chooser other(sweep, plan, apart.axes);
  apart.lanes = other.run();
  // Where no more is read, rows that can be cut into tiles hold fewer numbers in a lane. Those that are neighbours in
  // memory are one access only in the atom that both rows have in common.
  bool isLess = other.cost() < chooser.cost() || (other.cost() == chooser.cost() && !other.sharesLanes());
  if (isLess)
    return {other.spilled(), other.work(), other.fits(), std::move(apart)};
  return {chooser.spilled(), chooser.work(), false, std::move(together)};
}

BodyLayout cuda::layOut(mpk::SweepOp sweep, const SweepPlan &plan) {
  Candidate alone = layOutWith(sweep, plan, /*alone=*/true);
  if (alone.fits || !alone.layout.axes.hasStaged())
    return std::move(alone.layout);
  Candidate all = layOutWith(sweep, plan, /*alone=*/false);
  bool isLess = all.spilled != alone.spilled ? all.spilled < alone.spilled : all.work < alone.work;
  return std::move((isLess ? all : alone).layout);
}
