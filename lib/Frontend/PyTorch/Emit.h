//===- Emit.h - A recovered program as a text in the language ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_EMIT_H
#define GNNC_LIB_FRONTEND_PYTORCH_EMIT_H

#include "PyTorch/Program.h"

namespace gnnc::frontend::pytorch {

struct Emitted {
  std::string text;
  std::vector<std::string> tensors; ///< the parameters and buffers that the text declares, by full name
  std::vector<RecoveredProgram::Constant> constants;
};

/// The model `name` as a person would write it: the modules of the program as layers, unless `withLayers` is false,
/// names from the program's own, expressions that are used once in their place. `comment` is its first line. Throws a
/// Refusal.
Emitted emit(RecoveredProgram program, const std::string &name, const std::string &comment, bool withLayers = true);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_EMIT_H
