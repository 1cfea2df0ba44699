// RUN: gnnc-opt %s --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s %lower-O0 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s %lower-O2 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// Scores at the edges: large ones (equal, and 1 apart), a mask on all members, minus infinity for all and for one,
// infinity, NaN, and an owner without members.
// CHECK: softmax: 14 rows []
// CHECK-NEXT: 0.268941
// CHECK-NEXT: 0.731059
// CHECK-NEXT: 0.5
// CHECK-NEXT: 0.5
// CHECK-NEXT: 0
// CHECK-NEXT: 0
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: nan
// CHECK-NEXT: nan
// CHECK-NEXT: nan
// CHECK-NEXT: nan
// CHECK-NEXT: 0.5
// CHECK-NEXT: 0.5
// CHECK-NEXT: lse: 8 rows []
// CHECK-NEXT: 10001.3
// CHECK-NEXT: -1e+09
// CHECK-NEXT: -inf
// CHECK-NEXT: 3
// CHECK-NEXT: inf
// CHECK-NEXT: nan
// CHECK-NEXT: -inf
// CHECK-NEXT: 0.693147
// CHECK-NEXT: shift: 8 rows []
// CHECK-NEXT: 10001
// CHECK-NEXT: -1e+09
// CHECK-NEXT: -1.79769e+308
// CHECK-NEXT: 3
// CHECK-NEXT: 1.79769e+308
// CHECK-NEXT: 1
// CHECK-NEXT: -1.79769e+308
// CHECK-NEXT: 0
// CHECK-NEXT: scale: 8 rows []
// CHECK-NEXT: 0.731059
// CHECK-NEXT: 0.5
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: nan
// CHECK-NEXT: nan
// CHECK-NEXT: 0
// CHECK-NEXT: 0.5
// CHECK-NEXT: finite: 14 rows []
// CHECK-NEXT: 10000
// CHECK-NEXT: 10001
// CHECK-NEXT: -1e+09
// CHECK-NEXT: -1e+09
// CHECK-NEXT: -1.79769e+308
// CHECK-NEXT: -1.79769e+308
// CHECK-NEXT: -1.79769e+308
// CHECK-NEXT: 3
// CHECK-NEXT: 1.79769e+308
// CHECK-NEXT: 1
// CHECK-NEXT: nan
// CHECK-NEXT: 1
// CHECK-NEXT: 0
// CHECK-NEXT: 0

!e = tensor<?xf32, #mpdfg.on<@edge>>
!n = tensor<?xf32, #mpdfg.on<@node>>

module attributes {
  test.extents = {node = 8, edge = 14},
  test.maps = {dst = array<i64: 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 7, 7>},
  test.inputs = {x = dense<[1.0e4, 10001.0, -1.0e9, -1.0e9, 0xFFF0000000000000, 0xFFF0000000000000, 0xFFF0000000000000,
                            3.0, 0x7FF0000000000000, 1.0, 0x7FF8000000000000, 1.0, 0.0, 0.0]> : tensor<14xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @dst root from @edge to @node
  func.func @forward(%x: !e {mpdfg.name = "x"})
      -> (!e {mpdfg.name = "softmax"}, !n {mpdfg.name = "lse"}, !n {mpdfg.name = "shift"}, !n {mpdfg.name = "scale"},
          !e {mpdfg.name = "finite"}) {
    %0 = mpdfg.norm %x along @dst : !e -> !e
    %1 = mpdfg.reduce logsumexp %x along @dst : !e -> !n
    %2 = mpdfg.reduce softmax_shift %x along @dst : !e -> !n
    %3 = mpdfg.reduce softmax_scale %x along @dst : !e -> !n
    %4 = mpdfg.unary finite %x : !e -> !e
    return %0, %1, %2, %3, %4 : !e, !n, !n, !n, !e
  }
}
