//===- Arrange.h - Nodes first, in arguments and results --------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models here have a row for each element of a space: the axis whose size is not fixed is the first. A program may have
// it elsewhere, as in x of [features, nodes]. Such arguments and results are turned around at the program's border:
// what is within it stays as it is, behind a permutation.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_ARRANGE_H
#define GNNC_LIB_FRONTEND_PYTORCH_ARRANGE_H

#include "PyTorch/ExportedProgram.h"

#include <string>
#include <vector>

namespace gnnc::frontend::pytorch {

/// Brings the only axis without a fixed size to the front of each argument and result of floats. Returns what has
/// moved, for people: `input 'x' (axis 1)`. Empty if the program has not changed.
std::vector<std::string> bringToFront(ExportedProgram &program);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_ARRANGE_H
