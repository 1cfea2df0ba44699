// RUN: gnnc-opt %s --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s %lower-O0 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s %lower-O2 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// What is not a number makes a log-sum-exp none, wherever it stands among the members.
// CHECK: lse: 2 rows []
// CHECK-NEXT: nan
// CHECK-NEXT: nan

module attributes {
  test.extents = {node = 2, edge = 4},
  test.maps = {dst = array<i64: 0, 0, 1, 1>},
  test.inputs = {x = dense<[0x7FF8000000000000, 1.0, 1.0, 0x7FF8000000000000]> : tensor<4xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @dst root from @edge to @node
  func.func @forward(%x: tensor<?xf32, #mpdfg.on<@edge>> {mpdfg.name = "x"})
      -> (tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "lse"}) {
    %0 = mpdfg.reduce logsumexp %x along @dst : tensor<?xf32, #mpdfg.on<@edge>> -> tensor<?xf32, #mpdfg.on<@node>>
    return %0 : tensor<?xf32, #mpdfg.on<@node>>
  }
}
