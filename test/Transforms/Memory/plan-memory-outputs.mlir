// RUN: gnnc-opt %s --split-input-file --plan-memory --mlir-print-local-scope | FileCheck %s
//
// What lies in the memory of a result of the function, and what does not.

// The product is read by its owner when members are added up: it lies where the result goes, and none is in the arena.
// CHECK-LABEL: func.func @added(
// CHECK-NEXT: mpk.arena [] bytes [] first [] last []
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<result 0>]}
// CHECK: } {mpk.places = [#mpk.place<result 0>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @added(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Values that take each other's place all lie there; of two results it is the second.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: mpk.arena [] bytes [] first [] last []
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<result 1>]}
// CHECK: } {mpk.places = [#mpk.place<result 1>]}
// CHECK: } {mpk.places = [#mpk.place<result 1>]}
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<none>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @chain(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node (%0) access [#owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>):
    %y = mpdfg.unary exp %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpk.sweep over @node along @dst (%e, %1) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %3 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %3, %2 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// A row that walks need is written over when they are over: in the arena, too.
// CHECK-LABEL: func.func @walked(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [2]
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 0>]}
// CHECK: } {mpk.places = [#mpk.place<arena 0>]}
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<none>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @walked(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %v: tensor<4x2xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> tensor<?x2xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %m = mpdfg.binary mul %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %s = mpk.accumulate sum %m : tensor<4xf32>
    mpk.yield %s : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpk.product over @node (%1, %v) batch 1 rows 1 k 4 n 2
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// -----

// Two results and one row: one of them has it.
// CHECK-LABEL: func.func @two_results(
// CHECK-NEXT: mpk.arena [] bytes [] first [] last []
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<result 0>]}
// CHECK: } {mpk.places = [#mpk.place<result 0>, #mpk.place<none>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @two_results(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1:2 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner, #owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %z = mpdfg.binary mul %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y, %z : tensor<4xf32>, tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>)
  return %1#0, %1#1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Not where members read other rows of it.
// CHECK-LABEL: func.func @gathered(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @gathered(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>)
    -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%0, %0) access [#source, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Not where a later kernel reads it.
// CHECK-LABEL: func.func @read_later(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [2]
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @read_later(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %v: tensor<4x2xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpk.product over @node (%0, %v) batch 1 rows 1 k 4 n 2
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %1, %2 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>
}

// -----

// Not where it is a result itself.
// CHECK-LABEL: func.func @returned(
// CHECK-NEXT: mpk.arena [] bytes [] first [] last []
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<none>]}
// CHECK: } {mpk.places = [#mpk.place<none>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @returned(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1, %0 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Not where it replaces an argument, which is read before.
// CHECK-LABEL: func.func @updates(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @updates(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>, %h: tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.role = #mpdfg.role<state>})
    -> (tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.updates = #mpdfg.argument<3>}) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Not where it is made in one half of the program and written over in the other: the caller gives each what it makes.
// CHECK-LABEL: func.func @halves(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 0>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @halves(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %g: tensor<?x4xf32, #mpdfg.on<@edge>> {mpdfg.seed})
    -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%g, %0) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Not where memory holds other numbers.
// CHECK-LABEL: func.func @storage(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @storage(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> tensor<?x4xbf16, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xbf16, #mpdfg.on<@node>>
  return %1 : tensor<?x4xbf16, #mpdfg.on<@node>>
}

// -----

// Nor other shapes: the numbers of a row might be cut into tiles otherwise.
// CHECK-LABEL: func.func @reshaped(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @reshaped(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> tensor<?x2x2xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %z = mpdfg.reshape %y : tensor<4xf32> -> tensor<2x2xf32>
    mpk.yield %z : tensor<2x2xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x2x2xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x2x2xf32, #mpdfg.on<@node>>
}

// -----

// Not where a row is written as it was, which a target may do after it was written over.
// CHECK-LABEL: func.func @yielded(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @yielded(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1:2 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner, #owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = mpk.accumulate sum %a : tensor<4xf32>
    %y = mpdfg.binary add %s, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y, %b : tensor<4xf32>, tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>)
  return %1#0, %1#1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Not where the row lacks an axis that may be cut into tiles, each of which would write it.
