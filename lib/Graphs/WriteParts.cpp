//===- WriteParts.cpp - The files of a graph's parts ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One part after the other, so that memory holds one at a time, into a new folder beside the one that is asked for,
// which takes its name in the end.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Graphs/PartitionFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <cstring>
#include <deque>

using namespace gnnc;
namespace fs = llvm::sys::fs;

namespace {

/// The tensors of one part, with their memory.
class PartWriter {
public:
  SafetensorsWriter writer;

  llvm::Error addNumbers(llvm::StringRef name, llvm::ArrayRef<int32_t> numbers) {
    return writer.add(name, ElementType::I32, {int64_t(numbers.size())}, keep(numbers.vec()));
  }
  /// Integers of the type that they have in `like`.
  llvm::Error addTargets(const FileTensor &like, std::vector<int64_t> shape, llvm::ArrayRef<int32_t> targets) {
    if (like.type != ElementType::I64)
      return writer.add(like.name, ElementType::I32, shape, keep(targets.vec()));
    std::vector<int64_t> &wide = wides.emplace_back(targets.begin(), targets.end());
    return writer.add(like.name, ElementType::I64, shape, wide.data());
  }
  /// Rows of `from`, which has as many as its first axis says.
  llvm::Error addRows(const FileTensor &from, llvm::ArrayRef<int32_t> rows, const std::string &name) {
    FileTensor cut = from;
    cut.name = name;
    size_t bytes = from.shape[0] ? size_t(from.bytes() / from.shape[0]) : 0;
    cut.shape[0] = int64_t(rows.size());
    cut.elements = from.shape[0] ? from.elements / from.shape[0] * cut.shape[0] : 0;
    std::vector<char> &to = bytesOfRows.emplace_back(rows.size() * bytes);
    for (auto [place, row] : llvm::enumerate(rows))
      std::memcpy(to.data() + place * bytes, static_cast<const char *>(from.data) + size_t(row) * bytes, bytes);
    return writer.addLike(cut, to.data());
  }

private:
  const int32_t *keep(std::vector<int32_t> numbers) { return narrows.emplace_back(std::move(numbers)).data(); }
  std::deque<std::vector<int32_t>> narrows;
  std::deque<std::vector<int64_t>> wides;
  std::deque<std::vector<char>> bytesOfRows;
};

} // namespace

static llvm::Error cannotWrite(llvm::StringRef path, std::error_code code) {
  return llvm::createStringError(code, "cannot write '%s': %s", path.str().c_str(), code.message().c_str());
}

