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

// The rows of both ends and their difference, each by a weight of its own: three products become two.
// REMARK: [Passed] join | {{.*}}Function=join_products {{.*}}"products of the same rows become one by the sum of their weights"
// CHECK-LABEL: func @join_products
// CHECK: %[[S:.*]] = mpdfg.binary add %arg1, %arg3 : tensor<8x4xf32>
// CHECK: %[[XS:.*]] = mpdfg.contract %arg0 [0], %[[S]]
// CHECK: %[[MS:.*]] = mpdfg.broadcast %[[XS]] along @src
// CHECK: %[[D:.*]] = mpdfg.binary sub %arg2, %arg3 : tensor<8x4xf32>
// CHECK: %[[XD:.*]] = mpdfg.contract %arg0 [0], %[[D]]
// CHECK: %[[MD:.*]] = mpdfg.broadcast %[[XD]] along @dst
// CHECK: %[[R:.*]] = mpdfg.binary add %[[MS]], %[[MD]]
// CHECK: return %[[R]]
func.func @join_products(%x: !node, %a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %c: tensor<8x4xf32>) -> !out {
  %0 = mpdfg.contract %x [0], %a [0, 1] -> [1] : !node, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.contract %x [0], %b [0, 1] -> [1] : !node, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpdfg.contract %x [0], %c [0, 1] -> [1] : !node, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpdfg.broadcast %0 along @src : tensor<?x4xf32, #mpdfg.on<@node>> -> !out
  %4 = mpdfg.broadcast %1 along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> !out
  %5 = mpdfg.broadcast %2 along @src : tensor<?x4xf32, #mpdfg.on<@node>> -> !out
  %6 = mpdfg.broadcast %2 along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> !out
  %7 = mpdfg.binary sub %5, %6 : !out, !out -> !out
  %8 = mpdfg.binary add %3, %4 : !out, !out -> !out
  %9 = mpdfg.binary add %8, %7 : !out, !out -> !out
  return %9 : !out
}

// No product less: one end has the difference alone.
// REMARK-NOT: [Passed] join | {{.*}}Function=keep_products
// CHECK-LABEL: func @keep_products
// CHECK-NOT: tensor<8x4xf32>, tensor<8x4xf32>
// CHECK: return
func.func @keep_products(%x: !node, %b: tensor<8x4xf32>, %c: tensor<8x4xf32>) -> !out {
  %1 = mpdfg.contract %x [0], %b [0, 1] -> [1] : !node, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpdfg.contract %x [0], %c [0, 1] -> [1] : !node, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %4 = mpdfg.broadcast %1 along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> !out
  %5 = mpdfg.broadcast %2 along @src : tensor<?x4xf32, #mpdfg.on<@node>> -> !out
  %6 = mpdfg.broadcast %2 along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> !out
  %7 = mpdfg.binary sub %5, %6 : !out, !out -> !out
  %9 = mpdfg.binary add %4, %7 : !out, !out -> !out
  return %9 : !out
}

// Where the maps lead nowhere each product's rows are 1, and their sum is not.
mpdfg.space @up root
mpdfg.map @parent root from @node to @up {partial}
mpdfg.map @sp compose from @edge to @up {partial, parts = [@src, @parent]}
// REMARK-NOT: [Passed] join | {{.*}}Function=fills
// CHECK-LABEL: func @fills
// CHECK-COUNT-2: mpdfg.broadcast %{{.*}} along @sp {fill = 1.000000e+00 : f64}
// CHECK-NOT: tensor<8x4xf32>, tensor<8x4xf32>
// CHECK: return
func.func @fills(%x: tensor<?x8xf32, #mpdfg.on<@up>>, %a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %z: tensor<?x4xf32, #mpdfg.on<@node>>) -> !out {
  %0 = mpdfg.contract %x [0], %a [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@up>>, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@up>>
  %1 = mpdfg.contract %x [0], %b [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@up>>, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@up>>
  %2 = mpdfg.broadcast %0 along @sp {fill = 1.0 : f64} : tensor<?x4xf32, #mpdfg.on<@up>> -> !out
  %3 = mpdfg.broadcast %1 along @sp {fill = 1.0 : f64} : tensor<?x4xf32, #mpdfg.on<@up>> -> !out
  %4 = mpdfg.broadcast %z along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> !out
  %5 = mpdfg.binary add %2, %4 : !out, !out -> !out
  %6 = mpdfg.binary sub %5, %3 : !out, !out -> !out
  return %6 : !out
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
