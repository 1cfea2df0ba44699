//===- GroupTerms.cpp - Terms that come from one place are added there ----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R2 for sums of many terms:  a.dst + b.src - c.dst + d  =  (a - c + d).dst + b.src.  Sums are flattened down to terms
// that can be lifted along one map; terms of one map, and shared ones with the largest group, are added first, so that
// the sums can be lifted as well. Of one map's terms, products of the same rows are one product by the sum of their
// weights:  (x A).dst - (x B).dst = (x (A - B)).dst,  where fewer products are left so. That of (x.src - x.dst) B,
// which both ends have, is in both sums then. Terms that belong nowhere stay as they are, and so do sums of such terms
// alone: the order in which they are written may be meant.
//
//===----------------------------------------------------------------------===//

#include "Remarks.h"
#include "Rewrites/Lifting.h"
#include "dialects/mpdfg/Derivatives/Rules.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_GROUPTERMS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

#define DEBUG_TYPE "group-terms"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

struct Term {
  Value value;
  bool negative;
  FlatSymbolRefAttr map; ///< null: shared, or of no map
};

/// By map.
using Groups = llvm::MapVector<Attribute, SmallVector<Term>>;

BinaryOp additionOf(Value value) {
  auto op = value.getDefiningOp<BinaryOp>();
  return op && (op.getKind() == BinaryKind::Add || op.getKind() == BinaryKind::Sub) ? op : BinaryOp();
}

struct GroupTerms : public gnnc::impl::GroupTermsBase<GroupTerms> {
  void runOnOperation() override {
    SmallVector<BinaryOp> roots;
    getOperation().walk([&](BinaryOp op) {
      if (!additionOf(op) || !getResidency(op.getType()) || lifts.find(op, op.getResult()))
        return;
      // A sum that is only a term of another one is flattened with that.
      bool inner = op->hasOneUse() && isa<BinaryOp>(*op->user_begin()) && additionOf(op->user_begin()->getResult(0));
      if (!inner)
        roots.push_back(op);
    });
    // What is made in between cannot be lifted as a whole, as what it replaces could not, so that what is known stays.
    for (BinaryOp root : roots)
      regroup(root);
    lifts = {};
  }

  /// The terms of a sum, from the left. Partial sums of which no term comes along a map stay whole.
  void flatten(Value whole, SmallVectorImpl<Term> &terms) {
    struct Partial {
      Value value;
      bool negative;
      bool entered = false;            // its terms are there
      size_t firstTerm = 0, moved = 0; // entered: how many terms, and of them moved ones, were there before
    };
    SmallVector<Partial> pending{{whole, false}};
    size_t moved = 0;
    while (!pending.empty()) {
      Partial partial = pending.pop_back_val();
      auto [value, negative, entered, firstTerm, movedBefore] = partial;
      if (entered) {
        if (value != whole && moved == movedBefore) {
          terms.truncate(firstTerm);
          terms.push_back({value, negative, {}});
        }
        continue;
      }
      BinaryOp sum = additionOf(value);
      FlatSymbolRefAttr map = value.getDefiningOp() ? lifts.find(value.getDefiningOp(), value) : FlatSymbolRefAttr();
      bool open = sum && getResidency(value.getType()) && !map && (value == whole || sum->hasOneUse());
      if (!open) {
        terms.push_back({value, negative, map});
        moved += map ? 1 : 0;
        continue;
      }
      pending.push_back({value, negative, true, terms.size(), moved});
      pending.push_back({sum.getRhs(), negative != (sum.getKind() == BinaryKind::Sub)});
      pending.push_back({sum.getLhs(), negative});
    }
  }

  /// A term that is rows times a shared weight, moved.
  struct Moved {
    BroadcastOp movement;
    ContractOp product;
    bool weightIsLhs = false;
    explicit operator bool() const { return bool(product); }
    Value rows() { return weightIsLhs ? product.getRhs() : product.getLhs(); }
    Value weight() { return weightIsLhs ? product.getLhs() : product.getRhs(); }
    /// Whether a weight could make both products.
    bool isLike(Moved &other) {
      return other && weightIsLhs == other.weightIsLhs && rows() == other.rows() &&
             weight().getType() == other.weight().getType() &&
             product->getAttrDictionary() == other.product->getAttrDictionary();
    }
  };
  static Moved movedProduct(Value term) {
    auto movement = term.getDefiningOp<BroadcastOp>();
    // Rows that nothing moves to are filled, with more than one product's sum unless with 0.
    if (!movement || !movement.getFill().isZero())
      return {};
    auto product = movement.getInput().getDefiningOp<ContractOp>();
    if (!product || bool(getResidency(product.getLhs().getType())) == bool(getResidency(product.getRhs().getType())))
      return {};
    return {movement, product, !getResidency(product.getLhs().getType())};
  }

