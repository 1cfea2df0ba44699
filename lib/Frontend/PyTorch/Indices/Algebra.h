//===- Algebra.h - Integer tensors as functions of their points -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An integer tensor is a domain, which is a list of sizes, and a term: what it holds at a point, in terms of the
// point's coordinates. A view of a tensor is the same term at other places: views are substitutions (Views.h). Terms
// are in a normal form that is quasi-affine where it can be, so that two ways to write one access are one term, which
// can be asked what it is. Similar: isl's quasi-affine functions, index expressions in Halide and TVM, tinygrad's
// views.
//
// Sizes are at least 0, and each coordinate is at least 0 and less than its size; simplification relies on both.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_INDICES_ALGEBRA_H
#define GNNC_LIB_FRONTEND_PYTORCH_INDICES_ALGEBRA_H

#include "PyTorch/IndexExpr.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gnnc::frontend::pytorch {

/// Made by an IndexAlgebra, which owns it. Equal terms of one algebra are one pointer.
struct IndexTermNode {
  enum class Kind {
    Linear,     ///< `size`, and the sum of factors[i] * arguments[i]: coordinates, quotients, remainders
    Coordinate, ///< number `dim` of the domain, whose size is `size`
    Quotient,   ///< arguments[0] / `size`, rounded down
    Remainder,  ///< what is left of it, from 0 to `size` - 1
    Number,     ///< `source`, which is no list
    Element,    ///< of the list `source`, at arguments[0]
    Choose,     ///< arguments[1 + i] where arguments[0] is i
    Join,       ///< arguments[1 + i] where arguments[0] is at least starts[i], and less than starts[i + 1] if there is
                ///< one; it is less than `size`
    Apply,      ///< `function` of arguments, element by element; GraphSource.h has the functions
  };
  Kind kind;
  unsigned id; ///< counts up
  SymbolicExpr size;
  unsigned dim = 0;
  std::vector<const IndexTermNode *> arguments;
  std::vector<SymbolicExpr> factors, starts;
  std::string function;
  Index source;
  uint64_t coordinates = 0; ///< a bit for each dim whose coordinate occurs
  bool isKnown = true;      ///< no list or number of the graph occurs, other than sizes
};
using IndexTerm = const IndexTermNode *;

/// An integer tensor: what it holds at the points of a domain.
struct IndexTensor {
  std::vector<SymbolicExpr> sizes;
  IndexTerm value = nullptr;
  bool isTruth = false; ///< 0 and 1 stand for false and true
};

/// The factor of a product, if it is one of numbers and at most one sum of sizes; and what multiplies `b` to `a`.
std::optional<SymbolicExpr> multiply(const SymbolicExpr &a, const SymbolicExpr &b);
std::optional<SymbolicExpr> divideExactly(const SymbolicExpr &a, const SymbolicExpr &b);
/// Whether it is 0 or more for all sizes.
bool isNeverNegative(const SymbolicExpr &size);

class IndexAlgebra {
public:
  /// More dims than this no tensor has.
  static constexpr size_t kMostDims = 64;

  //===--- Terms -----------------------------------------------------------===//
  IndexTerm number(const SymbolicExpr &value);
  IndexTerm coordinate(size_t dim, const SymbolicExpr &size);
  /// A number that is computed from the graph, and an element of a list that is.
  IndexTerm given(const Index &source);
  IndexTerm element(const Index &list, IndexTerm at);
  IndexTerm choose(IndexTerm at, std::vector<IndexTerm> parts);
  /// No start is less than the one before it, or more than `end`, which `at` never reaches.
  IndexTerm join(IndexTerm at, std::vector<SymbolicExpr> starts, std::vector<IndexTerm> parts, const SymbolicExpr &end);
  IndexTerm apply(const std::string &function, std::vector<IndexTerm> arguments);

  IndexTerm add(IndexTerm a, IndexTerm b) { return apply("add", {a, b}); }
  IndexTerm times(IndexTerm a, const SymbolicExpr &factor) { return apply("mul", {a, number(factor)}); }
  IndexTerm quotient(IndexTerm a, const SymbolicExpr &by) { return apply("div", {a, number(by)}); }
  IndexTerm remainder(IndexTerm a, const SymbolicExpr &by) { return apply("mod", {a, number(by)}); }

  //===--- Substitution ----------------------------------------------------===//
  /// The term at other places: `places[dim]` for the coordinate of each dim; those without one stay.
  IndexTerm at(IndexTerm term, const std::vector<IndexTerm> &places);
  /// The term with one of its parts replaced by another term.
  IndexTerm replace(IndexTerm term, IndexTerm part, IndexTerm by);

  //===--- Questions -------------------------------------------------------===//
  /// The least and the largest value, where they are sums of sizes.
  std::optional<std::pair<SymbolicExpr, SymbolicExpr>> bounds(IndexTerm term) const;
  static std::optional<SymbolicExpr> sizeOf(IndexTerm term); ///< if it is a number and sizes alone
  static std::optional<int64_t> literalOf(IndexTerm term);
  static bool dependsOn(IndexTerm term, size_t dim) { return (term->coordinates >> dim & 1) != 0; }

  /// What it is at a point, for tests. `size` gives the value of a symbol, `element` that of a list or a number.
  static int64_t evaluate(IndexTerm term, const std::vector<int64_t> &point,
                          const std::function<int64_t(const std::string &symbol)> &size,
                          const std::function<int64_t(const Index &source, int64_t at)> &element);

private:
  using Factors = std::vector<std::pair<IndexTerm, SymbolicExpr>>;
  IndexTerm intern(IndexTermNode node);
  IndexTerm linear(SymbolicExpr constant, Factors factors);
  static Factors factorsOf(IndexTerm linear);
  /// The parts of a sum that are multiples of `by`, divided by it, and the rest.
  std::pair<IndexTerm, IndexTerm> dividedParts(IndexTerm sum, const SymbolicExpr &by);
  IndexTerm quotientOf(IndexTerm sum, const SymbolicExpr &by);
  IndexTerm remainderOf(IndexTerm sum, const SymbolicExpr &by);
  std::optional<std::pair<int64_t, std::pair<IndexTerm, IndexTerm>>> commonFactor(IndexTerm sum, int64_t by);
  IndexTerm product(IndexTerm sum, const SymbolicExpr &factor);
  IndexTerm arithmetic(const std::string &function, const std::vector<IndexTerm> &arguments);
  IndexTerm comparison(const std::string &function, const std::vector<IndexTerm> &arguments);
  IndexTerm rebuilt(IndexTerm term, const std::function<IndexTerm(IndexTerm)> &part);
  IndexTerm transformed(IndexTerm term, const std::function<IndexTerm(IndexTerm)> &replaced,
                        std::unordered_map<IndexTerm, IndexTerm> &done);

  std::deque<IndexTermNode> nodes;
  std::unordered_map<std::string, IndexTerm> known;
};

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_INDICES_ALGEBRA_H
