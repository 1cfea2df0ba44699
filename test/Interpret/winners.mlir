// RUN: gnnc-opt %s --split-input-file --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O0 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O2 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// The winner of a maximum or minimum is the member with the smallest number; nobody (-1) wins where there are no members.
// CHECK: argmax: 3 rows [2]
// CHECK-NEXT: -1 -1
// CHECK-NEXT: 1 1
// CHECK-NEXT: 0 2
// CHECK-NEXT: argmin: 3 rows [2]
// CHECK-NEXT: -1 -1
// CHECK-NEXT: 1 1
// CHECK-NEXT: 3 0
// CHECK-NEXT: mark: 4 rows [2]
// CHECK-NEXT: 1 0
// CHECK-NEXT: 1 1
// CHECK-NEXT: 0 1
// CHECK-NEXT: 0 0
// CHECK-NEXT: all: shared [2]
// CHECK-NEXT: 1 2
// CHECK-NEXT: markall: 4 rows [2]
// CHECK-NEXT: 0 0
// CHECK-NEXT: 1 0
// CHECK-NEXT: 0 1
// CHECK-NEXT: 0 0
// CHECK-NEXT: extent: shared []
// CHECK-NEXT: 4
!n = tensor<?x2xf32, #mpdfg.on<@node>>
!e = tensor<?x2xf32, #mpdfg.on<@edge>>
module attributes {
  test.extents = {node = 3, edge = 4},
  test.maps = {dst = array<i64: 2, 1, 2, 2>},
  test.inputs = {x = dense<[[5.0, -3.0], [6.0, -1.0], [5.0, 7.0], [4.0, 7.0]]> : tensor<4x2xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @dst root from @edge to @node
  func.func @forward(%x: !e {mpdfg.name = "x"})
      -> (!n {mpdfg.name = "argmax"}, !n {mpdfg.name = "argmin"}, !e {mpdfg.name = "mark"}, tensor<2xf32> {mpdfg.name = "all"},
          !e {mpdfg.name = "markall"}, tensor<f32> {mpdfg.name = "extent"}) {
    %0 = mpdfg.reduce argmax %x along @dst : !e -> !n
    %1 = mpdfg.reduce argmin %x along @dst : !e -> !n
    %2 = mpdfg.broadcast %0 along @dst : !n -> !e
    %own = mpdfg.element : tensor<?x1xf32, #mpdfg.on<@edge>>
    %3 = mpdfg.is_element %2, %own : !e, tensor<?x1xf32, #mpdfg.on<@edge>> -> !e
    %4 = mpdfg.reduce argmax %x along @all : !e -> tensor<2xf32>
    %5 = mpdfg.broadcast %4 along @all : tensor<2xf32> -> !e
    %6 = mpdfg.is_element %5, %own : !e, tensor<?x1xf32, #mpdfg.on<@edge>> -> !e
    %7 = mpdfg.extent @edge : tensor<f32>
    return %0, %1, %3, %4, %6, %7 : !n, !n, !e, tensor<2xf32>, !e, tensor<f32>
  }
}

// -----

// A weight viewed as a space and back.
// CHECK: w: shared [3, 2]
// CHECK-NEXT: 1 2 3 4 5 6
module attributes {
  test.inputs = {w = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf64>}
} {
  mpdfg.space @column static {extent = 3 : i64}
  func.func @forward(%w: tensor<3x2xf32> {mpdfg.name = "w"}) -> (tensor<3x2xf32> {mpdfg.name = "w"}) {
    %0 = mpdfg.spread %w : tensor<3x2xf32> -> tensor<3x2xf32, #mpdfg.on<@column>>
    %1 = mpdfg.detach %0 : tensor<3x2xf32, #mpdfg.on<@column>> -> tensor<3x2xf32, #mpdfg.on<@column>>
    %2 = mpdfg.collect %1 : tensor<3x2xf32, #mpdfg.on<@column>> -> tensor<3x2xf32>
    return %2 : tensor<3x2xf32>
  }
}
