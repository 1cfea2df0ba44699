//===- UncalledLayers.h - Layers that nothing calls -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_SEMA_UNCALLEDLAYERS_H
#define GNNC_LIB_FRONTEND_SEMA_UNCALLEDLAYERS_H

#include "Sema/Modules.h"

#include <set>

namespace gnnc::frontend {

/// What is wrong with the layers of a module that are not among the `called`, whatever they are called with.
std::vector<Diagnostic> checkUncalledLayers(const Sources &sources, Modules &modules, const CompileInputs &inputs,
                                            const Module &module, std::set<const ast::LayerDecl *> called);

/// `node[heads = 1, out = 1]` as `node[heads, out]`, for sizes that nobody knows.
void dropSizes(std::string &text);

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_SEMA_UNCALLEDLAYERS_H
