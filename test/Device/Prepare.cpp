//===- Prepare.cpp - Graphs prepared on a GPU and on the host -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   nvcc -std=c++20 -arch=sm_90 -cubin -I include/gnnc/ModelFormat -x cu lib/Target/CUDA/Kernels/Prepare.cuh -o
//   prepare.cubin
//   c++ -std=c++20 -O2 -Iinclude -Ilib/Runtime -Itest/Unit/Runtime test/Device/Prepare.cpp
//     test/Unit/Runtime/TestModel.cpp $(ls lib/Runtime/*.cpp lib/Runtime/CUDA/*.cpp |
//     grep -v '/Runtime[A-Z]*[a-z]*\.cpp') -ldl -o prepare
//   ./prepare prepare.cubin [SHAPE...]
//
// Every space, map, index array and worklist must be the same numbers from either, from int32 and int64, from the
// host's and the device's memory, and errors must be the same words. Exits with 0 if they are, 77 where there is no
// GPU.
//
//===----------------------------------------------------------------------===//

#include "CUDA/Prepare.h"
#include "CUDA/Worklist.h"
#include "Graph.h"
#include "TestModel.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string>

using namespace gnnc;
using namespace gnnc::runtime;
using namespace gnnc::table;
using namespace gnnc::test;

namespace {

int failures = 0, compared = 0;

/// Spaces and maps of every kind over one edge list; or root maps only, which are grouped while they are read.
struct AllKinds {
  ModelBuilder b;
  std::vector<int64_t> pointed; ///< maps that are grouped
  int turn = 0;
  bool rootsOnly;
  AllKinds(int64_t types, bool rootsOnly) : rootsOnly(rootsOnly) {
    int64_t node = b.root("node"), edge = b.root("edge"), type = b.fixed("edge_type", types), row = b.root("row");
    int64_t src = b.rootMap("src", edge, node), dst = b.rootMap("dst", edge, node),
            etype = b.rootMap("etype", edge, type);
    int64_t label = b.map(MapKind::Root, "label", edge, node, {}, 0, /*partial=*/true);
    if (rootsOnly) {
      pointed = {src, dst, etype};
      for (int64_t map : pointed)
        for (IndexKind kind : {IndexKind::Pointers, IndexKind::Members, IndexKind::MembersOrNone})
          b.index(kind, map);
      b.index(IndexKind::Sorted, dst, src);
      b.index(IndexKind::Raw, src);
      b.index(IndexKind::Raw, label);
      return;
    }
    int64_t csr = b.rootMap("csr", edge, row);
    int64_t real = b.filter("real", edge, src, dst, false), loop = b.filter("loop", edge, src, dst, true);
    int64_t realEdge = b.map(MapKind::Inclusion, "real.edge", real, edge);
    int64_t loopEdge = b.map(MapKind::Inclusion, "loop.edge", loop, edge);
    int64_t realSrc = b.map(MapKind::Compose, "real.src", real, node, {realEdge, src});
    int64_t realDst = b.map(MapKind::Compose, "real.dst", real, node, {realEdge, dst});
    int64_t loopDst = b.map(MapKind::Compose, "loop.dst", loop, node, {loopEdge, dst});
    int64_t last = b.map(MapKind::Last, "last", node, loop, {loopDst}, 0, true);
    int64_t lastEdge = b.map(MapKind::Compose, "last.edge", node, edge, {last, loopEdge}, 0, true);
    int64_t ring = b.unite("ring", {real, node});
    int64_t ringSrc = b.map(MapKind::Parts, "ring.src", ring, node, {realSrc, kIdentity});
    int64_t ringDst = b.map(MapKind::Parts, "ring.dst", ring, node, {realDst, kIdentity});
    int64_t ringOld = b.map(MapKind::Parts, "ring.old", ring, edge, {realEdge, lastEdge}, 0, true);
    b.map(MapKind::Part, "ring.node", ring, node, {}, 1, true);
    int64_t nodeRing = b.map(MapKind::Injection, "node.ring", node, ring, {}, 1);
    int64_t none = b.map(MapKind::Parts, "ring.none", ring, node, {kUndefined, kIdentity}, 0, true);
    int64_t pair = b.distinct("pair", edge, {dst, etype});
    int64_t pairOf = b.map(MapKind::Class, "pair.of", edge, pair);
    int64_t pairDst = b.map(MapKind::Projection, "pair.dst", pair, node, {}, 0);
    int64_t pairType = b.map(MapKind::Projection, "pair.type", pair, type, {}, 1);
    int64_t own = b.share("type.own", type), ownType = b.map(MapKind::Inclusion, "type.own.in", own, type);
    int64_t both = b.unite("both", {edge, own});
    int64_t bothType = b.map(MapKind::Parts, "both.type", both, type, {etype, ownType});
    int64_t triple = b.distinct("triple", edge, {label, etype, src});
    int64_t tripleOf = b.map(MapKind::Class, "triple.of", edge, triple);
    pointed = {src, dst, etype, label, csr, ringSrc, ringDst, none, pairOf, pairDst, pairType, tripleOf, bothType};
    for (int64_t map : pointed)
      for (IndexKind kind : {IndexKind::Pointers, IndexKind::Members, IndexKind::MembersOrNone})
        b.index(kind, map);
    for (int64_t other : {src, dst, label})
      b.index(IndexKind::Sorted, dst, other);
    b.index(IndexKind::Sorted, ringDst, ringSrc);
    b.index(IndexKind::Sorted, ringDst, ringOld);
    b.index(IndexKind::Sorted, csr, src);
    b.index(IndexKind::Raw, src);
    b.index(IndexKind::Raw, nodeRing);
  }
};

struct Lists {
  Words src, dst, type, label, rows;
  int64_t nodes, types;
};

/// The owner of an edge is a node to the power of `skew` of a uniform number: the larger, the more are one hub's.
Lists makeLists(int64_t nodes, int64_t edges, int64_t types, double skew, bool sorted, unsigned seed) {
  std::mt19937_64 random(seed);
  Lists lists;
  lists.nodes = nodes;
  lists.types = types;
  for (int64_t e = 0; e < edges; ++e) {
    auto draw = [&] {
      return std::min<int64_t>(nodes - 1, int64_t(std::pow(double(random() >> 11) * 0x1p-53, skew) * double(nodes)));
    };
    int64_t from = draw(), to = draw();
    lists.src.push_back(random() % 7 ? from : to);
    lists.dst.push_back(to);
    lists.type.push_back(int64_t(random() % uint64_t(types)));
    lists.label.push_back(int64_t(random() % uint64_t(nodes + 1)) - 1);
  }
  if (sorted)
    std::sort(lists.dst.begin(), lists.dst.end());
  lists.rows = {0};
  for (int64_t row = 0; row < nodes; ++row)
    lists.rows.push_back(row + 1 == nodes ? edges
                                          : std::min<int64_t>(edges, lists.rows.back() + int64_t(random() % 5)));
  return lists;
}

GraphData dataOf(const Lists &lists, int bits) {
  GraphData data;
  data.extent("node", lists.nodes);
  data.extent("edge", int64_t(lists.src.size()));
  data.extent("row", lists.nodes);
  data.each("src", lists.src, bits);
  data.each("dst", lists.dst, bits);
  data.each("etype", lists.type, bits);
  data.each("label", lists.label, bits);
  data.rows("csr", lists.rows, bits);
  return data;
}

class Comparison {
public:
  Comparison(cuda::Device &device, std::string name) : device(device), name(std::move(name)) {}

