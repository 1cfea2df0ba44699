//===- BoundedJSON.h - JSON of strangers ------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JSON takes many times its length in memory, so documents that nobody vouches for are looked through once before: how
// deep they are, how many values they have, and that no object has a name twice.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_BOUNDEDJSON_H
#define GNNC_LIB_FRONTEND_PYTORCH_BOUNDEDJSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <nlohmann/json.hpp>

namespace gnnc::frontend::pytorch {

/// The document. The error is one line with the place as a JSON pointer; it does not name the file.
llvm::Expected<nlohmann::json> parseBounded(llvm::StringRef text);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_BOUNDEDJSON_H
