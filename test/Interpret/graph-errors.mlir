// RUN: gnnc-opt %s --split-input-file --verify-diagnostics --gnnc-interpret=print-graph -o /dev/null

// expected-error @+1 {{no extent is given for space @node}}
module {
  mpdfg.space @node root
}

// -----

// expected-error @+1 {{space @node: expected an extent of 0 or more, found -2}}
module attributes {test.extents = {node = -2}} {
  mpdfg.space @node root
}

// -----

// expected-error @+1 {{space @edge_type: expected the static extent 3, found 4}}
module attributes {test.extents = {edge_type = 4}} {
  mpdfg.space @edge_type static {extent = 3 : i64}
}

// -----

// expected-error @+1 {{no targets are given for map @src}}
module attributes {test.extents = {node = 2, edge = 1}} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
}

// -----

// expected-error @+1 {{map @src: expected 1 elements, as many as space @edge has, found 2}}
module attributes {test.extents = {node = 2, edge = 1}, test.maps = {src = array<i64: 0, 1>}} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
}

// -----

// expected-error @+1 {{map @src: expected targets in [0, 2), found 2 at element 1}}
module attributes {test.extents = {node = 2, edge = 3}, test.maps = {src = array<i64: 0, 2, 1>}} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
}

// -----

// expected-error @+1 {{map @mate: expected targets in [0, 2), found -3 at element 0}}
module attributes {test.extents = {node = 2}, test.maps = {mate = array<i64: -3, -1>}} {
  mpdfg.space @node root
  mpdfg.map @mate root from @node to @node {partial}
}

// -----

// expected-error @+1 {{map @src is not partial, but is undefined at element 1}}
module attributes {test.extents = {node = 2, edge = 3}, test.maps = {src = array<i64: 0, -1, 1>}} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
}

// -----

// expected-error @+1 {{space @a is derived from itself}}
module {
  mpdfg.space @a union {parts = [@b]}
  mpdfg.space @b union {parts = [@a]}
}

// -----

// expected-error @+1 {{map @m is derived from itself}}
module attributes {test.extents = {node = 1}} {
  mpdfg.space @node root
  mpdfg.map @m compose from @node to @node {parts = [@m, @m]}
}
