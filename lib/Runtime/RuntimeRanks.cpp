//===- RuntimeRanks.cpp - What models for ranks have ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into models that name gnnc_ranks; see Parts.h.
//
//===----------------------------------------------------------------------===//

#define GNNC_RUNTIME_PARTS
#pragma clang attribute push(__attribute__((cold)), apply_to = function)
#include "CUDA/DeviceRanks.cpp"
#include "Exchanges.cpp"
#include "Ranks.cpp"
#pragma clang attribute pop
