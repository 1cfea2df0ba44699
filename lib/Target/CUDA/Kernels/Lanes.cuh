//===- Lanes.cuh - Lanes, rows and elementwise functions --------*- CUDA -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all kernels are made of. Nothing of the C++ or CUDA library is included, so that a run-time compiler needs no
// headers.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_KERNELS_LANES_CUH
#define GNNC_KERNELS_LANES_CUH

#include "Machine.cuh" // before DeviceData.h, which uses its words

#include "DeviceData.h" // of include/gnnc/ModelFormat

/// A loop over registers: its count is known, and it is always unrolled.
#define GNNC_FOR(i, n) _Pragma("unroll") for (int i = 0; i < (n); ++i)
// Of statements that index no array of registers: a few at a time.
#define GNNC_LOOP(i, n) _Pragma("unroll 4") for (int i = 0; i < (n); ++i)
#define GNNC_FOR_STEP(i, n, step) _Pragma("unroll") for (int i = 0; i < (n); i += (step))

#define GNNC_INFINITY __int_as_float(0x7f800000)
#define GNNC_NAN __int_as_float(0x7fffffff)

namespace gnnc {

using int64 = long long;
using uint64 = unsigned long long;

constexpr unsigned kAllLanes = 0xffffffffu;
/// The lowest finite number, and the negative of the largest: where the running maximum of a softmax starts, and
/// between which it stays, so that its difference to an equal one is 0.
template <typename T> constexpr T kLowest = T(-3.402823466e+38f);
template <> constexpr double kLowest<double> = -1.7976931348623157e+308;

GNNC_DEVICE int lane() { return threadIdx.x & 31; }

/// A number as a type.
template <int Value> struct Constant {
  static constexpr int value = Value;
};

//===----------------------------------------------------------------------===//
// Memory: V numbers that lie side by side, 16 bytes at most, aligned to their size.
//===----------------------------------------------------------------------===//

template <typename T> constexpr bool kIsConst = false;
template <typename T> constexpr bool kIsConst<const T> = true;

template <typename T, int V> struct Packed;
template <typename T> struct Packed<T, 1> {
  using Type = T;
};
template <> struct Packed<float, 2> {
  using Type = float2;
};
template <> struct Packed<float, 4> {
  using Type = float4;
};
template <> struct Packed<double, 2> {
  using Type = double2;
};

/// Reads what no kernel writes while this one runs: through the read-only cache.
template <typename T> GNNC_DEVICE T read(const T *from) { return __ldg(from); }
/// Reads what this kernel replaces, whose pointer is not one to constants.
template <typename T> GNNC_DEVICE T read(T *from) { return *from; }

/// Where `From` points to constants, nobody writes there while this kernel runs.
template <int V, typename T, typename From> GNNC_DEVICE void load(T *to, From *from) {
  if constexpr (V == 1) {
    to[0] = read(from);
  } else {
    using Type = typename Packed<T, V>::Type;
    Type all;
    if constexpr (kIsConst<From>)
      all = __ldg(reinterpret_cast<const Type *>(from));
    else
      all = *reinterpret_cast<const Type *>(from);
    to[0] = all.x, to[1] = all.y;
    if constexpr (V == 4)
      to[2] = all.z, to[3] = all.w;
  }
}
/// V numbers as one value.
template <int V, typename T> GNNC_DEVICE typename Packed<T, V>::Type pack(const T *from) {
  typename Packed<T, V>::Type all;
  all.x = from[0], all.y = from[1];
  if constexpr (V == 4)
    all.z = from[2], all.w = from[3];
  return all;
}
/// To any memory.
template <int V, typename T> GNNC_DEVICE void storeAnywhere(T *to, const T *from) {
  if constexpr (V == 1)
    to[0] = from[0];
  else
    *reinterpret_cast<typename Packed<T, V>::Type *>(to) = pack<V>(from);
}
/// To global memory. What stores pairs has many, and reads much before: tensor cores' results.
template <int V, typename T> GNNC_DEVICE void store(T *to, const T *from) {
  if constexpr (V == 4)
    storeTogether(to, pack<V>(from));
  else
    storeAnywhere<V>(to, from);
}
template <int V, typename T> GNNC_DEVICE void fill(T *to, T number) { GNNC_FOR(v, V) to[v] = number; }

/// The greater and the lesser of two numbers in a maximum or minimum of many: not-a-number wins.
template <typename T> GNNC_DEVICE T most(T x, T y) { return y > x || y != y ? y : x; }
template <typename T> GNNC_DEVICE T least(T x, T y) { return y < x || y != y ? y : x; }
#ifdef GNNC_HAS_MOST_OR_NAN
GNNC_DEVICE float most(float x, float y) { return mostOrNaN(x, y); }
GNNC_DEVICE float least(float x, float y) { return leastOrNaN(x, y); }
#endif
/// The greater of two numbers, of which not-a-number is none.
GNNC_DEVICE float greater(float x, float y) { return ::fmaxf(x, y); }
GNNC_DEVICE double greater(double x, double y) { return ::fmax(x, y); }
/// The finite number next to an infinite one.
template <typename T> GNNC_DEVICE T finite(T x) {
  return x < kLowest<T> ? kLowest<T> : x > -kLowest<T> ? -kLowest<T> : x;
}

//===----------------------------------------------------------------------===//
// Lanes. Lanes whose numbers differ in the bits of Count lanes that begin at First hold parts of one row; all lanes of
// the warp take part, and all get the result.
//===----------------------------------------------------------------------===//

template <int First, int Count, typename T> GNNC_DEVICE T sumLanes(T x) {
  GNNC_FOR_STEP(i, 5, 1) {
    int mask = First << i;
    if (mask < First * Count)
      x += shuffleXor(x, mask);
  }
  return x;
}
template <int First, int Count, typename T> GNNC_DEVICE T maxLanes(T x) {
  GNNC_FOR_STEP(i, 5, 1) {
    int mask = First << i;
    if (mask < First * Count)
      x = most(x, shuffleXor(x, mask));
  }
  return x;
}
template <int First, int Count, typename T> GNNC_DEVICE T minLanes(T x) {
  GNNC_FOR_STEP(i, 5, 1) {
    int mask = First << i;
    if (mask < First * Count)
      x = least(x, shuffleXor(x, mask));
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Elementwise functions, by the names they have in the dialect.
//===----------------------------------------------------------------------===//

// The calls of each width, which all else is written in.
/// Wrong by at most 3e-7 + 6e-8 |x| of itself; what would be denormal is zero.
GNNC_DEVICE float exp(float x) { return exp2Approximately(x * 1.4426950408889634f); }
GNNC_DEVICE double exp(double x) { return ::exp(x); }
GNNC_DEVICE float expm1(float x) { return ::expm1f(x); }
GNNC_DEVICE double expm1(double x) { return ::expm1(x); }
GNNC_DEVICE float log(float x) { return ::logf(x); }
GNNC_DEVICE double log(double x) { return ::log(x); }
GNNC_DEVICE float log1p(float x) { return ::log1pf(x); }
GNNC_DEVICE double log1p(double x) { return ::log1p(x); }
GNNC_DEVICE float sqrt(float x) { return ::sqrtf(x); }
GNNC_DEVICE double sqrt(double x) { return ::sqrt(x); }
GNNC_DEVICE float abs(float x) { return ::fabsf(x); }
GNNC_DEVICE double abs(double x) { return ::fabs(x); }
GNNC_DEVICE float sin(float x) { return ::sinf(x); }
GNNC_DEVICE double sin(double x) { return ::sin(x); }
GNNC_DEVICE float cos(float x) { return ::cosf(x); }
GNNC_DEVICE double cos(double x) { return ::cos(x); }
GNNC_DEVICE float tanh(float x) { return ::tanhf(x); }
GNNC_DEVICE double tanh(double x) { return ::tanh(x); }
GNNC_DEVICE float erf(float x) { return ::erff(x); }
GNNC_DEVICE double erf(double x) { return ::erf(x); }
GNNC_DEVICE float floor(float x) { return ::floorf(x); }
GNNC_DEVICE double floor(double x) { return ::floor(x); }
GNNC_DEVICE float ceil(float x) { return ::ceilf(x); }
GNNC_DEVICE double ceil(double x) { return ::ceil(x); }
/// Halves to even numbers.
GNNC_DEVICE float round(float x) { return ::rintf(x); }
GNNC_DEVICE double round(double x) { return ::rint(x); }
GNNC_DEVICE float pow(float x, float y) { return ::powf(x, y); }
GNNC_DEVICE double pow(double x, double y) { return ::pow(x, y); }

/// A quotient that is rounded to a whole number or compared: where the nearest one is whole, less is a wrong result.
GNNC_DEVICE float quotient(float x, float y) { return divideExactly(x, y); }
GNNC_DEVICE double quotient(double x, double y) { return x / y; }

template <typename T> GNNC_DEVICE T rsqrt(T x) { return T(1) / sqrt(x); }
template <typename T> GNNC_DEVICE T recip(T x) { return T(1) / x; }
template <typename T> GNNC_DEVICE T neg(T x) { return -x; }
template <typename T> GNNC_DEVICE T sign(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : x; }
template <typename T> GNNC_DEVICE T square(T x) { return x * x; }
template <typename T> GNNC_DEVICE T relu(T x) { return x < T(0) ? T(0) : x; }
template <typename T> GNNC_DEVICE T leaky_relu(T x, T slope) { return x > T(0) ? x : x * slope; }
template <typename T> GNNC_DEVICE T elu(T x, T scale) { return x > T(0) ? x : scale * expm1(x); }
template <typename T> GNNC_DEVICE T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
GNNC_DEVICE float sigmoid(float x) { return reciprocalApproximately(1.0f + exp(-x)); }
template <typename T> GNNC_DEVICE T silu(T x) { return x * sigmoid(x); }
template <typename T> GNNC_DEVICE T gelu(T x) { return T(0.5) * x * (T(1) + erf(x * T(0.70710678118654752440))); }
template <typename T> GNNC_DEVICE T softplus(T x) { return (x > T(0) ? x : T(0)) + log1p(exp(-abs(x))); }
/// Without branches, which would keep the loads after them waiting: log(1 + e) / e, for e from 0 to 1, is this
/// polynomial but for 7e-8 of itself (minimax, by Lawson's iteration, with rounded terms).
GNNC_DEVICE float softplus(float x) {
  constexpr float kTerms[] = {0.0052326880395412445f, -0.029505213722586632f, 0.07822591066360474f,
                              -0.13663242757320404f,  0.19106005132198334f,   -0.2484298199415207f,
                              0.3331909775733948f,    -0.4999949336051941f,   0.9999999403953552f};
  const float e = exp(-abs(x));
  float sum = kTerms[0];
  GNNC_FOR(i, 8) sum = ::fmaf(sum, e, kTerms[i + 1]);
  return ::fmaf(sum, e, x > 0.0f ? x : 0.0f);
}

template <typename T> GNNC_DEVICE T maximum(T x, T y) { return x > y || x != x ? x : y; }
template <typename T> GNNC_DEVICE T minimum(T x, T y) { return x < y || x != x ? x : y; }
template <typename T> GNNC_DEVICE T lt(T x, T y) { return x < y ? T(1) : T(0); }
template <typename T> GNNC_DEVICE T le(T x, T y) { return x <= y ? T(1) : T(0); }
template <typename T> GNNC_DEVICE T gt(T x, T y) { return x > y ? T(1) : T(0); }
template <typename T> GNNC_DEVICE T ge(T x, T y) { return x >= y ? T(1) : T(0); }
template <typename T> GNNC_DEVICE T eq(T x, T y) { return x == y ? T(1) : T(0); }
template <typename T> GNNC_DEVICE T ne(T x, T y) { return x != y ? T(1) : T(0); }

// The number of an element in the memory of a floating-point number.
GNNC_DEVICE float numberOf(float, int element) { return __int_as_float(element); }
GNNC_DEVICE double numberOf(double, int element) { return __longlong_as_double(element); }
GNNC_DEVICE int elementOf(float number) { return __float_as_int(number); }
GNNC_DEVICE int elementOf(double number) { return int(__double_as_longlong(number)); }

template <typename T> GNNC_DEVICE T isElement(T number, T other) {
  return elementOf(number) == elementOf(other) ? T(1) : T(0);
}

/// A multiple of 2^-24 in [0, 1): word feature mod 4 of Philox4x32-7, with the key (seedLow, seedHigh) and the counter
/// (element, feature / 4, site, step). The seed's halves and the step are numbers of at most 24 bits.
template <typename T> GNNC_DEVICE T random(T seedLow, T seedHigh, T step, T element, T feature, unsigned site) {
  auto word = [](T x) { return unsigned(x > T(0) ? (x < T(16777215) ? x : T(16777215)) : T(0)); };
  unsigned key0 = word(seedLow), key1 = word(seedHigh);
  unsigned number = unsigned(elementOf(feature));
  unsigned c0 = unsigned(elementOf(element)), c1 = number / 4, c2 = site, c3 = word(step);
  GNNC_FOR(round, 7) {
    unsigned high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
    unsigned high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
    c0 = high1 ^ c1 ^ key0, c1 = low1, c2 = high0 ^ c3 ^ key1, c3 = low0;
    key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
  }
  unsigned low = number & 1 ? c1 : c0, high = number & 1 ? c3 : c2;
  return T((number & 2 ? high : low) >> 8) * T(5.9604644775390625e-8);
}

//===----------------------------------------------------------------------===//
// Accumulators of one number
//===----------------------------------------------------------------------===//

/// What is made of the largest number and the sum of exp of the differences to it; the scale of what is infinite or NaN
/// is NaN.
template <typename T> GNNC_DEVICE T softmax_shift(T shift, T) { return shift; }
template <typename T> GNNC_DEVICE T softmax_scale(T, T sum) {
  return sum > -kLowest<T> ? T(GNNC_NAN) : sum != 0 ? T(1) / sum : T(0);
}
template <typename T> GNNC_DEVICE T logsumexp(T shift, T sum) { return shift + log(sum); }
/// The sum of exp of as many times the same difference, which is 0 or infinite.
template <typename T> GNNC_DEVICE T sumOfEqual(T difference, T count) {
  return count > 0 ? exp(difference) * count : T(0);
}

/// Of equal numbers the smallest element wins, and not-a-number wins over all, so the order of merging does not matter;
/// -1 is nobody.
template <typename T> GNNC_DEVICE void keepMost(T &best, T &number, T other, T otherNumber) {
  bool first = unsigned(elementOf(otherNumber)) < unsigned(elementOf(number));
  bool isNaN = other != other, wasNaN = best != best;
  if (other > best || (isNaN && !wasNaN) || ((other == best || (isNaN && wasNaN)) && first))
    best = other, number = otherNumber;
}
template <typename T> GNNC_DEVICE void keepLeast(T &best, T &number, T other, T otherNumber) {
  bool first = unsigned(elementOf(otherNumber)) < unsigned(elementOf(number));
  bool isNaN = other != other, wasNaN = best != best;
  if (other < best || (isNaN && !wasNaN) || ((other == best || (isNaN && wasNaN)) && first))
    best = other, number = otherNumber;
}

} // namespace gnnc

#endif // GNNC_KERNELS_LANES_CUH
