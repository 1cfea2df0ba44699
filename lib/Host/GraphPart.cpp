//===- GraphPart.cpp - What a graph file is a part of ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphPart.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace gnnc;

llvm::Error GraphPart::wrong(const llvm::Twine &what) const {
  return llvm::createStringError("graph '" + file->path() + "': " + what);
}

llvm::Expected<int64_t> GraphPart::integer(llvm::StringRef key, int64_t least, int64_t most) const {
  const std::string *text = file->findMetadata(key);
  int64_t value = 0;
  if (!text || llvm::StringRef(*text).getAsInteger(10, value) || value < least || value > most)
    return wrong("metadata '" + key + "': expected a number from " + llvm::Twine(least) + " to " + llvm::Twine(most) +
                 ", found " + (text ? "'" + *text + "'" : std::string("none")));
  return value;
}

llvm::Expected<GraphPart> GraphPart::read(const SafetensorsFile &file) {
  constexpr int64_t kMost = 1 << 20;
  GraphPart part(file);
  if (!file.findMetadata("parts"))
    return std::move(part);
  llvm::Expected<int64_t> parts = part.integer("parts", 1, kMost);
  if (!parts)
    return parts.takeError();
  llvm::Expected<int64_t> rank = part.integer("rank", 0, *parts - 1);
  if (!rank)
    return rank.takeError();
  part.count = int(*parts);
  part.number = int(*rank);
  if (const std::string *text = file.findMetadata("partition"))
    part.digest = *text;
  return std::move(part);
}

static std::string wholeKey(llvm::StringRef space) { return ("num_" + space + "s.global").str(); }

std::optional<int64_t> GraphPart::wholeExtent(llvm::StringRef space) const {
  llvm::Expected<int64_t> extent = integer(wholeKey(space), 0, INT64_MAX);
  if (extent)
    return *extent;
  llvm::consumeError(extent.takeError());
  return std::nullopt;
}

/// The numbers of an I32 or I64 tensor of one axis.
static std::optional<std::vector<int64_t>> numbersOf(const FileTensor *tensor) {
  std::vector<int64_t> numbers;
  if (!tensor || !tensor->type || isFloat(*tensor->type) || tensor->shape.size() != 1)
    return std::nullopt;
  for (int64_t i = 0; i < tensor->elements; ++i)
    numbers.push_back(*tensor->type == ElementType::I32 ? int64_t(tensor->as<int32_t>()[size_t(i)])
                                                        : tensor->as<int64_t>()[size_t(i)]);
  return numbers;
}

llvm::Expected<std::vector<int64_t>> GraphPart::globalNumbers(llvm::StringRef space) const {
  std::string name = (space + ".global").str();
  std::optional<std::vector<int64_t>> numbers = numbersOf(file->find(name));
  std::optional<int64_t> extent = wholeExtent(space);
  if (!numbers || !extent)
    return wrong("expected tensor '" + name + "' of dtype I32 or I64 and metadata '" + wholeKey(space) +
                 "', as gnnc partition writes them");
  for (auto [i, number] : llvm::enumerate(*numbers)) {
    if (number < 0 || number >= *extent)
      return wrong("tensor '" + name + "': expected numbers below " + llvm::Twine(*extent) + ", found " +
                   llvm::Twine(number));
    if (i > 0 && number <= (*numbers)[i - 1])
      return wrong("tensor '" + name + "': expected each number once, in rising order, found " + llvm::Twine(number) +
                   " after " + llvm::Twine((*numbers)[i - 1]));
  }
  return std::move(*numbers);
}

llvm::Expected<std::vector<int64_t>> GraphPart::sentNumbers(llvm::StringRef space, int64_t own) const {
  std::string name = (space + ".sent").str();
  std::optional<std::vector<int64_t>> numbers = numbersOf(file->find(name));
  if (!numbers)
    return wrong("expected tensor '" + name + "' of dtype I32 or I64, as gnnc partition writes it");
  for (int64_t number : *numbers)
    if (number < 0 || number >= own)
      return wrong("tensor '" + name + "': expected numbers below " + llvm::Twine(own) + ", found " +
                   llvm::Twine(number));
  return std::move(*numbers);
}

llvm::Error GraphPart::check(const ModelInfo &model) const {
  if (count == 1)
    return llvm::Error::success();
  if (!model.distributed)
    return wrong("this is part " + llvm::Twine(number) + " of " + llvm::Twine(count) + ", but model '" + model.name +
                 "' was not compiled with --distributed");
  for (const auto &[space, map] : model.distributed->along)
    if (const std::string *found = file->findMetadata("along." + space); found && *found != map)
      return wrong("its elements of '" + space + "' go along '" + *found + "', but model '" + model.name +
                   "' was compiled for '" + map + "': expected --along " + map + " of gnnc partition, or --along " +
                   *found + " of gnnc compile");
  return llvm::Error::success();
}

llvm::Expected<std::vector<gnnc_row_counts>> GraphPart::rowCounts(const ModelInfo &model) {
  std::vector<gnnc_row_counts> all;
  if (count == 1 || !model.distributed)
    return std::move(all);
  for (const SpaceInfo &space : model.spaces) {
    auto [base, role] = model.haloRole(space.name);
    if (role != HaloRole::Halo && role != HaloRole::Send)
      continue;
    std::string name = space.name + ".counts";
    std::optional<std::vector<int64_t>> counts = numbersOf(file->find(name));
    // A map of the model that the partition did not follow has no halo.
    if (!counts || int64_t(counts->size()) != count)
      return wrong("expected tensor '" + name + "' with " + llvm::Twine(count) +
                   " numbers of dtype I32 or I64: gnnc partition writes it where a map of the graph leads to '" + base +
                   "' of other parts (--model follows those of a model)");
    kept.push_back(std::move(*counts));
    all.push_back({space.name.c_str(), kept.back().data()});
  }
  return std::move(all);
}
