// RUN: gnnc-opt %s --reorder-broadcast | FileCheck %s

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @ntypes static {extent = 3 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @mate root from @edge to @node {partial}
mpdfg.map @ntype root from @node to @ntypes
mpdfg.map @stype compose from @edge to @ntypes {parts = [@src, @ntype]}

mpdfg.space @users static {extent = 60000 : i64}
mpdfg.map @user root from @node to @users
mpdfg.space @friends root
mpdfg.map @one root from @friends to @users
mpdfg.map @other root from @friends to @users

// Rows that are looked up in a large table are multiplied where they are.
// CHECK-LABEL: func @table
// CHECK: mpdfg.contract %{{.*}} : tensor<?x8xf32, #mpdfg.on<@node>>
func.func @table(%x: tensor<60000x8xf32, #mpdfg.on<@users>>, %w: tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.broadcast %x along @user : tensor<60000x8xf32, #mpdfg.on<@users>> -> tensor<?x8xf32, #mpdfg.on<@node>>
  %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@node>>, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// Edges among the rows of a table are more than these.
// CHECK-LABEL: func @graph_on_a_table
// CHECK: mpdfg.contract %arg0 {{.*}} : tensor<60000x8xf32, #mpdfg.on<@users>>
func.func @graph_on_a_table(%x: tensor<60000x8xf32, #mpdfg.on<@users>>, %w: tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@friends>> {
  %0 = mpdfg.broadcast %x along @one : tensor<60000x8xf32, #mpdfg.on<@users>> -> tensor<?x8xf32, #mpdfg.on<@friends>>
  %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@friends>>, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@friends>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@friends>>
}

// CHECK-LABEL: func @shared_weight
// CHECK-NEXT: %{{.*}} = mpdfg.broadcast
// CHECK-NEXT: %[[Y:.*]] = mpdfg.contract %arg0 [0], %arg1 [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@node>>
// CHECK-NEXT: %[[M:.*]] = mpdfg.broadcast %[[Y]] along @src
// CHECK-NEXT: return %[[M]]
func.func @shared_weight(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.broadcast %x along @src : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return %1 : tensor<?x4xf32, #mpdfg.on<@edge>>
}

// A weight of the source's type: one product for each node, grouped by its type.
// CHECK-LABEL: func @typed_weight
// CHECK: %[[W:.*]] = mpdfg.broadcast %arg1 along @ntype : {{.*}} -> tensor<?x8x4xf32, #mpdfg.on<@node>>
// CHECK: %[[Y:.*]] = mpdfg.contract %arg0 [0], %[[W]] [0, 1] -> [1]
// CHECK: mpdfg.broadcast %[[Y]] along @src
func.func @typed_weight(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<3x8x4xf32, #mpdfg.on<@ntypes>>) -> tensor<?x4xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.broadcast %x along @src : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.broadcast %w along @stype : tensor<3x8x4xf32, #mpdfg.on<@ntypes>> -> tensor<?x8x4xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.contract %0 [0], %1 [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x8x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return %2 : tensor<?x4xf32, #mpdfg.on<@edge>>
}

// Operands that move along different maps meet on the edge and nowhere else.
// CHECK-LABEL: func @other_map
// CHECK: mpdfg.contract {{.*}} -> [] : tensor<?x8xf32, #mpdfg.on<@edge>>
func.func @other_map(%x: tensor<?x8xf32, #mpdfg.on<@node>>) -> tensor<?xf32, #mpdfg.on<@edge>> {
  %0 = mpdfg.broadcast %x along @src : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.broadcast %x along @dst : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.contract %0 [0], %1 [0] -> [] : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?xf32, #mpdfg.on<@edge>>
  return %2 : tensor<?xf32, #mpdfg.on<@edge>>
}

// A weight that varies over the edges stays with them, and so does a product of filled rows.
// CHECK-LABEL: func @weight_of_the_edge
// CHECK: mpdfg.contract {{.*}} : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x8x4xf32, #mpdfg.on<@edge>>
// CHECK: mpdfg.contract {{.*}} : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<8x4xf32>
func.func @weight_of_the_edge(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<?x8x4xf32, #mpdfg.on<@edge>>, %v: tensor<8x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>>) {
  %0 = mpdfg.broadcast %x along @src : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x8x4xf32, #mpdfg.on<@edge>> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.broadcast %x along @mate {fill = 1.0} : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %3 = mpdfg.contract %2 [0], %v [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return %1, %3 : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>>
}

// What is computed from moved values is computed before they move; not so along a partial map, whose missing rows hold
// the function of a fill.
// CHECK-LABEL: func @computed
// CHECK: %[[R:.*]] = mpdfg.unary relu %arg0
// CHECK: %[[Y:.*]] = mpdfg.contract %[[R]] {{.*}}#mpdfg.on<@node>>
// CHECK: mpdfg.broadcast %[[Y]] along @src
// CHECK: mpdfg.contract {{.*}} : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<8x4xf32>
func.func @computed(%x: tensor<?x8xf32, #mpdfg.on<@node>>, %w: tensor<8x4xf32>)
    -> (tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>>) {
  %0 = mpdfg.broadcast %x along @src : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.unary relu %0 : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  %3 = mpdfg.broadcast %x along @mate : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %4 = mpdfg.unary sigmoid %3 : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
  %5 = mpdfg.contract %4 [0], %w [0, 1] -> [1] : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@edge>>
  return %2, %5 : tensor<?x4xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>>
}
