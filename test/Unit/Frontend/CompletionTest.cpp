//===- CompletionTest.cpp - What may stand at a place of a text -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

#include <algorithm>

using namespace gnnc::frontend;

namespace {

using Kind = Completion::Kind;

/// The completions where `|` stands in a text, by label.
std::map<std::string, Completion> complete(std::string text) {
  size_t at = text.find('|');
  EXPECT_NE(at, std::string::npos);
  text.erase(at, 1);
  size_t lineBegin = text.rfind('\n', at == 0 ? 0 : at - 1);
  unsigned line = 1 + unsigned(std::count(text.begin(), text.begin() + long(at), '\n'));
  unsigned column = unsigned(at - (line == 1 ? 0 : lineBegin + 1)) + 1;
  std::map<std::string, Completion> found;
  for (const Completion &each : completeText("m.gnn", text, line, column, {}))
    EXPECT_TRUE(found.emplace(each.label, each).second) << each.label << " is offered twice";
  return found;
}

/// In a layer that no model calls, with this statement, cut short, followed by more.
std::map<std::string, Completion> inLayer(const std::string &statement) {
  return complete("import std\n"
                  "space user\n"
                  "relation follows: user -> node\n"
                  "layer L(x: node[heads, in], u: user[in], out: int) {\n"
                  "  param W[in, out]\n"
                  "  let z = x @ W\n" +
                  statement + "\n  let later = z.src\n  sum(later)\n}\n");
}

std::string detail(const std::map<std::string, Completion> &found, const std::string &label) {
  auto it = found.find(label);
  return it == found.end() ? "not offered" : it->second.detail;
}

} // namespace

TEST(Completion, NamesInScope) {
  for (const char *statement : {"  let y = |", "  let y = z + |", "  let y = (x @ |", "  let y = rel|u(z)"}) {
    auto found = inLayer(statement);
    EXPECT_EQ(detail(found, "z"), "node[heads, out]") << statement;
    EXPECT_EQ(detail(found, "W"), "shared[in, out]") << statement;
    EXPECT_EQ(detail(found, "out"), "int") << statement;
    EXPECT_EQ(detail(found, "heads"), "axis") << statement;
    EXPECT_EQ(detail(found, "later"), "not offered") << statement;
    EXPECT_EQ(detail(found, "GCN").substr(0, 6), "GCN(x,") << statement;
    EXPECT_EQ(found.at("GCN").kind, Kind::Layer);
    EXPECT_EQ(detail(found, "softmax"), "softmax(x, along: map) or softmax(x, over: axes)") << statement;
    EXPECT_EQ(detail(found, "let"), "not offered") << statement;
  }
}

TEST(Completion, SizesOfAModel) {
  auto found = complete("model M(k: int = 3) {\n  input x: node[in = 5]\n  let y = |\n  output z = x\n}");
  EXPECT_EQ(detail(found, "x"), "node[in = 5]");
  EXPECT_EQ(detail(found, "k"), "int = 3");
}

TEST(Completion, Statements) {
  auto found = inLayer("  |");
  EXPECT_EQ(detail(found, "param"), "param name: space[axes]");
  EXPECT_EQ(detail(found, "z"), "node[heads, out]");
  EXPECT_EQ(detail(complete("model M { input x: node[k = 2]; ou| }"), "output"), "output name = value");
}

TEST(Completion, Instances) {
  auto found = complete("layer Enc(x: node[k], out: int) {\n  param W[k, out]\n  x @ W\n}\n"
                        "model M {\n  input x: node[k = 2]\n  instance enc = Enc(out: 3)\n  let y = |\n}");
  EXPECT_EQ(detail(found, "enc"), "instance of Enc(x, out: int)");
  EXPECT_EQ(detail(inLayer("  |"), "instance"), "instance name = LAYER(...)");
  found = complete("layer Enc(x: node[k], out: int) { x }\n"
                   "model M {\n  input x: node[k = 2]\n  instance enc = Enc(out: 3)\n  let y = enc(x, |)\n}");
  EXPECT_EQ(detail(found, "out:"), "int");
}

TEST(Completion, MapsAfterADot) {
  auto found = inLayer("  let y = z.|");
  EXPECT_EQ(detail(found, "src"), "map edge -> node");
  EXPECT_EQ(found.at("src").kind, Kind::Map);
  EXPECT_EQ(detail(found, "train_idx"), "map train -> node");
  EXPECT_EQ(detail(found, "follows.dst"), "map follows -> node");
  // These go elsewhere.
  EXPECT_EQ(detail(found, "ntype"), "not offered");
  EXPECT_EQ(detail(found, "follows.src"), "not offered");
  EXPECT_EQ(detail(found, "z"), "not offered");
  found = inLayer("  let y = sum(x * u.|, over: in)");
  EXPECT_EQ(detail(found, "follows.src"), "map follows -> user");
  EXPECT_EQ(detail(found, "src"), "not offered");
}

