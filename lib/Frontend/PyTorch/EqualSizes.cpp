//===- EqualSizes.cpp - Symbols that are one size -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/EqualSizes.h"
#include "PyTorch/Normalise.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

const std::string &EqualSizes::rootOf(const std::string &symbol) const {
  const std::string *root = &symbol;
  for (auto found = others.find(*root); found != others.end(); found = others.find(*root))
    root = &found->second;
  return *root;
}

/// The symbol that a size is; null: it is something else.
static const std::string *symbolOf(const SymbolicExpr &size) {
  if (size.getNumber() != 0 || size.getFactors().size() != 1 || size.getFactors().begin()->second != 1)
    return nullptr;
  return &size.getFactors().begin()->first;
}

void EqualSizes::unite(const SymbolicExpr &size, const SymbolicExpr &other) {
  const std::string *from = symbolOf(size), *to = symbolOf(other);
  if (!from || !to)
    return;
  std::string begin = rootOf(*from), end = rootOf(*to);
  if (begin != end)
    others.emplace(begin, end);
}

void gnnc::frontend::pytorch::uniteListsOfPlaces(NormalProgram &program) {
  for (const NormalNode &node : program.nodes) {
    if (node.op != "index" && node.op != "index_put")
      continue;
    auto metaOf = [&](const std::string &name) -> const TensorMeta * {
      auto found = program.tensors.find(name);
      return found == program.tensors.end() ? nullptr : &found->second;
    };
    auto argument = [&](const char *name) -> const Argument * {
      auto found = node.arguments.find(name);
      return found == node.arguments.end() ? nullptr : &found->second;
    };
    const Argument *indices = argument("indices");
    const auto *names = indices ? std::get_if<ValueNames>(indices) : nullptr;
    if (!names || names->names.size() < 2)
      continue;
    const Size *first = nullptr;
    bool areLists = true;
    for (const std::string &name : names->names) {
      const TensorMeta *meta = metaOf(name);
      areLists &= meta && meta->sizes.size() == 1 && meta->type != ScalarType::Bool;
      first = areLists && !first ? &meta->sizes[0] : first;
    }
    if (!areLists || !first->linear)
      continue;
    auto unite = [&](const Size &size) {
      if (size.linear)
        program.equalSizes.unite(*size.linear, *first->linear);
    };
    for (const std::string &name : names->names)
      unite(metaOf(name)->sizes[0]);
    auto nameOf = [&](const char *each) {
      const Argument *found = argument(each);
      return found ? std::get_if<ValueName>(found) : nullptr;
    };
    const auto *self = nameOf("self"), *values = nameOf("values");
    const TensorMeta *base = self ? metaOf(self->name) : nullptr, *rows = values ? metaOf(values->name) : nullptr;
    // Numbers with fewer axes than the rows have are the same for all of them.
    if (base && rows && rows->sizes.size() + names->names.size() == base->sizes.size() + 1)
      unite(rows->sizes[0]);
  }
}
