// RUN: gnnc-opt %s --fuse-message-passing --split-input-file | FileCheck %s
// RUN: gnnc-opt %s --split-input-file --fuse-message-passing --remark-format=emitRemark \
// RUN:   --remarks-filter=fuse-message-passing -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A sweep along a map that multiplies its members in tiles only sums; a product in tiles whose rows are kept is made by
// a sweep without members. So the two are never one sweep, whatever they share.

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node

// The number of an owner's members reads nothing, so it goes into any sweep but this one.
// CHECK-LABEL: func @degree
// CHECK: mpk.sweep over @node(%arg0, %arg1)
// CHECK: {mpk.tile}
// CHECK: mpk.sweep over @node along @src()
// CHECK: mpk.accumulate sum
func.func @degree(%x: tensor<?x17xf32, #mpdfg.on<@node>>, %w: tensor<17x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] {mpk.tile} : tensor<?x17xf32, #mpdfg.on<@node>>, tensor<17x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.degree along @src : tensor<?xf32, #mpdfg.on<@node>>
  return %0, %1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root

// Nor does one that names the winner among all rows join it, though it is made of the same rows.
// CHECK-LABEL: func @winner
// CHECK: mpk.sweep over @node(%arg0, %arg1)
// CHECK: {mpk.tile}
// CHECK: mpk.sweep over @node(%arg0)
// CHECK: mpk.accumulate argmax
func.func @winner(%x: tensor<?x17xf32, #mpdfg.on<@node>>, %w: tensor<17x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<17xf32>) {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] {mpk.tile} : tensor<?x17xf32, #mpdfg.on<@node>>, tensor<17x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce argmax %x along @all : tensor<?x17xf32, #mpdfg.on<@node>> -> tensor<17xf32>
  return %0, %1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<17xf32>
}

// -----

mpdfg.space @node root

// Sums over everything of other products in tiles do join it.
// CHECK-LABEL: func @sum
// CHECK: mpk.sweep over @node(%arg0, %arg1, %arg2)
// CHECK-COUNT-2: {mpk.tile}
// CHECK: mpk.accumulate sum
// CHECK-NOT: mpk.sweep
func.func @sum(%x: tensor<?x17xf32, #mpdfg.on<@node>>, %w: tensor<17x4xf32>, %v: tensor<17x8xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<8xf32>) {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] {mpk.tile} : tensor<?x17xf32, #mpdfg.on<@node>>, tensor<17x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.contract %x [0], %v [0, 1] -> [1] {mpk.tile} : tensor<?x17xf32, #mpdfg.on<@node>>, tensor<17x8xf32> -> tensor<?x8xf32, #mpdfg.on<@node>>
  %2 = mpdfg.unary cos %1 : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@node>>
  %3 = mpdfg.reduce sum %2 along @all : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<8xf32>
  return %0, %3 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<8xf32>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>

// Rows of members that are their owner's make no tile there; along the other map they do.
// CHECK-LABEL: func @of_owner
// CHECK: mpk.sweep over @node along @dst
// CHECK: mpdfg.contract %{{.*}} [0], %{{.*}} [0, 1] -> [1] :
// CHECK: mpk.accumulate sum
// CHECK: mpk.sweep over @node along @src
// CHECK: mpdfg.contract %{{.*}} {mpk.tile}
// CHECK: mpk.accumulate sum
// REMARK: [Missed] tile | Category:fuse-message-passing | Function=of_owner | Reason="its row is the owner's, or the same for all", Remark="product is made of one row"
func.func @of_owner(%x: !node, %w: tensor<4x4xf32>) -> (!node, !node) {
  %a = mpdfg.broadcast %x along @dst : !node -> !edge
  %h = mpdfg.unary relu %a : !edge -> !edge
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] {mpk.tile} : !edge, tensor<4x4xf32> -> !edge
  %r = mpdfg.unary relu %p : !edge -> !edge
  %0 = mpdfg.reduce sum %r along @dst : !edge -> !node
  %1 = mpdfg.reduce sum %r along @src : !edge -> !node
  return %0, %1 : !node, !node
}

// -----

mpdfg.space @node root

!node = tensor<?x4xf32, #mpdfg.on<@node>>

// Nor do rows that are the same for all, on either side of an outer product.
// CHECK-LABEL: func @of_all
// CHECK-NOT: mpk.tile
// REMARK-COUNT-3: [Missed] tile | Category:fuse-message-passing | Function=of_all
func.func @of_all(%g: tensor<4xf32>, %w: tensor<4x4xf32>, %x: !node)
    -> (!node, tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = mpdfg.broadcast %g along @all : tensor<4xf32> -> !node
  %h = mpdfg.unary relu %a : !node -> !node
  %0 = mpdfg.contract %h [0], %w [0, 1] -> [1] {mpk.tile} : !node, tensor<4x4xf32> -> !node
  %o = mpdfg.contract %h [0], %x [1] -> [0, 1] {mpk.tile} : !node, !node -> tensor<?x4x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %o along @all : tensor<?x4x4xf32, #mpdfg.on<@node>> -> tensor<4x4xf32>
  %q = mpdfg.contract %x [0], %h [1] -> [0, 1] {mpk.tile} : !node, !node -> tensor<?x4x4xf32, #mpdfg.on<@node>>
  %2 = mpdfg.reduce sum %q along @all : tensor<?x4x4xf32, #mpdfg.on<@node>> -> tensor<4x4xf32>
  return %0, %1, %2 : !node, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

mpdfg.space @node root

!node = tensor<?x4xf32, #mpdfg.on<@node>>

// Blocks of tiles do not merge whose the largest number of all is.
// CHECK-LABEL: func @whose_is_largest
// CHECK: mpdfg.contract
// CHECK-NOT: mpk.tile
// CHECK: mpk.accumulate argmax {{.*}} shared
// REMARK: [Missed] tile | Category:fuse-message-passing | Function=whose_is_largest{{.*}}tiles do not say whose the largest number is
func.func @whose_is_largest(%x: !node, %w: tensor<4x4xf32>) -> tensor<4xf32> {
  %p = mpdfg.contract %x [0], %w [0, 1] -> [1] {mpk.tile} : !node, tensor<4x4xf32> -> !node
  %r = mpdfg.unary relu %p : !node -> !node
  %0 = mpdfg.reduce argmax %r along @all : !node -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
