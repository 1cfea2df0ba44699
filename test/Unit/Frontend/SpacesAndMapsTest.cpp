//===- SpacesAndMapsTest.cpp - Derived spaces and maps --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"

#include <set>

using namespace gnnc::frontend;

TEST(Structure, SelfLoopRelation) {
  ModelSpec model = load("layer L(x: node[]) on with_self_loops { sum(x.src) + sum(x.src.old * 0, along: dst) * 0 }\n"
                         "layer K(w: edge[]) on with_self_loops { sum(w.old) }\n"
                         "model M { input w: edge[]; output y = K(w) }\n");
  const Space &ring = model.spaces[spaceNamed(model, "with_self_loops.ring")];
  Id real = spaceNamed(model, "with_self_loops.real"), node = spaceNamed(model, "node"),
     edge = spaceNamed(model, "edge"), loop = spaceNamed(model, "with_self_loops.loop");
  EXPECT_EQ(ring.kind, Space::Kind::Union);
  EXPECT_EQ(ring.parts, (std::vector<Id>{real, node}));
  EXPECT_EQ(model.spaces[real].kind, Space::Kind::Filter);
  EXPECT_EQ(model.spaces[real].base, edge);
  EXPECT_FALSE(model.spaces[real].equal);
  EXPECT_TRUE(model.spaces[loop].equal);

  const Map &old = model.maps[mapNamed(model, "with_self_loops.ring_old")];
  EXPECT_EQ(old.kind, Map::Kind::Parts);
  EXPECT_TRUE(old.partial);
  EXPECT_EQ(old.to, edge);
  ASSERT_EQ(old.parts.size(), 2u);
  EXPECT_EQ(model.maps[old.parts[0]].kind, Map::Kind::Inclusion);
  // node -> loop -> edge
  const Map &lastLoop = model.maps[old.parts[1]];
  EXPECT_EQ(lastLoop.kind, Map::Kind::Compose);
  EXPECT_TRUE(lastLoop.partial);
  const Map &last = model.maps[lastLoop.parts[0]];
  EXPECT_EQ(last.kind, Map::Kind::Last);
  EXPECT_EQ(last.from, node);
  EXPECT_EQ(last.to, loop);
  EXPECT_EQ(model.maps[last.parts[0]].to, node);

  const Map &dst = model.maps[mapNamed(model, "with_self_loops.ring_dst")];
  EXPECT_FALSE(dst.partial);
  EXPECT_EQ(dst.parts[1], kNone);
}

TEST(Structure, EqualDerivedSpacesAreOne) {
  ModelSpec model = load("layer L(x: node[]) on with_self_loops { sum(x.src) }\n"
                         "relation mine() { space ring = union(edge, node)\n map s: ring -> node = src | node\n"
                         "  map d: ring -> node = dst | node\n ring(src: s, dst: d) }\n"
                         "layer K(x: node[]) { space p = distinct(dst, src)\n sum(x.p.src, along: p.dst) }\n"
                         "model M { input x: node[]\n  output y = L(L(x)) + K(K(x)) + (L(x) on mine) }\n");
  size_t rings = 0, distinct = 0;
  for (const Space &space : model.spaces) {
    rings += space.kind == Space::Kind::Union;
    distinct += space.kind == Space::Kind::Distinct;
  }
  EXPECT_EQ(rings, 3u); // with_self_loops, mine, with_self_loops of mine
  EXPECT_EQ(distinct, 1u);
}

