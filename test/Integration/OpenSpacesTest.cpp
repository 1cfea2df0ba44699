//===- OpenSpacesTest.cpp - Spaces whose extent values decide -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Radii, best scores and kept elements, in every form against the interpreter, which tries all: on clouds of several
// sizes, empty ones and single points among them, and with equal points.
//
//===----------------------------------------------------------------------===//

#include "Clouds.h"

using namespace gnnc;
using namespace gnnc::test;

/// Which they are and in what order: the offsets to the neighbours, each weighted by its place.
TEST(OpenSpaces, WithinInOrder) {
  for (const char *width : {"1", "2", "3", "5"})
    for (bool equalPoints : {false, true})
      compareAll("model M { input pos: node[d = " + std::string(width) +
                     "], weight: node[]\n space near = radius(pos, r: 0.6, max: 8, along: batch)\n"
                     " let w = weight.near.src * sum(weight.near.src, along: near.dst).near.dst\n"
                     " output y = sum(w * (pos.near.src - pos.near.dst), along: near.dst)\n"
                     " output back = sum(w, along: near.src)\n output times = degree(near.src)\n"
                     " output n = degree(near.dst)\n output all = sum(w, along: all)\n"
                     " output middle = mean(w, along: all) }",
                 /*gradient=*/false, equalPoints);
}

TEST(OpenSpaces, WithThemselvesAndOverAll) {
  compareAll(
      "model M { input pos: node[d = 3], x: node[c = 4]\n space near = radius(pos, r: 0.4, max: 50, self: true)\n"
      " output y = max(x.near.src, along: near.dst) }");
}

/// Points of large groups are listed by cells.
TEST(OpenSpaces, WithinLargeGroups) {
  for (const char *width : {"1", "2", "3"})
    for (bool equalPoints : {false, true})
      compareAll("model M { input pos: node[d = " + std::string(width) +
                     "], weight: node[]\n space near = radius(pos, r: 0.15, max: 12, along: batch)\n"
                     " let w = weight.near.src * sum(weight.near.src, along: near.dst).near.dst\n"
                     " output y = sum(w * (pos.near.src - pos.near.dst), along: near.dst)\n"
                     " output n = degree(near.dst)\n output times = degree(near.src) }",
                 /*gradient=*/false, equalPoints, /*most=*/700);
}

/// More for each query than a GPU orders at once, and more than it holds.
TEST(OpenSpaces, ManyWithin) {
  for (int64_t points : {700, 1200})
    for (const char *most : {"90", "2000"})
      compareAll(
          "model M { input pos: node[d = 3], q: graph[e = 3], weight: node[]\n space near = radius(pos, r: 9.0, max: " +
              std::string(most) +
              ", of: q)\n output y = sum(weight.near.src * sum(q.near.dst, over: e), along: near.dst)\n"
              " output times = degree(near.src)\n output n = degree(near.dst) }",
          /*gradient=*/false, /*equalPoints=*/false, points);
}

TEST(OpenSpaces, BetweenTwoSpaces) {
  compareAll("model M { input pos: node[d = 3], q: query[e = 3], x: node[c = 4]\n"
             " space near = radius(pos, r: 0.7, max: 3, of: q, along: batch | qbatch)\n"
             " output y = sum(x.near.src * sum(square(pos.near.src - rename(q, e: d).near.dst), over: d),"
             " along: near.dst)\n output back = sum(q.near.dst, along: near.src) }");
}

/// Networks on what is near, with weights whose gradients are sums over all of it.
TEST(OpenSpaces, NetworksOfEdges) {
  std::string text = "model M { input pos: node[d = 3], x: node[c = 4]\n"
                     " space near = radius(pos, r: 0.6, max: 16, along: batch)\n"
                     " let r = pos.near.src - pos.near.dst\n"
                     " let m = relu(Linear(concat(x.near.src, r, axis: b), out: 24))\n"
                     " let g = tanh(Linear(m, out: 8))\n"
                     " output y = sum(g / sqrt(sum(square(r), over: d) + 0.1), along: near.dst)\n"
                     " output s = max(m, along: near.src) }";
  compareAll(text);
  compareAll(text, /*gradient=*/true);
}

TEST(OpenSpaces, AttentionOnWhatIsNear) {
  std::string text = "model M { input pos: node[d = 3], x: node[c = 4]\n"
                     " space near = radius(pos, r: 0.8, max: 16, along: batch)\n"
                     " let a = softmax(sum(x.near.src * x.near.dst, over: c), along: near.dst)\n"
                     " output y = sum(a * x.near.src, along: near.dst) }";
  compareAll(text);
  compareAll(text, /*gradient=*/true);
}

/// The best of each cloud, in falling order; what is among them is pooled, and goes back.
TEST(OpenSpaces, BestScores) {
  for (const char *limit : {"ratio: 0.5", "k: 3", "ratio: 1", "k: 1"}) {
    std::string text = "model M { input x: node[c = 4], weight: node[]\n space best = topk(weight, " +
                       std::string(limit) +
                       ", along: batch)\n let h = x.best.src * tanh(weight.best.src)\n"
                       " map place: node -> best = last(best, best.src)\n"
                       " output y = sum(h, along: best.dst)\n output top = max(h * weight.best.src, along: best.dst)\n"
                       " output up = x + h.place }";
    compareAll(text);
    compareAll(text, /*gradient=*/true);
  }
  compareAll("model M { input x: node[c = 4], weight: node[]\n space best = topk(weight, k: 7)\n"
             " output y = sum(x.best.src, along: all) }");
}

