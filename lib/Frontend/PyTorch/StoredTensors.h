//===- StoredTensors.h - Weights and constants ------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensors of an archive: a table of names (JSON), and entries of raw bytes that several names may share. Pickles
// are refused.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_STOREDTENSORS_H
#define GNNC_LIB_FRONTEND_PYTORCH_STOREDTENSORS_H

#include "PyTorch/Archive.h"
#include "PyTorch/ExportedProgram.h"

#include "llvm/Support/Error.h"

namespace gnnc::frontend::pytorch {

/// Adds the tensors that the table `config` lists to the program. Their entries lie in `folder`. Each tensor lies
/// within its entry, and all together, as dense tensors, take no more than the archive may unfold to.
llvm::Error readStoredTensors(Archive &archive, llvm::StringRef config, llvm::StringRef folder,
                              ExportedProgram &program);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_STOREDTENSORS_H
