// RUN: gnnc-opt %s --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// Winners in a sweep. Element 0 belongs to nobody, so it cannot win, nor is it marked; an owner's own number may be asked
// for as well.
// CHECK: win: 3 rows [1]
// CHECK-NEXT: -1
// CHECK-NEXT: 3
// CHECK-NEXT: 1
// CHECK-NEXT: mark: 4 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: self: 3 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: 0
// CHECK-NEXT: selfm: 4 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 0
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: first: shared [1]
// CHECK-NEXT: 1
// CHECK-NEXT: least: shared [1]
// CHECK-NEXT: 0
!n = tensor<?x1xf32, #mpdfg.on<@node>>
!e = tensor<?x1xf32, #mpdfg.on<@edge>>
!r = tensor<1xf32>
module attributes {
  test.extents = {node = 3, edge = 4},
  test.maps = {dst = array<i64: -1, 2, 2, 1>},
  test.inputs = {x = dense<[[9.0], [5.0], [5.0], [5.0]]> : tensor<4x1xf64>, o = dense<[[1.0], [1.0], [1.0]]> : tensor<3x1xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @dst root from @edge to @node {partial}
  func.func @forward(%x: !e {mpdfg.name = "x"}, %o: !n {mpdfg.name = "o"})
      -> (!n {mpdfg.name = "win"}, !e {mpdfg.name = "mark"}, !n {mpdfg.name = "self"}, !e {mpdfg.name = "selfm"},
          !r {mpdfg.name = "first"}, !r {mpdfg.name = "least"}) {
    %0:6 = mpk.sweep over @node along @dst (%x, %o) access [#mpk.access<member>, #mpk.access<owner>]
        yields [#mpk.access<owner>, #mpk.access<member>, #mpk.access<owner>, #mpk.access<member>, #mpk.access<shared>,
                #mpk.access<shared>] {
    ^bb0(%a: !r, %b: !r):
      %win = mpk.accumulate argmax %a : !r
      %member = mpdfg.element {member} : !r
      %owner = mpdfg.element : !r
      %mark = mpdfg.is_element %win, %member : !r, !r -> !r
      %self = mpdfg.is_element %b, %owner : !r, !r -> !r
      %first = mpk.accumulate argmax %a shared : !r
      %least = mpk.accumulate argmin %b shared : !r
      mpk.yield %win, %mark, %self, %self, %first, %least : !r, !r, !r, !r, !r, !r
    } : (!e, !n) -> (!n, !e, !n, !e, !r, !r)
    return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5 : !n, !e, !n, !e, !r, !r
  }
}