// CHECK-LABEL: func.func @lacks_axis(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @lacks_axis(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %e: tensor<?x4x64xf32, #mpdfg.on<@edge>>)
    -> (tensor<?x4x1xf32, #mpdfg.on<@node>>, tensor<?x4x64xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4x1xf32, #mpdfg.on<@node>>
  %1:2 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner, #owner] {
  ^bb0(%a: tensor<4x64xf32>, %b: tensor<4x1xf32>):
    %s = mpk.accumulate sum %a : tensor<4x64xf32>
    %y = mpdfg.unary exp %b : tensor<4x1xf32> -> tensor<4x1xf32>
    mpk.yield %y, %s : tensor<4x1xf32>, tensor<4x64xf32>
  } : (tensor<?x4x64xf32, #mpdfg.on<@edge>>, tensor<?x4x1xf32, #mpdfg.on<@node>>) -> (tensor<?x4x1xf32, #mpdfg.on<@node>>, tensor<?x4x64xf32, #mpdfg.on<@node>>)
  return %1#0, %1#1 : tensor<?x4x1xf32, #mpdfg.on<@node>>, tensor<?x4x64xf32, #mpdfg.on<@node>>
}

// -----

// Nor where its axes change places.
// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT: mpk.arena [@node] bytes [64] first [0] last [1]
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @transposed(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4x4xf32>, %e: tensor<?x4x4xf32, #mpdfg.on<@edge>>)
    -> tensor<?x4x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 16
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4x4xf32>) -> tensor<?x4x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %s = mpk.accumulate sum %a : tensor<4x4xf32>
    %t = mpdfg.transpose %b [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    %y = mpdfg.binary add %s, %t : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    mpk.yield %y : tensor<4x4xf32>
  } : (tensor<?x4x4xf32, #mpdfg.on<@edge>>, tensor<?x4x4xf32, #mpdfg.on<@node>>) -> tensor<?x4x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4x4xf32, #mpdfg.on<@node>>
}

// -----

// Products in tiles take members of several owners at a time.
// CHECK-LABEL: func.func @in_tiles(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @in_tiles(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %v: tensor<4x4xf32>, %e: tensor<?x4xf32, #mpdfg.on<@edge>>)
    -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%e, %v, %0) access [#member, #mpk.access<shared>, #owner] yields [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4x4xf32>, %c: tensor<4xf32>):
    %m = mpdfg.contract %a [0], %b [0, 1] -> [1] {mpk.tile} : tensor<4xf32>, tensor<4x4xf32> -> tensor<4xf32>
    %s = mpk.accumulate sum %m : tensor<4xf32>
    %y = mpdfg.binary add %s, %c : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<4x4xf32>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// A product that adds rows number by number, too.
// CHECK-LABEL: func.func @in_epilogue(
// CHECK-NEXT: mpk.arena [] bytes [] first [] last []
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<result 0>]}
// CHECK: } {mpk.places = [#mpk.place<result 0>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @in_epilogue(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>)
    -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 epilogue (%0) access [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %y = mpdfg.binary add %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Not where it multiplies them as well, nor where all of a row is needed for each number: rows are spread over threads.
// CHECK-LABEL: func.func @multiplied(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 0>]}
// CHECK: } {mpk.places = [#mpk.place<none>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @multiplied(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %v: tensor<4x4xf32>)
    -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.product over @node (%0, %v) batch 1 rows 1 k 4 n 4 epilogue (%0) access [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %y = mpdfg.binary add %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x4xf32>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// CHECK-LABEL: func.func @folded(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 0>]}
// CHECK: } {mpk.places = [#mpk.place<none>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @folded(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>)
    -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 epilogue (%0) access [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %f = mpdfg.fold sum %b [0] : tensor<4xf32> -> tensor<1xf32>
    %y = mpdfg.binary add %a, %f : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
    mpk.yield %y : tensor<4xf32>
  } : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>, tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Nor beside another result, whose axes may be cut otherwise; the same of a sweep over rows.
// CHECK-LABEL: func.func @two_in_epilogue(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 0>]}
// CHECK: } {mpk.places = [#mpk.place<none>, #mpk.place<none>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @two_in_epilogue(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1:2 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 epilogue (%0) access [#owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %y = mpdfg.unary exp %a : tensor<4xf32> -> tensor<4xf32>
    %z = mpdfg.unary exp %b : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y, %z : tensor<4xf32>, tensor<4xf32>
  } : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>, tensor<?x4xf32, #mpdfg.on<@node>>) -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>)
  return %1#0, %1#1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// CHECK-LABEL: func.func @two_of_rows(
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [1]
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 0>]}
// CHECK: } {mpk.places = [#mpk.place<none>, #mpk.place<none>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
mpdfg.map @src root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
#source = #mpk.access<gather_member @src>
func.func @two_of_rows(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %h: tensor<?x4xf32, #mpdfg.on<@node>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1:2 = mpk.sweep over @node (%h, %0) access [#owner, #owner] yields [#owner, #owner] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %y = mpdfg.unary neg %a : tensor<4xf32> -> tensor<4xf32>
    %z = mpdfg.unary exp %b : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %y, %z : tensor<4xf32>, tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>) -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>)
  return %1#0, %1#1 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>
}

