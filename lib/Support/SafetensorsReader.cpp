//===- SafetensorsReader.cpp - Mapping and checking a file ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In three steps: the header's length, its JSON (types, shapes, offsets; each tensor must have exactly the bytes its
// shape needs, inside the file), and the tensors' places (no two overlap; a misaligned one is copied).
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/InputFile.h"
#include "gnnc/Support/Safetensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

using namespace gnnc;
using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensors are used in place, and the format is little-endian");

/// The format's own limit, which keeps a hostile header from eating the memory.
static constexpr uint64_t kMaxHeaderBytes = 100'000'000;

//===----------------------------------------------------------------------===//
// Element types and shapes
//===----------------------------------------------------------------------===//

int64_t gnnc::elementBytes(ElementType type) {
  switch (type) {
  case ElementType::BF16:
  case ElementType::F16:
    return 2;
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::F64:
  case ElementType::I64:
    return 8;
  }
  llvm_unreachable("unknown element type");
}

bool gnnc::isFloat(ElementType type) { return type != ElementType::I32 && type != ElementType::I64; }

llvm::StringRef gnnc::elementTypeName(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "F32";
  case ElementType::F64:
    return "F64";
  case ElementType::BF16:
    return "BF16";
  case ElementType::F16:
    return "F16";
  case ElementType::I32:
    return "I32";
  case ElementType::I64:
    return "I64";
  }
  llvm_unreachable("unknown element type");
}

std::string gnnc::formatShape(llvm::ArrayRef<int64_t> shape) {
  return "[" + llvm::join(llvm::map_range(shape, [](int64_t size) { return std::to_string(size); }), ", ") + "]";
}

std::optional<int64_t> gnnc::countElements(llvm::ArrayRef<int64_t> shape) {
  // A zero makes the product zero wherever it stands, but the other sizes must still be sizes.
  bool empty = llvm::is_contained(shape, 0);
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    if (empty)
      continue;
    std::optional<int64_t> product = llvm::checkedMul(count, size);
    if (!product)
      return std::nullopt;
    count = *product;
  }
  return empty ? 0 : count;
}

/// Bytes of an element of any type the format has; 0 for an unknown name.
static uint64_t bytesOfTypeName(llvm::StringRef name) {
  static const std::pair<llvm::StringRef, uint64_t> widths[] = {
      {"F32", 4}, {"F64", 8}, {"I32", 4}, {"I64", 8}, {"BOOL", 1}, {"U8", 1},      {"I8", 1},      {"U16", 2},
      {"I16", 2}, {"F16", 2}, {"U32", 4}, {"U64", 8}, {"BF16", 2}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"C64", 8}};
  for (const auto &[known, bytes] : widths)
    if (known == name)
      return bytes;
  return 0;
}

