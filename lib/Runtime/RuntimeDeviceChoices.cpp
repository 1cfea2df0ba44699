//===- RuntimeDeviceChoices.cpp - The runtime's part for choices on GPUs -===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into models that name gnnc_device_choices; see Parts.h.
//
//===----------------------------------------------------------------------===//

#define GNNC_RUNTIME_PARTS
#include "CUDA/DeviceChoice.cpp"
#include "Selection.cpp"
