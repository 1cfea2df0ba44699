//===- JSON.h - The JSON form of a model ------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes a ModelSpec as JSON: the same program as a list of operations, for other front ends.
// docs/model.schema.json and docs/Language.md describe the form. It is checked by the same rules as the text form.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_FRONTEND_JSON_H
#define GNNC_FRONTEND_JSON_H

#include "gnnc/Frontend/ModelSpec.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace gnnc::frontend {

/// Reads a model. The error is one line that starts with the JSON pointer of the culprit, such as
/// `/ops/3/args/0: expected the name of an earlier value, found 'zz'`.
llvm::Expected<ModelSpec> readJSON(llvm::StringRef text);

/// Writes a model, one operation on each line. `readJSON` returns an equal model; without `locations`, equal except for
/// the places in the source text.
std::string writeJSON(const ModelSpec &model, bool locations = true);

} // namespace gnnc::frontend

#endif // GNNC_FRONTEND_JSON_H
