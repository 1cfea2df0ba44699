// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing | gnnc-opt | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing=fuse=false | FileCheck %s --check-prefix=NONE

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @graph root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @batch root from @node to @graph
mpdfg.map @last last from @node to @edge {parts = [@dst], partial}

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>
!graph = tensor<?x4xf32, #mpdfg.on<@graph>>

// What lies between source and sum becomes a body; the edge-sized values are gone, also the elementwise work after it.
// CHECK-LABEL: func @message
// CHECK-NEXT: %[[Y:.*]] = mpk.sweep over @node along @dst(%arg0, %arg1) access [#mpk.access<gather_member @src>, #mpk.access<member>] yields [#mpk.access<owner>] {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4xf32>, %[[E:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[M:.*]] = mpdfg.binary mul %[[X]], %[[E]]
// CHECK-NEXT: %[[S:.*]] = mpk.accumulate sum %[[M]]
// CHECK-NEXT: %[[R:.*]] = mpdfg.unary relu %[[S]]
// CHECK-NEXT: mpk.yield %[[R]]
// CHECK: return %[[Y]]
// One operation, one sweep: the copies of values are there.
// NONE-LABEL: func @message
// NONE-COUNT-3: mpk.sweep
// NONE-NOT: mpk.sweep
// NONE: return
func.func @message(%x: !node, %e: !edge) -> !node {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.binary mul %0, %e : !edge, !edge -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  %3 = mpdfg.unary relu %2 : !node -> !node
  return %3 : !node
}

// A value that is read through another map must be there whole before: no fusion across a gather.
// CHECK-LABEL: func @across_gather
// CHECK: %[[H:.*]] = mpk.sweep over @node along @dst(%arg0)
// CHECK: mpk.accumulate
// CHECK: mpdfg.unary relu
// CHECK: mpk.sweep over @node along @dst(%[[H]]) access [#mpk.access<gather_member @src>]
// CHECK: mpk.accumulate
func.func @across_gather(%x: !node) -> !node {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.reduce sum %0 along @dst : !edge -> !node
  %2 = mpdfg.unary relu %1 : !node -> !node
  %3 = mpdfg.broadcast %2 along @src : !node -> !edge
  %4 = mpdfg.reduce sum %3 along @dst : !edge -> !node
  return %4 : !node
}

// Nor back to the members of the other end: they are other sweeps' members.
// CHECK-LABEL: func @to_other_end
// CHECK: %[[H:.*]] = mpk.sweep over @node along @dst(%arg0)
// CHECK: mpk.sweep over @node along @src(%[[H]], %arg0) access [#mpk.access<gather_member @dst>, #mpk.access<member>]
func.func @to_other_end(%e: !edge) -> !node {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpdfg.broadcast %0 along @dst : !node -> !edge
  %2 = mpdfg.binary mul %1, %e : !edge, !edge -> !edge
  %3 = mpdfg.reduce sum %2 along @src : !edge -> !node
  return %3 : !node
}

// Reduce, move back along the same map, reduce: two phases of one sweep.
// CHECK-LABEL: func @phases
// CHECK: %[[Y:.*]] = mpk.sweep over @node along @dst(%arg0) access [#mpk.access<member>]
// CHECK: %[[MEAN:.*]] = mpk.accumulate mean
// CHECK-NEXT: %[[D:.*]] = mpdfg.binary sub %{{.*}}, %[[MEAN]]
// CHECK-NEXT: %[[Q:.*]] = mpdfg.unary square %[[D]]
// CHECK-NEXT: mpk.accumulate mean %[[Q]]
// CHECK-NOT: mpk.sweep
// CHECK: return %[[Y]]
func.func @phases(%e: !edge) -> !node {
  %0 = mpdfg.reduce mean %e along @dst : !edge -> !node
  %1 = mpdfg.broadcast %0 along @dst : !node -> !edge
  %2 = mpdfg.binary sub %e, %1 : !edge, !edge -> !edge
  %3 = mpdfg.unary square %2 : !edge -> !edge
  %4 = mpdfg.reduce mean %3 along @dst : !edge -> !node
  return %4 : !node
}

// Along different maps, the second sweep gathers what the first one kept.
// CHECK-LABEL: func @phases_of_two_maps
// CHECK: %[[M:.*]] = mpk.sweep over @node along @src(%arg0)
// CHECK: mpk.sweep over @node along @dst(%arg0, %[[M]]) access [#mpk.access<member>, #mpk.access<gather_member @src>]
func.func @phases_of_two_maps(%e: !edge) -> !node {
  %0 = mpdfg.reduce mean %e along @src : !edge -> !node
  %1 = mpdfg.broadcast %0 along @src : !node -> !edge
  %2 = mpdfg.binary sub %e, %1 : !edge, !edge -> !edge
  %3 = mpdfg.unary square %2 : !edge -> !edge
  %4 = mpdfg.reduce mean %3 along @dst : !edge -> !node
  return %4 : !node
}

