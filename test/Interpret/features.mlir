// RUN: gnnc-opt %s --split-input-file --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O0 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O1 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O2 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// Products: of rows with a weight, heads at once, row with row to a number, batched, and shared with shared.
// CHECK: plain: 2 rows [2]
// CHECK-NEXT: 9 12
// CHECK-NEXT: 19 26
// CHECK-NEXT: dot: 2 rows []
// CHECK-NEXT: 5
// CHECK-NEXT: 25
// CHECK-NEXT: heads: 2 rows [2, 2]
// CHECK-NEXT: 9 12 90 120
// CHECK-NEXT: 19 26 190 260
// Each head of `heads` times its own column, transposed on the way out: out[o, h] = heads[h, o] * v[h].
// CHECK-NEXT: batched: 2 rows [2, 2]
// CHECK-NEXT: 9 -90 12 -120
// CHECK-NEXT: 19 -190 26 -260
// CHECK-NEXT: outer: 2 rows [2, 2]
// CHECK-NEXT: 1 2 2 4
// CHECK-NEXT: 9 12 12 16
// CHECK-NEXT: shared: shared [2, 2]
// CHECK-NEXT: 5 14 11 32
// Labels that only one operand has and the result lacks are summed over too.
// CHECK-NEXT: total: shared []
// CHECK-NEXT: 12
!x = tensor<?x2xf32, #mpdfg.on<@node>>
!h = tensor<?x2x2xf32, #mpdfg.on<@node>>
!w = tensor<2x2xf32>
module attributes {
  test.extents = {node = 2},
  test.inputs = {x = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>,
                 w = dense<[[1.0, 2.0], [4.0, 5.0]]> : tensor<2x2xf64>,
                 wh = dense<[[[1.0, 2.0], [10.0, 20.0]], [[4.0, 5.0], [40.0, 50.0]]]> : tensor<2x2x2xf64>,
                 v = dense<[1.0, -1.0]> : tensor<2xf64>, a = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>}
} {
  mpdfg.space @node root
  func.func @forward(%x: !x {mpdfg.name = "x"}, %w: !w {mpdfg.name = "w"}, %wh: tensor<2x2x2xf32> {mpdfg.name = "wh"},
                     %v: tensor<2xf32> {mpdfg.name = "v"}, %a: !w {mpdfg.name = "a"})
      -> (!x {mpdfg.name = "plain"}, tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "dot"}, !h {mpdfg.name = "heads"},
          !h {mpdfg.name = "batched"}, !h {mpdfg.name = "outer"}, !w {mpdfg.name = "shared"}, tensor<f32> {mpdfg.name = "total"}) {
    %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !x, !w -> !x
    %1 = mpdfg.contract %x [0], %x [0] -> [] : !x, !x -> tensor<?xf32, #mpdfg.on<@node>>
    %2 = mpdfg.contract %x [0], %wh [0, 1, 2] -> [1, 2] : !x, tensor<2x2x2xf32> -> !h
    %3 = mpdfg.contract %2 [1, 2], %v [1] -> [2, 1] : !h, tensor<2xf32> -> !h
    %4 = mpdfg.contract %x [0], %x [1] -> [0, 1] : !x, !x -> !h
    %5 = mpdfg.contract %a [0, 1], %w [2, 1] -> [0, 2] : !w, !w -> !w
    %one = mpdfg.constant 1.0 : tensor<f32>
    %7 = mpdfg.contract %w [0, 1], %one [] -> [] : !w, tensor<f32> -> tensor<f32>
    return %0, %1, %2, %3, %4, %5, %7 : !x, tensor<?xf32, #mpdfg.on<@node>>, !h, !h, !h, !w, tensor<f32>
  }
}

// -----

