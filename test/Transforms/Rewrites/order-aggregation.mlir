// RUN: gnnc-opt %s --order-aggregation --cse --canonicalize | FileCheck %s
// RUN: gnnc-opt %s --order-aggregation --remark-format=emitRemark --remarks-filter=order-aggregation -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: gnnc-opt %s --order-aggregation=extents=few-sources --cse --canonicalize | FileCheck %s --check-prefix=SOURCES
// RUN: gnnc-opt %s --order-aggregation=extents=few-sources --remark-format=emitRemark \
// RUN:   --remarks-filter=order-aggregation -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEW

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node

!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>
!both = tensor<?x16xf32, #mpdfg.on<@edge>>
!out = tensor<?x4xf32, #mpdfg.on<@edge>>
!wide = tensor<?x32xf32, #mpdfg.on<@node>>
!ewide = tensor<?x32xf32, #mpdfg.on<@edge>>

// REMARK: [Passed] transform-first | {{.*}}Function=narrower {{.*}}"product comes before the sum: rows of 32 become rows of 8"
// CHECK-LABEL: func @narrower
// CHECK: %[[Z:.*]] = mpdfg.contract %arg0 [0], %arg1 [0, 1] -> [1] : tensor<?x32xf32, #mpdfg.on<@node>>
// CHECK: %[[M:.*]] = mpdfg.broadcast %[[Z]] along @src
// CHECK: %[[S:.*]] = mpdfg.reduce mean %[[M]] along @dst
// CHECK: return %[[S]]
func.func @narrower(%x: !wide, %w: tensor<32x8xf32>) -> !node {
  %0 = mpdfg.broadcast %x along @src : !wide -> !ewide
  %1 = mpdfg.reduce mean %0 along @dst : !ewide -> !wide
  %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] : !wide, tensor<32x8xf32> -> !node
  return %2 : !node
}

// Numbers of edges and nodes scale rows, and the row itself is added: all of it commutes with the product.
// CHECK-LABEL: func @scaled
// CHECK: %[[Z:.*]] = mpdfg.contract %arg0
// CHECK: %[[M:.*]] = mpdfg.broadcast %[[Z]] along @src
// CHECK: %[[P:.*]] = mpdfg.binary mul %[[M]], %arg1
// CHECK: %[[S:.*]] = mpdfg.reduce sum %[[P]] along @dst
// CHECK: %[[E:.*]] = mpdfg.binary mul %[[Z]], %arg2
// CHECK: %[[Y:.*]] = mpdfg.binary add %[[S]], %[[E]]
// CHECK: return %[[Y]]
func.func @scaled(%x: !wide, %a: tensor<?x1xf32, #mpdfg.on<@edge>>, %eps: tensor<1xf32>, %w: tensor<32x8xf32>) -> !node {
  %0 = mpdfg.broadcast %x along @src : !wide -> !ewide
  %1 = mpdfg.binary mul %0, %a : !ewide, tensor<?x1xf32, #mpdfg.on<@edge>> -> !ewide
  %2 = mpdfg.reduce sum %1 along @dst : !ewide -> !wide
  %3 = mpdfg.binary mul %x, %eps : !wide, tensor<1xf32> -> !wide
  %4 = mpdfg.binary add %2, %3 : !wide, !wide -> !wide
  %5 = mpdfg.contract %4 [0], %w [0, 1] -> [1] : !wide, tensor<32x8xf32> -> !node
  return %5 : !node
}

// REMARK: [Passed] aggregate-first | {{.*}}Function=wider {{.*}}"sum comes before the product: rows of 8 become rows of 32"
// CHECK-LABEL: func @wider
// CHECK: %[[M:.*]] = mpdfg.broadcast %arg0 along @src
// CHECK: %[[S:.*]] = mpdfg.reduce sum %[[M]] along @dst
// CHECK: mpdfg.contract %[[S]]
func.func @wider(%x: !node, %w: tensor<8x32xf32>) -> !wide {
  %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !node, tensor<8x32xf32> -> !wide
  %1 = mpdfg.broadcast %0 along @src : !wide -> !ewide
  %2 = mpdfg.reduce sum %1 along @dst : !ewide -> !wide
  return %2 : !wide
}

