// RUN: gnnc-opt %s --split-input-file | gnnc-opt --split-input-file | FileCheck %s
//
// Every discardable attribute of mpdfg where it may be, printed as it was read. The errors are in
// program-attrs-invalid.mlir.

// CHECK: module @Sparse attributes {mpdfg.sparse = [#mpdfg.sparse_input<"x" entries @x.entry row @x.row column @x.column value "x">, #mpdfg.sparse_input<"z" entries @x.entry row @x.row column @x.column>]}
module @Sparse attributes {mpdfg.sparse = [
    #mpdfg.sparse_input<"x" entries @x.entry row @x.row column @x.column value "x">,
    #mpdfg.sparse_input<"z" entries @x.entry row @x.row column @x.column>]} {
  mpdfg.space @node root
  mpdfg.space @x.entry root
  mpdfg.space @x.in static {extent = 4 : i64}
  mpdfg.map @x.row root from @x.entry to @node
  mpdfg.map @x.column root from @x.entry to @x.in
}

// -----

// CHECK-LABEL: func.func @program(
// CHECK-SAME: {mpdfg.axes = ["heads", "in"], mpdfg.fill = 5.000000e-01 : f64, mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>}
// CHECK-SAME: {mpdfg.axes = ["in"], mpdfg.name = "w", mpdfg.role = #mpdfg.role<param>}
// CHECK-SAME: {mpdfg.axes = [], mpdfg.name = "t", mpdfg.role = #mpdfg.role<state>}
// CHECK-SAME: {mpdfg.name = "grad.y", mpdfg.role = #mpdfg.role<input>, mpdfg.seed}
// CHECK-SAME: {mpdfg.axes = ["heads", "in"], mpdfg.name = "y"}
// CHECK-SAME: {mpdfg.axes = [], mpdfg.name = "t", mpdfg.updates = #mpdfg.argument<2>}
// CHECK-SAME: {mpdfg.name = "w", mpdfg.updates = #mpdfg.argument<1>}
// CHECK: mpdfg.unary exp %{{.*}} {mpdfg.keep}
// CHECK: mpdfg.unary neg %{{.*}} {mpdfg.again}
mpdfg.space @node root
func.func @program(
    %x: tensor<?x2x4xf32, #mpdfg.on<@node>>
      {mpdfg.name = "x", mpdfg.axes = ["heads", "in"], mpdfg.role = #mpdfg.role<input>, mpdfg.fill = 0.5 : f64},
    %w: tensor<4xf32> {mpdfg.name = "w", mpdfg.axes = ["in"], mpdfg.role = #mpdfg.role<param>},
    %t: tensor<f32> {mpdfg.name = "t", mpdfg.axes = [], mpdfg.role = #mpdfg.role<state>},
    %g: tensor<?x2x4xf32, #mpdfg.on<@node>> {mpdfg.name = "grad.y", mpdfg.role = #mpdfg.role<input>, mpdfg.seed})
    -> (tensor<?x2x4xf32, #mpdfg.on<@node>> {mpdfg.name = "y", mpdfg.axes = ["heads", "in"]},
        tensor<f32> {mpdfg.name = "t", mpdfg.axes = [], mpdfg.updates = #mpdfg.argument<2>},
        tensor<4xf32> {mpdfg.name = "w", mpdfg.updates = #mpdfg.argument<1>}) {
  %0 = mpdfg.unary exp %x {mpdfg.keep} : tensor<?x2x4xf32, #mpdfg.on<@node>> -> tensor<?x2x4xf32, #mpdfg.on<@node>>
  %1 = mpdfg.unary neg %w {mpdfg.again} : tensor<4xf32> -> tensor<4xf32>
  return %0, %t, %1 : tensor<?x2x4xf32, #mpdfg.on<@node>>, tensor<f32>, tensor<4xf32>
}

// -----

// All of them may be absent. Fill and seed need no role; functions without a body have attributes, too.
// CHECK-LABEL: func.func private @declared(tensor<4xf32> {mpdfg.fill = 2.000000e+00 : f64}, tensor<4xf32> {mpdfg.seed}) -> (tensor<4xf32>, tensor<4xf32> {mpdfg.updates = #mpdfg.argument<0>})
func.func private @declared(tensor<4xf32> {mpdfg.fill = 2.0 : f64}, tensor<4xf32> {mpdfg.seed})
    -> (tensor<4xf32>, tensor<4xf32> {mpdfg.updates = #mpdfg.argument<0>})

// -----

// CHECK: module @Ranks attributes {mpdfg.distributed = {edge = "dst"}}
module @Ranks attributes {mpdfg.distributed = {edge = "dst"}} {
  mpdfg.space @edge root
  // CHECK: func.func private @f(tensor<?xf32, #mpdfg.on<@edge>> {mpdfg.name = "edge.global", mpdfg.numbers, mpdfg.role = #mpdfg.role<input>})
  func.func private @f(tensor<?xf32, #mpdfg.on<@edge>> {mpdfg.name = "edge.global", mpdfg.numbers, mpdfg.role = #mpdfg.role<input>})
}
