//===- SweepChannels.cpp - Small products of each channel stay in sweeps --===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A coupling of directions multiplies the few numbers of each channel of a row by a small tensor that all channels have
// in common:
//
//   x[channel, k] by w[k, n] gives y[channel, n]
//
// As a matrix product it would read and write rows of channels * k and channels * n numbers for two operations a byte.
// In a sweep each lane has some channels, and holds their numbers in registers. Such contractions are marked
// (`mpk.swept`), so that neither tiles nor matrix products are made of them.
//
//===----------------------------------------------------------------------===//

#include "Products/ContractionRoles.h"
#include "Remarks.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Transforms/Passes.h"

namespace gnnc {
#define GEN_PASS_DEF_SWEEPCHANNELS
#include "gnnc/Transforms/Passes.h.inc"
} // namespace gnnc

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

#define DEBUG_TYPE "sweep-channels"

namespace {

/// Operations on a channel, and numbers of the shorter side, that registers have room for; and the channels that make
/// work for enough lanes.
constexpr int64_t kMostOperations = 512, kMostShort = 16, kLeastChannels = 8;

struct SweepChannels : public gnnc::impl::SweepChannelsBase<SweepChannels> {
  using SweepChannelsBase::SweepChannelsBase;

  void runOnOperation() override {
    getOperation().walk([&](ContractOp op) {
      if (isOfChannels(op))
        mark(op);
    });
  }

  /// Makes the shared operand the right one.
  static bool isOfChannels(ContractOp op) {
    if (!getResidency(op.getLhs().getType()))
      exchangeOperands(op);
    if (!getResidency(op.getLhs().getType()) || getResidency(op.getRhs().getType()))
      return false;
    ContractionRoles roles(op);
    int64_t k = roles.sizeOf(roles.k), n = roles.sizeOf(roles.n);
    return roles.batch.empty() && !roles.onlyOneOperand && !roles.k.empty() && !roles.n.empty() &&
           roles.sizeOf(roles.m) >= kLeastChannels && k * n <= kMostOperations && std::min(k, n) <= kMostShort;
  }

  void mark(ContractOp op) {
    op->setAttr(mpk::kSweptAttr, UnitAttr::get(op.getContext()));
    remarkPassed(op, DEBUG_TYPE, "channels", [&] {
      ContractionRoles roles(op);
      return "product by " + std::to_string(roles.sizeOf(roles.k)) + " x " + std::to_string(roles.sizeOf(roles.n)) +
             " numbers is made in sweeps, for each of " + std::to_string(roles.sizeOf(roles.m)) + " channels";
    });
    ++numSwept;
  }
};

} // namespace
