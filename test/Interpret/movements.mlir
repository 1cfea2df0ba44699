// RUN: gnnc-opt %s --split-input-file --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O0 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O1 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O2 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// Four nodes: 0 is isolated, 1 has one incoming edge, 2 has three of which two are the same pair, 3 only sends. x has its
// largest number of column 0 on a tie, all numbers below 0 in column 1.
// CHECK: moved: 4 rows [2]
// CHECK-NEXT: 1 -1
// CHECK-NEXT: 7 -7
// CHECK-NEXT: 1 -1
// CHECK-NEXT: 7 -7
// CHECK-NEXT: sum: 4 rows [2]
// CHECK-NEXT: 0 0
// CHECK-NEXT: 7 -7
// CHECK-NEXT: 9 -9
// CHECK-NEXT: 0 0
// CHECK-NEXT: mean: 4 rows [2]
// CHECK-NEXT: 0 0
// CHECK-NEXT: 7 -7
// CHECK-NEXT: 3 -3
// CHECK-NEXT: 0 0
// CHECK-NEXT: max: 4 rows [2]
// CHECK-NEXT: 0 0
// CHECK-NEXT: 7 -7
// CHECK-NEXT: 7 -1
// CHECK-NEXT: 0 0
// CHECK-NEXT: min: 4 rows [2]
// CHECK-NEXT: 0 0
// CHECK-NEXT: 7 -7
// CHECK-NEXT: 1 -7
// CHECK-NEXT: 0 0
// log(e + e + e^7) = 7.00494...; log(2 e^-1 + e^-7) = -0.305614...
// CHECK-NEXT: logsumexp: 4 rows [2]
// CHECK-NEXT: -inf -inf
// CHECK-NEXT: 7 -7
// CHECK-NEXT: 7.00495 -0.305614
// CHECK-NEXT: -inf -inf
// CHECK-NEXT: softmax: 4 rows [2]
// CHECK-NEXT: 0.00246652 0.499381
// CHECK-NEXT: 1 1
// CHECK-NEXT: 0.00246652 0.499381
// CHECK-NEXT: 0.995067 0.00123784
// CHECK-NEXT: degree: 4 rows []
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: 3
// CHECK-NEXT: 0
module attributes {
  test.extents = {node = 4, edge = 4},
  test.maps = {src = array<i64: 1, 3, 1, 3>, dst = array<i64: 2, 1, 2, 2>},
  test.inputs = {x = dense<[[9.0, -9.0], [1.0, -1.0], [8.0, -8.0], [7.0, -7.0]]> : tensor<4x2xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
  func.func @forward(%x: tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "x"})
      -> (tensor<?x2xf32, #mpdfg.on<@edge>> {mpdfg.name = "moved"}, tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "sum"},
          tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "mean"}, tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "max"},
          tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "min"}, tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "logsumexp"},
          tensor<?x2xf32, #mpdfg.on<@edge>> {mpdfg.name = "softmax"}, tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "degree"}) {
    %e = mpdfg.broadcast %x along @src : tensor<?x2xf32, #mpdfg.on<@node>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
    %sum = mpdfg.reduce sum %e along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
    %mean = mpdfg.reduce mean %e along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
    %max = mpdfg.reduce max %e along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
    %min = mpdfg.reduce min %e along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
    %lse = mpdfg.reduce logsumexp %e along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@node>>
    %p = mpdfg.norm %e along @dst : tensor<?x2xf32, #mpdfg.on<@edge>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
    %d = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
    return %e, %sum, %mean, %max, %min, %lse, %p, %d
      : tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>,
        tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>,
        tensor<?x2xf32, #mpdfg.on<@edge>>, tensor<?xf32, #mpdfg.on<@node>>
  }
}

// -----

// A partial map: broadcasts fill where it is undefined, reductions and degrees ignore those members, a softmax gives them 0.
// CHECK: zero: 3 rows [1]
// CHECK-NEXT: 20
// CHECK-NEXT: 0
// CHECK-NEXT: 20
// CHECK-NEXT: one: 3 rows [1]
// CHECK-NEXT: 20
// CHECK-NEXT: 1
// CHECK-NEXT: 20
// CHECK-NEXT: sum: 3 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 40
// CHECK-NEXT: 0
// CHECK-NEXT: softmax: 3 rows [1]
// CHECK-NEXT: 2.06115e-09
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: degree: 3 rows []
// CHECK-NEXT: 0
// CHECK-NEXT: 2
// CHECK-NEXT: 0
module attributes {
  test.extents = {node = 3},
  test.maps = {mate = array<i64: 1, -1, 1>},
  test.inputs = {x = dense<[[10.0], [20.0], [30.0]]> : tensor<3x1xf64>}
} {
  mpdfg.space @node root
  mpdfg.map @mate root from @node to @node {partial}
  func.func @forward(%x: tensor<?x1xf32, #mpdfg.on<@node>> {mpdfg.name = "x"})
      -> (tensor<?x1xf32, #mpdfg.on<@node>> {mpdfg.name = "zero"}, tensor<?x1xf32, #mpdfg.on<@node>> {mpdfg.name = "one"},
          tensor<?x1xf32, #mpdfg.on<@node>> {mpdfg.name = "sum"}, tensor<?x1xf32, #mpdfg.on<@node>> {mpdfg.name = "softmax"},
          tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "degree"}) {
    %zero = mpdfg.broadcast %x along @mate : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
    %one = mpdfg.broadcast %x along @mate {fill = 1.0 : f64} : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
    %sum = mpdfg.reduce sum %x along @mate : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
    %p = mpdfg.norm %x along @mate : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
    %d = mpdfg.degree along @mate : tensor<?xf32, #mpdfg.on<@node>>
    return %zero, %one, %sum, %p, %d
      : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>,
        tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>
  }
}

