//===- AssociateProducts.cpp - Which two of three factors are multiplied first ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R9. Rows of members times a shared weight (e W) make wide rows for each member, often only to be multiplied with
// something else and summed. Then the weight can meet another factor:
//
//   dot(q.m, k + e W)        ->  dot(q.m, k) + dot((q Wt).m, e)      q: a value before the movement, or shared
//   sum of a (v + e W)       ->  sum of a v + (sum of a e) W         a: weights of members, such as those of a softmax
//   dot(x.m, e W), summed    ->  (x.m times e) W                     its sum comes first then, see order-aggregation
//   (x.m times e) W          ->  dot((x W).m, e)                     where it is not summed
//
// The product e W has to vanish altogether, or nothing is gained: all that uses it is looked at together, through
// additions, and rewritten only if the price for a member is clearly lower then: an operation costs a quarter of a
// byte, and what is on the other side of a map is shared by several members.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "Rewrites/ProductFactors.h"
#include "Rewrites/WrittenSums.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Analysis/NumberFacts.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace gnnc {
#define GEN_PASS_DEF_ASSOCIATEPRODUCTS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "associate-products"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// What a graph is taken to look like, and what operations cost.
constexpr double kMembersPerOwner = 8, kMembersPerOwnerOnGPUs = 6, kMembersPerType = 1024, kBytesAnOperation = 0.25,
                 kBytesOfNumber = 4;
/// The share of the price before that the price after has to be below: it is an estimate, and products run better than
/// what sweeps compute for each member.
constexpr double kWorth = 0.7;

/// What uses a product, through additions.
struct Use {
  Value term;       ///< the sum that it is part of, or itself
  ContractOp meets; ///< a product with another factor
  BinaryOp scale;   ///< a product number by number, of which `sum` is; may be null
  ReduceOp sum;
  FlatSymbolRefAttr map; ///< of what it meets: where that can be had before its movement; null if that is shared
  bool outer = false; ///< what it meets is multiplied with the rows first: the result is only summed, before the weight
};

double membersOf(Operation *op, FlatSymbolRefAttr map, bool blocks) {
  auto space = typeWhere(op, map, op->getResult(0).getType());
  return space.getRank() == 0 || !space.isDynamicDim(0) ? kMembersPerType
         : blocks                                       ? kMembersPerOwnerOnGPUs
                                                        : kMembersPerOwner;
}

bool isSum(ReduceOp sum) {
  return sum && sum.getAlong() != kAllMap && !isLookup(sum, sum.getAlongAttr()) &&
         (sum.getKind() == ReduceKind::Sum || sum.getKind() == ReduceKind::Mean);
}

bool isOnlySummed(Operation *op) {
  return !op->use_empty() &&
         llvm::all_of(op->getUsers(), [](Operation *user) { return isSum(dyn_cast<ReduceOp>(user)); });
}

/// Whether what an operation yields goes, number by number, into something along the map: owners read their rows once.
bool isReadByOwners(Operation *op, FlatSymbolRefAttr map) {
  SmallVector<Operation *> pending{op};
  DenseSet<Operation *> seen;
  while (!pending.empty() && seen.size() < 32)
    for (Operation *user : pending.pop_back_val()->getUsers()) {
      if (!seen.insert(user).second || user->getNumResults() != 1)
        continue;
      if (auto movement = dyn_cast<MovementOpInterface>(user)) {
        if (!movement.isBroadcast() && movement.getMovementMap() == map)
          return true;
        continue;
      }
      pending.push_back(user);
    }
  return false;
}

/// Whether a softmax over members is made of what an operation yields.
bool reachesSoftmax(Operation *op) {
  SmallVector<Operation *> pending{op};
  DenseSet<Operation *> seen;
  while (!pending.empty() && seen.size() < 32)
    for (Operation *user : pending.pop_back_val()->getUsers()) {
      if (isa<NormOp>(user))
        return true;
      if (user->getNumResults() == 1 && !isa<ReduceOp, BroadcastOp>(user) && seen.insert(user).second)
        pending.push_back(user);
    }
  return false;
}

