//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"
#include <cstdlib>
#include <cstring>

using namespace gnnc::table;

namespace gnnc::test {

int64_t ModelBuilder::name(const std::string &text) {
  int64_t at = static_cast<int64_t>(names.size());
  names += text;
  names += '\0';
  return at;
}

/// Lists start behind the header, whose size is known.
int64_t ModelBuilder::list(const Words &values) {
  int64_t at = static_cast<int64_t>(sizeof(Header) / sizeof(int64_t) + words.size());
  words.insert(words.end(), values.begin(), values.end());
  return at;
}

int64_t ModelBuilder::root(const std::string &text) {
  SpaceRec record{};
  record.name = name(text);
  record.kind = SpaceKind::Root;
  record.extent = -1;
  spaces.push_back(record);
  order.push_back(2 * (static_cast<int64_t>(spaces.size()) - 1));
  return order.back() / 2;
}

int64_t ModelBuilder::fixed(const std::string &text, int64_t extent) {
  int64_t space = root(text);
  spaces[space].kind = SpaceKind::Static;
  spaces[space].extent = extent;
  return space;
}

int64_t ModelBuilder::filter(const std::string &text, int64_t base, int64_t left, int64_t right, bool equal) {
  int64_t space = root(text);
  spaces[space].kind = SpaceKind::Filter;
  spaces[space].base = base;
  spaces[space].mapsAt = list({left, right});
  spaces[space].numMaps = 2;
  spaces[space].equal = equal;
  return space;
}

int64_t ModelBuilder::share(const std::string &text, int64_t base) {
  int64_t space = filter(text, base, kIdentity, kIdentity, true);
  spaces[space].equal = kOnFirstRank;
  return space;
}

int64_t ModelBuilder::unite(const std::string &text, const Words &parts) {
  int64_t space = root(text);
  spaces[space].kind = SpaceKind::Union;
  spaces[space].partsAt = list(parts);
  spaces[space].numParts = static_cast<int64_t>(parts.size());
  return space;
}

int64_t ModelBuilder::distinct(const std::string &text, int64_t base, const Words &components) {
  int64_t space = root(text);
  spaces[space].kind = SpaceKind::Distinct;
  spaces[space].base = base;
  spaces[space].mapsAt = list(components);
  spaces[space].numMaps = static_cast<int64_t>(components.size());
  return space;
}

int64_t ModelBuilder::map(MapKind kind, const std::string &text, int64_t from, int64_t to, const Words &parts,
                          int64_t part, bool partial) {
  maps.push_back({name(text), kind, from, to, partial, part, list(parts), static_cast<int64_t>(parts.size())});
  order.push_back(2 * (static_cast<int64_t>(maps.size()) - 1) + 1);
  return order.back() / 2;
}

int64_t ModelBuilder::index(IndexKind kind, int64_t map, int64_t other) {
  indices.push_back({kind, map, other});
  return static_cast<int64_t>(indices.size()) - 1;
}

int64_t ModelBuilder::buffer(const std::string &text, const Buffer &b) {
  BufferRec record{};
  record.name = name(text);
  record.kind = b.kind;
  record.space = b.space;
  record.rowElements = 1;
  for (int64_t dim : b.dims)
    record.rowElements *= dim;
  record.dimsAt = list(b.dims);
  record.numDims = static_cast<int64_t>(b.dims.size());
  record.dtypeBits = b.bits;
  record.optional = b.optional;
  memcpy(&record.fill, &b.fill, sizeof b.fill);
  record.first = b.first;
  record.last = b.last;
  record.constantAt = b.constantAt;
  record.replaces = b.replaces;
  record.values = b.values;
  buffers.push_back(record);
  return static_cast<int64_t>(buffers.size()) - 1;
}

int64_t ModelBuilder::addValues(const std::string &text, const Words &shape, const std::vector<float> &numbers) {
  values.resize((values.size() + 63) / 64 * 64);
  valueRecords.push_back(
      {name(text), 32, 0, list(shape), static_cast<int64_t>(shape.size()), static_cast<int64_t>(values.size())});
  values.append(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float));
  return static_cast<int64_t>(valueRecords.size()) - 1;
}

