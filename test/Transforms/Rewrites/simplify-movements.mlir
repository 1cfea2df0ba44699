// RUN: gnnc-opt %s --simplify-movements | FileCheck %s --implicit-check-not=logsumexp

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// A softmax over a whole space is made of reductions that blocks can share.
// CHECK-LABEL: func @softmax_over_all
// CHECK: %[[LARGEST:.*]] = mpdfg.reduce max %arg0 along @all : {{.*}} -> tensor<4xf32>
// CHECK: %[[DETACHED:.*]] = mpdfg.detach %[[LARGEST]]
// CHECK: %[[FINITE:.*]] = mpdfg.unary finite %[[DETACHED]]
// CHECK: %[[MAX:.*]] = mpdfg.binary maximum %[[DETACHED]], %[[FINITE]]
// CHECK: %[[SHIFTED:.*]] = mpdfg.binary sub %arg0, %[[MAX]]
// CHECK: %[[EXP:.*]] = mpdfg.unary exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = mpdfg.reduce sum %[[EXP]] along @all : {{.*}} -> tensor<4xf32>
// CHECK: %[[SAFE:.*]] = mpdfg.select %[[SUM]], %[[SUM]], %{{.*}}
// CHECK: %[[Y:.*]] = mpdfg.binary div %[[EXP]], %[[SAFE]]
// CHECK: return %[[Y]]
func.func @softmax_over_all(%x: tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.norm %x along @all : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// CHECK-LABEL: func @logsumexp_over_all
// CHECK: mpdfg.reduce max %arg0 along @all
// CHECK: %[[MAX:.*]] = mpdfg.unary finite
// CHECK: %[[SUM:.*]] = mpdfg.reduce sum
// CHECK: %[[SAFE:.*]] = mpdfg.select %[[SUM]], %[[SUM]], %{{.*}}
// CHECK: %[[LOG:.*]] = mpdfg.unary log %[[SAFE]]
// CHECK: %[[Y:.*]] = mpdfg.binary add %[[MAX]], %[[LOG]]
// CHECK: return %[[Y]]
func.func @logsumexp_over_all(%x: tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<4xf32> {
  %0 = mpdfg.reduce logsumexp %x along @all : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Along a map it has a kernel form, and is kept whole to be computed online.
// CHECK-LABEL: func @softmax_along_map
// CHECK-NEXT: %[[Y:.*]] = mpdfg.norm %arg0 along @dst
// CHECK-NEXT: return %[[Y]]
func.func @softmax_along_map(%x: tensor<?x4xf32, #mpdfg.on<@edge>>) -> tensor<?x4xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.norm %x along @dst : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@edge>>
}

// So do the other reductions over everything.
// CHECK-LABEL: func @mean_over_all
// CHECK-NEXT: %[[Y:.*]] = mpdfg.reduce mean %arg0 along @all
// CHECK-NEXT: return %[[Y]]
func.func @mean_over_all(%x: tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<4xf32> {
  %0 = mpdfg.reduce mean %x along @all : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