TEST(Structure, DistinctPairs) {
  const char *text = "model M(edge_type: int = 3) {\n"
                     "  input x: node[in = 4]\n  param W: edge_type[in, out = 2]\n"
                     "  space P = distinct(dst, etype)\n"
                     "  let pooled = mean(x.src, along: P)\n" // edge -> P by the class map
                     "  let z = pooled @ W.P\n"               // edge_type -> P by the projection
                     "  output y = sum(z, along: node)\n"     // P -> node, the only way
                     "  output same = sum(z, along: P.dst)\n  output back = z.edge\n}";
  ModelSpec model = load(text);
  EXPECT_EQ(outputType(model, 0), "node[out = 2]");
  EXPECT_EQ(outputType(model, 2), "edge[out = 2]");
  const Value &y = model.values[model.outputs[0].value], &same = model.values[model.outputs[1].value];
  EXPECT_EQ(y.map, same.map);
  EXPECT_EQ(model.maps[y.map].kind, Map::Kind::Projection);
  EXPECT_EQ(model.maps[y.map].part, 0);
  EXPECT_EQ(model.maps[y.map].name, "P.dst");
  EXPECT_EQ(model.maps[only(model, OpCode::Reduce, "mean").map].kind, Map::Kind::Class);
  EXPECT_EQ(model.spaces[spaceNamed(model, "P")].base, spaceNamed(model, "edge"));
}

TEST(Structure, GoingToAClassAndOnIsTheMapItself) {
  ModelSpec model = load("model M { input x: node[]\n  space P = distinct(src, dst)\n  map m = src\n"
                         "  output y = sum(x.P.src.edge)\n}");
  // x -> P along P.src, then to edges along the class map.
  EXPECT_EQ(count(model, OpCode::Move), 2);
  ModelSpec direct = load("model M { input x: edge[]\n  space P = distinct(src, dst)\n"
                          "  output y = sum(x, along: P.src)\n}");
  EXPECT_EQ(direct.spaces.size(), 2u);
  EXPECT_EQ(direct.maps[only(direct, OpCode::Reduce).map].name, "src");
}

TEST(Structure, Subsets) {
  const char *text =
      "space chosen\nmap label: chosen -> node\n"
      "model M { input x: node[k = 3], t: chosen[k]\n  output loss = mean(sum(square(x.label - t), over: k), "
      "along: all)\n  output y = sum(t, along: label)\n  output z = x.chosen\n}";
  ModelSpec model = load(text);
  EXPECT_EQ(outputType(model, 0), "shared[]");
  EXPECT_EQ(outputType(model, 1), "node[k = 3]");
  EXPECT_EQ(outputType(model, 2), "chosen[k = 3]");
}

TEST(Structure, FilteredReductions) {
  ModelSpec model = load("model M { input e: edge[], x: node[]\n  space real = filter(edge, src != dst)\n"
                         "  output y = sum(e.real, along: dst)\n  output z = x.src.real\n}");
  EXPECT_EQ(outputType(model), "node[]");
  const Map &map = model.maps[model.values[model.outputs[0].value].map];
  EXPECT_EQ(map.kind, Map::Kind::Compose);
  EXPECT_EQ(model.maps[map.parts[0]].kind, Map::Kind::Inclusion);
  EXPECT_EQ(outputType(model, 1), "real[]");
}

/// Programs are symbols of the same module; derived spaces and maps take other names there.
TEST(Structure, NamesOfPrograms) {
  ModelSpec model = load("model M { input e: edge[], x: node[]\n  space gradient = filter(edge, src != dst)\n"
                         "  map forward: edge -> node = src\n  output y = sum(e.gradient, along: dst)\n"
                         "  output z = sum(x.forward)\n}");
  std::set<std::string> names;
  for (const Space &space : model.spaces)
    names.insert(space.name);
  for (const Map &map : model.maps)
    names.insert(map.name);
  EXPECT_TRUE(names.count("gradient_2"));
  EXPECT_FALSE(names.count("gradient") || names.count("forward"));
}

TEST(Structure, Join) {
  const char *text = "layer L(w: edge[], v: node[]) on with_self_loops { sum(join(w, v)) }\n"
                     "model M { input w: edge[], v: node[]\n  output y = L(w, v)\n"
                     "  space U = union(edge, node)\n  output z = join(w, 1, on: U)\n}";
  ModelSpec model = load(text);
  EXPECT_EQ(outputType(model, 0), "node[]");
  EXPECT_EQ(outputType(model, 1), "U[]");
  size_t partMoves = 0;
  for (const Value &value : model.values)
    partMoves += value.op == OpCode::Move && model.maps[value.map].kind == Map::Kind::Part;
  EXPECT_EQ(partMoves, 4u); // one of them for where the 1 goes
}

