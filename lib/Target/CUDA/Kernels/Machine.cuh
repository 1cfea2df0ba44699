//===- Machine.cuh - The seam between kernels and GPUs ----------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are C++ with the words that CUDA and HIP share (threadIdx, __syncthreads, __ldg, atomicAdd, __float_as_uint,
// ...). Everything else that depends on the GPU's vendor is a function of namespace gnnc, defined by
//
//   PTX.cuh                                for NVIDIA: inline assembly and exchanges between lanes. Documents them all
//   HIP.cuh, HIPWords.cuh, Plain.cuh       for AMD: lanes by Clang's builtins, the rest in plain C++
//   test/StandIn/Emulation/PTX.cuh         for tests without a GPU
//
// test/Target/CUDA/machine-seam.test rejects vendor-specific words in other files.
//
// A warp has 32 threads everywhere; the number of its first thread is a multiple of 32. If wavefronts have 64 lanes, a
// warp is one half of a wavefront (see HIP.cuh).
//
// The code for AMD has NEVER RUN on a device: it compiles for gfx90a and gfx942, and the runtime cannot load it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_MACHINE_CUH
#define GNNC_KERNELS_MACHINE_CUH

#ifdef __HIP__
#include "HIP.cuh"
// Uses the words of HIP.cuh.
#include "Plain.cuh"
#else
#include "PTX.cuh"
#endif

/// Only code for sm_90a has kernels of warpgroups.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define GNNC_HAS_WARPGROUPS
#endif

/// Blocks of 128 threads for which a processor has room (CUDA C++ Programming Guide, resident threads of a processor).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
#define GNNC_MOST_BLOCKS 8
#elif defined(__CUDA_ARCH__) && ((__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1200)
#define GNNC_MOST_BLOCKS 12
#else
#define GNNC_MOST_BLOCKS 16
#endif

#endif // GNNC_KERNELS_MACHINE_CUH