  void run(AllKinds &kinds, const Model &model, GraphData &data, bool fromDevice) {
    Memory onHost(defaultAllocator()), lists(defaultAllocator());
    if (device.streamFor(nullptr, stream, &there))
      return failed("stream", there.message);
    cuda::GraphBuilder builder(device, stream, lists, &there);
    if (builder.start())
      return failed("start", there.message);
    Topology a(model, onHost, &here), b(model, lists, &there, &builder);
    Words hostExtents(model.header().numSpaces), deviceExtents(model.header().numSpaces);
    gnnc_status expected = a.build(data.desc(), hostExtents.data());
    std::vector<gnnc_index> given(data.indices);
    std::vector<void *> uploads;
    for (gnnc_index &index : data.indices)
      if (fromDevice) {
        int64_t bytes = index.length * index.bits / 8;
        void *memory = builder.allocate(bytes);
        device.copy(memory, true, index.data, false, size_t(bytes), stream, nullptr);
        index.data = memory;
        index.format |= GNNC_INDEX_ON_DEVICE;
      }
    builder.wait();
    const int64_t waitsBefore = builder.numWaits;
    gnnc_status found = b.build(data.desc(), deviceExtents.data());
    checkWaits(kinds, builder.numWaits - waitsBefore, found);
    // Of a wrong list of edges all is made that is made of a right one.
    if (kinds.rootsOnly && !found)
      found = groupUnasked(model, builder, b);
    if (!found)
      found = b.finishReading();
    std::swap(data.indices, given);
    if (expected != found || (expected && std::strcmp(here.message, there.message) != 0)) {
      std::string text = std::string("expected '") + (expected ? here.message : "ok") + "', found '" +
                         (found ? there.message : "ok") + "'";
      return failed("build", text.c_str());
    }
    ++compared;
    if (expected)
      return;
    if (hostExtents != deviceExtents)
      failed("extents", "differ");
    for (int64_t map = 0; !kinds.rootsOnly && map < model.header().numMaps; ++map)
      same(a.mapName(map), a.maps[map].targets, b.maps[map].targets, hostExtents[model.map(map).from]);
    Indices indicesA(a), indicesB(b);
    std::swap(data.indices, given);
    gnnc_status again = kinds.rootsOnly ? b.build(data.desc(), deviceExtents.data()) : GNNC_OK;
    std::swap(data.indices, given);
    if (again)
      return failed("second build", there.message);
    if (indicesA.start() || indicesB.start())
      return failed("indices", "no memory");
    // One of several arrays at a time, or all: groupings make no more than is asked for.
    bool all = kinds.turn++ % 2 == 0;
    std::unique_ptr<bool[]> used(new bool[size_t(model.header().numIndices)]);
    for (int64_t i = 0; i < model.header().numIndices; ++i)
      used[size_t(i)] = all || model.index(i).kind == IndexKind::Sorted;
    if (indicesB.plan(used.get()))
      return failed("plan", there.message);
    std::vector<const int32_t *> arrays(size_t(model.header().numIndices)), expectedArrays(arrays);
    Words lengths(model.header().numIndices), expectedLengths(lengths);
    for (int64_t i = 0; i < model.header().numIndices; ++i)
      if (used[size_t(i)] && (indicesA.array(model.index(i), expectedArrays[size_t(i)], expectedLengths[size_t(i)]) ||
                              indicesB.array(model.index(i), arrays[size_t(i)], lengths[size_t(i)])))
        return failed("index", there.message);
    // Before them stands a copy of one, which must be found.
    std::vector<const int32_t *> shared = {nullptr};
    Words sharedLengths = {0};
    shared.insert(shared.end(), arrays.begin(), arrays.end());
    sharedLengths.insert(sharedLengths.end(), lengths.begin(), lengths.end());
    std::unique_ptr<int32_t, std::function<void(int32_t *)>> copy(
        nullptr, [this](int32_t *memory) { device.release(reinterpret_cast<cuda::Address>(memory)); });
    size_t copied = 0;
    while (copied < arrays.size() && (!arrays[copied] || lengths[copied] == 0))
      ++copied;
    if (copied < arrays.size()) {
      cuda::Address memory;
      std::vector<int32_t> numbers = fetch(arrays[copied], sharedLengths[0] = lengths[copied]);
      if (device.allocate(int64_t(numbers.size()) * 4, memory, &there) ||
          device.copy(reinterpret_cast<void *>(memory), true, numbers.data(), false, numbers.size() * 4, stream,
                      &there) ||
          builder.wait())
        return failed("copy", there.message);
      copy.reset(reinterpret_cast<int32_t *>(memory));
      shared[0] = copy.get();
    }
    builder.share(shared.data(), sharedLengths.data(), int64_t(shared.size()));
    if (builder.finish())
      return failed("share", there.message);
    if (copied < arrays.size() && shared[copied + 1] != copy.get())
      failed("share", "equal arrays are not found to be equal");
    for (size_t i = 0; i < arrays.size(); ++i)
      if (copy && shared[i + 1] == copy.get())
        shared[i + 1] = arrays[copied];
    shared.erase(shared.begin());
    if (indicesB.settle(shared.data()))
      return failed("share", there.message);
    for (int64_t i = 0; i < model.header().numIndices; ++i) {
      const int32_t *array = shared[size_t(i)];
      std::string what =
          std::string("index ") + std::to_string(int64_t(model.index(i).kind)) + " of " + a.mapName(model.index(i).map);
      if (array && array != arrays[size_t(i)])
        sameOnDevice("shared", array, arrays[size_t(i)], lengths[size_t(i)]);
      if (bool(array) != bool(expectedArrays[size_t(i)]))
        failed(what.c_str(), array ? "is there" : "is not there");
      else if (array && lengths[size_t(i)] != expectedLengths[size_t(i)])
        failed(what.c_str(), "has another length");
      else if (array)
        same(what.c_str(), expectedArrays[size_t(i)], array, lengths[size_t(i)]);
    }
    // More than are made without asking for their numbers.
    constexpr size_t kTurns = 3;
    std::vector<const Grouping *> hostGroups, deviceGroups;
    std::vector<int64_t> maps;
    for (size_t turn = 0; turn < kTurns; ++turn)
      for (int64_t map : kinds.pointed) {
        const Grouping *hostGroup, *deviceGroup;
        if (indicesA.grouping(map, hostGroup) || indicesB.grouping(map, deviceGroup))
          return failed("grouping", there.message);
        hostGroups.push_back(hostGroup), deviceGroups.push_back(deviceGroup), maps.push_back(map);
      }
    std::vector<cuda::DeviceWorklist> made(maps.size());
    std::vector<cuda::DeviceWorklist *> places;
    for (cuda::DeviceWorklist &list : made)
      places.push_back(&list);
    builder.worklists(deviceGroups.data(), int64_t(maps.size()), places.data());
    if (builder.finish())
      return failed("worklists", there.message);
    for (size_t number = 0; number < maps.size(); ++number) {
      const int64_t map = maps[number];
      const cuda::DeviceWorklist &list = made[number];
      cuda::Worklist host;
      if (!cuda::makeWorklist(*hostGroups[number], onHost, host))
        return failed("worklist", "no memory");
      std::string what = std::string("worklist of ") + a.mapName(map);
      if (host.numItems != list.numItems || host.numSlots != list.numSlots || host.numHeavy != list.numHeavy ||
          host.bySize != list.bySize || host.chunk != list.chunk) {
        failed(what.c_str(), "has other numbers");
        continue;
      }
      for (int k = 0; host.bySize && k < cuda::kNumSizes; ++k)
        if (host.largest[k] != list.largest[k])
          failed(what.c_str(), "has other sizes");
      auto words = [](const void *p) { return static_cast<const int32_t *>(p); };
      auto address = [](cuda::Address at) { return reinterpret_cast<const int32_t *>(at); };
      same((what + ", items").c_str(), words(host.items), address(list.items), 4 * host.numItems);
      same((what + ", heavy").c_str(), words(host.heavy), address(list.heavy), 4 * host.numHeavy);
      same((what + ", slots").c_str(), host.heavyOfSlot, address(list.heavyOfSlot), host.numSlots);
    }
    if (builder.wait())
      failed("end", there.message);
    // A graph keeps its arrays; all others are given back.
    std::set<const int32_t *> kept;
    for (int64_t i = 0; i < model.header().numIndices; ++i)
      if (const int32_t *array = shared[size_t(i)]; array && kept.insert(array).second) {
        if (int64_t bytes = builder.keep(array))
          device.releaseOrdered(reinterpret_cast<cuda::Address>(array), bytes, stream);
        else
          failed(a.mapName(model.index(i).map), "has an array that cannot be kept");
      }
  }

private:
  /// Once for each number of elements that is asked for: of a filter (the other is what is left) and of two kinds of
  /// tuples, and for row pointers. What is wrong with a map comes with these.
  void checkWaits(const AllKinds &kinds, int64_t waits, gnnc_status found) {
    constexpr int64_t kOfRows = 4, kOfCounts = 3;
    if (!found && waits > (kinds.rootsOnly ? 0 : kOfRows + kOfCounts))
      failed("build", ("waits " + std::to_string(waits) + " times").c_str());
  }
  /// All groupings that there may be.
  gnnc_status groupUnasked(const Model &model, cuda::GraphBuilder &builder, Topology &topology) {
    Indices indices(topology);
    gnnc_status status = indices.start();
    for (int64_t map = 0; !status && map < model.header().numMaps; ++map) {
      const Grouping *group;
      if (!model.map(map).partial)
        status = indices.grouping(map, group);
    }
    return status ? status : builder.wait();
  }
  void failed(const char *what, const char *why) {
    ++failures;
    std::printf("%s: %s: %s\n", name.c_str(), what, why);
  }
  std::vector<int32_t> fetch(const int32_t *array, int64_t count) {
    std::vector<int32_t> found(size_t(count), -77);
    if (count > 0)
      device.copy(found.data(), false, array, true, size_t(count) * 4, stream, nullptr);
    device.synchronize(stream, nullptr);
    return found;
  }
  void same(const char *what, const int32_t *expected, const int32_t *there, int64_t count) {
    std::vector<int32_t> found = fetch(there, count);
    ++compared;
    for (int64_t i = 0; i < count; ++i)
      if (found[size_t(i)] != expected[i]) {
        std::string text = "number " + std::to_string(i) + " of " + std::to_string(count) + ": expected " +
                           std::to_string(expected[i]) + ", found " + std::to_string(found[size_t(i)]);
        return failed(what, text.c_str());
      }
  }
  void sameOnDevice(const char *what, const int32_t *a, const int32_t *b, int64_t count) {
    std::vector<int32_t> numbers = fetch(a, count);
    same(what, numbers.data(), b, count);
  }

