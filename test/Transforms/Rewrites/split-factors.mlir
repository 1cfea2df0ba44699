// RUN: gnnc-opt %s --split-factors --cse | FileCheck %s
// RUN: gnnc-opt %s --split-factors --remark-format=emitRemark --remarks-filter=split-factors -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!row = tensor<?x8xf32, #mpdfg.on<@edge>>
!nodes = tensor<?x8xf32, #mpdfg.on<@node>>
!node = tensor<?xf32, #mpdfg.on<@node>>
!edge = tensor<?xf32, #mpdfg.on<@edge>>
!one = tensor<?x1xf32, #mpdfg.on<@edge>>

// The paper's normalisation: the root of a product of degrees, which are never below 0, and a quotient by it.
// REMARK: [Passed] split | {{.*}}Function=normalised
// CHECK-LABEL: func @normalised
// CHECK: %[[X:.*]] = mpdfg.broadcast %arg0 along @src
// CHECK: %[[S:.*]] = mpdfg.broadcast %{{.*}} along @src
// CHECK: %[[D:.*]] = mpdfg.broadcast %{{.*}} along @dst
// CHECK-DAG: %[[RS:.*]] = mpdfg.unary sqrt %[[S]]
// CHECK-DAG: %[[RD:.*]] = mpdfg.unary sqrt %[[D]]
// CHECK: %[[PS:.*]] = mpdfg.reshape %[[RS]]
// CHECK: %[[FIRST:.*]] = mpdfg.binary div %[[X]], %[[PS]]
// CHECK: %[[PD:.*]] = mpdfg.reshape %[[RD]]
// CHECK: %[[Y:.*]] = mpdfg.binary div %[[FIRST]], %[[PD]]
// CHECK: return %[[Y]]
func.func @normalised(%x: !nodes) -> !row {
  %degree = mpdfg.degree along @dst : !node
  %0 = mpdfg.broadcast %x along @src : !nodes -> !row
  %1 = mpdfg.broadcast %degree along @src : !node -> !edge
  %2 = mpdfg.broadcast %degree along @dst : !node -> !edge
  %3 = mpdfg.binary mul %1, %2 : !edge, !edge -> !edge
  %4 = mpdfg.unary sqrt %3 : !edge -> !edge
  %5 = mpdfg.reshape %4 : !edge -> !one
  %6 = mpdfg.binary div %0, %5 : !row, !one -> !row
  return %6 : !row
}

// Factors in the order in which the row can take the first along: x.src * q.dst * p.src.
// CHECK-LABEL: func @swapped
// CHECK-DAG: %[[P:.*]] = mpdfg.broadcast %arg1 along @src
// CHECK-DAG: %[[Q:.*]] = mpdfg.broadcast %arg2 along @dst
// CHECK-DAG: %[[X:.*]] = mpdfg.broadcast %arg0 along @src
// CHECK: %[[FIRST:.*]] = mpdfg.binary mul %[[X]], %[[P]]
// CHECK: %[[Y:.*]] = mpdfg.binary div %[[FIRST]], %[[Q]]
// CHECK: return %[[Y]]
func.func @swapped(%x: !node, %p: !node, %q: !node) -> !edge {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %p along @src : !node -> !edge
  %2 = mpdfg.broadcast %q along @dst : !node -> !edge
  %3 = mpdfg.binary div %0, %2 : !edge, !edge -> !edge
  %4 = mpdfg.binary mul %1, %3 : !edge, !edge -> !edge
  return %4 : !edge
}

// p / (x / q) is not (p / x) / q.
// CHECK-LABEL: func @divisor
// CHECK: %[[A:.*]] = mpdfg.binary div
// CHECK: %[[B:.*]] = mpdfg.binary div %{{.*}}, %[[A]]
// CHECK: return %[[B]]
func.func @divisor(%x: !node, %p: !node, %q: !node) -> !edge {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %p along @src : !node -> !edge
  %2 = mpdfg.broadcast %q along @dst : !node -> !edge
  %3 = mpdfg.binary div %0, %2 : !edge, !edge -> !edge
  %4 = mpdfg.binary div %1, %3 : !edge, !edge -> !edge
  return %4 : !edge
}

// Two negative numbers have a product with a root, and no roots.
// REMARK: [Missed] split | {{.*}}Function=maybe_negative | Reason="a factor may be below 0"
// CHECK-LABEL: func @maybe_negative
// CHECK: mpdfg.binary mul
// CHECK-NEXT: mpdfg.unary sqrt
// CHECK-NEXT: return
func.func @maybe_negative(%p: !node, %q: !node) -> !edge {
  %1 = mpdfg.broadcast %p along @src : !node -> !edge
  %2 = mpdfg.broadcast %q along @dst : !node -> !edge
  %3 = mpdfg.binary mul %1, %2 : !edge, !edge -> !edge
  %4 = mpdfg.unary sqrt %3 : !edge -> !edge
  return %4 : !edge
}

// What moves along one map moves as a whole.
// CHECK-LABEL: func @one_map
// CHECK: mpdfg.binary mul
// CHECK-NEXT: mpdfg.unary recip
// CHECK-NEXT: return
func.func @one_map(%p: !node, %q: !node) -> !edge {
  %1 = mpdfg.broadcast %p along @src : !node -> !edge
  %2 = mpdfg.broadcast %q along @src : !node -> !edge
  %3 = mpdfg.binary mul %1, %2 : !edge, !edge -> !edge
  %4 = mpdfg.unary recip %3 : !edge -> !edge
  return %4 : !edge
}

// A row that stays on the edge would be divided twice.
// CHECK-LABEL: func @row_of_the_edge
// CHECK: mpdfg.binary mul
// CHECK: mpdfg.binary div
// CHECK-NOT: mpdfg.binary
// CHECK: return
func.func @row_of_the_edge(%x: !row, %p: !node, %q: !node) -> !row {
  %1 = mpdfg.broadcast %p along @src : !node -> !edge
  %2 = mpdfg.broadcast %q along @dst : !node -> !edge
  %3 = mpdfg.binary mul %1, %2 : !edge, !edge -> !edge
  %5 = mpdfg.reshape %3 : !edge -> !one
  %6 = mpdfg.binary div %x, %5 : !row, !one -> !row
  return %6 : !row
}

// A factor that stays on the edge stays where it is, and so does the product.
// CHECK-LABEL: func @factor_of_the_edge
// CHECK: mpdfg.binary mul
// CHECK-NEXT: mpdfg.unary sqrt
// CHECK-NEXT: return
func.func @factor_of_the_edge(%p: !node, %e: !edge) -> !edge {
  %0 = mpdfg.unary square %e : !edge -> !edge
  %1 = mpdfg.degree along @dst : !node
  %2 = mpdfg.broadcast %1 along @dst : !node -> !edge
  %3 = mpdfg.binary mul %0, %2 : !edge, !edge -> !edge
  %4 = mpdfg.unary sqrt %3 : !edge -> !edge
  return %4 : !edge
}
