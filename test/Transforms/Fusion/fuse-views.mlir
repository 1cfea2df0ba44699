// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s

// A view is of memory: what it views is computed by a kernel, also where a sweep reads the view row by row.

mpdfg.space @etype static {extent = 3 : i64}

// CHECK-LABEL: func @output
// CHECK: %[[A:.*]] = mpk.sweep(%arg0) access [#mpk.access<shared>] yields [#mpk.access<shared>]
// CHECK: %[[V:.*]] = mpdfg.spread %[[A]]
// CHECK-NEXT: return %[[V]]
func.func @output(%w: tensor<3x4xf32>) -> tensor<3x4xf32, #mpdfg.on<@etype>> {
  %0 = mpdfg.unary cos %w : tensor<3x4xf32> -> tensor<3x4xf32>
  %1 = mpdfg.spread %0 : tensor<3x4xf32> -> tensor<3x4xf32, #mpdfg.on<@etype>>
  return %1 : tensor<3x4xf32, #mpdfg.on<@etype>>
}
