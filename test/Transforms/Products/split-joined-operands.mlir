// RUN: gnnc-opt %s --split-joined-operands | FileCheck %s

!edge32 = tensor<?x32xf32, #mpdfg.on<@edge>>
!edge600 = tensor<?x600xf32, #mpdfg.on<@edge>>
!edge900 = tensor<?x900xf32, #mpdfg.on<@edge>>
!edge1500 = tensor<?x1500xf32, #mpdfg.on<@edge>>
!edge32x1500 = tensor<?x32x1500xf32, #mpdfg.on<@edge>>

mpdfg.space @edge root
mpdfg.space @node root
mpdfg.map @dst root from @edge to @node

// The gradients of an edge network's last layer: a join of sums, and a sum of products with the rows of the weight.
// CHECK-LABEL: func @gradients
// CHECK-NOT: 1500xf32, #mpdfg.on
// CHECK: mpdfg.contract %[[H:.*]] [0], %[[A:.*]] [1] -> [0, 1] : {{.*}}, tensor<?x600xf32, {{.*}}>
// CHECK: mpdfg.reduce sum {{.*}} -> tensor<32x600xf32>
// CHECK: mpdfg.reduce sum {{.*}} -> tensor<32x900xf32>
// CHECK: mpdfg.concat {{.*}} axis 1 : {{.*}} -> tensor<32x1500xf32>
// CHECK: mpdfg.slice %{{.*}} axis 1 from 0 : tensor<32x1500xf32> -> tensor<32x600xf32>
// CHECK: mpdfg.slice %{{.*}} axis 1 from 600 : tensor<32x1500xf32> -> tensor<32x900xf32>
// CHECK: mpdfg.binary add
func.func @gradients(%h: !edge32, %a: !edge600, %b: !edge900, %w: tensor<32x1500xf32>) -> (tensor<32x1500xf32>, !edge32) {
  %0 = mpdfg.concat %a, %b axis 0 : (!edge600, !edge900) -> !edge1500
  %1 = mpdfg.contract %h [0], %0 [1] -> [0, 1] : !edge32, !edge1500 -> !edge32x1500
  %2 = mpdfg.reduce sum %1 along @all : !edge32x1500 -> tensor<32x1500xf32>
  %3 = mpdfg.contract %0 [1], %w [0, 1] -> [0] : !edge1500, tensor<32x1500xf32> -> !edge32
  return %2, %3 : tensor<32x1500xf32>, !edge32
}

// Not: a row that something else reads as a whole; a short one; a product whose result is a joined row again; rows of both
// operands that are summed up; parts of one shape.
// CHECK-LABEL: func @whole
// CHECK-COUNT-5: mpdfg.concat
// CHECK-NOT: mpdfg.concat
func.func @whole(%h: !edge32, %a: !edge600, %b: !edge900, %c: tensor<32xf32>, %w: tensor<32x1500xf32>,
                 %v: tensor<1200x2xf32>)
    -> (tensor<32x1500xf32>, !edge1500, tensor<32x64xf32>, !edge32x1500, tensor<?xf32, #mpdfg.on<@edge>>,
        tensor<?x2xf32, #mpdfg.on<@edge>>) {
  %0 = mpdfg.concat %a, %b axis 0 : (!edge600, !edge900) -> !edge1500
  %1 = mpdfg.contract %h [0], %0 [1] -> [0, 1] : !edge32, !edge1500 -> !edge32x1500
  %2 = mpdfg.reduce sum %1 along @all : !edge32x1500 -> tensor<32x1500xf32>
  %3 = mpdfg.unary tanh %0 : !edge1500 -> !edge1500
  %4 = mpdfg.concat %h, %h axis 0 : (!edge32, !edge32) -> tensor<?x64xf32, #mpdfg.on<@edge>>
  %5 = mpdfg.contract %h [0], %4 [1] -> [0, 1] : !edge32, tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x32x64xf32, #mpdfg.on<@edge>>
  %6 = mpdfg.reduce sum %5 along @all : tensor<?x32x64xf32, #mpdfg.on<@edge>> -> tensor<32x64xf32>
  %7 = mpdfg.concat %b, %a axis 0 : (!edge900, !edge600) -> !edge1500
  %8 = mpdfg.contract %c [0], %7 [1] -> [0, 1] : tensor<32xf32>, !edge1500 -> !edge32x1500
  %9 = mpdfg.concat %a, %b axis 0 : (!edge600, !edge900) -> !edge1500
  %10 = mpdfg.contract %9 [0], %3 [0] -> [] : !edge1500, !edge1500 -> tensor<?xf32, #mpdfg.on<@edge>>
  %11 = mpdfg.concat %a, %a axis 0 : (!edge600, !edge600) -> tensor<?x1200xf32, #mpdfg.on<@edge>>
  %12 = mpdfg.contract %11 [0], %v [0, 1] -> [1] : tensor<?x1200xf32, #mpdfg.on<@edge>>, tensor<1200x2xf32> -> tensor<?x2xf32, #mpdfg.on<@edge>>
  return %2, %3, %6, %8, %10, %12 : tensor<32x1500xf32>, !edge1500, tensor<32x64xf32>, !edge32x1500, tensor<?xf32, #mpdfg.on<@edge>>, tensor<?x2xf32, #mpdfg.on<@edge>>
}

// Not: a part that is the same for all rows.
// CHECK-LABEL: func @shared
// CHECK: mpdfg.concat
func.func @shared(%a: !edge900, %b: tensor<600xf32>, %w: tensor<1500x32xf32>) -> !edge32 {
  %0 = mpdfg.concat %a, %b axis 0 : (!edge900, tensor<600xf32>) -> !edge1500
  %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : !edge1500, tensor<1500x32xf32> -> !edge32
  return %1 : !edge32
}
