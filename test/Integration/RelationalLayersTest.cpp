//===- RelationalLayersTest.cpp - Typed layers against plain loops ------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NaiveLayers.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// y[v] += message(e) over edges e into v, each divided by the number of edges of e's type into v if `mean`.
void addByType(const Graph &graph, bool mean, const std::function<double(int64_t edge, int64_t column)> &message,
               Tensor &y) {
  for (int64_t e = 0; e < graph.extent("edge"); ++e) {
    int64_t peers = 0;
    for (int64_t k = 0; k < graph.extent("edge"); ++k)
      peers += graph.map("dst")[k] == graph.map("dst")[e] && graph.map("etype")[k] == graph.map("etype")[e];
    for (int64_t c = 0; c < y.shape[1]; ++c)
      y(graph.map("dst")[e], c) += message(e, c) / (mean ? double(peers) : 1.0);
  }
}

/// Row `row` of x times weight number `type` of W[types, in, ...], column `column` of the rest taken flat.
double typedProduct(const Tensor &x, int64_t row, const Tensor &weight, int64_t type, int64_t column) {
  int64_t in = weight.shape[1], out = int64_t(weight.data.size()) / (weight.shape[0] * in);
  double total = 0;
  for (int64_t i = 0; i < in; ++i)
    total += x(row, i) * weight.data[(type * in + i) * out + column];
  return total;
}

Tensor rgcn(const Graph &graph, const Tensor &x, const Tensor &weight, const Tensor &root, const Tensor &bias,
            bool mean) {
  Tensor y = plus(product(x, root), bias);
  addByType(
      graph, mean,
      [&](int64_t e, int64_t c) { return typedProduct(x, graph.map("src")[e], weight, graph.map("etype")[e], c); }, y);
  return y;
}

/// comp[types, bases] times basis[bases, ...].
Tensor combine(const Tensor &comp, const Tensor &basis) {
  Tensor flatBasis = flat(basis);
  Tensor weight = product(comp, flatBasis);
  weight.shape = basis.shape;
  weight.shape[0] = comp.shape[0];
  return weight;
}

} // namespace

TEST(RelationalLayers, RGCN) {
  for (bool mean : {true, false})
    checkLayer(std::string("import std\nmodel M(edge_type: int = 4) { input x: node[6]\n output y = ") +
                   (mean ? "RGCN" : "RGCNSum") + "(x, out: 5) as c }",
               [mean](const Graph &graph, const Tensors &t) {
                 return rgcn(graph, t.at("x"), t.at("c.W"), t.at("c.root"), t.at("c.b"), mean);
               });
}

TEST(RelationalLayers, RGCNBasis) {
  checkLayer("import std\nmodel M(edge_type: int = 4) { input x: node[6]\n"
             "output y = RGCNBasis(x, bases: 2, out: 5) as c }",
             [](const Graph &graph, const Tensors &t) {
               return rgcn(graph, t.at("x"), combine(t.at("c.comp"), t.at("c.basis")), t.at("c.root"), t.at("c.b"),
                           true);
             });
}

TEST(RelationalLayers, RGCNOnLearntEmbeddings) {
  checkLayer("import std\nmodel M(edge_type: int = 4) { param h: node[dim = 6]\n output y = RGCN(h, out: 5) as c }",
             [](const Graph &graph, const Tensors &t) {
               return rgcn(graph, t.at("h"), t.at("c.W"), t.at("c.root"), t.at("c.b"), true);
             });
}

TEST(RelationalLayers, RGCNEmbeddingThenRGCNBasis) {
  checkLayer("import std\nmodel M(edge_type: int = 4) {\n let h = relu(RGCNEmbedding(bases: 2, out: 6) as first)\n"
             "output y = RGCNBasis(h, bases: 3, out: 5) as second }",
             [](const Graph &graph, const Tensors &t) {
               const Tensor &basis = t.at("first.basis"), &comp = t.at("first.comp");
               Tensor h = plus(t.at("first.root"), t.at("first.b"));
               addByType(
                   graph, true,
                   [&](int64_t e, int64_t c) {
                     double total = 0;
                     for (int64_t b = 0; b < 2; ++b)
                       total += comp(graph.map("etype")[e], b) * basis(graph.map("src")[e], b, c);
                     return total;
                   },
                   h);
               return rgcn(graph, relu(h), combine(t.at("second.comp"), t.at("second.basis")), t.at("second.root"),
                           t.at("second.b"), true);
             });
}

