//===- Layout.cpp - Boxes in layers ---------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sugiyama's scheme in its simplest form: layers by longest path (arguments come down to their first reader), order in
// a layer by the mean place of neighbours, swept down and up a few times; then each layer's boxes move towards their
// neighbours as far as the order allows.
//
//===----------------------------------------------------------------------===//

#include "Drawing.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace gnnc;

namespace {

constexpr double kGapX = 14, kGapY = 30, kCharacter = 6.7, kPadding = 12;

class Layers {
public:
  explicit Layers(const ReportGraph &graph) : graph(graph), users(graph.nodes.size()), layer(graph.nodes.size(), 0) {
    for (auto [i, node] : llvm::enumerate(graph.nodes))
      for (size_t operand : node.operands)
        users[operand].push_back(i);
    for (auto [i, node] : llvm::enumerate(graph.nodes))
      for (size_t operand : node.operands)
        layer[i] = std::max(layer[i], layer[operand] + 1);
    // What needs nothing stands right above its first reader.
    for (auto [i, node] : llvm::enumerate(graph.nodes))
      if (node.operands.empty() && !users[i].empty()) {
        size_t first = ~size_t(0);
        for (size_t user : users[i])
          first = std::min(first, layer[user]);
        layer[i] = first - 1;
      }
    for (auto [i, at] : llvm::enumerate(layer)) {
      rows.resize(std::max(rows.size(), at + 1));
      rows[at].push_back(i);
    }
  }

  Layout run() {
    Layout layout;
    layout.boxes.resize(graph.nodes.size());
    for (auto [i, node] : llvm::enumerate(graph.nodes))
      layout.boxes[i].width = kPadding + kCharacter * double(std::max(node.label.size(), node.type.size()));
    pack(layout);
    for (int round = 0; round < 6; ++round) {
      bool down = round % 2 == 0;
      for (size_t k = 0; k < rows.size(); ++k)
        arrange(layout, rows[down ? k : rows.size() - 1 - k], down);
    }
    double left = 0;
    for (const Layout::Box &box : layout.boxes)
      left = std::min(left, box.x);
    for (auto [i, box] : llvm::enumerate(layout.boxes)) {
      box.x += kGapX - left;
      box.y = kGapX + double(layer[i]) * (Layout::kHeight + kGapY);
      layout.width = std::max(layout.width, box.x + box.width + kGapX);
    }
    layout.height = 2 * kGapX + double(rows.size()) * (Layout::kHeight + kGapY) - kGapY;
    return layout;
  }

private:
  void pack(Layout &layout) const {
    for (const std::vector<size_t> &row : rows) {
      double x = 0;
      for (size_t i : row) {
        layout.boxes[i].x = x;
        x += layout.boxes[i].width + kGapX;
      }
    }
  }

  /// Puts a row's boxes at the middle of their neighbours above or below, pushed apart where they would overlap.
  void arrange(Layout &layout, std::vector<size_t> &row, bool down) const {
    auto centre = [&](size_t i) { return layout.boxes[i].x + layout.boxes[i].width / 2; };
    std::vector<std::tuple<double, size_t, size_t>> wanted; // where, place in the row, box
    for (size_t i : row) {
      const std::vector<size_t> &neighbours = down ? graph.nodes[i].operands : users[i];
      double sum = 0;
      for (size_t other : neighbours)
        sum += centre(other);
      wanted.push_back({neighbours.empty() ? centre(i) : sum / double(neighbours.size()), wanted.size(), i});
    }
    llvm::sort(wanted);
    // Runs of boxes that touch move as one, to the mean of where they want to be.
    struct Run {
      double x, width, wish;
      size_t count;
    };
    std::vector<Run> runs;
    row.clear();
    for (auto [at, place, i] : wanted) {
      row.push_back(i);
      double width = layout.boxes[i].width + kGapX;
      runs.push_back({at - width / 2, width, at - width / 2, 1});
      while (runs.size() > 1 && runs[runs.size() - 2].x + runs[runs.size() - 2].width > runs.back().x) {
        Run last = runs.back();
        runs.pop_back();
        Run &run = runs.back();
        // A wish of the whole run's beginning, weighed by boxes.
        run.wish = (run.wish * double(run.count) + (last.wish - run.width) * double(last.count)) /
                   double(run.count + last.count);
        run.x = run.wish;
        run.width += last.width;
        run.count += last.count;
      }
    }
    size_t next = 0;
    for (const Run &run : runs) {
      double x = run.x;
      for (size_t k = 0; k < run.count; ++k) {
        layout.boxes[row[next]].x = x + kGapX / 2;
        x += layout.boxes[row[next++]].width + kGapX;
      }
    }
  }

  const ReportGraph &graph;
  std::vector<std::vector<size_t>> users;
  std::vector<size_t> layer;
  std::vector<std::vector<size_t>> rows;
};

} // namespace

Layout gnnc::layOut(const ReportGraph &graph) { return Layers(graph).run(); }
