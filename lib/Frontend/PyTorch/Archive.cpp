//===- Archive.cpp - Entries of a zip archive -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Archive.h"
#include "JSON/JSONCursor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <zip.h>

using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// Weights are stored as they are, so real archives hardly unfold at all; zeros that somebody compressed do.
static constexpr uint64_t kExpansion = 64, kExpansionBytes = uint64_t(64) << 20;
/// What deflate can make of one byte at most.
static constexpr uint64_t kDeflateRatio = 1032;

void Archive::Discard::operator()(zip *archive) const { zip_discard(archive); }

Error Archive::error(StringRef name, const Twine &text) const {
  return llvm::createStringError("'" + path + "': " + (name.empty() ? "" : name + ": ") + text);
}

static std::string messageOf(zip_error_t *error) { return zip_error_strerror(error); }

Expected<Archive> Archive::open(std::unique_ptr<llvm::MemoryBuffer> bytes, StringRef path) {
  Archive result;
  result.path = path.str();
  result.bytes = std::move(bytes);
  StringRef data = result.bytes->getBuffer();
  result.budget = data.size() > (UINT64_MAX - kExpansionBytes) / kExpansion
                      ? UINT64_MAX
                      : data.size() * kExpansion + kExpansionBytes;
  zip_error_t failure;
  zip_error_init(&failure);
  auto failed = [&] {
    Error error = result.error("", "expected a zip archive as torch.export.save writes, found: " + messageOf(&failure));
    zip_error_fini(&failure);
    return error;
  };
  zip_source_t *source = zip_source_buffer_create(data.data(), data.size(), /*freep=*/0, &failure);
  if (!source)
    return failed();
  result.archive.reset(zip_open_from_source(source, ZIP_RDONLY, &failure));
  if (!result.archive) {
    zip_source_free(source);
    return failed();
  }
  zip_error_fini(&failure);
  if (Error error = result.list())
    return std::move(error);
  return std::move(result);
}

Error Archive::list() {
  zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  if (count <= 0)
    return error("", "expected a zip archive as torch.export.save writes, found: no entries");
  for (zip_int64_t i = 0; i < count; ++i)
    if (Error error = addEntry(uint64_t(i)))
      return error;
  return Error::success();
}

/// Why a name is none that an archive may have; empty if it may.
static std::string faultOf(StringRef name) {
  if (!llvm::json::isUTF8(name))
    return "expected a name in UTF-8";
  if (name.empty() || name.front() == '/' || name.contains('\\') || (name.size() > 1 && name[1] == ':'))
    return "expected a name relative to the archive";
  if (llvm::any_of(name, [](char c) { return (unsigned char)c < 0x20 || c == 0x7f; }))
    return "expected a name without control characters";
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '/');
  if (llvm::is_contained(parts, "..") || llvm::is_contained(parts, "."))
    return "expected a name that stays within the archive";
  return "";
}

Error Archive::addEntry(uint64_t index) {
  auto place = [&] { return "entry " + std::to_string(index); };
  const char *raw = zip_get_name(archive.get(), index, ZIP_FL_ENC_RAW);
  if (!raw)
    return error(place(), "expected a name, found: " + messageOf(zip_get_error(archive.get())));
  StringRef full(raw);
  if (std::string fault = faultOf(full); !fault.empty())
    return error(place(), fault + ", found " + quoteName(llvm::json::fixUTF8(full)));
  if (full.ends_with("/")) // a folder, as other programs write them
    return Error::success();
  // Archives of torch before 2.8 have no folder; they are told by what they contain.
  if (entries.empty())
    folder = full.contains('/') ? full.split('/').first.str() : "";
  StringRef name = full;
  if (!folder.empty() && !(name.consume_front(folder) && name.consume_front("/")))
    return error(place(), "expected all entries in the folder " + quoteName(folder) + ", found " + quoteName(full));

  zip_stat_t status;
  zip_stat_init(&status);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if (zip_stat_index(archive.get(), index, 0, &status) != 0 || (status.valid & kNeeded) != kNeeded)
    return error(name, "expected sizes in the archive's directory, found none");
  if (status.comp_method != ZIP_CM_STORE && status.comp_method != ZIP_CM_DEFLATE)
    return error(name, "expected an entry that is stored or deflated, found method " + Twine(status.comp_method));
  if ((status.valid & ZIP_STAT_ENCRYPTION_METHOD) && status.encryption_method != ZIP_EM_NONE)
    return error(name, "expected an entry that is not encrypted");
  if (status.comp_size > bytes->getBufferSize())
    return error(name, "the archive gives " + Twine(status.comp_size) + " bytes, but the file has only " +
                           Twine(bytes->getBufferSize()));
  bool isStored = status.comp_method == ZIP_CM_STORE;
  uint64_t most = isStored ? status.comp_size : status.comp_size * kDeflateRatio;
  if (isStored ? status.size != most : status.size > most)
    return error(name, "the archive gives " + Twine(status.size) + " bytes, which " + Twine(status.comp_size) +
                           (isStored ? " stored bytes are not" : " deflated bytes cannot hold"));
  if (!entries.try_emplace(name.str(), Entry{index, status.size}).second)
    return error(name, "expected one entry of this name, found two");
  return Error::success();
}

std::vector<std::string> Archive::names() const {
  std::vector<std::string> result;
  for (const auto &[name, entry] : entries)
    result.push_back(name);
  return result;
}

Error Archive::spend(StringRef name, uint64_t amount) {
  if (amount > budget)
    return error(name, "takes " + Twine(amount) + " bytes, of which " + Twine(budget) + " are left; a file of " +
                           Twine(bytes->getBufferSize()) + " bytes may unfold to " + Twine(kExpansion) +
                           " times its size and 64 MiB");
  budget -= amount;
  return Error::success();
}

Expected<std::vector<std::byte>> Archive::read(StringRef name, uint64_t most) {
  auto found = entries.find(name);
  if (found == entries.end())
    return error(name, "expected this entry in the archive, found none");
  auto [index, size] = found->second;
  if (size > most)
    return error(name, "expected at most " + Twine(most) + " bytes, found " + Twine(size));
  if (Error error = spend(name, size))
    return std::move(error);
  std::unique_ptr<zip_file_t, int (*)(zip_file_t *)> file(zip_fopen_index(archive.get(), index, 0), zip_fclose);
  if (!file)
    return error(name, "cannot be read: " + messageOf(zip_get_error(archive.get())));
  std::vector<std::byte> data(size);
  uint64_t done = 0;
  while (done < size) {
    zip_int64_t count = zip_fread(file.get(), data.data() + done, size - done);
    if (count < 0)
      return error(name, "cannot be read: " + messageOf(zip_file_get_error(file.get())));
    if (count == 0)
      return error(name, "expected " + Twine(size) + " bytes, found " + Twine(done));
    done += uint64_t(count);
  }
  // At the end the check sum is compared.
  std::byte more;
  zip_int64_t rest = zip_fread(file.get(), &more, 1);
  if (rest < 0)
    return error(name, "cannot be read: " + messageOf(zip_file_get_error(file.get())));
  if (rest > 0)
    return error(name, "expected " + Twine(size) + " bytes, found more");
  return data;
}

Expected<std::string> Archive::readText(StringRef name, uint64_t most) {
  Expected<std::vector<std::byte>> data = read(name, most);
  if (!data)
    return data.takeError();
  return std::string(reinterpret_cast<const char *>(data->data()), data->size());
}
