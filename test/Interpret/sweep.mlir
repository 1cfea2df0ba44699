// RUN: gnnc-opt %s --split-input-file --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// A softmax-weighted sum with everything else a sweep can yield. Node 0 has no members, node 1 the edges 1 and 3, node 2 the
// others; edges 0 and 2 are the same pair.
//   edge    0  1  2  3
//   s[src]  1  0  1  1      (s = 0, 1, 0)
//   t[dst]  3  2  3  2      (t = 1, 2, 3)
//   x       1  2  3  4
// CHECK: y: 3 rows [1]
// CHECK-NEXT: 0
// edges 1 and 3, scores 2 and 3: (2 + 4 e) / (1 + e)
// CHECK-NEXT: 3.46212
// edges 0 and 2, equal scores
// CHECK-NEXT: 2
// CHECK-NEXT: alpha: 4 rows [1]
// CHECK-NEXT: 0.5
// CHECK-NEXT: 0.268941
// CHECK-NEXT: 0.5
// CHECK-NEXT: 0.731059
// CHECK-NEXT: lse: 3 rows [1]
// CHECK-NEXT: -inf
// CHECK-NEXT: 3.31326
// CHECK-NEXT: 4.69315
// Each owner's own value summed over its members counts once for each.
// CHECK-NEXT: tt: 3 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 4
// CHECK-NEXT: 6
// A shared value too: the degree.
// CHECK-NEXT: degree: 3 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 2
// CHECK-NEXT: 2
// An epilogue on the owner's row.
// CHECK-NEXT: epilogue: 3 rows [1]
// CHECK-NEXT: 1
// CHECK-NEXT: 5.46212
// CHECK-NEXT: 5
// Sums to shared: of members, of owners, of a shared value (once for each owner).
// CHECK-NEXT: total: shared [1]
// CHECK-NEXT: 10
// CHECK-NEXT: owners: shared [1]
// CHECK-NEXT: 6
// CHECK-NEXT: count: shared [1]
// CHECK-NEXT: 3
// An owner-level and a shared value written for members, a shared one for owners.
// CHECK-NEXT: tm: 4 rows [1]
// CHECK-NEXT: 3
// CHECK-NEXT: 2
// CHECK-NEXT: 3
// CHECK-NEXT: 2
// CHECK-NEXT: om: 4 rows [1]
// CHECK-NEXT: 1
// CHECK-NEXT: 1
// CHECK-NEXT: 1
// CHECK-NEXT: 1
// CHECK-NEXT: oo: 3 rows [1]
// CHECK-NEXT: 1
// CHECK-NEXT: 1
// CHECK-NEXT: 1
!n = tensor<?x1xf32, #mpdfg.on<@node>>
!e = tensor<?x1xf32, #mpdfg.on<@edge>>
!r = tensor<1xf32>
module attributes {
  test.extents = {node = 3, edge = 4},
  test.maps = {src = array<i64: 1, 0, 1, 1>, dst = array<i64: 2, 1, 2, 1>},
  test.inputs = {s = dense<[[0.0], [1.0], [0.0]]> : tensor<3x1xf64>, t = dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf64>,
                 x = dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
  func.func @forward(%s: !n {mpdfg.name = "s"}, %t: !n {mpdfg.name = "t"}, %x: !e {mpdfg.name = "x"})
      -> (!n {mpdfg.name = "y"}, !e {mpdfg.name = "alpha"}, !n {mpdfg.name = "lse"}, !n {mpdfg.name = "tt"},
          !n {mpdfg.name = "degree"}, !n {mpdfg.name = "epilogue"}, !r {mpdfg.name = "total"}, !r {mpdfg.name = "owners"},
          !r {mpdfg.name = "count"}, !e {mpdfg.name = "tm"}, !e {mpdfg.name = "om"}, !n {mpdfg.name = "oo"}) {
    mpk.arena [@node, @edge] bytes [4, 4] first [0, 1] last [2, 1]
    %0:12 = mpk.sweep over @node along @dst (%s, %t, %x)
        access [#mpk.access<gather_member @src>, #mpk.access<owner>, #mpk.access<member>]
        yields [#mpk.access<owner>, #mpk.access<member>, #mpk.access<owner>, #mpk.access<owner>, #mpk.access<owner>,
                #mpk.access<owner>, #mpk.access<shared>, #mpk.access<shared>, #mpk.access<shared>, #mpk.access<member>,
                #mpk.access<member>, #mpk.access<owner>] {
    ^bb0(%a: !r, %b: !r, %c: !r):
      %score = mpdfg.binary add %a, %b : !r, !r -> !r
      %alpha = mpk.softmax %score : !r
      %message = mpdfg.binary mul %alpha, %c : !r, !r -> !r
      %y = mpk.accumulate sum %message : !r
      %lse = mpk.accumulate logsumexp %score : !r
      %tt = mpk.accumulate sum %b : !r
      %one = mpdfg.constant 1.0 : !r
      %degree = mpk.accumulate sum %one : !r
      %epilogue = mpdfg.binary add %y, %b : !r, !r -> !r
      %total = mpk.accumulate sum %c shared : !r
      %owners = mpk.accumulate sum %b shared : !r
      %count = mpk.accumulate sum %one shared : !r
      mpk.yield %y, %alpha, %lse, %tt, %degree, %epilogue, %total, %owners, %count, %b, %one, %one
        : !r, !r, !r, !r, !r, !r, !r, !r, !r, !r, !r, !r
    } {mpk.places = [#mpk.place<arena 0>, #mpk.place<arena 1>, #mpk.place<none>, #mpk.place<none>, #mpk.place<none>, #mpk.place<none>,
                     #mpk.place<none>, #mpk.place<none>, #mpk.place<none>, #mpk.place<none>, #mpk.place<none>, #mpk.place<none>]}
      : (!n, !n, !e) -> (!n, !e, !n, !n, !n, !n, !r, !r, !r, !e, !e, !n)
    return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8, %0#9, %0#10, %0#11
      : !n, !e, !n, !n, !n, !n, !r, !r, !r, !e, !e, !n
  }
}

// -----

// All reductions, along a partial map: elements 1 and 4 belong to nobody and count in nothing, nor do they in shared sums;
// their rows of a member result are 0.
// CHECK: sum: 2 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: -6
// CHECK-NEXT: mean: 2 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: -2
// CHECK-NEXT: max: 2 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: -1
// CHECK-NEXT: min: 2 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: -3
// CHECK-NEXT: logsumexp: 2 rows [1]
// CHECK-NEXT: -inf
// CHECK-NEXT: -0.592394
// CHECK-NEXT: softmax: 5 rows [1]
// CHECK-NEXT: 0.665241
// CHECK-NEXT: 0
// CHECK-NEXT: 0.0900306
// CHECK-NEXT: 0.244728
// CHECK-NEXT: 0
// CHECK-NEXT: next: 5 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 0
// CHECK-NEXT: -2
// CHECK-NEXT: -1
// CHECK-NEXT: 0
// CHECK-NEXT: smax: shared [1]
// CHECK-NEXT: -1
// CHECK-NEXT: smean: shared [1]
// CHECK-NEXT: -2
// CHECK-NEXT: slse: shared [1]
// CHECK-NEXT: -0.592394
!n = tensor<?x1xf32, #mpdfg.on<@node>>
!e = tensor<?x1xf32, #mpdfg.on<@item>>
!r = tensor<1xf32>
module attributes {
  test.extents = {node = 2, item = 5},
  test.maps = {of = array<i64: 1, -1, 1, 1, -1>},
  test.inputs = {x = dense<[[-1.0], [5.0], [-3.0], [-2.0], [9.0]]> : tensor<5x1xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @item root
  mpdfg.map @of root from @item to @node {partial}
  func.func @forward(%x: !e {mpdfg.name = "x"})
      -> (!n {mpdfg.name = "sum"}, !n {mpdfg.name = "mean"}, !n {mpdfg.name = "max"}, !n {mpdfg.name = "min"},
          !n {mpdfg.name = "logsumexp"}, !e {mpdfg.name = "softmax"}, !e {mpdfg.name = "next"}, !r {mpdfg.name = "smax"},
          !r {mpdfg.name = "smean"}, !r {mpdfg.name = "slse"}) {
    %0:10 = mpk.sweep over @node along @of (%x) access [#mpk.access<member>]
        yields [#mpk.access<owner>, #mpk.access<owner>, #mpk.access<owner>, #mpk.access<owner>, #mpk.access<owner>,
                #mpk.access<member>, #mpk.access<member>, #mpk.access<shared>, #mpk.access<shared>, #mpk.access<shared>] {
    ^bb0(%a: !r):
      %sum = mpk.accumulate sum %a : !r
      %mean = mpk.accumulate mean %a : !r
      %max = mpk.accumulate max %a : !r
      %min = mpk.accumulate min %a : !r
      %lse = mpk.accumulate logsumexp %a : !r
      %p = mpk.softmax %a : !r
      %one = mpdfg.constant 1.0 : !r
      %next = mpdfg.binary add %a, %one : !r, !r -> !r
      %smax = mpk.accumulate max %a shared : !r
      %smean = mpk.accumulate mean %a shared : !r
      %slse = mpk.accumulate logsumexp %a shared : !r
      mpk.yield %sum, %mean, %max, %min, %lse, %p, %next, %smax, %smean, %slse : !r, !r, !r, !r, !r, !r, !r, !r, !r, !r
    } : (!e) -> (!n, !n, !n, !n, !n, !e, !e, !r, !r, !r)
    return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8, %0#9 : !n, !n, !n, !n, !n, !e, !e, !r, !r, !r
  }
}

// -----

// Gathers along partial maps, with and without a fill; elementwise work over a space, and over nothing; a mean of the
// owner's softmax over members that do not differ.
// CHECK: mates: 3 rows [1]
// CHECK-NEXT: 3
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: filled: 3 rows [1]
// CHECK-NEXT: 3
// CHECK-NEXT: 100
// CHECK-NEXT: 1
// CHECK-NEXT: uniform: 3 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 1
// CHECK-NEXT: 0.5
// CHECK-NEXT: far: 3 rows [1]
// CHECK-NEXT: 0
// CHECK-NEXT: 8
// CHECK-NEXT: 5
// CHECK-NEXT: none: shared [1]
// CHECK-NEXT: 49
!n = tensor<?x1xf32, #mpdfg.on<@node>>
!r = tensor<1xf32>
module attributes {
  test.extents = {node = 3, edge = 3},
  test.maps = {dst = array<i64: 2, 1, 2>, old = array<i64: 1, -1, 2>, mate = array<i64: 2, -1, 0>},
  test.inputs = {x = dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf64>, b = dense<7.0> : tensor<1xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @dst root from @edge to @node
  mpdfg.map @old root from @edge to @node {partial}
  mpdfg.map @mate root from @node to @node {partial}
  func.func @forward(%x: !n {mpdfg.name = "x"}, %b: !r {mpdfg.name = "b"})
      -> (!n {mpdfg.name = "mates"}, !n {mpdfg.name = "filled"}, !n {mpdfg.name = "uniform"}, !n {mpdfg.name = "far"},
          !r {mpdfg.name = "none"}) {
    %0:2 = mpk.sweep over @node (%x, %x)
        access [#mpk.access<gather_owner @mate>, #mpk.access<gather_owner @mate fill 100.0>]
        yields [#mpk.access<owner>, #mpk.access<owner>] {
    ^bb0(%a: !r, %c: !r):
      mpk.yield %a, %c : !r, !r
    } : (!n, !n) -> (!n, !n)
    %1:2 = mpk.sweep over @node along @dst (%x, %x)
        access [#mpk.access<owner>, #mpk.access<gather_member @old fill 8.0>]
        yields [#mpk.access<owner>, #mpk.access<owner>] {
    ^bb0(%a: !r, %c: !r):
      %2 = mpk.softmax %a : !r
      %3 = mpk.accumulate mean %2 : !r
      %4 = mpdfg.binary mul %c, %c : !r, !r -> !r
      %5 = mpdfg.unary sqrt %4 : !r -> !r
      %6 = mpk.accumulate sum %5 : !r
      mpk.yield %3, %6 : !r, !r
    } : (!n, !n) -> (!n, !n)
    %2 = mpk.sweep (%b) access [#mpk.access<shared>] yields [#mpk.access<shared>] {
    ^bb0(%a: !r):
      %3 = mpdfg.unary square %a : !r -> !r
      mpk.yield %3 : !r
    } : (!r) -> !r
    return %0#0, %0#1, %1#0, %1#1, %2 : !n, !n, !n, !n, !r
  }
}

// -----

// Without owners there is nothing, but shared results have their one row.
// CHECK: y: 0 rows [1]
// CHECK-NEXT: m: 0 rows [1]
// CHECK-NEXT: sum: shared [1]
// CHECK-NEXT: 0
// CHECK-NEXT: lse: shared [1]
// CHECK-NEXT: -inf
!n = tensor<?x1xf32, #mpdfg.on<@node>>
!e = tensor<?x1xf32, #mpdfg.on<@edge>>
!r = tensor<1xf32>
module attributes {
  test.extents = {node = 0, edge = 0}, test.maps = {dst = array<i64>}, test.inputs = {x = dense<> : tensor<0x1xf64>}
} {
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.map @dst root from @edge to @node
  func.func @forward(%x: !n {mpdfg.name = "x"})
      -> (!n {mpdfg.name = "y"}, !e {mpdfg.name = "m"}, !r {mpdfg.name = "sum"}, !r {mpdfg.name = "lse"}) {
    %0:4 = mpk.sweep over @node along @dst (%x) access [#mpk.access<gather_member @dst>]
        yields [#mpk.access<owner>, #mpk.access<member>, #mpk.access<shared>, #mpk.access<shared>] {
    ^bb0(%a: !r):
      %1 = mpk.softmax %a : !r
      %2 = mpk.accumulate sum %1 : !r
      %3 = mpk.accumulate sum %2 shared : !r
      %4 = mpk.accumulate logsumexp %a shared : !r
      mpk.yield %2, %1, %3, %4 : !r, !r, !r, !r
    } : (!n) -> (!n, !e, !r, !r)
    return %0#0, %0#1, %0#2, %0#3 : !n, !e, !r, !r
  }
}
