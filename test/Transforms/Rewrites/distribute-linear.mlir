// RUN: gnnc-opt %s --distribute-linear --reorder-broadcast --cse | FileCheck %s
// RUN: gnnc-opt %s --distribute-linear --remark-format=emitRemark --remarks-filter=distribute-linear -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!both = tensor<?x16xf32, #mpdfg.on<@edge>>
!out = tensor<?x4xf32, #mpdfg.on<@edge>>

// The product of a difference of two ends is the difference of one product, moved twice.
// REMARK: [Passed] distribute | {{.*}}Function=difference
// CHECK-LABEL: func @difference
// CHECK: %[[P:.*]] = mpdfg.contract %arg0 [0], %arg1 [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@node>>
// CHECK-DAG: %[[S:.*]] = mpdfg.broadcast %[[P]] along @src
// CHECK-DAG: %[[D:.*]] = mpdfg.broadcast %[[P]] along @dst
// CHECK: %[[Y:.*]] = mpdfg.binary sub %[[S]], %[[D]]
// CHECK-NOT: mpdfg.contract
// CHECK: return %[[Y]]
func.func @difference(%x: !node, %w: tensor<8x4xf32>) -> !out {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %x along @dst : !node -> !edge
  %2 = mpdfg.binary sub %0, %1 : !edge, !edge -> !edge
  %3 = mpdfg.contract %2 [0], %w [0, 1] -> [1] : !edge, tensor<8x4xf32> -> !out
  return %3 : !out
}

// Sums of sums, with a shared term, through a sum over features.
// CHECK-LABEL: func @three_terms
// CHECK-COUNT-2: mpdfg.fold sum %{{.*}} [0] : tensor<?x8xf32, #mpdfg.on<@edge>>
// CHECK: mpdfg.fold sum %arg1 [0] : tensor<8xf32> -> tensor<1xf32>
// CHECK-NOT: mpdfg.fold
// CHECK: return
func.func @three_terms(%x: !node, %s: tensor<8xf32>) -> tensor<?x1xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %x along @dst : !node -> !edge
  %2 = mpdfg.binary add %0, %1 : !edge, !edge -> !edge
  %4 = mpdfg.binary sub %2, %s : !edge, tensor<8xf32> -> !edge
  %5 = mpdfg.fold sum %4 [0] : !edge -> tensor<?x1xf32, #mpdfg.on<@edge>>
  return %5 : tensor<?x1xf32, #mpdfg.on<@edge>>
}

// A term that stays on the edge needs the product there anyway.
// REMARK: [Missed] distribute | {{.*}}Function=edge_term | Reason="a term, or what it meets, does not come from another space"
// CHECK-LABEL: func @edge_term
// CHECK: mpdfg.binary add
// CHECK-NEXT: mpdfg.contract
func.func @edge_term(%x: !node, %e: !edge, %w: tensor<8x4xf32>) -> !out {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %2 = mpdfg.binary add %0, %e : !edge, !edge -> !edge
  %3 = mpdfg.contract %2 [0], %w [0, 1] -> [1] : !edge, tensor<8x4xf32> -> !out
  return %3 : !out
}

// A weight of the edge, and a function that is not linear: the largest of two sums is not the sum of the largest.
// REMARK: [Missed] distribute | {{.*}}Function=weight_of_the_edge
// CHECK-LABEL: func @weight_of_the_edge
// CHECK: mpdfg.binary sub
// CHECK: mpdfg.contract
// CHECK: mpdfg.fold max
func.func @weight_of_the_edge(%x: !node, %w: tensor<?x8x4xf32, #mpdfg.on<@edge>>) -> (!out, tensor<?x1xf32, #mpdfg.on<@edge>>) {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %x along @dst : !node -> !edge
  %2 = mpdfg.binary sub %0, %1 : !edge, !edge -> !edge
  %3 = mpdfg.contract %2 [0], %w [0, 1] -> [1] : !edge, tensor<?x8x4xf32, #mpdfg.on<@edge>> -> !out
  %4 = mpdfg.fold max %2 [0] : !edge -> tensor<?x1xf32, #mpdfg.on<@edge>>
  return %3, %4 : !out, tensor<?x1xf32, #mpdfg.on<@edge>>
}