// -----

// Lanes write what is theirs, not what they read, of a transposed row.
// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT: mpk.arena [@node] bytes [64] first [0] last [1]
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 0>]}
// CHECK: } {mpk.places = [#mpk.place<none>]}
mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @dst root from @edge to @node
#owner = #mpk.access<owner>
#member = #mpk.access<member>
func.func @transposed(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x16xf32>, %e: tensor<?x4x4xf32, #mpdfg.on<@edge>>)
    -> tensor<?x4x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 16
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x16xf32>) -> tensor<?x4x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node along @dst (%e, %0) access [#member, #owner] yields [#owner] {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %f = mpdfg.fold sum %a [0, 1] : tensor<4x4xf32> -> tensor<1x1xf32>
    %m = mpdfg.binary mul %a, %f : tensor<4x4xf32>, tensor<1x1xf32> -> tensor<4x4xf32>
    %s = mpk.accumulate sum %m : tensor<4x4xf32>
    %t = mpdfg.transpose %b [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    %y = mpdfg.binary add %s, %t : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    mpk.yield %y : tensor<4x4xf32>
  } : (tensor<?x4x4xf32, #mpdfg.on<@edge>>, tensor<?x4x4xf32, #mpdfg.on<@node>>) -> tensor<?x4x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4x4xf32, #mpdfg.on<@node>>
}

// -----

// Products in tiles go over many rows for each result and each sum by itself.
// CHECK-LABEL: func.func @tiles(
// CHECK-NEXT: mpk.arena [@edge] bytes [1024] first [0] last [1]
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 0>]}
// CHECK: } {mpk.places = [#mpk.place<none>, #mpk.place<none>]}
mpdfg.space @edge root
#owner = #mpk.access<owner>
#shared = #mpk.access<shared>
func.func @tiles(%x: tensor<?x16x16xf32, #mpdfg.on<@edge>>, %w: tensor<16x16xf32>)
    -> (tensor<?x16x16xf32, #mpdfg.on<@edge>>, tensor<16x16xf32>) {
  %0 = mpk.product over @edge (%x, %w) batch 1 rows 16 k 16 n 16
     : (tensor<?x16x16xf32, #mpdfg.on<@edge>>, tensor<16x16xf32>) -> tensor<?x16x16xf32, #mpdfg.on<@edge>>
  %1:2 = mpk.sweep over @edge (%0, %w) access [#owner, #shared] yields [#owner, #shared] {
  ^bb0(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>):
    %r = mpdfg.unary relu %a : tensor<16x16xf32> -> tensor<16x16xf32>
    %m = mpdfg.contract %r [0, 1], %b [1, 2] -> [0, 2] {mpk.tile} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %q = mpdfg.binary mul %m, %m : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %f = mpdfg.fold sum %q [0, 1] : tensor<16x16xf32> -> tensor<1x1xf32>
    %y = mpdfg.binary mul %m, %f : tensor<16x16xf32>, tensor<1x1xf32> -> tensor<16x16xf32>
    %s = mpdfg.unary square %a : tensor<16x16xf32> -> tensor<16x16xf32>
    %t = mpk.accumulate sum %s shared : tensor<16x16xf32>
    mpk.yield %y, %t : tensor<16x16xf32>, tensor<16x16xf32>
  } : (tensor<?x16x16xf32, #mpdfg.on<@edge>>, tensor<16x16xf32>) -> (tensor<?x16x16xf32, #mpdfg.on<@edge>>, tensor<16x16xf32>)
  return %1#0, %1#1 : tensor<?x16x16xf32, #mpdfg.on<@edge>>, tensor<16x16xf32>
}