TEST(Completion, MapsAlong) {
  for (const char *statement : {"  let y = sum(z, along: |", "  let y = sum(z, along: |)"}) {
    auto found = inLayer(statement);
    EXPECT_EQ(detail(found, "all"), "everything") << statement;
    EXPECT_EQ(detail(found, "batch"), "map node -> graph") << statement;
    EXPECT_EQ(detail(found, "dst"), "not offered") << statement;
  }
  EXPECT_EQ(detail(inLayer("  let y = sum(z.src, along: |)"), "dst"), "map edge -> node");
  EXPECT_EQ(detail(inLayer("  let y = degree(|)"), "dst"), "map edge -> node");
  auto found = inLayer("  let y = sum(z.follows, along: follows.|)");
  EXPECT_EQ(detail(found, "dst"), "map of relation follows");
  EXPECT_EQ(found.size(), 2u);
}

TEST(Completion, Axes) {
  for (const char *statement : {"  let y = sum(z, over: |", "  let y = sum(z, over: (heads, |", "  let y = z[|"}) {
    auto found = inLayer(statement);
    EXPECT_EQ(detail(found, "heads"), "axis") << statement;
    EXPECT_EQ(detail(found, "out"), "axis") << statement;
    EXPECT_EQ(found.size(), 2u) << statement;
  }
  EXPECT_EQ(detail(inLayer("  param V[|"), "heads"), "axis");
}

TEST(Completion, Arguments) {
  auto found = inLayer("  let y = sum(z, |");
  EXPECT_EQ(detail(found, "over:"), "axes");
  EXPECT_EQ(detail(found, "along:"), "map");
  EXPECT_EQ(found.at("over:").kind, Kind::Argument);
  EXPECT_EQ(detail(inLayer("  let y = sum(z, over: out, |)"), "over:"), "not offered");
  found = inLayer("  let y = GAT(z, heads: 2, |)");
  EXPECT_EQ(detail(found, "out:"), "int");
  EXPECT_EQ(detail(found, "slope:"), "float, optional");
  EXPECT_EQ(detail(found, "heads:"), "not offered");
  EXPECT_EQ(detail(found, "z"), "node[heads, out]");
}

TEST(Completion, SpacesAndRelations) {
  auto found = inLayer("  param V: |");
  EXPECT_EQ(detail(found, "node_type"), "space");
  EXPECT_EQ(detail(found, "shared"), "the same for all");
  EXPECT_EQ(detail(inLayer("  let y = GCN(flatten(z, k), out: 2) on |"), "with_self_loops"), "relation");
}

TEST(Completion, Nothing) {
  EXPECT_TRUE(inLayer("  // a |").empty());
  EXPECT_TRUE(complete("layer L(x: node[k]) { unknown(x).| }").empty());
  for (const char *text : {"|", "model M {|", "}}} )( |", "import |\n", "\"|", "/* |"})
    complete(text);
}

/// At every place of a text, also of one that is cut short there.
TEST(Completion, Anywhere) {
  std::string text = "import std\nmodel M(k: int = 2) {\n  input x: node[k]\n  let h = GAT(x, heads: 2, out: 3)\n"
                     "  output y = sum(sum(h.src, over: heads)[out: 0..k], along: dst) // é\n}\n";
  for (size_t at = 0; at <= text.size(); ++at) {
    std::string before = text.substr(0, at);
    unsigned line = 1 + unsigned(std::count(before.begin(), before.end(), '\n'));
    unsigned column = unsigned(at - (before.rfind('\n') == std::string::npos ? 0 : before.rfind('\n') + 1)) + 1;
    completeText("m.gnn", text, line, column, {});
    completeText("m.gnn", before, line, column, {});
  }
  EXPECT_FALSE(completeText("m.gnn", text, 4, 11, {}).empty());
  completeText("m.gnn", text, 99, 99, {});
  EXPECT_TRUE(completeText("m.json", "{}", 1, 1, {}).empty());
}

TEST(Completion, SpacesThatAreMade) {
  auto found = inLayer("  space near = |");
  EXPECT_EQ(detail(found, "radius"), "radius(x, r: number, max: count, of: value, along: map, self: bool)");
  EXPECT_EQ(detail(found, "pairs"), "pairs(map, map)");
  found = inLayer("  space near = knn(x, k: 4, |)");
  EXPECT_EQ(detail(found, "along:"), "map");
  EXPECT_EQ(detail(found, "k:"), "not offered");
  EXPECT_EQ(detail(found, "r:"), "not offered");
  found = inLayer("  space near |");
  EXPECT_EQ(detail(found, "knn"), "not offered");
}
