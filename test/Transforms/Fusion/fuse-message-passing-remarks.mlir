// RUN: gnnc-opt %s --split-input-file --fuse-message-passing --remark-format=emitRemark \
// RUN:   --remarks-filter=fuse-message-passing -o /dev/null 2>&1 | FileCheck %s
// RUN: gnnc-opt %s --split-input-file --fuse-message-passing=fuse=false --remark-format=emitRemark \
// RUN:   --remarks-filter-missed=fuse-message-passing -o /dev/null 2>&1 | count 0

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>

// CHECK: fuse-message-passing-remarks.mlir:[[# @LINE + 4]]:8: remark: [Passed] fuse | Category:fuse-message-passing | Function=passed
// CHECK-SAME: "joins the sweep over @node along @dst with 1 result"
func.func @passed(%e: !edge) -> !node {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpdfg.unary relu %0 : !node -> !node
  return %1 : !node
}

// CHECK: [Missed] fuse | {{.*}}Function=gathered | Reason="it reads a result of that sweep through a map"
// CHECK-SAME: "does not join the sweep over @node along @dst with 1 result"
func.func @gathered(%e: !edge) -> !node {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpdfg.broadcast %0 along @src : !node -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  return %2 : !node
}

// CHECK: [Missed] fuse | {{.*}}Function=other_map | Reason="its members are those along @src"
func.func @other_map(%e: !edge) -> (!node, !node) {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpdfg.reduce sum %e along @src : !edge -> !node
  return %0, %1 : !node, !node
}

// CHECK: [Missed] fuse | {{.*}}Function=everything | Reason="it needs a result over everything, known only when that sweep is over"
func.func @everything(%x: !node) -> !node {
  %0 = mpdfg.reduce sum %x along @all : !node -> tensor<4xf32>
  %1 = mpdfg.binary div %x, %0 : !node, tensor<4xf32> -> !node
  return %1 : !node
}

// CHECK: [Missed] fuse | {{.*}}Function=cycle | Reason="it needs another kernel that needs that sweep"
func.func @cycle(%e: !edge, %w: tensor<4x4xf32>) -> !node {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpk.product over @node (%0, %w) batch 1 rows 1 k 4 n 4 : (!node, tensor<4x4xf32>) -> !node
  %2 = mpdfg.binary add %0, %1 : !node, !node -> !node
  return %2 : !node
}

// CHECK: [Missed] fuse | {{.*}}Function=apart | Reason="they read nothing in common"
func.func @apart(%e: !edge, %f: !edge) -> (!node, !node) {
  %0 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %1 = mpdfg.reduce sum %f along @dst : !edge -> !node
  return %0, %1 : !node, !node
}

// CHECK: [Missed] recompute | {{.*}}Function=large_shared | Reason="2048 numbers are too many
// CHECK-SAME: "shared value is kept in memory"
func.func @large_shared(%x: tensor<?x2048xf32, #mpdfg.on<@node>>, %s: tensor<2048xf32>)
    -> tensor<?x2048xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.unary square %s : tensor<2048xf32> -> tensor<2048xf32>
  %1 = mpdfg.binary mul %x, %0 : tensor<?x2048xf32, #mpdfg.on<@node>>, tensor<2048xf32>
     -> tensor<?x2048xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x2048xf32, #mpdfg.on<@node>>
}

// CHECK: [Passed] recompute | {{.*}}Function=other_softmax | Remark="statistics of each owner are kept, not numbers of members"
func.func @other_softmax(%e: !edge) -> !node {
  %0 = mpdfg.norm %e along @src : !edge -> !edge
  %1 = mpdfg.reduce sum %0 along @dst : !edge -> !node
  return %1 : !node
}

// Softmaxes are looked at when all sweeps are formed, so what is said of them comes after the rest of their function.
// CHECK: [Passed] online-softmax | {{.*}}Function=online |
func.func @online(%e: !edge) -> !node {
  %0 = mpdfg.norm %e along @dst : !edge -> !edge
  %1 = mpdfg.binary mul %0, %e : !edge, !edge -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  return %2 : !node
}

// CHECK: [Missed] online-softmax | {{.*}}Function=max_of_softmax | Reason="it goes into the max over the members"
func.func @max_of_softmax(%e: !edge) -> !node {
  %0 = mpdfg.norm %e along @dst : !edge -> !edge
  %1 = mpdfg.reduce max %0 along @dst : !edge -> !node
  return %1 : !node
}

// CHECK: [Missed] online-softmax | {{.*}}Function=square_of_softmax | Reason="mpdfg.unary is not linear in it"
// CHECK-SAME: "members are walked once more for a softmax"
func.func @square_of_softmax(%e: !edge) -> !node {
  %0 = mpdfg.norm %e along @dst : !edge -> !edge
  %1 = mpdfg.unary square %0 : !edge -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  return %2 : !node
}

// CHECK: [Missed] online-softmax | {{.*}}Function=output | Reason="it is a result for each member"
func.func @output(%e: !edge) -> !edge {
  %0 = mpdfg.norm %e along @dst : !edge -> !edge
  return %0 : !edge
}

// CHECK: [Missed] online-softmax | {{.*}}Function=folded | Reason="a sum that it weighs lacks one of its axes"
func.func @folded(%e: !edge) -> tensor<?x1xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.norm %e along @dst : !edge -> !edge
  %1 = mpdfg.fold sum %0 [0] : !edge -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.reduce sum %1 along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x1xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root

!node = tensor<?x4xf32, #mpdfg.on<@node>>

// CHECK: [Missed] recompute | {{.*}}Function=cut_shared | Reason="a sweep that cut or joined an axis could not work on each number of its rows by itself"
// CHECK-SAME: "shared value is kept in memory"
func.func @cut_shared(%x: !node, %a: tensor<8xf32>) -> !node {
  %0 = mpdfg.slice %a axis 0 from 4 : tensor<8xf32> -> tensor<4xf32>
  %1 = mpdfg.binary mul %x, %0 : !node, tensor<4xf32> -> !node
  return %1 : !node
}
