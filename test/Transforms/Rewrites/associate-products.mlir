// RUN: gnnc-opt %s --associate-products --cse --canonicalize | FileCheck %s
// RUN: gnnc-opt %s --associate-products --remark-format=emitRemark --remarks-filter=associate-products -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: gnnc-opt %s --associate-products=blocks --cse --canonicalize | FileCheck %s --check-prefix=ALONE

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @owner root from @edge to @node {partial}

!edge = tensor<?xf32, #mpdfg.on<@edge>>
!edge1 = tensor<?x1xf32, #mpdfg.on<@edge>>
!edge4 = tensor<?x4xf32, #mpdfg.on<@edge>>
!edge4x1 = tensor<?x4x1xf32, #mpdfg.on<@edge>>
!edge8 = tensor<?x8xf32, #mpdfg.on<@edge>>
!edge64 = tensor<?x64xf32, #mpdfg.on<@edge>>
!edgeheads = tensor<?x4x64xf32, #mpdfg.on<@edge>>
!edge24 = tensor<?x24xf32, #mpdfg.on<@edge>>
!edge24x24 = tensor<?x24x24xf32, #mpdfg.on<@edge>>
!edge24x4 = tensor<?x24x4xf32, #mpdfg.on<@edge>>
!node4 = tensor<?x4xf32, #mpdfg.on<@node>>
!node24 = tensor<?x24xf32, #mpdfg.on<@node>>
!node64 = tensor<?x64xf32, #mpdfg.on<@node>>
!nodeheads = tensor<?x4x64xf32, #mpdfg.on<@node>>

// Attention whose keys and values have edge features: nothing on an edge is as wide as a head.
// REMARK: [Passed] associate | {{.*}}Function=attention {{.*}}"the weight is multiplied with what its product would meet
// CHECK-LABEL: func @attention
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x4x64xf32, #mpdfg.on<@node>>, %[[K:[^:]*]]: tensor<?x4x64xf32, #mpdfg.on<@node>>, %[[V:[^:]*]]: tensor<?x4x64xf32, #mpdfg.on<@node>>, %[[E:[^:]*]]: tensor<?x8xf32
// CHECK-SAME: %[[W:[^:]*]]: tensor<8x4x64xf32>
// CHECK-NOT: mpdfg.contract %[[E]] [{{.*}}], %[[W]]
// CHECK: %[[QW:.*]] = mpdfg.contract %[[Q]] [0, 1], %[[W]] [2, 0, 1] -> [0, 2] : {{.*}} -> tensor<?x4x8xf32, #mpdfg.on<@node>>
// CHECK: %[[QWD:.*]] = mpdfg.broadcast %[[QW]] along @dst
// CHECK: %[[OF_E:.*]] = mpdfg.contract %[[QWD]] [0, 2], %[[E]] [2] -> [0]
// CHECK: %[[OF_K:.*]] = mpdfg.contract %{{.*}} [0, 1], %{{.*}} [0, 1] -> [0]
// CHECK: mpdfg.binary add %[[OF_K]], %[[OF_E]]
// CHECK: %[[A:.*]] = mpdfg.norm
// CHECK: %[[AE:.*]] = mpdfg.contract %[[A]] [0], %[[E]] [2] -> [0, 2]
// CHECK: %[[SUM:.*]] = mpdfg.reduce sum %[[AE]] along @dst : {{.*}} -> tensor<?x4x8xf32, #mpdfg.on<@node>>
// CHECK: %[[Y:.*]] = mpdfg.contract %[[SUM]] [0, 2], %[[W]] [2, 0, 1] -> [0, 1]
// CHECK: %[[OF_V:.*]] = mpdfg.reduce sum
// CHECK: mpdfg.binary add %[[OF_V]], %[[Y]]
func.func @attention(%q: !nodeheads, %k: !nodeheads, %v: !nodeheads, %e: !edge8, %w: tensor<8x4x64xf32>) -> !nodeheads {
  %0 = mpdfg.contract %e [0], %w [0, 1, 2] -> [1, 2] : !edge8, tensor<8x4x64xf32> -> !edgeheads
  %1 = mpdfg.broadcast %q along @dst : !nodeheads -> !edgeheads
  %2 = mpdfg.broadcast %k along @src : !nodeheads -> !edgeheads
  %3 = mpdfg.binary add %2, %0 : !edgeheads, !edgeheads -> !edgeheads
  %4 = mpdfg.contract %1 [0, 1], %3 [0, 1] -> [0] : !edgeheads, !edgeheads -> !edge4
  %5 = mpdfg.norm %4 along @dst : !edge4 -> !edge4
  %6 = mpdfg.reshape %5 : !edge4 -> !edge4x1
  %7 = mpdfg.broadcast %v along @src : !nodeheads -> !edgeheads
  %8 = mpdfg.binary add %7, %0 : !edgeheads, !edgeheads -> !edgeheads
  %9 = mpdfg.binary mul %6, %8 : !edge4x1, !edgeheads -> !edgeheads
  %10 = mpdfg.reduce sum %9 along @dst : !edgeheads -> !nodeheads
  return %10 : !nodeheads
}

