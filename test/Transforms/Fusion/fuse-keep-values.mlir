// Values that several sweeps would make again from more than it takes to write and read them are kept (R8).
// RUN: gnnc-opt %s --fuse-message-passing | FileCheck %s
// RUN: gnnc-opt %s --fuse-message-passing=keep=false | FileCheck %s --check-prefix=AGAIN
// RUN: gnnc-opt %s --fuse-message-passing --remark-format=emitRemark --remarks-filter=fuse-message-passing -o /dev/null \
// RUN:   2>&1 | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.space @red root
mpdfg.space @blue root
mpdfg.map @asRed root from @edge to @red {partial}
mpdfg.map @asBlue root from @edge to @blue {partial}

!row = tensor<?x64xf32, #mpdfg.on<@node>>
!edge = tensor<?x64xf32, #mpdfg.on<@edge>>
!weight = tensor<64x64xf32>
!length = tensor<?x1xf32, #mpdfg.on<@edge>>
!number = tensor<?x1xf32, #mpdfg.on<@node>>

// A residual stream that is only read through functions: each block adds its part to the sum so far, but for
// the last, for which one sum less would save nothing.
// CHECK-LABEL: func @chain
// CHECK: %[[A:.*]]:2 = mpk.sweep over @node(%arg0, %arg1)
// CHECK: %[[B:.*]]:2 = mpk.sweep over @node(%[[A]]#{{[01]}}, %
// CHECK: %[[C:.*]] = mpk.sweep over @node(%[[B]]#{{[01]}}, %[[P:[^ ]*]])
// CHECK: mpk.sweep over @node(%[[B]]#{{[01]}}, %[[P]], %
// AGAIN-LABEL: func @chain
// AGAIN: mpk.sweep over @node(%arg0, %arg1)
// AGAIN: mpk.sweep over @node(%arg0, %arg1, %{{[^,]*}})
// AGAIN: mpk.sweep over @node(%arg0, %arg1, %{{[^,]*}}, %{{[^,]*}})
// AGAIN: mpk.sweep over @node(%arg0, %arg1, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}})
// REMARK: [Passed] keep | Category:fuse-message-passing | Function=chain | Remark="a row of 64 is kept: to make it again in each sweep that needs it would cost more"
func.func @chain(%x: !row, %y: !row, %w: !weight) -> !row {
  %0 = mpdfg.binary add %x, %y : !row, !row -> !row
  %1 = mpdfg.unary tanh %0 : !row -> !row
  %2 = mpk.product over @node(%1, %w) batch 1 rows 1 k 64 n 64 : (!row, !weight) -> !row
  %3 = mpdfg.binary add %0, %2 : !row, !row -> !row
  %4 = mpdfg.unary tanh %3 : !row -> !row
  %5 = mpk.product over @node(%4, %w) batch 1 rows 1 k 64 n 64 : (!row, !weight) -> !row
  %6 = mpdfg.binary add %3, %5 : !row, !row -> !row
  %7 = mpdfg.unary tanh %6 : !row -> !row
  %8 = mpk.product over @node(%7, %w) batch 1 rows 1 k 64 n 64 : (!row, !weight) -> !row
  %9 = mpdfg.binary add %6, %8 : !row, !row -> !row
  %10 = mpdfg.unary tanh %9 : !row -> !row
  return %10 : !row
}

// Two sweeps that each read two rows instead of one save nothing by writing that one.
// CHECK-LABEL: func @cheap
// CHECK: %[[ONE:.*]] = mpk.sweep over @node(%arg0, %arg1)
// CHECK: mpk.sweep over @node(%arg0, %arg1, %
func.func @cheap(%x: !row, %y: !row, %w: !weight) -> !row {
  %0 = mpdfg.binary add %x, %y : !row, !row -> !row
  %1 = mpdfg.unary neg %0 : !row -> !row
  %2 = mpk.product over @node(%1, %w) batch 1 rows 1 k 64 n 64 : (!row, !weight) -> !row
  %3 = mpdfg.binary mul %0, %2 : !row, !row -> !row
  return %3 : !row
}

