// RUN: gnnc-opt %s --reorder-broadcast --hoist-elementwise --cse --canonicalize | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: gnnc-opt %s --reorder-broadcast=gradient --hoist-elementwise=gradient --cse --canonicalize \
// RUN:   | FileCheck %s --check-prefixes=CHECK,GRADIENT

// A value that is lifted is computed for nodes without edges too. Where it will be differentiated it has to be finite there: the
// gradient of what nobody reads is 0, and 0 times an infinite operand goes into the gradient of W.

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!one = tensor<?x1xf32, #mpdfg.on<@node>>
!eone = tensor<?x1xf32, #mpdfg.on<@edge>>

// @forward is differentiated if a pass is told so: the scale is 1 where no edge leaves.
// CHECK-LABEL: func @forward
// CHECK: %[[N:.*]] = mpdfg.degree along @src
// PLAIN: %[[D:.*]] = mpdfg.unary rsqrt
// PLAIN: mpdfg.binary mul %arg0, %[[D]]
// PLAIN-NOT: mpdfg.select
// GRADIENT: %[[D:.*]] = mpdfg.unary rsqrt
// GRADIENT: %[[S:.*]] = mpdfg.select %{{.*}}, %[[D]], %{{.*}}
// GRADIENT: mpdfg.binary mul %arg0, %[[S]]
// CHECK: mpdfg.contract {{.*}} : tensor<?x8xf32, #mpdfg.on<@node>>
func.func @forward(%x: !node, %w: tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@edge>> {
  %n = mpdfg.degree along @src : tensor<?xf32, #mpdfg.on<@node>>
  %r = mpdfg.reshape %n : tensor<?xf32, #mpdfg.on<@node>> -> !one
  %d = mpdfg.unary rsqrt %r : !one -> !one
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %d along @src : !one -> !eone
  %2 = mpdfg.binary mul %0, %1 : !edge, !eone -> !edge
  %3 = mpdfg.contract %2 [0], %w [0, 1] -> [1] : !edge, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return %3 : tensor<?x4xf32, #mpdfg.on<@edge>>
}

// A function that has a gradient in it is differentiated anyway; a product's own operand may be infinite as well.
// CHECK-LABEL: func @operand
// CHECK: %[[L:.*]] = mpdfg.reduce logsumexp
// CHECK: %[[S:.*]] = mpdfg.select %{{.*}}, %[[L]], %{{.*}}
// CHECK: mpdfg.contract %[[S]] {{.*}} : tensor<?x8xf32, #mpdfg.on<@node>>
func.func @operand(%s: !edge, %w: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %v = mpdfg.variable 0 %w : tensor<8x4xf32>
  %l = mpdfg.reduce logsumexp %s along @src : !edge -> !node
  %0 = mpdfg.broadcast %l along @src : !node -> !edge
  %1 = mpdfg.contract %0 [0], %v [0, 1] -> [] : !edge, tensor<8x4xf32> -> tensor<?xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.reduce sum %1 along @all : tensor<?xf32, #mpdfg.on<@edge>> -> tensor<f32>
  %3 = mpdfg.gradient %2 by %v : tensor<f32>, tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// Known to be finite, by a bound, by self loops, or by the model's own selection: nothing is added.
// CHECK-LABEL: func @bounded
// CHECK-NOT: mpdfg.select
// CHECK: return
func.func @bounded(%x: !node, %w: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %v = mpdfg.variable 0 %w : tensor<8x4xf32>
  %n = mpdfg.degree along @src : tensor<?xf32, #mpdfg.on<@node>>
  %r = mpdfg.reshape %n : tensor<?xf32, #mpdfg.on<@node>> -> !one
  %c1 = mpdfg.constant 1.0 : tensor<f32>
  %b = mpdfg.reshape %c1 : tensor<f32> -> tensor<1xf32>
  %m = mpdfg.binary add %r, %b : !one, tensor<1xf32> -> !one
  %d = mpdfg.unary rsqrt %m : !one -> !one
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %d along @src : !one -> !eone
  %2 = mpdfg.binary mul %0, %1 : !edge, !eone -> !edge
  %3 = mpdfg.contract %2 [0], %v [0, 1] -> [] : !edge, tensor<8x4xf32> -> tensor<?xf32, #mpdfg.on<@edge>>
  %4 = mpdfg.reduce sum %3 along @all : tensor<?xf32, #mpdfg.on<@edge>> -> tensor<f32>
  %5 = mpdfg.gradient %4 by %v : tensor<f32>, tensor<8x4xf32>
  return %5 : tensor<8x4xf32>
}

// The model selects by the number of edges itself.
// CHECK-LABEL: func @selected
// CHECK: mpdfg.select
// CHECK-NOT: mpdfg.select
// CHECK: return
func.func @selected(%x: !node, %w: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %v = mpdfg.variable 0 %w : tensor<8x4xf32>
  %n = mpdfg.degree along @src : tensor<?xf32, #mpdfg.on<@node>>
  %r = mpdfg.reshape %n : tensor<?xf32, #mpdfg.on<@node>> -> !one
  %c0 = mpdfg.constant 0.0 : tensor<f32>
  %z = mpdfg.reshape %c0 : tensor<f32> -> tensor<1xf32>
  %any = mpdfg.binary gt %r, %z : !one, tensor<1xf32> -> !one
  %inv = mpdfg.unary rsqrt %r : !one -> !one
  %d = mpdfg.select %any, %inv, %z : !one, !one, tensor<1xf32> -> !one
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %d along @src : !one -> !eone
  %2 = mpdfg.binary mul %0, %1 : !edge, !eone -> !edge
  %3 = mpdfg.contract %2 [0], %v [0, 1] -> [] : !edge, tensor<8x4xf32> -> tensor<?xf32, #mpdfg.on<@edge>>
  %4 = mpdfg.reduce sum %3 along @all : tensor<?xf32, #mpdfg.on<@edge>> -> tensor<f32>
  %5 = mpdfg.gradient %4 by %v : tensor<f32>, tensor<8x4xf32>
  return %5 : tensor<8x4xf32>
}
