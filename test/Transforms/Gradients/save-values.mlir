// What crosses from the forward half to the backward one: the uses of forward values by operations that no plain result
// needs.
//
// RUN: gnnc-opt %s --save-values='save=all' | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: gnnc-opt %s --save-values='save=none' | FileCheck %s --check-prefixes=CHECK,NONE
// RUN: gnnc-opt %s --save-values | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: gnnc-opt %s --save-values='save=all' -o /dev/null --remark-format=emitRemark --remarks-filter=save-values 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: gnnc-opt %s --save-values='save=none' -o /dev/null --remark-format=emitRemark --remarks-filter=save-values 2>&1 | FileCheck %s --check-prefix=AGAIN

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// y = sum of exp(x.src), and its gradient by x: the exponential of an edge is needed once more.
// KEPT: [Passed] keep {{.*}}value is kept for the backward half: 4 numbers for each element of @edge
// AGAIN: [Passed] repeat {{.*}}value is computed once more for the backward half: 4 numbers for each element of @edge
// CHECK-LABEL: func @gradient
func.func @gradient(%x: tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                    %g: tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.name = "grad.y", mpdfg.role = #mpdfg.role<input>, mpdfg.seed})
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  // The movement is forward too, but the backward half does not read it.
  // CHECK: %[[MOVED:.*]] = mpdfg.broadcast %arg0
  // CHECK-NOT: mpdfg.keep
  %0 = mpdfg.broadcast %x along @src : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  // ALL: %[[EXP:.*]] = mpdfg.unary exp %[[MOVED]] {mpdfg.keep}
  // AUTO: %[[EXP:.*]] = mpdfg.unary exp %[[MOVED]] :
  // NONE: %[[FIRST:.*]] = mpdfg.unary exp %[[MOVED]] :
  %1 = mpdfg.unary exp %0 : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  // The result is in the caller's memory and not computed again.
  // NONE: mpdfg.reduce sum %[[FIRST]]
  %2 = mpdfg.reduce sum %1 along @dst : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpdfg.broadcast %g along @dst : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  // Copies stand right before what reads them.
  // NONE: %[[MOVED2:.*]] = mpdfg.broadcast %arg0 {{.*}}mpdfg.again
  // NONE-NEXT: %[[EXP:.*]] = mpdfg.unary exp %[[MOVED2]] {mpdfg.again}
  // CHECK: mpdfg.binary mul %{{.*}}, %[[EXP]]
  %4 = mpdfg.binary mul %3, %1 : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>>
     -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %5 = mpdfg.reduce sum %4 along @src : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %2, %5 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// A step: what the loss does not need is the backward half. Shared values that meet every row are read as they are, and
// what a returned value is made of is not computed again.
// CHECK-LABEL: func @train_step
func.func @train_step(%x: tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                      %w: tensor<4xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>})
    -> (tensor<1xf32>, tensor<4xf32> {mpdfg.updates = #mpdfg.argument<1>}) {
  // CHECK: mpdfg.unary tanh %arg1
  // ALL-SAME: mpdfg.keep
  %0 = mpdfg.unary tanh %w : tensor<4xf32> -> tensor<4xf32>
  // CHECK: mpdfg.broadcast
  // CHECK-NOT: mpdfg.keep
  %1 = mpdfg.broadcast %0 along @all : tensor<4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpdfg.binary mul %x, %1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
     -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpdfg.reduce sum %2 along @all : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<4xf32>
  %4 = mpdfg.fold sum %3 [0] : tensor<4xf32> -> tensor<1xf32>
  // CHECK: mpdfg.reduce sum
  // NONE: mpdfg.unary tanh %arg1 {mpdfg.again}
  %5 = mpdfg.binary mul %x, %1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
     -> tensor<?x4xf32, #mpdfg.on<@node>>
  %6 = mpdfg.reduce max %5 along @all : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<4xf32>
  return %4, %6 : tensor<1xf32>, tensor<4xf32>
}

// Nothing is kept for a function without gradients.
// CHECK-LABEL: func @forward
// CHECK-NOT: mpdfg.keep
// CHECK-NOT: mpdfg.again
func.func @forward(%x: tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.unary exp %x : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.unary exp %0 : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}
