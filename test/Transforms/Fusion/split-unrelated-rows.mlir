// RUN: gnnc-opt %s --split-unrelated-rows -split-input-file | FileCheck %s

!node1 = tensor<?xf32, #mpdfg.on<@node>>
!node600 = tensor<?x600xf32, #mpdfg.on<@node>>
!node700 = tensor<?x700xf32, #mpdfg.on<@node>>

// Two long rows of axes that nothing brings together; the short result goes with the first.
mpdfg.space @node root

// CHECK-LABEL: func.func @apart
// CHECK-SAME: (%[[S:.*]]: tensor<?xf32, {{.*}}>, %[[A:.*]]: tensor<600xf32>, %[[B:.*]]: tensor<700xf32>)
// CHECK: %[[Y:.*]]:2 = mpk.sweep over @node(
// CHECK-NOT: 700
// CHECK: -> (tensor<?x600xf32, {{.*}}>, tensor<?xf32, {{.*}}>)
// CHECK: %[[Z:.*]] = mpk.sweep over @node(
// CHECK-NOT: 600
// CHECK: -> tensor<?x700xf32, {{.*}}>
// CHECK: return %[[Y]]#0, %[[Z]], %[[Y]]#1
func.func @apart(%s: !node1, %a: tensor<600xf32>, %b: tensor<700xf32>) -> (!node600, !node700, !node1) {
  %0:3 = mpk.sweep over @node(%s, %a, %b)
      access [#mpk.access<owner>, #mpk.access<shared>, #mpk.access<shared>]
      yields [#mpk.access<owner>, #mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%x: tensor<f32>, %p: tensor<600xf32>, %q: tensor<700xf32>):
    %t = mpdfg.unary tanh %x : tensor<f32> -> tensor<f32>
    %y = mpdfg.contract %t [], %p [0] -> [0] : tensor<f32>, tensor<600xf32> -> tensor<600xf32>
    %z = mpdfg.contract %t [], %q [0] -> [0] : tensor<f32>, tensor<700xf32> -> tensor<700xf32>
    mpk.yield %y, %z, %t : tensor<600xf32>, tensor<700xf32>, tensor<f32>
  } : (!node1, tensor<600xf32>, tensor<700xf32>) -> (!node600, !node700, !node1)
  return %0#0, %0#1, %0#2 : !node600, !node700, !node1
}

// -----

!node1 = tensor<?xf32, #mpdfg.on<@node>>
!edge600 = tensor<?x600xf32, #mpdfg.on<@edge>>
!node600 = tensor<?x600xf32, #mpdfg.on<@node>>
!node600x700 = tensor<?x600x700xf32, #mpdfg.on<@node>>

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// An axis that both have keeps them together, and so does one that is not long.
// CHECK-LABEL: func.func @together
// CHECK: %[[Y:.*]]:2 = mpk.sweep over @node
// CHECK: return %[[Y]]#0, %[[Y]]#1
func.func @together(%s: !node600, %b: tensor<700xf32>) -> (!node600, !node600x700) {
  %0:2 = mpk.sweep over @node(%s, %b)
      access [#mpk.access<owner>, #mpk.access<shared>] yields [#mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%x: tensor<600xf32>, %q: tensor<700xf32>):
    %y = mpdfg.unary tanh %x : tensor<600xf32> -> tensor<600xf32>
    %z = mpdfg.contract %y [0], %q [1] -> [0, 1] : tensor<600xf32>, tensor<700xf32> -> tensor<600x700xf32>
    mpk.yield %y, %z : tensor<600xf32>, tensor<600x700xf32>
  } : (!node600, tensor<700xf32>) -> (!node600, !node600x700)
  return %0#0, %0#1 : !node600, !node600x700
}

// -----

!node300 = tensor<?x300xf32, #mpdfg.on<@node>>
!node700 = tensor<?x700xf32, #mpdfg.on<@node>>

mpdfg.space @node root

// CHECK-LABEL: func.func @short
// CHECK: %[[Y:.*]]:2 = mpk.sweep over @node
// CHECK: return %[[Y]]#0, %[[Y]]#1
func.func @short(%s: !node300, %t: !node700) -> (!node300, !node700) {
  %0:2 = mpk.sweep over @node(%s, %t)
      access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%x: tensor<300xf32>, %q: tensor<700xf32>):
    %y = mpdfg.unary tanh %x : tensor<300xf32> -> tensor<300xf32>
    %z = mpdfg.unary tanh %q : tensor<700xf32> -> tensor<700xf32>
    mpk.yield %y, %z : tensor<300xf32>, tensor<700xf32>
  } : (!node300, !node700) -> (!node300, !node700)
  return %0#0, %0#1 : !node300, !node700
}

