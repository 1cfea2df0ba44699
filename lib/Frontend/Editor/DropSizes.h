//===- DropSizes.h - Types without sizes that nobody knows ------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_EDITOR_DROPSIZES_H
#define GNNC_LIB_FRONTEND_EDITOR_DROPSIZES_H

#include <string>

namespace gnnc::frontend {

/// `node[heads = 1, out = 1]` as `node[heads, out]`.
void dropSizes(std::string &text);

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_EDITOR_DROPSIZES_H
