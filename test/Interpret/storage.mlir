// RUN: gnnc-opt %s --split-input-file --gnnc-interpret -o /dev/null | FileCheck %s --match-full-lines

// What is stored in 16 bits is rounded to the nearest where a kernel writes it, and where it comes in; ties go to the
// even one. What kernels compute with is not rounded in between: 257 is no bf16.
// CHECK: y: 3 rows [2]
// 1 + 1/256 lies between 1 and 1 + 1/128, 1 + 3/256 between that and 1 + 1/64.
// CHECK-NEXT: 1 1.01562
// CHECK-NEXT: 1 256
// CHECK-NEXT: -1 1.00026e+30
// CHECK-NEXT: z: 3 rows [2]
// CHECK-NEXT: 1.00391 1.01172
// CHECK-NEXT: 1 257
// CHECK-NEXT: -1 inf
module attributes {
  test.extents = {node = 3},
  test.inputs = {x = dense<[[1.00390625, 1.01171875], [0.99999, 257.0], [-1.0, 1.0e30]]> : tensor<3x2xf64>}
} {
  mpdfg.space @node root
  func.func @forward(%x: tensor<?x2xf32, #mpdfg.on<@node>> {mpdfg.name = "x"})
      -> (tensor<?x2xbf16, #mpdfg.on<@node>> {mpdfg.name = "y"}, tensor<?x2xf16, #mpdfg.on<@node>> {mpdfg.name = "z"}) {
    %0:2 = mpk.sweep over @node (%x) access [#mpk.access<owner>] yields [#mpk.access<owner>, #mpk.access<owner>] {
    ^bb0(%a: tensor<2xf32>):
      mpk.yield %a, %a : tensor<2xf32>, tensor<2xf32>
    } : (tensor<?x2xf32, #mpdfg.on<@node>>) -> (tensor<?x2xbf16, #mpdfg.on<@node>>, tensor<?x2xf16, #mpdfg.on<@node>>)
    return %0#0, %0#1 : tensor<?x2xbf16, #mpdfg.on<@node>>, tensor<?x2xf16, #mpdfg.on<@node>>
  }
}
