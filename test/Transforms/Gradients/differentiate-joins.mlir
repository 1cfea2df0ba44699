// Adjoint code that later passes would have to undo: zeros around parts, arguments of activations, branches of constants.
// RUN: gnnc-opt %s --split-input-file --differentiate --canonicalize | FileCheck %s

mpdfg.space @node root

!row = tensor<?x6xf32, #mpdfg.on<@node>>
!part = tensor<?x2xf32, #mpdfg.on<@node>>

// Gradients of slices that do not overlap are one row of parts, with zeros only where nothing is read.
// CHECK-LABEL: func @gradient
// CHECK-SAME: %[[GA:[^ ]*]]: tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "grad.a"
// CHECK-SAME: %[[GB:[^ ]*]]: tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "grad.b"
// CHECK: %[[ZERO:.*]] = mpdfg.constant 0.000000e+00 : tensor<2xf32>
// CHECK-NOT: mpdfg.binary add
// CHECK: %[[G:.*]] = mpdfg.concat %[[GA]], %[[ZERO]], %[[GB]] axis 0
// CHECK: return {{.*}}, %[[G]] :
func.func @forward(%x: !row {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>})
    -> (!part {mpdfg.name = "a"}, !part {mpdfg.name = "b"}) {
  %0 = mpdfg.slice %x axis 0 from 0 : !row -> !part
  %1 = mpdfg.slice %x axis 0 from 4 : !row -> !part
  return %0, %1 : !part, !part
}

// -----

mpdfg.space @node root

!row = tensor<?x6xf32, #mpdfg.on<@node>>
!part = tensor<?x4xf32, #mpdfg.on<@node>>

// Those that overlap are added.
// CHECK-LABEL: func @gradient
// CHECK: mpdfg.concat
// CHECK: mpdfg.concat
// CHECK: mpdfg.binary add
func.func @forward(%x: !row {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>})
    -> (!part {mpdfg.name = "a"}, !part {mpdfg.name = "b"}) {
  %0 = mpdfg.slice %x axis 0 from 0 : !row -> !part
  %1 = mpdfg.slice %x axis 0 from 2 : !row -> !part
  return %0, %1 : !part, !part
}

// -----

mpdfg.space @node root

!row = tensor<?x6xf32, #mpdfg.on<@node>>

// An activation's result says on which side of zero its argument was.
// CHECK-LABEL: func @gradient
// CHECK: %[[Y:.*]] = mpdfg.unary relu %arg0
// CHECK: mpdfg.binary le %[[Y]],
func.func @forward(%x: !row {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>}) -> (!row {mpdfg.name = "y"}) {
  %0 = mpdfg.unary relu %x : !row -> !row
  return %0 : !row
}

// -----

mpdfg.space @node root

!row = tensor<?x6xf32, #mpdfg.on<@node>>

// Not with a negative slope, where it does not.
// CHECK-LABEL: func @gradient
// CHECK: mpdfg.binary gt %arg0,
func.func @forward(%x: !row {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>}) -> (!row {mpdfg.name = "y"}) {
  %0 = mpdfg.unary leaky_relu %x {alpha = -2.0e-01 : f64} : !row -> !row
  return %0 : !row
}

// -----

mpdfg.space @node root

!row = tensor<?x6xf32, #mpdfg.on<@node>>
!one = tensor<?x1xf32, #mpdfg.on<@node>>

// A constant condition chooses: what it never takes only gives the result its shape, and has no gradient.
// CHECK-LABEL: func @gradient
// CHECK: %[[GX:.*]] = mpdfg.fold sum %{{.*}} [0]
// CHECK: %[[ZERO:.*]] = mpdfg.constant 0.000000e+00
// CHECK: %[[NONE:.*]] = mpdfg.broadcast %[[ZERO]] along @all
// CHECK: return {{.*}}, %[[GX]], %[[NONE]] :
func.func @forward(%x: !one {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                   %shape: !row {mpdfg.name = "s", mpdfg.role = #mpdfg.role<input>}) -> (!row {mpdfg.name = "y"}) {
  %0 = mpdfg.constant 1.0 : tensor<1xf32>
  %1 = mpdfg.select %0, %x, %shape : tensor<1xf32>, !one, !row -> !row
  return %1 : !row
}
