// RUN: gnnc-opt %s --fuse-epilogues -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --fuse-epilogues=spread -split-input-file | FileCheck %s --check-prefix=SPREAD
// RUN: gnnc-opt %s --fuse-epilogues=spread -split-input-file --remark-format=emitRemark \
// RUN:   --remarks-filter=fuse-epilogues -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root

// A bias and an activation: the product's own row is nobody else's, so it is no result.
// CHECK-LABEL: func @bias
// CHECK-NEXT: %[[Y:.*]] = mpk.product over @node(%arg0, %arg1) batch 1 rows 1 k 8 n 4 epilogue(%arg2) access [#mpk.access<shared>]
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[SUM:.*]] = mpdfg.binary add %[[ROW]], %[[B]]
// CHECK-NEXT: %[[R:.*]] = mpdfg.unary relu %[[SUM]]
// CHECK-NEXT: mpk.yield %[[R]]
// CHECK: return %[[Y]]
// For targets that spread rows: each number is made of one number of the row.
// SPREAD-LABEL: func @bias
// SPREAD: epilogue
func.func @bias(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node (%b, %0) access [#mpk.access<shared>, #mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%c: tensor<4xf32>, %z: tensor<4xf32>):
    %2 = mpdfg.binary add %z, %c : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %3 = mpdfg.unary relu %2 : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %3 : tensor<4xf32>
  } : (tensor<4xf32>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root

// Scores beside the row itself, which is needed afterwards: a further result. Of two products the later one takes the
// sweep, and the other's rows are an extra operand.
// CHECK-LABEL: func @scores
// CHECK: %[[OTHER:.*]] = mpk.product over @node(%arg0, %arg1) batch 1 rows 1 k 8 n 4 :
// CHECK: %[[Z:.*]]:2 = mpk.product over @node(%arg0, %arg2) {{.*}} epilogue(%[[OTHER]]) access [#mpk.access<owner>]
// CHECK: ^bb0(%[[ROW:.*]]: tensor<4xf32>, %[[O:.*]]: tensor<4xf32>):
// CHECK: mpk.yield %{{.*}}, %[[ROW]] : tensor<1xf32>, tensor<4xf32>
// CHECK: return %[[Z]]#0, %[[Z]]#1
// A score is a fold over the whole row, which is short enough for few threads.
// SPREAD-LABEL: func @scores
// SPREAD: epilogue
func.func @scores(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %v: tensor<8x4xf32>, %w: tensor<8x4xf32>)
    -> (tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %v) batch 1 rows 1 k 8 n 4 : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpk.sweep over @node (%0, %1) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %3 = mpdfg.binary mul %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %4 = mpdfg.fold sum %3 [0] : tensor<4xf32> -> tensor<1xf32>
    mpk.yield %4 : tensor<1xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %2, %1 : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

// Not joined: a sweep that walks members, one that sums over all rows, and one whose rows are read before it.
// CHECK-LABEL: func @stays
// CHECK-NOT: epilogue
func.func @stays(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %u: tensor<4x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%0) access [#mpk.access<gather_member @src>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %5 = mpk.accumulate sum %a : tensor<4xf32>
    mpk.yield %5 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpk.sweep over @node (%0) access [#mpk.access<owner>] yields [#mpk.access<shared>] {
  ^bb0(%a: tensor<4xf32>):
    %5 = mpk.accumulate sum %a shared : tensor<4xf32>
    mpk.yield %5 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<4xf32>
  %3 = mpk.product over @node (%0, %u) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %4 = mpk.sweep over @node (%0) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %5 = mpdfg.unary relu %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %5 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1, %2, %3, %4 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root

// A sweep that needs the gradient of an output does not join a product of the forward half, which runs before there is
// one; nor does what is computed once more for the backward half.
// CHECK-LABEL: func @gradient
// CHECK-NOT: epilogue
func.func @gradient(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>,
                    %g: tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.name = "grad.y", mpdfg.role = #mpdfg.role<input>, mpdfg.seed})
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node (%0, %g) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %3 = mpdfg.binary mul %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %3 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpk.sweep over @node (%0) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %3 = mpdfg.unary exp %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %3 : tensor<4xf32>
  } {mpdfg.again} : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1, %2 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node

// A degree is no memory but an index: it joins for all targets.
// CHECK-LABEL: func @degree
// CHECK: epilogue
// SPREAD-LABEL: func @degree
// SPREAD: epilogue
func.func @degree(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %d = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node (%d, %0) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%c: tensor<f32>, %z: tensor<4xf32>):
    %2 = mpdfg.reshape %c : tensor<f32> -> tensor<1xf32>
    %3 = mpdfg.binary mul %z, %2 : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
    mpk.yield %3 : tensor<4xf32>
  } : (tensor<?xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

mpdfg.space @node root

!in = tensor<?x8xf32, #mpdfg.on<@node>>
!long = tensor<?x128xf32, #mpdfg.on<@node>>
!heads = tensor<?x2x4xf32, #mpdfg.on<@node>>

// Where rows are spread: one that is too long to be folded, a fold over one of two axes, and one that takes two passes.
// CHECK-LABEL: func @folds
// CHECK-COUNT-3: epilogue
// SPREAD-LABEL: func @folds
// SPREAD-NOT: epilogue
// REMARK: Function=folds | Reason="it needs the whole row, which is longer than what a few threads have", Remark="row operations after a product stay a sweep"
// REMARK: Function=folds | Reason="it folds part of a row, and its target spreads the whole"
// REMARK: Function=folds | Reason="it folds a row in more than one pass, and its target spreads it"
func.func @folds(%x: !in, %v: tensor<8x128xf32>, %w: tensor<8x2x4xf32>, %u: tensor<8x4xf32>)
    -> (tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x2x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %v) batch 1 rows 1 k 8 n 128 : (!in, tensor<8x128xf32>) -> !long
  %1 = mpk.sweep over @node (%0) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<128xf32>):
    %6 = mpdfg.fold max %a [0] : tensor<128xf32> -> tensor<1xf32>
    mpk.yield %6 : tensor<1xf32>
  } : (!long) -> tensor<?x1xf32, #mpdfg.on<@node>>
  %2 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 8 : (!in, tensor<8x2x4xf32>) -> !heads
  %3 = mpk.sweep over @node (%2) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2x4xf32>):
    %6 = mpdfg.fold sum %a [1] : tensor<2x4xf32> -> tensor<2x1xf32>
    mpk.yield %6 : tensor<2x1xf32>
  } : (!heads) -> tensor<?x2x1xf32, #mpdfg.on<@node>>
  %4 = mpk.product over @node (%x, %u) batch 1 rows 1 k 8 n 4 : (!in, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %5 = mpk.sweep over @node (%4) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %6 = mpdfg.fold logsumexp %a [0] : tensor<4xf32> -> tensor<1xf32>
    mpk.yield %6 : tensor<1xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %1, %3, %5 : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x2x1xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>>
}
