// RUN: gnnc-opt %s --recognize-patterns --canonicalize | FileCheck %s
// RUN: gnnc-opt %s --recognize-patterns --remark-format=emitRemark --remarks-filter=recognize-patterns -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @mate root from @edge to @node {partial}

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>

// REMARK: [Passed] recognize | {{.*}}Function=softmax {{.*}}"this is a softmax"
// CHECK-LABEL: func @softmax
// CHECK-NEXT: %[[Y:.*]] = mpdfg.norm %arg0 along @dst
// CHECK-NEXT: return %[[Y]]
func.func @softmax(%x: !edge) -> !edge {
  %m = mpdfg.reduce max %x along @dst : !edge -> !node
  %mb = mpdfg.broadcast %m along @dst : !node -> !edge
  %d = mpdfg.binary sub %x, %mb : !edge, !edge -> !edge
  %e = mpdfg.unary exp %d : !edge -> !edge
  %s = mpdfg.reduce sum %e along @dst : !edge -> !node
  %eps = mpdfg.constant 1.0e-16 : tensor<1xf32>
  %se = mpdfg.binary add %s, %eps : !node, tensor<1xf32> -> !node
  %sb = mpdfg.broadcast %se along @dst : !node -> !edge
  %y = mpdfg.binary div %e, %sb : !edge, !edge -> !edge
  return %y : !edge
}

// Without a maximum the largest term is not 1, so an epsilon counts; and the sum must be over the softmax's own members.
// CHECK-LABEL: func @no_softmax
// CHECK-NOT: mpdfg.norm
// CHECK: return
func.func @no_softmax(%x: !edge) -> (!edge, !edge) {
  %e = mpdfg.unary exp %x : !edge -> !edge
  %s = mpdfg.reduce sum %e along @dst : !edge -> !node
  %eps = mpdfg.constant 1.0e-16 : tensor<1xf32>
  %se = mpdfg.binary add %s, %eps : !node, tensor<1xf32> -> !node
  %sb = mpdfg.broadcast %se along @dst : !node -> !edge
  %y = mpdfg.binary div %e, %sb : !edge, !edge -> !edge
  %t = mpdfg.broadcast %s along @src : !node -> !edge
  %z = mpdfg.binary div %e, %t : !edge, !edge -> !edge
  return %y, %z : !edge, !edge
}

// REMARK: [Missed] recognize | {{.*}}Function=partial | Reason="members without an owner would get 0"
// CHECK-LABEL: func @partial
// CHECK-NOT: mpdfg.norm
// CHECK: return
func.func @partial(%x: !edge) -> !edge {
  %e = mpdfg.unary exp %x : !edge -> !edge
  %s = mpdfg.reduce sum %e along @mate : !edge -> !node
  %sb = mpdfg.broadcast %s along @mate : !node -> !edge
  %y = mpdfg.binary div %e, %sb : !edge, !edge -> !edge
  return %y : !edge
}

// CHECK-LABEL: func @mean
// CHECK-NEXT: %[[Y:.*]] = mpdfg.reduce mean %arg0 along @dst
// CHECK-NEXT: return %[[Y]]
func.func @mean(%x: !edge) -> !node {
  %d = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
  %one = mpdfg.constant 1.0 : tensor<f32>
  %m = mpdfg.binary maximum %d, %one : tensor<?xf32, #mpdfg.on<@node>>, tensor<f32> -> tensor<?xf32, #mpdfg.on<@node>>
  %r = mpdfg.reshape %m : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %s = mpdfg.reduce sum %x along @dst : !edge -> !node
  %y = mpdfg.binary div %s, %r : !node, tensor<?x1xf32, #mpdfg.on<@node>> -> !node
  return %y : !node
}

// 0/0 where there are no members, and the number of members along another map.
// CHECK-LABEL: func @no_mean
// CHECK-NOT: mpdfg.reduce mean
// CHECK: return
func.func @no_mean(%x: !edge) -> (!node, !node) {
  %d = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
  %r = mpdfg.reshape %d : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %s = mpdfg.reduce sum %x along @dst : !edge -> !node
  %y = mpdfg.binary div %s, %r : !node, tensor<?x1xf32, #mpdfg.on<@node>> -> !node
  %o = mpdfg.degree along @src : tensor<?xf32, #mpdfg.on<@node>>
  %one = mpdfg.constant 1.0 : tensor<f32>
  %m = mpdfg.binary maximum %o, %one : tensor<?xf32, #mpdfg.on<@node>>, tensor<f32> -> tensor<?xf32, #mpdfg.on<@node>>
  %q = mpdfg.reshape %m : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  %z = mpdfg.binary div %s, %q : !node, tensor<?x1xf32, #mpdfg.on<@node>> -> !node
  return %y, %z : !node, !node
}

// CHECK-LABEL: func @ones
// CHECK: %[[D:.*]] = mpdfg.degree along @dst
// CHECK-NOT: mpdfg.reduce
// CHECK: return
func.func @ones() -> tensor<?x1xf32, #mpdfg.on<@node>> {
  %one = mpdfg.constant 1.0 : tensor<1xf32>
  %0 = mpdfg.broadcast %one along @all : tensor<1xf32> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.reduce sum %0 along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x1xf32, #mpdfg.on<@node>>
}

// 0 where there are no members, and the product of 0 and an infinite number is none.
// CHECK-LABEL: func @infinities
// CHECK-NOT: mpdfg.degree
// CHECK: mpdfg.reduce sum
// CHECK: return
func.func @infinities() -> tensor<?x1xf32, #mpdfg.on<@node>> {
  %inf = mpdfg.constant 0x7FF0000000000000 : tensor<1xf32>
  %0 = mpdfg.broadcast %inf along @all : tensor<1xf32> -> tensor<?x1xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.reduce sum %0 along @dst : tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x1xf32, #mpdfg.on<@node>>
}