// The same with the score written as a product number by number and its sum.
// CHECK-LABEL: func @written
// CHECK: %[[QW:.*]] = mpdfg.contract %arg0 [0, 1], %arg3 [2, 0, 1] -> [0, 2] : {{.*}} -> tensor<?x4x8xf32, #mpdfg.on<@node>>
// CHECK: %[[QWD:.*]] = mpdfg.broadcast %[[QW]] along @dst
// CHECK: mpdfg.contract %[[QWD]] [0, 2], %arg2 [2] -> [0]
// CHECK-NOT: mpdfg.fold
func.func @written(%q: !nodeheads, %k: !nodeheads, %e: !edge8, %w: tensor<8x4x64xf32>) -> !edge4x1 {
  %0 = mpdfg.contract %e [0], %w [0, 1, 2] -> [1, 2] : !edge8, tensor<8x4x64xf32> -> !edgeheads
  %1 = mpdfg.broadcast %q along @dst : !nodeheads -> !edgeheads
  %2 = mpdfg.broadcast %k along @src : !nodeheads -> !edgeheads
  %3 = mpdfg.binary add %2, %0 : !edgeheads, !edgeheads -> !edgeheads
  %4 = mpdfg.binary mul %1, %3 : !edgeheads, !edgeheads -> !edgeheads
  %5 = mpdfg.fold sum %4 [1] : !edgeheads -> !edge4x1
  return %5 : !edge4x1
}

// Where that does not pay, it stays as it is written.
// CHECK-LABEL: func @written_narrow
// CHECK: %[[P:.*]] = mpdfg.binary mul
// CHECK: %[[S:.*]] = mpdfg.fold sum %[[P]] [0]
// CHECK: return %[[S]]
func.func @written_narrow(%q: !node4, %e: !edge64, %w: tensor<64x4xf32>) -> !edge1 {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge64, tensor<64x4xf32> -> !edge4
  %1 = mpdfg.broadcast %q along @src : !node4 -> !edge4
  %2 = mpdfg.binary mul %1, %0 : !edge4, !edge4 -> !edge4
  %3 = mpdfg.fold sum %2 [0] : !edge4 -> !edge1
  return %3 : !edge1
}

// A square is no product with another factor.
// CHECK-LABEL: func @squared
// CHECK: %[[P:.*]] = mpdfg.binary mul %[[EW:.*]], %[[EW]]
// CHECK: mpdfg.fold sum %[[P]] [0]
func.func @squared(%e: !edge8, %w: tensor<8x64xf32>) -> !edge1 {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge8, tensor<8x64xf32> -> !edge64
  %1 = mpdfg.binary mul %0, %0 : !edge64, !edge64 -> !edge64
  %2 = mpdfg.fold sum %1 [0] : !edge64 -> !edge1
  return %2 : !edge1
}

// Nor is what it is multiplied with, if that is a sum that it is part of.
// CHECK-LABEL: func @squared_in_a_sum
// CHECK: %[[A:.*]] = mpdfg.binary add %[[EW:.*]], %{{.*}}
// CHECK: %[[P:.*]] = mpdfg.binary mul %[[EW]], %[[A]]
// CHECK: mpdfg.fold sum %[[P]] [0]
func.func @squared_in_a_sum(%e: !edge8, %k: !edge64, %w: tensor<8x64xf32>) -> !edge1 {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge8, tensor<8x64xf32> -> !edge64
  %1 = mpdfg.binary add %0, %k : !edge64, !edge64 -> !edge64
  %2 = mpdfg.binary mul %0, %1 : !edge64, !edge64 -> !edge64
  %3 = mpdfg.fold sum %2 [0] : !edge64 -> !edge1
  return %3 : !edge1
}

// A factor that all share, written number by number, and left so on GPUs.
// ALONE-LABEL: func @written_shared
// ALONE: %[[P:.*]] = mpdfg.binary mul %arg2, %{{.*}} : tensor<64xf32>, tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@edge>>
// ALONE: mpdfg.fold sum %[[P]] [0]
func.func @written_shared(%e: !edge8, %w: tensor<8x64xf32>, %a: tensor<64xf32>) -> !edge1 {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge8, tensor<8x64xf32> -> !edge64
  %1 = mpdfg.binary mul %a, %0 : tensor<64xf32>, !edge64 -> !edge64
  %2 = mpdfg.fold sum %1 [0] : !edge64 -> !edge1
  return %2 : !edge1
}