/// Points that are far from each other, in the order in which they are chosen, and layers of what is near them.
TEST(OpenSpaces, FarthestPoints) {
  for (const char *limit : {"ratio: 0.3", "k: 4", "ratio: 1"})
    for (bool equalPoints : {false, true})
      for (const char *width : {"1", "3", "5"})
        compareAll("model M { input pos: node[d = " + std::string(width) + "], weight: node[]\n space far = fps(pos, " +
                       limit +
                       ", along: batch)\n map place: node -> far = last(far, far.src)\n"
                       " space near = radius(pos, r: 0.7, max: 8, of: pos.far.src, along: batch | far.dst)\n"
                       " let w = weight.far.src\n output y = sum(pos.far.src * w, along: far.dst)\n"
                       " output up = pos * w.place\n output n = degree(near.src)\n"
                       " output s = sum(sum(pos.near.src * w.near.dst, along: near.dst), along: far.dst) }",
                   /*gradient=*/false, equalPoints);
  // The first by a number of each, of which several may be equal.
  for (bool equalPoints : {false, true})
    for (const char *width : {"3", "4"})
      compareAll("model M { input pos: node[d = " + std::string(width) + "], weight: node[], first: node[]\n" +
                     " space far = fps(pos, k: 5, along: batch, start: floor(first * 3))\n"
                     " output y = sum(pos.far.src * weight.far.src, along: far.dst)\n"
                     " output up = degree(far.src) }",
                 /*gradient=*/false, equalPoints);
  std::string text = "model M { input pos: node[d = 3], x: node[c = 4]\n"
                     " space far = fps(pos, ratio: 0.4, along: batch)\n"
                     " space near = knn(pos, k: 3, of: pos.far.src, along: batch | far.dst)\n"
                     " let r = pos.near.src - pos.far.src.near.dst\n"
                     " let h = max(relu(Linear(concat(x.near.src, r, axis: b), out: 8)), along: near.dst)\n"
                     " output y = max(tanh(Linear(h, out: 6)), along: far.dst) }";
  compareAll(text);
  compareAll(text, /*gradient=*/true);
  compareAll("model M { input pos: node[d = 3], x: node[c = 4]\n space far = fps(pos, k: 9)\n"
             " output y = sum(x.far.src, along: all) }");
}

/// Some elements, whatever they are: networks on them, sums over them and along the maps of all.
TEST(OpenSpaces, KeptElements) {
  std::string text = "model M { input x: node[c = 4], weight: node[]\n"
                     " space kept = filter(node, weight > 0.1)\n"
                     " let h = tanh(Linear(x.kept, out: 6))\n"
                     " output y = sum(h, along: batch)\n output m = mean(h, along: all)\n"
                     " output n = sum(h * 0 + 1, along: all) }";
  compareAll(text);
  compareAll(text, /*gradient=*/true);
}

/// Softmaxes, extrema and statistics over all that is there.
TEST(OpenSpaces, OverAllThatIsThere) {
  std::string text = "model M { input x: node[c = 4], weight: node[]\n"
                     " space kept = filter(node, weight > 0.1)\n let h = tanh(Linear(x.kept, out: 6))\n"
                     " output a = sum(softmax(h, along: all), along: batch)\n"
                     " output m = max(h, along: all)\n"
                     " let d = h - mean(h, along: all)\n output v = mean(d * d, along: all) }";
  compareAll(text);
  compareAll(text, /*gradient=*/true);
}

/// Pooling of graphs: the best nodes, and edges between them, twice.
TEST(OpenSpaces, PooledGraphs) {
  std::string text = "model M { input pos: node[d = 3], x: node[c = 4]\n"
                     " space near = knn(pos, k: 4, along: batch)\n"
                     " let h = relu(Linear(x, out: 8) + sum(Linear(x, out: 8).near.src, along: near.dst))\n"
                     " let score = tanh(sum(Linear(h, out: 1), over: out))\n"
                     " space best = topk(score, ratio: 0.6, along: batch)\n"
                     " map place: node -> best = last(best, best.src)\n"
                     " let inside = (score.best.src * 0 + 1).place\n"
                     " space kept = filter(near, inside.near.src * inside.near.dst > 0)\n"
                     " map from: kept -> best = near.src.place\n"
                     " map to: kept -> best = near.dst.place\n"
                     " let g = h.best.src * score.best.src\n"
                     " let p = tanh(Linear(g, out: 8) + sum(Linear(g, out: 8).from, along: to))\n"
                     " let again = sum(Linear(p, out: 1), over: out)\n"
                     " space few = topk(again, k: 3, along: best.dst)\n"
                     " output y = sum(p.few.src * sigmoid(again.few.src), along: few.dst) }";
  compareAll(text);
  compareAll(text, /*gradient=*/true);
}
