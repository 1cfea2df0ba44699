// RUN: gnnc-opt %s --hoist-elementwise | FileCheck %s
// RUN: gnnc-opt %s --hoist-elementwise --remark-format=emitRemark --remarks-filter=hoist-elementwise -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!both = tensor<?x16xf32, #mpdfg.on<@edge>>
!out = tensor<?x4xf32, #mpdfg.on<@edge>>
mpdfg.map @mate root from @edge to @node {partial}

// R2: two values along one map are added before they move, which halves what an edge reads.
// REMARK: [Passed] hoist | {{.*}}Function=two_operands
// CHECK-LABEL: func @two_operands
// CHECK: %[[S:.*]] = mpdfg.binary add %arg0, %arg1 : tensor<?x8xf32, #mpdfg.on<@node>>
// CHECK: %[[M:.*]] = mpdfg.broadcast %[[S]] along @src
// CHECK: return %[[M]]
func.func @two_operands(%x: !node, %y: !node) -> !edge {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %y along @src : !node -> !edge
  %2 = mpdfg.binary add %0, %1 : !edge, !edge -> !edge
  return %2 : !edge
}

// R1: a score is made once a node, and so is the row that it scales. What they were made of on edges goes.
// CHECK-LABEL: func @score
// CHECK: %[[P:.*]] = mpdfg.binary mul %arg0, %arg1 : tensor<?x8xf32, #mpdfg.on<@node>>
// CHECK: %[[F:.*]] = mpdfg.fold sum %[[P]] [0]
// CHECK-NEXT: %[[S:.*]] = mpdfg.binary mul %[[F]], %arg0
// CHECK-NEXT: %[[M:.*]] = mpdfg.broadcast %[[S]] along @src
// CHECK-NEXT: mpdfg.reduce sum %[[M]] along @dst
func.func @score(%x: !node, %a: tensor<8xf32>) -> !node {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.binary mul %0, %a : !edge, tensor<8xf32> -> !edge
  %2 = mpdfg.fold sum %1 [0] : !edge -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %3 = mpdfg.binary mul %2, %0 : tensor<?x1xf32, #mpdfg.on<@edge>>, !edge -> !edge
  %4 = mpdfg.reduce sum %3 along @dst : !edge -> !node
  return %4 : !node
}

// One addition to what is gathered anyway: lifted, an edge would read another row for it.
// REMARK: [Missed] hoist | {{.*}}Function=cheap | Reason="{{.*}} bytes saved, {{.*}} spent for each element"
// CHECK-LABEL: func @cheap
// CHECK: mpdfg.binary add {{.*}} -> tensor<?x8xf32, #mpdfg.on<@edge>>
func.func @cheap(%x: !node, %a: tensor<8xf32>) -> (!node, !node) {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.binary add %0, %a : !edge, tensor<8xf32> -> !edge
  %2 = mpdfg.reduce max %1 along @dst : !edge -> !node
  %3 = mpdfg.reduce min %0 along @dst : !edge -> !node
  return %2, %3 : !node, !node
}

// The owners of the sweep compute it once each, whatever it costs.
// REMARK: [Missed] hoist | {{.*}}Function=of_the_owner
// CHECK-LABEL: func @of_the_owner
// CHECK: mpdfg.unary tanh {{.*}}#mpdfg.on<@edge>>
func.func @of_the_owner(%x: !node, %e: !edge) -> !node {
  %0 = mpdfg.broadcast %x along @dst : !node -> !edge
  %1 = mpdfg.unary tanh %0 : !edge -> !edge
  %2 = mpdfg.binary add %1, %e : !edge, !edge -> !edge
  %3 = mpdfg.reduce max %2 along @dst : !edge -> !node
  return %3 : !node
}

// Two sums, further on, have other owners: those of the one compute what the members of the other would.
// REMARK: [Passed] hoist | {{.*}}Function=of_two_owners
// CHECK-LABEL: func @of_two_owners
// CHECK: mpdfg.unary tanh {{.*}}#mpdfg.on<@node>>
func.func @of_two_owners(%x: !node, %e: !edge) -> (!node, !node) {
  %0 = mpdfg.broadcast %x along @dst : !node -> !edge
  %1 = mpdfg.unary tanh %0 : !edge -> !edge
  %2 = mpdfg.binary add %1, %e : !edge, !edge -> !edge
  %3 = mpdfg.reduce max %2 along @src : !edge -> !node
  %4 = mpdfg.reduce max %2 along @dst : !edge -> !node
  return %3, %4 : !node, !node
}

