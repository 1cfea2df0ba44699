// RUN: gnnc-opt %s --factor-sums -split-input-file | FileCheck %s
// RUN: gnnc-opt %s --factor-sums -split-input-file --remark-format=emitRemark --remarks-filter=factor-sums -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

mpdfg.space @node root
mpdfg.space @edge root
mpdfg.space @kind static {extent = 3 : i64}
mpdfg.map @src root from @edge to @node
mpdfg.map @dst root from @edge to @node
mpdfg.map @ntype root from @node to @kind
mpdfg.map @dtype compose from @edge to @kind {parts = [@dst, @ntype]}

!scalar = tensor<?x1xf32, #mpdfg.on<@node>>
!escalar = tensor<?x1xf32, #mpdfg.on<@edge>>
!node = tensor<?x8xf32, #mpdfg.on<@node>>
!edge = tensor<?x8xf32, #mpdfg.on<@edge>>

// REMARK: [Passed] factor | {{.*}}Function=multiply {{.*}}"1 factors leave the sum along @dst"
// CHECK-LABEL: func @multiply
// CHECK: %[[S:.*]] = mpdfg.reduce sum %arg0 along @dst
// CHECK: %[[Y:.*]] = mpdfg.binary mul %[[S]], %arg1
// CHECK: return %[[Y]]
func.func @multiply(%x: !edge, %c: !scalar) -> !node {
  %0 = mpdfg.broadcast %c along @dst : !scalar -> !escalar
  %1 = mpdfg.binary mul %x, %0 : !edge, !escalar -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  return %2 : !node
}

// A factor of the target's type moves by way of the target; a mean keeps factors as well.
// CHECK-LABEL: func @by_way_of
// CHECK: %[[S:.*]] = mpdfg.reduce mean %arg0 along @dst
// CHECK: %[[C:.*]] = mpdfg.broadcast %arg1 along @ntype
// CHECK: mpdfg.binary mul %[[S]], %[[C]]
func.func @by_way_of(%x: !edge, %c: tensor<3x1xf32, #mpdfg.on<@kind>>) -> !node {
  %0 = mpdfg.broadcast %c along @dtype : tensor<3x1xf32, #mpdfg.on<@kind>> -> !escalar
  %1 = mpdfg.binary mul %x, %0 : !edge, !escalar -> !edge
  %2 = mpdfg.reduce mean %1 along @dst : !edge -> !node
  return %2 : !node
}

// Both ends of a normalisation: what comes from the target leaves, what comes from the source stays. A degree may be 0,
// so nodes without edges divide by 1.
// CHECK-LABEL: func @normalisation
// CHECK: %[[D:.*]] = mpdfg.degree along @dst
// CHECK: %[[W:.*]] = mpdfg.binary div %{{.*}}, %{{.*}} : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>>
// CHECK-NOT: along @dst : tensor<?x1xf32, #mpdfg.on<@node>>
// CHECK: %[[S:.*]] = mpdfg.reduce sum
// CHECK: %[[SAFE:.*]] = mpdfg.select
// CHECK: mpdfg.binary div %[[S]], %[[SAFE]]
func.func @normalisation(%x: !node) -> !node {
  %d = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
  %r = mpdfg.reshape %d : tensor<?xf32, #mpdfg.on<@node>> -> !scalar
  %ds = mpdfg.broadcast %r along @src : !scalar -> !escalar
  %dd = mpdfg.broadcast %r along @dst : !scalar -> !escalar
  %xs = mpdfg.broadcast %x along @src : !node -> !edge
  %0 = mpdfg.binary div %xs, %dd : !edge, !escalar -> !edge
  %1 = mpdfg.binary div %0, %ds : !edge, !escalar -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  return %2 : !node
}

// The divisor is 1 or more: no guard.
// CHECK-LABEL: func @safe_divisor
// CHECK-NOT: mpdfg.select
// CHECK: mpdfg.binary div %{{.*}}, %{{.*}} : tensor<?x8xf32, #mpdfg.on<@node>>
func.func @safe_divisor(%x: !edge) -> !node {
  %d = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
  %one = mpdfg.constant 1.0 : tensor<f32>
  %m = mpdfg.binary maximum %d, %one : tensor<?xf32, #mpdfg.on<@node>>, tensor<f32> -> tensor<?xf32, #mpdfg.on<@node>>
  %r = mpdfg.reshape %m : tensor<?xf32, #mpdfg.on<@node>> -> !scalar
  %dd = mpdfg.broadcast %r along @dst : !scalar -> !escalar
  %0 = mpdfg.binary div %x, %dd : !edge, !escalar -> !edge
  %2 = mpdfg.reduce sum %0 along @dst : !edge -> !node
  return %2 : !node
}

