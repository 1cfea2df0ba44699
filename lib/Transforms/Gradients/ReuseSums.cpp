//===- ReuseSums.cpp - Sums that follow from other sums -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A factor that is the same for all members of an owner can leave a sum over them (R6). It pays where the sum that is
// left exists already:
//
//   O[i]     = sum over members k of i of  p[k] v[k]                        (forward, v with feature axes D)
//   delta[i] = sum over members k of i of  p[k] <g[i], v[k]>  =  <g[i], O[i]>
//
// which is the inner product that the derivative of a softmax needs: without it, the backward sweep of every
// attention layer walks the neighbours twice. (IO-aware GNN layers spend that pass; see docs/Rationale.md.) O is 0 for
// an owner without members; where g may be infinite there, delta is set to 0.
//
// The pattern is reduce(mul(p, reshape*(fold_sum(mul(broadcast(g), v))))) where reduce(mul(reshape*(p), v)) exists
// along the same map. p may be a product itself (weights of which some are dropped): its factors are compared, in
// whatever order they are multiplied, which changes the last bits. Either inner product may be a contraction, of
// features that each member gives to all heads: contract(broadcast(g), v), where reduce(contract(p, v)) exists. In
// place of one inner product there may be the sum of several, each with a sum of its own, as in an attention over rows
// and features of edges: <g, O> + <g W, B> = <g, O + B W>, one inner product where that is what the layer gives.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Analysis/NumberFacts.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"

#include <algorithm>

