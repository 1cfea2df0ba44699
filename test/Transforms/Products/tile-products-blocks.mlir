// For targets that keep a tile's rows in a block's shared memory. Where nothing is in the way it is the same as without.
// RUN: gnnc-opt %s --tile-products=blocks -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --tile-products -split-input-file | FileCheck %s --check-prefix=ANY
// RUN: gnnc-opt %s --split-input-file --tile-products=blocks --remark-format=emitRemark \
// RUN:   --remarks-filter=tile-products -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!w = tensor<8x8xf32>

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

// Memory is fast there: what two sweeps need is made twice, what three need is stored, by one sweep in tiles, so that
// its factor is not.
// CHECK-LABEL: func @price
// CHECK: mpdfg.contract %{{.*}} [0], %arg1 [0, 1] -> [1] {mpk.tile}
// CHECK: mpdfg.contract %{{.*}} [0], %arg2 [0, 1] -> [1] {mpdfg.keep, mpk.tile}
// ANY-LABEL: func @price
// ANY-COUNT-2: mpk.tile
// REMARK: Function=price | Reason="it would be made 3 times: 17408 operations for each member to save 256 bytes", Remark="the product's rows are stored by the one sweep that makes them"
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

// A weight and its gradient. Three sweeps need each product: in blocks they are stored by the sweep that makes their
// factors, which are not, and the sum makes them again.
// CHECK-LABEL: func @stored_for_products
// CHECK-COUNT-2: {mpdfg.keep, mpk.tile}
// CHECK: {mpk.tile}
// ANY-LABEL: func @stored_for_products
// ANY-COUNT-3: mpk.tile
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

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

!row = tensor<?x64xf32, #mpdfg.on<@edge>>
!score = tensor<?xf32, #mpdfg.on<@edge>>

// What a softmax takes of a product is narrow: tiles make it, and it is kept. So is what is made of a softmax that wide
// rows are made of.
// CHECK-LABEL: func @scores
// CHECK: mpdfg.contract {{.*}} [0], %arg1 [0, 1] -> [1] {mpk.tile}
// CHECK: %[[SCORE:.*]] = mpdfg.fold sum {{.*}} {mpdfg.keep}
// CHECK: %[[WEIGHT:.*]] = mpdfg.norm %[[SCORE]] along @dst {mpdfg.keep}
// CHECK: mpdfg.contract {{.*}} [0], %arg2 [0, 1] -> [1] {mpk.tile}
// REMARK: Function=scores | Remark="a row of 1 is kept for each member, before or after a softmax over the members that no tile knows"
// ANY-LABEL: func @scores
// ANY-NOT: mpdfg.keep
// ANY-COUNT-2: mpk.tile
func.func @scores(%x: !row, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>) -> tensor<?x64xf32, #mpdfg.on<@node>> {
  %h = mpdfg.unary relu %x : !row -> !row
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !row, tensor<64x64xf32> -> !row
  %t = mpdfg.unary tanh %p : !row -> !row
  %s = mpdfg.fold sum %t [0] : !row -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %a = mpdfg.norm %s along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %q = mpdfg.contract %h [0], %v [0, 1] -> [1] : !row, tensor<64x64xf32> -> !row
  %m = mpdfg.binary mul %a, %q : tensor<?x1xf32, #mpdfg.on<@edge>>, !row -> !row
  %0 = mpdfg.reduce sum %m along @dst : !row -> tensor<?x64xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x64xf32, #mpdfg.on<@node>>
}