// A softmax and the sum that it weighs.
// CHECK-LABEL: func @softmax
// CHECK: mpk.sweep over @node along @dst(%arg0, %arg1)
// CHECK: %[[A:.*]] = mpk.softmax
// CHECK: %[[W:.*]] = mpdfg.binary mul %[[A]],
// CHECK: mpk.accumulate sum %[[W]]
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @softmax(%e: !edge, %x: !node) -> !node {
  %0 = mpdfg.norm %e along @dst : !edge -> !edge
  %1 = mpdfg.broadcast %x along @src : !node -> !edge
  %2 = mpdfg.binary mul %0, %1 : !edge, !edge -> !edge
  %3 = mpdfg.reduce sum %2 along @dst : !edge -> !node
  return %3 : !node
}

// Seen from another map, a softmax is computed again from the shift and scale of its owner: two numbers for each node are
// kept instead of one for each edge.
// CHECK-LABEL: func @softmax_of_other_map
// CHECK: %[[S:.*]]:2 = mpk.sweep over @node along @src(%arg0) access [#mpk.access<member>] yields [#mpk.access<owner>, #mpk.access<owner>]
// CHECK: mpk.accumulate softmax_shift
// CHECK: mpk.accumulate softmax_scale
// CHECK: mpk.sweep over @node along @dst(%arg0, %[[S]]#0, %[[S]]#1) access [#mpk.access<member>, #mpk.access<gather_member @src>, #mpk.access<gather_member @src>] yields [#mpk.access<owner>]
// CHECK: mpdfg.binary sub
// CHECK: mpdfg.unary exp
// CHECK: mpdfg.binary mul
// CHECK: mpk.accumulate sum
func.func @softmax_of_other_map(%e: !edge) -> !node {
  %0 = mpdfg.norm %e along @src : !edge -> !edge
  %1 = mpdfg.reduce sum %0 along @dst : !edge -> !node
  return %1 : !node
}

// A softmax that is an output is written by the sweep that uses it too.
// CHECK-LABEL: func @softmax_returned
// CHECK: mpk.sweep over @node along @dst(%arg0) access [#mpk.access<member>] yields [#mpk.access<member>, #mpk.access<owner>]
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @softmax_returned(%e: !edge) -> (!edge, !node) {
  %0 = mpdfg.norm %e along @dst : !edge -> !edge
  %1 = mpdfg.unary square %0 : !edge -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  return %0, %2 : !edge, !node
}

// A sum over everything is known when its sweep is over; the elements that need it are another one.
// CHECK-LABEL: func @over_all
// CHECK: %[[M:.*]] = mpk.sweep over @node(%arg0) access [#mpk.access<owner>] yields [#mpk.access<shared>]
// CHECK: mpk.accumulate mean %{{.*}} shared
// CHECK: mpk.sweep over @node(%arg0, %[[M]]) access [#mpk.access<owner>, #mpk.access<shared>] yields [#mpk.access<owner>]
func.func @over_all(%x: !node) -> !node {
  %0 = mpdfg.reduce mean %x along @all : !node -> tensor<4xf32>
  %1 = mpdfg.binary sub %x, %0 : !node, tensor<4xf32> -> !node
  return %1 : !node
}

