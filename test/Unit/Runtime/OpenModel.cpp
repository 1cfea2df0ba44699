//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include <gtest/gtest.h>

namespace gnnc::test {

gnnc_context *open(const runtime::Model &model, int threads, const gnnc_allocator *allocator) {
  gnnc_options options = {sizeof(gnnc_options), threads, allocator, 0, 0, 0, 0, nullptr, nullptr};
  gnnc_context *context = nullptr;
  gnnc_error error;
  EXPECT_EQ(runtime::openModel(model, &options, &context, &error), GNNC_OK) << error.message;
  return context;
}

} // namespace gnnc::test
