// RUN: gnnc-opt %s --form-products | FileCheck %s
// RUN: gnnc-opt %s --form-products=hoist=false | FileCheck %s --check-prefix=STAY
// RUN: gnnc-opt %s --form-products --remark-format=emitRemark --remarks-filter=form-products -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @kind static {extent = 3 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @etype root from @edge to @kind
mpdfg.map @some root from @edge to @kind {partial}
mpdfg.map @last last from @node to @edge {parts = [@dst], partial}

// A shared weight with an axis of its own.
// CHECK-LABEL: func @plain
// CHECK: mpk.product over @node(%arg0, %arg1) batch 1 rows 1 k 4 n 2
// CHECK-NOT: mpdfg.contract
func.func @plain(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x2xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>
     -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// A narrow one stays with the rest of its row.
// CHECK-LABEL: func @swept
// CHECK: mpdfg.contract {{.*}} {mpk.swept}
// CHECK-NOT: mpk.product
// REMARK: Function=swept | Reason="it is as quickly made with the rest of its row", Remark="contraction stays in the body of a sweep"
func.func @swept(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x2xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] {mpk.swept} : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>
     -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// The weight may stand on the left, and its axes in any order.
// CHECK-LABEL: func @transposed
// CHECK: %[[W:.*]] = mpdfg.transpose %arg1 [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
// CHECK: mpk.product over @node(%arg0, %[[W]]) batch 1 rows 1 k 4 n 2
func.func @transposed(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<2x4xf32>)
    -> tensor<?x2xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.contract %w [1, 0], %x [0] -> [1] : tensor<2x4xf32>, tensor<?x4xf32, #mpdfg.on<@node>>
     -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// One block of the weight for each head.
// CHECK-LABEL: func @heads
// CHECK: mpk.product over @node(%arg0, %arg1) batch 8 rows 1 k 4 n 2
func.func @heads(%x: tensor<?x8x4xf32, #mpdfg.on<@node>>, %w: tensor<8x4x2xf32>)
    -> tensor<?x8x2xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.contract %x [0, 1], %w [0, 1, 2] -> [0, 2] : tensor<?x8x4xf32, #mpdfg.on<@node>>, tensor<8x4x2xf32>
     -> tensor<?x8x2xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x8x2xf32, #mpdfg.on<@node>>
}

// Several matrix rows for each element; the result is brought into its order.
// CHECK-LABEL: func @rows
// CHECK: %[[Y:.*]] = mpk.product over @node(%arg0, %arg1) batch 1 rows 5 k 4 n 2 {{.*}} -> tensor<?x5x2xf32, #mpdfg.on<@node>>
// CHECK: mpdfg.transpose %[[Y]] [1, 0] : {{.*}} -> tensor<?x2x5xf32, #mpdfg.on<@node>>
func.func @rows(%x: tensor<?x5x4xf32, #mpdfg.on<@node>>, %w: tensor<4x2xf32>)
    -> tensor<?x2x5xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.contract %x [0, 1], %w [1, 2] -> [2, 0] : tensor<?x5x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>
     -> tensor<?x2x5xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x2x5xf32, #mpdfg.on<@node>>
}

// R1: multiply once for each node, then move.
// CHECK-LABEL: func @hoist
// CHECK: %[[Y:.*]] = mpk.product over @node(%arg0, %arg1) batch 1 rows 1 k 4 n 2
// CHECK: mpdfg.broadcast %[[Y]] along @src : tensor<?x2xf32, #mpdfg.on<@node>> -> tensor<?x2xf32, #mpdfg.on<@edge>>
// Without it, the product reads through the map and the moved copy is not made.
// STAY-LABEL: func @hoist
// STAY: %[[Y:.*]] = mpk.product over @edge(%arg0, %arg1) batch 1 rows 1 k 4 n 2 gather @src
// STAY: return %[[Y]]
func.func @hoist(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<4x2xf32>) -> tensor<?x2xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.broadcast %x along @src : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  // REMARK: remark: [Passed] hoist | {{.*}}"product is made before the broadcast along @src"
  %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<4x2xf32>
     -> tensor<?x2xf32, #mpdfg.on<@edge>>
  return %1 : tensor<?x2xf32, #mpdfg.on<@edge>>
}

