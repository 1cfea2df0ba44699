// RUN: gnnc-opt %s --split-sums --cse -split-input-file | FileCheck %s

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// Both sums need exp(x): the whole one goes by way of the owners, whose sums are one value after CSE.
// CHECK-LABEL: func @shares_computation
// CHECK: %[[E:.*]] = mpdfg.unary exp %arg0
// CHECK: %[[OWNERS:.*]] = mpdfg.reduce sum %[[E]] along @dst
// CHECK: %[[ALL:.*]] = mpdfg.reduce sum %[[OWNERS]] along @all : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<4xf32>
// CHECK: return %{{.*}}, %[[ALL]]
func.func @shares_computation(%x: tensor<?x4xf32, #mpdfg.on<@edge>>) -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>) {
  %e = mpdfg.unary exp %x : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %0 = mpdfg.reduce sum %e along @dst : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %e along @all : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<4xf32>
  return %0, %1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node {partial}

// Members without an owner would be lost.
// CHECK-LABEL: func @partial_map
// CHECK: mpdfg.reduce sum %{{.*}} along @all : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<4xf32>
func.func @partial_map(%x: tensor<?x4xf32, #mpdfg.on<@edge>>) -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>) {
  %e = mpdfg.unary exp %x : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %0 = mpdfg.reduce sum %e along @dst : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %e along @all : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<4xf32>
  return %0, %1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// Nothing in common, so nothing to gain. A mean is not a sum of means.
// CHECK-LABEL: func @nothing_shared
// CHECK: mpdfg.reduce sum %arg1 along @all : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<4xf32>
// CHECK: mpdfg.reduce mean %{{.*}} along @all : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<4xf32>
func.func @nothing_shared(%x: tensor<?x4xf32, #mpdfg.on<@edge>>, %y: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>, tensor<4xf32>) {
  %e = mpdfg.unary exp %x : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %0 = mpdfg.reduce sum %e along @dst : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %y along @all : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<4xf32>
  %2 = mpdfg.reduce mean %e along @all : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<4xf32>
  return %0, %1, %2 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>, tensor<4xf32>
}
