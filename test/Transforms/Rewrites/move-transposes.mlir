// RUN: gnnc-opt %s --move-transposes --canonicalize | FileCheck %s
// RUN: gnnc-opt %s --move-transposes --remark-format=emitRemark --remarks-filter=move-transposes -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @kind static {extent = 3 : i64}
mpdfg.space @user static {extent = 1000000 : i64}
mpdfg.map @type root from @node to @kind
mpdfg.map @who root from @node to @user

!x = tensor<?x4x6xf32, #mpdfg.on<@node>>
!xt = tensor<?x6x4xf32, #mpdfg.on<@node>>
!y = tensor<?x4xf32, #mpdfg.on<@node>>

// What the rows of types are made of is made in the other order; the sum is read in the order of its labels.
// REMARK: [Passed] move | {{.*}}Function=types {{.*}}"a transpose of many rows becomes one of few"
// CHECK-LABEL: func @types
// CHECK: %[[T:.*]] = mpdfg.contract %arg1 [0], %arg2 [0, 1, 2] -> [2, 1] : {{.*}} -> tensor<3x4x6xf32, #mpdfg.on<@kind>>
// CHECK: %[[B:.*]] = mpdfg.broadcast %[[T]] along @type
// CHECK: %[[S:.*]] = mpdfg.binary add %[[B]], %arg0 : {{.*}} -> tensor<?x4x6xf32
// CHECK: mpdfg.contract %[[S]] [1, 0], %arg3 [0] -> [1]
// CHECK-NOT: transpose
// CHECK: return
func.func @types(%x: !x, %k: tensor<3x2xf32, #mpdfg.on<@kind>>, %t: tensor<2x6x4xf32>, %w: tensor<6xf32>) -> !y {
  %0 = mpdfg.contract %k [0], %t [0, 1, 2] -> [1, 2] : tensor<3x2xf32, #mpdfg.on<@kind>>, tensor<2x6x4xf32>
    -> tensor<3x6x4xf32, #mpdfg.on<@kind>>
  %1 = mpdfg.broadcast %0 along @type : tensor<3x6x4xf32, #mpdfg.on<@kind>> -> !xt
  %2 = mpdfg.transpose %x [1, 0] : !x -> !xt
  %3 = mpdfg.binary add %1, %2 : !xt, !xt -> !xt
  %4 = mpdfg.contract %3 [0, 1], %w [0] -> [1] : !xt, tensor<6xf32> -> !y
  return %4 : !y
}

// Both of many rows, alike; the transpose of the product undoes one that reads it.
// CHECK-LABEL: func @alike
// CHECK-NEXT: %[[P:.*]] = mpdfg.binary mul %arg0, %arg1 : {{.*}} -> tensor<?x4x6xf32
// CHECK-NEXT: return %[[P]]
func.func @alike(%x: !x, %y: !x) -> !x {
  %0 = mpdfg.transpose %x [1, 0] : !x -> !xt
  %1 = mpdfg.transpose %y [1, 0] : !x -> !xt
  %2 = mpdfg.binary mul %0, %1 : !xt, !xt -> !xt
  %3 = mpdfg.transpose %2 [1, 0] : !xt -> !x
  return %3 : !x
}

// A table of a million rows is not transposed for a few that are read.
// CHECK-LABEL: func @table
// CHECK: mpdfg.transpose %arg0
func.func @table(%x: !x, %t: tensor<1000000x6x4xf32, #mpdfg.on<@user>>, %w: tensor<6xf32>) -> !y {
  %0 = mpdfg.broadcast %t along @who : tensor<1000000x6x4xf32, #mpdfg.on<@user>> -> !xt
  %1 = mpdfg.transpose %x [1, 0] : !x -> !xt
  %2 = mpdfg.binary add %0, %1 : !xt, !xt -> !xt
  %3 = mpdfg.contract %2 [0, 1], %w [0] -> [1] : !xt, tensor<6xf32> -> !y
  return %3 : !y
}

// The other operand has as many rows, or something reads the sum as it is: nothing is gained.
// CHECK-LABEL: func @rows
// CHECK: mpdfg.transpose %arg0
// CHECK-LABEL: func @read
// CHECK: mpdfg.transpose %arg0
func.func @rows(%x: !x, %y: !xt, %w: tensor<6xf32>) -> !y {
  %0 = mpdfg.transpose %x [1, 0] : !x -> !xt
  %1 = mpdfg.binary add %0, %y : !xt, !xt -> !xt
  %2 = mpdfg.contract %1 [0, 1], %w [0] -> [1] : !xt, tensor<6xf32> -> !y
  return %2 : !y
}
func.func @read(%x: !x, %t: tensor<6x4xf32>) -> !xt {
  %0 = mpdfg.transpose %x [1, 0] : !x -> !xt
  %1 = mpdfg.binary add %0, %t : !xt, tensor<6x4xf32> -> !xt
  return %1 : !xt
}
