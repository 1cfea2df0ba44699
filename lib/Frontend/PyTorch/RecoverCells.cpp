//===- RecoverCells.cpp - Recurrent cells and layers -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

/// Weights of one cell: of the input and of the state, and their biases.
struct Recover::CellWeights {
  Tensor input, hidden;
  std::optional<Tensor> inputBias, hiddenBias;
};

Recover::CellWeights Recover::cellWeights(const NormalNode &node) {
  CellWeights weights{tensor(node, "w_ih"), tensor(node, "w_hh"), {}, {}};
  if (has(node, "b_ih"))
    weights.inputBias = tensor(node, "b_ih");
  if (has(node, "b_hh"))
    weights.hiddenBias = tensor(node, "b_hh");
  return weights;
}

/// The new state h of a gated recurrent unit.
Tensor Recover::stepGRU(const Tensor &x, const Tensor &h, const CellWeights &weights) {
  Tensor a = linear(x, weights.input, weights.inputBias), b = linear(h, weights.hidden, weights.hiddenBias);
  size_t last = a.dims.size() - 1;
  int64_t size = a.dims[last].size / 3;
  auto part = [&](const Tensor &of, int64_t i) { return slice(of, of.dims.size() - 1, i * size, (i + 1) * size, 1); };
  Tensor reset = unary("sigmoid", binary("+", part(a, 0), part(b, 0)));
  Tensor update = unary("sigmoid", binary("+", part(a, 1), part(b, 1)));
  Tensor fresh = unary("tanh", binary("+", part(a, 2), binary("*", reset, part(b, 2))));
  return binary("+", fresh, binary("*", update, binary("-", h, fresh)));
}

/// The new state of a plain recurrent cell.
Tensor Recover::stepRNN(const std::string &function, const Tensor &x, const Tensor &h, const CellWeights &weights) {
  return unary(function,
               binary("+", linear(x, weights.input, weights.inputBias), linear(h, weights.hidden, weights.hiddenBias)));
}

/// The new states h and c of a long short-term memory.
std::pair<Tensor, Tensor> Recover::stepLSTM(const Tensor &x, const Tensor &h, const Tensor &c,
                                            const CellWeights &weights) {
  Tensor gates =
      binary("+", linear(x, weights.input, weights.inputBias), linear(h, weights.hidden, weights.hiddenBias));
  size_t last = gates.dims.size() - 1;
  int64_t size = gates.dims[last].size / 4;
  auto gate = [&](int64_t i) { return slice(gates, last, i * size, (i + 1) * size, 1); };
  Tensor newC = binary("+", binary("*", unary("sigmoid", gate(1)), c),
                       binary("*", unary("sigmoid", gate(0)), unary("tanh", gate(2))));
  return {binary("*", unary("sigmoid", gate(3)), unary("tanh", newC)), newC};
}

void Recover::opGRUCell(const NormalNode &node) {
  if (node.op != "gru_cell")
    return define(node, stepRNN(node.op == "rnn_tanh_cell" ? "tanh" : "relu", tensor(node, "input"), tensor(node, "hx"),
                                cellWeights(node)));
  define(node, stepGRU(tensor(node, "input"), tensor(node, "hx"), cellWeights(node)));
}

void Recover::opLSTMCell(const NormalNode &node) {
  std::vector<std::string> states = names(node, "hx");
  if (states.size() != 2)
    throw Refusal{"lstm_cell: expected two states"};
  auto [h, c] = stepLSTM(tensor(node, "input"), tensorOf(states[0]), tensorOf(states[1]), cellWeights(node));
  define(node, h, 0);
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    define(node, c, 1);
}

/// Layers of cells over the steps of a fixed number, each in one direction or both, written out.
void Recover::opRecurrent(const NormalNode &node) {
  bool isLSTM = node.op == "lstm";
  Tensor input = tensor(node, "input");
  if (has(node, "data") || has(node, "batch_sizes"))
    throw Refusal{node.op + " of packed sequences; give it a tensor with an axis of steps"};
  std::vector<Tensor> states;
  if (isLSTM)
    for (const std::string &name : names(node, "hx"))
      states.push_back(tensorOf(name));
  else
    states.push_back(tensor(node, "hx"));
  std::vector<std::string> weights = names(node, "params");
  bool bias = flag(node, "has_biases", true), both = flag(node, "bidirectional", false);
  int64_t layers = integer(node, "num_layers", 1);
  if (flag(node, "train", false) && number(node, "dropout", 0) != 0)
    throw Refusal{"dropout in training mode; export the model after eval()"};
  if (input.dims.size() != 3 || states.size() != (isLSTM ? 2 : 1))
    throw Refusal{node.op + ": expected three axes and the first states"};
  size_t time = flag(node, "batch_first", false) ? 1 : 0;
  if (input.dims[time].kind == Kind::Space)
    throw Refusal{node.op + ": expected a fixed number of steps, found " + sizeOf(input.dims[time]).str()};
  int64_t steps = input.dims[time].size;
  size_t directions = both ? 2 : 1, each = bias ? 4 : 2;
  if (weights.size() != size_t(layers) * directions * each)
    throw Refusal{node.op + ": expected " + std::to_string(size_t(layers) * directions * each) + " weights, found " +
                  std::to_string(weights.size()) + "; projections (proj_size) are not supported"};
  std::vector<Tensor> row, lastH, lastC;
  for (int64_t t = 0; t < steps; ++t)
    row.push_back(pick(input, time, t));
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::vector<std::vector<Tensor>> results(directions);
    for (size_t direction = 0; direction < directions; ++direction) {
      size_t at = size_t(layer) * directions + direction;
      Tensor h = pick(states[0], 0, int64_t(at)), c = isLSTM ? pick(states[1], 0, int64_t(at)) : h;
      auto weight = [&](size_t i) { return tensorOf(weights[at * each + i]); };
      CellWeights own{weight(0), weight(1), {}, {}};
      if (bias) {
        own.inputBias = weight(2);
        own.hiddenBias = weight(3);
      }
      results[direction].resize(size_t(steps));
      for (int64_t k = 0; k < steps; ++k) {
        size_t t = size_t(direction ? steps - 1 - k : k);
        if (isLSTM)
          std::tie(h, c) = stepLSTM(row[t], h, c, own);
        else if (node.op == "gru")
          h = stepGRU(row[t], h, own);
        else
          h = stepRNN(node.op == "rnn_tanh" ? "tanh" : "relu", row[t], h, own);
        results[direction][t] = h;
      }
      lastH.push_back(unsqueezed(h, 0));
      lastC.push_back(unsqueezed(c, 0));
    }
    for (int64_t t = 0; t < steps; ++t)
      row[size_t(t)] = both ? concat({results[0][size_t(t)], results[1][size_t(t)]}, row[size_t(t)].dims.size() - 1)
                            : results[0][size_t(t)];
  }
  for (Tensor &step : row)
    step = unsqueezed(step, time);
  define(node, concat(row, time));
  if (node.outputs.size() > 1 && !node.outputs[1].empty())
    define(node, concat(lastH, 0), 1);
  if (isLSTM && node.outputs.size() > 2 && !node.outputs[2].empty())
    define(node, concat(lastC, 0), 2);
}
