// RUN: gnnc-opt %s --read-parts | FileCheck %s

!a = tensor<?x8xf32, #mpdfg.on<@a>>
!b = tensor<?x8xf32, #mpdfg.on<@b>>
!all = tensor<?x8xf32, #mpdfg.on<@all>>

mpdfg.space @a root
mpdfg.space @b root
mpdfg.space @all union {parts = [@a, @b]}
mpdfg.map @to_a part from @all to @a {part = 0 : i64, partial}
mpdfg.map @to_b part from @all to @b {part = 1 : i64, partial}
mpdfg.map @a_in injection from @a to @all {part = 0 : i64}
// CHECK: mpdfg.map @to_b.converse injection from @b to @all {part = 1 : i64}

// An element of a part is one of the union.
// CHECK-LABEL: func @of_parts
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
func.func @of_parts(%x: !all) -> (!a, !b) {
  // CHECK: %[[A:[a-z0-9]+]] = mpdfg.broadcast %[[X]] along @a_in
  // CHECK: %[[B:[a-z0-9]+]] = mpdfg.broadcast %[[X]] along @to_b.converse
  // CHECK: return %[[A]], %[[B]]
  %0 = mpdfg.reduce sum %x along @to_a : !all -> !a
  %1 = mpdfg.reduce sum %x along @to_b : !all -> !b
  return %0, %1 : !a, !b
}

// Elements of other parts get nothing.
// CHECK-LABEL: func @of_union
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor
func.func @of_union(%x: !a) -> !all {
  // CHECK: %[[ALL:[a-z0-9]+]] = mpdfg.broadcast %[[X]] along @to_a :
  // CHECK: return %[[ALL]]
  %0 = mpdfg.reduce sum %x along @a_in : !a -> !all
  return %0 : !all
}

// Other reductions stay: of no member they are no read.
// CHECK-LABEL: func @others
func.func @others(%x: !all) -> !a {
  // CHECK: mpdfg.reduce argmax
  %0 = mpdfg.reduce argmax %x along @to_a : !all -> !a
  return %0 : !a
}
