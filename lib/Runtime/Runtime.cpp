//===- Runtime.cpp - The runtime as one unit ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Compiled into the one object that the compiler embeds and links into every model; see CMakeLists.txt.
//
//===----------------------------------------------------------------------===//

#include "Api.cpp"
#include "Bindings.cpp"
#include "CUDA/Branches.cpp"
#include "CUDA/DeviceRun.cpp"
#include "Capacity.cpp"
#include "Derive.cpp"
#include "Execute.cpp"
#include "Graph.cpp"
#include "Indices.cpp"
#include "MemoryPlan.cpp"
#include "Partition.cpp"
#include "PreparedCall.cpp"
#include "Processor.cpp"
#include "RootData.cpp"
#include "ThreadPool.cpp"

// What waits for a driver, takes memory or makes text runs once for a graph: made for size, and kept apart from what
// runs often.
#pragma clang attribute push(__attribute__((cold)), apply_to = function)
#include "CUDA/Device.cpp"
#include "CUDA/DeviceGraph.cpp"
#include "CUDA/DeviceRanks.cpp"
#include "CUDA/DeviceTopology.cpp"
#include "CUDA/Driver.cpp"
#include "CUDA/LaunchItems.cpp"
#include "CUDA/Prepare.cpp"
#include "CUDA/PrepareWorklist.cpp"
#include "CUDA/Recording.cpp"
#include "CUDA/Worklist.cpp"
#include "Describe.cpp"
#include "Error.cpp"
#include "Memory.cpp"
#include "Ranks.cpp"
#include "Tuning.cpp"
#pragma clang attribute pop
