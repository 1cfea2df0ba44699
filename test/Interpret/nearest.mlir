// RUN: gnnc-opt %s --split-input-file --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O0 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O2 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// Points 0, 1, 3 and 4 are one cloud, 2 and 5 another. Of those that are as far, the smaller number comes first; what is
// no number is last (point 4), and chosen by nobody who has others. A cloud of two has one neighbour for each.
// CHECK: from: 10 rows []
// CHECK-NEXT: 1
// CHECK-NEXT: 3
// CHECK-NEXT: 0
// CHECK-NEXT: 3
// CHECK-NEXT: 5
// CHECK-NEXT: 1
// CHECK-NEXT: 0
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: 2
// CHECK-NEXT: times: 6 rows []
// CHECK-NEXT: 3
// CHECK-NEXT: 3
// CHECK-NEXT: 1
// CHECK-NEXT: 2
// CHECK-NEXT: 0
// CHECK-NEXT: 1
module attributes {
  test.extents = {node = 6, graph = 2},
  test.maps = {batch = array<i64: 0, 0, 1, 0, 0, 1>},
  test.inputs = {x = dense<[[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0x7FF8000000000000, 0.0], [9.0, 9.0]]> : tensor<6x2xf64>,
                 number = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @graph root
  mpdfg.map @batch root from @node to @graph
  mpdfg.space @near selection {base = @node, of = @node, maps = [@batch, @batch], most = 2 : i64, others}
  mpdfg.map @near.src chosen from @near to @node
  mpdfg.map @near.dst owner from @near to @node
  func.func @forward(%x: tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "x"},
                     %number: tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "number"})
      -> (tensor<?xf32, #mpdfg.on<@near>> {mpdfg.name = "from"}, tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "times"}) {
    %list = mpdfg.nearest %x, %x along @near.src owner @near.dst
      : tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@near>>
    %0 = mpdfg.broadcast %number along @near.src : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@near>>
    %1 = mpdfg.degree along @near.src : tensor<?xf32, #mpdfg.on<@node>>
    return %0, %1 : tensor<?xf32, #mpdfg.on<@near>>, tensor<?xf32, #mpdfg.on<@node>>
  }
}

// -----

// Three of five points of a cloud that are far from each other, in the order in which they are chosen: the first, the
// one farthest from it, and the one whose nearest of both is farthest away. Of two that are as far the smaller number;
// what is no number is last (point 6), and a point equal to a chosen one comes after those that are not.
// CHECK: far: 5 rows []
// CHECK-NEXT: 0
// CHECK-NEXT: 4
// CHECK-NEXT: 1
// CHECK-NEXT: 2
// CHECK-NEXT: 6
module attributes {
  test.extents = {node = 7, graph = 2},
  test.maps = {batch = array<i64: 0, 0, 1, 0, 0, 0, 1>},
  test.inputs = {x = dense<[[0.0], [4.0], [1.0], [0.0], [9.0], [9.0], [0x7FF8000000000000]]> : tensor<7x1xf64>,
                 number = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<7xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @graph root
  mpdfg.map @batch root from @node to @graph
  mpdfg.space @far selection {base = @graph, of = @node, maps = [unit, @batch], most = 3 : i64}
  mpdfg.map @far.src chosen from @far to @node
  mpdfg.map @far.dst owner from @far to @graph
  func.func @forward(%x: tensor<?x1xf32, #mpdfg.on<@node>> {mpdfg.name = "x"},
                     %number: tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "number"})
      -> (tensor<?xf32, #mpdfg.on<@far>> {mpdfg.name = "far"}) {
    %list = mpdfg.farthest %x along @far.src owner @far.dst
      : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@far>>
    %from = mpdfg.broadcast %number along @far.src : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@far>>
    return %from : tensor<?xf32, #mpdfg.on<@far>>
  }
}

// -----

// The same, but first the point with the largest number: point 4, and of the other cloud point 2, since what is no
// number comes last.
// CHECK: far: 5 rows []
// CHECK-NEXT: 4
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: 2
// CHECK-NEXT: 6
module attributes {
  test.extents = {node = 7, graph = 2},
  test.maps = {batch = array<i64: 0, 0, 1, 0, 0, 0, 1>},
  test.inputs = {x = dense<[[0.0], [4.0], [1.0], [0.0], [9.0], [9.0], [0x7FF8000000000000]]> : tensor<7x1xf64>,
                 number = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<7xf64>,
                 first = dense<[0.0, -1.0, -5.0, 0.0, 2.0, 2.0, 0x7FF8000000000000]> : tensor<7xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @graph root
  mpdfg.map @batch root from @node to @graph
  mpdfg.space @far selection {base = @graph, of = @node, maps = [unit, @batch], most = 3 : i64}
  mpdfg.map @far.src chosen from @far to @node
  mpdfg.map @far.dst owner from @far to @graph
  func.func @forward(%x: tensor<?x1xf32, #mpdfg.on<@node>> {mpdfg.name = "x"},
                     %number: tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "number"},
                     %first: tensor<?xf32, #mpdfg.on<@node>> {mpdfg.name = "first"})
      -> (tensor<?xf32, #mpdfg.on<@far>> {mpdfg.name = "far"}) {
    %list = mpdfg.farthest %x start %first along @far.src owner @far.dst
      : tensor<?x1xf32, #mpdfg.on<@node>> start tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@far>>
    %from = mpdfg.broadcast %number along @far.src : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@far>>
    return %from : tensor<?xf32, #mpdfg.on<@far>>
  }
}
