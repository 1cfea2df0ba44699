// RUN: gnnc-opt %s --tile-products -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --split-input-file --tile-products --remark-format=emitRemark \
// RUN:   --remarks-filter=tile-products -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>
!w = tensor<4x4xf32>

// All that is made of the product are a sum and a maximum over the members. The weight comes second, its rows first.
// CHECK-LABEL: func @network
// CHECK: %[[H:.*]] = mpdfg.unary relu
// CHECK: %[[T:.*]] = mpdfg.transpose %arg1 [1, 0]
// CHECK: %[[P:.*]] = mpdfg.contract %[[H]] [0], %[[T]] [0, 1] -> [1] {mpk.tile}
// REMARK: [Passed] tile | Category:tile-products | Function=network | Remark="product is made a few members at a time, in the sweeps that need it"
func.func @network(%x: !node, %w: !w) -> (!node, !node) {
  %a = mpdfg.broadcast %x along @src : !node -> !edge
  %b = mpdfg.broadcast %x along @dst : !node -> !edge
  %c = mpdfg.binary add %a, %b : !edge, !edge -> !edge
  %h = mpdfg.unary relu %c : !edge -> !edge
  %p = mpdfg.contract %w [1, 0], %h [0] -> [1] : !w, !edge -> !edge
  %0 = mpdfg.reduce sum %p along @dst : !edge -> !node
  %1 = mpdfg.reduce max %p along @src : !edge -> !node
  return %0, %1 : !node, !node
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>

// The gradient of a weight: h would have to be stored. Axes are put in order after the sum.
// CHECK-LABEL: func @outer
// CHECK: %[[O:.*]] = mpdfg.contract %{{.*}} [1], %arg1 [0] -> [1, 0] {mpk.tile}
// CHECK: %[[S:.*]] = mpdfg.reduce sum %[[O]] along @all
// CHECK: mpdfg.transpose %[[S]] [1, 0]
// Both factors are in memory: a product of its own reads them there.
// CHECK: mpdfg.contract %arg1 [0], %arg2 [1] -> [0, 1] :
// REMARK: [Passed] tile | {{.*}}Function=outer | Remark="outer products are summed a few members at a time"
func.func @outer(%x: !edge, %g: !edge, %e: !edge) -> (!node, tensor<4x4xf32>, tensor<4x4xf32>) {
  %h = mpdfg.unary relu %x : !edge -> !edge
  %0 = mpdfg.reduce sum %h along @dst : !edge -> !node
  %o = mpdfg.contract %h [1], %g [0] -> [0, 1] : !edge, !edge -> tensor<?x4x4xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.reduce sum %o along @all : tensor<?x4x4xf32, #mpdfg.on<@edge>> -> tensor<4x4xf32>
  %q = mpdfg.contract %g [0], %e [1] -> [0, 1] : !edge, !edge -> tensor<?x4x4xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.reduce sum %q along @all : tensor<?x4x4xf32, #mpdfg.on<@edge>> -> tensor<4x4xf32>
  return %0, %1, %2 : !node, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>
!w = tensor<4x4xf32>

// A softmax over the members is known when all have been seen; what it is multiplied by is not. The second product
// needs the first one's rows in memory then.
// CHECK-LABEL: func @softmax_before
// CHECK-NOT: mpk.tile
// REMARK: [Missed] tile | {{.*}}Function=softmax_before | Reason="it needs a softmax over the members, which is known when all have been seen", Remark="the product's rows are stored for all members"
// REMARK: [Missed] tile | {{.*}}Function=softmax_before | Reason="a product that needs it is made apart"
func.func @softmax_before(%x: !edge, %w: !w) -> !node {
  %h = mpdfg.unary relu %x : !edge -> !edge
  %s = mpdfg.contract %h [0], %w [0, 1] -> [1] : !edge, !w -> !edge
  %n = mpdfg.norm %s along @dst : !edge -> !edge
  %p = mpdfg.contract %n [0], %w [0, 1] -> [1] : !edge, !w -> !edge
  %r = mpdfg.unary relu %p : !edge -> !edge
  %0 = mpdfg.reduce sum %r along @dst : !edge -> !node
  return %0 : !node
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @graph root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @batch root from @node to @graph

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>
!graph = tensor<?x4xf32, #mpdfg.on<@graph>>
!w = tensor<4x4xf32>

// Rows of nodes are stored anyway where edges are summed for them.
// CHECK-LABEL: func @owners_too
// CHECK-NOT: mpk.tile
func.func @owners_too(%e: !edge, %w: !w) -> !graph {
  %x = mpdfg.reduce sum %e along @dst : !edge -> !node
  %h = mpdfg.unary relu %x : !node -> !node
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !node, !w -> !node
  %r = mpdfg.unary relu %p : !node -> !node
  %0 = mpdfg.reduce sum %r along @batch : !node -> !graph
  return %0 : !graph
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @kind static {extent = 3 : i64}
mpdfg.space @old root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
mpdfg.map @kind_of root from @edge to @kind
mpdfg.map @of root from @old to @edge

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!w = tensor<8x8xf32>

// What is read through a map, or summed for a few types, has to be in memory.
// CHECK-LABEL: func @needed_in_memory
// CHECK-NOT: mpk.tile
// REMARK: [Missed] tile | {{.*}}Function=needed_in_memory | Reason="a sum for each element of a small space needs it"
// REMARK: [Missed] tile | {{.*}}Function=needed_in_memory | Reason="it is read through a map"
func.func @needed_in_memory(%x: !edge, %w: !w) -> (!node, tensor<?x8xf32, #mpdfg.on<@old>>, tensor<3x8xf32, #mpdfg.on<@kind>>) {
  %h = mpdfg.unary relu %x : !edge -> !edge
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !edge, !w -> !edge
  %q = mpdfg.contract %x [0], %w [0, 1] -> [1] : !edge, !w -> !edge
  %0 = mpdfg.reduce sum %p along @dst : !edge -> !node
  %1 = mpdfg.broadcast %p along @of : !edge -> tensor<?x8xf32, #mpdfg.on<@old>>
  %2 = mpdfg.reduce sum %q along @kind_of : !edge -> tensor<3x8xf32, #mpdfg.on<@kind>>
  return %0, %1, %2 : !node, tensor<?x8xf32, #mpdfg.on<@old>>, tensor<3x8xf32, #mpdfg.on<@kind>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!wide = tensor<?x1024xf32, #mpdfg.on<@edge>>

// Two sweeps, and a second product for each number of 1024: the operations outweigh the bytes. One sweep would make it.
// CHECK-LABEL: func @price
// CHECK: mpdfg.contract {{.*}} tensor<8x1024xf32> -> {{.*}}
// CHECK: mpdfg.contract %{{.*}} [0], %arg2 [0, 1] -> [1] : {{.*}}tensor<1024x8xf32>
// CHECK: mpdfg.contract %{{.*}} [0], %arg2 [0, 1] -> [1] {mpk.tile}
// REMARK: [Missed] tile | {{.*}}Function=price | Reason="it would be made 2 times: 32768 operations for each member to save 32 bytes"
func.func @price(%x: !edge, %v: tensor<8x1024xf32>, %w: tensor<1024x8xf32>) -> (!node, !node, !node) {
  %h = mpdfg.unary relu %x : !edge -> !edge
  %a = mpdfg.contract %h [0], %v [0, 1] -> [1] : !edge, tensor<8x1024xf32> -> !wide
  %b = mpdfg.unary relu %a : !wide -> !wide
  %c = mpdfg.unary exp %b : !wide -> !wide
  %p = mpdfg.contract %b [0], %w [0, 1] -> [1] : !wide, tensor<1024x8xf32> -> !edge
  %0 = mpdfg.reduce sum %p along @dst : !edge -> !node
  %1 = mpdfg.reduce sum %p along @src : !edge -> !node
  %q = mpdfg.contract %c [0], %w [0, 1] -> [1] : !wide, tensor<1024x8xf32> -> !edge
  %2 = mpdfg.reduce sum %q along @src : !edge -> !node
  return %0, %1, %2 : !node, !node, !node
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @old root
mpdfg.map @dst root from @edge to @node
mpdfg.map @of root from @old to @edge

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!old = tensor<?x8xf32, #mpdfg.on<@old>>
!outer = tensor<?x8x8xf32, #mpdfg.on<@edge>>

// The first sum's factors are in memory, one for a product that has to be, the other as a result: it reads them there,
// like the second, whose factor is such a product's result. The third would have to store what only it needs.
// CHECK-LABEL: func @stored_anyway
// CHECK: %[[H:.*]] = mpdfg.unary relu %arg0
// CHECK: %[[G:.*]] = mpdfg.unary exp %arg1
// CHECK: mpdfg.contract %[[H]] [0], %[[G]] [1] -> [0, 1] :
// CHECK: mpdfg.contract %{{.*}} [0], %[[G]] [1] -> [0, 1] :
// CHECK: %[[T:.*]] = mpdfg.unary tanh %arg1
// CHECK: mpdfg.contract %[[H]] [0], %[[T]] [1] -> [0, 1] {mpk.tile}
// REMARK: Function=stored_anyway | Reason="it is read through a map"
// REMARK: [Missed] tile | {{.*}}Function=stored_anyway | Reason="both factors are stored anyway", Remark="outer products are summed from the rows of their factors in memory"
// REMARK: [Missed] tile | {{.*}}Function=stored_anyway | Reason="both factors are stored anyway"
// REMARK: [Passed] tile | {{.*}}Function=stored_anyway | Remark="outer products are summed a few members at a time"
func.func @stored_anyway(%x: !edge, %y: !edge, %w: tensor<8x8xf32>) -> (!node, !old, !edge, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %s = mpdfg.reduce sum %x along @dst : !edge -> !node
  %h = mpdfg.unary relu %x : !edge -> !edge
  %g = mpdfg.unary exp %y : !edge -> !edge
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : !edge, tensor<8x8xf32> -> !edge
  %q = mpdfg.broadcast %p along @of : !edge -> !old
  %o = mpdfg.contract %h [0], %g [1] -> [0, 1] : !edge, !edge -> !outer
  %0 = mpdfg.reduce sum %o along @all : !outer -> tensor<8x8xf32>
  %a = mpdfg.contract %p [0], %g [1] -> [0, 1] : !edge, !edge -> !outer
  %1 = mpdfg.reduce sum %a along @all : !outer -> tensor<8x8xf32>
  %t = mpdfg.unary tanh %y : !edge -> !edge
  %b = mpdfg.contract %h [0], %t [1] -> [0, 1] : !edge, !edge -> !outer
  %2 = mpdfg.reduce sum %b along @all : !outer -> tensor<8x8xf32>
  return %s, %q, %g, %0, %1, %2 : !node, !old, !edge, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>

// Constants are made in the bodies that need them: there is no memory to read a weight from.
// CHECK-LABEL: func @constant_weight
// CHECK-NOT: mpk.tile
// CHECK: return
func.func @constant_weight(%x: tensor<?x4xf32, #mpdfg.on<@edge>>) -> !node {
  %h = mpdfg.unary relu %x : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %w = mpdfg.constant 2.0 : tensor<4x8xf32>
  %p = mpdfg.contract %h [0], %w [0, 1] -> [1] : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<4x8xf32> -> !edge
  %0 = mpdfg.reduce sum %p along @dst : !edge -> !node
  return %0 : !node
}
