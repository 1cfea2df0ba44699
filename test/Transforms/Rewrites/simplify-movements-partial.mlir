// RUN: gnnc-opt %s --simplify-movements | FileCheck %s

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @owner root from @edge to @node {partial}

// Members without an owner get 0, as their scale is, and exp of nothing that they hold.
// CHECK-LABEL: func @softmax_along_partial_map
// CHECK: %[[SHIFTS:.*]] = mpdfg.reduce softmax_shift %arg0 along @owner
// CHECK: %[[SHIFT:.*]] = mpdfg.broadcast %[[SHIFTS]] along @owner :
// CHECK: %[[SCALES:.*]] = mpdfg.reduce softmax_scale %arg0 along @owner
// CHECK: %[[SCALE:.*]] = mpdfg.broadcast %[[SCALES]] along @owner :
// CHECK: %[[SHIFTED:.*]] = mpdfg.binary sub %arg0, %[[SHIFT]]
// CHECK: %[[ZERO:.*]] = mpdfg.constant 0.0
// CHECK: %[[SAFE:.*]] = mpdfg.select %[[SCALE]], %[[SHIFTED]], %[[ZERO]]
// CHECK: %[[EXP:.*]] = mpdfg.unary exp %[[SAFE]]
// CHECK: %[[SHARE:.*]] = mpdfg.binary mul %[[EXP]], %[[SCALE]]
// CHECK: return %[[SHARE]]
func.func @softmax_along_partial_map(%x: tensor<?x4xf32, #mpdfg.on<@edge>>) -> tensor<?x4xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.norm %x along @owner : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@edge>>
}
