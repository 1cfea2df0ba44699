//===- EmbeddedText.cpp - The library's own .gnn texts --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmbeddedText.h"

#include <vector>

extern const char *const gnnc_std_names[];
extern const char *const gnnc_std_texts[];
extern const size_t gnnc_std_sizes[];
extern const size_t gnnc_std_count;

llvm::ArrayRef<gnnc::frontend::EmbeddedText> gnnc::frontend::embeddedTexts() {
  static const std::vector<EmbeddedText> texts = [] {
    std::vector<EmbeddedText> all;
    for (size_t i = 0; i < gnnc_std_count; ++i)
      all.push_back({gnnc_std_names[i], gnnc_std_texts[i], gnnc_std_sizes[i]});
    return all;
  }();
  return texts;
}
