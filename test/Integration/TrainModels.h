//===- TrainModels.h - Models that train ------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models with a train_step that tests of training steps have in common: by one process and by several ranks.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_TRAINMODELS_H
#define GNNC_TEST_INTEGRATION_TRAINMODELS_H

#include <ostream>

namespace gnnc::test {

struct TrainModel {
  const char *name;
  const char *text;
};

inline void PrintTo(const TrainModel &model, std::ostream *stream) { *stream << model.name; }

inline constexpr TrainModel kTrainModels[] = {
    {"GCN", R"(
    import std
    model M(class: int = 3) {
      input x: node[in = 6]
      let h = dropout(relu(GCN(dropout(x, 0.5), out: 40) as c1), 0.5)
      output y = GCN(h, out: class) as c2
      loss = CrossEntropy(y.train, onehot(label).train)
      train Adam(lr: 0.01, weight_decay: 0.0005) for c1
      train SGD(lr: 0.1, momentum: 0.9)
    })"},
    {"AttentionWithDropout", R"(
    import std
    model M(class: int = 3) {
      input x: node[in = 70]
      let h = elu(GAT(dropout(x, 0.6), heads: 4, out: 8, drop: 0.6) as c1)
      output y = GAT(h, heads: 1, out: class, concat: false, drop: 0.3) as c2
      loss = CrossEntropy(y.train, onehot(label).train)
      train AdamW(lr: CosineDecay(step, lr: 0.01, steps: 10), clip: 0.5)
    })"},
    {"RunningStatistics", R"(
    import std
    model M(class: int = 3) {
      input x: node[in = 6]
      let h = relu(BatchNorm(SAGE(x, out: 17) as c1))
      output y = SAGE(h, out: class) as c2
      loss = CrossEntropy(y.train, onehot(label).train)
      train SGD(lr: 0.1, momentum: 0.9, nesterov: true)
    })"},
    // An embedding; and a loss that has a derivative in it.
    {"Forces", R"(
    model M {
      param q: node[dim = 4]
      input p: node[xyz = 3]
      let d = p.src - p.dst
      let energy = sum(exp(-sum(d * d, over: xyz)) * dot(q.src, q.dst, over: dim), along: all)
      let force = -gradient(energy, p)
      output f = force
      loss = energy * 0.01 + mean(sum(square(force), over: xyz), along: all)
      train Descent()
    }
    layer Descent(value: any[dim], grad: any[dim]) -> any[dim] { value - 0.01 * grad })"},
};

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_TRAINMODELS_H
