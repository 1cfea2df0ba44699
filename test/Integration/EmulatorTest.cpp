//===- EmulatorTest.cpp - What the emulator of kernels finds --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small kernels with and without a mistake: where there is one, running them is an error, or two runs differ.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "gnnc/Support/Half.h"
#include "gnnc/Target/CUDA/CUDABackend.h"
#include "gnnc/Target/CUDA/NVRTC.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

extern "C" {
int cuDevicePrimaryCtxRetain(void **, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuCtxPushCurrent_v2(void *);
int cuCtxPopCurrent_v2(void **);
int cuModuleLoadDataEx(void **, const void *, unsigned, int *, void **);
int cuModuleUnload(void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                   void **);
}

using namespace gnnc;

namespace {

/// A module with a kernel `test(float *numbers)`, of a body.
class Emulated {
public:
  explicit Emulated(const std::string &body, const std::string &header = "MatrixUnits.cuh", unsigned most = 64) {
    setenv("GNNC_NVRTC", GNNC_EMULATING_NVRTC, 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    standInReset();
    std::vector<cuda::Image> images = {{90, /*isPTX=*/false, {}}};
    std::string text = "// #ifdef GNNC_HAS_WARPGROUPS\n#include \"" + header +
                       "\"\nnamespace gnnc {\nGNNC_DEVICE float *dynamicMemory() {\n"
                       "extern __shared__ double memory[];\nreturn reinterpret_cast<float *>(memory);\n}\n}\n"
                       "using namespace gnnc;\nextern \"C\" __global__ void "
                       "__launch_bounds__(" +
                       std::to_string(most) + ") test(float *numbers) {\n" + body + "\n}\n";
    llvm::Error error = cuda::compileImages(cuda::Unit{text, images});
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxPushCurrent_v2(context);
    EXPECT_EQ(cuModuleLoadDataEx(&module, images[0].bytes.c_str(), 0, nullptr, nullptr), 0);
    EXPECT_EQ(cuModuleGetFunction(&function, module, "test"), 0);
  }
  ~Emulated() {
    cuModuleUnload(module);
    cuCtxPopCurrent_v2(nullptr);
    cuDevicePrimaryCtxRelease_v2(0);
  }

  /// What a launch gives, of zeros or what is given.
  int run(unsigned threads = 64, unsigned sharedBytes = 1024) {
    if (!function)
      return -1;
    float *address = numbers.data();
    size_t size = sizeof address;
    void *extra[] = {reinterpret_cast<void *>(1), &address, reinterpret_cast<void *>(2), &size, nullptr};
    return cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, sharedBytes, nullptr, nullptr, extra);
  }
  std::vector<float> numbers = std::vector<float>(4096);

  /// Whether some run is another than the first, bit by bit.
  bool differs() {
    std::vector<float> first;
    for (int i = 0; i < 12; ++i) {
      std::fill(numbers.begin(), numbers.end(), 0.0f);
      EXPECT_EQ(run(), 0) << standInFault();
      if (first.empty())
        first = numbers;
      if (std::memcmp(first.data(), numbers.data(), first.size() * sizeof(float)) != 0)
        return true;
    }
    return false;
  }

private:
  void *context = nullptr, *module = nullptr, *function = nullptr;
};

void expectFault(const std::string &body, const std::string &what) {
  constexpr int kLaunchFailed = 719;
  Emulated kernel(body);
  EXPECT_EQ(kernel.run(), kLaunchFailed) << body;
  EXPECT_NE(std::string(standInFault()).find(what), std::string::npos) << standInFault();
  EXPECT_EQ(kernel.run(), kLaunchFailed); // It can be asked again.
}

TEST(Emulator, LanesExchange) {
  Emulated kernel("numbers[threadIdx.x] = sumLanes<1, 8>(float(threadIdx.x));");
  ASSERT_EQ(kernel.run(), 0) << standInFault();
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(kernel.numbers[size_t(i)], float(i / 8 * 64 + 28));
  EXPECT_FALSE(kernel.differs());
}

TEST(Emulator, ExchangeWithinACondition) {
  expectFault("float x = threadIdx.x;\nif (threadIdx.x % 32 < 8) x = sumLanes<1, 8>(x);\nnumbers[threadIdx.x] = x;",
              "has ended");
  expectFault("float x = threadIdx.x;\nif (threadIdx.x % 32 < 8) x = sumLanes<1, 8>(x);\n__syncthreads();",
              "is at __syncthreads (model.cu:");
  expectFault("if (threadIdx.x < 8) __syncwarp();\nelse __ballot_sync(kAllLanes, 1);", "of its warp is at ");
  expectFault("if (threadIdx.x < 8) __syncwarp(0xffu);", "only exchanges of all lanes");
}

TEST(Emulator, BarrierWithinACondition) {
  expectFault("if (threadIdx.x < 32) __syncthreads();", "has ended");
  expectFault("if (threadIdx.x < 32) { __syncthreads();\n} else __syncthreads();", "is at __syncthreads (model.cu:");
}

TEST(Emulator, MissingBarrier) {
  const std::string before = "__shared__ float all[64]; all[threadIdx.x] = threadIdx.x;\n",
                    after = "numbers[threadIdx.x] = all[63 - threadIdx.x];";
  EXPECT_FALSE(Emulated(before + "__syncthreads();\n" + after).differs());
  EXPECT_TRUE(Emulated(before + after).differs());
  EXPECT_TRUE(Emulated(before + "__syncwarp();\n" + after).differs());
}

TEST(Emulator, DynamicSharedMemory) {
  const std::string memory = "float *all = dynamicMemory();\n";
  // It holds not-a-number before.
  Emulated kernel(memory + "numbers[threadIdx.x] = all[threadIdx.x];");
  ASSERT_EQ(kernel.run(), 0) << standInFault();
  EXPECT_TRUE(std::isnan(kernel.numbers[5]));
  EXPECT_FALSE(Emulated(memory + "all[threadIdx.x] = 1;\nnumbers[threadIdx.x] = all[threadIdx.x];").differs());
  expectFault(memory + "all[threadIdx.x + 256] = 1;", "behind the dynamic shared memory");
  expectFault(memory + "all[threadIdx.x] = 1;\nnumbers[threadIdx.x] = __ldg(all + threadIdx.x);", "is not global");
}

TEST(Emulator, CopiesArriveWhenWaitedFor) {
  const std::string copy = "__shared__ __align__(16) float all[256];\n"
                           "copyAsync<16>(sharedAddress(all + 4 * threadIdx.x), numbers + 4 * threadIdx.x, 8);\n"
                           "commitCopies();\n";
  const std::string read = "numbers[1024 + threadIdx.x] = all[4 * threadIdx.x + 1] + all[4 * threadIdx.x + 2];";
  for (bool waits : {false, true}) {
    Emulated kernel(copy + (waits ? "waitForCopies<0>();\n" : "waitForCopies<1>();\n") + read);
    for (size_t i = 0; i < 1024; ++i)
      kernel.numbers[i] = float(i);
    ASSERT_EQ(kernel.run(), 0) << standInFault();
    if (waits)
      EXPECT_EQ(kernel.numbers[1024 + 7], 29.0f); // The third of four is zero.
    else
      EXPECT_TRUE(std::isnan(kernel.numbers[1024 + 7]));
  }
  expectFault("__shared__ __align__(16) float all[256];\ncopyAsync<16>(sharedAddress(all + 1), numbers, 16);",
              "is not aligned");
}

TEST(Emulator, MatrixUnits) {
  // Rows of the left side, then of the right side, then of the result.
  Emulated kernel("Parts<1, 4, true> a; Parts<1, 2, true> b; float sums[1][1][4] = {};\n"
                  "loadLeft<8, 1>(a, numbers);\nloadRight<8>(b, numbers + 128);\n"
                  "multiplyStep(sums, a, b);\nconst int g = lane() / 4, t = lane() % 4;\n"
                  "GNNC_FOR(n, 4) numbers[256 + (g + n / 2 * 8) * 8 + 2 * t + n % 2] = sums[0][0][n];");
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (size_t i = 0; i < 192; ++i)
    kernel.numbers[i] = uniform(random);
  ASSERT_EQ(kernel.run(32), 0) << standInFault();
  for (size_t row = 0; row < 16; ++row)
    for (size_t column = 0; column < 8; ++column) {
      double sum = 0;
      for (size_t k = 0; k < 8; ++k)
        sum += double(kernel.numbers[row * 8 + k]) * double(kernel.numbers[128 + k * 8 + column]);
      EXPECT_NEAR(kernel.numbers[256 + row * 8 + column], sum, 2e-6);
    }
}

/// A NaN with all bits set, of a row, of a weight, and of a weight whose parts lie in shared memory, in both parts and
/// in one.
TEST(Emulator, MatrixUnitsKeepNaNs) {
  for (const char *splits : {"true", "false"})
    for (int place : {5 * 8 + 3, 128 + 3 * 8 + 2}) {
      std::string type = std::string(", ") + splits + "> ";
      Emulated kernel(
          "__shared__ __align__(16) float parts[4 * RightParts<8>::kStride];\nParts<1, 4" + type + "a; Parts<1, 2" +
          type +
          "b, c; float sums[2][1][1][4] = {};\nloadLeft<8, 1>(a, numbers);\nloadRight<8>(b, numbers + 128);\n"
          "multiplyStep(sums[0], a, b);\n"
          "for (int i = threadIdx.x; i < 64; i += 32) RightParts<8>::place<" +
          splits +
          ">(parts, i / 8, i % 8, numbers[128 + i]);\n__syncwarp();\n"
          "RightParts<8>::load(c, RightParts<8>::own(parts, 0));\nloadLeftPairs<8>(a, numbers + lane() / 4 * 8 + "
          "lane() % 4 * 2);\nmultiplyStep(sums[1], a, c);\nconst int g = lane() / 4, t = lane() % 4;\n"
          "GNNC_FOR(i, 2) GNNC_FOR(n, 4) numbers[256 + i * 128 + (g + n / 2 * 8) * 8 + 2 * t + n % 2] = "
          "sums[i][0][0][n];");
      for (int i = 0; i < 192; ++i)
        kernel.numbers[i] = 1;
      const unsigned bits = 0x7fffffff;
      std::memcpy(&kernel.numbers[place], &bits, sizeof bits);
      ASSERT_EQ(kernel.run(32), 0) << standInFault();
      for (int i = 0; i < 256; ++i) {
        int row = i % 128 / 8, column = i % 8;
        EXPECT_EQ(std::isnan(kernel.numbers[256 + i]), place < 128 ? row == 5 : column == 2)
            << splits << ", " << place << ", result " << i;
      }
    }
}

/// 64 rows and 16 depths of bf16 by 8 columns: what is wrong with a kernel of these steps.
std::string warpgroup(const std::string &left, const std::string &then) {
  return "unsigned a[4]; float sums[4] = {}; char *all = reinterpret_cast<char *>(dynamicMemory());\n"
         "const int t = lane() % 4, row = threadIdx.x / 32 * 16 + lane() / 4;\n"
         // The right side, columns of depths: two matrices; and left and right side as rows of depths.
         "for (int i = threadIdx.x; i < 128; i += 128)\n"
         "  reinterpret_cast<bf16 *>(all)[i / 64 * 64 + i % 8 * 8 + i / 8 % 8] = "
         "narrow(numbers[1024 + (i / 64 * 8 + i / 8 % 8) * 8 + i % 8], bf16());\n"
         "for (int i = threadIdx.x; i < 1024; i += 128) reinterpret_cast<bf16 *>(all + 256)[i % 16 / 8 * 512 + "
         "i / 16 / 8 * 64 + i % 8 * 8 + i / 16 % 8] = narrow(numbers[i], bf16());\n"
         "for (int i = threadIdx.x; i < 128; i += 128) reinterpret_cast<bf16 *>(all + 2304)[i] = "
         "narrow(numbers[1024 + i], bf16());\n"
         "GNNC_FOR(i, 4) a[i] = toBF16Pair(numbers[(row + i % 2 * 8) * 16 + 2 * t + i / 2 * 8], "
         "numbers[(row + i % 2 * 8) * 16 + 2 * t + i / 2 * 8 + 1]);\n"
         "showToProducts(); __syncthreads(); beginProducts();\n" +
         left + "\ncommitProducts();\n" + then +
         "\nGNNC_FOR(n, 4) numbers[2048 + (row + n / 2 * 8) * 8 + 2 * t + n % 2] = sums[n];";
}

TEST(Emulator, ProductsOfWarpgroupsIn16Bits) {
  const std::string fromRegisters = "multiplyAsync<Operands::BF16, 8>(sums, a, describeSide(sharedAddress(all), 128, "
                                    "256), false);",
                    fromShared = "multiplySharedAsync<Operands::BF16, 8>(sums, describeSide(sharedAddress(all + 256), "
                                 "1024, 128), describeSide(sharedAddress(all + 2304), 128, 128), false);",
                    waits = "waitForProducts<0>();";
  for (const std::string &product : {fromRegisters, fromShared}) {
    Emulated kernel(warpgroup(product, waits), "Warpgroups.cuh", 128);
    std::mt19937 random(1);
    std::uniform_int_distribution<int> numbers(-100, 100); // exact in bf16
    for (size_t i = 0; i < 1152; ++i)
      kernel.numbers[i] = float(numbers(random));
    ASSERT_EQ(kernel.run(128, 4096), 0) << standInFault();
    for (size_t row = 0; row < 64; ++row)
      for (size_t column = 0; column < 8; ++column) {
        float sum = 0;
        for (size_t k = 0; k < 16; ++k)
          sum += kernel.numbers[row * 16 + k] * kernel.numbers[1024 + k * 8 + column];
        EXPECT_EQ(kernel.numbers[2048 + row * 8 + column], sum) << row << ", " << column << product;
      }
    // Without waiting there are no sums, and what is multiplied may not be written.
    Emulated early(warpgroup(product, "waitForProducts<1>();"), "Warpgroups.cuh", 128);
    ASSERT_EQ(early.run(128, 4096), 0) << standInFault();
    EXPECT_TRUE(std::isnan(early.numbers[2048]));
  }
  Emulated written(warpgroup(fromRegisters, "a[1] ^= 1;\n" + waits), "Warpgroups.cuh", 128);
  EXPECT_NE(written.run(128, 4096), 0);
  EXPECT_NE(std::string(standInFault()).find("its registers were written"), std::string::npos) << standInFault();
  Emulated other(warpgroup("multiplySharedAsync<Operands::BF16, 8>(sums, describeSide(sharedAddress(all + 256 + lane() "
                           "% 2 * 16), 1024, 128), describeSide(sharedAddress(all + 2304), 128, 128), false);",
                           waits),
                 "Warpgroups.cuh", 128);
  EXPECT_NE(other.run(128, 4096), 0);
  EXPECT_NE(std::string(standInFault()).find("lanes give it other sides"), std::string::npos) << standInFault();
}

TEST(Emulator, NumbersOf16Bits) {
  Emulated kernel("float x = numbers[threadIdx.x];\nnumbers[64 + threadIdx.x] = widen(narrow(x, bf16()));\n"
                  "numbers[128 + threadIdx.x] = widen(narrow(x, f16()));");
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (size_t i = 0; i < 64; ++i)
    kernel.numbers[i] = std::ldexp(uniform(random), int(i) / 2 - 22);
  kernel.numbers[5] = INFINITY;
  ASSERT_EQ(kernel.run(), 0) << standInFault();
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(kernel.numbers[64 + i], decodeBF16(encodeBF16(kernel.numbers[i])));
    EXPECT_EQ(kernel.numbers[128 + i], decodeF16(encodeF16(kernel.numbers[i])));
  }
}

} // namespace
