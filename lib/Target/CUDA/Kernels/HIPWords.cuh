//===- HIPWords.cuh - HIP's words for kernels, without HIP ------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The words that CUDA and HIP share, as far as kernels use them, by Clang's builtins for amdgcn. With them kernels
// compile without ROCm (-nogpuinc). Functions named __ocml_... are in ROCm's device library (ocml.bc), which HIPRTC
// links; without it (-nogpulib) they are undefined symbols.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_HIPWORDS_CUH
#define GNNC_KERNELS_HIPWORDS_CUH

#ifdef __HIP__

#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))

#define GNNC_WORD static __device__ __forceinline__

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

//===----------------------------------------------------------------------===//
// Where a thread is
//===----------------------------------------------------------------------===//

namespace gnnc::hip {

struct Place {
  unsigned x, y, z;
};
GNNC_WORD Place thread() {
  return {__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z()};
}
GNNC_WORD Place block() {
  return {__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z()};
}
GNNC_WORD Place threads() {
  return {__builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
          __builtin_amdgcn_workgroup_size_z()};
}
/// The grid size of the dispatch packet is in threads.
GNNC_WORD Place blocks() {
  const Place all = {__builtin_amdgcn_grid_size_x(), __builtin_amdgcn_grid_size_y(), __builtin_amdgcn_grid_size_z()};
  return {all.x / threads().x, all.y / threads().y, all.z / threads().z};
}

} // namespace gnnc::hip

#define threadIdx (::gnnc::hip::thread())
#define blockIdx (::gnnc::hip::block())
#define blockDim (::gnnc::hip::threads())
#define gridDim (::gnnc::hip::blocks())

//===----------------------------------------------------------------------===//
// Threads that meet
//===----------------------------------------------------------------------===//

GNNC_WORD void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
GNNC_WORD int __syncthreads_or(int given) {
  __shared__ int any;
  __syncthreads(); // A previous call may still be reading `any`.
  if (threadIdx.x == 0)
    any = 0;
  __syncthreads();
  if (given)
    __hip_atomic_store(&any, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  return any;
}
GNNC_WORD void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

template <typename T, typename U> GNNC_WORD T atomicAdd(T *to, U by) {
  return __hip_atomic_fetch_add(to, T(by), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T, typename U> GNNC_WORD T atomicMax(T *to, U other) {
  return __hip_atomic_fetch_max(to, T(other), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

template <typename T> GNNC_WORD T __ldg(const T *from) { return *from; }
GNNC_WORD int __popc(unsigned x) { return __builtin_popcount(x); }
GNNC_WORD int __ffs(int x) { return __builtin_ffs(x); }
GNNC_WORD unsigned __umulhi(unsigned a, unsigned b) { return unsigned(static_cast<unsigned long long>(a) * b >> 32); }
GNNC_WORD int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
GNNC_WORD unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
GNNC_WORD float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
GNNC_WORD float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
GNNC_WORD long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
GNNC_WORD double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

// Never contracted to fused operations.
GNNC_WORD float __fadd_rn(float a, float b) {
#pragma clang fp contract(off)
  return a + b;
}
GNNC_WORD float __fmul_rn(float a, float b) {
#pragma clang fp contract(off)
  return a * b;
}
GNNC_WORD double __dadd_rn(double a, double b) {
#pragma clang fp contract(off)
  return a + b;
}
GNNC_WORD double __dmul_rn(double a, double b) {
#pragma clang fp contract(off)
  return a * b;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// Instructions.
#define GNNC_BUILTIN(NAME)                                                                                             \
  GNNC_WORD float NAME##f(float x) { return __builtin_##NAME##f(x); }                                                  \
  GNNC_WORD double NAME(double x) { return __builtin_##NAME(x); }
#define GNNC_BUILTIN2(NAME)                                                                                            \
  GNNC_WORD float NAME##f(float x, float y) { return __builtin_##NAME##f(x, y); }                                      \
  GNNC_WORD double NAME(double x, double y) { return __builtin_##NAME(x, y); }
// Functions of ROCm's device library.
#define GNNC_OCML(NAME)                                                                                                \
  extern "C" __device__ __attribute__((const)) float __ocml_##NAME##_f32(float);                                       \
  extern "C" __device__ __attribute__((const)) double __ocml_##NAME##_f64(double);                                     \
  GNNC_WORD float NAME##f(float x) { return __ocml_##NAME##_f32(x); }                                                  \
  GNNC_WORD double NAME(double x) { return __ocml_##NAME##_f64(x); }

GNNC_BUILTIN(fabs)
GNNC_BUILTIN(floor)
GNNC_BUILTIN(ceil)
GNNC_BUILTIN(rint)
GNNC_BUILTIN(sqrt)
GNNC_BUILTIN2(fmax)
GNNC_BUILTIN2(fmin)
GNNC_WORD float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
GNNC_WORD float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
GNNC_WORD float exp2f(float x) { return __builtin_exp2f(x); }
GNNC_OCML(exp)
GNNC_OCML(expm1)
GNNC_OCML(log)
GNNC_OCML(log1p)
GNNC_OCML(sin)
GNNC_OCML(cos)
GNNC_OCML(tanh)
GNNC_OCML(erf)
extern "C" __device__ __attribute__((const)) float __ocml_pow_f32(float, float);
extern "C" __device__ __attribute__((const)) double __ocml_pow_f64(double, double);
GNNC_WORD float powf(float x, float y) { return __ocml_pow_f32(x, y); }
GNNC_WORD double pow(double x, double y) { return __ocml_pow_f64(x, y); }

#undef GNNC_BUILTIN
#undef GNNC_BUILTIN2
#undef GNNC_OCML

#endif // __HIP__

#endif // GNNC_KERNELS_HIPWORDS_CUH
