//===- Processor.h - What this processor can run ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_PROCESSOR_H
#define GNNC_RUNTIME_PROCESSOR_H

#include "Error.h"
#include "Model.h"

namespace gnnc::runtime {

/// The highest level of ModelTable.h's `Variant` that this processor and its operating system run: 4, 3 or 0 on x86-64,
/// the bits of a vector of SVE on aarch64. Adds to `missing` the features that the next higher levels would need.
int64_t processorLevel(Text &missing);

/// Clang's name for a level.
const char *nameOfLevel(int64_t level);

/// The level the environment variable GNNC_CPU_LEVEL allows at most (for tests); a large number if it is not set.
gnnc_status allowedLevel(int64_t &level, gnnc_error *error);

/// The best variant of the model that runs here.
gnnc_status chooseVariant(const Model &model, const table::Variant *&variant, gnnc_error *error);

/// Processors this process may run on.
int processorCount();

/// While one lives, floating-point arithmetic of this thread rounds to nearest and takes denormal numbers for 0, so
/// that results do not depend on what the caller or the thread's creator had set. An optimiser's averages of gradients
/// that have become 0 pass through the denormal numbers, where processors are tens of times slower.
class DefaultFloatMode {
public:
  DefaultFloatMode();
  ~DefaultFloatMode();
  DefaultFloatMode(const DefaultFloatMode &) = delete;
  DefaultFloatMode &operator=(const DefaultFloatMode &) = delete;

private:
  uint64_t saved;
};

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_PROCESSOR_H