TEST(Structure, MapsByParts) {
  ModelSpec model = load("model M { input x: node[], e: edge[]\n  space U = union(edge, node, graph)\n"
                         "  map m: U -> node = src | node | none\n  map q: U -> graph = m.batch\n"
                         "  output y = x.m\n  output d = degree(q)\n}");
  const Map &m = model.maps[mapNamed(model, "m")];
  EXPECT_EQ(m.parts, (std::vector<Id>{mapNamed(model, "src"), kNone, kUndefined}));
  EXPECT_TRUE(m.partial);
  EXPECT_EQ(model.maps[mapNamed(model, "q")].kind, Map::Kind::Compose);
  EXPECT_EQ(outputType(model, 1), "graph[]");
}

TEST(Structure, ShortestWay) {
  // There are two ways of length two, but one of length one.
  ModelSpec model = load("space a\nspace b\nspace c\nmap ab, ab2: a -> b\nmap bc: b -> c\nmap ac: a -> c\n"
                         "model M { input x: c[]\n  output y = x.a\n}");
  EXPECT_EQ(model.maps[only(model, OpCode::Move).map].name, "ac");
}

TEST(Structure, StaticExtents) {
  const char *text = "space kind static\nmap of: node -> kind\nmodel M(%) { param K: kind[a = 2]; output y = K.of }";
  std::string withParameter = text, without = text;
  withParameter.replace(withParameter.find('%'), 1, "kind: int = 4");
  without.replace(without.find('%'), 1, "");
  auto extent = [](const ModelSpec &model) { return model.spaces[spaceNamed(model, "kind")].extent; };
  EXPECT_EQ(extent(load(withParameter)), 4);
  EXPECT_EQ(extent(load(withParameter, {{"kind", "5"}})), 5);
  EXPECT_EQ(extent(load(without, {{"kind", "6"}})), 6);
  EXPECT_EQ(errorOf(without),
            "1:7: the extent of static space 'kind' is not known; define it with '-D kind=...' or give "
            "the model a parameter 'kind: int'");
  // Where it is not used it need not be known.
  load("space kind static\nmodel M { output y = 1 }");
}

TEST(Structure, AFileHidesNamesOfThePrelude) {
  ModelSpec model = load("space class\nspace label static\nmap test: class -> label\nrelation val: node -> class\n"
                         "model M(label: int = 3) {\n  input x: class[], y: node[]\n  param p: label[]\n"
                         "  output a = x + p.test\n  output b = sum(y.val.src, along: val.dst)\n}");
  EXPECT_EQ(model.spaces[spaceNamed(model, "class")].kind, Space::Kind::Root);
  EXPECT_EQ(model.spaces[spaceNamed(model, "label")].extent, 3);
  EXPECT_EQ(model.maps[mapNamed(model, "test")].to, spaceNamed(model, "label"));
  // What others mean by a name stays what it is, so both cannot be used.
  const std::string head = "import std\nimport \"l.gnn\"\nmap label: node -> graph\n";
  const std::map<std::string, std::string> files = {{"l.gnn", "layer Hot() { onehot(label) }"}};
  EXPECT_EQ(outputType(load(head + "model M(class: int = 4) { output y = Hot() }", {}, files)), "node[class = 4]");
  EXPECT_EQ(errorOf(head + "model M(class: int = 4) { input g: graph[]; output y = Hot() * g.label }", {}, files),
            "3:5: 'label' is declared in two ways, and the model uses both");
  EXPECT_EQ(errorOf("space edge static\nmodel M { output y = 1 }"), "1:7: 'edge' is already declared");
}

TEST(Structure, PartialRootMaps) {
  ModelSpec model =
      load("map twin: node -> node partial\nmodel M { input x: node[]; output y = move(x, twin, fill: 2) }");
  EXPECT_TRUE(model.maps[mapNamed(model, "twin")].partial);
  EXPECT_EQ(only(model, OpCode::Move).number, 2);
  EXPECT_EQ(errorOf("map twin: node -> node partial\nmodel M { input x: node[]; output y = softmax(x, along: twin) }"),
            "2:39: softmax needs a map that is defined everywhere, but 'twin' is partial");
}
