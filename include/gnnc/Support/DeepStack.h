//===- DeepStack.h - A stack of known size ----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_DEEPSTACK_H
#define GNNC_SUPPORT_DEEPSTACK_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace gnnc {

/// What a thread of runOnDeepStack has; memory is taken as it is used.
constexpr size_t kDeepStackBytes = size_t(64) << 20;

/// Calls `work` on a thread of its own and waits for it: how deep it may recurse does not depend on the caller's stack,
/// which may be small if it is not the main thread. Where there is no memory for that, `work` runs on the caller's
/// stack.
void runOnDeepStack(llvm::function_ref<void()> work);

} // namespace gnnc

#endif // GNNC_SUPPORT_DEEPSTACK_H
