//===- Trial.h - Whether graphs can be one call -----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_TRIAL_H
#define GNNC_HOSTS_TRITON_TRIAL_H

#include "Runner.h"

namespace gnnc::triton {

/// Runs a model whose description lets graphs join on small random graphs, alone and joined, and compares. Returns why
/// they cannot be one call; empty: nothing was found.
std::string tryJoining(const Signature &signature, Runner &runner);

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_TRIAL_H