// A score of the features alone: a weight of one number for each feature. Two weights meet, which is a kernel more on
// GPUs, where they are left alone.
// ALONE-LABEL: func @shared
// ALONE: %[[EW:.*]] = mpdfg.contract %arg0 [0], %arg1 [0, 1] -> [1]
// ALONE: mpdfg.contract %[[EW]] [0], %arg2 [0] -> []
// CHECK-LABEL: func @shared
// CHECK: %[[AW:.*]] = mpdfg.contract %arg2 [0], %arg1 [1, 0] -> [1] : tensor<64xf32>, tensor<8x64xf32> -> tensor<8xf32>
// CHECK: %[[S:.*]] = mpdfg.contract %[[AW]] [1], %arg0 [1] -> []
// CHECK: return %[[S]]
func.func @shared(%e: !edge8, %w: tensor<8x64xf32>, %a: tensor<64xf32>) -> !edge {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge8, tensor<8x64xf32> -> !edge64
  %1 = mpdfg.contract %0 [0], %a [0] -> [] : !edge64, tensor<64xf32> -> !edge
  return %1 : !edge
}

// A matrix for each edge times the row of its source. The largest needs it for each edge...
// CHECK-LABEL: func @matrix
// CHECK: %[[XW:.*]] = mpdfg.contract %arg0 [0], %arg2 [2, 0, 1] -> [1, 2] : {{.*}} -> tensor<?x4x8xf32, #mpdfg.on<@node>>
// CHECK: %[[M:.*]] = mpdfg.broadcast %[[XW]] along @src
// CHECK: %[[Y:.*]] = mpdfg.contract %[[M]] [1, 2], %arg1 [2] -> [1]
// CHECK: mpdfg.reduce max %[[Y]]
func.func @matrix(%x: !node24, %e: !edge8, %w: tensor<8x24x4xf32>) -> !node4 {
  %0 = mpdfg.contract %e [0], %w [0, 1, 2] -> [1, 2] : !edge8, tensor<8x24x4xf32> -> !edge24x4
  %1 = mpdfg.broadcast %x along @src : !node24 -> !edge24
  %2 = mpdfg.contract %1 [0], %0 [0, 1] -> [1] : !edge24, !edge24x4 -> !edge4
  %3 = mpdfg.reduce max %2 along @dst : !edge4 -> !node4
  return %3 : !node4
}

// ... and also where it is written as the product of both.
// REMARK: [Passed] associate | {{.*}}Function=outer {{.*}}"the weight is multiplied before the broadcast along @src
// CHECK-LABEL: func @outer
// CHECK: %[[XW:.*]] = mpdfg.contract %arg0 [0], %arg2 [0, 1, 2] -> [2, 1]
// CHECK: %[[M:.*]] = mpdfg.broadcast %[[XW]] along @src
// CHECK: mpdfg.contract %[[M]] [2, 1], %arg1 [1] -> [2]
func.func @outer(%x: !node24, %e: !edge4, %w: tensor<24x4x4xf32>) -> !node4 {
  %0 = mpdfg.broadcast %x along @src : !node24 -> !edge24
  %1 = mpdfg.contract %0 [0], %e [1] -> [0, 1] : !edge24, !edge4 -> !edge24x4
  %2 = mpdfg.contract %1 [0, 1], %w [0, 1, 2] -> [2] : !edge24x4, tensor<24x4x4xf32> -> !edge4
  %3 = mpdfg.reduce max %2 along @dst : !edge4 -> !node4
  return %3 : !node4
}

// So it does where that is written as a product number by number.
// CHECK-LABEL: func @outer_written
// CHECK: %[[XW:.*]] = mpdfg.contract %arg0 [0], %arg2 [0, 1, 2] -> [2, 1]
// CHECK: %[[M:.*]] = mpdfg.broadcast %[[XW]] along @src
// CHECK: mpdfg.contract %[[M]] [2, 1], %arg1 [1] -> [2]
func.func @outer_written(%x: !node24, %e: !edge4, %w: tensor<24x4x4xf32>) -> !node4 {
  %0 = mpdfg.broadcast %x along @src : !node24 -> !edge24
  %1 = mpdfg.reshape %0 : !edge24 -> tensor<?x24x1xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.reshape %e : !edge4 -> tensor<?x1x4xf32, #mpdfg.on<@edge>>
  %3 = mpdfg.binary mul %1, %2 : tensor<?x24x1xf32, #mpdfg.on<@edge>>, tensor<?x1x4xf32, #mpdfg.on<@edge>> -> !edge24x4
  %4 = mpdfg.contract %3 [0, 1], %w [0, 1, 2] -> [2] : !edge24x4, tensor<24x4x4xf32> -> !edge4
  %5 = mpdfg.reduce max %4 along @dst : !edge4 -> !node4
  return %5 : !node4
}

