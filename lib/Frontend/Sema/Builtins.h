//===- Builtins.h - Names of the built-in functions -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_BUILTINS_H
#define GNNC_LIB_FRONTEND_SEMA_BUILTINS_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace gnnc::frontend {

bool isBuiltin(llvm::StringRef name);
std::vector<std::string> builtinNames();
/// `sum(x, along: map, over: axes)`; empty where there is none of that name.
std::string builtinUsage(llvm::StringRef name);

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_BUILTINS_H