// REMARK: [Passed] aggregate-first | {{.*}}Function=of_members {{.*}}"product is made of the sum, not of its members"
// CHECK-LABEL: func @of_members
// CHECK: %[[S:.*]] = mpdfg.reduce mean %arg0 along @dst
// CHECK: mpdfg.contract %[[S]]
func.func @of_members(%e: !edge, %w: tensor<8x32xf32>) -> !wide {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge, tensor<8x32xf32> -> !ewide
  %1 = mpdfg.reduce mean %0 along @dst : !ewide -> !wide
  return %1 : !wide
}

// A bias right under the sum counts once for each member, under a mean once where there are any: it is added afterwards.
// CHECK-LABEL: func @bias
// CHECK: %[[S:.*]] = mpdfg.reduce mean %arg0 along @dst
// CHECK: %[[P:.*]] = mpdfg.contract %[[S]] [0], %arg1
// CHECK: mpdfg.degree along @dst
// CHECK: mpdfg.binary gt
// CHECK: %[[B:.*]] = mpdfg.binary mul {{.*}}%arg2
// CHECK: mpdfg.binary add %[[P]], %[[B]]
func.func @bias(%e: !edge, %w: tensor<8x32xf32>, %b: tensor<32xf32>) -> !wide {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge, tensor<8x32xf32> -> !ewide
  %1 = mpdfg.binary add %0, %b : !ewide, tensor<32xf32> -> !ewide
  %2 = mpdfg.reduce mean %1 along @dst : !ewide -> !wide
  return %2 : !wide
}

// CHECK-LABEL: func @bias_of_each_member
// CHECK: %[[S:.*]] = mpdfg.reduce sum %arg0 along @dst
// CHECK: %[[P:.*]] = mpdfg.contract %[[S]] [0], %arg1
// CHECK: %[[D:.*]] = mpdfg.degree along @dst
// CHECK-NOT: mpdfg.binary gt
// CHECK: %[[B:.*]] = mpdfg.binary mul {{.*}}%arg2
// CHECK: mpdfg.binary add %[[P]], %[[B]]
func.func @bias_of_each_member(%e: !edge, %w: tensor<8x32xf32>, %b: tensor<32xf32>) -> !wide {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge, tensor<8x32xf32> -> !ewide
  %1 = mpdfg.binary add %b, %0 : tensor<32xf32>, !ewide -> !ewide
  %2 = mpdfg.reduce sum %1 along @dst : !ewide -> !wide
  return %2 : !wide
}

// A bias that may be infinite stays where it is counted by adding: 0 times it is no number. So does one beside a weight
// that may be infinite, whose product stays on the members anyway.
// CHECK-LABEL: func @infinite_bias
// CHECK-NOT: mpdfg.degree
// CHECK: mpdfg.binary add
// CHECK-NEXT: mpdfg.reduce sum
func.func @infinite_bias(%e: !edge, %w: tensor<8x32xf32>, %p: tensor<32xf32>) -> !wide {
  %b = mpdfg.unary recip %p : tensor<32xf32> -> tensor<32xf32>
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge, tensor<8x32xf32> -> !ewide
  %1 = mpdfg.binary add %0, %b : !ewide, tensor<32xf32> -> !ewide
  %2 = mpdfg.reduce sum %1 along @dst : !ewide -> !wide
  return %2 : !wide
}

// CHECK-LABEL: func @bias_beside_infinite_weight
// CHECK-NOT: mpdfg.degree
// CHECK: mpdfg.binary add
// CHECK-NEXT: mpdfg.reduce sum
func.func @bias_beside_infinite_weight(%e: !edge, %p: tensor<8x32xf32>, %b: tensor<32xf32>) -> !wide {
  %w = mpdfg.unary recip %p : tensor<8x32xf32> -> tensor<8x32xf32>
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge, tensor<8x32xf32> -> !ewide
  %1 = mpdfg.binary add %0, %b : !ewide, tensor<32xf32> -> !ewide
  %2 = mpdfg.reduce sum %1 along @dst : !ewide -> !wide
  return %2 : !wide
}

// Rows of members are no bias.
// CHECK-LABEL: func @rows_added
// CHECK: mpdfg.binary add
// CHECK: mpdfg.reduce sum
func.func @rows_added(%e: !edge, %w: tensor<8x32xf32>, %r: !ewide) -> !wide {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge, tensor<8x32xf32> -> !ewide
  %1 = mpdfg.binary add %0, %r : !ewide, !ewide -> !ewide
  %2 = mpdfg.reduce sum %1 along @dst : !ewide -> !wide
  return %2 : !wide
}

