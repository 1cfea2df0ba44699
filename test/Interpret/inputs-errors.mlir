// RUN: gnnc-opt %s --split-input-file --verify-diagnostics --gnnc-interpret -o /dev/null

// expected-error @+1 {{no value is given for 'x', expected 2 rows of [3]}}
module attributes {test.extents = {node = 2}} {
  mpdfg.space @node root
  func.func @forward(%x: tensor<?x3xf32, #mpdfg.on<@node>> {mpdfg.name = "x"}) {
    return
  }
}

// -----

// expected-error @+1 {{no value is given for 'arg0', expected shared [3]}}
module {
  func.func @forward(%x: tensor<3xf32>) {
    return
  }
}

// -----

// expected-error @+1 {{'x': expected 2 rows of [3], found 3 rows of [2]}}
module attributes {test.extents = {node = 2}, test.inputs = {x = dense<0.0> : tensor<3x2xf64>}} {
  mpdfg.space @node root
  func.func @forward(%x: tensor<?x3xf32, #mpdfg.on<@node>> {mpdfg.name = "x"}) {
    return
  }
}

// -----

// expected-error @+1 {{'w': expected shared [3], found shared [4]}}
module attributes {test.inputs = {w = dense<0.0> : tensor<4xf64>}} {
  func.func @forward(%w: tensor<3xf32> {mpdfg.name = "w"}) {
    return
  }
}

// -----

// expected-error @+1 {{argument 0 of @forward is not a tensor}}
module {
  func.func @forward(%x: f32) {
    return
  }
}

// -----

// expected-error @+1 {{expected a function @forward with one block}}
module {
  func.func private @forward()
}

// -----

// expected-error @+1 {{operation arith.addf has no reference evaluation}}
module attributes {test.inputs = {w = dense<0.0> : tensor<4xf64>}} {
  func.func @forward(%w: tensor<4xf32> {mpdfg.name = "w"}) -> tensor<4xf32> {
    %0 = arith.addf %w, %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{operation math.exp has no reference evaluation}}
module attributes {test.inputs = {w = dense<0.0> : tensor<4xf64>}} {
  func.func @forward(%w: tensor<4xf32> {mpdfg.name = "w"}) -> tensor<4xf32> {
    %0 = mpk.sweep (%w) access [#mpk.access<shared>] yields [#mpk.access<shared>] {
    ^bb0(%1: tensor<4xf32>):
      %2 = math.exp %1 : tensor<4xf32>
      mpk.yield %2 : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
