//===- Normalise.h - One set of operators for all exports -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings a program's graph into the form that recovery works on: subgraphs of `no_grad` and autocast are inlined,
// assertions are dropped, in-place operations become operations with a result of their own (which later uses of the
// changed tensor get), and equal operations are done once. Sizes that have to be equal become one (EqualSizes.h).
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_NORMALISE_H
#define GNNC_LIB_FRONTEND_PYTORCH_NORMALISE_H

#include "PyTorch/EqualSizes.h"
#include "PyTorch/ExportedProgram.h"

#include <map>
#include <string>
#include <vector>

namespace gnnc::frontend::pytorch {

/// The overload of what is no operator of tensors but one of Python's numbers.
inline constexpr const char *pythonOverload = "of Python";

struct NormalNode {
  std::string refusal;          ///< why it has no meaning; empty for most
  const Node *origin = nullptr; ///< for messages and names
  std::string op;               ///< `index_add`: without namespace, overload and the underscore of in-place forms
  std::string overload;         ///< `Tensor`
  std::map<std::string, Argument> arguments;
  std::vector<std::string> outputs;
};

struct NormalProgram {
  std::vector<NormalNode> nodes;
  std::map<std::string, TensorMeta> tensors;
  std::map<std::string, Size> integers;
  std::vector<Argument> outputs;
  std::vector<std::string> outputRefusals; ///< why an output has no meaning; empty for most
  std::vector<std::string> changed;        ///< what operations in place change: the tensor whose memory it is
  EqualSizes equalSizes;
};

/// `isTraining`: the program is as it was before decompositions. Throws a Refusal.
NormalProgram normalise(const Graph &graph, bool isTraining);

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_NORMALISE_H
