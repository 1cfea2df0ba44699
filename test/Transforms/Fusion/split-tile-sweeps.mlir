// RUN: gnnc-opt %s --split-tile-sweeps -split-input-file | FileCheck %s

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!edge = tensor<?x4xf32, #mpdfg.on<@edge>>

// What is made of the sum has a sweep of its own, with the operands that it needs; the sum that is a result stays one.
// CHECK-LABEL: func @tail
// CHECK: %[[S:.*]]:2 = mpk.sweep over @node along @dst(%arg0, %arg1) access [#mpk.access<gather_member @src>, #mpk.access<shared>] yields [#mpk.access<owner>, #mpk.access<owner>]
// CHECK: %[[A:.*]] = mpk.accumulate sum
// CHECK: %[[M:.*]] = mpk.accumulate max
// CHECK: mpk.yield %[[A]], %[[M]]
// CHECK: %[[R:.*]]:2 = mpk.sweep over @node({{.*}}) access {{.*}} yields [#mpk.access<owner>, #mpk.access<shared>]
// CHECK: mpdfg.binary mul
// CHECK: mpk.accumulate sum {{.*}} shared
// CHECK: return %[[S]]#0, %[[R]]#0, %[[R]]#1
func.func @tail(%x: !node, %w: tensor<4x4xf32>, %scale: !node) -> (!node, !node, tensor<4xf32>) {
  %0:3 = mpk.sweep over @node along @dst (%x, %w, %scale) access [#mpk.access<gather_member @src>, #mpk.access<shared>, #mpk.access<owner>] yields [#mpk.access<owner>, #mpk.access<owner>, #mpk.access<shared>] {
  ^bb0(%a: tensor<4xf32>, %v: tensor<4x4xf32>, %s: tensor<4xf32>):
    %h = mpdfg.unary relu %a : tensor<4xf32> -> tensor<4xf32>
    %p = mpdfg.contract %h [0], %v [0, 1] -> [1] {mpk.tile} : tensor<4xf32>, tensor<4x4xf32> -> tensor<4xf32>
    %t = mpk.accumulate sum %p : tensor<4xf32>
    %m = mpk.accumulate max %p : tensor<4xf32>
    %y = mpdfg.binary mul %m, %s : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %all = mpk.accumulate sum %y shared : tensor<4xf32>
    mpk.yield %t, %y, %all : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (!node, tensor<4x4xf32>, !node) -> (!node, !node, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : !node, !node, tensor<4xf32>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x4xf32, #mpdfg.on<@node>>

// Nothing is made of these sums, and there is no product in the second sweep.
// CHECK-LABEL: func @whole
// CHECK-COUNT-2: mpk.sweep
// CHECK-NOT: mpk.sweep
func.func @whole(%x: !node, %w: tensor<4x4xf32>) -> (!node, !node) {
  %0 = mpk.sweep over @node along @dst (%x, %w) access [#mpk.access<gather_member @src>, #mpk.access<shared>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>, %v: tensor<4x4xf32>):
    %h = mpdfg.unary relu %a : tensor<4xf32> -> tensor<4xf32>
    %p = mpdfg.contract %h [0], %v [0, 1] -> [1] {mpk.tile} : tensor<4xf32>, tensor<4x4xf32> -> tensor<4xf32>
    %t = mpk.accumulate sum %p : tensor<4xf32>
    mpk.yield %t : tensor<4xf32>
  } : (!node, tensor<4x4xf32>) -> !node
  %1 = mpk.sweep over @node along @dst (%x) access [#mpk.access<gather_member @src>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %t = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.unary relu %t : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (!node) -> !node
  return %0, %1 : !node, !node
}

// -----

mpdfg.space @edge root

!edge = tensor<?x128xf32, #mpdfg.on<@edge>>

// Two sums of outer products of 16384 numbers are more than a block holds: each makes its factors. What is summed beside
// them is summed once.
// CHECK-LABEL: func @outers
// CHECK: mpk.sweep over @edge{{.*}} yields [#mpk.access<shared>, #mpk.access<shared>]
// CHECK-COUNT-1: {mpk.tile}
// CHECK: mpk.sweep over @edge{{.*}} yields [#mpk.access<shared>]
// CHECK-COUNT-1: {mpk.tile}
// CHECK-NOT: mpk.tile
func.func @outers(%x: !edge, %g: !edge) -> (tensor<128xf32>, tensor<128x128xf32>, tensor<128x128xf32>) {
  %0:3 = mpk.sweep over @edge (%x, %g) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<shared>, #mpk.access<shared>, #mpk.access<shared>] {
  ^bb0(%a: tensor<128xf32>, %b: tensor<128xf32>):
    %h = mpdfg.unary relu %a : tensor<128xf32> -> tensor<128xf32>
    %s = mpk.accumulate sum %h shared : tensor<128xf32>
    %o = mpdfg.contract %h [0], %b [1] -> [0, 1] {mpk.tile} : tensor<128xf32>, tensor<128xf32> -> tensor<128x128xf32>
    %t = mpk.accumulate sum %o shared : tensor<128x128xf32>
    %q = mpdfg.contract %b [0], %h [1] -> [0, 1] {mpk.tile} : tensor<128xf32>, tensor<128xf32> -> tensor<128x128xf32>
    %u = mpk.accumulate sum %q shared : tensor<128x128xf32>
    mpk.yield %s, %t, %u : tensor<128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
  } : (!edge, !edge) -> (tensor<128xf32>, tensor<128x128xf32>, tensor<128x128xf32>)
  return %0#0, %0#1, %0#2 : tensor<128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
}
