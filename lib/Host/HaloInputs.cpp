//===- HaloInputs.cpp - Rows of inputs that other ranks have --------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of an input that does not change a model may want the rows of its halo as an input, too. They are exchanged once,
// before the first run.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphFile.h"
#include "gnnc/Host/RunRanks.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace gnnc;

const gnnc_binding *BoundGraph::findInput(llvm::StringRef name) const {
  auto found = llvm::find_if(inputBindings, [&](const gnnc_binding &binding) { return name == binding.name; });
  return found == inputBindings.end() ? nullptr : &*found;
}

/// Memory for them. What the graph does not have itself has none.
llvm::Error BoundGraph::bindHalo(const TensorInfo &input) {
  const gnnc_binding *own = findInput(input.haloOf);
  if (!own)
    return llvm::Error::success();
  std::optional<int64_t> rows = extent(input.space.value_or(""));
  if (!rows)
    return missing("space '" + input.space.value_or("") + "'", "input '" + input.name + "'");
  std::vector<int64_t> shape = input.dims;
  shape.insert(shape.begin(), *rows);
  llvm::Expected<HostTensor> tensor = HostTensor::create(input.name, input.type, shape);
  if (!tensor)
    return tensor.takeError();
  converted.push_back(std::move(*tensor));
  inputBindings.push_back({input.name.c_str(), converted.back().binding().tensor});
  return llvm::Error::success();
}

llvm::Error BoundGraph::exchangeInputs(const RunRanks &ranks) {
  for (const TensorInfo &input : model->inputs) {
    const gnnc_binding *own = input.haloOf.empty() ? nullptr : findInput(input.haloOf);
    const gnnc_binding *halo = own ? findInput(input.name) : nullptr;
    if (!halo || filePart->parts() == 1)
      continue;
    std::string space = model->haloRole(*input.space).first.str();
    auto countsOf = [&](llvm::StringRef role) -> const int64_t * {
      auto found = llvm::find_if(counts, [&](const gnnc_row_counts &of) { return of.space == space + role.str(); });
      return found == counts.end() ? nullptr : found->counts;
    };
    const int64_t *sends = countsOf(".send"), *receives = countsOf(".halo");
    std::optional<int64_t> rows = extent(space);
    if (!sends || !receives || !rows)
      return missing("counts of rows of space '" + space + "'", "input '" + input.name + "'");
    llvm::Expected<std::vector<int64_t>> sent = filePart->sentNumbers(space, *rows);
    if (!sent)
      return sent.takeError();
    size_t rowBytes = size_t(elementBytes(input.type));
    for (int64_t size : input.dims)
      rowBytes *= size_t(size);
    std::vector<char> packed(sent->size() * rowBytes);
    const char *from = static_cast<const char *>(own->tensor.data) + own->tensor.byte_offset;
    for (auto [i, number] : llvm::enumerate(*sent))
      std::memcpy(packed.data() + i * rowBytes, from + size_t(number) * rowBytes, rowBytes);
    gnnc_error error = {};
    const gnnc_collectives &with = ranks.collectives();
    if (with.exchange(with.user, packed.data(), sends, halo->tensor.data, receives, int64_t(rowBytes), nullptr, &error))
      return llvm::createStringError("input '" + input.name + "': " + error.message);
  }
  return llvm::Error::success();
}
