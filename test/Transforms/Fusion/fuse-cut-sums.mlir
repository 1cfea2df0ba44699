// The gates of a recurrent cell are cut from a sum of two products: the sum is kept, in a sweep that the later product's
// epilogue can take, and each of its readers reads one row.
//
// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing --remark-format=emitRemark --remarks-filter=fuse-message-passing -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root

!state = tensor<?x16xf32, #mpdfg.on<@node>>
!gates = tensor<?x32xf32, #mpdfg.on<@node>>
!weight = tensor<16x32xf32>
!bias = tensor<32xf32>

// REMARK: [Passed] join | {{.*}}Function=cell {{.*}}"a sum of products is kept in place of them"
// REMARK-NOT: sum of products
// CHECK-LABEL: func @cell
// CHECK: %[[X:.*]] = mpk.product
// CHECK: %[[H:.*]] = mpk.product
// CHECK: %[[SUM:.*]] = mpk.sweep over @node(%[[X]], %arg4, %[[H]])
// CHECK-NOT: mpdfg.slice
// CHECK: mpk.yield
// CHECK: mpk.sweep over @node(%[[SUM]])
// CHECK: mpdfg.slice
// CHECK: return
func.func @cell(%x: !state, %h: !state, %w: !weight, %u: !weight, %b: !bias) -> !state {
  %0 = mpk.product over @node(%x, %w) batch 1 rows 1 k 16 n 32 : (!state, !weight) -> !gates
  %2 = mpdfg.binary add %0, %b : !gates, !bias -> !gates
  %3 = mpk.product over @node(%h, %u) batch 1 rows 1 k 16 n 32 : (!state, !weight) -> !gates
  %4 = mpdfg.binary add %2, %3 : !gates, !gates -> !gates
  %5 = mpdfg.slice %4 axis 0 from 0 : !gates -> !state
  %6 = mpdfg.slice %4 axis 0 from 16 : !gates -> !state
  %7 = mpdfg.unary tanh %6 : !state -> !state
  %8 = mpdfg.binary mul %5, %7 : !state, !state -> !state
  return %8 : !state
}

// Without a second product, or where one is read elsewhere too, nothing is gained.
// CHECK-LABEL: func @alone
// CHECK: %[[X:.*]] = mpk.product
// CHECK: mpk.sweep over @node(%[[X]], %arg1)
// CHECK: mpdfg.slice
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @alone(%x: !state, %g: !gates, %w: !weight) -> !state {
  %0 = mpk.product over @node(%x, %w) batch 1 rows 1 k 16 n 32 : (!state, !weight) -> !gates
  %1 = mpdfg.binary add %0, %g : !gates, !gates -> !gates
  %2 = mpdfg.slice %1 axis 0 from 16 : !gates -> !state
  return %2 : !state
}

// CHECK-LABEL: func @read_twice
// CHECK: mpk.product
// CHECK: mpk.product
// CHECK: mpk.sweep over @node
// CHECK: mpdfg.slice
// CHECK-NOT: mpk.sweep
// CHECK: return
func.func @read_twice(%x: !state, %h: !state, %w: !weight, %u: !weight) -> (!state, !gates) {
  %0 = mpk.product over @node(%x, %w) batch 1 rows 1 k 16 n 32 : (!state, !weight) -> !gates
  %1 = mpk.product over @node(%h, %u) batch 1 rows 1 k 16 n 32 : (!state, !weight) -> !gates
  %2 = mpdfg.binary add %0, %1 : !gates, !gates -> !gates
  %3 = mpdfg.slice %2 axis 0 from 16 : !gates -> !state
  return %3, %1 : !state, !gates
}
