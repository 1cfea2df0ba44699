// RUN: gnnc-opt %s --plan-memory | FileCheck %s

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @kind static {extent = 3 : i64}
mpdfg.map @dst root from @edge to @node
mpdfg.map @etype root from @edge to @kind

// The first result is live until the third kernel, the second until its reader, the next one; the output has no slot.
// CHECK-LABEL: func @chain
// CHECK-NEXT: mpk.arena [@node, @node] bytes [16, 8] first [0, 1] last [2, 2]
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 0>]}
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 1>]}
// CHECK: mpk.sweep
// CHECK: } {mpk.places = [#mpk.place<none>]}
func.func @chain(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %v: tensor<4x2xf32>)
    -> tensor<?x2x2xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.product over @node (%0, %v) batch 1 rows 1 k 4 n 2
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  %2 = mpk.sweep over @node (%0, %1) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<2xf32>):
    %3 = mpdfg.fold sum %b [0] : tensor<2xf32> -> tensor<1xf32>
    %4 = mpdfg.binary mul %a, %3 : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
    %5 = mpdfg.reshape %4 : tensor<4xf32> -> tensor<2x2xf32>
    mpk.yield %5 : tensor<2x2xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>) -> tensor<?x2x2xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x2x2xf32, #mpdfg.on<@node>>
}