namespace gnnc {
#define GEN_PASS_DEF_REUSESUMS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "reuse-sums"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

/// The broadcast along `along` under changes of shape, or null.
BroadcastOp moveAlong(Value value, FlatSymbolRefAttr along) {
  BroadcastOp move = getMove(skipReshapes(value));
  return move && move.getAlongAttr() == along ? move : BroadcastOp();
}

/// Products and sums of more are left as they are: what is multiplied with itself again and again has any number.
constexpr size_t kMostParts = 32;

/// The factors of a product of values of one type, changes of shape left aside; of more than kMostParts some.
void findFactors(Value value, SmallVectorImpl<Value> &factors) {
  if (factors.size() > kMostParts)
    return;
  value = skipReshapes(value);
  auto product = value.getDefiningOp<BinaryOp>();
  if (!product || product.getKind() != BinaryKind::Mul || product.getLhs().getType() != product.getType() ||
      product.getRhs().getType() != product.getType()) {
    factors.push_back(value);
    return;
  }
  findFactors(product.getLhs(), factors);
  findFactors(product.getRhs(), factors);
}

struct ReuseSums : public gnnc::impl::ReuseSumsBase<ReuseSums> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      sums.clear();
      for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
        if (auto reduce = dyn_cast<ReduceOp>(op);
            reduce && reduce.getKind() == ReduceKind::Sum && reduce.getAlong() != kAllMap) {
          if (rewrite(reduce))
            ++numReused;
          else
            sums.push_back(reduce);
        }
    }
  }

  /// An inner product of what an owner has and a row of a member, which a sum is known of.
  struct Term {
    Value inner;       ///< a fold or a contraction
    BroadcastOp owner; ///< what moves the owner's factor to the members
    Value factor;      ///< the same where it is multiplied
    ReduceOp known;
    Value sum;               ///< of which the inner product is taken: that of `known`, or one that has other terms too
    bool ownerIsLeft = true; ///< of a contraction
    SmallVector<int64_t> labels = {}; ///< those that the axes of `known` have in it
  };

  /// What is added up in a value, changes of shape left aside; of more than kMostParts some.
  static void findTerms(Value value, SmallVectorImpl<Value> &terms) {
    if (terms.size() > kMostParts)
      return;
    value = skipReshapes(value);
    auto sum = value.getDefiningOp<BinaryOp>();
    if (!sum || sum.getKind() != BinaryKind::Add || sum.getLhs().getType() != sum.getType() ||
        sum.getRhs().getType() != sum.getType()) {
      terms.push_back(value);
      return;
    }
    findTerms(sum.getLhs(), terms);
    findTerms(sum.getRhs(), terms);
  }

  bool rewrite(ReduceOp sum) {
    SmallVector<Value> factors;
    findFactors(sum.getInput(), factors);
    if (factors.size() < 2 || factors.size() > kMostParts)
      return false;
    for (Value factor : factors) {
      SmallVector<Value> values;
      findTerms(factor, values);
      if (values.size() > kMostParts)
        continue;
      SmallVector<Value> weights(factors);
      weights.erase(llvm::find(weights, factor));
      SmallVector<Term> terms;
      bool isInner = true;
      for (Value value : values) {
        std::optional<Term> term = findTerm(value, weights, sum.getAlongAttr());
        isInner &= term.has_value();
        if (term && term->known)
          terms.push_back(*term);
      }
      if (!isInner)
        continue;
      if (terms.size() == values.size()) {
        remarkPassed(sum, DEBUG_TYPE, "reuse", [&] {
          return ("sum along @" + sum.getAlong() + " follows from " +
                  (terms.size() == 1 ? "an earlier one" : std::to_string(terms.size()) + " earlier ones"))
              .str();
        });
        replace(sum, terms);
        return true;
      }
      remarkMissed(
          sum, DEBUG_TYPE, "reuse", [&] { return ("sum along @" + sum.getAlong() + " is made by itself").str(); },
          [] { return "the sum that would be left does not exist, and is wider"; });
    }
    return false;
  }

  /// Nothing where the value is no inner product of an owner's factor and another; `known` is null where there is no
  /// sum of that.
  std::optional<Term> findTerm(Value value, ArrayRef<Value> weights, FlatSymbolRefAttr along) {
    std::optional<Term> found;
    auto consider = [&](Value g, function_ref<ReduceOp(Term &)> findKnown) {
      BroadcastOp move = moveAlong(g, along);
      if (!move || (found && found->known))
        return;
      Term term{value, move, g, {}, {}};
      term.known = findKnown(term);
      if (term.known)
        term.sum = term.known.getResult();
      found = term;
    };
    if (auto fold = value.getDefiningOp<FoldOp>()) {
      auto inner = fold.getKind() == ReduceKind::Sum ? fold.getInput().getDefiningOp<BinaryOp>() : BinaryOp();
      if (inner && inner.getKind() == BinaryKind::Mul)
        for (auto [g, v] : {std::pair(inner.getLhs(), inner.getRhs()), {inner.getRhs(), inner.getLhs()}})
          if (g.getType() == inner.getType())
            consider(g, [&, v = v](Term &) { return findSum(weights, v, fold, along); });
    }
    if (auto contract = value.getDefiningOp<ContractOp>())
      for (bool left : {true, false})
        consider(left ? contract.getLhs() : contract.getRhs(), [&](Term &term) {
          term.ownerIsLeft = left;
          return findSum(weights, contract, left, along, term.labels);
        });
    return found;
  }

  /// An earlier sum along the map of the product of `weights`, with the features of the inner products, times `v`.
  ReduceOp findSum(ArrayRef<Value> weights, Value v, FoldOp inner, FlatSymbolRefAttr along) {
    ArrayRef<int64_t> aligned = getFeatureShape(inner.getType());
    for (ReduceOp sum : sums) {
      auto product = sum.getInput().getDefiningOp<BinaryOp>();
      if (sum.getAlongAttr() != along || !product || product.getKind() != BinaryKind::Mul ||
          product.getType() != inner.getInput().getType())
        continue;
      for (auto [a, b] : {std::pair(product.getLhs(), product.getRhs()), {product.getRhs(), product.getLhs()}}) {
        SmallVector<Value> factors;
        findFactors(a, factors);
        if (b == v && getFeatureShape(a.getType()) == aligned && factors.size() == weights.size() &&
            std::is_permutation(factors.begin(), factors.end(), weights.begin()))
          return sum;
      }
    }
    return {};
  }

  /// An earlier sum of what `weights`, one value, give of the factor of a contraction that is not the owner's: a
  /// contraction over nothing, in which the weight's axes meet those of the inner products.
  ReduceOp findSum(ArrayRef<Value> weights, ContractOp inner, bool ownerIsLeft, FlatSymbolRefAttr along,
                   SmallVectorImpl<int64_t> &labels) {
    Value v = ownerIsLeft ? inner.getRhs() : inner.getLhs();
    for (ReduceOp sum : sums) {
      auto outer = sum.getInput().getDefiningOp<ContractOp>();
      if (weights.size() != 1 || sum.getAlongAttr() != along || !outer ||
          getFeatureShape(weights[0].getType()) != getFeatureShape(inner.getType()))
        continue;
      for (bool left : {true, false})
        if ((left ? outer.getRhs() : outer.getLhs()) == v && (left ? outer.getLhs() : outer.getRhs()) == weights[0])
          if (auto found = findLabels(inner, ownerIsLeft, outer, left)) {
            labels.assign(*found);
            return sum;
          }
    }
    return {};
  }

  /// The labels that the axes of an outer product have in an inner one: the weight's are those of its result, in order,
  /// and each axis of what both multiply is the same axis. Nothing where axes meet otherwise.
  static std::optional<SmallVector<int64_t>> findLabels(ContractOp inner, bool ownerIsLeft, ContractOp outer,
                                                        bool weightIsLeft) {
    ArrayRef<int64_t> owner = ownerIsLeft ? inner.getLhsLabels() : inner.getRhsLabels();
    ArrayRef<int64_t> given = ownerIsLeft ? inner.getRhsLabels() : inner.getLhsLabels();
    ArrayRef<int64_t> weight = weightIsLeft ? outer.getLhsLabels() : outer.getRhsLabels();
    ArrayRef<int64_t> same = weightIsLeft ? outer.getRhsLabels() : outer.getLhsLabels();
    ArrayRef<int64_t> result = inner.getOutLabels();
    if (weight.size() != result.size())
      return std::nullopt;
    DenseMap<int64_t, int64_t> names; // of the outer product's labels
    for (auto [from, to] : llvm::concat<const std::pair<int64_t, int64_t>>(pairs(weight, result), pairs(same, given)))
      if (auto [it, fresh] = names.try_emplace(from, to); !fresh && it->second != to)
        return std::nullopt;
    DenseSet<int64_t> seen;
    for (auto [from, to] : names)
      if (!seen.insert(to).second)
        return std::nullopt;
    SmallVector<int64_t> labels;
    for (int64_t label : outer.getOutLabels())
      labels.push_back(names.lookup(label));
    // Nothing is summed over in the outer product, and what the inner one sums over both of its factors have.
    auto isIn = [](ArrayRef<int64_t> list, int64_t label) { return llvm::is_contained(list, label); };
    bool sound = labels.size() == names.size();
    for (int64_t label : owner)
      sound &= seen.contains(label);
    for (int64_t label : given)
      sound &= isIn(owner, label) || isIn(result, label);
    return sound ? std::optional(labels) : std::nullopt;
  }

  static SmallVector<std::pair<int64_t, int64_t>> pairs(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
    return llvm::to_vector(llvm::map_range(llvm::zip_equal(from, to), [](auto pair) {
      return std::pair<int64_t, int64_t>(std::get<0>(pair), std::get<1>(pair));
    }));
  }

  /// The labels of the axes of an inner product's owner, of the known sum, and of the result; a fold's are its axes.
  struct Labels {
    SmallVector<int64_t> owner, known, result;
  };
  static Labels labelsOf(const Term &term) {
    Labels labels;
    if (auto fold = term.inner.getDefiningOp<FoldOp>()) {
      for (int64_t axis = 0, rank = getFeatureShape(fold.getInput().getType()).size(); axis < rank; ++axis) {
        labels.owner.push_back(axis);
        if (!llvm::is_contained(fold.getAxes(), axis))
          labels.result.push_back(axis);
      }
      labels.known = labels.owner;
      return labels;
    }
    auto inner = term.inner.getDefiningOp<ContractOp>();
    labels.owner = llvm::to_vector(term.ownerIsLeft ? inner.getLhsLabels() : inner.getRhsLabels());
    labels.known = term.labels;
    labels.result = llvm::to_vector(inner.getOutLabels());
    return labels;
  }

  static Value remake(Rules &r, Term term) {
    Value owner = r.reshape(term.owner.getInput(), getFeatureShape(term.factor.getType()));
    if (auto fold = term.inner.getDefiningOp<FoldOp>())
      return r.fold(ReduceKind::Sum, r.mul(owner, term.sum), fold.getAxes());
    Labels labels = labelsOf(term);
    Type type = Rules::withFeatures(owner.getType(), getFeatureShape(term.inner.getType()));
    return ContractOp::create(r.b, r.loc, type, owner, labels.owner, term.sum, labels.known, labels.result);
  }

  /// s W, if it exists, for a term <g W, s> beside a fold's <g, O>, with the axes of O.
  static Value findProduct(Term one, Term other, Operation *before) {
    auto fold = one.inner.getDefiningOp<FoldOp>();
    auto made = other.owner.getInput().getDefiningOp<ContractOp>();
    Value g = one.owner.getInput();
    if (!fold || !made || g.getType() != one.sum.getType() ||
        getFeatureShape(made.getType()) != getFeatureShape(other.factor.getType()))
      return {};
    bool isLeft = made.getLhs() == g;
    Value weight = isLeft ? made.getRhs() : made.getLhs();
    if ((!isLeft && made.getRhs() != g) || getResidency(weight.getType()))
      return {};
    // Labels as they are in the inner product; those that g W is summed over are below 0.
    Labels labels = labelsOf(other);
    DenseMap<int64_t, int64_t> names;
    for (auto [from, to] : pairs(made.getOutLabels(), labels.owner))
      names[from] = to;
    auto named = [&](ArrayRef<int64_t> labels) {
      return llvm::map_to_vector(labels, [&](int64_t label) {
        auto it = names.find(label);
        return it == names.end() ? -1 - label : it->second;
      });
    };
    SmallVector<int64_t> axes = named(isLeft ? made.getLhsLabels() : made.getRhsLabels());
    SmallVector<int64_t> ofWeight = named(isLeft ? made.getRhsLabels() : made.getLhsLabels());
    SmallVector<int64_t> folded, left;
    for (auto [axis, label] : llvm::enumerate(axes))
      if (llvm::is_contained(labels.result, label))
        left.push_back(label);
      else
        folded.push_back(axis);
    // Both inner products have the same axes, in the same order.
    if (ArrayRef(folded) != fold.getAxes() || left != labels.result)
      return {};
    for (Operation *user : other.sum.getUsers()) {
      auto product = dyn_cast<ContractOp>(user);
      if (!product || !product->isBeforeInBlock(before) || product.getType() != one.sum.getType())
        continue;
      bool isFirst = product.getLhs() == other.sum;
      if ((isFirst ? product.getRhs() : product.getLhs()) != weight)
        continue;
      // Each label of the product stands for one of the others.
      DenseMap<int64_t, int64_t> stands;
      DenseSet<int64_t> taken;
      bool sound = true;
      auto meet = [&](ArrayRef<int64_t> labels, ArrayRef<int64_t> to) {
        for (auto [from, name] : pairs(labels, to))
          if (auto [it, fresh] = stands.try_emplace(from, name); fresh)
            sound &= taken.insert(name).second;
          else
            sound &= it->second == name;
      };
      meet(isFirst ? product.getLhsLabels() : product.getRhsLabels(), labels.known);
      meet(isFirst ? product.getRhsLabels() : product.getLhsLabels(), ofWeight);
      if (sound && axes == llvm::map_to_vector(product.getOutLabels(), [&](int64_t label) { return stands[label]; }))
        return product.getResult();
    }
    return {};
  }

  /// Takes <g W, s> into <g, O> where O + s W is at hand.
  static void merge(SmallVectorImpl<Term> &terms, Operation *before) {
    for (Term &one : terms)
      for (Term &other : terms) {
        Value product = one.sum && other.sum && &one != &other ? findProduct(one, other, before) : Value();
        if (!product)
          continue;
        for (Operation *user : product.getUsers())
          if (auto add = dyn_cast<BinaryOp>(user);
              add && add.getKind() == BinaryKind::Add && add->isBeforeInBlock(before) &&
              (add.getLhs() == one.sum || add.getRhs() == one.sum) && add.getType() == one.sum.getType()) {
            one.sum = add.getResult();
            other.sum = {};
            break;
          }
      }
    llvm::erase_if(terms, [](const Term &term) { return !term.sum; });
  }

  static void replace(ReduceOp sum, SmallVector<Term> terms) {
    OpBuilder b(sum);
    Rules r(b, sum.getLoc());
    Value all;
    bool isFinite = llvm::all_of(
        terms, [&](Term term) { return isFiniteWithoutMembers(term.owner.getInput(), sum.getAlongAttr()); });
    merge(terms, sum);
    for (Term term : terms) {
      Value one = r.reshape(remake(r, term), getFeatureShape(sum.getType()));
      all = all ? r.add(all, one) : one;
    }
    // The sum over no members is 0, and an infinite g times 0 is not.
    if (!isFinite) {
      Value count = DegreeOp::create(b, r.loc, Rules::withFeatures(all.getType(), {}), sum.getAlongAttr());
      count = r.reshape(count, SmallVector<int64_t>(getFeatureShape(all.getType()).size(), 1));
      all = r.select(count, all, r.number(0, all));
    }
    sum.replaceAllUsesWith(all);
    sum.erase();
  }

  SmallVector<ReduceOp> sums; ///< so far, in order: they dominate what comes after
};

} // namespace