// Operands along two maps meet on the edge; a partial map has rows of its own; a dropped row is the edge's; and 1/x may be
// infinite at nodes that no edge reads, which would spoil their gradient.
// CHECK-LABEL: func @stays
// CHECK: mpdfg.binary mul {{.*}}#mpdfg.on<@edge>>
// CHECK: mpdfg.unary exp {{.*}}#mpdfg.on<@edge>>
// CHECK: mpdfg.random
// CHECK: mpdfg.binary mul {{.*}}#mpdfg.on<@edge>>
// CHECK: mpdfg.unary recip {{.*}}#mpdfg.on<@edge>>
func.func @stays(%x: !node) -> (!edge, !edge, !edge, !edge) {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %x along @dst : !node -> !edge
  %2 = mpdfg.binary mul %0, %1 : !edge, !edge -> !edge
  %3 = mpdfg.broadcast %x along @mate : !node -> !edge
  %4 = mpdfg.unary exp %3 : !edge -> !edge
  %n = mpdfg.element : tensor<?x1xf32, #mpdfg.on<@edge>>
  %k = mpdfg.constant 1.0 : tensor<1xf32>
  %f = mpdfg.iota : tensor<8xf32>
  %mask = mpdfg.random %k, %k, %k, %n, %f site 0 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<8xf32> -> !edge
  %5 = mpdfg.binary mul %0, %mask : !edge, !edge -> !edge
  %6 = mpdfg.unary recip %0 : !edge -> !edge
  return %2, %4, %5, %6 : !edge, !edge, !edge, !edge
}

// exp of a node that no edge reads may overflow, and its gradient would be 0 times infinity. A Gaussian does not, nor does what is
// bounded.
// CHECK-LABEL: func @overflows
// CHECK: mpdfg.unary exp {{.*}}#mpdfg.on<@edge>>
// CHECK-LABEL: func @gaussian
// CHECK: mpdfg.unary exp {{.*}}#mpdfg.on<@node>>
// CHECK: mpdfg.unary exp {{.*}}#mpdfg.on<@node>>
func.func @overflows(%x: !node, %e: !edge) -> !node {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.unary exp %0 : !edge -> !edge
  %2 = mpdfg.binary mul %1, %e : !edge, !edge -> !edge
  %3 = mpdfg.reduce sum %2 along @dst : !edge -> !node
  return %3 : !node
}
func.func @gaussian(%x: !node, %e: !edge) -> (!node, !node) {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %k = mpdfg.constant -0.5 : tensor<1xf32>
  %1 = mpdfg.unary square %0 : !edge -> !edge
  %2 = mpdfg.binary mul %1, %k : !edge, tensor<1xf32> -> !edge
  %3 = mpdfg.unary exp %2 : !edge -> !edge
  %4 = mpdfg.binary mul %3, %e : !edge, !edge -> !edge
  %5 = mpdfg.reduce sum %4 along @dst : !edge -> !node
  %6 = mpdfg.unary sin %0 : !edge -> !edge
  %7 = mpdfg.unary exp %6 : !edge -> !edge
  %8 = mpdfg.binary mul %7, %e : !edge, !edge -> !edge
  %9 = mpdfg.reduce sum %8 along @dst : !edge -> !node
  return %5, %9 : !node, !node
}

// A choice among elements, such as the pairs that are near each other, has one member for each: nothing is shared along
// it, and all pairs may be far more than those chosen.
mpdfg.space @pair pairs {base = @node, of = @node, maps = [@whole, @whole]}
mpdfg.space @one static {extent = 1 : i64}
mpdfg.map @whole only from @node to @one
mpdfg.map @first owner from @pair to @node
mpdfg.map @second partner from @pair to @node
mpdfg.space @near selection {base = @pair, of = @pair, most = 1 : i64, open}
mpdfg.map @near.pair owner from @near to @pair
mpdfg.map @near.first compose from @near to @node {parts = [@near.pair, @first]}
mpdfg.map @near.second compose from @near to @node {parts = [@near.pair, @second]}
!near = tensor<?x8xf32, #mpdfg.on<@near>>

// CHECK-LABEL: func @of_chosen_pairs
// CHECK: mpdfg.binary sub {{.*}}#mpdfg.on<@near>>
// CHECK: mpdfg.unary exp {{.*}}#mpdfg.on<@near>>
func.func @of_chosen_pairs(%mask: tensor<?xf32, #mpdfg.on<@pair>>, %x: !node) -> !node {
  %kept = mpdfg.keep %mask along @near.pair : tensor<?xf32, #mpdfg.on<@pair>> -> tensor<?xf32, #mpdfg.on<@near>>
  %0 = mpdfg.broadcast %x along @near.first : !node -> !near
  %1 = mpdfg.broadcast %x along @near.second : !node -> !near
  %2 = mpdfg.binary sub %0, %1 : !near, !near -> !near
  %3 = mpdfg.unary square %2 : !near -> !near
  %4 = mpdfg.unary neg %3 : !near -> !near
  %5 = mpdfg.unary exp %4 : !near -> !near
  %6 = mpdfg.reduce sum %5 along @near.first : !near -> !node
  return %6 : !node
}
