//===- Safetensors.h - Reading and writing .safetensors files ---*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs, parameters and outputs are stored as safetensors: eight bytes of header length, a JSON header, the tensors'
// bytes. A file is mapped into memory, and everything in its header is checked before a tensor is handed out, so that a
// truncated or malicious file is an error and never an invalid access. Padding between tensors is accepted, overlap is
// not.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_SAFETENSORS_H
#define GNNC_SUPPORT_SAFETENSORS_H

#include "gnnc/Support/OutputFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gnnc {

/// The element types gnnc computes with, stores or indexes by.
enum class ElementType { F32, F64, BF16, F16, I32, I64 };

int64_t elementBytes(ElementType type);
bool isFloat(ElementType type);
/// As in a safetensors header: "F32".
llvm::StringRef elementTypeName(ElementType type);
/// "[2, 10556]".
std::string formatShape(llvm::ArrayRef<int64_t> shape);
/// Number of elements of `shape`; nothing where a size is negative or the product does not fit.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// One tensor of a file, row-major, in memory that the SafetensorsFile owns; aligned to its element.
struct FileTensor {
  std::string name;
  std::string typeName;            ///< as written in the file
  std::optional<ElementType> type; ///< none for types gnnc does not know (BOOL, U8, ...)
  std::vector<int64_t> shape;
  int64_t elements = 0;
  int64_t width = 0; ///< bytes of an element
  const void *data = nullptr;

  int64_t bytes() const { return elements * width; }
  template <typename T> llvm::ArrayRef<T> as() const {
    return llvm::ArrayRef<T>(static_cast<const T *>(data), static_cast<size_t>(elements));
  }
};

/// A safetensors file, mapped. Movable; the tensors stay where they are in memory.
class SafetensorsFile {
public:
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);
  /// Reads a file that is already in memory; `name` is what errors call it.
  static llvm::Expected<SafetensorsFile> parse(std::unique_ptr<llvm::MemoryBuffer> bytes, llvm::StringRef name);

  llvm::StringRef path() const { return filePath; }
  /// All tensors, by name.
  llvm::ArrayRef<FileTensor> tensors() const { return list; }
  /// Null where there is none of that name.
  const FileTensor *find(llvm::StringRef name) const;
  /// The tensor of that name; an error where there is none or gnnc does not know its element type.
  llvm::Expected<const FileTensor *> get(llvm::StringRef name) const;
  const std::map<std::string, std::string> &metadata() const { return metadataMap; }
  /// Null where the key is absent.
  const std::string *findMetadata(llvm::StringRef key) const;

private:
  llvm::Error readHeader();
  llvm::Error placeTensors(uint64_t dataBegin);

  struct Range {
    uint64_t begin = 0, end = 0;
  };
  std::string filePath;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::vector<FileTensor> list;
  std::vector<Range> ranges; ///< parallel to `list`, in bytes from the start of the data
  std::vector<std::unique_ptr<uint64_t[]>> realigned;
  llvm::StringMap<size_t> byName;
  std::map<std::string, std::string> metadataMap;
};

/// Collects tensors and writes them as one file. The data is read when the file is written and must live until then.
class SafetensorsWriter {
public:
  void addMetadata(llvm::StringRef key, llvm::StringRef value) { metadata[key.str()] = value.str(); }
  llvm::Error add(llvm::StringRef name, ElementType type, llvm::ArrayRef<int64_t> shape, const void *data);
  /// A tensor like that of a file, which may be of a type that gnnc does not know, with other numbers in it.
  llvm::Error addLike(const FileTensor &tensor, const void *data);
  /// Writes a temporary file beside `path` and renames it: `path` is never half-written.
  llvm::Error write(llvm::StringRef path) const;
  /// The same up to the renaming.
  llvm::Expected<PendingFile> prepare(llvm::StringRef path) const;

private:
  struct Entry {
    std::string name, typeName;
    int64_t width;
    std::vector<int64_t> shape;
    const void *data;
    uint64_t bytes;
  };
  llvm::Error addEntry(Entry entry);
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
};

} // namespace gnnc

#endif // GNNC_SUPPORT_SAFETENSORS_H