// What is summed is summed before the weight: the product of both rows comes first, and order-aggregation does the rest.
// CHECK-LABEL: func @summed
// CHECK: %[[P:.*]] = mpdfg.contract %{{.*}} [0], %arg1 [2] -> [2, 0] : {{.*}} -> tensor<?x8x24xf32, #mpdfg.on<@edge>>
// CHECK: mpdfg.contract %[[P]] [2, 0], %arg2 [2, 0, 1] -> [1]
func.func @summed(%x: !node24, %e: !edge8, %w: tensor<8x24x24xf32>) -> !node24 {
  %0 = mpdfg.contract %e [0], %w [0, 1, 2] -> [1, 2] : !edge8, tensor<8x24x24xf32> -> !edge24x24
  %1 = mpdfg.broadcast %x along @src : !node24 -> !edge24
  %2 = mpdfg.contract %1 [0], %0 [0, 1] -> [1] : !edge24, !edge24x24 -> !edge24
  %3 = mpdfg.reduce sum %2 along @dst : !edge24 -> !node24
  return %3 : !node24
}

// A use that is not linear needs the product anyway.
// CHECK-LABEL: func @activated
// CHECK: %[[EW:.*]] = mpdfg.contract %arg1 [0], %arg2 [0, 1] -> [1]
// CHECK: mpdfg.contract %{{.*}} [0], %[[EW]] [0] -> []
// CHECK: mpdfg.unary relu %[[EW]]
func.func @activated(%q: !node64, %e: !edge8, %w: tensor<8x64xf32>) -> (!edge, !edge64) {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge8, tensor<8x64xf32> -> !edge64
  %1 = mpdfg.broadcast %q along @dst : !node64 -> !edge64
  %2 = mpdfg.contract %1 [0], %0 [0] -> [] : !edge64, !edge64 -> !edge
  %3 = mpdfg.unary relu %0 : !edge64 -> !edge64
  return %2, %3 : !edge, !edge64
}

// Rows of 64 numbers instead of 4 would be read for each edge.
// REMARK: [Missed] associate | {{.*}}Function=narrow {{.*}}"the weight is multiplied with members' rows"
// CHECK-LABEL: func @narrow
// CHECK: mpdfg.contract %arg1 [0], %arg2 [0, 1] -> [1]
func.func @narrow(%q: !node4, %e: !edge64, %w: tensor<64x4xf32>) -> !edge {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge64, tensor<64x4xf32> -> !edge4
  %1 = mpdfg.broadcast %q along @src : !node4 -> !edge4
  %2 = mpdfg.contract %1 [0], %0 [0] -> [] : !edge4, !edge4 -> !edge
  return %2 : !edge
}

// Filled rows times the weight would not be filled rows; and members without an owner have no row to meet.
// CHECK-LABEL: func @partial
// CHECK: mpdfg.contract %arg1 [0], %arg2 [0, 1] -> [1]
func.func @partial(%q: !node64, %e: !edge8, %w: tensor<8x64xf32>) -> !edge {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge8, tensor<8x64xf32> -> !edge64
  %1 = mpdfg.broadcast %q along @owner {fill = 1.0 : f64} : !node64 -> !edge64
  %2 = mpdfg.contract %1 [0], %0 [0] -> [] : !edge64, !edge64 -> !edge
  return %2 : !edge
}

// The sum over no edges is 0, which an infinite weight would not leave so.
// CHECK-LABEL: func @infinite
// CHECK: mpdfg.contract %arg0 [0], %{{.*}} [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@edge>>
func.func @infinite(%e: !edge8, %a: !edge1, %v: tensor<8x64xf32>) -> !node64 {
  %w = mpdfg.unary recip %v : tensor<8x64xf32> -> tensor<8x64xf32>
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge8, tensor<8x64xf32> -> !edge64
  %1 = mpdfg.binary mul %a, %0 : !edge1, !edge64 -> !edge64
  %2 = mpdfg.reduce sum %1 along @dst : !edge64 -> !node64
  return %2 : !node64
}