TEST(RelationalLayers, HGT) {
  checkLayer("import std\nmodel M(node_type: int = 3, edge_type: int = 4) { input x: node[6]\n"
             "output y = HGT(x, heads: 2, out: 4) as c }",
             [](const Graph &graph, const Tensors &t) {
               const Tensor &x = t.at("x");
               int64_t nodes = x.shape[0], heads = 2, out = 4;
               const std::vector<int32_t> &ntype = graph.map("ntype"), &etype = graph.map("etype");
               auto linear = [&](const char *weight, const char *bias) {
                 Tensor y = Tensor::zeros({nodes, heads * out}), b = flat(t.at(bias));
                 for (int64_t v = 0; v < nodes; ++v)
                   for (int64_t c = 0; c < heads * out; ++c)
                     y(v, c) = typedProduct(x, v, t.at(weight), ntype[v], c) + b(ntype[v], c);
                 return y;
               };
               Tensor k = linear("c.K", "c.b_k"), q = linear("c.Q", "c.b_q"), v = linear("c.V", "c.b_v");
               std::vector<NaiveEdge> edges = plainEdges(graph);
               // The row of head h of a node's key or value, times the matrix of the edge's type and that head.
               auto turned = [&](const Tensor &rows, const Tensor &matrix, int64_t e, int64_t h, int64_t o) {
                 double total = 0;
                 for (int64_t i = 0; i < out; ++i)
                   total += rows(edges[e].src, h * out + i) * matrix(etype[e], h, i, o);
                 return total;
               };
               Tensor score = Tensor::zeros({int64_t(edges.size()), heads});
               for (size_t e = 0; e < edges.size(); ++e)
                 for (int64_t h = 0; h < heads; ++h) {
                   for (int64_t o = 0; o < out; ++o)
                     score(e, h) += turned(k, t.at("c.A"), e, h, o) * q(edges[e].dst, h * out + o);
                   score(e, h) *= t.at("c.mu")(etype[e], h) / std::sqrt(double(out));
                 }
               Tensor y = weightedSum(edges, nodes, attention(edges, nodes, score), out, [&](int64_t e, int64_t c) {
                 return turned(v, t.at("c.M"), e, c / out, c % out);
               });
               for (double &number : y.data)
                 number = gelu(number);
               Tensor result = Tensor::zeros(x.shape);
               for (int64_t node = 0; node < nodes; ++node)
                 for (int64_t c = 0; c < x.shape[1]; ++c) {
                   double gate = sigmoid(t.at("c.skip")(ntype[node]));
                   double fresh = typedProduct(y, node, t.at("c.O"), ntype[node], c) + t.at("c.b_o")(ntype[node], c);
                   result(node, c) = gate * fresh + (1 - gate) * x(node, c);
                 }
               return result;
             });
}

namespace {

/// Attention of Simple-HGN over projected nodes z[node, heads * out]; names start with `prefix`.
Tensor simpleHGNAttention(const Graph &graph, const Tensor &z, const Tensors &t, const std::string &prefix) {
  const Tensor &source = t.at(prefix + "a_src"), &target = t.at(prefix + "a_dst"), &rel = t.at(prefix + "a_rel");
  Tensor relation = product(t.at(prefix + "embedding"), t.at(prefix + "W_r"));
  int64_t heads = source.shape[0], out = source.shape[1], dim = rel.shape[1];
  std::vector<NaiveEdge> edges = plainEdges(graph);
  Tensor score = Tensor::zeros({int64_t(edges.size()), heads});
  for (size_t e = 0; e < edges.size(); ++e)
    for (int64_t h = 0; h < heads; ++h) {
      double total = 0;
      for (int64_t o = 0; o < out; ++o)
        total += z(edges[e].src, h * out + o) * source(h, o) + z(edges[e].dst, h * out + o) * target(h, o);
      for (int64_t d = 0; d < dim; ++d)
        total += relation(graph.map("etype")[e], h * dim + d) * rel(h, d);
      score(e, h) = leakyRelu(total, 0.2);
    }
  return attention(edges, z.shape[0], score);
}

Tensor messages(const Graph &graph, const Tensor &z, const Tensor &alpha) {
  return weightedSum(plainEdges(graph), z.shape[0], alpha, z.shape[1] / alpha.shape[1],
                     [&](int64_t e, int64_t c) { return z(graph.map("src")[e], c); });
}

} // namespace

TEST(RelationalLayers, SimpleHGN) {
  checkLayer("import std\nmodel M(edge_type: int = 4) { input x: node[6]\n"
             "output y = L2Normalize(SimpleHGN(x, heads: 2, out: 4, relation_dim: 3) as c) }",
             [](const Graph &graph, const Tensors &t) {
               Tensor z = product(t.at("x"), t.at("c.W"));
               Tensor y = messages(graph, z, simpleHGNAttention(graph, z, t, "c.attention."));
               Tensor skip = product(t.at("x"), t.at("c.W_s"));
               for (int64_t v = 0; v < y.shape[0]; ++v) {
                 double squares = 0;
                 for (int64_t c = 0; c < y.shape[1]; ++c)
                   squares += std::pow(y(v, c) += skip(v, c), 2);
                 for (int64_t c = 0; c < y.shape[1]; ++c)
                   y(v, c) /= std::max(std::sqrt(squares), 1e-12);
               }
               return y;
             });
}

TEST(RelationalLayers, SimpleHGNWithResidualAttention) {
  checkLayer("import std\nmodel M(edge_type: int = 4) { input x: node[in = 6]\n"
             "param W1[in, heads = 2, out = 4], W2[features = 8, heads, out]\n"
             "let z1 = x @ W1\n"
             "let a1 = SimpleHGNAttention(z1, relation_dim: 3) as first\n"
             "let h  = elu(flatten(sum(a1 * z1.src), features))\n"
             "let z2 = h @ W2\n"
             "let a2 = SimpleHGNMixedAttention(z2, a1, relation_dim: 3, mix: 0.25) as second\n"
             "output y = flatten(sum(a2 * z2.src), features) }",
             [](const Graph &graph, const Tensors &t) {
               Tensor z = product(t.at("x"), t.at("W1"));
               Tensor before = simpleHGNAttention(graph, z, t, "first.");
               Tensor h = messages(graph, z, before);
               for (double &number : h.data)
                 number = number > 0 ? number : std::expm1(number);
               z = product(h, t.at("W2"));
               Tensor alpha = simpleHGNAttention(graph, z, t, "second.attention.");
               for (size_t i = 0; i < alpha.data.size(); ++i)
                 alpha.data[i] = 0.75 * alpha.data[i] + 0.25 * before.data[i];
               return messages(graph, z, alpha);
             });
}