// -----

// Along all, of a space with members; large numbers do not overflow.
// CHECK: sum: shared [2]
// CHECK-NEXT: 3000 6
// CHECK-NEXT: mean: shared [2]
// CHECK-NEXT: 1000 2
// CHECK-NEXT: max: shared [2]
// CHECK-NEXT: 1002 3
// CHECK-NEXT: logsumexp: shared [2]
// CHECK-NEXT: 1002.14 3.40761
// CHECK-NEXT: softmax: 3 rows [2]
// CHECK-NEXT: 0.11731 0.0900306
// CHECK-NEXT: 0.0158762 0.244728
// CHECK-NEXT: 0.866813 0.665241
!on = tensor<?x2xf32, #mpdfg.on<@node>>
module attributes {
  test.extents = {node = 3},
  test.inputs = {x = dense<[[1000.0, 1.0], [998.0, 2.0], [1002.0, 3.0]]> : tensor<3x2xf64>}
} {
  mpdfg.space @node root
  func.func @forward(%x: !on {mpdfg.name = "x"})
      -> (tensor<2xf32> {mpdfg.name = "sum"}, tensor<2xf32> {mpdfg.name = "mean"}, tensor<2xf32> {mpdfg.name = "max"},
          tensor<2xf32> {mpdfg.name = "logsumexp"}, !on {mpdfg.name = "softmax"}) {
    %sum = mpdfg.reduce sum %x along @all : !on -> tensor<2xf32>
    %mean = mpdfg.reduce mean %x along @all : !on -> tensor<2xf32>
    %max = mpdfg.reduce max %x along @all : !on -> tensor<2xf32>
    %lse = mpdfg.reduce logsumexp %x along @all : !on -> tensor<2xf32>
    %p = mpdfg.norm %x along @all : !on -> !on
    return %sum, %mean, %max, %lse, %p : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, !on
  }
}

// -----

// The same on a graph without nodes.
// CHECK: sum: shared [2]
// CHECK-NEXT: 0 0
// CHECK-NEXT: mean: shared [2]
// CHECK-NEXT: 0 0
// CHECK-NEXT: min: shared [2]
// CHECK-NEXT: 0 0
// CHECK-NEXT: logsumexp: shared [2]
// CHECK-NEXT: -inf -inf
// CHECK-NEXT: softmax: 0 rows [2]
!on = tensor<?x2xf32, #mpdfg.on<@node>>
module attributes {
  test.extents = {node = 0},
  test.inputs = {x = dense<> : tensor<0x2xf64>}
} {
  mpdfg.space @node root
  func.func @forward(%x: !on {mpdfg.name = "x"})
      -> (tensor<2xf32> {mpdfg.name = "sum"}, tensor<2xf32> {mpdfg.name = "mean"}, tensor<2xf32> {mpdfg.name = "min"},
          tensor<2xf32> {mpdfg.name = "logsumexp"}, !on {mpdfg.name = "softmax"}) {
    %sum = mpdfg.reduce sum %x along @all : !on -> tensor<2xf32>
    %mean = mpdfg.reduce mean %x along @all : !on -> tensor<2xf32>
    %min = mpdfg.reduce min %x along @all : !on -> tensor<2xf32>
    %lse = mpdfg.reduce logsumexp %x along @all : !on -> tensor<2xf32>
    %p = mpdfg.norm %x along @all : !on -> !on
    return %sum, %mean, %min, %lse, %p : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, !on
  }
}

// -----

// Sparse input features: three stored entries times the rows of the weight they select, summed over each row.
// CHECK: y: 2 rows [2]
// CHECK-NEXT: 2 0.5
// CHECK-NEXT: 10 26
module attributes {
  test.extents = {node = 2, "x.entry" = 3},
  test.maps = {"x.row" = array<i64: 1, 0, 1>, "x.column" = array<i64: 0, 1, 2>},
  test.inputs = {x = dense<[2.0, 0.5, 4.0]> : tensor<3xf64>, W = dense<[[1.0, 3.0], [4.0, 1.0], [2.0, 5.0]]> : tensor<3x2xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @x.entry root
  mpdfg.space @x.column.space static {extent = 3 : i64}
  mpdfg.map @x.row root from @x.entry to @node
  mpdfg.map @x.column root from @x.entry to @x.column.space
  func.func @forward(%x: tensor<?xf32, #mpdfg.on<@x.entry>> {mpdfg.name = "x"}, %w: tensor<3x2xf32> {mpdfg.name = "W"})
      -> (tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}) {
    %0 = mpdfg.spread %w : tensor<3x2xf32> -> tensor<3x2xf32, #mpdfg.on<@x.column.space>>
    %1 = mpdfg.broadcast %0 along @x.column : tensor<3x2xf32, #mpdfg.on<@x.column.space>> -> tensor<?x2xf32, #mpdfg.on<@x.entry>>
    %2 = mpdfg.reshape %x : tensor<?xf32, #mpdfg.on<@x.entry>> -> tensor<?x1xf32, #mpdfg.on<@x.entry>>
    %3 = mpdfg.binary mul %1, %2 : tensor<?x2xf32, #mpdfg.on<@x.entry>>, tensor<?x1xf32, #mpdfg.on<@x.entry>> -> tensor<?x2xf32, #mpdfg.on<@x.entry>>
    %4 = mpdfg.reduce sum %3 along @x.row : tensor<?x2xf32, #mpdfg.on<@x.entry>> -> tensor<?x2xf32, #mpdfg.on<@node>>
    return %4 : tensor<?x2xf32, #mpdfg.on<@node>>
  }
}