// CHECK: sum: 1 rows [2, 1]
// CHECK-NEXT: 6 15
// CHECK-NEXT: mean: 1 rows [1, 3]
// CHECK-NEXT: 2.5 3.5 4.5
// CHECK-NEXT: max: 1 rows [1, 1]
// CHECK-NEXT: 6
// CHECK-NEXT: min: 1 rows [2, 3]
// CHECK-NEXT: 1 2 3 4 5 6
// CHECK-NEXT: logsumexp: 1 rows [2, 1]
// CHECK-NEXT: 3.40761 6.40761
// CHECK-NEXT: none: shared [1, 2]
// CHECK-NEXT: -inf -inf
// CHECK-NEXT: reshape: 1 rows [3, 2]
// CHECK-NEXT: 1 2 3 4 5 6
// CHECK-NEXT: transpose: 1 rows [3, 2]
// CHECK-NEXT: 1 4 2 5 3 6
// CHECK-NEXT: permute: shared [2, 1, 3]
// CHECK-NEXT: 1 2 3 4 5 6
// CHECK-NEXT: last: 1 rows [2, 5]
// CHECK-NEXT: 1 2 3 1 1 4 5 6 4 4
// CHECK-NEXT: first: 1 rows [3, 3]
// CHECK-NEXT: 1 2 3 4 5 6 7 8 9
// CHECK-NEXT: slice: 1 rows [2, 1]
// CHECK-NEXT: 2 5
// CHECK-NEXT: nothing: 1 rows [0, 3]
!x = tensor<?x2x3xf32, #mpdfg.on<@node>>
!s = tensor<?x2x1xf32, #mpdfg.on<@node>>
!t = tensor<?x3x2xf32, #mpdfg.on<@node>>
module attributes {
  test.extents = {node = 1},
  test.inputs = {x = dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf64>,
                 b = dense<[[7.0, 8.0, 9.0]]> : tensor<1x3xf64>, e = dense<> : tensor<0x2xf64>,
                 p = dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf64>}
} {
  mpdfg.space @node root
  func.func @forward(%x: !x {mpdfg.name = "x"}, %b: tensor<1x3xf32> {mpdfg.name = "b"}, %e: tensor<0x2xf32> {mpdfg.name = "e"},
                     %p: tensor<1x2x3xf32> {mpdfg.name = "p"})
      -> (!s {mpdfg.name = "sum"}, tensor<?x1x3xf32, #mpdfg.on<@node>> {mpdfg.name = "mean"},
          tensor<?x1x1xf32, #mpdfg.on<@node>> {mpdfg.name = "max"}, !x {mpdfg.name = "min"}, !s {mpdfg.name = "logsumexp"},
          tensor<1x2xf32> {mpdfg.name = "none"}, !t {mpdfg.name = "reshape"}, !t {mpdfg.name = "transpose"},
          tensor<2x1x3xf32> {mpdfg.name = "permute"},
          tensor<?x2x5xf32, #mpdfg.on<@node>> {mpdfg.name = "last"}, tensor<?x3x3xf32, #mpdfg.on<@node>> {mpdfg.name = "first"},
          !s {mpdfg.name = "slice"}, tensor<?x0x3xf32, #mpdfg.on<@node>> {mpdfg.name = "nothing"}) {
    %sum = mpdfg.fold sum %x [1] : !x -> !s
    %mean = mpdfg.fold mean %x [0] : !x -> tensor<?x1x3xf32, #mpdfg.on<@node>>
    %max = mpdfg.fold max %x [0, 1] : !x -> tensor<?x1x1xf32, #mpdfg.on<@node>>
    %min = mpdfg.fold min %x [] : !x -> !x
    %lse = mpdfg.fold logsumexp %x [1] : !x -> !s
    %none = mpdfg.fold logsumexp %e [0] : tensor<0x2xf32> -> tensor<1x2xf32>
    %reshape = mpdfg.reshape %x : !x -> !t
    %transpose = mpdfg.transpose %x [1, 0] : !x -> !t
    %permute = mpdfg.transpose %p [1, 0, 2] : tensor<1x2x3xf32> -> tensor<2x1x3xf32>
    %0 = mpdfg.slice %x axis 1 from 0 : !x -> !s
    %last = mpdfg.concat %x, %0, %0 axis 1 : (!x, !s, !s) -> tensor<?x2x5xf32, #mpdfg.on<@node>>
    %first = mpdfg.concat %x, %b axis 0 : (!x, tensor<1x3xf32>) -> tensor<?x3x3xf32, #mpdfg.on<@node>>
    %slice = mpdfg.slice %x axis 1 from 1 : !x -> !s
    %nothing = mpdfg.slice %x axis 0 from 2 : !x -> tensor<?x0x3xf32, #mpdfg.on<@node>>
    return %sum, %mean, %max, %min, %lse, %none, %reshape, %transpose, %permute, %last, %first, %slice, %nothing
      : !s, tensor<?x1x3xf32, #mpdfg.on<@node>>, tensor<?x1x1xf32, #mpdfg.on<@node>>, !x, !s, tensor<1x2xf32>, !t, !t,
        tensor<2x1x3xf32>, tensor<?x2x5xf32, #mpdfg.on<@node>>, tensor<?x3x3xf32, #mpdfg.on<@node>>, !s,
        tensor<?x0x3xf32, #mpdfg.on<@node>>
  }
}