// A log-sum-exp is infinite where there are no members: 0 times it would not be 0.
// CHECK-LABEL: func @infinite_factor
// CHECK: mpdfg.select
// CHECK: mpdfg.binary mul
func.func @infinite_factor(%x: !edge) -> !node {
  %l = mpdfg.reduce logsumexp %x along @dst : !edge -> !node
  %m = mpdfg.broadcast %l along @dst : !node -> !edge
  %0 = mpdfg.binary mul %x, %m : !edge, !edge -> !edge
  %2 = mpdfg.reduce sum %0 along @dst : !edge -> !node
  return %2 : !node
}

// A factor through another map differs from member to member.
// REMARK: [Missed] factor | {{.*}}Function=other_map | Reason="the factors differ from member to member"
// CHECK-LABEL: func @other_map
// CHECK: mpdfg.binary mul {{.*}} -> tensor<?x8xf32, #mpdfg.on<@edge>>
// CHECK-NEXT: mpdfg.reduce sum
// CHECK-NEXT: return
func.func @other_map(%x: !edge, %c: !scalar) -> !node {
  %0 = mpdfg.broadcast %c along @src : !scalar -> !escalar
  %1 = mpdfg.binary mul %x, %0 : !edge, !escalar -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  return %2 : !node
}

// Neither a bias nor what a function is applied to is a factor, and a maximum is no sum.
// CHECK-LABEL: func @not_linear
// CHECK: mpdfg.binary add
// CHECK: mpdfg.reduce sum
// CHECK: mpdfg.unary relu
// CHECK: mpdfg.reduce sum
// CHECK: mpdfg.reduce max
// CHECK-NEXT: return
func.func @not_linear(%x: !edge, %c: !scalar) -> (!node, !node, !node) {
  %0 = mpdfg.broadcast %c along @dst : !scalar -> !escalar
  %1 = mpdfg.binary add %x, %0 : !edge, !escalar -> !edge
  %2 = mpdfg.reduce sum %1 along @dst : !edge -> !node
  %3 = mpdfg.binary mul %x, %0 : !edge, !escalar -> !edge
  %4 = mpdfg.unary relu %3 : !edge -> !edge
  %5 = mpdfg.reduce sum %4 along @dst : !edge -> !node
  %6 = mpdfg.reduce max %3 along @dst : !edge -> !node
  return %2, %5, %6 : !node, !node, !node
}

// A dropped row is drawn by the member's number, so the mask stays; the factor outside of a function leaves, the one inside stays.
// CHECK-LABEL: func @random
// CHECK: mpdfg.binary mul
// CHECK: %[[R:.*]] = mpdfg.random
// CHECK: %[[M:.*]] = mpdfg.binary mul %{{.*}}, %[[R]]
// CHECK: %[[S:.*]] = mpdfg.reduce sum %[[M]]
// CHECK: mpdfg.binary mul %[[S]], %arg1
func.func @random(%x: !edge, %c: !scalar) -> !node {
  %0 = mpdfg.broadcast %c along @dst : !scalar -> !escalar
  %1 = mpdfg.binary mul %x, %0 : !edge, !escalar -> !edge
  %n = mpdfg.element : tensor<?x1xf32, #mpdfg.on<@edge>>
  %k = mpdfg.constant 1.0 : tensor<1xf32>
  %f = mpdfg.iota : tensor<8xf32>
  %mask = mpdfg.random %k, %k, %k, %n, %f site 0 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<8xf32> -> !edge
  %r = mpdfg.unary relu %1 : !edge -> !edge
  %2 = mpdfg.binary mul %r, %mask : !edge, !edge -> !edge
  %3 = mpdfg.binary mul %2, %0 : !edge, !escalar -> !edge
  %4 = mpdfg.reduce sum %3 along @dst : !edge -> !node
  return %4 : !node
}

