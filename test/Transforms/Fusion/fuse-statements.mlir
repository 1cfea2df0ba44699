// Sweeps have no more statements than a kernel may have: an operation on a row of 16 numbers or fewer is one, a
// transcendental function sixteen.
//
// RUN: gnnc-opt %s --fuse-message-passing=statements=64 | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s --check-prefix=WHOLE
// RUN: gnnc-opt %s --fuse-message-passing=statements=64 --remark-format=emitRemark \
// RUN:   --remarks-filter=fuse-message-passing -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>

// A chain is cut where one row is kept.
// WHOLE-LABEL: func @chain
// WHOLE-COUNT-1: mpk.sweep
// WHOLE-NOT: mpk.sweep
// CHECK-LABEL: func @chain
// CHECK: %[[A:.*]] = mpk.sweep over @node(%arg0)
// CHECK-COUNT-4: mpdfg.unary tanh
// CHECK: %[[B:.*]] = mpk.sweep over @node(%[[A]])
// CHECK-COUNT-2: mpdfg.unary tanh
// CHECK-NOT: mpdfg.unary
// CHECK: return %[[B]]
// REMARK: [Passed] cut {{.*}} Function=chain
// REMARK-SAME: "what it is computed from is kept in parts: a kernel of 80 statements would be longer than 64"
func.func @chain(%x: !node) -> !node {
  %0 = mpdfg.unary tanh %x : !node -> !node
  %1 = mpdfg.unary tanh %0 : !node -> !node
  %2 = mpdfg.unary tanh %1 : !node -> !node
  %3 = mpdfg.unary tanh %2 : !node -> !node
  %4 = mpdfg.unary tanh %3 : !node -> !node
  %5 = mpdfg.unary tanh %4 : !node -> !node
  return %5 : !node
}

// What is summed over members is then kept for each of them, where that is one row, not two.
// WHOLE-LABEL: func @members
// WHOLE-COUNT-1: mpk.sweep
// WHOLE-NOT: mpk.sweep
// CHECK-LABEL: func @members
// CHECK: %[[A:.*]] = mpk.sweep over @edge(%arg0) access [#mpk.access<gather_owner @src>]
// CHECK-COUNT-2: mpdfg.unary tanh
// CHECK: mpdfg.binary add
// CHECK-NEXT: mpdfg.unary tanh
// CHECK-NEXT: mpk.yield
// CHECK: mpk.sweep over @node along @dst(%[[A]]) access [#mpk.access<member>]
// CHECK-COUNT-1: mpdfg.unary tanh
// CHECK: mpk.accumulate sum
func.func @members(%x: !node) -> !node {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.unary tanh %0 : !edge -> !edge
  %2 = mpdfg.unary tanh %1 : !edge -> !edge
  %3 = mpdfg.binary add %1, %2 : !edge, !edge -> !edge
  %4 = mpdfg.unary tanh %3 : !edge -> !edge
  %5 = mpdfg.unary tanh %4 : !edge -> !edge
  %6 = mpdfg.binary add %4, %5 : !edge, !edge -> !edge
  %7 = mpdfg.reduce sum %6 along @dst : !edge -> !node
  return %7 : !node
}

// Values that read the same stay in sweeps of their own where one would be too long; of what they share, only one part
// counts.
// WHOLE-LABEL: func @outputs
// WHOLE-COUNT-1: mpk.sweep
// WHOLE-NOT: mpk.sweep
// CHECK-LABEL: func @outputs
// CHECK-COUNT-2: mpk.sweep over @node(%arg0)
// CHECK-NOT: mpk.sweep
// REMARK: [Missed] fuse {{.*}} Function=outputs
// REMARK-SAME: that sweep would have more statements than a kernel may have
func.func @outputs(%x: !node) -> (!node, !node, !node) {
  %0 = mpdfg.unary tanh %x : !node -> !node
  %1 = mpdfg.unary exp %0 : !node -> !node
  %2 = mpdfg.unary sigmoid %0 : !node -> !node
  %3 = mpdfg.unary sqrt %x : !node -> !node
  %4 = mpdfg.unary erf %3 : !node -> !node
  %5 = mpdfg.unary exp %4 : !node -> !node
  return %1, %2, %5 : !node, !node, !node
}
