// RUN: gnnc-opt %s --split-input-file | gnnc-opt --split-input-file | FileCheck %s
//
// Every discardable attribute of mpk where it may be, printed as it was read. The errors are in
// kernel-attrs-invalid.mlir.

// Rows for an element of a space and rows that all share have slots in the arena; %1 lies where the function's result 0
// is written in the end; %2 has the caller's memory itself, and so has %3#0, which is returned as another type.
// CHECK-LABEL: func.func @places
// CHECK: mpk.product {{.*}}{mpk.places = [#mpk.place<arena 1>]}
// CHECK: } {mpk.places = [#mpk.place<result 0>, #mpk.place<arena 0>]}
// CHECK: } {mpk.places = [#mpk.place<none>]}
// CHECK: } {mpk.places = [#mpk.place<none>]}
mpdfg.space @node root
mpdfg.space @kind static {extent = 3 : i64}
#owner = #mpk.access<owner>
#shared = #mpk.access<shared>
func.func @places(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %v: tensor<3x8xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<3x8xf32, #mpdfg.on<@kind>>) {
  mpk.arena [unit, @node] bytes [16, 16] first [1, 0] last [2, 1]
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 {mpk.places = [#mpk.place<arena 1>]}
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1:2 = mpk.sweep over @node (%0) access [#owner] yields [#owner, #shared] {
  ^bb0(%a: tensor<4xf32>):
    %b = mpdfg.unary exp %a : tensor<4xf32> -> tensor<4xf32>
    %s = mpk.accumulate sum %b shared : tensor<4xf32>
    mpk.yield %b, %s : tensor<4xf32>, tensor<4xf32>
  } {mpk.places = [#mpk.place<result 0>, #mpk.place<arena 0>]}
    : (tensor<?x4xf32, #mpdfg.on<@node>>) -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>)
  %2 = mpk.sweep over @node (%1#0, %1#1) access [#owner, #shared] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %c = mpdfg.binary div %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %c : tensor<4xf32>
  } {mpk.places = [#mpk.place<none>]}
    : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpk.sweep (%v) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<3x8xf32>):
    %b = mpdfg.unary exp %a : tensor<3x8xf32> -> tensor<3x8xf32>
    mpk.yield %b : tensor<3x8xf32>
  } {mpk.places = [#mpk.place<none>]} : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %4 = mpdfg.spread %3 : tensor<3x8xf32> -> tensor<3x8xf32, #mpdfg.on<@kind>>
  return %2, %4 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<3x8xf32, #mpdfg.on<@kind>>
}

// -----

// Kernels of a launch, with nothing but a view between them; the next launch may read what they write.
// CHECK-LABEL: func.func @launches
// CHECK-COUNT-2: mpk.launch = 0 : i64
// CHECK: mpk.launch = 1 : i64
mpdfg.space @kind static {extent = 3 : i64}
#shared = #mpk.access<shared>
func.func @launches(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32, #mpdfg.on<@kind>>) {
  %0 = mpk.sweep (%x) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<3x4xf32>):
    %b = mpdfg.unary exp %a : tensor<3x4xf32> -> tensor<3x4xf32>
    mpk.yield %b : tensor<3x4xf32>
  } {mpk.launch = 0 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = mpdfg.spread %0 : tensor<3x4xf32> -> tensor<3x4xf32, #mpdfg.on<@kind>>
  %2 = mpk.sweep (%x) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<3x4xf32>):
    %b = mpdfg.unary neg %a : tensor<3x4xf32> -> tensor<3x4xf32>
    mpk.yield %b : tensor<3x4xf32>
  } {mpk.launch = 0 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %3 = mpk.sweep (%2) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<3x4xf32>):
    %b = mpdfg.unary neg %a : tensor<3x4xf32> -> tensor<3x4xf32>
    mpk.yield %b : tensor<3x4xf32>
  } {mpk.launch = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %3, %1 : tensor<3x4xf32>, tensor<3x4xf32, #mpdfg.on<@kind>>
}

// -----

// Labels in each of the three orders, before and after fusion.
// CHECK-LABEL: func.func @tiles
// CHECK: mpdfg.contract %{{.*}} [0, 1], %{{.*}} [0, 1, 2] -> [0, 2] {mpk.tile}
// CHECK: mpdfg.contract %{{.*}} [0, 1], %{{.*}} [1, 2] -> [0, 2] {mpk.tile}
// CHECK: mpdfg.contract %{{.*}} [0, 1], %{{.*}} [0, 2] -> [0, 1, 2] {mpk.tile}
mpdfg.space @edge root
#member = #mpk.access<owner>
#shared = #mpk.access<shared>
func.func @tiles(%x: tensor<?x2x4xf32, #mpdfg.on<@edge>>, %w: tensor<2x4x8xf32>, %v: tensor<4x8xf32>)
    -> (tensor<?x2x8xf32, #mpdfg.on<@edge>>, tensor<2x4x8xf32>) {
  %0 = mpdfg.contract %x [0, 1], %w [0, 1, 2] -> [0, 2] {mpk.tile}
     : tensor<?x2x4xf32, #mpdfg.on<@edge>>, tensor<2x4x8xf32> -> tensor<?x2x8xf32, #mpdfg.on<@edge>>
  %1:2 = mpk.sweep over @edge (%x, %v, %0) access [#member, #shared, #member] yields [#member, #shared] {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<4x8xf32>, %c: tensor<2x8xf32>):
    %d = mpdfg.contract %a [0, 1], %b [1, 2] -> [0, 2] {mpk.tile} : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
    %e = mpdfg.contract %a [0, 1], %c [0, 2] -> [0, 1, 2] {mpk.tile}
       : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<2x4x8xf32>
    %f = mpk.accumulate sum %e shared : tensor<2x4x8xf32>
    mpk.yield %d, %f : tensor<2x8xf32>, tensor<2x4x8xf32>
  } : (tensor<?x2x4xf32, #mpdfg.on<@edge>>, tensor<4x8xf32>, tensor<?x2x8xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x2x8xf32, #mpdfg.on<@edge>>, tensor<2x4x8xf32>)
  return %1#0, %1#1 : tensor<?x2x8xf32, #mpdfg.on<@edge>>, tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func.func @forward
// CHECK: func.func private @forward.few_owners(tensor<4xf32>) -> tensor<4xf32> attributes {mpk.alternative = @forward}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @forward.few_owners(tensor<4xf32>) -> tensor<4xf32> attributes {mpk.alternative = @forward}

// -----

// CHECK-LABEL: func.func @numbers
// CHECK: mpdfg.element {{.*}}mpk.of_owner
mpdfg.space @node root
#owner = #mpk.access<owner>
func.func @numbers(%x: tensor<?x1xf32, #mpdfg.on<@node>>) -> tensor<?x1xf32, #mpdfg.on<@node>> {
  %0 = mpk.sweep over @node (%x) access [#owner] yields [#owner] {
  ^bb0(%a: tensor<1xf32>):
    %b = mpdfg.element {mpk.of_owner} : tensor<1xf32>
    mpk.yield %b : tensor<1xf32>
  } : (tensor<?x1xf32, #mpdfg.on<@node>>) -> tensor<?x1xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x1xf32, #mpdfg.on<@node>>
}