/// (other weight) before the movement of `other`, then the rows: what these three are together.
Value meetBefore(OpBuilder &b, Location loc, Operation *op, FlatSymbolRefAttr map, bool gradient, Factor other,
                 const Factor &weight, const Factor &rows, ArrayRef<int64_t> result) {
  Type members = other.value.getType();
  if (map)
    other.value = Lifting(op, map, unreadWhere(op, gradient)).lift(b, other.value);
  Factor early = multiply(b, loc, other, weight, labelsBetween(other, weight, rows, result));
  if (map) {
    Type type = Rules::withFeatures(members, getFeatureShape(early.value.getType()));
    early.value = BroadcastOp::create(b, loc, type, early.value, map, b.getF64FloatAttr(0));
  }
  return multiply(b, loc, early, rows, Labels(result)).value;
}

/// A product of members' rows with a shared weight, and all that becomes of it.
class Association {
public:
  Association(ContractOp product, unsigned rowsAt, bool gradient, bool blocks)
      : product(product), rowsAt(rowsAt), gradient(gradient), blocks(blocks),
        shape(getFeatureShape(product.getType())) {}

  /// Whether everything can be rewritten.
  bool isPossible() {
    if (!areDistinct(product.getOutLabels()) || !areDistinct(product.getLhsLabels()) ||
        !areDistinct(product.getRhsLabels()) || product->use_empty() || !collect(product.getResult()))
      return false;
    return llvm::all_of(chain, [&](Operation *sum) {
      return llvm::count_if(sum->getOperands(), [&](Value operand) { return contains(operand); }) == 1;
    });
  }

  /// Whether all that meets the product is shared: then two weights are multiplied, and nothing else changes.
  bool meetsWeightsAlone() const {
    return llvm::all_of(uses, [](const Use &use) { return use.meets && !use.map; });
  }
  bool isCheaper() const { return after() < kWorth * before(); }
  std::string numbers() const {
    return std::to_string(int64_t(before())) + " -> " + std::to_string(int64_t(after())) + " bytes for each element";
  }
  /// The target stores a product's rows that a softmax over the members needs: one makes them, others read them.
  void storeForSoftmaxes() {
    if (!llvm::any_of(uses, [](const Use &use) { return use.meets && reachesSoftmax(use.meets); }))
      return;
    storedBefore = 2 * kBytesOfNumber * numbersOf(shape);
    // Then the product's kernel is the only one that makes what it multiplies; without it there are several.
    Operation *made = rows().getDefiningOp();
    if (made && !isa<BroadcastOp>(made))
      storedAfter = 2 * kBytesOfNumber * numbersOf(getFeatureShape(rows().getType()));
  }

  void rewrite() {
    for (const Use &use : uses)
      use.meets ? rewriteMeeting(use) : rewriteSum(use);
  }
  /// What has been rewritten.
  SmallVector<Operation *> getUsers() const {
    SmallVector<Operation *> users;
    for (const Use &use : uses)
      users.push_back(use.meets ? ContractOp(use.meets).getOperation() : ReduceOp(use.sum).getOperation());
    return users;
  }

private:
  bool contains(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && (op == product || chain.contains(op));
  }

  bool collect(Value term) {
    for (OpOperand &operand : term.getUses()) {
      Operation *op = operand.getOwner();
      if (auto binary = dyn_cast<BinaryOp>(op)) {
        if (binary.getKind() == BinaryKind::Add && getFeatureShape(binary.getLhs().getType()) == shape &&
            getFeatureShape(binary.getRhs().getType()) == shape) {
          if (chain.insert(op) && !collect(binary.getResult()))
            return false;
          continue;
        }
        Value other = binary->getOperand(1 - operand.getOperandNumber());
        if (binary.getKind() != BinaryKind::Mul || getFeatureShape(binary.getType()) != shape ||
            !getResidency(other.getType()) || contains(other) || !isOnlySummed(op))
          return false;
        for (Operation *user : op->getUsers())
          if (!addSum(term, binary, cast<ReduceOp>(user)))
            return false;
        continue;
      }
      if (auto sum = dyn_cast<ReduceOp>(op)) {
        if (!isSum(sum) || !addSum(term, {}, sum))
          return false;
        continue;
      }
      auto meets = dyn_cast<ContractOp>(op);
      if (!meets || !addMeeting(term, meets, operand.getOperandNumber()))
        return false;
    }
    return true;
  }

  bool addSum(Value term, BinaryOp scale, ReduceOp sum) {
    // The sum over no members is 0, and so is its product with the weight.
    if (!isFinite(weight()))
      return false;
    uses.push_back({term, {}, scale, sum, {}, false});
    return true;
  }

