// RUN: gnnc-opt %s --group-terms | FileCheck %s
// RUN: gnnc-opt %s --group-terms --remark-format=emitRemark --remarks-filter=group-terms -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!both = tensor<?x16xf32, #mpdfg.on<@edge>>
!out = tensor<?x4xf32, #mpdfg.on<@edge>>

// REMARK: [Passed] group | {{.*}}Function=by_map {{.*}}"4 terms become 2"
// CHECK-LABEL: func @by_map
// CHECK-DAG: %[[XS:.*]] = mpdfg.broadcast %arg0 along @src
// CHECK-DAG: %[[XD:.*]] = mpdfg.broadcast %arg0 along @dst
// CHECK-DAG: %[[YD:.*]] = mpdfg.broadcast %arg1 along @dst
// CHECK: %[[A:.*]] = mpdfg.binary sub %[[XD]], %[[YD]]
// CHECK: %[[B:.*]] = mpdfg.binary add %[[A]], %arg2
// CHECK: %[[C:.*]] = mpdfg.binary add %[[B]], %[[XS]]
// CHECK: return %[[C]]
func.func @by_map(%x: !node, %y: !node, %b: tensor<8xf32>) -> !edge {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %x along @dst : !node -> !edge
  %2 = mpdfg.broadcast %y along @dst : !node -> !edge
  %3 = mpdfg.binary sub %0, %2 : !edge, !edge -> !edge
  %4 = mpdfg.binary add %1, %3 : !edge, !edge -> !edge
  %5 = mpdfg.binary add %4, %b : !edge, tensor<8xf32> -> !edge
  return %5 : !edge
}

// A sum that others need as well is a term of its own; what belongs to the edge alone stays.
// REMARK: [Missed] group | {{.*}}Function=nothing_alike | Reason="no two of them come along one map"
// CHECK-LABEL: func @nothing_alike
// CHECK: mpdfg.binary add
// CHECK: mpdfg.binary add
// CHECK-NOT: mpdfg.binary
// CHECK: return
func.func @nothing_alike(%x: !node, %e: !edge) -> !edge {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %x along @dst : !node -> !edge
  %2 = mpdfg.binary add %0, %1 : !edge, !edge -> !edge
  %3 = mpdfg.binary add %2, %e : !edge, !edge -> !edge
  return %3 : !edge
}

// What stays on the edge is added in the order it is written in, as one term: (e + 12582912) - 12582912 rounds.
// CHECK-LABEL: func @own_terms
// CHECK: %[[UP:.*]] = mpdfg.binary add %arg1, %
// CHECK: %[[ROUNDED:.*]] = mpdfg.binary sub %[[UP]], %
// CHECK: %[[ONE:.*]] = mpdfg.broadcast %arg0 along @src
// CHECK: %[[OTHER:.*]] = mpdfg.broadcast %arg0 along @src
// CHECK: %[[MOVED:.*]] = mpdfg.binary add %[[ONE]], %[[OTHER]]
// CHECK: %[[ALL:.*]] = mpdfg.binary add %[[MOVED]], %[[ROUNDED]]
// CHECK: return %[[ALL]]
func.func @own_terms(%x: !node, %e: !edge) -> !edge {
  %c = mpdfg.constant 12582912.0 : tensor<8xf32>
  %0 = mpdfg.binary add %e, %c : !edge, tensor<8xf32> -> !edge
  %1 = mpdfg.binary sub %0, %c : !edge, tensor<8xf32> -> !edge
  %2 = mpdfg.broadcast %x along @src : !node -> !edge
  %3 = mpdfg.broadcast %x along @src : !node -> !edge
  %4 = mpdfg.binary add %1, %2 : !edge, !edge -> !edge
  %5 = mpdfg.binary add %4, %3 : !edge, !edge -> !edge
  return %5 : !edge
}
