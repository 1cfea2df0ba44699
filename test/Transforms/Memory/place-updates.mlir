// RUN: gnnc-opt %s --split-input-file --place-updates | FileCheck %s --check-prefixes=CHECK,INPLACE
// RUN: gnnc-opt %s --split-input-file --place-updates=early | FileCheck %s --check-prefixes=CHECK,EARLY

// The weight is still read by the second kernel: the one that replaces it goes last, and writes in place.
// CHECK-LABEL: func.func @train_step
// CHECK: %[[USED:.*]] = mpk.sweep(%arg0, %arg1)
// CHECK: %[[NEW:.*]] = mpk.sweep(%arg0)
// CHECK: return %[[USED]], %[[NEW]]
#shared = #mpk.access<shared>
func.func @train_step(%w: tensor<4xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>}, %x: tensor<4xf32> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>})
    -> (tensor<4xf32> {mpdfg.name = "y"}, tensor<4xf32> {mpdfg.name = "w", mpdfg.updates = #mpdfg.argument<0>}) {
  %0 = mpk.sweep(%w) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    %2 = mpdfg.binary mul %a, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpk.sweep(%w, %x) access [#shared, #shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %2 = mpdfg.binary add %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Each of two states becomes the other: the first to be written would be gone when the second one reads it, so one is
// made elsewhere and copied last.
// CHECK-LABEL: func.func @exchange
// CHECK: %[[A:.*]] = mpk.sweep(%arg1)
// CHECK: %[[B:.*]] = mpk.sweep(%arg0)
// CHECK: %[[COPY:.*]] = mpk.sweep(%[[A]])
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4xf32>):
// CHECK-NEXT: mpk.yield %[[X]]
// CHECK: return %[[COPY]], %[[B]]
#shared = #mpk.access<shared>
func.func @exchange(%a: tensor<4xf32> {mpdfg.name = "a", mpdfg.role = #mpdfg.role<state>}, %b: tensor<4xf32> {mpdfg.name = "b", mpdfg.role = #mpdfg.role<state>})
    -> (tensor<4xf32> {mpdfg.name = "a", mpdfg.updates = #mpdfg.argument<0>}, tensor<4xf32> {mpdfg.name = "b", mpdfg.updates = #mpdfg.argument<1>}) {
  %0 = mpk.sweep(%b) access [#shared] yields [#shared] {
  ^bb0(%x: tensor<4xf32>):
    %2 = mpdfg.unary neg %x : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpk.sweep(%a) access [#shared] yields [#shared] {
  ^bb0(%x: tensor<4xf32>):
    %2 = mpdfg.unary neg %x : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A value on nodes that is read through a map by the kernel that replaces it: other rows of it are still needed.
// CHECK-LABEL: func.func @smoothed
// CHECK: %[[SUM:.*]] = mpk.sweep over @node along @dst(%arg0)
// CHECK: %[[COPY:.*]] = mpk.sweep over @node(%[[SUM]]) access [#mpk.access<owner>] yields [#mpk.access<owner>]
// CHECK: return %[[COPY]]
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
func.func @smoothed(%h: tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.name = "h", mpdfg.role = #mpdfg.role<state>})
    -> (tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.name = "h", mpdfg.updates = #mpdfg.argument<0>}) {
  %0 = mpk.sweep over @node along @dst(%h) access [#mpk.access<gather_member @src>] yields [#mpk.access<owner>] {
  ^bb0(%x: tensor<4xf32>):
    %1 = mpk.accumulate sum %x : tensor<4xf32>
    mpk.yield %1 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Views of what replaces a weight go with it.
// CHECK-LABEL: func.func @viewed
// CHECK: mpk.sweep(%arg0)
// CHECK: %[[NEW:.*]] = mpk.sweep over @rows
// CHECK: %[[VIEW:.*]] = mpdfg.collect %[[NEW]]
// CHECK: return %{{.*}}, %[[VIEW]]
#shared = #mpk.access<shared>
#owner = #mpk.access<owner>
mpdfg.space @rows static {extent = 4 : i64}
func.func @viewed(%w: tensor<4x8xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>})
    -> (tensor<4x8xf32> {mpdfg.name = "y"}, tensor<4x8xf32> {mpdfg.name = "w", mpdfg.updates = #mpdfg.argument<0>}) {
  %0 = mpdfg.spread %w : tensor<4x8xf32> -> tensor<4x8xf32, #mpdfg.on<@rows>>
  %1 = mpk.sweep over @rows(%0) access [#owner] yields [#owner] {
  ^bb0(%a: tensor<8xf32>):
    %4 = mpdfg.unary neg %a : tensor<8xf32> -> tensor<8xf32>
    mpk.yield %4 : tensor<8xf32>
  } : (tensor<4x8xf32, #mpdfg.on<@rows>>) -> tensor<4x8xf32, #mpdfg.on<@rows>>
  %2 = mpdfg.collect %1 : tensor<4x8xf32, #mpdfg.on<@rows>> -> tensor<4x8xf32>
  %3 = mpk.sweep(%w) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4x8xf32>):
    %4 = mpdfg.unary exp %a : tensor<4x8xf32> -> tensor<4x8xf32>
    mpk.yield %4 : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A counter beside a wider value: if the sweep is computed in tiles of the wide one, each tile would count once more.
// CHECK-LABEL: func.func @counted
// CHECK: %[[BOTH:.*]]:2 = mpk.sweep(%arg0, %arg1)
// CHECK: %[[COPY:.*]] = mpk.sweep(%[[BOTH]]#1)
// CHECK: return %[[BOTH]]#0, %[[COPY]]
#shared = #mpk.access<shared>
func.func @counted(%w: tensor<64xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>}, %n: tensor<f32> {mpdfg.name = "n", mpdfg.role = #mpdfg.role<state>})
    -> (tensor<64xf32> {mpdfg.name = "w", mpdfg.updates = #mpdfg.argument<0>}, tensor<f32> {mpdfg.name = "n", mpdfg.updates = #mpdfg.argument<1>}) {
  %0:2 = mpk.sweep(%w, %n) access [#shared, #shared] yields [#shared, #shared] {
  ^bb0(%a: tensor<64xf32>, %b: tensor<f32>):
    %1 = mpdfg.constant 1.0 : tensor<f32>
    %2 = mpdfg.binary add %b, %1 : tensor<f32>, tensor<f32> -> tensor<f32>
    %3 = mpdfg.unary neg %a : tensor<64xf32> -> tensor<64xf32>
    mpk.yield %3, %2 : tensor<64xf32>, tensor<f32>
  } : (tensor<64xf32>, tensor<f32>) -> (tensor<64xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<64xf32>, tensor<f32>
}

// -----

// The number of a step is read by a kernel before it is counted, and counted for another. In place the count waits for
// the first; made elsewhere, where that is wanted, it does not. A number that nobody else reads stays in place.
// CHECK-LABEL: func.func @count
// INPLACE: %[[NEXT:.*]] = mpk.sweep(%arg0)
// INPLACE: %[[OTHER:.*]] = mpk.sweep(%arg1)
// INPLACE: return %{{.*}}, %{{.*}}, %[[NEXT]], %[[OTHER]]
// EARLY: %[[NEXT:.*]] = mpk.sweep(%arg0)
// EARLY: %[[OTHER:.*]] = mpk.sweep(%arg1)
// EARLY: %[[COPY:.*]] = mpk.sweep(%[[NEXT]])
// EARLY: return %{{.*}}, %{{.*}}, %[[COPY]], %[[OTHER]]
#shared = #mpk.access<shared>
func.func @count(%t: tensor<1xf32> {mpdfg.name = "t", mpdfg.role = #mpdfg.role<state>}, %u: tensor<1xf32> {mpdfg.name = "u", mpdfg.role = #mpdfg.role<state>})
    -> (tensor<1xf32> {mpdfg.name = "y"}, tensor<1xf32> {mpdfg.name = "z"},
        tensor<1xf32> {mpdfg.name = "t", mpdfg.updates = #mpdfg.argument<0>}, tensor<1xf32> {mpdfg.name = "u", mpdfg.updates = #mpdfg.argument<1>}) {
  %0 = mpk.sweep(%t, %u) access [#shared, #shared] yields [#shared] {
  ^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>):
    %4 = mpdfg.binary mul %a, %b : tensor<1xf32>, tensor<1xf32> -> tensor<1xf32>
    mpk.yield %4 : tensor<1xf32>
  } : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %1 = mpk.sweep(%t) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<1xf32>):
    %4 = mpdfg.unary exp %a : tensor<1xf32> -> tensor<1xf32>
    mpk.yield %4 : tensor<1xf32>
  } : (tensor<1xf32>) -> tensor<1xf32>
  %2 = mpk.sweep(%1) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<1xf32>):
    %4 = mpdfg.unary neg %a : tensor<1xf32> -> tensor<1xf32>
    mpk.yield %4 : tensor<1xf32>
  } : (tensor<1xf32>) -> tensor<1xf32>
  %3 = mpk.sweep(%u) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<1xf32>):
    %4 = mpdfg.unary exp %a : tensor<1xf32> -> tensor<1xf32>
    mpk.yield %4 : tensor<1xf32>
  } : (tensor<1xf32>) -> tensor<1xf32>
  return %0, %2, %1, %3 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}
