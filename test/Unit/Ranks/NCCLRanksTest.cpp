//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Where there is no NCCL, all ranks say so, none waits for another one, and nothing else happens.
//
//===----------------------------------------------------------------------===//

#include "gnnc-c/gnnc_nccl.h"
#include "gnnc/Ranks/ThreadRanks.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <vector>

using namespace gnnc;

TEST(NCCLRanksTest, AllSayThatThereIsNone) {
  constexpr int kSize = 3;
  setenv("GNNC_NCCL_LIBRARY", "/nowhere/libnccl.so.2", 1);
  std::vector<std::string> said(kSize);
  ThreadRanks ranks(kSize, ThreadRanks::Milliseconds(10000));
  EXPECT_EQ(ranks.run([&](int rank, const gnnc_collectives &hosts) -> std::string {
    gnnc_nccl *nccl = nullptr;
    gnnc_error error = {};
    gnnc_status status = gnnc_nccl_open(&hosts, rank, 1, &nccl, &error);
    said[size_t(rank)] = error.message;
    EXPECT_EQ(nccl, nullptr);
    return status == GNNC_UNSUPPORTED ? "" : "expected GNNC_UNSUPPORTED, found " + std::to_string(status);
  }),
            "");
  for (const std::string &message : said) // The driver's library or NCCL's.
    EXPECT_NE(message.find("cannot open shared object file"), std::string::npos) << message;
  unsetenv("GNNC_NCCL_LIBRARY");
}

TEST(NCCLRanksTest, Arguments) {
  gnnc_nccl *nccl = nullptr;
  gnnc_error error = {};
  EXPECT_EQ(gnnc_nccl_open(nullptr, 0, 1, &nccl, &error), GNNC_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "gnnc_nccl_open: hosts is null");
  gnnc_nccl_close(nullptr);
}