// Over everything, shared factors leave; an empty space has no count to guard with.
// REMARK: [Missed] factor | {{.*}}Function=everything | Reason="the factor may be infinite, and the space empty"
// CHECK-LABEL: func @everything
// CHECK: mpdfg.reduce sum %arg0 along @all
// CHECK: mpdfg.binary mul %{{.*}} : tensor<8xf32>, tensor<8xf32>
// CHECK: mpdfg.binary div %{{.*}} : tensor<?x8xf32
func.func @everything(%x: !edge, %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = mpdfg.binary mul %x, %s : !edge, tensor<8xf32> -> !edge
  %1 = mpdfg.reduce sum %0 along @all : !edge -> tensor<8xf32>
  %2 = mpdfg.binary div %x, %s : !edge, tensor<8xf32> -> !edge
  %3 = mpdfg.reduce sum %2 along @all : !edge -> tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}

// Constants count as they are computed with: 1e-38 is too small for a normal number of 32 bits and may be taken for 0, so that the
// divisor may be 0; it is none of the smallest of 64.
// CHECK-LABEL: func @small(
// CHECK: mpdfg.select
// CHECK-LABEL: func @small_in_double
// CHECK-NOT: mpdfg.select
// CHECK: return
func.func @small(%x: tensor<?xf32, #mpdfg.on<@edge>>) -> tensor<?xf32, #mpdfg.on<@node>> {
  %n = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
  %c = mpdfg.constant 1.0e-38 : tensor<f32>
  %d = mpdfg.binary add %n, %c : tensor<?xf32, #mpdfg.on<@node>>, tensor<f32> -> tensor<?xf32, #mpdfg.on<@node>>
  %0 = mpdfg.broadcast %d along @dst : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@edge>>
  %1 = mpdfg.binary div %x, %0 : tensor<?xf32, #mpdfg.on<@edge>>, tensor<?xf32, #mpdfg.on<@edge>> -> tensor<?xf32, #mpdfg.on<@edge>>
  %2 = mpdfg.reduce sum %1 along @dst : tensor<?xf32, #mpdfg.on<@edge>> -> tensor<?xf32, #mpdfg.on<@node>>
  return %2 : tensor<?xf32, #mpdfg.on<@node>>
}
func.func @small_in_double(%x: tensor<?xf64, #mpdfg.on<@edge>>) -> tensor<?xf64, #mpdfg.on<@node>> {
  %n = mpdfg.degree along @dst : tensor<?xf64, #mpdfg.on<@node>>
  %c = mpdfg.constant 1.0e-38 : tensor<f64>
  %d = mpdfg.binary add %n, %c : tensor<?xf64, #mpdfg.on<@node>>, tensor<f64> -> tensor<?xf64, #mpdfg.on<@node>>
  %0 = mpdfg.broadcast %d along @dst : tensor<?xf64, #mpdfg.on<@node>> -> tensor<?xf64, #mpdfg.on<@edge>>
  %1 = mpdfg.binary div %x, %0 : tensor<?xf64, #mpdfg.on<@edge>>, tensor<?xf64, #mpdfg.on<@edge>> -> tensor<?xf64, #mpdfg.on<@edge>>
  %2 = mpdfg.reduce sum %1 along @dst : tensor<?xf64, #mpdfg.on<@edge>> -> tensor<?xf64, #mpdfg.on<@node>>
  return %2 : tensor<?xf64, #mpdfg.on<@node>>
}

// -----

// What a mask chooses has one member each, and keeps numbers away that are not finite: as a factor outside of the sum,
// those of the others would be 0 times NaN.
// CHECK-LABEL: func @of_the_chosen
// CHECK: %[[P:.*]] = mpdfg.binary mul %arg0, %{{.*}} : tensor<?x8xf32, #mpdfg.on<@part>>
// CHECK: mpdfg.reduce sum %[[P]] along @chosen
module attributes {mpdfg.exported, mpdfg.source = {chosen = "nonzero(mask)", node = "size(x, 0)", part = "length(nonzero(mask))"}} {
  mpdfg.space @node root
  mpdfg.space @part root
  mpdfg.map @chosen root from @part to @node
  func.func @of_the_chosen(%x: tensor<?x8xf32, #mpdfg.on<@part>>, %y: tensor<?x8xf32, #mpdfg.on<@node>>) -> tensor<?x8xf32, #mpdfg.on<@node>> {
    %0 = mpdfg.broadcast %y along @chosen : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@part>>
    %1 = mpdfg.binary mul %x, %0 : tensor<?x8xf32, #mpdfg.on<@part>>, tensor<?x8xf32, #mpdfg.on<@part>> -> tensor<?x8xf32, #mpdfg.on<@part>>
    %2 = mpdfg.reduce sum %1 along @chosen : tensor<?x8xf32, #mpdfg.on<@part>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    return %2 : tensor<?x8xf32, #mpdfg.on<@node>>
  }
}