!nodes = tensor<?x8xf64, #mpdfg.on<@node>>
!edges = tensor<?x8xf64, #mpdfg.on<@edge>>

// What float32 loses in rounding, double precision need not.
// CHECK-LABEL: func @visible
// CHECK-NOT: mpdfg.norm
// CHECK: return
func.func @visible(%x: !edges) -> !edges {
  %m = mpdfg.reduce max %x along @dst : !edges -> !nodes
  %mb = mpdfg.broadcast %m along @dst : !nodes -> !edges
  %d = mpdfg.binary sub %x, %mb : !edges, !edges -> !edges
  %e = mpdfg.unary exp %d : !edges -> !edges
  %s = mpdfg.reduce sum %e along @dst : !edges -> !nodes
  %eps = mpdfg.constant 1.0e-15 : tensor<1xf64>
  %se = mpdfg.binary add %s, %eps : !nodes, tensor<1xf64> -> !nodes
  %sb = mpdfg.broadcast %se along @dst : !nodes -> !edges
  %y = mpdfg.binary div %e, %sb : !edges, !edges -> !edges
  return %y : !edges
}

// CHECK-LABEL: func @invisible
// CHECK: mpdfg.norm
func.func @invisible(%x: !edges) -> !edges {
  %m = mpdfg.reduce max %x along @dst : !edges -> !nodes
  %mb = mpdfg.broadcast %m along @dst : !nodes -> !edges
  %d = mpdfg.binary sub %x, %mb : !edges, !edges -> !edges
  %e = mpdfg.unary exp %d : !edges -> !edges
  %s = mpdfg.reduce sum %e along @dst : !edges -> !nodes
  %eps = mpdfg.constant 1.0e-16 : tensor<1xf64>
  %se = mpdfg.binary add %s, %eps : !nodes, tensor<1xf64> -> !nodes
  %sb = mpdfg.broadcast %se along @dst : !nodes -> !edges
  %y = mpdfg.binary div %e, %sb : !edges, !edges -> !edges
  return %y : !edges
}

// Columns and rows of many numbers are multiplied as matrices are.
// CHECK-LABEL: func @outer
// CHECK: mpdfg.contract %arg0 [0, 1], %arg1 [0, 2] -> [0, 1, 2]
// CHECK-NOT: mpdfg.binary mul
func.func @outer(%x: tensor<?x2x32xf32, #mpdfg.on<@node>>, %y: tensor<?x2x40xf32, #mpdfg.on<@node>>)
    -> tensor<?x2x32x40xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.reshape %x : tensor<?x2x32xf32, #mpdfg.on<@node>> -> tensor<?x2x32x1xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reshape %y : tensor<?x2x40xf32, #mpdfg.on<@node>> -> tensor<?x2x1x40xf32, #mpdfg.on<@node>>
  %2 = mpdfg.binary mul %0, %1 : tensor<?x2x32x1xf32, #mpdfg.on<@node>>, tensor<?x2x1x40xf32, #mpdfg.on<@node>>
     -> tensor<?x2x32x40xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x2x32x40xf32, #mpdfg.on<@node>>
}

// Those of few are not.
// CHECK-LABEL: func @short_outer
// CHECK: mpdfg.binary mul
func.func @short_outer(%x: tensor<?x3xf32, #mpdfg.on<@node>>, %y: tensor<?x40xf32, #mpdfg.on<@node>>)
    -> tensor<?x3x40xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.reshape %x : tensor<?x3xf32, #mpdfg.on<@node>> -> tensor<?x3x1xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reshape %y : tensor<?x40xf32, #mpdfg.on<@node>> -> tensor<?x1x40xf32, #mpdfg.on<@node>>
  %2 = mpdfg.binary mul %0, %1 : tensor<?x3x1xf32, #mpdfg.on<@node>>, tensor<?x1x40xf32, #mpdfg.on<@node>>
     -> tensor<?x3x40xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x3x40xf32, #mpdfg.on<@node>>
}

// CHECK-LABEL: func @joined
// CHECK: mpdfg.concat %arg0, %arg1 axis 0
// CHECK-NOT: mpdfg.transpose
func.func @joined(%x: tensor<30x4xf32>, %y: tensor<50x4xf32>) -> tensor<80x4xf32> {
  %0 = mpdfg.transpose %x [1, 0] : tensor<30x4xf32> -> tensor<4x30xf32>
  %1 = mpdfg.transpose %y [1, 0] : tensor<50x4xf32> -> tensor<4x50xf32>
  %2 = mpdfg.concat %0, %1 axis 1 : (tensor<4x30xf32>, tensor<4x50xf32>) -> tensor<4x80xf32>
  %3 = mpdfg.transpose %2 [1, 0] : tensor<4x80xf32> -> tensor<80x4xf32>
  return %3 : tensor<80x4xf32>
}

// One of the parts lies as it is joined.
// CHECK-LABEL: func @not_joined
// CHECK: mpdfg.concat %{{.*}}, %arg1 axis 1
// CHECK: mpdfg.transpose
func.func @not_joined(%x: tensor<30x4xf32>, %y: tensor<4x50xf32>) -> tensor<80x4xf32> {
  %0 = mpdfg.transpose %x [1, 0] : tensor<30x4xf32> -> tensor<4x30xf32>
  %1 = mpdfg.concat %0, %y axis 1 : (tensor<4x30xf32>, tensor<4x50xf32>) -> tensor<4x80xf32>
  %2 = mpdfg.transpose %1 [1, 0] : tensor<4x80xf32> -> tensor<80x4xf32>
  return %2 : tensor<80x4xf32>
}