  bool addMeeting(Value term, ContractOp meets, unsigned at) {
    Value other = meets->getOperand(1 - at);
    if (contains(other) || !areDistinct(meets.getLhsLabels()) || !areDistinct(meets.getRhsLabels()))
      return false;
    Use use{term, meets, {}, {}, {}, false};
    if (getResidency(other.getType())) {
      use.map = findLift(meets, other);
      if (!use.map)
        return false;
    }
    if (term == product.getResult() && use.map && isOnlySummed(meets)) {
      double early = priceOf(use);
      use.outer = true;
      use.outer = priceOf(use) < early;
    }
    uses.push_back(use);
    return true;
  }

  Value rows() const { return ContractOp(product)->getOperand(rowsAt); }
  Value weight() const { return ContractOp(product)->getOperand(1 - rowsAt); }

  /// Rows and weight as factors of a product in which the result's axes have the labels `axes`.
  std::pair<Factor, Factor> factors(ArrayRef<int64_t> axes, ArrayRef<int64_t> taken) const {
    auto [left, right] = *factorsOf(ContractOp(product).getResult(), axes, taken);
    return rowsAt == 0 ? std::pair(left, right) : std::pair(right, left);
  }

  struct Meeting {
    Factor other, rows, weight;
    Labels result;
  };
  Meeting meetingOf(const Use &use) const {
    ContractOp meets = use.meets;
    bool left = meets.getLhs() == use.term;
    ArrayRef<int64_t> axes = left ? meets.getLhsLabels() : meets.getRhsLabels();
    Factor other{left ? meets.getRhs() : meets.getLhs(), Labels(left ? meets.getRhsLabels() : meets.getLhsLabels())};
    auto [rows, weight] = factors(axes, other.labels);
    return {other, rows, weight, Labels(meets.getOutLabels())};
  }

  struct Summing {
    std::optional<Factor> scale;
    Factor rows, weight;
    Labels result;
  };
  Summing summingOf(const Use &use) const {
    Labels axes(llvm::to_vector(llvm::seq<int64_t>(0, shape.size())));
    auto [rows, weight] = factors(axes, {});
    Summing found{std::nullopt, rows, weight, axes};
    if (BinaryOp scale = use.scale) {
      Value other = scale.getLhs() == use.term ? scale.getRhs() : scale.getLhs();
      found.scale = Factor{other, {}};
      for (auto [axis, size] : llvm::enumerate(getFeatureShape(other.getType())))
        if (size != 1)
          found.scale->labels.push_back(int64_t(axis));
    }
    return found;
  }

  double before() const {
    ContractOp op = product;
    double bytes = storedBefore + kBytesAnOperation * double(op.flopsPerRow());
    for (const Use &use : uses) {
      if (use.term != ContractOp(product).getResult())
        bytes += kBytesAnOperation * numbersOf(shape);
      else if (ContractOp meets = use.meets)
        bytes += kBytesAnOperation * double(meets.flopsPerRow());
    }
    return bytes;
  }

  double after() const {
    double bytes = storedAfter;
    for (const Use &use : uses)
      bytes += priceOf(use);
    return bytes;
  }

  /// Of a use as it becomes, in bytes for a member.
  double priceOf(const Use &use) const {
    auto rowBytes = [](double numbers) { return kBytesOfNumber * numbers; };
    auto product = [](double numbers) { return kBytesAnOperation * 2 * numbers; };
    if (!use.meets) {
      Summing summing = summingOf(use);
      Sizes sizes({summing.rows, summing.weight});
      double summed = sizes.numbers(unite(summing.scale ? summing.scale->labels : Labels(), summing.rows.labels)),
             all = sizes.numbers(unite(summing.result, summing.rows.labels));
      ReduceOp sum = use.sum;
      return product(summed) + (product(all) + 2 * rowBytes(summed)) / membersOf(sum, sum.getAlongAttr(), blocks);
    }
    Meeting meeting = meetingOf(use);
    Sizes sizes({meeting.other, meeting.rows, meeting.weight});
    Labels early = unite(meeting.other.labels, meeting.weight.labels);
    if (use.outer) {
      double outer = sizes.numbers(unite(meeting.other.labels, meeting.rows.labels));
      return 2 * product(outer) + (product(sizes.numbers(unite(early, meeting.rows.labels))) + 2 * rowBytes(outer)) /
                                      membersOf(use.meets, use.map, blocks);
    }
    Labels kept = labelsBetween(meeting.other, meeting.weight, meeting.rows, meeting.result);
    double row = rowBytes(sizes.numbers(kept)), met = product(sizes.numbers(unite(kept, meeting.rows.labels)));
    if (!use.map) // a smaller weight, made once
      return met;
    // A sum over the other ends of members, which the derivative has, reads the row once for each: from far on a GPU.
    double members = membersOf(use.meets, use.map, blocks), once = isReadByOwners(use.meets, use.map) ? members : 1;
    return met + row / once + (blocks && gradient && once > 1 ? row : 0) +
           (product(sizes.numbers(early)) + 2 * row) / members;
  }

