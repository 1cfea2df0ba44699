//===- JSONText.h - Where a text is not JSON --------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_JSONTEXT_H
#define GNNC_SUPPORT_JSONTEXT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace gnnc {

/// "line 2, column 15", both from 1: where a text stops being JSON. The column counts bytes. For a text that is JSON,
/// its beginning.
std::string placeOfJSONError(llvm::StringRef text);

} // namespace gnnc

#endif // GNNC_SUPPORT_JSONTEXT_H
