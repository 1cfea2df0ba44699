//===- EmbeddedText.h - The library's own .gnn texts ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cmake/EmbedText.cmake makes the definition from lib/Frontend/std/*.gnn, so that no file is needed at run time.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_EMBEDDEDTEXT_H
#define GNNC_LIB_FRONTEND_EMBEDDEDTEXT_H

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>

namespace gnnc::frontend {

struct EmbeddedText {
  const char *name; ///< the file's name without `.gnn`
  const char *text;
  size_t size;
};

llvm::ArrayRef<EmbeddedText> embeddedTexts();

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_EMBEDDEDTEXT_H
