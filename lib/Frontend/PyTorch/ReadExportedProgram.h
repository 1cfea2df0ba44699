//===- ReadExportedProgram.h - Reads a .pt2 archive -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what `torch.export.save` wrote, from torch 2.9 on (schema 8 with raw weights). Nothing in the file is trusted:
// sizes are checked before memory is taken for them, and pickles are never read.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_READEXPORTEDPROGRAM_H
#define GNNC_LIB_FRONTEND_PYTORCH_READEXPORTEDPROGRAM_H

#include "PyTorch/ExportedProgram.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace gnnc::frontend::pytorch {

/// The program in the archive at `path`. The error is one line that names the file and the place in it (the entry, or
/// the node), what was expected and what was found.
llvm::Expected<ExportedProgram> readExportedProgram(const std::string &path);
/// The same for an archive in memory; `path` is for messages.
llvm::Expected<ExportedProgram> parseExportedProgram(std::unique_ptr<llvm::MemoryBuffer> bytes,
                                                     const std::string &path);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_READEXPORTEDPROGRAM_H
