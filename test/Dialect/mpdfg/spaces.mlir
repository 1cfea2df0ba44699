// RUN: gnnc-opt %s --verify-roundtrip | FileCheck %s
// RUN: gnnc-opt %s --mlir-print-op-generic | gnnc-opt | FileCheck %s

// Every kind of space, in no particular order: derived ones may come before what they are made of.

// CHECK: mpdfg.space @ring union {parts = [@real, @node]}
mpdfg.space @ring union {parts = [@real, @node]}
// CHECK: mpdfg.space @node root
mpdfg.space @node root
// CHECK: mpdfg.space @edge root
mpdfg.space @edge root
// CHECK: mpdfg.space @edge_type static {extent = 90 : i64}
mpdfg.space @edge_type static {extent = 90 : i64}
// CHECK: mpdfg.space @nothing static {extent = 0 : i64}
mpdfg.space @nothing static {extent = 0 : i64}
// CHECK: mpdfg.space @real filter {base = @edge, maps = [@src, @dst]}
mpdfg.space @real filter {base = @edge, maps = [@src, @dst]}
// CHECK: mpdfg.space @loop filter {base = @edge, equal, maps = [@src, @dst]}
mpdfg.space @loop filter {base = @edge, maps = [@src, @dst], equal}
// CHECK: mpdfg.space @pair distinct {base = @edge, maps = [@dst, @etype]}
mpdfg.space @pair distinct {base = @edge, maps = [@dst, @etype]}

// CHECK: mpdfg.map @src root from @edge to @node
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @etype root from @edge to @edge_type
// CHECK: mpdfg.map @mate root from @node to @node {partial}
mpdfg.map @mate root from @node to @node {partial}
// CHECK: mpdfg.map @real.edge inclusion from @real to @edge
mpdfg.map @real.edge inclusion from @real to @edge
mpdfg.map @loop.edge inclusion from @loop to @edge
// CHECK: mpdfg.map @real.dst compose from @real to @node {parts = [@real.edge, @dst]}
mpdfg.map @real.dst compose from @real to @node {parts = [@real.edge, @dst]}
mpdfg.map @loop.dst compose from @loop to @node {parts = [@loop.edge, @dst]}
// CHECK: mpdfg.map @ring.real part from @ring to @real {part = 0 : i64, partial}
mpdfg.map @ring.real part from @ring to @real {part = 0 : i64, partial}
mpdfg.space @nodes union {parts = [@node]}
// CHECK: mpdfg.map @nodes.node part from @nodes to @node {part = 0 : i64}
mpdfg.map @nodes.node part from @nodes to @node {part = 0 : i64}
// CHECK: mpdfg.map @ring.dst parts from @ring to @node {parts = [@real.dst, unit]}
mpdfg.map @ring.dst parts from @ring to @node {parts = [@real.dst, unit]}
// CHECK: mpdfg.map @ring.edge parts from @ring to @edge {partial, parts = [@real.edge, "undefined"]}
mpdfg.map @ring.edge parts from @ring to @edge {parts = [@real.edge, "undefined"], partial}
// CHECK: mpdfg.map @pair.etype projection from @pair to @edge_type {part = 1 : i64}
mpdfg.map @pair.etype projection from @pair to @edge_type {part = 1 : i64}
// CHECK: mpdfg.map @edge.pair class from @edge to @pair
mpdfg.map @edge.pair class from @edge to @pair
// CHECK: mpdfg.map @last_loop last from @node to @loop {partial, parts = [@loop.dst]}
mpdfg.map @last_loop last from @node to @loop {parts = [@loop.dst], partial}
// CHECK: mpdfg.map @last_loop.edge compose from @node to @edge {partial, parts = [@last_loop, @loop.edge]}
mpdfg.map @last_loop.edge compose from @node to @edge {parts = [@last_loop, @loop.edge], partial}
// CHECK: mpdfg.map @node.ring injection from @node to @ring {part = 1 : i64}
mpdfg.map @node.ring injection from @node to @ring {part = 1 : i64}
mpdfg.space @whole static {extent = 1 : i64}
// CHECK: mpdfg.map @node.whole only from @node to @whole
mpdfg.map @node.whole only from @node to @whole
// CHECK: mpdfg.space @all pairs {base = @node, maps = [@node.whole, @node.whole], of = @node}
mpdfg.space @all pairs {base = @node, of = @node, maps = [@node.whole, @node.whole]}
// CHECK: mpdfg.map @all.dst owner from @all to @node
mpdfg.map @all.dst owner from @all to @node
// CHECK: mpdfg.map @all.src partner from @all to @node
mpdfg.map @all.src partner from @all to @node