  /// A sum without the product; null if nothing else is in it.
  Value without(OpBuilder &b, Value term) {
    if (!contains(term))
      return term;
    Operation *op = term.getDefiningOp();
    if (op == product)
      return {};
    Value left = without(b, op->getOperand(0)), right = without(b, op->getOperand(1));
    if (!left || !right)
      return left ? left : right;
    return Rules(b, op->getLoc()).add(left, right);
  }

  void rewriteMeeting(const Use &use) {
    ContractOp meets = use.meets;
    OpBuilder b(meets);
    Location loc = meets.getLoc();
    Meeting meeting = meetingOf(use);
    Value result;
    if (use.outer) {
      Labels kept = labelsBetween(meeting.other, meeting.rows, meeting.weight, meeting.result);
      Factor outer = multiply(b, loc, meeting.other, meeting.rows, kept);
      result = multiply(b, loc, outer, meeting.weight, meeting.result).value;
    } else {
      result =
          meetBefore(b, loc, meets, use.map, gradient, meeting.other, meeting.weight, meeting.rows, meeting.result);
    }
    if (Value rest = without(b, use.term)) {
      SmallVector<Value> operands(meets->getOperands());
      operands[meets.getLhs() == use.term ? 0 : 1] = rest;
      Type type = meets.getType();
      if (!getResidency(operands[0].getType()) && !getResidency(operands[1].getType()))
        type = getTensorOn({}, 0, getFeatureShape(type), meets.getType().getElementType());
      result = Rules(b, loc).add(cloneOn(b, meets, operands, type), result);
    }
    meets.replaceAllUsesWith(result);
  }

  void rewriteSum(const Use &use) {
    ReduceOp sum = use.sum;
    OpBuilder b(sum);
    Rules r(b, sum.getLoc());
    Summing summing = summingOf(use);
    Factor summed = summing.rows;
    if (summing.scale) {
      Factor scale{r.reshape(summing.scale->value, Sizes({summing.weight, summing.rows}).of(summing.scale->labels)),
                   summing.scale->labels};
      summed = multiply(b, sum.getLoc(), scale, summing.rows, unite(scale.labels, summing.rows.labels));
    }
    ArrayRef<int64_t> features = getFeatureShape(summed.value.getType());
    summed.value =
        r.reduce(sum.getKind(), summed.value, sum.getAlongAttr(), Rules::withFeatures(sum.getType(), features));
    Value result = multiply(b, sum.getLoc(), summed, summing.weight, summing.result).value;
    if (Value rest = without(b, use.term)) {
      if (BinaryOp scale = use.scale)
        rest = r.mul(scale.getLhs() == use.term ? scale.getRhs() : scale.getLhs(), rest);
      else if (!getResidency(rest.getType())) // once for each member
        rest = r.broadcast(rest, FlatSymbolRefAttr::get(b.getContext(), kAllMap), product.getType());
      result = r.add(r.reduce(sum.getKind(), rest, sum.getAlongAttr(), sum.getType()), result);
    }
    sum.replaceAllUsesWith(result);
  }

private:
  ContractOp product;
  unsigned rowsAt;
  bool gradient, blocks;
  ArrayRef<int64_t> shape;
  llvm::SetVector<Operation *> chain; ///< additions
  SmallVector<Use> uses;
  double storedBefore = 0, storedAfter = 0; ///< bytes of rows for a member
};

struct AssociateProducts : public gnnc::impl::AssociateProductsBase<AssociateProducts> {
  using AssociateProductsBase::AssociateProductsBase;