// -----

!node1 = tensor<?xf32, #mpdfg.on<@node>>
!edge600 = tensor<?x600xf32, #mpdfg.on<@edge>>
!node600 = tensor<?x600xf32, #mpdfg.on<@node>>

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// What is accumulated from members and what is summed over everything; a row that is summed up relates nothing.
// CHECK-LABEL: func.func @sums
// CHECK: %[[Y:.*]] = mpk.sweep over @node along @dst
// CHECK: mpk.accumulate sum
// CHECK-NOT: shared :
// CHECK: -> tensor<?x600xf32, {{.*}}>
// CHECK: %[[Z:.*]] = mpk.sweep over @node along @dst
// CHECK: mpk.accumulate sum
// CHECK: mpk.accumulate sum {{.*}} shared
// CHECK: -> tensor<700xf32>
// CHECK: return %[[Y]], %[[Z]]
func.func @sums(%e: !edge600, %b: tensor<700xf32>) -> (!node600, tensor<700xf32>) {
  %0:2 = mpk.sweep over @node along @dst(%e, %e, %b)
      access [#mpk.access<member>, #mpk.access<member>, #mpk.access<shared>]
      yields [#mpk.access<owner>, #mpk.access<shared>] {
  ^bb0(%x: tensor<600xf32>, %v: tensor<600xf32>, %q: tensor<700xf32>):
    %s = mpk.accumulate sum %x : tensor<600xf32>
    %d = mpdfg.contract %v [0], %v [0] -> [] : tensor<600xf32>, tensor<600xf32> -> tensor<f32>
    %a = mpk.accumulate sum %d : tensor<f32>
    %z = mpdfg.contract %a [], %q [0] -> [0] : tensor<f32>, tensor<700xf32> -> tensor<700xf32>
    %t = mpk.accumulate sum %z shared : tensor<700xf32>
    mpk.yield %s, %t : tensor<600xf32>, tensor<700xf32>
  } : (!edge600, !edge600, tensor<700xf32>) -> (!node600, tensor<700xf32>)
  return %0#0, %0#1 : !node600, tensor<700xf32>
}

// -----

!edge1 = tensor<?xf32, #mpdfg.on<@edge>>
!edge32 = tensor<?x32xf32, #mpdfg.on<@edge>>
!edge112 = tensor<?x112xf32, #mpdfg.on<@edge>>
!edge5632 = tensor<?x5632xf32, #mpdfg.on<@edge>>
!edge96 = tensor<?x96xf32, #mpdfg.on<@edge>>

mpdfg.space @edge root

// The parts of a joined result, each a sum of rows of its own part of a long row, through views; joined by a last sweep.
// CHECK-LABEL: func.func @pieces
// CHECK: %[[A:.*]] = mpk.sweep over @edge
// CHECK: -> tensor<?x64xf32, {{.*}}>
// CHECK: %[[B:.*]] = mpk.sweep over @edge
// CHECK: -> tensor<?x32xf32, {{.*}}>
// CHECK: %[[J:.*]] = mpk.sweep over @edge(%[[A]], %[[B]]) access [#mpk.access<owner>, #mpk.access<owner>]
// CHECK: mpdfg.concat
// CHECK: return %[[J]]
func.func @pieces(%w: !edge5632, %x: !edge32, %y: tensor<?x64xf32, #mpdfg.on<@edge>>) -> !edge96 {
  %0 = mpk.sweep over @edge(%w, %x, %y)
      access [#mpk.access<owner>, #mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%rows: tensor<5632xf32>, %a: tensor<32xf32>, %b: tensor<64xf32>):
    %p = mpdfg.slice %rows axis 0 from 0 : tensor<5632xf32> -> tensor<2048xf32>
    %q = mpdfg.slice %rows axis 0 from 2048 : tensor<5632xf32> -> tensor<2048xf32>
    %pm = mpdfg.reshape %p : tensor<2048xf32> -> tensor<64x32xf32>
    %qm = mpdfg.reshape %q : tensor<2048xf32> -> tensor<32x64xf32>
    %s = mpdfg.contract %pm [0, 1], %a [1] -> [0] : tensor<64x32xf32>, tensor<32xf32> -> tensor<64xf32>
    %t = mpdfg.contract %qm [0, 1], %b [1] -> [0] : tensor<32x64xf32>, tensor<64xf32> -> tensor<32xf32>
    %j = mpdfg.concat %s, %t axis 0 : (tensor<64xf32>, tensor<32xf32>) -> tensor<96xf32>
    mpk.yield %j : tensor<96xf32>
  } : (!edge5632, !edge32, tensor<?x64xf32, #mpdfg.on<@edge>>) -> !edge96
  return %0 : !edge96
}

// -----

!node1 = tensor<?xf32, #mpdfg.on<@node>>
!node30 = tensor<?x30xf32, #mpdfg.on<@node>>
!node600 = tensor<?x600xf32, #mpdfg.on<@node>>
!node700 = tensor<?x700xf32, #mpdfg.on<@node>>

// What both long rows are scaled by is most of the work: two sweeps would do it twice.
mpdfg.space @node root

// CHECK-LABEL: func.func @shares_most
// CHECK: mpk.sweep over @node(
// CHECK: -> (tensor<?x600xf32, {{.*}}>, tensor<?x700xf32, {{.*}}>)
// CHECK-NOT: mpk.sweep
func.func @shares_most(%s: !node30, %w: tensor<30x30x30xf32>, %a: tensor<600xf32>, %b: tensor<700xf32>)
    -> (!node600, !node700) {
  %0:2 = mpk.sweep over @node(%s, %w, %a, %b)
      access [#mpk.access<owner>, #mpk.access<shared>, #mpk.access<shared>, #mpk.access<shared>]
      yields [#mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%x: tensor<30xf32>, %v: tensor<30x30x30xf32>, %p: tensor<600xf32>, %q: tensor<700xf32>):
    %m = mpdfg.contract %x [0], %v [0, 1, 2] -> [1, 2] : tensor<30xf32>, tensor<30x30x30xf32> -> tensor<30x30xf32>
    %n = mpdfg.contract %x [0], %m [0, 1] -> [1] : tensor<30xf32>, tensor<30x30xf32> -> tensor<30xf32>
    %t = mpdfg.contract %x [0], %n [0] -> [] : tensor<30xf32>, tensor<30xf32> -> tensor<f32>
    %y = mpdfg.contract %t [], %p [0] -> [0] : tensor<f32>, tensor<600xf32> -> tensor<600xf32>
    %z = mpdfg.contract %t [], %q [0] -> [0] : tensor<f32>, tensor<700xf32> -> tensor<700xf32>
    mpk.yield %y, %z : tensor<600xf32>, tensor<700xf32>
  } : (!node30, tensor<30x30x30xf32>, tensor<600xf32>, tensor<700xf32>) -> (!node600, !node700)
  return %0#0, %0#1 : !node600, !node700
}

// -----

// Shared values would be computed for each number of all others.
// CHECK-LABEL: func.func @shared_apart
// CHECK: mpk.sweep(
// CHECK-NOT: 40x24
// CHECK: -> tensor<16x32xf32>
// CHECK: mpk.sweep(
// CHECK-NOT: 32x16
// CHECK: -> tensor<24x40xf32>
func.func @shared_apart(%a: tensor<32x16xf32>, %b: tensor<40x24xf32>) -> (tensor<16x32xf32>, tensor<24x40xf32>) {
  %0:2 = mpk.sweep(%a, %b) access [#mpk.access<shared>, #mpk.access<shared>]
      yields [#mpk.access<shared>, #mpk.access<shared>] {
  ^bb0(%p: tensor<32x16xf32>, %q: tensor<40x24xf32>):
    %y = mpdfg.transpose %p [1, 0] : tensor<32x16xf32> -> tensor<16x32xf32>
    %z = mpdfg.transpose %q [1, 0] : tensor<40x24xf32> -> tensor<24x40xf32>
    mpk.yield %y, %z : tensor<16x32xf32>, tensor<24x40xf32>
  } : (tensor<32x16xf32>, tensor<40x24xf32>) -> (tensor<16x32xf32>, tensor<24x40xf32>)
  return %0#0, %0#1 : tensor<16x32xf32>, tensor<24x40xf32>
}

// -----

// A few numbers are as soon computed in one sweep.
// CHECK-LABEL: func.func @few_together
// CHECK-COUNT-1: mpk.sweep(
// CHECK-NOT: mpk.sweep(
// CHECK: return
func.func @few_together(%a: tensor<8x4xf32>, %b: tensor<16xf32>) -> (tensor<4x8xf32>, tensor<16xf32>) {
  %0:2 = mpk.sweep(%a, %b) access [#mpk.access<shared>, #mpk.access<shared>]
      yields [#mpk.access<shared>, #mpk.access<shared>] {
  ^bb0(%p: tensor<8x4xf32>, %q: tensor<16xf32>):
    %y = mpdfg.transpose %p [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
    %z = mpdfg.unary tanh %q : tensor<16xf32> -> tensor<16xf32>
    mpk.yield %y, %z : tensor<4x8xf32>, tensor<16xf32>
  } : (tensor<8x4xf32>, tensor<16xf32>) -> (tensor<4x8xf32>, tensor<16xf32>)
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<16xf32>
}
