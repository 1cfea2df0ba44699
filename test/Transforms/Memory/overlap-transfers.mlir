// RUN: gnnc-opt %s --split-input-file --overlap-transfers | FileCheck %s
// RUN: gnnc-opt %s --split-input-file --overlap-transfers --remarks-filter=overlap-transfers 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// What is sent is made first; the own rows' product, which was before it, runs while it is on its way. Only what reads
// the rows of others waits.
// REMARK: 1 kernel runs while rows from send to halo are on their way
// CHECK-LABEL: func.func @own
// CHECK: %[[PACKED:.*]] = mpk.sweep over @send
// CHECK: %[[CAME:.*]] = mpdfg.transfer %[[PACKED]]
// CHECK: %[[OWN:.*]] = mpk.product over @node(
// CHECK: %[[HERE:.*]] = mpdfg.await %[[CAME]] sent %[[PACKED]] : tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<?x4xf32, #mpdfg.on<@send>>
// CHECK: mpk.product over @halo(%[[HERE]],
mpdfg.space @node root
mpdfg.space @send root
mpdfg.space @halo root
mpdfg.map @sent root from @send to @node
#at = #mpk.access<gather_owner @sent>
#owner = #mpk.access<owner>
func.func @own(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@halo>>) {
  %0 = mpk.product over @node(%x, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @send(%x) access [#at] yields [#owner] {
  ^bb0(%a: tensor<4xf32>):
    mpk.yield %a : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@send>>
  %2 = mpdfg.transfer %1 : tensor<?x4xf32, #mpdfg.on<@send>> -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %3 = mpk.product over @halo(%2, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@halo>>
  return %0, %3 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@halo>>
}

// -----

// Not: where everything is sent, or needs what comes. Small kernels are no work.
// REMARK: Reason="all other kernels come before them or need them", Remark="rows from send to halo are waited for"
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: mpdfg.await
mpdfg.space @send root
mpdfg.space @halo root
#owner = #mpk.access<owner>
#shared = #mpk.access<shared>
func.func @nothing(%x: tensor<?x4xf32, #mpdfg.on<@send>>, %w: tensor<4x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4x4xf32>) {
  %0 = mpk.product over @send(%x, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@send>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@send>>
  %1 = mpdfg.transfer %0 : tensor<?x4xf32, #mpdfg.on<@send>> -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %2 = mpk.product over @halo(%1, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %3 = mpk.sweep(%w) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4x4xf32>):
    %b = mpdfg.unary neg %a : tensor<4x4xf32> -> tensor<4x4xf32>
    mpk.yield %b : tensor<4x4xf32>
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %3 : tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4x4xf32>
}

// -----

// The second exchange goes on beside the first. Of what comes after both, a weight's gradient is made meanwhile; rows are
// not, which would be kept for longer; a value of all ranks, which would wait for what is on its way, comes after it.
// REMARK: 1 kernel runs while rows from send to halo are on their way
// REMARK: 2 kernels run while rows from send to halo are on their way
// REMARK: 1 kernel runs while rows from halo to send are on their way
// CHECK-LABEL: func.func @two
// CHECK: %[[FIRST:.*]] = mpdfg.transfer %arg0
// CHECK-NEXT: %[[SECOND:.*]] = mpdfg.transfer %arg1
// CHECK-NEXT: %[[SUM:.*]] = mpk.outer_sum
// CHECK-NEXT: %[[ONE:.*]] = mpdfg.await %[[FIRST]]
// CHECK-NEXT: mpk.product over @halo(%[[ONE]],
// CHECK-NEXT: %[[TWO:.*]] = mpdfg.await %[[SECOND]]
// CHECK-NEXT: %[[SENT:.*]] = mpk.product over @halo(%[[TWO]],
// CHECK-NEXT: %[[THIRD:.*]] = mpdfg.transfer %[[SENT]]
// CHECK-NEXT: mpk.product over @node(
// CHECK-NEXT: mpdfg.await %[[THIRD]]
// CHECK-NEXT: mpdfg.all_reduce sum %[[SUM]]
mpdfg.space @send root
mpdfg.space @halo root
mpdfg.space @node root
func.func @two(%x: tensor<?x4xf32, #mpdfg.on<@send>>, %y: tensor<?x4xf32, #mpdfg.on<@send>>, %v: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>, tensor<?x4xf32, #mpdfg.on<@send>>) {
  %0 = mpdfg.transfer %x : tensor<?x4xf32, #mpdfg.on<@send>> -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %1 = mpk.product over @halo(%0, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %2 = mpdfg.transfer %y : tensor<?x4xf32, #mpdfg.on<@send>> -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %3 = mpk.product over @halo(%2, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %4 = mpdfg.transfer %3 : tensor<?x4xf32, #mpdfg.on<@halo>> -> tensor<?x4xf32, #mpdfg.on<@send>>
  %5 = mpk.product over @node(%v, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %6 = mpk.outer_sum over @node(%v, %v) batch 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<4x4xf32>
  %7 = mpdfg.all_reduce sum %6 : tensor<4x4xf32>
  return %1, %3, %5, %7, %4 : tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>, tensor<?x4xf32, #mpdfg.on<@send>>
}

// -----

// What can be run apart stays apart: the backward half runs nothing for the forward half's exchange.
// CHECK-LABEL: func.func @halves
// CHECK: mpdfg.transfer
// CHECK-NOT: mpdfg.await
// CHECK: mpk.product over @halo(
// CHECK: mpk.product over @node(
mpdfg.space @send root
mpdfg.space @halo root
mpdfg.space @node root
func.func @halves(%x: tensor<?x4xf32, #mpdfg.on<@send>>, %g: tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.name = "grad.y", mpdfg.role = #mpdfg.role<input>, mpdfg.seed}, %w: tensor<4x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.transfer %x : tensor<?x4xf32, #mpdfg.on<@send>> -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %1 = mpk.product over @halo(%0, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %2 = mpk.product over @node(%g, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1, %2 : tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// The kernels of a launch stay side by side: the first could run while rows are on their way, the second needs them.
// CHECK-LABEL: func.func @launch
// CHECK: %[[CAME:.*]] = mpdfg.transfer %arg0
// CHECK-NEXT: mpk.product over @node(
// CHECK-NEXT: %[[HERE:.*]] = mpdfg.await %[[CAME]]
// CHECK-NEXT: %[[SUM:.*]] = mpk.outer_sum over @halo(%[[HERE]],
// CHECK-NEXT: mpk.sweep(%arg2) access
// CHECK-NOT: mpk.sweep
// CHECK: {mpk.launch = 0 : i64}
// CHECK-NEXT: mpk.sweep(%[[SUM]]) access
// CHECK-NOT: mpk.sweep
// CHECK: {mpk.launch = 0 : i64}
mpdfg.space @send root
mpdfg.space @halo root
mpdfg.space @node root
#shared = #mpk.access<shared>
func.func @launch(%x: tensor<?x4xf32, #mpdfg.on<@send>>, %v: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = mpdfg.transfer %x : tensor<?x4xf32, #mpdfg.on<@send>> -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %1 = mpk.outer_sum over @halo(%0, %0) batch 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<?x4xf32, #mpdfg.on<@halo>>) -> tensor<4x4xf32>
  %2 = mpk.sweep(%w) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4x4xf32>):
    %b = mpdfg.unary neg %a : tensor<4x4xf32> -> tensor<4x4xf32>
    mpk.yield %b : tensor<4x4xf32>
  } {mpk.launch = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = mpk.sweep(%1) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4x4xf32>):
    %b = mpdfg.unary neg %a : tensor<4x4xf32> -> tensor<4x4xf32>
    mpk.yield %b : tensor<4x4xf32>
  } {mpk.launch = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = mpk.product over @node(%v, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %4, %2, %3 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// What replaces a parameter in place stays behind all that read it, though it needs nothing that is on its way.
// CHECK-LABEL: func.func @update
// CHECK: %[[CAME:.*]] = mpdfg.transfer %arg0
// CHECK-NEXT: mpk.product over @node(%arg1, %arg2)
// CHECK-NEXT: %[[HERE:.*]] = mpdfg.await %[[CAME]]
// CHECK-NEXT: mpk.product over @halo(%[[HERE]], %arg2)
// CHECK-NEXT: mpk.sweep(%arg2)
mpdfg.space @send root
mpdfg.space @halo root
mpdfg.space @node root
#shared = #mpk.access<shared>
func.func @update(%x: tensor<?x4xf32, #mpdfg.on<@send>>, %v: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x4xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>})
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4x4xf32> {mpdfg.name = "w", mpdfg.updates = #mpdfg.argument<2>}) {
  %0 = mpdfg.transfer %x : tensor<?x4xf32, #mpdfg.on<@send>> -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %1 = mpk.product over @halo(%0, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %2 = mpk.product over @node(%v, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpk.sweep(%w) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4x4xf32>):
    %b = mpdfg.unary neg %a : tensor<4x4xf32> -> tensor<4x4xf32>
    mpk.yield %b : tensor<4x4xf32>
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %1, %3 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<4x4xf32>
}
