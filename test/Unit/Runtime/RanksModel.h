//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A model that moves rows between ranks there and back, and sums and takes maxima over all of them; and random graphs
// in parts for it.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_UNIT_RUNTIME_RANKSMODEL_H
#define GNNC_TEST_UNIT_RUNTIME_RANKSMODEL_H

#include "TestModel.h"
#include "gnnc/Ranks/ThreadRanks.h"

namespace gnnc::test {

constexpr int64_t kRowWidth = 3, kTotals = 5, kTypes = 4;

/// packed[i] = x[sent[i]]
inline void packRows(const table::Frame *frame, int64_t begin, int64_t end, int64_t, int64_t) {
  const auto *x = static_cast<const float *>(frame->buffers[0]);
  auto *packed = static_cast<float *>(frame->buffers[1]);
  for (int64_t i = begin * kRowWidth; i < end * kRowWidth; ++i)
    packed[i] = x[frame->indices[0][i / kRowWidth] * kRowWidth + i % kRowWidth];
}

class RanksModel {
public:
  RanksModel() {
    using namespace table;
    int64_t node = b.root("node"), halo = b.root("node.halo"), send = b.root("node.send"),
            type = b.fixed("type", kTypes);
    b.share("type.own", type);
    int64_t sent = b.rootMap("node.sent", send, node);
    int64_t raw = b.index(IndexKind::Raw, sent);
    int64_t x = b.input("x", node, {kRowWidth}), values = b.input("values", -1, {kTotals});
    int64_t ofTypes = b.input("of_types", type, {2});
    int64_t received = b.output("received", halo, {kRowWidth}), back = b.output("back", send, {kRowWidth});
    int64_t total = b.output("total", -1, {kTotals}), most = b.output("most", type, {2});
    int64_t packed = b.arena(send, {kRowWidth}, 0, 1);
    b.step({packRows, StepKind::Rows, send, {x, packed}, {raw}, {}});
    b.step({nullptr, StepKind::Transfer, -1, {packed, received}, {}, {}});
    b.step({nullptr, StepKind::Transfer, -1, {received, back}, {}, {}});
    b.step({nullptr, StepKind::AllReduce, -1, {values, total}, {}, {{total, MergeKind::Sum, kTotals}}});
    b.step({nullptr, StepKind::AllReduce, -1, {ofTypes, most}, {}, {{most, MergeKind::Max, 2 * kTypes}}});
    model = b.build();
  }

  ModelBuilder b;
  runtime::Model model;
};

/// What one rank has of a graph.
struct RankPart {
  Words own, halo, sent, haloCounts, sendCounts; ///< the first two in numbers of the whole graph
  GraphData data;
  gnnc_row_counts counts[2];
  gnnc_part_desc desc;

  const gnnc_part_desc *describe(const gnnc_collectives *collectives) {
    counts[0] = {"node.halo", haloCounts.data()};
    counts[1] = {"node.send", sendCounts.data()};
    desc = {sizeof desc, 2, counts, collectives};
    return &desc;
  }
};

/// Each of `nodes` nodes is of a random rank, some of which may have none, and in the halo of random others.
inline std::deque<RankPart> cutRandomly(unsigned seed, int64_t nodes, int ranks) {
  std::mt19937 random(seed);
  std::deque<RankPart> parts(static_cast<size_t>(ranks));
  std::vector<size_t> owner;
  for (int64_t node = 0; node < nodes; ++node) {
    owner.push_back(random() % static_cast<size_t>(ranks));
    parts[owner.back()].own.push_back(node);
  }
  for (RankPart &part : parts)
    part.haloCounts = part.sendCounts = Words(static_cast<size_t>(ranks), 0);
  for (size_t to = 0; to < parts.size(); ++to)
    for (size_t from = 0; from < parts.size(); ++from)
      for (size_t i = 0; from != to && i < parts[from].own.size(); ++i) {
        if (random() % 3)
          continue;
        parts[to].halo.push_back(parts[from].own[i]);
        ++parts[to].haloCounts[from];
      }
  for (size_t from = 0; from < parts.size(); ++from)
    for (size_t to = 0; to < parts.size(); ++to)
      for (int64_t node : parts[to].halo)
        for (size_t i = 0; i < parts[from].own.size(); ++i)
          if (parts[from].own[i] == node) {
            parts[from].sent.push_back(static_cast<int64_t>(i));
            ++parts[from].sendCounts[to];
          }
  for (RankPart &part : parts) {
    part.data.extent("node", static_cast<int64_t>(part.own.size()));
    part.data.extent("node.halo", static_cast<int64_t>(part.halo.size()));
    part.data.extent("node.send", static_cast<int64_t>(part.sent.size()));
    part.data.each("node.sent", part.sent);
  }
  return parts;
}

} // namespace gnnc::test

#endif // GNNC_TEST_UNIT_RUNTIME_RANKSMODEL_H
