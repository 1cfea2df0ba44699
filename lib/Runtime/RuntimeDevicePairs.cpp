//===- RuntimeDevicePairs.cpp - The runtime's part for pairs on GPUs -----===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into models that name gnnc_device_pairs; see Parts.h.
//
//===----------------------------------------------------------------------===//

#define GNNC_RUNTIME_PARTS
#include "CUDA/DevicePairs.cpp"
#include "Pairs.cpp"
