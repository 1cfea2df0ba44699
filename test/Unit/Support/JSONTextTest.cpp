//===- JSONTextTest.cpp - Where a text is not JSON ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/JSONText.h"

#include "gtest/gtest.h"

using namespace gnnc;

TEST(JSONText, NamesThePlaceOfTheFirstError) {
  EXPECT_EQ(placeOfJSONError("{\"a\": 1,}"), "line 1, column 9");
  EXPECT_EQ(placeOfJSONError("{\n  \"a\": 1,\n}"), "line 3, column 1");
  EXPECT_EQ(placeOfJSONError("{\n  \"a\" 1\n}"), "line 2, column 7");
  EXPECT_EQ(placeOfJSONError("nul"), "line 1, column 3");
  EXPECT_EQ(placeOfJSONError(""), "line 1, column 1");
}
