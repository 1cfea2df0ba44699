// RUN: not gnnc-opt %s --differentiate 2>&1 | FileCheck %s

// A parameter y of a layer that is used `as grad` is called like the gradient of output y.
// CHECK: error: the gradient of output 'y' would be the input 'grad.y', and there is a parameter or input of that name already
mpdfg.space @node root
func.func @forward(%x: tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "x", mpdfg.role = #mpdfg.role<input>},
                   %p: tensor<2xf32> {mpdfg.name = "grad.y", mpdfg.role = #mpdfg.role<param>})
    -> (tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "y"}) {
  %0 = mpdfg.binary mul %x, %p : tensor<?x2xf32, #mpdfg.on<@node>>, tensor<2xf32> -> tensor<?x2xf32, #mpdfg.on<@node>>
  return %0 : tensor<?x2xf32, #mpdfg.on<@node>>
}