  cuda::Device &device;
  cuda::Handle stream = nullptr;
  std::string name;
  gnnc_error here = {}, there = {};
};

} // namespace

int main(int argc, char **argv) {
  std::ifstream file(argc > 1 ? argv[1] : "prepare.cubin", std::ios::binary);
  std::string code((std::istreambuf_iterator<char>(file)), {});
  gnnc_error error = {};
  const void *driver;
  if (gnnc_load_cuda_driver(&driver, &error)) {
    std::printf("%s\n", error.message);
    return 77;
  }
  const DeviceImage image{90, 0, code.data()};
  struct Shape {
    const char *name;
    int64_t nodes, edges, types;
    double skew;
    bool sorted;
    bool isBrief = false; ///< root maps alone, as they are given most often, and right
  };
  const Shape shapes[] = {{"one node", 1, 3, 1, 1, false},
                          {"no edges", 5, 0, 2, 1, false},
                          {"small", 50, 400, 3, 1, false},
                          {"a tile", 300, 8192, 5, 1, false},
                          {"a tile and one", 300, 8193, 5, 1, true},
                          {"many", 70000, 300000, 90, 1, false},
                          {"skewed", 20000, 500000, 4, 9, false},
                          {"in order", 100000, 250000, 7, 2, true},
                          {"one hub", 3, 100000, 1, 1, false},
                          {"few each", 2200000, 100000, 3, 1, false},
                          {"large", 150000, 2500000, 20, 3, false},
                          {"two digits", 1500, 3000, 2, 1, true, true},
                          {"long buckets", 600, 14000, 2, 12, false, true}};
  for (int i = 2; i < argc; ++i)
    if (std::none_of(std::begin(shapes), std::end(shapes),
                     [&](auto &shape) { return argv[i] == std::string(shape.name); })) {
      std::printf("there is no shape '%s'\n", argv[i]);
      return 1;
    }
  for (const Shape &shape : shapes) {
    if (argc > 2 && std::none_of(argv + 2, argv + argc, [&](char *name) { return name == std::string(shape.name); }))
      continue;
    for (bool rootsOnly : {false, true}) {
      if (shape.isBrief && !rootsOnly)
        continue;
      AllKinds kinds(shape.types, rootsOnly);
      Model model = kinds.b.build();
      Header &header = *const_cast<Header *>(&model.header());
      header.numImages = header.numPreparationImages = 1;
      model.images = model.preparationImages = &image;
      cuda::Device device(*static_cast<const cuda::Driver *>(driver), defaultAllocator());
      if (device.open(model, 0, nullptr, &error)) {
        std::printf("%s\n", error.message);
        return 1;
      }
      Lists lists = makeLists(shape.nodes, shape.edges, shape.types, shape.skew, shape.sorted, 7);
      for (int bits : {32, 64})
        for (bool fromDevice : {false, true}) {
          if (shape.isBrief && (bits == 32 || !fromDevice))
            continue;
          GraphData data = dataOf(lists, bits);
          std::string name = std::string(shape.name) + ", int" + std::to_string(bits) + (fromDevice ? ", device" : "");
          Comparison(device, name).run(kinds, model, data, fromDevice);
        }
      if (shape.edges < 100 || shape.isBrief)
        continue;
      // Wrong graphs.
      auto wrong = [&](const char *what, auto &&change) {
        Lists bad = lists;
        change(bad);
        for (bool fromDevice : {false, true}) {
          GraphData data = dataOf(bad, 64);
          Comparison(device, std::string(shape.name) + ", " + what).run(kinds, model, data, fromDevice);
        }
      };
      size_t middle = size_t(shape.edges) / 2;
      wrong("too large", [&](Lists &l) { l.dst[middle] = l.nodes, l.dst[middle + 9] = -5; });
      wrong("negative", [&](Lists &l) { l.src[3] = -1; });
      wrong("undefined twice", [&](Lists &l) { l.label[middle] = -2; });
      if (rootsOnly)
        continue;
      wrong("falls", [&](Lists &l) { l.rows[l.rows.size() / 2] = -3; });
      wrong("too far", [&](Lists &l) { l.rows[l.rows.size() - 2] = shape.edges + 1; });
      wrong("ends early", [&](Lists &l) { l.rows.back() = shape.edges - 1; });
      wrong("begins late", [&](Lists &l) { l.rows[0] = 1; });
    }
  }
  std::printf("%d arrays and errors compared, %d failures\n", compared, failures);
  return failures ? 1 : 0;
}
