// RUN: gnnc-opt %s --split-sums --cse -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --split-sums -split-input-file --remark-format=emitRemark --remarks-filter=split-sums -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

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

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// A result for each member needs all that the whole sum is made of, the sums of owners only the exponential.
// REMARK: [Missed] split | {{.*}}Function=result_shares_more | Reason="that shares 32 operations for each member with it, sums along @dst 16"
// REMARK-SAME: "sum over everything is taken with a result for each member"
// CHECK-LABEL: func @result_shares_more
// CHECK: mpdfg.reduce sum %{{.*}} along @all : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<1xf32>
func.func @result_shares_more(%x: tensor<?x1xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<1xf32>) {
  %e = mpdfg.unary exp %x : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %t = mpdfg.unary tanh %e : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %0 = mpdfg.reduce sum %e along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %t along @all : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<1xf32>
  return %0, %t, %1 : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<1xf32>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// As much with either: owners' rows are at hand along their map.
// CHECK-LABEL: func @result_shares_as_much
// CHECK: mpdfg.reduce sum %{{.*}} along @all : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<1xf32>
func.func @result_shares_as_much(%x: tensor<?x1xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<1xf32>) {
  %e = mpdfg.unary exp %x : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %0 = mpdfg.reduce sum %e along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %e along @all : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<1xf32>
  return %0, %e, %1 : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<1xf32>
}