  void runOnOperation() override {
    SmallVector<ContractOp> products;
    getOperation().walk([&](ContractOp op) { products.push_back(op); });
    for (ContractOp op : products)
      if (!erased.contains(op))
        visit(op);
    erased.clear();
  }

private:
  void visit(ContractOp op) {
    if (!getResidency(op.getType()) || op->use_empty())
      return;
    bool left = bool(getResidency(op.getLhs().getType())), right = bool(getResidency(op.getRhs().getType()));
    // What all comes from one place is made there.
    if (left == right || findLift(op, op->getOperands()))
      return;
    unsigned rowsAt = left ? 0 : 1;
    if (multiplyEarlier(op, rowsAt))
      return;
    WrittenSums sums(op);
    Association association(op, rowsAt, gradient, blocks);
    // Two weights that meet are a kernel more on a GPU, which takes as long as the product of many rows.
    if (!association.isPossible() || (blocks && association.meetsWeightsAlone())) {
      sums.restore();
      return;
    }
    if (blocks)
      association.storeForSoftmaxes();
    if (!association.isCheaper()) {
      remarkMissed(
          op, DEBUG_TYPE, "associate", [] { return "the weight is multiplied with members' rows"; },
          [&] { return association.numbers(); });
      sums.restore();
      return;
    }
    remarkPassed(op, DEBUG_TYPE, "associate",
                 [&] { return "the weight is multiplied with what its product would meet: " + association.numbers(); });
    association.rewrite();
    for (Operation *used : association.getUsers())
      eraseUnused(used);
    ++numAssociated;
  }

  /// (x.m times e) W -> dot((x W).m, e) where it is not summed.
  bool multiplyEarlier(ContractOp op, unsigned rowsAt) {
    Factor outer{op->getOperand(rowsAt), Labels(rowsAt == 0 ? op.getLhsLabels() : op.getRhsLabels())},
        weight{op->getOperand(1 - rowsAt), Labels(rowsAt == 0 ? op.getRhsLabels() : op.getLhsLabels())};
    if (!outer.value.hasOneUse() || isOnlySummed(op) || !areDistinct(outer.labels) || !areDistinct(weight.labels))
      return false;
    auto factors = factorsOf(outer.value, outer.labels, unite(weight.labels, op.getOutLabels()));
    if (!factors)
      return false;
    auto [moved, rows] = *factors;
    if (!getResidency(moved.value.getType()) || !getResidency(rows.value.getType()))
      return false;
    FlatSymbolRefAttr map = findLift(op, moved.value);
    if (!map) {
      std::swap(moved, rows);
      map = findLift(op, moved.value);
    }
    if (!map)
      return false;
    Sizes sizes({moved, rows, weight});
    Labels kept = labelsBetween(moved, weight, rows, op.getOutLabels());
    Labels early = unite(moved.labels, weight.labels);
    Operation *product = outer.value.getDefiningOp();
    double row = 4 * sizes.numbers(kept), members = membersOf(op, map, blocks),
           once = isReadByOwners(op, map) ? members : 1,
           before = kBytesAnOperation * (double(op.flopsPerRow()) + operationsOf(product)),
           after = kBytesAnOperation * 2 * sizes.numbers(unite(kept, rows.labels)) + row / once +
                   (kBytesAnOperation * 2 * sizes.numbers(early) + 2 * row) / members;
    std::string numbers =
        std::to_string(int64_t(before)) + " -> " + std::to_string(int64_t(after)) + " bytes for each element";
    if (after >= kWorth * before) {
      remarkMissed(
          op, DEBUG_TYPE, "associate", [] { return "the weight is multiplied with products of members"; },
          [&] { return numbers; });
      return false;
    }
    remarkPassed(op, DEBUG_TYPE, "associate", [&] {
      return "the weight is multiplied before the broadcast along @" + map.getValue().str() + ": " + numbers;
    });
    OpBuilder b(op);
    op.replaceAllUsesWith(meetBefore(b, op.getLoc(), op, map, gradient, moved, weight, rows, op.getOutLabels()));
    eraseUnused(op);
    ++numAssociated;
    return true;
  }

  /// With what it alone is made of.
  void eraseUnused(Operation *op) {
    if (!op || erased.contains(op) || !isOpTriviallyDead(op))
      return;
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    erased.insert(op);
    for (Value operand : operands)
      eraseUnused(operand.getDefiningOp());
  }

  DenseSet<Operation *> erased;
};

} // namespace