int64_t ModelBuilder::input(const std::string &text, int64_t space, const Words &dims) {
  Buffer record;
  record.kind = BufferKind::Input;
  record.space = space;
  record.dims = dims;
  return buffer(text, record);
}

int64_t ModelBuilder::output(const std::string &text, int64_t space, const Words &dims) {
  Buffer record;
  record.kind = BufferKind::Output;
  record.space = space;
  record.dims = dims;
  return buffer(text, record);
}

int64_t ModelBuilder::arena(int64_t space, const Words &dims, int64_t first, int64_t last) {
  Buffer record;
  record.space = space;
  record.dims = dims;
  record.first = first;
  record.last = last;
  return buffer("", record);
}

void ModelBuilder::step(const Step &s) {
  Words merges;
  for (const MergeRec &merge : s.merges)
    merges.insert(merges.end(), {merge.buffer, static_cast<int64_t>(merge.kind), merge.elements});
  StepRec record{};
  bool isCollective = s.kind >= StepKind::Transfer;
  record.kernel = static_cast<int64_t>(kernels.size());
  record.kind = s.kind;
  record.map = s.kind == StepKind::Rows || isCollective ? -1 : s.over;
  record.space = s.kind == StepKind::Rows ? s.over : -1;
  record.buffersAt = list(s.buffers);
  record.numBuffers = static_cast<int64_t>(s.buffers.size());
  record.indicesAt = list(s.indices);
  record.numIndices = static_cast<int64_t>(s.indices.size());
  record.mergesAt = list(merges);
  record.numMerges = static_cast<int64_t>(s.merges.size());
  record.blockBytes = s.blockBytes;
  record.writtenAt = list(s.written);
  record.numWritten = static_cast<int64_t>(s.written.size());
  record.name = name("step");
  kernels.push_back(s.kernel);
  steps.push_back(record);
}

runtime::Model ModelBuilder::build(int64_t level) {
  Header header{};
  header.magic = kMagic;
  header.version = kTableVersion;
  auto records = [&](const auto &list, int64_t &at, int64_t &count) {
    at = static_cast<int64_t>(sizeof(Header) / sizeof(int64_t) + words.size());
    count = static_cast<int64_t>(list.size());
    const auto *begin = reinterpret_cast<const int64_t *>(list.data());
    words.insert(words.end(), begin, begin + list.size() * sizeof(list[0]) / sizeof(int64_t));
  };
  records(spaces, header.spacesAt, header.numSpaces);
  records(maps, header.mapsAt, header.numMaps);
  records(order, header.orderAt, header.numOrder);
  records(indices, header.indicesAt, header.numIndices);
  records(buffers, header.buffersAt, header.numBuffers);
  records(steps, header.stepsAt, header.numSteps);
  // One function with one program, which needs all root maps and spaces.
  std::vector<int64_t> needs, all;
  for (size_t i = 0; i < maps.size(); ++i)
    if (maps[i].kind == MapKind::Root)
      needs.push_back(2 * static_cast<int64_t>(i) + 1);
  for (size_t i = 0; i < spaces.size(); ++i)
    if (spaces[i].kind == SpaceKind::Root)
      needs.push_back(2 * static_cast<int64_t>(i));
  for (size_t i = 0; i < buffers.size(); ++i)
    all.push_back(static_cast<int64_t>(i));
  int64_t needsAt = list(needs), buffersAt = list(all);
  std::vector<FunctionRec> functions = {
      {name("forward"), 0, header.numBuffers, 0, header.numSteps, needsAt, static_cast<int64_t>(needs.size())}};
  std::vector<ProgramRec> programs = {{name("forward"), 0, 0, header.numSteps, buffersAt, header.numBuffers}};
  for (ProgramRec &other : others) {
    other.buffersAt = buffersAt;
    other.numBuffers = header.numBuffers;
    programs.push_back(other);
  }
  records(functions, header.functionsAt, header.numFunctions);
  records(programs, header.programsAt, header.numPrograms);
  records(valueRecords, header.valuesAt, header.numValues);
  header.valuesBytes = static_cast<int64_t>(values.size());
  header.numKernels = static_cast<int64_t>(kernels.size());
  header.numVariants = 1;
  const auto *begin = reinterpret_cast<const int64_t *>(&header);
  finished.assign(begin, begin + sizeof header / sizeof(int64_t));
  finished.insert(finished.end(), words.begin(), words.end());
  variants = {{level, kernels.data()}};
  runtime::Model model = {finished.data(), names.data(), constants.data(), variants.data()};
  model.values = values.data();
  model.ranks = &gnnc_ranks;
  return model;
}

