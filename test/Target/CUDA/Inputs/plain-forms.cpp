// Plain.cuh on the host, one thread per lane: matrix products, partial copies and rounding against their definitions.

#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#define GNNC_DEVICE inline
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
static thread_local struct {
  unsigned x;
} threadIdx;
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }

namespace gnnc {
std::barrier<> warp(32);
unsigned given[32];
alignas(16) char memory[64];
unsigned shuffle(unsigned x, int lane) {
  given[threadIdx.x] = x;
  warp.arrive_and_wait();
  unsigned found = given[lane];
  warp.arrive_and_wait();
  return found;
}
void *sharedMemory(unsigned at) { return memory + at; }
} // namespace gnnc

#include "Plain.cuh"

static int failures = 0;
static void expect(bool is, const char *what, double number) {
  if (!is && ++failures < 20)
    printf("FAILED: %s, %.9g\n", what, number);
}

/// The fragments of mma.m16n8k8 in the PTX ISA.
static void product() {
  std::mt19937 random(7);
  float a[16][8], b[8][8], c[16][8], got[16][8];
  auto fill = [&](auto &matrix) {
    for (auto &row : matrix)
      for (float &x : row)
        x = float(int(random() % 2001) - 1000) / 8; // Sums are exact.
  };
  fill(a), fill(b), fill(c);
  std::vector<std::thread> lanes;
  for (unsigned lane = 0; lane < 32; ++lane)
    lanes.emplace_back([&, lane] {
      threadIdx.x = lane;
      const unsigned g = lane / 4, t = lane % 4;
      auto bits = [](float x) { return __float_as_uint(x); };
      const unsigned left[4] = {bits(a[g][t]), bits(a[g + 8][t]), bits(a[g][t + 4]), bits(a[g + 8][t + 4])};
      const unsigned right[2] = {bits(b[t][g]), bits(b[t + 4][g])};
      float sum[4] = {c[g][2 * t], c[g][2 * t + 1], c[g + 8][2 * t], c[g + 8][2 * t + 1]};
      gnnc::multiplyAdd(sum, left, right);
      got[g][2 * t] = sum[0], got[g][2 * t + 1] = sum[1], got[g + 8][2 * t] = sum[2], got[g + 8][2 * t + 1] = sum[3];
    });
  for (std::thread &lane : lanes)
    lane.join();
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      float sum = c[i][j];
      for (int k = 0; k < 8; ++k)
        sum += a[i][k] * b[k][j];
      expect(got[i][j] == sum, "a product of matrices", got[i][j] - sum);
    }
}

template <int Width> static void copies() {
  const unsigned char from[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  for (int bytes = 0; bytes <= Width; bytes += 2) {
    memset(gnnc::memory, 0xff, sizeof gnnc::memory);
    gnnc::copyAsync<Width>(16, bytes ? from : nullptr, bytes);
    for (int i = 0; i < 64; ++i) {
      int wanted = i < 16 || i >= 16 + Width ? 0xff : i - 16 < bytes ? from[i - 16] : 0;
      expect((unsigned char)gnnc::memory[i] == wanted, "a partial copy, bytes", bytes);
    }
  }
}

static void roundings() {
  // No neighbouring bf16 or TF32 number is nearer.
  std::mt19937 random(11);
  for (int i = 0; i < 1000000; ++i) {
    const float x = __uint_as_float(unsigned(random()));
    if (x != x) {
      expect((gnnc::toBF16(x) & 0x7fff) > 0x7f80, "NaN as bf16", x);
      continue;
    }
    if (std::abs(x) > 1e38f)
      continue;
    auto nearest = [&](unsigned bits, unsigned step) {
      const double off = std::abs(double(__uint_as_float(bits)) - x);
      return off <= std::abs(double(__uint_as_float(bits + step)) - x) &&
             (!(bits & 0x7fffffffu) || off <= std::abs(double(__uint_as_float(bits - step)) - x));
    };
    const unsigned asBF16 = unsigned(gnnc::toBF16(x)) << 16, asTF32 = gnnc::roundToTF32(x);
    expect(nearest(asBF16, 0x10000), "bf16", x);
    expect(nearest(asTF32, 0x2000) && !(asTF32 & 0x1fff), "TF32", x);
  }
  expect(gnnc::toBF16(__uint_as_float(0x3f808000u)) == 0x3f80, "a tie is even as bf16", 0);
  expect(gnnc::toBF16(__uint_as_float(0x3f818000u)) == 0x3f82, "a tie is even as bf16", 0);
  expect(gnnc::roundToTF32(__uint_as_float(0x3f801000u)) == 0x3f802000u, "a tie goes away from zero as TF32", 0);
  expect(gnnc::roundToTF32(INFINITY) == 0x7f800000u && gnnc::toBF16(-INFINITY) == 0xff80u, "infinity", 0);
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float x = gnnc::fromF16((unsigned short)bits);
    expect(x != x || gnnc::toF16(x) == bits, "f16 there and back", bits);
  }
  expect(gnnc::fromF16(0x3c01) == 1.0009765625f && gnnc::fromF16(1) == 0x1p-24f, "f16", 0);
  expect(gnnc::toBF16Pair(1, 2) == 0x40003f80u && gnnc::toF16Pair(1, 2) == 0x40003c00u, "the first is below", 0);
}

int main() {
  product();
  copies<4>(), copies<8>(), copies<16>();
  roundings();
  expect(gnnc::reciprocalApproximately(4) == 0.25f && gnnc::reciprocalApproximately(-0x1p127f) == 0, "reciprocals", 0);
  expect(gnnc::divideExactly(1, 3) == 0x1.555556p-2f, "quotients", 0);
  expect(gnnc::exp2Approximately(-3) == 0.125f && gnnc::exp2Approximately(-127) == 0, "powers", 0);
  int numbers[2] = {7, 9}, to[2];
  expect(gnnc::elementAt(numbers, 1) == 9 && gnnc::elementAt(nullptr, 5) == 5, "elements", 0);
  gnnc::storeTogether(to, uint2{3, 4});
  expect(to[0] == 3 && to[1] == 4 && gnnc::rowAt<3>(numbers, 2) == numbers + 6, "rows", 0);
  puts(failures ? "FAILED" : "equal");
  return failures != 0;
}