// Some results of a kernel are outputs, others are not; a shared one has no space; double precision has 8 bytes.
// CHECK-LABEL: func @kinds
// CHECK-NEXT: mpk.arena [unit] bytes [32] first [0] last [1]
// CHECK: {mpk.places = [#mpk.place<none>, #mpk.place<arena 0>]}
// CHECK: {mpk.places = [#mpk.place<none>]}
func.func @kinds(%x: tensor<?x4xf64, #mpdfg.on<@node>>)
    -> (tensor<?x4xf64, #mpdfg.on<@node>>, tensor<?x4xf64, #mpdfg.on<@node>>) {
  %0:2 = mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [#mpk.access<owner>, #mpk.access<shared>] {
  ^bb0(%a: tensor<4xf64>):
    %2 = mpdfg.unary exp %a : tensor<4xf64> -> tensor<4xf64>
    %3 = mpk.accumulate sum %2 shared : tensor<4xf64>
    mpk.yield %2, %3 : tensor<4xf64>, tensor<4xf64>
  } : (tensor<?x4xf64, #mpdfg.on<@node>>) -> (tensor<?x4xf64, #mpdfg.on<@node>>, tensor<4xf64>)
  %1 = mpk.sweep over @node (%0#0, %0#1) access [#mpk.access<owner>, #mpk.access<shared>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf64>, %b: tensor<4xf64>):
    %2 = mpdfg.binary div %a, %b : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
    mpk.yield %2 : tensor<4xf64>
  } : (tensor<?x4xf64, #mpdfg.on<@node>>, tensor<4xf64>) -> tensor<?x4xf64, #mpdfg.on<@node>>
  return %0#0, %1 : tensor<?x4xf64, #mpdfg.on<@node>>, tensor<?x4xf64, #mpdfg.on<@node>>
}

// A value is live as long as the views of it are read; a result nobody reads, while its kernel runs.
// CHECK-LABEL: func @views
// CHECK-NEXT: mpk.arena [unit, unit] bytes [96, 4] first [0, 0] last [1, 0]
// CHECK: {mpk.places = [#mpk.place<arena 0>, #mpk.place<arena 1>]}
// CHECK: mpdfg.spread
// CHECK: {mpk.places = [#mpk.place<none>]}
func.func @views(%w: tensor<3x8xf32>, %s: tensor<1xf32>, %e: tensor<?x1xf32, #mpdfg.on<@edge>>)
    -> tensor<?x8xf32, #mpdfg.on<@node>> {
  %0:2 = mpk.sweep (%w, %s) access [#mpk.access<shared>, #mpk.access<shared>]
      yields [#mpk.access<shared>, #mpk.access<shared>] {
  ^bb0(%a: tensor<3x8xf32>, %b: tensor<1xf32>):
    %2 = mpdfg.unary exp %a : tensor<3x8xf32> -> tensor<3x8xf32>
    mpk.yield %2, %b : tensor<3x8xf32>, tensor<1xf32>
  } : (tensor<3x8xf32>, tensor<1xf32>) -> (tensor<3x8xf32>, tensor<1xf32>)
  %1 = mpdfg.spread %0#0 : tensor<3x8xf32> -> tensor<3x8xf32, #mpdfg.on<@kind>>
  %2 = mpk.sweep over @node along @dst (%1, %e) access [#mpk.access<gather_member @etype>, #mpk.access<member>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<8xf32>, %b: tensor<1xf32>):
    %3 = mpdfg.binary mul %a, %b : tensor<8xf32>, tensor<1xf32> -> tensor<8xf32>
    %4 = mpk.accumulate sum %3 : tensor<8xf32>
    mpk.yield %4 : tensor<8xf32>
  } : (tensor<3x8xf32, #mpdfg.on<@kind>>, tensor<?x1xf32, #mpdfg.on<@edge>>) -> tensor<?x8xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x8xf32, #mpdfg.on<@node>>
}

// A sweep over rows that is the last to read a row writes its own there: one slot for both.
// CHECK-LABEL: func @in_place
// CHECK-NEXT: mpk.arena [@node] bytes [16] first [0] last [2]
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<arena 0>]}
// CHECK: } {mpk.places = [#mpk.place<arena 0>]}
// CHECK: mpk.product {{.*}} {mpk.places = [#mpk.place<none>]}
func.func @in_place(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %v: tensor<4x2xf32>)
    -> tensor<?x2xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node (%0) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %3 = mpdfg.unary exp %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %3 : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %2 = mpk.product over @node (%1, %v) batch 1 rows 1 k 4 n 2
     : (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// Nor where a sum over everything is made of the row, maybe after it was written.
// CHECK-LABEL: func @summed
// CHECK-NEXT: mpk.arena [@node, @node, unit] bytes [16, 16, 16] first [0, 1, 1] last [1, 2, 2]
func.func @summed(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1:2 = mpk.sweep over @node (%0) access [#mpk.access<owner>] yields [#mpk.access<owner>, #mpk.access<shared>] {
  ^bb0(%a: tensor<4xf32>):
    %3 = mpdfg.unary exp %a : tensor<4xf32> -> tensor<4xf32>
    %4 = mpk.accumulate sum %a shared : tensor<4xf32>
    mpk.yield %3, %4 : tensor<4xf32>, tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@node>>) -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>)
  %2 = mpk.sweep over @node (%x, %1#0, %1#1) access [#mpk.access<owner>, #mpk.access<owner>, #mpk.access<shared>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<8xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %3 = mpdfg.fold sum %a [0] : tensor<8xf32> -> tensor<1xf32>
    %4 = mpdfg.binary mul %b, %3 : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
    %5 = mpdfg.binary mul %4, %c : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %5 : tensor<4xf32>
  } : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4xf32>)
    -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// Not where the row is read again later (the first sweep), where other rows are read too (the second), nor where the
// numbers of a row change their order (the third).
// CHECK-LABEL: func @not_in_place
// CHECK-NEXT: mpk.arena [@node, @node, @node, @node] bytes [16, 16, 16, 16] first [0, 1, 2, 3] last [2, 3, 3, 4]
func.func @not_in_place(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>, %v: tensor<4x2xf32>,
                        %e: tensor<?x1xf32, #mpdfg.on<@edge>>) -> tensor<?x2xf32, #mpdfg.on<@node>> {
  %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4
     : (tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32>) -> tensor<?x2x2xf32, #mpdfg.on<@node>>
  %1 = mpk.sweep over @node (%0) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2x2xf32>):
    %5 = mpdfg.unary exp %a : tensor<2x2xf32> -> tensor<2x2xf32>
    mpk.yield %5 : tensor<2x2xf32>
  } : (tensor<?x2x2xf32, #mpdfg.on<@node>>) -> tensor<?x2x2xf32, #mpdfg.on<@node>>
  %2 = mpk.sweep over @node along @dst (%0, %0, %e)
      access [#mpk.access<gather_member @dst>, #mpk.access<owner>, #mpk.access<member>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>, %c: tensor<1xf32>):
    %5 = mpk.accumulate sum %a : tensor<2x2xf32>
    %6 = mpdfg.binary add %5, %b : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
    mpk.yield %6 : tensor<2x2xf32>
  } : (tensor<?x2x2xf32, #mpdfg.on<@node>>, tensor<?x2x2xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@edge>>)
    -> tensor<?x2x2xf32, #mpdfg.on<@node>>
  %3 = mpk.sweep over @node (%1, %2) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>):
    %5 = mpdfg.transpose %a [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
    %6 = mpdfg.binary mul %5, %b : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
    mpk.yield %6 : tensor<2x2xf32>
  } : (tensor<?x2x2xf32, #mpdfg.on<@node>>, tensor<?x2x2xf32, #mpdfg.on<@node>>)
    -> tensor<?x2x2xf32, #mpdfg.on<@node>>
  %4 = mpk.product over @node (%3, %v) batch 1 rows 1 k 4 n 2
     : (tensor<?x2x2xf32, #mpdfg.on<@node>>, tensor<4x2xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %4 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// Kernels of one launch may run at the same time: what the first one reads for the last time is not free for what the
// second one makes, nor are rows written over that another one reads.
// CHECK-LABEL: func @joined
// CHECK-NEXT: mpk.arena [unit, unit, unit] bytes [16, 16, 16] first [0, 1, 1] last [2, 3, 3]
// CHECK: {mpk.places = [#mpk.place<arena 0>]}
// CHECK: {mpk.launch = 0 : i64, mpk.places = [#mpk.place<arena 1>]}
// CHECK: {mpk.launch = 0 : i64, mpk.places = [#mpk.place<arena 2>]}
// CHECK: {mpk.places = [#mpk.place<none>]}
func.func @joined(%w: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpk.sweep (%w) access [#mpk.access<shared>] yields [#mpk.access<shared>] {
  ^bb0(%a: tensor<4xf32>):
    %4 = mpdfg.unary neg %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %4 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = mpk.sweep (%0) access [#mpk.access<shared>] yields [#mpk.access<shared>] {
  ^bb0(%a: tensor<4xf32>):
    %4 = mpdfg.unary exp %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %4 : tensor<4xf32>
  } {mpk.launch = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = mpk.sweep (%0) access [#mpk.access<shared>] yields [#mpk.access<shared>] {
  ^bb0(%a: tensor<4xf32>):
    %4 = mpdfg.unary neg %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %4 : tensor<4xf32>
  } {mpk.launch = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = mpk.sweep (%1, %2) access [#mpk.access<shared>, #mpk.access<shared>] yields [#mpk.access<shared>] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %4 = mpdfg.binary add %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    mpk.yield %4 : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// What is joined of parts of a row is written when another result may have been: not over that row.
// CHECK-LABEL: func @joined_parts
// CHECK-NEXT: mpk.arena [@node, @node] bytes [8, 8]
// CHECK: {mpk.places = [#mpk.place<arena 0>]}
// CHECK: {mpk.places = [#mpk.place<arena 1>, #mpk.place<none>]}
func.func @joined_parts(%x: tensor<?x2xf32, #mpdfg.on<@node>>)
    -> (tensor<?x4xf32, #mpdfg.on<@node>>, tensor<2xf32>) {
  %0 = mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>):
    %3 = mpdfg.unary exp %a : tensor<2xf32> -> tensor<2xf32>
    mpk.yield %3 : tensor<2xf32>
  } : (tensor<?x2xf32, #mpdfg.on<@node>>) -> tensor<?x2xf32, #mpdfg.on<@node>>
  %1:2 = mpk.sweep over @node along @dst (%0, %x) access [#mpk.access<owner>, #mpk.access<gather_member @dst>]
      yields [#mpk.access<owner>, #mpk.access<owner>] {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %3 = mpk.accumulate sum %b : tensor<2xf32>
    %4 = mpdfg.binary mul %a, %3 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %5 = mpdfg.concat %3, %a axis 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    mpk.yield %4, %5 : tensor<2xf32>, tensor<4xf32>
  } : (tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x2xf32, #mpdfg.on<@node>>)
    -> (tensor<?x2xf32, #mpdfg.on<@node>>, tensor<?x4xf32, #mpdfg.on<@node>>)
  %2 = mpk.sweep over @node (%1#0) access [#mpk.access<owner>] yields [#mpk.access<shared>] {
  ^bb0(%a: tensor<2xf32>):
    %3 = mpk.accumulate sum %a shared : tensor<2xf32>
    mpk.yield %3 : tensor<2xf32>
  } : (tensor<?x2xf32, #mpdfg.on<@node>>) -> tensor<2xf32>
  return %1#1, %2 : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<2xf32>
}

// What is awaited lies where the transfer wrote it, up to the last kernel that reads it. What is sent stays until then:
// the product in between has memory of its own.
// CHECK-LABEL: func.func @await
// CHECK: mpk.arena [@send, @halo, @send] bytes [16, 16, 16] first [0, 1, 2] last [3, 4, 5]
// CHECK: mpdfg.transfer %{{.*}} {mpk.places = [#mpk.place<arena 1>]}
// CHECK: mpdfg.await %{{[^ ]*}} sent %{{[^ ]*}} :
mpdfg.space @send root
mpdfg.space @halo root
func.func @await(%x: tensor<?x4xf32, #mpdfg.on<@send>>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = mpk.product over @send(%x, %w) batch 1 rows 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@send>>, tensor<4x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@send>>
  %1 = mpdfg.transfer %0 : tensor<?x4xf32, #mpdfg.on<@send>> -> tensor<?x4xf32, #mpdfg.on<@halo>>
  %2 = mpk.sweep over @send(%0) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %b = mpdfg.unary exp %a : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %b : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@send>>) -> tensor<?x4xf32, #mpdfg.on<@send>>
  %3 = mpdfg.await %1 sent %0 : tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<?x4xf32, #mpdfg.on<@send>>
  %4 = mpk.outer_sum over @halo(%3, %3) batch 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@halo>>, tensor<?x4xf32, #mpdfg.on<@halo>>) -> tensor<4x4xf32>
  %5 = mpk.outer_sum over @send(%2, %2) batch 1 k 4 n 4 : (tensor<?x4xf32, #mpdfg.on<@send>>, tensor<?x4xf32, #mpdfg.on<@send>>) -> tensor<4x4xf32>
  return %4, %5 : tensor<4x4xf32>, tensor<4x4xf32>
}
