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
