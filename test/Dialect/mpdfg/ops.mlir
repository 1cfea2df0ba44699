// RUN: gnnc-opt %s --verify-roundtrip | FileCheck %s
// RUN: gnnc-opt %s --mlir-print-op-generic | gnnc-opt | FileCheck %s

// The example of each operation's description.

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @x.entry root
mpdfg.space @x.column.space static {extent = 1433 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @mate root from @node to @node {partial}

// CHECK-LABEL: func @movements
func.func @movements(%x: tensor<?x64xf32, #mpdfg.on<@node>>, %s: tensor<?x8xf32, #mpdfg.on<@edge>>,
                     %w: tensor<1433x16xf32>, %d: tensor<?x8xf64, #mpdfg.on<@node>>) {
  // CHECK: mpdfg.broadcast %{{.*}} along @src : tensor<?x64xf32, #mpdfg.on<@node>> -> tensor<?x64xf32, #mpdfg.on<@edge>>
  %0 = mpdfg.broadcast %x along @src : tensor<?x64xf32, #mpdfg.on<@node>> -> tensor<?x64xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.broadcast %{{.*}} along @mate {fill = 1.000000e+00 : f64} : tensor<?x8xf64, #mpdfg.on<@node>>
  %1 = mpdfg.broadcast %d along @mate {fill = 1.0 : f64} : tensor<?x8xf64, #mpdfg.on<@node>> -> tensor<?x8xf64, #mpdfg.on<@node>>
  // CHECK: mpdfg.reduce sum %{{.*}} along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
  %2 = mpdfg.reduce sum %0 along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.reduce mean
  %3 = mpdfg.reduce mean %0 along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.reduce max
  %4 = mpdfg.reduce max %0 along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.reduce min
  %5 = mpdfg.reduce min %0 along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.reduce logsumexp %{{.*}} along @all : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<64xf32>
  %6 = mpdfg.reduce logsumexp %0 along @all : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<64xf32>
  // CHECK: mpdfg.norm %{{.*}} along @dst : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %7 = mpdfg.norm %s along @dst : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.norm %{{.*}} along @all
  %8 = mpdfg.norm %s along @all : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
  %9 = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.spread %{{.*}} : tensor<1433x16xf32> -> tensor<1433x16xf32, #mpdfg.on<@x.column.space>>
  %10 = mpdfg.spread %w : tensor<1433x16xf32> -> tensor<1433x16xf32, #mpdfg.on<@x.column.space>>
  // CHECK: mpdfg.collect %{{.*}} : tensor<1433x16xf32, #mpdfg.on<@x.column.space>> -> tensor<1433x16xf32>
  %11 = mpdfg.collect %10 : tensor<1433x16xf32, #mpdfg.on<@x.column.space>> -> tensor<1433x16xf32>
  // CHECK: mpdfg.broadcast %{{.*}} along @all : tensor<64xf32> -> tensor<?x64xf32, #mpdfg.on<@edge>>
  %12 = mpdfg.broadcast %6 along @all : tensor<64xf32> -> tensor<?x64xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.reduce argmax
  %13 = mpdfg.reduce argmax %0 along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.reduce argmin
  %14 = mpdfg.reduce argmin %0 along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.element : tensor<?x1xf32, #mpdfg.on<@edge>>
  %own = mpdfg.element : tensor<?x1xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.is_element %{{.*}}, %{{.*}} : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %15 = mpdfg.is_element %s, %own : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.iota : tensor<8xf32>
  %places = mpdfg.iota : tensor<8xf32>
  // CHECK: mpdfg.random %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} site 3 : tensor<?x1xf32
  %random = mpdfg.random %own, %own, %own, %own, %places site 3 : tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<8xf32> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.extent @node : tensor<f32>
  %16 = mpdfg.extent @node : tensor<f32>
  return
}

// CHECK-LABEL: func @elementwise
func.func @elementwise(%a: tensor<?x8x1xf32, #mpdfg.on<@edge>>, %b: tensor<?x8x16xf32, #mpdfg.on<@edge>>,
                       %s: tensor<1x16xf32>, %g: tensor<1xf64>) {
  // CHECK: mpdfg.constant 5.000000e-01 : tensor<1x1xf32>
  %c = mpdfg.constant 5.0e-01 : tensor<1x1xf32>
  // CHECK: mpdfg.unary leaky_relu %{{.*}} {alpha = 2.000000e-01 : f64} : tensor<?x8x1xf32, #mpdfg.on<@edge>> -> tensor<?x8x1xf32, #mpdfg.on<@edge>>
  %0 = mpdfg.unary leaky_relu %a {alpha = 2.0e-01 : f64} : tensor<?x8x1xf32, #mpdfg.on<@edge>> -> tensor<?x8x1xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.unary exp %{{.*}} : tensor<1xf64> -> tensor<1xf64>
  %1 = mpdfg.unary exp %g : tensor<1xf64> -> tensor<1xf64>
  // CHECK: mpdfg.binary mul %{{.*}}, %{{.*}} : tensor<?x8x1xf32, #mpdfg.on<@edge>>, tensor<?x8x16xf32, #mpdfg.on<@edge>> -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.binary mul %0, %b : tensor<?x8x1xf32, #mpdfg.on<@edge>>, tensor<?x8x16xf32, #mpdfg.on<@edge>> -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.binary add %{{.*}}, %{{.*}} : tensor<1x16xf32>, tensor<?x8x1xf32, #mpdfg.on<@edge>> -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
  %3 = mpdfg.binary add %s, %a : tensor<1x16xf32>, tensor<?x8x1xf32, #mpdfg.on<@edge>> -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x1xf32, #mpdfg.on<@edge>>, tensor<?x8x16xf32, #mpdfg.on<@edge>>, tensor<1x1xf32> -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
  %4 = mpdfg.select %0, %b, %c : tensor<?x8x1xf32, #mpdfg.on<@edge>>, tensor<?x8x16xf32, #mpdfg.on<@edge>>, tensor<1x1xf32> -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.variable 3 %{{.*}} : tensor<?x8x16xf32, #mpdfg.on<@edge>>
  %v = mpdfg.variable 3 %4 : tensor<?x8x16xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.gradient %{{.*}} by %{{.*}} : tensor<1xf64>, tensor<?x8x16xf32, #mpdfg.on<@edge>>
  %5 = mpdfg.gradient %g by %v : tensor<1xf64>, tensor<?x8x16xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.detach %{{.*}} : tensor<?x8x16xf32, #mpdfg.on<@edge>> -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
  %6 = mpdfg.detach %5 : tensor<?x8x16xf32, #mpdfg.on<@edge>> -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
  return
}

// CHECK-LABEL: func @features
func.func @features(%x: tensor<?x64xf32, #mpdfg.on<@node>>, %w: tensor<64x8x16xf32>,
                    %u: tensor<?x8xf32, #mpdfg.on<@edge>>, %v: tensor<?x4xf32, #mpdfg.on<@edge>>) {
  // CHECK: mpdfg.contract %{{.*}} [0], %{{.*}} [0, 1, 2] -> [1, 2] : tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x8x16xf32> -> tensor<?x8x16xf32, #mpdfg.on<@node>>
  %0 = mpdfg.contract %x [0], %w [0, 1, 2] -> [1, 2] : tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x8x16xf32> -> tensor<?x8x16xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.contract %{{.*}} [0], %{{.*}} [0] -> [] : tensor<?x64xf32, #mpdfg.on<@node>>, tensor<?x64xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@node>>
  %1 = mpdfg.contract %x [0], %x [0] -> [] : tensor<?x64xf32, #mpdfg.on<@node>>, tensor<?x64xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.fold sum %{{.*}} [1] : tensor<?x8x16xf32, #mpdfg.on<@node>> -> tensor<?x8x1xf32, #mpdfg.on<@node>>
  %2 = mpdfg.fold sum %0 [1] : tensor<?x8x16xf32, #mpdfg.on<@node>> -> tensor<?x8x1xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.reshape %{{.*}} : tensor<?x8x16xf32, #mpdfg.on<@node>> -> tensor<?x128xf32, #mpdfg.on<@node>>
  %3 = mpdfg.reshape %0 : tensor<?x8x16xf32, #mpdfg.on<@node>> -> tensor<?x128xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.transpose %{{.*}} [1, 0] : tensor<?x8x16xf32, #mpdfg.on<@node>> -> tensor<?x16x8xf32, #mpdfg.on<@node>>
  %4 = mpdfg.transpose %0 [1, 0] : tensor<?x8x16xf32, #mpdfg.on<@node>> -> tensor<?x16x8xf32, #mpdfg.on<@node>>
  // CHECK: mpdfg.concat %{{.*}}, %{{.*}} axis 0 : (tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>>) -> tensor<?x12xf32, #mpdfg.on<@edge>>
  %5 = mpdfg.concat %u, %v axis 0 : (tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>>) -> tensor<?x12xf32, #mpdfg.on<@edge>>
  // CHECK: mpdfg.slice %{{.*}} axis 0 from 4 : tensor<?x12xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %6 = mpdfg.slice %5 axis 0 from 4 : tensor<?x12xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  return
}

// CHECK-LABEL: func @await
func.func @await(%x: tensor<?x64xf32, #mpdfg.on<@node.send>>) -> tensor<?x64xf32, #mpdfg.on<@node.halo>> {
  %0 = mpdfg.transfer %x : tensor<?x64xf32, #mpdfg.on<@node.send>> -> tensor<?x64xf32, #mpdfg.on<@node.halo>>
  // CHECK: mpdfg.await %{{.*}} sent %{{.*}} : tensor<?x64xf32, #mpdfg.on<@node.halo>>, tensor<?x64xf32, #mpdfg.on<@node.send>>
  %1 = mpdfg.await %0 sent %x : tensor<?x64xf32, #mpdfg.on<@node.halo>>, tensor<?x64xf32, #mpdfg.on<@node.send>>
  return %1 : tensor<?x64xf32, #mpdfg.on<@node.halo>>
}

// Pure operations that nobody uses go away, equal ones become one, and each site of random numbers stays itself.
// RUN: gnnc-opt %s --cse | FileCheck %s --check-prefix=CSE
// CSE-LABEL: func @merged
// CSE-COUNT-1: mpdfg.unary
// CSE-COUNT-2: mpdfg.random
// CSE-NOT: = mpdfg.
func.func @merged(%x: tensor<?x4xf32, #mpdfg.on<@node>>) -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.unary relu %x : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.unary relu %x : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpdfg.random %0, %0, %0, %0, %0 site 0 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpdfg.random %1, %1, %1, %1, %1 site 1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %4 = mpdfg.detach %x : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %2, %3 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

mpdfg.space @node.send root
mpdfg.space @node.halo root

// CHECK-LABEL: func @ranks
func.func @ranks(%x: tensor<?x64xf32, #mpdfg.on<@node.send>>, %w: tensor<64x16xf32>,
                 %t: tensor<1433x16xf32, #mpdfg.on<@x.column.space>>) {
  // CHECK: mpdfg.transfer %{{.*}} : tensor<?x64xf32, #mpdfg.on<@node.send>> -> tensor<?x64xf32, #mpdfg.on<@node.halo>>
  %0 = mpdfg.transfer %x : tensor<?x64xf32, #mpdfg.on<@node.send>> -> tensor<?x64xf32, #mpdfg.on<@node.halo>>
  // CHECK: mpdfg.all_reduce sum %{{.*}} : tensor<64x16xf32>
  %1 = mpdfg.all_reduce sum %w : tensor<64x16xf32>
  // CHECK: mpdfg.all_reduce max %{{.*}} : tensor<1433x16xf32, #mpdfg.on<@x.column.space>>
  %2 = mpdfg.all_reduce max %t : tensor<1433x16xf32, #mpdfg.on<@x.column.space>>
  // CHECK: mpdfg.vary %{{.*}} : tensor<64x16xf32>
  %3 = mpdfg.vary %w : tensor<64x16xf32>
  // CHECK: mpdfg.derive_as %{{.*}}, %{{.*}} : tensor<64x16xf32>
  %4 = mpdfg.derive_as %w, %w : tensor<64x16xf32>
  return
}
