//===- Stacks.cpp - What decompositions leave of stack --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Stacks.h"
#include "PyTorch/Normalise.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

static bool isOneSize(const Size &a, const Size &b) {
  return a.linear && b.linear ? *a.linear == *b.linear : a.text == b.text;
}

/// The axis along which a view takes the parts of a `cat` apart again; -1: it does something else.
static int64_t stackedAxis(const NormalProgram &program, const NormalNode &joined, const std::vector<Size> &seen) {
  auto argument = joined.arguments.find("tensors"), axis = joined.arguments.find("dim");
  const auto *parts = argument == joined.arguments.end() ? nullptr : std::get_if<ValueNames>(&argument->second);
  const auto *given = axis == joined.arguments.end() ? nullptr : std::get_if<int64_t>(&axis->second);
  if (!parts || parts->names.empty())
    return -1;
  int64_t rank = int64_t(seen.size()) - 1, dim = given ? *given : 0;
  dim = dim < 0 ? dim + rank : dim;
  if (dim < 0 || dim >= rank)
    return -1;
  for (const std::string &name : parts->names) {
    auto meta = program.tensors.find(name);
    if (meta == program.tensors.end() || int64_t(meta->second.sizes.size()) != rank)
      return -1;
    for (int64_t i = 0; i < rank; ++i)
      if (!isOneSize(meta->second.sizes[size_t(i)], seen[size_t(i < dim ? i : i + 1)]))
        return -1;
  }
  const Size &count = seen[size_t(dim)], &size = seen[size_t(dim) + 1];
  bool isCount = count.linear && *count.linear == SymbolicExpr(int64_t(parts->names.size()));
  return isCount && size.linear && !size.linear->getFactors().empty() ? dim : -1;
}

void gnnc::frontend::pytorch::restoreStacks(NormalProgram &program) {
  static const llvm::StringSet<> views = {"view", "reshape", "_unsafe_view"};
  llvm::StringMap<const NormalNode *> joins; // by their results
  for (NormalNode &node : program.nodes) {
    if (node.op == "cat" && node.outputs.size() == 1)
      joins[node.outputs[0]] = &node;
    auto self = node.arguments.find("self");
    const auto *name = self == node.arguments.end() ? nullptr : std::get_if<ValueName>(&self->second);
    auto meta = node.outputs.size() == 1 ? program.tensors.find(node.outputs[0]) : program.tensors.end();
    if (!views.contains(node.op) || !name || !joins.count(name->name) || meta == program.tensors.end())
      continue;
    const NormalNode &joined = *joins[name->name];
    int64_t axis = stackedAxis(program, joined, meta->second.sizes);
    if (axis < 0)
      continue;
    Argument parts = joined.arguments.at("tensors");
    node.op = "stack", node.overload = "default";
    node.arguments = {{"tensors", std::move(parts)}, {"dim", axis}};
  }
}
