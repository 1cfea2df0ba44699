// Results with a row for each member that a sweep over owners makes (JoinMembers.cpp).
// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing --remark-format=emitRemark --remarks-filter=fuse-message-passing -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x64xf32, #mpdfg.on<@node>>
!edge = tensor<?x64xf32, #mpdfg.on<@edge>>
!one = tensor<?x1xf32, #mpdfg.on<@edge>>
!scalar = tensor<?x1xf32, #mpdfg.on<@node>>

// Both read three rows of 64 for each edge; the edges' result is one number.
// CHECK-LABEL: func @gradient_of_weight
// CHECK: mpk.sweep over @node along @dst({{.*}}) access {{.*}} yields [#mpk.access<owner>, #mpk.access<member>]
// CHECK-NOT: mpk.sweep
// CHECK: return
// REMARK: Function=gradient_of_weight | Remark="rows of members are made by the sweep along @dst"
func.func @gradient_of_weight(%g: !node, %x: !node, %e: !edge) -> (!node, !one) {
  %0 = mpdfg.broadcast %g along @dst : !node -> !edge
  %1 = mpdfg.broadcast %x along @src : !node -> !edge
  %2 = mpdfg.binary mul %1, %e : !edge, !edge -> !edge
  %3 = mpdfg.binary mul %0, %2 : !edge, !edge -> !edge
  %4 = mpdfg.reduce sum %3 along @dst : !edge -> !node
  %5 = mpdfg.fold sum %3 [0] : !edge -> !one
  return %4, %5 : !node, !one
}

// What is written is as wide as the one row that both read.
// CHECK-LABEL: func @as_wide
// CHECK-COUNT-2: mpk.sweep
func.func @as_wide(%x: !node) -> (!node, !edge) {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.unary exp %0 : !edge -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  %3 = mpdfg.unary tanh %0 : !edge -> !edge
  return %2, %3 : !node, !edge
}

// It needs the sum, and the sum's sweep would walk over the members once more for it.
// CHECK-LABEL: func @one_walk_more
// CHECK: mpk.sweep over @node along @dst
// CHECK: mpk.sweep over @edge
func.func @one_walk_more(%x: !node, %e: !edge) -> (!node, !one) {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.binary mul %0, %e : !edge, !edge -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  %3 = mpdfg.broadcast %2 along @dst : !node -> !edge
  %4 = mpdfg.binary mul %1, %3 : !edge, !edge -> !edge
  %5 = mpdfg.fold sum %4 [0] : !edge -> !one
  return %2, %5 : !node, !one
}

// The sweep walks over them a second time for the deviation.
// CHECK-LABEL: func @second_walk
// CHECK: mpk.sweep over @node along @dst({{.*}}) access {{.*}} yields [{{.*}}#mpk.access<member>]
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @second_walk(%x: !node, %e: !edge) -> (!node, !one) {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.binary mul %0, %e : !edge, !edge -> !edge
  %2 = mpdfg.reduce mean %1 along @dst : !edge -> !node
  %3 = mpdfg.broadcast %2 along @dst : !node -> !edge
  %4 = mpdfg.binary sub %1, %3 : !edge, !edge -> !edge
  %5 = mpdfg.unary square %4 : !edge -> !edge
  %6 = mpdfg.reduce mean %5 along @dst : !edge -> !node
  %7 = mpdfg.fold sum %4 [0] : !edge -> !one
  return %6, %7 : !node, !one
}

// What another kernel reads stays where it is.
// CHECK-LABEL: func @read_again
// CHECK: mpk.sweep over @edge
// CHECK: mpk.sweep over @node along @src
func.func @read_again(%g: !node, %x: !node, %e: !edge) -> (!node, !one, !scalar) {
  %0 = mpdfg.broadcast %g along @dst : !node -> !edge
  %1 = mpdfg.broadcast %x along @src : !node -> !edge
  %2 = mpdfg.binary mul %1, %e : !edge, !edge -> !edge
  %3 = mpdfg.binary mul %0, %2 : !edge, !edge -> !edge
  %4 = mpdfg.reduce sum %3 along @dst : !edge -> !node
  %5 = mpdfg.fold sum %3 [0] : !edge -> !one
  %6 = mpdfg.reduce max %5 along @src : !one -> !scalar
  return %4, %5, %6 : !node, !one, !scalar
}
