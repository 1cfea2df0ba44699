//===- Runtime.cpp - What every model has of the runtime ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One unit of the archive that the compiler embeds and links models with; see Parts.h and CMakeLists.txt.
//
//===----------------------------------------------------------------------===//

#define GNNC_RUNTIME_PARTS
#include "Api/Api.cpp"
#include "Api/Contexts.cpp"
#include "Api/Graphs.cpp"
#include "Api/Memory.cpp"
#include "Api/Recordings.cpp"
#include "Api/Runs.cpp"
#include "Bindings.cpp"
#include "Capacity.cpp"
#include "Choices.cpp"
#include "Derive.cpp"
#include "Execute.cpp"
#include "Graph.cpp"
#include "Indices.cpp"
#include "MemoryPlan.cpp"
#include "Partition.cpp"
#include "Preparation.cpp"
#include "PrepareBuffers.cpp"
#include "PrepareFunctions.cpp"
#include "PrepareSteps.cpp"
#include "PreparedCall.cpp"
#include "Processor.cpp"
#include "RootData.cpp"
#include "ThreadPool.cpp"

// What takes memory or makes text runs once for a graph: made for size, and kept apart from what runs often.
#pragma clang attribute push(__attribute__((cold)), apply_to = function)
#include "Describe.cpp"
#include "Error.cpp"
#include "Memory.cpp"
#include "Tuning.cpp"
#pragma clang attribute pop