static std::optional<ElementType> elementTypeOfName(llvm::StringRef name) {
  for (ElementType type :
       {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16, ElementType::I32, ElementType::I64})
    if (elementTypeName(type) == name)
      return type;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

static llvm::Error malformed(llvm::StringRef path, const llvm::Twine &what) {
  return llvm::createStringError("'" + path + "' is not a valid safetensors file: " + what);
}

static llvm::Error malformed(llvm::StringRef path, llvm::StringRef tensor, const llvm::Twine &what) {
  return malformed(path, "tensor '" + tensor + "': " + what);
}

/// A list of sizes or offsets: integers of 0 … 2^63-1.
static bool readSizes(const json &list, std::vector<int64_t> &sizes) {
  if (!list.is_array())
    return false;
  for (const json &item : list) {
    const auto *value = item.get_ptr<const json::number_unsigned_t *>();
    if (!value || *value > static_cast<uint64_t>(INT64_MAX))
      return false;
    sizes.push_back(static_cast<int64_t>(*value));
  }
  return true;
}

/// The text's JSON without its duplicates passing unseen: what the first name is of that occurs twice, such as
/// "tensor 'x'", goes to `duplicate`.
static json parseHeader(llvm::StringRef text, std::string &duplicate) {
  llvm::StringSet<> seen, inside;
  std::string outer;
  auto noteName = [&](int depth, json::parse_event_t event, json &value) {
    const auto *name = event == json::parse_event_t::key && depth <= 2 ? value.get_ptr<const std::string *>() : nullptr;
    if (!name)
      return true;
    if (depth == 1) {
      outer = *name;
      inside.clear();
    }
    if ((depth == 1 ? seen : inside).insert(*name).second || !duplicate.empty())
      return true;
    duplicate = outer == "__metadata__" ? "metadata" : "tensor '" + outer + "'";
    if (depth == 2)
      duplicate += " '" + *name + "'";
    return true;
  };
  return json::parse(text.begin(), text.end(), noteName, /*allow_exceptions=*/false);
}

llvm::Error SafetensorsFile::readHeader() {
  llvm::StringRef bytes = buffer->getBuffer();
  if (bytes.size() < 8)
    return malformed(filePath, "expected at least 8 bytes, found " + llvm::Twine(bytes.size()));
  uint64_t headerBytes = llvm::support::endian::read64le(bytes.data());
  if (headerBytes > bytes.size() - 8)
    return malformed(filePath, "the header is said to have " + llvm::Twine(headerBytes) + " bytes, found " +
                                   llvm::Twine(bytes.size() - 8));
  if (headerBytes > kMaxHeaderBytes)
    return malformed(filePath, "expected a header of at most " + llvm::Twine(kMaxHeaderBytes) + " bytes, found " +
                                   llvm::Twine(headerBytes));

  std::string duplicate;
  json header = parseHeader(bytes.substr(8, headerBytes), duplicate);
  if (!header.is_object())
    return malformed(filePath, "expected a JSON object as header, found " +
                                   llvm::Twine(header.is_discarded() ? "text that is not JSON" : header.type_name()));
  if (!duplicate.empty())
    return malformed(filePath, duplicate + ": expected one entry, found two");

  uint64_t dataBytes = bytes.size() - 8 - headerBytes;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object())
        return malformed(filePath, llvm::Twine("expected an object as '__metadata__', found ") + entry.type_name());
      for (const auto &[key, value] : entry.items()) {
        const auto *text = value.get_ptr<const std::string *>();
        if (!text)
          return malformed(filePath,
                           "metadata '" + llvm::Twine(key) + "': expected a string, found " + value.type_name());
        metadataMap[key] = *text;
      }
      continue;
    }
    if (!entry.is_object())
      return malformed(filePath, name, llvm::Twine("expected an object, found ") + entry.type_name());
    auto member = [&](const char *key) {
      auto found = entry.find(key);
      return found == entry.end() ? json() : *found;
    };

    FileTensor tensor;
    tensor.name = name;
    json type = member("dtype");
    const auto *typeName = type.get_ptr<const std::string *>();
    uint64_t width = typeName ? bytesOfTypeName(*typeName) : 0;
    if (width == 0)
      return malformed(filePath, name,
                       "expected a known dtype, found " + (typeName ? "'" + *typeName + "'" : std::string("none")));
    tensor.typeName = *typeName;
    tensor.type = elementTypeOfName(*typeName);
    tensor.width = int64_t(width);

    if (!readSizes(member("shape"), tensor.shape))
      return malformed(filePath, name, "expected a list of sizes as shape");
    std::optional<int64_t> elements = countElements(tensor.shape);
    std::optional<int64_t> needed = elements ? llvm::checkedMul(*elements, int64_t(width)) : std::nullopt;
    if (!needed)
      return malformed(filePath, name, "shape " + formatShape(tensor.shape) + " has more elements than fit in memory");
    tensor.elements = *elements;

    std::vector<int64_t> offsets;
    if (!readSizes(member("data_offsets"), offsets) || offsets.size() != 2)
      return malformed(filePath, name, "expected two offsets as data_offsets");
    if (offsets[0] > offsets[1] || uint64_t(offsets[1]) > dataBytes)
      return malformed(filePath, name,
                       "expected offsets within the " + llvm::Twine(dataBytes) + " bytes of data, found " +
                           formatShape(offsets));
    if (offsets[1] - offsets[0] != *needed)
      return malformed(filePath, name,
                       "shape " + formatShape(tensor.shape) + " of " + *typeName + " needs " + llvm::Twine(*needed) +
                           " bytes, found " + llvm::Twine(offsets[1] - offsets[0]));
    ranges.push_back({uint64_t(offsets[0]), uint64_t(offsets[1])});
    list.push_back(std::move(tensor));
  }
  return placeTensors(8 + headerBytes);
}

llvm::Error SafetensorsFile::placeTensors(uint64_t dataBegin) {
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::erase_if(order, [&](size_t i) { return ranges[i].begin == ranges[i].end; });
  llvm::sort(order, [&](size_t a, size_t b) { return ranges[a].begin < ranges[b].begin; });
  for (size_t i = 1; i < order.size(); ++i)
    if (ranges[order[i]].begin < ranges[order[i - 1]].end)
      return malformed(filePath, "tensors '" + list[order[i - 1]].name + "' and '" + list[order[i]].name + "' overlap");

  for (size_t i = 0; i < list.size(); ++i) {
    FileTensor &tensor = list[i];
    byName[tensor.name] = i;
    const char *data = buffer->getBufferStart() + dataBegin + ranges[i].begin;
    size_t bytes = ranges[i].end - ranges[i].begin;
    // Other writers need not align; whoever reads elements must not meet that.
    bool aligned = !tensor.type || reinterpret_cast<uintptr_t>(data) % elementBytes(*tensor.type) == 0;
    if (!aligned && bytes > 0) {
      realigned.push_back(std::make_unique<uint64_t[]>((bytes + 7) / 8));
      std::memcpy(realigned.back().get(), data, bytes);
      data = reinterpret_cast<const char *>(realigned.back().get());
    }
    tensor.data = data;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

llvm::Expected<SafetensorsFile> SafetensorsFile::open(llvm::StringRef path) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> bytes = readInputFile(path);
  if (!bytes)
    return bytes.takeError();
  return parse(std::move(*bytes), path);
}

llvm::Expected<SafetensorsFile> SafetensorsFile::parse(std::unique_ptr<llvm::MemoryBuffer> bytes,
                                                       llvm::StringRef name) {
  SafetensorsFile file;
  file.filePath = name.str();
  file.buffer = std::move(bytes);
  if (llvm::Error error = file.readHeader())
    return std::move(error);
  return std::move(file);
}

const FileTensor *SafetensorsFile::find(llvm::StringRef name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &list[found->second];
}

llvm::Expected<const FileTensor *> SafetensorsFile::get(llvm::StringRef name) const {
  const FileTensor *tensor = find(name);
  if (!tensor)
    return llvm::createStringError("'" + filePath + "' has no tensor '" + name + "'");
  if (!tensor->type)
    return llvm::createStringError("'" + filePath + "': tensor '" + name +
                                   "': expected dtype F32, F64, BF16, F16, I32 or I64, found " + tensor->typeName);
  return tensor;
}

const std::string *SafetensorsFile::findMetadata(llvm::StringRef key) const {
  auto found = metadataMap.find(key.str());
  return found == metadataMap.end() ? nullptr : &found->second;
}
