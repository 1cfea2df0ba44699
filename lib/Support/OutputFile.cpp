//===- OutputFile.cpp - Files that are never half-written -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <filesystem>
#include <unistd.h>
#include <utility>

using namespace gnnc;

static llvm::Error cannotWrite(llvm::StringRef path, std::error_code code) {
  return llvm::createStringError(code, "cannot write '%s': %s", path.str().c_str(), code.message().c_str());
}

static llvm::Error writeDirectly(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::error_code code;
  llvm::raw_fd_ostream out(path, code, llvm::sys::fs::OF_None);
  if (code)
    return cannotWrite(path, code);
  write(out);
  out.close();
  if (out.has_error()) {
    code = out.error();
    out.clear_error();
    return cannotWrite(path, code);
  }
  return llvm::Error::success();
}

/// Where a symbolic link to a file that does not exist yet leads in the end, through other links too.
static llvm::Expected<llvm::SmallString<256>> followLinks(llvm::StringRef path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40; // as Linux
  fs::path place = path.str();
  std::error_code code;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!fs::is_symlink(fs::symlink_status(place, code)))
      return llvm::SmallString<256>(place.string());
    fs::path next = fs::read_symlink(place, code);
    if (code)
      return cannotWrite(path, code);
    place = next.is_absolute() ? next : place.parent_path() / next;
  }
  return cannotWrite(path, std::make_error_code(std::errc::too_many_symbolic_link_levels));
}

namespace {

/// A new file beside another, which is gone unless it takes the other's place. llvm::sys::fs::TempFile takes each % of
/// a name for something to replace, also those of the folder.
struct Temporary {
  std::string path;
  int descriptor = -1;

  std::error_code create(llvm::StringRef beside) {
    namespace fs = llvm::sys::fs;
    constexpr int kMostTrials = 128;
    std::error_code code;
    for (int i = 0; i < kMostTrials; ++i) {
      llvm::SmallString<16> unique;
      fs::createUniquePath("%%%%%%", unique, /*MakeAbsolute=*/false);
      path = (beside + "." + unique + ".tmp").str();
      code = fs::openFileForWrite(path, descriptor, fs::CD_CreateNew, fs::OF_None);
      if (code != std::errc::file_exists)
        break;
    }
    if (!code)
      llvm::sys::RemoveFileOnSignal(path);
    return code;
  }
  std::error_code close() {
    int open = std::exchange(descriptor, -1);
    return open >= 0 && ::close(open) ? std::error_code(errno, std::generic_category()) : std::error_code();
  }
  std::error_code keep(llvm::StringRef name) {
    std::error_code code = close();
    if (!code)
      code = llvm::sys::fs::rename(path, name);
    if (code)
      llvm::sys::fs::remove(path);
    llvm::sys::DontRemoveFileOnSignal(path);
    return code;
  }
  void discard() {
    close();
    llvm::sys::fs::remove(path);
    llvm::sys::DontRemoveFileOnSignal(path);
  }
};

} // namespace

/// What to write to so that a whole file takes the place of `path` in the end.
struct PendingFile::Target {
  llvm::SmallString<256> name;              ///< without links
  std::optional<llvm::sys::fs::perms> mode; ///< of the file that is there
  std::optional<Temporary> file;            ///< none for a device or a pipe, which a rename would replace by a file

  static llvm::Expected<Target> open(llvm::StringRef path);
};

llvm::Expected<PendingFile::Target> PendingFile::Target::open(llvm::StringRef path) {
  namespace fs = llvm::sys::fs;
  fs::file_status status;
  bool exists = !fs::status(path, status) && fs::exists(status);
  if (exists && fs::is_directory(status))
    return cannotWrite(path, std::make_error_code(std::errc::is_a_directory));
  Target target;
  target.name = path;
  if (exists && !fs::is_regular_file(status))
    return std::move(target);
  if (exists) {
    if (std::error_code code = fs::real_path(path, target.name))
      return cannotWrite(path, code);
  } else {
    llvm::Expected<llvm::SmallString<256>> name = followLinks(path);
    if (!name)
      return name.takeError();
    target.name = std::move(*name);
  }
  if (std::error_code code = target.file.emplace().create(target.name))
    return cannotWrite(path, code);
  if (exists)
    target.mode = status.permissions();
  return std::move(target);
}

llvm::Error gnnc::checkOutputFile(llvm::StringRef path) {
  llvm::Expected<PendingFile::Target> target = PendingFile::Target::open(path);
  if (!target)
    return target.takeError();
  if (target->file)
    target->file->discard();
  return llvm::Error::success();
}

PendingFile::PendingFile() = default;
PendingFile::PendingFile(PendingFile &&) = default;

PendingFile::~PendingFile() {
  if (target)
    target->file->discard();
}

llvm::Expected<PendingFile> PendingFile::write(llvm::StringRef path,
                                               llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::Expected<Target> opened = Target::open(path);
  if (!opened)
    return opened.takeError();
  PendingFile result;
  result.path = path.str();
  if (!opened->file) {
    if (llvm::Error error = writeDirectly(path, write))
      return std::move(error);
    return std::move(result);
  }
  result.target = std::make_unique<Target>(std::move(*opened)); // discarded on errors
  Temporary &temporary = *result.target->file;
  std::error_code failed;
  {
    llvm::raw_fd_ostream out(temporary.descriptor, /*shouldClose=*/false);
    write(out);
    out.flush();
    failed = out.error();
    out.clear_error(); // an unread error would end the process in the destructor
  }
  if (!failed && result.target->mode)
    failed = llvm::sys::fs::setPermissions(temporary.descriptor, *result.target->mode);
  if (failed)
    return cannotWrite(path, failed);
  return std::move(result);
}

llvm::Error PendingFile::keep() {
  std::unique_ptr<Target> last = std::move(target);
  if (last)
    if (std::error_code code = last->file->keep(last->name))
      return cannotWrite(path, code);
  return llvm::Error::success();
}

llvm::Error gnnc::writeOutputFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::Expected<PendingFile> file = PendingFile::write(path, write);
  return file ? file->keep() : file.takeError();
}

llvm::Error gnnc::writeOutputFile(llvm::StringRef path, llvm::StringRef bytes) {
  return writeOutputFile(path, [&](llvm::raw_ostream &out) { out << bytes; });
}
