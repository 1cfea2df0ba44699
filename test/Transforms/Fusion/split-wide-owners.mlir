// RUN: gnnc-opt %s --split-wide-owners -split-input-file | FileCheck %s

!node4 = tensor<?x4xf32, #mpdfg.on<@node>>
!node64 = tensor<?x64xf32, #mpdfg.on<@node>>
!node68 = tensor<?x68xf32, #mpdfg.on<@node>>
!edge4 = tensor<?x4xf32, #mpdfg.on<@edge>>

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// Members have 4 numbers, the owner 64: what joins them is a sweep without members. The other result stays.
// CHECK-LABEL: func.func @apart
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32, {{.*}}>, %[[E:.*]]: tensor<?x4xf32, {{.*}}>)
// CHECK: %[[S:.*]]:2 = mpk.sweep over @node along @dst(%[[E]])
// CHECK-NOT: concat
// CHECK: mpk.yield
// CHECK: %[[Y:.*]] = mpk.sweep over @node(%[[S]]#1, %[[X]])
// CHECK-NOT: accumulate
// CHECK: concat
// CHECK: return %[[Y]], %[[S]]#0
func.func @apart(%x: !node64, %e: !edge4) -> (!node68, !node4) {
  %0:2 = mpk.sweep over @node along @dst (%x, %e) access [#mpk.access<owner>, #mpk.access<member>]
      yields [#mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%a: tensor<64xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %b : tensor<4xf32>
    %y = mpdfg.concat %a, %s axis 0 : (tensor<64xf32>, tensor<4xf32>) -> tensor<68xf32>
    %r = mpdfg.unary relu %s : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y, %r : tensor<68xf32>, tensor<4xf32>
  } : (!node64, !edge4) -> (!node68, !node4)
  return %0#0, %0#1 : !node68, !node4
}

// -----

!node16 = tensor<?x16xf32, #mpdfg.on<@node>>
!node64 = tensor<?x64xf32, #mpdfg.on<@node>>
!node80 = tensor<?x80xf32, #mpdfg.on<@node>>
!node20 = tensor<?x20xf32, #mpdfg.on<@node>>
!node76 = tensor<?x76xf32, #mpdfg.on<@node>>
!edge12 = tensor<?x12xf32, #mpdfg.on<@edge>>
!edge20 = tensor<?x20xf32, #mpdfg.on<@edge>>
!edge4 = tensor<?x4xf32, #mpdfg.on<@edge>>
!node84 = tensor<?x84xf32, #mpdfg.on<@node>>

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// Rows of 20 numbers take eight lanes, which the owner's axis shares.
// CHECK-LABEL: func.func @wide_members
// CHECK: mpk.sweep
// CHECK-NOT: mpk.sweep
func.func @wide_members(%x: !node64, %e: !edge20) -> !node84 {
  %0 = mpk.sweep over @node along @dst (%x, %e) access [#mpk.access<owner>, #mpk.access<member>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<64xf32>, %b: tensor<20xf32>):
    %s = mpk.accumulate sum %b : tensor<20xf32>
    %y = mpdfg.concat %a, %s axis 0 : (tensor<64xf32>, tensor<20xf32>) -> tensor<84xf32>
    mpk.yield %y : tensor<84xf32>
  } : (!node64, !edge20) -> !node84
  return %0 : !node84
}

// Rows of 12 numbers gain less than another sweep costs.
// CHECK-LABEL: func.func @longer_members
// CHECK: mpk.sweep
// CHECK-NOT: mpk.sweep
func.func @longer_members(%x: !node64, %e: !edge12) -> !node76 {
  %0 = mpk.sweep over @node along @dst (%x, %e) access [#mpk.access<owner>, #mpk.access<member>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<64xf32>, %b: tensor<12xf32>):
    %s = mpk.accumulate sum %b : tensor<12xf32>
    %y = mpdfg.concat %a, %s axis 0 : (tensor<64xf32>, tensor<12xf32>) -> tensor<76xf32>
    mpk.yield %y : tensor<76xf32>
  } : (!node64, !edge12) -> !node76
  return %0 : !node76
}

// A short axis is held by each lane.
// CHECK-LABEL: func.func @short
// CHECK: mpk.sweep
// CHECK-NOT: mpk.sweep
func.func @short(%x: !node16, %e: !edge4) -> !node20 {
  %0 = mpk.sweep over @node along @dst (%x, %e) access [#mpk.access<owner>, #mpk.access<member>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<16xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %b : tensor<4xf32>
    %y = mpdfg.concat %a, %s axis 0 : (tensor<16xf32>, tensor<4xf32>) -> tensor<20xf32>
    mpk.yield %y : tensor<20xf32>
  } : (!node16, !edge4) -> !node20
  return %0 : !node20
}

// -----

!node4 = tensor<?x4xf32, #mpdfg.on<@node>>
!node64 = tensor<?x64xf32, #mpdfg.on<@node>>
!node68 = tensor<?x68xf32, #mpdfg.on<@node>>
!node64x4 = tensor<?x64x4xf32, #mpdfg.on<@node>>

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node

// Nothing is walked over.
// CHECK-LABEL: func.func @no_members
// CHECK: mpk.sweep
// CHECK-NOT: mpk.sweep
func.func @no_members(%x: !node64, %e: !node4) -> !node68 {
  %0 = mpk.sweep over @node (%x, %e) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<64xf32>, %b: tensor<4xf32>):
    %y = mpdfg.concat %a, %b axis 0 : (tensor<64xf32>, tensor<4xf32>) -> tensor<68xf32>
    mpk.yield %y : tensor<68xf32>
  } : (!node64, !node4) -> !node68
  return %0 : !node68
}

// A sum that has the long axis itself needs all lanes in its walk.
// CHECK-LABEL: func.func @long_members
// CHECK: mpk.sweep
// CHECK-NOT: mpk.sweep
func.func @long_members(%x: !node64, %e: !node4) -> !node64 {
  %0 = mpk.sweep over @node along @dst (%x, %e) access [#mpk.access<gather_member @src>, #mpk.access<owner>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<64xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<64xf32>
    %y = mpdfg.unary relu %s : tensor<64xf32> -> tensor<64xf32>
    mpk.yield %y : tensor<64xf32>
  } : (!node64, !node4) -> !node64
  return %0 : !node64
}

// An outer product with the owner's row is apart too.
// CHECK-LABEL: func.func @outer
// CHECK: mpk.sweep over @node along @dst
// CHECK: mpk.sweep over @node(
func.func @outer(%x: !node64, %e: !node4) -> !node64x4 {
  %0 = mpk.sweep over @node along @dst (%x, %e) access [#mpk.access<owner>, #mpk.access<gather_member @src>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<64xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %b : tensor<4xf32>
    %y = mpdfg.contract %a [0], %s [1] -> [0, 1] : tensor<64xf32>, tensor<4xf32> -> tensor<64x4xf32>
    mpk.yield %y : tensor<64x4xf32>
  } : (!node64, !node4) -> !node64x4
  return %0 : !node64x4
}
