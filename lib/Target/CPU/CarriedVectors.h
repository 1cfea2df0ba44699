//===- CarriedVectors.h - Vectors that live in several blocks ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CPU_CARRIEDVECTORS_H
#define GNNC_LIB_TARGET_CPU_CARRIEDVECTORS_H

namespace llvm {
class Function;
} // namespace llvm

namespace gnnc::cpu {

/// Carries vectors whose number of lanes is no power of two between basic blocks in registers of `registerBits` bits.
/// To be called after the last optimisation, which would put the pieces together again.
void splitCarriedVectors(llvm::Function &function, unsigned registerBits);

} // namespace gnnc::cpu

#endif // GNNC_LIB_TARGET_CPU_CARRIEDVECTORS_H
