// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s

mpdfg.space @node root

!wide = tensor<?x64x66xf32, #mpdfg.on<@node>>
!narrow = tensor<?x4x66xf32, #mpdfg.on<@node>>

// A product has the wide rows in memory: their sum is made of them there, not where they are made.
// CHECK-LABEL: func @stored
// CHECK: %[[ROWS:.*]] = mpk.sweep over @node(%arg0, %arg1)
// CHECK-NOT: mpk.accumulate
// CHECK: mpk.product over @node(%[[ROWS]]
// CHECK: mpk.sweep over @node(%[[ROWS]])
// CHECK: mpk.accumulate sum
func.func @stored(%x: !wide, %y: !wide, %w: tensor<66x8xf32>) -> (tensor<?x64x8xf32, #mpdfg.on<@node>>, tensor<1x66xf32>) {
  %0 = mpdfg.binary mul %x, %y : !wide, !wide -> !wide
  %1 = mpk.product over @node(%0, %w) batch 1 rows 64 k 66 n 8 : (!wide, tensor<66x8xf32>) -> tensor<?x64x8xf32, #mpdfg.on<@node>>
  %2 = mpdfg.fold sum %0 [0] : !wide -> tensor<?x1x66xf32, #mpdfg.on<@node>>
  %3 = mpdfg.reduce sum %2 along @all : tensor<?x1x66xf32, #mpdfg.on<@node>> -> tensor<1x66xf32>
  return %1, %3 : tensor<?x64x8xf32, #mpdfg.on<@node>>, tensor<1x66xf32>
}

// Nothing else has these in memory.
// CHECK-LABEL: func @unstored
// CHECK-COUNT-1: mpk.sweep
// CHECK-NOT: mpk.sweep
func.func @unstored(%x: !wide, %y: !wide) -> tensor<1x66xf32> {
  %0 = mpdfg.binary mul %x, %y : !wide, !wide -> !wide
  %2 = mpdfg.fold sum %0 [0] : !wide -> tensor<?x1x66xf32, #mpdfg.on<@node>>
  %3 = mpdfg.reduce sum %2 along @all : tensor<?x1x66xf32, #mpdfg.on<@node>> -> tensor<1x66xf32>
  return %3 : tensor<1x66xf32>
}

// Registers hold these.
// CHECK-LABEL: func @narrow
// CHECK: mpk.sweep over @node(%arg0, %arg1)
// CHECK: mpk.accumulate sum
// CHECK: mpk.product
func.func @narrow(%x: !narrow, %y: !narrow, %w: tensor<66x8xf32>) -> (tensor<?x4x8xf32, #mpdfg.on<@node>>, tensor<1x66xf32>) {
  %0 = mpdfg.binary mul %x, %y : !narrow, !narrow -> !narrow
  %1 = mpk.product over @node(%0, %w) batch 1 rows 4 k 66 n 8 : (!narrow, tensor<66x8xf32>) -> tensor<?x4x8xf32, #mpdfg.on<@node>>
  %2 = mpdfg.fold sum %0 [0] : !narrow -> tensor<?x1x66xf32, #mpdfg.on<@node>>
  %3 = mpdfg.reduce sum %2 along @all : tensor<?x1x66xf32, #mpdfg.on<@node>> -> tensor<1x66xf32>
  return %1, %3 : tensor<?x4x8xf32, #mpdfg.on<@node>>, tensor<1x66xf32>
}
