// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing --remark-format=emitRemark --remarks-filter=fuse-message-passing -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root

!node8 = tensor<?x8xf32, #mpdfg.on<@node>>
!node80 = tensor<?x80xf32, #mpdfg.on<@node>>

// A long product of shared values has a kernel of its own...
// REMARK: [Missed] recompute | {{.*}}Function=long {{.*}}Reason="40000 operations are too many to compute in each block of each kernel"
// CHECK-LABEL: func @long
// CHECK: %[[T:.*]] = mpk.sweep(%arg1, %arg2)
// CHECK: mpdfg.contract
// CHECK: mpk.sweep over @node(%arg0, %[[T]])
// CHECK-NOT: mpdfg.contract
func.func @long(%x: !node80, %b: tensor<250xf32>, %w: tensor<250x80xf32>) -> !node80 {
  %0 = mpdfg.contract %b [0], %w [0, 1] -> [1] : tensor<250xf32>, tensor<250x80xf32> -> tensor<80xf32>
  %1 = mpdfg.binary mul %x, %0 : !node80, tensor<80xf32> -> !node80
  return %1 : !node80
}

// ... and a short one is made where it is used.
// CHECK-LABEL: func @short
// CHECK: mpk.sweep over @node(%arg0, %arg1, %arg2)
// CHECK: mpdfg.contract
func.func @short(%x: !node8, %b: tensor<16xf32>, %w: tensor<16x8xf32>) -> !node8 {
  %0 = mpdfg.contract %b [0], %w [0, 1] -> [1] : tensor<16xf32>, tensor<16x8xf32> -> tensor<8xf32>
  %1 = mpdfg.binary mul %x, %0 : !node8, tensor<8xf32> -> !node8
  return %1 : !node8
}
