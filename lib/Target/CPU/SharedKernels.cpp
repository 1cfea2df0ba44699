//===- SharedKernels.cpp - Kernels that are written once ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedKernels.h"

#include "dialects/mpdfg/IR/MPDFG.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cpu;

/// Places and slots do not matter.
static constexpr auto kFlags = static_cast<OperationEquivalence::Flags>(OperationEquivalence::IgnoreLocations |
                                                                        OperationEquivalence::IgnoreDiscardableAttrs);

static size_t hashOf(Operation *op) {
  return OperationEquivalence::computeHash(op, OperationEquivalence::ignoreHashValue,
                                           OperationEquivalence::ignoreHashValue, kFlags);
}

/// Degrees are read off an index that the code names; everything else is a buffer.
static Attribute indexOf(Value operand) {
  auto degree = operand.getDefiningOp<mpdfg::DegreeOp>();
  return degree ? Attribute(degree.getAlongAttr()) : Attribute();
}

/// Whether two operations are one kernel's; `values` then has what stands in `b` for each value of `a`.
static bool areEqual(Operation *a, Operation *b, llvm::DenseMap<Value, Value> &values) {
  if (a->getNumOperands() != b->getNumOperands())
    return false;
  for (auto [x, y] : llvm::zip(a->getOperands(), b->getOperands())) {
    if (x.getType() != y.getType() || indexOf(x) != indexOf(y))
      return false;
    // What is one buffer for the code must be one here.
    if (auto [known, fresh] = values.try_emplace(x, y); !fresh && known->second != y)
      return false;
  }
  auto check = [&](Value x, Value y) { return success(values.lookup(x) == y); };
  auto mark = [&](Value x, Value y) { values[x] = y; };
  return OperationEquivalence::isEquivalentTo(a, b, check, mark, kFlags);
}

std::optional<EmittedKernel> SharedKernels::find(Operation *op, bool fixedRounding) const {
  auto found = kernels.find(hashOf(op));
  if (found == kernels.end())
    return std::nullopt;
  for (const auto &[other, fixed, kernel] : found->second) {
    llvm::DenseMap<Value, Value> values;
    if (fixed != fixedRounding || !areEqual(other, op, values))
      continue;
    for (auto [x, y] : llvm::zip(other->getResults(), op->getResults()))
      values[x] = y;
    EmittedKernel shared = kernel;
    if (!llvm::all_of(shared.buffers, [&](Value buffer) { return values.count(buffer); }))
      continue;
    for (Value &buffer : shared.buffers)
      buffer = values.lookup(buffer);
    return shared;
  }
  return std::nullopt;
}

void SharedKernels::add(Operation *op, bool fixedRounding, const EmittedKernel &kernel) {
  kernels[hashOf(op)].push_back({op, fixedRounding, kernel});
}
