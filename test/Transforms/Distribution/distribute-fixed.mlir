// RUN: gnnc-opt %s --distribute=fixed=x,w --split-input-file | FileCheck %s
// RUN: gnnc-opt %s --distribute=fixed=x,w --split-input-file --remark-format=emitRemark --remarks-filter=distribute -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gnnc-opt %s --distribute=fixed=x,w --differentiate=gradient --split-input-file | FileCheck %s --check-prefix=GRADIENT

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!wide = tensor<?x64xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!edges = tensor<?x64xf32, #mpdfg.on<@edge>>
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// Rows of an input that does not change are not sent. Nor is what is made of them: it is made of the rows that are there.
// The input keeps what is said of it; a parameter of such a name is none.
// REMARK: input 'x' does not change: its rows of @node of other ranks are an input
// REMARK: rows of 64 numbers of @node are made where they are read: what they are made of takes 0 bytes more, they would take 256
// CHECK-LABEL: func @forward(
// CHECK-SAME: %[[HALO:[a-z0-9]+]]: tensor<?x8xf32, #mpdfg.on<@node.halo>> {mpdfg.fill = 1.0{{[^,]*}}, mpdfg.halo_of = "x", mpdfg.name = "x.halo", mpdfg.role = #mpdfg.role<input>})
// CHECK-NOT: mpdfg.transfer
// CHECK: mpdfg.contract %[[HALO]] [0], %{{.*}} -> tensor<?x64xf32, #mpdfg.on<@node.halo>>
// CHECK-NOT: mpdfg.transfer
// CHECK: return
// No gradients are given of what has a part elsewhere.
// GRADIENT-LABEL: func @gradient(
// GRADIENT-NOT: "grad.x
// GRADIENT: mpdfg.name = "grad.w"
// GRADIENT-NOT: "grad.x
func.func @forward(%x: !node {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>, mpdfg.fill = 1.0 : f64}, %w: tensor<8x64xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>})
    -> (!wide {mpdfg.name = "y"}, !node {mpdfg.name = "z"}) {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !node, tensor<8x64xf32> -> !wide
  %1 = mpdfg.broadcast %0 along @src : !wide -> !edges
  %2 = mpdfg.reduce sum %1 along @dst : !edges -> !wide
  %3 = mpdfg.broadcast %x along @src : !node -> !edge
  %4 = mpdfg.reduce sum %3 along @dst : !edge -> !node
  return %2, %4 : !wide, !node
}

// -----

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// What there is a gradient by is exchanged, although the input itself is there: others' rows go back to it.
// CHECK-LABEL: func @by_input
// CHECK: %[[V:[a-z0-9]+]] = mpdfg.variable
// CHECK: %[[SENT:[a-z0-9]+]] = mpdfg.broadcast %[[V]] along @node.sent
// CHECK: mpdfg.transfer %[[SENT]]
// CHECK: return
func.func @by_input(%x: !node {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>}) -> (!node, !node) {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.reduce sum %0 along @dst : !edge -> !node
  %2 = mpdfg.variable 0 %x : !node
  %3 = mpdfg.broadcast %2 along @src : !node -> !edge
  %4 = mpdfg.binary mul %3, %3 : !edge, !edge -> !edge
  %5 = mpdfg.reduce sum %4 along @dst : !edge -> !node
  %6 = mpdfg.reduce sum %5 along @all : !node -> tensor<8xf32>
  %f = mpdfg.fold sum %6 [0] : tensor<8xf32> -> tensor<1xf32>
  %7 = mpdfg.reshape %f : tensor<1xf32> -> tensor<f32>
  %8 = mpdfg.gradient %7 by %2 : tensor<f32>, !node
  return %1, %8 : !node, !node
}
