//===- Archive.h - Entries of a zip archive ---------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An archive that torch wrote, or that somebody packed again: entries stored or deflated, zip64 or not. Nothing in it
// is trusted. Sizes come from the central directory, are compared with the file's length before memory is taken for
// them, and with what is really there when an entry is read. All errors are one line that begins with the file's name.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_ARCHIVE_H
#define GNNC_LIB_FRONTEND_PYTORCH_ARCHIVE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct zip;

namespace gnnc::frontend::pytorch {

class Archive {
public:
  /// The archive in `bytes`; `path` is for messages. Names of entries are taken without their first folder, which must
  /// be the same for all.
  static llvm::Expected<Archive> open(std::unique_ptr<llvm::MemoryBuffer> bytes, llvm::StringRef path);

  Archive(Archive &&) = default;
  Archive &operator=(Archive &&) = default;

  bool has(llvm::StringRef name) const { return entries.count(name) != 0; }
  /// Names of all entries, without their folder, in order.
  std::vector<std::string> names() const;
  /// The uncompressed size in bytes that the archive gives for an entry that is there.
  uint64_t sizeOf(llvm::StringRef name) const { return entries.find(name)->second.size; }

  /// The entry's bytes. An error if it is missing, longer than `most`, not as long as the archive says, or damaged.
  llvm::Expected<std::vector<std::byte>> read(llvm::StringRef name, uint64_t most = UINT64_MAX);
  llvm::Expected<std::string> readText(llvm::StringRef name, uint64_t most);

  /// Takes `bytes` from what may be made of a file of this length. An archive that unfolds to far more than its own
  /// size is a bomb.
  llvm::Error spend(llvm::StringRef name, uint64_t bytes);

  /// `'m.pt2': data/weights/weight_0: ` and the text; without a name only the file.
  llvm::Error error(llvm::StringRef name, const llvm::Twine &text) const;

private:
  struct Entry {
    uint64_t index = 0, size = 0;
  };
  struct Discard {
    void operator()(zip *archive) const;
  };

  Archive() = default;
  llvm::Error list();
  llvm::Error addEntry(uint64_t index);

  std::string path;
  std::unique_ptr<llvm::MemoryBuffer> bytes; // outlives `archive`, which reads it
  std::unique_ptr<zip, Discard> archive;
  std::map<std::string, Entry, std::less<>> entries;
  std::string folder;
  uint64_t budget = 0;
};

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_ARCHIVE_H