// Where a partial map is undefined there are zeros, of which the product is zero: the broadcast keeps its fill.
// CHECK-LABEL: func @hoist_partial
// CHECK: %[[Y:.*]] = mpk.product over @edge(%arg0, %arg1)
// CHECK: mpdfg.broadcast %[[Y]] along @last
// A product cannot read through a partial map, so the moved copy is made.
// STAY-LABEL: func @hoist_partial
// STAY: %[[X:.*]] = mpdfg.broadcast %arg0 along @last
// STAY: mpk.product over @node(%[[X]], %arg1) batch 1 rows 1 k 4 n 2 :
func.func @hoist_partial(%x: tensor<?x4xf32, #mpdfg.on<@edge>>, %w: tensor<4x2xf32>)
    -> tensor<?x2xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.broadcast %x along @last : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>
     -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// A row filled with ones times W is not a row filled with ones.
// CHECK-LABEL: func @fill
// CHECK: %[[X:.*]] = mpdfg.broadcast %arg0 along @last {fill = 1.000000e+00 : f64}
// CHECK: mpk.product over @node(%[[X]], %arg1) batch 1 rows 1 k 4 n 2 :
func.func @fill(%x: tensor<?x4xf32, #mpdfg.on<@edge>>, %w: tensor<4x2xf32>) -> tensor<?x2xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.broadcast %x along @last {fill = 1.0 : f64}
     : tensor<?x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@node>>
  // REMARK: [Missed] hoist | {{.*}}Reason="rows are filled with another number than 0 where the map is undefined"
  %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>
     -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// R3: a weight for each kind of edge becomes the weight of a group; x is read through its map, and stays there.
// CHECK-LABEL: func @grouped
// CHECK: %[[Y:.*]] = mpk.product over @edge(%arg0, %arg1) batch 1 rows 1 k 4 n 2 gather @src group @etype
// CHECK: return %[[Y]]
func.func @grouped(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %w: tensor<3x4x2xf32, #mpdfg.on<@kind>>)
    -> tensor<?x2xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.broadcast %x along @src : tensor<?x4xf32, #mpdfg.on<@node>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.broadcast %w along @etype : tensor<3x4x2xf32, #mpdfg.on<@kind>> -> tensor<?x4x2xf32, #mpdfg.on<@edge>>
  // REMARK: [Missed] hoist | {{.*}}Reason="the weight differs along @etype"
  %2 = mpdfg.contract %0 [0], %1 [0, 1] -> [1] : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4x2xf32, #mpdfg.on<@edge>>
     -> tensor<?x2xf32, #mpdfg.on<@edge>>
  return %2 : tensor<?x2xf32, #mpdfg.on<@edge>>
}

// What is no matrix product stays a contraction, for a sweep's body.

// CHECK-LABEL: func @own_weight_each
// CHECK: mpdfg.contract
// CHECK-NOT: mpk.product
func.func @own_weight_each(%x: tensor<?x4xf32, #mpdfg.on<@edge>>, %w: tensor<?x4x2xf32, #mpdfg.on<@edge>>)
    -> tensor<?x2xf32, #mpdfg.on<@edge>> {
  // REMARK: [Missed] product | {{.*}}Reason="both operands differ from row to row"
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4x2xf32, #mpdfg.on<@edge>>
     -> tensor<?x2xf32, #mpdfg.on<@edge>>
  return %0 : tensor<?x2xf32, #mpdfg.on<@edge>>
}

// A weight from a space of the graph is not one of few: as many as there are nodes. A small one is read for each row.
// CHECK-LABEL: func @weight_of_node
// CHECK: mpdfg.contract
func.func @weight_of_node(%x: tensor<?x4xf32, #mpdfg.on<@edge>>, %w: tensor<?x4x2xf32, #mpdfg.on<@node>>)
    -> tensor<?x2xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.broadcast %w along @dst : tensor<?x4x2xf32, #mpdfg.on<@node>> -> tensor<?x4x2xf32, #mpdfg.on<@edge>>
  // REMARK: [Missed] product | {{.*}}Reason="each element of the weight's space has a small one"
  %1 = mpdfg.contract %x [0], %0 [0, 1] -> [1] : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4x2xf32, #mpdfg.on<@edge>>
     -> tensor<?x2xf32, #mpdfg.on<@edge>>
  return %1 : tensor<?x2xf32, #mpdfg.on<@edge>>
}

// A large one is read for all rows that share it.
// CHECK-LABEL: func @matrix_of_node
// CHECK: mpk.product over @edge(%arg0, %arg1) batch 2 rows 1 k 32 n 40 group @dst
// CHECK-NOT: mpdfg.contract
func.func @matrix_of_node(%x: tensor<?x2x32xf32, #mpdfg.on<@edge>>, %w: tensor<?x2x32x40xf32, #mpdfg.on<@node>>)
    -> tensor<?x2x40xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.broadcast %w along @dst
     : tensor<?x2x32x40xf32, #mpdfg.on<@node>> -> tensor<?x2x32x40xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.contract %x [0, 1], %0 [0, 1, 2] -> [0, 2]
     : tensor<?x2x32xf32, #mpdfg.on<@edge>>, tensor<?x2x32x40xf32, #mpdfg.on<@edge>>
     -> tensor<?x2x40xf32, #mpdfg.on<@edge>>
  return %1 : tensor<?x2x40xf32, #mpdfg.on<@edge>>
}

// CHECK-LABEL: func @partial_group
// CHECK: mpdfg.contract
func.func @partial_group(%x: tensor<?x4xf32, #mpdfg.on<@edge>>, %w: tensor<3x4x2xf32, #mpdfg.on<@kind>>)
    -> tensor<?x2xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.broadcast %w along @some {fill = 1.0 : f64}
     : tensor<3x4x2xf32, #mpdfg.on<@kind>> -> tensor<?x4x2xf32, #mpdfg.on<@edge>>
  // REMARK: [Missed] product | {{.*}}Reason="the weight comes along @some, which is partial"
  %1 = mpdfg.contract %x [0], %0 [0, 1] -> [1] : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4x2xf32, #mpdfg.on<@edge>>
     -> tensor<?x2xf32, #mpdfg.on<@edge>>
  return %1 : tensor<?x2xf32, #mpdfg.on<@edge>>
}

// A score: a number for each row and head.
// CHECK-LABEL: func @score
// CHECK: mpdfg.contract
func.func @score(%x: tensor<?x8x4xf32, #mpdfg.on<@node>>, %a: tensor<8x4xf32>) -> tensor<?x8xf32, #mpdfg.on<@node>> {
  // REMARK: [Missed] product | {{.*}}Reason="the weight has no axis of its own"
  %0 = mpdfg.contract %x [0, 1], %a [0, 1] -> [0] : tensor<?x8x4xf32, #mpdfg.on<@node>>, tensor<8x4xf32>
     -> tensor<?x8xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x8xf32, #mpdfg.on<@node>>
}

// CHECK-LABEL: func @outer
// CHECK: mpdfg.contract
func.func @outer(%x: tensor<?x4xf32, #mpdfg.on<@node>>, %a: tensor<8xf32>) -> tensor<?x4x8xf32, #mpdfg.on<@node>> {
  // REMARK: [Missed] product | {{.*}}Reason="nothing is summed over"
  %0 = mpdfg.contract %x [0], %a [1] -> [0, 1] : tensor<?x4xf32, #mpdfg.on<@node>>, tensor<8xf32>
     -> tensor<?x4x8xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x4x8xf32, #mpdfg.on<@node>>
}

// CHECK-LABEL: func @summed_alone
// CHECK: mpdfg.contract
func.func @summed_alone(%x: tensor<?x5x4xf32, #mpdfg.on<@node>>, %w: tensor<4x2xf32>)
    -> tensor<?x2xf32, #mpdfg.on<@node>> {
  // REMARK: [Missed] product | {{.*}}Reason="an axis is summed over that only one operand has"
  %0 = mpdfg.contract %x [0, 1], %w [1, 2] -> [2] : tensor<?x5x4xf32, #mpdfg.on<@node>>, tensor<4x2xf32>
     -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x2xf32, #mpdfg.on<@node>>
}

// CHECK-LABEL: func @rows_of_heads
// CHECK: mpdfg.contract
func.func @rows_of_heads(%x: tensor<?x8x5x4xf32, #mpdfg.on<@node>>, %w: tensor<8x4x2xf32>)
    -> tensor<?x8x5x2xf32, #mpdfg.on<@node>> {
  // REMARK: [Missed] product | {{.*}}Reason="the value has axes of its own beside those it shares with weight and result"
  %0 = mpdfg.contract %x [0, 1, 2], %w [0, 2, 3] -> [0, 1, 3]
     : tensor<?x8x5x4xf32, #mpdfg.on<@node>>, tensor<8x4x2xf32> -> tensor<?x8x5x2xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x8x5x2xf32, #mpdfg.on<@node>>
}

// CHECK-LABEL: func @weights_alone
// CHECK: mpdfg.contract
func.func @weights_alone(%v: tensor<5x4xf32>, %w: tensor<4x2xf32>) -> tensor<5x2xf32> {
  // REMARK: [Missed] product | {{.*}}Reason="its result is shared"
  %0 = mpdfg.contract %v [0, 1], %w [1, 2] -> [0, 2] : tensor<5x4xf32>, tensor<4x2xf32> -> tensor<5x2xf32>
  return %0 : tensor<5x2xf32>
}