// Neither a maximum, nor a function, nor dropout, nor a weight for each edge, nor a scale for each feature.
// CHECK-LABEL: func @not_linear
// CHECK: mpdfg.reduce max
// CHECK: mpdfg.unary relu
// CHECK: mpdfg.reduce sum
// CHECK: mpdfg.random
// CHECK: mpdfg.binary mul
// CHECK: mpdfg.reduce sum
// CHECK: mpdfg.contract {{.*}} : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x8x32xf32, #mpdfg.on<@edge>>
// CHECK: mpdfg.reduce sum
// CHECK: mpdfg.binary mul {{.*}}tensor<32xf32>
// CHECK: mpdfg.reduce sum
// CHECK: return
func.func @not_linear(%e: !edge, %w: tensor<8x32xf32>, %v: tensor<?x8x32xf32, #mpdfg.on<@edge>>, %c: tensor<32xf32>)
    -> (!wide, !wide, !wide, !wide, !wide) {
  %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge, tensor<8x32xf32> -> !ewide
  %1 = mpdfg.reduce max %0 along @dst : !ewide -> !wide
  %2 = mpdfg.unary relu %0 : !ewide -> !ewide
  %3 = mpdfg.reduce sum %2 along @dst : !ewide -> !wide
  %n = mpdfg.element : tensor<?x1xf32, #mpdfg.on<@edge>>
  %k = mpdfg.constant 1.0 : tensor<1xf32>
  %f = mpdfg.iota : tensor<32xf32>
  %mask = mpdfg.random %k, %k, %k, %n, %f site 0 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<32xf32> -> !ewide
  %4 = mpdfg.binary mul %0, %mask : !ewide, !ewide -> !ewide
  %5 = mpdfg.reduce sum %4 along @dst : !ewide -> !wide
  %6 = mpdfg.contract %e [0], %v [0, 1] -> [1] : !edge, tensor<?x8x32xf32, #mpdfg.on<@edge>> -> !ewide
  %7 = mpdfg.reduce sum %6 along @dst : !ewide -> !wide
  %8 = mpdfg.binary mul %0, %c : !ewide, tensor<32xf32> -> !ewide
  %9 = mpdfg.reduce sum %8 along @dst : !ewide -> !wide
  return %1, %3, %5, %7, %9 : !wide, !wide, !wide, !wide, !wide
}

// REMARK: [Missed] transform-first | {{.*}}Function=needed_twice | Reason="the sum is needed by others as well"
// CHECK-LABEL: func @needed_twice
// CHECK: mpdfg.reduce sum {{.*}} -> tensor<?x32xf32
// CHECK: mpdfg.contract
func.func @needed_twice(%x: !wide, %w: tensor<32x8xf32>) -> (!wide, !node) {
  %0 = mpdfg.broadcast %x along @src : !wide -> !ewide
  %1 = mpdfg.reduce sum %0 along @dst : !ewide -> !wide
  %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] : !wide, tensor<32x8xf32> -> !node
  return %1, %2 : !wide, !node
}

// From members to owners of another space: a readout of graphs multiplies few rows, whatever their width.
// REMARK: [Missed] transform-first | {{.*}}Function=other_space | Reason="which space has fewer elements is not known"
// CHECK-LABEL: func @other_space
// CHECK: mpdfg.reduce sum
// CHECK-NEXT: mpdfg.contract
func.func @other_space(%e: !ewide, %w: tensor<32x8xf32>) -> !node {
  %1 = mpdfg.reduce sum %e along @dst : !ewide -> !wide
  %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] : !wide, tensor<32x8xf32> -> !node
  return %2 : !node
}

// Each owner's members have its weight. Where rows come from fewer elements than there are owners, products are made there.
// REMARK: [Passed] aggregate-first | {{.*}}Function=weight_of_owner {{.*}}"product is made of the sum, not of its members"
// FEW: [Missed] aggregate-first | {{.*}}Function=weight_of_owner | Reason="senders are taken to be fewer"
// CHECK-LABEL: func @weight_of_owner
// CHECK: mpdfg.reduce sum
// CHECK-NEXT: mpdfg.contract
// SOURCES-LABEL: func @weight_of_owner
// SOURCES: mpdfg.contract
// SOURCES-NEXT: mpdfg.reduce sum
func.func @weight_of_owner(%x: !node, %w: tensor<?x8x32xf32, #mpdfg.on<@node>>) -> !wide {
  %0 = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.broadcast %w along @dst : tensor<?x8x32xf32, #mpdfg.on<@node>> -> tensor<?x8x32xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.contract %0 [0], %1 [0, 1] -> [1] : !edge, tensor<?x8x32xf32, #mpdfg.on<@edge>> -> !ewide
  %3 = mpdfg.reduce sum %2 along @dst : !ewide -> !wide
  return %3 : !wide
}

