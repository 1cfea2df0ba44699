//===- StoredTensors.cpp - Weights and constants --------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/StoredTensors.h"
#include "PyTorch/BoundedJSON.h"
#include "PyTorch/SchemaValues.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;
using llvm::checkedAdd;
using llvm::checkedMul;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

static constexpr uint64_t kMaxConfigBytes = uint64_t(64) << 20;

namespace {
struct Extent {
  int64_t elements = 1; ///< of the tensor
  int64_t end = 0;      ///< of its last element in the storage, in elements
};
} // namespace

/// Nothing if a product does not fit in 64 bits.
static std::optional<Extent> extentOf(const StoredTensor &tensor) {
  Extent extent;
  bool isEmpty = false;
  std::optional<int64_t> last = tensor.offset;
  for (size_t i = 0; i < tensor.strides.size(); ++i) {
    int64_t size = *tensor.meta.sizes[i].literal();
    if (size == 0) {
      isEmpty = true;
      continue;
    }
    std::optional<int64_t> elements = checkedMul(extent.elements, size), step = checkedMul(size - 1, tensor.strides[i]);
    last = last && step ? checkedAdd(*last, *step) : std::nullopt;
    if (!elements || !last)
      return std::nullopt;
    extent.elements = *elements;
  }
  if (isEmpty)
    return Extent{0, 0};
  std::optional<int64_t> end = checkedAdd(*last, int64_t(1));
  if (!end)
    return std::nullopt;
  extent.end = *end;
  return extent;
}

/// Fills all but the storage.
static bool readEntry(SchemaValues &values, const std::string &name, const Cursor &at, StoredTensor &tensor) {
  JSONErrors &errors = values.errors;
  if (!at.isObject())
    return false;
  std::optional<bool> isPickle = at.member("use_pickle").boolean();
  if (!isPickle)
    return false;
  if (*isPickle)
    return errors.report(at.pointer,
                         "expected raw bytes, found a pickle for " + quoteName(name) +
                             ": objects and subclasses of Tensor cannot be imported; make it a plain tensor");
  std::optional<std::string> path = values.readName(at.member("path_name"));
  Cursor meta = at.member("tensor_meta");
  std::optional<TensorMeta> tensorMeta = path ? values.readTensorMeta(meta) : std::nullopt;
  if (!tensorMeta)
    return false;
  tensor.entry = std::move(*path);
  for (const Size &size : tensorMeta->sizes)
    if (!size.literal())
      return errors.report(meta.pointer + "/sizes", "expected numbers, found " + quoteName(size.text));
  auto strides = meta.member("strides").all<int64_t>([&](const Cursor &each) { return values.readLiteral(each); });
  std::optional<int64_t> offset = strides ? values.readLiteral(meta.member("storage_offset")) : std::nullopt;
  if (!offset)
    return false;
  if (strides->size() != tensorMeta->sizes.size())
    return errors.report(meta.pointer + "/strides", "expected " + std::to_string(tensorMeta->sizes.size()) +
                                                        ", one for each size, found " +
                                                        std::to_string(strides->size()));
  tensor.meta = std::move(*tensorMeta);
  tensor.strides = std::move(*strides);
  tensor.offset = *offset;
  return true;
}

/// Compares the tensor with the entry's length, and reads the entry unless another tensor has.
static Error placeTensor(Archive &archive, const std::string &name, StoredTensor &tensor,
                         std::map<std::string, std::shared_ptr<const std::vector<std::byte>>> &storages) {
  auto fail = [&](const Twine &text) { return archive.error(tensor.entry, "tensor " + quoteName(name) + ": " + text); };
  if (!archive.has(tensor.entry))
    return fail("expected this entry in the archive, found none");
  uint64_t length = archive.sizeOf(tensor.entry);
  int64_t width = bytesOf(tensor.meta.type);
  std::optional<Extent> extent = extentOf(tensor);
  std::optional<int64_t> end = extent ? checkedMul(extent->end, width) : std::nullopt;
  std::optional<int64_t> dense = end ? checkedMul(extent->elements, width) : std::nullopt;
  if (!dense)
    return fail("its sizes and strides do not fit in 64 bits");
  if (uint64_t(*end) > length)
    return fail("sizes, strides and offset need " + Twine(*end) + " bytes, found " + Twine(length));
  // A tensor without strides may be any number of times as large as its storage.
  if (uint64_t(*dense) > length)
    if (Error error = archive.spend(tensor.entry, uint64_t(*dense) - length))
      return error;
  auto &storage = storages[tensor.entry];
  if (!storage) {
    llvm::Expected<std::vector<std::byte>> data = archive.read(tensor.entry);
    if (!data)
      return data.takeError();
    storage = std::make_shared<const std::vector<std::byte>>(std::move(*data));
  } else if (Error error = archive.spend(tensor.entry, std::min(uint64_t(*dense), length))) {
    return error;
  }
  tensor.storage = storage;
  return Error::success();
}

Error gnnc::frontend::pytorch::readStoredTensors(Archive &archive, StringRef config, StringRef folder,
                                                 ExportedProgram &program) {
  llvm::Expected<std::string> text = archive.readText(config, kMaxConfigBytes);
  if (!text)
    return text.takeError();
  llvm::Expected<json> document = parseBounded(*text);
  if (!document)
    return archive.error(config, llvm::toString(document.takeError()));
  JSONErrors errors;
  SchemaValues values(errors);
  Cursor root(*document, "", errors);
  std::map<std::string, std::shared_ptr<const std::vector<std::byte>>> storages;
  Error failure = Error::success();
  bool done =
      root.isObject() && values.eachMember(root.member("config"), [&](const std::string &name, const Cursor &each) {
        StoredTensor tensor;
        if (!readEntry(values, name, each, tensor))
          return false;
        tensor.entry = (folder + tensor.entry).str();
        if (Error error = placeTensor(archive, name, tensor, storages)) {
          failure = llvm::joinErrors(std::move(failure), std::move(error));
          return false;
        }
        return program.tensors.emplace(name, std::move(tensor)).second ||
               errors.report(each.pointer, "expected a new name, found one that is a weight already");
      });
  if (failure)
    return failure;
  return done ? Error::success() : archive.error(config, errors.message());
}
