// RUN: gnnc-opt %s --split-input-file --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

!x = tensor<?x2xf32, #mpdfg.on<@node>>
!w = tensor<2x2xf32>
!t = tensor<2x2x2xf32, #mpdfg.on<@type>>
!e = tensor<?x2xf32, #mpdfg.on<@edge>>
module attributes {
  test.extents = {node = 2, edge = 4},
  test.maps = {src = array<i64: 1, 0, -1, 1>, etype = array<i64: 0, 1, 1, -1>, kind = array<i64: 1, 0>},
  test.inputs = {x = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>,
                 w = dense<[[1.0, 2.0], [4.0, 5.0]]> : tensor<2x2xf64>,
                 t = dense<[[[1.0, 2.0], [4.0, 5.0]], [[10.0, 0.0], [0.0, 100.0]]]> : tensor<2x2x2xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.space @type static {extent = 2 : i64}
  mpdfg.map @src root from @edge to @node {partial}
  mpdfg.map @etype root from @edge to @type {partial}
  mpdfg.map @kind root from @node to @type
  func.func @forward(%x: !x {mpdfg.name = "x"}, %w: !w {mpdfg.name = "w"}, %t: !t {mpdfg.name = "t"})
      -> (!x {mpdfg.name = "plain"}, !x {mpdfg.name = "batch"}, tensor<?x2x2xf32, #mpdfg.on<@node>> {mpdfg.name = "wide"},
          tensor<?x2x2xf32, #mpdfg.on<@node>> {mpdfg.name = "rows"},
          !e {mpdfg.name = "gathered"}, !x {mpdfg.name = "grouped"}, !e {mpdfg.name = "both"}, !x {mpdfg.name = "nothing"}) {
    // CHECK: plain: 2 rows [2]
    // CHECK-NEXT: 9 12
    // CHECK-NEXT: 19 26
    %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 2 n 2 : (!x, !w) -> !x
    // Two blocks of one number each, with one column each: x times the first column, elementwise, of w seen as [2, 1, 1].
    // CHECK-NEXT: batch: 2 rows [2]
    // CHECK-NEXT: 1 8
    // CHECK-NEXT: 3 16
    %column = mpdfg.slice %w axis 1 from 0 : !w -> tensor<2x1xf32>
    %1 = mpk.product over @node (%x, %column) batch 2 rows 1 k 1 n 1 : (!x, tensor<2x1xf32>) -> !x
    // Two blocks of one number, two columns: [b, k, n] is w itself.
    // CHECK-NEXT: wide: 2 rows [2, 2]
    // CHECK-NEXT: 1 2 8 10
    // CHECK-NEXT: 3 6 16 20
    %2 = mpk.product over @node (%x, %w) batch 2 rows 1 k 1 n 2 : (!x, !w) -> tensor<?x2x2xf32, #mpdfg.on<@node>>
    // Two matrix rows for each element.
    // CHECK-NEXT: rows: 2 rows [2, 2]
    // CHECK-NEXT: 57 78 9 12
    // CHECK-NEXT: 123 168 19 26
    %twice = mpdfg.concat %0, %x axis 0 : (!x, !x) -> tensor<?x4xf32, #mpdfg.on<@node>>
    %sum = mpk.product over @node (%twice, %w) batch 1 rows 2 k 2 n 2
         : (tensor<?x4xf32, #mpdfg.on<@node>>, !w) -> tensor<?x2x2xf32, #mpdfg.on<@node>>
    // Along maps; where they are undefined the result is 0.
    // CHECK-NEXT: gathered: 4 rows [2]
    // CHECK-NEXT: 19 26
    // CHECK-NEXT: 9 12
    // CHECK-NEXT: 0 0
    // CHECK-NEXT: 19 26
    %3 = mpk.product over @edge (%x, %w) batch 1 rows 1 k 2 n 2 gather @src : (!x, !w) -> !e
    // CHECK-NEXT: grouped: 2 rows [2]
    // CHECK-NEXT: 10 200
    // CHECK-NEXT: 19 26
    %4 = mpk.product over @node (%x, %t) batch 1 rows 1 k 2 n 2 group @kind : (!x, !t) -> !x
    // CHECK-NEXT: both: 4 rows [2]
    // CHECK-NEXT: 19 26
    // CHECK-NEXT: 10 200
    // CHECK-NEXT: 0 0
    // CHECK-NEXT: 0 0
    %5 = mpk.product over @edge (%x, %t) batch 1 rows 1 k 2 n 2 gather @src group @etype : (!x, !t) -> !e
    // An empty sum.
    // CHECK-NEXT: nothing: 2 rows [2]
    // CHECK-NEXT: 0 0
    // CHECK-NEXT: 0 0
    %none = mpdfg.slice %x axis 0 from 0 : !x -> tensor<?x0xf32, #mpdfg.on<@node>>
    %v = mpdfg.slice %w axis 0 from 0 : !w -> tensor<0x2xf32>
    %6 = mpk.product over @node (%none, %v) batch 1 rows 1 k 0 n 2 : (tensor<?x0xf32, #mpdfg.on<@node>>, tensor<0x2xf32>) -> !x
    return %0, %1, %2, %sum, %3, %4, %5, %6 : !x, !x, tensor<?x2x2xf32, #mpdfg.on<@node>>, tensor<?x2x2xf32, #mpdfg.on<@node>>, !e, !x, !e, !x
  }
}

// -----

// Sums of outer products: over all rows, for each kind, read through maps; rows where any map is undefined count in none.
!x = tensor<?x2xf32, #mpdfg.on<@node>>
!e = tensor<?x2xf32, #mpdfg.on<@edge>>
!w = tensor<2x2xf32>
!t = tensor<2x2x2xf32, #mpdfg.on<@type>>
module attributes {
  test.extents = {node = 2, edge = 4},
  test.maps = {src = array<i64: 1, 0, -1, 1>, dst = array<i64: 0, 1, 1, 0>, etype = array<i64: 1, 1, 1, -1>},
  test.inputs = {x = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>,
                 g = dense<[[1.0, 10.0], [2.0, 20.0]]> : tensor<2x2xf64>,
                 h = dense<[[1.0, 0.0], [0.0, 1.0], [5.0, 5.0], [7.0, 7.0]]> : tensor<4x2xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.space @type static {extent = 2 : i64}
  mpdfg.map @src root from @edge to @node {partial}
  mpdfg.map @dst root from @edge to @node
  mpdfg.map @etype root from @edge to @type {partial}
  func.func @forward(%x: !x {mpdfg.name = "x"}, %g: !x {mpdfg.name = "g"}, %h: !e {mpdfg.name = "h"})
      -> (!w {mpdfg.name = "all"}, tensor<2xf32> {mpdfg.name = "batch"}, !w {mpdfg.name = "gathered"}, !t {mpdfg.name = "kinds"},
          !w {mpdfg.name = "both"}) {
    // CHECK: all: shared [2, 2]
    // CHECK-NEXT: 7 70 10 100
    %0 = mpk.outer_sum over @node (%x, %g) batch 1 k 2 n 2 : (!x, !x) -> !w
    // CHECK-NEXT: batch: shared [2]
    // CHECK-NEXT: 7 100
    %1 = mpk.outer_sum over @node (%x, %g) batch 2 k 1 n 1 : (!x, !x) -> tensor<2xf32>
    // x[src] = (3, 4), (1, 2), none, (3, 4)
    // CHECK-NEXT: gathered: shared [2, 2]
    // CHECK-NEXT: 24 22 32 30
    %2 = mpk.outer_sum over @edge (%x, %h) batch 1 k 2 n 2 gather_lhs @src : (!x, !e) -> !w
    // CHECK-NEXT: kinds: 2 rows [2, 2]
    // CHECK-NEXT: 0 0 0 0
    // CHECK-NEXT: 3 1 4 2
    %3 = mpk.outer_sum over @edge (%x, %h) batch 1 k 2 n 2 gather_lhs @src along @etype : (!x, !e) -> !t
    // x[src] and g[dst]: (3, 4) (1, 10); (1, 2) (2, 20); none; (3, 4) (1, 10)
    // CHECK-NEXT: both: shared [2, 2]
    // CHECK-NEXT: 8 80 12 120
    %4 = mpk.outer_sum over @edge (%x, %g) batch 1 k 2 n 2 gather_lhs @src gather_rhs @dst : (!x, !x) -> !w
    return %0, %1, %2, %3, %4 : !w, tensor<2xf32>, !w, !t, !w
  }
}
