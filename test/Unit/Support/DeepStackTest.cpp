//===- DeepStackTest.cpp - A stack of known size --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/DeepStack.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sys/resource.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif

using namespace gnnc;

/// Takes more than so many bytes of stack. The result is used after the call, so that it is one.
static size_t recurse(size_t bytes) {
  volatile char frame[4096];
  frame[bytes % 4096] = 1;
  return bytes < 4096 ? 1 : recurse(bytes - 4096) + size_t(frame[bytes % 4096]);
}

TEST(DeepStack, DoesNotDependOnTheCallers) {
  size_t depth = 0;
  auto work = [](void *result) -> void * {
    runOnDeepStack([&] { *static_cast<size_t *>(result) = recurse(kDeepStackBytes / 2); });
    return nullptr;
  };
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, work, &depth), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(depth, kDeepStackBytes / 2 / 4096 + 1);
}

// Sanitizers need memory of their own for whatever runs.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
TEST(DeepStack, IsTheCallersWhereThereIsNoMemory) {
  auto run = [] {
    rlimit limit{size_t(8) << 20, size_t(8) << 20}; // Less than the process has.
    setrlimit(RLIMIT_AS, &limit);
    runOnDeepStack([caller = pthread_self()] { std::exit(pthread_equal(caller, pthread_self()) ? 3 : 4); });
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(3), "");
}
#endif
