// RUN: gnnc-opt %s --simplify-movements | FileCheck %s

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @owner root from @edge to @node {partial}

// Members without an owner get 0: exp(x - inf).
// CHECK-LABEL: func @softmax_along_partial_map
// CHECK: %[[LSE:.*]] = mpdfg.reduce logsumexp %arg0 along @owner
// CHECK: %[[BACK:.*]] = mpdfg.broadcast %[[LSE]] along @owner {fill = 0x7FF0000000000000 : f64}
// CHECK: %[[SHIFTED:.*]] = mpdfg.binary sub %arg0, %[[BACK]]
// CHECK: %[[Y:.*]] = mpdfg.unary exp %[[SHIFTED]]
// CHECK: return %[[Y]]
func.func @softmax_along_partial_map(%x: tensor<?x4xf32, #mpdfg.on<@edge>>) -> tensor<?x4xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.norm %x along @owner : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@edge>>
}
