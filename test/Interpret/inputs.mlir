// RUN: gnnc-opt %s --split-input-file --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O0 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O1 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines
// RUN: gnnc-opt %s --split-input-file %lower-O2 --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// An absent optional input takes its fill; arguments and results without a name go by their number; f32 numbers are not
// rounded to f32.
// CHECK: sum: 2 rows [2]
// CHECK-NEXT: 2 4
// CHECK-NEXT: 6 8
// CHECK-NEXT: result1: shared [1]
// CHECK-NEXT: 1e-09
module attributes {
  test.extents = {node = 2},
  test.inputs = {x = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf64>, arg2 = dense<1.000000001> : tensor<1xf64>}
} {
  mpdfg.space @node root
  func.func @forward(%x: tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "x"},
                     %w: tensor<?x1xf32, #mpdfg.on<@node>> {mpdfg.name = "w", mpdfg.fill = 2.0 : f64},
                     %b: tensor<1xf32>)
      -> (tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "sum"}, tensor<1xf32>) {
    %0 = mpdfg.binary mul %x, %w : tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x2xf32, #mpdfg.on<@node>>
    %one = mpdfg.constant 1.0 : tensor<1xf32>
    %1 = mpdfg.binary sub %b, %one : tensor<1xf32>, tensor<1xf32> -> tensor<1xf32>
    return %0, %1 : tensor<?x2xf32, #mpdfg.on<@node>>, tensor<1xf32>
  }
}

// -----

// The same number in an f64 module. An argument returned as it is; a given optional input.
// CHECK: w: 2 rows [1]
// CHECK-NEXT: 5
// CHECK-NEXT: 7
module attributes {
  test.extents = {node = 2}, test.inputs = {w = dense<[[5.0], [7.0]]> : tensor<2x1xf64>}
} {
  mpdfg.space @node root
  func.func @forward(%w: tensor<?x1xf64, #mpdfg.on<@node>> {mpdfg.name = "w", mpdfg.fill = 2.0 : f64})
      -> (tensor<?x1xf64, #mpdfg.on<@node>> {mpdfg.name = "w"}) {
    return %w : tensor<?x1xf64, #mpdfg.on<@node>>
  }
}
