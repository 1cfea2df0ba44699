//===- RuntimePairs.cpp - The runtime's part for pairs -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into models that name gnnc_pairs; see Parts.h.
//
//===----------------------------------------------------------------------===//

#define GNNC_RUNTIME_PARTS
#include "Pairs.cpp"
