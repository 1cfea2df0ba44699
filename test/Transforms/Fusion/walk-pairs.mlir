// Sweeps along pairs walk the sides where nothing of a pair itself is read.
// RUN: gnnc-opt %s --walk-pairs | FileCheck %s
// RUN: gnnc-opt %s --walk-pairs --remarks-filter=walk-pairs 2>&1 | FileCheck %s --check-prefix=REMARK

!node = tensor<?x4xf32, #mpdfg.on<@node>>
!pair = tensor<?x4xf32, #mpdfg.on<@pair>>
mpdfg.space @node root
mpdfg.space @query root
mpdfg.space @graph root
mpdfg.space @pair pairs {base = @query, of = @node, maps = [@qbatch, @batch]}
mpdfg.map @batch root from @node to @graph
mpdfg.map @qbatch root from @query to @graph
mpdfg.map @type root from @node to @graph
mpdfg.map @pair.dst owner from @pair to @query
mpdfg.map @pair.src partner from @pair to @node
mpdfg.map @pair.type compose from @pair to @graph {parts = [@pair.src, @type]}
mpdfg.map @pair.graph compose from @pair to @graph {parts = [@pair.dst, @qbatch]}

// Members are those of the other side, read by themselves or through a map of theirs.
// REMARK-DAG: walked side by side, and not listed
// CHECK-LABEL: @owners
func.func @owners(%x: !node, %g: tensor<?x4xf32, #mpdfg.on<@graph>>) -> tensor<?x4xf32, #mpdfg.on<@query>> {
  // CHECK: mpk.sweep over @query along @batch pairs @pair.dst(%arg0, %arg1)
  // CHECK-SAME: access [#mpk.access<member>, #mpk.access<gather_member @type>]
  %0 = mpk.sweep over @query along @pair.dst (%x, %g)
      access [#mpk.access<gather_member @pair.src>, #mpk.access<gather_member @pair.type>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %p = mpdfg.binary mul %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %t = mpk.accumulate sum %p : tensor<4xf32>
    mpk.yield %t : tensor<4xf32>
  } : (!node, tensor<?x4xf32, #mpdfg.on<@graph>>) -> tensor<?x4xf32, #mpdfg.on<@query>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@query>>
}

// The same from the other side.
// CHECK-LABEL: @partners
func.func @partners(%q: tensor<?x4xf32, #mpdfg.on<@query>>) -> !node {
  // CHECK: mpk.sweep over @node along @qbatch pairs @pair.src(%arg0) access [#mpk.access<member>]
  %0 = mpk.sweep over @node along @pair.src (%q) access [#mpk.access<gather_member @pair.dst>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %t = mpk.accumulate mean %a : tensor<4xf32>
    mpk.yield %t : tensor<4xf32>
  } : (tensor<?x4xf32, #mpdfg.on<@query>>) -> !node
  return %0 : !node
}

// A row for each pair in memory needs the pairs themselves.
// REMARK-DAG: a row for each pair is in memory{{.*}}pairs of @pair are listed
// CHECK-LABEL: @rows
func.func @rows(%p: !pair) -> tensor<?x4xf32, #mpdfg.on<@query>> {
  // CHECK: mpk.sweep over @query along @pair.dst(%arg0) access [#mpk.access<member>]
  %0 = mpk.sweep over @query along @pair.dst (%p) access [#mpk.access<member>] yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %t = mpk.accumulate sum %a : tensor<4xf32>
    mpk.yield %t : tensor<4xf32>
  } : (!pair) -> tensor<?x4xf32, #mpdfg.on<@query>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@query>>
}

// So does a result for each.
// REMARK-DAG: a result has a row for each pair
// CHECK-LABEL: @results
func.func @results(%x: !node) -> !pair {
  // CHECK: mpk.sweep over @query along @pair.dst(%arg0) access [#mpk.access<gather_member @pair.src>]
  %0 = mpk.sweep over @query along @pair.dst (%x) access [#mpk.access<gather_member @pair.src>]
      yields [#mpk.access<member>] {
  ^bb0(%a: tensor<4xf32>):
    mpk.yield %a : tensor<4xf32>
  } : (!node) -> !pair
  return %0 : !pair
}

// Which pair has the largest number is a number of a pair.
// REMARK-DAG: the number of a pair is found
// CHECK-LABEL: @winners
func.func @winners(%x: !node) -> tensor<?x4xf32, #mpdfg.on<@query>> {
  // CHECK: mpk.sweep over @query along @pair.dst(%arg0)
  %0 = mpk.sweep over @query along @pair.dst (%x) access [#mpk.access<gather_member @pair.src>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %t = mpk.accumulate argmax %a : tensor<4xf32>
    mpk.yield %t : tensor<4xf32>
  } : (!node) -> tensor<?x4xf32, #mpdfg.on<@query>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@query>>
}

// Along what both sides lead to, there is no one owner.
// CHECK-LABEL: @places
func.func @places(%x: !node) -> tensor<?x4xf32, #mpdfg.on<@graph>> {
  // CHECK: mpk.sweep over @graph along @pair.graph(%arg0)
  %0 = mpk.sweep over @graph along @pair.graph (%x) access [#mpk.access<gather_member @pair.src>]
      yields [#mpk.access<owner>] {
  ^bb0(%a: tensor<4xf32>):
    %t = mpk.accumulate sum %a : tensor<4xf32>
    mpk.yield %t : tensor<4xf32>
  } : (!node) -> tensor<?x4xf32, #mpdfg.on<@graph>>
  return %0 : tensor<?x4xf32, #mpdfg.on<@graph>>
}
