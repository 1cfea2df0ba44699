//===- Outline.h - Which operations make which layer ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that was recovered is one list of operations. The outline divides it into *blocks*: the body of the model,
// and one for each call of a module that can be written as a layer. Which operations a module made is in the file, or
// follows from the names of the parameters that they read (Modules.h). A module is a layer if one value leaves it;
// what others take from it besides, and what needs none of its parameters (a degree, a normalisation), is computed
// again where it is used, which costs nothing: equal operations are done once by the compiler. Blocks whose operations
// are the same but for the sizes of axes and the parameters' instances are calls of one layer.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_OUTLINE_H
#define GNNC_LIB_FRONTEND_PYTORCH_OUTLINE_H

#include "PyTorch/Program.h"

#include <string>
#include <vector>

namespace gnnc::frontend::pytorch {

/// One step of a body: an operation, or the call that gives its value.
struct Item {
  int value = -1;
  int call = -1; ///< the block that is called
};

struct Block {
  std::string path;      ///< of the module: what its parameters' names begin with; empty for the model
  std::string className; ///< of the module, without its package; empty where the file does not say
  int result = -1;       ///< of a layer
  std::vector<int> formals;
  std::vector<Item> items;  ///< operands come first
  std::vector<int> axes;    ///< those of the layer: what they are in this call
  std::vector<int> numbers; ///< constants that differ from call to call: what they are in this call
  bool anySpace = false;    ///< nothing in it says which space its values are on
  int layer = -1;           ///< of a layer: which of `layers`
};

struct Outline {
  std::vector<Block> blocks;            ///< the first is the model
  std::vector<std::vector<int>> layers; ///< the calls of each, the most general first; callees before callers
};

/// What a block declares itself: its parameters and buffers, by their names within it. Empty if the name is not its
/// own.
std::string nameWithin(const std::string &path, const std::string &fullName);

/// `live`: the operations that some output needs.
Outline outline(const RecoveredProgram &program, const std::vector<bool> &live);

/// The whole program as the model's body.
Outline flatOutline(const RecoveredProgram &program, const std::vector<bool> &live);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_OUTLINE_H
