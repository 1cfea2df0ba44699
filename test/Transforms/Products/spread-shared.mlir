// RUN: gnnc-opt %s --spread-shared --canonicalize | FileCheck %s

// A weight minus a step: 1433 rows of 16 numbers, computed where they are. The result is a view of them.
// CHECK: mpdfg.space @rows.1433 static {extent = 1433 : i64}
// CHECK-LABEL: func @descent
// CHECK-SAME: (%[[W:.*]]: tensor<1433x16xf32>, %[[G:.*]]: tensor<1433x16xf32>, %[[LR:.*]]: tensor<1x1xf32>)
// CHECK-DAG: %[[NUMBER:.*]] = mpdfg.reshape %[[LR]] : tensor<1x1xf32> -> tensor<1xf32>
// CHECK-DAG: %[[GROWS:.*]] = mpdfg.spread %{{.*}} : tensor<{{.*}}xf32> -> tensor<1433x16xf32, #mpdfg.on<@rows.1433>>
// CHECK: %[[STEP:.*]] = mpdfg.binary mul %[[GROWS]], %[[NUMBER]]
// CHECK: %[[NEW:.*]] = mpdfg.binary sub %{{.*}}, %[[STEP]] : tensor<1433x16xf32, #mpdfg.on<@rows.1433>>
// CHECK: %[[BACK:.*]] = mpdfg.collect %[[NEW]]
// CHECK: return %[[BACK]]
func.func @descent(%w: tensor<1433x16xf32>, %g: tensor<1433x16xf32>, %lr: tensor<1x1xf32>) -> tensor<1433x16xf32> {
  %0 = mpdfg.binary mul %g, %lr : tensor<1433x16xf32>, tensor<1x1xf32> -> tensor<1433x16xf32>
  %1 = mpdfg.binary sub %w, %0 : tensor<1433x16xf32>, tensor<1433x16xf32> -> tensor<1433x16xf32>
  return %1 : tensor<1433x16xf32>
}

// Not: small values; a value on a space; an operand with other axes; a fold; a prime number of elements.
// CHECK-LABEL: func @left
// CHECK-NOT: mpdfg.spread
mpdfg.space @node root
func.func @left(%small: tensor<32x32xf32>, %x: tensor<?x2048xf32, #mpdfg.on<@node>>, %a: tensor<64x64xf32>, %b: tensor<64x1xf32>,
                %p: tensor<1433xf32>)
    -> (tensor<32x32xf32>, tensor<?x2048xf32, #mpdfg.on<@node>>, tensor<64x64xf32>, tensor<64x1xf32>, tensor<1433xf32>) {
  %0 = mpdfg.unary exp %small : tensor<32x32xf32> -> tensor<32x32xf32>
  %1 = mpdfg.unary exp %x : tensor<?x2048xf32, #mpdfg.on<@node>> -> tensor<?x2048xf32, #mpdfg.on<@node>>
  %2 = mpdfg.binary mul %a, %b : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x64xf32>
  %3 = mpdfg.fold sum %a [1] : tensor<64x64xf32> -> tensor<64x1xf32>
  %4 = mpdfg.unary exp %p : tensor<1433xf32> -> tensor<1433xf32>
  return %0, %1, %2, %3, %4 : tensor<32x32xf32>, tensor<?x2048xf32, #mpdfg.on<@node>>, tensor<64x64xf32>, tensor<64x1xf32>, tensor<1433xf32>
}