std::string PartitionedGraph::digest() const {
  std::string text = llvm::utohexstr(parted->digest());
  for (const auto &[key, value] : file->metadata())
    text += "\n" + key + "\n" + value;
  for (const FileTensor &tensor : file->tensors()) {
    llvm::ArrayRef<uint8_t> bytes(static_cast<const uint8_t *>(tensor.data), size_t(tensor.bytes()));
    text += "\n" + tensor.name + " " + tensor.typeName + formatShape(tensor.shape) +
            llvm::utohexstr(llvm::xxh3_64bits(bytes));
  }
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

llvm::Error PartitionedGraph::writePart(llvm::StringRef path, int rank, llvm::StringRef digest) const {
  PartWriter part;
  for (const auto &[key, value] : file->metadata())
    part.writer.addMetadata(key, value);
  part.writer.addMetadata("parts", std::to_string(parted->parts()));
  part.writer.addMetadata("rank", std::to_string(rank));
  part.writer.addMetadata("partition", digest);
  for (auto [number, space] : llvm::enumerate(graph->spaces)) {
    const PartOfSpace &of = parted->part(number, rank);
    std::string key = "num_" + space.name + "s";
    part.writer.addMetadata(key, std::to_string(parted->ownCount(number, rank)));
    part.writer.addMetadata(key + ".global", std::to_string(space.extent));
    if (space.along)
      part.writer.addMetadata("along." + space.name, graph->maps[*space.along].name);
    if (llvm::Error e = part.addNumbers(space.name + ".global", parted->own(number, rank)))
      return e;
    if (!parted->hasHalo(number))
      continue;
    part.writer.addMetadata("num_" + space.name + ".halos", std::to_string(of.halo.size()));
    part.writer.addMetadata("num_" + space.name + ".sends", std::to_string(of.sent.size()));
    for (auto [name, numbers] : {std::pair(".halo.global", &of.halo), std::pair(".sent", &of.sent),
                                 std::pair(".send.counts", &of.sentCounts), std::pair(".halo.counts", &of.haloCounts)})
      if (llvm::Error e = part.addNumbers(space.name + name, *numbers))
        return e;
  }

  for (const FileTensor &tensor : file->tensors()) {
    const Role &role = roles.at(tensor.name);
    llvm::Error failed = [&]() -> llvm::Error {
      switch (role.kind) {
      case Kind::Whole:
        return part.writer.addLike(tensor, tensor.data);
      case Kind::Extent: // of the whole graph: metadata has the part's
        return llvm::Error::success();
      case Kind::Rows: {
        if (auto name = ofHalo.find(tensor.name); name != ofHalo.end())
          if (llvm::Error e = part.addRows(tensor, parted->part(role.number, rank).halo, name->second))
            return e;
        return part.addRows(tensor, parted->own(role.number, rank), tensor.name);
      }
      case Kind::Map: {
        std::vector<int32_t> targets = parted->localTargets(role.number, rank);
        return part.addTargets(tensor, {int64_t(targets.size())}, targets);
      }
      case Kind::Relation: {
        std::vector<int32_t> targets = parted->localTargets(role.number, rank);
        int64_t count = int64_t(targets.size());
        llvm::append_range(targets, parted->localTargets(role.number + 1, rank));
        return part.addTargets(tensor, {2, count}, targets);
      }
      case Kind::GraphPointers:
        return file->find("batch") ? llvm::Error::success()
                                   : part.addNumbers("batch", parted->localTargets(role.number, rank));
      case Kind::RowPointers: {
        const std::vector<int32_t> &begins = rowPointers.at(role.sparse);
        std::vector<int32_t> pointers{0}, numbers;
        for (int32_t row : parted->own(role.number, rank)) {
          pointers.push_back(pointers.back() + begins[size_t(row) + 1] - begins[size_t(row)]);
          for (int32_t i = begins[size_t(row)]; i < begins[size_t(row) + 1]; ++i)
            numbers.push_back(i);
        }
        // Random numbers of entries are those of their numbers in the whole graph, too.
        part.writer.addMetadata("num_" + role.sparse + ".entrys.global", std::to_string(begins.back()));
        if (llvm::Error e = part.addNumbers(role.sparse + ".entry.global", numbers))
          return e;
        return part.addTargets(tensor, {int64_t(pointers.size())}, pointers);
      }
      case Kind::Entries: {
        const std::vector<int32_t> &begins = rowPointers.at(role.sparse);
        std::vector<int32_t> entries;
        for (int32_t row : parted->own(role.number, rank))
          for (int32_t i = begins[size_t(row)]; i < begins[size_t(row) + 1]; ++i)
            entries.push_back(i);
        return part.addRows(tensor, entries, tensor.name);
      }
      }
      llvm_unreachable("unknown kind of tensor");
    }();
    if (failed)
      return failed;
  }
  return part.writer.write(path);
}

static llvm::StringRef dropSeparators(llvm::StringRef folder) {
  while (folder.size() > 1 && llvm::sys::path::is_separator(folder.back()))
    folder = folder.drop_back();
  return folder;
}

llvm::Error gnnc::checkPartsFolder(llvm::StringRef folder) {
  auto expected = [&](llvm::StringRef found) {
    return llvm::createStringError("cannot write '" + folder + "': expected a folder that is new or empty" + found);
  };
  llvm::StringRef name = dropSeparators(folder), last = llvm::sys::path::filename(name);
  if (name.empty())
    return expected(", found no name");
  // A folder of that name may be there if it is empty: the rename replaces it, but not these.
  if (last == "." || last == ".." || llvm::sys::path::is_separator(last.front()))
    return expected(", found one without a name of its own");
  if (fs::is_symlink_file(name))
    return expected(", found a link");
  std::error_code code;
  if (fs::exists(name)) {
    if (!fs::is_directory(name))
      return cannotWrite(folder, std::make_error_code(std::errc::not_a_directory));
    if (fs::directory_iterator(name, code) != fs::directory_iterator())
      return expected("");
    if (code)
      return cannotWrite(folder, code);
  }
  llvm::StringRef parent = llvm::sys::path::parent_path(name);
  if ((code = fs::access(parent.empty() ? "." : parent, fs::AccessMode::Write)))
    return cannotWrite(folder, code);
  return llvm::Error::success();
}

llvm::Error PartitionedGraph::write(llvm::StringRef folder) const {
  if (llvm::Error error = checkPartsFolder(folder))
    return error;
  // Each % of the model of a unique name is replaced, so that the folder's name is no part of it.
  llvm::SmallString<256> name(dropSeparators(folder)), unique;
  fs::createUniquePath("%%%%%%", unique, /*MakeAbsolute=*/false);
  std::string temporary = (name + "." + unique + ".tmp").str();
  if (std::error_code code = fs::create_directory(temporary, /*IgnoreExisting=*/false, fs::perms::all_all))
    return cannotWrite(folder, code);
  llvm::scope_exit remove([&] { fs::remove_directories(temporary); });
  std::string known = digest();
  for (int rank = 0; rank < parted->parts(); ++rank) {
    llvm::SmallString<256> path(temporary);
    llvm::sys::path::append(path, "part." + llvm::Twine(rank) + ".safetensors");
    if (llvm::Error error = writePart(path, rank, known))
      return error;
  }
  if (std::error_code code = fs::rename(temporary, name))
    return cannotWrite(folder, code);
  remove.release();
  return llvm::Error::success();
}
