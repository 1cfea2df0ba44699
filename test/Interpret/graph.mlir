// RUN: gnnc-opt %s --split-input-file --gnnc-interpret=print-graph -o /dev/null | FileCheck %s --match-full-lines

// Remaining-self-loops on 4 nodes and 6 edges: 0->1, 1->1, 2->1, 1->1 again, 3->0, 2->2. Declared from the last to the
// first: the order does not matter.
// CHECK: space loop: 3
// CHECK: space ring: 7
// CHECK: space real: 3
// CHECK: space edge: 6
// CHECK: space node: 4
// Of the two self loops of node 1, elements 0 and 1 of loop, the last counts; nodes 0 and 3 have none.
// CHECK: map last_loop: -1 1 2 -1
// CHECK: map last_loop.edge: -1 3 5 -1
// CHECK: map ring.old: 0 2 4 -1 3 5 -1
// CHECK: map ring.src: 0 2 3 0 1 2 3
// CHECK: map ring.dst: 1 1 0 0 1 2 3
// CHECK: map ring.real: 0 1 2 -1 -1 -1 -1
// CHECK: map ring.node: -1 -1 -1 0 1 2 3
// CHECK: map ring.rest: 0 1 2 -1 -1 -1 -1
// CHECK: map real.src: 0 2 3
// CHECK: map real.dst: 1 1 0
// CHECK: map loop.dst: 1 1 2
// CHECK: map loop.edge: 1 3 5
// CHECK: map real.edge: 0 2 4
module attributes {
  test.extents = {node = 4, edge = 6},
  test.maps = {src = array<i64: 0, 1, 2, 1, 3, 2>, dst = array<i64: 1, 1, 1, 1, 0, 2>}
} {
  mpdfg.space @loop filter {base = @edge, maps = [@src, @dst], equal}
  mpdfg.space @ring union {parts = [@real, @node]}
  mpdfg.space @real filter {base = @edge, maps = [@src, @dst]}
  mpdfg.space @edge root
  mpdfg.space @node root
  mpdfg.map @last_loop last from @node to @loop {parts = [@loop.dst], partial}
  mpdfg.map @last_loop.edge compose from @node to @edge {parts = [@last_loop, @loop.edge], partial}
  mpdfg.map @ring.old parts from @ring to @edge {parts = [@real.edge, @last_loop.edge], partial}
  mpdfg.map @ring.src parts from @ring to @node {parts = [@real.src, unit]}
  mpdfg.map @ring.dst parts from @ring to @node {parts = [@real.dst, unit]}
  mpdfg.map @ring.real part from @ring to @real {part = 0 : i64, partial}
  mpdfg.map @ring.node part from @ring to @node {part = 1 : i64, partial}
  mpdfg.map @ring.rest parts from @ring to @real {parts = [unit, "undefined"], partial}
  mpdfg.map @real.src compose from @real to @node {parts = [@real.edge, @src]}
  mpdfg.map @real.dst compose from @real to @node {parts = [@real.edge, @dst]}
  mpdfg.map @loop.dst compose from @loop to @node {parts = [@loop.edge, @dst]}
  mpdfg.map @loop.edge inclusion from @loop to @edge
  mpdfg.map @real.edge inclusion from @real to @edge
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
}

// -----

// Distinct pairs are numbered in lexicographic order of the maps as listed, whatever the order of the edges.
// CHECK: space node: 3
// CHECK: space pair: 4
// CHECK: map pair.dst: 0 0 2 2
// CHECK: map pair.etype: 0 1 0 1
// CHECK: map edge.pair: 3 1 2 1 3 0
module attributes {
  test.extents = {node = 3, edge = 6, edge_type = 2},
  test.maps = {dst = array<i64: 2, 0, 2, 0, 2, 0>, etype = array<i64: 1, 1, 0, 1, 1, 0>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.space @edge_type static {extent = 2 : i64}
  mpdfg.space @pair distinct {base = @edge, maps = [@dst, @etype]}
  mpdfg.map @dst root from @edge to @node
  mpdfg.map @etype root from @edge to @edge_type
  mpdfg.map @pair.dst projection from @pair to @node {part = 0 : i64}
  mpdfg.map @pair.etype projection from @pair to @edge_type {part = 1 : i64}
  mpdfg.map @edge.pair class from @edge to @pair
}

// -----

// Distinct over a partial map: the elements where it is undefined are one class, the first. Names that the module does not
// declare are ignored.
// CHECK: space node: 4
// CHECK: space group: 3
// CHECK: map mate: 2 -1 1 -1
// CHECK: map group.mate: -1 1 2
// CHECK: map node.group: 2 0 1 0
module attributes {
  test.extents = {node = 4, user = 7},
  test.maps = {mate = array<i64: 2, -1, 1, -1>, likes = array<i64: 1>}
} {
  mpdfg.space @node root
  mpdfg.space @group distinct {base = @node, maps = [@mate]}
  mpdfg.map @mate root from @node to @node {partial}
  mpdfg.map @group.mate projection from @group to @node {part = 0 : i64, partial}
  mpdfg.map @node.group class from @node to @group
}

// -----

// An empty graph has empty derived spaces.
// CHECK: space node: 0
// CHECK: space edge: 0
// CHECK: space pair: 0
// CHECK: space real: 0
// CHECK: space ring: 0
// CHECK: space twice: 0
// CHECK: map dst:
// CHECK: map last:
module attributes {
  test.extents = {node = 0, edge = 0},
  test.maps = {src = array<i64>, dst = array<i64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.space @pair distinct {base = @edge, maps = [@src, @dst]}
  mpdfg.space @real filter {base = @edge, maps = [@src, @dst]}
  mpdfg.space @ring union {parts = [@real, @node]}
  mpdfg.space @twice union {parts = [@node, @node]}
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
  mpdfg.map @last last from @node to @edge {parts = [@dst], partial}
}
