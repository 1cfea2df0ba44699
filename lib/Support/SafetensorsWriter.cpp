//===- SafetensorsWriter.cpp - Writing a file -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/OutputFile.h"
#include "gnnc/Support/Safetensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace gnnc;

llvm::Error SafetensorsWriter::add(llvm::StringRef name, ElementType type, llvm::ArrayRef<int64_t> shape,
                                   const void *data) {
  return addEntry({name.str(), elementTypeName(type).str(), elementBytes(type), shape.vec(), data, 0});
}

llvm::Error SafetensorsWriter::addLike(const FileTensor &tensor, const void *data) {
  return addEntry({tensor.name, tensor.typeName, tensor.width, tensor.shape, data, 0});
}

llvm::Error SafetensorsWriter::addEntry(Entry entry) {
  const std::string &name = entry.name;
  if (name.empty() || name == "__metadata__" || !llvm::json::isUTF8(name))
    return llvm::createStringError("'" + name + "' cannot be the name of a tensor in a safetensors file");
  if (llvm::any_of(entries, [&](const Entry &other) { return other.name == name; }))
    return llvm::createStringError("tensor '" + name + "': expected one of that name, found two");
  std::optional<int64_t> elements = countElements(entry.shape);
  std::optional<int64_t> bytes = elements ? llvm::checkedMul(*elements, entry.width) : std::nullopt;
  if (!bytes)
    return llvm::createStringError("tensor '" + name + "': expected a shape that fits in memory, found " +
                                   formatShape(entry.shape));
  entry.bytes = uint64_t(*bytes);
  entries.push_back(std::move(entry));
  return llvm::Error::success();
}

llvm::Error SafetensorsWriter::write(llvm::StringRef path) const {
  llvm::Expected<PendingFile> file = prepare(path);
  return file ? file->keep() : file.takeError();
}

llvm::Expected<PendingFile> SafetensorsWriter::prepare(llvm::StringRef path) const {
  // Wider elements first: then every tensor is aligned without padding, and the first one to 64 bytes.
  std::vector<const Entry *> order;
  for (int64_t width : {8, 4, 2, 1})
    for (const Entry &entry : entries)
      if (entry.width == width)
        order.push_back(&entry);

  std::string header;
  llvm::raw_string_ostream text(header);
  llvm::json::OStream out(text);
  out.object([&] {
    if (!metadata.empty())
      out.attributeObject("__metadata__", [&] {
        for (const auto &[key, value] : metadata)
          out.attribute(llvm::json::fixUTF8(key), llvm::json::fixUTF8(value));
      });
    uint64_t begin = 0;
    for (const Entry *entry : order) {
      out.attributeObject(entry->name, [&] {
        out.attribute("dtype", entry->typeName);
        out.attributeArray("shape", [&] {
          for (int64_t size : entry->shape)
            out.value(size);
        });
        out.attributeArray("data_offsets", [&] {
          out.value(begin);
          out.value(begin + entry->bytes);
        });
      });
      begin += entry->bytes;
    }
  });
  text.flush();
  header.resize(llvm::alignTo(8 + header.size(), 64) - 8, ' ');

  return PendingFile::write(path, [&](llvm::raw_ostream &file) {
    char length[8];
    llvm::support::endian::write64le(length, header.size());
    file.write(length, sizeof(length));
    file << header;
    for (const Entry *entry : order)
      file.write(static_cast<const char *>(entry->data), entry->bytes);
  });
}
