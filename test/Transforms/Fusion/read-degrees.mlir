// A degree is the difference of two offsets of its map's index: no kernel makes it, and what is made of it alone is made
// where it is used.
//
// RUN: gnnc-opt %s --fuse-message-passing --fuse-epilogues | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing=degrees=false --fuse-epilogues | FileCheck %s --check-prefix=SWEPT
// RUN: gnnc-opt %s --fuse-message-passing --remark-format=emitRemark --remarks-filter=fuse-message-passing -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @mate root from @node to @node {partial}

!x = tensor<?x4xf32, #mpdfg.on<@node>>
!e = tensor<?x4xf32, #mpdfg.on<@edge>>
!s = tensor<?xf32, #mpdfg.on<@node>>
!s1 = tensor<?x1xf32, #mpdfg.on<@node>>

// A normalised sum after a product is two kernels: the scale of the source is the product's epilogue, that of the target
// is in the sweep, which reads it for its owner alone.
// CHECK-LABEL: func @normalised
// CHECK-NEXT: %[[D:.*]] = mpdfg.degree along @dst
// CHECK-NEXT: %[[Z:.*]] = mpk.product over @node(%arg0, %arg1) {{.*}} epilogue(%[[D]]) access [#mpk.access<owner>] {
// CHECK: mpdfg.unary rsqrt
// CHECK: mpk.sweep over @node along @dst(%[[Z]], %[[D]]) access [#mpk.access<gather_member @src>, #mpk.access<owner>]
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: tensor<4xf32>, %[[DEGREE:.*]]: tensor<f32>)
// CHECK: mpk.accumulate sum %[[ROW]]
// CHECK: mpdfg.unary rsqrt %[[DEGREE]]
// CHECK-NOT: mpk.{{sweep|product}}
// CHECK: return
// SWEPT-LABEL: func @normalised
// SWEPT-NOT: mpdfg.degree
// SWEPT-COUNT-2: mpk.sweep over @node along @dst
// SWEPT-LABEL: func
// REMARK: degree is read off the index of @dst where it is used
func.func @normalised(%x: !x, %w: tensor<4x4xf32>) -> !x {
  %d = mpdfg.degree along @dst : !s
  %r = mpdfg.unary rsqrt %d : !s -> !s
  %c = mpdfg.reshape %r : !s -> !s1
  %z = mpk.product over @node (%x, %w) batch 1 rows 1 k 4 n 4 : (!x, tensor<4x4xf32>) -> !x
  %0 = mpdfg.binary mul %z, %c : !x, !s1 -> !x
  %1 = mpdfg.broadcast %0 along @src : !x -> !e
  %2 = mpdfg.reduce sum %1 along @dst : !e -> !x
  %3 = mpdfg.binary mul %2, %c : !x, !s1 -> !x
  return %3 : !x
}

// Of a neighbour, and of an element through a map that is undefined somewhere: with the fill there.
// CHECK-LABEL: func @gathered
// CHECK-NEXT: %[[D:.*]] = mpdfg.degree along @src
// CHECK-NEXT: mpk.sweep over @node along @dst(%[[D]], %[[D]]) access [#mpk.access<gather_member @src>, #mpk.access<gather_owner @mate fill 5.000000e-01>]
// CHECK: return
func.func @gathered() -> (!s, !s) {
  %d = mpdfg.degree along @src : !s
  %0 = mpdfg.broadcast %d along @src : !s -> tensor<?xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.reduce sum %0 along @dst : tensor<?xf32, #mpdfg.on<@edge>> -> !s
  %2 = mpdfg.broadcast %d along @mate {fill = 0.5 : f64} : !s -> !s
  %3 = mpdfg.unary exp %2 : !s -> !s
  return %1, %3 : !s, !s
}

// An output has memory of its own, so a kernel writes it, and others read it there.
// CHECK-LABEL: func @returned
// CHECK-NOT: mpdfg.degree
// CHECK: mpk.sweep over @node along @dst
// CHECK: mpk.accumulate sum
// CHECK: return
// REMARK: degree is made by a sweep
func.func @returned() -> (!s, !s) {
  %d = mpdfg.degree along @dst : !s
  %0 = mpdfg.unary rsqrt %d : !s -> !s
  return %d, %0 : !s, !s
}

// A product reads rows from memory.
// CHECK-LABEL: func @multiplied
// CHECK-NOT: mpdfg.degree
// CHECK: %[[D:.*]] = mpk.sweep over @node along @dst
// CHECK: mpk.product over @node(%[[D]], %arg0)
// CHECK: return
func.func @multiplied(%w: tensor<1x4xf32>) -> !x {
  %d = mpdfg.degree along @dst : !s
  %0 = mpk.product over @node (%d, %w) batch 1 rows 1 k 1 n 4 : (!s, tensor<1x4xf32>) -> !x
  return %0 : !x
}
