//===- RecoverSegments.cpp - Reductions of rows in a row ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions of segments, which row pointers or lengths give.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include <limits>

namespace gnnc::frontend::pytorch {

/// A reduction along the map that sends each row to its segment.
void Recover::opSegmentReduce(const NormalNode &node) {
  struct Reduction {
    std::string function;
    double absent; ///< what a segment without rows has, if the program does not say
  };
  const double infinity = std::numeric_limits<double>::infinity();
  static const std::map<std::string, Reduction> reductions = {
      {"sum", {"sum", 0}},          {"mean", {"mean", 0}},      {"prod", {"prod", 1}},      {"max", {"max", -infinity}},
      {"amax", {"max", -infinity}}, {"min", {"min", infinity}}, {"amin", {"min", infinity}}};
  auto found = reductions.find(string(node, "reduce", ""));
  if (found == reductions.end())
    throw Refusal{"argument 'reduce': expected sum, mean, prod, max or min, found '" + string(node, "reduce", "") +
                  "'"};
  Tensor x = tensor(node, "data");
  bool byPointers = has(node, "offsets");
  if (!byPointers && !has(node, "lengths"))
    throw Refusal{"segments by indices; give their lengths or offsets"};
  IndexLists given = index(node, byPointers ? "offsets" : "lengths");
  if (axisNumber(node, "axis", 0, x.dims.size()) != 0 || given.dims.size() != 1)
    throw Refusal{"segments along another axis than the first; move that axis with transpose"};
  if (given.dims[0].kind != IndexDim::Kind::Long)
    given = {{{IndexDim::Kind::Long, given.dims[0].size}}, {listOf(withComponents(given, 0).components)}};
  SymbolicExpr count = sizes(node).at(0), rows = sizesOf(nameOf(node, "data")).at(0);
  Index lengths = given.components.at(0);
  if (byPointers)
    lengths = call("diff", {lengths}, count);
  Index numbers = call("arange", {constant(0), sizeIndex(count), constant(1)}, count);
  Index segments = call("interleave", {numbers, lengths}, rows);
  const auto &[function, absent] = found->second;
  std::optional<double> initial = has(node, "initial") ? number(node, "initial") : std::nullopt;
  bool isMean = function == "mean", skipsEmpty = isMean && initial && *initial == 0;
  Tensor base = filled(initial.value_or(absent), sizes(node));
  if (!isMean || skipsEmpty)
    return define(node, scatter(base, 0, segments, x, function, initial && !isMean));
  // What is given at first counts in the sum and is no row.
  Tensor sums = scatter(base, 0, segments, x, "sum", true);
  std::vector<SymbolicExpr> column(x.dims.size(), 1), each = column;
  column[0] = count;
  each[0] = rows;
  Tensor members = scatter(filled(0, column), 0, segments, filled(1, each), "sum", true);
  Tensor means = binary("/", sums, binary("maximum", members, 1));
  // The mean of no row is no number, and has no part in a gradient.
  define(node, initial ? means : binary("+", means, binary("/", scalar(0), members)));
}

/// Rows of a table, of which each bag sums up those between its offset and the next.
void Recover::opEmbeddingBag(const NormalNode &node) {
  Tensor table = tensor(node, "weight");
  Index list = oneList(index(node, "indices")), offsets = oneList(index(node, "offsets"));
  // Where nothing is padding, core operators have -1 and others None.
  bool isPadded = has(node, "padding_idx") && (node.op == "embedding_bag" || integer(node, "padding_idx", -1) >= 0);
  const char *unsupported = isPadded                                   ? "padding_idx"
                            : flag(node, "include_last_offset", false) ? "include_last_offset"
                            : flag(node, "scale_grad_by_freq", false)  ? "scale_grad_by_freq"
                                                                       : nullptr;
  if (unsupported)
    throw Refusal{"expected an embedding_bag without padding_idx, include_last_offset and scale_grad_by_freq, found " +
                  std::string(unsupported)};
  SymbolicExpr bags = sizes(node).at(0);
  Index ends = call("cat", {offsets, sizeIndex(list->length)}, bags + SymbolicExpr(1));
  Index all = call("arange", {constant(0), sizeIndex(bags), constant(1)}, bags);
  Index bagOf = call("interleave", {all, call("diff", {ends}, bags)}, list->length);
  Tensor rows = gatherList(table, 0, list);
  if (has(node, "per_sample_weights"))
    rows = binary("*", rows, unsqueezed(tensor(node, "per_sample_weights"), 1));
  int64_t mode = integer(node, "mode", 0);
  const char *function = mode == 0 ? "sum" : mode == 1 ? "mean" : "max";
  // Bags that are empty are 0.
  define(node, scatter(filled(0, sizes(node)), 0, bagOf, rows, function, /*includeSelf=*/false), 0);
}

} // namespace gnnc::frontend::pytorch
