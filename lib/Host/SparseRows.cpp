//===- SparseRows.cpp - The sparse form of an input in a graph file -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphFile.h"

#include "llvm/ADT/Twine.h"

using namespace gnnc;

/// Row pointers must rise from 0 to the number of entries.
template <typename Index> static bool arePointers(llvm::ArrayRef<Index> pointers, int64_t entries) {
  if (pointers.empty() || pointers.front() != 0 || int64_t(pointers.back()) != entries)
    return false;
  for (size_t i = 1; i < pointers.size(); ++i)
    if (pointers[i] < pointers[i - 1])
      return false;
  return true;
}

llvm::Expected<std::optional<SparseRows>> gnnc::findSparseRows(const SafetensorsFile &file, llvm::StringRef name) {
  SparseRows rows;
  rows.pointers = file.find(name.str() + "_indptr");
  rows.columns = file.find(name.str() + "_indices");
  rows.values = file.find(name.str() + "_values");
  if (!rows.pointers || !rows.columns)
    return std::nullopt;

  auto wrong = [&](const FileTensor &tensor, const llvm::Twine &what) {
    return llvm::createStringError("graph '" + file.path() + "': tensor '" + tensor.name + "': " + what);
  };
  for (const FileTensor *tensor : {rows.pointers, rows.columns})
    if (!tensor->type || isFloat(*tensor->type) || tensor->shape.size() != 1)
      return wrong(*tensor, "expected I32 or I64 of one axis, found " + llvm::Twine(tensor->typeName) + " " +
                                formatShape(tensor->shape));
  int64_t entries = rows.columns->elements;
  bool rising = *rows.pointers->type == ElementType::I32 ? arePointers(rows.pointers->as<int32_t>(), entries)
                                                         : arePointers(rows.pointers->as<int64_t>(), entries);
  if (!rising)
    return wrong(*rows.pointers, "expected row pointers that rise from 0 to " + llvm::Twine(entries));
  if (rows.values && (!rows.values->type || rows.values->shape != rows.columns->shape))
    return wrong(*rows.values, "expected numbers of shape " + formatShape(rows.columns->shape) + ", found " +
                                   rows.values->typeName + " " + formatShape(rows.values->shape));
  return rows;
}
