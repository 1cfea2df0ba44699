//===- RuntimeCUDA.cpp - What models with code for GPUs have --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into models that name gnnc_load_cuda_driver; see Parts.h.
//
//===----------------------------------------------------------------------===//

#define GNNC_RUNTIME_PARTS
#include "CUDA/DeviceRun.cpp"

// What waits for a driver or records runs once for a graph or a call: made for size, and kept apart from what runs
// often.
#pragma clang attribute push(__attribute__((cold)), apply_to = function)
#include "CUDA/Branches.cpp"
#include "CUDA/Device.cpp"
#include "CUDA/DeviceGraph.cpp"
#include "CUDA/DeviceTopology.cpp"
#include "CUDA/Driver.cpp"
#include "CUDA/LaunchItems.cpp"
#include "CUDA/Prepare.cpp"
#include "CUDA/PrepareMemory.cpp"
#include "CUDA/PrepareSort.cpp"
#include "CUDA/PrepareWorklist.cpp"
#include "CUDA/Recording.cpp"
#include "CUDA/Repeats.cpp"
#include "CUDA/Worklist.cpp"
#pragma clang attribute pop
