//===- FuzzTunings.cpp - Tunings ------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tuning is refused with a message, or chooses something that the model has.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "TunedModel.h"

using namespace gnnc;
using namespace gnnc::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static test::TunedModel tuned;
  std::string text(reinterpret_cast<const char *>(data), size);
  for (int64_t architecture : {kOnCPU, kAnyGPU, int64_t(90)}) {
    Memory memory{defaultAllocator()};
    int64_t extents[] = {100, 1000};
    Tuning tuning;
    gnnc_error error = {};
    gnnc_status status = readTuning(tuned.model, text.c_str(), architecture, extents, memory, tuning, &error);
    require((status == GNNC_OK) == !error.message[0], "a tuning, or an error");
    if (status != GNNC_OK)
      continue;
    for (int64_t i = 0; tuning.functions && i < 4; ++i)
      require(tuning.functions[i] >= -1 && tuning.functions[i] < 4, "a function of the model");
    for (int64_t i = 0; tuning.least && i < 5; ++i)
      require(tuning.least[i] >= -1, "a number of members");
  }
  return 0;
}
