//===- TimingsReport.h - What compilations spend their time on --*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_TIMINGSREPORT_H
#define GNNC_TOOLS_GNNC_TIMINGSREPORT_H

#include "gnnc/Support/Timings.h"
#include "llvm/Support/raw_ostream.h"

namespace gnnc {

/// A table of phases and kernels, then the shares of the compilers. Work of several threads overlaps on the wall.
void printTimings(llvm::raw_ostream &out, const Timings &timings);

/// {"steps": [{"name", "target", "depth", "wall", "processor", "compiler", "statements", "cached"}, …]} in seconds of
/// processors, on the wall for "wall".
void printTimingsAsJSON(llvm::raw_ostream &out, const Timings &timings);

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_TIMINGSREPORT_H
