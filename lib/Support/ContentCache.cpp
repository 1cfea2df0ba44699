//===- ContentCache.cpp - Compiled kernels by content ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry is the hash of its bytes and then the bytes, so that a file somebody has cut short is not taken for one.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/ContentCache.h"
#include "gnnc/Support/OutputFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <dlfcn.h>

using namespace gnnc;

/// CachePruning looks at files of this name alone.
static constexpr llvm::StringLiteral kPrefix = "llvmcache-";

static std::string hash(llvm::StringRef text) {
  llvm::BLAKE3Result<> result =
      llvm::BLAKE3::hash(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  return llvm::toHex(result, /*LowerCase=*/true);
}

ContentCache::ContentCache(llvm::StringRef key) {
  llvm::SmallString<256> folder;
  if (auto home = llvm::sys::Process::GetEnv("XDG_CACHE_HOME"); home && !home->empty())
    folder = *home;
  else if (auto home = llvm::sys::Process::GetEnv("HOME"); home && !home->empty())
    llvm::sys::path::append(folder, *home, ".cache");
  else
    return;
  llvm::sys::path::append(folder, "gnnc", kPrefix + hash(key));
  path = std::string(folder);
}

bool ContentCache::read(std::string &bytes) const {
  if (path.empty())
    return false;
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return false;
  llvm::StringRef content = (*file)->getBuffer();
  if (content.size() < 64 || hash(content.drop_front(64)) != content.take_front(64))
    return false;
  bytes = content.drop_front(64).str();
  return true;
}

void ContentCache::write(llvm::StringRef bytes) const {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (path.empty() || llvm::sys::fs::create_directories(folder))
    return;
  llvm::consumeError(writeOutputFile(path, hash(bytes) + bytes.str()));
  llvm::CachePruningPolicy policy; // at most every 20 minutes
  policy.MaxSizeBytes = uint64_t(1) << 30;
  llvm::pruneCache(folder, policy);
}

std::string gnnc::identityOfFile(llvm::StringRef path) {
  llvm::sys::fs::file_status file;
  if (llvm::sys::fs::status(path, file))
    return "";
  return std::to_string(file.getSize()) + " " +
         std::to_string(file.getLastModificationTime().time_since_epoch().count());
}

std::string gnnc::identityOfCode(const void *symbol) {
  Dl_info info;
  if (!dladdr(symbol, &info) || !info.dli_fname)
    return "";
  // A program is known by the name that it was called by.
  std::string identity = identityOfFile(info.dli_fname);
  return identity.empty() ? identityOfFile("/proc/self/exe") : identity;
}
