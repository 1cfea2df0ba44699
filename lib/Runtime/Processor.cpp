//===- Processor.cpp - What this processor can run ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x86-64: the levels -v3 and -v4 as the psABI defines them. A feature counts only if the operating system saves the
// registers it uses (XCR0). Asked of `cpuid` directly: the compiler's builtin would pull in a symbol of compiler-rt.
//
//===----------------------------------------------------------------------===//

#include "Processor.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif

namespace gnnc::runtime {

#if defined(__x86_64__)

namespace {

/// A word of cpuid's answer.
enum Word { Leaf1ECX, Leaf7EBX, ExtendedECX, XCR0, NumWords };

struct Feature {
  const char *name;
  int level;
  Word word;
  uint32_t bits;
};

constexpr Feature features[] = {
    {"avx", 3, Leaf1ECX, 1u << 28},      {"fma", 3, Leaf1ECX, 1u << 12},      {"f16c", 3, Leaf1ECX, 1u << 29},
    {"movbe", 3, Leaf1ECX, 1u << 22},    {"osxsave", 3, Leaf1ECX, 1u << 27},  {"avx2", 3, Leaf7EBX, 1u << 5},
    {"bmi1", 3, Leaf7EBX, 1u << 3},      {"bmi2", 3, Leaf7EBX, 1u << 8},      {"lzcnt", 3, ExtendedECX, 1u << 5},
    {"ymm state", 3, XCR0, 0x06},        {"avx512f", 4, Leaf7EBX, 1u << 16},  {"avx512bw", 4, Leaf7EBX, 1u << 30},
    {"avx512cd", 4, Leaf7EBX, 1u << 28}, {"avx512dq", 4, Leaf7EBX, 1u << 17}, {"avx512vl", 4, Leaf7EBX, 1u << 31},
    {"zmm state", 4, XCR0, 0xe6},
};

void readWords(uint32_t (&words)[NumWords]) {
  uint32_t a, b, c, d;
  memset(words, 0, sizeof words);
  if (__get_cpuid(1, &a, &b, &c, &d))
    words[Leaf1ECX] = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
    words[Leaf7EBX] = b;
  if (__get_cpuid(0x80000001, &a, &b, &c, &d))
    words[ExtendedECX] = c;
  if (words[Leaf1ECX] & (1u << 27)) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    words[XCR0] = low;
  }
}

} // namespace

int64_t processorLevel(Text &missing) {
  uint32_t words[NumWords];
  readWords(words);
  int64_t level = 4;
  for (const Feature &feature : features) {
    if ((words[feature.word] & feature.bits) == feature.bits)
      continue;
    missing.add("%s%s", missing.empty() ? "" : ", ", feature.name);
    int64_t below = feature.level == 4 ? 3 : 0;
    level = level < below ? level : below;
  }
  return level;
}

DefaultFloatMode::DefaultFloatMode() : saved(_mm_getcsr()) { _mm_setcsr(0x9fc0); }
DefaultFloatMode::~DefaultFloatMode() { _mm_setcsr(static_cast<unsigned>(saved)); }

#elif defined(__aarch64__)

/// The bits of a vector register of SVE, which the system may have set to fewer than there are; 0 without SVE.
int64_t processorLevel(Text &missing) {
  constexpr unsigned long hasSVE = 1ul << 22;          // HWCAP_SVE, which older headers do not have
  constexpr long getVectorLength = 51, bytes = 0xffff; // PR_SVE_GET_VL, PR_SVE_VL_LEN_MASK
  if (!(getauxval(AT_HWCAP) & hasSVE)) {
    missing.add("sve");
    return 0;
  }
  long length = syscall(SYS_prctl, getVectorLength, 0, 0, 0, 0);
  int64_t bits = length < 0 ? 0 : (length & bytes) * 8;
  if (bits < 256)
    missing.add("vectors of 256 bits (SVE has %lld here)", static_cast<long long>(bits));
  return bits;
}

DefaultFloatMode::DefaultFloatMode() {
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
  __asm__ volatile("msr fpcr, %0" : : "r"(uint64_t{1} << 24));
}
DefaultFloatMode::~DefaultFloatMode() { __asm__ volatile("msr fpcr, %0" : : "r"(saved)); }

#else
#error "models are compiled for x86-64 and aarch64"
#endif

const char *nameOfLevel(int64_t level) {
#if defined(__aarch64__)
  return level == 0 ? "armv8-a" : "armv8-a+sve";
#else
  return level == 0 ? "x86-64" : level == 2 ? "x86-64-v2" : level == 3 ? "x86-64-v3" : "x86-64-v4";
#endif
}

gnnc_status allowedLevel(int64_t &level, gnnc_error *error) {
  level = INT64_MAX;
  const char *text = getenv("GNNC_CPU_LEVEL");
  if (!text || !*text)
    return GNNC_OK;
#if defined(__aarch64__)
  constexpr const char *expected = "0 or 256", *names[] = {"0", "256"};
  constexpr int64_t levels[] = {0, 256};
#else
  constexpr const char *expected = "0, 3 or 4", *names[] = {"0", "3", "4"};
  constexpr int64_t levels[] = {0, 3, 4};
#endif
  for (size_t i = 0; i < sizeof levels / sizeof *levels; ++i)
    if (strcmp(text, names[i]) == 0) {
      level = levels[i];
      return GNNC_OK;
    }
  return fail(error, GNNC_INVALID_ARGUMENT, "environment variable GNNC_CPU_LEVEL: expected %s, found '%.80s'", expected,
              text);
}

gnnc_status chooseVariant(const Model &model, const table::Variant *&variant, gnnc_error *error) {
  Text missing;
  int64_t level = processorLevel(missing), allowed;
  if (gnnc_status status = allowedLevel(allowed, error))
    return status;
  int64_t count = model.header().numVariants, least = INT64_MAX;
  for (int64_t i = 0; i < count; ++i) {
    variant = &model.variants[i];
    if (variant->level <= level && variant->level <= allowed)
      return GNNC_OK;
    least = variant->level;
  }
  if (count == 0)
    return fail(error, GNNC_UNSUPPORTED, "the model has no code for CPUs: open it with a CUDA device (device type 2)");
  const char *name = nameOfLevel(least);
  if (least <= level)
    return fail(error, GNNC_UNSUPPORTED, "this model was compiled for %s, but GNNC_CPU_LEVEL is %lld", name,
                static_cast<long long>(allowed));
  return fail(error, GNNC_UNSUPPORTED, "this model was compiled for %s; this processor lacks: %s", name,
              missing.c_str());
}

int processorCount() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online) : 1;
}

} // namespace gnnc::runtime