  /// Whether one product for each group leaves fewer than there are of this one's kind.
  static bool savesProducts(Moved kind, const Groups &groups) {
    llvm::SmallDenseMap<Operation *, int64_t> terms; // that are a product and nothing else
    llvm::SmallDenseSet<Value> weights, readElsewhere;
    int64_t joined = 0;
    for (const auto &group : groups) {
      bool isThere = false;
      for (const Term &term : group.second)
        if (Moved moved = movedProduct(term.value); kind.isLike(moved)) {
          isThere = true;
          weights.insert(moved.weight());
          terms[moved.product] += moved.movement->hasOneUse() ? 1 : 0;
        }
      joined += isThere;
    }
    for (auto [product, number] : terms)
      if (std::distance(product->use_begin(), product->use_end()) != number)
        readElsewhere.insert(Moved{{}, cast<ContractOp>(product), kind.weightIsLhs}.weight());
    return joined + int64_t(readElsewhere.size()) < int64_t(weights.size());
  }

  /// Joins products of the same rows in each group.
  void joinProducts(OpBuilder &b, Rules &r, Groups &groups) {
    llvm::SmallDenseSet<Operation *> kept; // of kinds that stay as they are
    for (auto &group : groups)
      for (Term &first : group.second) {
        Moved one = movedProduct(first.value);
        if (one && !savesProducts(one, groups))
          kept.insert(one.product);
      }
    for (auto &[map, terms] : groups)
      for (size_t i = 0; i < terms.size(); ++i)
        for (size_t j = i + 1; j < terms.size();) {
          Moved one = movedProduct(terms[i].value), other = movedProduct(terms[j].value);
          if (!one || !one.isLike(other) || kept.contains(one.product) || kept.contains(other.product) ||
              one.movement->getAttrDictionary() != other.movement->getAttrDictionary()) {
            ++j;
            continue;
          }
          Value weight = terms[i].negative == terms[j].negative ? r.add(one.weight(), other.weight())
                                                                : r.sub(one.weight(), other.weight());
          Operation *product = b.clone(*one.product), *movement = b.clone(*one.movement);
          product->setOperand(one.weightIsLhs ? 0 : 1, weight);
          movement->setOperand(0, product->getResult(0));
          terms[i].value = movement->getResult(0);
          terms.erase(terms.begin() + j);
          remarkPassed(one.product, DEBUG_TYPE, "join",
                       [] { return "products of the same rows become one by the sum of their weights"; });
        }
  }

  void regroup(BinaryOp root) {
    SmallVector<Term> terms;
    flatten(root.getResult(), terms);
    if (terms.size() < 3)
      return;
    // The map with most terms takes the shared ones too.
    Groups groups;
    SmallVector<Term> shared, rest;
    for (const Term &term : terms)
      (term.map ? groups[term.map] : getResidency(term.value.getType()) ? rest : shared).push_back(term);
    if (groups.empty())
      return;
    auto *largest = groups.begin();
    for (auto it = groups.begin(); it != groups.end(); ++it)
      if (it->second.size() > largest->second.size())
        largest = it;
    llvm::append_range(largest->second, shared);
    if (llvm::all_of(groups, [](auto &group) { return group.second.size() < 2; })) {
      remarkMissed(
          root, DEBUG_TYPE, "group", [] { return "terms stay in the order they are written in"; },
          [] { return "no two of them come along one map"; });
      return;
    }
    OpBuilder b(root);
    Rules r(b, root.getLoc());
    std::optional<Term> sum;
    auto add = [&](const Term &term) {
      if (!sum)
        sum = term;
      else if (sum->negative == term.negative)
        sum->value = r.add(sum->value, term.value);
      else
        sum = sum->negative ? Term{r.sub(term.value, sum->value), false, {}}
                            : Term{r.sub(sum->value, term.value), false, {}};
    };
    joinProducts(b, r, groups);
    SmallVector<Term> sums;
    for (auto &group : groups) {
      sum.reset();
      for (const Term &term : group.second)
        add(term);
      sums.push_back(*sum);
    }
    sum.reset();
    for (const auto *list : {&sums, &rest})
      for (const Term &term : *list)
        add(term);
    Value result = sum->negative ? r.neg(sum->value) : sum->value;
    remarkPassed(root, DEBUG_TYPE, "group", [&] {
      return std::to_string(terms.size()) + " terms become " + std::to_string(groups.size() + rest.size());
    });
    root.replaceAllUsesWith(result);
    ++numGrouped;
  }

  LiftFinder lifts;
};

} // namespace
