//===- SparseInputs.cpp - What a sparse input can do ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sparse input is a space of entries with a map to the rows' space and one to a static space of columns. Its value is
// one number an entry. What keeps zeros zero works on that number; products and sums reduce along the map to the rows.
//
//===----------------------------------------------------------------------===//

#include "Sema/SparseInputs.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc::frontend;
using llvm::StringRef;

/// x * s and x / s, with a number s for each row or for all.
MaybeOperand SparseInputs::scale(StringRef op, const Sparse &x, const Operand &factor, Loc loc) {
  MaybeId s = dense(factor, loc, "a product");
  if (!s)
    return std::nullopt;
  Id row = inputOf(x).row;
  if (!builder.value(*s).axes.empty())
    return error(loc, "sparse input '" + inputOf(x).name + "' is scaled by a value without axes only, found " +
                          builder.describe(*s));
  if (Id residency = builder.value(*s).residency; residency != kNone && residency != builder.map(row).to)
    return error(loc, "operands reside on different spaces: " + builder.spaceName(builder.map(row).to) + " and " +
                          builder.spaceName(residency));
  MaybeId moved = builder.move(*s, row, 0, loc);
  MaybeId result = moved ? builder.binary(op, x.value, *moved, loc) : std::nullopt;
  if (!result)
    return std::nullopt;
  return Sparse{*result, x.input, x.axis};
}

MaybeOperand SparseInputs::unary(StringRef function, const Sparse &x, double number, Loc loc) {
  static const StringRef keepsZero[] = {"neg",  "relu",   "leaky_relu", "elu", "gelu", "silu",  "tanh", "abs",
                                        "sign", "square", "sqrt",       "sin", "erf",  "floor", "ceil", "round"};
  if (!llvm::is_contained(keepsZero, function))
    return sparseUnsupported(x, ("in " + function + ", which is not 0 at 0").str(), loc);
  MaybeId result = builder.unary(function, x.value, number, loc);
  if (!result)
    return std::nullopt;
  return Sparse{*result, x.input, x.axis};
}

/// x @ W = sum(x.value * W[column], along: row)
MaybeOperand SparseInputs::matmul(const Sparse &x, const Operand &weight, Loc loc) {
  const SparseInput &input = inputOf(x);
  auto *operand = std::get_if<Dense>(&weight);
  if (!operand)
    return error(loc, "sparse input '" + input.name + "' is multiplied with a value that has axis '" + x.axis +
                          "', found " + describe(weight));
  const Value w = builder.value(operand->id);
  if (w.residency != kNone)
    return error(loc, "sparse input '" + input.name + "' is multiplied with a shared value, found " +
                          builder.describe(operand->id));
  auto at = llvm::find_if(w.axes, [&](const Axis &axis) { return axis.name == x.axis; });
  if (at == w.axes.end())
    return error(loc, "'@' contracts axis '" + x.axis + "', the last of " + describe(x) + ", which the right operand " +
                          builder.describe(operand->id) + " does not have");
  Id columns = builder.map(input.column).to;
  if (at->size != builder.space(columns).extent)
    return error(loc,
                 "axis '" + x.axis + "' has different sizes: " + describe(x) + " and " + builder.describe(operand->id));
  std::vector<std::string> order = {x.axis};
  for (const Axis &axis : w.axes)
    if (axis.name != x.axis)
      order.push_back(axis.name);
  Id column = input.column, row = input.row;
  MaybeId id = builder.permute(operand->id, order, loc);
  if (id)
    id = builder.spread(*id, columns, loc);
  if (id)
    id = builder.move(*id, column, 0, loc);
  if (id)
    id = builder.binary("mul", x.value, *id, loc);
  if (id)
    id = builder.reduce("sum", *id, row, loc);
  return wrap(id);
}

/// sum or mean over the axis.
MaybeOperand SparseInputs::fold(StringRef function, const Sparse &x, Loc loc) {
  if (function != "sum" && function != "mean")
    return sparseUnsupported(x, ("in " + function).str(), loc);
  Id columns = builder.map(inputOf(x).column).to;
  MaybeId sum = builder.reduce("sum", x.value, inputOf(x).row, loc);
  if (!sum || function == "sum")
    return wrap(sum);
  MaybeId size = builder.constant(double(builder.space(columns).extent), loc);
  return size ? wrap(builder.binary("div", *sum, *size, loc)) : std::nullopt;
}
