// Narrow values of members that are made of wide products are kept where several walks, one after the other, need them.
// RUN: gnnc-opt %s --tile-products=blocks -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --tile-products -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --split-input-file --tile-products=blocks --remark-format=emitRemark \
// RUN:   --remarks-filter=tile-products -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

!row = tensor<?x64xf32, #mpdfg.on<@edge>>
!few = tensor<?x4xf32, #mpdfg.on<@edge>>
!node = tensor<?x4xf32, #mpdfg.on<@node>>

// A deviation: the mean, then the mean of the squares of what is left. 64 x 64 and 64 x 4 are multiplied once, not
// twice, for four numbers that are written.
// CHECK-LABEL: func @deviation
// CHECK: mpdfg.contract {{.*}} -> [1] {mpk.tile}
// CHECK: mpdfg.contract {{.*}} -> [1] {mpdfg.keep, mpk.tile}
// REMARK: Function=deviation | Remark="a row of 4 is kept for each member, for 2 walks over the members, which saves {{[0-9]+}} operations for 272 bytes"
func.func @deviation(%x: !row, %w: tensor<64x64xf32>, %v: tensor<64x4xf32>) -> !node {
  %h = mpdfg.contract %x [0], %w [0, 1] -> [1] : !row, tensor<64x64xf32> -> !row
  %r = mpdfg.unary relu %h : !row -> !row
  %p = mpdfg.contract %r [0], %v [0, 1] -> [1] : !row, tensor<64x4xf32> -> !few
  %m = mpdfg.reduce mean %p along @dst : !few -> !node
  %b = mpdfg.broadcast %m along @dst : !node -> !few
  %d = mpdfg.binary sub %p, %b : !few, !few -> !few
  %q = mpdfg.unary square %d : !few -> !few
  %0 = mpdfg.reduce mean %q along @dst : !few -> !node
  return %0 : !node
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

!row = tensor<?x64xf32, #mpdfg.on<@edge>>
!few = tensor<?x4xf32, #mpdfg.on<@edge>>
!node = tensor<?x4xf32, #mpdfg.on<@node>>

// Reductions that do not need one another are taken in one walk.
// CHECK-LABEL: func @one_walk
// CHECK-NOT: mpdfg.keep
// CHECK: return
func.func @one_walk(%x: !row, %w: tensor<64x64xf32>, %v: tensor<64x4xf32>) -> (!node, !node) {
  %h = mpdfg.contract %x [0], %w [0, 1] -> [1] : !row, tensor<64x64xf32> -> !row
  %r = mpdfg.unary relu %h : !row -> !row
  %p = mpdfg.contract %r [0], %v [0, 1] -> [1] : !row, tensor<64x4xf32> -> !few
  %0 = mpdfg.reduce mean %p along @dst : !few -> !node
  %1 = mpdfg.reduce max %p along @dst : !few -> !node
  return %0, %1 : !node, !node
}

// What else needs the wide row makes it in one of the walks; there is none to be saved.
// CHECK-LABEL: func @needed_elsewhere
// CHECK-NOT: mpdfg.keep
// CHECK: return
func.func @needed_elsewhere(%x: !row, %w: tensor<64x64xf32>, %v: tensor<64x4xf32>)
    -> (!node, tensor<?x64xf32, #mpdfg.on<@node>>) {
  %h = mpdfg.contract %x [0], %w [0, 1] -> [1] : !row, tensor<64x64xf32> -> !row
  %r = mpdfg.unary relu %h : !row -> !row
  %p = mpdfg.contract %r [0], %v [0, 1] -> [1] : !row, tensor<64x4xf32> -> !few
  %m = mpdfg.reduce mean %p along @dst : !few -> !node
  %b = mpdfg.broadcast %m along @dst : !node -> !few
  %d = mpdfg.binary sub %p, %b : !few, !few -> !few
  %q = mpdfg.unary square %d : !few -> !few
  %0 = mpdfg.reduce mean %q along @dst : !few -> !node
  %1 = mpdfg.reduce max %r along @dst : !row -> tensor<?x64xf32, #mpdfg.on<@node>>
  return %0, %1 : !node, tensor<?x64xf32, #mpdfg.on<@node>>
}

// Both a value and what it is made of are reduced: the first of them is kept, and the products stay in tiles.
// CHECK-LABEL: func @chain
// CHECK: mpdfg.contract {{.*}} {mpk.tile}
// CHECK: mpdfg.contract {{.*}} {mpk.tile}
// CHECK: mpdfg.unary tanh {{.*}} {mpdfg.keep}
// CHECK-NOT: mpdfg.keep
// CHECK: return
func.func @chain(%x: !row, %w: tensor<64x64xf32>, %v: tensor<64x4xf32>) -> (!node, !node, !node, !node) {
  %h = mpdfg.contract %x [0], %w [0, 1] -> [1] : !row, tensor<64x64xf32> -> !row
  %r = mpdfg.unary tanh %h : !row -> !row
  %n0 = mpdfg.contract %r [0], %v [0, 1] -> [1] : !row, tensor<64x4xf32> -> !few
  %u0 = mpdfg.unary tanh %n0 : !few -> !few
  %r0 = mpdfg.reduce sum %u0 along @dst : !few -> !node
  %b0 = mpdfg.broadcast %r0 along @dst : !node -> !few
  %n1 = mpdfg.binary mul %u0, %b0 : !few, !few -> !few
  %u1 = mpdfg.unary tanh %n1 : !few -> !few
  %r1 = mpdfg.reduce sum %u1 along @dst : !few -> !node
  %b1 = mpdfg.broadcast %r1 along @dst : !node -> !few
  %n2 = mpdfg.binary mul %u1, %b1 : !few, !few -> !few
  %u2 = mpdfg.unary tanh %n2 : !few -> !few
  %r2 = mpdfg.reduce sum %u2 along @dst : !few -> !node
  %b2 = mpdfg.broadcast %r2 along @dst : !node -> !few
  %n3 = mpdfg.binary mul %u2, %b2 : !few, !few -> !few
  %r3 = mpdfg.reduce sum %n3 along @dst : !few -> !node
  return %r0, %r1, %r2, %r3 : !node, !node, !node, !node
}

// Four numbers of four cost less to multiply than to write and read, and rows of 64 are too wide to be kept.
// CHECK-LABEL: func @cheap_and_wide
// CHECK-NOT: mpdfg.keep
// CHECK: return
func.func @cheap_and_wide(%x: !few, %w: tensor<4x16xf32>, %y: !row, %v: tensor<64x64xf32>)
    -> (tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x64xf32, #mpdfg.on<@node>>) {
  %h = mpdfg.contract %x [0], %w [0, 1] -> [1] : !few, tensor<4x16xf32> -> tensor<?x16xf32, #mpdfg.on<@edge>>
  %p = mpdfg.fold sum %h [0] : tensor<?x16xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %m = mpdfg.reduce mean %p along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %b = mpdfg.broadcast %m along @dst : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %d = mpdfg.binary sub %p, %b : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %0 = mpdfg.reduce max %d along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %g = mpdfg.contract %y [0], %v [0, 1] -> [1] : !row, tensor<64x64xf32> -> !row
  %n = mpdfg.reduce mean %g along @dst : !row -> tensor<?x64xf32, #mpdfg.on<@node>>
  %c = mpdfg.broadcast %n along @dst : tensor<?x64xf32, #mpdfg.on<@node>> -> !row
  %e = mpdfg.binary sub %g, %c : !row, !row -> !row
  %1 = mpdfg.reduce max %e along @dst : !row -> tensor<?x64xf32, #mpdfg.on<@node>>
  return %0, %1 : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x64xf32, #mpdfg.on<@node>>
}
