// RUN: gnnc-opt %s --split-input-file --group-types --cse --canonicalize | FileCheck %s
// RUN: gnnc-opt %s --split-input-file --group-types --remark-format=emitRemark --remarks-filter=group-types -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @kind static {extent = 3 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @etype root from @edge to @kind

!x = tensor<?x8xf32, #mpdfg.on<@node>>
!e = tensor<?x8xf32, #mpdfg.on<@edge>>
!w = tensor<3x8x16xf32, #mpdfg.on<@kind>>
!we = tensor<?x8x16xf32, #mpdfg.on<@edge>>
!y = tensor<?x16xf32, #mpdfg.on<@edge>>

// One product for each pair of a sender and a type that occurs, read by its class: it goes through a function, so it cannot
// be summed first.
// CHECK: mpdfg.space @edge.src.etype distinct {base = @edge, maps = [@src, @etype]}
// CHECK-DAG: mpdfg.map @edge.src.etype.class class from @edge to @edge.src.etype
// CHECK-DAG: mpdfg.map @edge.src.etype.src projection from @edge.src.etype to @node {part = 0 : i64}
// CHECK-DAG: mpdfg.map @edge.src.etype.etype projection from @edge.src.etype to @kind {part = 1 : i64}
// REMARK: [Passed] hoist | {{.*}}Function=of_senders {{.*}}"product is made once for each element of @edge.src.etype"
// CHECK-LABEL: func @of_senders
// CHECK: %[[X:.*]] = mpdfg.broadcast %arg0 along @edge.src.etype.src
// CHECK: %[[W:.*]] = mpdfg.broadcast %arg1 along @edge.src.etype.etype
// CHECK: %[[P:.*]] = mpdfg.contract %[[X]] [0], %[[W]] [0, 1] -> [1]
// CHECK: mpdfg.broadcast %[[P]] along @edge.src.etype.class
// CHECK: mpdfg.unary tanh
func.func @of_senders(%x: !x, %w: !w) -> tensor<?x16xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.broadcast %x along @src : !x -> !e
  %1 = mpdfg.broadcast %w along @etype : !w -> !we
  %2 = mpdfg.contract %0 [0], %1 [0, 1] -> [1] : !e, !we -> !y
  %3 = mpdfg.unary tanh %2 : !y -> !y
  %4 = mpdfg.reduce sum %3 along @dst : !y -> tensor<?x16xf32, #mpdfg.on<@node>>
  return %4 : tensor<?x16xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @kind static {extent = 3 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @etype root from @edge to @kind
mpdfg.space @owner distinct {base = @edge, maps = [@dst, @etype]}
mpdfg.map @edge.owner class from @edge to @owner

!e = tensor<?x8xf32, #mpdfg.on<@edge>>
!w = tensor<3x8x16xf32, #mpdfg.on<@kind>>
!we = tensor<?x8x16xf32, #mpdfg.on<@edge>>
!y = tensor<?x16xf32, #mpdfg.on<@edge>>

// A sum of products: rows are summed for each pair of owner and type, on the model's own space of pairs, then multiplied,
// then summed for each owner. Scales of edges stay with them.
// CHECK-NOT: mpdfg.space @edge.dst.etype
// REMARK: [Passed] sum-first | {{.*}}Function=summed {{.*}}"rows are summed for each element of @owner, then multiplied"
// CHECK-LABEL: func @summed
// CHECK: %[[M:.*]] = mpdfg.binary mul %arg0, %arg2
// CHECK: %[[S:.*]] = mpdfg.reduce sum %[[M]] along @edge.owner
// CHECK: %[[W:.*]] = mpdfg.broadcast %arg1 along @owner.etype
// CHECK: %[[P:.*]] = mpdfg.contract %[[S]] [0], %[[W]] [0, 1] -> [1]
// CHECK: mpdfg.reduce sum %[[P]] along @owner.dst
func.func @summed(%e: !e, %w: !w, %a: tensor<?x1xf32, #mpdfg.on<@edge>>) -> tensor<?x16xf32, #mpdfg.on<@node>> {
  %1 = mpdfg.broadcast %w along @etype : !w -> !we
  %2 = mpdfg.contract %e [0], %1 [0, 1] -> [1] : !e, !we -> !y
  %3 = mpdfg.binary mul %2, %a : !y, tensor<?x1xf32, #mpdfg.on<@edge>> -> !y
  %4 = mpdfg.reduce sum %3 along @dst : !y -> tensor<?x16xf32, #mpdfg.on<@node>>
  return %4 : tensor<?x16xf32, #mpdfg.on<@node>>
}

// The mean over all edges is not a sum of means over types; rows of the edge itself have no sender to be multiplied at.
// REMARK: [Missed] sum-first | {{.*}}Function=averaged | Reason="a mean of means is not the mean"
// REMARK: [Missed] hoist | {{.*}}Function=averaged | Reason="its rows do not come along one map"
// CHECK-LABEL: func @averaged
// CHECK: mpdfg.contract {{.*}}#mpdfg.on<@edge>>
// CHECK: mpdfg.reduce mean
func.func @averaged(%e: !e, %w: !w) -> tensor<?x16xf32, #mpdfg.on<@node>> {
  %1 = mpdfg.broadcast %w along @etype : !w -> !we
  %2 = mpdfg.contract %e [0], %1 [0, 1] -> [1] : !e, !we -> !y
  %4 = mpdfg.reduce mean %2 along @dst : !y -> tensor<?x16xf32, #mpdfg.on<@node>>
  return %4 : tensor<?x16xf32, #mpdfg.on<@node>>
}
