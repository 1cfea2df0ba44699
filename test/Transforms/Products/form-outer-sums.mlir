// RUN: gnnc-opt %s --split-input-file --form-outer-sums --canonicalize | FileCheck %s
// RUN: gnnc-opt %s --split-input-file --form-outer-sums=blocks --canonicalize | FileCheck %s --check-prefix=BLOCKS

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @type static {extent = 3 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @up root from @edge to @node {partial}
mpdfg.map @etype root from @edge to @type

!x = tensor<?x4xf32, #mpdfg.on<@node>>
!g = tensor<?x6xf32, #mpdfg.on<@node>>
!xe = tensor<?x4xf32, #mpdfg.on<@edge>>
!ge = tensor<?x6xf32, #mpdfg.on<@edge>>

// CHECK-LABEL: @over_all
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32, {{.*}}>, %[[G:.*]]: tensor<?x6xf32,
// CHECK-NEXT: %[[SUM:.*]] = mpk.outer_sum over @node(%[[X]], %[[G]]) batch 1 k 4 n 6 : {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: return %[[SUM]]
func.func @over_all(%x: !x, %g: !g) -> tensor<4x6xf32> {
  %0 = mpdfg.contract %x [0], %g [1] -> [0, 1] : !x, !g -> tensor<?x4x6xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %0 along @all : tensor<?x4x6xf32, #mpdfg.on<@node>> -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// A narrow one stays with the rest of its rows.
// CHECK-LABEL: @swept
// CHECK-NOT: mpk.outer_sum
// CHECK: return
func.func @swept(%x: !x, %g: !g) -> tensor<4x6xf32> {
  %0 = mpdfg.contract %x [0], %g [1] -> [0, 1] {mpk.swept} : !x, !g -> tensor<?x4x6xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %0 along @all : tensor<?x4x6xf32, #mpdfg.on<@node>> -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// The operand whose axes are wanted first becomes the left one, so that nothing is left to transpose.
// CHECK-LABEL: @exchanged
// CHECK-SAME: (%[[X:.*]]: tensor<?x32xf32, {{.*}}>, %[[G:.*]]: tensor<?x64xf32,
// CHECK-NEXT: %[[SUM:.*]] = mpk.outer_sum over @node(%[[G]], %[[X]]) batch 1 k 64 n 32 : {{.*}} -> tensor<64x32xf32>
// CHECK-NEXT: return %[[SUM]]
func.func @exchanged(%x: tensor<?x32xf32, #mpdfg.on<@node>>, %g: tensor<?x64xf32, #mpdfg.on<@node>>)
    -> tensor<64x32xf32> {
  %0 = mpdfg.contract %x [0], %g [1] -> [1, 0] : tensor<?x32xf32, #mpdfg.on<@node>>,
    tensor<?x64xf32, #mpdfg.on<@node>> -> tensor<?x64x32xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %0 along @all : tensor<?x64x32xf32, #mpdfg.on<@node>> -> tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// Not where rows of 4 would take the place of rows of 6 in registers: then the sum is transposed, not each row.
// CHECK-LABEL: @transposed
// CHECK-NEXT: %[[SUM:.*]] = mpk.outer_sum over @node(%{{.*}}, %{{.*}}) batch 1 k 4 n 6 : {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: mpdfg.transpose %[[SUM]] [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
// CHECK-NEXT: return
func.func @transposed(%x: !x, %g: !g) -> tensor<6x4xf32> {
  %0 = mpdfg.contract %x [0], %g [1] -> [1, 0] : !x, !g -> tensor<?x6x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %0 along @all : tensor<?x6x4xf32, #mpdfg.on<@node>> -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// Changes of shape in between come after the sum.
// CHECK-LABEL: @reshaped
// CHECK-NEXT: %[[SUM:.*]] = mpk.outer_sum {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: %[[SHAPE:.*]] = mpdfg.reshape %[[SUM]] : tensor<4x6xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT: mpdfg.transpose %[[SHAPE]] [2, 0, 1] : tensor<4x2x3xf32> -> tensor<3x4x2xf32>
// CHECK-NEXT: return
func.func @reshaped(%x: !x, %g: !g) -> tensor<3x4x2xf32> {
  %0 = mpdfg.contract %x [0], %g [1] -> [0, 1] : !x, !g -> tensor<?x4x6xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reshape %0 : tensor<?x4x6xf32, #mpdfg.on<@node>> -> tensor<?x4x2x3xf32, #mpdfg.on<@node>>
  %2 = mpdfg.transpose %1 [2, 0, 1] : tensor<?x4x2x3xf32, #mpdfg.on<@node>> -> tensor<?x3x4x2xf32, #mpdfg.on<@node>>
  %3 = mpdfg.reduce sum %2 along @all : tensor<?x3x4x2xf32, #mpdfg.on<@node>> -> tensor<3x4x2xf32>
  return %3 : tensor<3x4x2xf32>
}

// Heads with a weight each: the label that all have comes first.
// CHECK-LABEL: @batched
// CHECK-SAME: (%[[X:.*]]: tensor<?x4x2xf32, {{.*}}>, %[[G:.*]]: tensor<?x2x6xf32,
// CHECK-NEXT: %[[T:.*]] = mpdfg.transpose %[[X]] [1, 0]
// CHECK-NEXT: mpk.outer_sum over @node(%[[T]], %[[G]]) batch 2 k 4 n 6 : {{.*}} -> tensor<2x4x6xf32>
// CHECK-NEXT: return
func.func @batched(%x: tensor<?x4x2xf32, #mpdfg.on<@node>>, %g: tensor<?x2x6xf32, #mpdfg.on<@node>>)
    -> tensor<2x4x6xf32> {
  %0 = mpdfg.contract %x [0, 2], %g [2, 1] -> [2, 0, 1] : tensor<?x4x2xf32, #mpdfg.on<@node>>,
    tensor<?x2x6xf32, #mpdfg.on<@node>> -> tensor<?x2x4x6xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %0 along @all : tensor<?x2x4x6xf32, #mpdfg.on<@node>> -> tensor<2x4x6xf32>
  return %1 : tensor<2x4x6xf32>
}

// A weight for each type of edge; operands are read through total maps.
// CHECK-LABEL: @typed
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32, {{.*}}>, %[[G:.*]]: tensor<?x6xf32,
// CHECK: mpk.outer_sum over @edge(%[[X]], %[[G]]) batch 1 k 4 n 6 gather_lhs @src gather_rhs @dst along @etype : {{.*}} -> tensor<3x4x6xf32, #mpdfg.on<@type>>
// CHECK-NEXT: return
// BLOCKS-LABEL: @typed
// BLOCKS: mpk.outer_sum over @edge
func.func @typed(%x: !x, %g: !g) -> tensor<3x4x6xf32, #mpdfg.on<@type>> {
  %0 = mpdfg.broadcast %x along @src : !x -> !xe
  %1 = mpdfg.broadcast %g along @dst : !g -> !ge
  %2 = mpdfg.contract %0 [0], %1 [1] -> [0, 1] : !xe, !ge -> tensor<?x4x6xf32, #mpdfg.on<@edge>>
  %3 = mpdfg.reduce sum %2 along @etype : tensor<?x4x6xf32, #mpdfg.on<@edge>> -> tensor<3x4x6xf32, #mpdfg.on<@type>>
  return %3 : tensor<3x4x6xf32, #mpdfg.on<@type>>
}

// Where a map is undefined an operand has its fill, so it must be made.
// CHECK-LABEL: @through_a_partial_map
// CHECK: %[[MOVED:.*]] = mpdfg.broadcast %{{.*}} along @up
// CHECK: mpk.outer_sum over @edge(%[[MOVED]], %{{.*}}) batch 1 k 4 n 6 gather_rhs @dst : {{.*}} -> tensor<4x6xf32>
func.func @through_a_partial_map(%x: !x, %g: !g) -> tensor<4x6xf32> {
  %0 = mpdfg.broadcast %x along @up {fill = 1.0} : !x -> !xe
  %1 = mpdfg.broadcast %g along @dst : !g -> !ge
  %2 = mpdfg.contract %0 [0], %1 [1] -> [0, 1] : !xe, !ge -> tensor<?x4x6xf32, #mpdfg.on<@edge>>
  %3 = mpdfg.reduce sum %2 along @all : tensor<?x4x6xf32, #mpdfg.on<@edge>> -> tensor<4x6xf32>
  return %3 : tensor<4x6xf32>
}

// A matrix for each node, from values that are in memory.
// CHECK-LABEL: @for_each_node
// CHECK: mpk.outer_sum over @edge(%{{.*}}, %{{.*}}) batch 1 k 4 n 6 gather_lhs @src along @dst
// Few rows are not worth a block.
// BLOCKS-LABEL: @for_each_node
// BLOCKS: mpdfg.contract
// BLOCKS: mpdfg.reduce sum
func.func @for_each_node(%x: !x, %g: !ge) -> tensor<?x4x6xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.broadcast %x along @src : !x -> !xe
  %1 = mpdfg.contract %0 [0], %g [1] -> [0, 1] : !xe, !ge -> tensor<?x4x6xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.reduce sum %1 along @dst : tensor<?x4x6xf32, #mpdfg.on<@edge>> -> tensor<?x4x6xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x4x6xf32, #mpdfg.on<@node>>
}

// The same of a value that a sweep would compute anyway: it must not be stored for each edge.
// CHECK-LABEL: @of_a_computed_message
// CHECK: mpdfg.contract
// CHECK: mpdfg.reduce sum
// CHECK-NOT: mpk.outer_sum
// CHECK: return
func.func @of_a_computed_message(%x: !x, %g: !ge) -> tensor<?x4x6xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.broadcast %x along @src : !x -> !xe
  %1 = mpdfg.unary exp %g : !ge -> !ge
  %2 = mpdfg.contract %0 [0], %1 [1] -> [0, 1] : !xe, !ge -> tensor<?x4x6xf32, #mpdfg.on<@edge>>
  %3 = mpdfg.reduce sum %2 along @dst : tensor<?x4x6xf32, #mpdfg.on<@edge>> -> tensor<?x4x6xf32, #mpdfg.on<@node>>
  return %3 : tensor<?x4x6xf32, #mpdfg.on<@node>>
}

// Large matrices are added up as products though what they are made of has to be stored: linear attention within graphs.
// CHECK-LABEL: @of_large_messages
// CHECK: mpk.outer_sum over @edge(%{{.*}}, %{{.*}}) batch 1 k 32 n 40 along @dst
// CHECK-NOT: mpdfg.reduce
// BLOCKS-LABEL: @of_large_messages
// BLOCKS: mpk.outer_sum
func.func @of_large_messages(%x: tensor<?x32xf32, #mpdfg.on<@edge>>, %g: tensor<?x40xf32, #mpdfg.on<@edge>>)
    -> tensor<?x32x40xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.unary tanh %x : tensor<?x32xf32, #mpdfg.on<@edge>> -> tensor<?x32xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.contract %0 [0], %g [1] -> [0, 1] : tensor<?x32xf32, #mpdfg.on<@edge>>, tensor<?x40xf32, #mpdfg.on<@edge>>
     -> tensor<?x32x40xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.reduce sum %1 along @dst : tensor<?x32x40xf32, #mpdfg.on<@edge>> -> tensor<?x32x40xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x32x40xf32, #mpdfg.on<@node>>
}

// The steps of a convolution: a matrix for each of them first.
// CHECK-LABEL: @summed_steps
// CHECK: %[[Y:.*]] = mpk.outer_sum over @node(%{{.*}}, %{{.*}}) batch 8 k 32 n 40 : {{.*}} -> tensor<8x32x40xf32>
// CHECK: %[[F:.*]] = mpdfg.fold sum %[[Y]] [0] : tensor<8x32x40xf32> -> tensor<1x32x40xf32>
// CHECK: mpdfg.reshape %[[F]] : tensor<1x32x40xf32> -> tensor<32x40xf32>
func.func @summed_steps(%x: tensor<?x32x8xf32, #mpdfg.on<@node>>, %g: tensor<?x8x40xf32, #mpdfg.on<@node>>)
    -> tensor<32x40xf32> {
  %0 = mpdfg.contract %x [0, 2], %g [2, 1] -> [0, 1] : tensor<?x32x8xf32, #mpdfg.on<@node>>,
    tensor<?x8x40xf32, #mpdfg.on<@node>> -> tensor<?x32x40xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %0 along @all : tensor<?x32x40xf32, #mpdfg.on<@node>> -> tensor<32x40xf32>
  return %1 : tensor<32x40xf32>
}

// A label that is summed inside a row, where matrices are small.
// CHECK-LABEL: @summed_label
// CHECK-NOT: mpk.outer_sum
// CHECK: return
func.func @summed_label(%x: tensor<?x4x2xf32, #mpdfg.on<@node>>, %g: tensor<?x2x6xf32, #mpdfg.on<@node>>)
    -> tensor<4x6xf32> {
  %0 = mpdfg.contract %x [0, 2], %g [2, 1] -> [0, 1] : tensor<?x4x2xf32, #mpdfg.on<@node>>,
    tensor<?x2x6xf32, #mpdfg.on<@node>> -> tensor<?x4x6xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %0 along @all : tensor<?x4x6xf32, #mpdfg.on<@node>> -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// An operand without an axis of its own: a weight for each element of the other one.
// CHECK-LABEL: @no_axis_of_its_own
// CHECK-NOT: mpk.outer_sum
// CHECK: return
func.func @no_axis_of_its_own(%x: !x, %g: tensor<?x4x6xf32, #mpdfg.on<@node>>) -> tensor<4x6xf32> {
  %0 = mpdfg.contract %x [0], %g [0, 1] -> [0, 1] : !x, tensor<?x4x6xf32, #mpdfg.on<@node>>
    -> tensor<?x4x6xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %0 along @all : tensor<?x4x6xf32, #mpdfg.on<@node>> -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// A shared operand leaves nothing to multiply for each row.
// CHECK-LABEL: @shared_operand
// CHECK-NOT: mpk.outer_sum
// CHECK: return
func.func @shared_operand(%x: !x, %g: tensor<6xf32>) -> tensor<4x6xf32> {
  %0 = mpdfg.contract %x [0], %g [1] -> [0, 1] : !x, tensor<6xf32> -> tensor<?x4x6xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %0 along @all : tensor<?x4x6xf32, #mpdfg.on<@node>> -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// The outer products are needed themselves.
// CHECK-LABEL: @several_uses
// CHECK-NOT: mpk.outer_sum
// CHECK: return
func.func @several_uses(%x: !x, %g: !g) -> (tensor<4x6xf32>, tensor<?x4x6xf32, #mpdfg.on<@node>>) {
  %0 = mpdfg.contract %x [0], %g [1] -> [0, 1] : !x, !g -> tensor<?x4x6xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce sum %0 along @all : tensor<?x4x6xf32, #mpdfg.on<@node>> -> tensor<4x6xf32>
  return %1, %0 : tensor<4x6xf32>, tensor<?x4x6xf32, #mpdfg.on<@node>>
}

// Only sums.
// CHECK-LABEL: @other_reductions
// CHECK-NOT: mpk.outer_sum
// CHECK: return
func.func @other_reductions(%x: !x, %g: !g) -> tensor<4x6xf32> {
  %0 = mpdfg.contract %x [0], %g [1] -> [0, 1] : !x, !g -> tensor<?x4x6xf32, #mpdfg.on<@node>>
  %1 = mpdfg.reduce max %0 along @all : tensor<?x4x6xf32, #mpdfg.on<@node>> -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
