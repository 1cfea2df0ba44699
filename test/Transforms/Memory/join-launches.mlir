// RUN: gnnc-opt %s --split-input-file --join-launches | FileCheck %s
// RUN: gnnc-opt %s --split-input-file --join-launches --remarks-filter=join-launches 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// The steps of an optimiser: what needs no other shares a launch and lies side by side. The first value is made as late
// as its reader allows; rows of a space of known extent go along.
// REMARK: 2 small kernels that do not need each other share a launch
// REMARK: 2 small kernels that do not need each other share a launch
// CHECK-LABEL: func.func @step
// CHECK: mpk.sweep(%arg3)
// CHECK: {mpk.launch = 0 : i64}
// CHECK: mpk.sweep(%arg0)
// CHECK: {mpk.launch = 0 : i64}
// CHECK: mpk.sweep over @class(%arg1,
// CHECK: {mpk.launch = 1 : i64}
// CHECK: mpk.sweep(%arg2,
// CHECK: {mpk.launch = 1 : i64}
// CHECK-NOT: mpk.launch
mpdfg.space @node root
mpdfg.space @class static {extent = 3 : i64}
#shared = #mpk.access<shared>
#owner = #mpk.access<owner>
func.func @step(%a: tensor<4xf32>, %b: tensor<3x4xf32, #mpdfg.on<@class>>, %c: tensor<4xf32>, %d: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<3x4xf32, #mpdfg.on<@class>>, tensor<4xf32>) {
  %0 = mpk.sweep(%d) access [#shared] yields [#shared] {
  ^bb0(%x: tensor<4xf32>):
    %y = mpdfg.unary neg %x : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpk.sweep over @class(%b, %0) access [#owner, #shared] yields [#owner] {
  ^bb0(%x: tensor<4xf32>, %s: tensor<4xf32>):
    %y = mpdfg.binary add %x, %s : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<3x4xf32, #mpdfg.on<@class>>, tensor<4xf32>) -> tensor<3x4xf32, #mpdfg.on<@class>>
  %2 = mpk.sweep(%a) access [#shared] yields [#shared] {
  ^bb0(%x: tensor<4xf32>):
    %y = mpdfg.unary neg %x : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %3 = mpk.sweep(%c, %0) access [#shared, #shared] yields [#shared] {
  ^bb0(%x: tensor<4xf32>, %s: tensor<4xf32>):
    %y = mpdfg.binary add %x, %s : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %1, %3 : tensor<4xf32>, tensor<3x4xf32, #mpdfg.on<@class>>, tensor<4xf32>
}

// -----

// Not: rows of which only the graph knows how many, sums over all rows, and a kernel that needs the other, here through
// a view and one that cannot join.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: mpk.launch
mpdfg.space @node root
mpdfg.space @class static {extent = 3 : i64}
#shared = #mpk.access<shared>
#owner = #mpk.access<owner>
func.func @apart(%a: tensor<?x4xf32, #mpdfg.on<@node>>, %b: tensor<3x4xf32, #mpdfg.on<@class>>, %c: tensor<4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>, tensor<4xf32>) {
  %0 = mpk.sweep over @node(%a) access [#owner] yields [#owner] {
  ^bb0(%x: tensor<4xf32>):
    %y = mpdfg.unary neg %x : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep(%c) access [#shared] yields [#shared] {
  ^bb0(%x: tensor<4xf32>):
    %y = mpdfg.unary neg %x : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpk.sweep over @class(%b, %1) access [#owner, #shared] yields [#shared] {
  ^bb0(%x: tensor<4xf32>, %s: tensor<4xf32>):
    %y = mpdfg.binary add %x, %s : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %t = mpk.accumulate sum %y shared : tensor<4xf32>
    mpk.yield %t : tensor<4xf32>
  } : (tensor<3x4xf32, #mpdfg.on<@class>>, tensor<4xf32>) -> tensor<4xf32>
  %3 = mpk.sweep(%2) access [#shared] yields [#shared] {
  ^bb0(%x: tensor<4xf32>):
    %y = mpdfg.unary neg %x : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %2, %3 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>, tensor<4xf32>
}

// -----

// No values of each other, but the second is written where the first one reads.
// CHECK-LABEL: func.func @replaced
// CHECK: mpk.sweep(%arg0)
// CHECK: mpk.sweep(%arg1)
// CHECK-NOT: mpk.launch
#shared = #mpk.access<shared>
func.func @replaced(%w: tensor<4xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>}, %x: tensor<4xf32> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>})
    -> (tensor<4xf32> {mpdfg.name = "y"}, tensor<4xf32> {mpdfg.name = "w", mpdfg.updates = #mpdfg.argument<0>}) {
  %0 = mpk.sweep(%w) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    %2 = mpdfg.unary neg %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpk.sweep(%x) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    %2 = mpdfg.unary neg %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Halves that can be run apart stay apart: the second sweep needs the gradient of an output.
// CHECK-LABEL: func.func @gradient
// CHECK-NOT: mpk.launch
#shared = #mpk.access<shared>
func.func @gradient(%w: tensor<4xf32> {mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>}, %g: tensor<4xf32> {mpdfg.name = "grad.y", mpdfg.role = #mpdfg.role<input>, mpdfg.seed})
    -> (tensor<4xf32> {mpdfg.name = "y"}, tensor<4xf32> {mpdfg.name = "grad.w"}) {
  %0 = mpk.sweep(%w) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    %2 = mpdfg.unary neg %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpk.sweep(%g) access [#shared] yields [#shared] {
  ^bb0(%a: tensor<4xf32>):
    %2 = mpdfg.unary neg %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
