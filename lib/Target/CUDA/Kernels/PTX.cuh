//===- PTX.cuh - Machine.cuh for NVIDIA's GPUs ------------------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All inline assembly of the kernels (PTX ISA 8.0), and exchanges between lanes. Tests that run kernels without a GPU
// use test/StandIn/Emulation/PTX.cuh instead. A new function needs a plain form (Plain.cuh) as well.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_PTX_CUH
#define GNNC_KERNELS_PTX_CUH

#define GNNC_DEVICE __device__ __forceinline__

namespace gnnc {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Row `row` of rows of Elements numbers, in one instruction: left to itself the compiler adds the lane's place to each
/// row anew.
template <int Elements, typename T> GNNC_DEVICE T *rowAt(T *rows, int row) {
  unsigned long long at;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(at) : "r"(row), "n"(Elements * int(sizeof(T))), "l"(rows));
  return reinterpret_cast<T *>(at);
}

/// The element at a position, where there are no numbers that of its own number. One load that is left out: the
/// compiler would branch around it, and keep loads of other members apart.
GNNC_DEVICE int elementAt(const int *numbers, int position) {
  int element;
  asm("{ .reg .pred p; setp.ne.u64 p, %2, 0; mov.s32 %0, %1; @p ld.global.nc.s32 %0, [%3]; }"
      : "=r"(element)
      : "r"(position), "l"(numbers), "l"(numbers + position));
  return element;
}

/// 8 or 16 bytes to global memory in one instruction: left to itself the compiler often stores one number of an array
/// after the other. Only reads of what no kernel writes are moved before it.
GNNC_DEVICE void storeTogether(void *to, float4 all) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "f"(all.x), "f"(all.y),
               "f"(all.z), "f"(all.w)
               : "memory");
}
GNNC_DEVICE void storeTogether(void *to, uint2 all) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(all.x), "r"(all.y)
               : "memory");
}
GNNC_DEVICE void storeTogether(void *to, uint4 all) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(all.x), "r"(all.y),
               "r"(all.z), "r"(all.w)
               : "memory");
}

/// A copy from global to shared memory that runs beside computation. Width: 4, 8 or 16 bytes, of which both addresses
/// are multiples. The first `bytes` of them are copied, the others are zeros; of 0 bytes the address is not looked at.
template <int Width> GNNC_DEVICE void copyAsync(unsigned to, const void *from, int bytes) {
  if constexpr (Width == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(Width), "r"(bytes)
                 : "memory");
}
/// An address as copyAsync wants it.
GNNC_DEVICE unsigned sharedAddress(const void *at) { return unsigned(__cvta_generic_to_shared(at)); }
/// A number of 16 bits, at once: it is too narrow for a copy beside computation.
GNNC_DEVICE void storeShared(unsigned to, unsigned short bits) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(bits) : "memory");
}
GNNC_DEVICE void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until all but the latest Open groups have arrived.
template <int Open> GNNC_DEVICE void waitForCopies() { asm volatile("cp.async.wait_group %0;" ::"n"(Open) : "memory"); }

//===----------------------------------------------------------------------===//
// Lanes. All 32 lanes of the warp make the same call.
//===----------------------------------------------------------------------===//

