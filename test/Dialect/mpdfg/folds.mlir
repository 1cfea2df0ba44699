// RUN: gnnc-opt %s --canonicalize | FileCheck %s

mpdfg.space @node root

// CHECK-LABEL: func @identities
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0
func.func @identities(%x: tensor<?x4xf32, #mpdfg.on<@node>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %zero = mpdfg.constant 0.0 : tensor<1xf32>
  %below = mpdfg.constant -0.0 : tensor<1xf32>
  %one = mpdfg.constant 1.0 : tensor<1xf32>
  %0 = mpdfg.binary add %below, %x : tensor<1xf32>, tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.binary sub %x, %zero : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<1xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpdfg.binary mul %one, %x : tensor<1xf32>, tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpdfg.binary div %x, %one : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<1xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0, %1, %2, %3 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// Not these: 0 - x, 1 / x, x * 0 (x may be infinite), a one that also repeats an axis, and x + 0, x - -0 (x may be -0).
// CHECK-LABEL: func @no_identities
// CHECK: mpdfg.binary sub
// CHECK: mpdfg.binary div
// CHECK: mpdfg.binary mul
// CHECK: mpdfg.binary mul
func.func @no_identities(%x: tensor<?x1xf32, #mpdfg.on<@node>>)
    -> (tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %zero = mpdfg.constant 0.0 : tensor<1xf32>
  %one = mpdfg.constant 1.0 : tensor<1xf32>
  %ones = mpdfg.constant 1.0 : tensor<4xf32>
  %0 = mpdfg.binary sub %zero, %x : tensor<1xf32>, tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %1 = mpdfg.binary div %one, %x : tensor<1xf32>, tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %2 = mpdfg.binary mul %x, %zero : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<1xf32> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %3 = mpdfg.binary mul %x, %ones : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0, %1, %2, %3 : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// CHECK-LABEL: func @zeros
// CHECK: mpdfg.binary add
// CHECK: mpdfg.binary sub
func.func @zeros(%x: tensor<?x4xf32, #mpdfg.on<@node>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %zero = mpdfg.constant 0.0 : tensor<1xf32>
  %below = mpdfg.constant -0.0 : tensor<1xf32>
  %0 = mpdfg.binary add %zero, %x : tensor<1xf32>, tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.binary sub %x, %below : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<1xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0, %1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// CHECK-LABEL: func @shapes
// CHECK-NEXT: %[[R:.*]] = mpdfg.reshape %arg0 : tensor<?x6xf32, #mpdfg.on<@node>> -> tensor<?x3x2xf32, #mpdfg.on<@node>>
// CHECK-NEXT: return %arg0, %[[R]], %arg0
func.func @shapes(%x: tensor<?x6xf32, #mpdfg.on<@node>>)
    -> (tensor<?x6xf32, #mpdfg.on<@node>>, tensor<?x3x2xf32, #mpdfg.on<@node>>, tensor<?x6xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.reshape %x : tensor<?x6xf32, #mpdfg.on<@node>> -> tensor<?x2x3xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reshape %0 : tensor<?x2x3xf32, #mpdfg.on<@node>> -> tensor<?x6xf32, #mpdfg.on<@node>>
  %2 = mpdfg.reshape %0 : tensor<?x2x3xf32, #mpdfg.on<@node>> -> tensor<?x3x2xf32, #mpdfg.on<@node>>
  %3 = mpdfg.transpose %x [0] : tensor<?x6xf32, #mpdfg.on<@node>> -> tensor<?x6xf32, #mpdfg.on<@node>>
  return %1, %2, %3 : tensor<?x6xf32, #mpdfg.on<@node>>, tensor<?x3x2xf32, #mpdfg.on<@node>>, tensor<?x6xf32, #mpdfg.on<@node>>
}

// A matrix that is the same for all elements is a weight.
// CHECK-LABEL: func @weights
// CHECK: mpdfg.contract %arg1 [0, 1], %arg0 [1] -> [0] : tensor<8x4xf32>, tensor<?x4xf32, #mpdfg.on<@node>>
// CHECK: mpdfg.contract %arg0 [0], %arg1 [1, 0] -> [1] : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<8x4xf32>
func.func @weights(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>)
    -> (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<?x8xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.broadcast %w along @all : tensor<8x4xf32> -> tensor<?x8x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.contract %0 [0, 1], %x [1] -> [0]
    : tensor<?x8x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@node>>
  %2 = mpdfg.contract %x [0], %0 [1, 0] -> [1]
    : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x8x4xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@node>>
  return %1, %2 : tensor<?x8xf32, #mpdfg.on<@node>>, tensor<?x8xf32, #mpdfg.on<@node>>
}
