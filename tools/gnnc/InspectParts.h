//===- InspectParts.h - gnnc inspect on the parts of a graph ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_INSPECTPARTS_H
#define GNNC_TOOLS_GNNC_INSPECTPARTS_H

#include "Commands.h"
#include "gnnc/Host/ModelFile.h"

#include "llvm/Support/raw_ostream.h"

namespace gnnc {

/// Prints what each rank would hold, send and receive on the parts in a folder, or on parts of the extents that are
/// given, and how long it would take.
llvm::Error inspectParts(const ModelFile &model, const InspectArguments &arguments, llvm::raw_ostream &out);

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_INSPECTPARTS_H
