// For targets that keep a tile's rows in a block's shared memory. Where nothing is in the way it is the same as without.
// RUN: gnnc-opt %s --tile-products=blocks -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --tile-products -split-input-file | FileCheck %s --check-prefix=ANY
// RUN: gnnc-opt %s --split-input-file --tile-products=blocks --remark-format=emitRemark \
// RUN:   --remarks-filter=tile-products -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>
!w = tensor<4x4xf32>

// CHECK-LABEL: func @network
// CHECK: {mpk.tile}
// ANY-LABEL: func @network
// ANY: {mpk.tile}
func.func @network(%x: !edge, %w: !w) -> (!node, !node) {
  %h = mpdfg.unary relu %x : !edge -> !edge
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !edge, !w -> !edge
  %0 = mpdfg.reduce sum %p along @dst : !edge -> !node
  %1 = mpdfg.reduce max %p along @src : !edge -> !node
  return %0, %1 : !node, !node
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>
!w = tensor<4x4xf32>

// A softmax is known when all members have been seen, and they are in the tiles of several blocks: whether it is one of
// the product or only weighs it.
// CHECK-LABEL: func @softmax
// CHECK-NOT: mpk.tile
// ANY-LABEL: func @softmax
// ANY-COUNT-2: mpk.tile
// REMARK: Function=softmax | Reason="a softmax over the members weighs it, and they are in the tiles of several blocks", Remark="the product's rows are stored for all members"
// REMARK: Function=softmax | Reason="a softmax over the members needs it, and they are in the tiles of several blocks"
func.func @softmax(%x: !edge, %s: !edge, %w: !w) -> (!node, !node) {
  %h = mpdfg.unary relu %x : !edge -> !edge
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !edge, !w -> !edge
  %n = mpdfg.norm %p along @dst : !edge -> !edge
  %0 = mpdfg.reduce sum %n along @dst : !edge -> !node
  %a = mpdfg.norm %s along @dst : !edge -> !edge
  %q = mpdfg.contract %h [0], %w [1, 0] -> [1] : !edge, !w -> !edge
  %m = mpdfg.binary mul %a, %q : !edge, !edge -> !edge
  %1 = mpdfg.reduce sum %m along @dst : !edge -> !node
  return %0, %1 : !node, !node
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>
!w = tensor<4x4xf32>

// CHECK-LABEL: func @statistics
// CHECK-NOT: mpk.tile
// REMARK: Function=statistics | Reason="blocks leave sums over everything, no largest or least numbers"
// REMARK: Function=statistics | Reason="a log-sum-exp over the members needs it, and they are in the tiles of several blocks"
func.func @statistics(%x: !edge, %w: !w) -> (!node, tensor<4xf32>) {
  %h = mpdfg.unary relu %x : !edge -> !edge
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !edge, !w -> !edge
  %0 = mpdfg.reduce logsumexp %p along @dst : !edge -> !node
  %q = mpdfg.contract %h [0], %w [1, 0] -> [1] : !edge, !w -> !edge
  %s = mpdfg.reduce sum %q along @dst : !edge -> !node
  %1 = mpdfg.reduce max %q along @all : !edge -> tensor<4xf32>
  %2 = mpdfg.binary add %0, %s : !node, !node -> !node
  return %2, %1 : !node, tensor<4xf32>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!wide = tensor<?x1024xf32, #mpdfg.on<@edge>>

// Rows too long for shared memory, and a sum of outer products that no block holds.
// CHECK-LABEL: func @wide
// CHECK-NOT: mpk.tile
// REMARK: Function=wide | Reason="a block does not hold a sum of 1048576 numbers of outer products", Remark="the factors of outer products are stored for all members"
// REMARK: Function=wide | Reason="a tile of rows of 1032 numbers does not fit a block, 1024 would"
func.func @wide(%x: !edge, %g: !wide, %v: tensor<8x1024xf32>, %w: tensor<1024x8xf32>) -> (!node, tensor<1024x1024xf32>) {
  %h = mpdfg.unary relu %g : !wide -> !wide
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !wide, tensor<1024x8xf32> -> !edge
  %r = mpdfg.unary relu %p : !edge -> !edge
  %0 = mpdfg.reduce sum %r along @dst : !edge -> !node
  %o = mpdfg.contract %h [0], %g [1] -> [0, 1] : !wide, !wide -> tensor<?x1024x1024xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.reduce sum %o along @all : tensor<?x1024x1024xf32, #mpdfg.on<@edge>> -> tensor<1024x1024xf32>
  return %0, %1 : !node, tensor<1024x1024xf32>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x64xf32, #mpdfg.on<@node>>
!edge = tensor<?x64xf32, #mpdfg.on<@edge>>
!w = tensor<64x64xf32>

// Memory is fast there: what two sweeps need is made twice, what three need is stored.
// CHECK-LABEL: func @price
// CHECK: mpdfg.contract %{{.*}} [0], %arg1 [0, 1] -> [1] {mpk.tile}
// CHECK: mpdfg.contract %{{.*}} [0], %arg2 [0, 1] -> [1] :
// ANY-LABEL: func @price
// ANY-COUNT-2: mpk.tile
// REMARK: Function=price | Reason="it would be made 3 times: 16384 operations for each member to save 256 bytes"
func.func @price(%x: !edge, %v: !w, %w: !w) -> (!node, !node, !node, !node, !edge) {
  %h = mpdfg.unary relu %x : !edge -> !edge
  %p = mpdfg.contract %h [0], %v [0, 1] -> [1] : !edge, !w -> !edge
  %0 = mpdfg.reduce sum %p along @dst : !edge -> !node
  %1 = mpdfg.reduce max %p along @src : !edge -> !node
  %q = mpdfg.contract %h [0], %w [0, 1] -> [1] : !edge, !w -> !edge
  %2 = mpdfg.reduce sum %q along @dst : !edge -> !node
  %3 = mpdfg.reduce sum %q along @src : !edge -> !node
  return %0, %1, %2, %3, %q : !node, !node, !node, !node, !edge
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x64xf32, #mpdfg.on<@node>>
!edge = tensor<?x64xf32, #mpdfg.on<@edge>>
!outer = tensor<?x64x64xf32, #mpdfg.on<@edge>>

// A weight and its gradient. Three sweeps need each product: in blocks they are stored, and so are the factors of the
// sum, which reads them. Elsewhere all stays in tiles.
// CHECK-LABEL: func @stored_for_products
// CHECK-NOT: mpk.tile
// ANY-LABEL: func @stored_for_products
// ANY-COUNT-3: mpk.tile
// REMARK: Function=stored_for_products | Reason="both factors are stored anyway", Remark="outer products are summed from the rows of their factors in memory"
func.func @stored_for_products(%x: !edge, %y: !edge, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>) -> (!node, !node, !edge, !node, !node, !edge, tensor<64x64xf32>) {
  %h = mpdfg.unary relu %x : !edge -> !edge
  %g = mpdfg.unary tanh %y : !edge -> !edge
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !edge, tensor<64x64xf32> -> !edge
  %q = mpdfg.contract %g [0], %v [0, 1] -> [1] : !edge, tensor<64x64xf32> -> !edge
  %0 = mpdfg.reduce sum %p along @dst : !edge -> !node
  %1 = mpdfg.reduce sum %p along @src : !edge -> !node
  %2 = mpdfg.reduce sum %q along @dst : !edge -> !node
  %3 = mpdfg.reduce sum %q along @src : !edge -> !node
  %o = mpdfg.contract %h [0], %g [1] -> [0, 1] : !edge, !edge -> !outer
  %4 = mpdfg.reduce sum %o along @all : !outer -> tensor<64x64xf32>
  return %0, %1, %p, %2, %3, %q, %4 : !node, !node, !edge, !node, !node, !edge, tensor<64x64xf32>
}