// Rows of members themselves come from nowhere else.
// SOURCES-LABEL: func @rows_of_members
// SOURCES: mpdfg.reduce sum
// SOURCES-NEXT: mpdfg.contract
func.func @rows_of_members(%e: !edge, %w: tensor<?x8x32xf32, #mpdfg.on<@node>>) -> !wide {
  %1 = mpdfg.broadcast %w along @dst : tensor<?x8x32xf32, #mpdfg.on<@node>> -> tensor<?x8x32xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.contract %e [0], %1 [0, 1] -> [1] : !edge, tensor<?x8x32xf32, #mpdfg.on<@edge>> -> !ewide
  %3 = mpdfg.reduce sum %2 along @dst : !ewide -> !wide
  return %3 : !wide
}

// The sum over no members is 0; a weight of theirs that may be infinite is 1 where there are none.
// CHECK-LABEL: func @owners_weight
// CHECK-DAG: %[[U:.*]] = mpdfg.unary recip %arg1
// CHECK-DAG: %[[S:.*]] = mpdfg.reduce sum %arg0 along @dst
// CHECK-DAG: %[[N:.*]] = mpdfg.degree along @dst
// CHECK-DAG: %[[C:.*]] = mpdfg.reshape %[[N]] : {{.*}} -> tensor<?x1x1xf32, #mpdfg.on<@node>>
// CHECK: %[[W:.*]] = mpdfg.select %[[C]], %[[U]], %{{.*}}
// CHECK: mpdfg.contract %[[S]] [0], %[[W]] [0, 1]
func.func @owners_weight(%e: !edge, %u: tensor<?x8x4xf32, #mpdfg.on<@node>>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.unary recip %u : tensor<?x8x4xf32, #mpdfg.on<@node>> -> tensor<?x8x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.broadcast %0 along @dst : tensor<?x8x4xf32, #mpdfg.on<@node>> -> tensor<?x8x4xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.contract %e [0], %1 [0, 1] -> [1] : !edge, tensor<?x8x4xf32, #mpdfg.on<@edge>> -> !out
  %3 = mpdfg.reduce sum %2 along @dst : !out -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %3 : tensor<?x4xf32, #mpdfg.on<@node>>
}

// A shared weight that may be infinite stays where there are no zeros to multiply, whichever way.
// REMARK: [Missed] aggregate-first | {{.*}}Function=infinite_weight | Reason="the weight may be infinite where there is nothing to sum"
// REMARK: [Missed] transform-first | {{.*}}Function=infinite_weight_after | Reason="the weight may be infinite where there is nothing to sum"
// CHECK-LABEL: func @infinite_weight(
// CHECK: %[[P:.*]] = mpdfg.contract %arg0
// CHECK: mpdfg.reduce sum %[[P]]
// CHECK-LABEL: func @infinite_weight_after(
// CHECK: %[[P:.*]] = mpdfg.reduce sum
// CHECK: mpdfg.contract %[[P]]
func.func @infinite_weight(%e: !edge, %p: tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.unary recip %p : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = mpdfg.contract %e [0], %0 [0, 1] -> [1] : !edge, tensor<8x4xf32> -> !out
  %2 = mpdfg.reduce sum %1 along @dst : !out -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x4xf32, #mpdfg.on<@node>>
}
func.func @infinite_weight_after(%x: !node, %p: tensor<8x4xf32>) -> tensor<?x4xf32, #mpdfg.on<@node>> {
  %0 = mpdfg.unary recip %p : tensor<8x4xf32> -> tensor<8x4xf32>
  %e = mpdfg.broadcast %x along @src : !node -> !edge
  %1 = mpdfg.reduce sum %e along @dst : !edge -> !node
  %2 = mpdfg.contract %1 [0], %0 [0, 1] -> [1] : !node, tensor<8x4xf32> -> tensor<?x4xf32, #mpdfg.on<@node>>
  return %2 : tensor<?x4xf32, #mpdfg.on<@node>>
}
