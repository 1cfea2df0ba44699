//===- Parts.h - What not every model links ---------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime that the compiler embeds is an archive of objects: Runtime.cpp, which every model has, and
// RuntimeCUDA.cpp, RuntimeRanks.cpp and those for choices and for pairs, with and without GPUs. A model names a symbol
// of those that it needs (gnnc_load_cuda_driver, gnnc_ranks, …), and the linker takes only these.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_PARTS_H
#define GNNC_RUNTIME_PARTS_H

/// Before a function that one part calls and another one defines: null in a model without that part, so callers have
/// made sure that it is there. (A null device, builder or Model::ranks says that it is not.)
#ifdef GNNC_RUNTIME_PARTS
#define GNNC_OF_PART [[gnu::weak, gnu::visibility("hidden")]]
#else
#define GNNC_OF_PART
#endif

#endif // GNNC_RUNTIME_PARTS_H
