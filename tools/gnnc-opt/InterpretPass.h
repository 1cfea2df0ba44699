//===- InterpretPass.h - Runs the interpreter in a test -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_GNNC_OPT_INTERPRETPASS_H
#define GNNC_TOOLS_GNNC_OPT_INTERPRETPASS_H

namespace gnnc {

/// Registers `--gnnc-interpret`.
void registerInterpretPass();

} // namespace gnnc

#endif // GNNC_TOOLS_GNNC_OPT_INTERPRETPASS_H