/// The value of another lane: of a given number; of the number that differs in the bits `lanes`; of the lane `by`
/// before, or the lane's own value if there is none.
template <typename T> GNNC_DEVICE T shuffle(T x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
template <typename T> GNNC_DEVICE T shuffleXor(T x, int lanes) { return __shfl_xor_sync(0xffffffffu, x, lanes); }
template <typename T> GNNC_DEVICE T shuffleUp(T x, int by) { return __shfl_up_sync(0xffffffffu, x, by); }
/// One bit per lane.
GNNC_DEVICE unsigned ballot(bool is) { return __ballot_sync(0xffffffffu, is); }
GNNC_DEVICE bool anyLane(bool is) { return __any_sync(0xffffffffu, is); }
GNNC_DEVICE bool allLanes(bool is) { return __all_sync(0xffffffffu, is); }
/// The largest number of all lanes, and the least.
GNNC_DEVICE unsigned largestOfWarp(unsigned x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, x);
#else
  for (int mask = 16; mask > 0; mask /= 2) {
    const unsigned other = shuffleXor(x, mask);
    x = x > other ? x : other;
  }
  return x;
#endif
}
GNNC_DEVICE unsigned leastOfWarp(unsigned x) { return ~largestOfWarp(~x); }
/// A barrier of the warp: lanes see what the others have written.
GNNC_DEVICE void syncWarp() { __syncwarp(); }

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Begins every kernel of a model: it may have been started when all blocks of the one launched before had ended
/// (DeviceRun.cpp), and waits for what they wrote. No kernel lets the next one start before that: its blocks would be
/// on the processors that are idle first, and not evenly on all.
GNNC_DEVICE void followLaunch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// 1 / x, wrong by at most a unit of the last place; what would be denormal is zero. Unlike a division it has no
/// branch.
GNNC_DEVICE float reciprocalApproximately(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// The number nearest to x / y. The operator / may miss it by two units of the last place (NVRTC.cpp).
GNNC_DEVICE float divideExactly(float x, float y) {
  float z;
  asm("div.rn.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
/// 2^x, wrong by at most two units of the last place; what would be denormal is zero.
GNNC_DEVICE float exp2Approximately(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

#if __CUDA_ARCH__ >= 800
#define GNNC_HAS_MOST_OR_NAN
/// Not-a-number wins.
GNNC_DEVICE float mostOrNaN(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
GNNC_DEVICE float leastOrNaN(float x, float y) {
  float z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
#endif

// Numbers of 16 bits, rounded to the nearest, ties to even; of a pair the lower bits are the first.
GNNC_DEVICE float fromF16(unsigned short x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
GNNC_DEVICE unsigned short toBF16(float x) {
  unsigned short y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
GNNC_DEVICE unsigned short toF16(float x) {
  unsigned short y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
GNNC_DEVICE unsigned toBF16Pair(float first, float second) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
GNNC_DEVICE unsigned toF16Pair(float first, float second) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

/// What matrix units multiply; they add up in float32.
enum class Operands { TF32, BF16, F16 };

/// The nearest number of 11 bits.
GNNC_DEVICE unsigned roundToTF32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

/// Adds a product of matrices of TF32 (MatrixUnits.cuh has their layout) by all lanes of a warp.
GNNC_DEVICE void multiplyAdd(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//===----------------------------------------------------------------------===//
// Products of warpgroups: four warps, of which the first has a number that is a multiple of four, on sm_90 alone
//===----------------------------------------------------------------------===//

#ifndef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool kHasWarpgroups = false;
#else
constexpr bool kHasWarpgroups = true;

/// What was written to shared memory may be read by products after the next barrier.
GNNC_DEVICE void showToProducts() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// Before the first product that reads registers which were written, sums among them.
GNNC_DEVICE void beginProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Products begun since the last commit are a group.
GNNC_DEVICE void commitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until all but the latest Open groups are done. Before that, none of their registers may be touched.
template <int Open> GNNC_DEVICE void waitForProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Open) : "memory");
}
/// Keeps what is done with registers on its own side of a wait.
template <int Count> GNNC_DEVICE void holdRegisters(float (&registers)[Count]) {
  _Pragma("unroll") for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

// A copy of many bytes by one thread, whose arrival others wait for. Unlike what copyAsync has copied, products may
// read it at once; a fence for them would wait for all copies that are on their way.

/// Makes a barrier in shared memory, on which so many threads expect bytes; showToProducts and a barrier of the block
/// come before its use.
GNNC_DEVICE void makeArrival(unsigned arrival, int threads) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(arrival), "r"(threads) : "memory");
}
/// Says how many bytes a thread is about to copy.
GNNC_DEVICE void expectBytes(unsigned arrival, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrival), "r"(bytes) : "memory");
}
/// Begins a copy from global memory of bytes that are, as both addresses, a multiple of 16.
GNNC_DEVICE void copyMany(unsigned to, const void *from, unsigned bytes, unsigned arrival) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(arrival)
               : "memory");
}
/// Waits for copies: `isOdd` says whether they are the second, the fourth and so on of this barrier.
GNNC_DEVICE void waitForArrival(unsigned arrival, bool isOdd) {
  asm volatile(
      "{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra AGAIN; }" ::"r"(arrival),
      "r"(unsigned(isOdd))
      : "memory");
}

/// Sums of so many columns: their names in an instruction, and their registers.
#define GNNC_SUMS_8 "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
#define GNNC_SUMS_16 GNNC_SUMS_8, "+f"(sums[4]), "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7])
#define GNNC_SUMS_32                                                                                                   \
  GNNC_SUMS_16, "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]), "+f"(sums[12]), "+f"(sums[13]),          \
      "+f"(sums[14]), "+f"(sums[15])
#define GNNC_SUMS_64                                                                                                   \
  GNNC_SUMS_32, "+f"(sums[16]), "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19]), "+f"(sums[20]), "+f"(sums[21]),        \
      "+f"(sums[22]), "+f"(sums[23]), "+f"(sums[24]), "+f"(sums[25]), "+f"(sums[26]), "+f"(sums[27]), "+f"(sums[28]),  \
      "+f"(sums[29]), "+f"(sums[30]), "+f"(sums[31])
#define GNNC_SUMS_128                                                                                                  \
  GNNC_SUMS_64, "+f"(sums[32]), "+f"(sums[33]), "+f"(sums[34]), "+f"(sums[35]), "+f"(sums[36]), "+f"(sums[37]),        \
      "+f"(sums[38]), "+f"(sums[39]), "+f"(sums[40]), "+f"(sums[41]), "+f"(sums[42]), "+f"(sums[43]), "+f"(sums[44]),  \
      "+f"(sums[45]), "+f"(sums[46]), "+f"(sums[47]), "+f"(sums[48]), "+f"(sums[49]), "+f"(sums[50]), "+f"(sums[51]),  \
      "+f"(sums[52]), "+f"(sums[53]), "+f"(sums[54]), "+f"(sums[55]), "+f"(sums[56]), "+f"(sums[57]), "+f"(sums[58]),  \
      "+f"(sums[59]), "+f"(sums[60]), "+f"(sums[61]), "+f"(sums[62]), "+f"(sums[63])
#define GNNC_NAMES_8 "%0, %1, %2, %3"
#define GNNC_NAMES_16 GNNC_NAMES_8 ", %4, %5, %6, %7"
#define GNNC_NAMES_32 GNNC_NAMES_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define GNNC_NAMES_64 GNNC_NAMES_32 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define GNNC_NAMES_128                                                                                                 \
  GNNC_NAMES_64 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"                     \
                ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

/// One instruction; of numbers of 16 bits it ends with what lies side by side (FLAGS: 0 depths, 1 columns).
#define GNNC_WGMMA(COLUMNS, DEPTH, TYPE, OPERANDS, ADDS, FLAGS, ...)                                                   \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, " ADDS ", 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS DEPTH          \
               ".f32." TYPE "." TYPE " {" GNNC_NAMES_##COLUMNS "}, " OPERANDS ", p, 1, 1" FLAGS "; }"                  \
               : GNNC_SUMS_##COLUMNS                                                                                   \
               : __VA_ARGS__, "r"(int(adds))                                                                           \
               : "memory")
#define GNNC_MULTIPLY(COLUMNS, OPERANDS, ADDS)                                                                         \
  if constexpr (Columns == COLUMNS) {                                                                                  \
    if constexpr (Kind == Operands::TF32)                                                                              \
      GNNC_WGMMA(COLUMNS, "k8", "tf32", OPERANDS, ADDS, "", GNNC_REGISTERS);                                           \
    else if constexpr (Kind == Operands::BF16)                                                                         \
      GNNC_WGMMA(COLUMNS, "k16", "bf16", OPERANDS, ADDS, ", 0", GNNC_REGISTERS);                                       \
    else                                                                                                               \
      GNNC_WGMMA(COLUMNS, "k16", "f16", OPERANDS, ADDS, ", 0", GNNC_REGISTERS);                                        \
  }
#define GNNC_MULTIPLY_SHARED(COLUMNS, OPERANDS, ADDS)                                                                  \
  if constexpr (Columns == COLUMNS) {                                                                                  \
    if constexpr (Kind == Operands::BF16)                                                                              \
      GNNC_WGMMA(COLUMNS, "k16", "bf16", OPERANDS, ADDS, ", 1, 1", "l"(left), "l"(right));                             \
    else                                                                                                               \
      GNNC_WGMMA(COLUMNS, "k16", "f16", OPERANDS, ADDS, ", 1, 1", "l"(left), "l"(right));                              \
  }
#define GNNC_REGISTERS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right)

/// Begins to add the product of a warpgroup's 64 rows and a step's depths in registers with as many depths of Columns
/// columns of shared memory (`right`, see Warpgroups.cuh); without `adds` the sums begin with it. A step has 8 depths
/// of TF32, 16 of 16 bits.
template <Operands Kind, int Columns>
GNNC_DEVICE void multiplyAsync(float *sums, const unsigned (&a)[4], unsigned long long right, bool adds) {
  GNNC_MULTIPLY(8, "{%4, %5, %6, %7}, %8", "%9")
  GNNC_MULTIPLY(16, "{%8, %9, %10, %11}, %12", "%13")
  GNNC_MULTIPLY(32, "{%16, %17, %18, %19}, %20", "%21")
  GNNC_MULTIPLY(64, "{%32, %33, %34, %35}, %36", "%37")
  GNNC_MULTIPLY(128, "{%64, %65, %66, %67}, %68", "%69")
}
/// The same of numbers of 16 bits with both sides in shared memory, where the numbers of a depth lie side by side.
template <Operands Kind, int Columns>
GNNC_DEVICE void multiplySharedAsync(float *sums, unsigned long long left, unsigned long long right, bool adds) {
  static_assert(Kind != Operands::TF32);
  GNNC_MULTIPLY_SHARED(8, "%4, %5", "%6")
  GNNC_MULTIPLY_SHARED(16, "%8, %9", "%10")
  GNNC_MULTIPLY_SHARED(32, "%16, %17", "%18")
  GNNC_MULTIPLY_SHARED(64, "%32, %33", "%34")
  GNNC_MULTIPLY_SHARED(128, "%64, %65", "%66")
}
#endif

} // namespace gnnc

#endif // GNNC_KERNELS_PTX_CUH