// It may be taken by the sweep that makes its summands.
// CHECK-LABEL: func @sum_of_sums
// CHECK: mpk.sweep over @node along @dst(%arg0) access [#mpk.access<member>] yields [#mpk.access<shared>]
// CHECK: %[[S:.*]] = mpk.accumulate max %{{.*}} : tensor<4xf32>
// CHECK: mpk.accumulate sum %[[S]] shared : tensor<4xf32>
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @sum_of_sums(%e: !edge) -> tensor<4xf32> {
  %0 = mpdfg.reduce max %e along @dst : !edge -> !node
  %1 = mpdfg.reduce sum %0 along @all : !node -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Two sums along one map with an operand in common share the walk, though neither needs the other.
// CHECK-LABEL: func @side_by_side
// CHECK: mpk.sweep over @node along @dst(%arg0) access [#mpk.access<member>] yields [#mpk.access<owner>, #mpk.access<owner>]
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @side_by_side(%e: !edge) -> (!node, !node) {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpdfg.unary exp %e : !edge -> !edge
  %2 = mpdfg.reduce max %1 along @dst : !edge -> !node
  return %0, %2 : !node, !node
}

// Without one there is nothing to save but the walk; they stay apart.
// CHECK-LABEL: func @independent
// CHECK: mpk.sweep over @node along @dst(%arg0)
// CHECK: mpk.sweep over @node along @dst(%arg1)
func.func @independent(%e: !edge, %f: !edge) -> (!node, !node) {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpdfg.reduce sum %f along @dst : !edge -> !node
  return %0, %1 : !node, !node
}

// Each output has memory of its own: a copy for the second one, for an argument and for a constant.
// CHECK-LABEL: func @returned_twice
// CHECK: mpk.sweep
// CHECK: %[[A:.*]] = mpdfg.unary relu
// CHECK: %[[B:.*]] = mpdfg.detach %[[A]]
// CHECK: mpk.yield %[[A]], %[[B]]
// CHECK: %[[C:.*]] = mpk.sweep over @node(%arg1)
// CHECK: mpdfg.detach
// CHECK: return %{{.*}}#0, %{{.*}}#1, %[[C]]
func.func @returned_twice(%x: !node, %y: !node) -> (!node, !node, !node) {
  %0 = mpdfg.unary relu %x : !node -> !node
  return %0, %0, %y : !node, !node, !node
}

// A moved value that is an output is a gather; where the map is undefined, the fill.
// CHECK-LABEL: func @moved_output
// CHECK: mpk.sweep over @node(%arg0) access [#mpk.access<gather_owner @last fill 2.000000e+00>] yields [#mpk.access<owner>]
func.func @moved_output(%e: !edge) -> !node {
  %0 = mpdfg.broadcast %e along @last {fill = 2.0 : f64} : !edge -> !node
  return %0 : !node
}

// Degrees are read off the index.
// CHECK-LABEL: func @mean_by_hand
// CHECK: %[[D:.*]] = mpdfg.degree along @dst
// CHECK: mpk.sweep over @node along @dst(%arg0, %[[D]]) access [#mpk.access<member>, #mpk.access<owner>]
// CHECK-DAG: %[[SUM:.*]] = mpk.accumulate sum %{{.*}} : tensor<4xf32>
// CHECK: mpdfg.binary div %[[SUM]],
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @mean_by_hand(%e: !edge) -> !node {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
  %2 = mpdfg.reshape %1 : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %3 = mpdfg.binary div %0, %2 : !node, tensor<?x1xf32, #mpdfg.on<@node>> -> !node
  return %3 : !node
}

// A product is a kernel of its own: sweeps before and after, its operand kept.
// CHECK-LABEL: func @around_product
// CHECK: %[[A:.*]] = mpk.sweep over @node along @dst(%arg0)
// CHECK: %[[B:.*]] = mpk.product over @node(%[[A]], %arg1)
// CHECK: mpk.sweep over @node(%[[B]])
// CHECK: mpdfg.unary relu
func.func @around_product(%e: !edge, %w: tensor<4x4xf32>) -> !node {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpk.product over @node (%0, %w) batch 1 rows 1 k 4 n 4 : (!node, tensor<4x4xf32>) -> !node
  %2 = mpdfg.unary relu %1 : !node -> !node
  return %2 : !node
}

// The residual reads both the sum and a product of it: it cannot join the sum's sweep, which the product needs.
// CHECK-LABEL: func @no_cycle
// CHECK: %[[A:.*]] = mpk.sweep over @node along @dst(%arg0)
// CHECK: %[[B:.*]] = mpk.product over @node(%[[A]], %arg1)
// CHECK: mpk.sweep over @node(%[[A]], %[[B]])
func.func @no_cycle(%e: !edge, %w: tensor<4x4xf32>) -> !node {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpk.product over @node (%0, %w) batch 1 rows 1 k 4 n 4 : (!node, tensor<4x4xf32>) -> !node
  %2 = mpdfg.binary add %0, %1 : !node, !node -> !node
  return %2 : !node
}

// Levels of pooling: nodes of a graph, then edges of a node, each owners of their own.
// CHECK-LABEL: func @pool
// CHECK: %[[A:.*]] = mpk.sweep over @node along @dst(%arg0)
// CHECK: mpk.sweep over @graph along @batch(%[[A]]) access [#mpk.access<member>]
func.func @pool(%e: !edge) -> !graph {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpdfg.reduce max %0 along @batch : !node -> !graph
  return %1 : !graph
}

// A small shared value is computed in each kernel; one of more than 1024 numbers is kept.
// CHECK-LABEL: func @small_shared
// CHECK: mpk.sweep over @node(%arg0, %arg1)
// CHECK: mpdfg.unary square
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @small_shared(%x: !node, %s: tensor<4xf32>) -> !node {
  %0 = mpdfg.unary square %s : tensor<4xf32> -> tensor<4xf32>
  %1 = mpdfg.binary mul %x, %0 : !node, tensor<4xf32> -> !node
  return %1 : !node
}

// CHECK-LABEL: func @large_shared
// CHECK: %[[S:.*]] = mpk.sweep(%arg1) access [#mpk.access<shared>] yields [#mpk.access<shared>]
// CHECK: mpk.sweep over @node(%arg0, %[[S]])
func.func @large_shared(%x: tensor<?x2048xf32, #mpdfg.on<@node>>, %s: tensor<2048xf32>)
    -> tensor<?x2048xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.unary square %s : tensor<2048xf32> -> tensor<2048xf32>
  %1 = mpdfg.binary mul %x, %0 : tensor<?x2048xf32, #mpdfg.on<@node>>, tensor<2048xf32>
     -> tensor<?x2048xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x2048xf32, #mpdfg.on<@node>>
}

// A row value that a sum along @src reads through @dst stays out of another sum along @src: so both sums are one sweep,
// and the row value joins the sum along @dst before it, whichever is written first.
// CHECK-LABEL: func @row_value_apart
// CHECK: %[[D:.*]]:2 = mpk.sweep over @node along @dst(
// CHECK: mpk.sweep over @node along @src(
// CHECK-NOT: mpk.sweep over
// CHECK: return
func.func @row_value_apart(%o: !node, %g: !node) -> (!node, !node, !node) {
  %g1 = mpdfg.broadcast %g along @dst : !node -> !edge
  %0 = mpdfg.reduce sum %g1 along @src : !edge -> !node
  %row = mpdfg.binary mul %o, %g : !node, !node -> !node
  %o1 = mpdfg.broadcast %o along @src : !node -> !edge
  %row1 = mpdfg.broadcast %row along @dst : !node -> !edge
  %1 = mpdfg.binary sub %o1, %row1 : !edge, !edge -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  %3 = mpdfg.reduce sum %1 along @src : !edge -> !node
  return %0, %2, %3 : !node, !node, !node
}

// Where the later sum is made from the earlier one, two sweeps are needed anyway, and the row value joins the first.
// CHECK-LABEL: func @row_value_between
// CHECK: mpk.sweep over @node along @src(
// CHECK: mpk.sweep over @node along @src(
// CHECK-NOT: mpk.sweep over
// CHECK: return
func.func @row_value_between(%g: !node) -> !node {
  %g1 = mpdfg.broadcast %g along @dst : !node -> !edge
  %0 = mpdfg.reduce sum %g1 along @src : !edge -> !node
  %row = mpdfg.binary mul %0, %g : !node, !node -> !node
  %row1 = mpdfg.broadcast %row along @dst : !node -> !edge
  %1 = mpdfg.reduce sum %row1 along @src : !edge -> !node
  return %1 : !node
}

// A part of a shared value that rows meet is kept in memory: cut within the sweep, it would tie the rows' axis to its own.
// CHECK-LABEL: func @cut_shared(
// CHECK: %[[PART:.*]] = mpk.sweep(%arg1) access [#mpk.access<shared>] yields [#mpk.access<shared>]
// CHECK: mpdfg.slice
// CHECK: mpk.sweep over @node(%arg0, %[[PART]])
// CHECK-NOT: mpdfg.slice
// CHECK: return
func.func @cut_shared(%x: !node, %a: tensor<8xf32>) -> !node {
  %0 = mpdfg.slice %a axis 0 from 4 : tensor<8xf32> -> tensor<4xf32>
  %1 = mpdfg.binary mul %x, %0 : !node, tensor<4xf32> -> !node
  return %1 : !node
}

// One number has no axis to tie.
// CHECK-LABEL: func @cut_number(
// CHECK-NEXT: mpk.sweep over @node(%arg0, %arg1)
// CHECK: mpdfg.slice
func.func @cut_number(%x: !node, %a: tensor<8xf32>) -> !node {
  %0 = mpdfg.slice %a axis 0 from 4 : tensor<8xf32> -> tensor<1xf32>
  %1 = mpdfg.binary mul %x, %0 : !node, tensor<1xf32> -> !node
  return %1 : !node
}

// Nor has what no row meets.
// CHECK-LABEL: func @cut_for_itself(
// CHECK: mpk.sweep(%arg0)
// CHECK: mpdfg.slice
// CHECK: mpdfg.unary
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @cut_for_itself(%a: tensor<8xf32>) -> tensor<4xf32> {
  %0 = mpdfg.slice %a axis 0 from 4 : tensor<8xf32> -> tensor<4xf32>
  %1 = mpdfg.unary exp %0 : tensor<4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