void GraphData::extent(const std::string &space, int64_t extent) {
  names.push_back(space);
  extents.push_back({names.back().c_str(), extent});
}

void GraphData::capacity(const std::string &space, int64_t extent) {
  names.push_back(space);
  capacities.push_back({names.back().c_str(), extent});
}

void GraphData::add(const std::string &map, const Words &values, int bits, gnnc_index_format format) {
  names.push_back(map);
  const void *data;
  if (bits == 32) {
    narrow.emplace_back(values.begin(), values.end());
    data = narrow.back().data();
  } else {
    wide.push_back(values);
    data = wide.back().data();
  }
  indices.push_back({names.back().c_str(), data, static_cast<int64_t>(values.size()), bits, format});
}

void GraphData::each(const std::string &map, const Words &targets, int bits) {
  add(map, targets, bits, GNNC_INDEX_EACH);
}

void GraphData::rows(const std::string &map, const Words &pointers, int bits) {
  add(map, pointers, bits, GNNC_INDEX_ROWS);
}

const gnnc_graph_desc &GraphData::desc() {
  result = {sizeof(gnnc_graph_desc),
            static_cast<int32_t>(extents.size()),
            extents.data(),
            static_cast<int32_t>(indices.size()),
            indices.data(),
            static_cast<int32_t>(capacities.size()),
            capacities.data(),
            tuning,
            nullptr};
  return result;
}

Tensor::Tensor(const std::string &name, const Words &shape, float value) : name(name), shape(shape) {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  data.assign(count, value);
  binding.name = this->name.c_str();
  binding.tensor = {data.data(), 1, 0, static_cast<int32_t>(shape.size()), 2, 32, 1, this->shape.data(), nullptr, 0};
}

CountingAllocator::CountingAllocator() {
  allocator.user = this;
  allocator.allocate = [](size_t bytes, void *user) -> void * {
    auto &self = *static_cast<CountingAllocator *>(user);
    if (self.remaining-- <= 0)
      return nullptr;
    ++self.calls;
    self.bytes += bytes;
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  };
  allocator.release = [](void *memory, size_t bytes, void *user) {
    static_cast<CountingAllocator *>(user)->bytes -= bytes;
    std::free(memory);
  };
}

RandomGraph::RandomGraph(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  types = 1 + below(4);
  nodes = seed % 7 == 0 ? 0 : seed % 7 == 1 ? 1 : 1 + below(60);
  int64_t count = nodes == 0 || seed % 5 == 0 ? 0 : below(300);
  int64_t hub = nodes ? below(nodes) : 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t u = below(nodes), v = seed % 5 == 1 && below(4) ? hub : below(nodes);
    if (seed % 3 == 0 && below(3) == 0)
      v = u;
    if (i > 0 && below(5) == 0) {
      u = src[i - 1];
      v = dst[i - 1];
    }
    src.push_back(u);
    dst.push_back(v);
    type.push_back(below(types));
  }
}

} // namespace gnnc::test
