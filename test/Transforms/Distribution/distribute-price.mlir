// RUN: gnnc-opt %s --distribute --split-input-file --remark-format=emitRemark --remarks-filter=distribute 2>&1 | FileCheck %s
// RUN: gnnc-opt %s --distribute=operations-per-byte=300 | FileCheck %s --check-prefix=MORE
// RUN: gnnc-opt %s --distribute=operations-per-byte=0 | FileCheck %s --check-prefix=NONE

// Each product alone would be worth the bytes that are saved, but not all of them together.

!node = tensor<?x32xf32, #mpdfg.on<@node>>
!wide = tensor<?x128xf32, #mpdfg.on<@node>>
!edge = tensor<?x128xf32, #mpdfg.on<@edge>>
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// CHECK: rows of 128 numbers of @node are exchanged
// CHECK: rows of 128 numbers of @node are made where they are read: what they are made of takes 128 bytes more, they would take 512; that is worth its 73728 operations a row
// CHECK-LABEL: func @long
// CHECK: mpdfg.transfer %{{.*}} : tensor<?x128xf32, #mpdfg.on<@node.send>>
// CHECK-NOT: mpdfg.transfer
// CHECK-LABEL: func @short
// CHECK: mpdfg.transfer %{{.*}} : tensor<?x32xf32, #mpdfg.on<@node.send>>
// CHECK-NOT: mpdfg.transfer
// MORE: mpdfg.transfer %{{.*}} : tensor<?x32xf32, #mpdfg.on<@node.send>>
// MORE: mpdfg.transfer %{{.*}} : tensor<?x32xf32, #mpdfg.on<@node.send>>
// NONE: mpdfg.transfer %{{.*}} : tensor<?x128xf32, #mpdfg.on<@node.send>>
// NONE: mpdfg.transfer %{{.*}} : tensor<?x128xf32, #mpdfg.on<@node.send>>
func.func @long(%x: !node, %a: tensor<32x128xf32>, %b: tensor<128x128xf32>) -> !edge {
  %0 = mpdfg.contract %x [0], %a [0, 1] -> [1] : !node, tensor<32x128xf32> -> !wide
  %1 = mpdfg.contract %0 [0], %b [0, 1] -> [1] : !wide, tensor<128x128xf32> -> !wide
  %2 = mpdfg.contract %1 [0], %b [0, 1] -> [1] : !wide, tensor<128x128xf32> -> !wide
  %3 = mpdfg.contract %2 [0], %b [0, 1] -> [1] : !wide, tensor<128x128xf32> -> !wide
  %4 = mpdfg.broadcast %3 along @src : !wide -> !edge
  return %4 : !edge
}

func.func @short(%x: !node, %a: tensor<32x128xf32>, %b: tensor<128x128xf32>) -> !edge {
  %0 = mpdfg.contract %x [0], %a [0, 1] -> [1] : !node, tensor<32x128xf32> -> !wide
  %1 = mpdfg.contract %0 [0], %b [0, 1] -> [1] : !wide, tensor<128x128xf32> -> !wide
  %2 = mpdfg.contract %1 [0], %b [0, 1] -> [1] : !wide, tensor<128x128xf32> -> !wide
  %3 = mpdfg.broadcast %2 along @src : !wide -> !edge
  return %3 : !edge
}
