// RUN: gnnc-opt %s --expand-softmaxes | FileCheck %s

!e1 = tensor<?x2xf32, #mpdfg.on<@edge>>
!n1 = tensor<?x2xf32, #mpdfg.on<@node>>
!row = tensor<2xf32>

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// Weights that are a result need a second walk.
// CHECK-LABEL: func @weights
// CHECK: ^bb0(%[[X:.*]]: tensor<2xf32>):
// CHECK-NEXT: %[[SHIFT:.*]] = mpk.accumulate softmax_shift %[[X]] : tensor<2xf32>
// CHECK-NEXT: %[[SCALE:.*]] = mpk.accumulate softmax_scale %[[X]] : tensor<2xf32>
// CHECK-NEXT: %[[D:.*]] = mpdfg.binary sub %[[X]], %[[SHIFT]]
// CHECK-NEXT: %[[E:.*]] = mpdfg.unary exp %[[D]]
// CHECK-NEXT: %[[P:.*]] = mpdfg.binary mul %[[E]], %[[SCALE]]
// CHECK-NEXT: mpk.yield %[[P]]
func.func @weights(%s: !e1) -> !e1 {
  %0 = mpk.sweep over @node along @dst (%s) access [#mpk.access<member>] yields [#mpk.access<member>] {
  ^bb0(%x: !row):
    %p = mpk.softmax %x : !row
    mpk.yield %p : !row
  } : (!e1) -> !e1
  return %0 : !e1
}

// One that weighs a sum of the same walk is online, and stays.
// CHECK-LABEL: func @online
// CHECK: %[[P:.*]] = mpk.softmax
// CHECK-NEXT: mpdfg.binary mul %[[P]]
// CHECK-NOT: softmax_
func.func @online(%s: !e1, %v: !e1) -> !n1 {
  %0 = mpk.sweep over @node along @dst (%s, %v) access [#mpk.access<member>, #mpk.access<member>]
      yields [#mpk.access<owner>] {
  ^bb0(%x: !row, %y: !row):
    %p = mpk.softmax %x : !row
    %w = mpdfg.binary mul %p, %y : !row, !row -> !row
    %a = mpk.accumulate sum %w : !row
    mpk.yield %a : !row
  } : (!e1, !e1) -> !n1
  return %0 : !n1
}
