// RUN: gnnc-opt %s --split-input-file --verify-diagnostics
//
// Every error of a discardable attribute of mpdfg. The valid forms are in program-attrs.mlir.

//===-- Attributes that do not exist, or not here --------------------------===//

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.rule' is none of the mpdfg dialect's}}
func.func private @f(tensor<4xf32> {mpdfg.rule = "input"})

// -----

// expected-error @+1 {{'func.func' op result 0: attribute 'mpdfg.update' is none of the mpdfg dialect's}}
func.func private @f(tensor<4xf32>) -> (tensor<4xf32> {mpdfg.update = #mpdfg.argument<0>})

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.sparse_inputs' is none of the mpdfg dialect's}}
module attributes {mpdfg.sparse_inputs = []} {}

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.updates' is for a result of a function, and found elsewhere}}
func.func private @f(tensor<4xf32> {mpdfg.updates = #mpdfg.argument<0>})

// -----

// expected-error @+1 {{'func.func' op result 0: attribute 'mpdfg.role' is for an argument of a function, and found elsewhere}}
func.func private @f(tensor<4xf32>) -> (tensor<4xf32> {mpdfg.role = #mpdfg.role<param>})

// -----

// expected-error @+1 {{'func.func' op attribute 'mpdfg.name' is for an argument or a result of a function, and found elsewhere}}
func.func private @f(tensor<4xf32>) attributes {mpdfg.name = "f"}

// -----

// expected-error @+1 {{'func.func' op attribute 'mpdfg.sparse' is for a module, and found elsewhere}}
func.func private @f(tensor<4xf32>) attributes {mpdfg.sparse = []}

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.keep' is for an operation of a function that has results, and found elsewhere}}
func.func private @f(tensor<4xf32> {mpdfg.keep})

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'func.return' op attribute 'mpdfg.again' is for an operation of a function that has results, and found elsewhere}}
  return {mpdfg.again} %x : tensor<4xf32>
}

// -----

// Kernels are kept or not as a whole, so operations of their bodies say nothing about it.
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpk.sweep (%x) access [#mpk.access<shared>] yields [#mpk.access<shared>] {
  ^bb0(%1: tensor<4xf32>):
    // expected-error @+1 {{'mpdfg.unary' op attribute 'mpdfg.keep' is for an operation of a function that has results, and found elsewhere}}
    %2 = mpdfg.unary exp %1 {mpdfg.keep} : tensor<4xf32> -> tensor<4xf32>
    mpk.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

//===-- Names and axes -----------------------------------------------------===//

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.name' expected a name, found @x}}
func.func private @f(tensor<4xf32> {mpdfg.name = @x})

// -----

// expected-error @+1 {{'func.func' op result 0: attribute 'mpdfg.name' expected a name, found ""}}
func.func private @f(tensor<4xf32>) -> (tensor<4xf32> {mpdfg.name = ""})

// -----

// expected-error @+1 {{'func.func' op argument 2: attribute 'mpdfg.name' expected a name of its own, found "x", which argument 0 has}}
func.func private @f(tensor<4xf32> {mpdfg.name = "x"}, tensor<4xf32>, tensor<4xf32> {mpdfg.name = "x"})

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.axes' expected an array of names, found "in"}}
func.func private @f(tensor<4xf32> {mpdfg.axes = "in"})

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.axes' expected an array of names, found [4]}}
func.func private @f(tensor<4xf32> {mpdfg.axes = [4]})

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.axes' expected 1 names, one for each feature axis, found 2}}
func.func private @f(tensor<?x4xf32, #mpdfg.on<@node>> {mpdfg.axes = ["node", "in"]})

// -----

// expected-error @+1 {{'func.func' op result 0: attribute 'mpdfg.axes' expected 2 names, one for each feature axis, found 1}}
func.func private @f(tensor<4xf32>) -> (tensor<4x4xf32> {mpdfg.axes = ["in"]})

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.axes' is for a tensor of the dialect, found 'index'}}
func.func private @f(index {mpdfg.axes = ["in"]})

// -----

//===-- Roles, fills and seeds ---------------------------------------------===//

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.role' expected #mpdfg.role<...>, found "param"}}
func.func private @f(tensor<4xf32> {mpdfg.role = "param"})

// -----

// expected-error @+2 {{expected one of [input, param, state] for what an argument of a program is to its user, got: metric}}
// expected-error @+1 {{failed to parse MPDFG_RoleAttr parameter 'value'}}
func.func private @f(tensor<4xf32> {mpdfg.role = #mpdfg.role<metric>})

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.fill' expected a number of type f64, found 1 : i64}}
func.func private @f(tensor<4xf32> {mpdfg.fill = 1})

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.fill' expected a number of type f64, found 1.000000e+00 : f32}}
func.func private @f(tensor<4xf32> {mpdfg.fill = 1.0 : f32})

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.fill' is for an input, found a param}}
func.func private @f(tensor<4xf32> {mpdfg.fill = 1.0 : f64, mpdfg.role = #mpdfg.role<param>})

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.seed' expected no value, found "y"}}
func.func private @f(tensor<4xf32> {mpdfg.seed = "y"})

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.seed' is for an input, found a state}}
func.func private @f(tensor<4xf32> {mpdfg.seed, mpdfg.role = #mpdfg.role<state>})

// -----

//===-- Updates ------------------------------------------------------------===//

// expected-error @+1 {{'func.func' op result 0: attribute 'mpdfg.updates' expected #mpdfg.argument<...>, found 0 : i64}}
func.func private @f(tensor<4xf32>) -> (tensor<4xf32> {mpdfg.updates = 0})

// -----

// expected-error @+1 {{'func.func' op result 0: attribute 'mpdfg.updates' expected one of 1 arguments, found 1}}
func.func private @f(tensor<4xf32>) -> (tensor<4xf32> {mpdfg.updates = #mpdfg.argument<1>})

// -----

// expected-error @+1 {{'func.func' op result 0: attribute 'mpdfg.updates' expected a parameter or a state, found argument 0, which is an input}}
func.func private @f(tensor<4xf32> {mpdfg.role = #mpdfg.role<input>})
    -> (tensor<4xf32> {mpdfg.updates = #mpdfg.argument<0>})

// -----

// expected-error @+1 {{'func.func' op result 0: attribute 'mpdfg.updates' expected the type of argument 0, 'tensor<4xf32>', found 'tensor<2x2xf32>'}}
func.func private @f(tensor<4xf32>) -> (tensor<2x2xf32> {mpdfg.updates = #mpdfg.argument<0>})

// -----

// expected-error @+1 {{'func.func' op result 1: attribute 'mpdfg.updates' expected an argument of its own, found argument 0, which result 0 replaces}}
func.func private @f(tensor<4xf32>)
    -> (tensor<4xf32> {mpdfg.updates = #mpdfg.argument<0>}, tensor<4xf32> {mpdfg.updates = #mpdfg.argument<0>})

// -----

// expected-error @+1 {{expected the number of an argument, found -1}}
func.func private @f(tensor<4xf32>) -> (tensor<4xf32> {mpdfg.updates = #mpdfg.argument<-1>})

// -----

// expected-error @+1 {{expected integer value}}
func.func private @f(tensor<4xf32>) -> (tensor<4xf32> {mpdfg.updates = #mpdfg.argument<w>})

// -----

//===-- Sparse inputs ------------------------------------------------------===//

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.sparse' expected an array of #mpdfg.sparse_input<...>, found [{name = "x"}]}}
module attributes {mpdfg.sparse = [{name = "x"}]} {}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.sparse' expected a declared space for the entries of "x", found @x.entry}}
module attributes {mpdfg.sparse = [#mpdfg.sparse_input<"x" entries @x.entry row @x.row column @x.column>]} {
  mpdfg.space @node root
}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.sparse' expected a map from @x.entry for "x", found @x.column}}
module attributes {mpdfg.sparse = [#mpdfg.sparse_input<"x" entries @x.entry row @x.row column @x.column>]} {
  mpdfg.space @node root
  mpdfg.space @x.entry root
  mpdfg.map @x.row root from @x.entry to @node
}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.sparse' expected a map from @x.entry for "x", found @x.row}}
module attributes {mpdfg.sparse = [#mpdfg.sparse_input<"x" entries @x.entry row @x.row column @x.column>]} {
  mpdfg.space @node root
  mpdfg.space @x.entry root
  mpdfg.map @x.row root from @node to @x.entry
  mpdfg.map @x.column root from @x.entry to @node
}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.sparse' expected one sparse input of each name, found two named "x"}}
module attributes {mpdfg.sparse = [
    #mpdfg.sparse_input<"x" entries @x.entry row @x.row column @x.column>,
    #mpdfg.sparse_input<"x" entries @x.entry row @x.row column @x.column>]} {
  mpdfg.space @node root
  mpdfg.space @x.entry root
  mpdfg.map @x.row root from @x.entry to @node
  mpdfg.map @x.column root from @x.entry to @node
}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.source' expected a string for 'src', found 0 : i64}}
module attributes {mpdfg.source = {src = 0}} {}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.source' expected a dictionary of strings, found "edge_index"}}
module attributes {mpdfg.source = "edge_index"} {}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.distributed' expected a dictionary of strings, found "dst"}}
module attributes {mpdfg.distributed = "dst"} {}

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.halo_of' is for an input, found a param}}
func.func private @f(tensor<4xf32> {mpdfg.halo_of = "x", mpdfg.role = #mpdfg.role<param>})

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.numbers' is for an input, found a state}}
func.func private @f(tensor<4xf32> {mpdfg.numbers, mpdfg.role = #mpdfg.role<state>})

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.exported' expected no value, found true}}
module attributes {mpdfg.exported = true} {}

// -----

// expected-error @+1 {{'func.func' op argument 0: attribute 'mpdfg.source' is for an input, found a param}}
func.func private @f(tensor<4xf32> {mpdfg.role = #mpdfg.role<param>, mpdfg.source = "x"})

// -----

//===-- What operations of a function say ----------------------------------===//

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'mpdfg.unary' op attribute 'mpdfg.keep' expected no value, found true}}
  %0 = mpdfg.unary exp %x {mpdfg.keep = true} : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'mpdfg.unary' op attribute 'mpdfg.again' expected no value, found 1 : i64}}
  %0 = mpdfg.unary exp %x {mpdfg.again = 1} : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.unused_params' expected a list of names, found "w"}}
module attributes {mpdfg.unused_params = "w"} {}

// -----

// expected-error @+1 {{'builtin.module' op attribute 'mpdfg.metadata' expected a dictionary of strings, found [1]}}
module attributes {mpdfg.metadata = [1]} {}
