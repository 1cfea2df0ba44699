//===- DividedRows.cpp - Tensors whose rows ranks have parts of -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/DividedRows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cstring>

using namespace gnnc;

bool DividedRows::isDivided(const std::optional<std::string> &space) const {
  const SpaceInfo *info = space ? model->findSpace(*space) : nullptr;
  return info && info->kind != "static";
}

/// Elements of derived spaces have no numbers of their own in the whole graph.
llvm::Error DividedRows::checkSpace(llvm::StringRef space, llvm::StringRef tensor) const {
  if (part->isDivided(space))
    return llvm::Error::success();
  return llvm::createStringError("'" + tensor + "' is on space '" + space +
                                 "', whose elements have no numbers in the whole graph: ranks cannot put its rows "
                                 "together");
}

ExtentLookup DividedRows::wholeExtents(ExtentLookup own) const {
  return [this, own = std::move(own)](llvm::StringRef space) -> std::optional<int64_t> {
    return isDivided(space.str()) ? part->wholeExtent(space) : own(space);
  };
}

/// Bytes of a tensor's row.
static int64_t rowBytesOf(const HostTensor &tensor) {
  int64_t bytes = elementBytes(tensor.type());
  for (int64_t size : tensor.shape().drop_front())
    bytes *= size;
  return bytes;
}

static llvm::Expected<HostTensor> withRows(const HostTensor &like, int64_t rows) {
  std::vector<int64_t> shape = like.shape().vec();
  if (!shape.empty())
    shape[0] = rows;
  return HostTensor::create(like.name(), like.type(), shape);
}

llvm::Expected<HostTensor> DividedRows::collect(const HostTensor &own, const std::optional<std::string> &space) const {
  bool divided = isDivided(space);
  llvm::Error unknown = divided ? checkSpace(*space, own.name()) : llvm::Error::success();
  if (unknown)
    return std::move(unknown);
  llvm::Expected<HostTensor> whole = withRows(own, own.shape().empty() ? 0 : own.shape()[0]);
  if (divided) {
    llvm::Expected<std::vector<int64_t>> numbers = part->globalNumbers(*space);
    if (!numbers)
      return numbers.takeError();
    int64_t rowBytes = rowBytesOf(own), rows = own.shape()[0];
    if (int64_t(numbers->size()) != rows)
      return llvm::createStringError("'" + own.name() + "': expected a row for each of " +
                                     llvm::Twine(numbers->size()) + " elements, found " + llvm::Twine(rows));
    llvm::Expected<std::vector<char>> allNumbers = ranks->collect(numbers->data(), rows, sizeof(int64_t));
    if (!allNumbers)
      return allNumbers.takeError();
    llvm::Expected<std::vector<char>> allRows = ranks->collect(own.data(), rows, rowBytes);
    if (!allRows)
      return allRows.takeError();
    if (isFirst()) {
      whole = withRows(own, part->wholeExtent(*space).value_or(0));
      if (!whole)
        return whole.takeError();
      for (size_t i = 0; i < allNumbers->size() / sizeof(int64_t); ++i) {
        int64_t number;
        std::memcpy(&number, allNumbers->data() + i * sizeof number, sizeof number);
        // Each rank has looked at its own.
        std::memcpy(static_cast<char *>(whole->data()) + number * rowBytes, allRows->data() + int64_t(i) * rowBytes,
                    size_t(rowBytes));
      }
      return whole;
    }
  }
  if (!whole)
    return whole.takeError();
  std::memcpy(whole->data(), own.data(), own.bytes());
  return whole;
}

llvm::Error DividedRows::take(const void *whole, const HostTensor &own, const std::optional<std::string> &space) const {
  if (!isDivided(space)) {
    std::memcpy(own.data(), whole, own.bytes());
    return llvm::Error::success();
  }
  if (llvm::Error error = checkSpace(*space, own.name()))
    return error;
  llvm::Expected<std::vector<int64_t>> numbers = part->globalNumbers(*space);
  if (!numbers)
    return numbers.takeError();
  if (int64_t(numbers->size()) != own.shape()[0])
    return llvm::createStringError("'" + own.name() + "': expected a row for each of " + llvm::Twine(numbers->size()) +
                                   " elements, found " + llvm::Twine(own.shape()[0]));
  size_t rowBytes = size_t(rowBytesOf(own));
  for (auto [i, number] : llvm::enumerate(*numbers))
    std::memcpy(static_cast<char *>(own.data()) + i * rowBytes,
                static_cast<const char *>(whole) + size_t(number) * rowBytes, rowBytes);
  return llvm::Error::success();
}

llvm::Expected<std::vector<int64_t>> DividedRows::wholeShape(const HostTensor &own,
                                                             const std::optional<std::string> &space) const {
  std::vector<int64_t> shape = own.shape().vec();
  if (!isDivided(space))
    return std::move(shape);
  if (llvm::Error error = checkSpace(*space, own.name()))
    return std::move(error);
  shape[0] = part->wholeExtent(*space).value_or(0);
  return std::move(shape);
}

llvm::Error DividedRows::take(Parameters &whole) const {
  for (const auto *list : {&model->params, &model->states})
    for (const TensorInfo &info : *list) {
      if (!isDivided(info.space))
        continue;
      llvm::Error error = whole.replace(info.name, [&](const HostTensor &tensor) -> llvm::Expected<HostTensor> {
        llvm::Expected<std::vector<int64_t>> numbers = part->globalNumbers(*info.space);
        if (!numbers)
          return numbers.takeError();
        llvm::Expected<HostTensor> own = withRows(tensor, int64_t(numbers->size()));
        if (!own)
          return own.takeError();
        if (llvm::Error failed = take(tensor.data(), *own, info.space))
          return std::move(failed);
        return own;
      });
      if (error)
        return error;
    }
  return llvm::Error::success();
}
