//===- Modules.h - The modules that a program's operations are of -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree of calls of modules, and for each operation the innermost call that it belongs to. Where the file has the
// module stack of its nodes, it says so. Otherwise `convs.0.lin.weight` says that there is a module `convs.0`, which
// has all operations between the first that reads one of its parameters and the last; modules with the same parameters
// are then extended to the operations before them as long as these are the same for all.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_MODULES_H
#define GNNC_LIB_FRONTEND_PYTORCH_MODULES_H

#include "PyTorch/Program.h"

#include <string>
#include <vector>

namespace gnnc::frontend::pytorch {

struct ModuleCall {
  std::string path, className;
  int parent = 0; ///< of the model itself: -1
};

struct Modules {
  /// Computed anew wherever it is needed: nobody's, such as the degrees of nodes.
  static constexpr int kAnywhere = -1;

  std::vector<ModuleCall> calls; ///< the first is the model
  std::vector<int> owners;       ///< of each operation: one of `calls`, or kAnywhere
  bool guessed = false;          ///< from parameters' names

  bool isWithin(int call, int ancestor) const;
  /// The child of `ancestor` on the way to `call`, which lies within it.
  int childTowards(int call, int ancestor) const;
  /// Gives what belongs to a call to its parent.
  void dissolve(int call);
};

Modules findModules(const RecoveredProgram &program, const std::vector<bool> &live);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_MODULES_H
