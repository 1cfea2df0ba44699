//===- RelationNamesTest.cpp - Which maps are the ends of edges -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/RelationNames.h"

#include <gtest/gtest.h>

using namespace gnnc;

TEST(RelationNames, Ends) {
  for (const char *name : {"src", "follows.src", "pair_src"})
    EXPECT_EQ(relationEndOf(name), RelationEnd::Source) << name;
  for (const char *name : {"dst", "follows.dst", "pair_dst"})
    EXPECT_EQ(relationEndOf(name), RelationEnd::Target) << name;
  for (const char *name : {"", "batch", "mysrc", "dst2", "src.batch", ".", "d"})
    EXPECT_FALSE(relationEndOf(name)) << name;
}

TEST(RelationNames, Tensors) {
  EXPECT_EQ(relationTensorOf("src"), "edge_index");
  EXPECT_EQ(relationTensorOf("dst"), "edge_index");
  EXPECT_EQ(relationTensorOf("follows.dst"), "follows");
  EXPECT_EQ(relationTensorOf("user.follows.src"), "user.follows");
  for (const char *name : {"batch", "pair_dst", "mysrc"})
    EXPECT_EQ(relationTensorOf(name), "") << name;
}