// Nothing is kept for a product that is no tile after all: one that is moved on.
// CHECK-LABEL: func @scores_of_no_tile
// CHECK-NOT: mpdfg.keep
// CHECK: return
// ANY-LABEL: func @scores_of_no_tile
func.func @scores_of_no_tile(%x: !row, %w: tensor<64x64xf32>) -> (tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x64xf32, #mpdfg.on<@edge>>) {
  %h = mpdfg.unary relu %x : !row -> !row
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !row, tensor<64x64xf32> -> !row
  %n = mpdfg.norm %p along @dst : !row -> !row
  %s = mpdfg.fold sum %p [0] : !row -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %a = mpdfg.norm %s along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %0 = mpdfg.reduce sum %a along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %0, %n : tensor<?x1xf32, #mpdfg.on<@node>>, !row
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

!row = tensor<?x25xf32, #mpdfg.on<@edge>>
!one = tensor<?x2xf32, #mpdfg.on<@edge>>
!node = tensor<?x2xf32, #mpdfg.on<@node>>

// Few numbers by few are multiplied with the rest of the row, and so are the outer products of the weight's gradient.
// CHECK-LABEL: func @narrow
// CHECK: -> [1] {mpk.swept}
// CHECK: -> [0, 1] {mpk.swept}
// ANY-LABEL: func @narrow
// ANY-COUNT-2: mpk.tile
// REMARK: Function=narrow | Reason="it is of 100 operations", Remark="the product is made with the rest of its row"
func.func @narrow(%x: !row, %g: !one, %w: tensor<25x2xf32>) -> (!node, tensor<25x2xf32>) {
  %h = mpdfg.unary exp %x : !row -> !row
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !row, tensor<25x2xf32> -> !one
  %0 = mpdfg.reduce sum %p along @dst : !one -> !node
  %o = mpdfg.contract %h [0], %g [1] -> [0, 1] : !row, !one -> tensor<?x25x2xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.reduce sum %o along @all : tensor<?x25x2xf32, #mpdfg.on<@edge>> -> tensor<25x2xf32>
  return %0, %1 : !node, tensor<25x2xf32>
}

// Not where a thread would hold the whole of a joined row, nor where a wide product is in the same sweep.
// CHECK-LABEL: func @narrow_and_joined
// CHECK-COUNT-3: mpk.tile
// CHECK-NOT: mpk.swept
// ANY-LABEL: func @narrow_and_joined
func.func @narrow_and_joined(%x: !row, %g: !one, %w: tensor<27x2xf32>, %v: tensor<25x25xf32>, %u: tensor<25x2xf32>) -> (!node, !node) {
  %h = mpdfg.unary exp %x : !row -> !row
  %j = mpdfg.concat %h, %g axis 0 : (!row, !one) -> tensor<?x27xf32, #mpdfg.on<@edge>>
  %p = mpdfg.contract %j [0], %w [0, 1] -> [1] : tensor<?x27xf32, #mpdfg.on<@edge>>, tensor<27x2xf32> -> !one
  %0 = mpdfg.reduce sum %p along @dst : !one -> !node
  %q = mpdfg.contract %h [0], %v [0, 1] -> [1] : !row, tensor<25x25xf32> -> !row
  %t = mpdfg.unary tanh %q : !row -> !row
  %r = mpdfg.contract %t [0], %u [0, 1] -> [1] : !row, tensor<25x2xf32> -> !one
  %1 = mpdfg.reduce max %r along @dst : !one -> !node
  return %0, %1 : !node, !node
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!edge = tensor<?x64xf32, #mpdfg.on<@edge>>
!node = tensor<?x64xf32, #mpdfg.on<@node>>

// Sums along one map that need one another by way of another map are as many sweeps, each of which would make the
// product.
// CHECK-LABEL: func @three_sweeps
// CHECK: mpdfg.contract {{.*}} -> [1] :
// REMARK: Function=three_sweeps | Reason="it would be made 3 times: 16384 operations for each member to save 256 bytes"
func.func @three_sweeps(%x: !edge, %w: tensor<64x64xf32>) -> !node {
  %p = mpdfg.contract %x [0], %w [0, 1] -> [1] : !edge, tensor<64x64xf32> -> !edge
  %a = mpdfg.reduce sum %p along @dst : !edge -> !node
  %b = mpdfg.broadcast %a along @src : !node -> !edge
  %c = mpdfg.binary mul %p, %b : !edge, !edge -> !edge
  %d = mpdfg.reduce sum %c along @dst : !edge -> !node
  %e = mpdfg.broadcast %d along @src : !node -> !edge
  %f = mpdfg.binary mul %p, %e : !edge, !edge -> !edge
  %g = mpdfg.reduce sum %f along @dst : !edge -> !node
  return %g : !node
}

// Moved back to its own members, a sum is known in the next walk of the same sweep.
// CHECK-LABEL: func @three_walks
// CHECK: mpdfg.contract {{.*}} -> [1] {mpk.tile}
func.func @three_walks(%x: !edge, %w: tensor<64x64xf32>) -> !node {
  %p = mpdfg.contract %x [0], %w [0, 1] -> [1] : !edge, tensor<64x64xf32> -> !edge
  %a = mpdfg.reduce sum %p along @dst : !edge -> !node
  %b = mpdfg.broadcast %a along @dst : !node -> !edge
  %c = mpdfg.binary mul %p, %b : !edge, !edge -> !edge
  %d = mpdfg.reduce sum %c along @dst : !edge -> !node
  %e = mpdfg.broadcast %d along @dst : !node -> !edge
  %f = mpdfg.binary mul %p, %e : !edge, !edge -> !edge
  %g = mpdfg.reduce sum %f along @dst : !edge -> !node
  return %g : !node
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

!edge = tensor<?x128xf32, #mpdfg.on<@edge>>
!node = tensor<?x128xf32, #mpdfg.on<@node>>

// A product of wide rows is made faster than it is made in tiles, even once.
// CHECK-LABEL: func @wide
// CHECK: mpdfg.contract {{.*}} -> [1] :
// REMARK: Function=wide | Reason="a tile would take longer for its 32768 operations for each member than to store and read 512 bytes"
func.func @wide(%x: !edge, %w: tensor<128x128xf32>) -> !node {
  %p = mpdfg.contract %x [0], %w [0, 1] -> [1] : !edge, tensor<128x128xf32> -> !edge
  %0 = mpdfg.reduce sum %p along @dst : !edge -> !node
  return %0 : !node
}