// Members' values that no sweep over the members would make anyway: to write and read 64 numbers for each costs what is
// saved, so the sums along maps make them by themselves.
// CHECK-LABEL: func @members
// CHECK-COUNT-2: mpk.sweep over @node along
// CHECK-NOT: mpk.sweep over @edge
// CHECK: return
func.func @members(%x: !row, %e: !edge, %f: !edge, %w: !weight) -> !row {
  %0 = mpdfg.broadcast %x along @src : !row -> !edge
  %1 = mpdfg.binary mul %f, %e : !edge, !edge -> !edge
  %2 = mpdfg.binary add %0, %1 : !edge, !edge -> !edge
  %3 = mpdfg.reduce sum %2 along @dst : !edge -> !row
  %4 = mpk.product over @node(%3, %w) batch 1 rows 1 k 64 n 64 : (!row, !weight) -> !row
  %5 = mpdfg.broadcast %4 along @src : !row -> !edge
  %6 = mpdfg.binary mul %2, %5 : !edge, !edge -> !edge
  %7 = mpdfg.reduce sum %6 along @dst : !edge -> !row
  return %7 : !row
}

// One number from two rows is less: a sweep over the edges writes it, and the sums along both maps read it.
// CHECK-LABEL: func @ends
// CHECK: %[[E:.*]] = mpk.sweep over @edge(%arg0, %arg0)
// CHECK: mpk.sweep over @node along @src(%[[E]]) access [#mpk.access<member>]
// CHECK: mpk.sweep over @node along @dst(%[[E]]) access [#mpk.access<member>]
// AGAIN-LABEL: func @ends
// AGAIN-NOT: mpk.sweep over @edge
// AGAIN: return
func.func @ends(%x: !row) -> (!number, !number) {
  %0 = mpdfg.broadcast %x along @src : !row -> !edge
  %1 = mpdfg.broadcast %x along @dst : !row -> !edge
  %2 = mpdfg.binary sub %0, %1 : !edge, !edge -> !edge
  %3 = mpdfg.unary square %2 : !edge -> !edge
  %4 = mpdfg.fold sum %3 [0] : !edge -> !length
  %5 = mpdfg.unary exp %4 : !length -> !length
  %6 = mpdfg.reduce sum %5 along @src : !length -> !number
  %7 = mpdfg.reduce sum %5 along @dst : !length -> !number
  return %6, %7 : !number, !number
}

// But not where one of them has to read the rows for something else anyway.
// CHECK-LABEL: func @read
// CHECK-NOT: mpk.sweep over @edge
// CHECK: return
func.func @read(%x: !row) -> (!row, !row) {
  %0 = mpdfg.broadcast %x along @src : !row -> !edge
  %1 = mpdfg.broadcast %x along @dst : !row -> !edge
  %2 = mpdfg.binary sub %0, %1 : !edge, !edge -> !edge
  %3 = mpdfg.unary square %2 : !edge -> !edge
  %4 = mpdfg.reduce sum %3 along @src : !edge -> !row
  %5 = mpdfg.reduce sum %3 along @dst : !edge -> !row
  return %4, %5 : !row, !row
}

// Sums along maps from some of the edges each: together they make the value once for each edge.
// CHECK-LABEL: func @parts
// CHECK-NOT: mpk.sweep over @edge
// CHECK: return
func.func @parts(%x: !row) -> (tensor<?x1xf32, #mpdfg.on<@red>>, tensor<?x1xf32, #mpdfg.on<@blue>>) {
  %0 = mpdfg.broadcast %x along @src : !row -> !edge
  %1 = mpdfg.broadcast %x along @dst : !row -> !edge
  %2 = mpdfg.binary sub %0, %1 : !edge, !edge -> !edge
  %3 = mpdfg.unary square %2 : !edge -> !edge
  %4 = mpdfg.fold sum %3 [0] : !edge -> !length
  %5 = mpdfg.reduce sum %4 along @asRed : !length -> tensor<?x1xf32, #mpdfg.on<@red>>
  %6 = mpdfg.reduce sum %4 along @asBlue : !length -> tensor<?x1xf32, #mpdfg.on<@blue>>
  return %5, %6 : tensor<?x1xf32, #mpdfg.on<@red>>, tensor<?x1xf32, #mpdfg.on<@blue>>
}
